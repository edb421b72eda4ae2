"""What a source holds, as strangers named it, and whose the notebooks in it are.

No file is read before it is asked for.
"""

from __future__ import annotations

import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from grader.notebooks.files import MAX_FILE_BYTES, is_notebook
from grader.text import terminal_text

METADATA = "submission_metadata.yml"
"""The file in which Gradescope says whose its folders are."""

# At the top of a student's repository; a download has no `.git`, and a student cannot commit one.
_GIT = ".git"
REPOSITORY = frozenset({_GIT, ".handout"})
_ARCHIVE = re.compile(r".*\.(?:zip|tar|tgz|gz|bz2|xz|7z|rar)", re.DOTALL | re.IGNORECASE)
MOST_NAMED = 20  # in one sentence
_LONGEST_SHOWN = 200
_MINUTE = 60 * 10**9

TOO_LARGE = f"is larger than {MAX_FILE_BYTES >> 20} MiB"

Parts = tuple[str, ...]
"""The names of folders, then of the file, below the source."""

Skipped = tuple[str, str]
"""A path in a source, and why it was not taken, as the end of a sentence."""


class UnreadableError(Exception):
    """A file cannot be read; the text says why, as the end of a sentence."""


@dataclass(frozen=True)
class SourceFile:
    """A notebook in a source; `read` raises UnreadableError where it cannot be read."""

    parts: Parts  # below the folder that wraps everything
    path: str  # below the source, fit to be shown
    modified: int  # nanoseconds since 1970
    size: int  # bytes, as the source says before it is read
    read: Callable[[], bytes]


@dataclass(frozen=True)
class Owner:
    """A student, as a source names them."""

    name: str
    identity: str  # tells students of one name within the scope apart
    scope: str = ""  # a system, or the clones of an assignment
    id: str = ""  # the identity, where people know it


@dataclass(frozen=True)
class OwnedNotebook:
    """A notebook, and whose it is."""

    file: SourceFile
    owner: Owner
    name: str  # as the student called the file
    modified: int
    attempt: int = 0  # where a system counts them

    @property
    def rank(self) -> tuple[int, int, int, Parts]:
        """Orders the versions of a notebook; the greatest is the latest."""
        return self.modified, self.attempt, -len(self.file.parts), self.file.parts


@dataclass
class Attribution:
    """Whose the notebooks of a source are."""

    notebooks: list[OwnedNotebook]
    notes: list[str]  # how students were named, for a person to check
    empty: list[str]  # students whose folders hold no notebook
    wrapper: Parts = ()  # the folder around all students' folders; a student may have chosen its name


@dataclass
class Source:
    """Everything in a zip or a folder that matters."""

    is_archive: bool
    files: list[SourceFile] = field(default_factory=list)  # the notebooks
    metadata: dict[Parts, SourceFile] = field(default_factory=dict)  # Gradescope's, by their folder
    repositories: set[Parts] = field(default_factory=set)  # folders that are clones, or copies of clones
    clones: set[Parts] = field(default_factory=set)  # folders that git has made for certain
    folders: set[Parts] = field(default_factory=set)  # one or two names deep, that hold any file
    skipped: list[Skipped] = field(default_factory=list)  # look handed in, and are not taken

    def mark(self, folder: Parts, name: str) -> None:
        """Note what a name in a folder tells of the folder."""
        if folder and name in REPOSITORY:
            self.repositories.add(folder)
            if name == _GIT:
                self.clones.add(folder)

    def skip(self, parts: Parts, reason: str) -> None:
        """Note a file that is not taken, if it looks handed in."""
        if is_notebook(parts[-1]) or _ARCHIVE.fullmatch(parts[-1]):
            self.skipped.append((path_text(parts), reason))

    def add(self, parts: Parts, modified: int, size: int, read: Callable[[], bytes]) -> None:
        """Take an ordinary file for what its name says."""
        for depth in range(1, min(len(parts), 3)):
            self.folders.add(parts[:depth])
        name = parts[-1]
        file = SourceFile(parts, path_text(parts), modified, size, read)
        if name == METADATA and len(parts) <= 2:
            self.metadata[parts[:-1]] = file
        elif not is_notebook(name):
            self.skip(parts, "is an archive: unpack it, and collect what was in it")
        elif size > MAX_FILE_BYTES:
            self.skip(parts, TOO_LARGE)
        else:
            self.files.append(file)

    def below(self, root: Parts) -> Source:
        """The same source, seen from a folder that holds everything in it."""
        depth = len(root)

        def inner(folders: Iterable[Parts]) -> set[Parts]:
            return {folder[depth:] for folder in folders if len(folder) > depth}

        return replace(
            self,
            files=[replace(file, parts=file.parts[depth:]) for file in self.files],
            repositories=inner(self.repositories),
            clones=inner(self.clones),
            folders=inner(self.folders),
        )

    def date_clones(self, committed: Callable[[Parts], Mapping[Parts, int]]) -> None:
        """Give the notebooks of clones the times of their commits, by their paths in the clone.

        Where nothing is committed, all files written within a minute get one time: their own times say only
        in which order git wrote them.
        """
        clones: dict[Parts, list[SourceFile]] = defaultdict(list)
        for file in self.files:
            above = (file.parts[:depth] for depth in range(1, len(file.parts)))
            if clone := next((folder for folder in above if folder in self.repositories), None):
                clones[clone].append(file)
        times: dict[Parts, int] = {}
        for clone, files in clones.items():
            commits = committed(clone)
            newest = max(file.modified for file in files)
            for file in files:
                is_fresh = not commits and newest - file.modified < _MINUTE
                written = newest if is_fresh else file.modified
                times[file.parts] = commits.get(file.parts[len(clone) :], written)
        self.files = [replace(file, modified=times.get(file.parts, file.modified)) for file in self.files]


def not_ordinary(mode: int) -> str | None:
    """Why what has this mode is no ordinary file, as the end of a sentence; None for one."""
    if stat.S_ISLNK(mode):
        return "is a link, and links are not followed"
    return None if stat.S_ISREG(mode) else "is not an ordinary file"


def path_text(parts: Parts) -> str:
    """Where something lies below a source, fit to be shown."""
    path = terminal_text("/".join(parts))
    return path if len(path) <= _LONGEST_SHOWN else f"{path[:_LONGEST_SHOWN]}..."
