"""One case of a contract: the observations of a student's function and of the reference.

A check is a pytest function of one case. Its fixture has the contract's name, and pytest runs the check in
every case: the typical case first, then each variation alone, then cases of several variations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from _pytest.outcomes import Skipped

from grader.contracts.check import describe, entries
from grader.contracts.diagnosis import finding_of
from grader.contracts.finding import FailedCheckError, Finding, wrong
from grader.contracts.observation import finding_without_observation, other_form
from grader.contracts.side_effects import changed_parts
from grader.errors import CourseError
from grader.sandbox.evidence import Failure, NotObserved, RequestOutcome, RequestRaised, not_observed
from grader.sandbox.values import Raised, Tensor, is_cut_off
from grader.text import capital, code, series

#: The factor of the cases in which memory is measured, besides the result and side effects.
MEMORY = "call.memory"
TYPICAL = "typical"
_RESULT = "the result"
_FEW = 2  # arguments whose phrases are joined by "and" alone


class NotApplicable(Skipped):
    """The reference shows that a check says nothing about this case, such as about gradients under no_grad().

    pytest shows it as a skip.
    """


class _NotRecorded:
    """Stands for a field that the worker does not record in a case."""

    def __repr__(self) -> str:
        return "not recorded"


NOT_RECORDED = _NotRecorded()


@dataclass(frozen=True)
class DeclaredCase:
    """A case as a contract declares it: its variations by factor, a phrase for each, and all arguments."""

    variations: Mapping[str, str]
    phrases: Mapping[str, str]
    may_raise: bool = False
    dtype: str = ""
    arguments: tuple[str, ...] = ()

    def sentence(self, factors: Collection[str] | None = None) -> str:
        """As in "Where `h` is transposed and `w` is a leaf, under `no_grad()`"; of some factors only."""
        of_things: dict[str, list[str]] = {}
        when = []
        for factor in self.variations:
            if factors is None or factor in factors:
                if factor.startswith(("call.", "all.")):
                    when.append(self.phrases[factor])
                else:
                    of_things.setdefault(factor.partition(".")[0], []).append(self.phrases[factor])
        where = [f"{code(thing)} {series(phrases)}" for thing, phrases in of_things.items()]
        is_long = len(where) > _FEW or (len(where) > 1 and max(map(len, of_things.values())) > 1)
        joined = ", and ".join([", ".join(where[:-1]), where[-1]]) if is_long else series(where)
        parts = [f"where {joined}" if where else "", *when]
        return capital(", ".join(filter(None, parts)))

    @property
    def name(self) -> str:
        """The name of the case in results, and pytest's id of it."""
        text = self.sentence().replace("`", "")
        return (
            text.removeprefix("Where ")
            if text.startswith("Where ")
            else f"{text[:1].lower()}{text[1:]}" or TYPICAL
        )

    @property
    def is_typical(self) -> bool:
        """Whether no input varies; to measure memory is no variation."""
        return self.variations.keys() <= {MEMORY}

    def is_about(self, patterns: Collection[str]) -> bool:
        """Whether only factors vary that fit one of the patterns, or none."""
        return self.is_typical or all(is_named(factor, patterns) for factor in self.variations)


@dataclass(frozen=True)
class Rules:
    """The parts that answers may choose freely, and the required precision.

    Attributes:
        ignore: patterns of ``path:part`` that are up to the answer, such as ``"p:grad"`` or
            ``"model.*:version"``; ``result:inference`` where the result may be an inference tensor.
        optional: those that may stay unchanged, or become what they are after the reference's call;
            ``entry 0:history`` where an entry of the result need not be connected to a graph.
        updates: those that the function exists to change. Their changes count as values, also where the
            reference leaves them unchanged.
        full_precision: values of float64, and Python's numbers, must agree to 1e-12 of each element, or
            within the measured sensitivity to rounding.
        entries: names of the entries of a result that is a tuple.
    """

    ignore: Sequence[str] = ()
    optional: Sequence[str] = ()
    updates: Sequence[str] = ()
    full_precision: bool = False
    entries: Sequence[str] = ()


