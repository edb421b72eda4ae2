"""Known answers that are written as edits of another answer, and their sources."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

from grader.course.author_file import not_python
from grader.errors import CourseError

_FORM = (
    'write {"name_of_the_answer": ("what stands there", "what shall stand there", "What is believed."), ...}'
    " with literals"
)
_LINE_ENDS = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


@dataclass(frozen=True)
class Edited:
    """An answer that is written as an edit of another answer.

    Attributes:
        line: of its name.
        replacements: pairs of old and new text, made in this order.
        why: the author's reason; the answer's docstring.
    """

    name: str
    line: int
    replacements: tuple[tuple[str, str], ...]
    why: str


@dataclass(frozen=True)
class Original:
    """A function or class that can be edited; its `label` stands in messages."""

    name: str
    label: str
    source: str


def edits_in(call: ast.Call, file: Path) -> list[Edited]:
    """The answers of a call of ``wrong_edits`` or ``accepted_edits``; CourseError if it has another form."""
    match call.args:
        case [_, ast.Dict(keys=names, values=edits)]:
            return [_edited(name, edit, file) for name, edit in zip(names, edits, strict=True)]
    raise CourseError(f"{file}, line {call.lineno}: {_FORM}")


def _edited(key: ast.expr | None, value: ast.expr, file: Path) -> Edited:
    line = (key or value).lineno
    try:
        name, parts = ast.literal_eval(key) if key else None, ast.literal_eval(value)
    except ValueError:
        name, parts = None, None
    pairs: Any = []
    match parts:
        case (str(old), str(new), str(why)):
            pairs = [(old, new)]
        case ([*pairs], str(why)):
            pass
        case _:
            why = ""
    if not (pairs and all(map(_is_pair, pairs)) and isinstance(name, str) and name.isidentifier()):
        raise CourseError(f"{file}, line {line}: {_FORM}")
    return Edited(name, line, tuple(map(tuple, pairs)), why)


def _is_pair(pair: Any) -> bool:
    match pair:
        case [str(old), str()]:
            return bool(old)
    return False


def edited_source(original: Original, edited: Edited, file: Path) -> str:
    """The function or class that an edit makes, under the edit's name.

    The old text must stand exactly once in the original, as whole words, outside of comments and docstrings;
    else, or if the edit leaves no such function, this raises CourseError.
    """
    where = f"{file}, line {edited.line}: {edited.name}"
    source = original.source
    for old, new in edited.replacements:
        positions = _positions(old, source)
        if len(positions) != 1:
            raise CourseError(f"{where}: `{old}` stands {_times(len(positions), old, original)}")
        source = source[: positions[0]] + new + source[positions[0] + len(old) :]
    try:
        definition = _definition(source, original.name)
    except SyntaxError as error:
        raise CourseError(f"{where}: after the edit {not_python(error)}") from error
    if definition is None:
        raise CourseError(f"{where}: after the edit there is no {original.name} any more; leave its name")
    before = _definition(original.source, original.name)
    if before is not None and ast.dump(before) == ast.dump(definition):
        raise CourseError(f"{where}: the edit changes nothing in {original.label}")
    return ast.unparse(_renamed(definition, edited))


def _definition(source: str, name: str) -> ast.FunctionDef | ast.ClassDef | None:
    body = ast.parse(source).body
    named = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name]
    return named[0] if len(named) == len(body) == 1 else None


def _renamed(definition: ast.FunctionDef | ast.ClassDef, edited: Edited) -> ast.stmt:
    """The definition under the edit's name, also where it names itself, with the reason as docstring."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and node.id == definition.name and isinstance(node.ctx, ast.Load):
            node.id = edited.name
    definition.name = edited.name
    if ast.get_docstring(definition) is not None:
        del definition.body[0]
    definition.body.insert(0, ast.Expr(ast.Constant(edited.why)))
    return ast.fix_missing_locations(definition)


def _positions(old: str, source: str) -> list[int]:
    """Each position at which a piece of code begins, as whole words."""
    before, after = (r"(?<!\w)" if old[0].isidentifier() else "", r"(?!\w)" if old[-1].isalnum() else "")
    return [match.start() for match in re.finditer(before + re.escape(old) + after, _code(source))]


@cache
def _code(source: str) -> str:
    """The source with spaces in place of comments and docstrings; unchanged if it is not Python."""
    lines = io.StringIO(source).readlines()
    begins = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    try:
        tokens = list(tokenize.generate_tokens(iter([*lines, ""]).__next__))
    except (SyntaxError, tokenize.TokenError):
        return source
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_alone = before.type in _LINE_ENDS and after.type == tokenize.NEWLINE
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and is_alone):
            first, last = (begins[row - 1] + column for row, column in (token.start, token.end))
            source = source[:first] + " " * (last - first) + source[last:]
    return source


def _times(number: int, old: str, original: Original) -> str:
    if number:
        return f"{number} times in {original.label}; write more of what stands around it"
    lines = [line.strip() for line in _code(original.source).splitlines() if line.strip()]
    nearest = max(lines, key=lambda line: SequenceMatcher(None, old, line, False).find_longest_match().size)
    return f"nowhere in the code of {original.label}; nearest to it is `{nearest}`"
