"""The settings of a course: what they may say, and what they change."""

import json

import pytest
from tiny_course import HALF, RIGHT

from grader.course.course import Course
from grader.course.settings import Feedback, Settings, read_settings
from grader.errors import CourseError
from grader.sandbox.plan import TimeLimits

ASKED = {"01_leaves": ["q1", "q2"], "03_truncated_bptt": ["q1"], "09_begun": None}

FULL = """
[score]
partial_credit = 0.25
[points.03_truncated_bptt]
q1 = 10
[points.09_begun]
q7 = 2.5
[limits]
cell = 5
question = 6.5
[feedback]
hints = false
"""


def settings_of(tmp_path, content):
    path = tmp_path / "course.toml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_settings(path, lambda: ASKED)


def test_everything_that_is_said_is_read(tmp_path):
    assert settings_of(tmp_path, FULL) == Settings(
        partial_credit=0.25,
        points={"03_truncated_bptt": {"q1": 10.0}, "09_begun": {"q7": 2.5}},
        limits=TimeLimits(cell=5.0, question=6.5, notebook=200.0),
        feedback=Feedback(hints=False),
    )


@pytest.mark.parametrize(
    "content", [None, "", "[score]\n[limits]\n[feedback]\n[points]\n", b"\xef\xbb\xbf# saved\n"]
)
def test_nothing_has_to_be_said(tmp_path, content):
    """No file, an empty one, empty sections and the mark some editors begin with change nothing."""
    assert settings_of(tmp_path, content) == Settings()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[scores]", "'scores' means nothing here: did you mean score"),
        ("[score]\npartial = 1", "'score.partial' means nothing here: did you mean score.partial_credit"),
        ("[limits]\ncels = 1", "did you mean limits.cell"),
        ("[feedback]\nxray = true", "did you mean feedback.xrays"),
        ("[points.01_leafs]", "'points.01_leafs' means nothing here: did you mean points.01_leaves"),
        ("[points.01_leaves]\nq3 = 1", "'points.01_leaves.q3' means nothing here: did you mean points"),
        ("[score]\npartial_credit = true", "score.partial_credit is true, but has to be a number from 0 to"),
        ("[score]\npartial_credit = nan", "score.partial_credit is nan, but"),
        ("[score]\npartial_credit = 1.5", "score.partial_credit is 1.5, but"),
        ("[score]\npartial_credit = '0.5'", "score.partial_credit is '0.5', but"),
        ("[points.01_leaves]\nq1 = 0", "points.01_leaves.q1 is 0, but has to be a number from 0.01 to 10000"),
        ("[points.01_leaves]\nq1 = -inf", "points.01_leaves.q1 is -inf, but"),
        ("[points]\n01_leaves = 3", "points.01_leaves is 3, but has to be a section, [points.01_leaves]"),
        ("[limits]\ncell = inf", "limits.cell is inf, but has to be a number from 0.1 to 86400"),
        ("[limits]\ncell = false", "limits.cell is false, but"),
        ("[feedback]\nhints = 1", "feedback.hints is 1, but has to be true or false"),
        ("score = 0.5", "score is 0.5, but has to be a section, [score]"),
        ("\n[score", "line 2 is not TOML"),
        ("[score]\npartial_credit = " + "9" * 5000, "is not TOML"),
        ("a = " + "[" * 5000, "is not TOML"),
        (b"# \xff", "line 1 is not UTF-8: save it as UTF-8"),
    ],
)
def test_what_it_may_not_say_is_refused_in_words(tmp_path, content, told):
    with pytest.raises(CourseError) as refused:
        settings_of(tmp_path, content)
    assert str(tmp_path / "course.toml") in str(refused.value)
    assert told in str(refused.value)


def test_a_folder_of_that_name_is_refused(tmp_path):
    """What is there but cannot be read is not taken for a missing file."""
    (tmp_path / "course.toml").mkdir()
    with pytest.raises(CourseError, match="cannot be read"):
        read_settings(tmp_path / "course.toml", dict)


