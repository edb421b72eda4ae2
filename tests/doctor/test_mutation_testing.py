"""Mutation testing: what no check finds is told, unless it is written down as equal, which has to hold."""

import re

import pytest
from click.testing import CliRunner
from tiny_course import ANSWERS, CHECKS, drawing, write_course

from grader.cli import main
from grader.course.course import Course
from grader.doctor import mutation_testing
from grader.doctor.known_answers import equals_of
from grader.doctor.mutants import Mutant
from grader.doctor.mutation_testing import Survivor, stale_equals, try_mutants
from grader.doctor.terminal import survivor_lines
from grader.errors import CourseError

AROUND = "no_grad is put around: the function"
CUT = f'\n\nequal("q1", "{AROUND}", why="nobody asks for a gradient")\n'
LINE = len(ANSWERS.splitlines()) + 3  # of what is added


@pytest.fixture
def course(tmp_path, monkeypatch):
    """The tiny course, whose checks of q1 look at values only, so that whatever cuts the graph survives."""
    monkeypatch.setattr(mutation_testing, "SEEDS", (1, 2))
    return write_course(tmp_path / "course")


def report(root):
    course = Course.find(root)
    told = []
    (found,) = try_mutants(course, course.stems, question="q1", jobs=2, tell=lambda *of: told.append(of))
    assert [done for _, done, _ in told] == list(range(told[-1][2] + 1))
    return found


def edits(found):
    return {one.mutant.edit for one in found.survivors}


def add(root, text):
    path = root / "tests" / "answers" / "01_tiny.py"
    path.write_text(ANSWERS + text, encoding="utf-8")


def test_survivors_of_a_line_stand_below_it():
    """The line that is removed, once, then each edit with the line it adds; luck is told."""
    survivors = [
        Survivor("q1", Mutant("edit", place, f"{after}\nend", "y = x + 1\nend"), seeds)
        for place, after, seeds in [
            ("1 -> 2", "y = x + 2", ()),
            ("x -> x.detach()", "y = x.detach() + 1", (2, 4)),
        ]
    ]
    assert [*survivor_lines(survivors)] == [
        "  q1",
        "      - y = x + 1",
        "    ✗ 1 -> 2",
        "      + y = x + 2",
        "    ✗ x -> x.detach()",
        "      + y = x.detach() + 1",
        "      found by seeds 2, 4 only",
    ]


def test_a_check_kills_what_survived(course, shared_zygote):
    path = course / "tests" / "hidden" / "test_01_tiny.py"
    text = CHECKS.replace(*drawing("torch.randn(3, requires_grad=True)"))
    asserts = '    assert doubled.seen.tensor().requires_grad, "Cut."\n    assert_same_values(d'
    path.write_text(text.replace("    assert_same_values(d", asserts))
    assert AROUND not in edits(report(course))


def test_an_equal_that_a_check_finds_is_complained_about(course, shared_zygote):
    add(course, '\n\nequal("q1", "2 -> 3", why="a mistake")\n')
    assert report(course).complaints == [
        f"q1, equal (line {LINE}) is not equivalent: a check finds 2 -> 3; remove this entry"
    ]


def test_an_equal_whose_edit_is_gone_is_stale(course):
    """When the line it speaks of has changed, the plain doctor says so."""
    add(course, CUT)
    assert stale_equals(Course.find(course), "01_tiny") == []
    add(course, CUT.replace("no_grad", "grad"))
    (complaint,) = stale_equals(Course.find(course), "01_tiny")
    assert complaint.startswith(f"q1, equal (line {LINE}) names an edit that cannot be made")


def test_luck_does_not_count(course, shared_zygote, monkeypatch):
    """A mutant that only some seeds find wrong survives, equal or not; the seeds are told."""
    monkeypatch.setattr(mutation_testing, "SEEDS", (1, 2, 3, 4, 5))
    path = course / "tests" / "hidden" / "test_01_tiny.py"
    path.write_text(CHECKS.replace(*drawing("torch.randn(1).clamp(max=0)")))
    add(course, '\n\nequal("q1", "2 -> 3", why="zero")\n')
    (one,) = (one for one in report(course).survivors if one.mutant.edit == "2 -> 3")
    assert set() < set(one.killed_by) < {1, 2, 3, 4, 5}


@pytest.fixture
def try_q1(course, shared_zygote, monkeypatch):
    monkeypatch.chdir(course)
    monkeypatch.setenv("COLUMNS", "110")
    return lambda: CliRunner().invoke(main, ["doctor", "--mutants", "--question", "q1"])


def test_what_no_check_finds_survives(try_q1):
    """Counts, then each edit with its question and what it does; exit status 1."""
    run = try_q1()
    assert run.exit_code == 1
    assert f"\n  q1\n    ✗ {AROUND}\n      + @torch.no_grad()\n" in run.output
    assert run.output.count("✗") == 1
    counts = r"\n01_tiny: (\d+) mutants: (\d+) killed, 0 equivalent, 1 survived \(not counting (\d+) smaller"
    made, killed, implied = map(int, re.search(counts, run.output).groups())
    assert made == killed + implied + 1 and killed > 2 < implied
    assert run.output.endswith("or record why it is equivalent.\n")


def test_what_is_written_down_as_equal_is_no_survivor(course, try_q1):
    """If every mutant is killed or recorded as equivalent, the exit status is 0."""
    add(course, CUT)
    run = try_q1()
    assert run.exit_code == 0
    assert " 1 equivalent, 0 survived " in run.output
    assert run.output.endswith("\nEvery mutant is killed or recorded as equivalent.\n")


@pytest.mark.parametrize("options", [["--mutants", "--question", "q7"], ["--question", "q7"]])
def test_a_question_that_is_not_there_is_refused(course, monkeypatch, options):
    monkeypatch.chdir(course)
    run = CliRunner().invoke(main, ["doctor", *options])
    assert run.exit_code == 2
    assert "no question q7; here are q1, q2" in run.output


@pytest.mark.parametrize(
    "text",
    [
        'equal("q1", why="no change")',
        'equal("q1", "a -> b")',
        'equal("q1", "a -> b", why="")',
        'equal("q1", line, why="no literal")',
        'equal("q1", "a -> b", why="y", answers=["added"])',
        'equal("q9", "a -> b", why="y")',
    ],
)
def test_an_equal_that_says_too_little_is_refused(course, text):
    add(course, f"\n\n{text}\n")
    path = course / "tests" / "answers" / "01_tiny.py"
    with pytest.raises(CourseError, match=f"{path}, line {LINE}: "):
        equals_of(Course.find(course), "01_tiny")
