"""Outside: the gradebook, one row for every student and assignment."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from grader.result import Result

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_SEPARATORS = re.compile("[;|]")  # of other countries' spreadsheets, which would begin a new cell there


def gradebook(
    results: Sequence[Result], absent: Sequence[tuple[str, str]], points: Mapping[str, Mapping[str, float]]
) -> str:
    """The gradebook as CSV text.

    Args:
        results: of all submissions.
        absent: (student, stem) of those of the roster who handed in nothing.
        points: what each question is worth, of the assignments somebody is absent from.
    """
    asked = {q for worth in points.values() for q in worth} | {
        q["id"] for result in results for q in result["questions"]
    }
    questions = sorted(asked, key=lambda q: int(q[1:]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["student", "assignment", "score", "max_score", "status", "notebook_sha256", *questions])
    rows: list[list[Any]] = [_row(result, questions) for result in results]
    rows += [_absent_row(student, stem, points[stem], questions) for student, stem in absent]
    rows.sort(key=lambda row: (row[0], row[1]))
    for row in rows:
        (quoting if _SEPARATORS.search(row[0] + row[1]) else writer).writerow(row)
    return text.getvalue()


def _row(result: Result, questions: Sequence[str]) -> list[Any]:
    scores = {question["id"]: number(question["score"]) for question in result["questions"]}
    return [
        harmless(result["student"]),
        harmless(result["assignment"] or result["notebook"]),
        number(result["score"]),
        number(result["max_score"]),
        result["status"],
        result["provenance"]["notebook_sha256"] or "",
        *(scores.get(question, "") for question in questions),
    ]


def _absent_row(student: str, stem: str, worth: Mapping[str, float], questions: Sequence[str]) -> list[Any]:
    scores = ["0" if question in worth else "" for question in questions]
    return [harmless(student), stem, "0", number(sum(worth.values())), "absent", "", *scores]


def harmless(text: str) -> str:
    """Text of a stranger as a cell that no spreadsheet takes for a formula."""
    plain = unicodedata.normalize("NFKC", text).lstrip()
    return f"'{text}" if plain.startswith(_FORMULA) else text


def number(value: float) -> str:
    """A score without needless digits: ``4`` and ``4.5``."""
    return f"{value:.10g}"
