"""Outside: authored code, what a student wrote for a question, as it stands in the notebook now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.notebooks.handwriting import handwriting
from grader.notebooks.reader import Cell, NotebookError, read_notebook
from grader.reports.line import Line, entry
from grader.sandbox.evidence import Evidence

_SAME = "the file is still the same"


@dataclass
class OwnCode:
    """Reads a notebook once, and runs nothing of it.

    Args:
        path: the notebook.
        sha256: of the file that was graded; None where it could not be read then.
        evidence: what was observed of it then, or None.
    """

    path: Path
    sha256: str | None
    evidence: Evidence | None

    @property
    def standing(self) -> str:
        """Whether the file is the one that was graded, in words."""
        return self._notebook[1]

    def lines(self, function: str) -> Iterator[Line]:
        """Every place that seems to define a function; none where the notebook cannot be read."""
        cells, standing = self._notebook
        if not cells:
            return
        found, count = handwriting(cells, function)
        if not found:
            yield entry("own code", f"no line of the notebook seems to define {function} ({standing})")
        elif count == 1:
            yield entry("own code", f"code cell {self._cell(found[0].cell)} ({standing})")
        else:
            shown = f", of which the last {len(found)} follow" if len(found) < count else ""
            which = "found as text; which one counted is not known"
            yield entry("own code", f"{count} places{shown}, {which} ({standing})")
        for place in found:
            if count > 1:
                yield Line(f"      code cell {self._cell(place.cell)}:")
            yield from (Line(f"      {line}", "dim") for line in place.lines)

    @cached_property
    def _notebook(self) -> tuple[tuple[Cell, ...], str]:
        try:
            notebook = read_notebook(self.path)
        except NotebookError as error:
            same = error.sha256 and error.sha256 == self.sha256
            return (), _SAME if same else "it is not there any more, or cannot be read"
        same = notebook.sha256 == self.sha256
        return notebook.cells, _SAME if same else "the file is ANOTHER now"

    def _cell(self, number: int) -> str:
        """A code cell by its number; one that failed then may have defined nothing."""
        evidence = self.evidence if self.standing == _SAME else None
        failed = {cell["cell"] for cell in evidence.cells} if evidence else set()
        return f"{number}, which did not run to its end" if number in failed else str(number)
