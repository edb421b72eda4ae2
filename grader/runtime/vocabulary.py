"""The words an @inside function may use, bound before any student's code ran.

``grader/inside.py`` names them outside; what they take, give and do not see stands in ``grader/inside.pyi``.
"""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from . import errors, gradients, kinds, torch_objects
from .encoding import Raised, key_text, snap
from .graph import graph
from .opaque import sealed_function
from .originals import (
    builtins_copy,
    catch_warnings,
    collect_garbage,
    identity,
    is_warn_always_enabled,
    seed_numpy,
    seed_python,
    seed_torch,
    set_warn_always,
    simplefilter,
    weak_reference,
)
from .watching import graph_at

__builtins__ = builtins_copy()


class _Request:
    """The state of the request that runs now.

    Attributes:
        seed: from which those of its cases and calls are derived; None if calls seed nothing.
        calls: how often students' functions were called in it.
    """

    seed: int | None = None
    calls = 0


def reseed(number: int) -> None:
    """Let every random generator start again, in 1 us where ``torch.manual_seed`` takes 90."""
    seed_torch(number)
    seed_python(number)
    seed_numpy(number & 0xFFFFFFFF)  # the generator students' code draws from


def begin_request(seed: int | None) -> None:
    """Forget the marks of earlier requests, and seed everything for the next; None seeds as 0 does."""
    _marks.clear()
    gradients.begin_request(seed or 0)
    _Request.calls = 0
    _Request.seed = None if seed is None else gradients.derived(seed, b"calls")
    reseed(gradients.derived(seed or 0, b"inputs"))  # which student code can read with torch.initial_seed()


def seed_of_case(number: int) -> int:
    """A seed for a case of a contract; students' code learns it of the present case only."""
    return gradients.derived(_Request.seed or 0, b"case %d" % number)


def end_call() -> None:
    """Seed everything again: what a student's function drew or seeded changes no later input."""
    kinds.note_end_of_call()
    _Request.calls += 1
    if _Request.seed is not None:
        reseed(gradients.derived(_Request.seed, b"%d" % _Request.calls))
    kinds.note_reseed()


def state(thing: Any) -> dict[str, Any]:
    """Snaps of everything a module or an optimizer holds; TypeError if it is neither."""
    if torch_objects.is_module(thing):
        parts = {part: torch_objects.named(thing, f"_{part}") for part in ("parameters", "buffers")}
        return {part: {name: snap(held) for name, held in named.items()} for part, named in parts.items()}
    if not torch_objects.is_optimizer(thing):
        raise TypeError(f"{errors.class_name(type(thing))} is neither a module nor an optimizer")
    groups, memory = torch_objects.groups_of(thing), torch_objects.memory_of(thing)
    return {
        "groups": [[snap(p) for p in group] for group in groups],
        "state": [
            {key_text(k): snap(v) for k, v in memory.get(identity(p), ())} for group in groups for p in group
        ],
    }


def attempt(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of a function, or the error that it raised, as an observation."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return Raised(error)


def warned(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    """The function's result, and the texts of the warnings it caused, also through a filter that it left.

    Torch gives some warnings once per process; here it also gives those that a cell has caused before.
    """
    gives_all = is_warn_always_enabled()
    set_warn_always(True)
    try:
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            before = [*warnings.filters]
            result = function(*args, **kwargs)
            left = ["a filter of warnings is left"] if [*warnings.filters] != before else []
    finally:
        set_warn_always(gives_all)
    return result, left + [str(warning.message)[:300] for warning in caught[:20]]


def _marked(node: Any, x: Any) -> Any:
    _marks.append(weak_reference(node))  # which lives exactly as long as its graph
    return x.clone()


@sealed_function
class _Mark(torch.autograd.Function):
    """The identity, on a node that is watched."""

    forward = staticmethod(_marked)
    backward = staticmethod(lambda ctx, *grad_outputs: grad_outputs[0])  # noqa: ARG005 - as torch names them


_marks: list[weakref.ref[Any]] = []


def mark(tensor: Any) -> Any:
    """The same values on a graph node whose life ``alive`` watches, except under no_grad."""
    return _Mark.apply(tensor)  # type: ignore[no-untyped-call]


def alive(at_most: int = 0) -> int:
    """The number of marked graphs that are alive; above ``at_most``, garbage is collected first."""
    if sum(node() is not None for node in _marks) > at_most:
        collect_garbage()
    return sum(node() is not None for node in _marks)


_FUNCTIONS = (
    *(snap, state, attempt, warned, mark, alive, graph, graph_at),
    *(gradients.gradients, gradients.vjp),
)
_NOTING = {"note": kinds.note}  # which is of C, and has a name of its own
WORDS = {
    "torch": torch,
    "nn": nn,
    "F": functional,
    "math": math,
    **{function.__name__: function for function in _FUNCTIONS},
    **_NOTING,
}
