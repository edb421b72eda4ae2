"""Inside: reads tensors through what torch offered before any student's code, and encodes facts.

An encoded value is ``["none"]`` or ``[kind, content]``: ``bool int float str``, ``tensor`` (a place
in the table), ``list tuple`` (encoded items), ``dict`` (pairs of a str and an encoded item),
``raised`` (an error's types, text and place) and ``other`` (only the type's name). Exact types only:
a subclass of Tensor is an ``other``, whatever it claims to be. Values that are too deep, too many or
too long are cut off here, so that an honest answer is never refused outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

MAX_ELEMENTS = 4096  # of one tensor
MAX_ALL_ELEMENTS = 60_000  # of one answer
MAX_DEPTH = 10
MAX_ITEMS = 5_000
MAX_TEXT = 2_000

_base = torch._C.TensorBase
_is_leaf = _base.__dict__["is_leaf"].__get__
_requires_grad = _base.__dict__["requires_grad"].__get__
_retains_grad = _base.__dict__["retains_grad"].__get__
_grad_fn = _base.__dict__["grad_fn"].__get__
_version = _base.__dict__["_version"].__get__
_grad = _base.__dict__["grad"].__get__
_dtype = _base.__dict__["dtype"].__get__
_shape = _base.__dict__["shape"].__get__
_layout = _base.__dict__["layout"].__get__
_detach, _reshape, _tolist, _numel = _base.detach, _base.reshape, _base.tolist, _base.numel
_storage, _is_complex, _is_inference = _base.untyped_storage, _base.is_complex, _base.is_inference
_view_as_real, _strided = torch.view_as_real, torch.strided
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_float64, _bool_ = np.float64, np.bool_
_type, _str, _id, _issubclass = type, str, id, issubclass


def is_tensor(value: Any) -> bool:
    """Whether a value is exactly a Tensor or a Parameter."""
    return _type(value) is _Tensor or _type(value) is _Parameter


class Snap:
    """Facts of a tensor as it is now; keeps the tensor and its storage, so that identities stay unique."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.storage = _storage(tensor) if _layout(tensor) is _strided else None
        self.fields = tensor_fields(tensor)
        grad = read_grad(tensor)
        self.grad = None if grad is None else Snap(grad)


