"""The folder of submissions and its record, to which each run of ``collect`` adds.

`collected.csv` says what was collected, of which student, from where and when. A student whom a system knows
by an id keeps the folder of that id; others are known by their names. A newer version replaces a notebook
that is still what the record says. What a person changed or put here is kept. A cap keeps a student with many
notebooks from costing the others.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from grader.errors import GraderError
from grader.files import atomic_path, write_atomic
from grader.integrations.collect.clones import version_name
from grader.integrations.collect.model import Context, Student, Submitted
from grader.integrations.collect.source import MOST_NAMED, Skipped, UnreadableError
from grader.notebooks.files import NEVER_SUBMITTED, NO_STUDENTS, NOTEBOOK
from grader.people.directory import Person
from grader.people.files import csv_content
from grader.people.record import LOGIN, RECORD, Entry, Record, collision_key, earlier
from grader.people.roster import ROSTER, Roster
from grader.people.students import person_of_folder
from grader.people.witness import CUT, SEEN, Committed, Sighting, Witness, blob_of
from grader.text import distinct_file_name, file_name, some

MAX_NOTEBOOKS = 200
"""The most notebooks of a student that are taken from a source."""
MAX_STUDENT_BYTES = 500 << 20
"""The most that these may hold."""
MAX_COPIES = 20
"""The most copies that tools keep that are taken of a student."""
_COPIES = ".copies"  # the folder in a student's folder in which they are laid out
IGNORED = "ignored.csv"
"""Lists everything that was not taken the last time."""
_NOT_COPIED = ".not-copied"  # ends the name of an empty file that stands for another file of a student
_RESERVED = frozenset({RECORD, ROSTER, SEEN, IGNORED, *NEVER_SUBMITTED})


def student_folders(
    files: Mapping[Student, Collection[str]], record: Record, roster: Roster
) -> tuple[dict[Student, tuple[str, ...]], list[str]]:
    """A folder for each student, or one for each member of a group; and notes for a person.

    A student on the roster has the folder that it names. Others of equal names share a folder, unless the
    source or the record shows that they are several people: then the id is part of the name.

    Args:
        files: the names of each student's notebooks.
    """
    named: dict[str, set[str]] = defaultdict(set)  # the identities behind a name
    for student in files:
        named[collision_key(student.name)].add(student.identity)
    folders: dict[Student, tuple[str, ...]] = {}
    owners: dict[str, str] = {}  # by folder, the student's identity
    several: dict[str, list[Student]] = defaultdict(list)
    by_name = set()
    # A known student keeps the folder, even if another student has the same name.
    known_of = {student: _known(student, record, roster) for student in files}
    for student in sorted(files, key=lambda s: (known_of[s][0] is None, s.name, s.identity)):
        known, person = known_of[student]
        # The id beside a group's name may be that of the member who submitted.
        if not roster.called(student.name) and (members := roster.members(student.name)):
            folders[student] = tuple(member.student for member in members)
            continue
        known = known or (person.student if person else None)
        folder = known or _spelt(student.name, record)
        identity = student.identity if person is None else f"roster {person.student}"
        if known is None:
            ids = record.ids(folder, student.system)
            by_id = {*ids}
            if student.system == "moodle":  # its numbers differ between assignments: who submitted the same
                by_id = {number for number in ids if ids[number] & {*files[student]}}
            if by_id or len(named[collision_key(student.name)]) > 1:
                several[collision_key(student.name)].append(student)
                folder = _spelt(_with_id(student), record)
            elif ids:
                by_name.add(folder)
        if owners.setdefault(collision_key(folder), identity) != identity:
            # Another student's folder got this student's name, to tell it apart.
            taken = {folder, *chain(*folders.values()), *_RESERVED}
            folder = distinct_file_name(folder, f"{student.system} {identity}", taken)
            owners[collision_key(folder)] = identity
        folders[student] = (folder,)
    notes = [_about_several(several[key], folders) for key in sorted(several)]
    if by_name:
        named_so = ", ".join(some(sorted(by_name), MOST_NAMED))
        notes.append(
            f"matched by name only, because Moodle's numbers differ between assignments: {named_so}."
        )
    return folders, notes


def _about_several(students: Sequence[Student], folders: Mapping[Student, Sequence[str]]) -> str:
    """A sentence about students of one name, whom ids or the names in the source distinguish."""
    name = min(student.name for student in students)
    if all(student.id for student in students):
        return f"several students are called {name}: their folders' names say which is which."
    shown = [unicodedata.normalize("NFC", student.name) for student in students]
    names = shown if len({*shown}) == len(shown) else [ascii(student.name) for student in students]
    of_names = "; ".join(f"{folders[s][0]} is {each}" for s, each in zip(students, names, strict=True))
    return f"some file systems take these students' names for the same, so their folders differ: {of_names}."


def folder_of(student: Student, record: Record, roster: Roster) -> str:
    """The folder of a student without a notebook: the known one, otherwise named like the student."""
    folder, person = _known(student, record, roster)
    return folder or (person.student if person else _spelt(student.name, record))


def _known(student: Student, record: Record, roster: Roster) -> tuple[str | None, Person | None]:
    """The folder that the student has already, and the student on the roster; None if it is not clear.

    Moodle's numbers differ between assignments: a number with another name belongs to another student. A
    login keeps its folder when a name on the roster is corrected, and when another account is exchanged for
    it, unless the roster says that the folder is another student's.
    """
    ids = {student.system: student.id} if student.id else {}
    people = roster.find(student.name, logins=student.logins, ids=ids)
    person = people[0] if len(people) == 1 else None
    if student.id:
        folder = record.folder_of(student.system, student.id)
        is_others = student.system == "moodle" and folder not in {
            _spelt(student.name, record),
            _with_id(student),
        }
        return None if is_others else folder, person
    folder = next(filter(None, (record.folder_of(LOGIN, login) for login in student.logins)), None)
    owner = person_of_folder(folder, roster, record) if folder else None
    return folder if person is None or person is owner else None, person or owner


def _with_id(student: Student) -> str:
    if student.id:
        return f"{student.name}-{student.id}"
    return distinct_file_name(student.name, student.identity, {file_name(student.name)})


def _spelt(name: str, record: Record) -> str:
    """A name as a folder's; where there is such a folder, spelt as that is."""
    name = f"student {name}" if name.startswith(NO_STUDENTS) else name  # `grade` looks into no such folder
    safe = distinct_file_name(name, name, _RESERVED)
    key = collision_key(safe)
    return safe if key in _RESERVED else record.folders.get(key, safe)


