"""The kind of difference between two facts, in a clause that shows no expected value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from grader.checks.closeness import TOLERANCE, Pair, are_close
from grader.checks.difference_kinds import KINDS, SAY_ALL
from grader.sandbox.facts import Tensor


def how_it_differs(seen: Any, expected: Any, others: Mapping[str, Any] | None = None) -> str | None:
    """The kind of difference, as a clause that fits behind a message: ``it is 0 everywhere``.

    The clause is certain, because it follows from the numbers; it does not say what the student did. It is
    None if the values agree, or differ in a way that has no name.

    Args:
        seen: a tensor, a number, or a list or tuple of numbers.
        expected: the same of the reference.
        others: facts that the student may have taken instead, by a name that fits behind "it is", as in
            ``{"the gradient of the last step": t}``.
    """
    difference = difference_of(seen, expected, others or {})
    return difference.clause if difference else None


@dataclass(frozen=True)
class Difference:
    """A clause; its kind: ``zero``, ``multiple``, ``shape`` ...; and whether it needs no hint."""

    clause: str
    kind: str
    says_all: bool


def difference_of(seen: Any, expected: Any, others: Mapping[str, Any]) -> Difference | None:
    """As `how_it_differs`, with the kind."""
    values, right = _values(seen), _values(expected)
    if values is None or right is None:
        return None
    candidates = {name: other for name, fact in others.items() if (other := _values(fact))}
    if values.shape != right.shape:
        clause = _taken_for(values, candidates) or _other_shape(values, right)
        return Difference(clause, "shape", says_all=True) if clause else None
    pair = Pair(values.numbers, right.numbers, right.shape, right.tolerance)
    if all(pair.right):
        return None
    alike = {name: c.numbers for name, c in candidates.items() if len(c.numbers) == len(pair.seen)}
    for kind in KINDS:
        clause = kind(pair, alike)
        if clause:
            return Difference(clause, kind.__name__.strip("_"), says_all=kind in SAY_ALL)
    return None


@dataclass(frozen=True)
class _Values:
    """The numbers of a fact, in row-major order."""

    numbers: Sequence[float]
    shape: tuple[int, ...]
    tolerance: float


def _values(fact: Any) -> _Values | None:
    if isinstance(fact, Tensor):
        tolerance = TOLERANCE.get(fact.dtype, 0.0)
        return None if fact.value is None else _Values(fact.value, fact.shape, tolerance)
    numbers = list(fact) if isinstance(fact, list | tuple) else [fact]
    if not numbers or not all(type(number) in {int, float} for number in numbers):
        return None
    shape = (len(numbers),) if isinstance(fact, list | tuple) else ()
    return _Values(numbers, shape, TOLERANCE["torch.float32"])


def _taken_for(seen: _Values, others: Mapping[str, _Values]) -> str | None:
    """The other fact of the same shape that was seen instead."""
    for name, other in others.items():
        if seen.shape == other.shape and all(are_close(seen.numbers, other.numbers, other.tolerance)):
            return f"it is {name}"
    return None


def _other_shape(seen: _Values, expected: _Values) -> str | None:
    pair = Pair(seen.numbers, expected.numbers, expected.shape, expected.tolerance)
    number, right = len(seen.numbers), len(expected.numbers)
    if len(seen.shape) == 2 and seen.shape == expected.shape[::-1]:
        rows, columns = expected.shape
        if pair.is_seen([expected.numbers[r * columns + c] for c in range(columns) for r in range(rows)]):
            return "it is transposed"
    if number == right and number and pair.is_seen(expected.numbers):
        return "its values are right"
    if number != right and (summed := _summed_over(seen, expected)):
        return f"it is right once it is summed over {summed}"
    if 0 < number < right and seen.shape[1:] == expected.shape[1:]:
        if pair.is_seen(expected.numbers[:number]):
            return "it holds the first entries only"
        if pair.is_seen(expected.numbers[-number:]):
            return "it holds the last entries only"
    return None


def _summed_over(seen: _Values, expected: _Values) -> str | None:
    """The dimensions over which a sum gives what is expected."""
    shape = (1,) * (len(seen.shape) - len(expected.shape)) + expected.shape
    if len(shape) != len(seen.shape) or any(e not in {s, 1} for s, e in zip(seen.shape, shape, strict=True)):
        return None
    sums = [0.0] * len(expected.numbers)
    for number, index in zip(seen.numbers, product(*map(range, seen.shape)), strict=False):
        flat = 0
        for i, size in zip(index, shape, strict=True):
            flat = flat * size + i % size
        sums[flat] += number
    if not all(are_close(sums, expected.numbers, expected.tolerance)):
        return None
    larger = [str(d) for d, (s, e) in enumerate(zip(seen.shape, shape, strict=True)) if s != e]
    return f"dimension {larger[0]}" if len(larger) == 1 else f"dimensions {' and '.join(larger)}"
