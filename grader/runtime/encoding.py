"""Encodes values and tensors for a worker's answer.

An encoded value is ``["none"]`` or ``[kind, content]``: ``bool int float str``, ``tensor`` (an index of the
table), ``list tuple`` (encoded items), ``dict`` (pairs of a str and an encoded item), ``raised`` (an error's
types, text and location) and ``other`` (only the type's name). Only exact types count: a subclass of Tensor
is an ``other``. The elements of a tensor are bytes in base64: decimals take longer to write and to read than
most requests compute. Deep or long values are cut off here, so that no honest answer is refused outside.
"""

from __future__ import annotations

from typing import Any

from .errors import MAX_TEXT, class_name, describe_error, printable
from .originals import builtins_copy, identity, numel, numpy_bool, numpy_float64
from .torch_objects import Fields, fields_of, is_tensor, memory_key, read_grad, storage_of

__builtins__ = builtins_copy()

MAX_ALL_ELEMENTS = 100_000  # of one answer
MAX_DEPTH = 10
MAX_ITEMS = 20_000
MAX_TENSORS = 3_000
MAX_ALL_TEXT = 300_000  # of one answer; the longest of a reference has 56,000
CUT_OFF = "value nested too deeply or too long"  # stands for what is left out

_FULL = ["other", CUT_OFF]  # the last entry of an answer that is too long


class Raised:
    """An exception that ``attempt`` caught, not one that was returned."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Snap:
    """The present state of a tensor; keeps it and its storage alive, so that identities stay unique."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.storage = storage_of(tensor)
        self.fields = fields_of(tensor)
        grad = read_grad(tensor)
        self.grad = None if grad is None else Snap(grad)


def snap(tensor: Any) -> Any:
    """The present state of a tensor; anything else is returned unchanged."""
    return Snap(tensor) if is_tensor(tensor) else tensor


class Encoder:
    """Encodes an answer; tensors go into a table, so that identities and storages can be compared."""

    def __init__(self) -> None:
        self.table: list[dict[str, Any]] = []
        self._indices: dict[int, int] = {}
        self._identities: dict[int, int] = {}
        self._storages: dict[int, int] = {}
        self._alive: list[Any] = []  # keeps objects with an identity alive, so that no id is used twice
        self._items = 0
        self._elements = 0
        self._characters = 0

    def encode(self, value: Any, depth: int = 0) -> list[Any]:
        """The encoded form of any value; it raises for nothing that a student returned."""
        self._items += 1
        kind = type(value)
        if value is None:
            return ["none"]
        is_full = self._items > MAX_ITEMS or self._characters > MAX_ALL_TEXT or len(self.table) > MAX_TENSORS
        if is_full or depth > MAX_DEPTH:
            return _FULL if is_full else ["other", CUT_OFF]
        if kind is Snap or is_tensor(value):
            return ["tensor", self._snap(value) if kind is Snap else self._tensor(value)]
        if kind is Raised:
            described = describe_error(value.error)
            texts = (described["text"], described["function"], described["line"], *described["types"])
            self._characters += sum(map(len, texts))
            return ["raised", described]
        return _scalar(value, kind) or self._composed(value, kind, depth)

    def _text(self, text: str) -> str:
        self._characters += len(text)
        return printable(text)

    def _composed(self, value: Any, kind: type, depth: int) -> list[Any]:
        """A text or a collection; of anything else only the type's name."""
        if kind is str:
            return ["str", self._text(value[:MAX_TEXT])]
        is_tuple = issubclass(kind, tuple)  # a NamedTuple, too
        if kind is list or is_tuple:
            items = []
            for item in tuple.__iter__(value) if is_tuple else value:
                items.append(self.encode(item, depth + 1))
                if items[-1] is _FULL:
                    break
            return ["list" if kind is list else "tuple", items]
        if kind is dict or issubclass(kind, dict):
            pairs = []
            for key, item in dict.items(value):
                pairs.append([self._text(key_text(key)), self.encode(item, depth + 1)])
                if pairs[-1][1] is _FULL:
                    break
            return ["dict", pairs]
        return ["other", self._text(class_name(kind))]

    def _tensor(self, tensor: Any) -> int:
        index = self._indices.get(identity(tensor))
        if index is None:
            storage = storage_of(tensor)
            index = self._add(tensor, storage, fields_of(tensor))
            self._indices[identity(tensor)] = index
            grad = read_grad(tensor)
            if grad is not None:
                self.table[index]["grad"] = self._tensor(grad)
        return index

    def _snap(self, snap: Snap) -> int:
        index = self._indices.get(identity(snap))
        if index is None:
            self._alive.append(snap)
            index = self._indices[identity(snap)] = self._add(snap.tensor, snap.storage, snap.fields)
            if snap.grad is not None:
                self.table[index]["grad"] = self._snap(snap.grad)
        return index

    def _add(self, tensor: Any, storage: Any, fields: Fields) -> int:
        self._alive.append((tensor, storage))
        key = memory_key(tensor, storage)
        encoded = {
            **fields.encoded(),
            "identity": self._identities.setdefault(identity(tensor), len(self._identities)),
            "storage": self._storages.setdefault(key, len(self._storages)),
            "grad": None,
        }
        self._elements += numel(tensor) if fields.value else 0
        if self._elements > MAX_ALL_ELEMENTS:
            encoded["value"] = None
        self.table.append(encoded)
        return len(self.table) - 1


def _scalar(value: Any, kind: type) -> list[Any] | None:
    if kind is bool:
        return ["bool", value]
    if kind is int:
        return ["int", value] if -(1 << 63) <= value < 1 << 63 else ["other", "int of more than 64 bits"]
    if kind is float:
        return ["float", value]
    if kind is numpy_float64:  # a float to Python too
        return ["float", float.__float__(value)]
    if kind is numpy_bool:
        return ["bool", bool(value)]
    return None


def key_text(key: Any) -> str:
    """A dict's key as text: a str or an int of at most 64 bits, otherwise only the name of its type."""
    if type(key) is str:
        return key[:200]
    return str(key) if type(key) is int and abs(key) < 1 << 63 else class_name(type(key))
