"""Snippets: a failed case as code that a student can paste into a cell, with a line that shows the fault.

A snippet consists of the failed case (`grader.course.snippet`) and a *probe*, an expression for an
observation that makes the check fail. The sandbox runs it with the student's notebook and with the
reference, and it is published only if the observations differ. What the student's process says is the
student's own claim: it is shown to that student, on one short line, and decides nothing.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import Any

from grader.contracts.check import Check
from grader.contracts.comparison import is_close
from grader.contracts.finding import FailedCheckError
from grader.course.contract import CONTRACT_SECONDS
from grader.course.rubric import Rubric
from grader.course.snippet import EARLIER, CaseText, case_text
from grader.course.specialize import CannotShowError
from grader.grading.judge import Verdict, collected_checks
from grader.grading.probes import Probe, fails, probes_of
from grader.reports.feedback import diagnoses_of
from grader.results.model import QuestionResult, Result
from grader.sandbox.evidence import Evidence, RequestOutcome
from grader.sandbox.plan import ObservationPlan, Request
from grader.sandbox.values import Raised
from grader.text import printable

#: Observes a notebook: the student's, or the reference.
Observe = Callable[[ObservationPlan], Evidence]

_MOST_CASES, _MOST_PROBES, _MOST_CANDIDATES = 3, 8, 20  # of a check, of a case, and of a question
_MOST_AGAIN = 1  # cases with other numbers
_MOST_STORED = 500  # outcomes of the reference
_MOST_TEXT = 120  # characters of what a process said
_MOST_LINES = 40  # of a snippet
_WIDTH = 76
_SEEDED = "torch.manual_seed(0)"


@dataclass(frozen=True)
class Candidate:
    """A snippet that may show why a check failed."""

    check: str
    case: CaseText
    probe: Probe
    full_precision: bool

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, without imports; the last is the one that shows the fault."""
        case, probe = self.case, self.probe
        shown = [probe.shows] if probe.shows else []
        calls = [probe.around, *(f"    {line}" for line in case.calls)] if probe.around else case.calls
        below = [*probe.before, *calls, *probe.after, *shown]
        return [line for line in (*_needed(case.inputs, below), *below) if line.strip()]

    @property
    def program(self) -> list[str]:
        """The lines as a worker runs them: they return the observation of values, and the text of any.

        They begin with a seed, so that equal answers draw equal numbers.
        """
        lines, probe = [_SEEDED, *self.lines], self.probe
        if not probe.shows:
            return [*lines, "return None, ''"]
        value = "seen" if probe.kind == "values" else "None"
        return [*lines[:-1], f"seen = {probe.shows}", f"return {value}, repr(seen)"]


