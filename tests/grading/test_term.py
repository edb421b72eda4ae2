"""A whole term with a made-up class: release, collect, grade, export, a corrected check, grade again."""

import csv
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from grader.course.course import Course
from grader.sandbox.worker import syscalls

pytestmark = pytest.mark.skipif(syscalls.machine() is None, reason="grading is confined on 64-bit Linux only")

ROOT = Path(__file__).resolve().parents[2]
STEM = "01_leaves"

# The check as it was in the first week, and a right answer which its author had not thought of.
CORRECTED = "    assert_values(make_weight)"
MISTAKEN = f'    assert make_weight.seen[0]["result"].version == 0, "The weight was written to."\n{CORRECTED}'
UNFORESEEN = """\
def make_weight(n, m, scale):
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)
    with torch.no_grad():
        w *= scale
    return w"""

QUESTIONS = Course.find(ROOT).assignments[STEM].questions
BEFORE = {"ada-lovelace": 31.0, "ben": 0.0, "chloé": 26.0, "李雷": 28.5}
AFTER = {**BEFORE, "李雷": 31.0}


class Term:
    """An instructor's folder: the course, what was released, cloned and collected, and the results."""

    def __init__(self, root: Path) -> None:
        self.root, self.course = root, root / "course"
        for name in ("assignments", "solutions", "grader", "tests/hidden", "tests/answers"):
            shutil.copytree(ROOT / name, self.course / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "course.toml"):
            shutil.copy(ROOT / name, self.course / name)
        self.edit_checks(CORRECTED, MISTAKEN)

    def edit_checks(self, old, new):
        path = self.course / "tests" / "hidden" / f"test_{STEM}.py"
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")

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


def hand_in(term, student, answers):
    """A clone of the released repository in which some questions are answered."""
    clone = term.root / "clones" / f"leaves-{student}"
    shutil.copytree(term.root / "released", clone)
    path = clone / f"{STEM}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for question in QUESTIONS:
        for cell in notebook.cells:
            if cell.source == question.stub and question.id in answers:
                cell.source = answers[question.id]
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """The term up to the day on which results are published."""
    term = Term(tmp_path_factory.mktemp("term"))
    term.run("release", "--out", term.root / "released", "--assignment", STEM)
    right = {question.id: question.answer for question in QUESTIONS}
    hand_in(term, "ada-lovelace", right)
    hand_in(term, "ben", {})
    hand_in(term, "chloé", {name: answer for name, answer in right.items() if name != "q1"})
    hand_in(term, "李雷", {**right, "q1": UNFORESEEN})
    term.run("collect", term.root / "clones", "--out", term.root / "submissions")
    term.grade()
    return term


@pytest.fixture(scope="module")
def corrected(term):
    """The same after a check was corrected: what was there before, and what the second run printed."""
    before = {folder: term.files(folder) for folder in ("feedback", "evidence")}
    assert term.gradebook() == BEFORE
    term.edit_checks(MISTAKEN, CORRECTED)
    return before, term.grade()


def test_everybody_gets_pages(term):
    """Each student has both forms of feedback, with an X-ray, and the class a report that names all."""
    pages = term.files("feedback")
    assert set(pages) == {f"{student}/{STEM}.{suffix}" for student in BEFORE for suffix in ("html", "md")}
    assert b"<svg" in pages[f"chloé/{STEM}.html"]
    report = (term.root / "results" / "report.html").read_text(encoding="utf-8")
    assert all(student in report for student in BEFORE)


def test_a_corrected_check_changes_what_it_should(term, corrected):
    """Only who was judged wrongly has another score, is named with the reason, and reads something new."""
    before, printed = corrected
    assert term.gradebook() == AFTER
    (line,) = [line for line in printed.splitlines() if "checks or course changed" in line]
    assert line.split()[:2] == ["李雷", STEM]
    assert "28.5 of 31" in line
    assert "31 of 31" in line
    with (term.root / "results" / "changes.csv").open(encoding="utf-8", newline="") as file:
        assert [(each["student"], each["score"]) for each in csv.DictReader(file)] == [("李雷", "31")]
    after = term.files("feedback")
    assert {name for name in after if after[name] != before["feedback"][name]} == {
        f"李雷/{STEM}.html",
        f"李雷/{STEM}.md",
    }


def test_a_corrected_check_runs_no_code_again(term, corrected):
    """What was observed before the correction is what was judged after it."""
    assert term.files("evidence") == corrected[0]["evidence"]


def test_an_appeal_can_be_answered(term, corrected):
    """`explain` shows the student's own code, what was seen of it, and that judging again agrees."""
    told = term.run("explain", "李雷", STEM, "q1", "--results", term.root / "results")
    assert "w *= scale" in told
    assert "test_values_and_training" in told
    assert "judged now  the same, check by check" in told


def test_exports_agree_with_the_gradebook(term, corrected):
    """The points of every student are the same in every form that names students."""
    out, results = term.root / "exported", term.root / "results"
    for form in ("gradescope", "github", "classroom50", "junit"):
        term.run("export", form, STEM, "--results", results, "--out", out / form)
    for student, score in AFTER.items():
        (path,) = [p for p in (out / "gradescope").rglob("results.json") if student in p.parts]
        assert json.loads(path.read_text(encoding="utf-8"))["score"] == score
    (archive,) = (out / "gradescope").rglob("*.zip")
    with zipfile.ZipFile(archive) as opened:
        assert {"setup.sh", "run_autograder"} <= set(opened.namelist())
