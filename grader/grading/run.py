"""Grades a folder of submissions, from notebooks to results: ``grade`` shows all steps.

Notebooks are observed in parallel. Each is judged, and its result written, as soon as it is observed, so a
run that was stopped goes on where it was. What a run has to know of the run before stands in ``run.json``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from grader.course.course import Course
from grader.course.outcomes import Misconceptions, read_misconceptions
from grader.course.pictures import pictures_of
from grader.errors import CourseError, GraderError
from grader.grading.class_observer import ClassObserver, Observed
from grader.grading.executor import Executor, LocalExecutor, Settings
from grader.grading.judge import Verdict, judge
from grader.grading.run_plan import Options, Results, RunPlan, plan_run
from grader.grading.scoring import PartialCredit, failed, graded
from grader.grading.submission import Key, Submission, counting, find_versions
from grader.notebooks.files import RELEASE_MANIFEST, NotebookError
from grader.notebooks.reader import Cell
from grader.people.roster import read_people
from grader.people.standing import with_standing
from grader.people.students import Students
from grader.people.term import Term, read_term
from grader.reports.class_report import report_html
from grader.reports.feedback import Pictures, write_feedback
from grader.reports.own_code import OwnCode, own_code
from grader.reports.student_page import write_students
from grader.reports.terminal import ProgressCallback, ProgressReporter, RunSummary
from grader.results.changes import Change, add_change, replaced, withdrawn
from grader.results.gradebook import gradebook, sha256_of, write_gradebook
from grader.results.model import Absence, Result
from grader.results.similar import same_work, with_digests
from grader.results.store import ResultsStore, current_keys, read_run
from grader.results.students import students_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.zygote import ZygoteProcess
from grader.text import printable, some, terminal_text

__all__ = ["Options", "grade"]


def grade(  # noqa: PLR0913, PLR0917 - what a run needs, and how it tells of itself
    course: Course,
    submissions: Path,
    out: Path,
    options: Options,
    progress: ProgressCallback,
    started: ZygoteProcess | None = None,
) -> RunSummary:
    """Grade every notebook below a folder.

    Args:
        submissions: the folder; its sub-folders name the students.
        out: where results go.
        started: what workers of this machine are forked from, where it was started before.

    Raises:
        GraderError: the folders, the course or the protection do not allow it; nothing is half-written.
    """
    _refuse_a_course_of_a_student(course, submissions)
    _refuse_what_others_read(submissions, out)
    course = course.without_unfinished(options.assignments)
    store = ResultsStore(out)
    before, results = read_run(out), store.results()
    roster = read_people(submissions)
    versions = find_versions(submissions, course.functions, course.starter_code, out, roster)
    students = Students(roster, {version.submission.student for group in versions for version in group})
    term = read_term(submissions, course, students)
    handed_in = counting(
        versions, lambda one: term.deadlines.is_in_time(one.student, one.assignment, one.submitted)
    )
    handed_in = [_with_known_time(submission, term) for submission in handed_in]
    selected = _selected(handed_in, course, submissions, options, students)
    with store, _open_executor(_settings(course, selected, options), options, started) as executor:
        plan = plan_run(course, term, store, before, selected, results, options, executor)
        unreadable = [s for s in plan.stale if s.error is not None]
        readable = [s for s in plan.stale if s.error is None]
        reporter = ProgressReporter(progress)
        reporter.report(before=len(selected) - len(plan.stale), total=len(plan.stale))
        observer = ClassObserver(plan, executor, reporter)
        steps = RunSteps(plan, observer, results, reporter)
        record = plan.record(submissions)
        with observer.observing(readable) as observed:
            observer.require_sound_checks(readable)  # before anything is written
            if plan.stale:
                store.write_run(record)
            for submission in unreadable:
                steps.grade(submission)
            for came in observed:
                steps.grade(came.submission, came)
        store.prune_expected()
        return steps.write_class(submissions, handed_in, record)


_OF_UNFINISHED = {"seed", "forced"}  # what ``run.json`` says only of a run that has to be completed


def _with_known_time(submission: Submission, term: Term) -> Submission:
    """The submission, in error if it cannot be known whether it is late."""
    stem = submission.assignment
    if stem is None or submission.error is not None:
        return submission
    place = submission.relative
    return replace(
        submission, error=term.about_unknown_time(submission.student, stem, place, submission.submitted)
    )


def _selected(
    handed_in: Sequence[Submission], course: Course, submissions: Path, options: Options, students: Students
) -> list[Submission]:
    """The submissions that the options ask for; GraderError where there are none.

    What cannot be recognised may be of the assignments that are asked for.
    """
    stems = course.select(options.assignments)
    asked = {students.called(name) for name in options.students}
    selected = [
        submission
        for submission in handed_in
        if (not asked or submission.student in asked)
        and (not options.assignments or submission.assignment is None or submission.assignment in stems)
    ]
    if not selected:
        named = ", ".join([*sorted(asked), *options.assignments])
        raise GraderError(f"{submissions}: nothing was handed in that belongs to {terminal_text(named)}")
    return selected


def _settings(course: Course, selected: Sequence[Submission], options: Options) -> Settings:
    """What workers are started with."""
    stems = sorted({submission.assignment for submission in selected if submission.assignment})
    assignments = [course.assignment(stem) for stem in stems]
    return {
        "handed_out": tuple(cell for assignment in assignments for cell in assignment.handed_out),
        "stubs": tuple(q.stub for assignment in assignments for q in assignment.questions),
        "preload": tuple(sorted({module for submission in selected for module in submission.preload})),
        "sandbox": options.sandbox,
        "cpu_seconds": int(options.limits.notebook) + 60,
    }


def _open_executor(settings: Settings, options: Options, started: ZygoteProcess | None) -> Executor:
    """Workers of this machine, or of the machines of a Dask scheduler if there is its address.

    Raises:
        GraderError: Dask is not installed.
    """
    if options.scheduler is None:
        return LocalExecutor(settings, options.jobs, started)
    try:
        from grader.grading.dask_executor import DaskExecutor  # noqa: PLC0415 - an extra, half a second
    except ImportError:
        raise GraderError(
            "--scheduler needs Dask, which is not installed here: run pip install '.[cluster]' in the "
            "course's folder, on this machine and on all that shall grade"
        ) from None
    return DaskExecutor(options.scheduler, settings)


def _refuse_a_course_of_a_student(course: Course, submissions: Path) -> None:
    """Refuse a course that lies among the submissions: its checks would run unconfined."""
    handed_in = submissions.resolve()
    if handed_in in (course.root, *course.root.parents):
        raise GraderError(
            f"{course.root} holds a course, but lies in {submissions}, where only students' work may be: go "
            "to the folder of your own course, and name the folder that holds the students' folders"
        )


def _refuse_what_others_read(submissions: Path, out: Path) -> None:
    """Refuse to write the seed and expected values among what students handed in or get."""
    results, handed_in = out.resolve(), submissions.resolve()
    if handed_in in (results, results / "submissions"):
        raise GraderError(
            f"{out}: results would lie among the submissions of {submissions}: choose another --out"
        )
    for folder in (results, *results.parents):
        if (folder / RELEASE_MANIFEST).is_file():
            raise GraderError(
                f"{out} lies in what `release` wrote for students, and results hold what they must not see:"
                " choose another --out"
            )


_MOST_NAMED, _MOST_UNREAD = 5, 20


class RunSteps:
    """The steps of ``grade`` behind observing, and what they share."""

    def __init__(
        self, plan: RunPlan, observer: ClassObserver, results: Results, reporter: ProgressReporter
    ) -> None:
        self._plan, self._observer, self._results, self._reporter = plan, observer, results, reporter
        self._settings, self._store = plan.course.settings, plan.store
        self._credit = cache(self._credit_of)
        self._broken: dict[str, list[str]] = defaultdict(list)  # names, by the cause
        self._changes: list[Change] = []
        self._replaced = 0  # results of runs before, in whose place this run wrote another

    def _credit_of(self, stem: str, seed: int) -> PartialCredit:
        verdicts = self._verdicts(stem, seed, self._observer.stubs(stem, seed))
        return PartialCredit.of(self._settings.partial_credit, self._plan.rubrics[stem].checks, verdicts)

    def _verdicts(self, stem: str, seed: int, evidence: Evidence) -> dict[str, Verdict]:
        rubric, reference = self._plan.rubrics[stem], self._observer.reference(stem, seed)
        return judge(rubric, evidence, reference, partial(self._observer.measured, stem, seed))

    def grade(self, submission: Submission, observed: Observed | None = None) -> None:
        """Judge a submission, or say why it cannot be read, and write what comes of it.

        Feedback is written before the result: a result that is there means that its feedback is too.

        Args:
            observed: None where the submission cannot be read.
        """
        stem, provenance = submission.assignment or "", self._plan.provenance(submission)
        rubric = self._plan.rubrics.get(stem)
        if observed is None or rubric is None:
            result = failed(submission, submission.error or "", provenance, rubric)
        else:
            evidence, seed = observed.evidence, observed.seed
            verdicts = self._verdicts(stem, seed, evidence)
            for cause in {str(verdict.cause) for verdict in verdicts.values() if verdict.cause}:
                self._broken[cause].append(f"{submission.student}/{submission.name}")
            credit = PartialCredit(self._settings.partial_credit)
            if any(verdict.outcome != "passed" for verdict in verdicts.values()):
                credit = self._credit(stem, seed)  # only then it counts what the stubs pass
            result = graded(submission, rubric, evidence, verdicts, provenance, credit)
            starter_code = {question.function: question.stub for question in rubric.questions}
            result = with_digests(result, observed.cells, starter_code)
        result = with_standing(result, self._plan.standing(submission))
        self._write_feedback(result, observed)
        before = self._results.get(submission.key)
        if before is not None:
            self._replaced += 1
            self._note_change(replaced(before, result))
        self._store.write_result(result)
        self._results[submission.key] = result
        self._reporter.count(in_error=result.status == "error")

    def _note_change(self, change: Change | None) -> None:
        if change is not None:
            add_change(self._store.path, change)
            self._changes.append(change)

    def _write_feedback(self, result: Result, observed: Observed | None) -> None:
        shows, stem = self._settings.feedback, result.assignment or ""
        pictures: Pictures = {}
        code: OwnCode = {}
        if observed is not None and observed.evidence.fault is None and shows.xrays:
            reference = self._observer.reference(stem, observed.seed)
            pictures = pictures_of(self._plan.rubrics[stem], observed.evidence, reference)
        if observed is not None and shows.diagnoses:
            code = own_code(result, observed.cells)
        write_feedback(self._store, result, pictures, code, shows)

    def write_class(
        self, submissions: Path, handed_in: Sequence[Submission], record: Mapping[str, Any]
    ) -> RunSummary:
        """Write the gradebook, the report and the final record, over all that was submitted."""
        plan, store = self._plan, self._store
        results = [self._results[s.key] for s in handed_in if s.key in self._results]
        absent = _absences(handed_in, plan.term, plan.course)
        if plan.before.get("submissions") == str(submissions.resolve()):
            self._withdraw({s.key for s in handed_in}, absent)
        text, written = gradebook(results, absent), plan.before.get("gradebook_sha256")
        about_gradebook = write_gradebook(store, text, written)
        final = {key: value for key, value in record.items() if key not in _OF_UNFINISHED}
        current = [[result.student, result.name] for result in results]
        excused = [[absence.student, absence.assignment] for absence in absent if absence.excuse]
        final |= {"current": current, "excused": excused, "gradebook_sha256": sha256_of(text)}
        store.write_run({**final, "finished": True})
        full_names = {person.student: person.name for person in plan.term.students.roster.people}
        students = students_of(results, absent, full_names, plan.term.stems)
        versions = {submission.key: submission for submission in handed_in}
        work = same_work(results, lambda result: _cells_of(versions[result.student, result.name]))
        due = {stem: plan.term.deadlines.about(stem) for stem in plan.course.stems}
        unlisted = plan.term.students.unlisted
        known, about_known = _misconceptions(plan.course)
        page = report_html(
            results, students, plan.protection.name, work=work, due=due, unlisted=unlisted, known=known
        )
        store.write(store.path / "report.html", page)
        write_students(store, students)
        notes = [self._note_of_others(submissions, len(results)), *about_gradebook, *about_known]
        notes += _about_missing(results, absent)
        notes += plan.term.notes_about((s.student, s.assignment) for s in handed_in if s.assignment)
        for cause, names in self._broken.items():
            listed = ", ".join(some(map(printable, names), _MOST_NAMED))
            notes.append(f"A check broke, and could not be judged for {listed}: {printable(cause)}")
        return RunSummary(
            results=results,
            absent=absent,
            protection=plan.protection.name,
            fresh=len(plan.stale) - self._replaced,
            graded_again=self._replaced - plan.known,
            judged_again=plan.known,
            without_notebook=_without_notebook(handed_in, submissions, store.path),
            notes=[note for note in notes if note],
            changes=sorted(self._changes, key=lambda change: (change.student, change.assignment)),
            unlisted=unlisted,
        )

    def _withdraw(self, submitted: set[Key], absent: Sequence[Absence]) -> None:
        """Note results whose notebooks have gone since the last run, and remove their pages; results stay."""
        rows = {(absence.student, absence.assignment) for absence in absent}
        for key in sorted(current_keys(self._plan.before) - submitted):
            if key in self._results:
                self._note_change(withdrawn(self._results[key], is_absent=key in rows))
            self._store.remove_feedback(*key)

    def _note_of_others(self, submissions: Path, graded_now: int) -> str | None:
        """A sentence where results of other submissions are stored besides those that are shown."""
        folder, path = self._plan.before.get("submissions"), self._store.path
        others = len(self._results) - graded_now
        if not isinstance(folder, str) or Path(folder).resolve() == submissions.resolve() or others <= 0:
            return None
        results = "one result" if others == 1 else f"{others} results"
        return (
            f"Before, {folder} was graded into {path}: {results} of that stay in"
            f" {path / 'submissions'}, but not in this gradebook and report."
        )


def _without_notebook(handed_in: Sequence[Submission], submissions: Path, results: Path) -> list[str]:
    """Folders of students in which nothing lies."""
    folders = (path for path in submissions.iterdir() if path.is_dir() and not path.is_symlink())
    names = {printable(path.name) for path in folders if path.resolve() != results.resolve()}
    present = {submission.relative.partition("/")[0] for submission in handed_in}
    return sorted(name for name in names - present if not name.startswith((".", "__")))


def _cells_of(submission: Submission) -> Sequence[Cell]:
    """The cells of a notebook; none if it has gone, or was changed while the class was graded."""
    try:
        return submission.read()[1]
    except NotebookError:
        return ()


def _misconceptions(course: Course) -> tuple[dict[str, Misconceptions], list[str]]:
    """The misconceptions by which the report names mistakes; and why those of an assignment are unknown."""
    known: dict[str, Misconceptions] = {}
    notes = []
    for stem in course.stems:
        try:
            known[stem] = read_misconceptions(course.answers_file(stem))
        except CourseError as error:
            notes.append(f"The report names no misconceptions of {stem}: {error}")
    return known, notes


def _absences(handed_in: Sequence[Submission], term: Term, course: Course) -> list[Absence]:
    """Assignments of the term that others submitted, and that are missing or excused."""
    present = {(submission.student, submission.assignment) for submission in handed_in}
    stems = sorted({stem for _, stem in present if stem and term.has(stem)})
    points = {stem: course.points(stem) for stem in stems}
    prefixes = defaultdict(set)
    for submission in handed_in:
        folder, _, notebook = submission.relative.partition("/")
        if submission.assignment and (folder, notebook) in term.prefixes:
            prefixes[submission.assignment].add(term.prefixes[folder, notebook])
    expected = [(student, stem) for student in term.students.roster.students for stem in stems]
    expected += [(who, stem) for who, stem in term.adjustments if stem in stems and term.excuse_of(who, stem)]
    return [
        Absence(
            *(student, stem, points[stem]),
            term.unread_of(student, stem, prefixes),
            term.excuse_of(student, stem),
        )
        for student, stem in dict.fromkeys(expected)
        if (student, stem) not in present
    ]


def _about_missing(results: Sequence[Result], absent: Sequence[Absence]) -> list[str]:
    """Sentences about whom a night has not reached, and what repositories do not hold any more."""
    unread = {result.student for result in results if result.missing and result.missing.why == "unread"}
    never = {absence.student for absence in absent if absence.missing}
    gone = [
        f"{result.student}, {result.what}"
        for result in results
        if result.missing and result.missing.why == "gone"
    ]
    told = {
        "Repositories that could not be read, so that the last results stay": sorted(unread),
        "Absent, because a repository could not be read": sorted(never),
        "Not in the repository any more; the results stay": sorted(gone),
    }
    return [f"{what}: {'; '.join(some(names, _MOST_UNREAD))}." for what, names in told.items() if names]
