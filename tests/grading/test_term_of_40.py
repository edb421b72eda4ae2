"""A term of 40 students, submitted through six systems, whose gradebook is known before it is graded."""

import csv
import json
import re
import shutil
import time
import unicodedata
import zipfile
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from committing import commit_all
from tiny_class import TinyClass, read_csv
from tiny_course import RIGHT, add_assignment

from grader.sandbox.worker import syscalls

pytestmark = pytest.mark.skipif(syscalls.machine() is None, reason="grading is confined on 64-bit Linux only")

ZONE = ZoneInfo("Europe/Zurich")
FIRST, SECOND, THIRD = STEMS = ("01_tiny", "02_tiny", "03_tiny")
SETTINGS = """[term]
time_zone = "Europe/Zurich"
[deadlines.01_tiny]
due = 2026-10-12T23:59:00
penalty_per_day = 0.1
[deadlines.02_tiny]
due = 2026-10-24T18:00:00
grace_minutes = 15
penalty_per_day = 0.15
[deadlines.03_tiny]
due = 2026-11-09T12:00:00
penalty_per_day = 0.2
"""
DUE = {
    FIRST: datetime(2026, 10, 12, 23, 59, tzinfo=ZONE),
    SECOND: datetime(2026, 10, 24, 18, 0, tzinfo=ZONE),
    THIRD: datetime(2026, 11, 9, 12, 0, tzinfo=ZONE),
}

#: What each of the 40 students did for each assignment, in the order of the roster.
#:   R right         W wrong            . nothing         B a damaged notebook     P a PDF only
#:   2 wrong, then right in time        L right, late     l right, late by more    G of a group, right
#:   A right, with points taken         X right, in the time of an extension
DONE = {
    FIRST: "R2WLRBPRA.RRWGG2LRRW.RRPRL2RWRR.ARR2RBWR",
    SECOND: "RRLlX2W.RBRRRW2RLRPRRXRRW.RRARRlR2RWR.RR",
    THIRD: "W2RRLR.RRWRl2RRBRRRARRLRW.RRRX2RRRRlR.LR",
}
#: Of 6 points: what each of these is worth, its status, and how late it is said to be.
WORTH = {
    **dict.fromkeys("R2GX", (6, "graded", "")),
    "A": (4.5, "graded", ""),
    "W": (0, "graded", ""),
    ".": (0, "absent", ""),
    "B": (0, "error", ""),
    "P": (0, "absent", ""),  # nothing says of which assignment it is
    (FIRST, "L"): (5.4, "graded", "yes"),  # a mark, and no time
    (SECOND, "L"): (5.1, "graded", "16 min"),
    (SECOND, "l"): (4.2, "graded", "24 h 1 min"),  # two days begun; the clocks change in between
    (THIRD, "L"): (4.8, "graded", "1 h"),
    (THIRD, "l"): (3.6, "graded", "26 h"),
}
AFTER = {
    (SECOND, "L"): timedelta(minutes=16),
    (SECOND, "l"): timedelta(hours=24, seconds=2),
    (THIRD, "L"): timedelta(hours=1),
    (THIRD, "l"): timedelta(hours=26),
    (SECOND, "X"): timedelta(days=2, hours=5),
    (THIRD, "X"): timedelta(days=2, hours=11),
}
UNTIL = {SECOND: "2026-10-26", THIRD: "2026-11-12T00:00"}

GIVEN = ["Ada", "Björn", "Søren", "Zoë", "Anne-Marie", "Łukasz", "José", "Nguyễn"]
FAMILY = ["Lovelace", "Ångström", "van der Berg", "O'Neill", "Straßer"]
NAMES = [*[(given, family) for family in FAMILY for given in GIVEN][:38], ("Kim", "Lee"), ("Kim", "Lee")]
WRONG = ["import torch", "def double(x):\n    return x * x", "# not yet"]


class Student:
    """A line of the roster, and the names by which systems know it."""

    def __init__(self, number):
        self.number, (self.given, self.family) = number, NAMES[number]
        self.name = f"{self.given} {self.family}"
        self.canvas, self.moodle = 1000 + number, 7000 + number
        self.login, self.email, self.github = f"u_{number}", f"s{number}@example.org", f"gh-{number}"
        self.folder = f"{self.name}-{self.canvas}" if self.given == "Kim" else self.name
        self.done = {stem: DONE[stem][number] for stem in STEMS}

    @property
    def spelled(self):
        """The name as another system has it: in other case, decomposed, or the last name first."""
        decomposed, turned = unicodedata.normalize("NFD", self.name), f"{self.family}, {self.given}"
        return [self.name, self.name.upper(), decomposed, turned][self.number % 4]

    def versions(self, stem):
        """What was submitted, and when: the version that counts is the last."""
        code, at = self.done[stem], DUE[stem] - timedelta(minutes=10 + self.number)
        if code == "2":
            yield notebook(self, WRONG), at - timedelta(hours=30)
        if (stem, code) in AFTER:
            at = (DUE[stem].astimezone(UTC) + AFTER[stem, code]).astimezone(ZONE)
        content = notebook(self, WRONG if code == "W" else RIGHT)
        yield (content[:40] if code == "B" else content), at


