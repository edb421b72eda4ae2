"""Mutation testing: what no check finds is told, unless it is written down as equal, which has to hold."""

import re

import pytest
from click.testing import CliRunner
from tiny_course import ANSWERS, CHECKS, write_course

from grader.answers import equal
from grader.cli import main
from grader.course.course import Course
from grader.doctor.known_answers import answers_of
from grader.doctor.mutation import run as mutation_testing
from grader.doctor.mutation.mutants import Mutant
from grader.doctor.mutation.run import stale_equals, try_mutants
from grader.doctor.mutation.survivors import Origin, Survivor, read_equals
from grader.doctor.terminal import survivor_lines
from grader.errors import CourseError

AROUND = "no_grad is put around: the function"
CUT = f'\n\nequal("q1", "{AROUND}", why="nobody asks for a gradient", answers=["added"])\n'


@pytest.fixture
def course(tmp_path, monkeypatch):
    """The tiny course, whose checks of q1 look at values only, so that whatever cuts the graph survives."""
    monkeypatch.setattr(mutation_testing, "SEEDS", (1, 2))
    return write_course(tmp_path / "course")


def report(root, question=None, of=None):
    course = Course.find(root)
    told = []
    tell = lambda *standing: told.append(standing)  # noqa: E731
    (found,) = try_mutants(course, course.stems, question=question, jobs=2, tell=tell, of=of)
    assert told[0] == ("01_tiny", 0, found.mutants)
    assert [done for _, done, _ in told] == list(range(told[-1][2] + 1))
    return found


def changes(found):
    return {(one.origin.name, one.mutant.edit) for one in found.survivors}


def add(root, text):
    path = root / "tests" / "answers" / "01_tiny.py"
    path.write_text(ANSWERS + text, encoding="utf-8")


def test_what_no_check_finds_survives(course, shared_zygote):
    """Mutants of the reference and of accepted answers are judged; those that pass every check are told."""
    found = report(course, "q1")
    assert changes(found) == {("added", AROUND), ("reference", AROUND)}
    assert found.killed + found.implied + len(found.survivors) == found.mutants
    assert (found.killed > 5, found.implied > 5, found.equal) == (True, True, 0)
    assert {one.origin.question for one in found.survivors} == {"q1"}


def test_only_mutants_of_one_answer_are_tried(course, shared_zygote):
    """Those of the reference, or of an accepted answer; what is equal in others is not complained about."""
    add(course, CUT)
    found = report(course, of="reference")
    assert {one.origin.name for one in found.survivors} == {"reference"}
    assert (found.equal, found.complaints) == (0, [])
    assert report(course, "q1", of="added").equal == 1


def test_survivors_in_the_reference_come_first():
    """Below a line stand its edits; of those in accepted answers only so many are shown, others counted."""
    survivors = [
        Survivor(
            Origin("q1", name, line, (), 0), Mutant("edit", place, f"{after}\nend", "y = x + 1\nend"), seeds
        )
        for name, line, place, after, seeds in [
            ("other", 7, "x -> z", "y = z + 1", ()),
            ("reference", None, "1 -> 2", "y = x + 2", ()),
            ("third", 9, "x -> w", "y = w + 1", ()),
            ("reference", None, "x -> x.detach()", "y = x.detach() + 1", (2, 4)),
            ("other", 7, "1 -> 2", "y = x + 2", ()),
            ("reference", None, "1 -> 2", "y = 2 * x", ()),
        ]
    ]
    assert [*survivor_lines(survivors, 1)] == [
        "  q1, in the reference",
        "      - y = x + 1",
        "    ✗ 1 -> 2",
        "      + y = x + 2",
        "      also in other (line 7), another line",
        "    ✗ x -> x.detach()",
        "      + y = x.detach() + 1",
        "      found by seeds 2, 4 only",
        "  q1, in other (line 7)",
        "      - y = x + 1",
        "    ✗ x -> z",
        "      + y = z + 1",
        "  and 1 more: 1 in third; --mutants NAME shows those of an answer, -v all",
    ]
    assert "  q1, in third (line 9)" in survivor_lines(survivors, None)


def test_a_check_kills_what_survived(course, shared_zygote):
    """With a check that looks at the gradient, the detached answers are found."""
    path = course / "tests" / "hidden" / "test_01_tiny.py"
    text = CHECKS.replace("torch.randn(3)", "torch.randn(3, requires_grad=True)")
    path.write_text(
        text.replace(
            "    assert_close(d", '    assert doubled.seen.requires_grad, "Cut."\n    assert_close(d'
        )
    )
    assert not any("no_grad" in place for _, place in changes(report(course, "q1")))


def test_what_is_written_down_as_equal_is_no_survivor(course, shared_zygote):
    """It is counted apart, with what it implies; the others survive as before."""
    before = report(course, "q1")
    add(course, CUT)
    found = report(course, "q1")
    assert changes(before) - changes(found) == {("added", AROUND)}
    assert (found.equal, found.implied, found.complaints) == (1, before.implied, [])


