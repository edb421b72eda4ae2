"""The errors that users see; each is printed as a sentence on the terminal."""

from typing import Any


class GraderError(Exception):
    """An error that the user of a command can fix; the text says what, where and what to do next."""

    exit_status = 2


class SandboxError(GraderError):
    """This system cannot confine workers as asked.

    Args:
        sentence: the missing feature, and what to do.
        hello: the zygote's first message, as in ``ActiveSandbox``; None if it sent none.
    """

    exit_status = 3

    def __init__(self, sentence: str, hello: dict[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.hello = hello


class CourseError(GraderError):
    """A file of the course contradicts itself or another file; the author must fix it."""


class BrokenRunError(GraderError):
    """Grading itself failed: a process died, the disk is full; running again goes on where it stopped."""

    exit_status = 1
