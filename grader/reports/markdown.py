"""A document as Markdown, in which students' text is never markup, HTML or a mention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import indent
from urllib.parse import quote

from grader.graphs.picture import Picture
from grader.graphs.svg import LEGEND_MARKDOWN
from grader.reports import document as doc
from grader.reports.document import Block, Check, Span, Table, Text, parts_of
from grader.reports.plain import code_lines
from grader.text import fence, markdown_text, without_controls

_STYLES = {"strong": "**{}**", "emphasis": "*{}*"}


def markdown(blocks: Iterable[Block]) -> str:
    """The blocks as Markdown, without an end of line behind the last."""
    return "\n\n".join(filter(None, map(_block, blocks)))


def _block(block: Block) -> str:  # noqa: C901, PLR0911, PLR0912 - one for each block
    match block:
        case doc.Heading(text, level):
            return f"{'#' * level} {_inline(text)}"
        case doc.Paragraph(text):
            return _inline(text)
        case doc.Bullets(items):
            return "\n".join(f"- {_inline(item)}" for item in items)
        case Table(rows, head):
            numbers = "|".join([*["---"] * (len(head) - 1), "--:"])
            return "\n".join([_cells([*head]), f"|{numbers}|", *map(_cells, rows)])
        case doc.Code(rows):
            text = "\n".join(code_lines(rows))
            return f"{fence(text)}text\n{text}\n{fence(text)}"
        case doc.Snippet(text):
            text = without_controls(text)
            return f"{fence(text)}python\n{text}\n{fence(text)}"
        case Check(body=body):
            return "\n\n".join([_headed(block), *([indent(markdown(body), "  ")] if body else [])])
        case doc.Group(title, checks):
            return "\n".join([f"{title}:\n", *map(_headed, checks)])
        case doc.Fold(title, about, body, is_open=is_open):
            if is_open:
                return markdown([doc.Paragraph([Span(title, "strong"), *parts_of(about)]), *body])
            shown = markdown([doc.Paragraph(about), *body])
            return f"<details><summary>{title}</summary>\n\n{shown}\n\n</details>"
        case doc.Drawings(pictures):
            return "\n\n".join(_drawing(title, picture) for title, picture in pictures)
        case doc.Legend():
            return LEGEND_MARKDOWN
        case doc.Section(body=body):
            return markdown(body)
        case doc.Contents(entries):
            return " · ".join(str(markdown_text(text)) for text, _, _ in entries)


def _inline(text: Text) -> str:
    return " ".join(map(_part, parts_of(text)))


def _part(part: str | Span) -> str:
    if isinstance(part, str):
        return markdown_text(part)
    shown = _STYLES.get(part.style, "{}").format(markdown_text(part.text))
    return f"[{shown}]({quote(part.target, safe='#/')})" if part.target else shown


def _cells(row: Sequence[Text]) -> str:
    return f"| {' | '.join(map(_inline, row))} |"


def _headed(check: Check) -> str:
    sign = {"passed": "✅", "partly": "🟡"}.get(check.outcome, "❌")
    points = f" ({check.points})" if check.points else ""
    return f"- {sign} **{markdown_text(check.title)}**{points}"


def _drawing(title: str, picture: Picture) -> str:
    """A sentence, and Mermaid in a fence; without any backtick it cannot close that."""
    about = markdown_text(f"{title}: {picture.summary}" if title else picture.summary)
    drawn = without_controls(picture.mermaid).replace("`", "'")
    return f"{about}\n\n```mermaid\n{drawn}\n```"
