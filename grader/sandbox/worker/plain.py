"""Lets no tensor of a student's answer for itself, before a probe works with it.

``w.grad`` or ``loss.backward()`` in a probe are calls into whatever class ``w`` is of, and into whatever its
own ``__dict__`` holds. So what a student's function returned, and what it was given, is made a tensor of
torch's own class, the same object with the same history.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch

from . import contents, errors, facts

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_Base, _Tensor, _Parameter = torch._C.TensorBase, torch.Tensor, torch.nn.Parameter
_set_class = object.__dict__["__class__"].__set__
_attributes = _Tensor.__dict__["__dict__"].__get__
_its_own = frozenset(name for kind in (_Parameter, _Tensor, _Base, object) for name in kind.__dict__)
_type, _id, _issubclass = type, id, issubclass
_MAX_ITEMS = 3_000  # as many as an answer may have


class Given:
    """What a call was given, and of which classes it was.

    Args:
        values: the arguments.
    """

    def __init__(self, values: tuple[Any, ...]) -> None:
        self._values = values
        self._kinds = [(value, _type(value)) for value in values if _is_watched(value)]

    def settle(self) -> list[str]:
        """Put back exchanged classes, and make the tensors plain; what was changed, for a flag."""
        changed = []
        for value, kind in self._kinds:
            if _type(value) is not kind:
                _set_class(value, kind)
                changed.append(f"the class of a {errors.class_name(kind)}")
        return changed + make_plain(self._values)


def make_plain(value: Any) -> list[str]:
    """Make all tensors in a value plain ones; what their attributes had put over torch's methods, for a flag.

    Raises:
        TypeError: a tensor of a class with slots, which nothing can be said about.
    """
    changed: list[str] = []
    for tensor in _tensors(value):
        if not facts.is_tensor(tensor):
            _make_torchs_own(tensor)
        attributes = _attributes(tensor)
        for name in [name for name in attributes if name in _its_own] if attributes else ():
            del attributes[name]
            changed.append(f"{errors.class_name(_type(tensor))}.{name}")
    return changed


def _make_torchs_own(tensor: Any) -> None:
    kind = _type(tensor)
    try:
        _set_class(tensor, _Parameter if _issubclass(kind, _Parameter) else _Tensor)
    except TypeError:
        raise TypeError(
            f"a tensor of the class {errors.class_name(kind)} cannot be read: it has __slots__"
        ) from None


def _is_watched(value: Any) -> bool:
    return _issubclass(_type(value), _Base) or contents.is_module(value) or contents.is_optimizer(value)


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors in a value: itself, or what lists, tuples and dicts hold, each of these once."""
    waiting, seen, left = [value], set[int](), _MAX_ITEMS
    while waiting:
        found = waiting.pop()
        kind = _type(found)
        if _issubclass(kind, _Base):
            yield found
        elif (kind is list or kind is tuple or kind is dict) and _id(found) not in seen:
            seen.add(_id(found))
            items = list(islice(dict.values(found) if kind is dict else found, left))
            left -= len(items)
            waiting += reversed(items)
