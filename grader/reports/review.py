"""The submissions that a person must look at, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.reports.about_version import about_others, about_version
from grader.results.model import Flag, QuestionResult, Result
from grader.sandbox.evidence import ENDINGS, FailedCell, about_stopped
from grader.text import capital, some

_MOST_EXPLAINED = 3  # kinds of flags; the student's page explains each
_MOST_NAMED = 12  # flags, questions, cells or notebooks in a sentence


@dataclass(frozen=True)
class Review:
    """A submission to look at, and the sentences that say why; the gravest first.

    Attributes:
        rank: 0 for the gravest kind of reason.
        is_resubmission: whether the only reason is that several notebooks were submitted.
    """

    result: Result
    rank: int
    reasons: tuple[str, ...]
    is_resubmission: bool = False


def reviews_of(results: Iterable[Result]) -> list[Review]:
    """The submissions that a human must look at: the gravest first, then in the order of the results."""
    return sorted(filter(None, map(review_of, results)), key=lambda review: review.rank)


def review_of(result: Result) -> Review | None:
    """Why a human has to look at a submission; None if nobody has to, as at excused work."""
    if result.excuse:
        return None
    every = _reasons(result)
    given = tuple(reason for reason in every if reason)
    if not given:
        return None
    rank = every.index(given[0])
    return Review(result, rank, tuple(dict.fromkeys(given)), rank == len(every) - 1)


def _reasons(result: Result) -> list[str]:
    """Each kind of reason as a sentence; empty if it does not apply."""
    unjudged, ended = ("", "") if result.error else _trouble(result.questions)
    flags = _flags(result.flags) if result.flags else ""
    versions = " ".join([*about_version(result), *about_others(result)]) if result.assignment else ""
    return [
        result.error or "",
        unjudged,
        flags,
        ended,
        result.about_kernel,
        _stopped(result.stopped_cells),
        _elsewhere(result.all_questions),
        _missing(result.missing_modules),
        versions if result.copy else "",
        versions if result.superseded or result.ignored else "",
    ]


def _flags(flags: Sequence[Flag]) -> str:
    """The flags, each kind with its cells, and why the first of them are reasons to look."""
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


def _elsewhere(questions: Sequence[QuestionResult]) -> str:
    """The questions without an answer for which the notebook has a definition that does not count."""
    found = [f"{question.id}: {question.elsewhere}" for question in questions if question.elsewhere]
    return " ".join(some(found, _MOST_NAMED))


def _missing(modules: Sequence[str]) -> str:
    """The modules that the notebook imports and that are not installed."""
    named = ", ".join(some(modules, _MOST_NAMED))
    return f"Not installed here, which may have cost points: {named}." if modules else ""


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
