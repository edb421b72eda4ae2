"""A finding: the problem that a check found, as fields that other modules read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from grader.sandbox.evidence import OUT_OF_TIME, Failure

#: Why a check did not pass:
#:
#: - ``wrong``: an observation differs from the expected one;
#: - ``side effect``: the call changed a mode, a flag, values or a ``.grad`` that must be unchanged;
#: - ``form``: the result has another form, so it cannot be judged;
#: - ``raised``: ``attempt`` caught an error that should not occur;
#: - ``unobserved``: there is no observation, because the request ended with an error or a `Failure`;
#: - ``unanswered``: the function is missing, or still the starter code;
#: - ``broken``: the check did not come to a verdict.
Kind = Literal["wrong", "side effect", "form", "raised", "unobserved", "unanswered", "broken"]

MAX_TEXT = 1_000  # characters of a message, and of a hint


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a notebook's code.

    Attributes:
        cell: the number of the code cell, from 1.
        line: of the cell, from 1.
        function: the function around it; empty if there is none.
        text: the line itself, as its student wrote it.
    """

    cell: int
    line: int
    function: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a check.

    Attributes:
        sentence: the diagnosis, which a student reads.
        hint: a hint for the student, which is shown below it.
        takes_hint: whether the hint of the check's docstring fits where there is no other.
        case: when it was found, as in ``With an empty batch``.
        group: a text that is equal for all findings of the same mistake, whatever their numbers are.
        stopped: whether the student's code stopped, or was stopped, before it was done.
        place: the line that stopped; None if it is not in a cell.
        error: the class of the error that was raised; empty if there was none.
        failure: why nothing was observed.
        is_none: whether the trouble is a None, which a missing return may explain.
        of_values: whether values were compared with the reference's, and differ by more than their precision.
        is_example: whether `case` names a failed case, and not what explains every failure.
        varying: the sentence to show instead if other failed cases of the group have different sentences.
    """

    kind: Kind
    sentence: str
    hint: str | None = None
    takes_hint: bool = False
    case: str = ""
    group: str = ""
    stopped: bool = False
    place: Place | None = None
    error: str = ""
    failure: Failure | None = None
    is_none: bool = False
    of_values: bool = False
    is_example: bool = False
    varying: str = ""

    @property
    def message(self) -> str:
        """The diagnosis with its case before it, cut where it is too long."""
        return (f"{self.case}: {self.sentence}" if self.case else self.sentence)[:MAX_TEXT]

    @property
    def ending(self) -> str:
        """How the code ended before there was anything to judge; empty if a check judged something.

        The class of an error, ``timeout`` where its time ran out, or ``fault``.
        """
        if self.kind != "unobserved":
            return ""
        return self.error or ("timeout" if self.failure in OUT_OF_TIME else "fault")


class FailedCheckError(AssertionError):
    """A check's failure, with its finding.

    The finding may be given as a function, which is called when the finding is first read: a check fails in
    many cases, one of them is explained, and to explain takes longer than to compare.
    """

    def __init__(self, finding: Finding | Callable[[], Finding]) -> None:
        super().__init__()
        self._finding = finding

    @cached_property
    def finding(self) -> Finding:
        """The finding, computed when it is first read."""
        return self._finding if isinstance(self._finding, Finding) else self._finding()

    def __str__(self) -> str:
        return "\n\n".join(filter(None, (self.finding.message, self.finding.hint)))


def diagnosis_and_hint(text: str) -> tuple[str, str | None]:
    """An author's text as its first paragraph, the diagnosis, and all behind it, the hint."""
    diagnosis, _, hint = text.partition("\n\n")
    return diagnosis, hint or None


def wrong(
    text: str, *, group: str = "", takes_hint: bool = True, kind: Kind = "wrong", is_none: bool = False
) -> FailedCheckError:
    """A failure in an author's words; its hint is theirs or, where it `takes_hint`, the docstring's."""
    diagnosis, hint = diagnosis_and_hint(text)
    return FailedCheckError(Finding(kind, diagnosis, hint, takes_hint, group=group, is_none=is_none))
