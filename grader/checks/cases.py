"""``cases``: the named cases of a probe, one after the other; a failure begins with the name of its case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any

from grader.checks.observation import (
    NothingSeenError,
    Observation,
    Sides,
    StoppedError,
    other_form,
    sentence,
)
from grader.errors import CourseError
from grader.sandbox.evidence import ProbeRaised
from grader.sandbox.facts import Raised

#: Probes, cases, and pairs of what was seen and what is expected; or a dict of these by name.
Cased = Sides | tuple[Any, Any] | Mapping[str, Sides | tuple[Any, Any]]


class Case(Sides):
    """The seen and the expected facts of a case; its `name`, perhaps empty, begins a failure."""

    def __init__(self, name: str, seen: Any, expected: Any) -> None:
        self.name, self._any_form, self.expected = name, seen, expected
        self.is_over = False

    @cached_property
    def seen(self) -> Any:
        """The facts of the submission, in the form of the reference's.

        Raises:
            StoppedError: they are an error, and none is expected.
            NothingSeenError: they have another form.
        """
        if isinstance(self._any_form, Raised) and not isinstance(self.expected, Raised):
            raise StoppedError(ProbeRaised(self._any_form))
        if mismatch := other_form(self._any_form, self.expected):
            raise NothingSeenError(sentence(mismatch))
        return self._any_form


def cases(*probes: Cased, each: str = "") -> Iterator[Case]:
    """The cases of some probes; a failure in the loop over them begins with the name of its case.

    ``for case in cases(masked):`` needs no name in any message: a failure reads ``With an empty batch: f is
    not ...``. A case whose facts are an error that ``attempt`` caught fails as soon as its facts are used.

    Args:
        probes: each a probe, a case or an entry of either, whose facts are a dict of cases by name or a list
            of cases without names; or a dict of probes, each of which is a case of that name.
        each: the name of a list's cases, before their number: "Minibatch" for "Minibatch 1".

    Raises:
        CourseError: the facts are neither a dict nor a list.
    """
    for probe in probes:
        for case in _cases_of(probe, each):
            yield case
            case.is_over = True


def _cases_of(probe: Cased, each: str) -> Iterator[Case]:
    if isinstance(probe, Mapping):
        yield from (Case(name, *sides) for name, sides in probe.items())
        return
    sides = Case("", *probe) if isinstance(probe, tuple) else probe
    expected, seen = sides.expected, _seen_cases(sides)
    if isinstance(expected, dict):
        yield from (Case(name, seen.get(name), right) for name, right in expected.items())
    elif isinstance(expected, list | tuple):
        for number, pair in enumerate(zip(seen, expected, strict=True), start=1):
            yield Case(f"{each} {number}" if each else "", *pair)
    else:
        raise CourseError("cases(...) takes probes that return a dict of cases by name, or a list of them")


def _seen_cases(probe: Sides) -> Any:
    """The seen facts; where there are all cases, each in any form, because each case checks its own form."""
    seen: Any = probe.in_any_form if isinstance(probe, Observation) else None
    is_alike = isinstance(seen, dict | list | tuple) and type(seen) is type(probe.expected)
    return seen if is_alike and len(seen) == len(probe.expected) else probe.seen


def names_of(trace: TracebackType | None) -> str:
    """The names of the cases in use where an error was raised, as a beginning: ``k = 3: ``."""
    used: list[Case] = []
    while trace is not None:
        values = trace.tb_frame.f_locals.values()
        used += [case for case in values if isinstance(case, Case) and not case.is_over and case not in used]
        trace = trace.tb_next
    return "".join(f"{case.name}: " for case in used if case.name)
