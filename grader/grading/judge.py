"""Judges evidence with the hidden checks: pytest collects them, and each is called with the observations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

from grader.contracts.blame import case_to_report, hint_of_cause, named_case
from grader.contracts.cases import Case, ContractObservation, NotApplicable
from grader.contracts.check import MARKERS, Check
from grader.contracts.finding import MAX_TEXT, FailedCheckError, Finding, wrong
from grader.contracts.returned_none import why_none
from grader.course.cause import Cause, cause_of, last_entry, statement_of
from grader.course.rubric import Rubric, import_checks
from grader.errors import CourseError
from grader.grading.broken_reference import broken_contracts
from grader.results.model import Outcome
from grader.sandbox.evidence import Evidence, Failure

#: A check: it takes a case of its contract, by the contract's name.
CheckFunction = Callable[..., None]
#: Gives the reference's evidence with how far observations of some questions move, by their ids.
Measure = Callable[[Collection[str]], Evidence]


@dataclass(frozen=True)
class Verdict:
    """How a check ended.

    Attributes:
        outcome: ``error`` if the check itself broke.
        finding: the problem, for the student; None if the check passed.
        cause: where and why the check itself broke, for its author only; otherwise None.
        case: the name of the case that a ``partly`` check fails.
    """

    outcome: Outcome
    finding: Finding | None = None
    cause: Cause | None = None
    case: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the check passes for typical inputs."""
        return self.outcome in {"passed", "partly"}

    @property
    def message(self) -> str:
        """The diagnosis; empty if the check passed."""
        return self.finding.message if self.finding else ""

    @property
    def ending(self) -> str:
        """How the code ended before the check could judge it, see `Finding`; empty if it could."""
        return self.finding.ending if self.finding else ""


PASSED = Verdict("passed")


def judge(
    rubric: Rubric,
    evidence: Evidence,
    reference: Evidence,
    measure: Measure | None = None,
) -> dict[str, Verdict]:
    """Run every check over a submission.

    Args:
        rubric: the checks; those of its file that it leaves out are not run.
        measure: called with the questions in which a failure depends on the reference's sensitivity; it
            returns the reference's evidence with that. Most failures are the same whether the sensitivity is
            0 or the largest possible.

    Returns:
        The verdict of each check by its id.

    Raises:
        CourseError: pytest could not collect the checks, or a check cannot be judged on the reference.
    """
    verdict = _judging(rubric, evidence, reference)
    verdicts = {check.id: verdict(check) for check in rubric.checks}
    if measure is None:
        return verdicts
    failed = [check for check in rubric.checks if verdicts[check.id] != PASSED]
    contracts = {check.contract for check in failed}
    if_perturbed = _judging(rubric, evidence, reference.most_sensitive(contracts))
    doubtful = [check for check in failed if verdicts[check.id] != if_perturbed(check)]
    if doubtful:
        verdict = _judging(rubric, evidence, measure({check.question for check in doubtful}))
    return verdicts | {check.id: verdict(check) for check in doubtful}


def _judging(rubric: Rubric, evidence: Evidence, reference: Evidence) -> Callable[[Check], Verdict]:
    """Return a function that gives the verdict of a check."""
    failure = failures(rubric, evidence, reference)

    def verdict(check: Check) -> Verdict:
        return _verdict(rubric, check, failure, evidence, reference)

    return verdict


def failures(
    rubric: Rubric, evidence: Evidence, reference: Evidence
) -> Callable[[Check], FailedCheck | None]:
    """Return a function that runs a check in the cases of its contract. It gives None if the check passes.

    Checks of one contract share what is read of its cases. The function raises a CourseError if a check
    cannot be judged on the reference, or says nothing about a typical case.
    """
    functions = collected_checks(rubric.path)

    @cache
    def observation(name: str) -> ContractObservation:
        return rubric.contracts[name].observation(evidence.outcome(name), reference.outcome(name))

    def failure(check: Check) -> FailedCheck | None:
        return failure_of(check, functions[check.id], observation(check.contract))

    return failure


