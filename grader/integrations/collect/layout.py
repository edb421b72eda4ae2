"""The folder of submissions, and its record; each collecting adds to it.

`collected.csv` says what was collected, of which student, from where and when. A student whom a system knows
by an id keeps the folder of that id; others are known by their names. A newer version replaces a notebook
that is still what the record says. What a person changed or put here is kept. A cap keeps a student with many
notebooks from costing the others.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from grader.errors import GraderError
from grader.files import atomic_path, write_atomic
from grader.integrations.collect.source import MOST_NAMED, Skipped, UnreadableError
from grader.integrations.collect.systems import HandedIn, Student
from grader.notebooks.files import NEVER_SUBMITTED, NO_STUDENTS, NOTEBOOK
from grader.people.record import RECORD, Record, collision_key
from grader.people.roster import ROSTER, Person, Roster
from grader.text import distinct_file_name, file_name, some

MAX_NOTEBOOKS = 200
"""The most notebooks of a student that are taken from a source."""
MAX_STUDENT_BYTES = 500 << 20
"""The most that these may hold."""
MAX_COPIES = 20
"""The most copies that tools keep that are taken of a student."""
_COPIES = ".copies"  # the folder in a student's folder in which they are laid out
_RESERVED = frozenset({RECORD, ROSTER, *NEVER_SUBMITTED})


def student_folders(
    notebooks: Collection[HandedIn], record: Record, roster: Roster
) -> tuple[dict[Student, str], list[str]]:
    """A folder for each student, and what a person should know of them.

    Who is on the roster has the folder that it names. Others of equal names share a folder, unless the source
    or the record tells that they are several people: then the id is part of the name.
    """
    names: dict[Student, set[str]] = defaultdict(set)
    named: dict[str, set[str]] = defaultdict(set)  # the identities behind a name
    for notebook in notebooks:
        names[notebook.student].add(notebook.name)
        named[collision_key(notebook.student.name)].add(notebook.student.identity)
    folders: dict[Student, str] = {}
    owners: dict[str, str] = {}  # by folder, the student's identity
    several, by_name = set(), set()
    # Who is known keeps the folder, whoever else of that name comes now.
    for student in sorted(names, key=lambda s: (_known_folder(s, record, None) is None, s.name, s.identity)):
        person = _person(student, roster)
        known = _known_folder(student, record, person)
        folder = known or _spelt(student.name, record)
        identity = student.identity if person is None else f"roster {person.student}"
        if known is None:
            ids = record.ids(folder, student.system)
            by_id = {*ids}
            if (
                student.system == "moodle"
            ):  # it numbers people anew in each assignment: who handed in the same
                by_id = {number for number in ids if ids[number] & names[student]}
            if by_id or len(named[collision_key(student.name)]) > 1:
                several.add(student.name)
                folder = _spelt(_with_id(student), record)
            elif ids:
                by_name.add(folder)
        if owners.setdefault(collision_key(folder), identity) != identity:
            # Another student's folder got this student's name, to tell it apart.
            taken = {folder, *folders.values(), *_RESERVED}
            folder = distinct_file_name(folder, f"{student.system} {identity}", taken)
            owners[collision_key(folder)] = identity
        folders[student] = folder
    notes = [
        f"several students are called {n}: their folders' names say which is which." for n in sorted(several)
    ]
    if by_name:
        known = ", ".join(some(sorted(by_name), MOST_NAMED))
        notes.append(f"recognised by name, as Moodle numbers people anew in each assignment: {known}.")
    return folders, notes


def folder_of(student: Student, record: Record, roster: Roster) -> str:
    """The folder of a student of whom nothing has come: the roster's, else called as the student."""
    person = _person(student, roster)
    return person.student if person else _spelt(student.name, record)


def _known_folder(student: Student, record: Record, person: Person | None) -> str | None:
    """The folder that the student has, or has on the roster.

    Moodle numbers people anew in each assignment: its number is somebody else's if the name is another.
    """
    folder = record.folder_of(student.system, student.id)
    if student.system == "moodle" and folder not in {_spelt(student.name, record), _with_id(student)}:
        folder = None
    return folder or (person.student if person else None)


def _person(student: Student, roster: Roster) -> Person | None:
    """The student on the roster, if it is clear who that is."""
    people = roster.people_called(
        student.name, logins=student.logins, ids={student.system: student.id} if student.id else {}
    )
    return people[0] if len(people) == 1 else None


def _with_id(student: Student) -> str:
    if student.id:
        return f"{student.name}-{student.id}"
    return distinct_file_name(student.name, student.identity, {file_name(student.name)})


def _spelt(name: str, record: Record) -> str:
    """A name as a folder's; where there is such a folder, spelt as that is."""
    name = f"_{name}" if name.startswith(NO_STUDENTS) else name  # `grade` looks into no such folder
    safe = distinct_file_name(name, name, _RESERVED)
    key = collision_key(safe)
    return safe if key in _RESERVED else record.folders.get(key, safe)


@dataclass(frozen=True)
class Target:
    """A notebook, and where it goes: a student's folder and the name in it."""

    folder: str
    name: str
    notebook: HandedIn

    @property
    def path(self) -> str:
        """Its path below the folder of submissions."""
        return f"{self.folder}/{self.name}"


