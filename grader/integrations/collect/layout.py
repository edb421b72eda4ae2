"""Outside: the folder of submissions, to which each collecting adds; each file is complete or not there.

A notebook that still is what the record says may be replaced by a newer one. One that somebody has changed
here, or put here, is kept.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from grader.errors import GraderError
from grader.files import atomic_path
from grader.integrations.collect.source import NOTEBOOK, OwnedNotebook, Owner, UnreadableError
from grader.integrations.collect.students import RECORD, KnownStudents, Record, collision_key
from grader.text import distinct_file_name


@dataclass
class Changes:
    """What became of notebooks; their places below the folder, and below the source for what was left."""

    written: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    @property
    def all(self) -> list[str]:
        """Where the notebooks of the source are now."""
        return self.written + self.replaced + self.unchanged


class SubmissionsFolder:
    """The folder, while it is added to; its record is written at the end.

    Raises:
        GraderError: it cannot be written, or its record cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.changes = Changes()
        self._folder = folder

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GraderError(
                f"{self._folder} cannot be made ({error.strerror}): choose another --out."
            ) from error
        self._record = Record(self._folder / RECORD)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._write(self._folder / RECORD, self._record.content())

    def known(self) -> KnownStudents:
        """The folders that are there, and whose the record says that they are."""
        folders = [entry.name for entry in os.scandir(self._folder) if entry.is_dir()]
        return self._record.known(folders)

    def put(self, target: Target) -> None:
        """Put a notebook where it belongs, unless something better is there."""
        place, item = f"{target.student}/{target.name}", target.notebook.item
        path = self._folder / target.student / target.name
        try:
            self._require_room(path)
            content = item.read()
            sha256 = hashlib.sha256(content).hexdigest()
            there = self._sha256_of(path)
            if there == sha256:
                self.changes.unchanged.append(place)
            else:
                if there is not None:
                    self._require_better(target, path, there)
                self._write(path, content, target.notebook.modified)
                (self.changes.written if there is None else self.changes.replaced).append(place)
        except UnreadableError as reason:
            self.changes.skipped.append((item.path, str(reason)))
            return
        modified = path.stat().st_mtime
        self._record.remember(
            (target.student, target.name), target.notebook.owner, item.path, sha256, modified
        )

    @staticmethod
    def _require_room(path: Path) -> None:
        for one in (path.parent, path):
            if one.is_symlink():
                raise GraderError(f"{one} is a link, and nothing is written through one: remove it.")
        if path.parent.exists() and not path.parent.is_dir():
            raise GraderError(f"{path.parent} is a file, where a student's folder belongs: move it away.")
        if path.exists() and not path.is_file():
            raise GraderError(f"{path} is no ordinary file, where a notebook belongs: move it away.")

    def _require_better(self, target: Target, path: Path, sha256: str) -> None:
        if self._record.sha256_of((target.student, target.name)) != sha256:
            raise UnreadableError(
                f"was not taken: {target.student}/{target.name} was changed or put there by somebody, so it"
                " is kept; move it away to have this one"
            )
        if path.stat().st_mtime_ns > target.notebook.modified:
            raise UnreadableError(f"is older than {target.student}/{target.name}, which is kept")

    @staticmethod
    def _sha256_of(path: Path) -> str | None:
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise GraderError(
                f"{path} cannot be read ({error.strerror}): move it away, and collect again."
            ) from error

    @staticmethod
    def _write(path: Path, content: bytes, modified: int | None = None) -> None:
        try:
            with atomic_path(path) as place:
                place.write_bytes(content)
                if modified is not None:
                    os.utime(place, ns=(modified, modified))
        except OSError as error:
            raise GraderError(
                f"{path} cannot be written ({error.strerror}): make room or choose another --out, and"
                " collect again."
            ) from error


MAX_NOTEBOOKS = 200
"""The most notebooks of one student that are taken from one source."""
MAX_STUDENT_BYTES = 500 << 20
"""The most that these may be."""


@dataclass(frozen=True)
class Target:
    """Where a notebook goes: a student's folder, the name in it, and who that is."""

    student: str
    name: str
    notebook: OwnedNotebook


@dataclass
class Targets:
    """Where all of a source go.

    Attributes:
        taken: notebooks and their places, by the student's folder and the name.
        left: (place, why) of what is more than one student can need.
    """

    taken: list[Target] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of what is taken."""
        return sum(target.notebook.item.size for target in self.taken)


def plan_targets(notebooks: Collection[OwnedNotebook], folders: Mapping[Owner, str]) -> Targets:
    """Give every notebook a place of its own, below the folder of its student.

    The latest of several versions of one name keeps the name, and the others get one which tells them apart.

    Args:
        notebooks: what was handed in.
        folders: the folder of each owner.
    """
    found = Targets()
    everyone: dict[str, list[OwnedNotebook]] = defaultdict(list)
    for one in notebooks:
        everyone[folders[one.owner]].append(one)
    for student in sorted(everyone):
        kept = _affordable(student, _latest_first(everyone[student]), found.skipped)
        names: set[str] = set()
        own = [Target(student, _distinct(one, names), one) for one in kept]
        found.taken += sorted(own, key=lambda target: target.name)
    return found


def _latest_first(notebooks: Sequence[OwnedNotebook]) -> list[OwnedNotebook]:
    """The latest version of each name, then the others; of both the latest first."""
    ordered = sorted(notebooks, key=lambda one: one.rank, reverse=True)
    latest: dict[str, OwnedNotebook] = {}
    older = [one for one in ordered if latest.setdefault(collision_key(one.name), one) is not one]
    return [*latest.values(), *older]


def _affordable(
    student: str, notebooks: Sequence[OwnedNotebook], skipped: list[tuple[str, str]]
) -> list[OwnedNotebook]:
    kept: list[OwnedNotebook] = []
    size = 0
    for one in notebooks:
        if len(kept) >= MAX_NOTEBOOKS:
            skipped.append((one.item.path, f"is more than the {MAX_NOTEBOOKS} notebooks taken of {student}"))
        elif size + one.item.size > MAX_STUDENT_BYTES:
            limit = f"the {MAX_STUDENT_BYTES >> 20} MiB of notebooks taken of {student}"
            skipped.append((one.item.path, f"is more than {limit}"))
        else:
            kept.append(one)
            size += one.item.size
    return kept


def _distinct(one: OwnedNotebook, keys: set[str]) -> str:
    """A notebook's name as one safe component of a path that still ends as notebooks do; `keys` gets it."""
    parts = NOTEBOOK.fullmatch(one.name)
    stem, suffix = (parts["stem"], parts["suffix"]) if parts else (one.name, ".ipynb")
    name = distinct_file_name(stem, "/".join(one.item.place), _Stems(keys, suffix)) + suffix
    keys.add(collision_key(name))
    return name


@dataclass(frozen=True)
class _Stems:
    """The stems that are not free, for one suffix."""

    keys: set[str]
    suffix: str

    def __contains__(self, stem: object) -> bool:
        return collision_key(f"{stem}{self.suffix}") in self.keys
