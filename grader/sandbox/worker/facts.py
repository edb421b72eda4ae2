"""Reads tensors through what torch offered before any student's code, and encodes facts.

An encoded value is ``["none"]`` or ``[kind, content]``: ``bool int float str``, ``tensor`` (a place
in the table), ``list tuple`` (encoded items), ``dict`` (pairs of a str and an encoded item),
``raised`` (an error's types, text and place) and ``other`` (only the type's name). Exact types only:
a subclass of Tensor is an ``other``, whatever it claims to be. The elements of a tensor are bytes in
base64: to write and to read decimals takes longer than most probes compute. Values that are too deep,
too many or too long are cut off here, so that an honest answer is never refused outside.
"""

from __future__ import annotations

import binascii
import builtins
from typing import Any

import numpy as np
import torch

from . import contents
from .errors import MAX_TEXT, class_name, describe_error, printable

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

MAX_ELEMENTS = 4096  # of one tensor
MAX_ALL_ELEMENTS = 20_000  # of one answer
MAX_DEPTH = 10
MAX_ITEMS = 3_000
MAX_TENSORS = 500
MAX_ALL_TEXT = 100_000  # of one answer
REFUSED = "(refused)"  # in the place of a node's name: torch raises an error instead of telling the node
CUT_OFF = "value nested too deeply or too long"  # stands in the place of what is left out

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
_detach, _to, _numpy, _numel = _base.detach, _base.to, _base.numpy, _base.numel
_resolve_conj, _resolve_neg, _data_ptr = _base.resolve_conj, _base.resolve_neg, _base.data_ptr
_storage, _is_complex, _is_inference = _base.untyped_storage, _base.is_complex, _base.is_inference
_cdata = torch._C.StorageBase.__dict__["_cdata"].__get__
_view_as_real, _strided = torch.view_as_real, torch.strided
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_float64, _bool_ = np.float64, np.bool_
_tobytes, _in_base64 = np.ndarray.tobytes, binascii.b2a_base64
_AS_THEY_ARE = frozenset({torch.float32, torch.float64, torch.int64, torch.uint64, torch.bool})
#: What holds all numbers of the dtypes that do not travel as they are.
_WIDER = {
    **dict.fromkeys((torch.int8, torch.int16, torch.int32), torch.int64),
    **dict.fromkeys((torch.uint8, torch.uint16, torch.uint32), torch.int64),
    **dict.fromkeys((torch.float16, torch.bfloat16), torch.float32),
    **dict.fromkeys((torch.float8_e4m3fn, torch.float8_e5m2), torch.float32),
}
_type, _str, _id, _issubclass = type, str, id, issubclass


def is_tensor(value: Any) -> bool:
    """Whether a value is exactly a Tensor or a Parameter."""
    return _type(value) is _Tensor or _type(value) is _Parameter


class Snap:
    """Facts of a tensor as it is now; keeps the tensor and its storage, so that identities stay unique."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.storage = _storage_of(tensor)
        self.fields = tensor_fields(tensor)
        grad = read_grad(tensor)
        self.grad = None if grad is None else Snap(grad)


def are_same(one: Snap | None, other: Snap | None) -> bool:
    """Whether two snaps are of one tensor, on the same memory, and nothing about it has changed."""
    if one is None or other is None:
        return one is other
    where = [None if snap.storage is None else _cdata(snap.storage) for snap in (one, other)]
    alike = one.tensor is other.tensor and where[0] == where[1] and one.fields == other.fields
    return alike and are_same(one.grad, other.grad)


class Raised:
    """An exception that ``attempt`` caught; distinct from an exception that was returned."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _storage_of(tensor: Any) -> Any:
    """Its storage; a sparse tensor has none. Of what torch.func passes around, that of its content."""
    try:
        if contents.is_wrapped(tensor):
            with contents.outside_of_transforms():
                tensor = contents.content(tensor)
        return _storage(tensor) if _layout(tensor) is _strided else None
    except (RuntimeError, NotImplementedError):
        return None


def made_by(tensor: Any) -> Any:
    """The node that made a tensor, or None.

    None too where torch refuses: for one of several views that an operation gave at once, if their base or
    another of them was written to since.
    """
    try:
        return _grad_fn(tensor)
    except RuntimeError:
        return None


def is_leaf(tensor: Any) -> bool:
    """Whether no recorded operation made it; torch refuses to tell of what is none."""
    try:
        return bool(_is_leaf(tensor))
    except RuntimeError:
        return False


def read_grad(tensor: Any) -> Any:
    """``.grad`` where there can be one; elsewhere torch would warn, and a warning is not ours to cause."""
    if is_leaf(tensor) or _retains_grad(tensor):
        grad = _grad(tensor)
        return grad if is_tensor(grad) else None
    return None


def tensor_fields(tensor: Any) -> dict[str, Any]:
    """All facts of a tensor that do not refer to other tensors.

    Within torch.func, shape and value are those of what is in all contents.
    """
    if contents.is_in_transform() or contents.is_wrapped(tensor):
        return _fields_in_transform(tensor)
    return _fields(tensor)


