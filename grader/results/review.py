"""The submissions that need a human, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.checks.failed_cell import FailedCell, stopped_cells
from grader.results.model import Flag, QuestionResult, Result
from grader.sandbox.evidence import ENDINGS, UNJUDGED
from grader.text import some

_MOST = 12  # of more flags, questions, cells or notebooks nobody reads each


@dataclass(frozen=True)
class Case:
    """One submission to look at, and the sentences that say why; the gravest first.

    Attributes:
        rank: 0 for the gravest kind of reason.
    """

    row: Result
    rank: int
    reasons: tuple[str, ...]


def cases(rows: Iterable[Result]) -> list[Case]:
    """Who has to be looked at: the gravest first, else in the order of the rows."""
    found = []
    for row in rows:
        every = _reasons(row)
        told = tuple(reason for reason in every if reason)
        if told:
            found.append(Case(row, every.index(told[0]), told))
    return sorted(found, key=lambda case: case.rank)


def _reasons(row: Result) -> list[str]:
    """Each kind of reason as a sentence, or as nothing where it is none."""
    unjudged, ended = ("", "") if row.error else _trouble(row.questions)
    flags = _flags(row.flags) if row.flags else ""
    left = ", ".join(some(row.superseded, _MOST))
    several = (
        f"Several notebooks: {row.notebook} counts; left aside: {left}." if left and row.assignment else ""
    )
    return [row.error or "", unjudged, flags, ended, _stopped(row.stopped), several]


def _flags(flags: Sequence[Flag]) -> str:
    """What was noticed, each kind with its cells."""
    cells: dict[str, list[str]] = {}
    for flag in flags:
        cells.setdefault(flag.what, []).extend([] if flag.cell is None else [str(flag.cell)])
    told = [
        f"{what} (code cell{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})" if numbers else what
        for what, numbers in cells.items()
    ]
    return f"Flagged: {'; '.join(some(told, _MOST))}."


def _stopped(stopped: Sequence[FailedCell]) -> str:
    """Which cells were stopped or left out; those of which the same is said together."""
    cells: dict[str, list[str]] = {}
    for cell in stopped:
        cells.setdefault(cell.text, []).append(str(cell.cell))
    return " ".join(stopped_cells(some(numbers, _MOST), why) for why, numbers in cells.items())


def _trouble(answers: Sequence[QuestionResult]) -> tuple[str, str]:
    """Sentences about the questions with a check without a verdict, and those whose process went wrong."""
    unjudged: dict[str, None] = {}
    ended: dict[str, str] = {}
    for answer in answers:
        for check in answer.checks:
            if check.message is None:
                continue
            if check.outcome == "error" or check.message == UNJUDGED:
                unjudged[answer.id] = None
            elif check.failure in ENDINGS:
                ended.setdefault(answer.id, check.message)
    return (
        f"A check could not be judged in {', '.join(some(unjudged, _MOST))}." if unjudged else "",
        " ".join(some([f"{question}: {message}" for question, message in ended.items()], _MOST)),
    )
