"""All notebooks of a folder: checks them one after the other, and `status`, which shows them in a table."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from grader.errors import GraderError
from grader.student.check import NotebookReport, check
from grader.student.display import console, print_table, working
from grader.student.notebook import notebooks_in, open_notebook
from grader.student.process import RunnerPool, RunnerProcess
from grader.student.unsaved import unsaved_line
from grader.text import terminal_text


def check_notebooks(paths: Collection[Path], seconds: float) -> dict[Path, NotebookReport | GraderError]:
    """The report on each notebook; one that cannot be read costs only itself.

    A cell, or a test, may take so many seconds.
    """
    found: dict[Path, NotebookReport | GraderError] = {}
    with RunnerPool() as pool, working("starting") as show:
        for number, path in enumerate(paths, 1):
            show(f"checking {terminal_text(path.name)} ({number} of {len(paths)})")
            try:
                notebook = open_notebook(path)
                start = partial(_start, pool, is_last=number == len(paths))
                found[path] = check(notebook, notebook.questions, seconds, start)
            except GraderError as error:
                found[path] = error
    return found


def _start(pool: RunnerPool, *, is_last: bool) -> RunnerProcess:
    """A process for this notebook; the next notebook's imports torch meanwhile."""
    process = pool.take()
    if not is_last:
        pool.prepare()
    return process


def show_status(folder: Path, seconds: float) -> None:
    """Check all notebooks of a folder, see `check_notebooks`, and print a table."""
    stems, to = notebooks_in(folder), console()
    reports = check_notebooks(stems, seconds)
    print_table(to, reports, stems)
    for report in reports.values():
        if isinstance(report, NotebookReport) and (unsaved := unsaved_line(report.notebook)):
            to.print(unsaved)
