"""Answers that differ from another in few places are written as edits of it, and read as whole functions."""

import pytest

from grader.answers import accepted_edits, wrong_edits
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

from grader.answers import accepted, accepted_edits, wrong, wrong_edits

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


@wrong("q1")
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
    assert (answer.name, answer.question, answer.is_wrong, answer.line) == ("thrice", "q1", True, 8)
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
    answers = read(f'wrong_edits("q1", {{"one": ({pairs}, "One.")}}, of="added")')
    assert answers["one"].cells[1].source == (
        '@torch.no_grad()\n@torch.enable_grad()\ndef one(x):\n    """One."""\n    y = 1\n    return y'
    )
    answers = read(
        'accepted_edits("q2", {"Sub": ("(torch.nn.Module)", "(torch.nn.Linear)", "Too.")}, of="Leaf")'
    )
    assert 'class Sub(torch.nn.Linear):\n    """Too."""' in answers["Sub"].cells[1].source
    assert "super(Sub, self)" in answers["Sub"].cells[1].source
    assert not answers["Sub"].is_wrong


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
        ('wrong_edits("q1", {"no": edit("x + x", "y", "No.")})', 'write {"name_of_the_answer": ('),
        ('wrong_edits(Q1, {"no": ("x + x", "2 * x", "No.")})', 'write wrong_edits("q1", {...}) or'),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused(read, call, told):
    """It says its file, its line, and what stands there in its place."""
    with pytest.raises(CourseError) as caught:
        read(call)
    lines = read.path.read_text(encoding="utf-8").splitlines()
    line = 1 + lines.index('@wrong("q1")' if '"squared":' in call else lines[6])
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
    assert wrong_edits("q1", {"name": ("a", "b", "Why.")}, of="other") is None
    assert accepted_edits("q1", {"name": ("a", "b", "Why.")}) is None
