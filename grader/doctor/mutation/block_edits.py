"""Misconceptions as edits of a block: what statements it could hold instead."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

from grader.doctor.mutation.equivalence import DEFINITIONS, are_independent, may_record, returns_a_name
from grader.doctor.mutation.places import Block, Loop, records_nothing

Statements = list[ast.stmt]

_IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


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
            if type(op) in _IN_PLACE:
                yield _call(target, _IN_PLACE[type(op)], value)
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
