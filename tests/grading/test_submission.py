"""Who submitted what: each notebook is one student's, and counts, is superseded or is ignored."""

import json
import os
import re
import tempfile
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import GraderError
from grader.grading.submission import find_submissions
from grader.notebooks import files as notebooks
from grader.notebooks.files import NotebookError, copy_in
from grader.people.roster import read_people
from grader.text import LONGEST_FILE_NAME, distinct_file_name, file_name, printable

COURSE = {
    "01_leaves": ["make_weight", "all_grads"],
    "03_truncated_bptt": ["train_stateful", "repackage", "Center"],
    "03_truncated": ["Other"],
    "04_detach": ["gan_step", "Center"],
}


def text(source="", claim=None):
    metadata = {"otter": {"assignment_name": claim}} if claim else {}
    return json.dumps({"cells": [{"cell_type": "code", "source": source}], "metadata": metadata})


class Folder:
    """A folder of submissions that a test fills."""

    def __init__(self, path):
        self.path = path

    def add(self, place, content=None, modified=1):
        path = self.path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text() if content is None else content)
        os.utime(path, ns=(modified, modified))
        return path

    def find(self):
        return find_submissions(self.path, COURSE)

    def assignments(self):
        """What each notebook was taken for, by its place."""
        return {found.relative: found.assignment for found in self.find()}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "submissions"
    path.mkdir()
    return Folder(path)


def test_layout(folder):
    """The first folder names the student, however deep the notebook lies; one without names itself."""
    folder.add("eve/week 3/hw/03_truncated_bptt.ipynb")
    folder.add("ada/01_leaves.ipynb", text("make_weight = 1"))
    folder.add("ada/notes.txt")
    folder.add("ada/04_detach.IPYNB")
    folder.add("Bob 04_detach.ipynb")
    found = folder.find()
    assert [(one.student, one.name, one.relative) for one in found] == [
        ("Bob 04_detach", "04_detach", "Bob 04_detach.ipynb"),
        ("ada", "01_leaves", "ada/01_leaves.ipynb"),
        ("ada", "04_detach", "ada/04_detach.IPYNB"),
        ("eve", "03_truncated_bptt", "eve/week 3/hw/03_truncated_bptt.ipynb"),
    ]
    assert found[1].read()[1].cells[0].source == "make_weight = 1"
    assert (found[1].error, found[1].superseded) == (None, ())


def test_what_is_skipped(folder, tmp_path):
    """The starter code of a release, what macOS adds and linked folders are nobody's."""
    folder.add("ada/01_leaves.ipynb")
    folder.add("ada/.handout/01_leaves.ipynb", modified=9)
    folder.add("ada/.git/01_leaves.ipynb", modified=9)
    folder.add("__MACOSX/ada/._01_leaves.ipynb")
    folder.add("__MACOSX/ada/01_leaves.ipynb")
    folder.add("ada/._01_leaves.ipynb", "Mac OS X")
    Folder(tmp_path / "elsewhere").add("01_leaves.ipynb")
    (folder.path / "ada" / "link").symlink_to(tmp_path / "elsewhere")
    (folder.path / "ada" / "loop").symlink_to(folder.path)
    folder.add(".Trash-1000/files/01_leaves.ipynb")
    assert folder.assignments() == {"ada/01_leaves.ipynb": "01_leaves"}
    assert (folder.find()[0].superseded, folder.find()[0].ignored) == ((), ())


KEPT_BY_TOOLS = [
    *(".Trash-1000/files/01_leaves.ipynb", "work/.ipynb_checkpoints/01_leaves-checkpoint.ipynb"),
    *("ipynb_checkpoints/01_leaves.ipynb", ".local/share/Trash/files/01_leaves.ipynb"),
    *("$RECYCLE.BIN/S-1-5/01_leaves.ipynb", "#recycle/01_leaves.ipynb", "@eaDir/01_leaves.ipynb"),
    *("__pycache__/01_leaves.ipynb", "node_modules/x/01_leaves.ipynb", "myenv/share/01_leaves.ipynb"),
    *(
        "env/lib/python3.12/site-packages/x/01_leaves.ipynb",
        "lib/01_leaves.ipynb",
        "miniconda/01_leaves.ipynb",
    ),
    *(".~01_leaves.ipynb", "01_leaves-checkpoint.ipynb"),
]


