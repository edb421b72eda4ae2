"""a replay, one stored result judged again by what was observed then; no student's code runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.course.course import Course
from grader.errors import CourseError
from grader.grading.evidence_store import Conditions, Observatory
from grader.grading.judge import Verdict, judge
from grader.grading.nowhere import Nowhere
from grader.grading.scoring import PartialCredit, graded
from grader.grading.submission import Submission
from grader.reports.explain import Regrade
from grader.results.model import CheckResult, Result
from grader.results.store import ResultsStore
from grader.sandbox.evidence import Evidence
from grader.sandbox.executor import environment_fingerprint, torch_version
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Protection
from grader.scores import format_points
from grader.version import __version__

_MOST_REFERENCES = 30  # that are tried where nobody knows the right one; each takes a moment


def regrade(course: Course, results: Path, student: str, stem: str) -> Regrade:
    """Judge a stored result again.

    Args:
        course: the course as it is now.
        results: the folder of results.
        student: whose.
        stem: of which assignment or, where that is unknown, the name of the notebook.

    Raises:
        GraderError: there is no such result, with the nearest that there is.
        CourseError: the checks cannot be read or judged.
    """
    folder = ResultsStore(results)
    result = folder.find(student, stem)
    run = folder.run()
    assignment = result.assignment
    if assignment is None or assignment not in course.stems:
        return Regrade(result, run)
    if result.status == "error":
        return Regrade(result, run, rubric=course.rubric(assignment))
    return _Past(course, folder, result, assignment).regrade()


class _Past:
    """What is known of how a result came about."""

    def __init__(self, course: Course, folder: ResultsStore, result: Result, stem: str) -> None:
        self._course, self._folder, self._result, self._name = course, folder, result, result.name
        self._student, self._stem = result.student, stem
        self._provenance, self._run = result.provenance, folder.run()
        self._rubric = course.rubric(self._stem)
        place, sha256 = Path(result.notebook), self._provenance.notebook_sha256
        self._submission = Submission(self._student, stem, result.name, place, result.notebook, sha256)

    def regrade(self) -> Regrade:
        evidence = self._folder.evidence(self._student, self._name)
        if evidence is None:
            lost = (
                "What was observed of this notebook is not stored any more, so nothing can be judged again."
            )
            return Regrade(self._result, self._run, rubric=self._rubric, remarks=[lost])
        for limits in self._limits:
            observatory = self._observatory(limits)
            seed = observatory.known_seed(self._submission)
            if seed is not None:
                reference = observatory.known_reference(self._stem, seed)
                stubs = observatory.known_stubs(self._stem, seed)
                return self._judged(evidence, (reference, stubs), seed, [] if reference else [_NO_REFERENCE])
        return self._by_the_best_reference(evidence)

    @property
    def _limits(self) -> Iterator[TimeLimits]:
        """Those of the last run, then the course's: one of them the notebook was observed with, mostly."""
        stored = self._run.get("limits")
        if isinstance(stored, dict) and set(stored) == set(vars(TimeLimits())):
            yield TimeLimits(**stored)
        yield self._course.settings.limits

    def _observatory(self, limits: TimeLimits) -> Observatory:
        conditions = Conditions(1, force=False, sandbox=True, limits=limits, preload=())
        station = Nowhere(Protection(self._provenance.protection or "", self._provenance.torch or ""))
        rubrics = {self._stem: self._rubric}
        return Observatory(self._course, rubrics, self._folder, conditions, station=station)

    def _judged(
        self,
        evidence: Evidence,
        expected: tuple[Evidence | None, Evidence | None],
        seed: int | None,
        remarks: list[str],
    ) -> Regrade:
        reference, stubs = expected
        known = self._result, self._run, evidence, reference, self._rubric, seed
        if reference is None:
            return Regrade(*known, None, remarks)
        now, verdicts = self._verdict(evidence, reference, stubs)
        causes = {check: verdict.cause for check, verdict in verdicts.items() if verdict.cause}
        return Regrade(*known, now, remarks, causes, tuple(differences(self._result, now)))

    def _verdict(
        self, evidence: Evidence, reference: Evidence, stubs: Evidence | None
    ) -> tuple[Result, dict[str, Verdict]]:
        subjects = {"": evidence} if stubs is None else {"": evidence, "stubs": stubs}
        verdicts = judge(self._rubric, subjects, reference)
        most = self._course.settings.partial_credit
        credit = PartialCredit.of(most, self._rubric.checks, verdicts.get("stubs", {}))
        now = graded(self._submission, self._rubric, evidence, verdicts[""], self._provenance, credit)
        return now, verdicts[""]

    def _by_the_best_reference(self, evidence: Evidence) -> Regrade:
        """Where the course has changed since: the reference by which most verdicts are the stored ones."""
        remarks = [_OTHER_PROBES, *self._changed()]
        found: list[tuple[int, tuple[Evidence, Evidence | None]]] = []
        for reference, stubs in self._folder.references(self._stem)[:_MOST_REFERENCES]:
            try:
                now, _ = self._verdict(evidence, reference, stubs)
            except CourseError:  # it was asked something else
                continue
            found.append((len(list(differences(self._result, now))), (reference, stubs)))
        if not found:
            return self._judged(evidence, (None, None), None, [*remarks, _NO_REFERENCE])
        best = min(found, key=lambda pair: pair[0])[1]
        return self._judged(evidence, best, None, [*remarks, _BEST_REFERENCE])

    def _changed(self) -> Iterator[str]:
        """What is known to be another than then."""
        provenance = self._provenance
        if provenance.checks_sha256 != self._course.fingerprint(self._stem):
            yield "The checks, the course or the grader's code have changed since this was graded."
        torch = torch_version(environment_fingerprint())
        for what, then, now in (
            ("grader", provenance.grader, __version__),
            ("torch", provenance.torch, torch),
        ):
            if then != now:
                yield f"It was graded with {what} {then}; here is {now or 'none'}."


_OTHER_PROBES = (
    "The evidence was made by other probes, packages or limits than there are here now; a replay may differ."
)
_NO_REFERENCE = "What was expected is not stored any more, so nothing can be judged again."
_BEST_REFERENCE = (
    "By which reference it was judged is not known; shown is the one that agrees best with what is stored."
)


def differences(stored: Result, now: Result) -> Iterator[str]:
    """Where the second of two results of the same submission says something else, in a line each."""
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
