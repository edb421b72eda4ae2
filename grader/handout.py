"""Outside: the texts that all notebooks of a class have in common, so that each is compiled once for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from grader.course import Course
from grader.notebook import Cell, NotebookError, read_notebook
from grader.rubric import Rubric


def texts_in_common(course: Course, rubrics: Iterable[Rubric]) -> dict[str, Any]:
    """The probes and stubs of these rubrics and the cells handed out, as ``grader.zygote.Zygote`` takes them.

    Nothing depends on them but time: what a notebook has of its own is compiled where it is run.
    """
    rubrics = list(rubrics)
    asked = [rubric.questionnaire(0, oracle=oracle) for rubric in rubrics for oracle in (False, True)]
    return {
        "probes": sorted(
            {probe.source for one in asked for probes in one.probes.values() for probe in probes}
        ),
        "stubs": sorted({stub for one in asked for stub in one.stubs.values()}),
        "cells": sorted({cell.source for rubric in rubrics for cell in _handed_out(course, rubric.stem)}),
    }


def _handed_out(course: Course, stem: str) -> Iterator[Cell]:
    """The cells of the notebook that students get; none where it has not been built."""
    try:
        yield from read_notebook(course.root / "assignments" / f"{stem}.ipynb").cells
    except NotebookError:
        return
