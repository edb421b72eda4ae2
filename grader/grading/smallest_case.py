"""The smallest case of a contract that a notebook fails: the notebook runs again, confined as ever.

A case of several unusual kinds says little about a mistake. So it is tried again, with the same seed, with
each part of these kinds only; of the parts that fail, too, the smallest is what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.contracts.blame import case_to_report, failed_cases
from grader.contracts.cases import ContractObservation
from grader.contracts.finding import FailedCheckError
from grader.course.contract import Contract
from grader.course.course import Course
from grader.course.rubric import Rubric
from grader.errors import CourseError, GraderError
from grader.grading.executor import modules_to_preload
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import Cell, cells_of, read_notebook
from grader.reports.explain import Regrade, SmallestCase
from grader.sandbox.observer import observe
from grader.sandbox.zygote import Zygote


def with_smallest_cases(course: Course, regrade: Regrade, question: str | None = None) -> Regrade:
    """The same, with the smallest failed case of each contract of a question, or of all.

    Raises:
        GraderError: the notebook is not there any more, or is another one now.
    """
    rubric, evidence, reference = regrade.rubric, regrade.evidence, regrade.reference
    if rubric is None or evidence is None or reference is None or regrade.seed is None:
        return regrade
    chosen: dict[str, Contract] = {}
    for name, contract in rubric.probes.items():
        if isinstance(contract, Contract) and question in {None, rubric.asks[name]}:
            contracted = contract.observation(evidence.outcome(name), reference.outcome(name))
            number = _number_of_failed(contracted)
            if number is not None:
                row = contract.rows[number]
                chosen[name] = contract.with_cases({number: (*contract.parts_of(row), row)})
    if not chosen:
        return regrade
    cells = _cells(regrade)
    smallest = _smallest(course, rubric, chosen, cells, regrade)
    return replace(regrade, smallest=smallest)


def _number_of_failed(contracted: ContractObservation) -> int | None:
    """The number of the plainest failed case; None where all is right, or nothing was observed."""
    try:
        found = failed_cases(contracted)
    except (CourseError, FailedCheckError):
        return None
    return case_to_report(contracted.cases, found) if found else None


def _cells(regrade: Regrade) -> Sequence[Cell]:
    path = Path(str(regrade.run.get("submissions", "."))) / regrade.result.notebook
    try:
        notebook = read_notebook(path)
    except NotebookError as error:
        raise GraderError(f"{path} cannot be read, so it cannot run again: leave out --smallest") from error
    if notebook.sha256 != regrade.result.provenance.notebook_sha256:
        raise GraderError(f"{path} is another file than was graded: leave out --smallest, or grade it again")
    return notebook.cells


def _smallest(
    course: Course, rubric: Rubric, chosen: dict[str, Contract], cells: Sequence[Cell], regrade: Regrade
) -> dict[str, SmallestCase]:
    """What the notebook does in the chosen cases: by contract the first that it fails."""
    asks = {name: rubric.asks[name] for name in chosen}
    few = replace(rubric, probes={**chosen}, asks=asks, pictures={}, shows={})
    plan = few.plan(regrade.seed or 0)
    reference = cells_of(course.assignment(rubric.stem).reference)
    sources = [cell.source for cell in (*cells, *reference)]
    limits = course.settings.limits
    with Zygote(preload=modules_to_preload(sources)) as zygote:
        seen, expected = (observe(zygote, each, plan, limits) for each in (cells, reference))
    smallest = {}
    for name, contract in chosen.items():
        contracted = contract.observation(seen.outcome(name), expected.outcome(name))
        try:
            found = failed_cases(contracted)
        except (CourseError, FailedCheckError):
            continue
        if found:
            number = min(found)  # the smallest come first
            facts = {"expected": contracted.expected[number], "seen": contracted.seen[number]}
            smallest[name] = SmallestCase(contract.terms.cases[number].name, found[number].sentence, facts)
    return smallest
