"""A check that breaks tells its author what there is where it asked for something else."""

import importlib.util
import itertools
import sys

import pytest

from grader.contracts.observation import ProbeObservation
from grader.course.cause import cause_of
from grader.sandbox.facts import Other, Raised, Tensor

W = Tensor("Tensor", "torch.float32", (2,), (1.0, 2.0), True, True, None, False, 0, 0, 0, None)
ERROR = Raised(("RuntimeError", "Exception"), "no", "")
FACTS = {"penalty": W, "gradients": None, "steps": [W, W], "raised": ERROR, "made": Other("Net"), "loss": 1.5}

MANY = {f"layer {number}": W for number in range(20)}

CHECKS = {
    'both.seen["gradient"]': "KeyError: 'gradient'; both.seen has penalty, gradients, steps, raised",
    'both["gradient"]': "KeyError: 'gradient'; both has penalty, gradients, steps, raised, made, loss",
    "both.seen.penalty": "has no attribute 'penalty'; both.seen is a dict: write both.seen['penalty']",
    "both.seen.gradient": "has no attribute 'gradient'; both.seen has penalty, gradients, steps,",
    'many.seen["layer 99"]': "KeyError: 'layer 99'; many.seen has 20 entries, did you mean layer 9, ",
    'both.seen["penalty"].isleaf': "both.seen['penalty'] is a tensor, did you mean is_leaf?",
    'both.seen["penalty"][0]': "both.seen['penalty'] is a tensor, whose numbers stand in both.seen",
    'both.seen["penalty"] < 2': "both.seen['penalty'] is a tensor, whose numbers stand in both.seen",
    'len(both.seen["penalty"])': "both.seen['penalty'] is a tensor, whose numbers stand in both.seen",
    'both.seen["gradients"].value': "both.seen['gradients'] is None here: assert first that it is not",
    'both.seen["gradients"]["w"]': "both.seen['gradients'] is None here",
    '2 * both.seen["gradients"]': "both.seen['gradients'] is None here",
    'list(both.seen["gradients"])': "both.seen['gradients'] is None here",
    '[t for t in both.seen["gradients"]]': "both.seen['gradients'] is None here",
    'both.seen["steps"][2]': "IndexError: list index out of range; both.seen['steps'] is a list of 2",
    'both.seen["steps"]["w"]': "both.seen['steps'] is a list of 2",
    'both.seen["raised"].value': "both.seen['raised'] is an error that attempt caught, a RuntimeError",
    'both.seen["made"].weight': "both.seen['made'] is an object of the class Net, of which no facts are",
    'first, second, third = both.seen["steps"]': "(expected 3, got 2); both.seen['steps'] is a list of 2",
    "penalty = both.sean": "has no attribute 'sean'; both has seen and expected",
    "bothe.seen": "NameError: name 'bothe' is not defined; did you mean both",
    "from grader import asert_close": "did you mean assert_close",
}


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What an author is told of a line of a check."""
    numbers = itertools.count()

    def cause(line):
        name = f"check_{next(numbers)}"
        path = tmp_path / f"{name}.py"
        path.write_text(f"def check(both, many):\n    {line}\n", encoding="utf-8")
        specification = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(specification)
        monkeypatch.setitem(sys.modules, name, module)
        specification.loader.exec_module(module)
        with pytest.raises(Exception) as caught:
            module.check(ProbeObservation("both", FACTS, FACTS), ProbeObservation("many", MANY, MANY))
        said = str(cause_of(caught.value, tmp_path))
        assert said.startswith(f"{path}, line 2: ")
        return said

    return cause


@pytest.mark.parametrize("line", CHECKS)
def test_what_is_there_is_told(told, line):
    """File and line, the error's own text, and what there is: the author need not start a debugger."""
    assert CHECKS[line] in told(line)


@pytest.mark.parametrize(
    "line",
    [
        '{}["a"]',
        "1 / 0",
        "undefined",
        'next(iter([both.seen]))["x"]',
        'both.seen["loss"] + "text"',
        'int("one")',
    ],
)
def test_where_nothing_is_known_nothing_is_added(told, line):
    """What would have to be computed again, or is no fact, is told as Python tells it."""
    assert ";" not in told(line)
