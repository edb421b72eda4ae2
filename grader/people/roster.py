"""``roster.csv``: the people of a class, by all the names and ids under which systems know them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from grader.errors import GraderError
from grader.people.files import find_file
from grader.sheets import Sheet, read_sheet
from grader.text import alike, did_you_mean, file_name, plain_words, some, terminal_text

ROSTER = "roster.csv"

#: By what a column holds, its headings: ours, and those of GitHub Classroom, Canvas, Moodle and Gradescope.
_HEADINGS: Mapping[str, Collection[str]] = {
    "student": ("student", "students"),
    "name": ("name", "full name"),
    "given": ("first name", "given name"),
    "family": ("last name", "surname", "family name"),
    "identifier": ("identifier",),
    "login": ("login", "username", "user", "sis login id"),
    "email": ("email", "e-mail", "email address", "mail"),
    "github": ("github", "github login", "github username"),
    "canvas": ("canvas", "canvas id"),
    "moodle": ("moodle", "moodle id"),
    "number": ("number", "id number", "student id", "sid", "sis user id"),
}
_KIND_OF = {heading: kind for kind, headings in _HEADINGS.items() for heading in headings}
_NOBODY = {"points possible", "student, test"}  # rows of Canvas's gradebook that are no student's
_NAMING = ("student", "name", "first name", "last name")
_MOST_NAMED = 6
_COLUMNS = "student, name, email, github, canvas id, moodle id, number"
_IDS = ("canvas", "moodle", "number", "email", "github", "login", "identifier")
#: So unlike names that they may stand in their place.
_UNIQUE = ("identifier", "login", "email", "github", "number")
_PARTICIPANT = re.compile(r"participant (\d+)", re.IGNORECASE)  # a number of Moodle's


NO_IDS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Person:
    """A student.

    Attributes:
        student: names the folder, and the results.
        name: in full, as far as the roster says it.
        ids: by system or kind (``_IDS``), as the roster says it.
        line: of the roster.
    """

    student: str
    name: str
    ids: Mapping[str, str] = field(default_factory=dict)
    line: int = 0


class Roster:
    """People, found by what systems call them.

    Args:
        unread: headings of the columns that mean nothing here.
    """

    def __init__(
        self, people: Iterable[Person], path: Path | None = None, unread: Sequence[str] = ()
    ) -> None:
        self.people, self.path, self.unread = tuple(people), path, unread
        self._students = {person.student: person for person in self.people}
        self._ids: dict[tuple[str, str], list[Person]] = defaultdict(list)
        self._names: dict[str, list[Person]] = defaultdict(list)
        for person in self.people:
            for kind, text in person.ids.items():
                self._ids[kind, _folded(text)].append(person)
            for key in {key for text in {person.student, person.name} for key in name_keys(text)}:
                self._names[key].append(person)

    @property
    def students(self) -> tuple[str, ...]:
        """The students, in the roster's order."""
        return tuple(self._students)

    def people_called(
        self, name: str, *, logins: Iterable[str] = (), ids: Mapping[str, str] = NO_IDS
    ) -> Sequence[Person]:
        """Who may be meant: nobody, a person, or several of the same name.

        A folder's own name decides, then an id, then a name without case, accents and order of its words.
        Moodle numbers people anew in each assignment: its number only tells apart who has the same name.

        Args:
            name: of a folder or a person.
            logins: what may be a login, an address or a number, whatever system has given it.
            ids: by the system that knows the person by it.
        """
        if name in self._students:
            return [self._students[name]]
        asked = [(kind, text) for kind, text in ids.items() if kind != "moodle"]
        asked += [(kind, login) for login in logins for kind in _UNIQUE]
        for kind, text in asked:
            if len(found := self._ids.get((kind, _folded(text)), [])) == 1:
                return found
        named = self._called(name)
        if len(named) == 1:
            return named
        of_moodle = self._ids.get(("moodle", _folded(ids.get("moodle", ""))), [])
        return [person for person in of_moodle if person in named or not named] or named

    @property
    def about_unread(self) -> str:
        """A sentence about columns that mean nothing here; empty where there are none."""
        columns = ", ".join(some([terminal_text(heading) for heading in self.unread], _MOST_NAMED))
        return f"{self.path} has columns that are not read: {columns}." if columns else ""

    def about_unknown(self, name: str) -> str:
        """A sentence about a name that is nobody's on the roster, or that of several."""
        several = [person.student for person in self._called(name)]
        if len(several) > 1:
            named = " and ".join(map(terminal_text, several))
            return f"{terminal_text(name)} may be {named}: call the folder so, or give an id to the roster."
        known = {person.name for person in self.people} | {*self.students}
        near = alike(name, known)
        meant = f": did you mean {terminal_text(' or '.join(near))}?" if near else "."
        return f"{terminal_text(name)} is not on the roster{meant}"

    def _called(self, name: str) -> list[Person]:
        found = {person.student: person for key in name_keys(name) for person in self._names.get(key, ())}
        return [*found.values()]


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


