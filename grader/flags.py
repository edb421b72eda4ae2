"""Outside: traces of the known ways to deceive a grader, flagged for a human and never scored.

Found in the text of the cells, and by what a worker noticed while it ran them. A flag is a reason to look:
innocent uses are flagged too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from grader.evidence import Trace
from grader.notebook import Cell

#: What a notebook may call the modules and classes that a probe works with.
_MODULE = r"(?:torch|nn|F|Tensor|warnings|weakref|inspect|math|json|random|np|numpy|struct|os|sys|functools)"
#: What a trace is called, and how it looks. A stranger's text is searched, so every pattern is linear: what
#: may repeat is possessive and cannot start again inside of itself.
_TRACES = {
    "ctypes": r"\b_?ctypes\b",
    "__array_interface__": r"__array_(?:interface|struct)__",
    "gc": r"\bgc\.(?:get_|callbacks\b|garbage\b)|\bfrom gc import\b|\bimport gc as\b",
    "frames": r"\b(?:_getframe|_current_frames|currentframe|f_(?:back|locals|globals|builtins))\b"
    r"|\b(?:tb|gi)_frame\b|\binspect\.(?:stack|trace)\b|__(?:globals|closure|subclasses)__",
    "settrace": r"\b(?:settrace|setprofile|sys\.monitoring)\b",
    "raw descriptors": r"\bos\.(?:read|write|pread|pwrite|dup2?|fdopen|pipe)\b|/proc/|/dev/fd"
    r"|\bopen\(\d|\bFileIO\b|\bposix\b"
    r"|\bfrom os import [^\n]{0,80}\b(?:read|write|dup2?|fdopen|pipe|_exit)\b",
    "leaving the process": r"\b(?:_exit|os\.abort|os\.kill|raise_signal|os\.fork|os\.exec\w)",
    "the grader itself": r"\b(?:from|import) worker\b",
    "imports at run time": r"(?<!in )\bsys\.modules\b|\bfrom sys import [^\n]{0,80}\bmodules\b"
    r"|\bimportlib\.import_module\b|\bimport import_module\b|__import__|(?<![\w.])(?<!def )exec\((?!\))",
    "builtins": r"\bbuiltins\b|__builtins__",
    "version counter": r"_unsafe_(?:set|preserve)_version_counter",
    "modes of torch": r"\bTorch(?:Function|Dispatch)Mode\b|__torch_(?:function|dispatch)__",
    "code objects": r"__(?:code|defaults|kwdefaults)__|\bCodeType\b",
    "past the instance": r"\btype\(\w++\)\.(?:forward|__call__)\b|__class__[ \t]*+=(?!=)"
    r"|__(?:mro|bases|wrapped)__",
    "threads": r"\b(?:import|from) (?:threading|_thread)\b",
    "signals": r"\b(?:import|from) signal\b|\bsignal\.(?:signal|alarm|setitimer)\b",
    "patched": rf"(?<![\w.:])(?<!: )(?!torch\.backends\.){_MODULE}(?:\.\w++)++[ \t]*+=(?!=)"
    rf"|\bsetattr\({_MODULE}\b",
}
_PATTERNS = {what: re.compile(pattern) for what, pattern in _TRACES.items()}
#: No trace without one of these: to look for plain text takes a hundredth of the time.
_CLUES = {
    "ctypes": ("ctypes",),
    "__array_interface__": ("__array_",),
    "gc": ("gc",),
    "frames": ("frame", "f_", "inspect.", "__globals__", "__closure__", "__subclasses__"),
    "settrace": ("settrace", "setprofile", "monitoring"),
    "raw descriptors": ("os.", "/proc/", "/dev/fd", "open(", "FileIO", "posix", "from os"),
    "leaving the process": ("_exit", "os.", "raise_signal"),
    "the grader itself": ("worker",),
    "imports at run time": ("modules", "import_module", "__import__", "exec("),
    "builtins": ("builtins",),
    "version counter": ("_unsafe_",),
    "modes of torch": ("Mode", "__torch_"),
    "code objects": ("__code__", "defaults__", "CodeType"),
    "past the instance": ("type(", "__class__", "__mro__", "__bases__", "__wrapped__"),
    "threads": ("thread",),
    "signals": ("signal",),
    "patched": ("=", "setattr("),
}


_MAX_CELLS = 20  # named for one kind of trace: more nobody looks at, and a notebook may have thousands
_MAX_REMEMBERED = 10_000


def _search(source: str) -> tuple[str, ...]:
    return tuple(
        what
        for what, pattern in _PATTERNS.items()
        if any(clue in source for clue in _CLUES[what]) and pattern.search(source)
    )


_search_once = lru_cache(maxsize=1_000)(_search)  # most cells of a class are the handed-out ones


def traces_in(cells: Sequence[Cell]) -> tuple[Trace, ...]:
    """The traces in the text of a notebook, each with its cell."""
    found: list[Trace] = []
    times: Counter[str] = Counter()
    for cell in cells:
        search = _search_once if len(cell.source) <= _MAX_REMEMBERED else _search
        for what in search(cell.source):
            times[what] += 1
            if times[what] <= _MAX_CELLS:
                found.append((what, cell.number))
    return tuple(found)


def flags_of(
    cells: Sequence[Cell], patched: Sequence[str], traces: Sequence[Trace] = ()
) -> list[dict[str, object]]:
    """The flags of a notebook.

    Args:
        cells: its code cells.
        patched: what the worker saw changed in torch.
        traces: what the worker noticed by Python's audit events, however the text was written.

    Returns:
        ``{"what": ..., "cell": ...}`` each; the cell is None where only the worker noticed.
    """
    found: list[dict[str, object]] = [
        {"what": what, "cell": cell} for what, cell in dict.fromkeys([*traces_in(cells), *traces])
    ]
    return found + [{"what": f"{name[:60]} was replaced", "cell": None} for name in patched[:5]]
