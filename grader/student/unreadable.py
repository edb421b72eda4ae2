"""On a student's machine: what to do about a notebook that cannot be read, for somebody who works in it."""

from __future__ import annotations

import os
from pathlib import Path

from grader.errors import GraderError
from grader.notebooks.reader import NotebookError
from grader.student.wording import shown

_SUFFIXES = (".ipynb", ".ipynb.txt", ".ipynb.json")


class UnreadableError(GraderError):
    """A notebook that somebody works in cannot be read; the text says why, and how to get on."""


def unreadable(path: Path, why: NotebookError, handed_out: Path | None, example: str) -> UnreadableError:
    """The error of a notebook, with advice for the folder it lies in.

    Args:
        path: the file.
        why: what reading it said; its own advice is for somebody who hands in, so it is left out.
        handed_out: the notebook as it was handed out, or None where it does not lie near.
        example: a notebook that could have been meant.
    """
    name = shown(path.name)
    if not name.endswith(_SUFFIXES):
        return UnreadableError(f"{name} is no notebook: name one, such as {example}")
    said = str(why).removeprefix(name)  # a name may hold the end of a sentence
    problem = f"{name}{said.partition('. ')[0].partition(': see to it')[0].removesuffix('.')}."
    mending, again = _mending(problem, _quoted(str(path))), _again(path, handed_out)
    advice = f"{mending} Or {again}" if mending else f"{again[0].upper()}{again[1:]}"
    return UnreadableError(f"{problem} {advice}")


def _mending(problem: str, file: str) -> str:
    """What may bring the work back."""
    if "merge conflict" in problem:
        ours, theirs = (f"`git checkout --{version} {file}`" for version in ("ours", "theirs"))
        return f"Take one of the two versions, {ours} or {theirs}, then `git add {file}`."
    if problem.endswith("is empty."):
        return "If it is open in Jupyter, save it there once more."
    if "is not a notebook" in problem:
        return f"If it is open in Jupyter, save it there once more. `git log {file}` names older ones."
    if "cannot be read" in problem:
        return "See to it that you may read it, then run this again."
    if "larger" in problem or "millions" in problem:
        return "Clear all its outputs in Jupyter, and save it."
    return ""


def _again(path: Path, handed_out: Path | None) -> str:
    if handed_out is None or not handed_out.is_file():
        return "get the notebook anew from where the course is handed out."
    is_near = handed_out.anchor == Path.cwd().anchor  # between two drives of Windows there is no way
    origin = os.path.relpath(handed_out) if is_near else str(handed_out)
    return f"begin again: move it aside, and copy {_quoted(origin)} to {_quoted(str(path))}."


def _quoted(name: str) -> str:
    name = shown(name)
    return f'"{name}"' if " " in name else name
