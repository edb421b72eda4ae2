"""What students run themselves: public checks, tried on known answers, and the untouched notebook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from grader.checks.failed_cell import FailedCell
from grader.course.assignment import Assignment, Question
from grader.doctor.known_answers import Answer
from grader.doctor.reused_worker import ObserverPool
from grader.memory import Memory, fingerprint
from grader.notebooks.reader import cells_of
from grader.sandbox.decoding import decode_raised
from grader.sandbox.evidence import Evidence
from grader.sandbox.facts import Raised
from grader.sandbox.plan import ProbePlan, TimeLimits

_TESTS = re.compile(r"^def (test_\w+)", re.MULTILINE)

#: The first line of each failure that a student sees, by the call of the check.
PublicFailures = dict[str, str]


@dataclass(frozen=True)
class PublicTrial:
    """A question's public check, tried on notebooks; `limits` are those of a notebook."""

    question: Question
    limits: TimeLimits
    observers: ObserverPool
    memory: Memory

    def begin(
        self, notebooks: Mapping[str, Sequence[str]], passes: Mapping[str, bool]
    ) -> Callable[[], dict[str, PublicFailures]]:
        """Begin to try notebooks; only what has changed since its last trial is tried.

        Args:
            notebooks: the sources of the cells, by name.
            passes: whether a notebook should pass, by name. If it does not do as it should, it is tried again
                in a worker of its own, because a shared worker may have been harmed by other answers.

        Returns:
            A function that waits for the end and returns the failures of each notebook by name.
        """
        keys = {name: fingerprint("public", self._check(), sources) for name, sources in notebooks.items()}
        recalled = {name: self.memory.recall(key) for name, key in keys.items()}
        failures: dict[str, PublicFailures] = {n: known for n, known in recalled.items() if known is not None}
        observing = {name: self._observe(notebooks[name]) for name in notebooks if name not in failures}

        def finish() -> dict[str, PublicFailures]:
            tried = {name: self._failures(notebooks[name], seen.result()) for name, seen in observing.items()}
            doubtful = [name for name, (of_name, _) in tried.items() if passes[name] == bool(of_name)]
            again = {name: self._observe(notebooks[name], alone=True) for name in doubtful}
            tried |= {name: self._failures(notebooks[name], seen.result()) for name, seen in again.items()}
            for name, (of_name, is_certain) in tried.items():
                failures[name] = of_name
                if is_certain:
                    self.memory.remember(keys[name], of_name)
            return failures

        return finish

    def _observe(self, sources: Sequence[str], *, alone: bool = False) -> Future[Evidence]:
        cells = cells_of([*sources, *self._check()])
        return self.observers.submit(cells, ProbePlan({}, {}), self.limits, alone=alone)

    def _failures(self, sources: Sequence[str], evidence: Evidence) -> tuple[PublicFailures, bool]:
        """The failures of a notebook, and whether they are certain."""
        check = self._check()
        calls = dict(enumerate(check[1:], start=len(sources) + 2))
        if evidence.fault is not None:  # nothing could be observed
            return dict.fromkeys(calls.values(), evidence.fault), False
        failed = {c["cell"]: c["fault"] or _first_line(decode_raised(c["raised"])) for c in evidence.cells}
        failures = {call: failed[number] for number, call in calls.items() if number in failed}
        return failures, not evidence.starved

    def _check(self) -> list[str]:
        """The check's cell, and a cell for each of its tests."""
        source, function = self.question.public_check or "", self.question.function
        return [source, *(f"{name}({function})" for name in _TESTS.findall(source))]


def public_complaints(
    question: Question,
    failures: Mapping[str, PublicFailures],
    answers: Sequence[Answer],
    *,
    reference: str,
    stub: str | None,
) -> Iterator[str]:
    """A sentence for each notebook on which the public check is wrong.

    Args:
        question: the question.
        failures: of each notebook, by name.
        answers: the known answers to the question.
        reference: the name of the reference among the notebooks.
        stub: the name of the stub; None if it is known to be an answer, and so passes.
    """
    if question.public_check is None:
        yield f"{question.id} has no public check: students would be told nothing"
        return
    if stub is not None and not failures[stub]:
        yield f"{question.place or question.id}: the stub passes its public check"
    for call, failure in failures[reference].items():
        yield f"{question.id}: the reference fails the public check {call}: {failure}"
    for answer in answers:
        passes = not failures[answer.name]
        if answer.fails is None:
            for call, failure in failures[answer.name].items():
                yield f"{answer} is right, but fails the public check {call}: {failure}"
        elif passes and not answer.public:
            yield (
                f"{answer} is wrong, and passes the public check: mend the check, or write public=True,"
                " as --accept does, if students need not be told"
            )
        elif answer.public and not passes:
            yield f"{answer} fails the public check: remove public=True, as --accept does"


def _first_line(error: Raised) -> str:
    line = error.text.partition("\n")[0]
    return line if error.type == "AssertionError" else f"{error.type}: {line}"


def begin_untouched(  # noqa: PLR0913, PLR0917 - what a trial needs
    assignment: Assignment,
    points: Mapping[str, float],
    plan: ProbePlan,
    limits: TimeLimits,
    observers: ObserverPool,
    memory: Memory,
) -> Callable[[], list[str]]:
    """Begin to run the untouched notebook of an assignment, unless the memory has it, without probes.

    The returned function waits for the end; it gives a sentence for each cell that fails and each stub that
    counts as answered.
    """
    from grader.course.build import student_notebook  # noqa: PLC0415 - nbformat takes a fifth of a second

    notebook = student_notebook(assignment, points)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    key = fingerprint("untouched", sources)
    if memory.recall(key) is not None:
        return list
    observing = observers.submit(cells_of(sources), replace(plan, probes={}), limits, alone=True)

    def finish() -> list[str]:
        complaints = [*_complaints(observing.result())]
        if not complaints:
            memory.remember(key, [])
        return complaints

    return finish


def _complaints(evidence: Evidence) -> Iterator[str]:
    for cell in evidence.cells:
        yield f"the untouched notebook fails: {FailedCell.of(cell).sentence}"
    for function, status in evidence.names.items():
        if status != "untouched":
            yield f"the stub of {function} counts as {status} in the untouched notebook"
