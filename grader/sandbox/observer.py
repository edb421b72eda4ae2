"""Outside: observes one notebook, by running its cells and its assignment's probes in confined workers.

One worker serves all questions. Where a probe dies, hangs, or leaves behind what cannot be put back, all is
observed again with a worker per question: isolation is what a fault costs, not what everybody pays. Where
time does not allow it, what the shared worker answered before the fault counts.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from marshal import dumps
from typing import Any, Protocol

from grader.notebooks.reader import Cell
from grader.sandbox.evidence import (
    Evidence,
    Notice,
    parse_answer,
    parse_cell_error,
    parse_notices,
    parse_survey,
    united,
)
from grader.sandbox.facts import MalformedError
from grader.sandbox.plan import PlannedProbe, ProbePlan, TimeLimits
from grader.sandbox.reason import ENDED, TOO_LATE, TOO_LATE_FOR_NOTEBOOK, UNREACHED
from grader.sandbox.wire import WireError
from grader.sandbox.worker_process import CpuTimes, WorkerProcess, killed_for_memory

_GRACE_SECONDS = 2.0  # between the limit inside and the kill from outside
_PATIENCE_SECONDS = 2.0  # what takes longer in the shared worker gets one of its own, and its full time
_HASTE_SECONDS = 1.0  # for all cells by one request; what takes longer is asked for cell by cell
_AGAIN_SECONDS = 1.0  # for a cell whose time ran out before: enough for what it defines at its beginning
_CELLS_SHARE = 0.75  # of a notebook's time; the rest is for its questions
_MAX_DROPPED = 2  # cells that may kill their worker before the rest of the notebook is given up


class Workers(Protocol):
    """What a zygote is to an observer."""

    def worker(self) -> AbstractContextManager[WorkerProcess]:
        """A worker in which no cell has run; it may be used until its block ends."""


def observe(zygote: Workers, cells: Sequence[Cell], questionnaire: ProbePlan, limits: TimeLimits) -> Evidence:
    """Run a notebook and its probes; whatever the notebook does, there is evidence.

    Raises:
        GraderError: no worker could be had.
    """
    observer = _Observer(zygote, cells, questionnaire, limits)
    try:
        try:
            return observer.shared()
        except _NeedsIsolationError:
            return observer.isolated()
    except _NothingObservedError as error:
        return observer.evidence({}, fault=str(error))


class _NeedsIsolationError(Exception):
    """Something went wrong that a worker per question keeps away from the other questions."""


class _NothingObservedError(Exception):
    """The cells left nothing to observe; the text says why."""


class _Observer:
    """The state of observing one notebook: the time left and what is known about its cells."""

    def __init__(self, zygote: Workers, cells: Sequence[Cell], asked: ProbePlan, limits: TimeLimits) -> None:
        self._zygote, self._cells, self._asked, self._limits = zygote, cells, asked, limits
        self._begun = time.monotonic()
        self._deadline = self._begun + limits.notebook
        self._cells_end = self._begun + limits.notebook * _CELLS_SHARE
        self._starved = False  # whether others may have had the processors or the memory it lacked
        self._killed = 0  # workers that were killed, by the system or by themselves
        self._killed_before = killed_for_memory()
        self._size = 0  # bytes of the answers
        self._failed: dict[int, dict[str, Any]] = {}  # cells that raised or killed, by number
        self._skipped: set[int] = set()  # cells not run again, because they killed a worker
        self._slow: set[int] = set()  # cells whose time ran out
        self._killers = 0
        self._hurries = True  # until a cell was slow or did harm
        self._place = 0  # of the cell that is run, among all
        self._names: dict[str, str] = {}  # the status of each function
        self._patched: list[str] = []
        self._traces: list[Notice] = []
        self._shared: dict[
            str, dict[str, Any]
        ] = {}  # answers of the shared worker that nobody can have forged

    def shared(self) -> Evidence:
        """All questions in one worker; probes that asked for one of their own get it."""
        found: dict[str, dict[str, Any]] = {}
        with self._loaded() as worker:
            for probes in self._worth_asking():
                found.update(self._ask_all(worker, [p for p in probes if not p.alone], found))
            if not self._ended_well(worker):
                self._shared = {}
                raise _NeedsIsolationError
            found.update(self._pictures(worker, [p for probes in self._worth_seeing() for p in probes]))
        for probes in self._worth_asking():
            found.update(self._ask_alone(probes))
        return self.evidence(found)

    def isolated(self) -> Evidence:
        """A worker for every question, and a new one after every fault.

        Questions that the shared worker did not answer come first; for the others there is something to
        fall back upon when the time is over.
        """
        found: dict[str, dict[str, Any]] = {}
        questions = zip(self._worth_asking(), self._worth_seeing(), strict=True)
        for probes, pictures in sorted(questions, key=lambda question: self._has_shared(question[0])):
            answers = self._in_own_worker([p for p in probes if not p.alone], pictures)
            if time.monotonic() >= self._cells_end and self._has_shared(probes):
                answers |= {p.name: self._shared[p.name] for p in probes if p.name in self._shared}
            found.update(answers)
            found.update(self._ask_alone(probes))
        return self.evidence(found)

    def _has_shared(self, probes: Sequence[PlannedProbe]) -> bool:
        """Whether the shared worker answered a question, before anything was wrong with it."""
        return all(probe.name in self._shared for probe in probes if not probe.alone)

    def evidence(self, probes: dict[str, dict[str, Any]], fault: str | None = None) -> Evidence:
        """What is known, as evidence."""
        cells = [self._failed[number] for number in sorted(self._failed)]
        return Evidence(
            self._names,
            probes,
            cells,
            self._patched,
            self._traces,
            fault,
            starved=self._starved,
            size=self._size,
        )

    def _worth_asking(self) -> list[list[PlannedProbe]]:
        """The probes of answered functions; an untouched or missing one earns nothing whatever it does."""
        return [[p for p in probes if not p.picture] for probes in self._of_answered()]

    def _worth_seeing(self) -> list[list[PlannedProbe]]:
        """The pictures of the same functions, in the same order."""
        return [[p for p in probes if p.picture] for probes in self._of_answered()]

    def _of_answered(self) -> list[tuple[PlannedProbe, ...]]:
        return [probes for f, probes in self._asked.probes.items() if self._names.get(f) == "answered"]

    def _ask_alone(self, probes: Sequence[PlannedProbe]) -> dict[str, dict[str, Any]]:
        """The probes that asked for a worker of their own."""
        found: dict[str, dict[str, Any]] = {}
        for probe in probes:
            if probe.alone:
                found.update(self._in_own_worker([probe]))
        return found

    def _in_own_worker(
        self, probes: list[PlannedProbe], pictures: Sequence[PlannedProbe] = ()
    ) -> dict[str, dict[str, Any]]:
        """One question's probes; each fault costs its probe and a new worker for the others.

        Its pictures are asked where the last of its probes was.
        """
        found: dict[str, dict[str, Any]] = {}
        question_end = time.monotonic() + self._limits.question
        waiting = list(probes)
        while waiting:
            begun = time.monotonic()
            if begun >= min(question_end, self._deadline):
                return found | {probe.name: {"fault": TOO_LATE} for probe in waiting}
            try:
                with self._loaded() as worker:
                    question_end += time.monotonic() - begun  # the cells' time is not the question's
                    while waiting:
                        answer = self._ask(worker, waiting[0], question_end)
                        found[waiting.pop(0).name] = answer
                    if not self._ended_well(worker):  # more answers than questions: none is believed
                        return {probe.name: {"fault": ENDED["forged"]} for probe in probes}
                    found.update(self._pictures(worker, pictures))
            except _KilledError:
                continue  # the same probe again
            except _ProbeFaultError as fault:
                found[fault.probe] = {"fault": str(fault)}
                waiting = [probe for probe in waiting if probe.name != fault.probe]
            except _NeedsIsolationError:
                return {probe.name: {"fault": ENDED["forged"]} for probe in probes}
            except _NothingObservedError as error:  # what was found before counts
                return found | {probe.name: {"fault": str(error)} for probe in waiting}
        return found

    def _ask_all(
        self, worker: WorkerProcess, probes: list[PlannedProbe], before: dict[str, dict[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        """One question's probes in the worker it shares with the others.

        Args:
            worker: the worker.
            probes: of the question.
            before: the answers to the questions before it; the next answer shows that there was one to each.

        Raises:
            _NeedsIsolationError: something went wrong, or was left behind that could reach others.
        """
        found: dict[str, dict[str, Any]] = {}
        for probe in probes:
            try:
                raw = self._put(worker, "probe", _request(probe), self._patience(probe))
                found[probe.name] = parse_answer(raw)
            except (_KilledError, MalformedError, WireError) as error:
                if isinstance(error, WireError) and error.kind == "forged":
                    self._shared = {}  # then the answers before this one may be forged too
                raise _NeedsIsolationError from None
            self._shared = dict(before)
            self._patched = united(self._patched, raw["patched"])
            if raw["patched"] or raw["changed"]:
                raise _NeedsIsolationError
        return found

    def _pictures(self, worker: WorkerProcess, pictures: Sequence[PlannedProbe]) -> dict[str, dict[str, Any]]:
        """What a worker shows once it has answered everything, by one request.

        By then nothing it does can reach a probe. So a fault is nobody's, and costs only the pictures.
        """
        found: dict[str, dict[str, Any]] = {}
        if not pictures:
            return found
        try:
            raw = worker.wire.ask("pictures", [*map(_request, pictures)], self._patience(*pictures))
            for picture, one in zip(pictures, raw if type(raw) is list else (), strict=False):
                answer = parse_answer(one)
                self._patched = united(self._patched, one["patched"])
                if one["patched"]:
                    break
                found[picture.name] = answer
                if one["changed"]:
                    break
        except (WireError, MalformedError):
            return found
        return found

    def _patience(self, *probes: PlannedProbe) -> float:
        longest = max(probe.seconds for probe in probes)
        return min(_PATIENCE_SECONDS, longest, self._limits.question, self._seconds_left())

    def _ask(self, worker: WorkerProcess, probe: PlannedProbe, question_end: float) -> dict[str, Any]:
        """One probe's answer, in a worker of its question's own."""
        seconds = min(probe.seconds, self._seconds_left(question_end))
        begun = worker.cpu_times()
        try:
            raw = self._put(worker, "probe", _request(probe), seconds)
            answer = parse_answer(raw)
        except WireError as error:
            if error.kind == "forged":  # then the answers before this one may be forged too
                raise _NeedsIsolationError from None
            if error.kind == "timeout":
                self._blame(worker, begun)
            kind = "late" if error.kind == "timeout" and seconds < probe.seconds else error.kind
            reason = ENDED[kind].format(seconds=seconds, question=self._limits.question)
            raise _ProbeFaultError(probe.name, reason) from None
        except MalformedError:
            raise _ProbeFaultError(probe.name, ENDED["malformed"]) from None
        self._patched = united(self._patched, raw["patched"])
        if raw["patched"]:
            changed = ", ".join(list(dict.fromkeys(raw["patched"]))[:3])
            raise _ProbeFaultError(
                probe.name, f"your code replaced {changed} while it ran; nothing can be judged by that"
            )
        return answer

    @contextmanager
    def _loaded(self) -> Iterator[WorkerProcess]:
        """A worker in which the cells have run, and the names were looked at.

        A cell that kills its worker is left out and the rest run again, at most twice; then the
        cells before the third are all there is.
        """
        with ExitStack() as stack:
            while True:
                worker = stack.enter_context(self._zygote.worker())
                stack.callback(self._take_stock, worker)  # before its end, which comes last
                self._place, begun = 0, time.monotonic()
                try:
                    if self._asked.handed_out:
                        self._put(worker, "begin", {"handed_out": self._asked.handed_out}, self._limits.cell)
                    run = self._run_together if self._hurries else self._run_one_by_one
                    run(worker)
                    names = self._survey(worker)
                except _KilledError:
                    stack.close()
                    continue
                except (WireError, MalformedError) as error:
                    stack.close()
                    if self._hurries:
                        self._take_time(begun)
                        continue
                    kind = error.kind if isinstance(error, WireError) else "malformed"
                    self._drop(self._place, kind)
                    continue
                self._names = self._names or names
                if self._killers and set(names.values()) == {"missing"}:
                    raise _NothingObservedError(
                        "the notebook ended or blocked its process before it defined anything"
                    )
                yield worker
                return

    def _take_stock(self, worker: WorkerProcess) -> None:
        self._size += worker.wire.received
        noticed, closed = worker.notices()
        self._traces = united(self._traces, parse_notices(noticed, closed=closed))

    def _give_up_cells(self, place: int) -> None:
        """The cells before this one took all the time that cells may take; what is defined by now counts.

        When they ran before and are run again, there is no use in half of them.
        """
        if self._names:
            raise _NothingObservedError(TOO_LATE_FOR_NOTEBOOK)
        for cell in self._cells[place:]:
            self._failed.setdefault(cell.number, {"cell": cell.number, "raised": None, "fault": UNREACHED})

    def _to_run(self) -> list[int]:
        return [place for place, cell in enumerate(self._cells) if cell.number not in self._skipped]

    def _run_together(self, worker: WorkerProcess) -> None:
        """Run all cells by one request, as most notebooks allow: forty would cost more than the cells do.

        Raises:
            WireError: something went wrong, so that they have to be run again, one by one.
        """
        seconds = min(_HASTE_SECONDS, self._seconds_left())
        asked = [{"number": c.number, "source": c.source, "seconds": self._limits.cell} for c in self._cells]
        answers = worker.wire.ask("cells", asked, seconds)
        if type(answers) is not list or len(answers) != len(asked):
            raise WireError("malformed")
        errors = [parse_cell_error(answer) for answer in answers]
        if any(error is not None and "CellTimeout" in error["types"] for error in errors):
            raise WireError("timeout")
        for cell, error in zip(self._cells, errors, strict=True):
            if error is not None:
                self._failed[cell.number] = {"cell": cell.number, "raised": error, "fault": None}

    def _take_time(self, begun: float) -> None:
        """From now on run cells one by one; the haste was ours, so it costs the notebook nothing."""
        self._hurries = False
        lost = time.monotonic() - begun
        self._deadline += lost
        self._cells_end += lost

    def _run_one_by_one(self, worker: WorkerProcess) -> None:
        for place in self._to_run():
            self._place = place
            if time.monotonic() >= self._cells_end:
                self._give_up_cells(place)
                break
            self._run_cell(worker, self._cells[place])
        self._place = len(self._cells)

    def _run_cell(self, worker: WorkerProcess, cell: Cell) -> None:
        longest = _AGAIN_SECONDS if cell.number in self._slow else self._limits.cell
        seconds = min(longest, self._limits.cell, self._seconds_left())
        request = {"number": cell.number, "source": cell.source, "seconds": seconds}
        begun = worker.cpu_times()
        try:
            raised = parse_cell_error(self._put(worker, "cell", request, seconds + _GRACE_SECONDS))
        except WireError as error:
            if error.kind == "timeout":
                self._blame(worker, begun)
            raise
        if raised is not None:
            self._failed[cell.number] = {"cell": cell.number, "raised": raised, "fault": None}
            if "CellTimeout" in raised["types"]:
                self._blame(worker, begun)
                self._slow.add(cell.number)  # remembered, not paid again

    def _survey(self, worker: WorkerProcess) -> dict[str, str]:
        answer = self._put(worker, "survey", {"stubs": self._asked.stubs}, self._limits.cell)
        names, patched = parse_survey(answer, set(self._asked.stubs))
        self._patched = united(self._patched, patched)
        return names

    def _put(self, worker: WorkerProcess, operation: str, arguments: Any, seconds: float) -> Any:
        """Ask a worker; one that is killed instead of answering is not blamed the first time.

        Raises:
            WireError: as the wire says, and ``killed`` for the second worker that was.
            _KilledError: it was the first. The system takes what it can get when its memory is used up, and
                the next one may live; when that dies too, other notebooks may still be why, if it was for
                memory: who kills itself has no claim to a look alone.
        """
        try:
            return worker.wire.ask(operation, arguments, seconds)
        except WireError as error:
            if error.kind != "closed" or not worker.was_killed():
                raise
        self._killed += 1
        if self._killed == 1:
            raise _KilledError
        self._starved |= killed_for_memory() > self._killed_before
        raise WireError("killed")

    def _drop(self, place: int, kind: str) -> None:
        """Leave out the cell that killed its worker; the third takes everything after it along."""
        if place >= len(self._cells) or time.monotonic() >= self._deadline or self._killers > _MAX_DROPPED:
            raise _NothingObservedError(
                "the notebook ended or blocked its process before its functions could be looked at"
            )
        number = self._cells[place].number
        fault = ENDED[kind].format(seconds=self._limits.cell)
        self._failed[number] = {"cell": number, "raised": None, "fault": fault}
        self._killers += 1
        last = self._killers > _MAX_DROPPED
        self._skipped.update(cell.number for cell in self._cells[place : None if last else place + 1])

    def _blame(self, worker: WorkerProcess, begun: CpuTimes) -> None:
        """Time ran out since then: through the notebook's fault, or because others had the processors?"""
        self._starved |= begun.was_starved_until(worker.cpu_times())

    def _ended_well(self, worker: WorkerProcess) -> bool:
        """Whether the worker answered exactly what it was asked."""
        try:
            return bool(worker.wire.ask("end", None, self._limits.cell) == "end")
        except WireError:
            return False

    def _seconds_left(self, end: float = float("inf")) -> float:
        return max(0.01, min(end, self._deadline) - time.monotonic())


class _KilledError(Exception):
    """A worker was killed, and another is worth a try."""


def _request(probe: PlannedProbe) -> dict[str, Any]:
    return {
        "name": probe.name,
        "code": _compiled(probe.source),
        "seed": probe.seed,
        "oracle": probe.oracle,
    }


@cache
def _compiled(source: str) -> str:
    """A probe and its helpers as code, once for a whole class; a worker gets it when it is asked."""
    return b64encode(dumps(compile(source, "<probe>", "exec", dont_inherit=True))).decode()


class _ProbeFaultError(Exception):
    """A probe gave no facts that may be used; the text tells the student why."""

    def __init__(self, probe: str, reason: str) -> None:
        super().__init__(reason)
        self.probe = probe
