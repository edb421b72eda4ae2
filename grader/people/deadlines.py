"""When assignments are due, and what it costs to be late.

``course.toml`` has the deadlines; ``extensions.csv`` has later deadlines of some students.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.course.settings import Deadline, Settings
from grader.people.files import Row, find_file, read_rows
from grader.people.students import Students
from grader.results.model import Late, told_time

EXTENSIONS = "extensions.csv"
_COLUMNS = ("student", "assignment", "until")
_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)
_PLACES = 2  # decimals of a penalty


@dataclass(frozen=True)
class Deadlines:
    """The deadlines of a term.

    Attributes:
        of_class: by assignment.
        extended: later deadlines, by student and assignment.
        zone: in which times are told.
    """

    of_class: Mapping[str, Deadline] = field(default_factory=dict)
    extended: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    zone: tzinfo = UTC

    def late(
        self, student: str, stem: str, handed_in: datetime, max_score: float, *, is_marked: bool | None
    ) -> Late | None:
        """How late a notebook was handed in; None where it was in time, or there is no deadline.

        Args:
            max_score: of the assignment, of which a penalty takes a part.
            is_marked: whether the system that it comes from has marked it as late; None where that marks
                nothing. The mark decides, and costs what a day does: Canvas's zip has the times of its
                download, which say nothing.
        """
        deadline, extended = self.of_class.get(stem), self.extended.get((student, stem))
        due = extended or (deadline.due if deadline else None)
        if is_marked is not None:
            due = handed_in if is_marked and extended is None else None
        if due is None or (handed_in <= due and not is_marked):
            return None
        after = handed_in - due
        minutes = math.ceil(after / _MINUTE)
        told = None if is_marked else self.told(due)
        if deadline is None or 0 < minutes <= deadline.grace_minutes:
            return Late(minutes, 0.0, told)
        days = max(1, math.ceil(after / _DAY))
        share = min(deadline.penalty_per_day * days, deadline.most_penalty)
        return Late(minutes, round(share * max_score, _PLACES), told)

    def told(self, at: datetime) -> str:
        """A time in the zone of the term, as `Result.handed_in`."""
        return at.astimezone(self.zone).isoformat(timespec="seconds")

    def prefers(self, student: str, stem: str, handed_in: datetime) -> bool:
        """Whether a version counts before those of which this says no: only what is late may have to wait."""
        deadline = self.of_class.get(stem)
        if deadline is None or not deadline.in_time_first:
            return True
        return handed_in <= max(deadline.closes, self.extended.get((student, stem), deadline.closes))

    def about(self, stem: str) -> str | None:
        """When an assignment is due, and what it costs to be late, in sentences; None without a deadline."""
        deadline = self.of_class.get(stem)
        if deadline is None:
            return None
        told = f"Due on {told_time(self.told(deadline.due))}"
        if deadline.grace_minutes:
            told += f", with {deadline.grace_minutes:g} minutes of grace"
        if deadline.penalty_per_day:
            share, most = 100 * deadline.penalty_per_day, 100 * deadline.most_penalty
            told += f"; each day begun takes {share:g} % of the points, at most {most:g} %"
        first = " The last version in time counts before later ones." if deadline.in_time_first else ""
        return f"{told}.{first}"


def read_deadlines(
    submissions: Path, settings: Settings, stems: Collection[str], students: Students
) -> Deadlines:
    """The deadlines of a course's settings, and the extensions of `extensions.csv`.

    Args:
        stems: the assignments of the course.

    Raises:
        GraderError: a line of the extensions cannot be understood, or repeats another.
    """
    path = find_file(submissions, EXTENSIONS)
    extended: dict[tuple[str, str], datetime] = {}
    for row in read_rows(path, _COLUMNS, _COLUMNS) if path else []:
        until = _time_of(row, settings.time_zone)
        student = students.of_row(row)
        for stem in [row.assignment(stems)] if row.cells["assignment"] else sorted(stems):
            if (student, stem) in extended:
                raise row.error(f"{student} has an extension of {stem} already: keep one of these lines")
            extended[student, stem] = until
    zone = ZoneInfo(settings.time_zone) if settings.time_zone else UTC
    return Deadlines(settings.deadlines, extended, zone)


def closing_times(submissions: Path, settings: Settings, stems: Collection[str]) -> dict[str, set[datetime]]:
    """The times at which a version may be the last in time, of whatever student, by assignment.

    Args:
        stems: the assignments of the course.

    Raises:
        GraderError: a line of the extensions has no time.
    """
    closing = {stem: set[datetime]() for stem in stems}
    for stem, deadline in settings.deadlines.items():
        closing[stem] |= {deadline.closes} if deadline.in_time_first else set()
    path = find_file(submissions, EXTENSIONS)
    for row in read_rows(path, _COLUMNS, _COLUMNS) if path else []:
        for stem in [row.assignment(stems)] if row.cells["assignment"] else stems:
            closing[stem] |= {_time_of(row, settings.time_zone)} if closing[stem] else set()
    return closing


def _time_of(row: Row, zone: str | None) -> datetime:
    """The end of an extension; a day alone ends at midnight.

    Raises:
        GraderError: it is no time, or has no time zone.
    """
    text = row.cells["until"]
    try:
        until = datetime.fromisoformat(text)
    except ValueError:
        raise row.error(
            f"until is {text!r}: write a day, or a day and a time, as 2026-10-19 or 2026-10-19T12:00"
        ) from None
    if "T" not in text and ":" not in text:
        until = datetime.combine(until.date(), time(23, 59, 59))
    if until.tzinfo is None:
        if zone is None:
            raise row.error(
                f"until has no time zone: write it behind the time, as {until.isoformat()}+02:00, or set"
                " time_zone below [term] in course.toml"
            )
        until = until.replace(tzinfo=ZoneInfo(zone))
    return until
