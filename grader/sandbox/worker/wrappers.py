"""Inside: looks through the wrappers in which torch.func passes tensors around, to the numbers in them."""

from __future__ import annotations

import builtins
from typing import Any

import torch

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_functorch: Any = torch._C._functorch
_interpreter, _is_wrapped = _functorch.peek_interpreter_stack, _functorch.is_functorch_wrapped_tensor
_content, _is_batched, _batch_dimension = (
    _functorch.get_unwrapped,
    _functorch.is_batchedtensor,
    _functorch.maybe_get_bdim,
)
_without_transforms: Any = torch._C._DisableFuncTorch
_detach, _permute, _dim = torch._C.TensorBase.detach, torch._C.TensorBase.permute, torch._C.TensorBase.dim


def is_in_transform() -> bool:
    """Whether a transform of torch.func runs, in which even an ordinary tensor's numbers cannot be read."""
    return _interpreter() is not None


def is_wrapped(tensor: Any) -> bool:
    """Whether it is a wrapper, which shows neither its numbers nor its memory."""
    return _is_wrapped(tensor)  # type: ignore[no-any-return]


def outside_of_transforms() -> Any:
    """A context in which the transforms that run do not see what is asked of tensors."""
    return _without_transforms()


def content(tensor: Any) -> Any:
    """The tensor in all wrappers, detached; every dimension over which vmap maps comes first.

    To be called outside of transforms.
    """
    return _content_and_batches(tensor)[0]


def _content_and_batches(tensor: Any) -> tuple[Any, int]:
    """The content, and how many of its dimensions were mapped over."""
    if not _is_wrapped(tensor):
        return _detach(tensor), 0
    inner, batches = _content_and_batches(_content(tensor))
    if not _is_batched(tensor):
        return inner, batches
    mapped = _batch_dimension(tensor) + batches
    return _permute(inner, [mapped, *(d for d in range(_dim(inner)) if d != mapped)]), batches + 1
