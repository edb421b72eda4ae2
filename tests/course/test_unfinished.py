"""An assignment is written question by question: what is filled in works, whatever else is blank."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from tiny_course import ANSWERS, CHECKS, MASTER, write_course

from grader.cli import main
from grader.course.author_file import blanks_of
from grader.course.build import build, outdated
from grader.course.course import Course, observe_reference
from grader.course.scaffold import Scaffold
from grader.doctor.known_answers import read_answers
from grader.errors import BrokenRunError, CourseError, GraderError
from grader.grading.judge import judge

STEM = "01_tiny"
FILES = (f"solutions/{STEM}.py", f"tests/hidden/test_{STEM}.py", f"tests/answers/{STEM}.py")
CLOSING = "\n# %% [markdown]\n# ## What to take with you\n"


@pytest.fixture
def root(tmp_path):
    return write_course(tmp_path / "course")


def edit(root, place, *changes):
    path = root / place
    text = path.read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    path.write_text(text, encoding="utf-8")
    sys.modules.pop(path.stem, None)  # another command would read it anew


def texts(root):
    return [(root / place).read_text(encoding="utf-8") for place in FILES]


def add(root, *questions):
    return Scaffold.plan(root, STEM, None, questions).write()


def ids(course):
    return [question.id for question in course.assignments[STEM].questions]


def test_signatures_come_from_the_command(root):
    """The names of a question's function and of what it takes stand in all places that have to agree."""
    Scaffold.plan(root, "02_two", None, ["total:losses,weights", "step: model, opt", "third"]).write()
    master = (root / "solutions/02_two.py").read_text(encoding="utf-8")
    checks = (root / "tests/hidden/test_02_two.py").read_text(encoding="utf-8")
    answers = (root / "tests/answers/02_two.py").read_text(encoding="utf-8")
    for number, call in enumerate(["total(losses, weights)", "step(model, opt)", "third(x)"], start=1):
        name, taken = call.removesuffix(")").split("(")
        assert f'# %% tags=["question q{number}"]\ndef {call}:' in master
        assert f"def test_an_example({name}):" in master
        assert checks.count(f"student.{call}") == (1 if "opt" in call else 2)  # of steps there is no picture
        assert answers.count(f'("q{number}"') == answers.count(f"({taken}):") == 3
    assert "    weights = [FILL IN: weights, drawn at random]\n" in checks
    assert "    x = torch.randn(4, requires_grad=True)\n" in checks


def test_a_question_is_added_and_nothing_is_changed(root):
    """All that stood in the files still does; in the master the prose that closes it stays the last."""
    (root / FILES[0]).write_text(MASTER + CLOSING, encoding="utf-8")
    add(root, "third:x")
    master, checks, answers = texts(root)
    assert master.startswith(MASTER)
    assert master.endswith(CLOSING)
    assert '# %% tags=["question q3"]\ndef third(x):' in master
    assert checks.endswith('assert_untouched(third_called.seen["kept"])\n')
    assert CHECKS.partition("\n\n\n")[2] in checks
    assert "from grader.inside import gradients, graph, snap, torch, untouched\n" in checks
    assert answers.startswith(ANSWERS)


def test_a_question_is_added_to_all_files_or_to_none(root, monkeypatch):
    """If the last file cannot be written, the others are as before."""
    before = texts(root)
    real = Scaffold.write.__globals__["write_atomic"]

    def stops(path, content):
        if path.parent.name == "answers":
            raise OSError(28, "No space left on device", str(path))
        real(path, content)

    monkeypatch.setitem(Scaffold.write.__globals__, "write_atomic", stops)
    with pytest.raises(
        BrokenRunError, match=r"No space left on device.*nothing of the new question is there"
    ):
        add(root, "third")
    assert texts(root) == before


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        (["third:"], "'' cannot be a parameter"),
        (["third:a,a"], "'a' cannot be a parameter"),
        (["third:torch"], "'torch' cannot be a parameter"),
        (["third:third"], "'third' cannot be a parameter"),
        (["third:2"], "'2' cannot be a parameter"),
        (["double:x"], "solutions/01_tiny.py defines double already"),
        (["third", "third"], "two questions ask for third"),
        (["class:x"], "'class' cannot be what students complete"),
    ],
)
def test_a_question_that_cannot_be_is_refused(root, questions, told):
    """The text says why, and nothing is written."""
    before = texts(root)
    with pytest.raises(GraderError) as refused:
        add(root, *questions)
    assert told in str(refused.value)
    assert texts(root) == before


