"""What a class did, assignment by assignment: scores, how often each check failed, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median

from grader.results.model import END_TASK_STATUSES, CheckResult, QuestionResult, Result, newest
from grader.sandbox.evidence import CONSEQUENCES

_MOST_SHOWN = 5


@dataclass(frozen=True)
class MessageCount:
    """A diagnosis, and how many students got it.

    Attributes:
        message: its most frequent wording, or None where there was none.
        number: how many got it, in whatever wording.
        alike: how many of them got another wording, as with other numbers.
    """

    message: str | None
    number: int
    alike: int


@dataclass(frozen=True)
class CheckSummary:
    """A check among the students who answered its question.

    Attributes:
        of: how many were checked.
        messages: the diagnoses of those who failed, the most frequent first.
    """

    id: str
    title: str
    of: int
    messages: list[MessageCount]

    @cached_property
    def failed(self) -> int:
        """How many failed it."""
        return sum(count.number for count in self.messages)


@dataclass
class QuestionSummary:
    """How many earned a question in full, in part or not at all, and how many answered it or did not.

    Attributes:
        messages: what those who answered were told, by the number of students, in whatever checks.
    """

    id: str
    title: str
    checks: list[CheckSummary] = field(default_factory=list)
    full: int = 0
    part: int = 0
    none: int = 0
    untouched: int = 0
    answered: int = 0
    messages: list[MessageCount] = field(default_factory=list)

    @property
    def outcomes(self) -> tuple[int, int, int, int]:
        """How many earned it in full, in part, answered and earned nothing, did not answer."""
        return self.full, self.part, self.none - self.untouched, self.untouched

    @property
    def failed_checks(self) -> list[CheckSummary]:
        """The checks that a student failed, the most failed first."""
        return sorted((check for check in self.checks if check.failed), key=lambda check: -check.failed)


@dataclass(frozen=True)
class AssignmentSummary:
    """An assignment.

    Attributes:
        max_score: what can be earned, as the newest result says.
        scores: of all who handed it in, errors included, in the order of the results.
        errors: how many could not be graded.
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
    def misunderstood(self) -> list[tuple[QuestionSummary, MessageCount]]:
        """The messages that more than one student got, over all questions, the most frequent first."""
        shared = [(question, m) for question in self.questions for m in question.messages if m.number > 1]
        return sorted(shared, key=lambda pair: -pair[1].number)[:_MOST_SHOWN]


def summarise(results: Iterable[Result]) -> list[AssignmentSummary]:
    """Summaries of all assignments that were handed in, by their names."""
    by_stem: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.assignment:
            by_stem[result.assignment].append(result)
    return [_assignment(stem, by_stem[stem]) for stem in sorted(by_stem)]


def _assignment(stem: str, results: Sequence[Result]) -> AssignmentSummary:
    # A run for a few students leaves the results of others as they are, perhaps by an older course.
    latest = newest(results)
    answers: dict[str, list[QuestionResult]] = defaultdict(list)
    for result in results:
        for answer in result.questions:
            answers[answer.id].append(answer)
    statuses = [result.end_task.end_task_status for result in results if result.end_task]
    return AssignmentSummary(
        stem,
        latest.max_score,
        [result.score for result in results],
        sum(result.status == "error" for result in results),
        sum(bool(result.flags) for result in results),
        [_question(question, answers[question.id]) for question in latest.questions],
        {status: statuses.count(status) for status in END_TASK_STATUSES if statuses},
    )


def _question(question: QuestionResult, answers: Sequence[QuestionResult]) -> QuestionSummary:
    checked: dict[str, list[CheckResult]] = defaultdict(list)
    told: list[CheckResult] = []
    summary = QuestionSummary(question.id, question.title)
    for answer in answers:
        # A question that is worth nothing is earned in full by all who answer it.
        full = answer.status == "answered" and answer.score == answer.max_score
        summary.full += full
        summary.none += answer.score == 0 and not full
        summary.part += answer.score != 0 and not full
        summary.untouched += answer.status != "answered"
        if answer.status == "answered":
            summary.answered += 1
            told += _told(answer)
            for check in answer.checks:
                checked[check.id].append(check)
    summary.messages = count_messages(told)
    summary.checks = [_check(check, checked[check.id]) for check in question.checks]
    return summary


def _told(answer: QuestionResult) -> list[CheckResult]:
    """The failed checks that tell a student of different mistakes: of each mistake the first."""
    by_mistake: dict[str, CheckResult] = {}
    for check in answer.checks:
        if check.outcome != "passed" and check.message and check.failure not in CONSEQUENCES:
            by_mistake.setdefault(mistake_of(check), check)
    return [*by_mistake.values()]


def _check(check: CheckResult, checked: Sequence[CheckResult]) -> CheckSummary:
    failed = [other for other in checked if other.outcome != "passed"]
    return CheckSummary(check.id, check.title, len(checked), count_messages(failed))


def count_messages(failed: Iterable[CheckResult]) -> list[MessageCount]:
    """The diagnoses by their number, the most frequent first; each mistake counts as one diagnosis."""
    wordings: dict[str, Counter[str | None]] = defaultdict(Counter)
    for check in failed:
        wordings[mistake_of(check)][check.message] += 1
    counts = []
    for wording in wordings.values():
        ((message, most),) = wording.most_common(1)
        counts.append(MessageCount(message, wording.total(), wording.total() - most))
    return sorted(counts, key=lambda count: -count.number)


def mistake_of(check: CheckResult) -> str:
    """What the findings of all have in common who made the same mistake, whatever their numbers are."""
    return check.group or check.message or ""
