"""An author's ``@inside`` function in one case: levels are inserted, branches of other levels removed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from grader.course.inside_source import VOCABULARY, InsideSource
from grader.errors import GraderError

_OF_WORKER = {*VOCABULARY} - {"torch", "nn", "F", "math"}  # words that a student's notebook does not have
_GRAD = "torch.autograd.grad(({} - 3).square().sum(), [{}], retain_graph=True, allow_unused=True)"
_STATE = (
    "{{part: {{n: t.clone() for n, t in getattr({}, f'named_{{part}}')()}} "
    "for part in ('parameters', 'buffers')}}"
)
_PIECES = {0: 0, 1: -2, 2: -1}  # where a snippet's network has the layers of the worker's
_LITERALS = (bool, int, float, str, tuple, type(None))
_FOLDED = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Subscript, ast.JoinedStr, ast.Tuple)
_NO_LITERALS = (ast.Name, ast.Call, ast.Lambda, ast.Attribute, ast.comprehension, ast.NamedExpr)


class CannotShowError(GraderError):
    """A case has no short form as code."""


@dataclass
class AuthorCode:
    """The functions of a contract's author, in one case.

    Attributes:
        functions: the author's definitions by name.
        levels: the level of every factor, by ``argument.factor``.
        names: the variable of each argument.
        size, shape: the size of a word, and the shape of words.
        leaves: filled with the variables that functions store in ``setup.starts``, by their names there.
        in_setup: filled with the variables of other things that functions store there, by their names there.
        literals: filled with the values of arguments of the author's that are literals.
        definitions: filled with the source of helpers, by their names.
        read_later: filled with the variables that other functions may read.
    """

    functions: Mapping[str, InsideSource]
    levels: Mapping[str, Any]
    names: Mapping[str, str]
    size: Callable[[str], int]
    shape: Callable[[str], tuple[int, ...]]
    leaves: dict[str, str] = field(default_factory=dict)
    in_setup: dict[str, str] = field(default_factory=dict)
    literals: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    read_later: set[str] = field(default_factory=set)
    _begun: set[str] = field(default_factory=set)

    def statements(
        self, function: str, roles: Sequence[str], *, argument: str = "", target: str = ""
    ) -> tuple[list[str], str | None]:
        """The lines of a function, and the expression that it returns; CannotShowError if there are none.

        Args:
            roles: the meaning of each parameter: ``setup``, ``kind``, or an expression.
            argument: the argument whose levels ``kind`` returns.
            target: the variable that gets the result; a local variable that is returned is renamed to it.
        """
        tree = self._tree(function)
        parameters = [one.arg for one in (*tree.args.args, tree.args.vararg) if one]
        body = self._body(tree, dict(zip(parameters, roles, strict=True)), argument)
        loaded, stored = _names(body, ast.Load), _names(body, ast.Store)
        last = body.pop().value if isinstance(body[-1], ast.Return) else None
        if any(isinstance(part, ast.Return) for node in body for part in ast.walk(node)):
            whole = ast.parse(f"def {function}():\n    pass").body[0]
            whole.body = body if last is None else [*body, ast.Return(last)]  # type: ignore[attr-defined]
            return _text(whole).splitlines(), f"{function}()"
        if isinstance(last, ast.Name) and last.id in stored and target and target not in loaded | stored:
            local = last.id
            for part in (part for node in (*body, last) for part in ast.walk(node)):
                if isinstance(part, ast.Name) and part.id == local:
                    part.id = target
        lines = "\n".join(_text(node) for node in body if not isinstance(node, ast.Pass))
        return lines.splitlines(), None if last is None else _text(last)

    def helper(self, name: str, given: Sequence[ast.expr], argument: str) -> ast.expr:
        """A call of a helper that takes the setup: of its definition in this case, without that parameter."""
        tree, stored = self._tree(name), {**self.leaves, **self.in_setup}
        pairs = [*zip(tree.args.args, given, strict=False)]
        roles = {one.arg: what.id for one, what in pairs if _is_setup(what) and isinstance(what, ast.Name)}
        tree.body = self._body(tree, roles, argument)
        tree.args.args = [one for one in tree.args.args if one.arg not in roles]
        if {**self.leaves, **self.in_setup} != stored:
            raise CannotShowError(f"{name} stores something in the setup")
        self._begun.add(name)
        while self.definitions.setdefault(tree.name, _text(tree)) != _text(tree):
            tree.name += "_"  # it is needed in two ways
        return ast.Call(ast.Name(tree.name, ast.Load()), [one for one in given if not _is_setup(one)], [])

    def _tree(self, name: str) -> ast.FunctionDef:
        """The definition of a function, in which no local variable is called like an argument."""
        tree = ast.parse(self.functions[name].text).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise CannotShowError(f"{name} is a class")
        hidden = _names([tree], ast.Store) & {*self.names.values()}
        for part in ast.walk(tree):
            if isinstance(part, ast.Name) and part.id in hidden:
                part.id += "_"
            elif isinstance(part, ast.arg) and part.arg in hidden:
                part.arg += "_"
        return tree

    def _body(self, tree: Any, roles: Mapping[str, str], argument: str) -> list[Any]:
        """The statements of a definition in this case; the helpers that they name are defined."""
        body = _Case(self, roles, argument, tree).of_block(tree.body)
        body = _without_unused(body, self.read_later) or [ast.Pass()]
        loaded = _names(body, ast.Load) - _names(body, ast.Store)
        if words := loaded & (_OF_WORKER | {"setup", "kind"}):
            raise CannotShowError(f"only the worker has {min(words)}")
        for name in sorted(loaded & self.functions.keys() - self._begun - {*self.names.values()}):
            self._begun.add(name)
            helper: Any = ast.parse(self.functions[name].text).body[0]
            helper.body = self._body(helper, {}, argument)
            self.definitions[name] = _text(helper)
        return body


@dataclass
class _Case(ast.NodeTransformer):
    """Puts a case into a definition."""

    code: AuthorCode
    roles: Mapping[str, str]
    argument: str
    tree: ast.AST

    def __post_init__(self) -> None:
        nodes = [*ast.walk(self.tree)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self.stored = Counter(node.id for node in names if isinstance(node.ctx, ast.Store))
        texts = dict.fromkeys(node.value for node in nodes if isinstance(node, ast.Constant))
        self.arguments = [text for text in texts if isinstance(text, str) and text in self.code.names]
        self.known: dict[str, ast.expr] = {}  # names that stand for a literal, an argument or a table

    def of_block(self, body: Sequence[ast.stmt]) -> list[Any]:
        """The statements of a block, up to the first that ends it."""
        statements: list[Any] = []
        for node in body:
            made = self.visit(node)
            statements += made if isinstance(made, list) else [made] if made is not None else []
            if statements and isinstance(statements[-1], ast.Return | ast.Raise):
                break
        return statements

    def visit(self, node: ast.AST) -> Any:
        """A node with the case's levels inserted; None for code that only the worker needs."""
        made = super().visit(node)
        if isinstance(made, ast.FunctionDef | ast.ClassDef | ast.If | ast.For | ast.With) and not made.body:
            made.body = [ast.Pass()]
        return _evaluated(self._resolved(made)) if isinstance(made, ast.expr) else made

    # --- statements

    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Constant() | ast.Call(ast.Name("note")):
                return None
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> Any:
        node.test = self.visit(node.test)
        if isinstance(node.test, ast.Constant):
            return self.of_block(node.body if node.test.value else node.orelse)
        node.body, node.orelse = self.of_block(node.body), self.of_block(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        node.test = self.visit(node.test)
        if isinstance(node.test, ast.Constant):
            return self.visit(node.body if node.test.value else node.orelse)
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        return None if not node.body or _text(node.iter) in {"[]", "()", "range(0)"} else node

    def visit_Assign(self, node: ast.Assign) -> Any:
        match node:
            case ast.Assign(
                [ast.Tuple(names)],
                ast.GeneratorExp(part, [ast.comprehension(ast.Name(each), ast.Tuple(texts), [], 0)]),
            ) if len(names) == len(texts) and "setup" in _names([part], ast.Load):
                node.value = ast.Tuple([_replaced(part, each, text) for text in texts], ast.Load())
        self.generic_visit(node)
        match node:
            case ast.Assign([ast.Tuple([found, _])], ast.Call(ast.Name("warned"), [function, *given])):
                return ast.Assign([found], ast.Call(function, given, []))
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
                if not _names(names, ast.Store) & _names(values, ast.Load):
                    single = (ast.Assign([one], value) for one, value in zip(names, values, strict=True))
                    return [one for one in single if not self._is_known(one)]
        match node.value:
            case ast.ListComp(_, [ast.comprehension(_, table), *_] as loops) if _has_walrus(table):
                loops[0].iter = ast.Name("table", ast.Load())  # in its place, Python allows no walrus
                return [ast.Assign([ast.Name("table", ast.Store())], table), node]
        return None if self._is_known(node) else node

    def _is_known(self, node: ast.Assign) -> bool:
        """Whether an assignment only names a literal, an argument or a table; then its name isn't needed."""
        match node:
            case ast.Assign([ast.Name(name)], value) if self.stored[name] == 1:
                is_argument = isinstance(value, ast.Name) and value.id in self.code.names.values()
                if is_argument or _is_literal(value):
                    self.known[name] = value
                    return True
                if isinstance(value, ast.Dict):
                    self.known[name] = value  # its assignment stays where something reads it whole
        return False

    # --- expressions

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load):
            return node
        known = self.known.get(node.id, node)
        if isinstance(known, ast.Dict):
            return node
        return _parsed(self.roles[node.id]) if node.id in self.roles else deepcopy(known)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        values: list[ast.expr] = []
        for value in node.values:
            if not isinstance(value, ast.Constant) or bool(value.value) is decides:
                values.append(value)
            if isinstance(value, ast.Constant) and bool(value.value) is decides:
                break
        if len(values) < 2:
            return values[0] if values else node.values[-1]
        return ast.BoolOp(node.op, values)

    def _resolved(self, node: ast.expr) -> ast.expr:  # noqa: C901, PLR0911, PLR0912 - one for each form
        """The value of an expression that reads the setup or the levels, or a worker's word as torch code."""
        code, names = self.code, self.code.names
        match node:
            case ast.Call(ast.Name("kind"), [ast.Constant(str(factor))]):
                return self._level(f"{self.argument}.{factor}")
            case ast.Call(
                ast.Call(ast.Attribute(ast.Name("setup"), "kind"), [ast.Constant(str(who))]), [factor]
            ):
                return self._level(f"{who}.{getattr(factor, 'value', '')}")
            case ast.Subscript(ast.Attribute(ast.Name("setup"), "case"), ast.Constant(str(key))):
                return self._level(key)
            case ast.Call(ast.Attribute(ast.Name("setup"), "size"), [ast.Constant(str(word))]):
                return _parsed(repr(code.size(word)))
            case ast.Call(ast.Attribute(ast.Name("setup"), "shape"), [ast.Constant(str(words))]):
                return _parsed(repr(code.shape(words)))
            case ast.Call(ast.Name("map"), [ast.Attribute(ast.Name("setup"), "size"), ast.Tuple(words)]):
                return _parsed(repr(tuple(code.size(ast.literal_eval(word)) for word in words)))
            case ast.Call(ast.Attribute(ast.Name("setup"), "get"), [ast.Constant(str(name)), *default]):
                return _parsed(names[name]) if name in names else [*default, ast.Constant(None)][0]
            case ast.Compare(ast.Constant(str(name)), [ast.In() | ast.NotIn() as op], [ast.Name("setup")]):
                return ast.Constant((name in {**names, **code.in_setup}) is isinstance(op, ast.In))
            case ast.Call(ast.Name("hasattr"), [ast.Name("setup"), ast.Constant(str(name))]):
                return ast.Constant(name in code.in_setup)
            case ast.Compare(ast.Attribute(ast.Name("torch"), of), [ast.Is() | ast.Eq()], [right]):
                return ast.Constant(value=_text(right) == f"torch.{of}")
            case ast.Subscript(ast.Name("setup"), ast.Constant(str(name))):
                variable = names[name] if name in names else self._in_setup(name, node.ctx)
                if isinstance(node.ctx, ast.Store):
                    code.read_later.add(variable)
                    code.literals.pop(name, None)
                return _parsed(code.literals[name]) if name in code.literals else ast.Name(variable, node.ctx)
            case ast.Subscript(ast.Name("setup"), key):
                table = ", ".join(f"{name!r}: {names[name]}" for name in self.arguments)
                return ast.Subscript(_parsed(f"{{{table}}}"), key, node.ctx)
            case ast.Subscript(ast.Attribute(ast.Name("setup"), "starts"), ast.Constant(str(name))):
                code.leaves[name] = f"{names.get(name, _variable(name))}0"
                code.read_later.add(code.leaves[name])
                return ast.Name(code.leaves[name], node.ctx)
            case ast.Call(
                ast.Attribute(ast.Attribute(ast.Name("setup"), "starts"), "get"),
                [ast.Constant(str(name)), default],
            ):
                return _parsed(code.leaves[name]) if name in code.leaves else default
            case ast.Subscript(ast.Attribute(ast.Name("setup"), "remembered"), ast.Constant(str(name))):
                return ast.Name(self._in_setup(f"{name} before", node.ctx), node.ctx)
            case ast.Call(
                ast.Attribute(ast.Attribute(ast.Name("setup"), "remembered"), "get"),
                [ast.Constant(str(name)), default],
            ):
                return _parsed(code.in_setup.get(f"{name} before", _text(default)))
            case ast.Attribute(ast.Name("setup"), "dtype"):
                return _parsed(f"torch.{code.levels['all.dtype']}")
            case ast.Attribute(ast.Name("setup"), "measures_memory"):
                return ast.Constant(value=False)
            case ast.Subscript(ast.Call(ast.Attribute(net, "pieces"), []), ast.Constant(int(n))):
                return _parsed(f"{_text(net)}[{_PIECES[n]}]")
            case ast.Subscript(ast.Name(table), ast.Constant(key)) if table in self.known:
                return _entry(self.known[table], key) or node
            case ast.Subscript(ast.Dict() as table, ast.Constant(key)):
                return _entry(table, key) or node
            case ast.Call(ast.Attribute(ast.Dict() as table, "get"), [ast.Constant(key), *default]):
                return _entry(table, key) or [*default, ast.Constant(None)][0]
            case ast.Call(ast.Name(name), given) if name in code.functions and any(map(_is_setup, given)):
                return code.helper(name, given, self.argument)
            case ast.Call(ast.Lambda(ast.arguments([], []), body), [], []):
                return body
            case ast.Call(ast.Name("attempt"), [function, *given], keywords):
                return ast.Call(function, given, keywords)
            case ast.Attribute(ast.Name("setup"), name) if (
                isinstance(node.ctx, ast.Store) or name in code.in_setup
            ):
                return ast.Name(self._in_setup(name, node.ctx), node.ctx)
            case ast.Attribute(thing, "fields"):
                return thing
            case ast.Call(ast.Name("snap"), [tensor]):
                return _parsed(f"({_text(tensor)}).detach().clone()")
            case ast.Call(ast.Name("state"), [module]):
                return _parsed(_STATE.format(f"({_text(module)})"))
            case ast.Call(ast.Name("gradients"), [output, *others], keywords):
                return _gradients(output, others, keywords)
        return node

    def _in_setup(self, name: str, context: ast.expr_context) -> str:
        """The variable of something that an author's function stores in the setup, or one stored before."""
        in_setup = self.code.in_setup
        if isinstance(context, ast.Store):
            in_setup[name] = _variable(name)
            self.code.read_later.add(in_setup[name])
        if name not in in_setup:
            raise CannotShowError(f"{name} is an object of the setup and no argument")
        return in_setup[name]

    def _level(self, key: str) -> ast.expr:
        if key not in self.code.levels:
            raise CannotShowError("a level of a factor that is not known")
        return _parsed(repr(self.code.levels[key]))


