"""Reads tensors, modules and optimizers with functions captured before any student's code ran.

A student's class can override ``parameters``, ``__getattr__`` or ``state``, and replace ``_parameters`` by
its own kind of dictionary. So attributes are taken from where Python keeps them, and dictionaries and lists
are read as such.
"""

from __future__ import annotations

import binascii
import builtins
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch

from . import identity
from .errors import class_name

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

MAX_ELEMENTS = 4096  # of one tensor
REFUSED = "(refused)"  # in the place of a node's name: torch raises an error instead of telling the node

_base = torch._C.TensorBase
_is_leaf, requires_grad, retains_grad, _grad_fn, _grad = (
    _base.__dict__[name].__get__ for name in ("is_leaf", "requires_grad", "retains_grad", "grad_fn", "grad")
)
_version, _dtype, _shape, _layout = (
    _base.__dict__[name].__get__ for name in ("_version", "dtype", "shape", "layout")
)
_detach, _to, _numpy, numel = _base.detach, _base.to, _base.numpy, _base.numel
_resolve_conj, _resolve_neg, _data_ptr = _base.resolve_conj, _base.resolve_neg, _base.data_ptr
_storage, _is_complex, _is_inference = _base.untyped_storage, _base.is_complex, _base.is_inference
_address, _nbytes = torch.UntypedStorage.data_ptr, torch.UntypedStorage.nbytes
_cdata = torch._C.StorageBase.__dict__["_cdata"].__get__
_view_as_real, _strided = torch.view_as_real, torch.strided
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_tobytes, _in_base64 = np.ndarray.tobytes, binascii.b2a_base64
_AS_THEY_ARE = frozenset({torch.float32, torch.float64, torch.int64, torch.uint64, torch.bool})
#: Wider dtypes for those that are not sent themselves.
_WIDER = {
    **dict.fromkeys((torch.int8, torch.int16, torch.int32), torch.int64),
    **dict.fromkeys((torch.uint8, torch.uint16, torch.uint32), torch.int64),
    **dict.fromkeys((torch.float16, torch.bfloat16), torch.float32),
    **dict.fromkeys((torch.float8_e4m3fn, torch.float8_e5m2), torch.float32),
}


def is_tensor(value: Any) -> bool:
    """Whether a value is exactly a Tensor or a Parameter."""
    return type(value) is _Tensor or type(value) is _Parameter


def storage_of(tensor: Any) -> Any:
    """Its storage; None for a sparse tensor. Of a wrapper of torch.func's, that of its content."""
    try:
        if _is_wrapped(tensor):
            with _without_transforms():
                tensor, _ = _content(tensor)
        return _storage(tensor) if _layout(tensor) is _strided else None
    except (RuntimeError, NotImplementedError):
        return None


def memory_key(tensor: Any, storage: Any) -> int:
    """A number that is equal for tensors on the same memory, as long as they live."""
    return -identity(tensor) if storage is None else _cdata(storage)


def place_of(tensor: Any) -> tuple[int, int]:
    """The addresses at which its storage begins and ends; equal where there is no memory.

    Two storages may lie on the same memory, as that of ``torch.from_numpy(t.numpy())`` does.
    """
    storage = storage_of(tensor) if numel(tensor) else None
    if storage is None:
        return 0, 0
    try:
        begin = _address(storage)
    except RuntimeError:  # of a fake tensor
        return 0, 0
    return (begin, begin + _nbytes(storage)) if begin else (0, 0)


