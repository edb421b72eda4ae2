"""Leaves, and which tensors get a gradient."""

import warnings

import torch
from errors import error_of
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

NOT_A_LEAF = "not a leaf Tensor is being accessed"


def grad_of(tensor: Tensor) -> Tensor | None:
    """What `.grad` holds, without the warning about tensors that are no leaves."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f".*{NOT_A_LEAF}", UserWarning)
        return tensor.grad


def doubled() -> tuple[Tensor, Tensor]:
    """A leaf that requires grad, and a tensor that was computed from it."""
    x = torch.ones(2, requires_grad=True)
    return x, x * 2


def s3_1() -> None:
    """Every tensor that you create is a leaf.

    Incomplete: it is none where the same expression goes on computing, as in `torch.rand(2,
    requires_grad=True) * 2` or with `.reshape(...)` behind it.
    """
    assert torch.arange(4.0, requires_grad=True).is_leaf
    assert not torch.arange(4.0, requires_grad=True).reshape(2, 2).is_leaf
    assert not (torch.rand(2, requires_grad=True) * 2).is_leaf
    assert not torch.rand(2, requires_grad=True).to(torch.float64).is_leaf


def s3_2() -> None:
    """The weights of a layer are leaves that require grad.

    Holds: this is so for typical layers. A weight under `weight_norm` is computed from two others.
    """
    layer = nn.Linear(2, 2)
    assert layer.weight.is_leaf
    assert layer.weight.requires_grad
    assert not nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)).weight.is_leaf


def s3_3() -> None:
    """By default the gradient of a tensor that is no leaf is not kept.

    Holds: its `.grad` is `None`, and torch warns when you read it.
    """
    _, y = doubled()
    y.sum().backward()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert y.grad is None
    assert [NOT_A_LEAF in str(one.message) for one in caught] == [True]


def s3_4() -> None:
    """The gradient of a tensor that is no leaf is stored in `.grad`, and cleared after `backward()`.

    Wrong: it is never stored. While a hook is given the gradient, `.grad` is `None`.
    """
    _, y = doubled()
    seen = []
    y.register_hook(lambda gradient: seen.append((gradient.tolist(), grad_of(y))))
    y.sum().backward()
    assert seen == [([1.0, 1.0], None)]


def s3_5() -> None:
    """A gradient is computed only for tensors that require grad and are leaves.

    Wrong: it is computed for the tensors between as well, and a hook sees it. It is not stored.
    """
    _, y = doubled()
    seen: list[Tensor] = []
    y.register_hook(seen.append)
    y.sum().backward()
    assert [gradient.tolist() for gradient in seen] == [[1.0, 1.0]]
    assert grad_of(y) is None


def s3_6() -> None:
    """`optimizer.step()` updates the `.data` of the leaves.

    Incomplete: it writes to the leaf itself under `no_grad()`, and the version of the leaf grows. A write to
    `.data` would leave the version as it is.
    """
    w = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w * 2).sum().backward()
    version = w._version
    optimizer.step()
    assert w._version == version + 1
    w.data.add_(1)
    assert w._version == version + 1


def s3_7() -> None:
    """`retain_grad()` or a hook gives you the gradient of a tensor that is no leaf.

    Holds: after `retain_grad()` it is in `.grad`.
    """
    _, y = doubled()
    y.retain_grad()
    seen: list[Tensor] = []
    y.register_hook(seen.append)
    y.sum().backward()
    assert y.retains_grad
    assert y.grad.tolist() == seen[0].tolist() == [1.0, 1.0]


def s3_8() -> None:
    """`retain_grad` is an attribute.

    Wrong: it is a method. Without its parentheses nothing happens, and nothing complains.
    """
    _, y = doubled()
    y.retain_grad  # noqa: B018 - the mistake
    y.sum().backward()
    assert not y.retains_grad
    assert grad_of(y) is None


def s3_9() -> None:
    """`detach()` turns a tensor into a leaf.

    Incomplete: it returns a new leaf that requires no grad, and leaves the tensor as it was. `detach_()` does
    change the tensor.
    """
    _, y = doubled()
    d = y.detach()
    assert (y.is_leaf, d.is_leaf, d.requires_grad) == (False, True, False)
    y.detach_()
    assert y.is_leaf


def s3_10() -> None:
    """Tensors that require no grad are leaves by convention.

    Holds: so is what is computed from them.
    """
    assert torch.ones(2).is_leaf
    assert (torch.ones(2) * 3).is_leaf


def s3_11() -> None:
    """A tensor that you create with `requires_grad=True` is a leaf, and its `grad_fn` is `None`.

    Holds: no recorded operation produced it.
    """
    t = torch.ones(2, requires_grad=True)
    assert t.is_leaf
    assert t.grad_fn is None


def s3_12() -> None:
    """A tensor that comes out of a cast or a copy to another device is not a leaf.

    Incomplete: where there is nothing to cast, you get the same tensor back, and that is still a leaf.
    """
    a = torch.ones(2, requires_grad=True)
    assert not a.to(torch.float64).is_leaf
    assert a.to(torch.float32) is a
    assert a.is_leaf


def s3_13() -> None:
    """`b = a + 1` is a leaf if `a` requires no grad.

    Holds: nothing was recorded, so `b` has no `grad_fn`.
    """
    b = torch.ones(1) + 1
    assert b.is_leaf
    assert b.grad_fn is None


def s3_14() -> None:
    """Even a trivial operation turns a leaf into a tensor that is none.

    Incomplete: the result is no leaf. The tensor it was computed from stays one.
    """
    a = torch.arange(4.0, requires_grad=True)
    b = a.reshape(2, 2)
    assert (a.is_leaf, b.is_leaf) == (True, False)
    assert b.data_ptr() == a.data_ptr()


def s3_15() -> None:
    """For x = 2, y = x**2, z = y + 1 only x has a gradient, 4, and is a leaf; only y has a `grad_fn`.

    Holds: `y.grad` is `None`, and its `grad_fn` is a `PowBackward0`.
    """
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    z = y + 1
    z.backward()
    assert (x.grad.item(), x.is_leaf, x.grad_fn) == (4.0, True, None)
    assert (grad_of(y), y.is_leaf, type(y.grad_fn).__name__) == (None, False, "PowBackward0")


def s3_16() -> None:
    """Leaves have a `.grad`, and other tensors have `None` there.

    Incomplete: a leaf that the loss does not depend on has `None`, and after `retain_grad()` a tensor that is
    no leaf has its gradient.
    """
    used, unused = (torch.ones(1, requires_grad=True) for _ in range(2))
    y = used * 2
    y.retain_grad()
    y.sum().backward()
    assert unused.grad is None
    assert y.grad.tolist() == [1.0]


def s3_17() -> None:
    """Only tensors that are no leaves have a `grad_fn`.

    Holds: a leaf is a tensor without a `grad_fn`.
    """
    x, y = doubled()
    for tensor in (x, y, x.detach(), torch.ones(2)):
        assert (tensor.grad_fn is None) == tensor.is_leaf


def s3_18() -> None:
    """With `c = a + b`, `e = c * d`, `o = e.sum()` only a, b and d have a gradient after `o.backward()`.

    Holds: the others are no leaves. For a = [1, 2], b = [3, 4], d = [2] it is 2, 2 and 10.
    """
    a, b, d = (torch.Tensor(values).requires_grad_() for values in ([1, 2], [3, 4], [2]))
    c = a + b
    e = c * d
    o = e.sum()
    o.backward()
    assert [a.grad.tolist(), b.grad.tolist(), d.grad.tolist()] == [[2.0, 2.0], [2.0, 2.0], [10.0]]
    assert [grad_of(tensor) for tensor in (c, e, o)] == [None, None, None]


def s3_19() -> None:
    """To get the other gradients you must use a hook.

    Incomplete: `retain_grad()` and `torch.autograd.grad(o, c)` give them as well.
    """
    a = torch.ones(2, requires_grad=True)
    c = a * 2
    o = (c * c).sum()
    (gradient,) = torch.autograd.grad(o, c, retain_graph=True)
    assert gradient.tolist() == [4.0, 4.0]
    c.retain_grad()
    o.backward()
    assert c.grad.tolist() == [4.0, 4.0]


def reshaped() -> tuple[Tensor, Tensor, Tensor]:
    """Of a vector that is reshaped as it is created: the leaf, the column, and its square of shape (1, 1)."""
    leaf = torch.arange(10.0, requires_grad=True)
    column = leaf.reshape(10, 1)
    return leaf, column, column.T @ column


def s3_20() -> None:
    """A reshaped tensor is no leaf, `retain_grad()` keeps its gradient, and a (1, 1) result can go back.

    Holds: `backward()` needs a single element, whatever the shape.
    """
    _, column, y = reshaped()
    assert y.shape == (1, 1)
    assert not column.is_leaf
    column.retain_grad()
    vector = column * y.detach()
    y.backward()
    assert torch.equal(column.grad, 2 * column.detach())
    assert "grad can be implicitly created only for scalar outputs" in error_of(vector.backward)


def s3_21() -> None:
    """The leaf behind a reshaped tensor gets a gradient, too.

    Holds: where the text creates it, no name refers to it, so nobody can read that gradient.
    """
    leaf, column, y = reshaped()
    y.backward()
    assert leaf.grad.tolist() == [2.0 * value for value in range(10)]
    assert grad_of(column) is None


def s3_22() -> None:
    """`retain_grad()` has to be called before `backward()`.

    Holds: called afterwards it leaves `.grad` at `None`, without an error or a warning.
    """
    _, y = doubled()
    y.sum().backward()
    y.retain_grad()
    assert y.grad is None  # a warning would be an error here


def s3_23() -> None:
    """Gradients between are not kept, because that saves memory.

    Holds: the memory of such a gradient is free again after `backward()`, unless a hook has kept it.
    """
    kept: list[Tensor] = []
    passed: list[StorageWeakRef] = []
    for hook in (lambda gradient: None, kept.append):
        _, y = doubled()
        y.register_hook(lambda gradient: passed.append(StorageWeakRef(gradient.untyped_storage())))
        y.register_hook(hook)
        (y**2).sum().backward()
    assert [memory.expired() for memory in passed] == [True, False]


def s3_24() -> None:
    """`torch.Tensor([1, 2]).requires_grad_()` is a leaf.

    Holds: it holds floats. `torch.tensor([1, 2])` holds integers, which cannot require grad; complex numbers
    can.
    """
    t = torch.Tensor([1, 2]).requires_grad_()
    assert t.is_leaf
    assert t.requires_grad
    assert "floating point" in error_of(torch.tensor([1, 2]).requires_grad_)


def s3_25() -> None:
    """Not every tensor that requires grad gets a `.grad`; it must be a leaf.

    Holds: and the loss must depend on it.
    """
    x, y = doubled()
    y.sum().backward()
    assert y.requires_grad
    assert x.grad.tolist() == [2.0, 2.0]
    assert grad_of(y) is None
