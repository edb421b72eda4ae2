"""The course agrees with itself."""

from pathlib import Path

import pytest

from grader.course.course import Course, observe_reference
from grader.doctor import examine as doctor
from grader.doctor.known_answers import answers_of
from grader.grading.judge import judge

ROOT = Path(__file__).parents[2]
PART = 32  # every so many-th answer is tried in the quick form, with a seed: all of them take minutes
ONE, MANY = (1,), (1, 2, 3, 4, 5)  # seeds


def complaints(root, seeds):
    course = Course.find(root)
    examined = doctor.examine(course, course.stems, jobs=2, seeds=seeds)
    return [complaint for found in examined for complaint in found.complaints]


@pytest.mark.long
@pytest.mark.parametrize("seeds", [ONE, MANY], ids=["one seed", "five seeds"])
def test_the_course_agrees_with_itself(seeds, shared_zygote):
    """References, stubs, public checks and known answers, for each seed: the doctor has no complaint."""
    assert complaints(ROOT, seeds) == []


def test_a_part_of_the_answers_is_judged_as_they_say(shared_zygote, monkeypatch):
    """No check fails its reference; of a part of the answers nothing is told but what needs the others."""
    monkeypatch.setattr(doctor, "answers_of", lambda *where: answers_of(*where)[::PART])
    of_others = (
        "fails no wrong answer",
        "names an edit that cannot be made",
        "of every wrong",
        "no wrong answer",
    )
    told = complaints(ROOT, ONE)
    assert [one for one in told if not any(words in one for words in of_others)] == []


@pytest.mark.long
@pytest.mark.parametrize("stem", Course.find(ROOT).stems)
def test_no_seed_fails_a_reference(stem, zygote):
    """A class is refused where a check fails its reference, so that passes whatever inputs are drawn."""
    course = Course.find(ROOT)
    failed = []
    for seed in range(1, 41):
        expected = observe_reference(zygote, course, stem, seed)
        seen = observe_reference(zygote, course, stem, seed, expected=False)
        verdicts = judge(course.rubric(stem), seen, expected)
        failed += [(seed, check) for check, verdict in verdicts.items() if verdict.outcome != "passed"]
    assert failed == []
