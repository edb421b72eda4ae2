"""Decodes what a worker says (facts, answers, notices), every field checked before it is used."""

from __future__ import annotations

import binascii
import math
from itertools import product
from operator import itemgetter
from typing import Any, Literal, get_args

from grader.sandbox.facts import Other, Raised, Rebound, Tensor

MAX_DEPTH = 12
MAX_TENSORS = 600
MAX_VALUES = 3_100  # a little more than an honest worker sends before it leaves out the rest
MAX_DIMENSIONS = 1000
MAX_ELEMENTS = 8192  # of one tensor; an honest worker sends 4,096, and a complex number is two
MAX_INT = 1 << 64
MAX_TEXT = 2000
Status = Literal["answered", "untouched", "missing"]  # of a function, in a survey
STATUSES = frozenset(get_args(Status))


class MalformedError(Exception):
    """A worker's answer breaks the schema; the text is ours, never the worker's."""


def decode(answer: Any) -> Any:
    """The facts of a worker's ``{"value": ..., "tensors": [...]}``; ``worker/facts.py`` encodes them."""
    _require(type(answer) is dict and set(answer) == {"value", "tensors"})
    table = answer["tensors"]
    _require(type(table) is list and len(table) <= MAX_TENSORS)
    return _Decoder(table).value(answer["value"], 0)


def decode_raised(fields: Any) -> Raised:
    """An error of the wire as a fact: ``{"types", "text", "where"}``, and what else is known of it."""
    more = {"rebound", "function", "line", "probe"}
    _require(type(fields) is dict and set(fields) - more == {"types", "text", "where"})
    types = fields["types"]
    _require(type(types) is list and 0 < len(types) <= 50 and all(map(_is_text, types)))
    function, line = fields.get("function", ""), fields.get("line", "")
    _require(all(map(_is_text, (fields["text"], fields["where"], function, line))))
    rebound = _decode_rebound(fields.get("rebound"))
    probe = fields.get("probe")
    _require(probe is None or (type(probe) is int and 0 <= probe < MAX_INT))
    return Raised(tuple(types), fields["text"], fields["where"], rebound, function, line, probe)


def _decode_rebound(fields: Any) -> Rebound | None:
    if fields is None:
        return None
    _require(type(fields) is dict and set(fields) == set(Rebound.__slots__))
    _require(all(_is_text(fields[key]) for key in ("name", "was", "now")))
    numbers = [fields[key] for key in ("given", "cell", "line")]
    _require(all(number is None or (type(number) is int and _is_bounded(number)) for number in numbers))
    return Rebound(**fields)


class _Decoder:
    def __init__(self, table: list[Any]) -> None:
        self._table = table
        self._done: dict[int, Tensor] = {}
        self._values = 0

    def value(self, encoded: Any, depth: int) -> Any:  # noqa: PLR0911 - a return for each kind
        self._values += 1
        _require(type(encoded) is list and depth <= MAX_DEPTH and self._values <= MAX_VALUES)
        if len(encoded) != 2:
            _require(encoded == ["none"])
            return None
        kind, content = encoded
        _require(type(kind) is str)
        if kind == "tensor":
            return self._tensor(content, 0)
        if kind in _SCALARS:
            _require(type(content) in _SCALARS[kind] and _is_bounded(content))
            return float(content) if kind == "float" else content
        if kind in ("list", "tuple"):
            _require(type(content) is list)
            items = [self.value(item, depth + 1) for item in content]
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return self._dict(content, depth)
        if kind == "raised":
            return decode_raised(content)
        _require(kind == "other" and _is_text(content))
        return Other(content)

    def _dict(self, content: Any, depth: int) -> dict[str, Any]:
        _require(type(content) is list)
        _require(all(type(pair) is list and len(pair) == 2 and _is_text(pair[0]) for pair in content))
        return {key: self.value(item, depth + 1) for key, item in content}

    def _tensor(self, index: Any, depth: int) -> Tensor:
        """The tensor at an index of the table; its gradient is another tensor there, perhaps with its own."""
        _require(type(index) is int and 0 <= index < len(self._table) and depth <= 4)
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
    _require(type(fields) is dict and fields.keys() == _FIELDS.keys())
    parts = _in_order(fields)
    _require(tuple(map(type, parts)) in _KINDS)
    _require(all(map(_is_bounded, _all_but_value(fields))))
    shape = fields["shape"]
    _require(
        len(shape) <= MAX_DIMENSIONS and all(type(size) is int and 0 <= size < MAX_INT for size in shape)
    )


