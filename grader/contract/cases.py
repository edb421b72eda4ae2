"""Judges what a function did in the cases of a contract; the reference shows what is right.

A case of ordinary inputs comes first, then each unusual kind alone, then cases of several unusual kinds. A
failure is told of the case with the fewest unusual kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import combinations
from typing import Any

from grader.checks.comparison import assert_close, is_close
from grader.checks.diagnosis import finding_of
from grader.checks.finding import FailedCheckError, Finding, wrong
from grader.checks.gradients import assert_gradients
from grader.checks.observation import Observation, finding_without_facts, is_gradients
from grader.checks.untouched import changed_parts
from grader.errors import CourseError
from grader.sandbox.evidence import Failure, ProbeOutcome, no_facts
from grader.sandbox.facts import Raised, Tensor, is_cut_off
from grader.text import capital

MEMORY = "call.memory"  # the factor of the case in which memory is weighed, and nothing else is looked at
ORDINARY_CASE = "Ordinary inputs"
ORDINARY = "With ordinary inputs it is right."
#: What the worker leaves out of a case, because it is so in most.
ORDINARY_FACTS: dict[str, Any] = {
    "raised": None,
    "kept": {"before": {}, "after": {}},
    "earlier": True,
    "notes": None,
    "weighed": None,
    "later": True,
    "arrives": True,
    "memory": [],
    "objects": [],
    "shared": False,
    "incoming": True,
}
_WAITING = "waiting:"  # before the rung, in an explanation of a gradient of a loss that waited
#: Of what networks do, that of which less is right, too.
_AMOUNTS = {"entered", "graphs", "graphs left"}
#: Of what is held, how many forwards more than the reference do no harm.
_SLACK = {"left": 0.15, "peak": 0.15, "peak+1": 1.0}
#: Of a thing that changes, what only says that it was written to.
_TRACES = {"version", "storage", "history", "identity", "hooks", "attributes"}


@dataclass(frozen=True)
class Case:
    """One case: its unusual kinds by factor, and how a sentence about it begins."""

    unusual: Mapping[str, str]
    words: Mapping[str, str]  # of each unusual kind
    may_raise: bool = False
    dtype: str = ""

    def told(self, factors: Collection[str] | None = None) -> str:
        """``Where h is transposed and w is a leaf, called under no_grad()``; of some factors only."""
        named = [key for key in self.unusual if factors is None or key in factors]
        of_things: dict[str, list[str]] = {}
        when = []
        for key in named:
            if key.startswith(("call.", "all.")):
                when.append(self.words[key])
            else:
                of_things.setdefault(key.partition(".")[0], []).append(self.words[key])
        where = [f"{thing} {' and '.join(words)}" for thing, words in of_things.items()]
        parts = [f"where {' and '.join(where)}" if where else "", *when]
        text = ", ".join(filter(None, parts))
        return capital(text)


@dataclass(frozen=True)
class Terms:
    """What a contract says of right and wrong, and in which words.

    Attributes:
        free: patterns of ``path:part`` that are up to the answer.
        may: those that may stay as they were, or be as the reference leaves them.
        moves: those whose changes are no trace of a mistake elsewhere: also where the reference leaves them,
            they count with the values.
        result: what is said of a wrong result, with its hint behind a blank line.
        because: explanations of wrong gradients, as ``assert_gradients`` takes them; ``waiting:wrong`` is
            about a loss that was computed before the call.
        becomes: what is said of a part that the reference changes and that comes out wrong, by pattern, or of
            a note, by its name; of ``steps`` the hint alone.
        parts: what the entries of a result are called that is a tuple.
        kept: the hint with whatever should have stayed as it was.
        of: the name of what goes back.
        used: what is said of wrong facts of `use`; where they have names, by name: a text, or explanations as
            ``because`` has them.
        history: whether the result has one counts, and whether it is an inference tensor, unless
        ``result:inference`` is free.
        owns: the result has memory of its own.
        itself: where the reference returns an argument itself, nothing else will do.
    """

    cases: tuple[Case, ...]
    free: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    result: str = "What came back is wrong."
    parts: tuple[str, ...] = ()
    because: Mapping[str, Any] = field(default_factory=dict)
    becomes: Mapping[str, str] = field(default_factory=dict)
    kept: str = ""
    of: str = "the result"
    owns: bool = True
    all_digits: bool = False
    strict: bool = False
    none_is_zero: bool = True
    history: bool = False
    itself: bool = False
    notes: tuple[str, ...] = ()
    used: str | Mapping[str, Any] = "What came back does not do what it should."
    waiting: str = ""


class ContractObservation(Observation):
    """What was seen and expected in the cases of a contract; the value of its fixture."""

    def __init__(self, terms: Terms, probe: str, seen: ProbeOutcome, expected: ProbeOutcome) -> None:
        super().__init__(probe, seen, expected)
        self.terms = terms

    @property
    def expected(self) -> list[dict[str, Any]]:
        """The facts of the reference; CourseError where it raises, and not for an error of the caller's."""
        facts = super().expected
        if not isinstance(facts, list) or len(facts) != len(self.terms.cases):
            raise CourseError(
                f"the contract {self._probe} has {len(self.terms.cases)} cases, and others were observed of"
                " the reference: grade again"
            )
        facts = [{**ORDINARY_FACTS, **right} for right in facts]
        for case, right in zip(self.terms.cases, facts, strict=True):
            if isinstance(right["raised"], Raised) and not case.may_raise:
                told = finding_of(right["raised"], "raised").sentence
                raise CourseError(f"the reference raises an error. {case.told() or ORDINARY_CASE}: {told}")
        return facts

    @property
    def seen(self) -> list[dict[str, Any]]:
        """The facts of the submission, one for each case; FailedCheckError if there are none."""
        facts = self.in_any_form
        if not isinstance(facts, list) or len(facts) != len(self.terms.cases):
            raise wrong("What came back of your function has no form that can be judged.", kind="form")
        return [{**ORDINARY_FACTS, **fact} if isinstance(fact, dict) else ORDINARY_FACTS for fact in facts]

    @cached_property
    def sides(self) -> list[tuple[Terms, dict[str, Any], dict[str, Any]]]:
        """Of each case its terms, what was seen and what is right; as `seen` and `expected` raise.

        Only numbers of a float64 have all its digits.
        """
        in_float32 = replace(self.terms, all_digits=False)
        terms = [self.terms if case.dtype == "float64" else in_float32 for case in self.terms.cases]
        return list(zip(terms, self.seen, self.expected, strict=True))

    @property
    def mismatch(self) -> None:
        """None: each case is judged in whatever form it came."""


