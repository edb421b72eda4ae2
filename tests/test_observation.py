"""What was seen beside what was expected: a value of another form is a diagnosis, not a crash."""

from dataclasses import replace

import pytest
from test_check import TENSOR

from grader.errors import CourseError
from grader.evidence import Fault, Stopped
from grader.facts import CUT_OFF, Other, Raised
from grader.observation import Observation, other_form

ERROR = Raised(
    ("RuntimeError", "Exception"), "grad can be implicitly created only for scalar outputs", "cell 2, line 7"
)
BOX = Other("Box")


def complaint(seen, expected):
    """What a check that looks at what was seen is told."""
    with pytest.raises(AssertionError) as caught:
        _ = Observation("probe", seen, expected).seen
    return str(caught.value)


ALIKE = [
    (1, 1.5),
    (True, 0),
    (1.5, False),
    ([1], (1,)),
    ((), []),
    ([1, 2, 3], [1]),
    ([], [1]),
    ({"a": 1, "b": 2}, {"a": 3}),
    ({"a": [1]}, {"a": (2,)}),
    ("x", "y"),
    (TENSOR, replace(TENSOR, shape=(5,), dtype="torch.int64", value=None)),
    (BOX, Other("Box")),
    (None, TENSOR),
    (TENSOR, None),
    (None, None),
    (ERROR, TENSOR),
    (TENSOR, ERROR),
    ([None, ERROR], [TENSOR, {}]),
    ({"a": None}, {"a": [1]}),
]


@pytest.mark.parametrize(("seen", "expected"), ALIKE)
def test_the_same_form(seen, expected):
    """Kinds of number and of sequence are alike, None and errors stand for anything, lengths are free."""
    assert other_form(seen, expected) is None
    assert other_form([seen], [expected]) is None
    assert Observation("probe", seen, expected).seen is seen


def test_what_untouched_kept_has_a_form_of_its_own():
    """Where a student replaced what was watched, assert_untouched tells, and not the comparison of forms."""
    modes = {"kind": "modes", "grad mode": True}
    shared = {"torch": modes, "w": {"kind": "object", "object": 3}}
    own = {"torch": modes, "w": {"kind": "tensor", "tensor": TENSOR, "hooks": [], "attributes": []}}
    expected = {"kept": {"before": shared, "after": shared}}
    for after in (own, {"torch": modes}):
        assert other_form({"kept": {"before": shared, "after": after}}, expected) is None


OTHER = [
    (1, TENSOR, "the result is an int, a tensor was expected"),
    (TENSOR, 1.0, "the result is a tensor, a float was expected"),
    ([1], TENSOR, "the result is a list, a tensor was expected"),
    (TENSOR, (1,), "the result is a tensor, a tuple was expected"),
    ({}, [], "the result is a dict, a list was expected"),
    ([], {}, "the result is a list, a dict was expected"),
    ("1", 1, "the result is a str, an int was expected"),
    (1, "1", "the result is an int, a str was expected"),
    (BOX, TENSOR, "the result is a Box, a tensor was expected"),
    (Other("tensor"), TENSOR, "the result is a tensor, a tensor was expected"),
    (Other("dict"), {"a": 1}, "the result is a dict, a dict was expected"),
    ([Other("list")], [[1]], "the result[0] is a list, a list was expected"),
    (Other("str"), "x", "the result is a str, a str was expected"),
    (Other("int"), 1, "the result is an int, an int was expected"),
    (BOX, Other("Adam"), "the result is a Box, an Adam was expected"),
    ({"b": 1}, {"a": 1}, "the result has no entry 'a'"),
    ({"w": 1}, {"w": TENSOR}, "w is an int, a tensor was expected"),
    ({"w": {"g": 1}}, {"w": {"g": TENSOR}}, "w['g'] is an int, a tensor was expected"),
    ({"w": {}}, {"w": {"g": TENSOR}}, "w has no entry 'g'"),
    ({"w": [TENSOR, 1]}, {"w": [TENSOR, TENSOR]}, "w[1] is an int, a tensor was expected"),
    ([1, "x"], [1, 1], "the result[1] is a str, an int was expected"),
    ([[1]], [[TENSOR]], "the result[0][0] is an int, a tensor was expected"),
    ([{"a": 1}], [{"a": "x"}], "the result[0]['a'] is an int, a str was expected"),
    ({"a": 1, "b": 1}, {"a": 1, "b": TENSOR}, "b is an int, a tensor was expected"),
    ({"w": [[], TENSOR]}, {"w": [TENSOR, [], TENSOR]}, "w has 2 entries instead of 3"),
    ([[1, []]], [[1, TENSOR, []], 2], "the result has 1 entry instead of 2"),
    ({"w": [1, CUT_OFF]}, {"w": [1], "kept": 1}, "a part was left out: there is too much to look at"),
]


