"""Source code that is sent to the worker, and the names that it may use.

An ``@inside`` function runs beside a student's code, so nothing of the outside may leak into it. Each name it
uses must be its own, a word of ``grader.inside``, another ``@inside`` definition or a harmless builtin. The
rule is checked when a check file is imported.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import io
import re
import symtable
import textwrap
import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.course.author_file import TODO, global_names
from grader.errors import CourseError
from grader.text import did_you_mean

_DECLARATIONS = (Path(__file__).parents[1] / "inside.pyi").read_text(encoding="utf-8")
#: The names that an @inside function may use: the functions in ``inside.pyi``, which the worker defines.
VOCABULARY = ("torch", "nn", "F", "math", *re.findall(r"(?m)^def (?!inside\b)(\w+)", _DECLARATIONS))


class Placeholder:
    """Stands outside for a word of ``grader.inside``; it can be named and subclassed, not used."""

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
            f"{self._name} exists only in the worker: use it in an @inside function, "
            "and let the check compare the observations that it returns",
        )

    def __repr__(self) -> str:
        return f"<{self._name}, inside the worker>"


PLACEHOLDERS = {word: Placeholder(word) for word in VOCABULARY}

Definition = ast.FunctionDef | ast.ClassDef

#: Builtins that reach files, other code or the terminal.
_REFUSED_BUILTINS = {"open", "eval", "exec", "compile", "__import__", "input", "breakpoint"}
#: With TODO, which is defined nowhere: what says it can be imported, and stops when it runs.
_BUILTINS = {*dir(builtins), TODO} - _REFUSED_BUILTINS
_KEY = "__travelling__"


@dataclass(frozen=True)
class InsideSource:
    """A function or class that is sent to the worker.

    Attributes:
        text: its source without decorators, docstrings and comments; each line stands where the file has it.
        dependencies: the ``@inside`` definitions it names directly.
        words: the words of ``grader.inside`` that it uses.
        attributes: every attribute name it uses; the question of a picture follows from them.
        path: the author's file; stays outside.
        tree: its syntax, with the lines of that file; stays outside.
    """

    name: str
    text: str
    dependencies: tuple[InsideSource, ...]
    words: frozenset[str]
    attributes: frozenset[str]
    path: str = field(compare=False)
    tree: Definition = field(compare=False, repr=False)

    @classmethod
    def of(cls, definition: Any) -> InsideSource:
        """The source of a function or class; checks the rule once and remembers the result."""
        remembered = vars(definition).get(_KEY)
        if isinstance(remembered, cls):
            return remembered
        tree, text = _travelling(definition)
        names = global_names(symtable.symtable(ast.unparse(tree), "<inside>", "exec")) - {tree.name}
        dependencies = _dependencies(definition, tree, names)
        source = cls(
            name=tree.name,
            text=text,
            dependencies=dependencies,
            words=frozenset(names & PLACEHOLDERS.keys()) - {helper.name for helper in dependencies},
            attributes=frozenset(n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)),
            path=inspect.getsourcefile(definition) or "",
            tree=tree,
        )
        setattr(definition, _KEY, source)
        return source

    @property
    def where(self) -> str:
        """File and line of the definition, as an error begins."""
        return f"{self.path}, line {self.tree.lineno}"

    def closure(self) -> dict[str, InsideSource]:
        """This definition and all its dependencies by name, dependencies first.

        Raises:
            CourseError: a definition would replace another one, or a word that another one uses.
        """
        parts: dict[str, InsideSource] = {}
        for helper in self.dependencies:
            for name, other in helper.closure().items():
                if parts.setdefault(name, other) != other:
                    raise CourseError(
                        f"{self.where}: {self.name} uses two different @inside"
                        f" definitions named {name}: rename one"
                    )
        parts[self.name] = self
        for part in parts.values():
            for name in sorted(part.words & parts.keys()):
                raise CourseError(
                    f"{part.where}: {part.name} uses {name} of grader.inside, and an"
                    f" @inside definition in {parts[name].path} hides it: rename that"
                )
        return parts


def _travelling(definition: Any) -> tuple[Definition, str]:
    """The syntax of a definition, without decorators, and its text; CourseError if it cannot be sent."""
    lines, first = inspect.getsourcelines(definition)
    source = textwrap.dedent("".join(lines))
    tree = ast.parse(source).body[0]
    text = _without_remarks(source, tree)
    ast.increment_lineno(tree, first - 1)
    where = _where(definition, tree)
    if not isinstance(tree, Definition):
        raise CourseError(
            f"{where} must be a function or a class, because only these can be sent to the worker"
        )
    others = [d for d in tree.decorator_list if decorator_name(d) not in {"picture", "inside"}]
    if others:
        raise CourseError(
            f"{_where(definition, others[0])} has the decorator @{ast.unparse(others[0])}, which stays"
            " outside: remove it"
        )
    word = vars(inspect.getmodule(definition)).get(tree.name)
    if tree.name in _BUILTINS or (word is not None and word is PLACEHOLDERS.get(tree.name)):
        raise CourseError(f"{where} hides what is called {tree.name} inside: give it another name")
    tree.decorator_list = []
    if isinstance(tree, ast.FunctionDef):  # only literals mean the same on both sides
        for default in [*tree.args.defaults, *filter(None, tree.args.kw_defaults)]:
            try:
                ast.literal_eval(default)
            except ValueError:
                said = f"has the default {ast.unparse(default)}: only literals travel"
                raise CourseError(f"{_where(definition, default)} {said}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Global):
            said = f"says `{ast.unparse(node)}`: inside there is only what grader.inside offers"
            raise CourseError(f"{_where(definition, node)} {said}")
        if isinstance(node, ast.Assert):
            said = "contains an assert: return observations, and assert in the check"
            raise CourseError(f"{_where(definition, node)} {said}")
    return tree, text


def _without_remarks(source: str, tree: ast.stmt) -> str:
    """The lines of a definition without docstrings and comments: a student's code could read what is tested.

    No line goes, so that a line of what is sent is a line of the file.
    """
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = lines[token.start[0] - 1][: token.start[1]].rstrip()
    for node in ast.walk(tree):
        match node:
            case (ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef()) as definition:
                match definition.body[0]:
                    case ast.Expr(ast.Constant(str())) as docstring:
                        begin, end = docstring.lineno - 1, docstring.end_lineno or docstring.lineno
                        before = lines[begin].encode()[: docstring.col_offset].decode()
                        after = lines[end - 1].encode()[docstring.end_col_offset :].decode()
                        lines[begin:end] = f"{before}(...{chr(10) * (end - begin - 1)}){after}".split("\n")
    return "\n".join(lines[tree.lineno - 1 : tree.end_lineno])


def _where(definition: Any, node: ast.AST) -> str:
    """As in ``tests/hidden/test_01_leaves.py, line 7: leaves``."""
    path = inspect.getsourcefile(inspect.unwrap(definition))
    return f"{path}, line {getattr(node, 'lineno', 0)}: {definition.__name__}"


def decorator_name(decorator: ast.expr) -> str:
    """A decorator without its arguments."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _dependencies(definition: Any, tree: Definition, names: set[str]) -> tuple[InsideSource, ...]:
    """The definitions behind global names; CourseError for the first name that cannot travel."""
    dependencies = []
    namespace = inspect.getmodule(definition).__dict__
    for name in sorted(names):
        value = namespace.get(name)
        is_word = name in PLACEHOLDERS and value is PLACEHOLDERS[name]
        if is_word or (name not in namespace and name in _BUILTINS):
            continue
        helper = vars(value).get(_KEY) if hasattr(value, "__dict__") else None
        if not isinstance(helper, InsideSource) or helper.name != name:
            uses = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name)
            raise CourseError(
                f"{_where(definition, next(uses, tree))} uses {name}, which does not travel to the worker: "
                f"{_advice(name, definition)}"
            )
        dependencies.append(helper)
    return tuple(dependencies)


def _advice(name: str, definition: Any) -> str:
    """Advice about a name that cannot be sent."""
    module = inspect.getmodule(definition)
    assert module is not None
    namespace = vars(module)
    if name in _REFUSED_BUILTINS:
        return "return observations, and do the rest in the check"
    if name in PLACEHOLDERS:
        return "import it from grader.inside, by this name"
    if isinstance(namespace.get(name), ModuleType):
        return "inside there is only what grader.inside offers"
    if name in namespace or re.search(rf"(?m)^(def|class) {re.escape(name)}\b", inspect.getsource(module)):
        return "make it a local, or mark its definition @inside (above this one)"
    known = {*PLACEHOLDERS, *(n for n, value in namespace.items() if _KEY in getattr(value, "__dict__", ()))}
    return f"it is defined nowhere, {did_you_mean(name, known)}"
