"""Exports: each follows its system's rules, where the known traps lie, and loses or guesses nothing."""

import base64
import csv
import io
import json
import math
import re
import shlex
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from xml.etree import ElementTree as ET

import nbformat
import pytest
from click.testing import CliRunner
from factories import HOSTILE, made, store
from hypothesis import given
from hypothesis import strategies as st
from tiny_course import add_assignment, write_course

from grader.cli import main
from grader.course.new import write_new
from grader.course.settings import Feedback
from grader.integrations.collect import collect
from grader.integrations.export import gradescope
from grader.integrations.export.formats import all_formats, uses
from grader.integrations.export.github import MAX_SUMMARY, quoted
from grader.people.record import RECORD, Entry, Record
from grader.reports.feedback import about_question, feedback_html, feedback_markdown
from grader.reports.plain import plain
from grader.results.model import CheckResult, Provenance, QuestionResult, Result
from grader.results.store import RUN_SCHEMA, result_from_json
from grader.sheets import read_sheet
from grader.text import without_formula

FORMATS = ["github", "gradescope", "junit"]  # that need no file of the teacher's


@dataclass
class Desk:
    """A course, stored results, and the command."""

    results: Path
    out: Path

    def export(self, *arguments):
        command = ["export", *map(str, arguments), "--out", str(self.out), "--results", str(self.results)]
        ended = CliRunner().invoke(main, command)
        assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
        return ended

    def give(self, *results, **run):
        """Export these results, of a run that says so of itself."""
        self.results = store(Path(mkdtemp(dir=self.results.parent)), *results)
        if run:
            self.tell(**run)

    def tell(self, **run):
        """Write `run.json`, of a run that ended if nothing else is said."""
        said = {"schema": RUN_SCHEMA, "finished": True, **run}
        (self.results / "run.json").write_text(json.dumps(said, default=str), encoding="utf-8")

    def files(self):
        return sorted(p.relative_to(self.out).as_posix() for p in self.out.rglob("*") if p.is_file())

    def text(self, place):
        return (self.out / place).read_text(encoding="utf-8")

    def json(self, place):
        return json.loads(self.text(place), parse_constant=pytest.fail)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(write_course(tmp_path / "course"))
    monkeypatch.setattr("grader.integrations.export.gradescope.autograder", lambda *_: b"PK")
    return Desk(store(tmp_path / "results", made("ada"), made("ben", message=HOSTILE)), tmp_path / "out")


def classroom_points(outputs):
    """What GitHub Classroom's reporter adds up, as it does: `max_score` a runner, `score` a test."""
    earned = possible = 0
    for output in outputs:
        result = json.loads(base64.b64decode(output), parse_constant=pytest.fail)
        assert result["version"] == 1
        assert result["status"] in {"pass", "fail", "error"}
        possible += result["max_score"]
        earned += sum(test["score"] for test in result["tests"])
        for test in result["tests"]:
            points = re.match(r"q\d+(?:\.\d+)? \((-?[\d.]+)/([\d.]+)\)", test["name"])
            assert float(points[1]) == test["score"]
            assert points.end() <= 20, "its table cuts names there"
        passed = all(test["status"] == "pass" for test in result["tests"])
        score = sum(test["score"] for test in result["tests"])
        assert passed == (score == result["max_score"]), "its first version shows all points where all pass"
    return earned, possible


def test_github_adds_up_what_was_earned(desk):
    """In outputs, in two notices without a stranger's text, and in the summary."""
    assert desk.export("github").exit_code == 0
    lines = [line.split("=", 1) for line in desk.text("ben/01_tiny/outputs.txt").splitlines()]
    assert [name for name, _ in lines] == ["q1_01_tiny", "q2_01_tiny", "q3_01_tiny"]
    assert classroom_points(output for _, output in lines) == (4.5, 10)
    assert desk.text("ben/01_tiny/notices.txt").splitlines() == [
        "::notice title=Autograding complete::Points 4.5/10",
        '::notice title=Autograding report::{"totalPoints":4.5,"maxPoints":10}',
    ]
    assert "Tiny: 4.5 of 10 points" in desk.text("ben/01_tiny/summary.md")


def test_a_summary_gives_the_reason_of_an_error_once(desk):
    broken = made("dan", message="It is no notebook.", status="error", error="It is no notebook.")
    desk.give(broken)
    desk.export("github")
    assert desk.text("dan/01_tiny/summary.md").count("It is no notebook.") == 1


