"""Outside: scored questions for GitHub: an action's output, notices, a step's summary.

The format of the outputs is that of GitHub Classroom's graders, which other services read too. Its
reporter takes ``max_score`` once for each output and multiplies it by the part of the tests that passed.
So one output holds one question, as one test, and points earned in part stand in the test's name.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from grader.course.settings import Feedback
from grader.integrations.export import Export, feedback_text
from grader.reports.templates import markdown_text
from grader.results.stored import Stored
from grader.scores import format_points
from grader.scores import total as sum_of
from grader.text import encodable, straight

#: What GitHub shows of one step's summary, in bytes; of a longer one it shows nothing.
MAX_SUMMARY = 1 << 20

_SIGNS = {"pass": "✅", "fail": "❌", "error": "⚠️"}
_CUT = "\n\nThe rest was left out, because GitHub shows no more than 1 MiB.\n"


def action_output(one: QuestionScore) -> str:
    """One question as the output ``result`` of an action: base64 of JSON, on one line."""
    titled = f"{one.id} {straight(encodable(one.title))}".rstrip()
    name = f"{titled} ({format_points(one.score)}/{format_points(one.max_score)})"
    test = {
        "name": name,
        "status": one.status,
        "score": plain(one.score),
        "message": None if one.message is None else encodable(straight(one.message)),
        "test_code": "",
        "filename": "",
        "line_no": 0,
        "duration": round(one.seconds * 1000),
    }
    result = {"version": 1, "status": one.status, "max_score": plain(one.max_score), "tests": [test]}
    return base64.b64encode(json.dumps(result, allow_nan=False).encode()).decode()


def notices(scored: Sequence[QuestionScore]) -> list[str]:
    """The two lines by which points leave a workflow; nothing of a student's is in them."""
    points, of = total(scored)
    report = json.dumps({"totalPoints": plain(points), "maxPoints": plain(of)}, separators=(",", ":"))
    return [
        f"::notice title=Autograding complete::Points {format_points(points)}/{format_points(of)}",
        f"::notice title=Autograding report::{report}",
    ]


def quoted(text: str) -> str:
    """Text of a stranger, as lines of a log among which no workflow command is carried out."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{encodable(straight(text))}\n::{token}::"


def step_summary(scored: Sequence[QuestionScore], heading: str) -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``: a table, then what failed and why; at most 1 MiB.

    Args:
        scored: the questions.
        heading: a line of plain text.
    """
    points, of = total(scored)
    lines = [
        f"## {markdown_text(heading)}: {format_points(points)} of {format_points(of)} points",
        "",
        "| | question | points |",
        "|---|---|--:|",
        *(_row(one) for one in scored),
        "",
    ]
    told_to: dict[str, list[str]] = {}
    for one in scored:
        if one.message and one.status != "pass":
            told_to.setdefault(one.message, []).append(one.id)
    for message, ids in told_to.items():
        lines += [f"### {markdown_text(', '.join(ids))}", "", *_paragraphs(message)]
    return _cut("\n".join(lines))


def _row(one: QuestionScore) -> str:
    name = f"{markdown_text(one.id)} · {markdown_text(one.title)}" if one.title else markdown_text(one.id)
    return f"| {_SIGNS[one.status]} | {name} | {format_points(one.score)} of {format_points(one.max_score)} |"


def _paragraphs(message: str) -> list[str]:
    return [part for line in message.splitlines() if line.strip() for part in (markdown_text(line), "")]


def _cut(text: str) -> str:
    """The text in as many whole lines as GitHub shows."""
    content = encodable(text).encode()
    if len(content) <= MAX_SUMMARY:
        return content.decode()
    kept = content[: MAX_SUMMARY - len(_CUT.encode())]
    return kept[: kept.rfind(b"\n")].decode() + _CUT


Status = Literal["pass", "fail", "error"]


@dataclass(frozen=True)
class QuestionScore:
    """One question, scored.

    Attributes:
        id: ``q1``, or what else tells it from others.
        title: its heading.
        score: points earned.
        max_score: points that can be earned.
        status: ``pass`` only where all points were earned; ``error`` where nothing could be judged.
        message: what the student is told, or None; it may hold text of a stranger.
        seconds: how long it took.
    """

    id: str
    title: str
    score: float
    max_score: float
    status: Status
    message: str | None = None
    seconds: float = 0.0


def total(scored: Sequence[QuestionScore]) -> tuple[float, float]:
    """Points earned, and points that can be earned."""
    return sum_of(one.score for one in scored), sum_of(one.max_score for one in scored)


def plain(value: float) -> int | float:
    """The number as JSON writes it best: ``4`` and ``4.5``."""
    return int(value) if float(value).is_integer() else value


def export(export: Export) -> None:
    """Write ``<student>/<stem>/``: the outputs, one a line as for ``$GITHUB_OUTPUT``, notices and summary."""
    for stem, results in export.results.items():
        for one in results:
            scored = scored_of(one, export.shows)
            folder = f"{one.student}/{stem}"
            outputs = (f"{answer.id}_{stem}={action_output(answer)}\n" for answer in scored)
            export.write(f"{folder}/outputs.txt", "".join(outputs))
            export.write(f"{folder}/notices.txt", "\n".join([*notices(scored), ""]))
            summary = step_summary(scored, export.titles.get(stem, stem))
            told_first = (
                f"**This notebook could not be graded.** {markdown_text(one.error)}\n\n" if one.error else ""
            )
            export.write(f"{folder}/summary.md", told_first + summary)


def scored_of(one: Stored, shows: Feedback) -> list[QuestionScore]:
    """The questions of a result."""
    return [
        QuestionScore(
            answer.id,
            answer.title,
            answer.score,
            answer.max_score,
            "error" if one.error else "pass" if answer.in_full else "fail",
            feedback_text(answer, shows),
        )
        for answer in one.answers
    ]
