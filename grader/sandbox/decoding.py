"""Decodes what a worker encoded (``worker/facts.py``), every field checked against an exact schema."""

from __future__ import annotations

import binascii
import math
from itertools import product
from operator import itemgetter
from typing import Any

from grader.sandbox.facts import Other, Raised, Rebound, Tensor

MAX_DEPTH = 12
MAX_TENSORS = 600
MAX_VALUES = 3_100  # a little more than an honest worker sends before it leaves out the rest
MAX_DIMENSIONS = 1000
MAX_ELEMENTS = 8192  # of one tensor; an honest worker sends 4,096, and a complex number is two
MAX_INT = 1 << 64
MAX_TEXT = 2000


class MalformedError(Exception):
    """The worker's answer breaks the schema; the text is ours, never the worker's."""


def decode(answer: Any) -> Any:
    """The facts of a worker's ``{"value": ..., "tensors": [...]}``.

    Raises:
        MalformedError: some part breaks the schema.
    """
    require(type(answer) is dict and set(answer) == {"value", "tensors"})
    table = answer["tensors"]
    require(type(table) is list and len(table) <= MAX_TENSORS)
    return _Decoder(table).value(answer["value"], 0)


def decode_raised(fields: Any) -> Raised:
    """An error of the wire as a fact: ``{"types", "text", "where"}``, and what else is known of it."""
    more = {"rebound", "function", "line", "probe"}
    require(type(fields) is dict and set(fields) - more == {"types", "text", "where"})
    types = fields["types"]
    require(type(types) is list and 0 < len(types) <= 50 and all(map(_is_text, types)))
    require(_is_text(fields["text"]) and _is_text(fields["where"]))
    function, line = fields.get("function", ""), fields.get("line", "")
    require(_is_text(function) and _is_text(line))
    rebound = _decode_rebound(fields.get("rebound"))
    probe = _decode_location(fields.get("probe"))
    return Raised(tuple(types), fields["text"], fields["where"], rebound, function, line, probe)


def _decode_location(fields: Any) -> tuple[int, int] | None:
    if fields is None:
        return None
    require(type(fields) is list and len(fields) == 2)
    require(all(type(number) is int and 0 <= number < MAX_INT for number in fields))
    return fields[0], fields[1]


def _decode_rebound(fields: Any) -> Rebound | None:
    if fields is None:
        return None
    require(type(fields) is dict and set(fields) == set(Rebound.__slots__))
    require(all(_is_text(fields[key]) for key in ("name", "was", "now")))
    numbers = [fields[key] for key in ("given", "cell", "line")]
    require(all(number is None or (type(number) is int and _is_bounded(number)) for number in numbers))
    return Rebound(**fields)


class _Decoder:
    """Decodes values that refer to a table of tensors."""

    def __init__(self, table: list[Any]) -> None:
        self._table = table
        self._done: dict[int, Tensor] = {}
        self._values = 0

    def value(self, encoded: Any, depth: int) -> Any:  # noqa: PLR0911 - a return for each kind
        self._values += 1
        require(type(encoded) is list and depth <= MAX_DEPTH and self._values <= MAX_VALUES)
        if len(encoded) != 2:
            require(encoded == ["none"])
            return None
        kind, content = encoded
        require(type(kind) is str)
        if kind == "tensor":
            return self._tensor(content, 0)
        if kind in _SCALARS:
            require(type(content) in _SCALARS[kind] and _is_bounded(content))
            return float(content) if kind == "float" else content
        if kind in ("list", "tuple"):
            require(type(content) is list)
            items = [self.value(item, depth + 1) for item in content]
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return self._dict(content, depth)
        if kind == "raised":
            return decode_raised(content)
        require(kind == "other" and _is_text(content))
        return Other(content)

    def _dict(self, content: Any, depth: int) -> dict[str, Any]:
        require(type(content) is list)
        require(all(type(pair) is list and len(pair) == 2 and _is_text(pair[0]) for pair in content))
        return {key: self.value(item, depth + 1) for key, item in content}

    def _tensor(self, index: Any, depth: int) -> Tensor:
        """The tensor at an index of the table; its gradient is another tensor there, perhaps with its own."""
        require(type(index) is int and 0 <= index < len(self._table) and depth <= 4)
        if index not in self._done:
            fields = self._table[index]
            _check_tensor(fields)
            grad = None if fields["grad"] is None else self._tensor(fields["grad"], depth + 1)
            value = None if fields["value"] is None else _elements(fields)
            parts = {**fields, "shape": tuple(fields["shape"]), "value": value, "grad": grad}
            self._done[index] = Tensor(*_in_order(parts))
        return self._done[index]


_MALFORMED = "the answer is malformed"
_SCALARS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (float, int), "str": (str,)}
#: How the elements of a dtype lie in memory, in the codes of ``struct``; a complex number is two numbers.
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
    require(type(fields) is dict and fields.keys() == _FIELDS.keys())
    parts = _in_order(fields)
    require(tuple(map(type, parts)) in _KINDS)
    require(all(map(_is_bounded, _all_but_value(fields))))
    shape = fields["shape"]
    require(len(shape) <= MAX_DIMENSIONS and all(type(size) is int and 0 <= size < MAX_INT for size in shape))


def _elements(fields: dict[str, Any]) -> tuple[float, ...]:
    """The elements of a checked tensor."""
    code = _CODE_OF.get(fields["dtype"], "")
    count = math.prod(fields["shape"]) * (2 if "complex" in fields["dtype"] else 1)
    try:
        elements = memoryview(binascii.a2b_base64(fields["value"], strict_mode=True)).cast(code)  # type: ignore[call-overload]
    except (ValueError, TypeError):  # no base64, no whole number of elements, or a dtype without a code
        raise MalformedError(_MALFORMED) from None
    require(len(elements) == count <= MAX_ELEMENTS)
    return tuple(elements)


def _is_bounded(field: Any) -> bool:
    """Whether a number or a text is of an honest size; larger ints would overflow a float later."""
    if type(field) is int:
        return -MAX_INT < field < MAX_INT
    return type(field) is not str or len(field) <= MAX_TEXT


def _is_text(field: Any) -> bool:
    return type(field) is str and _is_bounded(field)


def require(condition: bool) -> None:
    """Refuse what breaks the schema."""
    if not condition:
        raise MalformedError(_MALFORMED)
