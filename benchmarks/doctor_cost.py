"""The doctor over the whole course: everything tried, and again with nothing changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from measure import Cost, run
from report import Section, tell

WHOLE, UNCHANGED = "everything tried", "nothing changed"


def doctor_cost(stems: Sequence[str]) -> dict[str, Cost]:
    """Both, once. What the doctor knew of the course is forgotten first, and known again afterwards."""
    command = [sys.executable, "-m", "grader", "doctor", *(f"--assignment={stem}" for stem in stems)]
    tell("doctor")
    costs = {WHOLE: run([*command, "--force"]), UNCHANGED: run(command)}
    tell("")
    return costs


def section(costs: dict[str, Cost], stems: Sequence[str]) -> Section:
    """Wall time and processor time."""
    rows = [(name, f"{cost.wall:.1f}", f"{cost.processor:.1f}") for name, cost in costs.items()]
    text = f"`doctor` over {len(stems)} assignments with one seed, once."
    return Section("The doctor", text, ("", "wall seconds", "processor seconds"), rows)
