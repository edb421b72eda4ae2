"""A term of 150 students, handed in through four systems, whose gradebook is known before it is graded."""

import csv
import html
import io
import json
import os
import random
import re
import shutil
import subprocess
import time
import unicodedata
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tiny_class import TinyClass

from grader.grading.submission import counting, find_versions
from grader.integrations.collect import collect
from grader.people.roster import read_people
from grader.sandbox.worker import syscalls

pytestmark = pytest.mark.skipif(syscalls.machine() is None, reason="grading is confined on 64-bit Linux only")

CLASS = 150
HAND_IN = 110  # of them for each assignment, before copies are made
FIRST, SECOND, THIRD = STEMS = ("01_tiny", "02_tiny", "03_tiny")
GIVEN = ["Ada", "Björn", "Søren", "Zoë", "Anne-Marie", "Łukasz", "José", "Nguyễn", "Fatima", "Ulf"]
FAMILY = [
    *("Lovelace", "Ångström", "van der Berg", "Ørsted", "Núñez", "de la Cruz", "O'Neill", "Đorđević"),
    *("Müller-Lüdenscheidt", "Ek", "Sørensen", "Łuk", "Straßer", "Ivanov", "Çelik"),
]
PLAIN = str.maketrans({"Ø": "O", "ø": "o", "Ł": "L", "ł": "l", "Đ": "D", "đ": "d", "ß": "ss"})
SETTINGS = """[term]
time_zone = "Europe/Zurich"
[deadlines.01_tiny]
due = 2026-10-12T23:59:00
grace_minutes = 10
penalty_per_day = 0.1
most_penalty = 0.25
[deadlines.02_tiny]
due = 2026-10-24T18:00:00
grace_minutes = 15
penalty_per_day = 0.15
most_penalty = 0.5
[deadlines.03_tiny]
due = 2026-11-09T12:00:00-05:00
penalty_per_day = 0.2
"""
DUE = {
    FIRST: datetime(2026, 10, 12, 21, 59, tzinfo=UTC),
    SECOND: datetime(2026, 10, 24, 16, 0, tzinfo=UTC),
    THIRD: datetime(2026, 11, 9, 17, 0, tzinfo=UTC),
}
EXTENDED = {
    SECOND: ("2026-10-26", datetime(2026, 10, 26, 22, 59, 59, tzinfo=UTC)),  # the clocks change in between
    THIRD: ("2026-11-12T12:00", datetime(2026, 11, 12, 11, 0, tzinfo=UTC)),
}
#: Canvas's zip has the times of its download, and was downloaded twice.
DOWNLOADS = (DUE[FIRST] + timedelta(hours=25), DUE[FIRST] + timedelta(days=3))
#: After the deadline, as the gradebook says it, and what it costs of 6 points.
LATE = {
    FIRST: [(timedelta(hours=25), "yes", 0.6), (timedelta(days=3), "yes", 0.6)],  # a mark, and no time
    SECOND: [
        (timedelta(minutes=14), "14 min", 0),
        (timedelta(minutes=16), "16 min", 0.9),
        (timedelta(hours=24), "24 h", 0.9),
        (timedelta(hours=24, seconds=2), "24 h 1 min", 1.8),
        (timedelta(days=9), "9 days", 3),
    ],
    THIRD: [
        (timedelta(seconds=2), "1 min", 1.2),
        (timedelta(hours=2, minutes=5), "2 h 5 min", 1.2),
        (timedelta(days=2), "2 days", 2.4),
        (timedelta(days=30), "30 days", 6),
    ],
}

LONG = """def double({x}):
    {total} = 0 * {x}
    {weights} = [{number}, 1, 2, 3, 4, 5, 6]
    for {weight} in {weights}:
        if {weight} > 3:
            {total} = {total} + {x} * {weight}
    return {result}
"""
NAMES = {"x": "x", "total": "total", "weights": "weights", "weight": "weight"}
RENAMED = {"x": "value", "total": "everything", "weights": "numbers", "weight": "each"}
DOUBLE = {
    "short": ("def double(x):\n    return x + x", 2),
    "long": ("", 2),
    "long and wrong": ("", 0),
    "squared": ("def double(x):\n    return x * x", 0),
    "failing": ('def double(x):\n    raise ValueError("so far")', 0),
    "missing": ("# not yet", 0),
}
LEAF = {
    "right": ("def leaf(n):\n    return torch.zeros(n).requires_grad_()", 4),
    "plain": ("def leaf(n):\n    return torch.zeros(n)", 2),
    "computed": ("def leaf(n):\n    return torch.zeros(n, requires_grad=True) * 1", 1),
    "missing": ("# not yet", 0),
}


