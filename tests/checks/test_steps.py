"""What a spy tells step by step, the graph at a call, and that both see through torch.func."""

import pytest
from observing import look

from grader import chunks, steps

CELL = """
cell, xs, h = nn.RNNCell(2, 3), torch.randn(3, 1, 2), torch.randn(1, 3)
calls = spy(cell, once_per="input", gradients=True)
failed = attempt(student.f, cell, xs, h)
return [failed, calls, snap(h)]
"""


@pytest.fixture(scope="module")
def tell(zygote):
    """What a probe tells of a function whose statements are given."""

    def of(statements, probe=CELL, given="cell, xs, h"):
        body = "\n    ".join(statements.splitlines())
        imports = "import torch\nfrom torch.utils.checkpoint import checkpoint"
        return look(zygote, [imports, f"def f({given}):\n    {body}"], f=probe)["f"]

    return of


WALK = "for x in xs:\n    h = {}\n"
ONCE = WALK.format("cell(x, h)") + "h.sum().backward()"


@pytest.mark.parametrize(
    "statements",
    [
        ONCE,
        WALK.format("cell.forward(x, hx=h)") + "h.sum().backward()",
        WALK.format("checkpoint(cell, x, h, use_reentrant=False)") + "h.sum().backward()",
        "with torch.no_grad():\n    for x in xs:\n        cell(x, h)\n" + ONCE,
        ONCE + "\nwith torch.no_grad():\n    for x in reversed(xs):\n        cell(x, 0 * h)",
    ],
)
def test_one_step_for_each_input(tell, statements):
    """However often an input is looked at or computed again, it is one step, and the one that trained."""
    failed, calls, start = tell(statements)
    first, second, third = steps(calls)
    assert failed is None
    assert first.entered.value == start.value
    assert (second.entered.value, third.entered.value) == (first.left.value, second.left.value)
    assert (second.has_history, third.has_history) == (True, True)
    assert third.gradient.value == (1.0, 1.0, 1.0)
    assert first.nodes > 0


def test_a_step_that_is_computed_again_backwards_keeps_its_place(tell):
    """A reentrant checkpoint computes the last step first, and the order is that of the inputs."""
    walk = WALK.format("checkpoint(cell, x, h, use_reentrant=True)")
    first, second, third = steps(tell(f"h.requires_grad_()\n{walk}h.sum().backward()")[1])
    assert (second.entered.value, third.entered.value) == (first.left.value, second.left.value)
    assert min(first.nodes, second.nodes, third.nodes) > 0


def test_every_call_counts_without_once_per(tell):
    """A plain spy has a record of each call."""
    twice = "cell(xs[0], h)\ncell(xs[0], h)\nreturn None"
    assert [len(tell(twice, CELL.replace(rule, ""))[1]) for rule in ("nothing", 'once_per="input", ')] == [
        1,
        2,
    ]


def test_what_entered(tell):
    """Nothing entered where no state was given; a pair has a history where one of it has."""
    _, calls, _ = tell("cell(xs[0])\ncell(xs[1], h.requires_grad_() * 1)\nraise ValueError")
    assert [step.entered is None for step in steps(calls)] == [True, False]
    assert [step.has_history for step in steps(calls)] == [False, True]
    pair = CELL.replace("RNNCell", "LSTMCell")
    _, calls, _ = tell("cell(xs[0], (h, h))\ncell(xs[1], (h, 2 * cell.weight_hh[:1]))", pair)
    assert [step.has_history for step in steps(calls)] == [False, True]


def test_every_record_has_the_same_form(tell):
    """An argument that was left out and the gradient of a call that failed are None, not missing."""
    _, calls, _ = tell("cell(input=xs[0])\ncell(xs[1][0, 0], h)")
    assert [call.keys() for call in calls] == [{"inputs", "output", "nodes", "gradient"}] * 2
    assert calls[0]["inputs"]["hx"] is None and calls[1]["gradient"] is None


