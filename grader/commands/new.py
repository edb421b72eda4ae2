"""Outside: ``new``, the command that begins an assignment."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("stem", metavar="NN_name")
@click.option("--function", metavar="NAME", help="What students will complete; without it, the name itself.")
def new(stem: str, function: str | None) -> None:
    """Begin an assignment: its master, hidden checks and known answers, with blanks to fill in.

    The course is the one at or above the current folder. Nothing is overwritten.
    """
    from grader.blanks import blanks_in
    from grader.scaffold import Scaffold, course_folder

    root = course_folder()
    written = Scaffold.plan(root, stem, function).write()
    for path in written:
        place = path.relative_to(root) if Path.cwd() == root else path
        click.echo(f"wrote {place}: {len(blanks_in(path))} blanks")
    click.echo(
        f"""
What to do next:
  1. Fill in every [FILL IN: ...], brackets included, in this order of files.
  2. python -m grader doctor --accept --assignment {stem}
     writes what each wrong answer fails; read whether that is what it should fail
  3. python -m grader doctor -v --assignment {stem}
     shows the kill matrix, and what each wrong answer is told
  4. python -m grader build
     writes assignments/{stem}.ipynb for students
docs/authoring.md tells it as a story, with an example."""
    )