@pytest.mark.parametrize("copy", KEPT_BY_TOOLS)
@pytest.mark.parametrize("content", [None, "plain Python", text("def all_grads(): return 1")])
def test_a_copy_that_a_tool_keeps_never_beats_the_work(folder, copy, content):
    """Of whatever time and content, it is ignored with its reason beside a real file."""
    folder.add("ada/01_leaves.ipynb", text("def make_weight(): return 1"))
    for place in ("ada/myenv/pyvenv.cfg", "ada/pyvenv.cfg", "ada/miniconda/conda-meta/history"):
        folder.add(place)
    folder.add(f"ada/{copy}", content, modified=9)
    (found,) = folder.find()
    assert (found.relative, found.error, found.superseded) == ("ada/01_leaves.ipynb", None, ())
    (ignored,) = found.ignored
    assert ignored.path == f"ada/{copy}"
    assert ignored.reason.startswith("a copy made by a tool: it ")


def test_a_copy_that_a_tool_keeps_counts_where_nothing_else_is(folder):
    """Then the submission says so; a copy of no known assignment makes no row beside another."""
    folder.add("ada/.ipynb_checkpoints/01_leaves-checkpoint.ipynb", text("def make_weight(): return 1"))
    folder.add("ada/.venv/share/demo.ipynb")
    folder.add("ben/.venv/share/demo.ipynb")
    ada, ben = folder.find()
    assert (ada.assignment, ada.copy) == ("01_leaves", "is in .ipynb_checkpoints, a hidden folder")
    assert [each.path for each in ada.ignored] == ["ada/.venv/share/demo.ipynb"]
    assert (ben.assignment, ben.relative) == (None, "ben/.venv/share/demo.ipynb")


def test_work_in_the_folder_of_an_environment_is_work(folder):
    folder.add("ada/pyvenv.cfg")
    folder.add("ada/week 1/01_leaves.ipynb")
    folder.add("ada/04_detach.ipynb")
    assert [found.copy for found in folder.find()] == [None, None]


def test_a_students_folder_that_is_a_link_is_an_error(folder, tmp_path):
    """The student has a row that says what to do, also if the link leads nowhere."""
    folder.add("ada/01_leaves.ipynb", text())
    Folder(tmp_path / "elsewhere").add("01_leaves.ipynb")
    (tmp_path / "roster.csv").write_text("student\n")
    (folder.path / "ben").symlink_to(tmp_path / "elsewhere")
    (folder.path / "eve").symlink_to(tmp_path / "nowhere")
    (folder.path / "roster.csv").symlink_to(tmp_path / "roster.csv")
    found = {submission.student: submission for submission in folder.find()}
    assert [student for student in found if found[student].sha256 is None] == ["ben", "eve"]
    for student in ("ben", "eve"):
        assert "is a link, and links are not followed: put the folder itself" in found[student].error


def test_a_linked_notebook_is_an_error(folder, tmp_path):
    Folder(tmp_path).add("secret.ipynb", modified=9)
    folder.add("ada/01_leaves.ipynb", modified=1)
    link = folder.path / "ada" / "01_leaves (1).ipynb"
    link.symlink_to(tmp_path / "secret.ipynb")
    os.utime(link, ns=(2, 2), follow_symlinks=False)
    (found,) = folder.find()
    assert (found.path, found.assignment, found.sha256) == (link, "01_leaves", None)
    assert "is a link" in found.error
    folder.add("ada/01_leaves.ipynb", text("def make_weight(): return 1"), modified=1)
    assert folder.find()[0].error is None


@pytest.mark.parametrize(
    ("name", "assignment"),
    [
        ("03_truncated_bptt", "03_truncated_bptt"),
        ("Ada 03-truncated-bptt (1)", "03_truncated_bptt"),
        ("03 - Truncated BPTT final", "03_truncated_bptt"),
        ("03_truncated", "03_truncated"),
        ("03_TRUNCATED copy", "03_truncated"),
        ("01_leaves 04_detach", None),
        ("", None),
    ],
)
def test_recognised_by_the_name_of_the_file(folder, name, assignment):
    """A decorated name is recognised, the longest stem in it wins, two as long decide nothing."""
    folder.add(f"ada/{name}.ipynb")
    assert folder.assignments() == {f"ada/{name}.ipynb": assignment}


