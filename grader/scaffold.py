"""Outside: the scaffold of a new assignment: its three files, with blanks where its author's work is."""

from __future__ import annotations

import builtins
import keyword
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from grader.course import Course
from grader.errors import BrokenRunError, GraderError
from grader.text import inert
from grader.vocabulary import PLACEHOLDERS

_STEM = re.compile(r"(?P<number>\d\d)_(?P<name>[a-z][a-z0-9_]*)", re.ASCII)
_FUNCTION = re.compile(r"[A-Za-z][A-Za-z0-9_]+", re.ASCII)
_TAKEN_NAMES = {*dir(builtins), *PLACEHOLDERS}  # notebooks, checks and probes need these themselves
_TEMPLATES = Path(__file__).parent / "templates"
_FILES = {
    "new_master.txt": "solutions/{}.py",
    "new_checks.txt": "tests/hidden/test_{}.py",
    "new_answers.txt": "tests/answers/{}.py",
}
_MAX_NAME = 60  # of a file's name systems take 255 bytes; results add suffixes, gradebooks show it


@dataclass(frozen=True)
class Scaffold:
    """What is to be written.

    Attributes:
        root: the course's folder.
        stem: the name of the assignment, as in ``09_branches``.
        function: what students will complete.
    """

    root: Path
    stem: str
    function: str

    @classmethod
    def plan(cls, root: Path, stem: str, function: str | None = None) -> Scaffold:
        """A scaffold for which there is room.

        Args:
            root: the course's folder.
            stem: the name of the assignment.
            function: the name of the function students complete; None for the assignment's own name.

        Raises:
            GraderError: a name is none, or the number is taken; the text suggests another.
        """
        match = _STEM.fullmatch(stem)
        if match is None or len(stem) > _MAX_NAME:
            raise GraderError(
                f"{inert(stem)!r} names no assignment: write two digits, an underscore and a short name in"
                f" lower case, such as {_suggestion(root, stem)}"
            )
        _require_free(root, match["number"], match["name"])
        function = function or match["name"]
        if _FUNCTION.fullmatch(function) is None or keyword.iskeyword(function) or function in _TAKEN_NAMES:
            raise GraderError(
                f"{inert(function)!r} cannot be what students complete: choose a function's name, such as"
                f" --function {match['name'].strip('_')}_of"
            )
        _require_new_function(root, function)
        return cls(root, stem, function)

    def write(self) -> list[Path]:
        """Write the files, all of them or none, and over nothing.

        Raises:
            GraderError: one of them is there already.
            BrokenRunError: a file cannot be written.
        """
        values = {
            "stem": self.stem,
            "number": str(int(self.stem[:2])),
            "function": self.function,
        }
        written: list[Path] = []
        try:
            for template, place in _FILES.items():
                path = self.root / place.format(self.stem)
                _write_new(path, _filled(template, values))
                written.append(path)
        except OSError as error:
            for path in written:
                path.unlink()
            if isinstance(error, FileExistsError):
                raise GraderError(f"{error.filename2} is there already, and stays as it is") from error
            raise BrokenRunError(
                f"{error.filename} cannot be written ({error.strerror}): nothing was"
            ) from error
        return written


def course_folder(start: Path | None = None) -> Path:
    """The folder of the course at or above a folder; unlike ``Course.find``, of an empty one, too.

    Raises:
        GraderError: there is none.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "solutions").is_dir() and (folder / "tests" / "hidden").is_dir():
            return folder
    return Course.find(here).root


def _filled(template: str, values: Mapping[str, str]) -> str:
    return Template((_TEMPLATES / template).read_text(encoding="utf-8")).substitute(values)


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there: complete, or not at all, and never over another."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.link(unfinished, path)  # unlike a rename this refuses to replace anything
    finally:
        unfinished.unlink(missing_ok=True)


def _require_free(root: Path, number: str, name: str) -> None:
    for path in _numbered(root):
        if path.stem.removeprefix("test_").startswith(f"{number}_"):
            raise GraderError(
                f"the number {number} is taken by {path.relative_to(root)}; the next that is free is"
                f" {_next_number(root)}: new {_next_number(root)}_{name}"
            )


def _require_new_function(root: Path, function: str) -> None:
    """Notebooks that were renamed are recognised by their functions, so no two assignments share one."""
    definition = re.compile(rf"^(?:def|class) {re.escape(function)}\b", re.MULTILINE)
    for path in sorted((root / "solutions").glob("*.py")):
        if definition.search(path.read_text(encoding="utf-8", errors="replace")):
            raise GraderError(
                f"{path.relative_to(root)} defines {function} already: name the new function with --function"
            )


def _numbered(root: Path) -> Iterator[Path]:
    for place in _FILES.values():
        pattern = place.format("[0-9][0-9]_*")
        yield from sorted(root.glob(pattern))


def _next_number(root: Path) -> str:
    """The number after the last, else the lowest that is free."""
    taken = {path.stem.removeprefix("test_")[:2] for path in _numbered(root)}
    free = [number for number in (f"{n:02}" for n in range(1, 100)) if number not in taken]
    after = [number for number in free if number > max(taken, default="")]
    return (after or free or ["99"])[0]


def _suggestion(root: Path, stem: str) -> str:
    """The name somebody may have meant."""
    letters = unicodedata.normalize("NFKD", stem.casefold().removesuffix(".py"))  # an umlaut loses its dots
    plain = letters.encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", plain)
    number = words.pop(0).zfill(2) if words and words[0].isdigit() else ""
    name = "_".join(words).lstrip("0123456789_")[: _MAX_NAME // 2].rstrip("_") or "name"
    taken = {path.stem.removeprefix("test_")[:2] for path in _numbered(root)}
    return f"{number if len(number) == 2 and number not in taken else _next_number(root)}_{name}"
