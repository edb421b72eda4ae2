"""Moves what the course's own answer computes by a few units in the last place: where does that lead?

Arithmetic in another order is rounded otherwise. So the reference is observed again with every rounded result
moved at random: how far its facts move says how exact anybody's can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: By dtype, the integer of the same size, and the bits that are all 0 in a number of few digits: most likely
#: it is exact, as sums and products of whole numbers are.
_BITS = {torch.float32: (torch.int32, (1 << 12) - 1), torch.float64: (torch.int64, (1 << 29) - 1)}
_UNITS = 2
_in_force: list[Moved] = []
_DRAWS = torch.Tag.nondeterministic_seeded


class Moved(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Moves the results of all operations, by random numbers of its own.

    It begins when the probe first takes a function from the notebook: inputs stay what they are.
    What an operation draws, copies, selects or computes exactly was not rounded, and is not moved: ties stay
    ties, and 0 stays 0. Version counters, views and memory are what they would be without it.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._generator = torch.Generator().manual_seed(seed)
        self.has_begun = False

    def __enter__(self) -> Any:
        _in_force[:] = [self]
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: object) -> None:
        _in_force.clear()
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the answer True imports the compiler

    def __torch_dispatch__(self, operation: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.has_begun:
            return operation(*args, **(kwargs or {}))
        schema, kwargs = operation._schema, kwargs or {}
        named = {**dict(zip((a.name for a in schema.arguments), args, strict=False)), **kwargs}
        writes = [named.get(a.name) for a in schema.arguments if a.alias_info and a.alias_info.is_write]
        given = [tensor.clone() if writes else tensor for tensor in _floats(named.values())]
        result = operation(*args, **kwargs)
        made = result if isinstance(result, tuple) else (result,)
        fresh = (one for one, returned in zip(made, schema.returns, strict=False) if not returned.alias_info)
        for tensor in _floats((*writes, *fresh)) if given and _DRAWS not in operation.tags else ():
            self._move(tensor, [other.reshape(-1) for other in given if other.dtype is tensor.dtype])
        return result

    def _move(self, tensor: torch.Tensor, given: list[torch.Tensor]) -> None:
        integer, digits = _BITS[tensor.dtype]
        values = tensor.reshape(-1)
        rounded = (values.view(integer) & digits) != 0
        if given:
            rounded &= torch.isin(values, torch.cat(given), invert=True)
        signs = torch.randint(0, 2, values.shape, generator=self._generator, dtype=values.dtype) * 2 - 1
        size = _UNITS * torch.finfo(values.dtype).eps
        elsewhere = torch.addcmul(values, values, signs, value=size)
        tensor.copy_(torch.where(rounded, elsewhere, values).view(tensor.shape))  # inf * 0 would be nan


def is_in_force() -> bool:
    """Whether results may be moved in this probe."""
    return bool(_in_force)


def pause() -> None:
    """Inputs that are made from here on stay what they are, until a name of the notebook is taken again."""
    for movement in _in_force:
        movement.has_begun = False


class Beginning:
    """The notebook's names as the probe sees them; each that it takes begins the movement."""

    def __init__(self, student: Any, movement: Moved) -> None:
        self.__student, self.__movement = student, movement

    def __getattr__(self, name: str) -> Any:
        self.__movement.has_begun = True
        return getattr(self.__student, name)


def _floats(values: Any) -> Iterator[torch.Tensor]:
    """The tensors that can be moved among some values, and in lists among them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.dtype in _BITS and value.layout is torch.strided:
                yield value
        elif isinstance(value, list | tuple):
            yield from _floats(value)
