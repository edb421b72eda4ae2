"""`collect` lays out what came back, whoever packed it and however it is named."""

import json
import os
import re
import shutil
import stat
import struct
import time
import unicodedata
import zipfile
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from committing import commit_all, git
from tiny_class import read_csv
from tiny_course import RIGHT, write_course, write_notebook

from grader.cli import main
from grader.errors import GraderError
from grader.grading.submission import find_submissions
from grader.integrations.collect import collect
from grader.integrations.collect.systems import all_systems, notes

FUNCTIONS = {"01_tiny": ["double", "leaf"]}
NOON = (2026, 11, 21, 12, 0, 0)


def text(cell="x = 1"):
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**empty, "source": source} for source in [*RIGHT, cell]]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def pack(path, members, *, when=NOON):
    """A zip of members: a notebook's name, or the name (or ZipInfo) and content of any file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in members:
            name, content = (member, text(member)) if isinstance(member, str) else member
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name, when)
            archive.writestr(info, content, zipfile.ZIP_DEFLATED if info is not name else None)
    return path


def clone(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text())
    return folder


def commit(folder, when, **notebooks):
    """Commit notebooks of a clone, by what is in them, at a time in seconds since 1970."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, cell in notebooks.items():
        (folder / f"{name}.ipynb").write_bytes(text(cell))
    commit_all(folder, when)


def source_of(tmp_path, members, kind="zip"):
    """A zip of these members, or the folder that it is unpacked to."""
    source = pack(tmp_path / "in.zip", members)
    if kind == "zip":
        return source
    with zipfile.ZipFile(source) as archive:
        archive.extractall(tmp_path / "in")
    return tmp_path / "in"


def damage(source, name):
    content = bytearray(source.read_bytes())
    content[content.index(name.encode()) + len(name) + 2] ^= 0xFF
    source.write_bytes(content)


def write_roster(folder, text):
    folder.mkdir()
    (folder / "roster.csv").write_text(text, encoding="utf-8")


def laid_out(folder):
    return sorted(
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.suffix != ".csv"
    )


def students(folder):
    return sorted({name.partition("/")[0] for name in laid_out(folder)})


def take(tmp_path, members, prefixes=None, *, kind="zip", out="out", **options):
    return collect(source_of(tmp_path, members, kind), tmp_path / out, prefixes, **options)


def refuse(source, out, why, *options):
    with pytest.raises(GraderError, match=why):
        collect(source, out, *options)
    assert not out.exists()


@pytest.mark.parametrize(
    ("mark", "clones", "prefixes", "expected"),
    [
        (".git", ["hw-a-lee/a.ipynb", "hw-a-kim/a.ipynb"], ["hw"], ["a-kim/a.ipynb", "a-lee/a.ipynb"]),
        (".handout", ["hw-a-lee/a.ipynb", "hw-b/a.ipynb"], ["hw"], ["a-lee/a.ipynb", "b/a.ipynb"]),
        (".git", ["hw-a/a.ipynb", "hw-b/a.ipynb"], [""], ["hw-a/a.ipynb", "hw-b/a.ipynb"]),
        (".git", ["ada/a.ipynb", "ben/a.ipynb"], None, ["ada/a.ipynb", "ben/a.ipynb"]),
        (".git", ["hw-a-main/a.ipynb", "hw-b/a.ipynb"], ["hw"], ["a-main/a.ipynb", "b/a.ipynb"]),
        (
            ".git",
            ["hw-1-a/1.ipynb", "hw-2-a/2.ipynb", "hw-2-b-x/2.ipynb"],
            ["hw-1", "hw-2"],
            ["a/1.ipynb", "a/2.ipynb", "b-x/2.ipynb"],
        ),
        (
            ".handout",
            ["hw-a/a.ipynb", "hw-mallory/a/a.ipynb", "hw-x-submissions/hw-x-a/a.ipynb"],
            ["hw"],
            ["a/a.ipynb", "mallory/a.ipynb", "x-submissions/a.ipynb"],
        ),
    ],
    ids=["hyphens", "released", "whole", "no hyphen", "ends as a branch", "two assignments", "in a download"],
)
def test_a_prefix_says_where_the_names_of_students_begin_in_clones(
    tmp_path, mark, clones, prefixes, expected
):
    for path in clones:
        folder, _, name = path.rpartition("/")
        clone(tmp_path / "in" / folder, name, f"{mark}/01_tiny.ipynb")
    collect(tmp_path / "in", tmp_path / "out", prefixes)
    assert laid_out(tmp_path / "out") == expected


@pytest.mark.parametrize(
    ("clones", "options", "why"),
    [
        (["in/hw-submissions/hw-ada"], [], "hw-submissions contains repositories"),
        (["in"], [], "name the folder that contains it"),
        (["in/hw-ada", "in/hw-x-ada"], [["hw", "hw-x"]], "hw-x-ada begins with hw- and hw-x-, so it is not"),
        (["in/hw-ada"], [None, []], "--unread needs --prefix"),
        (["in/leaves-ada", "in/leaves-ben"], [], '--prefix leaves,.*--prefix ""'),
        (["in/leaves-a", "in/leaves-b", "in/bptt-a", "in/bptt-b"], [], '--prefix bptt,.*--prefix ""'),
        (["in/leaves-anna-lee"], [], '--prefix leaves,.*--prefix ""'),
        (["in/anna-lee", "in/bo-li"], [], '--prefix anna,.*--prefix ""'),
    ],
)
@pytest.mark.parametrize("mark", [".git", ".handout"])
def test_clones_are_refused_until_somebody_says_where_names_begin(tmp_path, clones, options, why, mark):
    """The error names the folder or the option, and nothing is written."""
    for folder in clones:
        clone(tmp_path / folder, "01_tiny.ipynb", f"{mark}/01_tiny.ipynb")
    if mark == ".git" or "contains repositories" not in why:
        refuse(tmp_path / "in", tmp_path / "out", why, *options)


def test_what_was_committed_last_counts_however_it_was_cloned(tmp_path):
    ada = tmp_path / "in" / "hw-ada"
    commit(ada, 1_500_000_000, **{"01_tiny": "second try", "été": "x = 2"})
    commit(ada, 1_600_000_000, **{"01_tiny_again": "last"})
    commit(ada, 1_590_000_000, **{"01_tiny": "first try, edited"})
    for path in ada.glob("*.ipynb"):
        os.utime(path, (1_650_000_000, 1_650_000_000))
    collect(tmp_path / "in", tmp_path / "out", [""])
    modified = {path.name: path.stat().st_mtime for path in (tmp_path / "out" / "hw-ada").iterdir()}
    assert modified == {
        "01_tiny.ipynb": 1_590_000_000,
        "01_tiny_again.ipynb": 1_600_000_000,
        "été.ipynb": 1_500_000_000,
    }
    (found,) = find_submissions(tmp_path / "out", FUNCTIONS)
    assert found.path.name == "01_tiny_again.ipynb"


# It reads what it is handed, as gpg does: git takes a pipe that nobody reads for a failure.
SIGNS = """#!/bin/sh
cat > /dev/null
echo ran >> {ran}
echo "[GNUPG:] SIG_CREATED " >&2
printf -- "-----BEGIN PGP SIGNATURE-----\n\n=\n-----END PGP SIGNATURE-----\n"
"""


def test_no_program_that_a_clone_names_runs(tmp_path):
    """A folder that came back may name a program which checks its signatures; git is asked without it."""
    ada, ran, program = tmp_path / "in" / "hw-ada", tmp_path / "ran", tmp_path / "program"
    program.write_text(SIGNS.format(ran=ran))
    program.chmod(0o755)
    commit(ada, 1_500_000_000, **{"01_tiny": "x = 1"})
    for setting in (["gpg.program", program], ["log.showSignature", "true"], ["user.signingKey", "ada"]):
        git(ada, "config", *setting)
    git(ada, "commit", "-q", "--amend", "-S", "--no-edit")
    git(ada, "log")
    assert ran.read_text() == "ran\n" * 2  # it signed, and a careless log asked it
    collect(tmp_path / "in", tmp_path / "out", [""])
    assert ran.read_text() == "ran\n" * 2


