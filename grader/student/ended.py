"""On a student's machine: how the process that ran a notebook ended, in words."""

from __future__ import annotations

import signal
import sys

from grader.errors import BrokenRunError, GraderError


class Ended(Exception):  # noqa: N818 - it is an end, and mostly the student's doing
    """The process ended before it was done, or had to be ended; the text says how, as in "it ...".

    Args:
        how: the words.
        place: the cell and its line where it was, if that is known.
        entry: the cell that ran, and its line from which it came there, likewise.
        is_late: whether time was up.
    """

    def __init__(
        self,
        how: str,
        place: tuple[int, int] | None = None,
        entry: tuple[int, int] | None = None,
        *,
        is_late: bool = False,
    ) -> None:
        super().__init__(how)
        self.place = place
        self.entry = entry
        self.is_late = is_late


def how_it_ended(status: int) -> str:
    """In words that follow "it", from the status of a process."""
    if status >= 0:
        return f"ended Python (exit status {status})"
    try:
        return f"ended Python ({signal.Signals(-status).name})"
    except ValueError:
        return f"ended Python (signal {-status})"


def no_start(status: int | None) -> BrokenRunError:
    """The error of a process that did not get as far as to run anything; no status: it took too long."""
    how = "took too long" if status is None else how_it_ended(status)
    return BrokenRunError(
        f"the Python that should run your notebook did not start: it {how}."
        f' Look what `{sys.executable} -c "import torch"` says, then run this again.'
    )


def no_torch(why: str) -> GraderError:
    """The error of a Python in which something is missing that the course needs."""
    return GraderError(
        f"your notebook cannot be run by {sys.executable}: {why}. Install what the course needs,"
        f" with `{sys.executable} -m pip install -r requirements.txt`, or use the Python which has it."
    )
