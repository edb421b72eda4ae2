"""Misconceptions as edits: what else a block could hold, and what could stand in an expression's place."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, pairwise

from grader.doctor.mutation.places import (
    DEFINITIONS,
    Block,
    Loop,
    Place,
    are_independent,
    is_module,
    makes_a_difference,
    may_be_tensor,
    may_record,
    records_nothing,
    returns_a_name,
)

Statements = list[ast.stmt]
Expressions = Iterator[ast.expr]

_IN_PLACE_METHODS = {
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "clamp",
    "exp",
    "sqrt",
    "tanh",
    "detach",
    "requires_grad",
}
_IN_PLACE_METHODS |= {
    "zero",
    "fill",
    "copy",
    "lerp",
    "addcmul",
    "addcdiv",
    "masked_fill",
    "relu",
    "sigmoid",
    "pow",
}
_IN_PLACE_METHODS |= {"normal", "uniform"}
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
_KEYWORDS = {
    "backward": ["retain_graph=True", "create_graph=True"],
    "grad": ["retain_graph=True", "create_graph=True"],
    "zero_grad": ["set_to_none=False"],
    "sum": ["dim=0"],
    "mean": ["dim=0"],
}
_IN_PLACE_OPERATORS = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


# --- of a block


def left_out(block: Block) -> Iterator[Statements]:
    """Without a statement."""
    for i, statement in enumerate(block.statements):
        if not isinstance(statement, DEFINITIONS):
            yield block.spliced(i, i + 1)


def moved_by_one(block: Block) -> Iterator[Statements]:
    """With two neighbours exchanged, unless the text shows that they are independent."""
    for i, (first, second) in enumerate(pairwise(block.statements)):
        if not isinstance(first, DEFINITIONS) and not are_independent(first, second):
            yield block.spliced(i, i + 2, second, first)


def moved_into_a_block(block: Block) -> Iterator[Statements]:
    """With a simple statement moved into the loop, `with` or `if` beside it."""
    for i, (first, second) in enumerate(pairwise(block.statements)):
        for field, inner in _blocks_of(second) if not any(_blocks_of(first)) else ():
            yield block.spliced(i, i + 2, _with(second, field, [first, *inner]))
        for field, inner in _blocks_of(first) if not any(_blocks_of(second)) else ():
            if not (isinstance(first, ast.With) and returns_a_name(second)):
                yield block.spliced(i, i + 2, _with(first, field, [*inner, second]))


def moved_out_of_a_block(block: Block) -> Iterator[Statements]:
    """With the first statement of a loop, `with` or `if` moved before it, or the last behind it."""
    for i, statement in enumerate(block.statements):
        for field, inner in _blocks_of(statement):
            if len(inner) > 1:
                yield block.spliced(i, i + 1, inner[0], _with(statement, field, inner[1:]))
            if len(inner) > 1 and not (isinstance(statement, ast.With) and returns_a_name(inner[-1])):
                yield block.spliced(i, i + 1, _with(statement, field, inner[:-1]), inner[-1])


def taken_away(block: Block) -> Iterator[Statements]:
    """With what a `with`, `try` or `if` holds in its place."""
    for i, statement in enumerate(block.statements):
        if isinstance(statement, ast.Try):
            yield block.spliced(i, i + 1, *statement.body, *statement.orelse, *statement.finalbody)
        elif isinstance(statement, ast.With | ast.If):
            yield block.spliced(i, i + 1, *statement.body)


def under_no_grad(block: Block) -> Iterator[Statements]:
    """With a statement or function under `no_grad`, where something is recorded."""
    manager = ast.parse("torch.no_grad()", mode="eval").body
    for i, statement in enumerate(block.statements):
        if may_record(statement) and not block.unrecorded and not records_nothing(statement):
            yield block.spliced(i, i + 1, ast.With([ast.withitem(manager)], [statement], lineno=0))
        if isinstance(statement, ast.FunctionDef) and not records_nothing(statement):
            decorators = [manager, *statement.decorator_list]
            yield block.spliced(i, i + 1, _with(statement, "decorator_list", decorators))


def one_round(block: Block) -> Iterator[Statements]:
    """With a loop that ends after its first round."""
    ends = isinstance(block.statements[-1], ast.Return | ast.Break)
    if isinstance(block.owner, Loop) and block.statements is block.owner.body and not ends:
        yield [*block.statements, ast.Break()]


def early_return(block: Block) -> Iterator[Statements]:
    """With the final `return` moved before some of the statements it follows."""
    *statements, last = block.statements
    if isinstance(block.owner, ast.FunctionDef) and isinstance(last, ast.Return):
        for i in range(1, len(statements)):
            yield [*statements[:i], last]


def zero_and_step_exchanged(block: Block) -> Iterator[Statements]:
    """With the places of `zero_grad` and `step` exchanged."""
    for (i, first), (j, second) in combinations(enumerate(block.statements), 2):
        if {_method(first), _method(second)} == {"zero_grad", "step"}:
            yield block.spliced(i, j + 1, second, *block.statements[i + 1 : j], first)


def in_place_exchanged(block: Block) -> Iterator[Statements]:
    """With a new value for a name instead of a write into its tensor, or the other way round."""
    for i, statement in enumerate(block.statements):
        for other in _otherwise_assigned(statement):
            yield block.spliced(i, i + 1, other)


def without_decorator(block: Block) -> Iterator[Statements]:
    """With a definition that lacks a decorator."""
    for i, statement in enumerate(block.statements):
        decorators = getattr(statement, "decorator_list", [])
        for j in range(len(decorators)):
            fewer = decorators[:j] + decorators[j + 1 :]
            yield block.spliced(i, i + 1, _with(statement, "decorator_list", fewer))


#: The edits of a block, each with its name in plain English.
BLOCK_EDITS: dict[str, Callable[[Block], Iterator[Statements]]] = {
    "a statement is left out": left_out,
    "a statement is moved by one": moved_by_one,
    "a statement is moved into a block": moved_into_a_block,
    "a statement is moved out of a block": moved_out_of_a_block,
    "with, try or if is taken away": taken_away,
    "no_grad is put around": under_no_grad,
    "a loop ends after its first round": one_round,
    "the function returns early": early_return,
    "zero_grad and step are exchanged": zero_and_step_exchanged,
    "in place and out of place are exchanged": in_place_exchanged,
    "a decorator is left out": without_decorator,
}


def _otherwise_assigned(statement: ast.stmt) -> Iterator[ast.stmt]:
    match statement:
        case ast.AugAssign(target=target, op=op, value=value):
            read = ast.parse(ast.unparse(target), mode="eval").body
            yield ast.Assign([target], ast.BinOp(read, op, value), lineno=0)
            if type(op) in _IN_PLACE_OPERATORS:
                yield _call(target, _IN_PLACE_OPERATORS[type(op)], value)
        case ast.Assign(targets=[ast.Name() as target], value=ast.BinOp(left=left, op=op, right=right)):
            if ast.unparse(left) == target.id:
                yield ast.AugAssign(target, op, right)
        case ast.Assign(targets=[ast.Subscript(value=target)], value=value):
            yield ast.Assign([target], value, lineno=0)
        case ast.Assign(targets=[ast.Attribute() as target], value=value):
            yield _call(target, "copy_", value)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=target, attr="copy_" | "set_"), args=[value, *_])
        ):
            if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
                yield ast.Assign([target], value, lineno=0)


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


def _call(target: ast.expr, method: str, value: ast.expr) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Attribute(target, method, ast.Load()), [value], []))


def _method(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name
    return ""


# --- of an expression


def put_in(place: Place, name: str) -> Expressions:
    """`.detach()`, `.clone()`, `.item()` or `.data` behind every expression that may be a tensor."""
    if may_be_tensor(place) and (name == "item" or makes_a_difference(place, name)):
        yield ast.Attribute(place.node, "data", ast.Load()) if name == "data" else _called(place.node, name)


def method_left_out(place: Place) -> Expressions:
    """A method of a chain, or a property such as `.data`."""
    match place.node:
        case ast.Call(func=ast.Attribute(value=base)) if not is_module(base):
            yield base
        case ast.Attribute(value=base, attr="data" | "grad", ctx=ast.Load()):
            yield base


def function_left_out(place: Place) -> Expressions:
    """A function of one argument, which stays."""
    match place.node:
        case ast.Call(func=ast.Name() | ast.Attribute(), args=[ast.expr() as only], keywords=[]):
            yield only


def method_exchanged(place: Place) -> Expressions:
    """A method or function for another that it is confused with, or for its in-place form."""
    match place.node:
        case ast.Attribute(value=base, attr=name, ctx=ast.Load()):
            others = [*_METHODS.get(name, ())]
            if name.removesuffix("_") in _IN_PLACE_METHODS and place.field == "func" and not is_module(base):
                others += [name.removesuffix("_") if name.endswith("_") else f"{name}_"]
            yield from (ast.Attribute(base, other, ast.Load()) for other in others)
            if name == "data":
                yield _called(base, "detach")
        case ast.Call(func=ast.Attribute(value=base, attr="detach" | "clone")):
            yield ast.Attribute(base, "data", ast.Load())


def argument_dropped(place: Place) -> Expressions:
    """Any keyword of a call, or the last of several arguments."""
    if isinstance(place.node, ast.Call):
        call = place.node
        for i in range(len(call.keywords)):
            yield ast.Call(call.func, call.args, call.keywords[:i] + call.keywords[i + 1 :])
        if len(call.args) > 1:
            yield ast.Call(call.func, call.args[:-1], call.keywords)


def keyword_put_in(place: Place) -> Expressions:
    """A keyword which the call could have."""
    match place.node:
        case ast.Call(func=ast.Attribute(attr=name) as function, args=args, keywords=keywords):
            have = {keyword.arg for keyword in keywords}
            for text in _KEYWORDS.get(name, ()):
                keyword, _, value = text.partition("=")
                if keyword not in have:
                    new = ast.keyword(keyword, ast.parse(value, mode="eval").body)
                    yield ast.Call(function, args, [*keywords, new])


def constant_changed(place: Place) -> Expressions:
    """A number plus one; True for False."""
    match place.node:
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)


def comparison_turned(place: Place) -> Expressions:
    """`<=` for `<`, `!=` for `==`, ..."""
    match place.node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield ast.Compare(left, [_COMPARED[type(op)]()], [right])


def condition_changed(place: Place) -> Expressions:
    """A condition negated, taken for true, or cut in half."""
    if place.field in {"test", "ifs"}:
        yield ast.UnaryOp(ast.Not(), place.node)
        yield ast.Constant(True)
    if isinstance(place.node, ast.BoolOp):
        yield from place.node.values


def operator_exchanged(place: Place) -> Expressions:
    """`*` for `/`, `+` for `-`, and the operands of what is not symmetric; a sign lost."""
    match place.node:
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in _COMPUTED:
                yield ast.BinOp(left, _COMPUTED[type(op)](), right)
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult):
                yield ast.BinOp(right, op, left)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield operand


def index_changed(place: Place) -> Expressions:
    """The last for the first, the first for the last; a slice without an end."""
    match place.node:
        case ast.Subscript(value=base, slice=ast.Slice(lower=lower, upper=upper, step=step), ctx=ctx):
            ends = [(None, upper, step), (lower, None, step), (lower, upper, None)]
            yield from (ast.Subscript(base, ast.Slice(*end), ctx) for end in ends)
        case ast.Subscript(value=base, slice=ast.Constant(value=0), ctx=ctx):
            yield ast.Subscript(base, ast.UnaryOp(ast.USub(), ast.Constant(1)), ctx)
        case ast.Subscript(value=base, slice=ast.UnaryOp(op=ast.USub()), ctx=ctx):
            yield ast.Subscript(base, ast.Constant(0), ctx)


def one_round_less(place: Place) -> Expressions:
    """A loop that misses the first or the last of what it goes through."""
    if place.field == "iter":
        things = ast.Call(ast.Name("list", ast.Load()), [place.node], [])
        yield ast.Subscript(things, ast.Slice(lower=ast.Constant(1)), ast.Load())
        yield ast.Subscript(things, ast.Slice(upper=ast.Constant(-1)), ast.Load())


#: The edits of an expression, each with its name in plain English.
EXPRESSION_EDITS: dict[str, Callable[[Place], Expressions]] = {
    "detach is put in": partial(put_in, name="detach"),
    "data is put in": partial(put_in, name="data"),
    "clone is put in": partial(put_in, name="clone"),
    "item is put in": partial(put_in, name="item"),
    "a method is left out": method_left_out,
    "a function is left out": function_left_out,
    "a method is exchanged": method_exchanged,
    "an argument is dropped": argument_dropped,
    "a keyword is put in": keyword_put_in,
    "a constant is changed": constant_changed,
    "a comparison is turned": comparison_turned,
    "a condition is changed": condition_changed,
    "an operator is exchanged": operator_exchanged,
    "an index is changed": index_changed,
    "a loop goes through one less": one_round_less,
}


def _called(node: ast.expr, method: str) -> ast.Call:
    return ast.Call(ast.Attribute(node, method, ast.Load()), [], [])
