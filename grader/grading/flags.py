"""Traces of the known ways to deceive a grader, flagged for a human and never scored.

What raises one of Python's audit events is noticed while it happens (`worker/audit.py`). Here stands the
rest: a table of names that are looked for in the code of the cells. A flag is a reason to look: innocent uses
are flagged too.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from grader.notebooks.definitions import without_magics
from grader.notebooks.reader import Cell
from grader.results.model import Flag
from grader.sandbox.decoding import Notice

#: The kinds of traces, each with names that tell of it: an attribute, a variable, a word of a text without
#: blanks; or with one thing before the last dot, `os.write`.
_TRACES = {
    "ctypes": "ctypes _ctypes",
    "gc": "gc.callbacks gc.garbage",
    "frames": (
        "f_back f_locals f_globals f_builtins f_trace __globals__ __closure__ cell_contents __subclasses__"
        " _jit_internal CapturedTraceback"
    ),
    "acting later": "weakref.finalize __del__ atexit.register register_prehook",
    "raw descriptors": (
        "os.read os.readv os.write os.writev os.pread os.pwrite os.sendfile os.dup os.dup2 os.pipe os.pipe2"
        " import.posix"
    ),
    "leaving the process": "_exit os.abort raise_signal",
    "the grader itself": "import.worker _notebook _forward_cls",
    "imports at run time": "sys.modules import_module __import__",
    "builtins": "builtins __builtins__",
    "version counter": "_unsafe_set_version_counter _unsafe_preserve_version_counter",
    "modes of torch": (
        "TorchFunctionMode TorchDispatchMode __torch_function__ __torch_dispatch__ set_eval_frame"
        " _push_on_torch_function_stack _push_on_torch_dispatch_stack _DisableTorchDispatch"
        " _dispatch_tls_set_dispatch_key_excluded _dispatch_tls_set_dispatch_key_included"
        " _ExcludeDispatchKeyGuard _ForceDispatchKeyGuard DisableTorchFunction DisableTorchFunctionSubclass"
        " _top_saved_tensors_default_hooks"
    ),
    "kernels of torch": "torch.library _dispatch_library py_impl py_kernels",
    "past the instance": (
        "type().forward type().__call__ __class__.forward __class__.__call__ __mro__ __wrapped__ forward.="
    ),
    "raw memory": (
        "__array_interface__ __array_struct__ stride_tricks from_address from_file _set_from_file"
        " _construct_storage_from_data_pointer _weak_ref _new_with_weak_ptr _new_shared _new_shared_fd_cpu"
        " _new_shared_filename_cpu from_dlpack to_dlpack __dlpack__ PyCapsule_New"
    ),
    "names put together": "getattr(computed)",
    "threads": "import.threading import._thread",
    "signals": "import.signal",
    "patched": " ".join(
        f"{module}.="
        for module in (
            *("torch", "builtins", "warnings", "weakref", "inspect", "math", "json", "random", "numpy"),
            *("struct", "os", "sys", "functools"),
        )
    ),
}
_MEANS = {name: what for what, names in _TRACES.items() for name in names.split()}
_USUAL_ALIASES = {"nn": "torch.nn", "F": "torch.nn.functional", "Tensor": "torch.Tensor", "np": "numpy"}
#: Functions that look up an attribute by its name; the first three are given the object before it.
_LOOKING_UP = (
    *("getattr", "setattr", "delattr", "attrgetter", "methodcaller"),
    *("__getattribute__", "__getattr__", "__setattr__", "__delattr__"),
)
_COMPUTED = (ast.BinOp, ast.JoinedStr, ast.Call)
_PATH = re.compile(r"\w++(?:\.\w++)*+")
_IMPORT = re.compile(r"\b(?:from|import)[ \t]++([\w.]++)")
_MAX_CELLS = 20  # that are named for a kind of trace, for a notebook may have thousands
_MAX_REMEMBERED = 10_000
_MAX_ALIASES, _MAX_DOTS = 20, 20
#: Characters that are parsed, of a cell and of a notebook. A syntax tree takes a thousand times its source.
_MAX_PARSED_CELL, _MAX_PARSED = 1 << 15, 1 << 17


class _Names(NamedTuple):
    """What a cell names: paths in its own words, and what its imports call these."""

    paths: frozenset[str]
    aliases: tuple[tuple[str, str], ...] = ()


def traces_in(cells: Sequence[Cell]) -> tuple[Notice, ...]:
    """The traces in the code of a notebook, each with its cell."""
    read = list(_read(cells))
    modules: dict[str, list[str]] = defaultdict(list, {name: [path] for name, path in _USUAL_ALIASES.items()})
    for name, module in dict.fromkeys(alias for names in read for alias in names.aliases):
        modules[name] += [module] if len(modules[name]) < _MAX_ALIASES else []
    found: list[Notice] = []
    times: Counter[str] = Counter()
    for cell, names in zip(cells, read, strict=True):
        means = {what for path in names.paths for what in _means(path, modules)}
        for what in filter(means.__contains__, _TRACES):
            times[what] += 1
            if times[what] <= _MAX_CELLS:
                found.append((what, cell.number))
    return tuple(found)


def _read(cells: Sequence[Cell]) -> Iterator[_Names]:
    left = _MAX_PARSED
    for cell in cells:
        length = len(cell.source)
        if length > min(_MAX_PARSED_CELL, left):
            yield _named_in_text(cell.source)
            continue
        left -= length
        yield _remembered(cell.source) if length <= _MAX_REMEMBERED else _named(cell.source)


def _means(path: str, modules: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The kinds of traces that a path tells of, also where an import calls its root otherwise."""
    root, dot, rest = path.partition(".")
    for first in (root, *modules.get(root, ())):
        names = f"{first}{dot}{rest}".split(".")
        looked_up = [*names, *map(".".join, pairwise(names))]
        if names[-1] == "=" and names[:2] != ["torch", "backends"]:  # which holds settings
            looked_up.append(f"{names[0]}.=")
        if names[0] == "torch" and names[-2:-1] and names[-2][:1].isupper():
            looked_up.append(f"type().{names[-1]}")
        yield from (_MEANS[name] for name in looked_up if name in _MEANS)


