"""Outside: ``build``, the command that writes what students get."""

from __future__ import annotations

import click


@click.command()
def build() -> None:
    """Write the students' notebooks and their public checks from solutions/."""
    from grader.build import build as write
    from grader.course import Course

    course = Course.find()
    written = write(course.assignments.values(), course.root / "assignments", course.all_points())
    for path in written:
        click.echo(f"wrote {path.relative_to(course.root)}")
    click.echo(f"{len(course.stems)} assignments are current.")
