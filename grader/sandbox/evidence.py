"""Evidence: everything that was observed of a notebook, to be judged later."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from grader.sandbox.decoding import (
    TRACES,
    MalformedError,
    Notice,
    Skipped,
    SkippedStatements,
    Status,
    Words,
    of_form,
    parse,
    parse_answer,
)
from grader.sandbox.sensitivity import with_most_sensitivity, with_sensitivity
from grader.sandbox.values import Exact, Raised, ReturnedNone
from grader.text import quoted, some, utf8_text

#: The message for students if there is nothing to diagnose.
UNANSWERED = {
    "missing": "No cell of this notebook defines {name}, or its cell stopped with an error first.",
    "untouched": "{name} is still the starter code.",
}


class Failure(StrEnum):
    """The reason why something was not observed."""

    TIMEOUT = "timeout"
    LATE = "late"
    CLOSED = "closed"
    KILLED = "killed"
    FORGED = "forged"
    MALFORMED = "malformed"
    PATCHED = "patched"
    NOTHING_DEFINED = "nothing defined"
    NOTHING_SEEN = "nothing seen"
    NOT_REACHED = "not reached"
    QUESTION_OVER = "too late"
    NOTEBOOK_OVER = "too late for the notebook"


_NOT_REACHED = "this part was not reached"
#: The reasons in words for students.
REASONS = {
    Failure.TIMEOUT: (
        "your code was still running after {seconds:.0f} s, so it was stopped. Look for a loop that never "
        "ends, or that takes too long for large inputs"
    ),
    Failure.LATE: "your code still ran when the {question:.0f} s of this question were over, and was stopped",
    Failure.CLOSED: (
        "your code ended the Python process (os._exit, a crash in native code, or a system limit)"
    ),
    Failure.KILLED: (
        "the process of your code was killed (signal 9): it took too much memory, or it killed itself"
    ),
    Failure.FORGED: "the process of your notebook sent answers without a request, so none was used",
    Failure.MALFORMED: (
        "the process of your notebook sent something that is not an answer, so it was not used"
    ),
    Failure.PATCHED: "your code replaced {changed} while it ran, so its results cannot be judged",
    Failure.NOTHING_DEFINED: "the notebook ended or blocked its process before it defined anything",
    Failure.NOTHING_SEEN: "the notebook ended or blocked its process before its functions could be called",
    Failure.NOT_REACHED: _NOT_REACHED,
    Failure.QUESTION_OVER: f"{_NOT_REACHED}, because the time of the question was used up before",
    Failure.NOTEBOOK_OVER: f"{_NOT_REACHED}, because the time of the notebook was used up before",
}
#: Failures in which the process gave no proper answer.
ENDINGS = frozenset(
    {
        *(Failure.TIMEOUT, Failure.LATE, Failure.CLOSED, Failure.KILLED),
        *(Failure.FORGED, Failure.MALFORMED),
    }
)
#: Failures that follow from an earlier one, and show no misunderstanding.
CONSEQUENCES = frozenset({Failure.NOT_REACHED, Failure.QUESTION_OVER, Failure.NOTEBOOK_OVER})
#: Failures because the time of a request, a question or a notebook ran out.
OUT_OF_TIME = frozenset({Failure.TIMEOUT, Failure.LATE, Failure.QUESTION_OVER, Failure.NOTEBOOK_OVER})

UNJUDGED = "This check has no verdict; your instructor will look at it."


@dataclass(frozen=True)
class NotObserved:
    """The reason why a request has no answer: a sentence for the student, and its kind."""

    reason: str
    failure: Failure | None = field(default=None, compare=False)


def not_observed(failure: Failure, **details: Any) -> NotObserved:
    """A failure as a sentence that contains `details`."""
    return NotObserved(REASONS[failure].format(**details), failure)


@dataclass(frozen=True)
class RequestRaised:
    """The code that was sent raised an error. An error that it caught itself is an observation."""

    error: Raised


#: The record of a contract or a picture: observations of any form, or the reason why there are none.
RequestOutcome = Any | RequestRaised | NotObserved


@dataclass(frozen=True)
class Answer:
    """The answer to a request.

    Attributes:
        text: the JSON of the worker's answer, byte for byte, or a reason in our own words, on one line.
        outcome: the text, decoded.
        none: for each function that returned None in every call of the request, the reason.
        patched: the parts of torch that student code replaced.
        changed: other changes by student code that cannot be undone.
    """

    text: str
    outcome: RequestOutcome = field(compare=False)
    none: tuple[ReturnedNone, ...] = ()
    patched: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @cached_property
    def most_sensitive(self) -> Answer:
        """This answer of the reference, with the largest possible sensitivity of its numbers."""
        return replace(self, outcome=with_most_sensitivity(self.outcome))

    @property
    def failure(self) -> Failure | None:
        """The reason why there are no observations; None if there are some."""
        return self.outcome.failure if isinstance(self.outcome, NotObserved) else None

    @classmethod
    def parse(cls, text: str) -> Answer:
        """Parse a worker's answer; raises MalformedError if it has another form."""
        said = parse_answer(text)
        if said.raised is not None:
            outcome: RequestOutcome = RequestRaised(said.raised)
        elif said.returned is not None:
            outcome = said.returned.decoded()
        else:
            raise MalformedError
        return cls(text, outcome, said.none, said.patched, said.changed)

    @classmethod
    def without_observation(cls, reason: NotObserved) -> Answer:
        """Make an answer that only says why there is none."""
        return cls(json.dumps({"fault": reason.reason, "failure": reason.failure}), reason)

    @classmethod
    def stored(cls, text: str) -> Answer:
        """Parse a stored answer or reason; raises MalformedError if it is neither."""
        if not text.startswith(_FAULT):
            return cls.parse(text)
        fault = of_form(_Fault, parse(text))
        return cls(text, NotObserved(fault.fault, fault.failure))


