"""`hint`: hints to a question, from what was handed out; each says more than the last."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.scores import format_points
from grader.student.notebook import Question, UnreadableError, notebook_as_handed_out, open_notebook

_DETAILS = re.compile(r"<details>\s*<summary>(?P<heading>.*?)</summary>(?P<text>.*?)</details>", re.DOTALL)
_COUNTED = re.compile(r"hint *\d*", re.IGNORECASE)
_WORTH = re.compile(r"\A\*[\d.]+ points?\*\s*")


@dataclass(frozen=True)
class Hint:
    """A heading, and paragraphs or lines."""

    heading: str
    text: str


def find_hint(path: Path, question: str, number: int) -> tuple[str, Hint, int]:
    """The id of a question, its hint of this number, and how many hints there are to it.

    Raises:
        GraderError: there is no such question or hint, or the notebook cannot be read and was not handed out.
    """
    try:
        notebook = open_notebook(path)
    except UnreadableError:  # a hint needs only what was handed out
        handed_out = notebook_as_handed_out(path)
        if handed_out is None:
            raise
        notebook = handed_out
    asked = notebook.question(question)
    hints = hints_to(asked)
    if number > len(hints):
        raise GraderError(f"there are {len(hints)} hints to {asked.id}: the last is number {len(hints)}.")
    return asked.id, hints[number - 1], len(hints)


def hints_to(question: Question) -> list[Hint]:
    """The hints to a question; the first says what is asked."""
    written = _DETAILS.finditer(question.prose)
    return [
        Hint("What is asked", "\n\n".join(_asked(question))),
        *(Hint(_heading(found["heading"].strip()), found["text"].strip()) for found in written),
        *_about_the_check(question),
    ]


def _heading(written: str) -> str:
    """An author's heading, unless it is only a number, which would differ from ours."""
    return "A hint from the notebook" if _COUNTED.fullmatch(written) else written


def _asked(question: Question) -> Iterator[str]:
    worth = f" ({format_points(question.points)} points)" if question.points else ""
    yield f"{question.title}{worth}"
    prose = _WORTH.sub("", _DETAILS.sub("", question.prose).strip()).strip()
    if prose:
        yield prose
    documented = _docstring(question)
    if documented:
        yield f"{question.function}: {documented}"


def _docstring(question: Question) -> str | None:
    try:
        body = ast.parse(question.stub.source if question.stub else "").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == question.function:
            return ast.get_docstring(node)
    return None


def _about_the_check(question: Question) -> Iterator[Hint]:
    """What the public check looks at, then its messages."""
    if question.check is None:
        return
    yield Hint("What the check looks at", "\n".join(f"- {test.title}" for test in question.check.tests))
    messages = dict.fromkeys(message for test in question.check.tests for message in test.messages)
    if messages:
        yield Hint(
            "What the check may say", "\n".join(f"- {' '.join(message.split())}" for message in messages)
        )