def test_a_summary_is_cut_to_what_github_shows(desk):
    desk.give(made("ada", message="🐉" * (MAX_SUMMARY // 3)))
    desk.export("github")
    summary = desk.text("ada/01_tiny/summary.md")
    assert len(summary.encode()) <= MAX_SUMMARY
    assert summary.endswith("shows no more than 1 MiB.\n")


def test_no_command_is_carried_out_among_a_strangers_lines():
    """What is quoted stands between a stop and its token, which nobody can know before."""
    first, *inner, last = quoted(HOSTILE).splitlines()
    token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", first)[1]
    assert last == f"::{token}::"
    assert inner[0].startswith("::notice")
    assert token not in "".join(inner)
    assert quoted("").splitlines()[0] != first


def test_gradescope_reads_exact_points_and_all_of_it_is_visible(desk):
    """The total is the sum of the tests, each has a status, and no hidden test hides the total."""
    assert desk.export("gradescope").exit_code == 0
    document = desk.json("01_tiny/ben/results.json")
    assert document["score"] == 4.5 == sum(test["score"] for test in document["tests"])
    assert [test["max_score"] for test in document["tests"]] == [7, 1, 2]
    assert [test["status"] for test in document["tests"]] == ["failed", "passed", "failed"]
    assert {document["visibility"], *(test["visibility"] for test in document["tests"])} == {"visible"}
    assert document["stdout_visibility"] == "hidden"
    assert {test["output_format"] for test in document["tests"]} == {"md"}
    first = document["tests"][0]["output"]
    assert "It is last." in first
    assert "*Hint:* Look again." in first
    assert "<img" not in first
    assert document["tests"][2]["output"] == "Not answered yet."


@pytest.mark.parametrize(("outcome", "is_said"), [("failed", True), ("passed", False)])
def test_partial_credit_is_explained_where_there_is_any(outcome, is_said):
    checks = [CheckResult("t", "It holds.", "passed", 1.5, 3, None, None)]
    checks.append(CheckResult("u", "It holds, too.", outcome, 0, 1, None, None))
    answer = QuestionResult("q1", "One", "f", "answered", 1.5, 4.0, tuple(checks))
    result = Result("b", "a", "b", "c", (), "graded", None, 1.5, 4.0, (), (answer,), Provenance())
    shown = gradescope.results_json(result, Feedback(), "visible")
    assert ("part of its points" in plain(about_question(result, answer, Feedback()))) is is_said
    assert ("part of its points" in shown["tests"][0]["output"]) is is_said


def test_junit_is_xml_whatever_a_student_wrote(desk):
    assert desk.export("junit").exit_code == 0
    suites = ET.fromstring((desk.out / "01_tiny.xml").read_bytes())
    ben = next(suite for suite in suites if suite.get("name") == "ben")
    assert (ben.get("tests"), ben.get("failures"), ben.get("errors")) == ("4", "2", "0")
    assert (suites.get("tests"), suites.get("failures")) == ("8", "4")
    properties = {p.get("name"): p.get("value") for p in ben.find("properties")}
    assert (properties["score"], properties["max_score"], properties["q1.score"]) == ("4.5", "10", "3.5")
    failure = ben.find("testcase[@name='test_last']/failure")
    assert "<img src=x onerror=alert(1)>" in failure.get("message")
    assert failure.text.endswith("Hint: Look again.")


def test_what_is_exported_is_what_the_gradebook_has(desk):
    """A result outlives its notebook; who is absent now, or handed nothing in any more, is left out."""
    current = [["ada", "01_tiny"], ["=cem", "01_tiny"]]
    desk.give(made("ada"), made("ben"), made("=cem"), current=current)
    ended = desk.export("junit")
    assert "was stopped" not in ended.output
    assert "no longer in the gradebook: ben/01_tiny.ipynb." in ended.output
    suites = ET.fromstring((desk.out / "01_tiny.xml").read_bytes())
    assert [suite.get("name") for suite in suites] == ["=cem", "ada"]


def test_after_a_stopped_run_nobody_is_left_out(desk):
    """It hasn't said which notebooks there are now, and some results are missing or old, which is told."""
    desk.give(made("ada"), finished=False, current=[])
    said = desk.export("junit").output
    assert "was stopped: grade again" in said and "no longer in the gradebook" not in said
    assert len(ET.fromstring((desk.out / "01_tiny.xml").read_bytes())) == 1


def test_a_notebook_in_error_is_exported_with_nothing_and_said(desk):
    broken = made("dan", status="error", error="It is not a notebook.")
    for question in broken["questions"]:
        question |= {"score": 0.0, "status": "missing"}
        question["checks"] = [check | {"outcome": "failed", "points": 0.0} for check in question["checks"]]
    store(desk.results, broken | {"score": 0.0})
    for form in FORMATS:
        assert "exported with 0 points: dan/01_tiny.ipynb" in desk.export(form).output
    assert desk.json("01_tiny/dan/results.json")["output"].startswith("**This notebook could not be graded")
    suites = ET.fromstring((desk.out / "01_tiny.xml").read_bytes())
    assert suites.get("errors") == "4"


CANVAS = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Tiny (4242),Essay (7),Final Score\r\n"
    "    Points Possible,,,,,10,5,(read only)\r\n"
    '"Lovelace, Ada",11,s-1,ada,"A, ""first""",,5.00,90.1\r\n'
    "Ben Büchner,12,,ben@example.org,A,1,,\r\n"
    "Zoë,13,,zoe,A,7,3,\r\n"
    '"Student, Test",14,,,A,,,\r\n'
)


@pytest.fixture
def canvas(tmp_path):
    def write(text=CANVAS):
        path = tmp_path / "export.csv"
        path.write_bytes(text.encode())
        return path

    return write


def test_canvas_changes_one_column_and_no_other_cell(desk, canvas):
    store(desk.results, made("ben@example.org"))
    ended = desk.export("canvas", "--gradebook", canvas())
    expected = CANVAS.replace('""",,5.00', '""",4.5,5.00').replace("org,A,1,,", "org,A,4.5,,")
    assert (desk.out / "canvas.csv").read_bytes() == expected.encode()
    assert "Tiny (4242), scores filled in: 2, in the place of others: 1; unchanged rows: 2." in ended.output
    assert "left out: ben." in ended.output


def test_canvas_matches_names_numbers_and_logins_but_guesses_nobody(desk, canvas):
    desk.give(*map(made, ["11", "Ada Lovelace", "s-1", "Zoë", "zo"]))
    ended = desk.export("canvas", "--gradebook", canvas())
    assert "so left out: zo." in ended.output
    assert "several students one row: 11; Ada Lovelace; s-1." in ended.output
    assert (desk.out / "canvas.csv").read_bytes() == CANVAS.replace("A,7,3", "A,4.5,3").encode()


def test_canvas_knows_whom_it_was_collected_from_by_number(desk, canvas, tmp_path):
    """Canvas names a file `lovelaceada_11_...`: nobody is called that, but 11 is in the gradebook."""
    names = ("lovelaceada_11_901_01_tiny.ipynb", "zo_99_902_01_tiny.ipynb")
    collected_and_graded(desk, packed(tmp_path / "in.zip", *names), made("lovelaceada"), made("zo"))
    ended = desk.export("canvas", "--gradebook", canvas())
    assert "left out: zo." in ended.output
    assert (desk.out / "canvas.csv").read_bytes() == CANVAS.replace('""",,5.00', '""",4.5,5.00').encode()


@pytest.mark.parametrize("column", ["7", "essay", "Essay (7)", "01_tiny=Essay (7)"])
def test_a_column_is_named_by_heading_title_or_number(desk, canvas, column):
    """A note says that its points possible differ from those of the assignment."""
    ended = desk.export("canvas", "01_tiny", "--gradebook", canvas(), "--column", column)
    assert "Essay (7): Canvas has 5 points possible, the assignment 10" in ended.output
    assert 'A, ""first""",,4.5,90.1' in desk.text("canvas.csv")


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (CANVAS.replace("Tiny", "Other"), [], "there are Other (4242), Essay (7)"),
        (CANVAS.replace("Essay", "Tiny"), [], "more than one column for 01_tiny (Tiny (4242), Tiny (7))"),
        (CANVAS, ["--column", "Final Score"], "Canvas computes the column Final Score itself"),
        *(
            (CANVAS, ["--column", of_people], f"{of_people} is not a column of points")
            for of_people in ("ID", "Student", "Section", "SIS Login ID")
        ),
        (CANVAS.partition("\r\n")[0] + "\r\n", ["--column", "Section"], "there are Tiny (4242), Essay (7)"),
        (CANVAS.replace("Lovelace, Ada", "A").replace("ada", "a"), [], "nothing could be filled in"),
        ("student,score\nada,1\n", [], "not a gradebook of Canvas"),
        ("Étudiant,Identifiant,Tiny (1)\nAda,11,\n", [], "its headings are in another language: export it"),
        ("", [], "is empty"),
        ('Student,ID,"Tiny" (1)\n', [], "line 1 is not CSV"),
    ],
)
def test_a_gradebook_that_cannot_be_filled_is_told_and_nothing_written(desk, canvas, text, options, told):
    ended = desk.export("canvas", "01_tiny", "--gradebook", canvas(text), *options)
    assert (ended.exit_code, desk.out.exists()) == (2, False)
    assert told in ended.stderr and len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "score"),
    [
        ([('"A, ""first"""', '"1,234"')], "4.5"),  # an unrelated cell is no decimal sign
        ([("A,7,3", 'A,7,"3,25"')], "4.5"),  # also in the column of another assignment
        ([("A,7,3", 'A,"7,5",3')], "4,5"),
        ([("A,7,3", 'A,"7,5",3'), ("A,1,,", 'A,"0,5",,')], "4,5"),
        ([("A,7,3", "A,7.5,3"), ('"A, ""first"""', '"1,234"')], "4.5"),
        ([(",,,,,10,5", ',,,,,"10,00",5')], "4,5"),
    ],
)
def test_the_decimal_sign_is_that_of_the_column_that_is_filled(desk, canvas, changes, score):
    text = CANVAS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    desk.export("canvas", "01_tiny", "--gradebook", canvas(text))
    (ada,) = [row for row in csv.reader(io.StringIO(desk.text("canvas.csv"))) if row[0] == "Lovelace, Ada"]
    assert ada[5] == score


