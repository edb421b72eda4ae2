"""What students read of a contract follows from its declaration; the doctor tells where a master differs."""

import ast
from pathlib import Path

import pytest
from declaring import declared

from grader import data, inputs, network, number, optimizer, pairs, target, tensor
from grader.course.assignment import Assignment, MasterCell, Place, Question
from grader.course.contract_text import (
    argument_lines,
    block_of,
    contract_complaints,
    with_arguments,
    with_block,
    with_contracts,
)

QUIET = {"modes": ["on"], "turns": ["first"]}


def bullet(kinds, **options):
    """What is told of a single argument, without what is told of the call."""
    return block_of(declared("f", {"x": kinds}, **QUIET, **options)).removeprefix("- `x`: ")


FEW = {"roles": ["plain"], "layouts": ["contiguous"]}
TENSORS = {
    "n k": ("a tensor of shape `(n, k)`", ("n k",)),
    "one size": ("a tensor of shape `(k,)`", ("k",)),
    "no dimensions": ("a tensor of shape `(n,)` or without dimensions", ("n", "")),
    "an even size": ("a tensor of shape `(n, 2 * c)`", ("n 2c",)),
    "several": ("a tensor of shape `(n,)`, `(n, k)` or `(m, n, k)`", ("n", "n k", "m n k")),
    "as another": ("a tensor of the shape of `y`", ("=y",)),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_shape_is_written_as_students_write_it(name):
    """Sizes are multiplied as in Python, and a single size has its comma."""
    text, shapes = TENSORS[name]
    assert bullet(tensor(*shapes, **FEW), dtypes=["float32"]) == f"{text}. It is plain data."


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        (("n k", "1 k"), "`n` may be 1."),
        (("n k", "0 k", "1 k"), "`n` may be 0 or 1."),
        (("n k", "1 k", "n 1"), "`n` or `k` may be 1."),
        (("n 2c", "1 2"), "`n` or `c` may be 1."),
        (("n k", "2 k"), ""),
    ],
)
def test_a_shape_that_gives_a_size_a_value_is_no_shape_of_its_own(shapes, told):
    """Only that a size may be 0 or 1 is told; every larger value is a size like others."""
    text = bullet(tensor(*shapes, **FEW), dtypes=["float32"])
    assert text.removeprefix(f"{TENSORS['n k'][0]}.").removeprefix(f"{TENSORS['an even size'][0]}.") == (
        f" It is plain data. {told}".rstrip()
    )


