"""The outcome of a check over the cases of a contract, and the case that its message names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from grader.contracts.cases import MEMORY, Case

_Variation = tuple[str, str]  # a factor and its level
_FEW = 2  # variations that a message may name
_SEQUENCE = "call.sequence"  # the factor of the calls before the one that is judged


def case_to_report(cases: Sequence[Case], failed: Mapping[int, object]) -> int:
    """The number of the failed case with the fewest variations; a typical one comes first.

    If every case but the typical ones fails, an earlier call is the likeliest cause: then a case with another
    call sequence is preferred. Otherwise the one whose variations the most failed cases have.
    """
    others = [number for number, case in enumerate(cases) if not case.is_typical]
    every_other_fails = bool(others) and failed.keys() == {*others}

    def rank(number: int) -> tuple[bool, bool, int, bool, int]:
        case = cases[number]
        is_other_call = every_other_fails and _SEQUENCE not in case.variations
        alike = sum(case.variations.items() <= cases[n].variations.items() for n in failed)
        return case.did_not_run, not case.is_typical, len(case.variations), is_other_call, -alike

    return min(failed, key=rank)


def causes(cases: Sequence[Case], failed: Mapping[int, object], number: int) -> set[str]:
    """The factors whose variations a message about a failed case names as the cause; most often one or two.

    First of all what explains every failure: a variation, or a pair, that each failed case has and no passed
    case. Otherwise the variations without which the case passes, then those that each failed case has. More
    than two are no explanation, and neither are several pairs.
    """
    passed = [set(case.variations.items()) for n, case in enumerate(cases) if n not in failed]
    shared = sorted(_in_every(cases, failed))
    for size in (1, 2):
        explaining = [
            those for those in combinations(shared, size) if not any(p.issuperset(those) for p in passed)
        ]
        if 1 <= len(explaining) <= 3 - size:
            return {factor for those in explaining for factor, _ in those}
    found = _needed(cases, failed, number) or set(shared)
    return {factor for factor, _ in found} if len(found) <= _FEW else set()


def _in_every(cases: Sequence[Case], failed: Mapping[int, object]) -> set[_Variation]:
    """The variations that every failed case has."""
    return set.intersection(*(set(cases[n].variations.items()) for n in failed))


def _needed(cases: Sequence[Case], failed: Mapping[int, object], number: int) -> set[_Variation]:
    """The variations without which a failed case passes."""
    variations = dict(cases[number].variations)
    passed = [case.variations for n, case in enumerate(cases) if n not in failed]
    return {
        (factor, level)
        for factor, level in variations.items()
        if {key: value for key, value in variations.items() if key != factor} in passed
    }


def named_case(cases: Sequence[Case], failed: Mapping[int, object], number: int) -> tuple[str, bool]:
    """How a message about a failed case begins, and whether this is an example.

    It names the cause. If that does not explain every failure, or no cause is known, the case is an example;
    without a cause, all its variations are named. Of a typical case, and of one that did not run, nothing is.
    """
    case = cases[number]
    if case.is_typical or case.did_not_run:
        return "", False
    found = causes(cases, failed, number) - {MEMORY}
    explains_all = found <= {factor for factor, _ in _in_every(cases, failed)}
    if found and explains_all:
        return case.declared.sentence(found), False
    sentence = case.declared.sentence(found or case.variations.keys() - {MEMORY})
    return f"For example, {sentence[:1].lower()}{sentence[1:]}", True


def hint_of_cause(cases: Sequence[Case], failed: Mapping[int, object], number: int) -> str | None:
    """A hint about wrong values that follows from the named variation; None for most variations."""
    if not cases[number].is_typical and causes(cases, failed, number) == {_SEQUENCE}:
        return (
            "The first call is right. Look for anything that a call stores or changes and that a later "
            "call uses."
        )
    return None


def decisive_variations(cases: Sequence[Case], failed: Mapping[int, object]) -> set[str]:
    """The variations that a mistake needs to be seen, or to be named, as ``h.layout=transposed``."""
    if not failed:
        return set()
    needed = _needed(cases, failed, case_to_report(cases, failed))
    return {f"{factor}={level}" for factor, level in _in_every(cases, failed) | needed}