@dataclass
class Student:
    """A line of the roster, and the names by which systems know it."""

    number: int
    name: str
    given: str
    family: str
    folder: str = ""

    @property
    def email(self):
        return f"s{self.number}@example.org"

    @property
    def login(self):
        return f"login-{self.number}" if self.number % 3 else f"Gh{self.number}x"

    @property
    def canvas(self):
        return str(1000 + self.number)

    @property
    def spelt(self):
        """The name as another system has it: with other case, without accents, or last name first."""
        plain = unicodedata.normalize("NFKD", self.name.translate(PLAIN))
        plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
        return [self.name, plain, plain.upper(), f"{self.family}, {self.given}"][self.number % 4]

    @property
    def of_canvas(self):
        return re.sub(r"[\W_]", "", f"{self.family}{self.given}").lower()


@dataclass
class Work:
    """What a student hands in for an assignment, and what it earns."""

    student: Student
    stem: str
    double: str
    leaf: str
    content: bytes
    at: datetime
    late: tuple[str, float] | None = None
    is_broken: bool = False
    adjusted: dict[str, float] = field(default_factory=dict)  # by question; empty for the whole

    @property
    def row(self):
        """The line of the gradebook."""
        points = {"q1": DOUBLE[self.double][1], "q2": LEAF[self.leaf][1]}
        if self.is_broken:
            points = {"q1": 0, "q2": 0}
        most = {"q1": 2, "q2": 4}
        before = points
        points = {q: min(max(points[q] + self.adjusted.get(q, 0), 0), most[q]) for q in points}
        told, penalty = self.late or ("", 0)
        penalty = min(penalty, sum(before.values()))
        rest = sum(points.values()) - penalty
        score = min(max(rest + self.adjusted.get("", 0), 0), 6)
        given = score - rest
        return {
            "student": self.student.folder,
            "assignment": self.stem,
            "score": f"{round(score, 6):g}",
            "max_score": "6",
            "status": "error" if self.is_broken else "graded",
            **{q: f"{earned:g}" for q, earned in points.items()},
            "late": told,
            "penalty": f"{penalty:g}" if self.late else "",
            "adjustment": f"{round(given, 6):g}" if "" in self.adjusted else "",
            "missing": "",
        }


