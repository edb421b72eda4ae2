"""The sentences after passed public checks: the graded checks use more inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from grader.course.assignment import THE_CALL
from grader.student.notebook import Question
from grader.text import printable

_MOST = 6  # levels that the sentence names
_DTYPES = re.compile(r"(?:float|int|complex|bool)\w* or (\w+)")
_OF_THE_CALL = re.compile(r"^(?:with|in) ")


def coverage(question: Question) -> str:
    """Say that a public check passes, and name levels that the graded checks use; code is in backticks."""
    levels = [*dict.fromkeys(_levels(question))]
    if not levels:
        return "The public check passes. The graded checks test everything that the task says."
    named = levels[:_MOST]
    if len(levels) > len(named):
        named.append(f"and {len(levels) - len(named)} more: see the task")
    separator = "; " if any("," in level for level in named) else ", "
    return f"The public check passes. The graded checks also use: {separator.join(named)}."


def coverage_of_several(questions: Sequence[Question]) -> str:
    """Say in a sentence that the graded checks of a notebook or a course test more than the public ones."""
    if not any(question.levels for question in questions):
        return "The graded checks test everything that the tasks say."
    return "The graded checks use more inputs than the public ones: each task lists them."


def _levels(question: Question) -> Iterator[str]:
    """The levels of a question, one of each argument in turn, so that a few show them all."""
    of_arguments = (_of_argument(name, phrases) for name, phrases in question.levels.items())
    for turn in zip_longest(*of_arguments):
        yield from sorted(filter(None, turn), key=lambda level: level.startswith("`"))


def _of_argument(name: str, phrases: Sequence[str]) -> Iterator[str]:
    if name == THE_CALL:  # nearly every task has its first level: thousands of entries
        phrases = [*sorted(phrases[1:], key=_rank), *phrases[:1]]
    for phrase in map(printable, phrases):
        if name == THE_CALL:
            yield _OF_THE_CALL.sub("", phrase, count=1).replace("a second call, ", "a second call ")
        elif dtypes := _DTYPES.fullmatch(phrase):
            yield dtypes[1]  # the first is the typical one
        elif not phrase.startswith("its "):  # this says in which modes the layers of a network are
            yield f"`{printable(name)}` {phrase}"


def _rank(phrase: str) -> tuple[bool, bool]:
    """Students forget memory most often, then no_grad."""
    return "memory" not in phrase, "no_grad" not in phrase
