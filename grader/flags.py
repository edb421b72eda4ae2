"""Outside: traces of the known ways to deceive a grader, flagged for a human and never scored.

Found in the text of the cells, so an innocent use is flagged too: a flag is a reason to look.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.notebook import Cell

#: What a trace is called, and how it looks.
_TRACES = {
    "ctypes": r"\bctypes\b",
    "__array_interface__": r"__array_(?:interface|struct)__",
    "gc": r"\bgc\s*\.\s*\w+|\bfrom\s+gc\b",
    "frames": r"\b(?:_getframe|_current_frames|currentframe|f_back|f_locals|f_globals|tb_frame)\b",
    "settrace": r"\b(?:settrace|setprofile|sys\.monitoring)\b",
    "raw descriptors": r"\bos\s*\.\s*(?:read|write|pread|pwrite|dup2?|fdopen|pipe)\b|/proc/self|/dev/fd",
    "leaving the process": r"\b(?:_exit|os\.abort|os\.kill|raise_signal|os\.fork|os\.exec\w*)\b",
    "sys.modules": r"\bsys\s*\.\s*modules\b|\bimportlib\b",
    "builtins": r"\bbuiltins\b|__builtins__",
    "version counter": r"_unsafe_(?:set|preserve)_version_counter",
    "patched": r"\b(?:torch(?:\.\w+)*|nn\.\w+|F|Tensor)\.\w+\s*=(?!=)|\bsetattr\s*\(\s*(?:torch|nn|F)\b",
}
_PATTERNS = {what: re.compile(pattern) for what, pattern in _TRACES.items()}


def flags_of(cells: Sequence[Cell], patched: Sequence[str]) -> list[dict[str, object]]:
    """The flags of a notebook.

    Args:
        cells: its code cells.
        patched: what the worker saw changed in torch.

    Returns:
        ``{"what": ..., "cell": ...}`` each; the cell is None where only the worker noticed.
    """
    found: list[dict[str, object]] = [
        {"what": what, "cell": cell.number}
        for cell in cells
        for what, pattern in _PATTERNS.items()
        if pattern.search(cell.source)
    ]
    return found + [{"what": f"{name} was replaced", "cell": None} for name in patched[:20]]
