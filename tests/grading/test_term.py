"""Who is in a class, when things are due, points put right: what is read, and what comes of it."""

import csv
import io
import os
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tiny_class import read_csv
from tiny_course import HALF, RIGHT, add_assignment, write_notebook

from grader.course.course import Course
from grader.people.deadlines import Deadlines
from grader.people.lateness_and_adjustments import LatenessAndAdjustments, with_lateness_and_adjustments
from grader.people.roster import read_people
from grader.people.students import Students
from grader.results.model import Adjustment, Late
from grader.results.store import read_results

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,01_tiny (42)
    Points Possible,,,,,6
"Lovelace, Ada",11,s1,ada,A,
"Ångström, Björn",12,s2,bjorn,A,
"Lee, Kim",13,s3,kim1,A,
"Lee, Kim",14,s4,kim2,A,
"van der Berg, Søren",15,s5,soren,A,
"Student, Test",,,,,
"""
CLASSROOM = """identifier,github_username,github_id,name
a@x,ada-l,1,Ada Lovelace
b@x,angs,2,Björn Ångström
"""


def roster_of(tmp_path, content):
    (tmp_path / "roster.csv").write_text(content, encoding="utf-8")
    return read_people(tmp_path)


@pytest.mark.parametrize(
    ("names", "ids", "students"),
    [
        (["lovelaceada"], {}, ["Lovelace, Ada"]),
        (["ADA LOVELACE"], {}, ["Lovelace, Ada"]),
        (["angstrombjorn"], {}, ["Ångström, Björn"]),
        (["vanderbergsoren"], {}, ["van der Berg, Søren"]),
        (["Soren van der Berg"], {}, ["van der Berg, Søren"]),
        (["leekim"], {}, ["Lee, Kim-13", "Lee, Kim-14"]),
        (["leekim"], {"canvas": "14"}, ["Lee, Kim-14"]),
        (["Kim Lee"], {"moodle": "99"}, ["Lee, Kim-13", "Lee, Kim-14"]),
        (["another name"], {"canvas": "11"}, ["Lovelace, Ada"]),
        (["kim2"], {}, ["Lee, Kim-14"]),
        (["s5"], {}, ["van der Berg, Søren"]),
        (["Lovelace, Ada"], {"canvas": "12"}, ["Lovelace, Ada"]),
        (["eve"], {"canvas": "99"}, []),
    ],
)
def test_people_are_found_by_folder_then_id_then_name(tmp_path, names, ids, students):
    """Case, accents, strokes and the order of words make no other person; two of one name stay two."""
    roster = roster_of(tmp_path, CANVAS)
    assert [person.student for person in roster.find(names[0], logins=names, ids=ids)] == students


def test_what_is_no_student_of_canvas_is_left_out(tmp_path):
    assert len(roster_of(tmp_path, CANVAS).people) == 5


def test_a_number_of_moodle_tells_only_equal_names_apart(tmp_path):
    """It numbers people anew in each assignment, so another's number never wins over a name."""
    roster = roster_of(tmp_path, "name,moodle id\nAda Lovelace,11\nKim Lee,12\nKim Lee,Participant 13\n")
    called = [("Ada Lovelace", "12"), ("Kim Lee", "13"), ("Kim Lee", "7"), ("Adda", "11")]
    found = [[*roster.find(name, ids={"moodle": number})] for name, number in called]
    assert [[person.line for person in people] for people in found] == [[2], [4], [3, 4], [2]]


def test_who_is_unknown_is_named_with_who_may_be_meant(tmp_path):
    roster = roster_of(tmp_path, CLASSROOM)
    told = Students(roster, {"Ada Lovelace", "Bjorn Angstroem"}).unlisted
    assert told == [
        f"{roster.path} has columns that are not read: github_id.",
        "Bjorn Angstroem is not on the roster: did you mean Björn Ångström?",
    ]


DUE = datetime(2026, 10, 12, 21, 59, tzinfo=UTC)


def deadlines(settings):
    return Deadlines(settings.deadlines, {("kim", "01_tiny"): DUE + timedelta(days=2)})


SETTINGS = """[term]
time_zone = "Europe/Zurich"
[deadlines.01_tiny]
due = 2026-10-12T23:59:00
grace_minutes = 10
penalty_per_day = 0.1
most_penalty = 0.25
"""


