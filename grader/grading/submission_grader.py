"""Judges submissions, one after the other, and writes evidence, result and feedback of each."""

from __future__ import annotations

import traceback
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path

from grader.course.pictures import pictures_of
from grader.grading.class_observer import ClassObserver, Observed
from grader.grading.elsewhere import with_definitions_elsewhere
from grader.grading.judge import Verdict, judge
from grader.grading.run_plan import Results, RunPlan
from grader.grading.scoring import PartialCredit, failed, graded
from grader.grading.snippets import SnippetFinder, snippets_of, with_snippets
from grader.grading.submission import Submission
from grader.people.lateness_and_adjustments import with_lateness_and_adjustments
from grader.reports.feedback import Pictures, write_feedback
from grader.reports.own_code import OwnCode, own_code
from grader.results.changes import Change, add_change, replaced
from grader.results.model import Result
from grader.results.similar import with_digests
from grader.sandbox.evidence import Evidence


class SubmissionGrader:
    """Grades submissions by a plan.

    Attributes:
        results: by student and name; new results take the place of those of earlier runs.
        replaced: how many did.
        changes: those whose score or status is another.
        broken: names of the notebooks over which a check broke, by the cause.
        unshown: names of the notebooks without snippets, because the grader's own code broke, by the cause.
    """

    def __init__(self, plan: RunPlan, observer: ClassObserver, results: Results) -> None:
        self._plan, self._observer, self.results = plan, observer, results
        self._settings, self._store = plan.course.settings, plan.store
        self._credit, self._finder = cache(self._credit_of), cache(self._finder_of)
        self.replaced = 0
        self.changes: list[Change] = []
        self.broken: dict[str, list[str]] = defaultdict(list)
        self.unshown: dict[str, list[str]] = defaultdict(list)

    def grade(self, came: Observed | Submission) -> Result:
        """Grade an observed submission, or one in error, and write the output.

        Feedback goes first and is written last. So wherever a run is killed, feedback that is there belongs
        to the stored result, and that to the stored evidence.
        """
        submission = came.submission if isinstance(came, Observed) else came
        self._store.remove_feedback(*submission.key)
        if isinstance(came, Observed):
            if came.is_new:
                self._store.write_evidence(*submission.key, came.head, came.evidence)
            result = self._judged(came)
        else:
            rubric = self._plan.rubrics.get(submission.assignment or "")
            provenance = self._plan.provenance(submission, None)
            result = failed(submission, submission.error or "", provenance, rubric)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        result = replace(result, provenance=replace(result.provenance, graded_at=now))
        result = with_lateness_and_adjustments(result, self._plan.lateness_and_adjustments(submission))
        before = self.results.get(submission.key)
        if before is not None:
            self.replaced += 1
            if change := replaced(before, result):
                add_change(self._store, change)
                self.changes.append(change)
        self._store.write_result(result)
        self.results[submission.key] = result
        self._write_feedback(result, came)
        return result

    def _judged(self, observed: Observed) -> Result:
        submission, evidence, seed = observed.submission, observed.evidence, observed.head.seed
        stem, provenance = submission.assignment or "", self._plan.provenance(submission, observed.head)
        rubric = self._plan.rubrics[stem]
        verdicts = self._verdicts(stem, seed, evidence)
        for cause in {str(verdict.cause) for verdict in verdicts.values() if verdict.cause}:
            self.broken[cause].append(f"{submission.student}/{submission.name}")
        credit = PartialCredit(self._settings.partial_credit)
        if any(verdict.outcome != "passed" for verdict in verdicts.values()):
            credit = self._credit(stem, seed)  # only then it counts what the starter code passes
        result = graded(submission, rubric, evidence, verdicts, provenance, credit)
        notebook, released = observed.notebook, self._plan.course.assignment(stem).released_cells
        result = with_definitions_elsewhere(result, notebook, evidence, released)
        before = self.results.get(submission.key)
        is_same = before is not None and before.provenance.notebook_sha256 == provenance.notebook_sha256
        if observed.is_new or before is None or not is_same:
            result = with_snippets(result, self._snippets(observed, verdicts))
        else:  # to judge again runs nobody's code
            result = with_snippets(result, snippets_of(before, result))
        starter_code = {question.function: question.starter_code for question in rubric.questions}
        return with_digests(result, notebook.cells, starter_code)

    def _snippets(self, observed: Observed, verdicts: Mapping[str, Verdict]) -> dict[str, str]:
        """Code that shows the faults of a submission; the observations for it change no verdict."""
        submission = observed.submission
        stem = submission.assignment or ""

        def report(error: Exception) -> None:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            cause = f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"
            self.unshown[cause].append(f"{submission.student}/{submission.name}")

        again = partial(self._observer.again, observed)
        return self._finder(stem, observed.head.seed).find(observed.evidence, verdicts, again, report)

    def _finder_of(self, stem: str, seed: int) -> SnippetFinder:
        reference = self._observer.reference(stem, seed)
        again = partial(self._observer.reference_again, stem)
        return SnippetFinder(self._plan.rubrics[stem], reference, again)

    def _credit_of(self, stem: str, seed: int) -> PartialCredit:
        verdicts = self._verdicts(stem, seed, self._observer.starter_code(stem, seed))
        return PartialCredit(self._settings.partial_credit, verdicts)

    def _verdicts(self, stem: str, seed: int, evidence: Evidence) -> dict[str, Verdict]:
        rubric, reference = self._plan.rubrics[stem], self._observer.reference(stem, seed)
        return judge(rubric, evidence, reference, partial(self._observer.with_sensitivity, stem, seed))

    def _write_feedback(self, result: Result, came: Observed | Submission) -> None:
        shows, stem = self._settings.feedback, result.name
        pictures: Pictures = {}
        code: OwnCode = {}
        if isinstance(came, Observed):
            if shows.xrays and came.evidence.fault is None:
                reference = self._observer.reference(stem, came.head.seed)
                pictures = pictures_of(self._plan.rubrics[stem], came.evidence, reference)
            if shows.diagnoses:
                code = own_code(result, came.notebook.cells)
        write_feedback(self._store, result, pictures, code, shows)
