"""Authors' files as text and as syntax, and the parts that still say TODO.

TODO stands for the parts that an author must write: a name in code, or text of a docstring, a message or a
notebook source. So a file is valid Python from the beginning. A TODO in a comment does not count. An
assignment with a TODO is not published; its questions without a TODO can be tried.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.course.assignment import ANSWERS, CHECKS, IDENTITY, SOURCE
from grader.errors import CourseError
from grader.text import some

TODO = "TODO"

_MAX_SHOWN = 3
_TODO = re.compile(rf"\b{TODO}\b")
_QUESTION_TAG = re.compile(rf'(?m)^# %%.*"question ({IDENTITY})"')


def read_text(path: Path) -> str:
    """The text of a file of the course, with line ends as in Python source.

    Raises:
        CourseError: the file cannot be read or is not UTF-8; the message names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CourseError(f"{path} is not UTF-8 (line {line}): save it as UTF-8") from error
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from error
    if text.startswith("\ufeff"):
        raise CourseError(f"{path} begins with a byte order mark: save it as UTF-8 without one")
    return text


def read_syntax(path: Path) -> ast.Module:
    """The syntax of a Python file of the course.

    Raises:
        CourseError: the file cannot be read or is not Python; the message names the line.
    """
    try:
        return ast.parse(read_text(path), path.name)
    except SyntaxError as error:
        raise CourseError(f"{path}, line {error.lineno}: {not_python(error)}") from error
    except ValueError as error:
        raise CourseError(f"{path} is not Python: {error}") from error


def not_python(error: SyntaxError) -> str:
    """Python's message about a line that it cannot read, and the line."""
    line = (error.text or "").strip()
    return f"this is not valid Python ({error.msg}){f': `{line}`' if line else ''}"


@dataclass(frozen=True)
class Todo:
    """A line with a TODO: its file, its number counted from 1, and its text."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.text}"


def todos_in(path: Path) -> list[Todo]:
    """The lines of a file with a TODO, in order; empty if the file cannot be read.

    In a notebook source, all text of a markdown cell counts. Starter code, which is commented out, counts as
    code.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    if TODO not in text:  # a shortcut for most files, which every command reads
        return []
    found, is_text, is_starter_code = [], False, False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("# %%"):
            is_text, is_starter_code = "[markdown]" in line, False
        elif line.strip() in {"# STUB", "# END SOLUTION"}:
            is_starter_code = line.strip() == "# STUB"
        code = line.replace("# ", "", 1) if is_starter_code else line
        if _TODO.search(line if is_text else code.partition("#")[0]):
            found.append(Todo(path, number, line.strip().lstrip("# ")))
    return found


def todos_of(root: Path, stem: str) -> list[Todo]:
    """The TODOs of an assignment: in its notebook source, its hidden checks and its known answers."""
    return [todo for kind in (SOURCE, CHECKS, ANSWERS) for todo in todos_in(root / kind.format(stem))]


def require_finished(root: Path, stem: str) -> None:
    """Raise a CourseError that names the first lines with a TODO, if there are any."""
    todos = todos_of(root, stem)
    if todos:
        shown = "".join(f"\n  {line}" for line in some(map(str, todos), _MAX_SHOWN))
        number = "one line" if len(todos) == 1 else f"{len(todos)} lines"
        raise CourseError(f"{stem} still says TODO, in {number}; put your text or code there:{shown}")


def written_definitions(path: Path, nodes: Iterable[ast.stmt]) -> list[ast.stmt]:
    """The statements of a file that contain no TODO, and use no name defined by one that does."""
    written, todo_lines, unwritten = list(nodes), {todo.line for todo in todos_in(path)}, set[str]()

    def is_unwritten(node: ast.stmt) -> bool:
        return not (todo_lines.isdisjoint(lines_of(node)) and unwritten.isdisjoint(_names_used(node)))

    while todo_lines and (found := [node for node in written if is_unwritten(node)]):
        written = [node for node in written if node not in found]
        unwritten.update(name for node in found for name in names_defined(node))
    return written


def _names_used(node: ast.stmt) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def names_defined(node: ast.stmt) -> list[str]:
    """The names that a statement defines: a function, a class, or variables such as a contract."""
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []


def lines_of(node: ast.stmt) -> range:
    """The numbers of a statement's lines in its file, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)


def questions_asked(path: Path) -> set[str]:
    """The ids of all questions in the notebook source that belongs to a file of checks or answers."""
    source = path.parents[2] / SOURCE.format(path.stem.removeprefix("test_"))
    return set(_QUESTION_TAG.findall(read_text(source))) if source.is_file() else set()


def global_names(table: symtable.SymbolTable) -> set[str]:
    """The global names that code uses but does not define."""
    own = {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    return own.union(*map(global_names, table.get_children()))
