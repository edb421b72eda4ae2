"""Outside: observes submissions, or finds what was observed before; nothing else waits for students' code."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Self

from grader.course import Course
from grader.errors import CourseError
from grader.evidence import Evidence, Fault, Stopped
from grader.folder import ResultsFolder
from grader.live import observe_reference, reference_cells
from grader.observer import Limits, observe
from grader.rubric import Rubric
from grader.submission import Submission
from grader.zygote import Protection, Zygote


@dataclass(frozen=True)
class Conditions:
    """How a run observes.

    Attributes:
        seed: the run's secret seed.
        jobs: workers at a time.
        force: observe again what was observed before.
        sandbox: False forgoes the cage.
        limits: seconds for a cell, a question and a notebook.
        preload: modules that workers shall have at hand.
    """

    seed: int
    jobs: int
    force: bool
    sandbox: bool
    limits: Limits
    preload: tuple[str, ...]


class Observatory:
    """Where evidence comes from: the results folder, else workers, whose zygote starts when it is needed.

    Args:
        course: the course.
        rubrics: by assignment, what is asked.
        folder: where evidence is kept.
        conditions: see Conditions.
    """

    def __init__(
        self, course: Course, rubrics: Mapping[str, Rubric], folder: ResultsFolder, conditions: Conditions
    ) -> None:
        self._course, self._rubrics, self._folder, self._conditions = course, rubrics, folder, conditions
        self._lock = threading.Lock()
        self._started: Zygote | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._started.close()

    @property
    def protection(self) -> Protection:
        """What confines the workers here: as tried out in this run, else as it was in the one before."""
        known = None if self._started or self._conditions.force else self._known_protection
        return known or self._zygote().protection

    @cached_property
    def _known_protection(self) -> Protection | None:
        run = self._folder.run()
        name, torch = run.get("protection"), run.get("torch")
        is_as_asked = isinstance(name, str) and (name != "none") == self._conditions.sandbox
        is_as_installed = torch == version("torch").partition("+")[0]
        return Protection(str(name), str(torch)) if is_as_asked and is_as_installed else None

    def _zygote(self) -> Zygote:
        with self._lock:
            if self._started is None:
                self._started = Zygote(
                    preload=self._conditions.preload,
                    sandbox=self._conditions.sandbox,
                    cpu_seconds=int(self._conditions.limits.notebook) + 60,
                )
            return self._started

    def reference(self, stem: str) -> Evidence:
        """The reference's evidence.

        Raises:
            CourseError: a probe has no facts of it, so nobody could be judged fairly.
        """
        cells = [cell.source for cell in reference_cells(self._course, stem)]
        questionnaire = self._rubrics[stem].questionnaire(self._conditions.seed, oracle=True)
        fingerprint = self._fingerprint([cells, asdict(questionnaire)])
        evidence = None if self._conditions.force else self._folder.reference(stem, fingerprint)
        if evidence is None:
            evidence = observe_reference(self._zygote(), self._course, stem, self._conditions.seed)
            self._refuse_faults(stem, evidence)
            self._folder.write_reference(stem, fingerprint, evidence)
        return evidence

    def _refuse_faults(self, stem: str, evidence: Evidence) -> None:
        for probe in self._rubrics[stem].probes:
            outcome = evidence.outcome(probe)
            if isinstance(outcome, Stopped | Fault):
                raise CourseError(
                    f"{stem}: probe {probe} fails on the reference ({outcome}); run `grader doctor`"
                )

    def observe(self, submissions: Sequence[Submission]) -> Iterator[tuple[Submission, Evidence]]:
        """Evidence of submissions; whose time ran out because of others is looked at again, alone."""
        starved: list[Submission] = []
        for submission, evidence in self._observe_side_by_side(submissions):
            if evidence.starved and self._conditions.jobs > 1:
                starved.append(submission)
            else:
                yield submission, evidence
        for submission in starved:
            yield submission, self._evidence(submission, alone=True)

    def _observe_side_by_side(
        self, submissions: Sequence[Submission]
    ) -> Iterator[tuple[Submission, Evidence]]:
        """Evidence in the order in which it comes; few wait, so that memory stays small."""
        waiting = iter(submissions)
        pool = ThreadPoolExecutor(self._conditions.jobs)
        try:
            futures: dict[Future[Evidence], Submission] = {}
            while True:
                for submission in islice(waiting, 2 * self._conditions.jobs - len(futures)):
                    futures[pool.submit(self._evidence, submission)] = submission
                if not futures:
                    return
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    yield futures.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _evidence(self, submission: Submission, *, alone: bool = False) -> Evidence:
        """What is known about a submission from a run before, or what a worker sees now."""
        assert submission.notebook is not None
        assert submission.assignment is not None
        limits = self._conditions.limits
        asked = self._rubrics[submission.assignment].questionnaire(self._conditions.seed)
        fingerprint = self._fingerprint([submission.notebook.sha256, asdict(asked), asdict(limits)])
        if not self._conditions.force:
            stored = self._folder.evidence(submission.student, submission.name, fingerprint)
            if stored is not None:
                return stored
        evidence = observe(self._zygote(), submission.notebook.cells, asked, limits)
        if alone or self._conditions.jobs == 1 or not evidence.starved:
            self._folder.write_evidence(submission.student, submission.name, fingerprint, evidence)
        return evidence

    def _fingerprint(self, known: list[Any]) -> str:
        """What decides about evidence: notebook, questions, torch, protection and the inside's own code."""
        surroundings = [self.protection.torch, self.protection.name, _inside_sha256()]
        return hashlib.sha256(json.dumps([known, surroundings], sort_keys=True).encode()).hexdigest()


def _inside_sha256() -> str:
    inside = sorted((Path(__file__).parent / "worker").glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in inside)).hexdigest()
