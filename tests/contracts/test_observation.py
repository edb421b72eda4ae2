"""A contract that was not observed, and a result of another form: each is a diagnosis, not a crash."""

from dataclasses import replace

import pytest
from test_check import TENSOR

from grader.contracts.cases import ContractObservation, DeclaredCase, Rules
from grader.contracts.finding import FailedCheckError
from grader.contracts.observation import other_form, sentence
from grader.errors import CourseError
from grader.sandbox.evidence import NotObserved, RequestRaised
from grader.sandbox.values import CUT_OFF, Other, Raised

ERROR = Raised(
    ("RuntimeError", "Exception"), "grad can be implicitly created only for scalar outputs", "cell 2, line 7"
)
BOX = Other("Box")


ONE_CASE = (DeclaredCase({}, {}),)


def observation(seen, expected):
    """What was observed in a contract of one case."""
    return ContractObservation("f", ONE_CASE, Rules(), (), "carried", seen, expected)


def complaint(seen):
    """What a check is told if a contract was not observed of a submission."""
    with pytest.raises(FailedCheckError) as caught:
        _ = observation(seen, [{}]).cases
    return str(caught.value)


ALIKE = [
    (1, 1.5),
    (True, 0),
    (1.5, False),
    ([1], (1,)),
    ((), []),
    ({"a": 1, "b": 2}, {"a": 3}),
    ({"a": [1]}, {"a": (2,)}),
    ("x", "y"),
    (TENSOR, replace(TENSOR, shape=(5,), dtype="torch.int64", value=None)),
    (BOX, Other("Box")),
    (None, None),
    (ERROR, ERROR),
]


@pytest.mark.parametrize(("seen", "expected"), ALIKE)
def test_the_same_form(seen, expected):
    assert other_form(seen, expected) is None
    assert other_form([seen], [expected]) is None


OTHER = [
    (1, TENSOR, "the result is an int, not a tensor"),
    (TENSOR, 1.0, "the result is a tensor, not a float"),
    ([1], TENSOR, "the result is a list, not a tensor"),
    (TENSOR, (1,), "the result is a tensor, not a tuple"),
    ({}, [], "the result is a dict, not a list"),
    ([], {}, "the result is a list, not a dict"),
    ("1", 1, "the result is a str, not an int"),
    (1, "1", "the result is an int, not a str"),
    (BOX, TENSOR, "the result is a Box, not a tensor"),
    (Other("tensor"), TENSOR, "the result is a tensor of another class"),
    (Other("dict"), {"a": 1}, "the result is a dict of another class"),
    ([Other("list")], [[1]], "in the result, entry `[0]` is a list of another class"),
    (Other("str"), "x", "the result is a str of another class"),
    (Other("int"), 1, "the result is an int of another class"),
    (BOX, Other("Adam"), "the result is a Box, not an Adam"),
    ({"b": 1}, {"a": 1}, "the result has no entry `'a'`"),
    ({"w": 1}, {"w": TENSOR}, "in the result, `w` is an int, not a tensor"),
    ({"w": {"g": 1}}, {"w": {"g": TENSOR}}, "in the result, `w['g']` is an int, not a tensor"),
    ({"w": {}}, {"w": {"g": TENSOR}}, "in the result, `w` has no entry `'g'`"),
    ({"w": [TENSOR, 1]}, {"w": [TENSOR, TENSOR]}, "in the result, `w[1]` is an int, not a tensor"),
    ([1, "x"], [1, 1], "in the result, entry `[1]` is a str, not an int"),
    ([[1]], [[TENSOR]], "in the result, entry `[0][0]` is an int, not a tensor"),
    ([{"a": 1}], [{"a": "x"}], "in the result, entry `[0]['a']` is an int, not a str"),
    ({"a": 1, "b": 1}, {"a": 1, "b": TENSOR}, "in the result, `b` is an int, not a tensor"),
    (None, TENSOR, "the result is None, not a tensor"),
    (TENSOR, None, "the result is a tensor, not None"),
    ({"w": [1, ERROR]}, {"w": [1, 1]}, "in the result, `w[1]` is an error (RuntimeError), not an int"),
    ([1, 2, 3], [1], "the result has 3 entries instead of 1"),
    ({"w": [{"g": ()}]}, {"w": [{"g": [1]}]}, "in the result, `w[0]['g']` has 0 entries instead of 1"),
    ({"w": [[], TENSOR]}, {"w": [TENSOR, [], TENSOR]}, "in the result, `w` has 2 entries instead of 3"),
    ([[1, []]], [[1, TENSOR, []], 2], "the result has 1 entry instead of 2"),
    ({"w": [1, CUT_OFF]}, {"w": [1], "kept": 1}, "the result is too large, so a part of it was omitted"),
]


@pytest.mark.parametrize(("seen", "expected", "message"), OTHER)
def test_another_form_is_named(seen, expected, message):
    found = other_form(seen, expected)
    assert (found.group, found.sentence) == (message, sentence(message))
    assert found.is_none == (" is None" in message)


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
    assert complaint(NotObserved(reason)) == message


def test_an_error_of_the_student_is_diagnosed():
    told = complaint(RequestRaised(ERROR))
    assert told.startswith("In code cell 2, line 7, your code raised RuntimeError: grad can be")
    assert "needs a tensor of one element" in told


@pytest.mark.parametrize("seen", [1, None, [], [{}, {}], {"result": 1}])
def test_records_of_another_number_have_no_form_that_can_be_judged(seen):
    """An answer that does not hold a record for each case fails every check."""
    assert complaint(seen) == "The observations of your function are in a form that cannot be judged."


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (NotObserved("slow"), "could not observe the reference: slow"),
        (RequestRaised(ERROR), "fails on the reference: "),
    ],
)
def test_a_contract_that_fails_on_the_reference_is_the_authors_mistake(expected, words):
    """Without facts of the reference nothing is judged, neither what was expected nor what was seen."""
    observed = observation([{}], expected)
    for look in (lambda: observed.expected, lambda: observed.seen, lambda: observed.cases):
        with pytest.raises(CourseError, match="contract carried ") as caught:
            look()
        assert words in str(caught.value)


def test_another_number_of_cases_of_the_reference_asks_for_another_run():
    with pytest.raises(CourseError, match="has 1 cases, and others were observed"):
        _ = observation([{}], [{}, {}]).cases


def test_a_record_without_a_field_is_refused():
    """What a worker records of the reference under a name that no check can read is the course's mistake."""
    with pytest.raises(CourseError, match="no field 'nodse'"):
        _ = observation([{}], [{"nodse": 3}]).cases
