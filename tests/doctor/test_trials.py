"""Which text of a check file belongs to a question, and which contracts draw the same inputs in every run."""

import pytest
from factories import answer

from grader.course.assignment import Question
from grader.course.rubric import read_rubric
from grader.doctor.trials import fixed_contracts, needed_text
from grader.sandbox.evidence import Answer, Evidence, NotObserved

FILE = '''\
"""A check file."""

import math

from helpers import drawn, other

LIMIT = 3


def plain(x):
    return math.floor(x)


def unused(x):
    return LIMIT


made = contract("make", {"x": own(drawn)})


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
        ("own(drawn)", "own(other)", "test_05.py"),
        ("own(drawn)})", "own(drawn)}, seconds=1)", "test_05.py"),
        ("import math", "import cmath as math", "test_05.py"),
        ("return 7", "return 6", "helpers.py"),
    ],
)
def test_an_edit_of_what_a_check_needs_changes_its_text(text_of, old, new, file):
    """The check, its helpers, its contract, imports, and what the contract takes from the file beside it."""
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
    assert text_of(old, new, file) == text_of()


CONTRACTS = '''\
"""Checks."""

from grader import contract, data, number, own
from grader.inside import inside, nn, torch


@inside
def ones(setup, kind):
    return torch.ones(3)


@inside
def drawn():
    return torch.randn(3)


@inside
def signs(setup, kind):
    return drawn() > 0


@inside
def layer(setup, kind):
    return nn.Linear(2, 3)


constant = contract("double", {"x": own(ones)}, name="constant")
of_numbers = contract("double", {"x": number(1.0, 2.0)}, name="of_numbers")
between = contract("double", {"x": number((1.0, 2.0))}, name="between")
of_data = contract("double", {"x": data("n")}, name="of_data")
by_a_helper = contract("double", {"x": own(signs)}, name="by_a_helper")
by_a_layer = contract("double", {"x": own(layer)}, name="by_a_layer")
'''
CHECK = '''

def test_{name}({name}):
    """It is."""
    assert {name}.seen.entry(), "No."
'''
NAMES = ("constant", "of_numbers", "between", "of_data", "by_a_helper", "by_a_layer")
DOUBLE = Question("q1", "Double", "double", "", "", None)


@pytest.fixture(scope="module")
def rubric(tmp_path_factory):
    path = tmp_path_factory.mktemp("review") / "test_01_reviewed.py"
    path.write_text(CONTRACTS + "".join(CHECK.format(name=name) for name in NAMES), encoding="utf-8")
    return read_rubric(path, (DOUBLE,))


def test_only_a_contract_that_cannot_draw_is_told(rubric):
    """Equal facts of random inputs are no complaint, and neither is a contract that stopped in both runs."""

    def fixed(first, second):
        one, other = (Evidence(answers=dict.fromkeys(rubric.contracts, each)) for each in (first, second))
        return [*fixed_contracts(rubric.contracts, one, other)]

    of_one, of_two = (answer(returned={"value": ["int", n], "tensors": []}) for n in (1, 2))
    line = CONTRACTS[: CONTRACTS.index("constant =")].count("\n") + 1
    constant, numbers = fixed(of_one, of_one)
    assert constant.startswith(f"{rubric.path}, line {line}: contract constant draws nothing at random")
    assert numbers.startswith(f"{rubric.path}, line {line + 1}: contract of_numbers draws nothing at random")
    stopped = Answer.without_observation(NotObserved("no time"))
    assert fixed(of_one, of_two) == fixed(stopped, stopped) == []
