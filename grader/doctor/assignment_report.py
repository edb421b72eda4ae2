"""What the doctor found out about one assignment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


@dataclass
class AssignmentReport:
    """What was examined of one assignment, and what was found.

    Attributes:
        stem: the assignment's.
        complaints: one sentence for each contradiction.
        kills: for each check, how many wrong answers it fails, without those that stopped before.
        diagnoses: of each wrong answer, what became of it.
        answers: how many accepted and wrong answers there are.
        public: (question, name) of each wrong answer that its public check passes.
        accepted: names of the wrong answers whose lists were written, because another was observed.
        blanks: where its author has still to write; what has a blank was left out.
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
        """The form that is remembered."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> AssignmentReport:
        """What a remembered form says."""
        return cls(
            stem=stored["stem"],
            complaints=stored["complaints"],
            kills=stored["kills"],
            diagnoses=[AnswerReport(*one) for one in stored["diagnoses"]],
            answers=tuple(stored["answers"]),
            public=[(question, name) for question, name in stored["public"]],
            blanks=stored["blanks"],
        )


class AnswerReport(NamedTuple):
    """What became of a wrong answer.

    Attributes:
        question: its question's id.
        name: its own.
        failed: what it is told by each check that it fails, by the check's name.
        stopped: those of the failed checks that judged nothing, because the answer stopped before.
    """

    question: str
    name: str
    failed: Mapping[str, str]
    stopped: Collection[str] = ()

    def mark(self, check: str) -> str:
        """What stands in the matrix."""
        return "·" if check not in self.failed else "!" if check in self.stopped else "✗"


def kill_matrices(diagnoses: Sequence[AnswerReport], checks: Sequence[str]) -> Iterator[str]:
    """One matrix for each question: rows are its wrong answers, columns the checks that fail any of them.

    Args:
        diagnoses: of all wrong answers, in the order in which they are to be shown.
        checks: the names of all checks, in the order of their file.

    Yields:
        Lines of text: the matrix, then the name behind each column's number.
    """
    for question, wrong in _by_question(diagnoses).items():
        yield "\n".join(_matrix(question, wrong, _columns(wrong, checks)))


class AnswerMessage(NamedTuple):
    """A sentence that a wrong answer is told.

    Attributes:
        question: its question's id.
        name: the answer's.
        columns: of the checks that tell it, in the question's kill matrix, as in ``1, 3``.
        message: the sentence.
    """

    question: str
    name: str
    columns: str
    message: str


def answer_messages(diagnoses: Sequence[AnswerReport], checks: Sequence[str]) -> Iterator[AnswerMessage]:
    """Each sentence that each wrong answer is told, once: a student reads those of all checks that failed.

    Args:
        diagnoses: of all wrong answers.
        checks: the names of all checks, in the order of their file.
    """
    for question, wrong in _by_question(diagnoses).items():
        columns = _columns(wrong, checks)
        for one in wrong:
            told: dict[str, list[str]] = {} if one.failed else {"": []}
            for number, check in enumerate(columns, start=1):
                if check in one.failed:
                    told.setdefault(one.failed[check], []).append(str(number))
            for message, numbers in told.items():
                yield AnswerMessage(question, one.name, ", ".join(numbers), message)


def _by_question(diagnoses: Sequence[AnswerReport]) -> dict[str, list[AnswerReport]]:
    found: dict[str, list[AnswerReport]] = {}
    for diagnosis in diagnoses:
        found.setdefault(diagnosis.question, []).append(diagnosis)
    return found


def _columns(wrong: Sequence[AnswerReport], checks: Sequence[str]) -> list[str]:
    return [check for check in checks if any(check in one.failed for one in wrong)]


def _matrix(question: str, wrong: Sequence[AnswerReport], columns: Sequence[str]) -> Iterator[str]:
    width = max(len(str(len(columns))), 1)
    margin = max(len(question), len("failed"))
    yield _row(question, margin, [str(number) for number, _ in enumerate(columns, start=1)], width)
    for one in wrong:
        yield _row("", margin, [*map(one.mark, columns)], width) + f"  {one.name}"
    kills = [sum(one.mark(check) == "✗" for one in wrong) for check in columns]
    yield _row("failed", margin, [str(number) for number in kills], width) + f"  of {len(wrong)}"
    for number, check in enumerate(columns, start=1):
        yield f"{number:>{margin}} {check}"


def _row(head: str, margin: int, cells: Sequence[str], width: int) -> str:
    return " ".join([f"{head:<{margin}}", *(f"{cell:>{width}}" for cell in cells)])
