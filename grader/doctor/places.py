"""The places of a definition that an edit may change, and edits that obviously change nothing.

Where only the task shows that nothing changes, an author writes `equal`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Loop = ast.For | ast.While
_SIGNATURES = {"decorator_list", "args", "returns", "annotation", "bases", "keywords"}

MODULES = {"torch", "nn", "F", "copy", "math", "functools", "itertools", "contextlib", "collections", "np"}
_NO_TENSORS = {"range", "len", "isinstance", "type", "id", "enumerate", "zip", "print", "super", "getattr"}
_NO_TENSORS |= {"list", "dict", "set", "iter", "next", "reversed", "sorted"}
_CONTAINERS = {"parameters", "named_parameters", "buffers", "modules", "items", "keys", "values", "append"}
_CONTAINERS |= {"named_buffers", "named_modules", "state_dict", "children", "get_submodule"}
_PROPERTIES = {"shape", "dtype", "device", "ndim", "is_leaf", "requires_grad", "size", "dim", "numel"}
_READ_FROM = {"backward", "register_hook", "retain_grad", "data", "detach", "view", "grad", "grad_fn"}
_ALIASES = {"detach", "view", "reshape", "flatten", "squeeze", "unsqueeze", "t", "expand", "float", "to"}
_ALIASES |= {"Parameter", "as_tensor", "from_numpy", "get_parameter", "get_buffer", "pop", "next"}
_CONSTANTS = {"tensor", "zeros", "ones", "full", "empty", "eye", "arange", "rand", "randn", "from_numpy"}
_CONSTANTS |= {"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"}
_CONSTANTS |= {"new_tensor", "new_zeros", "new_ones", "new_full", "new_empty"}
_KEEPS = {"grad", "backward", "Parameter", "Buffer", "checkpoint", "saved_tensors_hooks", "jacobian", "vjp"}
#: Methods with an underscore behind their names: these write into a tensor.
IN_PLACE = {"add", "sub", "mul", "div", "neg", "clamp", "zero", "fill", "copy", "lerp", "normal", "uniform"}
IN_PLACE |= {"addcmul", "addcdiv", "masked_fill", "exp", "sqrt", "tanh", "pow", "relu", "sigmoid"}
IN_PLACE |= {"detach", "requires_grad"}
_BACKWARD = {"backward", "grad", "register_hook", "register_forward_hook", "register_full_backward_hook"}
_BACKWARD |= {"register_module_forward_hook"}
_UNRECORDED = {"requires_grad_", "retain_grad", "zero_grad", "step", "append", "remove", "train", "eval"}
DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Nonlocal, ast.Global, ast.Pass)
_PLAIN = (ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.expr_context)


@dataclass(frozen=True)
class Block:
    """The statements of a definition, loop or `with`, which is their `owner`.

    `unrecorded` says whether they run under `no_grad` or `inference_mode`.
    """

    statements: list[ast.stmt]
    owner: ast.AST
    unrecorded: bool

    def spliced(self, begin: int, end: int, *others: ast.stmt) -> list[ast.stmt]:
        """The statements, with others in the place of those from `begin` to before `end`."""
        return [*self.statements[:begin], *others, *self.statements[end:]]


@dataclass(frozen=True)
class Place:
    """An expression `node`, and its place in the tree.

    Attributes:
        field: the parent's field that holds it.
        index: in that field, if the field is a list.
        statement: the innermost statement around it.
        unrecorded: whether it is evaluated under `no_grad` or `inference_mode`.
    """

    node: ast.expr
    parent: ast.AST
    field: str
    index: int | None
    statement: ast.AST | None
    unrecorded: bool

    def put(self, expression: ast.expr) -> None:
        """Put an expression into the tree in its place."""
        if self.index is None:
            setattr(self.parent, self.field, expression)
        else:
            getattr(self.parent, self.field)[self.index] = expression


def places(
    node: ast.AST, statement: ast.AST | None = None, *, unrecorded: bool = False
) -> Iterator[Block | Place]:
    """All blocks of a definition, and all expressions but those of its signature, the outer first.

    `statement` is the innermost around the node.
    """
    for field, child, index in _children(node):
        below = unrecorded or (field == "body" and records_nothing(node))
        if child is None:
            yield Block(getattr(node, field), node, below)
            continue
        if isinstance(child, ast.expr):
            yield Place(child, node, field, index, statement, below)
        innermost = child if isinstance(child, ast.stmt) else statement
        yield from places(child, innermost, unrecorded=below)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST | None, int | None]]:
    """The nodes below a node; before the statements of a block, None once for the block itself."""
    is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.AnnAssign | ast.arg)
    for field, value in ast.iter_fields(node):
        if is_definition and field in _SIGNATURES:
            continue
        if isinstance(value, ast.AST):
            yield field, value, None
        elif isinstance(value, list) and value:
            if isinstance(value[0], ast.stmt):
                yield field, None, None
            for index, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield field, child, index


def records_nothing(node: ast.AST) -> bool:
    """Whether autograd does not record the body of a statement."""
    managers = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
    managers += node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(name in ast.unparse(manager) for manager in managers for name in ("no_grad", "inference_mode"))


# --- edits that change nothing


def may_be_tensor(place: Place) -> bool:
    """Whether an expression that is read may be a tensor, judging by its text.

    The parent may ask for a shape, a length, ..., which a copy has as well.
    """
    if place.field in {"func", "slice", "iter"} or not _names_a_value(place.node):
        return False
    match place.parent:
        case ast.Expr() | ast.withitem() | ast.Compare() | ast.FormattedValue() | ast.Starred():
            return False
        case ast.keyword():
            return isinstance(place.node, ast.Name | ast.Attribute)
        case ast.Attribute(attr=name):
            return name not in _PROPERTIES
        case ast.Call(func=function):
            return last_name(function) not in _NO_TENSORS
    return True


def _names_a_value(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=function):
            return last_name(function) not in _CONTAINERS | _NO_TENSORS
        case ast.Attribute(value=base, attr=name, ctx=ast.Load()):
            return name not in _PROPERTIES and not is_module(base)
        case ast.Name(id=name, ctx=ast.Load()):
            return name not in MODULES | {"self", "ctx", "cls"}
    return isinstance(node, ast.BinOp) or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load))


def makes_a_difference(place: Place, name: str) -> bool:
    """Whether `.detach()`, `.clone()` or `.data` can change anything here.

    It cannot if it copies a tensor that has no other user or is only read, or if it cuts where nothing is
    recorded, a tensor without history, or a second time. Without other users, `.data` cuts like `.detach()`.
    """
    if name == "data" and _is_new(place.node):
        return False
    if name != "clone" and (_is_constant(place.node) or _is_read_for_a_constant(place)):
        return False
    if name == "clone":
        return not (_is_new(place.node) or _is_only_read(place) or _is_read_by_torch(place))
    if place.unrecorded and _is_written(place) and _is_target(place):
        return name != "detach"
    before, behind = last_name(place.node), getattr(place.parent, "attr", "")
    is_cut = before == "data" or (before == "detach" and name == "detach") or behind in {"detach", "data"}
    return not (is_cut or (place.unrecorded and _is_only_read(place)))


def is_cut_only(place: Place, name: str) -> bool:
    """Whether `.detach()` or `.data` does nothing but cut here, because the tensor has no other user."""
    parent = place.parent
    of_lists = _CONTAINERS | {"extend", "insert"}
    is_argument = isinstance(parent, ast.Call) and last_name(parent.func) not in of_lists
    if is_argument or _is_only_read(place) or isinstance(place.node, ast.BinOp):
        return True
    return name == "detach" and _is_new(place.node)


def _is_new(node: ast.expr) -> bool:
    """Whether an expression makes a tensor that has no other user and is no leaf."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.BinOp)
    return not (_is_leaf(node) or last_name(node).endswith("_") or last_name(node) in _ALIASES)


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression makes a leaf that does not require grad."""
    return isinstance(node, ast.Call) and last_name(node) in _CONSTANTS and not _is_leaf(node)


def _is_leaf(call: ast.Call) -> bool:
    return any(keyword.arg == "requires_grad" for keyword in call.keywords)


def _is_read_for_a_constant(place: Place) -> bool:
    """Whether a tensor without a history is made from the expression, or like it."""
    match place.parent:
        case ast.Attribute(attr=name):
            return name in _CONSTANTS
        case ast.Call(func=function):
            return place.field == "args" and last_name(function) in _CONSTANTS
    return False


def _is_read_by_torch(place: Place) -> bool:
    """Whether the expression is given to a function of torch's that keeps nothing."""
    parent = place.parent
    return isinstance(parent, ast.Call) and is_module(parent.func) and last_name(parent) not in _KEEPS


