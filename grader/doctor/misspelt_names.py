"""Names in a known answer that nothing defines: an author's typo, not a student's mistake.

Such an answer stops, and would count as a wrong answer that every check finds.
"""

from __future__ import annotations

import builtins
import re
import symtable
import sys
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from grader.course.author_file import global_names, scopes
from grader.doctor.known_answers import Answer

_ALIKE = 0.75  # by the measure of difflib, which is 1 for equal names
_OF_NOTEBOOKS = {"__name__", "__doc__", "__builtins__", "get_ipython", "display"}
#: Names that authors may forget to import, and the import of each.
_IMPORTS = {
    "F": "import torch.nn.functional as F",
    "checkpoint": "from torch.utils.checkpoint import checkpoint",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "optim": "from torch import optim",
    "partial": "from functools import partial",
    "torch": "import torch",
    **{name: f"import {name}" for name in sys.stdlib_module_names},
}


def undefined_names(answers: Sequence[Answer]) -> dict[str, list[str]]:
    """The names that nothing defines, each with the answers that use it."""
    users: dict[str, list[str]] = {}
    for answer in answers:
        for name, _ in _undefined(answer):
            users.setdefault(name, []).append(answer.name)
    return users


def complaints_about_names(answers: Sequence[Answer], path: Path) -> list[str]:
    """A sentence for each name that nothing defines, with the first answer that uses it."""
    by_name = {answer.name: answer for answer in answers}
    complaints = []
    for name, users in undefined_names(answers).items():
        first, candidates = by_name[users[0]], dict(_undefined(by_name[users[0]]))[name]
        others = f", nor in {len(users) - 1} more" if len(users) > 1 else ""
        advice = _advice(name, candidates, by_name, path)
        complaints.append(f"{_who(first, path)}: `{name}` is not defined{others}: {advice}")
    return complaints


def _who(answer: Answer, path: Path) -> str:
    return f"{path}, line {answer.line}: {answer.question}, {answer.name}"


def _advice(name: str, candidates: Collection[str], answers: Collection[str], path: Path) -> str:
    if name in answers:
        return "it is an answer, which no other sees; write it again without a mark"
    if name in _IMPORTS:
        return f"write `{_IMPORTS[name]}` at the head of {path.name}"
    near = get_close_matches(name, [*candidates, *_IMPORTS], n=1, cutoff=_ALIKE)
    return f"did you mean {near[0]}?" if near else f"define it outside of the answers of {path.name}"


def _undefined(answer: Answer) -> Iterator[tuple[str, Collection[str]]]:
    """The names that an answer's notebook does not define, each with the names that it may stand for."""
    preamble, source, *_ = (cell.source for cell in answer.cells)
    if re.search(r"^\s*from .* import \*", preamble + "\n" + source, re.MULTILINE):
        return
    table = symtable.symtable(source, "answer", "exec")
    bound = [s for scope in scopes(table) for s in scope.get_symbols() if _is_bound(s)]
    defined = {symbol.get_name() for symbol in bound if symbol.is_global()}
    defined |= {*dir(builtins), *_OF_NOTEBOOKS, *_bound_at_top(preamble)}
    for name in sorted(global_names(table) - defined):
        yield name, {symbol.get_name() for symbol in bound} | defined


@cache
def _bound_at_top(source: str) -> frozenset[str]:
    table = symtable.symtable(source, "answers", "exec")
    return frozenset(symbol.get_name() for symbol in table.get_symbols() if _is_bound(symbol))


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter()
