"""A probe that fails on the reference is told once, with the line of the file in which it was written."""

from dataclasses import replace
from pathlib import Path

import pytest
from factories import answer
from tiny_course import CHECKS, write_course

from grader.course.course import Course, observe_reference
from grader.grading.broken_probe import broken_probes, caught_in_probe, place_in_probe
from grader.sandbox.evidence import Answer, Evidence, NoFacts

HELPERS = '''\
"""Helpers."""

from grader.inside import inside, torch


@inside
def far_away(x):
    """Nothing of this docstring travels,

    nor of its paragraphs.
    """
    return {
        "whole": x,
        # a comment that does not travel either
        "part": x[
            "no such key"
        ],  # line 16
    }
'''

PROBES = '''

@inside
def of_another_size(x):
    """Not as many.

    And in several lines."""

    # a comment
    more = torch.ones(
        5,
    )
    return x + more  # helper


@inside
class Module(nn.Module):
    """A module."""

    def forward(self, x):
        """Its forward."""
        return self.missing(x)  # class


@probe
def own(student):
    """In the probe itself."""
    # the inputs
    x = torch.randn(4)
    return {
        "first": student.double(x),
        "second": x + torch.ones(6),  # own
    }


@probe
def helped(student):
    return of_another_size(student.double(torch.randn(4)))


@probe
def neighbour(student):
    return far_away(student.double(torch.randn(4)))


@probe
def called_back(student):
    return student.double(Module()(torch.randn(4)))


@probe
def answered(student):
    return student.double(None)  # answer


@probe
def wrongly_called(student):
    return student.double(1, 2)  # call


@probe
def caught(student):
    return {"x": attempt(lambda: student.double(torch.randn(4)).backward(1, 2, 3, 4, 5, 6))}  # caught


def test_all(own, helped, neighbour, called_back, answered, wrongly_called, caught):
    """All of them."""
    assert own.seen, "No."
'''


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = write_course(tmp_path_factory.mktemp("broken") / "course")
    hidden = root / "tests" / "hidden"
    text = CHECKS.replace(
        "import torch\n", "import attempt, inside, nn, torch\nfrom inside import far_away\n"
    )
    (hidden / "inside.py").write_text(HELPERS, encoding="utf-8")
    (hidden / "test_01_tiny.py").write_text(text + PROBES, encoding="utf-8")
    return Course.find(root)


@pytest.fixture(scope="module")
def reference(course, zygote):
    return observe_reference(zygote, course, "01_tiny", 1)


def line_of(course, mark, file="test_01_tiny.py"):
    path = course.root / "tests" / "hidden" / file
    lines = path.read_text(encoding="utf-8").splitlines()
    return f"{path}, line {next(n for n, line in enumerate(lines, start=1) if mark in line)}: "


BROKEN = {
    "own": (
        "# own",
        "probe own fails on the reference with RuntimeError: The size of tensor a (4) must match",
    ),
    "helped": (
        "# helper",
        "of_another_size, called by probe helped, fails on the reference with RuntimeError: ",
    ),
    "called_back": (
        "# class",
        "Module, called by probe called_back, fails on the reference with AttributeErr",
    ),
    "answered": ("# answer", "probe answered fails on the reference with TypeError: unsupported operand"),
    "wrongly_called": (
        "# call",
        "probe wrongly_called fails on the reference with TypeError: double() takes",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_error_in_a_probe_is_told_with_its_own_line(course, reference, name):
    """The line is that of the file, past comments, docstrings, and other definitions that travel along."""
    mark, said = BROKEN[name]
    (told,) = broken_probes(course.rubric("01_tiny").probes, reference, [name])
    assert told.startswith(line_of(course, mark) + said)


def test_a_line_of_a_neighbour_is_told_with_its_file(course, reference):
    """A helper's line stands in the file of helpers; of an expression of several lines it is the part's."""
    (told,) = broken_probes(course.rubric("01_tiny").probes, reference, ["neighbour"])
    assert told.startswith(
        line_of(course, '"part": x[', "inside.py") + "far_away, called by probe neighbour,"
    )


def test_the_answers_line_is_told_beside_the_probes(course, reference):
    """Where the reference's own answer raised, its line is told as well."""
    (told,) = broken_probes(course.rubric("01_tiny").probes, reference, ["answered"])
    assert told.endswith("(by way of `return 2 * x` in code cell 2, line 3)")


def test_what_was_caught_has_its_line_too(course, reference):
    """`grader try` can say where an error came from that `attempt` caught."""
    probe, error = course.rubric("01_tiny").probes["caught"], reference.outcome("caught")["x"]
    assert place_in_probe(probe, error) == line_of(course, "# caught") + "probe caught"


def test_the_doctor_tells_where_what_was_caught_came_from(course, reference):
    """An error deep in the facts is told with its line; a probe whose facts hold none, not at all."""
    probes = course.rubric("01_tiny").probes
    told = caught_in_probe(probes["caught"], reference)
    assert told.startswith(line_of(course, "# caught") + "probe caught stopped on the reference with ")
    quiet = replace(reference, probes={"caught": answer(facts={"value": ["int", 1], "tensors": []})})
    assert caught_in_probe(probes["caught"], quiet) is None


def test_probes_that_have_facts_are_not_told(course, reference):
    """Only what stopped is told, once for each probe, in the order of the file."""
    rubric = course.rubric("01_tiny")
    told = [
        sentence.partition("probe ")[2].split()[0].strip(",")
        for sentence in broken_probes(rubric.probes, reference)
    ]
    assert told == ["own", "helped", "neighbour", "called_back", "answered", "wrongly_called"]


def test_a_probe_without_facts_is_told_with_its_definition(course):
    """Where no line can be blamed, as when time ran out, it is that of the definition."""
    evidence = Evidence(probes={"own": Answer.without_facts(NoFacts("it took too long"))})
    (told,) = broken_probes(course.rubric("01_tiny").probes, evidence, ["own"])
    assert told == line_of(course, "def own(") + "probe own got no facts of the reference: it took too long"


def test_every_place_of_a_bundle_is_found(course):
    """Each statement of what travels is found in its file again, whatever bundle it is part of."""
    for probe in course.rubric("01_tiny").probes.values():
        for number, line in enumerate(probe.bundle().splitlines(), start=1):
            if line.strip() in {"", ")"}:  # in the place of a docstring, too
                continue
            part, written = probe.place_in_file(number)
            there = Path(part.path).read_text(encoding="utf-8").splitlines()[written - 1]
            words = line.split("(")[0].split("{")[0].strip()
            assert words in there, (probe.name, line, there)
