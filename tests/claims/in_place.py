"""Writing in place: what is allowed, what is noticed, and what the gradient is then."""

import contextlib
import inspect
from collections.abc import Callable

import torch
from errors import LEAF_WRITTEN, OVERWRITTEN, error_of
from torch import Tensor, nn

START = [10.0, 5.0, 2.0, 3.0]


def leaf() -> Tensor:
    """The weight that the text writes to."""
    return torch.tensor(START, requires_grad=True)


def as_in_the_text(*, first: bool) -> tuple[Tensor, Tensor, Tensor]:
    """w1, w2 and f = d @ w2, with d = x @ w1 overwritten by 1 before that product (`first`) or behind it."""
    x = torch.tensor([[1.0, 2.0]])
    w1, w2 = torch.tensor([[2.0], [1.0]], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    d = x @ w1
    if first:
        d[:] = 1
    f = d @ w2
    if not first:
        d[:] = 1
    return w1, w2, f


def s4_1() -> None:
    """`is_leaf` only means something where `requires_grad` is true.

    Holds: by convention every tensor that requires no grad is a leaf.
    """
    assert torch.ones(1).is_leaf
    assert (torch.ones(1) * 2).is_leaf


def s4_2() -> None:
    """`b = a + 2` is not a leaf.

    Holds: `a` requires grad, so the addition was recorded.
    """
    a = torch.ones(2, 2, requires_grad=True)
    assert (a.is_leaf, (a + 2).is_leaf) == (True, False)


def s4_3() -> None:
    """In place means that the values change and the address does not, as in `i += 1` and `i[10] = 0`.

    Holds: `i = i + 1` makes a new tensor.
    """
    before = i = torch.zeros(11)
    address = i.data_ptr()
    i += 1
    i[10] = 0
    assert i is before
    assert i.data_ptr() == address
    i = i + 1
    assert i is not before


def s4_4() -> None:
    """PyTorch notices a write in place by the number `tensor._version`.

    Holds: views and `detach()` share the counter, `.data` does not.
    """
    a = torch.zeros(2)
    a.add_(1)
    assert a._version == 1
    a[:1].add_(1)
    a.detach().add_(1)
    assert a._version == 3
    a.data.add_(1)
    assert a._version == 3


def s4_5() -> None:
    """After `(b * b).mean()` the write `b[0] = 1000` takes the version from 0 to 1; `backward()` raises.

    Holds: the error names the operation and both versions.
    """
    b = torch.tensor([1.0, 3.0], requires_grad=True) + 2
    loss = (b * b).mean()
    assert b._version == 0
    b[0] = 1000.0
    assert b._version == 1
    error = error_of(loss.backward)
    assert OVERWRITTEN in error
    assert "is at version 1; expected version 0" in error


def s4_6() -> None:
    """The version begins at 0, and every operation in place adds exactly 1.

    Incomplete: `a[0] += 1` adds 2, the weight of a fresh `nn.Linear` stands at 1, and writes through `.data`
    or NumPy add nothing.
    """
    a, through_data, through_numpy = (torch.zeros(3) for _ in range(3))
    a[0] += 1
    through_data.data.add_(1)
    through_numpy.numpy()[0] = 1
    assert (a._version, nn.Linear(2, 2).weight._version) == (2, 1)
    assert (through_data._version, through_numpy._version) == (0, 0)


def s4_7() -> None:
    """Where `backward()` does not need the value, as for `y = x + 1`, nothing is compared or raised.

    Holds: an addition saves neither of its inputs.
    """
    a = torch.ones(2, requires_grad=True)
    b = a + 2
    loss = (b + 1).sum()
    b.detach().zero_()
    loss.backward()
    assert a.grad.tolist() == [1.0, 1.0]


def s4_8() -> None:
    """A leaf that requires grad may not be written to, not even before it is used.

    Holds: this is so while gradients are recorded, for a write to the leaf itself.
    """
    assert LEAF_WRITTEN in error_of(lambda: leaf().mul_(2))
    with torch.no_grad():
        assert not error_of(lambda: leaf().mul_(2))


def s4_9() -> None:
    """The error then is "leaf variable has been moved into the graph interior".

    Outdated: since torch 1.8 the write is refused with another text. You meet this one only where a leaf
    got a history while it required no grad.
    """

    def moved() -> None:
        a = leaf()
        loss = (a * 2).sum()
        a.requires_grad_(False)
        a[0:1] = torch.ones(1, requires_grad=True) * 1
        loss.backward()

    assert "moved into the graph interior" not in error_of(lambda: leaf().__setitem__(slice(None), 0))
    assert "moved into the graph interior" in error_of(moved)


def s4_10() -> None:
    """On a leaf `a[:] = 0` succeeds and gives it a `grad_fn`; only `backward()` raises.

    Outdated: the assignment itself raises, for `a[:] = 0` as for `a[0] = 0`, and the values stay.
    """
    for place in (slice(None), 0):
        a = leaf()
        assert LEAF_WRITTEN in error_of(lambda a=a, place=place: a.__setitem__(place, 0))
        assert a.is_leaf
        assert a.tolist() == START


def s4_11() -> None:
    """On a leaf `a.add_(10.)` and `a += 10.` raise at once.

    Holds: the text says "is being used in an in-place operation"; before torch 1.5 it said "has been used".
    """
    for write in (Tensor.add_, Tensor.__iadd__):
        error = error_of(lambda write=write: write(leaf(), 10.0))
        assert f"a {LEAF_WRITTEN} is being used in an in-place operation" in error


def filled(write: Callable[[Tensor], object]) -> int:
    """Fill the leaf with 10, check that it is the same leaf, and that its gradient is right; its version."""
    a = leaf()
    address = a.data_ptr()
    write(a)
    version = a._version
    assert (a.is_leaf, a.data_ptr(), a.tolist()) == (True, address, [10.0] * 4)
    (a * a).mean().backward()
    assert a.grad.tolist() == [5.0] * 4
    return version


def s4_12() -> None:
    """`a.data.fill_(10.)` leaves `a` the same leaf, and the gradient of `mean(a * a)` is 5.

    Holds: autograd does not see the write; the version stays 0.
    """
    assert filled(lambda a: a.data.fill_(10.0)) == 0


def s4_13() -> None:
    """`a.detach().fill_(10.)` does the same.

    Holds: autograd sees the write; the version is 1.
    """
    assert filled(lambda a: a.detach().fill_(10.0)) == 1


def s4_14() -> None:
    """`a[:] = 10.` under `torch.no_grad()` does the same.

    Holds: autograd sees the write; the version is 1.
    """

    def write(a: Tensor) -> None:
        with torch.no_grad():
            a[:] = 10.0

    assert filled(write) == 1


def s4_15() -> None:
    """The trick is always to write to another tensor that requires no grad and shares the memory.

    Incomplete: under `no_grad()` you write to the leaf itself. `w.data = t` writes nothing: `w` gets the
    memory of `t`.
    """
    a = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        a.mul_(3)
    assert a.tolist() == [3.0, 3.0]
    w, t = torch.ones(2, requires_grad=True), torch.zeros(2)
    w.data = t
    assert w.data_ptr() == t.data_ptr()
    assert (w.is_leaf, w._version) == (True, 0)


def s4_16() -> None:
    """To change the leaf after it was used leads to an error.

    Wrong: through `.data` there is no error, and the gradient of `mean(a * a)` is 5, 5, 5, 5 in place of
    5, 2.5, 1, 1.5. Through `detach()` or under `no_grad()` there is an error.
    """
    a = leaf()
    loss = (a * a).mean()
    a.data.fill_(10.0)
    loss.backward()
    assert a.grad.tolist() == [5.0] * 4
    for context, other in ((contextlib.nullcontext, Tensor.detach), (torch.no_grad, lambda leaf: leaf)):
        b = leaf()
        loss = (b * b).mean()
        with context():
            other(b).fill_(10.0)
        assert OVERWRITTEN in error_of(loss.backward)


def s4_17() -> None:
    """PyTorch's autograd does not support most operations in place.

    Wrong: it records them on tensors that are no leaves, and the gradient is right.
    """
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.add_(1)
    y[0] = 5.0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0]


