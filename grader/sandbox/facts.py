"""Facts: what a worker says about tensors and values, checked for their form.

The worker encodes (``grader/sandbox/worker/facts.py``); here every field is checked against an exact schema.
A fact may still be a lie, for it was made in the student's process, but it is always well-formed.
"""

from __future__ import annotations

import binascii
import math
from dataclasses import dataclass, field
from itertools import product
from operator import itemgetter
from typing import Any

MAX_DEPTH = 12
MAX_TENSORS = 600
MAX_VALUES = 3_100  # a little more than an honest worker sends before it leaves out the rest
MAX_DIMENSIONS = 1000
MAX_ELEMENTS = 8192  # of one tensor; an honest worker sends 4,096, and a complex number is two
MAX_INT = 1 << 64
MAX_TEXT = 2000


class MalformedError(Exception):
    """The worker's answer breaks the schema; the text is ours, never the worker's."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Facts of one tensor at one moment.

    Attributes:
        kind: ``Tensor`` or ``Parameter``.
        dtype: torch's name of it, such as ``torch.float32``.
        shape: its sizes.
        value: all elements in row-major order, or None when there are more than 4,096 or no numbers.
        is_leaf: no recorded operation made it.
        requires_grad: autograd follows it.
        grad_fn: class name of the node that made it, or None; "(refused)" where torch raises an error
            instead, as for a chunk of what was overwritten.
        retains_grad: a non-leaf that keeps its gradient.
        version: ``_version``, or None for an inference tensor.
        identity: equal for the same tensor object within one probe.
        storage: equal for tensors on the same memory within one probe.
        grad: the tensor in ``.grad``, or None; None in a snap too unless it was read.
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


@dataclass(frozen=True, slots=True)
class Rebound:
    """A name that a cell took from another cell, or from Python.

    Attributes:
        name: the name.
        was: the class of the value that it had.
        given: the number of the cell it had that from; None for what is Python's own.
        now: the class of the value that it has; empty where it was deleted.
        cell: the number of the cell that took it, where that is known.
        line: where in that cell.
    """

    name: str
    was: str
    given: int | None
    now: str
    cell: int | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception that was raised, not returned.

    Attributes:
        types: class names from the exception's own up to ``BaseException``.
        text: its message, cut.
        where: ``cell 3, line 5`` when a line of the notebook was involved, else empty.
        rebound: the name behind it that one cell took from another, or None.
        function: the function that line stands in; empty outside of any.
        line: the line itself, cut; a student's text.
        probe: line and column in what travelled of the probe that it came through; for the probe's author.
    """

    types: tuple[str, ...]
    text: str
    where: str
    rebound: Rebound | None = None
    function: str = ""
    line: str = ""
    probe: tuple[int, int] | None = field(default=None, compare=False)

    @property
    def type(self) -> str:
        """The exception's own class name."""
        return self.types[0]

    @property
    def cell(self) -> str:
        """The cell of `where`."""
        return self.where.rpartition(", line ")[0] or self.where


@dataclass(frozen=True, slots=True)
class Other:
    """A value of a type that has no facts; only the type's name is known."""

    type: str


#: What a worker writes in the place of the rest, where there is too much to tell.
CUT_OFF = Other("value nested too deeply or too long")


def is_cut_off(value: Any) -> bool:
    """Whether a part of these facts was left out."""
    if isinstance(value, dict):
        return any(map(is_cut_off, value.values()))
    if isinstance(value, list | tuple):
        return any(map(is_cut_off, value))
    return bool(value == CUT_OFF)


def decode(answer: Any) -> Any:
    """Turn a worker's ``{"value": ..., "tensors": [...]}`` into facts.

    Raises:
        MalformedError: some part breaks the schema.
    """
    _need(type(answer) is dict and set(answer) == {"value", "tensors"})
    table = answer["tensors"]
    _need(type(table) is list and len(table) <= MAX_TENSORS)
    return _Decoder(table).value(answer["value"], 0)


def decode_raised(fields: Any) -> Raised:
    """One ``{"types", "text", "where"}`` of the wire, perhaps with what else is known, as a fact."""
    more = {"rebound", "function", "line", "probe"}
    _need(type(fields) is dict and set(fields) - more == {"types", "text", "where"})
    types = fields["types"]
    _need(type(types) is list and 0 < len(types) <= 50 and all(map(_is_text, types)))
    _need(_is_text(fields["text"]) and _is_text(fields["where"]))
    function, line = fields.get("function", ""), fields.get("line", "")
    _need(_is_text(function) and _is_text(line))
    rebound = _decode_rebound(fields.get("rebound"))
    probe = _decode_place(fields.get("probe"))
    return Raised(tuple(types), fields["text"], fields["where"], rebound, function, line, probe)


def _decode_place(fields: Any) -> tuple[int, int] | None:
    if fields is None:
        return None
    _need(type(fields) is list and len(fields) == 2)
    _need(all(type(number) is int and 0 <= number < MAX_INT for number in fields))
    return fields[0], fields[1]


