"""What the author of a check writes with: tolerances, messages that tell nothing, points, titles."""

import math
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.contracts.check import describe, points, points_of, raised, title_and_hint
from grader.contracts.comparison import assert_close, is_close
from grader.errors import CourseError
from grader.sandbox.sensitivity import with_sensitivity
from grader.sandbox.values import Other, Raised, Tensor

_ZEROS = dict.fromkeys(("version", "identity", "storage"), 0)
TENSOR = Tensor("Tensor", "torch.float32", (2,), (1.0, 2.0), True, False, None, False, **_ZEROS, grad=None)


def tensor(*values, dtype="torch.float32", shape=None):
    return replace(TENSOR, value=values, shape=(len(values),) if shape is None else shape, dtype=dtype)


def differ(seen, expected, message="They differ.", **how):
    """The diagnosis of two facts that are not close."""
    with pytest.raises(AssertionError) as caught:
        assert_close(seen, expected, message, **how)
    return str(caught.value)


SAME = [
    (1, 1),
    (1, 1.0),
    (0.0, -0.0),
    (1.0, 1.0 + 1e-6),
    (100.005, 100),  # numbers have the tolerance of float32
    (tensor(100.0, 5e-5), tensor(100.0, 0.0)),  # what rounding makes of 0 beside 100
    (tensor(100.0, -5e-5), tensor(100.0, 0.0)),
    (math.inf, math.inf),
    (-math.inf, -math.inf),
    (None, None),
    ((1 << 63) - 1, 2.0**63),
    ([], []),
    ([1, 2.0], (1, 2)),
    ({}, {}),
    ({"a": 1, "b": [None, 2]}, {"b": (None, 2), "a": 1}),
    (tensor(1.0, 2.0), tensor(1.0, 2.0)),
    (tensor(), tensor()),
    (tensor(1.0, math.inf, -math.inf), tensor(1.0, math.inf, -math.inf)),
    ({"w": tensor(1.0)}, {"w": tensor(1.0)}),
]


@pytest.mark.parametrize(("seen", "expected"), SAME)
def test_the_same_is_close(seen, expected):
    assert_close(seen, expected, "They differ.")


def test_only_values_shape_and_dtype_count():
    """A tensor that differs in everything autograd knows about it is still numerically the same."""
    known = {"is_leaf": False, "requires_grad": True, "grad_fn": "MulBackward0", "retains_grad": True}
    other = replace(TENSOR, kind="Parameter", version=4, identity=5, storage=6, grad=TENSOR, **known)
    assert_close(other, TENSOR, "They differ.")


@pytest.mark.parametrize(
    ("dtype", "rtol"),
    [
        ("torch.float64", 1e-5),
        ("torch.complex128", 1e-5),
        ("torch.float32", 1e-4),
        ("torch.complex64", 1e-4),
        ("torch.float16", 1e-2),
        ("torch.bfloat16", 1e-2),
    ],
)
@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1.0, -3.0, 1e30])
def test_tolerance_follows_dtype_and_magnitude(dtype, rtol, scale):
    """Half the relative tolerance of a dtype passes and twice of it fails, at every magnitude."""
    expected = tensor(scale, dtype=dtype)
    for sign in (1, -1):
        assert_close(tensor(scale * (1 + sign * 0.5 * rtol), dtype=dtype), expected, "They differ.")
        assert differ(tensor(scale * (1 + sign * 2 * rtol), dtype=dtype), expected).startswith("They differ")


@pytest.mark.parametrize("dtype", ["torch.int64", "torch.int32", "torch.bool", "torch.uint8", "torch.odd"])
def test_what_is_not_rounded_has_to_be_exact(dtype):
    assert_close(tensor(1000, 0, dtype=dtype), tensor(1000, 0, dtype=dtype), "They differ.")
    differ(tensor(1001, 0, dtype=dtype), tensor(1000, 0, dtype=dtype))
    differ(tensor(1000, 1, dtype=dtype), tensor(1000, 0, dtype=dtype))


@pytest.mark.parametrize(
    ("number", "seen", "told"),
    [
        (0.1, 0.1 + 1e-8, "accurate to float32 precision only"),
        (0.1234567, 0.123457, r"it is the right value, rounded to 6 decimals\)"),
    ],
)
def test_full_precision_of_plain_numbers(number, seen, told):
    """Where all digits are asked for, those of Python's numbers are compared, and a rounding is told."""
    assert_close([seen, 2.0, 3.0], [number, 2.0, 3.0], "Wrong.")
    assert_close([number, 2.0, 3.0], [number, 2.0, 3.0], "Wrong.", full_precision=True)
    with pytest.raises(AssertionError, match=told):
        assert_close([seen, 2.0, 3.0], [number, 2.0, 3.0], "Wrong.", full_precision=True)


