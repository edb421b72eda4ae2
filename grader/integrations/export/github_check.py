"""On a student's machine: the result of one question for GitHub, in a workflow of theirs too."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.errors import GraderError
from grader.integrations.export.github import QuestionScore, Status, action_output, quoted
from grader.student.display import failure_lines
from grader.student.notebook import question_as_handed_out
from grader.student.report import NotebookReport, QuestionReport
from grader.text import inert, inert_line

_REMARKS = {"untouched": "This question is still as it was handed out.", "missing": "No cell defines {name}."}


def require_output(question: str | None) -> Path:
    """The file that a workflow reads outputs from.

    Raises:
        GraderError: there is none, or no question was named, of which an output holds exactly one.
    """
    if question is None:
        raise GraderError("--github reports one question: name it, as in `check 01_leaves.ipynb q1 --github`")
    output = os.environ.get("GITHUB_OUTPUT")
    if not output:
        raise GraderError("--github belongs into a workflow, where GITHUB_OUTPUT is set: leave it out here")
    return Path(output)


def write_output(output: Path, report: NotebookReport) -> None:
    """Append the result to the step's outputs, and show what was found as lines that are no commands.

    Raises:
        GraderError: the file cannot be written.
    """
    (found,) = report.questions
    one = scored(report, found)
    click.echo(quoted(f"{one.id} {one.title}: {one.status}\n{one.message or ''}".rstrip()))
    _append(output, one)


def write_unreadable(output: Path, notebook: Path, question: str, why: GraderError) -> None:
    """Append that a question could not be checked, if it is one that was handed out."""
    asked = question_as_handed_out(notebook, question)
    if asked is not None:
        one = QuestionScore(asked.id, inert(asked.title), 0.0, asked.points, "error", inert(str(why)))
        _append(output, one)


def _append(output: Path, one: QuestionScore) -> None:
    try:
        with output.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"result={action_output(one)}\n")
    except OSError as error:
        raise GraderError(f"GITHUB_OUTPUT ({output}) cannot be written: {error.strerror}") from error


def scored(report: NotebookReport, found: QuestionReport) -> QuestionScore:
    """The points of a public check: all that its file gives, or none."""
    status: Status = "pass" if found.status in ("passes", "unchecked") else "fail"
    lines = list(_lines(report, found))
    message = "\n".join(lines) or None
    question = found.question
    return QuestionScore(
        question.id,
        inert(question.title),
        found.points,
        question.points,
        status,
        message,
        round(found.seconds, 3),
    )


def _lines(report: NotebookReport, found: QuestionReport) -> list[str]:
    if found.status in ("passes", "unchecked"):
        return []
    lines = [_REMARKS[found.status].format(name=found.question.function)] if found.status in _REMARKS else []
    for case in found.tests:
        if case.failure is not None:
            lines += [f"Not yet: {inert(case.title)}", *failure_lines(case)]
    lines += [
        f"C{report.cell_name(cell)[1:]} failed: {inert_line(' '.join(failure.text.split()))}"
        for cell, failure in report.cells
    ]
    return lines