_FAULT = '{"fault":'  # no answer of a worker begins like this


class _Fault(Exact, frozen=True):
    fault: str
    failure: Failure | None


class CellFailure(Exact, frozen=True):
    """A cell that failed: its error and the statements it skipped, or why it did not run."""

    cell: int  # its number
    raised: Raised | None
    fault: str | None
    skipped: SkippedStatements = ()  # older evidence has none


_MAX_TEXT = 200  # of what a student chose
_MOST_SKIPPED = 6  # statements that a sentence names

RAISED: Final = "raised"


@dataclass(frozen=True)
class SkippedStatement:
    """A statement that did not run because its cell had raised an error.

    Attributes:
        line: its first line.
        text: its first line, written by a student, cut.
        names: the names that it would have defined.
    """

    line: int
    text: str
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, observed: Skipped) -> SkippedStatement:
        """The statement as a result reports it."""
        return cls(observed.line, utf8_text(" ".join(observed.text.split())), observed.names)


@dataclass(frozen=True)
class FailedCell:
    """A failed cell.

    Attributes:
        cell: its number among the code cells, from 1.
        ended: ``raised`` (an error stopped it), ``stopped`` (its time ran out) or ``left out`` (it did not
            run, because it ended its process before or the notebook's time ran out).
        text: the error and its line, written by a student, or why the cell was left out.
        skipped: the statements below the error that did not run; results of older graders have none.
    """

    cell: int
    ended: Literal["raised", "stopped", "left out"]
    text: str = ""
    skipped: tuple[SkippedStatement, ...] = ()

    @classmethod
    def of(cls, observed: CellFailure) -> FailedCell:
        """The cell as a result reports it."""
        error = observed.raised
        if error is None:
            return cls(observed.cell, "left out", observed.fault or "")
        if error.type == "CellTimeout":
            return cls(observed.cell, "stopped")
        text = " ".join(error.text.split())[:_MAX_TEXT]
        kind = error.type[:_MAX_TEXT]
        message = f"{kind}: {text}" if text else kind
        if error.line:
            elsewhere = (
                "" if error.cell.partition(",")[0] == f"cell {observed.cell}" else f" (code {error.cell})"
            )
            function = f" in {error.function}" if error.function else ""
            message += f", at {quoted(error.line)}{function}{elsewhere}"
        skipped = tuple(SkippedStatement.of(statement) for statement in observed.skipped)
        return cls(observed.cell, RAISED, utf8_text(message), skipped)

    @property
    def sentence(self) -> str:
        """The sentence that a student reads."""
        if self.ended == RAISED:
            return f"Code cell {self.cell} stopped with {self.text}.{self._about_skipped}"
        return about_stopped([self.cell], self.text)

    @property
    def _about_skipped(self) -> str:
        """A sentence about the statements that did not run, with a blank before it."""
        skipped = [f"{quoted(each.text)} (line {each.line})" for each in self.skipped]
        return f" The grader skipped {', '.join(some(skipped, _MOST_SKIPPED))}." if skipped else ""


def about_stopped(cells: Iterable[object], text: str) -> str:
    """A sentence about cells that were stopped or left out for the same reason."""
    numbers = [str(cell) for cell in cells]
    is_single = len(numbers) == 1
    which = f"Code cell{'' if is_single else 's'} {', '.join(numbers)} {'was' if is_single else 'were'}"
    if text:
        return f"{which} left out: {text}."
    return f"{which} stopped, because {'it' if is_single else 'they'} took too long."