@pytest.mark.parametrize(
    ("student", "after", "marked", "late"),
    [
        ("ada", timedelta(0), None, None),
        ("ada", timedelta(seconds=1), None, Late(1, 0.0)),
        ("ada", timedelta(minutes=10), None, Late(10, 0.0)),
        ("ada", timedelta(days=1), None, Late(1440, 0.6)),
        ("ada", timedelta(days=1, minutes=1), None, Late(1441, 1.2)),
        ("ada", timedelta(days=9), None, Late(12960, 1.5)),
        ("kim", timedelta(days=2), None, None),
        ("kim", timedelta(days=2, hours=1), None, Late(60, 0.6)),
        ("ada", timedelta(days=-1), True, Late(0, 0.6)),
        ("ada", timedelta(days=3), True, Late(0, 0.6)),
        ("ada", timedelta(hours=1), False, None),
        ("kim", timedelta(days=2), True, None),
        ("kim", timedelta(days=3), True, Late(0, 0.6)),
    ],
)
def test_how_late_a_notebook_is(klass, student, after, marked, late):
    """Grace costs nothing, each day begun costs its part, up to the most; an extension is a deadline.

    Where a system marks what is late, the mark decides whether it is, and the time how late.
    """
    klass.settings(SETTINGS)
    of_class = deadlines(Course.find().settings)
    seen = of_class.late(student, "01_tiny", DUE + after, 6, is_marked=marked)
    assert (seen and replace(seen, due=None)) == late
    due = DUE + timedelta(days=2) if student == "kim" else DUE
    assert seen is None or seen.due == (None if marked else due.isoformat())


@pytest.mark.parametrize(
    ("minutes", "told"),
    [(0, "yes"), (5, "5 min"), (60, "1 h"), (2879, "47 h 59 min"), (3600, "2 days 12 h"), (4320, "3 days")],
)
def test_lateness_in_words(minutes, told):
    assert Late(minutes, 0).duration == told


def at(klass, student, when, sources):
    path = klass.hand_in(student, sources)
    os.utime(path, (when.timestamp(), when.timestamp()))
    return path


def test_a_class_with_deadlines_and_adjustments(klass):
    """Lateness and adjustments stand in all that is written; the same run again changes nothing."""
    klass.settings(SETTINGS)
    at(klass, "ada", DUE - timedelta(hours=1), RIGHT)
    at(klass, "ben", DUE + timedelta(hours=3), RIGHT)
    at(klass, "kim", DUE + timedelta(hours=3), HALF)
    (klass.submissions / "extensions.csv").write_text("student,assignment,until\nkim,,2026-10-14\n")
    given = "student,assignment,question,points,comment\nKIM,01_tiny,q1,1,the picture was wrong\n"
    given += "ben,01_tiny,,-1,\n"
    klass.grade()
    before = klass.rows()
    assert [before[name]["late"] for name in ("ada", "ben", "kim")] == ["", "3 h", ""]
    assert (before["ben"]["score"], before["ben"]["penalty"]) == ("5.4", "0.6")
    (klass.submissions / "adjustments.csv").write_text(given, encoding="utf-8")
    printed = klass.grade()
    assert " adjusted" in printed
    assert "another deadline" not in printed
    after = klass.rows()
    assert after["ben"]["score"] == "4.4"
    assert float(after["kim"]["score"]) == float(before["kim"]["score"]) + 1
    assert float(after["kim"]["q1"]) == float(before["kim"]["q1"]) + 1
    assert [after[name]["adjustment"] for name in ("ada", "ben", "kim")] == ["", "-1", "1"]
    assert klass.result("kim")["adjustments"] == [
        {"question": "q1", "points": 1.0, "comment": "the picture was wrong", "excused": False}
    ]
    kim, ben = ((klass.out / "feedback" / name / "01_tiny.md").read_text() for name in ("kim", "ben"))
    assert "Adjustment: 1 point added to q1: the picture was wrong" in kim
    assert "The deadline was extended to 2026-10-14 23:59:59 (UTC+0200)." in kim
    assert "It was due on 2026-10-12 23:59:00 (UTC+0200) and is late by 3 h, which costs 0.6 points." in ben
    assert "was submitted on 2026-10-13 02:59:00 (UTC+0200)" in ben
    assert "Adjustment: 1 point added to q1" in klass.explain("kim", "01_tiny").output
    explained = klass.explain("kim", "01_tiny", "q1").output
    assert "now" not in explained.partition("checks passed")[2].split("\n")[0]
    stamp = {path: path.stat().st_mtime_ns for path in klass.out.rglob("*.json")}
    klass.grade()
    assert klass.rows() == after
    changed = [path.name for path in klass.out.rglob("*.json") if stamp.get(path) != path.stat().st_mtime_ns]
    assert changed in ([], ["run.json"])


