"""Outside: what grading a folder gave, and whose work is missing from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.grading.submission import Submission, read_roster
from grader.results.changes import Change
from grader.results.folder import ResultsFolder
from grader.results.row import Row
from grader.text import printable, some

_MOST_NAMED = 5


@dataclass(frozen=True)
class Outcome:
    """What grading gave.

    Attributes:
        rows: of every submission that was found and has been graded now or before.
        absent: (student, stem) of the roster without a submission.
        protection: what confined the students' code.
        fresh: how many results are new.
        without: folders in which there is no notebook.
        note: what else whoever grades should know, in a sentence, or None.
        changes: results whose score or status is another than in the run before.
        again: how many were judged again from what had been observed before; they are not new.
        unlisted: who handed in and is not on the roster, where there is one.
        points: what each question is worth, of the assignments somebody is absent from.
    """

    rows: list[Row]
    absent: list[tuple[str, str]]
    protection: str
    fresh: int
    without: list[str]
    note: str | None = None
    changes: list[Change] = field(default_factory=list)
    again: int = 0
    unlisted: list[str] = field(default_factory=list)
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def without_notebook(found: Sequence[Submission], submissions: Path) -> list[str]:
    """Folders of students that hold no notebook: perhaps somebody handed in something else."""
    handed_in = {submission.relative.partition("/")[0] for submission in found}
    folders = (path.name for path in submissions.iterdir() if path.is_dir() and not path.is_symlink())
    return sorted(
        printable(name)
        for name in folders
        if not name.startswith((".", "__")) and printable(name) not in handed_in
    )


def note_of_others(
    folder: ResultsFolder, former: Mapping[str, Any], submissions: Path, graded: int
) -> str | None:
    """That results of other submissions, graded into the same folder before, are not in the gradebook.

    Args:
        folder: of the results.
        former: what is known of the run before.
        submissions: what is graded now.
        graded: how many results belong to that.
    """
    before = former.get("submissions")
    others = folder.count_results() - graded
    if not isinstance(before, str) or Path(before).resolve() == submissions.resolve() or others <= 0:
        return None
    results = "one result" if others == 1 else f"{others} results"
    return (
        f"Before, {before} was graded into {folder.path}: {results} of that stay in"
        f" {folder.path / 'submissions'}, but not in this gradebook and report."
    )


def note_of_broken(broken: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Sentences about checks that broke on what was seen of a student's code.

    Args:
        broken: by what was raised and where, the submissions.
    """
    for cause, names in broken.items():
        told = ", ".join(some([printable(name) for name in names], _MOST_NAMED))
        yield f"A check broke, and could not be judged for {told}: {printable(cause)}"


def unlisted_students(found: Sequence[Submission], submissions: Path) -> list[str]:
    """Who handed in and is not on the roster, if there is one: one of the two may be misspelt."""
    roster = set(read_roster(submissions))
    return sorted({submission.student for submission in found} - roster) if roster else []


def absent_students(found: Sequence[Submission], submissions: Path) -> list[tuple[str, str]]:
    """Who of the roster did not hand in an assignment that anybody handed in."""
    handed_in = {(submission.student, submission.assignment) for submission in found}
    stems = sorted({submission.assignment for submission in found if submission.assignment})
    expected = ((student, stem) for student in read_roster(submissions) for stem in stems)
    return [pair for pair in expected if pair not in handed_in]
