"""Outside: what a probe saw of several notebooks, in lines for its author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grader.broken_probe import place_in_probe, said_in_probe
from grader.evidence import Fault, Stopped
from grader.facts import Raised
from grader.probe import Probe
from grader.probe_run import ORACLE, Seen
from grader.side_by_side import side_by_side
from grader.text import printable


def told(probe: Probe, seen: Mapping[str, Seen]) -> Iterator[str]:
    """What it printed, of whom it has no facts and why, and then its facts beside each other.

    Args:
        probe: the probe.
        seen: what it saw, by of whom; the first is what is expected.
    """
    yield from _prints(probe.name, seen)
    facts = {}
    for who, one in seen.items():
        why = _why_none(probe, one, oracle=who == ORACLE)
        if why is None:
            facts[who] = one.outcome
        else:
            yield printable(f"{probe.name}    {who} {why}")
    if facts:
        yield from map(printable, side_by_side(probe.name, facts))


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
        case Fault(reason):
            return f"has no facts: {reason}"
        case Stopped(error) | (Raised() as error):
            return f"stops: {place_in_probe(probe, error, oracle=oracle)} raised {said_in_probe(error)}"
    return None