def _fields_in_transform(tensor: Any) -> dict[str, Any]:
    with contents.outside_of_transforms():
        try:
            content = contents.content(tensor)
        except RuntimeError:  # a wrapper of another kind
            return _fields(tensor)
        return {**_fields(tensor), "shape": [*_shape(content)], "value": _elements(content)}


def _fields(tensor: Any) -> dict[str, Any]:
    node, leaf = made_by(tensor), is_leaf(tensor)
    name = class_name(_type(node)) if node is not None else None if leaf else REFUSED
    return {
        "kind": "Parameter" if _type(tensor) is _Parameter else "Tensor",
        "dtype": _str(_dtype(tensor)),
        "shape": [*_shape(tensor)],
        "value": _elements(tensor),
        "is_leaf": leaf,
        "requires_grad": _requires_grad(tensor),
        "grad_fn": name,
        "retains_grad": _retains_grad(tensor),
        "version": None if _is_inference(tensor) else _version(tensor),
    }


def _elements(tensor: Any) -> str | None:
    """The elements' bytes in row-major order, in base64; a complex number is two real ones.

    None where there are no numbers to read.
    """
    if _numel(tensor) > MAX_ELEMENTS or _layout(tensor) is not _strided:
        return None
    try:
        plain, dtype = _detach(tensor), _dtype(tensor)
        if dtype not in _AS_THEY_ARE:
            plain = _in_plain_numbers(plain)
        if plain is None or (not _data_ptr(plain) and _numel(plain)):
            return None
        return _in_base64(_tobytes(_numpy(_resolve_neg(plain))), newline=False).decode()
    except (RuntimeError, TypeError, NotImplementedError):  # meta tensors and others without memory
        return None


def _in_plain_numbers(tensor: Any) -> Any:
    """The same elements in a dtype that travels as it is; None where there is none."""
    if _is_complex(tensor):
        tensor = _view_as_real(_resolve_conj(tensor))
    dtype = _dtype(tensor)
    return tensor if dtype in _AS_THEY_ARE else _to(tensor, _WIDER[dtype]) if dtype in _WIDER else None


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
        self._characters = 0

    def encode(self, value: Any, depth: int = 0) -> list[Any]:
        """The encoded form of any value; never raises for what a student returned."""
        self._items += 1
        kind = _type(value)
        if value is None:
            return ["none"]
        if depth > MAX_DEPTH or self._is_full():
            return ["other", CUT_OFF]
        if kind is _Tensor or kind is _Parameter:
            return ["tensor", self._tensor(value)]
        if kind is Snap:
            return ["tensor", self._snap(value)]
        if kind is Raised:
            return ["raised", self._error(value.error)]
        return _scalar(value, kind) or self._composed(value, kind, depth)

    def _error(self, error: BaseException) -> dict[str, Any]:
        described = describe_error(error)
        own = (described["text"], described["function"], described["line"], *described["types"])
        self._characters += sum(map(len, own))
        return described

    def _is_full(self) -> bool:
        full = len(self.table) > MAX_TENSORS or self._characters > MAX_ALL_TEXT
        return full or self._items > MAX_ITEMS

    def _text(self, text: str) -> str:
        """Text of the answer; what comes once there is too much of it is left out."""
        self._characters += len(text)
        return printable(text)

    def _composed(self, value: Any, kind: type, depth: int) -> list[Any]:
        """A text or a collection; of everything else there is only the type's name."""
        if kind is str:
            return ["str", self._text(value[:MAX_TEXT])]
        if kind is list or kind is tuple:
            items = []
            for item in value:
                is_last = self._is_full()
                items.append(self.encode(item, depth + 1))
                if is_last:
                    break
            return ["list" if kind is list else "tuple", items]
        if kind is dict or _issubclass(kind, dict):
            pairs = []
            for key, item in dict.items(value):
                is_last = self._is_full()
                pairs.append([self._text(_key(key)), self.encode(item, depth + 1)])
                if is_last:
                    break
            return ["dict", pairs]
        return ["other", self._text(class_name(kind))]

    def _tensor(self, tensor: Any) -> int:
        place = self._places.get(_id(tensor))
        if place is None:
            storage = _storage_of(tensor)
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
        key = -_id(tensor) if storage is None else _cdata(storage)
        fields = {
            **fields,
            "identity": self._identities.setdefault(_id(tensor), len(self._identities)),
            "storage": self._storages.setdefault(key, len(self._storages)),
            "grad": None,
        }
        self._elements += _numel(tensor) if fields["value"] else 0
        if self._elements > MAX_ALL_ELEMENTS:
            fields["value"] = None
        self.table.append(fields)
        return len(self.table) - 1


def _scalar(value: Any, kind: type) -> list[Any] | None:
    if kind is bool:
        return ["bool", value]
    if kind is int:
        return ["int", value] if -(1 << 63) <= value < 1 << 63 else ["other", "int of more than 64 bits"]
    if kind is float:
        return ["float", value]
    if kind is _float64:  # a float to Python too
        return ["float", float.__float__(value)]
    if kind is _bool_:
        return ["bool", bool(value)]
    return None


def _key(key: Any) -> str:
    """A dict's key as text; of anything but a str and an ordinary int only the type's name."""
    if _type(key) is str:
        return key[:200]  # type: ignore[no-any-return]
    return str(key) if _type(key) is int and abs(key) < 1 << 63 else class_name(_type(key))
