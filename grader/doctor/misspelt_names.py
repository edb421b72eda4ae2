"""Names in a known answer that nothing defines: an author's typo, not a student's mistake.

Such an answer stops, and would count as a wrong answer that every check finds. Names are looked up without
running anything; attributes only if an answer failed to find them, because torch is not imported outside.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from grader.course.author_file import global_names, scopes
from grader.doctor.known_answers import Answer
from grader.grading.judge import Verdict

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
_NO_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
_DEFINED = re.compile(r"\b(?:def|class) (\w+)")
_TORCH_FILES = ("_C/__init__.pyi", "_C/_VariableFunctions.pyi", "nn/functional.py", "nn/init.py")
_TORCH_FOLDERS = ("autograd", "nn/modules", "optim", "utils")
_BUILT_IN = {name for kind in (dict, float, int, list, set, str, tuple, type) for name in dir(kind)}


def undefined_names(answers: Sequence[Answer]) -> dict[str, list[str]]:
    """The names that nothing defines, each with the answers that use it, but for ``stops="NameError"``."""
    users: dict[str, list[str]] = {}
    for answer in answers:
        for name, _ in _undefined(answer) if answer.stops != "NameError" else ():
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


def complaints_about_attributes(
    answer: Answer, verdicts: Mapping[str, Verdict], answers: Sequence[Answer], path: Path
) -> list[str]:
    """A sentence for each attribute that an answer failed to find and whose name looks misspelt.

    An attribute that another of the file's `answers` uses is spelled right.
    """
    missed = {name for v in verdicts.values() for name in _NO_ATTRIBUTE.findall(v.message or "")}
    if not missed or answer.stops == "AttributeError":
        return []
    missed &= {node.attr for node in _attributes(answer) if isinstance(node.ctx, ast.Load)}
    existing = _existing_attributes(answer, answers) if missed else set()
    complaints = []
    for name in sorted(missed - existing):
        near = get_close_matches(name, existing, n=1, cutoff=_ALIKE)
        if near:
            who = _who(answer, path)
            complaints.append(f"{who}: nothing has an attribute `{name}`: did you mean {near[0]}?")
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


def _attributes(answer: Answer) -> list[ast.Attribute]:
    return [node for cell in answer.cells for node in _attributes_in(cell.source)]


@cache
def _attributes_in(source: str) -> list[ast.Attribute]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]


def _existing_attributes(answer: Answer, answers: Sequence[Answer]) -> set[str]:
    """The attributes of torch, of Python and of other answers, and those that this answer sets."""
    used = {node.attr for other in answers if other != answer for node in _attributes(other)}
    assigned = {node.attr for node in _attributes(answer) if not isinstance(node.ctx, ast.Load)}
    defined = {name for cell in answer.cells for name in _DEFINED.findall(cell.source)}
    return used | assigned | defined | _BUILT_IN | _defined_by_torch()


@cache
def _defined_by_torch() -> frozenset[str]:
    """All functions and classes in some files of torch; the files are read, not imported."""
    spec = find_spec("torch")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    files = [folder / file for folder in folders for file in _TORCH_FILES if (folder / file).is_file()]
    files += [file for folder in folders for part in _TORCH_FOLDERS for file in (folder / part).glob("*.py")]
    return frozenset(name for file in files for name in _DEFINED.findall(file.read_text(encoding="utf-8")))
