"""Outside: what one reading of a notebook tells, so that its cells need not be kept or read again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from grader.grading.flags import traces_in
from grader.grading.preload import modules_to_preload
from grader.notebooks.identify import recognise
from grader.notebooks.reader import NotebookError, NotebookFile, parse_notebook
from grader.sandbox.evidence import Notice


@dataclass(frozen=True, slots=True)
class Gist:
    """What is to be known of a notebook before it is observed.

    Attributes:
        assignment: the stem of the one it answers, or None.
        error: why it cannot be read, in a sentence.
        preload: modules that the zygote had better import for it.
        traces: what its text shows of the ways to deceive a grader.
    """

    assignment: str | None
    error: str | None = None
    preload: frozenset[str] = frozenset()
    traces: tuple[Notice, ...] = ()


def gist_of(file: NotebookFile, file_stem: str, functions: Mapping[str, Collection[str]]) -> Gist:
    """The gist of a notebook, or of what cannot be read as one.

    Args:
        file: what was handed in.
        file_stem: the name of the file without its suffix.
        functions: the names each assignment asks for, by its stem.
    """
    try:
        notebook = parse_notebook(file)
    except NotebookError as error:
        return Gist(recognise(file_stem, None, functions), str(error))
    return Gist(
        recognise(file_stem, notebook, functions),
        None,
        modules_to_preload(cell.source for cell in notebook.cells),
        traces_in(notebook.cells),
    )
