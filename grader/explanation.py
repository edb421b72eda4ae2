"""Outside: an explanation, everything that an appeal against one result needs, for the instructor's eyes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.check import Check
from grader.evidence import Evidence, Outcome
from grader.fact_text import compared
from grader.facts import MalformedError
from grader.gradebook import number
from grader.handwriting import handwriting
from grader.notebook import Cell, NotebookError, read_notebook
from grader.pages import failed_cells
from grader.replay import Replay
from grader.rubric import Rubric


@dataclass(frozen=True)
class Line:
    """A line of an explanation; ``style`` is what the terminal makes of it, in the words of rich."""

    text: str = ""
    style: str = ""


@dataclass
class Explanation:
    """Makes the lines.

    Args:
        replay: what is explained.
        question: the id of the only question of interest, or None.
    """

    replay: Replay
    question: str | None = None
    _shown: set[str] = field(default_factory=set)  # probes whose facts and source stand above

    def lines(self) -> Iterator[Line]:
        """All lines, in the order in which they are read; the texts in them are still a stranger's."""
        yield from self._head()
        for question in self.replay.result["questions"]:
            if self.question in {None, question["id"]}:
                yield Line()
                yield from self._question(question)

    def _head(self) -> Iterator[Line]:
        result, told = self.replay.result, self.replay.result["provenance"]
        score = f"{number(result['score'])} of {number(result['max_score'])}"
        what = result["assignment"] or result["notebook"]
        yield Line(f"{result['student']}, {what}: {score}, {result['status']}", "bold")
        yield _entry("notebook", f"{self._path} ({self._notebook[1]})")
        yield _entry("sha256", told["notebook_sha256"] or "the file could not be read")
        yield from (_entry("left aside", f"{other} (an older notebook)") for other in result["superseded"])
        yield _entry("graded", f"{told['graded_at']}, grader {told['grader']}, torch {told['torch']}")
        yield _entry("protection", told["protection"] or "none")
        yield _entry(
            "inputs",
            "of a seed that is not known" if self.replay.seed is None else f"seed {self.replay.seed}",
        )
        for flag in result["flags"]:
            place = f" in code cell {flag['cell']}" if flag["cell"] else ""
            yield _entry("flag", f"{flag['what']}{place}; flags never touch the score")
        yield from (_entry("cell", sentence) for sentence in failed_cells(self.replay.evidence))
        yield from (_entry("note", remark) for remark in self.replay.remarks)
        if result["error"]:
            yield _entry("error", result["error"], "red")
            yield _entry("", "Nothing was judged: each check failed for this reason.")
        yield from self._agreement()

    def _agreement(self) -> Iterator[Line]:
        if self.replay.now is None:
            return
        if not self.replay.differences:
            yield _entry("judged now", "the same, check by check", "green")
            return
        yield _entry("judged now", "not the same as what is stored, which is what follows:", "red")
        yield from (_entry("", difference) for difference in self.replay.differences)

    @property
    def _path(self) -> Path:
        folder = self.replay.run.get("submissions")
        return Path(folder if isinstance(folder, str) else ".", str(self.replay.result["notebook"]))

    @cached_property
    def _notebook(self) -> tuple[tuple[Cell, ...], str]:
        """The cells of the notebook as it lies there now, and whether it is the one that was graded."""
        try:
            notebook = read_notebook(self._path)
        except NotebookError as error:
            same = error.sha256 and error.sha256 == self.replay.result["provenance"]["notebook_sha256"]
            return (), "the file is still the same" if same else "it is not there any more, or cannot be read"
        same = notebook.sha256 == self.replay.result["provenance"]["notebook_sha256"]
        return notebook.cells, "the file is still the same" if same else "the file is ANOTHER now"

    def _question(self, question: dict[str, Any]) -> Iterator[Line]:
        head = f"{question['id']} · {question['title']}: {_of(question)}, {question['status']}"
        yield Line(head, "bold cyan")
        yield _entry("score", _how(question))
        yield from self._own_code(question["function"])
        if question["status"] != "answered":
            yield _entry("reason", question["checks"][0]["message"] or "")
            return
        for check in question["checks"]:
            yield Line()
            yield from self._check(check)

    def _own_code(self, function: str) -> Iterator[Line]:
        cells, standing = self._notebook
        if not cells:
            return
        found = handwriting(cells, function)
        if found is None:
            yield _entry("own code", f"no line of the notebook seems to define {function} ({standing})")
            return
        others = f", the last of {found.others + 1} definitions" if found.others else ""
        yield _entry("own code", f"code cell {found.cell}{others} ({standing})")
        yield from (Line(f"      {line}", "dim") for line in found.lines)

    def _check(self, stored: dict[str, Any]) -> Iterator[Line]:
        style = "green" if stored["outcome"] == "passed" else "red"
        points = f"{number(stored['points'])} of {number(stored['max_points'])}"
        yield Line(f"  {stored['outcome']}: {stored['title']} ({stored['id']}, {points})", style)
        if stored["message"]:
            yield _entry("diagnosis", stored["message"])
        if stored["hint"]:
            yield _entry("hint", " ".join(stored["hint"].split()))
        check = self._check_now(stored["id"])
        if check is None or self.replay.rubric is None:
            yield _entry("facts", "the course does not have this check any more, so they are not known")
            return
        for probe in check.probes:
            yield from self._probe(probe)
        yield _entry("check", f"{self.replay.rubric.path}, as it is now")
        yield from _source(self.replay.rubric, check.id)

    def _check_now(self, identity: str) -> Check | None:
        checks = self.replay.rubric.checks if self.replay.rubric else ()
        return next((check for check in checks if check.id == identity), None)

    def _probe(self, probe: str) -> Iterator[Line]:
        if probe in self._shown:
            yield _entry("facts", f"those of {probe}, above")
            return
        self._shown.add(probe)
        if self.replay.evidence is None:
            yield _entry("facts", f"those of {probe} are not stored")
            return
        known = "" if self.replay.reference else " (what was expected is not known)"
        yield _entry("facts", f"of {probe}, as seen by the probe below{known}")
        try:
            seen, expected = _outcome(self.replay.evidence, probe), _outcome(self.replay.reference, probe)
            yield from (Line(f"      {line}") for line in compared(seen, expected))
        except MalformedError as error:
            yield Line(f"      {error}")
        if self.replay.rubric:
            yield _entry("probe", probe)
            yield from _source(self.replay.rubric, probe)


