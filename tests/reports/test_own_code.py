"""A student's own code in feedback: which cells, which lines, and what a hostile text can do: nothing."""

import re

import pytest
from test_feedback import HOSTILE, Page, both, check, fences, question, result

from grader.contracts.finding import Place
from grader.notebooks.reader import cells_of
from grader.reports.document import Row
from grader.reports.own_code import LONGEST_CELL, MOST_LINES, Excerpt, own_code

DEFINITION = "def make_weight():\n    return helped()"
LONG = [f"x{number} = {number}" for number in range(1, 1001)]
TOUCHED = [*LONG[:499], "def make_weight():", "    return 1", *LONG[501:]]


def code_of(cells, *places, cell=1, **changes):
    """The excerpts of a question that failed at places: (cell, line, text) each."""
    checks = [check(place=Place(number, line, "f", text)) for number, line, text in places] or [check()]
    told = question(**{"checks": checks, "cell": cell, **changes})
    return own_code(result(told), cells_of(cells)).get("q1", ())


def marked(excerpts):
    return {excerpt.cell: [row.number for row in excerpt.rows if row.is_marked] for excerpt in excerpts}


@pytest.mark.parametrize(
    ("cells", "places", "cell", "found"),
    [
        ([DEFINITION], [], 1, {1: []}),
        ([DEFINITION], [(1, 2, "return helped()")], 1, {1: [2]}),
        (["", DEFINITION, "1 / 0"], [(3, 1, "1 / 0"), (2, 2, "return helped()")], 2, {2: [2], 3: [1]}),
        (["x = 1", DEFINITION], [(1, 1, "x = 1"), (1, 1, "x = 1")], 2, {2: [], 1: [1]}),
        ([f"\n\n{DEFINITION}"], [(1, 2, "return helped()")], 1, {1: [4]}),  # as IPython numbers it
        (["f()\nf()\nf()"], [(1, 3, "f()")], 1, {1: [3]}),
        ([DEFINITION], [(1, 2, "return other()")], 1, {1: []}),
        ([DEFINITION], [(1, 2, "")], 1, {1: []}),
        ([f"{'x' * 300} = 1"], [(1, 1, "x" * 200)], 1, {1: [1]}),
        ([DEFINITION], [(7, 2, "return helped()")], 9, {}),
        ([DEFINITION], [(1, 2, "return helped()")], None, {1: [2]}),
        ([DEFINITION], [], None, {}),
    ],
)
def test_the_cell_and_the_lines_spoken_of(cells, places, cell, found):
    """The function's cell comes first, then others; a line is marked where it is the one that was quoted."""
    excerpts = code_of(cells, *places, cell=cell)
    assert marked(excerpts) == found
    assert [excerpt.cell for excerpt in excerpts] == [*found]


