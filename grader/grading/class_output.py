"""Writes everything about the class as a whole: gradebook, report, pages of students and ``run.json``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.course.course import Course
from grader.course.outcomes import Misconceptions, read_misconceptions
from grader.errors import CourseError
from grader.grading.run_plan import RunPlan
from grader.grading.run_summary import RunSummary
from grader.grading.submission import Submission
from grader.grading.submission_grader import SubmissionGrader
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import Cell
from grader.people.term import Term
from grader.reports.class_report import report_html
from grader.reports.student_page import write_students
from grader.results.changes import Change, add_change, withdrawn
from grader.results.gradebook import gradebook, sha256_of, write_gradebook
from grader.results.model import MissingSubmission, Result, sandbox_of
from grader.results.similar import same_work
from grader.results.store import Run
from grader.results.students import students_of
from grader.text import counted, printable, some

_MOST_NAMED, _MOST_UNREAD = 5, 20


def write_class(
    plan: RunPlan,
    grader: SubmissionGrader,
    submissions: Path,
    submitted: Sequence[Submission],
    record: Run,
) -> RunSummary:
    """Write the gradebook, the report, the students' pages and the final record.

    Args:
        grader: has the results, of this run and earlier ones.
        submitted: all submissions that count, also those that this run was not about.
        record: the entry of ``run.json`` for this run.
    """
    store, term = plan.store, plan.term
    results = [grader.results[s.key] for s in submitted if s.key in grader.results]
    missing = _missing_rows(submitted, term, plan.course)
    changes = [*grader.changes]
    if plan.before.submissions == record.submissions:
        changes += _withdraw(plan, grader, submitted, missing)
    text = gradebook(results, missing)
    written, sha256 = record.gradebook_sha256, sha256_of(text)
    if sha256 not in written:  # or the file would pass for edited if the run is killed before its record
        store.write_run(replace(record, gradebook_sha256=(*written, sha256)))
    about_gradebook = write_gradebook(store, text, written)
    sandbox = sandbox_of(results)
    full_names = {person.student: person.name for person in term.students.roster.people}
    students = students_of(results, missing, full_names, term.stems)
    versions = {submission.key: submission for submission in submitted}
    work = same_work(results, lambda result: _cells_of(versions[result.student, result.name]))
    known, about_known = _misconceptions(plan.course, {result.assignment for result in results})
    due = {stem: term.deadlines.about(stem) for stem in plan.course.stems}
    unlisted = term.students.unlisted
    page = report_html(results, students, sandbox, work=work, due=due, unlisted=unlisted, known=known)
    store.write(store.path / "report.html", page)
    write_students(store, students)
    final = replace(record, seed=None, forced=False, finished=True, protection=sandbox)
    current = tuple((result.student, result.name) for result in results)
    excused = tuple((row.student, row.assignment) for row in missing if row.excuse)
    store.write_run(replace(final, gradebook_sha256=(sha256,), current=current, excused=excused))
    return RunSummary(
        results=results,
        missing=missing,
        fresh=len(plan.stale) - grader.replaced,
        graded_again=grader.replaced - plan.known,
        judged_again=plan.known,
        without_notebook=_without_notebook(submitted, submissions, store.path),
        notes=[
            *_about_others(plan, record.submissions or "", len(grader.results) - len(results)),
            *about_gradebook,
            *about_known,
            *_about_missing(results, missing),
            *_about_missing_modules(results),
            *term.notes_about((s.student, s.assignment) for s in submitted if s.assignment),
            *_about_broken("A check broke, and could not be judged for", grader.broken),
            *_about_broken("Feedback has no snippets, because the grader broke, for", grader.unshown),
        ],
        changes=sorted(changes, key=lambda change: (change.student, change.assignment)),
        unlisted=unlisted,
    )


def _withdraw(
    plan: RunPlan,
    grader: SubmissionGrader,
    submitted: Iterable[Submission],
    missing: Iterable[MissingSubmission],
) -> list[Change]:
    """Log results whose notebooks have gone since the last run, and remove their pages; results stay."""
    rows = {(row.student, row.assignment) for row in missing}
    changes = []
    for key in sorted({*(plan.before.current or ())} - {submission.key for submission in submitted}):
        if key in grader.results:
            changes.append(withdrawn(grader.results[key], is_missing=key in rows))
            add_change(plan.store, changes[-1])
        plan.store.remove_feedback(*key)
    return changes


def _cells_of(submission: Submission) -> Sequence[Cell]:
    """The cells of a notebook; none if it has gone, or was changed while the class was graded."""
    try:
        return submission.read()[1].cells
    except NotebookError:
        return ()


def _misconceptions(
    course: Course, stems: Collection[str | None]
) -> tuple[dict[str, Misconceptions], list[str]]:
    """The misconceptions by which the report names mistakes; and why those of an assignment are unknown."""
    known: dict[str, Misconceptions] = {}
    notes = []
    for stem in filter(stems.__contains__, course.stems):
        try:
            known[stem] = read_misconceptions(course.answers_file(stem))
        except CourseError as error:
            notes.append(f"The report names no misconceptions of {stem}: {error}")
    return known, notes


def _missing_rows(submitted: Sequence[Submission], term: Term, course: Course) -> list[MissingSubmission]:
    """Assignments of the term that others submitted, and that are missing or excused."""
    present = {(submission.student, submission.assignment) for submission in submitted}
    stems = sorted({stem for _, stem in present if stem and term.has(stem)})
    points = {stem: course.points(stem) for stem in stems}
    prefixes = defaultdict(set)
    for submission in submitted:
        folder, _, notebook = submission.relative.partition("/")
        if submission.assignment and (folder, notebook) in term.prefixes:
            prefixes[submission.assignment].add(term.prefixes[folder, notebook])
    expected = [(student, stem) for student in term.students.roster.students for stem in stems]
    expected += [(who, stem) for who, stem in term.adjustments if stem in stems and term.excuse_of(who, stem)]
    return [
        MissingSubmission(
            *(student, stem, points[stem]),
            term.unread_of(student, stem, prefixes),
            term.excuse_of(student, stem),
        )
        for student, stem in dict.fromkeys(expected)
        if (student, stem) not in present
    ]


def _without_notebook(submitted: Sequence[Submission], submissions: Path, results: Path) -> list[str]:
    """Folders of students in which nothing lies."""
    folders = (path for path in submissions.iterdir() if path.is_dir() and not path.is_symlink())
    names = {printable(path.name) for path in folders if path.resolve() != results.resolve()}
    present = {submission.relative.partition("/")[0] for submission in submitted}
    return sorted(name for name in names - present if not name.startswith((".", "__")))


def _about_others(plan: RunPlan, submissions: str, others: int) -> list[str]:
    """A sentence if results of other submissions are stored besides those that are shown."""
    folder, path = plan.before.submissions, plan.store.path
    if folder is None or str(Path(folder).resolve()) == submissions or others <= 0:
        return []
    results = "one result" if others == 1 else f"{others} results"
    shown = f"{results} of that stay in {path / 'submissions'}, but not in this gradebook and report"
    return [f"Before, {folder} was graded into {path}: {shown}."]


def _about_missing(results: Sequence[Result], missing: Sequence[MissingSubmission]) -> list[str]:
    """Sentences about repositories that could not be read, and notebooks that repositories no longer hold."""
    unread = {result.student for result in results if result.missing and result.missing.why == "unread"}
    never = {row.student for row in missing if row.missing}
    gone = [
        f"{result.student}, {result.what}"
        for result in results
        if result.missing and result.missing.why == "gone"
    ]
    sentences = {
        "Repositories that could not be read, so that the last results stay": sorted(unread),
        "Missing, because a repository could not be read": sorted(never),
        "Not in the repository any more; the results stay": sorted(gone),
    }
    return [f"{what}: {'; '.join(some(names, _MOST_UNREAD))}." for what, names in sentences.items() if names]


def _about_missing_modules(results: Sequence[Result]) -> list[str]:
    """A remark about each module that is not installed and may have cost points, the most frequent first."""
    students = defaultdict(list)
    for result in results:
        for module in () if result.excuse else result.missing_modules:
            students[module].append(f"{result.student}, {result.what}")
    sentences = []
    for module, named in sorted(students.items(), key=lambda item: (-len(item[1]), item[0])):
        imports = f"{counted(len(named), 'notebook')} {'imports' if len(named) == 1 else 'import'} {module}"
        sentences.append(
            f"{imports}, which is not installed here, and may have lost points for that:"
            f" {'; '.join(some(named, _MOST_NAMED))}. Install it in .venv and grade again. If it is a file of"
            " the student, its code must be in the notebook."
        )
    return some(sentences, _MOST_NAMED)


def _about_broken(sentence: str, broken: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence for each cause for which a check, or the code that makes snippets, broke."""
    return [
        f"{sentence} {', '.join(some(map(printable, names), _MOST_NAMED))}: {printable(cause)[:500]}"
        for cause, names in broken.items()
    ]
