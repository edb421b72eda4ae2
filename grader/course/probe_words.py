"""The words of ``grader.inside``, and what stands for them outside."""

from __future__ import annotations

from typing import Any

#: What a probe may name: the worker offers exactly these, and grader/inside.pyi explains them.
VOCABULARY = (
    "torch",
    "nn",
    "F",
    "math",
    "snap",
    "state",
    "attempt",
    "warned",
    "spy",
    "mark",
    "alive",
    "nodes",
    "reaches",
    "freed",
    "graph",
    "graph_at",
    "saved",
    "untouched",
    "updates",
    "gradients",
    "vjp",
    "reseed",
)


class Placeholder:
    """Stands for something that exists inside the worker only; it can be named and subclassed, not used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Placeholder:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Placeholder(f"{self._name}.{attribute}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        # ``class Marked(nn.Module)`` may stand at the top of a check file; it is built inside.
        return ()

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{self._name} exists only in the worker: use it in a @probe or an @inside function, "
            "and let the check compare the facts that come back",
        )

    def __repr__(self) -> str:
        return f"<{self._name}, inside the worker>"


PLACEHOLDERS = {word: Placeholder(word) for word in VOCABULARY}
