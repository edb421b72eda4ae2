"""What a question earns, from verdicts and points."""

import math
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.contracts.check import Check
from grader.course.rubric import Rubric
from grader.grading.judge import Verdict
from grader.grading.scoring import PartialCredit, earned, earned_by_check
from grader.scores import apportioned, is_capped, remarks, total


def check(number, points):
    return Check(
        id=f"test_{number}", title="It holds", hint=None, points=points, question="q1", probes=("p",)
    )


def earns(*pairs, partial_credit=0.5, free=(), by_check=False):
    """What checks of these points with these outcomes earn; an outcome of None is no verdict.

    Those whose numbers are in `free` pass on the stub, too.
    """
    checks = [check(number, points) for number, (points, _) in enumerate(pairs)]
    outcomes = {f"test_{number}": outcome for number, (_, outcome) in enumerate(pairs)}
    verdicts = {name: Verdict(said) for name, said in outcomes.items() if said}
    on_stubs = {f"test_{number}": Verdict("passed") for number in free}
    credit = PartialCredit.of(partial_credit, checks, on_stubs)
    return (earned_by_check if by_check else earned)(checks, verdicts, credit)


@pytest.mark.parametrize(
    ("pairs", "score"),
    [
        ([(1, "passed"), (3, "passed")], 4),
        ([(1, "passed"), (3, "failed")], 1),
        ([(3, "passed"), (1, "failed")], 2),
        ([(2, "passed"), (2, "failed")], 2),
        ([(1, "failed"), (3, "failed")], 0),
        ([(3, "passed"), (1, "error")], 2),
        ([(3, "passed"), (1, None)], 2),
        ([(0.5, "passed"), (0.25, "passed"), (3, "failed")], 0.75),
        ([(5, "passed")], 5),
        ([(5, "failed")], 0),
        ([(5, None)], 0),
        ([(5, "skipped")], 0),
        ([], 0),
        ([(1e16, "passed"), (1, "failed")], 5e15),
    ],
)
def test_partial_credit(pairs, score):
    """All passed earns everything; else the passed checks count, up to half of the question."""
    assert earns(*pairs) == score


@pytest.mark.parametrize(
    ("pairs", "free", "shares"),
    [
        ([(1, "passed"), (2, "passed"), (3, "failed")], [0], [0, 2, 0]),
        ([(1, "passed"), (2, "passed"), (3, "failed")], [0, 1], [0, 0, 0]),
        ([(1, "passed"), (2, "passed"), (3, "failed")], [2], [1, 2, 0]),
        ([(1, "failed"), (2, "passed"), (3, "failed")], [0], [0, 2, 0]),
        ([(1, "passed"), (2, "passed"), (3, "passed")], [0, 1], [1, 2, 3]),
    ],
)
def test_what_the_stub_passes_gives_no_partial_credit(pairs, free, shares):
    """A check that passes before anything is written earns its points only with all the others."""
    assert earns(*pairs, free=free, by_check=True) == shares
    assert earns(*pairs, free=free) == sum(shares)


@pytest.mark.parametrize(
    ("worth", "partial_credit", "score"),
    [(3, 0.7, "2.1"), (7, 0.1, "0.7"), (0.1, 0.3, "0.03"), (11, 0.55, "6.05")],
)
def test_a_cap_has_no_digits_without_an_end(worth, partial_credit, score):
    """A part of the points is written as a person would write it."""
    assert str(earns((worth - 0.01, "passed"), (0.01, "failed"), partial_credit=partial_credit)) == score


def test_points_that_add_up_with_noise_are_no_cap():
    """A student who passed everything earned everything, whatever binary fractions make of the sum."""
    shares = apportioned([2, 3, 3, 3, 3], 3)
    assert sum(shares) > 3
    assert not is_capped(earns(*((share, "passed") for share in shares)), shares)
    assert is_capped(1.5, [1.5, 0.01])


