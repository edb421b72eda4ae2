"""``check --github``, which reports public checks to a student's own workflow.

Each notebook runs once. The step has an output for each question, in the format of GitHub Classroom's
graders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from grader.course.assignment import END_TASK
from grader.errors import GraderError
from grader.integrations.export.github import (
    QuestionScore,
    Status,
    action_output,
    notices,
    outputs,
    quoted,
    step_summary,
)
from grader.scores import format_points
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
from grader.text import terminal_line, terminal_text

_REMARKS = {"untouched": "This question is still as it was handed out.", "missing": "No cell defines {name}."}
_EXIT_STATUS: dict[Status, int] = {"pass": 0, "fail": 1, "error": 2}


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
    with RunnerPool() as pool:
        for name in [notebook] if notebook else _notebooks():
            stem, scored = _checked(name, question, seconds, pool)
            _append(output, f"result={action_output(scored[0])}\n" if question else outputs(stem, scored))
            named = [replace(score, id=f"{score.id}_{stem}") for score in scored]
            click.echo(quoted("\n".join(map(_log_lines, named))))
            scores += named
    if question is None:
        _append(os.environ.get("GITHUB_STEP_SUMMARY"), step_summary(scores, "Public checks"))
        click.echo("\n".join(notices(scores)))
    return max((_EXIT_STATUS[score.status] for score in scores), default=0)


def _notebooks() -> list[str]:
    """The notebooks that were handed out, even if they are missing now; else the notebooks here."""
    return sorted(path.name for path in Path(".handout").glob(NOTEBOOKS)) or [*map(str, notebooks_in(Path()))]


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
    """The points of a public check: all of them, or none."""
    question = answer.question
    status: Status = "pass" if answer.status in ("passes", "unchecked") else "fail"
    message = None if status == "pass" else "\n".join(_message_lines(report, answer)) or None
    points, of = answer.points, question.points
    return QuestionScore(
        question.id, terminal_text(question.title), points, of, status, message, round(answer.seconds, 3)
    )


def _message_lines(report: NotebookReport, answer: QuestionReport) -> Iterator[str]:
    if answer.status in _REMARKS:
        yield _REMARKS[answer.status].format(name=answer.question.function)
    for title, failure in answer.tests:
        if failure is not None:
            yield f"Not yet: {terminal_text(title)}"
            yield from failure_lines(failure)
    for cell, failure in report.cells:
        yield f"C{report.cell_name(cell)[1:]} failed: {terminal_line(' '.join(failure.text.split()))}"


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
