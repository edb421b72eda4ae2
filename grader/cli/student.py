"""The commands for students: check, watch, hint, status, reset, submit."""

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
    help="Time limit for each cell and each check.",
    metavar="N",
)


@click.command()
@click.argument("path", metavar="NOTEBOOK", required=False)
@click.argument("question", required=False)
@_seconds
@click.option("-v", "--verbose", is_flag=True, help="Show what the notebook prints.")
@click.option("--github", is_flag=True, help="Report points to GitHub Actions; NOTEBOOK defaults to all.")
def check(path: str | None, question: str | None, seconds: float, verbose: bool, github: bool) -> None:
    """Run the public checks of a notebook, or of one question.

    Example: check 01_leaves q2. All cells of NOTEBOOK run first, in a fresh Python process.

    \b
    Exit status:
      0  every check passes
      1  a check fails
      2  usage error, or the notebook cannot be read
    """  # noqa: D301 - click reads the backspace as "do not rewrap"
    if github:
        from grader.integrations.github_check import check_for_github

        raise SystemExit(check_for_github(path, question, seconds))
    if path is None:
        raise click.UsageError("Missing argument 'NOTEBOOK'.")
    from grader.console import console, put
    from grader.student.check import check as check_notebook
    from grader.student.display import print_report, working
    from grader.student.notebook import find_notebook, open_notebook
    from grader.student.process import RunnerPool
    from grader.student.remembered import remember
    from grader.student.unsaved import unsaved_line

    notebook = open_notebook(find_notebook(path))
    questions = (notebook.question(question),) if question else notebook.questions
    shown = nullcontext() if verbose else working(f"checking {notebook.name}")
    with RunnerPool(shows=verbose) as pool, shown:
        report = check_notebook(notebook, questions, seconds, pool.take, in_full=question is not None)
    print_report(console(), report)
    if question is None:
        remember(report, seconds)
    if unsaved := unsaved_line(notebook):
        put(console(), unsaved)
    if not all(answer.is_done or answer.status == "unchecked" for answer in report.questions):
        raise SystemExit(1)


@click.command()
@_notebook
@_question
@click.argument("number", type=click.IntRange(min=1), default=1)
def hint(path: str, question: str | None, number: int) -> None:
    """Show a hint for a question; higher numbers reveal more.

    Example: hint 01_leaves q2 3. The hints are those below the task in the notebook.
    """
    from grader.console import COMMAND, console, put
    from grader.student.display import print_hint
    from grader.student.hints import find_hint
    from grader.student.notebook import argument_of, find_notebook

    found, to = find_notebook(path), console()
    asked, given, count = find_hint(found, _given(question), number)
    argument = argument_of(found)
    print_hint(to, asked.id, given, count)
    if number < count:
        put(to, f"More: {COMMAND} hint {argument} {asked.id} {number + 1}")
    else:
        put(to, f"That was the last hint. Try: {COMMAND} check {argument} {asked.id}")


@click.command()
@_folder
@_seconds
def watch(folder: Path, seconds: float) -> None:
    """Check a notebook whenever you save it; press q to quit.

    FOLDER may be a folder (default: the current one) or a single notebook. Shows one question at a time,
    starting with the notebook that you saved last. The key n shows the next question, h a hint.
    """
    from grader.student.watch import watch_folder

    watch_folder(folder, seconds)


@click.command()
@_folder
@_seconds
def status(folder: Path, seconds: float) -> None:
    """Show your progress on every question.

    Runs the public checks of all notebooks in FOLDER, which may be a folder (default: the current one) or a
    single notebook. The graded checks test more.
    """
    from grader.student.folder import show_status

    show_status(folder, seconds)


@click.command()
@_notebook
@_question
@click.option("-y", "--yes", is_flag=True, help="Skip the confirmation.")
def reset(path: str, question: str | None, yes: bool) -> None:
    """Restore the starter code of one question.

    Changes only the cell of NOTEBOOK that defines the function of QUESTION. Saves your version in a file
    beside the notebook.
    """
    from grader.console import console, put
    from grader.student.notebook import find_notebook, open_notebook
    from grader.student.reset import carry_out, plan
    from grader.text import terminal_text

    notebook, to = open_notebook(find_notebook(path)), console()
    planned = plan(notebook, notebook.question(_given(question)))
    identity = planned.question.id
    if not planned.is_needed:
        put(to, f"{identity} of {notebook.name} is already the starter code. Nothing was changed.")
    elif not yes and not _confirm(notebook.name, planned):
        put(to, "Nothing was changed.")
        return
    else:
        saved = carry_out(notebook, planned)
        put(to, f"{identity} of {notebook.name} is the starter code again.")
        if saved:
            put(to, f"Your version is saved in {terminal_text(str(saved))}")
        put(to, "If the notebook is open in Jupyter, reload it from disk before you save it there.")
    for number in planned.later:
        again = f"it defines {planned.question.function} again, and runs later."
        put(to, f"Delete {notebook.cell_name(number)}: {again}")


@click.command()
@click.argument("places", metavar="[NOTEBOOK]...", nargs=-1)
@_seconds
def submit(places: tuple[str, ...], seconds: float) -> None:
    """Show whether notebooks are ready, and which file to upload.

    Sends nothing: you upload the file, or push it. NOTEBOOK may be a folder; the default is every notebook
    in the current folder that you have started.

    \b
    Exit status:
      0  every notebook is ready
      1  a notebook has a problem, or none is started
      2  usage error, such as a name that does not exist
    """  # noqa: D301 - click reads the backspace as "do not rewrap"
    from grader.student.submit import show_readiness

    if not show_readiness(places, seconds):
        raise SystemExit(1)


def _given(question: str | None) -> str:
    if question is None:
        raise click.UsageError("Missing argument 'QUESTION', such as q1.")
    return question


def _confirm(name: str, planned: Reset) -> bool:
    from grader.console import console, put

    asked = planned.question.name
    if planned.cell:
        put(
            console(),
            f"This replaces the cell of {asked} in {name} by its starter code, and saves your version.",
        )
    else:
        put(console(), f"This inserts the starter code of {asked} into {name}.")
    try:
        return click.confirm("Continue?", default=False)
    except click.Abort:
        put(console())  # ends the line of the prompt
        raise GraderError("no answer, so nothing was changed: add --yes to skip the question.") from None
