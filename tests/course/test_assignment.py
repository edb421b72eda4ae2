"""A master is read completely, and a contradiction in it is refused in words that say what to mend."""

import re
from pathlib import Path

import pytest
from test_build import TINY

from grader.course.assignment import Assignment
from grader.course.notebook_source import read_assignment
from grader.errors import CourseError

SOLUTIONS = Path(__file__).parents[2] / "solutions"


def tiny(folder: Path, old: str = "", new: str = "") -> Path:
    """Write the tiny master with one passage exchanged."""
    assert old in TINY
    path = folder / "01_tiny.py"
    path.write_text(TINY.replace(old, new, 1) if old else TINY, encoding="utf-8")
    return path


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    return read_assignment(tiny(tmp_path))


def test_a_master_is_read_completely(assignment):
    """Stem, title, questions, their public checks, and the code that the reference worker runs."""
    assert (assignment.stem, assignment.title) == ("01_tiny", "Doubling")
    read = [(question.id, question.title, question.function) for question in assignment.questions]
    assert read == [("q1", "Twice as much", "double"), ("q2", "A module that doubles", "Double")]
    first, second = assignment.questions
    assert first.public_check.startswith("def test_twice(double):")
    assert second.public_check is None
    assert assignment.reference == ("from torch import nn", first.answer, second.answer)


def test_stub_and_answer_share_what_stands_outside_the_markers(tmp_path):
    """The stub is uncommented in place of the answer, with its own indentation and blank lines."""
    head = 'def double(x):\n    """Return twice the tensor x."""\n'
    longer = "    # if x is None:\n    #     return x\n    #\n    # return x\n"
    question = read_assignment(tiny(tmp_path, "    # return x\n", longer)).questions[0]
    assert question.answer == head + "    return 2 * x"
    assert question.starter_code == head + "    if x is None:\n        return x\n\n    return x"


DOUBLE = '''\
def double(x):
    """Return twice the tensor x."""
    # BEGIN SOLUTION
    return 2 * x
    # STUB
    # return x
    # END SOLUTION
'''
OTHER_DOUBLE = '''\
# BEGIN SOLUTION
def double(x, times=2):
    return times * x
# STUB
# def double(x):
#     """Return twice the tensor x."""
#     return x
# END SOLUTION
'''
FORWARD = """\
    def forward(self, x):
        # BEGIN SOLUTION
        return 2 * x
        # STUB
        # return x
        # END SOLUTION
"""
OTHER_FORWARD = """\
    # BEGIN SOLUTION
    def forward(self, x):
        return 2 * x

    # STUB
    # def forward(self, y):
    #     return y
    # END SOLUTION
"""
CONTRADICTIONS = {
    "no title": ("# # 1. Doubling", "# Doubling", "first line is `# 1. Title`"),
    "the number of another assignment": ("# # 1.", "# # 2.", "first line is `# 1. Title`"),
    "no heading": ("# ## q1 · Twice as much", "# Twice as much", "q1: its cells are question, check"),
    "two headings": (
        "# %%\nfrom",
        "# %% [markdown]\n# ## q1 · Once more\n\n# %%\nfrom",
        "q1: its cells are task, task",
    ),
    "two cells of one question": (
        '# %% tags=["check q1"]',
        '# %% tags=["question q1"]\n1\n\n# %% tags=["check q1"]',
        "q1: its cells are task, question, question, check",
    ),
    "a check without question": ('"question q1"', '"check q1"', "q1: its cells are task, check, check"),
    "a gap in the numbers": (
        '# ## q2 · A module that doubles\n\n\n# %% tags=["question q2"]',
        '# ## q3 · A module that doubles\n\n\n# %% tags=["question q3"]',
        "its questions are q1, q3",
    ),
    "no end": ("    # END SOLUTION\n", "", "q1: put the answer between"),
    "no solution at all": (FORWARD, "    pass\n", "q2: put the answer between"),
    "two definitions in a cell": (
        'def double(x):\n    """Return',
        'def half(x):\n    return x / 2\n\n\ndef double(x):\n    """Return',
        "q1: the starter code must be exactly one",
    ),
    "no docstring": ('    """Return twice the tensor x."""\n', "", "q1: `double` has no docstring"),
    "different signatures": (DOUBLE, OTHER_DOUBLE, "q1: starter code and reference have different"),
    "different methods": (FORWARD, OTHER_FORWARD, "q2: starter code and reference have different signatures"),
    "a check that is no test": ("def test_twice", "def twice", "q1: the check cell needs a `def test_"),
    "a check with helpers": (
        "def test_twice",
        "N = 2\ndef test_twice",
        "q1: the check cell needs a `def test_",
    ),
    "a check without title": (
        '    """The result is twice the argument, not < twice."""\n',
        "",
        "q1, test_twice: write what must hold as its docstring",
    ),
    "an assert without message": (
        ', f"ä: double([1, 1]) is {seen.tolist()}."',
        "",
        "q1, test_twice: give `assert seen.tolist() == [2, 2]` a message",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_is_refused_by_name(tmp_path, old, new, said):
    path = tiny(tmp_path, old, new)
    with pytest.raises(CourseError, match=re.escape(said)) as refusal:
        read_assignment(path)
    assert str(refusal.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tiny.py", TINY, r"NN_name\.py"),
        ("01_tiny.py", None, "cannot be read"),
        ("01_tiny.py", "", "begin with a"),
    ],
)
def test_a_master_that_is_missing_empty_or_without_number_is_refused(tmp_path, name, text, said):
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=said):
        read_assignment(tmp_path / name)


@pytest.mark.parametrize("path", sorted(SOLUTIONS.glob("*.py")), ids=lambda path: path.stem)
def test_every_master_of_the_course_is_readable(path):
    """Every question has a public check and two or three hints, a bonus task only the check."""
    assignment = read_assignment(path)
    tasks = {cell.question: cell.source for cell in assignment.cells if cell.role == "task"}
    for question in assignment.questions:
        assert question.public_check is not None, question.id
        hints = re.findall(r"<summary>(.+?)</summary>", tasks[question.id])
        assert len(hints) in ((0,) if question.is_bonus_task else (2, 3)), question.id
        assert hints == ["Hint 1", "Hint 2", "Hint 3"][: len(hints)], question.id
