"""The code of a case has a line for each level, and the statements of an author's functions."""

from textwrap import indent

import pytest
from observing import QUICK, look, request

from grader import Call, Cases, contract, network, number, optimizer, own, pairs, target, tensor
from grader import inputs as list_of_inputs
from grader.course import snippet
from grader.course.course import Course
from grader.course.levels import INPUTS, MODULE, OPTIMIZER, PAIRS, TENSOR
from grader.course.snippet import case_text, snippet_complaints
from grader.course.specialize import CannotShowError
from grader.inside import gradients, inside, note, torch

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
    return function(setup["y"], setup["x"])


@inside
def kept_in_the_setup(setup, kind):
    """Stores a neighbour of x, and what x was."""
    setup["its neighbour"] = setup["x"] + 1
    setup.remembered["sum"] = setup["x"].sum()
    return kind("kind")


@inside
def of_neighbours(setup, result):
    """Reads what another function stored; the branch of another level is left out."""
    x, _ = (setup[name] for name in ("x", "which"))
    if setup["which"] == "second":
        return {"nothing": x * 0}
    return {
        "neighbour": setup["its neighbour"] - x,
        "sum": setup.remembered.get("sum", 0),
        "gradients": gradients(lambda: 2 * result, {"x": x}),
        "there": "its neighbour" in setup,
    }


@inside
def in_a_table(setup, kind):
    """Functions by their names, one of which binds a name."""
    tables = {"double": {"a": lambda v: (w := v) + w, "b": lambda v: v + 1}}
    made = [(name, one) for name, one in tables[kind("of")].items()]
    return made[::-1]


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
        "setup": {"x": X, "which": own(kept_in_the_setup, kind=["first", "second"])},
        "table": {"table": own(in_a_table, of=["double"])},
        "own": {"x": X, "y": own(halves, number=["two", "three"], form=["a tuple", "a list"])},
    }


CONTRACTS = {
    name: contract("f", arguments, name=f"of_{name}", cases=PLAIN, call=Call(gradients="none"))
    for name, arguments in declared().items()
}
MADE = globals()["__contracts__"]
#: Levels without a line: a caller's error is in the numbers of the case, and two networks need a class.
WITHOUT_LINE = {"own", "bare"}


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
    contract("f", {"x": X, "y": X}, name="of_swapped", cases=PLAIN, call=Call(how=swapped))
    assert case_text(MADE["of_swapped"], {}).calls == ("out = f(y, x)",)


def test_what_functions_store_in_the_setup_is_shown():
    """It has a variable; an argument that is a literal stands where it is read, and decides branches."""
    contract(
        "f", {**declared()["setup"]}, name="of_then", cases=PLAIN, call=Call(given=["x"], then=of_neighbours)
    )
    text = case_text(MADE["of_then"], {})
    assert "its_neighbour = x + 1" in text.inputs and "sum_before = x.sum()" in text.inputs
    assert not any("x * 0" in line for line in text.then)
    assert "its_neighbour - x" in text.then[-1] and "'sum': sum_before" in text.then[-1]
    assert "torch.autograd.grad((2 * out - 3).square().sum(), [x]" in text.then[-1]
    assert "'there': True" in text.then[-1]
    other = case_text(MADE["of_then"], {"which.kind": "second"})
    assert "x * 0" in other.then[-1]


def test_code_is_written_again_with_other_numbers():
    """The second try has other numbers and sizes, and a network whose mode matters."""
    made = MADE["of_network"]
    first, again = case_text(made, {}), case_text(made, {}, again=True)
    assert first.inputs[0] == "torch.manual_seed(0)" and again.inputs[0] == "torch.manual_seed(1)"
    assert not any("training" in line for line in first.inputs)
    assert any("if part.training" in line for line in again.inputs)


def test_a_level_that_has_no_code_is_an_authors_mistake(monkeypatch):
    """The doctor names the file, the contract and the levels of a case whose lines do not fit together."""
    made = MADE["of_number"]
    assert list(snippet_complaints([made])) == []
    monkeypatch.setattr(snippet._Writer, "_number", lambda *_: ["n = ("])
    (told,) = snippet_complaints([made])
    assert "a snippet of the contract of_number (no level varies) is not valid: SyntaxError" in told
    assert told.startswith(made.source.where)


def test_modes_and_earlier_calls_are_shown():
    """A call under no_grad() is in a block; a second call has another one above it."""
    cases = Cases(modes=["on", "off"], sequences=["first", "other", "same", "changed"], cover=[])
    contract("f", {"x": X}, name="of_calls", cases=cases)
    made = MADE["of_calls"]
    assert case_text(made, {"call.mode": "off"}).calls == ("with torch.no_grad():", "    out = f(x)")
    for sequence, between in (("same", 0), ("changed", 1), ("other", 1)):
        lines = case_text(made, {"call.sequence": sequence}).inputs
        assert lines.index("earlier = f(x)") == len(lines) - 1 - between


def test_large_inputs_have_no_code():
    with pytest.raises(CannotShowError):
        case_text(MADE["of_number"], {"all.sizes": "large"})


@pytest.mark.long
def test_most_cases_of_the_course_have_code():
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
