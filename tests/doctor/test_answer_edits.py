"""Answers that differ from another in few places are written as edits of it, and read as whole functions."""

import ast
import subprocess
import sys

import pytest

from grader.answers import accepted_edits, edit, wrong_edits
from grader.doctor.answer_file import accept
from grader.doctor.known_answers import read_answers
from grader.errors import CourseError

REFERENCE = '''\
def double(x, n=2):
    """Twice x; not x + x."""
    # x + x would do
    if n == 2:
        x = double(x, n=1)
    return x + x
'''
FILE = '''\
"""Answers."""

import torch

from grader.answers import accepted, accepted_edits, edit, wrong, wrong_edits

wrong_edits("q1", {table})


@torch.no_grad()
@accepted("q1")
@torch.enable_grad()
def added(x):  # and why
    y = x + x
    return y


@accepted("q2")
class Leaf(torch.nn.Module):
    """A leaf."""

    def forward(self):
        return super(Leaf, self).forward()


@wrong("q1", fails=[])
def squared(x):
    return x * x
'''
FUNCTIONS = {"q1": "double", "q2": "make_leaf"}
REFERENCES = {"q1": REFERENCE, "q2": "class make_leaf:\n    size = 3\n"}


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "01_tiny.py"

    def answers(call):
        path.write_text(FILE.replace('wrong_edits("q1", {table})', call), encoding="utf-8")
        found = read_answers(path, FUNCTIONS, REFERENCES)
        return {answer.name: answer for answer in found if answer.name not in {"added", "Leaf", "squared"}}

    answers.path = path
    return answers


def test_an_edit_is_a_whole_function(read):
    """Its cells hold the edited function under its own name, with what is believed for a docstring."""
    answers = read('wrong_edits("q1", {\n    "thrice": ("x + x", "3 * x", "Believes in three.")})')
    (answer,) = answers.values()
    assert (answer.name, answer.question, answer.fails, answer.line) == ("thrice", "q1", frozenset(), 8)
    assert (answer.public, answer.stops) == (False, None)
    preamble, function, bound = (cell.source for cell in answer.cells)
    assert preamble == "import torch"
    assert function == (
        'def thrice(x, n=2):\n    """Believes in three."""\n    if n == 2:\n        x = thrice(x, n=1)\n'
        "    return 3 * x"
    )
    assert bound == "double = thrice"


def test_an_accepted_answer_can_be_edited(read):
    """Its other decorators belong to it; several places are a list of pairs, each found in what is left."""
    pairs = '[("y = x + x", "y = x"), ("y = x", "y = 1")]'
    answers = read(f'wrong_edits("q1", {{"one": edit({pairs}, "One.", fails=["a"])}}, of="added")')
    assert answers["one"].cells[1].source == (
        '@torch.no_grad()\n@torch.enable_grad()\ndef one(x):\n    """One."""\n    y = 1\n    return y'
    )
    assert answers["one"].fails == {"a"}
    answers = read(
        'accepted_edits("q2", {"Sub": ("(torch.nn.Module)", "(torch.nn.Linear)", "Too.")}, of="Leaf")'
    )
    assert 'class Sub(torch.nn.Linear):\n    """Too."""' in answers["Sub"].cells[1].source
    assert "super(Sub, self)" in answers["Sub"].cells[1].source
    assert answers["Sub"].fails is None


