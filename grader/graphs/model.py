"""An autograd graph behind named tensors, as far as it is shown; read from a worker's facts field by field.

``grader/sandbox/worker/graph.py`` describes the form of these facts. The names in them are a student's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

MOST = 5_000  #: nodes that are counted and looked at
MAX_TENSORS, MAX_NODES, MAX_NEXT, MAX_SAVED = 24, 40, 8, 4  # the worker's own bounds
MAX_NAME = 28
_MAX_NUMBER = 1 << 31
_STATES = {"current", "freed", "stale", "detached", "packed", "unreadable"}
_HARMFUL = re.compile(r"[^A-Za-z0-9_.\[\]]")
_SIZES = re.compile(r"scalar|\d{1,19}(x\d{1,19}){0,7}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved tensor of an operation."""

    name: str  # what the operation calls it, such as ``self``
    state: str  # of `_STATES`
    then: int | None  # its version counter when it was saved, where that is known
    now: int | None  # its version counter now
    partner: int | None  # index of a named tensor on its memory


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the autograd graph: an operation, or the AccumulateGrad of a leaf."""

    op: str
    next: tuple[int, ...]  # indices of the nodes its gradient travels to, as far as they are shown
    goes_on: bool  # whether its gradient travels to others too
    leaf: str | None  # the leaf's sizes; None for an operation
    named: int | None  # index of the leaf among the named tensors
    grad: bool  # whether the leaf has a ``.grad``
    saved: tuple[Saved, ...]  # without those that are current and on no named tensor's memory

    @property
    def is_freed(self) -> bool:
        """Whether a backward has freed its saved tensors."""
        return any(saved.state == "freed" for saved in self.saved)

    @property
    def stale(self) -> Saved | None:
        """A saved tensor that was changed after it was saved, so that a backward would raise."""
        return next((saved for saved in self.saved if saved.state in {"stale", "detached"}), None)


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor that the author of a picture named."""

    name: str  # in a harmless alphabet, cut
    shape: str  # such as ``3x2``, or ``scalar``
    leaf: bool
    requires_grad: bool
    version: int | None  # its version counter; None for an inference tensor
    made_by: int | None  # index of the node that made it; None for a leaf and beyond what is shown
    output: int  # which output of that node it is
    storage: int  # equal for tensors on the same memory
    same: int | None  # index of an earlier name of the same object
    grad: bool  # whether it has a ``.grad``
    retains: bool  # whether it is a non-leaf that keeps its gradient


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph behind some named tensors, as far as it is shown."""

    tensors: tuple[Named, ...]
    nodes: tuple[Node, ...]  # the nearest first
    more: bool  # whether something is left out
    total: int  # how many nodes are behind the first tensor, at most ``MOST + 1``
    freed: int  # how many of these, up to the nearest ``MOST``, have freed saved tensors
    stale: int  # how many of them have stale saved tensors

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


def read_graph(fact: Any) -> Graph | None:
    """The graph that a fact describes; None where it is anything else, or of another form or size."""
    try:
        parts = _fields(fact, tensors=list, nodes=list, more=bool, total=int, freed=int, stale=int)
        tensors, nodes = parts["tensors"], parts["nodes"]
        _need(0 < len(tensors) <= MAX_TENSORS and len(nodes) <= MAX_NODES)
        return Graph(
            tuple(_tensor(each, len(tensors), len(nodes)) for each in tensors),
            tuple(_node(each, len(tensors), len(nodes)) for each in nodes),
            parts["more"],
            *(_number(parts[name]) for name in ("total", "freed", "stale")),
        )
    except _OtherFormError:
        return None


def _harmless(name: str) -> str:
    """A name reduced to letters, digits, ``_ . [ ]``; of a long one the beginning and the end."""
    if len(name) > MAX_NAME:
        name = f"{name[:10]}..{name[12 - MAX_NAME :]}"
    return _HARMFUL.sub("_", name)


class _OtherFormError(Exception):
    """The fact is no graph."""


def _tensor(fact: Any, tensors: int, nodes: int) -> Named:
    """A named tensor, in a graph of so many tensors and nodes."""
    parts = _fields(
        fact,
        name=str,
        shape=str,
        leaf=bool,
        requires_grad=bool,
        version=int | None,
        made_by=int | None,
        output=int,
        storage=int,
        same=int | None,
        grad=bool,
        retains=bool,
    )
    _need(bool(parts["name"]) and _SIZES.fullmatch(parts["shape"]) is not None)
    parts["name"], parts["shape"] = _harmless(parts["name"]), _harmless(parts["shape"])
    parts["made_by"] = _index(parts["made_by"], nodes)
    parts["same"] = _index(parts["same"], tensors)
    for name in ("version", "output", "storage"):
        parts[name] = _number(parts[name]) if parts[name] is not None else None
    return Named(**parts)


def _node(fact: Any, tensors: int, nodes: int) -> Node:
    """A node, in a graph of so many tensors and nodes."""
    parts = _fields(fact, op=str, next=list, leaf=str | None, named=int | None, grad=bool, saved=list)
    _need(bool(parts["op"]) and (parts["leaf"] is None or _SIZES.fullmatch(parts["leaf"]) is not None))
    _need(len(parts["next"]) <= MAX_NEXT and len(parts["saved"]) <= MAX_SAVED)
    indices = [_index(index, nodes) for index in parts["next"]]
    return Node(
        _harmless(parts["op"]),
        tuple(dict.fromkeys(index for index in indices if index is not None)),
        None in indices,
        None if parts["leaf"] is None else _harmless(parts["leaf"]),
        _index(parts["named"], tensors),
        parts["grad"],
        tuple(_saved(each, tensors) for each in parts["saved"]),
    )


def _saved(fact: Any, tensors: int) -> Saved:
    _need(type(fact) is list and len(fact) == 5)
    name, state, then, now, partner = fact
    _need(type(name) is str and type(state) is str and state in _STATES)
    then, now = (None if number is None else _number(number) for number in (then, now))
    return Saved(_harmless(name), state, then, now, _index(partner, tensors))


def _fields(fact: Any, **kinds: Any) -> dict[str, Any]:
    """The fields of a dict that has exactly these, of exactly these types."""
    _need(type(fact) is dict and fact.keys() == kinds.keys())
    for name, kind in kinds.items():
        # bool is an int to isinstance, but not to a reader
        _need(isinstance(fact[name], kind) and (type(fact[name]) is not bool or kind is bool))
    return dict(fact)


def _index(index: Any, length: int) -> int | None:
    """An index into a list of this length, or None."""
    _need(index is None or (type(index) is int and 0 <= index < length))
    return index  # type: ignore[no-any-return]


def _number(number: Any) -> int:
    _need(type(number) is int and 0 <= number < _MAX_NUMBER)
    return number  # type: ignore[no-any-return]


def _need(condition: bool) -> None:
    if not condition:
        raise _OtherFormError
