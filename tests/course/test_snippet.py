"""The code of a case has a line for each level, and the statements of an author's functions."""

from textwrap import indent

import pytest
from observing import QUICK, look, request

from grader import Call, Cases, contract, network, number, optimizer, own, pairs, target, tensor
from grader import inputs as list_of_inputs
from grader.course.course import Course
from grader.course.levels import INPUTS, MODULE, OPTIMIZER, PAIRS, TENSOR
from grader.course.snippet import case_text
from grader.course.specialize import CannotShowError
from grader.inside import inside, note, torch

EVERY = {name: [*factor.levels] for name, factor in MODULE.items()}
PLAIN = Cases(dtypes=["float32", "float64"], modes=["on", "off"], sizes=["differ", "equal"], cover=[])
X = tensor("n in", roles=["plain"], layouts=["contiguous"])


@inside
def scaled(tensor, factor):
    """A helper, which a snippet defines."""
    return tensor * factor


@inside
def halves(setup, kind):
    """A tuple whose parts depend on x, the level and a size."""
    parts = {"two": 2, "three": 3}[kind("number")]
    rows = setup["x"].chunk(parts)
    note(rows)
    if kind("form") == "a list":
        return [*rows, scaled(torch.zeros(setup.size("n")), 2)]
    return rows


@inside
def swapped(function, setup):
    """Calls the function in another order."""
    return function(setup["y"], setup["x"])


def declared():
    """Contracts that have every level of the tables, and what authors add."""
    levels = {name: [*TENSOR[name].levels] for name in ("values", "role", "layout", "grad")}
    roles = {"roles": levels["role"], "layouts": levels["layout"], "grads": levels["grad"]}
    of_pairs = {name: [*PAIRS[name].levels] for name in ("list", "fault", "xs")}
    of_model = [*OPTIMIZER["holds"].levels]
    return {
        "tensor": {"x": tensor("n k", "", "1 k", values=levels["values"], pending=True, **roles)},
        "network": {"x": X, "net": network(**EVERY, quiet=False)},
        "alike": {"net": network(**EVERY, quiet=False), "other": network(like="net")},
        "optimizer": {
            "net": network(every=False),
            "w": tensor("n", roles=["leaf"], grads=["none"]),
            "opt": optimizer("w", "net", holds=of_model),
        },
        "inputs": {"xs": list_of_inputs(lists=[*INPUTS["list"].levels])},
        "pairs": {
            "net": network(every=False),
            "batches": pairs("net", lists=of_pairs["list"], faults=of_pairs["fault"], xs=of_pairs["xs"]),
        },
        "target": {"x": X, "net": network(every=False), "y": target("x", "net")},
        "number": {"n": number(3, (1, 5), 0.5)},
        "own": {"x": X, "y": own(halves, number=["two", "three"], form=["a tuple", "a list"])},
    }


CONTRACTS = {
    name: contract("f", arguments, name=f"of_{name}", cases=PLAIN, call=Call(gradients="none"))
    for name, arguments in declared().items()
}
MADE = globals()["__contracts__"]
#: Levels without a line: a caller's error is in the numbers of the case, and two networks need a class.
WITHOUT_LINE = {"own", "interrupt", "bare"}


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_level_has_a_line_that_runs(zygote, name):
    """The code of a case with one level runs, and gives the function its arguments."""
    made = MADE[f"of_{name}"]
    bodies, levels = [], []
    for row in made.rows:
        if WITHOUT_LINE & {str(level) for level in row.values()}:
            continue
        text = case_text(made, row)
        bodies.append("\n".join([*text.inputs, *text.calls, "return out"]))
        levels.append(row)
    functions = "\n".join(f"def case_{n}():\n{indent(body, '    ')}" for n, body in enumerate(bodies))
    names = ", ".join(f"case_{n}" for n in range(len(bodies)))
    asked = request("f", f"f = student.f\n{functions}\nreturn [attempt(one) for one in ({names},)]")
    seen = look(zygote, "def f(*given):\n    return len(given)", limits=QUICK, f=asked)["f"]
    failed = {str(row): fact for row, fact in zip(levels, seen, strict=True) if fact != len(made.given)}
    assert not failed


def test_an_authors_function_has_only_the_branch_of_its_level():
    """Levels, sizes and other arguments are put in; what the worker notes is left out."""
    made = MADE["of_own"]
    typical, as_list = (case_text(made, row) for row in ({}, {"y.form": "a list", "y.number": "three"}))
    assert typical.inputs[-2:] == ("rows = x.chunk(2)", "y = rows") or typical.inputs[-1] == "y = x.chunk(2)"
    assert "def scaled(tensor, factor):" in as_list.inputs
    assert as_list.inputs[-1] == "y = [*rows, scaled(torch.zeros(2), 2)]"
    assert not any("note" in line or "kind" in line for line in (*typical.inputs, *as_list.inputs))


def test_a_call_of_the_authors_is_shown():
    """A contract that calls the function its own way shows that call."""
    contract("f", {"x": X, "y": X}, name="of_swapped", cases=PLAIN, call=Call(how=swapped))
    assert case_text(MADE["of_swapped"], {}).calls == ("out = f(y, x)",)


def test_modes_and_earlier_calls_are_shown():
    """A call under no_grad() is in a block; a second call has another one above it."""
    cases = Cases(modes=["on", "off"], sequences=["first", "other", "same", "changed"], cover=[])
    contract("f", {"x": X}, name="of_calls", cases=cases)
    made = MADE["of_calls"]
    assert case_text(made, {"call.mode": "off"}).calls == ("with torch.no_grad():", "    out = f(x)")
    for sequence, between in (("same", 0), ("changed", 1), ("other", 1)):
        lines = case_text(made, {"call.sequence": sequence}).inputs
        assert lines.index("earlier = f(x)") == len(lines) - 1 - between


def test_numbers_do_not_depend_on_a_run():
    """The code of a case is the same each time, and draws from a public seed."""
    made = MADE["of_network"]
    row = {"net.nest": "deep"}
    assert case_text(made, row) == case_text(made, row)
    assert case_text(made, row).inputs[0] == "torch.manual_seed(0)"


def test_large_inputs_have_no_code():
    """Cases that need thousands of entries have no snippet."""
    with pytest.raises(CannotShowError):
        case_text(MADE["of_number"], {"all.sizes": "large"})


@pytest.mark.long
def test_most_cases_of_the_course_have_code():
    """Of the course's cases, at least three in four can be shown as code."""
    course = Course.find()
    made = [contract for stem in course.stems for contract in course.rubric(stem).contracts.values()]
    shown = [_is_shown(contract, row) for contract in made for row in contract.rows]
    assert sum(shown) >= 0.75 * len(shown)


def _is_shown(made, row):
    try:
        case_text(made, row)
    except CannotShowError:
        return False
    return True
