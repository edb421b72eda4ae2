"""Judges evidence by the hidden checks: pytest collects them, and each is called over what was observed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import pytest

from grader.checks.check import POINTS, Check
from grader.checks.finding import MAX_TEXT, FailedCheckError, Finding, wrong
from grader.checks.observation import Observation
from grader.checks.returned_none import why_none
from grader.course.cause import Cause, cause_of, last_entry
from grader.course.rubric import Rubric, import_checks
from grader.errors import CourseError
from grader.grading.broken_probe import broken_probes
from grader.results.model import Outcome
from grader.sandbox.evidence import Evidence, Failure

#: A check: it takes an observation for each probe that it names.
CheckFunction = Callable[..., None]
#: Gives the reference's evidence with how far the facts of some questions move, by their ids.
Measured = Callable[[Collection[str]], Evidence]


@dataclass(frozen=True)
class Verdict:
    """How a check ended.

    Attributes:
        outcome: ``error`` where the check broke itself.
        finding: what is told of it; None where it passed.
        cause: where and why the check broke, for its author's eyes; None where it did not.
    """

    outcome: Outcome
    finding: Finding | None = None
    cause: Cause | None = None

    @property
    def message(self) -> str:
        """The diagnosis; empty where the check passed."""
        return self.finding.message if self.finding else ""

    @property
    def ending(self) -> str:
        """How the code ended before the check could judge it, see `Finding`; empty where it could."""
        return self.finding.ending if self.finding else ""


PASSED = Verdict("passed")


def judge(
    rubric: Rubric,
    evidence: Evidence,
    reference: Evidence,
    measured: Measured | None = None,
) -> dict[str, Verdict]:
    """Run every check over a submission.

    Args:
        rubric: the checks; those of its file that it leaves out are not run.
        measured: asked for the questions in which a failure depends on how far the reference's facts move.
            Most do not: they stay the same whether these move not at all, or as far as any can.

    Returns:
        The verdict of each check by its id.

    Raises:
        CourseError: pytest could not collect the checks, or a check cannot be judged on the reference.
    """
    functions = collected_checks(rubric.path)

    def judged(check: Check, reference: Evidence) -> Verdict:
        return _verdict(rubric, check, functions[check.id], evidence, reference)

    verdicts = {check.id: judged(check, reference) for check in rubric.checks}
    if measured is None:
        return verdicts
    doubtful = [
        check
        for check in rubric.checks
        if verdicts[check.id] != PASSED
        and verdicts[check.id] != judged(check, reference.moved_most(check.probes))
    ]
    if doubtful:
        reference = measured({check.question for check in doubtful})
    return verdicts | {check.id: judged(check, reference) for check in doubtful}


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
        config.addinivalue_line("markers", POINTS)

    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        self.checks = {item.name: item.obj for item in items if isinstance(item, pytest.Function)}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.trouble = str(report.longrepr).strip().splitlines()[-1]


def observations_of(
    rubric: Rubric, check: Check, seen: Evidence, expected: Evidence
) -> dict[str, Observation]:
    """What a check is called with: for each probe that it names, what was seen and what is expected."""
    return {
        name: rubric.probes[name].observation(seen.outcome(name), expected.outcome(name))
        for name in check.probes
    }


def error_of(check: CheckFunction, observations: Mapping[str, Observation]) -> BaseException | None:
    """Call a check: what it raised, or None; pytest's own skips and failures are not exceptions to Python.

    Raises:
        CourseError: a probe has no facts of the reference.
    """
    try:
        check(**observations)
    except CourseError:
        raise
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - a verdict
        return error
    return None


def _verdict(
    rubric: Rubric, check: Check, function: CheckFunction, evidence: Evidence, reference: Evidence
) -> Verdict:
    folder, observations = rubric.path.parent, observations_of(rubric, check, evidence, reference)
    try:
        error = error_of(function, observations)
    except CourseError as course_error:
        broken = "\n".join(broken_probes(rubric.probes, reference, check.probes))
        raise CourseError(broken or f"{rubric.path}: {check.id}: {course_error}") from None
    if error is None:
        return PASSED
    if isinstance(error, AssertionError):
        finding = _finding(check, error, folder)
    elif mismatches := [o.mismatch for o in observations.values() if o.mismatch]:
        finding = mismatches[0]  # a check that breaks over a value of another form judges by that
    else:
        told = f"this check could not be judged ({type(error).__name__}); your instructor has to look at it"
        return Verdict("error", Finding("broken", told), cause_of(error, folder))
    function_name = next(q.function for q in rubric.questions if q.id == check.question)
    return Verdict("failed", _explained(finding, check, function_name, evidence, reference))


def _finding(check: Check, error: AssertionError, folder: Path) -> Finding:
    """What a failed check found, with its hint, and what is alike in the findings of others."""
    found = error.finding if isinstance(error, FailedCheckError) else wrong(str(error)).finding
    group, hint = found.group, found.hint or (check.hint if found.takes_hint else None)
    entry = last_entry(error, folder)
    if found.kind in {"wrong", "raised"} and entry is not None:  # at another statement it is another mistake
        code = entry.tb_frame.f_code
        group = f"{code.co_name}+{entry.tb_lineno - code.co_firstlineno}: {group}"
    return replace(found, hint=hint and hint[:MAX_TEXT], group=group)


def _explained(
    finding: Finding, check: Check, function: str, evidence: Evidence, reference: Evidence
) -> Finding:
    """The same finding, with its cause where other evidence tells it.

    A function that is not there is missing because its cell stopped, if a cell did; and a None that the
    function returned is the trouble where the reference returns a value.
    """
    if finding.failure is Failure.NOT_REACHED:
        errors = [cell.raised for cell in evidence.cells if cell.raised is not None]
        return replace(finding, error=errors[0].type) if errors else finding
    if not finding.is_none:
        return finding
    instead_of_a_value = [
        returned
        for probe in check.probes
        if (returned := evidence.returned_none(probe, function))
        and not reference.returned_none(probe, function)
    ]
    if not instead_of_a_value:
        return finding
    returned = max(instead_of_a_value, key=lambda returned: returned.ended != "")
    group = f"returned None {returned.ended} {returned.cause}".rstrip()
    return replace(finding, kind="form", sentence=why_none(returned), case="", group=group)
