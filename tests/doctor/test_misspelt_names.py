"""A name that nothing defines is an author's slip, told with file and line, and not a wrong answer."""

from pathlib import Path

import pytest

from grader.course.course import Course
from grader.doctor.known_answers import answers_of, read_answers
from grader.doctor.misspelt_names import complaints_about_names

COURSE = Course.find(Path(__file__))
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
        return complaints_about_names(read_answers(path, {"q1": "double"}), path)

    complaints.path = path
    return complaints


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("return tourch.ones(3)", "`tourch` is not defined: did you mean torch?"),
        ("return helpr(x)", "`helpr` is not defined: did you mean helper?"),
        ("result = x; return reslt", "`reslt` is not defined: did you mean result?"),
        (
            "return F.relu(x)",
            "`F` is not defined: write `import torch.nn.functional as F` at the head of 01_tiny.py",
        ),
        (
            "return [copy.copy(y) for y in x]",
            "`copy` is not defined: write `import copy` at the head of 01_tiny.py",
        ),
        ("return quux", "`quux` is not defined: define it outside of the answers of 01_tiny.py"),
        (
            "return other(x)",
            "`other` is not defined: it is an answer, which no other sees; write it again without a mark",
        ),
    ],
)
def test_a_name_that_nothing_defines_is_told(told, line, sentence):
    """File, line, answer, the name, and what was meant: a near name, an import, or another answer."""
    assert told(line) == [f"{told.path}, line 34: q1, tried: {sentence}"]


def test_a_name_that_many_answers_miss_is_told_once(told):
    """An import that is missing is one mistake, however many answers need it."""
    (sentence,) = told("return F.relu(x)", ("return x.detach().sum()", "return F.relu(x)"))
    assert "`F` is not defined, nor in 1 more: write `import torch.nn.functional as F`" in sentence


def test_names_that_are_defined_are_not_told(told):
    """Builtins, the file's own names, imports, arguments, globals and what a notebook has are known."""
    assert told("return x") == []


def test_behind_an_import_of_everything_nobody_knows(told):
    """What a star imports is not looked up."""
    assert told("return relu(x)", ("import math\n", "from torch.nn.functional import *\n")) == []


@pytest.mark.parametrize("stem", COURSE.stems)
def test_the_answers_of_this_course_have_no_slip(stem):
    """No answer uses a name that nothing defines, and none that is defined is called undefined."""
    path = COURSE.answers_file(stem)
    answers = answers_of(COURSE, stem)
    assert answers
    assert complaints_about_names(answers, path) == []