@pytest.mark.parametrize(("possible", "score"), [("10", "4,5"), ("10,00", "4,5"), ("10.00", "4.5")])
def test_where_semicolons_separate_a_comma_is_the_decimal_sign(desk, canvas, possible, score):
    """That is why they separate; numbers with a point in the column say otherwise."""
    rows = [*csv.reader(io.StringIO(CANVAS.removeprefix("\ufeff"), newline=""))]
    rows[1][5] = possible
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerows(rows)
    desk.export("canvas", "01_tiny", "--gradebook", canvas(text.getvalue()))
    (ada,) = [line for line in desk.text("canvas.csv").splitlines() if line.startswith("Lovelace, Ada")]
    assert ada.split(";")[5] == score


@pytest.mark.parametrize("order", ["LastName,FirstName", "FirstName,LastName", "lastname,firstname"])
def test_canvas_may_write_the_name_in_two_columns(desk, canvas, order):
    """A course that sorts by last names exports `LastName,FirstName` for `Student`: it is filled as well."""
    names = {"first": ("Ada", "Ben", "Zoë", "Test"), "last": ("Lovelace", "Büchner", "", "Student")}
    columns = [names[heading[:5].lower().rstrip("n")] for heading in order.split(",")]
    lines = [f"{order},ID,SIS User ID,SIS Login ID,Section,Tiny (4242)", "    Points Possible,,,,,,10"]
    lines += [f"{one},{other},{11 + at},,,A," for at, (one, other) in enumerate(zip(*columns, strict=True))]
    desk.give(*map(made, ["lovelaceada", "Ben Büchner", "zo"]))
    ended = desk.export("canvas", "--gradebook", canvas("\n".join(lines) + "\n"))
    assert ended.exit_code == 0, ended.output
    scores = [row[6] for row in csv.reader(io.StringIO(desk.text("canvas.csv")))]
    assert scores == ["Tiny (4242)", "10", "4.5", "4.5", "", ""]


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        *(
            (mark, "excused or not assigned: ada ({0}); Zoë ({0}).")
            for mark in ("EX", "N/A", "Excused", "ex")
        ),
        ("A-", "because the cell is not a number: ada ({0})."),
    ],
)
def test_a_mark_that_is_no_score_stays(desk, canvas, mark, told):
    """Who is excused, or was not assigned the work, keeps that and is named, with a result or without."""
    text = CANVAS.replace('""",,5.00', f'""",{mark},5.00').replace("A,7,3", f"A,{mark},3")
    ended = desk.export("canvas", "--gradebook", canvas(text))
    assert ended.exit_code == 0
    assert (desk.out / "canvas.csv").read_bytes().count(f",{mark},".encode()) == 2
    assert told.format(mark) in ended.output


