"""Known answers are read without running them, and their lists are rewritten without touching the rest."""

import re

import pytest

from grader.answers import accepted, wrong
from grader.doctor.answer_file import accept
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


@wrong("q1", fails=["test_double", "test_leaf"])  # it squares
def square(x):
    """Believes that a square is a double."""
    return x * x  # kept


@wrong("q2", fails=[])
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
    """Every marked function or class is an answer, with its question, its list and its line."""
    found = read_answers(file, FUNCTIONS)
    assert [(a.name, a.question, a.fails) for a in found] == [
        ("right", "q1", None),
        ("right_and_decorated", "q1", None),
        ("square", "q1", frozenset({"test_double", "test_leaf"})),
        ("Leaf", "q2", frozenset()),
    ]
    lines = FILE.splitlines()
    assert [lines[a.line - 1] for a in found] == [
        '@accepted("q1")',
        '@accepted("q1")',
        '@wrong("q1", fails=["test_double", "test_leaf"])  # it squares',
        '@wrong("q2", fails=[])',
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
        ("@accepted()", 'line 1: write @accepted("q1") or @wrong("q1", fails=[...]) with literals'),
        ("@accepted(Q1)", "with literals"),
        ('@wrong("q1", fails=[CHECK])', "with literals"),
        ('@wrong("q1", fails=all_checks())', "with literals"),
        ('@wrong("q1")', "a wrong answer, and only a wrong one, says which checks it fails"),
        ('@accepted("q1", fails=[])', "a wrong answer, and only a wrong one"),
        ('@accepted("q1", public=True)', "a wrong answer, and only a wrong one"),
        ('@accepted("q1", stops="TypeError")', "a wrong answer, and only a wrong one"),
        ('@wrong("q1", stops=[], fails=[])', 'stops= is the name of an error, such as "RuntimeError"'),
        ('@accepted("q1", fails=["test_a"])', "a wrong answer, and only a wrong one"),
        ('@wrong("q1", fails="test_a")', "a wrong answer, and only a wrong one"),
        ('@wrong("q1", fails=3)', "a wrong answer, and only a wrong one"),
        ('@wrong("q1", fails=None)', "a wrong answer, and only a wrong one"),
    ],
)
def test_a_mark_that_says_too_little_is_refused(tmp_path, mark, words):
    """A mark without a known question, or whose list does not suit its kind, is refused with its line."""
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
    assert wrong("q1", fails=["test_a"])(answer) is answer


# --- rewriting


def test_only_the_lists_are_rewritten(file):
    """The lists of the named wrong answers change; every other character stays, remarks included."""
    accept(file, {"square": ["test_leaf"], "Leaf": ["test_a", "test_b"]})
    assert file.read_text() == FILE.replace(
        'fails=["test_double", "test_leaf"]', 'fails=["test_leaf"]'
    ).replace('@wrong("q2", fails=[])', '@wrong("q2", fails=["test_a", "test_b"])')


def test_rewriting_the_same_changes_nothing(file):
    """Lists that are right already leave the file as it is, also those of answers not named."""
    accept(file, {"square": ["test_double", "test_leaf"]})
    assert file.read_text() == FILE
    accept(file, {})
    assert file.read_text() == FILE


LONG = [f"test_something_that_is_said_at_length_{number}" for number in range(4)]


def test_a_long_list_is_wrapped_as_the_formatter_would(file):
    """A decorator that does not fit a line gets a line for each name, and shrinks again."""
    accept(file, {"square": LONG})
    wrapped = (
        '@wrong(\n    "q1",\n    fails=[\n' + "".join(f'        "{name}",\n' for name in LONG) + "    ],\n)"
    )
    assert file.read_text() == FILE.replace('@wrong("q1", fails=["test_double", "test_leaf"])', wrapped)
    assert {a.name: a.fails for a in read_answers(file, FUNCTIONS)}["square"] == frozenset(LONG)
    accept(file, {"square": ["test_double", "test_leaf"]})
    assert file.read_text() == FILE


@pytest.mark.parametrize(("length", "first"), [(110, 110), (111, len("@wrong("))])
def test_a_line_holds_what_the_formatter_allows(tmp_path, length, first):
    """A decorator of 110 characters stays on its line, one of 111 does not."""
    path = tmp_path / "01_tiny.py"
    path.write_text('@wrong("q1", fails=[])\ndef answer(x):\n    return x\n')
    accept(path, {"answer": ["t" * (length - len('@wrong("q1", fails=[""])'))]})
    assert len(path.read_text().splitlines()[0]) == first


def test_public_is_written_beside_the_list(file):
    """It is added to those named and removed from the others, in a long decorator on a line of its own."""
    accept(file, {"square": ["test_leaf"]}, {"square"})
    assert '@wrong("q1", fails=["test_leaf"], public=True)  # it squares\n' in file.read_text()
    assert [a.public for a in read_answers(file, FUNCTIONS)] == [False, False, True, False]
    accept(file, {"square": LONG}, {"square"})
    assert f'        "{LONG[-1]}",\n    ],\n    public=True,\n)  # it squares\n' in file.read_text()
    accept(file, {"square": ["test_double", "test_leaf"]})
    assert file.read_text() == FILE


def test_what_stops_an_answer_is_kept(tmp_path):
    """The error that an author wrote down is read, and stays where the list is rewritten."""
    path = tmp_path / "01_tiny.py"
    path.write_text('@wrong("q1", fails=[], stops="KeyError")\ndef answer(x):\n    return x\n')
    accept(path, {"answer": ["test_a"]}, {"answer"})
    assert path.read_text().startswith('@wrong("q1", stops="KeyError", fails=["test_a"], public=True)\n')
    assert [answer.stops for answer in read_answers(path, FUNCTIONS)] == ["KeyError"]
    accept(path, {"answer": LONG})
    assert path.read_text().startswith('@wrong(\n    "q1",\n    stops="KeyError",\n    fails=[\n')


def test_an_accepted_answer_gets_no_list(file):
    """Rewriting leaves an accepted answer alone, whatever list is given under its name."""
    accept(file, {"right": ["test_double"]})
    assert file.read_text() == FILE


@pytest.mark.parametrize("separator", ["\f", "\x0b", "\x1c", "\x85", "\u2028", "é"])
def test_only_newlines_separate_lines(tmp_path, separator):
    """Characters that other tools take for the end of a line do not lead the rewriting astray."""
    path = tmp_path / "01_tiny.py"
    text = (
        f'"""One{separator}two."""\n\n\n@wrong("q1", fails=[])  # {separator}\ndef answer(x):\n    return x\n'
    )
    path.write_text(text, encoding="utf-8")
    accept(path, {"answer": ["test_a"]})
    assert path.read_text(encoding="utf-8") == text.replace("fails=[]", 'fails=["test_a"]')


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
