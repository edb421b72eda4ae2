"""The facts of a case, of several notebooks side by side: for authors, and for an appeal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.contracts.difference import TOLERANCE, are_close, how_it_differs, is_number, rounding_of
from grader.contracts.side_effects import changed_parts
from grader.sandbox.facts import Other, Raised, Tensor

_MAX_ENTRIES = 40  # that are equal, or that differ
_MAX_NUMBERS, _MAX_TEXT = 4, 90
_MISSING = Other("nothing")
_GAP = "   "


def side_by_side(head: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """A line for each entry of some facts that is equal everywhere; of others, one for each notebook.

    Each line begins with the `head`. The facts, by notebook, are compared with the first; numbers are equal
    if a check would accept them.
    """
    sides = {notebook: dict(_entries(of_notebook)) for notebook, of_notebook in facts.items()}
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
        begin = min(_first_difference(fact, expected) for fact, _ in others.values())
        alike = ", ".join(notebook for notebook in row if notebook not in others)
        yield f"{named}{alike} {_text(row[first], begin)}"
        for notebook, entry in others.items():
            how = how_it_differs(entry[0], expected)
            yield f"{named}{notebook} {_text(entry, begin)}{_GAP}differs{f': {how}' if how else ''}"
    yield from (f"{head}{_GAP} and {number} more {kind} entries" for kind, number in hidden.items())


def only_changes(fact: Any) -> Any:
    """A fact in which the records of what a call changed are replaced by sentences about that."""
    if _is_kept(fact):
        changed = changed_parts(fact)
        written = {
            path: now["tensor"]
            for path, now in fact["after"].items()
            if "tensor" in now and f"{path}:value" in changed
        }
        return {**changed, **({"after": written} if written else {})} or "nothing changed"
    if isinstance(fact, dict):
        return {key: only_changes(value) for key, value in fact.items()}
    if isinstance(fact, list | tuple):
        return type(fact)(map(only_changes, fact))
    return fact


def _is_kept(fact: Any) -> bool:
    """Whether a fact is what a contract records of changes; a result may have the same names."""
    if not isinstance(fact, dict) or fact.keys() != {"before", "after"}:
        return False
    records = [record for record in fact.values() if isinstance(record, dict)]
    entries = [entry for record in records for entry in record.values()]
    return len(records) == len(fact) and all(isinstance(entry, dict) and "kind" in entry for entry in entries)


def _entries(facts: Any) -> Iterator[tuple[str, tuple[Any, str]]]:
    """Every part of some facts that has no parts itself, by the path that leads to it, as in ``w.grad``.

    Each is a fact, and the properties of a tensor in words. The name of its node is not among them, because
    right answers differ in that. Its object and its storage have the name under which each was met first.
    """
    objects: dict[int, str] = {}
    storages: dict[int, str] = {}
    pending = [("", facts)]
    while pending:
        name, fact = pending.pop()
        called = name or "result"
        match fact:
            case Tensor():
                yield called, (fact, ", ".join(_properties(fact, called, objects, storages)))
                pending += [(f"{called}.grad", fact.grad)] if fact.grad is not None else []
            case dict() if fact:
                parts = [(f"{name}[{key!r}]" if name else str(key), part) for key, part in fact.items()]
                pending += reversed(parts)
            case list() | tuple() if _numbers(fact) is None:
                pending += reversed([(f"{called}[{index}]", part) for index, part in enumerate(fact)])
            case _:
                yield called, (fact, "")


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


def _form(fact: Any) -> object:
    """What has to be the same beside the numbers."""
    match fact:
        case Tensor():
            return fact.shape, fact.dtype
        case Raised():
            return fact.type, fact.text, fact.where
    numbers = _numbers(fact)
    return repr(fact) if numbers is None else (isinstance(fact, float) or type(fact), len(numbers))


def _numbers(fact: Any) -> Sequence[float] | None:
    """The numbers that a fact consists of; None where it consists of others, too."""
    if isinstance(fact, Tensor):
        return fact.value
    numbers = fact if isinstance(fact, list | tuple) else [fact]
    return numbers if all(map(is_number, numbers)) else None


def _close(numbers: Sequence[float], expected: Any) -> list[bool]:
    dtype = expected.dtype if isinstance(expected, Tensor) else "torch.float32"
    return are_close(numbers, _numbers(expected) or (), TOLERANCE.get(dtype, 0.0), rounding_of(expected))


def _first_difference(fact: Any, expected: Any) -> int:
    """The index of the first number that differs; 0 where others than numbers do."""
    numbers = _numbers(fact)
    if numbers is None or _numbers(expected) is None or _form(fact) != _form(expected):
        return 0
    return next((index for index, right in enumerate(_close(numbers, expected)) if not right), 0)


def _text(entry: tuple[Any, str], begin: int = 0) -> str:
    """A fact and its properties; of many numbers some, from an index on."""
    fact, properties = entry
    match fact:
        case Tensor():
            numbers = "values not kept" if fact.value is None else _some(fact.value, begin, fact.dtype)
            shown = f"{fact.dtype.removeprefix('torch.')} {fact.shape} {numbers}".rstrip()
            return f"<{', '.join(filter(None, [shown, properties]))}>"
        case Raised():
            where = f" (code {fact.where})" if fact.where else ""
            text = f"raised {fact.type}{where}: {fact.text}"
        case Other():
            text = "nothing" if fact is _MISSING else f"an object of type {fact.type}"
        case list() | tuple() if fact:
            text = f"{type(fact).__name__} of {_some(fact, begin)}"
        case float():
            text = _some([fact], 0)
        case _:
            text = repr(fact)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}.."


def _some(numbers: Sequence[float], begin: int, dtype: str = "torch.float32") -> str:
    digits = 12 if dtype in {"torch.float64", "torch.complex128"} else 6
    texts = [f"{n:.{digits}g}" if isinstance(n, float) else str(n) for n in numbers[begin:][:_MAX_NUMBERS]]
    before, after = (".. " if begin else ""), (" .." if begin + _MAX_NUMBERS < len(numbers) else "")
    return f"{before}{' '.join(texts)}{after}"
