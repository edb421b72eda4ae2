"""The folder of submissions, to which each collecting adds; each file is complete or not there.

A newer version replaces a notebook that is still what the record says. What a person changed or put here is
kept. A cap keeps a student with many notebooks from costing the others.
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
from grader.integrations.collect.source import OwnedNotebook, Owner, Skipped, UnreadableError
from grader.integrations.collect.students import RECORD, Record, collision_key
from grader.notebooks.files import NOTEBOOK
from grader.text import distinct_file_name

MAX_NOTEBOOKS = 200
"""The most notebooks of a student that are taken from a source."""
MAX_STUDENT_BYTES = 500 << 20
"""The most that these may hold."""


@dataclass(frozen=True)
class Target:
    """A notebook, and where it goes: a student's folder and the name in it."""

    student: str
    name: str
    notebook: OwnedNotebook

    @property
    def path(self) -> str:
        """Its path below the folder of submissions."""
        return f"{self.student}/{self.name}"


def plan_targets(
    notebooks: Collection[OwnedNotebook], folders: Mapping[Owner, str]
) -> tuple[list[Target], list[Skipped]]:
    """Give every notebook a name in the folder of its student, and tell which are too many.

    Of several versions the latest keeps the name; the others get names that tell them apart.
    """
    targets: list[Target] = []
    skipped: list[Skipped] = []
    of_student: dict[str, list[OwnedNotebook]] = defaultdict(list)
    for notebook in notebooks:
        of_student[folders[notebook.owner]].append(notebook)
    for student in sorted(of_student):
        kept = _affordable(student, _latest_first(of_student[student]), skipped)
        names: set[str] = set()
        of_this_student = [Target(student, _distinct(notebook, names), notebook) for notebook in kept]
        targets += sorted(of_this_student, key=lambda target: target.name)
    return targets, skipped


def _latest_first(notebooks: Sequence[OwnedNotebook]) -> list[OwnedNotebook]:
    """The latest version of each name, then the older versions; both from the latest on."""
    ordered = sorted(notebooks, key=lambda notebook: notebook.rank, reverse=True)
    latest: dict[str, OwnedNotebook] = {}
    older = [n for n in ordered if latest.setdefault(collision_key(n.name), n) is not n]
    return [*latest.values(), *older]


def _affordable(
    student: str, notebooks: Sequence[OwnedNotebook], skipped: list[Skipped]
) -> list[OwnedNotebook]:
    kept: list[OwnedNotebook] = []
    size = 0
    for notebook in notebooks:
        path, more = notebook.file.path, notebook.file.size
        if len(kept) >= MAX_NOTEBOOKS:
            skipped.append((path, f"is more than the {MAX_NOTEBOOKS} notebooks taken of {student}"))
        elif size + more > MAX_STUDENT_BYTES:
            limit = f"the {MAX_STUDENT_BYTES >> 20} MiB of notebooks taken of {student}"
            skipped.append((path, f"is more than {limit}"))
        else:
            kept.append(notebook)
            size += more
    return kept


def _distinct(notebook: OwnedNotebook, taken: set[str]) -> str:
    """A notebook's name as a safe component of a path that still ends as notebooks do; added to `taken`."""
    parts = NOTEBOOK.fullmatch(notebook.name)
    stem, suffix = (parts["stem"], parts["suffix"]) if parts else (notebook.name, ".ipynb")
    name = distinct_file_name(stem, "/".join(notebook.file.parts), _Stems(taken, suffix)) + suffix
    taken.add(collision_key(name))
    return name


@dataclass(frozen=True)
class _Stems:
    """The stems that are not free, for one suffix."""

    keys: set[str]
    suffix: str

    def __contains__(self, stem: object) -> bool:
        return collision_key(f"{stem}{self.suffix}") in self.keys


@dataclass
class Changes:
    """What became of notebooks: their paths in the folder, and what was skipped."""

    written: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


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
        self.record = Record(self._folder)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _write(self._folder / RECORD, self.record.content())

    def put(self, target: Target) -> None:
        """Put a notebook where it belongs, unless something there has to stay."""
        path, file = self._folder / target.student / target.name, target.notebook.file
        _require_room(path)
        try:
            content = file.read()
        except UnreadableError as error:
            self.changes.skipped.append((file.path, str(error)))
            return
        sha256, there = hashlib.sha256(content).hexdigest(), _sha256_of(path)
        if there == sha256:
            self.changes.unchanged.append(target.path)
        elif there is not None and (reason := self._why_kept(target, path, there)):
            self.changes.skipped.append((file.path, reason))
            return
        else:
            _write(path, content, target.notebook.modified)
            (self.changes.written if there is None else self.changes.replaced).append(target.path)
        modified = path.stat().st_mtime
        self.record.remember(
            (target.student, target.name), target.notebook.owner, file.path, sha256, modified
        )

    def _why_kept(self, target: Target, path: Path, sha256: str) -> str | None:
        """Why the file there stays, as the end of a sentence; None where the notebook may replace it."""
        if self.record.sha256_of((target.student, target.name)) != sha256:
            return (
                f"was not taken: {target.path} was changed or put there by somebody, so it is kept; move it"
                " away to have this one"
            )
        is_older = path.stat().st_mtime_ns > target.notebook.modified
        return f"is older than {target.path}, which is kept" if is_older else None


def _require_room(path: Path) -> None:
    for target in (path.parent, path):
        if target.is_symlink():
            raise GraderError(f"{target} is a link, and nothing is written through one: remove it.")
    if path.parent.exists() and not path.parent.is_dir():
        raise GraderError(f"{path.parent} is a file, where a student's folder belongs: move it away.")
    if path.exists() and not path.is_file():
        raise GraderError(f"{path} is no ordinary file, where a notebook belongs: move it away.")


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


def _write(path: Path, content: bytes, modified: int | None = None) -> None:
    try:
        with atomic_path(path) as new:
            new.write_bytes(content)
            if modified is not None:
                os.utime(new, ns=(modified, modified))
    except OSError as error:
        raise GraderError(
            f"{path} cannot be written ({error.strerror}): make room or choose another --out, and"
            " collect again."
        ) from error
