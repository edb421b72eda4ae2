"""The recipes of the authors' handbook work: what is right passes, and each mistake is told."""

from pathlib import Path

import pytest
from handbook import blocks

from grader.course.assignment import Question
from grader.course.rubric import read_rubric
from grader.grading.judge import judge
from grader.notebooks.reader import Cell
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits

PAGE = Path(__file__).parents[2] / "docs" / "authoring.md"
IMPORTS = """
from grader import assert_changed, assert_close, probe, raised
from grader.inside import alive, attempt, mark, torch, untouched
"""
RIGHT = {
    "drop": "def drop(x, p):\n    return x * (torch.rand(x.shape) >= p) / (1 - p)",
    "Meter": "class Meter:\n    def __init__(self):\n        self.losses = []\n"
    "    def add(self, loss):\n        self.losses.append(loss.item())\n"
    "    def mean(self):\n        return sum(self.losses) / len(self.losses)",
    "zero": "def zero(w):\n    with torch.no_grad():\n        w.zero_()",
}
WRONG = {
    "the_same_numbers": (
        "drop",
        RIGHT["drop"].replace("return", "torch.manual_seed(0)\n    return"),
        {"test_numbers_are_drawn_anew": "A second call drops the same entries again."},
    ),
    "not_scaled": (
        "drop",
        RIGHT["drop"].replace(" / (1 - p)", ""),
        {"test_numbers_are_drawn_anew": "What is not dropped does not become 1 / (1 - p)"},
    ),
    "losses_kept": (
        "Meter",
        RIGHT["Meter"].replace("loss.item()", "loss").replace("sum(self.losses)", "sum(self.losses).item()"),
        {"test_no_graph_is_kept": "3 of 3 graphs are still alive"},
    ),
    "one_list_for_all": (
        "Meter",
        RIGHT["Meter"].replace("def __init__(self):\n        self.losses = []", "losses = []"),
        {"test_the_mean_is_that_of_its_own_losses": "The mean is not that of the losses that were added"},
    ),
    "hidden": (
        "zero",
        "def zero(w):\n    w.data.zero_()",
        {"test_a_stale_loss_is_refused": "The old loss went back"},
    ),
    "nothing": (
        "zero",
        "def zero(w):\n    pass",
        {"test_a_stale_loss_is_refused": "w still holds its old values"},
    ),
}


@pytest.fixture(scope="module")
def verdicts(zygote, tmp_path_factory):
    """What becomes of the right answers, and of each wrong one among them."""
    path = tmp_path_factory.mktemp("recipes") / "test_77_recipes.py"
    text = "\n\n".join(
        block.text for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "py"
    )
    path.write_text(f'"""Recipes."""\n{IMPORTS}\n\n{text}', encoding="utf-8")
    questions = tuple(
        Question(f"q{number}", name, name, f"def {name}():\n    pass", "", None)
        for number, name in enumerate(RIGHT, start=1)
    )
    rubric = read_rubric(path, questions)

    def seen(answers):
        cells = [
            Cell(number, f"import torch\n{text}") for number, text in enumerate(answers.values(), start=1)
        ]
        return observe(zygote, cells, rubric.plan(3), TimeLimits())

    submissions = {name: seen({**RIGHT, replaced: text}) for name, (replaced, text, _) in WRONG.items()}
    submissions["right"] = reference = seen(RIGHT)
    return {name: judge(rubric, evidence, reference) for name, evidence in submissions.items()}


def test_what_is_right_passes(verdicts):
    """Nothing is wrong with an answer that does what the recipes ask for."""
    assert {verdict.message for verdict in verdicts["right"].values()} == {""}
    assert len(verdicts["right"]) == 4


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_told(verdicts, name):
    """Each mistake fails the check that is about it, with its sentence, and no other."""
    failed = {
        check: verdict.message for check, verdict in verdicts[name].items() if verdict.outcome != "passed"
    }
    ((check, message),) = WRONG[name][2].items()
    assert list(failed) == [check]
    assert failed[check].startswith(message)
