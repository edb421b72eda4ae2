"""What is compiled once for all workers behaves as if each had compiled it."""

import pytest
from observing import look, probe
from tiny_course import write_course

from grader.course import Course
from grader.handout import texts_in_common
from grader.zygote import Zygote

HANDED_OUT = [
    "from __future__ import annotations\nimport inspect, sys\nseen = []",
    "shown = sys._getframe().f_lineno",
    "def f():\n    return len(seen)",
    "seen.append(inspect.getsource(f))\nprint(f'{sys.version}')",
    "def broken(:",
    "value: nowhere.to_be = 3",
]
PROBE = probe("f", "[student.f(), student.seen]")


@pytest.fixture(scope="module")
def prepared():
    """A zygote that knows the cells, the probe and the stub beforehand."""
    texts = {
        "probes": [PROBE.source],
        "stubs": ["def f():\n    return len(seen)"],
        "cells": HANDED_OUT,
    }
    with Zygote(texts=texts) as started:
        yield started


def both(zygote, prepared, cells, **asked):
    """The same, by workers that compile everything and by those that were given it."""
    return [look(one, cells, **asked) for one in (zygote, prepared)]


def test_prepared_cells_do_what_they_do(zygote, prepared):
    """Names, errors, sources, later annotations and traces are the same."""
    plain, quick = both(zygote, prepared, HANDED_OUT, f=PROBE)
    assert plain["f"] == [1, ["def f():\n    return len(seen)\n"]]
    assert quick["f"] == plain["f"]
    assert list(quick.raised) == [5]
    assert quick.raised == plain.raised
    assert quick.evidence.traces == plain.evidence.traces == [("frames", 2)]


def test_a_cell_that_was_changed_is_the_students(prepared):
    """A space more, and it is compiled anew; the same text at another place has that place's name."""
    seen = look(
        prepared, [HANDED_OUT[0] + " ", "def f():\n    return 'mine'", HANDED_OUT[2]], f="student.f()"
    )
    assert seen["f"] == 0
    moved = look(prepared, ["x = 1", *HANDED_OUT], f="student.f()")
    assert moved["f"] == 1
    assert moved.evidence.traces == [("frames", 3)]


def test_a_prepared_stub_is_recognised(prepared):
    """As handed out, moved, commented or without its docstring it is still untouched."""
    stubs = {"f": "def f():\n    return len(seen)"}
    assert look(prepared, HANDED_OUT, stubs=stubs, f=PROBE).status == {"f": "untouched"}
    answered = [*HANDED_OUT[:2], "def f():\n    return 1 + len(seen)"]
    assert look(prepared, answered, stubs=stubs, f=PROBE).status == {"f": "answered"}


def test_all_that_is_asked_is_prepared(tmp_path):
    """Every probe that any notebook or the reference is asked, and every cell that was handed out."""
    course = Course.find(write_course(tmp_path / "course"))
    texts = texts_in_common(course, [course.rubric("01_tiny")])
    for oracle in (False, True):
        asked = course.rubric("01_tiny").questionnaire(1, oracle=oracle)
        assert {p.source for probes in asked.probes.values() for p in probes} <= set(texts["probes"])
        assert set(asked.stubs.values()) == set(texts["stubs"])
    assert texts["cells"] == [], "the notebook was never built"


def test_the_courses_notebooks_are_prepared():
    """All code cells of the notebook that students get are there."""
    course = Course.find()
    texts = texts_in_common(course, [course.rubric("01_leaves")])
    assert "import torch\nfrom torch import nn" in texts["cells"]
    assert {f'grader.check("q{number}")' for number in range(1, 7)} <= set(texts["cells"])
