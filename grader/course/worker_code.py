"""Code that a worker runs beside a student's functions: the base of contracts, and pictures."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from grader.course.inside_source import InsideSource
from grader.errors import CourseError

#: The name of a check file's module that holds its pictures, in their order there.
_PICTURES = "__pictures__"

_SEPARATOR = "\n\n"  # between the definitions of a bundle
PICTURE_SECONDS = 2.0


@dataclass(frozen=True)
class WorkerCode:
    """A contract or a picture, ready to be sent to a worker.

    Attributes:
        name: the contract's fixture, or the picture's function.
        question: the id that its author gave; otherwise the function that it names decides.
        seconds: the longest it may take.
    """

    name: str
    source: InsideSource
    question: str | None
    seconds: float

    def bundle(self) -> str:
        """All definitions that a worker needs to run this code."""
        return _SEPARATOR.join(part.text for part in self.parts())

    def parts(self) -> tuple[InsideSource, ...]:
        """The definitions of a bundle, in its order."""
        return tuple(self.source.closure().values())

    def place_in_file(self, line: int) -> tuple[InsideSource, int] | None:
        """The definition that a line of a bundle belongs to, and the line in its file; from 1."""
        for part in self.parts():
            lines = (part.text + _SEPARATOR).count("\n")
            if line < lines:
                return part, part.tree.lineno + line - 1
            line -= lines
        return None

    @property
    def attributes(self) -> frozenset[str]:
        """Attribute names that the code and its helpers use, the student's functions among them."""
        return frozenset().union(*(part.attributes for part in self.parts()))

    def seed(self, run_seed: int, stem: str) -> int:
        """The seed of this code in a run: the same for every submission, unknown before the run."""
        text = f"{run_seed}:{stem}:{self.name}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@dataclass(frozen=True)
class DeclaredPicture(WorkerCode):
    """A function that returns a ``graph``, which is drawn for the student above its `caption`.

    If `reference` is true, the reference's picture may be shown beside the student's.
    """

    caption: str
    reference: bool


def picture(
    function: Callable[..., Any] | None = None,
    /,
    *,
    question: str | None = None,
    reference: bool = False,
    seconds: float = PICTURE_SECONDS,
) -> Any:
    """Make a function a picture: it returns ``graph(...)``, and no check judges it.

    The function takes one argument, by custom ``student``, whose attributes are the names of the notebook. It
    runs after all contracts, so it can change no verdict. If it fails, there is no picture.

    Args:
        function: the picture, when the decorator is used without arguments. Its docstring's first line is
            the caption students read.
        question: the question it belongs to, if it names the functions of several.
        reference: the reference's picture gives nothing away, and may be shown beside the student's.
        seconds: the longest it may take, in seconds; more than two are not given.

    Raises:
        CourseError: it has no docstring, or uses something that cannot be sent to the worker.
    """

    def decorate(f: Callable[..., Any]) -> Any:
        if len(inspect.signature(f).parameters) != 1:
            raise CourseError(f"picture {f.__name__} must take exactly one argument, the student's names")
        caption = (inspect.getdoc(f) or "").partition("\n")[0].strip().rstrip(".")
        if not caption:
            raise CourseError(f"picture {f.__name__} has no docstring: its first line is what students read")
        source = InsideSource.of(f)
        made = DeclaredPicture(f.__name__, source, question, seconds, caption, reference)
        f.__globals__.setdefault(_PICTURES, {})[made.name] = made
        return f

    return decorate if function is None else decorate(function)


def pictures_defined(check_file: ModuleType) -> dict[str, DeclaredPicture]:
    """The pictures a check file defined, by name."""
    return dict(vars(check_file).get(_PICTURES, {}))
