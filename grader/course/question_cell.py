"""Splits a master's question cell into stub and answer."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from grader.course.assignment import Place, Question
from grader.course.author_file import not_python
from grader.errors import CourseError

_BEGIN, _STUB, _END = "# BEGIN SOLUTION", "# STUB", "# END SOLUTION"
#: Each marker, with the marker that it follows.
_FOLLOWS = {_BEGIN: _END, _STUB: _BEGIN, _END: _STUB}

_Definition = ast.FunctionDef | ast.ClassDef
#: The answer or the stub of a cell: its lines, by the number of the cell's line.
_Part = dict[int, str]


def read_question(
    where: Place, title: str, cell: str, check: str | None, afterword: str | None = None
) -> Question:
    """Split a question cell, which begins at `where`, into answer and stub.

    `check` and `afterword` are the sources of the question's cells with these tags, if there are such cells.

    Raises:
        CourseError: the cell breaks the format of a master, or contradicts itself.
    """
    answer, stub = _split(where, cell)
    definition = _definition(where, "stub", stub)
    if not _agree(_signatures(definition), _signatures(_definition(where, "answer", answer))):
        raise CourseError(f"{where}: stub and answer have different signatures; make them the same.")
    name = definition.name
    if ast.get_docstring(definition) is None:
        raise CourseError(f"{where}: `{name}` has no docstring in the stub; say what it takes and returns.")
    return Question(where.question, title, name, _source(stub), _source(answer), check, afterword, where)


def parse(where: Place, part: str, source: str, lines: Sequence[int] = ()) -> list[ast.stmt]:
    """The statements of a part of a master's cell; CourseError if it is not Python.

    `lines` has, for each line of `source`, the line of the cell, unless both are the same.
    """
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        numbers = lines or range(1, len(source.splitlines()) + 1)
        line = numbers[min(error.lineno or 1, len(numbers)) - 1]
        raise CourseError(f"{where.at(line)}: in the {part}, {not_python(error)}.") from error


def _split(where: Place, source: str) -> tuple[_Part, _Part]:
    """The answer and the stub of a question cell, which share every line outside the markers."""
    answer: _Part = {}
    stub: _Part = {}
    previous = _END
    for number, line in enumerate(source.splitlines(), start=1):
        marker = line.strip()
        if marker in _FOLLOWS:
            if previous != _FOLLOWS[marker]:
                raise CourseError(
                    f"{where.at(number)}: `{marker}` follows `{previous}`;"
                    " write BEGIN SOLUTION, STUB and END SOLUTION in this order."
                )
            previous = marker
        elif previous == _STUB:
            stub[number] = _uncommented(where.at(number), line)
        else:
            answer[number] = line
            if previous == _END:
                stub[number] = line
    if previous != _END or answer == stub:
        raise CourseError(
            f"{where}: put the answer between `# BEGIN SOLUTION`, `# STUB` and `# END SOLUTION`."
        )
    return answer, stub


def _source(part: _Part) -> str:
    return "\n".join(part.values())


def _uncommented(where: Place, line: str) -> str:
    code = line.lstrip()
    indentation = line[: len(line) - len(code)]
    if code in ("", "#"):
        return ""
    if not code.startswith("# "):
        raise CourseError(f"{where}: the stub's line `{code}` is not commented out; start it with `# `.")
    return indentation + code.removeprefix("# ")


def _definition(where: Place, name: str, part: _Part) -> _Definition:
    match parse(where, name, _source(part), [*part]):
        case [ast.FunctionDef() | ast.ClassDef() as definition]:
            return definition
    raise CourseError(f"{where}: the {name} must be exactly one `def` or `class`, alone in its cell.")


def _agree(stub: dict[str, str], answer: dict[str, str]) -> bool:
    """Whether both definitions look the same to callers; a method that only one has does not matter."""
    is_same_name = next(iter(stub)) == next(iter(answer))
    return is_same_name and all(stub[name] == answer[name] for name in stub.keys() & answer)


def _signatures(definition: _Definition) -> dict[str, str]:
    """The signature of a function, or of a class and its own methods, by name."""
    if isinstance(definition, ast.FunctionDef):
        return {definition.name: f"def {ast.unparse(definition.args)}"}
    bases = ", ".join(ast.unparse(base) for base in definition.bases)
    methods = (node for node in definition.body if isinstance(node, ast.FunctionDef))
    return {definition.name: f"class {bases}"} | {method.name: ast.unparse(method.args) for method in methods}
