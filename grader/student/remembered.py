"""The cache of `status` and `submit`: a notebook's last report, used again while nothing has changed."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from grader.files import write_atomic
from grader.student.check import Failure, NotebookReport, RunLog
from grader.student.notebook import StudentNotebook
from grader.student.unsaved import CHECKPOINTS
from grader.version import __version__


def remember(report: NotebookReport, seconds: float) -> None:
    """Write a report on all questions beside the versions that Jupyter keeps, if that is possible."""
    content = {
        "of": _key(report.notebook, seconds),
        "cells": {number: asdict(failure) for number, failure in report.cells},
        "statuses": {
            answer.question.id: answer.status if answer.status in {"untouched", "missing"} else "answered"
            for answer in report.questions
        },
        "tests": {
            answer.question.id: [failure and asdict(failure) for _, failure in answer.tests]
            for answer in report.questions
        },
    }
    with suppress(OSError):  # it only saves time
        write_atomic(_file(report.notebook), json.dumps(content).encode())


def recall(notebook: StudentNotebook, seconds: float) -> NotebookReport | None:
    """The cached report; None if code, checks or the grader have changed since, or a cell failed.

    A cell may have failed for lack of a package or of time, and may run now.
    """
    log = RunLog(notebook, seconds)
    try:
        content = json.loads(_file(notebook).read_bytes())
        if content["of"] != _key(notebook, seconds) or content["cells"]:
            return None
        log.cells = {int(number): Failure(**failure) for number, failure in content["cells"].items()}
        log.statuses = content["statuses"]
        log.tests.update(
            {
                question: [failure and Failure(**failure) for failure in tests]
                for question, tests in content["tests"].items()
            }
        )
        reports = tuple(map(log.report, notebook.questions))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # there is none, or another program wrote it
    return NotebookReport(notebook, tuple(sorted(log.cells.items())), reports)


def _key(notebook: StudentNotebook, seconds: float) -> str:
    """A hash of everything that the report depends on, as far as this is known without running anything."""
    asked = RunLog(notebook, seconds).request(notebook.questions)
    return sha256(json.dumps([asked, sys.version, version("torch"), __version__]).encode()).hexdigest()


def _file(notebook: StudentNotebook) -> Path:
    path = notebook.document.path
    return path.parent / CHECKPOINTS / f"{path.stem}.status.json"
