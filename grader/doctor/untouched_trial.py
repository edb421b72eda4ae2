"""Outside: the notebook as students get it, which has to run, and in which nothing is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from grader.checks.failed_cell import FailedCell
from grader.course.assignment import Assignment
from grader.doctor.reused_worker import Looks
from grader.memory import Memory, fingerprint
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.plan import ProbePlan, TimeLimits


def begin_untouched(  # noqa: PLR0913, PLR0917 - what a trial needs
    assignment: Assignment,
    points: Mapping[str, float],
    asked: ProbePlan,
    limits: TimeLimits,
    looks: Looks,
    memory: Memory,
) -> Callable[[], list[str]]:
    """Begin to run the untouched notebook of an assignment, unless it is known to run.

    Args:
        assignment: the assignment.
        points: of its questions, by id.
        asked: what a submission is asked; its probes are left out.
        limits: of a notebook.
        looks: where notebooks are looked at.
        memory: what earlier trials found.

    Returns:
        What waits for the end, and gives a sentence for each cell that fails and each stub that counts as
        answered.
    """
    from grader.course.build import student_notebook  # noqa: PLC0415 - nbformat takes a fifth of a second

    notebook = student_notebook(assignment, points)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    key = fingerprint("untouched", sources)
    if memory.recall(key) is not None:
        return list
    look = looks.look(cells_of(sources), replace(asked, probes={}), limits, alone=True)

    def finish() -> list[str]:
        complaints = [*_complaints(look.result())]
        if not complaints:
            memory.remember(key, [])
        return complaints

    return finish


def _complaints(evidence: Evidence) -> Iterator[str]:
    for cell in evidence.cells:
        yield f"the untouched notebook fails: {FailedCell.of(cell).sentence}"
    for function, status in evidence.names.items():
        if status != "untouched":
            yield f"the stub of {function} counts as {status} in the untouched notebook"
