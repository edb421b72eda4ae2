"""Inside: puts back modes that last until somebody leaves them: inference mode, autocast, Python's own.

A cell or a function may enter one and never leave it.
"""

from __future__ import annotations

import builtins
import gc
import sys
from typing import Any

import torch

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_KINDS = ("cpu", "cuda")  # of devices; what lasts for another kind reaches no tensor of a probe
_is_inference, _Inference = torch.is_inference_mode_enabled, torch._C._InferenceMode
_is_autocast, _set_autocast = torch.is_autocast_enabled, torch.set_autocast_enabled
_get_dtype, _set_dtype = torch.get_autocast_dtype, torch.set_autocast_dtype
_is_cached, _set_cached, _clear_cache = (
    torch.is_autocast_cache_enabled,
    torch.set_autocast_cache_enabled,
    torch.clear_autocast_cache,
)
_enter, _leave = torch.autocast_increment_nesting, torch.autocast_decrement_nesting
_dtypes = {kind: _get_dtype(kind) for kind in _KINDS}
_get_recursion_limit, _set_recursion_limit = sys.getrecursionlimit, sys.setrecursionlimit
_recursion_limit = _get_recursion_limit()
_is_collecting, _collect = gc.isenabled, gc.enable
_kept: list[Any] = []  # a guard of torch's puts back what was before it as soon as nobody holds it


def put_back() -> None:
    """Put back inference mode, autocast, the recursion limit and the collection of garbage."""
    if _is_inference():
        _kept.append(_Inference(False))
    for kind in _KINDS:
        if _is_autocast(kind):
            _set_autocast(kind, False)
        if _get_dtype(kind) is not _dtypes[kind]:
            _set_dtype(kind, _dtypes[kind])
    if not _is_cached():
        _set_cached(True)
    _leave_autocast()
    if _get_recursion_limit() != _recursion_limit:
        _set_recursion_limit(_recursion_limit)
    if not _is_collecting():
        _collect()


def _leave_autocast() -> None:
    """Leave every region: within one, weights that were cast before stay in the cache, old as they may be."""
    depth = _enter()  # one more than there were; torch counts below zero too
    if depth != 1:
        _clear_cache()
    while depth != 0:
        depth = _leave() if depth > 0 else _enter()