class SnippetFinder:
    """Finds snippets for the submissions of an assignment.

    Args:
        reference: its evidence.
        expected: observes it again.
    """

    def __init__(self, rubric: Rubric, reference: Evidence, expected: Observe) -> None:
        self._rubric, self._reference, self._observe = rubric, reference, expected
        self._expected: dict[str, RequestOutcome] = {}  # of the reference, by the source of a request
        self._text_of = cache(self._case_text)

    def find(
        self,
        evidence: Evidence,
        verdicts: Mapping[str, Verdict],
        student: Observe,
        report: Callable[[Exception], None],
    ) -> dict[str, str]:
        """Code for each answered question that lost points, by the id of a check; empty if none shows it.

        A question whose code ended its process or ran out of time has none: it would do so again. An error in
        this code, or in the author's, only means that there is no snippet.

        Args:
            evidence: of the student's notebook.
            student: observes that notebook again.
            report: is given each error.
        """
        texts: dict[str, str] = {}
        programs: list[_Program] = []
        if evidence.fault is not None or any(cell.fault is not None for cell in evidence.cells):
            return texts
        try:
            for question in self._rubric.questions:
                checks = self._rubric.checks_of(question.id)
                failed = [check for check in checks if verdicts[check.id].outcome != "passed"]
                findings = [verdicts[check.id].finding for check in failed]
                is_ended = any(found is None or found.failure is not None for found in findings)
                if failed and not is_ended and evidence.names.get(question.function) == "answered":
                    texts[failed[0].id] = ""
                    found = self._candidates(failed, evidence, verdicts)
                    candidates = [*islice(found, _MOST_CANDIDATES)]
                    programs += [_Program(question.function, failed[0].id, candidates)] if candidates else []
            if programs:
                seen, right = student(self._plan(programs)), self._of_reference(programs)
                for one in programs:
                    shown = one.first_shown(seen.outcome(one.name), right[one.request.source])
                    if shown is not None:
                        del texts[one.first]
                        texts |= shown
        except Exception as error:  # noqa: BLE001 - whatever goes wrong, the verdicts stay
            report(error)
            return {}
        return texts

    def _case_text(self, name: str, number: int, again: bool) -> CaseText | None:
        contract = self._rubric.contracts[name]
        with suppress(CannotShowError, SyntaxError, LookupError):  # the doctor reports the last two
            return case_text(contract, contract.rows[number], again=again)
        return None

    def _of_reference(self, programs: Sequence[_Program]) -> dict[str, RequestOutcome]:
        """The output of programs with the reference, by source; many students make the same mistake."""
        unknown = [one for one in programs if one.request.source not in self._expected]
        if len(self._expected) > _MOST_STORED:
            unknown, self._expected = [*programs], {}
        if unknown:
            right = self._observe(self._plan(unknown))
            self._expected |= {one.request.source: right.outcome(one.name) for one in unknown}
        return self._expected

    def _plan(self, programs: Sequence[_Program]) -> ObservationPlan:
        requests: dict[str, tuple[Request, ...]] = {one.function: (one.request,) for one in programs}
        return replace(self._rubric.plan(0), requests=requests)

    def _candidates(
        self, failed: Sequence[Check], evidence: Evidence, verdicts: Mapping[str, Verdict]
    ) -> Iterator[Candidate]:
        """Candidates for some failed checks, the best first."""
        functions = collected_checks(self._rubric.path)
        for check in failed:
            contract, function = self._rubric.contracts[check.contract], functions[check.id]
            outcomes = (one.outcome(contract.name) for one in (evidence, self._reference))
            try:
                cases = contract.observation(*outcomes).cases
            except FailedCheckError:
                continue
            about = [n for n, case in enumerate(cases) if case.declared.is_about(check.cases)]
            reported = verdicts[check.id].case
            about.sort(key=lambda n: (cases[n].name != reported, len(cases[n].variations)))
            differing = (n for n in about if not cases[n].is_as_expected and not cases[n].did_not_run)
            broken = (n for n in differing if fails(function, check.contract, cases[n]))
            tried = [*islice(broken, _MOST_CASES)]
            for number, again in [*((n, False) for n in tried), *((n, True) for n in tried[:_MOST_AGAIN])]:
                case, text = cases[number], self._text_of(check.contract, number, again)
                if text is not None:
                    probes = probes_of(function, contract.name, case, text, verdicts[check.id].message)
                    for probe in {repr(one): one for one in islice(probes, _MOST_PROBES)}.values():
                        candidate = Candidate(check.id, text, probe, case.rules.full_precision)
                        if len(candidate.lines) <= _MOST_LINES:
                            yield candidate


def with_snippets(result: Result, found: Mapping[str, str]) -> Result:
    """The result with snippets, each at the check that stands for its diagnosis, by the ids of checks."""

    def of_question(question: QuestionResult) -> QuestionResult:
        stands_for = (
            (one.check.id, check) for one in diagnoses_of(question.checks) for check in (one.check, *one.same)
        )
        texts = {first: found[check.id] for first, check in stands_for if check.id in found}
        checks = (replace(check, snippet=texts.get(check.id)) for check in question.checks)
        return replace(question, checks=tuple(checks))

    bonus = of_question(result.end_task) if result.end_task else None
    return replace(result, questions=tuple(map(of_question, result.questions)), end_task=bonus)