def test_an_equal_may_speak_of_all_answers(course, shared_zygote):
    """Without the names of answers it covers the edit wherever it can be made."""
    add(course, CUT.replace(', answers=["added"]', ""))
    assert report(course, "q1").equal == 2


def test_an_equal_that_a_check_finds_is_complained_about(course, shared_zygote):
    """What was called equal, and is killed, was not."""
    add(course, '\n\nequal("q1", "x + x -> x - x", why="a mistake")\n')
    line = len(ANSWERS.splitlines()) + 3
    wanted = (
        f"q1, equal (line {line}) is not equal: a check tells x + x -> x - x from the answer; remove that"
    )
    assert report(course, "q1").complaints == [wanted]


def rotten_of(root):
    """What the plain doctor says of the edits that are written down as equal."""
    course = Course.find(root)
    return stale_equals(course, "01_tiny", answers_of(course, "01_tiny"))


def test_an_equal_whose_edit_is_gone_is_rotten(course):
    """When the line it speaks of has changed, the plain doctor says so."""
    add(course, CUT)
    assert rotten_of(course) == []
    line = f"q1, equal (line {len(ANSWERS.splitlines()) + 3})"
    for gone in (CUT.replace("added", "subtracted"), CUT.replace("no_grad", "grad")):
        add(course, gone)
        (complaint,) = rotten_of(course)
        assert complaint.startswith(f"{line} names an edit that cannot be made")


def test_luck_does_not_count(course, shared_zygote, monkeypatch):
    """A mutant that only some seeds find wrong survives, equal or not; the seeds are told."""
    monkeypatch.setattr(mutation_testing, "SEEDS", (1, 2, 3, 4, 5))
    path = course / "tests" / "hidden" / "test_01_tiny.py"
    path.write_text(CHECKS.replace("torch.randn(3)", "torch.randn(1).clamp(max=0)"))
    add(course, '\n\nequal("q1", "x + x -> x - x", why="zero")\n')
    one = next(one for one in report(course, "q1").survivors if one.mutant.edit == "x + x -> x - x")
    assert one.killed_by
    assert set(one.killed_by) < {1, 2, 3, 4, 5}


def test_the_command_tells_each_survivor(course, shared_zygote, monkeypatch):
    """Counts, then each edit with its question, the answers, and what it does; exit status 1."""
    monkeypatch.chdir(course)
    monkeypatch.setenv("COLUMNS", "110")
    run = CliRunner().invoke(main, ["doctor", "--mutants", "--question", "q1"])
    assert run.exit_code == 1
    told = (
        f"\n  q1, in the reference\n    ✗ {AROUND}\n      + @torch.no_grad()\n      also in added (line 8)\n"
    )
    assert told in run.output
    assert re.match(r"01_tiny: (\d+) mutants\n01_tiny: \1 mutants, ", run.output)
    assert run.output.endswith("or write down why it is equal.\n")


def test_without_survivors_the_command_is_content(course, shared_zygote, monkeypatch):
    """When every mutant is killed or written down, the exit status is 0."""
    monkeypatch.chdir(course)
    add(course, CUT.replace(', answers=["added"]', ""))
    run = CliRunner().invoke(main, ["doctor", "--mutants", "--question", "q1"])
    assert run.exit_code == 0
    assert " 2 equal by hand, 0 survive " in run.output
    assert run.output.endswith("\nNo survivor is unexplained.\n")


def test_an_answer_that_is_not_there_is_refused(course, monkeypatch):
    """Who misspells an answer, or names a wrong one, is told the accepted ones."""
    monkeypatch.chdir(course)
    run = CliRunner().invoke(main, ["doctor", "--mutants", "refrence"])
    assert run.exit_code == 2
    assert "no accepted answer is called refrence; did you mean reference?" in run.output


@pytest.mark.parametrize("options", [["--mutants", "--question", "q7"], ["--question", "q7"]])
def test_a_question_that_is_not_there_is_refused(course, monkeypatch, options):
    """An unknown question is refused with exit status 2."""
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
        'equal("q1", "a -> b", why="y", answer="added")',
        'equal("q9", "a -> b", why="y")',
    ],
)
def test_an_equal_that_says_too_little_is_refused(course, text):
    """Without a known question, a change or a reason, it is refused with file and line."""
    add(course, f"\n\n{text}\n")
    path = course / "tests" / "answers" / "01_tiny.py"
    with pytest.raises(CourseError, match=f"{path}, line {len(ANSWERS.splitlines()) + 3}: "):
        read_equals(path, {"q1": "double", "q2": "leaf"})


def test_equal_does_nothing():
    """It stands in a file that is read as text; imported after all, it is harmless."""
    assert equal("q1", "a -> b", why="it is", answers=["c"]) is None