@pytest.mark.parametrize(("seen", "expected", "message"), OTHER)
def test_another_form_is_named(seen, expected, message):
    """Where a value is of another kind than the reference's, its place and both kinds are told."""
    assert other_form(seen, expected) == message
    assert message in complaint(seen, expected)


def test_a_value_is_never_told():
    """A diagnosis of the form contains neither what was seen nor what was expected."""
    seen, expected = {"w": "77.25"}, {"w": replace(TENSOR, value=(77.25, 77.25), shape=(77,))}
    assert "77" not in complaint(seen, expected)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("it was too slow", "It was too slow."),
        ("is there a loop?", "Is there a loop?"),
        ("Stopped.", "Stopped."),
        ("stopped!", "Stopped!"),
    ],
)
def test_a_fault_is_told(reason, message):
    """Where there are no facts, the reason is told as a sentence."""
    assert complaint(Fault(reason), 1) == message


def test_an_error_of_the_student_is_diagnosed():
    """Where the student's code raised, place, class and meaning are told."""
    told = complaint(Stopped(ERROR), TENSOR)
    assert told.startswith("Your code stopped in code cell 2, line 7, with RuntimeError: grad can be")
    assert "needs an output of one element" in told


def test_an_error_that_was_returned_is_a_fact():
    """An error that is what came back, or within it, is handed to the check as a fact like others."""
    assert Observation("probe", {"step": ERROR}, {"step": None}).seen == {"step": ERROR}
    assert Observation("probe", ERROR, None).seen is ERROR
    assert Observation("probe", None, ERROR).expected is ERROR


def test_what_is_expected():
    """The facts of the reference are handed to the check as they are, None included."""
    assert Observation("probe", 1, {"a": [TENSOR]}).expected == {"a": [TENSOR]}
    assert Observation("probe", 1, None).expected is None


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (Fault("it was too slow"), "got no facts of the reference: it was too slow"),
        (Stopped(ERROR), "fails on the reference: "),
    ],
)
def test_a_probe_that_fails_on_the_reference_is_the_authors_mistake(expected, words):
    """Without facts of the reference nothing is judged, neither what was expected nor what was seen."""
    observation = Observation("carried", 1, expected)
    for look in (lambda: observation.expected, lambda: observation.seen):
        with pytest.raises(CourseError, match="probe carried ") as caught:
            look()
        assert words in str(caught.value)


STRICT = [
    (None, TENSOR, "the result is None, a tensor was expected"),
    (TENSOR, None, "the result is a tensor, None was expected"),
    ({"w": None}, {"w": 1}, "w is None, an int was expected"),
    ({"w": [1, ERROR]}, {"w": [1, 1]}, "w[1] is an error (RuntimeError), an int was expected"),
    ([1, 2, 3], [1], "the result has 3 entries instead of 1"),
    ({"w": [{"g": ()}]}, {"w": [{"g": [1]}]}, "w[0]['g'] has 0 entries instead of 1"),
    (1, TENSOR, "the result is an int, a tensor was expected"),
]


@pytest.mark.parametrize(("seen", "expected", "message"), STRICT)
def test_why_a_check_may_have_stumbled(seen, expected, message):
    """Looked at strictly, None, an error and another length are differences too, and are told."""
    assert Observation("probe", seen, expected).mismatch == f"In what came back, {message}."


@pytest.mark.parametrize(
    ("seen", "expected"),
    [(1, 2.5), (None, None), ([1], (2,)), (ERROR, ERROR), ({"a": 1, "b": 2}, {"a": True}), (TENSOR, TENSOR)],
)
def test_the_same_form_gives_no_reason(seen, expected):
    """Where nothing differs in form, even strictly, there is nothing to tell."""
    assert Observation("probe", seen, expected).mismatch is None