@dataclass(frozen=True)
class Observation:
    """The record of one call of a function. The worker doesn't send fields with their default value.

    Attributes:
        result: the return value; NOT_RECORDED if ignored.
        raised: the error that the call raised.
        side_effects: the caller's objects before and after the call, by path.
        earlier_result: whether an earlier call's result is unchanged.
        later_result: whether it is still unchanged after calls with other arguments.
        gradients: gradients of a loss of the result; NOT_RECORDED if not computed.
        earlier_gradients: the same for an earlier call's result.
        pending: backward of losses computed before the call, by argument.
        arrives: whether a gradient reaches the caller's leaves unchanged.
        incoming: whether backward left its incoming gradient unchanged.
        recorded: events of networks, optimizers and warnings during the call.
        switched: the names of networks that were called in other modes than before the call.
        memory: bytes held after the call, if measured.
        then: the return value of the contract's ``then``.
        storage: for each tensor of the result, the name of the argument whose storage it shares, or
            ``an earlier result``.
        shared: whether tensors of the result share storage with each other.
        objects: for each tensor of the result, the name of the argument that is the same object, or empty.
        mistakes: wrong results of common mistakes, by name.
        stopped_after: seconds after which the call was stopped; 0.0 if an earlier case was stopped.
    """

    result: Any = NOT_RECORDED
    raised: Any = None
    side_effects: Any = field(default_factory=lambda: {"before": {}, "after": {}})
    earlier_result: Any = True
    later_result: Any = True
    gradients: Any = NOT_RECORDED
    earlier_gradients: Any = NOT_RECORDED
    pending: Any = field(default_factory=dict)
    arrives: Any = True
    incoming: Any = True
    recorded: Any = None
    switched: Any = ()
    memory: Any = None
    then: Any = NOT_RECORDED
    storage: Any = ()
    shared: Any = False
    objects: Any = ()
    mistakes: Any = None
    stopped_after: Any = None

    @classmethod
    def of(cls, record: Mapping[str, Any], **defaults: Any) -> Observation:
        """An observation from the worker's record; entries without a field are left out."""
        return cls(**defaults | {name: record[name] for name in _FIELDS if name in record})

    @cached_property
    def changes(self) -> Mapping[str, str]:
        """A sentence for each changed part of the caller's objects, by ``path:part``."""
        return changed_parts(self.side_effects)


_FIELDS = [field.name for field in fields(Observation)]
#: The defaults, which the worker omits from a record.
_USUAL = {name: value for name, value in vars(Observation()).items() if value is not NOT_RECORDED}
#: Fields of a submission that are wrong if they are missing although the reference has them.
_MISSING = dict.fromkeys(("result", "gradients", "earlier_gradients", "then"))


