"""Outside: traces of the known ways to deceive a grader, flagged for a human and never scored.

Found in the text of the cells, and by what a worker noticed while it ran them. A flag is a reason to look:
innocent uses are flagged too.
"""

from __future__ import annotations

import re
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


@lru_cache(maxsize=10_000)  # most cells of a class are the handed-out ones
def _traces_in(source: str) -> tuple[str, ...]:
    return tuple(what for what, pattern in _PATTERNS.items() if pattern.search(source))


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
    read = [(what, cell.number) for cell in cells for what in _traces_in(cell.source)]
    found: list[dict[str, object]] = [
        {"what": what, "cell": cell} for what, cell in dict.fromkeys([*read, *traces])
    ]
    return found + [{"what": f"{name[:60]} was replaced", "cell": None} for name in patched[:5]]
