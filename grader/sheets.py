"""CSV files that people made or exported, with any delimiter."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError

_MAX_BYTES = 50 << 20
_BOM = b"\xef\xbb\xbf"
_COMMA, _POINT = re.compile(r"-?\d+,\d+"), re.compile(r"-?\d+\.\d+")  # numbers with decimals


@dataclass(frozen=True)
class Sheet:
    """A CSV file."""

    path: Path
    rows: list[list[str]]  # without blank lines
    lines: list[int]  # on which each row ends, counted from 1
    delimiter: str
    has_bom: bool  # a byte order mark, by which Excel recognizes UTF-8

    def value(self, row: Sequence[str], column: int | None) -> str:
        """A row's cell, stripped; empty if the row is shorter or there is no column."""
        return row[column].strip() if column is not None and column < len(row) else ""

    def number(self, text: str, columns: Sequence[int]) -> str:
        """A number with the decimal sign that is usual in these columns.

        Where no number in them has decimals, it is the comma if semicolons separate the cells, as they do
        where the comma is the decimal sign.
        """
        cells = [self.value(row, column) for row in self.rows[1:] for column in columns]
        commas, points = (sum(map(bool, map(sign.fullmatch, cells))) for sign in (_COMMA, _POINT))
        has_comma = commas > points if commas or points else self.delimiter == ";"
        return text.replace(".", ",") if has_comma else text

    def filled(self, values: Mapping[tuple[int, int], str]) -> bytes:
        """The file with new values in some cells, by row and column; a short row grows."""
        rows = [[*row] for row in self.rows]
        for (row, column), value in values.items():
            rows[row] += [""] * (column + 1 - len(rows[row]))
            rows[row][column] = value
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter).writerows(rows)
        return (_BOM if self.has_bom else b"") + text.getvalue().encode()


def delimiter_of(text: str) -> str:
    """The delimiter of a CSV text: the candidate that is most frequent in its first line.

    Excel's is a semicolon wherever the comma is the decimal sign.
    """
    first = text.lstrip().partition("\n")[0]
    return max("\t;,", key=first.count)


def read_sheet(path: Path) -> Sheet:
    """Read a CSV file.

    Raises:
        GraderError: it cannot be read, is very large, is not UTF-8, or is not CSV.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise GraderError(f"{path} is larger than {_MAX_BYTES >> 20} MiB: is it a list of students?")
        content = path.read_bytes()
        text = content.removeprefix(_BOM).decode()
    except OSError as error:
        raise GraderError(
            f"{path} cannot be read ({error.strerror}): make it readable, or name another"
        ) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise GraderError(f"{path}, line {line} is not UTF-8: save the file as CSV in UTF-8") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise GraderError(f"{path}, line {line} is not text: save the file as CSV in UTF-8")
    delimiter = delimiter_of(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [(row, reader.line_num) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise GraderError(
            f"{path}, line {reader.line_num} is not CSV ({error}): fix that line, or export the file again"
        ) from error
    return Sheet(
        path, [row for row, _ in rows], [line for _, line in rows], delimiter, content.startswith(_BOM)
    )
