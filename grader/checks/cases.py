"""Facts that come several times: the cases of a probe, the calls of a module, the steps of an optimizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.checks.comparison import assert_close
from grader.checks.diagnosis import finding_of
from grader.checks.finding import FailedCheckError, wrong
from grader.checks.observation import Observation, Sides, other_form
from grader.errors import CourseError
from grader.sandbox.facts import Raised, Tensor

_ELSEWHERE = (
    "opt was given the right gradient, but after its step {} not where it leads: something else has changed "
    "{}, or the groups or the state of opt."
)
_NONE = "no loss that went back is connected to it, or it was cleared before the step."

#: Probes, cases, and pairs of what was seen and what is expected; or a dict of these by name.
Cased = Sides | tuple[Any, Any] | Mapping[str, Sides | tuple[Any, Any]]


class Case(Sides):
    """The seen and the expected facts of a case; its `name` begins a failure.

    Cases of the same `kind` differ in a number only.
    """

    def __init__(self, name: str, seen: Any, expected: Any, kind: str | None = None) -> None:
        self.name, self._any_form, self.expected = name, seen, expected
        self.kind = name if kind is None else kind

    @cached_property
    def seen(self) -> Any:
        """The facts of the submission; FailedCheckError if they have another form, or are an error."""
        if isinstance(self._any_form, Raised) and not isinstance(self.expected, Raised):
            raise FailedCheckError(finding_of(self._any_form, "unobserved"))
        if mismatch := other_form(self._any_form, self.expected):
            raise FailedCheckError(mismatch)
        return self._any_form


#: The cases that loops over `cases` are at, the outermost first.
_in_use: list[Case] = []


def cases_in_use() -> tuple[Case, ...]:
    """The cases at which a check is, or was when it failed, the outermost first."""
    return tuple(_in_use)


def forget_cases(keep: int = 0) -> None:
    """Leave the inner loops, all but `keep`: what failed has left its loops as they were."""
    del _in_use[keep:]


def cases(*probes: Cased, each: str = "") -> Iterator[Case]:
    """The cases of some probes; a failure in the loop over them begins with the name of its case.

    In ``for case in cases(masked):`` a failure reads ``With an empty batch: f is not ...``. A case with an
    error that ``attempt`` caught fails as soon as its facts are used.

    Args:
        probes: each a probe, a case or an entry of either, whose facts are a dict of cases by name or a list
            of cases without names; or a dict of probes, each a case of that name.
        each: the name of a list's cases: "Minibatch" for "Minibatch 1".

    Raises:
        CourseError: the facts are neither a dict nor a list.
    """
    depth = len(_in_use)
    for probe in probes:
        for case in _cases_of(probe, each):
            _in_use[depth:] = [case]
            yield case
    del _in_use[depth:]


def _cases_of(probe: Cased, each: str) -> Iterator[Case]:
    if isinstance(probe, Mapping):
        yield from (Case(name, *sides) for name, sides in probe.items())
        return
    sides = Case("", *probe) if isinstance(probe, tuple) else probe
    expected, seen = sides.expected, _seen_cases(sides)
    if isinstance(expected, dict):
        yield from (Case(name, seen.get(name), right) for name, right in expected.items())
    elif isinstance(expected, list | tuple):
        for number, pair in enumerate(zip(seen, expected, strict=True), start=1):
            yield Case(f"{each} {number}" if each else "", *pair, kind=each)
    else:
        raise CourseError("cases(...) takes probes that return a dict of cases by name, or a list of them")


def _seen_cases(probe: Sides) -> Any:
    """The seen facts; if all cases are there, in any form, because each case checks its own."""
    seen: Any = probe.in_any_form if isinstance(probe, Observation) else None
    is_alike = isinstance(seen, dict | list | tuple) and type(seen) is type(probe.expected)
    return seen if is_alike and len(seen) == len(probe.expected) else probe.seen


@dataclass(frozen=True)
class Step:
    """A call of a module that ``spy`` watched.

    Attributes:
        entered: the state, which is the argument beside that of ``once_per``: None if it was left out, a dict
            by name if there are several.
        left: the output.
        nodes: how many nodes of the autograd graph the output reaches.
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
    found = []
    for call in calls:
        states = {name: fact for name, fact in call["inputs"].items() if name != once_per}
        entered = next(iter(states.values()), None) if len(states) < 2 else states
        found.append(Step(entered, call["output"], call["nodes"], call.get("gradient")))
    return found


def chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """The items in groups of `size`, as the steps of minibatches; the last group may be smaller."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def assert_updates(
    seen: Any, expected: Any = None, *, each: str = "step", of: str = "", hint: str = ""
) -> None:
    """Fail unless an optimizer was given the right gradients, in order, and nothing else happened.

    Args:
        seen: what ``with updates(...) as made`` filled; or a case of such, without `expected`.
        expected: the same of the reference.
        each: what each step belongs to, as a student knows it: "minibatch".
        of: the name of what learns, if that is a single tensor: "h0". Then 0 is as good as no gradient, and
            any number of steps but 0 is right.
        hint: behind the sentence about a missing or wrong gradient.

    Raises:
        FailedCheckError: the number of steps, a gradient or the parameters are wrong.
    """
    if expected is None and isinstance(seen, Sides):
        seen, expected = seen
    behind = f"\n\n{hint}" if hint else ""
    made, number = len(seen["steps"]), len(expected["steps"])
    times = {0: "never called", 1: "called once"}.get(made, f"called {made} times")
    if of:
        assert made, "opt.step() was never called."
    elif made != number:
        told = f"opt.step() was {times}; one call for each {each} makes {number}."
        raise wrong(told, group="number of steps", takes_hint=False)
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
