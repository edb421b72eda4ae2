"""A probe with `cases=` is called once for each case, and its facts are a dict by the names of the cases."""

import sys

import pytest
from click.testing import CliRunner
from tiny_course import CHECKS, write_course

from grader.cli import main
from grader.course.course import Course, observe_reference
from grader.doctor.trials import fixed_probes
from grader.grading.broken_probe import broken_probes
from grader.sandbox.facts import Raised

PROBES = """

@inside
def drawn(number):
    return torch.randn(number)


@inside
def few_and_many():
    return {"With few": (drawn(2), 1), "With many": (drawn(5), 0)}


@inside
def thrice(x):
    return 3 * x


@probe(cases=few_and_many)
def scaled(student, x, factor):
    print("one case")
    return {"x": x, "y": student.double(x * factor)}


@probe(cases=few_and_many, oracle=thrice)
def replaced(student, x, _):
    return {"x": x, "y": student.double(x)}


@probe(cases=few_and_many)
def stopped(student, x, _):
    return student.double(x) + torch.ones(2)  # stops


def test_all(scaled, replaced, stopped):
    \"\"\"All of them.\"\"\"
    assert scaled.seen, "No."
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = write_course(tmp_path_factory.mktemp("cases") / "course")
    text = CHECKS.replace("import torch\n", "import inside, torch\n")
    (root / "tests" / "hidden" / "test_01_tiny.py").write_text(text + PROBES, encoding="utf-8")
    sys.modules.pop("test_01_tiny", None)
    return Course.find(root)


@pytest.fixture(scope="module")
def reference(course, zygote):
    return observe_reference(zygote, course, "01_tiny", 1)


def factors(facts):
    """By how much each case was scaled."""
    return {
        name: [y / x for x, y in zip(*(fact[key].value for key in "xy"), strict=True)]
        for name, fact in facts.items()
    }


def test_a_probe_is_called_once_for_each_case(reference):
    """The facts of each case stand under its name, made of its own arguments."""
    assert factors(reference.outcome("scaled")) == {"With few": [2.0] * 2, "With many": [0.0] * 5}


def test_an_oracle_answers_every_case(reference):
    """Where an oracle takes the answer's place, it does so in each case."""
    found = factors(reference.outcome("replaced"))
    assert found == {"With few": pytest.approx([3] * 2), "With many": pytest.approx([3] * 5)}


def test_an_error_belongs_to_its_case(reference):
    """What one case raises is the fact of this case, and the others have theirs."""
    found = reference.outcome("stopped")
    assert len(found["With few"].value) == 2
    assert isinstance(found["With many"], Raised)


def test_a_case_in_which_the_reference_stops_is_told(course, reference):
    """The author reads the line of the probe and the case; a case that stops is no fact to be compared."""
    rubric = course.rubric("01_tiny")
    line = (
        rubric.path.read_text(encoding="utf-8")
        .splitlines()
        .index("    return student.double(x) + torch.ones(2)  # stops")
    )
    (told,) = broken_probes(rubric.probes, reference)
    assert told.startswith(f"{rubric.path}, line {line + 1}: probe stopped fails on the reference with Runt")
    assert told.endswith("(case 'With many')")


def test_what_makes_the_cases_may_draw(course, reference):
    """A probe of which only the cases are random does not count as one that draws nothing."""
    assert list(fixed_probes(course.rubric("01_tiny").probes, reference, reference)) == []


def test_try_shows_the_cases(course, monkeypatch):
    """`grader try` shows the facts of every case, and what the probe prints in each."""
    monkeypatch.chdir(course.root)
    run = CliRunner().invoke(main, ["try", "01_tiny", "scaled", "--answer", "squared"])
    assert run.exit_code == 0, run.output
    assert run.output.count("one case") == 2
    assert "With many" in run.output