@pytest.mark.parametrize(
    ("source", "assignment"),
    [
        ("x = 1\ndef make_weight():\n    pass", "01_leaves"),
        ("async def gan_step(): ...", "04_detach"),
        ("class Center: ...", None),
        ("class Center: ...\ngan_step = f", "04_detach"),
        ("train_stateful=repackage=f\ndef repackage(): ...\ndef gan_step(): ...", "03_truncated_bptt"),
        ("def make_weight(): ...\n" * 3 + "def gan_step(): ...", None),
        ("  def make_weight(): ...", None),
        ("make_weight == 1", None),
        ("def make_weights(): ...", None),
    ],
)
def test_recognised_by_what_it_defines(folder, source, assignment):
    """Names count once each, at the start of a line; assignments that fit equally well are no answer."""
    folder.add("ada/Untitled.ipynb", text(source))
    assert folder.assignments() == {"ada/Untitled.ipynb": assignment}


def test_what_decides_first(folder):
    """The metadata decide before the file's name, that before the functions; an unknown claim does not."""
    folder.add("ada/mine.ipynb", text("def gan_step(): ...", claim="03_truncated"))
    folder.add("bob/01_leaves.ipynb", text("def gan_step(): ..."))
    folder.add("eve/01_leaves.ipynb", text(claim="99_future"))
    folder.add("joe/01_leaves and 04_detach.ipynb", text(claim="04_detach"))
    assert list(folder.assignments().values()) == ["03_truncated", "01_leaves", "01_leaves", "04_detach"]


def test_metadata_and_name_of_different_assignments_are_an_error(folder):
    folder.add("ada/01_leaves.ipynb", text("def make_weight(): return 1", claim="01_leaves"))
    folder.add("ada/04_detach.ipynb", text("def make_weight(): return 2", claim="01_leaves"), modified=9)
    leaves, detach = folder.find()
    assert (leaves.relative, leaves.error, leaves.superseded) == ("ada/01_leaves.ipynb", None, ())
    assert detach.assignment == "04_detach"
    assert "is named for 04_detach, but its metadata say that it is 01_leaves" in detach.error
    folder.add("ada/old/04_detach.ipynb", text("def gan_step(): return 1"))
    leaves, detach = folder.find()
    assert (detach.relative, detach.error, detach.superseded) == ("ada/old/04_detach.ipynb", None, ())
    assert [each.path for each in detach.ignored] == ["ada/04_detach.ipynb"]
    assert detach.with_answers == ("ada/04_detach.ipynb",)


STARTER = {"01_leaves": ('def make_weight():\n    """A leaf."""\n    return None', "x = 1")}


@pytest.mark.parametrize(
    ("source", "is_starter"),
    [
        ('def make_weight():\n    """A leaf."""\n    return None', True),
        ('def make_weight():  # mine\n\n  """Another text."""\n  return None\n', True),
        ("x = 1", True),
        ("def make_weight():\n    return 1", False),
        ("def make_weight(:", False),
        ("def make_weight():\n    return (1", False),
        ("def make_weight():" + "\n    pass" * 20_000, False),
    ],
)
def test_answers_beat_starter_code(folder, source, is_starter):
    """Starter code never beats work, whatever its time; comments, docstrings and layout are no answer."""
    folder.add("ada/01_leaves.ipynb", text("def all_grads():\n    return [1]"))
    folder.add("ada/01_leaves (1).ipynb", text(source), modified=9)
    (found,) = find_submissions(folder.path, COURSE, STARTER)
    older, newer = "ada/01_leaves.ipynb", "ada/01_leaves (1).ipynb"
    assert found.relative == (older if is_starter else newer)
    assert found.superseded == (newer if is_starter else older,)
    assert found.with_answers == (() if is_starter else (older,))