def test_a_folder_of_clones_is_described(tmp_path):
    """A note says that a roster in it is not read; a student whose clone contains no notebook is named."""
    clone(tmp_path / "in", "hw-ada/01_tiny.ipynb", "hw-ada/.git/x", "hw-carl/README.md", "hw-carl/.git/x")
    (tmp_path / "in" / "roster.csv").write_text("student\nada\n", encoding="utf-8")
    collected = collect(tmp_path / "in", tmp_path / "out", ["hw"])
    assert collected.empty == ("carl",)
    assert any("roster.csv" in note for note in collected.notes)


def test_the_latest_attempt_of_canvas_counts(tmp_path):
    """Of `lastfirst_1_2_name-9.ipynb` and `...-10.ipynb`, the tenth attempt counts."""
    names = ["12_99_01_tiny-9", "LATE_12_91_01_tiny-10", "12_98_01_tiny"]
    take(tmp_path, [*(f"adalovelace_{name}.ipynb" for name in names), "anon_a1B2c_93_01_tiny.ipynb"])
    ada, anonymous = find_submissions(tmp_path / "out", FUNCTIONS)
    assert (ada.student, anonymous.student) == ("adalovelace", "anon_a1B2c")
    assert b"01_tiny-10" in ada.path.read_bytes() and len(ada.superseded) == 2


def collected(source, out, *options):
    """What the command makes of a source: its result, and the record by student and notebook."""
    said = CliRunner().invoke(main, ["collect", str(source), "--out", str(out), *options])
    if said.exit_code:
        return said, None
    record = read_csv(out / "collected.csv")
    return said, {(row["student"], row["notebook"]): row for row in record}


CANVAS_NAMES = {
    "van_der_bergada_11_501_01_leaves.ipynb": ("van_der_bergada", "11", "", "01_leaves.ipynb"),
    "hopperben_12_502_01_leaves.ipynb": ("hopperben", "12", "", "01_leaves.ipynb"),
    "noetherchen_LATE_13_503_01_leaves-1.ipynb": ("noetherchen", "13", "late", "01_leaves.ipynb"),
    "__ek_14_504_my_2_own_3_file-12.ipynb": ("student __ek", "14", "", "my_2_own_3_file.ipynb"),
    "de_la_LATE_cruz_22_505_01_leaves.ipynb": ("de_la_LATE_cruz", "22", "", "01_leaves.ipynb"),
    "user_16_17_506_01_leaves.ipynb": ("user_16", "17", "", "01_leaves.ipynb"),
    "kim_21_510_3_01_leaves.ipynb": ("kim", "21", "", "3_01_leaves.ipynb"),
    "user_2_15_511_01_leaves-2.ipynb": ("user_2", "15", "", "01_leaves.ipynb"),
    "r2_d2_LATE_18_507_2026_10_notes.ipynb.txt": ("r2_d2", "18", "late", "2026_10_notes.ipynb.txt"),
    "late_19_508_a_LATE_1_2_x.ipynb": ("late", "19", "", "a_LATE_1_2_x.ipynb"),
    "李雷_20_509_é-1-1.ipynb": ("李雷", "20", "", "é-1.ipynb"),
}


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_names_of_canvas_are_split_at_the_ids(tmp_path, kind):
    _, record = collected(source_of(tmp_path, CANVAS_NAMES, kind), tmp_path / "out")
    seen = {row["from"]: (student, row["id"], row["marked"], n) for (student, n), row in record.items()}
    assert seen == CANVAS_NAMES


def test_a_prefix_that_a_system_does_not_write_is_reported(tmp_path):
    (note,) = take(tmp_path, ["smithjo_1_91_a.ipynb"], ["leaves"]).notes
    assert note.startswith("--prefix did nothing: no student's name in this download from Canvas ")
    assert take(tmp_path, ["smithjo_1_91_a.ipynb"], [""]).notes == ()


def test_a_roster_tells_which_numbers_are_canvas_ids(tmp_path):
    write_roster(tmp_path / "out", "name,canvas id\nA B 7,8\nC,9\n")
    take(tmp_path, ["a_b_7_8_9_final.ipynb", "c_9_10_11_x.ipynb"])
    record = read_csv(tmp_path / "out/collected.csv")
    assert {(row["student"], row["notebook"], row["id"]) for row in record} == {
        ("A B 7", "final.ipynb", "8"),
        ("C", "11_x.ipynb", "9"),
    }


@pytest.mark.parametrize(
    ("name", "stray"),
    [
        ("van_der_bergada_11_501_01_leaves.ipynb", "solution.ipynb"),
        ("van_der_bergada_11_501_01_leaves.ipynb", "notes/draft.ipynb"),
        ("van_der_bergada_11_501_01_leaves.ipynb", "_LATE_1_2_x.ipynb"),
        ("Ada_1_assignsubmission_file_/01_leaves.ipynb", "01_leaves.ipynb"),
        ("Leaves_ada11_attempt_2026-10-12-10-00-00_01_leaves.ipynb", "Leaves_ben12_01_leaves.ipynb"),
        ("1-2 - Ada Lovelace - Oct 2, 2026 905 AM/01_leaves.ipynb", "Ben Ek/01_leaves.ipynb"),
        ("leaves-ada-main/01_leaves.ipynb", "leaves-ben-dev/01_leaves.ipynb"),
    ],
)
def test_one_name_that_is_not_the_systems_stops_the_command(tmp_path, name, stray):
    """Exit status 2, the name, what was expected, and nothing written; without it all is read."""
    source, options = pack(tmp_path / "in.zip", [name, stray]), ["--prefix", "leaves"]
    said, _ = collected(source, tmp_path / "out", *options)
    assert said.exit_code == 2
    assert stray.partition("/")[0] in said.output and "<" in said.output
    assert not (tmp_path / "out").exists()
    said, _ = collected(pack(source, [name]), tmp_path / "out", *options)
    assert said.exit_code == 0


@pytest.mark.parametrize(
    "names",
    [["01_leaves.ipynb"], ["Leaves - Ada L.ipynb", "Leaves - Ben.ipynb"], ["ada_12.ipynb", "ben/a.ipynb"]],
)
@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_files_of_an_unknown_system_become_students_only_if_somebody_says_so(tmp_path, names, kind):
    """The error has each system's pattern; `--prefix ""` says that files are named as the students."""
    source = source_of(tmp_path, names, kind)
    said, _ = collected(source, tmp_path / "out")
    assert said.exit_code == 2 and names[0] in said.output
    assert all(system.pattern in said.output for system in all_systems())
    assert not (tmp_path / "out").exists()
    collect(source, tmp_path / "out", [""])
    assert students(tmp_path / "out") == [re.split("/|.ipynb", name)[0] for name in names]


def test_every_system_is_in_the_help_and_in_the_documentation():
    """Both are made of what the modules say; `python docs/formats.py` writes the list."""
    said = CliRunner().invoke(main, ["collect", "--help"])
    docs = (Path(__file__).parents[2] / "docs/instructors.md").read_text(encoding="utf-8")
    for system in all_systems():
        assert system.title in said.output
    assert f"\n\n{notes()}* Clones: " in docs, "run: python docs/formats.py"


@pytest.mark.parametrize("system", all_systems(), ids=lambda system: system.key)
def test_the_example_of_every_system_is_its_students(tmp_path, system):
    """A zip, and the folder that it is unpacked to."""
    name, student = system.example
    members = [name]
    if system.key == "gradescope":
        members.append(
            ("submission_metadata.yml", "submission_123: {':submitters': [{':name': Ada Lovelace}]}")
        )
    source = source_of(tmp_path, members, "folder") / (name.partition("/")[0] if system.is_wrapped else "")
    for place, out in ((tmp_path / "in.zip", tmp_path / "out"), (source, tmp_path / "unpacked")):
        collect(place, out, ["leaves"] if system.key == "github" else None)
        assert laid_out(out) == [f"{student}/01_leaves.ipynb"]


