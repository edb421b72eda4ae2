"""Facts: what a worker says about tensors and values.

A fact may be a lie, for it was made in the student's process, but it is always well-formed (``decoding.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

#: What a worker may say of these: texts and numbers of an honest size.
Text = Annotated[str, Meta(max_length=2000)]
Int = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]  # larger ones would overflow a float later
Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class Exact(Struct, frozen=True, forbid_unknown_fields=True):
    """An object of JSON that has these fields and no others."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Facts of a tensor at one moment.

    Attributes:
        kind: ``Tensor`` or ``Parameter``.
        dtype: torch's name of it, such as ``torch.float32``.
        value: all elements in row-major order, or None when there are more than 4,096 or no numbers.
        is_leaf: no recorded operation made it.
        grad_fn: class name of the node that made it, or None; "(refused)" where torch raises an error
            instead, as for a chunk of an overwritten tensor.
        version: ``_version``, or None for an inference tensor.
        identity: equal for the same tensor object within an answer.
        storage: equal for tensors on the same memory within an answer.
        grad: the tensor in ``.grad``, or None; None in a snap too unless it was read.
        noise: how far an element of the reference's moves where results are rounded otherwise.
    """

    kind: str
    dtype: str
    shape: tuple[int, ...]
    value: tuple[float, ...] | None
    is_leaf: bool
    requires_grad: bool
    grad_fn: str | None
    retains_grad: bool
    version: int | None
    identity: int
    storage: int
    grad: Tensor | None
    noise: float = field(default=0.0, compare=False)


class Number(float):
    """A float of the reference's, with how far it moves where results are rounded otherwise."""

    noise = 0.0


class Rebound(Exact, frozen=True):
    """A name that a cell took from another cell, or from Python.

    Attributes:
        was: the class of the value that it had.
        given: the number of the cell that gave it that value; None where the value is Python's own.
        now: the class of the value that it has; empty where it was deleted.
        cell, line: where it was taken; None where that is unknown.
    """

    name: Text
    was: Text
    given: Int | None
    now: Text
    cell: Int | None
    line: Int | None


class Raised(Exact, frozen=True, eq=False):
    """An exception that was raised, not returned.

    Attributes:
        types: class names from the exception's own up to ``BaseException``.
        text: its message, cut.
        where: ``cell 3, line 5`` where a line of the notebook was involved, else empty.
        rebound: a name that a cell took from another cell, if that is the cause.
        function: the function around that line, if any.
        line: the line itself, cut; a student's text.
        inside: the line of the code that was sent that it came through; for the author of that code.
    """

    types: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=50)]
    text: Text
    where: Text
    rebound: Rebound | None = None
    function: Text = ""
    line: Text = ""
    inside: Count | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raised) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[object, ...]:
        """All that was a student's doing."""
        return self.types, self.text, self.where, self.rebound, self.function, self.line

    @property
    def type(self) -> str:
        """The exception's own class name."""
        return self.types[0]

    @property
    def cell(self) -> str:
        """The cell of `where`."""
        return self.where.rpartition(", line ")[0] or self.where


NoneCause = Literal[
    "",
    "not a leaf",
    "does not require grad",
    "nothing retained",
    "nothing stored",
    "grad",
    "backward",
    "call",
    "None",
    "value",
]


class ReturnedNone(Exact, frozen=True):
    """A function that returned nothing but None in every case of a contract; texts are a student's.

    Attributes:
        ended: how another call of it ended: "without a value" (by no ``return``, or one without an
            expression), "by a value", or empty where that was not observed.
        statement: the ``return`` with its expression, or the expression of a lambda.
        value: the expression that gave None: the one returned, or the one that a returned variable was given.
        cause: why its value was None. "not a leaf", "does not require grad", "nothing retained" (not a leaf,
            but it retains its gradient) and "nothing stored" (a leaf that requires grad) are said of the
            tensor whose ``.grad`` was read, at that moment. "grad" is said of a ``.grad`` whose tensor is
            not known, "backward" of a call of a method of that name, "call" of any other call, "None" of
            that word, and "value" of everything else.
        tensor: the expression of that tensor.
        grad_fn: the class of the node that made it; empty where it is a leaf, or torch refuses to tell.
    """

    function: Text
    ended: Literal["", "without a value", "by a value"] = ""
    statement: Text = ""
    value: Text = ""
    cause: NoneCause = ""
    tensor: Text = ""
    grad_fn: Text = ""


