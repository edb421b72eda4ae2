"""The nodes of the autograd graph behind some tensors, and the word ``graph``, which describes it for JSON.

torch's C++ is asked through what was captured before any student's code: the node of a
``torch.autograd.Function`` is an object whose attributes the student writes. No backward and no hook is run,
and nothing is changed. The form, whose lists are cut off so that the whole fits into an answer:

``tensors``  a dict for each named tensor: ``name``, ``shape`` ("3x2"), ``leaf``, ``requires_grad``,
             ``version`` (None for inference tensors), ``made_by`` (index in ``nodes``, or None), ``output``
             (which of the node's), ``storage`` (equal on the same memory), ``same`` (index of an earlier name
             of the same object, or None), ``grad`` (whether it has a gradient), ``retains``, ``expanded``
             (whether several of its entries are one number in memory).
``nodes``    a dict for each, nearest first: ``op`` (class name), ``next`` (indices of the nodes to which the
             gradient travels; None for all that are left out), ``leaf`` (a leaf's sizes, None for an
             operation), ``named`` (index in ``tensors``, or None), ``grad``, ``saved``: ``[name, state,
             version when saved, version now, index of a named tensor on the same memory, or None]``.
``more``     whether nodes, arrows or tensors are missing: ``more_nodes`` and ``more_tensors`` of them.
``total``    how many nodes are behind the first tensor; 5,001 where there are more than 5,000.
``freed``, ``stale``  how many of these, up to the nearest 5,000, have saved tensors in this state.

A saved tensor is ``current``, ``freed`` (a backward used it up), ``stale`` (overwritten since), ``detached``
(in place since), ``packed`` (held by a hook, which is not called) or ``unreadable``. What is current and on
no named tensor's memory is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from . import errors
from .named_tensors import Given
from .originals import (
    AccumulateGrad,
    PythonNode,
    builtins_copy,
    class_dict_of,
    identity,
    is_inference,
    next_of_python_node,
    output_number,
    raw_saved_by_python_node,
    requires_grad,
    retains_grad,
    saved_by_python_node,
    saved_data_of,
    shape_of,
    strides_of,
    unpack_hook_of,
    variable_of,
    version_of,
)
from .torch_objects import is_leaf, is_tensor, made_by, memory_key, read_grad, storage_of

__builtins__ = builtins_copy()


class Walk:
    """The nodes behind some tensors, the nearest first; it holds them, so that no id is used twice.

    ``indices`` has the index of each by its id; ``after`` the indices of the nodes to which its gradient
    travels, None for a node that was left out.
    """

    def __init__(self, results: list[Any], most: int) -> None:
        self.nodes: list[Any] = []
        self.indices: dict[int, int] = {}
        self.after: list[list[int | None]] = []
        self._most = most
        for node in map(made_by, results):
            if node is not None:
                self._meet(node)
        while len(self.after) < len(self.nodes):
            after = _next(self.nodes[len(self.after)])
            self.after.append([self._meet(node) for node, _ in after if node is not None])

    @property
    def is_cut(self) -> bool:
        """Whether there are more nodes than it took."""
        return any(index is None for after in self.after for index in after)

    def _meet(self, node: Any) -> int | None:
        """The index of a node, perhaps a new index; None if there are too many."""
        index = self.indices.get(identity(node))
        if index is None and len(self.nodes) < self._most:
            index = self.indices[identity(node)] = len(self.nodes)
            self.nodes.append(node)
        return index


def behind(tensor: Any) -> list[Any]:
    """All nodes behind a tensor; it records less than a ``Walk``."""
    first = made_by(tensor) if is_tensor(tensor) else None
    reached = {} if first is None else {identity(first): first}
    waiting = list(reached.values())
    while waiting:
        for node, _ in _next(waiting.pop()):
            if node is not None and identity(node) not in reached:
                reached[identity(node)] = node
                waiting.append(node)
    return list(reached.values())


def leaf_of(node: Any) -> Any:
    """The leaf into whose ``.grad`` a node adds; None for an operation."""
    return variable_of(node) if type(node) is AccumulateGrad else None


_readers: dict[int, Any] = {}  # by the id of a class of torch's own, which is never freed


def _next(node: Any) -> Any:
    kind = type(node)
    read = _readers.get(identity(kind))
    if read is None:
        if issubclass(kind, PythonNode):
            return next_of_python_node(node)
        read = _readers[identity(kind)] = getter(kind, "next_functions")
    return read(node)


# The states of the tensors that a node saved for its backward. No hook is run.

_search = re.compile(r"at version (\d+); expected version (\d+)").search
_OVERWRITTEN = "needed for gradient computation"
_FREED, _DETACHED = "backward through the graph a second time", "detached in-place"
_SAVED, _RAW = "_saved_", "_raw_saved_"

#: A saved tensor: its name, its state, its version when it was saved and now, and itself if it can be read.
State = tuple[str, str, int | None, int | None, Any]


def states(node: Any) -> list[State]:
    """The saved tensors of a node, each with its state."""
    kind = type(node)
    if issubclass(kind, PythonNode):
        return _state("saved", node, raw_saved_by_python_node, saved_by_python_node)
    names = [name.removeprefix(_RAW) for name in class_dict_of(kind) if name.startswith(_RAW)]
    readers = ((name, getter(kind, _RAW + name), getter(kind, _SAVED + name)) for name in names)
    return [state for name, read_raw, read in readers for state in _state(name, node, read_raw, read)]


def _state(name: str, node: Any, read_raw: Any, read: Any) -> list[State]:
    """A saved tensor, or several that torch holds under the same name."""
    raw: tuple[Any, ...] = ()
    try:
        given = read_raw(node)
        raw = given if type(given) is tuple else (given,)
        if any(unpack_hook_of(saved) is not None for saved in raw if saved is not None):
            return [(name, "packed", None, None, None)]  # to read it would run the hook, which is a student's
        values = read(node)
    except RuntimeError as error:
        state, saved, now = _why(errors.error_text(error))
        holds = state == "stale" and len(raw) == 1
        return [(name, state, saved, now, saved_data_of(raw[0]) if holds else None)]
    several = type(values) is tuple or type(values) is list
    return [
        (f"{name}[{index}]" if several else name, "current", version, version, value)
        for index, value in enumerate(values if several else (values,))
        if is_tensor(value)
        for version in [None if is_inference(value) else version_of(value)]
    ]


def explains(tensor: Any, text: str) -> bool:
    """Whether saved tensors behind a tensor are as torch's error says: a hook can raise its words."""
    said, *_ = _why(text)
    causes = {said, "packed", "unreadable"}
    if said == "unreadable":  # torch's error about an overwritten tensor contains versions
        return _OVERWRITTEN not in text
    return any(s in causes for node in behind(tensor) for _, s, *_ in states(node))


