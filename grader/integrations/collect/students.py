"""A folder for each student, however many sources and systems name them, and the record of these.

`collected.csv` remembers what was collected, whose it is and from where. A student whom a system knows by a
number keeps the folder of that number; others are known by their names.
"""

from __future__ import annotations

import csv
import io
import os
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import GraderError
from grader.grading.roster import ROSTER
from grader.integrations.collect.source import MOST_NAMED, Owner, Parts, path_text
from grader.notebooks.files import SKIPPED_FOLDERS
from grader.results.reader import read_run
from grader.text import distinct_file_name, file_name, printable, some, utf8_text, without_formula

RECORD = "collected.csv"
_COLUMNS = ("student", "notebook", "system", "id", "modified", "sha256", "from")
_RESERVED = frozenset({RECORD, ROSTER, *SKIPPED_FOLDERS})

# Moodle numbers the students of each assignment anew.
_NUMBERS_ANEW = frozenset({"moodle"})


def collision_key(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _recorded(text: str) -> str:
    """A stranger's text as the record holds it."""
    return without_formula(printable(text))


class Record:
    """What was collected into a folder of submissions, and the students' folders that are there.

    Raises:
        GraderError: the record cannot be read.
    """

    def __init__(self, submissions: Path) -> None:
        folders = [entry.name for entry in os.scandir(submissions) if entry.is_dir()]
        self.folders = {collision_key(folder): folder for folder in sorted(folders)}
        self._rows: dict[tuple[str, str], dict[str, str]] = {}
        path = submissions / RECORD
        try:
            text = path.read_text(encoding="utf-8-sig")
            for row in csv.DictReader(io.StringIO(text)):
                self._add({column: row[column] or "" for column in _COLUMNS})
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, csv.Error) as error:
            raise GraderError(
                f"{path} cannot be read ({error}): move it away; what was collected before is kept then."
            ) from error
        self._of_folder: dict[str, list[dict[str, str]]] = defaultdict(list)
        self._folder_of_id: dict[tuple[str, str], str] = {}
        recorded = {_recorded(folder): folder for folder in self.folders.values()}
        for row in self._rows.values():
            if row["student"] in recorded:
                self._of_folder[row["student"]].append(row)
                if row["id"]:
                    key = row["system"], row["id"]
                    self._folder_of_id.setdefault(key, recorded[row["student"]])

    def folder_of(self, owner: Owner) -> str | None:
        """The folder of the student whom the system knows by that number."""
        return self._folder_of_id.get((owner.scope, _recorded(owner.id))) if owner.id else None

    def ids(self, student: str, system: str) -> set[str]:
        """The numbers by which a system knows whose folder it is."""
        return {row["id"] for row in self._rows_of(student, system)}

    def notebooks(self, student: str, system: str) -> set[str]:
        """What was collected into a folder from a system that numbers people, as recorded."""
        return {row["notebook"] for row in self._rows_of(student, system)}

    def _rows_of(self, student: str, system: str) -> list[dict[str, str]]:
        rows = self._of_folder.get(_recorded(student), [])
        return [row for row in rows if row["system"] == system and row["id"]]

    def came_from(self, folder: str, source: Parts) -> bool:
        """Whether a file in a folder was collected from there before."""
        path = _recorded(path_text(source))
        rows = self._of_folder.get(_recorded(folder), [])
        return any(f"{row['from']}/".startswith(f"{path}/") for row in rows)

    def sha256_of(self, target: tuple[str, str]) -> str | None:
        """The hash of what was laid out in a student's folder under a name."""
        row: Mapping[str, str] = self._rows.get((_recorded(target[0]), _recorded(target[1])), {})
        return row.get("sha256")

    def remember(
        self, target: tuple[str, str], owner: Owner, origin: str, sha256: str, modified: float
    ) -> None:
        """Note what lies there now; `modified` is in seconds since 1970."""
        when = datetime.fromtimestamp(modified, UTC).isoformat(timespec="seconds")
        identity = (owner.scope, owner.id) if owner.id else ("", "")
        values = (*target, *identity, when, sha256, origin)
        self._add({column: _recorded(value) for column, value in zip(_COLUMNS, values, strict=True)})

    def content(self) -> bytes:
        """The file."""
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(self._rows[key] for key in sorted(self._rows))
        return utf8_text(text.getvalue()).encode()

    def _add(self, row: dict[str, str]) -> None:
        self._rows[row["student"], row["notebook"]] = row


