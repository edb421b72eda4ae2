"""An answer that stops with an error is judged by no check, and has to say that it is meant to stop."""

from pathlib import Path

import pytest
from tiny_course import ANSWERS, write_course

from grader.course.course import Course
from grader.doctor import examine as doctor
from grader.doctor.known_answers import Answer
from grader.doctor.question_review import complaints_about_stops
from grader.grading.judge import Verdict

PATH = Path("tests") / "answers" / "01_tiny.py"
STOPPED = Verdict("failed", "In halved (code cell 2): `x.half` stopped with KeyError.", stopped="KeyError")
FAILED, PASSED = Verdict("failed", "It is not."), Verdict("passed", None)


def answer(stops=None, fails=frozenset()):
    return Answer("halved", "q1", fails, 7, (), stops=stops)


@pytest.mark.parametrize(
    ("said", "verdicts", "told"),
    [
        (None, {"test_a": FAILED, "test_b": PASSED}, None),
        ("KeyError", {"test_a": STOPPED, "test_b": FAILED}, None),
        (
            None,
            {"test_a": STOPPED, "test_b": FAILED, "test_c": STOPPED},
            (
                f"halved stops with KeyError, so test_a, test_c cannot judge it: {STOPPED.message} If it is"
                ' meant to stop, write stops="KeyError" beside its fails; else mend it'
            ),
        ),
        (
            "TypeError",
            {"test_a": STOPPED},
            (
                f"halved stops with KeyError, so test_a cannot judge it: {STOPPED.message} Its decorator says"
                ' stops="TypeError"'
            ),
        ),
        ("KeyError", {"test_a": FAILED}, 'halved says stops="KeyError", and does not stop: remove that'),
    ],
)
def test_stops_has_to_be_true(said, verdicts, told):
    """It is missing, wrong or left over: a sentence with file and line says which."""
    expected = [f"{PATH}, line 7: {told}"] if told else []
    assert complaints_about_stops(answer(said), verdicts, PATH) == expected


def test_a_right_answer_that_stops_is_not_asked_to_say_so():
    """It is complained about because it is right and fails."""
    assert complaints_about_stops(answer(fails=None), {"test_a": STOPPED}, PATH) == []


def test_no_list_is_written_for_an_answer_that_stops(tmp_path, shared_zygote):
    """--accept leaves its decorator alone and says why; no check is justified by it; stops= settles it."""
    root = write_course(tmp_path / "course")
    path = root / PATH
    stopping = ANSWERS.replace('@wrong("q1", fails=["test_double"], public=True)', '@wrong("q1", fails=[])')
    stopping = stopping.replace("return x * x", "return x.frobnicate")
    path.write_text(stopping, encoding="utf-8")
    course = Course.find(root)

    def examined():
        (found, *_) = doctor.examine(course, course.stems, jobs=2, seeds=(1,), accept_lists=True)
        return [complaint for complaint in found.complaints if "public" not in complaint]

    stop, idle = examined()

    assert stop.startswith(
        f"{path}, line 14: squared stops with AttributeError, so test_double cannot judge it"
    )
    line = stopping.splitlines().index("    return x.frobnicate") + 1
    assert f"(01_tiny.py, line {line}): `return x.frobnicate` stopped with AttributeError" in stop
    assert idle == "test_double fails no wrong answer: what is it for?"
    assert path.read_text(encoding="utf-8") == stopping
    path.write_text(stopping.replace('"q1", fails', '"q1", stops="AttributeError", fails'), encoding="utf-8")
    assert examined() == [idle]
    assert '@wrong("q1", stops="AttributeError", fails=["test_double"])' in path.read_text(encoding="utf-8")
