"""The facts of a case in short form, of several notebooks side by side: for authors, and for an appeal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.contracts.difference import TOLERANCE, are_close, how_it_differs, is_number, rounding_of
from grader.contracts.untouched import changed_parts
from grader.sandbox.facts import Other, Raised, Tensor

_EQUAL, _DIFFERS, _ASIDE = "equal", "differs", "differs (not compared by assert_close)"
_MAX_ENTRIES = 40  # of a kind
_MAX_TENSOR_NUMBERS, _MAX_LIST_NUMBERS = 3, 8
_MAX_TEXT = 90
_DIGITS = (3, 6, 17)
_WIDTH = 110
_GAP = "   "


@dataclass(frozen=True)
class Entry:
    """A part of some facts that has no parts itself.

    Attributes:
        fact: what it is.
        text: the same in words; of a tensor, its form alone.
        beside: of a tensor, what a check may look at but assert_close does not compare. The name of its node
            is not among it: right answers differ in that.
        within: the names of the dicts and lists it is in, the outermost first, without the whole.
        is_gradient: whether it is the ``.grad`` of a tensor.
    """

    fact: Any
    text: str
    beside: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    is_gradient: bool = False


_NO_GRADIENT = Entry(None, "None", is_gradient=True)


def side_by_side(head: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """A line for each entry of some facts; entries that are equal everywhere stand once.

    A dict or a list below the top is a single line if everything in it is equal. Each line begins with the
    `head`; the facts, by notebook, are compared with the first.
    """
    are_all_empty = all(of_notebook == {} for of_notebook in facts.values())
    sides = {
        notebook: entries_of(of_notebook) if of_notebook != {} or are_all_empty else {}
        for notebook, of_notebook in facts.items()
    }
    every = {name: list(_cells(_row(sides, name), [*sides])) for name in _in_order([*sides.values()])}
    cells_of = _equal_parts_as_one(sides, every)
    width, shown, hidden = max(map(len, cells_of), default=0), Counter[str](), Counter[str]()
    for name, cells in cells_of.items():
        kind = "equal " if cells[-1] == _EQUAL else "different " if len(sides) > 1 else ""
        if shown[kind] == _MAX_ENTRIES:
            hidden[kind] += 1
        else:
            shown[kind] += 1
            yield from _lines(f"{head}{_GAP} {name:{width}}", cells)
    yield from (f"{head}{_GAP} and {number} more {kind}entries" for kind, number in hidden.items())


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


def entries_of(facts: Any) -> dict[str, Entry]:
    """Every entry of some facts, by the path that leads to it; a gradient is one too, as in ``w.grad``.

    A tensor's object and its storage are told by the name under which each was met first.
    """
    entries: dict[str, Entry] = {}
    objects: dict[int, str] = {}
    storages: dict[int, str] = {}

    def add(fact: Any, name: str, within: tuple[str, ...], *, is_gradient: bool = False) -> None:
        inner, called = ((*within, name) if name else within), name or "result"
        if isinstance(fact, dict) and fact:
            for key, item in fact.items():
                add(item, f"{name}[{key!r}]" if name else str(key), inner)
        elif isinstance(fact, list | tuple) and any(type(item) not in {int, float, bool} for item in fact):
            for index, item in enumerate(fact):
                add(item, f"{called}[{index}]", inner)
        elif isinstance(fact, Tensor):
            own = objects.setdefault(fact.identity, called), storages.setdefault(fact.storage, called)
            beside = (
                "leaf" if fact.is_leaf else "non-leaf",
                f"requires_grad {fact.requires_grad}",
                "retains its grad" if fact.retains_grad else "retains no grad",
                "an inference tensor" if fact.version is None else f"version {fact.version}",
                "object of its own" if own[0] == called else f"the object of {own[0]}",
                "storage of its own" if own[1] == called else f"the storage of {own[1]}",
            )
            text = f"{fact.dtype.removeprefix('torch.')} {fact.shape}"
            entries[called] = Entry(fact, text, beside, within, is_gradient)
            if fact.grad is not None:
                add(fact.grad, f"{called}.grad", within, is_gradient=True)
        else:
            entries[called] = Entry(fact, _text(fact), within=within)

    add(facts, "", ())
    return entries


def _text(fact: Any) -> str:
    match fact:
        case Raised():
            where = f" (code {fact.where})" if fact.where else ""
            text = f"raised {fact.type}{where}: {fact.text}"
        case Other():
            text = f"an object of type {fact.type}"
        case list() | tuple() if fact:
            shown = " ".join(_digits(number, 6) for number in fact[:_MAX_LIST_NUMBERS])
            more = "" if len(fact) <= _MAX_LIST_NUMBERS else f" ... ({len(fact)} in all)"
            text = f"{type(fact).__name__} of {shown}{more}"
        case float():
            text = _digits(fact, 6)
        case _:
            text = repr(fact)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}.."


def _in_order(sides: Sequence[Mapping[str, Entry]]) -> list[str]:
    """The names of all entries, in the order of the first side; a name stands before its parts."""
    names = list(sides[0])
    for name in (name for side in sides[1:] for name in side):
        if name not in names:
            parts = [index for index, other in enumerate(names) if _is_part(other, name)]
            names.insert(parts[0] if parts else len(names), name)
    return names


def _is_part(name: str, whole: str) -> bool:
    return name.startswith((f"{whole}[", f"{whole}."))


def _row(sides: Mapping[str, Mapping[str, Entry]], name: str) -> dict[str, Entry | None]:
    """The entry of each side, unless a side has this entry as a part of another, or in parts."""
    row: dict[str, Entry | None] = {}
    for notebook, entries in sides.items():
        whole = {other: entry for other, entry in entries.items() if _is_part(name, other)}
        if any(isinstance(entry.fact, Tensor) for entry in whole.values()):
            row[notebook] = entries.get(name, _NO_GRADIENT)
        elif name in entries or not (whole or any(_is_part(other, name) for other in entries)):
            row[notebook] = entries.get(name)
    return row


def _equal_parts_as_one(
    sides: Mapping[str, Mapping[str, Entry]], cells_of: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """The cells by name; for a dict or a list whose entries are all equal, the number of entries."""
    entries = {name: entry for side in sides.values() for name, entry in side.items()}
    inside: dict[str, list[str]] = {}
    for name, entry in entries.items():
        for whole in entry.within:
            inside.setdefault(whole, []).append(name)
    equal = {
        whole: len(names)
        for whole, names in inside.items()
        if len(names) > 1 and all(cells_of[name][-1] == _EQUAL for name in names)
    }
    merged: dict[str, list[str]] = {}
    for name, cells in cells_of.items():
        outermost = next((whole for whole in entries[name].within if whole in equal), None)
        merged |= {name: cells} if outermost is None else {outermost: [f"<{equal[outermost]} facts>", _EQUAL]}
    return merged


def _lines(head: str, cells: Sequence[str]) -> Iterator[str]:
    """A row on a single line if it fits, else with a line for each cell."""
    line = _GAP.join([head, *cells])
    if len(line) <= _WIDTH or len(cells) == 1 or cells[-1] == _EQUAL:
        yield line
        return
    yield f"{head}{_GAP}{cells[0]}"
    yield from (f"{' ' * len(head)}{_GAP}{cell}" for cell in cells[1:])


def _cells(row: Mapping[str, Entry | None], notebooks: Sequence[str]) -> Iterator[str]:
    """The cells of a row: `reference <float32 (4, 3) 0.21 -1.3 ..>`, and how the others differ."""
    first = notebooks[0]
    entries = [entry for entry in row.values() if entry is not None]
    if first not in row:
        yield from (f"{notebook} {_short(entry, entries)}{_GAP}{_DIFFERS}" for notebook, entry in row.items())
        return
    expected = row[first]
    verdicts = {notebook: _verdict(expected, seen) for notebook, seen in row.items() if notebook != first}
    alike = [first, *(notebook for notebook, verdict in verdicts.items() if verdict == _EQUAL)]
    if len(alike) == len(notebooks):
        yield _short(expected, entries)
        yield from [_EQUAL] if verdicts else []
        return
    yield f"{', '.join(alike)} {_short(expected, entries)}"
    for notebook, verdict in verdicts.items():
        if verdict != _EQUAL:
            seen = row[notebook]
            kind = how_it_differs(seen.fact, expected.fact) if seen and expected else None
            yield f"{notebook} {_short(seen, entries)}{_GAP}{verdict}{f': {kind}' if kind else ''}"


def _verdict(expected: Entry | None, seen: Entry | None) -> str:
    """Whether two entries are the same, and if not, whether assert_close compares what differs."""
    if expected is None or seen is None:
        return _EQUAL if expected is seen else _DIFFERS
    if not _agree(expected, seen):
        return _ASIDE if seen.is_gradient else _DIFFERS
    is_same_kind = not isinstance(seen.fact, Tensor) or seen.fact.kind == expected.fact.kind
    return _EQUAL if is_same_kind and expected.beside == seen.beside else _ASIDE


def _agree(expected: Entry, seen: Entry) -> bool:
    """Whether two entries are the same; numbers are if a check would accept them."""
    if _form(expected.fact) != _form(seen.fact):
        return False
    right, numbers = _numbers(expected.fact), _numbers(seen.fact)
    if right is None or numbers is None:
        return right is numbers and expected.text == seen.text
    tolerance, rounding = _tolerance(expected.fact), rounding_of(expected.fact)
    return len(right) == len(numbers) and all(are_close(numbers, right, tolerance, rounding))


def _form(fact: Any) -> object:
    """What has to be the same beside the numbers."""
    match fact:
        case Tensor():
            return fact.shape, fact.dtype
        case Raised():
            return fact.type, fact.text, fact.where
        case str() | list() | tuple() if _numbers(fact) is None:
            return repr(fact)  # an entry's text may be cut
    return float if isinstance(fact, float) else type(fact)


def _numbers(fact: Any) -> Sequence[float] | None:
    """The numbers that a fact consists of; None where it consists of others, too."""
    if isinstance(fact, Tensor):
        return fact.value
    numbers = fact if isinstance(fact, list | tuple) else [fact]
    return numbers if all(map(is_number, numbers)) else None


def _tolerance(fact: Any) -> float:
    return TOLERANCE.get(fact.dtype if isinstance(fact, Tensor) else "torch.float32", 0.0)


def _short(entry: Entry | None, row: Sequence[Entry]) -> str:
    """An entry; of a tensor the numbers from the first difference on, and other parts only if they differ."""
    if entry is None:
        return "nothing"
    if not isinstance(entry.fact, Tensor):
        return entry.text
    tensors = [other for other in row if isinstance(other.fact, Tensor)]
    parts = zip(entry.beside, *(other.beside for other in tensors), strict=True)
    differing = [part for part, *others in parts if {part} != {*others}]
    kind = f"{entry.fact.kind} " if len({other.fact.kind for other in tensors}) > 1 else ""
    values = _some_numbers(entry.fact, [other.fact for other in tensors])
    return f"<{', '.join([f'{kind}{entry.text} {values}'.rstrip(), *differing])}>"


def _some_numbers(tensor: Tensor, row: Sequence[Tensor]) -> str:
    """A few numbers, with enough digits to show a difference; `row` has this tensor, too."""
    if tensor.value is None:
        return "(values not kept)"
    values = [other.value for other in row if other.value is not None and other.shape == tensor.shape]
    right = [are_close(tensor.value, other, _tolerance(tensor)) for other in values]
    begin = next((index for index, column in enumerate(zip(*right, strict=True)) if not all(column)), 0)
    end = begin + _MAX_TENSOR_NUMBERS
    for digits in _DIGITS:
        texts = {other[begin:end]: " ".join(_digits(n, digits) for n in other[begin:end]) for other in values}
        if len(set(texts.values())) == len(texts):
            break
    before, after = (".. " if begin else ""), (" .." if end < len(tensor.value) else "")
    return f"{before}{texts[tensor.value[begin:end]]}{after}"


def _digits(number: float, digits: int) -> str:
    return str(number) if isinstance(number, bool) else f"{number:.{digits}g}"
