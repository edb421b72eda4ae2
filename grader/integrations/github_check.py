"""``check --github``: a student's own workflow checks the notebooks and reports every question.

* Red is what fails. What nobody has begun does not fail: the workflow stays green until an answer is wrong.
* A notebook that is starter code only is not run.
* The summary and the log hold what ``check`` prints on a terminal, line by line: students read one text.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from grader.course.assignment import BONUS_TASK
from grader.errors import GraderError
from grader.integrations.export.github import (
    CheckScore,
    QuestionScore,
    action_output,
    notices,
    outputs,
    quoted,
    within_limit,
)
from grader.scores import apportioned
from grader.student.check import NotebookReport, QuestionReport, check, starter_code_report
from grader.student.display import failure_lines, print_report
from grader.student.notebook import (
    NOTEBOOKS,
    Question,
    StudentNotebook,
    find_notebook,
    notebooks_below,
    notebooks_in,
    open_notebook,
    released_notebook,
)
from grader.student.process import RunnerPool
from grader.text import capital, markdown_text, some, terminal_line, terminal_text

_REMARKS = {"untouched": "This question is still the starter code.", "missing": "No cell defines {name}."}
_MOST_PLACES = 3
_PUBLIC = "These checks test one example each. Your grade comes from hidden checks, which test more."


@dataclass(frozen=True)
class _Checked:
    """The outcome of a notebook."""

    stem: str
    title: str
    found: NotebookReport | GraderError  # the error says why it could not be checked
    scores: list[QuestionScore]  # of the questions that have a public check and points

    @property
    def statuses(self) -> set[str]:
        """Those of its questions."""
        if isinstance(self.found, GraderError):
            return {"error"}
        return {answer.status for answer in self.found.questions}

    @property
    def fails(self) -> bool:
        return not self.statuses.isdisjoint({"error", "fails", "missing"})

    @property
    def is_begun(self) -> bool:
        return not self.statuses <= {"untouched", "unchecked"}

    @property
    def lines(self) -> list[str]:
        """The report that a terminal would show."""
        if isinstance(self.found, GraderError):
            return [terminal_line(str(self.found))]
        shown = Console(
            file=io.StringIO(), color_system=None, emoji=False, markup=False, highlight=False, soft_wrap=True
        )
        with shown.capture() as captured:
            print_report(shown, self.found)
        return captured.get().splitlines()


def check_for_github(notebook: str | None, question: str | None, seconds: float) -> int:
    """Check notebooks and report their questions to the workflow.

    The exit status is 1 where something fails, else 0.

    Args:
        notebook: None for all that were released.
        question: the only question, written as the output ``result``; None for all.
        seconds: how long a cell, or a test, may take.

    Raises:
        GraderError: this is no workflow, or there is no such notebook or question.
    """
    output = os.environ.get("GITHUB_OUTPUT")
    if not output:
        raise GraderError("--github belongs into a workflow, where GITHUB_OUTPUT is set: leave it out here")
    every: list[_Checked] = []
    released = sorted(path.name for path in Path(".handout").glob(NOTEBOOKS))  # even if missing now
    with RunnerPool() as pool:
        for name in [notebook] if notebook else released or map(str, notebooks_in(Path())):
            checked = _checked(name, question, seconds, pool)
            every.append(checked)
            if question:
                _append(output, f"result={action_output(checked.scores[0])}\n")
            else:
                _append(output, outputs(checked.stem, checked.scores))
            click.echo(quoted("\n".join(checked.lines)))
    if question is None:
        _append(os.environ.get("GITHUB_STEP_SUMMARY"), _summary(every))
        click.echo("\n".join(notices([score for checked in every for score in checked.scores])))
    return int(any(checked.fails for checked in every))


def _checked(path: str, question: str | None, seconds: float, pool: RunnerPool) -> _Checked:
    """Check a notebook; where it cannot be checked, its questions have that error.

    Raises:
        GraderError: there is no such notebook, or it has no such question.
    """
    released = released_notebook(Path(path))
    if released is None:
        find_notebook(path)
    try:
        notebook = _opened(path, released)
    except GraderError as error:
        return _unchecked(path, question, released, error)
    asked = [notebook.question(question)] if question else notebook.questions
    try:
        report = starter_code_report(notebook, asked) or check(notebook, asked, seconds, pool.take)
    except GraderError as error:
        return _unchecked(path, question, released or notebook, error)
    scores = [
        _score(report, answer) for answer in report.questions if question or _has_points(answer.question)
    ]
    return _Checked(notebook.stem, notebook.title, report, scores)


def _unchecked(
    path: str, question: str | None, known: StudentNotebook | None, error: GraderError
) -> _Checked:
    """The report on a notebook that cannot be checked: every question is red, with the reason.

    Args:
        known: the released notebook; None if it was not found.
    """
    message = terminal_text(str(error))
    if known is None:
        scores = [QuestionScore(question, "", 0.0, 0.0, "error", message)] if question else []
        return _Checked(Path(path).stem, Path(path).stem, error, scores)
    asked = [known.question(question)] if question else known.questions
    scores = [
        QuestionScore(each.id, terminal_text(each.title), 0.0, each.points, "error", message)
        for each in asked
        if question or _has_points(each)
    ]
    return _Checked(known.stem, known.title, error, scores)


def _opened(path: str, released: StudentNotebook | None) -> StudentNotebook:
    """The notebook; GraderError if it is missing, cannot be read, or holds another assignment's."""
    try:
        found = find_notebook(path)
    except GraderError as error:
        if released and (moved := notebooks_below(Path(), released.stem)):
            raise GraderError(
                f"there is no notebook {path} here: yours is {_places(moved, path)}. "
                f"Move it back to {path}, so that every push checks it"
            ) from error
        raise GraderError(
            f"there is no notebook {path} here: put yours here, and push it. Only if you have not begun, "
            f"copy .handout/{path} here"
        ) from error
    notebook = open_notebook(found)
    if released and released.stem != notebook.stem:
        raise GraderError(
            f"{notebook.name} holds the notebook of {notebook.stem}: put that of {released.stem} back"
        )
    return notebook