@dataclass(frozen=True)
class Evidence:
    """Everything that the workers of a notebook reported.

    Attributes:
        names: for each function of the plan, ``answered``, ``untouched`` or ``missing``.
        answers: the answer to each request, by its name. For a measured sensitivity to rounding, also the
            answers of the reference with perturbed results, by ``name (perturbed 1)``.
        cells: the cells that failed.
        patched: the parts of torch that the notebook changed, such as ``torch.Tensor.backward``.
        traces: actions noticed by a worker that normal answers don't need.
        fault: why nothing could be observed at all, or None.
        starved: whether other processes used the processors when time ran out, or the memory when the system
            killed its worker. Then it is not the notebook's fault, and it is observed again.
        size: bytes of all answers.
        defined_in: for each function of the plan, the number of the cell that defined it, or None.
        answer_above: for each function that is starter code, the number of a cell above with an answer that
            it replaced, or None.
        not_callable: for each function that is missing because the value of its name is not callable, the
            class of that.
    """

    names: dict[str, Status] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    cells: list[CellFailure] = field(default_factory=list)
    patched: list[str] = field(default_factory=list)
    traces: list[Notice] = field(default_factory=list)
    fault: str | None = None
    starved: bool = False
    size: int = 0
    defined_in: dict[str, int | None] = field(default_factory=dict)
    answer_above: dict[str, int | None] = field(default_factory=dict)
    not_callable: dict[str, str] = field(default_factory=dict)

    def outcome(self, name: str) -> RequestOutcome:
        """The record of the contract or picture with this name."""
        answer = self.answers.get(name)
        return not_observed(Failure.NOT_REACHED) if answer is None else answer.outcome

    def most_sensitive(self, contracts: Iterable[str]) -> Evidence:
        """This evidence of the reference, with the largest possible sensitivity of some contracts."""
        most = {name: self.answers[name].most_sensitive for name in contracts if name in self.answers}
        return replace(self, answers={**self.answers, **most})

    def has_sensitivity(self, contract: str) -> bool:
        """Whether the sensitivity of a contract's observations was measured."""
        return f"{contract}{_PERTURBED}1)" in self.answers

    def with_sensitivity(self, others: Sequence[Evidence]) -> Evidence:
        """This evidence of the reference, with observations of perturbed results."""
        perturbed = {
            f"{name}{_PERTURBED}{number})": answer
            for number, other in enumerate(others, start=1)
            for name, answer in other.answers.items()
        }
        return replace(self, answers=_with_sensitivity({**self.answers, **perturbed}))

    def returned_none(self, contract: str, function: str) -> ReturnedNone | None:
        """Why a function returned None in every case of a contract."""
        none = self.answers[contract].none if contract in self.answers else ()
        return next((returned for returned in none if returned.function == function), None)

    def to_json(self) -> str:
        """JSON that contains every answer byte for byte, on its own line."""
        others = {name: value for name, value in vars(self).items() if name != "answers"}
        first = json.dumps(msgspec.to_builtins(others), separators=(",", ":")).removesuffix("}")
        answers = ",".join(f"\n{json.dumps(name)}:{answer.text}" for name, answer in self.answers.items())
        return f'{first},"answers":{{{answers}\n}}}}'

    @classmethod
    def from_json(cls, text: str) -> Evidence:
        """Parse the text that `to_json` wrote, here or on another machine.

        Raises:
            MalformedError: the text or one of its answers has another form.
        """
        try:
            first, *lines, last = text.split("\n")
            stored = of_form(_Stored, json.loads(first + last))
            named = [line.removesuffix(",").partition(":") for line in lines]
            answers = {json.loads(name): Answer.stored(answer) for name, _, answer in named}
        except ValueError:
            raise MalformedError from None
        if any(what not in TRACES for what, _ in stored.traces):
            raise MalformedError
        its = stored.cells, list(stored.patched), stored.traces, stored.fault, stored.starved, stored.size
        about_names = stored.defined_in, stored.answer_above, stored.not_callable
        return cls(stored.names, _with_sensitivity(answers), *its, *about_names)


_PERTURBED = " (perturbed "


def _with_sensitivity(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """The answers with the sensitivity that follows from those with perturbed results."""
    perturbed: dict[str, list[RequestOutcome]] = defaultdict(list)
    for name, answer in answers.items():
        contract, is_perturbed, _ = name.partition(_PERTURBED)
        if is_perturbed:
            perturbed[contract].append(answer.outcome)
    measured = {
        name: replace(answers[name], outcome=with_sensitivity(answers[name].outcome, outcomes))
        for name, outcomes in perturbed.items()
        if name in answers
    }
    return {**answers, **measured}


class _Stored(Exact, frozen=True):
    """The first and the last line of stored evidence."""

    names: dict[str, Status]
    cells: list[CellFailure]
    patched: Words
    traces: list[tuple[str, int | None]]
    fault: str | None
    starved: bool
    size: int
    answers: dict[str, None]
    # Older evidence has none of these.
    defined_in: dict[str, int | None] = msgspec.field(default_factory=dict)
    answer_above: dict[str, int | None] = msgspec.field(default_factory=dict)
    not_callable: dict[str, str] = msgspec.field(default_factory=dict)
