"""What grading a folder gave, as the terminal tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.results.changes import Change
from grader.results.model import Result


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What a run gave.

    Attributes:
        results: of every submission that was found and has been graded now or before.
        absent: (student, stem) of the roster without a submission.
        protection: what confined the students' code.
        fresh: how many results are new.
        without: folders in which there is no notebook.
        note: what else the instructor should know, in a sentence, or None.
        changes: results whose score or status is another than in the run before.
        again: how many were judged again from what had been observed before; they are not new.
        unlisted: students who handed in and are not on the roster, where there is one.
        points: what each question is worth, of the assignments that a student is absent from.
    """

    results: list[Result]
    absent: list[tuple[str, str]]
    protection: str
    fresh: int
    without: list[str]
    note: str | None = None
    changes: list[Change] = field(default_factory=list)
    again: int = 0
    unlisted: list[str] = field(default_factory=list)
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
