"""Submissions, laid out as ``grade`` reads them: a folder for each student with the notebooks.

A source is listed (`source`), with the history of clones (`clones`); the system that it comes from says who
submitted what, and when (`systems`, else `folders`); and `layout` puts each notebook into its student's
folder, and writes down what it took from where and when. Decisions:

* **Nothing is guessed that --prefix answers.** Repositories with a hyphen in their names, and files in no
  folder, stop the command.
* **A name counts only where a system puts it.** A student named what is below.
* **No name of a source becomes a path.** Students and notebooks get names by `grader.text.file_name`, so a
  zip's names need no defence of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from types import MappingProxyType

from grader.errors import GraderError
from grader.integrations.collect.clones import add_history
from grader.integrations.collect.layout import (
    Changes,
    Layout,
    Target,
    folder_of,
    lay_out,
    plan_targets,
    student_folders,
)
from grader.integrations.collect.model import Answered, Closing, Context, Student
from grader.integrations.collect.source import MOST_NAMED, REPOSITORY, Skipped, Source, open_source
from grader.integrations.collect.systems import list_submissions
from grader.people.files import about_misnamed
from grader.people.record import Record
from grader.people.roster import ROSTER, Roster, read_people
from grader.people.students import students_of_folders
from grader.people.term import INSTRUCTORS
from grader.people.witness import Witness
from grader.text import some

__all__ = ["Collected", "collect"]

MAX_BYTES = 8 << 30
"""The most that all notebooks of one zip may be, unpacked."""


@dataclass(frozen=True)
class Collected:
    """The outcome of collecting a source."""

    students: int  # how many have a notebook in it
    changes: Changes
    notes: tuple[str, ...]  # how students were named, for a person to check
    empty: tuple[str, ...]  # students, as far as folders tell, without a notebook
    others: tuple[Skipped, ...] = ()  # files that are no notebooks, with the reason


def collect(  # noqa: PLR0913, PLR0917 - what comes back, and what decides about it
    path: Path,
    folder: Path,
    prefixes: Sequence[str] | None = None,
    unread: Collection[str] | None = None,
    closing: Closing = MappingProxyType({}),
    is_answered: Answered = lambda *_: True,
    zone: tzinfo = UTC,
) -> Collected:
    """Lay out the notebooks of a source for ``grade``; they are copied as bytes.

    Args:
        path: the source: a folder of clones or of students' folders, or a learning-management system's zip.
        folder: the target; its present files are kept, or updated.
        prefixes: the parts of names before the student's; None if they are unknown.
        unread: the names of repositories that could not be read, where the source holds the clones of all
            others as they are now: what came from them before and is not there any more is marked.
        closing: by assignment of the course, the times at which versions may have been the last in time; of a
            clone these are taken too.
        is_answered: whether a notebook holds an answer; a version that does is not lost to one that does not.
        zone: the course's, in which times are that name no time zone.

    Raises:
        GraderError: the source holds no notebook or cannot be read, or the folder cannot be written.
    """
    if unread is not None and prefixes is None:
        raise GraderError(
            "--unread needs --prefix, which says where students' names begin in those of repositories"
        )
    if path.resolve().is_relative_to(folder.resolve()) or folder.resolve().is_relative_to(path.resolve()):
        raise GraderError(
            f"one of {folder} and {path} contains the other: choose an --out outside of the source."
        )
    now = datetime.now(UTC).replace(microsecond=0)
    with open_source(path, zone) as source:
        roster = read_people(folder)
        named = None if prefixes is None else tuple(prefixes)
        context = Context(named, roster, zone, now, unread is not None, closing, is_answered)
        if unread is None or not folder.is_dir():
            _require_notebooks(path, source)
        record = Record(folder)
        witness = Witness(folder, record.last_read)
        read_at = add_history(source, path, context, witness)
        at_top = {parts[0] for parts in source.repositories if len(parts) == 1}
        if unread is not None:
            read_at |= dict.fromkeys(at_top, now)
        listing = list_submissions(source, context)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GraderError(f"{folder} cannot be made ({error.strerror}): choose another --out.") from error
        folders, notes = student_folders(listing.files(), record, roster)
        targets, skipped = plan_targets(listing.notebooks, folders)
        if source.is_archive and sum(target.notebook.file.size for target in targets) > MAX_BYTES:
            raise GraderError(f"the notebooks of {path} are more than {MAX_BYTES >> 30} GiB: is it a bomb?")
        _note_repositories(record, targets, context, read_at, at_top & read_at.keys() | {*(unread or ())})
        if unread is not None:
            record.mark_night({(t.folder, t.name) for t in targets}, read_at, unread, now)
        holding = {target.folder for target in targets}
        without = {
            name: file
            for student, file in listing.others.items()
            for name in folders[student]
            if name not in holding
        }
        skipped += source.skipped
        others = source.about_others()
        changes = lay_out(targets, without, skipped + others, Layout(folder, record, witness, context))
    changes.skipped += skipped
    notes += about_misnamed(folder, INSTRUCTORS)
    notes += _about_shallow(record, targets)
    if (path / ROSTER).is_file() and not (folder / ROSTER).exists():
        notes.append(f"{ROSTER} in {path} was not taken; `grade` looks for it in {folder}.")
    notes += _not_listed(roster, record, {target.notebook.student.name for target in targets}, folders)
    laid_out = changes.written + changes.replaced + changes.unchanged
    students = len({name.partition("/")[0] for name in laid_out})
    empty = {
        folder_of(student, record, roster) for student in listing.empty
    } - holding | changes.without.keys()
    return Collected(students, changes, (*listing.notes, *notes), tuple(sorted(empty)), tuple(others))


def _note_repositories(
    record: Record,
    targets: Collection[Target],
    context: Context,
    read_at: Mapping[str, datetime],
    named: Collection[str],
) -> None:
    """Record the owners of repositories, by the notebooks in them, otherwise by the repositories' names.

    Args:
        read_at: when each was read.
        named: those that are named by their students, also those that could not be read.
    """
    owners: dict[str, set[str]] = {name: set() for name in (*read_at, *named)}
    for target in targets:
        if target.notebook.file.repository:
            owners[target.notebook.file.repository].add(target.folder)
    for name, folders in owners.items():
        login = context.without_prefix(name)
        own = folders or {folder_of(Student(login, logins=(login,)), record, context.roster)}
        for folder in own:
            is_students = len(own) == 1 and name in named
            record.note_repository(name, folder, login, read_at.get(name), is_students=is_students)


def _about_shallow(record: Record, targets: Collection[Target]) -> Iterator[str]:
    """A sentence about clones that do not say when notebooks were committed."""
    shallow = {
        target.notebook.file.repository
        for target in targets
        if (entry := record.entry(target.folder, target.name)) and entry.may_be_older
    }
    if shallow:
        named = ", ".join(some(sorted(shallow), MOST_NAMED))
        yield (
            f"shallow clones, which lack the times of some commits: {named}. Run `git fetch --unshallow` in"
            " each of them, and collect again."
        )


def _not_listed(
    roster: Roster, record: Record, names: Collection[str], folders: Mapping[Student, Sequence[str]]
) -> Iterator[str]:
    """A sentence for each name that is not on the roster, or is that of several people there."""
    if not roster.people:
        return
    unknown = sorted(
        student.name
        for student, its_folders in folders.items()
        if student.name in names
        and not {*students_of_folders(its_folders, roster, record).values()} <= {*roster.students}
    )
    if unknown and roster.unread:
        yield roster.about_unread
    yield from map(roster.about_unknown, unknown)


def _require_notebooks(path: Path, source: Source) -> None:
    """Refuse a source without notebooks, and a single repository, whose notebooks would become students."""
    if not source.files:
        more = " {} {}.".format(*source.skipped[0]) if source.skipped else ""
        raise GraderError(f"{path} contains no notebooks: name the folder or zip that you downloaded.{more}")
    is_repository = any((path / name).exists() for name in REPOSITORY)
    if is_repository and any(len(file.parts) == 1 for file in source.files):
        raise GraderError(f"{path} is a single repository: name the folder that contains it, {path.parent}.")
