"""Finds a student's notebooks, by name or in a folder; advice where one cannot be read."""

from __future__ import annotations

import difflib
import os
import re
from contextlib import suppress
from pathlib import Path

from grader.errors import GraderError
from grader.notebooks.document import read_document
from grader.notebooks.files import NotebookError
from grader.text import inert, inert_line

#: The names of a course's notebooks.
NOTEBOOKS = "[0-9][0-9]_*.ipynb"
_STEM = re.compile(r"\d\d_\w+")
_NEEDS_NO_QUOTES = re.compile(r"[\w./\\:-]+")
_SUFFIXES = (".ipynb", ".ipynb.txt", ".ipynb.json")
_SAVE_AGAIN = "If it is open in Jupyter, save it there once more."
#: What may bring a student's work back, by the kind of a NotebookError.
_REPAIRS = {
    "merge conflict": "Take one of the two versions, `git checkout --ours {file}` or `git checkout --theirs"
    " {file}`, then `git add {file}`.",
    "empty": _SAVE_AGAIN,
    "damaged": f"{_SAVE_AGAIN} `git log {{file}}` names older ones.",
    "unreadable": "See to it that you may read it, then run this again.",
    "too large": "Clear all its outputs in Jupyter, and save it.",
}


def argument_of(path: Path) -> str:
    """A notebook as an argument of a command."""
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
    beside = sorted(other.name for other in path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
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
    """The notebooks of a course in a folder, by name; of a notebook, itself.

    Raises:
        GraderError: there is no such folder, or none in it.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise GraderError(f"there is no folder {inert(str(folder))}: name the one that holds your notebooks.")
    paths = sorted(folder.glob(NOTEBOOKS), key=lambda path: path.stem)  # `01_x-Copy1` comes after `01_x`
    if not paths:
        renamed = [f" {inert(path.name)} answers {inert(stem)}." for path, stem in find_renamed(folder)[:3]]
        raise GraderError(
            f"there is no notebook such as 01_name.ipynb in {inert(str(folder.resolve()))}:"
            f" go to the folder that holds yours, or name it.{''.join(renamed)}"
        )
    return paths


def find_renamed(folder: Path) -> list[tuple[Path, str]]:
    """Notebooks of the course under other names, known by their metadata, each with its assignment."""
    renamed: list[tuple[Path, str]] = []
    for path in sorted(folder.glob("*.ipynb")):
        if is_course_notebook(path) or path.name.startswith("."):
            continue
        with suppress(NotebookError):
            stem = read_document(path).notebook.assignment
            if stem and _STEM.fullmatch(stem):
                renamed.append((path, stem))
    return renamed


def is_course_notebook(path: Path) -> bool:
    """Whether a file has a name as notebooks of a course have."""
    return path.match(NOTEBOOKS)


def example(folder: Path) -> str:
    """A notebook of a folder, or a made-up name."""
    names = sorted(path.name for path in folder.glob(NOTEBOOKS)) if folder.is_dir() else []
    return inert(str(folder / (names or ["01_name.ipynb"])[0]))


class UnreadableError(GraderError):
    """A student's notebook cannot be read; the text says why, and how to go on."""


def unreadable_error(
    path: Path, why: NotebookError, handed_out: Path | None, example: str
) -> UnreadableError:
    """The error of a notebook, with advice to the student who works in it.

    Args:
        why: its own advice is for a notebook that was handed in.
        handed_out: the notebook as it was handed out, where it lies near.
        example: a notebook that could have been meant.
    """
    name = inert_line(path.name)
    if not name.endswith(_SUFFIXES):
        return UnreadableError(f"{name} is no notebook: name one, such as {example}")
    repair, again = _REPAIRS.get(why.kind, "").format(file=_quoted(str(path))), _again(path, handed_out)
    advice = f"{repair} Or {again}" if repair else f"{again[0].upper()}{again[1:]}"
    return UnreadableError(f"{inert_line(why.problem)} {advice}")


def _again(path: Path, handed_out: Path | None) -> str:
    if handed_out is None or not handed_out.is_file():
        return "get the notebook anew from where the course is handed out."
    is_near = handed_out.anchor == Path.cwd().anchor  # between two drives of Windows there is no way
    origin = os.path.relpath(handed_out) if is_near else str(handed_out)
    return f"begin again: move it aside, and copy {_quoted(origin)} to {_quoted(str(path))}."


def _quoted(name: str) -> str:
    name = inert_line(name)
    return f'"{name}"' if " " in name else name
