"""The material for an appeal against a result: on one screen, or everything that is stored."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.contracts.blame import case_to_report
from grader.contracts.cases import beside_each_other
from grader.contracts.finding import FailedCheckError, diagnosis_and_hint
from grader.contracts.observation import finding_without_observation
from grader.course.author_file import lines_of, names_defined
from grader.course.rubric import Rubric
from grader.course.settings import Feedback
from grader.errors import CourseError, GraderError
from grader.grading.judge import explained, failed_cases
from grader.grading.regrade import Regrade
from grader.notebooks.definitions import defines
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import Cell, read_notebook
from grader.reports.about_version import about_lateness_and_adjustments, about_others
from grader.reports.document import Block, Check, Code, Heading, Paragraph, Row, Snippet, Table
from grader.reports.feedback import about_check, diagnoses_of
from grader.reports.observations import only_changes, side_by_side
from grader.reports.own_code import LONGEST_CELL, own_code
from grader.results.model import CheckResult, QuestionResult
from grader.sandbox.evidence import Evidence, NotObserved, RequestRaised
from grader.scores import counted_points, points_text
from grader.text import did_you_mean, some

COLUMNS = 80  # of a screen
_MAX_LINE, _MAX_TEXT = 2_000, 400  # characters; what a student chose may be longer
_MAX_SEARCHED = 1 << 19  # characters of a notebook; the largest of a course has 50,000
_MOST_NAMED, _MOST_DIAGNOSES = 10, 3


def explanation(regrade: Regrade, question: str | None, *, everything: bool) -> list[Block]:
    """The explanation of a result, or of the points of a single question.

    Args:
        everything: whether more is shown than a screen of what failed: the notebook, every check, the
            student's code, and what was observed beside what was expected.

    Raises:
        GraderError: the result has no such question.
    """
    result = regrade.result
    asked = [q for q in result.all_questions if question in {None, q.id}]
    if not asked and question is not None:
        near = did_you_mean(question, [q.id for q in result.all_questions])
        raise GraderError(f"{result.name} has no question {question}; {near}")
    blocks, cells = [*_head(regrade)], _cells(regrade)
    if everything:
        blocks.append(Table([*_origin(regrade, cells)]))
        shown: set[str] = set()  # the contracts that stand above
        for each in asked:
            blocks += [*_title(each), *_question(regrade, each, cells, shown)]
        return blocks
    if question is None:
        asked = [each for each in asked if each.has_failed_checks]
    is_brief = len(asked) > 1
    for each in asked:
        blocks += _title(each, with_cell=is_brief)
        blocks += [] if is_brief else _about_answer(each, cells)
        blocks += _failures(regrade, each, 1 if is_brief else _MOST_DIAGNOSES)
    if not asked and not result.error:
        blocks.append(Paragraph("No check of an answer failed."))
    arguments = [each for each in (result.student, result.name, question) if each]
    folder = [] if regrade.results == Path("results") else ["--results", str(regrade.results)]
    command = shlex.join(["python", "-m", "grader", "explain", *arguments, *folder, "--all"])
    return [*blocks, Heading(f"Observations, code and checks: {command}")]


def _head(regrade: Regrade) -> Iterator[Block]:
    """Whose result it is, when it was graded, and what concerns all of it."""
    result, provenance = regrade.result, regrade.result.provenance
    score = points_text(result.score, result.max_score)
    yield Heading(f"{_cut(result.student)}, {_cut(result.what)}: {score}, {result.status}")
    rows = [["graded", f"{provenance.graded_at}, grader {provenance.grader}, torch {provenance.torch}"]]
    rows += [
        ["version", sentence] for sentence in (*about_lateness_and_adjustments(result), *about_others(result))
    ]
    if result.error:
        rows.append(["error", f"{result.error} Nothing was judged: each check failed for this reason."])
    elif result.unanswered:
        rows.append(["unanswered", ", ".join(result.unanswered)])
    if result.flags:
        rows.append(["flagged", ", ".join(some(sorted({flag.what for flag in result.flags}), _MOST_NAMED))])
    if regrade.differences:
        rows.append(["judged now", "not the same as what is stored, which is what follows"])
    yield Table([[name, _cut(text)] for name, text in rows])


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]} …"


def _title(question: QuestionResult, *, with_cell: bool = False) -> Iterator[Block]:
    score = points_text(question.score, question.max_score)
    cell = f", code cell {question.cell} counted" if with_cell and question.cell else ""
    yield Heading(f"{question.id} · {question.title}: {score}, {question.status}{cell}")


def _failures(regrade: Regrade, question: QuestionResult, most: int) -> Iterator[Block]:
    """The failures of an answer: checks, diagnosis, and the student's line that the diagnosis quotes."""
    diagnoses = diagnoses_of(question.checks) if question.status == "answered" else []
    for diagnosis in diagnoses[:most]:
        check, more = diagnosis.check, len(diagnosis.same) + len(diagnosis.follows)
        others = f" (and {more} more check{'s' if more > 1 else ''})" if more else ""
        body: list[Block] = [Paragraph(_cut(check.message))] if check.message else []
        if check.place:
            where = f"code cell {check.place.cell}, line {check.place.line}"
            body.append(Paragraph(f"{where}: {check.place.text}"))
        if check.snippet and most > 1:
            body.append(Snippet(check.snippet))
        causes = dict.fromkeys(regrade.causes.get(each.id) for each in (check, *diagnosis.same))
        body += [Paragraph(f"The check broke: {_cut(cause)}") for cause in causes if cause]
        yield Check(f"{check.title}{others}", check.outcome, "", body)
    more = len(diagnoses) - most
    if more > 0:
        yield Paragraph(f"... and {more} more diagnos{'es' if more > 1 else 'is'}")


