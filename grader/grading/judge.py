"""Judges evidence by running the hidden checks as pytest tests, many notebooks in one session."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from grader.checks.cases import names_of
from grader.checks.check import Check, WithoutHintError
from grader.checks.diagnosis import tells_of_error, tells_of_stop
from grader.checks.observation import Observation, StoppedError
from grader.course.cause import Cause, cause_of
from grader.course.rubric import Rubric
from grader.errors import CourseError
from grader.grading import plugin
from grader.grading.broken_probe import broken_probes
from grader.results.model import Outcome
from grader.sandbox.decoding import MalformedError, decode_raised
from grader.sandbox.evidence import OUT_OF_TIME, Evidence, Failure, ProbeOutcome, ProbeRaised

MAX_BATCH = 64
MAX_MESSAGE = 1_000
#: A check compared with a None, in whatever words of its author.
_OF_NONE = re.compile(r"\bNone(?:Type)?\b")


@dataclass(frozen=True)
class Verdict:
    """How a check ended.

    Attributes:
        outcome: ``error`` where the check broke itself.
        message: the diagnosis, or None.
        hint: what helps with this failure, or None.
        cause: where and why the check broke, for its author's eyes, or None.
        stopped: where the check judged nothing, because a probe which it takes stopped in the student's code:
            the exception's class name, ``timeout`` where its time ran out, ``fault`` where it was ended or
            refused for another reason. None elsewhere, also where the check judged what ``attempt`` caught.
        failure: why the probe has no facts, where `message` says so.
    """

    outcome: Outcome
    message: str | None
    hint: str | None = None
    cause: Cause | None = None
    stopped: str | None = None
    failure: Failure | None = None


def judge(
    rubric: Rubric, submissions: Mapping[str, Evidence], reference: Evidence
) -> dict[str, dict[str, Verdict]]:
    """Run every check over every submission.

    Args:
        rubric: the checks; those of its file that it leaves out are not run.
        submissions: evidence by any name.

    Returns:
        For each name, the verdict of each check by its id; a check without a verdict is absent.

    Raises:
        CourseError: pytest could not collect the checks, or a check cannot be judged on the reference.
    """
    verdicts: dict[str, dict[str, Verdict]] = {}
    folder = rubric.path.parent  # for pytest would look through the folders above: there may be thousands
    expected = cache(reference.outcome)  # decoded once, not for every submission
    for begin in range(0, len(submissions), MAX_BATCH):
        batch = islice(submissions.items(), begin, begin + MAX_BATCH)
        subjects = [_Subject(name, evidence, expected, reference) for name, evidence in batch]
        session = _Session(rubric, subjects, reference)
        status = pytest.main(
            [*_ARGUMENTS, f"--rootdir={folder}", f"--confcutdir={folder}", str(rubric.path)],
            plugins=[plugin, session],
        )
        if session.course_error:
            raise CourseError(session.course_error)
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise CourseError(
                f"{rubric.path}: pytest could not run the checks ({session.trouble or status!r})"
            )
        verdicts.update(session.verdicts)
    return verdicts


#: No configuration files, no rewriting (a student reads the author's message and nothing else), no output, no
#: plugins but ours.
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


class _Subject:
    """A submission with its evidence and the reference's."""

    def __init__(
        self, name: str, evidence: Evidence, expected: Callable[[str], ProbeOutcome], reference: Evidence
    ) -> None:
        self.name, self._evidence = name, evidence
        self._expected, self._reference = expected, reference
        self._observed: dict[str, Observation] = {}

    def observation(self, probe: str) -> Observation:
        """What a probe saw, decoded once for all checks that judge it."""
        if probe not in self._observed:
            self._observed[probe] = Observation(probe, self._evidence.outcome(probe), self._expected(probe))
        return self._observed[probe]

    def explained(self, check: Check, verdict: Verdict, function: str) -> Verdict:
        """The same verdict; if it is about a None, that the function returned None for a value."""
        message = verdict.message or ""
        if verdict.outcome != "failed" or not _OF_NONE.search(message) or tells_of_stop(message):
            return verdict
        if any(
            self._evidence.returned_none(probe, function)
            and not self._reference.returned_none(probe, function)
            for probe in check.probes
        ):
            _, _, more = message.partition("You returned None. ")
            message = f"{function} returned None: is a return missing? {more}".rstrip()
            return replace(verdict, message=message, hint=verdict.hint if more else None)
        return verdict

    def stopped(self, error: BaseException | None) -> str | None:
        """What stopped the probe that a check could not judge: see `Verdict.stopped`.

        A function that is missing is missing because its cell stopped, if a cell did.
        """
        if not isinstance(error, StoppedError):
            return None
        if isinstance(error.outcome, ProbeRaised):
            return error.outcome.error.type
        raised = [cell["raised"] for cell in self._evidence.cells if cell["raised"] is not None]
        if raised:
            return decode_raised(raised[0]).type
        return "timeout" if error.failure in OUT_OF_TIME else "fault"

    def forget(self, probe: str) -> None:
        """Drop the facts of a probe that no further check needs."""
        self._observed.pop(probe, None)


