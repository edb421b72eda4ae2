"""The requests to a notebook, and their time limits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class TimeLimits:
    """How long things may take, in seconds of wall time."""

    cell: float = 20.0
    question: float = 20.0
    notebook: float = 200.0


@dataclass(frozen=True)
class Request:
    """A contract or a picture as it is sent: code that the worker runs beside a student's functions.

    All random generators are seeded with ``seed`` and, so that students' functions cannot influence later
    inputs, again after each of their calls; if it is None, they are seeded once, as in a student's notebook.
    If ``perturbed`` is not 0, all results are perturbed, with this seed (``runtime/perturbation.py``).
    A ``picture`` is requested when all contracts were observed; if it fails, only the picture is missing.
    """

    name: str
    source: str
    seed: int | None
    seconds: float
    picture: bool = False
    perturbed: int = 0


@dataclass(frozen=True)
class ObservationPlan:
    """The observations to make of a notebook.

    Attributes:
        starter_code: the starter code of its functions, by name.
        requests: the requests for each function.
        demonstrations: the code cells that students got besides starter code. If they are unchanged and below
            a question's ``grader.check`` cell, they change no name that its answer sees.
        questions: the id of each function's question; a function without one has no such cell.
    """

    starter_code: dict[str, str]
    requests: dict[str, tuple[Request, ...]]
    demonstrations: tuple[str, ...] = ()
    questions: dict[str, str] = field(default_factory=dict)

    def perturbed(self, seed: int) -> ObservationPlan:
        """The same with results that are perturbed, without pictures."""
        kept = {
            name: tuple(replace(request, perturbed=seed) for request in requests)
            for name, requests in self.without_pictures().requests.items()
        }
        return replace(self, requests=kept)

    def of_functions(self, functions: Collection[str]) -> ObservationPlan:
        """The same with the requests for some functions only."""
        return replace(self, requests={name: r for name, r in self.requests.items() if name in functions})

    def without_pictures(self) -> ObservationPlan:
        """The same without pictures, which no check judges."""
        kept = {
            name: tuple(request for request in requests if not request.picture)
            for name, requests in self.requests.items()
        }
        return replace(self, requests=kept)
