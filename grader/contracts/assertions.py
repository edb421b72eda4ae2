"""Assertions about one case of a contract; the reference shows what is right.

Each of them fails with the first difference from the reference. `assert_same_values` and
`assert_same_gradients` ask the reference's error of the answer where the reference raises one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from grader.contracts.cases import NOT_RECORDED, Case, NotApplicable, Observation, Terms, is_named
from grader.contracts.comparison import assert_close, is_close
from grader.contracts.diagnosis import finding_of, with_article
from grader.contracts.finding import FailedCheckError, Finding, wrong
from grader.contracts.gradients import assert_gradients
from grader.contracts.observation import is_gradients
from grader.sandbox.facts import Raised, Tensor
from grader.text import capital

_WAITING = "waiting:"  # before the rung, in an explanation of a gradient of a loss that waited
#: Of what networks do, that of which less is right, too.
_AMOUNTS = {"entered", "graphs", "graphs left"}
#: Of what is held, how many forwards more than the reference do no harm.
_SLACK = {"left": 0.15, "peak": 0.15, "peak+1": 1.0}
#: Of a thing that changes, what only says that it was written to.
_TRACES = {"version", "storage", "history", "identity", "hooks", "attributes"}


def assert_same_values(case: Case, *only: str) -> None:
    """Fail unless the result is right, and all that has to change became the same.

    That includes what the contract's ``use`` returned, and what networks, optimizers and warnings did.

    Args:
        case: the case.
        only: patterns of what is compared: the ``parts`` of the result (or ``"result"``), facts of its use,
            and paths of what changes (``"model*"``). Without any, everything is.
    """
    seen, expected = case.sides
    if case.is_as_expected:
        return
    if only:
        seen, expected = _parts(case.terms, seen, expected, only)
    _require(_returned(case.terms, seen, expected))


def assert_same_raised(case: Case) -> None:
    """Fail unless the call raised an error exactly if the reference did, and the same one."""
    _require(_raised(*case.sides))


def assert_memory(case: Case) -> None:
    """Fail if the call keeps more memory alive than the reference and the contract's limit allow."""
    seen, expected = case.sides
    _require(_too_heavy(case.terms, seen, expected))


def assert_same_gradients(case: Case) -> None:
    """Fail unless losses of the result, and losses computed before the call, bring the right gradients."""
    if not case.is_as_expected:
        _require(_went_back(case.terms, *case.sides))


def assert_no_side_effects(case: Case) -> None:
    """Fail if anything changed that the reference leaves unchanged, also by a call that must raise.

    The result must not share storage with the caller's objects, unless the reference's does, and the result
    of an earlier call must be unchanged.
    """
    seen, expected = case.sides
    if case.is_as_expected:
        return
    if expected.raised is None:
        _require(_raised(seen, expected))
    _require(_stayed(case.terms, seen, expected))


def _require(findings: Iterator[Finding]) -> None:
    for finding in findings:
        raise FailedCheckError(finding)


# --- what is found in one case


def _returned(terms: Terms, seen: Observation, right: Observation) -> Iterator[Finding]:
    """Errors, what came back, what has to change, and what networks did."""
    yield from _raised(seen, right)
    if right.raised is not None:
        return
    notes = terms.notes if right.notes is not None else ()
    if "steps" in notes:  # of which all else follows
        _assert_steps(terms, seen.notes["steps"], right.notes["steps"])
    if right.result is not NOT_RECORDED:
        assert_close(
            *_named_parts(terms.parts, seen.result, right.result),
            terms.result,
            right.instead,
            strict=terms.strict,
            all_digits=terms.all_digits,
        )
    if terms.itself:
        yield from _another_object(seen.objects, right.objects)
    _assert_changes(terms, seen, right)
    if right.used is not NOT_RECORDED:
        _assert_used(terms, seen.used, right.used)
    for name in (each for each in notes if each != "steps"):
        yield from _noted(terms, name, seen.notes, right.notes)


