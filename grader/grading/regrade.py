"""A stored result, judged again by what was observed then; no student's code runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from grader.course.course import Course
from grader.errors import CourseError
from grader.grading.executor import environment_fingerprint, torch_version
from grader.grading.judge import Verdict, judge
from grader.grading.scoring import PartialCredit, graded
from grader.grading.submission import Submission
from grader.reports.explain import Regrade
from grader.results.model import CheckResult, Result
from grader.results.store import ResultsStore, read_run
from grader.sandbox.evidence import Evidence
from grader.scores import format_points
from grader.version import __version__


def regrade(course: Course, results: Path, student: str, stem: str) -> Regrade:
    """Judge a stored result again.

    Args:
        stem: the assignment or, where that is unknown, the name of the notebook.

    Raises:
        GraderError: there is no such result, with the nearest that there is.
        CourseError: the checks cannot be read or judged.
    """
    store = ResultsStore(results)
    result = store.find(student, stem)
    run = read_run(results)
    assignment = result.assignment
    if assignment is None or assignment not in course.stems:
        return Regrade(result, run)
    if result.status == "error":
        return Regrade(result, run, rubric=course.rubric(assignment))
    return _StoredResult(course, store, result, assignment).regrade()


class _StoredResult:
    """A result, and what is stored of how it was judged."""

    def __init__(self, course: Course, store: ResultsStore, result: Result, stem: str) -> None:
        self._course, self._store, self._result, self._stem = course, store, result, stem
        self._run, self._rubric = read_run(store.path), course.rubric(stem)

    def regrade(self) -> Regrade:
        """Judge the evidence by the checks of now, and by the reference on the same inputs."""
        stored = self._store.evidence(self._result.student, self._result.name)
        if stored is None:
            return Regrade(self._result, self._run, rubric=self._rubric, remarks=[_NO_EVIDENCE])
        fingerprint = stored.reference or ""
        reference = self._store.expected("reference", self._stem, fingerprint)
        stubs = self._store.expected("stubs", self._stem, fingerprint)
        stored_only = Regrade(self._result, self._run, stored.evidence, reference, self._rubric, stored.seed)
        remarks = list(self._changed())
        if reference is None:
            return replace(stored_only, remarks=[*remarks, _NO_REFERENCE])
        try:
            now, verdicts = self._verdict(stored.evidence, reference, stubs)
        except CourseError as error:  # the probes of now ask for other facts
            return replace(stored_only, remarks=[*remarks, f"{_OTHER_PROBES} {error}"])
        causes = {check: str(verdict.cause) for check, verdict in verdicts.items() if verdict.cause}
        changed = tuple(differences(self._result, now))
        return replace(stored_only, now=now, remarks=remarks, causes=causes, differences=changed)

    def _verdict(
        self, evidence: Evidence, reference: Evidence, stubs: Evidence | None
    ) -> tuple[Result, dict[str, Verdict]]:
        subjects = {"": evidence} if stubs is None else {"": evidence, "stubs": stubs}
        verdicts = judge(self._rubric, subjects, reference)
        most = self._course.settings.partial_credit
        credit = PartialCredit.of(most, self._rubric.checks, verdicts.get("stubs", {}))
        result, provenance = self._result, self._result.provenance
        submission = Submission(
            result.student,
            self._stem,
            result.name,
            Path(result.notebook),
            result.notebook,
            provenance.notebook_sha256,
        )
        return graded(submission, self._rubric, evidence, verdicts[""], provenance, credit), verdicts[""]

    def _changed(self) -> Iterator[str]:
        """What is known to have changed since the result was graded."""
        provenance = self._result.provenance
        if provenance.checks_sha256 != self._course.fingerprint(self._stem):
            yield "The checks, the course or the grader's code have changed since this was graded."
        torch = torch_version(environment_fingerprint())
        for what, then, now in (
            ("grader", provenance.grader, __version__),
            ("torch", provenance.torch, torch),
        ):
            if then != now:
                yield f"It was graded with {what} {then}; here is {now or 'none'}."


_NO_EVIDENCE = "What was observed of this notebook is not stored any more, so nothing can be judged again."
_NO_REFERENCE = "What was expected is not stored any more, so nothing can be judged again."
_OTHER_PROBES = "The checks of now ask for facts that were not observed then, so nothing can be judged again."


def differences(stored: Result, now: Result) -> Iterator[str]:
    """A line for each difference between two results of a submission."""
    if stored.score != now.score or stored.max_score != now.max_score:
        yield f"score: {_score(stored)}, now {_score(now)}"
    after = {question.id: question for question in now.all_questions}
    for question in stored.all_questions:
        other = after.pop(question.id, None)
        if other is None:
            yield f"{question.id}: the course does not ask it any more"
            continue
        checks = {check.id: check for check in other.checks}
        for check in question.checks:
            yield from _check_differs(question.id, check, checks.pop(check.id, None))
        yield from (f"{question.id}, {check}: this check is new" for check in checks)
    yield from (f"{question}: this question is new" for question in after)


def _check_differs(question: str, stored: CheckResult, now: CheckResult | None) -> Iterator[str]:
    if now is None:
        yield f"{question}, {stored.id}: the course does not check it any more"
    elif stored.outcome != now.outcome:
        yield f"{question}, {stored.id}: {stored.outcome}, now {now.outcome}"
    elif stored.message != now.message:
        yield f"{question}, {stored.id}: {stored.outcome} as then, but now it says: {now.message}"
    elif stored.max_points != now.max_points:
        points = f"{format_points(stored.max_points)} points, now {format_points(now.max_points)}"
        yield f"{question}, {stored.id}: {points}"


def _score(result: Result) -> str:
    return f"{format_points(result.score)} of {format_points(result.max_score)}"
