"""Each student over all assignments: points, percent, what is absent, and marks."""

from dataclasses import replace

from factories import row

from grader.results.model import Adjustment, Late, MissingSubmission
from grader.results.students import students_of


def test_the_weakest_come_first():
    rows = [row("cem", score=3.0), row("ben", score=1.0), row("ada", score=3.0)]
    found = [(one.name, round(one.percent)) for one in students_of(rows, [])]
    assert found == [("ben", 33), ("ada", 100), ("cem", 100)]


def test_what_is_absent_counts_nothing():
    """Percentages are of all assignments; only what the gradebook has a row for is called missing."""
    rows = [row("ada", score=3.0), row("ben", score=3.0, stem="02_other"), row("ben", score=3.0)]
    absent = [MissingSubmission(name, "03_last", {"q1": 2.0}) for name in ("ada", "zoe")]
    ada, ben, zoe = students_of(rows, absent)
    assert (zoe.score, zoe.max_score, zoe.percent) == (0, 8, 0)
    assert (ada.score, ada.max_score, ada.percent) == (3, 8, 37.5)
    assert ben.percent == 75
    assert [[*entry.marks] for entry in ada.entries] == [[], [], ["missing"]]
    assert [entry.assignment for entry in ben.entries] == ["01_tiny", "02_other", "03_last"]


def test_the_newest_result_says_what_an_assignment_is_worth():
    old = replace(row("ada", at="2025"), max_score=2.0)
    students = students_of([row("ben", at="2026"), old], [])
    assert {entry.max_score for student in students for entry in student.entries} == {3.0}


def test_what_is_not_of_the_term_does_not_count():
    """It stands beside the name, has no column, and makes nobody absent."""
    rows = [row("ada"), row("ada", stem="02_other"), row("ben")]
    found = students_of(rows, [], {"ada": "Ada Lovelace", "ben": "ben"}, ["01_tiny"])
    ben, ada = sorted(found, key=lambda student: len(student.others))
    assert [entry.assignment for entry in ben.entries] == ["01_tiny"]
    assert [result.name for result in ada.others] == ["02_other"]
    assert (ada.full_name, ben.full_name, ada.max_score) == ("Ada Lovelace", "", 3.0)


def test_a_notebook_of_no_assignment_belongs_to_its_student():
    (uma,) = students_of([row("uma", stem=None, error="?", score=0.0)], [])
    assert (uma.entries, [result.name for result in uma.others], uma.percent) == ((), ["essay"], 0)
    assert uma.marks == ["error"]


def test_marks_say_what_to_know_at_a_glance():
    odd = row("ada", error="It is empty.", flags=["gc"])
    odd = replace(odd, late=Late(7, 0.0), adjustments=(Adjustment("q1", 1.0, "Right."),))
    (ada, fine) = students_of([odd, row("ben")], [])
    kinds = ["adjusted", "error", "flagged", "late"]
    assert ada.entries[0].marks == {kind: kind for kind in kinds} | {"late": "late by 7 min"}
    assert ada.marks == kinds
    assert fine.marks == []
