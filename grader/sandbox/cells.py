"""Runs a notebook's cells, and again in another worker where something goes wrong.

A cell that kills its worker is left out and the rest run again, at most twice; the third such cell ends the
notebook. Cells may take three quarters of a notebook's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Protocol, TypeVar

from grader.notebooks.reader import Cell
from grader.sandbox.decoding import (
    NO_ANSWER,
    MalformedError,
    Notice,
    Status,
    parse_cell_error,
    parse_notices,
    parse_survey,
)
from grader.sandbox.evidence import REASONS, Evidence, Failure, NoFacts, no_facts
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.wire import WireError
from grader.sandbox.worker_process import CpuTimes, WorkerProcess, killed_for_memory

_GRACE_SECONDS = 2.0  # between the limit inside and the kill from outside
_AGAIN_SECONDS = 1.0  # for a cell whose time ran out before: enough for what it defines at its beginning
_CELLS_SHARE = 0.75  # of a notebook's time; the rest is for its questions
_MAX_SKIPPED = 2  # cells that may kill their worker before the rest of the notebook is given up
_MAX_UNITED = 100  # kept of each kind that a notebook's workers noticed: a reader needs no more
_UNREACHED = "the cells before it used up the time of the notebook"

_Parsed = TypeVar("_Parsed")
_Noticed = TypeVar("_Noticed", bound=str | Notice)


class Workers(Protocol):
    """What an observer needs of a zygote."""

    def worker(self) -> AbstractContextManager[WorkerProcess]:
        """A worker in which no cell has run; it ends with its block."""


@dataclass(frozen=True)
class Trouble:
    """A worker did not answer as agreed; after the first that was killed, another is worth a try."""

    failure: Failure
    is_worth_a_retry: bool = False


@dataclass(frozen=True)
class _Interrupted:
    """The cells stopped at a position; it is their number where only the survey is missing."""

    position: int
    trouble: Trouble


class NotebookRun:
    """What is known of a notebook, and the time it has left.

    Attributes:
        names: the status of each function, once the cells have run.
        patched: what the notebook changed in torch.
        deadline, cells_end: when its time and the time of its cells end, on the monotonic clock.
    """

    def __init__(self, workers: Workers, cells: Sequence[Cell], plan: ProbePlan, limits: TimeLimits) -> None:
        self._workers, self._cells, self._plan, self._limits = workers, cells, plan, limits
        begun = time.monotonic()
        self.deadline = begun + limits.notebook
        self.cells_end = begun + limits.notebook * _CELLS_SHARE
        self.names: dict[str, Status] = {}
        self.patched: list[str] = []
        self._notices: list[Notice] = []
        self._size = 0  # bytes of the answers
        self._starved = False  # whether others may have had the processors or the memory it lacked
        self._killed = 0  # workers that were killed, by the system or by themselves
        self._killed_before = killed_for_memory()
        self._failed: dict[int, dict[str, Any]] = {}  # cells that raised or killed, by number
        self._skipped: set[int] = set()  # cells not run again, because they killed a worker
        self._slow: set[int] = set()  # cells whose time ran out
        self._killers = 0

    def load(self, stack: ExitStack) -> WorkerProcess | NoFacts:
        """A worker in which the cells have run, until the stack ends; or why there is nothing to observe."""
        while True:
            with ExitStack() as attempt:
                worker = attempt.enter_context(self._workers.worker())
                attempt.callback(self._collect, worker)  # before its end, which comes last
                ended = self._run(worker)
                if ended is None:
                    stack.enter_context(attempt.pop_all())
                    return worker
            if isinstance(ended, _Interrupted):
                ended = None if ended.trouble.is_worth_a_retry else self._skip(ended)
            if ended is not None:
                return ended

    def ask(
        self,
        worker: WorkerProcess,
        operation: str,
        arguments: Any,
        seconds: float,
        parse: Callable[[Any], _Parsed],
    ) -> _Parsed | Trouble:
        """Ask a worker; the first worker that is killed instead of answering costs nothing.

        A system without memory kills any process, and the next worker may live. If that is killed for memory
        too, other notebooks may still be the cause; a worker that kills itself is to blame.
        """
        try:
            return parse(worker.wire.ask(operation, arguments, seconds))
        except MalformedError:
            self.note_no_answer(Failure.MALFORMED)
            return Trouble(Failure.MALFORMED)
        except WireError as error:
            self.note_no_answer(Failure(error.kind))
            if error.kind != "closed" or not worker.was_killed():
                return Trouble(Failure(error.kind))
        self._killed += 1
        if self._killed == 1:
            return Trouble(Failure.KILLED, is_worth_a_retry=True)
        self._starved |= killed_for_memory() > self._killed_before
        return Trouble(Failure.KILLED)

    def note_lack_of_time(self, worker: WorkerProcess, begun: CpuTimes) -> None:
        """Note whether others had the processors while time ran out."""
        self._starved |= begun.was_starved_until(worker.cpu_times())

    def note_no_answer(self, failure: Failure) -> None:
        """Note where a worker has sent something that is no answer, which an honest worker never does."""
        if failure in (Failure.FORGED, Failure.MALFORMED):
            self._notices = united(self._notices, [NO_ANSWER])

    def note_patched(self, patched: Sequence[str]) -> None:
        """Remember what the notebook changed in torch."""
        self.patched = united(self.patched, patched)

    def seconds_left(self, end: float = float("inf")) -> float:
        """The time until `end` or the notebook's deadline, always more than zero."""
        return max(0.01, min(end, self.deadline) - time.monotonic())

    def evidence(self, probes: dict[str, dict[str, Any]], fault: str | None = None) -> Evidence:
        """The evidence of what is known."""
        cells = [self._failed[number] for number in sorted(self._failed)]
        found = self.names, probes, cells, self.patched, self._notices, fault
        return Evidence(*found, starved=self._starved, size=self._size)

    def _run(self, worker: WorkerProcess) -> _Interrupted | NoFacts | None:
        """Run the cells, and survey what they defined; None when both is done."""
        if self._plan.handed_out:
            handed_out = {"handed_out": self._plan.handed_out}
            answer = self.ask(worker, "begin", handed_out, self._limits.cell, lambda _: None)
            if answer is not None:
                return _Interrupted(0, answer)
        for position, cell in enumerate(self._cells):
            if cell.number in self._skipped:
                continue
            if time.monotonic() >= self.cells_end:
                if self.names:  # they ran before, and half of them are of no use
                    return no_facts(Failure.TOO_LATE_FOR_NOTEBOOK)
                self._note_unreached(position)
                break
            trouble = self._run_cell(worker, cell)
            if trouble is not None:
                return _Interrupted(position, trouble)
        return self._survey(worker)

    def _run_cell(self, worker: WorkerProcess, cell: Cell) -> Trouble | None:
        longest = _AGAIN_SECONDS if cell.number in self._slow else self._limits.cell
        seconds = min(longest, self._limits.cell, self.seconds_left())
        request = {"number": cell.number, "source": cell.source, "seconds": seconds}
        begun = worker.cpu_times()
        raised = self.ask(worker, "cell", request, seconds + _GRACE_SECONDS, parse_cell_error)
        if isinstance(raised, Trouble):
            if raised.failure is Failure.TIMEOUT:
                self.note_lack_of_time(worker, begun)
            return raised
        if raised is not None:
            self._failed[cell.number] = {"cell": cell.number, "raised": raised, "fault": None}
            if "CellTimeout" in raised["types"]:
                self.note_lack_of_time(worker, begun)
                self._slow.add(cell.number)  # remembered, not paid again
        return None

    def _note_unreached(self, position: int) -> None:
        """The time of the cells is over before this cell; what is defined by now counts."""
        for cell in self._cells[position:]:
            self._failed.setdefault(cell.number, {"cell": cell.number, "raised": None, "fault": _UNREACHED})

    def _survey(self, worker: WorkerProcess) -> _Interrupted | NoFacts | None:
        stubs = self._plan.stubs
        answer = self.ask(
            worker, "survey", {"stubs": stubs}, self._limits.cell, lambda a: parse_survey(a, set(stubs))
        )
        if isinstance(answer, Trouble):
            return _Interrupted(len(self._cells), answer)
        names, patched = answer
        self.note_patched(patched)
        self.names = self.names or names
        if self._killers and set(names.values()) == {"missing"}:
            return no_facts(Failure.NOTHING_DEFINED)
        return None

    def _skip(self, interrupted: _Interrupted) -> NoFacts | None:
        """Leave out the cell that killed its worker, and after the third such cell all that follow.

        Returns:
            Why there is nothing to observe; None where the cells are to be run again.
        """
        position, failure = interrupted.position, interrupted.trouble.failure
        is_over = time.monotonic() >= self.deadline or self._killers > _MAX_SKIPPED
        if position >= len(self._cells) or is_over:
            return no_facts(Failure.NOTHING_SEEN)
        number = self._cells[position].number
        fault = REASONS[failure].format(seconds=self._limits.cell)
        self._failed[number] = {"cell": number, "raised": None, "fault": fault}
        self._killers += 1
        end = None if self._killers > _MAX_SKIPPED else position + 1
        self._skipped.update(cell.number for cell in self._cells[position:end])
        return None

    def _collect(self, worker: WorkerProcess) -> None:
        """Keep what a worker noticed, when it has served."""
        self._size += worker.wire.received
        noticed, closed = worker.notices()
        self._notices = united(self._notices, parse_notices(noticed, closed=closed))


def united(before: Iterable[_Noticed], more: Iterable[_Noticed]) -> list[_Noticed]:
    """What several workers of a notebook noticed, sorted, without repetition, the first of each kind."""
    everything = sorted({*before, *more}, key=str)
    kinds = groupby(everything, lambda noticed: noticed[0] if isinstance(noticed, tuple) else "")
    return [noticed for _, alike in kinds for noticed in islice(alike, _MAX_UNITED)]