STUDENTS = [Student(number) for number in range(40)]


def notebook(student, cells):
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**empty, "source": source} for source in (*cells, f"# {student.number}")]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def zipped(path, members):
    """A zip of members with their times, which are those of the course."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, at, content in members:
            archive.writestr(zipfile.ZipInfo(name, at.astimezone(ZONE).timetuple()[:6]), content)
    return path


def canvas(path, number):
    """A download of Canvas, with the times of the download: a day after the deadline, and four days."""
    members, downloaded = [], DUE[FIRST] + timedelta(days=1 + 3 * number)
    for s in STUDENTS:
        code = s.done[FIRST]
        versions = [*s.versions(FIRST)]
        name = re.sub(r"[\s'-]", "", f"{s.family}_{s.given}").lower()  # Canvas keeps underscores
        if code == "G":
            name = "team_rocket"
        elif code == "L":
            name += "_LATE"
        again = code == "2" and number == 1
        file = f"{s.canvas}_{50 + s.number + 100 * number}_{FIRST}{'-1' if again else ''}.ipynb"
        if code == "P":
            members.append((f"{name}_{s.canvas}_{s.number}_report.pdf", downloaded, b"%PDF"))
        elif code not in ".G" or (code == "G" and s.number == 13):
            members.append((f"{name}_{file}", downloaded, versions[-1 if number else 0][0]))
    return zipped(path / f"canvas {number}.zip", members)


def moodle(path):
    """A folder, or a file, for each submission; groups of the course stand before the names."""
    members = []
    for s in STUDENTS:
        begin = f"Group {'AB'[s.number % 2]}-{s.spelled}_{s.moodle}_assignsubmission_file_"
        if s.done[SECOND] == "P":
            members.append((f"{begin}/report.pdf", DUE[SECOND], b"%PDF"))
        versions = [] if s.done[SECOND] in ".P" else [*s.versions(SECOND)]
        for at, (content, when) in enumerate(versions):
            name = SECOND if at == len(versions) - 1 else f"draft {SECOND}"
            members.append((f"{begin}{'/' if s.number % 3 else ''}{name}.ipynb", when, content))
    return zipped(path / "moodle.zip", members)


def third(path):
    """Clones, Gradescope, Blackboard and Brightspace, each of a quarter of the class."""
    clones, metadata, members = path / "clones", ["---"], [[], [], []]
    for s in STUDENTS:
        for at, (content, when) in enumerate(s.versions(THIRD) if s.done[THIRD] != "." else ()):
            match 0 if s.given == "Kim" else s.number % 4:
                case 0:
                    commit(clones / f"hw-{s.github}", content, when)
                case 1:
                    top = f"submission_{s.number}{at}"
                    metadata += [f"{top}:", "  :submitters:", f"  - :name: {json.dumps(s.spelled)}"]
                    metadata += [f"    :email: {s.email}", f"  :created_at: {when.isoformat()}"]
                    members[0].append((f"{top}/{THIRD}.ipynb", DUE[FIRST], content))
                case 2:
                    time_of = f"{when:%Y-%m-%d-%H-%M-%S}"
                    name = f"Third_{s.login}_attempt_{time_of}_{THIRD}.ipynb"
                    members[1].append((name, DUE[FIRST], content))
                case _:
                    time_of = f"{when:%b} {when.day}, {when.year} {when:%I%M %p}".replace(" 0", " ")
                    name = f"{s.number}-5 - {s.name} - {time_of}/{THIRD}.ipynb"
                    members[2].append((name, DUE[FIRST], content))
    members[0].append(("submission_metadata.yml", DUE[FIRST], "\n".join(metadata)))
    names = ("gradescope", "blackboard", "brightspace")
    return [clones, *(zipped(path / f"{name}.zip", of) for name, of in zip(names, members, strict=True))]


def commit(clone, content, when):
    clone.mkdir(parents=True, exist_ok=True)
    (clone / f"{THIRD}.ipynb").write_bytes(content)
    commit_all(clone, when.timestamp())


def write(path, *lines):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    return path


def read_lines(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.reader(file)]


def instructors_files(folder):
    """The roster, extensions and adjustments, which call people by whatever is at hand."""
    heading = ("name", "email", "github", "canvas id", "moodle id", "brightspace id", "login", "group")
    lines = [(s.name, s.email, s.github, s.canvas, s.moodle, s.number, s.login) for s in STUDENTS]
    groups = ["Team Rocket" * (s.done[FIRST] == "G") for s in STUDENTS]
    write(
        folder / "roster.csv", heading, *[(*line, group) for line, group in zip(lines, groups, strict=True)]
    )
    extended = [(s.github, stem, UNTIL[stem]) for s in STUDENTS for stem in STEMS if s.done[stem] == "X"]
    write(folder / "extensions.csv", ("student", "assignment", "until"), *extended)
    taken = [(s.email, stem, "", -1.5, "") for s in STUDENTS for stem in STEMS if s.done[stem] == "A"]
    write(folder / "adjustments.csv", ("student", "assignment", "question", "points", "comment"), *taken)


class Term(TinyClass):
    """A course of three assignments, its class, and what `collect` printed."""

    def __init__(self, root):
        super().__init__(root)
        self.settings(SETTINGS)
        for number in (2, 3):
            add_assignment(self.course, number)
        self.submissions.mkdir()
        instructors_files(self.submissions)
        self.sources = [canvas(root, 0), moodle(root), *third(root), canvas(root, 1)]

    def collect(self, out):
        printed = ""
        for source in self.sources:
            options = ("--prefix", "hw") if source.is_dir() else ()
            ended = self.run("collect", source, "--out", out, *options)
            assert ended.exit_code == 0, ended.output
            printed += ended.output
        return printed

    def lines(self, out=None):
        """The gradebook: by student and assignment, the score, the status and how late it was."""
        return {
            (row["student"], row["assignment"]): (float(row["score"]), row["status"], row["late"])
            for row in read_csv((out or self.out) / "gradebook.csv")
        }


def truth():
    return {
        (s.folder, stem): WORTH.get((stem, s.done[stem])) or WORTH[s.done[stem]]
        for s in STUDENTS
        for stem in STEMS
    }


@pytest.fixture(scope="module")
def term(tmp_path_factory, zygote_of_all):
    """All is collected and graded, as an instructor does it, on a machine in another time zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        made = Term(tmp_path_factory.mktemp("term"))
        patch.chdir(made.course)
        made.printed = made.collect(made.submissions)
        made.graded = made.grade()
        yield made
    time.tzset()


