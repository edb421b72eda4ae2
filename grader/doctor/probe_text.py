"""What a probe or a picture saw of several notebooks, as lines for its author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grader.checks.observation import is_kept
from grader.checks.untouched import changed_parts
from grader.course.probes import PictureProbe, Probe
from grader.doctor.probe_run import ORACLE, Seen
from grader.doctor.side_by_side import side_by_side
from grader.grading.broken_probe import place_in_probe, said_in_probe
from grader.graphs.diagram import diagram_of, operation
from grader.graphs.model import Graph, Named, read_graph
from grader.graphs.summary import summary
from grader.sandbox.evidence import NoFacts, ProbeRaised
from grader.sandbox.facts import Raised
from grader.text import printable

_WORD = {True: "equal", False: "differs"}


def probe_lines(probe: Probe, seen: Mapping[str, Seen]) -> Iterator[str]:
    """What a probe printed, why some notebooks have no facts, and the facts of the others side by side.

    In `seen`, by notebook, the first is what is expected.
    """
    yield from _prints(probe.name, seen)
    facts: dict[str, Any] = {}
    for who, one in seen.items():
        why = _why_none(probe, one, oracle=who == ORACLE)
        if why is None:
            facts[who] = one.outcome
        else:
            yield printable(f"{probe.name}    {who} {one.placed(why)}")
    if isinstance(probe, PictureProbe):
        yield from map(printable, picture_lines(probe.name, facts))
    elif facts:
        probe_lines = {who: _without_what_stayed(fact) for who, fact in facts.items()}
        yield from map(printable, side_by_side(probe.name, probe_lines))


def _without_what_stayed(fact: Any) -> Any:
    """The same, but that of what ``untouched`` filled only what changed is left, with what is said of it."""
    if is_kept(fact):
        changed = changed_parts(fact)
        written = {
            path: now["tensor"]
            for path, now in fact["after"].items()
            if "tensor" in now and f"{path}:value" in changed
        }
        return {**changed, **({"after": written} if written else {})} or "nothing changed"
    if isinstance(fact, dict):
        return {key: _without_what_stayed(value) for key, value in fact.items()}
    if isinstance(fact, list | tuple):
        return type(fact)(map(_without_what_stayed, fact))
    return fact


def _prints(name: str, seen: Mapping[str, Seen]) -> Iterator[str]:
    """What all of them print stands once."""
    printed = {who: one.printed for who, one in seen.items()}
    if len(set(printed.values())) == 1:
        printed = {"": next(iter(printed.values()))}
    for who, lines in printed.items():
        yield from (printable(f"{name}    {f'{who} ' if who else ''}prints  {line}") for line in lines)


def _why_none(probe: Probe, seen: Seen, *, oracle: bool) -> str | None:
    """Why there are no facts, with the probe's line where it stopped; None where there are."""
    match seen.outcome:
        case NoFacts(reason):
            return f"has no facts: {reason}"
        case ProbeRaised(error) | (Raised() as error):
            return f"stops: {place_in_probe(probe, error, oracle=oracle)} raised {said_in_probe(error)}"
    return None


def picture_lines(name: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """The sentence below each picture, whether all pictures are alike, and the named tensors.

    Of the `facts` by notebook, the others are compared with the first.
    """
    read = {who: read_graph(fact) for who, fact in facts.items()}
    graphs = {who: graph for who, graph in read.items() if graph is not None}
    for who in read.keys() - graphs.keys():
        yield f"{name}    {who} has no picture: what came back is not graph(...), or of another form"
    diagrams = {who: diagram_of(graph) for who, graph in graphs.items()}
    for number, (who, graph) in enumerate(graphs.items()):
        same = diagrams[who] == next(iter(diagrams.values()))
        yield f"{name}    {who}: {summary(graph)}{f'   {_WORD[same]}' if number else ''}"
    if graphs:
        yield from side_by_side(name, {who: _tensors(graph) for who, graph in graphs.items()})


def _tensors(graph: Graph) -> dict[str, str]:
    return {tensor.name: ", ".join(_said(graph, tensor)) for tensor in graph.tensors}


def _said(graph: Graph, tensor: Named) -> Iterator[str]:
    """What a picture may tell of a tensor."""
    yield tensor.shape
    made_by = None if tensor.made_by is None else operation(graph.nodes[tensor.made_by].op)
    yield "leaf" if tensor.leaf else f"made by {made_by or 'a node that is not shown'}"
    yield "requires grad" if tensor.requires_grad else "requires no grad"
    yield "an inference tensor" if tensor.version is None else f"version {tensor.version}"
    if tensor.grad:
        yield "has a .grad"
    if tensor.same is not None:
        yield f"the object of {graph.tensors[tensor.same].name}"
