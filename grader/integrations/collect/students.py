"""Outside: one folder for each student, however many sources and systems name them."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import GraderError
from grader.grading.roster import ROSTER
from grader.integrations.collect.source import MOST_NAMED, SKIPPED, Owner, Parts, shown
from grader.results.folder import read_run
from grader.text import distinct_file_name, encodable, file_name, printable, some, without_formula

RECORD = "collected.csv"
_RESERVED = frozenset({RECORD, ROSTER, *SKIPPED})


def collision_key(name: str) -> str:
    """Equal for names which some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@dataclass(frozen=True)
class StudentFolders:
    """Who is in a source.

    Attributes:
        folders: the folder of every owner.
        notes: what a person should know of people of one name.
    """

    folders: Mapping[Owner, str]
    notes: list[str]


def student_folders(handed: Mapping[Owner, Collection[str]], known: KnownStudents) -> StudentFolders:
    """Name a folder for each owner: one for equal names, unless a system knows several people of that name.

    Args:
        handed: what the notebooks of each owner are called.
        known: the folders that are there already, which are kept.
    """
    named: dict[str, list[Owner]] = defaultdict(list)
    for owner in sorted(handed, key=lambda owner: (owner.name, owner.scope, owner.identity)):
        named[collision_key(owner.name)].append(owner)
    naming = _Naming(known)
    for _, same in sorted(named.items()):
        if _are_several(same):
            name = same[0].name
            naming.notes.append(
                f"several students are called {name}: their folders' names say which is which."
            )
        # Whoever is known keeps the folder, whatever others of that name come now.
        for owner in sorted(same, key=lambda owner: known.folder_of(owner) is None):
            naming.add(owner, same, handed[owner])
    if naming.by_name:
        names = ", ".join(some(naming.by_name, MOST_NAMED))
        naming.notes.append(f"recognised by name, as Moodle numbers people anew in each assignment: {names}.")
    return StudentFolders(naming.folders, naming.notes)


def _are_several(same: Collection[Owner]) -> bool:
    """Whether owners of one name are several people: one source tells them apart."""
    identities = defaultdict(set)
    for owner in same:
        identities[owner.scope].add(owner.identity)
    return any(len(found) > 1 for found in identities.values())


