"""A file of known answers as syntax: which statements are answers, and what ``--accept`` writes into them."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.author_file import filled_statements, questions_asked, read_text, without_blanks
from grader.errors import CourseError

Named = ast.FunctionDef | ast.ClassDef
_WIDTH, _STEP = 110, 4  # of a line, and of an indentation


def statements_about(path: Path, functions: Mapping[str, str]) -> list[ast.stmt]:
    """The statements of the file, without blanks and without those of questions that are left out.

    `functions` has the function's name by the id of each question that stays.

    Raises:
        CourseError: two answers have the same name; ``--accept`` knows an answer by its name alone.
    """
    statements = filled_statements(path)
    users: dict[str, tuple[str | None, int]] = {}
    for node in statements:
        for name, line, _ in _named(node):
            if name in users:
                other, first = users[name]
                raise CourseError(
                    f"{path}, line {line}: two answers are called {name}, this one to {_question_of(node)}"
                    f" and one to {other} in line {first}; give each a name of its own"
                )
            users[name] = _question_of(node), line
    others = questions_asked(path) - set(functions)
    return [node for node in statements if _question_of(node) not in others]


def _named(node: ast.stmt) -> Iterator[tuple[str, int, ast.expr]]:
    """The names of a statement's answers, their lines, and the expressions that say what they fail."""
    mark = mark_of(node)
    if mark is not None and isinstance(node, Named):
        yield node.name, mark.lineno, mark
    match edits_call(node):
        case ast.Call(args=[_, ast.Dict(keys=keys, values=values)]):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield str(key.value), key.lineno, value


def _question_of(node: ast.stmt) -> str | None:
    """The question that an answer, or a call at the top of the file, names first."""
    call = mark_of(node) or (node.value if isinstance(node, ast.Expr) else None)
    match call:
        case ast.Call(args=[ast.Constant(value=str(question)), *_]):
            return question
    return None


def no_question(question: Any, functions: Mapping[str, str]) -> str:
    """A clause: there is no such question, but others."""
    return f"the assignment has no question {question!r}, only {', '.join(functions)}"


def mark_of(node: ast.stmt) -> ast.Call | None:
    """The decorator that makes a definition an answer."""
    for decorator in node.decorator_list if isinstance(node, Named) else ():
        match decorator:
            case ast.Call(func=ast.Name(id="accepted" | "wrong")):
                return decorator
    return None


def edits_call(node: ast.stmt) -> ast.Call | None:
    """The call of ``wrong_edits`` or ``accepted_edits`` in a statement, or None."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="accepted_edits" | "wrong_edits")) as call):
            return call
    return None


def is_wrong(mark: ast.Call) -> bool:
    """Whether a decorator, or a table of edits, is that of wrong answers."""
    return isinstance(mark.func, ast.Name) and mark.func.id in {"wrong", "wrong_edits"}


def is_bookkeeping(node: ast.stmt) -> bool:
    """Whether a statement is no part of answers' notebooks: docstring, answers, `equal`, and their import."""
    match node:
        case ast.ImportFrom(module="grader.answers") | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="equal"))):
            return True
    return mark_of(node) is not None or edits_call(node) is not None


def accept(path: Path, fails: Mapping[str, list[str]], public: Collection[str] = ()) -> None:
    """Write the outcome of each wrong answer into its decorator or ``edit(...)``; all else stays as it is.

    `fails` has the checks that each wrong answer fails; those in `public` pass the public check.
    """
    lines = [line.encode() for line in io.StringIO(read_text(path)).readlines()]  # as Python counts lines
    marks = [(node, mark_of(node) or edits_call(node)) for node in filled_statements(path)]
    wrong = [answer for node, mark in marks if mark and is_wrong(mark) for answer in _named(node)]
    for name, _, node in reversed(wrong):
        if name in fails:
            arguments = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
            texts = [_cut(lines, argument)[1].decode() for argument in arguments]
            call = _call(node, texts, fails[name], public=name in public)
            before, _, after = _cut(lines, node)
            indent = len(before) - len(before.lstrip())
            laid_out = _laid_out(call, indent, len(before.decode()), tail=int(indent > 0))
            lines[node.lineno - 1 : node.end_lineno] = [before + laid_out.encode() + after]
    path.write_bytes(_importing_edit(b"".join(lines).decode()).encode())


def _importing_edit(text: str) -> str:
    """The text with ``edit`` imported from ``grader.answers``, if it is used."""
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


def _cut(lines: Sequence[bytes], node: ast.expr) -> tuple[bytes, bytes, bytes]:
    """The text before an expression on its first line, the expression, and the text behind its end."""
    whole = b"".join(lines[node.lineno - 1 : node.end_lineno])
    after = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset :]
    return whole[: node.col_offset], whole[node.col_offset : len(whole) - len(after)], after


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
        indent: of the line on which the code begins.
        begins: the code's column on this line.
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
