"""Whether two values are equal, and how they differ, in a clause that shows no expected value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from grader.sandbox.values import Raised, Tensor
from grader.text import code

#: Relative (and, scaled by the largest element, absolute) tolerance by dtype; other dtypes must be exact. A
#: Python number counts as a float32, because it usually is the .item() of one.
TOLERANCE = {
    "torch.float64": 1e-5,
    "torch.complex128": 1e-5,
    "torch.float32": 1e-4,
    "torch.complex64": 1e-4,
    "torch.float16": 1e-2,
    "torch.bfloat16": 1e-2,
}


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


#: The tolerance of a right answer, in multiples of the reference's sensitivity to rounding.
_SENSITIVITIES = 4


def rounding_of(value: Any) -> float:
    """The absolute tolerance for a value of the reference, from its sensitivity to rounding."""
    if isinstance(value, list | tuple):
        return max(map(rounding_of, value), default=0.0)
    return _SENSITIVITIES * getattr(value, "sensitivity", 0.0)


def are_close(
    seen: Sequence[float], expected: Sequence[float], tolerance: float, rounding: float = 0.0
) -> Iterator[bool]:
    """Whether each element is as expected; below a hundredth of the largest element only noise differs.

    The `tolerance` is relative, the `rounding` is absolute: the larger counts.
    """
    largest = max(map(abs, expected), default=0.0)
    if not math.isfinite(largest):
        largest = max((abs(e) for e in expected if math.isfinite(e)), default=0.0)
    least = max(tolerance * largest / 100, rounding)
    for s, e in zip(seen, expected, strict=True):
        yield s == e or (
            math.isfinite(e) and ((distance := abs(s - e)) <= least or distance <= tolerance * abs(e))
        )


#: The relative tolerance of float64 elements if full precision is required.
_FULL_PRECISION = 1e-12


def is_fully_precise(seen: Sequence[float], expected: Sequence[float], rounding: float = 0.0) -> bool:
    """Whether elements of float64 are right in full precision: 0.1 + 0.2 is 0.3, 1.00001e-10 is not 1e-10.

    The `rounding` is absolute: how far a right answer may be from the reference (see `rounding_of`).
    """
    return all(
        s == e or not math.isfinite(e) or abs(s - e) <= max(_FULL_PRECISION * abs(e), rounding)
        for s, e in zip(seen, expected, strict=True)
    )


def decimals_of(seen: Sequence[float], expected: Sequence[float]) -> int | None:
    """The number of decimals to which the observed numbers are the rounded expected ones, or None."""
    if list(seen) == list(expected):
        return None
    return next((d for d in range(10) if [round(e, d) for e in expected] == list(seen)), None)


def to_decimals(decimals: int, numbers: int) -> str:
    """A phrase such as `` to 4 decimals``; empty for one or two numbers, which may end in zeros by chance."""
    return "" if numbers < 3 else f" to {decimals} decimal{'' if decimals == 1 else 's'}"


@dataclass(frozen=True)
class Pair:
    """Two values of the same shape."""

    seen: Sequence[float]
    expected: Sequence[float]
    shape: tuple[int, ...]
    tolerance: float
    rounding: float = 0.0

    @cached_property
    def right(self) -> list[bool]:
        """A mask of the elements that are right."""
        return [*are_close(self.seen, self.expected, self.tolerance, self.rounding)]

    @cached_property
    def wrong(self) -> list[tuple[float, float]]:
        """The wrong elements: observed and expected."""
        return [(s, e) for s, e, good in zip(self.seen, self.expected, self.right, strict=True) if not good]

    @property
    def rows(self) -> int:
        """The number of entries along the first dimension."""
        return self.shape[0] if self.shape else 1

    def row(self, numbers: Sequence[float], index: int) -> Sequence[float]:
        """An entry along the first dimension."""
        length = len(numbers) // self.rows
        return numbers[index * length : (index + 1) * length]

    def is_seen(self, numbers: Sequence[float]) -> bool:
        """Whether these numbers equal the observed ones."""
        return all(are_close(self.seen, numbers, self.tolerance))


def how_it_differs(seen: Any, expected: Any, others: Mapping[str, Any] | None = None) -> str | None:
    """The kind of difference, as a clause that can follow a message: ``it is 0 everywhere``.

    The clause follows from the numbers, so it is always true; it makes no guess about the student's code. It
    is None if the values agree, or differ in a way that has no name.

    Args:
        seen: a tensor, a number, or a list or tuple of numbers.
        expected: the same of the reference.
        others: wrong results that may have been observed, by a name that can follow "it is", as in ``{"the
            gradient of the last step": t}``.
    """
    difference = difference_of(seen, expected, others or {})
    return difference.clause if difference else None


_PLURALS = {"is": "are", "has": "have", "holds": "hold"}


class _Words(dict[str, str]):
    """The words of a form of `Difference`: ``it`` and its verbs, and any noun that is a part of it."""

    def __missing__(self, noun: str) -> str:
        return f"its {noun}" if self["it"] == "it" else f"the {noun} of {self['it']}"


def about(place: str, form: str) -> str:
    """A clause about a place: ``{it} {is} 0`` becomes "`bias` is 0", ``{sign}`` "the sign of `bias`".

    Args:
        place: a name or a path, which is code; a phrase such as ``the losses``; or a condition, which begins
            with "if" and is followed by the clause. If empty, the clause is about "it".
        form: as in `Difference`; if empty, the place is said to be wrong.
    """
    if place.startswith("if "):
        return f"{place}, {about('', form or '{it} {is} wrong')}"
    if not place and not form:
        return ""
    subject = code(place) if place else "it"
    is_plural = subject.startswith("the ") and subject.endswith("s") and not subject.endswith(("ss", "us"))
    verbs = {verb: plural if is_plural else verb for verb, plural in _PLURALS.items()}
    return (form or "{it} {is} wrong").format_map(_Words(it=subject, **verbs))


def literal(text: str) -> str:
    """A text as part of a form."""
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True)
class Difference:
    """The difference between an observed and an expected value.

    Attributes:
        form: of a clause about a value, for `about`: ``{it} {is} 0 everywhere``; empty if it has no name.
        kind: one word: ``zero``, ``multiple``, ``shape``, ``type``, ``error`` ...
        says_all: whether a hint about the student's idea would mislead.
        place: the place in a structure, such as ``bias`` or ``entry [2][0]``, or empty.
        is_none: whether the observed value is None.
        error: the error that ``attempt`` caught instead of a value.
    """

    form: str
    kind: str
    says_all: bool = False
    place: str = ""
    is_none: bool = False
    error: Raised | None = None

    @property
    def clause(self) -> str:
        """The clause about the value at the place, or about "it" if there is no place."""
        return about(self.place, self.form)


def difference_of(seen: Any, expected: Any, others: Mapping[str, Any]) -> Difference | None:
    """The same as `how_it_differs`, with the kind of difference."""
    values, right = _values(seen), _values(expected)
    if values is None or right is None:
        return None
    candidates = {name: found for name, other in others.items() if (found := _values(other))}
    if values.shape != right.shape:
        form = _taken_for(values, candidates) or _other_shape(values, right)
        return Difference(form, "shape", says_all=True) if form else None
    pair = Pair(values.numbers, right.numbers, right.shape, right.tolerance, rounding_of(expected))
    if all(pair.right):
        return None
    alike = {name: c.numbers for name, c in candidates.items() if len(c.numbers) == len(pair.seen)}
    for kind in KINDS:
        form = kind(pair, alike)
        if form:
            return Difference(form, kind.__name__.strip("_"), says_all=kind in SAY_ALL)
    return None


@dataclass(frozen=True)
class _Values:
    """The numbers of a value, in row-major order."""

    numbers: Sequence[float]
    shape: tuple[int, ...]
    tolerance: float


def _values(value: Any) -> _Values | None:
    if isinstance(value, Tensor):
        tolerance = TOLERANCE.get(value.dtype, 0.0)
        return None if value.value is None else _Values(value.value, value.shape, tolerance)
    numbers = list(value) if isinstance(value, list | tuple) else [value]
    if not numbers or not all(map(is_number, numbers)):
        return None
    shape = (len(numbers),) if isinstance(value, list | tuple) else ()
    return _Values(numbers, shape, TOLERANCE["torch.float32"])


def _taken_for(seen: _Values, others: Mapping[str, _Values]) -> str | None:
    """The entry of `others` that equals the observed value."""
    for name, other in others.items():
        if seen.shape == other.shape and all(are_close(seen.numbers, other.numbers, other.tolerance)):
            return f"{{it}} {{is}} {literal(name)}"
    return None


def _other_shape(seen: _Values, expected: _Values) -> str | None:
    pair = Pair(seen.numbers, expected.numbers, expected.shape, expected.tolerance)
    number, right = len(seen.numbers), len(expected.numbers)
    if number == right and number and pair.is_seen(expected.numbers):
        return RIGHT_VALUES
    if number != right and (summed := _summed_over(seen, expected)):
        return f"summed over {summed}, {{it}} {{is}} right"
    is_part = 0 < number < right and seen.shape[1:] == expected.shape[1:]
    return (
        "{it} {holds} only the first entries" if is_part and pair.is_seen(expected.numbers[:number]) else None
    )


def _summed_over(seen: _Values, expected: _Values) -> str | None:
    """The dimensions over which a sum gives the expected value."""
    shape = (1,) * (len(seen.shape) - len(expected.shape)) + expected.shape
    if len(shape) != len(seen.shape) or any(e not in {s, 1} for s, e in zip(seen.shape, shape, strict=True)):
        return None
    sums = [0.0] * len(expected.numbers)
    for number, index in zip(seen.numbers, product(*map(range, seen.shape)), strict=False):
        flat = 0
        for i, size in zip(index, shape, strict=True):
            flat = flat * size + i % size
        sums[flat] += number
    if not all(are_close(sums, expected.numbers, expected.tolerance)):
        return None
    larger = [str(d) for d, (s, e) in enumerate(zip(seen.shape, shape, strict=True)) if s != e]
    return f"dimension {larger[0]}" if len(larger) == 1 else f"dimensions {' and '.join(larger)}"


# The kinds of difference between two values of the same shape.

RIGHT_VALUES = "{values} are right"
_MAX_FACTOR = 64  # a larger whole factor is a coincidence
_NEARLY = 1e-2
_MAX_ROWS = 64
_MAX_DECIMALS = 6

Others = Mapping[str, Sequence[float]]


def _part(number: int, pair: Pair) -> str:
    if number == len(pair.seen):
        return f"all {number} of {{entries}} are"
    return f"{number} of {{{len(pair.seen)} entries}} {'is' if number == 1 else 'are'}"


def _not_finite(pair: Pair, _: Others) -> str | None:
    not_finite = [s for s, e in pair.wrong if not math.isfinite(s) and math.isfinite(e)]
    if not not_finite:
        return None
    word = "nan" if any(map(math.isnan, not_finite)) else "infinite"
    if len(pair.seen) == 1:
        return f"{{it}} {{is}} {word}"
    return f"{_part(len(not_finite), pair)} nan or infinite"


def _another(pair: Pair, others: Others) -> str | None:
    names = (name for name, numbers in others.items() if pair.is_seen(numbers))
    return next((f"{{it}} {{is}} {literal(name)}" for name in names), None)


def _zero(pair: Pair, _: Others) -> str | None:
    if any(pair.seen):
        return None
    return "{it} {is} 0 everywhere" if len(pair.seen) > 1 else "{it} {is} 0"


def _multiple(pair: Pair, _: Others) -> str | None:
    """A constant factor that is a whole number, or 1 divided by it; -1 is a sign."""
    factor = _factor(pair)
    if factor is None:
        return None
    if abs(factor + 1) <= 2 * pair.tolerance:
        return "{sign} is wrong"
    sign = " and has the wrong sign" if factor < 0 else ""
    for times, form in ((abs(factor), "{} times"), (1 / abs(factor) if factor else 0.0, "1/{} of")):
        whole = round(min(times, 2 * _MAX_FACTOR))  # 1 divided by next to nothing is infinite
        if 2 <= whole <= _MAX_FACTOR and abs(times - whole) <= 2 * pair.tolerance * whole:
            return f"{{it}} {{is}} {form.format(whole)} what it should be{sign}"
    return None


def _length(pair: Pair, _: Others) -> str | None:
    """Any other constant factor, so the direction is right."""
    factor = _factor(pair)
    if factor is None or sum(map(bool, pair.expected)) < 2:  # any number is a multiple of any other
        return None
    size = "small" if abs(factor) < 1 else "large"
    sign = " and has the wrong sign" if factor < 0 else ""
    return f"{{it}} {{is}} too {size} by the same factor everywhere{sign}"


def _factor(pair: Pair) -> float | None:
    largest = max(range(len(pair.expected)), key=lambda n: abs(pair.expected[n]))
    if not pair.expected[largest] or not all(map(math.isfinite, [*pair.seen, *pair.expected])):
        return None
    factor = pair.seen[largest] / pair.expected[largest]
    return factor if pair.is_seen([factor * e for e in pair.expected]) else None


def _sum_with_another(pair: Pair, others: Others) -> str | None:
    for name, numbers in others.items():
        if not any(numbers):
            continue
        if pair.is_seen([e + n for e, n in zip(pair.expected, numbers, strict=True)]):
            return f"{{it}} {{is}} what it should be, plus {literal(name)}"
        if pair.is_seen([e - n for e, n in zip(pair.expected, numbers, strict=True)]):
            return f"{{it}} {{is}} what it should be, minus {literal(name)}"
    return None


def _in_another_order(pair: Pair, _: Others) -> str | None:
    if len(pair.seen) == 1:
        return None
    rows = [pair.row(pair.expected, number) for number in range(pair.rows)]
    if pair.rows > 1 and pair.is_seen([number for row in reversed(rows) for number in row]):
        return f"{{{'entries' if len(pair.shape) == 1 else 'rows'}}} are in reverse order"
    if all(are_close(sorted(pair.seen), sorted(pair.expected), pair.tolerance)):
        return "{it} {holds} the right numbers, in another order"
    return None


def _same_everywhere(pair: Pair, _: Others) -> str | None:
    """The same number or row everywhere, although the expected ones differ."""
    if len(pair.seen) < 3 or len(set(pair.expected)) == 1:
        return None
    if len(set(pair.seen)) == 1:
        return "all {entries} are the same number"
    rows, expected = (
        {tuple(pair.row(side, number)) for number in range(pair.rows)} for side in (pair.seen, pair.expected)
    )
    return "all {rows} are the same" if len(rows) == 1 < len(expected) else None


def _cut_off(pair: Pair, _: Others) -> str | None:
    """The effect of ``clamp`` on the larger entries."""
    most = max(map(abs, pair.seen))
    if len(pair.wrong) < 2 or not all(abs(s) == most < abs(e) and s * e > 0 for s, e in pair.wrong):
        return None
    return f"{_part(len(pair.wrong), pair)} clipped to the same size"


def _wrong_alike(pair: Pair, _: Others) -> str | None:
    """All wrong entries are 0, or have the wrong sign, and the others are right."""
    if len(pair.wrong) == len(pair.seen):
        return None
    share = _part(len(pair.wrong), pair)
    if all(s == 0 for s, _ in pair.wrong):
        return f"{share} 0, and should not be"
    if all(all(are_close([-s], [e], pair.tolerance)) for s, e in pair.wrong):
        return f"{share} of the wrong sign"
    return None


def _rounded(pair: Pair, _: Others) -> str | None:
    numbers = list(zip(pair.seen, pair.expected, strict=True))
    for decimals in range(1, _MAX_DECIMALS + 1):
        error = 0.51 * 10**-decimals
        if all(abs(s - round(s, decimals)) <= 1e-6 * abs(s) and abs(s - e) <= error for s, e in numbers):
            return f"{{it}} {{is}} accurate{to_decimals(decimals, len(numbers)) or ' to a few decimals'} only"
    return None


def _nearly(pair: Pair, _: Others) -> str | None:
    """Wrong by at most one percent, given to one digit."""
    if not all(are_close(pair.seen, pair.expected, _NEARLY)):
        return None
    largest = max(abs(e) for e in pair.expected if math.isfinite(e))
    error = max(abs(s - e) / max(abs(e), largest / 100) for s, e in pair.wrong)
    return (
        f"{{it}} {{is}} off by {100 * error:.1g}%"
        if len(pair.seen) == 1
        else f"{{it}} {{is}} off by up to {100 * error:.1g}%"
    )


def _up_to_here(pair: Pair, _: Others) -> str | None:
    """The first entries are right and all others wrong, or vice versa, if there are few entries."""
    if not 3 <= pair.rows <= _MAX_ROWS:
        return None
    good = [all(pair.row(pair.right, row)) for row in range(pair.rows)]
    number, entries = sum(good), "entries" if len(pair.shape) == 1 else "rows"
    for which, part in (("first", good[:number]), ("last", good[pair.rows - number :])):
        if number and all(part):
            those = f"{which} {number}" if number > 1 else which
            return f"only the {those} of {{{pair.rows} {entries}}} {'are' if number > 1 else 'is'} right"
    return None


def _share(pair: Pair, _: Others) -> str | None:
    """The number of wrong entries, unless most are wrong."""
    return f"{_part(len(pair.wrong), pair)} wrong" if 2 * len(pair.wrong) <= len(pair.seen) else None


#: The kinds, the most specific first.
KINDS: tuple[Callable[[Pair, Others], str | None], ...] = (
    _not_finite,
    _zero,
    _another,
    _multiple,
    _length,
    _sum_with_another,
    _in_another_order,
    _same_everywhere,
    _cut_off,
    _wrong_alike,
    _rounded,
    _up_to_here,
    _nearly,
    _share,
)

#: Kinds that explain the numbers completely: a hint about the student's idea would mislead.
SAY_ALL: frozenset[Callable[[Pair, Others], str | None]] = frozenset(
    {_not_finite, _in_another_order, _cut_off, _rounded}
)
