"""A class of thousands: what has not changed is not read again, and nothing is lost whatever is deleted."""

import errno
import gc
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from tiny_course import HALF, RIGHT, write_course, write_notebook

from grader import files as lock
from grader.course.course import Course
from grader.errors import BrokenRunError, GraderError
from grader.grading import gist
from grader.grading.grading import Options, grade
from grader.grading.submission import find_submissions
from grader.notebooks.reader import Notebook
from grader.results import folder as folders
from grader.results.folder import ResultsFolder
from grader.results.index import INDEX, Index

NOBODY = lambda *_: None  # noqa: E731
OPENED = []
RECORDING = []


def _record(event, arguments):
    # An opener of its own tells of one file twice, the second time without a mode.
    if RECORDING and event == "open" and isinstance(arguments[0], str) and arguments[1] is not None:
        OPENED.append(arguments[0])


sys.addaudithook(_record)


@contextmanager
def opened():
    """The paths of all files that are opened meanwhile."""
    OPENED.clear()
    RECORDING.append(True)
    try:
        yield OPENED
    finally:
        RECORDING.clear()


class Class:
    """A tiny course and a class with one of everything: right, half, twice, torn, foreign and suspicious."""

    def __init__(self, root):
        course = write_course(root / "course")
        checks = course / "tests" / "hidden" / "test_01_tiny.py"
        # The pytest around this test would rewrite its asserts, as that of a run does not.
        checks.write_text(checks.read_text().replace("Hidden checks.", "PYTEST_DONT_REWRITE"))
        self.course = Course.find(course)
        self.submissions, self.out = root / "submissions", root / "results"
        for place, cells in {
            "ada/01_tiny": RIGHT,
            "ben/01_tiny": HALF,
            "cem/01_tiny": RIGHT,
            "cem/old/01_tiny": HALF,
            "eva/essay": ["x = 1"],
            "gus/01_tiny": ["import ctypes", *RIGHT],
        }.items():
            age = 1_600_000_000 if "old" in place else 1_700_000_000
            write_notebook(self.submissions / f"{place}.ipynb", cells, modified=age)
        (self.submissions / "dan").mkdir()
        (self.submissions / "dan" / "01_tiny.ipynb").write_text("torn", encoding="utf-8")

    def grade(self, submissions=None, **options):
        return grade(self.course, submissions or self.submissions, self.out, Options(**options), NOBODY)

    def files(self, *but):
        """What lies in the results folder."""
        paths = [path for path in self.out.rglob("*") if path.is_file() and path.name not in but]
        return {str(path.relative_to(self.out)): path.read_bytes() for path in paths}


@pytest.fixture
def klass(tmp_path, shared_zygote):
    return Class(tmp_path)


def timeless(outcome):
    """An outcome's rows without the times of their making."""
    return [
        {**vars_of(row), "provenance": dict(row.provenance) | {"graded_at": None}} for row in outcome.rows
    ]


def vars_of(row):
    return {name: getattr(row, name) for name in row.__slots__}


def test_an_unchanged_class_is_not_read_again(klass, monkeypatch):
    """A second run opens no result and no evidence, parses no notebook, and leaves every file as it was."""
    first = klass.grade()
    before = klass.files()
    monkeypatch.setattr(gist, "parse_notebook", None)
    with opened() as paths:
        second = klass.grade()
    results = {path.removeprefix(f"{klass.out}/") for path in paths if path.startswith(str(klass.out))}
    assert {path for path in results if not path.startswith(".unfinished/")} == {
        *(INDEX, "run.json"),  # what the run before remembers, and what it is compared with
        *("gradebook.csv", ".charts"),
    }
    notebooks = [path for path in paths if path.startswith(str(klass.submissions)) and "ipynb" in path]
    assert len(notebooks) == len(set(notebooks)) == 7
    assert (second.rows, second.fresh) == (first.rows, 0)
    assert klass.files() == before


