"""Outside: the formats of exports, each with the function that writes it from what was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.course import Course
from grader.errors import GraderError
from grader.integrations.collect.students import student_ids
from grader.integrations.export import (
    Export,
    canvas,
    classroom50,
    exportable,
    github,
    gradescope,
    junit,
    moodle,
)
from grader.integrations.export.gradebooks import CsvSheet, read_sheet
from grader.integrations.gradescope_autograder import autograder
from grader.results.stored import Stored, read_results, still_handed_in, was_stopped
from grader.text import some


@dataclass(frozen=True)
class Asked:
    """What somebody wants to have exported.

    Attributes:
        course: the course, without assignments that are not written yet.
        stem: the assignment, or None for all.
        results: the folder of ``grade``.
        gradebook: the teacher's own export, or None.
        column: which column of it, or None.
    """

    course: Course
    stem: str | None
    results: Path
    gradebook: Path | None = None
    column: str | None = None

    @property
    def stems(self) -> tuple[str, ...]:
        """The assignments."""
        return self.course.select([self.stem] if self.stem else [])

    def sheet(self) -> CsvSheet:
        """The teacher's own export.

        Raises:
            GraderError: none was given, or it cannot be read.
        """
        if self.gradebook is None:
            raise GraderError("no gradebook was named: add --gradebook FILE")
        return read_sheet(self.gradebook)


def write_export(form: str, asked: Asked, out: Path) -> Export:
    """Write the files of one format into a folder.

    Raises:
        GraderError: there is nothing to export, or it cannot be written.
    """
    done = (_chosen_if_any if form == "gradescope" else _chosen)(asked, out)
    _WRITERS[form](done, asked)
    return done


def _chosen(asked: Asked, out: Path) -> Export:
    """The results that are wanted, and what is known of their assignments."""
    stored, gone = still_handed_in(read_results(asked.results), asked.results)
    chosen, notes = exportable(stored, asked.stem)
    if gone:
        notes.append(f"Left out, because they are no longer in the gradebook: {', '.join(some(gone, 20))}.")
    return _export(asked, out, chosen, notes)


def _chosen_if_any(asked: Asked, out: Path) -> Export:
    """The same for a format of which a part can be had before anybody is graded."""
    stems, results = asked.stems, asked.results
    stored = read_results(results) if (results / "submissions").is_dir() else []
    if any(one.assignment in stems for one in stored):
        return _chosen(asked, out)
    return _export(
        asked, out, {}, [f"{results} has no results of {', '.join(stems)}: there is no results.json."]
    )


def _export(asked: Asked, out: Path, chosen: Mapping[str, Sequence[Stored]], notes: list[str]) -> Export:
    if was_stopped(asked.results):
        notes.append(
            f"The last run into {asked.results} was stopped: grade again, or some results are missing."
        )
    course, settings = asked.course, asked.course.settings
    titles = {name: course.assignment(name).title for name in chosen if name in course.stems}
    return Export(chosen, out, titles, settings.feedback, settings.partial_credit, notes=notes)


def _canvas(done: Export, asked: Asked) -> None:
    students = {one.student for found in done.results.values() for one in found}
    canvas.export(done, asked.sheet(), asked.column, student_ids(asked.results, "canvas", students))


def _gradescope(done: Export, asked: Asked) -> None:
    """Also an autograder zip for each assignment."""
    for stem in asked.stems:
        done.write(f"{stem}.zip", autograder(asked.course, stem))
    done.note(
        "A zip holds the reference solution and hidden checks: upload it to Gradescope, give it to nobody."
        " Raise its container there to 2 CPUs and 6 GB: the default of 768 MB is too small for torch."
    )
    gradescope.export(done)


_WRITERS: Mapping[str, Callable[[Export, Asked], None]] = {
    "canvas": _canvas,
    "classroom50": lambda done, _: classroom50.export(done, os.environ),
    "github": lambda done, _: github.export(done),
    "gradescope": _gradescope,
    "junit": lambda done, _: junit.export(done),
    "moodle": lambda done, asked: moodle.export(done, asked.sheet()),
}
