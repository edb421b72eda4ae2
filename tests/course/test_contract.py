"""The cases of a contract: which there are follows from the declaration alone."""

from itertools import combinations, product
from pathlib import Path

import pytest
from declaring import declared

from grader import network, number, optimizer, tensor
from grader.course.contract import covered
from grader.course.course import Course
from grader.errors import CourseError

FACTORS = {
    "x.shape": ("n k", "1 k", "0 k"),
    "x.role": ("computed", "leaf", "plain"),
    "x.grad": ("none", "filled"),
    "n.value": (3, 1),
    "call.sequence": ("first", "other"),
}
NEVER = [{"x.role": ("computed", "plain"), "x.grad": "filled"}, {"x.shape": "0 k", "n.value": (1,)}]


def whole(rows, factors=FACTORS):
    base = {key: kinds[0] for key, kinds in factors.items()}
    return [{**base, **row} for row in rows]


def test_the_ordinary_case_comes_first_and_each_kind_alone_next():
    """The first row is empty; each level has a case of it and what it cannot do without; none comes twice."""
    rows = covered(FACTORS, NEVER, FACTORS)
    assert len({tuple(sorted(row.items(), key=str)) for row in rows}) == len(rows)
    assert rows[0] == {}
    unusual = [(key, kind) for key, kinds in FACTORS.items() for kind in kinds[1:]]
    alone = rows[1 : 1 + len(unusual)]
    assert [(key, row[key]) for (key, _), row in zip(unusual, alone, strict=True)] == unusual
    assert [row for row in alone if len(row) > 1] == [{"x.role": "leaf", "x.grad": "filled"}]


@pytest.mark.parametrize("paired", [[*FACTORS], ["x.grad", "n.value"]])
def test_what_is_excluded_is_in_no_case(paired):
    assert not any(is_named_by(case, NEVER) for case in whole(covered(FACTORS, NEVER, paired)))
    assert any(is_named_by(case, NEVER) for case in whole(covered(FACTORS, [], paired)))


def test_only_factors_that_are_named_are_paired():
    rows = covered(FACTORS, NEVER, ["x.shape", "x.role", "x.grad"])
    assert [row for row in rows if "n.value" in row] == [{"n.value": 1}]
    assert any({"x.shape", "x.role"} <= row.keys() for row in rows)


def test_without_gradients_each_kind_comes_once():
    """Under no_grad every kind that goes with ordinary ones is in a case, and there are few such cases."""
    factors = {**FACTORS, "call.mode": ("on", "off")}
    off = [row for row in covered(factors, NEVER, FACTORS) if row.get("call.mode") == "off"]
    unusual = {(key, kind) for key, kinds in FACTORS.items() for kind in kinds[1:]}
    assert unusual - {("x.grad", "filled")} <= {pair for row in off for pair in row.items()}
    assert len(off) <= 4


@pytest.mark.parametrize(
    "never", [[{"x.role": "computed"}], [{"call.mode": "on", "all.dtype": ("float32", "float64")}]]
)
def test_a_contract_whose_ordinary_case_is_excluded_is_refused(never):
    """The author is told which rule excludes the first kinds of all factors, and what to do."""
    with pytest.raises(CourseError, match=r"^contract of f: never=\[.*\] excludes its typical case") as error:
        declared("f", {"x": tensor("n")}, never=never)
    assert "put another level first" in str(error.value)


def test_a_kind_that_comes_in_no_case_is_refused():
    never = [{"x.layout": "gaps"}]
    with pytest.raises(CourseError, match=r"^contract of f: no case has x.layout=gaps, since never="):
        declared("f", {"x": tensor("n")}, never=never)


def test_a_case_is_told_in_a_sentence():
    """Kinds of one argument stand together, those of the call behind them."""
    made = declared("f", {"x": tensor("n k", "1 k"), "n": number(3, 1)})
    told = {frozenset(case.variations.items()): case.sentence() for case in made.declared}
    assert told[frozenset()] == ""
    assert told[frozenset({("x.layout", "transposed")})] == "Where `x` is transposed"
    assert told[frozenset({("call.mode", "off")})] == "Under `no_grad()`"
    both = {("x.role", "leaf"), ("x.grad", "filled")}
    assert told[frozenset(both)] == "Where `x` is a leaf that requires grad and already has a `.grad`"


def test_every_kind_has_words():
    made = declared("f", {"model": network(), "opt": optimizer("model")}, cover=[])
    bare = [case.sentence() for case in made.declared if "has the " in case.sentence()]
    assert bare == []


COURSE = Course.find(Path(__file__).parents[2])


@pytest.mark.parametrize("stem", COURSE.stems)
def test_every_two_levels_that_a_contract_covers_meet(stem):
    """In each contract, two levels of covered factors are in a case together, or the task excludes that."""
    apart = [
        (contract.name, pair)
        for contract in COURSE.contracts(stem)
        for pair in _pairs(contract)
        if not any(pair.items() <= case.items() for case in whole(contract.rows, contract.factors))
        and _is_possible(pair, contract)
    ]
    assert apart == []


def _pairs(contract):
    """Every two levels of two factors that a contract covers."""
    for one, other in combinations(contract.cover, 2):
        for levels in product(contract.factors[one], contract.factors[other]):
            yield dict(zip((one, other), levels, strict=True))


def _is_possible(pair, contract):
    """Whether two levels go together, with at most two variations of other factors."""
    case = {key: levels[0] for key, levels in contract.factors.items()} | pair
    others = [(k, level) for k, levels in contract.factors.items() for level in levels[1:] if k not in pair]
    return any(
        not is_named_by(case | dict(more), contract.never)
        for number in range(3)
        for more in combinations(others, number)
    )


def is_named_by(case, rules):
    as_tuples = [{k: v if isinstance(v, tuple) else (v,) for k, v in rule.items()} for rule in rules]
    return any(all(case.get(key) in levels for key, levels in rule.items()) for rule in as_tuples)


@pytest.mark.parametrize("stem", COURSE.stems)
def test_what_is_frozen_has_a_gradient_in_some_case(stem):
    """In each contract of what may be frozen and may have a .grad, it is and has in one case."""
    apart = [
        (contract.name, name)
        for contract in COURSE.contracts(stem)
        for name in contract.arguments
        if {f"{name}.frozen", f"{name}.grads"}
        <= {key for key, kinds in contract.factors.items() if kinds[1:]}
        if not any({f"{name}.frozen", f"{name}.grads"} <= row.keys() for row in contract.rows)
    ]
    assert apart == []
