"""Decodes answers of a worker: JSON of exactly the agreed form becomes observations; all else is malformed.

msgspec compares it with the types below, which define that form; ``runtime/encoding.py`` writes it. NaN is a
valid number here but not in JSON: msgspec refuses it, so Python's json module reads such answers.
"""

from __future__ import annotations

import binascii
import json
import math
import re
from typing import Annotated, Any, Literal, TypeVar

from msgspec import DecodeError, Meta, Struct, ValidationError, convert
from msgspec.json import Decoder

from grader.sandbox.values import Count, Exact, Int, Other, Raised, ReturnedNone, Tensor, Text

MAX_ITEMS = 300_000
MAX_NESTING = 40  # no honest answer is deeper: the worker cuts values off at a smaller depth
_LEVEL = 3  # in the nesting of an answer, of the value that was returned
MAX_TENSORS = 3_500
MAX_ELEMENTS = 8192  # of one tensor; an honest worker sends 4,096, and a complex number is two
_MAX_GRADIENTS = 4  # of a tensor's gradient, that gradient's own, ...
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class MalformedError(Exception):
    """A worker's answer does not have the agreed form; the message never contains its text."""

    def __init__(self) -> None:
        super().__init__("the answer is malformed")


def parse(text: str) -> Any:
    """Parse a line of JSON from a worker; raises MalformedError before an attack can cost much time."""
    _check_size(text)
    try:
        value = json.loads(text)
        if text.count("[") + text.count("{") > MAX_NESTING:
            _check_nesting([value])
        if _SURROGATE.search(text):  # half a surrogate pair cannot be written to a file
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise MalformedError from None
    return value


def _check_size(text: str) -> None:
    is_long = len(text) > MAX_ITEMS and sum(map(text.count, (",", ":", "[", "{"))) > MAX_ITEMS
    if "\n" in text or is_long:
        raise MalformedError


def _check_nesting(value: Any) -> None:
    """Refuse nesting that is too deep; one level at a time is faster than recursion."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
        parts = [part.values() if type(part) is dict else part for part in level]
        level = [item for part in parts for item in part if type(item) is list or type(item) is dict]
        if not level:
            return
    raise MalformedError


_Form = TypeVar("_Form")


def of_form(form: type[_Form], value: Any) -> _Form:
    """Parsed JSON as an object of a form; raises MalformedError if it has another form."""
    try:
        return convert(value, form)
    except ValidationError:
        raise MalformedError from None


# The agreed form.

Words = Annotated[tuple[Annotated[str, Meta(max_length=500)], ...], Meta(max_length=10_000)]


class _TensorFields(Exact, frozen=True):
    kind: Text
    dtype: Text
    shape: Annotated[tuple[Count, ...], Meta(max_length=1000)]
    value: str | None
    is_leaf: bool
    requires_grad: bool
    grad_fn: Text | None
    retains_grad: bool
    version: Int | None
    identity: Int
    storage: Int
    grad: Count | None


class _Table:
    """The tensors of an answer, each decoded once; values and gradients name them by their index."""

    def __init__(self, tensors: list[_TensorFields]) -> None:
        self._tensors = tensors
        self._decoded: dict[int, Tensor] = {}

    def tensor(self, index: int, depth: int = 0) -> Tensor:
        """The tensor at an index; its gradient is another, perhaps with its own."""
        if index not in self._decoded:
            if index >= len(self._tensors) or depth > _MAX_GRADIENTS:
                raise MalformedError
            sent = self._tensors[index]
            value = None if sent.value is None else _elements(sent.value, sent.dtype, sent.shape)
            grad = None if sent.grad is None else self.tensor(sent.grad, depth + 1)
            self._decoded[index] = Tensor(
                *(sent.kind, sent.dtype, sent.shape, value, sent.is_leaf, sent.requires_grad, sent.grad_fn),
                *(sent.retains_grad, sent.version, sent.identity, sent.storage, grad),
            )
        return self._decoded[index]


#: How the elements of a dtype lie in memory, in the codes of ``struct``; a complex number is two numbers.
_CODES = {
    "f": ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64", "complex32"),
    "d": ("float64", "complex128"),
    "q": ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32"),
    "Q": ("uint64",),
    "?": ("bool",),
}
_CODE_OF = {f"torch.{name}": code for code, names in _CODES.items() for name in names}


def _elements(value: str, dtype: str, shape: tuple[int, ...]) -> tuple[float, ...]:
    code = _CODE_OF.get(dtype, "")
    count = math.prod(shape) * (2 if "complex" in dtype else 1)
    try:
        elements = memoryview(binascii.a2b_base64(value, strict_mode=True)).cast(code)  # type: ignore[call-overload]
    except (ValueError, TypeError):  # no base64, no whole number of elements, or a dtype without a code
        raise MalformedError from None
    if not len(elements) == count <= MAX_ELEMENTS:
        raise MalformedError
    return tuple(elements)


class _Value(Struct, array_like=True, forbid_unknown_fields=True):
    """A list of a kind, which is the tag, and a content that stands for itself."""

    def decoded(self, _: _Table, __: int) -> Any:
        return self.content  # type: ignore[attr-defined]


def _below(level: int, content: Any, levels: int = 2) -> int:
    """The nesting level of the parts of a value's content, which is one level below the value."""
    below = level + (levels if content else 1)
    if below > MAX_NESTING:
        raise MalformedError
    return below


