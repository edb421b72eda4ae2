"""The cases of a probe: a failure in the loop over them tells which one it was, and nothing else does."""

import pytest

from grader.checks.cases import Case, cases, cases_in_use, forget_cases
from grader.checks.finding import FailedCheckError
from grader.checks.observation import Observation
from grader.errors import CourseError
from grader.grading.judge import error_of
from grader.sandbox.facts import Raised

OF_ERROR = "What your code returned could not be used as the exercise says: ValueError: no."
STOPPED = Raised(("ValueError", "Exception", "BaseException"), "no", "")


def two(seen):
    """Two cases, of which 1 is right."""
    return Observation("two", seen, {"first": 1, "second": 1})


def told(check, **observations):
    """What a check says, with the case at which it failed; "None" where it passes."""
    error = error_of(check, observations)
    return "".join(f"{case.name}: " for case in cases_in_use()) + str(error)


def in_a_loop(probe):
    for case in cases(probe):
        look_at(case)


def look_at(case):
    if case.seen != case.expected:  # an assert of this file would say more
        raise AssertionError("It is not one.\n\nWhat is it?")


def behind_the_loop(probe):
    for _ in cases(probe):
        pass
    raise AssertionError("Something else.")


def in_a_helper(probe):
    def every():
        for case in cases(probe):
            yield case, "more"

    for case, _ in every():
        look_at(case)


@pytest.mark.parametrize(
    ("check", "seen", "message"),
    [
        (in_a_loop, {"first": 1, "second": 1}, None),
        (in_a_loop, {"first": 2, "second": 2}, "first: It is not one."),
        (in_a_loop, {"first": 1, "second": 2}, "second: It is not one."),
        (in_a_loop, {"first": 1, "second": STOPPED}, f"second: {OF_ERROR}"),
        (
            in_a_loop,
            {"first": 1, "second": "1"},
            "second: What came back is a str, not an int.",
        ),
        (behind_the_loop, {"first": 1, "second": 2}, "Something else."),
        (in_a_helper, {"first": 1, "second": 2}, "second: It is not one."),
    ],
)
def test_a_failure_is_told_with_its_case(check, seen, message):
    """The case that a loop looked at stands before the message, once, whatever helpers there are."""
    assert told(check, probe=two(seen)).startswith(str(message))


def test_cases_of_several_probes():
    """A dict gives named cases, a list nameless ones, and a dict of probes one case for each."""
    listed, one = Observation("listed", [1, 2], [3, 4]), Observation("one", {"a": 5}, {"a": 6})
    found = [(case.name, *case) for case in cases(two({"first": 1, "second": 2}), listed, {"alone": one})]
    assert found == [("first", 1, 1), ("second", 2, 1), ("", 1, 3), ("", 2, 4), ("alone", {"a": 5}, {"a": 6})]


def test_the_cases_of_a_list_are_numbered():
    """Where they are called something, the cases of a list and of one entry have numbers, from 1."""
    one = Observation("one", {"steps": [1, 2]}, {"steps": [3, 4]})
    found = [(case.name, *case) for case in cases(one["steps"], each="Step")]
    assert found == [("Step 1", 1, 3), ("Step 2", 2, 4)]


def test_both_sides_of_an_entry():
    """An observation and a case give what was seen and what is expected of an entry."""
    observation = Observation("one", {"a": {"b": 5}}, {"a": {"b": 6}})
    assert observation["a"] == ({"b": 5}, {"b": 6})
    assert [case["b"] for case in cases(observation)] == [(5, 6)]


def test_an_error_where_one_is_expected_is_a_fact():
    """A case that is expected to raise may be looked at."""
    assert Case("refused", STOPPED, STOPPED).seen is STOPPED
    with pytest.raises(FailedCheckError, match=OF_ERROR):
        _ = Case("refused", STOPPED, 1).seen


def test_what_has_no_cases_is_the_authors_mistake():
    """A probe that returns a number has no cases."""
    with pytest.raises(CourseError, match=r"cases\(\.\.\.\) takes probes that return a dict"):
        list(cases(Observation("one", 1, 1)))


def test_nested_cases_are_told_from_the_outer_one():
    """A loop in a loop names both cases."""
    nested = Observation("nested", {"outer": {"inner": 2}}, {"outer": {"inner": 1}})
    forget_cases()
    with pytest.raises(AssertionError):
        for outer in cases(nested):
            for inner in cases(outer):
                assert inner.seen == inner.expected, "no"
    assert [case.name for case in cases_in_use()] == ["outer", "inner"]


def test_numbered_cases_are_of_one_kind():
    """Who fails at another step made the same mistake; who fails in another named case may not have."""
    numbered = cases(Observation("one", [1, 2], [3, 4]), each="Step")
    assert {case.kind for case in numbered} == {"Step"}
    assert [case.kind for case in cases(two({"first": 1, "second": 2}))] == ["first", "second"]
