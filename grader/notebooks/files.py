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
_NO_STUDENTS = (".", "__")  # how folders begin that hold what tools keep
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
    """A notebook on the disk, or a folder without one that a student has to answer for (its `problem`)."""

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


def find_notebooks(folder: Path, skipped: str = "") -> list[FoundNotebook]:
    """Every notebook below the folder, in the order of their paths.

    Folders that cannot be listed, and students' folders that hold other files only or are links, are among
    them.

    Args:
        skipped: the name of a folder in it that is no student's.

    Raises:
        GraderError: there is no such folder, or no notebook in it.
    """
    notebooks: list[FoundNotebook] = []
    others: dict[str, tuple[int, str]] = {}  # by student: how many other files, and the first of them
    for path, relative, unlisted in _walk(folder, skipped):
        student, slash, inner = relative.partition("/")
        problem = unlisted or _problem_of_link(path, relative)
        if problem or is_notebook(path.name):
            notebooks.append(FoundNotebook(path, relative, 0 if problem else _modified(path), problem))
        elif slash and not (path.name.startswith(".") or student.startswith(_NO_STUDENTS)):
            count, first = others.get(student, (0, inner))
            others[student] = count + 1, min(first, inner)
    if not notebooks:
        raise GraderError(f"There is no notebook below {folder}: put a folder for every student into it.")
    students = {notebook.student for notebook in notebooks}
    for student, (count, first) in others.items():
        if student not in students:
            more = "" if count == 1 else f" and {count - 1} more"
            problem = (
                f"{printable(student)} holds no notebook, only {printable(first)}{more}:"
                " hand in the notebook itself, a file whose name ends in .ipynb."
            )
            notebooks.append(FoundNotebook(folder / student, student, 0, problem))
    return sorted(notebooks, key=lambda notebook: notebook.raw_relative)


def _problem_of_link(path: Path, relative: str) -> str | None:
    """Why a student's folder is not read that is a link to one, or to nothing; None for anything else."""
    is_students = "/" not in relative and not (is_notebook(relative) or relative.startswith(_NO_STUDENTS))
    if not is_students or not path.is_symlink() or path.is_file():
        return None
    return (
        f"{printable(relative)} is a link, and links are not followed:"
        " put the folder itself in its place and grade again."
    )


def _walk(folder: Path, skipped: str) -> Iterator[tuple[Path, str, str | None]]:
    """Files below the folder and folders that cannot be listed: path, path below the folder, problem.

    Without recursion, because a student decides how deep folders are.

    Raises:
        GraderError: the folder itself cannot be listed.
    """
    pending = [(folder, "")]
    while pending:
        path, relative = pending.pop()
        try:
            with os.scandir(path) as listing:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
            if not relative:
                raise GraderError(f"{path} {reason}: name the folder that holds the submissions.") from error
            yield path, relative, f"{printable(relative)} {reason}: make it readable and grade again."
            continue
        for name, is_folder in entries:
            inner, inner_relative = path / name, f"{relative}/{name}" if relative else name
            if not is_folder:
                yield inner, inner_relative, None
            elif name not in SKIPPED_FOLDERS and inner_relative != skipped:
                pending.append((inner, inner_relative))


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