def test_the_teachers_own_file_is_never_overwritten(desk, tmp_path):
    """--out may be the folder in which the export lies under the name that would be written."""
    desk.out = tmp_path
    (tmp_path / "canvas.csv").write_bytes(CANVAS.encode())
    assert desk.export("canvas", "--gradebook", tmp_path / "canvas.csv").exit_code == 2
    assert (tmp_path / "canvas.csv").read_bytes() == CANVAS.encode()


CELLS = st.text(st.sampled_from('ab ,;"\n\r\tä='), max_size=5)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=4), st.data())
def test_a_sheet_reads_as_csv_does_and_changes_what_it_is_told(tmp_path_factory, rows, data):
    """Its cells are those of Python's csv; a replaced cell is another, all others stay."""
    rows = [["Student", "ID"], *([*row[:-1], row[-1] + "x"] for row in rows)]
    path = tmp_path_factory.getbasetemp() / "sheet.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    sheet = read_sheet(path)
    assert sheet.rows == rows
    at = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[at])))  # one more than there are
    value = data.draw(CELLS)
    changed = [*rows[at][:column], value, *rows[at][column + 1 :]]
    again = csv.reader(io.StringIO(sheet.filled({(at, column): value}).decode(), newline=""))
    assert list(again) == [*rows[:at], changed, *rows[at + 1 :]]


def test_who_is_called_otherwise_there_is_found_by_the_roster(desk, canvas, tmp_path):
    """A folder is a login on GitHub, Canvas knows an id, Moodle an address: the roster says who that is."""
    submissions = tmp_path / "in"
    (submissions / "ada-l").mkdir(parents=True)
    roster = "student,github,canvas id,email\nA. L.,ada-l,11,ada@example.org\n"
    (submissions / "roster.csv").write_text(roster, encoding="utf-8")
    desk.give(made("A. L."), submissions=submissions)
    desk.export("canvas", "--gradebook", canvas())
    assert (desk.out / "canvas.csv").read_bytes() == CANVAS.replace('""",,5.00', '""",4.5,5.00').encode()
    desk.export("moodle", "--gradebook", canvas(MOODLE))
    assert "ada@example.org,1001,4.5" in desk.text("01_tiny.csv")


MOODLE = (
    "First name,Last name,ID number,Email address,Course total (Real)\n"
    "Ada,Lovelace,1001,ada@example.org,-\n"
    "Ben,Büchner,1002,ben@example.org,3\n"
    "Eve,Formula,=1+1,eve@example.org,3\n"
)


def test_moodle_gets_known_users_only_and_no_formula(desk, canvas):
    """An unknown user would fail the whole import; text of a student is never a formula."""
    people = ["ada@example.org", "1002", "Eve Formula", "nobody"]
    results = [made(name, message=HOSTILE) for name in people]
    results[1]["questions"][0]["id"] = "=q1"
    desk.give(*results)
    ended = desk.export("moodle", "--gradebook", canvas(MOODLE))
    with (desk.out / "01_tiny.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["Email address", "ID number", "Tiny", "Feedback"]
    assert [row[:3] for row in rows] == [
        ["ben@example.org", "1002", "4.5"],
        ["ada@example.org", "1001", "4.5"],
    ]
    assert rows[0][3].startswith("'=q1: 3.5 of 7. failed: It is last.")
    assert "left out: nobody." in ended.output
    assert "a spreadsheet would take their address or number for a formula: Eve Formula" in ended.output


ENGLISH = "its headings are in another language: export it with English chosen"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,points\nada,1\n", "no column Email address"),
        ("ID,Vollständiger Name,E-Mail-Adresse,Bewertung,Bestwertung\nTeilnehmer/in7,Ada,a@x,,\n", ENGLISH),
        ("Prénom,Nom de famille,Numéro d'identification,Adresse de courriel\nAda,L,1,a@x\n", ENGLISH),
        ("Identificador,Nombre completo,Dirección de correo,Estado,Calificación\n7,Ada,a@x,,\n", ENGLISH),
        (MOODLE, "none of its students has a result"),
    ],
)
def test_a_moodle_file_of_no_use_is_told(desk, canvas, text, told):
    ended = desk.export("moodle", "--gradebook", canvas(text))
    assert (ended.exit_code, desk.out.exists()) == (2, False)
    assert told in ended.stderr


WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
    'Participant 7,Ada Lovelace,ada@example.org,Submitted,,10.00,Yes,"Monday, 2 November 2026, 5:00 PM",-,\n'
    "Participant 8,Ben Büchner,ben@example.org,Submitted,3.00,10.00,No,-,-,mine\n"
    "Participant 9,Eve Formula,eve@example.org,No submission,,10.00,Yes,-,-,\n"
)


def test_a_grading_worksheet_is_filled_in_place(desk, canvas):
    desk.give(made("lovelaceada"), made("Ben Büchner"))
    ended = desk.export("moodle", "01_tiny", "--gradebook", canvas(WORKSHEET))
    before, after = ([*csv.reader(io.StringIO(text))] for text in (WORKSHEET, desk.text("01_tiny.csv")))
    (ada,) = [row for row, old in zip(after, before, strict=True) if row != old]
    assert (ada[0], ada[4], ada[8]) == ("Participant 7", "4.5", "-")
    assert ada[9].startswith("q1: 3.5 of 7.")
    assert "grade cannot be changed: Ben Büchner." in ended.output


def test_a_worksheet_keeps_its_decimal_comma_and_words(desk, canvas):
    text = WORKSHEET.replace(",10.00,", ',"10,00",').replace("No submission,,", "No submission,passed,")
    desk.give(made("lovelaceada"), made("Eve Formula"))
    ended = desk.export("moodle", "01_tiny", "--gradebook", canvas(text))
    grades = [row[4] for row in csv.reader(io.StringIO(desk.text("01_tiny.csv")))]
    assert grades == ["Grade", "4,5", "3.00", "passed"]
    assert "the cell is not a number: Eve Formula (passed)" in ended.output


def test_two_of_one_name_are_asked_for_once(desk, canvas, tmp_path):
    """The message names roster.csv; with an id there every export finds both."""
    text = CANVAS.replace("Ben Büchner,12,,ben@example.org", '"Lovelace, Ada",12,s-2,ada2')
    moodle = MOODLE.replace("Ben,Büchner,1002", "Ada,Lovelace,s-2").replace("1001", "s-1")
    submissions = tmp_path / "in"
    submissions.mkdir()
    desk.give(made("Ada Lovelace-s-1"), made("Ada Lovelace-s-2"), submissions=submissions)
    ended = desk.export("canvas", "--gradebook", canvas(text))
    assert ended.exit_code == 2
    (submissions / "roster.csv").write_text("name,number\nAda Lovelace,s-1\nAda Lovelace,s-2\n")
    desk.export("canvas", "--gradebook", canvas(text))
    assert desk.text("canvas.csv").count(",4.5,") == 2
    desk.export("moodle", "--gradebook", canvas(moodle))
    assert desk.text("01_tiny.csv").count(",4.5,") == 2


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["01_tiny=7", "02_tiny=7"], "--column 02_tiny=7: 7 is the column of another assignment already"),
        (["01_tiny=7", "02_tiny=Essay"], "Essay (7) would be filled for 01_tiny and for 02_tiny"),
        (["03_tiny=Essay"], "--column 03_tiny=Essay: there is no result of 03_tiny"),
    ],
)
def test_a_column_is_filled_for_one_assignment_that_has_results(desk, canvas, columns, told):
    """One column for two assignments, or for one without results, is refused, and nothing is written."""
    for number in (2, 3):
        add_assignment(Path(), number)
    desk.give(made("ada"), made("ada", "02_tiny"))
    named = [argument for column in columns for argument in ("--column", column)]
    ended = desk.export("canvas", "--gradebook", canvas(), *named)
    assert (ended.exit_code, desk.out.exists()) == (2, False)
    assert told in ended.stderr


def test_the_wide_gradebook_has_a_row_for_each_student(desk):
    submissions = desk.results.with_name("submissions")
    submissions.mkdir()
    (submissions / "roster.csv").write_text("student\nada\n=eve\n", encoding="utf-8")
    desk.tell(submissions=submissions)
    desk.export("wide")
    assert desk.text("grades.csv") == (
        "student,name,email,01_tiny,total,max,percent\n'=eve,'=eve,,0,0,10,0.0\n"
        "ada,ada,,4.5,4.5,10,45.0\nben,,,4.5,4.5,10,45.0\n"
    )


@pytest.mark.parametrize("edited", ["student;assignment;score\nada;01_tiny;9,5\n", ""])
def test_no_export_reads_the_gradebook_of_a_run(desk, edited):
    desk.export("wide")
    expected = desk.text("grades.csv")
    (desk.results / "gradebook.csv").write_text(edited, encoding="utf-8")
    ended = desk.export("wide")
    assert (ended.exit_code, desk.text("grades.csv")) == (0, expected)


SHOWN_HINT, SHOWN_DIAGNOSIS = "Look again.", "It is not."
SCORES = {
    "schema": "classroom50/scores/v1",
    "assignments": {"01-tiny": {"type": "individual", "entries": []}},
}
ASSIGNMENTS = {"schema": "classroom50/assignments/v1", "assignments": [{"slug": "01-tiny"}]}


def write_pages(desk, result, shows):
    """The pages that a run would have written with these results."""
    folder = desk.results / "feedback" / result["student"]
    folder.mkdir(parents=True, exist_ok=True)
    stored = result_from_json(result, result["assignment"])
    for suffix, page_of in ((".md", feedback_markdown), (".html", feedback_html)):
        (folder / f"{stored.name}{suffix}").write_text(page_of(stored, {}, {}, shows), encoding="utf-8")