@dataclass(frozen=True, slots=True)
class Other:
    """A value of a type that has no facts; only the type's name is known."""

    type: str


#: What a worker writes in place of the rest of an answer that is too long.
CUT_OFF = Other("value nested too deeply or too long")


def is_cut_off(value: Any) -> bool:
    """Whether a part of these facts was left out."""
    if isinstance(value, dict):
        return any(map(is_cut_off, value.values()))
    if isinstance(value, list | tuple):
        return any(map(is_cut_off, value))
    return bool(value == CUT_OFF)


_MOST_NOISE = 2.5e-3  # of the largest number beside it: what moves further has leapt
#: A fact that moves by such a part of itself holds nothing but rounding, such as the gradient of a bias in
#: front of a normalisation. How far that goes follows from the numbers that cancelled, not from one or two
#: samples of it: four units in the last place of float32 of the largest number beside it.
_ALL_NOISE, _CANCELLED = 0.1, 2.0**-22


def with_noise(fact: Any, moved: Sequence[Any]) -> Any:
    """A fact of the reference's with how far its numbers move.

    Args:
        moved: the same fact where results were moved, once or more. What has another form says nothing.
    """
    return _with_noise(fact, moved, 0.0, {}, _noise)


def with_most_noise(fact: Any) -> Any:
    """A fact of the reference's whose numbers move as far as `with_noise` can ever find."""
    return _with_noise(fact, [], 0.0, {}, lambda _, largest: _MOST_NOISE * largest)


#: What `_largest` has found in tensors and containers, by their ids: each is in others.
_Found = dict[int, float]
#: How far some numbers move, from pairs of what each is without movement and with it, and from the largest
#: number beside them.
_Measure = Callable[[Iterable[tuple[float, float]], float], float]


def _with_noise(fact: Any, moved: Sequence[Any], beside: float, found: _Found, measure: _Measure) -> Any:
    """The same; `beside` is the largest number in the list, tuple or dict that holds the fact."""
    same = [other for other in moved if type(other) is type(fact)]
    largest = _largest(fact, found)
    if isinstance(fact, Tensor):
        beside = max(beside, largest)
        comparable = (
            zip(fact.value, other.value, strict=True)
            for other in same
            if fact.value and other.value and (fact.shape, fact.dtype) == (other.shape, other.dtype)
            if fact.value != other.value
        )
        grad = _with_noise(fact.grad, [other.grad for other in same], beside, found, measure)
        return replace(fact, grad=grad, noise=measure(chain(*comparable), beside))
    if isinstance(fact, float):
        number = Number(fact)
        number.noise = measure(((fact, other) for other in same), max(beside, largest))
        return number
    if isinstance(fact, dict):
        return {
            key: _with_noise(part, [other[key] for other in same if key in other], largest, found, measure)
            for key, part in fact.items()
        }
    if isinstance(fact, list | tuple):
        alike = [other for other in same if len(other) == len(fact)]
        return type(fact)(
            _with_noise(part, [other[i] for other in alike], largest, found, measure)
            for i, part in enumerate(fact)
        )
    return fact


def _noise(pairs: Iterable[tuple[float, float]], largest: float) -> float:
    finite = [(abs(one), abs(one - other)) for one, other in pairs if math.isfinite(one)]
    size = max((size for size, _ in finite), default=0.0)
    noise = max((distance for _, distance in finite), default=0.0)
    if noise > _ALL_NOISE * size:
        noise = max(noise, _CANCELLED * largest)
    return min(noise, _MOST_NOISE * largest)


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
