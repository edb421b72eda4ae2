"""On a student's machine: the questions of a notebook, found by their headings and public checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.course.public_test import PublicTest, read_public_test
from grader.course.question import heading_of
from grader.notebooks.document import Document, DocumentCell

_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Task:
    """One question as it was handed out.

    Attributes:
        id: such as ``q1``; ``end`` for the end task.
        title: from its heading.
        prose: the markdown below the heading.
        function: the name of the function or class it asks for.
        heading: the cell with the heading, or None where there is none.
        stub: the cell with the function, or None where there is none.
        test: its public check, or None where it has none.
    """

    id: str
    title: str
    prose: str
    function: str
    heading: DocumentCell | None
    stub: DocumentCell | None
    test: PublicTest | None

    @property
    def points(self) -> float:
        """What it is worth; 0 without a public check, whose file says it."""
        return self.test.points if self.test else 0.0


def tasks_of(document: Document) -> tuple[Task, ...]:
    """The questions of a notebook, in its order.

    Raises:
        GraderError: a public check in it is damaged.
    """
    tests = {
        name: read_public_test(f"{document.path.name}, {name}", source)
        for name, source in document.tests.items()
    }
    found = {task.id: task for task in _below_headings(document, tests)}
    for name, test in tests.items():
        if name not in found and test.function is not None:
            found[name] = Task(name, test.cases[0].title, "", test.function, None, None, test)
    return tuple(found.values())


def _below_headings(document: Document, tests: dict[str, PublicTest]) -> Iterator[Task]:
    """Every heading with the first cell below it that defines something, up to the next heading."""
    headings = [(cell, found) for cell in document.cells if (found := _heading(cell))]
    for (cell, (identity, title)), end in zip(
        headings, [*(later.place for later, _ in headings[1:]), len(document.cells)], strict=False
    ):
        test = tests.get(identity)
        below = [one for one in document.cells[cell.place + 1 : end] if one.number]
        stub = next((one for one in below if _asked(one, test)), None)
        function = (test and test.function) or (stub and definitions_in(stub.source)[0])
        if function:
            prose = cell.source.partition("\n")[2].strip()
            yield Task(identity, title, prose, function, cell, stub, test)


def _heading(cell: DocumentCell) -> tuple[str, str] | None:
    return None if cell.number else heading_of(cell.source)


def _asked(cell: DocumentCell, test: PublicTest | None) -> bool:
    names = definitions_in(cell.source)
    return bool(names) if test is None or test.function is None else test.function in names


def definitions_in(source: str) -> list[str]:
    """The functions and classes that a cell defines at its top level; of one that does not parse, none."""
    try:
        return [node.name for node in ast.parse(source).body if isinstance(node, _DEFINITION)]
    except (SyntaxError, ValueError, RecursionError):
        return []
