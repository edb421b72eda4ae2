"""Half-truths about modes, hooks and Functions.

Earlier versions of the notebooks told some of them.
"""

import threading

import torch
from errors import OVERWRITTEN, error_of
from torch import Tensor, nn
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop


def s5_1() -> None:
    """A non-leaf cannot be made a leaf.

    Incomplete: `requires_grad_()` does not do it, but `detach_()` cuts the tensor off in place. After that it
    is a leaf that does not require grad.
    """
    computed = torch.ones(2, requires_grad=True) * 2
    assert not computed.requires_grad_().is_leaf
    computed.detach_()
    assert computed.is_leaf
    assert not computed.requires_grad


def s5_2() -> None:
    """Only floating point tensors can require grad.

    Incomplete: complex tensors can, too, though the error message does not say so. Integers and booleans
    cannot.
    """
    z = torch.tensor([1 + 2j], requires_grad=True)
    z.abs().square().sum().backward()
    assert z.grad.tolist() == [2 + 4j]
    for values in ([1, 2], [True]):
        assert "only Tensors of floating point dtype" in error_of(torch.tensor(values).requires_grad_)


def s5_3() -> None:
    """`torch.autograd.grad` changes no `.grad`.

    Incomplete: it leaves the `.grad` of leaves alone. A non-leaf on its way gets its `.grad` filled if
    `retain_grad()` was called on it.
    """
    a = torch.tensor(2.0, requires_grad=True)
    c = a * 3
    c.retain_grad()
    (gradient,) = torch.autograd.grad(c**2, a)
    assert (gradient.item(), a.grad, c.grad.item()) == (36.0, None, 12.0)


def s5_4() -> None:
    """The vector that is passed to `backward()` or `torch.autograd.grad` is a constant.

    Incomplete: no gradient flows into it. But with `create_graph=True` the gradient that comes back is a
    function of it.
    """
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([1.0, 10.0], requires_grad=True)
    (p * p).backward(v)
    assert v.grad is None
    (gradient,) = torch.autograd.grad(p * p, p, v, create_graph=True)
    assert torch.autograd.grad(gradient.sum(), v)[0].tolist() == [2.0, 4.0]


def s5_5() -> None:
    """A forward hook gets the very tensor that the next layer computes with.

    Incomplete: a later forward hook may return another tensor, and with a full backward hook on the module
    its caller gets a view of what the hook saw.
    """
    seen: list[Tensor] = []
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, args, output: seen.append(output))
    assert layer(torch.ones(1, 2)) is seen[-1]
    handle = layer.register_full_backward_hook(lambda module, before, after: None)
    result = layer(torch.ones(1, 2))
    assert result is not seen[-1]
    assert result.data_ptr() == seen[-1].data_ptr()
    handle.remove()
    layer.register_forward_hook(lambda module, args, output: 2 * output)
    assert not torch.equal(layer(torch.ones(1, 2)), seen[-1])


def s5_6() -> None:
    """A tensor that is overwritten in place gets the gradient with respect to its new value.

    Incomplete: its `.grad` does, after `retain_grad()`. A hook that was registered before the write gets the
    gradient with respect to the old value.
    """
    passed: list[list[float]] = []
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    h = x * 2
    h.retain_grad()
    h.register_hook(lambda gradient: passed.append(gradient.tolist()))
    h.relu_()
    (h * torch.tensor([3.0, 5.0])).sum().backward()
    assert h.grad.tolist() == [3.0, 5.0]
    assert passed == [[3.0, 0.0]]


def moves_with_zeros(rule: type[torch.optim.Optimizer], **options: float) -> bool:
    """Whether the second step of an optimizer moves a parameter whose `.grad` is 0."""
    w = torch.ones(1, requires_grad=True)
    optimizer = rule([w], lr=0.1, **options)  # type: ignore[call-arg]
    w.grad = torch.ones(1)
    optimizer.step()
    before = w.item()
    w.grad = torch.zeros(1)
    optimizer.step()
    return w.item() != before


def s5_7() -> None:
    """Plain SGD alone treats a `.grad` of zeros as it treats `None`.

    Incomplete: momentum or weight decay move the parameter, so Adam does. RMSprop and Adagrad without them do
    not, but their state changes.
    """
    optim = torch.optim
    assert moves_with_zeros(optim.Adam)
    assert moves_with_zeros(optim.SGD, momentum=0.9)
    assert moves_with_zeros(optim.SGD, weight_decay=0.1)
    assert not any(moves_with_zeros(rule) for rule in (optim.SGD, optim.RMSprop, optim.Adagrad))


def s5_8() -> None:
    """A matrix product `x @ w` saves `x` and `w`.

    Incomplete: it saves `x` if `w` requires grad, and `w` if `x` requires grad.
    """
    data, weight = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    node = (data @ weight).grad_fn
    assert node._saved_self is data
    assert node._saved_mat2 is None


