"""The errors a person can meet; each becomes a sentence on the terminal."""

from typing import Any


class GraderError(Exception):
    """An error that the user of a command can mend; the text says what, where and what to do next."""

    exit_status = 2


class ProtectionError(GraderError):
    """This system cannot confine workers as asked.

    Args:
        sentence: what is missing, and what to do.
        hello: the zygote's first message, as in ``Protection``; None where it sent none.
    """

    exit_status = 3

    def __init__(self, sentence: str, hello: dict[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.hello = hello


class CourseError(GraderError):
    """A file of the course contradicts itself or its neighbours; the author has to mend it."""


class BrokenRunError(GraderError):
    """Grading itself failed: a process died, the disk is full; running again goes on where it stopped."""

    exit_status = 1
