"""How two facts differ is said in words that are certain, and that do not say what was expected."""

import math
from dataclasses import replace

import pytest
from test_check import TENSOR

from grader import assert_close
from grader.contracts.difference import how_it_differs
from grader.contracts.finding import FailedCheckError


def tensor(values, *shape, dtype="torch.float32"):
    return replace(TENSOR, value=tuple(values), shape=shape or (len(values),), dtype=dtype)


EXPECTED = tensor([3.1, -1.7, 0.4, 2.9, -0.6, 1.3], 2, 3)
E = EXPECTED.value
LAST = tensor([0.7, 0.2, -0.9, 1.1, 0.8, -2.3], 2, 3)
SUM = [e + o for e, o in zip(E, LAST.value, strict=True)]
REST = [e - o for e, o in zip(E, LAST.value, strict=True)]
LONG = tensor([3.1, -1.7, 0.4, 2.9, -0.6])
SMALL = tensor([1.0, 2.0], 1, 2)

#: What was seen, what was expected, and what is said.
KINDS = [
    (E, EXPECTED, None),
    ([E[0], math.nan, *E[2:]], EXPECTED, "1 of its 6 entries is nan or infinite"),
    ([0.0] * 6, EXPECTED, "it is 0 everywhere"),
    ([3 * e for e in E], EXPECTED, "it is 3 times what it should be"),
    ([e / 4 for e in E], EXPECTED, "it is 1/4 of what it should be"),
    ([-2 * e for e in E], EXPECTED, "it is 2 times what it should be and has the wrong sign"),
    ([-e for e in E], EXPECTED, "its sign is wrong"),
    ([0.37 * e for e in E], EXPECTED, "it is too small by the same factor everywhere"),
    ([1.37 * e for e in E], EXPECTED, "it is too large by the same factor everywhere"),
    (LAST.value, EXPECTED, "it is the gradient before"),
    (SUM, EXPECTED, "it is what it should be, plus the gradient before"),
    (REST, EXPECTED, "it is what it should be, minus the gradient before"),
    ([*E[:4], *LAST.value[4:]], EXPECTED, "2 of its 6 entries are wrong"),
    ([*E[3:], *E[:3]], EXPECTED, "its rows are in reverse order"),
    (LONG.value[::-1], LONG, "its entries are in reverse order"),
    ([E[1], E[0], *E[2:]], EXPECTED, "it holds the right numbers, in another order"),
    ([E[0]] * 6, EXPECTED, "all its entries are the same number"),
    ([0.5] * 6, EXPECTED, "all its entries are the same number"),
    ([*E[:3], *E[:3]], EXPECTED, "all its rows are the same"),
    ([max(-1.0, min(e, 1.0)) for e in E], EXPECTED, "4 of its 6 entries are clipped to the same size"),
    ([E[0], 0.0, *E[2:]], EXPECTED, "1 of its 6 entries is 0, and should not be"),
    ([*E[:2], 9.0, E[3], 8.0, E[5]], EXPECTED, "2 of its 6 entries are wrong"),
    ([abs(e) for e in E], EXPECTED, "2 of its 6 entries are of the wrong sign"),
    ([3.14, -1.26, 0.5], tensor([3.14159, -1.2592, 0.5011]), "it is accurate to 2 decimals only"),
    ([e * (1 + 0.0015 * n) for n, e in enumerate(E)], EXPECTED, "it is off by up to 0.8%"),
    ([*LONG.value[:2], 9.0, 8.0, 7.0], LONG, "only the first 2 of its 5 entries are right"),
    ([9.0, 8.0, 7.0, 5.5, LONG.value[4]], LONG, "only the last of its 5 entries is right"),
    ([9.1, -8.3, 7.7, 5.2, 0.1, 6.4], EXPECTED, None),
    ([E[0], 9.1, -8.3, 7.7, 5.2, E[5]], EXPECTED, None),
    (
        [*range(1, 41), *range(-80, -40)],
        tensor([*map(float, range(1, 81))]),
        "40 of its 80 entries are wrong",
    ),
]


