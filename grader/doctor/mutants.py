"""The mutants of a reference: its texts after a single edit, a mistake that a student could make.

The edit `x -> x.detach()` has this name at every position: an `equal` holds for all of them, and a change
elsewhere in the file does not affect it.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from itertools import combinations, pairwise
from textwrap import dedent

from grader.doctor.places import (
    DEFINITIONS,
    IN_PLACE,
    Block,
    Loop,
    Place,
    are_independent,
    is_cut_only,
    is_module,
    makes_a_difference,
    may_be_tensor,
    may_record,
    places,
    records_nothing,
    returns_a_name,
)

_FEW = 4
_CUTS = {"detach is put in": "detach", "data is put in": "data"}
_CUTS_ALL = "no_grad is put around"

#: From where to where in a text: line and column, twice.
Span = tuple[tuple[int, int], tuple[int, int]]

Statements = list[ast.stmt]
Expressions = Iterator[ast.expr]


@dataclass(frozen=True)
class Mutant:
    """A reference with a single edit.

    Attributes:
        kind: of the edit, in plain English.
        edit: its name: ``x -> x.detach()``, or the kind and a statement.
        source: the text after the edit, without docstrings and comments.
        before: the text before the edit.
        cut: the part of the text that loses its history, if that is all the edit does.
    """

    kind: str
    edit: str
    source: str
    before: str
    cut: Span | None = None

    def is_implied_by(self, other: Mutant) -> bool:
        """Whether another mutant of the same reference cuts the same part, and more."""
        if self.cut is None or other.cut is None:
            return False
        within = other.cut[0] <= self.cut[0] and self.cut[1] <= other.cut[1]
        return within and (other.cut != self.cut or (self.kind, other.kind) == tuple(reversed(_CUTS)))

    @property
    def change(self) -> tuple[str, ...]:
        """The lines that differ, each behind ``- `` or ``+ ``, dedented together.

        Where a few lines were exchanged, these are all of them, in the old and in the new order.
        """
        old, new = self.before.splitlines(), self.source.splitlines()
        opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        parts = [part for part in opcodes if part[0] != "equal"]
        (_, begin, _, begun, _), (_, _, end, _, ended) = parts[0], parts[-1]
        if end - begin <= _FEW and sorted(old[begin:end]) == sorted(new[begun:ended]):
            parts = [("replace", begin, end, begun, ended)]
        marks: list[str] = []
        lines: list[str] = []
        for _, begin, end, begun, ended in parts:
            marks += ["- "] * (end - begin) + ["+ "] * (ended - begun)
            lines += old[begin:end] + new[begun:ended]
        shown = dedent("\n".join(lines)).split("\n")
        return tuple(mark + line for mark, line in zip(marks, shown, strict=True))


def mutants(source: str) -> Iterator[Mutant]:
    """The mutants of a function or class, each text once; name and signature stay."""
    definition = _without_docstrings(source)
    before = ast.unparse(definition)
    known = {before}
    for kind, name, cut in _edits(definition):
        text = ast.unparse(definition)
        if text not in known and _compiles(text):
            yield Mutant(kind, name, text, before, cut)
        known.add(text)


def possible_edits(source: str) -> set[str]:
    """The names of the edits that can be made in a function or class."""
    return {name for _, name, _ in _edits(_without_docstrings(source))}


def normalised_source(source: str) -> str:
    """A definition's text without its name, docstrings, comments and spacing: equal for equal answers."""
    return without_name(ast.unparse(_without_docstrings(source)))


def without_name(source: str) -> str:
    """The text of a definition without its name."""
    name = re.search(r"^(?:def|class) (\w+)", source, re.MULTILINE)
    return re.sub(rf"\b{name[1]}\b", "_", source) if name else source


