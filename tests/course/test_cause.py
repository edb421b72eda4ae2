"""A check that breaks tells its author what there is where it asked for something else."""

import importlib.util
import itertools
import sys

import pytest

from grader.contracts.cases import Case, DeclaredCase, Rules
from grader.course.cause import cause_of
from grader.sandbox.values import Other, Raised, Tensor

W = Tensor("Tensor", "torch.float32", (2,), (1.0, 2.0), True, True, None, False, 0, 0, 0, None)
ERROR = Raised(("RuntimeError", "Exception"), "no", "")
FACTS = {"penalty": W, "gradients": None, "steps": [W, W], "raised": ERROR, "made": Other("Net"), "loss": 1.5}

MANY = {f"layer {number}": W for number in range(20)}

CHECKS = {
    'facts["gradient"]': "KeyError: 'gradient'; facts has penalty, gradients, steps, raised",
    "facts.penalty": "has no attribute 'penalty'; facts is a dict: write facts['penalty']",
    "facts.gradient": "has no attribute 'gradient'; facts has penalty, gradients, steps,",
    'many["layer 99"]': "KeyError: 'layer 99'; many has 20 entries, did you mean layer 9, ",
    'facts["penalty"].isleaf': "facts['penalty'] is a tensor, did you mean is_leaf?",
    'facts["penalty"][0]': "facts['penalty'] is a tensor, whose numbers are in facts",
    'facts["penalty"] < 2': "facts['penalty'] is a tensor, whose numbers are in facts",
    'len(facts["penalty"])': "facts['penalty'] is a tensor, whose numbers are in facts",
    'facts["gradients"].value': "facts['gradients'] is None here: assert first that it is not",
    'facts["gradients"]["w"]': "facts['gradients'] is None here",
    '2 * facts["gradients"]': "facts['gradients'] is None here",
    'list(facts["gradients"])': "facts['gradients'] is None here",
    '[t for t in facts["gradients"]]': "facts['gradients'] is None here",
    'facts["steps"][2]': "IndexError: list index out of range; facts['steps'] is a list of 2",
    'facts["steps"]["w"]': "facts['steps'] is a list of 2",
    'facts["raised"].value': "facts['raised'] is an error that attempt caught, a RuntimeError",
    'facts["made"].weight': "facts['made'] is an object of the class Net, which has no observations",
    'first, second, third = facts["steps"]': "(expected 3, got 2); facts['steps'] is a list of 2",
    "penalty = case.sean": "has no attribute 'sean'; case has seen and expected",
    "cases.seen": "NameError: name 'cases' is not defined; did you mean case",
    "from grader import asert_close": "did you mean assert_close",
}


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What an author is told of a line of a check."""
    numbers = itertools.count()

    def cause(line):
        name = f"check_{next(numbers)}"
        path = tmp_path / f"{name}.py"
        path.write_text(f"def check(case, facts, many):\n    {line}\n", encoding="utf-8")
        specification = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(specification)
        monkeypatch.setitem(sys.modules, name, module)
        specification.loader.exec_module(module)
        with pytest.raises(Exception) as caught:
            module.check(Case("f", DeclaredCase({}, {}), Rules(), (), {}, {}), FACTS, MANY)
        said = str(cause_of(caught.value, tmp_path))
        assert said.startswith(f"{path}, line 2: ")
        return said

    return cause


@pytest.mark.parametrize("line", CHECKS)
def test_what_is_there_is_told(told, line):
    assert CHECKS[line] in told(line)


@pytest.mark.parametrize(
    "line",
    ['{}["a"]', "1 / 0", "undefined", 'next(iter([facts]))["x"]', 'facts["loss"] + "text"', 'int("one")'],
)
def test_where_nothing_is_known_nothing_is_added(told, line):
    """What would have to be computed again, or is no fact, is told as Python tells it."""
    assert ";" not in told(line)
