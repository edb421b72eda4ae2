"""Removes everything about a student from a results folder."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from grader.errors import BrokenRunError, GraderError
from grader.files import write_atomic
from grader.people.students import student_called
from grader.reports.student_page import FOLDER
from grader.results import changes, gradebook
from grader.results.store import ResultsStore, read_run
from grader.sheets import delimiter_of
from grader.text import without_formula

_OF_EACH = ("submissions", "feedback", "evidence")  # which have a folder for each student
_OF_ALL = (gradebook.FILE_NAME, "report.html")  # which the next run writes again, without the student


def forget(results: Path, name: str) -> list[str]:
    """Remove everything about a student from a results folder; submissions stay.

    Args:
        name: of the student: a folder, or as the roster of what was graded has it.

    Returns:
        The paths that were removed or, for files about several students, changed; below `results`.

    Raises:
        GraderError: the folder has nothing about the student, or another run is writing there.
        BrokenRunError: a file cannot be removed or written.
    """
    if not results.is_dir():
        raise GraderError(f"{results} is not a results folder: name it with --out")
    run = read_run(results, makes_again=True)
    with ResultsStore(results) as store:
        known = {path.name for folder in _OF_EACH for path in (results / folder).glob("*") if path.is_dir()}
        if not known:
            raise GraderError(f"{results} has nothing about {name}: no student has results there")
        if name not in known:
            name = student_called(name, known, run.submissions)
        try:
            done = [*_removed(results, name), *_without_lines(results, name)]
        except OSError as error:
            raise BrokenRunError(
                f"{error.filename} cannot be removed ({error.strerror}): remove it and run the same again"
            ) from error
        if not done:
            raise GraderError(f"{results} has nothing about {name}")
        store.prune_expected()
        if run.current is not None:
            current = tuple(key for key in run.current if key[0] != name)
            excused = tuple(key for key in run.excused if key[0] != name)
            store.write_run(replace(run, current=current, excused=excused))
    return done


def _removed(results: Path, name: str) -> Iterator[str]:
    """Remove the student's own files, then pages about the class that name the student."""
    own = [path for folder in _OF_EACH for path in (results / folder).glob("*") if path.name == name]
    pages = [path for path in (results / FOLDER).glob("*.html") if path.stem == name]
    for folder in own:
        yield from sorted(str(path.relative_to(results)) for path in folder.rglob("*") if path.is_file())
        shutil.rmtree(folder)
    for path in [*pages, *(results / each for each in _OF_ALL if own or pages)]:
        if path.is_file():
            path.unlink()
            yield str(path.relative_to(results))


def _without_lines(results: Path, name: str) -> Iterator[str]:
    """Remove the student's lines from the history, and from gradebooks that somebody edited."""
    names = {name, without_formula(name)}
    edited = sorted(results.glob(f"{Path(gradebook.EDITED_FILE_NAME).stem}*.csv"))
    for path in [results / changes.FILE_NAME, *edited]:
        if not path.is_file():
            continue
        content = path.read_bytes()
        text = content.decode("utf-8", errors="surrogateescape")
        delimiter, lines = delimiter_of(text), text.splitlines(keepends=True)
        kept = [line for line in lines if names.isdisjoint(_cells(line, delimiter))]
        if number := len(lines) - len(kept):
            write_atomic(path, "".join(kept).encode("utf-8", errors="surrogateescape"))
            yield f"{path.name}: {number} {'line' if number == 1 else 'lines'}"


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