def _edits(definition: ast.Module) -> Iterator[tuple[str, str, Span | None]]:
    """The kind, the name and the cut of each edit, which stands in the tree until the next is asked for."""
    found = [*places(definition)]
    for block in (place for place in found if isinstance(place, Block)):
        original = list(block.statements)
        for kind, others in BLOCK_EDITS.items():
            for statements in [*others(block)]:
                name = _name(kind, block, statements)
                cut = _span(_changed(block, statements)) if kind == _CUTS_ALL else None
                block.statements[:] = statements or [ast.Pass()]
                yield kind, name, cut
                block.statements[:] = original
    for place in (place for place in found if isinstance(place, Place)):
        for kind, instead in EXPRESSION_EDITS.items():
            for expression in [*instead(place)]:
                name = _exchange(place.node, expression)
                cut = _span(place.node) if kind in _CUTS and is_cut_only(place, _CUTS[kind]) else None
                place.put(expression)
                yield kind, name, cut
                place.put(place.node)


def _exchange(old: ast.expr, new: ast.expr) -> str:
    """The old text and the new text; of a call whose arguments differ, only the method."""
    match old, new:
        case ast.Call(func=ast.Attribute(attr=name)), ast.Call() if new.func is old.func:
            calls = [ast.Call(ast.Name(name, ast.Load()), call.args, call.keywords) for call in (old, new)]
            return " -> ".join(f".{ast.unparse(call)}" for call in calls)
    return f"{ast.unparse(old)} -> {ast.unparse(new)}"


def _name(kind: str, block: Block, statements: list[ast.stmt]) -> str:
    """The old and the new text if a simple statement was rewritten, otherwise the kind and a line."""
    gone = [statement for statement in block.statements if statement not in statements]
    new = [statement for statement in statements if statement not in block.statements]
    if len(gone) == len(new) == 1 and not hasattr(gone[0], "body") and not hasattr(new[0], "body"):
        return f"{ast.unparse(gone[0])} -> {ast.unparse(new[0])}"
    if isinstance(block.owner, ast.Module):
        return f"{kind}: the function"
    return f"{kind}: {ast.unparse(_changed(block, statements)).splitlines()[0]}"


def _changed(block: Block, statements: list[ast.stmt]) -> ast.stmt:
    """The statement that an edit of a block is about: removed (a simple one first) or moved."""
    gone = [statement for statement in block.statements if statement not in statements]
    simple = [statement for statement in gone if not hasattr(statement, "body")]
    moved = [old for old, new in zip(block.statements, statements, strict=False) if old is not new]
    return [*simple, *gone, *moved, block.statements[-1]][0]


