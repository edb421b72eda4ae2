"""Outside: what a picture shows of several notebooks, in lines for its author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grader.doctor.side_by_side import side_by_side
from grader.graphs.diagram import diagram_of, operation
from grader.graphs.graph import Graph, Named
from grader.graphs.graph_facts import read_graph
from grader.graphs.summary import summary


def pictured(name: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """The sentence below the picture of each, whether all is drawn alike, and the named tensors.

    Args:
        name: of the picture, with which each line begins.
        facts: what it returned, by of whom; the first is what the others are compared with.
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


_WORD = {True: "equal", False: "differs"}


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
