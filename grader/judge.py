"""Outside: judges evidence by running the hidden checks as pytest tests, many notebooks in one session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any, Literal, cast

import pytest

from grader import plugin
from grader.errors import CourseError
from grader.evidence import Evidence, Outcome
from grader.observation import Observation
from grader.rubric import Rubric

_Phase = Literal["setup", "call", "teardown"]

MAX_BATCH = 64
MAX_MESSAGE = 1_000


@dataclass(frozen=True)
class Verdict:
    """How one check ended: ``passed``, ``failed`` or ``error`` (it broke itself); and the diagnosis."""

    outcome: str
    message: str | None


def judge(
    rubric: Rubric, submissions: Mapping[str, Evidence], reference: Evidence
) -> dict[str, dict[str, Verdict]]:
    """Run every check over every submission.

    Args:
        rubric: the checks.
        submissions: evidence by any name.
        reference: evidence of the reference.

    Returns:
        For each name, the verdict of each check by its id; a check that did not come to a verdict is absent.

    Raises:
        CourseError: pytest could not collect the checks, or a check cannot be judged on the reference.
    """
    verdicts: dict[str, dict[str, Verdict]] = {}
    expected = cache(reference.outcome)  # decoded once, not for every submission
    for batch in _batches(submissions):
        recorder = _Recorder([_Judged(name, evidence, expected) for name, evidence in batch])
        status = pytest.main(
            [*_ARGUMENTS, f"--rootdir={rubric.path.parent}", str(rubric.path)], plugins=[plugin, recorder]
        )
        if recorder.course_error:
            raise CourseError(recorder.course_error)
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise CourseError(
                f"{rubric.path}: pytest could not run the checks ({recorder.trouble or status!r})"
            )
        verdicts.update(recorder.verdicts)
    return verdicts


#: No configuration of the surroundings, no rewriting (a student reads the author's message and nothing
#: else), no output, no plugins but ours.
_ARGUMENTS = (
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


def _batches(submissions: Mapping[str, Evidence]) -> Iterator[list[tuple[str, Evidence]]]:
    remaining = iter(submissions.items())
    while batch := list(islice(remaining, MAX_BATCH)):
        yield batch


@dataclass
class _Judged:
    """A submission whose evidence is at hand."""

    id: str
    evidence: Evidence
    expected: Callable[[str], Outcome]

    def observation(self, probe: str) -> Observation:
        return Observation(probe, self.evidence.outcome(probe), self.expected(probe))


@dataclass
class _Recorder:
    """The plugin of one session: hands in the subjects, keeps the verdicts."""

    subjects: list[_Judged]
    verdicts: dict[str, dict[str, Verdict]] = field(default_factory=dict)
    course_error: str | None = None
    trouble: str | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[plugin.SUBJECTS] = self.subjects
        self.verdicts = {subject.id: {} for subject in self.subjects}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.trouble = str(report.longrepr).strip().splitlines()[-1]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Keep the verdict, and spare pytest the writing of a traceback that nobody reads."""
        if call.when == "call" or call.excinfo is not None:
            self._record(item, call.excinfo)
        outcome: Literal["passed", "failed"] = "passed" if call.excinfo is None else "failed"
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, cast("_Phase", call.when))

    def _record(self, item: Any, raised: pytest.ExceptionInfo[BaseException] | None) -> None:
        error = None if raised is None else raised.value
        if isinstance(error, CourseError):
            self.course_error = f"{item.path}: {item.originalname}: {error}"
        subject = item.callspec.params["submission"].id
        observations = [value for value in item.funcargs.values() if isinstance(value, Observation)]
        self.verdicts[subject][item.originalname] = _verdict(error, observations)


def _verdict(error: BaseException | None, observations: Sequence[Observation]) -> Verdict:
    """A check that stumbles over a value of another form has found out something about the student's code."""
    if error is None:
        return Verdict("passed", None)
    if isinstance(error, AssertionError):
        return Verdict("failed", str(error)[:MAX_MESSAGE])
    mismatches = [o.mismatch for o in observations if o.mismatch]
    if mismatches:
        return Verdict("failed", mismatches[0][:MAX_MESSAGE])
    return Verdict(
        "error", f"this check could not be judged ({type(error).__name__}); your instructor has to look at it"
    )