@dataclass(frozen=True)
class Target:
    """A notebook, and where it goes: a student's folder and the name in it."""

    folder: str
    name: str
    notebook: Submitted
    is_groups: bool = False  # then the system's id is no member's

    @property
    def path(self) -> str:
        """Its path below the folder of submissions."""
        return f"{self.folder}/{self.name}"


def plan_targets(
    notebooks: Collection[Submitted], folders: Mapping[Student, Sequence[str]]
) -> tuple[list[Target], list[Skipped]]:
    """Give every notebook a name in the folder of its student, and list those that are too many.

    Of several versions the latest keeps the name; the others get distinct names.
    """
    targets: list[Target] = []
    skipped: list[Skipped] = []
    of_folder: dict[str, list[Submitted]] = defaultdict(list)
    for notebook in notebooks:
        for folder in folders[notebook.student]:
            of_folder[folder].append(notebook)
    for folder in sorted(of_folder):
        taken: dict[bool, set[str]] = {True: set(), False: set()}  # among copies, and among the others
        chosen: list[Target] = []
        size = copies = 0
        for notebook in _latest_first(of_folder[folder]):
            is_copy = notebook.file.copy is not None
            if is_copy and copies >= MAX_COPIES:
                limit = f"the {MAX_COPIES} copies that tools keep"
            elif len(chosen) >= MAX_NOTEBOOKS:
                limit = f"the {MAX_NOTEBOOKS} notebooks"
            elif size + notebook.file.size > MAX_STUDENT_BYTES:
                limit = f"the {MAX_STUDENT_BYTES >> 20} MiB of notebooks"
            else:
                size += notebook.file.size
                copies += is_copy
                name = _distinct(notebook, taken[is_copy])
                is_groups = len(folders[notebook.student]) > 1
                place = f"{_COPIES}/{name}" if is_copy else name
                chosen.append(Target(folder, place, notebook, is_groups))
                continue
            skipped.append((notebook.file.path, f"is more than {limit} taken of {folder}"))
        targets += sorted(chosen, key=lambda target: target.name)
    return targets, skipped


