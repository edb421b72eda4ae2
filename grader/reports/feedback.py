"""Feedback, the pages a student reads; each text of a student's is escaped where it is put in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from grader.checks.failed_cell import MAX_TOLD, FailedCell
from grader.course.assignment import name_of
from grader.course.pictures import pictures_of
from grader.course.rubric import Rubric
from grader.course.settings import Feedback
from grader.graphs.picture import Picture
from grader.graphs.svg import LEGEND_HTML, LEGEND_MARKDOWN
from grader.reports.templates import HTML, MARKDOWN
from grader.results.model import CheckResult, QuestionResult, Result
from grader.results.store import ResultsStore
from grader.sandbox.evidence import CONSEQUENCES, Evidence
from grader.scores import format_points, points_text
from grader.text import html_text, some, without_controls

_MOST_NAMED = 20  # notebooks that were left aside

#: Pictures of a submission, by the id of their question.
Pictures = Mapping[str, Sequence[Picture]]


def feedback_markdown(
    result: Result, cells: Sequence[str], pictures: Pictures | None = None, *, shows: Feedback | None = None
) -> str:
    """What a student reads about one submission, as Markdown; pictures are Mermaid in fences.

    Args:
        cells: a sentence for each cell that did not run to its end, see `failed_cells`.
        shows: what is shown besides titles, outcomes and points; None for everything.
    """
    return MARKDOWN.get_template("feedback.md").render(_content(result, cells, pictures, shows))


def feedback_html(
    result: Result, cells: Sequence[str], pictures: Pictures | None = None, *, shows: Feedback | None = None
) -> str:
    """What a student reads about one submission, as one HTML file that needs nothing else.

    The arguments are those of `feedback_markdown`; pictures are SVG in the page.
    """
    return HTML.get_template("feedback.html").render(_content(result, cells, pictures, shows))


def _content(
    result: Result, cells: Sequence[str], pictures: Pictures | None, shows: Feedback | None
) -> dict[str, Any]:
    shows = shows or Feedback()
    shown = pictures if pictures and shows.xrays else {}
    questions = result.all_questions
    drawn = [question.id for question in questions if shown.get(question.id)]
    return {
        "result": result,
        "questions": questions,
        "superseded": some(result.superseded, _MOST_NAMED),
        "cells": cells,
        "pictures": shown,
        "shows": shows,
        "legend": {"html": Markup(LEGEND_HTML), "markdown": LEGEND_MARKDOWN},  # noqa: S704 - our own
        "first_drawn": drawn[0] if drawn else None,  # the legend stands beside its pictures, and once
    }


def _outcome(question: QuestionResult) -> str:
    """How a question went, in a word that is a CSS class too: full, part or none."""
    if question.in_full:
        return "full"
    return "part" if question.score > 0 else "none"


def _gained(question: QuestionResult) -> str:
    """What a question earned, in points; of an end task, which earns none, its status."""
    score, most = format_points(question.score), format_points(question.max_score)
    if not question.is_end_task:
        return f"{score} of {most}"
    status = question.end_task_status
    return f"{score} of {most} checks passed" if status == "tried" else status


def _points(check: CheckResult, question: QuestionResult) -> str:
    """The points of a check, behind its outcome; a check of an end task has none."""
    if question.is_end_task:
        return ""
    return points_text(check.points, check.max_points)


def _diagnoses(question: QuestionResult, shows_diagnoses: bool) -> list[Diagnosis]:
    """The failed checks of a question by their cause; each by itself where diagnoses are not shown."""
    failed = [check for check in question.checks if check.outcome != "passed"]
    return diagnoses_of(failed) if shows_diagnoses else [Diagnosis(check) for check in failed]


@dataclass
class Diagnosis:
    """A diagnosis, and the checks that failed because of it.

    Attributes:
        check: the first check with this diagnosis.
        same: the other checks with the same message.
        follows: checks that were not reached because of it.
    """

    check: CheckResult
    same: list[CheckResult] = field(default_factory=list)
    follows: list[CheckResult] = field(default_factory=list)


def diagnoses_of(checks: Sequence[CheckResult]) -> list[Diagnosis]:
    """The failed checks of a question by their messages: the root cause first.

    Code that was stopped or stopped itself comes first, for it may be why other checks failed; then the
    message of most checks. A check that was not reached has no cause of its own, and belongs to the first.
    """
    by_message: dict[str, Diagnosis] = {}
    unreached: list[CheckResult] = []
    for check in checks:
        message = check.message or ""
        if check.outcome == "passed":
            continue
        if check.failure in CONSEQUENCES:
            unreached.append(check)
        elif message and message in by_message:
            by_message[message].same.append(check)
        else:
            by_message[message or check.id] = Diagnosis(check)
    diagnoses = sorted(by_message.values(), key=lambda d: (not d.check.stopped, -len(d.same)))
    if diagnoses:
        diagnoses[0].follows = unreached
        return diagnoses
    return [Diagnosis(unreached[0], unreached[1:])] if unreached else []


def _coded(text: str) -> Markup:
    """Text as HTML; what stands between backticks is code."""
    return Markup(html_text(text))  # noqa: S704 - escaped there


def _fenced(text: str) -> str:
    """Mermaid, which needs no backticks, without any: it cannot close its fence."""
    return without_controls(text).replace("`", "'")


def _drawn(svg: str) -> Markup:
    """A drawing of ours; see `grader.graphs.picture` for what makes it safe."""
    return Markup(svg)  # noqa: S704


for _environment in (HTML, MARKDOWN):
    _environment.filters.update(
        coded=_coded,
        diagnoses=_diagnoses,
        drawn=_drawn,
        fenced=_fenced,
        gained=_gained,
        name=name_of,
        outcome=_outcome,
        points=_points,
        remarks=lambda question: " ".join(question.remarks),
    )


def failed_cells(evidence: Evidence | None) -> list[str]:
    """A sentence for each cell of the notebook that did not run to its end, for the first of very many."""
    cells = evidence.cells if evidence else []
    sentences = [FailedCell.of(cell).sentence for cell in cells[:MAX_TOLD]]
    more = len(cells) - len(sentences)
    return [*sentences, f"And {more} more."] if more else sentences


def write_feedback(  # noqa: PLR0913, PLR0917 - the last three are of what was observed
    store: ResultsStore,
    result: Result,
    shows: Feedback,
    evidence: Evidence | None = None,
    rubric: Rubric | None = None,
    reference: Evidence | None = None,
) -> None:
    """Write both forms of feedback; with pictures where rubric and reference are given."""
    cells, pictures = failed_cells(evidence), {}
    if evidence is not None and rubric is not None and reference is not None:
        pictures = pictures_of(rubric, evidence, reference)
    folder = store.path / "feedback" / result.student
    for suffix, page_of in ((".md", feedback_markdown), (".html", feedback_html)):
        store.write(folder / f"{result.name}{suffix}", page_of(result, cells, pictures, shows=shows))