def test_a_rubric_is_worth_what_is_written():
    """The worth of a question is the sum of its checks' points as a person adds them."""
    checks = tuple(check(number, share) for number, share in enumerate(apportioned([2, 3, 3, 3, 3], 3)))
    assert Rubric("01_tiny", Path(), (), checks, {}, {}).max_score("q1") == 3


@pytest.mark.parametrize(
    ("score", "told"), [(2.0, "at most half of its points."), (1.2, "at most 1.2 of its 4 points.")]
)
def test_a_cap_is_told_as_it_was_applied(score, told):
    """Half in a word, anything else in figures."""
    checks = [("passed", 3.0), ("failed", 0.0)]
    assert remarks(score, 4.0, checks) == [f"A question of which a check fails earns {told}"]


@pytest.mark.parametrize(
    ("score", "checks", "is_told"),
    [
        (1.0, [("passed", 0.0), ("passed", 1.0), ("failed", 0.0)], True),
        (1.0, [("passed", 1.0), ("failed", 0.0)], False),
        (4.0, [("passed", 3.0), ("passed", 1.0)], False),
    ],
)
def test_a_check_that_passed_for_nothing_is_explained(score, checks, is_told):
    """Where a check passed and earned nothing, one sentence says why, and nowhere else."""
    said = ["A check that the untouched function passes too earns nothing while another check fails."]
    assert remarks(score, 4.0, checks) == (said if is_told else [])


POINTS = st.floats(min_value=1e-3, max_value=1e17) | st.integers(1, 10)
OUTCOMES = st.sampled_from(["passed", "passed", "failed", "error", None])


@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(st.tuples(POINTS, OUTCOMES), min_size=1, max_size=6))
@example([(1e17, "passed"), (0.001, "failed")])
def test_never_more_than_half_unless_all_passed(pairs):
    """More than half is earned only when every check passed, and then it is everything."""
    worth, score = total(points for points, _ in pairs), earns(*pairs)
    half = total([worth / 2])
    if all(outcome == "passed" for _, outcome in pairs):
        assert score == worth
    else:
        assert 0 <= score <= half
        passed = sum(points for points, outcome in pairs if outcome == "passed")
        assert score == half or math.isclose(score, passed)


@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(st.tuples(POINTS, OUTCOMES), min_size=1, max_size=6), st.data())
def test_passing_one_more_check_never_costs(pairs, data):
    """A check that passes after all never lowers the score."""
    place = data.draw(st.integers(0, len(pairs) - 1))
    better = [*pairs]
    better[place] = (pairs[place][0], "passed")
    assert earns(*better) >= earns(*pairs)


@pytest.mark.parametrize(
    ("partial_credit", "score"), [(0, 0), (0.1, 1), (0.25, 2.5), (0.5, 5), (0.75, 7), (1, 7)]
)
def test_partial_credit_is_as_it_is_set(partial_credit, score):
    """Where a check fails, the others earn their points, up to the part of the question that is set."""
    assert earns((7, "passed"), (3, "failed"), partial_credit=partial_credit) == score
    assert earns((7, "passed"), (3, "passed"), partial_credit=partial_credit) == 10


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
    """What a question is worth is divided among its checks by their points, without digits without an end."""
    assert apportioned(points, worth) == shares


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.lists(st.sampled_from([0.1, 0.5, 1, 2, 2.5, 3, 4, 5, 10]), min_size=1, max_size=7),
    st.decimals("0.01", "1000", places=2).map(float),
)
@example([3.0, 10.0, 2.0, 5.0, 4.0, 0.5], 44.27)
def test_divided_points_add_up(points, worth):
    """The checks of a question are worth exactly what it is worth, and each is worth something."""
    shares = apportioned(points, worth)
    assert total(shares) == worth
    assert min(shares) > 0
    assert all(abs(share - p * worth / sum(points)) < 0.0101 for share, p in zip(shares, points, strict=True))
