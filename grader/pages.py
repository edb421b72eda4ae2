"""Outside: pages for people, from templates; everything of a student's is escaped where it is put in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grader.evidence import Evidence
from grader.facts import decode_raised
from grader.gradebook import number
from grader.result import Result
from grader.row import Row
from grader.summary import summarise
from grader.text import straight

MAX_FOREIGN_TEXT = 200
MAX_FAILED_CELLS = 20
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


def report_html(rows: Sequence[Row], absent: Sequence[tuple[str, str]], protection: str) -> str:
    """What an instructor reads about the class, as one HTML file that needs nothing else.

    Args:
        rows: of every submission.
        absent: (student, stem) of those who handed in nothing.
        protection: what confined students' code.
    """
    return _html.get_template("report.html").render(
        rows=rows,
        absent=absent,
        protection=protection,
        assignments=summarise(rows),
        attention=[row for row in rows if row.needs_a_look],
    )


def failed_cells(evidence: Evidence | None) -> list[str]:
    """One sentence for each cell of the notebook that did not run to its end, for the first of very many."""
    cells = evidence.cells if evidence else []
    told = [_failed_cell(cell) for cell in cells[:MAX_FAILED_CELLS]]
    return [*told, f"And {len(cells) - len(told)} more."] if len(cells) > len(told) else told


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