def _why(text: str) -> tuple[str, int | None, int | None]:
    """Why a saved tensor cannot be read, by torch's own text, and its versions."""
    versions = _search(text)
    if versions is not None:
        return "stale", int(versions[2]), int(versions[1])
    if _FREED in text:
        return "freed", None, None
    return ("detached" if _DETACHED in text else "unreadable"), None, None


def getter(kind: type, name: str) -> Any:
    """A descriptor of a node's class, which is C++'s own and cannot be written to."""
    return class_dict_of(kind)[name].__get__


# The word ``graph``.


class Bounds(NamedTuple):
    """How much of a graph is described."""

    tensors: int
    nodes: int
    arrows: int  # of a node
    saved: int  # tensors of a node


IN_AN_ANSWER = Bounds(tensors=48, nodes=40, arrows=8, saved=4)
COUNTED = 5_000  # nodes; 60 ms
_MAX_DIMENSIONS = 8


def graph(**named: Any) -> dict[str, Any]:
    """The autograd graph behind named tensors; other objects that a student returned are left out."""
    return graph_of(Given(named).tensors, IN_AN_ANSWER)


def forward_order(tensors: list[tuple[str, Any]]) -> list[int]:
    """A number for each node of ``graph_of``; operations that ran later have larger numbers."""
    nodes = Walk([tensor for _, tensor in tensors], COUNTED).nodes
    return [
        getter(PythonNode if issubclass(type(n), PythonNode) else type(n), "_sequence_nr")(n)() for n in nodes
    ]


def graph_of(tensors: list[tuple[str, Any]], bounds: Bounds) -> dict[str, Any]:
    """The autograd graph behind tensors, each with its name, in the form described above."""
    return _Graph(tensors, bounds).as_data()


