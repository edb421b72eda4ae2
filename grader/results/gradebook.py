"""Writes the gradebook as CSV, a line for each student and assignment; it is never read back."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, count
from pathlib import Path

from grader.errors import BrokenRunError
from grader.results.model import MissingSubmission, Result
from grader.results.store import ResultsStore
from grader.scores import format_points, total
from grader.text import without_formula

FILE_NAME = "gradebook.csv"
EDITED_FILE_NAME = "gradebook.edited.csv"

#: A line of a gradebook, by column.
Line = Mapping[str, str]

_COLUMNS = ("student", "assignment", "score", "max_score", "status", "notebook_sha256")
_LATENESS_AND_ADJUSTMENTS = ("late", "penalty", "adjustment", "missing")  # columns after the questions
_SEPARATORS = re.compile("[;|]")  # separators in other countries, which would begin a new cell there


def gradebook(results: Sequence[Result], missing: Sequence[MissingSubmission]) -> str:
    """The gradebook as CSV text, sorted by student and assignment, with a column for each question.

    A score is the sum of its questions, minus the penalty, plus the adjustment of the whole assignment. The
    points of a question include its own adjustment; the column `adjustment` has the sum of all adjustments.
    Excused work has the status ``excused`` and no points, so that sums ignore it.
    """
    lines = [_line(result) for result in results] + [_line_of_missing(row) for row in missing]
    questions = {column for line in lines for column in line.keys() - {*_COLUMNS, *_LATENESS_AND_ADJUSTMENTS}}
    columns = [
        *_COLUMNS,
        *sorted(questions, key=lambda question: int(question[1:])),
        *_LATENESS_AND_ADJUSTMENTS,
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    for line in sorted(lines, key=lambda line: (line["student"], line["assignment"])):
        is_plain = not _SEPARATORS.search(line["student"] + line["assignment"])
        (writer if is_plain else quoting).writerow([line.get(column, "") for column in columns])
    return text.getvalue()


def _excused_line(student: str, assignment: str, sha256: str | None) -> Line:
    return {
        "student": without_formula(student),
        "assignment": without_formula(assignment),
        "status": "excused",
        "notebook_sha256": sha256 or "",
    }


def _line(result: Result) -> Line:
    if result.excuse:
        return _excused_line(result.student, result.what, result.provenance.notebook_sha256)
    late = result.late
    given = [result.adjusted_by(one) for one in result.adjustments]
    return {
        "student": without_formula(result.student),
        "assignment": without_formula(result.what),
        "score": format_points(result.score),
        "max_score": format_points(result.max_score),
        "status": result.status,
        "notebook_sha256": result.provenance.notebook_sha256 or "",
        **{question.id: format_points(question.score) for question in result.questions},
        "late": late.duration if late else "",
        "penalty": format_points(result.penalty) if late else "",
        "adjustment": format_points(total(given)) if given else "",
        "missing": result.missing.text if result.missing else "",
    }


def _line_of_missing(row: MissingSubmission) -> Line:
    if row.excuse:
        return _excused_line(row.student, row.assignment, None)
    return {
        "student": without_formula(row.student),
        "assignment": row.assignment,
        "score": "0",
        "max_score": format_points(row.max_score),
        "status": "absent",
        "missing": row.missing.text if row.missing else "",
        **dict.fromkeys(row.points, "0"),
    }


def sha256_of(text: str) -> str:
    """The hash of a gradebook, by which `write_gradebook` recognizes a file that a run wrote."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def write_gradebook(store: ResultsStore, text: str, written: Collection[object]) -> list[str]:
    """Write a gradebook. An old one that was edited is renamed first.

    Args:
        written: the hashes of gradebooks that runs wrote; a file with another hash was edited.

    Returns: A sentence about the renamed file, or None.

    Raises:
        BrokenRunError: the gradebook cannot be read, renamed or written.
    """
    path, notes = store.path / FILE_NAME, list[str]()
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() not in {*written, sha256_of(text)}:
            edited = _free_path(store.path / EDITED_FILE_NAME)
            path.rename(edited)
            notes.append(
                f"{path} was edited since the last run wrote it: the edited file is now {edited.name}. The"
                " grader doesn't read edits: to adjust points, use adjustments.csv, beside the submissions."
            )
    except FileNotFoundError:
        pass  # the first run
    except OSError as error:
        raise BrokenRunError(
            f"{path} cannot be read or renamed ({error.strerror}): move it away and run the same command"
            " again"
        ) from error
    store.write(path, text)
    return notes


def _free_path(path: Path) -> Path:
    """The path, with a number if such a file exists."""
    numbered = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(free for free in chain([path], numbered) if not free.exists())
