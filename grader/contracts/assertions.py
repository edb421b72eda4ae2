"""Assertions about one case of a contract; the reference defines the right outcome.

Each assertion fails with the first difference from the reference. A check passes its messages as arguments;
without one, students read a general sentence. `assert_same_values` and `assert_same_gradients` also fail if
the call does not raise the error that the reference raises.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from grader.contracts.cases import NOT_RECORDED, Case, NotApplicable, Observation, Rules, is_named
from grader.contracts.comparison import assert_close, is_close
from grader.contracts.diagnosis import UNCONFIRMED, beginning, finding_of, with_article
from grader.contracts.finding import FailedCheckError, Finding, Kind, diagnosis_and_hint, wrong
from grader.contracts.gradients import Explanation, assert_gradients
from grader.contracts.observation import is_gradients
from grader.contracts.side_effects import hint_of, may_explain_others
from grader.sandbox.values import Raised, Tensor
from grader.text import capital, code, counted

_NO_TEXTS: Mapping[str, Any] = {}
#: Recorded counts that may be smaller than the reference's.
#: The record that `assert_no_side_effects` judges.
_RANDOM_NUMBERS = "random numbers"
_AMOUNTS = {"entered", "graphs", "graphs left"}
#: The memory of so many forwards more than the reference's is accepted.
_SLACK = {"left": 0.15, "peak": 0.15, "peak+1": 1.0}
#: Bytes of the largest of Python's small objects, as which each counts where there are many more than the
#: reference's: a DataLoader or a checkpoint has some hundred.
_LARGEST_OBJECT, _FEW_OBJECTS = 512, 1000
#: Parts of an object that only show that it was written to.
_TRACES = {"version", "storage", "history", "cut", "is_leaf", "identity", "hooks", "attributes"}


@dataclass(frozen=True)
class _Messages:
    """The messages of a check about wrong values; see `assert_same_values`."""

    result: str
    changes: Mapping[str, str]
    then: str | Mapping[str, str]
    recorded: Mapping[str, str]

    def of_change(self, path_and_part: str) -> str | None:
        """The message about a part of the caller's objects, if the check has one."""
        return next((text for rule, text in self.changes.items() if fnmatchcase(path_and_part, rule)), None)

    def rank_of_change(self, path_and_part: str) -> int:
        """The number of the message about a part; behind all others if it has none."""
        fits = (n for n, rule in enumerate(self.changes) if fnmatchcase(path_and_part, rule))
        return next(fits, len(self.changes))

    def of_use(self, name: str) -> str:
        """The message about an observation of the result's use."""
        message = self.then.get(name, "") if isinstance(self.then, Mapping) else self.then
        return message or f"Using the result gives a wrong value: {name}."


def assert_same_values(  # noqa: PLR0913 - a message for each kind of value
    case: Case,
    result: str = "The result is wrong.",
    *,
    only: Collection[str] = (),
    changes: Mapping[str, str] = _NO_TEXTS,
    then: str | Mapping[str, str] = "",
    recorded: Mapping[str, str] = _NO_TEXTS,
    exact_types: bool = False,
) -> None:
    """Fail unless the result, and everything that must change, equals the reference's.

    This includes the observations of `Call.then`, and what networks, optimizers and warnings did.

    Args:
        case: the case.
        result: the message about a wrong result. As in all messages, a hint may follow after a blank line.
        only: patterns of what to compare: `Rules.entries` of the result (or ``"result"``), observations of
            its use, and paths of changed objects (``"model*"``). By default, everything is compared.
        changes: messages about wrong changes of the caller's objects, by pattern of ``path:part``.
        then: the message about the result's use, or messages by name if its observations have names.
        recorded: messages by the names of `Call.record`; for ``steps``, only the hint.
        exact_types: distinguish lists from tuples, and refuse unexpected keys of a dict.

    Raises:
        FailedCheckError: something differs.
    """
    seen, expected = case.sides
    if case.is_as_expected:
        return
    if only:
        seen, expected = _parts(case.rules, seen, expected, only)
    messages = _Messages(result, changes, then, recorded)
    with _modes_first(case):
        _require(_returned(case, messages, seen, expected, exact_types=exact_types))


