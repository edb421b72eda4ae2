"""The files of notebooks: which lie below a folder, and what is in one, read without following a link."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
MAX_FILE_BYTES = 100 * 1024**2
CLEAR_OUTPUTS = "Clear all its outputs in Jupyter, save it and hand it in anew."

Kind = Literal["unreadable", "too large", "empty", "merge conflict", "damaged", "other"]


class NotebookError(GraderError):
    """A file cannot be read as a notebook; the text says why and what to do.

    Args:
        advice: what to do before the notebook is handed in.
        kind: for advice to a student who works in the notebook.
    """

    sha256: str | None = None
    """The hash of the file, where its bytes could be read."""

    def __init__(self, problem: str, advice: str = "", kind: Kind = "other") -> None:
        super().__init__(f"{problem} {advice}".rstrip())
        self.problem = problem
        self.kind = kind


def is_notebook(name: str) -> bool:
    """Whether a file has the name of a notebook; ``._x.ipynb`` is macOS's own file about ``x.ipynb``."""
    return NOTEBOOK.fullmatch(name) is not None and not name.startswith("._")


def notebook_stem(name: str) -> str:
    """A notebook's file name without its suffixes; any other name as it is."""
    named = NOTEBOOK.fullmatch(name)
    return named["stem"] if named else name


@dataclass(frozen=True, slots=True)
class FoundNotebook:
    """A notebook on the disk, or a folder that cannot be listed and may hold notebooks (its `problem`)."""

    path: Path
    raw_relative: str  # below the folder of submissions, as the file system has it
    modified: int  # nanoseconds since 1970
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
        GraderError: there is no such folder, or no notebook in it.
    """
    notebooks = sorted(_walk(folder), key=lambda item: item.raw_relative)
    if not notebooks:
        raise GraderError(f"There is no notebook below {folder}: put a folder for every student into it.")
    return notebooks


def _walk(folder: Path) -> Iterator[FoundNotebook]:
    """The notebooks below the folder; without recursion, because a student decides how deep folders are."""
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


@dataclass(frozen=True, slots=True)
class NotebookFile:
    """A notebook's name, fit to be shown, its bytes and their hash."""

    name: str
    content: bytes
    sha256: str


def read_file(path: Path) -> NotebookFile:
    """Read the bytes of a notebook; never blocks and never follows a link.

    Raises:
        NotebookError: the file cannot be read or is larger than `MAX_FILE_BYTES`.
    """
    name = printable(path.name)
    try:
        # Even opening a device can have effects, so the path is looked at first; the second look notices
        # another file that was put there meanwhile.
        _require_plain(path.lstat(), name)
        with open(path, "rb", opener=open_without_following) as file:
            status = os.fstat(file.fileno())
            _require_plain(status, name)
            content = file.read(status.st_size)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is no file name"
        raise NotebookError(
            f"{name} cannot be read ({reason}).",
            "See to it that it exists and may be read, then grade again.",
            "unreadable",
        ) from error
    return NotebookFile(name, content, hashlib.sha256(content).hexdigest())


def open_without_following(path: str, flags: int) -> int:
    """Open a file, but neither through a link nor waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _require_plain(status: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise NotebookError(f"{name} is a link, and links are not followed.", "Hand in the notebook itself.")
    if stat.S_ISDIR(status.st_mode):
        raise NotebookError(f"{name} is a folder, not a notebook.", "Hand in the notebook that lies in it.")
    if not stat.S_ISREG(status.st_mode):
        raise NotebookError(f"{name} is a pipe, a socket or a device.", "Hand in the notebook itself.")
    if status.st_size > MAX_FILE_BYTES:
        raise NotebookError(
            f"{name} is larger than {MAX_FILE_BYTES // 1024**2} MiB.", CLEAR_OUTPUTS, "too large"
        )
