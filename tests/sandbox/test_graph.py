"""The word `graph` tells the autograd graph of named tensors as it is, and disturbs nothing."""

from textwrap import dedent

import pytest
from observing import look, request

from grader.graphs.model import read_graph
from grader.graphs.picture import draw, summary

ANSWERED = "def f():\n    pass"


def seen(zygote, body, *cells):
    """What a request with this body saw, as a graph."""
    found = look(zygote, [*(cells or [""]), ANSWERED], f=_request(body))["f"]
    graph = read_graph(found)
    assert graph is not None, found
    return graph


def _request(body):
    return request("f", f"student.f\n{dedent(body)}")


def of(graph, name):
    """The tensor of a name."""
    return next(tensor for tensor in graph.tensors if tensor.name == name)


RNN = """
cell = nn.RNNCell(1, 2)
def step(h):
    return cell(torch.ones(1, 1), h)
h = step(torch.zeros(1, 2))
(h ** 2).sum().backward()
"""


def test_a_state_that_was_carried_shows_what_is_freed(zygote):
    """An undetached state leads the second minibatch into nodes whose saved tensors are gone."""
    graph = seen(zygote, RNN + "loss = (step(h) ** 2).sum()\nreturn graph(loss=loss, start=h, cell=cell)")
    assert graph.freed == 3
    assert graph.nodes[of(graph, "start").made_by].is_freed
    assert of(graph, "start").made_by in graph.behind(of(graph, "loss"))
    assert "3 of them have freed saved tensors: another backward through them would raise" in summary(graph)
    names = {graph.tensors[node.named].name for node in graph.nodes if node.leaf is not None}
    assert names == {"cell.weight_ih", "cell.weight_hh", "cell.bias_ih", "cell.bias_hh"}
    assert all(node.grad for node in graph.nodes if node.leaf is not None)


def test_a_detached_state_is_a_cut(zygote):
    """A detached state has no history, shares memory with the state that has, and an operation used it."""
    body = "start = h.detach()\nloss = (step(start) ** 2).sum()\nreturn graph(loss=loss, h=h, start=start)"
    graph = seen(zygote, RNN + body)
    h, start = of(graph, "h"), of(graph, "start")
    assert (start.leaf, start.requires_grad, start.made_by) == (True, False, None)
    assert graph.cut(h, start) == "detach"
    assert graph.cut(of(graph, "loss"), start) is None
    place = graph.tensors.index(start)
    users = {node.op for node in graph.nodes for saved in node.saved if saved.partner == place}
    assert users == {"AddmmBackward0"}
    assert not any(graph.nodes[place].is_freed for place in graph.behind(of(graph, "loss")))
    assert "none freed or overwritten that autograd knows of: backward would work" in summary(graph)


OVERWRITTEN = """
a = torch.tensor(3.0, requires_grad=True)
y = a + 1
z = y ** 2
c = {how}
c.zero_()
return graph(z=z, y=y, c=c, a=a)
"""


def test_what_detach_overwrites_is_stale(zygote):
    """Writing through detach() raises the shared version counter, so the saved tensor is stale."""
    graph = seen(zygote, OVERWRITTEN.format(how="y.detach()"))
    (saved,) = graph.nodes[of(graph, "z").made_by].saved
    assert (saved.state, saved.then, saved.now) == ("stale", 0, 1)
    assert graph.tensors[saved.partner].name == "c"
    assert summary(graph) == (
        "3 nodes behind z; Pow saved self at version 0, and it is at version 1 now: backward would raise."
    )


def test_what_data_overwrites_goes_unnoticed(zygote):
    """Writing through .data raises another counter: the saved tensor looks current, and it is told."""
    graph = seen(zygote, OVERWRITTEN.format(how="y.data"))
    assert graph.nodes[of(graph, "z").made_by].saved == ()
    assert (of(graph, "y").version, of(graph, "c").version) == (0, 1)
    assert graph.cut(of(graph, "y"), of(graph, "c")) == "data"
    assert "version counter of its own (.data)" in summary(graph)


def test_gradients_and_retained_gradients(zygote):
    """.grad is seen on a leaf and on a non-leaf that retains it, and on no other."""
    body = """
    w = torch.ones(2, requires_grad=True)
    v, u = w * 2, torch.ones(1, requires_grad=True)
    v.retain_grad()
    t = v * 3
    t.sum().backward()
    return graph(t=t, v=v, w=w, u=u)
    """
    graph = seen(zygote, body)
    assert {t.name: (t.grad, t.retains) for t in graph.tensors} == {
        "t": (False, False),
        "v": (True, True),
        "w": (True, False),
        "u": (False, False),
    }


def test_a_view_shares_memory_and_is_no_cut(zygote):
    """A view stands on its base's memory and leads to it; two names of one tensor are told to be the same."""
    body = (
        "w = torch.ones(2, requires_grad=True)\nv = w[1:]\nreturn graph(v=v, w=w, again=w, other=w.clone())"
    )
    graph = seen(zygote, body)
    v, w, again = (of(graph, name) for name in ("v", "w", "again"))
    assert v.storage == w.storage == again.storage != of(graph, "other").storage
    assert graph.is_view(v, w)
    assert graph.cut(v, w) is None
    assert graph.tensors[again.same] is w


