"""IPython's own syntax in a cell, read nearly as its transformer does, which stays inside."""

from __future__ import annotations

import re

_MARGIN = re.compile(r"(?m)\s*?^([ \t]++)")
_TIME = re.compile(r"(?m)^([ \t]*+)%time[ \t]++(?=\S)")
_LINE = re.compile(r"(?m)^([ \t]*+)(?:[%!?;,/].*|[\w.]*+\?++[ \t]*+)$")
_ASSIGNED = re.compile(r"(?m)(?<==)[ \t]*+[%!].*$")


def without_magics(source: str) -> str:
    """A cell that Python can parse: without the first line's indentation and without lines of IPython's.

    A statement whose time is taken stays.
    """
    source = _TIME.sub(r"\1", source)
    if margin := _MARGIN.match(source):
        source = re.sub(rf"(?m)^{margin[1]}", "", source)
    return _ASSIGNED.sub(" None", _LINE.sub(r"\1pass", source))
