"""An autograd graph behind named tensors, as far as it is shown; read from a worker's facts field by field.

The worker's side of the form is described in ``grader/sandbox/worker/graph.py``. Its names are a student's.
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
    """A saved tensor of an operation.

    Attributes:
        name: what the operation calls it, such as ``self``.
        state: ``current``, ``freed``, ``stale``, ``detached``, ``packed`` or ``unreadable``.
        then: its version counter when it was saved, where that is known.
        now: its version counter now.
        partner: index of a named tensor on its memory.
    """

    name: str
    state: str
    then: int | None
    now: int | None
    partner: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the autograd graph: an operation, or the AccumulateGrad of a leaf.

    Attributes:
        next: indices of the nodes its gradient travels to, as far as they are shown.
        goes_on: whether it travels to others too.
        leaf: None for an operation, else the leaf's sizes.
        named: index of the leaf among the named tensors.
        grad: whether the leaf has a ``.grad``.
        saved: its saved tensors, without those that are current and on no named tensor's memory.
    """

    op: str
    next: tuple[int, ...]
    goes_on: bool
    leaf: str | None
    named: int | None
    grad: bool
    saved: tuple[Saved, ...]

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
    """A tensor that the author of a picture named.

    Attributes:
        name: in a harmless alphabet, cut.
        shape: such as ``3x2``, or ``scalar``.
        version: its version counter, None for an inference tensor.
        made_by: index of the node that made it, None for a leaf and beyond what is shown.
        output: which output of that node it is.
        storage: equal for tensors on the same memory.
        same: index of an earlier name of the same object.
        retains: whether it is a non-leaf that keeps its gradient.
    """

    name: str
    shape: str
    leaf: bool
    requires_grad: bool
    version: int | None
    made_by: int | None
    output: int
    storage: int
    same: int | None
    grad: bool
    retains: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph behind some named tensors, as far as it is shown.

    Attributes:
        nodes: the nearest first.
        more: whether something is left out.
        total: how many nodes are behind the first tensor, at most ``MOST + 1``.
        freed: how many of these, up to the nearest ``MOST``, have freed saved tensors.
        stale: how many of them have stale saved tensors.
    """

    tensors: tuple[Named, ...]
    nodes: tuple[Node, ...]
    more: bool
    total: int
    freed: int
    stale: int

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
        reader = _Reader(len(tensors), len(nodes))
        return Graph(
            tuple(map(reader.tensor, tensors)),
            tuple(map(reader.node, nodes)),
            parts["more"],
            *(_number(parts[name]) for name in ("total", "freed", "stale")),
        )
    except _OtherFormError:
        return None


def harmless(name: str) -> str:
    """A name reduced to letters, digits, ``_ . [ ]``; of a long one the beginning and the end."""
    if len(name) > MAX_NAME:
        name = f"{name[:10]}..{name[12 - MAX_NAME :]}"
    return _HARMFUL.sub("_", name)


class _OtherFormError(Exception):
    """The fact is no graph."""


class _Reader:
    """Reads parts that refer to each other by indices."""

    def __init__(self, tensors: int, nodes: int) -> None:
        self._tensors, self._nodes = tensors, nodes

    def tensor(self, fact: Any) -> Named:
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
        parts["name"], parts["shape"] = harmless(parts["name"]), harmless(parts["shape"])
        parts["made_by"] = _index(parts["made_by"], self._nodes)
        parts["same"] = _index(parts["same"], self._tensors)
        for name in ("version", "output", "storage"):
            parts[name] = _number(parts[name]) if parts[name] is not None else None
        return Named(**parts)

    def node(self, fact: Any) -> Node:
        parts = _fields(fact, op=str, next=list, leaf=str | None, named=int | None, grad=bool, saved=list)
        _need(bool(parts["op"]) and (parts["leaf"] is None or _SIZES.fullmatch(parts["leaf"]) is not None))
        _need(len(parts["next"]) <= MAX_NEXT and len(parts["saved"]) <= MAX_SAVED)
        indices = [_index(index, self._nodes) for index in parts["next"]]
        return Node(
            harmless(parts["op"]),
            tuple(dict.fromkeys(index for index in indices if index is not None)),
            None in indices,
            None if parts["leaf"] is None else harmless(parts["leaf"]),
            _index(parts["named"], self._tensors),
            parts["grad"],
            tuple(map(self._saved, parts["saved"])),
        )

    def _saved(self, fact: Any) -> Saved:
        _need(type(fact) is list and len(fact) == 5)
        name, state, then, now, partner = fact
        _need(type(name) is str and type(state) is str and state in _STATES)
        then, now = (None if number is None else _number(number) for number in (then, now))
        return Saved(harmless(name), state, then, now, _index(partner, self._tensors))


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
