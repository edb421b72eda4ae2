"""``collected.csv``, the record of what ``collect`` laid out: whose it is, where from, and of when.

The file's own time changes with each copy of a folder; the record keeps when a notebook was handed in. It
speaks of a notebook as long as that has the hash that was laid out.
"""

from __future__ import annotations

import csv
import io
import os
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import GraderError
from grader.results.model import Missing
from grader.text import printable, utf8_text, without_formula

RECORD = "collected.csv"
LATE = "late"
"""What the record says of a notebook that its system has marked as late."""
MARKING = "canvas"
"""The system that marks what is late."""
_COLUMNS = (
    *("student", "notebook", "system", "id", "modified", "marked"),
    *("sha256", "from", "missing", "since", "seen"),
)
_REPOSITORY = "/"  # ends the name in a row that says when a repository was read, which no notebook's does
HISTORY = "@"
"""Begins the name of a commit in the path of an earlier version; that it was there once stays so."""
LOGIN = "github"
"""The kind of id that a student's part of a repository's name is."""
_NEVER = "1970-01-01T00:00:00+00:00"


def collision_key(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _recorded(text: str) -> str:
    """A stranger's text as the record holds it."""
    return without_formula(printable(text))


@dataclass(frozen=True)
class HandIn:
    """When a notebook was submitted.

    Attributes:
        modified: when its file was changed.
        recorded: when it was submitted, as the record says; None where it says nothing of this notebook.
        is_marked_late: whether the system that it comes from says that it is late; None where that marks
            nothing.
        missing: where it was not found any more when clones were collected last.
        is_by_hand: whether somebody put it among what was collected of its student.
        claimed_until: when a night first saw it, where only its commit says that it is older.
    """

    modified: datetime
    recorded: datetime | None = None
    is_marked_late: bool | None = None
    missing: Missing | None = None
    is_by_hand: bool = False
    claimed_until: datetime | None = None


UNKNOWN = HandIn(datetime.fromtimestamp(0, UTC))


class Record:
    """What was collected into a folder of submissions, and the students' folders that are there.

    Raises:
        GraderError: the record cannot be read.
    """

    def __init__(self, submissions: Path) -> None:
        entries = os.scandir(submissions) if submissions.is_dir() else ()
        names = sorted(entry.name for entry in entries if entry.is_dir())
        self.folders = {collision_key(name): name for name in names}
        self._rows = _read_rows(submissions / RECORD)
        read = [row for row in self._rows.values() if _is_repository(row) and row["modified"] != _NEVER]
        self.last_read = {_repository(row): datetime.fromisoformat(row["modified"]) for row in read}
        self._folder_of_id: dict[tuple[str, str], str] = {}
        self._notebooks: dict[str, dict[str, dict[str, set[str]]]] = {}  # by folder, system and id
        self._there = {_recorded(name): name for name in names}
        self._collected = {row["student"] for row in self._rows.values() if not _is_repository(row)}
        for row in self._rows.values():
            if row["system"] and row["id"] and row["student"] in self._there:
                folder = self._there[row["student"]]
                self._folder_of_id.setdefault((row["system"], row["id"]), folder)
                of_system = self._notebooks.setdefault(folder, {}).setdefault(row["system"], {})
                of_system.setdefault(row["id"], set()).add(row["notebook"])

    def folder_of(self, system: str, student_id: str) -> str | None:
        """The folder of the student whom the system knows by that id, if there is one."""
        return self._folder_of_id.get((system, _recorded(student_id))) if student_id else None

    def ids(self, folder: str, system: str) -> dict[str, set[str]]:
        """By which ids a system knows whose folder it is, and the notebooks that came with each."""
        return self._notebooks.get(folder, {}).get(system, {})

    def ids_of(self, folder: str) -> dict[str, str]:
        """By system, the id by which it knows whose folder it is, where that is a single one."""
        known = self._notebooks.get(folder, {})
        return {system: next(iter(ids)) for system, ids in known.items() if len(ids) == 1}

    def _row(self, folder: str, notebook: str) -> dict[str, str] | None:
        """What is recorded of a name in a student's folder."""
        return self._rows.get((_recorded(folder), _recorded(notebook)))

    def clone_of(self, folder: str, notebook: str) -> str | None:
        """The folder that it came in, a clone's as a rule; None where a system gave it its name."""
        row = self._row(folder, notebook)
        top, slash, _ = row["from"].partition("/") if row and not row["system"] else ("", "", "")
        return top if slash else None

    def repositories_of(self, folder: str) -> set[str]:
        """The names of the repositories that a student's folder was filled from."""
        rows = (row for row in self._rows.values() if row["student"] == _recorded(folder))
        return {_repository(row) for row in rows if not row["system"] or _is_repository(row)}

    def prefixes(self) -> dict[tuple[str, str], str]:
        """What begins the name of the repository that a notebook came from, by folder and notebook."""
        repositories = [row for row in self._rows.values() if _is_repository(row)]
        of_repository = {_repository(row): _prefix(row) for row in repositories}
        rows = [row for row in self._rows.values() if not row["system"] and not _is_repository(row)]
        return {(row["student"], row["notebook"]): of_repository.get(_repository(row), "") for row in rows}

    def sha256_of(self, folder: str, notebook: str) -> str | None:
        """The hash of what was laid out in a student's folder under a name."""
        row = self._row(folder, notebook)
        return row["sha256"] if row else None

    def time_of(self, folder: str, notebook: str) -> datetime | None:
        """When what was laid out there was submitted; None where nothing was."""
        row = self._row(folder, notebook)
        return datetime.fromisoformat(row["modified"]) if row else None

    def is_marked_late(self, folder: str, notebook: str) -> bool:
        """Whether its system has marked what was laid out there as late."""
        row = self._row(folder, notebook)
        return row is not None and row["marked"] == LATE

    def keep(self, folder: str, notebook: str, name: str) -> None:
        """Note that what was laid out as a notebook lies under another name now."""
        row = self._row(folder, notebook)
        if row is not None:
            top, slash, inner = row["from"].partition("/")
            origin = f"{top}/{HISTORY}earlier/{inner}" if slash else row["from"]
            key = row["student"], _recorded(name)
            self._rows[key] = row | {"notebook": key[1], "from": origin, "missing": "", "since": ""}

    def hand_in(self, folder: str, notebook: str, modified: datetime) -> HandIn:
        """When a notebook in a student's folder was submitted.

        A file that is not what was collected under its name was repaired by somebody, and keeps the time at
        which it was submitted.

        Args:
            modified: when its file was changed.
        """
        row = self._row(folder, notebook)
        if row is None:
            return HandIn(modified, is_by_hand=_recorded(folder) in self._collected)
        is_marked = row["marked"] == LATE if row["system"] == MARKING else None
        seen = datetime.fromisoformat(row["seen"]) if row["seen"] else None
        at = datetime.fromisoformat(row["modified"])
        return HandIn(modified, at, is_marked, _missing(row), claimed_until=seen)

    def unread(self) -> dict[str, dict[str, Missing]]:
        """What began the names of the repositories that could not be read the last time, by folder."""
        unread: dict[str, dict[str, Missing]] = {}
        for row in filter(_is_repository, self._rows.values()):
            if missing := _missing(row):
                unread.setdefault(row["student"], {})[_prefix(row)] = missing
        return unread

    def note_repository(
        self, name: str, folder: str, login: str, at: datetime | None, *, is_students: bool
    ) -> None:
        """Note whose repository it is and, with a time, that it was read then.

        Args:
            login: the part of its name that is not the assignment's.
            is_students: whether that part names the student, and nobody else.
        """
        key = _recorded(folder), _recorded(name) + _REPOSITORY
        row = self._rows.get(key) or dict.fromkeys(_COLUMNS, "") | {"modified": _NEVER}
        row |= {"student": key[0], "notebook": key[1], "from": key[1], "id": _recorded(login)}
        row["system"] = LOGIN if is_students else ""
        if at:
            row["modified"] = at.isoformat(timespec="seconds")
        self._rows[key] = row

    def mark_night(
        self,
        found: Collection[tuple[str, str]],
        read: Collection[str],
        unread: Collection[str],
        at: datetime,
    ) -> None:
        """Mark what came from repositories before and is not there any more.

        Args:
            found: folders and names of the notebooks that are there.
            read: the names of the repositories that were read.
            unread: the names of those that could not be read.
            at: now.
        """
        there = {(_recorded(folder), _recorded(name)) for folder, name in found}
        for key, row in self._rows.items():
            name = _repository(row)
            if name in unread:
                why = "unread"
            elif name in read:
                is_other = _is_repository(row) or f"/{HISTORY}" in row["from"]
                why = "" if key in there or is_other else "gone"
            else:
                why = row["missing"]
            if why != row["missing"]:
                now = at.isoformat(timespec="seconds")
                self._rows[key] = row | {"missing": why, "since": now if why else ""}

    def remember(  # noqa: PLR0913, PLR0917 - the columns
        self,
        folder: str,
        notebook: str,
        identity: tuple[str, str],
        origin: str,
        sha256: str,
        submitted: datetime,
        *,
        is_marked_late: bool,
        seen: datetime | None = None,
    ) -> None:
        """Note what lies there now.

        Args:
            identity: a system, and the id by which it knows the student; or two empty texts.
            submitted: when.
            seen: when it was seen first, where only its commit says that it is older.
        """
        when = submitted.astimezone(UTC).isoformat(timespec="seconds")
        first = seen.astimezone(UTC).isoformat(timespec="seconds") if seen else ""
        mark = LATE if is_marked_late else ""
        values = [
            _recorded(value)
            for value in (folder, notebook, *identity, when, mark, sha256, origin, "", "", first)
        ]
        self._rows[values[0], values[1]] = dict(zip(_COLUMNS, values, strict=True))

    def content(self) -> bytes:
        """The file."""
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(self._rows[key] for key in sorted(self._rows))
        return utf8_text(text.getvalue()).encode()


def _is_repository(row: Mapping[str, str]) -> bool:
    return row["notebook"].endswith(_REPOSITORY)


def _repository(row: Mapping[str, str]) -> str:
    """The name of the folder that a notebook came in, or of the repository that the row is about."""
    return row["from"].partition("/")[0]


def _prefix(row: Mapping[str, str]) -> str:
    """What stands before the student's name in that of a repository, which may be nothing."""
    return _repository(row).removesuffix(row["id"])


def _missing(row: Mapping[str, str]) -> Missing | None:
    match row["missing"]:
        case "unread" | "gone" as why:
            return Missing(why, row["since"])
    return None


def _read_rows(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of a record by student and notebook; none where there is no record."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = [_checked(row) for row in csv.DictReader(io.StringIO(text))]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise GraderError(
            f"{path} cannot be read ({error}): move it away; what was collected before is kept then."
        ) from error
    return {(row["student"], row["notebook"]): row for row in rows}


def _checked(row: Mapping[str, str | None]) -> dict[str, str]:
    """A row with all columns; KeyError and ValueError where it is none."""
    found = {name: row[name] or "" for name in _COLUMNS}
    for text in (found["modified"], found["seen"] or found["modified"]):
        if datetime.fromisoformat(text).tzinfo is None:
            raise ValueError(f"{text} has no time zone")
    return found
