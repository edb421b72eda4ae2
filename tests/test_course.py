"""The course itself, and the small course of the hardest questions: each agrees with itself."""

from pathlib import Path

import pytest

from grader import doctor
from grader.course import Course

ROOT = Path(__file__).parent.parent

#: Points of the questions, as the catalogue of exercises fixes them.
POINTS = {
    "01_leaves": [5, 6, 5, 5, 5, 5],
    "03_truncated_bptt": [8, 6, 6, 5, 5],
    "05_inplace_reinit": [5, 5, 5, 5, 5, 5],
}


# Each seed takes a minute; `make test-all` and `make doctor` take all five.
@pytest.mark.parametrize("seeds", [doctor.SEEDS[:1], pytest.param(doctor.SEEDS, marks=pytest.mark.long)])
@pytest.mark.parametrize("root", [ROOT, ROOT / "tests" / "small_course"], ids=["course", "small course"])
def test_a_course_agrees_with_itself(root, seeds, shared_zygote):
    """References, stubs, public checks and known answers, for each seed: the doctor has no complaint."""
    course = Course.find(root)
    examined = doctor.examine(course, course.stems, jobs=2, seeds=seeds)
    assert [complaint for found in examined for complaint in found.complaints] == []


def test_questions_are_worth_what_the_catalogue_says():
    """The points of every question are those that students and gradebooks were promised."""
    course = Course.find(ROOT)
    assert {stem: list(worth.values()) for stem, worth in course.all_points().items()} == POINTS
