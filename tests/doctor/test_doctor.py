"""The doctor: silent over a course that agrees with itself, and one complaint for every contradiction."""

import re

import pytest
from tiny_course import ANSWERS, CHECKS, MASTER, write_course

from grader.course.build import build
from grader.course.course import Course
from grader.doctor import examine as doctor


@pytest.fixture
def complaints(tmp_path, shared_zygote):
    """What the doctor says about the tiny course after some text of it was replaced by other text."""

    def examine(*replaced, built=True, jobs=2, seeds=(1, 2)):
        root = write_course(tmp_path / "course")
        for file, text, old, new in _edits(root, replaced):
            assert old in text
            file.write_text(text.replace(old, new), encoding="utf-8")
        course = Course.find(root)
        if built:
            build(course.assignments.values(), root / "assignments", course.all_points())
        found = list(doctor.examine(course, course.stems, jobs=jobs, seeds=seeds))
        return [complaint for one in found for complaint in one.complaints]

    return examine


def _edits(root, replaced):
    files = {
        "master": (root / "solutions" / "01_tiny.py", MASTER),
        "checks": (root / "tests" / "hidden" / "test_01_tiny.py", CHECKS),
        "answers": (root / "tests" / "answers" / "01_tiny.py", ANSWERS),
    }
    return [(*files[which], old, new) for which, old, new in replaced]


def test_a_course_that_agrees_with_itself_gets_no_complaint(complaints):
    """The tiny course is in order."""
    assert complaints() == []


def test_a_reference_that_fails_is_told(complaints):
    """A check that the reference fails is named."""
    assert any(
        "test_leaf fails the reference" in c for c in complaints(("checks", "seen.is_leaf", "seen.grad_fn"))
    )


def test_an_accepted_answer_that_fails_is_told(complaints):
    """A right answer that a check refuses is named, with what it would be told."""
    told = complaints(("answers", "return x + x", "return x + x + 1"))
    assert any("added" in c and "is right, but fails test_double" in c for c in told)


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_a_probe_of_the_same_inputs_in_every_run_is_told(complaints, seeds):
    """However few seeds are tried, the reference shows which inputs none of them changes."""
    told = complaints(
        ("checks", "student.double(torch.randn(3))", "student.double(torch.ones(3))"), seeds=seeds
    )
    assert any("draws nothing at random" in c for c in told)


def test_a_probe_that_draws_after_a_call_is_told(complaints):
    """Where a right class that draws random numbers would be given other inputs, its check is named."""
    before, after = re.split(r"def double\(x\).*?# END SOLUTION", MASTER, maxsplit=1, flags=re.DOTALL)
    as_class = """class double:
    \"\"\"Twice x.\"\"\"
    # BEGIN SOLUTION
    def __init__(self, x):
        self.value = 2 * x
    # STUB
    # def __init__(self, x):
    #     self.value = x
    # END SOLUTION"""
    twice = """    first = student.double(torch.randn(3))
    return first.value + student.double(torch.randn(3)).value"""
    told = complaints(
        ("master", MASTER, before + as_class + after.replace("double(2) ==", "double(2).value ==")),
        ("checks", "    return student.double(torch.randn(3))", twice),
        ("answers", "    return x + x", "    raise ValueError"),
        built=False,
    )
    assert any("test_double fails a right answer that draws random numbers, too: " in c for c in told)


def test_a_wrong_answer_that_fails_other_checks_is_told(complaints):
    """The list of a wrong answer is exact."""
    told = complaints(
        ("answers", 'fails=["test_requires_grad"]', 'fails=["test_leaf", "test_requires_grad"]')
    )
    assert any("plain" in c and "its list says" in c for c in told)


def test_a_wrong_answer_that_passes_is_told(complaints):
    """A wrong answer that earns everything shows that a check is missing."""
    told = complaints(("answers", "return x * x", "return x * 2"))
    assert any("squared" in c and "fails nothing" in c for c in told)
    assert any("squared" in c and "earns more than half" in c for c in told)