def s5_9() -> None:
    """A write through a view changes every other view of its base.

    Incomplete: only a view that shows the same entries changes its values. But all views have one version
    counter, so `backward()` also raises if another part was overwritten than the one that was saved.
    """
    base = torch.ones(4, requires_grad=True) * 1
    left, right = base[:2], base[2:]
    loss = right.square().sum()
    left.add_(1)
    assert right.tolist() == [1.0, 1.0]
    assert left._version == right._version == base._version == 1
    assert OVERWRITTEN in error_of(loss.backward)


def s5_10() -> None:
    """While gradients are recorded, a view that was made under `no_grad()` must not be written to.

    Incomplete: the write raises if the base or the new values require grad. If neither does, it is allowed.
    """
    refused = "A view was created in no_grad mode"
    plain, computed = torch.ones(4), torch.ones(4, requires_grad=True) * 1
    with torch.no_grad():
        of_plain, of_computed = plain[:2], computed[:2]
    of_plain.mul_(3)
    assert plain.tolist() == [3.0, 3.0, 1.0, 1.0]
    assert refused in error_of(lambda: of_computed.mul_(3))
    assert refused in error_of(lambda: of_plain.mul_(computed[:2]))


def s5_11() -> None:
    """Every tensor that is made in `inference_mode()` is an inference tensor.

    Incomplete: a tensor is one if its memory was allocated there. A view of a normal tensor is a normal
    tensor, and so is a normal tensor that an operation returns unchanged.
    """
    ordinary = torch.ones(4)
    with torch.inference_mode():
        allocated = [ordinary * 1, ordinary.clone(), torch.ones(2)]
        views = [ordinary[:2], ordinary.view(2, 2), ordinary.detach(), ordinary.expand(2, 4)]
        same = [ordinary.float(), ordinary.contiguous(), nn.Identity()(ordinary), ordinary.add_(1)]
    assert all(tensor.is_inference() for tensor in allocated)
    assert not any(tensor.is_inference() for tensor in views + same)
    assert all(tensor is ordinary for tensor in same)
    assert allocated[0][:2].is_inference()
    assert not allocated[0].clone().is_inference()


def s5_12() -> None:
    """An inference tensor cannot be used in a computation that autograd records.

    Incomplete: autograd only refuses to save it. An operation that saves nothing of it is recorded.
    """
    w = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        marked = torch.ones(2) * 2
    assert (marked + w).requires_grad
    assert "Inference tensors cannot be saved for backward" in error_of(lambda: marked * w)


def s5_13() -> None:
    """`torch.set_grad_enabled(False)` holds for the rest of the program.

    Incomplete: it holds for the thread. A thread that is started later records gradients.
    """
    elsewhere: list[bool] = []
    torch.set_grad_enabled(False)
    try:
        other = threading.Thread(target=lambda: elsewhere.append(torch.is_grad_enabled()))
        other.start()
        other.join()
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
    assert elsewhere == [True]


def s5_14() -> None:
    """A checkpoint runs all of its block twice.

    Incomplete: with `use_reentrant=False` the second run ends as soon as backward has what it needs, unless
    `set_checkpoint_early_stop(False)` is in force. A reentrant checkpoint does run all of it twice.
    """
    runs: list[str] = []

    def block(x: Tensor) -> Tensor:
        runs.append("first half")
        h = torch.tanh(x)
        runs.append("second half")
        return h + 1

    def second_halves(*, reentrant: bool, early: bool) -> int:
        runs.clear()
        x = torch.ones(2, requires_grad=True)
        with set_checkpoint_early_stop(early):
            checkpoint(block, x, use_reentrant=reentrant).sum().backward()
        assert runs.count("first half") == 2
        return runs.count("second half")

    assert second_halves(reentrant=False, early=True) == 1
    assert second_halves(reentrant=False, early=False) == 2
    assert second_halves(reentrant=True, early=True) == 2


def s5_15() -> None:
    """A Variable is what a tensor was called before torch 0.4.

    Wrong: it was a wrapper around a tensor, and autograd recorded operations on Variables only. Now
    `Variable(t)` returns a tensor, and every tensor counts as a Variable.
    """
    made = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert type(made) is Tensor
    assert made.requires_grad
    assert isinstance(torch.ones(2), torch.autograd.Variable)


class _Times10(Function):
    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        return 10 * gradient


def s5_16() -> None:
    """A Function sits on an edge of the graph.

    Wrong: it is a node. Its `backward` gets the gradient of its own result, and edges lead from it to the
    nodes of its inputs. `apply()` adds the node only if gradients are recorded and an input requires grad.
    """
    x = torch.ones(1, requires_grad=True)
    h = x * 1
    node = _Times10.apply(h).grad_fn
    assert isinstance(node, torch.autograd.graph.Node)
    assert [one for one, _ in node.next_functions] == [h.grad_fn]
    (h + _Times10.apply(h)).backward()
    assert x.grad.item() == 11.0
    assert _Times10.apply(torch.ones(1)).grad_fn is None
    with torch.no_grad():
        assert _Times10.apply(h).grad_fn is None
