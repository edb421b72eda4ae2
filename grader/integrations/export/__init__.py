"""Results in the formats of other systems.

``formats`` is the table of formats; each has a function, which writes an ``Export``.

* Only results of notebooks that are still there are exported, because a result outlives its notebook.
* Students are found in a teacher's list by `grader.people.directory`; whoever may be two people is nobody.
* A student's text is escaped for each format: Markdown, XML, CSV cells, workflow commands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.settings import Feedback
from grader.errors import GraderError
from grader.files import write_atomic
from grader.people.directory import Directory, Pairs, Person, pair
from grader.people.record import Record
from grader.people.roster import NOBODY, Roster, read_people
from grader.people.students import students_of_folders
from grader.results.model import QuestionResult, Result
from grader.results.store import read_run
from grader.text import some, utf8_text, without_controls

if TYPE_CHECKING:
    from grader.course.course import Course

_MAX_NAMES = 20  # in a note


@dataclass(frozen=True)
class Export:
    """What to export, where to write it, and what was written."""

    course: Course  # without unfinished assignments
    stem: str | None  # None for all assignments
    folder: Path  # the results folder of `grade`
    out: Path
    gradebook: Path | None = None  # the teacher's own
    columns: Mapping[str, str] = field(default_factory=dict)  # of the gradebook, to fill, by stem
    results: dict[str, list[Result]] = field(default_factory=dict)  # to export, by stem
    files: list[Path] = field(default_factory=list)  # that were written
    notes: list[str] = field(default_factory=list)  # sentences to show at the end

    @property
    def stems(self) -> tuple[str, ...]:
        """The assignments that were asked for."""
        return self.course.select([self.stem] if self.stem else [])

    @property
    def shows(self) -> Feedback:
        """What students may see."""
        return self.course.settings.feedback

    @cached_property
    def _roster_and_record(self) -> tuple[Roster, Record | None]:
        """What lies beside what was graded, as far as that is still there."""
        submissions = read_run(self.folder).get("submissions")
        if not isinstance(submissions, str) or not Path(submissions).is_dir():
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
        """Where the students of results are among the people of another system."""
        return pair(
            [self.person(student) for student in {result.student: None for result in results}], others
        )

    def repository_of(self, result: Result) -> str | None:
        """The name of the clone that a notebook was collected from; None where it came otherwise."""
        _, record = self._roster_and_record
        folder, _, notebook = result.notebook.partition("/")
        entry = record.entry(folder, notebook) if record else None
        return entry.repository if entry and not entry.system and "/" in entry.origin else None

    def title(self, stem: str) -> str | None:
        """An assignment's title, or None where the course has no such assignment now."""
        return self.course.assignment(stem).title if stem in self.course.stems else None

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file below ``out``.

        Raises:
            GraderError: it cannot be written.
        """
        path = self.out / name
        try:
            write_atomic(path, content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise GraderError(
                f"{path} cannot be written ({error.strerror}): make room there or choose another --out"
            ) from error
        self.files.append(path)

    def note(self, sentence: str, names: Collection[str] | None = None) -> None:
        """Add a note, unless it is there already; about some of these names, if they are given and any."""
        if names:
            sentence = f"{sentence}: {'; '.join(some(names, _MAX_NAMES))}."
        if sentence not in self.notes and (names is None or names):
            self.notes.append(sentence)


def feedback_text(answer: QuestionResult, shows: Feedback) -> str | None:
    """A question's feedback as plain text, a line for each sentence; None where it has all its points."""
    if answer.in_full:
        return None
    if answer.status != "answered":
        return status_text(answer)
    lines: list[str] = []
    for check in answer.checks:
        if check.outcome == "passed":
            continue
        reason = f": {check.message}" if shows.diagnoses and check.message else ""
        lines.append(f"{check.title.rstrip('.') if reason else check.title}{reason}")
        if shows.hints and check.hint:
            lines.append(f"Hint: {check.hint}")
    lines += answer.remarks
    return "\n".join(" ".join(line.split()) for line in lines) or None


def status_text(answer: QuestionResult) -> str:
    """Why a question without an answer has no points."""
    return next((check.message for check in answer.checks if check.message), "Not answered.")


def plain_text(text: str) -> str:
    """Text without what moves a cursor or cannot be encoded."""
    return utf8_text(without_controls(text))


def plain_number(value: float) -> int | float:
    """A number as JSON writes it best: ``4`` and ``4.5``."""
    return int(value) if float(value).is_integer() else value
