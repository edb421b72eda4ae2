"""The functions that @inside functions can call, as an editor shows them. They exist only in the worker.

A paragraph that begins with a usage (``snap(t)``: ...) is an entry of a list in docs/authoring.md, which
``python docs/words.py`` writes. An @inside function may return the results of these functions.
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
    """A tensor's state at one moment. An @inside function only returns it; outside it is a ``Tensor``."""

class Raised:
    """A caught error. An @inside function only returns it; ``raised`` reads it outside."""

def snap(tensor: Any) -> Any:
    """`snap(t)`: the state of a tensor now, whose identity and storage stay comparable with later results

    Args:
        tensor: of any shape and dtype; anything else is returned unchanged.

    Returns:
        A `Snap`: shape, dtype, up to 4,096 elements in row-major order, ``is_leaf``, ``requires_grad``, the
        name of ``grad_fn``, version, identity, memory, and a snap of ``.grad``. Within torch.func it looks
        through the wrappers: the elements are those of the content, and what vmap maps over comes first.

    Misses: hooks, attributes, and the elements of sparse and meta tensors.
    """

def note(value: Any) -> None:
    """`note(x)`: record an argument of a function or network of the check file, with `record=["given"]`

    Args:
        value: a tensor is recorded as it is now.
    """

def state(thing: nn.Module | torch.optim.Optimizer) -> dict[str, Any]:
    """`state(x)`: for a module, `{"parameters": {name: snap}, "buffers": {name: snap}}`; for an optimizer,
    `{"groups": [[snap]], "state": [{key: snap}]}`

    Args:
        thing: read without calling anything that its class defines.

    Returns:
        For a module, full names; a shared tensor is under each of its names. For an optimizer, one entry of
        ``state`` for each parameter, in the order of the groups.

    Raises:
        TypeError: `thing` is neither.

    Misses: options of the groups (``lr``), modes and hooks.
    """

def attempt(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`attempt(f, *args)`: the return value of `f`, or the error that it raised

    Returns:
        The value itself, or a `Raised`. Wrap a later step that may raise; otherwise its error hides the other
        observations.

    Misses: side effects of `f` before it raised.
    """

def warned(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    """`warned(f, *args)`: `(return value of f, texts of its warnings)`

    Returns:
        The value, and at most 20 texts of at most 300 characters. A filter of warnings that it leaves is also
        a text.
    """

def mark(tensor: Tensor) -> Tensor:
    """`mark(t)`: a tensor with the same values, on a marked graph

    Args:
        tensor: must require grad; under no_grad there is no graph to mark.

    Returns:
        A tensor of the same shape and values, one node farther from its leaves.
    """

def alive(at_most: int = 0) -> int:
    """`alive()`: the number of graphs marked in this request that are alive

    Args:
        at_most: a count up to which garbage may count too, which saves the time of collecting it.

    Misses: memory that is held without a graph.
    """

def graph(**named: Any) -> dict[str, Any]:
    """`graph(**named)`: the autograd graph of named tensors, for a `@picture`; a module adds its parameters
    (`cell.weight_hh`), and a list or tuple adds its items (`state[0]`)

    Args:
        named: the result first, because its nodes are counted. At most 48 tensors and 40 nodes are drawn.

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
    """`graph_at(readout, 2, h0=h0)`: a function that returns the graph at the second call of `readout` in
    grad mode

    `graph_at(readout, steps=cell, after=4, last=2)`: the graph at the first call of `readout` after four
    steps of `cell`, with the states of the last two

    Args:
        module: its later calls are watched.
        call: the number of the call, from 1; calls under no_grad don't count.
        steps: a cell, whose states are called ``h1``, ``h2`` and ``start``, or ``h_into_step_2`` where what
            enters a step is not what left the one before.
        after: calls of the module before this number of steps don't count, because an answer may read out
            several steps at once.
        last: the number of steps in the picture.
        into: the name of the module's input, if it is none of these states.
        named: more tensors, as for `graph`.

    Returns:
        A function for the end of a `@picture`. It returns None if the module was not called often enough.
    """

def gradients(
    output: Tensor | Callable[[], Any] | None,
    others: Mapping[str, Any] | None = None,
    *,
    by: Literal["grad", "backward"] = "grad",
    **named: Any,
) -> dict[str, Any]:
    """`gradients(loss, left=w1, right=w2)`: the gradients of named tensors for a random cotangent of `loss`,
    or the reason or error if there are none. `loss` may be a function that returns the loss

    `gradients(loss, {"the first w": w}, model=model, losses=losses)`: the same with any names; a module adds
    its parameters, and a list adds its items

    `gradients(loss, by="backward", w=w)`: the same for leaves with `backward()`, for code that doesn't
    support `autograd.grad`, such as a reentrant checkpoint

    Args:
        output: of any shape, or a function without arguments that computes it.
        others: more tensors by name.
        by: "backward" fills the ``.grad`` of leaves and restores it afterwards.
        named: tensors. The graph stays alive, and every ``.grad`` unchanged.

    Returns:
        ``{"output", "gradients", "frozen"}``: a snap; gradients in the shapes of the tensors, or None, for a
        cotangent of about 1,000 in each entry, so that a clipped gradient shows; and the names of tensors
        that don't require grad, which get no gradient.

    Misses: with "backward", non-leaves; leaves that only a checkpoint uses keep the addition to their
    ``.grad``.
    """

def vjp(output: Tensor, *inputs: Tensor) -> list[Tensor | None]:
    """`vjp(y, *xs)`: vector-Jacobian products with a random cotangent, computed by torch's engine directly

    Returns:
        v^T (d output / d input) for each input, in its shape, or None if the output doesn't depend on it.

    Raises:
        RuntimeError: as torch.autograd.grad does, so wrap it in `attempt`.
    """

def inside(definition: Definition) -> Definition:
    """Mark a helper function or class that contracts and pictures send to the worker.

    Raises:
        CourseError: it uses a name that cannot be sent.
    """
