"""Inside: finds in a cell the names that only deceivers need, also where they are put together of pieces."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator

_WORDS = {
    "frames": (
        *("gi_frame", "cr_frame", "ag_frame", "tb_frame", "f_back", "f_locals", "f_globals", "f_builtins"),
        *("_getframe", "_current_frames", "currentframe", "walk_stack", "walk_tb", "extract_stack"),
        *("__globals__", "__closure__", "cell_contents", "__subclasses__"),
    ),
    "gc": ("get_objects", "get_referrers", "get_referents"),
    "settrace": ("settrace", "setprofile"),
    "code objects": ("__code__", "__kwdefaults__", "CodeType"),
    "builtins": ("__builtins__",),
    "version counter": ("_unsafe_set_version_counter", "_unsafe_preserve_version_counter"),
    "modes of torch": ("_top_saved_tensors_default_hooks", "__torch_function__", "__torch_dispatch__"),
    "raw memory": ("_construct_storage_from_data_pointer", "__array_interface__", "_weak_ref"),
    "patched": ("_showwarnmsg_impl", "_showwarnmsg"),
    "the grader itself": ("_notebook", "_forward_cls"),
}
_MEANS = {word: what for what, words in _WORDS.items() for word in words}
_BY_NAME = {"getattr", "setattr", "delattr", "attrgetter", "__getattribute__", "__setattr__"}


_TELLING = frozenset(_MEANS) | _BY_NAME | {"Library", "impl"}


def may_show_traces(code: types.CodeType) -> bool:
    """Whether compiled code has a name or a text that `traces_in` looks for; by then pieces are put together.

    To walk through the syntax tree of a cell takes as long as to run it.
    """
    names = (*code.co_names, *code.co_varnames, *code.co_cellvars)
    return not _TELLING.isdisjoint(names) or any(map(_is_telling, code.co_consts))


def _is_telling(constant: object) -> bool:
    if isinstance(constant, str):
        return constant in _TELLING
    if isinstance(constant, tuple | frozenset):
        return any(map(_is_telling, constant))
    return isinstance(constant, types.CodeType) and may_show_traces(constant)


def traces_in(tree: ast.AST) -> Iterator[str]:
    """What a cell's syntax tree shows, in the words of ``grader/flags.py``."""
    for node in ast.walk(tree):
        name = _name(node)
        if name in _MEANS:
            yield _MEANS[name]
        if isinstance(node, ast.Call):
            yield from _called(node)


def _name(node: ast.AST) -> str | None:
    """A name as Python understands it (full-width letters are ordinary ones), or a text that may be one."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return node.name if isinstance(node, ast.alias) else _text(node)


def _text(node: ast.AST) -> str | None:
    """A text that stands there, whole or added up of pieces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None or right is None else left + right
    return None


def _called(call: ast.Call) -> Iterator[str]:
    name = _name(call.func)
    if name in _BY_NAME and any(isinstance(a, ast.BinOp | ast.JoinedStr | ast.Call) for a in call.args[1:2]):
        yield "names put together"
    if name in ("setattr", "__setattr__") and any(_text(a) == "__class__" for a in call.args):
        yield "past the instance"
    if name in ("Library", "impl") and any(_text(a) == "aten" for a in call.args):
        yield "kernels of torch"
