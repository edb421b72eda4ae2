"""The report, a page about the class for its instructor, and the numbers of its charts.

`templates/charts.html` draws the charts with CSS alone; widths, heights and positions are percent of the
drawing area.
"""

from __future__ import annotations

import hashlib
import math
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from urllib.parse import quote

from markupsafe import Markup

from grader.reports.review import reviews_of
from grader.reports.templates import HTML
from grader.results.model import Earned, Result
from grader.results.similar import SameWork
from grader.results.statistics import (
    NOTHING_KNOWN,
    AssignmentSummary,
    Known,
    QuestionSummary,
    summarise,
)
from grader.results.students import Entry, Student
from grader.scores import format_points
from grader.text import without_controls

NO_DEADLINES: Mapping[str, str | None] = MappingProxyType({})
_FEW = 1  # submissions: so few have no distribution
_MANY = 3  # assignments: of more, the details are folded, so that the page is read in a minute
_MOST = 10  # mistakes in a question

#: The names of what a question earned; the page has a variable ``--full`` ... for the colour of each.
OUTCOMES: dict[Earned, str] = {
    "full": "all points",
    "part": "some points",
    "nothing": "no points",
    "unanswered": "not answered",
}

_LEAST_SHARE = 9.0  # a number does not fit into a narrower piece of a bar


@dataclass(frozen=True)
class Column:
    """A column of the table of students.

    Attributes:
        title: its heading, by which pages and tests find it.
        value: the sort key of a row; text is sorted by the rules of the browser's language.
        cell: the content of a row's cell.
        remark: in small letters beside the title.
    """

    title: str
    value: Callable[[Student], float | str]
    cell: Callable[[Student], str]
    remark: str = ""


def columns_of(students: Sequence[Student]) -> list[Column]:
    """The columns of the table of students; all students have an entry for each assignment."""
    return [
        Column("student", lambda student: student.name, _name_cell),
        Column("percent", lambda student: student.percent if student.max_score else -1.0, _percent_cell),
        Column("total", lambda student: student.score, lambda student: format_points(student.score)),
        *(
            Column(entry.assignment, _value_of(place), _cell_of(place), f"of {format_points(entry.worth)}")
            for place, entry in enumerate(students[0].entries if students else ())
        ),
    ]


def _name_cell(student: Student) -> Markup:
    parts = [Markup('<a href="{}"><bdi>{}</bdi></a>').format(page_of(student.name), _shown(student.name))]
    if student.full_name:
        parts.append(Markup('<span class="soft"><bdi>{}</bdi></span>').format(_shown(student.full_name)))
    if not student.is_listed:
        parts.append(Markup('<span class="mark unlisted">not on the roster</span>'))
    for result in student.others:
        kind, text = ("", "not in this term") if result.assignment else (" error", "no assignment")
        link = Markup('<a class="mark{}" href="{}">{}: <bdi>{}</bdi></a>')
        parts.append(link.format(kind, feedback_of(result), text, _shown(result.what)))
    return Markup(" ").join(parts)


def _percent_cell(student: Student) -> str:
    return f"{student.percent:.0f} %" if student.max_score else "—"


def _value_of(place: int) -> Callable[[Student], float]:
    """The points for an assignment; missing submissions sort below them, excused ones last."""

    def value(student: Student) -> float:
        entry = student.entries[place]
        return -2.0 if entry.excuse else entry.score if entry.result else -1.0

    return value


def _cell_of(place: int) -> Callable[[Student], Markup]:
    """The points for an assignment, which link to the feedback, and marks."""

    def cell(student: Student) -> Markup:
        entry = student.entries[place]
        return Markup(" ").join(filter(None, [_points(entry), *_marks(entry)]))

    return cell


def _points(entry: Entry) -> str:
    if entry.result is None:
        return "" if entry.missing_submission else "—"
    points = "notebook" if entry.excuse else format_points(entry.score)
    of = f" of {format_points(entry.result.max_score)}" if entry.result.max_score != entry.worth else ""
    return Markup('<a href="{}">{}</a>{}').format(feedback_of(entry.result), points, of)


def _marks(entry: Entry) -> list[Markup]:
    mark = Markup('<span class="mark {}">{}</span>')
    return [mark.format(kind, text) for kind, text in entry.marks.items()]


def _shown(text: str) -> str:
    return without_controls(text)


def feedback_of(result: Result) -> str:
    """The address of a result's feedback."""
    return f"feedback/{quote(result.student)}/{quote(result.name)}.html"


def page_of(student: str) -> str:
    """The address of a student's page."""
    return f"students/{quote(student)}.html"


