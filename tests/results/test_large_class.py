"""A class of thousands: what has not changed is not read again, and nothing is lost whatever is deleted."""

import errno
import gc
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tiny_class import TinyClass
from tiny_course import HALF, RIGHT, write_notebook

from grader import files as lock
from grader.course.course import Course
from grader.errors import GraderError
from grader.grading.run import Options, grade
from grader.grading.submission import find_submissions
from grader.notebooks.reader import Notebook
from grader.results.store import ResultsStore, read_run

NO_PROGRESS = lambda *_: None  # noqa: E731
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


class Class(TinyClass):
    """A class with one of everything: right, half, twice, torn, foreign and suspicious."""

    def __init__(self, root):
        super().__init__(root)
        self.course = Course.find(self.course)
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
        return grade(self.course, submissions or self.submissions, self.out, Options(**options), NO_PROGRESS)

    def files(self, *but):
        """What lies in the results folder."""
        paths = [path for path in self.out.rglob("*") if path.is_file() and path.name not in but]
        return {str(path.relative_to(self.out)): path.read_bytes() for path in paths}


@pytest.fixture
def klass(tmp_path, shared_zygote):
    return Class(tmp_path)


def timeless(outcome):
    return [replace(one, provenance=replace(one.provenance, graded_at=None)) for one in outcome.results]


def test_an_unchanged_class_is_known_by_its_results(klass):
    """A second run opens each result once, a notebook again only for the same work, and changes nothing."""
    for place in ("eva/essay", "dan/01_tiny", "cem/old/01_tiny"):
        klass.submissions.joinpath(f"{place}.ipynb").unlink()
    first = klass.grade()
    before = klass.files()
    with opened() as paths:
        second = klass.grade()
    results = [path for path in paths if path.startswith(str(klass.out / "submissions"))]
    assert len(results) == len(set(results)) == 4
    notebooks = [path for path in paths if path.startswith(str(klass.submissions)) and "ipynb" in path]
    assert len(set(notebooks)) == 4
    assert max(map(notebooks.count, notebooks)) <= 2
    assert (second.results, second.fresh) == (first.results, 0)
    assert klass.files() == before


def test_whatever_is_deleted_comes_again(klass):
    first = klass.grade()
    before = [path for path in klass.files("run.json", ".lock") if not path.startswith("reference/")]
    for folder in ("submissions", "evidence", "feedback", "reference", ""):
        gone = [path for path in (klass.out / folder).glob("**/*" if folder else "*") if path.is_file()]
        assert gone, folder
        for path in gone:
            path.unlink()
        assert timeless(klass.grade()) == timeless(first), folder
        assert set(before) <= set(klass.files()), folder
    assert klass.grade().fresh == 0


def test_a_result_that_somebody_corrected_counts(klass):
    klass.grade()
    path = klass.out / "submissions" / "ben" / "01_tiny.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**result, "score": 5.0}), encoding="utf-8")
    outcome = klass.grade()
    assert [row.score for row in outcome.results if row.student == "ben"] == [5.0]
    assert ",5,6,graded," in (klass.out / "gradebook.csv").read_text(encoding="utf-8")


LONG = """
def double(x):
    sizes = [float(n) for n in x.shape]
    total = sum(sizes) + len(sizes) * 2
    for index, size in enumerate(sizes):
        total += size * index
    return x * total
"""


def test_equal_work_of_students_is_named(klass):
    renamed = LONG.replace("total", "summe").replace("sizes", "längen").replace("index", "i")
    for student, code in {"hal": LONG, "ian": renamed, "jo": LONG.replace("* 2", "* 3")}.items():
        write_notebook(klass.submissions / student / "01_tiny.ipynb", [*HALF[:1], code, *HALF[2:]])
    for _ in range(2):
        klass.grade()
        _, _, named = (klass.out / "report.html").read_text(encoding="utf-8").partition('<h2 id="same">')
        files, answers = [line for line in named.splitlines() if line.startswith("<li>01_tiny")]
        assert "the same notebook file" in files
        assert re.findall("<bdi>(.*?)</bdi>", files) == ["ada", "cem"]
        assert "the same answer to q1" in answers
        assert {"hal", "ian"} == {*re.findall("<bdi>(.*?)</bdi>", answers)}


