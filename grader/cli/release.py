"""Outside: ``release``, the command that writes the student repository."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The folder: empty, or an earlier release."
)
@click.option(
    "--assignment", "wanted", multiple=True, metavar="STEM", help="Only this assignment (may be repeated)."
)
@click.option("--overwrite", is_flag=True, help="Also replace files that somebody changed since.")
def release(out: Path, wanted: tuple[str, ...], overwrite: bool) -> None:
    """Write the student repository: notebooks, public checks, instructions, instant feedback.

    Nothing of solutions/ and of the hidden checks gets into it. Releasing again brings the folder up to
    date; files that no release wrote, and files that somebody changed, stay as they are.
    """
    from grader.course.course import Course
    from grader.integrations.release import release as write

    released = write(Course.find(), out, wanted, overwrite=overwrite)
    changes = released.changes
    count = f"{len(released.stems)} assignment{'s' if len(released.stems) > 1 else ''}"
    click.echo(f"{out} holds {count}: {len(changes.written)} files written, {len(changes.removed)} removed.")
    for stem in released.unfinished:
        click.echo(f"left out, because it is not written yet: {stem}")
    for path in changes.kept:
        click.echo(f"kept, because somebody changed it: {path} (--overwrite: take the release's)")