def _decode_rebound(fields: Any) -> Rebound | None:
    if fields is None:
        return None
    _need(type(fields) is dict and set(fields) == set(Rebound.__slots__))
    _need(all(_is_text(fields[key]) for key in ("name", "was", "now")))
    places = [fields[key] for key in ("given", "cell", "line")]
    _need(all(place is None or (type(place) is int and _is_bounded(place)) for place in places))
    return Rebound(**fields)


class _Decoder:
    """Decodes values that refer to one table of tensors."""

    def __init__(self, table: list[Any]) -> None:
        self._table = table
        self._done: dict[int, Tensor] = {}
        self._values = 0

    def value(self, encoded: Any, depth: int) -> Any:  # noqa: PLR0911 - one for each kind
        self._values += 1
        _need(type(encoded) is list and depth <= MAX_DEPTH and self._values <= MAX_VALUES)
        if len(encoded) != 2:
            _need(encoded == ["none"])
            return None
        kind, content = encoded
        _need(type(kind) is str)
        if kind == "tensor":
            return self._tensor(content, 0)
        if kind in _SCALARS:
            _need(type(content) in _SCALARS[kind] and _is_bounded(content))
            return float(content) if kind == "float" else content
        if kind in ("list", "tuple"):
            _need(type(content) is list)
            items = [self.value(item, depth + 1) for item in content]
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return self._dict(content, depth)
        if kind == "raised":
            return decode_raised(content)
        _need(kind == "other" and _is_text(content))
        return Other(content)

    def _dict(self, content: Any, depth: int) -> dict[str, Any]:
        _need(type(content) is list)
        _need(all(type(pair) is list and len(pair) == 2 and _is_text(pair[0]) for pair in content))
        return {key: self.value(item, depth + 1) for key, item in content}

    def _tensor(self, index: Any, depth: int) -> Tensor:
        """The tensor at a place of the table; its gradient is another place, possibly with one of its own."""
        _need(type(index) is int and 0 <= index < len(self._table) and depth <= 4)
        if index not in self._done:
            fields = self._table[index]
            _check_tensor(fields)
            grad = None if fields["grad"] is None else self._tensor(fields["grad"], depth + 1)
            value = None if fields["value"] is None else _elements(fields)
            parts = {**fields, "shape": tuple(fields["shape"]), "value": value, "grad": grad}
            self._done[index] = Tensor(*_in_order(parts))
        return self._done[index]


_MALFORMED = "the facts are malformed"
_SCALARS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (float, int), "str": (str,)}
#: How the elements of a dtype lie in memory, in the codes of ``struct``; a complex number is two real ones.
_CODES = {
    "f": ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64", "complex32"),
    "d": ("float64", "complex128"),
    "q": ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32"),
    "Q": ("uint64",),
    "?": ("bool",),
}
_CODE_OF = {f"torch.{name}": code for code, names in _CODES.items() for name in names}
_FIELDS: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "dtype": (str,),
    "shape": (list,),
    "value": (str, type(None)),
    "is_leaf": (bool,),
    "requires_grad": (bool,),
    "grad_fn": (str, type(None)),
    "retains_grad": (bool,),
    "version": (int, type(None)),
    "identity": (int,),
    "storage": (int,),
    "grad": (int, type(None)),
}


_in_order = itemgetter(*_FIELDS)
_all_but_value = itemgetter(*(name for name in _FIELDS if name != "value"))
_KINDS = frozenset(product(*_FIELDS.values()))


def _check_tensor(fields: Any) -> None:
    _need(type(fields) is dict and fields.keys() == _FIELDS.keys())
    parts = _in_order(fields)
    _need(tuple(map(type, parts)) in _KINDS)
    _need(all(map(_is_bounded, _all_but_value(fields))))
    shape = fields["shape"]
    _need(len(shape) <= MAX_DIMENSIONS and all(type(size) is int and 0 <= size < MAX_INT for size in shape))


def _elements(fields: dict[str, Any]) -> tuple[float, ...]:
    """The elements of a checked tensor, from their bytes in base64."""
    code = _CODE_OF.get(fields["dtype"], "")
    count = math.prod(fields["shape"]) * (2 if "complex" in fields["dtype"] else 1)
    try:
        elements = memoryview(binascii.a2b_base64(fields["value"], strict_mode=True)).cast(code)  # type: ignore[call-overload]
    except (ValueError, TypeError):  # no base64, no whole number of elements, or a dtype without a code
        raise MalformedError(_MALFORMED) from None
    _need(len(elements) == count <= MAX_ELEMENTS)
    return tuple(elements)


def _is_bounded(field: Any) -> bool:
    """Whether a number or a text is of an honest size; larger ints would overflow a float later."""
    if type(field) is int:
        return -MAX_INT < field < MAX_INT
    return type(field) is not str or len(field) <= MAX_TEXT


def _is_text(field: Any) -> bool:
    return type(field) is str and _is_bounded(field)


def _need(condition: bool) -> None:
    if not condition:
        raise MalformedError(_MALFORMED)