@pytest.mark.parametrize("numbers", [[0.1200345], [0.1200345, 2.0]])
@pytest.mark.parametrize(
    ("full_precision", "told"),
    [(True, r"\(it is the right value, rounded\)"), (False, "to a few decimals only")],
)
def test_to_how_many_decimals_few_numbers_are_rounded_is_not_told(numbers, full_precision, told):
    """What was rounded to 4 decimals may end in zeros, and would be told as rounded to 2."""
    with pytest.raises(AssertionError, match=told):
        assert_close([round(n, 4) for n in numbers], numbers, "Wrong.", full_precision=full_precision)


NUMBERS = {
    "a tensor": lambda number: tensor(number, 2e-6),
    "a float": lambda number: number,
    "a list": lambda number: [number, 2e-6],
    "in a dict": lambda number: {"w": tensor(2e-6, number)},
}


@pytest.mark.parametrize("form", NUMBERS.values(), ids=NUMBERS)
def test_as_far_as_rounding_moves_it_a_number_is_right(form):
    expected = with_sensitivity(form(1e-6), [form(1e-6 + 1e-10), form(1e-6 - 1e-9)])
    for right in (1e-6 + 3.9e-9, 1e-6 - 3.9e-9, 1e-6):
        assert_close(form(right), expected, "They differ.")
    for wrong in (1e-6 + 4.1e-9, 1e-6 - 4.1e-9, 0.0, math.nan):
        differ(form(wrong), expected)
    differ(form(1e-6 + 3.9e-9), form(1e-6))


@pytest.mark.parametrize("form", NUMBERS.values(), ids=NUMBERS)
def test_full_precision_is_relative_to_each_number(form):
    form = partial(_in_double, form)
    assert_close(form(1e-10), form(1e-10 * (1 + 1e-13)), "They differ.", full_precision=True)
    assert_close(form(0.3), form(0.1 + 0.2), "They differ.", full_precision=True)
    for wrong in (1.00001e-10, 1e-10 * (1 + 1e-11)):
        differ(form(wrong), form(1e-10), full_precision=True)


def test_full_precision_allows_for_the_measured_sensitivity():
    fact = tensor(1.0, dtype="torch.float64")
    expected = with_sensitivity(fact, [tensor(1.0 + 1e-11, dtype="torch.float64")])
    right, wrong = replace(fact, value=(1.0 + 3.9e-11,)), replace(fact, value=(1.0 + 4.1e-11,))
    assert_close(right, expected, "They differ.", full_precision=True)
    assert "to float32 precision only" in differ(wrong, expected, full_precision=True)


def _in_double(form, number):
    """The form with tensors of float64."""
    made = form(number)
    tensors = made.values() if isinstance(made, dict) else [made]
    doubles = [replace(t, dtype="torch.float64") if isinstance(t, Tensor) else t for t in tensors]
    return dict(zip(made, doubles, strict=True)) if isinstance(made, dict) else doubles[0]


def test_several_facts_by_one_name_are_refused():
    """A dict among the others, of which nothing would ever be found, is an author's mistake."""
    with pytest.raises(TypeError, match="name each of its tensors"):
        assert_close(1.0, 2.0, "They differ.", {"the gradients": {"a": 1.0}})


NOT_FINITE = (math.nan, math.inf, -math.inf)
DIFFERENT = [
    (100.02, 100),
    (True, 0),
    (10_001, 10_000),  # whole numbers are exact, however close
    (tensor(100.0, 2e-4), tensor(100.0, 0.0)),  # more than what rounding makes of 0 beside 100
    (tensor(1e-30, 0.0), tensor(0.0, 0.0)),  # zeros have no noise
    (1e-30, 0),
    # A small gradient is not taken for zero.
    *(
        (tensor(*seen), tensor(scale, -scale / 2))
        for scale in (1e-3, 1e-8, 1e-20, 1e-38)
        for seen in ((0.0, 0.0), (scale / 2, -scale / 2), (scale, 0.0), (-scale, scale / 2))
    ),
    # Infinity is equal to itself alone, and loosens nothing for its neighbours.
    *((wrong, math.inf) for wrong in (math.nan, -math.inf, 0.0, 1e308, 1.0)),
    *((tensor(1.0, wrong), tensor(1.0, math.inf)) for wrong in (math.nan, -math.inf, 0.0, 1e308, 1.0)),
    (tensor(1.1, math.inf), tensor(1.0, math.inf)),
    # What is not finite is no number, also beside a large or infinite neighbour.
    *((wrong, 1.0) for wrong in NOT_FINITE),
    *((tensor(wrong, n), tensor(1.0, n)) for wrong in NOT_FINITE for n in (1.0, 1e30, math.inf)),
    # NaN is not even equal to an expected NaN, and an expected NaN to nothing.
    (math.nan, math.nan),
    (tensor(math.nan, 1.0), tensor(math.nan, 1.0)),
    (tensor(0.0, 1.0), tensor(math.nan, 1.0)),
]


