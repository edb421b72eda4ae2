"""Observes the submissions of a class, and first the references; what is known is not observed again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from grader.course.cause import cause_of
from grader.course.rubric import REFERENCE_LIMITS, Rubric
from grader.errors import CourseError
from grader.grading.broken_probe import broken_probes
from grader.grading.executor import Executor
from grader.grading.judge import collected_checks, failure_of, observations_of
from grader.grading.run_plan import RunPlan
from grader.grading.submission import Submission
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import Cell, cells_of
from grader.reports.terminal import GRADING, ProgressReporter
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe_moved
from grader.sandbox.plan import ProbePlan
from grader.text import some

_MOST_TOLD = 5  # unsound checks: to mend a check often mends others
_CHANGED = "the notebook was changed or removed while it was graded; grade again"


@dataclass(frozen=True)
class Observed:
    """A submission with its traces, the seed of its inputs, and its evidence.

    Attributes:
        cells: of its notebook; none if that was changed since it was found.
        is_new: whether the evidence was not stored before.
    """

    submission: Submission
    seed: int
    evidence: Evidence
    cells: Sequence[Cell] = ()
    is_new: bool = False


class ClassObserver:
    """Evidence of a class, as far as a plan needs it: known, or observed by an executor."""

    def __init__(self, plan: RunPlan, executor: Executor, progress: ProgressReporter) -> None:
        self._course, self._rubrics, self._limits = plan.course, plan.rubrics, plan.limits
        self._store, self._executor, self._progress = plan.evidence, executor, progress
        self._expected: dict[tuple[str, str, int], Evidence] = {}
        self._begun: dict[tuple[str, int], Future[Evidence]] = {}  # references, until they are asked for

    def reference(self, stem: str, seed: int) -> Evidence:
        """The reference's evidence, on the inputs of a seed.

        Raises:
            CourseError: a probe has no facts of it, so no submission could be judged fairly.
        """
        begun = self._begun.pop((stem, seed), None)
        return self._find_reference(stem, seed) if begun is None else begun.result()

    def measured(self, stem: str, seed: int, questions: Collection[str]) -> Evidence:
        """The reference's evidence, with how far the facts of some questions move."""
        rubric, reference = self._rubrics[stem], self.reference(stem, seed)
        asked = rubric.plan(seed, expected=True).without_pictures()
        unmeasured = {
            question.function
            for question in rubric.questions
            if question.id in questions
            and not all(reference.is_measured(probe.name) for probe in asked.probes[question.function])
        }
        if unmeasured:
            self._progress.report(doing=f"measuring how exact the reference of {stem} is")
            observe = partial(self._observe_answer, stem)
            moved = observe_moved(observe, asked.of_functions(unmeasured))
            reference = reference.with_moved(moved)
            self._keep("reference", stem, seed, reference)
            self._progress.report(doing=GRADING)
        return reference

    def stubs(self, stem: str, seed: int) -> Evidence:
        """The evidence of the notebook as it is handed out, on the inputs of a seed."""
        return self._of_course("stubs", stem, seed, self._observe_stubs)

    @contextmanager
    def observing(self, submissions: Sequence[Submission]) -> Iterator[Iterator[Observed]]:
        """Begin to observe submissions, first their references; in the block, they come as they are there.

        Nothing of a submission is written before it comes. A notebook whose time ran out because of others is
        observed again, alone.
        """
        pool = ThreadPoolExecutor(self._executor.max_workers)
        try:
            for stem, seed in self._references_of(submissions):
                self._begun[stem, seed] = pool.submit(self._find_reference, stem, seed)
            waiting = iter(submissions)
            yield self._as_they_come(pool, waiting, self._begin_next(pool, waiting, 0))
        except BaseException:
            self._executor.cancel()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def require_sound_checks(self, submissions: Sequence[Submission]) -> None:
        """Judge the references by which submissions will be judged.

        Raises:
            CourseError: a check fails or breaks on a reference.
        """
        for stem, seed in self._references_of(submissions):
            self._progress.report(doing=f"observing the reference of {stem}")
            _require_sound_checks(self._rubrics[stem], self.reference(stem, seed))
        self._progress.report(doing=GRADING)

    def _references_of(self, submissions: Sequence[Submission]) -> list[tuple[str, int]]:
        """The assignments and seeds of the references by which submissions will be judged."""
        return sorted({(s.assignment or "", self._store.seed_of(s)) for s in submissions})

    def _begin_next(
        self, pool: ThreadPoolExecutor, waiting: Iterator[Submission], under_way: int
    ) -> set[Future[Observed]]:
        """Begin to observe the next submissions, so few that memory stays small."""
        more = islice(waiting, max(0, self._executor.prefetch - under_way))
        return {pool.submit(self._observed, submission) for submission in more}

    def _as_they_come(
        self, pool: ThreadPoolExecutor, waiting: Iterator[Submission], futures: set[Future[Observed]]
    ) -> Iterator[Observed]:
        starved: list[Submission] = []
        while futures:
            done, futures = wait(futures, return_when=FIRST_COMPLETED)
            for future in done:
                observed = future.result()
                if observed.evidence.starved and self._executor.max_workers > 1:
                    starved.append(observed.submission)
                else:
                    yield self._kept(observed)
            futures |= self._begin_next(pool, waiting, len(futures))
        for submission in starved:
            self._progress.report(doing="looking again, at one at a time")
            yield self._kept(self._observed(submission))

    def _observed(self, submission: Submission) -> Observed:
        """A submission with its traces, and its evidence: known, or observed now."""
        seed = self._store.seed
        try:
            submission, cells = submission.read()
        except NotebookError:  # not kept, so that the next run looks at what is there then
            return Observed(submission, seed, Evidence(fault=_CHANGED))
        stored = self._store.evidence(submission)
        if stored is not None:
            return Observed(submission, *stored, cells)
        stem = submission.assignment or ""
        evidence = self._executor.observe(cells, self._rubrics[stem].plan(seed), self._limits)
        return Observed(submission, seed, evidence, cells, is_new=True)

    def _kept(self, observed: Observed) -> Observed:
        """What came, once it is stored."""
        if observed.is_new:
            self._store.write(observed.submission, observed.evidence)
        return observed

    def _find_reference(self, stem: str, seed: int) -> Evidence:
        return self._of_course("reference", stem, seed, self._observe_reference)

    def _of_course(
        self, kind: str, stem: str, seed: int, observe: Callable[[str, int], Evidence]
    ) -> Evidence:
        """What is expected, from this run, a run before, or observed now."""
        if (kind, stem, seed) not in self._expected:
            head, evidence = self._store.store.expected(kind, stem, seed) or (None, None)
            if evidence is not None and head == self._store.reference_head(stem, seed):
                self._expected[kind, stem, seed] = evidence
            else:
                self._keep(kind, stem, seed, observe(stem, seed))
        return self._expected[kind, stem, seed]

    def _keep(self, kind: str, stem: str, seed: int, evidence: Evidence) -> None:
        self._expected[kind, stem, seed] = evidence
        if evidence.fault is None and not evidence.starved:
            self._store.store.write_expected(kind, stem, self._store.reference_head(stem, seed), evidence)

    def _observe_reference(self, stem: str, seed: int) -> Evidence:
        evidence = self._observe_answer(stem, self._rubrics[stem].plan(seed, expected=True))
        broken = list(broken_probes(self._rubrics[stem].probes, evidence))
        if broken:
            raise CourseError("\n".join(broken))
        return evidence

    def _observe_answer(self, stem: str, asked: ProbePlan) -> Evidence:
        cells = cells_of(self._course.assignment(stem).reference)
        return self._executor.observe(cells, asked, REFERENCE_LIMITS)

    def _observe_stubs(self, stem: str, seed: int) -> Evidence:
        self._progress.report(doing=f"observing the stubs of {stem}")
        cells = cells_of(self._course.assignment(stem).handed_out)
        asked = self._rubrics[stem].plan(seed)
        answered = dict.fromkeys(asked.stubs, "pass")  # nothing counts as a stub, so every probe runs
        evidence = self._executor.observe(cells, replace(asked, stubs=answered), self._limits)
        self._progress.report(doing=GRADING)
        return evidence


def _require_sound_checks(rubric: Rubric, expected: Evidence) -> None:
    """Run every check over the reference.

    Raises:
        CourseError: a check fails or breaks on the reference; the text says where, and why.
    """
    functions = collected_checks(rubric.path)
    unsound: dict[str, str] = {}
    for check in rubric.checks:
        failed = failure_of(check, functions[check.id], observations_of(rubric, check, expected, expected))
        if failed is not None:
            unsound.setdefault(str(cause_of(failed.error, rubric.path.parent)), check.id)
    if unsound:
        causes = [f"{cause} ({check})" for cause, check in unsound.items()]
        listed = "\n".join(some(causes, _MOST_TOLD))
        raise CourseError(
            f"{rubric.stem}: nobody was graded, because hidden checks fail or break on the reference itself. "
            f"Mend them, or the reference:\n{listed}"
        )
