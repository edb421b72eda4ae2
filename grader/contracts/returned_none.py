"""The message if a function returned None instead of a value: which ``return`` gave None, and why."""

from __future__ import annotations

from grader.sandbox.values import ReturnedNone
from grader.text import quoted

#: By the cause: why the value of an expression was None, and what to do next.
_CAUSES = {
    "grad": (
        "{value} held no gradient. `backward()` fills the `.grad` of leaves that require grad and that the"
        " loss was computed from. If the tensor is not a leaf, read the `.grad` of the leaf, or call"
        " `retain_grad()` before `backward()`."
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

    It asks "is a return missing?" only if no ``return`` has a value.
    """
    message = f"{returned.function} returned None"
    if returned.ended == "without a value":
        return f"{message}: is a return missing?"
    if returned.ended == "":
        return f"{message} instead of a value. Print the value in the line above its `return`."
    why = _CAUSES.get(returned.cause, _CAUSES["value"]).format(value=quoted(returned.value))
    is_direct = returned.statement in (returned.value, f"return {returned.value}")
    source = "" if is_direct else f", whose value is that of {quoted(returned.value)}"
    return f"{message}, by {quoted(returned.statement)}{source}: {why}"
