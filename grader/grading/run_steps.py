"""The steps of a run behind observing: judging, scoring and writing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from grader.grading.class_observer import ClassObserver
from grader.grading.judge import Verdict, judge
from grader.grading.run_plan import Results, RunPlan
from grader.grading.scoring import PartialCredit, failed, graded
from grader.grading.submission import Submission
from grader.reports.feedback import write_feedback
from grader.results.model import Result
from grader.sandbox.evidence import Evidence

_STUBS = ""  # a name that no submission has


class RunSteps:
    """The steps of ``grade``, and what they share.

    Attributes:
        broken: the submissions on whose facts a check broke, by the cause.
    """

    def __init__(self, plan: RunPlan, observer: ClassObserver, results: Results) -> None:
        self._plan, self._observer, self._results = plan, observer, results
        self._settings, self._store = plan.course.settings, plan.store
        self.broken: dict[str, list[str]] = defaultdict(list)

    def judge(
        self, stem: str, seed: int, batch: Sequence[tuple[Submission, Evidence]]
    ) -> tuple[dict[tuple[str, str], dict[str, Verdict]], PartialCredit]:
        """The verdicts on a batch, by student and name, and the rule of partial credit."""
        rubric, names = self._plan.rubrics[stem], {f"{s.student}/{s.name}": s.key for s, _ in batch}
        evidence = dict(zip(names, (seen for _, seen in batch), strict=True))
        evidence[_STUBS] = self._observer.stubs(stem, seed)
        verdicts = judge(rubric, evidence, self._observer.reference(stem, seed))
        credit = PartialCredit.of(self._settings.partial_credit, rubric.checks, verdicts[_STUBS])
        for name in names:
            for cause in {str(verdict.cause) for verdict in verdicts[name].values() if verdict.cause}:
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
        rubric, provenance = self._plan.rubrics[submission.assignment or ""], self._plan.provenance
        return graded(submission, rubric, evidence, verdicts, provenance(submission, _now()), credit)

    def fail(self, submission: Submission) -> Result:
        """The result of a submission that cannot be read."""
        rubric = self._plan.rubrics.get(submission.assignment or "")
        error = submission.error or "This notebook cannot be read."
        return failed(submission, error, self._plan.provenance(submission, _now()), rubric)

    def write(
        self, submission: Submission, result: Result, evidence: Evidence | None = None, seed: int = 0
    ) -> None:
        """Write feedback, then the result: a result that is there means that its feedback is too."""
        self._write_feedback(result, evidence, seed)
        self._store.write_result(result)
        self._results[submission.key] = self._store.shared(result)

    def write_old_feedback_anew(self) -> None:
        """Write the pages of results that stay as they are, because other things are shown now."""
        for submission in self._plan.old_feedback:
            if submission.error is not None:
                self._write_feedback(self._results[submission.key])
        observed = [submission for submission in self._plan.old_feedback if submission.error is None]
        for submission, seed, evidence in self._observer.observe(observed):  # from the store
            self._write_feedback(self._results[submission.key], evidence, seed)

    def _write_feedback(self, result: Result, evidence: Evidence | None = None, seed: int = 0) -> None:
        rubric = reference = None
        if evidence is not None and evidence.fault is None and self._settings.feedback.xrays:
            rubric = self._plan.rubrics[result.assignment or ""]
            reference = self._observer.reference(result.assignment or "", seed)
        write_feedback(self._store, result, self._settings.feedback, evidence, rubric, reference)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
