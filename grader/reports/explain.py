"""What an appeal against a result needs, for the instructor's eyes: what failed, facts, checks and code."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.contracts.blame import case_to_report, failed_cases
from grader.contracts.finding import FailedCheckError
from grader.course.author_file import lines_of, names_defined
from grader.course.contract import Contract
from grader.course.rubric import Rubric
from grader.errors import CourseError, GraderError
from grader.notebooks.definitions import MAX_SEARCHED, find_definitions
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import Cell, read_notebook
from grader.reports.facts import only_changes, side_by_side
from grader.reports.feedback import diagnoses_of
from grader.results.model import CheckResult, QuestionResult, Result
from grader.sandbox.evidence import Evidence, NoFacts, ProbeRaised
from grader.scores import counted_points, format_points, points_text
from grader.text import did_you_mean, some

_MAX_LINE = 2_000  # characters; what a student chose may be longer
_MOST_NAMED = 10
_MOST_ROWS, _COLUMNS = 30, 100  # of a screen, which shows what failed
_MORE = "--all shows what was seen beside what was expected, the code, the checks, the probes and the seed."


@dataclass(frozen=True)
class SmallestCase:
    """A case with as few unusual kinds as it takes to fail, what is found there, and both sides' facts."""

    words: str
    found: str
    facts: Mapping[str, Any]


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
        smallest: of contracts, by name, the smallest case that fails, where the notebook ran again.
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
    smallest: dict[str, SmallestCase] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """A line; ``style`` is what the terminal makes of it, in the words of rich."""

    text: str = ""
    style: str = ""


def entry(name: str, text: str, style: str = "") -> Line:
    """A line that begins with what it is about; with an empty name it continues the line above."""
    return Line(f"  {name:<10}  {text}", style)


def explanation(regrade: Regrade, question: str | None, *, everything: bool) -> list[Line]:
    """How a result came about, or what a single question of it earned; a student's texts in it are cut.

    Args:
        everything: whether more is shown than what failed, which comes first.

    Raises:
        GraderError: the result has no such question.
    """
    result = regrade.result
    asked = [q for q in result.all_questions if question in {None, q.id}]
    if question is not None and not asked:
        near = did_you_mean(question, [q.id for q in result.all_questions])
        raise GraderError(f"{result.name} has no question {question}; {near}")
    lines = [*_head(regrade)]
    failures = [failure for each in asked for failure in _failures(regrade, each)]
    if not failures and not result.error:
        lines.append(Line("  No check of what was answered failed."))
    if everything:
        own_code, shown = _own_code(regrade), set[str]()  # the probes that stand above
        lines += [*(line for failure in failures for line in failure), Line(), *_origin(regrade, own_code)]
        for each in asked:
            lines += _question(regrade, each, own_code, shown)
    else:
        lines += [*_on_a_screen(failures, _MOST_ROWS - 1 - _rows(lines)), Line(_MORE, "dim")]
    return [replace(line, text=line.text[:_MAX_LINE]) for line in lines]


def _head(regrade: Regrade) -> Iterator[Line]:
    """Whose result it is, when it was graded, and what is to be known before any check."""
    result, provenance = regrade.result, regrade.result.provenance
    score = points_text(result.score, result.max_score)
    yield Line(f"{result.student}, {result.what}: {score}, {result.status}", "bold")
    yield entry("graded", f"{provenance.graded_at}, grader {provenance.grader}, torch {provenance.torch}")
    told = [*result.about_standing, *result.about_others]
    yield from (entry("" if number else "version", sentence) for number, sentence in enumerate(told))
    if result.error:
        yield entry("error", result.error, "red")
        yield entry("", "Nothing was judged: each check failed for this reason.")
    elif result.unanswered:
        yield entry("unanswered", ", ".join(result.unanswered))
    if result.flags:
        yield entry("flagged", ", ".join(some(sorted({flag.what for flag in result.flags}), _MOST_NAMED)))
    if regrade.differences:
        yield entry("judged now", "not the same as what is stored, which is what follows", "red")


def _failures(regrade: Regrade, question: QuestionResult) -> Iterator[list[Line]]:
    """What failed of a question, by diagnosis: its checks, itself, and the student's line that it quotes."""
    if question.status != "answered":
        return
    score = points_text(question.score, question.max_score)
    cell = f", code cell {question.cell}" if question.cell else ""
    heading = [Line(), Line(f"{question.id} · {question.title}: {score}{cell}", "bold cyan")]
    for diagnosis in diagnoses_of(question.checks):
        check, more = diagnosis.check, len(diagnosis.same) + len(diagnosis.follows)
        others = f" (and {more} more check{'s' if more > 1 else ''})" if more else ""
        lines = [*heading, Line(f"  {check.outcome}: {check.title}{others}", "red")]
        if check.message:
            lines.append(entry("diagnosis", check.message))
        if check.place:
            place = f"code cell {check.place.cell}, line {check.place.line}"
            lines.append(entry("own line", f"{place}: {check.place.text}"))
        causes = dict.fromkeys(regrade.causes.get(each.id) for each in (check, *diagnosis.same))
        lines += [entry("broke", cause, "red") for cause in causes if cause]
        yield lines
        heading = []


