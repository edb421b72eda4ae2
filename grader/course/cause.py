"""Outside: where and why an author's file broke: file, line and the error's own text."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from grader.course.author_file import not_python
from grader.course.missing_fact import told_of
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
    place = _last_place(error, folder)
    if place is None:
        return said
    there = what_is_there(error, folder)
    where = f"{place.tb_frame.f_code.co_filename}, line {place.tb_lineno}"
    return f"{where}: {said}; {there}" if there else f"{where}: {said}"


def place_of(cause: str) -> str:
    """File and line of a cause that ``cause_of`` gave."""
    return cause.partition(": ")[0]


def what_is_there(error: BaseException, folder: Path) -> str:
    """What there is where an author's file asked for something else; empty where nothing can be said."""
    place = _last_place(error, folder)
    known = isinstance(error, AssertionError | CourseError)  # it says all there is
    return "" if place is None or known else told_of(error, place)


def _last_place(error: BaseException, folder: Path) -> TracebackType | None:
    """The last place of a traceback that lies in a file of this folder."""
    found, place = None, error.__traceback__
    while place is not None:
        if Path(place.tb_frame.f_code.co_filename).parent == folder:
            found = place
        place = place.tb_next
    return found
