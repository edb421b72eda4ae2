"""Deadlines of assignments, and penalties for late work.

``course.toml`` has the deadlines. ``extensions.csv`` has later deadlines for some students, and times of
submission that are unknown or wrong elsewhere.
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
from grader.people.record import SubmissionTime
from grader.people.students import Students
from grader.results.model import Late
from grader.text import format_time

EXTENSIONS = "extensions.csv"
_COLUMNS = ("student", "assignment", "until", "submitted")
_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)
_PLACES = 2  # decimals of a penalty


@dataclass(frozen=True)
class Deadlines:
    """The deadlines of a term.

    Attributes:
        of_class: by assignment.
        extended: later deadlines, by student and assignment.
        submitted: times of submission set by the instructor, by student and assignment.
        zone: the time zone of all displayed times.
    """

    of_class: Mapping[str, Deadline] = field(default_factory=dict)
    extended: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    submitted: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    zone: tzinfo = UTC

    def late(
        self, student: str, stem: str, submitted: datetime, max_score: float, *, is_marked: bool | None
    ) -> Late | None:
        """How late a notebook was submitted; None if it was in time or there is no deadline.

        Args:
            submitted: the time of submission; for a system with marks, that of the first download with the
                notebook.
            max_score: the assignment's maximum, of which penalties are fractions.
            is_marked: whether the system marked it as late; None if the system has no marks. A mark decides,
                and costs the penalty of one day, because Canvas's zip contains only the time of the download.
                An extension cancels the mark if a download before its end contained the notebook.
        """
        deadline, extended = self.of_class.get(stem), self.extended.get((student, stem))
        due = extended or (deadline.due if deadline else None)
        if is_marked is not None:
            due = None if not is_marked or (extended and submitted <= extended) else submitted
        if due is None or (submitted <= due and not is_marked):
            return None
        after = submitted - due
        minutes = math.ceil(after / _MINUTE)
        due_text = None if is_marked else self.displayed(due)
        if deadline is None or 0 < minutes <= deadline.grace_minutes:
            return Late(minutes, 0.0, due_text)
        days = max(1, math.ceil(after / _DAY))
        share = min(deadline.penalty_per_day * days, deadline.most_penalty)
        return Late(minutes, round(share * max_score, _PLACES), due_text)

    def is_in_time(self, student: str, stem: str | None, submitted: SubmissionTime) -> bool:
        """Whether a version counts before late ones; always True if the last version counts."""
        deadline, extended = self.of_class.get(stem or ""), self.extended.get((student, stem or ""))
        if deadline is None or not deadline.in_time_first:
            return True
        if submitted.is_marked_late is not None:
            return not submitted.is_marked_late or (extended is not None and submitted.at <= extended)
        return submitted.at <= max(deadline.closes, extended or deadline.closes)

    def displayed(self, at: datetime) -> str:
        """A time in the zone of the term, in the format of `Result.handed_in`."""
        return at.astimezone(self.zone).isoformat(timespec="seconds")

    def about(self, stem: str) -> str | None:
        """Sentences about an assignment's deadline and penalties; None without a deadline."""
        deadline = self.of_class.get(stem)
        if deadline is None:
            return None
        sentence = f"Due on {format_time(self.displayed(deadline.due))}"
        if deadline.grace_minutes:
            sentence += f", with {deadline.grace_minutes:g} minutes of grace"
        if deadline.penalty_per_day:
            share, most = 100 * deadline.penalty_per_day, 100 * deadline.most_penalty
            sentence += f"; each day begun costs {share:g} % of the assignment's points, at most {most:g} %"
        first = " The last version in time counts before later ones." if deadline.in_time_first else ""
        return f"{sentence}.{first}"


def read_deadlines(
    submissions: Path, settings: Settings, stems: Collection[str], students: Students
) -> Deadlines:
    """Read the deadlines of a course's settings, and the extensions in `extensions.csv`.

    Args:
        stems: the assignments of the course.

    Raises:
        GraderError: a line of the extensions is invalid, or repeats another.
    """
    extended: dict[tuple[str, str], datetime] = {}
    submitted: dict[tuple[str, str], datetime] = {}
    for row in read_rows(find_file(submissions, EXTENSIONS), _COLUMNS[:2], _COLUMNS):
        until, when = (_time_of(row, column, settings.time_zone) for column in _COLUMNS[2:])
        student = students.of_row(row)
        if until is None and when is None:
            raise row.error("it says nothing: fill in until or submitted, or remove the line")
        if when is not None and not row.cells["assignment"]:
            raise row.error("submitted is the time of one assignment: fill in the column assignment")
        for stem in [row.assignment(stems)] if row.cells["assignment"] else sorted(stems):
            for times, what, at in ((extended, "an extension", until), (submitted, "a time", when)):
                if at is not None and (student, stem) in times:
                    raise row.error(f"{student} has {what} of {stem} already: keep one of these lines")
                if at is not None:
                    times[student, stem] = at
    zone = ZoneInfo(settings.time_zone) if settings.time_zone else UTC
    return Deadlines(settings.deadlines, extended, submitted, zone)


def closing_times(submissions: Path, settings: Settings, stems: Collection[str]) -> dict[str, set[datetime]]:
    """All deadlines of any student, by assignment.

    Args:
        stems: the assignments of the course.

    Raises:
        GraderError: a line of the extensions has no time.
    """
    closing = {stem: set[datetime]() for stem in stems}
    for stem, deadline in settings.deadlines.items():
        closing[stem] |= {deadline.closes} if deadline.in_time_first else set()
    for row in read_rows(find_file(submissions, EXTENSIONS), _COLUMNS[:2], _COLUMNS):
        until = _time_of(row, "until", settings.time_zone)
        for stem in [row.assignment(stems)] if row.cells["assignment"] else stems:
            closing[stem] |= {until} if closing[stem] and until else set()
    return closing


def _time_of(row: Row, column: str, zone: str | None) -> datetime | None:
    """The time in a column; a date means its last second; None if the cell is empty.

    Raises:
        GraderError: it is not a time, or has no time zone.
    """
    text = row.cells.get(column, "")
    if not text:
        return None
    try:
        until = datetime.fromisoformat(text)
    except ValueError:
        raise row.error(
            f"{column} is {text!r}: write a day, or a day and a time, as 2026-10-19 or 2026-10-19T12:00"
        ) from None
    if "T" not in text and ":" not in text:
        until = datetime.combine(until.date(), time(23, 59, 59))
    if until.tzinfo is None:
        if zone is None:
            raise row.error(
                f"{column} has no time zone: write it behind the time, as {until.isoformat()}+02:00, or set"
                " time_zone below [term] in course.toml"
            )
        until = until.replace(tzinfo=ZoneInfo(zone))
    return until
