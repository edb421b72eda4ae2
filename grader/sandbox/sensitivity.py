"""Sensitivity to rounding: how far a right answer may be from the reference because it rounds differently.

The reference is observed again while each rounded result is perturbed by a few units in the last place
(``worker/perturbation.py``). How far its facts change says how exact anyone's can be. That is measured only
where a verdict depends on it, and never for integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from grader.sandbox.facts import Number, Tensor

_MOST_SENSITIVE = 2.5e-3  # of the largest number beside it: what changes by more has jumped
#: A fact that changes by such a part of itself holds nothing but rounding, such as the gradient of a bias in
#: front of a normalisation. How far that goes follows from the numbers that cancelled, not from one or two
#: samples of it: four units in the last place of float32 of the largest number beside it.
_ALL_ROUNDING, _CANCELLED = 0.1, 2.0**-22


def with_sensitivity(fact: Any, perturbed: Sequence[Any]) -> Any:
    """A fact of the reference's with the sensitivity of its numbers.

    Args:
        perturbed: the same fact while results were perturbed, once or more; other forms are skipped.
    """
    return _measured(fact, perturbed, 0.0, {}, _sensitivity)


def with_most_sensitivity(fact: Any) -> Any:
    """A fact of the reference's whose numbers are as sensitive as `with_sensitivity` can ever find."""
    return _measured(fact, [], 0.0, {}, lambda _, largest: _MOST_SENSITIVE * largest)


#: What `_largest` has found in tensors and containers, by their ids: each is in others.
_Found = dict[int, float]
#: The sensitivity of some numbers, from pairs of what each is without perturbation and with it, and from the
#: largest number beside them.
_Measure = Callable[[Iterable[tuple[float, float]], float], float]


def _measured(fact: Any, perturbed: Sequence[Any], beside: float, found: _Found, measure: _Measure) -> Any:
    """The same; `beside` is the largest number in the list, tuple or dict that holds the fact."""
    same = [other for other in perturbed if type(other) is type(fact)]
    largest = _largest(fact, found)
    if isinstance(fact, Tensor):
        beside = max(beside, largest)
        comparable = (
            zip(fact.value, other.value, strict=True)
            for other in same
            if fact.value and other.value and (fact.shape, fact.dtype) == (other.shape, other.dtype)
            if fact.value != other.value
        )
        grad = _measured(fact.grad, [other.grad for other in same], beside, found, measure)
        return replace(fact, grad=grad, sensitivity=measure(chain(*comparable), beside))
    if isinstance(fact, float):
        number = Number(fact)
        number.sensitivity = measure(((fact, other) for other in same), max(beside, largest))
        return number
    if isinstance(fact, dict):
        return {
            key: _measured(part, [other[key] for other in same if key in other], largest, found, measure)
            for key, part in fact.items()
        }
    if isinstance(fact, list | tuple):
        alike = [other for other in same if len(other) == len(fact)]
        return type(fact)(
            _measured(part, [other[i] for other in alike], largest, found, measure)
            for i, part in enumerate(fact)
        )
    return fact


def _sensitivity(pairs: Iterable[tuple[float, float]], largest: float) -> float:
    finite = [(abs(one), abs(one - other)) for one, other in pairs if math.isfinite(one)]
    size = max((size for size, _ in finite), default=0.0)
    distance = max((distance for _, distance in finite), default=0.0)
    if distance > _ALL_ROUNDING * size:
        distance = max(distance, _CANCELLED * largest)
    return min(distance, _MOST_SENSITIVE * largest)


def _largest(fact: Any, found: _Found) -> float:
    """The magnitude of the largest finite number in a fact; 0 if there is none."""
    if isinstance(fact, int | float):
        return abs(fact) if math.isfinite(fact) else 0.0
    if not isinstance(fact, Tensor | dict | list | tuple):
        return 0.0
    if id(fact) not in found:
        if isinstance(fact, Tensor):
            numbers = filter(math.isfinite, map(abs, fact.value or ()))
            largest = max(max(numbers, default=0.0), _largest(fact.grad, found))
        else:
            parts = fact.values() if isinstance(fact, dict) else fact
            largest = max((_largest(part, found) for part in parts), default=0.0)
        found[id(fact)] = largest
    return found[id(fact)]
