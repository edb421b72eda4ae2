"""Source code that is sent to the worker, and the rule of what it may name.

A probe runs beside a student's code, so nothing of the outside may leak into it. Each name it uses must be
its own, a word of ``grader.inside``, another ``@inside`` definition or a harmless builtin. The rule is
checked when a check file is imported.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import symtable
import textwrap
from bisect import bisect_right
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from grader.course.definitions import global_names
from grader.errors import CourseError
from grader.text import did_you_mean

Definition = ast.FunctionDef | ast.ClassDef
_Placed = ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword

#: Builtins that reach files, other code or the terminal have no business in a probe.
_REFUSED_BUILTINS = {"open", "eval", "exec", "compile", "__import__", "input", "breakpoint"}
_BUILTINS = set(dir(builtins)) - _REFUSED_BUILTINS
_KEY = "__travelling__"


#: What a probe may name; the worker's toolbox offers exactly these, and grader/inside.pyi explains them.
VOCABULARY = (
    "torch",
    "nn",
    "F",
    "math",
    "snap",
    "state",
    "attempt",
    "warned",
    "spy",
    "mark",
    "alive",
    "nodes",
    "reaches",
    "freed",
    "graph",
    "graph_at",
    "saved",
    "untouched",
    "updates",
    "gradients",
    "vjp",
    "reseed",
)


@dataclass(frozen=True)
class ProbeSource:
    """A function or class that is sent to the worker.

    Attributes:
        name: of the definition.
        text: its source without decorators, docstrings and comments.
        dependencies: the ``@inside`` definitions it names directly.
        words: the words of ``grader.inside`` that it uses.
        attributes: every attribute name it uses; a probe's question follows from them.
        path: the file it was written in; stays outside.
        tree: what `text` says, with the lines of that file; stays outside.
    """

    name: str
    text: str
    dependencies: tuple[ProbeSource, ...]
    words: frozenset[str]
    attributes: frozenset[str]
    path: str = field(compare=False)
    tree: Definition = field(compare=False, repr=False)

    @classmethod
    def of(cls, definition: Any) -> ProbeSource:
        """The source of a function or class; checks the rule once and remembers the result."""
        known = vars(definition).get(_KEY)
        if isinstance(known, cls):
            return known
        tree = _definition_tree(definition)
        names = global_names(symtable.symtable(ast.unparse(tree), "<probe>", "exec")) - {tree.name}
        dependencies = _dependencies(definition, tree, names)
        travelling = cls(
            name=tree.name,
            text=ast.unparse(tree),
            dependencies=dependencies,
            words=frozenset(names & PLACEHOLDERS.keys()) - {needed.name for needed in dependencies},
            attributes=frozenset(n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)),
            path=inspect.getsourcefile(definition) or "",
            tree=tree,
        )
        setattr(definition, _KEY, travelling)
        return travelling

    def line_in_file(self, line: int, column: int) -> int:
        """The file's line for a position in `text`: a line counted from 1, a column in bytes from 0."""
        pairs = zip(ast.walk(ast.parse(self.text).body[0]), ast.walk(self.tree), strict=False)
        places = sorted(
            (here.lineno, here.col_offset, there.lineno)
            for here, there in pairs
            if isinstance(here, _Placed) and isinstance(there, _Placed)
        )
        found: int = places[max(bisect_right(places, (line, column, 1 << 31)) - 1, 0)][2]
        return found

    def closure(self, *others: ProbeSource) -> dict[str, ProbeSource]:
        """This definition, the others and all their dependencies by name, dependencies first.

        Raises:
            CourseError: a definition would replace another one, or a word that another one uses.
        """
        found: dict[str, ProbeSource] = {}
        for needed in (*others, *self.dependencies):
            for name, other in needed.closure().items():
                if found.setdefault(name, other) != other:
                    raise CourseError(
                        f"{self.path}, line {self.tree.lineno}: {self.name} uses two different @inside"
                        f" definitions named {name}: rename one"
                    )
        found[self.name] = self
        for part in found.values():
            for name in sorted(part.words & found.keys()):
                raise CourseError(
                    f"{part.path}, line {part.tree.lineno}: {part.name} uses {name} of grader.inside, and an"
                    f" @inside definition in {found[name].path} hides it: rename that"
                )
        return found