# --- trees


def _gradients(output: ast.expr, others: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> ast.expr:
    """The gradients of named tensors, in torch's words."""
    named = {repr(one.arg): _text(one.value) for one in keywords if one.arg != "by"}
    for table in others:
        if isinstance(table, ast.Dict) and None not in table.keys:
            pairs = zip(table.keys, table.values, strict=True)
            named |= {_text(key): _text(value) for key, value in pairs if key}
        else:
            named[f"*{_text(table)}"] = f"*{_text(table)}.values()"
    if isinstance(output, ast.Lambda):
        output = output.body
    asked = _GRAD.format(f"({_text(output)})", ", ".join(named.values()))
    return _parsed(f"dict(zip([{', '.join(named)}], {asked}))")


def _has_walrus(tree: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(tree))


def _variable(name: str) -> str:
    return re.sub(r"\W+", "_", name)


def _replaced(tree: ast.expr, name: str, value: ast.expr) -> ast.expr:
    """The tree with a value for each use of a name."""
    names = {name: value}

    class Replacer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return names.get(node.id, node)

    found: ast.expr = Replacer().visit(deepcopy(tree))
    return found


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _text(node: ast.AST) -> str:
    """The source of a tree that was put together."""
    return ast.unparse(ast.fix_missing_locations(node))


def _is_setup(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"setup", "kind"}


def _names(nodes: Collection[ast.AST], context: type[ast.expr_context]) -> set[str]:
    every = (part for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in every if isinstance(name.ctx, context)}


def is_literal(text: str) -> bool:
    """Whether the source of an expression is a number, a text, or a tuple of these."""
    return _is_literal(_parsed(text))


def _is_literal(node: ast.expr) -> bool:
    with suppress(ValueError):
        return isinstance(ast.literal_eval(node), _LITERALS)
    return False


def _evaluated(node: ast.expr) -> ast.expr:
    """An expression of literals as one literal."""
    if isinstance(node, _FOLDED) and not any(isinstance(part, _NO_LITERALS) for part in ast.walk(node)):
        for part in ast.walk(node):  # of literals, "is" warns
            if isinstance(part, ast.Compare):
                equal: Mapping[type[ast.cmpop], ast.cmpop] = {ast.Is: ast.Eq(), ast.IsNot: ast.NotEq()}
                part.ops = [equal.get(type(op), op) for op in part.ops]
        with suppress(Exception):
            code = compile(ast.fix_missing_locations(ast.Expression(node)), "<author>", "eval")
            value = eval(code, {"__builtins__": {}})  # noqa: S307 - literals of the author's
            literal = _parsed(repr(value))
            return literal if _is_literal(literal) else node
    return node


def _entry(table: ast.expr, wanted: object) -> ast.expr | None:
    """The value of a key in a dict of literal keys."""
    if not isinstance(table, ast.Dict) or not all(isinstance(key, ast.Constant) for key in table.keys):
        return None
    pairs = zip(table.keys, table.values, strict=True)
    return next((v for key, v in pairs if isinstance(key, ast.Constant) and key.value == wanted), None)


def _without_unused(body: list[Any], read_later: set[str]) -> list[Any]:
    """Statements without those that only give a value to a name that nothing reads."""
    while True:
        loaded = _names(body, ast.Load) | read_later
        left = [node for node in body if not _is_unused(node, loaded)]
        if len(left) == len(body):
            return left
        body = left


def _is_unused(node: ast.stmt, loaded: set[str]) -> bool:
    match node:
        case ast.Assign([ast.Name(name)], ast.Name(same)) if name == same:
            return True
        case ast.Assign([ast.Name(name)], value) if name not in loaded:
            calls = [_text(part.func) for part in ast.walk(value) if isinstance(part, ast.Call)]
            return isinstance(value, ast.Dict) or all(
                call in {"list", "len"} or call.endswith(".parameters") for call in calls
            )
    return False
