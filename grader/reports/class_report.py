"""The report, a page about the class for its instructor."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from markupsafe import Markup

from grader.reports.charts import OUTCOMES, histogram, parts_of_bar
from grader.reports.templates import HTML
from grader.results.model import Result
from grader.results.review import Case, cases
from grader.results.statistics import summarise
from grader.scores import total

_FEW = 1  # submissions: so few have no distribution
_MANY = 3  # assignments: of more, what each check saw is folded, so that the page is read in a minute
_MOST = 10  # further diagnoses of a check
_NOTHING: Mapping[str, Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True)
class _Script:
    """The page's own script, and the source that lets a browser run this script and no other."""

    text: Markup
    source: str


def report_html(
    results: Sequence[Result],
    absent: Sequence[tuple[str, str]],
    protection: str,
    points: Mapping[str, Mapping[str, float]] = _NOTHING,
) -> str:
    """The report as an HTML file that needs nothing else.

    Args:
        absent: (student, stem) of those who handed in nothing.
        protection: what confined students' code.
        points: what each question is worth, of the assignments that a student is absent from.
    """
    to_review = cases(results)
    return HTML.get_template("report.html").render(
        figures=_figures(results, absent, protection),
        rows=_with_remarks(results, to_review),
        absent=[(student, stem, _worth(points.get(stem))) for student, stem in absent],
        protection=protection,
        assignments=summarise(results),
        cases=to_review,
        histogram=histogram,
        parts_of_bar=parts_of_bar,
        outcomes=OUTCOMES,
        few=_FEW,
        many=_MANY,
        most=_MOST,
        script=_script(),
    )


def _figures(
    results: Sequence[Result], absent: Sequence[tuple[str, str]], protection: str
) -> list[tuple[str, object]]:
    """The head of the page: name and value."""
    graded_at = max((result.provenance.graded_at or "" for result in results), default="")
    return [
        ("submissions", len(results)),
        ("not handed in", len(absent)),
        ("in error", sum(result.status == "error" for result in results)),
        ("flagged", sum(bool(result.flags) for result in results)),
        ("protection in force", protection),
        ("last graded", graded_at.replace("T", " ").replace("Z", " UTC") or "never"),
    ]


def _with_remarks(results: Sequence[Result], to_review: Sequence[Case]) -> list[tuple[Result, str]]:
    """Each result with what a human should know at a glance, and may search for."""
    needing = {id(case.result) for case in to_review}
    return [(result, _remark(result, needs_a_look=id(result) in needing)) for result in results]


def _remark(result: Result, *, needs_a_look: bool) -> str:
    if result.error:
        return ""
    remarks = [f"not answered: {', '.join(result.unanswered)}"] if result.unanswered else []
    remarks += ["flagged"] if result.flags else []
    remarks += ["look at it"] if needs_a_look and not result.flags else []
    return "; ".join(remarks)


def _worth(questions: Mapping[str, float] | None) -> float | None:
    return None if questions is None else total(questions.values())


@cache
def _script() -> _Script:
    text = files("grader").joinpath("templates/report.js").read_text(encoding="utf-8")
    digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return _Script(Markup(text), f"sha256-{digest}")  # noqa: S704 - our own file
