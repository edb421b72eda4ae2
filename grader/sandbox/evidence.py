"""Evidence, everything that was observed of a notebook; plain JSON, judged later."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from grader.sandbox.decoding import (
    STATUSES,
    TRACES,
    MalformedError,
    Notice,
    Status,
    decode,
    decode_raised,
    is_words,
)
from grader.sandbox.facts import Raised

#: What a student reads in place of a diagnosis where there is nothing to diagnose.
UNANSWERED = {
    "missing": "No cell of this notebook defines {name}, or the cell that does stopped before.",
    "untouched": "{name} is still as it was handed out.",
}


class Failure(StrEnum):
    """Why something was not observed."""

    TIMEOUT = "timeout"
    LATE = "late"
    CLOSED = "closed"
    KILLED = "killed"
    FORGED = "forged"
    MALFORMED = "malformed"
    PATCHED = "patched"
    NOTHING_DEFINED = "nothing defined"
    NOTHING_SEEN = "nothing seen"
    NOT_REACHED = "not reached"
    TOO_LATE = "too late"
    TOO_LATE_FOR_NOTEBOOK = "too late for the notebook"


_NOT_REACHED = "this part was not reached"
#: The same in the words that students read.
REASONS = {
    Failure.TIMEOUT: (
        "your code still ran after {seconds:.0f} s and was stopped; is there a loop that never ends?"
    ),
    Failure.LATE: "your code still ran when the {question:.0f} s of this question were over, and was stopped",
    Failure.CLOSED: (
        "your code ended the Python process (os._exit, a crash in native code, a limit of the system)"
    ),
    Failure.KILLED: "the system ended the process of your code, most likely because it took too much memory",
    Failure.FORGED: "the process of your notebook sent answers nobody asked for, so none of them was used",
    Failure.MALFORMED: (
        "the process of your notebook sent something that is not an answer, so it was not used"
    ),
    Failure.PATCHED: "your code replaced {changed} while it ran; nothing can be judged by that",
    Failure.NOTHING_DEFINED: "the notebook ended or blocked its process before it defined anything",
    Failure.NOTHING_SEEN: "the notebook ended or blocked its process before its functions could be looked at",
    Failure.NOT_REACHED: _NOT_REACHED,
    Failure.TOO_LATE: f"{_NOT_REACHED}, because the time of the question was used up before",
    Failure.TOO_LATE_FOR_NOTEBOOK: f"{_NOT_REACHED}, because the time of the notebook was used up before",
}
#: The process did not answer as processes do.
ENDINGS = frozenset(
    {
        *(Failure.TIMEOUT, Failure.LATE, Failure.CLOSED, Failure.KILLED),
        *(Failure.FORGED, Failure.MALFORMED),
    }
)
#: The cause is another failure before it, and no misunderstanding.
CONSEQUENCES = frozenset({Failure.NOT_REACHED, Failure.TOO_LATE, Failure.TOO_LATE_FOR_NOTEBOOK})
#: The time of a probe, a question or a notebook ran out.
OUT_OF_TIME = frozenset({Failure.TIMEOUT, Failure.LATE, Failure.TOO_LATE, Failure.TOO_LATE_FOR_NOTEBOOK})

UNJUDGED = "This check did not come to a verdict; your instructor has to look at it."


@dataclass(frozen=True)
class NoFacts:
    """Why a probe has no facts: a sentence for the student, and its kind (None in older evidence)."""

    reason: str
    failure: Failure | None = field(default=None, compare=False)

    def to_json(self) -> dict[str, Any]:
        """The form in which evidence stores it."""
        return {"fault": self.reason, "failure": self.failure}


def no_facts(failure: Failure, **details: Any) -> NoFacts:
    """A failure as a sentence, with the `details` that it names."""
    return NoFacts(REASONS[failure].format(**details), failure)


@dataclass(frozen=True)
class ProbeRaised:
    """The probe stopped with an error; an error that it caught itself is a fact."""

    error: Raised


#: What a probe saw: facts of any form, or why there are none.
ProbeOutcome = Any | ProbeRaised | NoFacts


@dataclass(frozen=True)
class Evidence:
    """What a notebook's workers said, still undecoded.

    Attributes:
        names: for each function of the plan, ``answered``, ``untouched`` or ``missing``.
        probes: by probe, ``{"facts": ...}``, ``{"raised": ...}`` or ``{"fault": sentence, "failure": kind}``;
            under ``"none"`` perhaps the functions that returned nothing but None.
        cells: for each cell that failed, ``{"cell": number, "raised": error or None, "fault": sentence
            or None}``.
        patched: what the notebook changed in torch (``torch.Tensor.backward``), by its cells or in a probe.
        traces: what a worker noticed that only deceivers need.
        fault: why nothing could be observed at all, or None.
        starved: whether other processes had the processors while time ran out, or the memory when the system
            killed its worker; then the notebook is not to blame and deserves another look.
        size: bytes of all answers.
    """

    names: dict[str, Status] = field(default_factory=dict)
    probes: dict[str, dict[str, Any]] = field(default_factory=dict)
    cells: list[dict[str, Any]] = field(default_factory=list)
    patched: list[str] = field(default_factory=list)
    traces: list[Notice] = field(default_factory=list)
    fault: str | None = None
    starved: bool = False
    size: int = 0

    def outcome(self, probe: str) -> ProbeOutcome:
        """What a probe saw, decoded."""
        answer = self.probes.get(probe)
        if answer is None:
            return no_facts(Failure.NOT_REACHED)
        if "fault" in answer:
            kind = answer.get("failure")
            return NoFacts(answer["fault"], None if kind is None else Failure(kind))
        return ProbeRaised(decode_raised(answer["raised"])) if "raised" in answer else decode(answer["facts"])

    def returned_none(self, probe: str, function: str) -> bool:
        """Whether a function returned nothing but None, whenever this probe called it."""
        return function in self.probes.get(probe, {}).get("none", ())

    def to_json(self) -> dict[str, Any]:
        """The form that is stored; it shares its parts with the evidence."""
        return dict(vars(self))  # not asdict(), which would copy every number

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Evidence:
        """The evidence of a stored form, unchecked."""
        return cls(**{**stored, "traces": [(what, cell) for what, cell in stored["traces"]]})


def parse_evidence(answer: Any) -> Evidence:
    """Another machine's evidence, checked; what cannot be decoded is that notebook's fault alone."""
    with suppress(AttributeError, KeyError, MalformedError, TypeError, ValueError):
        evidence = Evidence.from_json(answer)
        if _is_good(evidence):
            return evidence
    return Evidence(fault=REASONS[Failure.MALFORMED])


def _is_good(evidence: Evidence) -> bool:
    """Whether all fields have the form of evidence; it raises where a field cannot be read."""
    outcomes = [evidence.outcome(probe) for probe in evidence.probes]
    for cell in evidence.cells:
        if cell["raised"] is not None:
            decode_raised(cell["raised"])
    return (
        {*evidence.names.values()} <= STATUSES
        and all(_is_sentence(outcome.reason) for outcome in outcomes if isinstance(outcome, NoFacts))
        and all(type(cell["cell"]) is int and _is_sentence(cell["fault"]) for cell in evidence.cells)
        and all(what in TRACES for what, _ in evidence.traces)
        and is_words(evidence.patched)
        and _is_sentence(evidence.fault)
        and (type(evidence.starved), type(evidence.size)) == (bool, int)
    )


def _is_sentence(value: Any) -> bool:
    return value is None or type(value) is str
