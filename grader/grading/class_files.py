"""The files of a class, and whose work is missing from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.course.course import Course
from grader.grading.roster import read_roster
from grader.grading.submission import Submission
from grader.reports.class_report import report_html
from grader.reports.terminal import RunSummary
from grader.results.changes import record_changes
from grader.results.gradebook import gradebook
from grader.results.model import Result
from grader.results.store import ResultsStore
from grader.text import printable, some

_MOST_NAMED = 5


def write_class(  # noqa: PLR0913, PLR0917 - all that is known of a class
    course: Course,
    store: ResultsStore,
    before: Mapping[str, Any],
    submissions: Path,
    found: Sequence[Submission],
    results: Mapping[tuple[str, str], Result],
    broken: Mapping[str, Sequence[str]],
    *,
    protection: str,
    fresh: int,
    again: int,
) -> RunSummary:
    """Write the gradebook, the history of changes and the report, over everything that is known.

    Args:
        course: whose points absent students miss.
        store: where the files go.
        before: what is known of the run before.
        submissions: the folder that is graded.
        found: all that was handed in.
        results: by student and name.
        broken: by what was raised in a check and where, the submissions.
        protection: what confined the students' code.
        fresh: how many results are new.
        again: how many were judged again from what had been observed before.
    """
    known = [results[submission.key] for submission in found if submission.key in results]
    absent = absent_students(found, submissions)
    points = {stem: course.points(stem) for stem in {stem for _, stem in absent}}
    book = gradebook(known, absent, points)
    same_class = before.get("submissions") == str(submissions.resolve())
    changes, unknown = record_changes(store, book, same_class=same_class)
    others = note_of_others(store, before, submissions, len(known))
    summary = RunSummary(
        results=known,
        absent=absent,
        protection=protection,
        fresh=fresh,
        again=again,
        without=without_notebook(found, submissions),
        note=" ".join(filter(None, [others, unknown, *note_of_broken(broken)])) or None,
        changes=changes,
        unlisted=unlisted_students(found, submissions),
        points=points,
    )
    store.write(store.path / "gradebook.csv", book)
    store.write(store.path / "report.html", report_html(known, absent, protection, points))
    return summary


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
    folder: ResultsStore, former: Mapping[str, Any], submissions: Path, graded: int
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
