"""Splits a master's question cell into stub and answer."""

import ast
from enum import Enum
from typing import NamedTuple

from grader.course.assignment import Place, Question
from grader.course.author_file import not_python
from grader.errors import CourseError

Definition = ast.FunctionDef | ast.ClassDef


class _Part(NamedTuple):
    """The answer or the stub of a cell; `lines` has the line of the cell for each line of `source`."""

    name: str
    source: str
    lines: list[int]


class _Marker(Enum):
    BEGIN = "# BEGIN SOLUTION"
    STUB = "# STUB"
    END = "# END SOLUTION"


def read_question(
    where: Place, title: str, cell: str, check: str | None, afterword: str | None = None
) -> Question:
    """Split a question cell, which begins at `where`, into answer and stub.

    `check` and `afterword` are the sources of the question's cells with these tags, if there are such cells.

    Raises:
        CourseError: the cell breaks the format of a master, or contradicts itself.
    """
    answer, stub = _split(where, cell)
    definition = _definition(where, stub)
    if not _agree(_signatures(definition), _signatures(_definition(where, answer))):
        raise CourseError(f"{where}: stub and answer have different signatures; make them the same.")
    name = definition.name
    if ast.get_docstring(definition) is None:
        raise CourseError(f"{where}: `{name}` has no docstring in the stub; say what it takes and returns.")
    return Question(where.question, title, name, stub.source, answer.source, check, afterword, where)


def parse(where: Place, part: str, source: str) -> list[ast.stmt]:
    """The statements of a master's cell; CourseError if it is not Python, with the line and `part`."""
    return _parse(where, _Part(part, source, list(range(1, len(source.splitlines()) + 1))))


def _parse(where: Place, part: _Part) -> list[ast.stmt]:
    try:
        return ast.parse(part.source).body
    except SyntaxError as error:
        line = part.lines[min(error.lineno or 1, len(part.lines)) - 1]
        raise CourseError(f"{where.at(line)}: in the {part.name}, {not_python(error)}.") from error


def _split(where: Place, source: str) -> tuple[_Part, _Part]:
    """The answer and the stub of a question cell, which share every line outside the markers."""
    answer: list[tuple[int, str]] = []
    stub: list[tuple[int, str]] = []
    previous = _Marker.END
    for number, line in enumerate(source.splitlines(), start=1):
        marker = _marker(line)
        if marker is not None:
            if marker is not _follower(previous):
                raise CourseError(
                    f"{where.at(number)}: `{marker.value}` follows `{previous.value}`;"
                    " write BEGIN SOLUTION, STUB and END SOLUTION in this order."
                )
            previous = marker
        elif previous is _Marker.STUB:
            stub.append((number, _uncommented(where.at(number), line)))
        else:
            answer.append((number, line))
            if previous is _Marker.END:
                stub.append((number, line))
    if previous is not _Marker.END or answer == stub:
        raise CourseError(
            f"{where}: put the answer between `# BEGIN SOLUTION`, `# STUB` and `# END SOLUTION`."
        )
    return _part("answer", answer), _part("stub", stub)


def _part(name: str, lines: list[tuple[int, str]]) -> _Part:
    return _Part(name, "\n".join(line for _, line in lines), [number for number, _ in lines])


def _marker(line: str) -> _Marker | None:
    return next((marker for marker in _Marker if marker.value == line.strip()), None)


def _follower(marker: _Marker) -> _Marker:
    order = list(_Marker)
    return order[(order.index(marker) + 1) % len(order)]


def _uncommented(where: Place, line: str) -> str:
    code = line.lstrip()
    indentation = line[: len(line) - len(code)]
    if code in ("", "#"):
        return ""
    if not code.startswith("# "):
        raise CourseError(f"{where}: the stub's line `{code}` is not commented out; start it with `# `.")
    return indentation + code.removeprefix("# ")


def _definition(where: Place, part: _Part) -> Definition:
    match _parse(where, part):
        case [ast.FunctionDef() | ast.ClassDef() as definition]:
            return definition
    raise CourseError(f"{where}: the {part.name} must be exactly one `def` or `class`, alone in its cell.")


def _agree(stub: dict[str, str], answer: dict[str, str]) -> bool:
    """Whether both definitions look the same to callers; a method that only one has does not matter."""
    is_same_name = next(iter(stub)) == next(iter(answer))
    return is_same_name and all(stub[name] == answer[name] for name in stub.keys() & answer)


def _signatures(definition: Definition) -> dict[str, str]:
    """The signature of a function, or of a class and its own methods, by name."""
    if isinstance(definition, ast.FunctionDef):
        return {definition.name: f"def {ast.unparse(definition.args)}"}
    bases = ", ".join(ast.unparse(base) for base in definition.bases)
    methods = (node for node in definition.body if isinstance(node, ast.FunctionDef))
    return {definition.name: f"class {bases}"} | {method.name: ast.unparse(method.args) for method in methods}
