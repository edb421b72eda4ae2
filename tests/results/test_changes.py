"""Which results changed since the run before: found, reported, and logged with the reason."""

import csv
from dataclasses import replace

import pytest
from tiny_class import read_csv
from tiny_course import HALF, RIGHT

from grader.errors import BrokenRunError
from grader.grading.run_summary import RunSummary
from grader.grading.terminal import print_class
from grader.results.changes import Change, Score, add_change, changed_checks, replaced, withdrawn
from grader.results.model import Adjustment, CheckResult, Late, Provenance, QuestionResult, Result
from grader.results.store import ResultsStore


def result(score=4.0, most=6.0, *, sha256="aa", adjusted=0.0, **changes):
    question = QuestionResult("q1", "", "f", "answered", score, most, (), adjusted=adjusted)
    made = Result("01", "ada", "01", "", (), "graded", None, score, most, (), (question,), Provenance(sha256))
    return replace(made, **changes)


GIVEN = (Adjustment("q1", 2.0, ""),)
OTHER_CHECKS, DEADLINE = "checks or course changed", "another deadline"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (result(), result(6.0, sha256="bb"), "another notebook"),
        (result(0.0), result(0.0, sha256="bb", status="error"), "another notebook"),
        (result(), result(6.0), OTHER_CHECKS),
        (result(), result(4.0, 8.0), OTHER_CHECKS),
        (result(), result(6.0, adjusted=2.0, adjustments=GIVEN), "adjusted"),
        (result(), result(5.0, adjusted=2.0, adjustments=GIVEN), f"adjusted and {OTHER_CHECKS}"),
        (result(), replace(result(late=Late(9, 1.0)), score=3.0), DEADLINE),
        (result(late=Late(9, 0.6)), result(8.0, 12.0, late=Late(9, 1.2)), OTHER_CHECKS),
        (result(), result(sha256="bb"), None),
        (result(), result(adjustments=(Adjustment("q1", 0.0, ""),)), None),
    ],
)
def test_what_is_a_change(before, after, why):
    """Another score, maximum or status, with the reason that the two results show."""
    change = replaced(before, after)
    assert (change and change.why) == why


def test_a_change_says_before_and_after():
    change = replaced(result(4.5), result(0.0, sha256="bb", status="error"))
    assert (str(change.before), str(change.after)) == ("4.5 of 6", "0 of 6, error")
    gone, absent = (withdrawn(result(), is_missing=is_missing) for is_missing in (False, True))
    assert (str(gone.after), str(absent.after)) == ("0 of 6, gone", "0 of 6, absent")
    assert gone.why == absent.why == "no longer submitted"


def change(student="ada", after=6.0):
    scores = Score(4.0, 6.0, "graded"), Score(after, 6.0, "graded")
    return Change(student, "01", *scores, OTHER_CHECKS)


def add(folder, changed):
    with ResultsStore(folder) as store:
        add_change(store, changed)


def test_the_history_grows_at_its_end(tmp_path):
    """Every byte that was there stays; a line that a spreadsheet left without its end gets one."""
    path = tmp_path / "changes.csv"
    add(tmp_path, change())
    first = path.read_bytes()
    heading, line = csv.reader(first.decode().splitlines())
    assert heading[0] == "time" and heading[-1] == "checks"
    assert line[1:] == ["ada", "01", "4", "6", "graded", "6", "6", "graded", OTHER_CHECKS, ""]
    path.write_bytes(first + "2026,zoë".encode("latin-1"))
    add(tmp_path, change("=ben"))
    grown = path.read_bytes()
    assert grown.startswith(first + "2026,zoë\n".encode("latin-1"))
    assert b'"\'=ben"' in grown.splitlines()[-1]


def test_of_many_checks_the_first_are_named():
    """Checks that are new or gone count, too; those that end as before are not named; of many, ten are."""
    old = result_of({"a": "passed", "b": "failed", "gone": "passed"})
    new = result_of({"a": "failed", "b": "failed", "new": "error"})
    assert changed_checks(old, new) == [
        "q1: a passed -> failed",
        "q1: gone passed -> none",
        "q1: new none -> error",
    ]
    many = result_of({f"c{number}": "passed" for number in range(30)})
    found = replaced(many, replace(result_of({}), score=1))
    assert found and found.checks.endswith("; q1: c9 passed -> none; and 20 more")


