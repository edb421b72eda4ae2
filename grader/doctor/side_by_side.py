"""The facts of a probe in short form, those of several notebooks side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.checks.closeness import TOLERANCE, are_close
from grader.checks.difference import how_it_differs
from grader.reports.format_facts import Entry, entries_of
from grader.sandbox.evidence import ProbeOutcome
from grader.sandbox.facts import Tensor

# Among the parts of a tensor's entry; right answers differ in the names of their nodes.
_KIND, _GRAD_FN, _VALUES = 0, 3, 8
_EQUAL, _DIFFERS, _ASIDE = "equal", "differs", "differs (not compared by assert_close)"
_MOST_NUMBERS, _MOST_TEXT = 3, 90
_MOST = 40  # entries of a kind
_DIGITS = (3, 6, 17)
_WIDTH = 110
_NO_GRADIENT = Entry(None, ("None",), is_gradient=True)
_GAP = "   "


def side_by_side(probe: str, outcomes: Mapping[str, ProbeOutcome]) -> Iterator[str]:
    """A line for each entry of what a probe returned; entries that are equal everywhere stand once.

    A dict or a list below the top is a single line if everything in it is equal.

    Args:
        probe: its name, which begins each line.
        outcomes: the facts by notebook; the others are compared with the first.
    """
    sides = {who: entries_of(outcome, gradients=True) for who, outcome in outcomes.items()}
    names = _in_order([list(entries) for entries in sides.values()])
    cells_of = _equal_parts_as_one(
        sides, {name: list(_cells(_row(sides, name), next(iter(sides)))) for name in names}
    )
    width, shown, hidden = max(map(len, cells_of), default=0), Counter[str](), Counter[str]()
    for name, cells in cells_of.items():
        kind = _EQUAL if cells[-1] == _EQUAL else "different" if len(sides) > 1 else ""
        if shown[kind] == _MOST:
            hidden[kind] += 1
            continue
        shown[kind] += 1
        yield from _lines(f"{probe}{_GAP} {name:{width}}", cells)
    yield from (f"{probe}{_GAP} and {n} more{kind and f' {kind}'} entries" for kind, n in hidden.items())


def _equal_parts_as_one(
    sides: Mapping[str, Mapping[str, Entry]], cells_of: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """The cells by name; of a dict or a list whose entries are all equal only how many there are."""
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
    """The names of all entries, in the order of the first side; what has parts only elsewhere before them."""
    names = list(sides[0])
    for name in (name for side in sides[1:] for name in side):
        if name not in names:
            parts = [place for place, other in enumerate(names) if _is_part(other, name)]
            names.insert(parts[0] if parts else len(names), name)
    return names


def _is_part(name: str, whole: str) -> bool:
    return name.startswith((f"{whole}[", f"{whole}."))


def _row(sides: Mapping[str, Mapping[str, Entry]], name: str) -> dict[str, Entry | None]:
    """The entry of each side, unless a side has this entry as a part of another, or in parts."""
    row: dict[str, Entry | None] = {}
    for who, entries in sides.items():
        whole = {other: entry for other, entry in entries.items() if _is_part(name, other)}
        if any(isinstance(entry.fact, Tensor) for entry in whole.values()):
            row[who] = entries.get(name, _NO_GRADIENT)
        elif name in entries or not (whole or any(_is_part(other, name) for other in entries)):
            row[who] = entries.get(name)
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
    """What a row says of each side: `reference <float32 (4, 3) 0.21 -1.3 ..>`, and how the others differ."""
    there = [entry for entry in row.values() if entry is not None]
    if first not in row:
        yield from (f"{who} {_short(entry, there)}{_GAP}{_DIFFERS}" for who, entry in row.items())
        return
    (_, expected), *others = row.items()
    if all(_verdict(expected, seen) == _EQUAL for _, seen in others):
        yield _short(there[0], there)
        if others:
            yield _EQUAL
        return
    alike = [who for who, seen in others if _verdict(expected, seen) == _EQUAL]
    yield f"{', '.join([first, *alike])} {_short(expected, there)}"
    for who, seen in others:
        if who not in alike:
            kind = how_it_differs(seen.fact, expected.fact) if seen and expected else None
            verdict = _verdict(expected, seen)
            yield f"{who} {_short(seen, there)}{_GAP}{verdict}{f': {kind}' if kind else ''}"


def _verdict(expected: Entry | None, seen: Entry | None) -> str:
    """Whether two entries are the same, and if not, whether that is something which assert_close compares."""
    if expected is None or seen is None:
        return _EQUAL if expected is seen else _DIFFERS
    if not _agree(expected, seen):
        return _ASIDE if seen.is_gradient else _DIFFERS
    return _EQUAL if _beside(expected) == _beside(seen) else _ASIDE


def _beside(entry: Entry) -> list[str]:
    """What else a check may look at of a tensor."""
    if not isinstance(entry.fact, Tensor):
        return []
    parts = enumerate(entry.parts)
    return [entry.fact.kind, *(part for place, part in parts if place not in {_KIND, _GRAD_FN, _VALUES})]


def _agree(expected: Entry, seen: Entry) -> bool:
    """Whether two entries are the same, as numbers are that a check would take for each other."""
    if isinstance(expected.fact, Tensor) and isinstance(seen.fact, Tensor):
        if (expected.fact.shape, expected.fact.dtype) != (seen.fact.shape, seen.fact.dtype):
            return False
    elif type(expected.fact) is not type(seen.fact):
        return False
    elif not isinstance(expected.fact, Tensor) and _numbers(expected.fact) is None:
        return expected.parts == seen.parts
    one, other = _numbers(expected.fact), _numbers(seen.fact)
    if one is None or other is None or len(one) != len(other):
        return one == other
    return all(are_close(other, one, _tolerance(expected.fact)))


def _numbers(fact: Any) -> Sequence[float] | None:
    if isinstance(fact, Tensor):
        return fact.value
    numbers = fact if isinstance(fact, list | tuple) else [fact]
    return numbers if all(type(number) in {int, float} for number in numbers) else None


def _tolerance(fact: Any) -> float:
    return TOLERANCE.get(fact.dtype if isinstance(fact, Tensor) else "torch.float32", 0.0)


def _short(entry: Entry | None, row: Sequence[Entry]) -> str:
    """An entry; of a tensor its numbers from where it differs, and other parts only if they differ."""
    if entry is None:
        return "nothing"
    if not isinstance(entry.fact, Tensor):
        text = entry.parts[0]
        return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}.."
    tensors = [other for other in row if isinstance(other.fact, Tensor)]
    differing = [
        part
        for place, part in enumerate(entry.parts)
        if place not in {_KIND, _GRAD_FN, _VALUES} and any(other.parts[place] != part for other in tensors)
    ]
    kinds = {other.fact.kind for other in tensors}
    kind = f"{entry.fact.kind} " if len(kinds) > 1 else ""
    values = _some_numbers(entry.fact, [other.fact for other in tensors])
    head = f"{kind}{entry.fact.dtype.removeprefix('torch.')} {entry.fact.shape} {values}".rstrip()
    return f"<{', '.join([head, *differing])}>"


def _some_numbers(tensor: Tensor, row: Sequence[Tensor]) -> str:
    """A few numbers, with so many digits that a difference shows."""
    if tensor.value is None:
        return "(values not kept)"
    values = [other.value for other in row if other.value is not None and other.shape == tensor.shape]
    tolerance = _tolerance(tensor)
    begin = min((_first_difference(tensor.value, other, tolerance) for other in values), default=0)
    begin = begin if begin < len(tensor.value) else 0
    pieces = [other[begin : begin + _MOST_NUMBERS] for other in values]
    for digits in _DIGITS:
        texts = {piece: " ".join(_digits(number, digits) for number in piece) for piece in pieces}
        if len(set(texts.values())) == len(texts):
            break
    shown = texts[tensor.value[begin : begin + _MOST_NUMBERS]]
    before, after = (".. " if begin else ""), (" .." if begin + _MOST_NUMBERS < len(tensor.value) else "")
    return f"{before}{shown}{after}"


def _first_difference(one: Sequence[float], other: Sequence[float], tolerance: float) -> int:
    right = are_close(one, other, tolerance)
    return right.index(False) if not all(right) else len(right)


def _digits(number: float, digits: int) -> str:
    return str(number) if isinstance(number, bool) else f"{number:.{digits}g}"
