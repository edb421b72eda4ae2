"""A student's notebook: the assignment it answers, its questions, and its released version."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path

from grader.course.assignment import BONUS_TASK, heading_of
from grader.course.public_check import PublicCheck, read_public_check
from grader.errors import GraderError
from grader.notebooks.definitions import defines, functions_and_classes
from grader.notebooks.files import NotebookError, is_notebook
from grader.notebooks.reader import Cell, Document, DocumentCell, Notebook, read_document
from grader.notebooks.recognition import recognise
from grader.text import quoted, terminal_line, terminal_text

#: The names of a course's notebooks.
NOTEBOOKS = "[0-9][0-9]_*.ipynb"
_STEM = re.compile(r"\d\d_\w+")
#: The folders of released notebooks, in a student's repository and in a course.
_RELEASED = (".handout", "assignments")
#: The released notebooks in an installed package, so that a student's notebook works in any folder.
_BROUGHT = Path(__file__).resolve().parents[1] / "handout"
_LONGEST_NAME = 40
_HINT = re.compile(r"<details>\s*<summary>.*?</summary>(.*?)</details>", re.DOTALL)
_MOST_FOLDERS, _MOST_NOTEBOOKS = 1000, 100  # limits of the search for a moved notebook
_NEEDS_NO_QUOTES = re.compile(r"[\w./\\:-]+")
_SAVE_AGAIN = "If it is open in Jupyter, save it there once more."
#: Advice for recovering a student's work, by the kind of a NotebookError.
_REPAIRS = {
    "merge conflict": "Take one of the two versions. Before the merge is committed, `git checkout --ours"
    " {file}` or `git checkout --theirs {file}` does that. Afterwards `git log --oneline -- {file}` lists the"
    " earlier versions, and `git checkout COMMIT -- {file}` takes one. Then `git add {file}`, `git commit`.",
    "empty": _SAVE_AGAIN,
    "damaged": f"{_SAVE_AGAIN} `git log {{file}}` names older ones.",
    "unreadable": "Give yourself permission to read it, then run this again.",
    "too large": "Clear all its outputs in Jupyter, and save it.",
}


@dataclass(frozen=True)
class Question:
    """A question of a released notebook."""

    id: str  # `end` is the bonus task
    title: str
    prose: str  # the markdown below the heading
    function: str  # the name of the function or class it asks for
    starter_cell: DocumentCell | None  # the cell with the function
    check: PublicCheck | None
    #: Phrases for the levels of inputs that the graded checks use, by argument.
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def points(self) -> float:
        """Its points, from the file of its public check; 0 without one."""
        return self.check.points if self.check else 0.0

    @property
    def name(self) -> str:
        """Its name within a sentence."""
        return "the bonus task" if self.id == BONUS_TASK else self.id

    @property
    def hints(self) -> list[str]:
        """The texts of the hints, which are folded below the task."""
        return [text.strip() for text in _HINT.findall(self.prose)]


@dataclass(frozen=True)
class StudentNotebook:
    """A student's notebook, and the released one where that is near."""

    document: Document
    stem: str  # the assignment it answers
    released: Document | None
    questions: tuple[Question, ...]  # of the released notebook if it is known, otherwise its own

    @property
    def name(self) -> str:
        """The name of its file, fit to be shown."""
        return terminal_text(self.document.path.name)

    @property
    def title(self) -> str:
        """Its first heading, as released where that is known; the assignment's name where there is none."""
        prose = (cell.source for cell in (self.released or self.document).cells if not cell.number)
        headings = (line for source in prose for line in source.splitlines() if line.startswith("# "))
        return terminal_text(next(headings, "").removeprefix("# ").strip() or self.stem)

    @property
    def argument(self) -> str:
        """The notebook as an argument of a command."""
        return argument_of(self.document.path)

    @property
    def code(self) -> tuple[Cell, ...]:
        """Its code cells; the first has number 1."""
        return self.document.notebook.cells

    @property
    def demonstrations(self) -> list[str]:
        """The released code cells besides starter code, if they are known."""
        starter = {question.starter_cell.index for question in self.questions if question.starter_cell}
        cells = self.released.cells if self.released else ()
        return [cell.source for cell in cells if cell.number and cell.index not in starter]

    def cells_defining(self, question: Question) -> list[DocumentCell]:
        """The code cells that define the function of a question."""
        return [
            cell for cell in self.document.cells if cell.number and defines(cell.source, question.function)
        ]

    def cell_of(self, question: Question) -> DocumentCell | None:
        """The code cell with the answer to a question.

        It has the id of the starter code. Without such a cell, it is the last one that defines the function.
        """
        released = question.starter_cell.id if question.starter_cell else ""
        of_the_id = (cell for cell in self.document.cells if cell.number and cell.id and cell.id == released)
        return next(of_the_id, None) or next(reversed(self.cells_defining(question)), None)

    def cell_name(self, number: int) -> str:
        """A code cell within a sentence: its question or first line, because Jupyter shows no number."""
        for question in self.questions:
            cell = self.cell_of(question)
            if cell is not None and cell.number == number:
                return f"the cell of {question.name}"
        lines = (line.strip() for line in self.code[number - 1].source.splitlines())
        name = terminal_line(next((line for line in lines if line and not line.startswith("#")), ""))
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME].rstrip()} ..."
        return f"code cell {number} ({quoted(name)})" if name else f"code cell {number}"

    def place(self, number: int, line: int, *, is_subject: bool = False) -> str:
        """A line of a code cell within a sentence; the cell alone if the line is 0.

        With `is_subject`, the verb follows, and so a comma if it is needed.
        """
        name = self.cell_name(number)
        if not line:
            return name
        if name.startswith("the "):
            return f"line {line} of {name}"
        return f"{name}, line {line}{',' if is_subject else ''}"

    def question(self, name: str) -> Question:
        """The question of an id (``q3``, ``3``) or of a function's name.

        Raises:
            GraderError: there is none; the text names those there are.
        """
        wanted = name.casefold()
        for question in self.questions:
            if wanted in {question.id.casefold(), question.id[1:], question.function.casefold()}:
                return question
        known = ", ".join(f"{question.id} ({question.function})" for question in self.questions)
        raise GraderError(f"{self.name} has no question {terminal_text(name)}; it has {known}.")


