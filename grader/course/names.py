"""The name of an assignment, ``NN_name``, the paths of its files, and whether a name is free."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from grader.errors import GraderError
from grader.text import inert

MASTER, CHECKS, ANSWERS = "solutions/{}.py", "tests/hidden/test_{}.py", "tests/answers/{}.py"
"""Where an author's files of an assignment lie in a course."""

_STEM = re.compile(r"(?P<number>\d\d)_(?P<name>[a-z][a-z0-9_]*)", re.ASCII)
_MAX_NAME = 60  # of a file's name systems take 255 bytes; results add suffixes, gradebooks show it


def free_name(root: Path, stem: str) -> str:
    """The name within a new stem such as ``09_branches``.

    Raises:
        GraderError: the stem is malformed, or its number is taken; the text suggests another.
    """
    match = _STEM.fullmatch(stem)
    if match is None or len(stem) > _MAX_NAME:
        raise GraderError(
            f"{inert(stem)!r} names no assignment: write two digits, an underscore and a short name in lower"
            f" case, such as {_suggestion(root, stem)}"
        )
    _require_free(root, match["number"], match["name"])
    return match["name"]


def _require_free(root: Path, number: str, name: str) -> None:
    for path in _numbered(root):
        if path.stem.removeprefix("test_").startswith(f"{number}_"):
            raise GraderError(
                f"the number {number} is taken by {path.relative_to(root)}; the next that is free is"
                f" {_next_number(root)}: new {_next_number(root)}_{name}"
            )


def _numbered(root: Path) -> Iterator[Path]:
    for place in (MASTER, CHECKS, ANSWERS):
        pattern = place.format("[0-9][0-9]_*")
        yield from sorted(root.glob(pattern))


def _next_number(root: Path) -> str:
    """The number after the last, else the lowest that is free."""
    taken = {path.stem.removeprefix("test_")[:2] for path in _numbered(root)}
    free = [number for number in (f"{n:02}" for n in range(1, 100)) if number not in taken]
    after = [number for number in free if number > max(taken, default="")]
    return (after or free or ["99"])[0]


def _suggestion(root: Path, stem: str) -> str:
    """A valid stem close to what was written."""
    letters = unicodedata.normalize("NFKD", stem.casefold().removesuffix(".py"))  # an umlaut loses its dots
    plain = letters.encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", plain)
    number = words.pop(0).zfill(2) if words and words[0].isdigit() else ""
    name = "_".join(words).lstrip("0123456789_")[: _MAX_NAME // 2].rstrip("_") or "name"
    taken = {path.stem.removeprefix("test_")[:2] for path in _numbered(root)}
    return f"{number if len(number) == 2 and number not in taken else _next_number(root)}_{name}"
