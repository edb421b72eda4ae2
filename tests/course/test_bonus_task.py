"""A bonus task is judged like a question and is no part of the score; an afterword follows what is solved."""

import csv
import subprocess
import sys

import nbformat
import pytest
from tiny_class import CHECKS
from tiny_course import RIGHT, SOURCE, built, edit, write_course

from grader.course.notebook_source import read_assignment
from grader.errors import CourseError
from grader.student.check import NotebookReport, QuestionReport
from grader.student.display import closing
from grader.student.notebook import open_notebook

STEM = "01_tiny"
BONUS_TASK = '''
# %% [markdown]
# ## Bonus task · Three times

# %% tags=["question end"]
def treble(x):
    """Three times x."""
    # BEGIN SOLUTION
    return 3 * x
    # STUB
    # return x
    # END SOLUTION

# %% tags=["check end"]
def test_treble(treble):
    """It is three times as much."""
    assert treble(2) == 6, "This is not three times as much."

# %% [markdown] tags=["afterword end"]
# `3 * x` has a history, <as> `x` has.
'''
END_CHECKS = '''

trebled = contract("treble", {"x": data("3")}, name="trebled", cases=ONCE, call=VALUES)


def test_treble(trebled):
    """It is three times as much."""
    assert_same_values(trebled, "This is not right.")


def test_size(trebled):
    """The result has the size of x."""
    assert trebled.seen.tensor().shape == (3,), "The result has another size."
'''
TREBLE = "def treble(x):\n    return 3 * x"
DOUBLE = "def treble(x):\n    return 2 * x"


#: What a notebook shows of a check, for a function that is right and for the stub.
SHOWN = """
import sys
from otter.test_files import ExceptionTestFile
for treble in (lambda x: 3 * x, lambda x: x):
    test = ExceptionTestFile.from_file(sys.argv[1])
    test.run({"treble": treble})
    print(test._repr_html_().replace("\\n", " "))
"""


def with_end_task(root):
    (root / f"solutions/{STEM}.py").write_text(SOURCE + BONUS_TASK, encoding="utf-8")
    (root / f"tests/hidden/test_{STEM}.py").write_text(CHECKS + END_CHECKS, encoding="utf-8")
    sys.modules.pop(f"test_{STEM}", None)
    return root


@pytest.fixture
def root(tmp_path):
    return with_end_task(write_course(tmp_path / "course"))


@pytest.fixture
def assignments(root):
    return built(root).root / "assignments"


@pytest.fixture
def klass(klass):
    """Three students: who solved the bonus task, who tried it, and who did not."""
    with_end_task(klass.course)
    for student, cells in {"ada": [*RIGHT, TREBLE], "ben": [*RIGHT, DOUBLE], "eve": RIGHT}.items():
        klass.hand_in(student, cells)
    klass.grade()
    return klass


def test_a_notebook_asks_for_the_end_task_last_and_without_points(assignments):
    """Below its heading stands that it earns no points; the afterword is no cell of the notebook."""
    sources = [cell.source for cell in nbformat.read(assignments / f"{STEM}.ipynb", as_version=4).cells]
    heading = "## Bonus task · Three times\n\n*no points; your feedback says what you found*"
    assert heading in "\n".join(sources)
    assert sources[-2] == 'grader.check("end")'
    assert not any("has a history" in source for source in sources)


def test_the_check_of_a_student_says_the_afterword(assignments):
    """Otter shows it below a check that passes, its code as code; with one that fails it is not shown."""
    check = str(assignments / f"tests/{STEM}/end.py")
    shown = subprocess.run([sys.executable, "-c", SHOWN, check], capture_output=True, text=True, check=True)
    passed, failed = shown.stdout.splitlines()
    assert "<code>3 * x</code> has a history, &lt;as&gt; <code>x</code> has." in passed
    assert "has a history" not in failed


def test_an_end_task_is_no_part_of_the_score(klass):
    """Who solves it, tries it or leaves it has the same points; the result says how it stands."""
    found = [klass.result(student) for student in ("ada", "ben", "eve")]
    assert {(one["score"], one["max_score"], len(one["questions"])) for one in found} == {(6, 6, 2)}
    assert [one["end_task"]["status"] for one in found] == ["answered", "answered", "missing"]
    assert [one["end_task"]["score"] for one in found] == [2, 1, 0]
    with (klass.out / "gradebook.csv").open(encoding="utf-8-sig", newline="") as file:
        assert "end" not in next(csv.reader(file))


def test_feedback_and_report_tell_how_it_stands(klass):
    """A line of each student's feedback says it, without points; the report counts the class."""
    pages = (klass.out / f"feedback/{student}/{STEM}.md" for student in ("ada", "ben", "eve"))
    solved, tried, not_tried = (
        page.read_text(encoding="utf-8").partition("## Bonus task")[2] for page in pages
    )
    assert solved.startswith(" · Three times: solved")
    assert "`3 * x` has a history" in solved.replace("\\", "")
    assert tried.startswith(" · Three times: 1 of 2 checks passed")
    assert "❌ **It is three times as much**\n" in tried
    assert "has a history" not in tried
    assert not_tried.startswith(" · Three times: not tried")
    report = (klass.out / "report.html").read_text(encoding="utf-8")
    assert "Bonus task: solved by 1, tried by 1, not tried by 1. It earns no points." in report


@pytest.mark.parametrize(
    ("of_questions", "of_end_task", "told"),
    [
        ("passes", "untouched", "2 of 2 public checks pass. The bonus task is not started yet."),
        ("fails", "passes", "0 of 2 public checks pass. The bonus task passes."),
        ("passes", "fails", "2 of 2 public checks pass. The bonus task does not pass."),
    ],
)
def test_the_check_counts_questions_and_says_how_the_end_task_stands(
    assignments, of_questions, of_end_task, told
):
    """A bonus task is no question: `grader check` does not count it among them."""
    notebook = open_notebook(assignments / f"{STEM}.ipynb")
    statuses = [of_end_task if question.id == "end" else of_questions for question in notebook.questions]
    report = NotebookReport(notebook, (), tuple(map(QuestionReport, notebook.questions, statuses)))
    assert next(closing(report)) == told


def test_an_end_task_stands_last(root):
    """A question behind it is refused, and so is an assignment of nothing else."""
    master = root / f"solutions/{STEM}.py"
    master.write_text(SOURCE + BONUS_TASK + "\n# %% [markdown]\n# ## q3 · More\n", encoding="utf-8")
    with pytest.raises(CourseError, match=r"q1, q2, end, q3; number them"):
        read_assignment(master)
    master.write_text(SOURCE.split("# %% [markdown]\n# ## q1")[0] + BONUS_TASK, encoding="utf-8")
    with pytest.raises(CourseError, match="its questions are end; number them"):
        read_assignment(master)


def test_an_afterword_needs_a_single_test(root):
    """Otter would show it as soon as the last of several tests passes."""
    another = 'def test_zero(treble):\n    """Zero stays."""\n    assert treble(0) == 0, "No."\n\n\n'
    edit(root / f"solutions/{STEM}.py", "def test_treble", f"{another}def test_treble")
    with pytest.raises(CourseError, match="a question with an afterword has one test"):
        read_assignment(root / f"solutions/{STEM}.py")
