"""The word ``graph_at``, which watches the calls of modules."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .graph import graph
from .opaque import opaque
from .originals import builtins_copy, is_grad_enabled, module_dict_of, referents_of
from .torch_objects import is_tensor, made_by

__builtins__ = builtins_copy()


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
    calls: list[dict[str, Any]] = [] if steps is None else _calls_of(steps)
    drawn: list[Any] = []
    forward, counted = module.forward, [0, 0]  # calls of the module, and steps that were known at the last

    def watched(*args: Any, **kwargs: Any) -> Any:
        if not is_grad_enabled():
            calls[counted[1] :] = [record for record in calls[counted[1] :] if record["has_history"]]
        elif len(calls) >= after:
            counted[:] = counted[0] + 1, len(calls)
            if counted[0] == call:
                given = args[0] if args else next(iter(kwargs.values()), None)
                drawn.append(graph(**_states(calls[-last:], given, into), **named))
        return forward(*args, **kwargs)

    module_dict_of(module)["forward"] = replacement(module, forward, watched)
    return lambda: drawn[0] if drawn else None


def _calls_of(module: Any) -> list[dict[str, Any]]:
    """A list that fills with a record of every call, of ``module(x, state)`` and ``module.forward`` alike.

    The ``forward`` is watched, because a hook would miss code that calls it directly.
    """
    calls: list[dict[str, Any]] = []
    forward = module.forward
    code = _python_function(forward).__code__
    names = code.co_varnames[2 : code.co_argcount]  # without self and what is no state

    def watched(*args: Any, **kwargs: Any) -> Any:
        entered = args[1] if args[1:] else next((kwargs[name] for name in names if name in kwargs), None)
        record: dict[str, Any] = {"entered": _plain(entered), "left": None, "has_history": False}
        calls.append(record)  # before it runs, for it may stop with an error
        output = forward(*args, **kwargs)
        left = record["left"] = _plain(output)
        first = next(iter(left), None) if type(left) is tuple else left
        record["has_history"] = is_tensor(first) and made_by(first) is not None
        return output

    module_dict_of(module)["forward"] = replacement(module, forward, watched)
    return calls


def _python_function(forward: Any) -> Any:
    """The Python function behind a ``forward``: behind our replacement, a bound method and `opaque`."""
    forward = getattr(forward, "__wrapped__", forward)
    function = getattr(forward, "__func__", forward)
    if type(function) is types.FunctionType:
        return function
    return next(f for f in referents_of(function) if type(f) is types.FunctionType)


def _plain(value: Any) -> Any:
    """A tuple of any class as one of Python's own; anything else as it is."""
    return tuple(tuple.__iter__(value)) if issubclass(type(value), tuple) else value


def _states(calls: list[dict[str, Any]], given: Any, into: str) -> dict[str, Any]:
    """The states of some calls, the last first; what enters a step as it left another comes once."""
    states: list[tuple[str, Any]] = []
    before: Any = None
    for number, record in enumerate(calls, start=1):
        if not _are_same(record["entered"], before):
            states.append(("start" if number == 1 else f"h_into_step_{number}", record["entered"]))
        states.append((f"h{number}", record["left"]))
        before = record["left"]
    is_named = any(_are_same(state, given) for _, state in states)
    return dict(([] if is_named else [(into, given)]) + states[::-1])


def _are_same(one: Any, other: Any) -> bool:
    if type(one) is tuple and type(other) is tuple and len(one) == len(other):
        return all(a is b for a, b in zip(one, other, strict=True))
    return one is other


def replacement(module: Any, forward: Any, watched: Callable[..., Any]) -> Any:
    """A watched stand-in for a module's forward; a copy of the module has its own forward, unwatched."""
    substitute = opaque(watched)

    def copied(memo: dict[int, Any]) -> Any:
        copy = memo.get(id(module))
        return substitute if copy is None else type(copy).forward.__get__(copy)

    substitute.__deepcopy__, substitute.__wrapped__ = opaque(copied), forward
    return substitute