def test_who_forgets_the_question_is_told_how_to_add_one(root):
    """The number is taken by the very assignment that was named."""
    with pytest.raises(GraderError, match="or add a question: new 01_tiny --question NAME:x"):
        Scaffold.plan(root, STEM)


def test_what_is_filled_in_is_judged(root, zygote):
    """With a third question still blank, the others are read, observed and judged as before."""
    add(root, "third")
    (root / "course.toml").write_text("[points.01_tiny]\nq1 = 3\nq3 = 5\n", encoding="utf-8")
    course, blanks = Course.find(root).only_filled(STEM)
    assert course.points(STEM) == {"q1": 3, "q2": 4}
    assert blanks == blanks_of(root, STEM)
    assert ids(course) == ["q1", "q2"]
    reference = observe_reference(zygote, course, STEM, 1)
    verdicts = judge(course.rubric(STEM), {"": reference}, reference)[""]
    assert {name: verdict.outcome for name, verdict in verdicts.items()} == dict.fromkeys(
        ["test_double", "test_leaf", "test_requires_grad"], "passed"
    )
    answers = read_answers(course.answers_file(STEM), {"q1": "double", "q2": "leaf"})
    assert [answer.name for answer in answers] == ["added", "squared", "computed", "plain"]


def test_a_question_counts_when_its_answer_and_a_check_are_there(root):
    """The other checks, the public one and the answers may follow."""
    add(root, "third")
    edit(
        root,
        FILES[0],
        ('"""[FILL IN: what it takes and returns, with shapes; students read it]"""', '"""Thrice x."""'),
        ("[FILL IN: the right answer]", "3 * x"),
        ("[FILL IN: the same with the bug that people really write; it has to run]", "x"),
    )
    assert ids(Course.find(root)) == ["q1", "q2", "q3"]
    assert ids(Course.find(root).only_filled(STEM)[0]) == ["q1", "q2"]
    edit(root, FILES[1], ("[FILL IN: what is looked at; only readers of this file see it]", "Called."))
    assert set(Course.find(root).rubric(STEM).probes) == {"doubled", "made", "third_called"}
    edit(
        root,
        FILES[1],
        ("[FILL IN: what must hold of the value, as a title]", "Thrice."),
        ("[FILL IN: a hint, best as a question]", "How often?"),
        ("[FILL IN: what is wrong with the value, said from what was seen]", "Not thrice."),
    )
    course, _ = Course.find(root).only_filled(STEM)
    assert ids(course) == ["q1", "q2", "q3"]
    assert [check.id for check in course.rubric(STEM).checks_of("q3")] == ["test_third_value"]
    assert course.points(STEM) == {"q1": 2, "q2": 4, "q3": 2}


def test_a_blank_takes_along_what_needs_it(root):
    """A probe whose helper is not written is left out, and the check that judges it; all others stay."""
    edit(
        root,
        FILES[1],
        ("from grader.inside import torch", "from grader.inside import inside, torch"),
        (
            "@probe\ndef doubled",
            "@inside\ndef inputs():\n    return [FILL IN: numbers]\n\n\n@probe\ndef doubled",
        ),
        ("torch.randn(3)", "inputs()"),
    )
    course, blanks = Course.find(root).only_filled(STEM)
    assert [blank.wanted for blank in blanks] == ["numbers"]
    assert set(course.rubric(STEM).probes) == {"made"}
    assert ids(course) == ["q2"]


def test_a_class_beside_a_blank_travels(root):
    """The source of a class is found in a file that is no Python yet."""
    edit(
        root,
        FILES[1],
        ("from grader.inside import torch", "from grader.inside import inside, torch"),
        (
            "@probe(fixed=True)\ndef made",
            "@inside\nclass Size:\n    three = 3\n\n\n@probe(fixed=True)\ndef made",
        ),
        ("@probe\n", "@probe\ndef blank(student):\n    return student.leaf([FILL IN: size])\n\n\n@probe\n"),
        ("student.leaf(3)", "student.leaf(Size.three)"),
    )
    probes = Course.find(root).rubric(STEM).probes
    assert "class Size:\n    three = 3" in probes["made"].bundle()
    assert "blank" not in probes


def test_another_mistake_is_told_with_its_line(root):
    """What is no Python for another reason than a blank is an error of its file, at its line."""
    add(root, "third")
    edit(root, FILES[1], ("return student.leaf(3)", "return student.leaf(3"))
    line = texts(root)[1].split("student.leaf(3")[0].count("\n") + 1
    with pytest.raises(CourseError, match=rf"test_01_tiny\.py.*line {line}\b"):
        Course.find(root).rubric(STEM)


