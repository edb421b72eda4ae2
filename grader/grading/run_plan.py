"""What a run has to do, found by comparing what was handed in with what runs before have stored.

Evidence is known by a fingerprint of all that decides about it: a notebook, its assignment's probes, the seed
of the inputs, the limits, the packages and what confines the worker. While they are the same, the same would
be observed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from grader.course.course import Course
from grader.course.rubric import Rubric
from grader.grading.executor import Executor
from grader.grading.submission import Submission
from grader.people.standing import Standing
from grader.people.term import Term
from grader.results.model import Provenance, Result
from grader.results.store import Head, ResultsStore
from grader.sandbox.evidence import Evidence
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Protection
from grader.scores import total
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


@dataclass
class EvidenceStore:
    """What a results folder knows of submissions, references and stubs.

    Attributes:
        rubrics: by assignment, what is asked.
        environment: names and versions of what else evidence depends on.
        seed: of the inputs of this run.
        is_forced: whether only what was observed on these inputs is current.
    """

    course: Course
    rubrics: Mapping[str, Rubric]
    store: ResultsStore
    limits: TimeLimits
    environment: Sequence[str]
    protection: Protection
    seed: int
    is_forced: bool

    def __post_init__(self) -> None:
        self._questions, self._base = cache(self._hash_of_questions), cache(self._hash_of_asked)

    def is_current(self, submission: Submission) -> bool:
        """Whether the stored evidence of a submission is what would be observed now."""
        return submission.error is not None or self.known_seed(submission) is not None

    def known_seed(self, submission: Submission) -> int | None:
        """The seed of a submission's stored evidence, if the same would be observed with it now."""
        head = self.store.head(*submission.key)
        if head is None or (self.is_forced and head.seed != self.seed):
            return None
        return head.seed if head.fingerprint == self._fingerprint(submission, head.seed) else None

    def seed_of(self, submission: Submission) -> int:
        """The seed of the inputs by which a submission will be judged."""
        known = self.known_seed(submission)
        return self.seed if known is None else known

    def evidence(self, submission: Submission) -> tuple[int, Evidence] | None:
        """The seed of a submission's stored evidence, and the evidence; None where it is not current."""
        seed = self.known_seed(submission)
        stored = None if seed is None else self.store.evidence(*submission.key)
        return None if seed is None or stored is None else (seed, stored[1])

    def write(self, submission: Submission, evidence: Evidence) -> None:
        """Store what was observed of a submission on the inputs of this run."""
        head = Head(self._fingerprint(submission, self.seed), self.seed)
        self.store.write_evidence(*submission.key, head, evidence)

    def reference_head(self, stem: str, seed: int) -> Head:
        """What is stored with the evidence of the reference and the starter code, observed now."""
        asked = ["reference", self._questions(stem, seed, True)]
        return Head(_sha256([*asked, list(self.environment), self.protection.name]), seed)

    def _fingerprint(self, submission: Submission, seed: int) -> str:
        base = self._base(submission.assignment or "", seed)
        return hashlib.sha256(f"{base} {submission.sha256}".encode()).hexdigest()

    def _hash_of_asked(self, stem: str, seed: int) -> str:
        """A hash of what decides about the evidence of a whole class, but for the notebooks."""
        asked = [vars(self.limits), self._questions(stem, seed, False)]
        return _sha256([asked, list(self.environment), self.protection.name])

    def _hash_of_questions(self, stem: str, seed: int, expected: bool) -> str:
        cells = self.course.assignment(stem).reference if expected else ()
        return _sha256([cells, asdict(self.rubrics[stem].plan(seed, expected=expected))])


