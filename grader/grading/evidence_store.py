"""Outside: observes submissions, or finds what was observed before; nothing else waits for students' code."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Self

from grader.course.course import Course
from grader.course.reference import (
    REFERENCE_LIMITS,
    plan_for_oracles,
    plan_for_stubs,
    reference_cells,
    stub_cells,
)
from grader.course.rubric import Rubric
from grader.errors import CourseError
from grader.grading.broken_probe import broken_probes
from grader.grading.reference_check import require_sound_checks
from grader.grading.submission import Submission
from grader.notebooks.reader import NotebookError
from grader.results.store import ResultsStore
from grader.sandbox.evidence import Evidence
from grader.sandbox.executor import Executor, open_executor, torch_version
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Protection


@dataclass(frozen=True)
class Conditions:
    """How a run observes.

    Attributes:
        jobs: workers at a time, on this machine.
        force: observe again what was observed before.
        sandbox: False forgoes the cage.
        limits: seconds for a cell, a question and a notebook.
        preload: modules that workers shall have at hand.
        scheduler: address of a Dask scheduler whose machines observe in the place of this one, or None.
    """

    jobs: int
    force: bool
    sandbox: bool
    limits: TimeLimits
    preload: tuple[str, ...]
    scheduler: str | None = None


class Observatory:
    """Where evidence comes from: the results folder, else the workers of a station.

    Args:
        course: the course.
        rubrics: by assignment, what is asked.
        folder: where evidence is kept.
        conditions: see Conditions.
        tell: is told in a few words what is being done.
        station: where to observe; by default what the conditions say.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the last two have defaults
        self,
        course: Course,
        rubrics: Mapping[str, Rubric],
        folder: ResultsStore,
        conditions: Conditions,
        tell: Callable[[str], None] = lambda _: None,
        station: Executor | None = None,
    ) -> None:
        self._course, self._rubrics, self._folder, self._conditions = course, rubrics, folder, conditions
        self._tell = tell
        self._asked: dict[tuple[str, int, bool], str] = {}
        self._circumstances: dict[tuple[str, int, str], str] = {}
        self._references: dict[tuple[str, int], Evidence] = {}
        self._sound: set[tuple[str, int]] = set()  # whose checks have passed on the reference
        self._stubs: dict[tuple[str, int], Evidence] = {}
        known = [] if conditions.force else folder.seeds()
        # Who has read feedback may know the inputs and hands in again: a run that came to its end is over.
        self._seed = known[0] if known and not folder.run().get("finished") else secrets.randbits(63)
        self._earlier_seeds = [seed for seed in known if seed != self._seed]
        self._station = station or _station(conditions)

    def __enter__(self) -> Self:
        self._station.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._station.__exit__(*error)

    @property
    def protection(self) -> Protection:
        """What confines the workers: as tried out in this run, else as it was in the one before."""
        known = None if self._station.is_started or self._conditions.force else self._known_protection
        return known or self._station.protection

    @cached_property
    def _known_protection(self) -> Protection | None:
        run = self._folder.run()
        name, torch = run.get("protection"), run.get("torch")
        is_as_asked = isinstance(name, str) and (name != "none") == self._conditions.sandbox
        is_as_installed = torch == torch_version(self._station.environment_fingerprint)
        return Protection(str(name), str(torch)) if is_as_asked and is_as_installed else None

    def seeds(self, waiting: Collection[Submission]) -> list[int]:
        """The seeds of all evidence, the newest first, once these submissions are observed.

        This run's own is among them only where somebody is observed with it.
        """
        is_used = not self._earlier_seeds or not all(map(self.is_current, waiting))
        return [self._seed, *self._earlier_seeds] if is_used else self._earlier_seeds

    def reference(self, stem: str, seed: int) -> Evidence:
        """The reference's evidence, on the inputs of a seed.

        Raises:
            CourseError: a probe has no facts of it, so nobody could be judged fairly.
        """
        if (stem, seed) not in self._references:
            evidence = self.known_reference(stem, seed)
            if evidence is None:
                _ = self._station.protection  # which takes a while, the first time
                self._tell("observing the reference")
                asked = self._rubrics[stem].plan(seed, oracle=True)
                evidence = self._station.observe(reference_cells(self._course, stem), asked, REFERENCE_LIMITS)
                self._refuse_faults(stem, evidence)
                self._folder.write_reference(stem, self._reference_fingerprint(stem, seed), evidence)
            self._references[stem, seed] = evidence
        return self._references[stem, seed]

    def known_reference(self, stem: str, seed: int) -> Evidence | None:
        """The reference's evidence on the inputs of a seed, if it was observed before."""
        return self._folder.reference(stem, self._reference_fingerprint(stem, seed))

    def stubs(self, stem: str, seed: int) -> Evidence:
        """The evidence of the notebook as it is handed out, on the inputs of a seed."""
        if (stem, seed) not in self._stubs:
            evidence = self.known_stubs(stem, seed)
            if evidence is None:
                self._tell("observing the stubs")
                asked = plan_for_stubs(self._rubrics[stem], seed)
                cells = stub_cells(self._course, stem)
                evidence = self._station.observe(cells, asked, self._conditions.limits)
                if evidence.fault is None and not evidence.starved:
                    self._folder.write_stubs(stem, self._reference_fingerprint(stem, seed), evidence)
            self._stubs[stem, seed] = evidence
        return self._stubs[stem, seed]

    def known_stubs(self, stem: str, seed: int) -> Evidence | None:
        """The stubs' evidence on the inputs of a seed, if it was observed before."""
        return self._folder.stubs(stem, self._reference_fingerprint(stem, seed))

    def require_sound_checks(self, stem: str, seed: int) -> None:
        """Judge the reference, by the inputs of a seed.

        Raises:
            CourseError: a check fails or breaks on it.
        """
        if (stem, seed) not in self._sound:
            require_sound_checks(self._rubrics[stem], self.reference(stem, seed), self._ordinary(stem, seed))
            self._sound.add((stem, seed))

    def _ordinary(self, stem: str, seed: int) -> Evidence:
        """What probes with an oracle see of the reference itself; most assignments have none."""
        asked = plan_for_oracles(self._rubrics[stem], seed)
        if not any(asked.probes.values()):
            return Evidence()
        fingerprint = self._reference_fingerprint(stem, seed)
        evidence = self._folder.ordinary(stem, fingerprint)
        if evidence is None:
            evidence = self._station.observe(reference_cells(self._course, stem), asked, REFERENCE_LIMITS)
            self._folder.write_ordinary(stem, fingerprint, evidence)
        return evidence

    def seed_of(self, submission: Submission) -> int:
        """The seed of the inputs by which a submission is judged, as far as is known beforehand."""
        seed = self.known_seed(submission)
        return self._seed if seed is None else seed

    def _reference_fingerprint(self, stem: str, seed: int) -> str:
        return self._fingerprint(["reference", self._questions(stem, seed, oracle=True)])

    def _refuse_faults(self, stem: str, evidence: Evidence) -> None:
        broken = list(broken_probes(self._rubrics[stem].probes, evidence))
        if broken:
            raise CourseError("\n".join(broken))

    def is_current(self, submission: Submission) -> bool:
        """Whether what was observed of a submission before is what would be observed now."""
        return submission.error is not None or self.known_seed(submission) is not None

    def observe(self, submissions: Sequence[Submission]) -> Iterator[tuple[Submission, int, Evidence]]:
        """Submissions, each with the seed of its inputs and its evidence.

        Whose time ran out because of others is looked at again, alone.
        """
        unknown = (s for s in submissions if not self.is_current(s))
        for stem in sorted({s.assignment for s in unknown if s.assignment}):
            self.reference(stem, self._seed)  # first, because nobody can be judged where it fails
            self.stubs(stem, self._seed)
        self._tell("grading")
        starved: list[Submission] = []
        for submission, (seed, evidence) in self._observe_side_by_side(submissions):
            if evidence.starved and self._station.max_workers > 1:
                starved.append(submission)
            else:
                yield submission, seed, evidence
        for submission in starved:
            self._tell("looking again, at one at a time")
            yield submission, *self._evidence(submission, alone=True)

    def _observe_side_by_side(
        self, submissions: Sequence[Submission]
    ) -> Iterator[tuple[Submission, tuple[int, Evidence]]]:
        """Evidence in the order in which it comes; few wait, so that memory stays small."""
        waiting = iter(submissions)
        pool = ThreadPoolExecutor(self._station.max_workers)
        try:
            futures: dict[Future[tuple[int, Evidence]], Submission] = {}
            while True:
                for submission in islice(waiting, max(0, self._station.prefetch - len(futures))):
                    futures[pool.submit(self._evidence, submission)] = submission
                if not futures:
                    return
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    yield futures.pop(future), future.result()
        except BaseException:
            self._station.cancel()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _evidence(self, submission: Submission, *, alone: bool = False) -> tuple[int, Evidence]:
        """What is known about a submission from a run before, or what a worker sees now; and the seed."""
        seed = self.known_seed(submission)
        stored = None if seed is None else self._folder.evidence(submission.student, submission.name)
        if seed is not None and stored is not None:
            return seed, stored
        asked = self._rubrics[submission.assignment or ""].plan(self._seed)
        try:
            cells = submission.read().cells
        except NotebookError:  # not kept, so that the next run looks at what is there then
            return self._seed, Evidence(
                fault="the notebook was changed or removed while it was graded; grade again"
            )
        evidence = self._station.observe(cells, asked, self._conditions.limits)
        if alone or self._station.max_workers == 1 or not evidence.starved:
            fingerprint = self._fingerprint_of(submission, self._seed)
            self._folder.write_evidence(submission.student, submission.name, fingerprint, evidence)
        return self._seed, evidence

    def known_seed(self, submission: Submission) -> int | None:
        """The seed of what was observed of a submission before, if it would be observed like that now."""
        if self._conditions.force:
            return None
        known = self._folder.observed(submission.student, submission.name)
        seeds = [self._seed, *self._earlier_seeds]
        return next((seed for seed in seeds if known == self._fingerprint_of(submission, seed)), None)

    def _fingerprint_of(self, submission: Submission, seed: int) -> str:
        """What decides about a submission's evidence, as one hash."""
        stem = submission.assignment or ""
        key = stem, seed, self.protection.name
        if key not in self._circumstances:  # once for a class of thousands
            questions = self._questions(stem, seed, oracle=False)
            self._circumstances[key] = self._fingerprint([vars(self._conditions.limits), questions])
        return hashlib.sha256(f"{self._circumstances[key]} {submission.sha256}".encode()).hexdigest()

    def _fingerprint(self, known: list[Any]) -> str:
        return _sha256([known, list(self._station.environment_fingerprint), self.protection.name])

    def _questions(self, stem: str, seed: int, *, oracle: bool) -> str:
        """A hash of what is asked, which is the same for a whole class."""
        key = stem, seed, oracle
        if key not in self._asked:
            cells = [cell.source for cell in reference_cells(self._course, stem)] if oracle else []
            self._asked[key] = _sha256([cells, asdict(self._rubrics[stem].plan(seed, oracle=oracle))])
        return self._asked[key]


def _sha256(known: list[Any]) -> str:
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _station(conditions: Conditions) -> Executor:
    settings = {
        "preload": conditions.preload,
        "sandbox": conditions.sandbox,
        "cpu_seconds": int(conditions.limits.notebook) + 60,
    }
    return open_executor(settings, conditions.jobs, conditions.scheduler)