def test_all_that_a_wrong_answer_says_an_edit_says_too(read):
    """Its checks, its error and what the public check says of it."""
    said = 'edit("n == 2", "n == 3", "Three.", stops="RecursionError", fails=["a", "b"], public=True)'
    answer = read(f'wrong_edits("q1", {{"three": {said}}})')["three"]
    assert (answer.fails, answer.stops, answer.public) == ({"a", "b"}, "RecursionError", True)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            'wrong_edits("q1", {"no": ("x + y", "y", "No.")})',
            "no: `x + y` stands nowhere in the code of the reference of q1; nearest to it is `return x + x`",
        ),
        (
            'wrong_edits("q1", {"no": ("x + x would", "y", "Comments do not count.")})',
            "no: `x + x would` stands nowhere in the code of the reference of q1; nearest to it is `return",
        ),
        (
            'wrong_edits("q1", {"no": ("doubl", "y", "Words are whole.")})',
            "no: `doubl` stands nowhere in the code of the reference of q1; nearest to it is `def double(",
        ),
        (
            'wrong_edits("q1", {"no": ("n", "m", "No.")})',
            "no: `n` stands 3 times in the reference of q1; write more of what stands around it",
        ),
        ('wrong_edits("q1", {"no": ("x + x", "x +", "No.")})', "no: after the edit this is not valid Python"),
        (
            'wrong_edits("q1", {"no": ("def double", "def triple", "No.")})',
            "no: after the edit there is no double any more; leave its name",
        ),
        (
            'wrong_edits("q1", {"no": ("x + x", "(x + x)", "No.")})',
            "no: the edit changes nothing in the reference of q1",
        ),
        (
            'wrong_edits("q1", {"no": ("x", "y", "No.")}, of="aded")',
            "q1 has no accepted answer 'aded': did you mean added?",
        ),
        ('wrong_edits("q1", {"no": ("x", "y", "No.")}, of="squared")', "q1 has no accepted answer 'squared'"),
        ('wrong_edits("q1", {"no": ("x", "y", "No.")}, of="Leaf")', "q1 has no accepted answer 'Leaf'"),
        ('wrong_edits("q3", {"no": ("x", "y", "No.")})', "the assignment has no question 'q3', only q1, q2"),
        (
            'accepted_edits("q1", {"no": edit("x + x", "2 * x", "No.", fails=[])})',
            "a wrong answer, and only a",
        ),
        (
            'wrong_edits("q1", {"squared": ("x + x", "2 * x", "No.")})',
            "one to q1 in line 7; give each a name of its own",
        ),
        ('wrong_edits("q1", {"no": ("x + x", "2 * x")})', 'write {"name_of_the_answer": ('),
        ('wrong_edits("q1", {"no": ("", "2 * x", "No.")})', 'write {"name_of_the_answer": ('),
        ('wrong_edits("q1", {"no": ("x + x", "2 * x", WHY)})', 'write {"name_of_the_answer": ('),
        ('wrong_edits("q1", {"no": ([("x + x",)], "No.")})', 'write {"name_of_the_answer": ('),
        ('wrong_edits("q1", {"no": ([3], "No.")})', 'write {"name_of_the_answer": ('),
        ('wrong_edits("q1", {"no no": ("x + x", "2 * x", "No.")})', 'write {"name_of_the_answer": ('),
        ('wrong_edits("q1", {**others})', 'write {"name_of_the_answer": ('),
        ('wrong_edits("q1", others)', 'write {"name_of_the_answer": ('),
        ('wrong_edits("q1", {"no": edit("x + x", "y", "No.", fail=[])})', 'write {"name_of_the_answer": ('),
        ('wrong_edits(Q1, {"no": ("x + x", "2 * x", "No.")})', 'write wrong_edits("q1", {...})'),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused(read, call, told):
    """It says its file, its line, and what stands there in its place."""
    with pytest.raises(CourseError) as caught:
        read(call)
    lines = read.path.read_text(encoding="utf-8").splitlines()
    line = 1 + lines.index('@wrong("q1", fails=[])' if '"squared":' in call else lines[6])
    assert str(caught.value).startswith(f"{read.path}, line {line}: ")
    assert told in str(caught.value)


def test_strings_are_no_docstrings(read):
    """A text that is a value can be edited, also where it stands alone on a line."""
    reference = 'def double(x):\n    """Not "a"."""\n    return f(\n        "a"\n    )\n'
    read.path.write_text('wrong_edits("q1", {"b": ("\\"a\\"", "\'b\'", "B.")})\n', encoding="utf-8")
    (answer,) = read_answers(read.path, FUNCTIONS, {"q1": reference})
    assert answer.cells[1].source == 'def b(x):\n    """B."""\n    return f(\'b\')'


def test_the_words_do_nothing():
    """Imported after all, a file of edits does nothing."""
    said = edit("a", "b", "Why.", fails=[])
    assert wrong_edits("q1", {"name": said}, of="other") is None
    assert accepted_edits("q1", {"name": ("a", "b", "Why.")}) is None


# --- rewriting

