"""The types of ``collect``: a student, a notebook, a system, and a system's information about a source."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import chain

from grader.errors import GraderError
from grader.integrations.collect.source import Parts, Source, SourceFile
from grader.notebooks.files import notebook_stem
from grader.people.roster import Roster
from grader.text import terminal_text

Closing = Mapping[str, Collection[datetime]]
Answered = Callable[[str, bytes], bool]


@dataclass(frozen=True)
class Student:
    """A student, as a system names them."""

    name: str
    system: str = ""  # where it knows people by an `id`
    id: str = ""
    logins: tuple[str, ...] = ()  # logins, addresses or numbers of other systems

    @property
    def identity(self) -> str:
        """The text that distinguishes students of one name."""
        return self.id or (self.logins[0] if self.logins else self.name)


@dataclass(frozen=True)
class Submitted:
    """A notebook, whose it is, and when it was submitted."""

    student: Student
    file: SourceFile
    name: str  # as the student called the file
    when: int  # nanoseconds since 1970
    is_marked_late: bool = False  # by the system

    @property
    def rank(self) -> tuple[int, int, Parts]:
        """Orders the versions of a notebook; the greatest is the latest."""
        return self.when, -len(self.file.parts), self.file.parts


@dataclass
class Listing:
    """A system's information about a source."""

    notebooks: list[Submitted]
    notes: list[str] = field(default_factory=list)  # how students were named, for a person to check
    others: dict[Student, str] = field(default_factory=dict)  # without a notebook: a file they submitted
    empty: list[Student] = field(default_factory=list)  # whose repositories hold no notebook

    def files(self) -> dict[Student, set[str]]:
        """The names of each student's notebooks, also of students who have none."""
        names: dict[Student, set[str]] = {student: set() for student in self.others}
        for notebook in self.notebooks:
            names.setdefault(notebook.student, set()).add(notebook.name)
        return names


@dataclass(frozen=True)
class Context:
    """Information about a source from elsewhere.

    Attributes:
        prefixes: the parts of names before the student's; None if they are unknown.
        zone: of times without a time zone.
        at: now.
        is_night: whether clones are what the repositories hold now; else a clone is of the time at which it
            was made or brought up to date.
        closing: by assignment of the course, the times at which versions may have been the last in time.
        is_answered: whether a notebook, by its name and content, holds an answer.
    """

    prefixes: tuple[str, ...] | None
    roster: Roster
    zone: tzinfo
    at: datetime
    is_night: bool
    closing: Closing
    is_answered: Answered

    def closing_of(self, name: str) -> Collection[datetime]:
        """The closing times of a notebook: its assignment's, or all where it is not named after one."""
        return self.closing.get(notebook_stem(name), {*chain(*self.closing.values())})

    def nanoseconds(self, when: datetime) -> int:
        """A time, which is in the course's time zone if it names none, since 1970."""
        at = when if when.tzinfo else when.replace(tzinfo=self.zone)
        return max(int(at.timestamp()), 0) * 10**9

    def without_prefix(self, name: str, separator: str = "-") -> str:
        """The student's part of a name, which may be all of it.

        Raises:
            GraderError: it begins with two of the prefixes.
        """
        begins = [p.rstrip(separator) + separator for p in self.prefixes or () if p.rstrip(separator)]
        fitting = [begin for begin in begins if name.startswith(begin) and name != begin]
        if len(fitting) > 1:
            raise GraderError(
                f"{terminal_text(name)} begins with {' and '.join(fitting)}, so it is not clear whose it is:"
                " collect the assignments one after the other, each from a folder of its own."
            )
        return name.removeprefix(fitting[0]) if fitting else name


@dataclass(frozen=True)
class Named:
    """The information in a system's name of a file or a folder.

    Attributes:
        student: as the system calls them.
        id: the system's own number of the student.
        logins: other ids of the student.
        file: as the student called the file; empty if the name is a folder's.
        when: of the submission; None if the name says nothing of it.
        order: grows with each submission, where the name has no time.
        attempt: the same for files of one name, which decides among those.
        is_late: whether the system marks it as late.
    """

    student: str
    id: str = ""
    logins: tuple[str, ...] = ()
    file: str = ""
    when: datetime | None = None
    order: int | None = None
    attempt: int = 0
    is_late: bool = False


def _nothing(*_: object) -> None:
    """The function of a system that needs none."""


@dataclass(frozen=True)
class System:
    """A system, by the names that it gives to downloads.

    Attributes:
        key: names it in ``collected.csv``, and the roster's column of its ids.
        title: names it for people.
        pattern: its names, as a person reads them.
        example: such a name, and the student in it.
        about: the end of its row in the documentation, without a full stop.
        parse: decodes a name at the top; returns None if it is not the system's.
        is_loose: other systems' names may look like its own, so it is asked last.
        check: refuses what is ambiguous in all names together.
        is_wrapped: whether its zips hold everything in one folder.
        times: when each was submitted, by the name at the top, as other files of the system say.
        of_teachers: the name of a folder, in that of a student, which holds what teachers wrote.
        read: reads a source that has more than names; None from it where the source is another system's.
        folder: matches the names of the folders that `read` reads; their student is its first group, or all.
        marker: a file beside these folders, without which they are not the system's.
    """

    key: str
    title: str
    pattern: str
    example: tuple[str, str]
    about: str
    parse: Callable[[str, Context], Named | None] = _nothing
    is_loose: bool = False
    check: Callable[[Mapping[str, Named], Context], None] = _nothing
    is_wrapped: bool = False
    times: Callable[[Source], Mapping[str, datetime]] = lambda _: {}
    of_teachers: str = ""
    read: Callable[[Source, Context], Listing | None] = _nothing
    folder: re.Pattern[str] | None = None
    marker: str = ""

    def student_in(self, name: str, context: Context) -> str | None:
        """Whose a name is; None if it is not the system's."""
        if self.folder:
            found = self.folder.fullmatch(name)
            return found[self.folder.groups and 1] if found else None
        try:
            named = self.parse(name, context)
        except GraderError:  # it begins as the system's names do
            return name
        return named.student if named else None