_Judge = Callable[[Terms, dict[str, Any], dict[str, Any]], Iterator[Finding]]


def part_of(
    contracted: ContractObservation, *only: str, where: Collection[str] = ("*",)
) -> ContractObservation:
    """A part of what a contract shows, for a check of its own.

    Args:
        contracted: what was seen and expected.
        only: patterns of what is looked at: the ``parts`` of the result (or ``"result"``), facts of its use,
            and paths of what changes (``"model*"``).
        where: patterns of the factors that may be unusual in a case that is looked at, as ``"mask.*"``;
            ``"all.*"`` (dtype, sizes) and ``"call.*"`` are factors, too.
    """
    part = copy(contracted)
    sides = [
        (case, (terms, *_named_facts(terms, seen, right, only or ("*",))))
        for case, (terms, seen, right) in zip(contracted.terms.cases, contracted.sides, strict=True)
        if all(_is_named(factor, where) for factor in case.unusual)
    ]
    part.terms = replace(contracted.terms, cases=tuple(case for case, _ in sides))
    part.__dict__["sides"] = [side for _, side in sides]  # where a cached property keeps it
    return part


def assert_ordinary(contracted: ContractObservation) -> None:
    """Fail unless all is right with ordinary inputs, and with those that differ by their size alone."""
    for case, sides in zip(contracted.terms.cases, contracted.sides, strict=True):
        if case.unusual.keys() <= {MEMORY}:
            _require(*sides, _ASPECTS)


def assert_values(contracted: ContractObservation) -> None:
    """Fail unless in every case the right things come back, and what has to change becomes what it should."""
    _assert_all(contracted, [_returned])


def assert_backward(contracted: ContractObservation) -> None:
    """Fail unless in every case a loss goes back from the result as it should."""
    _assert_all(contracted, [_went_back])


