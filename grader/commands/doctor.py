"""Outside: ``doctor``, which proves that the course agrees with itself, and tells what confines code."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from grader.processors import cores


@click.command()
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also print which check catches which wrong answer, and why.",
)
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
    if cage:
        _examine_cage()
        return
    from rich.console import Console

    from grader.course import Course
    from grader.doctor import examine
    from grader.terminal import print_examination

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
        said = "1 complaint." if complaints == 1 else f"{complaints} complaints. Mend them from the top;"
        click.echo(said if complaints == 1 else f"{said} the first often causes the others.")
        sys.exit(1)
    click.echo("The course agrees with itself.")


def _examine_cage() -> None:
    from grader.cage_report import examine_cage
    from grader.errors import ProtectionError

    report = examine_cage()
    click.echo(str(report))
    if report.refusal:
        sys.exit(ProtectionError.exit_status)
