"""Outside: text of strangers on a terminal, on pages and in a spreadsheet controls none of them."""

import csv
import io
from html import escape

import pytest
from markdown_it import MarkdownIt

from grader.results.gradebook import gradebook
from grader.results.model import MissingSubmission
from grader.text import counted, markdown_text, printable, terminal_line, terminal_text, without_controls


@pytest.mark.parametrize("turner", ["\u202a", "\u202b", "\u202d", "\u202e", "\u2066", "\u2068", "\u2069"])
@pytest.mark.parametrize("shown", [without_controls, printable, markdown_text])
def test_text_is_read_in_the_order_in_which_it_is_written(turner, shown):
    """No character of a stranger's shows others out of their order, on a terminal, in HTML or in Markdown."""
    assert shown(f"a{turner}b") == "a\ufffdb"


def test_markdown_mentions_nobody():
    """Feedback that is posted as a comment mentions no user, however an error's text is written."""
    assert "@everyone" not in markdown_text("help @everyone")
    assert markdown_text("W @ x") == "W \\@ x"


@pytest.mark.parametrize(
    "text", ["1. Leaves", "2) x", "3.14 is pi", "# a", "- a", "> a", "x[1.]", "a_b_c *d*"]
)
def test_markdown_shows_the_text_itself(text):
    assert MarkdownIt().render(markdown_text(text)) == f"<p>{escape(text)}</p>\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The `.grad` of `a_b`", "The <code>.grad</code> of <code>a_b</code>"),
        ("`<b>`", "`&lt;b&gt;`"),
        ("`![x](y)`", "`![x](y)`"),
        ("a ` b *c*", "a ` b *c*"),
        ("| `a|b` |", "| `a|b` |"),
        ("`@everyone`", "`@\u2060everyone`"),
    ],
)
def test_markdown_shows_what_stands_between_backticks_as_code(text, shown):
    assert MarkdownIt().render(markdown_text(text)) == f"<p>{shown}</p>\n"


@pytest.mark.parametrize("name", ["عَلِي\u200f", "דוד\u200e", "👩\u200d🔬", "न\u200dम"])
def test_names_of_all_scripts_stay(name):
    assert printable(name) == terminal_text(name) == without_controls(name) == name


@pytest.mark.parametrize(
    ("text", "shown", "line"),
    [
        ("::error::forged", ": :error: :forged", ": :error::forged"),
        (" \u3000::error::x", " \u3000: :error: :x", " \u3000: :error::x"),
        (":::add-mask::", ": : :add-mask: :", ": ::add-mask::"),
        ("x ##[error]forged", "x # #[error]forged", "x # #[error]forged"),
        ("12:30 #[1] a:b ##", "12:30 #[1] a:b ##", "12:30 #[1] a:b ##"),
        ("a\n::error::b", "a\ufffd: :error: :b", "a\ufffd::error::b"),
        ("x[::-1]", "x[: :-1]", "x[::-1]"),
    ],
)
def test_a_log_takes_no_commands(text, shown, line):
    """What a workflow's runner would take for a command is shown as text, and other text as it is."""
    assert (terminal_text(text), terminal_line(text)) == (shown, line)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ada", "ada,"),
        ("=1+1", "'=1+1,"),
        ("ada;=1+1", '"ada;=1+1",'),
        ("ada|=1+1", '"ada|=1+1",'),
        ("\uff1d1+1", "'\uff1d1+1,"),
        ("  @sum", "'  @sum,"),
    ],
)
def test_no_cell_of_the_gradebook_is_a_formula(name, line):
    """Wherever a spreadsheet sees the beginning of a cell, no name begins with a formula's first letter."""
    text = gradebook([], [MissingSubmission(name, "01_leaves", {"q1": 5.0})])
    assert text.splitlines()[1].startswith(line)
    assert next(csv.DictReader(io.StringIO(text)))["student"].removeprefix("'") == name


@pytest.mark.parametrize(("number", "shown"), [(0, "0 checks"), (1, "1 check"), (2, "2 checks")])
def test_a_number_agrees_with_its_noun(number, shown):
    assert counted(number, "check") == shown
