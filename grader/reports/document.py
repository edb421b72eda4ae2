"""A report about a result as a tree, which is rendered as HTML, Markdown or plain text.

The texts in a tree are as their authors and students wrote them. The renderers `html`, `markdown` and `plain`
escape every one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from grader.graphs.picture import Picture
from grader.results.model import Outcome


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text.

    Attributes:
        style: `exact` text has no code between its backticks, and keeps its direction of writing to itself.
        target: the target of a link; empty if it is not a link.
    """

    text: str
    style: Literal["exact", "strong", "emphasis", "points"] = "exact"
    target: str = ""


#: In a str, HTML shows what stands between backticks as code. Parts have a space between them.
Text = str | Span | list[str | Span]


def parts_of(text: Text) -> list[str | Span]:
    """The parts of a text."""
    return text if isinstance(text, list) else [text]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the page's."""

    text: Text
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    text: Text
    tone: Literal["", "soft", "hint", "notice"] = ""


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    items: Sequence[Text]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose last column holds numbers; without a head, a row is about what its first cell names."""

    rows: Sequence[Sequence[Text]]
    head: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A line of code; without a `number`, a remark of ours."""

    number: int | None
    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of code, or of any text whose columns matter."""

    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code that a reader can copy into a cell and run."""

    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """A check, its outcome, and the text about it.

    Attributes:
        points: as text; empty if it has none.
    """

    title: str
    outcome: Outcome
    points: str
    body: Sequence[Block] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Checks that have nothing of their own to say, under a title of ours."""

    title: str
    checks: Sequence[Check]


@dataclass(frozen=True, slots=True)
class Fold:
    """A part that a page shows on demand.

    Attributes:
        title: in our words.
        about: the text beside the title.
    """

    title: str
    about: Text
    body: Sequence[Block]
    kind: Literal["code", "xray"]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Drawings:
    """Pictures side by side, each with its title, which may be empty."""

    pictures: Sequence[tuple[str, Picture]]


@dataclass(frozen=True, slots=True)
class Legend:
    """How to read a drawing."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part that can be linked to."""

    anchor: str
    body: Sequence[Block]
    tone: Literal["", "notice"] = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """Links to sections: the text, the section's anchor, and how it went, which is a CSS class."""

    entries: Sequence[tuple[str, str, str]]


Block = (
    Heading
    | Paragraph
    | Bullets
    | Table
    | Code
    | Snippet
    | Check
    | Group
    | Fold
    | Drawings
    | Legend
    | Section
    | Contents
)
