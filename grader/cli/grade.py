"""Outside: ``grade``, the command that grades a class."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.processors import cores
from grader.sandbox.plan import TimeLimits

_SECONDS = click.FloatRange(min=0.1)


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Where results go.",
)
@click.option(
    "--assignment",
    "assignments",
    multiple=True,
    metavar="STEM",
    help="Only this assignment (may be repeated).",
)
@click.option(
    "--student", "students", multiple=True, metavar="NAME", help="Only this student (may be repeated)."
)
@click.option(
    "--jobs", type=click.IntRange(1), default=cores, show_default="processors", help="Workers at a time."
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Have the machines of a Dask cluster run the notebooks, as in tcp://host:8786.",
)
@click.option("--force", is_flag=True, help="Grade again what is already graded, with a new seed.")
@click.option(
    "--no-sandbox", is_flag=True, help="Run students' code without protection; every result will say so."
)
@click.option(
    "--cell-seconds",
    type=_SECONDS,
    help=f"The longest a cell may take.  [default: as course.toml says, else {TimeLimits.cell:g}]",
)
@click.option(
    "--question-seconds",
    type=_SECONDS,
    help=f"The same for a question.  [default: as course.toml says, else {TimeLimits.question:g}]",
)
@click.option(
    "--notebook-seconds",
    type=_SECONDS,
    help=f"The same for a notebook.  [default: as course.toml says, else {TimeLimits.notebook:g}]",
)
def grade(  # noqa: PLR0913, PLR0917 - one for each option
    submissions: Path,
    out: Path,
    assignments: tuple[str, ...],
    students: tuple[str, ...],
    jobs: int,
    force: bool,
    no_sandbox: bool,
    scheduler: str | None,
    cell_seconds: float | None,
    question_seconds: float | None,
    notebook_seconds: float | None,
) -> None:
    """Grade every notebook below SUBMISSIONS, whose sub-folders name the students.

    Exit status: 0 when every submission has a result, whatever the scores; 2 when this command, a
    folder or the course has to be mended; 3 when students' code cannot be confined; 1 when grading
    itself failed.
    """
    from grader.cli.progress import class_progress
    from grader.course.course import Course
    from grader.grading.grading import Options
    from grader.grading.grading import grade as grade_class
    from grader.reports.terminal import print_class

    course = Course.find()
    usual = course.settings.limits
    options = Options(
        assignments=assignments,
        students=students,
        jobs=jobs,
        force=force,
        sandbox=not no_sandbox,
        limits=TimeLimits(
            cell_seconds or usual.cell, question_seconds or usual.question, notebook_seconds or usual.notebook
        ),
        scheduler=scheduler,
    )
    go_on = "the same command, without --force, goes on" if force else "the same command goes on"
    with class_progress(go_on) as progress:
        outcome = grade_class(course, submissions, out, options, progress)
    print_class(outcome, out)
