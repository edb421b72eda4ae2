"""What students read of a contract follows from its declaration; the doctor tells where a master differs."""

import ast
from pathlib import Path

import pytest
from declaring import declared

from grader import data, inputs, network, number, optimizer, pairs, target, tensor
from grader.course.assignment import MAY_COME_IN, Assignment, Place, Question, SourceCell
from grader.course.contract_text import (
    argument_lines,
    block_of,
    contract_complaints,
    with_arguments,
    with_block,
    with_contracts,
)

QUIET = {"modes": ["on"], "sequences": ["first"]}


FEW = {"roles": ["plain"], "layouts": ["contiguous"]}


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (
            tensor("n k", "1 k", says="(n, k), not empty"),
            (
                "`(n, k)`, not empty; float32 or float64; has one row; is a non-leaf; is a leaf that requires"
                " grad; does not require grad; is transposed; is not contiguous; is part of a larger tensor;"
                " already has a `.grad`"
            ),
        ),
        (
            tensor("n", values=["normal", "zeros", "huge"], **FEW),
            (
                "a tensor; float32 or float64; is 0 everywhere; has values as large as 1e38;"
                " does not require grad"
            ),
        ),
        (
            data("n", values=["normal", "zeros"], layouts=["contiguous"], says="(n,), doesn't require grad"),
            "`(n,)`, doesn't require grad; float32 or float64; is 0 everywhere",
        ),
        (number(3, 1, (7.0, 8.0)), "a number; is 1; is between 7 and 8"),
        (
            network(every=False, train=["eval"], frozen=["no", "one frozen"]),
            "a network; is in eval mode; has a frozen parameter",
        ),
        (
            inputs(says="a list of tensors of shape (n, in)", lists=["differ", "empty", "twice"]),
            "a list of tensors of shape `(n, in)`; is empty; contains the same tensor twice",
        ),
        (
            pairs(lists=["differ"], faults=["none", "own"]),
            (
                "a list of batches `(x, y)`; contains a batch for which the network raises a custom error;"
                " has values far from 0"
            ),
        ),
    ],
)
def test_every_level_of_an_argument_is_listed(kinds, told):
    """What the author says comes first, then a phrase for each level that the typical input does not have."""
    made = declared("f", {"x": kinds}, sizes=["differ"], **QUIET)
    assert block_of(made) == f"- `x`: {told}"


@pytest.mark.parametrize(
    ("options", "phrase"),
    [
        ({}, "its batch norm is always in eval mode"),
        ({"quiet": False}, "its batch norm is in train mode or eval mode"),
    ],
)
def test_the_modes_of_batch_norm_are_those_of_the_cases(options, phrase):
    """A network is often in train mode where its batch norm never is."""
    made = declared("f", {"model": network(**{"inside": ["louder", "norm"], **options})}, **QUIET)
    assert phrase in block_of(made)


def test_measured_memory_is_named():
    made = declared("f", {"n": number(1)}, large=["n"], record=["left"])
    assert block_of(made).splitlines()[-1].endswith("with large tensors, to measure memory")


def test_the_last_bullet_is_about_the_call():
    made = declared("f", {"n": number(1)})
    assert block_of(made).splitlines()[-1] == (
        "- The call: with thousands of entries; under `no_grad()`; in a second call with other arguments;"
        " in a second call with the same arguments; in a second call, after the values of the arguments have"
        " changed"
    )
    once = declared("f", {"n": number(1)}, sizes=["differ"], modes=["on"], sequences=["first", "other"])
    assert block_of(once).splitlines()[-1] == "- The call: in a second call with other arguments"
    assert block_of(declared("f", {"n": number(1)}, sizes=["differ"], **QUIET)).count("\n- ") == 0


def test_only_what_is_given_is_told():
    made = declared(
        "f",
        {"model": network(), "opt": optimizer("model"), "x": data("n in"), "y": target("x", "model")},
        given=["opt", "x", "y"],
        sizes=["differ"],
        **QUIET,
    )
    assert [line.split("`")[1] for line in block_of(made).splitlines()] == ["opt", "x", "y"]


TASK = """## q1 · Twice

Write `f(x, n)`.
"""
HINT = "\n<details><summary>Hint 1</summary>\n\nMultiply.\n\n</details>"
STUB = '''def f(x, n):
    """Return n times x.

    x: of any shape.
    Continued: no argument.
    n: an int, and this
    goes on; 1 or more.
    Returns a new tensor.
    """
    return x'''


@pytest.fixture
def made():
    return declared("f", {"x": tensor("n k", says="(n, k)"), "n": number(2, says="an int, 1 or more")})


def test_the_block_stands_before_the_hints(made):
    """The list of inputs is not folded; without hints it is the task's end."""
    block = f"{MAY_COME_IN}\n\n{block_of(made)}"
    assert with_block(TASK + HINT, made) == f"{TASK}\n{block}\n{HINT}"
    assert with_block(TASK, made) == f"{TASK}\n{block}"