@pytest.mark.parametrize(("seen", "expected"), DIFFERENT)
def test_another_number_is_found(seen, expected):
    assert differ(seen, expected).startswith("They differ")


@settings(max_examples=100, deadline=None, database=None)
@given(
    st.lists(
        st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**99), max_value=2.0**99),
        min_size=1,
    ),
    st.data(),
)
def test_one_element_decides(values, data):
    """A tensor is close to itself, and one element moved by a thousandth of the largest is found."""
    expected = tensor(*values)
    assert_close(expected, expected, "They differ.")
    place = data.draw(st.integers(0, len(values) - 1))
    step = max(map(abs, values)) / 1000 or 1.0
    differ(tensor(*values[:place], values[place] + step, *values[place + 1 :]), expected)


STOPPED = Raised(("ValueError",), "no", "cell 2, line 3", function="f", line="g(x)")
#: What is told behind "They differ".
FOUND = [
    (None, tensor(1.0), " (it is None, not a tensor)."),
    (1.0, tensor(1.0), " (it is a float, not a tensor)."),
    (True, tensor(1.0), " (it is a bool, not a tensor)."),
    ([1.0], tensor(1.0), " (it is a list, not a tensor)."),
    (Other("Box"), tensor(1.0), " (it is a Box, not a tensor)."),
    (Other("Adam"), tensor(1.0), " (it is an Adam, not a tensor)."),
    (STOPPED, tensor(1.0), ": in `f` (code cell 2), `g(x)` raised ValueError: no."),
    ([1.0, STOPPED], [1.0, 2.0], " (entry [1]): in `f` (code cell 2), `g(x)` raised ValueError: no."),
    (tensor(1.0, 2.0), tensor(1.0), " (its shape is (2,) instead of (1,))."),
    (tensor(1.0, shape=()), tensor(1.0), " (its shape is () instead of (1,), but its values are right)."),
    (
        tensor(1.0, dtype="torch.float64"),
        tensor(1.0),
        " (its dtype is torch.float64 instead of torch.float32).",
    ),
    (replace(tensor(1.0), value=None), tensor(1.0), " (its values cannot be read)."),
    (tensor(2.0), tensor(1.0), " (it is 2 times what it should be)."),
    (tensor(1e-310), tensor(1.0), "."),
    (tensor(1.0), 1.0, " (it is a tensor, not a float)."),
    ("1", 1, " (it is a str, not an int)."),
    (None, 1, " (it is None, not an int)."),
    (0, None, " (it is an int, not None)."),
    (tensor(0.0), None, " (it is a tensor, not None)."),
    (2, 1, " (it is 2 times what it should be)."),
    (1, [1], " (it is an int, not a list)."),
    ({}, [1], " (it is a dict, not a list)."),
    (tensor(1.0), [1], " (it is a tensor, not a list)."),
    ([], [1], " (it has 0 entries instead of 1)."),
    ((1, 1), [1], " (it has 2 entries instead of 1)."),
    ([1, 2.7], [1, 1], " (1 of its 2 entries is wrong)."),
    ([2, 2], [1, 1], " (it is 2 times what it should be)."),
    ([[1], [tensor(2.0)]], [[1], [tensor(1.0)]], " (entry [1][0] is 2 times what it should be)."),
    ([tensor(5.0), tensor(5.0)], [tensor(3.0), tensor(5.0)], " (entry [0] is wrong)."),
    ([1], {"a": 1}, " (it is a list, not a dict)."),
    ({}, {"a": 1}, " (`a` is missing)."),
    ({"a": 2.7}, {"a": 1}, " (`a` is wrong)."),
    ({"a": tensor(5.0), "b": 5}, {"a": tensor(3.0), "b": tensor(5.0)}, " (`a` is what `b` should be)."),
    ({"a": 5, "b": 5}, {"a": 3, "b": 5}, " (`a` is wrong)."),
    ({"a": [{"b": 2}]}, {"a": [{"b": 1}]}, " (`a[0]['b']` is 2 times what it should be)."),
]


