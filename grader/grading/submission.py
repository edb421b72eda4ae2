"""Which notebooks were handed in, by whom and for which assignment.

Students named the folders and files: a name may be anything that a file system permits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from grader.grading.executor import modules_to_preload
from grader.grading.flags import traces_in
from grader.notebooks.files import FoundNotebook, NotebookError, NotebookFile, find_notebooks, read_file
from grader.notebooks.reader import Cell, parse_notebook, recognise
from grader.people.record import UNKNOWN, HandIn, Record
from grader.people.roster import NOBODY, Roster
from grader.people.students import students_of_folders
from grader.results.model import Flag
from grader.text import distinct_file_name, file_name, some

#: Where a notebook lies, fit to be shown, and the hash of its file.
Key = tuple[str, str]
_NOTHING_KNOWN: Mapping[Key, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Submission:
    """A notebook that counts, or that cannot be graded: then it has an `error`, and no cells to be read.

    Its cells are not kept: the cells of a large class would fill the memory.

    Attributes:
        student: safe as a component of a path, as `name` is.
        assignment: its stem, or None where that is unknown.
        name: the stem or, where that is unknown, a name of its own.
        relative: its path below the folder, fit to be shown.
        superseded: where older notebooks of the same student and assignment lie; without an assignment, all
            other notebooks of that student that have none.
        preload: modules that the zygote imports for it.
        traces: what its text shows of the ways to deceive a grader, once it has been read again.
        hand_in: when it was handed in.
    """

    student: str
    assignment: str | None
    name: str
    path: Path
    relative: str
    sha256: str | None
    superseded: tuple[str, ...] = ()
    error: str | None = None
    preload: frozenset[str] = frozenset()
    traces: tuple[Flag, ...] = ()
    hand_in: HandIn = UNKNOWN

    @property
    def key(self) -> tuple[str, str]:
        """The student and the name, which belong to no other submission."""
        return self.student, self.name

    def read(self) -> tuple[Submission, tuple[Cell, ...]]:
        """Read the notebook again: the same submission with the traces in its cells, and the cells.

        Raises:
            NotebookError: it has gone, or was changed since it was found.
        """
        cells = self.cells()
        return replace(self, traces=traces_in(cells)), cells

    def cells(self) -> tuple[Cell, ...]:
        """Read the cells again.

        Raises:
            NotebookError: as above.
        """
        file = read_file(self.path)
        if file.sha256 != self.sha256:
            raise NotebookError(f"{self.relative} was changed while the class was graded: grade again.")
        return parse_notebook(file).cells


_MOST_NAMED = 20  # notebooks of no known assignment, of one student

# What decides between rivals: whether a repository still holds it, when it was handed in, whether the file is
# named as the stem, the path.
_Rank = tuple[bool, int, bool, str]
Rivals = list[tuple[_Rank, "Submission"]]
"""The notebooks of which one counts."""


def find_submissions(
    folder: Path,
    functions: Mapping[str, Collection[str]],
    known: Mapping[Key, str] = _NOTHING_KNOWN,
    results: Path | None = None,
    roster: Roster = NOBODY,
) -> list[Submission]:
    """Find every notebook below a folder and decide which of them count, without regard to deadlines."""
    return counting(find_rivals(folder, functions, known, results, roster))


def find_rivals(
    folder: Path,
    functions: Mapping[str, Collection[str]],
    known: Mapping[Key, str] = _NOTHING_KNOWN,
    results: Path | None = None,
    roster: Roster = NOBODY,
) -> list[Rivals]:
    """Find every notebook below a folder, and put those together of which one can count.

    The first folder names the student, whom the roster may know by another name; a notebook directly in
    `folder` is named by its file. Copies of Jupyter, macOS and a release are skipped; links are not followed.

    Args:
        functions: the names of the functions and classes each assignment asks for, by its stem.
        known: the assignments of notebooks that were recognised before, which need not be read as JSON again.
        results: where results go; a folder in `folder` that is this one is no student's.

    Returns:
        The notebooks of each student and assignment, and all of a student's notebooks of no known assignment.
        Notebooks that cannot be read are among them, and students who handed in other files only.

    Raises:
        GraderError: there is no such folder, or no notebook in it, or nobody of the roster, or the record
            cannot be read.
    """
    own = results.resolve() if results else None
    notebooks = find_notebooks(folder, own.name if own and own.parent == folder.resolve() else "")
    safe = _name_students(item.student for item in notebooks)
    record = Record(folder)
    students = students_of_folders(safe.values(), roster, record)
    rivals: dict[tuple[str, str], Rivals] = defaultdict(list)
    for item in notebooks:
        student = students[safe[item.student]]
        submission = _with_time(_read(item, student, functions, known), item, record)
        recorded = submission.hand_in.recorded
        when = int(recorded.timestamp()) * 10**9 if recorded else item.modified
        missing = submission.hand_in.missing
        is_there = missing is None or missing.why != "gone"
        rank = (is_there, when, item.stem == submission.name, item.raw_relative)
        rivals[student, submission.assignment or ""].append((rank, submission))
    return [*rivals.values()]


def counting(
    rivals: Iterable[Rivals], prefers: Callable[[Submission], bool] = lambda _: True
) -> list[Submission]:
    """The submissions that count, sorted by student and name.

    Of several notebooks of a student for an assignment the last one handed in counts, of those that are
    preferred and that a repository still holds, by the record of ``collect`` or, where that says nothing, by
    the time of the file; on a tie the notebook whose file is named as the stem, then the last path.

    Args:
        prefers: whether a notebook counts before those of which this says no.
    """
    return sorted((_best(same, prefers) for same in rivals), key=lambda submission: submission.key)


def _with_time(submission: Submission, item: FoundNotebook, record: Record) -> Submission:
    folder, _, name = item.raw_relative.partition("/")
    modified = datetime.fromtimestamp(item.modified / 10**9, UTC)
    return replace(submission, hand_in=record.hand_in(folder, name, submission.sha256, modified))


def _best(rivals: Rivals, prefers: Callable[[Submission], bool]) -> Submission:
    """The submission of the highest rank, which names the others.

    Without an assignment a submission that could not be read comes first, because it says why.
    """
    _, best = max(rivals, key=lambda rival: (_is_unread(rival[1]), prefers(rival[1]), rival[0]))
    others = tuple(sorted(rival.relative for _, rival in rivals if rival is not best))
    if best.assignment is not None or not others:
        return replace(best, superseded=others)
    named = ", ".join(some(others, _MOST_NAMED - 1))
    return replace(
        best, superseded=others, error=f"{best.error} {len(others)} more cannot be graded: {named}."
    )


def _is_unread(submission: Submission) -> bool:
    return submission.assignment is None and submission.sha256 is None


def _name_students(names: Iterable[str]) -> dict[str, str]:
    """Each name with a safe name that no other has; a name that is safe already stays as it is."""
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
    item: FoundNotebook, student: str, functions: Mapping[str, Collection[str]], known: Mapping[Key, str]
) -> Submission:
    """Read what was found; a notebook of no known assignment gets a name of its own."""
    sha256 = assignment = None
    error, preload = item.problem, frozenset[str]()
    if not item.problem:
        try:
            file = read_file(item.path)
            sha256 = file.sha256
            assignment = known.get((item.relative, sha256)) or recognise(
                item.stem, parse_notebook(file), functions
            )
            preload = modules_to_preload(_code_of(file))
        except NotebookError as unreadable:
            assignment, error = recognise(item.stem, None, functions), str(unreadable)
    if assignment is not None:
        name = assignment
    else:
        visible = f"_{item.stem}" if item.stem.startswith(".") else item.stem  # files are named after it
        name = distinct_file_name(visible, item.raw_relative, set(functions))
        error = error or (
            f"{item.relative} is no assignment of this course ({', '.join(functions)}): name the file after"
            " the one it answers and hand it in anew."
        )
    lies = item.path, item.relative
    return Submission(student, assignment, name, *lies, sha256, error=error, preload=preload)
