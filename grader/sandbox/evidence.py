"""Outside: evidence, everything that was observed of one notebook; plain JSON, judged later."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any, TypeVar

from grader.sandbox.facts import MalformedError, Raised, decode, decode_raised
from grader.sandbox.reason import ENDED, NOT_REACHED

#: What a student reads in place of a diagnosis where there is nothing to diagnose.
UNANSWERED = {
    "missing": "No cell of this notebook defines {name}, or the cell that does stopped before.",
    "untouched": "{name} is still as it was handed out.",
}


#: What a worker noticed (one of the words below), and the cell it happened in, or None.
Notice = tuple[str, int | None]
_Noticed = TypeVar("_Noticed", bound=str | Notice)
_NOTICED = {
    *("code objects", "ctypes", "frames", "gc", "imports at run time", "kernels of torch", "patched"),
    "settrace",
}
_MAX_UNITED = 100  # kept of each kind of what the workers of one notebook noticed: more nobody reads
_MAX_TRACES = 20 * len(_NOTICED)  # a worker tells of twenty cells for each
_WRITTEN_BY_OTHERS: Notice = ("raw descriptors", None)


@dataclass(frozen=True)
class NoFacts:
    """Why a probe has no facts: its time ran out, the process ended, ... One sentence for the student."""

    reason: str


@dataclass(frozen=True)
class ProbeRaised:
    """The probe stopped with an error; one that it caught itself is a fact like any other."""

    error: Raised


#: What a probe saw: facts of any form, or why there are none.
ProbeOutcome = Any | ProbeRaised | NoFacts


class Answer(dict[str, Any]):
    """An answer to a probe as it is stored, beside what it was decoded to when it came.

    Attributes:
        outcome: the facts, or what was raised.
    """

    outcome: ProbeOutcome


@dataclass(frozen=True)
class Evidence:
    """What one notebook's worker said, still undecoded.

    Attributes:
        names: for each function asked for, ``answered``, ``untouched`` or ``missing``.
        probes: by probe, ``{"facts": ...}``, ``{"raised": ...}`` or ``{"fault": "..."}``; under ``"none"``
            perhaps the functions that returned nothing but None.
        cells: ``{"cell": number, "raised": error or None, "fault": sentence or None}`` of each
            cell that failed.
        patched: what the notebook changed in torch (``torch.Tensor.backward``), by its cells or in a probe.
        traces: what else only deceivers need and a worker noticed.
        fault: why nothing could be observed at all, or None.
        starved: whether time ran out while other processes had the processors, or the system killed its
            worker while they had the memory, so that the notebook is not to blame and deserves another look.
        size: bytes of all answers.
    """

    names: dict[str, str] = field(default_factory=dict)
    probes: dict[str, dict[str, Any]] = field(default_factory=dict)
    cells: list[dict[str, Any]] = field(default_factory=list)
    patched: list[str] = field(default_factory=list)
    traces: list[Notice] = field(default_factory=list)
    fault: str | None = None
    starved: bool = False
    size: int = 0

    def outcome(self, probe: str) -> ProbeOutcome:
        """What a probe saw, decoded."""
        answer = self.probes.get(probe, {"fault": NOT_REACHED})
        if isinstance(answer, Answer):
            return answer.outcome
        if "fault" in answer:
            return NoFacts(answer["fault"])
        return ProbeRaised(decode_raised(answer["raised"])) if "raised" in answer else decode(answer["facts"])

    def returned_none(self, probe: str, function: str) -> bool:
        """Whether a function returned nothing but None, whenever this probe called it."""
        return function in self.probes.get(probe, {}).get("none", ())

    def to_json(self) -> dict[str, Any]:
        """The form that is stored; it shares what it holds with the evidence."""
        return dict(vars(self))  # not asdict(), which would copy every number

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Evidence:
        """The evidence of a stored form."""
        return cls(**{**stored, "traces": [(what, cell) for what, cell in stored["traces"]]})


def parse_answer(answer: Any) -> Answer:
    """A worker's answer to a probe, decoded.

    Raises:
        MalformedError: it breaks the schema.
    """
    keys = {"raised", "facts", "changed", "patched"}
    if (
        type(answer) is not dict
        or set(answer) - {"none"} != keys
        or not all(map(_is_words, (answer["changed"], answer["patched"], answer.get("none", []))))
    ):
        raise MalformedError("the answer is malformed")
    if answer["raised"] is not None:
        found = Answer(raised=answer["raised"])
        found.outcome = ProbeRaised(decode_raised(answer["raised"]))
    else:
        found = Answer(facts=answer["facts"])
        found.outcome = decode(answer["facts"])
    if answer.get("none"):
        found["none"] = answer["none"]
    return found


def parse_cell_error(answer: Any) -> Any:
    """A worker's answer about a cell: None or an error's fields.

    Raises:
        MalformedError: it breaks the schema.
    """
    if type(answer) is not dict or set(answer) != {"raised"}:
        raise MalformedError("the answer is malformed")
    if answer["raised"] is not None:
        decode_raised(answer["raised"])
    return answer["raised"]


def parse_survey(answer: Any, functions: set[str]) -> tuple[dict[str, str], list[str]]:
    """A worker's survey: which of the functions are there, and what was patched.

    Raises:
        MalformedError: it breaks the schema.
    """
    if type(answer) is not dict or set(answer) != {"names", "patched"}:
        raise MalformedError("the answer is malformed")
    names = answer["names"]
    known = {"answered", "untouched", "missing"}
    good = (
        type(names) is dict
        and set(names) == functions
        and all(type(s) is str and s in known for s in names.values())
    )
    if not good or not _is_words(answer["patched"]):
        raise MalformedError("the answer is malformed")
    return names, answer["patched"]


def parse_evidence(answer: Any) -> Evidence:
    """Another machine's evidence, once it is known that it can be decoded.

    What cannot is that notebook's fault, and costs no other notebook anything.
    """
    try:
        evidence = Evidence.from_json(answer)
        good = _is_good(evidence)
    except (AttributeError, KeyError, MalformedError, TypeError, ValueError):
        good = False
    return evidence if good else Evidence(fault=ENDED["malformed"])


def _is_good(evidence: Evidence) -> bool:
    """Whether all fields are of the form of evidence; raises where one is of quite another."""
    outcomes = [evidence.outcome(probe) for probe in evidence.probes]
    for cell in evidence.cells:
        if cell["raised"] is not None:
            decode_raised(cell["raised"])
    return (
        {*evidence.names.values()} <= {"answered", "untouched", "missing"}
        and all(_is_sentence(outcome.reason) for outcome in outcomes if isinstance(outcome, NoFacts))
        and all(type(cell["cell"]) is int and _is_sentence(cell["fault"]) for cell in evidence.cells)
        and all(what in {*_NOTICED, "raw descriptors"} for what, _ in evidence.traces)
        and _is_words(evidence.patched)
        and _is_sentence(evidence.fault)
        and (type(evidence.starved), type(evidence.size)) == (bool, int)
    )


def united(known: Iterable[_Noticed], more: Iterable[_Noticed]) -> list[_Noticed]:
    """What several workers of one notebook noticed, in order and once; of too much of a kind the first."""
    found = sorted({*known, *more}, key=str)
    kinds = groupby(found, lambda noticed: noticed[0] if isinstance(noticed, tuple) else "")
    return [noticed for _, alike in kinds for noticed in islice(alike, _MAX_UNITED)]


def parse_notices(notices: bytes, *, closed: bool) -> set[Notice]:
    """What a worker noticed.

    What is no notice, or is one too many, was written by the notebook, which is a trace as well; so is a
    pipe that the notebook has closed. Thus nothing can be put into it that hides what comes later.
    """
    *lines, rest = notices.decode("ascii", "replace").split("\n")
    traces = {_notice(line) for line in lines[:_MAX_TRACES]}
    return traces | ({_WRITTEN_BY_OTHERS} if rest or closed or len(lines) > _MAX_TRACES else set())


def _notice(line: str) -> Notice:
    what, _, number = line.partition("\t")
    if what not in _NOTICED or not (number == "" or (number.isdecimal() and len(number) < 6)):
        return _WRITTEN_BY_OTHERS
    return what, int(number) if number else None


def _is_sentence(value: Any) -> bool:
    return value is None or type(value) is str


def _is_words(value: Any) -> bool:
    return type(value) is list and len(value) <= 10_000 and all(map(_is_word, value))


def _is_word(value: Any) -> bool:
    return type(value) is str and len(value) <= 500