def _span(node: ast.stmt | ast.expr) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _without_docstrings(source: str) -> ast.Module:
    """The tree of the first definition in a text."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.Module(tree.body[:1], [])


def _compiles(text: str) -> bool:
    """Whether a text is Python: `break` needs a loop, and not everything can be assigned to."""
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


# Names and operators that are easily confused.
_METHODS = {"sum": ["mean"], "mean": ["sum"], "max": ["min"], "min": ["max"], "any": ["all"], "all": ["any"]}
_METHODS |= {"detach": ["clone"], "clone": ["detach"], "item": ["detach"], "deepcopy": ["copy"]}
_METHODS |= {"no_grad": ["enable_grad", "inference_mode"], "enable_grad": ["no_grad"]}
_METHODS |= {"zeros_like": ["ones_like"], "named_parameters": ["named_buffers"], "parameters": ["buffers"]}
_METHODS |= {"train": ["eval"], "eval": ["train"], "cat": ["stack"], "stack": ["cat"]}
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.MatMult: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
_KEYWORDS = {"zero_grad": ["set_to_none=False"], "sum": ["dim=0"], "mean": ["dim=0"]}
_KEYWORDS |= {name: ["retain_graph=True", "create_graph=True"] for name in ("backward", "grad")}
_IN_PLACE_OPERATORS = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


# --- what else a block could hold


def _left_out(block: Block) -> Iterator[Statements]:
    for i, statement in enumerate(block.statements):
        if not isinstance(statement, DEFINITIONS):
            yield block.spliced(i, i + 1)


def _shifted_by_one(block: Block) -> Iterator[Statements]:
    for i, (first, second) in enumerate(pairwise(block.statements)):
        if not isinstance(first, DEFINITIONS) and not are_independent(first, second):
            yield block.spliced(i, i + 2, second, first)


def _shifted_into_a_block(block: Block) -> Iterator[Statements]:
    """With a simple statement moved into the loop, `with` or `if` beside it."""
    for i, (first, second) in enumerate(pairwise(block.statements)):
        for field, inner in _blocks_of(second) if not any(_blocks_of(first)) else ():
            yield block.spliced(i, i + 2, _with(second, field, [first, *inner]))
        for field, inner in _blocks_of(first) if not any(_blocks_of(second)) else ():
            if not (isinstance(first, ast.With) and returns_a_name(second)):
                yield block.spliced(i, i + 2, _with(first, field, [*inner, second]))


def _shifted_out_of_a_block(block: Block) -> Iterator[Statements]:
    """With the first statement of a loop, `with` or `if` moved before it, or the last behind it."""
    for i, statement in enumerate(block.statements):
        for field, inner in _blocks_of(statement):
            if len(inner) > 1:
                yield block.spliced(i, i + 1, inner[0], _with(statement, field, inner[1:]))
            if len(inner) > 1 and not (isinstance(statement, ast.With) and returns_a_name(inner[-1])):
                yield block.spliced(i, i + 1, _with(statement, field, inner[:-1]), inner[-1])


def _taken_away(block: Block) -> Iterator[Statements]:
    for i, statement in enumerate(block.statements):
        if isinstance(statement, ast.Try):
            yield block.spliced(i, i + 1, *statement.body, *statement.orelse, *statement.finalbody)
        elif isinstance(statement, ast.With | ast.If):
            yield block.spliced(i, i + 1, *statement.body)


def _under_no_grad(block: Block) -> Iterator[Statements]:
    """With a statement or function under `no_grad`, where something is recorded."""
    manager = ast.parse("torch.no_grad()", mode="eval").body
    for i, statement in enumerate(block.statements):
        if may_record(statement) and not block.unrecorded and not records_nothing(statement):
            yield block.spliced(i, i + 1, ast.With([ast.withitem(manager)], [statement], lineno=0))
        if isinstance(statement, ast.FunctionDef) and not records_nothing(statement):
            decorators = [manager, *statement.decorator_list]
            yield block.spliced(i, i + 1, _with(statement, "decorator_list", decorators))


def _one_round(block: Block) -> Iterator[Statements]:
    ends = isinstance(block.statements[-1], ast.Return | ast.Break)
    if isinstance(block.owner, Loop) and block.statements is block.owner.body and not ends:
        yield [*block.statements, ast.Break()]


def _early_return(block: Block) -> Iterator[Statements]:
    """With the final `return` moved before some of the statements it follows."""
    *statements, last = block.statements
    if isinstance(block.owner, ast.FunctionDef) and isinstance(last, ast.Return):
        for i in range(1, len(statements)):
            yield [*statements[:i], last]


def _zero_and_step_exchanged(block: Block) -> Iterator[Statements]:
    for (i, first), (j, second) in combinations(enumerate(block.statements), 2):
        if {_method(first), _method(second)} == {"zero_grad", "step"}:
            yield block.spliced(i, j + 1, second, *block.statements[i + 1 : j], first)


def _in_place_exchanged(block: Block) -> Iterator[Statements]:
    """With a new value for a name instead of a write into its tensor, or the other way round."""
    for i, statement in enumerate(block.statements):
        for other in _otherwise_assigned(statement):
            yield block.spliced(i, i + 1, other)


def _otherwise_assigned(statement: ast.stmt) -> Iterator[ast.stmt]:
    match statement:
        case ast.AugAssign(target=target, op=op, value=value):
            read = ast.parse(ast.unparse(target), mode="eval").body
            yield ast.Assign([target], ast.BinOp(read, op, value), lineno=0)
            if type(op) in _IN_PLACE_OPERATORS:
                yield ast.Expr(_called(target, _IN_PLACE_OPERATORS[type(op)], value))
        case ast.Assign(targets=[ast.Name() as target], value=ast.BinOp(left=left, op=op, right=right)):
            if ast.unparse(left) == target.id:
                yield ast.AugAssign(target, op, right)
        case ast.Assign(targets=[ast.Subscript(value=target)], value=value):
            yield ast.Assign([target], value, lineno=0)
        case ast.Assign(targets=[ast.Attribute() as target], value=value):
            yield ast.Expr(_called(target, "copy_", value))
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=target, attr="copy_" | "set_"), args=[value, *_])
        ):
            if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
                yield ast.Assign([target], value, lineno=0)


def _without_decorator(block: Block) -> Iterator[Statements]:
    for i, statement in enumerate(block.statements):
        decorators = getattr(statement, "decorator_list", [])
        for j in range(len(decorators)):
            fewer = decorators[:j] + decorators[j + 1 :]
            yield block.spliced(i, i + 1, _with(statement, "decorator_list", fewer))


#: The edits of a block, by their names.
BLOCK_EDITS: dict[str, Callable[[Block], Iterator[Statements]]] = {
    "a statement is left out": _left_out,
    "a statement is moved by one": _shifted_by_one,
    "a statement is moved into a block": _shifted_into_a_block,
    "a statement is moved out of a block": _shifted_out_of_a_block,
    "with, try or if is taken away": _taken_away,
    "no_grad is put around": _under_no_grad,
    "a loop ends after its first round": _one_round,
    "the function returns early": _early_return,
    "zero_grad and step are exchanged": _zero_and_step_exchanged,
    "in place and out of place are exchanged": _in_place_exchanged,
    "a decorator is left out": _without_decorator,
}


def _blocks_of(statement: ast.stmt) -> Iterator[tuple[str, Statements]]:
    if isinstance(statement, ast.With | ast.If | Loop | ast.Try):
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, [])
            if inner:
                yield field, inner


def _with(statement: ast.stmt, field: str, value: object) -> ast.stmt:
    other = copy.copy(statement)
    setattr(other, field, value)
    return other


def _method(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name
    return ""


# --- what could stand in an expression's place


def _put_in(place: Place, name: str) -> Expressions:
    if may_be_tensor(place) and (name == "item" or makes_a_difference(place, name)):
        yield ast.Attribute(place.node, "data", ast.Load()) if name == "data" else _called(place.node, name)


def _method_left_out(place: Place) -> Expressions:
    match place.node:
        case ast.Call(func=ast.Attribute(value=base)) if not is_module(base):
            yield base
        case ast.Attribute(value=base, attr="data" | "grad", ctx=ast.Load()):
            yield base


def _function_left_out(place: Place) -> Expressions:
    """The only argument of a function."""
    match place.node:
        case ast.Call(func=ast.Name() | ast.Attribute(), args=[ast.expr() as only], keywords=[]):
            yield only


def _method_exchanged(place: Place) -> Expressions:
    """A method or function for another that it is confused with, or for its in-place form."""
    match place.node:
        case ast.Attribute(value=base, attr=name, ctx=ast.Load()):
            others = [*_METHODS.get(name, ())]
            if name.removesuffix("_") in IN_PLACE and place.field == "func" and not is_module(base):
                others += [name.removesuffix("_") if name.endswith("_") else f"{name}_"]
            yield from (ast.Attribute(base, other, ast.Load()) for other in others)
            if name == "data":
                yield _called(base, "detach")
        case ast.Call(func=ast.Attribute(value=base, attr="detach" | "clone")):
            yield ast.Attribute(base, "data", ast.Load())


def _argument_dropped(place: Place) -> Expressions:
    """Any keyword of a call, or the last of several arguments."""
    if isinstance(place.node, ast.Call):
        call = place.node
        for i in range(len(call.keywords)):
            yield ast.Call(call.func, call.args, call.keywords[:i] + call.keywords[i + 1 :])
        if len(call.args) > 1:
            yield ast.Call(call.func, call.args[:-1], call.keywords)


def _keyword_put_in(place: Place) -> Expressions:
    match place.node:
        case ast.Call(func=ast.Attribute(attr=name) as function, args=args, keywords=keywords):
            have = {keyword.arg for keyword in keywords}
            for text in _KEYWORDS.get(name, ()):
                keyword, _, value = text.partition("=")
                if keyword not in have:
                    new = ast.keyword(keyword, ast.parse(value, mode="eval").body)
                    yield ast.Call(function, args, [*keywords, new])


def _constant_changed(place: Place) -> Expressions:
    match place.node:
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)


def _comparison_turned(place: Place) -> Expressions:
    match place.node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield ast.Compare(left, [_COMPARED[type(op)]()], [right])


def _condition_changed(place: Place) -> Expressions:
    """A condition negated, taken for true, or cut in half."""
    if place.field in {"test", "ifs"}:
        yield ast.UnaryOp(ast.Not(), place.node)
        yield ast.Constant(True)
    if isinstance(place.node, ast.BoolOp):
        yield from place.node.values


def _operator_exchanged(place: Place) -> Expressions:
    """`*` for `/`, `+` for `-`, and the operands of what is not symmetric; a sign lost."""
    match place.node:
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in _COMPUTED:
                yield ast.BinOp(left, _COMPUTED[type(op)](), right)
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult):
                yield ast.BinOp(right, op, left)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield operand


def _index_changed(place: Place) -> Expressions:
    """The last for the first, the first for the last; a slice without an end."""
    match place.node:
        case ast.Subscript(value=base, slice=ast.Slice(lower=lower, upper=upper, step=step), ctx=ctx):
            ends = [(None, upper, step), (lower, None, step), (lower, upper, None)]
            yield from (ast.Subscript(base, ast.Slice(*end), ctx) for end in ends)
        case ast.Subscript(value=base, slice=ast.Constant(value=0), ctx=ctx):
            yield ast.Subscript(base, ast.UnaryOp(ast.USub(), ast.Constant(1)), ctx)
        case ast.Subscript(value=base, slice=ast.UnaryOp(op=ast.USub()), ctx=ctx):
            yield ast.Subscript(base, ast.Constant(0), ctx)


def _one_round_less(place: Place) -> Expressions:
    """The iterable of a loop without its first item, and without its last item."""
    if place.field == "iter":
        things = ast.Call(ast.Name("list", ast.Load()), [place.node], [])
        yield ast.Subscript(things, ast.Slice(lower=ast.Constant(1)), ast.Load())
        yield ast.Subscript(things, ast.Slice(upper=ast.Constant(-1)), ast.Load())


#: The edits of an expression, by their names.
EXPRESSION_EDITS: dict[str, Callable[[Place], Expressions]] = {
    **{f"{name} is put in": partial(_put_in, name=name) for name in ("detach", "data", "clone", "item")},
    "a method is left out": _method_left_out,
    "a function is left out": _function_left_out,
    "a method is exchanged": _method_exchanged,
    "an argument is dropped": _argument_dropped,
    "a keyword is put in": _keyword_put_in,
    "a constant is changed": _constant_changed,
    "a comparison is turned": _comparison_turned,
    "a condition is changed": _condition_changed,
    "an operator is exchanged": _operator_exchanged,
    "an index is changed": _index_changed,
    "a loop goes through one less": _one_round_less,
}


def _called(node: ast.expr, method: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(node, method, ast.Load()), list(arguments), [])
