"""The words of @inside functions, as an editor shows them. They exist in the worker only: nothing here can be
called outside.

A paragraph that begins with a usage (``snap(t)``: ...) is a row of the table in docs/authoring.md, which
``python docs/words.py`` writes from this file. What such a function returns may hold what a word gives.
"""

import math as math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import torch as torch
from torch import Tensor
from torch import nn as nn
from torch.nn import functional as _functional

F = _functional
Definition = TypeVar("Definition")

class Snap:
    """Facts of a tensor at one moment. An @inside function only returns it; outside it is a ``Tensor``."""

class Raised:
    """An error that was caught, as a fact. Such a function only returns it; ``raised`` reads it outside."""

def snap(tensor: Any) -> Any:
    """`snap(t)`: facts of a tensor as it is now; keeps identity and storage comparable with what is returned
    later

    Args:
        tensor: of any shape and dtype; anything else is passed on as it is.

    Returns:
        A `Snap`: shape, dtype, up to 4,096 elements in row-major order, ``is_leaf``, ``requires_grad``, the
        name of ``grad_fn``, version, identity, memory, and a snap of ``.grad``. Within torch.func it looks
        through the wrappers: the elements are those of the content, and what vmap maps over comes first.

    Does not see: hooks and attributes, and the elements of sparse and meta tensors.
    """

def note(value: Any) -> None:
    """`note(x)`: remembers what a function or a network of the check file was called with, for a contract
    with `notes=["given"]`; nothing leads from there to what is remembered

    Args:
        value: a tensor is remembered as it is now.
    """

def state(thing: nn.Module | torch.optim.Optimizer) -> dict[str, Any]:
    """`state(x)`: a module: `{"parameters": {name: snap}, "buffers": {name: snap}}`; an optimizer:
    `{"groups": [[snap]], "state": [{key: snap}]}`

    Args:
        thing: it is read past everything that its class may define.

    Returns:
        Of a module the full names, a shared one under each of its names. Of an optimizer one entry of
        ``state`` for each parameter, in the order of the groups.

    Raises:
        TypeError: it is neither.

    Does not see: options of the groups (``lr``), modes and hooks.
    """

def attempt(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`attempt(f, *args)`: what `f` returns, or the error it raised

    Returns:
        The value itself, or a `Raised`. A later step that may raise goes through this word; otherwise its
        error hides the other facts.

    Does not see: what `f` did before it raised.
    """

def warned(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    """`warned(f, *args)`: `(what f returns, texts of the warnings it caused)`, and of a filter it leaves

    Returns:
        The value, and at most 20 texts of at most 300 characters.

    Does not see: warnings that torch's C++ gives once a process, if they were given before.
    """

def mark(tensor: Tensor) -> Tensor:
    """`mark(t)`, `alive()`: the same values on a graph whose life is watched; how many marked graphs are
    alive

    Args:
        tensor: it requires grad; under no_grad there is no graph to watch.

    Returns:
        A tensor of the same shape and values, one node farther from its leaves.
    """

def alive(at_most: int = 0) -> int:
    """How many of the graphs that went through `mark` in this request are alive.

    Args:
        at_most: a count up to which garbage may count too, which saves the time of collecting it.

    Does not see: memory that is held without a graph.
    """

def graph(**named: Any) -> dict[str, Any]:
    """`graph(**named)`: the autograd graph behind named tensors, for a `@picture`; a module stands for its
    parameters (`cell.weight_hh`), a list or a tuple for its items (`state[0]`)

    Args:
        named: the result first, for the nodes behind it are counted. At most 48 tensors and 40 nodes are
        told.

    Returns:
        What a `@picture` returns.
    """

def graph_at(
    module: nn.Module,
    call: int = 1,
    *,
    steps: nn.Module | None = None,
    after: int = 0,
    last: int = 2,
    into: str = "entering",
    **named: Any,
) -> Callable[[], dict[str, Any] | None]:
    """`graph_at(readout, 2, h0=h0)`: a function that gives the graph as it was when `readout` was called for
    the second time while gradients were recorded

    `graph_at(readout, steps=cell, after=4, last=2)`: the same at its first call after four steps of `cell`,
    with the states of the last two

    Args:
        module: its calls are watched from now on.
        call: at which of them, from 1; those under no_grad do not count.
        steps: a cell, whose states are called ``h1``, ``h2`` and ``start``, or ``h_into_step_2`` where what
            enters a step is not what left the one before.
        after: calls of the module before so many steps do not count: who reads several steps out at once
            calls it less often.
        last: so many steps are in the picture.
        into: what enters the module is called so, where it is none of these states.
        named: more tensors, as for `graph`.

    Returns:
        A function, for the end of a `@picture`: it gives None where the module was not called so often.
    """

def gradients(
    output: Tensor | Callable[[], Any] | None,
    others: Mapping[str, Any] | None = None,
    *,
    by: Literal["grad", "backward"] = "grad",
    **named: Any,
) -> dict[str, Any]:
    """`gradients(loss, left=w1, right=w2)`: what arrives at named tensors when `loss` (or a function that
    computes it) goes back with a random cotangent, or why nothing does: it raises no error of a student's
    code, and `assert_gradients` tells what became of it

    `gradients(loss, {"the first w": w}, model=model, losses=losses)`: a dict for names that Python has not;
    a module stands for its parameters, a list for its items

    `gradients(loss, by="backward", w=w)`: the same for what refuses `autograd.grad`, as a reentrant
    checkpoint does

    Args:
        output: of any shape, or a function without arguments that computes it.
        others: more tensors by name.
        by: "backward" fills the ``.grad`` of leaves and puts back what they held.
        named: tensors. The graph is kept, and no ``.grad`` is touched.

    Returns:
        ``{"output", "gradients", "frozen"}``: a snap; gradients in the shapes of the tensors, None where none
        arrives, for a cotangent of about 1,000 in each entry, so that a clipped gradient shows; and the names
        that require no grad, which are not asked for.

    Does not see: with "backward" tensors that are no leaves, and leaves only a checkpoint knows of keep what
    was added to their ``.grad``.
    """

def vjp(output: Tensor, *inputs: Tensor) -> list[Tensor | None]:
    """`vjp(y, *xs)`: vector-Jacobian products with a random cotangent, through torch's engine itself

    Returns:
        v^T (d output / d input) for each input, in its shape, or None where the output does not depend on it.

    Raises:
        RuntimeError: as torch.autograd.grad does, so it goes through `attempt`.
    """

def inside(definition: Definition) -> Definition:
    """Mark a helper function or class that is sent with the contracts and pictures which use it.

    Raises:
        CourseError: it uses a name that does not travel.
    """