class Case:
    """A case with its two observations; the value of a contract's fixture.

    Attributes:
        name: as in ``h is transposed``; ``typical`` where no input varies.
        variations: levels by factor, as ``{"h.layout": "transposed"}``.
        rules: the contract's rules; full precision is only asked of float64.
        record: the further observations of the contract, by the names of `Call.record`.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the contract's part, and what was observed
        self,
        function: str,
        declared: DeclaredCase,
        rules: Rules,
        record: Sequence[str],
        seen: Mapping[str, Any],
        expected: Mapping[str, Any],
    ) -> None:
        self.declared, self.rules, self.record, self._function = declared, rules, record, function
        self._record, self._expected_record = seen, expected
        self._seen, self._expected = Observation.of(seen, **_MISSING), Observation.of(expected)

    @property
    def name(self) -> str:
        """The name of the case."""
        return self.declared.name

    @property
    def variations(self) -> Mapping[str, str]:
        """The variations, by factor."""
        return self.declared.variations

    @property
    def is_typical(self) -> bool:
        """Whether no input varies."""
        return self.declared.is_typical

    @property
    def is_cut_off(self) -> bool:
        """Whether a part of the observation is not recorded, because it is too large."""
        return is_cut_off(self._record)

    @cached_property
    def is_as_expected(self) -> bool:
        """Whether both records are equal; then no assertion has anything to find."""
        return self._record == self._expected_record

    @property
    def other_form(self) -> Finding | None:
        """The finding if the result has another form than the reference's, which may have broken a check."""
        if self.is_cut_off:
            return Finding("form", "Your function changes too much to look at all of it.", group="cut off")
        if self._expected.result is NOT_RECORDED:
            return None
        return other_form(self._seen.result, self._expected.result)

    @property
    def records(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The worker's records of the student's function and of the reference."""
        return self._record, self._expected_record

    def with_seen(self, record: Mapping[str, Any]) -> Case:
        """The same case with another record of the student's function."""
        return Case(self._function, self.declared, self.rules, self.record, record, self._expected_record)

    @property
    def did_not_run(self) -> bool:
        """Whether the function was not called, because it was stopped in an earlier case."""
        return self._seen.stopped_after is not None and not self._seen.stopped_after

    @property
    def sides(self) -> tuple[Observation, Observation]:
        """The observed and the expected outcome, whether the calls raised or not.

        Raises:
            FailedCheckError: the student's function was stopped in this case, or in an earlier one.
        """
        seconds = self._seen.stopped_after
        if seconds is not None:
            seconds = seconds if isinstance(seconds, float) else 0.0
            finding = finding_without_observation(not_observed(Failure.TIMEOUT, seconds=seconds))
            if self.did_not_run:
                message = "Your function did not run in this case, because an earlier case took too long."
                finding = replace(finding, sentence=message)
            raise FailedCheckError(finding)
        return self._seen, self._expected

    @property
    def expected(self) -> SeenCall:
        """The observation of the reference.

        Raises:
            NotApplicable: it raised an error, as it must in this case.
        """
        if self._expected.raised is not None:
            raise NotApplicable("the caller's own error is expected in this case")
        return SeenCall(self._function, self._expected, self._expected, self.rules.entries)

    @property
    def seen(self) -> SeenCall:
        """The observation of the student's function.

        Raises:
            NotApplicable: the reference raised an error, as it must in this case.
            FailedCheckError: the student's function raised an error, or was stopped.
        """
        seen, expected = self.sides
        _ = self.expected
        if seen.raised is not None:
            raise FailedCheckError(finding_of(seen.raised, "unobserved"))
        return SeenCall(self._function, seen, expected, self.rules.entries)


@dataclass(frozen=True)
class SeenCall:
    """A call that returned, with accessors that fail by themselves.

    Each takes a path: names or numbers of entries, as in ``tensor("loss")`` or ``tensor(0, "weight")``.
    """

    function: str
    observed: Observation
    _reference: Observation
    _parts: Sequence[str] = ()

    @property
    def changes(self) -> Mapping[str, str]:
        """A sentence for each changed part of the caller's objects, by ``path:part``."""
        return self.observed.changes

    @property
    def warnings(self) -> Sequence[str]:
        """The texts of the call's warnings."""
        given = self.observed.recorded.get("given", ()) if isinstance(self.observed.recorded, Mapping) else ()
        return [text for text in given if isinstance(text, str)]

    @property
    def shared_storage(self) -> Sequence[str]:
        """Arguments (or ``an earlier result``) that share storage with this result, not the reference's."""
        return [code(name) for name in self.observed.storage if name and name not in self._reference.storage]

    @property
    def rows_share_storage(self) -> bool:
        """Whether tensors or entries of the result share storage, but not those of the reference."""
        return bool(self.observed.shared) and not self._reference.shared

    def before(self, path: str) -> Tensor:
        """The caller's tensor at this path, before the call.

        Raises:
            NotApplicable: there is no such tensor in this case.
            FailedCheckError: it is something else.
        """
        return self._of_caller("before", path)

    def after(self, path: str) -> Tensor:
        """The same tensor after the call; the check fails if it is gone.

        Raises:
            NotApplicable: there is no such tensor in this case.
            FailedCheckError: it is gone, or something else.
        """
        return self._of_caller("after", path)

    def _of_caller(self, when: str, path: str) -> Tensor:
        if path not in self._reference.side_effects[when]:
            raise NotApplicable(f"there is no {path} in this case")
        record = self.observed.side_effects[when].get(path)
        if record is None:  # the worker sends only what changed
            record = self._reference.side_effects["before"][path]
        tensor = record.get("tensor") if isinstance(record, dict) else None
        if not isinstance(tensor, Tensor):
            raise wrong(
                f"After your call, the caller's {code(path)} is not a tensor.", group=f"{path} is gone"
            )
        return tensor

    def error_of_pending(self, name: str) -> Raised | None:
        """The error of ``backward()`` on a loss computed from an argument before the call.

        None if it raised none.

        Raises:
            NotApplicable: the reference's raises none in this case.
        """
        if not isinstance(_gradients(self._reference.pending.get(name)), Raised):
            raise NotApplicable(f"no loss of {name} must raise an error in this case")
        pending = self.observed.pending.get(name) if isinstance(self.observed.pending, dict) else None
        found = _gradients(pending)
        return found if isinstance(found, Raised) else None

    def entry(self, *path: Any) -> Any:
        """The result, or an entry of it; the check fails if it is missing.

        Raises:
            NotApplicable: the reference's result is not recorded in this case.
            FailedCheckError: the result is None, or has no such entry.
        """
        if self._reference.result is NOT_RECORDED:
            raise NotApplicable("no result is recorded in this case")
        value, place = self.observed.result, _RESULT
        if value is None:
            raise wrong(
                f"{code(self.function)} returned None.",
                kind="form",
                takes_hint=False,
                group="returned None",
                is_none=True,
            )
        for key in path:
            index = self._parts.index(key) if key in self._parts else key
            try:
                value = value[index]
            except (KeyError, IndexError, TypeError):
                size = f" with {entries(len(value))}" if hasattr(value, "__len__") else ""
                message = f"{capital(place)} has no entry `{key!r}`: it is {describe(value)}{size}."
                raise wrong(message, kind="form", takes_hint=False, group=f"no entry {key!r}") from None
            place = self._place(place, key)
        return value

    def _place(self, place: str, key: Any) -> str:
        """An entry of a place, as in ``result['loss']``, between backticks."""
        if key in self._parts:
            return code(str(key))
        return f"`{'result' if place == _RESULT else place.strip('`')}[{key!r}]`"

    def tensor(self, *path: Any) -> Tensor:
        """The result, or an entry of it; the check fails unless it is a tensor.

        Raises:
            NotApplicable: the reference's result is not recorded in this case.
            FailedCheckError: as `entry` does, or it is no tensor.
        """
        value = self.entry(*path)
        if not isinstance(value, Tensor):
            place = _RESULT
            for key in path:
                place = self._place(place, key)
            message = f"{capital(place)} is {describe(value)}, not a tensor."
            group = f"{describe(value)} at {path}"
            raise wrong(message, kind="form", takes_hint=False, group=group, is_none=value is None)
        return value


def _gradients(pending: Any) -> Any:
    """The outcome of ``backward()`` on a loss: gradients, or the error that it raised."""
    return pending.get("gradients") if isinstance(pending, dict) else None


class ContractObservation:
    """The observed and the expected outcomes in the cases of a contract."""

    def __init__(  # noqa: PLR0913, PLR0917 - the contract's part, and what was observed
        self,
        function: str,
        declared: Sequence[DeclaredCase],
        rules: Rules,
        record: Sequence[str],
        contract: str,
        seen: RequestOutcome,
        expected: RequestOutcome,
    ) -> None:
        self.contract, self._function = contract, function
        self._declared, self._rules, self._record = declared, rules, record
        self._seen, self._expected = seen, expected

    @property
    def expected(self) -> list[dict[str, Any]]:
        """The records of the reference.

        Raises:
            CourseError: the contract was not observed, or the reference raises an error of its own.
        """
        records = self._expected
        if isinstance(records, NotObserved):
            raise CourseError(f"contract {self.contract} could not observe the reference: {records.reason}")
        if isinstance(records, RequestRaised):
            message = finding_without_observation(records).sentence
            raise CourseError(f"contract {self.contract} fails on the reference: {message}")
        if not isinstance(records, list) or len(records) != len(self._declared):
            raise CourseError(
                f"the contract {self.contract} has {len(self._declared)} cases, and others were observed of"
                " the reference: grade again"
            )
        for case, record in zip(self._declared, records, strict=True):
            if unknown := record.keys() - {*_FIELDS}:
                raise CourseError(f"Observation has no field {min(unknown)!r}, but the worker records it")
            if isinstance(record.get("raised"), Raised) and not case.may_raise:
                found = finding_of(record["raised"], "raised").sentence
                raise CourseError(
                    f"the reference raises an error. {case.sentence() or capital(TYPICAL)}: {found}"
                )
        return records

    @property
    def seen(self) -> list[dict[str, Any]]:
        """The records of the submission, one for each case; FailedCheckError if there are none."""
        _ = self.expected
        records = self._seen
        if isinstance(records, RequestRaised | NotObserved):
            raise FailedCheckError(finding_without_observation(records))
        if not isinstance(records, list) or len(records) != len(self._declared):
            raise wrong("The observations of your function are in a form that cannot be judged.", kind="form")
        return [record if isinstance(record, dict) else {} for record in records]

    @cached_property
    def cases(self) -> list[Case]:
        """The cases in their order; raises as `seen` and `expected` do."""
        less_exact = replace(self._rules, full_precision=False)
        return [
            Case(
                self._function,
                declared,
                self._rules if declared.dtype == "float64" else less_exact,
                self._record,
                seen,
                expected,
            )
            for declared, seen, expected in zip(self._declared, self.seen, self.expected, strict=True)
        ]


def beside_each_other(records: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Records of a case, by side: each with all that any of them has."""
    names = {name for record in records.values() for name in record}
    usual = {name: value for name, value in _USUAL.items() if name in names}
    return {side: {**usual, **record} for side, record in records.items()}


def is_named(name: str, patterns: Collection[str]) -> bool:
    """Whether a name fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
