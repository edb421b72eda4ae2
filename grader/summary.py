"""Outside: what a class did, assignment by assignment: scores, and how often each check failed and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

from grader.row import Answer, Checked, Row


@dataclass(frozen=True)
class CheckSummary:
    """One check among those who answered its question.

    Attributes:
        id: the check.
        title: what it says in a word.
        of: how many were checked.
        diagnoses: what those who failed were told, the most frequent first, and how many were.
    """

    id: str
    title: str
    of: int
    diagnoses: list[tuple[str | None, int]]

    @cached_property
    def failed(self) -> int:
        """How many failed it."""
        return sum(number for _, number in self.diagnoses)

    @property
    def message(self) -> str | None:
        """The most frequent diagnosis."""
        return self.diagnoses[0][0] if self.diagnoses else None


@dataclass
class QuestionSummary:
    """One question: how many earned it in full, in part or not at all, and how many did not answer."""

    id: str
    title: str
    checks: list[CheckSummary] = field(default_factory=list)
    full: int = 0
    part: int = 0
    none: int = 0
    untouched: int = 0


@dataclass(frozen=True)
class AssignmentSummary:
    """One assignment.

    Attributes:
        stem: its name.
        max_score: what can be earned, as the newest result says.
        scores: of everybody who handed it in, errors included, in the order of the rows.
        errors: how many could not be graded.
        flagged: how many a human should look at because of what they do.
        questions: as the newest result has them.
    """

    stem: str
    max_score: float
    scores: list[float]
    errors: int
    flagged: int
    questions: list[QuestionSummary]

    @property
    def mean(self) -> float:
        """The mean score."""
        return fmean(self.scores)


def summarise(rows: Iterable[Row]) -> list[AssignmentSummary]:
    """Summaries of all assignments that somebody handed in, by their names."""
    by_stem: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.assignment:
            by_stem[row.assignment].append(row)
    return [_assignment(stem, by_stem[stem]) for stem in sorted(by_stem)]


def _assignment(stem: str, rows: Sequence[Row]) -> AssignmentSummary:
    # A run for one student leaves the others' results as they are, perhaps by an older course.
    newest = max(rows, key=lambda row: (dict(row.provenance)["graded_at"] or "", len(row.answers)))
    answers: dict[str, list[Answer]] = defaultdict(list)
    for row in rows:
        for answer in row.answers:
            answers[answer.id].append(answer)
    return AssignmentSummary(
        stem,
        newest.max_score,
        [row.score for row in rows],
        sum(row.status == "error" for row in rows),
        sum(bool(row.flags) for row in rows),
        [_question(asked, answers[asked.id]) for asked in newest.answers],
    )


def _question(asked: Answer, answers: Sequence[Answer]) -> QuestionSummary:
    checked: dict[str, list[Checked]] = defaultdict(list)
    summary = QuestionSummary(asked.id, asked.title)
    for answer in answers:
        summary.full += answer.score == answer.max_score
        summary.none += answer.score == 0
        summary.part += 0 < answer.score < answer.max_score
        summary.untouched += answer.status != "answered"
        for check in answer.checks if answer.status == "answered" else ():
            checked[check.id].append(check)
    summary.checks = [_check(check, checked[check.id]) for check in asked.checks]
    return summary


def _check(asked: Checked, checked: Sequence[Checked]) -> CheckSummary:
    told = Counter(check.message for check in checked if check.outcome != "passed")
    return CheckSummary(asked.id, asked.title, len(checked), told.most_common())