def assert_same_object(case: Case, message: str = "") -> None:
    """Fail unless the call returned the same argument object as the reference, or a tuple of such objects.

    Args:
        case: the case.
        message: replaces "You returned a new object instead of w itself ...".
    """
    seen, expected = case.sides
    if expected.raised is not None or expected.result is NOT_RECORDED:
        raise NotApplicable("no result is recorded in this case")
    for place, name in enumerate(expected.objects):
        if name and _entry(seen.objects, place) != name:
            general = f"You returned a new object instead of {code(name)} itself, which the caller holds."
            raise wrong(message or general, group="another object")


def assert_same_raised(case: Case) -> None:
    """Fail unless the call raised the same error as the reference, or none."""
    _require(_raised(*case.sides))


def assert_memory(case: Case, *, left: str = "", peak: str = "", graphs: str = "") -> None:
    """Fail if the call keeps more memory alive than the reference and the contract's limit allow.

    Args:
        case: the case.
        left: replaces the message about memory that is held after the call, which gives both numbers.
        peak: replaces the message about memory that is held while the networks compute.
        graphs: replaces the message about graphs of earlier calls that are alive when a network is called.
    """
    seen, expected = case.sides
    _require(
        _too_heavy(case.record, {"left": left, "half": left, "peak": peak, "graphs": graphs}, seen, expected)
    )


def assert_same_gradients(  # noqa: PLR0913 - a message for each of the losses
    case: Case,
    of: str = "the result",
    *,
    because: Mapping[str, Explanation] = _NO_TEXTS,
    then: Mapping[str, str | Mapping[str, Explanation]] = _NO_TEXTS,
    pending: str | Mapping[str, Explanation] = "",
    none_is_zero: bool = True,
    flags: bool = False,
) -> None:
    """Fail unless losses of the result, and losses computed before the call, give the right gradients.

    Args:
        case: the case.
        of: the value that the loss is computed from, such as "the total".
        because: explanations of wrong gradients, as `assert_gradients` takes them.
        then: explanations, or the message about a missing error, for gradients that `Call.then` returned, by
            name. `because` applies to names without one.
        pending: about a loss that was computed before the call: the message if its backward must raise an
            error and does not, or explanations of its wrong gradients.
        none_is_zero: no gradient is as good as a gradient of zeros, and the other way round.
        flags: tensors of the result must also have the reference's `requires_grad`, and must not be
            inference tensors, unless ``result:inference`` is ignored.

    Raises:
        FailedCheckError: something differs.
    """
    if not case.is_as_expected:
        wanted = _Gradients(of, because, then, pending, none_is_zero, flags)
        with _modes_first(case):
            _require(_gradients_differ(case.rules, wanted, *case.sides))


def assert_no_side_effects(case: Case, hint: str = "", *, may_share_storage: bool = False) -> None:
    """Fail if anything changed that the reference leaves unchanged, even if the call must raise an error.

    The result of an earlier call must be unchanged, too.

    Args:
        case: the case.
        hint: shown for every change, except of flags and modes, and unless the message says everything.
        may_share_storage: the result may share storage with the caller's objects, and its tensors with each
            other. Otherwise they must not, unless the reference's do.

    Raises:
        FailedCheckError: something changed.
    """
    seen, expected = case.sides
    if case.is_as_expected:
        return
    if expected.raised is None:
        _require(_raised(seen, expected))
    if _RANDOM_NUMBERS in case.record and seen.recorded and expected.recorded:
        _require(_recorded(_NO_TEXTS, _RANDOM_NUMBERS, seen.recorded, expected.recorded))
    _require(_changed(case.rules, hint or None, seen, expected, may_share_storage=may_share_storage))


@contextmanager
def _modes_first(case: Case) -> Iterator[None]:
    """Fail with the changed mode where values are wrong and a network was called in another mode."""
    try:
        yield
    except FailedCheckError:
        seen, expected = case.sides
        switched = seen.switched if isinstance(seen.switched, list) else ()
        name = next(
            (n for n in case.declared.arguments if n in switched and n not in expected.switched), None
        )
        if name is None or seen.raised is not None:
            raise
        message = (
            f"Your function changes the mode (`train()` or `eval()`) of {code(name)}, or of one of its "
            f"submodules, before it calls {code(name)}."
        )
        hint = "Run every module in its current mode."
        raise FailedCheckError(Finding("wrong", message, hint, group=f"mode of {name}")) from None


def _require(findings: Iterator[Finding]) -> None:
    for finding in findings:
        raise FailedCheckError(finding)


# --- values