def _definition_tree(definition: Any) -> Definition:
    """The bare syntax tree of a definition; complains about what cannot travel, with its line."""
    lines, first = inspect.getsourcelines(definition)
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    ast.increment_lineno(tree, first - 1)
    where = _where(definition, tree)
    if not isinstance(tree, Definition):
        raise CourseError(f"{where} is neither a function nor a class: only these travel to the worker")
    ours = {"probe", "picture", "inside"}
    others = [d for d in tree.decorator_list if decorator_name(d) not in ours]
    if others:
        said = f"{_where(definition, others[0])} has the decorator @{ast.unparse(others[0])}"
        raise CourseError(f"{said}, which stays outside: remove it")
    word = vars(inspect.getmodule(definition)).get(tree.name)
    if tree.name in _BUILTINS or (word is not None and word is PLACEHOLDERS.get(tree.name)):
        raise CourseError(f"{where} hides what is called {tree.name} inside: give it another name")
    tree.decorator_list = []
    if isinstance(tree, ast.FunctionDef):
        _refuse_computed_defaults(tree, definition)
    for node in ast.walk(tree):
        _refuse_statement(node, definition)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            _drop_docstring(node)
    return tree


def _refuse_statement(node: ast.AST, definition: Any) -> None:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Global):
        said = f"{_where(definition, node)} says `{ast.unparse(node)}`"
        raise CourseError(f"{said}: a probe names only what grader.inside offers")
    if isinstance(node, ast.Assert):
        raise CourseError(
            f"{_where(definition, node)} asserts something: inside there are facts only; assert in the check"
        )


def _where(definition: Any, node: ast.AST) -> str:
    """As in ``tests/hidden/test_01_leaves.py, line 7: leaves``."""
    path = inspect.getsourcefile(inspect.unwrap(definition))
    return f"{path}, line {getattr(node, 'lineno', 0)}: {definition.__name__}"


def decorator_name(decorator: ast.expr) -> str:
    """What a decorator is called, without its arguments."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _refuse_computed_defaults(function: ast.FunctionDef, definition: Any) -> None:
    """Defaults are evaluated where the function is defined, so only literals mean the same on both sides."""
    for default in [*function.args.defaults, *filter(None, function.args.kw_defaults)]:
        try:
            ast.literal_eval(default)
        except ValueError:
            where = _where(definition, default)
            raise CourseError(
                f"{where} has the default {ast.unparse(default)}: only literals travel"
            ) from None


def _drop_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    """Docstrings of probes may explain what is tested; students' code must not read them."""
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]


def _dependencies(definition: Any, tree: Definition, names: set[str]) -> tuple[ProbeSource, ...]:
    """Look up every global name; complain about the first that may not travel."""
    dependencies = []
    namespace = inspect.getmodule(definition).__dict__
    for name in sorted(names):
        value = namespace.get(name)
        if name in PLACEHOLDERS and value is PLACEHOLDERS[name]:
            continue
        if name not in namespace and name in _BUILTINS:
            continue
        travelling = vars(value).get(_KEY) if hasattr(value, "__dict__") else None
        if not isinstance(travelling, ProbeSource) or travelling.name != name:
            uses = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name)
            raise CourseError(
                f"{_where(definition, next(uses, tree))} uses {name}, which does not travel to the worker: "
                f"{_advice(name, definition)}"
            )
        dependencies.append(travelling)
    return tuple(dependencies)


def _advice(name: str, definition: Any) -> str:
    """What to do about a name that does not travel."""
    module = inspect.getmodule(definition)
    assert module is not None
    namespace = vars(module)
    if name in _REFUSED_BUILTINS:
        return "return facts, and do the rest in the check"
    if name in PLACEHOLDERS:
        return "import it from grader.inside, by this name"
    if isinstance(namespace.get(name), ModuleType):
        return "a probe names only what grader.inside offers"
    if name in namespace or re.search(rf"(?m)^(def|class) {re.escape(name)}\b", inspect.getsource(module)):
        return "make it a local, or mark its definition @inside (above this one)"
    known = {*PLACEHOLDERS, *(n for n, value in namespace.items() if _KEY in getattr(value, "__dict__", ()))}
    return f"it is defined nowhere, {did_you_mean(name, known)}"


class Placeholder:
    """Stands for something that exists inside the worker only; it can be named and subclassed, not used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Placeholder:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Placeholder(f"{self._name}.{attribute}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        # ``class Marked(nn.Module)`` may stand at the top of a check file; it is built inside.
        return ()

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{self._name} exists only in the worker: use it in a @probe or an @inside function, "
            "and let the check compare the facts that come back",
        )

    def __repr__(self) -> str:
        return f"<{self._name}, inside the worker>"


PLACEHOLDERS = {word: Placeholder(word) for word in VOCABULARY}
