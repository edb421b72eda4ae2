"""Reads tensors through what torch offered before any student's code ran."""

from __future__ import annotations

import binascii
import builtins
from typing import Any

import numpy as np
import torch

from .errors import class_name

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

MAX_ELEMENTS = 4096  # of one tensor
REFUSED = "(refused)"  # in the place of a node's name: torch raises an error instead of telling the node

_base = torch._C.TensorBase
_is_leaf = _base.__dict__["is_leaf"].__get__
requires_grad = _base.__dict__["requires_grad"].__get__
_retains_grad = _base.__dict__["retains_grad"].__get__
_grad_fn = _base.__dict__["grad_fn"].__get__
_version = _base.__dict__["_version"].__get__
_grad = _base.__dict__["grad"].__get__
_dtype = _base.__dict__["dtype"].__get__
_shape = _base.__dict__["shape"].__get__
_layout = _base.__dict__["layout"].__get__
_detach, _to, _numpy, numel = _base.detach, _base.to, _base.numpy, _base.numel
_resolve_conj, _resolve_neg, _data_ptr = _base.resolve_conj, _base.resolve_neg, _base.data_ptr
_storage, _is_complex, _is_inference = _base.untyped_storage, _base.is_complex, _base.is_inference
_cdata = torch._C.StorageBase.__dict__["_cdata"].__get__
_view_as_real, _strided = torch.view_as_real, torch.strided
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_tobytes, _in_base64 = np.ndarray.tobytes, binascii.b2a_base64
_AS_THEY_ARE = frozenset({torch.float32, torch.float64, torch.int64, torch.uint64, torch.bool})
#: What holds all numbers of the dtypes that do not travel as they are.
_WIDER = {
    **dict.fromkeys((torch.int8, torch.int16, torch.int32), torch.int64),
    **dict.fromkeys((torch.uint8, torch.uint16, torch.uint32), torch.int64),
    **dict.fromkeys((torch.float16, torch.bfloat16), torch.float32),
    **dict.fromkeys((torch.float8_e4m3fn, torch.float8_e5m2), torch.float32),
}
_type, _str, _id = type, str, id


def is_tensor(value: Any) -> bool:
    """Whether a value is exactly a Tensor or a Parameter."""
    return _type(value) is _Tensor or _type(value) is _Parameter


class Snap:
    """Facts of a tensor as it is now; keeps the tensor and its storage, so that identities stay unique."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.storage = storage_of(tensor)
        self.fields = tensor_fields(tensor)
        grad = read_grad(tensor)
        self.grad = None if grad is None else Snap(grad)


def are_same(one: Snap | None, other: Snap | None) -> bool:
    """Whether two snaps are of the same tensor, on the same memory, and nothing about it has changed."""
    if one is None or other is None:
        return one is other
    is_in_place = memory_key(one.tensor, one.storage) == memory_key(other.tensor, other.storage)
    alike = one.tensor is other.tensor and is_in_place and one.fields == other.fields
    return alike and are_same(one.grad, other.grad)


def storage_of(tensor: Any) -> Any:
    """Its storage; None for a sparse tensor. Of a wrapper of torch.func's, the storage of its content."""
    try:
        if _is_wrapped(tensor):
            with _without_transforms():
                tensor = _content(tensor)
        return _storage(tensor) if _layout(tensor) is _strided else None
    except (RuntimeError, NotImplementedError):
        return None


def memory_key(tensor: Any, storage: Any) -> int:
    """A number that is equal for tensors on the same memory, as long as they live."""
    return -_id(tensor) if storage is None else _cdata(storage)


def made_by(tensor: Any) -> Any:
    """The node that made a tensor, or None.

    None too where torch refuses: for a view that an operation gave together with others, if their base or
    another of them was written to since.
    """
    try:
        return _grad_fn(tensor)
    except RuntimeError:
        return None


def is_leaf(tensor: Any) -> bool:
    """Whether no recorded operation made it; where torch refuses to answer, an operation did."""
    try:
        return bool(_is_leaf(tensor))
    except RuntimeError:
        return False


def read_grad(tensor: Any) -> Any:
    """``.grad`` where there can be a gradient; elsewhere torch would warn, and a check may count warnings."""
    if is_leaf(tensor) or _retains_grad(tensor):
        grad = _grad(tensor)
        return grad if is_tensor(grad) else None
    return None


def tensor_fields(tensor: Any) -> dict[str, Any]:
    """All facts of a tensor that do not refer to other tensors.

    Within torch.func, shape and value are those of the content of all wrappers.
    """
    if _interpreter() is not None or _is_wrapped(tensor):
        return _fields_in_transform(tensor)
    return _fields(tensor)


def _fields_in_transform(tensor: Any) -> dict[str, Any]:
    with _without_transforms():
        try:
            content = _content(tensor)
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
        "requires_grad": requires_grad(tensor),
        "grad_fn": name,
        "retains_grad": _retains_grad(tensor),
        "version": None if _is_inference(tensor) else _version(tensor),
    }


def _elements(tensor: Any) -> str | None:
    """The elements' bytes in row-major order, in base64; a complex number is two real numbers.

    None where there are no numbers to read.
    """
    if numel(tensor) > MAX_ELEMENTS or _layout(tensor) is not _strided:
        return None
    try:
        plain, dtype = _detach(tensor), _dtype(tensor)
        if dtype not in _AS_THEY_ARE:
            plain = _in_plain_numbers(plain)
        if plain is None or (not _data_ptr(plain) and numel(plain)):
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


# The wrappers in which torch.func passes tensors around, and the numbers in them.

_functorch: Any = torch._C._functorch
_interpreter, _is_wrapped = _functorch.peek_interpreter_stack, _functorch.is_functorch_wrapped_tensor
_unwrapped, _is_batched = _functorch.get_unwrapped, _functorch.is_batchedtensor
_batch_dimension = _functorch.maybe_get_bdim
_without_transforms: Any = torch._C._DisableFuncTorch
_permute, _dim = _base.permute, _base.dim


def _content(tensor: Any) -> Any:
    """The tensor in all wrappers, detached; every dimension over which vmap maps comes first.

    The transforms have to be switched off.
    """
    return _content_and_batches(tensor)[0]


def _content_and_batches(tensor: Any) -> tuple[Any, int]:
    """The content, and how many of its dimensions were mapped over."""
    if not _is_wrapped(tensor):
        return _detach(tensor), 0
    inner, batches = _content_and_batches(_unwrapped(tensor))
    if not _is_batched(tensor):
        return inner, batches
    mapped = _batch_dimension(tensor) + batches
    return _permute(inner, [mapped, *(d for d in range(_dim(inner)) if d != mapped)]), batches + 1
