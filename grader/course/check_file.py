"""A check file as syntax; mistakes that would otherwise have no visible effect are refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from grader.course.probe_source import decorator_name
from grader.course.unfinished import filled_statements
from grader.errors import CourseError
from grader.text import did_you_mean

#: A line, and what is wrong there.
_Complaint = tuple[int, str]

_TRAVELS = {"probe", "picture", "inside"}
_OF_AN_OBSERVATION = {"seen", "expected", "mismatch"}


def read_check_file(path: Path) -> ast.Module:
    """The syntax of a check file, without definitions that still have a blank.

    Raises:
        CourseError: it cannot be read or has mistakes; the text names each with its line.
    """
    tree = ast.Module(filled_statements(path), type_ignores=[])
    complaints = sorted({complaint for rule in _RULES for complaint in rule(tree)})
    if complaints:
        raise CourseError("\n".join(f"{path}, line {line}: {message}" for line, message in complaints))
    return tree


def left_in(path: Path) -> list[str]:
    """A sentence for each ``print`` or ``breakpoint`` in a check file; CourseError if it cannot be read."""
    return [
        f"{path}, line {node.lineno}: {name} is left in, and nobody reads it: remove it"
        for node in ast.walk(ast.Module(filled_statements(path), type_ignores=[]))
        for name in ("print", "breakpoint")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def _without_message(tree: ast.Module) -> Iterator[_Complaint]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and node.msg is None:
            message = "this assert has no message; a student reads it"
            if isinstance(node.test, ast.Tuple):
                message += ". In parentheses with its message it is a pair, which is always true: remove them"
            yield node.lineno, message


def _import_of_torch(tree: ast.Module) -> Iterator[_Complaint]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        is_plain = isinstance(node, ast.Import)
        modules = [alias.name for alias in node.names] if is_plain else [getattr(node, "module", None) or ""]
        if any(module.partition(".")[0] == "torch" for module in modules):
            message = f"`{ast.unparse(node)}`: checks run where there is no torch"
            yield node.lineno, f"{message}; write `from grader.inside import torch`, for probes"


def _defined_twice(tree: ast.Module) -> Iterator[_Complaint]:
    first: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name in first:
                message = f"{node.name} is defined in line {first[node.name]} already, and would replace it"
                yield node.lineno, f"{message}; give one of them another name"
            first.setdefault(node.name, node.lineno)


def _other_decorators(tree: ast.Module) -> Iterator[_Complaint]:
    """A check that pytest skips, or calls several times, would have no verdict."""
    for function in _functions(tree):
        for decorator in function.decorator_list:
            name = decorator_name(decorator)
            if function.name.startswith("test_") and name != "points":
                yield decorator.lineno, f"{function.name} has the decorator @{name}: a check has only @points"
            elif name.endswith("fixture"):
                yield decorator.lineno, f"{function.name} is a fixture: a check takes probes and nothing else"


def _checks_in_a_class(tree: ast.Module) -> Iterator[_Complaint]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name.startswith("test_"):
                    yield (
                        method.lineno,
                        f"{method.name} stands in the class {node.name}: checks stand in none",
                    )


def _checks_by_another_name(tree: ast.Module) -> Iterator[_Complaint]:
    """A function that takes probes and is never called was meant to be a check."""
    probes = {f.name for f in _functions(tree) if "probe" in map(decorator_name, f.decorator_list)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for function in _functions(tree):
        parameters = {argument.arg for argument in _parameters(function)}
        decorators = set(map(decorator_name, function.decorator_list))
        is_idle = function.name not in used and not decorators & _TRAVELS
        if is_idle and not function.name.startswith("test_") and parameters and parameters <= probes:
            message = f"{function.name} takes probes, and nobody calls it: a check's name begins with test_"
            yield function.lineno, message


def _comparisons(tree: ast.Module) -> Iterator[_Complaint]:
    for function in _checks(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare):
                yield node.lineno, f"`{ast.unparse(node)}` decides nothing: write assert, and a message"


def _attributes_of_probes(tree: ast.Module) -> Iterator[_Complaint]:
    for check in _checks(tree):
        probes = {argument.arg for argument in _parameters(check)}
        names = [node for node in ast.walk(check) if isinstance(node, ast.Name)]
        probes -= {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        for node in ast.walk(check):
            match node:
                case ast.Attribute(ast.Name(probe), attribute) if probe in probes:
                    if attribute not in _OF_AN_OBSERVATION:
                        near = did_you_mean(attribute, {"seen", "expected"})
                        yield node.lineno, f"{probe}.{attribute}: a probe has seen and expected; {near}"


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))


def _checks(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (function for function in _functions(tree) if function.name.startswith("test_"))


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


_RULES = (
    _without_message,
    _import_of_torch,
    _defined_twice,
    _other_decorators,
    _checks_in_a_class,
    _checks_by_another_name,
    _comparisons,
    _attributes_of_probes,
)
