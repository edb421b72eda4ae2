"""Outside: ``collect``, the command that lays out what came back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

_SHOWN = 12  # lines of one kind


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder to lay them out in.")
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="TEXT",
    help="What clones' names begin with, before the student's (may be repeated; empty: nothing).",
)
def collect(source: Path, out: Path, prefixes: tuple[str, ...]) -> None:
    """Lay out the notebooks of SOURCE for `grade`: one folder for each student.

    SOURCE is a folder of cloned repositories or of students' folders, or the zip (or the folder unpacked
    from it) that Canvas, Moodle or Gradescope hands out. Collecting again, or from another source, adds to
    the folder. No link is followed, nothing but notebooks is copied, and nothing is run.
    """
    from grader.integrations.collect import collect as lay_out

    collected = lay_out(source, out, prefixes or None)
    changes = collected.changes
    students = f"{collected.students} student{'' if collected.students == 1 else 's'}"
    click.echo(
        f"{out}: {students} from {source}. Notebooks: {len(changes.written)} new,"
        f" {len(changes.replaced)} replaced, {len(changes.unchanged)} unchanged,"
        f" {len(changes.skipped)} left aside."
    )
    _tell(collected.notes)
    _tell([f"replaced by a newer one: {place}" for place in changes.replaced])
    _tell([f"left aside: {place} {why}" for place, why in changes.skipped])
    _tell([f"no notebook: {name}" for name in collected.empty])


def _tell(lines: Sequence[str]) -> None:
    from grader.text import inert, some

    for line in some(lines, _SHOWN):
        click.echo(inert(line))