def test_where_nothing_is_filled_in_the_blanks_are_told(root):
    """An assignment of blanks only is refused, with the places of the first."""
    Scaffold.plan(root, "02_new").write()
    with pytest.raises(CourseError, match=r"02_new still has 27 blanks"):
        Course.find(root).only_filled("02_new")


def test_no_half_of_an_assignment_is_published(root, monkeypatch):
    """`build` writes what is whole, names what it leaves out, and lets a notebook that is there be."""
    course = Course.find(root)
    build(course.assignments.values(), root / "assignments", course.all_points())
    add(root, "third")
    Scaffold.plan(root, "02_new").write()
    monkeypatch.chdir(root)
    before = {path: path.read_bytes() for path in sorted((root / "assignments").rglob("*.*"))}
    run = CliRunner().invoke(main, ["build"])
    assert run.exit_code == 0, run.output
    assert {path: path.read_bytes() for path in sorted((root / "assignments").rglob("*.*"))} == before
    blank = blanks_of(root, STEM)[0]
    assert f"left out {STEM}, which still has 24 blanks: {blank.path}, line {blank.line}: " in run.output
    assert "left out 02_new, which still has 27 blanks" in run.output
    assert outdated([], root / "assignments", {}) == []


def test_pytest_collects_what_is_filled_in(root):
    """By hand, the checks that are written run, and the first blank is named."""
    add(root, "third")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "grader.grading.plugin",
        "--collect-only",
        "-q",
        FILES[1],
    ]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    collected = [line.partition("::")[2] for line in run.stdout.splitlines() if "::" in line]
    assert collected == [f"test_{name}[reference]" for name in ("double", "leaf", "requires_grad")]
    assert f"{STEM} still has 24 blanks, left out: {blanks_of(root, STEM)[0]}" in run.stdout


def test_the_doctor_examines_a_question_beside_blanks(root, monkeypatch, shared_zygote):
    """Asked for a question that is filled in, it finds it sound, and says what waits."""
    add(root, "third")
    monkeypatch.chdir(root)
    run = CliRunner().invoke(main, ["doctor", "-v", "--assignment", STEM, "--question", "q2"])
    assert "       ✗ ·  computed\n       · ✗  plain\n" in run.output, run.output
    said = " ".join(run.output.split())
    assert "What has a blank was left out: " in said
    assert "and 23 more" in said
    assert run.exit_code == 0, run.output


def test_a_question_that_waits_is_no_unknown_one(root, monkeypatch):
    """Asked for a question whose cell has a blank, the doctor says that it has one."""
    add(root, "third:x")
    monkeypatch.chdir(root)
    run = CliRunner().invoke(main, ["doctor", "--assignment", STEM, "--question", "q3"])
    assert run.exit_code == 2
    assert "the cell of q3 in solutions/01_tiny.py still has a blank" in run.output


def test_a_check_that_breaks_beside_a_blank_is_told_as_ever(root, zygote):
    """What a check wanted that is not there is looked up in a file that is no Python yet."""
    add(root, "third")
    edit(root, FILES[1], ("made.seen.is_leaf, ", 'made.seen["leaf"], '))
    course, _ = Course.find(root).only_filled(STEM)
    reference = observe_reference(zygote, course, STEM, 1)
    verdict = judge(course.rubric(STEM), {"": reference}, reference)[""]["test_leaf"]
    assert "made.seen is a tensor, whose numbers stand in made.seen.value" in verdict.cause.message


def test_an_answer_waits_for_its_question(root):
    """An answer to a question that is not written yet is left aside; to one nobody asks it is a mistake."""
    add(root, "third")
    edit(root, FILES[2], ('@wrong("q2")', '@wrong("q3")'))
    functions = {"q1": "double", "q2": "leaf"}
    path = Course.find(root).answers_file(STEM)
    assert [answer.name for answer in read_answers(path, functions)] == ["added", "squared", "plain"]
    edit(root, FILES[2], ('@wrong("q3")', '@wrong("q4")'))
    with pytest.raises(CourseError, match="no question 'q4'"):
        read_answers(path, functions)


def test_one_question_is_judged_alone(root, zygote):
    """Of a course of one question only its checks are run, though the file has more."""
    course = Course.find(root).only(STEM, {"q2"})
    reference = observe_reference(zygote, course, STEM, 1)
    verdicts = judge(course.rubric(STEM), {"": reference}, reference)[""]
    assert set(verdicts) == {"test_leaf", "test_requires_grad"}
