"""The feedback about a result: what failed and why, in one place for pages, exports and `explain`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.course.assignment import name_of
from grader.course.settings import Feedback
from grader.graphs.picture import Picture
from grader.reports.about_version import about_lateness_and_adjustments, about_others
from grader.reports.document import (
    Block,
    Bullets,
    Check,
    Code,
    Contents,
    Drawings,
    Fold,
    Group,
    Heading,
    Legend,
    Paragraph,
    Section,
    Snippet,
    Span,
    Text,
)
from grader.reports.html import html
from grader.reports.markdown import markdown
from grader.reports.own_code import Excerpt, OwnCode
from grader.reports.templates import HTML
from grader.results.model import CheckResult, QuestionResult, Result
from grader.results.store import ResultsStore
from grader.sandbox.evidence import CONSEQUENCES
from grader.scores import points_text

#: Pictures of a submission, by the id of their question.
Pictures = Mapping[str, Sequence[Picture]]
EVERYTHING = Feedback()
_ABOUT_FAILED_CELLS = (
    "Some cells stopped with an error. That costs no points by itself. Below an error the grader still runs "
    "the imports, definitions and assignments of literals of that cell, and skips its other statements. The "
    "names that a skipped statement would have defined are missing."
)
#: A message that gives another one as its reason, as in "The value is not the sum (it is a float)."
_REASON = re.compile(r"\((?:it|\S+) is (?P<fault>[^()]{3,200})\)\.?\Z")
_ABOUT_SNIPPET = (
    "A smaller example of the fault, with other numbers. Paste it below your function and run it:"
)
NO_SNIPPET = "There is no example to paste for this failed check."
_SAME_GRAPH = ": the same as the reference's; what is wrong is not in this graph"


@dataclass
class Diagnosis:
    """A diagnosis, and the checks that failed because of it.

    Attributes:
        check: the first check with this diagnosis.
        same: the other checks with the same message.
        follows: checks that were not reached because of it.
    """

    check: CheckResult
    same: list[CheckResult] = field(default_factory=list)
    follows: list[CheckResult] = field(default_factory=list)


def feedback_html(result: Result, pictures: Pictures, code: OwnCode, shows: Feedback = EVERYTHING) -> str:
    """The feedback about one submission, as one self-contained HTML file.

    Args:
        code: the student's own, which belongs to the diagnoses.
        shows: the parts that are shown besides titles, outcomes and points.
    """
    body = html(feedback(result, pictures, code, shows))
    return HTML.get_template("feedback.html").render(title=f"{result.student} · {result.what}", body=body)


def feedback_markdown(result: Result, pictures: Pictures, code: OwnCode, shows: Feedback = EVERYTHING) -> str:
    """The same as Markdown; pictures are Mermaid in fences."""
    return f"{markdown(feedback(result, pictures, code, shows))}\n"


def write_feedback(
    store: ResultsStore, result: Result, pictures: Pictures, code: OwnCode, shows: Feedback
) -> None:
    """Write both forms of feedback."""
    folder = store.path / "feedback" / result.student
    for suffix, page_of in ((".md", feedback_markdown), (".html", feedback_html)):
        store.write(folder / f"{result.name}{suffix}", page_of(result, pictures, code, shows))


def feedback(result: Result, pictures: Pictures, code: OwnCode, shows: Feedback) -> list[Block]:
    """All that a student reads about a submission; the arguments are those of `feedback_html`."""
    points = points_text(result.score, result.max_score)
    blocks: list[Block] = [
        Heading([Span(f"{result.what}:"), f"{points} points"], 1),
        Paragraph([Span(result.student), "·", Span(result.notebook)], "soft"),
        *about_submission(result),
    ]
    if others := about_others(result):
        blocks.append(Bullets([Span(sentence) for sentence in others]))
    if not result.error:
        every = result.all_questions
        blocks.append(Contents([(f"{name_of(q.id)} {_gained(q)}", q.id, _outcome(q)) for q in every]))
        blocks += _failed_cells(result)
        pictures = pictures if shows.xrays else {}
        first_drawn = next((q.id for q in every if q.status == "answered" and pictures.get(q.id)), None)
        for question in every:
            drawn = _xrays(question, pictures.get(question.id, ()), with_legend=question.id == first_drawn)
            body = about_question(result, question, shows, code.get(question.id, ()))
            title = f"{name_of(question.id)} · {question.title}:"
            heading = Heading([Span(title), Span(_gained(question), "points")])
            blocks.append(Section(question.id, [heading, *body, *drawn]))
    if result.provenance.protection == "none":
        blocks.append(Paragraph("Graded without a sandbox.", "notice"))
    return blocks


def about_submission(result: Result) -> list[Block]:
    """Why nothing was graded, or which version was, its kernel and deadline, and what a person adjusted."""
    blocks: list[Block] = []
    if result.error:
        could_not = Span("This notebook could not be graded.", "strong")
        blocks.append(Paragraph([could_not, Span(result.error)], "notice"))
    if result.about_kernel:
        blocks.append(Paragraph(result.about_kernel, "notice"))
    if sentences := about_lateness_and_adjustments(result):
        blocks.append(Bullets([Span(sentence) for sentence in sentences]))
    return blocks


def about_question(
    result: Result, question: QuestionResult, shows: Feedback, code: Sequence[Excerpt] = ()
) -> list[Block]:
    """The failed checks of a question and why, the passed ones, and remarks about the answer and points."""
    about_cell = result.about_cell_of(question)
    if question.status != "answered":
        text: list[str | Span] = [question.checks[0].message or "Not answered."]
        if about_cell:
            text.append(f"This may be why: {about_cell}")
            if len(result.about_cells) > 1:
                text.append(Span("All cells that did not run to their end", target="#cells"))
        return [Paragraph([*text, *question.remarks[-1:]] if question.adjusted else text)]
    blocks: list[Block] = [Paragraph(about_cell, "notice")] if about_cell else []
    blocks += about_failures(question, shows)
    if code and shows.diagnoses:
        blocks.append(_own_code(code))
    blocks += [_check(question, check) for check in question.checks if check.outcome == "passed"]
    if question.afterword:
        blocks.append(Paragraph(question.afterword))
    if question.remarks:
        blocks.append(Paragraph(" ".join(question.remarks), "soft"))
    return blocks


def about_failures(question: QuestionResult, shows: Feedback) -> list[Block]:
    """The failures of an answer, the root cause first, and the checks that failed because of it."""
    blocks: list[Block] = []
    for diagnosis in diagnoses_of(question.checks, shows_diagnoses=shows.diagnoses):
        body = about_check(diagnosis.check, shows)
        for checks, how in (
            (diagnosis.same, "failed for the same reason"),
            (diagnosis.follows, "could not be looked at any more"),
        ):
            if checks:
                number = "One more check" if len(checks) == 1 else f"{len(checks)} more checks"
                body.append(Group(f"{number} {how}", [_check(question, check) for check in checks]))
        blocks.append(_check(question, diagnosis.check, body))
    return blocks


def about_check(check: CheckResult, shows: Feedback) -> list[Block]:
    """Why a check failed, and what helps, as far as a student may see it."""
    message = [Paragraph(check.message)] if check.message and shows.diagnoses else []
    if check.outcome == "partly":
        message.insert(0, Paragraph("Right for typical inputs, but not for all.", "soft"))
    hint = [Paragraph([Span("Hint:", "emphasis"), check.hint], "hint")] if check.hint and shows.hints else []
    return [*message, *_snippet(check, shows), *hint]


def _snippet(check: CheckResult, shows: Feedback) -> list[Block]:
    """Code that shows the fault in the student's own notebook."""
    if check.snippet is None or not shows.diagnoses:
        return []
    if not check.snippet:
        return [Paragraph(NO_SNIPPET, "soft")]
    return [Paragraph(_ABOUT_SNIPPET, "soft"), Snippet(check.snippet)]