def test_a_course_of_one_assignment(folder):
    folder.add("ada/essay.ipynb", text("x = 1"))
    (found,) = find_submissions(folder.path, {"01_leaves": ["make_weight"]})
    assert found.assignment is None


def test_no_assignment_of_this_course(folder):
    folder.add("ada/essay.ipynb")
    (found,) = folder.find()
    assert (found.student, found.assignment, found.name) == ("ada", None, "essay")
    assert found.error == (
        "ada/essay.ipynb is not an assignment of this course (01_leaves, 03_truncated_bptt, 03_truncated,"
        " 04_detach): name the file after its assignment, and submit it again."
    )


def test_a_thousand_unknown_notebooks_are_one(folder):
    for number in range(1_000):
        folder.add(f"ada/junk/n{number:03}.ipynb", modified=1_000 - number)
    folder.add("ada/01_leaves.ipynb")
    folder.add("bob/essay.ipynb")
    leaves, junk, essay = folder.find()
    places = [f"ada/junk/n{number:03}.ipynb" for number in range(1_000)]
    assert (leaves.assignment, essay.name, essay.superseded) == ("01_leaves", "essay", ())
    assert (junk.relative, junk.superseded, junk.assignment) == (places[0], tuple(places[1:]), None)
    assert junk.error.startswith(f"{places[0]} is not an assignment of this course")
    assert junk.error.endswith(f" 999 more cannot be graded: {', '.join(places[1:20])}, and 980 more.")


def test_what_cannot_be_read_is_told_among_others(folder):
    folder.add("ada/essay.ipynb", modified=5)
    (folder.path / "ada" / "notes.ipynb").symlink_to(folder.path / "ada" / "essay.ipynb")
    os.utime(folder.path / "ada" / "notes.ipynb", ns=(1, 1), follow_symlinks=False)
    (found,) = folder.find()
    assert found.relative == "ada/notes.ipynb"
    assert "is a link" in found.error
    assert found.error.endswith(" 1 more cannot be graded: ada/essay.ipynb.")


def test_unknown_notebooks_do_not_take_names(folder):
    folder.add("bob/essay.ipynb")
    folder.add("eve/03/truncated.ipynb")
    assert [(found.student, found.name) for found in folder.find()] == [
        ("bob", "essay"),
        ("eve", "truncated"),
    ]
    assert distinct_file_name("01_leaves", "ada/x", set(COURSE)) not in COURSE


def test_no_name_is_hidden(folder):
    for number, name in enumerate((".x", "_.x", ".", "...")):
        folder.add(f"{number}/{name}.ipynb")
    found = {one.relative: one.name for one in folder.find()}
    assert set(found) == {"0/.x.ipynb", "1/_.x.ipynb", "2/..ipynb", "3/....ipynb"}
    assert not [name for name in found.values() if name.startswith(".")]


def test_what_one_reading_tells(folder):
    """What the class makes the zygote import is known at once, and traces of tricks with the cells."""
    folder.add("ada/01_leaves.ipynb", text("import pandas, ctypes\nimport ctypes"))
    (found,) = folder.find()
    assert (found.preload, found.traces) == ({"pandas"}, ())
    assert [(flag.what, flag.cell) for flag in found.read()[0].traces] == [("ctypes", 1)]


def test_a_notebook_is_read_again_as_it_was_found_or_not_at_all(folder):
    folder.add("ada/01_leaves.ipynb", text("make_weight = 1"))
    (found,) = folder.find()
    for content in (text("make_weight = 2"), "torn"):
        folder.add("ada/01_leaves.ipynb", content)
        with pytest.raises(NotebookError, match=r"ada/01_leaves.ipynb was changed while the class was gr"):
            found.read()
    found.path.unlink()
    with pytest.raises(NotebookError, match=r"cannot be read .No such file"):
        found.read()
    folder.add("ada/01_leaves.ipynb", text("make_weight = 1"))
    assert found.read()[0] == found


