"""A student's notebook and its questions, and the notebook that was handed out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.course.assignment import heading_of
from grader.course.public_check import PublicCheck, read_public_check
from grader.errors import GraderError
from grader.notebooks.definitions import functions_and_classes
from grader.notebooks.document import Document, DocumentCell, read_document
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import Cell, recognise
from grader.student.find import NOTEBOOKS, argument_of, example, unreadable_error
from grader.text import inert, inert_line

#: The folders that hold notebooks as they were handed out: of a student's repository, of a course.
_HANDED_OUT = (".handout", "assignments")
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Question:
    """A question as it was handed out."""

    id: str  # `end` is the end task
    title: str
    prose: str  # the markdown below the heading
    function: str  # the name of the function or class it asks for
    stub: DocumentCell | None  # the cell with the function
    check: PublicCheck | None

    @property
    def points(self) -> float:
        """What it is worth; 0 without a public check, whose file says it."""
        return self.check.points if self.check else 0.0


@dataclass(frozen=True)
class StudentNotebook:
    """A student's notebook, and what was handed out where that lies near."""

    document: Document
    stem: str  # the assignment it answers
    handed_out: Document | None
    questions: tuple[Question, ...]  # as handed out where that is known, else as the notebook has them

    @property
    def name(self) -> str:
        """The name of its file, fit to be shown."""
        return inert(self.document.path.name)

    @property
    def argument(self) -> str:
        """The notebook as an argument of a command."""
        return argument_of(self.document.path)

    @property
    def code(self) -> tuple[Cell, ...]:
        """Its code cells; the first has number 1."""
        return self.document.notebook.cells

    @property
    def demonstrations(self) -> list[str]:
        """The code cells that were handed out besides stubs, where that is known."""
        stubs = {question.stub.index for question in self.questions if question.stub}
        cells = self.handed_out.cells if self.handed_out else ()
        return [cell.source for cell in cells if cell.number and cell.index not in stubs]

    def question(self, name: str) -> Question:
        """The question of an id (``q3``, ``3``) or of a function's name.

        Raises:
            GraderError: there is none; the text names those there are.
        """
        wanted = name.casefold()
        for question in self.questions:
            if wanted in {question.id.casefold(), question.id[1:], question.function.casefold()}:
                return question
        known = ", ".join(f"{question.id} ({question.function})" for question in self.questions)
        raise GraderError(f"{self.name} has no question {inert(name)}; it has {known}.")


def open_notebook(path: Path) -> StudentNotebook:
    """Read a notebook and what was handed out for it.

    Raises:
        UnreadableError: it cannot be read.
        GraderError: it belongs to no assignment that was handed out, and carries no public checks.
    """
    near = dict(_handed_out_near(path))
    try:
        document = read_document(path)
    except NotebookError as error:
        origin = near[path.stem].path if path.stem in near else None
        raise unreadable_error(path, error, origin, example(path.parent)) from error
    functions = {
        stem: [question.function for question in questions_of(other)] for stem, other in near.items()
    }
    stem = recognise(path.stem, document.notebook, functions)
    handed_out = near.get(stem) if stem else None
    questions = questions_of(handed_out or document)
    if not questions:
        stems = f" Handed out were {', '.join(sorted(near))}." if near else ""
        raise GraderError(
            f"{inert(path.name)} is no notebook of this course: it names no assignment, and holds no public"
            f" check.{stems} Work in the notebook you were given, and keep its name."
        )
    return StudentNotebook(document, stem or document.notebook.assignment or path.stem, handed_out, questions)


def notebook_as_handed_out(path: Path) -> StudentNotebook | None:
    """What was handed out under a notebook's name, also where that notebook cannot be read."""
    document = dict(_handed_out_near(path)).get(path.stem)
    return StudentNotebook(document, path.stem, document, questions_of(document)) if document else None


def _handed_out_near(path: Path) -> Iterator[tuple[str, Document]]:
    """The notebooks of the nearest folder of handed-out notebooks, by stem; never the notebook itself."""
    here = path.absolute().parent
    for folder in (above / name for above in (here, *here.parents) for name in _HANDED_OUT):
        documents = list(_readable(folder.glob(NOTEBOOKS), but=path)) if folder.is_dir() else []
        if documents:
            yield from documents
            return


def _readable(paths: Iterable[Path], but: Path) -> Iterator[tuple[str, Document]]:
    for path in sorted(paths):
        if path.exists() and but.exists() and path.samefile(but):
            continue
        try:
            document = read_document(path)
        except NotebookError:
            continue
        if questions_of(document):
            yield path.stem, document


def questions_of(document: Document) -> tuple[Question, ...]:
    """The questions of a notebook, in its order.

    Raises:
        GraderError: a public check in it is damaged.
    """
    checks = {
        name: read_public_check(f"{document.path.name}, {name}", source)
        for name, source in document.tests.items()
    }
    questions = {question.id: question for question in _below_headings(document, checks)}
    for name, check in checks.items():
        if name not in questions and check.function is not None:
            questions[name] = Question(name, check.tests[0].title, "", check.function, None, check)
    return tuple(questions.values())


def _below_headings(document: Document, checks: dict[str, PublicCheck]) -> Iterator[Question]:
    """Each heading with the first cell below it that defines something, up to the next heading."""
    headings = [
        (cell, heading) for cell in document.cells if not cell.number and (heading := heading_of(cell.source))
    ]
    for (cell, (identity, title)), end in zip(
        headings, [*(later.index for later, _ in headings[1:]), len(document.cells)], strict=False
    ):
        check = checks.get(identity)
        below = [other for other in document.cells[cell.index + 1 : end] if other.number]
        stub = next((other for other in below if _is_stub(other, check)), None)
        function = (check and check.function) or (stub and functions_and_classes(stub.source)[0])
        if function:
            prose = cell.source.partition("\n")[2].strip()
            yield Question(identity, title, prose, function, stub, check)


def _is_stub(cell: DocumentCell, check: PublicCheck | None) -> bool:
    names = functions_and_classes(cell.source)
    return bool(names) if check is None or check.function is None else check.function in names


def cell_name(number: int, source: str) -> str:
    """A code cell by its number, which Jupyter does not show, and what it defines or begins with."""
    defined = functions_and_classes(source)
    kind = "class" if defined and re.search(rf"(?m)^class\s+{re.escape(defined[0])}\b", source) else "def"
    lines = [line.strip() for line in source.splitlines()]
    first = next((line for line in lines if line and not line.startswith("#")), "")
    name = inert_line(f"{kind} {defined[0]}" if defined else first)
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME].rstrip()} ..."
    return f"code cell {number} ({name})" if name else f"code cell {number}"
