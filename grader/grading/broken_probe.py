"""A probe that has no facts of the reference, in the words of its author: which line, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from grader.course.assignment import Assignment
from grader.course.probes import PictureProbe, Probe
from grader.sandbox.evidence import Evidence, NoFacts, ProbeRaised
from grader.sandbox.facts import Raised
from grader.text import quoted


def broken_probes(
    probes: Mapping[str, Probe], reference: Evidence, names: Iterable[str] | None = None
) -> Iterator[str]:
    """A sentence for each probe (or picture) that stopped, or was stopped, on the reference.

    Args:
        names: of the probes of interest; all where this is None.
    """
    for name in probes if names is None else names:
        outcome = reference.outcome(name)
        if isinstance(outcome, ProbeRaised | NoFacts):
            yield broken_probe(probes[name], outcome)


def broken_cells(assignment: Assignment, sources: Sequence[str], reference: Evidence) -> Iterator[str]:
    """A sentence for each cell of the reference, among the sources that ran, that stopped or was stopped."""
    lines = {cell.source: cell.line for cell in assignment.cells}
    for cell in reference.cells:
        line, reason = lines.get(sources[cell.cell - 1], 1), cell.fault
        if cell.raised is not None:
            reason = f"{cell.raised.type}: {_first_line(cell.raised)}"
            line += int(cell.raised.where.rpartition("line ")[2] or 1) - 1
        yield f"{assignment.path}, line {line}: a cell of the reference stopped with {reason}"


def broken_probe(probe: Probe, outcome: ProbeRaised | NoFacts) -> str:
    """As in ``.../test_01_leaves.py, line 44: probe grown fails on the reference with KeyError: 'w'``."""
    if isinstance(outcome, NoFacts):
        where = probe.source.where
        return f"{where}: {_kind(probe)} {probe.name} got no facts of the reference: {outcome.reason}"
    error = outcome.error
    return f"{place_in_probe(probe, error)} fails on the reference with {said_in_probe(error)}"


def place_in_probe(probe: Probe, error: Raised) -> str:
    """Where an error came through a probe, as in ``.../inside.py, line 7: sizes, called by probe grown,``.

    The probe raised the error, or ``attempt`` caught it there.
    """
    position = probe.place_in_file(error.probe) if error.probe else None
    part, line = position or (probe.source, probe.source.tree.lineno)
    name = f"{_kind(probe)} {probe.name}"
    caller = name if part.name == probe.name else f"{part.name}, called by {name},"
    return f"{part.path}, line {line}: {caller}"


def caught_in_probe(probe: Probe, reference: Evidence) -> str | None:
    """Where the first error came from that ``attempt`` caught of the reference, and what it was; or None."""
    error = next(_errors_in(reference.outcome(probe.name)), None)
    if error is None:
        return None
    line = place_in_probe(probe, error)
    return f"{line} stopped on the reference with {said_in_probe(error)}, which attempt caught"


def _errors_in(facts: Any) -> Iterator[Raised]:
    if isinstance(facts, Raised):
        yield facts
    elif isinstance(facts, dict | list | tuple):
        for part in facts.values() if isinstance(facts, dict) else facts:
            yield from _errors_in(part)


def broken_picture(picture: PictureProbe, reference: Evidence) -> str:
    """Why a picture shows no graph of the reference."""
    outcome = reference.outcome(picture.name)
    if isinstance(outcome, ProbeRaised | NoFacts):
        return broken_probe(picture, outcome)
    where = picture.source.where
    return f"{where}: picture {picture.name} shows no graph of the reference: return graph(name=tensor, ...)"


def _kind(probe: Probe) -> str:
    return "picture" if isinstance(probe, PictureProbe) else "probe"


def said_in_probe(error: Raised) -> str:
    """An error's class and its first line and, where a line of the notebook was involved, that line."""
    text = f"{error.type}: {_first_line(error)}".removesuffix(": ")
    return f"{text} (by way of {quoted(error.line)} in code {error.where})" if error.line else text


def _first_line(error: Raised) -> str:
    return error.text.strip().partition("\n")[0]
