"""The words of a request return true facts, whatever a class, a hook or a closure claims."""

import pytest
from observing import look, request

IMPORTS = "import torch, weakref\nfrom torch import nn\n"


def told(zygote, defined, body):
    """What a request returns; `defined` stands in the notebook."""
    seen = look(zygote, IMPORTS + defined, f=request("f", body))
    assert seen.evidence.patched == []
    return seen["f"]


PACKED = """
def unpack(held):
    raise RuntimeError("Trying to backward through the graph a second time")

def f(p):
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        return (p * p).sum()
"""


def test_a_hook_frees_no_graph(zygote):
    """An unpack hook that raises torch's words has freed nothing, and is not run to find that out."""
    assert told(zygote, PACKED, "return graph(y=student.f(torch.ones(2, requires_grad=True)))['freed']") == 0


def test_a_graph_that_a_hook_had_packed_is_freed_by_a_backward(zygote):
    """Whoever packs saved tensors, after a backward they are gone."""
    lie = 'raise RuntimeError("Trying to backward through the graph a second time")'
    body = """
        y = student.f(torch.ones(2, requires_grad=True))
        before = graph(y=y)["freed"]
        y.backward()
        return [before, graph(y=y)["freed"]]
    """
    assert told(zygote, PACKED.replace(lie, "return held"), body) == [0, 1]


NODE = """
class Lying(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, leaf):
        ctx.variable = leaf
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None

def f(x, leaf):
    y = Lying.apply(x, leaf)
    type(y.grad_fn).next_functions = ((None, 0),)
    return y
"""


def test_a_node_does_not_say_itself_where_it_leads(zygote):
    """Attributes of a node of a student's Function are neither its leaf nor the nodes behind it."""
    body = """
        x, leaf = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        y = student.f(x * 2, leaf.detach())
        drawn = graph(y=y, x=x, leaf=leaf)
        return drawn["total"], [node["named"] for node in drawn["nodes"]]
    """
    assert told(zygote, NODE, body) == (3, [None, None, 1])


def test_a_marked_graph_is_not_ended_by_its_attributes(zygote):
    """A marked graph lives as long as its node, whatever is deleted from that."""
    defined = "kept = []\ndef f(y):\n    kept.append(y)\n    vars(y.grad_fn).clear()"
    body = "student.f(mark(torch.ones(2, requires_grad=True)))\nreturn alive()"
    assert told(zygote, defined, body) == 1
    assert told(zygote, "def f(y):\n    return y.sum().item()", body) == 0


MODULE = """
class Names(dict):
    def items(self):
        return []
    keys = values = __iter__ = items

class Lying(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 1)
        self._parameters = Names(weight=nn.Parameter(torch.ones(1)))
        self._buffers = Names(mean=torch.zeros(1))
    def named_parameters(self, *_, **__):
        return iter([("fake", torch.ones(1))])
    named_buffers = named_modules = named_parameters
    def __getattribute__(self, name):
        return {} if name in ("_parameters", "_modules", "_buffers") else super().__getattribute__(name)

class Optimizer(torch.optim.SGD):
    param_groups = property(lambda self: [], lambda self, _: None)
    def __getattribute__(self, name):
        return {} if name in ("state", "__dict__") else super().__getattribute__(name)

def f():
    return Lying()
"""


def test_a_module_holds_what_it_registered(zygote):
    found = told(zygote, MODULE, "return state(student.f())")
    assert {part: [*held] for part, held in found.items()} == {
        "parameters": ["weight", "inner.weight", "inner.bias"],
        "buffers": ["mean"],
    }


OPTIMIZER = """
    w = nn.Parameter(torch.ones(3))
    made = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    w.grad = torch.ones(3)
    made.step()
    made.__class__ = Optimizer
    return made
"""


def test_an_optimizer_holds_what_it_was_given(zygote):
    """A class that answers for its groups or its state is not asked."""
    found = told(zygote, MODULE.replace("    return Lying()", OPTIMIZER), "return state(student.f())")
    assert [[p.shape for p in group] for group in found["groups"]] == [[(3,)]]
    assert [[*memory] for memory in found["state"]] == [["momentum_buffer"]]


@pytest.mark.parametrize(
    ("made", "names"),
    [
        ("shared = nn.Linear(2, 2)\n    made = nn.Sequential(shared, nn.ModuleList([shared]))", None),
        ("made = torch.nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))", None),
        ("made = nn.LSTM(2, 3, num_layers=2)", None),
        ("made = nn.Sequential(nn.BatchNorm1d(2), nn.Bilinear(1, 2, 3, bias=False))", None),
        ("made = nn.Module()\n    made.own = made\n    made.p = nn.Parameter(torch.ones(1))", ["p"]),
    ],
)
def test_the_names_are_those_of_torch(zygote, made, names):
    """An ordinary module's parameters and buffers have torch's names and order; one in itself has an end."""
    every = "(made.named_parameters, made.named_buffers)"
    lists = f"[[name for name, _ in each(remove_duplicate=False)] for each in {every}]"
    defined = f"def f():\n    {made}\n    return made, {lists if names is None else [names, []]}"
    body = """
        made, names = student.f()
        found = state(made)
        return [[*found["parameters"]], [*found["buffers"]]], names
    """
    found, expected = told(zygote, defined, body)
    assert found == expected


def test_what_is_neither_module_nor_optimizer_is_named(zygote):
    error = told(zygote, "def f():\n    return None", "return attempt(lambda: state(student.f()))")
    assert (error.type, error.text) == ("TypeError", "NoneType is neither a module nor an optimizer")


CRAWL = """
NAMES = "__closure__ cell_contents __globals__ __wrapped__ __self__ __func__ __dict__ __class__".split()
NAMES += "__deepcopy__ func args keywords forward backward _forward_cls data unpack_hook __callback__".split()

def leads_to_us(*starts):
    "Whether attributes, dictionaries and weak references lead from here to records or our globals."
    waiting, seen = list(starts), set()
    for thing in waiting:
        if id(thing) in seen or len(seen) > 2_000:
            continue
        seen.add(id(thing))
        if type(thing) is dict and ({"entered", "left"} <= thing.keys() or "begin_request" in thing):
            return True
        found = [getattr(thing, name, None) for name in NAMES] + weakref.getweakrefs(thing)
        found += thing if type(thing) in (list, tuple) else ()
        found += dict(thing).values() if type(thing) in (dict, type(vars(type))) and len(thing) < 100 else ()
        plain = (str, int, float, bool, type(None), type(torch))
        waiting += [one for one in found if type(one) not in plain]
    return False
"""


def test_nothing_leads_from_a_module_to_the_graph_at_its_call(zygote):
    """What waits for the call of a readout shows neither the states of the cell nor names of ours."""
    student = """
def f(cell, readout, x):
    readout(cell(x))
    return leads_to_us(cell.__dict__['forward'], readout.__dict__['forward'])
"""
    body = """
        cell, readout = nn.Linear(2, 3), nn.Linear(3, 1)
        drawn = graph_at(readout, steps=cell, after=1)
        return student.f(cell, readout, torch.ones(1, 2)), drawn() is not None
    """
    assert told(zygote, CRAWL + student, body) == (False, True)


def test_nothing_leads_from_a_marked_graph_to_the_marks(zygote):
    student = "def f(y):\n    return leads_to_us(y.grad_fn, type(y.grad_fn))"
    assert told(zygote, CRAWL + student, "return student.f(mark(torch.ones(2, requires_grad=True)))") is False
