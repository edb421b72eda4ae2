"""The errors a person can meet, each of which becomes one sentence on the terminal."""

from typing import Any


class GraderError(Exception):
    """Something the person at the keyboard can mend; the text says what, where and what to do next."""

    exit_status = 2


class ProtectionError(GraderError):
    """The protection asked for is not to be had on this system.

    Args:
        sentence: what is missing, and what to do.
        hello: what the zygote told before it ended, where it got as far, as in ``Protection``.
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