class UnreadableError(GraderError):
    """A student's notebook cannot be read; the text says why, and how to go on."""


def open_notebook(path: Path) -> StudentNotebook:
    """Read a notebook and its released version.

    Raises:
        UnreadableError: it cannot be read.
        GraderError: it belongs to no assignment that was released, and carries no public checks.
    """
    near = _released_near(path)
    try:
        document = read_document(path)
    except NotebookError as error:
        raise UnreadableError(_advice(path, error, near.get(_assignment(path, None, near) or ""))) from error
    stem = _assignment(path, document.notebook, near) or path.stem
    original = near[stem].document if stem in near else None
    questions = questions_of(original or document)
    if not questions:
        stems = f" The course has {', '.join(sorted(near))}." if near else ""
        raise GraderError(
            f"{terminal_text(path.name)} is not a notebook of this course: it names no assignment and"
            f" contains no public check.{stems} Work in the notebook that you were given, and keep its name."
        )
    return StudentNotebook(document, stem, original, questions)


def released_notebook(path: Path) -> StudentNotebook | None:
    """The released notebook of a notebook's name, also where that notebook cannot be read."""
    near = _released_near(path)
    return near.get(_assignment(path, None, near) or "")


def assignment_of(path: Path) -> str | None:
    """The assignment that a notebook answers; None if it is not of the course."""
    try:
        notebook = read_document(path).notebook
    except NotebookError:
        notebook = None
    return _assignment(path, notebook, _released_near(path))