def _parts(
    terms: Terms, seen: Observation, right: Observation, only: Collection[str]
) -> tuple[Observation, Observation]:
    """Both observations with the facts that some patterns name."""

    def some(facts: Mapping[str, Any]) -> dict[str, Any]:
        return {name: fact for name, fact in facts.items() if is_named(name, only)}

    def part(side: Observation, result: Any) -> Observation:
        if are_parts:
            result = some(result)
        elif not terms.parts and not is_named("result", only):
            result = NOT_RECORDED
        used = some(side.used) if type(side.used) is dict else side.used
        kept = {when: some(record) for when, record in side.kept.items()}
        return replace(side, result=result, used=used, kept=kept)

    results = _named_parts(terms.parts, seen.result, right.result)
    are_parts = all(type(result) is dict for result in results)
    return part(seen, results[0]), part(right, results[1])


def _named_parts(names: tuple[str, ...], mine: Any, its: Any) -> tuple[Any, Any]:
    """Both results, their entries by name where they are tuples of as many entries as there are names."""
    if names and all(type(side) is tuple and len(side) == len(names) for side in (mine, its)):
        return dict(zip(names, mine, strict=True)), dict(zip(names, its, strict=True))
    return mine, its


def _another_object(mine: Any, its: list[str]) -> Iterator[Finding]:
    """What came back in the place of an argument itself."""
    for place, name in enumerate(its):
        if name and _entry(mine, place) != name:
            message = f"You returned another object than {name} itself, which is what the caller holds."
            yield Finding("wrong", message, takes_hint=True, group="another object")


def _raised(seen: Observation, right: Observation) -> Iterator[Finding]:
    """What is wrong with the error of a call, or with there being one, or none."""
    mine, its = seen.raised, right.raised
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
        message = f"The caller's {its.type} does not reach the caller: {with_article(mine.type)} does."
        yield Finding("wrong", message, takes_hint=True, group="another error")


def _assert_used(terms: Terms, mine: Any, its: Any) -> None:
    """Fail where using the result showed something else: a fact, or facts by name, but for gradients."""
    if not isinstance(its, dict):
        assert_close(mine, its, _message_about_use(terms, ""), all_digits=terms.all_digits)
        return
    for name, fact in its.items():
        if not is_gradients(fact):
            entry = mine if isinstance(mine, Raised) else _entry(mine, name)
            if isinstance(fact, bool) and isinstance(entry, bool) and entry is not fact:
                raise wrong(_message_about_use(terms, name), group=f"used {name}")
            assert_close(entry, fact, _message_about_use(terms, name), all_digits=terms.all_digits)


def _message_about_use(terms: Terms, name: str) -> str:
    """What is said where a fact of `use` is wrong."""
    message = terms.used.get(name, "") if isinstance(terms.used, Mapping) else terms.used
    return (
        message if message and isinstance(message, str) else f"With the result this comes out wrong: {name}."
    )


def _assert_used_goes_back(terms: Terms, name: str, mine: Any, its: Mapping[str, Any]) -> None:
    """Fail where something that was computed with the result goes back otherwise than it should."""
    if isinstance(its["gradients"], Raised):
        stopped = mine.get("gradients") if is_gradients(mine) else None
        if not isinstance(stopped, Raised):
            raise wrong(_message_about_use(terms, name), group=f"{name} goes back")
        if "RuntimeError" not in stopped.types:
            message = f"{capital(name)} is stopped, but by {with_article(stopped.type)}: {stopped.text[:100]}"
            raise wrong(message, group=f"{name} raises another")
        return
    why = terms.used.get(name) if isinstance(terms.used, Mapping) else None
    why = why if isinstance(why, Mapping) else {"wrong": why} if why else terms.because
    none_is_zero, all_digits = terms.none_is_zero, terms.all_digits
    assert_gradients(mine, its, of=name, because=why, none_is_zero=none_is_zero, all_digits=all_digits)


def _assert_changes(terms: Terms, seen: Observation, right: Observation) -> None:
    """Fail where what has to change stays or becomes something else, or what counts moves and should not."""
    mine, its = seen.changes, right.changes
    for path_and_part, sentence in its.items():
        part = path_and_part.rpartition(":")[2]
        if part not in _TRACES and not is_named(path_and_part, terms.free):
            if path_and_part in mine:
                _assert_becomes(terms, path_and_part, sentence, seen, right)
            else:
                _assert_may_stay(terms, path_and_part)
    for path_and_part, sentence in mine.items():
        if path_and_part not in its and is_named(path_and_part, terms.moves):
            _assert_moved_nowhere(terms, path_and_part, sentence, seen.kept)


