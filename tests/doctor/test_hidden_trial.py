"""Which text of a check file belongs to a question: what its names need, and nothing else."""

import pytest

from grader.doctor.needed_text import needed_text

FILE = '''\
"""A check file."""

import math

from helpers import drawn, other

LIMIT = 3


def plain(x):
    return math.floor(x)


def unused(x):
    return LIMIT


@probe
def made(student):
    return drawn(student)


def test_first(made):
    """One."""
    assert plain(made), "no"


def test_second(seen):
    """Two."""
    assert unused(seen), "no"
'''
HELPERS = "def size():\n    return 7\n\n\ndef drawn(x):\n    return size()\n\n\ndef other(x):\n    return 8\n"


@pytest.fixture
def text_of(tmp_path):
    """The text that test_first needs after some text was replaced by another."""

    def text(old="", new="", file="test_05.py"):
        path = tmp_path / "test_05.py"
        path.write_text(FILE)
        (tmp_path / "helpers.py").write_text(HELPERS)
        edited = tmp_path / file
        before = edited.read_text()
        assert old in before
        edited.write_text(before.replace(old, new) if old else before)
        return needed_text(path, ["test_first"])

    return text


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("One.", "First.", "test_05.py"),
        ("math.floor", "math.ceil", "test_05.py"),
        ("drawn(student)", "drawn(1)", "test_05.py"),
        ("@probe\n", "@probe(seconds=1)\n", "test_05.py"),
        ("import math", "import cmath as math", "test_05.py"),
        ("return 7", "return 6", "helpers.py"),
    ],
)
def test_an_edit_of_what_a_check_needs_changes_its_text(text_of, old, new, file):
    """The check, its helpers, its probe, imports, and what the probe takes from the file beside it."""
    assert text_of(old, new, file) != text_of()


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("Two.", "Second.", "test_05.py"),
        ("LIMIT = 3", "LIMIT = 4", "test_05.py"),
        ("return 8", "return 9", "helpers.py"),
        ("LIMIT = 3", "LIMIT = 3\n\n", "test_05.py"),
    ],
)
def test_an_edit_of_anything_else_does_not(text_of, old, new, file):
    """Another check, what only that needs, and lines that move."""
    assert text_of(old, new, file) == text_of()
