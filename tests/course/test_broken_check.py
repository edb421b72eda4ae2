"""A check that breaks costs no student anything before its author has heard of it."""

import pytest
from tiny_course import RIGHT

SEEN = "    assert made.seen.tensor().is_leaf"
W = "    w = made.seen.tensor()\n    assert "


@pytest.fixture
def klass(klass):
    klass.hand_in("ada", RIGHT)
    return klass


def line_of(klass, text):
    lines = (klass.course / "tests" / "hidden" / "test_01_tiny.py").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("w.isleaf", "'Tensor' object has no attribute 'isleaf'; w is a tensor, did you mean is_leaf?"),
        ("not w.is_leaf", "This is not a leaf."),
    ],
)
def test_nobody_is_judged_by_a_check_that_the_reference_fails(klass, broken, told):
    """`grade` names file, line and the error's own text, exits 2 and writes no result."""
    klass.edit_checks((SEEN, W + broken))
    ended = klass.run("grade", klass.submissions, "--out", klass.out)
    assert ended.exit_code == 2
    assert {path.relative_to(klass.out).parts[0] for path in klass.files()} <= {"reference", ".lock"}
    place = f"test_01_tiny.py, line {line_of(klass, broken)}: "
    (line,) = [line for line in ended.stderr.splitlines() if place in line]
    assert line.endswith(f"{told} (test_leaf)")


def test_a_class_that_was_graded_keeps_its_results(klass):
    klass.grade()
    before = klass.files("submissions", "feedback")
    klass.edit_checks((SEEN, f"{W}w.isleaf"))
    assert klass.run("grade", klass.submissions, "--out", klass.out).exit_code == 2
    assert klass.files("submissions", "feedback") == before


def test_a_check_that_breaks_on_a_student_is_told_to_the_instructor(klass):
    """Where a check breaks on one student's facts only, `grade` and `explain` say where and why, once."""
    klass.edit_checks((SEEN, f"{W}w.is_leaf and {{4.0: 1}}[w.value[0] + 4]"))
    klass.hand_in("ben", [*RIGHT[:2], "def leaf(n):\n    return torch.ones(n).requires_grad_()"])
    said = klass.run("grade", klass.submissions, "--out", klass.out).stderr
    told = f"test_01_tiny.py, line {line_of(klass, '{4.0: 1}')}: KeyError: 5.0"
    assert said.count(told) == 1 and "ben/01_tiny" in said and "ada/01_tiny" not in said
    assert " ".join(klass.explain("ben", "01_tiny").stdout.split()).count(told) == 1
