"""Flags: names in the code of cells that cheating needs, reported to a person and never scored.

A worker notices whatever raises one of Python's audit events while it happens (`runtime/audit.py`). This
module searches the code of the cells for the names of `_KINDS`. Innocent code uses some of these names, too,
so each flag says which name was found and why it is a reason to look.

Searching is bounded for each notebook: `_MAX_PARSED` characters are parsed, `_MAX_SEARCHED` characters are
searched, and each parsed node costs the same whatever surrounds it. An alias is resolved once, to the few
names that matter. Cells beyond these caps get a flag of their own, so padding hides nothing.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

from grader.notebooks.definitions import magics_in, without_magics
from grader.notebooks.reader import Cell
from grader.results.model import Flag
from grader.sandbox.decoding import Notice


class _Kind(NamedTuple):
    """A kind of traces.

    Attributes:
        reason: why a person should look, and which innocent code looks the same.
        names: an attribute, a variable or a word of a text; or a name with the one before its dot, as in
            `os.write`. `import.x` is an import of the module `x`, and `x.=` sets an attribute of it. Empty
            where only the worker notices this kind.
    """

    reason: str
    names: str = ""


_PATCHED_MODULES = (
    *(
        "torch",
        "builtins",
        "warnings",
        "weakref",
        "inspect",
        "math",
        "json",
        "random",
        "numpy",
        "struct",
        "os",
    ),
    *("sys", "functools"),
)
_COMPUTED_NAME = "getattr(computed)"
_OVER_MEMORY = "ndarray(buffer)"  # an array of objects over memory takes numbers for their addresses
TOO_LONG = "too long to search"
_KINDS = {
    "ctypes": _Kind(
        "ctypes, or a compiled module like it, can read and write any memory of the process.",
        "ctypes _ctypes import.cffi import.greenlet",
    ),
    "gc": _Kind(
        "The garbage collector knows every object of the process. Looking for leaked tensors is innocent.",
        "gc.callbacks gc.garbage",
    ),
    "frames": _Kind(
        "Frames and closures give access to the variables of other code. Debugging code uses them as well.",
        "f_back f_locals f_globals f_builtins f_trace __globals__ __closure__ cell_contents __subclasses__"
        " _jit_internal CapturedTraceback",
    ),
    "acting later": _Kind(
        "This code runs later, perhaps while the grader measures. Removing hooks or files at the end is"
        " innocent.",
        "weakref.finalize __del__ atexit.register register_prehook",
    ),
    "raw descriptors": _Kind(
        "The worker answers the grader through a file descriptor. Reading /proc to measure memory is"
        " innocent.",
        "os.read os.readv os.write os.writev os.pread os.pwrite os.sendfile os.dup os.dup2 os.pipe os.pipe2"
        " import.posix",
    ),
    "leaving the process": _Kind(
        "Ending or interrupting the process hides what happened in it.", "_exit os.abort raise_signal"
    ),
    "the grader itself": _Kind(
        "This is a name of the grader's own code.",
        "import.grader.runtime import.grader.sandbox _notebook _forward_cls",
    ),
    "imports at run time": _Kind(
        "Code or modules that are named at run time cannot be seen in the text of the notebook. Reloading"
        " your own module is innocent.",
        "sys.modules import_module __import__",
    ),
    "builtins": _Kind(
        "The namespace of the built-in functions can be searched and changed.",
        "builtins __builtins__ builtins.__dict__ builtins.__getattribute__",
    ),
    "version counter": _Kind(
        "Setting a version counter hides a change in place from autograd.",
        "_unsafe_set_version_counter _unsafe_preserve_version_counter",
    ),
    "modes of torch": _Kind(
        "A mode or subclass can answer in place of torch's functions. A logging mode is innocent.",
        "TorchFunctionMode TorchDispatchMode __torch_function__ __torch_dispatch__ set_eval_frame"
        " _push_on_torch_function_stack _push_on_torch_dispatch_stack _DisableTorchDispatch"
        " _dispatch_tls_set_dispatch_key_excluded _dispatch_tls_set_dispatch_key_included"
        " _ExcludeDispatchKeyGuard _ForceDispatchKeyGuard DisableTorchFunction DisableTorchFunctionSubclass"
        " _top_saved_tensors_default_hooks",
    ),
    "kernels of torch": _Kind(
        "A kernel can be replaced for every tensor. Defining a new operator is innocent.",
        "torch.library _dispatch_library py_impl py_kernels",
    ),
    "past the instance": _Kind(
        "Calling a method through its class bypasses what the grader records on the instance. Calling a base"
        " class's method is innocent.",
        "type().forward type().__call__ __class__.forward __class__.__call__ __mro__ __wrapped__ forward.=",
    ),
    "raw memory": _Kind(
        "This reads or shares memory by its address. Sharing an array between torch and NumPy is innocent.",
        f"{_OVER_MEMORY} __array_interface__ __array_struct__ stride_tricks.as_strided from_address from_file"
        " _set_from_file _construct_storage_from_data_pointer _weak_ref _new_with_weak_ptr _new_shared"
        " _new_shared_fd_cpu"
        " _new_shared_filename_cpu from_dlpack to_dlpack __dlpack__ PyCapsule_New",
    ),
    "names put together": _Kind(
        "A computed name can be any name. Choosing a function by a setting is innocent.",
        _COMPUTED_NAME,
    ),
    "threads": _Kind(
        "A thread can act while the grader measures. A timer or a progress bar is innocent.",
        "import.threading import._thread",
    ),
    "signals": _Kind(
        "A signal handler can act while the grader measures. Setting a time limit is innocent.",
        "import.signal import._signal",
    ),
    "patched": _Kind(
        "The code replaces an attribute of a module for all other code. Silencing warnings or output this way"
        " is innocent.",
        " ".join(f"{module}.=" for module in _PATCHED_MODULES),
    ),
    TOO_LONG: _Kind(
        "This cell, or the notebook up to here, is longer than the grader parses: look at the whole cell. A"
        " large table of data is innocent.",
    ),
    "settrace": _Kind(
        "Tracing, profiling or an audit hook sees each call of the process. Profiling your own code is"
        " innocent."
    ),
    "another interpreter": _Kind("The grader cannot watch code in a second interpreter."),
    "code objects": _Kind(
        "The notebook created or replaced code objects while it ran. Some libraries' decorators do this, too."
    ),
    "something that is no answer": _Kind(
        "The worker sent data that is neither an answer nor a notice, so student code may have written to"
        " its pipe."
    ),
}
_KIND_OF = {name: what for what, kind in _KINDS.items() for name in kind.names.split()}
#: The names before the dots of the table, and those after them.
_LEFT, _RIGHT = (
    {name.rpartition(".")[part] for name in _KIND_OF if "." in name and not name.endswith("=")}
    for part in (0, 2)
)
_LAST_NAMES = {name.rpartition(".")[2] for name in _KIND_OF if not name.endswith("=")}
_THROUGH_CLASS = {name.removeprefix("type().") for name in _KIND_OF if name.startswith("type().")}
_USUAL_ALIASES = (
    ("nn", "torch.nn"),
    ("F", "torch.nn.functional"),
    ("Tensor", "torch.Tensor"),
    ("np", "numpy"),
)
#: Functions that look up an attribute by its name; the first three are given the object before it.
_LOOKING_UP = (
    *("getattr", "setattr", "delattr", "attrgetter", "methodcaller"),
    *("__getattribute__", "__getattr__", "__setattr__", "__delattr__"),
)
_IMPORTING = ("__import__", "import_module")
#: Methods of the dictionary of a module that set attributes of it.
_FILLING = ("update", "setdefault", "__setitem__", "__ior__", "pop", "clear")
_COMPUTED = (ast.BinOp, ast.JoinedStr, ast.Call)
_PATH = re.compile(r"\w++(?:\.\w++)*+")
_IMPORT = re.compile(r"\b(?:from|import)[ \t]++([\w.]++)")
_ALIAS = re.compile(r"(?<![\w.])([\w.]++)[ \t]++as[ \t]++(\w++)")
_SETTINGS = {"backends", "config"}  # paths with these names hold settings
_MAX_CELLS = 20  # that are named for a kind of trace, for a notebook may have thousands
_MAX_REMEMBERED = 10_000
#: Attributes of one path that are read, backwards from its end. A longer path counts as one of torch.
_MAX_DOTS = 50
#: Characters that are parsed, of a cell and of a notebook. A syntax tree takes a thousand times its source.
MAX_PARSED_CELL, MAX_PARSED = 1 << 15, 1 << 17
#: Characters of a notebook that are searched, parsed or not. The largest notebooks of a course have 50,000.
MAX_SEARCHED = 1 << 20
_MAX_RENAMED = 3  # assignments between a module and the name that is used
_MAX_NESTED = 3  # texts that are code, inside one another


class _Names(NamedTuple):
    """The names in a cell, as far as they matter.

    Attributes:
        tokens: names of `_KIND_OF`.
        rooted: the name a path begins with, and what follows: a kind of trace only if an import gave this
            name to a module. "" is the name by itself, ".write" an attribute, "=" the setting of one,
            "type().forward" a method of a class in this module, "class.forward" one of this class.
        aliases: names that imports and assignments gave to modules and to what is in them, each with a path.
    """

    tokens: frozenset[str]
    rooted: frozenset[tuple[str, str]]
    aliases: frozenset[tuple[str, str]]


def traces_in(cells: Sequence[Cell]) -> tuple[Flag, ...]:
    """The traces in the code of a notebook, each with its cell and a reason that names the code."""
    read = list(_read(cells))
    known = _Aliases({alias for names, _ in read for alias in names.aliases})
    found: list[Flag] = []
    times: Counter[str] = Counter()
    for cell, (names, is_whole) in zip(cells, read, strict=True):
        seen: dict[str, str] = {} if is_whole else {TOO_LONG: ""}
        for token in sorted({*names.tokens, *known.tokens(names.rooted)}):
            seen.setdefault(_KIND_OF[token], token)
        for what in filter(seen.__contains__, _KINDS):
            times[what] += 1
            if times[what] <= _MAX_CELLS:
                found.append(Flag(what, cell.number, _why(what, seen[what])))
    return tuple(found)


def _why(what: str, token: str) -> str:
    """The reason of a flag: the code that was found, and why it matters."""
    if token.startswith("import."):
        seen = f"`import {token.removeprefix('import.')}`"
    elif token.endswith(".="):
        seen = f"an attribute of `{token.removesuffix('.=')}` that is set"
    elif token == _COMPUTED_NAME:
        seen = "a computed name"
    else:
        seen = f"`{token}`"
    return f"Found {seen}. {_KINDS[what].reason}" if token else _KINDS[what].reason


def _read(cells: Sequence[Cell]) -> Iterator[tuple[_Names, bool]]:
    """The names in each cell, and whether the whole cell was searched as code."""
    to_parse, to_search = MAX_PARSED, MAX_SEARCHED
    for cell in cells:
        length = len(cell.source)
        if length <= min(MAX_PARSED_CELL, to_parse):
            to_parse -= length
            yield (_remembered if length <= _MAX_REMEMBERED else _named)(cell.source), True
        else:
            search = _Search()
            search.read_text(cell.source[:to_search])
            yield search.names(), False
        to_search = max(to_search - length, 0)


def _named(source: str) -> _Names:
    """The names in a cell; where Python cannot parse it, those in its text, with comments and all."""
    search = _Search()
    with warnings.catch_warnings(action="ignore"):  # of a stranger's escape sequences
        if not search.read_code(source):
            search.read_text(source)
    return search.names()


_remembered = lru_cache(maxsize=300)(_named)  # most cells of a class are released ones


class _Aliases:
    """The names that a notebook gives to modules, each resolved to the few names that matter."""

    def __init__(self, aliases: Collection[tuple[str, str]]) -> None:
        self._own: dict[str, set[str]] = defaultdict(set)  # names of the table in the path itself
        self._last: dict[str, set[str]] = defaultdict(set)  # the last name of the path, if one of the table
        self._first: dict[str, set[str]] = defaultdict(set)  # the first, if a module that can be patched
        self._classes = {name for name, path in _USUAL_ALIASES if _is_class_of_torch(path)}
        for name, path in {*_USUAL_ALIASES, *aliases}:
            first, last = path.partition(".")[0], path.rpartition(".")[2]
            if tokens := {*_tokens_of(path)}:
                self._own[name] |= tokens
            if last in _LEFT:
                self._last[name].add(last)
            if first in _PATCHED_MODULES and _SETTINGS.isdisjoint(path.split(".")):
                self._first[name].add(first)
            if _is_class_of_torch(path):
                self._classes.add(name)
        for _ in range(_MAX_RENAMED):
            for name, path in aliases:
                self._rename(name, path)

    def _rename(self, name: str, path: str) -> None:
        """Let a name stand for what the first name of its path stands for, as in `A = T.autograd`."""
        first, *names = path.split(".")
        if first in self._first and _SETTINGS.isdisjoint(names):
            self._first[name] |= self._first[first]
        if not names:
            self._own[name] |= self._own.get(first, set())
            self._last[name] |= self._last.get(first, set())

    def tokens(self, rooted: Iterable[tuple[str, str]]) -> Iterator[str]:
        """The names of the table that these stand for."""
        for root, rest in rooted:
            if not rest:
                yield from self._own.get(root, ())
            elif rest == "=":
                yield from (
                    f"{first}.=" for first in (root, *self._first.get(root, ())) if f"{first}.=" in _KIND_OF
                )
            elif rest.startswith("."):
                yield from (
                    f"{last}{rest}"
                    for last in (root, *self._last.get(root, ()))
                    if f"{last}{rest}" in _KIND_OF
                )
            elif rest.startswith("type()"):
                if root == "torch" or "torch" in self._first.get(root, ()):
                    yield rest
            elif root in self._classes:
                yield f"type(){rest.removeprefix('class')}"


def _is_class_of_torch(path: str) -> bool:
    return path.startswith("torch.") and path.rpartition(".")[2][:1].isupper()


def _tokens_of(path: str) -> Iterator[str]:
    """The names of the table in a path."""
    names = path.split(".")
    yield from (name for name in names if name in _KIND_OF)
    yield from (pair for pair in map(".".join, pairwise(names)) if pair in _KIND_OF)


def _plain(text: str) -> str:
    """The text with characters of full width and the like in ASCII, as Python reads names."""
    if text.isascii():
        return text
    return text.translate({ord(character): _in_ascii(character) for character in set(text)})


@lru_cache(maxsize=10_000)
def _in_ascii(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain.isascii() else character


@dataclass
class _Search:
    """Collects the names of a cell."""

    _tokens: set[str] = field(default_factory=set)
    _rooted: set[tuple[str, str]] = field(default_factory=set)
    _aliases: set[tuple[str, str]] = field(default_factory=set)
    _ignored: set[int] = field(default_factory=set)  # nodes, by their ids

    def names(self) -> _Names:
        """The names that were found."""
        return _Names(frozenset(self._tokens), frozenset(self._rooted), frozenset(self._aliases))

    def read_text(self, text: str) -> None:
        """Search a text that is not Python: every word of it counts."""
        text = _plain(text)
        for path in {*_PATH.findall(text)}:
            self._path(path)
        for name in _IMPORT.findall(text):
            self._imported(name)
        self._aliases.update((name, path) for path, name in _ALIAS.findall(text))

    def read_code(self, source: str, depth: int = 0) -> bool:
        """Search code; False if Python cannot parse it.

        Args:
            depth: how many texts that are code stand around it.
        """
        tree = _parsed(source)
        if tree is None:
            plain = without_magics(source)
            tree = _parsed(plain) if plain != source else None
            if tree is None:
                return False
            for line in magics_in(source):
                self.read_text(line)
        around, self._ignored = self._ignored, set()
        for node in ast.walk(tree):
            if id(node) in self._ignored:
                continue
            if type(node) is ast.Constant:
                if isinstance(node.value, str):
                    self._string(node.value, depth)
            elif read := _READERS.get(type(node)):
                read(self, node)
        self._ignored = around
        return True

    def _string(self, text: str, depth: int) -> None:
        """Search a string constant, which a library may run.

        Of a single word each name counts. Several words are searched as code if Python can parse them. If it
        cannot, they may be prose, and a name counts only behind a dot, as in a template.
        """
        words = text.split(None, 1)
        if len(words) < 2:
            for path in _PATH.findall(_plain(text)):
                self._path(path)
        elif depth == _MAX_NESTED:
            self.read_text(text)
        elif not self.read_code(text, depth + 1):
            for path in _PATH.findall(_plain(text)):
                root, *names = path.split(".")
                for before, name in pairwise((root, *names)):
                    self._token(name)
                    self._token(f"{before}.{name}")
                if names:
                    self._attribute_of_root(root, names[0])

    def _token(self, token: str) -> None:
        if token in _KIND_OF:
            self._tokens.add(token)

    def _path(self, path: str) -> None:
        """Add a dotted path, which may begin with an alias."""
        self._tokens.update(_tokens_of(path))
        root, _, rest = path.partition(".")
        self._rooted.add((root, ""))
        self._attribute_of_root(root, rest.partition(".")[0])

    def _attribute_of_root(self, root: str, name: str) -> None:
        if name in _RIGHT:
            self._rooted.add((root, f".{name}"))

    def _imported(self, module: str) -> None:
        parts = module.split(".")
        for depth in (1, 2):
            self._token(f"import.{'.'.join(parts[:depth])}")

    def name(self, node: ast.Name | ast.keyword | ast.arg) -> None:
        """Add a variable or a parameter."""
        name = node.id if isinstance(node, ast.Name) else node.arg
        if name is not None:
            self._token(name)
            self._rooted.add((name, ""))

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        """Add the name of a function or class."""
        self._token(node.name)

    def pattern(self, node: ast.MatchClass) -> None:
        """Add the attributes that a pattern reads."""
        for name in node.kwd_attrs:
            self._token(name)

    def attribute(self, node: ast.Attribute) -> None:
        """Add an attribute."""
        is_set = not isinstance(node.ctx, ast.Load)
        self._reach(node.value, node.attr, is_set=is_set)
        if not is_set and isinstance(node.value, ast.Name) and node.value.id == "builtins":
            self._ignored.add(id(node.value))  # `builtins.print` is `print`

    def _reach(self, owner: ast.expr, name: str, *, is_set: bool) -> None:
        """Add the attribute of an expression, that is read or set."""
        self._token(name)
        match owner:
            case ast.Name(id=root):
                self._token(f"{root}.{name}")
                self._attribute_of_root(root, name)
                if name in _THROUGH_CLASS:
                    self._rooted.add((root, f"class.{name}"))
            case ast.Attribute(attr=before):
                self._token(f"{before}.{name}")
                if name in _THROUGH_CLASS and before[:1].isupper():
                    self._rooted.add((_path_of(owner)[0], f"type().{name}"))
            case ast.Call(func=ast.Name(id="type")):
                self._token(f"type().{name}")
        if is_set:
            self._token(f"{name}.=")
            self._set(owner)

    def imports(self, node: ast.Import) -> None:
        """Add modules that are imported."""
        for alias in node.names:
            if alias.name != "builtins":
                self._tokens.update(_tokens_of(alias.name))
            self._imported(alias.name)
            if alias.asname:
                self._aliases.add((alias.asname, alias.name))

    def imports_from(self, node: ast.ImportFrom) -> None:
        """Add the names that are imported from a module."""
        module = node.module or ""
        self._imported(module)
        for alias in node.names:
            if module == "builtins" and not alias.name.startswith("_"):
                continue
            if alias.name in _IMPORTING and alias.asname is None:
                continue  # its calls tell more
            path = f"{module}.{alias.name}"
            self._tokens.update(_tokens_of(path))
            self._aliases.add((alias.asname or alias.name, path))

    def assignment(self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> None:
        """Add names that are given to a path, as in `A = torch.autograd`."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = [*zip(target.elts, node.value.elts, strict=False)]
            for named, value in pairs:
                if isinstance(named, ast.Name) and isinstance(value, ast.Name | ast.Attribute):
                    self._aliases.add((named.id, ".".join(_path_of(value))))

    def call(self, node: ast.Call) -> None:
        """Add an attribute that a function looks up by its name."""
        match node.func:
            case ast.Name(id=function) | ast.Attribute(attr=function):
                if function in _LOOKING_UP:
                    self._looked_up(function, node.args)
                elif function in _IMPORTING and _imports_a_plain_module(node.args):
                    self._ignored.add(id(node.func))
                elif function in ("ndarray", "__new__") and any(k.arg == "buffer" for k in node.keywords):
                    self._tokens.add(_OVER_MEMORY)
        match node.func:
            case ast.Attribute(value=owner, attr="__setattr__" | "__delattr__" as attribute):
                takes_name = len(node.args) < 2 + (attribute == "__setattr__")
                self._set(owner if takes_name else node.args[0])  # of a class, it takes the object first
            case ast.Attribute(value=held, attr=method) if method in _FILLING:
                self._fill(held)

    def item(self, node: ast.Subscript) -> None:
        """Add an attribute that is set as an entry of a dictionary, as in `vars(torch)["sum"] = f`."""
        if not isinstance(node.ctx, ast.Load):
            self._fill(node.value)

    def _fill(self, held: ast.expr) -> None:
        match held:
            case (
                ast.Call(func=ast.Name(id="vars"), args=[owner]) | ast.Attribute(value=owner, attr="__dict__")
            ):
                self._set(owner)

    def _set(self, owner: ast.expr) -> None:
        """Add that some attribute of an expression is set."""
        path = _path_of(owner)
        if not _SETTINGS.intersection(path):
            self._rooted.add((path[0], "="))

    def _looked_up(self, function: str, arguments: Sequence[ast.expr]) -> None:
        takes_object = function in _LOOKING_UP[:3]
        name = arguments[takes_object] if arguments[takes_object:] else None
        if isinstance(name, _COMPUTED) and _may_be_any(name):
            self._tokens.add(_COMPUTED_NAME)
        if takes_object and name is not None:
            known = name.value if isinstance(name, ast.Constant) else None
            attribute = known if isinstance(known, str) else "?"
            self._reach(arguments[0], attribute, is_set=function != "getattr")

    def expression(self, node: ast.Expr) -> None:
        """Skip a string that stands alone, such as a docstring."""
        if isinstance(node.value, ast.Constant):
            self._ignored.add(id(node.value))

    def comparison(self, node: ast.Compare) -> None:
        """Skip what is only searched, as in `"google.colab" in sys.modules`."""
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            for searched in node.comparators:
                match searched:
                    case ast.Call(func=ast.Attribute(value=value, attr="keys")):
                        self._ignored.add(id(value))
                    case _:
                        self._ignored.add(id(searched))


