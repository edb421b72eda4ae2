"""Outside: an explanation, everything that an appeal against one result needs, for the instructor's eyes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.checks.check import Check
from grader.course.rubric import Rubric
from grader.grading.replay import Replay
from grader.reports.authored import OwnCode
from grader.reports.format_facts import compared
from grader.reports.line import Line, entry
from grader.reports.pages import failed_cells
from grader.results.result import all_questions
from grader.sandbox.evidence import Evidence, ProbeOutcome
from grader.sandbox.facts import MalformedError
from grader.scores import format_points, is_capped, total
from grader.text import some

_MAX_LINE = 2_000  # characters; what a student chose may be longer than anybody reads
_MOST_NAMED = 10


@dataclass
class Explanation:
    """Makes the lines.

    Args:
        replay: what is explained.
        question: the id of the only question of interest, or None.
    """

    replay: Replay
    question: str | None = None
    _shown: set[str] = field(default_factory=set)  # probes and causes that stand above

    def lines(self) -> Iterator[Line]:
        """All lines, in the order in which they are read; a stranger's texts in them are cut, no more."""
        return (replace(line, text=line.text[:_MAX_LINE]) for line in self._all())

    def _all(self) -> Iterator[Line]:
        yield from self._head()
        for question in all_questions(self.replay.result):
            if self.question in {None, question["id"]}:
                yield Line()
                yield from self._question(question)

    def _head(self) -> Iterator[Line]:
        result, told = self.replay.result, self.replay.result["provenance"]
        score = f"{format_points(result['score'])} of {format_points(result['max_score'])}"
        what = result["assignment"] or result["notebook"]
        yield Line(f"{result['student']}, {what}: {score}, {result['status']}", "bold")
        yield entry("notebook", f"{self._own.path} ({self._own.standing})")
        yield entry("sha256", told["notebook_sha256"] or "the file could not be read")
        why = "an older notebook" if result["assignment"] else "of no known assignment either"
        older = [f"{other} ({why})" for other in result["superseded"]]
        yield from (entry("left aside", other) for other in some(older, _MOST_NAMED))
        yield entry("graded", f"{told['graded_at']}, grader {told['grader']}, torch {told['torch']}")
        yield entry("protection", told["protection"] or "none")
        yield entry(
            "inputs",
            "of a seed that is not known" if self.replay.seed is None else f"seed {self.replay.seed}",
        )
        for flag in result["flags"]:
            place = f" in code cell {flag['cell']}" if flag["cell"] else ""
            yield entry("flag", f"{flag['what']}{place}; flags never touch the score")
        yield from (entry("cell", sentence) for sentence in failed_cells(self.replay.evidence))
        yield from (entry("note", remark) for remark in self.replay.remarks)
        if result["error"]:
            yield entry("error", result["error"], "red")
            yield entry("", "Nothing was judged: each check failed for this reason.")
        yield from self._agreement()

    def _agreement(self) -> Iterator[Line]:
        if self.replay.now is None:
            return
        if not self.replay.differences:
            yield entry("judged now", "the same, check by check", "green")
            return
        yield entry("judged now", "not the same as what is stored, which is what follows:", "red")
        yield from (entry("", difference) for difference in self.replay.differences)

    @cached_property
    def _own(self) -> OwnCode:
        folder = self.replay.run.get("submissions")
        path = Path(folder if isinstance(folder, str) else ".", str(self.replay.result["notebook"]))
        return OwnCode(path, self.replay.result["provenance"]["notebook_sha256"], self.replay.evidence)

    def _question(self, question: dict[str, Any]) -> Iterator[Line]:
        head = f"{question['id']} · {question['title']}: {_of(question)}, {question['status']}"
        yield Line(head, "bold cyan")
        yield entry("score", _how(question))
        yield from self._own.lines(question["function"])
        if question["status"] != "answered":
            yield entry("reason", question["checks"][0]["message"] or "")
            return
        for check in question["checks"]:
            yield Line()
            yield from self._check(check)

    def _check(self, stored: dict[str, Any]) -> Iterator[Line]:
        style = "green" if stored["outcome"] == "passed" else "red"
        points = f"{format_points(stored['points'])} of {format_points(stored['max_points'])}"
        yield Line(f"  {stored['outcome']}: {stored['title']} ({stored['id']}, {points})", style)
        if stored["message"]:
            yield entry("diagnosis", stored["message"])
        if stored["hint"]:
            yield entry("hint", " ".join(stored["hint"].split()))
        cause = self.replay.causes.get(stored["id"])
        if cause and cause not in self._shown:
            self._shown.add(cause)
            yield entry("broke", cause, "red")
        check = self._check_now(stored["id"])
        if check is None or self.replay.rubric is None:
            yield entry("facts", "the course does not have this check any more, so they are not known")
            return
        for probe in check.probes:
            yield from self._probe(probe)
        yield entry("check", f"{self.replay.rubric.path}, as it is now")
        yield from _source(self.replay.rubric, check.id)

    def _check_now(self, identity: str) -> Check | None:
        checks = self.replay.rubric.checks if self.replay.rubric else ()
        return next((check for check in checks if check.id == identity), None)

    def _probe(self, probe: str) -> Iterator[Line]:
        if probe in self._shown:
            yield entry("facts", f"those of {probe}, above")
            return
        self._shown.add(probe)
        if self.replay.evidence is None:
            yield entry("facts", f"those of {probe} are not stored")
            return
        known = "" if self.replay.reference else " (what was expected is not known)"
        yield entry("facts", f"of {probe}, as seen by the probe below{known}")
        try:
            seen, expected = _outcome(self.replay.evidence, probe), _outcome(self.replay.reference, probe)
            yield from (Line(f"      {line}") for line in compared(seen, expected))
        except MalformedError as error:
            yield Line(f"      {error}")
        if self.replay.rubric:
            yield entry("probe", probe)
            yield from _source(self.replay.rubric, probe)


def _outcome(evidence: Evidence | None, probe: str) -> ProbeOutcome | None:
    return None if evidence is None else evidence.outcome(probe)


def _of(question: dict[str, Any]) -> str:
    return f"{format_points(question['score'])} of {format_points(question['max_score'])}"


def _how(question: dict[str, Any]) -> str:
    """How a score came about, by the stored figures alone."""
    passed = [check for check in question["checks"] if check["outcome"] == "passed"]
    if len(passed) == len(question["checks"]):
        return f"all {len(passed)} checks passed, which earns everything"
    points = [check["points"] for check in passed]
    sums = f"{len(passed)} of {len(question['checks'])} checks passed, worth {format_points(total(points))}"
    free = points.count(0)
    if free:
        sums += f" (the stub passes {'one' if free == 1 else free} of them too, which is worth nothing here)"
    if is_capped(question["score"], points):
        most = f"{question['score'] / question['max_score']:.4g} of {format_points(question['max_score'])}"
        return f"{sums}; as one failed, at most {most} is earned, which is {format_points(question['score'])}"
    return f"{sums}, which is what is earned"


def _source(rubric: Rubric, name: str) -> Iterator[Line]:
    """The source of a check or a probe, as the check file has it now."""
    text = rubric.path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield from (Line(f"      {line}", "dim") for line in lines[first - 1 : node.end_lineno])
