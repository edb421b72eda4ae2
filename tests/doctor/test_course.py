"""The course agrees with itself."""

from pathlib import Path

import pytest

from grader.course.course import Course, observe_reference
from grader.doctor import examine as doctor
from grader.doctor.known_answers import answers_of
from grader.grading.judge import judge

ROOT = Path(__file__).parents[2]
COURSE = Course.find(ROOT)
PART = 3  # in the quick form, of one question every so many-th answer is tried: all of them take minutes
#: Each check of the others passes a right notebook in `test_sample_class.py`, or the reference in
#: `test_06_views.py` of the hidden checks, in every run.
PASSED_NOWHERE = ("02_backward_twice", "04_detach", "07_grad_modes", "08_functions_and_hooks")
ONE, MANY = (1,), (1, 2, 3, 4, 5)  # seeds


@pytest.mark.long
@pytest.mark.parametrize("seeds", [ONE, MANY], ids=["one seed", "five seeds"])
def test_the_course_agrees_with_itself(seeds, shared_zygote):
    examined = doctor.examine(COURSE, COURSE.stems, jobs=2, seeds=seeds)
    assert [complaint for found in examined for complaint in found.complaints] == []


@pytest.mark.parametrize(
    "stem", [pytest.param(s, marks=[] if s in PASSED_NOWHERE else [pytest.mark.long]) for s in COURSE.stems]
)
def test_no_check_fails_its_reference(stem, zygote):
    assert failed_by_reference(zygote, stem, seed=1) == []


@pytest.mark.parametrize("stem", COURSE.stems)
def test_a_part_of_the_answers_is_judged_as_they_say(stem, shared_zygote, monkeypatch):
    """Of a question, the doctor complains only of what the answers that are left out would show."""
    monkeypatch.setattr(doctor, "answers_of", lambda *where: answers_of(*where)[::PART])
    of_others = (
        "fails no known-wrong answer",
        "names an edit that cannot be made",
        "every known-wrong answer",
        "it records answers that don't exist",
    )
    questions = COURSE.assignments[stem].questions
    one = questions[COURSE.stems.index(stem) % len(questions)]
    examined = doctor.examine(COURSE, [stem], jobs=2, question=one.id, seeds=ONE)
    complaints = [complaint for report in examined for complaint in report.complaints]
    assert [one for one in complaints if not any(words in one for words in of_others)] == []


@pytest.mark.long
@pytest.mark.parametrize("stem", COURSE.stems)
def test_no_seed_fails_a_reference(stem, zygote):
    """A class is refused where a check fails its reference, so that passes whatever inputs are drawn."""
    failed = {seed: failed_by_reference(zygote, stem, seed) for seed in range(1, 41)}
    assert not any(failed.values()), failed


def failed_by_reference(zygote, stem, seed):
    expected, seen = (observe_reference(zygote, COURSE, stem, seed, expected=False) for _ in range(2))
    verdicts = judge(COURSE.rubric(stem), seen, expected)
    return [check for check, verdict in verdicts.items() if verdict.outcome != "passed"]
