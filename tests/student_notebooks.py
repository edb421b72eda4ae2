"""A small assignment as students get it, and notebooks of students who work in it."""

import json
from pathlib import Path

from grader.course.public_check import otter_test

STEM = "01_small"

SETUP = "import torch\nimport otter\n\ngrader = otter.Notebook('01_small.ipynb')"
STUBS = {
    "q1": 'def double(x):\n    """Twice x."""\n    return x',
    "q2": 'def leaf(n):\n    """A leaf of n zeros that requires grad."""\n    return n',
    "q3": 'class Counter:\n    """Counts its calls."""\n\n    def __call__(self):\n        return 0',
}
ANSWERS = {
    "q1": "def double(x):\n    return x + x",
    "q2": "def leaf(n):\n    return torch.zeros(n, requires_grad=True)",
    "q3": "class Counter:\n    n = 0\n    def __call__(self):\n        self.n += 1\n        return self.n",
}
CHECKS = {
    "q1": '''\
def test_two(double):
    """Two becomes four."""
    assert double(2) == 4, f"double(2) is {double(2)}, not 4"


def test_three(double):
    """Three becomes six."""
    assert double(3) == 6, "double(3) is not 6"
''',
    "q2": '''\
def test_leaf(leaf):
    """It requires grad."""
    assert leaf(2).requires_grad, "It does not require grad."
''',
    "q3": '''\
def test_counter(Counter):
    """It counts."""
    counter = Counter()
    counter()
    assert counter() == 2, "The second call is not counted."
''',
}
POINTS = {"q1": 4, "q2": 3, "q3": 2.5}
LEVELS = {"q1": {"x": ["float32 or float64", "is 1"], "the call": ["under `no_grad()`"]}}
#: What a passed check of q1 says about the graded checks.
COVERAGE = "The public check passes. The graded checks also use: float64, under `no_grad()`, `x` is 1."
#: What a notebook of several questions says about them.
COVERAGE_OF_SEVERAL = "The graded checks use more inputs than the public ones: each task lists them."


def code(source, identity=None):
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
    return {**cell, "id": identity} if identity else cell


def markdown(source, identity=None):
    cell = {"cell_type": "markdown", "metadata": {}, "source": source}
    return {**cell, "id": identity} if identity else cell


def document(cells, **otter):
    return {"cells": cells, "metadata": {"otter": otter}, "nbformat": 4, "nbformat_minor": 5}


def _hint(number):
    return f"<details><summary>Hint {number}</summary>\n\nThe hint number {number}.\n\n</details>"


def released_cells():
    cells = [markdown("# 1. Small", "title"), code(SETUP, "setup")]
    for question, stub in STUBS.items():
        heading = f"## {question} · Title of {question}\n\n*{POINTS[question]} points*\n\nDo it."
        task = f"{heading}\n\n{_hint(1)}\n\n{_hint(2)}"
        cells += [
            markdown(task, f"task-{question}"),
            code(stub, f"stub-{question}"),
            code(f'grader.check("{question}")', f"check-{question}"),
        ]
    return cells


def released():
    """The notebook of a small assignment."""
    tests = {question: otter_test(question, CHECKS[question], POINTS[question]) for question in CHECKS}
    notebook = document(released_cells(), assignment_name=STEM, tests=tests)
    notebook["metadata"]["grader"] = {"levels": LEVELS}
    return notebook


def write(path: Path, notebook) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def write_work(folder: Path, sources, *, stem=STEM) -> Path:
    """A student's notebook of code cells, beside what was handed out."""
    write(folder / ".handout" / f"{STEM}.ipynb", released())
    cells = [code(source) for source in sources]
    return write(folder / f"{stem}.ipynb", document(cells, assignment_name=STEM))


def worked(**answers):
    """The handed-out notebook with answers in place of stubs."""
    notebook = released()
    for cell in notebook["cells"]:
        question = cell["id"].removeprefix("stub-")
        if question in answers:
            cell["source"] = answers[question]
    return notebook