def test_so_many_steps_at_a_time():
    """Steps are taken apart into minibatches; the last may be shorter."""
    assert chunks([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]
    assert chunks([], 3) == []


FUNC = """
lin, x = nn.Linear(2, 3), torch.arange(8.0).reshape(4, 2)
calls, snaps = spy(lin, gradients=True), []

def note(t):
    snaps.append(snap(t))
    return t

student.f(lin, x, note)
return [calls, snaps, x]
"""

OF_PARAMETERS = """p = dict(lin.named_parameters())
torch.func.grad(lambda p: torch.func.functional_call(lin, p, (note(x),)).sum())(p)"""


@pytest.mark.parametrize(
    ("statements", "shape"),
    [
        ("torch.func.grad(lambda x: lin(note(x)).sum())(x)", (4, 2)),
        ("torch.func.vmap(lambda row: lin(note(row)))(x)", (4, 2)),
        ("torch.func.vmap(torch.func.grad(lambda row: lin(note(row)).sum()))(x)", (4, 2)),
        ("torch.func.vmap(lambda column: note(column), in_dims=1)(x)\nlin(x)", (2, 4)),
        ("torch.func.jvp(lambda x: lin(note(x)), (x,), (x,))", (4, 2)),
        ("torch.func.grad(lambda _: lin(note(x)).sum())(x)", (4, 2)),
        (OF_PARAMETERS, (4, 2)),
    ],
)
def test_a_snap_sees_through_the_wrappers_of_torch_func(tell, statements, shape):
    """Within a transform a snap has the numbers; what vmap maps over is its first dimension."""
    calls, (seen,), x = tell(statements, FUNC, "lin, x, note")
    assert seen.shape == shape
    assert sorted(seen.value) == sorted(x.value)
    assert shape == (2, 4) or seen.value == x.value
    assert len(calls[0]["output"].value) == 12
    assert seen.storage == x.storage


DRAWN = """
cell, readout, xs = nn.RNNCell(1, 1), nn.Linear(1, 1), torch.randn(4, 2, 1)
drawn = graph_at(readout, 2, steps=cell, last=2, into="into_readout", weight=cell.weight_hh)
attempt(student.f, cell, readout, xs, torch.zeros(2, 1))
return drawn()
"""
LOOP = """
for n, x in enumerate(xs):
    if n == 2:
        h = {}
    h = cell(x, h)
    if n % 2:
        {}
        readout({})
"""


@pytest.mark.parametrize(
    ("statements", "names"),
    [
        (LOOP.format("h", "", "h"), ["h2", "h1", "start", "weight"]),
        (LOOP.format("h", "", "h.detach()"), ["into_readout", "h2", "h1", "start", "weight"]),
        (LOOP.format("h", "with torch.no_grad(): readout(cell(x, h))", "h"), ["h2", "h1", "start", "weight"]),
        ("readout(h)\nreadout(h)", ["into_readout", "weight"]),
    ],
)
def test_the_graph_at_a_call(tell, statements, names):
    """The states of the last steps have names, and who only looks makes no step."""
    told = tell(statements, DRAWN, "cell, readout, xs, h")
    assert [tensor["name"] for tensor in told["tensors"]] == names


def test_a_cut_is_seen_at_the_call(tell):
    """A start that was detached has no history at the call, one that was not has."""
    cut, kept = (tell(LOOP.format(h, "", "h"), DRAWN, "cell, readout, xs, h") for h in ("h.detach()", "h"))
    assert [told["tensors"][2]["made_by"] is None for told in (cut, kept)] == [True, False]


def test_who_reads_steps_out_at_once_has_the_same_picture(tell):
    """Counted by steps, the call is found however often the module is called."""
    probe = DRAWN.replace("readout, 2, steps=cell,", "readout, steps=cell, after=4,")
    each = tell("for x in xs:\n    h = cell(x, h)\n    readout(h)", probe, "cell, readout, xs, h")
    once = tell("for x in xs:\n    h = cell(x, h)\nreadout(h)", probe, "cell, readout, xs, h")
    assert each == once
    assert [tensor["name"] for tensor in once["tensors"]] == ["h2", "h1", "start", "weight"]


def test_a_call_that_never_comes_has_no_graph(tell):
    """Where the module is not called so often, there is no picture."""
    assert tell("readout(h)", DRAWN, "cell, readout, xs, h") is None


def test_the_gradient_of_a_step_is_the_sum_of_what_arrived(tell):
    """With once_per, too, all backward passes through the call that counts are added up."""
    twice = "out = cell(xs[0], h)\ncell(xs[0], h).sum().backward()\n"
    twice += "for k in (1.0, 2.0):\n    (k * out).sum().backward(retain_graph=True)\nreturn None"
    failed, calls, _ = tell(twice)
    assert failed is None
    (step,) = steps(calls)
    assert (step.gradient.shape, step.gradient.value) == (step.left.shape, (3.0, 3.0, 3.0))