def made_by(tensor: Any) -> Any:
    """The node that made a tensor, or None.

    torch refuses to answer for a view that an operation gave together with others, if their base or another
    of them was written to since: None too.
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
    if is_leaf(tensor) or retains_grad(tensor):
        grad = _grad(tensor)
        return grad if is_tensor(grad) else None
    return None


class Fields(NamedTuple):
    """All observed properties of a tensor that don't refer to other tensors.

    The value is the bytes of its elements in row-major order, or None if there are no numbers to read; a
    complex number is two real numbers.
    """

    kind: type
    dtype: Any
    shape: Any
    value: bytes | None
    is_leaf: bool
    requires_grad: bool
    grad_fn: str | None
    retains_grad: bool
    version: int | None

    def encoded(self) -> dict[str, Any]:
        """The same in the form of JSON."""
        return {
            "kind": "Parameter" if self.kind is _Parameter else "Tensor",
            "dtype": str(self.dtype),
            "shape": [*self.shape],
            "value": None if self.value is None else _in_base64(self.value, newline=False).decode(),
            "is_leaf": self.is_leaf,
            "requires_grad": self.requires_grad,
            "grad_fn": self.grad_fn,
            "retains_grad": self.retains_grad,
            "version": self.version,
        }


def fields_of(tensor: Any) -> Fields:
    """The present properties of a tensor; within torch.func, those of its content."""
    if _interpreter() is None and not _is_wrapped(tensor):
        return _fields(tensor, tensor)
    with _without_transforms():
        try:
            content, _ = _content(tensor)
        except RuntimeError:  # a wrapper of another kind
            content = tensor
        return _fields(tensor, content)


def elements_of(tensor: Any) -> bytes | None:
    """The value among the fields of a tensor."""
    if _interpreter() is None and not _is_wrapped(tensor):
        return _elements(tensor)
    return fields_of(tensor).value


def _fields(tensor: Any, content: Any) -> Fields:
    node = None if (leaf := is_leaf(tensor)) else made_by(tensor)
    return Fields(
        type(tensor),
        _dtype(tensor),
        _shape(content),
        _elements(content),
        leaf,
        requires_grad(tensor),
        None if leaf else REFUSED if node is None else class_name(type(node)),
        retains_grad(tensor),
        None if _is_inference(tensor) else _version(tensor),
    )


def _elements(tensor: Any) -> bytes | None:
    if numel(tensor) > MAX_ELEMENTS or _layout(tensor) is not _strided:
        return None
    try:
        plain, dtype = _detach(tensor), _dtype(tensor)
        if dtype not in _AS_THEY_ARE:
            plain = _in_plain_numbers(plain)
        if plain is None or (not _data_ptr(plain) and numel(plain)):
            return None
        return _tobytes(_numpy(_resolve_neg(plain)))
    except (RuntimeError, TypeError, NotImplementedError):  # meta tensors and others without memory
        return None


def _in_plain_numbers(tensor: Any) -> Any:
    """The same elements in a dtype that travels as it is; None if there is none."""
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


def _content(tensor: Any) -> tuple[Any, int]:
    """The tensor in all wrappers, detached, and how many of its dimensions, the first, vmap maps over.

    The transforms have to be switched off.
    """
    if not _is_wrapped(tensor):
        return _detach(tensor), 0
    inner, batches = _content(_unwrapped(tensor))
    if not _is_batched(tensor):
        return inner, batches
    mapped = _batch_dimension(tensor) + batches
    return _permute(inner, [mapped, *(d for d in range(_dim(inner)) if d != mapped)]), batches + 1


# The content of a module or an optimizer, read without calling anything that its class may define.

_Module, _Optimizer = torch.nn.Module, torch.optim.Optimizer
_module_dict = _Module.__dict__["__dict__"].__get__
_optimizer_dict = _Optimizer.__dict__["__dict__"].__get__
_MAX_MODULES = 1_000  # in a module; two that hold each other twice have no end


def is_module(thing: Any) -> bool:
    """Whether it is a module, whatever its class says."""
    return issubclass(type(thing), _Module)


def is_optimizer(thing: Any) -> bool:
    """Whether it is an optimizer, whatever its class says."""
    return issubclass(type(thing), _Optimizer)


def attributes_of(thing: Any) -> dict[str, Any]:
    """The attributes of a module or an optimizer, from where Python keeps them."""
    return _module_dict(thing) if is_module(thing) else _optimizer_dict(thing)  # type: ignore[no-any-return]


def items_of(table: Any) -> list[tuple[Any, Any]]:
    """The items of a table, which is a dict whatever its class says; of anything else none."""
    return [*dict.items(table)] if issubclass(type(table), dict) else []


def modules_of(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """A module and all below it in the order of ``named_modules``, each with the prefix of its names.

    What several modules hold comes once for each of them.
    """
    return islice(_below(module, prefix, ()), _MAX_MODULES)


def _below(module: Any, prefix: str, above: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    yield prefix, module
    above = (*above, module)
    for name, child in members(module, "_modules"):
        if is_module(child) and not any(child is parent for parent in above):
            yield from _below(child, f"{prefix}{name}.", above)


def members(module: Any, part: str) -> list[tuple[str, Any]]:
    """A module's own ``_parameters``, ``_buffers`` or ``_modules``, without None."""
    registered = items_of(attributes_of(module).get(part))
    return [(name, value) for name, value in registered if type(name) is str and value is not None]


def named(module: Any, part: str) -> dict[str, Any]:
    """The same of a module and all modules below it, by full names; a shared object has several names."""
    below = modules_of(module)
    return {f"{prefix}{name}": held for prefix, child in below for name, held in members(child, part)}


def groups_of(optimizer: Any) -> list[list[Any]]:
    """The tensors of an optimizer by their groups, in order."""
    groups = _items(attributes_of(optimizer).get("param_groups"))
    return [_items(dict(items_of(group)).get("params")) for group in groups]


def memory_of(optimizer: Any) -> dict[int, list[tuple[Any, Any]]]:
    """An optimizer's state of each parameter (momentum ...), by the id of the parameter."""
    kept = items_of(attributes_of(optimizer).get("state"))
    return {identity(parameter): items_of(memory) for parameter, memory in kept}


def _items(value: Any) -> list[Any]:
    return [*list.__iter__(value)] if issubclass(type(value), list) else []
