"""The report, what an instructor reads about the class."""

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

_FEW = 1  # submission has no distribution
_MANY = 3  # assignments: of more, what each check saw is folded, so that the page is read in a minute
_MOST = 10  # further diagnoses of a check
_NOTHING: Mapping[str, Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True)
class _Script:
    """The page's own script, and the source that lets a browser run this one and no other."""

    text: Markup
    source: str


def report_html(
    rows: Sequence[Result],
    absent: Sequence[tuple[str, str]],
    protection: str,
    points: Mapping[str, Mapping[str, float]] = _NOTHING,
) -> str:
    """What an instructor reads about the class, as one HTML file that needs nothing else.

    Args:
        rows: of every submission.
        absent: (student, stem) of those who handed in nothing.
        protection: what confined students' code.
        points: what each question of an assignment somebody is absent from is worth.
    """
    looked_at = cases(rows)
    return HTML.get_template("report.html").render(
        figures=_figures(rows, absent, protection),
        rows=_with_remarks(rows, looked_at),
        absent=[(student, stem, _worth(points.get(stem))) for student, stem in absent],
        protection=protection,
        assignments=summarise(rows),
        cases=looked_at,
        histogram=histogram,
        parts_of_bar=parts_of_bar,
        outcomes=OUTCOMES,
        few=_FEW,
        many=_MANY,
        most=_MOST,
        script=_script(),
    )


def _figures(
    rows: Sequence[Result], absent: Sequence[tuple[str, str]], protection: str
) -> list[tuple[str, object]]:
    """The head of the page: name and value."""
    graded_at = max((row.provenance.graded_at or "" for row in rows), default="")
    return [
        ("submissions", len(rows)),
        ("not handed in", len(absent)),
        ("in error", sum(row.status == "error" for row in rows)),
        ("flagged", sum(bool(row.flags) for row in rows)),
        ("protection in force", protection),
        ("last graded", graded_at.replace("T", " ").replace("Z", " UTC") or "never"),
    ]


def _with_remarks(rows: Sequence[Result], looked_at: Sequence[Case]) -> list[tuple[Result, str]]:
    """Each row with what a human should know at a glance, and may search for."""
    noticed = {id(case.result) for case in looked_at}
    return [(row, _remark(row, needs_a_look=id(row) in noticed)) for row in rows]


def _remark(row: Result, *, needs_a_look: bool) -> str:
    if row.error:
        return ""
    remarks = [f"not answered: {', '.join(row.unanswered)}"] if row.unanswered else []
    remarks += ["flagged"] if row.flags else []
    remarks += ["look at it" for _ in range(needs_a_look and not row.flags)]
    return "; ".join(remarks)


def _worth(questions: Mapping[str, float] | None) -> float | None:
    return None if questions is None else total(questions.values())


@cache
def _script() -> _Script:
    text = files("grader").joinpath("templates/report.js").read_text(encoding="utf-8")
    digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return _Script(Markup(text), f"sha256-{digest}")  # noqa: S704 - our own file
