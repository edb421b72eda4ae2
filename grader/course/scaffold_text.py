"""Adds the part of a new question to the text of a master, a check file or a file of answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from grader.course.assignment import MASTER
from grader.course.author_file import without_blanks
from grader.course.new_question import file_head

_LAST_CELL = re.compile(r'(?ms)^# %% tags=\["(?:question|check) q\d+"\].*?(?=^# %%|\Z)')
_QUESTION = re.compile(r'(?m)^# %% tags=\["question q(\d+)"\]')
_WIDTH = 110

Import = ast.Import | ast.ImportFrom


def next_question(master: str) -> int:
    """The number of the question that is added next to a master, from its text."""
    return 1 + max((int(number) for number in _QUESTION.findall(master)), default=0)


def with_part(kind: str, text: str, part: str) -> str:
    """The text of a file (MASTER, CHECKS or ANSWERS) with a further question's part.

    In a master the part stands before the closing prose.

    Raises:
        SyntaxError: a file of checks or answers is not Python, apart from its blanks.
    """
    if kind == MASTER:
        cells = [match.end() for match in _LAST_CELL.finditer(text)]
        end = cells[-1] if cells else len(text)
        closing = text[end:]
        return f"{text[:end].rstrip()}\n\n{part}" + (f"\n{closing}" if closing.strip() else "")
    needed = [*_imports(file_head(kind, "00_any")), *_imports(part)]
    return f"{_with_imports(text, needed).rstrip()}\n\n\n{_without_imports(part)}"


def _with_imports(text: str, needed: Sequence[Import]) -> str:
    """The text with every needed import; names join those of the same module."""
    for wanted in needed:
        if not any(
            _module(node) == _module(wanted) and _names(node) >= _names(wanted) for node in _imports(text)
        ):
            text = _with_import(text, wanted)
    return text


def _without_imports(part: str) -> str:
    last = max((node.end_lineno or 0 for node in _imports(part)), default=0)
    return "".join(part.splitlines(keepends=True)[last:]).lstrip("\n")


def _with_import(text: str, wanted: Import) -> str:
    lines, imports = text.splitlines(keepends=True), _imports(text)
    for node in imports:
        if _module(node) == _module(wanted) is not None:
            names = _names(node) | _names(wanted)
            lines[node.lineno - 1 : node.end_lineno] = [_import_line(_module(node) or "", names)]
            return "".join(lines)
    last = max((node.end_lineno or 0 for node in imports), default=_docstring_end(text))
    return "".join([*lines[:last], f"{ast.unparse(wanted)}\n", *lines[last:]])


def _module(node: Import) -> str | None:
    """The module that an import takes names from; None for ``import torch``."""
    return node.module if isinstance(node, ast.ImportFrom) else None


def _names(node: Import) -> set[str]:
    return {ast.unparse(name) for name in node.names}


def _import_line(module: str, names: set[str]) -> str:
    """As the formatter writes it."""
    in_order = sorted(names, key=lambda name: (name.lower() == name, name))  # classes before functions
    line = f"from {module} import {', '.join(in_order)}\n"
    if len(line) <= _WIDTH:
        return line
    return f"from {module} import (\n{''.join(f'    {name},' + chr(10) for name in in_order)})\n"


def _imports(text: str) -> list[Import]:
    body = ast.parse(without_blanks(text)).body
    return [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]


def _docstring_end(text: str) -> int:
    first = ast.parse(without_blanks(text)).body[:1]
    match first:
        case [ast.Expr(value=ast.Constant(value=str())) as docstring]:
            return docstring.end_lineno or 0
    return 0
