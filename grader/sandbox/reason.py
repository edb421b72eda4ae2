"""Outside: a reason why something was not observed or not judged, in the words that students read.

Who reads results later knows these reasons by their words, so they are said here and nowhere else.
"""

from __future__ import annotations

#: Nobody looked, because something before it went wrong.
NOT_REACHED = "this part was not reached"
TOO_LATE = f"{NOT_REACHED}, because the time of the question was used up before"
TOO_LATE_FOR_NOTEBOOK = f"{NOT_REACHED}, because the time of the notebook was used up before"

#: A process did not answer as one does; by the kind of a `WireError`, or what the observer makes of it.
ENDED = {
    "timeout": "your code still ran after {seconds:.0f} s and was stopped; is there a loop that never ends?",
    "late": "your code still ran when the {question:.0f} s of this question were over, and was stopped",
    "closed": "your code ended the Python process (os._exit, a crash in native code, a limit of the system)",
    "killed": "the system ended the process of your code, most likely because it took too much memory",
    "forged": "the process of your notebook sent answers nobody asked for, so none of them was used",
    "malformed": "the process of your notebook sent something that is not an answer, so it was not used",
}

#: What a cell is told that did not get its turn.
UNREACHED = "the cells before it used up the time of the notebook"

UNJUDGED = "This check did not come to a verdict; your instructor has to look at it."


def _beginning(reason: str) -> str:
    """How a diagnosis begins that gives this reason, up to the first figure in it."""
    return f"{reason[:1].upper()}{reason[1:]}".partition("{")[0]


_SAYS_ENDED = tuple(map(_beginning, ENDED.values()))
_SAYS_TIME = (
    *(ENDED[kind].partition("{")[0] for kind in ("timeout", "late")),
    TOO_LATE,
    TOO_LATE_FOR_NOTEBOOK,
)
_SAYS_NOT_REACHED = _beginning(NOT_REACHED)


def tells_of_an_end(diagnosis: str) -> bool:
    """Whether it tells of a process that did not answer as one does."""
    return diagnosis.startswith(_SAYS_ENDED)


def tells_of_time(reason: str) -> bool:
    """Whether it says that the time of a probe, a question or a notebook ran out."""
    return any(map(reason.startswith, _SAYS_TIME))


def only_follows(diagnosis: str) -> bool:
    """Whether it was given only because something else went wrong: no misunderstanding of its own."""
    return diagnosis.startswith(_SAYS_NOT_REACHED)
