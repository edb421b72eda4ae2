"""The students of a class's folders, and of the lines in an instructor's files."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.errors import GraderError
from grader.people.directory import NUMBERED, Directory, Person
from grader.people.files import Row
from grader.people.record import Record
from grader.people.roster import NOBODY, Roster, read_people
from grader.text import did_you_mean, terminal_text


@dataclass(frozen=True)
class Students:
    """The students of a class.

    Attributes:
        submitted: those who submitted anything, whether they are on the roster or not.
    """

    roster: Roster
    submitted: Collection[str]

    @cached_property
    def _everybody(self) -> Directory:
        """All of them: those of the roster first, in its order."""
        others = sorted({*self.submitted} - {*self.roster.students})
        return Directory([*self.roster.people, *(Person(student, student) for student in others)])

    @property
    def unlisted(self) -> list[str]:
        """Sentences about columns that are not read, and each who submitted and is not on the roster."""
        others = {*self.submitted} - {*self.roster.students} if self.roster.people else ()
        unread = [self.roster.about_unread] if self.roster.unread else []
        return [*unread, *(self.roster.about_unknown(name) for name in sorted(others))]

    def called(self, name: str) -> str:
        """The student whom a person calls so: by a folder, a name in any order, a login or an address.

        Raises:
            GraderError: it is nobody's, or may be that of several.
        """
        people = self._everybody.find(name, logins=[name])
        shown = terminal_text(name)
        if len(people) == 1:
            return people[0].student
        if people:
            several = " or ".join(terminal_text(person.student) for person in people)
            raise GraderError(f"{shown} may be several students: write {several}")
        unread = f" ({self.roster.about_unread})" if self.roster.unread else ""
        meant = terminal_text(did_you_mean(name, self._everybody.students))
        raise GraderError(f"{shown} is not a student of this class: {meant}{unread}")

    def of_row(self, row: Row) -> str:
        """The student whom the row's column `student` means.

        Raises:
            GraderError: it means nobody, or may mean several.
        """
        name = row.cells["student"]
        if not name:
            raise row.error("it names no student: fill in the column student or remove the line")
        try:
            return self.called(name)
        except GraderError as error:
            raise row.error(str(error)) from None


def student_called(name: str, known: Collection[str], submissions: str | None) -> str:
    """The student whom a person calls so, among those that are known.

    Args:
        submissions: the folder that was graded, whose roster has other names of theirs.

    Raises:
        GraderError: it is nobody's, or may be that of several; or the roster cannot be read.
    """
    return Students(read_people(Path(submissions)) if submissions else NOBODY, known).called(name)


def person_of_folder(folder: str, roster: Roster, record: Record) -> Person | None:
    """The student on the roster who has a folder, by its name, or by the ids of its collection."""
    ids = record.ids_of(folder)
    # Systems call folders by the people's names, or by logins; what was not collected may be either.
    logins = [text for kind, text in ids.items() if kind not in NUMBERED] if ids else [folder]
    found = roster.find(folder, logins=logins, ids=ids)
    return found[0] if len(found) == 1 else None


def students_of_folders(folders: Iterable[str], roster: Roster, record: Record) -> dict[str, str]:
    """The student of each folder; one that is nobody's on the roster names its student itself."""
    people = {folder: person_of_folder(folder, roster, record) for folder in folders}
    return {folder: person.student if person else folder for folder, person in people.items()}
