"""Going back through a graph more than once."""

import gc
import warnings
import weakref

import torch
from errors import OVERWRITTEN, SECOND_BACKWARD, error_of
from torch import Tensor, nn


def mean_and_sum() -> tuple[Tensor, Tensor]:
    """Two losses that have all but their last operation in common, as the text builds them."""
    a = torch.rand(1, 4, requires_grad=True)
    c = a**2 * 2
    return c.mean(), c.sum()


def s1_1() -> None:
    """`backward(retain_variables=...)` is deprecated; the argument is now called `retain_graph`.

    Outdated: it has been removed, so the call raises a `TypeError`.
    """
    loss = torch.ones(1, requires_grad=True).sum()
    error = error_of(lambda: loss.backward(retain_variables=True))
    assert error.startswith("TypeError")
    assert "unexpected keyword" in error


def s1_2() -> None:
    """`self.target = target.detach() * weight` keeps the target of a ContentLoss out of the graph.

    Holds: the result is a leaf that requires no grad. It has its own storage, because the product copies.
    """
    target = torch.ones(2, requires_grad=True) * 2
    kept = target.detach() * 3
    assert kept.is_leaf
    assert not kept.requires_grad
    assert kept.data_ptr() != target.data_ptr()


def s1_3() -> None:
    """The method `ContentLoss.backward()` is how its loss is propagated back.

    Outdated: autograd never calls the `backward` of a module. Keep the losses, add them up, and go back once.
    """
    calls = []

    class ContentLoss(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.loss = nn.functional.mse_loss(x, torch.zeros(2))
            return x

        def backward(self) -> None:
            calls.append("backward")

    x, module = torch.ones(2, requires_grad=True), ContentLoss()
    (module(x).sum() + module.loss).backward()
    assert calls == []
    assert x.grad.tolist() == [2.0, 2.0]


def s1_4() -> None:
    """The default of `retain_graph` is the value of `create_graph`.

    Holds: after a pass with `create_graph=True` a second `backward()` works.
    """
    x = torch.ones(2, requires_grad=True)
    y = (x**3).sum()
    torch.autograd.grad(y, x, create_graph=True)
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert SECOND_BACKWARD in error_of(y.backward)


def s1_5() -> None:
    """With `retain_graph=False` the graph that was used to compute the gradients is freed.

    Incomplete: the saved tensors are freed, the nodes are not.
    """
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    assert y.grad_fn.next_functions[0][0].variable is x
    assert SECOND_BACKWARD in error_of(lambda: y.grad_fn._saved_result)


def s1_6() -> None:
    """Two losses share `a**2 * 2`; after `backward()` of the first, that of the second raises.

    Holds: the end of the error's text has changed over the years, its beginning has not.
    """
    d, e = mean_and_sum()
    d.backward()
    assert SECOND_BACKWARD in error_of(e.backward)


def s1_7() -> None:
    """Go back with `retain_graph=True` from both, then once more from both: only the last call raises.

    Holds: the third call, the first that does not retain, frees what the fourth needs.
    """
    d, e = mean_and_sum()
    d.backward(retain_graph=True)
    e.backward(retain_graph=True)
    d.backward()
    assert SECOND_BACKWARD in error_of(e.backward)


def s1_8() -> None:
    """With `retain_graph=True` you may call `backward()` whenever you like.

    Incomplete: after an `optimizer.step()` the next `backward()` raises, because saved weights have been
    overwritten.
    """
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    y = model(torch.ones(1, 2))
    y[0, 0].backward(retain_graph=True)
    optimizer.step()
    assert OVERWRITTEN in error_of(y[0, 1].backward)


def s1_9() -> None:
    """`loss1.backward(retain_graph=True)`, `loss2.backward()` and one `step()` train on both losses.

    Holds: the gradients 4 and 12 add up to 16, and the step goes by 16.
    """
    w = torch.tensor([2.0], requires_grad=True)
    t = w**2
    t.sum().backward(retain_graph=True)
    (3 * t).sum().backward()
    assert w.grad.item() == 16.0
    torch.optim.SGD([w], lr=0.125).step()
    assert w.item() == 0.0


def s1_10() -> None:
    """For two losses the first `backward()` must use `retain_graph=True`.

    Incomplete: `(loss1 + loss2).backward()` and `torch.autograd.backward([loss1, loss2])` go back once and
    give the same gradient.
    """
    added, listed = (torch.tensor([2.0], requires_grad=True) for _ in range(2))
    t = added**2
    (t.sum() + (3 * t).sum()).backward()
    t = listed**2
    torch.autograd.backward([t.sum(), (3 * t).sum()])
    assert added.grad.item() == listed.grad.item() == 16.0


def s1_11() -> None:
    """Memory is saved because `backward()` frees what it has used.

    Holds: tensors that were saved for the graph only are gone afterwards.
    """

    class Packed:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor
            packed.append(weakref.ref(self))

    packed: list[weakref.ref[Packed]] = []
    with torch.autograd.graph.saved_tensors_hooks(Packed, lambda one: one.tensor):
        y = torch.ones(3, requires_grad=True).exp().sin().sum()
    assert [one() is None for one in packed] == [False, False]
    y.backward()
    assert [one() is None for one in packed] == [True, True]


def s1_12() -> None:
    """For a network with two heads, adding both losses and going back once is equivalent.

    Holds: the gradients are equal.
    """
    once, twice = (torch.ones(3, requires_grad=True) for _ in range(2))
    t = once.exp()
    (t.sum() + t.pow(2).sum()).backward()
    t = twice.exp()
    t.sum().backward(retain_graph=True)
    t.pow(2).sum().backward()
    assert torch.allclose(once.grad, twice.grad)


def s1_13() -> None:
    """Going back from one branch destroys the gradients of the shared layers; the second finds no graph.

    Wrong: the `.grad` of the first pass stays, and the graph is found. Only the saved tensors are missing.
    """
    w = torch.ones(3, requires_grad=True)
    t = w.exp()
    first, second = t.sum(), (t * 2).sum()
    first.backward()
    before = w.grad.clone()
    assert SECOND_BACKWARD in error_of(second.backward)
    assert torch.equal(w.grad, before)
    assert t.grad_fn.next_functions[0][0].variable is w


def s1_14() -> None:
    """If every `backward()` retains the graph, it is never freed.

    Wrong: it is freed as soon as the last tensor that refers to it goes away.
    """

    class Token:
        pass

    class Holding(torch.autograd.Function):
        @staticmethod
        def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
            ctx.token = Token()
            tokens.append(weakref.ref(ctx.token))
            return x.clone()

        @staticmethod
        def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> Tensor:
            return gradient

    tokens: list[weakref.ref[Token]] = []
    y = Holding.apply(torch.ones(2, requires_grad=True)).exp().sum()
    y.backward(retain_graph=True)
    assert tokens[0]() is not None
    del y
    gc.collect()
    assert tokens[0]() is None


def s1_15() -> None:
    """The last `backward()` should not retain the graph, so that memory is freed.

    Holds: it frees what the calls before it have retained.
    """
    x = torch.ones(2, requires_grad=True)
    square = x**2
    y = square.sum()
    y.backward(retain_graph=True)
    assert square.grad_fn._saved_self is x
    y.backward()
    assert SECOND_BACKWARD in error_of(lambda: square.grad_fn._saved_self)


def s1_16() -> None:
    """Several calls of `backward()` add to `.grad` in place.

    Holds: the memory of `.grad` stays and its version grows. With `create_graph=True` a new tensor is made.
    """
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    first, version = w.grad, w.grad._version
    (w * 2).sum().backward()
    assert w.grad is first
    assert w.grad._version == version + 1
    assert w.grad.tolist() == [4.0, 4.0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using backward\\(\\) with create_graph=True", UserWarning)
        (w**3).sum().backward(create_graph=True)
    assert w.grad is not first
    assert first.tolist() == [4.0, 4.0]


def s1_17() -> None:
    """Accumulating sample by sample makes the same step as the whole batch.

    Incomplete: it does so for losses that are sums. With means the gradient is too large by the number of
    samples, and with BatchNorm it is another one.
    """
    model = nn.Linear(2, 1)
    inputs, targets = torch.randn(5, 2), torch.randn(5, 1)

    def gradient(reduction: str, size: int) -> Tensor:
        model.zero_grad()
        for x, y in zip(inputs.split(size), targets.split(size), strict=True):
            nn.functional.mse_loss(model(x), y, reduction=reduction).backward()
        return model.weight.grad.clone()

    assert torch.allclose(gradient("sum", 1), gradient("sum", 5), atol=1e-5)
    assert torch.allclose(gradient("mean", 1), 5 * gradient("mean", 5), atol=1e-5)
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1))
    assert "more than 1 value per channel" in error_of(lambda: model(inputs[:1]))


def s1_18() -> None:
    """In nearly all cases `retain_graph=True` is not needed.

    Holds: it is a sentence of PyTorch's documentation.
    """
    told = " ".join((Tensor.backward.__doc__ or "").split())
    assert "in nearly all cases setting this option to True is not needed" in told


def s1_19() -> None:
    """Data is wrapped as `Variable(torch.rand(1, 4), requires_grad=True)`.

    Outdated: that still works, and it returns a tensor. `torch.rand(1, 4, requires_grad=True)` does
    the same.
    """
    variable = torch.autograd.Variable(torch.rand(1, 4), requires_grad=True)
    assert type(variable) is torch.Tensor
    assert variable.requires_grad
