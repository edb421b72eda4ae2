"""Outside: what came back, laid out as ``grade`` reads it: a folder for each student, notebooks in it."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.grading.roster import ROSTER
from grader.integrations.collect.folder_source import list_folder
from grader.integrations.collect.layout import Changes, SubmissionsFolder, plan_targets
from grader.integrations.collect.owners import find_owners
from grader.integrations.collect.source import MOST_NAMED, REPOSITORY, Owner, Parts, Source
from grader.integrations.collect.students import KnownStudents, student_folders
from grader.integrations.collect.zip_source import list_zip
from grader.text import inert, some

__all__ = ["Collected", "collect"]

_ZIP = b"PK"

MAX_BYTES = 8 << 30
"""The most that all notebooks of one zip may be, unpacked."""


@dataclass(frozen=True)
class Collected:
    """What came of collecting a source.

    Attributes:
        students: how many students have a notebook in it.
        outcome: what was written, replaced and left.
        notes: what a person should know of how students were named.
        empty: students, as far as folders tell, without a notebook.
    """

    students: int
    changes: Changes
    notes: tuple[str, ...]
    empty: tuple[str, ...]


def collect(source: Path, folder: Path, prefixes: Sequence[str] | None = None) -> Collected:
    """Lay out the notebooks of a source for ``grade``; nothing in them is read as anything but bytes.

    Args:
        source: a folder of clones or of students' folders, or the zip of a learning-management system.
        folder: where they go; what is there already is kept, or brought up to date.
        prefixes: what clones' names begin with; None to find out.

    Raises:
        GraderError: the source holds no notebook or cannot be read, or the folder cannot be written.
    """
    _require_apart(source, folder)
    with _listed(source) as listing:
        if not listing.items:
            more = f" {listing.skipped[0][0]} {listing.skipped[0][1]}." if listing.skipped else ""
            raise GraderError(
                f"there is no notebook in {source}: name the folder or zip that came back.{more}"
            )
        _require_more_than_a_clone(source, listing)
        handed = find_owners(listing, prefixes)
        called: dict[Owner, set[str]] = defaultdict(set)
        for one in handed.notebooks:
            called[one.owner].add(one.name)
        with SubmissionsFolder(folder) as layout:
            known = layout.known()
            found = student_folders(called, known)
            if prefixes is None:
                _require_nobodys(handed.guessed, found.folders, known)
            wanted = plan_targets(handed.notebooks, found.folders)
            if listing.is_archive and wanted.size > MAX_BYTES:
                raise GraderError(
                    f"the notebooks of {source} are more than {MAX_BYTES >> 30} GiB: is it a bomb?"
                )
            for target in wanted.taken:
                layout.put(target)
        layout.changes.skipped += wanted.skipped + listing.skipped
    names = {name.partition("/")[0] for name in layout.changes.all}
    notes = (*handed.notes, *found.notes, *_note_of_a_roster(source, folder))
    return Collected(len(names), layout.changes, notes, tuple(handed.empty))


def _note_of_a_roster(source: Path, folder: Path) -> Iterator[str]:
    if (source / ROSTER).is_file() and not (folder / ROSTER).exists():
        yield f"{ROSTER} in {source} was not taken; `grade` looks for it in {folder}."


def _require_more_than_a_clone(source: Path, listing: Source) -> None:
    """Refuse one student's repository, whose notebooks would be taken for students."""
    is_repository = any((source / name).exists() for name in REPOSITORY)
    if is_repository and any(len(item.place) == 1 for item in listing.items):
        raise GraderError(f"{source} is a single repository: name the folder that holds it, {source.parent}.")


def _require_nobodys(
    guessed: Mapping[Owner, Parts], folders: Mapping[Owner, str], known: KnownStudents
) -> None:
    """Refuse to add to folders whose owners only names tell that a student may have chosen."""
    there = set(known.folders)
    taken = sorted(
        folders[owner]
        for owner, place in guessed.items()
        if folders[owner] in there
        and known.folder_of(owner) != folders[owner]
        and not known.came_from(folders[owner], place)
    )
    if taken:
        raise GraderError(
            f"{inert(', '.join(some(taken, MOST_NAMED)))}: there already, and only names that a student may"
            " have chosen say whose these are. If they are theirs, collect with --prefix TEXT"
            ' (--prefix "" takes folders\' names whole).'
        )


def _require_apart(source: Path, folder: Path) -> None:
    here, there = source.resolve(), folder.resolve()
    if here == there or here in there.parents or there in here.parents:
        raise GraderError(f"{folder} and {source} lie in each other: choose an --out outside of the source.")


@contextmanager
def _listed(source: Path) -> Iterator[Source]:
    if source.is_dir():
        yield list_folder(source)
    elif source.is_file() and zipfile.is_zipfile(source):
        with list_zip(source) as listing:
            yield listing
    elif source.exists():
        with source.open("rb") as file:
            is_cut = file.read(2) == _ZIP
        if is_cut:
            raise GraderError(f"{source} looks like a zip that was cut off on its way: download it again.")
        raise GraderError(f"{source} is neither a folder nor a zip: name what the system handed out.")
    else:
        raise GraderError(f"there is no {source}: name a folder of clones, or a zip that was downloaded.")
