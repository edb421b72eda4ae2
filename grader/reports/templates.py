"""Templates of pages; text of students is escaped when it is inserted."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grader.scores import format_points
from grader.text import html_text, without_controls


def _without_controls(value: object) -> object:
    return without_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


#: Templates of HTML. The filter `coded` shows what stands between backticks as code.
HTML = Environment(
    loader=PackageLoader("grader"),
    autoescape=True,
    finalize=_without_controls,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
HTML.filters.update(number=format_points, coded=lambda text: Markup(html_text(text)))  # noqa: S704
