"""The public check of a question: written from a cell of the notebook source as a file for Otter, and read.

A student reads two texts: the docstring states the requirement, and the assert's message says what happened
and why it matters. If a test cannot continue with the returned value, its guard describes that value. Each
file contains the guard, because Otter runs a file that imports nothing of ours. This module runs no check.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from grader.errors import GraderError
from grader.text import html_text

_ELLIPSIS = "…"
_TEST_FILE = """\
{imports}from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "{identity}"
points = {points:g}
{afterword}

{guard}

{checks}
"""
#: Otter shows the line of the guard that an error passed, and the error below it: hence the comment there.
_GUARD = """\
def guarded(test):
    \"""Describe the returned value if the test cannot continue with it.\"""

    @wraps(test)
    def checked({function}):
        if {function} is None:
            raise AssertionError("{function} is not defined: run the cell of {identity} first.")
        returned = []

        @wraps({function})
        def watched(*arguments, **options):
            returned.clear()
            result = {function}(*arguments, **options)
            shape = f" and shape {{tuple(result.shape)}}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test({function} if isinstance({function}, type) else watched)  # it says:
        except AssertionError as error:
{if_none_too}            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
{if_none}            why = f"{{type(error).__name__}}: {{error}}"
            if str(error).startswith("{function}()"):
                raise AssertionError(f"Keep the parameters of {function}: {{error}}") from None
            if returned:
                why = f"{{why}} ({function} returned something of type {{returned[0]}})"
            raise AssertionError(f"The check cannot go on: {{why}}") from error

    return checked
"""
_IF_NONE = """\
            if returned == ["NoneType"]:
                raise AssertionError(f"{function} returned None{{why_none({function})}}{rest}") from None
"""
_IMPORTS_IF_NONE = """\
import ast
import inspect
import textwrap
"""
RETURN_MISSING = "is a return missing?"  # from the file's message about a function without a return
#: The file imports nothing of ours, and follows no call: it says what the source of the answer shows.
_WHY_NONE = '''\
DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef


def why_none(function):
    """Say which `return` of a function gave None, as far as its source shows it."""
    try:
        nodes = [*ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))]
        definition = next(node for node in nodes if isinstance(node, DEFINITIONS[:3]))
    except (OSError, TypeError, SyntaxError, StopIteration):
        return " instead of a value."
    if isinstance(definition, ast.Lambda):
        returned, is_certain, word = [definition.body], True, ""
    else:
        returns, waiting, word = [], [*definition.body], "return "
        while waiting:
            node = waiting.pop(0)
            returns += [node] if isinstance(node, ast.Return) else []
            waiting += [] if isinstance(node, DEFINITIONS) else ast.iter_child_nodes(node)
        returns.sort(key=lambda node: node.lineno)
        returned, is_certain = [node.value for node in returns if node.value], returns == definition.body[-1:]
    if not returned:
        return ": is a return missing?"
    texts = [ast.unparse(value) for value in returned]
    ways = " or ".join(f"`{word}{text}`" if len(text) < 80 else f"a long `{word}`" for text in texts[:4])
    otherwise = "" if is_certain else ", or because no `return` with a value was reached"
    about_grad = (
        " `backward()` fills the `.grad` of a tensor that the loss was computed from if it is a leaf that"
        " requires grad, or if `retain_grad()` was called on it before."
    )
    return f" at {ways}{otherwise}.{about_grad if any(text.endswith('.grad') for text in texts) else ''}"


'''


@dataclass(frozen=True)
class PublicTest:
    """A test function: its requirement in a sentence, and its messages without values."""

    title: str
    messages: tuple[str, ...]


@dataclass(frozen=True)
class PublicCheck:
    """The public check of a question.

    Attributes:
        source: the test file, in Otter's exception format.
        points: of the question.
        function: the name it tests; None if it takes all names.
        afterword: the text once it passes, with code between backticks.
    """

    source: str
    points: float
    function: str | None
    tests: tuple[PublicTest, ...]
    afterword: str | None = None


def otter_test(
    identity: str, source: str, points: float, afterword: str | None = None, *, returns: bool = True
) -> str:
    """The test file of a question's valid check cell, in Otter's exception format.

    `returns` says whether the function that is asked for returns a value.
    """
    lines = source.splitlines()
    tests = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    for test in reversed(tests):
        passed = escape(ast.get_docstring(test) or "", quote=False)  # Otter puts it into HTML as it is
        then = f"{passed}<br>{html_text(afterword)}" if afterword else passed
        lines[test.lineno - 1 : test.lineno - 1] = [
            "@test_case(",
            f"    success_message={_literal(then)},",
            f"    failure_message={_literal(f'Not yet: {passed}')},",
            ")",
            "@guarded",
        ]
    function = ast.unparse(tests[0].args)
    if_none, if_none_too = (
        _IF_NONE.format(function=function, rest=rest) if returns else "" for rest in ("", "\\n{error}")
    )
    return _TEST_FILE.format(
        imports=_IMPORTS_IF_NONE if returns else "",
        identity=identity,
        points=points,
        afterword=f"afterword = {_literal(afterword)}\n" if afterword else "",
        guard=(_WHY_NONE if returns else "")
        + _GUARD.format(identity=identity, function=function, if_none=if_none, if_none_too=if_none_too),
        checks="\n".join(lines),
    )


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def read_public_check(where: str, source: str) -> PublicCheck:
    """Read a public check; ``where`` names notebook and question for a GraderError: it holds no test."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        body = []
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    tests = [node for node in functions if any("test_case" in ast.unparse(d) for d in node.decorator_list)]
    if not tests:
        raise GraderError(
            f"{where}: its public check is damaged. Download the notebook again, and copy your functions"
            " into it."
        )
    parameters = [argument.arg for test in tests for argument in test.args.args if argument.arg != "env"]
    points, afterword = _assigned(body, "points"), _assigned(body, "afterword")
    return PublicCheck(
        source,
        float(points) if isinstance(points, int | float) else 0.0,
        parameters[0] if parameters else None,
        tuple(
            PublicTest(
                (ast.get_docstring(test) or test.name.removeprefix("test_").replace("_", " ")).partition(
                    "\n"
                )[0],
                tuple(_messages(test)),
            )
            for test in tests
        ),
        afterword if isinstance(afterword, str) else None,
    )


def _assigned(body: list[ast.stmt], name: str) -> object:
    """The constant that the file assigns to a name; None if it assigns none."""
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
    """The words of a message; values are left out."""
    match message:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_spelt, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _spelt(left) + _spelt(right)
    return _ELLIPSIS