class _None(_Value, tag="none"):
    def decoded(self, _: _Table, __: int) -> None:
        return None


class _Bool(_Value, tag="bool"):
    content: bool


class _Integer(_Value, tag="int"):
    content: Int


class _Float(_Value, tag="float"):
    content: float


class _Str(_Value, tag="str"):
    content: Text


class _Tensor(_Value, tag="tensor"):
    content: Count

    def decoded(self, table: _Table, __: int) -> Tensor:
        return table.tensor(self.content)


class _List(_Value, tag="list"):
    content: list[_AnyValue]

    def decoded(self, table: _Table, level: int) -> list[Any]:
        below = _below(level, self.content)
        return [item.decoded(table, below) for item in self.content]


class _Tuple(_Value, tag="tuple"):
    content: list[_AnyValue]

    def decoded(self, table: _Table, level: int) -> tuple[Any, ...]:
        below = _below(level, self.content)
        return tuple([item.decoded(table, below) for item in self.content])


class _Dict(_Value, tag="dict"):
    content: list[tuple[Text, _AnyValue]]

    def decoded(self, table: _Table, level: int) -> dict[str, Any]:
        below = _below(level, self.content, 3)
        return {key: item.decoded(table, below) for key, item in self.content}


class _Raised(_Value, tag="raised"):
    content: Raised

    def decoded(self, _: _Table, level: int) -> Raised:
        _below(level, self.content)
        return self.content


class _Other(_Value, tag="other"):
    content: Text

    def decoded(self, _: _Table, __: int) -> Other:
        return Other(self.content)


_AnyValue = _None | _Bool | _Integer | _Float | _Str | _Tensor | _List | _Tuple | _Dict | _Raised | _Other


class ReturnedValue(Exact, frozen=True):
    """The return value of the code that was sent."""

    value: _AnyValue
    tensors: Annotated[list[_TensorFields], Meta(max_length=MAX_TENSORS)]

    def decoded(self) -> Any:
        """The decoded value; raises MalformedError if it is too deep, or refers to a missing tensor."""
        return self.value.decoded(_Table(self.tensors), _LEVEL)


class WorkerAnswer(Exact, frozen=True):
    """A worker's answer to a request."""

    raised: Raised | None
    returned: ReturnedValue | None
    changed: Words
    patched: Words
    none: Annotated[tuple[ReturnedNone, ...], Meta(max_length=1000)] = ()


_DECODER = Decoder(WorkerAnswer)


def parse_answer(text: str) -> WorkerAnswer:
    """Parse a worker's answer to a request; its values are not decoded yet."""
    _check_size(text)
    try:
        return _DECODER.decode(text)
    except (DecodeError, RecursionError, UnicodeEncodeError):  # it is malformed, or holds NaN
        return of_form(WorkerAnswer, parse(text))


class Skipped(Exact, frozen=True):
    """A statement below a cell's error that did not run, and the names it would have defined."""

    line: Annotated[int, Meta(ge=1, le=10_000_000)]
    text: Annotated[str, Meta(max_length=100)]
    names: Annotated[tuple[Annotated[str, Meta(max_length=60)], ...], Meta(max_length=10)]


#: Of one cell.
SkippedStatements = Annotated[tuple[Skipped, ...], Meta(max_length=40)]


class CellAnswer(Exact, frozen=True):
    """A worker's answer about a cell: its error, and the statements that it skipped."""

    raised: Raised | None
    skipped: SkippedStatements


def parse_cell(text: str) -> CellAnswer:
    """A worker's answer about a cell."""
    return of_form(CellAnswer, parse(text))


Status = Literal["answered", "untouched", "missing"]  # of a function


class Survey(Exact, frozen=True):
    """The functions that a notebook defined, their cells, and the parts of torch that it patched.

    Attributes:
        above: for starter code, the cell of an answer above it, or None.
        not_callable: for names that are missing because their value is not callable, the class of that.
    """

    names: dict[str, Status]
    cells: dict[str, Count | None]
    above: dict[str, Count | None]
    not_callable: dict[str, Annotated[str, Meta(max_length=100)]]
    patched: Words


def parse_survey(text: str, functions: set[str]) -> Survey:
    """A worker's survey of these functions."""
    survey = of_form(Survey, parse(text))
    starter_code = {name for name, status in survey.names.items() if status == "untouched"}
    if not functions == survey.names.keys() == survey.cells.keys() or starter_code != survey.above.keys():
        raise MalformedError
    if any(survey.names.get(name) != "missing" for name in survey.not_callable):
        raise MalformedError
    return survey


def parse_exactly(expected: str | int | None, text: str) -> None:
    """Require that a worker's answer is this one."""
    if parse(text) != expected:
        raise MalformedError


#: Something a worker noticed (a word of `NOTICED`), and the cell in which it happened, or None.
Notice = tuple[str, int | None]
NOTICED = {
    *(
        "another interpreter",
        "code objects",
        "ctypes",
        "frames",
        "gc",
        "imports at run time",
        "leaving the process",
        "modes of torch",
    ),
    *("past the instance", "patched", "raw descriptors", "settrace", "signals"),
}
_MAX_TRACES = 20 * len(NOTICED)  # a worker reports twenty cells for each
_WRITTEN_BY_OTHERS: Notice = ("raw descriptors", None)
#: Noticed outside: the worker cuts honest values off before the wire would refuse them.
NO_ANSWER: Notice = ("something that is no answer", None)
#: Every word that evidence may contain.
TRACES = {*NOTICED, _WRITTEN_BY_OTHERS[0], NO_ANSWER[0]}


def parse_notices(notices: bytes, *, closed: bool) -> set[Notice]:
    """The notices of a worker.

    An unknown line, too many lines and a closed pipe are caused by the notebook, so they are notices, too:
    nothing that a notebook writes can hide a later notice.
    """
    *lines, rest = notices.decode("ascii", "replace").split("\n")
    traces = {_notice(line) for line in lines[:_MAX_TRACES]}
    return traces | ({_WRITTEN_BY_OTHERS} if rest or closed or len(lines) > _MAX_TRACES else set())


def _notice(line: str) -> Notice:
    what, _, number = line.partition("\t")
    if what not in NOTICED or not (number == "" or (number.isdecimal() and len(number) < 6)):
        return _WRITTEN_BY_OTHERS
    return what, int(number) if number else None
