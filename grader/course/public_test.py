"""On a student's machine: the public check of one question, as its source tells, which is only read here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import GraderError

_ELLIPSIS = "…"


@dataclass(frozen=True)
class PublicCase:
    """One test function.

    Attributes:
        name: what it is called.
        title: what must hold, in a sentence.
        messages: what it may say when that does not hold, values left out.
    """

    name: str
    title: str
    messages: tuple[str, ...]


@dataclass(frozen=True)
class PublicTest:
    """The public check of a question, in Otter's exception format.

    Attributes:
        source: the test file.
        points: what the question is worth.
        function: the name it tests, or None where it takes everything.
        cases: its test functions, in order.
        afterword: what is said once it passes, with code between backticks; or None.
    """

    source: str
    points: float
    function: str | None
    cases: tuple[PublicCase, ...]
    afterword: str | None = None


def read_public_test(where: str, source: str) -> PublicTest:
    """Read a public check.

    Args:
        where: the notebook and the question, for an error.
        source: the test file in Otter's exception format.

    Raises:
        GraderError: it is not Python, or there is no test in it.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise _broken(where) from error
    tests = [node for node in body if isinstance(node, ast.FunctionDef) and _is_decorated(node)]
    if not tests:
        raise _broken(where)
    asked = [argument.arg for test in tests for argument in test.args.args if argument.arg != "env"]
    cases = tuple(PublicCase(test.name, _title(test), tuple(_messages(test))) for test in tests)
    points, afterword = _assigned(body, "points"), _assigned(body, "afterword")
    return PublicTest(
        source,
        float(points) if isinstance(points, int | float) else 0.0,
        asked[0] if asked else None,
        cases,
        afterword if isinstance(afterword, str) else None,
    )


def _broken(where: str) -> GraderError:
    return GraderError(
        f"{where}: its public check is damaged. Get the notebook anew from where the course is handed out,"
        " and copy your functions into it."
    )


def _is_decorated(test: ast.FunctionDef) -> bool:
    return any("test_case" in ast.unparse(decorator) for decorator in test.decorator_list)


def _title(test: ast.FunctionDef) -> str:
    return (ast.get_docstring(test) or test.name.removeprefix("test_").replace("_", " ")).partition("\n")[0]


def _assigned(body: list[ast.stmt], name: str) -> object:
    """The constant that the file assigns to a name; None where it assigns none."""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=assigned)], value=ast.Constant(value=value)):
                if assigned == name:
                    return value
    return None


def _messages(test: ast.FunctionDef) -> Iterator[str]:
    """The author's texts in the order of their lines, each once."""
    texts = {}
    for node in ast.walk(test):
        match node:
            case ast.Assert(msg=ast.expr() as message):
                texts[node.lineno] = _spelt(message)
            case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"), args=[message, *_])):
                texts[node.lineno] = _spelt(message)
    yield from dict.fromkeys(text for _, text in sorted(texts.items()) if text.strip(_ELLIPSIS + " "))


def _spelt(message: ast.expr) -> str:
    """The words of a message; what is known only when it is said is left out."""
    match message:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_spelt, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _spelt(left) + _spelt(right)
    return _ELLIPSIS
