"""Outside: the texts that all notebooks of a class have in common, so that each is compiled once for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.course.course import Course
from grader.course.rubric import Rubric
from grader.notebooks.reader import Cell, NotebookError, read_notebook


def texts_in_common(course: Course, rubrics: Iterable[Rubric]) -> dict[str, list[str]]:
    """The stubs of these rubrics and the cells handed out, as ``grader.sandbox.zygote.Zygote`` takes them.

    Only what students have anyway: whatever the zygote holds, every worker holds from its beginning.
    """
    rubrics = list(rubrics)
    return {
        "stubs": sorted({question.stub for rubric in rubrics for question in rubric.questions}),
        "cells": sorted({cell.source for rubric in rubrics for cell in _handed_out(course, rubric.stem)}),
    }


def _handed_out(course: Course, stem: str) -> Iterator[Cell]:
    """The cells of the notebook that students get; none where it has not been built."""
    try:
        yield from read_notebook(course.root / "assignments" / f"{stem}.ipynb").cells
    except NotebookError:
        return
