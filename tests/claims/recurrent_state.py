"""Carrying the state of a recurrent network from minibatch to minibatch."""

from collections.abc import Callable, Iterator

import torch
from errors import OVERWRITTEN, SECOND_BACKWARD, error_of
from torch import Tensor, nn

STEPS = 4


def graph_size(tensor: Tensor) -> int:
    """The number of autograd nodes that can be reached from a tensor."""
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [earlier for earlier, _ in node.next_functions]
    return len(seen)


def train(
    cut: Callable[[Tensor], Tensor], *, retain: bool = False, learn: bool = False
) -> Iterator[tuple[Tensor, int]]:
    """Three minibatches; of each the state it starts from, and how many nodes its loss has behind it."""
    cell, state = nn.RNNCell(2, 3), torch.zeros(1, 3)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    for _ in range(3):
        start = state = cut(state)
        for _ in range(STEPS):
            state = cell(torch.ones(1, 2), state)
        loss = state.pow(2).sum()
        optimizer.zero_grad()
        loss.backward(retain_graph=retain)
        if learn:
            optimizer.step()
        yield start, graph_size(loss)


def as_it_is(state: Tensor) -> Tensor:
    """No cut."""
    return state


def s0_1() -> None:
    """`backward()` destroys the graph, so the next minibatch is independent and `detach()` is superfluous.

    Wrong: `backward()` frees the saved tensors. The nodes stay for as long as a tensor refers to them, so the
    next `backward()` walks into them and raises.
    """
    assert SECOND_BACKWARD in error_of(lambda: list(train(as_it_is)))


def s0_2() -> None:
    """Without `detach()`, `backward()` runs through all earlier minibatches and costs time and memory.

    Incomplete: by default an error comes first. With `retain_graph=True` the graph does grow with every
    minibatch.
    """
    assert SECOND_BACKWARD in error_of(lambda: list(train(as_it_is)))
    first, second, third = (nodes for _, nodes in train(as_it_is, retain=True))
    assert third - second == second - first > 0


def s0_3() -> None:
    """Only the first state of all is a leaf; a state that is carried over has a `grad_fn`.

    Holds: this is so while the parameters require grad and gradients are recorded.
    """
    starts = [start for start, _ in train(as_it_is, retain=True)]
    assert [start.is_leaf for start in starts] == [True, False, False]
    assert [start.grad_fn is None for start in starts] == [True, False, False]
    with torch.no_grad():
        assert nn.RNNCell(2, 3)(torch.ones(1, 2)).is_leaf


def s0_4() -> None:
    """A leaf is a node of a tree that has no children.

    Incomplete: a leaf is a tensor whose `grad_fn` is `None`. So the result of a computation is a leaf, too,
    where nothing required grad.
    """
    weight, data = torch.ones(2, requires_grad=True), torch.ones(2)
    for tensor, leaf in ((weight, True), (weight * 2, False), (data, True), (data * 2, True)):
        assert tensor.is_leaf is leaf
        assert (tensor.grad_fn is None) is leaf


def s0_5() -> None:
    """It is nonsense that a detached state is a leaf and has nothing to do with the graph before it.

    Wrong: it is exactly right about the state after `detach()`. Every minibatch has a graph of the same size.
    """
    rows = list(train(Tensor.detach))
    assert all(start.is_leaf for start, _ in rows)
    assert len({nodes for _, nodes in rows}) == 1


def s0_6() -> None:
    """`backward()` goes on until it meets a leaf.

    Holds: it also ends where an input requires no grad, such as a detached tensor.
    """
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    z = y.detach() * 3 + y
    (detached, _), (attached, _) = z.grad_fn.next_functions
    assert detached is None
    assert attached is y.grad_fn
    assert attached.next_functions[0][0].variable is x


