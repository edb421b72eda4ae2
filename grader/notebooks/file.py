"""The file of a notebook: its bytes, read without blocking and without following a link."""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.errors import GraderError
from grader.text import printable

MAX_FILE_BYTES = 100 * 1024**2
CLEAR_OUTPUTS = "Clear all its outputs in Jupyter, save it and hand it in anew."

Kind = Literal["unreadable", "too large", "empty", "merge conflict", "damaged", "other"]


class NotebookError(GraderError):
    """A file that was handed in is no notebook that can be read; the text says why and what to do.

    Args:
        advice: what to do about it before the notebook is handed in.
        kind: for advice to a student who works in the notebook.
    """

    sha256: str | None = None
    """The hash of the file, where its bytes could be read."""

    def __init__(self, problem: str, advice: str = "", kind: Kind = "other") -> None:
        super().__init__(f"{problem} {advice}".rstrip())
        self.problem = problem
        self.kind = kind


@dataclass(frozen=True, slots=True)
class NotebookFile:
    """What lies under a notebook's name: that name, fit to be shown, the bytes and their hash."""

    name: str
    content: bytes
    sha256: str


def read_file(path: Path) -> NotebookFile:
    """Read the bytes of a notebook; never blocks and never follows a link.

    Raises:
        NotebookError: The file cannot be read or exceeds a cap.
    """
    name = printable(path.name)
    try:
        # Even to open a device can have effects, so the path is looked at first; a file that takes its
        # place meanwhile is noticed by the second look.
        _require_plain(path.lstat(), name)
        with open(path, "rb", opener=_open_without_following) as file:
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


def _open_without_following(path: str, flags: int) -> int:
    """Open a file, but neither through a link nor waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _require_plain(status: os.stat_result, name: str) -> None:
    """Refuse what is not an ordinary file of a sensible size."""
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
