"""The commands for authors: new, try, doctor, build."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.instructor import assignment_option, jobs_option, tell_left_out
from grader.errors import SandboxError
from grader.text import counted

if TYPE_CHECKING:
    from grader.course.course import Course


@click.command()
@click.argument("stem", metavar="NN_name")
@click.option("--function", metavar="NAME", help="Function to complete. Default: named after the assignment.")
@click.option(
    "--question",
    "questions",
    multiple=True,
    metavar="NAME:PARAMETERS",
    help="Add a question, such as step:model,opt,x; `Meter:` is a class (repeatable).",
)
def new(stem: str, function: str | None, questions: tuple[str, ...]) -> None:
    """Create an assignment, or add questions to one.

    Writes the notebook source, hidden checks and known answers, with TODO wherever you must fill something
    in. If NN_name exists, each --question adds a question to its files. Existing text is never changed.
    Uses the course in the current folder, or in the nearest folder above it.
    """
    from grader.course.author_file import todos_in
    from grader.course.new import course_folder, is_begun, write_new

    root = course_folder()
    wrote = "added to" if is_begun(root, stem) else "wrote"
    for path in write_new(root, stem, [*([function] if function else []), *questions]):
        place = path.relative_to(root) if Path.cwd() == root else path
        click.echo(f"{wrote} {place}: {counted(len(todos_in(path)), 'TODO')}")
    click.echo(
        f"""
What to do next:
  1. Replace every TODO, in this order of files, one question at a time. A question without TODO works,
     even if others are unfinished.
  2. python -m grader try {stem} CONTRACT --answer stub
     lists the cases of a contract, and those that the starter code fails
  3. python -m grader doctor --accept --assignment {stem}
     records which checks each known-wrong answer fails; review the diff
  4. python -m grader doctor -v --assignment {stem}
     shows the kill matrix, and the message for each known-wrong answer
  5. python -m grader doctor --mutants --assignment {stem}
     shows mistakes in your answer that no check finds
  6. python -m grader build
     writes assignments/{stem}.ipynb for students, once nothing says TODO
docs/authoring.md shows an example, step by step."""
    )


@click.command("try")
@click.argument("stem")
@click.argument("names", metavar="CONTRACT...", nargs=-1, required=True)
@click.option(
    "--answer",
    "answers",
    multiple=True,
    metavar="NAME",
    help="Compare with a known answer, or with `stub` (repeatable).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for random inputs.", metavar="N")
@click.option("--case", type=click.IntRange(0), help="Show the observations of one case.", metavar="N")
def try_answers(
    stem: str, names: tuple[str, ...], answers: tuple[str, ...], seed: int, case: int | None
) -> None:
    """Show how the reference and other answers behave in each case.

    Example: try 06_views glu --answer stub. Other parts of the assignment may still say TODO.

    For a contract, lists the cases and which of them each answer fails; --case shows the observations of one
    case. For a picture, shows its caption and named tensors. Also shows what an @inside function prints.
    """
    from grader.course.course import Course
    from grader.doctor.try_answers import lines_of, observed

    rubric, outcomes = observed(Course.find(), stem, names, answers, seed)
    for name, seen in outcomes.items():
        for line in lines_of(rubric, name, seen, case):
            click.echo(line)


@click.command()
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show which check catches which known-wrong answer, and why.",
)
@click.option("--sandbox", is_flag=True, help="Only attack the sandbox, and show what it stops.")
@click.option(
    "--accept",
    is_flag=True,
    help="Record which checks known-wrong answers fail, in tests/answers/*.outcomes.toml.",
)
@assignment_option
@click.option("--mutants", is_flag=True, help="Only look for mistakes in references that no check catches.")
@click.option("--question", metavar="q1", help="Select one question.")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Require the same verdicts with N seeds.",
)
@click.option("--force", is_flag=True, help="Ignore cached results.")
@jobs_option
def doctor(  # noqa: PLR0913, PLR0917 - the options of the command
    verbose: bool,
    sandbox: bool,
    accept: bool,
    assignments: tuple[str, ...],
    mutants: bool,
    question: str | None,
    seeds: int,
    force: bool,
    jobs: int,
) -> None:
    """Check that the course is consistent.

    Runs every reference, starter code, public check and known answer, and reports contradictions. Results
    are cached in .doctor/, which you may delete, so the next run tests only what has changed.

    \b
    Exit status:
      0  no complaints
      1  complaints
      2  usage error
      3  the sandbox is not available here
    """  # noqa: D301 - click reads the backspace as "do not rewrap"
    if sandbox:
        from grader.sandbox.self_test import run_self_test

        text, holds = run_self_test()
        click.echo(text)
        sys.exit(0 if holds else SandboxError.exit_status)
    if mutants:
        _try_mutants(assignments, question, jobs)
        return
    from rich.console import Console

    from grader.course.course import Course
    from grader.doctor.examine import examine, memory_folder
    from grader.doctor.terminal import print_examination

    course = Course.find()
    stems = _selected(course, assignments, question)
    console = Console()
    complaints = 0
    with console.status("starting") as status:
        for report in examine(
            course,
            stems,
            jobs=jobs,
            question=question,
            accept=accept,
            seeds=range(1, seeds + 1),
            memory=memory_folder(course),
            forget=force,
            progress=lambda stem: status.update(f"examining {stem}"),
        ):
            complaints += len(report.complaints)
            print_examination(console, report, verbose=verbose)
    if complaints:
        more = f"{complaints} complaints. Fix them in order; the first often causes the others."
        click.echo("1 complaint." if complaints == 1 else more)
        sys.exit(1)
    click.echo(f"The course is consistent ({counted(seeds, 'seed')}).")


def _try_mutants(assignments: tuple[str, ...], question: str | None, jobs: int) -> None:
    from rich.console import Console

    from grader.course.course import Course
    from grader.doctor.mutation_testing import try_mutants
    from grader.doctor.terminal import mutant_progress, print_mutation

    course = Course.find()
    stems = _selected(course, assignments, question)
    console = Console()
    complaints = 0
    with mutant_progress(console) as tell:
        for report in try_mutants(course, stems, question=question, jobs=jobs, tell=tell):
            complaints += len(report.survivors) + len(report.complaints)
            print_mutation(console, report)
    if complaints:
        click.echo("For each mutant that survived, add a check or a level, or record why it is equivalent.")
        sys.exit(1)
    click.echo("Every mutant is killed or recorded as equivalent.")


def _selected(course: Course, assignments: Sequence[str], question: str | None) -> Sequence[str]:
    """The assignments, all where none is named; with a question, those of them that have it."""
    stems = course.select(assignments)
    return stems if question is None else course.stems_asking(stems, question)


@click.command()
def build() -> None:
    """Write the students' notebooks from solutions/.

    Ignores assignments that still say TODO, and leaves notebooks built from them earlier unchanged.
    """
    from grader.course.build import build as write
    from grader.course.course import Course

    course = Course.find()
    stems = course.finished_stems
    points = {stem: course.points(stem) for stem in stems}
    written = write(map(course.assignment, stems), course.root / "assignments", points)
    for path in written:
        click.echo(f"wrote {path.relative_to(course.root)}")
    tell_left_out(course)
    click.echo(f"{len(stems)} assignment{'s are' if len(stems) != 1 else ' is'} current.")