def _elements(fields: dict[str, Any]) -> tuple[float, ...]:
    code = _CODE_OF.get(fields["dtype"], "")
    count = math.prod(fields["shape"]) * (2 if "complex" in fields["dtype"] else 1)
    try:
        elements = memoryview(binascii.a2b_base64(fields["value"], strict_mode=True)).cast(code)  # type: ignore[call-overload]
    except (ValueError, TypeError):  # no base64, no whole number of elements, or a dtype without a code
        raise MalformedError(_MALFORMED) from None
    _require(len(elements) == count <= MAX_ELEMENTS)
    return tuple(elements)


def _is_bounded(field: Any) -> bool:
    """Whether a number or a text is of an honest size; larger ints would overflow a float later."""
    if type(field) is int:
        return -MAX_INT < field < MAX_INT
    return type(field) is not str or len(field) <= MAX_TEXT


def _is_text(field: Any) -> bool:
    return type(field) is str and len(field) <= MAX_TEXT


def _require(condition: bool) -> None:
    if not condition:
        raise MalformedError(_MALFORMED)


def parse_answer(answer: Any) -> dict[str, Any]:
    """A worker's answer to a probe, in the form that evidence stores."""
    _require(type(answer) is dict and set(answer) - {"none"} == {"raised", "facts", "changed", "patched"})
    _require(all(map(is_words, (answer["changed"], answer["patched"], answer.get("none", [])))))
    none = {"none": answer["none"]} if answer.get("none") else {}
    if answer["raised"] is not None:
        decode_raised(answer["raised"])
        return {"raised": answer["raised"], **none}
    decode(answer["facts"])
    return {"facts": answer["facts"], **none}


def parse_cell_error(answer: Any) -> Any:
    """A worker's answer about a cell: None or an error's fields."""
    _require(type(answer) is dict and set(answer) == {"raised"})
    if answer["raised"] is not None:
        decode_raised(answer["raised"])
    return answer["raised"]


def parse_survey(answer: Any, functions: set[str]) -> tuple[dict[str, Status], list[str]]:
    """A worker's survey: the status of each function, and what was patched."""
    _require(type(answer) is dict and set(answer) == {"names", "patched"})
    names = answer["names"]
    _require(type(names) is dict and set(names) == functions)
    _require(all(type(status) is str and status in STATUSES for status in names.values()))
    _require(is_words(answer["patched"]))
    return names, answer["patched"]


def is_words(value: Any) -> bool:
    """Whether it is a list of short texts."""
    if type(value) is not list or len(value) > 10_000:
        return False
    return all(type(word) is str and len(word) <= 500 for word in value)


#: What a worker noticed (a word of `NOTICED`), and the cell it happened in, or None.
Notice = tuple[str, int | None]
NOTICED = {
    *("code objects", "ctypes", "frames", "gc"),
    *("imports at run time", "past the instance", "patched", "settrace"),
}
_MAX_TRACES = 20 * len(NOTICED)  # a worker reports twenty cells for each
_WRITTEN_BY_OTHERS: Notice = ("raw descriptors", None)
#: Noticed outside: honest facts are cut off inside before the wire would refuse them.
NO_ANSWER: Notice = ("something that is no answer", None)
#: Every word that evidence may hold.
TRACES = {*NOTICED, _WRITTEN_BY_OTHERS[0], NO_ANSWER[0]}


def parse_notices(notices: bytes, *, closed: bool) -> set[Notice]:
    """What a worker noticed.

    A foreign line, too many lines and a closed pipe are the notebook's doing, and so a notice themselves:
    nothing that a notebook writes there hides what comes later.
    """
    *lines, rest = notices.decode("ascii", "replace").split("\n")
    traces = {_notice(line) for line in lines[:_MAX_TRACES]}
    return traces | ({_WRITTEN_BY_OTHERS} if rest or closed or len(lines) > _MAX_TRACES else set())


def _notice(line: str) -> Notice:
    what, _, number = line.partition("\t")
    if what not in NOTICED or not (number == "" or (number.isdecimal() and len(number) < 6)):
        return _WRITTEN_BY_OTHERS
    return what, int(number) if number else None
