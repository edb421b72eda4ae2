"""What students get is derived from the masters: complete, self-contained and the same in every build."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from grader.course.assignment import Assignment
from grader.course.build import build, outdated, student_notebook
from grader.course.notebook_source import read_assignment
from grader.errors import CourseError, GraderError

SOLUTIONS = Path(__file__).parents[2] / "solutions"
POINTS = {"01_tiny": {"q1": 5, "q2": 2.5}}

TINY = '''\
# %% [markdown]
# # 1. Doubling

# %%
from torch import nn

# %% [markdown]
# ## q1 · Twice as much
#
# Repair `double`.


# %% tags=["question q1"]
def double(x):
    """Return twice the tensor x."""
    # BEGIN SOLUTION
    return 2 * x
    # STUB
    # return x
    # END SOLUTION


# %% tags=["check q1"]
def test_twice(double):
    """The result is twice the argument, not < twice."""
    import torch

    seen = double(torch.ones(2))
    assert seen.tolist() == [2, 2], f"ä: double([1, 1]) is {seen.tolist()}."


def test_other_numbers(double):
    """This holds for other numbers, too."""
    assert double(0) == 0, (
        "Zero stays zero."
    )


# %% [markdown]
# ## q2 · A module that doubles


# %% tags=["question q2"]
class Double(nn.Module):
    """Double whatever comes."""

    def forward(self, x):
        # BEGIN SOLUTION
        return 2 * x
        # STUB
        # return x
        # END SOLUTION
'''


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    path = tmp_path / "01_tiny.py"
    path.write_text(TINY, encoding="utf-8")
    return read_assignment(path)


def test_the_notebook_holds_stubs_and_no_answers(assignment):
    """Below each heading are the points and the task, then the stub and the check; no output, no answer."""
    notebook = student_notebook(assignment, POINTS["01_tiny"])
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(cell.outputs == [] for cell in notebook.cells if cell.cell_type == "code")
    sources = [cell.source for cell in notebook.cells]
    first, second = assignment.questions
    assert sources[3:6] == [
        "## q1 · Twice as much\n\n*5 points*\n\nRepair `double`.",
        first.starter_code,
        'grader.check("q1")',
    ]
    assert any(source.startswith("## q2 · A module that doubles\n\n*2.5 points*") for source in sources)
    assert second.starter_code in sources
    for secret in ("return 2 * x", "BEGIN SOLUTION", "STUB"):
        assert secret not in json.dumps(notebook)


def test_a_question_without_points_is_refused(assignment):
    """Nobody is given a question that is worth nothing: its hidden checks are missing."""
    with pytest.raises(CourseError, match=r"01_tiny\.py, q2: no hidden check"):
        student_notebook(assignment, {"q1": 5, "q2": 0})
    with pytest.raises(CourseError, match=r"01_tiny\.py, q1: no hidden check"):
        build([assignment], assignment.path.parent, {})


def test_building_twice_gives_the_same_bytes(assignment, tmp_path):
    """Cell ids are derived, not drawn, so version control sees only what really changed."""
    first, second = tmp_path / "first", tmp_path / "second"
    written = build([assignment], first, POINTS)
    build([assignment], second, POINTS)
    assert [str(path.relative_to(first)) for path in written] == ["01_tiny.ipynb", "tests/01_tiny/q1.py"]
    for path in written:
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()
    identities = [cell["id"] for cell in json.loads(written[0].read_text(encoding="utf-8"))["cells"]]
    assert len(set(identities)) == len(identities)


def test_a_changed_task_changes_no_cell_id(assignment):
    """A front end recognises every cell again after its text was edited."""
    before = student_notebook(assignment, POINTS["01_tiny"])
    text = TINY.replace("Repair `double`.", "Please repair `double`.").replace("# return x", "# return -x")
    assignment.path.write_text(text, encoding="utf-8")
    after = student_notebook(read_assignment(assignment.path), POINTS["01_tiny"])
    assert [cell.id for cell in before.cells] == [cell.id for cell in after.cells]


def test_only_what_changed_is_written(assignment, tmp_path):
    folder = tmp_path / "assignments"
    build([assignment], folder, POINTS)
    (folder / "tests" / "01_tiny" / "q1.py").write_text("old", encoding="utf-8")
    assert build([assignment], folder, POINTS) == [folder / "tests" / "01_tiny" / "q1.py"]
    assert build([assignment], folder, POINTS) == []
    found = sorted(path.name for path in folder.rglob("*") if path.is_file())
    assert found == ["01_tiny.ipynb", "q1.py"]


def test_what_cannot_be_written_is_told_and_leaves_nothing(assignment, tmp_path):
    """A folder in the place of a notebook is named in a sentence, and stays alone as it is."""
    folder = tmp_path / "assignments"
    (folder / "01_tiny.ipynb" / "mine").mkdir(parents=True)
    with pytest.raises(GraderError, match=r"01_tiny\.ipynb cannot be written \(Is a directory\)"):
        build([assignment], folder, POINTS)
    assert sorted(path.name for path in folder.rglob("*")) == ["01_tiny.ipynb", "mine"]


def test_outdated_names_what_differs(assignment, tmp_path):
    folder = tmp_path / "assignments"
    notebook, check = folder / "01_tiny.ipynb", folder / "tests" / "01_tiny" / "q1.py"
    assert outdated([assignment], folder, POINTS) == [notebook, check]
    build([assignment], folder, POINTS)
    assert outdated([assignment], folder, POINTS) == []
    notebook.write_text("{}", encoding="utf-8")
    orphan = folder / "02_gone.ipynb"
    orphan.write_text("{}", encoding="utf-8")
    assert outdated([assignment], folder, POINTS) == [notebook, orphan]


def test_the_otter_test_speaks_through_docstrings(assignment):
    """Titles are Otter's messages, safe in HTML; what a test says is written as the author wrote it."""
    otter = student_notebook(assignment, POINTS["01_tiny"]).metadata.otter
    assert (otter.OK_FORMAT, otter.assignment_name, list(otter.tests)) == (False, "01_tiny", ["q1"])
    source = otter.tests.q1
    assert 'name = "q1"\npoints = 5\n' in source
    assert 'success_message="The result is twice the argument, not &lt; twice.",\n' in source
    assert 'failure_message="Not yet: This holds for other numbers, too.",\n' in source
    assert '    assert seen.tolist() == [2, 2], f"ä: double([1, 1]) is {seen.tolist()}."\n' in source
    ast.parse(source)