LINES = ["x: (n, k), float32 or float64, may require grad.", "n: an int, 1 or more."]
REPLACED = '''def f(x, n):
    """Return n times x.

    x: (n, k), float32 or float64, may require grad.
    n: an int, 1 or more.
    Continued: no argument.
    Returns a new tensor.
    """
    return x'''
WITHOUT = REPLACED.replace("".join(f"    {line}\n" for line in LINES), "")
ALONE = 'def f(x, n):\n    """Return n times x."""\n    return x'
ALONE_TOLD = REPLACED.replace("    Continued: no argument.\n    Returns a new tensor.\n", "")


@pytest.mark.parametrize(
    ("stub", "told"), [(STUB, REPLACED), (WITHOUT, REPLACED), (REPLACED, REPLACED), (ALONE, ALONE_TOLD)]
)
def test_lines_about_arguments_are_those_of_the_contract(made, stub, told):
    """What a docstring says of arguments is replaced or put in; all else stays."""
    assert with_arguments(stub, made) == told


def test_a_docstring_stays_where_the_contract_is_silent():
    silent = declared("f", {"x": tensor("n k", says="(n, k)"), "n": number(2)})
    assert with_arguments(STUB, silent) == STUB


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (tensor("n", says="(n,)"), "x: (n,), float32 or float64, may require grad."),
        (tensor("n", says="(n,)", roles=["computed", "leaf"]), "x: (n,), float32 or float64, requires grad."),
        (data("n", says="(n,)"), "x: (n,), float32 or float64."),
        (data("n", says="(n,), integers", dtype="int64"), "x: (n,), integers."),
        (data("n", says="(n,)", dtype="bool"), "x: (n,), boolean."),
        (network(says="maps (n, in) to (n, out)."), "x: maps (n, in) to (n, out)."),
    ],
)
def test_dtype_and_grad_are_added(kinds, told):
    """An author says what a tensor is; which dtypes, and whether it requires grad, follows."""
    made = declared("f", {"x": kinds})
    assert argument_lines(ast.parse("def f(x): ...").body[0], made) == [told]


def assignment(stub=STUB, function="f"):
    question = Question("q1", "Twice", function, stub, stub, None, place=Place(Path("m.py"), 10, "q1"))
    cells = (
        SourceCell("prose", "# 1. Title"),
        SourceCell("task", TASK + HINT, "q1"),
        SourceCell("question", stub, "q1"),
    )
    return Assignment("01_a", Path("m.py"), "Title", (question,), cells)


def test_stub_and_answer_and_task_say_the_same(made):
    """The reference has the docstring that students get, and the task its block."""
    told = with_contracts(assignment(), [made])
    assert told.questions[0].starter_code == told.questions[0].answer == told.cells[2].source == REPLACED
    assert told.cells[1].source == with_block(TASK + HINT, made)
    assert with_contracts(assignment(), []) == assignment()


def complaints(*contracts, stub=STUB, function="f"):
    return list(contract_complaints(assignment(stub, function), {"q1": stub}, contracts))


def test_lines_that_differ_are_complained_about(made):
    """A line of the master that says something else than the contract is named with both texts."""
    assert complaints(made, stub=REPLACED) == complaints(made, stub=WITHOUT) == []
    advice = 'put what counts into says="..." there, and remove the line; `build` writes it'
    assert complaints(made) == [
        f"m.py, line {line}, q1: the docstring says '{written}', and the contract '{said}': {advice}"
        for line, written, said in (
            (13, "x: of any shape.", LINES[0]),
            (15, "n: an int, and this goes on; 1 or more.", LINES[1]),
        )
    ]


def test_a_line_about_several_arguments_is_replaced(made):
    """As in ``x, n: ...``; a list of what is no argument is none."""
    stub = WITHOUT.replace("Continued:", "x, n: two things.\n    a, x: no arguments.\n    Continued:")
    assert with_arguments(stub, made) == REPLACED.replace("Continued", "a, x: no arguments.\n    Continued")
    (told,) = complaints(made, stub=stub)
    assert "the docstring says 'x, n: two things.', and the contract 'x: (n, k), float32" in told


def test_arguments_that_differ_are_complained_about(made):
    """An argument of the stub that the contract does not give, the other way round, and no words for it."""
    (unknown,) = complaints(declared("f", {"x": tensor("n", says="(n,)")}), stub=WITHOUT)
    assert unknown.endswith(": f takes n, which its contract does not declare: add it")
    more = declared("f", {**made.arguments, "m": number(1, says="an int")})
    (not_taken,) = complaints(more, stub=WITHOUT)
    assert "the contract gives m, and f takes x, n: name the arguments of the call with given=" in not_taken
    silent = declared("f", {**made.arguments, "n": number(1)})
    (no_words,) = complaints(silent, stub=WITHOUT)
    assert no_words.endswith('n has no says="...", so q1 cannot say in its docstring what it is')


def test_a_contract_of_no_question_is_complained_about(made):
    (told,) = complaints(made, stub=WITHOUT.replace("def f", "def g"), function="g")
    assert "the contract f is about f, for which no question asks; the questions ask for g" in told