def student_ids(results: Path, system: str, students: Iterable[str]) -> dict[str, str]:
    """The number of each student in a system such as ``canvas``, as far as it was collected.

    The `results` of ``grade`` say where the submissions are, and the record lies there.
    """
    try:
        record = Record(Path(read_run(results)["submissions"]))
    except (OSError, KeyError, TypeError, GraderError):
        return {}
    numbers = {student: record.ids(student, system) for student in students}
    return {student: next(iter(ids)) for student, ids in numbers.items() if len(ids) == 1}


@dataclass
class StudentFolders:
    """The folder of every owner."""

    record: Record
    folders: dict[Owner, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # how students were named, for a person to check
    by_name: list[str] = field(default_factory=list)  # folders known by name only
    _identities: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, owner: Owner, same: Collection[Owner], notebooks: Collection[str]) -> None:
        """Name the folder of an owner; `same` are all owners of that name."""
        folder = self.record.folder_of(owner) or self._new(owner, same, notebooks)
        key = collision_key(folder), owner.scope
        if self._identities.get(key, owner.identity) != owner.identity:
            # Another student's folder got this student's name, to tell it apart.
            taken = {folder, *self.folders.values(), *_RESERVED}
            folder = distinct_file_name(folder, f"{owner.scope} {owner.identity}", taken)
            key = collision_key(folder), owner.scope
        self._identities[key] = owner.identity
        self.folders[owner] = folder

    def _new(self, owner: Owner, same: Collection[Owner], notebooks: Collection[str]) -> str:
        name = next(iter(same)).name
        if _are_several(same):
            return self._spelt(_with_id(name, owner))
        folder = self._spelt(name)
        ids = self.record.ids(folder, owner.scope) if owner.id else set()
        if not ids or _recorded(owner.id) in ids:
            return folder
        there = self.record.notebooks(folder, owner.scope)
        if owner.scope in _NUMBERS_ANEW and there.isdisjoint(map(_recorded, notebooks)):
            self.by_name.append(folder)
            return folder
        other, folder = folder, self._spelt(_with_id(name, owner))
        self.notes.append(f"{owner.scope} knows {other} by another number than {owner.id}: see {folder}.")
        return folder

    def _spelt(self, name: str) -> str:
        """A name as a folder's; where there is such a folder, spelt as that is."""
        safe = distinct_file_name(name, name, _RESERVED)
        key = collision_key(safe)
        return safe if key in _RESERVED else self.record.folders.get(key, safe)


def student_folders(notebooks: Mapping[Owner, Collection[str]], record: Record) -> StudentFolders:
    """Name a folder for each owner: equal names share it, unless a system knows several people of that name.

    `notebooks` has the names of each owner's notebooks. Folders that are there keep their owners.
    """
    named: dict[str, list[Owner]] = defaultdict(list)
    for owner in sorted(notebooks, key=lambda owner: (owner.name, owner.scope, owner.identity)):
        named[collision_key(owner.name)].append(owner)
    students = StudentFolders(record)
    for _, same in sorted(named.items()):
        if _are_several(same):
            students.notes.append(
                f"several students are called {same[0].name}: their folders' names say which is which."
            )
        # A student who is known keeps the folder, whoever else of that name comes now.
        for owner in sorted(same, key=lambda owner: record.folder_of(owner) is None):
            students.add(owner, same, notebooks[owner])
    if students.by_name:
        names = ", ".join(some(students.by_name, MOST_NAMED))
        students.notes.append(
            f"recognised by name, as Moodle numbers people anew in each assignment: {names}."
        )
    return students


def _are_several(same: Collection[Owner]) -> bool:
    """Whether owners of a name are several people, because a source tells them apart."""
    identities = defaultdict(set)
    for owner in same:
        identities[owner.scope].add(owner.identity)
    return any(len(several) > 1 for several in identities.values())


def _with_id(name: str, owner: Owner) -> str:
    if owner.id:
        return f"{name}-{owner.id}"
    return distinct_file_name(name, owner.identity, {file_name(name)})
