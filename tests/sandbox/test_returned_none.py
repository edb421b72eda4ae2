"""Where an answer returns None instead of a value, it is said which `return` gave it, and why."""

from textwrap import dedent, indent

import pytest
from declaring import declared
from factories import answer
from observing import look, request

from grader import tensor
from grader.contracts.returned_none import why_none
from grader.sandbox.decoding import MalformedError
from grader.sandbox.evidence import Evidence
from grader.sandbox.facts import ReturnedNone
from grader.sandbox.plan import Request, TimeLimits

LEAF = "w = torch.ones(2, requires_grad=True)\n"
BACKWARD = f"{LEAF}y = w * 3\ny.sum().backward()\n"
STEP = "opt = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)\n"
MISSING = "f returned None: is a return missing?"


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
        f"{BACKWARD}with torch.no_grad():\n    w.grad",
        "with torch.no_grad():\n    return",
        "if x is None: return x",
        "def inner():\n    return x\ninner()",
        "try:\n    return x.missing\nexcept AttributeError:\n    pass",
        "for n in range(3):\n    if n > 5:\n        return x",
    ],
)
def test_a_return_is_missing_where_none_gave_a_value(known, body):
    """No `return` with an expression was executed, though there may be one."""
    assert why_none(known(body)) == MISSING


ENDINGS = {
    "a non-leaf": (f"{BACKWARD}return y.grad", "return y.grad", "y.grad", "not a leaf"),
    "a leaf before backward": (
        f"{LEAF}y = w * 3\nreturn w.grad",
        "return w.grad",
        "w.grad",
        "nothing stored",
    ),
    "plain data": ("w = torch.ones(2)\nreturn w.grad", "return w.grad", "w.grad", "does not require grad"),
    "retained too late": (
        f"{BACKWARD}y.retain_grad()\nreturn y.grad",
        "return y.grad",
        "y.grad",
        "nothing retained",
    ),
    "a variable": (f"{BACKWARD}g = y.grad\nreturn g", "return g", "y.grad", "not a leaf"),
    "read before backward": (
        f"{LEAF}g = w.grad\n(w * 3).sum().backward()\nreturn g",
        "return g",
        "w.grad",
        "nothing stored",
    ),
    "the name stands for another tensor later": (
        f"{BACKWARD}g = y.grad\ny = w\nreturn g",
        "return g",
        "y.grad",
        "not a leaf",
    ),
    "a parameter of a network": (
        "net = torch.nn.Linear(2, 1)\nreturn net.weight.grad",
        "return net.weight.grad",
        "net.weight.grad",
        "nothing stored",
    ),
    "an entry": (
        f"{BACKWARD}ts = [w, y]\nreturn ts[1].grad",
        "return ts[1].grad",
        "ts[1].grad",
        "not a leaf",
    ),
    "within a context": (
        f"{BACKWARD}with torch.no_grad():\n    return y.grad",
        "return y.grad",
        "y.grad",
        "not a leaf",
    ),
    "with something to do in the end": (
        f"{BACKWARD}try:\n    return y.grad\nfinally:\n    y = None",
        "return y.grad",
        "y.grad",
        "not a leaf",
    ),
    "one of two": (
        f"{BACKWARD}if x is None:\n    return w.grad\nreturn y.grad",
        "return y.grad",
        "y.grad",
        "not a leaf",
    ),
    "a condition": (
        f"{BACKWARD}return w.grad if x is None else y.grad",
        "return w.grad if x is None else y.grad",
        "y.grad",
        "not a leaf",
    ),
    "on several lines": (
        f"{BACKWARD}return (\n    y\n    .grad\n)",
        "return ( y .grad )",
        "y .grad",
        "not a leaf",
    ),
    "of a value without a name": (
        f"{LEAF}return (w * 3).grad",
        "return (w * 3).grad",
        "(w * 3).grad",
        "grad",
    ),
    "a backward": (
        "w = x.detach().requires_grad_()\nreturn w.sum().backward()",
        "return w.sum().backward()",
        "w.sum().backward()",
        "backward",
    ),
    "a method in place": ("xs = [3, 1]\nreturn xs.sort()", "return xs.sort()", "xs.sort()", "call"),
    "a step": (f"{STEP}return opt.step()", "return opt.step()", "opt.step()", "call"),
    "the word": ("return None", "return None", "None", "None"),
    "a default": ("g = {}.get(1)\nfor g in [None]:\n    pass\nreturn g", "return g", "g", "value"),
    "an entry that is None": ("gs = [None]\nreturn gs[0]", "return gs[0]", "gs[0]", "value"),
}


@pytest.mark.parametrize(("body", "statement", "value", "cause"), ENDINGS.values(), ids=ENDINGS)
def test_the_return_that_gave_none_is_named(known, body, statement, value, cause):
    """It is the one that was executed, with the expression that None came from and its cause."""
    found = known(body)
    assert (found.ended, found.statement, found.value, found.cause) == ("by a value", statement, value, cause)