def snippets_of(before: Result, result: Result) -> dict[str, str]:
    """The snippets of an earlier result of the notebook whose diagnoses are the same in a result."""
    messages = {check.id: check.message for question in result.all_questions for check in question.checks}
    earlier = (check for question in before.all_questions for check in question.checks)
    same = (check for check in earlier if messages.get(check.id) == check.message)
    return {check.id: check.snippet for check in same if check.snippet is not None}


# --- what a snippet needs

#: Code that may change another object, although its statement only assigns a name.
_CHANGES = re.compile(r"register|\w_\(")
_ENTRY = re.compile(r"out\[('[^']*'|\"[^\"]*\")\]")


def _needed(inputs: Sequence[str], below: Sequence[str]) -> list[str]:
    """The lines of the inputs that the lines below need; a dict of functions keeps only the one shown."""
    statements = _statements("\n".join(inputs))
    local = {name for statement in statements for name in statement.stored}
    needed = {EARLIER} | set[str]().union(*_names(ast.parse("\n".join(below))))
    entry = _ENTRY.search(below[-1])
    found: list[str] = []
    for one in reversed(statements):
        if one.changes is None:
            is_needed = bool(one.stored & needed)
        else:
            is_needed = bool(one.changes & needed) or not one.changes & local
        if is_needed:
            needed |= one.read
            cut = entry and _with_one_entry(one.text, ast.literal_eval(entry[1]))
            found[:0] = (cut or one.text).splitlines()
    return found


@dataclass(frozen=True)
class _Statement:
    """A statement of the inputs; `changes` is None if it only assigns names."""

    text: str
    stored: set[str]
    read: set[str]
    changes: set[str] | None


@lru_cache(maxsize=64)
def _statements(text: str) -> list[_Statement]:
    lines, found = text.splitlines(), []
    touched: dict[str, set[str]] = {}  # the objects that a change through each name may affect
    for node in ast.parse(text).body:
        own, (stored, read) = "\n".join(lines[node.lineno - 1 : node.end_lineno]), _names(node)
        of_read = set[str]().union(*(touched.get(name, {name}) for name in read))
        touched |= {name: {name} | (of_read & touched.keys()) for name in stored}
        is_value = bool(stored) and isinstance(node, ast.Assign | ast.FunctionDef | ast.ClassDef)
        changes = None if is_value and not _CHANGES.search(own) else of_read | stored
        found.append(_Statement(own, stored, read, changes))
    return found


def _names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The names that code stores at its top, and those that it reads."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    if isinstance(tree, ast.FunctionDef | ast.ClassDef):
        return {tree.name}, {node.id for node in names}
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return stored, {node.id for node in names if isinstance(node.ctx, ast.Load)}


def _with_one_entry(text: str, wanted: str) -> str | None:
    """Remove the other entries of each dict in a statement that has a function with the wanted key.

    Returns:
        The shortened statement; None if the statement doesn't contain the key.
    """
    if repr(wanted) not in text:
        return None
    tree = ast.parse(text)
    tables = (node for node in ast.walk(tree) if isinstance(node, ast.Dict))
    for table in tables:
        pairs = zip(table.keys, table.values, strict=True)
        for key, value in pairs:
            if isinstance(key, ast.Constant) and key.value == wanted and isinstance(value, ast.Lambda):
                table.keys, table.values = [key], [value]
    return ast.unparse(tree)


# --- the run


