"""An autograd graph behind named tensors, as far as it is shown, decoded strictly from an observation.

``grader/runtime/graph.py`` documents its form. The names in it are a student's.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, convert, field
from msgspec.structs import replace

MOST = 5_000  #: nodes that are counted and looked at
MAX_TENSORS, MAX_NODES, MAX_NEXT, MAX_SAVED = 48, 40, 8, 4  # of an answer; the worker's own bounds
MAX_NAME = 28
_HARMFUL = re.compile(r"[^A-Za-z0-9_.\[\]]")

_Number = Annotated[int, Meta(ge=0, lt=1 << 31)]
_Text = Annotated[str, Meta(min_length=1)]
_Sizes = Annotated[str, Meta(pattern=r"^(scalar|[0-9]{1,19}(x[0-9]{1,19}){0,7})\Z")]


class Saved(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A saved tensor of an operation."""

    name: str  # the operation's name for it, such as ``self``
    state: Literal["current", "freed", "stale", "detached", "packed", "unreadable"]
    then: _Number | None  # its version counter when it was saved, where that is known
    now: _Number | None  # its version counter now
    partner: _Number | None  # index of a named tensor on its memory


class Node(Struct, frozen=True, forbid_unknown_fields=True):
    """A node of the autograd graph: an operation, or the AccumulateGrad of a leaf."""

    op: _Text
    after: tuple[_Number | None, ...] = field(name="next")
    leaf: _Sizes | None  # the leaf's sizes; None for an operation
    named: _Number | None  # index of the leaf among the named tensors
    grad: bool  # whether the leaf has a ``.grad``
    #: Without those that are current and on no named tensor's memory.
    saved: tuple[Saved, ...]

    @property
    def next(self) -> tuple[int, ...]:
        """Indices of the nodes its gradient travels to, as far as they are shown."""
        return tuple(dict.fromkeys(index for index in self.after if index is not None))

    @property
    def goes_on(self) -> bool:
        """Whether its gradient travels to others too."""
        return None in self.after

    @property
    def is_freed(self) -> bool:
        """Whether a backward has freed its saved tensors."""
        return any(saved.state == "freed" for saved in self.saved)

    @property
    def stale(self) -> Saved | None:
        """A saved tensor that was changed after it was saved, so that a backward would raise."""
        return next((saved for saved in self.saved if saved.state in {"stale", "detached"}), None)


class Named(Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor that the author of a picture named."""

    name: _Text  # in a harmless alphabet, cut
    shape: _Sizes  # such as ``3x2``, or ``scalar``
    leaf: bool
    requires_grad: bool
    version: _Number | None  # its version counter; None for an inference tensor
    made_by: _Number | None  # index of the node that made it; None for a leaf and beyond what is shown
    output: _Number  # which output of that node it is
    storage: _Number  # equal for tensors on the same memory
    same: _Number | None  # index of an earlier name of the same object
    grad: bool  # whether it has a ``.grad``
    retains: bool  # whether it is a non-leaf that keeps its gradient
    expanded: bool = False  # whether several of its entries are one number in memory


class Graph(Struct, frozen=True, forbid_unknown_fields=True):
    """The graph behind some named tensors, as far as it is shown."""

    tensors: Annotated[tuple[Named, ...], Meta(min_length=1)]
    nodes: tuple[Node, ...]  # the nearest first
    more: bool  # whether something is left out
    total: _Number  # how many nodes are behind the first tensor, at most ``MOST + 1``
    freed: _Number  # how many of these, up to the nearest ``MOST``, have freed saved tensors
    stale: _Number  # how many of them have stale saved tensors
    more_nodes: _Number = 0  # how many nodes are left out; together with the others at most ``MOST + 1``
    more_tensors: _Number = 0  # how many named tensors are left out

    @property
    def loose(self) -> list[int]:
        """Indices of the named tensors for which no node stands, without later names of the same."""
        at_nodes = {node.named for node in self.nodes}
        return [
            index
            for index, tensor in enumerate(self.tensors)
            if tensor.made_by is None and tensor.same is None and index not in at_nodes
        ]

    def behind(self, tensor: Named) -> set[int]:
        """Indices of the nodes that a backward from a tensor would visit, as far as they are shown."""
        seen = set() if tensor.made_by is None else {tensor.made_by}
        waiting = [*seen]
        while waiting:
            new = set(self.nodes[waiting.pop()].next) - seen
            seen |= new
            waiting += new
        return seen

    def cut(self, tensor: Named, leaf: Named) -> str | None:
        """How a leaf was cut from the history of a tensor on its memory: ``detach``, ``data``, or None."""
        if tensor.leaf or not leaf.leaf or tensor.storage != leaf.storage or self._leads_to(tensor, leaf):
            return None
        has_own_counter = None not in (tensor.version, leaf.version) and tensor.version != leaf.version
        return "data" if has_own_counter else "detach"

    def is_view(self, first: Named, second: Named) -> bool:
        """Whether a tensor was made of the other, so that autograd knows of the shared memory."""
        return self._leads_to(first, second) or self._leads_to(second, first)

    def _leads_to(self, start: Named, end: Named) -> bool:
        """Whether a gradient that starts in a tensor passes another."""
        behind = self.behind(start)
        if not end.leaf:
            return end.made_by in behind
        named = (self.nodes[index].named for index in behind)
        return any(index is not None and self.tensors[index] is end for index in named)


def read_graph(observation: Any) -> Graph | None:
    """The graph that an observation describes; None if it has another form or size."""
    graph = read_large_graph(observation)
    if graph is None or len(graph.tensors) > MAX_TENSORS or len(graph.nodes) > MAX_NODES:
        return None
    if any(len(node.after) > MAX_NEXT or len(node.saved) > MAX_SAVED for node in graph.nodes):
        return None
    return graph


def read_large_graph(observation: Any) -> Graph | None:
    """The same for a graph of any size, from a trusted process."""
    try:
        graph = convert(observation, Graph)
    except ValueError:
        return None
    nodes, tensors = graph.nodes, graph.tensors
    of_nodes = [*(tensor.made_by for tensor in tensors), *(index for node in nodes for index in node.after)]
    of_tensors = [*(tensor.same for tensor in tensors), *(node.named for node in nodes)]
    of_tensors += [saved.partner for node in nodes for saved in node.saved]
    for indices, length in ((of_nodes, len(nodes)), (of_tensors, len(tensors))):
        if any(index is not None and index >= length for index in indices):
            return None
    return replace(
        graph,
        tensors=tuple(replace(t, name=harmless(t.name), shape=harmless(t.shape)) for t in tensors),
        nodes=tuple(
            replace(
                node,
                op=harmless(node.op),
                leaf=None if node.leaf is None else harmless(node.leaf),
                saved=tuple(replace(saved, name=harmless(saved.name)) for saved in node.saved),
            )
            for node in nodes
        ),
    )


def harmless(name: str, most: int = MAX_NAME) -> str:
    """A name reduced to letters, digits, ``_ . [ ]``; of a long one the beginning and the end."""
    if len(name) > most:
        name = f"{name[:10]}..{name[12 - most :]}"
    return _HARMFUL.sub("_", name)