def assert_kept(contracted: ContractObservation) -> None:
    """Fail unless in every case all else stays as it was, and the result has memory of its own."""
    _assert_all(contracted, [_stayed])


def assert_every_case(contracted: ContractObservation) -> None:
    """Fail unless all is right in every case."""
    _assert_all(contracted, _ASPECTS)


def failed_cases(contracted: ContractObservation) -> dict[int, Finding]:
    """What is found first in each case that is not right, by the number of the case.

    Raises:
        CourseError: the reference raises.
        FailedCheckError: there are no facts of the submission.
    """
    return _found_in(contracted, _ASPECTS)


def plainest_case(contracted: ContractObservation, found: Mapping[int, Finding]) -> int:
    """Of the failed cases, the number of that of which students are told."""
    return 0 if 0 in found else _plainest(contracted.terms.cases, found)[0]


def telling_kinds(contracted: ContractObservation) -> set[str]:
    """The kinds without which a failure would not be seen, or not be named, as ``h.layout=transposed``."""
    try:
        found = failed_cases(contracted)
    except FailedCheckError:
        return set()
    if not found:
        return set()
    cases = contracted.terms.cases
    number, factors = (0, set[str]()) if 0 in found else _plainest(cases, found)
    common = set.intersection(*(set(cases[n].unusual.items()) for n in found))
    named = {(factor, cases[number].unusual[factor]) for factor in factors}
    return {f"{factor}={kind}" for factor, kind in common | named}


def _found_in(contracted: ContractObservation, judges: Collection[_Judge]) -> dict[int, Finding]:
    """What some judges find first in each case, by its number; of a case that is right nothing."""
    found = (_first(*side, judges) for side in contracted.sides)
    return {number: finding for number, finding in enumerate(found) if finding is not None}


def _first(
    terms: Terms, seen: dict[str, Any], right: dict[str, Any], judges: Collection[_Judge]
) -> Finding | None:
    """What is found in a case first, or None."""
    if seen == right:
        return None
    if "late" in seen:
        return _late(seen["late"])
    try:
        return next((found for judge in judges for found in judge(terms, seen, right)), None)
    except FailedCheckError as failed:
        return failed.finding
    except (TypeError, AttributeError):
        if not is_cut_off(seen):
            raise
        return Finding("form", "Your function changes too much to look at all of it.", group="cut off")


def _late(seconds: Any) -> Finding | None:
    """What is found of a call that was stopped; None where an earlier case was."""
    if not isinstance(seconds, float) or not seconds:
        return None
    reason = no_facts(Failure.TIMEOUT, seconds=seconds)
    return finding_without_facts(reason)


def _require(terms: Terms, seen: dict[str, Any], right: dict[str, Any], judges: Collection[_Judge]) -> None:
    found = _first(terms, seen, right, judges)
    if found is not None:
        raise FailedCheckError(found)


def _assert_all(contracted: ContractObservation, judges: Collection[_Judge]) -> None:
    cases, ordinary = contracted.terms.cases, contracted.sides[0]
    _require(*ordinary, [_raised, *judges])
    found = _found_in(contracted, judges)
    if not found:
        return
    number, factors = _plainest(cases, found)
    case = cases[number].told(factors)
    finding = found[number]
    is_right = _first(*ordinary, _ASPECTS) is None
    told = f"{finding.sentence} {ORDINARY}" if is_right else finding.sentence
    raise FailedCheckError(
        replace(finding, sentence=told, case=case, group=f"{case} {finding.group}".strip())
    )


