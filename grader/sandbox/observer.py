"""Observes a notebook: runs its cells, and then its functions in every case of every contract, in workers.

A single worker serves all questions. If a request ends it, takes too long, or leaves changes that cannot be
undone, everything is observed again with a worker for each question, so only notebooks with faults pay for
isolation. If there is no time for that, the answers of the shared worker before the fault count. Pictures
come last, when they can change nothing.

A notebook is not blamed for the machine. If its time ran out while other processes used the processors for
more than a quarter of that time, or if the system killed its worker for lack of memory, its evidence is
``starved``: the notebook is observed again, with nothing beside it. The first worker that is killed is
replaced without a notice.
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
from grader.sandbox.evidence import Answer, Evidence, Failure, NotObserved, not_observed
from grader.sandbox.plan import ObservationPlan, Request, TimeLimits
from grader.sandbox.request_code import request_code
from grader.sandbox.zygote import WorkerProcess

_SEEDS_OF_PERTURBATION = (1, 2)  # a single one might hardly change a number, by chance
_PATIENCE_SECONDS = (
    2.0  # a request that takes longer in the shared worker gets its own worker, and its full time
)

Answers = dict[str, Answer]  # by the name of the request


def observe(workers: Workers, cells: Sequence[Cell], plan: ObservationPlan, limits: TimeLimits) -> Evidence:
    """Return evidence, whatever the notebook does; raises GraderError if no worker can start."""
    notebook = NotebookRun(workers, cells, plan, limits)
    run = RequestRun(notebook, plan, limits)
    try:
        with notebook.loaded() as worker:
            shared = run.ask_in_one_worker(worker)
    except NothingToObserveError as nothing:
        return notebook.evidence({}, fault=nothing.reason.reason)
    if shared.are_all:
        return notebook.evidence(shared.answers)
    return notebook.evidence(run.ask_in_own_workers(shared.answers))


def observe_perturbed(
    observe: Callable[[ObservationPlan], Evidence], plan: ObservationPlan
) -> list[Evidence]:
    """The evidence of the reference while its results are perturbed, with several seeds in parallel.

    Args:
        observe: observes the reference.
        plan: the requests to it.
    """
    plans = [plan.perturbed(seed) for seed in _SEEDS_OF_PERTURBATION]
    pool = ThreadPoolExecutor(len(plans))
    try:
        return list(pool.map(observe, plans))
    finally:
        pool.shutdown(wait=False)  # after an interruption, don't wait for results that nobody needs


def observe_with_sensitivity(
    observe: Callable[[ObservationPlan], Evidence], plan: ObservationPlan
) -> Evidence:
    """The reference's evidence with its sensitivity to rounding; arguments as of `observe_perturbed`."""
    return observe(plan).with_sensitivity(observe_perturbed(observe, plan))


class SharedAnswers(NamedTuple):
    """Answers of one worker to all questions; after a fault, only those that it cannot have forged."""

    answers: Answers
    are_all: bool


class _Question(NamedTuple):
    """Requests that share a worker."""

    contracts: list[Request]
    pictures: list[Request]