@pytest.mark.parametrize(("seen", "expected", "message"), FOUND)
def test_a_diagnosis_says_what_was_seen(seen, expected, message):
    """The author's sentence is told, with what was found instead where that tells more."""
    assert differ(seen, expected) == f"They differ{message}"
    if seen is None:
        assert differ(seen, expected, "It is None.") == "It is None."


SECRETS = [
    (tensor(1.0), tensor(77.25)),
    (tensor(1.0), tensor(77.25, 77.25, 77.25)),
    (1.0, tensor(77.25)),
    (1.0, 77.25),
    (None, 77),
    ([1], [77]),
    ({"a": 1}, {"a": 77}),
    (3, [tensor(77.25)]),
]


@pytest.mark.parametrize(("seen", "expected"), SECRETS)
def test_a_diagnosis_never_contains_what_was_expected(seen, expected):
    told = differ(seen, expected)
    assert "77" not in told
    assert "Tensor(" not in told


@pytest.mark.parametrize("expected", ["text", Other("Box"), Raised(("ValueError",), "", "")])
def test_what_cannot_be_compared_is_no_verdict(expected):
    """A reference of another kind than numbers and tensors is neither a pass nor a student's failure."""
    with pytest.raises(TypeError, match="assert_close compares tensors and numbers"):
        assert_close(expected, expected, "They differ.")


def test_a_reference_too_large_to_compare_is_no_verdict():
    large = replace(TENSOR, shape=(5000,), value=None)
    with pytest.raises(ValueError, match=r"shape \(5000,\) is too large to compare"):
        assert_close(large, large, "They differ.")


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (None, "None"),
        (True, "a bool"),
        (1, "an int"),
        ("x", "a str"),
        ({}, "a dict"),
        (TENSOR, "a tensor"),
        (Raised(("IndexError",), "text", ""), "an error (IndexError)"),
        (Other("numpy.ndarray"), "a numpy.ndarray"),
        (Other("x" * 100), f"a {'x' * 60}"),
        (Other("Ofen"), "an Ofen"),
        (Raised(("x" * 100,), "", ""), f"an error ({'x' * 60})"),
        (Raised(("\x1b[2J",), "", ""), "an error (\N{REPLACEMENT CHARACTER}[2J)"),
    ],
)
def test_describe(fact, words):
    assert describe(fact) == words


ERROR = Raised(("IndexError", "LookupError", "Exception", "BaseException"), "index 3 is out of range", "")


@pytest.mark.parametrize(
    ("error", "fragment", "answer"),
    [
        (IndexError, "", True),
        (LookupError, "", True),
        (Exception, "out of range", True),
        (IndexError, "index 3 is out of range", True),
        (IndexError, "Out of range", False),
        (KeyError, "", False),
        (RuntimeError, "out of range", False),
    ],
)
def test_raised(error, fragment, answer):
    assert raised(ERROR, error, fragment) is answer


@pytest.mark.parametrize("fact", [None, "IndexError", 3, TENSOR, Other("IndexError"), [ERROR]])
def test_only_an_error_was_raised(fact):
    assert raised(fact, BaseException) is False


def test_points():
    def unmarked():
        pass

    assert points_of(unmarked) == points_of(pytest.mark.skip(unmarked)) == (1.0, False)
    assert points_of(points(0.25)(unmarked)) == (0.25, False)


@pytest.mark.parametrize("number", [0, -1, math.nan, math.inf])
def test_points_are_positive(number):
    with pytest.raises(CourseError, match=r"@points\("):
        points(number)


def documented(text):
    def test_it():
        pass

    test_it.__doc__ = text
    return test_it


@pytest.mark.parametrize(
    ("text", "title", "hint"),
    [
        ("It is a leaf.", "It is a leaf", None),
        ("Is it a leaf?", "Is it a leaf?", None),
        (
            "It is.\n\n    Print it after\n    each batch.\n\n    Where  is it?\n\n\n    And why?\n    ",
            "It is",
            "Print it after each batch.\n\nWhere is it?\n\nAnd why?",
        ),
        ("\n    It is a leaf.\n    Not so.\n    ", "It is a leaf", "Not so."),
    ],
)
def test_title_and_hint(text, title, hint):
    """A docstring's first line is the title, the rest the hint, its paragraphs rewrapped."""
    assert title_and_hint(documented(text)) == (title, hint)


def test_is_close_says_what_assert_close_would():
    assert is_close([1.0, {"a": 2}], [1.0, {"a": 2}])
    assert not any(is_close(seen, 1.0) for seen in (1.5, None, "1", [1.0]))
