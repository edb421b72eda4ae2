"""Judges a stored result again from its stored evidence; no student's code runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.course.course import Course
from grader.course.rubric import Rubric
from grader.errors import CourseError
from grader.grading.executor import environment_fingerprint, torch_version
from grader.grading.judge import judge
from grader.grading.scoring import PartialCredit, graded
from grader.grading.submission import Submission
from grader.people.lateness_and_adjustments import LatenessAndAdjustments, with_lateness_and_adjustments
from grader.people.students import student_called
from grader.results.changes import Score, changed_checks
from grader.results.model import Result
from grader.results.store import ResultsStore, read_run
from grader.sandbox.evidence import Evidence
from grader.version import __version__


@dataclass(frozen=True)
class Regrade:
    """A stored result and the outcome of judging it now; None stands for unknown parts.

    Attributes:
        results: the folder of the stored result.
        submissions: the folder that was graded.
        reference: the evidence of the reference on the same inputs.
        rubric: the checks as they are now; None if the course has no such assignment.
        remarks: sentences on why judging now may not be as it was then.
        causes: by check, where and why it broke now.
        differences: a line for each verdict that is different now.
    """

    result: Result
    results: Path
    submissions: Path
    evidence: Evidence | None = None
    reference: Evidence | None = None
    rubric: Rubric | None = None
    seed: int | None = None
    now: Result | None = None
    remarks: Sequence[str] = ()
    causes: Mapping[str, str] = field(default_factory=dict)
    differences: Sequence[str] = ()


def regrade(course: Course, results: Path, name: str, stem: str) -> Regrade:
    """Judge a stored result by the checks of now, and by the reference on the same inputs.

    Args:
        name: of the student: a folder, or as the roster of what was graded has it.
        stem: the assignment or, where that is unknown, the name of the notebook.

    Raises:
        GraderError: there is no such result, with the nearest that there is, or the roster cannot be read.
        CourseError: the checks cannot be read.
    """
    store = ResultsStore(results)
    run, students = read_run(results, makes_again=True), store.students()
    if students and name not in students:
        name = student_called(name, students, run.submissions)
    result = store.find(name, stem)
    found = Regrade(result, results, Path(run.submissions or "."))
    if result.assignment is None or result.assignment not in course.stems:
        return found
    found = replace(found, rubric=course.rubric(result.assignment))
    if result.status == "error":
        return found
    stored = store.evidence(result.student, result.name)
    if stored is None:
        return replace(found, remarks=[_NO_EVIDENCE])
    head, evidence = stored
    expected, of_starter_code = (
        store.expected(kind, result.assignment, head.seed) for kind in ("reference", "stubs")
    )
    reference = expected and expected[1]
    starter_code = of_starter_code and of_starter_code[1]
    remarks = list(_changed(course, result))
    found = replace(found, evidence=evidence, reference=reference, seed=head.seed, remarks=remarks)
    if reference is None:
        return replace(found, remarks=[*remarks, _NO_REFERENCE])
    try:
        return _judged_now(found, course, evidence, reference, starter_code)
    except CourseError as error:  # the contracts of now have other cases
        return replace(found, remarks=[*remarks, f"{_OTHER_CASES} {error}"])


def _judged_now(
    found: Regrade, course: Course, evidence: Evidence, reference: Evidence, starter_code: Evidence | None
) -> Regrade:
    result, rubric, provenance = found.result, course.rubric(found.result.name), found.result.provenance
    verdicts = judge(rubric, evidence, reference)
    passed_before = judge(rubric, starter_code, reference) if starter_code else {}
    credit = PartialCredit(course.settings.partial_credit, passed_before)
    place = Path(result.notebook), result.notebook, provenance.notebook_sha256
    submission = Submission(result.student, result.assignment, result.name, *place)
    now = graded(submission, rubric, evidence, verdicts, provenance, credit)
    now = with_lateness_and_adjustments(now, LatenessAndAdjustments.of(result))
    if starter_code is None and now.score != result.score:
        found = replace(found, remarks=[*found.remarks, _NO_STARTER_CODE])
    causes = {check: str(verdict.cause) for check, verdict in verdicts.items() if verdict.cause}
    return replace(found, now=now, causes=causes, differences=tuple(_differences(result, now)))


def _changed(course: Course, result: Result) -> Iterator[str]:
    """Known changes since a result was graded."""
    provenance = result.provenance
    if provenance.checks_sha256 != course.fingerprint(result.name):
        yield "The checks, the course or the grader's code have changed since this was graded."
    torch = torch_version(environment_fingerprint())
    for what, then, now in (("grader", provenance.grader, __version__), ("torch", provenance.torch, torch)):
        if then != now:
            yield f"It was graded with {what} {then}; here is {now or 'none'}."


_NO_EVIDENCE = "What was observed of this notebook is not stored any more, so nothing can be judged again."
_NO_REFERENCE = "The expected observations are no longer stored, so the result cannot be judged again."
_NO_STARTER_CODE = (
    "No check had failed then, so the starter code was not observed: the new score also counts checks that"
    " the starter code passes."
)
_OTHER_CASES = (
    "The current checks need observations that were not made then, so the result cannot be judged again."
)


def _differences(stored: Result, now: Result) -> Iterator[str]:
    """A line for each difference between two results of a submission."""
    if stored.score != now.score or stored.max_score != now.max_score:
        yield f"score: {Score.of(stored)}, now {Score.of(now)}"
    yield from changed_checks(stored, now)
