"""The outcomes of a probe or a picture for several notebooks, as lines for its author."""

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
from grader.graphs.picture import summary
from grader.sandbox.evidence import NoFacts, ProbeRaised
from grader.sandbox.facts import Raised
from grader.text import printable


def probe_lines(probe: Probe, seen: Mapping[str, Seen]) -> Iterator[str]:
    """What a probe printed, why some notebooks have no facts, and the facts of the others side by side.

    In `seen`, by notebook, the first is the expected outcome.
    """
    yield from _prints(probe.name, seen)
    facts: dict[str, Any] = {}
    for notebook, of_notebook in seen.items():
        why = _why_no_facts(probe, of_notebook, oracle=notebook == ORACLE)
        if why is None:
            facts[notebook] = of_notebook.outcome
        else:
            yield printable(f"{probe.name}    {notebook} {of_notebook.placed(why)}")
    if isinstance(probe, PictureProbe):
        yield from map(printable, picture_lines(probe.name, facts))
    elif facts:
        changed = {notebook: _only_changes(fact) for notebook, fact in facts.items()}
        yield from map(printable, side_by_side(probe.name, changed))


def _only_changes(fact: Any) -> Any:
    """A fact in which the records of ``untouched`` are replaced by the sentences about what changed."""
    if is_kept(fact):
        changed = changed_parts(fact)
        written = {
            path: now["tensor"]
            for path, now in fact["after"].items()
            if "tensor" in now and f"{path}:value" in changed
        }
        return {**changed, **({"after": written} if written else {})} or "nothing changed"
    if isinstance(fact, dict):
        return {key: _only_changes(value) for key, value in fact.items()}
    if isinstance(fact, list | tuple):
        return type(fact)(map(_only_changes, fact))
    return fact


def _prints(name: str, seen: Mapping[str, Seen]) -> Iterator[str]:
    """The printed lines of each notebook; lines that are equal for all notebooks stand once."""
    printed = {notebook: of_notebook.printed for notebook, of_notebook in seen.items()}
    if len(set(printed.values())) == 1:
        printed = {"": next(iter(printed.values()))}
    for notebook, lines in printed.items():
        who = f"{notebook} " if notebook else ""
        yield from (printable(f"{name}    {who}prints  {line}") for line in lines)


def _why_no_facts(probe: Probe, seen: Seen, *, oracle: bool) -> str | None:
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
    read = {notebook: read_graph(fact) for notebook, fact in facts.items()}
    graphs = {notebook: graph for notebook, graph in read.items() if graph is not None}
    for notebook in read.keys() - graphs.keys():
        yield f"{name}    {notebook} has no picture: what came back is not graph(...), or of another form"
    diagrams = {notebook: diagram_of(graph) for notebook, graph in graphs.items()}
    for number, (notebook, graph) in enumerate(graphs.items()):
        verdict = "   equal" if diagrams[notebook] == next(iter(diagrams.values())) else "   differs"
        yield f"{name}    {notebook}: {summary(graph)}{verdict if number else ''}"
    if graphs:
        yield from side_by_side(name, {notebook: _tensors(graph) for notebook, graph in graphs.items()})


def _tensors(graph: Graph) -> dict[str, str]:
    return {tensor.name: ", ".join(_properties(graph, tensor)) for tensor in graph.tensors}


def _properties(graph: Graph, tensor: Named) -> Iterator[str]:
    """What a picture shows of a tensor."""
    yield tensor.shape
    made_by = None if tensor.made_by is None else operation(graph.nodes[tensor.made_by].op)
    yield "leaf" if tensor.leaf else f"made by {made_by or 'a node that is not shown'}"
    yield "requires grad" if tensor.requires_grad else "requires no grad"
    yield "an inference tensor" if tensor.version is None else f"version {tensor.version}"
    if tensor.grad:
        yield "has a .grad"
    if tensor.same is not None:
        yield f"the object of {graph.tensors[tensor.same].name}"