def test_files_with_wrong_names_are_named(klass):
    klass.hand_in("ada", RIGHT)
    for name in ("Extensions.csv", "roster.csv.txt"):
        (klass.submissions / name).write_text("student,assignment,until\nada,,2026-12-01\n")
    printed = " ".join(klass.run("grade", klass.submissions, "--out", klass.out).output.split())
    assert "is not read: save it as a CSV file with the name extensions.csv." in printed
    assert "is not read: save it as a CSV file with the name roster.csv." in printed


#: Lines of a file, and what is told of them; {} is its first line.
MEANINGLESS = {
    "adjustments.csv": [
        ("student,assignment,points\n", "line 1: there is no column question: its first line"),
        ("student,assignment,question,points,why\n", "line 1: the column 'why' means nothing"),
        ("{}adda,01_tiny,q1,2\n", "line 2: adda is not a student of this class: did you mean ada"),
        ("{},01_tiny,q1,2\n", "line 2: it names no student"),
        ("{}ada,01_tinny,q1,2\n", "'01_tinny' is not an assignment of this course: did you mean 01_tiny"),
        ("{}ada,01_tiny,q9,2\n", "line 2: q9 is not a question of 01_tiny: did you mean q"),
        ("{}ada,01_tiny,q1,two\n", "line 2: points is 'two': write how many points are added"),
        ("{}ada,01_tiny,q1,nan\n", "line 2: points is 'nan'"),
        ("{}ada,01_tiny,q1,excused\n", "alone: leave its question empty to excuse 01_tiny"),
        ("{}ada,01_tiny,q1,99\n", "line 2: 99 points are more than the"),
        ("{}ada,01_tiny,,1\nada,01_tiny,,2\n", "line 3: there is a line for 01_tiny of ada already"),
        ("{}ada,01_tiny,q1,1,good, but late\n", "line 2: it has 6 cells, but there are 4 columns"),
        ("student;assignment;question;points\nada;01_tiny;q1;1;a;b\n", "a text with a semicolon into quotes"),
    ],
    "extensions.csv": [
        ("student,until\n", "line 1: there is no column assignment"),
        ("{}ada,01_tiny,soon\n", "line 2: until is 'soon': write a day"),
        ("{}ada,01_tiny,2026-10-12T10:00\n", "line 2: until has no time zone: write it"),
        ("{0}ada,,{1}Z\nada,01_tiny,{1}Z\n", "line 3: ada has an extension of 01_tiny already"),
    ],
}


@pytest.mark.parametrize(
    ("name", "content", "told"), [(name, *case) for name, cases in MEANINGLESS.items() for case in cases]
)
def test_a_line_that_means_nothing_is_told_and_nothing_is_written(klass, name, content, told):
    klass.hand_in("ada", RIGHT)
    columns = {"adjustments.csv": "question,points", "extensions.csv": "until"}[name]
    text = content.format(f"student,assignment,{columns}\n", "2026-10-12T10:00")
    (klass.submissions / name).write_text(text, encoding="utf-8")
    run = klass.run("grade", klass.submissions, "--out", klass.out)
    assert run.exit_code == 2
    said = run.output.replace("\n", " ")
    assert f"{name}, line " in said and told in said
    assert not (klass.out / "gradebook.csv").exists()


