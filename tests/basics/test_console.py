"""What commands print is wrapped at words on a terminal, and commands can be copied."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader import console
from grader.console import put, put_markdown, put_table


def terminal(width, **options):
    options |= {"force_terminal": True, "width": width, "soft_wrap": True, "markup": False, "_environ": {}}
    return Console(file=io.StringIO(), **options)


def lines_of(to):
    return re.sub(r"\x1b\[\d*m", "", to.file.getvalue()).splitlines()


def test_a_terminal_wraps_at_words_and_shows_no_backticks():
    """No word is cut, lines after the first are indented further, and styles stay with their words."""
    to = terminal(40, color_system="standard")
    put(to, "Compute first, then call `requires_grad_()` on the result of it.", 6)
    put(to, Text.assemble("x ", ("The public check fails", "bold"), " for this question."), 2, hang=2)
    assert lines_of(to) == [
        "      Compute first, then call",
        "      requires_grad_() on the result of",
        "      it.",
        "  x The public check fails for this",
        "    question.",
    ]
    assert "\x1b[1mrequires_grad_()" in to.file.getvalue()
    assert "\x1b[1mThe public check fails\x1b[0m" in to.file.getvalue()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Stuck? python -m grader hint 01_small q1", ["Stuck?", "python -m grader hint 01_small q1"]),
        (
            "This is why: python -m grader hint 02_bptt q1",
            ["This is why:", "python -m grader hint 02_bptt q1"],
        ),
        ("Here such short code: `x = 1 + y` is whole.", ["Here such short code:", "x = 1 + y is whole."]),
        ("The code `one + two + three + four` is not.", ["The code one + two + three +", "four is not."]),
        ("a_name_that_is_longer_than_a_whole_line is", ["a_name_that_is_longer_than_a_whole_line", "is"]),
        ("  indented: a\n\n b", ["  indented: a", "", " b"]),
        ("", [""]),
    ],
)
def test_what_is_to_be_copied_is_in_one_line(text, lines):
    to = terminal(30, color_system="standard")
    put(to, text)
    assert lines_of(to) == lines


def test_a_pipe_gets_the_text_as_it_is():
    """Where there is no terminal, a text is one line, and code keeps its backticks."""
    to = Console(file=io.StringIO(), width=20, soft_wrap=True, markup=False, _environ={})
    put(to, "To see why, read `x.grad` once more: python -m grader check 01_small", 2)
    put_markdown(to, "Read `x`\nagain.")
    assert to.file.getvalue() == (
        "  To see why, read `x.grad` once more: python -m grader check 01_small\nRead `x`\nagain.\n"
    )


def test_markdown_and_tables_have_no_spaces_at_their_ends():
    """Lines that were broken by hand are joined and wrapped at the terminal's width."""
    to = terminal(40, color_system=None)
    put_markdown(to, "Do the arithmetic\nfirst, and switch `requires_grad`\non last.")
    table = Table("name", "value", box=None, pad_edge=False)
    table.add_row("a longer name", "1")
    put_table(to, table)
    assert lines_of(to) == [
        "Do the arithmetic first, and switch",
        "requires_grad on last.",
        "name           value",
        "a longer name  1",
    ]


def test_all_that_students_read_is_printed_here():
    """No module of the students' commands prints past `put`, where nothing would be wrapped."""
    package = Path(console.__file__).parent
    bypasses = re.compile(r"\.print\(|\bprint\(|\becho\(")
    found = {
        path.name
        for path in (package / "cli" / "student.py", *sorted((package / "student").glob("*.py")))
        if bypasses.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"xray.py"}  # its output is in a notebook
