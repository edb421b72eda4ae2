"""`submit`: say whether notebooks are ready to be submitted, and which files to upload. Nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from grader.console import COMMAND, coded, console, put
from grader.course.assignment import BONUS_TASK
from grader.errors import GraderError
from grader.student.check import NotebookReport, QuestionReport, Status
from grader.student.coverage import coverage_of_several
from grader.student.display import mark, print_cells
from grader.student.folder import check_notebooks
from grader.student.notebook import argument_of, assignment_of, find_notebook, notebooks_in
from grader.student.unsaved import CHECKPOINTS, unsaved_line
from grader.text import terminal_line, terminal_text


class Remark(NamedTuple):
    """One line about a notebook; the status `unchecked` marks advice, which is neither right nor wrong."""

    status: Status
    text: str
    is_about_cells: bool = False  # whether the failed cells follow


def show_readiness(places: Sequence[str], seconds: float) -> bool:
    """Check notebooks, print what to fix first and which files to upload, and return whether all are ready.

    Args:
        places: notebooks or folders, by default the current folder. In a folder, notebooks that the student
            has not started are ignored.
        seconds: the time limit of a cell, and of a test.
    """
    folders = [Path(place) for place in places if Path(place).is_dir()] or [Path()] * (not places)
    named = {path: assignment_of(path) or path.stem for path in _named(places)}
    found_in = {path: stem for folder in folders for path, stem in notebooks_in(folder).items()}
    stems = named | found_in
    reports = check_notebooks(stems, seconds)
    unbegun = [
        path
        for path, report in reports.items()
        if path not in named and isinstance(report, NotebookReport) and not report.is_begun
    ]
    to = console()
    begun = {path: report for path, report in reports.items() if path not in unbegun}
    ready = [_show(to, path, report, _rivals(path, stems)) for path, report in begun.items()]
    passed = [
        answer.question
        for report in begun.values()
        if isinstance(report, NotebookReport)
        for answer in report.questions
        if answer.is_done
    ]
    if passed:
        put(to, coverage_of_several(passed))
    if unbegun:
        names = ", ".join(terminal_text(path.stem) for path in unbegun)
        put(to, f"Not started, so ignored: {names}.")
    if not begun:
        put(to, f"There is nothing to submit yet. Start with: {COMMAND} check {argument_of(unbegun[0])}")
    return bool(ready) and all(ready)


def _named(places: Sequence[str]) -> Iterator[Path]:
    for place in places:
        path = Path(place)
        if not path.is_dir():
            found = find_notebook(place)
            if CHECKPOINTS in found.absolute().parts:
                raise GraderError(
                    f"{terminal_text(place)} is an older version that Jupyter keeps: name the notebook"
                    f" itself, in the folder above {CHECKPOINTS}."
                )
            yield found


def _rivals(path: Path, stems: Mapping[Path, str]) -> list[str]:
    """Other notebooks beside it that answer the same assignment."""
    try:
        beside = notebooks_in(path.parent)
    except GraderError:  # it is not known for one of the course
        return []
    return [other.name for other, stem in beside.items() if stem == stems[path] and other.name != path.name]


def _show(to: Console, path: Path, report: NotebookReport | GraderError, rivals: Sequence[str]) -> bool:
    """Print the remarks about a notebook and the file to upload, and return whether it is ready."""
    put(to, Text(terminal_text(path.name), "bold"))
    if isinstance(report, GraderError):
        put(to, Text.assemble(mark(to, "fails"), " ", coded(to, terminal_line(str(report)))), 2, hang=2)
        put(to)
        return False
    remarks = [*remarks_of(report), *_about_names(report, rivals)]
    for remark in remarks:
        put(to, Text.assemble(mark(to, remark.status), " ", coded(to, remark.text)), 2, hang=2)
        if remark.is_about_cells:
            print_cells(to, report, indent=4)
    is_ready = not any(remark.status == "fails" for remark in remarks)
    if is_ready:
        put(to, "Ready. Save the notebook in Jupyter, then upload this file, or commit and push it:", 2)
    else:
        put(to, "Not ready yet. You can still submit it; this is the file:", 2)
    status = path.stat()
    saved = datetime.fromtimestamp(status.st_mtime).astimezone()
    size = f"{max(1, round(status.st_size / 1000))} KB"
    put(to, Text(f"{terminal_line(str(path.resolve()))}  ({size}, saved {saved:%Y-%m-%d %H:%M})"), 2)
    put(to)
    return is_ready


def remarks_of(report: NotebookReport) -> Iterator[Remark]:
    """Yield remarks about the cells, the questions without an answer, and the public checks."""
    if unsaved := unsaved_line(report.notebook):
        yield Remark("fails", unsaved)
    if report.cells:
        which = (
            "A cell fails: fix or delete it" if len(report.cells) == 1 else "Cells fail: fix or delete them"
        )
        yield Remark("fails", f"{which}, because Jupyter stops there.", is_about_cells=True)
    else:
        yield Remark("passes", "All cells run from top to bottom in a fresh Python.")
    asked = [answer for answer in report.questions if answer.question.id != BONUS_TASK]
    left = [answer for answer in asked if answer.status in {"untouched", "missing"}]
    yield from _about_left(report, left)
    failed = [answer.question for answer in report.questions if answer.status == "fails"]
    if failed:
        look = f"{COMMAND} check {report.notebook.argument} {failed[0].id}"
        names = ", ".join(question.name for question in failed)
        yield Remark("fails", f"The public check fails: {names}. To see why: {look}")
    elif len(left) < len(asked):
        does = "check passes" if len(asked) - len(left) == 1 else "checks pass"
        yield Remark("passes", f"The public {does}.")


def _about_left(report: NotebookReport, left: Sequence[QuestionReport]) -> Iterator[Remark]:
    """Yield remarks about questions that would earn no points, by the reason."""
    stopped = [answer for answer in left if report.failed_cell(answer) is not None]
    for kind, why in (
        ([answer for answer in left if answer.status == "untouched"], "Still the starter code"),
        (stopped, "Not defined, because the cell does not run"),
        ([answer for answer in left if answer.status == "missing" and answer not in stopped], "Not defined"),
    ):
        if kind:
            earns = "This question" if len(kind) == 1 else "These questions"
            names = ", ".join(answer.question.id for answer in kind)
            yield Remark("fails", f"{why}: {names}. {earns} would earn 0 points.")
    if not left and report.notebook.released is not None:
        yield Remark("passes", "No question is still starter code.")


def _about_names(report: NotebookReport, rivals: Sequence[str]) -> Iterator[Remark]:
    """Yield remarks about the file's name and about copies of the notebook; none of them is a problem."""
    name = f"{report.notebook.stem}.ipynb"
    if report.notebook.document.path.name == name:
        yield Remark("passes", "The file has its original name.")
    else:
        yield Remark(
            "unchecked",
            f"Its original name is {terminal_text(name)}. The grader still recognizes it, people might not.",
        )
    if rivals:
        others = ", ".join(map(terminal_text, rivals))
        yield Remark(
            "unchecked",
            f"Another notebook here answers the same assignment: {others}. If you submit both, the one"
            " saved last counts.",
        )