def result_of(outcomes):
    checks = tuple(CheckResult(name, "", outcome, 0, 1, None, None) for name, outcome in outcomes.items())
    question = QuestionResult("q1", "", "f", "answered", 0, 1, checks)
    return Result("01", "ada", "01", "", (), "graded", None, 0, 1, (), (question,), Provenance())


def test_a_history_that_cannot_be_written_stops_the_run(tmp_path):
    """What is in its place stays."""
    (tmp_path / "changes.csv").mkdir()
    with pytest.raises(BrokenRunError, match=r"changes\.csv cannot be read"):
        add(tmp_path, change())


def test_a_class_is_told_who_changed(klass):
    """Another notebook and other checks change results; both are told and kept, harmless to spreadsheets."""
    klass.hand_in("ada", RIGHT)
    klass.hand_in("=ben", HALF)
    assert "changed" not in klass.grade()
    assert not (klass.out / "changes.csv").exists()
    klass.hand_in("=ben", RIGHT)
    out = klass.grade(new=RIGHT)
    assert "1 result changed:" in out
    assert next(line for line in out.splitlines() if "another notebook" in line).split()[:6] == [
        *("=ben", "01_tiny", "1.5", "of", "6", "6")
    ]
    klass.edit_checks(("@points(3)", "@points(4)"))
    assert "3 results changed:" in klass.grade()
    assert "changed" not in klass.grade()
    first, *others = history(klass)
    assert first == (
        *("'=ben", "1.5", "6", "another notebook"),
        "q1: test_double failed -> passed; q2: test_requires_grad failed -> passed",
    )
    assert sorted(others) == [
        (student, "6", "7", "checks or course changed", "") for student in ("'=ben", "ada", "new")
    ]


def history(klass):
    """Student, score before and after, and reason of each line."""
    columns = ("student", "score_before", "score", "why", "checks")
    return [tuple(line[column] for column in columns) for line in read_csv(klass.out / "changes.csv")]


def test_there_and_back_are_two_changes_each_time(klass):
    klass.hand_in("ada", RIGHT)
    ben = klass.hand_in("ben", HALF)
    for _ in range(2):
        klass.hand_in("ben", HALF)
        klass.grade()
        ben.unlink()
        klass.grade()
        assert not (klass.out / "feedback" / "ben").exists()
    assert [line[:4] for line in history(klass)] == [("ben", "1.5", "0", "no longer submitted")] * 2


def test_of_many_changes_the_first_are_told(capsys, tmp_path):
    found = [change(f"s{number:02}") for number in range(22)]
    print_class(RunSummary(results=[], missing=[], fresh=0, without_notebook=[], changes=found), tmp_path)
    out = capsys.readouterr().out
    assert "22 results changed:" in out
    assert out.count("checks or course changed") == 20
    assert "and 2 more, see changes.csv" in out


def pages(klass):
    return sorted(str(path.relative_to(klass.out / "feedback")) for path in klass.out.glob("feedback/*/*"))


BOTH = ["ada/01_tiny.html", "ada/01_tiny.md", "ben/01_tiny.html", "ben/01_tiny.md"]


@pytest.mark.parametrize("options", [(), ("--student", "ada")])
def test_feedback_of_a_withdrawn_notebook_goes_and_comes_back_with_it(klass, options):
    """Whatever is selected; the result stays, and a page comes back without running the notebook again."""
    klass.grade(ada=RIGHT, ben=HALF)
    assert pages(klass) == BOTH
    (klass.out / "feedback" / "ben" / "notes.md").write_text("mine")
    before = klass.files("feedback/ben", "submissions/ben")
    withdrawn = klass.submissions.with_name("withdrawn")
    (klass.submissions / "ben").rename(withdrawn)
    klass.grade(*options)
    assert pages(klass) == [*BOTH[:2], "ben/notes.md"]
    assert klass.result("ben")["score"] == 1.5
    withdrawn.rename(klass.submissions / "ben")
    assert "This run: 1 judged again\n" in klass.grade()
    after = klass.files("feedback/ben", "submissions/ben")
    assert after.keys() == before.keys()
    page = klass.out / "feedback" / "ben" / "01_tiny.md"
    assert b"This is not twice as much" in before[page] and b"This is not twice as much" in after[page]


def test_feedback_of_another_class_stays(klass):
    klass.grade(ada=RIGHT, ben=HALF)
    klass.submissions = klass.submissions.with_name("others")
    assert "no longer submitted" not in klass.grade(cem=RIGHT)
    klass.grade()
    assert pages(klass) == [*BOTH, "cem/01_tiny.html", "cem/01_tiny.md"]