class _Session:
    """The plugin of a session, in which pytest runs every check once, over all subjects in turn."""

    def __init__(self, rubric: Rubric, subjects: Sequence[_Subject], reference: Evidence) -> None:
        self._subjects, self._reference = subjects, reference
        self._probes = rubric.probes
        self._checks = {check.id: check for check in rubric.checks}
        self._functions = {question.id: question.function for question in rubric.questions}
        self._last = {probe: check.id for check in rubric.checks for probe in check.probes}
        self.verdicts: dict[str, dict[str, Verdict]] = {subject.name: {} for subject in subjects}
        self.course_error: str | None = None
        self.trouble: str | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[plugin.IS_A_BATCH] = True

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the checks of questions that are not in the rubric."""
        items[:] = [item for item in items if item.name in self._checks]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.trouble = str(report.longrepr).strip().splitlines()[-1]

    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        check = self._checks.get(pyfuncitem.name)
        if check is None:  # of a question that the rubric leaves out
            return True
        for subject in self._subjects:
            observations: dict[str, Observation] = {}
            try:
                observations = {probe: subject.observation(probe) for probe in check.probes}
                error = error_of(pyfuncitem.obj, observations)
            except MalformedError as malformed:  # spoiled evidence costs no other subject
                error = malformed
            except CourseError as course_error:
                broken = broken_probes(self._probes, self._reference, check.probes)
                self.course_error = "\n".join(broken) or f"{pyfuncitem.path}: {check.id}: {course_error}"
                break
            verdict = _verdict(check, error, list(observations.values()), pyfuncitem.path.parent)
            verdict = subject.explained(check, verdict, self._functions[check.question])
            failure = error.failure if isinstance(error, StoppedError) else None
            verdict = replace(verdict, stopped=subject.stopped(error), failure=failure)
            self.verdicts[subject.name][check.id] = verdict
            for probe in check.probes:
                if self._last[probe] == check.id:
                    subject.forget(probe)
        return True


def _hint(check: Check, error: AssertionError) -> str | None:
    """The docstring's hint, if the check's last statement failed, to which the hint belongs.

    Not where the message is about an error, or replaces another failure: both say what the cause is.
    """
    if tells_of_error(str(error)) or isinstance(error.__context__, AssertionError):
        return None
    frames = traceback.walk_tb(error.__traceback__)
    line = next((line for frame, line in frames if frame.f_code.co_name == check.id), 0)
    return check.hint if line >= check.last_line else None


def error_of(check: Callable[..., None], observations: Mapping[str, Observation]) -> BaseException | None:
    """What a check raised; pytest's own skips and failures are not exceptions to Python."""
    try:
        check(**observations)
    except CourseError:
        raise
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - a verdict
        return error
    return None


def _verdict(
    check: Check, error: BaseException | None, observations: Sequence[Observation], folder: Path
) -> Verdict:
    """A verdict; a check that breaks over a value of another form judges the student's code by that."""
    if error is None:
        return Verdict("passed", None)
    if isinstance(error, AssertionError):
        message, _, hint = f"{names_of(error.__traceback__)}{error}".partition("\n\n")
        if isinstance(error, WithoutHintError):
            return Verdict("failed", message[:MAX_MESSAGE])
        return Verdict("failed", message[:MAX_MESSAGE], hint[:MAX_MESSAGE] or _hint(check, error))
    mismatches = [o.mismatch for o in observations if o.mismatch]
    if mismatches:
        return Verdict("failed", mismatches[0][:MAX_MESSAGE])
    message = f"this check could not be judged ({type(error).__name__}); your instructor has to look at it"
    return Verdict("error", message, cause=cause_of(error, folder))