def test_two_folders_of_a_person_are_one_student(klass):
    klass.hand_in("lovelaceada", HALF, modified=10)
    klass.hand_in("ada-l", RIGHT, modified=20)
    klass.hand_in("eve", RIGHT)
    (klass.submissions / "roster.csv").write_text(CLASSROOM, encoding="utf-8")
    printed = klass.grade()
    assert [(name, row["status"]) for name, row in klass.rows().items()] == [
        ("Ada Lovelace", "graded"),
        ("Björn Ångström", "absent"),
        ("eve", "graded"),
    ]
    assert klass.result("Ada Lovelace")["notebook"] == "ada-l/01_tiny.ipynb"
    assert klass.result("Ada Lovelace")["superseded"] == ["lovelaceada/01_tiny.ipynb"]
    assert "eve is not on the roster" in printed


def test_an_assignment_of_another_term_makes_nobody_absent(klass):
    klass.hand_in("ada", RIGHT)
    (klass.submissions / "roster.csv").write_text("student\nada\nben\n", encoding="utf-8")
    klass.grade()
    assert klass.rows()["ben"]["status"] == "absent"
    add_assignment(klass.course, 2)
    klass.settings('[term]\nassignments = ["02_tiny"]\n')
    run = klass.run("grade", klass.submissions, "--out", klass.out)
    assert run.exit_code == 0, run.output
    assert "ben" not in klass.rows()
    assert klass.rows()["ada"]["status"] == "graded"
    assert (
        "01_tiny is not an assignment of this term (course.toml, [term]), but ada submitted it" in run.output
    )


def test_excused_work_counts_nowhere(klass):
    """It is excused in all that is written, submitted or not, and no total, mean or export has its points."""
    klass.grade(ada=RIGHT, ben=HALF)
    (klass.submissions / "roster.csv").write_text("name\nada\nben\nzoe\nkim\n")
    lines = "student,assignment,question,points,comment\nben,01_tiny,,Excused,ill\nzoe,01_tiny,,excused,\n"
    (klass.submissions / "adjustments.csv").write_text(lines, encoding="utf-8")
    klass.grade()
    seen = klass.rows()
    assert [seen[name]["status"] for name in ("ada", "ben", "zoe", "kim")] == [
        *("graded", "excused", "excused", "absent")
    ]
    for name in ("ben", "zoe"):
        assert (seen[name]["score"], seen[name]["max_score"], seen[name]["q1"]) == ("", "", "")
    assert '"excused","adjusted"' in (klass.out / "changes.csv").read_text(encoding="utf-8")

    page = (klass.out / "report.html").read_text(encoding="utf-8")
    assert "<dt>missing</dt><dd>1</dd>" in page
    assert "<dt>excused</dt><dd>2</dd>" in page
    assert page.count('<span class="mark excused">excused</span>') == 2
    assert "2 submissions: mean 6, median 6 of 6 points; 1 with all points; 1 excused." in page
    student = (klass.out / "students" / "ben.html").read_text(encoding="utf-8")
    assert "<h2>01_tiny: excused</h2>" in student and "Excused: ill" in student
    assert "Excused: ill" in (klass.out / "feedback" / "ben" / "01_tiny.md").read_text(encoding="utf-8")

    book = klass.submissions.parent / "book.csv"
    book.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,01_tiny (42)\n    Points Possible,,,,,6\n"
        + "".join(f"{name},{number},,{name},A,\n" for number, name in enumerate(("ada", "ben", "zoe", "kim")))
    )
    lms = klass.submissions.parent / "lms"
    for export in (("canvas", "--gradebook", book), ("wide",), ("junit",)):
        ended = klass.run("export", *export, "--results", klass.out, "--out", lms)
        assert ended.exit_code == 0, ended.output
        assert "01_tiny, excused, so without a score: ben; zoe." in ended.output
    exported = csv.reader(io.StringIO((lms / "canvas.csv").read_text(encoding="utf-8")))
    assert [line[-1] for line in exported][2:] == ["6", "EX", "EX", ""]
    wide = read_csv(lms / "grades.csv")
    assert [(line["01_tiny"], line["max"]) for line in wide] == [("6", "6"), ("", "0"), ("0", "6"), ("", "0")]
    assert not [path for path in lms.rglob("*.xml") if "ben" in path.name]


