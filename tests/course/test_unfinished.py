"""An assignment is written question by question: what says TODO nowhere works, whatever else does."""

import pytest
from click.testing import CliRunner
from tiny_course import RIGHT, built, edit, write_course, write_notebook

from grader.cli import main
from grader.course.author_file import todos_in, todos_of
from grader.course.build import outdated
from grader.course.course import Course, observe_reference
from grader.course.new import write_new
from grader.doctor import examine as doctor
from grader.doctor.known_answers import read_answers
from grader.errors import CourseError
from grader.grading.judge import judge
from grader.grading.run import Options, grade

STEM, OTHER = "01_tiny", "02_new"
SOURCE, CHECKS, ANSWERS = f"solutions/{STEM}.py", f"tests/hidden/test_{STEM}.py", f"tests/answers/{STEM}.py"


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = write_course(tmp_path / "course")
    monkeypatch.chdir(root)
    return root


def ids(course):
    return [question.id for question in course.assignments[STEM].questions]


@pytest.mark.parametrize(
    ("line", "is_open"),
    [
        ("return TODO  # the right answer", True),
        ('"""TODO: what must hold"""', True),
        ('f"TODO {x}"', True),
        ("# %% [markdown]\n# ## q1 · TODO", True),
        ("# STUB\n    # return TODO\n# END SOLUTION", True),
        ("x = 1  # TODO: a better name", False),
        ("# TODO: another contract", False),
        ("# STUB\n    # return x  # TODO\n# END SOLUTION", False),
        ("todo = TODOS", False),
    ],
)
def test_what_counts_as_a_todo(tmp_path, line, is_open):
    """The word in code, in a string, in a text of a master and in a stub; in a comment it is a remark."""
    path = tmp_path / "file.py"
    path.write_text(f"{line}\n# %%\n# a comment\n", encoding="utf-8")
    assert [todo.path for todo in todos_in(path)] == [path] * is_open


def test_it_is_named_with_its_file_and_line(root):
    write_new(root, OTHER)
    todo = todos_of(root, OTHER)[0]
    assert (todo.line, todo.text) == (2, "2. TODO: the title of the notebook")
    number = len(todos_of(root, OTHER))
    with pytest.raises(CourseError) as told:
        Course.find(root).without_unfinished([OTHER])
    assert f"{OTHER} still says TODO, in {number} lines" in str(told.value)
    assert f"{root}/solutions/{OTHER}.py, line 2: 2. TODO: the title of the notebook" in str(told.value)
    assert f"and {number - 3} more" in str(told.value)


def test_a_todo_is_found_in_any_of_the_files(root):
    edit(root / ANSWERS, "return x * x", "return TODO")
    with pytest.raises(CourseError, match=r"in one line.*\n.*tests/answers/01_tiny\.py, line \d+: "):
        Course.find(root).without_unfinished([STEM])


def test_the_other_assignments_are_graded_meanwhile(root, tmp_path, shared_zygote):
    """An assignment that is being written stops nobody from grading; `grade` says that it is left out."""
    write_new(root, OTHER)
    folder, out = tmp_path / "class", tmp_path / "out"
    write_notebook(folder / "ada" / "01_tiny.ipynb", RIGHT)
    outcome = grade(Course.find(root), folder, out, Options(), lambda _: None)
    assert [(row.student, row.score) for row in outcome.results] == [("ada", 6)]
    told = CliRunner().invoke(main, ["grade", str(folder), "--out", str(out)])
    todo, *others = todos_of(root, OTHER)
    assert f"left out {OTHER}, which still says TODO: {todo}, and {len(others)} more" in told.stderr
    with pytest.raises(CourseError, match="still says TODO"):
        grade(Course.find(root), folder, out, Options(assignments=(OTHER,)), lambda _: None)


def test_the_other_assignments_are_examined_meanwhile(root, shared_zygote):
    write_new(root, OTHER)
    course = Course.find(root)
    unfinished, tiny, _ = doctor.examine(course, course.stems, jobs=2, seeds=(1,))
    assert (unfinished.stem, unfinished.todos) == (OTHER, [*map(str, todos_of(root, OTHER))])
    assert (tiny.complaints, len(tiny.kills)) == ([], 3)
    with pytest.raises(CourseError, match="still says TODO"):
        list(doctor.examine(course, [OTHER], jobs=2, seeds=(1,)))


