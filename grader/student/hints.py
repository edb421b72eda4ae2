"""`hint`: the hints that a released notebook has below a task; each reveals more than the one before.

A hint has one number everywhere: in the notebook, in a terminal and below a check.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.student.notebook import Question, UnreadableError, open_notebook, released_notebook
from grader.text import counted

_ABOUT_AN_ERROR = re.compile(r"(Read the|The) (error|`\w+Warning`)")


@dataclass(frozen=True)
class Hint:
    """A hint of the notebook; the first has number 1."""

    number: int
    text: str

    @property
    def is_about_an_error(self) -> bool:
        """Whether the hint begins with the error or warning that the starter code causes."""
        return _ABOUT_AN_ERROR.match(self.text) is not None


def find_hint(path: Path, question: str, number: int) -> tuple[Question, Hint, int]:
    """A question, its hint with this number, and the number of its hints.

    Raises:
        GraderError: there is no such question or hint, or the notebook cannot be read and was not released.
    """
    try:
        notebook = open_notebook(path)
    except UnreadableError:  # a hint needs only the released notebook
        released = released_notebook(path)
        if released is None:
            raise
        notebook = released
    asked = notebook.question(question)
    hints = hints_to(asked)
    if not hints:
        raise GraderError(no_hint(asked))
    if number > len(hints):
        raise GraderError(f"{asked.name} has {counted(len(hints), 'hint')}, so there is no hint {number}.")
    return asked, hints[number - 1], len(hints)


def hints_to(question: Question) -> list[Hint]:
    """All hints for a question, in the order of the notebook."""
    return [Hint(number, text) for number, text in enumerate(question.hints, start=1)]


def no_hint(question: Question) -> str:
    """The clause for a question that has no hints."""
    return f"there is no hint for {question.name}: read its task again, and run its check."
