"""The graph at a call of a module, and that it and a snap see through torch.func."""

import pytest
from observing import look


@pytest.fixture(scope="module")
def tell(zygote):
    """What a request tells of a function whose statements are given."""

    def of(statements, request, given):
        body = "\n    ".join(statements.splitlines())
        return look(zygote, ["import torch", f"def f({given}):\n    {body}"], f=request)["f"]

    return of


FUNC = """
lin, x = nn.Linear(2, 3), torch.arange(8.0).reshape(4, 2)
snaps = []

def note(t):
    snaps.append(snap(t))
    return t

student.f(lin, x, note)
return [snaps, x]
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
    (seen,), x = tell(statements, FUNC, "lin, x, note")
    assert seen.shape == shape
    assert sorted(seen.value) == sorted(x.value)
    assert shape == (2, 4) or seen.value == x.value
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
    request = DRAWN.replace("readout, 2, steps=cell,", "readout, steps=cell, after=4,")
    each = tell("for x in xs:\n    h = cell(x, h)\n    readout(h)", request, "cell, readout, xs, h")
    once = tell("for x in xs:\n    h = cell(x, h)\nreadout(h)", request, "cell, readout, xs, h")
    assert each == once
    assert [tensor["name"] for tensor in once["tensors"]] == ["h2", "h1", "start", "weight"]


def test_a_call_that_never_comes_has_no_graph(tell):
    assert tell("readout(h)", DRAWN, "cell, readout, xs, h") is None