def test_every_row_of_the_gradebook_is_right(term):
    seen, expected = term.lines(), truth()
    assert len(expected) == 120
    assert {key: (seen.get(key), row) for key, row in expected.items() if seen.get(key) != row} == {}
    assert seen.keys() == expected.keys()


def test_each_student_has_a_single_folder(term):
    folders = {path.name for path in term.submissions.iterdir() if path.is_dir()}
    assert folders == {s.folder for s in STUDENTS if {*s.done.values()} != {"."}}
    assert "not on the roster" not in term.printed + term.graded
    assert "several students" not in term.printed


def test_collecting_and_grading_again_changes_nothing(term):
    before = term.lines()
    kept = term.submissions.rename(term.submissions.with_name("kept"))
    shutil.copytree(kept, term.submissions, copy_function=shutil.copyfile)
    term.collect(term.submissions)
    assert "0 new" in term.grade()
    assert term.lines() == before


def test_a_roster_that_comes_later_makes_the_same_class(term, tmp_path):
    """Collected without a roster, a student may have a folder for each system; grading puts them together."""
    alone, out = tmp_path / "in", tmp_path / "out"
    for source in term.sources:
        prefixes = {"clones": ["hw"], "blackboard": ["Third"], "moodle": ["Group A", "Group B"]}
        options = [f"--prefix={prefix}" for prefix in prefixes.get(source.stem, ())]
        ended = term.run("collect", source, "--out", alone, *options)
        assert ended.exit_code == 0, ended.output
    assert len([path for path in alone.iterdir() if path.is_dir()]) > 40
    instructors_files(alone)
    assert term.run("grade", alone, "--out", out).exit_code == 0
    groups = {(s.folder, FIRST) for s in STUDENTS if s.done[FIRST] == "G"}  # need it when they are collected
    seen, expected = term.lines(out), truth()
    wrong = {key: seen.get(key) for key in expected.keys() - groups if seen.get(key) != expected[key]}
    assert wrong == {}


