"""Grades a folder of submissions, from notebooks to results: ``grade`` shows all steps.

Notebooks are observed in parallel and judged in batches. Every result is written as soon as it is known, so a
run that was stopped goes on where it was. What a run needs to know of the run before stands in ``run.json``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from grader.course.course import Course
from grader.course.pictures import pictures_of
from grader.errors import GraderError
from grader.grading.class_observer import ClassObserver
from grader.grading.executor import Executor, LocalExecutor, Settings
from grader.grading.judge import Verdict, judge
from grader.grading.roster import read_roster
from grader.grading.run_plan import Options, Results, RunPlan, plan_run, recognised
from grader.grading.scoring import PartialCredit, failed, graded
from grader.grading.submission import Submission, find_submissions
from grader.notebooks.files import RELEASE_MANIFEST
from grader.reports.class_report import report_html
from grader.reports.feedback import Pictures, write_feedback
from grader.reports.terminal import ProgressCallback, ProgressReporter, RunSummary
from grader.results.gradebook import gradebook, write_gradebook
from grader.results.model import Absence, Result
from grader.results.store import ResultsStore, read_run
from grader.sandbox.evidence import Evidence
from grader.text import did_you_mean, printable, some

__all__ = ["Options", "grade"]


def grade(
    course: Course, submissions: Path, out: Path, options: Options, progress: ProgressCallback
) -> RunSummary:
    """Grade every notebook below a folder.

    Args:
        submissions: the folder; its sub-folders name the students.
        out: where results go.

    Raises:
        GraderError: the folders, the course or the protection do not allow it; nothing is half-written.
    """
    _refuse_a_course_of_a_student(course, submissions)
    _refuse_what_others_read(submissions, out)
    course = course.without_unfinished(options.assignments)
    store = ResultsStore(out)
    before, results = read_run(out), store.results()
    handed_in = find_submissions(submissions, course.functions, recognised(course, before, results), out)
    roster = read_roster(submissions, {submission.student for submission in handed_in})
    selected = _selected(handed_in, course, submissions, options)
    with store, _open_executor(_settings(course, selected, options), options) as executor:
        plan = plan_run(course, store, before, selected, results, options, executor)
        unreadable = [s for s in plan.stale if s.error is not None]
        readable = [s for s in plan.stale if s.error is None]
        reporter = ProgressReporter(progress)
        observer = ClassObserver(plan, executor, reporter)
        observer.require_sound_checks(readable)  # before anything is written
        steps = RunSteps(plan, observer, results)
        record = plan.record(submissions)
        if plan.stale or plan.old_feedback:
            store.write_run(record)
        reporter.report(before=len(selected) - len(plan.stale), total=len(plan.stale))
        for submission in unreadable:
            steps.write(submission, steps.fail(submission))
            reporter.count(in_error=True)
        for stem, seed, batch in observer.observe_batches(readable):
            verdicts, credit = steps.judge(stem, seed, batch)
            for submission, evidence in batch:
                result = steps.score(submission, evidence, verdicts[submission.key], credit)
                steps.write(submission, result, evidence, seed)
        steps.write_old_feedback_anew()
        store.write_run(plan.final_record(record, shows_all=len(selected) == len(handed_in)))
        return steps.write_class(submissions, handed_in, roster)


def _selected(
    handed_in: Sequence[Submission], course: Course, submissions: Path, options: Options
) -> list[Submission]:
    """The submissions that the options ask for; GraderError where there are none.

    What cannot be recognised may be of the assignments that are asked for.
    """
    stems = course.select(options.assignments)
    selected = [
        submission
        for submission in handed_in
        if (not options.students or submission.student in options.students)
        and (not options.assignments or submission.assignment is None or submission.assignment in stems)
    ]
    if not selected:
        asked = ", ".join([*options.students, *options.assignments])
        students = {submission.student for submission in handed_in}
        unknown = [name for name in options.students if name not in students]
        meant = "".join(f"; {did_you_mean(name, students)}" for name in unknown)
        raise GraderError(f"{submissions}: nothing was handed in that belongs to {asked}{meant}")
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


def _open_executor(settings: Settings, options: Options) -> Executor:
    """Workers of this machine, or of the machines of a Dask scheduler if there is its address.

    Raises:
        GraderError: Dask is not installed.
    """
    if options.scheduler is None:
        return LocalExecutor(settings, options.jobs)
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


_STUBS = ""  # a name that no submission has
_MOST_NAMED = 5


class RunSteps:
    """The steps of ``grade`` behind observing, and what they share."""

    def __init__(self, plan: RunPlan, observer: ClassObserver, results: Results) -> None:
        self._plan, self._observer, self._results = plan, observer, results
        self._settings, self._store = plan.course.settings, plan.store
        self._broken: dict[str, list[str]] = defaultdict(list)  # names, by the cause

    def judge(
        self, stem: str, seed: int, batch: Sequence[tuple[Submission, Evidence]]
    ) -> tuple[dict[tuple[str, str], dict[str, Verdict]], PartialCredit]:
        """The verdicts on a batch, by student and name, and the rule of partial credit."""
        rubric, names = self._plan.rubrics[stem], {f"{s.student}/{s.name}": s.key for s, _ in batch}
        evidence = dict(zip(names, (seen for _, seen in batch), strict=True))
        evidence[_STUBS] = self._observer.stubs(stem, seed)
        verdicts = judge(rubric, evidence, self._observer.reference(stem, seed))
        credit = PartialCredit.of(self._settings.partial_credit, rubric.checks, verdicts[_STUBS])
        for name in names:
            for cause in {str(verdict.cause) for verdict in verdicts[name].values() if verdict.cause}:
                self._broken[cause].append(name)
        return {key: verdicts[name] for name, key in names.items()}, credit

    def score(
        self,
        submission: Submission,
        evidence: Evidence,
        verdicts: Mapping[str, Verdict],
        credit: PartialCredit,
    ) -> Result:
        """The result of a submission that was judged."""
        rubric, provenance = self._plan.rubrics[submission.assignment or ""], self._plan.provenance
        return graded(submission, rubric, evidence, verdicts, provenance(submission, _now()), credit)

    def fail(self, submission: Submission) -> Result:
        """The result of a submission that cannot be read."""
        rubric = self._plan.rubrics.get(submission.assignment or "")
        error = submission.error or "This notebook cannot be read."
        return failed(submission, error, self._plan.provenance(submission, _now()), rubric)

    def write(
        self, submission: Submission, result: Result, evidence: Evidence | None = None, seed: int = 0
    ) -> None:
        """Write feedback, then the result: a result that is there means that its feedback is too."""
        self._write_feedback(result, evidence, seed)
        self._store.write_result(result)
        self._results[submission.key] = self._store.shared(result)

    def write_old_feedback_anew(self) -> None:
        """Write the pages of results that stay as they are, because other things are shown now."""
        for submission in self._plan.old_feedback:
            known = self._plan.evidence.evidence(submission) if submission.error is None else None
            seed, evidence = known or (0, None)
            self._write_feedback(self._results[submission.key], evidence, seed)

    def _write_feedback(self, result: Result, evidence: Evidence | None = None, seed: int = 0) -> None:
        pictures: Pictures = {}
        if evidence is not None and evidence.fault is None and self._settings.feedback.xrays:
            reference = self._observer.reference(result.assignment or "", seed)
            pictures = pictures_of(self._plan.rubrics[result.assignment or ""], evidence, reference)
        write_feedback(self._store, result, pictures, self._settings.feedback)

    def write_class(
        self, submissions: Path, handed_in: Sequence[Submission], roster: Sequence[str]
    ) -> RunSummary:
        """Write the gradebook, the history of changes and the report, over all that was handed in."""
        plan, store = self._plan, self._store
        results = [self._results[s.key] for s in handed_in if s.key in self._results]
        absent = _absences(handed_in, roster, plan.course)
        same_class = plan.before.get("submissions") == str(submissions.resolve())
        changes, unknown = write_gradebook(store, gradebook(results, absent), same_class=same_class)
        store.write(store.path / "report.html", report_html(results, absent, plan.protection.name))
        notes = [self._note_of_others(submissions, len(results)), unknown, *self._notes_of_broken()]
        return RunSummary(
            results=results,
            absent=absent,
            protection=plan.protection.name,
            fresh=len(plan.stale) - plan.known,
            judged_again=plan.known,
            without_notebook=_without_notebook(handed_in, submissions, store.path),
            note=" ".join(filter(None, notes)) or None,
            changes=changes,
            unlisted=sorted({s.student for s in handed_in} - {*roster}) if roster else [],
        )

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

    def _notes_of_broken(self) -> Iterator[str]:
        for cause, names in self._broken.items():
            listed = ", ".join(some([printable(name) for name in names], _MOST_NAMED))
            yield f"A check broke, and could not be judged for {listed}: {printable(cause)}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _without_notebook(handed_in: Sequence[Submission], submissions: Path, results: Path) -> list[str]:
    """Folders of students in which nothing lies."""
    folders = (path for path in submissions.iterdir() if path.is_dir() and not path.is_symlink())
    names = {printable(path.name) for path in folders if path.resolve() != results.resolve()}
    present = {submission.relative.partition("/")[0] for submission in handed_in}
    return sorted(name for name in names - present if not name.startswith((".", "__")))


def _absences(handed_in: Sequence[Submission], roster: Sequence[str], course: Course) -> list[Absence]:
    """Students of the roster, each with an assignment that others handed in."""
    present = {(submission.student, submission.assignment) for submission in handed_in}
    stems = sorted({submission.assignment for submission in handed_in if submission.assignment})
    points = {stem: course.points(stem) for stem in stems}
    expected = ((student, stem) for student in roster for stem in stems)
    return [
        Absence(student, stem, points[stem]) for student, stem in expected if (student, stem) not in present
    ]
