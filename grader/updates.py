"""Outside: ``assert_updates``, which tells how the steps of an optimizer were other than they should be."""

from __future__ import annotations

from typing import Any

from grader.cases import cases
from grader.comparison import assert_close
from grader.observation import Sides

_ELSEWHERE = (
    "opt was given the right gradient, but after its step the parameters are not where it leads: something "
    "else has changed them, or the groups or the state of opt."
)


def assert_updates(seen: Any, expected: Any = None, *, each: str = "step", hint: str = "") -> None:
    """Fail unless an optimizer was given the right gradients, one after the other, and nothing else happened.

    Args:
        seen: what ``with updates(...) as made`` filled; or a case of such, and then nothing is given for
            `expected`.
        expected: the same of the reference.
        each: what each step belongs to, as a student knows it: "minibatch".
        hint: what helps where a gradient is wrong.

    Raises:
        AssertionError: the number of steps, or the first gradient or parameters that are not right.
    """
    if expected is None and isinstance(seen, Sides):
        seen, expected = seen
    behind = f"\n\n{hint}" if hint else ""
    made, number = len(seen["steps"]), len(expected["steps"])
    times = {0: "never called", 1: "called once"}.get(made, f"called {made} times")
    assert made == number, f"opt.step() was {times}; one call for each {each} makes {number}.{behind}"
    others = {"what stood in .grad before your call": expected["before"]}
    for step in cases((seen["steps"], expected["steps"]), each=each.capitalize()):
        gradient, right = step["gradient"]
        assert gradient is not None, "When opt made its step, the .grad of a parameter that learns was None."
        why = f"When opt made its step, .grad was not that of the loss this {each} should have."
        assert_close(gradient, right, f"{why}{behind}", others)
        assert_close(*step["place"], _ELSEWHERE)
        others[f"the gradient of {each} {step.name.rpartition(' ')[2]}"] = right
    assert_close(seen["end"], expected["end"], "After the last step of opt you changed parameters.")
    assert_close(
        seen["memory"], expected["memory"], "After the last step of opt you changed what opt remembers."
    )