@pytest.mark.parametrize(
    ("notebooks", "winner"),
    [
        ({"01_leaves": 1, "01_leaves (1)": 2}, "01_leaves (1)"),
        ({"a 01_leaves": 2, "01_leaves": 2, "z 01_leaves": 2}, "01_leaves"),
        ({"a 01_leaves": 2, "z 01_leaves": 2, "01_leaves": 1}, "z 01_leaves"),
        ({"a/01_leaves": 2, "b/01_leaves": 2, "a 01_leaves": 2}, "a 01_leaves"),
        ({"a/01_leaves": 2, "b/01_leaves": 2}, "b/01_leaves"),
    ],
)
def test_superseded(folder, notebooks, winner):
    """The latest counts, then the shallower path, then the name of the stem, then the last path."""
    for name, modified in notebooks.items():
        folder.add(f"ada/{name}.ipynb", modified=modified)
    folder.add("bob/01_leaves.ipynb", modified=99)
    found = folder.find()[0]
    assert found.relative == f"ada/{winner}.ipynb"
    assert found.superseded == tuple(sorted(f"ada/{name}.ipynb" for name in notebooks if name != winner))


def test_what_cannot_be_read_never_beats_the_work(folder):
    """A later version that is broken is ignored with its reason; without any work it is the error."""
    folder.add("ada/01_leaves.ipynb", text("def make_weight(): return 1"), modified=1)
    folder.add("ada/01_leaves (1).ipynb", "broken", modified=2)
    folder.add("eve/essay.ipynb", "")
    found, unknown = folder.find()
    assert unknown.assignment is None and unknown.error.startswith("essay.ipynb is empty")
    assert (found.relative, found.error, found.superseded) == ("ada/01_leaves.ipynb", None, ())
    assert "01_leaves (1).ipynb is not a notebook" in found.ignored[0].reason
    (folder.path / "ada/01_leaves.ipynb").write_text(text())
    assert "is not a notebook" in folder.find()[0].error


def test_a_folder_and_a_file_of_one_name_are_one_student(folder):
    folder.add("ada.ipynb", text("def make_weight(): ..."), modified=2)
    folder.add("ada/01_leaves.ipynb")
    (found,) = folder.find()
    assert (found.student, found.superseded) == ("ada", ("ada/01_leaves.ipynb",))


def test_a_folder_that_cannot_be_listed_is_an_error(folder, monkeypatch):
    folder.add("ada/01_leaves.ipynb")
    folder.add("ada/01_leaves/01_leaves.ipynb")
    folder.add("eve/01_leaves.ipynb")
    scandir = os.scandir

    def deny(path):
        if path == folder.path / "ada" / "01_leaves" or path == folder.path / "eve":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(notebooks.os, "scandir", deny)
    leaves, hidden, eve = folder.find()
    assert (leaves.student, leaves.assignment, leaves.superseded) == ("ada", "01_leaves", ())
    assert (hidden.student, hidden.assignment) == ("ada", None)
    assert hidden.error.startswith("ada/01_leaves cannot be read (Permission denied)")
    assert (eve.student, eve.assignment, eve.name) == ("eve", None, "eve")


def test_a_folder_without_a_notebook_is_an_error(folder):
    """Other files of a student's are told; hidden ones, files of nobody and empty folders are not."""
    folder.add("ada/01_leaves.ipynb")
    folder.add("ada/notes.txt")
    for place in ("eve/b.pdf", "eve/week 1/a.py", "eve/.git/config", "eve/.x", "notes.txt", ".vscode/x.json"):
        folder.add(place)
    folder.add("joe/.DS_Store")
    (folder.path / "zoe").mkdir()
    _, eve = folder.find()
    assert (eve.student, eve.assignment, eve.name, eve.relative) == ("eve", None, "eve", "eve")
    assert eve.error == (
        "eve holds no notebook, only b.pdf and 1 more: submit the notebook itself, a file whose name ends in"
        " .ipynb."
    )


def test_a_deep_folder(folder):
    depth = 1_200
    path = folder.path
    try:
        for _ in range(depth):
            path /= "d"
            path.mkdir()
        (path / "01_leaves.ipynb").write_text(text())
        (found,) = folder.find()
        assert (found.student, found.assignment, found.error) == ("d", "01_leaves", None)
    finally:
        (path / "01_leaves.ipynb").unlink(missing_ok=True)
        while path != folder.path:
            path.rmdir()
            path = path.parent


