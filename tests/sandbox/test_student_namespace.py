"""No tensor of a student's answers for itself when a request works with it."""

import pytest
from observing import look, request

from grader.sandbox.evidence import NotObserved
from grader.sandbox.values import Other, Raised

LYING = """
import torch
from torch import nn

class Lying(torch.Tensor):
    grad = property(lambda self: torch.ones(2))
    is_leaf = property(lambda self: True)
    def backward(self, *_, **__):
        raise RuntimeError("one of the variables has been modified by an inplace operation")
    def tolist(self):
        return [7.0, 7.0]
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.zeros(2)

class Own(nn.Parameter):
    def sum(self):
        raise RuntimeError("mine")
"""


def returned(zygote, made, body):
    """What a request finds of what `f(w)` returned; w is a leaf of ones."""
    asked = f"w = torch.ones(2, requires_grad=True)\nt = student.f(w)\n{body}"
    return look(zygote, f"{LYING}\ndef f(w):\n    {made}", f=request("f", asked))["f"]


@pytest.mark.parametrize(
    ("made", "body", "found"),
    [
        ("(2 * w).as_subclass(Lying)", "return [t.is_leaf, t.tolist()]", [False, [2, 2]]),
        ("(2 * w).as_subclass(Lying)", "t.sum().backward()\nreturn w.grad.tolist()", [2.0, 2.0]),
        ("[{'a': (2 * w).as_subclass(Lying)}]", "return attempt(t[0]['a'].sum().backward)", None),
        ("Own(torch.ones(2))", "return [t.sum().item(), type(t) is nn.Parameter]", [2.0, True]),
        ("setattr(w, 'note', 'mine') or w", "return t.note", "mine"),
    ],
)
def test_a_subclass_is_read_as_the_tensor_it_is(zygote, made, body, found):
    """A tensor of a student's class is the same object, with an ordinary one's methods and history."""
    assert returned(zygote, f"return {made}", body) == found


def test_its_facts_are_those_of_torch(zygote):
    """What a subclass returns as is has values, shape and history of its own, and a Parameter stays one."""
    tensor = returned(zygote, "return (2 * w).as_subclass(Lying)", "return t")
    parameter = returned(zygote, "return Own(torch.ones(3))", "return t")
    assert (tensor.value, tensor.is_leaf, tensor.requires_grad) == ((2.0, 2.0), False, True)
    assert (parameter.value, parameter.kind, parameter.is_leaf) == ((1.0,) * 3, "Parameter", True)


@pytest.mark.parametrize(
    ("made", "replaced"),
    [
        ("t = w * 2\n    t.backward = lambda: 1 / 0", "Tensor.backward"),
        ("t = w\n    t.backward = lambda: 1 / 0", "Tensor.backward"),
        ("t = w\n    w.__class__ = Lying", "the class of a Tensor"),
    ],
)
def test_what_a_tensor_itself_puts_over_a_method_is_noticed(zygote, made, replaced):
    """An attribute or a class that hides a method of torch is a patch, of a result and of an argument."""
    seen = returned(zygote, f"{made}\n    return t", "return 1")
    assert isinstance(seen, NotObserved)
    assert f"replaced {replaced}" in seen.reason


def test_a_class_that_was_exchanged_is_noticed(zygote):
    """A module or an optimizer that was given stays of its class; another one is put back and told."""
    cell = (
        "from torch import nn\nclass Quiet(nn.Linear):\n    pass\ndef f(layer):\n    layer.__class__ = Quiet"
    )
    seen = look(zygote, cell, f=request("f", "layer = nn.Linear(1, 1)\nstudent.f(layer)\nreturn 1"))
    assert "replaced the class of a Linear" in seen["f"].reason
    assert seen.evidence.patched == ["the class of a Linear"]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("__slots__ = ('a',)", "a tensor of the class Strange cannot be read: it has __slots__"),
        ("__torch_dispatch__ = classmethod(lambda *_, **__: 1 / 0)", None),
    ],
)
def test_what_cannot_be_made_plain_says_nothing(zygote, kind, found):
    """A tensor whose class cannot be exchanged is an error; one that answers by dispatch has no values."""
    made = "def f(w):\n    return w.as_subclass(Strange)"
    cell = f"import torch\nclass Strange(torch.Tensor):\n    {kind}\n{made}"
    seen = look(zygote, cell, f=request("f", "return attempt(student.f, torch.ones(2))"))["f"]
    if found is None:
        assert isinstance(seen, Other) or seen.value is None
    else:
        assert isinstance(seen, Raised)
        assert seen.text == found
