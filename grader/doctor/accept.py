"""Writes the checks that wrong answers fail into the file of answers, for ``doctor --accept``."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.author_file import filled_statements, read_text, without_blanks
from grader.doctor.answer_edits import edits_call
from grader.doctor.known_answers import Named, is_wrong, mark_of

_WIDTH, _STEP = 110, 4  # of a line, and of an indentation


def accept(path: Path, fails: Mapping[str, list[str]], public: Collection[str] = ()) -> None:
    """Write the outcome of each wrong answer into its decorator or ``edit(...)``; all else stays as it is.

    `fails` has the checks that each wrong answer fails; those in `public` pass the public check.
    """
    lines = [line.encode() for line in io.StringIO(read_text(path)).readlines()]  # as Python counts lines
    for name, node in reversed([*_wrong_answers(filled_statements(path))]):
        if name in fails:
            parts = [_cut(lines, part)[1].decode() for part in _arguments(node)]
            call = _call(node, parts, fails[name], public=name in public)
            before, _, after = _cut(lines, node)
            indent = len(before) - len(before.lstrip())
            laid_out = _laid_out(call, indent, len(before.decode()), tail=int(indent > 0))
            lines[node.lineno - 1 : node.end_lineno] = [before + laid_out.encode() + after]
    path.write_bytes(_importing_edit(b"".join(lines).decode()).encode())


def _importing_edit(text: str) -> str:
    """The text with ``edit`` imported from ``grader.answers``, where it says ``edit(...)``."""
    tree = ast.parse(without_blanks(text))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    taken = [node for node in imports if node.module == "grader.answers"]
    is_used = any(isinstance(node, ast.Name) and node.id == "edit" for node in ast.walk(tree))
    if not is_used or not taken or any(name.name == "edit" for node in taken for name in node.names):
        return text
    names = sorted({"edit", *(ast.unparse(name) for name in taken[0].names)})
    lines = io.StringIO(text).readlines()
    statement = _laid_out(_Brackets("from grader.answers import (", names, ")"), 0, 0, 0)
    short = f"from grader.answers import {', '.join(names)}"
    lines[taken[0].lineno - 1 : taken[0].end_lineno] = [f"{short if _fits(short, 0) else statement}\n"]
    return "".join(lines)


def _wrong_answers(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """The names of the wrong answers, and the expressions that say which checks they fail."""
    for node in statements:
        mark, edits = mark_of(node), edits_call(node)
        if mark is not None and is_wrong(mark) and isinstance(node, Named):
            yield node.name, mark
        if edits is not None and is_wrong(edits):
            match edits.args:
                case [_, ast.Dict(keys=names, values=values)]:
                    yield from zip(map(ast.literal_eval, names), values, strict=True)  # type: ignore[arg-type]


def _cut(lines: Sequence[bytes], node: ast.expr) -> tuple[bytes, bytes, bytes]:
    """The text before an expression on its first line, the expression, and the text behind its end."""
    whole = b"".join(lines[node.lineno - 1 : node.end_lineno])
    after = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset :]
    return whole[: node.col_offset], whole[node.col_offset : len(whole) - len(after)], after


def _arguments(node: ast.expr) -> list[ast.expr]:
    """The author's arguments, which stay."""
    return node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []


@dataclass(frozen=True)
class _Brackets:
    """A call or a list; as text, it stands on a single line."""

    opening: str
    items: Sequence[str | _Brackets]
    closing: str

    def __str__(self) -> str:
        return self.opening + ", ".join(map(str, self.items)) + self.closing


def _call(node: ast.expr, arguments: list[str], fails: list[str], *, public: bool) -> _Brackets:
    """``wrong(...)`` or ``edit(...)`` with the author's arguments and the observed outcome."""
    keywords = node.keywords if isinstance(node, ast.Call) else []
    stops = [_quoted(ast.literal_eval(keyword.value)) for keyword in keywords if keyword.arg == "stops"]
    items: list[str | _Brackets] = [*arguments, *(f"stops={error}" for error in stops)]
    items += [_Brackets("fails=[", [*map(_quoted, fails)], "]"), *(["public=True"] if public else [])]
    is_mark = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "wrong"
    return _Brackets("wrong(" if is_mark else "edit(", items, ")")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _laid_out(item: str | _Brackets, indent: int, begins: int, tail: int) -> str:
    """Code on a single line if it fits, else as the formatter writes it.

    Args:
        item: the code.
        indent: of the line on which the code begins.
        begins: its column on this line.
        tail: the number of characters that follow the code.
    """
    if isinstance(item, str) or _fits(str(item), begins + tail):
        return str(item)
    inner, all_items = indent + _STEP, ", ".join(map(str, item.items))
    body = [f"{_laid_out(part, inner, inner, tail=1)}," for part in item.items]
    if item.opening.endswith("(") and _fits(all_items, inner):
        body = [all_items]
    lines = [item.opening, *(" " * inner + line for line in body), " " * indent + item.closing]
    return "\n".join(lines)


def _fits(text: str, others: int) -> bool:
    """Whether a text fits on a line with so many other characters."""
    return "\n" not in text and others + len(text) <= _WIDTH
