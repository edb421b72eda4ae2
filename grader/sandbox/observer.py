"""Observes a notebook: runs its cells and its assignment's probes in confined workers.

A single worker serves all questions. Where a probe dies, hangs, or leaves behind what cannot be put back, all
is observed again with a worker per question, so only notebooks with faults pay for isolation. Where time does
not allow it, what the shared worker answered before the fault counts. Pictures come last, when they can spoil
nothing.

A notebook is not blamed for the machine. Where its time ran out while others had the processors for more than
a quarter of it, or the system killed its worker for memory, its evidence is ``starved``: the notebook is
observed again alone. The first worker that is killed is replaced without a notice.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from marshal import dumps
from typing import Any, NamedTuple

from grader.notebooks.reader import Cell
from grader.sandbox.cells import NotebookRun, Trouble, Workers
from grader.sandbox.decoding import MalformedError, parse_answer
from grader.sandbox.evidence import Evidence, Failure, NoFacts, no_facts
from grader.sandbox.plan import PlannedProbe, ProbePlan, TimeLimits
from grader.sandbox.wire import WireError
from grader.sandbox.worker_process import WorkerProcess

_PATIENCE_SECONDS = 2.0  # what takes longer in the shared worker gets its own worker, and its full time

#: By probe, in the form that `Evidence` stores.
Answers = dict[str, dict[str, Any]]


def observe(workers: Workers, cells: Sequence[Cell], plan: ProbePlan, limits: TimeLimits) -> Evidence:
    """Evidence, whatever the notebook does; GraderError where there is no worker."""
    notebook = NotebookRun(workers, cells, plan, limits)
    probes = ProbeRun(notebook, plan, limits)
    with ExitStack() as stack:
        worker = notebook.load(stack)
        shared = worker if isinstance(worker, NoFacts) else probes.ask_in_one_worker(worker)
    if isinstance(shared, NoFacts):
        return notebook.evidence({}, fault=shared.reason)
    answers = probes.ask_in_own_workers() if shared is None else shared | probes.ask_those_alone()
    return notebook.evidence(answers)


class _Question(NamedTuple):
    probes: list[PlannedProbe]
    alone: list[PlannedProbe]
    pictures: list[PlannedProbe]


class _Reply(NamedTuple):
    """A worker's answer to a probe, and what it says of the worker itself."""

    answer: dict[str, Any]
    patched: list[str]
    changed: list[str]


