"""Each student of a class over all assignments, lowest percentage first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from grader.results.model import Adjustment, MissingSubmission, Result
from grader.scores import format_points, total
from grader.text import plain_words

NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Entry:
    """A student's entry for an assignment.

    Attributes:
        worth: the points of the assignment.
        result: None if nothing was submitted, which counts as 0.
        missing_submission: the gradebook's row for it, if there is one.
    """

    assignment: str
    worth: float
    result: Result | None
    missing_submission: MissingSubmission | None = None

    @property
    def excuse(self) -> Adjustment | None:
        """The adjustment that excuses the student, or None."""
        source = self.result or self.missing_submission
        return source.excuse if source else None

    @property
    def max_score(self) -> float:
        """The points that can be earned; 0 if the student is excused."""
        return 0.0 if self.excuse else self.worth

    @property
    def score(self) -> float:
        """The earned points that count."""
        return self.result.score if self.result and not self.excuse else 0.0

    @property
    def marks(self) -> dict[str, str]:
        """Marks for this entry: kinds, by which a page can filter, with their texts."""
        if self.excuse:
            return {"excused": "excused"}
        if self.result:
            return _marks(self.result)
        if self.missing_submission is None:
            return {}
        unread = self.missing_submission.missing
        return {"missing": "missing"} | ({unread.why: unread.text} if unread else {})


@dataclass(frozen=True)
class Student:
    """A student.

    Attributes:
        entries: for each assignment of the class, in their order.
        others: results of notebooks that belong to no assignment of this term.
        full_name: the name on the roster; empty if it is the same.
        is_listed: whether the student is on the roster; True if there is no roster.
    """

    name: str
    entries: tuple[Entry, ...]
    others: tuple[Result, ...]
    full_name: str = ""
    is_listed: bool = True

    @property
    def words(self) -> str:
        """The names in plain letters, so that typing ``soren`` finds Søren."""
        return " ".join(plain_words(f"{self.name} {self.full_name}"))

    @property
    def has_tried(self) -> bool:
        """Whether the student submitted anything."""
        return bool(self.others) or any(entry.result for entry in self.entries)

    @property
    def score(self) -> float:
        return total(entry.score for entry in self.entries)

    @property
    def max_score(self) -> float:
        return total(entry.max_score for entry in self.entries)

    @property
    def percent(self) -> float:
        """The score in percent of the points of all assignments; 0 if they have no points."""
        return 100 * self.score / self.max_score if self.max_score else 0.0

    @property
    def marks(self) -> list[str]:
        """The kinds of marks of all entries, without repetitions."""
        kinds = (kind for entry in self.entries for kind in entry.marks)
        others = (kind for result in self.others for kind in _marks(result))
        return sorted({*kinds, *others, *([] if self.is_listed else ["unlisted"])})


def students_of(
    results: Sequence[Result],
    missing: Sequence[MissingSubmission],
    full_names: Mapping[str, str] = NO_NAMES,
    term: Collection[str] = (),
) -> list[Student]:
    """All students of a class, by percentage and then by name; last, those who never submitted.

    Args:
        full_names: known full names, by student.
        term: the assignments that count; if empty, all of them.
    """
    worth = _worth_of(results, missing, term)
    known: dict[str, dict[str, Result]] = {one.student: {} for one in missing}
    rows = {(one.student, one.assignment): one for one in missing}
    others: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        of_student = known.setdefault(result.student, {})
        if result.assignment in worth:
            of_student[result.assignment] = result
        else:
            others[result.student].append(result)
    students = [
        Student(
            name,
            tuple(
                Entry(stem, points, of_student.get(stem), rows.get((name, stem)))
                for stem, points in worth.items()
            ),
            tuple(others[name]),
            "" if full_names.get(name) in {name, None} else full_names[name],
            not full_names or name in full_names,
        )
        for name, of_student in known.items()
    ]
    return sorted(
        students,
        key=lambda student: (not student.has_tried, not student.max_score, student.percent, student.name),
    )


def _worth_of(
    results: Sequence[Result], missing: Sequence[MissingSubmission], term: Collection[str]
) -> dict[str, float]:
    """The points of each assignment that occurs and counts, by its name.

    A run for a few students doesn't change the results of others, so the newest result decides.
    """
    worth = {one.assignment: one.max_score for one in missing}
    for result in sorted(results, key=lambda result: result.provenance.graded_at or ""):
        if result.assignment and (not term or result.assignment in term):
            worth[result.assignment] = result.max_score
    return dict(sorted(worth.items()))


def _marks(result: Result) -> dict[str, str]:
    taken = f", {format_points(-result.penalty)}" if result.penalty else ""
    marks = {"late": f"{result.late.text}{taken}"} if result.late else {}
    marks |= {result.missing.why: result.missing.text} if result.missing else {}
    marks |= {"error": "error"} if result.status == "error" else {}
    marks |= {"starter-code": "starter code"} if result.is_untouched else {}
    marks |= {"flagged": "flagged"} if result.flags else {}
    return marks | ({"adjusted": "adjusted"} if result.adjustments else {})