def test_sakai_says_when_in_a_file_and_keeps_feedback_beside(tmp_path, course_in_zurich):
    """The zip's own times are those of its download; what an instructor attached is no submission."""
    ada, zoe = "Leaves/Lovelace, Ada(ada11)/", "Leaves/O'Neil, Z\u00fc(z_\u00fc)/"
    group = "Leaves/Team A (8f1f3a4e-0b0c-4a51-9d6e-0123456789ab)/"
    members = [
        f"{ada}Submission attachment(s)/01_leaves.ipynb",
        f"{ada}Feedback Attachment(s)/01_leaves.ipynb",
        (f"{ada}timestamp.txt", b"2026-10-12T08:00:00.123Z"),
        f"{group}Submission attachment(s)/01_leaves.ipynb",
        (f"{zoe}Submission attachment(s)/report.pdf", b"%PDF"),
        *((f"{folder}timestamp.txt", b"2026-10-11T08:00:00Z") for folder in (group, zoe)),
        ("Leaves/grades.csv", b"Leaves,Points"),
    ]
    roster = "name,login,group\nBo B,bo,Team A\nCy C,cy,Team A\nAda Lovelace,ada11,\n"
    write_roster(tmp_path / "out", roster)
    said, record = collected(pack(tmp_path / "in.zip", members), tmp_path / "out")
    assert {key: row["modified"] for key, row in record.items()} == {
        ("Ada Lovelace", "01_leaves.ipynb"): "2026-10-12T08:00:00+00:00",
        ("Bo B", "01_leaves.ipynb"): "2026-10-11T08:00:00+00:00",
        ("Cy C", "01_leaves.ipynb"): "2026-10-11T08:00:00+00:00",
    }
    assert "timestamp" not in said.output
    assert "Feedback Attachment(s)/01_leaves.ipynb is an instr" in said.output
    assert (tmp_path / "out/Z\u00fc O'Neil/report.pdf.not-copied").exists()


def test_blackboard_gives_the_user_name_and_the_time_of_the_attempt(tmp_path, course_in_zurich):
    """The last attempt counts, in the course's time; texts beside attempts are nobody's."""
    attempt = "Leaves_{}_attempt_2026-{}-10-00-00{}"
    members = [
        attempt.format("ada11", "10-12", "_01_leaves.ipynb"),
        attempt.format("ada11", "10-09", "_draft_1_2_x.ipynb"),
        (attempt.format("ada11", "10-12", ".txt"), b"Name: Ada"),
        (attempt.format("ben12", "10-12", "_report.pdf"), b"%PDF"),
    ]
    said, record = collected(pack(tmp_path / "in.zip", members), tmp_path / "out")
    assert {key: row["modified"] for key, row in record.items()} == {
        ("ada11", "01_leaves.ipynb"): "2026-10-12T08:00:00+00:00",
        ("ada11", "draft_1_2_x.ipynb"): "2026-10-09T08:00:00+00:00",
    }
    assert "no notebook: ben12" in said.output
    assert (tmp_path / "out/ben12/report.pdf.not-copied").read_bytes() == b""


USERS = [f"My_Leaves_{user}_attempt_2026-10-12-10-00-00_a.ipynb" for user in ("ada_l", "b_l")]
ADAS = [f"{number}-9 - Ada Lovelace - Oct {number}, 2026 905 AM/a.ipynb" for number in (1, 2)]
BRANCHES = [f"l-{name}/a.ipynb" for name in ("ada-main", "ben-master", "main-lee-main", "eve-main (1)")]
TAGGED = "submission_1: {':created_at': 2026-99-99, ':submitters': [{':name': !!python/name:ada 017}]}"
OTHERS = ["ada/byronada_11_501_a.ipynb", "cy/a.ipynb", "cy/x/byronada_11_501_a.ipynb", "dee/1-2 - a.ipynb"]
FILE = "assignsubmission_file_"
#: What is refused, because it could be read in several ways.
UNCLEAR = [
    (USERS, "--prefix My_Leaves"),  # a user name may have an underscore in it
    (ADAS, r"Ada Lovelace has several numbers \(1, 2\)"),
    (BRANCHES, "--prefix l"),
    (["submissions/lovelaceada_11_501_a.ipynb"], "submissions.* download from Canvas"),
    *(  # the time decides which submission counts
        ([f"1-2 - {name}/a.ipynb"], f"1-2 - {re.escape(name)}.*<Oct 2, 2026 905 AM>")
        for name in ("Ada - 2. Okt. 2026 09 05", "Ada - Oct 32, 2026 905 AM", "Ada", "Ada - 2026-10-02")
    ),
]


@pytest.mark.parametrize(("members", "why"), UNCLEAR)
@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_what_may_be_meant_is_not_guessed(tmp_path, members, why, kind):
    refuse(source_of(tmp_path, members, kind), tmp_path / "out", why)


#: Members, the roster or prefixes that say whose they are, and the folders of the students.
CLEAR = {
    "a prefix before a user name": (USERS, ["My_Leaves"], ["ada_l", "b_l"]),
    "a user name of the roster": (USERS, "name,username\nAda,ada_l\nBen,b_l\n", ["Ada", "Ben"]),
    "one person": (ADAS, "name\nAda Lovelace\n", ["Ada Lovelace"]),
    "two": (ADAS, "name,brightspace id\nAda L,1\nAda L,2\n", ["Ada L-1", "Ada L-2"]),
    "a branch, and a number of the browser": (BRANCHES, ["l"], ["ada", "ben", "eve", "main-lee"]),
    "one repository": (["l-ada-main/x/a.ipynb", "l-ada-main/y/a.ipynb"], ["l"], ["ada"]),
    "whatever names have in common": (["a-lee/a.ipynb", "a-kim/a.ipynb"], None, ["a-kim", "a-lee"]),
    "names of a system below students": (OTHERS, None, ["ada", "cy", "dee"]),
    "folders of Moodle": ([f"Zoë Ångström-Li_77_{FILE}/sub/a.ipynb"], None, ["Zoë Ångström-Li"]),
    "files of Moodle": ([f"李 雷_78_{FILE}Victim_9_{FILE}x.ipynb"], None, ["李 雷"]),
    "metadata of objects": (["submission_1/a.ipynb", ("submission_metadata.yml", TAGGED)], None, ["017"]),
}


@pytest.mark.parametrize(("members", "told", "expected"), CLEAR.values(), ids=CLEAR)
@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_what_is_told_or_clear_is_read(tmp_path, members, told, expected, kind):
    if isinstance(told, str):
        write_roster(tmp_path / "out", told)
    take(tmp_path, members, told if isinstance(told, list) else None, kind=kind)
    assert students(tmp_path / "out") == expected


@pytest.mark.parametrize("form", ["{}/01_leaves.ipynb", "{} - 01_leaves.ipynb"])
def test_brightspace_gives_one_student_whose_last_submission_counts(tmp_path, course_in_zurich, form):
    """A folder, or a file, for each submission: all are one student's, with the times that names have."""
    names = ["Ada L - Oct 2, 2026 905 AM", "Ada L - Oct 9, 2026 1205 PM", "A-M Ek - 10 October, 2026 14:05"]
    numbers = ("1234", "1234", "1235")
    members = [form.format(f"{number}-5 - {name}") for number, name in zip(numbers, names, strict=True)]
    source = pack(tmp_path / "in.zip", [("index.html", b"<html>"), *members])
    _, record = collected(source, tmp_path / "out")
    latest = {who: row["modified"] for (who, name), row in record.items() if name == "01_leaves.ipynb"}
    assert latest == {"Ada L": "2026-10-09T10:05:00+00:00", "A-M Ek": "2026-10-10T12:05:00+00:00"}
    assert {who for who, _ in record} == latest.keys()
    assert (tmp_path / "out/Ada L/01_leaves.ipynb").read_bytes() == text(members[1])


def test_what_a_group_submitted_counts_for_each_member(tmp_path):
    """The roster says who is in it; the group's id is no member's, and a member's own work is their own."""
    roster = "name,group\nAda Lovelace,Team Rocket\nBen Ek,Team Rocket\nEve Ek,Solo\n"
    write_roster(tmp_path / "out", roster)
    members = [("teamrocket_7_501_01_leaves.ipynb", text("ours")), ("ekben_8_502_02_x.ipynb", text("mine"))]
    said, record = collected(pack(tmp_path / "in.zip", members), tmp_path / "out")
    assert {key: row["id"] for key, row in record.items()} == {
        ("Ada Lovelace", "01_leaves.ipynb"): "",
        ("Ben Ek", "01_leaves.ipynb"): "",
        ("Ben Ek", "02_x.ipynb"): "8",
    }
    assert "not on the roster" not in said.output


