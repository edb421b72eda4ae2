"""Observations of tensors and other values, as a worker reports them.

An observation may be forged, because it was made in the student's process, but it is well-formed
(``decoding.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

#: Types for texts and numbers of an honest size.
Text = Annotated[str, Meta(max_length=2000)]
Int = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]  # larger ones would overflow a float later
Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class Exact(Struct, frozen=True, forbid_unknown_fields=True):
    """An object of JSON that has these fields and no others."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """The state of a tensor at one moment.

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
        sensitivity: how much an element of the reference's tensor changes if results are rounded differently.
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
    sensitivity: float = field(default=0.0, compare=False)


class Number(float):
    """A float of the reference, with its sensitivity to rounding."""

    sensitivity = 0.0


class Raised(Exact, frozen=True, eq=False):
    """An exception that was raised, not returned.

    Attributes:
        types: class names from the exception's own up to ``BaseException``.
        text: its message, cut.
        where: ``cell 3, line 5`` where a line of the notebook was involved, else empty.
        function: the function around that line, if any.
        line: the line itself, cut; a student's text.
        inside: the line of the code that was sent that it came through; for the author of that code.
    """

    types: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=50)]
    text: Text
    where: Text
    function: Text = ""
    line: Text = ""
    inside: Count | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raised) and self._said() == other._said()

    def __hash__(self) -> int:
        return hash(self._said())

    def _said(self) -> tuple[object, ...]:
        """Everything that student code decided."""
        return self.types, self.text, self.where, self.function, self.line

    @property
    def type(self) -> str:
        """The exception's own class name."""
        return self.types[0]

    @property
    def cell(self) -> str:
        """The cell of `where`."""
        return self.where.rpartition(", line ")[0] or self.where


NoneCause = Literal["", "grad", "backward", "call", "None", "value"]


class ReturnedNone(Exact, frozen=True):
    """A function that returned nothing but None in every case of a contract; texts are a student's.

    Attributes:
        ended: "without a value" if no ``return`` has an expression, "by a value" if a single one has and
            ends the function, or empty if the source does not say.
        statement: the ``return`` with its expression, or the expression of a lambda.
        value: the expression that gave None: the one returned, or the one that a returned variable was given.
        cause: the form of that expression: a ``.grad``, a call of a method ``backward``, any other call, the
            word None, or another value.
    """

    function: Text
    ended: Literal["", "without a value", "by a value"] = ""
    statement: Text = ""
    value: Text = ""
    cause: NoneCause = ""


@dataclass(frozen=True, slots=True)
class Other:
    """A value of another type; only the name of the type is known."""

    type: str


#: The mark that a worker writes instead of the rest of a long answer.
CUT_OFF = Other("value nested too deeply or too long")


def is_cut_off(value: Any) -> bool:
    """Whether a part of these values was cut off."""
    if isinstance(value, dict):
        return any(map(is_cut_off, value.values()))
    if isinstance(value, list | tuple):
        return any(map(is_cut_off, value))
    return bool(value == CUT_OFF)
