"""Stubs that are answers, or do not run, and probes that look at the same in every run."""

from pathlib import Path

import pytest
from factories import answer

from grader.checks.check import Check
from grader.checks.finding import Finding
from grader.course.assignment import Place, Question
from grader.course.rubric import read_rubric
from grader.doctor.question_review import fixed_probes, stub_complaints, unchanging_probes
from grader.grading.judge import Verdict
from grader.sandbox.evidence import Answer, Evidence, NoFacts

TEXT = '''\
"""Checks."""

from grader import probe
from grader.inside import inside, nn, torch, vjp


@inside
def drawn():
    return torch.randn(3)


@inside
def layer():
    return nn.Linear(2, 3)


@probe
def constant(student):
    return student.double(torch.ones(3))


@probe(fixed=True)
def meant(student):
    return student.double(torch.ones(3))


@probe
def by_a_helper(student):
    return student.double(drawn()).is_leaf


@probe
def by_a_layer(student):
    return student.double(layer()(torch.ones(2))).is_leaf


@probe
def by_a_cotangent(student):
    x = torch.ones(3, requires_grad=True)
    return vjp(student.double(x), x)[0] is None


def test_all(constant, meant, by_a_helper, by_a_layer, by_a_cotangent):
    """All."""
    assert constant.seen, "No."
'''
DOUBLE = Question("q1", "Double", "double", "", "", None, place=Place(Path("01_tiny.py"), 7, "q1"))
CHECKS = [
    Check("test_one", "One", None, 1.0, "q1", ("constant",)),
    Check("test_two", "Two", None, 1.0, "q1", ()),
]


@pytest.fixture(scope="module")
def rubric(tmp_path_factory):
    path = tmp_path_factory.mktemp("review") / "test_01_reviewed.py"
    path.write_text(TEXT, encoding="utf-8")
    return read_rubric(path, (DOUBLE,))


def evidence(**values):
    """Evidence of probes that returned whole numbers."""
    facts = {name: {"value": ["int", value], "tensors": []} for name, value in values.items()}
    return Evidence(probes={name: answer(facts=seen) for name, seen in facts.items()})


def test_equal_facts_of_two_runs_are_noticed():
    """A probe is unchanging if it has facts, and the same, in both."""
    stopped = {"stopped": Answer.without_facts(NoFacts("no time"))}
    one, other = evidence(same=1, other=2, gone=3), evidence(same=1, other=3)
    one.probes.update(stopped)
    other.probes.update(stopped)
    assert unchanging_probes(one, other) == ["same"]


def test_only_a_probe_that_cannot_draw_is_told(rubric):
    """What counts has equal facts of random inputs; only what draws nothing, and does not say so, is told."""
    same = evidence(**dict.fromkeys(rubric.probes, 1))
    (told,) = fixed_probes(rubric.probes, same, same)
    line = TEXT[: TEXT.index("def constant")].count("\n") + 1
    assert told.startswith(f"{rubric.path}, line {line}: probe constant draws nothing at random")
    assert list(fixed_probes(rubric.probes, same, evidence(**dict.fromkeys(rubric.probes, 2)))) == []


def judged(*outcomes, error=""):
    finding = Finding("unobserved" if error else "wrong", "Told.", error=error)
    return {c.id: Verdict(outcome, finding) for c, outcome in zip(CHECKS, outcomes, strict=True)}


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (
            judged("passed", "passed"),
            ["01_tiny.py, line 7, q1: the stub answers the question already: it pas"],
        ),
        (
            judged("failed", "failed", error="NameError"),
            ["01_tiny.py, line 7, q1: the stub does not run: Told."],
        ),
        (judged("failed", "passed"), []),
        (judged("failed", "failed"), []),
        (judged("failed", "failed", error="RuntimeError"), []),
    ],
)
def test_a_stub_runs_and_is_wrong(verdicts, said):
    """One that stops with an error of torch's may be what the question is about."""
    told = list(stub_complaints(DOUBLE, CHECKS, verdicts))
    assert [sentence[: len(start)] for sentence, start in zip(told, said, strict=True)] == said
