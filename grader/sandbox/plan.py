"""What a notebook is asked, and how long it may take to answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class TimeLimits:
    """How long things may take, in seconds of wall time."""

    cell: float = 20.0
    question: float = 20.0
    notebook: float = 200.0


@dataclass(frozen=True)
class PlannedProbe:
    """One probe as it is sent.

    Where ``moved`` is not 0, all results are moved by random numbers of this seed (``worker/moved.py``).
    A ``picture`` is asked when all probes have answered; if it fails, nothing but the picture is missing.
    """

    name: str
    source: str
    seed: int
    seconds: float
    alone: bool = False
    picture: bool = False
    moved: int = 0


@dataclass(frozen=True)
class ProbePlan:
    """What to ask of a notebook: the stubs of its functions by name, and the probes of each function.

    Of the cells that were `handed_out` besides stubs, those that are unchanged take no name from a student's.
    """

    stubs: dict[str, str]
    probes: dict[str, tuple[PlannedProbe, ...]]
    handed_out: tuple[str, ...] = ()

    def moved(self, seed: int) -> ProbePlan:
        """The same with results that are moved, without pictures."""
        kept = {
            name: tuple(replace(p, moved=seed) for p in probes)
            for name, probes in self.without_pictures().probes.items()
        }
        return replace(self, probes=kept)

    def of_functions(self, functions: Collection[str]) -> ProbePlan:
        """The same with the probes of some functions only."""
        return replace(self, probes={name: p for name, p in self.probes.items() if name in functions})

    def without_pictures(self) -> ProbePlan:
        """The same without pictures, which no check judges."""
        kept = {name: tuple(p for p in probes if not p.picture) for name, probes in self.probes.items()}
        return replace(self, probes=kept)
