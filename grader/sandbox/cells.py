"""Runs a notebook's cells, and runs them again in another worker if a worker fails.

A cell that kills its worker is left out and the rest run again, at most twice; the third such cell ends the
notebook. Cells may take three quarters of a notebook's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import groupby, islice
from typing import Any, Protocol, TypeVar

from grader.notebooks.definitions import questions_checked
from grader.notebooks.reader import Cell
from grader.sandbox.decoding import (
    NO_ANSWER,
    MalformedError,
    Notice,
    Status,
    parse_cell,
    parse_exactly,
    parse_notices,
    parse_survey,
)
from grader.sandbox.evidence import REASONS, Answer, CellFailure, Evidence, Failure, not_observed
from grader.sandbox.plan import ObservationPlan, TimeLimits
from grader.sandbox.wire import WireError
from grader.sandbox.zygote import CpuTimes, WorkerProcess, killed_for_memory

_GRACE_SECONDS = 2.0  # between the limit inside and the kill from outside
_AGAIN_SECONDS = 1.0  # for a cell whose time ran out before: enough for what it defines at its beginning
_CELLS_SHARE = 0.75  # of a notebook's time; the rest is for its questions
_MAX_SKIPPED = 2  # cells that may kill their worker before the rest of the notebook is given up
_MAX_UNITED = 100  # kept of each kind that a notebook's workers noticed: a reader needs no more
_UNREACHED = "the cells before it used up the time of the notebook"

_Parsed = TypeVar("_Parsed")
_Noticed = TypeVar("_Noticed", bound=str | Notice)


class Workers(Protocol):
    """The interface of a zygote that an observer needs."""

    def worker(self) -> AbstractContextManager[WorkerProcess]:
        """A worker in which no cell has run; it ends with its block."""


class FaultError(Exception):
    """A worker did not answer as agreed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


class AnotherWorkerError(Exception):
    """A worker has ended, and another is worth a try."""


