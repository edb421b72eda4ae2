"""What an appeal against a result needs, for the instructor's eyes: facts, checks and code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from grader.course.rubric import Rubric
from grader.errors import GraderError
from grader.notebooks.definitions import find_definitions
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import Cell, read_notebook
from grader.reports.feedback import failed_cells
from grader.reports.format_facts import compared
from grader.results.model import CheckResult, QuestionResult, Result
from grader.sandbox.evidence import Evidence
from grader.scores import format_points, is_capped, points_text, total
from grader.text import did_you_mean, some

_MAX_LINE = 2_000  # characters; what a student chose may be longer
_MOST_NAMED = 10
_SAME_FILE = "the file is still the same"


@dataclass(frozen=True)
class Regrade:
    """A stored result, and what judging it now gives; None stands for what is not known.

    Attributes:
        run: what is known of the last run.
        reference: what was observed of the reference on the same inputs.
        rubric: the checks as they are now; None where the course has no such assignment.
        remarks: sentences on why judging now may not be as it was then.
        causes: by check, where and why it broke now.
        differences: where judging now says something else, in a line each.
    """

    result: Result
    run: dict[str, Any]
    evidence: Evidence | None = None
    reference: Evidence | None = None
    rubric: Rubric | None = None
    seed: int | None = None
    now: Result | None = None
    remarks: list[str] = field(default_factory=list)
    causes: dict[str, str] = field(default_factory=dict)
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A line; ``style`` is what the terminal makes of it, in the words of rich."""

    text: str = ""
    style: str = ""


def entry(name: str, text: str, style: str = "") -> Line:
    """A line that begins with what it is about; with an empty name it continues the line above."""
    return Line(f"  {name:<10}  {text}", style)


@dataclass
class Explanation:
    """Makes the lines of an explanation; of a single question where its id is given."""

    regrade: Regrade
    question: str | None = None
    _shown: set[str] = field(default_factory=set)  # probes and causes that stand above

    def lines(self) -> Iterator[Line]:
        """All lines; a student's texts in them are cut. GraderError: the result has no such question."""
        result = self.regrade.result
        asked = [q for q in result.all_questions if self.question in {None, q.id}]
        if self.question is not None and not asked:
            near = did_you_mean(self.question, [q.id for q in result.all_questions])
            raise GraderError(f"{result.name} has no question {self.question}; {near}")
        lines = chain(self._head(), *map(self._question, asked))
        return (replace(line, text=line.text[:_MAX_LINE]) for line in lines)

    def _head(self) -> Iterator[Line]:
        result, provenance = self.regrade.result, self.regrade.result.provenance
        score = points_text(result.score, result.max_score)
        what = result.assignment or result.notebook
        yield Line(f"{result.student}, {what}: {score}, {result.status}", "bold")
        yield entry("notebook", f"{self._own_code.path} ({self._own_code.file_status})")
        yield entry("sha256", provenance.notebook_sha256 or "the file could not be read")
        why = "an older notebook" if result.assignment else "of no known assignment either"
        older = [f"{other} ({why})" for other in result.superseded]
        yield from (entry("left aside", other) for other in some(older, _MOST_NAMED))
        yield entry("graded", f"{provenance.graded_at}, grader {provenance.grader}, torch {provenance.torch}")
        yield entry("protection", provenance.protection or "none")
        seed = self.regrade.seed
        yield entry("inputs", "of a seed that is not known" if seed is None else f"seed {seed}")
        for flag in result.flags:
            cell = f" in code cell {flag.cell}" if flag.cell else ""
            yield entry("flag", f"{flag.what}{cell}; flags never touch the score")
        yield from (entry("cell", sentence) for sentence in failed_cells(self.regrade.evidence))
        yield from (entry("note", remark) for remark in self.regrade.remarks)
        if result.error:
            yield entry("error", result.error, "red")
            yield entry("", "Nothing was judged: each check failed for this reason.")
        if self.regrade.differences:
            yield entry("judged now", "not the same as what is stored, which is what follows:", "red")
            yield from (entry("", difference) for difference in self.regrade.differences)
        elif self.regrade.now is not None:
            yield entry("judged now", "the same, check by check", "green")

    @cached_property
    def _own_code(self) -> OwnCode:
        folder = self.regrade.run.get("submissions")
        path = Path(folder if isinstance(folder, str) else ".", self.regrade.result.notebook)
        return OwnCode(path, self.regrade.result.provenance.notebook_sha256, self.regrade.evidence)

    def _question(self, question: QuestionResult) -> Iterator[Line]:
        score = points_text(question.score, question.max_score)
        yield Line()
        yield Line(f"{question.id} · {question.title}: {score}, {question.status}", "bold cyan")
        yield entry("score", _how_scored(question))
        yield from self._own_code.lines(question.function)
        if question.status != "answered":
            yield entry("reason", question.checks[0].message or "")
            return
        for check in question.checks:
            yield Line()
            yield from self._check(check)

    def _check(self, stored: CheckResult) -> Iterator[Line]:
        style = "green" if stored.outcome == "passed" else "red"
        points = points_text(stored.points, stored.max_points)
        yield Line(f"  {stored.outcome}: {stored.title} ({stored.id}, {points})", style)
        if stored.message:
            yield entry("diagnosis", stored.message)
        if stored.hint:
            yield entry("hint", " ".join(stored.hint.split()))
        cause = self.regrade.causes.get(stored.id)
        if cause and cause not in self._shown:
            self._shown.add(cause)
            yield entry("broke", cause, "red")
        rubric = self.regrade.rubric
        check = next((check for check in rubric.checks if check.id == stored.id), None) if rubric else None
        if check is None or rubric is None:
            yield entry("facts", "the course does not have this check any more, so they are not known")
            return
        for probe in check.probes:
            yield from self._probe(probe, rubric)
        yield entry("check", f"{rubric.path}, as it is now")
        yield from _source(rubric, check.id)

    def _probe(self, probe: str, rubric: Rubric) -> Iterator[Line]:
        if probe in self._shown:
            yield entry("facts", f"those of {probe}, above")
            return
        self._shown.add(probe)
        evidence, reference = self.regrade.evidence, self.regrade.reference
        if evidence is None:
            yield entry("facts", f"those of {probe} are not stored")
            return
        unknown = "" if reference else " (what was expected is not known)"
        yield entry("facts", f"of {probe}, as seen by the probe below{unknown}")
        expected = reference.outcome(probe) if reference else None
        yield from (Line(f"      {line}") for line in compared(evidence.outcome(probe), expected))
        yield entry("probe", probe)
        yield from _source(rubric, probe)


