"""The mutants of an answer: its texts after a single edit. A mutant is named by its place.

`x -> x.detach()` is the same edit in every answer, wherever it stands: one `equal` holds for all of them, and
an edit elsewhere in the file does not affect it.
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

from grader.doctor.mutation.block_edits import BLOCK_EDITS
from grader.doctor.mutation.equivalence import is_cut_only
from grader.doctor.mutation.expression_edits import EXPRESSION_EDITS
from grader.doctor.mutation.places import Block, blocks, places

_FEW = 4
_CUTS = {"detach is put in": "detach", "data is put in": "data"}
_CUTS_ALL = "no_grad is put around"

#: From where to where in a text: line and column, twice.
Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Mutant:
    """An answer with a single edit.

    Attributes:
        edit: what was done, in plain English.
        place: what was edited, whatever stands around it: ``x -> x.detach()``, or the edit and a statement.
        source: the text of the edited definition, without docstrings and comments.
        before: the same before the edit.
        cut: from where to where the text loses its history, if that is all the edit does.
    """

    edit: str
    place: str
    source: str
    before: str
    cut: Span | None = None

    def is_implied_by(self, other: Mutant) -> bool:
        """Whether it does no more than cut a part of what another mutant of the same answer cuts."""
        if self.cut is None or other.cut is None:
            return False
        within = other.cut[0] <= self.cut[0] and self.cut[1] <= other.cut[1]
        return within and (other.cut != self.cut or (self.edit, other.edit) == tuple(reversed(_CUTS)))

    @property
    def change(self) -> tuple[str, ...]:
        """The lines that differ, each behind ``- `` or ``+ ``, dedented together.

        If a few lines changed places, all of them stand here, in the old and in the new order.
        """
        old, new = self.before.splitlines(), self.source.splitlines()
        parts = [
            part
            for part in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            if part[0] != "equal"
        ]
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
            text = ast.unparse(edit.whole)
        if text not in known and _compiles(text):
            yield Mutant(edit.name, edit.place, text, before, edit.cut)
        known.add(text)


def places_of_edits(source: str) -> set[str]:
    """The ``place`` of each edit that can be made in a function or class."""
    return {edit.place for edit in _edits(_without_docstrings(source))}


def normalised_source(source: str) -> str:
    """A definition's text without its name, docstrings, remarks and spacing: equal for equal answers."""
    return without_name(ast.unparse(_without_docstrings(source)))


def without_name(source: str) -> str:
    """The text of a definition without its name."""
    name = re.search(r"^(?:def|class) (\w+)", source, re.MULTILINE)
    return re.sub(rf"\b{name[1]}\b", "_", source) if name else source


@dataclass(frozen=True)
class _Edit:
    """An edit that can be made, and taken back: its name and place, how, in what tree, and what it cuts."""

    name: str
    place: str
    made: Callable[[], AbstractContextManager[None]]
    whole: ast.AST
    cut: Span | None


def _edits(definition: ast.stmt) -> Iterator[_Edit]:
    """The edits of a definition; each is to be taken back before the next is asked for."""
    whole = ast.Module([definition], [])
    for block in blocks(whole):
        for name, rewrite_block in BLOCK_EDITS.items():
            for statements in rewrite_block(block):
                place = _rewritten(block, statements) or f"{name}: {_subject(block, statements)}"
                cut = _span(_changed(block, statements)) if name == _CUTS_ALL else None
                yield _Edit(name, place, partial(block.replaced, statements), whole, cut)
    for one in places(definition):
        for name, rewrite in EXPRESSION_EDITS.items():
            for expression in rewrite(one):
                place = _exchange(one.node, expression)
                cut = _span(one.node) if name in _CUTS and is_cut_only(one, _CUTS[name]) else None
                yield _Edit(name, place, partial(one.replaced, expression), definition, cut)


def _exchange(old: ast.expr, new: ast.expr) -> str:
    """The old text and the new text; of a call whose arguments differ, only the method."""
    match old, new:
        case ast.Call(func=ast.Attribute(attr=name)), ast.Call() if new.func is old.func:
            calls = [ast.Call(ast.Name(name, ast.Load()), call.args, call.keywords) for call in (old, new)]
            return " -> ".join(f".{ast.unparse(call)}" for call in calls)
    return f"{ast.unparse(old)} -> {ast.unparse(new)}"


def _rewritten(block: Block, statements: list[ast.stmt]) -> str:
    """The old text and the new text, if a simple statement was rewritten."""
    match (
        [one for one in block.statements if one not in statements],
        [one for one in statements if one not in block.statements],
    ):
        case [old], [new] if not (hasattr(old, "body") or hasattr(new, "body")):
            return f"{ast.unparse(old)} -> {ast.unparse(new)}"
    return ""


def _changed(block: Block, statements: list[ast.stmt]) -> ast.stmt:
    """The statement that an edit of a block is about: removed (simple statements first) or moved."""
    gone = [one for one in block.statements if one not in statements]
    simple = [one for one in gone if not hasattr(one, "body")]
    moved = [one for one, other in zip(block.statements, statements, strict=False) if one is not other]
    return [*simple, *gone, *moved, block.statements[-1]][0]


def _subject(block: Block, statements: list[ast.stmt]) -> str:
    """The first line of that statement; of the definition itself, whose name says nothing, a word."""
    if isinstance(block.owner, ast.Module):
        return "the function"
    return ast.unparse(_changed(block, statements)).split("\n")[0]


def _span(node: ast.stmt | ast.expr) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _without_docstrings(source: str) -> ast.stmt:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree.body[0]


def _compiles(text: str) -> bool:
    """Whether an edit left Python: `break` needs a loop, not everything can be assigned to."""
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True
