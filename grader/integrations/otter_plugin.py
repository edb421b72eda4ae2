"""A plugin for otter-grader that grades a submission in the sandbox instead of in Otter's kernel.

Otter runs a submission beside its own tests, and unpickles files that a submission may hold. So nothing of
the student's is left where Otter looks, and its kernel gets an empty notebook. Our scores replace Otter's,
because it rounds to five decimals. Without a sandbox the plugin raises, and Otter writes no result.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

import nbformat
from otter.plugins import AbstractOtterPlugin  # type: ignore[import-untyped]
from otter.test_files import GradingResults  # type: ignore[import-untyped]

from grader.course.course import Course
from grader.errors import GraderError
from grader.grading.run import Options, grade
from grader.grading.submission import find_submissions
from grader.integrations.export.gradescope import results_json
from grader.results.model import CheckResult, Result
from grader.results.store import ResultsStore

_STUDENT = "student"
_SUBMITTED = "submitted"
_EMPTY: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}


def set_aside(autograder: str) -> None:
    """Move the submission out of ``submission/``, and leave an empty notebook for Otter."""
    root = Path(autograder)
    if (root / _SUBMITTED).exists():
        raise GraderError(f"{root / _SUBMITTED} exists already: grade in a fresh container")
    (root / _SUBMITTED).mkdir()
    for entry in list(os.scandir(root / "submission")):  # the folder itself may be a mount
        shutil.move(entry.path, root / _SUBMITTED / entry.name)
    empty = json.dumps(_EMPTY)
    (root / "submission" / "submission.ipynb").write_text(empty, encoding="utf-8")


class SandboxedResults(GradingResults):  # type: ignore[misc]
    """Otter's results, with our texts and exact numbers for Gradescope."""

    document: dict[str, Any]

    def to_gradescope_dict(self, ag_config: Any) -> dict[str, Any]:  # noqa: ARG002 - Otter's signature
        return self.document


class SandboxedGrader(AbstractOtterPlugin):  # type: ignore[misc]
    """Grades a submission; ``grader.integrations.export.gradescope`` makes the zip it is part of."""

    def before_grading(self, config: Any) -> None:
        """Delete everything but the notebook and our placeholder where Otter reads and its kernel imports."""
        config.zips = config.grade_from_log = config.pdf = False
        notebook = Path(self.submission_path)
        for entry in list(os.scandir(notebook.parent)):
            if entry.name in {notebook.name, "tests"}:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                Path(entry.path).unlink()

    def before_execution(self, submission: Any) -> Any:  # noqa: ARG002 - which is the point
        """An empty notebook instead of the submission."""
        return nbformat.from_dict(_EMPTY)  # type: ignore[no-untyped-call]

    def after_grading(self, results: GradingResults) -> None:
        """Grade in the sandbox, and replace Otter's results.

        Raises:
            GraderError: there is no sandbox, or the zip is broken; Otter then writes no result.
        """
        notebook = Path(self.submission_path)
        root = notebook.parent.parent
        course = _course_in(root / "source" / "course")
        # If our script started Otter, the folder of all submitted files.
        submitted = root / _SUBMITTED if (root / _SUBMITTED).is_dir() else notebook
        with tempfile.TemporaryDirectory() as temporary, chdir(course.root):
            result = _graded(course, self.plugin_config["stem"], submitted, Path(temporary))
        ours = GradingResults.from_ottr_json(json.dumps(_as_otter_reads(result)))
        for question in result.questions:
            ours.update_score(question.id, question.score)
        results.results = ours.results
        results.__class__ = SandboxedResults
        results.document = results_json(result, course.settings.feedback, course.settings.visibility)


def _course_in(root: Path) -> Course:
    """The course in the zip, and no other."""
    if root.is_dir() and (course := Course.find(root)).root == root.resolve():
        return course
    raise GraderError(
        f"{root} contains no course: create the zip again with `python -m grader export gradescope`"
    )


def _graded(course: Course, stem: str, submitted: Path, temporary: Path) -> Result:
    """The result of the submission, for this assignment.

    Raises:
        GraderError: it was not graded in a sandbox.
    """
    submissions, out = temporary / "submissions", temporary / "results"
    _lay_out(course, stem, submitted, submissions / _STUDENT)
    grade(course, submissions, out, Options(limits=course.settings.limits), lambda _: None)
    result = ResultsStore(out).find(_STUDENT, stem)
    if result.provenance.protection == "none":
        raise GraderError("this was graded without a sandbox, so there is no score")
    return result


def _lay_out(course: Course, stem: str, submitted: Path, folder: Path) -> None:
    """Copy the submitted notebooks, without links, so that at least one is the assignment's.

    Every submission here is for this assignment. So if no notebook is recognised as its answer, the newest
    gets its name; without any notebook an empty file gets it, which is then in error.
    """
    folder.mkdir(parents=True)
    copies = folder / _SUBMITTED  # so that no name in it is taken beside it
    if submitted.is_dir():
        for path in (Path(below, name) for below, _, names in os.walk(submitted) for name in names):
            if ".ipynb" in path.name.casefold():
                _copy_notebook(path, copies / path.relative_to(submitted))
    else:
        _copy_notebook(submitted, copies / submitted.name)
    try:
        submissions = find_submissions(folder.parent, course.functions, course.starter_code)
    except GraderError:  # there is no notebook
        submissions = []
    if any(submission.assignment == stem for submission in submissions):
        return
    newest = max(submissions, key=lambda submission: submission.path.lstat().st_mtime_ns, default=None)
    if newest is not None:
        newest.path.replace(folder / f"{stem}.ipynb")
    else:
        (folder / f"{stem}.ipynb").write_bytes(b"")


def _copy_notebook(path: Path, target: Path) -> None:
    """Copy a regular file; an unreadable file becomes an empty file, which is then in error."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISREG(path.lstat().st_mode):
            shutil.copy2(path, target)
    except OSError:
        with suppress(OSError):
            target.write_bytes(b"")


def _as_otter_reads(result: Result) -> dict[str, Any]:
    """The result as Otter's client for R writes it: a file of tests for each question."""

    def case(check: CheckResult) -> dict[str, Any]:
        test = {"name": check.title, "code": "", "hidden": False, "points": check.max_points}
        error = "\n".join(filter(None, (check.message, check.hint)))
        messages = {"success_message": None, "failure_message": None}
        return {"test_case": test | messages, "error": error, "passed": check.outcome == "passed"}

    files = [
        {"filename": question.id, "points": None, "test_case_results": [*map(case, question.checks)]}
        for question in result.questions
    ]
    return {"test_file_results": files}
