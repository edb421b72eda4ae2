"""A page for each student over all assignments, for the instructor; students do not get it."""

from __future__ import annotations

from collections.abc import Sequence

from grader.course.assignment import name_of
from grader.reports.about_version import about_excuse, about_lateness_and_adjustments, about_others
from grader.reports.templates import HTML
from grader.results.statistics import distinct_failures
from grader.results.store import ResultsStore
from grader.results.students import Student

FOLDER = "students"


def student_html(student: Student) -> str:
    """A student's submissions and scores as an HTML file, for `FOLDER` beside ``feedback``."""
    return HTML.get_template("student.html").render(
        student=student,
        distinct_failures=distinct_failures,
        name_of=name_of,
        about_lateness_and_adjustments=about_lateness_and_adjustments,
        about_excuse=about_excuse,
        about_others=about_others,
    )


def write_students(store: ResultsStore, students: Sequence[Student]) -> None:
    """Write the page of each student, and remove the pages of students who are gone."""
    folder = store.path / FOLDER
    pages = {f"{student.name}.html": student for student in students}
    for name, student in pages.items():
        store.write(folder / name, student_html(student))
    for path in folder.glob("*.html"):
        if path.name not in pages and path.is_file():
            path.unlink()