def test_a_score_stays_between_nothing_and_everything(klass):
    klass.grade(ada=RIGHT)
    (result,) = read_results(klass.out)
    most = result.max_score
    given = (Adjustment("q1", 5.0, ""), Adjustment(None, 5.0, ""))
    assert with_lateness_and_adjustments(result, LatenessAndAdjustments(adjustments=given)).score == most
    assert with_lateness_and_adjustments(result, LatenessAndAdjustments(late=Late(9, 99.0))).score == 0
    back = LatenessAndAdjustments(late=Late(9, 2.0), adjustments=(Adjustment(None, 2.0, ""),))
    assert with_lateness_and_adjustments(result, back).score == most


@pytest.mark.parametrize(
    ("edit", "is_stopped"),
    [
        (lambda text: text.replace("ada,01_tiny,1.5,", "ada,01_tiny,3,"), False),
        (lambda text: text.replace("ada,01_tiny,1.5,", "ada,01_tiny,3,"), True),
        (lambda _: "", True),
    ],
)
def test_an_edited_gradebook_is_kept_and_reported(klass, monkeypatch, edit, is_stopped):
    """Whatever was changed, the file is kept under another name, also if a run was stopped since."""
    klass.grade(ada=HALF, ben=RIGHT)
    path = klass.out / "gradebook.csv"
    before = path.read_text(encoding="utf-8")
    edited = edit(before)
    assert edited != before
    path.write_text(edited, encoding="utf-8")
    if is_stopped:
        klass.hand_in("ben", HALF)
        klass.hand_in("ada", RIGHT)
        with monkeypatch.context() as patch:
            patch.setattr("grader.grading.class_output.write_gradebook", lambda *_: 1 / 0)
            assert klass.run("grade", klass.submissions, "--out", klass.out).exit_code != 0
    run = klass.run("grade", klass.submissions, "--out", klass.out)
    assert "gradebook.edited.csv" in run.stderr and "adjustments.csv" in run.stderr
    assert klass.scores() == ({"ada": "6", "ben": "1.5"} if is_stopped else {"ada": "1.5", "ben": "6"})
    assert (klass.out / "gradebook.edited.csv").read_text(encoding="utf-8") == edited
    path.write_text("second", encoding="utf-8")
    klass.grade()
    assert (klass.out / "gradebook.edited.csv").read_text(encoding="utf-8") == edited
    assert (klass.out / "gradebook.edited-2.csv").read_text(encoding="utf-8") == "second"
    assert "was edited" not in klass.run("grade", klass.submissions, "--out", klass.out).output


def test_an_adjusted_question_is_explained_everywhere(klass):
    klass.grade(ada=RIGHT, kim=HALF)
    given = "student,assignment,question,points\nkim,01_tiny,q1,1\nada,01_tiny,q2,-1\nada,01_tiny,,-2\n"
    (klass.submissions / "adjustments.csv").write_text(given, encoding="utf-8")
    klass.grade()
    assert {name: row["adjustment"] for name, row in klass.rows().items()} == {"ada": "-3", "kim": "1"}
    changes = read_csv(klass.out / "changes.csv")
    logged = {line["student"]: (line["score"], line["why"]) for line in changes}
    assert logged == {"ada": ("3", "adjusted"), "kim": ("2.5", "adjusted")}
    kim, ada = (" ".join(klass.explain(name, "01_tiny", "--all").output.split()) for name in ("kim", "ada"))
    assert "0 of 1 checks passed: 0 points. Then 1 point added by hand." in kim
    assert "2 of 2 checks passed: 4 points. Then 1 point subtracted by hand." in ada


def collected_night(klass, tmp_path, unread, **clones):
    folder = tmp_path / f"night{len([*tmp_path.glob('night*')])}"
    folder.mkdir()
    for student, sources in clones.items():
        (folder / f"hw-{student}" / ".git").mkdir(parents=True)
        if sources:
            write_notebook(folder / f"hw-{student}" / "01_tiny.ipynb", sources)
    (folder / "unread").write_text("".join(f"hw-{name}\n" for name in unread), encoding="utf-8")
    options = "--prefix", "hw", "--unread", folder / "unread"
    ended = klass.run("collect", folder, "--out", klass.submissions, *options)
    assert ended.exit_code == 0, ended.output
    run = klass.run("grade", klass.submissions, "--out", klass.out)
    assert run.exit_code == 0, run.output
    return " ".join(run.output.split()), {
        student: (row["score"], row["status"], row["missing"].partition(" ")[0])
        for student, row in klass.rows().items()
    }