def notebook(number, double, leaf, names=NAMES):
    """The bytes of a notebook; the number makes its long answers unlike all others."""
    code = DOUBLE[double][0]
    if double.startswith("long"):
        result = names["total"] if double == "long and wrong" else f"2 * {names['x']}"
        code = LONG.format(number=number, result=result, **names)
    sources = ["import torch", code, LEAF[leaf][0], f"# notes of number {number}, {names['x']}"]
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**empty, "source": source} for source in sources]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def zipped(path, members):
    """A zip of members with their times, which it has in the time of this machine."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, at, content in members:
            when = time.localtime(at.timestamp())[:6]
            archive.writestr(zipfile.ZipInfo(name, when), content, zipfile.ZIP_DEFLATED)
    return path


def commit(clone, name, content, at):
    """Commit a notebook of a clone at a time."""
    clone.mkdir(parents=True, exist_ok=True)
    (clone / name).write_bytes(content)
    stamp = f"@{int(at.timestamp())} +0000"
    variables = {**os.environ, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "saved"]):
        subprocess.run(["git", *who, *command], cwd=clone, check=True, env=variables)


class Truth:
    """150 students and what they do, by a seeded generator; nothing here asks the grader."""

    def __init__(self):
        self.random = random.Random(150)
        names = [(given, family) for given in GIVEN for family in FAMILY]
        self.random.shuffle(names)
        names = [*names[: CLASS - 2], ("Kim", "Lee"), ("Kim", "Lee")]
        self.students = [Student(n, f"{g} {f}", g, f, f"{g} {f}") for n, (g, f) in enumerate(names)]
        self.kims = self.students[-2:]
        for kim in self.kims:
            kim.folder = f"Kim Lee-{kim.canvas}"
        self.work: dict[tuple[int, str], Work] = {}
        self.same: set[tuple[str, str, frozenset[str]]] = set()
        self.superseded: dict[tuple[int, str], tuple[str, bytes, datetime]] = {}
        self.extended: dict[tuple[int, str], datetime] = {}
        self.number = 0
        for stem in STEMS:
            self._assignment(stem)
        self._adjust()

    def _new(self, student, stem, double=None, leaf=None):
        self.number += 1
        double = double or self.random.choice([*DOUBLE])
        leaf = leaf or self.random.choice([*LEAF])
        at = DUE[stem] - timedelta(minutes=self.random.randrange(0, 7200))
        made = Work(student, stem, double, leaf, notebook(self.number, double, leaf), at)
        self.work[student.number, stem] = made
        return made

    def _assignment(self, stem):
        """Who hands in, who is late or has more time, who hands in twice, who copied."""
        some = self.random.sample(self.students[:-2], HAND_IN - 2)
        for student in [*some, *self.kims]:
            self._new(student, stem)
        free = iter(some)
        for after, told, penalty in LATE[stem] * 2:
            late = self.work[next(free).number, stem]
            late.at, late.late = DUE[stem] + after, (told, penalty)
        self._copies(stem, free)
        broken = self._new(next(free), stem)
        broken.content, broken.is_broken = broken.content[:40], True
        for number in range(2 if stem in EXTENDED else 0):
            given = self.work[next(free).number, stem]
            until = EXTENDED[stem][1]
            self.extended[given.student.number, stem] = until
            given.at = until - timedelta(seconds=3)
            if number:  # late all the same
                given.at = until + timedelta(seconds=3599)
                given.late = ("1 h", {SECOND: 0.9, THIRD: 1.2}[stem])
        for number in range(4):
            again = self.work[next(free).number, stem]
            self.number += 1
            before = notebook(self.number, "missing", "missing")
            self.superseded[again.student.number, stem] = (stem, before, again.at - timedelta(hours=30))
            if not number:  # the second version is late, so the student is
                after, told, penalty = LATE[stem][-1]
                again.at, again.late = DUE[stem] + after, (told, penalty)

    def _copies(self, stem, free):
        """Two renamed copies, the same file twice, and equal work that says nothing."""
        for _ in range(2):
            one, other = (self._new(next(free), stem, "long and wrong", "plain") for _ in range(2))
            one.content = notebook(self.number, one.double, one.leaf)
            other.content = notebook(self.number, other.double, other.leaf, RENAMED)
            self._are_same(stem, "q1", one, other)
        one, other = (self._new(next(free), stem, "long", "right") for _ in range(2))
        other.content = one.content
        self._are_same(stem, "the same notebook file", one, other)
        one, other = (self._new(next(free), stem, "long", "right") for _ in range(2))
        one.content = notebook(self.number, "long", "right")  # with full points there is one way to do it
        other.content = notebook(self.number, "long", "right", RENAMED)

    def _are_same(self, stem, what, *works):
        self.same.add((stem, what, frozenset(work.student.folder for work in works)))

    def _adjust(self):
        """A dozen get points for a question, for the whole, or for both."""
        for number, work in enumerate(self.random.sample([*self.work.values()], 12)):
            work.adjusted = [{"q1": 1.5}, {"": -0.75}, {"q2": -4, "": 1}][number % 3]

    @property
    def rows(self):
        """The gradebook, by student and assignment."""
        empty = dict.fromkeys(("late", "penalty", "adjustment", "missing"), "")
        nothing = {"score": "0", "max_score": "6", "status": "absent", "q1": "0", "q2": "0", **empty}
        rows = {
            (student.folder, stem): {"student": student.folder, "assignment": stem, **nothing}
            for student in self.students
            for stem in STEMS
        }
        return rows | {(work.student.folder, work.stem): work.row for work in self.work.values()}

    def of(self, stem):
        return sorted((w for w in self.work.values() if w.stem == stem), key=lambda w: w.student.number)

    # --- the files of an instructor

    def write(self, folder):
        """The roster, the extensions and the adjustments, which call people by whatever is at hand."""
        lines = [("name", "email", "github", "canvas id", "moodle id")]
        for s in self.students:
            moodle = f"Participant {7000 + s.number}" if s in self.kims else ""
            lines.append((s.name, s.email, s.login, s.canvas, moodle))
        _write(folder / "roster.csv", lines)
        lines = [("student", "assignment", "until")]
        people = {s.number: s for s in self.students}
        for number, stem in self.extended:
            lines.append((people[number].login, stem, EXTENDED[stem][0]))
        _write(folder / "extensions.csv", lines)
        lines = [("student", "assignment", "question", "points", "comment")]
        for number, work in enumerate(w for w in self.work.values() if w.adjusted):
            name = (
                work.student.email if number % 2 or work.student in self.kims else work.student.name.upper()
            )
            lines += [(name, work.stem, q, points, "see me") for q, points in work.adjusted.items()]
        _write(folder / "adjustments.csv", lines)

    # --- what systems hand out

    def sources(self, root):
        """What is collected, in this order, with the options of `collect`."""
        root.mkdir()
        early, late = self._canvas(root)
        clones, export = self._third(root)
        return [(early, ()), (self._moodle(root), ()), (clones, ("--prefix", "hw")), (export, ()), (late, ())]

    def _canvas(self, root):
        """Two downloads: a student who hands in again has another attempt in the second of them."""
        downloads = []
        for number, downloaded in enumerate(DOWNLOADS):
            members = []
            for work in self.of(FIRST):
                content, is_late, attempt = work.content, work.late, ""
                before = self.superseded.get((work.student.number, FIRST))
                if before and not number:
                    content, is_late = before[1], None
                elif before:
                    attempt = "-1"
                elif work.at >= DOWNLOADS[1] and not number:
                    continue  # not there yet
                begin = f"{work.student.of_canvas}{'_LATE' if is_late else ''}"
                name = f"{begin}_{work.student.canvas}_{work.student.number}5_{FIRST}{attempt}.ipynb"
                members.append((name, downloaded, content))
            downloads.append(zipped(root / f"canvas {number}.zip", members))
        return downloads

    def _moodle(self, root):
        """Groups stand before the names; an earlier version lies beside under the assignment's own name."""
        members = []
        for work in self.of(SECOND):
            student = work.student
            group = f"Group {'ABC'[student.number % 3]}-"
            folder = f"{group}{student.spelt}_{7000 + student.number}_assignsubmission_file_"
            name = f"{SECOND}.ipynb"
            if before := self.superseded.get((student.number, SECOND)):
                members.append((f"{folder}/{name}", before[2], before[1]))
                name = f"final {SECOND} (2).ipynb"
            separator = "/" if before or student.number % 2 else ""
            members.append((f"{folder}{separator}{name}", work.at, work.content))
        return zipped(root / "moodle.zip", members)

    def _third(self, root):
        """Clones and Gradescope's export; who hands in twice uses both, in either order."""
        clones, metadata, members = root / "hw-submissions", ["---"], []
        twice = 0
        for number, work in enumerate(self.of(THIRD)):
            handed_in = [(work.content, work.at)]
            if before := self.superseded.get((work.student.number, THIRD)):
                handed_in = [handed_in[0], (before[1], before[2])][:: 1 if twice % 2 else -1]
                twice += 1
            for system, (content, at) in enumerate(handed_in):
                if not system and (before or number % 3 == 0 or work.student in self.kims):
                    commit(clones / f"hw-{work.student.login}", f"{THIRD}.ipynb", content, at)
                    continue
                name = unicodedata.normalize("NFD", work.student.spelt)
                entry = [f"submission_{number}:", "  :submitters:", f'  - :name: "{name}"']
                entry += [f"    :email: {work.student.email}"]
                entry += [f"  :created_at: {at:%Y-%m-%d %H:%M:%S}.000000000 Z"]
                metadata += entry
                members.append((f"submission_{number}/{THIRD}.ipynb", DUE[FIRST], content))
        members.append(("submission_metadata.yml", DUE[FIRST], "\n".join(metadata) + "\n"))
        wrapped = [(f"assignment_5_export/{name}", at, content) for name, at, content in members]
        return clones, zipped(root / "gradescope.zip", wrapped)


