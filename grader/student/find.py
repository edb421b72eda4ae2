"""Finds a student's notebooks: by an argument of a command, or in a folder."""

from __future__ import annotations

import difflib
from pathlib import Path

from grader.errors import GraderError
from grader.notebooks.files import is_notebook
from grader.student.notebook import NOTEBOOKS, assignment_of
from grader.text import terminal_text


def find_notebook(argument: str) -> Path:
    """The notebook that an argument names.

    That is its path, with or without the suffix, or how its name begins, or the assignment that it answers.

    Raises:
        GraderError: there is none, or several; the text names the nearest.
    """
    path = Path(argument)
    for candidate in (path, path.with_name(f"{path.name}.ipynb")) if path.name else (path,):
        if candidate.is_file() or candidate.is_symlink():
            if is_notebook(candidate.name):
                return candidate
            name = terminal_text(candidate.name)
            raise GraderError(f"{name} is no notebook: name one, such as {_example(candidate.parent)}")
    if path.is_dir():
        raise GraderError(
            f"{terminal_text(argument)} is a folder: name a notebook in it, such as {_example(path)}."
        )
    begun, names = path.name.removesuffix(".ipynb"), {}
    if path.parent.is_dir():
        names = {other.name: assignment_of(other) or "" for other in sorted(path.parent.glob("*.ipynb"))}
    named = [name for name in names if name.startswith(path.name)]
    near = named or [name for name, stem in names.items() if begun and stem.startswith(begun)]
    if len(near) == 1:
        return path.parent / near[0]
    near = (
        near
        or [name for name in names if path.name.casefold() in name.casefold()]
        or difflib.get_close_matches(path.name, names, n=3, cutoff=0.4)
    )
    if near:
        raise GraderError(
            f"there is no notebook {terminal_text(argument)}:"
            f" did you mean {' or '.join(map(terminal_text, near))}?"
        )
    raise GraderError(
        f"there is no notebook {terminal_text(argument)}: go to the folder that holds yours,"
        f" and name it as it is there, such as {_example(path.parent)}."
    )


def notebooks_in(folder: Path) -> dict[Path, str]:
    """The notebooks of a course in a folder, each with the assignment it answers; of a notebook, itself.

    They are in the order of assignments; of each the notebook that is named so comes first.

    Raises:
        GraderError: there is no such folder, or none in it.
    """
    if not folder.exists():
        raise GraderError(
            f"there is no folder {terminal_text(str(folder))}: name the one that holds your notebooks."
        )
    if folder.is_file():
        return {folder: assignment_of(folder) or folder.stem}
    found = [(path, assignment_of(path)) for path in folder.glob("*.ipynb") if not path.name.startswith(".")]
    known = sorted((stem, path.stem != stem, path) for path, stem in found if stem)
    if not known:
        raise GraderError(
            f"there is no notebook such as 01_name.ipynb in {terminal_text(str(folder.resolve()))}:"
            " go to the folder that holds yours, or name it."
        )
    return {path: stem for stem, _, path in known}


def _example(folder: Path) -> str:
    """A notebook of a folder, or a made-up name."""
    names = sorted(path.name for path in folder.glob(NOTEBOOKS))
    return terminal_text(str(folder / (names or ["01_name.ipynb"])[0]))
