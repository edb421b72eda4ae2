"""On a student's machine: the result of one question for GitHub, in a workflow of theirs too."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.errors import GraderError
from grader.integrations.export.github import QuestionScore, Status, action_output, quoted
from grader.student.display import trouble_lines
from grader.student.notebook import question_handed_out
from grader.student.report import Findings, TaskFinding
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


def write_output(output: Path, findings: Findings) -> None:
    """Append the result to the step's outputs, and show what was found as lines that are no commands.

    Raises:
        GraderError: the file cannot be written.
    """
    (found,) = findings.tasks
    one = scored(findings, found)
    click.echo(quoted(f"{one.id} {one.title}: {one.status}\n{one.message or ''}".rstrip()))
    _append(output, one)


def write_unreadable(output: Path, notebook: Path, question: str, why: GraderError) -> None:
    """Append that a question could not be checked, if it is one that was handed out."""
    task = question_handed_out(notebook, question)
    if task is not None:
        one = QuestionScore(task.id, inert(task.title), 0.0, task.points, "error", inert(str(why)))
        _append(output, one)


def _append(output: Path, one: QuestionScore) -> None:
    try:
        with output.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"result={action_output(one)}\n")
    except OSError as error:
        raise GraderError(f"GITHUB_OUTPUT ({output}) cannot be written: {error.strerror}") from error


def scored(findings: Findings, found: TaskFinding) -> QuestionScore:
    """The points of a public check: all that its file gives, or none."""
    status: Status = "pass" if found.standing in ("passes", "unchecked") else "fail"
    lines = list(_lines(findings, found))
    message = "\n".join(lines) or None
    task = found.task
    return QuestionScore(
        task.id, inert(task.title), found.points, task.points, status, message, round(found.seconds, 3)
    )


def _lines(findings: Findings, found: TaskFinding) -> list[str]:
    if found.standing in ("passes", "unchecked"):
        return []
    lines = [_REMARKS[found.standing].format(name=found.task.function)] if found.standing in _REMARKS else []
    for case in found.cases:
        if case.trouble is not None:
            lines += [f"Not yet: {inert(case.title)}", *trouble_lines(case)]
    lines += [
        f"C{findings.cell_name(cell)[1:]} failed: {inert_line(' '.join(trouble.text.split()))}"
        for cell, trouble in findings.cells
    ]
    return lines
