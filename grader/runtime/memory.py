"""The bytes that the process holds, as counted by the allocator."""

from __future__ import annotations

import ctypes

import torch
from torch import nn

from .originals import builtins_copy, collect_garbage

__builtins__ = builtins_copy()

_FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class _Info(ctypes.Structure):
    """``struct mallinfo2`` of the GNU C library."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _FIELDS.split())


_ask = ctypes.CDLL(None).mallinfo2
_ask.restype = _Info


def held() -> int:
    """The bytes of all of malloc's blocks that are in use, large and small; a question of a microsecond.

    torch's tensors, NumPy's arrays and Python's large objects are in such blocks. Python's objects of up to
    512 bytes are in blocks of its own, of which only the number is known: ``count_allocated_blocks``.
    """
    info = _ask()
    return int(info.uordblks + info.hblkhd)


def held_for_good() -> int:
    """The same after garbage collection."""
    collect_garbage()
    return held()


def warm_up(rows: int, width: int) -> None:
    """Let torch allocate its buffers for matrix products of these sizes, and smaller ones."""
    inputs = torch.randn(rows, 12)
    net = nn.Sequential(nn.Linear(12, width), nn.Tanh(), nn.Dropout(), nn.Linear(width, 12))
    for x in (inputs, inputs.double(), inputs.view(2, -1, 12)):
        net.to(x.dtype)(x).sum().backward()
