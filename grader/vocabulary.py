"""Outside: the words a probe may use, and what stands for them on this side of the border."""

from __future__ import annotations

from typing import Any


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


#: What each word gives a probe; the worker's toolbox must offer exactly these (a test compares them).
VOCABULARY = {
    "torch": "the real torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "math": "the standard library's math",
    "snap": "snap(tensor): its facts as they are now",
    "state": "state(module or optimizer): named snaps of what it holds now",
    "attempt": "attempt(f, *args): what f returns, or the error it raised as a fact",
    "warned": "warned(f, *args): (what f returns, the texts of the warnings it caused)",
    "spy": "spy(module): a list that fills with a record of every call",
    "mark": "mark(tensor): the same values, on a graph whose life can be watched",
    "alive": "alive(): how many marked graphs are still alive",
    "nodes": "nodes(tensor): how many autograd nodes it can reach",
    "reaches": "reaches(tensor, leaf): whether the graph of tensor ends in leaf",
    "freed": "freed(tensor): whether the saved tensors of its graph are gone",
    "graph": "graph(name=tensor, ...): the autograd graph behind named tensors, as a picture shows it",
    "graph_at": "graph_at(module, n, name=tensor, ...): the graph when module is called the n-th time",
    "saved": "saved(f, *args): what f returns, and the bytes it saved for backward",
    "untouched": "with untouched(name=thing, ...) as kept: all of them, before and after",
    "gradients": "gradients(output, name=tensor, ...): what arrives at each of them, or why nothing does",
    "vjp": "vjp(output, *inputs): vector-Jacobian products with a cotangent nobody knows before",
    "reseed": "reseed(number): torch's random numbers start again from there",
}

PLACEHOLDERS = {word: Placeholder(word) for word in VOCABULARY}