def _sha256(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class RunPlan:
    """What is graded anew, by which checks, with what seed and in what confinement.

    Attributes:
        before: what ``run.json`` says of the run before.
        protection: what confines the workers.
        evidence: what runs before have observed, and where new evidence goes.
        checks_sha256: by assignment, a hash of all that decides its verdicts.
        stale: the submissions without a result that grading would give again.
        known: how many of these only have to be judged: they have a result, and its evidence holds.
    """

    course: Course
    term: Term
    store: ResultsStore
    before: Mapping[str, Any]
    rubrics: Mapping[str, Rubric]
    limits: TimeLimits
    protection: Protection
    evidence: EvidenceStore
    checks_sha256: Mapping[str, str]
    stale: Sequence[Submission]
    known: int

    def provenance(self, submission: Submission) -> Provenance:
        """With what a submission is graded, and when."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return replace(_provenance(submission, self.checks_sha256, self.protection), graded_at=now)

    def standing(self, submission: Submission) -> Standing:
        """What the instructor's files say of a submission."""
        return _standing(submission, self.term, self.course)

    def record(self, submissions: Path) -> dict[str, Any]:
        """What ``run.json`` says while the run goes on; its seed is for a run that has to be completed."""
        return {
            "seed": self.evidence.seed,
            "forced": self.evidence.is_forced,
            "finished": False,
            # Of the last run that was completed, until this one is.
            "current": self.before.get("current", []),
            "gradebook_sha256": self.before.get("gradebook_sha256"),
            "submissions": str(submissions.resolve()),
            "submissions_from_here": os.path.relpath(submissions.resolve(), self.store.path.resolve()),
            "grader": __version__,
            "torch": self.protection.torch,
            "protection": self.protection.name,
            "limits": asdict(self.limits),
        }


def plan_run(  # noqa: PLR0913, PLR0917 - all that a run is about
    course: Course,
    term: Term,
    store: ResultsStore,
    before: Mapping[str, Any],
    selected: Sequence[Submission],
    results: Results,
    options: Options,
    executor: Executor,
) -> RunPlan:
    """Plan a run.

    Args:
        before: what ``run.json`` says of the run before.
        selected: the submissions that the run is about.
        results: all that are stored.
    """
    stems = sorted({submission.assignment for submission in selected if submission.assignment})
    rubrics = {stem: course.rubric(stem) for stem in stems}
    checks_sha256 = {stem: course.fingerprint(stem) for stem in stems}
    # Students who have read feedback may know the inputs and submit again: a run that has ended is over.
    known = None if options.force or before.get("finished") else before.get("seed")
    seed = known if isinstance(known, int) else secrets.randbits(63)
    is_forced = options.force or (known is not None and before.get("forced") is True)
    environment = executor.environment_fingerprint
    protection = executor.start()
    evidence = EvidenceStore(course, rubrics, store, options.limits, environment, protection, seed, is_forced)
    as_now = {
        submission.key
        for submission in selected
        if not options.force
        and _is_as_now(submission, results, _provenance(submission, checks_sha256, protection))
        and Standing.of(results[submission.key]) == _standing(submission, term, course)
        and store.has_feedback(*submission.key)
        and evidence.is_current(submission)
    }
    stale = [submission for submission in selected if submission.key not in as_now]
    return RunPlan(
        course,
        term,
        store,
        before,
        rubrics,
        options.limits,
        protection,
        evidence,
        checks_sha256,
        stale,
        known=sum(s.error is None and s.key in results and evidence.is_current(s) for s in stale),
    )


def _is_as_now(submission: Submission, results: Results, provenance: Provenance) -> bool:
    """Whether the stored result of a submission is what grading would give again, from the same evidence."""
    result = results.get(submission.key)
    return (
        result is not None
        and replace(result.provenance, graded_at=None) == provenance
        and all(getattr(result, name) == getattr(submission, name) for name in _OF_VERSIONS)
        and result.notebook == submission.relative
        and (submission.error is None or result.error == submission.error)
    )


def _standing(submission: Submission, term: Term, course: Course) -> Standing:
    stem = submission.assignment
    if stem is None:
        return Standing()
    max_score = total(course.points(stem).values())
    return term.standing(submission.student, stem, max_score, submission.submitted)


def _provenance(
    submission: Submission, checks_sha256: Mapping[str, str], protection: Protection
) -> Provenance:
    return Provenance(
        submission.sha256,
        checks_sha256.get(submission.assignment or ""),
        __version__,
        protection.torch,
        protection.name,
    )