def tell_origins(desk, *entries):
    """Tell where notebooks were collected from: entries of the record without a time."""
    submissions = desk.results.parent / "submissions"
    record = Record(submissions)
    for student, notebook, *origin in entries:
        (submissions / student).mkdir(parents=True, exist_ok=True)
        record.remember(Entry(student, notebook, datetime(2026, 11, 21, tzinfo=UTC), *origin))
    (submissions / RECORD).write_bytes(record.content())
    desk.tell(submissions=submissions)


@dataclass
class Everything:
    """A desk that has what any format asks for: gradebooks, and notebooks collected from every system."""

    desk: Desk
    gradebooks: dict[str, Path]

    def give(self, *results, shows=None):
        """Store results, their pages, and where their notebooks were collected from."""
        self.desk.give(*results)
        entries = []
        for number, result in enumerate(results):
            origin = {
                "": f"hw-{number}/01_tiny.ipynb",
                "canvas": f"lovelaceada_{number + 11}_901_01_tiny.ipynb",
                "moodle": f"Ada Lovelace_{number + 7}_assignsubmission_file_/01_tiny.ipynb",
            }
            system = ["", "canvas", "moodle"][number % 3]
            entries.append((result["student"], "01_tiny.ipynb", origin[system], system))
            write_pages(self.desk, result, shows or Feedback())
        tell_origins(self.desk, *entries)

    def export(self, name):
        """Write all files of a format; return their texts by name, those in zips and in base64 too."""
        options = ["--gradebook", self.gradebooks[name]] if name in self.gradebooks else []
        ended = self.desk.export(name, *options)
        assert ended.exit_code == 0, ended.output
        texts = {}
        for file in self.desk.files():
            content = (self.desk.out / file).read_bytes()
            if file.endswith(".zip") and content != b"PK":  # the autograder of these tests
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    texts |= {name: archive.read(name).decode() for name in archive.namelist()}
            elif file.endswith("outputs.txt"):
                for line in content.decode().splitlines():
                    key, _, output = line.partition("=")
                    texts[f"{file}.{key}.json"] = base64.b64decode(output).decode()
            else:
                texts[file] = content.decode()
        return texts


@pytest.fixture
def everything(desk, tmp_path):
    people = "username,first_name,last_name\nada,Ada,Lovelace\nzoe,Zoe,Z\n"
    texts = {
        "canvas": ("canvas-export.csv", CANVAS),
        "moodle": ("moodle-export.csv", MOODLE),
        "classroom50": ("classroom/scores.json", json.dumps(SCORES)),
        "": ("classroom/assignments.json", json.dumps(ASSIGNMENTS)),
        "roster": ("classroom/roster.csv", people),
    }
    (tmp_path / "classroom").mkdir()
    for name, text in texts.values():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return Everything(desk, {form: tmp_path / name for form, (name, _) in texts.items()})


EVERY = list(all_formats())
CLASS = ("Ada Lovelace", "Ben Büchner", "Eve Formula")


@pytest.mark.parametrize("form", EVERY)
def test_what_students_may_not_see_leaves_in_no_form(everything, form):
    """Where course.toml forbids diagnoses and hints, no export contains them; otherwise feedback does."""
    everything.give(*map(made, CLASS))
    before = "".join(everything.export(form).values())
    Path("course.toml").write_text("[feedback]\ndiagnoses = false\nhints = false\n", encoding="utf-8")
    everything.give(*map(made, CLASS), shows=Feedback(diagnoses=False, hints=False))
    after = "".join(everything.export(form).values())
    assert SHOWN_DIAGNOSIS not in after
    assert SHOWN_HINT not in after
    assert ("It is last" in after) == ("It is last" in before)


@pytest.mark.parametrize("form", EVERY)
def test_a_strangers_text_does_nothing_in_any_form(everything, form):
    """No markup, formula, command or control character of a student's; JSON and XML can be read."""
    everything.give(*(made(name, message=HOSTILE) for name in CLASS))
    texts = everything.export(form)
    assert texts
    for name, text in texts.items():
        match Path(name).suffix:
            case ".csv":
                cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
                own = [cell for cell in cells if "Points 99" in cell]
                assert all(without_formula(cell) == cell for cell in own)
            case ".xml":
                ET.fromstring(text)
            case ".html" | ".md":
                assert "<img" not in text
                assert "@all" not in text.replace("@\N{WORD JOINER}", "") or ".html" in name
            case ".json" | ".ipynb":
                json.loads(text, parse_constant=pytest.fail)
            case ".txt":
                assert "Points 99" not in text
        assert not re.search("[\x00\x1b]", text), name


@pytest.mark.parametrize("form", EVERY)
def test_the_same_results_give_the_same_files(everything, form):
    everything.give(*map(made, CLASS))
    desk = everything.desk
    everything.export(form)
    before = {name: (desk.out / name).read_bytes() for name in desk.files()}
    everything.export(form)
    assert before == {name: (desk.out / name).read_bytes() for name in desk.files()}


