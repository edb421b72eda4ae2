"""The steps of a run, and what they share: checks, evidence, protection, progress."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.course.course import Course
from grader.grading.class_observer import ClassObserver
from grader.grading.evidence_store import EvidenceStore
from grader.grading.judge import MAX_BATCH, Verdict, judge
from grader.grading.options import Options, Progress, ProgressCallback
from grader.grading.scoring import PartialCredit, failed, graded
from grader.grading.submission import Submission
from grader.reports.feedback import write_feedback
from grader.results.model import Provenance, Result
from grader.results.store import ResultsStore
from grader.sandbox.evidence import Evidence
from grader.sandbox.executor import Executor, torch_version
from grader.sandbox.zygote import Protection
from grader.version import __version__, code_hash

_STUBS = ""  # a name that no submission has
_MAX_SIZE = 3 << 20  # bytes of the answers in a batch; decoded they take ten times as much, and more

#: Results by student and name.
Results = dict[tuple[str, str], Result]


class RunSteps:
    """The steps of ``grade``, and what they share: the course's checks, where evidence is, how far it is."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that a run is about
        self,
        course: Course,
        store: ResultsStore,
        before: Mapping[str, Any],
        selected: Sequence[Submission],
        options: Options,
        progress: ProgressCallback,
        executor: Executor,
    ) -> None:
        self._executor = executor
        self._course, self._store, self._before, self._options = course, store, before, options
        self._selected, self._show_progress = selected, progress
        self.broken: dict[str, list[str]] = defaultdict(list)  # whose facts a check broke on, by the cause
        stems = sorted({submission.assignment for submission in selected if submission.assignment})
        self._rubrics = {stem: course.rubric(stem) for stem in stems}
        self._checks_sha256 = {stem: course.fingerprint(stem) for stem in stems}
        self._shows = course.settings.feedback
        self._shown: dict[str, bool] | None = asdict(self._shows)
        self._progress = Progress()
        self._run: dict[str, Any] = {}
        seeds = [] if options.force else store.seeds()
        # Students who have read feedback may know the inputs and hand in again: a run that has ended is over.
        self._seed = seeds[0] if seeds and not before.get("finished") else secrets.randbits(63)
        self._earlier_seeds = [seed for seed in seeds if seed != self._seed]
        self._assume(self._protection_of_the_run_before() or executor.start())

    def _protection_of_the_run_before(self) -> Protection | None:
        """What confined the workers then, if that was asked for now too, and torch is the same."""
        name, torch = self._before.get("protection"), self._before.get("torch")
        is_as_asked = isinstance(name, str) and (name != "none") == self._options.sandbox
        is_as_installed = torch == torch_version(self._executor.environment_fingerprint)
        if not is_as_asked or not is_as_installed or self._options.force:
            return None
        return Protection(str(name), str(torch))

    def _assume(self, protection: Protection) -> None:
        """Find evidence by what confines the workers, or is said to."""
        self._protection, self.protection, limits = protection, protection.name, self._options.limits
        environment = self._executor.environment_fingerprint
        self._known = EvidenceStore(
            self._course,
            self._rubrics,
            self._store,
            limits,
            environment,
            protection.name,
            self._seed,
            self._earlier_seeds,
        )
        tell = lambda doing: self._tell(doing=doing)  # noqa: E731
        self._observing = ClassObserver(
            self._course, self._rubrics, self._known, self._executor, limits, tell
        )

    def stale(self, results: Results) -> list[Submission]:
        """The submissions without a result that grading would give again."""
        found = self._without_current_result(results)
        if any(not self._known.is_current(submission) for submission in found):
            now = self._executor.start()  # something has to be observed: from now on this confines it
            if (now.name, now.torch) != (self._protection.name, self._protection.torch):
                self._assume(now)
                return self._without_current_result(results)
        return found

    def _without_current_result(self, results: Results) -> list[Submission]:
        return [s for s in self._selected if self._options.force or not self.is_current(s, results)]

    def is_current(self, submission: Submission, results: Results) -> bool:
        """Whether the stored result is what grading would give again."""
        result = results.get(submission.key)
        if result is None or not self._store.has_feedback(*submission.key):
            return False
        return (
            replace(result.provenance, graded_at=None) == self._provenance(submission)
            and (result.notebook, result.superseded) == (submission.relative, submission.superseded)
            and (submission.error is None or result.error == submission.error)
            and self._known.is_current(submission)
        )

    def is_judged_again(self, submission: Submission, results: Results) -> bool:
        """Whether there is a result, and what it was judged by still holds: then only the judging is new."""
        return submission.key in results and self._known.is_current(submission)

    def with_old_feedback(self, stale: Collection[Submission]) -> list[Submission]:
        """Whose result holds, while the feedback shows what the course showed before."""
        if not self._before or self._before.get("feedback") == self._shown:
            return []
        anew = {submission.key for submission in stale}
        return [submission for submission in self._selected if submission.key not in anew]

    def require_sound_checks(self, submissions: Sequence[Submission]) -> None:
        """Judge the references by which these will be judged.

        Raises:
            CourseError: a check fails or breaks on one.
        """
        for stem, seed in sorted({(s.assignment or "", self._known.seed_of(s)) for s in submissions}):
            self._observing.require_sound_checks(stem, seed)

    def begin(self, folder: Path, stale: Sequence[Submission], outdated: Sequence[Submission]) -> None:
        """Say what will be done, before the first result is written."""
        seeds = self._known.seeds(stale)
        self._run = {
            "seed": seeds[0],
            "earlier_seeds": seeds[1:],
            "finished": False,
            "submissions": str(folder.resolve()),
            "grader": __version__,
            "torch": self._protection.torch,
            "protection": self._protection.name,
            "limits": asdict(self._options.limits),
            # Until all feedback was written anew, the run does not say what feedback shows.
            "feedback": None if outdated else self._shown,
            "recognised_by": recognises(self._course),
        }
        if stale or outdated:
            self._store.write_run(self._run)
        self._tell(before=len(self._selected) - len(stale), total=len(stale))

    def end(self, *, shows_all: bool) -> None:
        """Say that the run came to its end; and what feedback shows, where everything was selected."""
        shown = self._shown if shows_all else self._run["feedback"]
        self._store.write_run({**self._run, "finished": True, "feedback": shown})

    def observe(
        self, submissions: Sequence[Submission]
    ) -> Iterator[tuple[str, int, list[tuple[Submission, Evidence]]]]:
        """Batches of submissions with their evidence; each of an assignment and of the inputs of a seed."""
        batches: dict[tuple[str, int], list[tuple[Submission, Evidence]]] = defaultdict(list)
        for submission, seed, evidence in self._observing.observe(submissions):
            key = submission.assignment or "", seed
            batches[key].append((submission, evidence))
            self._tell_done(in_error=evidence.fault is not None)
            size = sum(seen.size for _, seen in batches[key])
            if len(batches[key]) == MAX_BATCH - 1 or size > _MAX_SIZE:  # the stubs come along
                yield *key, batches.pop(key)
        for key, batch in batches.items():
            yield *key, batch

    def judge(
        self, stem: str, seed: int, batch: Sequence[tuple[Submission, Evidence]]
    ) -> tuple[dict[tuple[str, str], dict[str, Verdict]], PartialCredit]:
        """The verdicts on a batch, by student and name, and the rule of partial credit."""
        rubric, names = self._rubrics[stem], {f"{s.student}/{s.name}": s.key for s, _ in batch}
        evidence = dict(zip(names, (seen for _, seen in batch), strict=True))
        evidence[_STUBS] = self._observing.stubs(stem, seed)
        verdicts = judge(rubric, evidence, self._observing.reference(stem, seed))
        most = self._course.settings.partial_credit
        credit = PartialCredit.of(most, rubric.checks, verdicts[_STUBS])
        for name in names:
            for cause in {verdict.cause for verdict in verdicts[name].values() if verdict.cause}:
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
        rubric = self._rubrics[submission.assignment or ""]
        return graded(submission, rubric, evidence, verdicts, self._provenance(submission, _now()), credit)

    def failed(self, submission: Submission) -> Result:
        """The result of a submission that cannot be read."""
        self._tell_done(in_error=True)
        rubric = self._rubrics.get(submission.assignment or "")
        error = submission.error or "This notebook cannot be read."
        return failed(submission, error, self._provenance(submission, _now()), rubric)

    def write(
        self,
        results: Results,
        submission: Submission,
        result: Result,
        evidence: Evidence | None = None,
        seed: int = 0,
    ) -> None:
        """Write feedback, then the result: a result that is there means that its feedback is too."""
        self._write_feedback(result, evidence, seed)
        self._store.write_result(result)
        results[submission.key] = self._store.shared(result)

    def write_feedback_anew(self, results: Results, submissions: Sequence[Submission]) -> None:
        """Write the pages of results that stay as they are, because other things are shown now."""
        for submission in submissions:
            if submission.error is not None:
                self._write_feedback(results[submission.key])
        observed = [submission for submission in submissions if submission.error is None]
        for submission, seed, evidence in self._observing.observe(observed):  # from the store
            self._write_feedback(results[submission.key], evidence, seed)

    def _write_feedback(self, result: Result, evidence: Evidence | None = None, seed: int = 0) -> None:
        rubric = reference = None
        if evidence is not None and evidence.fault is None and self._shows.xrays:
            rubric = self._rubrics[result.assignment or ""]
            reference = self._observing.reference(result.assignment or "", seed)
        write_feedback(self._store, result, self._shows, evidence, rubric, reference)

    def _provenance(self, submission: Submission, graded_at: str | None = None) -> Provenance:
        """With what a submission is graded, and when."""
        return Provenance(
            submission.sha256,
            self._checks_sha256.get(submission.assignment or ""),
            __version__,
            self._protection.torch,
            self._protection.name,
            graded_at,
        )

    def _tell(self, **changes: Any) -> None:
        self._progress = replace(self._progress, **changes)
        self._show_progress(self._progress)

    def _tell_done(self, *, in_error: bool) -> None:
        """Another submission was looked at, and stays known, though it may still wait to be judged."""
        self._tell(done=self._progress.done + 1, errors=self._progress.errors + in_error)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def recognises(course: Course) -> str:
    """A hash of what decides for which assignment a notebook is taken."""
    asked = {stem: list(names) for stem, names in course.functions.items()}
    return hashlib.sha256(json.dumps([code_hash(), asked]).encode()).hexdigest()
