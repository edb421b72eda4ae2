"""Misconceptions as edits of an expression: what could stand in its place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial

from grader.doctor.mutation.equivalence import is_module, makes_a_difference, may_be_tensor
from grader.doctor.mutation.places import Place

Expressions = Iterator[ast.expr]

_IN_PLACE = {"add", "sub", "mul", "div", "neg", "clamp", "exp", "sqrt", "tanh", "detach", "requires_grad"}
_IN_PLACE |= {"zero", "fill", "copy", "lerp", "addcmul", "addcdiv", "masked_fill", "relu", "sigmoid", "pow"}
_IN_PLACE |= {"normal", "uniform"}
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
            if name.removesuffix("_") in _IN_PLACE and place.field == "func" and not is_module(base):
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