FUNCTION = """
import torch
class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
"""


def test_a_custom_function_shows_what_it_saved(zygote):
    """A custom Function's saved tensors are no matter before a backward, and freed after it."""
    cell = FUNCTION.format(name="Twice")
    body = "w = torch.ones(2, requires_grad=True)\ny = student.Twice.apply(w)\n{}return graph(y=y, w=w)"
    before = seen(zygote, body.format(""), cell)
    after = seen(zygote, body.format("y.sum().backward()\n"), cell)
    assert (before.nodes[0].op, [s.state for s in before.nodes[0].saved]) == ("TwiceBackward", [])
    assert after.nodes[0].is_freed


def test_a_class_that_answers_for_its_node_is_not_asked(zygote):
    """What a student's class says about its node in Python's words is not used, and not run."""
    cell = FUNCTION.format(name="Liar") + (
        "def boom(*_):\n    raise SystemExit\n"
        "for name in ('saved_tensors', 'next_functions', '_raw_saved_tensors'):\n"
        "    setattr(Liar._backward_cls, name, property(boom))\n"
        "Liar._backward_cls.__hash__ = Liar._backward_cls.__eq__ = boom\n"
        "Liar._backward_cls.__name__ = '</svg><script>' * 9\n"
    )
    body = "w = torch.ones(2, requires_grad=True)\nreturn graph(y=student.Liar.apply(w), w=w)"
    graph = seen(zygote, body, cell)
    assert [node.leaf for node in graph.nodes] == [None, "2"]
    assert graph.nodes[0].op == "__svg__scr..__svg__script___"


def test_a_hook_is_not_run(zygote):
    """A tensor saved under hooks is told as packed; its hook is not called to look at it."""
    body = """
calls = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: calls.append(t) or t):
    w = torch.ones(2, requires_grad=True)
    y = w * w
found = graph(y=y)
assert calls == []
return found
"""
    assert [saved.state for saved in seen(zygote, body).nodes[0].saved] == ["packed", "packed"]


#: What a request does, and how the summary of its graph ends.
SUMMARIES = {
    "an inference tensor": (
        """
with torch.inference_mode():
    x = torch.ones(2)
return graph(x=x)""",
        "x is an inference tensor, which autograd never connects to a graph.",
    ),
    "a graph of 10,000 nodes": (
        """
x = a = torch.ones(1, requires_grad=True)
for _ in range(10_000):
    x = x + a
return graph(x=x)""",
        " is freed or overwritten that autograd knows of, and the rest was not looked at.",
    ),
    "freed beyond the drawn nodes": (
        f"{RNN}\nfor _ in range(300):\n    h = step(h)\nreturn graph(h=h)",
        "; 3 of them have freed saved tensors: another backward through them would raise.",
    ),
    "overwritten beyond the drawn nodes": (
        """
y = torch.ones(1, requires_grad=True) * 2
z = y ** 2
for _ in range(100):
    z = z + 1
y.zero_()
return graph(z=z)""",
        "103 nodes behind z; a saved tensor was overwritten: backward would raise.",
    ),
    "freed behind another tensor": (
        """
old = (torch.ones(1, requires_grad=True) ** 2).sum()
old.backward()
new = torch.ones(1, requires_grad=True)
for _ in range(50):
    new = new + 1
return graph(new=new, old=old)""",
        "51 nodes behind new, none freed or overwritten that autograd knows of: backward would work.",
    ),
    "a leaf that no gradient reaches": (
        """
a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
return graph(y=a * 2, a=a, b=b, again=b, x=torch.ones(1))""",
        ": backward would work and reach a, and would not reach b.",
    ),
    "several leaves that no gradient reaches": (
        """
a, b, c, d = (torch.ones(1, requires_grad=True) for _ in range(4))
return graph(y=a * 2, b=b, c=c, d=d)""",
        ": backward would work, and would not reach b, c or 1 more.",
    ),
}


@pytest.mark.parametrize(("body", "ending"), SUMMARIES.values(), ids=SUMMARIES)
def test_a_summary_says_what_is_known_and_no_more(zygote, body, ending):
    """What is freed, overwritten or unreached counts wherever it is; nodes beyond 5,000 are left open."""
    assert summary(seen(zygote, body)).endswith(ending)


def test_a_leaf_beyond_the_drawn_nodes_is_not_called_unreached(zygote):
    """Whether a gradient would reach a leaf is not said where the way to it is not drawn."""
    body = """
x = w = torch.ones(1, requires_grad=True)
for _ in range(50):
    x = x * 2
return graph(x=x, w=w)
"""
    graph = seen(zygote, body)
    picture = draw(graph, "")
    assert "not reach" not in picture.summary
    assert "no arrow arrives" not in picture.svg
    assert "no arrow shown" in picture.svg