@pytest.fixture
def course_in_zurich(tmp_path, monkeypatch):
    """A course with a time zone, in another one than this machine's."""
    course = write_course(tmp_path / "course")
    (course / "course.toml").write_text('[term]\ntime_zone = "Europe/Zurich"\n', encoding="utf-8")
    monkeypatch.chdir(course)
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield course
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("when", "utc"),
    [
        ((2026, 7, 1, 12, 0, 0), "2026-07-01T10:00:00+00:00"),
        ((2026, 12, 1, 12, 0, 0), "2026-12-01T11:00:00+00:00"),
        ((1980, 1, 1, 0, 0, 0), "1979-12-31T23:00:00+00:00"),
    ],
)
def test_the_times_of_a_zip_are_those_of_the_course(tmp_path, course_in_zurich, when, utc):
    source = pack(tmp_path / "in.zip", [("Ada_1_assignsubmission_file_/a.ipynb", text())], when=when)
    _, record = collected(source, tmp_path / "out")
    assert record["Ada", "a.ipynb"]["modified"] == utc


def test_everything_that_is_ignored_is_listed(tmp_path):
    """Each file that is not taken is in `ignored.csv` with the reason, and a few are in the terminal."""
    members = [(f"ada_1_{n}_{n}.pdf", b"%PDF") for n in range(20)]
    members += ["ada_1_99_a.ipynb", ("ben_2_98_all.zip", b"PK")]
    said, _ = collected(pack(tmp_path / "in.zip", members), tmp_path / "out")
    ignored = {row["path"]: row["reason"] for row in read_csv(tmp_path / "out/ignored.csv")}
    assert len(ignored) == 21
    assert "unpack it" in ignored["ben_2_98_all.zip"] and ignored["ada_1_0_0.pdf"] == "is not a notebook"
    assert "and 9 more" in said.output and "ignored.csv lists all" in said.output
    assert "no notebook: ben" in said.output


def test_who_submitted_no_notebook_has_an_error_row(tmp_path):
    write_roster(tmp_path / "out", "name\nAda Lovelace\nBen Ek\n")
    take(tmp_path, ["lovelaceada_1_9_01_tiny.ipynb", ("ekben_2_8_report.pdf", b"%PDF")])
    ben, ada = sorted(find_submissions(tmp_path / "out", FUNCTIONS), key=lambda one: one.error is None)
    assert (ben.student, ada.student) == ("Ben Ek", "Ada Lovelace")
    assert "Ben Ek holds no notebook, only report.pdf.not-copied" in ben.error


#: Folders without a notebook: the files in each, and the file that stands for them.
WITHOUT = {
    "bo": (["01_tiny.ipynb.icloud"], "01_tiny.ipynb.icloud"),
    "cy": ([".01_tiny.ipynb.icloud"], "01_tiny.ipynb.icloud"),
    "dee": ([".DS_Store", "b.txt", "a/c.txt"], "c.txt"),
    "eve": (["01_tiny.ipynb "], "01_tiny.ipynb "),
    "fay": (["01_tiny.ipynb/"], "empty folder"),
    "gil": (["all.zip"], "all.zip"),
    "hal": ([], "empty folder"),
}


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("out", "Adjustments.csv"),
        (".", "adjustments.csv.txt"),
        ("out", "adjustments.xlsx"),
        (".", "adjustments (1).csv"),
    ],
)
def test_a_file_of_the_class_with_a_wrong_name_is_named(tmp_path, name, place):
    """Beside the submissions and among them; not if the right file is there, too."""
    (tmp_path / "out").mkdir()
    (tmp_path / place / name).touch()
    (tmp_path / "out/roster.md").touch()
    note = f"{tmp_path / place / name} is not read: save it as a CSV file with the name adjustments.csv."
    assert take(tmp_path, ["ada/a.ipynb"]).notes == (note,)
    (tmp_path / "out/adjustments.csv").touch()
    assert take(tmp_path, ["ada/a.ipynb"]).notes == ()


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_every_folder_without_a_notebook_has_an_error_row(tmp_path, kind):
    members = ["ada/01_tiny.ipynb"]
    for student, (names, _) in WITHOUT.items():
        members += [(f"{student}/{name}", b"") for name in (names or [""])]
    said, _ = collected(source_of(tmp_path, members, kind), tmp_path / "out")
    assert 'ignored: "eve/01_tiny.ipynb " is not a notebook' in said.output
    assert re.findall("^no notebook: (.*)$", said.output, re.MULTILINE) == [*WITHOUT]
    errors = {one.student: one.error for one in find_submissions(tmp_path / "out", FUNCTIONS) if one.error}
    assert errors == {
        student: f"{student} holds no notebook, only {file}.not-copied: submit the notebook itself, a file"
        " whose name ends in .ipynb."
        for student, (_, file) in WITHOUT.items()
    }


@pytest.mark.parametrize(
    "form", ["{0}_{1}_2_a.ipynb", "{0}/a.ipynb", "{0}_{1}_assignsubmission_file_/a.ipynb"]
)
def test_a_student_whose_only_notebook_is_damaged_has_an_error_row(tmp_path, form):
    """The other notebook of a student counts; the zip that was downloaded again replaces the error."""
    names = [form.format("ada", 1), form.format("ben", 2), form.format("ben", 2).replace("a.ip", "b.ip")]
    source = pack(tmp_path / "in.zip", names)
    intact = source.read_bytes()
    for name in names[:2]:
        damage(source, name)
    assert collect(source, tmp_path / "out").empty == ("ada",)
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb.not-copied", "ben/b.ipynb"]
    ada, ben = find_submissions(tmp_path / "out", FUNCTIONS)
    assert "ada holds no notebook, only a.ipynb.not-copied" in ada.error and ben.error is None
    source.write_bytes(intact)
    collect(source, tmp_path / "out")
    assert [one.error for one in find_submissions(tmp_path / "out", FUNCTIONS)] == [None, None]


@pytest.mark.parametrize(
    ("form", "people", "expected"),
    [
        ("{}_9_a.ipynb", ["smithjo_1", "smithjo_2"], ["smithjo-1", "smithjo-2"]),
        ("{}_assignsubmission_file_/a.ipynb", ["Jo Smith_3", "Jo Smith_4"], ["Jo Smith-3", "Jo Smith-4"]),
        ("{}_assignsubmission_file_/a.ipynb", ["Jo_3", "Jo_4", "Jo-3_7"], ["Jo-3", "Jo-3-ebe31ffc", "Jo-4"]),
    ],
    ids=["Canvas", "Moodle", "a name that looks told apart"],
)
def test_two_students_of_one_name_stay_two(tmp_path, form, people, expected):
    notes = take(tmp_path, [form.format(who) for who in people]).notes
    assert students(tmp_path / "out") == expected
    called = people[0].partition("_")[0]
    assert f"several students are called {called}: their folders' names say which is which." in notes


@pytest.mark.parametrize("both", [False, True])
def test_a_second_download_replaces_nobody_by_another_of_the_name(tmp_path, both):
    one, two = (f"lovelaceada_{number}_9{number}_a.ipynb" for number in ("11", "66"))
    take(tmp_path, [one])
    second = pack(tmp_path / "2.zip", [two, *([one] if both else [])], when=(2026, 11, 22, 12, 0, 0))
    (note,) = collect(second, tmp_path / "out").notes
    assert "lovelaceada" in note
    assert not collect(second, tmp_path / "out").changes.written
    assert laid_out(tmp_path / "out") == ["lovelaceada-66/a.ipynb", "lovelaceada/a.ipynb"]
    assert (tmp_path / "out/lovelaceada/a.ipynb").read_bytes() == text(one)
    assert (tmp_path / "out/lovelaceada-66/a.ipynb").read_bytes() == text(two)


def test_a_number_names_the_folder_also_of_who_changed_the_name(tmp_path):
    take(tmp_path, ["lovelaceada_11_91_a.ipynb"])
    take(tmp_path, ["byronada_11_92_b.ipynb"])
    assert laid_out(tmp_path / "out") == ["lovelaceada/a.ipynb", "lovelaceada/b.ipynb"]


def test_a_folder_of_texts_beside_the_notebook_is_nobody_without_one(tmp_path):
    """Moodle lays what a student typed into a folder of its own; only who handed in no file is named."""
    people = ("Ada Lovelace_3", "Ada Lovelace_4", "Ben_5")
    texts = [(f"{who}_assignsubmission_onlinetext_/onlinetext.html", b"<p>done</p>") for who in people]
    collected = take(tmp_path, ["Ada Lovelace_3_assignsubmission_file_/01_tiny.ipynb", *texts])
    assert collected.empty == ("Ada Lovelace-4", "Ben")