def test_what_is_written_is_judged(root, zygote):
    write_new(root, STEM, ["third"])
    (root / "course.toml").write_text("[points.01_tiny]\nq1 = 3\nq3 = 5\n", encoding="utf-8")
    course = Course.find(root).written_part(STEM)
    assert course.points(STEM) == {"q1": 3, "q2": 4}
    assert ids(course) == ["q1", "q2"]
    reference = observe_reference(zygote, course, STEM, 1)
    verdicts = judge(course.rubric(STEM), reference, reference)
    assert {name: verdict.outcome for name, verdict in verdicts.items()} == dict.fromkeys(
        ["test_double", "test_leaf", "test_requires_grad"], "passed"
    )


@pytest.mark.parametrize(
    ("place", "edits"),
    [
        (SOURCE, [("return 2 * x", "return TODO")]),
        (SOURCE, [("# ## q1 · Double", "# ## q1 · TODO")]),
        (SOURCE, [("    # return x", "    # return TODO")]),
        (SOURCE, [("assert double(2) == 4", "assert double(TODO) == 4")]),
        (CHECKS, [('"double", X', '"double", {"x": data("n", says="TODO: its shape")}')]),
        (CHECKS, [('"This is not twice as much."', '"TODO: what is wrong"')]),
        (CHECKS, [('"""It is twice as much."""', '"""TODO: a title"""')]),
        (
            CHECKS,
            [
                ("doubled =", "@inside\ndef inputs(setup, kind):\n    return TODO\n\n\ndoubled ="),
                ('contract("double", X', 'contract("double", {"x": own(inputs)}'),
            ],
        ),
        (
            CHECKS,
            [
                ("doubled =", 'CAUSE = "TODO"\nSAID = f"This is wrong: {CAUSE}"\n\ndoubled ='),
                ('"This is not twice as much."', "SAID"),
            ],
        ),
    ],
)
def test_a_question_that_says_todo_is_left_out_as_a_whole(root, place, edits):
    """In a cell of the master, a contract, a check, or what they use; the other question stays."""
    for before, after in edits:
        edit(root / place, before, after)
    assert ids(Course.find(root)) == ["q1", "q2"]
    assert ids(Course.find(root).written_part(STEM)) == ["q2"]


def test_no_half_of_an_assignment_is_published(root):
    """`build` writes what is finished, names what it leaves out, and lets a notebook that is there be."""
    built(root)
    write_new(root, STEM, ["third"])
    before = {path: path.read_bytes() for path in sorted((root / "assignments").rglob("*.*"))}
    run = CliRunner().invoke(main, ["build"])
    assert run.exit_code == 0, run.output
    assert {path: path.read_bytes() for path in sorted((root / "assignments").rglob("*.*"))} == before
    assert f"left out {STEM}, which still says TODO: {todos_of(root, STEM)[0]}" in run.stderr
    assert outdated([], root / "assignments", {}) == []


def test_the_doctor_examines_a_question_beside_one_to_be_written(root, shared_zygote):
    """Asked for a question that is written, it finds it sound, and says what waits."""
    write_new(root, STEM, ["third"])
    run = CliRunner().invoke(main, ["doctor", "-v", "--assignment", STEM, "--question", "q2"])
    assert "       ✗ ·  computed\n       · ✗  plain\n" in run.output, run.output
    assert f"ignored, because it says TODO: {todos_of(root, STEM)[0]}" in " ".join(run.output.split())
    assert run.exit_code == 0, run.output


def test_a_question_that_waits_is_no_unknown_one(root):
    write_new(root, STEM, ["third"])
    run = CliRunner().invoke(main, ["doctor", "--assignment", STEM, "--question", "q3"])
    assert run.exit_code == 2
    assert f"q3 of 01_tiny still says TODO; the lines of 01_tiny:\n  {todos_of(root, STEM)[0]}" in run.output


def test_an_answer_waits_to_be_written(root):
    """What says TODO, or answers a question that is left out, is left aside; of no question is a mistake."""
    write_new(root, STEM, ["third"])
    functions = {"q1": "double", "q2": "leaf"}
    path = root / ANSWERS
    edit(path, "return x * x", "return TODO")
    edit(path, '@wrong("q2")', '@wrong("q3")')
    assert [answer.name for answer in read_answers(path, functions)] == ["added", "plain"]
    edit(path, '@wrong("q3")', '@wrong("q4")')
    with pytest.raises(CourseError, match="no question 'q4'"):
        read_answers(path, functions)