def _assignment(path: Path, notebook: Notebook | None, near: Mapping[str, StudentNotebook]) -> str | None:
    """The assignment, as grading finds it: by metadata, then the file's name, then the defined names.

    A notebook that cannot be read (None) is known by its name. So is one that was not released near, unless
    its metadata names an assignment.
    """
    functions = {stem: [question.function for question in near[stem].questions] for stem in near}
    recognition = recognise(path.stem, notebook, functions)
    if stem := recognition.contradicts or recognition.assignment:
        return stem
    named = (_STEM.match(name) for name in ((notebook and notebook.assignment) or "", path.stem))
    return next((match[0] for match in named if match), None)


def find_notebook(argument: str) -> Path:
    """The notebook that an argument names.

    That is its path, with or without the suffix, or how its name begins, or the assignment that it answers.

    Raises:
        GraderError: there is none, or several; the text names the nearest.
    """
    path = Path(argument)
    for candidate in (path, path.with_name(f"{path.name}.ipynb")) if path.name else (path,):
        if candidate.is_file() or candidate.is_symlink():
            if is_notebook(candidate.name):
                return candidate
            name = terminal_text(candidate.name)
            raise GraderError(f"{name} is not a notebook: name one, such as {_example(candidate.parent)}")
    if path.is_dir():
        raise GraderError(
            f"{terminal_text(argument)} is a folder: name a notebook in it, such as {_example(path)}."
        )
    begun, names = path.name.removesuffix(".ipynb"), {}
    if path.parent.is_dir():
        names = {other.name: assignment_of(other) or "" for other in sorted(path.parent.glob("*.ipynb"))}
    named = [name for name in names if name.startswith(path.name)]
    near = named or [name for name, stem in names.items() if begun and stem.startswith(begun)]
    if len(near) == 1:
        return path.parent / near[0]
    near = (
        near
        or [name for name in names if path.name.casefold() in name.casefold()]
        or difflib.get_close_matches(path.name, names, n=3, cutoff=0.4)
    )
    if near:
        raise GraderError(
            f"there is no notebook {terminal_text(argument)}:"
            f" did you mean {' or '.join(map(terminal_text, near))}?"
        )
    if (asking := _asking(argument, path.parent)) is not None:
        raise GraderError(
            f"{terminal_text(argument)} is a question: name its notebook first, as in"
            f" {argument_of(asking)} {terminal_text(argument)}."
        )
    raise GraderError(
        f"there is no notebook {terminal_text(argument)}: go to the folder that holds yours,"
        f" and name it as it is there, such as {_example(path.parent)}."
    )


def _asking(name: str, folder: Path) -> Path | None:
    """The notebook of a folder that has a question of this id or function, the last one saved; else None."""
    found = []
    for path in folder.glob(NOTEBOOKS):
        with suppress(GraderError):
            open_notebook(path).question(name)
            found.append(path)
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def notebooks_in(folder: Path) -> dict[Path, str]:
    """The notebooks of a course in a folder, each with the assignment it answers; of a notebook, itself.

    They are in the order of assignments; of each the notebook that is named so comes first.

    Raises:
        GraderError: there is no such folder, or none in it.
    """
    if not folder.exists():
        raise GraderError(
            f"there is no folder {terminal_text(str(folder))}: name the one with your notebooks."
        )
    if folder.is_file():
        return {folder: assignment_of(folder) or folder.stem}
    found = [(path, assignment_of(path)) for path in folder.glob("*.ipynb") if not path.name.startswith(".")]
    known = sorted((stem, path.stem != stem, path) for path, stem in found if stem)
    if not known:
        raise GraderError(
            f"there is no notebook such as 01_name.ipynb in {terminal_text(str(folder.resolve()))}:"
            " go to the folder that holds yours, or name it."
        )
    return {path: stem for stem, _, path in known}


def notebooks_below(folder: Path, stem: str) -> list[Path]:
    """The notebooks of an assignment in a folder and below, without hidden folders and virtual environments.

    Of very many folders or notebooks, only the first are looked at.
    """
    found = []
    for above, folders, names in islice(os.walk(folder), _MOST_FOLDERS):
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(above) / name for name in sorted(names) if is_notebook(name)]
    return [path for path in found[:_MOST_NOTEBOOKS] if assignment_of(path) == stem]


