"""Results in the formats of other systems: one module each, found by being here.

A module with a `FORMAT` is an export: ``export --help``, the messages and the list in
``docs/instructors.md`` read it from there, and the tests of what every export must do include it.

* Only results of notebooks that are still there are exported, because a result outlives its notebook.
* Students are found in a teacher's list by `grader.people.directory`, which finds nobody if several people
  match.
* A student's text is escaped for each format: Markdown, XML, CSV cells, workflow commands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.settings import Feedback
from grader.errors import GraderError
from grader.people.directory import Directory, Pairs, Person, pair
from grader.people.record import Entry, Record
from grader.people.roster import NOBODY, Roster, read_people
from grader.people.students import students_of_folders
from grader.results.model import Result
from grader.results.store import read_current, read_results, read_run
from grader.text import some, utf8_text, without_controls

if TYPE_CHECKING:
    from grader.course.course import Course

_MAX_NAMES = 20  # in a note


@dataclass(frozen=True)
class Export:
    """The results to export, the folder to write to, and the files that were written."""

    course: Course  # without unfinished assignments
    stem: str | None  # None for all assignments
    folder: Path  # the results folder of `grade`
    out: Path
    gradebook: Path | None = None  # the teacher's own
    columns: Mapping[str, str] = field(default_factory=dict)  # of the gradebook, to fill, by stem
    contents: dict[Path, bytes] = field(default_factory=dict)  # of the files, which are written at the end
    notes: list[str] = field(default_factory=list)  # sentences to show at the end

    @property
    def stems(self) -> tuple[str, ...]:
        """The assignments that were asked for."""
        return self.course.select([self.stem] if self.stem else [])

    @property
    def has_results(self) -> bool:
        """Whether there is a result of an assignment that was asked for."""
        is_there = (self.folder / "submissions").is_dir()
        return is_there and any(result.assignment in self.stems for result in read_results(self.folder))

    @cached_property
    def results(self) -> dict[str, list[Result]]:
        """The results to export, by assignment; adds notes about those that are left out.

        Raises:
            GraderError: nothing is.
        """
        results, gone = read_current(self.folder)
        stems = sorted({result.assignment for result in results if result.assignment})
        if self.stem is not None and self.stem not in stems:
            known = ", ".join(stems) or "none"
            raise GraderError(f"there are no results of {self.stem}, only of {known}")
        if not stems:
            raise GraderError(
                "no result belongs to an assignment of the course, so there is nothing to export"
            )
        if self.stem is None:
            others = [result.notebook for result in results if not result.assignment]
            self.note("Left out, because they belong to no assignment", others)
        chosen = {
            stem: [result for result in results if result.assignment == stem and not result.excuse]
            for stem in ([self.stem] if self.stem else stems)
        }
        for stem in chosen:
            self.note(f"{stem}, excused, so without a score", self.excused(stem))
        every = [result for group in chosen.values() for result in group]
        failed = [result.notebook for result in every if result.error]
        self.note("These could not be graded and are exported with 0 points", failed)
        self.note("Left out, because they are no longer in the gradebook", gone)
        missing = [f"{result.notebook} ({result.missing.text})" for result in every if result.missing]
        self.note("Exported with their old results, because the current clones don't contain them", missing)
        return chosen

    def excused(self, stem: str) -> list[str]:
        """The students who are excused from an assignment, whether they submitted it or not."""
        results, _ = read_current(self.folder)
        submitted = {result.student for result in results if result.assignment == stem and result.excuse}
        others = {student for student, excused in read_run(self.folder).excused if excused == stem}
        return sorted(submitted | others)

    @property
    def shows(self) -> Feedback:
        """The parts that students may see."""
        return self.course.settings.feedback

    @cached_property
    def _roster_and_record(self) -> tuple[Roster, Record | None]:
        """The roster and the record of the graded submissions, if they still exist."""
        submissions = read_run(self.folder).submissions
        if submissions is None or not Path(submissions).is_dir():
            return NOBODY, None
        return read_people(Path(submissions)), Record(Path(submissions))

    @property
    def listed(self) -> Sequence[str]:
        """The students of the roster; none without a roster."""
        return self._roster_and_record[0].students

    def person(self, student: str) -> Person:
        """A student, with all names and ids of the roster and those by which notebooks were collected."""
        return self._people.get(student, Person(student, student))

    @cached_property
    def _people(self) -> dict[str, Person]:
        """By student, those of the roster and those of whom something was collected."""
        roster, record = self._roster_and_record
        people = {person.student: person for person in roster.people}
        if record is not None:
            for folder, student in students_of_folders(record.folders.values(), roster, record).items():
                known = people.get(student, Person(student, student))
                collected = {kind: text for kind, text in record.ids_of(folder).items() if kind != "moodle"}
                people[student] = replace(known, ids={**collected, **known.ids})
        return people

    def pairs(self, results: Iterable[Result], others: Directory) -> Pairs:
        """The positions of the results' students among the people of another system."""
        return pair(
            [self.person(student) for student in {result.student: None for result in results}], others
        )

    def collected(self, result: Result) -> Entry | None:
        """The record that ``collect`` made of a result's notebook; None if there is none."""
        _, record = self._roster_and_record
        folder, _, notebook = result.notebook.partition("/")
        return record.entry(folder, notebook) if record else None

    def title(self, stem: str) -> str | None:
        """An assignment's title, or None if the course has no such assignment now."""
        return self.course.assignment(stem).title if stem in self.course.stems else None

    def add_file(self, name: str, content: str | bytes) -> None:
        """Have a file below ``out`` written, once everything that is exported could be read."""
        self.contents[self.out / name] = content.encode() if isinstance(content, str) else content

    def note(self, sentence: str, names: Collection[str] | None = None) -> None:
        """Add a note, unless it is there already; about some of these names, if they are given and any."""
        if names:
            sentence = f"{sentence}: {'; '.join(some(names, _MAX_NAMES))}."
        if sentence not in self.notes and (names is None or names):
            self.notes.append(sentence)


@dataclass(frozen=True)
class Format:
    """A format of another system, as its module describes it.

    Attributes:
        name: its name in the command.
        write: writes the files of an export; it raises GraderError if it cannot.
        help: its output, a line for each kind of file, for ``--help``.
        advice: how to use the files, for the documentation, without a full stop at the end.
        gradebook: the file that ``--gradebook`` names, which is filled in; empty if there is none.
        needs_gradebook: whether it writes nothing without that.
        takes_columns: whether ``--column`` has a meaning.
    """

    name: str
    write: Callable[[Export], None]
    help: str
    advice: str
    gradebook: str = ""
    needs_gradebook: bool = False
    takes_columns: bool = False


def plain_text(text: str) -> str:
    """Text without characters that move a cursor or cannot be encoded."""
    return utf8_text(without_controls(text))


def plain_number(value: float) -> int | float:
    """A number as JSON writes it best: ``4`` and ``4.5``."""
    return int(value) if float(value).is_integer() else value