def _how_scored(question: QuestionResult) -> str:
    """How a score came about, by the stored figures alone."""
    passed = [check for check in question.checks if check.outcome == "passed"]
    if len(passed) == len(question.checks):
        return f"all {len(passed)} checks passed, which earns everything"
    points = [check.points for check in passed]
    sums = f"{len(passed)} of {len(question.checks)} checks passed, worth {format_points(total(points))}"
    free = points.count(0)
    if free:
        sums += f" (the stub passes {'one' if free == 1 else free} of them too, which is worth nothing here)"
    if is_capped(question.score, points):
        most = f"{question.score / question.max_score:.4g} of {format_points(question.max_score)}"
        return f"{sums}; as one failed, at most {most} is earned, which is {format_points(question.score)}"
    return f"{sums}, which is what is earned"


def _source(rubric: Rubric, name: str) -> Iterator[Line]:
    """The source of a check or a probe, as the check file has it now."""
    text = rubric.path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield from (Line(f"      {line}", "dim") for line in lines[first - 1 : node.end_lineno])


@dataclass
class OwnCode:
    """The code of a student's notebook, which is read once; nothing of it is run."""

    path: Path
    sha256: str | None  # of the file that was graded; None where it could not be read then
    evidence: Evidence | None  # of then

    @property
    def file_status(self) -> str:
        """Whether the file is still what was graded, in words."""
        return self._notebook[1]

    def lines(self, function: str) -> Iterator[Line]:
        """What seems to define a function; nothing where the notebook cannot be read."""
        cells, status = self._notebook
        if not cells:
            return
        definitions, count = find_definitions(cells, function)
        if not definitions:
            yield entry("own code", f"no line of the notebook seems to define {function} ({status})")
        elif count == 1:
            yield entry("own code", f"code cell {self._cell(definitions[0].cell)} ({status})")
        else:
            shown = f", of which the last {len(definitions)} follow" if len(definitions) < count else ""
            which = "found as text; which one counted is not known"
            yield entry("own code", f"{count} places{shown}, {which} ({status})")
        for definition in definitions:
            if count > 1:
                yield Line(f"      code cell {self._cell(definition.cell)}:")
            yield from (Line(f"      {line}", "dim") for line in definition.lines)

    @cached_property
    def _notebook(self) -> tuple[tuple[Cell, ...], str]:
        try:
            notebook = read_notebook(self.path)
        except NotebookError as error:
            same = error.sha256 and error.sha256 == self.sha256
            return (), _SAME_FILE if same else "it is not there any more, or cannot be read"
        same = notebook.sha256 == self.sha256
        return notebook.cells, _SAME_FILE if same else "the file is ANOTHER now"

    def _cell(self, number: int) -> str:
        """A code cell by its number; a cell that failed then may have defined nothing."""
        evidence = self.evidence if self.file_status == _SAME_FILE else None
        failed = {cell.cell for cell in evidence.cells} if evidence else set()
        return f"{number}, which did not run to its end" if number in failed else str(number)
