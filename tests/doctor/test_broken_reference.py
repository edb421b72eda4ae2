"""A contract that fails on the reference is reported once, with the line of the file where it was written."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from factories import answer
from tiny_course import CHECKS, write_course

from grader.course.course import Course, observe_reference
from grader.grading.broken_reference import broken_contracts, broken_picture, caught_inside, place_inside
from grader.sandbox.evidence import Answer, Evidence, NotObserved

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

CONTRACTS = '''

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


@inside
def added(setup, kind):
    """An input."""
    # the inputs
    x = torch.randn(4)
    return {
        "first": x,
        "second": x + torch.ones(6),  # own
    }


@inside
def larger(setup, kind):
    return of_another_size(torch.randn(4))


@inside
def part(setup, kind):
    return far_away(torch.randn(4))


@inside
def through_a_module(setup, kind):
    return Module()(torch.randn(4))


@inside
def used(setup, result):
    return {"x": attempt(lambda: result.backward(1, 2, 3, 4, 5, 6))}  # in use


own_lines = contract("double", {"x": own(added)}, name="own_lines", cases=ONCE, call=VALUES)
helped = contract("double", {"x": own(larger)}, name="helped", cases=ONCE, call=VALUES)
neighbour = contract("double", {"x": own(part)}, name="neighbour", cases=ONCE, call=VALUES)
called_back = contract("double", {"x": own(through_a_module)}, name="called_back", cases=ONCE, call=VALUES)
caught = contract("double", X, name="caught", cases=ONCE, call=Call(gradients="none", then=used))


@picture
def answered(student):
    """An answer."""
    return student.double(None)  # answer


@picture
def wrongly_called(student):
    """A call."""
    return student.double(1, 2)  # call
'''
CHECK = '''

def test_{0}({0}):
    """It fails."""
    assert {0}.seen, "No."
'''


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = write_course(tmp_path_factory.mktemp("broken") / "course")
    hidden = root / "tests" / "hidden"
    imports = "import attempt, inside, nn, torch\nfrom inside import far_away\n"
    text = CHECKS.replace("import inside, torch\n", imports)
    text = text.replace("data, own, points", "data, own, picture, points")
    (hidden / "inside.py").write_text(HELPERS, encoding="utf-8")
    checks = map(CHECK.format, ("own_lines", "helped", "neighbour", "called_back", "caught"))
    (hidden / "test_01_tiny.py").write_text("".join([text, CONTRACTS, *checks]), encoding="utf-8")
    return Course.find(root)


@pytest.fixture(scope="module")
def reference(course, zygote):
    return observe_reference(zygote, course, "01_tiny", 1)


def line_of(course, mark, file="test_01_tiny.py"):
    path = course.root / "tests" / "hidden" / file
    lines = path.read_text(encoding="utf-8").splitlines()
    return f"{path}, line {next(n for n, line in enumerate(lines, start=1) if mark in line)}: "


BROKEN = {
    "own_lines": (
        "# own",
        "added, called by contract own_lines, fails on the reference with RuntimeError: The",
    ),
    "helped": (
        "# helper",
        "of_another_size, called by contract helped, fails on the reference with RuntimeE",
    ),
    "called_back": (
        "# class",
        "Module, called by contract called_back, fails on the reference with Attribute",
    ),
    # A helper's line stands in the file of helpers; of an expression of several lines it is the part's.
    "neighbour": ('"part": x[', "far_away, called by contract neighbour,", "inside.py"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_error_in_a_contract_is_told_with_its_own_line(course, reference, name):
    """The line is that of the file, past comments, docstrings, and other definitions that are sent."""
    mark, said, *file = BROKEN[name]
    (told,) = broken_contracts(course.rubric("01_tiny").contracts, reference, [name])
    assert told.startswith(line_of(course, mark, *file) + said)


@pytest.mark.parametrize(
    ("name", "mark", "said"),
    [
        ("answered", "# answer", "unsupported .* \\(by way of `return 2 \\* x` in code cell 2, line 6\\)$"),
        ("wrongly_called", "# call", "double\\(\\) takes"),
    ],
)
def test_an_error_in_a_picture_is_told_with_its_own_line(course, reference, name, mark, said):
    """The line that called the student's function is told, and that of the answer, if it raised."""
    told = broken_picture(course.rubric("01_tiny").pictures[name], reference)
    begin = f"{line_of(course, mark)}picture {name} fails on the reference with TypeError: "
    assert re.match(re.escape(begin) + said, told)


def test_what_was_caught_has_its_line_too(course, reference):
    """The doctor and `grader try` say where an error came from that `attempt` caught, if there is one."""
    contract = course.rubric("01_tiny").contracts["caught"]
    error = reference.outcome("caught")[0]["then"]["x"]
    place = line_of(course, "# in use") + "used, called by contract caught,"
    assert place_inside(contract, error) == place
    assert caught_inside(contract, reference).startswith(f"{place} stopped on the reference with ")
    quiet = replace(reference, answers={"caught": answer(returned={"value": ["int", 1], "tensors": []})})
    assert caught_inside(contract, quiet) is None


def test_contracts_that_have_facts_are_not_told(course, reference):
    told = "\n".join(broken_contracts(course.rubric("01_tiny").contracts, reference))
    assert re.findall(r"contract (\w+),", told) == ["own_lines", "helped", "neighbour", "called_back"]


def test_a_contract_without_facts_is_told_with_its_declaration(course):
    """If no line can be blamed, as when time ran out, it is that of the declaration."""
    evidence = Evidence(answers={"own_lines": Answer.without_observation(NotObserved("it took too long"))})
    (told,) = broken_contracts(course.rubric("01_tiny").contracts, evidence, ["own_lines"])
    said = "contract own_lines could not observe the reference: it took too long"
    assert told == line_of(course, "own_lines = ") + said


def test_every_place_of_a_bundle_is_found(course):
    for contract in course.rubric("01_tiny").contracts.values():
        for number, line in enumerate(contract.bundle().splitlines(), start=1):
            part, written = contract.place_in_file(number)
            if line.strip() in {"", ")"} or part is contract.source:  # in the place of a docstring, too
                continue
            there = Path(part.path).read_text(encoding="utf-8").splitlines()[written - 1]
            words = line.split("(")[0].split("{")[0].strip()
            assert words in there, (contract.name, line, there)