class Raised:
    """An exception that ``attempt`` caught; told apart from one that was returned."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def read_grad(tensor: Any) -> Any:
    """``.grad`` where there can be one; elsewhere torch would warn, and a warning is not ours to cause."""
    if _is_leaf(tensor) or _retains_grad(tensor):
        grad = _grad(tensor)
        return grad if is_tensor(grad) else None
    return None


def tensor_fields(tensor: Any) -> dict[str, Any]:
    """All facts of a tensor that do not refer to other tensors."""
    grad_fn = _grad_fn(tensor)
    return {
        "kind": "Parameter" if _type(tensor) is _Parameter else "Tensor",
        "dtype": _str(_dtype(tensor)),
        "shape": [*_shape(tensor)],
        "value": _elements(tensor),
        "is_leaf": _is_leaf(tensor),
        "requires_grad": _requires_grad(tensor),
        "grad_fn": None if grad_fn is None else _type(grad_fn).__name__,
        "retains_grad": _retains_grad(tensor),
        "version": None if _is_inference(tensor) else _version(tensor),
    }


def _elements(tensor: Any) -> list[Any] | None:
    """The elements in row-major order; a complex number is two. None where there are no numbers to read."""
    if _numel(tensor) > MAX_ELEMENTS or _layout(tensor) is not _strided:
        return None
    try:
        plain = _detach(tensor)
        if _is_complex(plain):
            plain = _view_as_real(plain.resolve_conj())
        return _tolist(_reshape(plain, (-1,)))
    except (RuntimeError, NotImplementedError):  # meta tensors and other tensors without memory
        return None


class Encoder:
    """Encodes one answer; tensors go into one table, so identities and shared storage can be compared."""

    def __init__(self) -> None:
        self.table: list[dict[str, Any]] = []
        self._places: dict[int, int] = {}
        self._identities: dict[int, int] = {}
        self._storages: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps what has an identity alive, so that no id is used twice
        self._items = 0
        self._elements = 0

    def encode(self, value: Any, depth: int = 0) -> list[Any]:
        """The encoded form of any value; never raises for what a student returned."""
        self._items += 1
        kind = _type(value)
        if value is None:
            return ["none"]
        if depth > MAX_DEPTH or self._items > MAX_ITEMS:
            return ["other", "value nested too deeply or too long"]
        if kind is _Tensor or kind is _Parameter:
            return ["tensor", self._tensor(value)]
        if kind is Snap:
            return ["tensor", self._snap(value)]
        if kind is Raised:
            return ["raised", describe_error(value.error)]
        return _scalar(value, kind) or self._collection(value, kind, depth) or ["other", _name(kind)]

    def _collection(self, value: Any, kind: type, depth: int) -> list[Any] | None:
        if kind is list or kind is tuple:
            items = [self.encode(item, depth + 1) for item in value[: MAX_ITEMS + 1]]
            return ["list" if kind is list else "tuple", items]
        if kind is dict or _issubclass(kind, dict):
            pairs = []
            for number, (key, item) in enumerate(dict.items(value)):
                if number > MAX_ITEMS:
                    break
                text = key if _type(key) is str else str(key) if _type(key) is int else _name(_type(key))
                pairs.append([_printable(text)[:200], self.encode(item, depth + 1)])
            return ["dict", pairs]
        return None

    def _tensor(self, tensor: Any) -> int:
        place = self._places.get(_id(tensor))
        if place is None:
            storage = _storage(tensor) if _layout(tensor) is _strided else None
            place = self._add(tensor, storage, tensor_fields(tensor))
            self._places[_id(tensor)] = place
            grad = read_grad(tensor)
            if grad is not None:
                self.table[place]["grad"] = self._tensor(grad)
        return place

    def _snap(self, snap: Snap) -> int:
        place = self._places.get(_id(snap))
        if place is None:
            self._kept.append(snap)
            place = self._places[_id(snap)] = self._add(snap.tensor, snap.storage, snap.fields)
            if snap.grad is not None:
                self.table[place]["grad"] = self._snap(snap.grad)
        return place

    def _add(self, tensor: Any, storage: Any, fields: dict[str, Any]) -> int:
        self._kept.append((tensor, storage))
        key = -_id(tensor) if storage is None else storage._cdata
        fields = {
            **fields,
            "identity": self._identities.setdefault(_id(tensor), len(self._identities)),
            "storage": self._storages.setdefault(key, len(self._storages)),
            "grad": None,
        }
        self._elements += len(fields["value"] or ())
        if self._elements > MAX_ALL_ELEMENTS:
            fields["value"] = None
        self.table.append(fields)
        return len(self.table) - 1


def _scalar(value: Any, kind: type) -> list[Any] | None:  # noqa: PLR0911 - one for each kind
    if kind is bool:
        return ["bool", value]
    if kind is int:
        return ["int", value] if -(1 << 63) <= value < 1 << 63 else ["other", "int of more than 64 bits"]
    if kind is float:
        return ["float", value]
    if kind is str:
        return ["str", _printable(value[:MAX_TEXT])]
    if kind is _float64:  # a float to Python too
        return ["float", float.__float__(value)]
    if kind is _bool_:
        return ["bool", bool(value)]
    return None


def describe_error(error: BaseException) -> dict[str, Any]:
    """An exception as its class names, its text, and the line of the notebook it came from."""
    where = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith("<cell "):
            where = f"{file[1:-1]}, line {trace.tb_lineno}"
        trace = trace.tb_next
    types = [_name(kind) for kind in _type(error).__mro__ if kind is not object]
    return {"types": types[:50], "text": error_text(error), "where": where[:80]}


def error_text(error: BaseException) -> str:
    """``str(error)``, bounded; where the class is the student's, only the text it was given."""
    if _type(error).__module__ == "__main__":
        arguments = BaseException.__dict__["args"].__get__(error)
        text = ", ".join(argument for argument in arguments if _type(argument) is str)
    else:
        try:
            text = _str(error)
        except BaseException:
            text = ""
    return _printable(text[:MAX_TEXT])


def _name(kind: type) -> str:
    """A class's own name, read past any metaclass of the student's."""
    return _printable(type.__dict__["__name__"].__get__(kind))[:100]


def _printable(text: str) -> str:
    """Text that survives UTF-8 on the wire."""
    return text.encode("utf-8", "replace").decode("utf-8")