TABLE = """\
from grader.answers import edit, wrong_edits

wrong_edits(  # of the reference
    "q1",
    {
        "short": ("x + x", "3 * x", "Believes in é."),  # the first
        # and the others
        "exact": edit("x + x", "4 * x", "Believes.", stops="KeyError", fails=["test_old"], public=True),
        "wrapped": edit(
            [("n == 2", "n == 3"), ("x + x", "x")],
            "Believes in something that is told at such length that it has to have a line of its own here.",
            fails=["test_old"],
        ),
        "alone": edit("x + x", "5 * x", "Believes.", fails=["test_kept"]),
    },
)
"""
NAMES = [f"test_something_that_is_said_at_length_{number}" for number in range(3)]
WRITTEN = """\
from grader.answers import edit, wrong_edits

wrong_edits(  # of the reference
    "q1",
    {
        "short": edit("x + x", "3 * x", "Believes in é.", fails=["test_a"], public=True),  # the first
        # and the others
        "exact": edit(
            "x + x", "4 * x", "Believes.", stops="KeyError", fails=["test_something_that_is_said_at_length_0"]
        ),
        "wrapped": edit(
            [("n == 2", "n == 3"), ("x + x", "x")],
            "Believes in something that is told at such length that it has to have a line of its own here.",
            fails=[
                "test_something_that_is_said_at_length_0",
                "test_something_that_is_said_at_length_1",
                "test_something_that_is_said_at_length_2",
            ],
        ),
        "alone": edit("x + x", "5 * x", "Believes.", fails=["test_kept"]),
    },
)
"""


def test_what_becomes_of_edits_is_written_beside_them(tmp_path):
    """A bare tuple becomes an edit that says what it fails; every other character stays."""
    path = tmp_path / "01_tiny.py"
    path.write_text(TABLE, encoding="utf-8")
    observed = {"short": ["test_a"], "exact": NAMES[:1], "wrapped": NAMES}
    accept(path, observed, {"short"})
    assert path.read_text(encoding="utf-8") == WRITTEN
    accept(path, observed, {"short"})
    assert path.read_text(encoding="utf-8") == WRITTEN
    fails = {answer.name: answer.fails for answer in read_answers(path, FUNCTIONS, REFERENCES)}
    assert fails == {name: frozenset(checks) for name, checks in observed.items()} | {"alone": {"test_kept"}}


@pytest.mark.parametrize("imported", ["wrong_edits", "wrong_edits, edit", ", ".join(["wrong_edits"] * 12)])
def test_what_is_written_is_imported(tmp_path, imported):
    """Where `edit` gets into a file, it is among what the file takes of `grader.answers`, once."""
    path = tmp_path / "01_tiny.py"
    path.write_text(
        f'from grader.answers import {imported}\n\nwrong_edits("q1", {{"e": ("x + x", "y", "Why.")}})\n',
        encoding="utf-8",
    )
    accept(path, {"e": ["test_b"]})
    statement, *_ = ast.parse(path.read_text(encoding="utf-8")).body
    assert [name.name for name in statement.names].count("edit") == 1


@pytest.mark.parametrize("length", range(20, 120, 3))
def test_the_formatter_would_write_the_same(tmp_path, length):
    """Whatever the lengths of names and texts, the formatter leaves alone what was written."""
    path = tmp_path / "01_tiny.py"
    path.write_text(
        f'@wrong("q1", stops="{"E" * (length // 3)}", fails=[])\ndef answer(x):\n    return x\n\n\n'
        f'wrong_edits(\n    "q1",\n    {{\n'
        f'        "edited": ("x + x", "{"y" * length}", "Why."),\n    }},\n)\n',
        encoding="utf-8",
    )
    names = ["test_" + "t" * (length // 2), "test_b"]
    accept(path, {"answer": names, "edited": names}, {"edited"})
    written = path.read_text(encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=110", "-q", str(path)]
    subprocess.run(ruff, check=True)
    assert path.read_text(encoding="utf-8") == written
    assert ast.parse(written)


def test_edits_that_share_a_line_are_written_apart(tmp_path):
    """A table on one line keeps its other entries, whichever of them are rewritten."""
    path = tmp_path / "01_tiny.py"
    path.write_text(
        'wrong_edits("q1", {"é": ("x + x", "x", "Is é."), "b": ("x + x", "2", "B.")})\n', encoding="utf-8"
    )
    accept(path, {"é": ["test_a"], "b": ["test_b"]})
    assert path.read_text(encoding="utf-8") == (
        'wrong_edits("q1", {"é": edit("x + x", "x", "Is é.", fails=["test_a"]),'
        ' "b": edit("x + x", "2", "B.", fails=["test_b"])})\n'
    )