def _outcome(evidence: Evidence | None, probe: str) -> Outcome | None:
    return None if evidence is None else evidence.outcome(probe)


def _entry(name: str, text: str, style: str = "") -> Line:
    return Line(f"  {name:<10}  {text}", style)


def _of(question: dict[str, Any]) -> str:
    return f"{number(question['score'])} of {number(question['max_score'])}"


def _how(question: dict[str, Any]) -> str:
    """How a score came about, by the stored figures alone."""
    passed = [check for check in question["checks"] if check["outcome"] == "passed"]
    if len(passed) == len(question["checks"]):
        return f"all {len(passed)} checks passed, which earns everything"
    points = [check["points"] for check in passed]
    sums = f"{len(passed)} of {len(question['checks'])} checks passed, worth {number(sum(points))}"
    if question["score"] < sum(points) - 1e-9:
        most = f"{question['score'] / question['max_score']:.4g} of {number(question['max_score'])}"
        return f"{sums}; as one failed, at most {most} is earned, which is {number(question['score'])}"
    return f"{sums}, which is what is earned"


def _source(rubric: Rubric, name: str) -> Iterator[Line]:
    """The source of a check or a probe, as the check file has it now."""
    text = rubric.path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield from (Line(f"      {line}", "dim") for line in lines[first - 1 : node.end_lineno])
