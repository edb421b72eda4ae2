"""The message where a function returned None instead of a value: which ``return`` gave None, and why."""

from __future__ import annotations

from grader.sandbox.facts import ReturnedNone
from grader.text import quoted

#: By the cause: why the value of an expression was None, and what to do next.
_CAUSES = {
    "not a leaf": (
        "{x} is not a leaf{node}, so `backward()` does not fill {grad}. Read the `.grad` of the leaf, or call"
        " {retain} before `backward()`."
    ),
    "does not require grad": (
        "{x} does not require grad, so `backward()` does not fill {grad}. Call {switch} before the"
        " computation."
    ),
    "nothing retained": (
        "{x} retains its gradient, but no gradient had reached it when {grad} was read. Call `retain_grad()`"
        " before `backward()`, and read `.grad` after it."
    ),
    "nothing stored": (
        "{x} is a leaf that requires grad, but {grad} held no gradient when it was read. Call `backward()`"
        " first, on a loss that was computed from {x}."
    ),
    "grad": (
        "{value} held no gradient. `backward()` fills the `.grad` of a tensor that the loss was computed from"
        " if it is a leaf that requires grad, or if `retain_grad()` was called on it before."
    ),
    "backward": (
        "`backward()` returns None. It adds gradients to the `.grad` of leaves: read them there, or call"
        " `torch.autograd.grad`, which returns them."
    ),
    "call": (
        "the call {value} returns None. If it changes an object, return that object. If it calls a function"
        " of yours, check the `return` there."
    ),
    "None": "a value is expected.",
    "value": "{value} was None. Print it in the line above to see where that comes from.",
}


def why_none(returned: ReturnedNone) -> str:
    """The diagnosis of a function that returned None in every call.

    It says "is a return missing?" only where no ``return`` gave a value.
    """
    told = f"{returned.function} returned None"
    if returned.ended == "without a value":
        return f"{told}: is a return missing?"
    if returned.ended == "":
        return f"{told} instead of a value. Print the value in the line above its `return`."
    x = returned.tensor
    why = _CAUSES.get(returned.cause, _CAUSES["value"]).format(
        value=quoted(returned.value),
        x=quoted(x),
        grad=quoted(f"{x}.grad"),
        retain=quoted(f"{x}.retain_grad()"),
        switch=quoted(f"{x}.requires_grad_()"),
        node=f" ({quoted(f'grad_fn=<{returned.grad_fn}>')})" if returned.grad_fn else "",
    )
    is_direct = returned.statement in (returned.value, f"return {returned.value}")
    source = "" if is_direct else f", whose value is that of {quoted(returned.value)}"
    return f"{told}, by {quoted(returned.statement)}{source}: {why}"
