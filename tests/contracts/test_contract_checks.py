"""Each check of a contract passes the reference, and fails an answer that breaks what it looks at."""

from functools import partial

import pytest
from declaring import declared, facts, failed_numbers, failure, judged

from grader import (
    assert_memory,
    assert_no_side_effects,
    assert_same_gradients,
    assert_same_raised,
    assert_same_values,
    data,
    network,
    number,
    optimizer,
    pairs,
    tensor,
)
from grader.contracts.blame import case_to_report, decisive_variations
from grader.contracts.cases import Case, DeclaredCase, Rules
from grader.contracts.finding import FailedCheckError
from grader.errors import CourseError
from grader.inside import inside
from grader.sandbox.plan import TimeLimits

X = {"x": tensor("n k", "1 k")}
PLAIN = {"x": tensor("n k", "1 k", roles=["plain"])}
WAITING = {"x": tensor("n k", roles=["computed", "leaf", "plain"], pending=True)}
FEW = {"nest": ["flat"], "inside": ["louder"], "rows": ["each"], "grads": ["none"], "frozen": ["no"]}
NET = {"model": network(**FEW), "x": tensor("n in", roles=["plain"], layouts=["contiguous"])}
BATCHES = {"model": network(**FEW), "batches": pairs(faults=["none", "own"])}
STEPS = {
    "model": network(**(FEW | {"frozen": ["no"]})),
    "opt": optimizer("model", groups=["one"]),
    "x": NET["x"],
}
OF_STEPS = {"record": ["steps"], "returns": "nothing", "modes": ["on"]}
STEPPED = """
def f(model, opt, x):
    opt.zero_grad()
    model(x).sum().backward()
    opt.step()
"""


def returns(expression, takes="x"):
    return f"def f({takes}):\n    return {expression}"


TWICE = returns("2 * x")
APPLIED = returns("model(x)", "model, x")
ALL_BATCHES = returns("[model(x) for x, _ in batches]", "model, batches")
CAUGHT = """
def f(model, batches):
    try:
        return [model(x) for x, _ in batches]
    except {}:
        {}
"""
DOUBLED_IN_BACKWARD = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return g.mul_(2)

def f(x):
    return Twice.apply(x)
"""
ONE_BUFFER = """
buffers = {}

def f(x):
    out = buffers.setdefault((tuple(x.shape), x.dtype), torch.empty(x.shape, dtype=x.dtype))
    return torch.mul(x, 2, out=out)
"""

RAISED_BY_HAND = """
def f(x):
    x.data.mul_(2)
    x.grad_fn.register_prehook(raised)

def raised(*_):
    raise RuntimeError("modified by an inplace operation: is at version 1; expected version 0 instead.")
