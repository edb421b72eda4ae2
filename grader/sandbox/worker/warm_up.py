"""What the zygote imports and does once, so that no worker does it for the first time."""

from __future__ import annotations

import contextlib
import copy
import importlib
import logging
import os
from typing import Any

#: What notebooks import sooner or later because torch itself does it lazily.
_LAZY = (
    "torch._subclasses.schema_check_mode",  # the first tensor that is printed
    *("torch.autograd.gradcheck", "torch.func", "torch.nn.utils.parametrizations", "torch.optim"),
    *("torch.testing", "torch.utils.checkpoint", "torch.utils.data"),
    *("asyncio", "collections", "copy", "dataclasses", "functools", "itertools", "math", "numpy.testing"),
    *("random", "statistics", "textwrap", "time", "typing"),
)
#: The same, for workers that can open no file later; too slow to be imported where they can.
_LAZY_WHERE_SEALED = (
    *("torch._dynamo", "torch.fx.experimental.symbolic_shapes"),
    "torch._decomp.decompositions_for_jvp",  # forward-mode differentiation
    *("torch.utils.benchmark", "numpy.polynomial", "doctest", "tracemalloc"),
)


def import_all(preload: list[str]) -> str:
    """Import what workers share and warm it up; returns the version of torch."""
    import torch

    from . import access, lazy_imports

    torch.set_num_threads(1)
    lazy = _LAZY if access.landlock_version() else (*_LAZY_WHERE_SEALED, *_LAZY)
    for name in (*lazy, *preload):
        with contextlib.suppress(Exception):  # what is not installed fails in the cell that needs it
            importlib.import_module(name)
    lazy_imports.install()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/"  # a folder that is there: torch.compile may not make its own
    _warm_up(torch)
    return torch.__version__.partition("+")[0]


def _warm_up(torch: Any) -> None:
    """Do once what most notebooks do.

    Torch reads lazily what it could not read in the cage (``/proc/cpuinfo``, kernels), and makes tables which
    every worker would have to copy. Nothing parallel and no backward: after one, a child that nests backwards
    60 deep crashes.
    """
    nn = torch.nn
    for _ in range(2):
        cell, readout = nn.RNNCell(2, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], 0.1, momentum=0.9)
        nn.functional.mse_loss(readout(cell(torch.randn(4, 2))), torch.zeros(4, 1))
        for parameter in cell.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()
        _look_at_tensors(torch)
        _look_at_modules(torch)
    _make_every_optimizer(torch)


def _look_at_tensors(torch: Any) -> None:
    leaf = torch.ones(3, requires_grad=True)
    product = leaf * torch.randn(3, generator=torch.Generator().manual_seed(1))
    product.register_hook(lambda gradient: gradient).remove()
    product.retain_grad()
    for tensor in (leaf, product, product.sum(), product.detach().double().clone()):
        str(tensor)
    torch.equal(leaf, leaf)
    torch.allclose(leaf, leaf)
    torch.manual_seed(0)
    with torch.no_grad():
        leaf.add_(0)


def _look_at_modules(torch: Any) -> None:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    handle = model[0].register_forward_hook(lambda *_: None)
    model(torch.ones(1, 2))
    handle.remove()
    model.load_state_dict(copy.deepcopy(model).state_dict())
    str(model)
    dict(model.named_parameters()), dict(model.named_modules())


def _make_every_optimizer(torch: Any) -> None:
    """Torch wraps the ``step`` of an optimizer's class when the first of it is made."""
    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            with contextlib.suppress(Exception):  # some want more than parameters
                kind([torch.nn.Parameter(torch.zeros(1))], lr=0.1)


def forget_locks_of_logs() -> None:
    """Keep every worker from giving torch's forty loggers new locks; no lock is held here."""
    locks = getattr(logging, "_at_fork_reinit_lock_weakset", None)
    if locks is not None:
        locks.clear()
