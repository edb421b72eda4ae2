"""Outside: ``export``, the command that brings results to other systems."""

from __future__ import annotations

from pathlib import Path

import click

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
    from grader.course.course import Course
    from grader.errors import GraderError
    from grader.integrations.export.formats import Asked, write_export
    from grader.text import inert

    if form in _FILLED and gradebook is None:
        raise GraderError(f"{form} needs --gradebook FILE: the gradebook that you exported there, as CSV")
    if gradebook is not None and form not in _FILLED:
        raise GraderError(f"--gradebook is for {' and '.join(sorted(_FILLED))}")
    if column is not None and (form != "canvas" or stem is None):
        raise GraderError("--column is for canvas, and with it the assignment STEM has to be named")
    course = Course.find().finished([stem] if stem else [])
    done = write_export(form, Asked(course, stem, results, gradebook, column), out)
    for note in done.notes:
        click.echo(inert(note))
    if len(done.files) == 1:
        click.echo(f"wrote {inert(str(done.files[0]))}")
    else:
        click.echo(f"wrote {len(done.files)} files to {inert(str(out))}")
