"""Outside: what is wrong with a question though its checks judge well: its stub, its pictures, its lists."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from grader.check import Check
from grader.judge import Verdict
from grader.known_answers import Answer
from grader.probe import PictureProbe
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


def picture_complaints(
    pictures: Mapping[str, PictureProbe],
    shown: Mapping[str, Mapping[str, str]],
    answers: Collection[Answer],
    path: Path,
) -> Iterator[str]:
    """That a picture shows nothing of a right answer, or the same of every answer.

    Args:
        pictures: of the question, by name.
        shown: for the reference, the stub and each answer, by name: what each picture shows, in a form that
            can be compared, and empty where it shows nothing.
        answers: to the question.
        path: the file of answers.
    """
    for name, picture in pictures.items():
        where = f"{picture.source.path}, line {picture.source.tree.lineno}: picture {name}"
        right = [answer for answer in answers if answer.fails is None]
        blank = [answer for answer in right if not shown[answer.name].get(name)]
        for answer in blank:
            yield f"{where} shows nothing of {answer.name}, which is right ({path}, line {answer.line})"
        accepted = {answer.name for answer in right}
        others = [found.get(name) for one, found in shown.items() if one not in accepted]
        drawn = [found for found in others if found]
        if len(drawn) > 1 and len(set(drawn)) == 1 and len(drawn) > len(others) / 2:
            yield (
                f"{where} shows the same for the reference, the stub and the wrong answers: draw what the"
                " student's function made"
            )
