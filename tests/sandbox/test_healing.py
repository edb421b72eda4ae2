"""Patches that heal before a request ends, and ways around what was captured: noticed, or without effect."""

import pytest
from observing import look, request

from grader.sandbox.evidence import NotObserved
from grader.sandbox.plan import Request
from grader.sandbox.values import Raised

HONEST = "def second():\n    return torch.ones(2)"
FUNCTION = "import torch\n{before}\ndef first(*args):\n    {body}"


def of_first(zygote, body, facts, before=""):
    """What a request sees of a function, beside an honest one that must not suffer."""
    cells = [FUNCTION.format(before=before, body=body), HONEST]
    seen = look(zygote, cells, first=request("first", facts), second="student.second()")
    assert seen["second"].value == (1.0, 1.0)
    return seen["first"]


HEALING = {
    "torch.Tensor.backward": (
        "honest = torch.Tensor.backward\ndef patch(*args):\n    torch.Tensor.backward = honest\n    1 / 0",
        "torch.Tensor.backward = patch",
    ),
    "Tensor.backward.__code__": (
        "def patch(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):\n    return 7",
        "torch.Tensor.backward.__code__ = patch.__code__",
    ),
    "torch function modes": (
        "from torch.overrides import TorchFunctionMode as Mode",
        "kept = Mode(); kept.__enter__()",
    ),
}


@pytest.mark.parametrize("what", HEALING)
def test_what_would_heal_when_it_is_called_is_seen_before(zygote, what):
    """Before the request calls backward(), the patch is undone, and nothing is believed."""
    before, body = HEALING[what]
    facts = "w = torch.ones(2, requires_grad=True)\nstudent.first()\nw.sum().backward()\nreturn w"
    seen = of_first(zygote, body, facts, before)
    assert isinstance(seen, NotObserved)
    assert f"replaced {what}" in seen.reason


LISTENING = {
    "a tracer": (
        "def lie(frame, event, argument):\n    1 / 0 if frame.f_code.co_name == 'backward' else None",
        "import sys; sys.settrace(lie)",
    ),
    "hooks on saved tensors": (
        "",
        "torch.autograd.graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t).__enter__()",
    ),
}


@pytest.mark.parametrize("what", LISTENING)
def test_what_listens_is_ended_as_the_function_returns(zygote, what):
    """The rest of the request runs without it, so its facts are what they are."""
    before, body = LISTENING[what]
    facts = "w = torch.ones(2, requires_grad=True)\nstudent.first()\n(w * w).sum().backward()\nreturn w.grad"
    assert of_first(zygote, body, facts, before).value == (2.0, 2.0)


LYING_JSON = """
import json, struct
def lie(*_, **__):
    1 / 0
json.JSONEncoder.encode = json.JSONDecoder.decode = json.dumps = json.loads = lie
json.encoder.c_make_encoder = json.decoder.scanstring = struct.pack = struct.unpack = None
"""


@pytest.mark.parametrize(
    ("before", "returned"), [(LYING_JSON, 3), ("import random\nseen = []\nrandom.seed = seen.append", [])]
)
def test_pythons_json_and_generator_are_not_asked(zygote, before, returned):
    """Answers do not pass through the module json, and no seed is told to a patched random.seed."""
    body = "return 3" if returned else "return list(seen)"
    assert of_first(zygote, body, "student.first()", before) == returned


def test_a_freed_graph_of_a_function_of_python_is_seen(zygote):
    """Nodes of torch.autograd.Function keep their saved tensors elsewhere."""
    before = (
        "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return 2 * x\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return 2 * g"
    )
    facts = (
        "p = torch.ones(2, requires_grad=True)\ny = student.first(p)\n"
        "before = graph(y=y)['freed']\ny.sum().backward()\n"
        "return [before, graph(y=y)['freed']]"
    )
    assert of_first(zygote, "return Double.apply(*args)", facts, before) == [0, 1]


def test_an_error_in_a_function_is_still_its_own(zygote):
    """Looking after a function's return hides neither its error nor its place."""
    seen = of_first(zygote, "return 1 / 0", "attempt(student.first)")
    assert isinstance(seen, Raised)
    assert (seen.type, seen.where) == ("ZeroDivisionError", "cell 1, line 4")