def _assert_may_stay(terms: Terms, path_and_part: str) -> None:
    """Fail where a part that the reference changes has to."""
    path, _, part = path_and_part.rpartition(":")
    if not is_named(path_and_part, terms.may):
        message = (
            _message_about(terms, path_and_part) or f"{path} should change, and stays as it is ({part})."
        )
        raise wrong(message, group=f"{path_and_part} stays")


def _assert_becomes(
    terms: Terms, path_and_part: str, sentence: str, seen: Observation, right: Observation
) -> None:
    """Fail where a part that the reference changes became something else than it should."""
    path, _, part = path_and_part.rpartition(":")
    message = _message_about(terms, path_and_part)
    mine, its = (_part_of(side.kept["after"].get(path), part) for side in (seen, right))
    if isinstance(its, Tensor):
        message = message or f"After your call {path}{'.grad' if part == 'grad' else ''} is wrong."
        assert_close(mine, its, message, all_digits=terms.all_digits)
    elif mine != its:
        raise wrong(message or f"After your call {path} is wrong ({part}). {sentence}", group=path_and_part)


def _assert_moved_nowhere(terms: Terms, path_and_part: str, sentence: str, kept: Mapping[str, Any]) -> None:
    """Fail where a part that the reference left did not keep its values, but for rounding."""
    path, _, part = path_and_part.rpartition(":")
    before, after = (_part_of(kept[when].get(path), part) for when in ("before", "after"))
    message = _message_about(terms, path_and_part) or sentence
    if isinstance(before, Tensor):
        assert_close(after, before, message)
    elif before != after:
        raise wrong(message, group=path_and_part)


def _message_about(terms: Terms, path_and_part: str) -> str | None:
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


def _too_heavy(terms: Terms, seen_call: Observation, right_call: Observation) -> Iterator[Finding]:
    """What is held that should not be, in bytes; a forward is the unit."""
    seen, right = seen_call.weighed, right_call.weighed
    if right is None:
        raise NotApplicable("memory is measured in another case")
    if not isinstance(seen, dict):
        yield Finding(
            "form", "How much memory your function keeps alive cannot be measured.", group="weighed"
        )
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
        message = f"The caller's function is called {_times(len(mine))}, where {_times(len(its))} is right."
        yield Finding("wrong", message, takes_hint=True, group="number of calls")
    else:
        assert_close(mine, its, "The caller's function is called with other things than it should be.")


def _assert_steps(terms: Terms, mine: Any, its: list[Any]) -> None:
    """Fail where an optimizer steps with other gradients than it should, or not as often."""
    hint = terms.becomes.get("steps", terms.kept)
    if len(mine) != len(its):
        message = f"The optimizer's steps in this call: {len(mine)}, and not {len(its)}."
        raise wrong(f"{message}\n\n{hint}", group="number of steps")
    for number, (step, right) in enumerate(zip(mine, its, strict=False), start=1):
        when = f"In step {number} of the optimizer" if len(its) > 1 else "When the optimizer steps"
        for name, gradient in right.items():
            seen = _entry(step, name)
            if seen is None and gradient is not None:
                raise wrong(f"{when}, the .grad of {name} is None.\n\n{hint}", group="step without")
            if seen is not None and gradient is None:
                raise wrong(f"{when}, {name} has a .grad, and should have None.\n\n{hint}", group="step with")
            message = f"{when}, the .grad of {name} is wrong.\n\n{hint}"
            assert_close(seen, gradient, message, all_digits=terms.all_digits)


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


def _went_back(terms: Terms, seen: Observation, right: Observation) -> Iterator[Finding]:
    """Gradients of the result, and of losses that waited."""
    yield from _raised(seen, right)
    if terms.history and right.result is not NOT_RECORDED:
        _assert_history(seen.result, right.result, terms)
    if right.gradients is not NOT_RECORDED:
        for entry in [""] if is_gradients(right.gradients) else right.gradients:
            _assert_result_goes_back(terms, entry, seen, right)
    if right.incoming is True and seen.incoming is False:
        message = f"Backward overwrites the gradient that arrives at {terms.of}, which others may need, too."
        yield Finding("wrong", message, takes_hint=True, group="incoming")
    _assert_earlier_goes_back(terms, seen.earlier_gradients, right.earlier_gradients)
    used = right.used if isinstance(right.used, dict) else {}
    for name, its in used.items():
        if is_gradients(its):
            _assert_used_goes_back(terms, name, _entry(seen.used, name), its)
    for name, its in right.waiting.items():
        _assert_waiting(terms, name, _entry(seen.waiting, name), its)


