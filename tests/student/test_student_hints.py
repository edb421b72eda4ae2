"""On a student's machine: what is known of a question without running anything, and the hints made of it."""

import importlib
import re
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from student_notebooks import CHECKS, POINTS, STEM, STUBS, code, document, markdown, released, worked, write

from grader.cli import main
from grader.course.course import Course
from grader.course.public_check import otter_test, read_public_check
from grader.errors import GraderError
from grader.notebooks.reader import read_document
from grader.student.hints import hints_to
from grader.student.notebook import find_notebook, open_notebook, questions_of

COURSE = Course.find(Path(__file__).parent)


@pytest.mark.parametrize("stem", COURSE.stems)
def test_every_question_of_the_course_is_found(stem):
    found = questions_of(read_document(COURSE.root / "assignments" / f"{stem}.ipynb"))
    told = [(one.id, one.title, one.function, one.starter_cell.source, one.points) for one in found]
    worth = COURSE.points(stem)
    asked = COURSE.assignments[stem].questions
    assert told == [
        (q.id, q.title, q.function, q.starter_code.strip("\n"), worth.get(q.id, 0)) for q in asked
    ]


@pytest.fixture(scope="module")
def read_by_otter():
    """How Otter reads a test; what it imports warns about itself."""
    with warnings.catch_warnings(action="ignore"):
        return importlib.import_module("otter.test_files").ExceptionTestFile.from_string


@pytest.mark.parametrize("stem", COURSE.stems)
def test_a_public_check_is_read_as_otter_reads_it(stem, read_by_otter):
    for question in questions_of(read_document(COURSE.root / "assignments" / f"{stem}.ipynb")):
        cases = read_by_otter(question.check.source).test_cases
        assert [one.body.test_func.__doc__ for one in cases] == [one.title for one in question.check.tests]


@pytest.mark.parametrize("stem", COURSE.stems)
def test_a_hint_has_the_number_of_the_notebook(stem):
    for question in questions_of(read_document(COURSE.root / "assignments" / f"{stem}.ipynb")):
        hints = hints_to(question)
        headings = re.findall(r"<summary>(.*?)</summary>", question.prose)
        assert headings == [f"Hint {hint.number}" for hint in hints]
        assert bool(hints) == (question.id != "end")
        assert all(hint.text in question.prose for hint in hints)


def test_hints_grow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / f"{STEM}.ipynb", released())
    given = [CliRunner().invoke(main, ["hint", STEM, "1", *number]) for number in ([], ["1"], ["2"], ["3"])]
    assert [one.exit_code for one in given] == [0, 0, 0, 2]
    assert given[0].output == given[1].output
    more = "More: python -m grader hint 01_small q1 2"
    assert given[1].output == f"q1, hint 1 of 2\n\nThe hint number 1.\n\n{more}\n"
    assert given[2].output == (
        "q1, hint 2 of 2\n\nThe hint number 2.\n\n"
        "That was the last hint. Try: python -m grader check 01_small q1\n"
    )
    assert given[3].stderr == "grader: q1 has 2 hints, so there is no hint 3.\n"


def test_a_question_without_hints_offers_none(tmp_path, monkeypatch, warm_runners):
    monkeypatch.chdir(tmp_path)
    notebook = released()
    for cell in notebook["cells"]:
        cell["source"] = re.sub(r"(?s)<details>.*</details>", "There is no hint.", cell["source"])
    write(tmp_path / ".handout" / f"{STEM}.ipynb", notebook)
    write(tmp_path / f"{STEM}.ipynb", notebook)
    given, checked = (CliRunner().invoke(main, [command, STEM, "q1"]) for command in ("hint", "check"))
    said = "grader: there is no hint for q1: read its task again, and run its check.\n"
    assert (given.exit_code, given.stderr) == (2, said)
    assert checked.output.endswith("\nStart with q1, Title of q1.\n")


def test_a_hint_needs_no_notebook_that_can_be_read(tmp_path, monkeypatch):
    """For a broken notebook hints come from the released notebook of its name; without that it is said."""
    monkeypatch.chdir(tmp_path)
    handed = write(tmp_path / ".handout" / f"{STEM}.ipynb", released())
    (tmp_path / f"{STEM}.ipynb").write_text("<<<<<<< HEAD")
    done = CliRunner().invoke(main, ["hint", STEM, "q1"])
    assert done.exit_code == 0
    assert done.output.startswith("q1, hint 1 of 2\n\nThe hint number 1.")
    handed.unlink()
    assert CliRunner().invoke(main, ["hint", STEM, "q1"]).exit_code == 2


def test_the_released_checks_count_and_not_those_in_the_notebook(tmp_path):
    write(tmp_path / ".handout" / f"{STEM}.ipynb", released())
    mine = worked()
    mine["metadata"]["otter"]["tests"] = {"q1": otter_test("q1", CHECKS["q1"], 1_000)}
    deep = write(tmp_path / "week 1" / "again" / f"{STEM}.ipynb", mine)
    assert [question.points for question in open_notebook(deep).questions] == list(POINTS.values())
    alone = write(tmp_path.parent / f"{tmp_path.name}-alone" / f"{STEM}.ipynb", mine)
    assert [question.points for question in open_notebook(alone).questions] == [1_000, 0, 0]


def test_a_notebook_is_known_by_its_name_or_functions_too(tmp_path):
    """Without metadata a decorated name decides, then what is defined."""
    write(tmp_path / ".handout" / f"{STEM}.ipynb", released())
    for name, cells in (("Ada 01-small (1).ipynb", []), ("mine.ipynb", [code(STUBS["q2"])])):
        assert open_notebook(write(tmp_path / name, document(cells))).stem == STEM


def test_a_beginning_of_a_name_or_the_assignment_is_enough(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("03_mine", "02_other", "02_more"):
        write(tmp_path / f"{name}.ipynb", document([code("x = 1")]))
    write(tmp_path / "my work (1).ipynb", released())
    for name in ("my work (1).ipynb", "my work (1)", "my", "01", "01_small", "./01_small.ipynb"):
        assert find_notebook(name).name == "my work (1).ipynb"
    assert find_notebook("03").name == "03_mine.ipynb"
    with pytest.raises(GraderError, match=r"did you mean 02_more.ipynb or 02_other.ipynb\?"):
        find_notebook("02")


@pytest.mark.parametrize(
    "source", ["def test_x(:", "", "x = 1", "def test_plain(f):\n    assert f, 'x'", "\0"]
)
def test_a_damaged_public_check_is_said(source):
    said = r"^a.ipynb, q1: its public check is damaged. Download the notebook again"
    with pytest.raises(GraderError, match=said):
        read_public_check("a.ipynb, q1", source)


def test_a_strange_notebook_is_read_all_the_same(tmp_path):
    cells = [
        None,
        {"cell_type": "markdown", "source": 7},
        {"cell_type": "code"},
        markdown(["## q1 · A title\n", "text"]),
        {"cell_type": "code", "source": ["def double", 3, "(x):\r\n    return x"], "id": 3},
        markdown("## q2 · Nothing below"),
    ]
    tests = {"q1": otter_test("q1", CHECKS["q1"], 1), "q9": 3}
    (question,) = open_notebook(write(tmp_path / "odd.ipynb", document(cells, tests=tests))).questions
    assert (question.id, question.title, question.prose) == ("q1", "A title", "text")
    assert question.starter_cell.number == 2
