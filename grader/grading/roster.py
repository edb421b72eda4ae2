"""The list of a course's students, so that students who handed in nothing get a line too."""

import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path

from grader.errors import GraderError
from grader.text import did_you_mean, file_name, terminal_text

ROSTER = "roster.csv"
_MAX_BYTES = 10 << 20

_HEADINGS = {"student", "students", "name", "username", "user", "login", "id", "email"}


def read_roster(folder: Path, handed_in: Collection[str] = ()) -> tuple[str, ...]:
    """The students that `roster.csv` names, in its order; none without such a file.

    The file lies among the students' folders or beside the folder that holds them. Its names are in the
    column `student`, else in the first column; they are made safe like the names of submissions, so that
    equal names stay equal.

    Args:
        handed_in: the students who handed something in, if that is known.

    Raises:
        GraderError: The file cannot be read as CSV, a line of it names no student or a student of another
            line, or nobody who handed in is on it.
    """
    for path in (folder / ROSTER, folder.resolve().parent / ROSTER):
        if path.is_file() and not path.is_symlink():  # a student may have put it there
            return _require_somebody(path, tuple(_read_names(path)), handed_in)
    return ()


def _require_somebody(path: Path, roster: tuple[str, ...], handed_in: Collection[str]) -> tuple[str, ...]:
    """The roster; refused if it names nobody who handed in, because then the whole class would be absent."""
    if roster and handed_in and set(roster).isdisjoint(handed_in):
        name = min(handed_in)
        raise GraderError(
            f"{path} names nobody who handed in: its column `student` has to name students as their folders"
            " are called; if it belongs to another class, move it away."
            f" {terminal_text(name)} is not on it: {terminal_text(did_you_mean(name, roster))}"
        )
    return roster


def _read_names(path: Path) -> Iterator[str]:
    """The name in every line that is neither blank nor the header; no two lines have the same."""
    text = _read_text(path)
    first_line = text.lstrip().partition("\n")[0]
    # Excel separates by semicolons wherever the comma is the decimal sign.
    delimiter = max("\t;,", key=first_line.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    column: int | None = None
    line_of: dict[str, int] = {}
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
            name = _name_in(fields, column, f"{path}, line {rows.line_num}")
            if name in line_of:
                raise GraderError(
                    f"{path}, lines {line_of[name]} and {rows.line_num} both name {terminal_text(name)} in"
                    f" column {column + 1}: remove one of them or, if they are two students, give each line"
                    " and the folder of each student a name of its own."
                )
            line_of[name] = rows.line_num
            yield name
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
