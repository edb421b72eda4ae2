"""Inside: the word ``graph_at``, the graph at the n-th call of a module, before the backward behind it."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import torch

from . import facts
from .graph import graph
from .spy import in_its_place, spy

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_module_dict = torch.nn.Module.__dict__["__dict__"].__get__
_is_grad_enabled = torch.is_grad_enabled
_type, _next = type, next


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
    """The graph as it is when a module is called for the n-th time while gradients are recorded.

    Args:
        module: a readout, say; it is watched from now on.
        call: at which of its calls, from 1.
        steps: a cell whose states of the last steps are in the picture, the newest first: ``h2``, ``h1`` and
            ``start``, or ``h_into_step_2`` where what enters a step is not what left the one before. Steps
            without a history that a call of the module under no_grad follows do not count.
        after: calls of the module before so many steps do not count: who reads several steps out at once
            calls it less often.
        last: so many steps are in the picture.
        into: what the first argument of the module is called, where that is none of these states.
        named: more tensors, as for ``graph``.

    Returns:
        A function that gives the graph, or None where the module was not called so often.
    """
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

    _module_dict(module)["forward"] = in_its_place(module, forward, watched)
    return lambda: drawn[0] if drawn else None


def _states(calls: list[dict[str, Any]], given: Any, into: str) -> dict[str, Any]:
    """The states of some calls, the last first; one that enters a step as it left one has one name only."""
    states: list[tuple[str, Any]] = []
    before: Any = None
    for number, record in enumerate(calls, start=1):
        entered, left = (
            _tensors(_next(iter([*record["inputs"].values()][1:]), None)),
            _tensors(record["output"]),
        )
        if not _are_same(entered, before):
            states.append(("start" if number == 1 else f"h_into_step_{number}", entered))
        states.append((f"h{number}", left))
        before = left
    known = any(_are_same(state, given) for _, state in states)
    return dict(([] if known else [(into, given)]) + states[::-1])


def _tensors(fact: Any) -> Any:
    """The tensor of a snap, or those of a tuple of snaps."""
    if _type(fact) is tuple:
        return tuple(_tensors(part) for part in fact)
    return fact.tensor if _type(fact) is facts.Snap else fact


def _are_same(one: Any, other: Any) -> bool:
    """Whether two states are the same objects."""
    if _type(one) is tuple and _type(other) is tuple and len(one) == len(other):
        return all(a is b for a, b in zip(one, other, strict=True))
    return one is other
