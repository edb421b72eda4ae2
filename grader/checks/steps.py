"""``steps``: the calls of a module; ``assert_updates``: the steps of an optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.checks.cases import Case, cases
from grader.checks.check import WithoutHintError
from grader.checks.comparison import assert_close
from grader.checks.observation import Sides
from grader.sandbox.facts import Tensor

_ELSEWHERE = (
    "opt was given the right gradient, but after its step {} not where it leads: something else has changed "
    "{}, or the groups or the state of opt."
)
_NONE = "no loss that went back is connected to it, or it was cleared before the step."


@dataclass(frozen=True)
class Step:
    """A call of a module that ``spy`` watched.

    Attributes:
        entered: the state, which is the argument beside that of ``once_per``: None if it was left out, a dict
            by name if there are several.
        left: the output.
        nodes: the number of nodes of the autograd graph that the output reaches.
        gradient: what arrived at the output in all backward passes; None if nothing did, or ``spy`` did not
            ask for it.
    """

    entered: Any
    left: Any
    nodes: int
    gradient: Any = None

    @property
    def has_history(self) -> bool:
        """Whether the state was computed; None, from which a cell starts with zeros, was not."""
        parts = self.entered if isinstance(self.entered, list | tuple) else [self.entered]
        return any(isinstance(part, Tensor) and part.grad_fn is not None for part in parts)


def steps(calls: Sequence[Mapping[str, Any]], once_per: str = "input") -> list[Step]:
    """The facts of a ``spy(module, once_per="input")`` as steps; `once_per` does not count as the state."""
    return [_step(call, once_per) for call in calls]


def _step(call: Mapping[str, Any], once_per: str) -> Step:
    others = {name: fact for name, fact in call["inputs"].items() if name != once_per}
    entered = next(iter(others.values()), None) if len(others) < 2 else others
    return Step(entered, call["output"], call["nodes"], call.get("gradient"))


def chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """The items in groups of `size`, as the steps of equally long minibatches; the last may be smaller."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def assert_updates(
    seen: Any, expected: Any = None, *, each: str = "step", of: str = "", hint: str = ""
) -> None:
    """Fail unless an optimizer was given the right gradients, in order, and nothing else happened.

    Args:
        seen: what ``with updates(...) as made`` filled; or a case of such, without `expected`.
        expected: the same of the reference.
        each: what each step belongs to, as a student knows it: "minibatch".
        of: the name of what learns, if that is a single tensor: "h0". If no gradient is expected, 0 is as
            good. The number of steps is not checked then, only that there is a step.
        hint: behind the sentence about a missing or wrong gradient.

    Raises:
        WithoutHintError: the number of steps is wrong, and that says all.
        AssertionError: the first wrong gradient or wrong parameters; with `of`, also that no step was made.
    """
    if expected is None and isinstance(seen, Sides):
        seen, expected = seen
    behind = f"\n\n{hint}" if hint else ""
    made, number = len(seen["steps"]), len(expected["steps"])
    times = {0: "never called", 1: "called once"}.get(made, f"called {made} times")
    if of:
        assert made, "opt.step() was never called."
    elif made != number:
        raise WithoutHintError(f"opt.step() was {times}; one call for each {each} makes {number}.")
    others, both = {"what stood in .grad before your call": expected["before"]}, min(made, number)
    numbered = each.capitalize() if number > 1 else ""  # a single step needs no number
    for step in cases((seen["steps"][:both], expected["steps"][:both]), each=numbered):
        _assert_gradient(step, each, of, behind, others)
        elsewhere = (f"{of} is", "it") if of else ("the parameters are", "them")
        assert_close(*step["place"], _ELSEWHERE.format(*elsewhere))
        others[f"the gradient of {each} {step.name.rpartition(' ')[2]}"] = step.expected["gradient"]
    assert_close(
        seen["end"], expected["end"], f"After the last step of opt you changed {of or 'parameters'}."
    )
    assert_close(
        seen["memory"], expected["memory"], "After the last step of opt you changed what opt remembers."
    )


def _assert_gradient(step: Case, each: str, of: str, behind: str, others: Mapping[str, Any]) -> None:
    seen, right = step["gradient"]
    grad = f"{of}.grad" if of else ".grad"
    if of and right is None:
        is_nothing = seen is None or (seen.value is not None and not any(seen.value))
        filled = (
            f"When opt made its step, {grad} was filled: the loss of this {each} reached {of}, or an older"
        )
        assert is_nothing, f"{filled} gradient was not cleared.{behind}"
        return
    missing = of or next(iter(step.seen["missing"]), "a parameter that learns")
    assert seen is not None, f"When opt made its step, {missing}.grad was None: {_NONE}{behind}"
    why = f"When opt made its step, {grad} was not that of the loss this {each} should have."
    assert_close(seen, right, why + behind, others)
