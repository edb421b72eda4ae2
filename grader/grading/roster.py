"""The list of a course's students, so that students who handed in nothing get a line too."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from grader.errors import GraderError
from grader.text import file_name

ROSTER = "roster.csv"
_MAX_BYTES = 10 << 20

_HEADINGS = {"student", "students", "name", "username", "user", "login", "id", "email"}


def read_roster(folder: Path) -> tuple[str, ...]:
    """The students that `roster.csv` names, in its order and each once; none without such a file.

    The file lies among the students' folders or beside the folder that holds them. Its names are in the
    column `student`, else in the first column; they are made safe like the names of submissions, so that
    equal names stay equal.

    Raises:
        GraderError: The file cannot be read as CSV, or a line of it names no student.
    """
    for path in (folder / ROSTER, folder.resolve().parent / ROSTER):
        if path.is_file() and not path.is_symlink():  # a student may have put it there
            return tuple(dict.fromkeys(_read_names(path)))
    return ()


def _read_names(path: Path) -> Iterator[str]:
    """The name in every line that is neither blank nor the header."""
    text = _read_text(path)
    first_line = text.lstrip().partition("\n")[0]
    # Excel separates by semicolons wherever the comma is the decimal sign.
    delimiter = max("\t;,", key=first_line.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    column: int | None = None
    try:
        for row in rows:
            fields = [field.strip() for field in row]
            if not any(fields):
                continue
            if column is None:
                headings = [field.casefold() for field in fields]
                column = headings.index("student") if "student" in headings else 0
                if not _HEADINGS.isdisjoint(headings):
                    continue
            yield _name_in(fields, column, f"{path}, line {rows.line_num}")
    except csv.Error as error:
        raise GraderError(f"{path}, line {rows.line_num} is not CSV ({error}): mend that line.") from error


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise GraderError(f"{path} is larger than {_MAX_BYTES >> 20} MiB: is it a list of students?")
        content = path.read_bytes()
    except OSError as error:
        raise GraderError(
            f"{path} cannot be read ({error.strerror}): make it readable or remove it."
        ) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise GraderError(f"{path}, line {line} is not UTF-8: save the file as CSV in UTF-8.") from error


def _name_in(fields: list[str], column: int, line: str) -> str:
    if column >= len(fields) or not fields[column]:
        raise GraderError(f"{line} names no student: fill in column {column + 1} or remove the line.")
    return file_name(fields[column])