@dataclass
class _Naming:
    """Folders, while owners are added one by one."""

    known: KnownStudents
    folders: dict[Owner, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    by_name: list[str] = field(default_factory=list)
    identities: dict[tuple[str, str], str] = field(default_factory=dict)
    there: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.there = {collision_key(folder): folder for folder in self.known.folders}

    def add(self, owner: Owner, same: list[Owner], notebooks: Collection[str]) -> None:
        """Name the folder of an owner; `same` are all of that name."""
        folder = self.known.folder_of(owner)
        if folder is None:
            folder = self._new(owner, same, notebooks)
        if self.identities.setdefault((collision_key(folder), owner.scope), owner.identity) != owner.identity:
            # Somebody is called as another's folder had to be.
            taken = {folder, *self.folders.values(), *_RESERVED}
            folder = distinct_file_name(folder, f"{owner.scope} {owner.identity}", taken)
            self.identities[collision_key(folder), owner.scope] = owner.identity
        self.folders[owner] = folder

    def _new(self, owner: Owner, same: list[Owner], notebooks: Collection[str]) -> str:
        name = same[0].name
        if _are_several(same):
            return self._spelt(_told_apart(name, owner))
        folder = self._spelt(name)
        if self.known.is_another(folder, owner, notebooks):
            other, folder = folder, self._spelt(_told_apart(name, owner))
            self.notes.append(f"{owner.scope} knows {other} by another number than {owner.id}: see {folder}.")
        elif self.known.is_numbered_otherwise(folder, owner):
            self.by_name.append(folder)
        return folder

    def _spelt(self, name: str) -> str:
        """A name as a folder's, spelt like the one that is there."""
        safe = distinct_file_name(name, name, _RESERVED)
        return self.there.get(collision_key(safe), safe) if collision_key(safe) not in _RESERVED else safe


def _told_apart(name: str, owner: Owner) -> str:
    if owner.id:
        return f"{name}-{owner.id}"
    return distinct_file_name(name, owner.identity, {file_name(name)})


# Moodle numbers the students of each assignment anew; other systems number people.
_NUMBERS_ANEW = frozenset({"moodle"})


def recorded(text: str) -> str:
    """A stranger's text as the record holds it."""
    return without_formula(printable(text))


class KnownStudents:
    """The folders of students that are there, and whose they are as far as a system told.

    Args:
        folders: their names.
        rows: the record's.
    """

    def __init__(self, folders: Iterable[str], rows: Iterable[Mapping[str, str]]) -> None:
        self.folders = sorted(folders)
        self._rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        self._folder: dict[tuple[str, str], str] = {}
        spelt = {recorded(folder): folder for folder in self.folders}
        for row in rows:
            folder = spelt.get(row["student"])
            if folder is not None:
                self._rows[folder].append(row)
                if row["id"]:
                    self._folder.setdefault((row["system"], row["id"]), folder)

    def folder_of(self, owner: Owner) -> str | None:
        """The folder of the one whom a system knows by the same number."""
        return self._folder.get((owner.scope, recorded(owner.id))) if owner.id else None

    def is_another(self, folder: str, owner: Owner, notebooks: Collection[str]) -> bool:
        """Whether a folder is somebody else's, whom the same system knows by another number.

        Args:
            folder: a folder of the student's name.
            owner: the student.
            notebooks: what the student's are called.
        """
        if not self.is_numbered_otherwise(folder, owner):
            return False
        there = {row["notebook"] for row in self._of(folder, owner)}
        return owner.scope not in _NUMBERS_ANEW or not there.isdisjoint(map(recorded, notebooks))

    def is_numbered_otherwise(self, folder: str, owner: Owner) -> bool:
        """Whether a system has given other numbers than this to whose folder it is."""
        student_ids = {row["id"] for row in self._of(folder, owner)}
        return bool(owner.id and student_ids) and recorded(owner.id) not in student_ids

    def _of(self, folder: str, owner: Owner) -> list[Mapping[str, str]]:
        """What was collected into a folder from an owner's system."""
        return [row for row in self._rows.get(folder, []) if row["system"] == owner.scope and row["id"]]

    def came_from(self, folder: str, place: Parts) -> bool:
        """Whether something in a folder was collected from this place before."""
        source = recorded(shown(place))
        return any(f"{row['from']}/".startswith(f"{source}/") for row in self._rows.get(folder, []))


_COLUMNS = ("student", "notebook", "system", "id", "modified", "sha256", "from")


class Record:
    """What is remembered of each notebook in a folder of submissions.

    Args:
        path: its file; there need not be one.

    Raises:
        GraderError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._rows: dict[tuple[str, str], dict[str, str]] = {}
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

    def known(self, folders: Iterable[str]) -> KnownStudents:
        """Whose the folders that are there are, as far as a system told."""
        return KnownStudents(folders, self._rows.values())

    def sha256_of(self, place: tuple[str, str]) -> str | None:
        """The hash of what was laid out there: a student's folder and the notebook's name in it."""
        row: Mapping[str, str] = self._rows.get((recorded(place[0]), recorded(place[1])), {})
        return row.get("sha256")

    def remember(
        self, place: tuple[str, str], owner: Owner, origin: str, sha256: str, modified: float
    ) -> None:
        """Note what lies in a student's folder under a name now; `modified` is in seconds since 1970."""
        when = datetime.fromtimestamp(modified, UTC).isoformat(timespec="seconds")
        known = (owner.scope, owner.id) if owner.id else ("", "")
        values = (*place, *known, when, sha256, origin)
        self._add({column: recorded(value) for column, value in zip(_COLUMNS, values, strict=True)})

    def content(self) -> bytes:
        """The file."""
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(self._rows[key] for key in sorted(self._rows))
        return encodable(text.getvalue()).encode()

    def _add(self, row: dict[str, str]) -> None:
        self._rows[row["student"], row["notebook"]] = row


def student_ids(results: Path, system: str, students: Iterable[str]) -> dict[str, str]:
    """The number of each student in a system out of which the notebooks were collected, as far as known.

    Args:
        results: what ``grade`` has written; it says where the submissions are, and there lies the record.
        system: such as ``canvas``.
        students: names of their folders.
    """
    found: dict[str, set[str]] = {}
    with suppress(OSError, ValueError, KeyError, TypeError, csv.Error):
        record = (Path(read_run(results)["submissions"]) / RECORD).read_text(encoding="utf-8-sig")
        for row in csv.DictReader(io.StringIO(record)):
            if row["system"] == system and row["id"]:
                found.setdefault(row["student"], set()).add(row["id"])
    named = {student: found.get(without_formula(student), set()) for student in students}
    return {student: next(iter(known)) for student, known in named.items() if len(known) == 1}
