"""The words ``gradients`` and ``vjp``, by torch's engine itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from . import errors, torch_objects
from .encoding import Raised, snap
from .graph import behind, explains, leaf_of
from .named_tensors import Given
from .originals import (
    builtins_copy,
    dtype_of,
    equal,
    multiply,
    numel,
    ones_like,
    randn,
    requires_grad,
    run_backward,
    set_grad,
    sha256,
    shape_of,
)

__builtins__ = builtins_copy()

_generator = torch.Generator()
_drawn = [0, 0]  # the seed of this request, and how many cotangents were drawn in it
_overwritten = [False]  # whether a gradient that went back in `gradients` was written to on its way
#: Cotangents by kind, from random numbers; they are large, so that clipped gradients differ.
_COTANGENTS: dict[str, Callable[[Any], Any]] = {
    "typical": lambda numbers: multiply(numbers, 1e3),
    "huge": lambda numbers: multiply(numbers, 1e30),
    "of a mean": lambda numbers: ones_like(numbers) / max(1, numel(numbers)),
}
_kind = ["typical"]


class UnconfirmedError(Exception):
    """An error in the words of torch's check of saved tensors, although no saved tensor failed that check."""


def begin_request(seed: int) -> None:
    """Let the cotangents start again."""
    _drawn[:] = [derived(seed, b"cotangents"), 0]
    _overwritten[:], _kind[:] = [False], ["typical"]


def begin_case(number: int, arriving: str) -> None:
    """Derive the cotangents of a case from its number, independently of earlier cases."""
    _kind[:] = [arriving]
    _drawn[1] = 1000 * number
    _overwritten[:] = [False]


def derived(seed: int, use: bytes) -> int:
    """A seed for one use; it reveals neither the original seed nor the seeds for other uses."""
    return int.from_bytes(sha256(b"%d %b" % (seed, use)).digest()[:8])


def vjp(output: Any, *inputs: Any) -> list[Any]:
    """Vector-Jacobian products v^T (d output / d input) with a random cotangent v, for each input.

    v is drawn after the student's code ran, from a generator it cannot foresee, and is the same for the
    reference. The graph is kept, and no ``.grad`` is touched.
    """
    _drawn[1] += 1
    return list(_asked(output, inputs, _cotangent(output)))


def gradients(
    output: Any, others: Mapping[str, Any] | None = None, *, by: str = "grad", **named: Any
) -> dict[str, Any]:
    """The gradients of named tensors for an output and a random cotangent, 1000 times that of `vjp`.

    Errors of a student's code are returned, not raised. With ``by="backward"`` the gradients are read from
    ``.grad``, for graphs that refuse torch.autograd.grad; then every ``.grad`` is restored.
    """
    _drawn[1] += 1  # so that what becomes of this output changes the cotangent of no other
    try:
        if not torch_objects.is_tensor(output) and callable(output):
            output = output()
    except Exception as error:
        return {"output": Raised(error), "gradients": {}, "frozen": []}
    leaves = dict(Given({**(others or {}), **named}).tensors)
    frozen = [name for name, leaf in leaves.items() if not requires_grad(leaf)]
    arrived = _back(output, leaves, set(frozen), by)
    return {"output": snap(output), "gradients": arrived, "frozen": frozen}


def _back(output: Any, leaves: dict[str, Any], frozen: set[str], by: str) -> Any:
    """The gradients by name, or the error that was raised."""
    none = dict.fromkeys(leaves)
    if not torch_objects.is_tensor(output) or not requires_grad(output):
        return none
    asked = {name: leaf for name, leaf in leaves.items() if name not in frozen}
    cotangent = _COTANGENTS[_kind[0]](_cotangent(output))
    handed = multiply(cotangent, 1)
    ways = {"grad": _asked, "backward": _filled}
    try:
        arrived = ways[by](output, tuple(asked.values()), handed) if asked else ()
    except Exception as error:
        text = errors.error_text(error)
        return Raised(error if explains(output, text) else UnconfirmedError(text))
    _overwritten[0] = _overwritten[0] or not equal(cotangent, handed)
    return {**none, **dict(zip(asked, arrived, strict=True))}


def was_overwritten() -> bool:
    """Whether a gradient that went back was written to on its way, since this was asked last."""
    answer, _overwritten[0] = _overwritten[0], False
    return answer


def _asked(output: Any, inputs: tuple[Any, ...], cotangent: Any) -> Any:
    """As torch.autograd.grad does; the graph is kept."""
    return run_backward((output,), (cotangent,), True, False, inputs, True, accumulate_grad=False)


def _filled(output: Any, inputs: tuple[Any, ...], cotangent: Any) -> list[Any]:
    """The gradients that backward() accumulates in some leaves; then every ``.grad`` is restored."""
    reached = (leaf_of(node) for node in behind(output))
    leaves = [*inputs, *(leaf for leaf in reached if torch_objects.is_tensor(leaf))]
    before = [(leaf, torch_objects.read_grad(leaf)) for leaf in leaves]
    try:
        for leaf in leaves:
            set_grad(leaf, None)
        run_backward((output,), (cotangent,), True, False, (), True, accumulate_grad=True)
        return [torch_objects.read_grad(leaf) for leaf in inputs]
    finally:
        for leaf, gradient in before:
            set_grad(leaf, gradient)


def reach(leaves: list[Any]) -> bool:
    """Whether random numbers that are sent to leaves arrive in their ``.grad``, which is overwritten."""
    for leaf in leaves:
        set_grad(leaf, None)
    sent = [_cotangent(leaf) for leaf in leaves]
    handed = tuple(multiply(gradient, 1) for gradient in sent)
    try:
        run_backward(tuple(leaves), handed, True, False, (), True, accumulate_grad=True)
    except Exception:
        return False
    arrived = [torch_objects.read_grad(leaf) for leaf in leaves]
    return all(here is not None and equal(here, gone) for here, gone in zip(arrived, sent, strict=True))


def _cotangent(output: Any) -> Any:
    """Random numbers in the shape of an output, by the seed and how many were drawn before."""
    _generator.manual_seed(derived(_drawn[0], b"%d" % _drawn[1]))
    return randn(shape_of(output), dtype=dtype_of(output), generator=_generator)
