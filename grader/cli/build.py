"""Outside: ``build``, the command that writes what students get."""

from __future__ import annotations

import click


@click.command()
def build() -> None:
    """Write the students' notebooks and their public checks from solutions/.

    An assignment that still has blanks is left out: what was written of it before stays as it is.
    """
    from grader.course.build import build as write
    from grader.course.course import Course
    from grader.course.unfinished import blanks_of

    course = Course.find()
    whole = course.only_finished()
    written = write(whole.assignments.values(), whole.root / "assignments", whole.all_points())
    for path in written:
        click.echo(f"wrote {path.relative_to(course.root)}")
    for stem in (stem for stem in course.stems if stem not in whole.stems):
        blanks = blanks_of(course.root, stem)
        click.echo(f"left out {stem}, which still has {len(blanks)} blanks: {blanks[0]}")
    click.echo(f"{len(whole.stems)} assignment{'s are' if len(whole.stems) != 1 else ' is'} current.")
