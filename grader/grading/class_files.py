"""The files of a class, and the students whose work is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.grading.roster import read_roster
from grader.grading.run_plan import Results, RunPlan
from grader.grading.submission import Submission
from grader.reports.class_report import report_html
from grader.reports.terminal import RunSummary
from grader.results.changes import record_changes
from grader.results.gradebook import gradebook
from grader.results.store import ResultsStore
from grader.text import printable, some

_MOST_NAMED = 5


def write_class(
    plan: RunPlan,
    submissions: Path,
    handed_in: Sequence[Submission],
    results: Results,
    broken: Mapping[str, Sequence[str]],
) -> RunSummary:
    """Write the gradebook, the history of changes and the report, over everything that is known.

    Args:
        handed_in: all that was handed in to `submissions`.
        broken: the submissions that a check broke on, by what was raised and where.
    """
    store = plan.store
    graded = [results[submission.key] for submission in handed_in if submission.key in results]
    absent = absent_students(handed_in, submissions)
    points = {stem: plan.course.points(stem) for stem in {stem for _, stem in absent}}
    book = gradebook(graded, absent, points)
    same_class = plan.before.get("submissions") == str(submissions.resolve())
    changes, unknown = record_changes(store, book, same_class=same_class)
    others = note_of_others(store, plan.before, submissions, len(graded))
    protection = plan.protection.name
    summary = RunSummary(
        results=graded,
        absent=absent,
        protection=protection,
        fresh=len(plan.stale) - plan.again,
        again=plan.again,
        without=without_notebook(handed_in, submissions),
        note=" ".join(filter(None, [others, unknown, *note_of_broken(broken)])) or None,
        changes=changes,
        unlisted=unlisted_students(handed_in, submissions),
        points=points,
    )
    store.write(store.path / "gradebook.csv", book)
    store.write(store.path / "report.html", report_html(graded, absent, protection, points))
    return summary


def without_notebook(handed_in: Sequence[Submission], submissions: Path) -> list[str]:
    """Folders of students that hold no notebook: perhaps other files were handed in."""
    present = {submission.relative.partition("/")[0] for submission in handed_in}
    folders = (path.name for path in submissions.iterdir() if path.is_dir() and not path.is_symlink())
    return sorted(
        printable(name)
        for name in folders
        if not name.startswith((".", "__")) and printable(name) not in present
    )


def note_of_others(
    store: ResultsStore, before: Mapping[str, Any], submissions: Path, graded: int
) -> str | None:
    """A sentence where `graded` results are not all: others are stored of other submissions."""
    folder = before.get("submissions")
    others = store.count_results() - graded
    if not isinstance(folder, str) or Path(folder).resolve() == submissions.resolve() or others <= 0:
        return None
    results = "one result" if others == 1 else f"{others} results"
    return (
        f"Before, {folder} was graded into {store.path}: {results} of that stay in"
        f" {store.path / 'submissions'}, but not in this gradebook and report."
    )


def note_of_broken(broken: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Sentences about checks that broke on a student's code; `broken` has the submissions by the cause."""
    for cause, names in broken.items():
        listed = ", ".join(some([printable(name) for name in names], _MOST_NAMED))
        yield f"A check broke, and could not be judged for {listed}: {printable(cause)}"


def unlisted_students(handed_in: Sequence[Submission], submissions: Path) -> list[str]:
    """Students who handed in and are not on the roster, if there is a roster: a name may be misspelt."""
    roster = set(read_roster(submissions))
    return sorted({submission.student for submission in handed_in} - roster) if roster else []


def absent_students(handed_in: Sequence[Submission], submissions: Path) -> list[tuple[str, str]]:
    """Students of the roster, each with an assignment that others handed in."""
    present = {(submission.student, submission.assignment) for submission in handed_in}
    stems = sorted({submission.assignment for submission in handed_in if submission.assignment})
    expected = ((student, stem) for student in read_roster(submissions) for stem in stems)
    return [pair for pair in expected if pair not in present]
