"""What a class did: scores, how often each check failed and why, and the submissions that need a human."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import StatisticsError, correlation, fmean, median, pstdev

from grader.results.model import (
    EARNED,
    END_TASK_STATUSES,
    CheckResult,
    Earned,
    Flag,
    QuestionResult,
    Result,
)
from grader.sandbox.evidence import CONSEQUENCES, ENDINGS, FailedCell, about_stopped
from grader.scores import total
from grader.text import capital, some

_MOST_SHOWN = 5
_MOST_EXPLAINED = 3  # kinds of flags; the student's page explains each
_MOST_NAMED = 12  # flags, questions, cells or notebooks in a sentence
_SAME_STUDENTS = 0.8  # the least Jaccard index of two sets of students whose diagnoses count as one mistake
_FEWEST = 5  # submissions: of fewer nothing is said about a question
_NEARLY_ALL, _FEW = 0.95, 0.2  # parts of the submissions
_CHANCE = 1.64  # divided by the root of their number: by chance 1 correlation in 20 is further below 0


@dataclass(frozen=True)
class MessageCount:
    """A diagnosis, and the students who got it.

    Attributes:
        message: its most frequent wording, or None where there was none.
        students: who got it, in whatever wording.
        alike: how many of them got another wording, as with other numbers.
        also: diagnoses of the same mistake: nearly the same students got them in the same question.
    """

    message: str | None
    students: tuple[str, ...]
    alike: int = 0
    also: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """How many students got it."""
        return len(self.students)


@dataclass(frozen=True)
class CheckSummary:
    """A check among the students who answered its question.

    Attributes:
        of: how many were checked.
        failed: how many of them failed it.
        messages: the diagnoses of those who failed, the most frequent first.
    """

    id: str
    title: str
    of: int
    failed: int
    messages: list[MessageCount]


@dataclass(frozen=True)
class Figures:
    """How hard a question was, among the submissions that could be graded.

    Attributes:
        mean: of the scores; a question that was not answered counts 0.
        percent: the mean in percent of what the question is worth; None where it is worth nothing.
        spread: the standard deviation of the scores.
        discrimination: how well it tells strong from weak students, from -1 to 1; see `discrimination`.
        remarks: what stands out, in words.
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
        messages: what those who answered were told, by the number of students, in whatever checks; diagnoses
            that nearly the same students got are one.
        figures: None where no submission could be graded.
    """

    id: str
    title: str
    outcomes: dict[Earned, int]
    answered: int
    checks: list[CheckSummary]
    messages: list[MessageCount]
    figures: Figures | None

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
    newest = max(results, key=lambda result: (result.provenance.graded_at or "", len(result.questions)))
    answers: dict[str, list[_Answer]] = defaultdict(list)
    for result in results:
        for answer in result.questions:
            answers[answer.id].append((result, answer))
    statuses = [result.end_task.end_task_status for result in results if result.end_task]
    return AssignmentSummary(
        stem,
        newest.max_score,
        [result.score for result in results],
        sum(result.status == "error" for result in results),
        sum(bool(result.flags) for result in results),
        [_question(question, answers[question.id]) for question in newest.questions],
        {status: statuses.count(status) for status in END_TASK_STATUSES if statuses},
    )


_Answer = tuple[Result, QuestionResult]


def _question(question: QuestionResult, every: Sequence[_Answer]) -> QuestionSummary:
    earned = Counter(answer.earned for _, answer in every)
    answers = [(result.student, answer) for result, answer in every if answer.status == "answered"]
    checked: dict[str, list[tuple[str, CheckResult]]] = defaultdict(list)
    for student, check in ((student, check) for student, answer in answers for check in answer.checks):
        checked[check.id].append((student, check))
    checks = []
    for check in question.checks:
        failed = [(student, other) for student, other in checked[check.id] if other.outcome != "passed"]
        of = len(checked[check.id])
        checks.append(CheckSummary(check.id, check.title, of, len(failed), _messages(failed)))
    return QuestionSummary(
        question.id,
        question.title,
        {how: earned[how] for how in EARNED},
        len(answers),
        checks,
        _one_a_mistake(_messages((student, check) for student, answer in answers for check in told(answer))),
        _figures(question.max_score, [pair for pair in every if pair[0].status == "graded"]),
    )


def _figures(worth: float, graded: Sequence[_Answer]) -> Figures | None:
    if not graded:
        return None
    scores = [answer.score for _, answer in graded]
    answered = sum(answer.status == "answered" for _, answer in graded)
    rest = [total(other.score for other in result.questions if other is not one) for result, one in graded]
    tells = discrimination(scores, rest) if answered >= _FEWEST else None
    remarks = []
    if len(graded) >= _FEWEST and worth:
        if tells is not None and tells < -_CHANCE / sqrt(len(graded)):
            remarks.append("the best students fail this more often")
        if sum(answer.in_full for _, answer in graded) >= _NEARLY_ALL * len(graded):
            remarks.append("nearly all solved it")
        if sum(score > 0 for score in scores) < _FEW * len(graded):
            remarks.append("fewer than 1 in 5 earned points")
    mean = fmean(scores)
    return Figures(mean, 100 * mean / worth if worth else None, pstdev(scores), tells, tuple(remarks))


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


def told(answer: QuestionResult) -> list[CheckResult]:
    """The failed checks that tell a student of different mistakes: of each mistake the first."""
    by_mistake: dict[str, CheckResult] = {}
    for check in answer.checks:
        if check.outcome != "passed" and check.message and check.failure not in CONSEQUENCES:
            by_mistake.setdefault(mistake_of(check), check)
    return [*by_mistake.values()]


def _messages(failed: Iterable[tuple[str, CheckResult]]) -> list[MessageCount]:
    """The diagnoses with their students, the most frequent first; each mistake counts as one diagnosis."""
    wordings: dict[str, dict[str, str | None]] = defaultdict(dict)
    for student, check in failed:
        wordings[mistake_of(check)][student] = check.message
    counts = []
    for wording in wordings.values():
        ((message, most),) = Counter(wording.values()).most_common(1)
        counts.append(MessageCount(message, tuple(wording), len(wording) - most))
    return sorted(counts, key=lambda count: -count.number)


def _one_a_mistake(counts: Sequence[MessageCount]) -> list[MessageCount]:
    """The diagnoses, the most frequent first; those that nearly the same students got are one.

    A diagnosis of a single student stays by itself.
    """
    groups: list[tuple[set[str], list[MessageCount]]] = []  # the students of the first, and all
    for count in counts:
        students = {*count.students}
        group = next((group for first, group in groups if _are_the_same(first, students)), None)
        if group is None:
            groups.append((students, [count]))
        else:
            group.append(count)
    return sorted((_as_one(group) for _, group in groups), key=lambda count: -count.number)


def _are_the_same(one: set[str], other: set[str]) -> bool:
    if min(len(one), len(other)) < max(2, _SAME_STUDENTS * max(len(one), len(other))):
        return False
    return len(one & other) >= _SAME_STUDENTS * len(one | other)


def _as_one(counts: Sequence[MessageCount]) -> MessageCount:
    """The first of some diagnoses, for the students of all."""
    first, *others = counts
    students = tuple(dict.fromkeys(student for count in counts for student in count.students))
    alike = len(students) - (first.number - first.alike)
    return MessageCount(first.message, students, alike, tuple(other.message or "" for other in others))


def mistake_of(check: CheckResult) -> str:
    """What the findings of all have in common who made the same mistake, whatever their numbers are."""
    return check.group or check.message or ""


@dataclass(frozen=True)
class Case:
    """A submission to look at, and the sentences that say why; the gravest first.

    Attributes:
        rank: 0 for the gravest kind of reason.
        is_resubmission: whether the only reason is that several notebooks were handed in.
    """

    result: Result
    rank: int
    reasons: tuple[str, ...]
    is_resubmission: bool = False


def cases(results: Iterable[Result]) -> list[Case]:
    """The submissions that a human has to look at: the gravest first, else in the order of the results."""
    return sorted(filter(None, map(case_of, results)), key=lambda case: case.rank)


def case_of(result: Result) -> Case | None:
    """Why a human has to look at a submission; None where nobody has to."""
    every = _reasons(result)
    given = tuple(reason for reason in every if reason)
    if not given:
        return None
    rank = every.index(given[0])
    return Case(result, rank, tuple(dict.fromkeys(given)), rank == len(every) - 1)


def _reasons(result: Result) -> list[str]:
    """Each kind of reason as a sentence; empty where it does not apply."""
    unjudged, ended = ("", "") if result.error else _trouble(result.questions)
    flags = _flags(result.flags) if result.flags else ""
    versions = " ".join([*result.about_version, *result.about_others]) if result.assignment else ""
    return [
        result.error or "",
        unjudged,
        flags,
        ended,
        _stopped(result.stopped_cells),
        versions if result.copy else "",
        versions if result.superseded or result.ignored else "",
    ]


def _flags(flags: Sequence[Flag]) -> str:
    """What was noticed, each kind with its cells, and why the first of them are reasons to look."""
    cells: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for flag in flags:
        reasons.setdefault(flag.what, flag.why)
        cells.setdefault(flag.what, []).extend([] if flag.cell is None else [str(flag.cell)])
    kinds = [
        f"{what} (code cell{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})" if numbers else what
        for what, numbers in cells.items()
    ]
    explained = [f"{capital(what)}: {why}" for what, why in reasons.items() if why]
    return " ".join([f"Flagged: {'; '.join(some(kinds, _MOST_NAMED))}.", *explained[:_MOST_EXPLAINED]])


def _stopped(stopped: Sequence[FailedCell]) -> str:
    """Which cells were stopped or left out; cells with the same reason together."""
    cells: dict[str, list[str]] = {}
    for cell in stopped:
        cells.setdefault(cell.text, []).append(str(cell.cell))
    return " ".join(about_stopped(some(numbers, _MOST_NAMED), why) for why, numbers in cells.items())


def _trouble(questions: Sequence[QuestionResult]) -> tuple[str, str]:
    """Sentences about the questions with a check without a verdict, and those whose process went wrong."""
    unjudged: dict[str, None] = {}
    ended: dict[str, str] = {}
    for question in questions:
        for check in question.checks:
            if check.message is None:
                continue
            if check.outcome == "error" or check.kind == "broken":
                unjudged[question.id] = None
            elif check.failure in ENDINGS:
                ended.setdefault(question.id, check.message)
    return (
        f"A check could not be judged in {', '.join(some(unjudged, _MOST_NAMED))}." if unjudged else "",
        " ".join(some([f"{question}: {message}" for question, message in ended.items()], _MOST_NAMED)),
    )
