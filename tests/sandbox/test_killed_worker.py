"""A worker that the system kills, as it does where memory runs out, costs nothing the first time."""

import json
import os
import shutil
import signal

import pytest
from observing import look
from tiny_course import RIGHT, write_course, write_notebook

from grader.course.course import Course
from grader.errors import BrokenRunError
from grader.grading.run import Options, grade
from grader.sandbox import cells as cells_module
from grader.sandbox.evidence import NotObserved
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Zygote

CELLS = ["def first():\n    return 1", "def second():\n    return 2"]
ASKED = {"first": "student.first()", "second": "student.second()"}
ENDED = "the process of your code was killed (signal 9): it took too much memory, or it killed itself"


class System:
    """Kills workers as they are asked something, so many times; counts the workers there were."""

    def __init__(self):
        self.operation, self.kills, self.workers, self.killed = "", 0, 0, 0

    def watch(self, worker):
        """From now on this worker may be killed."""
        self.workers += 1
        send = worker.wire._send

        def send_and_kill(message, deadline):
            kills = message["op"] == self.operation and self.kills > 0
            if kills:
                os.kill(worker.pid, signal.SIGSTOP)  # it has the request, and is not quicker than its death
            send(message, deadline)
            if kills:
                self.kills, self.killed = self.kills - 1, self.killed + 1
                os.kill(worker.pid, signal.SIGKILL)

        worker.wire._send = send_and_kill


@pytest.fixture
def system(monkeypatch):
    made, fork = System(), Zygote._fork

    def fork_and_watch(self):
        worker = fork(self)
        made.watch(worker)
        return worker

    monkeypatch.setattr(Zygote, "_fork", fork_and_watch)
    monkeypatch.setattr(cells_module, "killed_for_memory", lambda: made.killed)
    return made


@pytest.mark.parametrize("operation", ["cell", "survey", "observe", "end"])
def test_one_that_was_killed_has_a_successor(zygote, system, operation):
    """Killed once, in a cell, in a request or between them: all is seen, and nobody is told anything."""
    system.operation, system.kills = operation, 1
    seen = look(zygote, CELLS, **ASKED)
    assert (seen["first"], seen["second"], seen.raised, system.kills) == (1, 2, {}, 0)
    assert not seen.evidence.starved


@pytest.mark.parametrize(
    ("operation", "raised", "status"), [("cell", {1: ENDED}, "missing"), ("observe", {}, "answered")]
)
def test_what_is_killed_again_is_left_out(zygote, system, operation, raised, status):
    """A cell or a request has no facts, but the notebook deserves a look when no other takes memory."""
    system.operation, system.kills = operation, 2
    seen = look(zygote, CELLS, **ASKED)
    assert (seen.raised, seen.status["first"], seen["second"]) == (raised, status, 2)
    assert status == "missing" or seen["first"] == NotObserved(ENDED)
    assert seen.evidence.starved


@pytest.mark.parametrize("operation", ["cell", "survey", "observe"])
def test_killing_has_an_end(zygote, system, operation):
    """However often a worker is killed, there is evidence after a few."""
    system.operation, system.kills = operation, 1000
    assert look(zygote, CELLS, **ASKED).evidence.starved
    assert system.workers < 8


SUICIDE = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


def test_a_notebook_that_kills_itself_comes_to_an_end(zygote, system):
    """It may do so, by all ways: in a cell, and in a function."""
    seen = look(zygote, [SUICIDE, *CELLS], **ASKED)
    assert (seen.raised, seen["first"]) == ({1: ENDED}, 1)
    seen = look(zygote, [*CELLS, f"def second():\n    {SUICIDE.replace(chr(10), chr(10) + '    ')}"], **ASKED)
    assert (seen["first"], seen["second"]) == (1, NotObserved(ENDED))
    assert not seen.evidence.starved, "nobody's memory was short, so there is no second look"
    assert system.workers < 10


@pytest.mark.long
def test_the_limit_of_processor_time_kills_once_more():
    """Who ignores the kernel's warning is killed by it: a verdict like any other, after a second worker."""
    deaf = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass"
    with Zygote(cpu_seconds=1) as zygote:
        seen = look(zygote, [deaf, *CELLS], limits=TimeLimits(cell=20), **ASKED)
    assert (seen.raised, seen["first"]) == ({1: ENDED}, 1)


@pytest.mark.usefixtures("shared_zygote")
@pytest.mark.parametrize(
    ("jobs", "kills", "score"), [(2, 1, 6), (2, 2, 6), (2, 5, 4), (1, 1, 6), (1, 2, 4)], ids=str
)
def test_it_is_looked_at_again_alone(tmp_path, system, jobs, kills, score):
    """Killed twice beside others, a notebook is whole once it is alone; killed then too, it lost a part.

    Killed in the shared worker and for each question in its own, the first look takes three of five.
    """
    course = Course.find(write_course(tmp_path / "course"))
    write_notebook(tmp_path / "submissions" / "ada" / "01_tiny.ipynb", RIGHT)
    out = tmp_path / "results"

    def graded():
        return grade(course, tmp_path / "submissions", out, Options(jobs=jobs), lambda _: None)

    assert graded().results[0].score == 6
    (reference,) = (out / "reference").glob("01_tiny-*.json")
    stopped = {"finished": False, "seed": int(reference.stem.rpartition("-")[2]), "forced": False}
    run = json.loads((out / "run.json").read_text(encoding="utf-8")) | stopped
    (out / "run.json").write_text(json.dumps(run), encoding="utf-8")
    for of_the_notebook in ("submissions", "evidence"):  # the reference is known from now on
        shutil.rmtree(out / of_the_notebook)
    system.operation, system.kills = "observe", kills
    outcome = graded()
    assert [row.score for row in outcome.results] == [score]
    assert system.kills == 0


def test_without_its_zygote_nobody_is_judged():
    """The zygote was killed, and its workers with it: the run ends, instead of a notebook's reputation."""
    with Zygote() as zygote:
        worker = zygote.worker()
        zygote._process.kill()
        zygote._process.wait()
        with worker, pytest.raises(BrokenRunError, match="The same command continues"):
            worker.was_killed()
        with pytest.raises(BrokenRunError, match="The same command continues"):
            zygote.worker()
