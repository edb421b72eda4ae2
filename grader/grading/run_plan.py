"""What a run has to do, found by comparing what was handed in with what runs before have stored."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.course.course import Course
from grader.grading.evidence_store import EvidenceStore
from grader.grading.submission import Key, Submission
from grader.results.model import Provenance, Result
from grader.results.store import ResultsStore
from grader.sandbox.executor import Executor, torch_version
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Protection
from grader.version import __version__, code_hash

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


class RunPlan:
    """What is graded anew, by which checks, with what seed and in what confinement.

    Args:
        selected: the submissions that the run is about.
        results: all that are stored.
        environment: what else evidence depends on, as the executor tells it.
        protection: what confines the workers.

    Attributes:
        evidence: what runs before have observed, and where new evidence goes.
        stale: the submissions without a result that grading would give again.
        again: how many of these only have to be judged: they have a result, and its evidence holds.
        old_feedback: the other submissions, if their feedback shows what the course showed before.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - all that a run is about
        self,
        course: Course,
        store: ResultsStore,
        before: Mapping[str, Any],
        selected: Sequence[Submission],
        results: Results,
        options: Options,
        environment: Sequence[str],
        protection: Protection,
    ) -> None:
        self.course, self.store, self.before, self.protection = course, store, before, protection
        self.limits = options.limits
        stems = sorted({submission.assignment for submission in selected if submission.assignment})
        self.rubrics = {stem: course.rubric(stem) for stem in stems}
        self._checks_sha256 = {stem: course.fingerprint(stem) for stem in stems}
        self._feedback = asdict(course.settings.feedback)
        seeds = [] if options.force else _seeds(before)
        # Students who have read feedback may know the inputs and hand in again: a run that has ended is over.
        seed = seeds[0] if seeds and not before.get("finished") else secrets.randbits(63)
        earlier = [other for other in seeds if other != seed]
        self.evidence = EvidenceStore(
            course, self.rubrics, store, options.limits, environment, protection.name, seed, earlier
        )
        self.stale = [s for s in selected if options.force or not self._is_current(s, results)]
        self.again = sum(
            s.error is None and s.key in results and self.evidence.is_current(s) for s in self.stale
        )
        stale = {submission.key for submission in self.stale}
        is_old = bool(before) and before.get("feedback") != self._feedback
        self.old_feedback = [s for s in selected if s.key not in stale] if is_old else []

    def _is_current(self, submission: Submission, results: Results) -> bool:
        """Whether the stored result is what grading would give again."""
        result = results.get(submission.key)
        if result is None or not self.store.has_feedback(*submission.key):
            return False
        return (
            replace(result.provenance, graded_at=None) == self.provenance(submission)
            and (result.notebook, result.superseded) == (submission.relative, submission.superseded)
            and (submission.error is None or result.error == submission.error)
            and self.evidence.is_current(submission)
        )

    def provenance(self, submission: Submission, graded_at: str | None = None) -> Provenance:
        """With what a submission is graded, and when."""
        return Provenance(
            submission.sha256,
            self._checks_sha256.get(submission.assignment or ""),
            __version__,
            self.protection.torch,
            self.protection.name,
            graded_at,
        )

    def record(self, submissions: Path) -> dict[str, Any]:
        """What ``run.json`` says while the run goes on."""
        seeds = self.evidence.seeds(self.stale)
        return {
            "seed": seeds[0],
            "earlier_seeds": seeds[1:],
            "finished": False,
            "submissions": str(submissions.resolve()),
            "grader": __version__,
            "torch": self.protection.torch,
            "protection": self.protection.name,
            "limits": asdict(self.limits),
            # Until all feedback was written anew, the run does not say what feedback shows.
            "feedback": None if self.old_feedback else self._feedback,
            "recognised_by": _recognition(self.course),
        }

    def final_record(self, record: Mapping[str, Any], *, shows_all: bool) -> dict[str, Any]:
        """What ``run.json`` says in the end: what feedback shows only where all submissions were selected."""
        shown = self._feedback if shows_all else record["feedback"]
        return {**record, "finished": True, "feedback": shown}


def plan_run(  # noqa: PLR0913, PLR0917 - all that a run is about
    course: Course,
    store: ResultsStore,
    before: Mapping[str, Any],
    selected: Sequence[Submission],
    results: Results,
    options: Options,
    executor: Executor,
) -> RunPlan:
    """Plan a run; its arguments are those of ``RunPlan``.

    Workers are started only where something has to be observed; until then it is assumed that they would be
    confined as in the run before.
    """
    environment = executor.environment_fingerprint
    assumed = _protection_before(before, options, environment) or executor.start()
    plan = RunPlan(course, store, before, selected, results, options, environment, assumed)
    if all(map(plan.evidence.is_current, plan.stale)):
        return plan
    now = executor.start()  # something has to be observed: from now on this confines it
    if (now.name, now.torch) == (assumed.name, assumed.torch):
        return plan
    return RunPlan(course, store, before, selected, results, options, environment, now)


def _protection_before(
    before: Mapping[str, Any], options: Options, environment: Sequence[str]
) -> Protection | None:
    """What confined the workers of the run before, if that was asked for now too, and torch is the same."""
    name, torch = before.get("protection"), before.get("torch")
    is_as_asked = isinstance(name, str) and (name != "none") == options.sandbox
    if not is_as_asked or torch != torch_version(environment) or options.force:
        return None
    return Protection(str(name), str(torch))


def _seeds(before: Mapping[str, Any]) -> list[int]:
    """The secret seeds of the runs before that were not forgotten, the newest first."""
    earlier = before.get("earlier_seeds")
    seeds = [before.get("seed"), *(earlier if isinstance(earlier, list) else [])]
    return [seed for seed in seeds if isinstance(seed, int)]


def recognised(course: Course, before: Mapping[str, Any], results: Results) -> dict[Key, str]:
    """The assignments of notebooks that were graded before, if this course would recognise the same."""
    if before.get("recognised_by") != _recognition(course):
        return {}
    return {
        (result.notebook, result.provenance.notebook_sha256): result.assignment
        for result in results.values()
        if result.assignment and result.status == "graded" and result.provenance.notebook_sha256
    }


def _recognition(course: Course) -> str:
    """A hash of what decides for which assignment a notebook is taken."""
    asked = {stem: list(names) for stem, names in course.functions.items()}
    return hashlib.sha256(json.dumps([code_hash(), asked]).encode()).hexdigest()
