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
    """A zip of members by their names, or by a ZipInfo that a test has prepared."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            if isinstance(member, zipfile.ZipInfo):
                archive.writestr(member, content)
            else:
                archive.writestr(zipfile.ZipInfo(member, when), content, zipfile.ZIP_DEFLATED)
    return path


def clone(folder, *names, cell="x = 1", git=True):
    for name in names:
        if git:
            (folder / ".git").mkdir(parents=True, exist_ok=True)
            (folder / ".git" / "hidden.ipynb").write_bytes(text())
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text(cell))
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


def write_roster(folder, text):
    folder.mkdir()
    (folder / "roster.csv").write_text(text, encoding="utf-8")


def laid_out(folder):
    return sorted(
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.suffix != ".csv" and p.is_file()
    )


# --- clones


@pytest.mark.parametrize("git", [True, False])
def test_a_prefix_says_where_a_students_name_begins(tmp_path, git):
    """`--prefix` is left out of names of clones, with or without a `.git`; an empty one leaves them whole."""
    names = ("hw-anna-lee", "hw-anna-kim")
    for name in names:
        clone(tmp_path / "in" / name, "01_tiny.ipynb", ".handout/01_tiny.ipynb", git=git)
    for prefix, expected in (("hw", ["anna-kim", "anna-lee"]), ("", sorted(names))):
        collect(tmp_path / "in", tmp_path / f"out{prefix}", [prefix])
        assert [name.partition("/")[0] for name in laid_out(tmp_path / f"out{prefix}")] == expected


def test_names_of_clones_without_a_hyphen_need_no_prefix(tmp_path):
    """Nothing can stand before the student's name in them."""
    for name in ("ada", "ben"):
        clone(tmp_path / "in" / name, "01_tiny.ipynb")
    collect(tmp_path / "in", tmp_path / "out")
    assert laid_out(tmp_path / "out") == ["ada/01_tiny.ipynb", "ben/01_tiny.ipynb"]


def test_folders_that_are_no_clones_are_named_as_the_students(tmp_path):
    """A folder of a class, and a zip of such folders, need no prefix, whatever their names share."""
    members = [(f"anna-{student}/01_tiny.ipynb", text()) for student in ("lee", "kim")]
    for kind in ("folder", "zip"):
        collect(source_of(tmp_path, members, kind), tmp_path / f"{kind} out")
        expected = ["anna-kim/01_tiny.ipynb", "anna-lee/01_tiny.ipynb"]
        assert laid_out(tmp_path / f"{kind} out") == expected


def test_several_assignments_cloned_side_by_side_meet_in_one_student(tmp_path):
    """Clones of two assignments beside each other, each with its prefix, meet in their student's folder."""
    for student in ("ada", "ben-x"):
        clone(tmp_path / "in" / f"hw-leaves-{student}", "01_leaves.ipynb")
        clone(tmp_path / "in" / f"hw-bptt-{student}", "03_bptt.ipynb")
    collect(tmp_path / "in", tmp_path / "out", ["hw-leaves", "hw-bptt"])
    names = ("01_leaves.ipynb", "03_bptt.ipynb")
    assert laid_out(tmp_path / "out") == [f"{s}/{name}" for s in ("ada", "ben-x") for name in names]