def _latest_first(notebooks: Sequence[Submitted]) -> list[Submitted]:
    """The latest version of each name, the older versions, then copies; each from the latest on."""
    ordered = sorted(notebooks, key=lambda notebook: notebook.rank, reverse=True)
    latest: dict[str, Submitted] = {}
    real = [notebook for notebook in ordered if notebook.file.copy is None]
    older = [n for n in real if latest.setdefault(collision_key(n.name), n) is not n]
    return [*latest.values(), *older, *(notebook for notebook in ordered if notebook.file.copy)]


def _distinct(notebook: Submitted, taken: set[str]) -> str:
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
    """The outcome for notebooks: their paths in the folder, and skipped files."""

    written: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    without: dict[str, str] = field(default_factory=dict)  # by folder without a notebook, another file


@dataclass(frozen=True)
class Layout:
    """The folder in which notebooks are laid out, and the data that decides which version stays."""

    folder: Path
    record: Record
    witness: Witness
    context: Context

    def _sighting(self, target: Target, blob: str) -> Sighting | None:
        """When a version was seen in the repositories of a student."""
        known = [target.notebook.file.repository, *self.record.repositories_of(target.folder)]
        return self.witness.sighting(known, blob)

    def is_replaced(self, target: Target, old: bytes, content: bytes) -> bool:
        """Whether one version replaced another in a repository, which times of commits do not decide.

        Either the source holds what is submitted now, or the old version is in the history of the new one, or
        the repository did not have the new version yet when it had the old one.
        """
        if self.context.is_night or blob_of(old) in target.notebook.file.replaced:
            return True
        before, after = (self._sighting(target, blob_of(version)) for version in (old, content))
        return before is not None and after is not None and after.seen > before.seen

    def entry(self, target: Target, content: bytes) -> Entry:
        """The record's entry for a version that was laid out."""
        notebook, file = target.notebook, target.notebook.file
        may_be_older = False
        when, seen = datetime.fromtimestamp(notebook.when / 10**9, UTC).replace(microsecond=0), None
        if file.repository:
            blob, name = blob_of(content), "/".join(file.parts)
            if not file.commit:  # Git may have changed line ends, or there are no commits to read
                version = Committed(name, blob, CUT if file.may_be_older else "", when)
                self.witness.see(file.repository, [version], self.context.at, self.context.at)
            sighting = self._sighting(target, blob)
            when = sighting.submitted if sighting else self.context.at
            may_be_older = sighting is not None and sighting.version.may_be_older
            seen = sighting.seen if sighting and sighting.submitted < sighting.seen else None
        student = notebook.student
        return Entry(
            target.folder,
            target.name,
            when,
            file.path,
            system=student.system if student.id else "",
            id="" if target.is_groups else student.id,
            is_marked_late=notebook.is_marked_late,
            may_be_older=may_be_older,
            sha256=hashlib.sha256(content).hexdigest(),
            seen=seen,
        )


def lay_out(
    targets: Sequence[Target], others: Mapping[str, str], ignored: Sequence[Skipped], layout: Layout
) -> Changes:
    """Copy notebooks to their places, and add them to the record, which is written at the end.

    Args:
        others: by the folder of a student without a notebook, another file that was submitted: an empty file
            stands for it, for ``grade`` to name, as for a notebook that cannot be read.
        ignored: everything in the source that was not taken so far.

    Raises:
        GraderError: something is in the way, or cannot be read or written.
    """
    changes, path = Changes(), layout.folder
    try:
        try:
            for target in targets:
                path = layout.folder / target.path
                _put(target, path, layout, changes)
            laid_out = (*changes.written, *changes.replaced, *changes.unchanged)
            for place in laid_out:
                changes.without.pop(place.partition("/")[0], None)
            changes.without |= others
            for student, file in changes.without.items():
                path = layout.folder / student / (file_name(file.lstrip(".")) + _NOT_COPIED)
                _require_free(path, layout.folder)
                path.parent.mkdir(exist_ok=True)
                path.touch()
        finally:
            write_atomic(layout.folder / RECORD, layout.record.content())
            write_atomic(layout.folder / SEEN, layout.witness.content())
            skipped = [*changes.skipped, *ignored]
            write_atomic(layout.folder / IGNORED, csv_content(("path", "reason"), skipped))
    except OSError as error:
        raise GraderError(
            f"{path} cannot be read or written ({error.strerror}): move it away, make room or choose another"
            " --out, and collect again."
        ) from error
    return changes


