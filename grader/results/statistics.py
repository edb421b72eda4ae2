"""Statistics of a class: scores, how often each check failed, and misconceptions.

Statistics are about work that was graded: an error and excused work count in none of them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import StatisticsError, correlation, fmean, median, pstdev
from types import MappingProxyType

from grader.course.outcomes import Misconception, Misconceptions
from grader.results.model import (
    BONUS_TASK_STATUSES,
    EARNED,
    CheckResult,
    Earned,
    QuestionResult,
    Result,
)
from grader.sandbox.evidence import CONSEQUENCES
from grader.scores import total

#: The misconceptions that known-wrong answers stand for, by assignment.
Known = Mapping[str, Misconceptions]
NOTHING_KNOWN: Known = MappingProxyType({})

_MOST_SHOWN = 5
_MOST_ALIKE = 3  # misconceptions that the same checks recognize; of more, none is named
_FEWEST = 5  # submissions: of fewer nothing is said about a question
_NEARLY_ALL, _FEW = 0.95, 0.2  # parts of the submissions
_CHANCE = 1.64  # divided by the root of their number: by chance 1 correlation in 20 is further below 0
_NUMBER = re.compile(r"\b\d")


@dataclass(frozen=True)
class Mistake:
    """A mistake in a question, and the students who made it; each student has one for a question.

    Attributes:
        text: the misconception or, if no known-wrong answer matches, the check's finding.
        names: of the known-wrong answers that fail in the same way.
        students: the students who made it.
        example: the message that most of them got.
    """

    text: str
    names: tuple[str, ...]
    students: tuple[str, ...]
    example: str

    @property
    def number(self) -> int:
        """How many students made it."""
        return len(self.students)


@dataclass(frozen=True)
class CheckSummary:
    """A check among the students who answered its question: how many were checked, and how many failed it."""

    id: str
    title: str
    of: int
    failed: int


@dataclass(frozen=True)
class Figures:
    """How hard a question was.

    Attributes:
        mean: of the scores; a question that was not answered counts 0.
        percent: the mean in percent of what the question is worth; None if it is worth nothing.
        spread: the standard deviation of the scores.
        discrimination: how well it separates strong from weak students, from -1 to 1; see `discrimination`.
        remarks: sentences about unusual figures.
    """

    mean: float
    percent: float | None
    spread: float
    discrimination: float | None
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class QuestionSummary:
    """A question.

    Attributes:
        outcomes: how many students earned how much of it.
        answered: how many answered it.
        checks: as the newest result has them.
        mistakes: of those who answered it, the most frequent first.
        figures: None if no submission was graded.
    """

    id: str
    title: str
    outcomes: dict[Earned, int]
    answered: int
    checks: list[CheckSummary]
    mistakes: list[Mistake]
    figures: Figures | None

    @property
    def failed_checks(self) -> list[CheckSummary]:
        """The checks that a student failed, the most failed first."""
        return sorted((check for check in self.checks if check.failed), key=lambda check: -check.failed)


@dataclass(frozen=True)
class AssignmentSummary:
    """An assignment.

    Attributes:
        max_score: the points that can be earned, from the newest result.
        scores: of all that was graded, in the order of the results.
        errors, excused: how many submissions could not be graded, and how many are excused.
        questions: as the newest result has them.
        bonus_task: how many solved, tried and did not try it; empty if there is none.
    """

    stem: str
    max_score: float
    scores: list[float]
    errors: int
    excused: int
    flagged: int
    questions: list[QuestionSummary]
    bonus_task: dict[str, int]

    @property
    def submissions(self) -> int:
        """How many submissions there are, whether they count or not."""
        return len(self.scores) + self.errors + self.excused

    @property
    def mean(self) -> float | None:
        """The mean score; None if nothing was graded."""
        return fmean(self.scores) if self.scores else None

    @property
    def median(self) -> float | None:
        """The median score; None if nothing was graded."""
        return median(self.scores) if self.scores else None

    @property
    def full(self) -> int:
        """How many earned all there is to earn."""
        return sum(score == self.max_score for score in self.scores)

    @property
    def misunderstood(self) -> list[tuple[QuestionSummary, Mistake]]:
        """The mistakes that more than one student made, over all questions, the most frequent first."""
        shared = [(question, m) for question in self.questions for m in question.mistakes if m.number > 1]
        return sorted(shared, key=lambda pair: -pair[1].number)[:_MOST_SHOWN]


def summarise(results: Iterable[Result], known: Known = NOTHING_KNOWN) -> list[AssignmentSummary]:
    """Summaries of all assignments that were submitted, by their names."""
    by_stem: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.assignment:
            by_stem[result.assignment].append(result)
    return [_assignment(stem, by_stem[stem], known.get(stem, {})) for stem in sorted(by_stem)]


def _assignment(stem: str, results: Sequence[Result], known: Misconceptions) -> AssignmentSummary:
    # A run for a few students leaves the results of others as they are, perhaps by an older course.
    newest = max(results, key=lambda result: (result.provenance.graded_at or "", len(result.questions)))
    counted = [result for result in results if not result.excuse]
    graded = [result for result in counted if result.status == "graded"]
    answers: dict[str, list[_Answer]] = defaultdict(list)
    for result in graded:
        for answer in result.questions:
            answers[answer.id].append((result, answer))
    statuses = [result.end_task.bonus_task_status for result in graded if result.end_task]
    return AssignmentSummary(
        stem,
        newest.max_score,
        [result.score for result in graded],
        len(counted) - len(graded),
        len(results) - len(counted),
        sum(bool(result.flags) for result in counted),
        [
            _question(question, answers[question.id], known.get(question.id, ()))
            for question in newest.questions
        ],
        {status: statuses.count(status) for status in BONUS_TASK_STATUSES if statuses},
    )


_Answer = tuple[Result, QuestionResult]


def _question(
    question: QuestionResult, every: Sequence[_Answer], known: Sequence[Misconception]
) -> QuestionSummary:
    earned = Counter(answer.earned for _, answer in every)
    answers = [(result.student, answer) for result, answer in every if answer.status == "answered"]
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for check in (check for _, answer in answers for check in answer.checks):
        outcomes[check.id].append(check.outcome != "passed")
    return QuestionSummary(
        question.id,
        question.title,
        {how: earned[how] for how in EARNED},
        len(answers),
        [
            CheckSummary(check.id, check.title, len(outcomes[check.id]), sum(outcomes[check.id]))
            for check in question.checks
        ],
        _mistakes(answers, known),
        _figures(question.max_score, every),
    )


def _figures(worth: float, graded: Sequence[_Answer]) -> Figures | None:
    if not graded:
        return None
    scores = [answer.score for _, answer in graded]
    # Starter code earns 0, most often for weak students, so it would make each question look discriminating.
    tried = [(result, answer) for result, answer in graded if answer.status == "answered"]
    rest = [total(q.score for q in result.questions if q is not answer) for result, answer in tried]
    separation = (
        discrimination([answer.score for _, answer in tried], rest) if len(tried) >= _FEWEST else None
    )
    remarks = []
    if len(graded) >= _FEWEST and worth:
        if separation is not None and separation < -_CHANCE / sqrt(len(tried)):
            remarks.append("strong students fail this more often")
        if sum(answer.in_full for _, answer in graded) >= _NEARLY_ALL * len(graded):
            remarks.append("nearly all solved it")
        if sum(score > 0 for score in scores) < _FEW * len(graded):
            remarks.append("fewer than 1 in 5 earned points")
    mean = fmean(scores)
    return Figures(mean, 100 * mean / worth if worth else None, pstdev(scores), separation, tuple(remarks))


def discrimination(scores: Sequence[float], rest: Sequence[float]) -> float | None:
    """The corrected item-total correlation: Pearson's, of a question's scores and the scores of the rest.

    The question itself is not part of the rest, because it would correlate with itself (Henrysson,
    "Correction of item-total correlations in item analysis", Psychometrika 28, 1963). Below 0 the question
    or its checks deserve a look (Ebel and Frisbie, "Essentials of Educational Measurement", 1991). None where
    all scores, or all of the rest, are equal.
    """
    try:
        return correlation(scores, rest)
    except StatisticsError:
        return None


def distinct_failures(answer: QuestionResult) -> list[CheckResult]:
    """The failed checks that name different mistakes: the first of each mistake, without consequences."""
    by_mistake: dict[str, CheckResult] = {}
    for check in answer.checks:
        if check.outcome != "passed" and check.message and check.failure not in CONSEQUENCES:
            by_mistake.setdefault(mistake_of(check), check)
    return [*by_mistake.values()]


def mistake_of(check: CheckResult) -> str:
    """The common part of the findings of one mistake, without their numbers."""
    return check.group or check.message or ""


def _mistakes(answers: Iterable[tuple[str, QuestionResult]], known: Sequence[Misconception]) -> list[Mistake]:
    """The mistakes of some students, the most frequent first."""
    students: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    messages: dict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    for student, answer in answers:
        failures = distinct_failures(answer)
        if failures:
            mistake = _mistake(answer, failures[0], known)
            students[mistake].append(student)
            messages[mistake][failures[0].message or ""] += 1
    mistakes = [
        Mistake(*mistake, tuple(made), messages[mistake].most_common(1)[0][0])
        for mistake, made in students.items()
    ]
    return sorted(mistakes, key=lambda mistake: -mistake.number)


def _mistake(
    answer: QuestionResult, failure: CheckResult, known: Sequence[Misconception]
) -> tuple[str, tuple[str, ...]]:
    """The text of an answer's mistake, and the names of the known-wrong answers that fail in the same way.

    A message with numbers is about one student's values, so the check's title stands for it. Of checks with
    the same message, the last is the one that is about it: the first looks at typical inputs alone.
    """
    failed = [check for check in answer.checks if check.outcome != "passed"]
    fails, first = tuple(check.id for check in failed), failed[0].group
    alike = [each for each in known if (each.outcome.fails, each.outcome.first) == (fails, first)]
    if 0 < len(alike) <= _MOST_ALIKE:
        return " Or: ".join(each.text for each in alike), tuple(each.name for each in alike)
    message = failure.message or ""
    last = [check for check in failed if check.message == message][-1]
    return f"Check failed: {last.title}" if _NUMBER.search(message) else message, ()
