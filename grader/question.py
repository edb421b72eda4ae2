"""Outside: one question of an assignment, with stub and answer taken from the same cell of the master.

The masters are written by the course, so they may be parsed with `ast`; a student's code never is.
"""

import ast
from dataclasses import dataclass
from enum import Enum

from grader.errors import CourseError

Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Question:
    """What a master says about one question."""

    id: str
    """`q1`, `q2`, ... in the order of the notebook."""
    title: str
    function: str
    """The name of the function or class which the student completes."""
    stub: str
    """The source of the cell as students get it."""
    answer: str
    """The source of the cell with the reference answer, without markers."""
    public_check: str | None
    """The source of the check cell, or None where a question has no public check."""


class _Marker(Enum):
    BEGIN = "# BEGIN SOLUTION"
    STUB = "# STUB"
    END = "# END SOLUTION"


def read_question(where: str, identity: str, title: str, cell: str, check: str | None) -> Question:
    """Take a question cell apart into answer and stub.

    Args:
        where: the file and the question, as an error message should name them.
        identity: the question's id, such as `q1`.
        title: the title from its heading.
        cell: the source of the cell tagged `question`, markers included.
        check: the source of the cell tagged `check`, or None; see `grader.public_check`.

    Raises:
        CourseError: the cell contradicts the format of a master or itself.
    """
    answer, stub = _split(where, cell)
    asked, given = _definition(where, "stub", stub), _definition(where, "answer", answer)
    if not _agree(_signatures(asked), _signatures(given)):
        raise CourseError(f"{where}: stub and answer have different signatures; make them the same.")
    if ast.get_docstring(asked) is None:
        raise CourseError(
            f"{where}: `{asked.name}` has no docstring in the stub; say what it takes and returns."
        )
    return Question(identity, title, asked.name, stub, answer, check)


def parse(where: str, part: str, source: str) -> list[ast.stmt]:
    """Return the statements of a cell of a master.

    Raises:
        CourseError: it is not Python; the text names `where` and `part`.
    """
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        raise CourseError(
            f"{where}: the {part} is not valid Python (line {error.lineno}: {error.msg})."
        ) from error


def _split(where: str, source: str) -> tuple[str, str]:
    """Return answer and stub of a question cell, which share every line outside the markers."""
    answer: list[str] = []
    stub: list[str] = []
    previous = _Marker.END
    for line in source.splitlines():
        marker = _marker(line)
        if marker is not None:
            if marker is not _follower(previous):
                raise CourseError(
                    f"{where}: `{marker.value}` follows `{previous.value}`;"
                    " write BEGIN SOLUTION, STUB and END SOLUTION in this order."
                )
            previous = marker
        elif previous is _Marker.STUB:
            stub.append(_uncommented(where, line))
        else:
            answer.append(line)
            if previous is _Marker.END:
                stub.append(line)
    if previous is not _Marker.END or answer == stub:
        raise CourseError(
            f"{where}: put the answer between `# BEGIN SOLUTION`, `# STUB` and `# END SOLUTION`."
        )
    return "\n".join(answer), "\n".join(stub)


def _marker(line: str) -> _Marker | None:
    return next((marker for marker in _Marker if marker.value == line.strip()), None)


def _follower(marker: _Marker) -> _Marker:
    order = list(_Marker)
    return order[(order.index(marker) + 1) % len(order)]


def _uncommented(where: str, line: str) -> str:
    code = line.lstrip()
    indentation = line[: len(line) - len(code)]
    if code in ("", "#"):
        return ""
    if not code.startswith("# "):
        raise CourseError(f"{where}: the stub's line `{code}` is not commented out; start it with `# `.")
    return indentation + code.removeprefix("# ")


def _definition(where: str, part: str, source: str) -> Definition:
    match parse(where, part, source):
        case [ast.FunctionDef() | ast.ClassDef() as definition]:
            return definition
    raise CourseError(f"{where}: the {part} must be exactly one `def` or `class`, alone in its cell.")


def _agree(asked: dict[str, str], given: dict[str, str]) -> bool:
    """Tell whether callers see the same; the first entry is the definition, a method of one side is free."""
    return next(iter(asked)) == next(iter(given)) and all(
        asked[name] == given[name] for name in asked.keys() & given
    )


def _signatures(definition: Definition) -> dict[str, str]:
    """Return how to call a function, or a class and its own methods, by name."""
    if isinstance(definition, ast.FunctionDef):
        return {definition.name: f"def {ast.unparse(definition.args)}"}
    bases = ", ".join(ast.unparse(base) for base in definition.bases)
    methods = (node for node in definition.body if isinstance(node, ast.FunctionDef))
    return {definition.name: f"class {bases}"} | {method.name: ast.unparse(method.args) for method in methods}
