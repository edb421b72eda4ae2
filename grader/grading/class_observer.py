"""Observes the references and the submissions of a class, unless current evidence is stored."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Literal

from grader.course.cause import cause_of
from grader.course.rubric import REFERENCE_LIMITS, Rubric
from grader.errors import CourseError
from grader.grading.broken_reference import broken_contracts
from grader.grading.executor import Executor
from grader.grading.judge import failures
from grader.grading.run_plan import RunPlan
from grader.grading.run_summary import GRADING, ProgressReporter
from grader.grading.submission import Submission
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import Notebook, cells_of
from grader.results.store import Head
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe_perturbed
from grader.sandbox.plan import ObservationPlan
from grader.text import some

_MOST_LISTED = 5  # unsound checks: fixing one often fixes others
_CHANGED = "The notebook was changed or removed while it was graded; grade again."


@dataclass(frozen=True)
class Observed:
    """A submission with its traces and its notebook, its evidence, and the head of that.

    Attributes:
        is_new: whether the evidence is not stored yet.
    """

    submission: Submission
    head: Head
    evidence: Evidence
    notebook: Notebook
    is_new: bool


class ClassObserver:
    """Evidence of a class, as far as a plan needs it: known, or observed by an executor."""

    def __init__(self, plan: RunPlan, executor: Executor, progress: ProgressReporter) -> None:
        self._plan, self._executor, self._progress = plan, executor, progress
        self._course, self._rubrics, self._limits = plan.course, plan.rubrics, plan.options.limits
        self._expected: dict[tuple[str, str, int], Evidence] = {}
        self._begun: dict[tuple[str, int], Future[Evidence]] = {}  # references, until they are asked for

    def reference(self, stem: str, seed: int) -> Evidence:
        """The reference's evidence, on the inputs of a seed.

        Raises:
            CourseError: a contract was not observed of it, so no submission could be judged fairly.
        """
        begun = self._begun.pop((stem, seed), None)
        return self._of_course("reference", stem, seed) if begun is None else begun.result()

    def with_sensitivity(self, stem: str, seed: int, questions: Collection[str]) -> Evidence:
        """The reference's evidence, with the sensitivity to rounding of some questions' observations."""
        rubric, reference = self._rubrics[stem], self.reference(stem, seed)
        asked = rubric.plan(seed, expected=True).without_pictures()
        unmeasured = {
            question.function
            for question in rubric.questions
            if question.id in questions
            and not all(
                reference.has_sensitivity(request.name) for request in asked.requests[question.function]
            )
        }
        if unmeasured:
            observe = partial(self._observe_answer, stem)
            with self._progress.step(f"measuring how exact the reference of {stem} is"):
                perturbed = observe_perturbed(observe, asked.of_functions(unmeasured))
            reference = reference.with_sensitivity(perturbed)
            self._keep("reference", stem, seed, reference)
        return reference

    def starter_code(self, stem: str, seed: int) -> Evidence:
        """The evidence of the notebook with its starter code, on the inputs of a seed."""
        return self._of_course("stubs", stem, seed)

    @contextmanager
    def observing(self, submissions: Sequence[Submission]) -> Iterator[Iterator[Observed | Submission]]:
        """Begin to observe submissions, first their references; in the block, they come as they are there.

        One whose notebook has changed since it was found comes as a submission in error. A notebook whose
        time ran out because of others is observed again, alone.
        """
        pool = ThreadPoolExecutor(self._executor.max_workers)
        try:
            for stem, seed in self._references_of(submissions):
                self._begun[stem, seed] = pool.submit(self._of_course, "reference", stem, seed)
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
            with self._progress.step(f"observing the reference of {stem}"):
                _require_sound_checks(self._rubrics[stem], self.reference(stem, seed))
        self._progress.report(doing=GRADING)

    def _references_of(self, submissions: Sequence[Submission]) -> list[tuple[str, int]]:
        """The assignments and seeds of the references by which submissions will be judged."""
        plan = self._plan
        return sorted({(s.assignment or "", (plan.head(s) or plan).seed) for s in submissions})

    def _begin_next(
        self, pool: ThreadPoolExecutor, waiting: Iterator[Submission], under_way: int
    ) -> set[Future[Observed | Submission]]:
        """Begin to observe the next submissions, so few that memory stays small."""
        more = islice(waiting, max(0, self._executor.prefetch - under_way))
        return {pool.submit(self._observed, submission) for submission in more}

    def _as_they_come(
        self,
        pool: ThreadPoolExecutor,
        waiting: Iterator[Submission],
        futures: set[Future[Observed | Submission]],
    ) -> Iterator[Observed | Submission]:
        starved: list[Submission] = []
        while futures:
            done, futures = wait(futures, return_when=FIRST_COMPLETED)
            for future in done:
                match future.result():
                    case Observed() as seen if seen.evidence.starved and self._executor.max_workers > 1:
                        starved.append(seen.submission)
                    case came:
                        yield came
            futures |= self._begin_next(pool, waiting, len(futures))
        for submission in starved:
            self._progress.report(doing="looking again, at one at a time")
            yield self._observed(submission)

    def _observed(self, submission: Submission) -> Observed | Submission:
        """A submission with its evidence, stored or observed now; in error if its notebook has changed."""
        try:
            submission, notebook = submission.read()
        except NotebookError:
            return replace(submission, error=_CHANGED)
        stored = self._plan.evidence(submission)
        if stored is not None:
            return Observed(submission, *stored, notebook, is_new=False)
        plan = self._rubrics[submission.assignment or ""].plan(self._plan.seed)
        evidence = self._executor.observe(notebook.cells, plan, self._limits)
        head = self._plan.new_head(submission, self._executor.start())
        return Observed(submission, head, evidence, notebook, is_new=True)

    def again(self, observed: Observed, plan: ObservationPlan) -> Evidence:
        """Further evidence of a submission's notebook, for feedback."""
        return self._executor.observe(observed.notebook.cells, plan, self._limits)

    def reference_again(self, stem: str, plan: ObservationPlan) -> Evidence:
        """Further evidence of the reference, for feedback."""
        return self._observe_answer(stem, plan)

    def _of_course(self, kind: Literal["reference", "stubs"], stem: str, seed: int) -> Evidence:
        """The evidence of a notebook of the course: from this run, from an earlier run, or observed now."""
        if (kind, stem, seed) not in self._expected:
            stored = self._plan.store.expected(kind, stem, seed)
            if stored is not None and stored[0].fingerprint == self._plan.reference_fingerprint(stem, seed):
                self._expected[kind, stem, seed] = stored[1]
            else:
                observe = self._observe_reference if kind == "reference" else self._observe_starter_code
                self._keep(kind, stem, seed, observe(stem, seed))
        return self._expected[kind, stem, seed]

    def _keep(self, kind: str, stem: str, seed: int, evidence: Evidence) -> None:
        self._expected[kind, stem, seed] = evidence
        if evidence.fault is None and not evidence.starved:
            sandbox = self._executor.start()
            fingerprint = self._plan.reference_fingerprint(stem, seed)
            head = Head(fingerprint, seed, sandbox.name, sandbox.torch)
            self._plan.store.write_expected(kind, stem, head, evidence)

    def _observe_reference(self, stem: str, seed: int) -> Evidence:
        evidence = self._observe_answer(stem, self._rubrics[stem].plan(seed, expected=True))
        broken = list(broken_contracts(self._rubrics[stem].contracts, evidence))
        if broken:
            raise CourseError("\n".join(broken))
        return evidence

    def _observe_answer(self, stem: str, asked: ObservationPlan) -> Evidence:
        cells = cells_of(self._course.assignment(stem).reference)
        return self._executor.observe(cells, asked, REFERENCE_LIMITS)

    def _observe_starter_code(self, stem: str, seed: int) -> Evidence:
        cells = cells_of(self._course.assignment(stem).released_cells)
        asked = self._rubrics[stem].plan(seed)
        # A comparison with other starter code gives "answered", so everything is observed.
        answered = dict.fromkeys(asked.starter_code, "pass")
        with self._progress.step(f"observing the starter code of {stem}"):
            return self._executor.observe(cells, replace(asked, starter_code=answered), self._limits)


def _require_sound_checks(rubric: Rubric, expected: Evidence) -> None:
    """Run every check over the reference.

    Raises:
        CourseError: a check fails or breaks on the reference; the text says where, and why.
    """
    failure_of = failures(rubric, expected, expected)
    unsound: dict[str, str] = {}
    for check in rubric.checks:
        failed = failure_of(check)
        if failed is not None:
            unsound.setdefault(str(cause_of(failed.error, rubric.path.parent)), check.id)
    if unsound:
        causes = [f"{cause} ({check})" for cause, check in unsound.items()]
        listed = "\n".join(some(causes, _MOST_LISTED))
        raise CourseError(
            f"{rubric.stem}: nothing was graded, because hidden checks fail or break on the reference"
            f" itself. Fix them, or the reference:\n{listed}"
        )
