"""On a student's machine: ``status``, the command that shows how all notebooks of a folder stand."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.check import seconds_option


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@seconds_option
def status(folder: Path, seconds: float) -> None:
    """Show how every question of your notebooks stands.

    Runs the public checks of all notebooks in FOLDER (here, unless you say), which may also be a single
    notebook. The points are those of the public checks; the graded ones look more closely.
    """
    from grader.student.check import look_at_all
    from grader.student.display import console, tell_all, working
    from grader.student.find import notebooks_in, renamed_in
    from grader.student.process import Supply
    from grader.text import inert

    paths = notebooks_in(folder)

    with Supply() as supply, working("starting") as now:

        def about_to(place: int, path: Path) -> None:
            now(f"checking {inert(path.name)} ({place + 1} of {len(paths)})")

        lines = list(look_at_all(paths, seconds, supply, about_to))
    tell_all(console(), lines, renamed_in(folder) if folder.is_dir() else ())