def _returned(
    case: Case, messages: _Messages, seen: Observation, expected: Observation, *, exact_types: bool
) -> Iterator[Finding]:
    """Errors, the result, required changes, and events of networks."""
    yield from _raised(seen, expected)
    if expected.raised is not None:
        return
    rules, record = case.rules, case.record if expected.recorded is not None else ()
    if "steps" in record:  # the steps determine everything else
        _assert_steps(rules, messages, seen.recorded["steps"], expected.recorded["steps"])
    if expected.result is not NOT_RECORDED:
        assert_close(
            *_named_entries(rules.entries, seen.result, expected.result),
            messages.result,
            expected.mistakes,
            strict=exact_types,
            full_precision=rules.full_precision,
        )
    _assert_changes(rules, messages, seen, expected)
    if expected.then is not NOT_RECORDED:
        _assert_then(rules, messages, seen.then, expected.then)
    for name in (each for each in record if each not in {"steps", _RANDOM_NUMBERS}):
        yield from _recorded(messages.recorded, name, seen.recorded, expected.recorded)


def _parts(
    rules: Rules, seen: Observation, expected: Observation, only: Collection[str]
) -> tuple[Observation, Observation]:
    """Both observations, reduced to the parts that some patterns name."""

    def some(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if is_named(name, only)}

    def part(side: Observation, result: Any) -> Observation:
        if are_entries:
            result = some(result)
        elif not rules.entries and not is_named("result", only):
            result = NOT_RECORDED
        then = some(side.then) if type(side.then) is dict else side.then
        side_effects = {when: some(record) for when, record in side.side_effects.items()}
        return replace(side, result=result, then=then, side_effects=side_effects)

    results = _named_entries(rules.entries, seen.result, expected.result)
    are_entries = all(type(result) is dict for result in results)
    return part(seen, results[0]), part(expected, results[1])


def _named_entries(names: Sequence[str], seen: Any, expected: Any) -> tuple[Any, Any]:
    """Both results, as dicts if they are tuples with one entry for each name."""
    if names and all(type(side) is tuple and len(side) == len(names) for side in (seen, expected)):
        return dict(zip(names, seen, strict=True)), dict(zip(names, expected, strict=True))
    return seen, expected


def _raised(seen: Observation, expected: Observation) -> Iterator[Finding]:
    """A wrong, missing or unexpected error of a call."""
    error, right = seen.raised, expected.raised
    if isinstance(error, Raised) and right is None:
        yield finding_of(error, "unobserved")
    elif isinstance(right, Raised) and not isinstance(error, Raised):
        message = f"Your function swallows the caller's {right.type}, which must reach the caller."
        yield Finding("wrong", message, group="error swallowed")
    elif (
        isinstance(right, Raised)
        and isinstance(error, Raised)
        and (error.types, error.text) != (right.types, right.text)
    ):
        message = f"Your function raises {with_article(error.type)} instead of the caller's {right.type}."
        yield Finding("wrong", message, group="another error")


def _assert_then(rules: Rules, messages: _Messages, seen: Any, expected: Any) -> None:
    """Fail if the observations of the result's use differ, except for gradients."""
    if not isinstance(expected, dict):
        assert_close(seen, expected, messages.of_use(""), full_precision=rules.full_precision)
        return
    if isinstance(seen, Raised):  # the messages are about entries, of which there are none
        raise FailedCheckError(finding_of(seen, "raised", group="then"))
    for name, right in expected.items():
        if not is_gradients(right):
            entry = _entry(seen, name)
            if isinstance(right, bool) and isinstance(entry, bool) and entry is not right:
                raise wrong(messages.of_use(name), group=f"then {name}")
            assert_close(entry, right, messages.of_use(name), full_precision=rules.full_precision)


def _assert_changes(rules: Rules, messages: _Messages, seen: Observation, expected: Observation) -> None:
    """Fail if a part that must change is unchanged or wrong, or if a count changed that must not.

    Changes that the check has a message for come first, in the order of these messages.
    """
    for path_and_part, sentence in sorted(
        expected.changes.items(), key=lambda change: messages.rank_of_change(change[0])
    ):
        part = path_and_part.rpartition(":")[2]
        if part not in _TRACES and not is_named(path_and_part, rules.ignore):
            if path_and_part in seen.changes:
                _assert_becomes(rules, messages, path_and_part, sentence, seen, expected)
            else:
                _assert_may_stay(rules, messages, path_and_part)
    for path_and_part, sentence in seen.changes.items():
        if path_and_part not in expected.changes and is_named(path_and_part, rules.updates):
            _assert_unchanged(messages, path_and_part, sentence, seen.side_effects)


