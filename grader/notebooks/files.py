"""Finds notebooks below a folder, and reads them without following links."""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.errors import GraderError
from grader.text import printable

# Browsers append a suffix to what they take for text.
NOTEBOOK = re.compile(
    r"(?P<stem>.*)(?P<suffix>\.ipynb(?:\.txt|\.json)?)", re.ASCII | re.DOTALL | re.IGNORECASE
)
NEVER_SUBMITTED = frozenset({".git", ".handout"})
"""Folders whose notebooks are not the student's: those of Git and of a release."""
NO_STUDENTS = (".", "__")
"""How the names of folders begin that tools make beside those of students."""
_PACKAGES = frozenset({"conda-meta", "dist-packages", "node_modules", "site-packages"})
_COPIES = re.compile(r"(?:^|[^a-z])(?:checkpoints?|recycled?r?|trash(?:es)?)(?:[^a-z]|$)")
_ENVIRONMENT = frozenset({"pyvenv.cfg", "conda-meta"})  # one of them is in each virtual environment
_OF_ENVIRONMENT = frozenset({"bin", "etc", "include", "lib", "lib64", "scripts", "share"})
RELEASE_MANIFEST = ".handout/release.json"
"""The file that a release writes among the students' files."""
MAX_FILE_BYTES = 100 * 1024**2
CLEAR_OUTPUTS = "Clear all its outputs in Jupyter, save it and submit it again."

Kind = Literal["unreadable", "too large", "empty", "merge conflict", "damaged", "other"]


class NotebookError(GraderError):
    """A file cannot be read as a notebook; the text says why and what to do.

    Args:
        advice: the steps to take before submitting the notebook.
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
    copy: str | None = None  # why it is a copy made by a tool, as the end of a sentence

    @property
    def stem(self) -> str:
        return self.path.name if self.problem else notebook_stem(self.path.name)

    @property
    def student(self) -> str:
        first, slash, _ = self.raw_relative.partition("/")
        return first if slash else self.stem

    @property
    def depth(self) -> int:
        """How many folders of the student's it is in."""
        return max(0, self.raw_relative.count("/") - 1)

    @property
    def relative(self) -> str:
        """Its path below the folder of submissions, fit to be shown."""
        return printable(self.raw_relative)


def copy_in(folder: str) -> str | None:
    """Why a notebook in a folder of this name is a copy made by a tool; None if it is not.

    The name decides by a rule, because there are too many tools to list: hidden folders and folders that
    begin as only tools' do, folders of packages, and folders for trash and checkpoints.
    """
    shown, plain = printable(folder), folder.casefold()
    if folder.startswith("."):
        return f"is in {shown}, a hidden folder"
    if folder.startswith(("__", "$", "@", "~")) or _COPIES.search(plain):
        return f"is in {shown}, a folder in which a tool keeps copies"
    return f"is in {shown}, a folder of installed packages" if plain in _PACKAGES else None


def copy_named(file: str) -> str | None:
    """The same for a notebook of this name: hidden, or named as Jupyter names a checkpoint."""
    if file.startswith("."):
        return "is a hidden file"
    return "has the name of a checkpoint" if notebook_stem(file).endswith("-checkpoint") else None


def is_environment(names: Collection[str]) -> bool:
    """Whether a folder that holds these names is a virtual environment."""
    return not _ENVIRONMENT.isdisjoint(names)


def copy_in_environment(folder: str, *, is_students: bool) -> str | None:
    """Why files in a folder of a virtual environment are copies made by a tool; None if they are not.

    Args:
        folder: its name; empty for the environment itself.
        is_students: whether the student's own folder is the environment, so that only folders which the
            environment has made are meant.
    """
    if is_students and folder.casefold() not in _OF_ENVIRONMENT:
        return None
    return "is in a virtual environment"


