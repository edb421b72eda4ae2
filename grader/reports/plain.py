"""A document as plain text, for a terminal and for systems that show no markup.

No line of it controls a terminal, or is a command to a runner of workflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import TextWrapper

from grader.reports import document as doc
from grader.reports.document import Block, Check, Row, Span, Table, Text, parts_of
from grader.text import printable, terminal_line

_INDENT = "  "


def plain(blocks: Iterable[Block], width: int | None = None) -> str:
    """The blocks as lines; a text is a single line where there is no width, in characters, to wrap it to."""
    lines = (line for block in blocks for line in _block(block, "", width))
    return "\n".join(map(terminal_line, lines)).lstrip("\n")


def code_lines(rows: Sequence[Row]) -> list[str]:
    """Each line behind its number, and a sign before those that are marked; without numbers, just lines."""
    if all(row.number is None for row in rows):
        return [row.text for row in rows]
    return [f"{'▶' if row.is_marked else ' '}{row.number or '':>5}  {row.text}".rstrip() for row in rows]


def _block(  # noqa: C901, PLR0912 - one for each block
    block: Block, indent: str, width: int | None
) -> Iterator[str]:
    title, below = "", list[Block]()
    match block:
        case doc.Heading(text):
            yield ""
            yield from _wrapped(_inline(text), indent, width)
        case doc.Paragraph(text):
            yield from _wrapped(_inline(text), indent, width)
        case doc.Bullets(items):
            for item in items:
                yield from _wrapped(f"- {_inline(item)}", indent, width)
        case Table(rows, head):
            yield from _table([*([head] if head else []), *rows], indent, width)
        case doc.Code(rows):
            yield from (f"{indent}{printable(line)}" for line in code_lines(rows))
        case doc.Snippet(text):
            yield from (f"{indent}{printable(line)}" for line in text.splitlines())
        case Check(body=body):
            title, below = _headed(block), [*body]
        case doc.Group(name, checks):
            title = f"{name}: {'; '.join(check.title for check in checks)}"
        case doc.Fold(name, about, body):
            title, below = f"{name}: {_inline(about)}", [*body]
        case doc.Section(body=body):
            for each in body:
                yield from _block(each, indent, width)
        case doc.Drawings() | doc.Legend() | doc.Contents():
            pass  # there is nothing to draw with, and nothing to click on
    if title:
        yield from _wrapped(title, indent, width)
    for each in below:
        yield from _block(each, indent + _INDENT, width)


def _inline(text: Text) -> str:
    return " ".join(part.text if isinstance(part, Span) else part for part in parts_of(text))


def _headed(check: Check) -> str:
    points = f" ({check.points})" if check.points else ""
    return f"{check.outcome}: {check.title}{points}"


def _table(rows: Sequence[Sequence[Text]], indent: str, width: int | None) -> Iterator[str]:
    """Rows whose columns stand below each other; the last column is wrapped."""
    cells = [[printable(_inline(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
    for *first, last in cells:
        head = "".join(f"{cell:{wide}}  " for cell, wide in zip(first, widths, strict=True))
        yield from _wrapped(last, indent + head, width, " " * len(indent + head))


def _wrapped(text: str, head: str, width: int | None, rest: str | None = None) -> list[str]:
    """A text behind a head; each further line behind `rest`, which is the head unless it is given."""
    line = printable(" ".join(text.split()))
    if width is None:
        return [f"{head}{line}".rstrip()]
    wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    wrapper.initial_indent, wrapper.subsequent_indent = head, head if rest is None else rest
    return wrapper.wrap(line) or [head.rstrip()]