def _check(question: QuestionResult, check: CheckResult, body: Sequence[Block] = ()) -> Check:
    points = "" if question.is_bonus_task else points_text(check.points, check.max_points)
    return Check(check.title, check.outcome, points, body)


def _failed_cells(result: Result) -> list[Block]:
    cells = result.about_cells
    if not cells:
        return []
    first = " Fix the first cell first: the others may follow from it." if len(cells) > 1 else ""
    explains = any(question.status == "missing" for question in result.questions)
    body = Paragraph(f"{_ABOUT_FAILED_CELLS}{first}"), Bullets(cells)
    return [Section("cells", body, "notice" if explains else "")]


def _own_code(code: Sequence[Excerpt]) -> Fold:
    blocks: list[Block] = []
    if any(excerpt.is_marked for excerpt in code):
        blocks.append(Paragraph("▶ marks a line that a message above speaks of.", "soft"))
    for excerpt in code:
        if len(code) > 1:
            blocks.append(Paragraph(f"Code cell {excerpt.cell}:"))
        blocks.append(Code(excerpt.rows))
    return Fold("Your code", "; ".join(excerpt.title for excerpt in code), blocks, "code", is_open=True)


def _xrays(question: QuestionResult, pictures: Sequence[Picture], *, with_legend: bool) -> list[Block]:
    """The pictures of an answer, folded: a message says what failed, a picture helps to see why."""
    blocks: list[Block] = []
    for picture in pictures if question.status == "answered" else ():
        other = picture.reference
        shown = [("Yours", picture), ("The reference's", other)] if other else [("", picture)]
        same = _SAME_GRAPH if picture.is_the_references and not question.in_full else ""
        about: Text = [f"{picture.caption}{same}"]
        blocks.append(Fold("X-ray", about, [Drawings(shown)], "xray"))
        if with_legend and picture is pictures[0]:
            blocks.append(Legend())
    return blocks


