"""Known answers are read without running them."""

import re

import pytest

from grader.answers import accepted, wrong
from grader.doctor.known_answers import read_answers
from grader.errors import CourseError

FILE = '''\
"""Answers to 01_tiny whose verdict is known."""

import functools

import torch

from grader.answers import accepted, wrong

SCALE = 2
print(SCALE)

# --- q1


@functools.lru_cache(maxsize=2)
def helper(x):
    return SCALE * x


@marked("q1")
def other_helper(x):
    return x


@accepted("q1")
def right(x):
    """Says why."""
    return helper(x)


@functools.cache
@accepted("q1")
@torch.no_grad()
def right_and_decorated(x):
    return x + x


@wrong("q1")  # it squares
def square(x):
    """Believes that a square is a double."""
    return x * x  # kept


@wrong("q2")
class Leaf(torch.nn.Module):
    size = 3
'''
FUNCTIONS = {"q1": "double", "q2": "make_leaf"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "01_tiny.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_answers_are_read_in_order(file):
    """Every marked function or class is an answer, with its question, its kind and its line."""
    found = read_answers(file, FUNCTIONS)
    assert [(a.name, a.question, a.is_wrong) for a in found] == [
        ("right", "q1", False),
        ("right_and_decorated", "q1", False),
        ("square", "q1", True),
        ("Leaf", "q2", True),
    ]
    lines = FILE.splitlines()
    assert [lines[a.line - 1] for a in found] == [
        '@accepted("q1")',
        '@accepted("q1")',
        '@wrong("q1")  # it squares',
        '@wrong("q2")',
    ]


def test_an_answer_is_a_notebook(file):
    """An answer's notebook has what stands besides the answers, the answer alone, and the question's name."""
    right, decorated, _, leaf = read_answers(file, FUNCTIONS)
    preamble, answer, bound = right.cells
    assert [cell.number for cell in right.cells] == [1, 2, 3]
    assert preamble.source == (
        "import functools\nimport torch\nSCALE = 2\nprint(SCALE)\n"
        "@functools.lru_cache(maxsize=2)\ndef helper(x):\n    return SCALE * x\n"
        "@marked('q1')\ndef other_helper(x):\n    return x"
    )
    assert answer.source == 'def right(x):\n    """Says why."""\n    return helper(x)'
    assert bound.source == "double = right"
    assert decorated.cells[0] == preamble
    assert decorated.cells[1].source.startswith(
        "@functools.cache\n@torch.no_grad()\ndef right_and_decorated("
    )
    assert leaf.cells[1].source == "class Leaf(torch.nn.Module):\n    size = 3"
    assert leaf.cells[2].source == "make_leaf = Leaf"


def test_reading_runs_nothing(tmp_path):
    """An answers file is read as text; what it would do when imported does not happen."""
    path = tmp_path / "01_tiny.py"
    path.write_text('raise SystemExit\n\n\n@accepted("q1")\ndef right(x):\n    return undefined\n')
    assert [answer.name for answer in read_answers(path, FUNCTIONS)] == ["right"]


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ('@accepted("q3")', "line 1: the assignment has no question 'q3'"),
        ("@accepted(1)", "line 1: the assignment has no question 1"),
        ('@accepted(["q1"])', "line 1: the assignment has no question ['q1']"),
        ("@accepted()", 'line 1: write @accepted("q1"), with literals'),
        ("@accepted(Q1)", "with literals"),
        ('@wrong("q1", fails=["test_a"])', "--accept writes down which checks it fails"),
    ],
)
def test_a_mark_that_says_too_little_is_refused(tmp_path, mark, words):
    """A mark without a known question, or with more than that, is refused with its line."""
    path = tmp_path / "01_tiny.py"
    path.write_text(f"{mark}\ndef answer(x):\n    return x\n")
    with pytest.raises(CourseError) as caught:
        read_answers(path, FUNCTIONS)
    assert str(caught.value).startswith(f"{path}, line 1: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, " cannot be read: No such file"),
        (b"def answer(:\n", ", line 1: this is not valid Python"),
        (b"\n\xff\xfe", " is not UTF-8 (line 2)"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, content, said):
    """A file that is missing, broken or no text is refused by name and, where there is one, by line."""
    path = tmp_path / "01_tiny.py"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CourseError, match=re.escape(said)) as caught:
        read_answers(path, FUNCTIONS)
    assert str(path) in str(caught.value)


def test_the_marks_do_nothing():
    """Imported after all, a marked definition is what it was."""

    def answer():
        return 1

    assert accepted("q1")(answer) is answer
    assert wrong("q1")(answer) is answer


def test_a_place_in_a_cell_is_told_as_a_line_of_the_file(tmp_path):
    """Shared code, an answer past comments and its docstring, and an edit: each has its own line."""
    path = tmp_path / "01_tiny.py"
    edits = '\n\nwrong_edits("q1", {\n    "less": ("SCALE", "HALF", "Believes in halves."),\n}, of="right")\n'
    path.write_text(
        FILE.replace("    return helper(x)\n", "    # a remark\n    return SCALE * x\n", 1) + edits
    )
    answers = {answer.name: answer for answer in read_answers(path, {"q1": "double", "q2": "leaf"})}
    lines = path.read_text().splitlines()

    def told(name, said):
        return answers[name].in_file(said, path)

    shared, own = lines.index("    return SCALE * x") + 1, lines.index("    # a remark") + 2
    assert told("right", "in helper (code cell 1): `return SCALE * x` stopped") == (
        f"in helper (01_tiny.py, line {shared}): `return SCALE * x` stopped"
    )
    assert told("right", "in right (code cell 2): `return SCALE * x` stopped") == (
        f"in right (01_tiny.py, line {own}): `return SCALE * x` stopped"
    )
    assert told("right", "in code cell 2, line 3: `x`") == f"in 01_tiny.py, line {own}: `x`"
    edit = next(number for number, line in enumerate(lines, start=1) if '"less"' in line)
    assert told("less", "(code cell 2): `return HALF * x`") == f"(01_tiny.py, line {edit}): `return HALF * x`"
    assert told("right", "(code cell 3): `double`") == "(code cell 3): `double`"