def test_every_format_is_in_the_help_and_in_the_documentation():
    """Both are made of what the modules say; `python docs/formats.py` writes the list."""
    said = " ".join(CliRunner().invoke(main, ["export", "--help"]).output.split())
    for name, form in all_formats().items():
        assert f" {name} {' '.join(form.help.replace('`', '').split(chr(10))[0].split())}" in said
    docs = (Path(__file__).parents[2] / "docs/instructors.md").read_text(encoding="utf-8")
    assert f"\n\n{uses()}\n" in docs, "run: python docs/formats.py"


UNKNOWN = {"assignment": None, "status": "error", "error": "Unknown.", "questions": []}


def test_a_notebook_of_no_assignment_is_left_out_and_named(desk):
    store(desk.results, made("jun", **UNKNOWN), name="essay")
    ended = desk.export("github")
    assert "belong to no assignment: jun/01_tiny.ipynb" in ended.output
    assert not (desk.out / "jun").exists()


def test_a_note_names_some_and_counts_the_others(desk, canvas):
    many = [made(f"s{number:03}", status="error", error="Broken.") for number in range(200)]
    desk.give(made("ada"), *many)
    for number in range(30):
        store(desk.results, made(f"t{number:03}", **UNKNOWN), name="essay")
    ended = desk.export("canvas", "--gradebook", canvas())
    assert ended.output.count("and 180 more.") == 2
    assert "and 10 more." in ended.output
    formulas = "".join(f'A,{number:03},"=1+{number}",{number}@example.org,-\n' for number in range(25))
    desk.give(*(made(f"A {number:03}") for number in range(25)))
    store(desk.results, made("ada@example.org"))
    ended = desk.export("moodle", "--gradebook", canvas(MOODLE + formulas))
    assert "for a formula: A 000 (" in ended.output
    assert "and 5 more." in ended.output


def test_the_finished_assignments_are_exported_meanwhile(desk):
    """One that is being written stops no export of the others; asked for, it is refused."""
    write_new(Path.cwd(), "02_signs")
    for form in FORMATS:
        for stem in ([], ["01_tiny"]):
            ended = desk.export(form, *stem)
            assert ended.exit_code == 0, ended.output
    assert [name for name in desk.files() if name.endswith(".zip")] == ["01_tiny.zip"]
    assert "02_signs still says TODO" in desk.export("gradescope", "02_signs").stderr


def spoil(**changes):
    return json.dumps(made("ada") | changes)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "[" * 100_000),
        spoil(schema="autograd-grader/result/v9"),
        spoil(student="../ada"),
        spoil(student="ben"),
        spoil(assignment="02_other"),
        spoil(score=math.nan),
        spoil(score=-1),
        spoil(score="4"),
        spoil(max_score=math.inf),
        spoil(status="fine"),
        spoil(questions=[{}]),
        spoil(questions=None),
        spoil(provenance=None),
    ],
)
def test_a_spoiled_result_is_named_and_nothing_written(desk, text):
    path = desk.results / "submissions" / "ada" / "01_tiny.json"
    path.write_text(text, encoding="utf-8")
    ended = desk.export("junit")
    assert (ended.exit_code, desk.out.exists()) == (2, False)
    assert str(path) in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_links_among_results_are_not_followed(desk, tmp_path):
    (desk.results / "submissions" / "eve").symlink_to(desk.results / "submissions" / "ada")
    desk.export("junit")
    assert len(ET.fromstring((desk.out / "01_tiny.xml").read_bytes())) == 2


NO_ASSIGNMENT = "there is no assignment 01_tinny; did you mean 01_tiny?"
ONE_COLUMN = "--column 01_tiny=B: 01_tiny has one column, and --column named A before"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("canvas", "canvas needs --gradebook FILE"),
        ("junit --gradebook x.csv", "--gradebook is for canvas, classroom50, moodle"),
        ("junit --column x", "--column is for canvas and classroom50"),
        ("canvas --gradebook x.csv --column x", "write --column STEM=HEADING"),
        ("canvas --gradebook x.csv --column 01_tinny=X", NO_ASSIGNMENT),
        ("canvas 01_tiny --gradebook x.csv --column 01_tinny=X", NO_ASSIGNMENT),
        ("canvas --gradebook x.csv --column 01_tiny=A --column 01_tiny=B", ONE_COLUMN),
        ("canvas 01_tiny --gradebook x.csv --column A --column 01_tiny=B", ONE_COLUMN),
        ("canvas --gradebook x.csv --column 01_tiny=", "'01_tiny=' names no column: write its heading"),
        ("canvas 01_tiny --gradebook x.csv --column ' '", "--column ' ' names no column"),
        ("classroom50 --gradebook x --column 01_tiny=", "--column '01_tiny=' names no column"),
        ("classroom50 --column 01_tiny=x", "add --gradebook FILE"),
        ("canvas --gradebook missing.csv", "missing.csv cannot be read"),
        ("junit 99_none", "there are no results of 99_none, only of 01_tiny"),
        ("gradescope 99_none", "there is no assignment 99_none"),
        ("excel", "is not one of"),
    ],
)
def test_what_cannot_be_done_is_told(desk, arguments, told):
    ended = desk.export(*shlex.split(arguments))
    assert (ended.exit_code, desk.out.exists()) == (2, False)
    assert told in ended.stderr


def test_results_that_are_not_there_are_told(desk, tmp_path):
    desk.results = tmp_path / "nowhere"
    assert "grade a class first" in desk.export("junit").stderr


def test_a_file_in_the_way_is_told(desk):
    desk.out.write_text("mine", encoding="utf-8")
    ended = desk.export("junit")
    assert ended.exit_code == 2
    assert "choose another --out" in ended.stderr
    assert desk.out.read_text(encoding="utf-8") == "mine"


