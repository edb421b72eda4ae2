"""what a class did, assignment by assignment: scores, and how often each check failed and why."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from statistics import fmean, median

from grader.results.model import END_TASKS, CheckResult, QuestionResult, Result, newest
from grader.sandbox.evidence import CONSEQUENCES

_MOST_TOLD = 5


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

    @cached_property
    def told(self) -> list[Told]:
        """The diagnoses, of which those are one that differ in their numbers only."""
        return counted(self.diagnoses)


@dataclass
class QuestionSummary:
    """One question: how many earned it in full, in part or not at all, and how many did not answer.

    Attributes:
        answered: how many did.
        told: what those who answered were told, by the number of students, in whatever checks.
    """

    id: str
    title: str
    checks: list[CheckSummary] = field(default_factory=list)
    full: int = 0
    part: int = 0
    none: int = 0
    untouched: int = 0
    answered: int = 0
    told: list[Told] = field(default_factory=list)

    @property
    def outcomes(self) -> tuple[int, int, int, int]:
        """How many earned it in full, in part, answered and earned nothing, did not answer."""
        return self.full, self.part, self.none - self.untouched, self.untouched

    @property
    def failed_checks(self) -> list[CheckSummary]:
        """The checks that somebody failed, the most failed first."""
        return sorted((check for check in self.checks if check.failed), key=lambda check: -check.failed)


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
        end_task: how many solved, tried and did not try it; empty where there is none.
    """

    stem: str
    max_score: float
    scores: list[float]
    errors: int
    flagged: int
    questions: list[QuestionSummary]
    end_task: dict[str, int]

    @property
    def mean(self) -> float:
        """The mean score."""
        return fmean(self.scores)

    @property
    def median(self) -> float:
        """The median score."""
        return median(self.scores)

    @property
    def full(self) -> int:
        """How many earned all there is to earn."""
        return sum(score == self.max_score for score in self.scores)

    @property
    def misunderstood(self) -> list[tuple[QuestionSummary, Told]]:
        """What more than one student was told, over all questions, the most frequent first."""
        told = [(question, one) for question in self.questions for one in question.told if one.number > 1]
        return sorted(told, key=lambda pair: -pair[1].number)[:_MOST_TOLD]


def summarise(rows: Iterable[Result]) -> list[AssignmentSummary]:
    """Summaries of all assignments that somebody handed in, by their names."""
    by_stem: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        if row.assignment:
            by_stem[row.assignment].append(row)
    return [_assignment(stem, by_stem[stem]) for stem in sorted(by_stem)]


def _assignment(stem: str, rows: Sequence[Result]) -> AssignmentSummary:
    # A run for one student leaves the others' results as they are, perhaps by an older course.
    latest = newest(rows)
    answers: dict[str, list[QuestionResult]] = defaultdict(list)
    for row in rows:
        for answer in row.questions:
            answers[answer.id].append(answer)
    return AssignmentSummary(
        stem,
        latest.max_score,
        [row.score for row in rows],
        sum(row.status == "error" for row in rows),
        sum(bool(row.flags) for row in rows),
        [_question(asked, answers[asked.id]) for asked in latest.questions],
        _end_task([row.end_task.standing for row in rows if row.end_task]),
    )


def _end_task(standings: Sequence[str]) -> dict[str, int]:
    return {standing: standings.count(standing) for standing in END_TASKS if standings}


def _question(asked: QuestionResult, answers: Sequence[QuestionResult]) -> QuestionSummary:
    checked: dict[str, list[CheckResult]] = defaultdict(list)
    told: Counter[str | None] = Counter()
    summary = QuestionSummary(asked.id, asked.title)
    for answer in answers:
        # A question that is worth nothing is earned in full by whoever answers it.
        full = answer.status == "answered" and answer.score == answer.max_score
        summary.full += full
        summary.none += answer.score == 0 and not full
        summary.part += answer.score != 0 and not full
        summary.untouched += answer.status != "answered"
        if answer.status == "answered":
            summary.answered += 1
            told.update(_told(answer))
            for check in answer.checks:
                checked[check.id].append(check)
    summary.told = counted(told.items())
    summary.checks = [_check(check, checked[check.id]) for check in asked.checks]
    return summary


def _told(answer: QuestionResult) -> Iterable[str]:
    """What a student was told of an answer; what several checks say with other numbers, once."""
    said: dict[str | None, str] = {}
    for check in answer.checks:
        if check.outcome != "passed" and check.message and check.failure not in CONSEQUENCES:
            said.setdefault(pattern_of(check.message), check.message)
    return said.values()


def _check(asked: CheckResult, checked: Sequence[CheckResult]) -> CheckSummary:
    told = Counter(check.message for check in checked if check.outcome != "passed")
    return CheckSummary(asked.id, asked.title, len(checked), told.most_common())


# A number that stands alone: the digits of `float32` or `fc1` are part of a name.
_NUMBER = re.compile(r"(?<![\w.])-?\d++(?:\.\d++)?(?:e[-+]?\d++)?(?!\w)")

# Whose line it was, and which, differs from student to student; see `grader.checks.diagnosis`.
_OWN_LINE = re.compile(r"(?:^|(?<=: ))[Ii]n (?:.{1,200} \()?code cell [^`]{1,80}: `[^`]*`(?= stopped with )")


@dataclass(frozen=True)
class Told:
    """One diagnosis.

    Attributes:
        message: its most frequent wording, or None where there was none.
        number: how many were told it, or the same with other numbers.
        alike: how many of them were told other numbers.
    """

    message: str | None
    number: int
    alike: int


def counted(told: Iterable[tuple[str | None, int]]) -> list[Told]:
    """Diagnoses, each with how many were told so; the most frequent first."""
    wordings: dict[str | None, Counter[str | None]] = defaultdict(Counter)
    for message, number in told:
        wordings[pattern_of(message)][message] += number
    found = []
    for wording in wordings.values():
        ((message, most),) = wording.most_common(1)
        found.append(Told(message, wording.total(), wording.total() - most))
    return sorted(found, key=lambda one: -one.number)


@lru_cache(maxsize=10_000)
def pattern_of(message: str | None) -> str | None:
    """What a diagnosis has in common with those that say the same of other numbers."""
    return message and _NUMBER.sub("\0", _OWN_LINE.sub("\0", message))
