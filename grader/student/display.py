"""The output of students' commands: the outcome of a check, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.console import COMMAND, coded, console, put, put_markdown, put_table
from grader.course.assignment import BONUS_TASK
from grader.errors import GraderError
from grader.notebooks.definitions import functions_and_classes
from grader.notebooks.misplaced import defined_instead, misplaced_definition
from grader.student.check import Failure, NotebookReport, QuestionReport, Status
from grader.student.coverage import coverage, coverage_of_several
from grader.student.hints import Hint
from grader.student.notebook import StudentNotebook
from grader.text import capital, some, terminal_line, terminal_text


class _Words(NamedTuple):
    """The display of a status."""

    mark: str
    plain_mark: str  # in ASCII
    style: str
    remark: str
    bonus_task: str  # follows "The bonus task"


_WORDS: dict[Status, _Words] = {
    "passes": _Words("✔", "+", "green", "", "passes"),
    "fails": _Words("✘", "x", "red", "", "does not pass"),
    "untouched": _Words("·", ".", "dim", "not started yet", "is not started yet"),
    "missing": _Words("✘", "x", "red", "not defined", "is not defined"),
    "unchecked": _Words("-", "-", "dim", "no public check", "has no public check"),
}
#: Explanations of errors that don't occur on a student's machine.
_REASONS = {
    "FileNotFoundError": "Only the notebook is submitted, so other files are missing here.",
    "ModuleNotFoundError": "It is not installed here or, if it is your own file, not submitted.",
    "EOFError": "A check cannot wait for input.",
}
_BAR = 40  # characters of the bar that shows progress
_MOST_ELSEWHERE = 3  # failed cells that the check of another question names


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


def print_report(to: Console, report: NotebookReport, *, is_unchanged: bool = False) -> None:
    """Print a whole check: failed cells, each question, then the next step.

    For a single question, also print what its starter code does, or its afterword if it passes.
    """
    put(to, Text(report.notebook.name, "bold"))
    focus = report.questions[0] if len(report.questions) == 1 else None
    print_cells(to, report, focus)
    for question in report.questions:
        _print_question(to, question, report, in_full=focus is not None)
    put(to)
    for line in closing(report, is_unchanged=is_unchanged):
        put(to, line)


def print_focus(to: Console, report: NotebookReport, focus: QuestionReport) -> None:
    """Print the marks of a notebook, the failed cells above a question, and everything about it."""
    put(to, Text.assemble((report.notebook.name, "bold"), "  ", marks(to, report, focus.question.id)))
    print_cells(to, report, focus)
    _print_question(to, focus, report, in_full=True)


def print_hint(to: Console, question: str, given: Hint, count: int) -> None:
    """Print a hint for a question, and how many there are."""
    put(to, Text(f"{question}, hint {given.number} of {count}", "bold"))
    put(to)
    put_markdown(to, "\n".join(map(terminal_text, given.text.splitlines())))
    put(to)


def closing(report: NotebookReport, *, is_unchanged: bool = False) -> Iterator[str]:
    """The number of public checks that pass, further inputs of the graded checks, and the next step."""
    whole = len(report.questions) == len(report.notebook.questions)
    passed = [answer.question for answer in report.questions if answer.is_done]
    if len(report.questions) > 1:
        yield how_many_pass(report.questions, is_unchanged=is_unchanged)
    if passed:
        yield coverage(passed[0]) if len(report.questions) == 1 else coverage_of_several(passed)
    following = report.next_question
    argument = report.notebook.argument
    if following is not None:
        identity = following.question.id
        begin = "Next:" if report.is_begun or following.status != "untouched" else "Start with"
        yield f"{begin} {identity}, {terminal_text(following.question.title)}."
        if following.question.hints:
            yield f"Stuck? {COMMAND} hint {argument} {identity}"
    elif whole:
        yield _when_done(report)
    else:
        if any(report.concerns(cell, report.questions[0].question) for cell, _ in report.cells):
            yield _about_failed_cell(report)
        yield f"The other questions: {COMMAND} check {argument}"


def focus_closing(
    report: NotebookReport, focus: QuestionReport, *, is_unchanged: bool = False
) -> Iterator[str]:
    """The same, if keys choose a question."""
    yield how_many_pass(report.questions, is_unchanged=is_unchanged)
    following = report.question_after(focus.question.id)
    if not focus.is_done:
        return
    yield coverage(focus.question)
    if following is not None:
        name = f"{following.question.id}, {terminal_text(following.question.title)}"
        yield f"Press n to go on with {name}."
    else:
        yield _when_done(report)


def _when_done(report: NotebookReport) -> str:
    """The next step for a notebook whose public checks all pass."""
    if report.cells:
        return _about_failed_cell(report)
    command = f"{COMMAND} submit {report.notebook.argument}"
    return f"Check whether the notebook is ready to submit: {command}"


def _about_failed_cell(report: NotebookReport) -> str:
    guilty = report.notebook.cell_name(report.cells[0][0])
    return f"But {guilty} fails: fix or delete it, because Jupyter stops there."


def how_many_pass(questions: Sequence[QuestionReport], *, is_unchanged: bool = False) -> str:
    """How many public checks pass; a bonus task does not count and has a sentence of its own."""
    bonus_tasks = [answer for answer in questions if answer.question.id == BONUS_TASK]
    beside = "".join(f" The bonus task {_WORDS[answer.status].bonus_task}." for answer in bonus_tasks)
    passed, count = _pass_count(questions)
    return f"{passed} of {count} public checks pass{': no change' if is_unchanged else ''}.{beside}"


def _pass_count(questions: Sequence[QuestionReport]) -> tuple[int, int]:
    """How many public checks pass, and how many there are."""
    others = [answer for answer in questions if answer.question.id != BONUS_TASK]
    checked = [answer for answer in others if answer.status != "unchecked"]
    return sum(answer.is_done for answer in checked), len(checked)


def _progress(questions: Sequence[QuestionReport]) -> str:
    """The share of public checks that pass, as a bar."""
    passed, count = _pass_count(questions)
    done = _BAR * passed // max(count, 1)
    return f"Progress: [{'#' * done}{'-' * (_BAR - done)}] {passed}/{count} public checks"


def print_cells(
    to: Console, report: NotebookReport, focus: QuestionReport | None = None, indent: int = 2
) -> None:
    """Print failed cells, each with the reason and the line; if a question has the focus, only its cells."""
    elsewhere: list[str] = []
    for cell, failure in report.cells:
        if focus is None or report.concerns(cell, focus.question):
            _print_cell(to, cell, failure, report.notebook, indent)
        else:
            elsewhere.append(report.notebook.cell_name(cell))
    if elsewhere:
        fails = "fails" if len(elsewhere) == 1 else "fail"
        put(to, _warning(to, f"! Elsewhere {', '.join(some(elsewhere, _MOST_ELSEWHERE))} {fails}."), indent)


def _print_cell(to: Console, cell: int, failure: Failure, notebook: StudentNotebook, indent: int) -> None:
    here = failure.cell in {cell, None}
    where = notebook.place(cell, failure.line if here else 0, is_subject=True)
    said = terminal_line(" ".join(failure.text.split()))
    put(to, Text.assemble(_warning(to, f"! {where} "), coded(to, said)), indent, hang=2)
    if failure.kind in _REASONS:
        put(to, _REASONS[failure.kind], indent + 4)
    if failure.code:
        code = Text(terminal_line(failure.code), "dim")
        if not here and failure.cell is not None:
            code.append_text(coded(to, f" ({notebook.place(failure.cell, failure.line)})"))
        put(to, code, indent + 4)


def _warning(to: Console, text: str) -> Text:
    shown = coded(to, text)
    shown.stylize("yellow")
    return shown


def _headline(to: Console, found: QuestionReport, report: NotebookReport) -> Text:
    question, remark = found.question, _WORDS[found.status].remark
    if report.failed_cell(found) is not None:
        remark = "its cell does not run"
    title = f" {question.id}  {terminal_text(question.title)}" + (f"  ({remark})" if remark else "")
    return Text.assemble(mark(to, found.status), coded(to, title))


def _print_question(
    to: Console, found: QuestionReport, report: NotebookReport, *, in_full: bool = False
) -> None:
    """Print a question, and why it does not pass."""
    put(to, _headline(to, found, report), 2, hang=2)
    if found.status == "missing":
        for line in _about_missing(found, report):
            put(to, line, 6)
    if in_full and found.status == "untouched" and found.tests:
        put(to, "The starter code:", 6)
    if found.status == "fails" or (in_full and found.status == "untouched"):
        for title, failure in found.tests:
            status: Status = "passes" if failure is None else "fails"
            put(to, Text.assemble(mark(to, status), " ", coded(to, terminal_text(title))), 6, hang=2)
            for line in failure_lines(failure, report.notebook) if failure else ():
                put(to, line, 8)
    check = found.question.check
    if in_full and found.is_done and (afterword := check.afterword if check else None):
        put(to, terminal_text(afterword), 6)


def _about_missing(found: QuestionReport, report: NotebookReport) -> Iterator[str]:
    """Why a function may be undefined, and how to restore it."""
    name, identity = found.question.function, found.question.id
    if (guilty := report.failed_cell(found)) is not None:
        cell = report.notebook.cell_name(guilty)
        yield f"{name} is not defined, because {cell} does not run: fix that first."
        return
    notebook, released = report.notebook.document.notebook, report.notebook.demonstrations
    if (misplaced := misplaced_definition(notebook, name, released, (), None)) is not None:
        yield f"{name} is defined {misplaced.where}."
        return
    known = {question.function for question in report.notebook.questions}
    known |= {other for source in released for other in functions_and_classes(source)}
    if instead := defined_instead(notebook, name, known):
        yield instead
        return
    yield f"No cell defines {name}. Rename your function, or restore its cell:"
    yield f"{COMMAND} reset {report.notebook.argument} {identity}"


def failure_lines(failure: Failure, notebook: StudentNotebook) -> Iterator[str]:
    """The message of a failed test, in lines for a terminal or a log."""
    yield from explanation(failure)
    if failure.cell is not None:
        within = f"in {failure.function}, " if failure.function else ""
        place = notebook.place(failure.cell, failure.line)
        yield terminal_line(f"{within}{place}: {failure.code}")


def explanation(failure: Failure) -> Iterator[str]:
    """The observation of a failed test and its meaning, in such lines."""
    lines = failure.text.splitlines() or ["it failed without a word"]
    if not failure.said:
        lines[0] = f"Your code {lines[0]}"
    if meaning := failure.meaning:
        end = "" if meaning.endswith((".", "?", "!")) else "."
        lines.append(f"{capital(meaning)}{end}")
    yield from map(terminal_line, lines)


def print_table(
    to: Console, found: Mapping[Path, NotebookReport | GraderError], stems: Mapping[Path, str]
) -> None:
    """Print a row for each notebook, a legend of the marks, the progress, and the next step.

    Args:
        found: the report on each notebook, or the reason why there is none.
        stems: the assignment that each answers.
    """
    table = Table("notebook", box=None, pad_edge=False, header_style="bold")
    table.add_column("public checks", justify="right")
    table.add_column("questions")
    counted: list[QuestionReport] = []  # of each assignment the first notebook
    seen: set[str] = set()
    for path, report in found.items():
        of = "" if path.stem.startswith(stems[path]) else f" (of {stems[path]})"
        name = Text(terminal_text(path.name.removesuffix(".ipynb") + of))
        if isinstance(report, GraderError):
            table.add_row(name, "-", Text("cannot be checked, see below", "red"))
        else:
            passed, count = _pass_count(report.questions)
            table.add_row(name, f"{passed} of {count}", marks(to, report))
            counted += report.questions if stems[path] not in seen else ()
            seen.add(stems[path])
    put_table(to, table)
    put(to)
    key = Text.assemble(mark(to, "passes"), " passes  ", mark(to, "fails"), " does not yet  ")
    put(to, Text.assemble(key, mark(to, "untouched"), " not started"))
    if counted:
        put(to, _progress(counted))
    for report in found.values():
        if isinstance(report, GraderError):
            put(to, Text(terminal_line(str(report)), "red"))
    if begun := [answer.question for answer in counted if answer.is_done]:
        put(to, coverage_of_several(begun))
    put(to, _next_step(found, stems))


def marks(to: Console, report: NotebookReport, focus: str = "") -> Text:
    """The mark of every question in a row, one of them bold."""
    each = [
        Text.assemble(
            answer.question.id, mark(to, answer.status), style="bold" * (answer.question.id == focus)
        )
        for answer in report.questions
    ]
    return Text(" ").join(each)


def _next_step(found: Mapping[Path, NotebookReport | GraderError], stems: Mapping[Path, str]) -> str:
    originals = {path.stem for path in found}
    for path, report in found.items():
        if stems[path] in originals - {path.stem}:
            continue  # `01_x-Copy1` is a copy where `01_x` is there
        if isinstance(report, GraderError):
            return f"Next: fix {terminal_line(path.name)}, as described above."
        if following := report.next_question:
            return f"Next: {COMMAND} check {report.notebook.argument} {following.question.id}"
    return f"Next: {COMMAND} submit"