def find_notebooks(folder: Path, skipped: str = "") -> list[FoundNotebook]:
    """Every notebook below the folder, in the order of their paths.

    Folders that cannot be listed, and students' folders that hold other files only or are links, are among
    them. Folders beside those of students that a tool made (their names begin with a dot or two underscores)
    are not.

    Args:
        skipped: the name of a folder in it that is no student's.

    Raises:
        GraderError: there is no such folder, or no notebook in it.
    """
    notebooks: list[FoundNotebook] = []
    others: dict[str, tuple[int, str]] = {}  # by student: how many other files, and the first of them
    for path, relative, unlisted, copy in _walk(folder, skipped):
        student, slash, inner = relative.partition("/")
        problem = unlisted or _problem_of_link(path, relative)
        if problem or is_notebook(path.name):
            why = copy if problem else copy or copy_named(path.name)
            notebooks.append(FoundNotebook(path, relative, 0 if problem else _modified(path), problem, why))
        elif slash and copy is None and not path.name.startswith("."):
            count, first = others.get(student, (0, inner))
            others[student] = count + 1, min(first, inner)
    if not notebooks:
        raise GraderError(f"{folder} contains no notebooks: put a folder for each student into it.")
    students = {notebook.student for notebook in notebooks}
    for student, (count, first) in others.items():
        if student not in students:
            more = "" if count == 1 else f" and {count - 1} more"
            problem = (
                f"{printable(student)} holds no notebook, only {printable(first)}{more}:"
                " submit the notebook itself, a file whose name ends in .ipynb."
            )
            notebooks.append(FoundNotebook(folder / student, student, 0, problem))
    return sorted(notebooks, key=lambda notebook: notebook.raw_relative)


def _problem_of_link(path: Path, relative: str) -> str | None:
    """Why a student's folder is not read that is a link to one, or to nothing; None for anything else."""
    is_students = "/" not in relative and not (is_notebook(relative) or relative.startswith(NO_STUDENTS))
    if not is_students or not path.is_symlink() or path.is_file():
        return None
    return (
        f"{printable(relative)} is a link, and links are not followed:"
        " put the folder itself in its place and grade again."
    )


def _walk(folder: Path, skipped: str) -> Iterator[tuple[Path, str, str | None, str | None]]:
    """Files below the folder and folders that cannot be listed.

    Each with its path, its path below the folder, the problem, and why it is a copy made by a tool.
    Without recursion, because a student decides how deep folders are.

    Raises:
        GraderError: the folder itself cannot be listed.
    """
    pending: list[tuple[Path, str, str | None]] = [(folder, "", None)]
    while pending:
        path, relative, copy = pending.pop()
        try:
            with os.scandir(path) as listing:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
            if not relative:
                raise GraderError(f"{path} {reason}: name the folder that holds the submissions.") from error
            yield path, relative, f"{printable(relative)} {reason}: make it readable and grade again.", copy
            continue
        is_students = "/" not in relative
        environment = bool(relative) and is_environment([name for name, _ in entries])
        if environment and copy is None:
            copy = copy_in_environment("", is_students=is_students)
        for name, is_folder in entries:
            inner, inner_relative = path / name, f"{relative}/{name}" if relative else name
            if not is_folder:
                yield inner, inner_relative, None, copy
            elif not relative:
                if name != skipped and not name.startswith(NO_STUDENTS):
                    pending.append((inner, inner_relative, None))
            elif name not in NEVER_SUBMITTED:
                of_environment = copy_in_environment(name, is_students=is_students) if environment else None
                pending.append((inner, inner_relative, copy or copy_in(name) or of_environment))


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
        reason = getattr(error, "strerror", None) or "its name is not a valid file name"
        raise NotebookError(
            f"{name} cannot be read ({reason}).",
            "Check that it exists and is readable, then grade again.",
            "unreadable",
        ) from error
    return NotebookFile(name, content, hashlib.sha256(content).hexdigest())


def open_without_following(path: str, flags: int) -> int:
    """Open a file, but neither through a link nor waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _require_plain(status: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise NotebookError(f"{name} is a link, and links are not followed.", "Submit the notebook itself.")
    if stat.S_ISDIR(status.st_mode):
        raise NotebookError(f"{name} is a folder, not a notebook.", "Submit the notebook that is in it.")
    if not stat.S_ISREG(status.st_mode):
        raise NotebookError(f"{name} is a pipe, a socket or a device.", "Submit the notebook itself.")
    if status.st_size > MAX_FILE_BYTES:
        raise NotebookError(
            f"{name} is larger than {MAX_FILE_BYTES // 1024**2} MiB.", CLEAR_OUTPUTS, "too large"
        )