"""
ALL_OF_ITS_MEMORY = """
def f(x):
    x.as_strided((x.untyped_storage().nbytes() // x.element_size(),), (1,), 0).fill_(2)
"""

IN_TURN = """
kept = {}

def f(x):
    of_one_shape = kept.setdefault((tuple(x.shape), x.dtype), [])
    of_one_shape.append(2 * x if len(of_one_shape) < 2 else of_one_shape.pop(0).copy_(x).mul_(2))
    return of_one_shape[-1]
"""
ONCE_FOR_EACH = """
kept = []

def f(x):
    y = 2 * x
    kept.append(next((z for z in kept if z.dtype == y.dtype and torch.equal(z, y)), y))
    return kept[-1]
"""
RECORDED_IN_PLACE = """
def f(x):
    x.requires_grad_(False)
    with torch.enable_grad():
        x.mul_(torch.full((), 2, dtype=x.dtype, requires_grad=True))
"""
OTHER_NUMBERS_IN_GRAD = """
def f(x):
    kept = x.grad.clone()
    x.grad.zero_()
    x.grad = kept
    return 2 * x
"""
WHEN_IT_DIES = """
import weakref

waiting = []

def f(x):
    y, data = 2 * x, x.data
    waiting.append(weakref.ref(y, lambda _: data.zero_()))
    return y
"""
AT_THE_NODE = """
nodes = []

def f(model, x):
    for p in model.parameters():
        if p.requires_grad:
            nodes.append(torch.autograd.graph.get_gradient_edge(p).node)
            nodes[-1].register_hook(lambda *_, p=p: p.grad.zero_())
    return model(x)
"""
HELD_IN_ANOTHER_FORM = """
held = []

def f(model, x):
    def pack(t):
        held.append(t.detach().numpy().copy())
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return model(x)
"""

LIMITED_IN_BACKWARD = DOUBLED_IN_BACKWARD.replace("g.mul_(2)", "2 * g.clamp(-1e9, 1e9)")
KEPT_ON_THE_CLASS = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        Square.x = x.clone()
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * Square.x * g

def f(x):
    return Square.apply(x)
"""


@inside
def the_argument(setup):
    """What comes back where nothing is done."""
    return {"x itself": setup["x"]}


@inside
def halves(setup, result):
    """What is computed with the result."""
    return {"half": result / 2}


def broken(asserts, said, wrong, *, arguments=X, reference=TWICE, **options):
    """The check that fails a wrong answer and what it says, beside the declaration and the reference."""
    return arguments, options, reference, wrong, asserts, said


values, gradients, effects, memory = (
    partial(broken, asserts)
    for asserts in (assert_same_values, assert_same_gradients, assert_no_side_effects, assert_memory)
)
batched = partial(values, arguments=BATCHES, reference=ALL_BATCHES)
stepped = {"arguments": STEPS, "reference": STEPPED, **OF_STEPS}
applied = {"arguments": NET, "reference": APPLIED}
IN_PLACE = "def f(x):\n    with torch.no_grad():\n        x.mul_(2)"
computed = {"x": tensor("n k", roles=["computed"], pending=True)}
once = {"returns": "nothing", "modes": ["on"], "sequences": ["first"]}
stopping = {"arguments": computed, "reference": IN_PLACE, **once}
held = {"gradients": "none", "record": ["left"], "large": ["n"]}
held["arguments"] = {"model": network(**FEW), "x": data("n in")}
doubled = {"arguments": PLAIN, "reference": "def f(x):\n    x.mul_(2)", "returns": "nothing"}

#: By what breaks.
BROKEN = {
    "a value": values("The result is wrong", returns("3 * x")),
    "what people return instead": values("it is x itself", returns("x.clone()"), mistakes=the_argument),
    "a result that cannot be used": values(
        "Code that uses the result, or an object that your call changed, raised TypeError",
        returns("'text'"),
        then=halves,
        returns="nothing",
    ),
    "a huge gradient": gradients(
        "The gradient of the result", LIMITED_IN_BACKWARD, arriving=["typical", "huge"]
    ),
    "an earlier result goes back": gradients(
        "The gradient of the result of an earlier call (after a later call) with respect to `x` is wrong",
        KEPT_ON_THE_CLASS,
        reference=returns("x * x"),
    ),
    "a bool": values(
        "(entry [1] is True)",
        returns("[True, not x.is_leaf]"),
        reference=returns("[True, x.is_leaf]"),
        gradients="none",
    ),
    "a dtype": values("its dtype is", returns("2 * x.float()")),
    "the shape": values("its shape is", returns("(2 * x).squeeze(0)")),
    "digits": values("The result is wrong", returns("(2 * x.float()).to(x.dtype)"), full_precision=True),
    "what has to change": values("After your call, `x` is wrong", "def f(x):\n    x.mul_(3)", **doubled),
    "what has to change, and stays": values("must change `x`, but its", "def f(x):\n    pass", **doubled),
    "an error is swallowed": batched("swallows the caller's", CAUGHT.format("Exception", "return []")),
    "another error": batched(
        "raises a ValueError instead of the", CAUGHT.format("Exception as e", "raise ValueError('no') from e")
    ),
    "an error of its own": values("RuntimeError", returns("2 * x.view(-1).view(x.shape)")),
    "a network is called twice": values(
        "calls the network twice", returns("[model(x), model(x)][1]", "model, x"), record=["calls"], **applied
    ),
    "a copy computes": values(
        "calls a copy of the network",
        returns("model(x) + 0 * copy.deepcopy(model)(x)", "model, x"),
        record=["calls"],
        gradients="none",
        **applied,
    ),
    "an optimizer steps twice": values(
        "Your call makes 2 optimizer steps instead of 1", f"{STEPPED}    opt.step()\n", **stepped
    ),
    "the gradient of a step": values(
        "`model.first.weight.grad` is wrong", STEPPED.replace("sum()", "mean()"), **stepped
    ),
    "no gradient for a step": values(
        "`model.first.weight.grad` is None",
        STEPPED.replace("opt.step()", "opt.zero_grad(); opt.step()"),
        **stepped,
    ),
    "recorded, and cut afterwards": values(
        "Autograd records operations during your call",
        returns("model(x).detach()", "model, x"),
        arguments=NET,
        reference="def f(model, x):\n    with torch.no_grad():\n        return model(x)",
        record=["recorded"],
    ),
    "recorded outside of networks": values(
        "Autograd records operations during your call",
        returns("(2 * x).detach()"),
        reference="def f(x):\n    with torch.no_grad():\n        return 2 * x",
        record=["recorded"],
    ),
    "a gradient": gradients("x", returns("3 * x - x.detach()")),
    "no history": gradients("does not require grad", returns("2 * x.detach()")),
    "zeros in place of None": broken(
        partial(assert_same_gradients, none_is_zero=False),
        "x",
        returns("(2 * x).detach().requires_grad_() + 0 * x"),
        reference=returns("(2 * x).detach().requires_grad_()"),
    ),
    "the gradient that arrives": gradients("Backward overwrites the incoming gradient", DOUBLED_IN_BACKWARD),
    "a loss that waits": gradients(
        "a loss that was computed from `x` before",
        "def f(x):\n    y = 2 * x\n    x.data.mul_(2)\n    return y",
        arguments=WAITING,
    ),
    "a loss that should stop": gradients("raised no error", "def f(x):\n    x.data.mul_(2)", **stopping),
    "an error in torch's words": gradients("raised a different error than torch", RAISED_BY_HAND, **stopping),
    "a history that should not be": broken(
        partial(assert_same_gradients, flags=True),
        "requires grad, but must not",
        TWICE,
        reference=returns("2 * x.detach()"),
        gradients="none",
    ),
    "memory of its own": effects("shares storage", returns("x.view_as(x)"), reference=returns("x.clone()")),
    "the same memory as another storage": effects(
        "shares storage with `x`",
        returns("torch.from_numpy(x.numpy())"),
        arguments=PLAIN,
        reference=returns("x.clone()"),
    ),
    "an earlier result once more": effects(
        "shares storage with an earlier result", ONCE_FOR_EACH, arguments=PLAIN, sequences=["first", "same"]
    ),
    "a leaf no longer": effects(
        "the caller's `x` has the `grad_fn` MulBackward0",
        RECORDED_IN_PLACE,
        arguments={"x": tensor("n k", roles=["leaf"], grads=["none"])},
        reference=IN_PLACE,
        returns="nothing",
    ),
    "a .grad that the caller holds": effects(
        "the tensor that was `x.grad` before",
        OTHER_NUMBERS_IN_GRAD,
        arguments={"x": tensor("n k", roles=["leaf"], grads=["filled"])},
    ),
    "rows that share memory": effects(
        "share memory, so a write",
        returns("b.clone().expand(n, -1)", "b, n"),
        arguments={"b": tensor("k"), "n": number(3)},
        reference=returns("b.repeat(n, 1)", "b, n"),
    ),
    "an earlier result": effects("A later call changes the result", ONE_BUFFER, arguments=PLAIN),
    "an earlier list": effects(
        "A later call changes the result of an earlier call",
        "found = []\n\ndef f(x):\n    found[:] = [2 * x]\n    return found",
        arguments=PLAIN,
        reference=returns("[2 * x]"),
    ),
    "a cache that knows one argument": values(
        "The result is wrong",
        "kept = {}\n\ndef f(x, y):\n    return kept.setdefault(str(x), x * y).clone()",
        arguments={"x": PLAIN["x"], "y": tensor("n k", "1 k", roles=["plain"])},
        reference=returns("x * y", "x, y"),
        sequences=["first", "changed", "changed y"],
    ),
    "memory between the entries": effects(
        "Your call changes the values of the caller's memory around x",
        ALL_OF_ITS_MEMORY,
        arguments=PLAIN,
        reference="def f(x):\n    x.fill_(2)",
        returns="nothing",
    ),
    "memory handed out in turn": effects(
        "A later call with other", IN_TURN, arguments={"x": tensor("n k")}, sequences=["first"]
    ),
    "a write when the result dies": effects(
        "A later call with other arguments changes", WHEN_IT_DIES, arguments=PLAIN, sequences=["first"]
    ),
    "a hook at the node of a leaf": effects(
        "the caller's leaves get wrong gradients", AT_THE_NODE, gradients="none", **applied
    ),
    "a step that is replaced": effects(
        "adds an attribute to the caller's `opt`: `step`",
        f"{STEPPED}    opt.step = lambda: None\n",
        **stepped,
    ),
    "a forward that is replaced": effects(
        "`: `_compiled_call_impl`",
        "def f(model, x):\n    y = model(x)\n    model._compiled_call_impl = lambda x: x\n    return y",
        gradients="none",
        **applied,
    ),
    "copies of activations are held": memory("in memory", HELD_IN_ANOTHER_FORM, reference=APPLIED, **held),
    "an output is held": memory(
        "a tensor that the network returned is still in memory",
        "kept = []\n\ndef f(model, x):\n    y = model(x)\n    kept[:] = [y.detach()]\n    return y.sum()",
        reference=returns("model(x).sum()", "model, x"),
        **held,
    ),
    "all graphs at once": memory(
        "While the network computes",
        "def f(model, batches):\n    kept = [model(x) for x, _ in batches]",
        arguments=BATCHES,
        reference="def f(model, batches):\n    for x, _ in batches:\n        model(x)",
        gradients="none",
        returns="nothing",
        modes=["on"],
        record=["peak"],
        large=["batch"],
    ),
    "a mode is left": effects(
        "grad",
        "def f(x):\n    y = 2 * x\n    torch.set_grad_enabled(not torch.is_grad_enabled())\n    return y",
    ),
    "the global random generator is seeded": effects(
        "draws from torch's global random generator or seeds it",
        "def f(x):\n    torch.manual_seed(0)\n    return 2 * x",
        record=["random numbers"],
    ),
    ".grad": effects(".grad", "def f(x):\n    x.grad = None if x.is_leaf else x.grad\n    return 2 * x"),
    "values in another mode": values(
        "Your function changes the mode (`train()` or `eval()`) of `model`",
        "def f(model, x):\n    model.eval()\n    out = model(x)\n    model.train()\n    return out",
        **applied,
    ),
    "gradients in another mode": gradients(
        "Your function changes the mode (`train()` or `eval()`) of `model`",
        returns("model.eval()(x)", "model, x"),
        **applied,
    ),
}


@pytest.fixture(scope="module")
def judge(zygote):
    """An answer of the table above beside the reference."""
    expected = {}

    def given(name, *, answer=None):
        arguments, options, reference, wrong, _, _ = BROKEN[name]
        made = declared("f", arguments, **options)
        key = made.bundle(), reference
        if key not in expected:
            expected[key] = facts(zygote, made, reference)
        return made.observation(facts(zygote, made, wrong if answer is None else answer), expected[key])

    return given


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_fails_what_breaks(judge, name):
    *_, asserts, said = BROKEN[name]
    failed = failure(asserts, judge(name))
    assert said in failed.error.finding.sentence


#: Of what is declared alike, one.
DECLARED = {repr((entry[0], entry[1], entry[2])): name for name, entry in BROKEN.items()}


@pytest.mark.parametrize("name", DECLARED.values())
def test_the_reference_passes_every_check(judge, name):
    contracted = judge(name, answer=BROKEN[name][2])
    for asserts in (assert_same_raised, assert_same_values, assert_same_gradients, assert_no_side_effects):
        assert failure(asserts, contracted) is None


@pytest.mark.parametrize(("runs", "stays"), [("int", False), ("threading.Event().wait", True)])
def test_a_thread_that_ends_soon_is_no_side_effect(judge, runs, stays):
    """A library may end its own thread a little after the call; one that goes on running is left behind."""
    answer = (
        "import threading\ndef f(x):\n"
        f"    threading.Thread(target={runs}, daemon=True).start()\n    return 2 * x"
    )
    failed = failure(assert_no_side_effects, judge("a mode is left", answer=answer))
    assert (
        failed is not None
        and "the number of threads besides the main one is 1; before it, it was 0"
        in failed.error.finding.sentence
    ) is stays


@pytest.mark.parametrize("name", ["memory of its own", ".grad", "a mode is left", "rows that share memory"])
def test_what_is_kept_is_no_matter_of_values(judge, name):
    assert failure(assert_same_values, judge(name)) is None


def test_a_tensor_that_an_answer_leaves_alone_is_unchanged(judge):
    """If only the reference writes to it, it is the same before and after the call, and not gone."""
    seen = judge("what has to change", answer=returns("None")).cases[0].seen
    assert seen.before("x").version == seen.after("x").version
    assert seen.before("x").value == seen.after("x").value


def test_an_explanation_that_breaks_is_a_broken_check(judge):
    """An author's explanation is computed after the check has failed, and may stumble over an odd value."""

    def explain():
        raise ZeroDivisionError

    def asserts(case):
        raise FailedCheckError(explain)

    assert isinstance(failure(asserts, judge("a value")).error, ZeroDivisionError)


def test_no_text_of_a_worker_becomes_a_name_in_a_message():
    """A worker that claims to have called other networks in another mode is not believed."""
    record = {"result": 1.0, "switched": ["x" * 9_000, "model"]}
    declared_case = DeclaredCase({}, {}, arguments=("model",))
    case = Case("f", declared_case, Rules(), [], record, {"result": 2.0})
    with pytest.raises(FailedCheckError) as caught:
        assert_same_values(case)
    assert caught.value.finding.group == "mode of model"
    assert "xxx" not in caught.value.finding.sentence


def only_where(condition, then):
    return f"def f(x):\n    if {condition}:\n        return {then}\n    return 2 * x"


@pytest.mark.parametrize(
    ("answer", "beginning"),
    [
        (returns("3 * x"), ""),
        (only_where("x.dtype == torch.float64", "3 * x"), "In float64"),
        (only_where("not x.is_contiguous()", "3 * x"), "For example, where `x` is not contiguous"),
        (only_where("x.requires_grad and x.is_leaf", "3 * x"), "Where `x` is a leaf that requires grad"),
        (only_where("not torch.is_grad_enabled()", "3 * x"), "Under `no_grad()`"),
        (
            only_where("not x.requires_grad and len(x) == 1", "3 * x"),
            (
                "For example, where `x` has one row, does not require grad and is transposed, in float64, "
                "in a second call with other arguments"
            ),
        ),
    ],
)
def test_the_variations_that_are_the_cause_are_named(judge, answer, beginning):
    """A single variation that explains every failure is named; otherwise the failed case is an example."""
    failed = failure(assert_same_values, judge("a value", answer=answer))
    assert failed.beginning == beginning
    assert (failed.case is None) == (not beginning)


def test_a_sentence_that_says_all_takes_no_hint(judge):
    """A hint of the check's, about whatever may change, is not shown beside a new attribute."""
    failed = failure(assert_no_side_effects, judge("a step that is replaced"), hint="Which line clears it?")
    assert (failed.error.finding.hint, failed.error.finding.takes_hint) == (None, False)


def test_a_check_of_typical_cases_passes_what_is_wrong_elsewhere_only(judge):
    """Without patterns, `cases` leaves the typical cases."""
    contracted = judge("a value", answer=only_where("not x.is_contiguous()", "3 * x"))
    assert failure(assert_same_values, contracted, cases=()) is None
    assert failure(assert_same_values, contracted, cases=("x.layout",)) is not None


def test_variations_that_a_failure_needs(judge):
    """Of an answer that is wrong for one variation, this variation is named, and no other."""
    contracted = judge("a value", answer=only_where("x.dtype == torch.float64", "3 * x"))
    failed = failed_numbers(assert_same_values, contracted)
    assert decisive_variations(contracted.cases, failed) == {"all.dtype=float64"}
    number = case_to_report(contracted.cases, failed)
    assert contracted.cases[number].variations == {"all.dtype": "float64"}
    assert decisive_variations(contracted.cases, {}) == set()


def test_a_case_after_one_that_timed_out_does_not_pass(zygote):
    """The case in which a call is stopped is reported, and no later case counts as passed."""
    made = declared("f", X, dtypes=["float32"])
    answer = (
        only_where("not x.is_contiguous()", "loops(x)") + "\n\ndef loops(x):\n    while True:\n        pass"
    )
    seen = facts(zygote, made, answer, limits=TimeLimits(question=20))
    contracted = made.observation(seen, facts(zygote, made, TWICE))
    failed = failure(assert_same_values, contracted)
    assert failed.case == "x is transposed"
    assert "stopped" in failed.error.finding.sentence
    assert {case.name for case in contracted.cases if case.did_not_run} <= {
        contracted.cases[number].name for number in failed_numbers(assert_same_values, contracted)
    }


def test_a_check_that_says_nothing_about_the_typical_case_is_the_authors_error(judge):
    """A check of memory needs a contract that measures it."""
    with pytest.raises(CourseError, match="says nothing about the typical case"):
        failure(assert_memory, judge("a value", answer=TWICE))


def test_a_reference_that_raises_is_the_authors_error(zygote):
    """The author is told the case and the error; no student is blamed."""
    made = declared("f", X)
    reference = returns("2 * x.view(-1).view(x.shape)")
    with pytest.raises(CourseError, match=r"the reference raises an error\. Where `x` is transposed: .*view"):
        failure(assert_same_values, judged(zygote, made, TWICE, reference))


def test_a_part_is_judged_by_itself(zygote):
    """Of a part only the named entries, changes and facts count, in cases of the named factors."""
    made = declared(
        "f",
        {"x": tensor("n k", "1 k", roles=["plain"]), "n": number(2, 3)},
        entries=["first", "second"],
        gradients="none",
    )
    right = "def f(x, n):\n    x.mul_(n)\n    return x + 1, x + 2"
    wrong = "def f(x, n):\n    x.mul_(n if n == 2 else 1)\n    return x / x * n, x + 2"
    contracted = made.observation(facts(zygote, made, wrong), facts(zygote, made, right))
    assert failure(assert_same_values, contracted, cases=(), only=["second", "x"]) is None
    assert failure(assert_same_values, contracted, cases=("x.*",), only=["second", "x"]) is None
    assert "first" in failure(assert_same_values, contracted, only=["first"]).error.finding.sentence
    assert failure(assert_same_values, contracted, only=["x"]).beginning == "Where `n` is 3"
