"""The authors' handbook: its example is a course that works, and everything it shows is what is printed."""

import ast
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from handbook import blocks, played
from tiny_course import built, write_course, write_notebook

import grader
from grader.course.assignment import MAY_COME_IN
from grader.course.course import Course
from grader.doctor.known_answers import equals_of
from grader.doctor.mutants import mutants
from grader.doctor.mutation_testing import stale_equals
from grader.grading.run import Options, grade

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "authoring.md"


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_story_is_true(page, tmp_path, monkeypatch, shared_zygote):
    """Who follows the page from its top sees what it shows, the kill matrix included."""
    root = write_course(tmp_path / "course")
    built(root)
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "110")
    ours = [finder for finder in sys.meta_path if "Rewriting" not in type(finder).__name__]
    monkeypatch.setattr(sys, "meta_path", ours)  # else this pytest would explain the example's asserts
    assert played(page, root) == page
    course = Course.find(root)
    assert course.settings.partial_credit == 0.25
    assert course.points("09_branches") == {"q1": 10}
    _the_task_says_what_may_come_in(course, page)
    _a_student_is_told(course, tmp_path)
    _mutants_are_those_of_the_page(course, page)


def _the_task_says_what_may_come_in(course, page):
    """The beginning of the list that the page quotes is that of the notebook."""
    (shown,) = re.findall(r'in the task \("(.*) \.\.\."\)', page)
    built = (course.root / "assignments" / "09_branches.ipynb").read_text(encoding="utf-8")
    tasks = ["".join(cell["source"]) for cell in json.loads(built)["cells"]]
    assert any(f"{MAY_COME_IN}\n\n- {shown}" in task for task in tasks)


def _mutants_are_those_of_the_page(course, page):
    """The edits that the page shows can be made in its reference, and what it calls equal is not stale."""
    (shown,) = [block.text for block in blocks(page) if block.language == "text"]
    reference = course.assignments["09_branches"].questions[0].answer
    made = {f"    ✗ {one.edit}": one for one in mutants(reference)}
    told = [line for line in shown.splitlines() if "✗" in line]
    for edit in told:
        before, after = made[edit].change
        assert f"      {before}\n{edit}\n      {after}\n" in shown
    assert len(told) == len(equals_of(course, "09_branches")) == 1
    assert stale_equals(course, "09_branches") == []


def _a_student_is_told(course, folder):
    """The example is graded like any other assignment; its picture stands in the feedback."""
    clamped = "def safe_root(x):\n    return x.clamp(min=0).sqrt()"
    write_notebook(folder / "class" / "ada" / "09_branches.ipynb", ["import torch", clamped])
    outcome = grade(course, folder / "class", folder / "results", Options(), lambda _: None)
    assert [row.score for row in outcome.results] == [0]
    feedback = (folder / "results" / "feedback" / "ada" / "09_branches.md").read_text(encoding="utf-8")
    assert r"The gradient of the result with respect to `x` is wrong" in feedback
    assert "are nan or infinite" in feedback
    assert "The graph that backward visits, from y to x" in feedback
    assert "```mermaid" in feedback


def test_torch_does_what_the_page_says(page, tmp_path):
    examples = [block.text for block in blocks(page) if block.language == "pycon"]
    (tmp_path / "facts.txt").write_text("\n".join(examples), encoding="utf-8")
    command = [sys.executable, "-m", "doctest", "facts.txt"]
    tried = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert examples
    assert tried.returncode == 0, tried.stdout


def test_the_lists_of_words_are_current(page):
    """All lists are those that `python docs/words.py` writes now, from declarations and docstrings."""
    assert page == runpy.run_path(str(DOCS / "words.py"))["with_lists"](page), "run: python docs/words.py"


def test_examples_of_words_are_complete_and_valid():
    """Every word that authors use has one example, and the words of a contract accept theirs."""
    examples = runpy.run_path(str(DOCS / "words.py"))["EXAMPLES"]
    words = [example.partition("(")[0] for group in examples.values() for example in group]
    students = {"check", "check_all", "hint", "xray"}
    assert sorted(words) == sorted(set(grader.__all__) - {"__version__", *students})
    made = [*examples["The parts of a contract"][1:], *examples["Arguments of the function"][:-1]]
    for example in made:
        assert eval(example, dict(vars(grader)))


def test_the_builders_are_told_with_what_they_take(page):
    """An author need not open tests/hidden/inside.py to use what it offers."""
    tree = ast.parse((DOCS.parent / "tests" / "hidden" / "inside.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert f"* `{node.name}({ast.unparse(node.args)})`: " in page
            assert node.name in page.partition("`from inside import ")[2].partition("`")[0].split(", ")


def test_the_page_shows_python(page):
    python = [block for block in blocks(page) if block.language == "python"]
    for block in python:
        ast.parse(block.text)
    assert {block.file.partition("/")[0] for block in python} == {"solutions", "tests"}
