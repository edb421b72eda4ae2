"""The words ``spy`` and ``graph_at``, which watch the calls of a module."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

import torch

from .facts import Snap, snap
from .graph import behind, graph, register_prehook
from .torch_objects import is_tensor, made_by

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_module_dict = torch.nn.Module.__dict__["__dict__"].__get__
_output_number = torch._C.TensorBase.__dict__["output_nr"].__get__
_detach, _add = torch._C.TensorBase.detach, torch._C.TensorBase.add
_type, _id, _issubclass = type, id, issubclass


def spy(module: Any, *, gradients: bool = False, once_per: str | None = None) -> list[dict[str, Any]]:
    """A list that fills with a record of every call, of ``module(x)`` and ``module.forward(x)`` alike.

    It stays the real module. Its ``forward`` is watched, because a hook would miss code that calls it
    directly; nothing leads from there to the records. With ``once_per``, of several calls with the same value
    the first that recorded a history counts, else the first.
    """
    records = _Records(once_per)
    forward = module.forward
    code = getattr(forward, "__wrapped__", forward).__code__
    names = code.co_varnames[1 : code.co_argcount]  # without self

    def watched(*args: Any, **kwargs: Any) -> Any:
        given = {**dict.fromkeys(names), **dict(zip(names, args, strict=False)), **kwargs}
        inputs = {name: _snap_all(value) for name, value in given.items()}
        gradient = {"gradient": None} if gradients else {}
        record = records.begin({"inputs": inputs, "output": None, "nodes": 0, **gradient})
        output = forward(*args, **kwargs)
        first = next(tuple.__iter__(output), None) if _is_tuple(output) else output
        record.update(output=_snap_all(output), nodes=len(behind(first)))
        records.end(record)
        if gradients:
            _listen(first, record)
        return output

    _module_dict(module)["forward"] = replacement(module, forward, watched)
    return records.calls


class _Records:
    """The records of a spy: of every call, or of every value of an argument."""

    def __init__(self, once_per: str | None) -> None:
        self.calls: list[dict[str, Any]] = []
        self._once_per = once_per
        self._indices: dict[Any, int] = {}

    def begin(self, record: dict[str, Any]) -> dict[str, Any]:
        """Record a call before it runs, for it may stop with an error."""
        if self._key(record) not in self._indices:
            self._indices[self._key(record)] = len(self.calls)
            self.calls.append(record)
        return record

    def end(self, record: dict[str, Any]) -> None:
        """A call that recorded a history replaces a call that did not."""
        index = self._indices[self._key(record)]
        if record["nodes"] and not self.calls[index]["nodes"]:
            self.calls[index] = record

    def _key(self, record: dict[str, Any]) -> Any:
        """What is equal for calls of the same step."""
        given = record["inputs"].get(self._once_per)
        if self._once_per is None or _type(given) is not Snap:
            return _id(record)
        value = given.fields["value"]
        return _id(given.tensor) if value is None else (*given.fields["shape"], value)


def _listen(output: Any, record: dict[str, Any]) -> None:
    """Add up the gradients that arrive at the node of an output."""
    node = made_by(output) if is_tensor(output) else None
    if node is None:
        return
    index = _output_number(output)

    def arrived(arriving: tuple[Any, ...]) -> None:
        gradient = arriving[index]
        if is_tensor(gradient):
            before, now = record["gradient"], _detach(gradient)
            record["gradient"] = now if before is None else _add(before, now)

    register_prehook(node, opaque(arrived))


def replacement(module: Any, forward: Any, watched: Callable[..., Any]) -> Any:
    """What stands for a module's forward; a copy of the module has its own, unwatched."""
    substitute = opaque(watched)

    def copied(memo: dict[int, Any]) -> Any:
        copy = memo.get(_id(module))
        return substitute if copy is None else _type(copy).forward.__get__(copy)

    substitute.__deepcopy__, substitute.__wrapped__ = opaque(copied), forward
    return substitute


def _snap_all(value: Any) -> Any:
    return tuple(map(snap, tuple.__iter__(value))) if _is_tuple(value) else snap(value)


def _is_tuple(value: Any) -> bool:
    return _issubclass(_type(value), tuple)


# Our callables that students' code can call. A Python function shows its closure and its globals to all code
# that holds it: as a module's ``forward`` or as a hook on saved tensors it would hand out our records.

_wrapper: Any = functools._lru_cache_wrapper
_cache_info = functools._CacheInfo


def opaque(function: Any) -> Any:
    """The same callable as an object of C, which shows nothing: a cache that keeps nothing only calls."""
    return _wrapper(function, 0, False, _cache_info)


# The word ``graph_at``: the graph at the n-th call of a module, before the backward behind it.

_is_grad_enabled = torch.is_grad_enabled
_next = next


def graph_at(  # noqa: PLR0913 - each is asked for by some picture
    module: Any,
    call: int = 1,
    *,
    steps: Any = None,
    after: int = 0,
    last: int = 2,
    into: str = "entering",
    **named: Any,
) -> Callable[[], Any]:
    """The graph as it is when a module is called for the n-th time while gradients are recorded."""
    calls: list[dict[str, Any]] = [] if steps is None else spy(steps)
    drawn: list[Any] = []
    forward, counted = module.forward, [0, 0]  # calls of the module, and steps that were known at the last

    def watched(*args: Any, **kwargs: Any) -> Any:
        if not _is_grad_enabled():
            calls[counted[1] :] = [record for record in calls[counted[1] :] if record["nodes"]]
        elif len(calls) >= after:
            counted[:] = counted[0] + 1, len(calls)
            if counted[0] == call:
                given = args[0] if args else _next(iter(kwargs.values()), None)
                drawn.append(graph(**_states(calls[-last:], given, into), **named))
        return forward(*args, **kwargs)

    _module_dict(module)["forward"] = replacement(module, forward, watched)
    return lambda: drawn[0] if drawn else None


def _states(calls: list[dict[str, Any]], given: Any, into: str) -> dict[str, Any]:
    """The states of some calls, the last first; what enters a step as it left another comes once."""
    states: list[tuple[str, Any]] = []
    before: Any = None
    for number, record in enumerate(calls, start=1):
        entered = _tensors(_next(iter([*record["inputs"].values()][1:]), None))
        left = _tensors(record["output"])
        if not _are_same(entered, before):
            states.append(("start" if number == 1 else f"h_into_step_{number}", entered))
        states.append((f"h{number}", left))
        before = left
    is_named = any(_are_same(state, given) for _, state in states)
    return dict(([] if is_named else [(into, given)]) + states[::-1])


def _tensors(fact: Any) -> Any:
    if _type(fact) is tuple:
        return tuple(_tensors(part) for part in fact)
    return fact.tensor if _type(fact) is Snap else fact


def _are_same(one: Any, other: Any) -> bool:
    if _type(one) is tuple and _type(other) is tuple and len(one) == len(other):
        return all(a is b for a, b in zip(one, other, strict=True))
    return one is other
