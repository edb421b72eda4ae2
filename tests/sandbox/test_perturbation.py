"""Where results are perturbed as by rounding, numbers change in their last places, and nothing else does."""

import pytest
from observing import look, request

from grader.sandbox.plan import Request

CELL = """
import torch
def f(x):
    return x
"""


def seen(zygote, body, perturbed):
    """What a request sees of a function that returns its argument; `perturbed` is a seed, or 0."""
    return look(zygote, CELL, f=request("f", body, perturbed=perturbed))["f"]


EXACT = {
    "random numbers": "[torch.rand(9), torch.nn.Linear(3, 2).weight, torch.empty(9).normal_()]",
    "whole numbers": "torch.arange(6.0) * 3 + 0.5",
    "copies": "torch.isin(torch.cat([x, x[3:]]).clone(), x)",
    "what relu lets through": "torch.isin(x.relu(), torch.cat([x, torch.zeros(1)]))",
    "a tie": "torch.maximum(x, x[0]) == x[0]",
    "a product with 1": "(x * 1 - x).bool()",
    "what is not written to": "[x[1:].mul_(1.1), torch.isin(x[:1], before)][1]",
    "a sum in place with 0": "torch.isin(x.add_(0), before)",
}


@pytest.mark.parametrize("body", EXACT.values(), ids=EXACT)
def test_what_was_not_rounded_is_not_perturbed(zygote, body):
    """What is only copied, selected or exact stays as it is: ties stay ties."""
    body = f"x = torch.randn(9)\nbefore = x.clone()\nstudent.f\nreturn {body}"
    assert seen(zygote, body, perturbed=5) == seen(zygote, body, perturbed=0)


ROUNDED = {
    "a function": "x.exp()",
    "float64": "x.double().exp()",
    "a write in place": "[x.mul_(1.1), x][1]",
    "a write to a part": "[x[1::2].mul_(1.1), x][1]",
    "a gradient": "torch.autograd.grad(x.requires_grad_().log().sum(), x)[0]",
    "several at once": "torch.cat(torch._foreach_mul([x, x[2:]], 1.1))",
    "a tensor with gaps": "x.reshape(25, 2).T[:, ::2] * 1.1",
    "a vmap": "torch.func.vmap(torch.func.grad(lambda row: (row * row * 1.1).sum()))(x.reshape(25, 2))",
    "inference mode": "torch.inference_mode()(lambda: x * 1.1)()",
}


@pytest.mark.parametrize("body", ROUNDED.values(), ids=ROUNDED)
def test_what_was_rounded_is_perturbed_by_a_few_units(zygote, body):
    """What is not exact by chance moves a few units in the last place, and otherwise with another seed."""
    body = f"x = torch.arange(1.0, 51)\nstudent.f\nreturn {body}"
    still, perturbed, other = (seen(zygote, body, perturbed=number) for number in (0, 1, 2))
    unit = 2.0**-52 if still.dtype == "torch.float64" else 2.0**-23
    sizes = [abs(m - s) / abs(s) / unit for s, m in zip(still.value, perturbed.value, strict=True) if s]
    assert max(sizes) < 12
    assert sum(size >= 1 for size in sizes) > len(sizes) / 3
    assert perturbed.value != other.value


STATE = """
student.f
x = torch.randn(3, 4, requires_grad=True)
y = 3 * x
y.mul_(2.2).add_(x)
part, version = y[1], y._version
with torch.no_grad():
    x.mul_(1.1)
loss = (part * part).sum()
loss.backward()
opt = torch.optim.SGD([x], lr=0.1, momentum=0.9)
opt.step()
return {"x": snap(x), "y": snap(y), "part": snap(part), "versions": (version, x._version), "none": None,
    "nodes": graph(loss=loss)["total"], "freed": graph(loss=loss)["freed"],
    "next": torch.randint(1000, (5,)).tolist()}
"""


def test_inputs_are_not_perturbed(zygote):
    """What a request computes before it first takes a function is what every submission gets."""
    body = "x = torch.rand(9).exp()\nbefore = snap(x)\nreturn [before, student.f(x) * 1.1, torch.rand(9)]"
    (before, after, late), (same, other, drawn) = (seen(zygote, body, number) for number in (0, 1))
    assert (before, late) == (same, drawn)
    assert after.value != other.value


def test_perturbation_changes_numbers_only(zygote):
    """Versions, views, history, memory and what is drawn are the same."""
    still, perturbed = seen(zygote, STATE, 0), seen(zygote, STATE, 3)
    for fact, other in ((still[name], perturbed[name]) for name in ("x", "y", "part")):
        assert fact.value != other.value
        for part in (name for name in type(fact).__slots__ if name not in {"value", "grad"}):
            assert getattr(fact, part) == getattr(other, part), part
    for name in ("versions", "none", "nodes", "freed", "next"):
        assert still[name] == perturbed[name]


def test_a_request_is_not_perturbed_unless_it_is_asked_to_be(zygote):
    assert Request("f", "", 1, 1.0).perturbed == 0
    assert seen(zygote, "torch.rand(5)", 0) == seen(zygote, "torch.rand(5)", 0)
