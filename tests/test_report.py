"""What an instructor sees of a class, small or large: on the terminal, in the report and in its figures."""

from io import StringIO

import pytest
from rich.console import Console

from grader import class_table
from grader.class_table import print_class
from grader.evidence import Evidence
from grader.outcome import Outcome
from grader.pages import MAX_FAILED_CELLS, failed_cells, report_html
from grader.row import Rows
from grader.summary import summarise

SHARED = Rows()


def row(
    student,
    *,
    score=3.0,
    status="answered",
    message=None,
    error=None,
    flags=(),
    stem="01_tiny",
    at="1",
    **other,
):
    """A row of a class in which there is one question of three points."""
    check = {
        "id": "test_it",
        "title": "It is",
        "outcome": "failed" if message else "passed",
        "message": message,
    }
    question = {"id": "q1", "title": "Do it", "status": status, "score": score, "max_score": 3.0, **other}
    result = {
        "student": student,
        "assignment": stem,
        "notebook": f"{student}/{stem}.ipynb",
        "status": "error" if error else "graded",
        "error": error,
        "score": score,
        "max_score": 3.0,
        "superseded": [],
        "flags": [{"what": what, "cell": 1} for what in flags],
        "provenance": {"notebook_sha256": "0", "graded_at": at},
        "questions": [{**question, "checks": [check]}],
    }
    return SHARED.row_of(result, stem or "essay")


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """Print a class; what stood on the terminal."""

    def shown(rows, absent=(), without=(), note=None):
        screen = StringIO()
        monkeypatch.setattr(class_table, "Console", lambda **_: Console(file=screen, width=120))
        outcome = Outcome(list(rows), list(absent), "landlock+seccomp", 1, list(without), note)
        print_class(outcome, tmp_path)
        return screen.getvalue()

    return shown


def test_a_class_of_ordinary_size_is_shown_row_by_row(shown):
    """Up to a hundred, everybody has a line."""
    text = shown([row(f"s{number:03}") for number in range(99)], [("zoe", "01_tiny")])
    assert sum(line.startswith("s0") for line in text.splitlines()) == 99
    assert "zoe" in text


def test_a_large_class_is_summed_up(shown):
    """Of more than a hundred a person is told how each assignment went, and whom to look at."""
    rows = [row(f"s{number:04}", score=number % 4) for number in range(4_000)]
    rows += [row(f"t{number:04}", score=0, error="It is empty.") for number in range(17)]
    rows += [row(f"u{number:04}", flags=["ctypes"]) for number in range(40)]
    lines = shown(rows, [("zoe", "01_tiny")]).splitlines()
    assert len(lines) < 40
    assert lines[1].split() == ["01_tiny", "4057", "1.5", "of", "3", "17", "40", "1"]
    named = [line for line in lines if line.startswith(("s", "t0", "u0")) and "01_tiny" in line]
    assert len(named) == 20
    assert "It is empty." in named[0]
    assert "flagged: ctypes" in named[-1]
    assert "... and 37 more, see report.html" in lines
    assert "4040 graded, 17 in error, 1 new. Protection: landlock+seccomp." in lines


def test_a_notebook_of_no_assignment_is_named_in_a_large_class(shown):
    """It belongs to no row of the summary, and is not forgotten."""
    rows = [row(f"s{number:03}") for number in range(200)]
    text = shown([*rows, row("zed", stem=None, error="zed/None.ipynb is no assignment of this course.")])
    assert "zed" in text
    assert "no assignment of this course" in text


def test_long_lists_of_names_are_cut(shown):
    """Thousands of folders without a notebook do not push everything else off the screen."""
    text = shown([row("ada")], without=[f"n{number:04}" for number in range(1_000)])
    assert "and 980 more" in " ".join(text.split())
    assert len(text.splitlines()) < 20


def test_a_note_is_printed(shown):
    """What else whoever grades should know stands at the end."""
    assert shown([row("ada")], note="Before, a was graded into b.").splitlines()[-1].startswith("Before, a")


def test_figures_of_an_assignment():
    """Scores, how many earned a question in full, in part, not at all, and why a check failed."""
    rows = [
        row("a"),
        row("b", score=1.0, message="It is not."),
        row("c", score=0.0, message="It was."),
        row("d", score=1.0, message="It is not."),
        row("e", score=0.0, status="untouched", message="e is still as it was handed out."),
        row("f", score=0.0, status="missing", message="It is empty.", error="It is empty.", flags=["gc"]),
        row("g", stem=None, error="?"),
        row("h", stem="00_other"),
    ]
    other, tiny = summarise(rows)
    assert (other.stem, other.scores, other.mean) == ("00_other", [3.0], 3.0)
    assert (tiny.scores, tiny.max_score) == ([3.0, 1.0, 0.0, 1.0, 0.0, 0.0], 3.0)
    assert (tiny.errors, tiny.flagged) == (1, 1)
    (question,) = tiny.questions
    assert (question.full, question.part, question.none, question.untouched) == (1, 2, 3, 2)
    (check,) = question.checks
    assert (check.failed, check.of, check.message) == (3, 4, "It is not.")
    assert check.diagnoses == [("It is not.", 2), ("It was.", 1)]


def test_the_newest_result_says_what_was_asked():
    """Titles and worth are those of the course as it is now, of whatever course the others are."""
    (one,) = summarise([row("a", at="2025", id="q2"), row("b", at="2026", title="Do it well"), row("c")])
    assert [(question.id, question.title, question.full) for question in one.questions] == [
        ("q1", "Do it well", 2)
    ]


def test_the_report_of_a_large_class_names_everybody():
    """The page has a line for each, with a link to the feedback."""
    page = report_html([row(f"s{number:04}") for number in range(1_000)], [("zoe", "01_tiny")], "none")
    assert page.count('.html">01_tiny</a>') == 1_000
    assert 'href="feedback/s0999/01_tiny.html"' in page
    assert "zoe" in page


def test_of_very_many_failed_cells_the_first_are_told():
    """A page is no way out for thousands of messages."""
    cells = [{"cell": number, "raised": None, "fault": "it was too slow"} for number in range(1, 31)]
    told = failed_cells(Evidence(cells=cells))
    assert (len(told), told[-1]) == (MAX_FAILED_CELLS + 1, "And 10 more.")
    assert len(failed_cells(Evidence(cells=cells[:MAX_FAILED_CELLS]))) == MAX_FAILED_CELLS