def _named(source: str) -> _Names:
    """What a cell names. Where Python cannot parse it, its text is searched, with comments and all."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of a stranger's escape sequences
            nodes = list(ast.walk(ast.parse(without_magics(source))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _named_in_text(source)
    searched = {
        id(searched)
        for node in nodes
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)
        for searched in node.comparators  # as in `"google.colab" in sys.modules`
    }
    paths = frozenset(path for node in nodes if id(node) not in searched for path in _paths(node))
    return _Names(paths, tuple(alias for node in nodes for alias in _aliases(node)))


_remembered = lru_cache(maxsize=300)(_named)  # most cells of a class are the handed-out ones


def _named_in_text(text: str) -> _Names:
    text = unicodedata.normalize("NFKC", text)
    imported = (f"import.{name.partition('.')[0]}" for name in _IMPORT.findall(text))
    return _Names(frozenset((*_PATH.findall(text), *imported)))


def _paths(node: ast.AST) -> Iterator[str]:
    """The paths that a node of a syntax tree names."""
    match node:
        case ast.Name(id=str(name)) | ast.keyword(arg=str(name)) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.MatchClass(kwd_attrs=names):
            yield from names
        case ast.Attribute():
            yield _path(node)
            if not isinstance(node.ctx, ast.Load):
                yield f"{_path(node)}.="
        case ast.Constant(value=str(text)) if len(text.split()) == 1:
            yield from _PATH.findall(unicodedata.normalize("NFKC", text))
        case ast.Import(names=aliases):
            yield from (path for a in aliases for path in (a.name, f"import.{a.name.partition('.')[0]}"))
        case ast.ImportFrom(module=str(module), names=aliases):
            yield from (f"{module}.{alias.name}" for alias in aliases)
            yield from (module, f"import.{module.partition('.')[0]}")
        case ast.Call(func=ast.Name(id=str(name)) | ast.Attribute(attr=name)) if name in _LOOKING_UP:
            yield from _looked_up(name, node.args)


def _looked_up(function: str, arguments: list[ast.expr]) -> Iterator[str]:
    """The attribute that a call gets or sets by a name, or that this name is put together."""
    takes_object = function in _LOOKING_UP[:3]
    if any(isinstance(argument, _COMPUTED) for argument in arguments[takes_object : takes_object + 1]):
        yield "getattr(computed)"
    if takes_object and arguments[1:]:
        name = arguments[1].value if isinstance(arguments[1], ast.Constant) else None
        known = name if isinstance(name, str) else "?"
        yield f"{_path(arguments[0])}.{known}" + ("" if function == "getattr" else ".=")


def _path(node: ast.AST) -> str:
    """The path of an expression; a question mark stands for what has no name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute) and len(names) < _MAX_DOTS:
        names.append(node.attr)
        node = node.value
    is_type = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"
    root = node.id if isinstance(node, ast.Name) else "type()" if is_type else "?"
    return ".".join((root, *reversed(names)))


def _aliases(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that an import gives to modules and to what is in them."""
    if isinstance(node, ast.Import):
        yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)
    elif isinstance(node, ast.ImportFrom):
        yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def flags_of(traces: Sequence[Notice], patched: Sequence[str] = ()) -> list[Flag]:
    """The flags of a notebook.

    Args:
        traces: in its cells, and what the worker noticed by Python's audit events.
        patched: what the worker saw changed in torch.
    """
    flags = [Flag(what, cell) for what, cell in dict.fromkeys(traces)]
    return flags + [Flag(f"{name[:60]} was replaced", None) for name in patched[:5]]