@pytest.mark.parametrize(
    ("cell", "statement", "cause"),
    [
        ("f = lambda x: (x * 2).sum().backward() if x.requires_grad else None", None, "backward"),
        ("f = lambda x: x.detach().requires_grad_().sum().backward()", None, "backward"),
        ("f = lambda x: x.grad", "x.grad", "not a leaf"),
        (
            "class F:\n    def __call__(self, x):\n        return x.grad\nf = F()",
            "return x.grad",
            "not a leaf",
        ),
        ("@torch.no_grad()\ndef f(x):\n    return x.grad", "return x.grad", "not a leaf"),
        ("def g(x):\n    x * 2\ndef f(x):\n    return g(x)", "return g(x)", "call"),
        ("é = 'é'\ndef f(x, é=3): return x.grad", "return x.grad", "not a leaf"),
        ("%%time\ndef f(x):\n    return x.grad", "return x.grad", "not a leaf"),
    ],
)
def test_whatever_can_be_called_is_followed(zygote, cell, statement, cause):
    """A lambda, an object, a decorated function, a function that calls another, and one in a timed cell."""
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
def test_only_what_returns_none_in_every_case_is_followed(zygote, cell, is_known):
    """A generator, an object, an error, and a None in some cases are told otherwise."""
    assert (observed(zygote, cell).evidence.returned_none("f", "f") is not None) == is_known


def test_a_function_that_has_to_return_none_is_not_called_again(zygote):
    """Where a contract looks at no result, its cases are all the calls there are."""
    cell = "calls = []\ndef f(x):\n    calls.append(x)"
    made = observed(zygote, cell, returns="nothing")
    assert made.evidence.returned_none("f", "f") == ReturnedNone("f", "without a value")
    counted = look(
        zygote, ["calls = []", cell], f=[request("f", "student.f(1)"), request("n", "len(student.calls)")]
    )
    assert counted["n"] == 1


def test_another_call_changes_no_observation(zygote):
    """What an answer does when it is called once more is seen nowhere."""
    calm = "def f(x):\n    return None"
    late = """
    calls = []
    def f(x):
        calls.append(x)
        if sys.gettrace():
            x.data.zero_()
            torch.set_grad_enabled(False)
            for y in calls: y.data.zero_()
            {}
    """
    endings = ("return x", "raise ValueError", "raise SystemExit", "while True: pass", "sys.settrace(None)")
    for ending in endings:
        seen = observed(zygote, dedent(late).format(ending))
        assert seen["f"] == observed(zygote, calm)["f"], ending
        assert seen.evidence.returned_none("f", "f") is not None, ending
        assert not seen.evidence.patched, ending


def test_the_tracer_shows_nothing_of_ours(zygote):
    """Code that asks for the tracer gets a callable without globals, closure, `__self__` and attributes."""
    cell = """
    found = []
    def f(x):
        found.append(sys.gettrace())
    """
    asked = """
    names = ("__globals__", "__closure__", "__code__", "__self__", "__func__", "__dict__", "__wrapped__")
    tracer = next(one for one in student.found if one is not None)
    return [name for name in names if getattr(tracer, name, None)]
    """
    small = {"modes": ["on"], "sequences": ["first"], "dtypes": ["float32"], "cover": []}
    made = declared("f", {"x": tensor("n")}, **small)
    requests = [Request("f", made.bundle(), 1, 20.0), request("asked", asked)]
    assert look(zygote, ["import sys", dedent(cell)], f=requests)["asked"] == []


@pytest.mark.parametrize(
    ("body", "ended", "cause"),
    [
        ("2 * x", "without a value", ""),
        ("return", "without a value", ""),
        ("y = 2\n    return [].append(y)", "by a value", "call"),
        ("if x: return x.grad\n    x * 2", "", ""),
    ],
)
def test_without_a_contract_the_source_says_what_is_certain(zygote, body, ended, cause):
    """A request that calls the function itself has no other call to offer."""
    seen = look(zygote, f"def f(x):\n    {body}", f=request("f", "student.f(0)"))
    found = seen.evidence.returned_none("f", "f")
    assert (found.ended, found.cause) == (ended, cause)


def test_the_message_names_the_return_and_the_reason():
    """What happened, why, and what to do next; the node only where it is known."""
    said = {
        cause: why_none(ReturnedNone("f", "by a value", "return g", "x.grad", cause, "x", node))
        for cause, node in (("not a leaf", "MulBackward0"), ("nothing stored", ""))
    }
    assert said["not a leaf"] == (
        "f returned None, by `return g`, whose value is that of `x.grad`: `x` is not a leaf"
        " (`grad_fn=<MulBackward0>`), so `backward()` does not fill `x.grad`. Read the `.grad` of the leaf,"
        " or call `x.retain_grad()` before `backward()`."
    )
    assert "is a return missing?" not in "".join(said.values())
    assert "missing" not in why_none(ReturnedNone("f"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"function": 1},
        {"function": "f", "ended": "somehow"},
        {"function": "f", "cause": "magic"},
        {"function": "f", "statement": "x" * 2001},
        {"function": "f", "more": 1},
        {"ended": "by a value"},
        "f",
    ],
)
def test_every_field_is_checked(wrong):
    """A record of another form makes the answer malformed."""
    facts = {"value": ["none"], "tensors": []}
    with pytest.raises(MalformedError):
        answer(facts=facts, none=[wrong])
    right = answer(facts=facts, none=[{"function": "f"}])
    assert Evidence(answers={"p": right}).returned_none("p", "f") == ReturnedNone("f")


def test_a_long_call_is_traced_for_a_while_and_raises_no_flag(zygote):
    """A function that returns None after many steps is not traced to its end, which raises no flag."""
    evidence = observed(zygote, "def f(x):\n    n = 0\n    while n < 400_000:\n        n += 1").evidence
    assert evidence.returned_none("f", "f") is not None
    assert evidence.traces == []
