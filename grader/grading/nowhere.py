"""Outside: nowhere, a station that observes nobody, for whoever looks back at what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

from grader.notebooks.reader import Cell
from grader.sandbox.evidence import Evidence
from grader.sandbox.executor import Executor, environment_fingerprint
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Protection


class Nowhere(Executor):
    """A station where no student's code runs: what is not stored stays unknown.

    Args:
        protection: with which what is stored was observed.
    """

    max_workers, prefetch = 1, 1

    def __init__(self, protection: Protection) -> None:
        super().__init__()
        self._protection = protection

    def _start(self) -> Protection:
        raise NotImplementedError

    @cached_property
    def environment_fingerprint(self) -> Sequence[str]:
        """The packages here."""
        return environment_fingerprint()

    def observe(self, cells: Sequence[Cell], plan: ProbePlan, limits: TimeLimits) -> Evidence:
        """Nobody is observed.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass
