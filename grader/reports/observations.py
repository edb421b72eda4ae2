"""The observations of a case in several notebooks, side by side: for authors, and for appeals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.contracts.difference import TOLERANCE, are_close, how_it_differs, is_number, rounding_of
from grader.contracts.side_effects import changed_parts
from grader.sandbox.values import Other, Raised, Tensor

_MAX_ENTRIES = 40  # that are equal, or that differ
_MAX_NUMBERS, _MAX_TEXT = 4, 90
_MISSING = Other("nothing")
_GAP = "   "


def side_by_side(head: str, observations: Mapping[str, Any]) -> Iterator[str]:
    """A line for each entry that is equal in all observations; for other entries, a line for each notebook.

    Each line begins with the `head`. The observations, by notebook, are compared with the first; numbers are
    equal if a check would accept them.
    """
    sides = {notebook: dict(_entries(of_notebook)) for notebook, of_notebook in observations.items()}
    names = [*dict.fromkeys(name for side in sides.values() for name in side)]
    first, width = next(iter(sides)), max(map(len, names), default=0)
    shown, hidden = Counter[str](), Counter[str]()
    for name in names:
        row = {notebook: side.get(name, (_MISSING, "")) for notebook, side in sides.items()}
        others = {notebook: entry for notebook, entry in row.items() if not _are_equal(entry, row[first])}
        kind = "different" if others else "equal"
        if shown[kind] == _MAX_ENTRIES:
            hidden[kind] += 1
            continue
        shown[kind] += 1
        named = f"{head}{_GAP} {name:{width}}{_GAP}"
        expected = row[first][0]
        if not others:
            yield f"{named}{_text(row[first])}{f'{_GAP}equal' if len(sides) > 1 else ''}"
            continue
        begin = min(_first_difference(value, expected) for value, _ in others.values())
        alike = ", ".join(notebook for notebook in row if notebook not in others)
        yield f"{named}{alike} {_text(row[first], begin)}"
        for notebook, entry in others.items():
            how = how_it_differs(entry[0], expected)
            yield f"{named}{notebook} {_text(entry, begin)}{_GAP}differs{f': {how}' if how else ''}"
    yield from (f"{head}{_GAP} and {number} more {kind} entries" for kind, number in hidden.items())


def only_changes(value: Any) -> Any:
    """The observation with sentences about the changes of a call instead of their records."""
    if _is_record_of_changes(value):
        changed = changed_parts(value)
        written = {
            path: now["tensor"]
            for path, now in value["after"].items()
            if "tensor" in now and f"{path}:value" in changed
        }
        return {**changed, **({"after": written} if written else {})} or "nothing changed"
    if isinstance(value, dict):
        return {key: only_changes(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(only_changes, value))
    return value


def _is_record_of_changes(value: Any) -> bool:
    """Whether a value is a contract's record of changes; a result may be a dict with the same names."""
    if not isinstance(value, dict) or value.keys() != {"before", "after"}:
        return False
    records = [record for record in value.values() if isinstance(record, dict)]
    entries = [entry for record in records for entry in record.values()]
    return len(records) == len(value) and all(
        isinstance(entry, dict) and "kind" in entry for entry in entries
    )


def _entries(observation: Any) -> Iterator[tuple[str, tuple[Any, str]]]:
    """Every part of an observation that has no parts itself, by its path, such as ``w.grad``.

    Each is a value, with the properties of a tensor in words. The name of its node is omitted, because right
    answers differ in it. Its object and its storage are named by the first path that leads to each.
    """
    objects: dict[int, str] = {}
    storages: dict[int, str] = {}
    pending = [("", observation)]
    while pending:
        name, value = pending.pop()
        called = name or "result"
        match value:
            case Tensor():
                yield called, (value, ", ".join(_properties(value, called, objects, storages)))
                pending += [(f"{called}.grad", value.grad)] if value.grad is not None else []
            case dict() if value:
                parts = [(f"{name}[{key!r}]" if name else str(key), part) for key, part in value.items()]
                pending += reversed(parts)
            case list() | tuple() if _numbers(value) is None:
                pending += reversed([(f"{called}[{index}]", part) for index, part in enumerate(value)])
            case _:
                yield called, (value, "")


def _properties(
    tensor: Tensor, name: str, objects: dict[int, str], storages: dict[int, str]
) -> Iterator[str]:
    yield from ["Parameter"] if tensor.kind == "Parameter" else []
    yield from [] if tensor.is_leaf else ["non-leaf"]
    yield from ["requires grad"] if tensor.requires_grad else []
    yield from ["retains its grad"] if tensor.retains_grad else []
    yield from [f"version {tensor.version}"] if tensor.version else []
    yield from ["inference tensor"] if tensor.version is None else []
    same, shares = objects.setdefault(tensor.identity, name), storages.setdefault(tensor.storage, name)
    yield from [f"the object of {same}"] if same != name else []
    yield from [f"the storage of {shares}"] if shares not in {name, same} else []


def _are_equal(seen: tuple[Any, str], expected: tuple[Any, str]) -> bool:
    """Whether two entries are equal; numbers are if a check would accept them."""
    if _form(seen[0]) != _form(expected[0]) or seen[1] != expected[1]:
        return False
    numbers, right = _numbers(seen[0]), _numbers(expected[0])
    if numbers is None or right is None:
        return numbers is right
    return all(_close(numbers, expected[0]))


def _form(value: Any) -> object:
    """The parts of a value, besides its numbers, that must be equal."""
    match value:
        case Tensor():
            return value.shape, value.dtype
        case Raised():
            return value.type, value.text, value.where
    numbers = _numbers(value)
    return repr(value) if numbers is None else (isinstance(value, float) or type(value), len(numbers))


def _numbers(value: Any) -> Sequence[float] | None:
    """The numbers in a value; None if it contains anything else."""
    if isinstance(value, Tensor):
        return value.value
    numbers = value if isinstance(value, list | tuple) else [value]
    return numbers if all(map(is_number, numbers)) else None


def _close(numbers: Sequence[float], expected: Any) -> Iterator[bool]:
    dtype = expected.dtype if isinstance(expected, Tensor) else "torch.float32"
    return are_close(numbers, _numbers(expected) or (), TOLERANCE.get(dtype, 0.0), rounding_of(expected))


def _first_difference(value: Any, expected: Any) -> int:
    """The index of the first number that differs; 0 if other parts differ."""
    numbers = _numbers(value)
    if numbers is None or _numbers(expected) is None or _form(value) != _form(expected):
        return 0
    return next((index for index, right in enumerate(_close(numbers, expected)) if not right), 0)


def _text(entry: tuple[Any, str], begin: int = 0) -> str:
    """A value and its properties; if it has many numbers, some of them from an index on."""
    value, properties = entry
    match value:
        case Tensor():
            numbers = "values not kept" if value.value is None else _some(value.value, begin, value.dtype)
            shown = f"{value.dtype.removeprefix('torch.')} {value.shape} {numbers}".rstrip()
            return f"<{', '.join(filter(None, [shown, properties]))}>"
        case Raised():
            where = f" (code {value.where})" if value.where else ""
            text = f"raised {value.type}{where}: {value.text}"
        case Other():
            text = "nothing" if value is _MISSING else f"an object of type {value.type}"
        case list() | tuple() if value:
            text = f"{type(value).__name__} of {_some(value, begin)}"
        case float():
            text = _some([value], 0)
        case _:
            text = repr(value)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}.."


def _some(numbers: Sequence[float], begin: int, dtype: str = "torch.float32") -> str:
    digits = 12 if dtype in {"torch.float64", "torch.complex128"} else 6
    texts = [f"{n:.{digits}g}" if isinstance(n, float) else str(n) for n in numbers[begin:][:_MAX_NUMBERS]]
    before, after = (".. " if begin else ""), (" .." if begin + _MAX_NUMBERS < len(numbers) else "")
    return f"{before}{' '.join(texts)}{after}"
