"""Digests of answers, by which equal ones are known; the results folder keeps them.

Without them each run would read all notebooks of a class again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence

from grader.course.course import Course
from grader.grading.run_plan import Results
from grader.grading.submission import Submission
from grader.notebooks.files import NotebookError
from grader.results.similar import Digests, answered, digests_of
from grader.results.store import ResultsStore

FILE_NAME = "answers.json"
# Another Python has another syntax tree.
_SCHEMA = f"autograd-grader/answers/v1/python{sys.version_info.major}.{sys.version_info.minor}"


def read_answers(
    store: ResultsStore, submissions: Sequence[Submission], results: Results, course: Course
) -> dict[tuple[str, str], Digests]:
    """The digests of the answers of each submission; what is not known is read from its notebook, and kept.

    A notebook that was changed meanwhile has none.
    """
    stems = {submission.assignment for submission in submissions if submission.assignment}
    stubs = {stem: {q.function: q.stub for q in course.assignment(stem).questions} for stem in stems}
    hashes = {stem: hashlib.sha256(json.dumps(of).encode()).hexdigest()[:16] for stem, of in stubs.items()}
    before = _stored(store)
    known: dict[str, Digests] = {}
    found: dict[tuple[str, str], Digests] = {}
    for submission in submissions:
        result, stem = results.get(submission.key), submission.assignment
        if result is None or stem is None or submission.error is not None:
            continue
        key = f"{submission.sha256}-{hashes[stem]}"
        of_notebook = before.get(key, {})
        if not {question.function for question in answered(result)} <= of_notebook.keys():
            try:
                of_notebook = digests_of(result, submission.cells(), stubs[stem])
            except NotebookError:
                continue
        known[key] = found[submission.key] = of_notebook
    if known != before:
        store.write(store.path / FILE_NAME, json.dumps({"schema": _SCHEMA, "answers": known}) + "\n")
    return found


def _stored(store: ResultsStore) -> dict[str, Digests]:
    """What is kept, by the hashes of a notebook and of its stubs; empty where nothing is that can be read."""
    try:
        stored = json.loads((store.path / FILE_NAME).read_text(encoding="utf-8"))
        if stored["schema"] != _SCHEMA:
            return {}
        return {
            str(sha256): {str(name): str(code) for name, code in of_notebook.items()}
            for sha256, of_notebook in stored["answers"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
