"""Facts as an instructor reads them: what was seen beside what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.sandbox.evidence import NoFacts, ProbeOutcome, ProbeRaised
from grader.sandbox.facts import Other, Raised, Tensor

MAX_ENTRIES = 60
_MAX_EQUAL = 10  # of more, what differs could not be found among them
_MAX_NUMBERS = 8
_MAX_TEXT = 200
_PARTS = " | "


def compared(seen: ProbeOutcome, expected: ProbeOutcome | None) -> Iterator[str]:
    """Lines that show the facts of a probe, entry by entry; what is the same on both sides stands once."""
    if expected is None:
        entries = _texts(seen)
        yield from (f"{name}: {text}" for name, text in list(entries.items())[:MAX_ENTRIES])
    else:
        ours, theirs = _texts(seen), _texts(expected)
        entries, equal = theirs | ours, 0
        for name in list(entries)[:MAX_ENTRIES]:
            seen_text, expected_text = ours.get(name, "nothing"), theirs.get(name, "nothing")
            if seen_text == expected_text:
                equal += 1
                if equal <= _MAX_EQUAL:
                    yield f"{name}: as expected, {seen_text}"
            else:
                yield f"{name}:"
                yield f"    seen      {seen_text}"
                yield f"    expected  {_what_differs(expected_text, seen_text)}"
        if equal > _MAX_EQUAL:
            yield f"and {equal - _MAX_EQUAL} more as expected"
    if len(entries) > MAX_ENTRIES:
        yield f"and {len(entries) - MAX_ENTRIES} more entries"


def _texts(outcome: ProbeOutcome) -> dict[str, str]:
    return {name: _PARTS.join(entry.parts) for name, entry in entries_of(outcome).items()}


@dataclass(frozen=True)
class Entry:
    """A part of what a probe returned that has no parts itself.

    Attributes:
        fact: what it is.
        parts: its description; of a tensor everything that a check may look at, in this order: kind, dtype
            and shape; leaf; requires_grad; grad_fn; whether it keeps its gradient; version; object; storage;
            values; and the gradient, unless that is an entry.
        within: the names of the dicts and lists it is in, the outermost first, without the whole.
        is_gradient: whether it is the ``.grad`` of a tensor.
    """

    fact: Any
    parts: tuple[str, ...]
    within: tuple[str, ...] = ()
    is_gradient: bool = False


def entries_of(outcome: ProbeOutcome, *, gradients: bool = False) -> dict[str, Entry]:
    """Every entry of what a probe returned, by the path that leads to it.

    With `gradients`, a tensor's gradient is an entry of its own, as in ``w.grad``.
    """
    return dict(_Side(gradients=gradients).entries(outcome, ""))


def _what_differs(expected: str, seen: str) -> str:
    """Of two tensors only the parts in which they differ; else all of what is expected."""
    parts, others = expected.split(_PARTS), seen.split(_PARTS)
    if not expected.startswith(("Tensor ", "Parameter ")) or len(parts) != len(others):
        return expected
    differing = [part for part, other in zip(parts, others, strict=True) if part != other]
    return f"{_PARTS.join(differing)}; else the same"


class _Side:
    """One side of a comparison, which knows under what name each object and each storage was met first."""

    def __init__(self, *, gradients: bool) -> None:
        self._gradients = gradients
        self._objects: dict[int, str] = {}
        self._storages: dict[int, str] = {}

    def entries(
        self, value: ProbeOutcome, name: str, within: tuple[str, ...] = (), *, is_gradient: bool = False
    ) -> Iterator[tuple[str, Entry]]:
        inner = (*within, name) if name else within
        if isinstance(value, dict) and value:
            for key, item in value.items():
                yield from self.entries(item, f"{name}[{key!r}]" if name else str(key), inner)
        elif isinstance(value, list | tuple) and value and not _is_numbers(value):
            for index, item in enumerate(value):
                yield from self.entries(item, f"{name or 'result'}[{index}]", inner)
        elif isinstance(value, Tensor):
            parts = tuple(self._parts(value, name or "result"))
            yield name or "result", Entry(value, parts, within, is_gradient)
            if self._gradients and value.grad is not None:
                yield from self.entries(value.grad, f"{name or 'result'}.grad", within, is_gradient=True)
        else:
            yield name or "result", Entry(value, (_text(value),), within)

    def _parts(self, tensor: Tensor, name: str) -> Iterator[str]:
        """The description of a tensor; an object or a storage that was met before has its first name."""
        first = self._objects.setdefault(tensor.identity, name)
        memory = self._storages.setdefault(tensor.storage, name)
        yield f"{tensor.kind} {tensor.dtype.removeprefix('torch.')} {tensor.shape}"
        yield "leaf" if tensor.is_leaf else "non-leaf"
        yield f"requires_grad {tensor.requires_grad}"
        yield f"grad_fn {tensor.grad_fn}"
        yield "retains its grad" if tensor.retains_grad else "retains no grad"
        yield "an inference tensor" if tensor.version is None else f"version {tensor.version}"
        yield "object of its own" if first == name else f"the object of {first}"
        yield "storage of its own" if memory == name else f"the storage of {memory}"
        yield "values not kept" if tensor.value is None else f"values {_numbers(tensor.value)}"
        if not self._gradients:
            grad = None if tensor.grad is None else ", ".join(self._parts(tensor.grad, f"{name}.grad"))
            yield "grad None" if grad is None else f"grad [{grad}]"


def _is_numbers(value: list[Any] | tuple[Any, ...]) -> bool:
    return all(type(item) in (int, float, bool) for item in value)


def _text(value: ProbeOutcome) -> str:  # noqa: PLR0911 - one for each kind
    match value:
        case NoFacts():
            return f"no facts: {value.reason}"
        case ProbeRaised():
            return f"the probe stopped with {_raised(value.error)}"
        case Raised():
            return f"raised {_raised(value)}"
        case Other():
            return f"an object of type {value.type}"
        case list() | tuple() if value:
            return f"{type(value).__name__} of {_numbers(value)}"
        case float():
            return f"{value:.6g}"
    return _cut(repr(value))


def _raised(error: Raised) -> str:
    where = f" (code {error.where})" if error.where else ""
    return f"{error.type}: {_cut(error.text)}{where}"


def _numbers(values: list[Any] | tuple[Any, ...]) -> str:
    shown = " ".join(str(v) if isinstance(v, bool) else f"{v:.6g}" for v in values[:_MAX_NUMBERS])
    return shown if len(values) <= _MAX_NUMBERS else f"{shown} ... ({len(values)} in all)"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."