def _outcome(question: QuestionResult) -> str:
    """The outcome of a question in a word; a bonus task that was not tried is open."""
    if question.is_bonus_task and question.bonus_task_status == "not tried":
        return "open"
    return "full" if question.in_full else "part" if question.score > 0 else "none"


def _gained(question: QuestionResult) -> str:
    """The points of a question; for a bonus task, which earns none, its status."""
    points = points_text(question.score, question.max_score)
    if not question.is_bonus_task:
        return points
    status = question.bonus_task_status
    return f"{points} checks passed" if status == "tried" else status


def diagnoses_of(checks: Sequence[CheckResult], *, shows_diagnoses: bool = True) -> list[Diagnosis]:
    """The failed checks of a question by their messages, the likeliest cause of the others first.

    A check that fails for typical inputs comes before one that fails for others only, and a message that
    explains every failure before one with an example. Among these come first: code that stopped or was
    stopped, side effects that can change results, and the message of most checks. A check that was not
    reached belongs to the first. A check whose message gives the message of another as its reason failed
    because of that.
    """
    failed = [check for check in checks if check.outcome != "passed"]
    if not shows_diagnoses:  # grouped failures would reveal them
        return [Diagnosis(check) for check in failed]
    by_message: dict[str, Diagnosis] = {}
    unreached = [check for check in failed if check.failure in CONSEQUENCES]
    for check in failed:
        if check.failure in CONSEQUENCES:
            continue
        reason = _REASON.search(check.message or "")
        end = f" is {reason['fault']}." if reason else None
        said = next((message for message in by_message if end and message.endswith(end)), check.message)
        if said in by_message:
            by_message[said].same.append(check)
        else:
            by_message[check.message or check.id] = Diagnosis(check)
    diagnoses = sorted(
        by_message.values(),
        key=lambda d: (
            d.check.outcome == "partly",
            d.check.is_example,
            not d.check.stopped,
            d.check.kind != "side effect",
            -len(d.same),
        ),
    )
    if diagnoses:
        diagnoses[0].follows = unreached
        return diagnoses
    return [Diagnosis(unreached[0], unreached[1:])] if unreached else []
