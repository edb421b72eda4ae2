"""A name that nothing defines is an author's slip, told with file and line, and not a wrong answer."""

import pytest

from grader.doctor.known_answers import complaints_about_names, read_answers, undefined_names

FILE = """\
import math

import torch

from grader.answers import accepted, wrong

SCALE = 2
_seen = []


def helper(x):
    return SCALE * x


@accepted("q1")
@torch.no_grad()
def right(x):
    global counted
    counted = [y for y in x if y]

    def inner():
        nonlocal x
        x = helper(x)
        return math.pi, len(counted), _seen, __name__, display, right

    return inner()


@wrong("q1")
def other(x):
    return x.detach().sum()


@wrong("q1")
def tried(x):
    {}
"""


@pytest.fixture
def told(tmp_path):
    path = tmp_path / "01_tiny.py"

    def complaints(line, *replaced):
        text = FILE.format(line)
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        return complaints_about_names(undefined_names(read_answers(path, {"q1": "double"})), path)

    complaints.path = path
    return complaints


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("return tourch.ones(3)", "tourch"),
        ("result = x; return reslt", "reslt"),
        ("return F.relu(x)", "F"),
        ("return other(x)", "other"),  # an answer, which no other sees
    ],
)
def test_a_name_that_nothing_defines_is_told(told, line, name):
    """File, line, answer and name, and where it has to be defined."""
    (sentence,) = told(line)
    assert sentence.startswith(f"{told.path}, line 34: q1, tried: `{name}` is not defined: define or import")
    assert sentence.endswith(" it at the head of 01_tiny.py, for no answer sees another")


def test_a_name_that_many_answers_miss_is_told_once(told):
    """An import that is missing is one mistake, however many answers need it."""
    (sentence,) = told("return F.relu(x)", ("return x.detach().sum()", "return F.relu(x)"))
    assert "`F` is not defined, nor in 1 more: define or import it" in sentence


def test_names_that_are_defined_are_not_told(told):
    """Builtins, the file's own names, imports, arguments, globals and what a notebook has are known."""
    assert told("return x") == []


def test_behind_an_import_of_everything_nobody_knows(told):
    """What a star imports is not looked up."""
    assert told("return relu(x)", ("import math\n", "from torch.nn.functional import *\n")) == []
