"""On a student's machine: ``check``, the command that runs the public checks of one notebook."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.errors import GraderError
from grader.sandbox.plan import TimeLimits

if TYPE_CHECKING:
    from grader.student.report import Findings

seconds_option = click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=TimeLimits.cell,
    show_default=True,
    help="The longest a cell, or a test, may take.",
)


@click.command()
@click.argument("notebook")
@click.argument("question", required=False)
@seconds_option
@click.option("-v", "--verbose", is_flag=True, help="Show what the notebook prints.")
@click.option(
    "--github", is_flag=True, help="In a workflow: write the question's result as the step's output."
)
def check(notebook: str, question: str | None, seconds: float, verbose: bool, github: bool) -> None:
    """Run a notebook's public checks, or one question's.

    As in: check 01_leaves q2. All cells of NOTEBOOK run first, in a fresh Python. Exit status: 0 when
    everything passes, 1 when something does not, 2 when this command or the notebook has to be mended.
    """
    if github:
        findings = _for_github(notebook, question, seconds)
    else:
        from grader.student.display import console, tell

        findings = _look(notebook, question, seconds, shows=verbose)
        tell(console(), findings)
    if not all(one.is_done or one.standing == "unchecked" for one in findings.tasks):
        raise SystemExit(1)


def _look(notebook: str, question: str | None, seconds: float, *, shows: bool) -> Findings:
    from grader.student.check import check as look
    from grader.student.display import working
    from grader.student.find import find_notebook
    from grader.student.notebook import open_exercise
    from grader.student.process import Supply

    exercise = open_exercise(find_notebook(notebook))
    tasks = (exercise.task(question),) if question else exercise.tasks
    with Supply(shows=shows) as supply, nullcontext() if shows else working(f"checking {exercise.name}"):
        return look(exercise, tasks, seconds, supply.take)


def _for_github(notebook: str, question: str | None, seconds: float) -> Findings:
    """The same, told to the workflow, also where the notebook cannot be read."""
    from grader.integrations.export.github_check import require_output, write_output, write_unreadable

    output = require_output(question)
    try:
        findings = _look(notebook, question, seconds, shows=False)
    except GraderError as error:
        write_unreadable(output, Path(notebook), question or "", error)
        raise
    write_output(output, findings)
    return findings
