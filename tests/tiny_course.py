"""A course of one assignment with two questions, small enough to be changed by a test."""

import json
import os
import sys
from pathlib import Path

from grader.course.build import build
from grader.course.course import Course

SOURCE = '''\
# %% [markdown]
# # 1. Tiny

# %%
import torch

# %% [markdown]
# ## q1 · Double

# %% tags=["question q1"]
def double(x):
    """Twice x."""
    # BEGIN SOLUTION
    return 2 * x
    # STUB
    # return x
    # END SOLUTION

# %% tags=["check q1"]
def test_double(double):
    """It is twice as much."""
    assert double(2) == 4, "This is not twice as much."

# %% [markdown]
# ## q2 · A leaf

# %% tags=["question q2"]
def leaf(n):
    """A leaf of n zeros that requires grad."""
    # BEGIN SOLUTION
    return torch.zeros(n, requires_grad=True)
    # STUB
    # return n
    # END SOLUTION

# %% tags=["check q2"]
def test_leaf(leaf):
    """It requires grad."""
    assert leaf(2).requires_grad, "It does not require grad."
'''

ANSWERS = '''\
"""Answers."""

import torch

from grader.answers import accepted, wrong


@accepted("q1")
def added(x):
    """Twice is once and once."""
    return x + x


@wrong("q1")
def squared(x):
    """Twice is taken for squared."""
    return x * x


@wrong("q2")
def computed(n):
    """A computed tensor is taken for a leaf."""
    return torch.zeros(n, requires_grad=True) * 1


@wrong("q2")
def plain(n):
    """requires_grad is forgotten."""
    return torch.zeros(n)
'''

OUTCOMES = """\
# The outcomes of the known-wrong answers in 01_tiny.py: the checks that each fails, the finding of
# the first of them, the error (or timeout, or fault) that stops it before some of them can judge it, and
# whether it passes the public check.
# `python -m grader doctor --accept` writes this file; read its diff.

[q1]
squared = {fails = ["test_double"], first = "test_double+1: values", public = true}

[q2]
computed = {fails = ["test_leaf"], first = "test_leaf+1: ", public = true}
plain = {fails = ["test_requires_grad"], first = "test_requires_grad+1: "}
"""

CHECKS = '''\
"""Hidden checks."""

from grader import Call, Cases, assert_same_values, contract, data, own, points
from grader.inside import inside, torch

ONCE = Cases(dtypes=["float32"], modes=["on"], sequences=["first"], sizes=["differ"])
VALUES = Call(gradients="none")
X = {"x": data("n", says="(n,)")}
@inside
def length(setup, kind):
    """A number of entries."""
    return torch.randint(3, 9, ()).item()


doubled = contract("double", X, name="doubled", cases=ONCE, call=VALUES)
made = contract("leaf", {"n": own(length, says="the length")}, name="made", cases=ONCE, call=VALUES)


@points(2)
def test_double(doubled):
    """It is twice as much."""
    assert_same_values(doubled, "This is not twice as much.")


@points(3)
def test_leaf(made):
    """It is a leaf."""
    assert made.seen.tensor().is_leaf, "This is not a leaf."


@points(1)
def test_requires_grad(made):
    """It requires grad."""
    assert made.seen.tensor().requires_grad, "It does not require grad."
'''

#: What the contract of q1 draws, and how a test writes another input in its place.
X = 'X = {"x": data("n", says="(n,)")}'


def drawing(expression):
    """Another input of q1, as an edit of the check file."""
    own = f"@inside\ndef drawn(setup, kind):\n    return {expression}\n\n\n"
    return X, f'{own}X = {{"x": own(drawn, says="(n,)")}}'


RIGHT = [
    "import torch",
    "def double(x):\n    return x + x",
    "def leaf(n):\n    return torch.zeros(n).requires_grad_()",
]
HALF = ["import torch", "def double(x):\n    return x * x", "def leaf(n):\n    return torch.ones(n)"]


def write_course(root: Path) -> Path:
    """Lay out the course below a folder."""
    for folder in ("solutions", "tests/hidden", "tests/answers"):
        (root / folder).mkdir(parents=True)
    (root / "solutions" / "01_tiny.py").write_text(SOURCE, encoding="utf-8")
    (root / "tests" / "hidden" / "test_01_tiny.py").write_text(CHECKS, encoding="utf-8")
    (root / "tests" / "answers" / "01_tiny.py").write_text(ANSWERS, encoding="utf-8")
    (root / "tests" / "answers" / "01_tiny.outcomes.toml").write_text(OUTCOMES, encoding="utf-8")
    return root


def built(root: Path) -> Course:
    """The course as its files are now, with its assignments built."""
    course = Course.find(root)
    build(course.assignments.values(), course.root / "assignments", course.all_points())
    return course


def edit(path: Path, old: str, new: str) -> int:
    """Write another text in the place of one that a file has; its line."""
    text = path.read_text(encoding="utf-8")
    before, found, after = text.partition(old)
    assert found, old
    path.write_text(before + new + after, encoding="utf-8")
    sys.modules.pop(path.stem, None)  # another command would read it anew
    return before.count("\n") + 1


def add_assignment(root: Path, number: int) -> None:
    """Add another assignment, with the questions of the first."""
    for place in ("solutions/{}.py", "tests/hidden/test_{}.py", "tests/answers/{}.py"):
        text = (root / place.format("01_tiny")).read_text(encoding="utf-8")
        text = text.replace("# 1. ", f"# {number}. ").replace("01_tiny", f"0{number}_tiny")
        (root / place.format(f"0{number}_tiny")).write_text(text, encoding="utf-8")


def write_notebook(path: Path, sources: list[str], *, modified: int = 1_700_000_000) -> Path:
    """A notebook of code cells, last modified at a time that does not depend on the test's speed."""
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**empty, "source": source} for source in sources]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
    path.write_text(text, encoding="utf-8")
    os.utime(path, (modified, modified))
    return path
