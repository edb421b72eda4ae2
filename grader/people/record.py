"""``collected.csv``, the record of collected notebooks: student, source, and time of submission.

The file's own time changes with each copy of a folder; the record keeps when a notebook was submitted. A row
whose notebook ends with a slash is about a repository: whose it is, and when it was read.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.people.files import Row, csv_content, read_rows, recorded, time_text
from grader.results.model import Missing

RECORD = "collected.csv"
LOGIN = "github"
"""The kind of id that a student's part of a repository's name is."""
_LATE = "late"
_SHALLOW = "shallow"
_MARKING = "canvas"  # the system that marks what is late
_COLUMNS = (
    *("student", "notebook", "system", "id", "modified", "marked"),
    *("sha256", "from", "missing", "since", "seen"),
)
_REPOSITORY = "/"  # ends the name of a repository, which no notebook's does
HISTORY = "@"
"""Begins the name of a commit in the path of an earlier version; that it was there once stays so."""
_ADVICE = "; bring back an older copy, or move it away: what was collected before is kept then"
_NEVER = datetime.fromtimestamp(0, UTC)


def collision_key(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def earlier(origin: str) -> str:
    """The origin of a version that was replaced, whose path a later one has."""
    top, slash, inner = origin.partition("/")
    return f"{top}/{HISTORY}earlier/{inner}" if slash else origin


@dataclass(frozen=True)
class Entry:
    """A row of the record.

    Attributes:
        student: the name of the student's folder.
        notebook: its name in the folder; of a repository its name and a slash.
        submitted: when; of a repository when it was read.
        origin: its path in the source.
        system: knows the student by the `id`; empty if none does.
        is_marked_late: by that system.
        may_be_older: whether it may have been submitted earlier, because it came from a shallow clone.
        sha256: of what was laid out.
        missing: set if it was not in clones any more the last time, or if they could not be read.
        seen: when it was seen first, where only its commit says that it is older.
    """

    student: str
    notebook: str
    submitted: datetime
    origin: str
    system: str = ""
    id: str = ""
    is_marked_late: bool = False
    may_be_older: bool = False
    sha256: str = ""
    missing: Missing | None = None
    seen: datetime | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Its path, as in the record."""
        return recorded(self.student), recorded(self.notebook)

    @property
    def is_repository(self) -> bool:
        """Whether it is about a repository, not a notebook."""
        return self.notebook.endswith(_REPOSITORY)

    @property
    def repository(self) -> str:
        """The name of the folder that it came in, which is a clone's as a rule, or of the repository."""
        return self.origin.partition("/")[0]

    @property
    def prefix(self) -> str:
        """The prefix before the student's name in the name of a repository; it may be empty."""
        return self.repository.removesuffix(self.id)


def _entry(row: Row) -> Entry:
    """Raises GraderError if a cell cannot be understood."""
    cells, missing = row.cells, None
    match row.word("missing", "unread", "gone"):
        case "unread" | "gone" as why:
            missing = Missing(why, time_text(row.time("since")))
    return Entry(
        student=cells["student"],
        notebook=cells["notebook"],
        submitted=row.time("modified"),
        origin=cells["from"],
        system=cells["system"],
        id=cells["id"],
        is_marked_late=row.word("marked", _LATE, _SHALLOW) == _LATE,
        may_be_older=cells["marked"] == _SHALLOW,
        sha256=cells["sha256"],
        missing=missing,
        seen=row.time("seen") if cells["seen"] else None,
    )


def _cells(entry: Entry) -> list[str]:
    missing = [entry.missing.why, entry.missing.since] if entry.missing else ["", ""]
    identity = [entry.system, entry.id]
    mark = _LATE if entry.is_marked_late else _SHALLOW if entry.may_be_older else ""
    times = time_text(entry.submitted), time_text(entry.seen)
    return [*entry.key, *identity, times[0], mark, entry.sha256, entry.origin, *missing, times[1]]


@dataclass(frozen=True)
class SubmissionTime:
    """When a notebook was submitted.

    Attributes:
        modified: when its file was changed.
        recorded: when it was submitted, as the record says; None if it says nothing of this notebook.
        is_marked_late: whether the system that it comes from says that it is late; None if that marks
            nothing.
        missing: set if it was not found any more when clones were collected last.
        is_by_hand: whether somebody put it among what was collected of its student.
        claimed_until: when a night first saw it, where only its commit says that it is older.
        may_be_older: whether it may have been submitted before the recorded time.
    """

    modified: datetime
    recorded: datetime | None = None
    is_marked_late: bool | None = None
    missing: Missing | None = None
    is_by_hand: bool = False
    claimed_until: datetime | None = None
    may_be_older: bool = False

    @property
    def at(self) -> datetime:
        """The time of the record, otherwise that of the file."""
        return self.recorded or self.modified


UNKNOWN = SubmissionTime(_NEVER)


