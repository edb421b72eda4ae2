"""What a check file says is read completely, and a file that breaks a rule is refused in words."""

import importlib
import sys
import textwrap

import pytest

from grader.contracts.check import Check
from grader.course.assignment import Question
from grader.course.rubric import read_rubric
from grader.errors import CourseError

HEADER = '''\
"""Hidden checks."""

from grader import contract, data, number, own, picture, points, raised
from grader.inside import graph, inside, torch

'''

GOOD = (
    HEADER
    + '''
doubled = contract("double", {"x": data("n")}, name="doubled", seconds=3)
gradient = contract("double", {"x": data("1 n")}, name="gradient")
made = contract("leaf", {"n": number(3)}, name="made")


@picture(question="q2")
def shown(student):
    """Both."""
    return graph(x=student.leaf(student.double(1)))


@points(2.5)
def test_double(doubled):
    """It is twice as much.

    Print it."""
    assert doubled.seen.entry(), "No."


def test_leaf(made):
    """It is a leaf."""
    assert made.seen.entry(), "No."


test_data = [1, 2]


@points(1)
def test_other(gradient):
    """Both agree."""
    assert gradient.seen.entry() == 1, "No."
'''
)

QUESTIONS = (
    Question(
        "q1", "Double", "double", "def double(x):\n    return x", "def double(x):\n    return 2 * x", None
    ),
    Question("q2", "A leaf", "leaf", "def leaf(n):\n    pass", "def leaf(n):\n    return n", None),
)


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Writes check files into folders of their own, and reads them."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def read(text, folder="hidden", name="test_01_tiny.py", questions=QUESTIONS):
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        if text is not None:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        importlib.invalidate_caches()  # the file may be newer than a folder's modification time tells
        return read_rubric(path, questions)

    yield read
    for name in ("test_01_tiny", "test_02_tiny", "inside"):
        sys.modules.pop(name, None)


@pytest.fixture
def refused(course, tmp_path):
    """The complaint about a check file; it always names the file."""

    def complaint(text):
        with pytest.raises(CourseError) as caught:
            course(text)
        assert str(tmp_path / "hidden" / "test_01_tiny.py") in str(caught.value)
        return str(caught.value)

    return complaint


def test_everything_is_read(course, tmp_path):
    rubric = course(GOOD)
    assert rubric.stem == "01_tiny"
    assert rubric.path == tmp_path / "hidden" / "test_01_tiny.py"
    assert rubric.questions == QUESTIONS
    assert rubric.checks == (
        Check("test_double", "It is twice as much", "Print it.", 2.5, "q1", "doubled"),
        Check("test_leaf", "It is a leaf", None, 1.0, "q2", "made"),
        Check("test_other", "Both agree", None, 1.0, "q1", "gradient"),
    )
    assert list(rubric.contracts) == ["doubled", "gradient", "made"]
    assert rubric.asks == {"doubled": "q1", "gradient": "q1", "made": "q2"}
    assert rubric.shows == {"shown": "q2"}
    assert [check.id for check in rubric.checks_of("q1")] == ["test_double", "test_other"]
    assert rubric.max_score("q1") == 3.5
    assert rubric.max_score("q2") == 1.0


def test_a_plan_has_all_contracts_and_pictures_of_all_questions(course):
    rubric = course(GOOD)
    asked = rubric.plan(5)
    assert asked.starter_code == {"double": QUESTIONS[0].starter_code, "leaf": QUESTIONS[1].starter_code}
    assert [request.name for request in asked.requests["double"]] == ["doubled", "gradient"]
    assert [(request.name, request.picture) for request in asked.requests["leaf"]] == [
        ("made", False),
        ("shown", True),
    ]
    first, second = asked.requests["double"]
    assert (first.seconds, second.seconds) == (3, 10)
    assert "def doubled(student):" in first.source
    assert first.seed == rubric.contracts["doubled"].seed(5, "01_tiny")
    assert first.seed != second.seed
    assert first.seed != rubric.plan(6).requests["double"][0].seed


def test_one_question_can_be_asked_alone(course):
    asked = course(GOOD).plan(5, only="q2")
    assert list(asked.starter_code) == list(asked.requests) == ["leaf"]
    assert [request.name for request in asked.requests["leaf"]] == ["made", "shown"]


# --- what is refused; more in tests/doctor/test_author_mistakes.py

BROKEN = {
    "a docstring of nothing": (('"""It is a leaf."""', '"""   """'), "has no docstring"),
    "a check of two contracts": (
        ("def test_leaf(made):", "def test_leaf(made, doubled):"),
        "test_leaf takes made and doubled: a check takes one contract of this file",
    ),
    "a picture of two questions": (
        ('@picture(question="q2")', "@picture"),
        'picture shown names q1 and q2; say which it belongs to: @picture(question="q1")',
    ),
    "a picture of an unknown question": (
        ('@picture(question="q2")', '@picture(question="q3")'),
        "picture shown belongs to q3, which the assignment has not",
    ),
    "a question without a check": (('name="made")', 'name="made", question="q1")'), "q2 (leaf) has no check"),
    "an error of its own": (("@points(1)", '@points(int("one"))'), ": ValueError: "),
    "the use of a placeholder": (("@points(1)", "@points(torch.ones(1))"), "torch.ones exists only in"),
}


@pytest.mark.parametrize(("change", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_named(refused, change, words):
    assert GOOD.count(change[0]) == 1
    assert words in refused(GOOD.replace(*change))


def test_a_missing_file_is_refused(refused):
    assert "is missing" in refused(None)


def test_a_broken_file_can_be_mended(course):
    with pytest.raises(CourseError):
        course(GOOD.replace("@points(1)", "@pionts(1)"), name="test_02_tiny.py")
    assert course(GOOD + "\n# mended\n", name="test_02_tiny.py").max_score("q1") == 3.5


def helping(number):
    """A check file that uses the neighbour's helper, and the number it must return."""
    return HEADER + textwrap.dedent(
        f'''
        from inside import size

        only_{number} = contract("double", {{"x": own(size)}}, name="only_{number}")


        def test_only_{number}(only_{number}):
            """It is {number}."""
            assert only_{number}.seen.entry(), "No."
        '''
    )


def test_two_courses_do_not_mix(course, tmp_path):
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        text = f"from grader.inside import inside\n@inside\ndef size(setup, kind):\n    return {number}\n"
        (tmp_path / str(number) / "inside.py").write_text(text)
    order = [(1, "01"), (2, "01"), (1, "01"), (1, "02"), (2, "02"), (2, "01")]
    places = [*sys.path]
    for number, stem in order:
        rubric = course(helping(number), str(number), f"test_{stem}_tiny.py", QUESTIONS[:1])
        assert sys.path[0] == str(tmp_path / str(number))
        assert list(rubric.contracts) == [f"only_{number}"]
        assert f"return {number}\n" in rubric.contracts[f"only_{number}"].bundle()
    assert sys.path[2:] == places
