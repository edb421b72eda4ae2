"""Questions' scores for GitHub: an action's outputs, notices, a step's summary; and ``check --github``.

The outputs have the format of GitHub Classroom's graders. Its reporter multiplies the ``max_score`` of each
output by the part of its tests that passed. So an output holds one question as one test, and the test's name
gives points earned in part. ``check --github`` reports public checks so to a student's own workflow.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import click

from grader.course.assignment import END_TASK
from grader.errors import GraderError
from grader.integrations.export import Export, feedback_text, plain_number, plain_text
from grader.scores import format_points, points_text, total
from grader.student.check import NotebookReport, QuestionReport, check
from grader.student.display import failure_lines
from grader.student.notebook import (
    NOTEBOOKS,
    Question,
    StudentNotebook,
    find_notebook,
    notebook_as_handed_out,
    notebooks_in,
    open_notebook,
)
from grader.student.process import RunnerPool
from grader.text import markdown_text, terminal_line, terminal_text, utf8_text

#: Bytes; GitHub shows nothing of a longer summary of a step.
MAX_SUMMARY = 1 << 20

_SIGNS = {"pass": "✅", "fail": "❌", "error": "⚠️"}
_CUT = "\n\nThe rest was left out, because GitHub shows no more than 1 MiB.\n"

Status = Literal["pass", "fail", "error"]

_REMARKS = {"untouched": "This question is still as it was handed out.", "missing": "No cell defines {name}."}
_EXIT_STATUS: dict[Status, int] = {"pass": 0, "fail": 1, "error": 2}


@dataclass(frozen=True)
class QuestionScore:
    """A question's points, status and message."""

    id: str  # `q1`, or `q1_01_leaves` where questions of several notebooks are listed
    title: str
    score: float
    max_score: float
    status: Status  # `pass` only where all points were earned; `error` where nothing could be judged
    message: str | None = None  # what the student reads; it may hold the student's own text
    seconds: float = 0.0


def action_output(score: QuestionScore) -> str:
    """A question as the output ``result`` of an action: base64 of JSON, on one line."""
    titled = f"{score.id} {plain_text(score.title)}".rstrip()
    name = f"{titled} ({format_points(score.score)}/{format_points(score.max_score)})"
    test = {
        "name": name,
        "status": score.status,
        "score": plain_number(score.score),
        "message": None if score.message is None else plain_text(score.message),
        "test_code": "",
        "filename": "",
        "line_no": 0,
        "duration": round(score.seconds * 1000),
    }
    most = plain_number(score.max_score)
    result = {"version": 1, "status": score.status, "max_score": most, "tests": [test]}
    return base64.b64encode(json.dumps(result, allow_nan=False).encode()).decode()


def outputs(stem: str, scored: Sequence[QuestionScore]) -> str:
    """An assignment's questions as lines of ``$GITHUB_OUTPUT``, named as in ``q1_01_leaves``."""
    return "".join(f"{score.id}_{stem}={action_output(score)}\n" for score in scored)


def notices(scored: Sequence[QuestionScore]) -> list[str]:
    """The two lines by which points leave a workflow; they hold no student's text."""
    points, of = total(score.score for score in scored), total(score.max_score for score in scored)
    report = {"totalPoints": plain_number(points), "maxPoints": plain_number(of)}
    return [
        f"::notice title=Autograding complete::Points {format_points(points)}/{format_points(of)}",
        f"::notice title=Autograding report::{json.dumps(report, separators=(',', ':'))}",
    ]


def quoted(text: str) -> str:
    """A student's text as lines of a log, in which no workflow command is carried out."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{plain_text(text)}\n::{token}::"


def step_summary(scored: Sequence[QuestionScore], heading: str) -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``, at most 1 MiB: a table, then what failed and why."""
    points = points_text(total(score.score for score in scored), total(score.max_score for score in scored))
    lines = [f"## {markdown_text(heading)}: {points} points", "", "| | question | points |", "|---|---|--:|"]
    ids_of: dict[str, list[str]] = {}
    for score in scored:
        name = " · ".join(markdown_text(text) for text in (score.id, score.title) if text)
        lines.append(f"| {_SIGNS[score.status]} | {name} | {points_text(score.score, score.max_score)} |")
        if score.message and score.status != "pass":
            ids_of.setdefault(score.message, []).append(score.id)
    lines.append("")
    for message, ids in ids_of.items():
        lines += [f"### {markdown_text(', '.join(ids))}", ""]
        lines += [part for line in message.splitlines() if line.strip() for part in (markdown_text(line), "")]
    content = utf8_text("\n".join(lines)).encode()
    if len(content) <= MAX_SUMMARY:
        return content.decode()
    kept = content[: MAX_SUMMARY - len(_CUT.encode())]  # and of that whole lines
    return kept[: kept.rfind(b"\n")].decode() + _CUT