def test_the_rest_of_a_very_long_cell_is_not_read():
    (excerpt,) = code_of([f"{DEFINITION}\n{'x = 1' + chr(10)}" * (LONGEST_CELL // 10)])
    assert excerpt.rows[-1] == Row(None, "… the rest of this long cell is not shown")
    (excerpt,) = code_of([f"{'#' * LONGEST_CELL}\n{DEFINITION}"])
    assert [row.number for row in excerpt.rows] == [1, None]


@pytest.mark.parametrize(
    "changes",
    [{"checks": [check(outcome="passed", place=Place(1, 2, "f", "return helped()"))]}]
    + [{"status": status} for status in ("missing", "untouched")],
)
def test_no_code_stands_where_nothing_of_it_failed(changes):
    assert code_of([DEFINITION], **changes) == ()


@pytest.mark.parametrize(
    ("lines", "places", "shown"),
    [
        (LONG[:MOST_LINES], [], [(1, MOST_LINES)]),
        (LONG, [], [(1, 60), 940]),
        (TOUCHED, [], [497, (498, 559), 441]),
        (TOUCHED, [(1, 501, "return 1")], [490, (491, 559), 441]),
        (TOUCHED, [(1, 900, "x900 = 900")], [497, (498, 559), 330, (890, 910), 90]),
        (LONG, [(1, 2, "x2 = 2"), (1, 1000, "x1000 = 1000")], [(1, 12), 977, (990, 1000)]),
        (["def make_weight():", *["    1"] * MOST_LINES], [], [(1, 60), 41]),
        ([*["1"] * 99, "2", "3", "\n"], [(1, 101, "3")], [90, (91, 101)]),
    ],
)
def test_a_long_cell_is_cut_around_what_matters(lines, places, shown):
    """The function and the lines spoken of are there; between them a remark counts what is left out."""
    (excerpt,) = code_of(["\n".join(lines)], *places)
    found = []
    for row in excerpt.rows:
        if row.number is None:
            found.append(int(re.fullmatch(r"… (\d+) lines are not shown", row.text)[1]))
        elif found and isinstance(found[-1], tuple) and found[-1][1] == row.number - 1:
            found[-1] = (found[-1][0], row.number)
        else:
            found.append((row.number, row.number))
    assert found == shown


@pytest.mark.parametrize("cell", ["x" * 1024**2, "\n" * 1024**2 + "x", "`" * 1024**2, "\t" * 1024**2])
def test_a_page_stays_small_whatever_a_cell_is(cell):
    code = {"q1": code_of([cell], (1, 1, "x"))}
    assert all(len(text) < 50_000 for text in both(result(question()), code=code))


def test_a_row_is_a_line():
    (excerpt,) = code_of(["\tx\fy\x1b[31m\x85\u2028\u202e\u200b\N{GREEK SMALL LETTER PI}"])
    assert [row.text for row in excerpt.rows] == ["    x�y�[31m����π"]


def test_own_code_is_no_markup():
    lines = [HOSTILE, "</pre></details></code>", "```", "````", "~~~~", "</span></mark>", "::error::x"]
    code = {"q1": code_of(["\n".join(lines)], (1, 2, lines[1]))}
    page, text = both(result(question(), question("q2")), code=code)
    shown = [line.replace("\u202e", "�") for line in lines]
    parsed = Page(page)  # which fails where an element is closed that is not open
    assert not parsed.all("script")
    assert all(line in "".join(parsed.texts) for line in shown)
    ((info, content),) = fences(text)
    assert (info, [line[8:] for line in content.splitlines()]) == ("text", shown)
    assert "## q2" in text.partition(content)[2]


def test_which_lines_are_marked_is_said():
    rows = [Row(None, "… 8 lines are not shown"), Row(9, "a", True), Row(10, ""), Row(11, "b", True)]
    code = {"q1": [Excerpt(3, rows), Excerpt(12, rows[1:3]), Excerpt(14, rows[2:3])]}
    told = "code cell 3, lines 9 and 11 are marked; code cell 12, line 9 is marked; code cell 14"
    page, text = both(result(question()), code=code)
    for form in (Page(page).text, text):
        assert "Your code" in form.partition(told)[0]
        assert told in form
        assert form.count("▶") == 4
    assert len(Page(page).all("mark")) == 3
    assert "open" in Page(page).all("details", "code")[0]
    assert fences(text)[0][1] == "        … 8 lines are not shown\n▶    9  a\n    10\n▶   11  b"


HELPED = [
    "import torch",
    "def twice(x):\n    # of nothing\n    return x + nothing",
    "def leaf(n):\n    return torch.ones(n)",
    "def double(x):\n    return twice(x)",
]
SHOWN = "**Your code** code cell 4; code cell 2, line 3 is marked"


def test_a_page_that_was_lost_is_written_again(klass, close_the_lab):
    klass.grade(ben=HELPED)
    path = klass.out / "feedback" / "ben" / "01_tiny.md"
    page = path.read_text(encoding="utf-8")
    assert SHOWN in page
    assert "**Your code** code cell 3\n" in page
    assert "▶    3      return x + nothing" in page
    close_the_lab()
    path.unlink()
    klass.grade()
    assert path.read_text(encoding="utf-8") == page
