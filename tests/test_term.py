"""A whole term with a class that nobody taught: release, collect, grade, export, a corrected check, grade again."""

import csv
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from grader.course import Course
from grader.worker import syscalls

pytestmark = pytest.mark.skipif(syscalls.machine() is None, reason="grading is confined on 64-bit Linux only")

ROOT = Path(__file__).resolve().parent.parent
STEM = "01_leaves"
SCORES = {"ada-lovelace": 31.0, "ben": 0.0, "chloé": 26.0, "李雷": 26.0}

# What a student of ours writes for q1, whose reference makes a leaf: right, but by a way nobody thought of.
UNEXPECTED = "a way nobody thought of"


class Term:
    """An instructor's folder: the course, what was released, cloned and collected, and the results."""

    def __init__(self, root: Path) -> None:
        self.root, self.course = root, root / "course"
        for name in ("assignments", "solutions", "grader", "tests/hidden", "tests/answers"):
            shutil.copytree(ROOT / name, self.course / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "course.toml"):
            shutil.copy(ROOT / name, self.course / name)

    def run(self, *command):
        """A command of the grader's, as it is typed in the course's folder; what it printed."""
        ran = subprocess.run(
            [sys.executable, "-m", "grader", *map(str, command)],
            cwd=self.course,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def grade(self):
        return self.run("grade", self.root / "submissions", "--out", self.root / "results")

    def gradebook(self):
        with (self.root / "results" / "gradebook.csv").open(encoding="utf-8", newline="") as file:
            return {line["student"]: float(line["score"]) for line in csv.DictReader(file)}

    def files(self, folder):
        below = self.root / "results" / folder
        return {str(path.relative_to(below)): path.read_bytes() for path in below.rglob("*.*")}


def answer(term, student, *, but=()):
    """Clone the released repository and answer all questions by the reference, but for some."""
    clone = term.root / "clones" / f"leaves-{student}"
    shutil.copytree(term.root / "released", clone)
    path = clone / f"{STEM}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for question in Course.find(ROOT).assignments[STEM].questions:
        for cell in notebook.cells:
            if cell.source == question.stub and question.id not in but:
                cell.source = question.answer
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """The term up to the day on which results are published."""
    term = Term(tmp_path_factory.mktemp("term"))
    term.run("release", "--out", term.root / "released", "--assignment", STEM)
    every = [question.id for question in Course.find(ROOT).assignments[STEM].questions]
    answer(term, "ada-lovelace")
    answer(term, "ben", but=every)
    answer(term, "chloé", but=["q1"])
    answer(term, "李雷", but=["q1"])
    term.collected = term.run("collect", term.root / "clones", "--out", term.root / "submissions")
    term.printed = term.grade()
    return term


def test_scores_are_those_of_the_answers(term):
    """What was released, cloned, answered and collected earns what the answers are worth."""
    assert term.gradebook() == SCORES


def test_every_student_gets_pages(term):
    """Each student has both forms of feedback, and the class a report."""
    names = {f"{student}/{STEM}.{suffix}" for student in SCORES for suffix in ("html", "md")}
    assert set(term.files("feedback")) == names
    assert (term.root / "results" / "report.html").stat().st_size > 10_000
