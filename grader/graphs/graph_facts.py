"""Reads an autograd graph from a worker's facts, checked field by field; its names are a stranger's.

The worker's side of the form is described in ``grader/sandbox/worker/graph.py``.
"""

from __future__ import annotations

import re
from typing import Any

from grader.graphs.model import Graph, Named, Node, Saved

MAX_TENSORS, MAX_NODES, MAX_NEXT, MAX_SAVED = 24, 40, 8, 4  # the worker's own bounds
MAX_NAME = 28
_MAX_NUMBER = 1 << 31
_STATES = {"current", "freed", "stale", "detached", "packed", "unreadable"}
_HARMFUL = re.compile(r"[^A-Za-z0-9_.\[\]]")
_SIZES = re.compile(r"scalar|\d{1,19}(x\d{1,19}){0,7}", re.ASCII)


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
    """Reads parts that refer to each other by places."""

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
        parts["made_by"] = _place(parts["made_by"], self._nodes)
        parts["same"] = _place(parts["same"], self._tensors)
        for name in ("version", "output", "storage"):
            parts[name] = _number(parts[name]) if parts[name] is not None else None
        return Named(**parts)

    def node(self, fact: Any) -> Node:
        parts = _fields(fact, op=str, next=list, leaf=str | None, named=int | None, grad=bool, saved=list)
        _need(bool(parts["op"]) and (parts["leaf"] is None or _SIZES.fullmatch(parts["leaf"]) is not None))
        _need(len(parts["next"]) <= MAX_NEXT and len(parts["saved"]) <= MAX_SAVED)
        places = [_place(place, self._nodes) for place in parts["next"]]
        return Node(
            harmless(parts["op"]),
            tuple(dict.fromkeys(place for place in places if place is not None)),
            None in places,
            None if parts["leaf"] is None else harmless(parts["leaf"]),
            _place(parts["named"], self._tensors),
            parts["grad"],
            tuple(map(self._saved, parts["saved"])),
        )

    def _saved(self, fact: Any) -> Saved:
        _need(type(fact) is list and len(fact) == 5)
        name, state, then, now, partner = fact
        _need(type(name) is str and type(state) is str and state in _STATES)
        then, now = (None if number is None else _number(number) for number in (then, now))
        return Saved(harmless(name), state, then, now, _place(partner, self._tensors))


def _fields(fact: Any, **kinds: Any) -> dict[str, Any]:
    """The fields of a dict that has exactly these, of exactly these types."""
    _need(type(fact) is dict and fact.keys() == kinds.keys())
    for name, kind in kinds.items():
        # bool is an int to isinstance, but not to a reader
        _need(isinstance(fact[name], kind) and (type(fact[name]) is not bool or kind is bool))
    return dict(fact)


def _place(place: Any, length: int) -> int | None:
    """A place in a list of this length, or None."""
    _need(place is None or (type(place) is int and 0 <= place < length))
    return place  # type: ignore[no-any-return]


def _number(number: Any) -> int:
    _need(type(number) is int and 0 <= number < _MAX_NUMBER)
    return number  # type: ignore[no-any-return]


def _need(condition: bool) -> None:
    if not condition:
        raise _OtherFormError
