"""Which results changed since the run before: found, told, and kept."""

import csv
import io
import shutil
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tiny_course import HALF, RIGHT

from grader.errors import BrokenRunError
from grader.reports.terminal import RunSummary, print_class
from grader.results.gradebook import Change, changed_checks, changes, history, score_text
from grader.results.model import CheckResult, Provenance, QuestionResult, Result

HEADING = "student,assignment,score,max_score,status,notebook_sha256,q1\n"
AT = datetime(2026, 11, 22, tzinfo=UTC)


def book(*lines):
    return HEADING + "".join(f"{line}\n" for line in lines)


def told(before, after):
    return [(c.student, score_text(c.before), score_text(c.after), c.why) for c in changes(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("ada,01,4,6,graded,aa,4", "ada,01,6,6,graded,bb,6", "another notebook"),
        ("ada,01,4,6,graded,aa,4", "ada,01,6,6,graded,aa,6", "checks or course changed"),
        ("ada,01,0,6,graded,aa,0", "ada,01,0,6,error,bb,0", "another notebook"),
        ("ada,01,4,6,graded,aa,4", "ada,01,4,8,graded,aa,4", "checks or course changed"),
        ("ada,01,4,6.0,graded,aa,4", "ada,01,4,6,graded,aa,4", None),
        ("ada,01,0,6,graded,aa,0", "ada,01,0,6,absent,,0", "nothing handed in any more"),
        ("ada,01,4,6,graded,aa,4", "ada,01,4,6,graded,bb,4", None),
        ("ada,01,4.0,6,graded,aa,4", "ada,01,4,6,graded,aa,4", None),
        ("ada,01,0,6,absent,,0", "ada,01,6,6,graded,bb,6", None),
        ("ben,01,4,6,graded,aa,4", "ada,01,6,6,graded,aa,6", "nothing handed in any more"),
        ("ada,02,4,6,error,aa,4", "ada,01,6,6,graded,aa,6", "nothing handed in any more"),
        ("ben,01,0,6,absent,,0", "ada,01,6,6,graded,aa,6", None),
    ],
)
def test_what_is_a_change(before, after, why):
    """Another score, maximum or status of a student who had a result, or no row any more; not what is new."""
    assert [why_ for *_, why_ in told(book(before), book(after))] == ([why] if why else [])


def test_a_change_says_before_and_after():
    """Score and, where it is not graded, the status."""
    assert told(book("ada,01,4.5,6,graded,aa,4"), book("ada,01,0,6,error,bb,0")) == [
        ("ada", "4.5 of 6", "0 of 6, error", "another notebook")
    ]


@pytest.mark.parametrize(
    "text", ["student;assignment\nada;01\n", HEADING + "ada,01\n", HEADING + '"ada,01', "\n"]
)
def test_what_is_no_gradebook_is_not_compared(text):
    """A spreadsheet may have saved it in a form of its own."""
    with pytest.raises(ValueError):
        changes(text, book("ada,01,4,6,graded,aa,4"))


def change(student="ada", after="6"):
    lines = [f"{student},01,{score},6,graded,aa,4" for score in ("4", after)]
    one, two = (next(csv.DictReader(io.StringIO(book(line)))) for line in lines)
    return Change(one, two)


def test_the_history_grows_at_its_end(tmp_path):
    """What was there stays, with whatever spreadsheet's bytes and without a newline at its end."""
    path = tmp_path / "changes.csv"
    first = history(path, [change()], AT)
    assert first.splitlines()[1] == (
        '"2026-11-22T00:00:00Z","ada","01","4","6","graded","6","6","graded","checks or course changed",""'
    )
    path.write_bytes(first.encode() + "2026,zoë".encode("latin-1"))
    second = history(path, [change("ben")], AT)
    assert second.startswith(f"{first}2026,zoë\n")
    assert second.splitlines()[-1].startswith('"2026-11-22T00:00:00Z","ben"')


def test_the_same_change_is_not_added_twice_in_a_row(tmp_path):
    """Who was killed before the gradebook was written finds the same again; there and back are two."""
    path = tmp_path / "changes.csv"
    path.write_text(history(path, [change()], AT))
    assert history(path, [change()], AT) is None
    path.write_text(history(path, [change(after="5")], AT))
    assert len(history(path, [change()], AT).splitlines()) == 4