def _about_answer(question: QuestionResult, cells: Sequence[Cell]) -> Iterator[Block]:
    """Why a question was not judged, or how its score came about and which definition counted."""
    if question.status == "answered":
        yield Table([["score", _how_scored(question)], ["counted", _counted(question, cells)]])
    else:
        yield Table([["score", _how_scored(question)], ["reason", question.checks[0].message or ""]])


def _counted(question: QuestionResult, cells: Sequence[Cell]) -> str:
    """The cell whose definition counted, and others that seem to define the function too."""
    others, left = list[int](), _MAX_SEARCHED
    for cell in cells:
        if cell.number != question.cell and defines(
            cell.source[: min(LONGEST_CELL, left)], question.function
        ):
            others.append(cell.number)
        left = max(0, left - len(cell.source))
    named = ", ".join(some(map(str, others), _MOST_NAMED))
    counted = f"{question.function} of code cell {question.cell}" if question.cell else "not known"
    also = f"; also defined in code cell{'s' if len(others) > 1 else ''} {named}" if others else ""
    return f"{counted}{also}"


def _origin(regrade: Regrade, cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """Which notebook was graded, in what way, and whether judging it now gives the same."""
    result, provenance = regrade.result, regrade.result.provenance
    status = (
        "the same file as was graded" if cells else "missing, unreadable, or another file than was graded"
    )
    yield "notebook", f"{regrade.submissions / regrade.result.notebook} ({status})"
    yield "sha256", provenance.notebook_sha256 or "the file could not be read"
    why = "another version" if result.assignment else "of no known assignment either"
    others = [f"{other} ({why})" for other in result.superseded]
    yield from (("superseded", other) for other in some(others, _MOST_NAMED))
    yield "protection", provenance.protection or "none"
    yield "inputs", "of a seed that is not known" if regrade.seed is None else f"seed {regrade.seed}"
    for flag in result.flags:
        cell = f" in code cell {flag.cell}" if flag.cell else ""
        why = f"{flag.why} " if flag.why else ""
        yield "flag", f"{flag.what}{cell}. {why}Flags never change the score."
    yield from (("cell", sentence) for sentence in result.about_cells)
    yield from (("note", remark) for remark in regrade.remarks)
    if regrade.differences:
        yield "judged now", "not the same as what is stored:"
        yield from (("", difference) for difference in regrade.differences)
    elif regrade.now is not None:
        yield "judged now", "the same, check by check"


def _cells(regrade: Regrade) -> Sequence[Cell]:
    """The cells that were graded; none where the file is not the same any more. Nothing of it is run."""
    try:
        notebook = read_notebook(regrade.submissions / regrade.result.notebook)
    except NotebookError:
        return ()
    return notebook.cells if notebook.sha256 == regrade.result.provenance.notebook_sha256 else ()


def _question(
    regrade: Regrade, question: QuestionResult, cells: Sequence[Cell], shown: set[str]
) -> Iterator[Block]:
    yield from _about_answer(question, cells)
    if question.status != "answered":
        return
    for excerpt in own_code(regrade.result, cells).get(question.id, ()):
        yield from (Paragraph(f"{excerpt.title}:"), Code(excerpt.rows))
    for check in sorted(question.checks, key=lambda check: check.outcome == "passed"):
        points = f"{check.id}, {points_text(check.points, check.max_points)}"
        body = [*about_check(check, Feedback()), *_observed(regrade, check, shown)]
        yield Check(check.title, check.outcome, points, body)


def _how_scored(question: QuestionResult) -> str:
    """How a score came about, by the stored figures alone."""
    passed = sum(check.outcome == "passed" for check in question.checks)
    sums = f"{passed} of {len(question.checks)} checks passed: {counted_points(question.by_checks)}."
    return " ".join([sums, *question.remarks])


def _observed(regrade: Regrade, stored: CheckResult, shown: set[str]) -> Iterator[Block]:
    """The observations of a check beside the expected ones, and the present check and contract."""
    rubric = regrade.rubric
    check = next((check for check in rubric.checks if check.id == stored.id), None) if rubric else None
    if check is None or rubric is None:
        yield Paragraph("The course does not have this check any more, so no observations are shown.")
        return
    name = check.contract
    if name in shown:
        yield Paragraph(f"Observations of {name}: above.")
    elif regrade.evidence is None:
        yield Paragraph(f"Observations of {name}: not stored.")
    else:
        if regrade.reference is None:
            yield from _first_case(name, regrade.evidence)
        else:
            yield from _failed_case(rubric, name, regrade.evidence, regrade.reference)
        yield from _source(rubric, name)
    shown.add(name)
    yield from _source(rubric, check.id)


def _first_case(name: str, evidence: Evidence) -> Iterator[Block]:
    """The observations of the typical case, if it is not known what was expected."""
    about = f"Observations of {name} (what was expected is not known):"
    seen = evidence.outcome(name)
    if isinstance(seen, NotObserved | RequestRaised):
        yield Paragraph(f"{about} none: {finding_without_observation(seen).sentence}")
    else:
        yield Paragraph(f"{about} the typical case")
        typical = seen[0] if isinstance(seen, list) and seen else {}
        yield _lines(side_by_side("", {"seen": only_changes(typical)}))


def _failed_case(rubric: Rubric, name: str, evidence: Evidence, reference: Evidence) -> Iterator[Block]:
    """The observations of the failed case with the fewest variations."""
    contracted = rubric.contracts[name].observation(evidence.outcome(name), reference.outcome(name))
    cases, about = rubric.contracts[name].declared, f"Observations of {name}:"
    try:
        found = failed_cases(rubric, contracted)
        seen, expected = contracted.seen, contracted.expected
    except FailedCheckError as failed:
        yield Paragraph(f"{about} none: {failed.finding.sentence}")
        return
    except CourseError as error:
        yield Paragraph(f"{about} they cannot be read: {error}")
        return
    if not found:
        yield Paragraph(f"{about} as expected in all {len(cases)} cases.")
        return
    number = case_to_report(contracted.cases, found)
    which = f"{about} {len(found)} of {len(cases)} cases fail; case {number} has the fewest variations"
    diagnosis, _ = diagnosis_and_hint(str(explained(found[number])))
    yield Paragraph(f"{which}. {cases[number].name}: {diagnosis}")
    sides = beside_each_other({"expected": expected[number], "seen": seen[number]})
    yield _lines(side_by_side("", {side: only_changes(seen) for side, seen in sides.items()}))


def _lines(texts: Iterator[str]) -> Code:
    return Code([Row(None, text[:_MAX_LINE]) for text in texts])


def _source(rubric: Rubric, name: str) -> Iterator[Block]:
    """The source of a check or a contract, as the check file has it now."""
    text = rubric.path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if name in names_defined(node):
            yield Paragraph(f"{rubric.path}, as it is now:")
            yield Code([Row(number, lines[number - 1]) for number in lines_of(node)])
