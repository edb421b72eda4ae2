"""Grades a folder of submissions, from notebooks to results: ``grade`` shows all steps.

Notebooks are observed in parallel. Each is judged, and its result written, as soon as it is observed, so the
next run completes a run that was stopped. Everything that a run reads of the run before, besides results and
evidence, is in ``run.json``.
"""

from __future__ import annotations

from pathlib import Path

from grader.course.course import Course
from grader.grading.class_observer import ClassObserver
from grader.grading.class_output import write_class
from grader.grading.run_plan import Options, plan_run, refuse_folders, select, with_known_time
from grader.grading.run_summary import ProgressCallback, ProgressReporter, RunSummary
from grader.grading.submission import counting, find_versions
from grader.grading.submission_grader import SubmissionGrader
from grader.grading.workers import open_executor, worker_settings
from grader.people.roster import read_people
from grader.people.students import Students
from grader.people.term import read_term
from grader.results.store import ResultsStore, read_run
from grader.sandbox.zygote import ZygoteProcess

__all__ = ["Options", "grade"]


def grade(  # noqa: PLR0913, PLR0917 - everything a run depends on
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
        out: the folder for results.
        started: the process that workers of this machine are forked from, if it was started before.

    Raises:
        GraderError: the folders, the course or the sandbox do not allow it; nothing is half-written.
    """
    refuse_folders(course, submissions, out)
    course = course.without_unfinished(options.assignments)
    store = ResultsStore(out)
    before, results = read_run(out, makes_again=True), store.results()
    roster = read_people(submissions)
    versions = find_versions(submissions, course.functions, course.starter_code, out, roster)
    students = Students(roster, {version.submission.student for group in versions for version in group})
    term = read_term(submissions, course, students)
    submitted = with_known_time(
        counting(versions, lambda one: term.deadlines.is_in_time(one.student, one.assignment, one.submitted)),
        term,
    )
    selected = select(submitted, course, submissions, options, students)
    settings = worker_settings(selected, options.limits, sandbox=options.sandbox)
    with store, open_executor(settings, options.jobs, options.scheduler, started) as executor:
        environment = executor.environment_fingerprint
        plan = plan_run(course, term, store, before, selected, results, options, environment)
        if plan.observes:
            executor.start()  # attacks the sandbox, before anything runs or is written
        reporter = ProgressReporter(progress)
        reporter.report(before=len(selected) - len(plan.stale), total=len(plan.stale))
        observer = ClassObserver(plan, executor, reporter)
        grader = SubmissionGrader(plan, observer, results)
        readable = [submission for submission in plan.stale if submission.error is None]
        record = plan.record(submissions)
        with observer.observing(readable) as observed:
            observer.require_sound_checks(readable)  # before anything is written
            if plan.stale:
                store.write_run(record)
            for group in ((submission for submission in plan.stale if submission.error), observed):
                for came in group:
                    result = grader.grade(came)
                    reporter.count(in_error=result.status == "error")
        store.prune_expected()
        return write_class(plan, grader, submissions, submitted, record)
