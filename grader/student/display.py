"""What students see on a terminal: what a check found, and always what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.course.assignment import END_TASK
from grader.errors import GraderError
from grader.scores import points_text
from grader.student.check import Failure, NotebookReport, QuestionReport, Status
from grader.text import terminal_line, terminal_text


class _Words(NamedTuple):
    """How a status is shown."""

    mark: str
    plain_mark: str  # in ASCII
    style: str
    remark: str
    end_task: str  # follows "The end task"


_WORDS: dict[Status, _Words] = {
    "passes": _Words("✔", "+", "green", "", "passes"),
    "fails": _Words("✘", "x", "red", "", "does not pass"),
    "untouched": _Words("·", ".", "dim", "not started yet", "is not started yet"),
    "missing": _Words("✘", "x", "red", "not defined", "is not defined"),
    "unchecked": _Words("-", "-", "dim", "no public check", "has no public check"),
}
#: What errors mean that do not come up where a student works.
_REASONS = {
    "FileNotFoundError": "Only the notebook is handed in, so nothing lies beside it here.",
    "ModuleNotFoundError": "It is not installed here or, if it is a file of yours, not handed in.",
    "EOFError": "Nobody is there to type while a notebook is checked.",
}
_COMMAND = "python -m grader"


def console(*, stderr: bool = False) -> Console:
    """Where a student reads; no text is taken for markup."""
    return Console(emoji=False, markup=False, highlight=False, soft_wrap=True, stderr=stderr)


@contextmanager
def working(doing: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done, on a terminal only; yields a function that changes the words."""
    to = console(stderr=True)
    if to.is_terminal:
        with to.status(doing, spinner="line") as shown:
            yield shown.update
    else:
        yield lambda _: None


def mark(to: Console, status: Status) -> Text:
    """The mark of a status; an old Windows terminal gets an ASCII character."""
    words = _WORDS[status]
    sign = words.mark
    try:
        sign.encode(to.encoding)
    except (UnicodeEncodeError, LookupError):
        sign = words.plain_mark
    return Text(sign, words.style)


def print_report(to: Console, report: NotebookReport) -> None:
    """The whole of a check: cells that failed, each question, then the next step."""
    to.print(Text(report.notebook.name, "bold"))
    for cell, failure in report.cells:
        _print_cell(to, cell, failure, report)
    for question in report.questions:
        _print_question(to, question, report)
    to.print()
    for line in closing(report):
        to.print(line)


def closing(report: NotebookReport) -> Iterator[str]:
    """How many questions pass, and the next step."""
    whole = len(report.questions) == len(report.notebook.questions)
    if len(report.questions) > 1:
        yield _counted(report.questions)
    following = report.next_question
    argument = report.notebook.argument
    if following is not None:
        identity = following.question.id
        begin = "Start with" if following.status == "untouched" else "Next:"
        yield f"{begin} {identity}, {terminal_text(following.question.title)}."
        yield f"Stuck? {_COMMAND} hint {argument} {identity}"
    elif report.cells:
        which = "All questions pass." if whole else f"{report.questions[0].question.id} passes."
        guilty = report.cell_name(report.cells[0][0])
        yield f"{which} But {guilty} fails: mend or delete it, because Jupyter stops there."
        if not whole:
            yield f"The other questions: {_COMMAND} check {argument}"
    elif not whole:
        yield f"Well done. The other questions: {_COMMAND} check {argument}"
    else:
        yield "Well done! Restart the kernel, run all cells once more, save, and hand the notebook in."


def _counted(questions: Sequence[QuestionReport]) -> str:
    """How many questions pass; an end task does not count and has a sentence of its own."""
    end_tasks = [answer for answer in questions if answer.question.id == END_TASK]
    others = [answer for answer in questions if answer.question.id != END_TASK]
    checked = [answer for answer in others if answer.status != "unchecked"]
    beside = "".join(f" The end task {_WORDS[answer.status].end_task}." for answer in end_tasks)
    return f"{sum(answer.is_done for answer in checked)} of {len(checked)} questions pass.{beside}"


def _print_cell(to: Console, cell: int, failure: Failure, report: NotebookReport) -> None:
    here = failure.cell in {cell, None}
    where = report.cell_name(cell) + (f", line {failure.line}," if here and failure.line else "")
    to.print(Text(f"  ! {where} ", "yellow"), Text(terminal_line(" ".join(failure.text.split()))), sep="")
    if failure.kind in _REASONS:
        to.print(Text(f"      {_REASONS[failure.kind]}"))
    if failure.code:
        elsewhere = "" if here else f" (code cell {failure.cell}, line {failure.line})"
        to.print(Text(f"      {terminal_line(failure.code)}{elsewhere}", "dim"))


