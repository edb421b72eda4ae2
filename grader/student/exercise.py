"""On a student's machine: a notebook somebody works in, beside what was handed out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.notebooks.document import Document, read_document
from grader.notebooks.identify import recognise
from grader.notebooks.reader import NotebookError
from grader.student.naming import NOTEBOOKS, argument_of, example
from grader.student.task import Task, tasks_of
from grader.student.unreadable import unreadable
from grader.text import inert

#: The folders that hold notebooks as they were handed out: of a student's repository, of a course.
_HANDED_OUT = (".handout", "assignments")


@dataclass(frozen=True)
class Exercise:
    """A student's notebook.

    Attributes:
        document: the notebook as it is now.
        stem: the assignment it answers.
        handed_out: that notebook as it was handed out, or None where it does not lie near.
        tasks: its questions, as handed out where that is known, else as the notebook itself has them.
    """

    document: Document
    stem: str
    handed_out: Document | None
    tasks: tuple[Task, ...]

    @property
    def name(self) -> str:
        """The name of its file, fit to be shown."""
        return inert(self.document.path.name)

    @property
    def argument(self) -> str:
        """What names it in a command, as it would be typed here."""
        return argument_of(self.document.path)

    @property
    def demonstrations(self) -> list[str]:
        """The code cells that were handed out besides stubs, where that is known."""
        stubs = {task.stub.place for task in self.tasks if task.stub}
        cells = self.handed_out.cells if self.handed_out else ()
        return [cell.source for cell in cells if cell.number and cell.place not in stubs]

    def task(self, name: str) -> Task:
        """The question of an id (``q3``, ``3``) or of a function's name.

        Raises:
            GraderError: there is none; the text names those there are.
        """
        wanted = name.casefold()
        for task in self.tasks:
            if wanted in {task.id.casefold(), task.id[1:], task.function.casefold()}:
                return task
        known = ", ".join(f"{task.id} ({task.function})" for task in self.tasks)
        raise GraderError(f"{self.name} has no question {inert(name)}; it has {known}.")


def open_exercise(path: Path) -> Exercise:
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
        raise unreadable(path, error, origin, example(path.parent)) from error
    functions = {stem: [task.function for task in tasks_of(other)] for stem, other in near.items()}
    stem = recognise(path.stem, document.notebook, functions)
    handed_out = near.get(stem) if stem else None
    tasks = tasks_of(handed_out or document)
    if not tasks:
        stems = f" Handed out were {', '.join(sorted(near))}." if near else ""
        raise GraderError(
            f"{inert(path.name)} is no notebook of this course: it names no assignment, and holds no public"
            f" check.{stems} Work in the notebook you were given, and keep its name."
        )
    return Exercise(document, stem or document.notebook.assignment or path.stem, handed_out, tasks)


def exercise_handed_out(path: Path) -> Exercise | None:
    """What was handed out under a notebook's name, also where that notebook cannot be read."""
    document = dict(_handed_out_near(path)).get(path.stem)
    return Exercise(document, path.stem, document, tasks_of(document)) if document else None


def question_handed_out(path: Path, question: str) -> Task | None:
    """A question of it, by its id."""
    exercise = exercise_handed_out(path)
    return next((task for task in exercise.tasks if task.id == question), None) if exercise else None


def _handed_out_near(path: Path) -> Iterator[tuple[str, Document]]:
    """What the nearest folder of handed-out notebooks holds, by stem; never the notebook itself."""
    here = path.absolute().parent
    for folder in (above / name for above in (here, *here.parents) for name in _HANDED_OUT):
        found = list(_readable(folder.glob(NOTEBOOKS), but=path)) if folder.is_dir() else []
        if found:
            yield from found
            return


def _readable(paths: Iterable[Path], but: Path) -> Iterator[tuple[str, Document]]:
    for path in sorted(paths):
        if path.exists() and but.exists() and path.samefile(but):
            continue
        try:
            document = read_document(path)
        except NotebookError:
            continue
        if tasks_of(document):
            yield path.stem, document
