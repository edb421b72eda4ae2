"""Templates of pages and texts; each text of a student's is escaped where it is put in."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grader.scores import format_points
from grader.text import fence, html_text, markdown_text, without_controls


def _without_controls(value: object) -> object:
    return without_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


#: Templates of HTML. The filter `coded` shows what stands between backticks as code; `drawn` is for drawings
#: of ours, see `grader.graphs.picture` for what makes them safe.
HTML = Environment(
    loader=PackageLoader("grader"),
    autoescape=True,
    finalize=_without_controls,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
HTML.filters.update(number=format_points, drawn=Markup)
HTML.filters.update(coded=lambda text: Markup(html_text(text)))  # noqa: S704
#: Templates of Markdown, in which a student's text goes through the filter `text`, or stands in a fence that
#: the filter `fence` makes for it. The filter `fenced` is for Mermaid, which needs no backticks: without any
#: it cannot close its fence.
MARKDOWN = Environment(
    loader=PackageLoader("grader"),
    autoescape=False,  # noqa: S701 - Markdown has its own filter, `text`
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
MARKDOWN.filters.update(
    number=format_points,
    text=markdown_text,
    fence=fence,
    fenced=lambda text: without_controls(text).replace("`", "'"),
)
