"""Outside: pages for people, from templates; everything of a student's is escaped where it is put in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grader.evidence import Evidence
from grader.facts import decode_raised
from grader.gradebook import number
from grader.result import Result
from grader.text import straight

MAX_FOREIGN_TEXT = 200
_MARKDOWN = re.compile(r"[\\`*{}\[\]#|~$@]|(?<!\w)_|_(?!\w)|^[-+>=]|^\d+(?=[.)])")
_MENTION = re.compile(r"@(?=\w)")


def markdown_text(text: object) -> Markup:
    """Text as Markdown that shows exactly this text, on one line: no markup, no HTML, no mentions."""
    line = " ".join(straight(str(text)).split())
    line = _MENTION.sub("@\N{WORD JOINER}", line)  # a site would make a mention of `\@name` too
    escaped = _MARKDOWN.sub(r"\\\g<0>", line).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(escaped)  # noqa: S704 - escaped on the line above


def _straight(value: object) -> object:
    return straight(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_html = Environment(
    loader=PackageLoader("grader"),
    autoescape=True,
    finalize=_straight,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_markdown = Environment(
    loader=PackageLoader("grader"),
    autoescape=False,  # noqa: S701 - Markdown has its own filter, `text`
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
for _environment in (_html, _markdown):
    _environment.filters.update(number=number, text=markdown_text)


def feedback_markdown(result: Result, cells: Sequence[str]) -> str:
    """What a student reads about one submission, as Markdown."""
    return _markdown.get_template("feedback.md").render(result=result, cells=cells)


def feedback_html(result: Result, cells: Sequence[str]) -> str:
    """What a student reads about one submission, as one HTML file that needs nothing else."""
    return _html.get_template("feedback.html").render(result=result, cells=cells)


def report_html(
    named: Sequence[tuple[str, Result]], absent: Sequence[tuple[str, str]], protection: str
) -> str:
    """What an instructor reads about the class, as one HTML file that needs nothing else.

    Args:
        named: name and result of every submission; feedback lies under that name.
        absent: (student, stem) of those who handed in nothing.
        protection: what confined students' code.
    """
    results = [{**result, "name": name} for name, result in named]
    return _html.get_template("report.html").render(
        results=results,
        absent=absent,
        protection=protection,
        assignments=[
            _summary(stem, results) for stem in sorted({r["assignment"] for r in results if r["assignment"]})
        ],
        attention=[r for r in results if r["status"] == "error" or r["flags"] or r["superseded"]],
    )


def failed_cells(evidence: Evidence | None) -> list[str]:
    """One sentence for each cell of the notebook that did not run to its end."""
    return [_failed_cell(cell) for cell in (evidence.cells if evidence else ())]


def _failed_cell(cell: dict[str, object]) -> str:
    if cell["raised"] is None:
        return f"Code cell {cell['cell']} was left out: {cell['fault']}."
    error = decode_raised(cell["raised"])
    if error.type == "CellTimeout":
        return f"Code cell {cell['cell']} was stopped, because it took too long."
    text = " ".join(error.text.split())[:MAX_FOREIGN_TEXT]
    return (
        f"Code cell {cell['cell']} stopped with {error.type[:MAX_FOREIGN_TEXT]}{': ' if text else ''}{text}."
    )


def _summary(stem: str, results: Sequence[Result]) -> dict[str, object]:
    """Per question of one assignment, how many earned it in full, in part, not at all; and why."""
    of_stem = [r for r in results if r["assignment"] == stem]
    questions = []
    # A run for one student leaves the others' results as they are, perhaps by an older course.
    for question in max(of_stem, key=lambda r: (r["provenance"]["graded_at"], len(r["questions"])))[
        "questions"
    ]:
        answers = [a for r in of_stem for a in r["questions"] if a["id"] == question["id"]]
        questions.append(
            {
                **question,
                "full": sum(a["score"] == a["max_score"] for a in answers),
                "none": sum(a["score"] == 0 for a in answers),
                "part": sum(0 < a["score"] < a["max_score"] for a in answers),
                "untouched": sum(a["status"] != "answered" for a in answers),
                "checks": [_check_summary(check, answers) for check in question["checks"]],
            },
        )
    return {"stem": stem, "count": len(of_stem), "questions": questions}


def _check_summary(check: dict[str, Any], answers: Sequence[dict[str, Any]]) -> dict[str, object]:
    """How often a check failed among those who answered, and the most frequent diagnosis."""
    answered = [a for a in answers if a["status"] == "answered"]
    checks = [c for a in answered for c in a["checks"] if c["id"] == check["id"]]
    messages = [check["message"] for check in checks if check["outcome"] != "passed"]
    common = max(messages, key=messages.count, default=None)
    return {
        "title": check["title"],
        "failed": len(messages),
        "of": len(checks),
        "message": common,
    }
