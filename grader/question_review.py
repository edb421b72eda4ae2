"""Outside: what is wrong with a question though its checks judge well: its stub, its lists of checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grader.check import Check
from grader.judge import Verdict
from grader.known_answers import Answer
from grader.question import Question
from grader.suggestion import nearest

#: Of these errors no stub has to stop, whatever its mistake is about.
_DOES_NOT_RUN = {
    *("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "NotImplementedError"),
    *("SyntaxError", "IndentationError", "TabError"),
}


def stub_complaints(
    question: Question, checks: Sequence[Check], verdicts: Mapping[str, Verdict]
) -> Iterator[str]:
    """That the stub is an answer, or that it does not even run.

    Args:
        question: the question.
        checks: its hidden checks.
        verdicts: of the stub, by check.
    """
    found = [verdicts[check.id] for check in checks if check.id in verdicts]
    where = question.place or question.id
    if found and all(verdict.outcome == "passed" for verdict in found):
        yield (
            f"{where}: the stub answers the question already: it passes every hidden check."
            " Let it make the mistake that the question is about"
        )
    elif found and {verdict.stopped for verdict in found} <= _DOES_NOT_RUN:
        yield f"{where}: the stub does not run: {found[0].message} Let it run, and be wrong"


def unknown_checks(answer: Answer, checks: Sequence[Check], path: Path) -> Iterator[str]:
    """That a wrong answer names a check in ``fails=`` which its question has not.

    Args:
        answer: the answer.
        checks: those of its question.
        path: the file of answers.
    """
    known = [check.id for check in checks]
    for name in sorted(answer.fails or ()):
        if name not in known:
            yield (
                f"{path}, line {answer.line}: {answer.name} fails {name}, which is no check of"
                f" {answer.question}; {nearest(name, known)}"
            )
