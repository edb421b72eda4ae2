"""Feedback, the pages a student reads; each text of a student's is escaped where it is put in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from grader.course.assignment import name_of
from grader.course.settings import Feedback
from grader.graphs.picture import Picture
from grader.graphs.svg import LEGEND_HTML, LEGEND_MARKDOWN
from grader.reports.own_code import Excerpt, OwnCode
from grader.reports.templates import HTML, MARKDOWN
from grader.results.model import CheckResult, QuestionResult, Result
from grader.results.store import ResultsStore
from grader.sandbox.evidence import CONSEQUENCES
from grader.scores import format_points

#: Pictures of a submission, by the id of their question.
Pictures = Mapping[str, Sequence[Picture]]
_EVERYTHING = Feedback()
_ABOUT_FAILED_CELLS = (
    "Some cells stopped with an error. That costs no points by itself. Below an error the grader still runs "
    "the imports, definitions and assignments of literals of that cell, and skips its other statements. The "
    "names that a skipped statement would have defined are missing."
)


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


@dataclass(frozen=True)
class Section:
    """A question as its student sees it.

    Attributes:
        outcome: how it went, in a word that is a CSS class too: full, part, none, or open for an end task
            that was not tried, which costs nothing.
        gained: what it earned, in points; of an end task, which earns none, its status.
        diagnoses: of the failed checks; each check by itself where diagnoses are not shown.
        has_legend: whether its first picture is the first of all, beside which stands how to read them.
    """

    question: QuestionResult
    name: str
    outcome: str
    gained: str
    diagnoses: Sequence[Diagnosis]
    passed: Sequence[CheckResult]
    code: Sequence[Excerpt]
    pictures: Sequence[Picture]
    has_legend: bool


def feedback_markdown(
    result: Result, pictures: Pictures, code: OwnCode, shows: Feedback = _EVERYTHING
) -> str:
    """What a student reads about one submission, as Markdown; pictures are Mermaid in fences.

    Args:
        code: the student's own, which belongs to the diagnoses.
        shows: what is shown besides titles, outcomes and points.
    """
    content = _content(result, pictures, code, shows)
    return MARKDOWN.get_template("feedback.md").render(content, legend=LEGEND_MARKDOWN)


def feedback_html(result: Result, pictures: Pictures, code: OwnCode, shows: Feedback = _EVERYTHING) -> str:
    """What a student reads about one submission, as one HTML file that needs nothing else.

    The arguments are those of `feedback_markdown`; pictures are SVG in the page.
    """
    content = _content(result, pictures, code, shows)
    return HTML.get_template("feedback.html").render(content, legend=Markup(LEGEND_HTML))  # noqa: S704 - our own


def write_feedback(
    store: ResultsStore, result: Result, pictures: Pictures, code: OwnCode, shows: Feedback
) -> None:
    """Write both forms of feedback."""
    folder = store.path / "feedback" / result.student
    for suffix, page_of in ((".md", feedback_markdown), (".html", feedback_html)):
        store.write(folder / f"{result.name}{suffix}", page_of(result, pictures, code, shows))


def _outcome(question: QuestionResult) -> str:
    if question.is_end_task and question.end_task_status == "not tried":
        return "open"
    return "full" if question.in_full else "part" if question.score > 0 else "none"


def _content(result: Result, pictures: Pictures, code: OwnCode, shows: Feedback) -> dict[str, Any]:
    shown = pictures if shows.xrays else {}
    first_drawn = next((question.id for question in result.all_questions if shown.get(question.id)), None)
    sections = [
        Section(
            question,
            name_of(question.id),
            _outcome(question),
            _gained(question),
            diagnoses_of(question.checks, shows_diagnoses=shows.diagnoses),
            [check for check in question.checks if check.outcome == "passed"],
            code.get(question.id, ()) if shows.diagnoses else (),
            shown.get(question.id, ()),
            question.id == first_drawn,
        )
        for question in result.all_questions
    ]
    return {
        "result": result,
        "sections": sections,
        "shows": shows,
        "about_failed_cells": _ABOUT_FAILED_CELLS,
    }


def _gained(question: QuestionResult) -> str:
    score, most = format_points(question.score), format_points(question.max_score)
    if not question.is_end_task:
        return f"{score} of {most}"
    status = question.end_task_status
    return f"{score} of {most} checks passed" if status == "tried" else status


def diagnoses_of(checks: Sequence[CheckResult], *, shows_diagnoses: bool = True) -> list[Diagnosis]:
    """The failed checks of a question by their messages: the root cause first.

    Code that was stopped or stopped itself comes first, for it may be why other checks failed; then the
    message of most checks. A check that was not reached has no cause of its own, and belongs to the first.
    """
    failed = [check for check in checks if check.outcome != "passed"]
    if not shows_diagnoses:  # what failed together would tell of them
        return [Diagnosis(check) for check in failed]
    by_message: dict[str, Diagnosis] = {}
    unreached = [check for check in failed if check.failure in CONSEQUENCES]
    for check in failed:
        if check.failure in CONSEQUENCES:
            continue
        if check.message in by_message:
            by_message[check.message].same.append(check)
        else:
            by_message[check.message or check.id] = Diagnosis(check)
    diagnoses = sorted(by_message.values(), key=lambda d: (not d.check.stopped, -len(d.same)))
    if diagnoses:
        diagnoses[0].follows = unreached
        return diagnoses
    return [Diagnosis(unreached[0], unreached[1:])] if unreached else []
