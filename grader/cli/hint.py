"""On a student's machine: ``hint``, the command that helps with one question, a little more each time."""

from __future__ import annotations

import click


@click.command()
@click.argument("notebook")
@click.argument("question")
@click.argument("number", type=click.IntRange(min=1), default=1)
def hint(notebook: str, question: str, number: int) -> None:
    """Give a hint to a question; a higher number says more.

    As in: hint 01_leaves q2 3. The first hint to a QUESTION of NOTEBOOK says what is asked, the last ones
    what the public check looks at.
    """
    from grader.errors import GraderError
    from grader.student.find import UnreadableError, argument_of, find_notebook
    from grader.student.hints import hints_to
    from grader.student.notebook import exercise_handed_out, open_exercise
    from grader.text import inert

    path = find_notebook(notebook)
    try:
        exercise = open_exercise(path)
    except UnreadableError:  # a hint needs only what was handed out
        handed_out = exercise_handed_out(path)
        if handed_out is None:
            raise
        exercise = handed_out
    argument = argument_of(path)
    task = exercise.task(question)
    hints = hints_to(task)
    if number > len(hints):
        raise GraderError(f"there are {len(hints)} hints to {task.id}: the last is number {len(hints)}.")
    given = hints[number - 1]
    click.secho(f"{task.id} · {inert(given.heading)}  ({number} of {len(hints)})", bold=True)
    click.echo("\n" + "\n".join(map(inert, given.text.splitlines())) + "\n")
    if number < len(hints):
        click.echo(f"More: python -m grader hint {argument} {task.id} {number + 1}")
    else:
        click.echo(f"That was the last one. Try: python -m grader check {argument} {task.id}")