class ProbeRun:
    """The probes of one notebook whose cells have run."""

    def __init__(self, notebook: NotebookRun, plan: ProbePlan, limits: TimeLimits) -> None:
        self._notebook, self._plan, self._limits = notebook, plan, limits
        self._trusted: Answers = {}  # of the shared worker, those that cannot have been forged

    def ask_in_one_worker(self, worker: WorkerProcess) -> Answers | None:
        """All probes but those that need a worker alone; None where a fault could reach other questions."""
        answers: Answers = {}
        for question in self._questions():
            before = dict(answers)  # the next answer shows that none of these was forged
            for probe in question.probes:
                answer = self._ask_in_shared_worker(worker, probe, before)
                if answer is None:
                    return None
                answers[probe.name] = answer
        if not self._ended_well(worker):
            self._trusted = {}
            return None
        pictures = [picture for question in self._questions() for picture in question.pictures]
        return answers | self._pictures(worker, pictures)

    def ask_in_own_workers(self) -> Answers:
        """A worker for every question, and a new worker after every fault.

        Questions that the shared worker did not answer come first; for the others its answers count when the
        time is over.
        """
        answers: Answers = {}
        for question in sorted(self._questions(), key=self._is_trusted):
            answers |= self._ask_isolated(question.probes, question.pictures)
            if time.monotonic() >= self._notebook.cells_end and self._is_trusted(question):
                answers |= {p.name: self._trusted[p.name] for p in question.probes}
            answers |= self._ask_alone(question)
        return answers

    def ask_those_alone(self) -> Answers:
        """The probes that need a worker alone."""
        answers: Answers = {}
        for question in self._questions():
            answers |= self._ask_alone(question)
        return answers

    def _questions(self) -> list[_Question]:
        """Of answered functions; an untouched or missing function earns nothing, whatever it does."""
        questions = []
        for function, probes in self._plan.probes.items():
            if self._notebook.names.get(function) == "answered":
                ordinary = [probe for probe in probes if not (probe.alone or probe.picture)]
                alone = [probe for probe in probes if probe.alone and not probe.picture]
                questions.append(_Question(ordinary, alone, [probe for probe in probes if probe.picture]))
        return questions

    def _is_trusted(self, question: _Question) -> bool:
        """Whether the shared worker answered a question before anything was wrong with it."""
        return all(probe.name in self._trusted for probe in question.probes)

    def _ask_in_shared_worker(
        self, worker: WorkerProcess, probe: PlannedProbe, before: Answers
    ) -> dict[str, Any] | None:
        """The answer of a probe; None where a worker for each question is needed."""
        reply = self._notebook.ask(worker, "probe", _request(probe), self._patience(probe), _reply)
        if isinstance(reply, Trouble):
            if reply.failure is Failure.FORGED:
                self._trusted = {}  # then the answers before this one may be forged too
            return None
        self._trusted = before
        self._notebook.note_patched(reply.patched)
        return None if reply.patched or reply.changed else reply.answer

    def _ask_alone(self, question: _Question) -> Answers:
        answers: Answers = {}
        for probe in question.alone:
            answers |= self._ask_isolated([probe])
        return answers

    def _ask_isolated(self, probes: Sequence[PlannedProbe], pictures: Sequence[PlannedProbe] = ()) -> Answers:
        """A question's probes in its own worker; a fault costs its probe and a new worker.

        The last of these workers is asked for the pictures.
        """
        answered: Answers = {}
        waiting = list(probes)
        question_end = time.monotonic() + self._limits.question
        while waiting:
            begun = time.monotonic()
            if begun >= min(question_end, self._notebook.deadline):
                return answered | _all(waiting, no_facts(Failure.TOO_LATE))
            with ExitStack() as stack:
                worker = self._notebook.load(stack)
                if isinstance(worker, NoFacts):  # the answers before it count
                    return answered | _all(waiting, worker)
                question_end += time.monotonic() - begun  # the cells' time is not the question's
                answers = self._ask_until_fault(worker, waiting, pictures, question_end)
            if answers is None:
                return _all(probes, no_facts(Failure.FORGED))
            answered |= answers
            waiting = [probe for probe in waiting if probe.name not in answered]
        return answered

    def _ask_until_fault(
        self,
        worker: WorkerProcess,
        waiting: Sequence[PlannedProbe],
        pictures: Sequence[PlannedProbe],
        question_end: float,
    ) -> Answers | None:
        """The answers up to and with the first fault; None where any may be forged."""
        answers: Answers = {}
        for probe in waiting:
            answer = self._ask(worker, probe, question_end)
            if isinstance(answer, Trouble):
                return answers if answer.is_worth_a_retry else None
            answers[probe.name] = answer
            if "fault" in answer:
                return answers
        if not self._ended_well(worker):  # more answers than questions
            return None
        return answers | self._pictures(worker, pictures)

    def _ask(
        self, worker: WorkerProcess, probe: PlannedProbe, question_end: float
    ) -> dict[str, Any] | Trouble:
        """A probe's answer or fault; trouble where answers are forged, or another worker may do."""
        seconds = min(probe.seconds, self._notebook.seconds_left(question_end))
        begun = worker.cpu_times()
        reply = self._notebook.ask(worker, "probe", _request(probe), seconds, _reply)
        if isinstance(reply, Trouble):
            if reply.is_worth_a_retry or reply.failure is Failure.FORGED:
                return reply
            failure = reply.failure
            if failure is Failure.TIMEOUT:
                self._notebook.note_lack_of_time(worker, begun)
                failure = Failure.LATE if seconds < probe.seconds else failure
            return no_facts(failure, seconds=seconds, question=self._limits.question).to_json()
        self._notebook.note_patched(reply.patched)
        if reply.patched:
            changed = ", ".join(list(dict.fromkeys(reply.patched))[:3])
            return no_facts(Failure.PATCHED, changed=changed).to_json()
        return reply.answer

    def _pictures(self, worker: WorkerProcess, pictures: Sequence[PlannedProbe]) -> Answers:
        """The pictures, by one request to a worker that has answered all probes: a fault costs only them."""
        answers: Answers = {}
        if not pictures:
            return answers
        try:
            raw = worker.wire.ask("pictures", [*map(_request, pictures)], self._patience(*pictures))
            for picture, raw_answer in zip(pictures, raw if type(raw) is list else (), strict=False):
                reply = _reply(raw_answer)
                self._notebook.note_patched(reply.patched)
                if reply.patched:
                    break
                answers[picture.name] = reply.answer
                if reply.changed:
                    break
        except WireError as error:
            self._notebook.note_no_answer(Failure(error.kind))
        except MalformedError:
            self._notebook.note_no_answer(Failure.MALFORMED)
        return answers

    def _patience(self, *probes: PlannedProbe) -> float:
        longest = max(probe.seconds for probe in probes)
        return min(_PATIENCE_SECONDS, longest, self._limits.question, self._notebook.seconds_left())

    def _ended_well(self, worker: WorkerProcess) -> bool:
        """Whether the worker sent no more answers than it was asked for."""
        try:
            return bool(worker.wire.ask("end", None, self._limits.cell) == "end")
        except WireError as error:
            self._notebook.note_no_answer(Failure(error.kind))
            return False


def _all(probes: Iterable[PlannedProbe], reason: NoFacts) -> Answers:
    return {probe.name: reason.to_json() for probe in probes}


def _reply(raw: Any) -> _Reply:
    return _Reply(parse_answer(raw), raw["patched"], raw["changed"])


def _request(probe: PlannedProbe) -> dict[str, Any]:
    code = _compiled(probe.source)
    return {"name": probe.name, "code": code, "seed": probe.seed, "oracle": probe.oracle}


@cache
def _compiled(source: str) -> str:
    """A probe and its helpers as code, compiled once for a whole class; this side never loads such code."""
    return b64encode(dumps(compile(source, "<probe>", "exec", dont_inherit=True))).decode()
