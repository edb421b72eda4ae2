"""Probes: small functions that run in the worker beside a student's code and return facts."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from grader.contracts.observation import ProbeObservation
from grader.course.probe_source import ProbeSource
from grader.errors import CourseError
from grader.sandbox.evidence import ProbeOutcome

#: The names of a check file's module that hold its probes and pictures, in their order there.
_PROBES, _PICTURES = "__probes__", "__pictures__"

_SEPARATOR = "\n\n"  # between the definitions of a bundle
PROBE_SECONDS = 10.0
PICTURE_SECONDS = 2.0


@dataclass(frozen=True)
class Probe:
    """A probe, ready to be sent to a worker.

    Attributes:
        name: the function's name, and the fixture's.
        question: the id that its author gave; else the stub that the probe names decides.
        seconds: the longest it may take.
        alone: whether it gets a worker of its own.
        fixed: whether its author says that its inputs are the same in every run.
    """

    name: str
    source: ProbeSource
    question: str | None
    seconds: float
    alone: bool
    fixed: bool = field(default=False, kw_only=True)

    def bundle(self) -> str:
        """All definitions that a worker needs to run this probe."""
        return _SEPARATOR.join(part.text for part in self.parts())

    def parts(self) -> tuple[ProbeSource, ...]:
        """The definitions of a bundle, in its order."""
        return tuple(self.source.closure().values())

    def place_in_file(self, line: int) -> tuple[ProbeSource, int] | None:
        """The definition that a line of a bundle belongs to, and the line in its file; from 1."""
        for part in self.parts():
            lines = (part.text + _SEPARATOR).count("\n")
            if line < lines:
                return part, part.tree.lineno + line - 1
            line -= lines
        return None

    @property
    def attributes(self) -> frozenset[str]:
        """Attribute names that the probe and its helpers use, the student's functions among them."""
        return frozenset().union(*(part.attributes for part in self.parts()))

    def observation(self, seen: ProbeOutcome, expected: ProbeOutcome) -> ProbeObservation:
        """What a check reads: the facts of a submission beside those of the reference."""
        return ProbeObservation(self.name, seen, expected)

    def seed(self, run_seed: int, stem: str) -> int:
        """The seed of this probe in a run: the same for every submission, unknown before the run."""
        text = f"{run_seed}:{stem}:{self.name}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@dataclass(frozen=True)
class PictureProbe(Probe):
    """A probe without a verdict: it returns a ``graph``, which is drawn for the student above its `caption`.

    Where `reference` is true, the reference's picture may be shown beside the student's.
    """

    caption: str
    reference: bool


def probe(
    function: Callable[..., Any] | None = None,
    /,
    *,
    question: str | None = None,
    seconds: float = PROBE_SECONDS,
    alone: bool = False,
    fixed: bool = False,
) -> Any:
    """Make a function a probe, and its name a pytest fixture that holds what was seen and expected.

    The function takes one argument, by custom ``student``, whose attributes are the names of the notebook. It
    draws its inputs first, calls the student's function, and returns facts.

    Args:
        function: the probe, when the decorator is used without arguments.
        question: the question it belongs to, where the stub it names does not tell.
        seconds: the longest it may take, in seconds.
        alone: run it in a worker of its own.
        fixed: it draws nothing at random, and that is meant; else the doctor complains.

    Raises:
        CourseError: the probe uses something that does not travel to the worker.
    """

    def decorate(f: Callable[..., Any]) -> Any:
        _refuse_other_arguments("probe", f)
        made = Probe(
            name=f.__name__,
            source=ProbeSource.of(f),
            question=question,
            seconds=seconds,
            alone=alone,
            fixed=fixed,
        )
        f.__globals__.setdefault(_PROBES, {})[made.name] = made

        @pytest.fixture(scope="session", name=made.name)
        def observation(submission: Any) -> ProbeObservation:
            observed: ProbeObservation = submission.observation(made.name)
            return observed

        return observation

    return decorate if function is None else decorate(function)


def picture(
    function: Callable[..., Any] | None = None,
    /,
    *,
    question: str | None = None,
    reference: bool = False,
    seconds: float = PICTURE_SECONDS,
) -> Any:
    """Make a function a picture: a probe that returns ``graph(...)`` and that no check judges.

    It runs after all probes, so it can change no verdict. If it fails, there is no picture.

    Args:
        function: the picture, when the decorator is used without arguments. Its docstring's first line is
            the caption students read.
        question: as of a probe.
        reference: the reference's picture gives nothing away, and may be shown beside the student's.
        seconds: the longest it may take, in seconds; more than two are not given.

    Raises:
        CourseError: it has no docstring, or uses something that does not travel to the worker.
    """

    def decorate(f: Callable[..., Any]) -> Any:
        _refuse_other_arguments("picture", f)
        caption = (inspect.getdoc(f) or "").partition("\n")[0].strip().rstrip(".")
        if not caption:
            raise CourseError(f"picture {f.__name__} has no docstring: its first line is what students read")
        source = ProbeSource.of(f)
        made = PictureProbe(f.__name__, source, question, seconds, False, caption, reference)
        f.__globals__.setdefault(_PICTURES, {})[made.name] = made
        return f

    return decorate if function is None else decorate(function)


def _refuse_other_arguments(kind: str, function: Callable[..., Any]) -> None:
    if len(inspect.signature(function).parameters) != 1:
        raise CourseError(f"{kind} {function.__name__} must take exactly one argument, the student's names")


def pictures_defined(check_file: ModuleType) -> dict[str, PictureProbe]:
    """The pictures a check file defined, by name."""
    return dict(vars(check_file).get(_PICTURES, {}))


def probes_defined(check_file: ModuleType) -> dict[str, Probe]:
    """The probes a check file defined, by name."""
    return dict(vars(check_file).get(_PROBES, {}))