def _plainest(cases: tuple[Case, ...], found: Mapping[int, Finding]) -> tuple[int, set[str]]:
    """The failed case with the fewest unusual kinds, and those of them that no case without a failure has.

    A pair of kinds is the cause only where no case that has both is right. So the smallest sets of kinds that
    occur in failed cases alone remain; the sets of the most failures are named.
    """
    is_always = 0 not in found and len(found) == len(cases) - 1  # then what differs is an earlier call
    number = min(
        found, key=lambda n: (len(cases[n].unusual), is_always and "call.turn" not in cases[n].unusual)
    )
    if len(cases[number].unusual) <= 1:
        return number, set(cases[number].unusual)
    right = [set(case.unusual.items()) for n, case in enumerate(cases) if n not in found]
    failed = {n: set(cases[n].unusual.items()) for n in found}
    for size in (1, 2, 3):
        causes = {
            cause
            for kinds in failed.values()
            for cause in combinations(sorted(kinds), size)
            if not any(kinds_of_right.issuperset(cause) for kinds_of_right in right)
        }
        if causes:
            often = {
                cause: sum(kinds.issuperset(cause) for kinds in failed.values()) for cause in sorted(causes)
            }
            likely = [cause for cause, times in often.items() if times == max(often.values())]
            number = min(
                (n for n in failed if any(map(failed[n].issuperset, likely))), key=lambda n: len(failed[n])
            )
            # Of two that are as likely nothing tells which it is, so both are named.
            named = [cause for cause in likely if failed[number].issuperset(cause)]
            return number, {factor for cause in named for factor, _ in cause}
    return number, set(cases[number].unusual)


# --- what is found in one case


def _returned(terms: Terms, seen: dict[str, Any], right: dict[str, Any]) -> Iterator[Finding]:
    """Errors, what came back, what has to change, and what networks did."""
    yield from _raised(terms, seen, right)
    if right["raised"] is not None:
        return
    notes = terms.notes if right["notes"] is not None else ()
    if "steps" in notes:  # of which all else follows
        _assert_steps(terms, seen["notes"]["steps"], right["notes"]["steps"])
    if "result" in right:
        assert_close(
            *_named_parts(terms.parts, seen.get("result"), right["result"]),
            terms.result,
            right.get("instead"),
            strict=terms.strict,
            all_digits=terms.all_digits,
        )
    if terms.itself:
        yield from _another_object(seen["objects"], right["objects"])
    _assert_changes(terms, seen, right)
    if "used" in right:
        _assert_used(terms, seen.get("used"), right["used"])
    for name in (each for each in notes if each != "steps"):
        yield from _noted(terms, name, seen["notes"], right["notes"])
    yield from _too_heavy(terms, seen["weighed"], right["weighed"])