class _Program:
    """The code that a worker runs for a question: a function for each candidate."""

    def __init__(self, function: str, first: str, candidates: Sequence[Candidate]) -> None:
        self.candidates, self.function, self.first = candidates, function, first
        self.name = f"snippet_{function}"
        lines = [f"def {self.name}(student):", f"    {function} = student.{function}"]
        self._begins: list[int] = []
        for number, candidate in enumerate(candidates):
            lines.append(f"    def candidate_{number}():")
            self._begins.append(len(lines) + 2)  # below the seed
            lines += [f"        {line}" for line in candidate.program]
        names = ", ".join(f"candidate_{number}" for number in range(len(candidates)))
        lines.append(f"    return [attempt(one) for one in ({names},)]")
        self.request = Request(self.name, "\n".join(lines), None, CONTRACT_SECONDS)

    def first_shown(self, seen: RequestOutcome, right: RequestOutcome) -> dict[str, str] | None:
        """The first snippet in which the fault shows, by the id of its check."""
        if not isinstance(seen, list) or not isinstance(right, list):
            return None
        for candidate, begin, own, expected in zip(self.candidates, self._begins, seen, right, strict=False):
            comment, lines = _comment(candidate, own, expected), candidate.lines
            if isinstance(own, Raised) and own.inside is not None:
                lines = up_to_statement(lines, own.inside - begin + 1)
            if comment is not None:
                text = "\n".join(_with_comment(lines, comment))
                imports = [
                    one for one in candidate.case.imports if re.search(rf"\b{one.split()[-1]}\b", text)
                ]
                return {candidate.check: "\n".join([*imports, text])}
        return None


def up_to_statement(lines: Sequence[str], number: int) -> list[str]:
    """The lines up to the end of the statement in which an error was raised.

    All lines if that statement is a definition, because a later statement called it.
    """
    for node in ast.parse("\n".join(lines)).body:
        end = node.end_lineno or node.lineno
        if number <= end:
            return [*lines[: None if isinstance(node, ast.ClassDef | ast.FunctionDef) else end]]
    return [*lines]


def _comment(candidate: Candidate, seen: Any, expected: Any) -> str | None:
    """The comment after the line that shows the fault; None if the fault does not show."""
    kind = candidate.probe.kind
    if isinstance(expected, Raised):
        if kind != "error" or (isinstance(seen, Raised) and seen.type == expected.type):
            return None
        own = _cut(f"{seen.type}: {seen.text}") if isinstance(seen, Raised) else "no error"
        return f"yours: {own}; it should raise {_cut(expected.type)}"
    if isinstance(seen, Raised):
        return f"yours: {_cut(f'{seen.type}: {seen.text}')}; it should raise no error"
    (own, text), (right, right_text) = map(_pair, (seen, expected))
    if kind == "error" or text == right_text:
        return None
    if kind == "property":
        return f"yours: {_cut(text)}; it should be {_cut(right_text)}"
    is_same = _is_same(own, right, full_precision=candidate.full_precision)
    return None if is_same else f"yours: {_cut(text)}, which is wrong"


def _pair(answer: Any) -> tuple[Any, str]:
    """The value and the text that a program returned; a student's process may say anything."""
    return (answer[0], str(answer[1])) if isinstance(answer, tuple) and len(answer) == 2 else (None, "")


def _is_same(seen: Any, expected: Any, *, full_precision: bool) -> bool:
    """Whether two observations are the same, or the right one is NaN."""
    try:
        if not is_close(expected, expected):  # nan: nothing can be said of it
            return True
        return is_close(seen, expected, full_precision=full_precision)
    except (TypeError, ValueError):
        return bool(seen == expected)


def _cut(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}..."


def _with_comment(lines: Sequence[str], comment: str) -> list[str]:
    """The lines with a comment behind the last, or below it where that would be too long."""
    *others, last = lines
    line = f"{last}   # {comment}"
    if len(line) <= _WIDTH:
        return [*others, line]
    wrapped = textwrap.wrap(comment, _WIDTH - 2, break_on_hyphens=False)
    return [*others, last, *(f"# {part}" for part in wrapped)]
