"""No right answer loses by luck: whatever is drawn, arithmetic in another order earns the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.course import Course
from grader.course.rubric import REFERENCE_LIMITS
from grader.grading.judge import judge
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe, observe_with_sensitivity

COURSE = Course.find(Path(__file__).parents[2]).with_only("06_views")
CELL = "import torch\ndef drop_attention(scores, drop):\n    {}"

#: A gradient of softmax is small where it cancels: then the last places of its terms are its first.
RIGHT = {
    "a quotient": "e = scores.exp(); return (e / e.sum(-1, keepdim=True)).masked_fill(drop, 0.0)",
    "a shifted quotient": (
        "e = (scores - scores.amax(-1, keepdim=True)).exp();"
        " return torch.where(drop, 0.0, e / e.sum(-1, keepdim=True))"
    ),
    "a logarithm": "return (scores - scores.logsumexp(-1, keepdim=True)).exp() * ~drop",
    "the largest last": "return scores.flip(-1).log_softmax(-1).exp().flip(-1).masked_fill(drop, 0.0)",
}
#: Wrong by a thousandth: no rounding makes that.
WRONG = {
    "longer": "return scores.softmax(-1).masked_fill(drop, 0.0) * 1.001",
    "sharper": "return (scores * 1.001).softmax(-1).masked_fill(drop, 0.0)",
    "leaking": "return torch.where(drop, 0.0, scores.softmax(-1) + 1e-3 * scores.detach())",
}
SEEDS = [1]  # with which right answers would fail, if tolerances did not follow the reference
MANY = range(200)


def observe_expected(zygote, seed):
    """The reference's evidence of the question, with how sensitive its facts are to rounding."""
    plan = COURSE.rubric("06_views").plan(seed, only="q5", expected=True).without_pictures()
    cells = cells_of(COURSE.assignment("06_views").reference)

    def seen(plan):
        return observe(zygote, cells, plan, REFERENCE_LIMITS)

    return observe_with_sensitivity(seen, plan)


def failed(zygote, seed, reference, answers):
    """The names of the answers that fail a check on the inputs of a seed."""
    rubric = COURSE.rubric("06_views").with_only(["q5"])
    plan, limits = rubric.plan(seed, only="q5").without_pictures(), COURSE.settings.limits
    cells = {name: cells_of([CELL.format(body)]) for name, body in answers.items()}
    seen = {name: observe(zygote, of_name, plan, limits) for name, of_name in cells.items()}
    verdicts = {name: judge(rubric, of_name, reference) for name, of_name in seen.items()}
    return {n for n, of_n in verdicts.items() if any(v.outcome != "passed" for v in of_n.values())}


def without_sensitivity(reference: Evidence) -> Evidence:
    """The reference as if it had been observed once."""
    came = {name: answer for name, answer in reference.answers.items() if " (perturbed " not in name}
    return Evidence.from_json(replace(reference, answers=came).to_json())


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(MANY, marks=pytest.mark.long)], ids=["few", "many"])
def test_another_order_of_operations_is_as_right_with_every_seed(seeds, zygote):
    """Right answers pass on all inputs, and on the same inputs answers that are nearly right fail."""
    for seed in seeds:
        reference = observe_expected(zygote, seed)
        assert failed(zygote, seed, reference, RIGHT | WRONG) == {*WRONG}, seed


def test_without_sensitivity_right_answers_would_fail(zygote):
    """The cases are hard enough; and perturbation changes tolerances, no fact."""
    for seed in SEEDS:
        reference = observe_expected(zygote, seed)
        still = without_sensitivity(reference)
        assert failed(zygote, seed, still, RIGHT)
        contracts = COURSE.rubric("06_views").with_only(["q5"]).contracts
        assert all(repr_of(reference.outcome(name)) == repr_of(still.outcome(name)) for name in contracts)


def test_only_an_answer_that_is_nearly_right_asks_how_exact_the_reference_is(zygote):
    """By the reference as it was seen once, all answers earn what they earn by the measured one."""
    rubric = COURSE.rubric("06_views").with_only(["q5"])
    plan = rubric.plan(1, only="q5").without_pictures()
    measured = observe_expected(zygote, 1)
    right = "return scores.softmax(-1).masked_fill(drop, 0.0)"
    clear = {"the reference": right, "nothing": "return None", "an error": "return scores.nonsense()"}
    asked, passing = set(), set()
    for name, body in (RIGHT | WRONG | clear).items():
        seen = observe(zygote, cells_of([CELL.format(body)]), plan, COURSE.settings.limits)

        def how_exact(questions, name=name):
            assert questions == {"q5"}
            asked.add(name)
            return measured

        verdicts = judge(rubric, seen, without_sensitivity(measured), measure=how_exact)
        assert verdicts == judge(rubric, seen, measured), name
        passing |= {name} if all(verdict.outcome == "passed" for verdict in verdicts.values()) else set()
    assert passing == {*RIGHT, "the reference"}
    assert not asked & clear.keys()
    assert asked & RIGHT.keys() and asked & WRONG.keys()


def repr_of(fact):
    """A fact in a text, without its sensitivity."""
    if isinstance(fact, dict):
        return {name: repr_of(part) for name, part in fact.items()}
    if isinstance(fact, list | tuple):
        return [repr_of(part) for part in fact]
    return repr(replace(fact, sensitivity=0.0, grad=None) if hasattr(fact, "storage") else fact)
