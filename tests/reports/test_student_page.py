"""The page of a student over all assignments, which the instructor reads."""

from dataclasses import replace

from factories import row

from grader.contracts.finding import Finding
from grader.people.lateness_and_adjustments import LatenessAndAdjustments, with_lateness_and_adjustments
from grader.reports.student_page import student_html, write_students
from grader.results.model import Adjustment, Flag, Late, MissingSubmission
from grader.results.store import ResultsStore
from grader.results.students import students_of


def page_of(*results, absent=()):
    (student,) = students_of(results, absent)
    return student_html(student)


def test_a_page_has_all_assignments():
    given = (Adjustment("q1", -1.5, "Copied <b>."), Adjustment(None, 2.0, "An appeal."))
    standing = LatenessAndAdjustments("2026-11-20T21:13:00+00:00", Late(130, 0.5), given)
    first = replace(
        with_lateness_and_adjustments(row("ada", score=2.0), standing),
        flags=(Flag("ctypes", 4, "Found `ctypes`."),),
    )
    first = replace(first, superseded=("ada/old.ipynb",))
    second = replace(row("ada", stem="02_other"), late=Late(3, 0.0, "2026-11-20T21:00:00+00:00"))
    page = page_of(first, second, absent=[MissingSubmission("ada", "03_last", {"q1": 4.0})])
    for text in (
        "<bdi>ada</bdi>: 5 of 10 points, 50 %",
        "<h2>01_tiny: 2 of 3</h2>",
        "This version, ada/01_tiny.ipynb, was submitted on 2026-11-20 21:13:00 (UTC+0000).",
        "Superseded: ada/old.ipynb.",
        "The system marked it as late, which costs 0.5 points.",
        "Adjustment: 1.5 points subtracted from q1: Copied &lt;b&gt;.",
        "Adjustment: 2 points added to the assignment: An appeal.",
        "ctypes (code cell 4): Found <code>ctypes</code>.",
        "q1 0.5 of 3",
        '<a href="../feedback/ada/01_tiny.html">',
        "It was due on 2026-11-20 21:00:00 (UTC+0000) and is late by 3 min, which costs nothing.",
        "<h2>03_last: missing, 0 of 4</h2>",
        '<section id="02_other">',
    ):
        assert text in page


def test_a_page_tells_each_mistake_once():
    same = [Finding("wrong", f"Step {number} is wrong.", group="step") for number in (2, 3)]
    page = page_of(row("ada", score=0.0, message=[*same, "It is <no> leaf."]))
    assert "<strong>q1</strong> Step 2 is wrong." in page
    assert "Step 3" not in page
    assert "It is &lt;no&gt; leaf." in page


def test_an_error_is_told():
    page = page_of(
        row("ada", error="It is empty.", score=0.0), row("ada", stem=None, error="It is none.", score=0.0)
    )
    assert "It is empty." in page
    assert "It is none." in page
    assert "questions" not in page.partition("<body>")[2]


def test_pages_of_students_who_are_gone_go(tmp_path):
    """A run leaves a page for each student of now, and touches nothing else in the folder."""
    with ResultsStore(tmp_path) as store:
        write_students(store, students_of([row("ada"), row("ben")], []))
        (tmp_path / "students" / "notes.txt").touch()
        (tmp_path / "students" / "folder.html").mkdir()
        write_students(store, students_of([row("ben"), row("100% #1")], []))
    left = sorted(path.name for path in (tmp_path / "students").iterdir())
    assert left == ["100% #1.html", "ben.html", "folder.html", "notes.txt"]