@pytest.mark.parametrize(("seen", "expected", "told"), KINDS)
def test_each_kind_of_difference_has_its_clause(seen, expected, told):
    others = {"the gradient before": LAST}
    assert how_it_differs(replace(expected, value=tuple(seen)), expected, others) == told


@pytest.mark.parametrize(
    ("seen", "takes_hint"),
    [
        ([E[0], math.nan, *E[2:]], False),
        ([max(-1.0, min(e, 1.0)) for e in E], False),
        ([e * (1 + 0.0015 * n) for n, e in enumerate(E)], True),
        ([3 * e for e in E], True),
        ([9.1, -8.3, 7.7, 5.2, 0.1, 6.4], True),
    ],
)
def test_a_kind_that_says_all_needs_no_hint(seen, takes_hint):
    """Nan and a cut speak for themselves; a factor and a wrong number may need a hint."""
    with pytest.raises(FailedCheckError) as caught:
        assert_close(replace(EXPECTED, value=tuple(seen)), EXPECTED, "It is wrong.\n\nWhy?")
    found = caught.value.finding
    assert (found.takes_hint, found.hint) == (takes_hint, "Why?" if takes_hint else None)


SHAPES = [
    (tensor([3.1, 2.9, -1.7, -0.6, 0.4, 1.3], 3, 2), EXPECTED, None),
    (tensor(E), EXPECTED, "its values are right"),
    (tensor(E[:3], 1, 3), EXPECTED, "it holds only the first entries"),
    (tensor([9.0, 8.0], 2), EXPECTED, None),
    (tensor([], 0), EXPECTED, None),
    (tensor([*E, *LAST.value], 2, 2, 3), EXPECTED, None),
    (tensor([*LAST.value, *REST], 2, 2, 3), EXPECTED, "summed over dimension 0, it is right"),
    (tensor(E, 1, 2, 3), EXPECTED, "its values are right"),
    (tensor([e / 8 for e in E for _ in range(8)], 2, 3, 8), EXPECTED, None),
    # Also dimensions that the expected has with one entry, and none in which both are equally large.
    (
        tensor([0.5] * 24, 2, 3, 4),
        tensor([4.0] * 3, 3, 1),
        "summed over dimensions 0 and 2, it is right",
    ),
]


NUMBERS = [
    (6.2, 3.1, "it is 2 times what it should be"),
    (0.0, 3.1, "it is 0"),
    (math.nan, 3.1, "it is nan"),
    (math.inf, 3.1, "it is infinite"),
    (-3.1, 3.1, "its sign is wrong"),
    (1.3, 3.1, None),
    ([1.0, 2.0], [2.0, 4.0], "it is 1/2 of what it should be"),
    (None, 3.1, None),
    ([], [], None),
    ("3.1", 3.1, None),
]


@pytest.mark.parametrize(("seen", "expected", "told"), [*SHAPES, *NUMBERS])
def test_other_shapes_and_numbers_are_told_apart_too(seen, expected, told):
    """A tensor that was cut short or has yet to be summed; no number is called a multiple by any factor."""
    assert how_it_differs(seen, expected) == told


@pytest.mark.parametrize(
    ("seen", "expected", "told"),
    [
        (
            {"first": LAST, "second": LAST},
            {"first": EXPECTED, "second": LAST},
            "`first` is what `second` should be",
        ),
        ([LAST, LAST], [EXPECTED, LAST], "entry [0] is what entry 1 should be"),
        (
            {"first": SMALL, "second": SMALL},
            {"first": EXPECTED, "second": SMALL},
            "the shape of `first` is (1, 2) instead of (2, 3); it is what `second` should be",
        ),
    ],
)
def test_of_several_entries_one_may_be_taken_for_another(seen, expected, told):
    """Where gradients of layers are compared, that of another layer is named."""
    with pytest.raises(AssertionError) as caught:
        assert_close(seen, expected, "Wrong.")
    assert str(caught.value) == f"Wrong ({told})."
