"""The mutants of a reference: its texts after a single edit.

The edit `x -> x.detach()` has this name at every position: an `equal` holds for all of them, and a change
elsewhere in the file does not affect it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from textwrap import dedent

from grader.doctor.mutation.edits import BLOCK_EDITS, EXPRESSION_EDITS
from grader.doctor.mutation.places import Block, blocks, is_cut_only, places

_FEW = 4
_CUTS = {"detach is put in": "detach", "data is put in": "data"}
_CUTS_ALL = "no_grad is put around"

#: From where to where in a text: line and column, twice.
Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Mutant:
    """A reference with a single edit.

    Attributes:
        kind: of the edit, in plain English.
        edit: its name: ``x -> x.detach()``, or the kind and a statement.
        source: the text after the edit, without docstrings and comments.
        before: the text before the edit.
        cut: the part of the text that loses its history, if that is all the edit does.
    """

    kind: str
    edit: str
    source: str
    before: str
    cut: Span | None = None

    def is_implied_by(self, other: Mutant) -> bool:
        """Whether it only cuts a part of what another mutant of the same reference cuts."""
        if self.cut is None or other.cut is None:
            return False
        within = other.cut[0] <= self.cut[0] and self.cut[1] <= other.cut[1]
        return within and (other.cut != self.cut or (self.kind, other.kind) == tuple(reversed(_CUTS)))

    @property
    def change(self) -> tuple[str, ...]:
        """The lines that differ, each behind ``- `` or ``+ ``, dedented together.

        Where a few lines were exchanged, these are all of them, in the old and in the new order.
        """
        old, new = self.before.splitlines(), self.source.splitlines()
        opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        parts = [part for part in opcodes if part[0] != "equal"]
        (_, begin, _, begun, _), (_, _, end, _, ended) = parts[0], parts[-1]
        if end - begin <= _FEW and sorted(old[begin:end]) == sorted(new[begun:ended]):
            parts = [("replace", begin, end, begun, ended)]
        marks: list[str] = []
        lines: list[str] = []
        for _, begin, end, begun, ended in parts:
            marks += ["- "] * (end - begin) + ["+ "] * (ended - begun)
            lines += old[begin:end] + new[begun:ended]
        shown = dedent("\n".join(lines)).split("\n")
        return tuple(mark + line for mark, line in zip(marks, shown, strict=True))


def mutants(source: str) -> Iterator[Mutant]:
    """The mutants of a function or class, each text once; name and signature stay."""
    definition = _without_docstrings(source)
    before = ast.unparse(definition)
    known = {before}
    for edit in _edits(definition):
        with edit.made():
            text = ast.unparse(definition)
        if text not in known and _compiles(text):
            yield Mutant(edit.kind, edit.name, text, before, edit.cut)
        known.add(text)


def possible_edits(source: str) -> set[str]:
    """The names of the edits that can be made in a function or class."""
    return {edit.name for edit in _edits(_without_docstrings(source))}


def normalised_source(source: str) -> str:
    """A definition's text without its name, docstrings, comments and spacing: equal for equal answers."""
    return without_name(ast.unparse(_without_docstrings(source)))


def without_name(source: str) -> str:
    """The text of a definition without its name."""
    name = re.search(r"^(?:def|class) (\w+)", source, re.MULTILINE)
    return re.sub(rf"\b{name[1]}\b", "_", source) if name else source


@dataclass(frozen=True)
class _Edit:
    """An edit; `made` makes it in the tree, and takes it back at the end of its block."""

    kind: str
    name: str
    made: Callable[[], AbstractContextManager[None]]
    cut: Span | None


def _edits(definition: ast.Module) -> Iterator[_Edit]:
    """The edits of a definition; each has to be taken back before the next is made."""
    for block in blocks(definition):
        for kind, rewrite_block in BLOCK_EDITS.items():
            for statements in rewrite_block(block):
                cut = _span(_changed(block, statements)) if kind == _CUTS_ALL else None
                yield _Edit(kind, _name(kind, block, statements), partial(block.replaced, statements), cut)
    for place in places(definition.body[0]):
        for kind, rewrite in EXPRESSION_EDITS.items():
            for expression in rewrite(place):
                cut = _span(place.node) if kind in _CUTS and is_cut_only(place, _CUTS[kind]) else None
                yield _Edit(kind, _exchange(place.node, expression), partial(place.replaced, expression), cut)


def _exchange(old: ast.expr, new: ast.expr) -> str:
    """The old text and the new text; of a call whose arguments differ, only the method."""
    match old, new:
        case ast.Call(func=ast.Attribute(attr=name)), ast.Call() if new.func is old.func:
            calls = [ast.Call(ast.Name(name, ast.Load()), call.args, call.keywords) for call in (old, new)]
            return " -> ".join(f".{ast.unparse(call)}" for call in calls)
    return f"{ast.unparse(old)} -> {ast.unparse(new)}"


def _name(kind: str, block: Block, statements: list[ast.stmt]) -> str:
    """The old text and the new text of a simple statement that was rewritten, else the kind and a line."""
    gone = [statement for statement in block.statements if statement not in statements]
    new = [statement for statement in statements if statement not in block.statements]
    if len(gone) == len(new) == 1 and not hasattr(gone[0], "body") and not hasattr(new[0], "body"):
        return f"{ast.unparse(gone[0])} -> {ast.unparse(new[0])}"
    if isinstance(block.owner, ast.Module):
        return f"{kind}: the function"
    return f"{kind}: {ast.unparse(_changed(block, statements)).splitlines()[0]}"


def _changed(block: Block, statements: list[ast.stmt]) -> ast.stmt:
    """The statement that an edit of a block is about: removed (a simple one first) or moved."""
    gone = [statement for statement in block.statements if statement not in statements]
    simple = [statement for statement in gone if not hasattr(statement, "body")]
    moved = [old for old, new in zip(block.statements, statements, strict=False) if old is not new]
    return [*simple, *gone, *moved, block.statements[-1]][0]


def _span(node: ast.stmt | ast.expr) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _without_docstrings(source: str) -> ast.Module:
    """The tree of the first definition in a text."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.Module(tree.body[:1], [])


def _compiles(text: str) -> bool:
    """Whether a text is Python: `break` needs a loop, and not everything can be assigned to."""
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True