def test_a_folder_of_clones_is_no_student(tmp_path):
    """`gh classroom clone` makes a folder around the clones; its name is told, and nothing is written."""
    clone(tmp_path / "in/leaves-submissions/leaves-ada", "01_tiny.ipynb")
    with pytest.raises(GraderError, match="leaves-submissions contains repositories"):
        collect(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (("leaves-ada", "leaves-ben"), "leaves"),
        (("leaves-ada", "leaves-ben", "bptt-ada", "bptt-ben"), "bptt"),
        (("leaves-anna-lee",), "leaves"),
        (("anna-lee", "bo-li"), "anna"),
    ],
)
@pytest.mark.parametrize("mark", [".git", ".handout"])
def test_clones_are_refused_until_somebody_says_where_names_begin(tmp_path, names, first, mark):
    """The error names --prefix, and nothing is written."""
    for name in names:
        clone(tmp_path / "in" / name, "01_tiny.ipynb", f"{mark}/01_tiny.ipynb", git=False)
    with pytest.raises(GraderError, match=f'--prefix {first},.*--prefix ""'):
        collect(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    collect(tmp_path / "in", tmp_path / "out", [""])
    assert {name.partition("/")[0] for name in laid_out(tmp_path / "out")} == set(names)


def test_what_was_committed_last_counts_however_it_was_cloned(tmp_path):
    """All files of a clone have the time of cloning, in whatever order; the time of the commit decides."""
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


def test_a_single_clone_is_no_class(tmp_path):
    """Whoever names one student's repository is told to name the folder that holds it."""
    for mark in (".git", ".handout"):
        source = clone(tmp_path / mark / "hw-ada", "01_tiny.ipynb", f"{mark}/x.ipynb", git=False)
        with pytest.raises(GraderError, match="name the folder that contains it"):
            collect(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_roster_in_the_source_is_spoken_of(tmp_path):
    """It is not taken, for it is no student's; whoever collects is told where it belongs."""
    for name in ("ada", "ben"):
        clone(tmp_path / "in" / name, "01_tiny.ipynb")
    (tmp_path / "in" / "roster.csv").write_text("student\nada\n", encoding="utf-8")
    assert any("roster.csv" in note for note in collect(tmp_path / "in", tmp_path / "out").notes)


def test_a_clone_without_a_notebook_is_named(tmp_path):
    """Who deleted the notebook, or never pushed one, is told of and not forgotten."""
    for name in ("hw-ada", "hw-ben"):
        clone(tmp_path / "in" / name, "01_tiny.ipynb")
    clone(tmp_path / "in" / "hw-carl", "README.md")
    assert collect(tmp_path / "in", tmp_path / "out", ["hw"]).empty == ("carl",)


def test_nested_prefixes_make_nobody_another(tmp_path):
    """Whose name begins with two of the prefixes is refused."""
    for name in ("leaves-ada", "leaves-x-ada"):
        clone(tmp_path / "in" / name, "01_leaves.ipynb")
    with pytest.raises(GraderError, match="leaves-x-ada begins with leaves- and leaves-x-, so it is not"):
        collect(tmp_path / "in", tmp_path / "out", ["leaves", "leaves-x"])


def test_a_folder_in_a_download_is_no_student(tmp_path):
    """What looks released, or like another's repository, in one of the folders makes nobody another."""
    for student in ("ada", "ben"):
        clone(tmp_path / "in" / f"autograd-{student}", "01_tiny.ipynb", ".handout/01_tiny.ipynb", git=False)
    for inner in ("autograd-mallory/ada", "autograd-x-submissions/autograd-x-ada"):
        clone(tmp_path / "in" / inner, "01_tiny.ipynb", ".handout/01_tiny.ipynb", git=False)
    collect(tmp_path / "in", tmp_path / "out", ["autograd"])
    assert laid_out(tmp_path / "out") == [
        f"{s}/01_tiny.ipynb" for s in ("ada", "ben", "mallory", "x-submissions")
    ]


# --- learning-management systems


def test_canvas_names_are_read_and_the_latest_attempt_keeps_the_name(tmp_path):
    """`lastfirst_1_2_name-10.ipynb` is the student's last attempt, and the one that counts."""
    source = pack(
        tmp_path / "in.zip",
        [
            ("adalovelace_12_99_01_tiny-9.ipynb", text("ninth")),
            ("adalovelace_LATE_12_91_01_tiny-10.ipynb", text("tenth")),
            ("adalovelace_12_98_01_tiny.ipynb", text("first")),
            ("müllerzoë_13_92_My_own_file.ipynb.txt", text()),
            ("anon_a1B2c_93_01_tiny.ipynb", text()),
        ],
    )
    collect(source, tmp_path / "out")
    found = find_submissions(tmp_path / "out", FUNCTIONS)
    assert [one.student for one in found] == ["adalovelace", "anon_a1B2c", "müllerzoë"]
    assert b"tenth" in found[0].path.read_bytes()
    assert len(found[0].superseded) == 2


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
    """Underscores and numbers in a student's name, or in a file's, cost nobody the id and the mark."""
    source = source_of(tmp_path, [(name, text(name)) for name in CANVAS_NAMES], kind)
    _, record = collected(source, tmp_path / "out")
    seen = {row["from"]: (student, row["id"], row["marked"], n) for (student, n), row in record.items()}
    assert seen == CANVAS_NAMES


def test_a_prefix_that_a_system_does_not_write_is_reported(tmp_path):
    """A note says that --prefix did nothing, if no name in a download begins with it."""
    source = pack(tmp_path / "c.zip", [("smithjo_1_91_a.ipynb", text("1"))])
    (note,) = collect(source, tmp_path / "out", ["leaves"]).notes
    assert note.startswith("--prefix did nothing: no student's name in this download from Canvas ")
    assert collect(source, tmp_path / "out", [""]).notes == ()


def test_a_roster_tells_which_numbers_are_canvas_ids(tmp_path):
    """Where a name has several pairs of numbers, the number that the roster has is the id."""
    write_roster(tmp_path / "out", "name,canvas id\nA B 7,8\nC,9\n")
    source = pack(tmp_path / "in.zip", [("a_b_7_8_9_final.ipynb", text()), ("c_9_10_11_x.ipynb", text())])
    _, record = collected(source, tmp_path / "out")
    assert {key: row["id"] for key, row in record.items()} == {
        ("A B 7", "final.ipynb"): "8",
        ("C", "11_x.ipynb"): "9",
    }


@pytest.mark.parametrize(
    ("names", "stray"),
    [
        ([*CANVAS_NAMES], "solution.ipynb"),
        ([*CANVAS_NAMES], "notes/draft.ipynb"),
        ([*CANVAS_NAMES], "_LATE_1_2_x.ipynb"),
        (["Ada_1_assignsubmission_file_/01_leaves.ipynb"], "01_leaves.ipynb"),
        (["Leaves_ada11_attempt_2026-10-12-10-00-00_01_leaves.ipynb"], "Leaves_ben12_01_leaves.ipynb"),
        (["1-2 - Ada Lovelace - Oct 2, 2026 905 AM/01_leaves.ipynb"], "Ben Ek/01_leaves.ipynb"),
        (["leaves-ada-main/01_leaves.ipynb"], "leaves-ben-dev/01_leaves.ipynb"),
    ],
)
def test_one_name_that_is_not_the_systems_stops_the_command(tmp_path, names, stray):
    """Exit status 2, the name, what was expected, and nothing written; without it all is read."""
    source = pack(tmp_path / "in.zip", [(name, text(name)) for name in [*names, stray]])
    said, _ = collected(source, tmp_path / "out", "--prefix", "leaves")
    assert said.exit_code == 2
    assert stray.partition("/")[0] in said.output and "<" in said.output
    assert not (tmp_path / "out").exists()
    source = pack(tmp_path / "in.zip", [(name, text(name)) for name in names])
    assert collected(source, tmp_path / "out", "--prefix", "leaves")[0].exit_code == 0


@pytest.mark.parametrize(
    "names",
    [
        ["01_leaves.ipynb"],
        ["ada.ipynb", "ben.ipynb"],
        ["Leaves - Ada Lovelace.ipynb", "Leaves - Ben Ek.ipynb"],
        ["ada_submission_12.ipynb", "ben/01_leaves.ipynb"],
    ],
)
@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_files_of_an_unknown_system_become_students_only_if_somebody_says_so(tmp_path, names, kind):
    """The error has each system's pattern; `--prefix ""` says that files are named as the students."""
    source = source_of(tmp_path, [(name, text(name)) for name in names], kind)
    said, _ = collected(source, tmp_path / "out")
    assert said.exit_code == 2 and names[0] in said.output
    assert all(system.pattern in said.output for system in all_systems())
    assert not (tmp_path / "out").exists()
    _, record = collected(source, tmp_path / "out", "--prefix", "")
    assert {student for student, _ in record} == {re.split("/|.ipynb", name)[0] for name in names}


def test_every_system_is_in_the_help_and_in_the_documentation():
    """Both are made of what the modules say; `python docs/formats.py` writes the list."""
    said = CliRunner().invoke(main, ["collect", "--help"])
    docs = (Path(__file__).parents[2] / "docs/instructors.md").read_text(encoding="utf-8")
    for system in all_systems():
        assert system.title in said.output
    assert f"\n\n{notes()}* Clones: " in docs, "run: python docs/formats.py"


@pytest.mark.parametrize("system", all_systems(), ids=lambda system: system.key)
def test_the_example_of_every_system_is_its_students(tmp_path, system):
    """A zip, and the folder that it is unpacked to; one stray file stops the command by name."""
    name, student = system.example
    members = [(name, text())]
    if system.key == "gradescope":
        members.append(
            ("submission_metadata.yml", "submission_123: {':submitters': [{':name': Ada Lovelace}]}")
        )
    prefix = ["--prefix", "leaves"] if system.key == "github" else []
    said, record = collected(source_of(tmp_path, members), tmp_path / "out", *prefix)
    assert said.exit_code == 0, said.output
    assert record.keys() == {(student, "01_leaves.ipynb")}
    source = source_of(tmp_path, members, "folder") / (name.partition("/")[0] if system.is_wrapped else "")
    _, record = collected(source, tmp_path / "unpacked", *prefix)
    assert record.keys() == {(student, "01_leaves.ipynb")}


def test_sakai_says_when_in_a_file_and_keeps_feedback_beside(tmp_path, course_in_zurich):
    """The zip's own times are those of its download; what an instructor attached is no submission."""
    folder, group = "Leaves/Lovelace, Ada(ada11)/", "Leaves/Team A (8f1f3a4e-0b0c-4a51-9d6e-0123456789ab)/"
    members = [
        (f"{folder}Submission attachment(s)/01_leaves.ipynb", text("hers")),
        (f"{folder}Feedback Attachment(s)/01_leaves.ipynb", text("solved")),
        (f"{folder}timestamp.txt", b"2026-10-12T08:00:00.123Z"),
        (f"{group}Submission attachment(s)/01_leaves.ipynb", text("theirs")),
        (f"{group}timestamp.txt", b"2026-10-11T08:00:00Z"),
        ("Leaves/O'Neil, Z\u00fc(z_\u00fc)/Submission attachment(s)/report.pdf", b"%PDF"),
        ("Leaves/O'Neil, Z\u00fc(z_\u00fc)/timestamp.txt", b"2026-10-11T08:00:00Z"),
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
    assert (
        "timestamp" not in said.output and "Feedback Attachment(s)/01_leaves.ipynb is an instr" in said.output
    )
    assert (tmp_path / "out/Z\u00fc O'Neil/report.pdf.not-copied").exists()


def test_blackboard_gives_the_user_name_and_the_time_of_the_attempt(tmp_path, course_in_zurich):
    """The last attempt counts, in the course's time; texts beside attempts are nobody's."""
    attempt = "Leaves_{}_attempt_2026-{}-10-00-00{}"
    members = [
        (attempt.format("ada11", "10-12", "_01_leaves.ipynb"), text("second")),
        (attempt.format("ada11", "10-09", "_draft_1_2_x.ipynb"), text("first")),
        (attempt.format("ada11", "10-12", ".txt"), b"Name: Ada"),
        (attempt.format("ben12", "10-12", "_report.pdf"), b"%PDF"),
    ]
    said, record = collected(pack(tmp_path / "in.zip", members), tmp_path / "out")
    times = {key: row["modified"] for key, row in record.items()}
    assert times == {
        ("ada11", "01_leaves.ipynb"): "2026-10-12T08:00:00+00:00",
        ("ada11", "draft_1_2_x.ipynb"): "2026-10-09T08:00:00+00:00",
    }
    assert "no notebook: ben12" in said.output
    assert (tmp_path / "out/ben12/report.pdf.not-copied").read_bytes() == b""


def test_where_a_user_name_of_blackboard_begins_is_not_guessed(tmp_path):
    """A user name may have an underscore in it: the roster knows it, or `--prefix` says where it begins."""
    names = [f"My_Leaves_{user}_attempt_2026-10-12-10-00-00_01_leaves.ipynb" for user in ("ada_l", "b_l")]
    source = pack(tmp_path / "in.zip", [(name, text(name)) for name in names])
    said, _ = collected(source, tmp_path / "out")
    assert said.exit_code == 2 and "--prefix My_Leaves" in said.output
    _, record = collected(source, tmp_path / "out", "--prefix", "My_Leaves")
    assert {student for student, _ in record} == {"ada_l", "b_l"}
    write_roster(tmp_path / "listed", "name,username\nAda Lovelace,ada_l\nBen Lee,b_l\n")
    _, record = collected(source, tmp_path / "listed")
    assert {student for student, _ in record} == {"Ada Lovelace", "Ben Lee"}


@pytest.mark.parametrize("form", ["{}/01_leaves.ipynb", "{} - 01_leaves.ipynb"])
def test_brightspace_gives_one_student_whose_last_submission_counts(tmp_path, course_in_zurich, form):
    """A folder, or a file, for each submission: all are one student's, with the times that names have."""
    names = [
        "1234-5678 - Ada Lovelace - Oct 2, 2026 905 AM",
        "1234-5678 - Ada Lovelace - Oct 9, 2026 1205 PM",
        "1235-5678 - Anne-Marie Ek - 10 October, 2026 14:05",
    ]
    members = [("index.html", b"<html>"), *((form.format(name), text(name)) for name in names)]
    _, record = collected(pack(tmp_path / "in.zip", members), tmp_path / "out")
    assert {student for student, _ in record} == {"Ada Lovelace", "Anne-Marie Ek"}
    assert record["Ada Lovelace", "01_leaves.ipynb"]["modified"] == "2026-10-09T10:05:00+00:00"
    assert record["Anne-Marie Ek", "01_leaves.ipynb"]["modified"] == "2026-10-10T12:05:00+00:00"
    assert (tmp_path / "out/Ada Lovelace/01_leaves.ipynb").read_bytes() == text(names[1])


@pytest.mark.parametrize(
    "name",
    [
        "1-2 - Ada - 2. Okt. 2026 09 05",
        "1-2 - Ada - Oct 32, 2026 905 AM",
        "1-2 - Ada",
        "1-2 - Ada - 2026-10-02",
    ],
)
def test_a_time_of_brightspace_in_another_form_is_told(tmp_path, name):
    """It decides which submission counts, so it is not guessed."""
    said, _ = collected(pack(tmp_path / "in.zip", [(f"{name}/a.ipynb", text())]), tmp_path / "out")
    assert said.exit_code == 2 and name in said.output and "<Oct 2, 2026 905 AM>" in said.output


def test_one_name_with_several_numbers_of_brightspace_is_not_guessed(tmp_path):
    """It may be one person or two: the roster says."""
    names = [f"{number}-9 - Ada Lovelace - Oct {number}, 2026 905 AM/a.ipynb" for number in (1, 2)]
    source = pack(tmp_path / "in.zip", [(name, text(name)) for name in names])
    said, _ = collected(source, tmp_path / "out")
    assert said.exit_code == 2 and "Ada Lovelace has several numbers (1, 2)" in said.output
    for roster, students in (
        ("name\nAda Lovelace\n", {"Ada Lovelace"}),
        ("name,brightspace id\nAda Lovelace,1\nAda Lovelace,2\n", {"Ada Lovelace-1", "Ada Lovelace-2"}),
    ):
        out = tmp_path / str(len(students))
        write_roster(out, roster)
        _, record = collected(source, out)
        assert {student for student, _ in record} == students


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_the_branch_is_no_part_of_a_students_name(tmp_path, kind):
    """GitHub's "Download ZIP" puts it behind the repository, and a browser puts a number behind that."""
    names = ["leaves-ada-main", "leaves-ben-master", "leaves-main-lee-main", "leaves-eve-main (1)"]
    source = source_of(tmp_path, [(f"{name}/01_leaves.ipynb", text(name)) for name in names], kind)
    said, _ = collected(source, tmp_path / "out")
    assert said.exit_code == 2 and "--prefix leaves" in said.output
    _, record = collected(source, tmp_path / "out", "--prefix", "leaves")
    assert {student for student, _ in record} == {"ada", "ben", "main-lee", "eve"}


def test_a_download_of_one_repository_is_one_student(tmp_path):
    """The zip of a repository holds its folder, whatever folders are in it."""
    members = [(f"leaves-ada-main/{place}/01_leaves.ipynb", text(place)) for place in ("work", "old")]
    _, record = collected(pack(tmp_path / "in.zip", members), tmp_path / "out", "--prefix", "leaves")
    assert {student for student, _ in record} == {"ada"}


def test_a_clone_keeps_a_name_that_ends_as_a_branch(tmp_path):
    """A repository with its history was not downloaded, so nothing is left out of its name."""
    clone(tmp_path / "in/hw-ada-main", "01_leaves.ipynb")
    clone(tmp_path / "in/hw-ben", "01_leaves.ipynb")
    _, record = collected(tmp_path / "in", tmp_path / "out", "--prefix", "hw")
    assert {student for student, _ in record} == {"ada-main", "ben"}


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
    """A zip does not say in which zone its times are, and this machine may be in another one."""
    source = pack(tmp_path / "in.zip", [("Ada_1_assignsubmission_file_/a.ipynb", text())], when=when)
    _, record = collected(source, tmp_path / "out")
    assert record["Ada", "a.ipynb"]["modified"] == utc


def test_everything_that_is_ignored_is_listed(tmp_path):
    """Each file that is not taken is in `ignored.csv` with the reason, and a few are in the terminal."""
    members = [(f"ada_1_{n}_{n}.pdf", b"%PDF") for n in range(20)]
    members += [("ada_1_99_a.ipynb", text()), ("ben_2_98_all.zip", b"PK")]
    said, _ = collected(pack(tmp_path / "in.zip", members), tmp_path / "out")
    ignored = {row["path"]: row["reason"] for row in read_csv(tmp_path / "out/ignored.csv")}
    assert {*ignored} == {name for name, _ in members} - {"ada_1_99_a.ipynb"}
    assert "unpack it" in ignored["ben_2_98_all.zip"] and ignored["ada_1_0_0.pdf"] == "is not a notebook"
    assert "and 9 more" in said.output and "ignored.csv lists all" in said.output
    assert "no notebook: ben" in said.output


def test_who_submitted_no_notebook_has_an_error_row(tmp_path):
    """The folder of a student who submitted a PDF says so, and `grade` finds it, named as on the roster."""
    write_roster(tmp_path / "out", "name\nAda Lovelace\nBen Ek\n")
    members = [("lovelaceada_1_9_01_tiny.ipynb", text()), ("ekben_2_8_report.pdf", b"%PDF")]
    said, _ = collected(pack(tmp_path / "in.zip", members), tmp_path / "out")
    assert "no notebook: Ben Ek" in said.output
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
    "name", ["Adjustments.csv", "adjustments.csv.txt", "adjustments.xlsx", "adjustments (1).csv"]
)
@pytest.mark.parametrize("place", ["out", "."])
def test_a_file_of_the_class_with_a_wrong_name_is_named(tmp_path, name, place):
    """Beside the submissions and among them; not if the right file is there, too."""
    source = pack(tmp_path / "in.zip", [("ada/a.ipynb", text())])
    (tmp_path / "out").mkdir()
    (tmp_path / place / name).touch()
    (tmp_path / "out/roster.md").touch()
    note = f"{tmp_path / place / name} is not read: save it as a CSV file with the name adjustments.csv."
    assert collect(source, tmp_path / "out").notes == (note,)
    (tmp_path / "out/adjustments.csv").touch()
    assert collect(source, tmp_path / "out").notes == ()


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_every_folder_without_a_notebook_has_an_error_row(tmp_path, kind):
    """Whatever is in a student's folder, `collect` names the student, and `grade` finds an error."""
    members = [("ada/01_tiny.ipynb", text())]
    for student, (names, _) in WITHOUT.items():
        members += [(f"{student}/{name}", b"") for name in (names or [""])]
    said, _ = collected(source_of(tmp_path, members, kind), tmp_path / "out")
    assert 'ignored: "eve/01_tiny.ipynb " is not a notebook' in said.output
    assert [line for line in said.output.splitlines() if line.startswith("no notebook: ")] == [
        f"no notebook: {student}" for student in WITHOUT
    ]
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
    source = pack(tmp_path / "in.zip", [(name, text()) for name in names])
    intact = source.read_bytes()
    content = bytearray(intact)
    for name in names[:2]:
        content[content.index(name.encode()) + len(name) + 2] ^= 0xFF
    source.write_bytes(content)
    said, _ = collected(source, tmp_path / "out")
    assert "no notebook: ada\n" in said.output and "no notebook: ben" not in said.output
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb.not-copied", "ben/b.ipynb"]
    ada, ben = find_submissions(tmp_path / "out", FUNCTIONS)
    assert "ada holds no notebook, only a.ipynb.not-copied" in ada.error and ben.error is None
    source.write_bytes(intact)
    collected(source, tmp_path / "out")
    assert [one.error for one in find_submissions(tmp_path / "out", FUNCTIONS)] == [None, None]


def test_two_students_of_one_name_stay_two(tmp_path):
    """Where a system knows two people of one name, their ids are part of the folders' names."""
    canvas = [(f"smithjo_{number}_9{number}_a.ipynb", text(number)) for number in "12"]
    moodle = [(f"Jo Smith_{number}_assignsubmission_file_/a.ipynb", text(number)) for number in "34"]
    notes = collect(pack(tmp_path / "c.zip", canvas), tmp_path / "canvas").notes
    assert notes == ("several students are called smithjo: their folders' names say which is which.",)
    collect(pack(tmp_path / "m.zip", moodle), tmp_path / "moodle")
    assert laid_out(tmp_path / "canvas") == ["smithjo-1/a.ipynb", "smithjo-2/a.ipynb"]
    assert laid_out(tmp_path / "moodle") == ["Jo Smith-3/a.ipynb", "Jo Smith-4/a.ipynb"]


@pytest.mark.parametrize("both", [False, True])
def test_a_second_download_replaces_nobody_by_another_of_the_name(tmp_path, both):
    """Canvas's numbers tell people of one name apart also where they come in different downloads."""
    one, two = (f"lovelaceada_{number}_9{number}_a.ipynb" for number in ("11", "66"))
    collect(pack(tmp_path / "1.zip", [(one, text("eleven"))]), tmp_path / "out")
    members = [(two, text("sixtysix")), *([(one, text("eleven again"))] if both else [])]
    second = pack(tmp_path / "2.zip", members, when=(2026, 11, 22, 12, 0, 0))
    notes = collect(second, tmp_path / "out").notes
    assert laid_out(tmp_path / "out") == ["lovelaceada-66/a.ipynb", "lovelaceada/a.ipynb"]
    assert b"eleven" in (tmp_path / "out/lovelaceada/a.ipynb").read_bytes()
    assert b"sixtysix" in (tmp_path / "out/lovelaceada-66/a.ipynb").read_bytes()
    assert len(notes) == 1 and "lovelaceada" in notes[0]
    assert not collect(second, tmp_path / "out").changes.written
    assert laid_out(tmp_path / "out") == ["lovelaceada-66/a.ipynb", "lovelaceada/a.ipynb"]


def test_a_number_names_the_folder_also_of_who_changed_the_name(tmp_path):
    """Who is known by a number keeps the folder, whatever the display name is now."""
    collect(pack(tmp_path / "1.zip", [("lovelaceada_11_91_a.ipynb", text())]), tmp_path / "out")
    collect(pack(tmp_path / "2.zip", [("byronada_11_92_b.ipynb", text())]), tmp_path / "out")
    assert laid_out(tmp_path / "out") == ["lovelaceada/a.ipynb", "lovelaceada/b.ipynb"]


def test_a_folder_of_texts_beside_the_notebook_is_nobody_without_one(tmp_path):
    """Moodle lays what a student typed into a folder of its own; only who handed in no file is named."""
    members = [
        ("Ada Lovelace_3_assignsubmission_file_/01_tiny.ipynb", text()),
        ("Ada Lovelace_3_assignsubmission_onlinetext_/onlinetext.html", b"<p>done</p>"),
        ("Ada Lovelace_4_assignsubmission_onlinetext_/onlinetext.html", b"<p>another Ada</p>"),
        ("Ben_5_assignsubmission_onlinetext_/onlinetext.html", b"<p>no file</p>"),
    ]
    assert collect(pack(tmp_path / "m.zip", members), tmp_path / "out").empty == ("Ada Lovelace-4", "Ben")


def test_moodle_numbers_tell_people_apart_in_one_assignment_only(tmp_path):
    """Moodle numbers people anew in each assignment: another number and the same notebook is another one."""
    for number, name in ((1, "a"), (9, "b"), (5, "a")):
        member = f"Ada L_{number}_assignsubmission_file_/{name}.ipynb"
        collected = collect(pack(tmp_path / f"{number}.zip", [(member, text(name))]), tmp_path / "out")
        assert len(collected.notes) == (number != 1)
    assert laid_out(tmp_path / "out") == ["Ada L-5/a.ipynb", "Ada L/a.ipynb", "Ada L/b.ipynb"]
    assert len((tmp_path / "out/collected.csv").read_text(encoding="utf-8").splitlines()) == 4


def test_nobody_takes_a_folder_by_a_name_that_looks_told_apart(tmp_path):
    """Who is called `Jo-3` does not meet the Jo whose number is 3."""
    people = ("Jo_3", "Jo_4", "Jo-3_7")
    members = [(f"{who}_assignsubmission_file_/a.ipynb", text(who)) for who in people]
    collect(pack(tmp_path / "in.zip", members), tmp_path / "out")
    assert len({name.partition("/")[0] for name in laid_out(tmp_path / "out")}) == 3


def test_moodle_names_are_read_as_folders_and_as_files(tmp_path):
    """Both of Moodle's layouts name the student, whatever else the file's name says."""
    source = pack(
        tmp_path / "in.zip",
        [
            ("Zoë Ångström-Li_77_assignsubmission_file_/sub/01_tiny.ipynb", text()),
            ("李 雷_78_assignsubmission_file_Victim_9_assignsubmission_file_x.ipynb", text()),
            ("Carl_79_assignsubmission_file_/report.pdf", b"%PDF-"),
        ],
    )
    collected = collect(source, tmp_path / "out")
    assert laid_out(tmp_path / "out") == [
        "Carl/report.pdf.not-copied",
        "Zoë Ångström-Li/01_tiny.ipynb",
        "李 雷/Victim_9_assignsubmission_file_x.ipynb",
    ]
    assert collected.empty == ("Carl",)


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
    source = pack(
        tmp_path / "in.zip",
        [
            (f"{wrapper}submission_metadata.yml", METADATA),
            (f"{wrapper}submission_1/01_tiny.ipynb", text()),
            (f"{wrapper}submission_2/01_tiny.ipynb", text()),
            (f"{wrapper}submission_3/answer.py", "x = 1"),
        ],
    )
    collected = collect(source, tmp_path / "out")
    assert laid_out(tmp_path / "out") == [
        *(f"{s}/01_tiny.ipynb" for s in ("Ada Lovelace", "Ben")),
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
    folder = tmp_path / "in"
    clone(folder / "submission_1", "01_tiny.ipynb", git=False)
    (folder / "submission_metadata.yml").write_text(bad, encoding="utf-8")
    before = time.process_time()
    with pytest.raises(GraderError, match=rf"cannot be read \(.*({why}).*collect without that file"):
        collect(folder, tmp_path / "out")
    assert time.process_time() - before < 5


def test_metadata_make_no_objects(tmp_path):
    """A tag, a wrong date and a number are texts like others."""
    folder = tmp_path / "in"
    clone(folder / "submission_1", "01_tiny.ipynb", git=False)
    metadata = "submission_1: {':created_at': 2026-99-99, ':submitters': [{':name': !!python/name:ada 017}]}"
    (folder / "submission_metadata.yml").write_text(metadata, encoding="utf-8")
    collect(folder, tmp_path / "out")
    assert laid_out(tmp_path / "out") == ["017/01_tiny.ipynb"]


def test_gradescopes_metadata_counts_only_in_gradescopes_folder(tmp_path):
    """A student whose copy looks like an export names nobody else."""
    mallory = tmp_path / "in/hw-mallory"
    clone(mallory / "submission_1", "01_tiny.ipynb", git=False)
    (mallory / "submission_metadata.yml").write_text(METADATA, encoding="utf-8")
    collect(tmp_path / "in", tmp_path / "out")
    assert laid_out(tmp_path / "out") == ["hw-mallory/01_tiny.ipynb"]
    clone(tmp_path / "other/hw-mallory", "01_tiny.ipynb", git=False)
    (tmp_path / "other/hw-mallory/submission_metadata.yml").write_text("a: [", encoding="utf-8")
    assert collect(tmp_path / "other", tmp_path / "out2").students == 1


# --- what must not happen


def test_a_name_below_the_top_impersonates_nobody(tmp_path):
    """A student's own folder or file that looks like another's submission stays the student's."""
    clone(
        tmp_path / "in/mallory",
        "ada_1_2_01_tiny.ipynb",
        "Ada_1_assignsubmission_file_/01_tiny.ipynb",
        "hw-ada/01_tiny.ipynb",
        git=False,
    )
    (tmp_path / "in/mallory/hw-ada/.git").mkdir()
    clone(tmp_path / "in/ada", "01_tiny.ipynb", git=False)
    clone(tmp_path / "in/trudy/hw-ada", "01_tiny.ipynb")
    clone(tmp_path / "in/trudy/hw-ben", "01_tiny.ipynb")
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
        "ada\\..\\..\\evil.ipynb",
        "\\\\server\\share\\evil.ipynb",
        "ben/e\0vil.ipynb",
    ],
)
def test_no_path_leads_out_of_the_zip(tmp_path, name):
    """A member whose path climbs is left aside; one that begins elsewhere is written in the folder."""
    source = pack(tmp_path / "in.zip", [("ada/01_tiny.ipynb", text()), (zip_info(name), text("evil"))])
    skipped = collect(source, tmp_path / "deep/er/out").changes.skipped
    assert [why for _, why in skipped if "leads out" in why] or ".." not in name
    assert all(path.is_relative_to(tmp_path / "deep/er/out") for path in tmp_path.rglob("*.ipynb"))
    assert (tmp_path / "deep/er/out/ada/01_tiny.ipynb").is_file()
    assert len(laid_out(tmp_path / "deep/er/out")) == 2 - len(skipped)


def test_links_devices_and_locked_members_of_a_zip_are_left_aside(tmp_path):
    """Only ordinary, readable members count, and a damaged one costs nobody else anything."""
    source = pack(
        tmp_path / "in.zip",
        [
            ("ada/01_tiny.ipynb", text()),
            (zip_info("ben/link.ipynb", stat.S_IFLNK | 0o777), "/etc/passwd"),
            (zip_info("ben/fifo.ipynb", stat.S_IFIFO), b""),
            (zip_info("ben/device.ipynb", stat.S_IFCHR), b""),
            (zip_info("ben/packed.ipynb", compress_type=zipfile.ZIP_LZMA), text()),
            ("ben/damaged.ipynb", b"A" * 5000),
            ("ben/all.zip", b"PK"),
            ("ben/.ipynb_checkpoints/01_tiny.ipynb", text()),
            ("__MACOSX/ada/._01_tiny.ipynb", b"\0"),
            ("ada/._01_tiny.ipynb", b"\0"),
        ],
    )
    content = bytearray(source.read_bytes())
    at = content.index(b"ben/damaged.ipynb") + len("ben/damaged.ipynb")
    content[at + 2] ^= 0xFF
    source.write_bytes(content)
    skipped = dict(collect(source, tmp_path / "out").changes.skipped)
    assert laid_out(tmp_path / "out") == ["ada/01_tiny.ipynb", "ben/.copies/01_tiny.ipynb"]
    for name, reason in {
        "link": "a link",
        "fifo": "not a regular",
        "device": "not a regular",
        "packed": "cannot be unpacked",
        "damaged": "cannot be unpacked",
    }.items():
        assert reason in skipped[f"ben/{name}.ipynb"]
    assert "unpack it" in skipped["ben/all.zip"]


def test_encrypted_members_are_left_aside(tmp_path):
    """A password is told of and not guessed."""
    source = pack(tmp_path / "in.zip", [("ada/a.ipynb", text()), ("b/locked.ipynb", text())])
    content = source.read_bytes()
    for signature, offset, name_offset in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
        at = content.index(b"b/locked", content.index(signature)) - name_offset
        while content[at : at + 4] != signature:
            at = content.index(b"b/locked", at + name_offset + 1) - name_offset
        content = content[: at + offset] + struct.pack("<H", 1) + content[at + offset + 2 :]
    source.write_bytes(content)
    ((path, why),) = collect(source, tmp_path / "out").changes.skipped
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb", "b/locked.ipynb.not-copied"]
    assert path == "b/locked.ipynb" and "password" in why and "unpack it and collect the folder" in why


def test_bombs_are_refused_before_they_go_off(tmp_path, monkeypatch):
    """What unpacks to more than a notebook may be, to too much in all, or to too many, is not unpacked."""
    monkeypatch.setattr("grader.integrations.collect.source.MAX_FILE_BYTES", 19 << 20)
    source = pack(tmp_path / "in.zip", [("ada/a.ipynb", text()), ("ben/bomb.ipynb", b"0" * (20 << 20))])
    assert "is larger than" in dict(collect(source, tmp_path / "out").changes.skipped)["ben/bomb.ipynb"]
    monkeypatch.setattr("grader.integrations.collect.source.MAX_MEMBERS", 1)
    with pytest.raises(GraderError, match="2 members"):
        collect(source, tmp_path / "out")
    monkeypatch.undo()
    many = pack(tmp_path / "many.zip", [(f"s{n}/a.ipynb", os.urandom(100)) for n in range(30)])
    monkeypatch.setattr("grader.integrations.collect.MAX_BYTES", 1000)
    with pytest.raises(GraderError, match="bomb"):
        collect(many, tmp_path / "out2")
    assert laid_out(tmp_path / "out2") == []


def test_a_member_without_a_name_costs_nobody_anything(tmp_path):
    """A name that is empty, or nothing but slashes and dots, is no notebook and no crash."""
    source = pack(
        tmp_path / "in.zip", [("ada/a.ipynb", text()), *((zip_info(n), b"x") for n in ("", "//", "./."))]
    )
    collect(source, tmp_path / "out")
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb"]


@pytest.mark.parametrize("size", [10, 60_000])
def test_a_member_that_lies_about_its_size_is_damaged(tmp_path, size):
    """No more is unpacked than a member says that it holds, and no less is taken for it."""
    source = pack(tmp_path / "in.zip", [("ada/a.ipynb", text()), ("ben/liar.ipynb", b"0" * 50_000)])
    content = source.read_bytes().replace(struct.pack("<I", 50_000), struct.pack("<I", size))
    source.write_bytes(content)
    assert "cannot be unpacked" in dict(collect(source, tmp_path / "out").changes.skipped)["ben/liar.ipynb"]


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_one_students_large_files_cost_the_others_nothing(tmp_path, monkeypatch, kind):
    """What is more than one student may have is left aside, the latest first, and all others are laid out."""
    monkeypatch.setattr("grader.integrations.collect.layout.MAX_STUDENT_BYTES", 3000)
    members = [(f"ada/{n}.ipynb", os.urandom(1000)) for n in range(5)] + [("ben/a.ipynb", text())]
    skipped = collect(source_of(tmp_path, members, kind), tmp_path / "out").changes.skipped
    assert "ben/a.ipynb" in laid_out(tmp_path / "out") and len(laid_out(tmp_path / "out")) == 4
    assert len(skipped) == 2 and all("MiB of notebooks taken of ada" in why for _, why in skipped)


def test_thousands_of_notebooks_of_one_student_are_a_few_and_cost_little(tmp_path):
    """Of notebooks of one name without end the latest are laid out, in a moment, and the others told."""
    members = [(f"mallory/{n}/a.ipynb", b"{}") for n in range(6000)] + [("ben/a.ipynb", text())]
    source = pack(tmp_path / "in.zip", members)
    before = time.process_time()
    changes = collect(source, tmp_path / "out").changes
    assert time.process_time() - before < 5  # it was ten, and grew with the square
    assert len(laid_out(tmp_path / "out")) == 201 and len(changes.skipped) == 5800
    assert "mallory/a.ipynb" in changes.written


def test_links_and_pipes_in_a_folder_are_not_followed(tmp_path):
    """Links to files and to folders, hard links and pipes give nothing, and do not make it wait."""
    secret = write_notebook(tmp_path / "secret/01_secret.ipynb", ["secret = 1"])
    ada = clone(tmp_path / "in/ada", "01_tiny.ipynb", git=False)
    (ada / "link.ipynb").symlink_to(secret)
    (ada / "folder").symlink_to(secret.parent)
    (ada / "hard.ipynb").hardlink_to(secret)
    os.mkfifo(ada / "pipe.ipynb")
    skipped = dict(collect(tmp_path / "in", tmp_path / "out").changes.skipped)
    assert laid_out(tmp_path / "out") == ["ada/01_tiny.ipynb"]
    assert set(skipped) == {"ada/link.ipynb", "ada/hard.ipynb", "ada/pipe.ipynb"}


def test_nothing_is_written_through_a_link(tmp_path):
    """A student's folder that somebody made a link stops the command, and what it leads to is untouched."""
    clone(tmp_path / "in/ada", "01_tiny.ipynb", git=False)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/ada").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GraderError, match="is a link"):
        collect(tmp_path / "in", tmp_path / "out")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("what", ["file", "folder", "pipe"])
def test_what_is_in_the_way_is_an_error_in_a_sentence(tmp_path, what):
    """A file where a student's folder belongs, or a folder where a notebook does, is named."""
    clone(tmp_path / "in/ben", "01_tiny.ipynb", git=False)
    (tmp_path / "out").mkdir()
    if what == "file":
        (tmp_path / "out/ben").touch()
    elif what == "folder":
        (tmp_path / "out/ben/01_tiny.ipynb").mkdir(parents=True)
    else:
        (tmp_path / "out/ben").mkdir()
        os.mkfifo(tmp_path / "out/ben/01_tiny.ipynb")
    said = CliRunner().invoke(main, ["collect", str(tmp_path / "in"), "--out", str(tmp_path / "out")])
    assert said.exit_code == 2
    assert "out/ben" in said.output and "move it away" in said.output and len(said.output.splitlines()) == 1


HOSTILE = [
    ".ipynb_checkpoints",
    "__MACOSX",
    "roster.csv",
    "collected.csv",
    "=cmd",
    "a\x1b[2Jb",
    "-rf",
    "x" * 250,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_student_hides_or_harms(tmp_path, name):
    """Whatever a student is called, the notebook is found by `grade` and the record is harmless."""
    source = pack(tmp_path / "in.zip", [(f"{name}_7_assignsubmission_file_/01_tiny.ipynb", text())])
    collect(source, tmp_path / "out")
    assert len(find_submissions(tmp_path / "out", FUNCTIONS)) == 1
    (row,) = read_csv(tmp_path / "out/collected.csv")
    assert not row["student"].startswith(("=", "-")) and "\x1b" not in row["student"]


def test_names_that_a_file_system_takes_for_one_do_not_meet(tmp_path):
    """Two students of one system whose names differ in case, or in how Unicode writes them, stay two."""
    composed, decomposed = (unicodedata.normalize(form, "zoë") for form in ("NFC", "NFD"))
    source = pack(
        tmp_path / "in.zip",
        [(f"{name}/a.ipynb", text(str(n))) for n, name in enumerate(("Bo", "bo", composed, decomposed))],
    )
    notes = collect(source, tmp_path / "out").notes
    folders = {
        (tmp_path / "out" / name).read_bytes(): name.split("/")[0] for name in laid_out(tmp_path / "out")
    }
    assert len({unicodedata.normalize("NFC", folder).casefold() for folder in folders.values()}) == 4
    bo, small_bo, zoe, other_zoe = (folders[text(str(n))] for n in range(4))
    same = "some file systems take these students' names for the same, so their folders differ"
    assert notes == (
        f"{same}: {bo} is Bo; {small_bo} is bo.",
        f"{same}: {other_zoe} is 'zoe\\u0308'; {zoe} is 'zo\\xeb'.",
    )


# --- again, and again


def test_collecting_again_changes_nothing(tmp_path):
    """The same source leaves every byte and every time as it was."""
    for name in ("ada", "ben"):
        clone(tmp_path / "in" / name, "01_tiny.ipynb", "old/01_tiny.ipynb", git=False)

    def state():
        return {p: (p.read_bytes(), p.stat().st_mtime_ns * (p.suffix != ".csv")) for p in files()}

    def files():
        return [p for p in (tmp_path / "out").rglob("*") if p.is_file()]

    first = collect(tmp_path / "in", tmp_path / "out").changes
    before = state()
    again = collect(tmp_path / "in", tmp_path / "out").changes
    assert state() == before
    assert len(first.written) == len(again.unchanged) == 4 and not again.written + again.replaced


def test_a_newer_version_replaces_and_an_older_one_does_not(tmp_path):
    """The latest stays, in whichever order the zips are collected."""
    old = pack(tmp_path / "old.zip", [("ada_1_2_a.ipynb", text("old"))], when=(2026, 1, 1, 0, 0, 0))
    new = pack(tmp_path / "new.zip", [("ada_1_3_a.ipynb", text("new"))], when=(2026, 2, 1, 0, 0, 0))
    collect(old, tmp_path / "out")
    assert collect(new, tmp_path / "out").changes.replaced == ["ada/a.ipynb"]
    assert "is older than" in collect(old, tmp_path / "out").changes.skipped[0][1]
    assert b"new" in (tmp_path / "out/ada/a.ipynb").read_bytes()


def test_what_somebody_changed_here_is_kept(tmp_path):
    """A notebook that an instructor mended, or put there, is never overwritten, and that is said."""
    source = pack(tmp_path / "in.zip", [("ada_1_2_a.ipynb", text("one")), ("ben_2_3_a.ipynb", text("one"))])
    write_notebook(tmp_path / "out/ben/a.ipynb", ["by_hand = 1"])
    collect(source, tmp_path / "out")
    mended = write_notebook(tmp_path / "out/ada/a.ipynb", ["mended = 1"])
    skipped = collect(source, tmp_path / "out").changes.skipped
    assert len(skipped) == 2 and all("so it stays" in why for _, why in skipped)
    assert b"mended" in mended.read_bytes()


@pytest.mark.parametrize("name", ["{}/a.ipynb", "{}_1_assignsubmission_file_/a.ipynb"])
def test_folders_in_one_folder_of_a_zip_are_students_if_somebody_says_so(tmp_path, name):
    """One student can pack such a zip and call its folders as others are called; `--prefix` decides."""
    members = [(f"hw-mallory/{name.format(student)}", text()) for student in ("ada", "ben")]
    source = pack(tmp_path / "in.zip", members)
    with pytest.raises(GraderError, match=r'everything is in hw-mallory, .* add --prefix ""'):
        collect(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    collect(source, tmp_path / "out", [""])
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb", "ben/a.ipynb"]
    collect(source, tmp_path / "alone", ["hw"])  # which says that the folder is a student's
    assert {place.partition("/")[0] for place in laid_out(tmp_path / "alone")} == {"mallory"}


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
    return [
        (f"{folder}/{name}", METADATA if name.endswith(".yml") else text(name))
        for folder in folders
        for name in TWO_STUDENTS[title]
    ]


@pytest.mark.parametrize("title", TWO_STUDENTS)
@pytest.mark.parametrize("around", ["submissions", "x/submissions"])
def test_a_download_in_other_folders_is_not_one_student(tmp_path, title, around):
    """Unpacked or in a zip, `collect` refuses it; for a zip, `--prefix ""` says that it is a download."""
    members = in_folders(title, around)
    refused = f"{around} is not a student's folder, but a download from {title}: collect that folder"
    with pytest.raises(GraderError, match=refused):
        collect(source_of(tmp_path, members, "folder"), tmp_path / "out")
    source = source_of(tmp_path, members)
    with pytest.raises(GraderError, match=f'in {around}, .* it is a download from {title}, add --prefix ""'):
        collect(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert collect(source, tmp_path / "out", [""]).students == (3 if title == "Gradescope" else 2)
    assert {name.split("/")[1] for name in laid_out(tmp_path / "out")} == {"a.ipynb"}


@pytest.mark.parametrize("title", TWO_STUDENTS)
@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_two_downloads_side_by_side_are_not_two_students(tmp_path, title, kind):
    """`collect` names both; `--prefix ""` says that students have these names."""
    source = source_of(tmp_path, in_folders(title, "backward", "leaves"), kind)
    with pytest.raises(GraderError, match=r"^backward, leaves are not students' folders, but downloads from"):
        collect(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    collect(source, tmp_path / "out", [""])
    assert {name.partition("/")[0] for name in laid_out(tmp_path / "out")} == {"backward", "leaves"}


def test_a_download_of_one_student_in_a_folder_is_refused(tmp_path):
    """A first download may contain one submission only."""
    members = [("submissions/lovelaceada_11_501_a.ipynb", text())]
    for kind in ("zip", "folder"):
        with pytest.raises(GraderError, match=r"submissions.* download from Canvas"):
            collect(source_of(tmp_path, members, kind), tmp_path / "out")


def test_students_folders_may_contain_files_that_a_system_named(tmp_path):
    """Each holds its own student's names, or a system's names beside other notebooks."""
    members = [
        ("ada/lovelaceada_11_501_a.ipynb", text()),
        ("ben/hopperg_12_502_a.ipynb", text()),
        ("cy/a.ipynb", text()),
        ("cy/review/lovelaceada_11_501_a.ipynb", text()),
        ("cy/review/hopperg_12_502_a.ipynb", text()),
        ("dee/1-2 - notes.ipynb", text()),
    ]
    collect(source_of(tmp_path, members), tmp_path / "out")
    assert {name.partition("/")[0] for name in laid_out(tmp_path / "out")} == {"ada", "ben", "cy", "dee"}


@pytest.mark.parametrize("what", ["missing", "empty", "text", "cut", "inside", "record"])
def test_what_cannot_be_collected_is_an_error_in_a_sentence(tmp_path, what):
    """Each wrong source or folder is refused by name, and nothing is written."""
    source, out = tmp_path / "in", tmp_path / "out"
    if what == "text":
        source.write_text("no zip")
    elif what == "cut":
        source.write_bytes(pack(tmp_path / "in.zip", [("a/01_tiny.ipynb", text())]).read_bytes()[:100])
    elif what != "missing":
        clone(source / "ada", "01_tiny.ipynb" if what in {"inside", "record"} else "x.txt", git=False)
    if what == "inside":
        out = source / "out"
    if what == "record":
        out.mkdir()
        (out / "collected.csv").write_bytes(b"\xff\xfe")
    said = CliRunner().invoke(main, ["collect", str(source), "--out", str(out)])
    assert said.exit_code == 2
    assert said.output.startswith("grader: ") and len(said.output.splitlines()) == 1
    assert what != "cut" or "download it again" in said.output
    assert not list(out.glob("*/*.ipynb"))


def test_the_terminal_is_told_in_short_and_without_control_characters(tmp_path):
    """A hundred things left aside are a dozen lines, and no name moves the cursor."""
    for number in range(100):
        (tmp_path / f"in/s{number}").mkdir(parents=True)
        (tmp_path / f"in/s{number}/a\x1b[2J.ipynb").symlink_to("/etc/passwd")
    clone(tmp_path / "in/ada", "01_tiny.ipynb", git=False)
    said = CliRunner().invoke(main, ["collect", str(tmp_path / "in"), "--out", str(tmp_path / "out")])
    assert said.exit_code == 0
    assert "\x1b" not in said.output and "and 88 more" in said.output
    assert len(said.output.splitlines()) < 30


# --- one night after the other


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
    assert night(tmp_path, ada={"a": "1", "b": "1"}, ben={"a": "1"}, cleo={}) == {
        ("ada", "a.ipynb"): "",
        ("ada", "b.ipynb"): "",
        ("ben", "a.ipynb"): "",
    }
    assert night(tmp_path, ["ben", "dora"], ada={"b": "2"}, cleo={}) == {
        ("ada", "a.ipynb"): "gone",
        ("ada", "b.ipynb"): "",
        ("ben", "a.ipynb"): "unread",
        ("ben", "hw-ben/"): "unread",
        ("dora", "hw-dora/"): "unread",
    }
    assert laid_out(tmp_path / "class") == ["ada/a.ipynb", "ada/b.ipynb", "ben/a.ipynb"]
    assert night(tmp_path, ben={}, ada={"a": "1", "b": "1"}, dora={}) == {
        ("ada", "a.ipynb"): "",
        ("ada", "b.ipynb"): "",
        ("ben", "a.ipynb"): "gone",
    }


def test_the_date_of_the_first_bad_night_stays(tmp_path):
    """A second bad night says since when, and a night without any notebook is a night too."""
    night(tmp_path, ada={"a": "1"})
    night(tmp_path, ["ada"])
    record = tmp_path / "class/collected.csv"
    (since,) = {row["since"] for row in read_csv(record)}
    record.write_text(record.read_text().replace(since, "2026-01-02T03:04:05+00:00"))
    night(tmp_path, ["ada"])
    assert "2026-01-02T03:04:05+00:00" in record.read_text()


def test_a_clone_of_now_replaces_a_newer_version(tmp_path):
    """A force-push may take a student back to an earlier commit, and what is there now counts."""
    for when, cell in ((2000, "new"), (1000, "old")):
        folder = tmp_path / f"night{when}"
        commit(folder / "hw-ada", when, a=cell)
        collect(folder, tmp_path / "class", ["hw"], [])
    assert (tmp_path / "class/ada/a.ipynb").read_bytes() == text("old")


def test_a_corrected_name_keeps_the_folder_and_a_corrected_login_does_not(tmp_path):
    """A login keeps its folder until the roster says that the folder is another student's."""
    roster = tmp_path / "class/roster.csv"
    roster.parent.mkdir()
    roster.write_text("name,github\nAda Lovlace,ada\nBen Bell,cem\n")
    night(tmp_path, ada={"a": "1"}, cem={"a": "2"})
    assert laid_out(tmp_path / "class") == ["Ada Lovlace/a.ipynb", "Ben Bell/a.ipynb"]
    roster.write_text("name,github\nAda Lovelace,ada\nBen Bell,ben\nCem Demir,cem\n")
    night(tmp_path, ada={"a": "3"}, cem={"a": "2"}, ben={"a": "4"})
    assert {path: (tmp_path / "class" / path).read_bytes() for path in laid_out(tmp_path / "class")} == {
        "Ada Lovlace/a.ipynb": text("3"),
        "Ben Bell/a.ipynb": text("4"),
        "Cem Demir/a.ipynb": text("2"),
    }


def test_unread_needs_a_prefix(tmp_path):
    """Only a prefix says whose a repository is that is not there."""
    with pytest.raises(GraderError, match="--unread needs --prefix"):
        collect(tmp_path, tmp_path / "class", None, [])


def recorded_times(tmp_path):
    """By the text of a notebook in ada's folder, when it was handed in."""
    texts = {text(cell): cell for cell in ("one", "two", "three")}
    return {
        texts[(tmp_path / "class/ada" / row["notebook"]).read_bytes()]: int(
            datetime.fromisoformat(row["modified"]).timestamp()
        )
        for row in read_csv(tmp_path / "class/collected.csv")
        if row["notebook"].startswith("a")
    }


def test_a_clone_gives_the_last_version_in_time_too(tmp_path):
    """Of its history the version before each closing time, with the time of its commit, and that of now."""
    for when, cell in ((1000, "one"), (2000, "two"), (3000, "three")):
        commit(tmp_path / "in/hw-ada", when, a=cell)
    commit(tmp_path / "in/hw-ada", 9000, other="x")
    closing = {"a": [datetime.fromtimestamp(at, UTC) for at in (10, 2500, 2600, 9999)]}
    collect(tmp_path / "in", tmp_path / "class", ["hw"], [], closing)
    times = recorded_times(tmp_path)
    assert {cell: times[cell] for cell in ("two", "three")} == {"two": 2000, "three": 3000}
    assert "one" not in times
    collect(tmp_path / "in", tmp_path / "again", ["hw"])
    assert laid_out(tmp_path / "again") == ["ada/a.ipynb", "ada/other.ipynb"]


def test_a_commit_cannot_say_that_it_came_before_a_night_that_did_not_have_it(tmp_path):
    """A commit has the time that its author gives it; a night that did not have it is a witness."""
    began = time.time() - 1
    closing = {"a": [datetime.fromtimestamp(2000, UTC)]}
    commit(tmp_path / "in/hw-ada", 1000, a="one")
    collect(tmp_path / "in", tmp_path / "class", ["hw"], [], closing)
    commit(tmp_path / "in/hw-ada", 1500, a="two")
    collect(tmp_path / "in", tmp_path / "class", ["hw"], [], closing)
    times = recorded_times(tmp_path)
    assert times["one"] == 1000
    assert began <= times["two"] <= time.time()
    commit(tmp_path / "in/hw-ada", 2**33, a="three")
    collect(tmp_path / "in", tmp_path / "class", ["hw"], [])
    assert recorded_times(tmp_path)["three"] <= time.time()  # nor that it comes from the future


def test_a_history_that_is_a_bomb_costs_its_student_alone(tmp_path, monkeypatch):
    """Where git prints very much, the versions are left out, and the notebook of now is taken."""
    monkeypatch.setattr("grader.integrations.collect.clones._MOST_PRINTED", 10)
    commit(tmp_path / "in/hw-ada", 1000, a="one")
    collect(tmp_path / "in", tmp_path / "class", ["hw"], [], {"a": [datetime.now(UTC)]})
    assert laid_out(tmp_path / "class") == ["ada/a.ipynb"]


@pytest.mark.parametrize("way", ["gitfile", "link", "alternates", "commondir", "objects", "packs"])
def test_a_history_that_leads_out_of_its_clone_is_not_read(tmp_path, way):
    """A student who hands in a repository may point it at another here, and gets nothing of that."""
    secret, own = tmp_path / "course", tmp_path / "in/hw-eve"
    commit(secret, 1000, a="solution")
    commit(secret, 2000, a="later")
    commit(own, 3000, a="mine")
    git = own / ".git"
    if way in {"gitfile", "link"}:
        shutil.rmtree(git)
        git.symlink_to(secret / ".git") if way == "link" else git.write_text(f"gitdir: {secret}/.git\n")
    elif way in {"objects", "packs"}:
        place = git / "objects" / ("pack" if way == "packs" else "")
        shutil.rmtree(place)
        place.symlink_to(secret / ".git/objects" / ("pack" if way == "packs" else ""))
    elif way == "commondir":
        (git / "commondir").write_text(str(secret / ".git"))
    else:
        (git / "objects/info").mkdir(exist_ok=True)
        (git / "objects/info/alternates").write_text(f"{secret}/.git/objects\n")
    collect(tmp_path / "in", tmp_path / "class", ["hw"], [], {"a": [datetime.fromtimestamp(1500, UTC)]})
    assert laid_out(tmp_path / "class") == ["eve/a.ipynb"]
    assert (tmp_path / "class/eve/a.ipynb").read_bytes() == text("mine")


def test_what_was_not_begun_is_no_version_in_time(tmp_path):
    """A repository made from a template begins with starter code, which no closing time keeps."""
    commit(tmp_path / "in/hw-ada", 1000, a="template", b="one")
    commit(tmp_path / "in/hw-ada", 3000, a="late", b="two")
    closing = {"a": [datetime.fromtimestamp(2000, UTC)], "b": []}
    collect(tmp_path / "in", tmp_path / "class", ["hw"], [], closing, is_not_template)
    assert laid_out(tmp_path / "class") == ["ada/a.ipynb", "ada/b.ipynb"]
    collect(tmp_path / "in", tmp_path / "again", ["hw"], [], {"c": closing["a"], "a": []}, is_not_template)
    assert [name for name in laid_out(tmp_path / "again") if " of 1970-01-01 00.16.40 UTC" in name] == [
        "ada/b of 1970-01-01 00.16.40 UTC.ipynb"
    ]


def is_not_template(_, content):
    return b"template" not in content


def test_work_is_not_lost_to_a_version_without_any(tmp_path):
    """What replaces work without being work, in a clone or a zip, leaves the work under another name."""
    for night, cell in enumerate(("one", "template", "template")):
        folder = tmp_path / f"night{night}"
        commit(folder / "hw-ada", 1000 + night, a=cell)
        collect(folder, tmp_path / "class", ["hw"], [], is_answered=is_not_template)
        assert (tmp_path / "class/ada/a.ipynb").read_bytes() == text(cell)
    kept = tmp_path / "class/ada/a of 1970-01-01 00.16.40 UTC.ipynb"
    assert kept.read_bytes() == text("one")
    assert len(laid_out(tmp_path / "class")) == 2
    for number, cell in enumerate(("one", "template")):
        name = tmp_path / f"{number}.zip"
        pack(name, [("ben_1_2_a.ipynb", text(cell))], when=(2026, 1, 1 + number, 0, 0, 0))
        collect(name, tmp_path / "class", is_answered=is_not_template)
    assert len(list((tmp_path / "class/ben").iterdir())) == 2


def test_what_somebody_deleted_does_not_come_back(tmp_path):
    """The next collecting says how to have it again; a new version comes."""
    source = pack(tmp_path / "in.zip", [("ada_1_2_a.ipynb", text("one"))])
    collect(source, tmp_path / "out")
    (tmp_path / "out/ada/a.ipynb").unlink()
    ((_, why),) = collect(source, tmp_path / "out").changes.skipped
    assert "remove its line from collected.csv to have this one" in why
    assert laid_out(tmp_path / "out") == []
    newer = pack(tmp_path / "in.zip", [("ada_1_3_a.ipynb", text("two"))], when=(2027, 1, 1, 0, 0, 0))
    collect(newer, tmp_path / "out")
    assert laid_out(tmp_path / "out") == ["ada/a.ipynb"]


@pytest.mark.parametrize("kind", ["folders", "clones", "zip"])
def test_copies_that_tools_keep_are_laid_out_apart(tmp_path, kind):
    """They come in a hidden folder, where `grade` counts them only if nothing else is there; at most 20."""
    copies = [f"leaves-ada/.venv/{n}/01_tiny.ipynb" for n in range(30)]
    places = ["leaves-ada/01_tiny.ipynb", "leaves-ada/.virtual_documents/01_tiny.ipynb", *copies]
    places += [
        "leaves-ben/01_tiny.ipynb",
        ".Trash-1000/files/01_tiny.ipynb",
        "__MACOSX/leaves-ada/01_tiny.ipynb",
    ]
    source = source_of(tmp_path, [(place, text(place)) for place in places], kind)
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
    began, future = int(time.time()), 2_138_947_200
    clone, fetched = tmp_path / "in/hw-ada", ["config", "remote.origin.url", "https://example.org"]
    commit(clone, future, a="one")
    git(clone, *fetched)
    collect(tmp_path / "in", tmp_path / "class", ["hw"])
    assert began <= recorded_times(tmp_path)["one"] <= time.time()
    commit(clone, began - 1000, a="two")
    collect(tmp_path / "in", tmp_path / "class", ["hw"])
    assert (tmp_path / "class/ada/a.ipynb").read_bytes() == text("two")
    assert recorded_times(tmp_path)["two"] <= time.time()


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
    """A new commit with the content of an old one follows the version that it replaces."""
    for when, cell in ((1000, "one"), (2000, "two"), (3000, "one")):
        commit(tmp_path / "in/hw-ada", when, a=cell)
        collect(tmp_path / "in", tmp_path / "class", ["hw"])
        assert (tmp_path / "class/ada/a.ipynb").read_bytes() == text(cell)