@pytest.mark.parametrize(
    "name", ["<b>Ada", "🔥👩‍🔬", "-rf", "...", "=1+1", "O'Brien; rm", unicodedata.normalize("NFC", "Zoë")]
)
def test_harmless_names_stay(name):
    assert file_name(name) == name
    assert file_name(unicodedata.normalize("NFD", name)) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", "a\0b", "a\nb", "a\x1bb", "\udcff", "\u2028", "é" * 101, "a" * 201]
)
def test_other_names_become_safe_and_tagged(name):
    """A changed name depends on nothing but the original, and differs from what it resembles."""
    safe = file_name(name)
    assert_safe(safe)
    assert safe not in {file_name(name + "."), file_name("x" + name)}
    assert file_name(safe) == safe


def assert_safe(name):
    assert name not in {"", ".", ".."}
    assert not {"/", "\\", "\0", "\n", "\x1b"} & set(name)
    assert len(name.encode()) <= LONGEST_FILE_NAME


def test_folders_that_look_the_same_are_two_students(folder):
    composed, decomposed = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
    for name in (composed, decomposed, "a\nb", "a\tb", os.fsdecode(b"a\xffb"), "a\ufffdb", file_name("a\nb")):
        folder.add(f"{name}/01_leaves.ipynb")
    students = {found.path.parent.name: found.student for found in folder.find()}
    assert len(students) == len(set(students.values())) == 7
    assert students[composed] == composed
    assert students["a\ufffdb"] == "a\ufffdb"
    assert students[file_name("a\nb")] == file_name("a\nb")


def test_roster(folder, monkeypatch):
    """The roster lies in the folder or else beside it; without a roster no student is absent."""
    assert read_people(folder.path).students == ()
    (folder.path.parent / "roster.csv").write_text("student\nada\nbob\n")
    monkeypatch.chdir(folder.path)
    assert read_people(folder.path).students == read_people(Path()).students == ("ada", "bob")
    (folder.path / "roster.csv").write_text("student\neve\n")
    assert read_people(folder.path).students == ("eve",)


@pytest.mark.parametrize(
    ("content", "students"),
    [
        ("student\n", ()),
        ("ada\nbob", ("ada", "bob")),
        ("\n\nmail,Student\na@x,ada\n\n,,\nb@x, bob \n", ("ada", "bob")),
        ("\ufeffstudent\r\nada\r\n", ("ada",)),
        ("student\rada\rbob\r", ("ada", "bob")),
        ("student;mail\nLovelace, Ada;a@x\n", ("Lovelace, Ada",)),
        ('student,mail\n"Lovelace, Ada",a@x\n', ("Lovelace, Ada",)),
        ("student\nZoe\u0308\n../x\n", ("Zo\u00eb", file_name("../x"))),
        ("student,id\nada,1\nada,2\nben,3\n", ("ada-1", "ada-2", "ben")),
        ("First name,Last name,Email address\nAda,Lovelace,a@x\n", ("Ada Lovelace",)),
        ("identifier,github_username,github_id,name\na@x,ada-l,7,Ada Lovelace\n", ("Ada Lovelace",)),
        ("identifier,github_username\na@x,ada-l\n", ("a@x",)),
        ("student,name\n,Ada Lovelace\nben,Ben Bell\n", ("Ada Lovelace", "ben")),
    ],
)
def test_roster_contents(folder, content, students):
    (folder.path / "roster.csv").write_bytes(content.encode())
    assert read_people(folder.path).students == students


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"student\nada\n\xfc\n", "roster.csv, line 3 is not UTF-8"),
        (b'student\nada\n"bob" x\n', "roster.csv, line 3 is not CSV"),
        (b"mail,student\na@x,ada\nb@x\n", "roster.csv, line 3 names no student: fill in column 2"),
        (b"student,mail\n,a@x\n", "roster.csv, line 2 names no student: fill in column 1"),
        (b"student,id\nada,1\n\nada,1\n", "roster.csv, lines 2 and 4 have the same id, 1: remove"),
        (b"student\nada\nben\nada\n", "roster.csv, lines 2 and 4 both name ada: remove"),
        (b"canvas id,moodle id\n1,2\n", "roster.csv, line 1: no column names the students: the first"),
        (b"studnet,mail\nada,a@x\n", "The column name .or student. is needed; studnet may be student$"),
        (b"login,e-mail\nada,a@x\n", "line 1: no column names the students: .* is needed$"),
        (b"name,e-mail\nAda,a@x\nBen, A@X\n", "roster.csv, lines 2 and 3 have the same e-mail, A@X: remove"),
        ("student\nZo\u00eb\nZoe\u0308\n".encode(), "lines 2 and 3 both name Zo\u00eb"),
    ],
)
def test_roster_errors(folder, content, reason):
    (folder.path / "roster.csv").write_bytes(content)
    with pytest.raises(GraderError, match=reason):
        read_people(folder.path)