class Record:
    """The record of a folder of submissions, and its students' folders.

    Raises:
        GraderError: the record cannot be read.
    """

    def __init__(self, submissions: Path) -> None:
        entries = os.scandir(submissions) if submissions.is_dir() else ()
        names = sorted(entry.name for entry in entries if entry.is_dir())
        self.folders = {collision_key(name): name for name in names}
        rows = read_rows(submissions / RECORD, _COLUMNS, _COLUMNS, _ADVICE, strip=False)
        self._entries = {entry.key: entry for entry in map(_entry, rows)}
        self.last_read = {
            entry.repository: entry.submitted
            for entry in self._entries.values()
            if entry.is_repository and entry.submitted != _NEVER
        }
        self._folder_of_id: dict[tuple[str, str], str] = {}
        self._notebooks: dict[str, dict[str, dict[str, set[str]]]] = {}  # by folder, system and id
        there = {recorded(name): name for name in names}
        self._collected = {entry.student for entry in self._entries.values() if not entry.is_repository}
        for entry in self._entries.values():
            if entry.system and entry.id and (folder := there.get(entry.student)):
                self._folder_of_id.setdefault((entry.system, entry.id), folder)
                of_system = self._notebooks.setdefault(folder, {}).setdefault(entry.system, {})
                of_system.setdefault(entry.id, set()).add(entry.notebook)

    def folder_of(self, system: str, student_id: str) -> str | None:
        """The folder of the student whom the system knows by that id, if there is one."""
        return self._folder_of_id.get((system, recorded(student_id))) if student_id else None

    def ids(self, folder: str, system: str) -> dict[str, set[str]]:
        """The ids of a folder's student in a system, and the notebooks that came with each."""
        return self._notebooks.get(folder, {}).get(system, {})

    def ids_of(self, folder: str) -> dict[str, str]:
        """By system, the id of a folder's student, if there is only one."""
        known = self._notebooks.get(folder, {})
        return {system: next(iter(ids)) for system, ids in known.items() if len(ids) == 1}

    def entry(self, folder: str, notebook: str) -> Entry | None:
        """The entry for a name in a student's folder; None if there is none."""
        return self._entries.get((recorded(folder), recorded(notebook)))

    def remember(self, entry: Entry) -> None:
        """Record the present files."""
        self._entries[entry.key] = replace(entry, student=entry.key[0], notebook=entry.key[1])

    def repositories_of(self, folder: str) -> set[str]:
        """The names of the repositories that a student's folder was filled from."""
        entries = (entry for entry in self._entries.values() if entry.student == recorded(folder))
        return {entry.repository for entry in entries if not entry.system or entry.is_repository}

    def prefixes(self) -> dict[tuple[str, str], str]:
        """The prefix of the repository that a notebook came from, by folder and notebook."""
        entries = self._entries.items()
        of_repository = {entry.repository: entry.prefix for _, entry in entries if entry.is_repository}
        return {key: of_repository.get(entry.repository, "") for key, entry in entries if not entry.system}

    def submission_time(self, folder: str, notebook: str, modified: datetime) -> SubmissionTime:
        """When a notebook in a student's folder was submitted.

        A file that is not what was collected under its name was repaired by somebody, and keeps the time at
        which it was submitted.

        Args:
            modified: when its file was changed.
        """
        entry = self.entry(folder, notebook)
        if entry is None:
            return SubmissionTime(modified, is_by_hand=recorded(folder) in self._collected)
        is_marked = entry.is_marked_late if entry.system == _MARKING else None
        return SubmissionTime(
            modified,
            entry.submitted,
            is_marked,
            entry.missing,
            claimed_until=entry.seen,
            may_be_older=entry.may_be_older,
        )

    def unread(self) -> dict[str, dict[str, Missing]]:
        """The prefixes of the repositories that could not be read the last time, by folder."""
        unread: dict[str, dict[str, Missing]] = {}
        for entry in self._entries.values():
            if entry.is_repository and entry.missing:
                unread.setdefault(entry.student, {})[entry.prefix] = entry.missing
        return unread

    def note_repository(
        self, name: str, folder: str, login: str, at: datetime | None, *, is_students: bool
    ) -> None:
        """Record the owner of a repository and, if there is a time, when it was read.

        Args:
            login: the part of its name that is not the assignment's.
            is_students: whether that part names the student, and nobody else.
        """
        before, notebook = self.entry(folder, name + _REPOSITORY), name + _REPOSITORY
        when = at or (before.submitted if before else _NEVER)
        entry = Entry(folder, notebook, when, notebook, LOGIN if is_students else "", login)
        self.remember(replace(entry, missing=before.missing if before else None))

    def mark_night(
        self,
        found: Collection[tuple[str, str]],
        read: Collection[str],
        unread: Collection[str],
        at: datetime,
    ) -> None:
        """Mark notebooks that came from repositories and are not there any more.

        Args:
            found: folders and names of the notebooks that are there.
            read: the names of the repositories that were read.
            unread: the names of those that could not be read.
            at: now.
        """
        there = {(recorded(folder), recorded(name)) for folder, name in found}
        for key, entry in self._entries.items():
            missing = entry.missing
            if entry.repository in unread:
                missing = Missing("unread", time_text(at))
            elif entry.repository in read:
                stays = entry.is_repository or f"/{HISTORY}" in entry.origin or key in there
                missing = None if stays else Missing("gone", time_text(at))
            if not (missing and entry.missing and missing.why == entry.missing.why):
                self._entries[key] = replace(entry, missing=missing)

    def content(self) -> bytes:
        """The file."""
        return csv_content(_COLUMNS, (_cells(self._entries[key]) for key in sorted(self._entries)))
