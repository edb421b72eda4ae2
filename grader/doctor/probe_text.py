"""Outside: what a probe saw of several notebooks, in lines for its author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grader.checks.observation import is_kept
from grader.checks.untouched import changed_parts
from grader.course.probes import PictureProbe, Probe
from grader.doctor.picture_text import pictured
from grader.doctor.probe_run import ORACLE, Seen
from grader.doctor.side_by_side import side_by_side
from grader.grading.broken_probe import place_in_probe, said_in_probe
from grader.sandbox.evidence import NoFacts, ProbeRaised
from grader.sandbox.facts import Raised
from grader.text import printable


def told(probe: Probe, seen: Mapping[str, Seen]) -> Iterator[str]:
    """What it printed, of whom it has no facts and why, and then its facts beside each other.

    Args:
        probe: the probe.
        seen: what it saw, by of whom; the first is what is expected.
    """
    yield from _prints(probe.name, seen)
    facts: dict[str, Any] = {}
    for who, one in seen.items():
        why = _why_none(probe, one, oracle=who == ORACLE)
        if why is None:
            facts[who] = one.outcome
        else:
            yield printable(f"{probe.name}    {who} {one.placed(why)}")
    if isinstance(probe, PictureProbe):
        yield from map(printable, pictured(probe.name, facts))
    elif facts:
        told = {who: _without_what_stayed(fact) for who, fact in facts.items()}
        yield from map(printable, side_by_side(probe.name, told))


def _without_what_stayed(fact: Any) -> Any:
    """The same, but that of what ``untouched`` filled only what changed is left, with what is said of it."""
    if is_kept(fact):
        changed = changed_parts(fact)
        written = {
            path: now["tensor"]
            for path, now in fact["after"].items()
            if "tensor" in now and f"{path}:value" in changed
        }
        return {**changed, **({"after": written} if written else {})} or "nothing changed"
    if isinstance(fact, dict):
        return {key: _without_what_stayed(value) for key, value in fact.items()}
    if isinstance(fact, list | tuple):
        return type(fact)(map(_without_what_stayed, fact))
    return fact


def _prints(name: str, seen: Mapping[str, Seen]) -> Iterator[str]:
    """What all of them print stands once."""
    printed = {who: one.printed for who, one in seen.items()}
    if len(set(printed.values())) == 1:
        printed = {"": next(iter(printed.values()))}
    for who, lines in printed.items():
        yield from (printable(f"{name}    {f'{who} ' if who else ''}prints  {line}") for line in lines)


def _why_none(probe: Probe, seen: Seen, *, oracle: bool) -> str | None:
    """Why there are no facts, with the probe's line where it stopped; None where there are."""
    match seen.outcome:
        case NoFacts(reason):
            return f"has no facts: {reason}"
        case ProbeRaised(error) | (Raised() as error):
            return f"stops: {place_in_probe(probe, error, oracle=oracle)} raised {said_in_probe(error)}"
    return None