def _print_question(to: Console, found: QuestionReport, report: NotebookReport) -> None:
    question, remark = found.question, _WORDS[found.status].remark
    title = f" {question.id}  {terminal_text(question.title)}" + (f"  ({remark})" if remark else "")
    to.print(Text("  "), mark(to, found.status), Text(title), sep="")
    if found.status == "missing":
        for line in _about_missing(found, report):
            to.print(Text(f"      {line}"))
    if found.status == "fails":
        for title, failure in found.tests:
            status: Status = "passes" if failure is None else "fails"
            to.print(Text("      "), mark(to, status), Text(f" {terminal_text(title)}"), sep="")
            for line in failure_lines(failure) if failure else ():
                to.print(Text(f"        {line}"))
    afterword = question.check.afterword if question.check else None
    if found.status == "passes" and len(report.questions) == 1 and afterword:
        to.print(Text(f"      {terminal_text(afterword)}"))


def _about_missing(found: QuestionReport, report: NotebookReport) -> Iterator[str]:
    """Why a function may not be defined, and how it comes back."""
    name, identity = found.question.function, found.question.id
    failed = dict(report.cells)
    guilty = [cell.number for cell in report.notebook.code if cell.number in failed and name in cell.source]
    if guilty:
        yield f"{name} was not defined, because {report.cell_name(guilty[0])} failed: mend that first."
        return
    yield f"No cell defines {name}. Name your function so, or get its cell back:"
    yield f"{_COMMAND} reset {report.notebook.argument} {identity}"


def failure_lines(failure: Failure) -> Iterator[str]:
    """What a failed test says, in lines fit for a terminal and a log."""
    yield from explanation(failure)
    if failure.cell is not None:
        within = f", in {failure.function}" if failure.function else ""
        yield terminal_line(f"at code cell {failure.cell}, line {failure.line}{within}: {failure.code}")


def explanation(failure: Failure) -> Iterator[str]:
    """What a failed test saw, and what that means, in such lines."""
    lines = failure.text.splitlines() or ["it failed without a word"]
    if not failure.said:
        lines[0] = f"Your code {lines[0]}"
    meaning = failure.meaning
    if meaning:
        lines.append(
            f"{meaning[:1].upper()}{meaning[1:]}" + ("" if meaning.endswith((".", "?", "!")) else ".")
        )
    yield from map(terminal_line, lines)


def print_table(
    to: Console, found: Mapping[Path, NotebookReport | GraderError], stems: Mapping[Path, str]
) -> None:
    """A row for each notebook, then what the marks mean and what to do next.

    Args:
        found: the report on each notebook, or why there is none; points are those of the public checks.
        stems: the assignment that each answers.
    """
    table = Table("notebook", box=None, pad_edge=False, header_style="bold")
    table.add_column("points", justify="right")
    table.add_column("questions")
    for path, report in found.items():
        of = "" if path.stem.startswith(stems[path]) else f" (of {stems[path]})"
        name = Text(terminal_text(path.name.removesuffix(".ipynb") + of))
        if isinstance(report, GraderError):
            table.add_row(name, "-", Text("cannot be checked, see below", "red"))
        else:
            earned = sum(answer.points for answer in report.questions)
            worth = sum(answer.question.points for answer in report.questions)
            marks = [Text.assemble(a.question.id, " ", mark(to, a.status)) for a in report.questions]
            table.add_row(name, points_text(earned, worth), Text("  ").join(marks))
    to.print(table)
    to.print()
    key = Text.assemble(mark(to, "passes"), " passes  ", mark(to, "fails"), " does not yet  ")
    to.print(key, mark(to, "untouched"), Text(" not started"), sep="")
    for report in found.values():
        if isinstance(report, GraderError):
            to.print(Text(terminal_line(str(report)), "red"))
    to.print(_next_step(found, stems))


def _next_step(found: Mapping[Path, NotebookReport | GraderError], stems: Mapping[Path, str]) -> str:
    originals = {path.stem for path in found}
    for path, report in found.items():
        if stems[path] in originals - {path.stem}:
            continue  # `01_x-Copy1` is a copy where `01_x` is there
        if isinstance(report, GraderError):
            return f"Next: mend {terminal_line(path.name)}, as said above."
        if following := report.next_question:
            return f"Next: {_COMMAND} check {report.notebook.argument} {following.question.id}"
    return "Everything passes. Well done! Hand your notebooks in."
