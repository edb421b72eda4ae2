"""A busy or a full machine costs nobody points, and large answers cost the grader little memory."""

import os
import subprocess
import sys
import time
from functools import partial

import pytest
from observing import QUICK, look, request

from grader.errors import BrokenRunError
from grader.sandbox.zygote import _COUNTS_WAITING, CpuTimes, WorkerProcess, Zygote

ENDLESS = "def first():\n    while True:\n        pass"
BUSY = "import time\nwhile time.thread_time() < 0.2:\n    pass"


def slow_cpu_times(waited, computed):
    """Times in which every second of the wall's counts as that much waiting and computing."""
    ticks = time.monotonic()
    return lambda _: CpuTimes(
        time.monotonic(), (time.monotonic() - ticks) * waited, (time.monotonic() - ticks) * computed
    )


@pytest.mark.parametrize(
    ("waited", "computed", "starved"),
    [(0.0, 1.0, False), (0.0, 0.0, False), (0.5, 0.5, True), (1.0, 0.0, True), (0.9, 2.0, False)],
    ids=["computes", "sleeps", "has half", "has nothing", "is kept waiting by its own threads"],
)
def test_who_had_no_processor_is_known(zygote, monkeypatch, waited, computed, starved):
    """Time that ran out is told from time that others used up, whatever was before it."""
    monkeypatch.setattr(WorkerProcess, "cpu_times", slow_cpu_times(waited, computed))
    quick = request("first", "student.first()", seconds=0.2)
    assert look(zygote, ENDLESS, first=quick).evidence.starved is starved
    assert look(zygote, "while True:\n    pass", limits=QUICK, first="1").evidence.starved is starved
    assert not look(zygote, "def first():\n    return 1", first="student.first()").evidence.starved


@pytest.mark.skipif(not _COUNTS_WAITING, reason="this kernel does not count who waits")
def test_waiting_for_a_processor_is_counted(zygote):
    """A worker that shares its only processor with two others was starved; one that has it alone was not."""
    processor = min(os.sched_getaffinity(0))
    says = f"os.sched_setaffinity(0, [{processor}])\nprint('computing', flush=True)"
    hog = partial(
        subprocess.Popen,
        [sys.executable, "-c", f"import os\n{says}\nwhile True:\n    pass"],
        stdout=subprocess.PIPE,
        start_new_session=True,  # as a worker: the kernel divides a processor between sessions first
    )
    request = {"number": 1, "source": BUSY, "seconds": 50.0}
    with zygote.worker() as worker, hog() as one, hog() as another:
        for process in (one, another):  # a busy machine may take longer to start them than the cell computes
            process.stdout.readline()
        os.sched_setaffinity(worker.pid, [processor])
        begun = worker.cpu_times()
        worker.wire.ask("cell", request, 60.0)
        starved = begun.was_starved_until(worker.cpu_times())
        one.kill()
        another.kill()
    assert starved


def test_without_a_count_nobody_is_blamed(zygote, monkeypatch):
    """Where the kernel does not say who waited, all of the time may have been waiting."""
    monkeypatch.setattr("grader.sandbox.zygote._COUNTS_WAITING", False)
    with zygote.worker() as worker:
        begun = worker.cpu_times()
        worker.wire.ask("cell", {"number": 1, "source": BUSY, "seconds": 50.0}, 60.0)
        assert begun.was_starved_until(worker.cpu_times())


def full_for(monkeypatch, times):
    """Let a zygote find no process that often, and not wait for one."""
    fork, left = Zygote._fork, list(range(times))

    def try_to_fork(self):
        if left:
            left.pop()
            raise zygote_module._FullError("Resource temporarily unavailable")
        return fork(self)

    zygote_module = sys.modules["grader.sandbox.zygote"]
    monkeypatch.setattr(zygote_module, "_PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(Zygote, "_fork", try_to_fork)


def test_a_machine_that_is_full_for_a_moment_is_waited_for(zygote, monkeypatch):
    full_for(monkeypatch, 3)
    assert look(zygote, "def first():\n    return 1", first="student.first()")["first"] == 1


def test_a_machine_that_stays_full_ends_the_run_in_a_sentence(zygote, monkeypatch):
    full_for(monkeypatch, 4)
    with pytest.raises(BrokenRunError, match="free some memory or processes and run again"):
        zygote.worker()