def _places(notebooks: Sequence[Path], name: str) -> str:
    """The places of notebooks: ``in work/``, or the path of a notebook with another name than expected."""
    places = [f"in {each.parent}/" if each.name == name else str(each) for each in notebooks]
    return " or ".join(terminal_text(place) for place in some(places, _MOST_PLACES))


def _has_points(question: Question) -> bool:
    return question.check is not None and question.id != BONUS_TASK


def _score(report: NotebookReport, answer: QuestionReport) -> QuestionScore:
    """The points of a public check, all of them or none, and its message for the student.

    The format has no status for a question that was not started. `pass` would earn its points, so it is a
    `fail`.
    """
    question, lines = answer.question, []
    passes = answer.status in ("passes", "unchecked")
    if answer.status in _REMARKS:
        lines.append(_REMARKS[answer.status].format(name=question.function))
    for title, failure in answer.tests:
        if failure is not None:
            lines += [f"Not yet: {terminal_text(title)}", *failure_lines(failure, report.notebook)]
    for cell, failure in report.cells:
        said = terminal_line(" ".join(failure.text.split()))
        lines.append(f"{capital(report.notebook.cell_name(cell))} failed: {said}")
    return QuestionScore(
        question.id,
        terminal_text(question.title),
        answer.points,
        question.points,
        "pass" if passes else "fail",
        ("\n".join(lines) or None) if not passes else None,
        round(answer.seconds, 3),
        tuple(_check_scores(answer, report.notebook)),
    )


def _check_scores(answer: QuestionReport, notebook: StudentNotebook) -> Iterator[CheckScore]:
    """The public tests of a question, which share its points where all of them pass."""
    tests = answer.tests
    shares = (
        apportioned([1.0] * len(tests), answer.question.points) if tests and answer.question.points else []
    )
    for (title, failure), share in zip(tests, shares, strict=False):
        score = share if answer.is_done else 0.0
        message = "\n".join(failure_lines(failure, notebook)) if failure else None
        yield CheckScore(terminal_text(title), score, share, "fail" if failure else "pass", message)


def _summary(every: Sequence[_Checked]) -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``: a terminal's output, then notebooks that were not started."""
    scores = [score for checked in every for score in checked.scores]
    lines = [f"## Public checks: {_passing(scores)}", "", _PUBLIC, ""]
    for checked in every:
        if checked.is_begun:
            lines += [f"### {markdown_text(checked.title)}: {_passing(checked.scores)}", ""]
            lines += [*map(_markdown_line, checked.lines), ""]
    if names := [markdown_text(checked.stem) for checked in every if not checked.is_begun]:
        lines += [f"Not started yet: {', '.join(names)}.", ""]
    return within_limit(lines)


def _passing(scores: Sequence[QuestionScore]) -> str:
    return f"{sum(score.status == 'pass' for score in scores)} of {len(scores)} questions pass"


def _markdown_line(line: str) -> str:
    """A line of a terminal, indented as there, which ends where it ends there."""
    text = line.lstrip(" ")
    return f"{'&nbsp;' * (len(line) - len(text))}{markdown_text(text)}  " if text else ""


def _append(path: str | None, text: str) -> None:
    """Append to a file that the workflow reads, where there is one."""
    if path:
        try:
            with Path(path).open("a", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise GraderError(
                f"{path} cannot be written ({error.strerror}): the workflow reads it"
            ) from error