NASTY = [
    *("ada", "...", ".Trash-1000", "site-packages", "..\\x", "a\nb", "a\tb", "._x", "__MACOSX", "<b>"),
    *("🔥" * 60, "01_leaves", "x.ipynb", "-"),
]
NAMES = st.sampled_from(NASTY) | st.binary(min_size=1, max_size=60).filter(
    lambda name: not {0, ord("/")} & set(name) and name not in {b".", b".."}
).map(os.fsdecode)
SUFFIXES = st.sampled_from([".ipynb", ".IPYNB", ".txt", ".ipynb.txt", ""])
NOTEBOOK = re.compile(r"(.*)\.(?:ipynb|IPYNB)(?:\.txt)?", re.DOTALL)
CONTENTS = st.sampled_from([text(), text("def make_weight(): ..."), text(claim="04_detach"), "", "[]"])
FILES = st.tuples(st.lists(NAMES, max_size=2), NAMES, SUFFIXES, CONTENTS, st.integers(0, 2))


@settings(max_examples=200, deadline=None, database=None)
@given(files=st.lists(FILES, max_size=8))
def test_every_notebook_is_somewhere_once(files):
    """Whatever is called how, each notebook is one submission's or superseded, and all names are safe."""
    with tempfile.TemporaryDirectory() as root:
        check_everything_is_somewhere(Path(root), files)


def check_everything_is_somewhere(root, files):
    expected, others = set(), set()
    for folders, name, suffix, content, modified in files:
        path = root.joinpath(*folders, name + suffix)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        except OSError:  # A file where a folder should be, or the other way round.
            continue
        os.utime(path, ns=(modified, modified))
        inner = path.parent.relative_to(root).parts
        skipped = path.name.startswith("._") or (inner[:1] and inner[0].startswith((".", "__")))
        if NOTEBOOK.fullmatch(path.name) and not skipped:
            expected.add(path)
        elif folders and not path.name.startswith(".") and not any(map(copy_in, folders[1:])):
            others.add(path)
    if not expected:
        with pytest.raises(GraderError, match="no notebook"):
            find_submissions(root, COURSE)
        return
    students = {owner(path, root) for path in expected}
    names = {path.relative_to(root).parts[0] for path in others}
    expected |= {root / name for name in names - students if not name.startswith((".", "__"))}
    found = find_submissions(root, COURSE)
    ignored = [each for one in found for each in one.ignored]
    assert all(each.reason for each in ignored)
    shown = [place for one in found for place in (one.relative, *one.superseded)]
    shown += [each.path for each in ignored]
    assert Counter(shown) == Counter(printable(str(path.relative_to(root))) for path in expected)
    assert {one.path for one in found} <= expected
    assert all((one.student, one.name) < (other.student, other.name) for one, other in pairwise(found))
    for one in found:
        assert_safe(one.student)
        assert_safe(one.name)
        assert one.assignment or one.error
        assert one.name == one.assignment if one.assignment else one.name not in COURSE
        assert json.dumps([one.relative, one.superseded, one.error], ensure_ascii=False).encode()
    owners = {(owner(one.path, root), one.student) for one in found}
    assert len(owners) == len({folder for folder, _ in owners}) == len({student for _, student in owners})


def owner(path, root):
    """The student of a notebook, or of a folder that holds other files only."""
    parts = path.relative_to(root).parts
    return parts[0] if len(parts) > 1 or path.is_dir() else NOTEBOOK.fullmatch(parts[0])[1]