def _on_a_screen(failures: Sequence[Sequence[Line]], rows: int) -> Iterator[Line]:
    """As many failures as fit into some rows, and how many more there are."""
    left = rows - 1
    for number, failure in enumerate(failures):
        left -= _rows(failure)
        if left < 0:
            more = len(failures) - number
            yield Line(f"... and {more} more diagnos{'es' if more > 1 else 'is'}")
            return
        yield from failure


def _rows(lines: Sequence[Line]) -> int:
    """How many rows some lines take on a screen."""
    return sum(1 + max(0, len(line.text) - 1) // _COLUMNS for line in lines)


def _origin(regrade: Regrade, own_code: _OwnCode) -> Iterator[Line]:
    """Which notebook was graded, in what way, and whether judging it now gives the same."""
    result, provenance = regrade.result, regrade.result.provenance
    yield entry("notebook", f"{own_code.path} ({own_code.status})")
    yield entry("sha256", provenance.notebook_sha256 or "the file could not be read")
    why = "another version" if result.assignment else "of no known assignment either"
    others = [f"{other} ({why})" for other in result.superseded]
    yield from (entry("superseded", other) for other in some(others, _MOST_NAMED))
    yield entry("protection", provenance.protection or "none")
    yield entry("inputs", "of a seed that is not known" if regrade.seed is None else f"seed {regrade.seed}")
    for flag in result.flags:
        cell = f" in code cell {flag.cell}" if flag.cell else ""
        why = f"{flag.why} " if flag.why else ""
        yield entry("flag", f"{flag.what}{cell}. {why}Flags never change the score.")
    yield from (entry("cell", sentence) for sentence in result.about_cells)
    yield from (entry("note", remark) for remark in regrade.remarks)
    if regrade.differences:
        yield entry("judged now", "not the same as what is stored:", "red")
        yield from (entry("", difference) for difference in regrade.differences)
    elif regrade.now is not None:
        yield entry("judged now", "the same, check by check", "green")


def _question(
    regrade: Regrade, question: QuestionResult, own_code: _OwnCode, shown: set[str]
) -> Iterator[Line]:
    score = points_text(question.score, question.max_score)
    yield Line()
    yield Line(f"{question.id} · {question.title}: {score}, {question.status}", "bold cyan")
    yield entry("score", _how_scored(question))
    yield from _definitions(own_code, question.function)
    if question.status != "answered":
        yield entry("reason", question.checks[0].message or "")
        return
    for check in sorted(question.checks, key=lambda check: check.outcome == "passed"):
        yield Line()
        yield from _check(regrade, check, shown)


def _how_scored(question: QuestionResult) -> str:
    """How a score came about, by the stored figures alone."""
    if not question.adjusted:
        return _how_earned(question)
    points, done = counted_points(abs(question.adjusted)), "added" if question.adjusted > 0 else "taken"
    return f"{_how_earned(question)}; then {points} {done} by hand, so it is {format_points(question.score)}"


def _how_earned(question: QuestionResult) -> str:
    """What the checks earned, without what a person gave or took."""
    passed = [check for check in question.checks if check.outcome == "passed"]
    if len(passed) == len(question.checks):
        return f"all {len(passed)} checks passed, which earns all {counted_points(question.max_score)}"
    sums = f"{len(passed)} of {len(question.checks)} checks passed: {counted_points(question.by_checks)}"
    return " ".join([f"{sums}.", *question.remarks])


def _check(regrade: Regrade, stored: CheckResult, shown: set[str]) -> Iterator[Line]:
    style = "green" if stored.outcome == "passed" else "red"
    points = points_text(stored.points, stored.max_points)
    yield Line(f"  {stored.outcome}: {stored.title} ({stored.id}, {points})", style)
    if stored.message:
        yield entry("diagnosis", stored.message)
    if stored.hint:
        yield entry("hint", " ".join(stored.hint.split()))
    rubric = regrade.rubric
    check = next((check for check in rubric.checks if check.id == stored.id), None) if rubric else None
    if check is None or rubric is None:
        yield entry("facts", "the course does not have this check any more, so they are not known")
        return
    for probe in check.probes:
        if probe in shown:
            yield entry("facts", f"those of {probe}, above")
        elif regrade.evidence is None:
            yield entry("facts", f"those of {probe} are not stored")
        else:
            contract = rubric.probes[probe]
            if isinstance(contract, Contract) and regrade.reference is not None:
                yield from _failed_case(regrade, contract, regrade.evidence, regrade.reference)
            else:
                yield from _facts(probe, regrade.evidence, regrade.reference)
            yield entry("probe", probe)
            yield from _source(rubric, probe)
        shown.add(probe)
    yield entry("check", f"{rubric.path}, as it is now")
    yield from _source(rubric, check.id)


def _facts(probe: str, evidence: Evidence, reference: Evidence | None) -> Iterator[Line]:
    """What a probe saw, beside what was expected."""
    unknown = "" if reference else " (what was expected is not known)"
    yield entry("facts", f"of {probe}, as seen by the probe below{unknown}")
    seen = evidence.outcome(probe)
    if isinstance(seen, NoFacts):
        yield Line(f"      there are none: {seen.reason}")
    elif isinstance(seen, ProbeRaised):
        error = seen.error
        where = f" (code {error.where})" if error.where else ""
        yield Line(f"      there are none: the probe stopped with {error.type}{where}: {error.text}")
    else:
        sides = {"expected": reference.outcome(probe)} if reference else {}
        yield from map(Line, side_by_side("  ", {**sides, "seen": seen}))


def _failed_case(
    regrade: Regrade, contract: Contract, evidence: Evidence, reference: Evidence
) -> Iterator[Line]:
    """The facts of the plainest case that fails, and those of the smallest, where the notebook ran again."""
    contracted = contract.observation(evidence.outcome(contract.name), reference.outcome(contract.name))
    cases = contract.terms.cases
    try:
        found = failed_cases(contracted)
        seen, expected = contracted.seen, contracted.expected
    except FailedCheckError as failed:
        yield entry("facts", f"of {contract.name}: there are none: {failed.finding.sentence}")
        return
    except CourseError as error:
        yield entry("facts", f"of {contract.name}: they cannot be read: {error}")
        return
    if not found:
        yield entry("facts", f"of {contract.name}: as expected in all {len(cases)} cases")
        return
    number = case_to_report(contracted.cases, found)
    which = f"of {contract.name}: {len(found)} of {len(cases)} cases fail; the plainest is case {number}"
    words = cases[number].name
    yield from _case(
        which, words, found[number].sentence, {"expected": expected[number], "seen": seen[number]}
    )
    smallest = regrade.smallest.get(contract.name)
    if smallest is not None and len(cases[number].variations) > 1:
        words = smallest.words
        yield from _case("of the smallest case that fails", words, smallest.found, smallest.facts)


def _case(which: str, words: str, found: str, facts: Mapping[str, Any]) -> Iterator[Line]:
    yield entry("facts", f"{which}. {words}: {found}")
    yield from map(Line, side_by_side("  ", {side: only_changes(fact) for side, fact in facts.items()}))


def _source(rubric: Rubric, name: str) -> Iterator[Line]:
    """The source of a check or a probe, as the check file has it now."""
    text = rubric.path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if name in names_defined(node):
            numbers = lines_of(node)
            yield from (Line(f"      {lines[number - 1]}", "dim") for number in numbers)


@dataclass(frozen=True)
class _OwnCode:
    """The student's notebook as it is now; nothing of it is run.

    Attributes:
        status: whether the file is still what was graded, in words.
        cells: none where it cannot be read.
        failed: the numbers of those that did not run to their end, if the file is still the same.
    """

    path: Path
    status: str
    cells: Sequence[Cell]
    failed: frozenset[int]


def _own_code(regrade: Regrade) -> _OwnCode:
    result, folder = regrade.result, regrade.run.get("submissions")
    path = Path(folder if isinstance(folder, str) else ".", result.notebook)
    cells: Sequence[Cell] = ()
    try:
        notebook = read_notebook(path)
        is_same = notebook.sha256 == result.provenance.notebook_sha256
        cells, otherwise = notebook.cells, "the file is ANOTHER now"
    except NotebookError as error:
        is_same = error.sha256 is not None and error.sha256 == result.provenance.notebook_sha256
        otherwise = "it is not there any more, or cannot be read"
    failed = frozenset(cell.cell for cell in result.cells if is_same)
    return _OwnCode(path, "the file is still the same" if is_same else otherwise, cells, failed)


def _definitions(code: _OwnCode, function: str) -> Iterator[Line]:
    """What seems to define a function; nothing where the notebook cannot be read."""

    def place(cell: int) -> str:
        failed = ", which did not run to its end" if cell in code.failed else ""
        return f"code cell {cell}{failed}"

    if not code.cells:
        return
    definitions, count, is_complete = find_definitions(code.cells, function)
    if not is_complete:
        yield entry(
            "own code", f"only the last {MAX_SEARCHED} characters were searched: the notebook is long"
        )
    if not definitions:
        yield entry("own code", f"no line of the notebook seems to define {function} ({code.status})")
    elif count == 1:
        yield entry("own code", f"{place(definitions[0].cell)} ({code.status})")
    else:
        shown = f", of which the last {len(definitions)} follow" if len(definitions) < count else ""
        which = "found as text; which one counted is not known"
        yield entry("own code", f"{count} places{shown}, {which} ({code.status})")
    for definition in definitions:
        if count > 1:
            yield Line(f"      {place(definition.cell)}:")
        yield from (Line(f"      {line}", "dim") for line in definition.lines)
