"""Grades a folder of submissions, from notebooks to results: ``grade`` shows all steps.

Notebooks are observed in parallel and judged in batches. Every result is written as soon as it is known, so a
run that was stopped goes on where it was. What a run needs to know of the run before stands in ``run.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.course.course import Course
from grader.errors import GraderError
from grader.grading.class_observer import ClassObserver
from grader.grading.roster import read_roster
from grader.grading.run_plan import Options, plan_run, recognised
from grader.grading.run_steps import RunSteps
from grader.grading.submission import Submission, find_submissions
from grader.notebooks.files import RELEASE_MANIFEST
from grader.reports.progress import ProgressCallback, ProgressReporter
from grader.reports.terminal import RunSummary
from grader.results.store import ResultsStore
from grader.sandbox.executor import Executor, LocalExecutor, Settings
from grader.text import did_you_mean

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
    course = course.finished(options.assignments)
    store = ResultsStore(out)
    before, results = store.run(), store.results()
    handed_in = find_submissions(submissions, course.functions, recognised(course, before, results), out)
    roster = read_roster(submissions, {submission.student for submission in handed_in})
    selected = _selected(handed_in, course, submissions, options)
    with store, _open_executor(_settings(course, selected, options), options) as executor:
        plan = plan_run(course, store, before, selected, results, options, executor)
        unreadable = [s for s in plan.stale if s.error is not None]
        readable = [s.examined() for s in plan.stale if s.error is None]
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
        from grader.sandbox.dask_executor import DaskExecutor  # noqa: PLC0415 - an extra, half a second
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