class SquareByAttribute(torch.autograd.Function):
    """A square that keeps its input as an attribute, where autograd does not watch it."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> Tensor:
        return 2 * ctx.x * gradient


def s4_18() -> None:
    """No error means that the gradient is right.

    Wrong: it is wrong without an error after a write through `.data` or NumPy, after `w.data = ...`, for an
    attribute of `ctx`, and for a write through `detach()` before the value is saved.
    """

    def swap(w: Tensor) -> None:
        w.data = torch.tensor([10.0])

    writes = (
        lambda w: w.data.fill_(10.0),
        lambda w: w.detach().numpy().fill(10.0),
        swap,
    )
    for write in writes:
        w = torch.tensor([2.0], requires_grad=True)
        loss = (w * w).sum()
        write(w)
        loss.backward()
        assert w.grad.item() == 20.0  # the gradient of the loss is 4
    w = torch.tensor([2.0], requires_grad=True)
    loss = SquareByAttribute.apply(w).sum()
    w.detach().fill_(10.0)
    loss.backward()
    assert w.grad.item() == 20.0
    w = torch.tensor([2.0], requires_grad=True)
    y = w * 1
    y.detach().clamp_(max=1.0)
    (y**2).sum().backward()
    assert w.grad.item() == 2.0  # y is 1 whatever w is, so that it should be 0


def s4_19() -> None:
    """There is never a need for operations in place.

    Wrong: every step of an optimizer, the running statistics of BatchNorm, and `nn.init` write in place.
    """
    layer, norm = nn.Linear(2, 2), nn.BatchNorm1d(2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for tensor, write in (
        (layer.weight, optimizer.step),
        (norm.running_mean, lambda: norm(torch.randn(3, 2))),
        (layer.weight, lambda: nn.init.zeros_(layer.weight)),
    ):
        layer(torch.ones(1, 2)).sum().backward()
        address, values = tensor.data_ptr(), tensor.detach().clone()
        write()
        assert tensor.data_ptr() == address
        assert not torch.equal(tensor, values)


def s4_20() -> None:
    """`w.normal_()` raises after `w.requires_grad = True`.

    Holds: `w` is a leaf that requires grad, whatever made it.
    """
    w = torch.FloatTensor(10)
    w.requires_grad = True
    assert LEAF_WRITTEN in error_of(w.normal_)


def s4_21() -> None:
    """`nn.Module._apply` shows that parameters are changed through `.data`.

    Holds: `double()` assigns `param.data = ...`, so every parameter stays the same object.
    """
    assert "param.data = param_applied" in inspect.getsource(nn.Module._apply)
    layer = nn.Linear(2, 2)
    weight, version = layer.weight, layer.weight._version
    layer.double()
    assert layer.weight is weight
    assert (weight.dtype, weight._version) == (torch.float64, version)


def s4_22() -> None:
    """A parameter is re-initialized by `w.data = w.data.normal()`.

    Wrong: that is an `AttributeError`, because a tensor has only `normal_()`, with the underscore.
    """
    assert error_of(lambda: torch.ones(2).data.normal()).startswith("AttributeError")  # noqa: PLW0108
    assert torch.ones(2).data.normal_().shape == (2,)


def s4_23() -> None:
    """After `f = d @ w2` and `d[:] = 1`, `f.backward()` raises.

    Holds: the product has saved `d`, which is at another version now.
    """
    _, _, f = as_in_the_text(first=False)
    assert OVERWRITTEN in error_of(f.backward)


def s4_24() -> None:
    """With `d[:] = 1` before the product there is no problem any more.

    Incomplete: there is no error, but the gradient of `w1` is all zeros, so `w1` cannot learn.
    """
    w1, w2, f = as_in_the_text(first=True)
    f.backward()
    assert w1.grad.tolist() == [[0.0], [0.0]]
    assert w2.grad.tolist() == [1.0]


def s4_25() -> None:
    """Data is created by `torch.FloatTensor(10)`.

    Outdated: this makes ten numbers of uninitialised memory. Use `torch.zeros(10)` or `torch.randn(10)`.
    """
    assert torch.FloatTensor(10).shape == (10,)
    assert torch.FloatTensor([10.0]).tolist() == [10.0]


def s4_26() -> None:
    """Two things forbid a write in place: a leaf that requires grad, and a value that `backward()` needs.

    Incomplete: views of several outputs at once, views made under `no_grad()`, expanded memory and inference
    tensors forbid it, too.
    """
    computed = torch.ones(2, requires_grad=True) * 1
    with torch.no_grad():
        made_in_no_grad = computed[1:]
    with torch.inference_mode():
        inference = torch.ones(2)
    for tensor, told in (
        (computed.unbind(0)[0], "multiple views"),
        (made_in_no_grad, "no_grad mode"),
        (torch.ones(1).expand(3), "single memory location"),
        (inference, "Inplace update to inference tensor"),
    ):
        assert told in error_of(lambda tensor=tensor: tensor.add_(1))


def s4_27() -> None:
    """After a write in place a tensor counts as the result of that write: its `grad_fn` changes.

    Holds: after `y[0] = 0` it is a `CopySlices`, after `y.add_(1)` an `AddBackward0`.
    """
    y = torch.ones(3, requires_grad=True) * 1
    names = [type(y.grad_fn).__name__]
    y[0] = 0
    names.append(type(y.grad_fn).__name__)
    y.add_(1)
    names.append(type(y.grad_fn).__name__)
    assert names == ["MulBackward0", "CopySlices", "AddBackward0"]


def s4_28() -> None:
    """The forward pass keeps no copy of its inputs, so a value that was overwritten is lost.

    Holds: what is saved is the tensor itself.
    """
    y = torch.ones(2, requires_grad=True) * 2
    z = y**2
    assert z.grad_fn._saved_self is y