def write_files(export: Export) -> None:
    """Write ``<student>/<stem>/``: outputs in the format of ``$GITHUB_OUTPUT``, notices and a summary."""
    for stem, results in export.results.items():
        title = export.title(stem) or stem
        for result in results:
            scored = [
                QuestionScore(
                    answer.id,
                    answer.title,
                    answer.score,
                    answer.max_score,
                    "error" if result.error else "pass" if answer.in_full else "fail",
                    feedback_text(answer, export.shows),
                )
                for answer in result.questions
            ]
            folder = f"{result.student}/{stem}"
            export.write(f"{folder}/outputs.txt", outputs(stem, scored))
            export.write(f"{folder}/notices.txt", "\n".join([*notices(scored), ""]))
            error = markdown_text(result.error) if result.error else None
            first = f"**This notebook could not be graded.** {error}\n\n" if error else ""
            export.write(f"{folder}/summary.md", first + step_summary(scored, title))


def check_for_github(notebook: str | None, question: str | None, seconds: float) -> int:
    """Check notebooks and report their questions to the workflow; the exit status of the command.

    Args:
        notebook: None for all that were handed out.
        question: the only question, written as the output ``result``; None for all.
        seconds: how long a cell, or a test, may take.

    Raises:
        GraderError: this is no workflow, or there is no such notebook or question.
    """
    output = os.environ.get("GITHUB_OUTPUT")
    if not output:
        raise GraderError("--github belongs into a workflow, where GITHUB_OUTPUT is set: leave it out here")
    scores: list[QuestionScore] = []
    handed_out = sorted(path.name for path in Path(".handout").glob(NOTEBOOKS))  # even if missing now
    with RunnerPool() as pool:
        for name in [notebook] if notebook else handed_out or map(str, notebooks_in(Path())):
            stem, scored = _checked(name, question, seconds, pool)
            _append(output, f"result={action_output(scored[0])}\n" if question else outputs(stem, scored))
            named = [replace(score, id=f"{score.id}_{stem}") for score in scored]
            click.echo(quoted("\n".join(map(_log_lines, named))))
            scores += named
    if question is None:
        _append(os.environ.get("GITHUB_STEP_SUMMARY"), step_summary(scores, "Public checks"))
        click.echo("\n".join(notices(scores)))
    return max((_EXIT_STATUS[score.status] for score in scores), default=0)


def _checked(
    path: str, question: str | None, seconds: float, pool: RunnerPool
) -> tuple[str, list[QuestionScore]]:
    """A notebook's assignment and scores; where it cannot be checked, its questions have that error.

    Raises:
        GraderError: it cannot be checked, and it is not known which questions were handed out.
    """
    handed_out = notebook_as_handed_out(Path(path))
    try:
        notebook = _opened(path, handed_out)
        report = check(notebook, _questions(notebook, question), seconds, pool.take)
    except GraderError as error:
        if handed_out is None:
            raise
        told = terminal_text(str(error))
        return handed_out.stem, [
            QuestionScore(asked.id, terminal_text(asked.title), 0.0, asked.points, "error", told)
            for asked in _questions(handed_out, question)
        ]
    return notebook.stem, [_score(report, answer) for answer in report.questions]


def _opened(path: str, handed_out: StudentNotebook | None) -> StudentNotebook:
    """The notebook; GraderError where it cannot be read, or holds another assignment's."""
    notebook = open_notebook(find_notebook(path))
    if handed_out and handed_out.stem != notebook.stem:
        raise GraderError(
            f"{notebook.name} holds the notebook of {notebook.stem}: put that of {handed_out.stem} back"
        )
    return notebook


def _questions(notebook: StudentNotebook, question: str | None) -> Sequence[Question]:
    """The question, or all that have a public check and points."""
    if question:
        return [notebook.question(question)]
    return [asked for asked in notebook.questions if asked.check and asked.id != END_TASK]


def _score(report: NotebookReport, answer: QuestionReport) -> QuestionScore:
    """The points of a public check, all of them or none, and what the student is told."""
    question, told = answer.question, []
    status: Status = "pass" if answer.status in ("passes", "unchecked") else "fail"
    if answer.status in _REMARKS:
        told.append(_REMARKS[answer.status].format(name=question.function))
    for title, failure in answer.tests:
        if failure is not None:
            told += [f"Not yet: {terminal_text(title)}", *failure_lines(failure)]
    for cell, failure in report.cells:
        said = terminal_line(" ".join(failure.text.split()))
        told.append(f"C{report.cell_name(cell)[1:]} failed: {said}")
    return QuestionScore(
        question.id,
        terminal_text(question.title),
        answer.points,
        question.points,
        status,
        ("\n".join(told) or None) if status == "fail" else None,
        round(answer.seconds, 3),
    )


def _log_lines(score: QuestionScore) -> str:
    points = f"{format_points(score.score)}/{format_points(score.max_score)}"
    return f"{points:>9}  {score.status:5}  {score.id} {score.title}\n{score.message or ''}".rstrip()


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
