"""Outside: ``new``, the command that begins an assignment."""

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
