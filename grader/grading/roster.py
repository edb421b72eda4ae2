"""The list of a course's students, so that students who handed in nothing get a line too."""

from collections.abc import Collection, Iterator
from pathlib import Path

from grader.errors import GraderError
from grader.sheets import Sheet, read_sheet
from grader.text import did_you_mean, file_name, terminal_text

ROSTER = "roster.csv"

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
            return _require_somebody(path, tuple(_read_names(read_sheet(path))), handed_in)
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


def _read_names(sheet: Sheet) -> Iterator[str]:
    """The name in every row but the header; no two rows have the same."""
    column: int | None = None
    line_of: dict[str, int] = {}
    for row, line in zip(sheet.rows, sheet.lines, strict=True):
        if column is None:
            headings = [field.strip().casefold() for field in row]
            column = headings.index("student") if "student" in headings else 0
            if not _HEADINGS.isdisjoint(headings):
                continue
        name = sheet.value(row, column)
        if not name:
            raise GraderError(
                f"{sheet.path}, line {line} names no student: fill in column {column + 1} or remove the line."
            )
        safe = file_name(name)
        if safe in line_of:
            raise GraderError(
                f"{sheet.path}, lines {line_of[safe]} and {line} both name {terminal_text(safe)} in column"
                f" {column + 1}: remove one of them or, if they are two students, give each line and the"
                " folder of each student a name of its own."
            )
        line_of[safe] = line
        yield safe