def test_a_history_without_checks_goes_on(tmp_path):
    """The heading of an older history gets the new column; its lines stay, and nothing is added twice."""
    path = tmp_path / "changes.csv"
    first = history(path, [change()], AT)
    lines = [line.rpartition(",")[0] for line in first.splitlines()]
    path.write_text("\n".join(lines) + "\n")
    assert history(path, [change()], AT) is None
    path.write_text(history(path, [replace(change("ben"), checks="q1: a passed -> failed")], AT))
    assert path.read_text().splitlines()[1] == lines[1]
    with path.open(newline="") as file:
        assert [(line["student"], line["checks"]) for line in csv.DictReader(file)] == [
            ("ada", None),
            ("ben", "q1: a passed -> failed"),
        ]


def test_a_killed_run_adds_no_change_again_without_its_checks(tmp_path):
    """The next run knows the change, but not the result of before."""
    path = tmp_path / "changes.csv"
    path.write_text(history(path, [replace(change(), checks="q1: a passed -> failed")], AT))
    assert history(path, [change()], AT) is None


def test_of_many_checks_the_first_are_named():
    """Checks that are new or gone count, too; those that end as before are not named."""
    old = result_of({"a": "passed", "b": "failed", "gone": "passed"})
    new = result_of({"a": "failed", "b": "failed", "new": "error"})
    assert changed_checks(old, new) == (
        "q1: a passed -> failed; q1: gone passed -> none; q1: new none -> error"
    )
    many = result_of({f"c{number}": "passed" for number in range(30)})
    assert changed_checks(many, result_of({})).endswith("; q1: c9 passed -> none; and 20 more")


def result_of(outcomes):
    checks = tuple(CheckResult(name, "", outcome, 0, 1, None, None) for name, outcome in outcomes.items())
    question = QuestionResult("q1", "", "f", "answered", 0, 1, checks)
    return Result("01", "ada", "01", "", (), "graded", None, 0, 1, (), (question,), Provenance())


def test_a_history_that_cannot_be_read_stops_the_run(tmp_path):
    """A history that cannot be read is not overwritten."""
    (tmp_path / "changes.csv").mkdir()
    with pytest.raises(BrokenRunError, match=r"changes\.csv cannot be read .*: move it away"):
        history(tmp_path / "changes.csv", [change()], AT)


def test_a_class_is_told_who_changed(klass):
    """Another notebook and other checks change results; both are told and kept, harmless to spreadsheets."""
    klass.hand_in("ada", RIGHT)
    klass.hand_in("=ben", HALF)
    assert "changed" not in klass.grade()
    assert not (klass.out / "changes.csv").exists()
    klass.hand_in("=ben", RIGHT)
    klass.hand_in("new", RIGHT)
    out = klass.grade()
    assert "1 result changed:" in out
    assert next(line for line in out.splitlines() if "another notebook" in line).split()[:6] == [
        *("'=ben", "01_tiny", "2", "of", "6", "6"),
    ]
    klass.edit_checks(("@points(3)", "@points(4)"))
    assert "3 results changed:" in klass.grade()
    assert "changed" not in klass.grade()
    with (klass.out / "changes.csv").open(encoding="utf-8", newline="") as file:
        kept = [
            (line["student"], line["score_before"], line["score"], line["why"], line["checks"])
            for line in csv.DictReader(file)
        ]
    assert kept == [
        (
            *("'=ben", "2", "6", "another notebook"),
            "q1: test_double failed -> passed; q2: test_requires_grad failed -> passed",
        ),
        *((student, "6", "7", "checks or course changed", "") for student in ("'=ben", "ada", "new")),
    ]


def test_a_run_that_was_killed_is_compared_when_it_is_continued(klass, monkeypatch):
    """What changed before the kill is reported against the gradebook of the last finished run."""
    klass.hand_in("ada", RIGHT)
    klass.hand_in("ben", RIGHT)
    klass.grade()
    klass.hand_in("ada", HALF)
    with monkeypatch.context() as patch:
        patch.setattr("grader.grading.run.write_gradebook", lambda *_, **__: 1 / 0)
        assert klass.run("grade", klass.submissions, "--out", klass.out).exit_code != 0
    assert klass.result("ada")["score"] == 2
    out = klass.grade()
    assert "This run: 0 new" in out
    assert "1 result changed:" in out


