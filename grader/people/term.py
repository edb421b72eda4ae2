"""Reads all of an instructor's files about a class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.course.course import Course
from grader.people.adjustments import ADJUSTMENTS, Adjustments, read_adjustments
from grader.people.deadlines import EXTENSIONS, Deadlines, read_deadlines
from grader.people.files import about_misnamed
from grader.people.lateness_and_adjustments import LatenessAndAdjustments
from grader.people.record import RECORD, Record, SubmissionTime
from grader.people.roster import ROSTER
from grader.people.students import Students, students_of_folders
from grader.people.witness import Witness
from grader.results.model import Adjustment, Missing
from grader.text import format_time, some, terminal_text

INSTRUCTORS = (ROSTER, EXTENSIONS, ADJUSTMENTS)
"""The files about a class that an instructor writes."""
_MOST_NAMED = 12


@dataclass(frozen=True)
class Term:
    """The students, deadlines and adjustments of a class.

    Attributes:
        stems: the assignments of this term; empty for all of the course.
        unread: by student, the prefixes of the repositories that could not be read.
        prefixes: by folder and notebook, the prefix of the repository that it came from.
        misnamed: sentences about files of the instructor's that are not read.
    """

    students: Students
    stems: Collection[str] = ()
    deadlines: Deadlines = field(default_factory=Deadlines)
    adjustments: Adjustments = field(default_factory=dict)
    unread: Mapping[str, Mapping[str, Missing]] = field(default_factory=dict)
    prefixes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    misnamed: Sequence[str] = ()

    def has(self, stem: str) -> bool:
        """Whether an assignment is one of this term's."""
        return not self.stems or stem in self.stems

    def lateness_and_adjustments(
        self, student: str, stem: str, max_score: float, submitted: SubmissionTime
    ) -> LatenessAndAdjustments:
        """The lateness and adjustments of a submission; `max_score` is the assignment's maximum.

        The file's own time counts only if there is a deadline and no other time: it changes with each copy.
        """
        deadlines = self.deadlines
        until, said = (times.get((student, stem)) for times in (deadlines.extended, deadlines.submitted))
        given = LatenessAndAdjustments(
            adjustments=self.adjustments.get((student, stem), ()),
            missing=submitted.missing,
            extended=deadlines.displayed(until) if until else None,
        )
        is_marked = None if said else submitted.is_marked_late
        at = said or submitted.recorded or (submitted.modified if stem in deadlines.of_class else None)
        if at is None:
            return given
        late = deadlines.late(student, stem, at, max_score, is_marked=is_marked)
        is_known = is_marked is None  # a system that marks late work gives no times
        due = until or (deadlines.of_class[stem].due if stem in deadlines.of_class else None)
        first = submitted.claimed_until
        seen = deadlines.displayed(first) if first and not said and due and at <= due < first else None
        return replace(given, late=late, handed_in=deadlines.displayed(at) if is_known else None, seen=seen)

    def about_unknown_time(
        self, student: str, stem: str, place: str, submitted: SubmissionTime
    ) -> str | None:
        """Why lateness cannot be determined, and the line to add; None if it can.

        Args:
            place: the path of the notebook.
        """
        deadlines, key = self.deadlines, (student, stem)
        if key in deadlines.submitted:
            return None
        until, deadline = deadlines.extended.get(key), deadlines.of_class.get(stem)
        at = submitted.at
        when = format_time(deadlines.displayed(at))
        is_late = deadline is not None and at > max(deadline.closes, until or deadline.closes)
        say = "Say it"
        if submitted.is_marked_late and until and at > until:
            end = format_time(deadlines.displayed(until))
            why = f"it is marked as late, the extension ended on {end}, and it was first downloaded on {when}"
        elif submitted.may_be_older and is_late:
            why = f"the oldest commit in its shallow clone is of {when}, after the deadline"
            say = "Run `git fetch --unshallow` in the clone and collect again, or say it"
        elif submitted.is_by_hand and is_late:
            why = f"{RECORD} has no line for it, and the file was written on {when}, after the deadline"
        else:
            return None
        line = f"{student},{stem},{until.isoformat(timespec='minutes') if until else ''},TIME"
        return (
            f"It is not known when {place} was submitted: {why}. {say} in {EXTENSIONS}, whose first line is"
            f" student,assignment,until,submitted: add the line {line} with a time as in 2026-10-12T18:00."
        )

    def unread_of(self, student: str, stem: str, prefixes: Mapping[str, Collection[str]]) -> Missing | None:
        """Why it is unknown whether a student submitted an assignment; None if it is known.

        Args:
            prefixes: prefixes of the repositories that contained an assignment, by assignment. A repository
                that was read and is empty counts as empty, even if one with another prefix could not be read.
        """
        unread, holding = self.unread.get(student, {}), prefixes.get(stem, ())
        return next((missing for prefix, missing in unread.items() if not holding or prefix in holding), None)

    def excuse_of(self, student: str, stem: str) -> Adjustment | None:
        """The adjustment that excuses a student from an assignment, whether or not it was submitted."""
        return next((given for given in self.adjustments.get((student, stem), ()) if given.excused), None)

    def notes_about(self, submitted: Iterable[tuple[str, str]]) -> list[str]:
        """Sentences for the instructor about lines that belong to no assignment, or adjust nothing.

        Args:
            submitted: students and assignments with a submission.
        """
        notes = [*self.misnamed]
        others: dict[str, list[str]] = defaultdict(list)
        present = {*submitted}
        for student, stem in sorted(present):
            if not self.has(stem):
                others[stem].append(terminal_text(student))
        for stem, students in others.items():
            named = ", ".join(some(students, _MOST_NAMED))
            notes.append(
                f"{stem} is not an assignment of this term (course.toml, [term]), but {named} submitted it:"
                " it is graded, and missing for no one else."
            )
        unused = [
            f"{terminal_text(student)}, {stem}"
            for student, stem in self.adjustments.keys() - present
            if self.excuse_of(student, stem) is None
        ]
        if unused:
            named = "; ".join(some(sorted(unused), _MOST_NAMED))
            notes.append(
                f"{ADJUSTMENTS} adjusts work that was not submitted, so these lines have no effect: {named}."
                " To give points for it, copy the released notebook into the student's folder."
            )
        return notes


def read_term(submissions: Path, course: Course, students: Students) -> Term:
    """Read everything about a class except its roster.

    Raises:
        GraderError: a file cannot be read, or one of its lines is invalid.
    """
    settings, record = course.settings, Record(submissions)
    Witness(submissions, record.last_read)  # refuses a file that cannot be read, which `collect` would need
    unread = record.unread()
    whose = students_of_folders(unread, students.roster, record)
    return Term(
        students,
        settings.assignments,
        read_deadlines(submissions, settings, course.stems, students),
        read_adjustments(submissions, course.stems, course.points, students),
        {whose[folder]: of_folder for folder, of_folder in unread.items()},
        record.prefixes(),
        about_misnamed(submissions, INSTRUCTORS),
    )
