"""The gradebook, one row for every student and assignment."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from grader.results.model import Result
from grader.scores import format_points, total
from grader.text import without_formula

_SEPARATORS = re.compile("[;|]")  # of other countries' spreadsheets, which would begin a new cell there


def gradebook(
    rows: Sequence[Result], absent: Sequence[tuple[str, str]], points: Mapping[str, Mapping[str, float]]
) -> str:
    """The gradebook as CSV text.

    Args:
        rows: of all submissions.
        absent: (student, stem) of those of the roster who handed in nothing.
        points: what each question is worth, of the assignments somebody is absent from.
    """
    asked = {q for worth in points.values() for q in worth} | {
        answer.id for row in rows for answer in row.questions
    }
    questions = sorted(asked, key=lambda q: int(q[1:]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["student", "assignment", "score", "max_score", "status", "notebook_sha256", *questions])
    lines: list[list[Any]] = [_line(row, questions) for row in rows]
    lines += [_absent_line(student, stem, points[stem], questions) for student, stem in absent]
    lines.sort(key=lambda line: (line[0], line[1]))
    for line in lines:
        (quoting if _SEPARATORS.search(line[0] + line[1]) else writer).writerow(line)
    return text.getvalue()


def _line(row: Result, questions: Sequence[str]) -> list[Any]:
    scores = {answer.id: format_points(answer.score) for answer in row.questions}
    return [
        without_formula(row.student),
        without_formula(row.what),
        format_points(row.score),
        format_points(row.max_score),
        row.status,
        row.provenance.notebook_sha256 or "",
        *(scores.get(question, "") for question in questions),
    ]


def _absent_line(student: str, stem: str, worth: Mapping[str, float], questions: Sequence[str]) -> list[Any]:
    scores = ["0" if question in worth else "" for question in questions]
    return [without_formula(student), stem, "0", format_points(total(worth.values())), "absent", "", *scores]
