"""The facts of a probe in short form, for several notebooks side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.checks.closeness import TOLERANCE, are_close
from grader.checks.difference import how_it_differs
from grader.reports.format_facts import Entry, entries_of
from grader.sandbox.evidence import ProbeOutcome
from grader.sandbox.facts import Tensor

_EQUAL, _DIFFERS, _ASIDE = "equal", "differs", "differs (not compared by assert_close)"
_MAX_NUMBERS, _MAX_TEXT = 3, 90
_MAX_ENTRIES = 40  # of a kind
_DIGITS = (3, 6, 17)
_WIDTH = 110
_NO_GRADIENT = Entry(None, ("None",), is_gradient=True)
_GAP = "   "


def side_by_side(probe: str, outcomes: Mapping[str, ProbeOutcome]) -> Iterator[str]:
    """A line for each entry of a probe's facts; entries that are equal everywhere stand once.

    A dict or a list below the top is a single line if everything in it is equal. Each line begins with the
    name of the `probe`; the outcomes, by notebook, are compared with the first.
    """
    sides = {notebook: entries_of(outcome, gradients=True) for notebook, outcome in outcomes.items()}
    names = _in_order([list(entries) for entries in sides.values()])
    cells_of = _equal_parts_as_one(
        sides, {name: list(_cells(_row(sides, name), next(iter(sides)))) for name in names}
    )
    width, shown, hidden = max(map(len, cells_of), default=0), Counter[str](), Counter[str]()
    for name, cells in cells_of.items():
        kind = _EQUAL if cells[-1] == _EQUAL else "different" if len(sides) > 1 else ""
        if shown[kind] == _MAX_ENTRIES:
            hidden[kind] += 1
            continue
        shown[kind] += 1
        yield from _lines(f"{probe}{_GAP} {name:{width}}", cells)
    yield from (f"{probe}{_GAP} and {n} more{kind and f' {kind}'} entries" for kind, n in hidden.items())


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


def _in_order(sides: Sequence[Sequence[str]]) -> list[str]:
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


def _lines(head: str, cells: Sequence[str]) -> Iterator[str]:
    """A row on a single line if it fits, else with a line for each cell."""
    line = _GAP.join([head, *cells])
    if len(line) <= _WIDTH or len(cells) == 1:
        yield line
        return
    yield f"{head}{_GAP}{cells[0]}"
    yield from (f"{' ' * len(head)}{_GAP}{cell}" for cell in cells[1:])


def _cells(row: Mapping[str, Entry | None], first: str) -> Iterator[str]:
    """The cells of a row: `reference <float32 (4, 3) 0.21 -1.3 ..>`, and how the others differ."""
    entries = [entry for entry in row.values() if entry is not None]
    if first not in row:
        yield from (f"{notebook} {_short(entry, entries)}{_GAP}{_DIFFERS}" for notebook, entry in row.items())
        return
    expected = row[first]
    verdicts = {notebook: _verdict(expected, seen) for notebook, seen in row.items() if notebook != first}
    alike = [first, *(notebook for notebook, verdict in verdicts.items() if verdict == _EQUAL)]
    if len(alike) == len(row):
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
    return _EQUAL if is_same_kind and _not_compared(expected) == _not_compared(seen) else _ASIDE


def _not_compared(entry: Entry) -> tuple[str, ...]:
    """The parts of a tensor that a check may compare, but assert_close does not; nothing of other facts.

    The name of the node, `parts[3]`, is not among them: right answers differ in it.
    """
    return entry.parts[1:3] + entry.parts[4:8]


def _agree(expected: Entry, seen: Entry) -> bool:
    """Whether two entries are the same; numbers are if a check would accept them."""
    if _form(expected.fact) != _form(seen.fact):
        return False
    right, numbers = _numbers(expected.fact), _numbers(seen.fact)
    if right is None or numbers is None:
        return right is numbers and (isinstance(seen.fact, Tensor) or expected.parts == seen.parts)
    return len(right) == len(numbers) and all(are_close(numbers, right, _tolerance(expected.fact)))


def _form(fact: Any) -> object:
    """What has to be the same beside the numbers."""
    match fact:
        case Tensor():
            return fact.shape, fact.dtype
        case str() | list() | tuple() if _numbers(fact) is None:
            return repr(fact)  # an entry's text may be cut
    return type(fact)


def _numbers(fact: Any) -> Sequence[float] | None:
    if isinstance(fact, Tensor):
        return fact.value
    numbers = fact if isinstance(fact, list | tuple) else [fact]
    return numbers if all(type(number) in {int, float} for number in numbers) else None


def _tolerance(fact: Any) -> float:
    return TOLERANCE.get(fact.dtype if isinstance(fact, Tensor) else "torch.float32", 0.0)


def _short(entry: Entry | None, row: Sequence[Entry]) -> str:
    """An entry; of a tensor the numbers from the first difference on, and other parts only if they differ."""
    if entry is None:
        return "nothing"
    if not isinstance(entry.fact, Tensor):
        text = entry.parts[0]
        return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}.."
    tensors = [other for other in row if isinstance(other.fact, Tensor)]
    parts = zip(_not_compared(entry), *map(_not_compared, tensors), strict=True)
    differing = [part for part, *others in parts if {part} != {*others}]
    kind = f"{entry.fact.kind} " if len({other.fact.kind for other in tensors}) > 1 else ""
    values = _some_numbers(entry.fact, [other.fact for other in tensors])
    head = f"{kind}{entry.fact.dtype.removeprefix('torch.')} {entry.fact.shape} {values}".rstrip()
    return f"<{', '.join([head, *differing])}>"


def _some_numbers(tensor: Tensor, row: Sequence[Tensor]) -> str:
    """A few numbers, with enough digits to show a difference; `row` has this tensor, too."""
    if tensor.value is None:
        return "(values not kept)"
    values = [other.value for other in row if other.value is not None and other.shape == tensor.shape]
    right = [are_close(tensor.value, other, _tolerance(tensor)) for other in values]
    begin = next((index for index, column in enumerate(zip(*right, strict=True)) if not all(column)), 0)
    end = begin + _MAX_NUMBERS
    for digits in _DIGITS:
        texts = {other[begin:end]: " ".join(_digits(n, digits) for n in other[begin:end]) for other in values}
        if len(set(texts.values())) == len(texts):
            break
    before, after = (".. " if begin else ""), (" .." if end < len(tensor.value) else "")
    return f"{before}{texts[tensor.value[begin:end]]}{after}"


def _digits(number: float, digits: int) -> str:
    return str(number) if isinstance(number, bool) else f"{number:.{digits}g}"