def report_html(  # noqa: PLR0913 - what the page shows
    results: Sequence[Result],
    students: Sequence[Student],
    sandbox: str,
    *,
    work: Sequence[SameWork] = (),
    due: Mapping[str, str | None] = NO_DEADLINES,
    unlisted: Sequence[str] = (),
    known: Known = NOTHING_KNOWN,
) -> str:
    """The report as an HTML file that needs nothing else.

    Args:
        students: the whole class, including students without a submission.
        sandbox: the sandbox in force, or "none".
        work: work that several students share, the rarest first.
        due: for each assignment a sentence about its deadline and penalty.
        unlisted: a sentence about each student who is not on the roster.
        known: the misconceptions by which mistakes are named.
    """
    script = files("grader").joinpath("templates/report.js").read_text(encoding="utf-8")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    every, assignments = reviews_of(results), summarise(results, known)
    counted = [result for result in results if not result.excuse]
    resubmitted = [review for review in every if review.is_resubmission]
    return HTML.get_template("report.html").render(
        figures=_figures(results, students, sandbox),
        students=students,
        columns=columns_of(students),
        worth=sum(entry.worth for entry in students[0].entries) if students else 0,
        page_of=page_of,
        feedback_of=feedback_of,
        sandbox=sandbox,
        assignments=assignments,
        standing_out=_standing_out(assignments),
        due={assignment.stem: due.get(assignment.stem) for assignment in assignments},
        unlisted=unlisted,
        late=[result for result in counted if result.late],
        claimed=[result for result in counted if result.seen],
        reviews=[review for review in every if not review.is_resubmission],
        resubmitted=resubmitted,
        same_work=work,
        resubmitting=len({review.result.student for review in resubmitted}),
        histogram=histogram,
        parts_of_bar=parts_of_bar,
        outcomes=OUTCOMES,
        few=_FEW,
        many=_MANY,
        most=_MOST,
        script=Markup(script),  # noqa: S704 - our own file
        script_source=f"sha256-{digest}",  # lets a browser run this script and no other
    )


def _standing_out(
    assignments: Sequence[AssignmentSummary],
) -> list[tuple[AssignmentSummary, QuestionSummary]]:
    """The questions of which something stands out, the hardest first."""
    every = ((assignment, question) for assignment in assignments for question in assignment.questions)
    found = [pair for pair in every if pair[1].figures and pair[1].figures.remarks]
    return sorted(found, key=lambda pair: (pair[1].figures.percent or 0.0) if pair[1].figures else 0.0)


def _figures(
    results: Sequence[Result], students: Sequence[Student], sandbox: str
) -> list[tuple[str, object]]:
    """The figures at the top of the page: name and value."""
    marks = Counter(kind for student in students for entry in student.entries for kind in entry.marks)
    graded_at = max((result.provenance.graded_at or "" for result in results), default="")
    return [
        ("submissions", len(results)),
        ("missing", marks["missing"]),
        *([("excused", marks["excused"])] if marks["excused"] else []),
        ("in error", sum(result.status == "error" for result in results if not result.excuse)),
        ("flagged", sum(bool(result.flags) for result in results if not result.excuse)),
        ("sandbox", sandbox),
        ("last graded", graded_at.replace("T", " ").replace("Z", " UTC") or "never"),
    ]


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram: the submissions with at least this percentage of the points.

    Attributes:
        height: in percent of the highest bar.
    """

    percent: int
    number: int
    height: float


@dataclass(frozen=True)
class Piece:
    """A piece of a question's bar: the submissions that earned so; ``text`` is empty in a narrow piece."""

    outcome: Earned
    number: int
    share: float

    @property
    def text(self) -> str:
        return str(self.number) if self.share >= _LEAST_SHARE else ""


def histogram(summary: AssignmentSummary) -> list[Bar]:
    """A bar for each tenth of the points, and one for all of them; there has to be a score."""
    most = max(summary.max_score, *summary.scores) or 1.0  # an older course may have had more points
    tenths = [math.floor(round(10 * score / most, 6)) for score in summary.scores]
    numbers = [tenths.count(tenth) for tenth in range(11)]
    return [Bar(10 * tenth, number, 100 * number / max(numbers)) for tenth, number in enumerate(numbers)]


def parts_of_bar(summary: AssignmentSummary) -> list[tuple[str, list[Piece]]]:
    """Each question's id with the pieces of its bar, in the order of ``OUTCOMES``."""
    return [
        (
            question.id,
            [
                Piece(outcome, number, 100 * number / sum(question.outcomes.values()))
                for outcome, number in question.outcomes.items()
                if number
            ],
        )
        for question in summary.questions
    ]
