"""`handin`: whether notebooks are ready to be handed in, and which files to upload. Nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from grader.course.assignment import END_TASK
from grader.errors import GraderError
from grader.student.check import NotebookReport, Status
from grader.student.display import COMMAND, console, mark, print_cells
from grader.student.folder import check_notebooks
from grader.student.notebook import argument_of, assignment_of, find_notebook, notebooks_in
from grader.student.unsaved import CHECKPOINTS, unsaved_line
from grader.text import terminal_line, terminal_text


class Remark(NamedTuple):
    """Something that was looked at; a note is neither right nor wrong."""

    status: Status
    text: str


def show_readiness(places: Sequence[str], seconds: float) -> bool:
    """Check notebooks and say what should be looked at first, then which files to upload.

    A place is a notebook or a folder; of a folder, by default this one, the notebooks are looked at that are
    begun. A cell, or a test, may take so many seconds. Whether all are ready.
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
    if unbegun:
        names = ", ".join(terminal_text(path.stem) for path in unbegun)
        to.print(f"Not started, so left out: {names}.")
    if not begun:
        to.print(f"There is nothing to hand in yet. Begin with: {COMMAND} check {argument_of(unbegun[0])}")
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
    """Print what was found of a notebook, and what to upload; whether it is ready."""
    to.print(Text(terminal_text(path.name), "bold"))
    if isinstance(report, GraderError):
        to.print(Text("  "), mark(to, "fails"), Text(f" {terminal_line(str(report))}"), sep="")
        to.print()
        return False
    remarks = [*remarks_of(report), *_about_names(report, rivals)]
    for remark in remarks:
        to.print(Text("  "), mark(to, remark.status), Text(f" {remark.text}"), sep="")
    print_cells(to, report)
    is_ready = not any(remark.status == "fails" for remark in remarks)
    if is_ready:
        to.print("  Ready. Save it in Jupyter if you have not, then upload this file, or commit and push it:")
    else:
        to.print("  Not ready yet. You can hand it in all the same; this is the file:")
    status = path.stat()
    saved = datetime.fromtimestamp(status.st_mtime).astimezone()
    size = f"{max(1, round(status.st_size / 1000))} KB"
    to.print(Text(f"  {terminal_line(str(path.resolve()))}  ({size}, saved {saved:%Y-%m-%d %H:%M})"))
    to.print()
    return is_ready


def remarks_of(report: NotebookReport) -> Iterator[Remark]:
    """What a check says about handing in: cells, questions that are left, public checks."""
    if unsaved := unsaved_line(report.notebook):
        yield Remark("fails", unsaved)
    if report.cells:
        yield Remark(
            "fails", "Not all cells run: mend or delete those named below, because Jupyter stops there."
        )
    else:
        yield Remark("passes", "All cells run from top to bottom in a fresh Python.")
    asked = [answer for answer in report.questions if answer.question.id != END_TASK]
    left = [answer.question.id for answer in asked if answer.status in {"untouched", "missing"}]
    failed = [answer.question.id for answer in report.questions if answer.status == "fails"]
    if left:
        yield Remark("fails", f"Not started, or not defined: {', '.join(left)}. They would earn nothing.")
    elif report.notebook.handed_out is not None:
        yield Remark("passes", "No question is as it was handed out.")
    if failed:
        look = f"{COMMAND} check {report.notebook.argument} {failed[0]}"
        yield Remark("fails", f"The public check does not pass: {', '.join(failed)}. Look: {look}")
    elif len(left) < len(asked):
        yield Remark("passes", "The public checks pass." if not left else "The other public checks pass.")


def _about_names(report: NotebookReport, rivals: Sequence[str]) -> Iterator[Remark]:
    """The file's name, which grading does not need, and copies, which may be mixed up."""
    name = f"{report.notebook.stem}.ipynb"
    if report.notebook.document.path.name == name:
        yield Remark("passes", "The file has the name it was handed out with.")
    else:
        yield Remark(
            "unchecked",
            f"It was handed out as {terminal_text(name)}. The grader knows it all the same, people may not.",
        )
    if rivals:
        others = ", ".join(map(terminal_text, rivals))
        yield Remark(
            "unchecked",
            f"For the same assignment there is {others}. Where you hand in both, the last saved one counts.",
        )
