"""Outside: what a source holds, as strangers named it; nothing is read before it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.notebooks.reader import MAX_FILE_BYTES
from grader.text import inert

MAX_NOTEBOOK_BYTES = MAX_FILE_BYTES
METADATA = "submission_metadata.yml"
"""The file in which Gradescope says whose its folders are."""

# What a student's repository has at its top. A download of one has no `.git`, and no student can commit one.
_GIT = ".git"
REPOSITORY = frozenset({_GIT, ".handout"})
SKIPPED = REPOSITORY | {".ipynb_checkpoints", "__MACOSX"}

# Browsers append a suffix to what they take for text; `grade` reads such notebooks too.
NOTEBOOK = re.compile(
    r"(?P<stem>.*)(?P<suffix>\.ipynb(?:\.txt|\.json)?)", re.ASCII | re.DOTALL | re.IGNORECASE
)
_ARCHIVE = re.compile(r".*\.(?:zip|tar|tgz|gz|bz2|xz|7z|rar)", re.DOTALL | re.IGNORECASE)
_APPLE_DOUBLE = "._"
MOST_NAMED = 20  # in one sentence
_LONGEST_SHOWN = 200

# Why something is not taken, as the end of a sentence, where sources of every kind have it.
A_LINK = "is a link, and links are not followed"
NOT_ORDINARY = "is not an ordinary file"
TOO_LARGE = f"is larger than {MAX_NOTEBOOK_BYTES >> 20} MiB"

Parts = tuple[str, ...]
"""The names of folders, then of the file, below the source."""


class UnreadableError(Exception):
    """A file cannot be had; the text says why, as the end of a sentence."""


@dataclass(frozen=True)
class SourceFile:
    """A notebook in a source.

    Attributes:
        place: where it lies.
        modified: nanoseconds since 1970.
        size: bytes, as the source says before it is read.
        read: gives its bytes, or raises UnreadableError.
        above: the folder around all of them that is left out of `place`.
    """

    place: Parts
    modified: int
    size: int
    read: Callable[[], bytes]
    above: Parts = ()

    @property
    def path(self) -> str:
        """Where it lies below the source, fit to be shown."""
        return shown((*self.above, *self.place))


@dataclass
class Source:
    """Everything in a source that matters.

    Attributes:
        is_archive: whether it is a zip, not a folder.
        items: the notebooks.
        metadata: Gradescope's files, by the folder they lie in.
        repositories: folders that are clones, or copies of them, as far as what lies in them tells.
        clones: those of them that git has made for certain.
        dated: those of them whose notebooks have the times of their last commits.
        folders: folders, one or two names deep, that hold any file.
        left: (place, why) of what looks handed in and is not taken.
    """

    is_archive: bool
    items: list[SourceFile] = field(default_factory=list)
    metadata: dict[Parts, SourceFile] = field(default_factory=dict)
    repositories: set[Parts] = field(default_factory=set)
    clones: set[Parts] = field(default_factory=set)
    dated: set[Parts] = field(default_factory=set)
    folders: set[Parts] = field(default_factory=set)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def mark(self, folder: Parts, name: str) -> None:
        """Note what a name in a folder tells of the folder."""
        if folder and name in REPOSITORY:
            self.repositories.add(folder)
            if name == _GIT:
                self.clones.add(folder)

    def leave(self, place: Parts, why: str) -> None:
        """Note what is not taken, if anybody will miss it."""
        if is_notebook(place[-1]) or _ARCHIVE.fullmatch(place[-1]):
            self.skipped.append((shown(place), why))

    def add(self, item: SourceFile) -> None:
        """Take an ordinary file for what its name says."""
        for depth in range(1, min(len(item.place), 3)):
            self.folders.add(item.place[:depth])
        name = item.place[-1]
        if is_notebook(name):
            self.items.append(item)
        elif name == METADATA and len(item.place) <= 2:
            self.metadata[item.place[:-1]] = item
        else:
            self.leave(item.place, "is an archive: unpack it, and collect what was in it")


def shown(place: Parts) -> str:
    """A place, fit to be shown."""
    path = inert("/".join(place))
    return path if len(path) <= _LONGEST_SHOWN else f"{path[:_LONGEST_SHOWN]}..."


def is_notebook(name: str) -> bool:
    """Whether a file is called as notebooks are."""
    return NOTEBOOK.fullmatch(name) is not None and not name.startswith(_APPLE_DOUBLE)


def stem_of(name: str) -> str:
    """A notebook's name without its suffixes."""
    parts = NOTEBOOK.fullmatch(name)
    return parts["stem"] if parts else name


@dataclass(frozen=True)
class Owner:
    """A student, as a source names one.

    Attributes:
        name: how the student is called.
        identity: what tells the student from others of that name within `scope`.
        scope: what one system has named: a zip, or the clones of one assignment.
        id: the identity, where people know it.
    """

    name: str
    identity: str
    scope: str = ""
    id: str = ""


@dataclass(frozen=True)
class OwnedNotebook:
    """A notebook and whose it is.

    Attributes:
        item: the notebook.
        owner: the student.
        name: what it is called.
        rank: which of several is the latest, where it was handed in several times under one name.
        modified: nanoseconds since 1970.
    """

    item: SourceFile
    owner: Owner
    name: str
    modified: int
    attempt: int = 0

    @property
    def rank(self) -> tuple[int, int, int, Parts]:
        """Orders versions of one notebook; the greatest is the latest."""
        return self.modified, self.attempt, -len(self.item.place), self.item.place


@dataclass
class Attribution:
    """All that was handed in.

    Attributes:
        notebooks: whose they are.
        notes: what a person should know of how students were named.
        empty: folders of students that hold no notebook.
        guessed: owners whose names a student may have chosen, and where theirs lies below the source.
    """

    notebooks: list[OwnedNotebook]
    notes: list[str]
    empty: list[str]
    guessed: dict[Owner, Parts] = field(default_factory=dict)
