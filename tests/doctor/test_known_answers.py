"""Known answers are read without running them, and what their authors did by mistake is told."""

import pytest

from grader.answers import accepted, accepted_edits, equal, wrong, wrong_edits
from grader.doctor.known_answers import complaints_about_names, read_answers, undefined_names
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
    """Every marked function or class is an answer, with its question, its kind and its line; none is run."""
    file.write_text(f"{FILE}\n\nraise SystemExit\n", encoding="utf-8")
    lines = FILE.splitlines()
    found = read_answers(file, FUNCTIONS)
    assert [(a.name, a.question, a.is_wrong, lines[a.line - 1]) for a in found] == [
        ("right", "q1", False, '@accepted("q1")'),
        ("right_and_decorated", "q1", False, '@accepted("q1")'),
        ("square", "q1", True, '@wrong("q1")  # it squares'),
        ("Leaf", "q2", True, '@wrong("q2")'),
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
    assert decorated.cells[1].source.startswith("@functools.cache\n@torch.no_grad()\ndef right_and_decor")
    assert leaf.cells[1].source == "class Leaf(torch.nn.Module):\n    size = 3"
    assert leaf.cells[2].source == "make_leaf = Leaf"


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
    path = tmp_path / "01_tiny.py"
    path.write_text(f"{mark}\ndef answer(x):\n    return x\n")
    with pytest.raises(CourseError) as caught:
        read_answers(path, FUNCTIONS)
    assert str(caught.value).startswith(f"{path}, line 1: ")
    assert words in str(caught.value)


def test_a_file_that_is_missing_is_refused(tmp_path):
    with pytest.raises(CourseError, match=r"01_tiny\.py cannot be read: No such file"):
        read_answers(tmp_path / "01_tiny.py", FUNCTIONS)


def test_the_marks_do_nothing():
    """Imported after all, a marked definition is what it was, and edits and equals are nothing."""

    def answer():
        return 1

    assert accepted("q1")(answer) is answer
    assert wrong("q1")(answer) is answer
    assert wrong_edits("q1", {"name": ("a", "b", "Why.")}, of="other") is None
    assert accepted_edits("q1", {"name": ("a", "b", "Why.")}) is None
    assert equal("q1", "a -> b", why="it is") is None


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
    assert told("right", "in `helper` (code cell 1), `return SCALE * x` raised") == (
        f"in `helper` (01_tiny.py, line {shared}), `return SCALE * x` raised"
    )
    assert told("right", "in `right` (code cell 2), `return SCALE * x` raised") == (
        f"in `right` (01_tiny.py, line {own}), `return SCALE * x` raised"
    )
    assert told("right", "in code cell 2, line 3, `x`") == f"in 01_tiny.py, line {own}, `x`"
    edit = next(number for number, line in enumerate(lines, start=1) if '"less"' in line)
    assert told("less", "(code cell 2), `return HALF * x`") == f"(01_tiny.py, line {edit}), `return HALF * x`"
    assert told("right", "(code cell 3), `double`") == "(code cell 3), `double`"


# --- answers that differ from another in few places are written as edits of it

REFERENCE = '''\
def double(x, n=2):
    """Twice x; not x + x."""
    # x + x would do
    if n == 2:
        x = double(x, n=1)
    return x + x
'''
EDITED = '''\
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
REFERENCES = {"q1": REFERENCE, "q2": "class make_leaf:\n    size = 3\n"}


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "01_tiny.py"

    def answers(call):
        path.write_text(EDITED.replace('wrong_edits("q1", {table})', call), encoding="utf-8")
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
    answers = read('accepted_edits("q2", {"Sub": ("(torch.nn.Module)", "(nn.Linear)", "Too.")}, of="Leaf")')
    assert 'class Sub(nn.Linear):\n    """Too."""' in answers["Sub"].cells[1].source
    assert "super(Sub, self)" in answers["Sub"].cells[1].source
    assert not answers["Sub"].is_wrong


FORM = 'write {"name_of_the_answer": ('
NOWHERE = "occurs nowhere in the code of the reference of q1; nearest to it is"
#: What is written of an answer called `no`, and what is told of it; `of=` stands behind a bar.
REFUSED_EDITS = {
    '("x + y", "y", "No.")': f"no: `x + y` {NOWHERE} `return x + x`",
    '("x + x would", "y", "Comments do not count.")': f"no: `x + x would` {NOWHERE} `return",
    '("doubl", "y", "Words are whole.")': f"no: `doubl` {NOWHERE} `def double(",
    '("n", "m", "No.")': "no: `n` occurs 3 times in the reference of q1; include more of the text around it",
    '("x + x", "x +", "No.")': "no: after the edit this is not valid Python",
    '("def double", "def triple", "No.")': "no: after the edit there is no double any more; leave its name",
    '("x + x", "(x + x)", "No.")': "no: the edit changes nothing in the reference of q1",
    '("x", "y", "No.")|aded': "q1 has no known-correct answer 'aded': did you mean added?",
    '("x", "y", "No.")|squared': "q1 has no known-correct answer 'squared'",
    '("x", "y", "No.")|Leaf': "q1 has no known-correct answer 'Leaf'",
    '("x + x", "2 * x")': FORM,
    '("", "2 * x", "No.")': FORM,
    '("x + x", "2 * x", WHY)': FORM,
    '([("x + x",)], "No.")': FORM,
    '([3], "No.")': FORM,
    'edit("x + x", "y", "No.")': FORM,
}
REFUSED_CALLS = {
    'wrong_edits("q3", {"no": ("x", "y", "No.")})': "the assignment has no question 'q3', only q1, q2",
    'wrong_edits("q1", {"squared": ("x", "y", "No.")})': "one to q1 in line 7; give each a name of its own",
    'wrong_edits("q1", {"no no": ("x + x", "2 * x", "No.")})': FORM,
    'wrong_edits("q1", {**others})': FORM,
    'wrong_edits("q1", others)': FORM,
    'wrong_edits(Q1, {"no": ("x + x", "2 * x", "No.")})': 'write wrong_edits("q1", {...}) or',
}
for said, told in REFUSED_EDITS.items():
    edit, _, of = said.partition("|")
    REFUSED_CALLS[f'wrong_edits("q1", {{"no": {edit}}}' + (f', of="{of}")' if of else ")")] = told


@pytest.mark.parametrize("call", REFUSED_CALLS)
def test_an_edit_that_cannot_be_made_is_refused(read, call):
    with pytest.raises(CourseError) as caught:
        read(call)
    lines = read.path.read_text(encoding="utf-8").splitlines()
    line = 1 + lines.index('@wrong("q1")' if '"squared":' in call else lines[6])
    assert str(caught.value).startswith(f"{read.path}, line {line}: ")
    assert REFUSED_CALLS[call] in str(caught.value)


def test_strings_are_no_docstrings(read):
    """A text that is a value can be edited, also where it stands alone on a line."""
    reference = 'def double(x):\n    """Not "a"."""\n    return f(\n        "a"\n    )\n'
    read.path.write_text('wrong_edits("q1", {"b": ("\\"a\\"", "\'b\'", "B.")})\n', encoding="utf-8")
    (answer,) = read_answers(read.path, FUNCTIONS, {"q1": reference})
    assert answer.cells[1].source == 'def b(x):\n    """B."""\n    return f(\'b\')'


# --- a name that nothing defines is an author's slip, and no wrong answer

NAMES = """\
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
        text = NAMES.format(line)
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
    (sentence,) = told(line)
    assert sentence.startswith(f"{told.path}, line 34: q1, tried: `{name}` is not defined: define or import")
    assert sentence.endswith(" it at the top of 01_tiny.py, because answers cannot use each other")


def test_a_name_that_many_answers_miss_is_told_once(told):
    """An import that is missing is one mistake, however many answers need it."""
    (sentence,) = told("return F.relu(x)", ("return x.detach().sum()", "return F.relu(x)"))
    assert "`F` is not defined, also not in 1 more: define or import it" in sentence


def test_names_that_are_defined_are_not_told(told):
    """Builtins, the file's names, imports, arguments, globals and what a notebook or a star has are known."""
    assert told("return x") == []
    assert told("return relu(x)", ("import math\n", "from torch.nn.functional import *\n")) == []
