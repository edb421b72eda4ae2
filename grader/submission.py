"""Outside: which notebooks were handed in, by whom and for which assignment.

Everything here was named by strangers: a folder or a file may be called anything a file system permits.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from grader.errors import GraderError
from grader.notebook import Notebook, NotebookError, read_notebook
from grader.recognition import recognise
from grader.roster import read_roster
from grader.text import distinct_file_name, file_name, printable

__all__ = ["Submission", "find_submissions", "read_roster"]

# Browsers append a suffix to what they take for text.
_NOTEBOOK = re.compile(r"(.*)\.ipynb(?:\.txt|\.json)?", re.ASCII | re.DOTALL | re.IGNORECASE)
_SKIPPED_FOLDERS = {".ipynb_checkpoints", "__MACOSX"}
_APPLE_DOUBLE = "._"


@dataclass(frozen=True)
class Submission:
    """A notebook that counts, or one that is in error: it has a `notebook` or an `error`, never both.

    `sha256` is the hash of its file, None where that could not be read.

    `student` and `name` are safe as components of a path; `name` is the assignment's stem or, where that is
    unknown, a name of its own. `relative` and `superseded` are paths below the folder, fit to be shown.
    """

    student: str
    assignment: str | None
    name: str
    path: Path
    relative: str
    sha256: str | None
    superseded: tuple[str, ...]
    notebook: Notebook | None
    error: str | None


@dataclass(frozen=True)
class _Found:
    """A notebook on the disk, or a folder that may hide one because it cannot be listed (its `problem`)."""

    path: Path
    place: str
    modified: int
    problem: str | None

    @property
    def stem(self) -> str:
        named = None if self.problem else _NOTEBOOK.fullmatch(self.path.name)
        return named[1] if named else self.path.name

    @property
    def student(self) -> str:
        first, slash, _ = self.place.partition("/")
        return first if slash else self.stem

    @property
    def relative(self) -> str:
        return printable(self.place)


# The time of its last change, whether its file is named as the stem, its place: what decides between rivals.
_Rank = tuple[int, bool, str]
_Ranked = tuple[_Rank, Submission]


def find_submissions(folder: Path, functions: Mapping[str, Collection[str]]) -> list[Submission]:
    """Find every notebook below a folder and decide which of them count.

    The first folder names the student; a notebook directly in `folder` is named by its file. Of several
    notebooks of a student for one assignment the most recently modified counts, on a tie the one whose file
    is named as the stem, then the last path; the others are named in its `superseded`.

    Args:
        folder: Where the submissions lie. `.ipynb_checkpoints` and what macOS adds to archives are skipped,
            links are not followed.
        functions: The names of the functions and classes each assignment asks for, by its stem.

    Returns:
        One submission for each student and assignment, and one for each notebook of no known assignment,
        sorted by student and name. Notebooks that cannot be read are among them.

    Raises:
        GraderError: There is no such folder, or no notebook in it.
    """
    found = _find(folder)
    students = _name_students(item.student for item in found)
    taken: dict[str, set[str]] = defaultdict(lambda: set(functions))
    best: dict[tuple[str, str], _Ranked] = {}
    for item in found:
        student = students[item.student]
        submission = _read(item, student, taken[student], functions)
        rank = (item.modified, item.stem == submission.name, item.place)
        key = student, submission.name
        best[key] = _better((rank, submission), best.get(key))
    return [best[key][1] for key in sorted(best)]


def _better(one: _Ranked, other: _Ranked | None) -> _Ranked:
    """Return the one of higher rank, which takes over the other's path and what that had superseded."""
    if other is None:
        return one
    (_, loser), (rank, winner) = sorted((one, other), key=itemgetter(0))
    superseded = sorted((*winner.superseded, *loser.superseded, loser.relative))
    return rank, replace(winner, superseded=tuple(superseded))


def _find(folder: Path) -> list[_Found]:
    """Return every notebook below the folder, by its place there."""
    found = sorted(_walk(folder), key=lambda item: item.place)
    if not found:
        raise GraderError(f"There is no notebook below {folder}: put a folder for every student into it.")
    return found


def _walk(folder: Path) -> Iterator[_Found]:
    """Yield what is found below the folder; not recursive, as a stranger decides how deep it is."""
    pending = [(folder, "")]
    while pending:
        path, place = pending.pop()
        try:
            with os.scandir(path) as listing:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
        except OSError as error:
            yield _unlistable(path, place, error)
            continue
        for name, is_folder in entries:
            inner, inner_place = path / name, f"{place}/{name}" if place else name
            if is_folder and name not in _SKIPPED_FOLDERS:
                pending.append((inner, inner_place))
            elif not is_folder and _NOTEBOOK.fullmatch(name) and not name.startswith(_APPLE_DOUBLE):
                yield _Found(inner, inner_place, _modified(inner), problem=None)


def _unlistable(path: Path, place: str, error: OSError) -> _Found:
    """Return a folder that cannot be listed as something found; without the outermost there is nothing."""
    reason = f"cannot be read ({error.strerror})"
    if not place:
        raise GraderError(f"{path} {reason}: name the folder that holds the submissions.") from error
    problem = f"{printable(place)} {reason}: make the folder readable and grade again."
    return _Found(path, place, modified=0, problem=problem)


def _modified(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:  # It has gone meanwhile, which its reader will report.
        return 0


def _name_students(names: Iterable[str]) -> dict[str, str]:
    """Give every name a safe one of its own; what is safe already is served first and keeps its name."""
    safe: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names), key=lambda name: (file_name(name) != name, name)):
        safe[name] = distinct_file_name(name, name, taken)
        taken.add(safe[name])
    return safe


def _read(
    item: _Found, student: str, taken: set[str], functions: Mapping[str, Collection[str]]
) -> Submission:
    """Read what was found; a notebook of no known assignment gets a name that is not taken, and takes it."""
    notebook, sha256, error = _try_to_read(item)
    assignment = None if item.problem else recognise(item.stem, notebook, functions)
    if assignment is None:
        stems = ", ".join(functions)
        error = error or (
            f"{item.relative} is no assignment of this course ({stems}): name the file after the one it"
            " answers and hand it in anew."
        )
        name = distinct_file_name(item.stem, item.place, taken)
        taken.add(name)
        return Submission(student, None, name, item.path, item.relative, sha256, (), None, error)
    return Submission(student, assignment, assignment, item.path, item.relative, sha256, (), notebook, error)


def _try_to_read(item: _Found) -> tuple[Notebook | None, str | None, str | None]:
    """Return the notebook, the hash of its file, and what is wrong with it; what is not known is None."""
    if item.problem:
        return None, None, item.problem
    try:
        notebook = read_notebook(item.path)
    except NotebookError as error:
        return None, error.sha256, str(error)
    return notebook, notebook.sha256, None