def test_moodle_numbers_tell_people_apart_in_one_assignment_only(tmp_path):
    """Moodle numbers people anew in each assignment: another number and the same notebook is another one."""
    for number, name in ((1, "a"), (9, "b"), (5, "a")):
        collected = take(tmp_path, [f"Ada L_{number}_assignsubmission_file_/{name}.ipynb"])
        assert len(collected.notes) == (number != 1)
    assert laid_out(tmp_path / "out") == ["Ada L-5/a.ipynb", "Ada L/a.ipynb", "Ada L/b.ipynb"]
    assert len(read_csv(tmp_path / "out/collected.csv")) == 3


METADATA = """\
---
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: '17'
    :email: ada@example.org
  - :name: Ben
    :email: ben@example.org
  :created_at: 2026-11-20 10:00:00.000000000 Z
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess {score: 3}
submission_2:
  :submitters: []
submission_3:
  :submitters:
  - :name: Carl
    :email: c@example.org
"""


@pytest.mark.parametrize("wrapper", ["", "assignment_5_export/"])
def test_gradescope_groups_get_a_copy_for_each_member(tmp_path, wrapper):
    """The names are those of the metadata; a group's notebook is each member's, of the time it says."""
    members = [
        (f"{wrapper}submission_metadata.yml", METADATA),
        f"{wrapper}submission_1/01_tiny.ipynb",
        f"{wrapper}submission_2/01_tiny.ipynb",
        (f"{wrapper}submission_3/answer.py", "x = 1"),
    ]
    collected = take(tmp_path, members)
    assert laid_out(tmp_path / "out") == [
        "Ada Lovelace/01_tiny.ipynb",
        "Ben/01_tiny.ipynb",
        "Carl/answer.py.not-copied",
        "submission_2/01_tiny.ipynb",
    ]
    created = datetime(2026, 11, 20, 10, tzinfo=UTC).timestamp()
    assert (tmp_path / "out/Ben/01_tiny.ipynb").stat().st_mtime == created
    assert "submission_2" in collected.notes[0]
    assert collected.empty == ("Carl",)


#: Nine lines that stand for a billion texts.
BOMB = "\n".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 10)}]" for below, name in pairwise("abcdefghij")
)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("a: [", "while parsing"),
        ("- 1", "names no submission"),
        ("\x00", "control characters|special characters"),
        (f"a: &a [x]\n{BOMB}", "aliases"),
        (f"a: {'[' * 100_000}", "more than 100 deep"),
        ("a:\n" + "".join(f"{' ' * depth}-\n" for depth in range(200)), "more than 100 deep"),
        ("- " * 100_000, "more than 100 deep"),
        (f"a: {'x' * (64 << 20)}", "larger than 64 MiB"),
    ],
)
def test_broken_metadata_is_an_error_at_once(tmp_path, bad, why):
    """Whatever stands in Gradescope's file, it is data, or it is refused in a sentence."""
    clone(tmp_path / "in/submission_1", "01_tiny.ipynb")
    (tmp_path / "in/submission_metadata.yml").write_text(bad, encoding="utf-8")
    before = time.process_time()
    refuse(tmp_path / "in", tmp_path / "out", rf"cannot be read \(.*({why}).*collect without that file")
    assert time.process_time() - before < 5


def test_gradescopes_metadata_counts_only_in_gradescopes_folder(tmp_path):
    """A student whose copy looks like an export names nobody else, even if its metadata are broken."""
    mallory, place = tmp_path / "in/hw-mallory", "submission_metadata.yml"
    clone(mallory / "submission_1", "01_tiny.ipynb")
    for number, metadata in enumerate([METADATA, "a: ["]):
        (mallory / place).write_text(metadata, encoding="utf-8")
        collect(tmp_path / "in", tmp_path / f"out{number}")
        assert laid_out(tmp_path / f"out{number}") == ["hw-mallory/01_tiny.ipynb"]


def test_a_name_below_the_top_impersonates_nobody(tmp_path):
    names = ("ada_1_2_01_tiny.ipynb", "Ada_1_assignsubmission_file_/01_tiny.ipynb", "hw-ada/01_tiny.ipynb")
    clone(tmp_path / "in/mallory", *names, "hw-ada/.git/x")
    clone(tmp_path / "in/ada", "01_tiny.ipynb")
    clone(tmp_path / "in/trudy", "hw-ada/01_tiny.ipynb", "hw-ben/01_tiny.ipynb", "hw-ben/.git/x")
    collect(tmp_path / "in", tmp_path / "out")
    assert [name.partition("/")[0] for name in laid_out(tmp_path / "out")] == [
        "ada",
        *["mallory"] * 3,
        *["trudy"] * 2,
    ]


def zip_info(name, mode=stat.S_IFREG | 0o644, **attributes):
    info = zipfile.ZipInfo("placeholder.ipynb", NOON)
    info.filename, info.external_attr = name, mode << 16
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info


@pytest.mark.parametrize(
    "name",
    [
        "../evil.ipynb",
        "ada/../../evil.ipynb",
        "/etc/evil.ipynb",
        "C:/evil.ipynb",
        "..\\evil.ipynb",
        "\\\\server\\share\\evil.ipynb",
        "ben/e\0vil.ipynb",
    ],
)
def test_no_path_leads_out_of_the_zip(tmp_path, name):
    out = tmp_path / "deep/er/out"
    skipped = take(tmp_path, ["ada/01_tiny.ipynb", (zip_info(name), text("evil"))], out=out).changes.skipped
    assert [why for _, why in skipped if "leads out" in why] or ".." not in name
    assert all(path.is_relative_to(out) for path in tmp_path.rglob("*.ipynb"))
    assert (out / "ada/01_tiny.ipynb").is_file()
    assert len(laid_out(out)) == 2 - len(skipped)


def test_links_devices_and_damaged_members_of_a_zip_are_left_aside(tmp_path):
    """Only ordinary, readable members count, and a damaged one costs nobody else anything."""
    odd = {
        zip_info("ben/link.ipynb", stat.S_IFLNK | 0o777): "a link",
        zip_info("ben/fifo.ipynb", stat.S_IFIFO): "not a regular",
        zip_info("ben/device.ipynb", stat.S_IFCHR): "not a regular",
        zip_info("ben/packed.ipynb", compress_type=zipfile.ZIP_LZMA): "cannot be unpacked",
        "ben/damaged.ipynb": "cannot be unpacked",
        "ben/all.zip": "unpack it",
    }
    harmless = ["ada/01_tiny.ipynb", "ben/.ipynb_checkpoints/01_tiny.ipynb"]
    hidden = [(name, b"\0") for name in ("__MACOSX/ada/._01_tiny.ipynb", "ada/._01_tiny.ipynb")]
    source = pack(tmp_path / "in.zip", [*harmless, *hidden, *((name, b"A" * 5000) for name in odd)])
    damage(source, "ben/damaged.ipynb")
    skipped = dict(collect(source, tmp_path / "out").changes.skipped)
    assert laid_out(tmp_path / "out") == ["ada/01_tiny.ipynb", "ben/.copies/01_tiny.ipynb"]
    for name, why in odd.items():
        assert why in skipped[getattr(name, "filename", name)]