class RequestRun:
    """The requests about one notebook whose cells have run."""

    def __init__(self, notebook: NotebookRun, plan: ObservationPlan, limits: TimeLimits) -> None:
        self._notebook, self._plan, self._limits = notebook, plan, limits
        self._answers = {r.name: function for function, asked in plan.requests.items() for r in asked}

    def ask_in_one_worker(self, worker: WorkerProcess) -> SharedAnswers:
        """The answers to all requests, up to a fault that could reach other questions."""
        answers: Answers = {}
        trusted: Answers = {}
        for question in self._questions():
            before = dict(answers)
            for request in question.contracts:
                try:
                    answer = self._answer(worker, request, self._patience(request))
                except AnotherWorkerError:
                    return SharedAnswers(trusted, are_all=False)
                except FaultError as fault:
                    may_be_forged = fault.failure is Failure.FORGED
                    return SharedAnswers({} if may_be_forged else trusted, are_all=False)
                trusted = before  # this answer shows that none of the earlier ones was forged
                if answer.patched or answer.changed:
                    return SharedAnswers(trusted, are_all=False)
                answers[request.name] = answer
        if not self._ended_well(worker):
            return SharedAnswers({}, are_all=False)
        pictures = [picture for question in self._questions() for picture in question.pictures]
        return SharedAnswers(answers | self._pictures(worker, pictures), are_all=True)

    def ask_in_own_workers(self, trusted: Answers) -> Answers:
        """The answers of a worker for every question, and of a new worker after every fault.

        Questions without trusted answers come first; of the others these count when the time is over.
        """

        def is_trusted(question: _Question) -> bool:
            return all(request.name in trusted for request in question.contracts)

        answers: Answers = {}
        for question in sorted(self._questions(), key=is_trusted):
            answers |= self._ask_isolated(question)
            if is_trusted(question) and time.monotonic() >= self._notebook.cells_end:
                answers |= {request.name: trusted[request.name] for request in question.contracts}
        return answers

    def _questions(self) -> list[_Question]:
        """The questions that are answered; starter code or a missing function earns nothing anyway."""
        names = self._notebook.names
        return [
            _Question([r for r in requests if not r.picture], [r for r in requests if r.picture])
            for name, requests in self._plan.requests.items()
            if names.get(name) == "answered"
        ]

    def _ask_isolated(self, question: _Question) -> Answers:
        """The answers about a question from its own worker; a fault costs its request and a new worker.

        The last of these workers also draws the pictures.
        """
        answers: Answers = {}
        waiting = question.contracts
        question_end = time.monotonic() + self._limits.question
        while waiting:
            begun = time.monotonic()
            if begun >= min(question_end, self._notebook.deadline):
                return answers | _all(waiting, not_observed(Failure.QUESTION_OVER))
            try:
                with self._notebook.loaded() as worker:
                    question_end += time.monotonic() - begun  # the cells' time is not the question's
                    answers |= self._ask_until_fault(worker, waiting, question.pictures, question_end)
            except NothingToObserveError as nothing:
                return answers | _all(waiting, nothing.reason)
            if any(answer.failure is Failure.FORGED for answer in answers.values()):
                return _all(question.contracts, not_observed(Failure.FORGED))  # any of them may be
            waiting = [request for request in waiting if request.name not in answers]
        return answers

    def _ask_until_fault(
        self,
        worker: WorkerProcess,
        waiting: Sequence[Request],
        pictures: Sequence[Request],
        question_end: float,
    ) -> Answers:
        """The answers up to and including the first fault."""
        answers: Answers = {}
        for request in waiting:
            try:
                answers[request.name] = self._answer_or_fault(worker, request, question_end)
            except AnotherWorkerError:
                return answers
            if answers[request.name].failure is not None:
                return answers
        if not self._ended_well(worker):  # more answers than questions
            return _all(waiting, not_observed(Failure.FORGED))
        return answers | self._pictures(worker, pictures)

    def _answer_or_fault(self, worker: WorkerProcess, request: Request, question_end: float) -> Answer:
        seconds = min(request.seconds, self._notebook.seconds_left(question_end))
        begun = worker.cpu_times()
        try:
            answer = self._answer(worker, request, seconds)
        except FaultError as fault:
            failure = fault.failure
            if failure is Failure.TIMEOUT:
                self._notebook.note_lack_of_time(worker, begun)
                failure = Failure.LATE if seconds < request.seconds else failure
            reason = not_observed(failure, seconds=seconds, question=self._limits.question)
            return Answer.without_observation(reason)
        if answer.patched:
            changed = ", ".join(list(dict.fromkeys(answer.patched))[:3])
            return Answer.without_observation(not_observed(Failure.PATCHED, changed=changed))
        return answer

    def _pictures(self, worker: WorkerProcess, pictures: Sequence[Request]) -> Answers:
        """The pictures of a worker that has observed all contracts, up to a fault, which costs only them."""
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

    def _answer(self, worker: WorkerProcess, request: Request, seconds: float) -> Answer:
        """A worker's answer to a request; raises as ``NotebookRun.ask``."""
        arguments = {
            "answer": self._answers[request.name],
            "name": request.name,
            "code": request_code(request.source),
            "seed": request.seed,
            "perturbed": request.perturbed,
        }
        answer = self._notebook.ask(worker, "observe", arguments, seconds, Answer.parse)
        self._notebook.note_patched(answer.patched)
        return answer

    def _patience(self, request: Request) -> float:
        patience = (
            request.seconds if request.perturbed else _PATIENCE_SECONDS
        )  # only the reference is perturbed
        return min(patience, request.seconds, self._limits.question, self._notebook.seconds_left())

    def _ended_well(self, worker: WorkerProcess) -> bool:
        """Whether the worker sent no more answers than it was asked for."""
        try:
            self._notebook.ask(worker, "end", None, self._limits.cell, partial(parse_exactly, "end"))
        except (AnotherWorkerError, FaultError):
            return False
        return True


def _all(requests: Iterable[Request], reason: NotObserved) -> Answers:
    return {request.name: Answer.without_observation(reason) for request in requests}
