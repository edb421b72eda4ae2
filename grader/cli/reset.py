"""On a student's machine: ``reset``, the command that puts one question back as it was handed out."""

from __future__ import annotations

import click


@click.command()
@click.argument("notebook")
@click.argument("question")
@click.option("-y", "--yes", is_flag=True, help="Do not ask first.")
def reset(notebook: str, question: str, yes: bool) -> None:
    """Put one question back as it was handed out.

    Only the cell of NOTEBOOK with the function that QUESTION asks for changes. Your version is kept in a
    file beside the notebook.
    """
    from grader.errors import GraderError
    from grader.student.find import find_notebook
    from grader.student.notebook import cell_name, open_exercise
    from grader.student.reset import carry_out, plan
    from grader.text import inert

    exercise = open_exercise(find_notebook(notebook))
    planned = plan(exercise, exercise.task(question))
    identity = planned.task.id
    if not planned.is_needed:
        click.echo(f"{identity} of {exercise.name} is as it was handed out. Nothing was changed.")
    else:
        handed_out = f"{identity} as it was handed out"
        question_asked = f"Insert {handed_out} into {exercise.name}?"
        if planned.cell:
            cell = cell_name(planned.cell.number, planned.cell.source)
            question_asked = f"Replace {cell} of {exercise.name} by {handed_out}?"
        if not yes:
            try:
                agreed = click.confirm(question_asked, default=False)
            except click.Abort:
                raise GraderError("nobody answered, so nothing was changed: add --yes to go on.") from None
            if not agreed:
                click.echo("Nothing was changed.")
                return
        kept = carry_out(exercise, planned)
        click.echo(f"{identity} of {exercise.name} is as it was handed out again.")
        if kept:
            click.echo(f"Your version is kept in {inert(str(kept))}")
        click.echo("If the notebook is open in Jupyter, reload it from disk before you save it there.")
    if planned.later:
        cells = ", ".join(map(str, planned.later))
        click.echo(
            f"Mind that code cell {cells} defines {planned.task.function} too, and runs later: delete it."
        )
