"""Outside: what ``collect`` has kept of students, the numbers by which a system knows them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from grader.integrations.collect.students import RECORD
from grader.results.folder import read_run
from grader.results.gradebook import harmless


def numbers(results: Path, system: str, students: Iterable[str]) -> dict[str, str]:
    """The number of each student in a system out of which the notebooks were collected, as far as known.

    Args:
        results: what ``grade`` has written; it says where the submissions are, and there lies the record.
        system: such as ``canvas``.
        students: names of their folders.
    """
    found: dict[str, set[str]] = {}
    with suppress(OSError, ValueError, KeyError, TypeError, csv.Error):
        record = (Path(read_run(results)["submissions"]) / RECORD).read_text(encoding="utf-8-sig")
        for row in csv.DictReader(io.StringIO(record)):
            if row["system"] == system and row["id"]:
                found.setdefault(row["student"], set()).add(row["id"])
    named = {student: found.get(harmless(student), set()) for student in students}
    return {student: next(iter(known)) for student, known in named.items() if len(known) == 1}
