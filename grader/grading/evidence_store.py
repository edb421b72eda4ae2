"""Evidence from runs before, found by a fingerprint of all that decides about it.

A notebook, its assignment's probes, the seed of the inputs, the limits, the packages and what confines the
worker: while they are the same, the same would be observed. Nothing is observed here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from grader.course.course import Course
from grader.course.rubric import Rubric
from grader.grading.submission import Submission
from grader.results.store import ResultsStore, StoredEvidence
from grader.sandbox.evidence import Evidence
from grader.sandbox.plan import TimeLimits


class EvidenceStore:
    """What a results folder knows of submissions, references and stubs.

    Args:
        rubrics: by assignment, what is asked.
        environment: names and versions of what else evidence depends on.
        protection: the name of what confines the workers.
        seed: of the inputs of this run.
        earlier_seeds: of runs before, the newest first.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - all that evidence depends on
        self,
        course: Course,
        rubrics: Mapping[str, Rubric],
        store: ResultsStore,
        limits: TimeLimits,
        environment: Sequence[str],
        protection: str,
        seed: int,
        earlier_seeds: Sequence[int],
    ) -> None:
        self._course, self._rubrics, self._store = course, rubrics, store
        self._limits, self._environment, self._protection = limits, list(environment), protection
        self.seed, self._seeds = seed, [seed, *earlier_seeds]
        self._questions, self._base = cache(self._hash_of_questions), cache(self._hash_of_asked)

    def seeds(self, waiting: Collection[Submission]) -> list[int]:
        """The seeds of all evidence, the newest first, once these submissions are observed.

        The seed of this run is among them only where a submission is observed with it.
        """
        earlier = self._seeds[1:]
        return self._seeds if not earlier or not all(map(self.is_current, waiting)) else earlier

    def is_current(self, submission: Submission) -> bool:
        """Whether the stored evidence of a submission is what would be observed now."""
        return submission.error is not None or self.known_seed(submission) is not None

    def known_seed(self, submission: Submission) -> int | None:
        """The seed of a submission's stored evidence, if the same would be observed with it now."""
        stored = self._store.fingerprint_of_evidence(*submission.key)
        return next((seed for seed in self._seeds if stored == self._fingerprint(submission, seed)), None)

    def seed_of(self, submission: Submission) -> int:
        """The seed of the inputs by which a submission will be judged."""
        known = self.known_seed(submission)
        return self.seed if known is None else known

    def evidence(self, submission: Submission) -> tuple[int, Evidence] | None:
        """The seed of a submission's stored evidence, and the evidence; None where it is not current."""
        seed = self.known_seed(submission)
        stored = None if seed is None else self._store.evidence(*submission.key)
        return None if seed is None or stored is None else (seed, stored.evidence)

    def write(self, submission: Submission, evidence: Evidence) -> None:
        """Store what was observed of a submission on the inputs of this run."""
        fingerprint = self._fingerprint(submission, self.seed)
        reference = self.reference_fingerprint(submission.assignment or "", self.seed)
        self._store.write_evidence(
            *submission.key, StoredEvidence(fingerprint, evidence, self.seed, reference)
        )

    def expected(self, kind: str, stem: str, seed: int) -> Evidence | None:
        """Stored evidence of the course's own notebooks; see ``ResultsStore.expected``."""
        return self._store.expected(kind, stem, self.reference_fingerprint(stem, seed))

    def write_expected(self, kind: str, stem: str, seed: int, evidence: Evidence) -> None:
        """Store evidence of such a notebook."""
        self._store.write_expected(kind, stem, self.reference_fingerprint(stem, seed), evidence)

    def reference_fingerprint(self, stem: str, seed: int) -> str:
        """A hash of what decides about a reference's evidence."""
        return _sha256(["reference", self._questions(stem, seed, True), self._environment, self._protection])

    def _fingerprint(self, submission: Submission, seed: int) -> str:
        base = self._base(submission.assignment or "", seed)
        return hashlib.sha256(f"{base} {submission.sha256}".encode()).hexdigest()

    def _hash_of_asked(self, stem: str, seed: int) -> str:
        """A hash of what decides about the evidence of a whole class, but for the notebooks."""
        asked = [vars(self._limits), self._questions(stem, seed, False)]
        return _sha256([asked, self._environment, self._protection])

    def _hash_of_questions(self, stem: str, seed: int, oracle: bool) -> str:
        cells = self._course.assignment(stem).reference if oracle else ()
        return _sha256([cells, asdict(self._rubrics[stem].plan(seed, oracle=oracle))])


def _sha256(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
