"""`hint`: hints for a question, from the released notebook; each reveals more than the one before."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.scores import format_points
from grader.student.notebook import Question, UnreadableError, open_notebook, released_notebook

_DETAILS = re.compile(r"<details>\s*<summary>(?P<heading>.*?)</summary>(?P<text>.*?)</details>", re.DOTALL)
_COUNTED = re.compile(r"hint *\d*", re.IGNORECASE)
_ABOUT_AN_ERROR = re.compile(r"(Read the|The) (error|`\w+Warning`)")
_WORTH = re.compile(r"\A\*[\d.]+ points?\*\s*")


@dataclass(frozen=True)
class Hint:
    """A heading, and paragraphs or lines."""

    heading: str
    text: str

    @property
    def is_about_an_error(self) -> bool:
        """Whether the hint begins with the error or warning that the starter code causes."""
        return _ABOUT_AN_ERROR.match(self.text) is not None


def find_hint(path: Path, question: str, number: int) -> tuple[str, Hint, int]:
    """The id of a question, its hint with this number, and the number of its hints.

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
    if number > len(hints):
        raise GraderError(f"there are {len(hints)} hints to {asked.id}: the last is number {len(hints)}.")
    return asked.id, hints[number - 1], len(hints)


def hints_to(question: Question) -> list[Hint]:
    """All hints: the task, the author's hints, the titles of the public check, and its messages."""
    worth = f" ({format_points(question.points)} points)" if question.points else ""
    prose = _WORTH.sub("", _DETAILS.sub("", question.prose).strip()).strip()
    documented = _docstring(question)
    asked = [f"{question.title}{worth}", prose, documented and f"{question.function}: {documented}"]
    hints = [Hint("What is asked", "\n\n".join(filter(None, asked)))]
    hints += authors_hints(question)
    tests = question.check.tests if question.check else ()
    titles = [test.title for test in tests]
    messages = dict.fromkeys(" ".join(message.split()) for test in tests for message in test.messages)
    for heading, lines in {"What the check looks at": titles, "What the check may say": messages}.items():
        if lines:
            hints.append(Hint(heading, "\n".join(f"- {line}" for line in lines)))
    return hints


def authors_hints(question: Question) -> list[Hint]:
    """The hints in the text of a question, without headings such as `Hint 1`, because numbers differ here."""
    hints = []
    for found in _DETAILS.finditer(question.prose):
        heading = found["heading"].strip()
        is_number = _COUNTED.fullmatch(heading)
        hints.append(Hint("A hint from the notebook" if is_number else heading, found["text"].strip()))
    return hints


def _docstring(question: Question) -> str | None:
    """The docstring of the starter code."""
    try:
        body = ast.parse(question.starter_cell.source if question.starter_cell else "").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == question.function:
            return ast.get_docstring(node)
    return None
