"""The message if a function returned None instead of a value: which ``return`` gave None, and why."""

from __future__ import annotations

from grader.sandbox.values import ReturnedNone
from grader.text import code, quoted

#: By the cause: why the value of an expression was None, and what to do next.
_CAUSES = {
    "grad": (
        "{value} was None. `backward()` fills the `.grad` of leaves that require grad and that the"
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
    "None": "the task asks for a value.",
    "value": "{value} was None. Print it in the line above to see where it becomes None.",
}


def why_none(returned: ReturnedNone) -> str:
    """The diagnosis of a function that returned None in every call.

    It asks "is a return missing?" only if no ``return`` has a value.
    """
    message = f"{code(returned.function)} returned None"
    if returned.ended == "without a value":
        return f"{message}: is a return missing?"
    if returned.ended == "":
        return f"{message} instead of a value. Print the value in the line above its `return`."
    why = _CAUSES.get(returned.cause, _CAUSES["value"]).format(value=quoted(returned.value))
    is_direct = returned.statement in (returned.value, f"return {returned.value}")
    source = "" if is_direct else f", whose value comes from {quoted(returned.value)}"
    return f"{message} at {quoted(returned.statement)}{source}: {why}"