def test_encrypted_members_are_left_aside(tmp_path):
    source = pack(tmp_path / "in.zip", ["b/locked.ipynb", "ada/a.ipynb"])
    content = bytearray(source.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # of the first member
        content[content.index(signature) + offset] |= 1
    source.write_bytes(content)
    ((path, why),) = collect(source, tmp_path / "out").changes.skipped
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb", "b/locked.ipynb.not-copied"]
    assert path == "b/locked.ipynb" and "password" in why and "unpack it and collect the folder" in why


def test_bombs_are_refused_before_they_go_off(tmp_path, monkeypatch):
    """What unpacks to more than a notebook may be, to too much in all, or to too many, is not unpacked."""
    monkeypatch.setattr("grader.integrations.collect.source.MAX_FILE_BYTES", 19 << 20)
    source = pack(tmp_path / "in.zip", ["ada/a.ipynb", ("ben/bomb.ipynb", b"0" * (20 << 20))])
    assert "is larger than" in dict(collect(source, tmp_path / "out").changes.skipped)["ben/bomb.ipynb"]
    monkeypatch.setattr("grader.integrations.collect.source.MAX_MEMBERS", 1)
    refuse(source, tmp_path / "out1", "2 members")
    monkeypatch.undo()
    many = pack(tmp_path / "many.zip", [(f"s{n}/a.ipynb", os.urandom(100)) for n in range(30)])
    monkeypatch.setattr("grader.integrations.collect.MAX_BYTES", 1000)
    with pytest.raises(GraderError, match="bomb"):
        collect(many, tmp_path / "out2")
    assert laid_out(tmp_path / "out2") == []


def test_a_member_without_a_name_costs_nobody_anything(tmp_path):
    take(tmp_path, ["ada/a.ipynb", *((zip_info(name), b"x") for name in ("", "//", "./."))])
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb"]


@pytest.mark.parametrize("size", [10, 60_000])
def test_a_member_that_lies_about_its_size_is_damaged(tmp_path, size):
    source = pack(tmp_path / "in.zip", ["ada/a.ipynb", ("ben/liar.ipynb", b"0" * 50_000)])
    content = source.read_bytes().replace(struct.pack("<I", 50_000), struct.pack("<I", size))
    source.write_bytes(content)
    assert "cannot be unpacked" in dict(collect(source, tmp_path / "out").changes.skipped)["ben/liar.ipynb"]


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_one_students_large_files_cost_the_others_nothing(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("grader.integrations.collect.layout.MAX_STUDENT_BYTES", 3000)
    members = [(f"ada/{n}.ipynb", os.urandom(1000)) for n in range(5)] + ["ben/a.ipynb"]
    skipped = take(tmp_path, members, kind=kind).changes.skipped
    assert "ben/a.ipynb" in laid_out(tmp_path / "out") and len(laid_out(tmp_path / "out")) == 4
    assert len(skipped) == 2 and all("MiB of notebooks taken of ada" in why for _, why in skipped)


def test_thousands_of_notebooks_of_one_student_are_a_few_and_cost_little(tmp_path):
    """Of notebooks of one name without end the latest are laid out, in a moment, and the others told."""
    source = pack(tmp_path / "in.zip", [*((f"eve/{n}/a.ipynb", b"{}") for n in range(6000)), "ben/a.ipynb"])
    before = time.process_time()
    changes = collect(source, tmp_path / "out").changes
    assert time.process_time() - before < 5  # it was ten, and grew with the square
    assert len(laid_out(tmp_path / "out")) == 201 and len(changes.skipped) == 5800
    assert "eve/a.ipynb" in changes.written


def test_links_and_pipes_in_a_folder_are_not_followed(tmp_path):
    secret = write_notebook(tmp_path / "secret/01_secret.ipynb", ["secret = 1"])
    ada = clone(tmp_path / "in/ada", "01_tiny.ipynb")
    (ada / "link.ipynb").symlink_to(secret)
    (ada / "folder").symlink_to(secret.parent)
    (ada / "hard.ipynb").hardlink_to(secret)
    os.mkfifo(ada / "pipe.ipynb")
    skipped = dict(collect(tmp_path / "in", tmp_path / "out").changes.skipped)
    assert laid_out(tmp_path / "out") == ["ada/01_tiny.ipynb"]
    assert set(skipped) == {"ada/link.ipynb", "ada/hard.ipynb", "ada/pipe.ipynb"}


def test_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/ada").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GraderError, match="is a link"):
        take(tmp_path, ["ada/01_tiny.ipynb"])
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("what", ["file", "folder", "pipe"])
def test_what_is_in_the_way_is_an_error_in_a_sentence(tmp_path, what):
    place = tmp_path / "out/ben" / ("" if what == "file" else "01_tiny.ipynb")
    place.parent.mkdir(parents=True)
    {"file": Path.touch, "folder": Path.mkdir, "pipe": os.mkfifo}[what](place)
    said, _ = collected(pack(tmp_path / "in.zip", ["ben/01_tiny.ipynb"]), tmp_path / "out")
    assert said.exit_code == 2
    assert "out/ben" in said.output and "move it away" in said.output and len(said.output.splitlines()) == 1


@pytest.mark.parametrize(
    "name",
    [".ipynb_checkpoints", "__MACOSX", "roster.csv", "collected.csv", "=cmd", "a\x1b[2Jb", "-rf", "x" * 250],
)
def test_no_name_of_a_student_hides_or_harms(tmp_path, name):
    take(tmp_path, [f"{name}_7_assignsubmission_file_/01_tiny.ipynb"])
    assert len(find_submissions(tmp_path / "out", FUNCTIONS)) == 1
    (row,) = read_csv(tmp_path / "out/collected.csv")
    assert not row["student"].startswith(("=", "-")) and "\x1b" not in row["student"]


def test_names_that_a_file_system_takes_for_one_do_not_meet(tmp_path):
    names = ["Bo", "bo", *(unicodedata.normalize(form, "zoë") for form in ("NFC", "NFD"))]
    notes = take(tmp_path, [f"{name}/a.ipynb" for name in names]).notes
    content = {
        (tmp_path / "out" / path).read_bytes(): path.split("/")[0] for path in laid_out(tmp_path / "out")
    }
    bo, small_bo, zoe, other_zoe = (content[text(f"{name}/a.ipynb")] for name in names)
    assert len({unicodedata.normalize("NFC", name).casefold() for name in content.values()}) == 4
    same = "some file systems take these students' names for the same, so their folders differ"
    assert notes == (
        f"{same}: {bo} is Bo; {small_bo} is bo.",
        f"{same}: {other_zoe} is 'zoe\\u0308'; {zoe} is 'zo\\xeb'.",
    )


def test_collecting_again_changes_nothing(tmp_path):
    source = pack(tmp_path / "in.zip", [f"{name}/01_tiny.ipynb" for name in ("ada", "ada/old", "ben")])

    def state():
        files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
        return {p: (p.read_bytes(), p.stat().st_mtime_ns * (p.suffix != ".csv")) for p in files}

    first = collect(source, tmp_path / "out").changes
    before = state()
    again = collect(source, tmp_path / "out").changes
    assert state() == before
    assert len(first.written) == len(again.unchanged) == 3 and not again.written + again.replaced


def test_a_newer_version_replaces_and_an_older_one_does_not(tmp_path):
    old = pack(tmp_path / "old.zip", ["ada_1_2_a.ipynb"], when=(2026, 1, 1, 0, 0, 0))
    new = pack(tmp_path / "new.zip", ["ada_1_3_a.ipynb"], when=(2026, 2, 1, 0, 0, 0))
    collect(old, tmp_path / "out")
    assert collect(new, tmp_path / "out").changes.replaced == ["ada/a.ipynb"]
    assert "is older than" in collect(old, tmp_path / "out").changes.skipped[0][1]
    assert (tmp_path / "out/ada/a.ipynb").read_bytes() == text("ada_1_3_a.ipynb")


def test_what_somebody_changed_here_is_kept(tmp_path):
    source = pack(tmp_path / "in.zip", ["ada_1_2_a.ipynb", "ben_2_3_a.ipynb"])
    put = write_notebook(tmp_path / "out/ben/a.ipynb", ["by_hand = 1"])
    collect(source, tmp_path / "out")
    mended = write_notebook(tmp_path / "out/ada/a.ipynb", ["mended = 1"])
    skipped = collect(source, tmp_path / "out").changes.skipped
    assert len(skipped) == 2 and all("so it stays" in why for _, why in skipped)
    assert b"mended" in mended.read_bytes() and b"by_hand" in put.read_bytes()


@pytest.mark.parametrize("name", ["{}/a.ipynb", "{}_1_assignsubmission_file_/a.ipynb"])
def test_folders_in_one_folder_of_a_zip_are_students_if_somebody_says_so(tmp_path, name):
    """One student can pack such a zip and call its folders as others are called; `--prefix` decides."""
    source = pack(tmp_path / "in.zip", [f"hw-mallory/{name.format(student)}" for student in ("ada", "ben")])
    refuse(source, tmp_path / "out", r'everything is in hw-mallory, .* add --prefix ""')
    collect(source, tmp_path / "out", [""])
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb", "ben/a.ipynb"]
    collect(source, tmp_path / "alone", ["hw"])  # which says that the folder is a student's
    assert students(tmp_path / "alone") == ["mallory"]


#: By system, names of two students that it gives to their notebooks.
TWO_STUDENTS = {
    "Canvas": ("lovelaceada_11_501_a.ipynb", "hopperg_LATE_12_502_a.ipynb"),
    "Blackboard": tuple(f"Leaves_{who}_attempt_2026-10-12-10-00-00_a.ipynb" for who in ("ada11", "ben")),
    "Brightspace": tuple(
        f"{n}-9 - {who} - Oct 2, 2026 905 AM/a.ipynb" for n, who in ((1, "Ada"), (2, "Ben"))
    ),
    "Moodle": tuple(f"{who}_{n}_assignsubmission_file_/a.ipynb" for n, who in ((1, "Ada"), (2, "Ben"))),
    "Gradescope": ("submission_1/a.ipynb", "submission_2/a.ipynb", "submission_metadata.yml"),
    'GitHub\'s "Download ZIP"': ("leaves-ada-main/a.ipynb", "leaves-ben-main/a.ipynb"),
}


def in_folders(title, *folders):
    """The members of a source: in each of these folders, a download from a system."""
    names = [f"{folder}/{name}" for folder in folders for name in TWO_STUDENTS[title]]
    return [(name, METADATA) if name.endswith(".yml") else name for name in names]


@pytest.mark.parametrize("title", TWO_STUDENTS)
@pytest.mark.parametrize("around", ["submissions", "x/submissions"])
def test_a_download_in_other_folders_is_not_one_student(tmp_path, title, around):
    """Unpacked or in a zip, `collect` refuses it; for a zip, `--prefix ""` says that it is a download."""
    folder = source_of(tmp_path, in_folders(title, around), "folder")
    source, out = tmp_path / "in.zip", tmp_path / "out"
    refused = f"{around} is not a student's folder, but a download from {title}: collect that folder"
    refuse(folder, out, refused)
    refuse(source, out, f'in {around}, .* it is a download from {title}, add --prefix ""')
    assert collect(source, out, [""]).students == (3 if title == "Gradescope" else 2)
    assert {name.split("/")[1] for name in laid_out(out)} == {"a.ipynb"}


@pytest.mark.parametrize("title", TWO_STUDENTS)
@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_two_downloads_side_by_side_are_not_two_students(tmp_path, title, kind):
    source, out = source_of(tmp_path, in_folders(title, "backward", "leaves"), kind), tmp_path / "out"
    refuse(source, out, "^backward, leaves are not students' folders, but downloads from")
    collect(source, out, [""])
    assert students(out) == ["backward", "leaves"]


@pytest.mark.parametrize("what", ["missing", "empty", "text", "cut", "inside", "record"])
def test_what_cannot_be_collected_is_an_error_in_a_sentence(tmp_path, what):
    source, out = tmp_path / "in", tmp_path / "out"
    if what == "text":
        source.write_text("no zip")
    elif what == "cut":
        source.write_bytes(pack(tmp_path / "in.zip", ["a/01_tiny.ipynb"]).read_bytes()[:100])
    elif what != "missing":
        clone(source / "ada", "01_tiny.ipynb" if what in {"inside", "record"} else "x.txt")
    if what == "inside":
        out = source / "out"
    if what == "record":
        out.mkdir()
        (out / "collected.csv").write_bytes(b"\xff\xfe")
    said, _ = collected(source, out)
    assert said.exit_code == 2
    assert said.output.startswith("grader: ") and len(said.output.splitlines()) == 1
    assert what != "cut" or "download it again" in said.output
    assert not list(out.glob("*/*.ipynb"))


def test_the_terminal_is_told_in_short_and_without_control_characters(tmp_path):
    clone(tmp_path / "in/ada", "01_tiny.ipynb")
    for number in range(100):
        (tmp_path / f"in/s{number}").mkdir()
        (tmp_path / f"in/s{number}/a\x1b[2J.ipynb").symlink_to("/etc/passwd")
    said, _ = collected(tmp_path / "in", tmp_path / "out")
    assert said.exit_code == 0
    assert "\x1b" not in said.output and "and 88 more" in said.output
    assert len(said.output.splitlines()) < 30


def night(tmp_path, unread=(), **clones):
    """Collect the clones of a night as they are; each has notebooks by name."""
    folder = tmp_path / f"night{len([*tmp_path.glob('night*')])}"
    folder.mkdir()
    for student, notebooks in clones.items():
        (folder / f"hw-{student}" / ".git").mkdir(parents=True)
        for name, cell in notebooks.items():
            (folder / f"hw-{student}" / f"{name}.ipynb").write_bytes(text(cell))
    collect(folder, tmp_path / "class", ["hw"], [f"hw-{student}" for student in unread])
    return {
        (row["student"], row["notebook"]): row["missing"]
        for row in read_csv(tmp_path / "class/collected.csv")
        if row["missing"] or not row["notebook"].endswith("/")
    }


def test_what_a_night_does_not_find_stays_and_is_marked(tmp_path):
    """Unread is what no repository could be read for, gone what a repository that was read does not hold."""
    a, b, ben = ("ada", "a.ipynb"), ("ada", "b.ipynb"), ("ben", "a.ipynb")
    first = night(tmp_path, ada={"a": "1", "b": "1"}, ben={"a": "1"}, cleo={})
    assert first == {a: "", b: "", ben: ""}
    unread = {("ben", "hw-ben/"): "unread", ("dora", "hw-dora/"): "unread"}
    second = night(tmp_path, ["ben", "dora"], ada={"b": "2"}, cleo={})
    assert second == {a: "gone", b: "", ben: "unread", **unread}
    assert laid_out(tmp_path / "class") == ["ada/a.ipynb", "ada/b.ipynb", "ben/a.ipynb"]
    third = night(tmp_path, ben={}, ada={"a": "1", "b": "1"}, dora={})
    assert third == {a: "", b: "", ben: "gone"}


def test_the_date_of_the_first_bad_night_stays(tmp_path):
    night(tmp_path, ada={"a": "1"})
    night(tmp_path, ["ada"])
    record, first = tmp_path / "class/collected.csv", "2026-01-02T03:04:05+00:00"
    (since,) = {row["since"] for row in read_csv(record)}
    record.write_text(record.read_text().replace(since, first))
    night(tmp_path, ["ada"])
    assert {row["since"] for row in read_csv(record)} == {first}


def test_a_corrected_name_keeps_the_folder_and_a_corrected_login_does_not(tmp_path):
    """A login keeps its folder until the roster says that the folder is another student's."""
    write_roster(tmp_path / "class", "name,github\nAda Lovlace,ada\nBen Bell,cem\n")
    night(tmp_path, ada={"a": "1"}, cem={"a": "2"})
    assert laid_out(tmp_path / "class") == ["Ada Lovlace/a.ipynb", "Ben Bell/a.ipynb"]
    corrected = "name,github\nAda Lovelace,ada\nBen Bell,ben\nCem Demir,cem\n"
    (tmp_path / "class/roster.csv").write_text(corrected, encoding="utf-8")
    night(tmp_path, ada={"a": "3"}, cem={"a": "2"}, ben={"a": "4"})
    assert {path: (tmp_path / "class" / path).read_bytes() for path in laid_out(tmp_path / "class")} == {
        "Ada Lovlace/a.ipynb": text("3"),
        "Ben Bell/a.ipynb": text("4"),
        "Cem Demir/a.ipynb": text("2"),
    }


def recorded_times(tmp_path):
    """By the text of a notebook in ada's folder, when it was handed in."""
    texts = {text(cell): cell for cell in ("one", "two", "three")}
    return {
        texts[(tmp_path / "class/ada" / row["notebook"]).read_bytes()]: at(row["modified"])
        for row in read_csv(tmp_path / "class/collected.csv")
        if row["notebook"].startswith("a")
    }


def at(moment):
    return int(datetime.fromisoformat(moment).timestamp())


def closing(*moments):
    return {"a": [datetime.fromtimestamp(moment, UTC) for moment in moments]}


def fetch(tmp_path, *closing, source="in", **options):
    """Collect the clones of a folder, at night."""
    return collect(tmp_path / source, tmp_path / "class", ["hw"], [], *closing, **options)


def test_a_clone_gives_the_last_version_in_time_too(tmp_path):
    """Of its history the version before each closing time, with the time of its commit, and that of now."""
    for when, cell in ((1000, "one"), (2000, "two"), (3000, "three")):
        commit(tmp_path / "in/hw-ada", when, a=cell)
    commit(tmp_path / "in/hw-ada", 9000, other="x")
    fetch(tmp_path, closing(10, 2500, 2600, 9999))
    assert recorded_times(tmp_path) == {"two": 2000, "three": 3000}
    collect(tmp_path / "in", tmp_path / "again", ["hw"])
    assert laid_out(tmp_path / "again") == ["ada/a.ipynb", "ada/other.ipynb"]


def test_a_commit_cannot_say_that_it_came_before_a_night_that_did_not_have_it(tmp_path):
    """A commit has the time that its author gives it; a night that did not have it is a witness."""
    began = time.time() - 1
    for when, cell in ((1000, "one"), (1500, "two")):
        commit(tmp_path / "in/hw-ada", when, a=cell)
        fetch(tmp_path, closing(2000))
    times = recorded_times(tmp_path)
    assert times["one"] == 1000
    assert began <= times["two"] <= time.time()


def test_a_history_that_is_a_bomb_costs_its_student_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("grader.integrations.collect.clones._MOST_PRINTED", 10)
    commit(tmp_path / "in/hw-ada", 1000, a="one")
    fetch(tmp_path, closing(time.time()))
    assert laid_out(tmp_path / "class") == ["ada/a.ipynb"]


@pytest.mark.parametrize("way", ["gitfile", "link", "alternates", "commondir", "objects", "packs"])
def test_a_history_that_leads_out_of_its_clone_is_not_read(tmp_path, way):
    secret, own = tmp_path / "course", tmp_path / "in/hw-eve"
    commit(secret, 1000, a="solution")
    commit(secret, 2000, a="later")
    commit(own, 3000, a="mine")
    below = {"link": "", "gitfile": "", "objects": "objects", "packs": "objects/pack"}
    place, target = own / ".git" / below.get(way, ""), secret / ".git" / below.get(way, "")
    if way in below:
        shutil.rmtree(place)
        place.write_text(f"gitdir: {target}\n") if way == "gitfile" else place.symlink_to(target)
    elif way == "commondir":
        (place / "commondir").write_text(str(target))
    else:
        (place / "objects/info").mkdir(exist_ok=True)
        (place / "objects/info/alternates").write_text(f"{target}/objects\n")
    fetch(tmp_path, closing(1500))
    assert laid_out(tmp_path / "class") == ["eve/a.ipynb"]
    assert (tmp_path / "class/eve/a.ipynb").read_bytes() == text("mine")


def test_what_was_not_begun_is_no_version_in_time(tmp_path):
    """A repository made from a template begins with starter code, which no closing time keeps."""
    commit(tmp_path / "in/hw-ada", 1000, a="template", b="one")
    commit(tmp_path / "in/hw-ada", 3000, a="late", b="two")
    fetch(tmp_path, {**closing(2000), "b": []}, is_answered=is_not_template)
    assert laid_out(tmp_path / "class") == ["ada/a.ipynb", "ada/b.ipynb"]
    fetch(tmp_path, {"c": closing(2000)["a"], "a": []}, is_answered=is_not_template)
    (version,) = {*laid_out(tmp_path / "class")} - {"ada/a.ipynb", "ada/b.ipynb"}
    assert version == "ada/b of 1970-01-01 00.16.40 UTC.ipynb"


def is_not_template(_, content):
    return b"template" not in content


def test_work_is_not_lost_to_a_version_without_any(tmp_path):
    """What replaces work without being work, in a clone or a zip, leaves the work under another name."""
    for night, cell in enumerate(("one", "template", "template")):
        commit(tmp_path / f"night{night}/hw-ada", 1000 + night, a=cell)
        fetch(tmp_path, source=f"night{night}", is_answered=is_not_template)
        assert (tmp_path / "class/ada/a.ipynb").read_bytes() == text(cell)
    assert laid_out(tmp_path / "class") == ["ada/a of 1970-01-01 00.16.40 UTC.ipynb", "ada/a.ipynb"]
    assert (tmp_path / "class" / laid_out(tmp_path / "class")[0]).read_bytes() == text("one")
    for day, cell in ((1, "one"), (2, "template")):
        source = pack(tmp_path / "in.zip", [("ben_1_2_a.ipynb", text(cell))], when=(2026, 1, day, 0, 0, 0))
        collect(source, tmp_path / "class", is_answered=is_not_template)
    assert len(list((tmp_path / "class/ben").iterdir())) == 2


def test_what_somebody_deleted_does_not_come_back(tmp_path):
    source = pack(tmp_path / "in.zip", ["ada_1_2_a.ipynb"])
    collect(source, tmp_path / "out")
    (tmp_path / "out/ada/a.ipynb").unlink()
    ((_, why),) = collect(source, tmp_path / "out").changes.skipped
    assert "remove its line from collected.csv to have this one" in why
    assert laid_out(tmp_path / "out") == []
    collect(pack(source, ["ada_1_3_a.ipynb"], when=(2027, 1, 1, 0, 0, 0)), tmp_path / "out")
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb"]


@pytest.mark.parametrize("kind", ["folders", "clones", "zip"])
def test_copies_that_tools_keep_are_laid_out_apart(tmp_path, kind):
    """They come in a hidden folder, where `grade` counts them only if nothing else is there; at most 20."""
    copies = [".virtual_documents", *(f".venv/{n}" for n in range(30))]
    places = [f"leaves-ada/{copy}/01_tiny.ipynb" for copy in copies]
    places += [f"{student}/01_tiny.ipynb" for student in ("leaves-ada", "leaves-ben")]
    places += [".Trash-1000/files/01_tiny.ipynb", "__MACOSX/leaves-ada/01_tiny.ipynb"]
    source = source_of(tmp_path, places, kind)
    for name in ("leaves-ada", "leaves-ben") if kind == "clones" else ():
        commit(source / name, 1000)
    changes = collect(source, tmp_path / "out", ["leaves"]).changes
    found = laid_out(tmp_path / "out")
    assert [name for name in found if "/.copies/" not in name] == ["ada/01_tiny.ipynb", "ben/01_tiny.ipynb"]
    assert len(found) == 22
    assert all("is more than the 20 copies that tools keep" in why for _, why in changes.skipped)
    (ada, ben) = find_submissions(tmp_path / "out", FUNCTIONS)
    assert (len(ada.ignored), ada.superseded, ben.ignored) == (20, (), ())


def test_a_commit_from_the_future_has_the_time_of_the_collection(tmp_path):
    """The clock of the student's computer was wrong; the commit after its repair counts."""
    began = int(time.time())
    for when, cell in ((2_138_947_200, "one"), (began - 1000, "two")):
        commit(tmp_path / "in/hw-ada", when, a=cell)
        git(tmp_path / "in/hw-ada", "config", "remote.origin.url", "https://example.org")
        collect(tmp_path / "in", tmp_path / "class", ["hw"])
        assert (tmp_path / "class/ada/a.ipynb").read_bytes() == text(cell)
        assert began - 1000 <= recorded_times(tmp_path)[cell] <= time.time()


@pytest.mark.parametrize("is_rewritten", [False, True])
def test_a_version_that_came_later_counts_whatever_its_time(tmp_path, is_rewritten):
    """The history of a clone decides, or when a version was seen first; an older clone replaces nothing."""
    clone, record = tmp_path / "in/hw-ada", tmp_path / "class/collected.csv"
    commit(clone, 1000, a="one")
    collect(tmp_path / "in", tmp_path / "class", ["hw"])
    recorded = record.read_text(encoding="utf-8").replace("1970-01-01T00:16:40", "2037-10-12T08:00:00")
    record.write_text(recorded, encoding="utf-8")
    seen = tmp_path / "class/seen.csv"
    earlier = re.sub(r'"20[^"]*"(?=,"1970)', '"2026-01-01T00:00:00+00:00"', seen.read_text(encoding="utf-8"))
    seen.write_text(earlier, encoding="utf-8")
    shutil.copytree(tmp_path / "in", tmp_path / "old")
    if is_rewritten:
        shutil.rmtree(clone / ".git")
    commit(clone, 900, a="two")
    for source in ("in", "old"):
        collect(tmp_path / source, tmp_path / "class", ["hw"])
        assert (tmp_path / "class/ada/a.ipynb").read_bytes() == text("two")


def test_a_version_that_a_student_went_back_to_counts(tmp_path):
    for when, cell in ((1000, "one"), (2000, "two"), (3000, "one")):
        commit(tmp_path / "in/hw-ada", when, a=cell)
        collect(tmp_path / "in", tmp_path / "class", ["hw"])
        assert (tmp_path / "class/ada/a.ipynb").read_bytes() == text(cell)
