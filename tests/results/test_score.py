"""What a question earns, from verdicts and points."""

import math
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.contracts.check import Check
from grader.course.rubric import Rubric
from grader.grading.judge import Verdict
from grader.grading.scoring import PartialCredit, earned_by_check
from grader.scores import apportioned, remarks, total


def check(number, points, *, side_effects=False):
    return Check(f"test_{number}", "It holds", None, points, "q1", ("p",), side_effects)


def earns(*triples, partial_credit=0.5):
    """What each check earns: its points, its outcome, and that on the starter code; None is no verdict."""
    checks = [check(number, points) for number, (points, *_) in enumerate(triples)]
    return earned_by_check(checks, *_verdicts(triples, partial_credit))


def _verdicts(triples, partial_credit=0.5):
    by_answer, on_starter_code = (
        {f"test_{number}": Verdict(triple[place]) for number, triple in enumerate(triples) if triple[place]}
        for place in (1, 2)
    )
    return by_answer, PartialCredit(partial_credit, on_starter_code)


@pytest.mark.parametrize(
    ("triples", "points"),
    [
        ([(1, "passed", "failed"), (3, "passed", "failed")], [1, 3]),
        ([(1, "passed", "failed"), (3, "failed", "failed")], [0.5, 0]),
        ([(1, "partly", "failed"), (3, "partly", "failed")], [0.5, 1.5]),
        ([(1, "partly", "failed"), (3, "passed", "failed")], [0.5, 1.5]),
        ([(1, "failed", "failed"), (3, "error", "failed")], [0, 0]),
        ([(1, "passed", "passed"), (3, "partly", "failed")], [0, 1.5]),
        ([(1, "passed", "partly"), (3, "failed", "failed")], [0.5, 0]),
        ([(1, "partly", "partly"), (3, "failed", "failed")], [0, 0]),
        ([(1, "passed", "passed"), (3, "passed", "failed")], [1, 3]),
        ([(1, "passed", None), (3, None, None)], [0.5, 0]),
        ([(5, "skipped", "failed")], [0]),
        ([], []),
    ],
)
def test_partial_credit(triples, points):
    """All passed earns all; otherwise a check that holds, and fails on starter code, earns half."""
    assert earns(*triples) == points


@pytest.mark.parametrize(("other", "points"), [("failed", 0), ("error", 0), ("partly", 0.5), ("passed", 1)])
def test_a_check_of_side_effects_earns_nothing_beside_a_failed_check(other, points):
    """An answer that returns zeros passes it, too."""
    checks = [check(0, 1, side_effects=True), check(1, 3)]
    verdicts, credit = _verdicts([(1, "passed", "failed"), (3, other, "failed")])
    assert earned_by_check(checks, verdicts, credit)[0] == points


@pytest.mark.parametrize(
    ("points", "partial_credit", "score"),
    [(3, 0.7, "2.1"), (7, 0.1, "0.7"), (0.1, 0.3, "0.03"), (11, 0.55, "6.05")],
)
def test_a_part_has_no_digits_without_an_end(points, partial_credit, score):
    assert str(earns((points, "partly", "failed"), partial_credit=partial_credit)[0]) == score


def test_a_rubric_is_worth_what_is_written():
    """The worth of a question is the sum of its checks' points as a person adds them."""
    checks = tuple(check(number, share) for number, share in enumerate(apportioned([2, 3, 3, 3, 3], 3)))
    assert Rubric("01_tiny", Path(), (), checks, {}, {}).max_score("q1") == 3


@pytest.mark.parametrize(
    ("checks", "number"),
    [
        ([("passed", 3.0), ("passed", 1.0)], 0),
        ([("failed", 0.0), ("failed", 0.0)], 0),
        ([("partly", 1.5), ("failed", 0.0)], 1),
        ([("passed", 0.0), ("failed", 0.0)], 1),
        ([("partly", 1.5), ("passed", 0.0), ("failed", 0.0)], 2),
    ],
)
def test_partial_credit_is_explained(checks, number):
    assert len(remarks(checks)) == number


POINTS = st.floats(min_value=1e-3, max_value=1e17) | st.integers(1, 10)
OUTCOMES = st.sampled_from(["passed", "partly", "failed", "error", None])
TRIPLES = st.lists(st.tuples(POINTS, OUTCOMES, OUTCOMES), min_size=1, max_size=6)


@settings(max_examples=200, deadline=None, database=None)
@given(TRIPLES)
@example([(1e17, "passed", None), (0.001, "failed", None)])
def test_never_more_than_half_unless_all_passed(triples):
    worth, score = total(points for points, *_ in triples), total(earns(*triples))
    if all(outcome == "passed" for _, outcome, _ in triples):
        assert score == worth
    else:
        assert 0 <= score <= total([worth / 2]) or math.isclose(score, worth / 2)


@settings(max_examples=100, deadline=None, database=None)
@given(TRIPLES, st.data())
def test_passing_one_more_check_never_costs(triples, data):
    place = data.draw(st.integers(0, len(triples) - 1))
    better = [*triples]
    better[place] = (triples[place][0], "passed", triples[place][2])
    assert total(earns(*better)) >= total(earns(*triples))


@pytest.mark.parametrize(
    ("partial_credit", "score"), [(0, 0), (0.1, 0.7), (0.25, 1.75), (0.5, 3.5), (0.75, 5.25), (1, 7)]
)
def test_partial_credit_is_as_it_is_set(partial_credit, score):
    checks = [(7, "partly", "failed"), (3, "failed", "failed")]
    assert total(earns(*checks, partial_credit=partial_credit)) == score
    assert earns((7, "passed", "failed"), (3, "passed", "failed"), partial_credit=partial_credit) == [7, 3]


@pytest.mark.parametrize(
    ("points", "worth", "shares"),
    [
        ([5, 3], 8, [5, 3]),
        ([5, 3], 10, [6.25, 3.75]),
        ([1, 1, 1], 10, [3.34, 3.33, 3.33]),
        ([2, 1], 1.5, [1, 0.5]),
        ([2, 1], 0.125, [0.083, 0.042]),
        ([1, 999], 1, [0.001, 0.999]),
        ([4], 0.01, [0.01]),
    ],
)
def test_points_are_divided_in_hundredths(points, worth, shares):
    assert apportioned(points, worth) == shares


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.lists(st.sampled_from([0.1, 0.5, 1, 2, 2.5, 3, 4, 5, 10]), min_size=1, max_size=7),
    st.decimals("0.01", "1000", places=2).map(float),
)
@example([3.0, 10.0, 2.0, 5.0, 4.0, 0.5], 44.27)
def test_divided_points_add_up(points, worth):
    shares = apportioned(points, worth)
    assert total(shares) == worth
    assert min(shares) > 0
    assert all(abs(share - p * worth / sum(points)) < 0.0101 for share, p in zip(shares, points, strict=True))
