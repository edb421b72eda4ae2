"""Perturbs the results of the course's own answer by a few units in the last place.

Arithmetic in another order is rounded differently. So the reference is observed again while every rounded
result is perturbed at random: the changes of its observations show how exact any answer can be
(``sandbox/sensitivity.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: By dtype, the integer of the same size, and the bits that are all 0 in a number of few digits: most likely
#: it is exact, as sums and products of whole numbers are.
_BITS = {torch.float32: (torch.int32, (1 << 12) - 1), torch.float64: (torch.int64, (1 << 29) - 1)}
_UNITS = 2
_SIGNS = 1 << 16  # are drawn in advance
_MOST_PAIRS = 1 << 16  # of numbers that are compared one by one
_in_force: list[Perturbation] = []
_DRAWS = torch.Tag.nondeterministic_seeded


class Perturbation(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Moves the results of all operations, by random numbers of its own.

    It begins when a contract first takes a function from the notebook: inputs stay what they are.
    What an operation draws, copies, selects or computes exactly was not rounded, and is not perturbed: ties
    stay ties, and 0 stays 0. Version counters, views and memory are what they would be without it.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        signs = torch.randint(0, 2, (_SIGNS,), generator=torch.Generator().manual_seed(seed)) * 2 - 1
        self._signs = {dtype: signs.to(dtype) for dtype in _BITS}
        self._used = 0
        self._is_entered = False

    def __enter__(self) -> Any:
        _in_force[:] = [self]
        return self

    def __exit__(self, *error: object) -> None:
        self.pause()
        _in_force.clear()

    def begin(self) -> None:
        """Perturb all results from here on."""
        if not self._is_entered:
            self._is_entered = True
            super().__enter__()  # type: ignore[no-untyped-call]

    def pause(self) -> None:
        """Perturb no results from here on."""
        if self._is_entered:
            self._is_entered = False
            super().__exit__(None, None, None)  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the answer True imports the compiler

    def __torch_dispatch__(self, operation: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        written, is_fresh = _what_is_rounded(operation)
        if not (written or any(is_fresh)):
            return operation(*args, **kwargs)
        writes = [args[at] if at < len(args) else kwargs.get(name) for at, name in written]
        given = [t.clone() if writes else t for t in _floats((*args, *kwargs.values()))]
        result = operation(*args, **kwargs)
        made = result if isinstance(result, tuple) else (result,)
        fresh = (one for one, has_memory in zip(made, is_fresh, strict=False) if has_memory)
        for tensor in _floats((*writes, *fresh)) if given else ():
            self._move(tensor, [other.reshape(-1) for other in given if other.dtype is tensor.dtype])
        return result

    def _move(self, tensor: torch.Tensor, given: list[torch.Tensor]) -> None:
        integer, digits = _BITS[tensor.dtype]
        values = tensor.reshape(-1)
        rounded = (values.view(integer) & digits) != 0
        if given:
            others = torch.cat(given)
            if values.numel() * others.numel() <= _MOST_PAIRS:  # faster than `isin`, which sorts
                rounded &= (values.unsqueeze(1) != others).all(1)
            else:
                rounded &= torch.isin(values, others, invert=True)
        elsewhere = torch.addcmul(values, values, self._next_signs(values), value=_UNITS * _EPS[tensor.dtype])
        tensor.copy_(torch.where(rounded, elsewhere, values).view(tensor.shape))  # inf * 0 would be nan

    def _next_signs(self, values: torch.Tensor) -> torch.Tensor:
        """As many signs, in turn; of a large tensor several numbers get the same."""
        signs, size = self._signs[values.dtype], values.numel()
        if size > _SIGNS:
            return signs.repeat(-(-size // _SIGNS))[:size]
        start = self._used if self._used + size <= _SIGNS else 0
        self._used = start + size
        return signs[start : self._used]


_EPS = {dtype: torch.finfo(dtype).eps for dtype in _BITS}


@cache
def _what_is_rounded(operation: Any) -> tuple[tuple[tuple[int, str], ...], tuple[bool, ...]]:
    """The places and names of the arguments that an operation writes to, and which results are no views.

    Nothing of what draws random numbers.
    """
    if _DRAWS in operation.tags:
        return (), ()
    schema = operation._schema
    written = (
        (at, a.name) for at, a in enumerate(schema.arguments) if a.alias_info and a.alias_info.is_write
    )
    return tuple(written), tuple(not returned.alias_info for returned in schema.returns)


def is_in_force() -> bool:
    """Whether results may be perturbed in this request."""
    return bool(_in_force)


def pause() -> None:
    """Don't perturb inputs that are made from here on, until a name of the notebook is read again."""
    for movement in _in_force:
        movement.pause()


class Beginning:
    """The notebook's names as a contract sees them; each that it takes begins the movement."""

    def __init__(self, student: Any, movement: Perturbation) -> None:
        self.__student, self.__movement = student, movement

    def __getattr__(self, name: str) -> Any:
        self.__movement.begin()
        return getattr(self.__student, name)


def _floats(values: Any) -> Iterator[torch.Tensor]:
    """The tensors that can be perturbed among some values, and in lists among them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.dtype in _BITS and value.layout is torch.strided:
                yield value
        elif isinstance(value, list | tuple):
            yield from _floats(value)
