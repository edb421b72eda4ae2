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
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from grader.notebooks.reader import Cell
from grader.sandbox.cells import (
    AnotherWorkerError,
    FaultError,
    NotebookRun,
    NothingToObserveError,
    Workers,
)
from grader.sandbox.decoding import parse_exactly
from grader.sandbox.evidence import Answer, Evidence, Failure, NoFacts, no_facts
from grader.sandbox.plan import PlannedProbe, ProbePlan, TimeLimits
from grader.sandbox.probe_code import probe_code
from grader.sandbox.zygote import WorkerProcess

_SEEDS_OF_MOVEMENT = (1, 2)  # a single one could move a number hardly at all, by chance
_PATIENCE_SECONDS = 2.0  # what takes longer in the shared worker gets its own worker, and its full time

Answers = dict[str, Answer]  # by probe


def observe(workers: Workers, cells: Sequence[Cell], plan: ProbePlan, limits: TimeLimits) -> Evidence:
    """Evidence, whatever the notebook does; GraderError where there is no worker."""
    notebook = NotebookRun(workers, cells, plan, limits)
    probes = ProbeRun(notebook, plan, limits)
    try:
        with notebook.loaded() as worker:
            shared = probes.ask_in_one_worker(worker)
    except NothingToObserveError as nothing:
        return notebook.evidence({}, fault=nothing.reason.reason)
    if shared.are_all:
        return notebook.evidence(shared.answers | probes.ask_those_alone())
    return notebook.evidence(probes.ask_in_own_workers(shared.answers))


def observe_moved(observe: Callable[[ProbePlan], Evidence], plan: ProbePlan) -> list[Evidence]:
    """What is seen of the reference's probes where results are moved, by some seeds, side by side.

    Args:
        observe: observes the reference.
        plan: what it was asked.
    """
    plans = [plan.moved(seed) for seed in _SEEDS_OF_MOVEMENT]
    pool = ThreadPoolExecutor(len(plans))
    try:
        return list(pool.map(observe, plans))
    finally:
        pool.shutdown(wait=False)  # who is interrupted does not wait for what nobody needs


def observe_measured(observe: Callable[[ProbePlan], Evidence], plan: ProbePlan) -> Evidence:
    """The reference's evidence, with how far its facts move; arguments as of `observe_moved`."""
    return observe(plan).with_moved(observe_moved(observe, plan))


class SharedAnswers(NamedTuple):
    """Answers of one worker to all questions; after a fault, those that nothing of it can have forged."""

    answers: Answers
    are_all: bool


class _Question(NamedTuple):
    """Probes that share a worker."""

    probes: list[PlannedProbe]
    pictures: Sequence[PlannedProbe] = ()


