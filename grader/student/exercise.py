"""On a student's machine: a notebook somebody works in, beside what was handed out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.notebook import NotebookError
from grader.recognition import recognise
from grader.student.document import Document, read_document
from grader.student.task import Task, tasks_of
from grader.text import inert

#: The folders that hold notebooks as they were handed out: of a student's repository, of a course.
_HANDED_OUT = (".handout", "assignments")
_NOTEBOOKS = "[0-9][0-9]_*.ipynb"
_NEEDS_NO_QUOTES = re.compile(r"[\w./\\:-]+")


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
        name = inert(str(self.document.path))
        short = name.removesuffix(".ipynb")
        return short if _NEEDS_NO_QUOTES.fullmatch(short) else f'"{name}"'

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


def find_notebook(argument: str) -> Path:
    """The notebook that an argument names: its path, with or without the suffix, or how its name begins.

    Raises:
        GraderError: there is none, or several; the text names the nearest.
    """
    path = Path(argument)
    for candidate in (path, path.with_name(f"{path.name}.ipynb")) if path.name else (path,):
        if candidate.is_file() or candidate.is_symlink():
            return candidate
    if path.is_dir():
        raise GraderError(f"{inert(argument)} is a folder: name a notebook in it, such as {_example(path)}.")
    beside = sorted(one.name for one in path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
    begun = [name for name in beside if name.startswith(path.name)]
    if len(begun) == 1:
        return path.parent / begun[0]
    near = [name for name in beside if path.name.casefold() in name.casefold()] or difflib.get_close_matches(
        path.name, beside, n=3, cutoff=0.4
    )
    if near:
        raise GraderError(
            f"there is no notebook {inert(argument)}: did you mean {' or '.join(map(inert, near))}?"
        )
    raise GraderError(
        f"there is no notebook {inert(argument)}: go to the folder that holds yours,"
        f" and name it as it is there, such as {_example(path.parent)}."
    )


def open_exercise(path: Path) -> Exercise:
    """Read a notebook and what was handed out for it.

    Raises:
        NotebookError: it cannot be read.
        GraderError: it belongs to no assignment that was handed out, and carries no public checks.
    """
    document = read_document(path)
    near = dict(_handed_out_near(path))
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


def question_handed_out(path: Path, question: str) -> Task | None:
    """A question of what was handed out under a notebook's name, also where that notebook cannot be read."""
    document = dict(_handed_out_near(path)).get(path.stem)
    tasks = tasks_of(document) if document else ()
    return next((task for task in tasks if task.id == question), None)


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks of a course in a folder, by name; a notebook stands for itself.

    Raises:
        GraderError: there is no such folder, or none in it.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise GraderError(f"there is no folder {inert(str(folder))}: name the one that holds your notebooks.")
    found = sorted(folder.glob(_NOTEBOOKS))
    if not found:
        raise GraderError(
            f"there is no notebook such as 01_name.ipynb in {inert(str(folder.resolve()))}:"
            " go to the folder that holds yours, or name it."
        )
    return found


def is_notebook(path: Path) -> bool:
    """Whether a file is called as notebooks of a course are."""
    return path.match(_NOTEBOOKS)


def _example(folder: Path) -> str:
    names = sorted(path.name for path in folder.glob(_NOTEBOOKS)) if folder.is_dir() else []
    return inert(str(folder / (names or ["01_name.ipynb"])[0]))


def _handed_out_near(path: Path) -> Iterator[tuple[str, Document]]:
    """What the nearest folder of handed-out notebooks holds, by stem; never the notebook itself."""
    here = path.absolute().parent
    for folder in (above / name for above in (here, *here.parents) for name in _HANDED_OUT):
        found = list(_readable(folder.glob(_NOTEBOOKS), but=path)) if folder.is_dir() else []
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