class _Graph:
    def __init__(self, given: list[tuple[str, Any]], bounds: Bounds) -> None:
        self._bounds = bounds
        self._first = [tensor for _, tensor in given[:1]]
        self._walk = Walk([tensor for _, tensor in given], COUNTED)
        self._shown = self._walk.nodes[: bounds.nodes]
        self._named = given if len(given) <= bounds.tensors else self._most_wanted(given)
        self._more_tensors = len(given) - len(self._named)
        self._names = {identity(tensor): index for index, (_, tensor) in reversed([*enumerate(self._named)])}
        memory = [_memory_of(tensor) for _, tensor in self._named]
        self._storages = {key: number for number, key in enumerate(dict.fromkeys(memory))}
        self._groups = [self._storages[key] for key in memory]  # of tensors on the same memory

    def _most_wanted(self, given: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """As many tensors as the bounds allow: the first, then those of shown nodes, then others."""
        leaves = {identity(leaf_of(node)) for node in self._shown}
        first, *others = given
        others.sort(key=lambda pair: identity(pair[1]) not in leaves and self._node_of(pair[1]) is None)
        return [first, *others[: self._bounds.tensors - 1]]

    def _node_of(self, tensor: Any) -> int | None:
        """The index of the node that made a tensor, if it is shown."""
        return self._if_shown(self._walk.indices.get(identity(made_by(tensor))))

    def _if_shown(self, index: int | None) -> int | None:
        return index if index is not None and index < len(self._shown) else None

    def as_data(self) -> dict[str, Any]:
        """The graph in the form described above."""
        shown = [*zip(self._shown, self._walk.after, strict=False)]
        more_nodes = len(self._walk.nodes) - len(shown) + self._walk.is_cut
        is_wide = any(len(after) > self._bounds.arrows for _, after in shown)
        behind = Walk(self._first, COUNTED)
        found = [{state for _, state, *_ in states(node)} for node in behind.nodes]
        return {
            "tensors": [self._tensor(index, *pair) for index, pair in enumerate(self._named)],
            "nodes": [self._node(*pair) for pair in shown],
            "more": bool(more_nodes or self._more_tensors or is_wide),
            "more_nodes": more_nodes,
            "more_tensors": self._more_tensors,
            "total": len(behind.nodes) + behind.is_cut,
            "freed": sum("freed" in of_node for of_node in found),
            "stale": sum(not of_node.isdisjoint(("stale", "detached")) for of_node in found),
        }

    def _tensor(self, index: int, name: str, tensor: Any) -> dict[str, Any]:
        first = self._names[identity(tensor)]
        return {
            "name": name,
            "shape": _sizes(tensor),
            "leaf": is_leaf(tensor),
            "requires_grad": requires_grad(tensor),
            "version": None if is_inference(tensor) else version_of(tensor),
            "made_by": self._node_of(tensor),
            "output": output_number(tensor),
            "storage": self._groups[index],
            "same": None if first == index else first,
            "grad": read_grad(tensor) is not None,
            "retains": retains_grad(tensor),
            "expanded": _is_expanded(tensor),
        }

    def _node(self, node: Any, after: list[int | None]) -> dict[str, Any]:
        leaf = leaf_of(node)
        is_known = is_tensor(leaf)
        most, shown = self._bounds.arrows, [*map(self._if_shown, after)]
        return {
            "op": errors.class_name(type(node)),
            "next": shown if len(shown) <= most else [*shown[: most - 1], None],
            "leaf": _sizes(leaf) if is_known else None,
            "named": self._names.get(identity(leaf)) if is_known else None,
            "grad": is_known and read_grad(leaf) is not None,
            "saved": [*islice(self._remarkable(states(node)), self._bounds.saved)],
        }

    def _remarkable(self, saved: list[State]) -> Iterator[list[Any]]:
        """Saved tensors that are not as usual."""
        for name, state, then, now, tensor in saved:
            partner = self._partner(state, tensor)
            if state != "current" or partner is not None:
                yield [name, state, then, now, partner]

    def _partner(self, state: str, saved: Any) -> int | None:
        """The named tensor on a saved tensor's memory: a constant, or what may have overwritten it."""
        if saved is None or (state == "current" and requires_grad(saved)):
            return None
        group = self._storages.get(_memory_of(saved))
        indices = [index for index, its in enumerate(self._groups) if its == group]
        constants = [index for index in indices if not requires_grad(self._named[index][1])]
        return next(iter(constants if state == "current" else constants + indices), None)


def _memory_of(tensor: Any) -> int:
    return memory_key(tensor, storage_of(tensor))


def _is_expanded(tensor: Any) -> bool:
    """Whether a step along a dimension stays on the same number; of a sparse tensor nothing is known."""
    try:
        strides = strides_of(tensor)
    except RuntimeError:
        return False
    return any(size > 1 and step == 0 for size, step in zip(shape_of(tensor), strides, strict=True))


def _sizes(tensor: Any) -> str:
    return "x".join(map(str, shape_of(tensor)[:_MAX_DIMENSIONS])) or "scalar"
