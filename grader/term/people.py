"""Whose the folders of a class are, and whom a line of an instructor's file means."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from grader.term.files import Row
from grader.term.record import Record
from grader.term.roster import Person, Roster, require_somebody
from grader.text import did_you_mean


@dataclass(frozen=True)
class Students:
    """The students of a class.

    Attributes:
        handed_in: those who handed in anything, whether they are on the roster or not.
    """

    roster: Roster
    handed_in: Collection[str]

    @property
    def known(self) -> Collection[str]:
        """All of them: those of the roster first, in its order."""
        return dict.fromkeys([*self.roster.students, *sorted(self.handed_in)])

    @property
    def unlisted(self) -> list[str]:
        """A sentence about each who handed in and is not on the roster."""
        others = {*self.handed_in} - {*self.roster.students} if self.roster.people else ()
        return [self.roster.about_unknown(name) for name in sorted(others)]

    def of_row(self, row: Row) -> str:
        """The student whom the row's column `student` means.

        Raises:
            GraderError: it means nobody, or may mean several.
        """
        name = row.cells["student"]
        if not name:
            raise row.error("it names no student: fill in the column student or remove the line")
        if name in self.known:
            return name
        folders = Roster(Person(student, student) for student in self.handed_in)
        people = self.roster.people_called(name, logins=[name]) or folders.people_called(name)
        if len(people) == 1:
            return people[0].student
        if people:
            several = " or ".join(person.student for person in people)
            raise row.error(f"{name} may be several students: write {several}")
        raise row.error(f"{name} is no student of this class: {did_you_mean(name, self.known)}")


def students_of_folders(folders: Iterable[str], roster: Roster, record: Record) -> dict[str, str]:
    """Whose each folder is, by its name, or by the ids that it was collected with.

    A folder that is nobody's on the roster names its student itself.

    Raises:
        GraderError: the roster names nobody of them.
    """
    people: dict[str, Person | None] = {}
    for folder in folders:
        ids = record.ids_of(folder)
        # Canvas and Moodle call folders by names of people; others may call them by logins.
        found = roster.people_called(folder, logins=[] if ids else [folder], ids=ids)
        people[folder] = found[0] if len(found) == 1 else None
    require_somebody(roster, people)
    return {folder: person.student if person else folder for folder, person in people.items()}
