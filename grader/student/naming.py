"""On a student's machine: the notebooks of a folder, and what names one of them in a command."""

from __future__ import annotations

import difflib
import re
from contextlib import suppress
from pathlib import Path

from grader.errors import GraderError
from grader.notebooks.document import read_document
from grader.notebooks.reader import NotebookError
from grader.text import inert

#: What notebooks of a course are called.
NOTEBOOKS = "[0-9][0-9]_*.ipynb"
_STEM = re.compile(r"\d\d_\w+")
_NEEDS_NO_QUOTES = re.compile(r"[\w./\\:-]+")


def argument_of(path: Path) -> str:
    """What names a notebook in a command."""
    name = inert(str(path))
    short = name.removesuffix(".ipynb")
    return short if _NEEDS_NO_QUOTES.fullmatch(short) else f'"{name}"'


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
        raise GraderError(f"{inert(argument)} is a folder: name a notebook in it, such as {example(path)}.")
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
        f" and name it as it is there, such as {example(path.parent)}."
    )


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks of a course in a folder, by name; a notebook stands for itself.

    Raises:
        GraderError: there is no such folder, or none in it.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise GraderError(f"there is no folder {inert(str(folder))}: name the one that holds your notebooks.")
    found = sorted(folder.glob(NOTEBOOKS), key=lambda path: path.stem)  # `01_x-Copy1` comes after `01_x`
    if not found:
        renamed = [f" {inert(path.name)} answers {inert(stem)}." for path, stem in renamed_in(folder)[:3]]
        raise GraderError(
            f"there is no notebook such as 01_name.ipynb in {inert(str(folder.resolve()))}:"
            f" go to the folder that holds yours, or name it.{''.join(renamed)}"
        )
    return found


def renamed_in(folder: Path) -> list[tuple[Path, str]]:
    """The notebooks of a folder that only their metadata know as the course's, each with its assignment."""
    found: list[tuple[Path, str]] = []
    for path in sorted(folder.glob("*.ipynb")):
        if is_notebook(path) or path.name.startswith("."):
            continue
        with suppress(NotebookError):
            stem = read_document(path).notebook.assignment
            if stem and _STEM.fullmatch(stem):
                found.append((path, stem))
    return found


def is_notebook(path: Path) -> bool:
    """Whether a file is called as notebooks of a course are."""
    return path.match(NOTEBOOKS)


def example(folder: Path) -> str:
    """A notebook in a folder that could be meant, or one such as there might be."""
    names = sorted(path.name for path in folder.glob(NOTEBOOKS)) if folder.is_dir() else []
    return inert(str(folder / (names or ["01_name.ipynb"])[0]))