def test_feedback_goes_back_to_where_notebooks_were_collected(desk):
    ended = desk.export("feedback")
    assert ended.exit_code == 2
    assert "no page of what was collected from clones, Canvas or Moodle: `collect`" in ended.stderr
    assert not desk.out.exists()


def collected_and_graded(desk, source, *results):
    """Collect a source, and store results as if what came from it had been graded."""
    submissions = desk.results.parent / "collected"
    collect(source, submissions)
    desk.give(*results, submissions=submissions)
    for result in results:
        write_pages(desk, result, Feedback())


def packed(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return path


def test_canvas_takes_its_own_names_back(desk, tmp_path):
    """A zip for each assignment, with each file as Canvas named it; it is a notebook, as its name says."""
    names = ("lovelaceada_LATE_11_901_01_tiny-1.ipynb", "kim_o_12_902_01_tiny.ipynb")
    collected_and_graded(desk, packed(tmp_path / "in.zip", *names), made("lovelaceada"), made("kim_o"))
    ended = desk.export("feedback")
    assert ended.exit_code == 0, ended.output
    assert desk.files() == ["01_tiny-canvas.zip"]
    with zipfile.ZipFile(desk.out / "01_tiny-canvas.zip") as archive:
        assert sorted(archive.namelist()) == sorted(names)
        for name, student in zip(names, ("lovelaceada", "kim_o"), strict=True):
            (cell,) = nbformat.reads(archive.read(name), as_version=4).cells
            page = desk.results / "feedback" / student / "01_tiny.md"
            assert (cell.cell_type, cell.source) == ("markdown", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("inside", ["/01_tiny.ipynb", "01_tiny.ipynb"])
def test_moodle_takes_its_own_folders_back(desk, tmp_path, inside):
    """A folder for each participant, also where Moodle put all files into one; in it is the page."""
    folders = [f"{name}_assignsubmission_file_" for name in ("Ada Lovelace_71", "Kim Lee_72")]
    source = packed(tmp_path / "in.zip", *(f"{folder}{inside}" for folder in folders))
    collected_and_graded(desk, source, made("Ada Lovelace"), made("Kim Lee"), made("zoe"))
    ended = desk.export("feedback", "01_tiny")
    assert "not collected from a clone, Canvas or Moodle: zoe/01_tiny.ipynb." in ended.output
    with zipfile.ZipFile(desk.out / "01_tiny-moodle.zip") as archive:
        assert archive.namelist() == [f"{folder}/01_tiny.html" for folder in folders]
        page = desk.results / "feedback" / "Kim Lee" / "01_tiny.html"
        assert archive.read("Kim Lee_72_assignsubmission_file_/01_tiny.html") == page.read_bytes()


def test_a_record_without_the_name_of_a_download_is_reported(desk, tmp_path):
    """Without it a system would not know whose feedback it is, so the student is named, with what to do."""
    collected_and_graded(desk, packed(tmp_path / "in.zip", "kim_12_902_01_tiny.ipynb"), made("kim"))
    record = desk.results.parent / "collected" / RECORD
    record.write_text(record.read_text().replace("kim_12_902_01_tiny.ipynb", "renamed.ipynb"))
    ended = desk.export("feedback")
    assert ended.exit_code == 2
    assert "lacks the name under which they were downloaded: `collect`" in ended.stderr
    assert "kim/01_tiny.ipynb" in ended.stderr


@pytest.mark.parametrize("content", ['{"seed":\n 1,,}', "[]\n"])
def test_nothing_is_exported_by_a_spoiled_run(desk, content):
    (desk.results / "run.json").write_text(content, encoding="utf-8")
    ended = desk.export("wide")
    assert ended.exit_code == 2 and not desk.files()
    assert "run.json cannot be read" in ended.stderr and "run the same `grade` again" in ended.stderr


def test_a_page_that_is_missing_leaves_nothing_half_exported(desk):
    tell_origins(desk, *((name, "01_tiny.ipynb", f"hw/{name}/01_tiny.ipynb") for name in ("ada", "ben")))
    write_pages(desk, made("ada"), Feedback())
    ended = desk.export("feedback")
    assert ended.exit_code == 2 and "cannot be read" in ended.stderr
    assert not desk.files()


def test_each_repository_gets_the_pages_of_what_came_from_it(desk):
    store(desk.results, made("ada", "02_more"))
    for stem in ("01_tiny", "02_more"):
        write_pages(desk, made("ada", stem), Feedback())
    origins = {"01_tiny": "hw1-ada/01_tiny.ipynb", "02_more": "hw2-ada/sub/02_more.ipynb"}
    tell_origins(desk, *(("ada", f"{stem}.ipynb", origin) for stem, origin in origins.items()))
    ended = desk.export("feedback")
    assert ended.exit_code == 0, ended.output
    assert sorted(desk.files()) == [
        *("hw1-ada/01_tiny.html", "hw1-ada/01_tiny.md", "hw1-ada/README.md"),
        *("hw2-ada/02_more.html", "hw2-ada/02_more.md", "hw2-ada/README.md"),
    ]
    page = desk.results / "feedback" / "ada" / "02_more.md"
    assert desk.text("hw2-ada/02_more.md") == page.read_text(encoding="utf-8")
    assert "[02_more](02_more.md) | 4.5 of 10" in desk.text("hw2-ada/README.md")
    assert "ben/01_tiny.ipynb" in ended.stdout