def read_roster(folder: Path) -> tuple[str, ...]:
    """The students that `roster.csv` names, in its order; none without such a file. Raises as above."""
    return read_people(folder).students


def read_accounts(folder: Path) -> tuple[str, ...]:
    """The students' GitHub accounts; the roster's names where it has no logins at all. Raises as above."""
    people = read_people(folder).people
    logins = [person.ids["github"] for person in people if "github" in person.ids]
    return tuple(logins or [person.student for person in people])


def require_somebody(roster: Roster, folders: Mapping[str, Person | None]) -> None:
    """Refuse a roster that names nobody who handed in, because then the whole class would be absent.

    Args:
        folders: whose they are.
    """
    if roster.people and folders and not any(folders.values()):
        name = min(folders)
        raise GraderError(
            f"{roster.path} names nobody who handed in: its columns (student, name, email, github, canvas id,"
            " moodle id) have to name students as their folders are called; if it belongs to another class,"
            f" move it away. {terminal_text(name)} is not on it:"
            f" {terminal_text(did_you_mean(name, roster.students))}"
        )


def _people(sheet: Sheet, columns: Mapping[str, int]) -> Iterator[Person]:
    """The person in every row but that of the headings; no two have a name or an id in common."""
    rows = [*zip(sheet.rows, sheet.lines, strict=True)][1 if columns else 0 :]
    lines_of: dict[tuple[str, str], int] = {}
    persons: list[Person] = []
    for row, line in rows:
        known = {kind: sheet.value(row, column) for kind, column in (columns or {"student": 0}).items()}
        name = known.get("name") or f"{known.get('given', '')} {known.get('family', '')}".strip()
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
            if (first := lines_of.setdefault((kind, _folded(text)), line)) != line:
                heading = sheet.value(sheet.rows[0], columns[kind])
                raise GraderError(
                    f"{sheet.path}, lines {first} and {line} have the same {heading}, {terminal_text(text)}:"
                    " remove one of them or correct it, or leave it empty."
                )
        persons.append(Person(named, name or named, ids, line))
    shared = _shared(file_name(person.student) for person in persons)
    for person in persons:
        tag = next(iter(person.ids.values()), None) if file_name(person.student) in shared else None
        student = file_name(f"{person.student}-{tag}" if tag else person.student)
        if (first := lines_of.setdefault(("student", student), person.line)) != person.line:
            raise GraderError(
                f"{sheet.path}, lines {first} and {person.line} both name {terminal_text(student)}:"
                " remove one of them or, if they are two students, give each line an id of its own (email,"
                " github, canvas id, number)."
            )
        yield replace(person, student=student)


def _columns(sheet: Sheet) -> dict[str, int]:
    """The columns by what they hold; empty where each row is a student's name, and there are no headings.

    The heading ``id`` is Canvas's number where a column names students, else the students' name.

    Raises:
        GraderError: the first row has no heading that names students, or a mistyped one.
    """
    if not sheet.rows:
        return {}
    headings = [re.sub(r"[\s_]+", " ", cell).strip().casefold() for cell in sheet.rows[0]]
    columns: dict[str, int] = {}
    for column, heading in enumerate(headings):
        if kind := _KIND_OF.get(heading):
            columns.setdefault(kind, column)
    if "id" in headings:
        is_other = columns.keys() & {"student", "name"}
        columns.setdefault("canvas" if is_other else "student", headings.index("id"))
    if not columns and all(len(row) == 1 for row in sheet.rows):
        return {}
    if columns.keys() & {"student", "name", "identifier"} or {"given", "family"} <= {*columns}:
        return columns
    unknown = [cell for cell, heading in zip(sheet.rows[0], headings, strict=True) if heading not in _KIND_OF]
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


def _shared(names: Iterable[str]) -> set[str]:
    """The names that stand there more than once."""
    return {name for name, number in Counter(names).items() if number > 1}


def _folded(text: str) -> str:
    participant = _PARTICIPANT.fullmatch(text.strip())
    return participant[1] if participant else text.strip().casefold()


def name_keys(name: str) -> set[str]:
    """What names of a person have in common, whatever their order, accents and case.

    The words in order of the alphabet; and, since Canvas writes ``lovelaceada``, the words without gaps,
    beginning with any of them.
    """
    words = plain_words(name)
    if not words:
        return set()
    rotations = {"".join(words[at:] + words[:at]) for at in range(len(words))}
    return {" ".join(sorted(words)), *rotations}
