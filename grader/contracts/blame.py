"""How a check ends over the cases of a contract, and which case its message is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.contracts.cases import Case

_SEQUENCE = "call.sequence"  # the factor of the calls before the one that is judged


def case_to_report(cases: Sequence[Case], failed: Mapping[int, object]) -> int:
    """The number of the failed case with the fewest variations; a typical one comes first.

    If every case but the typical ones fails, an earlier call is the likeliest cause: then a case with another
    call sequence is preferred.
    """
    others = [number for number, case in enumerate(cases) if not case.is_typical]
    every_other_fails = bool(others) and failed.keys() == {*others}

    def rank(number: int) -> tuple[bool, bool, int, bool]:
        case = cases[number]
        is_other_call = every_other_fails and _SEQUENCE not in case.variations
        return case.did_not_run, not case.is_typical, len(case.variations), is_other_call

    return min(failed, key=rank)


def causes(cases: Sequence[Case], failed: Mapping[int, object], number: int) -> set[str]:
    """The factors whose variations a message about a failed case may name as the cause.

    A variation is a cause if the case passes without it, or if every failed case has it. If none is, the
    message lists all variations of the case.
    """
    variations = dict(cases[number].variations)
    passed = [dict(case.variations) for n, case in enumerate(cases) if n not in failed]
    in_every = set.intersection(*(set(cases[n].variations.items()) for n in failed))
    found = {
        factor
        for factor, level in variations.items()
        if (factor, level) in in_every
        or {key: value for key, value in variations.items() if key != factor} in passed
    }
    return found or set(variations)


def named_case(cases: Sequence[Case], failed: Mapping[int, object], number: int) -> str:
    """How a message about a failed case begins; empty where no variation may be named."""
    case = cases[number]
    if case.is_typical or case.did_not_run:
        return ""
    return case.declared.sentence(causes(cases, failed, number))


def decisive_variations(cases: Sequence[Case], failed: Mapping[int, object]) -> set[str]:
    """The variations that a mistake needs to be seen, or to be named, as ``h.layout=transposed``."""
    if not failed:
        return set()
    number = case_to_report(cases, failed)
    in_every = set.intersection(*(set(cases[n].variations.items()) for n in failed))
    named = {(factor, cases[number].variations[factor]) for factor in causes(cases, failed, number)}
    return {f"{factor}={level}" for factor, level in in_every | named}
