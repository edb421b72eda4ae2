"""Reads tensors, modules and optimizers with functions captured before any student's code ran.

A student's class can override ``parameters``, ``__getattr__`` or ``state``, and replace ``_parameters`` by
its own kind of dictionary. So attributes are taken from where Python keeps them, and dictionaries and lists
are read as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import torch

from .errors import class_name
from .originals import (
    Module,
    Optimizer,
    Parameter,
    Tensor,
    batch_dimension,
    builtins_copy,
    bytes_of_array,
    bytes_to_base64,
    data_pointer,
    detach,
    dimensions_of,
    dtype_of,
    identity,
    is_batched,
    is_complex,
    is_inference,
    is_wrapped,
    layout_of,
    module_dict_of,
    numel,
    optimizer_dict_of,
    peek_interpreter,
    permute,
    raw_grad,
    raw_grad_fn,
    raw_is_leaf,
    raw_storage,
    requires_grad,
    resolve_conj,
    resolve_neg,
    retains_grad,
    shape_of,
    storage_address,
    storage_number,
    storage_size,
    strided,
    to_dtype,
    to_numpy,
    unwrapped,
    version_of,
    view_as_real,
    without_transforms,
)

__builtins__ = builtins_copy()

MAX_ELEMENTS = 4096  # of one tensor
REFUSED = "(refused)"  # in the place of a node's name: torch raises an error instead of telling the node

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
    return type(value) is Tensor or type(value) is Parameter


def storage_of(tensor: Any) -> Any:
    """Its storage; None for a sparse tensor. Of a wrapper of torch.func's, that of its content."""
    try:
        if is_wrapped(tensor):
            with without_transforms():
                tensor, _ = _content(tensor)
        return raw_storage(tensor) if layout_of(tensor) is strided else None
    except (RuntimeError, NotImplementedError):
        return None


def memory_key(tensor: Any, storage: Any) -> int:
    """A number that is equal for tensors on the same memory, as long as they live."""
    return -identity(tensor) if storage is None else storage_number(storage)


def place_of(tensor: Any) -> tuple[int, int]:
    """The addresses at which its storage begins and ends; equal where there is no memory.

    Two storages may lie on the same memory, as that of ``torch.from_numpy(t.numpy())`` does.
    """
    storage = storage_of(tensor) if numel(tensor) else None
    if storage is None:
        return 0, 0
    try:
        begin = storage_address(storage)
    except RuntimeError:  # of a fake tensor
        return 0, 0
    return (begin, begin + storage_size(storage)) if begin else (0, 0)


def made_by(tensor: Any) -> Any:
    """The node that made a tensor, or None.

    torch refuses to answer for a view that an operation gave together with others, if their base or another
    of them was written to since: None too.
    """
    try:
        return raw_grad_fn(tensor)
    except RuntimeError:
        return None


def is_leaf(tensor: Any) -> bool:
    """Whether no recorded operation made it; where torch refuses to answer, an operation did."""
    try:
        return bool(raw_is_leaf(tensor))
    except RuntimeError:
        return False


def read_grad(tensor: Any) -> Any:
    """``.grad`` where there can be a gradient; elsewhere torch would warn, and a check may count warnings."""
    if is_leaf(tensor) or retains_grad(tensor):
        grad = raw_grad(tensor)
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
            "kind": "Parameter" if self.kind is Parameter else "Tensor",
            "dtype": str(self.dtype),
            "shape": [*self.shape],
            "value": None if self.value is None else bytes_to_base64(self.value, newline=False).decode(),
            "is_leaf": self.is_leaf,
            "requires_grad": self.requires_grad,
            "grad_fn": self.grad_fn,
            "retains_grad": self.retains_grad,
            "version": self.version,
        }


def fields_of(tensor: Any) -> Fields:
    """The present properties of a tensor; within torch.func, those of its content."""
    if peek_interpreter() is None and not is_wrapped(tensor):
        return _fields(tensor, tensor)
    with without_transforms():
        try:
            content, _ = _content(tensor)
        except RuntimeError:  # a wrapper of another kind
            content = tensor
        return _fields(tensor, content)


def elements_of(tensor: Any) -> bytes | None:
    """The value among the fields of a tensor."""
    if peek_interpreter() is None and not is_wrapped(tensor):
        return _elements(tensor)
    return fields_of(tensor).value


def _fields(tensor: Any, content: Any) -> Fields:
    node = None if (leaf := is_leaf(tensor)) else made_by(tensor)
    return Fields(
        type(tensor),
        dtype_of(tensor),
        shape_of(content),
        _elements(content),
        leaf,
        requires_grad(tensor),
        None if leaf else REFUSED if node is None else class_name(type(node)),
        retains_grad(tensor),
        None if is_inference(tensor) else version_of(tensor),
    )


def _elements(tensor: Any) -> bytes | None:
    if numel(tensor) > MAX_ELEMENTS or layout_of(tensor) is not strided:
        return None
    try:
        plain, dtype = detach(tensor), dtype_of(tensor)
        if dtype not in _AS_THEY_ARE:
            plain = _in_plain_numbers(plain)
        if plain is None or (not data_pointer(plain) and numel(plain)):
            return None
        return bytes_of_array(to_numpy(resolve_neg(plain)))
    except (RuntimeError, TypeError, NotImplementedError):  # meta tensors and others without memory
        return None


def _in_plain_numbers(tensor: Any) -> Any:
    """The same elements in a dtype that travels as it is; None if there is none."""
    if is_complex(tensor):
        tensor = view_as_real(resolve_conj(tensor))
    dtype = dtype_of(tensor)
    return tensor if dtype in _AS_THEY_ARE else to_dtype(tensor, _WIDER[dtype]) if dtype in _WIDER else None


# The wrappers in which torch.func passes tensors around, and the numbers in them.


def _content(tensor: Any) -> tuple[Any, int]:
    """The tensor in all wrappers, detached, and how many of its dimensions, the first, vmap maps over.

    The transforms have to be switched off.
    """
    if not is_wrapped(tensor):
        return detach(tensor), 0
    inner, batches = _content(unwrapped(tensor))
    if not is_batched(tensor):
        return inner, batches
    mapped = batch_dimension(tensor) + batches
    return permute(inner, [mapped, *(d for d in range(dimensions_of(inner)) if d != mapped)]), batches + 1


# The content of a module or an optimizer, read without calling anything that its class may define.

_MAX_MODULES = 1_000  # in a module; two that hold each other twice have no end


def is_module(thing: Any) -> bool:
    """Whether it is a module, whatever its class says."""
    return issubclass(type(thing), Module)


def is_optimizer(thing: Any) -> bool:
    """Whether it is an optimizer, whatever its class says."""
    return issubclass(type(thing), Optimizer)


def attributes_of(thing: Any) -> dict[str, Any]:
    """The attributes of a module or an optimizer, from where Python keeps them."""
    return module_dict_of(thing) if is_module(thing) else optimizer_dict_of(thing)  # type: ignore[no-any-return]


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
