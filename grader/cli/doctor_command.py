"""The command `doctor`, for authors: the course agrees with itself, survivors of mutation, the cage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from grader.cli.instructor import assignment_option, jobs_option

if TYPE_CHECKING:
    from grader.course.course import Course

_ALL = "all"  # answers are edited by --mutants


@click.command()
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also print which check catches which wrong answer, and why; with --mutants, all that survive.",
)
@click.option("--cage", is_flag=True, help="Only tell what confines students' code on this machine.")
@click.option(
    "--accept", "accept_lists", is_flag=True, help="Write the lists of failed checks into tests/answers/."
)
@assignment_option
@click.option(
    "--mutants",
    is_flag=False,
    flag_value=_ALL,
    metavar="[NAME]",
    help="Only look for mistakes in right answers that no check finds; with `reference`, or the name of an"
    " accepted answer, in that one.",
)
@click.option("--question", metavar="q1", help="Only this question.")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many seeds have to give the same verdicts; inputs are drawn anew with each.",
)
@click.option("--force", is_flag=True, help="Forget what was found before, and try everything again.")
@jobs_option
def doctor(  # noqa: PLR0913, PLR0917 - the options of the command
    verbose: bool,
    cage: bool,
    accept_lists: bool,
    assignments: tuple[str, ...],
    mutants: str | None,
    question: str | None,
    seeds: int,
    force: bool,
    jobs: int,
) -> None:
    """Prove that the course agrees with itself.

    What was found before is remembered in .doctor/, which may be deleted: only what has changed since is
    tried again.

    With --cage, show instead that students' code is confined. With --mutants, look instead for mistakes in
    the reference and in accepted answers that no check finds.

    Exit status: 0 when there is nothing to complain about; 1 when there is; 3 when students' code cannot be
    confined here.
    """
    if cage:
        _examine_cage()
        return
    if mutants:
        _try_mutants(assignments, question, None if mutants == _ALL else mutants, jobs, verbose=verbose)
        return
    from rich.console import Console

    from grader.course.course import Course
    from grader.doctor.examine import examine, memory_folder
    from grader.doctor.terminal import print_examination

    course = Course.find()
    stems = _with_question(course, course.select(assignments), question)
    console = Console()
    complaints = 0
    with console.status("starting") as status:
        for report in examine(
            course,
            stems,
            jobs=jobs,
            question=question,
            accept_lists=accept_lists,
            seeds=range(1, seeds + 1),
            memory=memory_folder(course),
            forget=force,
            progress=lambda stem: status.update(f"examining {stem}"),
        ):
            complaints += len(report.complaints)
            print_examination(console, report, verbose=verbose)
    if complaints:
        more = f"{complaints} complaints. Mend them from the top; the first often causes the others."
        click.echo("1 complaint." if complaints == 1 else more)
        sys.exit(1)
    click.echo(f"The course agrees with itself, with {seeds} seed{'s' if seeds > 1 else ''}.")


def _try_mutants(
    assignments: tuple[str, ...], question: str | None, answer: str | None, jobs: int, *, verbose: bool
) -> None:
    from rich.console import Console

    from grader.course.course import Course
    from grader.doctor.mutation.run import try_mutants
    from grader.doctor.terminal import mutant_progress, print_mutation

    course = Course.find()
    stems = _with_answer(course, _with_question(course, course.select(assignments), question), answer)
    console = Console()
    complaints = 0
    with mutant_progress(console) as tell:
        for report in try_mutants(course, stems, question=question, jobs=jobs, tell=tell, of=answer):
            complaints += len(report.survivors) + len(report.complaints)
            print_mutation(console, report, verbose=verbose)
    if complaints:
        click.echo("Kill each survivor by a check or a better input, or write down why it is equal.")
        sys.exit(1)
    click.echo("No survivor is unexplained.")


def _with_answer(course: Course, stems: Sequence[str], answer: str | None) -> list[str]:
    """The assignments that have the answer; all where none is asked for.

    Raises:
        BadParameter: no assignment has it, or it is a wrong one.
    """
    from grader.doctor.mutation.run import names_of_origins
    from grader.text import did_you_mean

    if answer is None:
        return list(stems)
    names = {stem: names_of_origins(course, stem) for stem in stems}
    having = [stem for stem in stems if answer in names[stem]]
    if not having:
        known = {name for group in names.values() for name in group}
        raise click.BadParameter(
            f"--mutants: no accepted answer is called {answer}; {did_you_mean(answer, known)}"
        )
    return having


def _with_question(course: Course, stems: Sequence[str], question: str | None) -> list[str]:
    """The assignments that have the question; all where none is asked for.

    Raises:
        BadParameter: no assignment has it, or its cell still has a blank.
    """
    from grader.course.author_file import questions_left_out

    if question is None:
        return list(stems)
    ids = {stem: [q.id for q in course.assignment(stem).questions] for stem in stems}
    having = [stem for stem in stems if question in ids[stem]]
    waiting = [stem for stem in stems if question in questions_left_out(course.assignment(stem).path)]
    if waiting and not having:
        raise click.BadParameter(f"the cell of {question} in solutions/{waiting[0]}.py still has a blank")
    if not having:
        names = ", ".join(dict.fromkeys(name for group in ids.values() for name in group))
        raise click.BadParameter(f"there is no question {question}; here are {names}")
    return having


def _examine_cage() -> None:
    from grader.errors import ProtectionError
    from grader.sandbox.self_test import run_self_test

    report = run_self_test()
    click.echo(str(report))
    if report.refusal:
        sys.exit(ProtectionError.exit_status)
