"""``adjustments.csv``: points that a person adds or subtracts, and excused students, for all runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from grader.people.files import Row, find_file, read_rows
from grader.people.students import Students
from grader.results.model import Adjustment
from grader.scores import format_points, total
from grader.text import did_you_mean

ADJUSTMENTS = "adjustments.csv"
EXCUSED = "excused"  # in the column of points
COLUMNS = ("student", "assignment", "question", "points", "comment")
_ABOUT = f" (points may be {EXCUSED}: then the assignment does not count for the student)"
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")

#: By student and assignment, in the order of the file.
Adjustments = Mapping[tuple[str, str], tuple[Adjustment, ...]]


def read_adjustments(
    submissions: Path,
    stems: Collection[str],
    points_of: Callable[[str], Mapping[str, float]],
    students: Students,
) -> Adjustments:
    """The adjustments beside or among the submissions; none without the file.

    Args:
        stems: the assignments of the course.
        points_of: the points of each question of an assignment.

    Raises:
        GraderError: a line cannot be understood, gives more points than there are, or repeats another.
    """
    found: dict[tuple[str, str], dict[str | None, Adjustment]] = {}
    for row in read_rows(find_file(submissions, ADJUSTMENTS), COLUMNS[:4], COLUMNS, _ABOUT):
        student, stem = students.of_row(row), row.assignment(stems)
        points = points_of(stem)
        question = _question(row, points)
        given = found.setdefault((student, stem), {})
        if question in given:
            what = f"{question} of {stem}" if question else stem
            raise row.error(
                f"there is a line for {what} of {student} already: write one line with the sum of both"
            )
        worth = points[question] if question else total(points.values())
        comment = row.cells.get("comment", "")
        if row.cells["points"].casefold() != EXCUSED:
            given[question] = Adjustment(question, _points(row, worth), comment)
        elif question:
            raise row.error(f"{question} cannot be excused alone: leave its question empty to excuse {stem}")
        else:
            given[question] = Adjustment(question, 0.0, comment, excused=True)
    return {key: tuple(given.values()) for key, given in found.items()}


def _question(row: Row, questions: Mapping[str, float]) -> str | None:
    question = row.cells["question"]
    if question and question not in questions:
        meant = did_you_mean(question, questions)
        raise row.error(f"{question} is not a question of {row.cells['assignment']}: {meant}")
    return question or None


def _points(row: Row, worth: float) -> float:
    """The points to add.

    Raises:
        GraderError: they are no number, or more than can be given or taken.
    """
    text = row.cells["points"]
    try:
        points = float(text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)
    except ValueError:
        points = math.nan
    if not math.isfinite(points):
        raise row.error(
            f"points is {text!r}: write how many points are added, as 2, or taken, as -1.5; or write"
            f" {EXCUSED}, and the assignment does not count for this student"
        )
    if abs(points) > worth:
        raise row.error(
            f"{format_points(points)} points are more than the {format_points(worth)} that can be earned:"
            " write how many points are added or taken, not the new score"
        )
    return points
