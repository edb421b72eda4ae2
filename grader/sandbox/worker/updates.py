"""Inside: the word ``updates``, which records what an optimizer is given at each step, and what that does."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

import torch

from . import facts
from .graph import tensors_of
from .opaque import opaque

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_listen = torch.optim.Optimizer.register_step_post_hook
_detach, _reshape = torch._C.TensorBase.detach, torch._C.TensorBase.reshape
_cat, _clone, _zeros_like = torch.cat, torch._C.TensorBase.clone, torch.zeros_like
_id = id

#: What torch's optimizers remember of a parameter.
_MEMORY = (
    "momentum_buffer",
    "exp_avg",
    "exp_avg_sq",
    "max_exp_avg_sq",
    "square_avg",
    "grad_avg",
    "sum",
    "step",
)


class Updates:
    """The word: ``with updates(opt, model=model) as made`` fills ``made``.

    ``before`` has what stood in ``.grad``, zeros for None; ``steps`` for each step of the optimizer the
    ``gradient`` it was given, the names of parameters whose gradient was ``missing``, and the ``place`` to
    which they came; ``end`` where they are when the block ends, ``memory`` what the optimizer remembers of
    them, by torch's names. Each is one tensor for all parameters, None where one of them has none, so that a
    small one is not compared more finely than known.

    Args:
        opt: an optimizer.
        named: parameters, or modules, which stand for theirs; what requires no grad is left out.
    """

    def __init__(self, opt: Any, **named: Any) -> None:
        modules: set[int] = set()
        found = [pair for name, value in named.items() for pair in tensors_of(name, value, modules)]
        names = {_id(p): name for name, p in reversed(found)}  # of several names of one parameter the first
        self._learners = list({_id(p): p for _, p in found if facts._requires_grad(p)}.values())
        self._names = [names[_id(p)] for p in self._learners]
        self._opt = opt
        self._made: dict[str, Any] = {"before": None, "steps": [], "end": None, "memory": {}}

    def __enter__(self) -> dict[str, Any]:
        grads = [(p, facts.read_grad(p)) for p in self._learners]
        self._made["before"] = _together(_zeros_like(p) if grad is None else grad for p, grad in grads)
        self._hook = _listen(self._opt, opaque(self._note))
        return self._made

    def _note(self, *_: Any) -> None:
        grads = [facts.read_grad(p) for p in self._learners]
        missing = [name for name, grad in zip(self._names, grads, strict=True) if grad is None]
        place = _together(self._learners)
        self._made["steps"].append({"gradient": _together(grads), "missing": missing, "place": place})

    def __exit__(self, *error: object) -> None:
        self._hook.remove()
        states = [self._opt.state.get(p, {}) for p in self._learners]
        self._made["end"] = _together(self._learners)
        self._made["memory"] = {entry: _together(state.get(entry) for state in states) for entry in _MEMORY}


def _together(tensors: Iterable[Any]) -> Any:
    """The numbers of some tensors as they are now, in one; of a single one its shape, too; of none None."""
    all_of_them = list(tensors)
    if not all_of_them or not all(facts.is_tensor(tensor) for tensor in all_of_them):
        return None
    if len(all_of_them) == 1:
        return _clone(_detach(all_of_them[0]))
    return _cat([_reshape(_detach(tensor), (-1,)) for tensor in all_of_them])
