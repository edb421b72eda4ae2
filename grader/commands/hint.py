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
    from grader.student.exercise import find_notebook, open_exercise
    from grader.student.hints import hints_to
    from grader.text import inert

    exercise = open_exercise(find_notebook(notebook))
    task = exercise.task(question)
    hints = hints_to(task)
    if number > len(hints):
        raise GraderError(f"there are {len(hints)} hints to {task.id}: the last is number {len(hints)}.")
    given = hints[number - 1]
    click.secho(f"{task.id} · {inert(given.heading)}  ({number} of {len(hints)})", bold=True)
    click.echo("\n" + "\n".join(map(inert, given.text.splitlines())) + "\n")
    if number < len(hints):
        click.echo(f"More: python -m grader hint {exercise.argument} {task.id} {number + 1}")
    else:
        click.echo(f"That was the last one. Try: python -m grader check {exercise.argument} {task.id}")
