"""Grades a folder of submissions, from notebooks to results: the whole way stands in ``grade``.

Notebooks are observed in parallel and judged in batches. Every result is written as soon as it is known, so a
run that was stopped goes on where it was. What a run needs to know of the one before stands in ``run.json``.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from grader.course.course import Course
from grader.errors import GraderError
from grader.grading.class_files import write_class
from grader.grading.evidence_store import Conditions, Observatory
from grader.grading.judge import MAX_BATCH, Verdict, judge
from grader.grading.progress import Progress, Standing
from grader.grading.scoring import PartialCredit, failed, graded
from grader.grading.submission import Key, Submission, find_submissions
from grader.reports.feedback import write_feedback
from grader.results.model import Provenance, Result
from grader.results.run_summary import RunSummary
from grader.results.store import ResultsStore
from grader.sandbox.evidence import Evidence
from grader.sandbox.plan import TimeLimits
from grader.text import did_you_mean
from grader.version import __version__, code_hash

RELEASED = ".handout/release.json"  # what a release leaves; see grader/integrations/release
_STUBS = ""  # a name that no submission has
_MAX_SIZE = 3 << 20  # bytes of the answers in a batch; decoded they take ten times as much, and more

#: Results by student and name.
Results = dict[tuple[str, str], Result]


@dataclass(frozen=True)
class Options:
    """What the person who grades may choose.

    Attributes:
        assignments: only these; empty for all.
        students: only these; empty for all.
        jobs: workers at a time, on this machine.
        force: grade again what is already graded.
        sandbox: False forgoes the sandbox.
        limits: seconds for a cell, a question and a notebook.
        scheduler: address of a Dask scheduler whose machines observe in the place of this one, or None.
    """

    assignments: Collection[str] = ()
    students: Collection[str] = ()
    jobs: int = 1
    force: bool = False
    sandbox: bool = True
    limits: TimeLimits = field(default_factory=TimeLimits)
    scheduler: str | None = None


def grade(course: Course, submissions: Path, out: Path, options: Options, progress: Progress) -> RunSummary:
    """Grade every notebook below a folder.

    Args:
        course: the course.
        submissions: the folder; its sub-folders name the students.
        out: where results go.
        options: see Options.
        progress: is called whenever something was done.

    Raises:
        GraderError: the folders, the course or the protection do not allow it; nothing is half-written.
    """
    _refuse_a_course_of_a_student(course, submissions)
    _refuse_what_others_read(submissions, out)
    course = course.finished(options.assignments)
    store = ResultsStore(out)
    before, results = store.run(), store.results()
    found = find_submissions(submissions, course.functions, _recognised(course, before, results))
    selected = _selected(found, course, submissions, options)
    with store, _Run(course, store, before, selected, options, progress) as run:
        stale = [s for s in selected if options.force or not run.is_current(s, results)]
        outdated = run.with_old_feedback(stale)
        unreadable = [s for s in stale if s.error is not None]
        readable = [s.examined() for s in stale if s.error is None]
        again = sum(run.is_judged_again(s, results) for s in readable)
        run.require_sound_checks(readable)  # before anything is written
        run.begin(submissions, stale, changes_anything=bool(stale or outdated))
        for submission in unreadable:
            run.write(results, submission, run.failed(submission))
        for stem, seed, batch in run.observe(readable):
            verdicts, credit = run.judge(stem, seed, batch)
            for submission, evidence in batch:
                result = run.score(submission, evidence, verdicts[submission.key], credit)
                run.write(results, submission, result, evidence, seed)
        run.write_feedback_anew(results, outdated)
        run.end(shows_all=len(selected) == len(found))
        return write_class(
            course,
            store,
            before,
            submissions,
            found,
            results,
            run.broken,
            protection=run.protection,
            fresh=len(stale) - again,
            again=again,
        )


def _selected(
    found: Sequence[Submission], course: Course, submissions: Path, options: Options
) -> list[Submission]:
    """The submissions that the options ask for.

    Raises:
        GraderError: there are none.
    """
    stems = course.select(options.assignments)
    selected = [
        submission
        for submission in found
        if (not options.students or submission.student in options.students)
        and (not options.assignments or submission.assignment in stems)
    ]
    if not selected:
        asked = ", ".join([*options.students, *options.assignments])
        students = {submission.student for submission in found}
        unknown = [name for name in options.students if name not in students]
        meant = "".join(f"; {did_you_mean(name, students)}" for name in unknown)
        raise GraderError(f"{submissions}: nothing was handed in that belongs to {asked}{meant}")
    return selected


def _recognised(course: Course, before: Mapping[str, Any], results: Results) -> dict[Key, str]:
    """The assignments of notebooks that were graded before, if this course would recognise the same."""
    if before.get("recognised_by") != _recognises(course):
        return {}
    return {
        (result.notebook, result.provenance.notebook_sha256): result.assignment
        for result in results.values()
        if result.assignment and result.status == "graded" and result.provenance.notebook_sha256
    }


def _recognises(course: Course) -> str:
    """A hash of what decides for which assignment a notebook is taken."""
    asked = {stem: list(names) for stem, names in course.functions.items()}
    return hashlib.sha256(json.dumps([code_hash(), asked]).encode()).hexdigest()


def _refuse_a_course_of_a_student(course: Course, submissions: Path) -> None:
    """A course's checks run unconfined, so none that was handed in may be taken for the course.

    Raises:
        GraderError: the course lies in the folder that is to be graded.
    """
    handed_in = submissions.resolve()
    if handed_in in (course.root, *course.root.parents):
        raise GraderError(
            f"{course.root} holds a course, but lies in {submissions}, where only students' work may be: go "
            "to the folder of your own course, and name the folder that holds the students' folders"
        )


def _refuse_what_others_read(submissions: Path, out: Path) -> None:
    """Results hold the seed and expected values, and may not lie among what students handed in or get.

    Raises:
        GraderError: the folder is one of these.
    """
    results, handed_in = out.resolve(), submissions.resolve()
    if handed_in in (results, results / "submissions"):
        raise GraderError(
            f"{out}: results would lie among the submissions of {submissions}: choose another --out"
        )
    for folder in (results, *results.parents):
        if (folder / RELEASED).is_file():
            raise GraderError(
                f"{out} lies in what `release` wrote for students, and results hold what they must not see:"
                " choose another --out"
            )


class _Run(AbstractContextManager["_Run"]):
    """The steps of ``grade``, and what they share: the course's checks, where evidence is, how far it is."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that a run is about
        self,
        course: Course,
        store: ResultsStore,
        before: Mapping[str, Any],
        selected: Sequence[Submission],
        options: Options,
        progress: Progress,
    ) -> None:
        self._course, self._store, self._before, self._options = course, store, before, options
        self._selected, self._progress = selected, progress
        self.broken: dict[str, list[str]] = defaultdict(list)  # whose facts a check broke on, by the cause
        stems = sorted({submission.assignment for submission in selected if submission.assignment})
        self._rubrics = {stem: course.rubric(stem) for stem in stems}
        self._checks_sha256 = {stem: course.fingerprint(stem) for stem in stems}
        self._shows = course.settings.feedback
        self._shown: dict[str, bool] | None = asdict(self._shows)
        self._standing = Standing()
        self._run: dict[str, Any] = {}
        preload = tuple(sorted({module for submission in selected for module in submission.preload}))
        conditions = Conditions(
            options.jobs, options.force, options.sandbox, options.limits, preload, options.scheduler
        )
        self._evidence = Observatory(
            course, self._rubrics, store, conditions, lambda doing: self._tell(doing=doing)
        )

    def __enter__(self) -> Self:
        self._evidence.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._evidence.__exit__(*error)

    @property
    def protection(self) -> str:
        """The name of what confines students' code."""
        return self._evidence.protection.name

    def is_current(self, submission: Submission, results: Results) -> bool:
        """Whether the stored result is what grading would give again."""
        result = results.get(submission.key)
        if result is None or not self._store.has_feedback(*submission.key):
            return False
        return (
            replace(result.provenance, graded_at=None) == self._provenance(submission, graded_at=None)
            and (result.notebook, result.superseded) == (submission.relative, submission.superseded)
            and (submission.error is None or result.error == submission.error)
            and self._evidence.is_current(submission)
        )

    def is_judged_again(self, submission: Submission, results: Results) -> bool:
        """Whether there is a result, and what it was judged by still holds: then only the judging is new."""
        return submission.key in results and self._evidence.is_current(submission)

    def with_old_feedback(self, stale: Collection[Submission]) -> list[Submission]:
        """Whose result holds, while the feedback shows what the course showed before."""
        if not self._before or self._before.get("feedback") == self._shown:
            return []
        anew = {submission.key for submission in stale}
        return [submission for submission in self._selected if submission.key not in anew]

    def require_sound_checks(self, submissions: Sequence[Submission]) -> None:
        """Judge the references by which these will be judged.

        Raises:
            CourseError: a check fails or breaks on one.
        """
        for stem, seed in sorted({(s.assignment or "", self._evidence.seed_of(s)) for s in submissions}):
            self._evidence.require_sound_checks(stem, seed)

    def begin(self, folder: Path, stale: Sequence[Submission], *, changes_anything: bool) -> None:
        """Say what will be done, before the first result is written."""
        seeds = self._evidence.seeds(stale)
        self._run = {
            "seed": seeds[0],
            "earlier_seeds": seeds[1:],
            "finished": False,
            "submissions": str(folder.resolve()),
            "grader": __version__,
            "torch": self._evidence.protection.torch,
            "protection": self._evidence.protection.name,
            "limits": asdict(self._options.limits),
            # Until all feedback was written anew, the run does not say what feedback shows.
            "feedback": None if self.with_old_feedback(stale) else self._shown,
            "recognised_by": _recognises(self._course),
        }
        if changes_anything:
            self._store.write_run(self._run)
        self._tell(before=len(self._selected) - len(stale), total=len(stale))

    def end(self, *, shows_all: bool) -> None:
        """Say that the run came to its end; and what feedback shows, where everything was selected."""
        shown = self._shown if shows_all else self._run["feedback"]
        self._store.write_run({**self._run, "finished": True, "feedback": shown})

    def observe(
        self, submissions: Sequence[Submission]
    ) -> Iterator[tuple[str, int, list[tuple[Submission, Evidence]]]]:
        """Batches of submissions with their evidence; each of an assignment and of the inputs of a seed."""
        batches: dict[tuple[str, int], list[tuple[Submission, Evidence]]] = defaultdict(list)
        for submission, seed, evidence in self._evidence.observe(submissions):
            key = submission.assignment or "", seed
            batches[key].append((submission, evidence))
            self._tell_done(in_error=evidence.fault is not None)
            size = sum(seen.size for _, seen in batches[key])
            if len(batches[key]) == MAX_BATCH - 1 or size > _MAX_SIZE:  # the stubs come along
                yield *key, batches.pop(key)
        for key, batch in batches.items():
            yield *key, batch

    def judge(
        self, stem: str, seed: int, batch: Sequence[tuple[Submission, Evidence]]
    ) -> tuple[dict[tuple[str, str], dict[str, Verdict]], PartialCredit]:
        """The verdicts on a batch, by student and name, and the rule of partial credit."""
        rubric, names = self._rubrics[stem], {f"{s.student}/{s.name}": s.key for s, _ in batch}
        evidence = dict(zip(names, (seen for _, seen in batch), strict=True))
        evidence[_STUBS] = self._evidence.stubs(stem, seed)
        verdicts = judge(rubric, evidence, self._evidence.reference(stem, seed))
        most = self._course.settings.partial_credit
        credit = PartialCredit.of(most, rubric.checks, verdicts[_STUBS])
        for name in names:
            for cause in {verdict.cause for verdict in verdicts[name].values() if verdict.cause}:
                self.broken[cause].append(name)
        return {key: verdicts[name] for name, key in names.items()}, credit

    def score(
        self,
        submission: Submission,
        evidence: Evidence,
        verdicts: Mapping[str, Verdict],
        credit: PartialCredit,
    ) -> Result:
        """The result of a submission that was judged."""
        rubric = self._rubrics[submission.assignment or ""]
        return graded(submission, rubric, evidence, verdicts, self._provenance(submission), credit)

    def failed(self, submission: Submission) -> Result:
        """The result of a submission that cannot be read."""
        self._tell_done(in_error=True)
        rubric = self._rubrics.get(submission.assignment or "")
        error = submission.error or "This notebook cannot be read."
        return failed(submission, error, self._provenance(submission), rubric)

    def write(
        self,
        results: Results,
        submission: Submission,
        result: Result,
        evidence: Evidence | None = None,
        seed: int = 0,
    ) -> None:
        """Write feedback, then the result: a result that is there means that its feedback is too."""
        self._write_feedback(result, evidence, seed)
        self._store.write_result(result)
        results[submission.key] = self._store.shared(result)

    def write_feedback_anew(self, results: Results, submissions: Sequence[Submission]) -> None:
        """Write the pages of results that stay as they are, because other things are shown now."""
        for submission in submissions:
            if submission.error is not None:
                self._write_feedback(results[submission.key])
        observed = [submission for submission in submissions if submission.error is None]
        for submission, seed, evidence in self._evidence.observe(observed):  # from the store
            self._write_feedback(results[submission.key], evidence, seed)

    def _write_feedback(self, result: Result, evidence: Evidence | None = None, seed: int = 0) -> None:
        rubric = reference = None
        if evidence is not None and evidence.fault is None and self._shows.xrays:
            rubric = self._rubrics[result.assignment or ""]
            reference = self._evidence.reference(result.assignment or "", seed)
        write_feedback(self._store, result, self._shows, evidence, rubric, reference)

    def _provenance(self, submission: Submission, graded_at: str | None = "") -> Provenance:
        """With what a submission is graded; now, unless something else is said."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Provenance(
            submission.sha256,
            self._checks_sha256.get(submission.assignment or ""),
            __version__,
            self._evidence.protection.torch,
            self._evidence.protection.name,
            now if graded_at == "" else graded_at,
        )

    def _tell(self, **changes: Any) -> None:
        self._standing = replace(self._standing, **changes)
        self._progress(self._standing)

    def _tell_done(self, *, in_error: bool) -> None:
        """Another submission was looked at, and stays known, though it may still wait to be judged."""
        self._tell(done=self._standing.done + 1, errors=self._standing.errors + in_error)
