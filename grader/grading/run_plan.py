"""Plans the work of a run by comparing the submissions with the results of earlier runs.

Evidence is stored with a fingerprint of everything that it depends on: the notebook, its assignment's
contracts, the seed of the inputs, the limits, the packages and the sandbox. While that is the same, the same
would be observed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from grader.course.course import Course
from grader.course.rubric import Rubric
from grader.errors import GraderError
from grader.grading.submission import Submission
from grader.notebooks.files import RELEASE_MANIFEST
from grader.people.lateness_and_adjustments import LatenessAndAdjustments
from grader.people.students import Students
from grader.people.term import Term
from grader.results.model import Provenance, Result
from grader.results.store import Head, ResultsStore, Run
from grader.sandbox.evidence import Evidence
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import ActiveSandbox
from grader.scores import total
from grader.text import terminal_text
from grader.version import __version__

_OF_VERSIONS = ("superseded", "ignored", "with_answers", "copy")  # a result has these of its submission

#: Results by student and name.
Results = dict[tuple[str, str], Result]


@dataclass(frozen=True)
class Options:
    """The options of a run.

    Attributes:
        assignments: only these; empty for all.
        students: only these; empty for all.
        jobs: workers at a time, on this machine.
        force: grade again what is already graded.
        scheduler: address of a Dask scheduler whose machines observe instead of this machine.
    """

    assignments: Collection[str] = ()
    students: Collection[str] = ()
    jobs: int = 1
    force: bool = False
    sandbox: bool = True
    limits: TimeLimits = field(default_factory=TimeLimits)
    scheduler: str | None = None


def refuse_folders(course: Course, submissions: Path, out: Path) -> None:
    """Refuse folders in which students' work would meet the course or the results.

    Raises:
        GraderError: a course among the submissions, whose checks would run unconfined; or results, which hold
            the seed and expected values, among the submissions or in a release.
    """
    source, results = submissions.resolve(), out.resolve()
    if source in (course.root, *course.root.parents):
        raise GraderError(
            f"{course.root} contains a course, but is inside {submissions}, where only students' work may"
            " be: go to the folder of your own course, and name the folder with the students' folders"
        )
    if source in (results, results / "submissions"):
        raise GraderError(
            f"{out}: results would lie among the submissions of {submissions}: choose another --out"
        )
    for folder in (results, *results.parents):
        if (folder / RELEASE_MANIFEST).is_file():
            raise GraderError(
                f"{out} is inside a released repository, and students must not see results: choose another"
                " --out"
            )


def with_known_time(submissions: Iterable[Submission], term: Term) -> list[Submission]:
    """The submissions; one is in error if nothing says whether it is late."""
    known = []
    for submission in submissions:
        error, stem = submission.error, submission.assignment
        if error is None and stem is not None:
            place = submission.relative
            error = term.about_unknown_time(submission.student, stem, place, submission.submitted)
        known.append(replace(submission, error=error))
    return known


def select(
    submitted: Sequence[Submission], course: Course, submissions: Path, options: Options, students: Students
) -> list[Submission]:
    """The submissions that the options ask for; a notebook of no known assignment may be of any of them.

    Raises:
        GraderError: there are none, or a name is unknown.
    """
    stems = course.select(options.assignments)
    asked = {students.called(name) for name in options.students}
    selected = [
        submission
        for submission in submitted
        if (not asked or submission.student in asked)
        and (not options.assignments or submission.assignment is None or submission.assignment in stems)
    ]
    if not selected:
        named = ", ".join([*sorted(asked), *options.assignments])
        raise GraderError(f"{submissions}: there is no submission of {terminal_text(named)}")
    return selected


@dataclass(eq=False)
class RunPlan:
    """The submissions, checks and seed of a run, and the results of earlier runs that are current.

    Attributes:
        before: the entry of ``run.json`` for the previous run.
        options: of this run; the sandbox they ask for, or not, is the one in which current evidence was made.
        environment: see `Executor.environment_fingerprint`.
        rubrics: by assignment, what is asked.
        checks_sha256: by assignment, a hash of all that decides its verdicts.
        seed: of the inputs of this run.
        is_forced: whether only what was observed on these inputs is current.
        stale: the submissions without a result that grading would give again.
        known: how many of these have a result that only has to be judged again.
        observes: whether a notebook has to be observed.
    """

    course: Course
    term: Term
    store: ResultsStore
    before: Run
    options: Options
    environment: Sequence[str]
    rubrics: Mapping[str, Rubric]
    checks_sha256: Mapping[str, str]
    seed: int
    is_forced: bool
    stale: list[Submission] = field(default_factory=list)
    known: int = 0
    observes: bool = False

    def __post_init__(self) -> None:
        self._asked = cache(self._hash_of_asked)

    def head(self, submission: Submission) -> Head | None:
        """The head of a submission's stored evidence; None if something else would be observed now."""
        head = self.store.head(*submission.key)
        return head if head is not None and self._is_current(submission, head) else None

    def evidence(self, submission: Submission) -> tuple[Head, Evidence] | None:
        """A submission's stored evidence, with its head; None if it is outdated."""
        stored = self.store.evidence(*submission.key)
        return stored if stored is not None and self._is_current(submission, stored[0]) else None

    def new_head(self, submission: Submission, sandbox: ActiveSandbox) -> Head:
        """The head of evidence that is observed now, on the inputs of this run."""
        fingerprint = self._fingerprint(submission, self.seed)
        return Head(fingerprint, self.seed, sandbox.name, sandbox.torch)

    def reference_fingerprint(self, stem: str, seed: int) -> str:
        """A hash of everything that the evidence of the reference and the starter code depends on."""
        return self._asked(stem, seed, True)

    def provenance(self, submission: Submission, head: Head | None) -> Provenance:
        """The provenance of a submission's result; `head` is None if none of its code ran."""
        checks = self.checks_sha256.get(submission.assignment or "")
        inside = (head.torch, head.protection) if head else (None, None)
        return Provenance(submission.sha256, checks, __version__, *inside)

    def lateness_and_adjustments(self, submission: Submission) -> LatenessAndAdjustments:
        """The lateness and adjustments of a submission, from the instructor's files."""
        stem = submission.assignment
        if stem is None:
            return LatenessAndAdjustments()
        max_score = total(self.course.points(stem).values())
        return self.term.lateness_and_adjustments(submission.student, stem, max_score, submission.submitted)

    def record(self, submissions: Path) -> Run:
        """The content of ``run.json`` while the run is in progress."""
        return Run(
            seed=self.seed,
            forced=self.is_forced,
            finished=False,
            current=self.before.current or (),  # of the last run that ended, until this one does
            gradebook_sha256=self.before.gradebook_sha256,
            submissions=str(submissions.resolve()),
            submissions_from_here=os.path.relpath(submissions.resolve(), self.store.path.resolve()),
            grader=__version__,
            limits=asdict(self.options.limits),
        )

    def is_up_to_date(self, submission: Submission, result: Result | None, head: Head | None) -> bool:
        """Whether grading would give a stored result again, from the evidence with this head."""
        return (
            result is not None
            and replace(result.provenance, graded_at=None) == self.provenance(submission, head)
            and all(getattr(result, name) == getattr(submission, name) for name in _OF_VERSIONS)
            and result.notebook == submission.relative
            and (submission.error is None or result.error == submission.error)
            and LatenessAndAdjustments.of(result) == self.lateness_and_adjustments(submission)
            and self.store.has_feedback(*submission.key)
        )

    def _is_current(self, submission: Submission, head: Head) -> bool:
        if self.is_forced and head.seed != self.seed:
            return False
        return head.fingerprint == self._fingerprint(submission, head.seed)

    def _fingerprint(self, submission: Submission, seed: int) -> str:
        base = self._asked(submission.assignment or "", seed, False)
        return hashlib.sha256(f"{base} {submission.sha256}".encode()).hexdigest()

    def _hash_of_asked(self, stem: str, seed: int, expected: bool) -> str:
        """A hash of everything besides notebooks that evidence of a class or of the reference depends on."""
        own = self.course.assignment(stem).reference if expected else vars(self.options.limits)
        plan = asdict(self.rubrics[stem].plan(seed, expected=expected))
        parts = [own, plan, list(self.environment), self.options.sandbox]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def plan_run(  # noqa: PLR0913, PLR0917 - all that a run is about
    course: Course,
    term: Term,
    store: ResultsStore,
    before: Run,
    selected: Sequence[Submission],
    results: Results,
    options: Options,
    environment: Sequence[str],
) -> RunPlan:
    """Plan a run.

    Args:
        before: the entry of ``run.json`` for the previous run.
        selected: the submissions that the run is about.
        results: all that are stored.
        environment: see `Executor.environment_fingerprint`.
    """
    stems = sorted({submission.assignment for submission in selected if submission.assignment})
    rubrics = {stem: course.rubric(stem) for stem in stems}
    checks_sha256 = {stem: course.fingerprint(stem) for stem in stems}
    # Students who have read feedback may know the inputs and submit again: a run that has ended is over.
    known = None if options.force or before.finished else before.seed
    seed = secrets.randbits(63) if known is None else known
    is_forced = options.force or (known is not None and before.forced)
    plan = RunPlan(course, term, store, before, options, environment, rubrics, checks_sha256, seed, is_forced)
    for submission in selected:
        is_readable, result = submission.error is None, results.get(submission.key)
        head = plan.head(submission) if is_readable else None
        observes = is_readable and head is None
        if options.force or observes or not plan.is_up_to_date(submission, result, head):
            plan.stale.append(submission)
            plan.known += head is not None and result is not None
            plan.observes |= observes
    return plan
