"""The reference solution and the stubs of an assignment as notebooks, and the plans of their probes."""

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
    return cells_of(course.assignment(stem).reference)


def stub_cells(course: Course, stem: str) -> tuple[Cell, ...]:
    """The code cells of an assignment as they are handed out."""
    return cells_of(course.assignment(stem).handed_out)


def plan_for_stubs(rubric: Rubric, seed: int) -> ProbePlan:
    """The probes of the stubs: all probes of an answer, because nothing counts as a stub."""
    plan = rubric.plan(seed)
    return replace(plan, stubs=dict.fromkeys(plan.stubs, "pass"))


def plan_for_oracles(rubric: Rubric, seed: int) -> ProbePlan:
    """The probes for which an oracle replaces the reference's answer, without the oracle."""
    plan, with_oracle = rubric.plan(seed), {p.name for p in rubric.probes.values() if p.oracle}
    probes = {f: tuple(p for p in probes if p.name in with_oracle) for f, probes in plan.probes.items()}
    return replace(plan, probes=probes)


def observe_reference(
    zygote: Zygote, course: Course, stem: str, seed: int, *, oracle: bool = True
) -> Evidence:
    """Observe the reference exactly like a submission; with `oracle`, an oracle may replace its answer."""
    plan = course.rubric(stem).plan(seed, oracle=oracle)
    return observe(zygote, reference_cells(course, stem), plan, REFERENCE_LIMITS)