def _assert_may_stay(rules: Rules, messages: _Messages, path_and_part: str) -> None:
    """Fail if a part is unchanged that the reference changes, unless the change is optional."""
    path, _, part = path_and_part.rpartition(":")
    if not is_named(path_and_part, rules.optional):
        text = messages.of_change(path_and_part)
        if not text:
            message = f"Your call must change {code(path)}, but its {part} is unchanged."
            raise wrong(message, group=f"{path_and_part} stays")
        diagnosis, hint = diagnosis_and_hint(text)
        place = code(f"{path}.grad" if part == "grad" else path)
        unchanged = f"{diagnosis.rstrip('.')} ({place} is unchanged)."
        group = f"{path_and_part} stays"
        raise FailedCheckError(
            Finding("wrong", unchanged, hint, takes_hint=True, group=group, of_values=True)
        )


def _assert_becomes(  # noqa: PLR0913, PLR0917 - what is compared, and what is said of it
    rules: Rules,
    messages: _Messages,
    path_and_part: str,
    sentence: str,
    seen: Observation,
    expected: Observation,
) -> None:
    """Fail if a part that the reference changes has a wrong value."""
    path, _, part = path_and_part.rpartition(":")
    message = messages.of_change(path_and_part)
    value, right = (_part_of(side.side_effects["after"].get(path), part) for side in (seen, expected))
    if isinstance(right, Tensor) and right.value is None and expected.memory is not None:
        return  # large tensors are compared in the cases with small ones
    if isinstance(right, Tensor):
        named = f"{path}.grad" if part == "grad" else path
        message = message or f"After your call, {code(named)} is wrong."
        place = "" if named in message else named
        assert_close(value, right, message, place=place, full_precision=rules.full_precision)
    elif value != right:
        raise wrong(
            message or f"After your call, the {part} of {code(path)} is wrong. {sentence}",
            group=path_and_part,
        )


def _assert_unchanged(
    messages: _Messages, path_and_part: str, sentence: str, side_effects: Mapping[str, Any]
) -> None:
    """Fail if the values of a part changed, beyond rounding, that the reference leaves unchanged."""
    path, _, part = path_and_part.rpartition(":")
    before, after = (_part_of(side_effects[when].get(path), part) for when in ("before", "after"))
    message = messages.of_change(path_and_part) or sentence
    if isinstance(before, Tensor):
        assert_close(after, before, message)
    elif before != after:
        raise wrong(message, group=path_and_part)


def _part_of(entry: Mapping[str, Any] | None, part: str) -> Any:
    """A part of the record that ``SideEffects`` made of an object."""
    if entry is None:
        return None
    if entry.get("kind") == "tensor":
        tensor = entry["tensor"]
        is_grad = part in {"grad", "frozen grad"}
        return tensor if part == "value" else tensor.grad if is_grad else getattr(tensor, part, None)
    return entry.get(part)


# --- what networks and optimizers did


