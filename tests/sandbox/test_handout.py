"""What is compiled once for all workers behaves as if each had compiled it."""

import pytest
from observing import look, probe
from tiny_course import write_course

from grader.course.course import Course
from grader.course.handout import texts_in_common
from grader.sandbox.zygote import Zygote

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
    """A zygote that knows the cells and the stub beforehand."""
    texts = {
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


def test_only_what_students_have_is_prepared(tmp_path):
    """Whatever the zygote holds, every worker holds: stubs and cells, but no probe, oracle or answer."""
    course = Course.find(write_course(tmp_path / "course"))
    texts = texts_in_common(course, [course.rubric("01_tiny")])
    assert texts == {"stubs": sorted(q.stub for q in course.assignments["01_tiny"].questions), "cells": []}
    real = Course.find()
    rubrics = [real.rubric(stem) for stem in real.stems[:2]]
    held = "\n".join(text for texts in texts_in_common(real, rubrics).values() for text in texts)
    probes = [probe for rubric in rubrics for probe in rubric.probes.values()]
    assert not any(probe.bundle in held for probe in probes)
    assert not any(probe.oracle and probe.oracle.text in held for probe in probes)


def test_the_courses_notebooks_are_prepared():
    """All code cells of the notebook that students get are there."""
    course = Course.find()
    texts = texts_in_common(course, [course.rubric("01_leaves")])
    assert {*course.assignments["01_leaves"].demonstrations} <= {*texts["cells"]}
    assert {f'grader.check("q{number}")' for number in range(1, 7)} <= set(texts["cells"])