def test_the_scores_reach_every_row_of_a_gradebook(term, tmp_path):
    heading = ("LastName", "FirstName", "ID", "SIS Login ID", "Note", f"{FIRST} (1)", f"{THIRD} (3)")
    lines = [(s.family, s.given, s.canvas, "", "1,234", "EX" * (s.number == 0), "") for s in STUDENTS]
    possible = ("    Points Possible", "", "", "", "", "6.00", "6.00")
    book = write(tmp_path / "book.csv", heading, possible, *lines)
    exported = ("--results", term.out, "--out", tmp_path / "lms", "--gradebook")
    ended = term.run("export", "canvas", *exported, book)
    assert "excused or not assigned: Ada Lovelace (EX)" in ended.output
    _, _, *rows = read_lines(tmp_path / "lms/canvas.csv")
    expected = truth()
    for s, row in zip(STUDENTS, rows, strict=True):
        scores = [
            "" if s.done[stem] in ".P" else f"{expected[s.folder, stem][0]:g}" for stem in (FIRST, THIRD)
        ]
        assert row[4:] == ["1,234", "EX" if s.number == 0 else scores[0], scores[1]], s.name

    heading = ("Identifier", "Full name", "Email address", "Grade", "Maximum grade", "Grade can be changed")
    lines = [(f"Participant {s.moodle}", s.name, s.email, "", "6,00", "Yes") for s in STUDENTS]
    book = write(tmp_path / "worksheet.csv", heading, *lines)
    term.run("export", "moodle", SECOND, *exported, book)
    _, *rows = read_lines(tmp_path / f"lms/{SECOND}.csv")
    for s, row in zip(STUDENTS, rows, strict=True):
        score = "" if s.done[SECOND] in ".P" else f"{expected[s.folder, SECOND][0]:g}".replace(".", ",")
        assert row[3] == score, s.name


LINE = "{old}x,x.ipynb,,,2026-11-12T10:00:00+00:00,,,,,,\n"
SIGHTING = "repository,path,blob,commit,claimed,seen,submitted\nr,p,b,c,then,now,now\n"
BAD = [
    (
        "roster.csv",
        "{old}Kim Lee,new@x,new,1038,,,,\n",
        "lines 40 and 42 have the same canvas id, 1038: remove",
    ),
    ("roster.csv", "name,email\nNobody Here,n@example.org\n", "matches no submission"),
    ("roster.csv", "\n", "line 1 is empty: write student, name"),
    (
        "adjustments.csv",
        "{old}Kim Lee,01_tiny,q1,1,\n",
        "Kim Lee may be several students: write Kim Lee-1038 or",
    ),
    ("collected.csv", "{old}x,y\n", "modified is '': write a time with its zone"),
    ("collected.csv", LINE.replace("+00:00", ""), "is '2026-11-12T10:00:00': write a"),
    ("collected.csv", LINE.replace(",,,,", ",LATE,,,"), "marked is 'LATE': write late"),
    ("collected.csv", LINE.replace(",,\n", "lost,,\n"), "missing is 'lost': write unr"),
    ("collected.csv", "garbage", "line 1: there is no column student: its first line has to be stu"),
    ("collected.csv", "", "line 1: there is no column student"),
    ("seen.csv", "garbage", "line 1: there is no column repository: its first line has to be rep"),
    (
        "seen.csv",
        SIGHTING,
        "line 2: claimed is 'then': write a time with its zone, as 2026-10-12T18:00:00+00:00",
    ),
    ("seen.csv", "\0", "line 1 is not text: save the file as CSV in UTF-8"),
]


@pytest.mark.parametrize(("name", "content", "told"), BAD)
def test_a_line_that_cannot_be_meant_is_named_and_nothing_is_written(term, name, content, told):
    """The message names the file, the line and what to write, for `grade` and for `collect`."""
    path, results = term.submissions / name, term.files()
    old = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text(content.format(old=old), encoding="utf-8", errors="surrogateescape")
    submitted = {p: p.read_bytes() for p in term.submissions.rglob("*") if p.is_file()}
    try:
        runs = [term.run("grade", term.submissions, "--out", term.out)]
        if name != "adjustments.csv" and told != "matches no submission":  # which `collect` does not read
            runs.append(term.run("collect", term.sources[0], "--out", term.submissions))
        after = {p: p.read_bytes() for p in term.submissions.rglob("*") if p.is_file()}
    finally:
        path.unlink() if old is None else path.write_text(old, encoding="utf-8")
    for run in runs:
        assert run.exit_code == 2, run.output
        assert name in run.output and told in " ".join(run.output.split())
    assert after == submitted and term.files() == results


@pytest.mark.parametrize("called", ["s38@example.org", "gh-38", "u_38", "KIM lee-1038"])
def test_a_student_is_called_as_the_roster_does(term, called):
    assert term.run("grade", term.submissions, "--out", term.out, "--student", called).exit_code == 0
    explained = term.run("explain", called, FIRST, "--results", term.out)
    assert explained.output.startswith(f"Kim Lee-1038, {FIRST}: "), explained.output
    several = term.run("explain", "Lee Kim", FIRST, "--results", term.out)
    assert "Lee Kim may be several students: write Kim Lee-1038 or Kim Lee-1039" in several.output
