"""Sensitivity to rounding: how much a right answer may differ because it rounds differently.

The reference is observed again while each rounded result is perturbed by a few units in the last place
(``runtime/perturbation.py``). The changes of its observations show how exact any answer can be. This is
measured only if a verdict depends on it, and never for integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from grader.sandbox.values import Number, Tensor

_MOST_SENSITIVE = 2.5e-3  # of the largest number beside it: a larger change is a jump
#: A number that changes by this fraction of itself is nothing but rounding error, such as the gradient of a
#: bias in front of a normalisation. Its size depends on the numbers that cancelled, so a sample or two cannot
#: show it: four units in the last place of float32 of the largest number beside it are accepted.
_ALL_ROUNDING, _CANCELLED = 0.1, 2.0**-22


def with_sensitivity(observed: Any, perturbed: Sequence[Any]) -> Any:
    """An observation of the reference, with the sensitivity of its numbers.

    Args:
        perturbed: observations of the same thing while results were perturbed; those of another form are
            skipped.
    """
    return _with_sensitivity(observed, perturbed, 0.0, {}, _sensitivity)


def with_most_sensitivity(observed: Any) -> Any:
    """An observation of the reference, with the largest sensitivity that `with_sensitivity` can find."""
    return _with_sensitivity(observed, [], 0.0, {}, lambda _, largest: _MOST_SENSITIVE * largest)


#: Results of `_largest` for tensors and containers, by id, because they are nested.
_Found = dict[int, float]
#: A function of pairs (a number without and with perturbation) and the largest number beside them; returns
#: the sensitivity.
_Measure = Callable[[Iterable[tuple[float, float]], float], float]


def _with_sensitivity(
    observed: Any, perturbed: Sequence[Any], beside: float, found: _Found, measure: _Measure
) -> Any:
    """The same; `beside` is the largest number in the list, tuple or dict that contains the observation."""
    kind = float if isinstance(observed, float) else type(observed)  # a `Number` if it was measured before
    same: list[Any] = [other for other in perturbed if type(other) is kind]
    largest = _largest(observed, found)
    if isinstance(observed, Tensor):
        beside = max(beside, largest)
        comparable = (
            zip(observed.value, other.value, strict=True)
            for other in same
            if observed.value
            and other.value
            and (observed.shape, observed.dtype) == (other.shape, other.dtype)
            if observed.value != other.value
        )
        grad = _with_sensitivity(observed.grad, [other.grad for other in same], beside, found, measure)
        return replace(observed, grad=grad, sensitivity=measure(chain(*comparable), beside))
    if isinstance(observed, float):
        number = Number(observed)
        number.sensitivity = measure(((observed, other) for other in same), max(beside, largest))
        return number
    if isinstance(observed, dict):
        return {
            key: _with_sensitivity(
                part, [other[key] for other in same if key in other], largest, found, measure
            )
            for key, part in observed.items()
        }
    if isinstance(observed, list | tuple):
        alike = [other for other in same if len(other) == len(observed)]
        return type(observed)(
            _with_sensitivity(part, [other[i] for other in alike], largest, found, measure)
            for i, part in enumerate(observed)
        )
    return observed


def _sensitivity(pairs: Iterable[tuple[float, float]], largest: float) -> float:
    finite = [(abs(one), abs(one - other)) for one, other in pairs if math.isfinite(one)]
    size = max((size for size, _ in finite), default=0.0)
    distance = max((distance for _, distance in finite), default=0.0)
    if distance > _ALL_ROUNDING * size:
        distance = max(distance, _CANCELLED * largest)
    return min(distance, _MOST_SENSITIVE * largest)


def _largest(observed: Any, found: _Found) -> float:
    """The magnitude of the largest finite number in an observation; 0 if there is none."""
    if isinstance(observed, int | float):
        return abs(observed) if math.isfinite(observed) else 0.0
    if not isinstance(observed, Tensor | dict | list | tuple):
        return 0.0
    if id(observed) not in found:
        if isinstance(observed, Tensor):
            numbers = filter(math.isfinite, map(abs, observed.value or ()))
            largest = max(max(numbers, default=0.0), _largest(observed.grad, found))
        else:
            parts = observed.values() if isinstance(observed, dict) else observed
            largest = max((_largest(part, found) for part in parts), default=0.0)
        found[id(observed)] = largest
    return found[id(observed)]