class ProbeRun:
    """The probes of one notebook whose cells have run."""

    def __init__(self, notebook: NotebookRun, plan: ProbePlan, limits: TimeLimits) -> None:
        self._notebook, self._plan, self._limits = notebook, plan, limits

    def ask_in_one_worker(self, worker: WorkerProcess) -> SharedAnswers:
        """All probes but those that need a worker alone, up to a fault that could reach other questions."""
        answers: Answers = {}
        trusted: Answers = {}
        for question in self._questions():
            before = dict(answers)
            for probe in question.probes:
                try:
                    answer = self._answer(worker, probe, self._patience(probe))
                except AnotherWorkerError:
                    return SharedAnswers(trusted, are_all=False)
                except FaultError as fault:
                    may_be_forged = fault.failure is Failure.FORGED
                    return SharedAnswers({} if may_be_forged else trusted, are_all=False)
                trusted = before  # this answer shows that none of them was forged
                if answer.patched or answer.changed:
                    return SharedAnswers(trusted, are_all=False)
                answers[probe.name] = answer
        if not self._ended_well(worker):
            return SharedAnswers({}, are_all=False)
        pictures = [picture for question in self._questions() for picture in question.pictures]
        return SharedAnswers(answers | self._pictures(worker, pictures), are_all=True)

    def ask_in_own_workers(self, trusted: Answers) -> Answers:
        """A worker for every question and every probe that needs one alone; a new worker after every fault.

        Questions without trusted answers come first; of the others these count when the time is over.
        """

        def is_trusted(question: _Question) -> bool:
            return all(probe.name in trusted for probe in question.probes)

        answers: Answers = {}
        for question in sorted(self._questions() + self._alone(), key=is_trusted):
            answers |= self._ask_isolated(question)
            if is_trusted(question) and time.monotonic() >= self._notebook.cells_end:
                answers |= {probe.name: trusted[probe.name] for probe in question.probes}
        return answers

    def ask_those_alone(self) -> Answers:
        """The probes that need a worker alone."""
        answers: Answers = {}
        for question in self._alone():
            answers |= self._ask_isolated(question)
        return answers

    def _questions(self) -> list[_Question]:
        """The questions, without the probes that need a worker alone."""
        return [
            _Question([p for p in probes if not (p.alone or p.picture)], [p for p in probes if p.picture])
            for probes in self._of_answered()
        ]

    def _alone(self) -> list[_Question]:
        """The probes that need a worker alone, each a question of its own."""
        return [_Question([p]) for probes in self._of_answered() for p in probes if p.alone and not p.picture]

    def _of_answered(self) -> list[tuple[PlannedProbe, ...]]:
        """Of each answered function; an untouched or missing function earns nothing, whatever it does."""
        names = self._notebook.names
        return [probes for name, probes in self._plan.probes.items() if names.get(name) == "answered"]

    def _ask_isolated(self, question: _Question) -> Answers:
        """A question's probes in its own worker; a fault costs its probe and a new worker.

        The last of these workers is asked for the pictures.
        """
        answers: Answers = {}
        waiting = question.probes
        question_end = time.monotonic() + self._limits.question
        while waiting:
            begun = time.monotonic()
            if begun >= min(question_end, self._notebook.deadline):
                return answers | _all(waiting, no_facts(Failure.TOO_LATE))
            try:
                with self._notebook.loaded() as worker:
                    question_end += time.monotonic() - begun  # the cells' time is not the question's
                    answers |= self._ask_until_fault(worker, waiting, question.pictures, question_end)
            except NothingToObserveError as nothing:
                return answers | _all(waiting, nothing.reason)
            if any(answer.failure is Failure.FORGED for answer in answers.values()):
                return _all(question.probes, no_facts(Failure.FORGED))  # any of them may be
            waiting = [probe for probe in waiting if probe.name not in answers]
        return answers

    def _ask_until_fault(
        self,
        worker: WorkerProcess,
        waiting: Sequence[PlannedProbe],
        pictures: Sequence[PlannedProbe],
        question_end: float,
    ) -> Answers:
        """The answers up to and with the first fault."""
        answers: Answers = {}
        for probe in waiting:
            try:
                answers[probe.name] = self._answer_or_fault(worker, probe, question_end)
            except AnotherWorkerError:
                return answers
            if answers[probe.name].failure is not None:
                return answers
        if not self._ended_well(worker):  # more answers than questions
            return _all(waiting, no_facts(Failure.FORGED))
        return answers | self._pictures(worker, pictures)

    def _answer_or_fault(self, worker: WorkerProcess, probe: PlannedProbe, question_end: float) -> Answer:
        seconds = min(probe.seconds, self._notebook.seconds_left(question_end))
        begun = worker.cpu_times()
        try:
            answer = self._answer(worker, probe, seconds)
        except FaultError as fault:
            failure = fault.failure
            if failure is Failure.TIMEOUT:
                self._notebook.note_lack_of_time(worker, begun)
                failure = Failure.LATE if seconds < probe.seconds else failure
            reason = no_facts(failure, seconds=seconds, question=self._limits.question)
            return Answer.without_facts(reason)
        if answer.patched:
            changed = ", ".join(list(dict.fromkeys(answer.patched))[:3])
            return Answer.without_facts(no_facts(Failure.PATCHED, changed=changed))
        return answer

    def _pictures(self, worker: WorkerProcess, pictures: Sequence[PlannedProbe]) -> Answers:
        """The pictures of a worker that has answered all probes, up to a fault, which costs only them."""
        answers: Answers = {}
        for picture in pictures:
            try:
                answer = self._answer(worker, picture, self._patience(picture))
            except (AnotherWorkerError, FaultError):
                return answers
            if answer.patched:
                return answers
            answers[picture.name] = answer
            if answer.changed:
                return answers
        return answers

    def _answer(self, worker: WorkerProcess, probe: PlannedProbe, seconds: float) -> Answer:
        """A worker's answer to a probe; raises as ``NotebookRun.ask``."""
        request = {
            "name": probe.name,
            "code": probe_code(probe.source),
            "seed": probe.seed,
            "moved": probe.moved,
        }
        answer = self._notebook.ask(worker, "probe", request, seconds, Answer.parse)
        self._notebook.note_patched(answer.patched)
        return answer

    def _patience(self, probe: PlannedProbe) -> float:
        patience = probe.seconds if probe.moved else _PATIENCE_SECONDS  # only the reference is moved
        return min(patience, probe.seconds, self._limits.question, self._notebook.seconds_left())

    def _ended_well(self, worker: WorkerProcess) -> bool:
        """Whether the worker sent no more answers than it was asked for."""
        try:
            self._notebook.ask(worker, "end", None, self._limits.cell, partial(parse_exactly, "end"))
        except (AnotherWorkerError, FaultError):
            return False
        return True


def _all(probes: Iterable[PlannedProbe], reason: NoFacts) -> Answers:
    return {probe.name: Answer.without_facts(reason) for probe in probes}
