"""A passed public check says which levels of inputs the graded checks use beyond it."""

import pytest
from student_notebooks import COVERAGE, COVERAGE_OF_SEVERAL, LEVELS, released, write

from grader.student.coverage import coverage, coverage_of_several
from grader.student.notebook import Question, open_notebook

FEW = {
    "n": ["is 1"],
    "x": ["float32 or float64", "is not contiguous"],
    "the call": ["under `no_grad()`"],
}
MANY = {
    "net": [
        "has a submodule in eval mode",
        "has a parameter and asks for a mode",
        "its dropout is in train mode",
    ],
    "opt": ["is SGD", "is a fresh one"],
    "name": ['is "a.b"', "returns one column", "is 0 everywhere"],
    "the call": ["with thousands of entries", "in a second call with other arguments"],
}


def question(levels):
    return Question("q1", "Title", "", "f", None, None, levels)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (FEW, "float64, under `no_grad()`, `n` is 1, `x` is not contiguous."),
        (
            MANY,
            (
                "a second call with other arguments, `net` has a submodule in eval mode, `opt` is SGD, "
                '`name` is "a.b", thousands of entries, `net` has a parameter and asks for a mode, and 3 '
                "more: see the task."
            ),
        ),
        ({"x": ["has one row, or none", "is 2"]}, "`x` has one row, or none; `x` is 2."),
    ],
)
def test_levels_are_named(levels, said):
    """The sentence names a level of each argument first, at most six, and counts the others."""
    assert coverage(question(levels)) == f"The public check passes. The graded checks also use: {said}"


def test_several_questions_have_one_short_sentence():
    assert coverage_of_several([question(FEW), question({})]) == COVERAGE_OF_SEVERAL
    said = "The graded checks test everything that the tasks say."
    assert coverage_of_several([question({}), question({})]) == said


def test_a_question_without_levels_has_its_task():
    said = "The public check passes. The graded checks test everything that the task says."
    assert coverage(question({})) == said


def test_levels_come_from_the_notebook(tmp_path):
    notebook = released()
    notebook["metadata"]["grader"]["levels"] = {**LEVELS, "q2": 3, "q3": {"x": 4, "y": ["is 1", 2]}}
    first, second, third = open_notebook(write(tmp_path / "01_small.ipynb", notebook)).questions
    assert coverage(first) == COVERAGE
    assert (second.levels, third.levels) == ({}, {"y": ["is 1"]})
