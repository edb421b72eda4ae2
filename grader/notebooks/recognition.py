"""Recognizes the assignment of a notebook, how certain that is, and whether it contains an answer.

Nothing is run, and nothing is parsed as Python: a student's text decides how long that would take.
"""

import hashlib
import re
import token
import tokenize
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from grader.notebooks.files import NotebookError, NotebookFile, notebook_stem
from grader.notebooks.reader import Cell, Notebook, parse_notebook

NO_STARTER_CODE: Mapping[str, Collection[str]] = MappingProxyType({})
_DEFINITION = re.compile(r"(?m)^(?:(?:async[ \t]++)?def[ \t]++(\w++)|class[ \t]++(\w++)|(\w++)[ \t]*+=(?!=))")
#: Characters of code that are searched for the functions of an assignment. A notebook with more is taken to
#: hold answers; the largest of a course has 50,000.
MAX_SEARCHED = 1024**2
#: Characters of a notebook's cells that are compared with starter code. The starter code of an assignment has
#: about 10,000; a notebook with more is taken to hold answers.
MAX_COMPARED = 1 << 16
_LAYOUT = frozenset({token.COMMENT, token.NL, token.ENCODING, token.ENDMARKER})
_LINE_ENDS = frozenset({token.NEWLINE, token.INDENT, token.DEDENT})


@dataclass(frozen=True)
class Recognition:
    """The assignment that a notebook answers.

    Attributes:
        assignment: its stem; None if nothing decides or two fit equally well.
        is_certain: whether metadata or the file's name say so, and not only the functions it defines.
        contradicts: the assignment that the metadata name, where the file's name says `assignment`.
    """

    assignment: str | None
    is_certain: bool = True
    contradicts: str | None = None


def recognise(
    file_stem: str, notebook: Notebook | None, functions: Mapping[str, Collection[str]]
) -> Recognition:
    """The assignment that a notebook answers.

    The notebook's metadata decide first, then the name of its file, which may have been decorated ("Ada
    03-truncated-bptt (1)"), then the functions it defines.

    Args:
        notebook: None if it cannot be read.
        functions: the functions and classes that each assignment asks for, by its stem.
    """
    spelled = _spelling(file_stem)
    named = _best({stem: len(stem) if _spelling(stem) in spelled else 0 for stem in functions})
    claimed = notebook.assignment if notebook is not None else None
    if claimed is not None and claimed in functions:
        if named and claimed not in named:
            return Recognition(named[0], contradicts=claimed)
        return Recognition(claimed)
    if len(named) == 1 or notebook is None:
        return Recognition(named[0] if len(named) == 1 else None)
    defined = _defined_in(notebook.cells)
    fitting = _best({stem: len(defined.intersection(names)) for stem, names in functions.items()})
    return Recognition(fitting[0], is_certain=False) if len(fitting) == 1 else Recognition(None)


def has_answers(cells: Iterable[Cell], functions: Collection[str], starter: Collection[str]) -> bool:
    """Whether a cell defines one of the functions and is not starter code, comments and docstrings aside.

    Args:
        cells: of a notebook.
        functions: the functions and classes that its assignment asks for.
        starter: the code cells of the assignment as students get them.
    """
    cells = [*cells]
    if sum(len(cell.source) for cell in cells) > MAX_SEARCHED:
        return True
    defining = [cell.source for cell in cells if not _defined_in([cell]).isdisjoint(functions)]
    changed = [source for source in defining if source not in starter]
    if sum(map(len, changed)) > MAX_COMPARED:
        return True
    return bool(changed) and any(_code_of(source) not in _codes_of(tuple(starter)) for source in changed)


@lru_cache(maxsize=32)
def _codes_of(starter: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_code_of, starter))


def holds_answers(
    name: str,
    content: bytes,
    functions: Mapping[str, Collection[str]],
    starter_code: Mapping[str, Collection[str]],
) -> bool:
    """Whether a file is a notebook that answers anything of the assignment that it is recognised as.

    Args:
        name: of the file.
        content: of the file.
        functions: the functions and classes that each assignment asks for, by its stem.
        starter_code: the code cells of each assignment as students get them, by its stem.
    """
    try:
        notebook = parse_notebook(NotebookFile(name, content, ""))
    except NotebookError:
        return False
    recognition = recognise(notebook_stem(name), notebook, functions)
    stem = recognition.contradicts or recognition.assignment
    return stem is not None and has_answers(notebook.cells, functions[stem], starter_code.get(stem, ()))


def _defined_in(cells: Iterable[Cell]) -> set[str]:
    """The names that are defined at the beginning of a line, which is searched for as text."""
    defined: set[str] = set()
    left = MAX_SEARCHED
    for cell in cells:
        matches = _DEFINITION.finditer(cell.source[:left])
        defined.update(name for match in matches for name in match.groups() if name)
        left = max(left - len(cell.source), 0)
    return defined


@lru_cache(maxsize=256)  # a class has the same starter code many times
def _code_of(source: str) -> str:
    """A hash of a cell's tokens without comments, docstrings and layout; of its lines if it has no tokens."""
    lines = iter(source.splitlines(keepends=True))
    try:
        every = [*tokenize.generate_tokens(lambda: next(lines, ""))]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return _hash_of(filter(None, map(str.strip, source.splitlines())))
    tokens = [each for each in every if each.type not in _LAYOUT]
    kinds = [token.NEWLINE, *(each.type for each in tokens), token.NEWLINE]
    return _hash_of(
        each.string if each.type not in _LINE_ENDS else token.tok_name[each.type]
        for before, each, after in zip(kinds, tokens, kinds[2:], strict=False)
        if each.type != token.NEWLINE
        and not (each.type == token.STRING and before in _LINE_ENDS and after == token.NEWLINE)
    )


def _hash_of(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()


def _spelling(name: str) -> str:
    """A name without the changes that people and learning platforms make when they pass a file on."""
    return re.sub(r"[ _-]+", "_", name.casefold())


def _best(scores: Mapping[str, int]) -> list[str]:
    """The stems with the highest score, if it is not 0."""
    best = max(scores.values(), default=0)
    return [stem for stem, score in scores.items() if score == best > 0]
