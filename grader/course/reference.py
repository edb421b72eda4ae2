"""The reference solution and the stubs of an assignment as notebooks, and what a worker is asked of them."""

from __future__ import annotations

from dataclasses import replace

from grader.course.course import Course
from grader.course.rubric import Rubric
from grader.notebooks.reader import Cell, cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Zygote

REFERENCE_LIMITS = TimeLimits(cell=60, question=120, notebook=600)


def reference_cells(course: Course, stem: str) -> tuple[Cell, ...]:
    """The code cells of an assignment's master, answers in place."""
    sources = course.assignment(stem).reference
    return cells_of(sources)


def stub_cells(course: Course, stem: str) -> tuple[Cell, ...]:
    """The code cells of an assignment as they are handed out."""
    sources = course.assignment(stem).handed_out
    return cells_of(sources)


def plan_for_stubs(rubric: Rubric, seed: int) -> ProbePlan:
    """What to ask the stubs: all that an answer is asked, because nothing counts as a stub."""
    asked = rubric.plan(seed)
    return replace(asked, stubs=dict.fromkeys(asked.stubs, "pass"))


def plan_for_oracles(rubric: Rubric, seed: int) -> ProbePlan:
    """What to ask the reference itself where an oracle answers in its place."""
    asked, of_oracles = rubric.plan(seed), {p.name for p in rubric.probes.values() if p.oracle}
    probes = {f: tuple(p for p in probes if p.name in of_oracles) for f, probes in asked.probes.items()}
    return replace(asked, probes=probes)


def observe_reference(
    zygote: Zygote, course: Course, stem: str, seed: int, *, oracle: bool = True
) -> Evidence:
    """Observe the reference exactly like a submission; with `oracle`, an oracle may replace its answer."""
    plan = course.rubric(stem).plan(seed, oracle=oracle)
    return observe(zygote, reference_cells(course, stem), plan, REFERENCE_LIMITS)
