"""The doctor's findings about an assignment, and its kill matrix: the wrong answers that each check fails.

A row without a cross is a wrong answer that no check finds. A column whose crosses never stand alone in their
rows is a check that is not needed. ``!`` marks a check that failed without judging, because the answer
stopped before; it does not justify the check.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


@dataclass
class AssignmentReport:
    """The findings about an assignment.

    Attributes:
        complaints: a sentence for each contradiction.
        kills: for each check, how many wrong answers it fails, without those that stopped before.
        diagnoses: the outcome of each wrong answer.
        answers: the number of accepted and of wrong answers.
        public: (question, name) of each wrong answer that passes its public check.
        accepted: names of the wrong answers whose lists ``--accept`` changed.
        blanks: where blanks are left; definitions with a blank were left out.
    """

    stem: str
    complaints: list[str] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=dict)
    diagnoses: list[AnswerReport] = field(default_factory=list)
    answers: tuple[int, int] = (0, 0)
    public: list[tuple[str, str]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    blanks: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The form in the doctor's memory."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> AssignmentReport:
        """From the form in the doctor's memory."""
        return cls(
            stem=stored["stem"],
            complaints=stored["complaints"],
            kills=stored["kills"],
            diagnoses=[AnswerReport(*fields) for fields in stored["diagnoses"]],
            answers=tuple(stored["answers"]),
            public=[(question, name) for question, name in stored["public"]],
            blanks=stored["blanks"],
        )


class AnswerReport(NamedTuple):
    """The outcome of a wrong answer.

    Attributes:
        failed: the message of each check that it fails, by the check's name.
        stopped: the failed checks that judged nothing, because the answer stopped before.
    """

    question: str
    name: str
    failed: Mapping[str, str]
    stopped: Collection[str] = ()

    def mark(self, check: str) -> str:
        """The entry of the matrix."""
        return "·" if check not in self.failed else "!" if check in self.stopped else "✗"


def kill_matrices(diagnoses: Sequence[AnswerReport], checks: Sequence[str]) -> Iterator[str]:
    """A matrix for each question: rows are wrong answers, columns the checks that fail any of them.

    Below the rows stands the name of each column's check. Rows and columns are in the order of the arguments.
    """
    for question, wrong in _by_question(diagnoses).items():
        yield "\n".join(_matrix(question, wrong, _columns(wrong, checks)))


class AnswerMessage(NamedTuple):
    """A message that a wrong answer gets, and the matrix's columns of the checks that give it: ``1, 3``."""

    question: str
    name: str
    columns: str
    message: str


def answer_messages(diagnoses: Sequence[AnswerReport], checks: Sequence[str]) -> Iterator[AnswerMessage]:
    """Each message that a wrong answer gets, once; students read those of all checks that failed."""
    for question, wrong in _by_question(diagnoses).items():
        columns = _columns(wrong, checks)
        for answer in wrong:
            messages: dict[str, list[str]] = {} if answer.failed else {"": []}
            for number, check in enumerate(columns, start=1):
                if check in answer.failed:
                    messages.setdefault(answer.failed[check], []).append(str(number))
            for message, numbers in messages.items():
                yield AnswerMessage(question, answer.name, ", ".join(numbers), message)


def _by_question(diagnoses: Sequence[AnswerReport]) -> dict[str, list[AnswerReport]]:
    groups: dict[str, list[AnswerReport]] = {}
    for diagnosis in diagnoses:
        groups.setdefault(diagnosis.question, []).append(diagnosis)
    return groups


def _columns(wrong: Sequence[AnswerReport], checks: Sequence[str]) -> list[str]:
    return [check for check in checks if any(check in answer.failed for answer in wrong)]


def _matrix(question: str, wrong: Sequence[AnswerReport], columns: Sequence[str]) -> Iterator[str]:
    width = max(len(str(len(columns))), 1)
    margin = max(len(question), len("failed"))
    yield _row(question, margin, [str(number) for number, _ in enumerate(columns, start=1)], width)
    for answer in wrong:
        yield _row("", margin, [*map(answer.mark, columns)], width) + f"  {answer.name}"
    kills = [sum(answer.mark(check) == "✗" for answer in wrong) for check in columns]
    yield _row("failed", margin, [str(number) for number in kills], width) + f"  of {len(wrong)}"
    for number, check in enumerate(columns, start=1):
        yield f"{number:>{margin}} {check}"


def _row(head: str, margin: int, cells: Sequence[str], width: int) -> str:
    return " ".join([f"{head:<{margin}}", *(f"{cell:>{width}}" for cell in cells)])