def s0_7() -> None:
    """After `backward()` the graph is gone, and the values of its tensors remain.

    Incomplete: the nodes remain as well; only saved tensors are freed. A graph that saved none can be run
    twice.
    """
    x = torch.ones(2, requires_grad=True)
    y = x**2
    node = y.grad_fn
    y.sum().backward()
    assert y.grad_fn is node
    assert y.tolist() == [1.0, 1.0]
    assert SECOND_BACKWARD in error_of(lambda: node._saved_self)
    u = torch.ones(2, requires_grad=True)
    v = (u + 1).sum()
    v.backward()
    v.backward()
    assert u.grad.tolist() == [2.0, 2.0]


def s0_8() -> None:
    """`detach()` has nothing to do with what a gradient costs; it is there to avoid the error.

    Incomplete: it also bounds the graph, and it keeps out gradients of weights that have changed since.
    """
    *_, (_, detached) = train(Tensor.detach)
    *_, (_, retained) = train(as_it_is, retain=True)
    assert detached < retained
    assert OVERWRITTEN in error_of(lambda: list(train(as_it_is, retain=True, learn=True)))


def s0_9() -> None:
    """Leave out the `detach()`, and the second `backward()` raises.

    Holds: the same is true of `nn.RNN` and `nn.LSTM`.
    """
    batches = train(as_it_is)
    assert not error_of(lambda: next(batches))
    assert SECOND_BACKWARD in error_of(lambda: next(batches))
    for network in (nn.RNN(2, 3), nn.LSTM(2, 3)):
        output, state = network(torch.ones(4, 1, 2))
        output.sum().backward()
        later, _ = network(torch.ones(4, 1, 2), state)
        assert SECOND_BACKWARD in error_of(later.sum().backward)


def s0_10() -> None:
    """With `detach()` every minibatch starts from a leaf, and nothing raises.

    Holds: the result has to be used; the line `h.detach()` alone changes nothing.
    """
    assert [start.is_leaf for start, _ in train(Tensor.detach)] == [True] * 3
    assert SECOND_BACKWARD in error_of(lambda: list(train(lambda state: (state.detach(), state)[1])))


def s0_11() -> None:
    """The first state of a minibatch is the last one of the minibatch before: its value is carried over.

    Holds: the detached state has the same memory and requires no grad; the state before it stays attached.
    """
    state = nn.RNNCell(2, 3)(torch.ones(1, 2))
    carried = state.detach()
    assert carried.data_ptr() == state.data_ptr()
    assert (carried.requires_grad, state.requires_grad) == (False, True)


def s0_12() -> None:
    """The textbook's `for s in state: s.detach_()` works on recurrent states.

    Holds: but it takes the history from everybody who holds the state, so a loss of it that is still to go
    back raises. A view cannot be detached in place.
    """
    _, state = nn.LSTM(2, 2)(torch.ones(3, 1, 2))
    pending = state[0].pow(2).sum()
    for part in state:
        part.detach_()
    assert all(part.is_leaf for part in state)
    assert "detached" in error_of(pending.backward)
    view = (torch.ones(3, requires_grad=True) * 1)[1:]
    assert "Can't detach views in-place" in error_of(view.detach_)


def s0_13() -> None:
    """The parameters need to be detached before each iteration.

    Wrong: the state is detached. What is computed from detached parameters teaches them nothing.
    """
    cell = nn.RNNCell(2, 3)
    assert not torch.tanh(torch.ones(1, 3) @ cell.weight_hh.detach()).requires_grad
    cell(torch.ones(1, 2), cell(torch.ones(1, 2)).detach()).sum().backward()
    assert cell.weight_hh.grad is not None


def s0_14() -> None:
    """`retain_graph=True` alone cures the error of the second minibatch.

    Incomplete: with minibatches of one step two pass and the third raises, because `optimizer.step()` has
    overwritten a weight that the first graph saved.
    """
    cell, state, passed = nn.RNNCell(2, 3), torch.zeros(1, 3), 0
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    error = ""
    while not error and passed < 5:
        state = cell(torch.ones(1, 2), state)
        optimizer.zero_grad()
        loss = state.sum()
        error = error_of(lambda loss=loss: loss.backward(retain_graph=True))
        optimizer.step()
        passed += not error
    assert OVERWRITTEN in error
    assert passed == 2
