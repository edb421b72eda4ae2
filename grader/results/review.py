"""The submissions that need a human, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.results.model import Flag, QuestionResult, Result
from grader.sandbox.evidence import ENDINGS, FailedCell, about_stopped
from grader.text import some

_MOST = 12  # flags, questions, cells or notebooks in a sentence


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
    left = ", ".join(some(result.superseded, _MOST))
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
    return f"Flagged: {'; '.join(some(kinds, _MOST))}."


def _stopped(stopped: Sequence[FailedCell]) -> str:
    """Which cells were stopped or left out; cells with the same reason together."""
    cells: dict[str, list[str]] = {}
    for cell in stopped:
        cells.setdefault(cell.text, []).append(str(cell.cell))
    return " ".join(about_stopped(some(numbers, _MOST), why) for why, numbers in cells.items())


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
        f"A check could not be judged in {', '.join(some(unjudged, _MOST))}." if unjudged else "",
        " ".join(some([f"{question}: {message}" for question, message in ended.items()], _MOST)),
    )