def plan_targets(
    notebooks: Collection[HandedIn], folders: Mapping[Student, str]
) -> tuple[list[Target], list[Skipped]]:
    """Give every notebook a name in the folder of its student, and tell which are too many.

    Of several versions the latest keeps the name; the others get names that tell them apart.
    """
    targets: list[Target] = []
    skipped: list[Skipped] = []
    of_folder: dict[str, list[HandedIn]] = defaultdict(list)
    for notebook in notebooks:
        of_folder[folders[notebook.student]].append(notebook)
    for folder in sorted(of_folder):
        taken: dict[bool, set[str]] = {True: set(), False: set()}  # among copies, and among the others
        kept: list[Target] = []
        size = copies = 0
        for notebook in _latest_first(of_folder[folder]):
            is_copy = notebook.file.copy is not None
            if is_copy and copies >= MAX_COPIES:
                limit = f"the {MAX_COPIES} copies that tools keep"
            elif len(kept) >= MAX_NOTEBOOKS:
                limit = f"the {MAX_NOTEBOOKS} notebooks"
            elif size + notebook.file.size > MAX_STUDENT_BYTES:
                limit = f"the {MAX_STUDENT_BYTES >> 20} MiB of notebooks"
            else:
                size += notebook.file.size
                copies += is_copy
                name = _distinct(notebook, taken[is_copy])
                kept.append(Target(folder, f"{_COPIES}/{name}" if is_copy else name, notebook))
                continue
            skipped.append((notebook.file.path, f"is more than {limit} taken of {folder}"))
        targets += sorted(kept, key=lambda target: target.name)
    return targets, skipped


def _latest_first(notebooks: Sequence[HandedIn]) -> list[HandedIn]:
    """The latest version of each name, the older versions, then copies; each from the latest on."""
    ordered = sorted(notebooks, key=lambda notebook: notebook.rank, reverse=True)
    latest: dict[str, HandedIn] = {}
    real = [notebook for notebook in ordered if notebook.file.copy is None]
    older = [n for n in real if latest.setdefault(collision_key(n.name), n) is not n]
    return [*latest.values(), *older, *(notebook for notebook in ordered if notebook.file.copy)]


def _distinct(notebook: HandedIn, taken: set[str]) -> str:
    """A notebook's name as a safe component of a path that still ends as notebooks do; added to `taken`."""
    parts = NOTEBOOK.fullmatch(notebook.name)
    stem, suffix = (parts["stem"], parts["suffix"]) if parts else (notebook.name, ".ipynb")
    name = distinct_file_name(stem, "/".join(notebook.file.parts), _Stems(taken, suffix)) + suffix
    taken.add(collision_key(name))
    return name


@dataclass(frozen=True)
class _Stems(Container[str]):
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


@dataclass(frozen=True)
class Night:
    """What was known before a night, in which all repositories are read as they are.

    A commit has the time that its author gives it, so a version counts as handed in at that time, but not
    before the last night in which its repository was read without it.

    Attributes:
        times: when what lay there was handed in, by the student's folder and the notebook's hash.
        last_read: when each repository was read, by its name.
    """

    now: datetime
    times: Mapping[tuple[str, str], datetime]
    last_read: Mapping[str, datetime]

    def handed_in(self, target: Target, sha256: str) -> int:
        """When a version was handed in, in nanoseconds since 1970."""
        known = self.times.get((target.folder, sha256))
        read = self.last_read.get(target.notebook.file.parts[0])
        earliest = int(read.timestamp()) * 10**9 if read else 0
        latest = int(self.now.timestamp()) * 10**9
        return int(known.timestamp()) * 10**9 if known else min(max(target.notebook.when, earliest), latest)


def lay_out(targets: Sequence[Target], folder: Path, record: Record, night: Night | None = None) -> Changes:
    """Put notebooks where they belong, and note in the record what lies there; it is written at the end.

    Args:
        night: where the source holds what is handed in now, so that an older version replaces a newer one.

    Raises:
        GraderError: something is in the way, or cannot be read or written.
    """
    changes, path = Changes(), folder
    try:
        try:
            for target in targets:
                path = folder / target.folder / target.name
                _put(target, path, record, changes, night)
        finally:
            write_atomic(folder / RECORD, record.content())
    except OSError as error:
        raise GraderError(
            f"{path} cannot be read or written ({error.strerror}): move it away, make room or choose another"
            " --out, and collect again."
        ) from error
    return changes


def _put(target: Target, path: Path, record: Record, changes: Changes, night: Night | None) -> None:
    """Put a notebook where it belongs, unless something there has to stay."""
    for place, fits, what in ((path.parent, Path.is_dir, "folder"), (path, Path.is_file, "notebook")):
        if place.is_symlink():
            raise GraderError(f"{place} is a link, and nothing is written through one: remove it.")
        if place.exists() and not fits(place):
            raise GraderError(f"{place} lies where a student's {what} belongs: move it away.")
    notebook = target.notebook
    try:
        content = notebook.file.read()
    except UnreadableError as error:
        changes.skipped.append((notebook.file.path, str(error)))
        return
    sha256 = hashlib.sha256(content).hexdigest()
    there = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
    when, kept = night.handed_in(target, sha256) if night else notebook.when, None
    if there is not None and there != record.sha256_of(target.folder, target.name):
        somebodys = f"{target.path} was changed or put there by somebody, so it is kept"
        kept = f"was not taken: {somebodys}; move it away to have this one"
    elif night is None and there is not None and record.time_of(target.folder, target.name) > when:
        kept = f"is older than {target.path}, which is kept"
    if there == sha256:
        changes.unchanged.append(target.path)
        # A later download is no later handing in.
        when = min(when, record.time_of(target.folder, target.name) or when)
    elif kept:
        changes.skipped.append((notebook.file.path, kept))
        return
    else:
        with atomic_path(path) as new:
            new.write_bytes(content)
            os.utime(new, ns=(when, when))
        (changes.written if there is None else changes.replaced).append(target.path)
    student = notebook.student
    identity = (student.system, student.id) if student.id else ("", "")
    record.remember(
        *(target.folder, target.name, identity, notebook.file.path, sha256, when / 10**9),
        is_marked_late=notebook.is_marked_late,
    )
