"""`try` lists the cases of a contract, and `explain` shows one that fails."""

import pytest
from tiny_class import TinyClass
from tiny_course import RIGHT

CONTRACT = '''
from grader import assert_same_values, contract, number, tensor

scaled = contract("double", {"x": tensor("n k", "1 k", says="(n, k)")}, name="scaled")


def test_every_case(scaled):
    """It is twice as much in every case."""
    assert_same_values(scaled)
'''
#: Wrong only where there is one row of plain data.
PICKY = [
    RIGHT[0],
    "def double(x):\n    return 3 * x if len(x) == 1 and not x.requires_grad and x.dim() > 1 else 2 * x",
    RIGHT[2],
]


@pytest.fixture
def contracted(klass: TinyClass):
    path = klass.course / "tests" / "hidden" / "test_01_tiny.py"
    path.write_text(path.read_text(encoding="utf-8") + CONTRACT, encoding="utf-8")
    return klass


def test_try_lists_the_cases_and_those_that_an_answer_fails(contracted):
    out = contracted.run("try", "01_tiny", "scaled", "--answer", "squared", "--answer", "added").output
    lines = [line.strip() for line in out.splitlines()]
    assert "0  typical" in lines
    assert "1  x has one row" in lines
    assert any(line.startswith("scaled    squared fails ") and line.endswith("case 0") for line in lines)
    assert any(line.startswith("0  The result is wrong") for line in lines)
    assert any(line.startswith("scaled    added fails 0 of ") for line in lines)
    shown = contracted.run("try", "01_tiny", "scaled", "--answer", "squared", "--case", "1").output
    assert shown.startswith("scaled    case 1: x has one row\n") and "differs" in shown
    unknown = contracted.run("try", "01_tiny", "scaled", "--case", "999").output
    assert "has no case 999: its cases have the numbers 0 to" in unknown


def test_explain_shows_the_failed_case_with_the_fewest_variations(contracted):
    contracted.hand_in("ben", PICKY)
    contracted.grade()
    stored = " ".join(contracted.explain("ben", "01_tiny", "q1", "--all").output.split())
    assert "has the fewest variations. x has one row, does not require grad" in stored


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        ("2 * x.numel()", "times what it should be; the factor differs between inputs)"),
        ("3 * 2", "(it is 3 times what it should be)"),
    ],
)
def test_a_factor_that_differs_between_inputs_is_said_to(contracted, factor, said):
    contracted.hand_in("ben", [RIGHT[0], f"def double(x):\n    return {factor} * x", RIGHT[2]])
    contracted.grade()
    messages = {check["id"]: check["message"] for check in contracted.result("ben")["questions"][0]["checks"]}
    assert said in messages["test_every_case"]
