"""A document as HTML; `Markup.format` and `Markup.join` escape everything that is not our own markup."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from grader.graphs.picture import Picture
from grader.graphs.svg import LEGEND_HTML
from grader.reports import document as doc
from grader.reports.document import Block, Check, Row, Span, Table, Text, parts_of
from grader.text import html_text, without_controls

_CLASSES = {"soft": "soft", "hint": "soft hint", "notice": "notice"}
_STYLES = {
    "exact": Markup("<bdi>{}</bdi>"),
    "strong": Markup("<strong>{}</strong>"),
    "emphasis": Markup("<em>{}</em>"),
    "points": Markup('<span class="points">{}</span>'),
}
_SIGN = Markup('<span role="img" aria-label="marked">▶</span>')


def html(blocks: Iterable[Block]) -> Markup:
    """The blocks as HTML that may stand in a page as it is."""
    return Markup("\n").join(map(_block, blocks))


def _block(block: Block) -> Markup:  # noqa: C901, PLR0911, PLR0912 - one for each block
    match block:
        case doc.Heading(text, level):
            return Markup("<h{0}>{1}</h{0}>").format(level, _inline(text))
        case doc.Paragraph(text, tone):
            return Markup("<p{}>{}</p>").format(_class(_CLASSES.get(tone, "")), _inline(text))
        case doc.Bullets(items):
            return Markup("<ul>{}</ul>").format(_each("<li>{}</li>", map(_inline, items)))
        case Table():
            return _table(block)
        case doc.Code(rows):
            return Markup("<pre>{}</pre>").format(Markup("").join(map(_row, rows)))
        case doc.Snippet(text):
            return Markup('<pre class="snippet">{}</pre>').format(_exact(text))
        case Check(outcome=outcome, body=body):
            passed = outcome if outcome in {"passed", "partly"} else "failed"
            inner = Markup("\n").join([_headed(block), *map(_block, body)])
            return Markup('<div class="check {}-check">\n{}\n</div>').format(passed, inner)
        case doc.Group(title, checks):
            return _details("same", title, Markup("\n").join(map(_headed, checks)))
        case doc.Fold(title, about, body, kind, is_open):
            summary = Markup("<strong>{}</strong> {}").format(title, _inline(about))
            return _details(kind, summary, html(body), is_open=is_open)
        case doc.Drawings(pictures):
            shown = Markup("\n").join(_drawing(title, picture) for title, picture in pictures)
            return Markup('<div class="drawings">\n{}\n</div>').format(shown)
        case doc.Legend():
            return _details("legend", "How to read an X-ray", Markup(LEGEND_HTML))  # noqa: S704 - our own
        case doc.Section(anchor, body, tone):
            return Markup('<section id="{}"{}>\n{}\n</section>').format(anchor, _class(tone), html(body))
        case doc.Contents(entries):
            links = Markup("").join(
                Markup('<li><a class="{}" href="#{}">{}</a></li>').format(outcome, anchor, _exact(text))
                for text, anchor, outcome in entries
            )
            return Markup('<nav aria-label="Questions"><ul class="scores">{}</ul></nav>').format(links)


def _exact(text: str) -> Markup:
    return escape(without_controls(text))


def _inline(text: Text) -> Markup:
    return Markup(" ").join(map(_part, parts_of(text)))


def _part(part: str | Span) -> Markup:
    if isinstance(part, str):
        return Markup(html_text(part))  # noqa: S704 - escaped there
    shown = _STYLES[part.style].format(_exact(part.text))
    return Markup('<a href="{}">{}</a>').format(part.target, shown) if part.target else shown


def _class(name: str) -> Markup:
    return Markup(' class="{}"').format(name) if name else Markup()


def _each(element: str, texts: Iterable[Markup]) -> Markup:
    return Markup("").join(Markup(element).format(text) for text in texts)  # noqa: S704 - our own


def _table(table: Table) -> Markup:
    head = _each("<th>{}</th>", map(_exact, table.head))
    rows = _each("<tr>{}</tr>", (_each("<td>{}</td>", map(_inline, row)) for row in table.rows))
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, rows)


def _row(row: Row) -> Markup:
    """A line of code that is copied without its number; it ends where it ended."""
    return Markup(
        '<{0} class="line{1}"><span class="sign">{2}</span><span class="at">{3}</span>'
        "<span>{4}\n</span></{0}>"
    ).format(
        "mark" if row.is_marked else "span",
        " soft" if row.number is None else "",
        _SIGN if row.is_marked else "",
        row.number or "",
        _exact(row.text),
    )


def _headed(check: Check) -> Markup:
    points = f", {check.points}" if check.points else ""
    return Markup(
        '<p><strong>{}</strong> <span class="points"><span class="outcome {}">{}</span>{}</span></p>'
    ).format(_part(check.title), check.outcome, check.outcome, points)


def _details(kind: str, summary: str, body: Markup, *, is_open: bool = False) -> Markup:
    opened = Markup(" open") if is_open else ""
    return Markup('<details class="{}"{}><summary>{}</summary>\n{}\n</details>').format(
        kind, opened, summary, body
    )


def _drawing(title: str, picture: Picture) -> Markup:
    heading = Markup("<h3>{}</h3>\n").format(title) if title else ""
    return Markup(
        '<figure class="drawing">\n{}<div class="scroll">{}</div>\n<figcaption>{}</figcaption>\n</figure>'
    ).format(heading, Markup(picture.svg), _exact(picture.summary))  # noqa: S704 - `picture` makes it safe
