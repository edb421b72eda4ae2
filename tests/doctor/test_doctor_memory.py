"""The doctor remembers verdicts: after an edit it tries what the edit can have changed, and nothing else."""

import json
import sys

import pytest
from tiny_course import built, edit, write_course

from grader.course.course import Course
from grader.doctor import examine as doctor
from grader.doctor import observers


@pytest.fixture
def course(tmp_path):
    return built(write_course(tmp_path / "course")).root


@pytest.fixture
def examine(course, shared_zygote, monkeypatch):
    """Examines the tiny course with its memory; gives the complaints and the notebooks that were observed."""
    observed = []

    observe = observers.observe

    def counted(zygote, cells, *rest):
        observed.append("\n".join(cell.source for cell in cells))
        return observe(zygote, cells, *rest)

    monkeypatch.setattr(observers, "observe", counted)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which would last as long as a file's second

    def run(**options):
        observed.clear()
        sys.modules.pop("test_01_tiny", None)  # as in a new process
        found = Course.find(course)
        options = {"jobs": 1, "seeds": (1, 2), "memory": doctor.memory_folder(found), **options}
        told = [c for one in doctor.examine(found, found.stems, **options) for c in one.complaints]
        return told, list(observed)

    return run


def test_what_did_not_change_is_not_tried_again(course, examine, monkeypatch):
    """A second examination starts no process and says the same; git ignores the memory."""
    told, observed = examine()
    assert (told, bool(observed)) == ([], True)
    assert (course / ".doctor" / ".gitignore").read_text() == "*\n"
    monkeypatch.setattr(doctor, "Zygote", lambda: pytest.fail("a zygote was started"))
    assert examine() == ([], [])


def test_an_edited_answer_is_tried_alone(course, examine):
    examine()
    edit(course / "tests" / "answers" / "01_tiny.py", "return x + x", "return x - -x")
    told, observed = examine()
    assert told == []
    assert any("x - -x" in cells for cells in observed)
    assert all("x - -x" in cells or "2 * x" in cells for cells in observed)


def test_an_edited_check_concerns_its_question(course, examine):
    examine()
    edit(course / "tests" / "hidden" / "test_01_tiny.py", "tensor().is_leaf", "tensor().grad")
    told, observed = examine()
    assert any("test_leaf fails the reference" in complaint for complaint in told)
    assert not any("x * x" in cells or "x + x" in cells for cells in observed)


def test_an_edited_public_check_concerns_its_question(course, examine):
    """What answers another question is not tried again."""
    examine()
    edit(course / "solutions" / "01_tiny.py", "double(2) == 4", "double(3) == 6")
    told, observed = examine()
    assert any("squared (line 14) fails test_double, but" in complaint for complaint in told)
    assert not any("def leaf" in cells for cells in observed if "def double" not in cells)


def test_a_complaint_is_told_again(course, examine):
    edit(course / "tests" / "answers" / "01_tiny.py", "return x + x", "return x + x + 1")
    told, _ = examine()
    assert any("added" in complaint for complaint in told)
    assert examine()[0] == told
    edit(course / "tests" / "answers" / "01_tiny.py", "return x + x + 1", "return x + x")
    assert examine()[0] == []


def test_a_check_that_broke_is_judged_again(course, examine):
    """A mistake outside the verdicts' reach may be mended, so its verdict is not remembered."""
    edit(course / "tests" / "hidden" / "test_01_tiny.py", "made.seen.tensor().is_leaf", "made.expected.leaf")
    told, _ = examine()
    assert any("test_leaf" in complaint for complaint in told)
    again, observed = examine()
    assert again == told
    assert observed


def test_one_question_is_examined_alone(course, examine):
    examine()
    edit(course / "tests" / "answers" / "01_tiny.py", "return x + x", "return x - -x")
    told, observed = examine(question="q2")
    assert (told, observed) == ([], [])
    assert examine(question="q1")[1]
    assert examine()[1] == []


def test_with_force_or_other_seeds_everything_is_tried_again(examine):
    _, first = examine()
    told, again = examine(forget=True)
    assert (told, sorted(again)) == ([], sorted(first))
    assert examine(seeds=(1, 3))[1]


@pytest.mark.parametrize("spoiled", ["", "[]", "{", '{"x": 1}'])
def test_a_spoiled_memory_is_none(course, examine, spoiled):
    (course / ".doctor").mkdir()
    (course / ".doctor" / "01_tiny.json").write_text(spoiled)
    told, observed = examine()
    assert told == [] != observed


def test_the_memory_keeps_what_the_course_still_has(course, examine):
    """What an older text of an answer was told is gone with the next whole examination."""
    examine()
    path = course / ".doctor" / "01_tiny.json"
    before = json.loads(path.read_text())
    edit(course / "tests" / "answers" / "01_tiny.py", "return x + x", "return x - -x")
    examine()
    after = json.loads(path.read_text())
    assert len(after) == len(before)
    assert set(after) != set(before)