def _recorded(
    messages: Mapping[str, str], name: str, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> Iterator[Finding]:
    """Wrong counts of events of all networks, or of one of them (``model.calls``)."""
    whose, _, amount = name.rpartition(".")
    counted, _, more = amount.partition("+")
    for event in ("calls", "copies") if counted == "calls" else (counted,):
        count: Any = seen.get(event)
        right: Any = expected.get(event)
        if whose and event != "copies":
            count, right = _entry(count, whose), _entry(right, whose)
        if event == "given":
            yield from _given(count, right)
        elif count != right and not (
            event in _AMOUNTS and isinstance(count, int) and count <= right + int(more or 0)
        ):
            yield _finding_of_count(messages, event, count, right)


def _too_heavy(
    record: Sequence[str], messages: Mapping[str, str], seen_call: Observation, expected_call: Observation
) -> Iterator[Finding]:
    """Memory that is held and should not be, in bytes, with a tolerance in units of one forward."""
    seen, expected = seen_call.memory, expected_call.memory
    if expected is None:
        raise NotApplicable("memory is measured in another case")
    if not isinstance(seen, dict):
        message = "How much memory your function keeps alive cannot be measured."
        yield Finding("form", message, group="memory")
        return
    for name in record:
        amount = "left" if name == "half" else name.partition("+")[0]
        if amount not in {"left", "peak"}:
            continue
        objects = f"objects {amount}"
        held = seen[amount] + _LARGEST_OBJECT * max(0, seen[objects] - expected[objects] - _FEW_OBJECTS)
        if name == "half" and 2 * held >= expected["plain"]:
            yield _finding_of_count(messages, name, held // 1000, expected["plain"] // 2000)
        elif name in _SLACK and held > expected[amount] + _SLACK[name] * expected["forward"]:
            yield _finding_of_count(messages, amount, held // 1000, expected[amount] // 1000)
        elif name == "left" and seen["outputs left"] > expected["outputs left"]:
            yield _finding_of_count({}, "outputs left", seen["outputs left"], expected["outputs left"])


def _given(seen: Any, expected: list[Any]) -> Iterator[Finding]:
    """Wrong arguments, or a wrong number of calls, of a function of the caller's."""
    if len(seen) != len(expected):
        right = _times(len(expected))
        message = f"Your function calls the caller's function {_times(len(seen))} instead of {right}."
        yield Finding("wrong", message, takes_hint=True, group="number of calls")
    else:
        assert_close(seen, expected, "Your function calls the caller's function with wrong arguments.")


def _assert_steps(rules: Rules, messages: _Messages, seen: Any, expected: list[Any]) -> None:
    """Fail if an optimizer made a step with wrong gradients, or a wrong number of steps."""
    hint = messages.recorded.get("steps", "")
    if len(seen) != len(expected):
        message = f"Your call makes {counted(len(seen), 'optimizer step')} instead of {len(expected)}."
        raise wrong(f"{message}\n\n{hint}", group="number of steps")
    for number, (step, right) in enumerate(zip(seen, expected, strict=False), start=1):
        when = f"At optimizer step {number}" if len(expected) > 1 else "At the optimizer step"
        for name, gradient in right.items():
            grad = _entry(step, name)
            if grad is None and gradient is not None:
                raise wrong(f"{when}, {code(f'{name}.grad')} is None.\n\n{hint}", group="step without")
            if grad is not None and gradient is None:
                message = f"{when}, {code(f'{name}.grad')} is a tensor, but must be None.\n\n{hint}"
                raise wrong(message, group="step with")
            message = f"{when}, {code(f'{name}.grad')} is wrong.\n\n{hint}"
            assert_close(grad, gradient, message, full_precision=rules.full_precision)


def _finding_of_count(messages: Mapping[str, str], name: str, count: Any, right: Any) -> Finding:
    if messages.get(name):
        return wrong(messages[name], group=f"record {name}").finding
    sentences = {
        "calls": f"Your function calls the network {_times(count)} instead of {_times(right)}.",
        "copies": "Your function calls a copy of the network instead of the network itself.",
        "recorded": "Autograd records operations during your call.",
        _RANDOM_NUMBERS: "Your function draws from torch's global random generator or seeds it, which "
        "changes all later random numbers of the program.",
        "left": f"After your call, {count} kB are still in memory; {right} kB are enough.",
        "peak": f"While the network computes, {count} kB are in memory; {right} kB are enough.",
        "outputs left": "After your call, a tensor that the network returned is still in memory.",
        "half": f"After your call, {count} kB are still in memory. The task allows less than half of what "
        f"the plain loop keeps: less than {right} kB.",
        "entered": f"Your function passes {count} rows to the network at once; {right} are enough.",
        "graphs": f"When your function calls the network, the graphs of {count} earlier calls are in memory.",
        "graphs left": f"After your call, the graphs of {count} calls to the network are still in memory.",
    }
    takes_hint = name != _RANDOM_NUMBERS  # the hint of such a check is about the caller's objects
    sentence = sentences.get(name, f"{name}: {count}")
    return Finding("wrong", sentence, takes_hint=takes_hint, group=f"record {name}")


def _times(counts: Any) -> str:
    """A number of calls such as ``once`` or ``3 times``: the largest one of several networks."""
    number = max(counts.values(), default=0) if isinstance(counts, Mapping) else counts
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


# --- gradients


@dataclass(frozen=True)
class _Gradients:
    """The requirements of a check on gradients; see `assert_same_gradients`."""

    of: str
    because: Mapping[str, Explanation]
    then: Mapping[str, str | Mapping[str, Explanation]]
    pending: str | Mapping[str, Explanation]
    none_is_zero: bool
    flags: bool


def _gradients_differ(
    rules: Rules, wanted: _Gradients, seen: Observation, expected: Observation
) -> Iterator[Finding]:
    """Gradients of the result, of its use, and of losses that were computed before the call."""
    yield from _raised(seen, expected)
    if wanted.flags and expected.result is not NOT_RECORDED:
        _assert_flags(seen.result, expected.result, rules, wanted.of)
    if expected.gradients is not NOT_RECORDED:
        for entry in [""] if is_gradients(expected.gradients) else expected.gradients:
            _assert_gradients_of_result(rules, wanted, entry, seen, expected)
    if expected.incoming is True and seen.incoming is False:
        message = f"Backward overwrites the incoming gradient of {wanted.of}, which other code may need."
        yield Finding("wrong", message, takes_hint=True, group="incoming")
    _assert_earlier_gradients(rules, wanted, seen.earlier_gradients, expected.earlier_gradients)
    of_then = expected.then if isinstance(expected.then, dict) else {}
    for name, right in of_then.items():
        if is_gradients(right):
            _assert_gradients_of_use(rules, wanted, name, _entry(seen.then, name), right)
    for name, right in expected.pending.items():
        _assert_pending(wanted, name, _entry(seen.pending, name), right)


def _assert_gradients_of_result(
    rules: Rules, wanted: _Gradients, entry: str, seen: Observation, expected: Observation
) -> None:
    """Fail if a loss of the result, or of one of its entries, gives wrong gradients."""
    gradients, right = seen.gradients, expected.gradients
    if entry:
        gradients, right = _entry(gradients, entry), right[entry]
    if f"{entry}:history" in rules.optional and _is_not_connected(gradients):
        return
    assert_gradients(
        gradients,
        right,
        of=wanted.of,
        because=wanted.because if is_close(seen.result, expected.result) else {},
        none_is_zero=wanted.none_is_zero,
        full_precision=rules.full_precision,
    )


def _assert_earlier_gradients(rules: Rules, wanted: _Gradients, seen: Any, expected: Any) -> None:
    """Fail if the result of an earlier call with other arguments gives wrong gradients."""
    if not is_gradients(expected) or isinstance(expected["gradients"], Raised):
        return
    assert_gradients(
        seen,
        expected,
        of="the result of an earlier call (after a later call)",
        none_is_zero=wanted.none_is_zero,
        full_precision=rules.full_precision,
    )


def _assert_gradients_of_use(
    rules: Rules, wanted: _Gradients, name: str, seen: Any, expected: Mapping[str, Any]
) -> None:
    """Fail if something that was computed with the result gives wrong gradients."""
    why = wanted.then.get(name, "")
    if isinstance(expected["gradients"], Raised):
        error = seen.get("gradients") if is_gradients(seen) else None
        if not isinstance(error, Raised):
            message = (
                why if why and isinstance(why, str) else f"Using the result gives a wrong value: {name}."
            )
            raise wrong(message, group=f"{name} goes back")
        if "RuntimeError" not in error.types:
            raised = f"{with_article(error.type)} instead of a RuntimeError."
            if error.type == UNCONFIRMED:
                raised = (
                    "an error, but not autograd's error about a modified saved tensor. Autograd checks "
                    "`_version` only for tensors that it saved itself."
                )
            message = f"`backward()` on {code(name)} raises {raised}"
            raise wrong(message, group=f"{name} raises another")
        return
    assert_gradients(
        seen,
        expected,
        of=name,
        because=why if isinstance(why, Mapping) else {"wrong": why} if why else wanted.because,
        none_is_zero=wanted.none_is_zero,
        full_precision=rules.full_precision,
    )


def _is_not_connected(gradients: Any) -> bool:
    """Whether an entry of the result is a tensor that is not connected to a graph."""
    output = gradients.get("output") if isinstance(gradients, dict) else None
    return isinstance(output, Tensor) and not output.requires_grad


def _assert_flags(seen: Any, expected: Any, rules: Rules, of: str) -> None:
    """Fail if a tensor of the result has a wrong `requires_grad`, or is an inference tensor."""
    if isinstance(expected, list | tuple | dict):
        keys: Any = expected if isinstance(expected, dict) else range(len(expected))
        for key in keys:
            _assert_flags(_entry(seen, key), expected[key], rules, of)
    elif isinstance(expected, Tensor) and isinstance(seen, Tensor):
        if seen.requires_grad and not expected.requires_grad:
            raise wrong(f"{capital(of)} requires grad, but must not.", group="history")
        if expected.requires_grad and not seen.requires_grad:
            message = f"{capital(of)} does not require grad, so you cannot backpropagate from it."
            raise wrong(message, group="no history")
        is_inference = seen.version is None and expected.version is not None
        if is_inference and not is_named("result:inference", rules.ignore):
            message = f"{capital(of)} is an inference tensor, which autograd cannot save for `backward()`."
            raise wrong(message, group="inference")


def _entry(thing: Any, key: Any) -> Any:
    """An entry, or None if there is none."""
    try:
        return thing[key]
    except (KeyError, IndexError, TypeError):
        return None


def _assert_pending(wanted: _Gradients, name: str, seen: Any, expected: Any) -> None:
    """Fail if the backward of a loss that was computed before the call goes wrong."""
    if isinstance(expected["gradients"], Raised):
        error = seen["gradients"] if isinstance(seen, dict) else None
        of_loss = f"`backward()` on a loss that was computed from the old values of {code(name)}"
        if not isinstance(error, Raised):
            message = wanted.pending if isinstance(wanted.pending, str) else ""
            raise wrong(message or f"{of_loss} raised no error.", group="pending goes back")
        if error.text.split(":")[0] != expected["gradients"].text.split(":")[0]:
            kind = "" if error.type == UNCONFIRMED else error.type
            said = ": ".join(filter(None, (kind, beginning(error.text))))
            message = f"{of_loss} raised a different error than torch does: {said}."
            raise wrong(message, group="pending raises another")
        return
    because = wanted.pending if isinstance(wanted.pending, Mapping) else {}
    of = f"a loss that was computed from {code(name)} before the call"
    assert_gradients(seen, expected, of=of, because=because)


# --- side effects


def _changed(
    rules: Rules, hint: str | None, seen: Observation, expected: Observation, *, may_share_storage: bool
) -> Iterator[Finding]:
    """Forbidden changes, even by a call that raised an error, and storage that the result must not share."""
    for path_and_part, sentence in seen.changes.items():
        is_ignored = is_named(path_and_part, (*rules.ignore, *rules.optional, *rules.updates))
        is_mere = _replaces(path_and_part, expected.changes) or _is_rounded(
            path_and_part, seen, expected, rules
        )
        if path_and_part not in expected.changes and not is_ignored and not is_mere:
            helps, takes_hint = hint_of(path_and_part, hint)
            kind: Kind = "side effect" if may_explain_others(path_and_part) else "wrong"
            yield Finding(kind, sentence, helps, takes_hint=takes_hint, group=path_and_part)
    if seen.earlier_result is not True and expected.earlier_result is True and seen.raised is None:
        message = "A later call changes the result of an earlier call."
        yield Finding("wrong", message, takes_hint=True, group="earlier result")
    if expected.raised is None and expected.result is not NOT_RECORDED and not may_share_storage:
        for place in [place for place in seen.storage if place]:
            if place not in expected.storage:
                message = f"The result shares storage with {code(place)}, but must have its own storage."
                yield Finding("wrong", message, hint, takes_hint=True, group="storage")
        if seen.shared and not expected.shared:
            message = "Tensors or elements of the result share memory, so a write to one changes another."
            yield Finding("wrong", message, hint, takes_hint=True, group="shared memory")
    if seen.later_result is not True and expected.later_result is True:
        message = "A later call with other arguments changes the arguments or the result of an earlier call."
        yield Finding("wrong", message, takes_hint=True, group="later result")
    if seen.arrives is not True and expected.arrives is True:
        message = (
            "After your call, the caller's leaves get wrong gradients. Check whether one of your hooks is "
            "still registered."
        )
        yield Finding("wrong", message, takes_hint=True, group="arrives")


def _replaces(path_and_part: str, expected: Mapping[str, str]) -> bool:
    """Whether a change is only the trace of a write to an object that the reference writes to, too."""
    path, _, part = path_and_part.rpartition(":")
    return part in {"version", "history"} and f"{path}:value" in expected


def _is_rounded(path_and_part: str, seen: Observation, expected: Observation, rules: Rules) -> bool:
    """Whether values changed only by rounding, if the reference writes back the same values."""
    path, _, part = path_and_part.rpartition(":")
    if part != "value" or f"{path}:version" not in expected.changes:
        return False
    value, right = (_part_of(side.side_effects["after"].get(path), part) for side in (seen, expected))
    return is_close(value, right, full_precision=rules.full_precision)
