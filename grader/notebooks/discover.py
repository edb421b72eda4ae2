"""What lies below the folder of submissions under a notebook's name, before anything is read."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.text import printable

# Browsers append a suffix to what they take for text.
NOTEBOOK = re.compile(
    r"(?P<stem>.*)(?P<suffix>\.ipynb(?:\.txt|\.json)?)", re.ASCII | re.DOTALL | re.IGNORECASE
)
SKIPPED_FOLDERS = frozenset({".git", ".handout", ".ipynb_checkpoints", "__MACOSX"})
"""Folders in which no submission lies: what git, a release, Jupyter and macOS keep in them."""
_APPLE_DOUBLE = "._"


def is_notebook(name: str) -> bool:
    """Whether a file is called as notebooks are."""
    return NOTEBOOK.fullmatch(name) is not None and not name.startswith(_APPLE_DOUBLE)


def notebook_stem(name: str) -> str:
    """A notebook's file name without its suffixes; any other name as it is."""
    named = NOTEBOOK.fullmatch(name)
    return named["stem"] if named else name


@dataclass(frozen=True, slots=True)
class Found:
    """A notebook on the disk, or a folder that may hide one because it cannot be listed (its `problem`)."""

    path: Path
    place: str
    modified: int
    problem: str | None

    @property
    def stem(self) -> str:
        return self.path.name if self.problem else notebook_stem(self.path.name)

    @property
    def student(self) -> str:
        first, slash, _ = self.place.partition("/")
        return first if slash else self.stem

    @property
    def relative(self) -> str:
        return printable(self.place)


def find_notebooks(folder: Path) -> list[Found]:
    """Return every notebook below the folder, by its place there.

    Raises:
        GraderError: There is no such folder, or no notebook in it.
    """
    found = sorted(_walk(folder), key=lambda item: item.place)
    if not found:
        raise GraderError(f"There is no notebook below {folder}: put a folder for every student into it.")
    return found


def _walk(folder: Path) -> Iterator[Found]:
    """Yield what is found below the folder; not recursive, as a stranger decides how deep it is."""
    pending = [(folder, "")]
    while pending:
        path, place = pending.pop()
        try:
            with os.scandir(path) as listing:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
        except OSError as error:
            yield _unlistable(path, place, error)
            continue
        for name, is_folder in entries:
            inner, inner_place = path / name, f"{place}/{name}" if place else name
            if is_folder and name not in SKIPPED_FOLDERS:
                pending.append((inner, inner_place))
            elif not is_folder and is_notebook(name):
                yield Found(inner, inner_place, _modified(inner), problem=None)


def _unlistable(path: Path, place: str, error: OSError) -> Found:
    """Return a folder that cannot be listed as something found; without the outermost there is nothing."""
    reason = f"cannot be read ({error.strerror})"
    if not place:
        raise GraderError(f"{path} {reason}: name the folder that holds the submissions.") from error
    problem = f"{printable(place)} {reason}: make the folder readable and grade again."
    return Found(path, place, modified=0, problem=problem)


def _modified(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:  # It has gone meanwhile, which its reader will report.
        return 0
