"""Outside: ``steps``, what entered a module and what left it, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.sandbox.facts import Tensor


@dataclass(frozen=True)
class Step:
    """One call of a module that ``spy`` watched.

    Attributes:
        entered: the state, which is the argument beside that of ``once_per``: None where it was left out, a
            dict by name where there are several.
        left: what came out.
        nodes: how many nodes of the autograd graph that reaches.
        gradient: what arrived at it in all backward passes, None where nothing did, or nobody asked.
    """

    entered: Any
    left: Any
    nodes: int
    gradient: Any = None

    @property
    def has_history(self) -> bool:
        """Whether what entered was computed; None, from which a cell starts with zeros, was not."""
        parts = self.entered if isinstance(self.entered, list | tuple) else [self.entered]
        return any(isinstance(part, Tensor) and part.grad_fn is not None for part in parts)


def steps(calls: Sequence[Mapping[str, Any]], once_per: str = "input") -> list[Step]:
    """What a ``spy(module, once_per="input")`` recorded.

    Args:
        calls: its facts.
        once_per: the argument that does not count as the state.
    """
    return [_step(call, once_per) for call in calls]


def _step(call: Mapping[str, Any], once_per: str) -> Step:
    others = {name: fact for name, fact in call["inputs"].items() if name != once_per}
    entered = next(iter(others.values()), None) if len(others) < 2 else others
    return Step(entered, call["output"], call["nodes"], call.get("gradient"))


def chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """The items, so many at a time, as the steps of equally long minibatches; the last may be fewer."""
    return [items[start : start + size] for start in range(0, len(items), size)]
