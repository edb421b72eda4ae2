"""Every check comes to a verdict on every submission, whatever a worker said about one of them."""

import json
import math
import sys
from dataclasses import replace

import pytest
from factories import answer, in_base64

from grader.contracts.finding import MAX_TEXT
from grader.course.assignment import Question
from grader.course.rubric import read_rubric
from grader.errors import CourseError
from grader.grading.judge import PASSED, judge
from grader.sandbox.evidence import Answer, CellFailure, Evidence, Failure, NotObserved, not_observed
from grader.sandbox.values import Raised, ReturnedNone

CHECKS = '''\
"""Hidden checks."""

from grader import Call, Cases, assert_close, contract, raised

ONCE = Cases(sequences=["first"], modes=["on"], dtypes=["float32"], sizes=["differ"])
VALUES = Call(gradients="none")
trained = contract("train", {}, name="trained", cases=ONCE, call=VALUES)
plain = contract("train", {}, name="plain", cases=ONCE, call=VALUES)


def test_weight(trained):
    """The weight is right."""
    assert_close(trained.seen.entry("w"), trained.expected.entry("w"), "The weight is wrong.")


def test_steps(trained):
    """Every step loses something."""
    before, after = trained.seen.entry("losses")
    assert after < before, f"Step 1 lost nothing: {after} of {before}."


def test_again(trained):
    """A second backward raises."""
    assert raised(trained.seen.entry("again"), RuntimeError), "The second backward did not raise."


def test_plain(plain):
    """It is a number."""
    assert plain.seen.entry() == plain.expected.entry(), "x" * 2000


def test_careless(trained):
    """A check that breaks where its author did not think of something."""
    assert 1 / trained.seen.entry("losses", 0) < 10, "The loss is small."
'''

TENSOR = {
    "kind": "Tensor",
    "dtype": "torch.float32",
    "shape": [1],
    "value": in_base64([2.0]),
    "is_leaf": True,
    **dict.fromkeys(("requires_grad", "retains_grad"), False),
    **dict.fromkeys(("grad_fn", "grad"), None),
    **dict.fromkeys(("version", "identity", "storage"), 0),
}
ERROR = {"types": ["RuntimeError", "Exception"], "text": "backward a second time", "where": ""}
LOSSES = ["list", [["float", 3.0], ["float", 1.0]]]


def observed(value, **said):
    record = ["list", [["dict", [["result", list(value)]]]]]
    return answer(returned={"value": record, "tensors": [TENSOR]}, **said)


def saw(trained, plain=("int", 1)):
    answers = {"trained": observed(trained), "plain": observed(plain)}
    return Evidence(names={"train": "answered"}, answers=answers)


def returned(weight=("tensor", 0), losses=LOSSES, again=("raised", ERROR)):
    return ["dict", [["w", list(weight)], ["losses", losses], ["again", list(again)]]]


RIGHT = saw(returned())


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read checks from a file; were its name test_..., pytest around us would rewrite their asserts."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "hidden_01_judged.py"

    def read(text):
        path.write_text(text)
        return read_rubric(path, (Question("q1", "Train", "train", "def train():\n    pass", "", None),))

    yield read
    del sys.modules["hidden_01_judged"]


@pytest.fixture
def rubric(read):
    return read(CHECKS)


HINTS = '''\
"""Hidden checks."""

from grader import Call, Cases, assert_close, contract

ONCE = Cases(sequences=["first"], modes=["on"], dtypes=["float32"], sizes=["differ"])
VALUES = Call(gradients="none")
trained = contract("train", {}, name="trained", cases=ONCE, call=VALUES)


def is_small(loss):
    assert loss < 10, "The loss is large."


def test_it(trained):
    """It holds.

    What is the loss?
    """
    is_small(trained.seen.entry("losses", 0))
    assert trained.seen.entry("losses", 1) < 10, "The second is large.\\n\\nWhat is the second?"
    assert_close(
        trained.seen.entry("w"),
        trained.expected.entry("w"),
        "The weight is wrong.",
    )
'''


def judge_all(rubric, submissions):
    return {name: judge(rubric, evidence, RIGHT) for name, evidence in submissions.items()}


def with_tensor(tensor):
    record = ["list", [["dict", [["result", returned()]]]]]
    return answer(returned={"value": record, "tensors": [tensor]})


def with_error(error, **said):
    record = ["list", [["dict", [["raised", ["raised", error]]]]]]
    return answer(returned={"value": record, "tensors": []}, **said)


LARGE = [["list", [["float", 11.0], ["float", 1.0]]], ["list", [["float", 1.0], ["float", 11.0]]]]


@pytest.fixture
def hinted(read):
    return read(HINTS)


def told_of(verdict):
    """What a student reads: message and hint."""
    return verdict.message, verdict.finding.hint


OTHER = {**TENSOR, "value": in_base64([2.5])}
IN_A_CELL = {**ERROR, "where": "cell 2, line 3"}
FIRST = "What is the loss?"


