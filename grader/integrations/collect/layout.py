"""Outside: the folder of submissions, to which each collecting adds; each file is complete or not there.

A notebook that still is what the record says may be replaced by a newer one. One that somebody has changed
here, or put here, is kept.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from grader.complete_file import replacing
from grader.errors import GraderError
from grader.integrations.collect.known import Known
from grader.integrations.collect.listing import UnreadableError
from grader.integrations.collect.record import Record
from grader.integrations.collect.students import RECORD
from grader.integrations.collect.targets import Target


@dataclass
class Outcome:
    """What became of notebooks; their places below the folder, and below the source for what was left."""

    written: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    @property
    def all(self) -> list[str]:
        """Where the notebooks of the source are now."""
        return self.written + self.replaced + self.unchanged


class Layout:
    """The folder, while it is added to; its record is written at the end.

    Raises:
        GraderError: it cannot be written, or its record cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.outcome = Outcome()
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

    def known(self) -> Known:
        """The folders that are there, and whose the record says that they are."""
        folders = [entry.name for entry in os.scandir(self._folder) if entry.is_dir()]
        return self._record.known(folders)

    def put(self, target: Target) -> None:
        """Put a notebook where it belongs, unless something better is there."""
        place, item = f"{target.student}/{target.name}", target.handed.item
        path = self._folder / target.student / target.name
        try:
            self._require_room(path)
            content = item.read()
            sha256 = hashlib.sha256(content).hexdigest()
            there = self._sha256_of(path)
            if there == sha256:
                self.outcome.unchanged.append(place)
            else:
                if there is not None:
                    self._require_better(target, path, there)
                self._write(path, content, target.handed.modified)
                (self.outcome.written if there is None else self.outcome.replaced).append(place)
        except UnreadableError as reason:
            self.outcome.left.append((item.path, str(reason)))
            return
        modified = path.stat().st_mtime
        self._record.remember(target.student, target.name, target.handed.owner, item.path, sha256, modified)

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
        if self._record.sha256_of(target.student, target.name) != sha256:
            raise UnreadableError(
                f"was not taken: {target.student}/{target.name} was changed or put there by somebody, so it"
                " is kept; move it away to have this one"
            )
        if path.stat().st_mtime_ns > target.handed.modified:
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
            with replacing(path) as place:
                place.write_bytes(content)
                if modified is not None:
                    os.utime(place, ns=(modified, modified))
        except OSError as error:
            raise GraderError(
                f"{path} cannot be written ({error.strerror}): make room or choose another --out, and"
                " collect again."
            ) from error
