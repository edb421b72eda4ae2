"""Finds the submitted notebooks, their students and assignments, and the versions that count.

Students named the folders and files: a name may be anything that a file system permits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path

from grader.grading.executor import modules_to_preload
from grader.grading.flags import traces_in
from grader.notebooks.files import FoundNotebook, NotebookError, NotebookFile, find_notebooks, read_file
from grader.notebooks.reader import Notebook, parse_notebook
from grader.notebooks.recognition import NO_STARTER_CODE, has_answers, recognise
from grader.people.record import UNKNOWN, Record, SubmissionTime
from grader.people.roster import NOBODY, Roster, require_somebody
from grader.people.students import students_of_folders
from grader.results.model import Flag, Ignored
from grader.text import distinct_file_name, file_name, some

#: The student and the name of a submission.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Submission:
    """A notebook that counts, or that cannot be graded: then it has an `error`, and no cells to be read.

    Its cells are not kept: the cells of a large class would fill the memory.

    Attributes:
        student: safe as a component of a path, as `name` is.
        assignment: its stem, or None if that is unknown.
        name: the stem or, where that is unknown, a name of its own.
        relative: its path below the folder, fit to be shown.
        superseded: the paths of other versions of the same student and assignment; without an assignment, all
            other notebooks of that student that have none.
        ignored: other files that are not submissions.
        with_answers: those of both that hold an answer.
        copy: why it is a copy made by a tool, as the end of a sentence; it counts because nothing else is
            there.
        preload: modules that the zygote imports for it.
        traces: techniques of deceiving a grader that its text shows, once it has been read again.
        submitted: when it was submitted.
        language: of its kernel, if that is not Python.
    """

    student: str
    assignment: str | None
    name: str
    path: Path
    relative: str
    sha256: str | None
    superseded: tuple[str, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    with_answers: tuple[str, ...] = ()
    copy: str | None = None
    error: str | None = None
    preload: frozenset[str] = frozenset()
    traces: tuple[Flag, ...] = ()
    submitted: SubmissionTime = UNKNOWN
    language: str = ""

    @property
    def key(self) -> Key:
        """The student and the name, which belong to no other submission."""
        return self.student, self.name

    def read(self) -> tuple[Submission, Notebook]:
        """Read the notebook again: the same submission with the traces in its cells, and the notebook.

        Raises:
            NotebookError: it has gone, or was changed since it was found.
        """
        file = read_file(self.path)
        if file.sha256 != self.sha256:
            raise NotebookError(f"{self.relative} was changed while the class was graded: grade again.")
        notebook = parse_notebook(file)
        return replace(self, traces=traces_in(notebook.cells)), notebook


_MOST_NAMED = 20  # notebooks of no known assignment, of one student


class Content(IntEnum):
    """The content of a notebook that decides which version counts."""

    STARTER_CODE = 0
    UNREADABLE = 1
    ANSWERS = 2


@dataclass(frozen=True, slots=True)
class Version:
    """A notebook of which it is not decided yet whether it counts.

    Attributes:
        submission: as it is if it counts, without the other versions.
        found: its path.
        is_certain: whether its metadata or its name say for which assignment it is.
        contradiction: why it counts for none, because its metadata and its name say different assignments.
    """

    submission: Submission
    found: FoundNotebook
    content: Content = Content.STARTER_CODE
    is_certain: bool = True
    contradiction: str | None = None

    def rank(self, in_time: Callable[[Submission], bool]) -> tuple[bool | int | str, ...]:
        """Orders the versions of a student and an assignment: the greatest counts.

        Args:
            in_time: whether a version is in time, where that decides before the time.
        """
        submission, found = self.submission, self.found
        submitted = submission.submitted
        when = int(submitted.recorded.timestamp()) * 10**9 if submitted.recorded else found.modified
        return (
            self.contradiction is None,
            found.copy is None,
            self.content,
            self.is_certain,
            in_time(submission),
            submitted.missing is None or submitted.missing.why != "gone",
            when,
            bool(submitted.is_marked_late),  # of one download, what is marked came last
            -found.depth,
            found.stem == submission.name,
            found.raw_relative,
        )

    def ignored_beside(self, best: Version) -> str | None:
        """Why it is no submission, where another version counts; None for a version that is superseded."""
        if self.contradiction or self.found.copy:
            return self.contradiction or f"a copy made by a tool: it {self.found.copy}"
        if self.submission.assignment is None:
            return None
        if self.content is Content.UNREADABLE:
            return self.submission.error
        if best.is_certain and not self.is_certain:
            return (
                f"recognized as {self.submission.assignment} only by its functions, but"
                f" {best.submission.relative} by its metadata or name"
            )
        return None


def find_submissions(
    folder: Path,
    functions: Mapping[str, Collection[str]],
    starter_code: Mapping[str, Collection[str]] = NO_STARTER_CODE,
) -> list[Submission]:
    """Find every notebook below a folder and decide which of them count, without regard to deadlines."""
    return counting(find_versions(folder, functions, starter_code))


def find_versions(
    folder: Path,
    functions: Mapping[str, Collection[str]],
    starter_code: Mapping[str, Collection[str]] = NO_STARTER_CODE,
    results: Path | None = None,
    roster: Roster = NOBODY,
) -> list[list[Version]]:
    """Find every notebook below a folder, and put those together of which one can count.

    The first folder names the student, whom the roster may know by another name; a notebook directly in
    `folder` is named by its file. Links are not followed.

    Args:
        functions: the names of the functions and classes each assignment asks for, by its stem.
        starter_code: the code cells of each assignment as students get them, by its stem.
        results: the folder for results; if it is in `folder`, it is not a student's.

    Returns:
        The notebooks of each student and assignment, and all of a student's notebooks of no known assignment.
        Notebooks that cannot be read are among them, and students who submitted other files only.

    Raises:
        GraderError: there is no such folder, or no notebook in it, or nobody of the roster, or the record
            cannot be read.
    """
    own = results.resolve() if results else None
    notebooks = find_notebooks(folder, own.name if own and own.parent == folder.resolve() else "")
    safe = _name_students(item.student for item in notebooks)
    record = Record(folder)
    students = students_of_folders(safe.values(), roster, record)
    require_somebody(roster, students.values())
    versions: dict[tuple[str, str], list[Version]] = defaultdict(list)
    unknown_copies = []
    for item in notebooks:
        version = _read(item, students[safe[item.student]], functions, starter_code, record)
        if item.copy and version.submission.assignment is None:
            unknown_copies.append(version)
        else:
            versions[version.submission.student, version.submission.assignment or ""].append(version)
    first = {student: (student, stem) for student, stem in sorted(versions, reverse=True)}
    for version in unknown_copies:  # they make no row of their own beside one of the student's
        student = version.submission.student
        versions[first.get(student, (student, ""))].append(version)
    return [*versions.values()]


def counting(
    versions: Iterable[Sequence[Version]], in_time: Callable[[Submission], bool] = lambda _: True
) -> list[Submission]:
    """The submissions that count, sorted by student and name: of each group the version of the highest rank.

    Args:
        in_time: whether a version is in time, where that decides before the time.
    """
    return sorted((_best(group, in_time) for group in versions), key=lambda submission: submission.key)


def _best(versions: Sequence[Version], in_time: Callable[[Submission], bool]) -> Submission:
    """The submission of the highest rank, which names the others."""
    best = max(versions, key=lambda version: version.rank(in_time))
    superseded, ignored, with_answers = [], [], []
    for version in versions:
        place = version.submission.relative
        if version is best:
            continue
        if reason := version.ignored_beside(best):
            ignored.append(Ignored(place, reason))
        else:
            superseded.append(place)
        if version.content is Content.ANSWERS:
            with_answers.append(place)
    counts = replace(
        best.submission,
        superseded=tuple(sorted(superseded)),
        ignored=tuple(sorted(ignored, key=lambda each: each.path)),
        with_answers=tuple(sorted(with_answers)),
        copy=best.found.copy,
    )
    if counts.assignment is not None or not superseded:
        return counts
    named = ", ".join(some(counts.superseded, _MOST_NAMED - 1))
    error = f"{counts.error} {len(superseded)} more cannot be graded: {named}."
    return replace(counts, error=error)


def _name_students(names: Iterable[str]) -> dict[str, str]:
    """A distinct safe name for each name; a name that is already safe is unchanged."""
    safe: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names), key=lambda name: (file_name(name) != name, name)):
        safe[name] = distinct_file_name(name, name, taken)
        taken.add(safe[name])
    return safe


_MAX_SEARCHED_BYTES = 4 * 1024**2


def _code_of(file: NotebookFile) -> Iterable[str]:
    """Texts that hold the code of a notebook: the file as it is, or its cells where that is large.

    To read the JSON of each notebook again would cost more than a module that only an output names.
    """
    if len(file.content) <= _MAX_SEARCHED_BYTES:
        return [file.content.decode("latin-1")]
    return (cell.source for cell in parse_notebook(file).cells)


def _read(
    item: FoundNotebook,
    student: str,
    functions: Mapping[str, Collection[str]],
    starter_code: Mapping[str, Collection[str]],
    record: Record,
) -> Version:
    """Read the found notebooks; one of no known assignment gets its own name."""
    sha256, notebook, error, preload = None, None, item.problem, frozenset[str]()
    if not item.problem:
        try:
            file = read_file(item.path)
            sha256 = file.sha256
            notebook = parse_notebook(file)
            preload = modules_to_preload(_code_of(file))
        except NotebookError as unreadable:
            error = str(unreadable)
    recognition = recognise(item.stem, notebook, functions)
    stem = None if item.problem else recognition.assignment
    contradiction = None
    if recognition.contradicts:
        error = contradiction = (
            f"{item.relative} is named for {recognition.assignment}, but its metadata say that it is"
            f" {recognition.contradicts}: submit the right notebook, or name the file for"
            f" {recognition.contradicts}."
        )
    if stem is not None:
        name = stem
    else:
        visible = f"_{item.stem}" if item.stem.startswith(".") else item.stem  # files are named after it
        name = distinct_file_name(visible, item.raw_relative, set(functions))
        error = error or (
            f"{item.relative} is not an assignment of this course ({', '.join(functions)}): name the file"
            " after its assignment, and submit it again."
        )
    content, asked = Content.UNREADABLE, recognition.contradicts or stem
    if notebook is not None:
        is_answered = asked and has_answers(notebook.cells, functions[asked], starter_code.get(asked, ()))
        content = Content.ANSWERS if is_answered else Content.STARTER_CODE
    folder, _, inner = item.raw_relative.partition("/")
    modified = datetime.fromtimestamp(item.modified / 10**9, UTC)
    submitted = record.submission_time(folder, inner, modified)
    submission = Submission(
        student, stem, name, item.path, item.relative, sha256, error=error, submitted=submitted
    )
    submission = replace(submission, preload=preload, language=notebook.language if notebook else "")
    return Version(submission, item, content, recognition.is_certain, contradiction)
