"""``roster.csv``: the people of a class, with their names and ids in all systems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.errors import GraderError
from grader.people.directory import Directory, Person, folded
from grader.people.files import find_file
from grader.sheets import Sheet, read_sheet
from grader.text import alike, did_you_mean, file_name, some, terminal_text

ROSTER = "roster.csv"

#: By what a column holds, its headings: ours, and those of GitHub Classroom, Canvas, Moodle and Gradescope.
_HEADINGS: Mapping[str, Collection[str]] = {
    "student": ("student", "students"),
    "name": ("name", "full name"),
    "given": ("first name", "firstname", "given name"),
    "family": ("last name", "lastname", "surname", "family name"),
    "identifier": ("identifier",),
    "login": ("login", "username", "user", "sis login id"),
    "email": ("email", "e-mail", "email address", "mail"),
    "github": ("github", "github login", "github username"),
    "canvas": ("canvas", "canvas id"),
    "moodle": ("moodle", "moodle id"),
    "number": ("number", "id number", "student id", "sid", "sis user id"),
    "brightspace": ("brightspace", "brightspace id"),
    "group": ("group", "group name", "team", "team name"),
}
_KIND_OF = {heading: kind for kind, headings in _HEADINGS.items() for heading in headings}
_NOBODY = {
    "points possible",
    "student, test",
    "test student",
}  # rows of Canvas's gradebook that are no student's
_NAMING = ("student", "name", "first name", "last name")
_MOST_NAMED = 6
_COLUMNS = "student, name, email, github, canvas id, moodle id, number, group"
_IDS = ("canvas", "moodle", "brightspace", "number", "email", "github", "login", "identifier")


class Roster(Directory):
    """The people of a class.

    Args:
        unread: headings of the columns that mean nothing here.
    """

    def __init__(
        self, people: Iterable[Person], path: Path | None = None, unread: Sequence[str] = ()
    ) -> None:
        super().__init__(people)
        self.path, self.unread = path, unread

    @property
    def about_unread(self) -> str:
        """A sentence about columns that mean nothing here; empty if there are none."""
        columns = ", ".join(some([terminal_text(heading) for heading in self.unread], _MOST_NAMED))
        return f"{self.path} has columns that are not read: {columns}." if columns else ""

    def about_unknown(self, name: str) -> str:
        """A sentence about a name that is nobody's on the roster, or that of several."""
        several = [person.student for person in self.called(name)]
        if len(several) > 1:
            named = " and ".join(map(terminal_text, several))
            return f"{terminal_text(name)} may be {named}: call the folder so, or give an id to the roster."
        known = {person.name for person in self.people} | {*self.students}
        near = alike(name, known)
        meant = f": did you mean {terminal_text(' or '.join(near))}?" if near else "."
        return f"{terminal_text(name)} is not on the roster{meant}"


NOBODY = Roster(())


def read_people(submissions: Path) -> Roster:
    """The people that `roster.csv` names; nobody without such a file.

    Raises:
        GraderError: The file cannot be read as CSV, its first line is no headings or names no column of
            students, or a line names no student or has a name or an id of another.
    """
    path = find_file(submissions, ROSTER)
    if path is None:
        return NOBODY
    sheet = read_sheet(path)
    columns = _columns(sheet)
    headings = sheet.rows[0] if columns else []
    unread = [heading.strip() for at, heading in enumerate(headings) if at not in columns.values()]
    return Roster(_people(sheet, columns), path, [*filter(None, unread)])


def read_accounts(folder: Path) -> tuple[str, ...]:
    """The students' GitHub accounts; the roster's names where it has no logins at all. Raises as above."""
    people = read_people(folder).people
    logins = [person.ids["github"] for person in people if "github" in person.ids]
    return tuple(logins or [person.student for person in people])


def require_somebody(roster: Roster, students: Collection[str]) -> None:
    """Refuse a roster that names nobody who submitted, because then all submissions would be missing."""
    if roster.people and students and not {*students} & {*roster.students}:
        name = min(students)
        raise GraderError(
            f"{roster.path} matches no submission: its columns (student, name, email, github, canvas id,"
            " moodle id) must identify students by the names of their folders. If it belongs to another"
            f" class, move it away. {terminal_text(name)} is not on it:"
            f" {terminal_text(did_you_mean(name, roster.students))}"
        )