def test_where_the_drawing_stops_is_told(zygote):
    """A node is marked if arrows from it lead to what is left out, and not where a gradient ends."""
    long = "x = a = torch.ones(1, requires_grad=True)\nfor _ in range(60):\n    x = x * a\nreturn graph(x=x)"
    graph = seen(zygote, long)
    assert [place for place, node in enumerate(graph.nodes) if node.goes_on] == [39]
    wide = (
        "a = torch.ones(1, requires_grad=True)\nreturn graph(x=torch.cat([a * {} for _ in range({})]), a=a)"
    )
    whole, cut = (seen(zygote, wide.format(2, number)) for number in (8, 9))
    assert [node.goes_on for node in whole.nodes] == [False] * 10
    assert (len(cut.nodes[0].next), cut.nodes[0].goes_on, cut.more) == (7, True, True)


#: A graph as wide as possible, and one of more tensors than are told: those that it ends in come first.
MANY = "w = [torch.ones(2, requires_grad=True) for _ in range({})]\n"
WIDE = (
    MANY.format(30)
    + """
layer = [a * b for a in w for b in w[:4]]
return graph(x=torch.cat(layer), **{f"name_of_a_tensor_{i}": t for i, t in enumerate(w)}, layer=layer)
"""
)


def test_a_graph_is_never_larger_than_an_answer(zygote):
    """Of many tensors and nodes some are told, and first the given leaves that the shown graph ends in."""
    graph = seen(zygote, WIDE)
    assert (len(graph.tensors), len(graph.nodes), graph.more) == (48, 40, True)
    assert (graph.more_tensors, graph.more_nodes) == (1 + 30 + 120 - 48, 1 + 120 + 30 - 40)
    graph = seen(zygote, f"{MANY.format(100)}return graph(x=w[98] * w[99], weights=w)")
    names = [None if node.named is None else graph.tensors[node.named].name for node in graph.nodes]
    assert names == [None, "weights[98]", "weights[99]"]


def test_what_is_held_by_something_else_has_a_name(zygote):
    """Lists, tuples, dicts and modules may hold each other; each tensor is named as one writes it."""
    body = """
t = torch.ones(1)
class Pair(tuple):
    pass
state = [(t + 1, t + 2), {"h": t + 3, 5: t + 4, "a b": t + 5}, Pair([t + 6]), nn.Linear(1, 1), 7, None, []]
state.append(state)
return graph(x=t, state=state)
"""
    names = [tensor.name for tensor in seen(zygote, body).tensors][:10]
    assert names == [
        "x",
        *("state[0][0]", "state[0][1]"),
        *("state[1].h", "state[1][5]", "state[1][a_b]"),
        "state[2][0]",
        *("state[3].weight", "state[3].bias"),
        "state[7][0][0]",
    ]


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        ("[1, None]", []),
        ("{'h': torch.ones(1)}", ["thing.h"]),
        ("student.Sub(torch.ones(1))", []),
        ("student.Odd()", []),
        ("student.Loop()", ["thing.weight"]),
        ("torch.ones(1).to_sparse()", ["thing"]),
        ("torch.ones(1, device='meta')", ["thing"]),
        ("student", []),
    ],
)
def test_whatever_was_returned_is_no_error(zygote, thing, names):
    """Subclasses, modules that lie and things that are no tensors are left out or told; nothing raises."""
    cell = """
import torch
class Sub(torch.Tensor):
    @property
    def grad_fn(self):
        raise SystemExit
class Odd(torch.nn.Module):
    def named_parameters(self, *_, **__):
        raise SystemExit
    @property
    def __dict__(self):
        raise SystemExit
class Loop(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in "abcdefghij":
            self._modules[name] = self
        self.weight = torch.nn.Parameter(torch.ones(1))
"""
    graph = seen(zygote, f"return graph(x=torch.ones(1), thing={thing})", cell)
    assert [tensor.name for tensor in graph.tensors[1:]] == names


def test_looking_changes_nothing(zygote):
    """No version counter, gradient, reference count or warning comes of it, and backward still works."""
    body = """
w = torch.ones(2, requires_grad=True)
v = w * w
y = (v * w).sum()
node = y.grad_fn
def look():
    for _ in range(50):
        graph(y=y, v=v, w=w)
    return 1
look()
before = w._version, v._version
found, said = warned(look)
after = w._version, v._version
y.backward()
return {"same": before == after, "said": said, "grad": w.grad, "leak": graph(y=y)["freed"]}
"""
    found = look(zygote, ["", ANSWERED], f=_request(body))["f"]
    assert (found["same"], found["said"], found["leak"]) == (True, [], 2)
    assert found["grad"].value == (3.0, 3.0)


def test_looking_keeps_no_graph_alive(zygote):
    """When a graph that was looked at goes, it is gone."""
    body = """
w = torch.ones(2, requires_grad=True)
y = mark(w).sum()
graph(y=y, w=w)
before = alive()
y = None
return [before, alive()]
"""
    assert look(zygote, ["", ANSWERED], f=_request(body))["f"] == [1, 0]
