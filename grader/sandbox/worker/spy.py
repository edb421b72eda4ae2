"""Inside: the word ``spy``, which records the calls of a module where the code that calls it cannot reach."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import torch

from . import facts, nodes
from .opaque import opaque

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_module_dict = torch.nn.Module.__dict__["__dict__"].__get__
_output_number = torch._C.TensorBase.__dict__["output_nr"].__get__
_detach, _add = torch._C.TensorBase.detach, torch._C.TensorBase.add
_type, _id, _issubclass = type, id, issubclass


def snap(tensor: Any) -> Any:
    """Facts of a tensor as it is now; anything else is passed on as it is."""
    return facts.Snap(tensor) if facts.is_tensor(tensor) else tensor


def spy(module: Any, *, gradients: bool = False, once_per: str | None = None) -> list[dict[str, Any]]:
    """A list that fills with a record of every call, ``module(x)`` and ``module.forward(x)`` alike.

    A record is ``{"inputs": {parameter name: snap}, "output": snap, "nodes": int}``: its arguments by
    the names ``forward`` gives them, at call time, None for one that was left out; what it returned (a tuple
    of snaps for a tuple); and how many autograd nodes the output reaches. It stays the real module; only its
    ``forward`` is watched, because a hook would miss code that calls ``forward`` itself. The records cannot
    be reached from there.

    Args:
        module: it is watched from now on.
        gradients: whether each record also has ``"gradient"``: what arrived at the output (at the first of a
            tuple) in all backward passes since, None where nothing did. A call that no loss depends on is
            no part of what was computed, whatever it shows.
        once_per: the name of an argument whose values differ from step to step. Then the list has one record
            for each of its values, in the order in which these came, and `steps` reads it outside. Of several
            calls the first that recorded a history counts, else the first: whoever looks at a loss under
            no_grad, or lets a checkpoint compute again, makes no step by that.
    """
    records = _Records(once_per)
    forward = module.forward
    code = getattr(forward, "__wrapped__", forward).__code__
    names = code.co_varnames[1 : code.co_argcount]  # without self

    def watched(*args: Any, **kwargs: Any) -> Any:
        given = {**dict.fromkeys(names), **dict(zip(names, args, strict=False)), **kwargs}
        inputs = {name: _snap_all(value) for name, value in given.items()}
        heard = {"gradient": None} if gradients else {}
        record = records.begin({"inputs": inputs, "output": None, "nodes": 0, **heard})
        output = forward(*args, **kwargs)
        first = next(tuple.__iter__(output), None) if _is_tuple(output) else output
        record.update(output=_snap_all(output), nodes=len(nodes.behind(first)))
        records.end(record)
        if gradients:
            _listen(first, record)
        return output

    _module_dict(module)["forward"] = in_its_place(module, forward, watched)
    return records.calls


class _Records:
    """The records of a spy: of every call, or one for each value of an argument."""

    def __init__(self, once_per: str | None) -> None:
        self.calls: list[dict[str, Any]] = []
        self._once_per = once_per
        self._places: dict[Any, int] = {}

    def begin(self, record: dict[str, Any]) -> dict[str, Any]:
        """Take up a call, so that it is known if it stops with an error."""
        if self._key(record) not in self._places:
            self._places[self._key(record)] = len(self.calls)
            self.calls.append(record)
        return record

    def end(self, record: dict[str, Any]) -> None:
        """A call that recorded a history takes the place of one that did not."""
        place = self._places[self._key(record)]
        if record["nodes"] and not self.calls[place]["nodes"]:
            self.calls[place] = record

    def _key(self, record: dict[str, Any]) -> Any:
        """What is equal for calls that are one step."""
        given = record["inputs"].get(self._once_per)
        if self._once_per is None or _type(given) is not facts.Snap:
            return _id(record)
        value = given.fields["value"]
        return _id(given.tensor) if value is None else (*given.fields["shape"], value)


def _listen(output: Any, record: dict[str, Any]) -> None:
    """Add up the gradients that arrive at the node which made an output."""
    node = facts.made_by(output) if facts.is_tensor(output) else None
    if node is None:
        return
    place = _output_number(output)

    def arrived(arriving: tuple[Any, ...]) -> None:
        gradient = arriving[place]
        if facts.is_tensor(gradient):
            before, now = record["gradient"], _detach(gradient)
            record["gradient"] = now if before is None else _add(before, now)

    nodes.register_prehook(node, opaque(arrived))


def in_its_place(module: Any, forward: Any, watched: Callable[..., Any]) -> Any:
    """What stands for a module's forward; a copy of the module has its own, which nobody watches."""
    standing = opaque(watched)

    def copied(memo: dict[int, Any]) -> Any:
        copy = memo.get(_id(module))
        return standing if copy is None else _type(copy).forward.__get__(copy)

    standing.__deepcopy__, standing.__wrapped__ = opaque(copied), forward
    return standing


def _snap_all(value: Any) -> Any:
    return tuple(map(snap, tuple.__iter__(value))) if _is_tuple(value) else snap(value)


def _is_tuple(value: Any) -> bool:
    return _issubclass(_type(value), tuple)
