"""Which assignment a notebook answers, from what it says, is called and defines."""

import re
from collections.abc import Collection, Mapping

from grader.notebooks.reader import Notebook

_DEFINITION = re.compile(
    r"^(?:(?:async[ \t]++)?def[ \t]++(\w++)|class[ \t]++(\w++)|(\w++)[ \t]*+=(?!=))",
    re.MULTILINE,
)


def recognise(
    file_stem: str, notebook: Notebook | None, functions: Mapping[str, Collection[str]]
) -> str | None:
    """The stem of the assignment; None where nothing decides, or two assignments fit equally well.

    The notebook's metadata decides first, then the name of its file, which may have been decorated ("Ada
    03-truncated-bptt (1)"), then the functions it defines.

    Args:
        notebook: None where it cannot be read.
        functions: the names of the functions and classes each assignment asks for, by its stem.
    """
    if notebook is not None and notebook.assignment in functions:
        return notebook.assignment
    by_name = _only_best({stem: _length_found(stem, file_stem) for stem in functions})
    if by_name is not None or notebook is None:
        return by_name
    defined = _defined_names(notebook)
    return _only_best({stem: len(defined.intersection(names)) for stem, names in functions.items()})


def _length_found(stem: str, file_stem: str) -> int:
    """How long a stem is that stands in the name of a file; 0 where it does not."""
    return len(stem) if _spelling(stem) in _spelling(file_stem) else 0


def _spelling(name: str) -> str:
    """A name without what people and learning platforms change when they pass a file on."""
    return re.sub(r"[ _-]+", "_", name.casefold())


def _defined_names(notebook: Notebook) -> set[str]:
    """The names that lines of the notebook seem to define; the code is searched, not parsed."""
    return {
        name
        for cell in notebook.cells
        for match in _DEFINITION.finditer(cell.source)
        for name in match.groups()
        if name
    }


def _only_best(scores: Mapping[str, int]) -> str | None:
    """The stem with the highest score, if it is not 0 and no other stem shares it."""
    best = max(scores.values(), default=0)
    stems = [stem for stem, score in scores.items() if score == best > 0]
    return stems[0] if len(stems) == 1 else None
