"""Outside: where and why an author's file broke: file, line and the error's own text."""

from __future__ import annotations

import traceback
from pathlib import Path

from grader.author_file import not_python
from grader.errors import CourseError


def cause_of(error: BaseException, folder: Path) -> str:
    """As in ``tests/hidden/test_01_leaves.py, line 7: KeyError: 'grad'``.

    Args:
        error: what was raised.
        folder: where the author's files are; named is the last line of one that the error came through.
    """
    own = str(error) or "no text"
    if isinstance(error, CourseError) and own.startswith(str(folder)):  # it says where
        return own
    if isinstance(error, SyntaxError) and Path(error.filename or "").parent == folder:
        return f"{error.filename}, line {error.lineno}: {not_python(error)}"
    said = own if isinstance(error, AssertionError | CourseError) else f"{type(error).__name__}: {own}"
    steps = traceback.extract_tb(error.__traceback__)
    places = [step for step in steps if Path(step.filename).parent == folder]
    return f"{places[-1].filename}, line {places[-1].lineno}: {said}" if places else said
