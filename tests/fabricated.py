"""Results of a class that nobody handed in, and facts that nobody observed."""

import base64
import struct

from grader.checks.observation import why_no_facts
from grader.results.model import SCHEMA
from grader.results.reader import result_from_json
from grader.sandbox.evidence import NoFacts

_SHARED = {}  # questions of all results


def in_base64(numbers, code="f"):
    """The elements of a tensor as a worker sends them; the code is one of `struct`."""
    return base64.b64encode(struct.pack(f"{len(numbers)}{code}", *numbers)).decode()


def row(
    student,
    *,
    score=3.0,
    status="answered",
    message=None,
    error=None,
    flags=(),
    cells=(),
    stem="01_tiny",
    at="1",
    **other,
):
    """A row of a class in which there is one question of three points.

    A message makes its check fail, and so do `NoFacts`, which say why nothing was seen; a list of them, and
    of None, stands for as many checks; `cells` are those of the result that failed. What else is given is the
    question's.
    """
    messages = message if isinstance(message, list) else [message]
    checks = [
        {
            "id": f"test_it{number or ''}",
            "title": "It is",
            "outcome": "failed" if message else "passed",
            "points": 0,
            "max_points": 1,
            "hint": None,
            "message": why_no_facts(message) if isinstance(message, NoFacts) else message,
            "failure": message.failure if isinstance(message, NoFacts) else None,
        }
        for number, message in enumerate(messages)
    ]
    question = {
        "id": "q1",
        "title": "Do it",
        "function": "f",
        "status": status,
        "score": score,
        "max_score": 3.0,
        **other,
    }
    result = {
        "schema": SCHEMA,
        "student": student,
        "assignment": stem,
        "notebook": f"{student}/{stem}.ipynb",
        "status": "error" if error else "graded",
        "error": error,
        "score": score,
        "max_score": 3.0,
        "superseded": [],
        "flags": [{"what": what, "cell": 1} for what in flags],
        "provenance": {"notebook_sha256": "0", "graded_at": at},
        "questions": [{**question, "checks": checks}],
        "cells": list(cells),
    }
    return result_from_json(result, stem or "essay", _SHARED)
