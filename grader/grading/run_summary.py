"""The reports of a run: its progress, and its outcome at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from grader.results.changes import Change
from grader.results.model import MissingSubmission, Result

GRADING = "grading"  # after references are observed


@dataclass(frozen=True)
class Progress:
    """The progress of a run; as text, where it is when it is interrupted.

    Attributes:
        doing: the current step, in a few words.
        before: how many submissions had a current result when the run began.
        total: how many other submissions there are to grade.
        done: how many of these are done.
        errors: how many of those done are in error.
    """

    doing: str = "starting"
    before: int = 0
    total: int = 0
    done: int = 0
    errors: int = 0

    @property
    def has_begun(self) -> bool:
        """Whether there may be something that another run can go on from."""
        return self.doing == GRADING or self.done > 0

    def __str__(self) -> str:
        if not self.has_begun:
            return "before anything was graded"
        before = f" ({self.before} already graded)" if self.before else ""
        return f"after {self.done} of {self.total} notebooks{before}"


ProgressCallback = Callable[[Progress], None]
"""Called whenever a run has done something."""


class ProgressReporter:
    """Keeps the progress of a run and calls back at each change."""

    def __init__(self, callback: ProgressCallback) -> None:
        self._progress, self._callback = Progress(), callback

    def report(self, **changes: Any) -> None:
        """Change fields of the progress."""
        self._progress = replace(self._progress, **changes)
        self._callback(self._progress)

    @contextmanager
    def step(self, doing: str) -> Iterator[None]:
        """Show another step while a block runs."""
        before = self._progress.doing
        self.report(doing=doing)
        yield
        self.report(doing=before)

    def count(self, *, in_error: bool) -> None:
        """Count a submission whose result is written."""
        self.report(done=self._progress.done + 1, errors=self._progress.errors + in_error)


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """The outcome of a run.

    Attributes:
        results: the current result of every submission, from this run or an earlier one.
        fresh: how many submissions had no result before.
        without_notebook: names of students' folders without a notebook.
        notes: other sentences for the instructor.
        graded_again: how many other notebooks ran again.
        judged_again: how many other results were judged again from stored observations.
        unlisted: a sentence about each student who submitted and is not on the roster.
    """

    results: list[Result]
    missing: list[MissingSubmission]
    fresh: int
    without_notebook: list[str]
    notes: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    graded_again: int = 0
    judged_again: int = 0
    unlisted: list[str] = field(default_factory=list)