def test_one_bad_night_loses_nothing(klass, tmp_path):
    """Who cannot be reached keeps result and page, marked by date; so does a notebook that is gone."""
    klass.submissions.mkdir()
    roster = klass.submissions / "roster.csv"
    roster.write_text("student\nada\nben\ncleo\ndora\neve\n", encoding="utf-8")
    _, first = collected_night(klass, tmp_path, ["dora"], ada=RIGHT, ben=HALF, cleo=RIGHT, eve=None)
    right = ("6", "graded", "")
    graded = {"ada": right, "ben": ("1.5", "graded", ""), "cleo": right}
    assert first == {**graded, "dora": ("0", "absent", "unread"), "eve": ("0", "absent", "")}
    printed, second = collected_night(klass, tmp_path, ["ada", "ben", "dora"], cleo=None, eve=HALF)
    assert second == {
        "ada": ("6", "graded", "unread"),
        "ben": ("1.5", "graded", "unread"),
        "cleo": ("6", "graded", "gone"),
        "dora": ("0", "absent", "unread"),
        "eve": ("1.5", "graded", ""),
    }
    assert "could not be read, so that the last results stay: ada; ben." in printed
    assert "Not in the repository any more; the results stay: cleo, 01_tiny." in printed
    assert "Missing, because a repository could not be read: dora." in printed
    report = (klass.out / "report.html").read_text(encoding="utf-8")
    assert re.search(r"missing</span> <span class=.mark unread.>unread since \d{4}-\d\d-\d\d</span>", report)
    for name, told in (("ada", "could not be read since"), ("cleo", "has not contained this notebook since")):
        assert told in (klass.out / "feedback" / name / "01_tiny.md").read_text(encoding="utf-8")
    _, third = collected_night(klass, tmp_path, [], ada=RIGHT, ben=RIGHT, cleo=HALF, dora=RIGHT, eve=HALF)
    assert third == {
        student: (score, "graded", "")
        for student, score in zip(klass.rows(), ("6", "6", "1.5", "6", "1.5"), strict=True)
    }


def test_a_renamed_notebook_counts_before_what_is_gone(klass, tmp_path):
    klass.submissions.mkdir()
    collected_night(klass, tmp_path, [], ada=RIGHT)
    later = tmp_path / "later"
    (later / "hw-ada" / ".git").mkdir(parents=True)
    os.utime(write_notebook(later / "hw-ada" / "mine 01_tiny.ipynb", HALF), (1e9, 1e9))
    (later / "unread").touch()
    options = "--prefix", "hw", "--unread", later / "unread"
    assert klass.run("collect", later, "--out", klass.submissions, *options).exit_code == 0
    klass.grade()
    result = klass.result("ada")
    assert (result["notebook"], result["superseded"]) == ("ada/mine 01_tiny.ipynb", ["ada/01_tiny.ipynb"])
    assert klass.scores() == {"ada": "1.5"}


def test_results_that_are_moved_with_what_was_graded_stay_together(klass, tmp_path):
    klass.hand_in("Ada Lovelace", RIGHT)
    (klass.submissions / "roster.csv").write_text("name,email\nAda Lovelace,ada@x\n", encoding="utf-8")
    klass.grade()
    home = tmp_path / "home"
    home.mkdir()
    for folder in (klass.submissions, klass.out):
        folder.rename(home / folder.name)
    explained = klass.run("explain", "ada@x", "01_tiny", "--results", home / klass.out.name)
    assert explained.output.startswith("Ada Lovelace, 01_tiny: 6 of 6"), explained.output
    shutil.rmtree(home / klass.submissions.name / "Ada Lovelace")
    write_notebook(home / klass.submissions.name / "ben" / "01_tiny.ipynb", HALF)
    (home / klass.submissions.name / "roster.csv").unlink()
    run = klass.run("grade", home / klass.submissions.name, "--out", home / klass.out.name)
    assert "no longer submitted" in " ".join(run.output.split())
