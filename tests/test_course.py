"""The course itself, and the small course of the hardest questions: each agrees with itself."""

from pathlib import Path

import pytest

from grader import doctor
from grader.course import Course

ROOT = Path(__file__).parent.parent


# Each seed takes a minute; `make test-all` and `make doctor` take all five.
@pytest.mark.parametrize("seeds", [doctor.SEEDS[:1], pytest.param(doctor.SEEDS, marks=pytest.mark.long)])
@pytest.mark.parametrize("root", [ROOT, ROOT / "tests" / "small_course"], ids=["course", "small course"])
def test_a_course_agrees_with_itself(root, seeds, shared_zygote):
    """References, stubs, public checks and known answers, for each seed: the doctor has no complaint."""
    course = Course.find(root)
    examined = doctor.examine(course, course.stems, jobs=2, seeds=seeds)
    assert [complaint for found in examined for complaint in found.complaints] == []