def _assert_result_goes_back(terms: Terms, entry: str, seen: Observation, right: Observation) -> None:
    """Fail where a loss of the result, or of an entry of it, brings other gradients than it should."""
    mine, its = seen.gradients, right.gradients
    if entry:
        mine, its = _entry(mine, entry), its[entry]
    if f"{entry}:history" in terms.may and _has_no_history(mine):
        return
    values_are_right = is_close(seen.result, right.result)
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
        if is_inference and not is_named("result:inference", terms.free):
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
        message = f"A loss that was computed from the old values of {name} goes back, without an error."
        if stays:
            raise wrong(terms.waiting or message, group="waiting goes back")
        if mine["gradients"].text.split(":")[0] != its["gradients"].text.split(":")[0]:
            error = mine["gradients"]
            raise wrong(
                f"{message[:-1]} of torch's: {error.type}: {error.text[:100]}.",
                group="waiting raises another",
            )
        return
    because = {
        key.removeprefix(_WAITING): text for key, text in terms.because.items() if key.startswith(_WAITING)
    }
    of = f"a loss that was computed from {name} before the call"
    assert_gradients(mine, its, of=of, because=because)


def _stayed(terms: Terms, seen: Observation, right: Observation) -> Iterator[Finding]:
    """What changed and should not have, even by a call that stopped, and whose memory the result lies in."""
    mine, its = seen.changes, right.changes
    for path_and_part, sentence in mine.items():
        is_free = is_named(path_and_part, (*terms.free, *terms.may, *terms.moves))
        is_mere = _replaces(path_and_part, its) or _is_rounded(path_and_part, its, seen, right, terms)
        if path_and_part not in its and not is_free and not is_mere:
            yield Finding("wrong", sentence, terms.kept or None, takes_hint=True, group=path_and_part)
    if right.raised is None and right.result is not NOT_RECORDED and terms.owns:
        for place in [place for place in seen.memory if place]:
            if place not in right.memory:
                message = f"What came back lies in the memory of {place}: a write to either changes both."
                yield Finding("wrong", message, terms.kept or None, takes_hint=True, group="memory")
        if seen.shared and not right.shared:
            message = "Entries of what came back share memory: a write to one of them changes others."
            yield Finding("wrong", message, terms.kept or None, takes_hint=True, group="shared memory")
    if seen.earlier is not True and right.earlier is True and seen.raised is None:
        message = "What an earlier call returned is something else after the next call."
        yield Finding("wrong", message, takes_hint=True, group="earlier result")
    if seen.later is not True and right.later is True:
        message = (
            "What was given or returned is something else later, when your function is called with others."
        )
        yield Finding("wrong", message, takes_hint=True, group="later")
    if seen.arrives is not True and right.arrives is True:
        message = "A gradient that goes to the caller's leaves after your call does not arrive as it is."
        yield Finding("wrong", message, takes_hint=True, group="arrives")


def _replaces(path_and_part: str, its: Mapping[str, str]) -> bool:
    """Whether it is a mere trace of a write, at a thing that the reference writes to, too."""
    path, _, part = path_and_part.rpartition(":")
    return part in {"version", "history"} and f"{path}:value" in its


def _is_rounded(
    path_and_part: str,
    its: Mapping[str, str],
    seen: Observation,
    right: Observation,
    terms: Terms,
) -> bool:
    """Whether values moved only as rounding goes, where the reference writes them, and the same as before."""
    path, _, part = path_and_part.rpartition(":")
    if part != "value" or f"{path}:version" not in its:
        return False
    mine, its_own = (_part_of(side.kept["after"].get(path), part) for side in (seen, right))
    return is_close(mine, its_own, all_digits=terms.all_digits)