def _put(target: Target, path: Path, layout: Layout, changes: Changes) -> None:
    """Put a notebook where it belongs, unless something there has to stay."""
    _require_free(path, layout.folder)
    try:
        content = target.notebook.file.read()
    except UnreadableError as error:
        changes.skipped.append((target.notebook.file.path, str(error)))
        changes.without.setdefault(target.folder, target.notebook.name)
        return
    new, before = layout.entry(target, content), layout.record.entry(target.folder, target.name)
    old = path.read_bytes() if path.exists() else None
    there = None if old is None else hashlib.sha256(old).hexdigest()
    if there == new.sha256:
        changes.unchanged.append(target.path)
        if before:  # a later download is no later submission
            new = replace(new, submitted=min(new.submitted, before.submitted))
    elif why := _not_taken(
        new, before, there, is_replaced=old is not None and layout.is_replaced(target, old, content)
    ):
        changes.skipped.append((target.notebook.file.path, why))
        return
    else:
        if old is not None and before is not None:
            _keep_work(before, new, path, layout, old, content)
        _write(path, content, new.submitted)
        (changes.written if old is None else changes.replaced).append(target.path)
    layout.record.remember(new)


def _write(path: Path, content: bytes, submitted: datetime) -> None:
    with atomic_path(path) as new:
        new.write_bytes(content)
        os.utime(new, (submitted.timestamp(), submitted.timestamp()))


def _require_free(path: Path, folder: Path) -> None:
    """Refuse to write through a link, or where something else lies.

    Raises:
        GraderError: there is one.
    """
    parents = [parent for parent in path.parents if parent.is_relative_to(folder) and parent != folder]
    places = [*((parent, Path.is_dir, "folder") for parent in parents), (path, Path.is_file, "notebook")]
    for place, fits, what in places:
        if place.is_symlink():
            raise GraderError(f"{place} is a link, and nothing is written through one: remove it.")
        if place.exists() and not fits(place):
            raise GraderError(f"{place} is in the place of a student's {what}: move it away.")


def _not_taken(new: Entry, before: Entry | None, there: str | None, *, is_replaced: bool) -> str | None:
    """Why a version is not taken, as the end of a sentence; None if it is.

    Args:
        before: the file that it replaces.
        there: the hash of what lies there now.
        is_replaced: whether it replaced that file, even if its time is earlier.
    """
    place, again = f"{new.student}/{new.notebook}", f"remove its line from {RECORD} to have this one"
    if there is None:
        is_deleted = before is not None and before.sha256 == new.sha256
        return f"was not copied: you deleted {place}; {again}" if is_deleted else None
    if before is None or there != before.sha256:
        return f"was not copied: {place} was added or changed by hand, so it stays; move it away and {again}"
    is_older = not is_replaced and before.submitted > new.submitted
    return f"is older than {place}, which stays" if is_older else None


def _keep_work(  # noqa: PLR0913, PLR0917 - two versions, and where they lie
    before: Entry, new: Entry, path: Path, layout: Layout, old: bytes, content: bytes
) -> None:
    """Keep what is replaced under another name if it is work and the new version may not count before it.

    That is a version without answers, and one that is late where the last version in time counts first.
    """
    context, name = layout.context, new.notebook
    if not context.is_answered(name, old):
        return
    closing = context.closing_of(name)
    is_late = any(before.submitted <= closes < new.submitted for closes in closing)
    is_late = is_late or (bool(closing) and new.is_marked_late and not before.is_marked_late)
    if is_late or not context.is_answered(name, content):
        place = path.with_name(version_name(name, before.submitted))
        if not place.exists():
            _write(place, old, before.submitted)
            origin = earlier(before.origin)
            layout.record.remember(replace(before, notebook=place.name, origin=origin, missing=None))
