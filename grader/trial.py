"""Outside: tries the public check of a question on answers whose verdict is known."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from grader.facts import Raised, decode_raised
from grader.known_answers import Answer
from grader.notebook import Cell
from grader.observer import observe
from grader.question import Question
from grader.questionnaire import Limits, Questionnaire
from grader.zygote import Zygote

_TESTS = re.compile(r"^def (test_\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Trial:
    """A question and its public check.

    Attributes:
        zygote: where workers come from.
        question: one that has a public check.
        limits: of a notebook in which the check is run.
    """

    zygote: Zygote
    question: Question
    limits: Limits

    def complaints(
        self, stubs: Sequence[str], reference: Sequence[str], answers: Sequence[Answer]
    ) -> list[str]:
        """What is wrong with the check: the stubs pass it, or the reference or a right answer does not.

        Args:
            stubs: the code cells as students get them.
            reference: the code cells of the reference solution.
            answers: all known answers of the assignment.
        """
        question = self.question.id
        if self.question.public_check is None:
            return [f"{question} has no public check: students would be told nothing"]
        found = [] if self.told(stubs) else [f"{question}: the stub passes its public check"]
        for call, said in self.told(reference).items():
            found.append(f"{question}: the reference fails the public check {call}: {said}")
        right = [answer for answer in answers if (answer.question, answer.fails) == (question, None)]
        for answer, told in self.refused(right):
            who = f"{question}, {answer.name} (line {answer.line})"
            found += [f"{who} is right, but fails the public check {c}: {said}" for c, said in told.items()]
        return found

    def passes(self, answer: Answer) -> bool:
        """Whether there is a public check and it passes an answer."""
        return self.question.public_check is not None and not self.told(_sources(answer))

    def refused(self, answers: Sequence[Answer]) -> list[tuple[Answer, dict[str, str]]]:
        """The answers that the public check fails, and what ``told`` says about each of them.

        One worker runs them all. Where something fails, each is tried in a notebook of its own: one answer
        may have broken what the next one needs, and that is not the next one's fault.
        """
        together = [source for answer in answers for source in [*_sources(answer), *self._check()]]
        if not self._failed(together):
            return []
        each = [(answer, self.told(_sources(answer))) for answer in answers]
        return [(answer, told) for answer, told in each if told]

    def told(self, sources: Sequence[str]) -> dict[str, str]:
        """What a student with these cells is told: by call of the check that fails, the first line of why."""
        check = self._check()
        failed = self._failed([*sources, *check])
        calls = enumerate(check[1:], start=len(sources) + 2)
        return {call: failed[number] for number, call in calls if number in failed}

    def _check(self) -> list[str]:
        """The check's cell, and a cell for each of its tests."""
        source, function = self.question.public_check or "", self.question.function
        return [source, *(f"{name}({function})" for name in _TESTS.findall(source))]

    def _failed(self, sources: Sequence[str]) -> dict[int, str]:
        """The cells that fail, and why; all of them where nothing could be observed."""
        cells = [Cell(number, source) for number, source in enumerate(sources, start=1)]
        evidence = observe(self.zygote, cells, Questionnaire({}, {}), self.limits)
        if evidence.fault is not None:
            return dict.fromkeys((cell.number for cell in cells), evidence.fault)
        return {
            one["cell"]: one["fault"] or _first_line(decode_raised(one["raised"])) for one in evidence.cells
        }


def misjudged(answers: Sequence[Answer], passed: Collection[str]) -> list[str]:
    """One sentence for each wrong answer whose mark and whose public check disagree.

    Args:
        answers: all known answers of an assignment.
        passed: the names of the wrong ones that their public check passes.
    """
    found = []
    for answer in answers:
        who = f"{answer.question}, {answer.name} (line {answer.line})"
        if answer.name in passed and not answer.public:
            found.append(
                f"{who} is wrong, and passes the public check: mend the check, or write public=True,"
                " as --accept does, if students need not be told"
            )
        elif answer.public and answer.name not in passed:
            found.append(f"{who} fails the public check: remove public=True, as --accept does")
    return found


def _sources(answer: Answer) -> list[str]:
    return [cell.source for cell in answer.cells]


def _first_line(error: Raised) -> str:
    said = error.text.partition("\n")[0]
    return said if error.type == "AssertionError" else f"{error.type}: {said}"
