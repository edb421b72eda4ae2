"""Traces of the known ways to deceive a grader, flagged for a human and never scored.

Found in the code of the cells, and by what a worker noticed while it ran them (`worker/audit.py`). A flag is
a reason to look: innocent uses are flagged too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from grader.grading.dotted_paths import Paths, paths_in
from grader.notebooks.reader import Cell
from grader.results.model import Flag
from grader.sandbox.decoding import Notice

#: The name of each kind of trace, and its dotted paths, written as in `dotted_paths`. A path that begins
#: with a dot counts on anything, also as a name alone or in a text.
_TRACES = {
    "ctypes": (".ctypes", "._ctypes"),
    "__array_interface__": (".__array_interface__", ".__array_struct__"),
    "gc": (".get_objects", ".get_referrers", ".get_referents", "gc.callbacks", "gc.garbage"),
    "frames": (
        *("._getframe", "._current_frames", "._current_exceptions", ".currentframe", ".f_back", ".f_locals"),
        *(".f_globals", ".f_builtins", ".f_trace", ".gi_frame", ".cr_frame", ".ag_frame", ".tb_frame"),
        *(".gr_frame", ".walk_stack", ".walk_tb", ".extract_stack", ".getinnerframes", ".getouterframes"),
        *(".findCaller", ".get_stack", ".last_traceback", ".last_exc", ".FrameType", ".TracebackType"),
        *(".__globals__", ".__closure__", ".cell_contents", ".__subclasses__"),
        *("inspect.stack", "inspect.trace", ".stacklevel"),
    ),
    "nodes of the graph": (".register_prehook", ".metadata"),
    "acting later": ("weakref.finalize", ".__del__", "atexit.register"),
    "asking where it runs": (".get_running_loop", "._get_running_loop", ".get_event_loop", "os.getppid"),
    "settrace": (
        *(".settrace", ".setprofile", ".settrace_all_threads", ".setprofile_all_threads", "sys.monitoring"),
    ),
    "raw descriptors": (
        *("os.read", "os.write", "os.pread", "os.pwrite", "os.dup", "os.dup2", "os.fdopen", "os.pipe"),
        *("open(0)", ".FileIO", ".posix", "/proc/", "/dev/fd"),
    ),
    "leaving the process": (
        *("._exit", ".raise_signal", "os.abort", "os.kill", "os.killpg", "os.fork", "os.forkpty"),
        *("os.execl", "os.execle", "os.execlp", "os.execlpe", "os.execv", "os.execve", "os.execvp"),
        "os.execvpe",
    ),
    "the grader itself": ("import worker", "._notebook", "._forward_cls"),
    "imports at run time": ("sys.modules", ".import_module", ".__import__", "exec()"),
    "builtins": (".builtins", ".__builtins__"),
    "version counter": ("._unsafe_set_version_counter", "._unsafe_preserve_version_counter"),
    "modes of torch": (
        *(".TorchFunctionMode", ".TorchDispatchMode", ".__torch_function__", ".__torch_dispatch__"),
        *("._push_on_torch_function_stack", "._push_on_torch_dispatch_stack", "._DisableTorchDispatch"),
        *("._dispatch_tls_set_dispatch_key_excluded", "._dispatch_tls_set_dispatch_key_included"),
        *("._ExcludeDispatchKeyGuard", "._ForceDispatchKeyGuard", ".DisableTorchFunction"),
        *(".DisableTorchFunctionSubclass", "._top_saved_tensors_default_hooks", ".set_eval_frame"),
    ),
    "kernels of torch": (
        *("._dispatch_library", ".py_impl", ".py_kernels", ".impl(aten)", ".Library(aten)"),
    ),
    "code objects": (".__code__", ".__defaults__", ".__kwdefaults__", ".CodeType"),
    "past the instance": (
        *("type().forward", "type().__call__", ".__class__ =", ".__mro__", ".__bases__", ".__wrapped__"),
    ),
    "raw memory": (
        *(".data_ptr() +", ".stride_tricks", ".from_address", ".from_file", "._set_from_file"),
        *("._construct_storage_from_data_pointer", ".__array_interface__", ".__array_struct__", "._weak_ref"),
        *(".from_dlpack", ".to_dlpack", ".__dlpack__"),
        *(".PyCapsule_New", "._new_with_weak_ptr", "._new_shared", "._new_shared_fd_cpu"),
        "._new_shared_filename_cpu",
    ),
    "names put together": (
        *(".getattr(computed)", ".setattr(computed)", ".delattr(computed)", ".attrgetter(computed)"),
        *(".methodcaller(computed)", ".__getattribute__(computed)", ".__setattr__(computed)"),
        ".__delattr__(computed)",
    ),
    "threads": ("import threading", "import _thread"),
    "signals": ("import signal", "signal.signal", "signal.alarm", "signal.setitimer"),
    "patched": ("._showwarnmsg_impl", "._showwarnmsg"),
}
#: Modules that a probe works with: whatever is assigned below them is patched, but for these settings.
_PROBED = {
    *("torch", "warnings", "weakref", "inspect", "math", "json", "random", "numpy", "struct", "os", "sys"),
    "functools",
}
_SETTINGS = "torch.backends."
_USUAL_ALIASES = {"nn": "torch.nn", "F": "torch.nn.functional", "Tensor": "torch.Tensor", "np": "numpy"}

_MEANS: dict[str, list[str]] = defaultdict(list)
for _what, _paths in _TRACES.items():
    for _path in _paths:
        _MEANS[_path].append(_what)
_WORDS = frozenset(word for path in _MEANS for word in re.findall(r"\w+", path.rpartition(".")[2]))
_MAX_CELLS = 20  # that are named for a kind of trace, for a notebook may have thousands
_MAX_REMEMBERED = 10_000
#: Characters that are parsed, of a cell and of a notebook. A syntax tree takes a thousand times its source.
_MAX_PARSED_CELL, _MAX_PARSED = 1 << 15, 1 << 17
_MAX_RESOLVED = 20

_read_once = lru_cache(maxsize=1_000)(paths_in)  # most cells of a class are the handed-out ones


def traces_in(cells: Sequence[Cell]) -> tuple[Notice, ...]:
    """The traces in the code of a notebook, each with its cell."""
    read = list(_read(cells))
    aliases = {name: [path] for name, path in _USUAL_ALIASES.items()}
    for name, path in dict.fromkeys(alias for paths in read for alias in paths.aliases):
        aliases.setdefault(name, []).append(path)
    rebound = {name for paths in read for name in paths.rebound} - _USUAL_ALIASES.keys()
    found: list[Notice] = []
    times: Counter[str] = Counter()
    for cell, paths in zip(cells, read, strict=True):
        resolved = (other for path in paths.named for other in _resolved(path, aliases, rebound))
        means = {what for path in resolved for what in _means(path)}
        for what in filter(means.__contains__, _TRACES):
            times[what] += 1
            if times[what] <= _MAX_CELLS:
                found.append((what, cell.number))
    return tuple(found)


def _read(cells: Sequence[Cell]) -> Iterator[Paths]:
    left = _MAX_PARSED
    for cell in cells:
        length = len(cell.source)
        parse = length <= min(_MAX_PARSED_CELL, left)
        left -= length if parse else 0
        read = _read_once if length <= _MAX_REMEMBERED else paths_in
        yield read(cell.source, _WORDS, parse=parse)


def _resolved(path: str, aliases: Mapping[str, Sequence[str]], rebound: Collection[str]) -> list[str]:
    """A path, and the paths that it stands for where its first name is an alias.

    Where a path is assigned to and its first name is bound otherwise too, the alias does not count.
    """
    paths = [path]
    for known in paths:  # which grows meanwhile
        name, dot, rest = known.partition(".")
        if not (path.endswith(" =") and name in rebound):
            others = aliases.get(name, ())[: _MAX_RESOLVED - len(paths)]
            paths += [f"{other}{dot}{rest}" for other in others]
    return paths


def _means(path: str) -> Iterator[str]:
    yield from _MEANS.get(path, ())
    yield from _MEANS.get(f".{path.rpartition('.')[2]}", ())
    module, _, assigned = path.partition(".")
    if assigned.endswith(" =") and module in _PROBED and "(" not in path and not path.startswith(_SETTINGS):
        yield "patched"


def flags_of(traces: Sequence[Notice], patched: Sequence[str] = ()) -> list[Flag]:
    """The flags of a notebook.

    Args:
        traces: in its cells, and what the worker noticed by Python's audit events.
        patched: what the worker saw changed in torch.
    """
    flags = [Flag(what, cell) for what, cell in dict.fromkeys(traces)]
    return flags + [Flag(f"{name[:60]} was replaced", None) for name in patched[:5]]