def _is_only_read(place: Place) -> bool:
    """Whether the expression's tensor is neither kept nor written into."""
    parent = place.parent
    if isinstance(parent, ast.Attribute):
        return not (parent.attr.endswith("_") or parent.attr in _READ_FROM)
    is_given = isinstance(parent, ast.Call) and place.field == "args" and _is_written(place)
    return is_given or isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Subscript)


def _is_written(place: Place) -> bool:
    """Whether the statement does no more than write into a tensor, as `w.copy_(values)`."""
    match place.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name.endswith("_") and name.removesuffix("_") in IN_PLACE
    return False


def _is_target(place: Place) -> bool:
    """Whether the expression is the target of such a statement."""
    statement = place.statement
    return isinstance(statement, ast.Expr) and place.parent is getattr(statement.value, "func", None)


def may_record(statement: ast.stmt) -> bool:
    """Whether autograd may record something that a statement does."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=args)) if name in _UNRECORDED:
            return not all(isinstance(argument, ast.Name | ast.Constant) for argument in args)
    called = {last_name(node) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    called -= _CONTAINERS | _NO_TENSORS | _CONSTANTS | _BACKWARD | _UNRECORDED
    computes = any(isinstance(node, ast.BinOp | ast.AugAssign) for node in ast.walk(statement))
    return (computes or bool(called)) and not isinstance(statement, DEFINITIONS)


def returns_a_name(statement: ast.stmt) -> bool:
    """Whether a statement returns values that are already computed."""
    return isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name | ast.Constant | None)


def are_independent(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements may change places: they share no name, and at most one calls anything."""
    names = [{node.id for node in ast.walk(s) if isinstance(node, ast.Name)} for s in (first, second)]
    return not names[0] & names[1] and (_is_plain(first) or _is_plain(second))


def _is_plain(statement: ast.stmt) -> bool:
    """Whether a statement only gives names to existing objects."""
    if not isinstance(statement, ast.Assign):
        return False
    parts = [*statement.targets, statement.value]
    return all(isinstance(node, _PLAIN) for part in parts for node in ast.walk(part))


def is_module(node: ast.expr) -> bool:
    """Whether a name is a module's, such as `torch.autograd`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in MODULES


def last_name(node: ast.expr) -> str:
    """The last name of a function or attribute, or of the function that is called."""
    function = node.func if isinstance(node, ast.Call) else node
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
