"""The gradebook as CSV, a line for each student and assignment; written and read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from grader.results.model import Result
from grader.scores import format_points, total
from grader.text import without_formula

#: A line of a gradebook by its columns.
Line = Mapping[str, str]

_COLUMNS = ("student", "assignment", "score", "max_score", "status", "notebook_sha256")
_SEPARATORS = re.compile("[;|]")  # of other countries' spreadsheets, which would begin a new cell there


def gradebook(
    results: Sequence[Result], absent: Sequence[tuple[str, str]], points: Mapping[str, Mapping[str, float]]
) -> str:
    """The gradebook as CSV text.

    Args:
        absent: (student, stem) of those of the roster who handed in nothing.
        points: what each question is worth, of the assignments that a student is absent from.
    """
    asked = {q for worth in points.values() for q in worth} | {
        question.id for result in results for question in result.questions
    }
    questions = sorted(asked, key=lambda q: int(q[1:]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([*_COLUMNS, *questions])
    lines: list[list[Any]] = [_line(result, questions) for result in results]
    lines += [_absent_line(student, stem, points[stem], questions) for student, stem in absent]
    lines.sort(key=lambda line: (line[0], line[1]))
    for line in lines:
        (quoting if _SEPARATORS.search(line[0] + line[1]) else writer).writerow(line)
    return text.getvalue()


def _line(result: Result, questions: Sequence[str]) -> list[Any]:
    scores = {question.id: format_points(question.score) for question in result.questions}
    return [
        without_formula(result.student),
        without_formula(result.what),
        format_points(result.score),
        format_points(result.max_score),
        result.status,
        result.provenance.notebook_sha256 or "",
        *(scores.get(question, "") for question in questions),
    ]


def _absent_line(student: str, stem: str, worth: Mapping[str, float], questions: Sequence[str]) -> list[Any]:
    scores = ["0" if question in worth else "" for question in questions]
    return [without_formula(student), stem, "0", format_points(total(worth.values())), "absent", "", *scores]


def read_gradebook(text: str) -> dict[tuple[str, str], Line]:
    """The lines of a gradebook, by student and assignment.

    Raises:
        ValueError: the text is no gradebook, perhaps since a spreadsheet saved it in another form.
    """
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        lines = [line for line in reader if any(line.values())]
    except csv.Error as error:
        raise ValueError(str(error)) from error
    if not {*_COLUMNS} <= {*(reader.fieldnames or ())} or any(
        line[column] is None for line in lines for column in _COLUMNS
    ):
        raise ValueError("columns are missing")
    return {(line["student"], line["assignment"]): line for line in lines}
