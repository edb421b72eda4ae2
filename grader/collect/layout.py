"""Outside: the folder of submissions, to which each collecting adds; each file is complete or not there.

``collected.csv`` remembers what was collected, and from where. A notebook that still is what it says may be
replaced by a newer one. One that somebody has changed here, or put here, is kept.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from grader.collect.known import Known, recorded
from grader.collect.listing import UnreadableError
from grader.collect.students import RECORD
from grader.collect.targets import Target
from grader.errors import GraderError
from grader.text import encodable

_COLUMNS = ("student", "notebook", "system", "id", "modified", "sha256", "from")


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
        self._rows: dict[tuple[str, str], dict[str, str]] = {}

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GraderError(
                f"{self._folder} cannot be made ({error.strerror}): choose another --out."
            ) from error
        self._rows = self._read_record()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._write(self._folder / RECORD, self._record())

    def known(self) -> Known:
        """The folders that are there, and whose the record says that they are."""
        folders = [entry.name for entry in os.scandir(self._folder) if entry.is_dir()]
        return Known(folders, self._rows.values())

    def put(self, target: Target) -> None:
        """Put a notebook where it belongs, unless something better is there."""
        place, item = f"{target.student}/{target.name}", target.handed.item
        source = item.path
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
            self.outcome.left.append((source, str(reason)))
            return
        self._remember(target, sha256, source, path)

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
        row = self._rows.get((recorded(target.student), recorded(target.name)), {})
        if row.get("sha256") != sha256:
            raise UnreadableError(
                f"was not taken: {target.student}/{target.name} was changed or put there by somebody, so it"
                " is kept; move it away to have this one"
            )
        if path.stat().st_mtime_ns > target.handed.modified:
            raise UnreadableError(f"is older than {target.student}/{target.name}, which is kept")

    def _remember(self, target: Target, sha256: str, source: str, path: Path) -> None:
        modified = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
        owner = target.handed.owner
        known = (owner.scope, owner.id) if owner.id else ("", "")
        values = (target.student, target.name, *known, modified, sha256, source)
        row = {column: recorded(value) for column, value in zip(_COLUMNS, values, strict=True)}
        self._rows[row["student"], row["notebook"]] = row

    def _read_record(self) -> dict[tuple[str, str], dict[str, str]]:
        path = self._folder / RECORD
        try:
            text = path.read_text(encoding="utf-8-sig")
            rows = [
                {column: row[column] or "" for column in _COLUMNS}
                for row in csv.DictReader(io.StringIO(text))
            ]
            return {(row["student"], row["notebook"]): row for row in rows}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, csv.Error) as error:
            raise GraderError(
                f"{path} cannot be read ({error}): move it away; what was collected before is kept then."
            ) from error

    def _record(self) -> bytes:
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(self._rows[key] for key in sorted(self._rows))
        return encodable(text.getvalue()).encode()

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
        unfinished = path.with_name(f".{path.name}.unfinished")
        try:
            path.parent.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):
                unfinished.unlink()  # of a run that was killed
            unfinished.write_bytes(content)
            if modified is not None:
                os.utime(unfinished, ns=(modified, modified))
            unfinished.replace(path)
        except OSError as error:
            raise GraderError(
                f"{path} cannot be written ({error.strerror}): make room or choose another --out, and"
                " collect again."
            ) from error