def _example(folder: Path) -> str:
    """A notebook of a folder, or a made-up name."""
    names = sorted(path.name for path in folder.glob(NOTEBOOKS))
    return terminal_text(str(folder / (names or ["01_name.ipynb"])[0]))


def argument_of(path: Path) -> str:
    """A notebook as an argument of a command."""
    name = terminal_text(str(path))
    short = name.removesuffix(".ipynb")
    return short if _NEEDS_NO_QUOTES.fullmatch(short) else f'"{name}"'


def _advice(path: Path, why: NotebookError, released: StudentNotebook | None) -> str:
    """Why a notebook cannot be read, and what its student does: the error's own advice is for submissions."""
    repair = _REPAIRS.get(why.kind, "").format(file=_quoted(str(path)))
    restart = "download the notebook again from your course."
    if released is not None:
        origin = released.document.path
        with suppress(ValueError):  # on Windows, the path may be on another drive
            origin = Path(os.path.relpath(origin))
        restart = f"begin again: move it aside, and copy {_quoted(str(origin))} to {_quoted(str(path))}."
    advice = f"{repair} Or {restart}" if repair else f"{restart[0].upper()}{restart[1:]}"
    return f"{terminal_line(why.problem)} {advice}"


def _quoted(name: str) -> str:
    name = terminal_line(name)
    return f'"{name}"' if " " in name else name


def _released_near(path: Path) -> dict[str, StudentNotebook]:
    """The released notebooks nearest to a notebook, by stem, without the notebook itself.

    If no folder above has any, the notebooks in the installed package are used.
    """
    here = path.absolute().parent
    for folder in (*(above / name for above in (here, *here.parents) for name in _RELEASED), _BROUGHT):
        notebooks = [
            _read_released(other, other.lstat().st_mtime_ns)
            for other in sorted(folder.glob(NOTEBOOKS))
            if not (other.exists() and path.exists() and other.samefile(path))
        ]
        if found := {notebook.stem: notebook for notebook in notebooks if notebook}:
            return found
    return {}


@lru_cache
def _read_released(path: Path, modified: int) -> StudentNotebook | None:  # noqa: ARG001 - it changes with the time
    """A released notebook; None if it cannot be read or asks nothing."""
    try:
        document = read_document(path)
    except NotebookError:
        return None
    questions = questions_of(document)
    return StudentNotebook(document, path.stem, document, questions) if questions else None


def questions_of(document: Document) -> tuple[Question, ...]:
    """The questions of a notebook, in its order.

    Raises:
        GraderError: a public check in it is damaged.
    """
    checks = {
        name: read_public_check(f"{document.path.name}, {name}", source)
        for name, source in document.tests.items()
    }
    questions = {question.id: question for question in _below_headings(document, checks)}
    for name, check in checks.items():
        if name not in questions and check.function is not None:
            levels = document.levels.get(name, {})
            questions[name] = Question(name, check.tests[0].title, "", check.function, None, check, levels)
    return tuple(questions.values())


def _below_headings(document: Document, checks: dict[str, PublicCheck]) -> Iterator[Question]:
    """Each heading with the first cell below it that defines something, up to the next heading."""
    headings = [
        (cell, heading) for cell in document.cells if not cell.number and (heading := heading_of(cell.source))
    ]
    for (cell, (identity, title)), end in zip(
        headings, [*(later.index for later, _ in headings[1:]), len(document.cells)], strict=False
    ):
        check = checks.get(identity)
        below = [other for other in document.cells[cell.index + 1 : end] if other.number]
        starter = next((other for other in below if _defines_answer(other, check)), None)
        function = (check and check.function) or (starter and functions_and_classes(starter.source)[0])
        if function:
            prose = cell.source.partition("\n")[2].strip()
            levels = document.levels.get(identity, {})
            yield Question(identity, title, prose, function, starter, check, levels)


def _defines_answer(cell: DocumentCell, check: PublicCheck | None) -> bool:
    names = functions_and_classes(cell.source)
    return bool(names) if check is None or check.function is None else check.function in names