def _named_facts(
    terms: Terms, seen: dict[str, Any], right: dict[str, Any], only: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Of the facts of a case those that are named, as seen and as they should be."""

    def some(facts: dict[str, Any]) -> dict[str, Any]:
        return {name: fact for name, fact in facts.items() if _is_named(name, only)}

    results = _named_parts(terms.parts, seen.get("result"), right.get("result"))
    are_parts = all(type(result) is dict for result in results)
    for side, result in zip((seen, right), results, strict=True):
        part = side | {"kept": {when: some(record) for when, record in side.get("kept", {}).items()}}
        if are_parts:
            part["result"] = some(result)
        elif not terms.parts and not _is_named("result", only):
            part.pop("result", None)
        if type(side.get("used")) is dict:
            part["used"] = some(side["used"])
        yield part


def _named_parts(names: tuple[str, ...], mine: Any, its: Any) -> tuple[Any, Any]:
    """Both results, their entries by name where they are tuples of as many entries as there are names."""
    if names and all(type(side) is tuple and len(side) == len(names) for side in (mine, its)):
        return dict(zip(names, mine, strict=True)), dict(zip(names, its, strict=True))
    return mine, its


def _another_object(mine: Any, its: list[str]) -> Iterator[Finding]:
    """What came back in the place of an argument itself."""
    for place, name in enumerate(its):
        if name and _entry(mine, place) != name:
            told = f"You returned another object than {name} itself, which is what the caller holds."
            yield Finding("wrong", told, takes_hint=True, group="another object")


def _raised(_: Terms, seen: dict[str, Any], right: dict[str, Any]) -> Iterator[Finding]:
    """What is wrong with the error of a call, or with there being one, or none."""
    mine, its = seen["raised"], right["raised"]
    if isinstance(mine, Raised) and its is None:
        yield finding_of(mine, "unobserved")
    elif isinstance(its, Raised) and not isinstance(mine, Raised):
        yield Finding(
            "wrong",
            f"The caller's {its.type} does not reach the caller.",
            takes_hint=True,
            group="error swallowed",
        )
    elif (
        isinstance(its, Raised)
        and isinstance(mine, Raised)
        and (mine.types, mine.text) != (its.types, its.text)
    ):
        told = f"An {mine.type} reaches the caller in place of the {its.type} that was raised."
        yield Finding("wrong", told, takes_hint=True, group="another error")


def _assert_used(terms: Terms, mine: Any, its: Any) -> None:
    """Fail where using the result showed something else: a fact, or facts by name, but for gradients."""
    if not isinstance(its, dict):
        assert_close(mine, its, _told_of_use(terms, ""), all_digits=terms.all_digits)
        return
    for name, fact in its.items():
        if not is_gradients(fact):
            entry = mine if isinstance(mine, Raised) else _entry(mine, name)
            if isinstance(fact, bool) and isinstance(entry, bool) and entry is not fact:
                raise wrong(_told_of_use(terms, name), group=f"used {name}")
            assert_close(entry, fact, _told_of_use(terms, name), all_digits=terms.all_digits)


def _told_of_use(terms: Terms, name: str) -> str:
    """What is said where a fact of `use` is wrong."""
    told = terms.used.get(name, "") if isinstance(terms.used, Mapping) else terms.used
    return told if told and isinstance(told, str) else f"With the result this comes out wrong: {name}."


def _assert_used_goes_back(terms: Terms, name: str, mine: Any, its: Mapping[str, Any]) -> None:
    """Fail where something that was computed with the result goes back otherwise than it should."""
    if isinstance(its["gradients"], Raised):
        stopped = mine.get("gradients") if is_gradients(mine) else None
        if not isinstance(stopped, Raised):
            raise wrong(_told_of_use(terms, name), group=f"{name} goes back")
        if "RuntimeError" not in stopped.types:
            told = f"{capital(name)} is stopped, but by an {stopped.type}: {stopped.text[:100]}"
            raise wrong(told, group=f"{name} raises another")
        return
    why = terms.used.get(name) if isinstance(terms.used, Mapping) else None
    why = why if isinstance(why, Mapping) else {"wrong": why} if why else terms.because
    none_is_zero, all_digits = terms.none_is_zero, terms.all_digits
    assert_gradients(mine, its, of=name, because=why, none_is_zero=none_is_zero, all_digits=all_digits)


def _assert_changes(terms: Terms, seen: dict[str, Any], right: dict[str, Any]) -> None:
    """Fail where what has to change stays or becomes something else, or what counts moves and should not."""
    mine, its = changed_parts(seen["kept"]), changed_parts(right["kept"])
    for path_and_part, sentence in its.items():
        part = path_and_part.rpartition(":")[2]
        if part not in _TRACES and not _is_named(path_and_part, terms.free):
            if path_and_part in mine:
                _assert_becomes(terms, path_and_part, sentence, seen, right)
            else:
                _assert_may_stay(terms, path_and_part)
    for path_and_part, sentence in mine.items():
        if path_and_part not in its and _is_named(path_and_part, terms.moves):
            _assert_moved_nowhere(terms, path_and_part, sentence, seen["kept"])


def _assert_may_stay(terms: Terms, path_and_part: str) -> None:
    """Fail where a part that the reference changes has to."""
    path, _, part = path_and_part.rpartition(":")
    if not _is_named(path_and_part, terms.may):
        told = _told(terms, path_and_part) or f"{path} should change, and stays as it is ({part})."
        raise wrong(told, group=f"{path_and_part} stays")


def _assert_becomes(
    terms: Terms, path_and_part: str, sentence: str, seen: dict[str, Any], right: dict[str, Any]
) -> None:
    """Fail where a part that the reference changes became something else than it should."""
    path, _, part = path_and_part.rpartition(":")
    told = _told(terms, path_and_part)
    mine, its = (_part_of(side["kept"]["after"].get(path), part) for side in (seen, right))
    if isinstance(its, Tensor):
        told = told or f"After your call {path}{'.grad' if part == 'grad' else ''} is wrong."
        assert_close(mine, its, told, all_digits=terms.all_digits)
    elif mine != its:
        raise wrong(told or f"After your call {path} is wrong ({part}). {sentence}", group=path_and_part)


def _assert_moved_nowhere(terms: Terms, path_and_part: str, sentence: str, kept: Mapping[str, Any]) -> None:
    """Fail where a part that the reference left did not keep its values, but for rounding."""
    path, _, part = path_and_part.rpartition(":")
    before, after = (_part_of(kept[when].get(path), part) for when in ("before", "after"))
    told = _told(terms, path_and_part) or sentence
    if isinstance(before, Tensor):
        assert_close(after, before, told)
    elif before != after:
        raise wrong(told, group=path_and_part)


def _told(terms: Terms, path_and_part: str) -> str | None:
    """What is said of a part that did not become what it should."""
    return next((text for rule, text in terms.becomes.items() if fnmatchcase(path_and_part, rule)), None)


def _part_of(entry: Mapping[str, Any] | None, part: str) -> Any:
    """A part of what ``Untouched`` recorded of an object."""
    if entry is None:
        return None
    if entry.get("kind") == "tensor":
        tensor = entry["tensor"]
        return tensor if part == "value" else tensor.grad if part == "grad" else getattr(tensor, part, None)
    return entry.get(part)


def _noted(terms: Terms, note: str, seen: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Finding]:
    """What networks did otherwise than they should, each of all networks or, as ``model.calls``, of one."""
    whose, _, amount = note.rpartition(".")
    name, _, more = amount.partition("+")
    for fact in ("calls", "copies") if name == "calls" else (name,):
        mine: Any = seen.get(fact)
        its: Any = right.get(fact)
        if whose and fact != "copies":
            mine, its = _entry(mine, whose), _entry(its, whose)
        if fact == "given":
            yield from _of_given(mine, its)
        elif mine != its and not (
            fact in _AMOUNTS and isinstance(mine, int) and mine <= its + int(more or 0)
        ):
            yield _of_note(terms, fact, mine, its)


def _too_heavy(terms: Terms, seen: Any, right: Mapping[str, int] | None) -> Iterator[Finding]:
    """What is held that should not be, in bytes; a forward is the unit."""
    if right is None:
        return
    if not isinstance(seen, dict):
        yield Finding("form", "How much your function holds cannot be told.", group="weighed")
        return
    for name in terms.notes:
        note = name.partition("+")[0]
        if name == "half" and 2 * seen["left"] >= right["plain"]:
            yield _of_note(terms, name, seen["left"] // 1000, right["plain"] // 1000)
        elif name in _SLACK and seen[note] > right[note] + _SLACK[name] * right["forward"]:
            yield _of_note(terms, note, seen[note] // 1000, right[note] // 1000)


def _of_given(mine: Any, its: list[Any]) -> Iterator[Finding]:
    """What a function of the caller's was called with."""
    if len(mine) != len(its):
        told = f"The caller's function is called {_times(len(mine))}, where {_times(len(its))} is right."
        yield Finding("wrong", told, takes_hint=True, group="number of calls")
    else:
        assert_close(mine, its, "The caller's function is called with other things than it should be.")


def _assert_steps(terms: Terms, mine: Any, its: list[Any]) -> None:
    """Fail where an optimizer steps with other gradients than it should, or not as often."""
    hint = terms.becomes.get("steps", terms.kept)
    if len(mine) != len(its):
        told = f"The optimizer's steps in this call: {len(mine)}, and not {len(its)}."
        raise wrong(f"{told}\n\n{hint}", group="number of steps")
    for number, (step, right) in enumerate(zip(mine, its, strict=False), start=1):
        when = f"In step {number} of the optimizer" if len(its) > 1 else "When the optimizer steps"
        for name, gradient in right.items():
            seen = _entry(step, name)
            if seen is None and gradient is not None:
                raise wrong(f"{when}, the .grad of {name} is None.\n\n{hint}", group="step without")
            if seen is not None and gradient is None:
                raise wrong(f"{when}, {name} has a .grad, and should have None.\n\n{hint}", group="step with")
            told = f"{when}, the .grad of {name} is wrong.\n\n{hint}"
            assert_close(seen, gradient, told, all_digits=terms.all_digits)


def _of_note(terms: Terms, name: str, mine: Any, its: Any) -> Finding:
    if name in terms.becomes:
        return wrong(terms.becomes[name], group=f"notes {name}").finding
    sentences = {
        "calls": f"The network is called {_times(mine)}; {_times(its)} would do.",
        "copies": "A copy of the network computes in its place.",
        "recorded": "Gradients are recorded while the network computes.",
        "left": f"Your call leaves {mine} kB in memory; {its} kB would do.",
        "peak": f"While the network computes, {mine} kB are held; {its} kB would do.",
        "half": f"Your call leaves {mine} kB in memory, where {its} kB are what the plain way leaves.",
        "entered": f"{mine} rows enter the network at once, where {its} would do.",
        "graphs": f"When the network is called, graphs of {mine} earlier calls are alive.",
        "graphs left": f"After your call, graphs of {mine} calls of the network are still alive.",
    }
    return Finding("wrong", sentences.get(name, f"{name}: {mine}"), takes_hint=True, group=f"notes {name}")


def _times(counts: Any) -> str:
    """As in ``once``, ``3 times``; of several networks the largest number."""
    number = max(counts.values(), default=0) if isinstance(counts, Mapping) else counts
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")


def _went_back(terms: Terms, seen: dict[str, Any], right: dict[str, Any]) -> Iterator[Finding]:
    """Gradients of the result, and of losses that waited."""
    yield from _raised(terms, seen, right)
    if terms.history and "result" in right:
        _assert_history(seen.get("result"), right["result"], terms)
    if "gradients" in right:
        for entry in [""] if is_gradients(right["gradients"]) else right["gradients"]:
            _assert_result_goes_back(terms, entry, seen, right)
    if right.get("incoming") is True and seen.get("incoming") is False:
        told = f"Backward overwrites the gradient that arrives at {terms.of}, which others may need, too."
        yield Finding("wrong", told, takes_hint=True, group="incoming")
    _assert_earlier_goes_back(terms, seen.get("earlier gradients"), right.get("earlier gradients"))
    used = right["used"] if isinstance(right.get("used"), dict) else {}
    for name, its in used.items():
        if is_gradients(its):
            _assert_used_goes_back(terms, name, _entry(seen.get("used"), name), its)
    for name, its in right.get("waiting", {}).items():
        _assert_waiting(terms, name, seen.get("waiting", {}).get(name), its)


def _assert_result_goes_back(terms: Terms, entry: str, seen: dict[str, Any], right: dict[str, Any]) -> None:
    """Fail where a loss of the result, or of an entry of it, brings other gradients than it should."""
    mine, its = seen.get("gradients"), right["gradients"]
    if entry:
        mine, its = _entry(mine, entry), its[entry]
    if f"{entry}:history" in terms.may and _has_no_history(mine):
        return
    values_are_right = is_close(seen.get("result"), right["result"])
    assert_gradients(
        mine,
        its,
        of=terms.of,
        because=terms.because if values_are_right else {},
        none_is_zero=terms.none_is_zero,
        all_digits=terms.all_digits,
    )


def _assert_earlier_goes_back(terms: Terms, mine: Any, its: Any) -> None:
    """Fail where the result of an earlier call with other things brings other gradients than it should."""
    if not is_gradients(its) or isinstance(its["gradients"], Raised):
        return
    of = "the result of an earlier call, once there was another,"
    none_is_zero, all_digits = terms.none_is_zero, terms.all_digits
    assert_gradients(mine, its, of=of, none_is_zero=none_is_zero, all_digits=all_digits)


def _has_no_history(mine: Any) -> bool:
    """Whether an entry of the result is a tensor that nothing leads back from."""
    output = mine.get("output") if isinstance(mine, dict) else None
    return isinstance(output, Tensor) and not output.requires_grad


def _assert_history(mine: Any, its: Any, terms: Terms) -> None:
    """Fail where a tensor of the result requires grad and should not, or is an inference tensor."""
    of = capital(terms.of)
    if isinstance(its, list | tuple | dict):
        keys: Any = its if isinstance(its, dict) else range(len(its))
        for key in keys:
            _assert_history(_entry(mine, key), its[key], terms)
    elif isinstance(its, Tensor) and isinstance(mine, Tensor):
        if mine.requires_grad and not its.requires_grad:
            raise wrong(f"{of} requires grad, and should have no history.", group="history")
        if its.requires_grad and not mine.requires_grad:
            raise wrong(f"{of} does not require grad, so no backward can start there.", group="no history")
        is_inference = mine.version is None and its.version is not None
        if is_inference and not _is_named("result:inference", terms.free):
            raise wrong(f"{of} is an inference tensor: no backward may save it.", group="inference")


def _entry(thing: Any, key: Any) -> Any:
    """An entry, or None where there is none."""
    try:
        return thing[key]
    except (KeyError, IndexError, TypeError):
        return None


def _assert_waiting(terms: Terms, name: str, mine: Any, its: Any) -> None:
    """Fail where a loss that was computed before the call goes back otherwise than it should."""
    if isinstance(its["gradients"], Raised):
        stays = not isinstance(mine, dict) or not isinstance(mine["gradients"], Raised)
        told = f"A loss that was computed from the old values of {name} goes back, without an error."
        if stays:
            raise wrong(terms.waiting or told, group="waiting goes back")
        if mine["gradients"].text.split(":")[0] != its["gradients"].text.split(":")[0]:
            error = mine["gradients"]
            raise wrong(
                f"{told[:-1]} of torch's: {error.type}: {error.text[:100]}.", group="waiting raises another"
            )
        return
    because = {
        key.removeprefix(_WAITING): text for key, text in terms.because.items() if key.startswith(_WAITING)
    }
    of = f"a loss that was computed from {name} before the call"
    assert_gradients(mine, its, of=of, because=because)


def _stayed(terms: Terms, seen: dict[str, Any], right: dict[str, Any]) -> Iterator[Finding]:
    """What changed and should not have, even by a call that stopped, and whose memory the result lies in."""
    mine, its = changed_parts(seen["kept"]), changed_parts(right["kept"])
    for path_and_part, sentence in mine.items():
        is_free = _is_named(path_and_part, (*terms.free, *terms.may, *terms.moves))
        is_mere = _replaces(path_and_part, its) or _is_rounded(path_and_part, its, seen, right, terms)
        if path_and_part not in its and not is_free and not is_mere:
            yield Finding("wrong", sentence, terms.kept or None, takes_hint=True, group=path_and_part)
    if right["raised"] is None and "memory" in right and terms.owns:
        for place in [place for place in seen.get("memory", ()) if place]:
            if place not in right["memory"]:
                told = f"What came back lies in the memory of {place}: a write to either changes both."
                yield Finding("wrong", told, terms.kept or None, takes_hint=True, group="memory")
        if seen.get("shared") and not right["shared"]:
            told = "Entries of what came back share memory: a write to one of them changes others."
            yield Finding("wrong", told, terms.kept or None, takes_hint=True, group="shared memory")
    if seen["earlier"] is not True and right["earlier"] is True and seen["raised"] is None:
        told = "What an earlier call returned is something else after the next call."
        yield Finding("wrong", told, takes_hint=True, group="earlier result")
    if seen["later"] is not True and right["later"] is True:
        told = "What was given or returned is something else later, when your function is called with others."
        yield Finding("wrong", told, takes_hint=True, group="later")
    if seen["arrives"] is not True and right["arrives"] is True:
        told = "A gradient that goes to the caller's leaves after your call does not arrive as it is."
        yield Finding("wrong", told, takes_hint=True, group="arrives")


def _replaces(path_and_part: str, its: Mapping[str, str]) -> bool:
    """Whether it is a mere trace of a write, at a thing that the reference writes to, too."""
    path, _, part = path_and_part.rpartition(":")
    return part in {"version", "history"} and f"{path}:value" in its


def _is_rounded(
    path_and_part: str,
    its: Mapping[str, str],
    seen: Mapping[str, Any],
    right: Mapping[str, Any],
    terms: Terms,
) -> bool:
    """Whether values moved only as rounding goes, where the reference writes them, and the same as before."""
    path, _, part = path_and_part.rpartition(":")
    if part != "value" or f"{path}:version" not in its:
        return False
    mine, its_own = (_part_of(side["kept"]["after"].get(path), part) for side in (seen, right))
    return is_close(mine, its_own, all_digits=terms.all_digits)


def _is_named(path_and_part: str, rules: Collection[str]) -> bool:
    return any(fnmatchcase(path_and_part, rule) for rule in rules)


_ASPECTS: tuple[_Judge, ...] = (_raised, _stayed, _returned, _went_back)
