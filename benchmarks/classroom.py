"""Classes to grade: one solved notebook many times, no two answers of which are the same text."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from measure import ROOT, Cost, MeasureError, run

STEM = "01_leaves"
NOTEBOOK = ROOT / "submissions" / "ada" / f"{STEM}.ipynb"
CHECKS = ROOT / "assignments" / "tests" / STEM


def make_class(folder: Path, size: int) -> Path:
    """A folder of this many students.

    A comment tells their answers apart, as every student's are others; what came with the notebook is the
    same for all.
    """
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    submissions = folder / f"class-{size}"
    for number in range(size):
        student = submissions / f"s{number:04}"
        student.mkdir(parents=True)
        cells = [_answered_by(number, cell) for cell in notebook["cells"]]
        (student / NOTEBOOK.name).write_text(json.dumps({**notebook, "cells": cells}), encoding="utf-8")
    return submissions


def _answered_by(student: int, cell: dict[str, Any]) -> dict[str, Any]:
    """The cell, with a comment of the student's where it is an answer."""
    source = "".join(cell["source"])
    is_answer = cell["cell_type"] == "code" and source.startswith(("def ", "class "))
    return {**cell, "source": f"{source}\n# by student {student}"} if is_answer else cell


def grade(submissions: Path, out: Path) -> Cost:
    """Grade a class; results that are there already stay.

    Raises:
        MeasureError: a notebook has not got full marks, so that something else was measured than is said.
    """
    cost = run([sys.executable, "-m", "grader", "grade", str(submissions), "--out", str(out)])
    with (out / "gradebook.csv").open(encoding="utf-8", newline="") as file:
        scores = [(row["score"], row["max_score"]) for row in csv.DictReader(file)]
    if len(scores) != len(list(submissions.iterdir())) or any(score != most for score, most in scores):
        raise MeasureError(f"{out}/gradebook.csv: not every notebook of {submissions} has full marks")
    return cost


def grade_afresh(submissions: Path, out: Path) -> Cost:
    """Grade a class into an empty folder."""
    shutil.rmtree(out, ignore_errors=True)
    return grade(submissions, out)