def test_a_check_that_catches_nothing_is_told(complaints):
    """A check no wrong answer fails is named."""
    idle = '"This is not a leaf."\n\n\ndef test_idle(made):\n    """Idle."""\n    made.seen'
    told = complaints(("checks", '"This is not a leaf."', idle))
    assert any("test_idle fails no wrong answer" in c for c in told)


def test_a_stub_that_passes_its_public_check_is_told(complaints):
    """Students would be told that the broken code is right."""
    told = complaints(("master", "double(2) == 4", "double(2) > 1"))
    assert any("the stub passes its public check" in c for c in told)


def test_a_reference_that_fails_its_public_check_is_told(complaints):
    """Students with the right answer would be told that it is wrong."""
    told = complaints(("master", "double(2) == 4", "double(2) == 5"))
    assert any("the reference fails the public check" in c for c in told)


def test_assignments_that_are_not_current_are_told(complaints):
    """assignments/ must be what build writes."""
    assert any("is not what `build` writes" in c for c in complaints(built=False))


def test_a_notebook_whose_demonstration_fails_is_told(complaints):
    """The untouched notebook runs from top to bottom."""
    told = complaints(("master", "# %%\nimport torch\n", "# %%\nimport torch\n\ndouble(2)\n"))
    assert any("untouched notebook fails: Code cell 2 stopped with NameError" in c for c in told)


def test_an_accepted_answer_that_fails_its_public_check_is_told(complaints):
    """Students with another right answer would be told that it is wrong: which, and in what words."""
    taken_for_the_only_way = 'double(2) == 4 and "+" not in __import__("inspect").getsource(double)'
    told = complaints(("master", "double(2) == 4", taken_for_the_only_way))
    who = "q1, added (line 8) is right"
    assert told == [f"{who}, but fails the public check test_double(double): This is not twice as much."]


def test_one_accepted_answer_is_not_blamed_for_another(complaints):
    """What an answer leaves behind fails the next in the same worker, but not in one of its own."""
    spoiling = (
        '@accepted("q1")\ndef spoiling(x):\n    """Right as far as it goes."""\n'
        "    __import__('sys').spoilt = True\n    return 2 * x\n\n\n"
        '@accepted("q1")\ndef added(x):\n    """Needs what the one before has spoilt."""\n'
        "    return x if hasattr(__import__('sys'), 'spoilt') else x + x\n"
    )
    added = '@accepted("q1")\ndef added(x):\n    """Twice is once and once."""\n    return x + x\n'
    assert complaints(("answers", added, spoiling), jobs=1) == []


def test_a_wrong_answer_that_passes_its_public_check_is_told(complaints):
    """Students who make just this mistake would see a green tick; an author has to accept that by hand."""
    told = complaints(("answers", 'fails=["test_double"], public=True', 'fails=["test_double"]'))
    (complaint,) = told
    assert complaint.startswith("q1, squared (line 14) is wrong, and passes the public check: mend the check")


def test_a_wrong_answer_that_fails_its_public_check_is_not_accepted_as_passing(complaints):
    """When the check is mended, the mark has to go."""
    told = complaints(("master", "double(2) == 4", "double(3) == 6"))
    assert told == ["q1, squared (line 14) fails the public check: remove public=True, as --accept does"]


def test_accepting_writes_what_public_checks_pass(tmp_path, shared_zygote):
    """--accept brings the marks up to date, so that the next examination is content with them."""
    root = write_course(tmp_path / "course")
    path = root / "tests" / "answers" / "01_tiny.py"
    path.write_text(ANSWERS.replace(", public=True", ""), encoding="utf-8")
    course = Course.find(root)
    (found, *_) = doctor.examine(course, course.stems, jobs=2, seeds=(1,), accept_lists=True)
    assert found.complaints == []
    assert found.public == [("q1", "squared"), ("q2", "computed")]
    assert path.read_text(encoding="utf-8") == ANSWERS
