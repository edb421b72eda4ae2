"""On a student's machine: the commands for work on a notebook: check, hint, watch, status, reset."""

from __future__ import annotations

from collections.abc import Iterator
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
    from grader.integrations.export.github_check import (
        require_output,
        write_output,
        write_unreadable,
    )

    output = require_output(question)
    try:
        findings = _look(notebook, question, seconds, shows=False)
    except GraderError as error:
        write_unreadable(output, Path(notebook), question or "", error)
        raise
    write_output(output, findings)
    return findings


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


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@seconds_option
def watch(folder: Path, seconds: float) -> None:
    """Check each notebook as you save it, until Ctrl-C.

    Looks after all notebooks in FOLDER (here, unless you say), which may also be a single notebook, and
    begins with the one that was saved last.
    """
    from grader.student.display import console
    from grader.student.find import notebooks_in
    from grader.student.process import Supply
    from grader.student.watch import Watcher

    paths = notebooks_in(folder)
    with Supply(sentence="stopped watching.") as supply:
        watcher = Watcher(console(), seconds, supply)
        saved = _saved(folder)
        supply.prepare()
        missed = next(saved)  # from here on nothing is
        watcher.watch([missed | {max(paths, key=lambda path: path.stat().st_mtime)}])
        watcher.watch(saved)


def _saved(watched: Path) -> Iterator[set[Path]]:
    """The notebooks that were saved; an empty set now and then, the first one at once."""
    from watchfiles import watch as changes_in

    from grader.student.find import is_notebook

    folder = watched.parent if watched.is_file() else watched

    def is_wanted(_: object, name: str) -> bool:
        return Path(name).name == watched.name if folder != watched else is_notebook(Path(name))

    for changes in changes_in(
        folder, watch_filter=is_wanted, recursive=False, yield_on_timeout=True, rust_timeout=300
    ):
        yield {path for _, name in changes if (path := folder / Path(name).name).is_file()}


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
