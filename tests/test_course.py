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


@pytest.mark.parametrize("root", [ROOT, ROOT / "tests" / "small_course"], ids=["course", "small course"])
def test_a_course_agrees_with_itself(root, shared_zygote):
    """References, stubs, known answers and five seeds: the doctor has no complaint."""
    course = Course.find(root)
    complaints = [c for found in doctor.examine(course, course.stems, jobs=2) for c in found.complaints]
    assert complaints == []


def test_questions_are_worth_what_the_catalogue_says():
    """The points of every question are those that students and gradebooks were promised."""
    course = Course.find(ROOT)
    assert {stem: list(worth.values()) for stem, worth in course.all_points().items()} == POINTS
