"""Which text of a check file belongs to a question, and which probes look at the same in every run."""

import pytest
from factories import answer

from grader.course.assignment import Question
from grader.course.rubric import read_rubric
from grader.doctor.trials import fixed_probes, needed_text
from grader.sandbox.evidence import Answer, Evidence, NoFacts

FILE = '''\
"""A check file."""

import math

from helpers import drawn, other

LIMIT = 3


def plain(x):
    return math.floor(x)


def unused(x):
    return LIMIT


@probe
def made(student):
    return drawn(student)


def test_first(made):
    """One."""
    assert plain(made), "no"


def test_second(seen):
    """Two."""
    assert unused(seen), "no"
'''
HELPERS = "def size():\n    return 7\n\n\ndef drawn(x):\n    return size()\n\n\ndef other(x):\n    return 8\n"


@pytest.fixture
def text_of(tmp_path):
    """The text that test_first needs after some text was replaced by another."""

    def text(old="", new="", file="test_05.py"):
        path = tmp_path / "test_05.py"
        path.write_text(FILE)
        (tmp_path / "helpers.py").write_text(HELPERS)
        edited = tmp_path / file
        before = edited.read_text()
        assert old in before
        edited.write_text(before.replace(old, new) if old else before)
        return needed_text(path, ["test_first"])

    return text


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("One.", "First.", "test_05.py"),
        ("math.floor", "math.ceil", "test_05.py"),
        ("drawn(student)", "drawn(1)", "test_05.py"),
        ("@probe\n", "@probe(seconds=1)\n", "test_05.py"),
        ("import math", "import cmath as math", "test_05.py"),
        ("return 7", "return 6", "helpers.py"),
    ],
)
def test_an_edit_of_what_a_check_needs_changes_its_text(text_of, old, new, file):
    """The check, its helpers, its probe, imports, and what the probe takes from the file beside it."""
    assert text_of(old, new, file) != text_of()


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("Two.", "Second.", "test_05.py"),
        ("LIMIT = 3", "LIMIT = 4", "test_05.py"),
        ("return 8", "return 9", "helpers.py"),
        ("LIMIT = 3", "LIMIT = 3\n\n", "test_05.py"),
    ],
)
def test_an_edit_of_anything_else_does_not(text_of, old, new, file):
    """Another check, what only that needs, and lines that move."""
    assert text_of(old, new, file) == text_of()


# --- probes that draw nothing

PROBES = '''\
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
DOUBLE = Question("q1", "Double", "double", "", "", None)


@pytest.fixture(scope="module")
def rubric(tmp_path_factory):
    path = tmp_path_factory.mktemp("review") / "test_01_reviewed.py"
    path.write_text(PROBES, encoding="utf-8")
    return read_rubric(path, (DOUBLE,))


def evidence(**values):
    """Evidence of probes that returned whole numbers."""
    facts = {name: {"value": ["int", value], "tensors": []} for name, value in values.items()}
    return Evidence(probes={name: answer(facts=seen) for name, seen in facts.items()})


def test_only_a_probe_that_cannot_draw_is_told(rubric):
    """What counts has equal facts of random inputs; only what draws nothing, and does not say so, is told."""
    same = evidence(**dict.fromkeys(rubric.probes, 1))
    (told,) = fixed_probes(rubric.probes, same, same)
    line = PROBES[: PROBES.index("def constant")].count("\n") + 1
    assert told.startswith(f"{rubric.path}, line {line}: probe constant draws nothing at random")
    assert list(fixed_probes(rubric.probes, same, evidence(**dict.fromkeys(rubric.probes, 2)))) == []


def test_what_stopped_in_both_runs_is_no_equal_fact(rubric):
    """Another complaint tells of it."""
    stopped = Evidence(probes=dict.fromkeys(rubric.probes, Answer.without_facts(NoFacts("no time"))))
    assert list(fixed_probes(rubric.probes, stopped, stopped)) == []
