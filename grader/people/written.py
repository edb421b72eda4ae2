"""The CSV files that ``collect`` writes and reads again, with times in UTC and texts that harm no program."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from grader.errors import GraderError
from grader.text import printable, utf8_text, without_formula

_Row = TypeVar("_Row")


def recorded(text: str) -> str:
    """A stranger's text as these files hold it."""
    return without_formula(printable(text))


def time_text(at: datetime | None) -> str:
    """A time as these files hold it; empty for none."""
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else ""


def time_of(text: str) -> datetime:
    """A time; ValueError where it is none, or has no time zone."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return at


def read_written(path: Path, parse: Callable[[Mapping[str, str]], _Row], advice: str) -> list[_Row]:
    """The rows of a file; none without it.

    Args:
        parse: makes a row of its cells by heading; ValueError or KeyError where they are none.
        advice: what to do if the file cannot be read.

    Raises:
        GraderError: it cannot be read.
    """
    try:
        rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")))
        return [parse({name: cell or "" for name, cell in row.items()}) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise GraderError(f"{path} cannot be read ({error}): {advice}") from error


def csv_content(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A file of rows below headings."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(headings)
    writer.writerows([recorded(cell) for cell in row] for row in rows)
    return utf8_text(text.getvalue()).encode()
