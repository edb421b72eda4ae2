"""Outside: the scaffold of a new assignment: its three files, with blanks where its author's work is."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from grader.complete_file import write_new
from grader.course import Course
from grader.errors import BrokenRunError, GraderError
from grader.stem import ANSWERS, CHECKS, MASTER, free_name
from grader.text import inert
from grader.vocabulary import PLACEHOLDERS

_FUNCTION = re.compile(r"[A-Za-z][A-Za-z0-9_]+", re.ASCII)
_TAKEN_NAMES = {*dir(builtins), *PLACEHOLDERS}  # notebooks, checks and probes need these themselves
_TEMPLATES = Path(__file__).parent / "templates"
_FILES = {"new_master.txt": MASTER, "new_checks.txt": CHECKS, "new_answers.txt": ANSWERS}


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
        name = free_name(root, stem)
        function = function or name
        if _FUNCTION.fullmatch(function) is None or keyword.iskeyword(function) or function in _TAKEN_NAMES:
            raise GraderError(
                f"{inert(function)!r} cannot be what students complete: choose a function's name, such as"
                f" --function {name.strip('_')}_of"
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
                write_new(path, _filled(template, values).encode())
                written.append(path)
        except OSError as error:
            for path in written:
                path.unlink()
            if isinstance(error, FileExistsError) and error.filename2:
                raise GraderError(f"{error.filename2} is there already, and stays as it is") from error
            raise BrokenRunError(
                f"{error.filename} cannot be written ({error.strerror}): mend that, and try again; nothing of"
                " the new assignment is there"
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


def _require_new_function(root: Path, function: str) -> None:
    """Notebooks that were renamed are recognised by their functions, so no two assignments share one."""
    definition = re.compile(rf"^(?:def|class) {re.escape(function)}\b", re.MULTILINE)
    for path in sorted((root / "solutions").glob("*.py")):
        if definition.search(path.read_text(encoding="utf-8", errors="replace")):
            raise GraderError(
                f"{path.relative_to(root)} defines {function} already: name the new function with --function"
            )