def test_of_many_changes_the_first_are_told(capsys, tmp_path):
    """Twenty changes are shown; the others are in the file."""
    found = [change(f"s{number:02}") for number in range(22)]
    print_class(
        RunSummary(results=[], absent=[], protection="none", fresh=0, without_notebook=[], changes=found),
        tmp_path,
    )
    out = capsys.readouterr().out
    assert "22 results changed:" in out
    assert out.count("checks or course changed") == 20
    assert "and 2 more, see changes.csv" in out


def test_a_gradebook_in_another_form_is_said(klass):
    """After a spreadsheet saved it, a note says that nothing could be compared; a new gradebook is there."""
    klass.hand_in("ada", RIGHT)
    klass.grade()
    (klass.out / "gradebook.csv").write_text("student;assignment\n", encoding="utf-8")
    ended = klass.run("grade", klass.submissions, "--out", klass.out)
    assert ended.exit_code == 0
    assert "saved in another form" in ended.stderr.replace("\n", " ")
    assert (klass.out / "gradebook.csv").read_text(encoding="utf-8").startswith("student,assignment,")


def pages(klass):
    return sorted(str(path.relative_to(klass.out / "feedback")) for path in klass.out.glob("feedback/*/*"))


BOTH = ["ada/01_tiny.html", "ada/01_tiny.md", "ben/01_tiny.html", "ben/01_tiny.md"]


@pytest.mark.parametrize("options", [(), ("--student", "ada")])
def test_feedback_of_a_withdrawn_notebook_goes_and_comes_back_with_it(klass, options):
    """Whatever is selected; the result stays, and a page comes back without running the notebook again."""
    klass.hand_in("ada", RIGHT)
    klass.hand_in("ben", HALF)
    klass.grade()
    assert pages(klass) == BOTH
    (klass.out / "feedback" / "ben" / "notes.md").write_text("mine")
    before = klass.files("feedback/ben", "submissions/ben")
    withdrawn = klass.submissions.with_name("withdrawn")
    (klass.submissions / "ben").rename(withdrawn)
    klass.grade(*options)
    assert pages(klass) == [*BOTH[:2], "ben/notes.md"]
    assert klass.result("ben")["score"] == 2
    withdrawn.rename(klass.submissions / "ben")
    assert "This run: 1 judged again\n" in klass.grade()
    after = klass.files("feedback/ben", "submissions/ben")
    assert after.keys() == before.keys()
    page = klass.out / "feedback" / "ben" / "01_tiny.md"
    assert b"This is not twice as much" in before[page] and b"This is not twice as much" in after[page]


def test_no_empty_folder_stays_of_feedback(klass):
    """A folder without pages would be handed back as such."""
    klass.hand_in("ada", RIGHT)
    ben = klass.hand_in("ben", HALF)
    klass.grade()
    ben.unlink()
    klass.grade()
    assert not (klass.out / "feedback" / "ben").exists()


def test_a_selection_takes_no_feedback_away(klass):
    """Who is not selected is still handed in."""
    klass.hand_in("ada", RIGHT)
    klass.hand_in("ben", HALF)
    klass.grade()
    klass.grade("--student", "ada", "--force")
    assert pages(klass) == BOTH


def test_feedback_of_another_class_stays(klass):
    """Where two classes are graded into the same results, neither takes the other's pages, however often."""
    klass.hand_in("ada", RIGHT)
    klass.hand_in("ben", HALF)
    klass.grade()
    klass.submissions = klass.submissions.with_name("others")
    klass.hand_in("cem", RIGHT)
    klass.grade()
    klass.grade()
    assert pages(klass) == [*BOTH, "cem/01_tiny.html", "cem/01_tiny.md"]


def test_who_is_gone_is_named_but_not_for_another_class(klass):
    """A folder that was lost or renamed loses a result, and that is told; others are another class."""
    klass.hand_in("ada", RIGHT)
    klass.hand_in("ben", RIGHT)
    klass.grade()
    shutil.rmtree(klass.submissions / "ben")
    (told,) = [line for line in klass.grade().splitlines() if "nothing handed in any more" in line]
    assert told.split()[0] == "ben"
    klass.submissions = klass.submissions.with_name("others")
    klass.hand_in("cem", RIGHT)
    assert "nothing handed in any more" not in klass.grade()
