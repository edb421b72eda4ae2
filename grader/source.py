"""Outside: source code that travels to the worker, and the rule of what it may name.

A probe runs beside a student's code, so nothing of the outside may leak into it. Every name it
uses must be its own, a word of ``grader.inside``, another ``@inside`` definition, or a harmless
builtin. The rule is checked when a check file is imported and refuses by name.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import textwrap
from dataclasses import dataclass
from typing import Any

from grader.errors import CourseError
from grader.vocabulary import PLACEHOLDERS

#: Builtins that reach files, other code or the terminal have no business in a probe.
_REFUSED_BUILTINS = {"open", "eval", "exec", "compile", "__import__", "input", "breakpoint"}
_BUILTINS = set(dir(builtins)) - _REFUSED_BUILTINS
_KEY = "__travelling__"


@dataclass(frozen=True)
class Travelling:
    """One function or class on its way inside.

    Attributes:
        name: what it is called.
        text: its source without decorators, docstrings and comments.
        needs: the ``@inside`` definitions it names, directly.
        attributes: every attribute name it uses; a probe's question follows from them.
    """

    name: str
    text: str
    needs: tuple[Travelling, ...]
    attributes: frozenset[str]

    @classmethod
    def of(cls, definition: Any) -> Travelling:
        """The travelling form of a function or class; checks the rule once and remembers the result."""
        known = vars(definition).get(_KEY)
        if isinstance(known, cls):
            return known
        tree = _definition_tree(definition)
        travelling = cls(
            name=tree.name,
            text=ast.unparse(tree),
            needs=_needs(definition, tree),
            attributes=frozenset(n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)),
        )
        setattr(definition, _KEY, travelling)
        return travelling

    def everything(self, *others: Travelling) -> dict[str, Travelling]:
        """This definition, the others and all they need, by name, needed ones first.

        Raises:
            CourseError: two of them have the same name, so that one would replace the other inside.
        """
        found: dict[str, Travelling] = {}
        for needed in (*others, *self.needs):
            for name, other in needed.everything().items():
                if found.setdefault(name, other) != other:
                    raise CourseError(
                        f"{self.name} uses two different @inside definitions named {name}: rename one"
                    )
        found[self.name] = self
        return found


def _definition_tree(definition: Any) -> ast.FunctionDef | ast.ClassDef:
    """The bare syntax tree of a definition; complains about decorators and defaults that cannot travel."""
    where = _where(definition)
    tree = ast.parse(textwrap.dedent(inspect.getsource(definition))).body[0]
    if not isinstance(tree, ast.FunctionDef | ast.ClassDef):
        raise CourseError(f"{where} is neither a function nor a class: only these travel to the worker")
    ours = {"probe", "picture", "inside"}
    others = [ast.unparse(d) for d in tree.decorator_list if _decorator_name(d) not in ours]
    if others:
        raise CourseError(f"{where} has the decorator @{others[0]}, which stays outside: remove it")
    if tree.name in PLACEHOLDERS or tree.name in _BUILTINS:
        raise CourseError(f"{where} hides what is called {tree.name} inside: give it another name")
    tree.decorator_list = []
    if isinstance(tree, ast.FunctionDef):
        _refuse_computed_defaults(tree, where)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Global):
            raise CourseError(
                f"{where} says `{ast.unparse(node)}`: a probe names only what grader.inside offers"
            )
        if isinstance(node, ast.Assert):
            raise CourseError(f"{where} asserts something: inside there are facts only; assert in the check")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            _drop_docstring(node)
    return tree


def _where(definition: Any) -> str:
    return f"{definition.__name__} in {inspect.getsourcefile(inspect.unwrap(definition))}"


def _decorator_name(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _refuse_computed_defaults(function: ast.FunctionDef, where: str) -> None:
    """Defaults are evaluated where the function is defined, so only literals mean the same on both sides."""
    for default in [*function.args.defaults, *filter(None, function.args.kw_defaults)]:
        try:
            ast.literal_eval(default)
        except ValueError:
            raise CourseError(
                f"{where} has the default {ast.unparse(default)}: only literals travel"
            ) from None


def _drop_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    """Docstrings of probes may explain what is tested; students' code must not read them."""
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]


def _needs(definition: Any, tree: ast.FunctionDef | ast.ClassDef) -> tuple[Travelling, ...]:
    """Look up every global name; complain about the first that may not travel."""
    needs = []
    namespace = inspect.getmodule(definition).__dict__
    where = _where(definition)
    for name in sorted(_global_names(tree)):
        value = namespace.get(name)
        if name in PLACEHOLDERS and value is PLACEHOLDERS[name]:
            continue
        if name not in namespace and name in _BUILTINS:
            continue
        if name == tree.name:
            continue
        travelling = vars(value).get(_KEY) if hasattr(value, "__dict__") else None
        if not isinstance(travelling, Travelling) or travelling.name != name:
            raise CourseError(
                f"{where} uses {name}, which does not travel to the worker: make it a local, "
                "import it from grader.inside, or mark its definition @inside (above this one)",
            )
        needs.append(travelling)
    return tuple(needs)


def _global_names(tree: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Names it takes from outside its own scopes: in bases, annotations, nested functions and classes."""
    names: set[str] = set()

    def visit(table: symtable.SymbolTable) -> None:
        names.update(s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced())
        for child in table.get_children():
            visit(child)

    visit(symtable.symtable(ast.unparse(tree), "<probe>", "exec"))
    return names
