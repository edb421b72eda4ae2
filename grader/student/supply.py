"""On a student's machine: fresh processes, one of them made ready while nobody waits for it."""

from __future__ import annotations

import tempfile
from typing import Self

from grader import signals as interrupt
from grader.errors import BrokenRunError
from grader.student.child import Child


class Supply:
    """Gives processes that run notebooks, and ends all of them with itself.

    Args:
        shows: whether what notebooks print is shown.
        sentence: what is said on Ctrl-C.
    """

    def __init__(self, *, shows: bool = False, sentence: str = "stopped.") -> None:
        self._shows = shows
        self._spare: Child | None = None
        self._children: list[Child] = []
        interrupt.when_interrupted(lambda: self._end_and_say(sentence))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.end()

    def take(self) -> Child:
        """A process that nobody used."""
        child, self._spare = self._spare or self._start(), None
        return child

    def prepare(self) -> None:
        """Start the next one now: to import torch takes longer than most checks."""
        self._spare = self._spare or self._start()

    def _start(self) -> Child:
        try:
            child = Child(shows=self._shows)
        except OSError as error:
            raise BrokenRunError(
                f"your notebook cannot be run ({error.strerror}): make room in {tempfile.gettempdir()}, close"
                " other programs, and run this again."
            ) from error
        self._children = [*self._children[-2:], child]  # those before have been ended by who took them
        return child

    def _end_and_say(self, sentence: str) -> str:
        for child in self._children:
            child.kill()
        return sentence