@pytest.mark.parametrize("spoil", ["deleted", "torn", "garbled", "foreign", "empty", "binary"])
def test_the_index_is_never_needed_and_never_believed_blindly(klass, spoil):
    """Without an index, or with one that somebody spoiled, a run gives the same and writes it anew."""
    first, index = klass.grade(), klass.out / INDEX
    before, text = klass.files(), index.read_text()
    if spoil == "deleted":
        index.unlink()
    else:
        content = {
            "torn": text[: len(text) // 2],
            "garbled": text.replace('"answered"', '"untouched"'),
            "foreign": "[1, 2, 3]",
            "empty": "",
            "binary": "\udcff",
        }[spoil]
        index.write_bytes(os.fsencode(content))
    second = klass.grade()
    assert (second.rows, second.fresh) == (first.rows, 0)
    assert klass.files() == before


@pytest.mark.parametrize("folder", ["submissions", "evidence", "feedback", "reference", ""])
def test_whatever_is_deleted_comes_again(klass, folder):
    """Every file of the results can go: the next run gives the same rows, and what anybody needs is there."""
    first = klass.grade()
    before = [path for path in klass.files("run.json", INDEX, ".lock") if not path.startswith("reference/")]
    gone = [path for path in (klass.out / folder).glob("**/*" if folder else "*") if path.is_file()]
    assert gone
    for path in gone:
        path.unlink()
    second = klass.grade()
    assert timeless(second) == timeless(first)
    assert set(before) <= set(klass.files())
    assert klass.grade().fresh == 0


def test_a_result_that_somebody_corrected_counts(klass):
    """The index does not hide what an instructor wrote into a result by hand."""
    klass.grade()
    path = klass.out / "submissions" / "ben" / "01_tiny.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**result, "score": 5.0}), encoding="utf-8")
    outcome = klass.grade()
    assert [row.score for row in outcome.rows if row.student == "ben"] == [5.0]
    assert ",5,6,graded," in (klass.out / "gradebook.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"student": 1}'])
def test_a_broken_result_is_no_result(klass, content):
    """What somebody spoiled is judged again."""
    first = klass.grade()
    (klass.out / "submissions" / "ben" / "01_tiny.json").write_text(content, encoding="utf-8")
    second = klass.grade()
    assert (timeless(second), second.fresh) == (timeless(first), 1)


def test_other_bytes_of_the_same_size_and_age_are_graded(klass):
    """Of a notebook nothing but its content counts."""
    klass.grade()
    path = klass.submissions / "ada" / "01_tiny.ipynb"
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"x + x", b"x * x"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    outcome = klass.grade()
    assert outcome.fresh == 1
    assert outcome.rows[0].score < 6


def test_names_that_are_no_text_are_remembered(klass, monkeypatch):
    """The bytes of a file's name may be no UTF-8, and its notebook is known again all the same."""
    write_notebook(klass.submissions / os.fsdecode(b"a\xff") / "01_tiny.ipynb", RIGHT)
    first = klass.grade()
    monkeypatch.setattr(gist, "parse_notebook", None)
    assert klass.grade().rows == first.rows


def test_no_room_for_the_index_is_no_failure(klass, monkeypatch):
    """Everything else was written when the disk is full: the run has done its work."""
    write = ResultsFolder.write

    def full(self, place, text):
        if str(place).endswith(INDEX):
            raise BrokenRunError("no room")
        write(self, place, text)

    monkeypatch.setattr(ResultsFolder, "write", full)
    assert klass.grade().fresh == 6
    assert not (klass.out / INDEX).exists()
    assert klass.grade().fresh == 0


def test_a_course_that_asks_for_other_names_recognises_anew(klass):
    """What a notebook was taken for is remembered for this course and this grader only."""
    klass.grade()
    functions = klass.course.functions
    assert Index.load(klass.out, functions).gists.recall(("ada/01_tiny.ipynb",), _sha256_of(klass, "ada"))
    other = Index.load(klass.out, {**functions, "02_more": ["triple"]})
    assert other.gists.recall(("ada/01_tiny.ipynb",), _sha256_of(klass, "ada")) is None


def _sha256_of(klass, student):
    found = find_submissions(klass.submissions, klass.course.functions)
    return next(one.sha256 for one in found if one.student == student)


def test_nobodys_cells_are_kept(klass):
    """However many submissions are found, none of their notebooks stays in memory."""
    before = _notebooks_in_memory()
    found = find_submissions(klass.submissions, klass.course.functions)
    assert _notebooks_in_memory() == before
    assert len(found) == 6


def _notebooks_in_memory():
    """How many are held; by `type`, for `isinstance` asks objects for a `__class__`, and some then warn."""
    gc.collect()
    return sum(type(held) is Notebook for held in gc.get_objects())


def test_what_is_equal_is_kept_once(klass):
    """Two right answers are one in memory, whether read from results or from the index."""
    for outcome in (klass.grade(), klass.grade()):
        ada, _, cem, *_ = outcome.rows
        assert (ada.student, cem.student) == ("ada", "cem")
        assert all(one is other for one, other in zip(ada.answers, cem.answers, strict=True))


def test_one_reading_of_each_notebook_and_one_more_to_observe_it(klass, monkeypatch):
    """Half of a class that waits is read twice, the other half once; results are read once each."""
    klass.grade()
    (klass.out / INDEX).unlink()
    for student in ("ada", "ben", "gus"):
        (klass.out / "evidence" / student / "01_tiny.json").unlink()
    with opened() as paths:
        assert klass.grade().fresh == 3
    names = [path for path in paths if "/evidence/" not in path and path.endswith(("ipynb", "json"))]
    readings = {path: names.count(path) for path in names if str(klass.submissions) in path}
    assert sorted(readings.values()) == [1, 1, 1, 1, 2, 2, 2]
    results = [path for path in names if path.startswith(str(klass.out / "submissions"))]
    waited = {str(klass.out / "submissions" / student / "01_tiny.json") for student in ("ada", "ben", "gus")}
    assert all(results.count(path) == (2 if path in waited else 1) for path in results)


def test_a_second_run_into_the_same_folder_is_refused(klass):
    """Two runs at once would make a mixture: the later one ends in a sentence, and the first may go on."""
    with ResultsFolder(klass.out, Index("")):
        with pytest.raises(GraderError, match="another run is grading into") as told:
            klass.grade()
        assert told.value.exit_status == 2
    assert klass.grade().fresh == 6


HOLD = """
import sys
from pathlib import Path
from grader.files import lock
held = lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_goes_with_its_holder(tmp_path):
    """Killed, a run leaves no lock behind, and no program that it starts holds on to it."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError):
            lock.lock_file(tmp_path / ".lock")
        holder.send_signal(signal.SIGKILL)
    held = lock.lock_file(tmp_path / ".lock")
    assert held is not None
    assert not os.get_inheritable(held)
    os.close(held)


def test_where_there_are_no_locks_grading_goes_on(klass, monkeypatch):
    """Some network file systems know no locks; what another run may be writing is left alone there."""

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    klass.out.mkdir()
    others = klass.out / ".unfinished" / "1-1"
    others.parent.mkdir()
    others.touch()
    assert klass.grade().fresh == 6
    assert others.exists()


def test_what_a_killed_run_left_unfinished_is_cleared(klass):
    """Files that never got their name go at the next run, and nothing but results stays after it."""
    klass.out.mkdir()
    (klass.out / ".unfinished").mkdir()
    (klass.out / ".unfinished" / "1-1").touch()
    klass.grade()
    assert not (klass.out / ".unfinished").exists()


def test_another_folder_graded_into_the_same_results_is_told(klass, tmp_path):
    """The gradebook is of the last folder only; whoever grades is told what stays beside it, once."""
    assert klass.grade().note is None
    write_notebook(tmp_path / "evening" / "zoe" / "01_tiny.ipynb", RIGHT)
    outcome = klass.grade(submissions=tmp_path / "evening")
    assert [row.student for row in outcome.rows] == ["zoe"]
    assert f"Before, {klass.submissions} was graded into {klass.out}: 6 results" in outcome.note
    assert klass.grade(submissions=tmp_path / "evening").note is None
    assert [row.student for row in klass.grade().rows] == ["ada", "ben", "cem", "dan", "eva", "gus"]


def test_a_folder_that_only_moved_is_not_told(klass):
    """Where everything graded before is graded again, there is nothing to tell."""
    klass.grade()
    moved = klass.submissions.rename(klass.submissions.with_name("moved"))
    assert klass.grade(submissions=moved).note is None
    assert folders.ResultsFolder(klass.out, Index("")).run()["submissions"] == str(moved)
