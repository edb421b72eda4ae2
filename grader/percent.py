"""Outside: a master's text in the percent format, cut into cells.

The format is that of jupytext and of editors: a line `# %%` begins a cell of code, `# %% [markdown]` one of
prose, whose lines are comments; `tags=["..."]` behind it are the cell's tags. A magic may be commented out.
To import jupytext for it would take longer than most of what an author asks for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_BEGIN = re.compile(r"#\s?%%(?!%).*")
_TAGS = re.compile(r"\btags=(?P<tags>\[.*?\])")
_COMMENT = re.compile(r"# ?")
_COMMENTED_MAGIC = re.compile(r"#\s?(?=(?:%{1,2}[A-Za-z]|!))")
_QUOTES = re.compile(r'(?s)(?P<blank>\s*)r?"""(?P<text>.*?)"""\s*')


@dataclass(frozen=True)
class PercentCell:
    """A cell.

    Attributes:
        is_code: whether it is one of code.
        source: what stands in it, without blank lines around.
        tags: those it has, in order.
        line: where its source begins in the master, counted from 1.
    """

    is_code: bool
    source: str
    tags: tuple[str, ...]
    line: int


def cells_of(text: str) -> Iterator[PercentCell]:
    """The cells of a master that have a source; what stands before the first, a header or code, is one, too.

    Raises:
        ValueError: tags are no list of texts.
    """
    lines = text.split("\n")
    begins = [place for place, line in enumerate(lines) if _BEGIN.fullmatch(line)] + [len(lines)]
    yield from _cell("", _without_header(lines[: begins[0]]), 1)
    for begin, end in pairwise(begins):
        yield from _cell(lines[begin], lines[begin + 1 : end], begin + 2)


def _without_header(lines: list[str]) -> list[str]:
    """Without what jupytext writes about the notebook, between two lines `# ---`."""
    if lines[:1] == ["# ---"] and "# ---" in lines[1:]:
        end = lines.index("# ---", 1) + 1
        return [""] * end + lines[end:]
    return lines


def _cell(marker: str, lines: list[str], line: int) -> Iterator[PercentCell]:
    is_code = re.search(r"\[(?:markdown|md)\]", marker) is None
    own = [_COMMENTED_MAGIC.sub("", one) for one in lines] if is_code else _prose(lines)
    filled = [place for place, one in enumerate(own) if one.strip()]
    if filled:
        found = _TAGS.search(marker)
        tags = tuple(json.loads(found["tags"])) if found else ()
        source = "\n".join(own[filled[0] : filled[-1] + 1])
        yield PercentCell(is_code, source, tags, line + filled[0])


def _prose(lines: list[str]) -> list[str]:
    """Prose stands in comments, or as a whole in a string."""
    quoted = _QUOTES.fullmatch("\n".join(lines))
    if quoted:
        return f"{quoted['blank']}{quoted['text']}".split("\n")
    return [_COMMENT.sub("", line, count=1) for line in lines]
