"""Outside: ``export``, the command that brings results to other systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from grader.course import Course
    from grader.exports.exported import Export
    from grader.exports.stored import Stored

_FORMATS = ("canvas", "classroom50", "github", "gradescope", "junit", "moodle")
_FILLED = {"canvas", "moodle"}  # from a teacher's own export
_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("form", metavar="FORMAT", type=click.Choice(_FORMATS))
@click.argument("stem", required=False)
@click.option("--out", type=_PATH, required=True, help="Where the files go.")
@click.option(
    "--results", type=_PATH, default=Path("results"), show_default=True, help="The --out of `grade`."
)
@click.option(
    "--gradebook", type=_PATH, help="canvas, moodle: the gradebook that you exported there, as CSV."
)
@click.option("--column", help="canvas: the heading, title or number of the column to fill.")
def export(  # noqa: PLR0913, PLR0917 - one for each option
    form: str, stem: str | None, out: Path, results: Path, gradebook: Path | None, column: str | None
) -> None:
    """Write results in another system's FORMAT, of one assignment STEM or of all.

    \b
    canvas       the gradebook you exported there, a column filled (--gradebook FILE)
    classroom50  a result.json for each student and assignment
    github       outputs of actions, notices and a step's summary, for each student and assignment
    gradescope   an autograder zip for each assignment, and a results.json for each student
    junit        an XML file for each assignment
    moodle       a CSV file for each assignment, of the users in --gradebook FILE
    """  # noqa: D301 - click reads the backspace as "do not rewrap"
    from grader.course import Course
    from grader.errors import GraderError
    from grader.text import inert

    if form in _FILLED and gradebook is None:
        raise GraderError(f"{form} needs --gradebook FILE: the gradebook that you exported there, as CSV")
    if gradebook is not None and form not in _FILLED:
        raise GraderError(f"--gradebook is for {' and '.join(sorted(_FILLED))}")
    if column is not None and (form != "canvas" or stem is None):
        raise GraderError("--column is for canvas, and with it the assignment STEM has to be named")
    done = _export(form, Course.find(), stem, out, results, gradebook, column)
    for note in done.notes:
        click.echo(inert(note))
    if len(done.files) == 1:
        click.echo(f"wrote {inert(str(done.files[0]))}")
    else:
        click.echo(f"wrote {len(done.files)} files to {inert(str(out))}")


def _export(  # noqa: PLR0913, PLR0917 - what the command was given
    form: str,
    course: Course,
    stem: str | None,
    out: Path,
    results: Path,
    gradebook: Path | None,
    column: str | None,
) -> Export:
    """Write the files of one format."""
    import os

    from grader.exports import canvas, classroom50, github_files, gradescope, junit, moodle
    from grader.exports.collected import numbers
    from grader.exports.exported import Export, exportable
    from grader.exports.sheet import read_sheet
    from grader.exports.stored import read_results, was_stopped

    stems = course.select([stem] if stem else []) if form == "gradescope" else ()
    stored = [] if form == "gradescope" and not (results / "submissions").is_dir() else read_results(results)
    chosen: Mapping[str, Sequence[Stored]]
    if form == "gradescope" and not any(one.assignment in stems for one in stored):
        chosen, notes = {}, [f"{results} has no results of {', '.join(stems)}: there is no results.json."]
    else:
        chosen, notes = exportable(stored, stem)
    if was_stopped(results):
        notes.append(f"The last run into {results} was stopped: grade again, or some results are missing.")
    titles = {name: course.assignments[name].title for name in chosen if name in course.stems}
    done = Export(chosen, out, titles, course.settings.feedback, notes=notes)
    if form == "canvas" and gradebook is not None:
        known = numbers(results, "canvas", {one.student for found in chosen.values() for one in found})
        canvas.export(done, read_sheet(gradebook), column, known)
    elif form == "moodle" and gradebook is not None:
        moodle.export(done, read_sheet(gradebook))
    elif form == "classroom50":
        classroom50.export(done, os.environ)
    elif form == "gradescope":
        _write_autograders(done, course, stems)
        gradescope.export(done)
    else:
        {"github": github_files, "junit": junit}[form].export(done)
    return done


def _write_autograders(done: Export, course: Course, stems: tuple[str, ...]) -> None:
    """An autograder zip for each assignment."""
    from grader.exports.autograder import autograder

    for stem in stems:
        done.write(f"{stem}.zip", autograder(course, stem))
    done.note(
        "A zip holds the reference solution and hidden checks: upload it to Gradescope, give it to nobody."
        " Raise its container there to 2 CPUs and 6 GB: the default of 768 MB is too small for torch."
    )