def test_another_kernel_answers_for_no_request(zygote):
    """An operation whose kernel a notebook exchanged proves nothing any more."""
    exchange = "import torch\nlibrary = torch.library.Library('aten', 'IMPL')\n"
    exchange += "library.impl('relu', lambda x: x + 1, 'CPU')\ndef f(x):\n    return torch.relu(x)"
    seen = look(zygote, exchange, f="student.f(torch.zeros(1))")
    assert "kernel aten/relu/CPU" in seen["f"].reason


EVIL = "import torch\nfrom torch import nn\ndef evil(*_, **__):\n    return 'evil'\n"
UNSEEN = {
    "put back under another name": (
        "def put(owner, name):\n    items = list(vars(owner).items())\n"
        "    place = [key for key, _ in items].index(name)\n"
        "    for key, _ in items[place:]:\n        delattr(owner, key)\n"
        "    owner.junk = items[place][1]\n"
        "    for key, value in items[place + 1:]:\n        setattr(owner, key, value)\n"
        "    setattr(owner, name, evil)\n"
        "put(nn.Linear, 'forward')"
    ),
    "one removed for one added": "del nn.Linear.__annotations__\nnn.Linear.__call__ = evil",
    "replaced while it is put back": (
        "meta = type(nn.Linear)\n"
        "class Meta(type(nn.Parameter)):\n    pass\n"
        "def again(cls, name, value):\n    type.__setattr__(cls, name, value)\n"
        "    if name == '__repr__':\n        type.__setattr__(cls, name, evil)\n"
        "setattr(type(nn.Parameter), '__setattr__', again)\n"
        "type.__setattr__(nn.Parameter, '__repr__', evil)"
    ),
}


@pytest.mark.parametrize("how", UNSEEN)
def test_what_was_replaced_is_seen_however_it_was_done(zygote, how):
    """No answer of a replaced attribute becomes a fact, and the notebook is told or flagged."""
    facts = (
        "student.first()\nreturn [str(nn.Linear(1, 1)(torch.ones(1, 1))), repr(nn.Parameter(torch.ones(1)))]"
    )
    seen = look(
        zygote, [EVIL + UNSEEN[how], HONEST.replace("second", "first")], first=request("first", facts)
    )
    assert seen.evidence.patched or ("patched", None) in seen.evidence.traces
    found = seen["first"]
    assert isinstance(found, NotObserved) or not any("evil" in text for text in found)


#: Ways to a request's words that are flagged by themselves: frames, and the collector.
FLAGGED_WAYS = """
import gc, sys
def words():
    frame = sys._getframe()
    while "Model" not in frame.f_globals:
        frame = frame.f_back
    return frame.f_globals
def opened(wrapper):
    return next(part for part in gc.get_referents(wrapper) if hasattr(part, "__code__"))
"""
RELIED_ON = {
    "torch.equal": "torch.equal = evil",
    "torch.nn.modules.linear.Linear.forward": "nn.Linear.forward = evil",
    "torch.nn.modules.module.Module._compiled_call_impl": "nn.Module._compiled_call_impl = evil",
    "torch.Tensor.sum": "torch.Tensor.sum = evil",  # which TensorBase has
    "torch.Tensor.backward": "del torch.Tensor.backward",
    "Module.register_buffer.__defaults__": "nn.Module.register_buffer.__defaults__ = (False,)",
    "Module.zero_grad.__kwdefaults__": "nn.Module.zero_grad.__kwdefaults__ = {'set_to_none': False}",
    "inside.attempt": "words()['attempt'] = evil",
    "inside.helper": "words()['helper'] = evil",
    "helper.__code__": "opened(words()['helper']).__code__ = evil.__code__",
    "inside.Model.forward": "words()['Model'].forward = evil",
    "inside.Model.__call__": "words()['Model'].__call__ = evil",
}


@pytest.mark.parametrize("what", RELIED_ON)
def test_whatever_a_request_relies_on_is_put_back_and_told(zygote, what):
    """Tensors, modules, what the request names of torch, and its own words: not believed, and told."""
    source = (
        "class Model(nn.Module):\n    def forward(self, x):\n        return x\n"
        "def helper():\n    return nn.Linear(1, 1), torch.equal\n"
        "def first(student):\n    student.first(lambda: helper())\n    return attempt(helper) and 1"
    )
    cells = [EVIL + FLAGGED_WAYS + f"def first(*args):\n    {RELIED_ON[what]}", HONEST]
    seen = look(zygote, cells, first=Request("first", source, 1, 5.0), second="student.second()")
    assert what in seen.evidence.patched
    assert isinstance(seen["first"], NotObserved)
    assert seen["second"].value == (1.0, 1.0)
