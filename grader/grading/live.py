"""Notebooks that are observed when a check first asks for them, for pytest run by hand."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.checks.observation import Observation
from grader.course.course import Course
from grader.course.reference import observe_reference, reference_cells
from grader.grading.preload import modules_to_preload
from grader.notebooks.reader import Cell, read_notebook
from grader.sandbox.evidence import UNANSWERED, Evidence, NoFacts
from grader.sandbox.observer import observe
from grader.sandbox.zygote import Zygote

_SEED = 0  # a check run by hand is run again and again by its author: the same inputs every time


@dataclass
class LiveSubject:
    """One notebook, or the reference, observed on first use."""

    id: str
    cells: Sequence[Cell]
    stem: str
    course: Course
    processes: LiveSubjects

    def observation(self, probe: str) -> Observation:
        """What a probe saw of this notebook, beside what it saw of the reference."""
        expected = self.processes.reference(self.course, self.stem)
        rubric = self.course.rubric(self.stem)
        function = next(q.function for q in rubric.questions if q.id == rubric.asks[probe])
        status = self._evidence.names.get(function, "missing")
        seen = self._evidence.outcome(probe)
        if status != "answered":
            seen = NoFacts(UNANSWERED[status].format(name=function))
        return Observation(probe, seen, expected.outcome(probe))

    @cached_property
    def _evidence(self) -> Evidence:
        plan = self.course.rubric(self.stem).plan(_SEED)
        return observe(self.processes.zygote, self.cells, plan, self.course.settings.limits)


class LiveSubjects:
    """The subjects of a session, and the one zygote they share.

    Args:
        notebooks: paths of ``--submission``; empty for the reference.

    Raises:
        NotebookError: one of them cannot be read.
    """

    def __init__(self, notebooks: Sequence[Path]) -> None:
        self._notebooks = [(path, read_notebook(path)) for path in notebooks]
        self._stack = ExitStack()
        self._references: dict[Path, Evidence] = {}

    def of(self, check_file: Path) -> list[LiveSubject]:
        """The subjects of a check file."""
        stem = check_file.stem.removeprefix("test_")
        course = Course.find(check_file.parent).only(stem)
        if not self._notebooks:
            return [LiveSubject("reference", reference_cells(course, stem), stem, course, self)]
        return [LiveSubject(path.stem, read.cells, stem, course, self) for path, read in self._notebooks]

    def reference(self, course: Course, stem: str) -> Evidence:
        """The reference's evidence, observed once."""
        key = course.check_file(stem)
        if key not in self._references:
            self._references[key] = observe_reference(self.zygote, course, stem, _SEED)
        return self._references[key]

    @cached_property
    def zygote(self) -> Zygote:
        """The zygote, started when somebody asks for facts."""
        preload = modules_to_preload(
            cell.source for _, notebook in self._notebooks for cell in notebook.cells
        )
        return self._stack.enter_context(Zygote(preload=preload))

    def close(self) -> None:
        """End the zygote, if it was started."""
        self._stack.close()
