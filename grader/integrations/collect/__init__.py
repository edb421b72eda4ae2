"""What came back, laid out as ``grade`` reads it: a folder for each student, notebooks in it.

A source is listed (`listing`). Each notebook gets an owner by the names that a system gave (`owners`,
`lms_names`), each owner a folder (`students`), and each notebook a name in it (`layout`). Decisions:

* **Clones need no mark.** Folders beside each other share the assignment's prefix, which is left out and
  told: ``--prefix`` mends a wrong guess, and nothing would mend a class of ``leaves-ada`` and ``leaves-ben``.
  Where clones share no prefix (several assignments, or a single clone), ``--prefix`` has to say it.
* **A name counts only where a system puts it.** A student named what lies below.
* **No name of a source becomes a path.** Students and notebooks get names by `grader.text.file_name`, so a
  zip's names need no defence of their own.
"""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.grading.roster import ROSTER
from grader.integrations.collect.layout import Changes, SubmissionsFolder, plan_targets
from grader.integrations.collect.listing import list_folder, list_zip
from grader.integrations.collect.owners import find_owners
from grader.integrations.collect.source import MOST_NAMED, REPOSITORY, Attribution, Owner, Source
from grader.integrations.collect.students import Record, student_folders
from grader.text import some, terminal_text

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


def collect(path: Path, folder: Path, prefixes: Sequence[str] | None = None) -> Collected:
    """Lay out the notebooks of a source for ``grade``; they are copied as bytes.

    Args:
        path: the source: a folder of clones or of students' folders, or a learning-management system's zip.
        folder: where they go; what it holds already is kept, or brought up to date.
        prefixes: of clones' names; None for what all share.

    Raises:
        GraderError: the source holds no notebook or cannot be read, or the folder cannot be written.
    """
    _require_apart(path, folder)
    with _listed(path) as source:
        _require_notebooks(path, source)
        attribution = find_owners(source, prefixes)
        names: dict[Owner, set[str]] = defaultdict(set)
        for notebook in attribution.notebooks:
            names[notebook.owner].add(notebook.name)
        with SubmissionsFolder(folder) as submissions:
            students = student_folders(names, submissions.record)
            if prefixes is None:
                _require_new(attribution, students.folders, submissions.record)
            targets, skipped = plan_targets(attribution.notebooks, students.folders)
            if source.is_archive and sum(target.notebook.file.size for target in targets) > MAX_BYTES:
                raise GraderError(
                    f"the notebooks of {path} are more than {MAX_BYTES >> 30} GiB: is it a bomb?"
                )
            for target in targets:
                submissions.put(target)
    changes = submissions.changes
    changes.skipped += skipped + source.skipped
    laid_out = changes.written + changes.replaced + changes.unchanged
    count = len({path.partition("/")[0] for path in laid_out})
    notes = (*attribution.notes, *students.notes, *_note_of_a_roster(path, folder))
    return Collected(count, changes, notes, tuple(attribution.empty))


def _note_of_a_roster(path: Path, folder: Path) -> Iterator[str]:
    if (path / ROSTER).is_file() and not (folder / ROSTER).exists():
        yield f"{ROSTER} in {path} was not taken; `grade` looks for it in {folder}."


def _require_notebooks(path: Path, source: Source) -> None:
    """Refuse a source without notebooks, and a single repository, whose notebooks would become students."""
    if not source.files:
        more = " {} {}.".format(*source.skipped[0]) if source.skipped else ""
        raise GraderError(f"there is no notebook in {path}: name the folder or zip that came back.{more}")
    is_repository = any((path / name).exists() for name in REPOSITORY)
    if is_repository and any(len(file.parts) == 1 for file in source.files):
        raise GraderError(f"{path} is a single repository: name the folder that holds it, {path.parent}.")


def _require_new(attribution: Attribution, folders: Mapping[Owner, str], record: Record) -> None:
    """Refuse to add to students' folders what lies in a single folder, which a student may have filled."""
    if not attribution.wrapper:
        return
    there = set(record.folders.values())
    sources = {n.owner: (*attribution.wrapper, n.file.parts[0]) for n in attribution.notebooks}
    taken = {
        folders[owner]
        for owner, source in sources.items()
        if folders[owner] in there
        and record.folder_of(owner) != folders[owner]
        and not record.came_from(folders[owner], source)
    }
    if taken:
        raise GraderError(
            f"{terminal_text(', '.join(some(sorted(taken), MOST_NAMED)))}: there already, and only names that"
            " a student may have chosen say whose these are. If they are theirs, collect with --prefix TEXT"
            ' (--prefix "" takes folders\' names whole).'
        )


def _require_apart(path: Path, folder: Path) -> None:
    source, target = path.resolve(), folder.resolve()
    if source.is_relative_to(target) or target.is_relative_to(source):
        raise GraderError(f"{folder} and {path} lie in each other: choose an --out outside of the source.")


@contextmanager
def _listed(path: Path) -> Iterator[Source]:
    if path.is_dir():
        yield list_folder(path)
    elif path.is_file() and zipfile.is_zipfile(path):
        with list_zip(path) as source:
            yield source
    elif path.exists():
        with path.open("rb") as file:
            is_cut = file.read(2) == b"PK"
        if is_cut:
            raise GraderError(f"{path} looks like a zip that was cut off on its way: download it again.")
        raise GraderError(f"{path} is neither a folder nor a zip: name what the system handed out.")
    else:
        raise GraderError(f"there is no {path}: name a folder of clones, or a zip that was downloaded.")