ARGUMENTS = {
    "a tensor of every kind": (
        tensor("n k", says="(n, k), not empty"),
        (
            "a tensor of shape `(n, k)`, not empty, float32 or float64, contiguous or not. It is a computed"
            " tensor, a leaf that requires grad, or plain data. Its `.grad` may hold something."
        ),
    ),
    "values": (
        data("n", values=["normal", "zeros", "huge"]),
        (
            "a tensor of shape `(n,)`, float32 or float64, contiguous or not. It is plain data. It may be 0"
            " everywhere, or have values as large as 1e38."
        ),
    ),
    "a tensor without named sizes": (
        tensor("n k", "", "0 k", says="of any shape", **FEW),
        (
            "a tensor of any shape, float32 or float64. It is plain data. It may have no dimensions or no"
            " entries."
        ),
    ),
    "a number": (number(3, 1, 2), "a number, such as 1, 2 or 3."),
    "a number that is described": (
        number(10.1, 0.0, -7.0, says="a float"),
        "a float; it may be 0 or negative.",
    ),
    "a network": (
        network(says="maps (n, in) to (n, out)"),
        (
            "a network that maps `(n, in)` to `(n, out)`. Each part of it may be in train mode or in eval"
            " mode. Its batch norm and dropout are always in eval mode. Some of its parameters may be frozen,"
            " or all. What it gives for a row may depend on the other rows. The `.grad` of its parameters may"
            " hold something. It may have nested layers, no modules, parameters of its own, a parameter that"
            " two layers share, buffers, batch norm, dropout or hooks of the caller's, or return a view."
        ),
    ),
    "a plain network": (
        network(
            nest=["flat"],
            train=["eval"],
            frozen=["no", "one frozen"],
            tied=["no"],
            buffers=["no"],
            inside=["louder"],
            rows=["each"],
            gives=["new"],
            grads=["none"],
            hooks=["no"],
        ),
        "a network. It is in eval mode. Some of its parameters may be frozen.",
    ),
    "a list of inputs": (
        inputs(says="a list of tensors of shape (n, in)", lists=["differ", "empty", "twice"]),
        "a list of tensors of shape `(n, in)`. It may be empty, or have a tensor twice.",
    ),
    "batches": (
        pairs(faults=["none", "own"]),
        (
            "a list of batches `(x, y)`. At a batch of it the network may raise an error. Its numbers may"
            " be far from 0. It may have a single entry."
        ),
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_told_in_plain_sentences(name):
    """Each factor has its words; kinds that a promised range has anyway are not told."""
    kinds, told = ARGUMENTS[name]
    assert bullet(kinds) == told


def test_the_last_bullet_is_about_the_call():
    """Whether it is called under no_grad, and again."""
    made = declared("f", {"n": number(1)})
    assert block_of(made).splitlines()[-1] == (
        "- `f` may be called under `no_grad()`. It may be called again, with the same or changed values,"
        " while an earlier result is still in use."
    )
    once = declared("f", {"n": number(1)}, modes=["on"], turns=["first", "other"])
    assert block_of(once).splitlines()[-1] == (
        "- `f` may be called again while an earlier result is still in use."
    )
    assert block_of(declared("f", {"n": number(1)}, **QUIET)).count("\n- ") == 0


def test_only_what_is_given_is_told():
    """What is made for another argument has no bullet."""
    made = declared(
        "f",
        {"model": network(), "opt": optimizer("model"), "x": data("n in"), "y": target("x", "model")},
        given=["opt", "x", "y"],
        **QUIET,
    )
    assert [line.split("`")[1] for line in block_of(made).splitlines()] == ["opt", "x", "y"]
    assert "`opt`: an optimizer of the parameters of `model`: SGD, SGD with momentum or AdamW." in block_of(
        made
    )


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
    """It is folded; without hints it is the task's end."""
    block = f"<details><summary>What may come in</summary>\n\n{block_of(made)}\n\n</details>"
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
WITHOUT = '''def f(x, n):
    """Return n times x.

    Continued: no argument.
    Returns a new tensor.
    """
    return x'''
ALONE = 'def f(x, n):\n    """Return n times x."""\n    return x'
ALONE_TOLD = '''def f(x, n):
    """Return n times x.

    x: (n, k), float32 or float64, may require grad.
    n: an int, 1 or more.
    """
    return x'''


@pytest.mark.parametrize("stub", [STUB, WITHOUT, REPLACED])
def test_lines_about_arguments_are_those_of_the_contract(made, stub):
    """What a docstring says of arguments is replaced or put in; all else stays."""
    assert with_arguments(stub, made) == REPLACED


def test_a_docstring_of_a_line_gets_more(made):
    """A summary alone is followed by the lines about arguments."""
    assert with_arguments(ALONE, made) == ALONE_TOLD


def test_a_docstring_stays_where_the_contract_is_silent():
    """Without words for each argument nothing is replaced."""
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
        MasterCell("prose", "# 1. Title"),
        MasterCell("task", TASK + HINT, "q1"),
        MasterCell("question", stub, "q1"),
    )
    return Assignment("01_a", Path("m.py"), "Title", (question,), cells)


def test_stub_and_answer_and_task_say_the_same(made):
    """The reference has the docstring that students get, and the task its block."""
    told = with_contracts(assignment(), [made])
    assert told.questions[0].stub == told.questions[0].answer == told.cells[2].source == REPLACED
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


def test_what_the_author_says_is_not_said_again():
    """A mode that stands in the author's words is told once."""
    quiet = {factor: kinds[:1] for factor, kinds in network().factors.items()} | {"train": ["eval"]}
    assert bullet(network(**quiet, says="a module in eval mode")) == "a module in eval mode."


def test_arguments_that_differ_are_complained_about(made):
    """An argument of the stub that the contract does not give, the other way round, and no words for it."""
    (unknown,) = complaints(declared("f", {"x": tensor("n", says="(n,)")}), stub=WITHOUT)
    assert unknown.endswith(": f takes n, of which its contract says nothing; declare it")
    more = declared("f", {**made.arguments, "m": number(1, says="an int")})
    (not_taken,) = complaints(more, stub=WITHOUT)
    assert "the contract gives m, and f takes x, n: name the arguments of the call with given=" in not_taken
    silent = declared("f", {**made.arguments, "n": number(1)})
    (no_words,) = complaints(silent, stub=WITHOUT)
    assert no_words.endswith('n has no says="...", so q1 cannot say in its docstring what it is')


def test_a_contract_of_no_question_is_complained_about(made):
    """The function's name is told, and those that there are."""
    (told,) = complaints(made, stub=WITHOUT.replace("def f", "def g"), function="g")
    assert "the contract f is about f, for which no question asks; the questions ask for g" in told