def _people(sheet: Sheet, columns: Mapping[str, int]) -> Iterator[Person]:
    """The person in every row but that of the headings; no two have a name or an id in common."""
    rows = [*zip(sheet.rows, sheet.lines, strict=True)][1 if columns else 0 :]
    lines_of: dict[tuple[str, str], int] = {}
    persons: list[Person] = []
    for row, line in rows:
        known = {kind: sheet.value(row, column) for kind, column in (columns or {"student": 0}).items()}
        name = _full_name({kind: text for kind, text in known.items() if kind != "student"})
        named = known.get("student") or name or known.get("identifier", "")
        if named.casefold() in _NOBODY:
            continue
        if not named:
            at = next((columns[kind] for kind in ("student", "name", "given") if kind in columns), 0)
            raise GraderError(
                f"{sheet.path}, line {line} names no student: fill in column {at + 1} or remove the line."
            )
        ids = {kind: known[kind] for kind in _IDS if known.get(kind)}
        for kind, text in ids.items():
            if (first := lines_of.setdefault((kind, folded(text)), line)) != line:
                heading = sheet.value(sheet.rows[0], columns[kind])
                raise GraderError(
                    f"{sheet.path}, lines {first} and {line} have the same {heading}, {terminal_text(text)}:"
                    " remove, correct or clear one of them."
                )
        persons.append(Person(named, name or named, ids, line, known.get("group", "")))
    numbers = Counter(file_name(person.student) for person in persons)
    for person in persons:
        tag = next(iter(person.ids.values()), None) if numbers[file_name(person.student)] > 1 else None
        student = file_name(f"{person.student}-{tag}" if tag else person.student)
        if (first := lines_of.setdefault(("student", student), person.line)) != person.line:
            raise GraderError(
                f"{sheet.path}, lines {first} and {person.line} both name {terminal_text(student)}:"
                " remove one line or, if they are two students, give each line its own id (email,"
                " github, canvas id, number)."
            )
        yield replace(person, student=student)


def people_of_rows(sheet: Sheet, left_out: Collection[str] = ()) -> Directory:
    """The people of another system's list or gradebook; each has the position of the row as its line.

    Args:
        left_out: kinds of ids that say nothing of a person.
    """
    columns = {kind: column for kind, column in _kinds(sheet.rows[0]).items() if kind not in left_out}
    people = []
    for position, row in enumerate(sheet.rows[1:], 1):
        known = {kind: sheet.value(row, column) for kind, column in columns.items()}
        ids = {kind: known[kind] for kind in _IDS if known.get(kind)}
        name = _full_name(known)
        if (name or ids) and name.casefold() not in _NOBODY:
            people.append(Person("", name, ids, position))
    return Directory(people)


def _full_name(known: Mapping[str, str]) -> str:
    """The name that a row has, in one column or in two."""
    parts = f"{known.get('given', '')} {known.get('family', '')}".strip()
    return known.get("student") or known.get("name") or parts


def _kinds(headings: Sequence[str]) -> dict[str, int]:
    """The columns by their content.

    The heading ``id`` is Canvas's number where a column names students, else the students' name.
    """
    plain = [_plain_heading(cell) for cell in headings]
    columns: dict[str, int] = {}
    for column, heading in enumerate(plain):
        if kind := _KIND_OF.get(heading):
            columns.setdefault(kind, column)
    if "id" in plain:
        is_other = columns.keys() & {"student", "name", "family"}
        columns.setdefault("canvas" if is_other else "student", plain.index("id"))
    return columns


def _plain_heading(cell: str) -> str:
    return re.sub(r"[\s_]+", " ", cell).strip().casefold()


def _columns(sheet: Sheet) -> dict[str, int]:
    """The columns by their content; empty if each row is a student's name, and there are no headings.

    Raises:
        GraderError: there is no row, or the first has no heading that names students, or a mistyped one.
    """
    if not sheet.rows:
        raise GraderError(f"{sheet.path}, line 1 is empty: write {_COLUMNS} there, or remove the file")
    columns = _kinds(sheet.rows[0])
    if not columns and all(len(row) == 1 for row in sheet.rows):
        return {}
    if columns.keys() & {"student", "name", "identifier"} or {"given", "family"} <= {*columns}:
        return columns
    unknown = [cell for cell in sheet.rows[0] if _plain_heading(cell) not in _KIND_OF]
    meant = [
        f"{terminal_text(cell.strip())} may be {near[0]}"
        for cell in unknown
        if (near := alike(cell, _NAMING))
    ]
    raise GraderError(
        f"{sheet.path}, line {sheet.lines[0]}: no column names the students: the first line has to say what"
        f" each column holds, in these words: {_COLUMNS}. The column name (or student) is"
        f" needed{'; '.join(['', *meant])}"
    )
