"""Classes to grade: the solved notebook of an assignment many times, no two answers the same text."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from measure import ROOT, Cost, MeasureError, run

from grader.course.course import Course

COURSE = Course.find(ROOT)
STEM = "01_leaves"  # where one assignment is enough


def solved(stem: str, comment: str = "") -> dict[str, Any]:
    """The notebook of an assignment with the reference answers, each with a comment, in place of the stubs.

    Raises:
        MeasureError: a stub is not in the notebook.
    """
    path = ROOT / "assignments" / f"{stem}.ipynb"
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    answers = {q.starter_code.strip(): q.answer + comment for q in COURSE.assignment(stem).questions}
    cells = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        is_code = cell["cell_type"] == "code"
        cells.append({**cell, "source": answers.pop(source.strip(), source) if is_code else source})
    if answers:
        raise MeasureError(f"{path} lacks a stub: `make build` writes it")
    return {**notebook, "cells": cells}


def make_class(folder: Path, stem: str, size: int) -> Path:
    """A folder of this many students.

    A comment tells their answers apart, as every student's are others; what came with the notebook is the
    same for all.
    """
    submissions = folder / f"{stem}-{size}"
    for number in range(size):
        student = submissions / f"s{number:04}"
        student.mkdir(parents=True)
        notebook = solved(stem, f"\n# by student {number}")
        (student / f"{stem}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return submissions


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
