"""What came back, laid out as ``grade`` reads it: a folder for each student, notebooks in it.

A source is listed (`source`); a function for its system says who handed in what, and when (`systems`); and
`layout` puts each notebook into its student's folder, and writes down what it took from where and when.
Decisions:

* **Clones need no mark.** Folders beside each other share the assignment's prefix, which is left out and
  told: ``--prefix`` mends a wrong guess, and nothing would mend a class of ``leaves-ada`` and ``leaves-ben``.
  Where clones share no prefix (several assignments, or a single clone), ``--prefix`` has to say it.
* **A name counts only where a system puts it.** A student named what lies below.
* **No name of a source becomes a path.** Students and notebooks get names by `grader.text.file_name`, so a
  zip's names need no defence of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.collect.clones import NO_CLOSING, Answered, Closing, Reading, with_history
from grader.integrations.collect.layout import (
    Changes,
    Layout,
    folder_of,
    lay_out,
    move_students,
    plan_targets,
    student_folders,
)
from grader.integrations.collect.source import REPOSITORY, Source, open_source
from grader.integrations.collect.systems import (
    HandedIn,
    Student,
    list_submissions,
    student_of,
    with_hyphen,
)
from grader.people.record import MARKING, Record
from grader.people.roster import ROSTER, Roster, read_people
from grader.people.witness import Witness

__all__ = ["Collected", "collect"]

MAX_BYTES = 8 << 30
"""The most that all notebooks of one zip may be, unpacked."""


@dataclass(frozen=True)
class Collected:
    """What came of collecting a source."""

    students: int  # how many have a notebook in it
    changes: Changes
    notes: tuple[str, ...]  # how students were named, for a person to check
    empty: tuple[str, ...]  # students, as far as folders tell, without a notebook


def collect(  # noqa: PLR0913, PLR0917 - what comes back, and what decides about it
    path: Path,
    folder: Path,
    prefixes: Sequence[str] | None = None,
    unread: Collection[str] | None = None,
    closing: Closing = NO_CLOSING,
    is_answered: Answered = lambda *_: True,
) -> Collected:
    """Lay out the notebooks of a source for ``grade``; they are copied as bytes.

    Args:
        path: the source: a folder of clones or of students' folders, or a learning-management system's zip.
        folder: where they go; what it holds already is kept, or brought up to date.
        prefixes: of clones' names; None for what all share.
        unread: the names of repositories that could not be read, where the source holds the clones of all
            others as they are now: what came from them before and is not there any more is marked.
        closing: the times at which versions may have been the last in time; of a clone these are taken too.
        is_answered: whether a notebook holds an answer; a version that does is not lost to one that does not.

    Raises:
        GraderError: the source holds no notebook or cannot be read, or the folder cannot be written.
    """
    if unread is not None and prefixes is None:
        raise GraderError(
            "--unread needs --prefix, which says where students' names begin in those of repositories"
        )
    if path.resolve().is_relative_to(folder.resolve()) or folder.resolve().is_relative_to(path.resolve()):
        raise GraderError(f"{folder} and {path} lie in each other: choose an --out outside of the source.")
    now = datetime.now(UTC).replace(microsecond=0)
    reading = Reading(now, unread is not None, closing, is_answered)
    begins = with_hyphen(prefixes or ())
    with open_source(path) as source:
        roster = read_people(folder)
        if unread is None or not folder.is_dir():
            _require_notebooks(path, source)
        witness = Witness(folder)
        source.files = [*with_history(source, path, reading, witness, partial(_prefix_of, begins))]
        listing = list_submissions(source, prefixes, roster)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GraderError(f"{folder} cannot be made ({error.strerror}): choose another --out.") from error
        record = Record(folder)
        notebooks = _of_one_download(listing.notebooks)
        folders, notes = student_folders(notebooks, record, roster)
        targets, skipped = plan_targets(notebooks, folders)
        if source.is_archive and sum(target.notebook.file.size for target in targets) > MAX_BYTES:
            raise GraderError(f"the notebooks of {path} are more than {MAX_BYTES >> 30} GiB: is it a bomb?")
        whose = {t.notebook.file.repository: t.folder for t in targets if t.notebook.file.repository}
        if unread is not None:
            read = [parts[0] for parts in source.repositories if len(parts) == 1]
            of_all = {name: folder_of(student_of(name, begins), record, roster) for name in [*read, *unread]}
            whose = of_all | whose
        notes += move_students(folder, record, whose)
        if unread is not None:
            found = {(target.folder, target.name) for target in targets}
            are_read, are_unread = ({name: whose[name] for name in names} for names in (read, unread))
            record.mark_night(found, are_read, are_unread, now)
            for name in unread:
                witness.read(name, _prefix_of(begins, name), "", None)
        changes = lay_out(targets, Layout(folder, record, witness, reading, unread is not None))
    changes.skipped += skipped + source.skipped
    if (path / ROSTER).is_file() and not (folder / ROSTER).exists():
        notes.append(f"{ROSTER} in {path} was not taken; `grade` looks for it in {folder}.")
    notes += _not_listed(roster, {target.notebook.student.name for target in targets}, folders)
    laid_out = changes.written + changes.replaced + changes.unchanged
    students = len({name.partition("/")[0] for name in laid_out})
    return Collected(students, changes, (*listing.notes, *notes), tuple(listing.empty))


def _prefix_of(begins: Sequence[str], repository: str) -> str:
    """What stands before the student's name in that of a repository."""
    return repository.removesuffix(student_of(repository, begins).name)


def _of_one_download(notebooks: Collection[HandedIn]) -> list[HandedIn]:
    """The notebooks, where a system tells times of a download only, all with that of its end."""
    marked = [notebook for notebook in notebooks if notebook.student.system == MARKING]
    end = max((notebook.when for notebook in marked), default=0)
    return [replace(each, when=end) if each.student.system == MARKING else each for each in notebooks]


def _not_listed(roster: Roster, names: Collection[str], folders: Mapping[Student, str]) -> Iterator[str]:
    """A sentence for each name that is not on the roster, or is that of several people there."""
    if not roster.people:
        return
    unknown = sorted(
        student.name
        for student, folder in folders.items()
        if student.name in names and folder not in roster.students
    )
    if unknown and roster.unread:
        yield roster.about_unread
    yield from map(roster.about_unknown, unknown)


def _require_notebooks(path: Path, source: Source) -> None:
    """Refuse a source without notebooks, and a single repository, whose notebooks would become students."""
    if not source.files:
        more = " {} {}.".format(*source.skipped[0]) if source.skipped else ""
        raise GraderError(f"there is no notebook in {path}: name the folder or zip that came back.{more}")
    is_repository = any((path / name).exists() for name in REPOSITORY)
    if is_repository and any(len(file.parts) == 1 for file in source.files):
        raise GraderError(f"{path} is a single repository: name the folder that holds it, {path.parent}.")