def _write(path, lines):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    path.write_text(text.getvalue(), encoding="utf-8")


class Term(TinyClass):
    """The course of three assignments, the class, and what was printed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.settings(SETTINGS)
        for number, stem in ((2, SECOND), (3, THIRD)):
            for kind in ("solutions/{}.py", "tests/hidden/test_{}.py", "tests/answers/{}.py"):
                text = (self.course / kind.format(FIRST)).read_text(encoding="utf-8")
                text = text.replace("# 1. ", f"# {number}. ").replace(FIRST, stem)
                (self.course / kind.format(stem)).write_text(text, encoding="utf-8")
        self.truth = Truth()
        self.submissions.mkdir()
        self.truth.write(self.submissions)
        self.printed, self.sources = "", []

    def rows(self):
        """The gradebook, without the hashes of notebooks."""
        with (self.out / "gradebook.csv").open(encoding="utf-8", newline="") as file:
            lines = [*csv.DictReader(file)]
        rows = {(line["student"], line["assignment"]): line for line in lines}
        assert len(rows) == len(lines)
        return {key: {k: v for k, v in row.items() if k != "notebook_sha256"} for key, row in rows.items()}

    def collected(self):
        return {path.name for path in self.submissions.iterdir() if path.is_dir()}


@pytest.fixture(scope="module")
def term(tmp_path_factory, zygote_of_all):
    """All is collected and graded, as an instructor does it."""
    with pytest.MonkeyPatch.context() as patch:
        made = Term(tmp_path_factory.mktemp("term"))
        patch.chdir(made.course)
        made.sources = made.truth.sources(made.course.parent / "downloads")
        for source, options in made.sources:
            ended = made.run("collect", source, "--out", made.submissions, *options)
            assert ended.exit_code == 0, ended.output
            made.printed += ended.output
        made.graded = made.grade()
        yield made


def test_each_student_has_a_single_folder(term):
    """Four systems know a student by four names, and all that comes back meets in a folder of the roster."""
    expected = {work.student.folder for work in term.truth.work.values()}
    assert term.collected() == expected
    assert 100 < len(expected) < CLASS
    assert "not on the roster" not in term.printed + term.graded
    assert "several students" not in term.printed


def test_what_is_left_aside_is_older(term):
    """Only the older versions of students who used two systems are skipped, and each is told."""
    aside = [line for line in term.printed.splitlines() if line.startswith("skipped: ")]
    older = [number for number, stem in term.truth.superseded if stem == THIRD]
    assert len(aside) == len(older) / 2
    assert all(f"/{THIRD}.ipynb, which is kept" in line for line in aside)
    replaced = [line for line in term.printed.splitlines() if line.startswith("replaced by a newer one")]
    assert len(replaced) == len(older) / 2 + sum(stem == FIRST for _, stem in term.truth.superseded)


def test_the_gradebook_is_right_in_each_cell(term):
    """450 lines: scores, statuses, lateness, penalties and adjustments are those of the table of truth."""
    seen, expected = term.rows(), term.truth.rows
    assert len(expected) == CLASS * len(STEMS)
    assert seen.keys() == expected.keys()
    wrong = {key: (seen[key], expected[key]) for key in expected if seen[key] != expected[key]}
    assert not wrong


def test_the_version_that_was_handed_in_last_counts(term):
    """A second version supersedes the first, also where only the first is called as the assignment."""
    for number, stem in term.truth.superseded:
        work = term.truth.work[number, stem]
        result = term.result(work.student.folder, stem)
        told = result["handed_in"]
        assert (told is None) if stem == FIRST else (datetime.fromisoformat(told) == work.at)
        older = [f"{work.student.folder}/{stem}.ipynb"] if stem == SECOND else []
        assert result["superseded"] == older


def same_work(page):
    """The groups of equal work that a report names, and whether all of it was understood."""
    _, found, section = page.partition('<h2 id="same">')
    assert found
    groups = set()
    for line in section.partition("</ul>")[0].split("<li>")[1:]:
        stem, what = re.match(r"(\w+), ([^:]+): ", line).groups()
        students = re.findall(r"<bdi>(.*?)</bdi>", line)
        groups.add((stem, what, frozenset(map(html.unescape, students))))
    return groups


def test_the_report_names_who_copied_whom(term):
    """Renamed copies and equal files are named in pairs; equal answers in full, or short, are not."""
    page = (term.out / "report.html").read_text(encoding="utf-8")
    assert same_work(page) == term.truth.same


def test_nothing_is_written_for_who_is_absent(term):
    """A student without a notebook has no result and no feedback; a student without any has no folder."""
    present = {(work.student.folder, work.stem) for work in term.truth.work.values()}
    for kind, suffix in (("submissions", ".json"), ("feedback", ".html")):
        paths = [p for p in (term.out / kind).rglob(f"*{suffix}") if p.stem in STEMS]
        assert {(path.parent.name, path.stem) for path in paths} == present
    number = len(present)
    assert (
        f"Graded: {number - 3} of {number} submissions, 3 in error\nThis run: {number} new\n" in term.graded
    )


def test_grading_again_changes_nothing(term):
    """The same class gives the same files, and none of its notebooks is graded again."""
    before = term.files()
    assert "0 new" in term.grade()
    after = term.files()
    run = term.out / "run.json"
    assert {path for path in before if before[path] != after.get(path)} <= {run}
    assert after.keys() == before.keys()


@pytest.fixture
def copied(term):
    """A copy of the submissions in their place, whose files are all of now."""
    kept = term.submissions.rename(term.submissions.with_name("kept"))
    shutil.copytree(kept, term.submissions, copy_function=shutil.copyfile)
    yield term
    shutil.rmtree(term.submissions)
    kept.rename(term.submissions)


def test_a_copy_of_the_folder_is_the_same_class(copied):
    """A copy has other times for its files, which make nobody late and no other version count."""
    before = copied.files("gradebook.csv", "report.html", "submissions", "feedback")
    assert "0 new" in copied.grade()
    assert copied.files("gradebook.csv", "report.html", "submissions", "feedback") == before
    works = [copied.truth.work[key] for key in copied.truth.superseded]
    works += [work for work in copied.truth.work.values() if work.late][:6]
    chosen = [argument for work in works for argument in ("--student", work.student.folder)]
    out = copied.out.with_name("of the copy")
    run = copied.run("grade", copied.submissions, "--out", out, *chosen)
    assert run.exit_code == 0, run.output
    for work in works:
        fresh, known = (
            json.loads(
                (folder / "submissions" / work.student.folder / f"{work.stem}.json").read_text("utf-8")
            )
            for folder in (out, copied.out)
        )
        assert [fresh[key] for key in ("notebook", "handed_in", "late", "score", "superseded")] == [
            known[key] for key in ("notebook", "handed_in", "late", "score", "superseded")
        ]


def test_points_put_right_later_change_that_line_only(term):
    """A line more in adjustments.csv is judged without a run, and stands alone in what has changed."""
    before, path = term.rows(), term.submissions / "adjustments.csv"
    text = path.read_text(encoding="utf-8")
    key, row = next((k, r) for k, r in before.items() if r["score"] == "6" and not r["adjustment"])
    path.write_text(f"{text}{key[0]},{key[1]},q2,-1.5,\n", encoding="utf-8")
    try:
        assert "1 judged again" in term.grade()
        changed = {k: r for k, r in term.rows().items() if r != before[k]}
        assert changed == {key: {**row, "score": "4.5", "q2": "2.5", "adjustment": ""}}
    finally:
        path.write_text(text, encoding="utf-8")
    term.grade()
    assert term.rows() == before


def test_a_roster_that_comes_later_makes_the_same_class(term, tmp_path):
    """Collected without a roster, a student may have a folder for each system; grading puts them together."""
    out = tmp_path / "out"
    for source, options in term.sources:
        assert term.run("collect", source, "--out", out, *options).exit_code == 0
    assert len([path for path in out.iterdir() if path.is_dir()]) > CLASS
    shutil.copy(term.submissions / "roster.csv", out)
    functions = {stem: ["double", "leaf"] for stem in STEMS}
    seen, expected = (
        {
            s.key: (s.sha256, s.hand_in.recorded, s.hand_in.is_marked_late)
            for s in counting(find_versions(folder, functions, roster=read_people(folder)))
        }
        for folder in (out, term.submissions)
    )
    assert seen == expected


def test_two_of_a_name_have_folders_of_their_own(term):
    """The two Kim Lees have a folder each, by the number that the roster gives them."""
    assert {"Kim Lee-1148", "Kim Lee-1149"} <= term.collected()
    assert "Kim Lee" not in term.collected()


BAD = {
    "a student twice": (
        "roster.csv",
        "{old}Kim Lee,new@example.org,new,1148,\n",
        "lines 150 and 152 have the same canvas id, 1148: remove one of them",
    ),
    "an address of two": (
        "roster.csv",
        "{old}New Person,S148@example.org,new,2000,\n",
        "lines 150 and 152 have the same email, S148@example.org: remove one of them",
    ),
    "a heading mistyped": (
        "roster.csv",
        "nmae,email\nKim Lee,s148@example.org\n",
        "no column names the students: the first line has to say what each column holds",
    ),
    "no headings": ("roster.csv", "Kim Lee,s148@example.org\n", "no column names the students"),
    "no student": ("roster.csv", "{old},new@example.org,new,2000,\n", "line 152 names no student"),
    "another class": (
        "roster.csv",
        "name,email\nNobody Here,nobody@example.org\n",
        "names nobody who handed in",
    ),
    "a name of two": (
        "adjustments.csv",
        "{old}Kim Lee,01_tiny,q1,1,\n",
        "Kim Lee may be several students: write Kim Lee-1148 or Kim Lee-1149",
    ),
    "a line twice": (
        "adjustments.csv",
        "{old}s148@example.org,02_tiny,q1,1,\nKIM LEE-1148,02_tiny,q1,1,\n",
        "there is a line for q1 of 02_tiny of Kim Lee-1148 already: write one line with the sum",
    ),
    "the same by two names": (
        "adjustments.csv",
        "{old}s149@example.org,02_tiny,q1,1,\nlogin-149,02_tiny,q1,1,\n",
        "there is a line for q1 of 02_tiny of Kim Lee-1149 already",
    ),
    "a misspelt student": (
        "adjustments.csv",
        "{old}Kim Leigh,01_tiny,q1,1,\n",
        "Kim Leigh is no student of this class: did you mean Kim Lee-",
    ),
    "a canvas id": ("adjustments.csv", "{old}1148,01_tiny,q1,1,\n", "1148 is no student of this class"),
    "a fourth assignment": (
        "extensions.csv",
        "{old}s148@example.org,04_tiny,2026-11-12\n",
        "'04_tiny' is no assignment of this course: did you mean 0",
    ),
    "no time": ("extensions.csv", "{old}s148@example.org,01_tiny,tomorrow\n", "until is 'tomorrow'"),
    "a broken record": ("collected.csv", "{old}x,y\n", "collected.csv cannot be read"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_meant_is_told_by_file_and_line(term, case):
    """The message names the file, the line and the person; nothing is graded, and nothing is written."""
    name, content, told = BAD[case]
    path, before = term.submissions / name, term.files()
    old = path.read_text(encoding="utf-8")
    path.write_text(content.format(old=old), encoding="utf-8")
    try:
        run = term.run("grade", term.submissions, "--out", term.out)
    finally:
        path.write_text(old, encoding="utf-8")
    assert run.exit_code == 2
    assert name in run.output
    assert told in " ".join(run.output.split())
    if name in {"adjustments.csv", "extensions.csv"}:
        assert f"line {content.format(old=old).count(chr(10))}:" in run.output
    assert term.files() == before


def test_a_deadline_without_a_time_zone_is_told(term):
    """The message names the deadline, and what to write."""
    term.settings(SETTINGS.replace('time_zone = "Europe/Zurich"', ""))
    try:
        run = term.run("grade", term.submissions, "--out", term.out)
    finally:
        term.settings(SETTINGS)
    assert run.exit_code == 2
    assert "deadlines.01_tiny.due has no time zone" in " ".join(run.output.split())


def test_a_folder_of_nobody_is_told_and_graded(term):
    """A folder that a person put there, and that the roster does not know, has a line in the gradebook."""
    path = term.submissions / "Adda Lovelace" / f"{FIRST}.ipynb"
    path.parent.mkdir()
    path.write_bytes(notebook(9999, "short", "right"))
    os.utime(path, (DUE[FIRST].timestamp(), DUE[FIRST].timestamp()))
    try:
        printed = " ".join(term.grade().split())
        assert "Adda Lovelace is not on the roster: did you mean Ada Lovelace" in printed
        report = (term.out / "report.html").read_text(encoding="utf-8")
        assert report.count('<span class="mark unlisted">not on the roster</span>') == 1
        assert "<div>Adda Lovelace is not on the roster: did you mean Ada Lovelace" in report
        assert term.rows()["Adda Lovelace", FIRST]["score"] == "6"
    finally:
        shutil.rmtree(path.parent)
    term.grade()
    assert term.rows() == term.truth.rows


# --- what is wrong today


def recorded(folder):
    """When each notebook was handed in, as the record says."""
    text = (folder / "collected.csv").read_text(encoding="utf-8")
    return {
        (row["student"], row["notebook"]): datetime.fromisoformat(row["modified"])
        for row in csv.DictReader(io.StringIO(text))
    }


def member(number, system="moodle", name="Ada Lovelace"):
    """The name of a notebook in a zip."""
    if system == "canvas":
        return f"{''.join(reversed(name.lower().split()))}_{number}_91_{FIRST}.ipynb"
    return f"{name}_{number}_assignsubmission_file_/{FIRST}.ipynb"


def test_collecting_again_into_a_copy_keeps_when_it_was_handed_in(tmp_path):
    """A copied folder that gets the same zip again makes nobody late."""
    source = zipped(tmp_path / "in.zip", [(member(11), DUE[FIRST], notebook(1, "short", "right"))])
    collect(source, tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "copy", copy_function=shutil.copyfile)
    collect(source, tmp_path / "copy")
    assert recorded(tmp_path / "copy") == recorded(tmp_path / "out")


def test_a_newer_version_replaces_the_older_also_in_a_copy(tmp_path):
    """What was handed in later is taken, though the file that it replaces was copied after that."""
    versions = [
        zipped(tmp_path / f"{day}.zip", [(member(11), DUE[FIRST] + timedelta(days=day), content)])
        for day, content in enumerate((notebook(1, "squared", "right"), notebook(2, "short", "right")))
    ]
    collect(versions[0], tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "copy", copy_function=shutil.copyfile)
    now = (DUE[FIRST] + timedelta(days=7)).timestamp()
    os.utime(tmp_path / "copy" / "Ada Lovelace" / f"{FIRST}.ipynb", (now, now))
    assert collect(versions[1], tmp_path / "copy").changes.replaced == [f"Ada Lovelace/{FIRST}.ipynb"]


@pytest.mark.parametrize("system", ["canvas", "moodle"])
def test_a_number_of_a_system_is_no_students_number(tmp_path, system):
    """Canvas's or Moodle's 11 is not the student whose number at the university is 11."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "roster.csv").write_text(
        'name,student id\n"Lovelace, Ada",900\n"Ek, Ben",11\n', encoding="utf-8"
    )
    content = notebook(1, "short", "right")
    collect(zipped(tmp_path / "in.zip", [(member(11, system), DUE[FIRST], content)]), tmp_path / "out")
    assert [*recorded(tmp_path / "out")] == [("Lovelace, Ada", f"{FIRST}.ipynb")]