@pytest.mark.parametrize(
    ("evidence", "message", "hint"),
    [
        (Evidence(answers={"trained": with_tensor(OTHER)}), "The weight is wrong.", FIRST),
        (saw(returned(losses=LARGE[0])), "The loss is large.", FIRST),
        (saw(returned(losses=LARGE[1])), "The second is large.", "What is the second?"),
        (saw(returned(weight=["none"])), "The weight is wrong (it is None, not ", FIRST),
        (
            Evidence(answers={"trained": answer(raised=IN_A_CELL)}),
            "In code cell 2, line 3, your code raised",
            None,
        ),
        (Evidence(answers={"trained": with_error(ERROR)}), "raised RuntimeError: backward a", None),
        (saw(["int", 1]), "The result has no entry `'losses'`: it is an int.", None),
    ],
)
def test_a_hint_belongs_to_a_failure(hinted, evidence, message, hint):
    """The docstring's is for wrong facts; another failure has its own or none, an error and a form none."""
    told, its_hint = told_of(judge(hinted, evidence, RIGHT)["test_it"])
    assert message in told
    assert its_hint == hint


def test_the_same_mistake_has_the_same_group(hinted):
    losses = [["list", [["float", large], ["float", 1.0]]] for large in (11.0, 12.0)]
    same = [saw(returned(losses=each)) for each in losses]
    shape = Evidence(answers={"trained": with_tensor({**TENSOR, "shape": [1, 1]})})
    others = [saw(returned(losses=LARGE[1])), saw(returned(weight=["none"])), shape]
    groups = [judge(hinted, each, RIGHT)["test_it"].finding.group for each in (*same, *others)]
    assert groups[0] == groups[1]
    assert len({*groups}) == 4


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"value": in_base64([2.5, 3.5]), "shape": [2]}, "its shape is (2,) instead of (1,)"),
        (
            {"value": in_base64([2.5], "d"), "dtype": "torch.float64"},
            "its dtype is torch.float64 instead of torch.float32",
        ),
        ({"value": in_base64([math.nan])}, "it is nan"),
    ],
)
def test_a_hint_about_values_is_not_shown_for_another_form(hinted, other, told):
    tensor = {**TENSOR, **other}
    seen = Evidence(answers={"trained": with_tensor(tensor)})
    verdict = judge(hinted, seen, RIGHT)["test_it"]
    assert told_of(verdict) == (f"The weight is wrong ({told}).", None)


def test_values_that_are_wrong_in_a_second_call_only_have_a_hint_about_the_first(read):
    twice = read(HINTS.replace('sequences=["first"]', 'sequences=["first", "same"]'))
    first, second = (["dict", [["result", returned(losses=LOSSES, weight=["tensor", n])]]] for n in (0, 1))
    wrong = {**TENSOR, "value": in_base64([2.5]), "identity": 1, "storage": 1}
    expected, seen = (
        Evidence(answers={"trained": answer(returned={"value": ["list", cases], "tensors": [TENSOR, wrong]})})
        for cases in ([first, first], [first, second])
    )
    message, hint = told_of(judge(twice, seen, expected)["test_it"])
    assert message == "In a second call with the same arguments: The weight is wrong."
    assert "first call" in hint


NO_RETURN = {"function": "train", "ended": "without a value"}
NOTHING = "`train` returned None: is a return missing?"
OF_NONE = {**ERROR, "types": ["AttributeError"], "text": "'NoneType' object has no attribute 'grad'"}
OWN_LINE = {"where": "cell 2, line 3", "function": "train", "line": "w.grad.zero_()"}


def without_weight(none):
    """The answer about a function that returned None as its weight, or None as a whole."""
    return observed(returned(weight=["none"]), none=none)


@pytest.mark.parametrize(
    ("answered", "none", "reference_none", "told"),
    [
        (without_weight, ["train"], [], NOTHING),
        (without_weight, ["other"], [], "The weight is wrong (it is None"),
        (without_weight, ["train"], ["train"], "The weight is wrong (it is None"),
        (
            lambda none: with_error({**OF_NONE, **OWN_LINE}, none=none),
            ["train"],
            [],
            "In `train` (code cell 2), `w.grad.zero_()` raised",
        ),
        (lambda none: observed(["none"], none=none), ["train"], [], NOTHING),
    ],
)
def test_a_missing_return_is_told(hinted, answered, none, reference_none, told):
    trained = replace(RIGHT.answers["trained"], none=tuple(map(ReturnedNone, reference_none)))
    reference = replace(RIGHT, answers={**RIGHT.answers, "trained": trained})
    records = [{**NO_RETURN, "function": name} for name in none]
    found = judge(hinted, Evidence(answers={"trained": answered(records)}), reference)
    assert found["test_it"].message.startswith(told)


