"""Observes a notebook, by running its cells and its assignment's probes in confined workers.

A single worker serves all questions. Where a probe dies, hangs, or leaves behind what cannot be put back, all
is observed again with a worker per question, so only notebooks with faults pay for isolation. Where time does
not allow it, what the shared worker answered before the fault counts.

A notebook is not blamed for the machine. Where its time ran out while others had the processors for more than
a quarter of it, or the system killed its worker for memory, its evidence is ``starved``: the notebook is
observed again alone. The first worker that is killed is replaced without a notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from grader.notebooks.reader import Cell
from grader.sandbox.cells import NotebookRun, Workers
from grader.sandbox.evidence import Evidence, NoFacts
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.probes import ProbeRun


def observe(workers: Workers, cells: Sequence[Cell], plan: ProbePlan, limits: TimeLimits) -> Evidence:
    """Evidence, whatever the notebook does; GraderError where there is no worker."""
    notebook = NotebookRun(workers, cells, plan, limits)
    probes = ProbeRun(notebook, plan, limits)
    with ExitStack() as stack:
        worker = notebook.load(stack)
        shared = worker if isinstance(worker, NoFacts) else probes.ask_in_one_worker(worker)
    if isinstance(shared, NoFacts):
        return notebook.evidence({}, fault=shared.reason)
    answers = probes.ask_in_own_workers() if shared is None else shared | probes.ask_those_alone()
    return notebook.evidence(answers)
