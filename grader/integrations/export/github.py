"""Questions' scores for GitHub: an action's outputs, notices and a step's summary.

The outputs have the format of GitHub Classroom's graders: an output holds one question, with a test for each
of its checks. The reporter adds up the tests' scores for its notices; the table of its first version
multiplies ``max_score`` by the part of the tests that passed. Names begin with the question and
the points, which distinguish tests, because tables cut long names.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.course.settings import Feedback
from grader.integrations.export import Export, Format, plain_number, plain_text
from grader.reports.document import Block, Heading, Span, Table, Text
from grader.reports.feedback import about_question, about_submission
from grader.reports.markdown import markdown
from grader.reports.plain import plain
from grader.results.model import Outcome, QuestionResult, Result
from grader.scores import format_points, points_text, total
from grader.text import utf8_text

#: Bytes; GitHub shows nothing of a longer summary of a step.
MAX_SUMMARY = 1 << 20

Status = Literal["pass", "fail", "error"]

_STATUSES: Mapping[Outcome, Status] = {"passed": "pass", "partly": "fail", "failed": "fail", "error": "error"}
_SIGNS = {"pass": "✅", "fail": "❌", "error": "⚠️"}
_CUT = "\n\nThe rest was left out, because GitHub shows no more than 1 MiB.\n"


@dataclass(frozen=True)
class CheckScore:
    """A check of a question, with the points that it brought; what else changed the score may be one too."""

    title: str
    score: float
    max_score: float
    status: Status
    message: str | None = None


@dataclass(frozen=True)
class QuestionScore:
    """A question's points, status and message.

    Attributes:
        checks: the scores of these add up to its own; empty if it was not checked.
    """

    id: str  # `q1`, or `q1_01_leaves` where questions of several notebooks are listed
    title: str
    score: float
    max_score: float
    status: Status  # `pass` only where all points were earned; `error` where nothing could be judged
    message: str | None = None  # for the student; it may contain the student's own text
    seconds: float = 0.0
    checks: tuple[CheckScore, ...] = ()


def action_output(score: QuestionScore) -> str:
    """A question as the output ``result`` of an action: base64 of JSON, on one line."""
    whole = CheckScore(score.title, score.score, score.max_score, score.status, score.message)
    checks = score.checks or (whole,)
    tests = [
        {
            "name": plain_text(
                f"{name} ({points_text(check.score, check.max_score, '/')}) {check.title}"
            ).rstrip(),
            "status": check.status,
            "score": plain_number(check.score),
            "message": None if check.message is None else plain_text(check.message),
            "test_code": "",
            "filename": "",
            "line_no": 0,
            "duration": round(score.seconds * 1000 / len(checks)),
        }
        for name, check in zip(_names(score.id, len(checks)), checks, strict=True)
    ]
    most = plain_number(score.max_score)
    result = {"version": 1, "status": score.status, "max_score": most, "tests": tests}
    return base64.b64encode(json.dumps(result, allow_nan=False).encode()).decode()


def _names(question: str, number: int) -> list[str]:
    """Names of a question's tests: ``q1.1`` and so on, or ``q1`` for a single one."""
    return [f"{question}.{index}" for index in range(1, number + 1)] if number > 1 else [question]


def outputs(stem: str, scored: Sequence[QuestionScore]) -> str:
    """An assignment's questions as lines of ``$GITHUB_OUTPUT``, named as in ``q1_01_leaves``."""
    return "".join(f"{score.id}_{stem}={action_output(score)}\n" for score in scored)


def notices(scored: Sequence[QuestionScore], earned: float | None = None) -> list[str]:
    """The two lines by which points leave a workflow; they hold no student's text.

    Args:
        earned: the score if it is not the sum of the questions, as after a penalty.
    """
    points = total(score.score for score in scored) if earned is None else earned
    of = total(score.max_score for score in scored)
    report = {"totalPoints": plain_number(points), "maxPoints": plain_number(of)}
    return [
        f"::notice title=Autograding complete::Points {format_points(points)}/{format_points(of)}",
        f"::notice title=Autograding report::{json.dumps(report, separators=(',', ':'))}",
    ]


def quoted(text: str) -> str:
    """A student's text as lines of a log, in which no workflow command is carried out."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{plain_text(text)}\n::{token}::"


def step_summary(result: Result, title: str, shows: Feedback) -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``, at most 1 MiB: a table, then what failed and why."""
    rows: list[list[Text]] = []
    reasons: list[Block] = []
    for answer in result.questions:
        name = f"{answer.id} · {answer.title}"
        sign = _SIGNS[_status(result, answer)]
        rows.append([sign, Span(name), points_text(answer.score, answer.max_score)])
        if not answer.in_full and not result.error:
            reasons += [Heading(Span(name), 3), *about_question(result, answer, shows)]
    points = points_text(result.score, result.max_score)
    heading = Heading([Span(f"{title}:"), f"{points} points"])
    table = Table(rows, ("", "question", "points"))
    return within_limit(markdown([heading, *about_submission(result), table, *reasons]).split("\n"))


def within_limit(lines: Sequence[str]) -> str:
    """The lines of a summary, as many as GitHub shows."""
    content = utf8_text("\n".join(lines)).encode()
    if len(content) <= MAX_SUMMARY:
        return content.decode()
    cut = content[: MAX_SUMMARY - len(_CUT.encode())]  # and of that whole lines
    return cut[: cut.rfind(b"\n")].decode() + _CUT


def _status(result: Result, answer: QuestionResult) -> Status:
    return "error" if result.error else "pass" if answer.in_full else "fail"


def _question_score(result: Result, answer: QuestionResult, shows: Feedback) -> QuestionScore:
    checks = [
        CheckScore(
            check.title,
            check.points,
            check.max_points,
            _STATUSES[check.outcome],
            check.message if shows.diagnoses and check.outcome != "passed" else None,
        )
        for check in answer.checks
        if answer.status == "answered" and not result.error
    ]
    rest = total([answer.score, *(-check.score for check in checks)])
    if checks and rest:  # a failed check caps what the others bring, and a person may add or take points
        why = " ".join(answer.remarks) or "Points that no check gives"
        checks.append(CheckScore(why, rest, 0.0, "pass" if rest > 0 else "fail"))
    message = None if answer.in_full else plain(about_question(result, answer, shows))
    return QuestionScore(
        answer.id,
        answer.title,
        answer.score,
        answer.max_score,
        _status(result, answer),
        message,
        checks=tuple(checks),
    )


def _write(export: Export) -> None:
    """Write ``<student>/<stem>/``: outputs in the format of ``$GITHUB_OUTPUT``, notices and a summary."""
    for stem, results in export.results.items():
        title = export.title(stem) or stem
        for result in results:
            scored = [_question_score(result, answer, export.shows) for answer in result.questions]
            folder = f"{result.student}/{stem}"
            export.add_file(f"{folder}/outputs.txt", outputs(stem, scored))
            export.add_file(f"{folder}/notices.txt", "\n".join([*notices(scored, result.score), ""]))
            export.add_file(f"{folder}/summary.md", step_summary(result, title, export.shows))


FORMAT = Format(
    "github",
    _write,
    advice="for a step of a GitHub workflow",
    help="`<student>/<assignment>/`: `outputs.txt` for `$GITHUB_OUTPUT`, `notices.txt` for the log,"
    " `summary.md` for `$GITHUB_STEP_SUMMARY`",
)
