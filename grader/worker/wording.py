"""Inside: finds in a cell the names that only deceivers need, also where they are put together of pieces."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterator

_WORDS = {
    "frames": (
        *("gi_frame", "cr_frame", "ag_frame", "tb_frame", "f_back", "f_locals", "f_globals", "f_builtins"),
        *("_getframe", "_current_frames", "currentframe", "walk_stack", "walk_tb", "extract_stack"),
        *("__globals__", "__closure__", "cell_contents", "__subclasses__", "f_trace", "gr_frame"),
        *("getinnerframes", "getouterframes", "findCaller", "get_stack", "last_traceback", "last_exc"),
        *("FrameType", "TracebackType"),
    ),
    "gc": ("get_objects", "get_referrers", "get_referents"),
    "settrace": ("settrace", "setprofile", "setprofile_all_threads", "settrace_all_threads"),
    "code objects": ("__code__", "__defaults__", "__kwdefaults__", "CodeType"),
    "builtins": ("__builtins__",),
    "version counter": ("_unsafe_set_version_counter", "_unsafe_preserve_version_counter"),
    "modes of torch": (
        *("_top_saved_tensors_default_hooks", "__torch_function__", "__torch_dispatch__"),
        *("_push_on_torch_function_stack", "_push_on_torch_dispatch_stack"),
        *("_dispatch_tls_set_dispatch_key_excluded", "_dispatch_tls_set_dispatch_key_included"),
        *("_ExcludeDispatchKeyGuard", "_ForceDispatchKeyGuard"),
        *("_DisableTorchDispatch", "DisableTorchFunction", "DisableTorchFunctionSubclass", "set_eval_frame"),
    ),
    "kernels of torch": ("_dispatch_library", "py_impl", "py_kernels"),
    "raw memory": (
        *("_construct_storage_from_data_pointer", "__array_interface__", "__array_struct__", "_weak_ref"),
        *("stride_tricks", "from_address", "_new_with_weak_ptr", "_new_shared", "_new_shared_fd_cpu"),
        *("_new_shared_filename_cpu", "_set_from_file", "from_file", "PyCapsule_New"),
    ),
    "patched": ("_showwarnmsg_impl", "_showwarnmsg"),
    "the grader itself": ("_notebook", "_forward_cls"),
}
_MEANS = {word: what for what, words in _WORDS.items() for word in words}
_BY_NAME = {
    *("getattr", "setattr", "delattr", "attrgetter", "methodcaller"),
    *("__getattribute__", "__setattr__", "__delattr__"),
}
_TELLING = frozenset(_MEANS) | _BY_NAME | {"Library", "impl", "data_ptr"}
_WORD = re.compile(r"\w+")


def may_show_traces(code: types.CodeType) -> bool:
    """Whether compiled code has a name or a text that `traces_in` looks for; by then pieces are put together.

    To walk through the syntax tree of a cell takes as long as to run it.
    """
    dotted = (*code.co_names, *code.co_varnames, *code.co_cellvars)  # modules as they are imported
    names = [part for name in dotted for part in name.split(".")]
    return not _TELLING.isdisjoint(names) or any(map(_is_telling, code.co_consts))


def _is_telling(constant: object) -> bool:
    if isinstance(constant, str):
        return constant in _TELLING or ("." in constant and not _TELLING.isdisjoint(_WORD.findall(constant)))
    if isinstance(constant, tuple | frozenset):
        return any(map(_is_telling, constant))
    return isinstance(constant, types.CodeType) and may_show_traces(constant)


def traces_in(tree: ast.AST) -> Iterator[str]:
    """What a cell's syntax tree shows, in the words of ``grader/flags.py``."""
    for node in ast.walk(tree):
        yield from (_MEANS[name] for name in _names(node) if name in _MEANS)
        if isinstance(node, ast.Call):
            yield from _called(node)
        if not isinstance(node, ast.Compare) and any(map(_is_place, ast.iter_child_nodes(node))):
            yield "raw memory"


def _names(node: ast.AST) -> list[str]:
    """The names in a node, also in a pattern, a dotted import, or a text such as of ``str.format``."""
    if isinstance(node, ast.MatchClass):
        return node.kwd_attrs
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")
    name = _name(node)
    if isinstance(node, ast.alias):
        return node.name.split(".")
    return [] if name is None else [name] if name.isidentifier() else _attributes_in(name)


def _attributes_in(text: str) -> list[str]:
    """What ``operator.attrgetter("a.b")`` or ``"{0.b}".format`` would look up."""
    fields = re.findall(r"\{[^{}]*\}", text) if "{" in text else [text]
    dotted = (field for field in fields if " " not in field)
    return [word for field in dotted for word in _WORD.findall(field)]


def _name(node: ast.AST) -> str | None:
    """A name as Python understands it (full-width letters are ordinary ones), or a text that may be one."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else _text(node)


def _is_place(node: ast.AST) -> bool:
    """An address that is counted on from; only to compare it with another, or to subtract two, is none."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    return any(isinstance(s, ast.Call) and _name(s.func) == "data_ptr" for s in (node.left, node.right))


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
