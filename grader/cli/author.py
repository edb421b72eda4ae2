"""The commands for authors: new, try, doctor, build."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.instructor import assignment_option, jobs_option, tell_left_out
from grader.errors import ProtectionError

if TYPE_CHECKING:
    from grader.course.course import Course


@click.command()
@click.argument("stem", metavar="NN_name")
@click.option(
    "--function", metavar="NAME", help="What students will complete; without it, the assignment's name."
)
@click.option(
    "--question",
    "questions",
    multiple=True,
    metavar="NAME:PARAMETERS",
    help="A question: its function, and what that takes, as in step:model,opt,x (may be repeated); `Meter:`"
    " is a class.",
)
def new(stem: str, function: str | None, questions: tuple[str, ...]) -> None:
    """Begin an assignment: its master, hidden checks and known answers; what you have to write says TODO.

    Where the assignment is there already, each --question adds one to its files. The course is the one at or
    above the current folder. Nothing that is there is changed.
    """
    from grader.course.author_file import todos_in
    from grader.course.new import course_folder, is_begun, write_new

    root = course_folder()
    wrote = "added to" if is_begun(root, stem) else "wrote"
    for path in write_new(root, stem, [*([function] if function else []), *questions]):
        place = path.relative_to(root) if Path.cwd() == root else path
        click.echo(f"{wrote} {place}: {len(todos_in(path))} lines say TODO")
    click.echo(
        f"""
What to do next:
  1. Put your text or code in the place of every TODO, in this order of files, a question at a time:
     a question that says TODO nowhere works, whatever the others say.
  2. python -m grader try {stem} CONTRACT --answer stub
     lists the cases of a contract, and those that the stub fails
  3. python -m grader doctor --accept --assignment {stem}
     writes what each wrong answer fails; read whether that is what it should fail
  4. python -m grader doctor -v --assignment {stem}
     shows the kill matrix, and what each wrong answer is told
  5. python -m grader doctor --mutants --assignment {stem}
     shows mistakes in your answer that no check finds
  6. python -m grader build
     writes assignments/{stem}.ipynb for students, once nothing says TODO
docs/authoring.md tells it as a story, with an example."""
    )


@click.command("try")
@click.argument("stem")
@click.argument("probes", metavar="PROBE...", nargs=-1, required=True)
@click.option(
    "--answer",
    "answers",
    multiple=True,
    metavar="NAME",
    help="A known answer to look at beside the reference, or `stub` (may be repeated).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Decides the inputs that probes draw.")
@click.option("--case", type=click.IntRange(0), help="Of a contract: show the facts of this case.")
def try_probes(
    stem: str, probes: tuple[str, ...], answers: tuple[str, ...], seed: int, case: int | None
) -> None:
    """Show the facts of some probes, the reference's beside those of known answers.

    As in: try 06_views glu --answer stub. It works as soon as the question and the probe are written,
    whatever else says TODO. Of a contract it shows the cases, and which of them each answer fails; with
    --case the facts of one. What a probe prints is shown, too. Of a picture it shows the sentence below it
    and the named tensors.
    """
    from grader.course.course import Course
    from grader.doctor.try_probes import probe_lines, run_probes

    for probe, seen in run_probes(Course.find(), stem, probes, answers, seed):
        for line in probe_lines(probe, seen, case):
            click.echo(line)


@click.command()
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also print which check catches which wrong answer, and why.",
)
@click.option("--cage", is_flag=True, help="Only tell what confines students' code on this machine.")
@click.option(
    "--accept",
    is_flag=True,
    help="Write what becomes of wrong answers into tests/answers/*.outcomes.toml.",
)
@assignment_option
@click.option("--mutants", is_flag=True, help="Only look for mistakes in the references that no check finds.")
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
    accept: bool,
    assignments: tuple[str, ...],
    mutants: bool,
    question: str | None,
    seeds: int,
    force: bool,
    jobs: int,
) -> None:
    """Prove that the course agrees with itself.

    What was found before is remembered in .doctor/, which may be deleted: only what has changed since is
    tried again.

    With --cage, show instead that students' code is confined. With --mutants, look instead for mistakes in
    the references that no check finds.

    Exit status: 0 when there is nothing to complain about; 1 when there is; 3 when students' code cannot be
    confined here.
    """
    if cage:
        from grader.sandbox.self_test import run_self_test

        examined = run_self_test()
        click.echo(str(examined))
        sys.exit(ProtectionError.exit_status if examined.refusal else 0)
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
        more = f"{complaints} complaints. Mend them from the top; the first often causes the others."
        click.echo("1 complaint." if complaints == 1 else more)
        sys.exit(1)
    click.echo(f"The course agrees with itself, with {seeds} seed{'s' if seeds > 1 else ''}.")


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
        click.echo("Kill each survivor by a check or a better input, or write down why it is equal.")
        sys.exit(1)
    click.echo("No survivor is unexplained.")


def _selected(course: Course, assignments: Sequence[str], question: str | None) -> Sequence[str]:
    """The assignments, all where none is named; with a question, those of them that have it."""
    stems = course.select(assignments)
    return stems if question is None else course.stems_asking(stems, question)


@click.command()
def build() -> None:
    """Write the students' notebooks and their public checks from solutions/.

    An assignment that still says TODO is left out: what was written of it before stays as it is.
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