class NothingToObserveError(Exception):
    """The cells cannot be run so that there is anything to observe."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.reason = not_observed(failure)


class NotebookRun:
    """The state of a notebook's observation, and the time that it has left.

    Attributes:
        names: the status of each function, once the cells have run.
        defined_in: the cell that each function is from.
        answer_above: for each function that is starter code, the cell of an answer above it, or None.
        not_callable: for each name whose value is not callable, the class of that.
        deadline, cells_end: when its time and the time of its cells end, on the monotonic clock.
    """

    def __init__(
        self, workers: Workers, cells: Sequence[Cell], plan: ObservationPlan, limits: TimeLimits
    ) -> None:
        self._workers, self._plan, self._limits = workers, plan, limits
        self._cells = list(cells)  # that are not left out
        begun = time.monotonic()
        self.deadline = begun + limits.notebook
        self.cells_end = begun + limits.notebook * _CELLS_SHARE
        self.names: dict[str, Status] = {}
        self.defined_in: dict[str, int | None] = {}
        self.answer_above: dict[str, int | None] = {}
        self.not_callable: dict[str, str] = {}
        self._patched: list[str] = []  # changes of torch by the notebook
        self._notices: list[Notice] = []
        self._size = 0  # bytes of the answers
        self._starved = False  # whether others may have had the processors or the memory it lacked
        self._killed = 0  # workers that were killed, by the system or by themselves
        self._killed_before = killed_for_memory()
        self._failed: dict[int, CellFailure] = {}  # by the number of the cell
        self._slow: set[int] = set()  # cells whose time ran out
        self._killers = 0  # cells that ended their worker

    @contextmanager
    def loaded(self) -> Iterator[WorkerProcess]:
        """A worker in which the cells have run; it ends with the block.

        Raises:
            NothingToObserveError: no worker is available.
        """
        is_loaded = False
        while not is_loaded:
            with self._workers.worker() as worker:
                try:
                    is_loaded = self._loads(worker)
                    if is_loaded:
                        yield worker
                finally:
                    self._size += worker.wire.received
                    noticed, closed = worker.notices()
                    self._notices = united(self._notices, parse_notices(noticed, closed=closed))

    def ask(
        self,
        worker: WorkerProcess,
        operation: str,
        arguments: Any,
        seconds: float,
        parse: Callable[[str], _Parsed],
    ) -> _Parsed:
        """Ask a worker; the first worker that is killed instead of answering costs nothing.

        A system without memory kills any process, and the next worker may live. If that is killed for memory
        too, other notebooks may still be the cause; a worker that kills itself is to blame.

        Raises:
            FaultError: it did not answer as agreed.
            AnotherWorkerError: it is the first that was killed.
        """
        try:
            return parse(worker.wire.ask(operation, arguments, seconds))
        except MalformedError:
            failure = Failure.MALFORMED
        except WireError as error:
            failure = Failure(error.kind)
        if failure in (Failure.FORGED, Failure.MALFORMED):  # which an honest worker never sends
            self._notices = united(self._notices, [NO_ANSWER])
        if failure is Failure.CLOSED and worker.was_killed():
            failure = Failure.KILLED
            self._killed += 1
            if self._killed == 1:
                raise AnotherWorkerError
            self._starved |= killed_for_memory() > self._killed_before
        raise FaultError(failure)

    def note_lack_of_time(self, worker: WorkerProcess, begun: CpuTimes) -> None:
        """Note whether others had the processors while time ran out."""
        self._starved |= begun.was_starved_until(worker.cpu_times())

    def note_patched(self, patched: Iterable[str]) -> None:
        """Record the notebook's changes of torch."""
        self._patched = united(self._patched, patched)

    def seconds_left(self, end: float = float("inf")) -> float:
        """The time until `end` or the notebook's deadline, always more than zero."""
        return max(0.01, min(end, self.deadline) - time.monotonic())

    def evidence(self, answers: dict[str, Answer], fault: str | None = None) -> Evidence:
        """The evidence so far."""
        cells = [self._failed[number] for number in sorted(self._failed)]
        found = self.names, answers, cells, self._patched, self._notices, fault
        about_names = self.defined_in, self.answer_above, self.not_callable
        return Evidence(*found, self._starved, self._size, *about_names)

    def _loads(self, worker: WorkerProcess) -> bool:
        """Run the cells, and survey the defined names; False if another worker must do so."""
        try:
            self.ask(
                worker, "assignment", self._assignment(), self._limits.cell, partial(parse_exactly, None)
            )
            self._run_cells(worker)
            self._survey(worker)
        except AnotherWorkerError:
            return False
        except FaultError:
            raise NothingToObserveError(Failure.NOTHING_SEEN) from None
        return True

    def _assignment(self) -> dict[str, Any]:
        """The arguments of the request ``assignment``."""
        plan, checked = self._plan, [(cell.number, questions_checked(cell.source)) for cell in self._cells]
        checks = {
            function: [number for number, questions in checked if plan.questions.get(function) in questions]
            for function in plan.starter_code
        }
        return {"demonstrations": plan.demonstrations, "starter_code": plan.starter_code, "checks": checks}

    def _run_cells(self, worker: WorkerProcess) -> None:
        """Run the cells until their time is over; the names that are defined by then count."""
        for position, cell in enumerate(self._cells):
            if time.monotonic() < self.cells_end:
                self._run_cell(worker, cell)
                continue
            if self.names:  # they ran before, and half of them are of no use
                raise NothingToObserveError(Failure.NOTEBOOK_OVER)
            for unreached in self._cells[position:]:
                failed = CellFailure(unreached.number, None, _UNREACHED)
                self._failed.setdefault(unreached.number, failed)
            return

    def _run_cell(self, worker: WorkerProcess, cell: Cell) -> None:
        longest = _AGAIN_SECONDS if cell.number in self._slow else self._limits.cell
        seconds = min(longest, self._limits.cell, self.seconds_left())
        request = {"number": cell.number, "source": cell.source, "seconds": seconds}
        begun = worker.cpu_times()
        try:
            ended = self.ask(worker, "cell", request, seconds + _GRACE_SECONDS, parse_cell)
        except FaultError as fault:
            if fault.failure is Failure.TIMEOUT:
                self.note_lack_of_time(worker, begun)
            self._leave_out(cell, fault.failure)
            raise AnotherWorkerError from None
        if ended.raised is not None:
            self._failed[cell.number] = CellFailure(cell.number, ended.raised, None, ended.skipped)
            if "CellTimeout" in ended.raised.types:
                self.note_lack_of_time(worker, begun)
                self._slow.add(cell.number)  # remembered, not paid again

    def _leave_out(self, cell: Cell, failure: Failure) -> None:
        """Leave out a cell that ended its worker, and with the third such cell all that follow."""
        if time.monotonic() >= self.deadline or self._killers > _MAX_SKIPPED:
            raise NothingToObserveError(Failure.NOTHING_SEEN)
        fault = REASONS[failure].format(seconds=self._limits.cell)
        self._failed[cell.number] = CellFailure(cell.number, None, fault)
        self._killers += 1
        position = self._cells.index(cell)
        following = self._cells[position + 1 :] if self._killers <= _MAX_SKIPPED else []
        self._cells = self._cells[:position] + following

    def _survey(self, worker: WorkerProcess) -> None:
        parse = partial(parse_survey, functions=set(self._plan.starter_code))
        survey = self.ask(worker, "survey", {}, self._limits.cell, parse)
        self.note_patched(survey.patched)
        if not self.names:
            self.names, self.defined_in = survey.names, survey.cells
            self.answer_above, self.not_callable = survey.above, survey.not_callable
        if self._killers and set(survey.names.values()) == {"missing"}:
            raise NothingToObserveError(Failure.NOTHING_DEFINED)


def united(before: Iterable[_Noticed], more: Iterable[_Noticed]) -> list[_Noticed]:
    """The notices of several workers, sorted, without repetition; at most `_MAX_UNITED` of each kind."""
    everything = sorted({*before, *more}, key=str)
    kinds = groupby(everything, lambda noticed: noticed[0] if isinstance(noticed, tuple) else "")
    return [noticed for _, alike in kinds for noticed in islice(alike, _MAX_UNITED)]
