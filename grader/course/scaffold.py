"""Writes the files of a new assignment, or adds a new question to them, with blanks for the author."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.course.assignment import ANSWERS, CHECKS, MASTER, STEM
from grader.course.course import Course
from grader.course.new_question import NewQuestion, file_head, with_part
from grader.course.probe_source import PLACEHOLDERS
from grader.errors import BrokenRunError, CourseError, GraderError
from grader.files import write_atomic, write_exclusive
from grader.text import terminal_text

_FUNCTION = re.compile(r"[A-Za-z][A-Za-z0-9_]+", re.ASCII)
_QUESTION = re.compile(r'(?m)^# %% tags=\["question q(\d+)"\]')
_TAKEN_NAMES = {*dir(builtins), *PLACEHOLDERS}  # notebooks, checks and probes need these themselves
_KINDS = (MASTER, CHECKS, ANSWERS)
_MAX_NAME = 60  # of a file's name systems take 255 bytes; results add suffixes, gradebooks show it


@dataclass(frozen=True)
class Scaffold:
    """Questions to write; unless the assignment `is_new`, its files get them as further questions."""

    root: Path
    stem: str
    questions: tuple[NewQuestion, ...]
    is_new: bool

    @classmethod
    def plan(
        cls, root: Path, stem: str, function: str | None = None, questions: Sequence[str] = ()
    ) -> Scaffold:
        """A scaffold whose names are free.

        Args:
            function: the name of a function of ``x`` that students complete.
            questions: each a function and its parameters, such as ``total:losses,weights``; with these, the
                assignment may exist. With neither, the function has the assignment's name.

        Raises:
            GraderError: a name is malformed, or the number is taken; the text suggests another.
        """
        is_new = not (questions and _is_begun(root, stem))
        name = _free_name(root, stem) if is_new else stem[3:]
        wanted = [function, *questions] if function else [*questions]
        parsed = tuple(map(NewQuestion.parse, wanted)) or (NewQuestion(name),)
        functions = [question.function for question in parsed]
        for asked in functions:
            _require_name(asked, name)
            _require_new_function(root, asked)
            if functions.count(asked) > 1:
                raise GraderError(f"two questions ask for {asked}: give each a function of its own")
        return cls(root, stem, parsed, is_new)

    def write(self) -> list[Path]:
        """Write all files or none; an existing file keeps its text.

        Raises:
            GraderError: a file of a new assignment exists already.
            CourseError: a file cannot be read, so that nothing can be added to it.
            BrokenRunError: a file cannot be written.
        """
        written: list[tuple[Path, str | None]] = []
        try:
            for path, before, text in self._texts():
                if before is None:
                    write_exclusive(path, text.encode())
                else:
                    write_atomic(path, text.encode())
                written.append((path, before))
        except OSError as error:
            _take_back(written)
            if isinstance(error, FileExistsError) and error.filename2:
                raise GraderError(f"{error.filename2} is there already, and stays as it is") from error
            raise BrokenRunError(
                f"{error.filename} cannot be written ({error.strerror}): mend that, and try again; nothing of"
                f" the new {'assignment' if self.is_new else 'question'} is there"
            ) from error
        return [path for path, _ in written]

    def _texts(self) -> list[tuple[Path, str | None, str]]:
        """Each file, its text now (None if it is missing), and its new text."""
        master = "" if self.is_new else self._read(MASTER) or ""
        first = 1 + max(map(int, _QUESTION.findall(master)), default=0)
        return [(self.root / kind.format(self.stem), *self._text(kind, first)) for kind in _KINDS]

    def _text(self, kind: str, first: int) -> tuple[str | None, str]:
        before = None if self.is_new else self._read(kind)
        text = file_head(kind, self.stem) if before is None else before
        try:
            for number, question in enumerate(self.questions, start=first):
                text = with_part(kind, text, question.part(kind, f"q{number}"))
        except SyntaxError as error:
            path = self.root / kind.format(self.stem)
            raise CourseError(
                f"{path}, line {error.lineno}: {error.msg}; mend that, so that a question can be added"
            ) from error
        return before, text

    def _read(self, kind: str) -> str | None:
        """The text of a file, None where it is missing."""
        path = self.root / kind.format(self.stem)
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise CourseError(f"{path} cannot be read: {error}") from error


def _take_back(written: Sequence[tuple[Path, str | None]]) -> None:
    for path, before in written:
        with suppress(OSError):
            path.unlink() if before is None else write_atomic(path, before.encode())


def _is_begun(root: Path, stem: str) -> bool:
    return stem in {path.stem for path in root.glob(MASTER.format("*"))}


def _free_name(root: Path, stem: str) -> str:
    """The name within a new stem such as ``09_branches``; GraderError if it is malformed or taken."""
    match = STEM.fullmatch(stem)
    if match is None or len(stem) > _MAX_NAME:
        raise GraderError(
            f"{terminal_text(stem)!r} names no assignment: write two digits, an underscore and a short name"
            f" in lower case, such as {_suggestion(root, stem)}"
        )
    number, name = match["number"], match["name"]
    for path, taken in _numbered_files(root):
        if taken == number:
            further = f"; or add a question: new {stem} --question NAME:x" if _is_begun(root, stem) else ""
            raise GraderError(
                f"the number {number} is taken by {path.relative_to(root)}; the next that is free is"
                f" {_next_number(root)}: new {_next_number(root)}_{name}{further}"
            )
    return name


def _numbered_files(root: Path) -> Iterator[tuple[Path, str]]:
    """The files of all assignments, each with its number, as in ``09``."""
    for kind in _KINDS:
        for path in sorted(root.glob(kind.format("[0-9][0-9]_*"))):
            yield path, path.stem.removeprefix("test_")[:2]


def _next_number(root: Path) -> str:
    """The number after the last, else the lowest that is free."""
    taken = {number for _, number in _numbered_files(root)}
    free = [number for number in (f"{n:02}" for n in range(1, 100)) if number not in taken]
    after = [number for number in free if number > max(taken, default="")]
    return (after or free or ["99"])[0]


def _suggestion(root: Path, stem: str) -> str:
    """A valid stem that is close to an invalid stem."""
    letters = unicodedata.normalize("NFKD", stem.casefold().removesuffix(".py"))  # an umlaut loses its dots
    plain = letters.encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", plain)
    number = words.pop(0).zfill(2) if words and words[0].isdigit() else ""
    name = "_".join(words).lstrip("0123456789_")[: _MAX_NAME // 2].rstrip("_") or "name"
    taken = {taken for _, taken in _numbered_files(root)}
    return f"{number if len(number) == 2 and number not in taken else _next_number(root)}_{name}"


def _require_name(function: str, name: str) -> None:
    if _FUNCTION.fullmatch(function) is None or keyword.iskeyword(function) or function in _TAKEN_NAMES:
        raise GraderError(
            f"{terminal_text(function)!r} cannot be what students complete: choose a function's name, such as"
            f" --function {name.strip('_')}_of"
        )


def course_folder(start: Path | None = None) -> Path:
    """The course's folder at or above a folder, also of a course without assignments."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "solutions").is_dir() and (folder / "tests" / "hidden").is_dir():
            return folder
    return Course.find(here).root


def _require_new_function(root: Path, function: str) -> None:
    """Notebooks that were renamed are recognised by their functions, so no two assignments share one."""
    definition = re.compile(rf"^(?:def|class) {re.escape(function)}\b", re.MULTILINE)
    for path in sorted((root / "solutions").glob("*.py")):
        if definition.search(path.read_text(encoding="utf-8", errors="replace")):
            raise GraderError(
                f"{path.relative_to(root)} defines {function} already: name the new function with --function"
            )
