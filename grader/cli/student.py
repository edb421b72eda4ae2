"""The commands for work on a notebook: check, watch, hint, status, reset, handin."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.errors import GraderError
from grader.sandbox.plan import TimeLimits

if TYPE_CHECKING:
    from grader.student.reset import Reset

_notebook = click.argument("path", metavar="NOTEBOOK")
# Asked for by hand, after the notebook: of `hint q2` is said first that q2 is no notebook.
_question = click.argument("question", metavar="QUESTION", required=False)
_folder = click.argument("folder", type=click.Path(path_type=Path), default=Path())
_seconds = click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=TimeLimits.cell,
    show_default=True,
    help="The longest a cell, or a test, may take.",
)


@click.command()
@click.argument("path", metavar="NOTEBOOK", required=False)
@click.argument("question", required=False)
@_seconds
@click.option("-v", "--verbose", is_flag=True, help="Show what the notebook prints.")
@click.option(
    "--github", is_flag=True, help="In a workflow: report the points; without NOTEBOOK, of all notebooks."
)
def check(path: str | None, question: str | None, seconds: float, verbose: bool, github: bool) -> None:
    """Run a notebook's public checks, or one question's.

    As in: check 01_leaves q2. All cells of NOTEBOOK run first, in a fresh Python. Exit status: 0 when
    everything passes, 1 when something does not, 2 when this command or the notebook has to be mended.
    """
    if github:
        from grader.integrations.github_check import check_for_github

        raise SystemExit(check_for_github(path, question, seconds))
    if path is None:
        raise click.UsageError("Missing argument 'NOTEBOOK'.")
    from grader.student.check import check as check_notebook
    from grader.student.display import console, print_report, working
    from grader.student.notebook import find_notebook, open_notebook
    from grader.student.process import RunnerPool
    from grader.student.unsaved import unsaved_line

    notebook = open_notebook(find_notebook(path))
    questions = (notebook.question(question),) if question else notebook.questions
    shown = nullcontext() if verbose else working(f"checking {notebook.name}")
    with RunnerPool(shows=verbose) as pool, shown:
        report = check_notebook(notebook, questions, seconds, pool.take, in_full=question is not None)
    print_report(console(), report)
    if unsaved := unsaved_line(notebook):
        click.echo(unsaved)
    if not all(answer.is_done or answer.status == "unchecked" for answer in report.questions):
        raise SystemExit(1)


@click.command()
@_notebook
@_question
@click.argument("number", type=click.IntRange(min=1), default=1)
def hint(path: str, question: str | None, number: int) -> None:
    """Give a hint to a question; a higher number says more.

    As in: hint 01_leaves q2 3. The first hint to a QUESTION of NOTEBOOK says what is asked, the last ones
    what the public check looks at.
    """
    from grader.student.display import console, print_hint
    from grader.student.hints import find_hint
    from grader.student.notebook import argument_of, find_notebook

    found = find_notebook(path)
    identity, given, count = find_hint(found, _given(question), number)
    argument = argument_of(found)
    print_hint(console(), identity, given, number, count)
    if number < count:
        click.echo(f"More: python -m grader hint {argument} {identity} {number + 1}")
    else:
        click.echo(f"That was the last one. Try: python -m grader check {argument} {identity}")


@click.command()
@_folder
@_seconds
def watch(folder: Path, seconds: float) -> None:
    """Check each notebook as you save it, until you press q.

    Looks after all notebooks in FOLDER (here, unless you say), which may also be a single notebook, and
    begins with the one that was saved last. It shows one question at a time; keys show the next, a hint, a
    list, or the autograd graph of what your function did.
    """
    from grader.student.watch import watch_folder

    watch_folder(folder, seconds)


@click.command()
@_folder
@_seconds
def status(folder: Path, seconds: float) -> None:
    """Show how every question of your notebooks stands.

    Runs the public checks of all notebooks in FOLDER (here, unless you say), which may also be a single
    notebook. The points are those of the public checks; the graded ones look more closely.
    """
    from grader.student.folder import show_status

    show_status(folder, seconds)


@click.command()
@_notebook
@_question
@click.option("-y", "--yes", is_flag=True, help="Do not ask first.")
def reset(path: str, question: str | None, yes: bool) -> None:
    """Put one question back as it was handed out.

    Only the cell of NOTEBOOK with the function that QUESTION asks for changes. Your version is kept in a
    file beside the notebook.
    """
    from grader.student.notebook import find_notebook, open_notebook
    from grader.student.reset import carry_out, plan
    from grader.text import terminal_text

    notebook = open_notebook(find_notebook(path))
    planned = plan(notebook, notebook.question(_given(question)))
    identity = planned.question.id
    if not planned.is_needed:
        click.echo(f"{identity} of {notebook.name} is as it was handed out. Nothing was changed.")
    elif not yes and not _confirm(notebook.name, planned):
        click.echo("Nothing was changed.")
        return
    else:
        kept = carry_out(notebook, planned)
        click.echo(f"{identity} of {notebook.name} is as it was handed out again.")
        if kept:
            click.echo(f"Your version is kept in {terminal_text(str(kept))}")
        click.echo("If the notebook is open in Jupyter, reload it from disk before you save it there.")
    if planned.later:
        cells, function = ", ".join(map(str, planned.later)), planned.question.function
        click.echo(f"Mind that code cell {cells} defines {function} too, and runs later: delete it.")


@click.command()
@click.argument("places", metavar="[NOTEBOOK]...", nargs=-1)
@_seconds
def handin(places: tuple[str, ...], seconds: float) -> None:
    """See whether notebooks are ready, and which file to upload.

    NOTEBOOK may also be a folder; without it all notebooks here that you have begun. Nothing is sent
    anywhere. Exit status: 0 when all are ready, 1 when something should be looked at first, 2 when this
    command has to be mended.
    """
    from grader.student.handin import show_readiness

    if not show_readiness(places, seconds):
        raise SystemExit(1)


def _given(question: str | None) -> str:
    if question is None:
        raise click.UsageError("Missing argument 'QUESTION', such as q1.")
    return question


def _confirm(name: str, planned: Reset) -> bool:
    from grader.student.notebook import cell_name

    handed_out = f"{planned.question.id} as it was handed out"
    asked = f"Insert {handed_out} into {name}?"
    if planned.cell:
        cell = cell_name(planned.cell.number, planned.cell.source)
        asked = f"Replace {cell} of {name} by {handed_out}?"
    try:
        return click.confirm(asked, default=False)
    except click.Abort:
        raise GraderError("nobody answered, so nothing was changed: add --yes to go on.") from None
