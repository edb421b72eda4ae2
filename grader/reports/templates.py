"""Templates of pages and texts; each text of a student's is escaped where it is put in."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grader.scores import format_points
from grader.text import without_controls

_MARKDOWN = re.compile(r"[\\`*{}\[\]#|~$@]|(?<!\w)_|_(?!\w)|^[-+>=]|^\d+(?=[.)])")
_MENTION = re.compile(r"@(?=\w)")


def markdown_text(text: object) -> Markup:
    """Text as Markdown that shows exactly this text, on one line: no markup, no HTML, no mentions."""
    line = " ".join(without_controls(str(text)).split())
    line = _MENTION.sub("@\N{WORD JOINER}", line)  # a site would make a mention of `\@name` too
    escaped = _MARKDOWN.sub(r"\\\g<0>", line).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(escaped)  # noqa: S704 - escaped on the line above


def _straight(value: object) -> object:
    return without_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


#: Templates of HTML.
HTML = Environment(
    loader=PackageLoader("grader"),
    autoescape=True,
    finalize=_straight,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
#: Templates of Markdown, in which a student's text goes through the filter `text`.
MARKDOWN = Environment(
    loader=PackageLoader("grader"),
    autoescape=False,  # noqa: S701 - Markdown has its own filter, `text`
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
for _environment in (HTML, MARKDOWN):
    _environment.filters.update(number=format_points, text=markdown_text)
