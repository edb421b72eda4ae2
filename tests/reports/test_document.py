"""A document in its three forms: in each, every block shows its texts, and no text does anything."""

import re
from html.parser import HTMLParser
from typing import get_args

import pytest
from markdown_it import MarkdownIt

from grader.graphs.picture import Picture
from grader.reports import document
from grader.reports.document import Block, Check, Fold, Paragraph, Row, Span, Table
from grader.reports.html import html
from grader.reports.markdown import markdown
from grader.reports.plain import plain

HOSTILE = "::error::x <script>alert(1)</script> [a](b) ![c](d) @everyone `e` | \x1b[31m \u202e ##[group] f"
PICTURE = Picture(HOSTILE, HOSTILE, "<svg></svg>", "flowchart TB\n```\n# out")


def every_block(text):
    """A block of each kind, with this text wherever a student's may be."""
    check = Check(text, "failed", "0 of 2", [Paragraph(text)])
    return [
        document.Heading([text, Span(text), Span(text, "points")]),
        Paragraph([text, *(Span(text, style) for style in ("exact", "strong", "emphasis"))], "hint"),
        document.Bullets([text, [Span(text), text]]),
        Table([[text, Span(text)]], ("first", "second")),
        document.Code([Row(1, text.replace("\x1b", "").replace("\u202e", ""), is_marked=True)]),
        document.Snippet(text),
        check,
        document.Group("Others", [check, check]),
        Fold("Closed", text, [Paragraph(text)], "code"),
        Fold("Open", text, [Paragraph(text)], "xray", is_open=True),
        document.Drawings([("", PICTURE)]),
        document.Legend(),
        document.Section("q1", [Paragraph(text)], "notice"),
        document.Contents([(text, "q1", "full")]),
    ]


class Elements(HTMLParser):
    """The names of all elements of a page, and where their links lead."""

    def __init__(self, page):
        super().__init__()
        self.names, self.targets = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.targets |= {value for name, value in attrs if name in {"href", "src"}}


def test_every_kind_of_block_is_tried():
    assert {type(block) for block in every_block("")} == set(get_args(Block))


@pytest.mark.parametrize("block", every_block(HOSTILE), ids=lambda block: type(block).__name__)
def test_in_html_a_text_is_a_text(block):
    page = html([block])
    found = Elements(page)
    assert "script" not in found.names
    assert found.targets <= {"#q1"}
    assert not re.search("[\x1b\u202e]", page)
    assert "alert(1)" in page or isinstance(block, document.Legend)


@pytest.mark.parametrize("block", every_block(HOSTILE), ids=lambda block: type(block).__name__)
def test_in_markdown_a_text_is_a_text(block):
    page = MarkdownIt("commonmark").enable("table").render(markdown([block]))
    found = Elements(page)
    assert found.names.isdisjoint({"script", "a", "img"})
    outside = re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)
    assert "@everyone" not in outside
    assert not re.search("[\x1b\u202e]", page)


@pytest.mark.parametrize("width", [None, 40])
@pytest.mark.parametrize("block", every_block(HOSTILE), ids=lambda block: type(block).__name__)
def test_in_plain_text_a_text_commands_nothing(block, width):
    for line in plain([block], width).splitlines():
        assert line.isprintable()
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_plain_text_is_wrapped_behind_its_head():
    path = f"/tmp/{'x' * 60}"
    rows = [["graded", "words " * 10], ["superseded", path]]
    lines = plain([Table(rows)], 40).splitlines()
    assert lines[0].startswith("graded      words ")
    assert all(line.startswith(" " * 12) for line in lines[1:-1])
    assert lines[-1].endswith(path)


def test_a_number_with_decimals_begins_no_list():
    assert markdown([Paragraph("4.5 of 10")]) == "4.5 of 10"
    assert "<ol" not in MarkdownIt().render(markdown([Paragraph("4. of 10")]))