def test_points_are_scaled_everywhere(klass):
    """A question's points reach its checks, students' notebooks and public checks, and divide exactly."""
    klass.settings("[points.01_tiny]\nq2 = 10\n")
    course = Course.find()
    assert course.points("01_tiny") == {"q1": 2, "q2": 10}
    assert [check.points for check in course.rubric("01_tiny").checks] == [2, 7.5, 2.5]
    assert klass.run("build").exit_code == 0
    assert "*10 points*" in (klass.course / "assignments" / "01_tiny.ipynb").read_text(encoding="utf-8")
    public = klass.course / "assignments" / "tests" / "01_tiny" / "q2.py"
    assert "points = 10\n" in public.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("settings", "mistake", "told"),
    [
        ("[limits]\ncell = = 3\n", None, ("course.toml", "line 2")),
        ("[limits]\n\ncell = 'x'\n", None, ("course.toml", "line 3")),
        ("# a class\n[limitz]\n", None, ("course.toml", "line 2")),
        ("[score]\n[points.01_tiny]\nq9 = 3\n", None, ("course.toml", "line 3")),
        ("[points.01_tini]\nq1 = 3\n", None, ("course.toml", "did you mean points.01_tiny.q1")),
        ('[points]\n"01_tiny".q1 = "x"\n', None, ("course.toml", "line 2")),
        ("", ("def test_leaf(made):", "def test_leaf(made)"), ("test_01_tiny.py", "line ")),
        ("", ("@points(3)", "@points(3 / 0)"), ("test_01_tiny.py", "line ")),
    ],
)
def test_a_file_that_cannot_be_read_exits_2_and_tells_the_line(klass, settings, mistake, told):
    """Every command that reads settings or checks says which file and which line, and nothing is graded."""
    klass.hand_in("ada", RIGHT)
    klass.settings(settings)
    if mistake:
        klass.edit_checks(mistake)
    for command in (["grade", klass.submissions, "--out", klass.out], ["build"], ["doctor"]):
        ended = klass.run(*command)
        assert ended.exit_code == 2
        assert all(words in ended.stderr for words in told)
    assert not klass.files("submissions")


def test_other_scores_are_judged_without_running_anybodys_code(klass, close_the_lab):
    """Changed partial credit and points judge everybody again, by what was observed before."""
    klass.grade(ben=HALF)
    assert klass.result("ben")["score"] == 1.5
    evidence = klass.files("evidence", "reference")
    close_the_lab()
    klass.settings("[score]\npartial_credit = 1\n[points.01_tiny]\nq2 = 10\n")
    assert "This run: 1 judged again\n" in klass.grade()
    result = klass.result("ben")
    assert (result["score"], result["max_score"]) == (7.5, 12)
    assert [check["max_points"] for check in result["questions"][1]["checks"]] == [7.5, 2.5]
    assert klass.files("evidence", "reference") == evidence
    assert "0 new" in klass.grade()


def test_what_feedback_shows_changes_feedback_and_nothing_else(klass, close_the_lab):
    """Scores and observations stay the same, also of a notebook that cannot be graded; the pages change."""
    klass.hand_in("ben", HALF)
    (klass.hand_in("dara", RIGHT)).write_text("no notebook", encoding="utf-8")
    klass.grade()
    kept, score = klass.files("evidence", "reference"), klass.result("ben")["score"]
    pages = klass.files("feedback")
    assert any(b"This is not twice as much" in page for page in pages.values())
    close_the_lab()
    klass.settings("[feedback]\ndiagnoses = false\n")
    assert "judged again" in klass.grade()
    assert (klass.files("evidence", "reference"), klass.result("ben")["score"]) == (kept, score)
    assert not any(b"This is not twice as much" in page for page in klass.files("feedback").values())
    klass.settings("")
    klass.grade()
    assert klass.files("feedback") == pages


def test_feedback_of_others_is_written_anew_when_they_are_graded(klass, close_the_lab):
    """A run for one student leaves the others' pages as they were, and the next run for all sees to them."""
    klass.grade(ben=HALF, gus=HALF)
    close_the_lab()
    klass.settings("[feedback]\ndiagnoses = false\n")
    page = klass.out / "feedback" / "gus" / "01_tiny.md"
    before = page.read_bytes()
    klass.grade("--student", "ben")
    assert page.read_bytes() == before
    klass.grade()
    assert page.read_bytes() != before
    written = page.stat().st_mtime_ns
    klass.grade()
    assert page.stat().st_mtime_ns == written


def test_limits_are_those_of_the_course_unless_an_option_says_others(klass):
    klass.hand_in("ada", RIGHT)
    klass.settings("[limits]\ncell = 7\nnotebook = 70\n")
    klass.grade("--notebook-seconds", "55")
    limits = json.loads((klass.out / "run.json").read_text(encoding="utf-8"))["limits"]
    assert limits == {"cell": 7, "question": 20, "notebook": 55}
    assert "from course.toml" in " ".join(klass.run("grade", "--help").stdout.split())
