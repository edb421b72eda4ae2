"""The sentence after a passed public check: inputs that the graded checks also use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from grader.course.assignment import THE_CALL
from grader.student.notebook import Question
from grader.text import printable

_MOST = 6  # levels that the sentence names
_DTYPES = re.compile(r"(?:float|int|complex|bool)\w* or (\w+)")
_OF_THE_CALL = re.compile(r"^(?:called|with|in)? ?(?=\S)")


def coverage(questions: Sequence[Question]) -> str:
    """Say that public checks pass, and name levels that the graded checks use; code is in backticks.

    Of several questions, the levels that most of them have come first.
    """
    passes = "The public check passes." if len(questions) == 1 else "The public checks pass."
    levels = Counter(chain.from_iterable(dict.fromkeys(_levels(question)) for question in questions))
    named = [level for level, _ in levels.most_common(_MOST)]
    if not named:
        return f"{passes} The graded checks test everything that the task says."
    task = "the task" if len(questions) == 1 else "the tasks"
    if len(levels) > len(named):
        named.append(f"and {len(levels) - len(named)} more: see {task}")
    separator = "; " if any("," in level for level in named) else ", "
    return f"{passes} The graded checks also use: {separator.join(named)}."


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
            of_call = _OF_THE_CALL.sub("", phrase, count=1).replace("a second call, ", "a second call ")
            yield re.sub(r"(\w+\(\))", r"`\1`", of_call)
        elif dtypes := _DTYPES.fullmatch(phrase):
            yield dtypes[1]  # the first is the typical one
        elif not phrase.startswith("its "):  # this says in which modes the layers of a network are
            yield f"`{printable(name)}` {phrase}"


def _rank(phrase: str) -> tuple[bool, bool]:
    """What is most often forgotten comes first: memory, then no_grad."""
    return "memory" not in phrase, "no_grad" not in phrase
