"""All notebooks of a folder: checking them one after the other, and `status`, which shows them in a table."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from grader.console import console, put
from grader.errors import GraderError
from grader.student.check import NotebookReport, check, starter_code_report
from grader.student.display import print_table, working
from grader.student.notebook import StudentNotebook, notebooks_in, open_notebook
from grader.student.process import RunnerPool, RunnerProcess
from grader.student.remembered import recall, remember
from grader.student.unsaved import unsaved_line


def check_notebooks(paths: Collection[Path], seconds: float) -> dict[Path, NotebookReport | GraderError]:
    """The report on each notebook; one that cannot be read costs only itself.

    A cell, or a test, may take so many seconds. A notebook that is starter code only, or has not changed
    since its last report, is not run.
    """
    found: dict[Path, NotebookReport | GraderError | None] = dict.fromkeys(paths)
    changed: list[StudentNotebook] = []
    for path in paths:
        try:
            notebook = open_notebook(path)
            found[path] = starter_code_report(notebook, notebook.questions) or recall(notebook, seconds)
            if found[path] is None:
                changed.append(notebook)
        except GraderError as error:
            found[path] = error
    if changed:
        with RunnerPool() as pool, working("starting") as show:
            for number, notebook in enumerate(changed, 1):
                show(f"checking {notebook.name} ({number} of {len(changed)})")
                start = partial(_start, pool, is_last=number == len(changed))
                try:
                    report = check(notebook, notebook.questions, seconds, start)
                    remember(report, seconds)
                    found[notebook.document.path] = report
                except GraderError as error:
                    found[notebook.document.path] = error
    return {path: report for path, report in found.items() if report is not None}


def _start(pool: RunnerPool, *, is_last: bool) -> RunnerProcess:
    """A process for this notebook; the next notebook's imports torch meanwhile."""
    process = pool.take()
    if not is_last:
        pool.prepare()
    return process


def show_status(folder: Path, seconds: float) -> None:
    """Check all notebooks of a folder that have changed, see `check_notebooks`, and print a table."""
    stems, to = notebooks_in(folder), console()
    reports = check_notebooks(stems, seconds)
    print_table(to, reports, stems)
    for report in reports.values():
        if isinstance(report, NotebookReport) and (unsaved := unsaved_line(report.notebook)):
            put(to, unsaved)
