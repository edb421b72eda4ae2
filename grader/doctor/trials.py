"""Tries the known answers to an assignment's questions, its references and stubs, and its untouched notebook.

Public checks are tried here as students run them, hidden checks in `hidden_trial.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from grader.checks.failed_cell import FailedCell
from grader.course.assignment import Question
from grader.course.course import Course
from grader.doctor.hidden_trial import DRAWS, REFERENCE, STUB, HiddenTrial
from grader.doctor.judged import JudgedQuestion, PublicFailures
from grader.doctor.known_answers import Answer
from grader.doctor.misspelt_names import undefined_names
from grader.doctor.outcomes import Outcome, Outcomes
from grader.doctor.reused_worker import ObserverPool
from grader.memory import Memory, fingerprint
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.facts import Raised
from grader.sandbox.plan import ProbePlan, TimeLimits

_TESTS = re.compile(r"^def (test_\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Trials:
    """The trials of an assignment."""

    course: Course
    stem: str
    observers: ObserverPool
    seeds: Sequence[int]
    memory: Memory

    def begin(
        self, answers: Sequence[Answer], outcomes: Outcomes, only: str | None
    ) -> list[Callable[[], JudgedQuestion]]:
        """Begin to try answers to all questions, or to one; each function waits for a question's end.

        An answer that is not judged as `outcomes` say is tried once more in a worker of its own.
        """
        not_run = {name for users in undefined_names(answers).values() for name in users}
        return [
            self._begin(
                question,
                [a for a in answers if a.question == question.id and a.name not in not_run],
                outcomes.get(question.id, {}),
            )
            for question in self.course.assignment(self.stem).questions
            if only in {None, question.id}
        ]

    def _begin(
        self, question: Question, answers: Sequence[Answer], outcomes: Mapping[str, Outcome]
    ) -> Callable[[], JudgedQuestion]:
        hidden = HiddenTrial(self.course, self.stem, question, self.seeds, self.observers, self.memory)
        public = PublicTrial(question, self.course.settings.limits, self.observers, self.memory)
        notebooks = hidden.notebooks(answers)
        right = Outcome(public=True)
        expected = {a.name: outcomes.get(a.name, Outcome()) if a.is_wrong else right for a in answers}
        fails = {REFERENCE: (), DRAWS: (), **{name: outcome.fails for name, outcome in expected.items()}}
        passes = {REFERENCE: True, STUB: False, **{n: outcome.public for n, outcome in expected.items()}}
        checked = {name: notebooks[name] for name in passes} if question.public_check else {}
        tried = hidden.begin(notebooks, fails)
        public_failures = public.begin(checked, passes)
        return lambda: JudgedQuestion(
            question=question,
            checks=hidden.rubric.checks,
            answers=answers,
            tried=tried(),
            public_failures=public_failures(),
            pictures=hidden.rubric.pictures,
            path=self.course.answers_file(self.stem),
            seeds=self.seeds,
            partial_credit=self.course.settings.partial_credit,
        )

    def begin_untouched(self) -> Callable[[], list[str]]:
        """Begin to run the untouched notebook, without probes, unless it is remembered.

        The returned function waits for the end; it gives a sentence for each cell that fails and each stub
        that counts as answered.
        """
        from grader.course.build import student_notebook  # noqa: PLC0415 - nbformat takes a fifth of a second

        notebook = student_notebook(self.course.assignment(self.stem), self.course.points(self.stem))
        sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        key = fingerprint("untouched", sources)
        if self.memory.recall(key) is not None:
            return list
        plan = replace(self.course.rubric(self.stem).plan(self.seeds[0]), probes={})
        limits = self.course.settings.limits
        observing = self.observers.submit(cells_of(sources), plan, limits, alone=True)

        def finish() -> list[str]:
            complaints = [*_about_untouched(observing.result())]
            if not complaints:
                self.memory.remember(key, [])
            return complaints

        return finish


def _about_untouched(evidence: Evidence) -> Iterator[str]:
    for cell in evidence.cells:
        yield f"the untouched notebook fails: {FailedCell.of(cell).sentence}"
    for function, status in evidence.names.items():
        if status != "untouched":
            yield f"the stub of {function} counts as {status} in the untouched notebook"


@dataclass(frozen=True)
class PublicTrial:
    """A question's public check, tried on notebooks."""

    question: Question
    limits: TimeLimits
    observers: ObserverPool
    memory: Memory

    def begin(
        self, notebooks: Mapping[str, Sequence[str]], passes: Mapping[str, bool]
    ) -> Callable[[], dict[str, PublicFailures]]:
        """Begin to try notebooks that have changed since their last trial.

        Args:
            notebooks: the sources of the cells, by name.
            passes: whether a notebook should pass, by name. If it does not do as it should, it is tried again
                in a worker of its own, because other answers may have harmed a shared worker.

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
        failed = {c.cell: _first_line(c.raised) if c.raised else c.fault or "" for c in evidence.cells}
        failures = {call: failed[number] for number, call in calls.items() if number in failed}
        return failures, not evidence.starved

    def _check(self) -> list[str]:
        """The check's cell, and a cell for each of its tests."""
        source, function = self.question.public_check or "", self.question.function
        return [source, *(f"{name}({function})" for name in _TESTS.findall(source))]


def _first_line(error: Raised) -> str:
    line = error.text.partition("\n")[0]
    return line if error.type == "AssertionError" else f"{error.type}: {line}"