def failed_cases(rubric: Rubric, contracted: ContractObservation) -> dict[int, BaseException]:
    """The cases that some check of a contract fails, by number, with the error of the first such check.

    Raises:
        CourseError: a check cannot be judged on the reference.
        FailedCheckError: nothing was observed of the submission.
    """
    functions = collected_checks(rubric.path)
    failed: dict[int, BaseException] = {}
    for check in rubric.checks:
        if check.contract == contracted.contract:
            about = {
                n: case for n, case in enumerate(contracted.cases) if case.declared.is_about(check.cases)
            }
            failed = failures_by_case(check, functions[check.id], about) | failed
    return dict(sorted(failed.items()))


def collected_checks(path: Path) -> dict[str, CheckFunction]:
    """The checks of a file by their names, as pytest collects them; once for each version of the file.

    Raises:
        CourseError: pytest could not collect them; the text names the file and says why.
    """
    return _collected(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _collected(path: Path, _: int) -> dict[str, CheckFunction]:
    import_checks(path)  # first, for it puts aside another course's file of the same name
    collection = _Collection()
    # pytest would look through the folders above, of which there may be thousands.
    folders = [f"--rootdir={path.parent}", f"--confcutdir={path.parent}"]
    status = pytest.main([*_ARGUMENTS, *folders, str(path)], plugins=[collection])
    if status is not pytest.ExitCode.OK:
        raise CourseError(f"{path}: pytest could not collect the checks ({collection.trouble or status!r})")
    return collection.checks


#: No configuration files, no rewriting (a student reads the author's message and nothing else), no output, no
#: plugins but ours.
_ARGUMENTS = (
    "--collect-only",
    "-c/dev/null",
    "--assert=plain",
    "--capture=no",
    "--disable-plugin-autoload",
    "--noconftest",
    "-pno:cacheprovider",
    "-pno:terminal",
    "-pno:unraisableexception",
    "-pno:threadexception",
    "-pno:faulthandler",
    "-pno:logging",
)


class _Collection:
    """The plugin of a session that collects a check file."""

    def __init__(self) -> None:
        self.checks: dict[str, CheckFunction] = {}
        self.trouble = ""

    def pytest_configure(self, config: pytest.Config) -> None:
        for marker in MARKERS:
            config.addinivalue_line("markers", marker)

    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        self.checks = {item.name: item.obj for item in items if isinstance(item, pytest.Function)}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.trouble = str(report.longrepr).strip().splitlines()[-1]


def _error_of(check: CheckFunction, arguments: Mapping[str, object]) -> BaseException | None:
    """Call a check: what it raised, or None; pytest's own skips and failures are not exceptions to Python.

    Raises:
        CourseError: the contract was not observed of the reference.
    """
    try:
        check(**arguments)
    except CourseError:
        raise
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - a verdict
        return error
    return None


class FailedCheck(NamedTuple):
    """An error that a check raised.

    Attributes:
        error: an AssertionError, unless the check is broken.
        varies: whether the same finding has another sentence in other failed cases.
        case: the name of the case; None if a typical case failed, or no case was observed.
        beginning: how the message begins, as in ``Where h is transposed``.
        is_example: whether this names only one of the failed cases.
        hint: a hint about wrong values that the failed cases allow.
        form: the problem with the form of the student's result, which may break a check.
    """

    error: BaseException
    varies: bool = False
    case: str | None = None
    beginning: str = ""
    is_example: bool = False
    hint: str | None = None
    form: Finding | None = None


def explained(error: BaseException) -> BaseException:
    """An error whose finding can be read; or the error that the author's explanation of it raised."""
    if isinstance(error, FailedCheckError):
        try:
            _ = error.finding
        except CourseError:
            raise
        except Exception as broken:  # noqa: BLE001 - a verdict
            return broken
    return error


def _varies(error: BaseException, errors: Iterable[BaseException]) -> bool:
    """Whether a finding depends on the case, and errors of the same group have other sentences."""
    if not isinstance(error, FailedCheckError) or not error.finding.varying:
        return False
    findings = (other.finding for other in map(explained, errors) if isinstance(other, FailedCheckError))
    return any(f.group == error.finding.group and f.sentence != error.finding.sentence for f in findings)


def failures_by_case(
    check: Check, function: CheckFunction, cases: Mapping[int, Case]
) -> dict[int, BaseException]:
    """The errors of a check in its cases, by the numbers of the cases.

    Raises:
        CourseError: it cannot be judged on the reference, or it says nothing about a typical case.
    """
    endings = {number: _error_of(function, {check.contract: case}) for number, case in cases.items()}
    skipped = {number for number, error in endings.items() if isinstance(error, NotApplicable)}
    if {number for number, case in cases.items() if case.is_typical} <= skipped:
        raise CourseError(f"{check.id} says nothing about the typical case of {check.contract}")
    return {number: e for number, e in endings.items() if e is not None and number not in skipped}


def failure_of(check: Check, function: CheckFunction, contracted: ContractObservation) -> FailedCheck | None:
    """Run a check in the cases of its contract; None if it passes.

    Raises:
        CourseError: it cannot be judged on the reference, or it says nothing about a typical case.
    """
    try:
        cases = contracted.cases
    except FailedCheckError as nothing:
        return FailedCheck(nothing)
    cases = [case for case in cases if case.declared.is_about(check.cases)]
    failed = failures_by_case(check, function, dict(enumerate(cases)))
    if not failed:
        return None
    number = case_to_report(cases, failed)
    error = explained(failed[number])
    return FailedCheck(
        error,
        _varies(error, failed.values()),
        None if any(cases[n].is_typical for n in failed) else cases[number].name,
        *named_case(cases, failed, number),
        hint_of_cause(cases, failed, number),
        None if isinstance(error, AssertionError) else cases[number].other_form,
    )


def _verdict(
    rubric: Rubric,
    check: Check,
    run: Callable[[Check], FailedCheck | None],
    evidence: Evidence,
    reference: Evidence,
) -> Verdict:
    folder = rubric.path.parent
    try:
        failure = run(check)
    except CourseError as course_error:
        broken = "\n".join(broken_contracts(rubric.contracts, reference, [check.contract]))
        raise CourseError(broken or f"{rubric.path}: {check.id}: {course_error}") from None
    if failure is None:
        return PASSED
    error = failure.error
    if isinstance(error, AssertionError):
        finding = _finding(check, failure, folder)
    elif failure.form is not None:
        finding = failure.form
    else:
        why = type(error).__name__
        message = f"this check could not be judged ({why}); your instructor has to look at it"
        return Verdict("error", Finding("broken", message), cause_of(error, folder))
    function_name = next(q.function for q in rubric.questions if q.id == check.question)
    finding = _explained(finding, check, function_name, evidence, reference)
    return Verdict("failed" if failure.case is None else "partly", finding, case=failure.case)


def _finding(check: Check, failure: FailedCheck, folder: Path) -> Finding:
    """The finding of a failed check, with its hint, and the group of similar findings."""
    error, beginning = failure.error, failure.beginning
    found = error.finding if isinstance(error, FailedCheckError) else wrong(str(error)).finding
    if failure.varies:
        found = replace(found, sentence=found.varying)
    group = f"{beginning} {found.group}".strip()
    if failure.case is None:
        hint = found.hint or (check.hint if found.takes_hint else None)
    elif found.of_values:  # the author's hints are about mistakes that typical inputs show
        hint = failure.hint
    else:
        hint = None if found.kind == "side effect" else found.hint
    entry = last_entry(error, folder)
    if (
        found.kind in {"wrong", "side effect", "raised"} and entry is not None
    ):  # at another statement it is another mistake
        group = f"{entry.tb_frame.f_code.co_name}+{statement_of(entry)}: {group}"
    hint = hint and hint[:MAX_TEXT]
    case = beginning or found.case
    return replace(found, hint=hint, group=group, case=case, is_example=failure.is_example)


def _explained(
    finding: Finding, check: Check, function: str, evidence: Evidence, reference: Evidence
) -> Finding:
    """The same finding, with its cause if other evidence shows it.

    A function is missing because its cell stopped, if a cell did. A None that the function returned is the
    problem if the reference returns a value.
    """
    if finding.failure is Failure.NOT_REACHED:
        errors = [cell.raised for cell in evidence.cells if cell.raised is not None]
        return replace(finding, error=errors[0].type) if errors else finding
    if not finding.is_none:
        return finding
    returned = evidence.returned_none(check.contract, function)
    if returned is None or reference.returned_none(check.contract, function):
        return finding
    group = f"returned None {returned.ended} {returned.cause}".rstrip()
    return replace(finding, kind="form", sentence=why_none(returned), hint=None, case="", group=group)
