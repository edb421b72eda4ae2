"""What a class did: scores, how often each check failed and why, and the submissions that need a human."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

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
from grader.text import some

_MOST_SHOWN = 5
_MOST_NAMED = 12  # flags, questions, cells or notebooks in a sentence


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
        failed: how many of them failed it.
        messages: the diagnoses of those who failed, the most frequent first.
    """

    id: str
    title: str
    of: int
    failed: int
    messages: list[MessageCount]


@dataclass(frozen=True)
class QuestionSummary:
    """A question.

    Attributes:
        outcomes: how many students earned how much of it.
        answered: how many answered it.
        checks: as the newest result has them.
        messages: what those who answered were told, by the number of students, in whatever checks.
    """

    id: str
    title: str
    outcomes: dict[Earned, int]
    answered: int
    checks: list[CheckSummary]
    messages: list[MessageCount]

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
    answers: dict[str, list[QuestionResult]] = defaultdict(list)
    for result in results:
        for answer in result.questions:
            answers[answer.id].append(answer)
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


def _question(question: QuestionResult, every: Sequence[QuestionResult]) -> QuestionSummary:
    earned = Counter(answer.earned for answer in every)
    answers = [answer for answer in every if answer.status == "answered"]
    checked: dict[str, list[CheckResult]] = defaultdict(list)
    for check in (check for answer in answers for check in answer.checks):
        checked[check.id].append(check)
    checks = []
    for check in question.checks:
        failed = [other for other in checked[check.id] if other.outcome != "passed"]
        of = len(checked[check.id])
        checks.append(CheckSummary(check.id, check.title, of, len(failed), _messages(failed)))
    return QuestionSummary(
        question.id,
        question.title,
        {how: earned[how] for how in EARNED},
        len(answers),
        checks,
        _messages(check for answer in answers for check in _told(answer)),
    )


def _told(answer: QuestionResult) -> list[CheckResult]:
    """The failed checks that tell a student of different mistakes: of each mistake the first."""
    by_mistake: dict[str, CheckResult] = {}
    for check in answer.checks:
        if check.outcome != "passed" and check.message and check.failure not in CONSEQUENCES:
            by_mistake.setdefault(_mistake(check), check)
    return [*by_mistake.values()]


def _messages(failed: Iterable[CheckResult]) -> list[MessageCount]:
    """The diagnoses by their number, the most frequent first; each mistake counts as one diagnosis."""
    wordings: dict[str, Counter[str | None]] = defaultdict(Counter)
    for check in failed:
        wordings[_mistake(check)][check.message] += 1
    counts = []
    for wording in wordings.values():
        ((message, most),) = wording.most_common(1)
        counts.append(MessageCount(message, wording.total(), wording.total() - most))
    return sorted(counts, key=lambda count: -count.number)


def _mistake(check: CheckResult) -> str:
    """What the findings of all have in common who made the same mistake, whatever their numbers are."""
    return check.group or check.message or ""


@dataclass(frozen=True)
class Case:
    """A submission to look at, and the sentences that say why; the gravest first.

    Attributes:
        rank: 0 for the gravest kind of reason.
    """

    result: Result
    rank: int
    reasons: tuple[str, ...]


def cases(results: Iterable[Result]) -> list[Case]:
    """The submissions that a human has to look at: the gravest first, else in the order of the results."""
    return sorted(filter(None, map(case_of, results)), key=lambda case: case.rank)


def case_of(result: Result) -> Case | None:
    """Why a human has to look at a submission; None where nobody has to."""
    every = _reasons(result)
    given = tuple(reason for reason in every if reason)
    return Case(result, every.index(given[0]), given) if given else None


def _reasons(result: Result) -> list[str]:
    """Each kind of reason as a sentence; empty where it does not apply."""
    unjudged, ended = ("", "") if result.error else _trouble(result.questions)
    flags = _flags(result.flags) if result.flags else ""
    left = ", ".join(some(result.superseded, _MOST_NAMED))
    several = f"Several notebooks: {result.notebook} counts; left aside: {left}."
    return [
        result.error or "",
        unjudged,
        flags,
        ended,
        _stopped(result.stopped_cells),
        several if left and result.assignment else "",
    ]


def _flags(flags: Sequence[Flag]) -> str:
    """What was noticed, each kind with its cells."""
    cells: dict[str, list[str]] = {}
    for flag in flags:
        cells.setdefault(flag.what, []).extend([] if flag.cell is None else [str(flag.cell)])
    kinds = [
        f"{what} (code cell{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})" if numbers else what
        for what, numbers in cells.items()
    ]
    return f"Flagged: {'; '.join(some(kinds, _MOST_NAMED))}."


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
