"""Computes scores from verdicts and points, and makes results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.contracts.check import Check
from grader.contracts.finding import Finding
from grader.course.assignment import Question
from grader.course.rubric import Rubric
from grader.grading.flags import flags_of
from grader.grading.judge import Verdict
from grader.grading.submission import Submission
from grader.results.model import CheckResult, Flag, Provenance, QuestionResult, Result, first_failed_cells
from grader.sandbox.decoding import Status
from grader.sandbox.evidence import UNANSWERED, UNJUDGED, Evidence, FailedCell
from grader.scores import total
from grader.text import capital


@dataclass(frozen=True)
class PartialCredit:
    """The rule for the points of a question if one of its checks does not pass.

    Attributes:
        part: the part of the points, 0 to 1, of each check that holds for typical inputs.
        on_starter_code: how the checks end on the starter code; a check has to do better to earn points.
    """

    part: float
    on_starter_code: Mapping[str, Verdict] = field(default_factory=dict)

    def counts(self, check: Check, verdicts: Mapping[str, Verdict]) -> bool:
        """Whether a check holds for typical inputs, and shows that the question was worked on."""
        before = self.on_starter_code.get(check.id)
        return _rank(verdicts.get(check.id)) > _rank(before) and not (
            check.is_of_side_effects and _any_failed(verdicts, but=check.id)
        )


def earned_by_check(
    checks: Sequence[Check], verdicts: Mapping[str, Verdict], credit: PartialCredit
) -> list[float]:
    """The points of each check of a question: all if every check passed, otherwise partial credit."""
    if all(is_passed(check, verdicts) for check in checks):
        return [check.points for check in checks]
    verdicts = {check.id: verdicts[check.id] for check in checks if check.id in verdicts}
    return [total([credit.part * check.points * credit.counts(check, verdicts)]) for check in checks]


def earned(checks: Sequence[Check], verdicts: Mapping[str, Verdict], credit: PartialCredit) -> float:
    """The points of a question."""
    return total(earned_by_check(checks, verdicts, credit))


_RANKS = {"partly": 1, "passed": 2}


def _rank(verdict: Verdict | None) -> int:
    return _RANKS.get(verdict.outcome, 0) if verdict else 0


def _any_failed(verdicts: Mapping[str, Verdict], but: str) -> bool:
    return any(not verdict.holds for check, verdict in verdicts.items() if check != but)


def is_passed(check: Check, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether a check passed; without a verdict it did not."""
    verdict = verdicts.get(check.id)
    return verdict is not None and verdict.outcome == "passed"


#: The fields of a finding that a result stores.
_OF_FINDING = ("message", "hint", "failure", "kind", "group", "stopped", "place", "is_example")
_UNJUDGED = Verdict("failed", Finding("broken", UNJUDGED))


def graded(  # noqa: PLR0913, PLR0917 - a result is made of all these
    submission: Submission,
    rubric: Rubric,
    evidence: Evidence,
    verdicts: Mapping[str, Verdict],
    provenance: Provenance,
    credit: PartialCredit,
) -> Result:
    """The result of a notebook that was observed and judged."""
    if evidence.fault is not None:
        error = f"{capital(evidence.fault)}."
        return failed(submission, error, provenance, rubric, evidence)
    questions = []
    for question in rubric.questions:
        status, checks = evidence.names[question.function], rubric.checks_of(question.id)
        if status != "answered":
            unanswered = Finding("unanswered", UNANSWERED[status].format(name=question.function))
            verdicts = {**verdicts, **dict.fromkeys((c.id for c in checks), Verdict("failed", unanswered))}
        cell = evidence.defined_in.get(question.function)
        questions.append(replace(_question(question, status, checks, verdicts, credit), cell=cell))
    flags = flags_of(submission.traces, evidence.traces, evidence.patched)
    return _result(submission, None, questions, flags, provenance, evidence)


def failed(
    submission: Submission,
    error: str,
    provenance: Provenance,
    rubric: Rubric | None = None,
    evidence: Evidence | None = None,
) -> Result:
    """The result of a submission that could not be graded; with a rubric it has all checks, failed."""
    verdict = Verdict("failed", Finding("unobserved", error))
    asked = [(question, rubric.checks_of(question.id)) for question in rubric.questions] if rubric else []
    questions = [
        _question(
            question, "missing", checks, dict.fromkeys((c.id for c in checks), verdict), PartialCredit(0)
        )
        for question, checks in asked
    ]
    return _result(submission, error, questions, flags_of(submission.traces), provenance, evidence)


def _result(  # noqa: PLR0913, PLR0917 - as above
    submission: Submission,
    error: str | None,
    asked: Sequence[QuestionResult],
    flags: Sequence[Flag],
    provenance: Provenance,
    evidence: Evidence | None,
) -> Result:
    questions = tuple(question for question in asked if not question.is_bonus_task)
    return Result(
        submission.name,
        submission.student,
        submission.assignment,
        submission.relative,
        tuple(submission.superseded),
        "graded" if error is None else "error",
        error,
        total(question.score for question in questions),
        total(question.max_score for question in questions),
        tuple(flags),
        questions,
        provenance,
        next((question for question in asked if question.is_bonus_task), None),
        *first_failed_cells([FailedCell.of(cell) for cell in evidence.cells] if evidence else []),
        ignored=submission.ignored,
        with_answers=submission.with_answers,
        copy=submission.copy,
        language=submission.language,
    )


def _question(
    question: Question,
    status: Status,
    checks: Sequence[Check],
    verdicts: Mapping[str, Verdict],
    credit: PartialCredit,
) -> QuestionResult:
    results = []
    shares = (
        [check.points * is_passed(check, verdicts) for check in checks]  # a bonus task counts its checks
        if question.is_bonus_task
        else earned_by_check(checks, verdicts, credit)
    )
    for check, points in zip(checks, shares, strict=True):
        verdict = verdicts.get(check.id, _UNJUDGED)
        result = CheckResult(
            check.id, check.title, verdict.outcome, points, check.points, None, None, verdict.case
        )
        if found := verdict.finding:
            result = replace(result, **{name: getattr(found, name) for name in _OF_FINDING})
        results.append(result)
    return QuestionResult(
        question.id,
        question.title,
        question.function,
        status,
        total(shares),
        total(check.points for check in checks),
        tuple(results),
        question.afterword if all(is_passed(check, verdicts) for check in checks) else None,
    )