def test_a_broken_result_is_no_result(klass):
    first = klass.grade()
    for content in ("", "[]", '{"student": 1}'):
        (klass.out / "submissions" / "ben" / "01_tiny.json").write_text(content, encoding="utf-8")
        again = klass.grade()
        assert (timeless(again), again.fresh) == (timeless(first), 1), content


def test_results_of_an_earlier_version_are_refused(klass):
    klass.grade()
    refused = r"another version of the grader \(.*/v0, .* into another folder"
    for path in (klass.out / "run.json", klass.out / "submissions" / "ben" / "01_tiny.json"):
        text = path.read_text(encoding="utf-8")
        stored = json.loads(text)
        earlier = {**stored, "schema": stored["schema"].rpartition("/")[0] + "/v0"}
        path.write_text(json.dumps(earlier), encoding="utf-8")
        before = klass.files()
        with pytest.raises(GraderError, match=refused) as told:
            klass.grade()
        assert str(path) in str(told.value)
        assert klass.files() == before
        path.write_text(text, encoding="utf-8")


def test_other_bytes_of_the_same_size_and_age_are_graded(klass):
    klass.grade()
    path = klass.submissions / "ada" / "01_tiny.ipynb"
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"x + x", b"x * x"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    outcome = klass.grade()
    assert (outcome.fresh, outcome.graded_again) == (0, 1)
    assert outcome.results[0].score < 6


def test_nobodys_cells_are_kept(klass):
    before = _notebooks_in_memory()
    found = find_submissions(klass.submissions, klass.course.functions)
    assert _notebooks_in_memory() == before
    assert len(found) == 6


def _notebooks_in_memory():
    """How many are held; by `type`, for `isinstance` asks objects for a `__class__`, and some then warn."""
    gc.collect()
    return sum(type(held) is Notebook for held in gc.get_objects())


def test_a_second_run_into_the_same_folder_is_refused(klass):
    with ResultsStore(klass.out):
        with pytest.raises(GraderError, match="another run is grading into") as told:
            klass.grade()
        assert told.value.exit_status == 2
    assert klass.grade().fresh == 6


HOLD = """
import sys
from pathlib import Path
from grader.files import lock_file
held = lock_file(Path(sys.argv[1]))
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
    assert not os.get_inheritable(held)
    os.close(held)


def test_where_there_are_no_locks_grading_goes_on(klass, monkeypatch):
    """On some network file systems files that are not complete are left alone: another run may write them.

    Where there are locks, a killed run left them, and the next run removes them.
    """

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    others = klass.out / ".unfinished" / "1-1"
    others.parent.mkdir(parents=True)
    others.touch()
    with monkeypatch.context() as patch:
        patch.setattr(lock.fcntl, "flock", refuse)
        assert klass.grade().fresh == 6
    assert others.exists()
    klass.grade()
    assert not others.parent.exists()


def test_another_folder_graded_into_the_same_results_is_told(klass, tmp_path):
    assert not klass.grade().notes
    write_notebook(tmp_path / "evening" / "zoe" / "01_tiny.ipynb", RIGHT)
    outcome = klass.grade(submissions=tmp_path / "evening")
    assert [row.student for row in outcome.results] == ["zoe"]
    assert f"Before, {klass.submissions} was graded into {klass.out}: 6 results" in " ".join(outcome.notes)
    assert klass.grade(submissions=tmp_path / "evening").notes == []
    assert [row.student for row in klass.grade().results] == ["ada", "ben", "cem", "dan", "eva", "gus"]


def test_a_folder_that_only_moved_is_not_told(klass):
    klass.grade()
    moved = klass.submissions.rename(klass.submissions.with_name("moved"))
    assert not klass.grade(submissions=moved).notes
    assert read_run(klass.out).submissions == str(moved)
