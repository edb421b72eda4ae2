"""The commands for authors: new, try, build; `doctor` has a module."""

from __future__ import annotations

from pathlib import Path

import click


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
    """Begin an assignment: its master, hidden checks and known answers, with blanks to fill in.

    Where the assignment is there already, each --question adds one to its files. The course is the one at or
    above the current folder. Nothing that is there is changed.
    """
    from grader.course.author_file import blanks_in
    from grader.course.scaffold import Scaffold, course_folder

    root = course_folder()
    scaffold = Scaffold.plan(root, stem, function, questions)
    for path in scaffold.write():
        place = path.relative_to(root) if Path.cwd() == root else path
        wrote = "wrote" if scaffold.is_new else "added to"
        click.echo(f"{wrote} {place}: {len(blanks_in(path))} blanks")
    click.echo(
        f"""
What to do next:
  1. Fill in every [FILL IN: ...], brackets included, in this order of files, a question at a time:
     what is filled in works, whatever else is blank.
  2. python -m grader try {stem} PROBE
     shows what a probe sees of your answer
  3. python -m grader doctor --accept --assignment {stem}
     writes what each wrong answer fails; read whether that is what it should fail
  4. python -m grader doctor -v --assignment {stem}
     shows the kill matrix, and what each wrong answer is told
  5. python -m grader doctor --mutants reference --assignment {stem}
     shows mistakes in your answer that no check finds
  6. python -m grader build
     writes assignments/{stem}.ipynb for students, once no blank is left
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
def try_probes(stem: str, probes: tuple[str, ...], answers: tuple[str, ...], seed: int) -> None:
    """Show the facts of some probes, the reference's beside those of known answers.

    As in: try 02_backward_twice both --answer retains. It works as soon as the question and the probe are
    written, whatever else is blank. What a probe prints is shown, too. Of a picture it shows the sentence
    below it and the named tensors.
    """
    from grader.course.course import Course
    from grader.doctor.probe_run import run_probes
    from grader.doctor.probe_text import probe_lines

    for probe, seen in run_probes(Course.find(), stem, probes, answers, seed):
        for line in probe_lines(probe, seen):
            click.echo(line)


@click.command()
def build() -> None:
    """Write the students' notebooks and their public checks from solutions/.

    An assignment that still has blanks is left out: what was written of it before stays as it is.
    """
    from grader.course.author_file import blanks_of
    from grader.course.build import build as write
    from grader.course.course import Course

    course = Course.find()
    whole = course.only_finished()
    written = write(whole.assignments.values(), whole.root / "assignments", whole.all_points())
    for path in written:
        click.echo(f"wrote {path.relative_to(course.root)}")
    for stem in (stem for stem in course.stems if stem not in whole.stems):
        blanks = blanks_of(course.root, stem)
        click.echo(f"left out {stem}, which still has {len(blanks)} blanks: {blanks[0]}")
    click.echo(f"{len(whole.stems)} assignment{'s are' if len(whole.stems) != 1 else ' is'} current.")
