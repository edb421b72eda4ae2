"""Outside: the command line, ``python -m grader`` or ``grader``."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from grader import __version__
from grader.course import Course
from grader.errors import GraderError, ProtectionError
from grader.questionnaire import Limits
from grader.terminal import class_progress, print_examination

_SECONDS = click.FloatRange(min=0.1)


class _Commands(click.Group):
    """Turns the errors a person can meet into one sentence and the exit status that belongs to them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GraderError as error:
            click.echo(f"grader: {error}", err=True)
            ctx.exit(error.exit_status)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run() -> None:
    """Run a command, and leave without taking every object apart, which would take a third of a second."""
    try:
        main(prog_name="grader")
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        if end.code is None or isinstance(end.code, int):
            os._exit(end.code or 0)
        raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Grade notebooks of the autograd course, and keep the course itself in order."""
    if not gc.isenabled():  # it was switched off for the time of imports, of which nothing is garbage
        gc.freeze()
        gc.enable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows ASCII only shows names all the same
            stream.reconfigure(errors="backslashreplace")


@main.command()
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
    default=Limits.cell,
    show_default=True,
    help="The longest a cell may take.",
)
@click.option(
    "--question-seconds",
    type=_SECONDS,
    default=Limits.question,
    show_default=True,
    help="The same for a question.",
)
@click.option(
    "--notebook-seconds",
    type=_SECONDS,
    default=Limits.notebook,
    show_default=True,
    help="The same for a notebook.",
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
    cell_seconds: float,
    question_seconds: float,
    notebook_seconds: float,
) -> None:
    """Grade every notebook below SUBMISSIONS, whose sub-folders name the students.

    Exit status: 0 when every submission has a result, whatever the scores; 2 when this command or a
    folder has to be mended; 3 when students' code cannot be confined; 1 when grading itself failed.
    """
    from grader.class_table import print_class
    from grader.grading import Options
    from grader.grading import grade as grade_class

    options = Options(
        assignments=assignments,
        students=students,
        jobs=jobs,
        force=force,
        sandbox=not no_sandbox,
        limits=Limits(cell_seconds, question_seconds, notebook_seconds),
        scheduler=scheduler,
    )
    go_on = "the same command, without --force, goes on" if force else "the same command goes on"
    with class_progress(go_on) as progress:
        outcome = grade_class(Course.find(), submissions, out, options, progress)
    print_class(outcome, out)


@main.command()
def build() -> None:
    """Write the students' notebooks and their public checks from solutions/."""
    from grader.build import build as write

    course = Course.find()
    written = write(course.assignments.values(), course.root / "assignments", course.all_points())
    for path in written:
        click.echo(f"wrote {path.relative_to(course.root)}")
    click.echo(f"{len(course.stems)} assignments are current.")


@main.command()
@click.option("-v", "--verbose", is_flag=True, help="Also print what each wrong answer is told.")
@click.option("--cage", is_flag=True, help="Only tell what confines students' code on this machine.")
@click.option(
    "--accept", "accept_lists", is_flag=True, help="Write the lists of failed checks into tests/answers/."
)
@click.option(
    "--assignment", "wanted", multiple=True, metavar="STEM", help="Only this assignment (may be repeated)."
)
@click.option(
    "--jobs", type=click.IntRange(1), default=cores, show_default="processors", help="Workers at a time."
)
def doctor(verbose: bool, cage: bool, accept_lists: bool, wanted: tuple[str, ...], jobs: int) -> None:
    """Prove that the course agrees with itself, or, with --cage, that students' code is confined.

    Exit status: 0 when there is nothing to complain about; 1 when there is; 3 when students' code cannot be
    confined here.
    """
    from grader.doctor import examine

    if cage:
        _examine_cage()
        return
    course = Course.find()
    stems = course.select(wanted)
    console = Console()
    complaints = 0
    with console.status("starting") as status:
        tell: Callable[[str], None] = lambda stem: status.update(f"examining {stem}")  # noqa: E731
        for found in examine(course, stems, jobs=jobs, accept_lists=accept_lists, progress=tell):
            complaints += len(found.complaints)
            print_examination(console, found, verbose=verbose)
    if complaints:
        click.echo(f"{complaints} complaints. Mend them from the top; the first often causes the others.")
        sys.exit(1)
    click.echo("The course agrees with itself.")


def _examine_cage() -> None:
    from grader.cage_report import examine_cage

    report = examine_cage()
    click.echo(str(report))
    if report.refusal:
        sys.exit(ProtectionError.exit_status)
