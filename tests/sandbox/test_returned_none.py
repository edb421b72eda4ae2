"""If an answer returns None instead of a value, the message names its `return` and the reason."""

from textwrap import dedent, indent

import pytest
from declaring import declared
from factories import answer
from observing import look

from grader import tensor
from grader.contracts.returned_none import why_none
from grader.sandbox.decoding import MalformedError
from grader.sandbox.evidence import Evidence
from grader.sandbox.plan import Request, TimeLimits
from grader.sandbox.values import ReturnedNone

LEAF = "w = torch.ones(2, requires_grad=True)\n"
BACKWARD = f"{LEAF}y = w * 3\ny.sum().backward()\n"
MISSING = "`f` returned None: is a return missing?"


def observed(zygote, cell, **options):
    """What was observed of the cell's `f(x)` in the cases of a contract."""
    small = {"modes": ["on"], "sequences": ["first"], "dtypes": ["float32"], "cover": []}
    made = declared("f", {"x": tensor("n", grads=["none"])}, **small, **options)
    travelling = Request("f", made.bundle(), 1, 20.0)
    return look(zygote, ["import sys, torch", cell], f=travelling, limits=TimeLimits(20.0, 60.0, 300.0))


@pytest.fixture
def known(zygote):
    """What is known of `f(x)`, by the statements of its body."""

    def of(body):
        cell = f"def f(x):\n{indent(dedent(body), '    ')}"
        return observed(zygote, cell).evidence.returned_none("f", "f")

    return of


@pytest.mark.parametrize(
    "body",
    [
        "2 * x",
        f"{BACKWARD}w.grad",
        f"{BACKWARD}return",
        "def inner():\n    return x\ninner()",
    ],
)
def test_a_return_is_missing_if_none_has_a_value(known, body):
    """The function has no `return` with an expression; those of functions in it don't count."""
    assert why_none(known(body)) == MISSING


@pytest.mark.parametrize(
    "body",
    [
        "if x is None: return x",
        "try:\n    return x.missing\nexcept AttributeError:\n    pass",
        f"{BACKWARD}if x is None:\n    return w.grad\nreturn y.grad",
    ],
)
def test_no_return_is_blamed_if_the_source_leaves_it_open(known, body):
    """Of several `return` statements, or of one that may not run, none is named as the one that gave None."""
    assert known(body) == ReturnedNone("f")


ENDINGS = {
    "a gradient": (f"{BACKWARD}return y.grad", "return y.grad", "y.grad", "grad"),
    "a variable of a variable": ("g = x.grad\nh = g\nreturn h", "return h", "x.grad", "grad"),
    "a variable that is assigned twice": ("g = 1\ng = None\nreturn g", "return g", "g", "value"),
    "within a context": ("with torch.no_grad():\n    return x.grad", "return x.grad", "x.grad", "grad"),
    "on several lines": ("return (\n    x\n    .grad\n)", "return ( x .grad )", "x .grad", "grad"),
    "a backward": (
        f"{LEAF}return w.sum().backward()",
        "return w.sum().backward()",
        "w.sum().backward()",
        "backward",
    ),
    "a method in place": ("xs = [3, 1]\nreturn xs.sort()", "return xs.sort()", "xs.sort()", "call"),
    "the word": ("return None", "return None", "None", "None"),
    "an entry that is None": ("gs = [None]\nreturn gs[0]", "return gs[0]", "gs[0]", "value"),
}


@pytest.mark.parametrize(("body", "statement", "value", "cause"), ENDINGS.values(), ids=ENDINGS)
def test_the_return_that_gave_none_is_named(known, body, statement, value, cause):
    """The record has the single `return`, the expression that None came from, and the form of that."""
    found = known(body)
    assert (found.ended, found.statement, found.value, found.cause) == ("by a value", statement, value, cause)


@pytest.mark.parametrize(
    ("cell", "statement", "cause"),
    [
        ("f = lambda x: x.detach().requires_grad_().sum().backward()", None, "backward"),
        ("f = lambda x: x.grad", "x.grad", "grad"),
        ("@torch.no_grad()\ndef f(x):\n    return x.grad", "return x.grad", "grad"),
        ("def g(x):\n    x * 2\ndef f(x):\n    return g(x)", "return g(x)", "call"),
        ("é = 'é'\ndef f(x, é=3): return x.grad", "return x.grad", "grad"),
        ("%%time\ndef f(x):\n    return x.grad", "return x.grad", "grad"),
        ("class F:\n    def __call__(self, x):\n        return x.grad\nf = F()", "", ""),
        ("import ast\nast.walk = None\nast.parse = None\ndef f(x):\n    return x.grad", None, "grad"),
        ("import ast\nast.get_source_segment = None\ndef f(x):\n    return x.grad", "", ""),
    ],
)
def test_functions_of_every_form_are_read(zygote, cell, statement, cause):
    """A lambda, a decorated function, one in a timed cell; an object and a replaced `ast` give no reason."""
    found = observed(zygote, cell).evidence.returned_none("f", "f")
    assert found.cause == cause
    assert statement in (None, found.statement)


@pytest.mark.parametrize(
    ("cell", "is_known"),
    [
        ("def f(x):\n    yield x", False),
        ("def f(x):\n    return x if x.is_leaf else None", False),
        ("class f:\n    def __init__(self, x):\n        pass", False),
        ("def f(x):\n    return x.missing", False),
        ("def f(x):\n    return None", True),
    ],
)
def test_only_none_in_every_case_gets_a_reason(zygote, cell, is_known):
    """A generator, an object, an error, and a None in some cases get other messages."""
    assert (observed(zygote, cell).evidence.returned_none("f", "f") is not None) == is_known


def test_the_message_names_the_return_and_the_reason():
    """The message says what happened, why, and what to do next."""
    said = why_none(ReturnedNone("f", "by a value", "return g", "x.grad", "grad"))
    assert said.startswith(
        "`f` returned None at `return g`, whose value comes from `x.grad`: `x.grad` was None."
    )
    assert "`retain_grad()`" in said
    assert "missing" not in said + why_none(ReturnedNone("f"))


WRONG = [{"function": 1}, {"ended": "by a value"}, "f"]
MORE = [{"ended": "somehow"}, {"cause": "magic"}, {"statement": "x" * 2001}, {"more": 1}]


@pytest.mark.parametrize("wrong", [*WRONG, *({"function": "f", **more} for more in MORE)])
def test_every_field_is_checked(wrong):
    facts = {"value": ["none"], "tensors": []}
    with pytest.raises(MalformedError):
        answer(returned=facts, none=[wrong])
    right = answer(returned=facts, none=[{"function": "f"}])
    assert Evidence(answers={"p": right}).returned_none("p", "f") == ReturnedNone("f")
