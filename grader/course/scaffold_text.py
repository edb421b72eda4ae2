"""Adds the part of a new question to the text of a master, a check file or a file of answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from grader.course.author_file import without_blanks
from grader.course.names import MASTER
from grader.course.new_question import file_head

_LAST_CELL = re.compile(r'(?ms)^# %% tags=\["(?:question|check) q\d+"\].*?(?=^# %%|\Z)')
_QUESTION = re.compile(r'(?m)^# %% tags=\["question q(\d+)"\]')
_WIDTH = 110

Import = ast.Import | ast.ImportFrom


def next_question(master: str) -> int:
    """The number of the question that is added next to a master, from its text."""
    return 1 + max((int(number) for number in _QUESTION.findall(master)), default=0)


def with_part(place: str, text: str, part: str) -> str:
    """A file's text with a further question's part; in a master, before the prose that closes it.

    Raises:
        SyntaxError: a file of checks or answers is not Python, apart from its blanks.
    """
    if place == MASTER:
        cells = [match.end() for match in _LAST_CELL.finditer(text)]
        end = cells[-1] if cells else len(text)
        closing = text[end:]
        return f"{text[:end].rstrip()}\n\n{part}" + (f"\n{closing}" if closing.strip() else "")
    needed = [*_imports(file_head(place, "00_any")), *_imports(part)]
    return f"{_with_imports(text, needed).rstrip()}\n\n\n{_without_imports(part)}"


def _with_imports(text: str, needed: Sequence[Import]) -> str:
    """The text with every import that is needed; names join those of the same module."""
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
    lines, there = text.splitlines(keepends=True), _imports(text)
    for node in there:
        if _module(node) == _module(wanted) is not None:
            names = _names(node) | _names(wanted)
            lines[node.lineno - 1 : node.end_lineno] = [_import_line(_module(node) or "", names)]
            return "".join(lines)
    last = max((node.end_lineno or 0 for node in there), default=_docstring_end(text))
    return "".join([*lines[:last], f"{ast.unparse(wanted)}\n", *lines[last:]])


def _module(node: Import) -> str | None:
    """What an import takes names from; None for ``import torch``."""
    return node.module if isinstance(node, ast.ImportFrom) else None


def _names(node: Import) -> set[str]:
    return {ast.unparse(name) for name in node.names}


def _import_line(module: str, names: set[str]) -> str:
    """As the formatter writes it."""
    listed = sorted(names, key=lambda name: (name.lower() == name, name))  # classes before functions
    line = f"from {module} import {', '.join(listed)}\n"
    if len(line) <= _WIDTH:
        return line
    return f"from {module} import (\n{''.join(f'    {name},' + chr(10) for name in listed)})\n"


def _imports(text: str) -> list[Import]:
    body = ast.parse(without_blanks(text)).body
    return [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]


def _docstring_end(text: str) -> int:
    first = ast.parse(without_blanks(text)).body[:1]
    match first:
        case [ast.Expr(value=ast.Constant(value=str())) as docstring]:
            return docstring.end_lineno or 0
    return 0