@pytest.mark.parametrize("path", sorted(SOLUTIONS.glob("*.py")), ids=lambda path: path.stem)
def test_notebooks_of_the_course_are_self_contained(path):
    """A student needs torch, and the course's package or Otter; the checks need torch alone."""
    assignment = read_assignment(path)
    notebook = student_notebook(assignment, {question.id: 1 for question in assignment.questions})
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    tests = notebook.metadata.otter.tests.values()
    of_checks = [test.replace("from otter.test_files import test_case", "") for test in tests]
    for texts, needed in ((sources, {"grader", "otter", "torch"}), (of_checks, {"torch"})):
        assert {name for text in texts for name in imports(text)} - sys.stdlib_module_names == needed


def imports(source: str) -> set[str]:
    """Return the top-level packages which a cell imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


@pytest.mark.skipif(importlib.util.find_spec("otter") is None, reason="needs the extra `otter`")
@pytest.mark.parametrize(
    "beside_tests",
    [pytest.param(False, id="alone"), pytest.param(True, id="beside tests", marks=pytest.mark.long)],
)
def test_otter_runs_the_checks_in_a_kernel(assignment, tmp_path, beside_tests):
    """Without the course's package Otter says our words, of a missing return too, and passes the answer."""
    folder = tmp_path / "assignments"
    build([assignment], folder, POINTS)
    if not beside_tests:
        (folder / "tests").rename(tmp_path / "elsewhere")
    notebook = student_notebook(assignment, POINTS["01_tiny"])
    check = 'grader.check("q1")'
    hidden, *after = map(
        nbformat.v4.new_code_cell,
        (
            'import sys\nsys.modules["grader"] = None',
            *("def double(x):\n    2 * x", check),
            *(assignment.questions[0].answer, check),
        ),
    )
    notebook.cells = [hidden, *notebook.cells, *after]
    path = folder / "executed.ipynb"
    nbformat.write(notebook, path)
    command = [sys.executable, "-m", "jupyter", "execute", "--inplace", "--timeout=120", path.name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=240)
    untouched, nothing, answered = (
        "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
        for cell in nbformat.read(path, as_version=4).cells
        if cell.source == check
    )
    assert "Not yet: The result is twice the argument" in untouched
    assert "ä: double([1, 1]) is [1.0, 1.0]." in untouched
    assert "AssertionError: double returned None: is a return missing?" in nothing
    assert "passed!" in answered