_READERS: dict[type[ast.AST], Callable[[_Search, Any], None]] = {
    ast.Name: _Search.name,
    ast.keyword: _Search.name,
    ast.arg: _Search.name,
    ast.FunctionDef: _Search.definition,
    ast.AsyncFunctionDef: _Search.definition,
    ast.ClassDef: _Search.definition,
    ast.MatchClass: _Search.pattern,
    ast.Attribute: _Search.attribute,
    ast.Import: _Search.imports,
    ast.ImportFrom: _Search.imports_from,
    ast.Assign: _Search.assignment,
    ast.AnnAssign: _Search.assignment,
    ast.NamedExpr: _Search.assignment,
    ast.Call: _Search.call,
    ast.Subscript: _Search.item,
    ast.Expr: _Search.expression,
    ast.Compare: _Search.comparison,
}


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _path_of(node: ast.expr) -> list[str]:
    """The names of a path; a question mark stands for a beginning without a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        if len(names) == _MAX_DOTS:
            return ["torch", *reversed(names)]
        names.append(node.attr)
        node = node.value
    return [node.id if isinstance(node, ast.Name) else "?", *reversed(names)]


def _imports_a_plain_module(arguments: Sequence[ast.expr]) -> bool:
    """Whether a call with these arguments does what an import statement does.

    Not if the table knows the module, for no alias of it could be followed.
    """
    match arguments:
        case [ast.Constant(value=str(module))]:
            names = module.split(".")
            return all(map(str.isidentifier, names)) and names[0] not in {
                *_LEFT,
                *_PATCHED_MODULES,
                *_KIND_OF,
            }
    return False


def _may_be_any(name: ast.expr) -> bool:
    """Whether a computed name can be one of the table, by the literal that it begins with."""
    is_template = False
    first = name
    while isinstance(first, ast.BinOp):
        is_template, first = isinstance(first.op, ast.Mod), first.left
    match first:
        case ast.Constant(value=str(text)) | ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            pass
        case _:
            return True
    beginning = (text.partition("%")[0] if is_template else text).rpartition(".")[2]
    return beginning.startswith("_") or any(map(partial(_agree, beginning), _LAST_NAMES))


def _agree(beginning: str, name: str) -> bool:
    return name.startswith(beginning) or beginning.startswith(name)


def flags_of(
    traces: Sequence[Flag], noticed: Sequence[Notice] = (), patched: Sequence[str] = ()
) -> list[Flag]:
    """The flags of a notebook, each kind and cell once.

    Args:
        traces: in its cells.
        noticed: the worker's notices from Python's audit events.
        patched: the changes of torch that the worker found.
    """
    flags = {(flag.what, flag.cell): flag for flag in traces}
    for what, cell in noticed:
        flags.setdefault((what, cell), Flag(what, cell, _why(what, "")))
    replaced = [Flag(f"{name[:60]} was replaced", None, _why("patched", "")) for name in patched[:5]]
    return [*flags.values(), *replaced]
