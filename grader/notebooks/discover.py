"""The files with a notebook's name below the folder of submissions, before anything is read."""

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
RELEASE_MANIFEST = ".handout/release.json"
"""What a release leaves among the files of students."""
_APPLE_DOUBLE = "._"


def is_notebook(name: str) -> bool:
    """Whether a file has the name of a notebook."""
    return NOTEBOOK.fullmatch(name) is not None and not name.startswith(_APPLE_DOUBLE)


def notebook_stem(name: str) -> str:
    """A notebook's file name without its suffixes; any other name as it is."""
    named = NOTEBOOK.fullmatch(name)
    return named["stem"] if named else name


@dataclass(frozen=True, slots=True)
class FoundNotebook:
    """A notebook on the disk, or a folder that may hold notebooks and cannot be listed (its `problem`).

    Attributes:
        raw_relative: its path below the folder of submissions, as the file system has it.
        modified: nanoseconds since 1970.
    """

    path: Path
    raw_relative: str
    modified: int
    problem: str | None

    @property
    def stem(self) -> str:
        return self.path.name if self.problem else notebook_stem(self.path.name)

    @property
    def student(self) -> str:
        first, slash, _ = self.raw_relative.partition("/")
        return first if slash else self.stem

    @property
    def relative(self) -> str:
        """Its path below the folder of submissions, fit to be shown."""
        return printable(self.raw_relative)


def find_notebooks(folder: Path) -> list[FoundNotebook]:
    """Every notebook below the folder, in the order of their paths.

    Raises:
        GraderError: There is no such folder, or no notebook in it.
    """
    notebooks = sorted(_walk(folder), key=lambda item: item.raw_relative)
    if not notebooks:
        raise GraderError(f"There is no notebook below {folder}: put a folder for every student into it.")
    return notebooks


def _walk(folder: Path) -> Iterator[FoundNotebook]:
    """The notebooks below the folder; without recursion, for a student decides how deep folders are."""
    pending = [(folder, "")]
    while pending:
        path, relative = pending.pop()
        try:
            with os.scandir(path) as listing:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
        except OSError as error:
            yield _unlistable(path, relative, error)
            continue
        for name, is_folder in entries:
            inner, inner_relative = path / name, f"{relative}/{name}" if relative else name
            if is_folder and name not in SKIPPED_FOLDERS:
                pending.append((inner, inner_relative))
            elif not is_folder and is_notebook(name):
                yield FoundNotebook(inner, inner_relative, _modified(inner), problem=None)


def _unlistable(path: Path, relative: str, error: OSError) -> FoundNotebook:
    """A folder that cannot be listed, with its problem.

    Raises:
        GraderError: it is the folder of submissions.
    """
    reason = f"cannot be read ({error.strerror})"
    if not relative:
        raise GraderError(f"{path} {reason}: name the folder that holds the submissions.") from error
    problem = f"{printable(relative)} {reason}: make the folder readable and grade again."
    return FoundNotebook(path, relative, modified=0, problem=problem)


def _modified(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:  # it has gone meanwhile, which its reader will report
        return 0