def test_verdicts(rubric):
    """A check passes, fails with its author's message, or breaks and says so without telling why."""
    submissions = {
        "right": RIGHT,
        "wrong": saw(returned(weight=("tensor", 0), again=("none",))),
        "zero": saw(returned(losses=["list", [["float", 0.0], ["float", 0.0]]])),
        "other": saw(returned(), plain=("int", 2)),
        "nothing": Evidence(),
    }
    found = judge_all(rubric, submissions)
    assert found["right"] == dict.fromkeys(
        ["test_weight", "test_steps", "test_again", "test_plain", "test_careless"], PASSED
    )
    assert found["wrong"]["test_weight"] == PASSED
    assert told_of(found["wrong"]["test_again"]) == ("The second backward did not raise.", None)
    assert told_of(found["zero"]["test_steps"]) == ("Step 1 lost nothing: 0.0 of 0.0.", None)
    careless = found["zero"]["test_careless"]
    assert (careless.outcome, careless.finding.kind, careless.finding.hint) == ("error", "broken", None)
    assert careless.message == (
        "this check could not be judged (ZeroDivisionError); your instructor has to look at it"
    )
    assert ", line " in careless.cause.line
    assert careless.cause.message == "ZeroDivisionError: float division by zero"
    assert found["other"]["test_plain"].message == "x" * MAX_TEXT
    assert found["other"]["test_weight"] == PASSED
    for verdict in found["nothing"].values():
        assert (verdict.message, verdict.ending) == ("This part was not reached.", "fault")
        assert verdict.finding.failure is Failure.NOT_REACHED


def test_what_stopped_before_a_check_could_judge_is_told(rubric):
    """The error of a call, a contract or a cell, or a process's end; none if a check judged an error."""

    def ended(failure, **how):
        return trained(Answer.without_observation(not_observed(failure, **how)))

    def trained(answered):
        return Evidence(answers={"trained": answered})

    cell = CellFailure(2, Raised(("NameError",), "backward a second time", ""), None)
    for evidence, ending, failure in (
        (saw(returned(again=["none"])), "", None),
        (trained(answer(raised=ERROR)), "RuntimeError", None),
        (trained(with_error(ERROR)), "RuntimeError", None),
        (Evidence(cells=[cell]), "NameError", Failure.NOT_REACHED),
        (ended(Failure.TIMEOUT, seconds=10), "timeout", Failure.TIMEOUT),
        (ended(Failure.QUESTION_OVER), "timeout", Failure.QUESTION_OVER),
        (ended(Failure.CLOSED), "fault", Failure.CLOSED),
        (saw(["int", 1]), "", None),
    ):
        verdict = judge(rubric, evidence, RIGHT)["test_again"]
        assert (verdict.outcome, verdict.ending, verdict.finding.failure) == ("failed", ending, failure)


STRANGE = [
    *(["none"], ["int", 3], ["other", "dict"], ["raised", ERROR], ["list", []], ["dict", []]),
    *(returned(weight=weight) for weight in (["other", "Tensor"], ["none"], ["raised", ERROR])),
    *(returned(losses=losses) for losses in (["other", "list"], ["none"], ["list", []], ["raised", ERROR])),
    returned(losses=["list", [["none"], ["none"]]]),
    returned(losses=["list", [["str", "3"], ["int", 1]]]),
    returned(losses=["dict", []]),
    returned(losses=["list", [["float", float("nan")], ["float", float("inf")]]]),
    *(returned(again=again) for again in (["other", "Raised"], ["str", "RuntimeError"])),
]


def test_whatever_is_reported_is_judged(rubric):
    """Strange facts fail their own checks, in words about their form, and cost no other student anything."""
    submissions = {json.dumps(value): saw(value) for value in STRANGE}
    found = judge_all(rubric, {**submissions, "right": RIGHT})
    for name, verdicts in found.items():
        assert len(verdicts) == len(rubric.checks), name
        failed = [verdict for verdict in verdicts.values() if verdict.outcome != "passed"]
        assert bool(failed) == (name != "right")
        assert all(verdict.outcome == "failed" and verdict.message for verdict in failed), name


LOST = Answer.without_observation(NotObserved("it was too slow"))


@pytest.mark.parametrize(
    ("answered", "words"),
    [
        (LOST, "contract trained could not observe the reference: it was too slow"),
        (answer(raised=ERROR), "trained fails on the reference with RuntimeError: backward a second time"),
    ],
)
def test_a_reference_without_facts_judges_nobody(rubric, answered, words):
    reference = replace(RIGHT, answers={**RIGHT.answers, "trained": answered})
    with pytest.raises(CourseError) as caught:
        judge(rubric, RIGHT, reference)
    assert str(rubric.path) in str(caught.value)
    assert words in str(caught.value)


def test_a_file_that_pytest_cannot_read_judges_nobody(rubric):
    del sys.modules["hidden_01_judged"]
    rubric.path.write_text("raise RuntimeError('gone')\n")
    with pytest.raises(CourseError, match="gone") as caught:
        judge(rubric, RIGHT, RIGHT)
    assert str(rubric.path) in str(caught.value)
    sys.modules["hidden_01_judged"] = sys.modules[__name__]
