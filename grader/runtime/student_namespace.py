"""A notebook as the code of a check file sees it: names, watched functions, and plain tensors.

``w.grad`` or ``loss.backward()`` there call whatever the class of ``w`` and its own ``__dict__`` hold.
So what a student's function returned, and what it was given, is made a tensor of torch's own class, the same
object with the same history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from . import errors, torch_state, vocabulary
from .opaque import opaque
from .originals import (
    Parameter,
    Tensor,
    TensorBase,
    builtins_copy,
    count_threads,
    identity,
    set_class,
    sleep,
    tensor_dict_of,
)
from .torch_objects import is_module, is_optimizer, is_tensor

__builtins__ = builtins_copy()

_its_own = frozenset(name for kind in (Parameter, Tensor, TensorBase, object) for name in kind.__dict__)
_MAX_ITEMS = 3_000  # as many as an answer may have
_WAIT, _MOST_WAITS = 0.001, 50  # for threads that end: seconds, and how often after a call


def make_plain(value: Any) -> list[str]:
    """Make all tensors in a value plain; returns which methods of torch's they had overridden, for a flag.

    Raises:
        TypeError: a tensor's class has slots and cannot be exchanged.
    """
    changed: list[str] = []
    for tensor in _tensors(value):
        kind = type(tensor)
        if not is_tensor(tensor):
            try:
                set_class(tensor, Parameter if issubclass(kind, Parameter) else Tensor)
            except TypeError:
                named = errors.class_name(kind)
                raise TypeError(f"a tensor of the class {named} cannot be read: it has __slots__") from None
        attributes = tensor_dict_of(tensor)
        for name in [name for name in attributes if name in _its_own] if attributes else ():
            del attributes[name]
            changed.append(f"{errors.class_name(type(tensor))}.{name}")
    return changed


def _restored_classes(kinds: list[tuple[Any, type]]) -> list[str]:
    """Restore the classes of values; returns descriptions of the changes, for a flag."""
    exchanged = [(value, kind) for value, kind in kinds if type(value) is not kind]
    for value, kind in exchanged:
        set_class(value, kind)
    return [f"the class of a {errors.class_name(kind)}" for _, kind in exchanged]


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors in a value: itself, or those in lists, tuples and dicts, each of these once."""
    waiting, seen, left = [value], set[int](), _MAX_ITEMS
    while waiting:
        part = waiting.pop()
        kind: Any = type(part)
        if issubclass(kind, TensorBase):
            yield part
        elif (kind is list or kind is dict or issubclass(kind, tuple)) and identity(part) not in seen:
            seen.add(identity(part))
            parts = dict.values(part) if kind is dict else part if kind is list else tuple.__iter__(part)
            items = list(islice(parts, left))
            left -= len(items)
            waiting += reversed(items)


#: They answer in the place of torch or of the check file, so that nothing can be believed.
_ANSWERING = ("torch function modes", "torch dispatch modes", "frame evaluation")


class CallWatch:
    """Examines each call of student code when it returns: undoes its changes of torch, makes tensors plain.

    Attributes:
        patched: the parts of torch that calls replaced, for flags.
        has_value: by the name of each function that was called, whether it ever returned anything but None.
    """

    def __init__(self) -> None:
        self.patched: list[str] = []
        self.has_value: dict[str, bool] = {}
        self._waits = _MOST_WAITS

    def call(self, function: Callable[[], Any], given: Iterable[Any]) -> Any:
        """Call a function and return its result.

        Args:
            function: makes the call.
            given: the objects that the student's code gets.
        """
        before, given, threads = torch_state.listeners(), [*given], count_threads()
        watched = (v for v in given if issubclass(type(v), TensorBase) or is_module(v) or is_optimizer(v))
        kinds = [(value, type(value)) for value in watched]
        try:
            result = function()
        finally:
            left, patched = torch_state.interceptions(before)
            vocabulary.end_call()  # by then nothing of a student's answers for a generator
            self.patched += [kind for kind in left if kind in _ANSWERING] + patched
            self.patched += _restored_classes(kinds) + make_plain(given)
            self._wait_for_threads(threads)
        self.patched += make_plain(result)
        return result

    def _wait_for_threads(self, number: int) -> None:
        """Wait until no more threads than before are left: a library may end its own a little later."""
        for _ in range(self._waits):
            if count_threads() <= number:
                return
            sleep(_WAIT)
        self._waits = 0  # one goes on running

    def watched(self, name: str, function: Callable[..., Any]) -> Any:
        """A student's function whose calls are examined."""

        def call(*args: Any, **kwargs: Any) -> Any:
            result = self.call(lambda: function(*args, **kwargs), (*args, *kwargs.values()))
            self.has_value[name] = self.has_value.get(name, False) or result is not None
            return result

        return opaque(call)


class StudentNamespace:
    """The names of the notebook as attributes; its functions are watched."""

    def __init__(self, names: dict[str, Any], watch: CallWatch) -> None:
        self.__names = names
        self.__watch = watch

    def __getattr__(self, name: str) -> Any:
        if name not in self.__names:
            raise NameError(f"{name} is not defined in this notebook")
        value = self.__names[name]
        return value if isinstance(value, type) or not callable(value) else self.__watch.watched(name, value)
