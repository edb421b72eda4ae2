"""The history of changes: which results a run replaced with others, and why."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from grader.errors import BrokenRunError
from grader.results.model import Outcome, Result
from grader.results.store import ResultsStore
from grader.scores import format_points, points_text
from grader.text import some, without_formula

FILE_NAME = "changes.csv"
_COLUMNS = (
    *("time", "student", "assignment"),
    *("score_before", "max_score_before", "status_before", "score", "max_score", "status", "why", "checks"),
)
_MOST_CHECKS = 10


@dataclass(frozen=True)
class Score:
    """The score of a result. ``absent`` and ``gone`` have no notebook: on the roster, and not on it.

    A result that is ``excused`` keeps its score, which counts nowhere.
    """

    score: float
    max_score: float
    status: Literal["graded", "error", "excused", "absent", "gone"]

    @classmethod
    def of(cls, result: Result) -> Score:
        """The score of a result."""
        return cls(result.score, result.max_score, "excused" if result.excuse else result.status)

    def __str__(self) -> str:
        status = "" if self.status == "graded" else f", {self.status}"
        return f"{points_text(self.score, self.max_score)}{status}"

    @property
    def cells(self) -> list[str]:
        """Three cells of the history."""
        return [format_points(self.score), format_points(self.max_score), self.status]


@dataclass(frozen=True)
class Change:
    """A result whose score, maximum or status has changed.

    Attributes:
        checks: the checks that end otherwise now, in words.
    """

    student: str
    assignment: str
    before: Score
    after: Score
    why: str
    checks: str = ""


def replaced(before: Result, after: Result) -> Change | None:
    """The change when a result takes the place of another; None if score, maximum and status are the same."""
    old, new = Score.of(before), Score.of(after)
    if old == new:
        return None
    checks = "; ".join(some(changed_checks(before, after), _MOST_CHECKS))
    return Change(after.student, after.what, old, new, _why(before, after), checks)


def withdrawn(result: Result, *, is_missing: bool) -> Change:
    """The change when the notebook of a result is not there any more.

    Args:
        is_missing: whether the gradebook still has a row for the student and the assignment.
    """
    after = Score(0.0, result.max_score, "absent" if is_missing else "gone")
    return Change(result.student, result.what, Score.of(result), after, "no longer submitted")


def _why(before: Result, after: Result) -> str:
    if before.provenance.notebook_sha256 != after.provenance.notebook_sha256:
        return "another notebook"
    found = []
    if _lateness(before) != _lateness(after) or (
        before.max_score == after.max_score and before.late != after.late
    ):
        found.append("another deadline")
    if before.adjustments != after.adjustments:
        found.append("adjusted")
    if not found or _earned(before) != _earned(after):
        found.append("checks or course changed")
    return " and ".join(found)


def _lateness(result: Result) -> tuple[int, str | None] | None:
    return (result.late.minutes, result.late.due) if result.late else None


def _earned(result: Result) -> list[tuple[str, float, float]]:
    return [(question.id, question.by_checks, question.max_score) for question in result.questions]


def changed_checks(before: Result, after: Result) -> list[str]:
    """The checks that end otherwise, each as ``q1: test_gradient passed -> failed``."""
    old, new = _outcomes(before), _outcomes(after)
    return [
        f"{question}: {check} {old.get((question, check), 'none')} -> {new.get((question, check), 'none')}"
        for question, check in {**old, **new}
        if old.get((question, check)) != new.get((question, check))
    ]


def _outcomes(result: Result) -> dict[tuple[str, str], Outcome]:
    """How checks ended, by question and check."""
    return {
        (question.id, check.id): check.outcome
        for question in result.all_questions
        for check in question.checks
    }


def add_change(store: ResultsStore, change: Change) -> None:
    """Add a line to ``changes.csv``; existing lines are kept, whatever program saved them.

    A run adds a change before it replaces the result, so a run that is killed in between loses none: the next
    run adds it again.

    Raises:
        BrokenRunError: it cannot be read or written; then it is as before.
    """
    path = store.path / FILE_NAME
    try:
        before = path.read_bytes() or _line(_COLUMNS)
    except FileNotFoundError:
        before = _line(_COLUMNS)
    except OSError as error:
        raise BrokenRunError(
            f"{path} cannot be read ({error.strerror}): move it away and run the same again"
        ) from error
    margin = b"" if before.endswith(b"\n") else b"\n"
    names = without_formula(change.student), without_formula(change.assignment)
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    row = [time, *names, *change.before.cells, *change.after.cells, change.why, change.checks]
    store.write(path, before + margin + _line(row))


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(cells)
    return text.getvalue().encode(errors="replace")