def test_a_number_of_moodles_of_another_assignment_is_nobody(tmp_path):
    """Moodle numbers people anew in each assignment, so Ben's number may be what was Ada's."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "roster.csv").write_text("name\nAda Lovelace\nBen Ek\n", encoding="utf-8")
    for stem, name in ((FIRST, "Ada Lovelace"), (SECOND, "Ben Ek")):
        place = f"{name}_12_assignsubmission_file_/{stem}.ipynb"
        content = notebook(1, "short", "right")
        collect(zipped(tmp_path / f"{stem}.zip", [(place, DUE[stem], content)]), tmp_path / "out")
    assert [*recorded(tmp_path / "out")] == [
        ("Ada Lovelace", f"{FIRST}.ipynb"),
        ("Ben Ek", f"{SECOND}.ipynb"),
    ]


def test_gradescopes_address_tells_two_of_a_name_apart(tmp_path):
    """The roster knows addresses and no student numbers, and the metadata have both."""
    (tmp_path / "out").mkdir()
    roster = "name,email\nKim Lee,k1@example.org\nKim Lee,k2@example.org\n"
    (tmp_path / "out" / "roster.csv").write_text(roster, encoding="utf-8")
    metadata = (
        "submission_1:\n  :submitters:\n  - :name: Kim Lee\n    :sid: '77'\n    :email: k2@example.org\n"
    )
    members = [
        ("submission_metadata.yml", DUE[FIRST], metadata),
        (f"submission_1/{FIRST}.ipynb", DUE[FIRST], notebook(1, "short", "right")),
    ]
    collect(zipped(tmp_path / "in.zip", members), tmp_path / "out")
    assert [*recorded(tmp_path / "out")] == [("Kim Lee-k2@example.org", f"{FIRST}.ipynb")]


def test_when_canvas_was_asked_costs_nobody_points(term):
    """The same late notebook costs the same, whether the zip was downloaded the next day or a week later."""
    scores = []
    for days in (1, 7):
        root = term.course.parent / f"downloaded after {days}"
        root.mkdir()
        members = [("lovelaceada_LATE_11_91_01_tiny.ipynb", DUE[FIRST] + timedelta(days=days))]
        source = zipped(root / "in.zip", [(*m, notebook(1, "short", "right")) for m in members])
        collect(source, root / "in")
        run = term.run("grade", root / "in", "--out", root / "out")
        assert run.exit_code == 0, run.output
        (row,) = csv.DictReader((root / "out" / "gradebook.csv").read_text(encoding="utf-8").splitlines())
        scores.append(row["score"])
    assert scores[0] == scores[1]


@pytest.mark.parametrize("called", ["s148@example.org", "login-148", "KIM lee-1148"])
def test_a_student_is_called_as_the_roster_does(term, called):
    """`grade --student` and `explain` know people by an address, a login, and a name in any case."""
    graded = term.run("grade", term.submissions, "--out", term.out, "--student", called)
    assert graded.exit_code == 0, graded.output
    (name,) = [stem for student, stem in term.rows() if student == "Kim Lee-1148"][:1]
    explained = term.run("explain", called, name, "--results", term.out)
    assert explained.output.startswith(f"Kim Lee-1148, {name}: "), explained.output
    several = term.run("explain", "Lee Kim", name, "--results", term.out)
    assert "Lee Kim may be several students: write Kim Lee-1148 or Kim Lee-1149" in several.output
