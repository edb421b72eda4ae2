# %% [markdown]
# # 3. Truncated backpropagation through time
#
# A recurrent network reads a sequence one step at a time, and keeps what it has read in a *state*. A long sequence is too
# much for one backward pass. So you cut it into pieces, and start each piece from the last state of the piece before. The
# **value** of the state must cross the cut. Its **history** must not: the history of a tensor is the graph that computed
# it.
#
# ```text
#       minibatch 1                 minibatch 2                 minibatch 3
#   h0 ──▶ h1 ──▶ h2 ── value ──▶ h2 ──▶ h3 ──▶ h4 ── value ──▶ h4 ──▶ ...
#    ◀── gradient ──┘    (cut)     ◀── gradient ──┘    (cut)     ◀── ...
# ```
#
# One call of `detach()` makes the cut. In this notebook you will learn
#
# - where the cut belongs, and why `retain_graph=True` does not replace it;
# - how to cut the state of an LSTM, or any tuple or list of states;
# - how to backpropagate every `k` steps through a long sequence;
# - how to train the first state;
# - why a running statistic can hold the graph of every batch.
#
# **Rules for all questions:**
#
# - No side effects. Change only what the task names. The values, `.grad`, flags and hooks of all other tensors and the
#   entries of lists must be the same after the call. Leave no hook and no attribute behind.
# - A module may be of any kind. Some of its parameters may be frozen (`requires_grad=False`), and parts of it may be in
#   eval mode. Leave that as it is. A frozen parameter must not get a gradient.
# - Every loss depends on all parameters that are not frozen.
# - Inputs and targets, such as `xs` and `y`, don't require grad. `B`, `T` and `O` may be 1.
# - All tensors are `float32`, unless the task says otherwise.
# - Full precision: a relative error of at most 1e-12 in float64, 1e-5 in float32.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown]
# ## What a state remembers
#
# A state is an ordinary tensor. Look at it before and after a single step.

# %%
torch.manual_seed(0)
cell, readout = nn.RNNCell(2, 3), nn.Linear(3, 1)

start = torch.zeros(5, 3)
print(start.is_leaf, start.grad_fn)  # True None, because no recorded operation computed it

state = cell(torch.randn(5, 2), start)
print(state.is_leaf)  # False, because the cell's weights require grad, so the step was recorded
print(state.grad_fn)  # <TanhBackward0 ...>, because the last operation was a tanh

# %% tags=["drawn"]
# What the state remembers: the step of the cell, which ends in the four parameters. `start` has no part in it.
xray(state=state, start=start, cell=cell)

# %% [markdown]
# You can draw such pictures yourself, of any tensor you have at hand. Remove the `#`
# below, where the course's package `grader` is installed.

# %%
# from grader import xray
# xray(state=state, start=start, cell=cell)

# %% [markdown] tags=["claim S0.3", "claim S0.4", "claim S3.10"]
# Some texts define a leaf as "a node without children". PyTorch's own definition is simpler
# ([Tensor.is_leaf](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html)): **a tensor is a leaf
# when its `grad_fn` is `None`**, that is, when it has no history. A tensor that is computed from data alone is a leaf,
# too. So in a training loop only the very first state is a leaf. Every state that comes out of the cell has a history.
#
# The next function measures the history: it counts the nodes of the graph behind a tensor. You will see it
# several times.


# %%
def graph_size(tensor):
    """The number of autograd nodes that can be reached from a tensor."""
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [earlier for earlier, _ in node.next_functions]
    return len(seen)


print(graph_size(start))  # 0
print(graph_size(state))  # 10

# %% [markdown] tags=["claim S0.1", "claim S0.9"]
# ## What backward frees, and what it leaves
#
# A widely copied explanation says: "`backward()` destroys the graph, so the next minibatch is independent of
# this one, and `detach()` is superfluous." *Guess first:* how many of the 10 nodes are left after `backward()`?

# %%
readout(state).pow(2).mean().backward()
print(graph_size(state))

second = cell(torch.randn(5, 2), state)  # the next minibatch, starting from the state as it is
loss = readout(second).pow(2).mean()
try:
    loss.backward()
except RuntimeError as error:
    print(str(error).partition(" (")[0])  # Trying to backward through the graph a second time

# %% tags=["drawn"]
# The second minibatch reaches into the first. The nodes of the first are all there; what they had saved is gone.
second = cell(torch.randn(5, 2), state)
xray(second=second, state=state, cell=cell)

# %% [markdown] tags=["claim S0.7", "claim S1.5", "claim S1.13"]
# <details><summary>What you should have seen</summary>
#
# All 10. `backward()` removes no nodes.
#
# </details>
#
# `backward()` frees the **tensors that were saved** in the graph (here the outputs of `tanh`, the inputs of
# the matrix products). The nodes live on as long as something refers to them, and `state` does. The second
# backward walks from the second minibatch into the first, asks a node for its saved tensors, and finds
# nothing.
#
# (A graph that saved nothing, such as that of `x + 1`, can even go back twice. Do not rely on it.)

# %% [markdown]
# ## Why `retain_graph=True` is no cure
#
# The error message itself suggests it, so most people try it first.

# %%
state = torch.zeros(5, 3)
for minibatch in range(1, 5):
    state = cell(torch.randn(5, 2), state)
    loss = readout(state).pow(2).mean()
    loss.backward(retain_graph=True)
    print(minibatch, graph_size(loss))  # 1 16, 2 22, 3 28, 4 34: each walks through all before it

# %% [markdown] tags=["claim S0.2"]
# No error, but every minibatch costs more time and more memory than the one before. Now let the weights
# learn, as they should:

# %%
optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.1)
state = torch.zeros(5, 3)
try:
    for minibatch in range(1, 5):
        state = cell(torch.randn(5, 2), state)
        loss = readout(state).pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        print(f"minibatch {minibatch} is done")
except RuntimeError as error:
    print(f"minibatch {minibatch}:", error)

# %% [markdown] tags=["claim S0.14", "claim S1.8"]
# `optimizer.step()` overwrites the weights in place, and the old graph still needs the old ones. Look at *when*
# it fails: two minibatches of one step each pass, and the third one raises. So try a repair on three minibatches,
# not on two. (Notebook 2 has more about `retain_graph`, and notebook 5 about values that are overwritten.)

# %% [markdown] tags=["claim S0.11", "claim S2.4", "claim S3.9"]
# ## What `detach()` gives you

# %%
state = cell(torch.randn(5, 2), torch.zeros(5, 3))
carried = state.detach()

print(carried.is_leaf, carried.grad_fn)  # True None, because a detached tensor has no history
print(carried.data_ptr() == state.data_ptr())  # True, because the values are shared, not copied
print(state.is_leaf)  # False, because detach() returns a new tensor and leaves the old one as it was

# %% tags=["drawn"]
# `carried` has the values of `state`, and nothing behind it.
xray(state=state, carried=carried, cell=cell)

# %% [markdown] tags=["claim S0.5", "claim S0.8", "claim S0.10", "claim S0.13"]
# Three things that people get wrong here:
#
# - The line `state.detach()` alone changes nothing. Use what it returns.
# - A blog post mocks the sentence "the detached state is a leaf, therefore it has nothing to do with
#   the graph before". The sentence is right, about the state *after* `detach()`.
# - You detach the *state*. The title of an article says that you detach the *parameters*, but a detached
#   parameter does not learn.
#
# And `detach()` does more than silence an error. It bounds the cost of every backward, and it keeps gradients
# of weights that no longer exist out of the update.
# ([Tensor.detach](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html))

# %% [markdown]
# ## q1 · Carry the state, not the graph
#
# `train_stateful` trains a recurrent cell on consecutive minibatches of a long sequence: the last state of
# one is the first state of the next. The code below stops in the second. Repair it.
#
# - The **value** of the last state enters the next minibatch, its history does not: no gradient flows from a
#   minibatch into the one before.
# - **Within** a minibatch the gradient flows through all `T` steps.
# - Every minibatch makes one step of `opt`, with the gradient of its own loss only: what stands in `.grad`
#   before the call enters no step. What stands there afterwards is up to you.
# - Return `(losses, h)`: a list of Python floats, and the last state, with or without history.
#
# <details><summary>Hint 1</summary>
#
# Print `h.is_leaf` and `h.grad_fn` at the start of each minibatch.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# From the second minibatch on, `h` still remembers how it was computed in the minibatch before, and the saved
# tensors of that graph are gone. At which place of the code should only the value of `h` go on?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Detach `h` once in every minibatch, and assign the result. Inside the loop over the time steps you want the
# history.
#
# </details>


# %% tags=["question q1"]
def train_stateful(cell, readout, opt, batches, h):
    """Train on consecutive minibatches and carry the state from each one to the next.

    Returns the losses, one float per minibatch, and the last state, (B, H).
    """
    # BEGIN SOLUTION
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h
    # STUB
    # losses = []
    # for xs, y in batches:
    #     for x in xs:
    #         h = cell(x, h)
    #     loss = F.mse_loss(readout(h), y)
    #     opt.zero_grad()
    #     loss.backward()
    #     opt.step()
    #     losses.append(loss.item())
    # return losses, h
    # END SOLUTION


# %% tags=["check q1"]
def test_every_minibatch_starts_without_a_history(train_stateful):
    """A minibatch starts from the values in which the last one ended, without their history."""
    import torch

    torch.manual_seed(0)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    opt = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.3)
    batches = [(torch.randn(4, 5, 2), torch.randn(5, 1)) for _ in range(4)]
    forward, steps, trained = cell.forward, {}, set()

    def watched(input, hx=None):
        output = forward(input, hx)
        step = str(input.tolist())  # to look at a step again, under no_grad say, makes no new step
        if step not in trained:
            history = None if hx is None or hx.grad_fn is None else type(hx.grad_fn).__name__
            steps[step] = history, None if hx is None else hx.tolist(), output.tolist()
        if output.requires_grad:
            trained.add(step)
        return output

    cell.forward = watched
    stopped = result = None
    try:
        result = train_stateful(cell, readout, opt, batches, torch.zeros(5, 3))
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
    for number, (history, _, _) in enumerate(list(steps.values())[::4], start=1):
        assert history is None, (
            f"the state enters minibatch {number} with the grad_fn {history}: it still carries the graph of "
            f"minibatch {number - 1}"
            + (f", and so training stopped with the error: {stopped}" if stopped else "")
        )
    assert stopped is None, f"training stopped with the error: {stopped}"
    assert len(steps) == 16, f"cell was called for {len(steps)} of the 16 time steps of 4 minibatches"
    _, entering, leaving = zip(*steps.values())
    for number in (2, 3, 4):
        assert entering[4 * number - 4] == leaving[4 * number - 5], (
            f"minibatch {number} starts from other values than minibatch {number - 1} ended with: "
            "the state is lost"
        )
    assert type(result) is tuple and len(result) == 2, "train_stateful should return (losses, h)"
    assert [type(loss) for loss in result[0]] == [float] * 4, (
        "the losses should be four Python floats, one per minibatch"
    )


# %% [markdown] tags=["afterword q1"]
# `detach()` between two minibatches lets the value go on and keeps the history back. Next trap: an LSTM has two states,
# and both of them remember.

# %% [markdown]
# ## States come in several forms
#
# An `nn.RNN` or `nn.GRU` returns its state as a single tensor. An
# [nn.LSTM](https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html) returns a tuple of two, the hidden state
# and the cell state. If you stack cells by hand, you hold a list of states. Before the first minibatch there is often no
# state at all: `None`, which these modules understand as zeros.

# %%
lstm = nn.LSTM(2, 3)
_, lstm_state = lstm(torch.randn(4, 1, 2))

print(type(lstm_state).__name__)  # tuple
print([part.grad_fn is None for part in lstm_state])  # [False, False], because h and c both have a history
try:
    lstm_state.detach()
except AttributeError as error:
    print(error)  # 'tuple' object has no attribute 'detach'

# %% tags=["drawn"]
# Only `h` was detached. The cell state `c` still leads into the graph of the first minibatch.
small = nn.LSTMCell(2, 3)
h, c = small(torch.randn(5, 2))
xray(h=h.detach(), c=c, cell=small)

# %% [markdown]
# If you forget one of the two, the error of question 1 comes back one minibatch later: the cell state `c` leads
# into the same old graph as `h`.

# %% [markdown] tags=["claim S0.12"]
# ## Two short cuts, and what they cost
#
# The textbook form `for s in state: s.detach_()` works on recurrent states. But the underscore means *in
# place*: it makes no new tensor without history, it takes the history away from the tensor that others hold, too.
# (And on a view it raises "Can't detach views in-place".)

# %%
_, (h, c) = lstm(torch.randn(4, 1, 2))
auxiliary_loss = h.pow(2).sum()  # this is to go back later
h.detach_()
try:
    auxiliary_loss.backward()
except RuntimeError as error:
    print(str(error).partition(". ")[0])

# %% [markdown] tags=["claim S2.3", "claim S2.12"]
# The other short cut is `.data`. Like `detach()` it shares the memory of the original. `detach()` also shares
# its *version counter*: autograd compares it to find out whether a saved value was overwritten. `.data` does not
# share it. *Guess first:* the right gradient is 24. What does the last line print?

# %%
w = torch.tensor([3.0], requires_grad=True)
h = w * 2
loss = (h**2).sum()  # the gradient is 8 * w = 24
h.detach().zero_()
try:
    loss.backward()
except RuntimeError as error:
    print(error)  # ... is at version 1; expected version 0 instead. ...

h = w * 2
loss = (h**2).sum()
h.data.zero_()
loss.backward()
print(w.grad)

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `tensor([0.])`: autograd did not see the write. The gradient is wrong, and there is no error.
#
# </details>
#
# An error that stops you is a good thing here. A wrong number that looks like a gradient is not.

# %% [markdown]
# ## q2 · repackage_hidden
#
# Cut a state from its history. A *state* is `None`, a tensor of any shape, `float32` or `float64`, or a plain
# tuple or list of states. The code below can do tensors only.
#
# - Return the same values in the same structure: tuples stay tuples, lists stay lists.
# - Every tensor of the result is a leaf that requires no grad.
# - The original state stays as it was. A loss computed from it still gives its gradient.
# - The caller may reset the result in place, with `result.zero_()`. This must never *silently* falsify a
#   gradient of the original: either it is right, or PyTorch raises its error. (You may share memory
#   where autograd sees what is written to it.)
#
# <details><summary>Hint 1</summary>
#
# "'tuple' object has no attribute 'detach'": what does an LSTM return? And what is in a list of LSTM states?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The definition of a state speaks of states, so the function may call itself. What are its three cases? And
# which way to drop a history leaves the original as it was?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `isinstance(state, torch.Tensor)` tells a tensor from the rest. Build a tuple or a list anew from its
# repackaged parts: `type(state)` makes both of them.
#
# </details>


# %% tags=["question q2"]
def repackage(state):
    """Cut a recurrent state from its history.

    Returns the same structure with the same values; its tensors are leaves which do not require grad.
    """
    # BEGIN SOLUTION
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        return state.detach()
    return type(state)(repackage(part) for part in state)
    # STUB
    # return state.detach()
    # END SOLUTION


# %% tags=["check q2"]
def test_the_state_of_an_lstm(repackage):
    """The state of an LSTM comes back as a tuple of two tensors without a history, and None as None."""
    import torch

    torch.manual_seed(0)
    state = torch.nn.LSTM(2, 3)(torch.randn(4, 1, 2))[1]
    try:
        result = repackage(state)
    except Exception as error:
        raise AssertionError(
            f"repackage((h, c)) stopped with: {error}. The state of an LSTM is a tuple of two tensors"
        ) from None
    assert type(result) is tuple, f"a tuple went in, but a {type(result).__name__} came out"
    assert len(result) == 2, f"two tensors went in, but the result has {len(result)} parts"
    for name, before, after in zip("hc", state, result):
        assert torch.equal(before, after), f"the values of {name} have changed"
        assert after.grad_fn is None, (
            f"{name} still has a history: its grad_fn is {type(after.grad_fn).__name__}"
        )
    try:
        result = repackage(None)
    except Exception as error:
        raise AssertionError(
            f"repackage(None) stopped with: {error}. Before the first minibatch there is no state, only None"
        ) from None
    assert result is None, f"None went in, but a {type(result).__name__} came out"


# %% [markdown] tags=["afterword q2"]
# A state is cut part by part, and the original stays as it was. Next trap: `detach_()` and `.data` give the same
# values, and break a loss that still waits.

# %% [markdown]
# ## How far back does a gradient travel?
#
# So far the data came in pieces. Often there is a single long sequence with a loss at every step, and *you* decide
# where to cut. No gradient passes a cut. *Guess first:* here the loss is taken after step 6, and there is a cut in
# the middle. For which of the six inputs is the gradient 0?

# %%
xs = torch.randn(6, 1, 2, requires_grad=True)
state = torch.zeros(1, 3)
for step in range(6):
    if step == 3:
        state = state.detach()
    state = cell(xs[step], state)
state.sum().backward()

print(xs.grad.norm(dim=(1, 2)))

# %% tags=["drawn"]
# Three steps after a cut: arrows lead from `after` to the inputs `xs`, and none leads to `before`.
before = torch.zeros(1, 3, requires_grad=True) + 1
cut = before.detach()
after = cut
for step in range(3):
    after = (after + xs[step + 3].sum()).tanh()
xray(after=after, cut=cut, before=before, xs=xs)

# %% [markdown] tags=["claim S0.2", "claim S0.6", "claim S0.8"]
# <details><summary>What you should have seen</summary>
#
# The first three are exactly 0, because the way back ends at the cut. The last three are not.
#
# </details>
#
# `backward()` walks until it meets a leaf, or an input that requires no grad, such as a detached state. The network
# should perhaps remember something from the first three steps, but this loss cannot teach it. This is the price of
# truncation. You set it with `k`, the distance between two cuts. In return, the graph is never longer than `k` steps.
#
# A comment in a textbook says that without `detach()` backward would run through all earlier minibatches and
# become too expensive. A blog post answers that cost has nothing to do with it: the only purpose is to avoid
# the error. Each of them is half right. By default the error comes first. If you retain the graph, the cost is what
# the textbook says.

# %% [markdown]
# ## q3 · Truncated BPTT, every k steps
#
# `tbptt` back-propagates a long sequence in chunks of `k` steps. The code below cuts before *every* step.
#
# - The state starts as zeros of shape `(B, cell.hidden_size)`, and its values flow through the whole sequence.
# - Step `t` has the loss `F.mse_loss(readout(h), ys[t])`, where `h` is the state after it. `readout` treats
#   every row for itself, also of several steps at once.
# - Every `k` steps the **sum** of the losses of that chunk goes back, through that chunk only. Steps that are
#   left at the end form a shorter chunk.
# - The gradients of all chunks are added to what stands in `.grad`. Nothing is zeroed or updated.
# - Return the sum of all losses as a Python `float`.
#
# <details><summary>Hint 1</summary>
#
# How far back does the given code send the gradient of step `t`? Where would the cuts have to be for `k = 3`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Collect the losses of a chunk and go back once. When may you cut: before the last loss of the chunk, or after the
# backward of the chunk? What about a chunk that is shorter than `k`?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Add up the loss in every step. At the end of a chunk go back, add the number of the loss to the total, and
# cut. Which of these lines come too early, if they stand before the backward?
#
# </details>


# %% tags=["question q3"]
def tbptt(cell, readout, xs, ys, k):
    """Back-propagate a long sequence in chunks of k steps; the gradients add up in .grad.

    Returns the sum of the losses of all steps, a float.
    """
    # BEGIN SOLUTION
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward()
            total += loss.item()
            h = h.detach()
            loss = 0.0
    return total
    # STUB
    # h = torch.zeros(xs.shape[1], cell.hidden_size)
    # total = 0.0
    # for t in range(len(xs)):
    #     h = cell(xs[t], h.detach())
    #     loss = F.mse_loss(readout(h), ys[t])
    #     loss.backward()
    #     total += loss.item()
    # return total
    # END SOLUTION


# %% tags=["check q3"]
def test_the_cuts_are_k_steps_apart(tbptt):
    """A loss goes back to the last cut and no further, and k = T is full backpropagation."""
    import torch

    torch.manual_seed(0)
    cell, readout, xs = torch.nn.GRUCell(2, 3), torch.nn.Linear(3, 1), torch.randn(7, 4, 2)
    h, ys = torch.zeros(4, 3), []
    with torch.no_grad():
        for x in xs:
            h = cell(x, h)
            ys.append(readout(h))
    forward, steps, reached = cell.forward, [x.tolist() for x in xs], set()

    def watched(input, hx=None):
        output, step = forward(input, hx), steps.index(input.tolist())
        if output.requires_grad:
            output.register_hook(lambda grad: reached.add(step) if grad.abs().max() > 1e-6 else None)
        return output

    cell.forward = watched
    for last, expected in ((1, [0, 1]), (2, [0, 1, 2]), (5, [3, 4, 5]), (6, [6])):
        targets = torch.stack(ys)
        targets[last] += 1  # with these targets all other losses are 0
        reached.clear()
        try:
            tbptt(cell, readout, xs, targets, 3)
        except RuntimeError as error:
            stopped = str(error).split(" (")[0].split(": [")[0]
            raise AssertionError(f"tbptt stopped with the error: {stopped}") from None
        assert sorted(reached) == expected, (
            f"with 7 steps and k = 3 the loss of step {last} (counted from 0) should reach the states after the "
            f"steps {expected}, but it reaches those after {sorted(reached)}"
        )
    torch.manual_seed(1)
    cell, readout = torch.nn.GRUCell(2, 3), torch.nn.Linear(3, 1)
    xs, ys = torch.randn(5, 4, 2), torch.randn(5, 4, 1)
    h, losses = torch.zeros(4, 3), []
    for x, y in zip(xs, ys):
        h = cell(x, h)
        losses.append(torch.nn.functional.mse_loss(readout(h), y))
    whole = sum(losses)
    expected = torch.autograd.grad(whole, cell.weight_hh)[0]
    total = tbptt(cell, readout, xs, ys, 5)
    assert type(total) is float, f"the total loss should be a float, not a {type(total).__name__}"
    assert abs(total - whole.item()) < 1e-4, (
        f"the total loss is {total:.4f}, but the losses add up to {whole.item():.4f}"
    )
    assert cell.weight_hh.grad is not None, (
        "cell.weight_hh.grad is None: nothing was back-propagated into the cell"
    )
    assert torch.allclose(cell.weight_hh.grad, expected, rtol=1e-4, atol=1e-6), (
        "with k = 5 and 5 steps the gradient of cell.weight_hh should be that of full backpropagation "
        "through time, and it is not: is the state cut within the chunk, or is a loss missing?"
    )


# %% [markdown] tags=["afterword q3"]
# Each loss goes back to the last cut, so the cell learns to remember up to `k` steps, and the graph is never longer.
# Next trap: a first state that is a parameter must not be cut at all.

# %% [markdown]
# ## A start that can learn
#
# Zeros are an arbitrary first state. The first state can also be learned, as a parameter `h0` of shape `(1, H)`, a
# row for the whole batch. `expand` gives this row to every sequence of the batch, and autograd records it like every
# operation ([Tensor.expand](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html)):

# %%
h0 = nn.Parameter(torch.zeros(1, 3))
first = h0.expand(5, -1)
print(first.shape, first.is_leaf)  # torch.Size([5, 3]) False, because first was computed from h0

first.sum().backward()
print(h0.grad)  # tensor([[5., 5., 5.]]), because all five rows send their gradient to the one row of h0

# %% [markdown] tags=["claim S3.25"]
# So only the first minibatch may begin with a state that has a history. If you cut this history as well, no error
# tells you:

# %%
h0.grad = None
first = h0.expand(5, -1).detach()
loss = readout(cell(torch.randn(5, 2), first)).sum()
loss.backward()

print(h0.requires_grad)  # True, and yet:
print(h0.grad)  # None, because requires_grad only allows a gradient; the loss must also be connected to h0

# %% tags=["drawn"]
# On the left a start that is connected to `h0`, on the right the same start, detached: no arrow leads to `h0` from there.
xray(connected=h0.expand(5, -1), detached=first, h0=h0)

# %% [markdown]
# An optimizer skips a parameter whose `.grad` is `None`, without a word.

# %% [markdown]
# ## q4 · A learnable initial state
#
# `train_learned_start` works like `train_stateful` of question 1, but the first state is a trainable
# parameter `h0` of shape `(1, H)`, expanded to the batch. With the code below `h0` never moves. Repair it.
#
# - The first minibatch starts from `h0`, connected to it, and so teaches it.
# - Every later minibatch starts from the value of the last state before it, without its history. So `h0` learns
#   from the first minibatch only; `opt` has no momentum and no weight decay for it.
# - As in question 1, every minibatch makes one step of `opt`, with the gradient of its own loss only. `h0`
#   remains the same `nn.Parameter`; only `opt` changes it.
# - Return the last state, with or without history.
#
# <details><summary>Hint 1</summary>
#
# Where is the first `detach()` executed, and what has been computed by then?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The cut belongs *between* two minibatches. What is there to cut before the first one?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The given code cuts at the start of every minibatch, and so before the first. Where in the loop is a place
# that every minibatch reaches, and that lies behind its backward?
#
# </details>


# %% tags=["question q4"]
def train_learned_start(cell, readout, h0, opt, batches):
    """Train on consecutive minibatches, starting from a state that is learned too.

    Returns the last state, (B, H).
    """
    # BEGIN SOLUTION
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h = h.detach()
    return h
    # STUB
    # h = h0.expand(batches[0][1].shape[0], -1)
    # for xs, y in batches:
    #     h = h.detach()
    #     for x in xs:
    #         h = cell(x, h)
    #     opt.zero_grad()
    #     F.mse_loss(readout(h), y).backward()
    #     opt.step()
    # return h
    # END SOLUTION


# %% tags=["check q4"]
def test_the_start_learns(train_learned_start):
    """The first minibatch teaches h0; later ones start from the last state, without its history."""
    import torch

    torch.manual_seed(0)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    h0 = torch.nn.Parameter(torch.randn(1, 3))
    before = h0.tolist()
    opt = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.5)
    try:
        train_learned_start(cell, readout, h0, opt, [(torch.randn(2, 4, 2), torch.randn(4, 1))])
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
        raise AssertionError(f"training stopped with the error: {stopped}") from None
    assert h0.tolist() != before, "h0 has not moved after a minibatch" + (
        ", and h0.grad is None: is the first state connected to h0?" if h0.grad is None else ""
    )
    torch.manual_seed(1)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    h0 = torch.nn.Parameter(torch.randn(1, 3))
    opt = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.5)
    batches = [(torch.randn(2, 4, 2), torch.randn(4, 1)) for _ in range(3)]
    forward, steps, trained = cell.forward, {}, set()

    def watched(input, hx=None):
        output = forward(input, hx)
        step = str(input.tolist())  # to look at a step again, under no_grad say, makes no new step
        if step not in trained:
            attached = hx is not None and hx.grad_fn is not None
            steps[step] = None if hx is None else hx.tolist(), attached, output.tolist()
        if output.requires_grad:
            trained.add(step)
        return output

    cell.forward = watched
    stopped = None
    try:
        train_learned_start(cell, readout, h0, opt, batches)
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
    seen = list(steps.values())
    for number in range(2, len(seen) // 2 + 1):
        (_, _, leaving), (entering, attached, _) = seen[2 * number - 3 : 2 * number - 1]
        assert not attached, f"the state enters minibatch {number} with a history: it was not cut"
        assert entering == leaving, (
            f"minibatch {number} starts from other values than minibatch {number - 1} ended with"
        )
    assert stopped is None, f"training stopped with the error: {stopped}"


# %% [markdown] tags=["afterword q4"]
# Only the first state stays connected to what made it, and so `h0` learns from the first minibatch. Next trap: an
# optimizer skips a parameter whose `.grad` is `None`, and tells you nothing.

# %% [markdown]
# ## Statistics are states too
#
# All this is true without recurrent networks, too. *What survives a training step* and was computed
# from tensors that require grad carries a graph from one step into the next. The most common case is a
# running average:

# %%
layer = nn.Linear(2, 2)
average = torch.zeros(2)
for step in range(3):
    average = 0.9 * average + 0.1 * layer(torch.randn(4, 2)).mean(0)
    print(graph_size(average))  # 7, 13, 19: it remembers every batch it has ever seen

# %% tags=["drawn"]
# The average after three steps: behind it stand all three batches.
xray(average=average, layer=layer)

# %% [markdown]
# A buffer makes no difference: `register_buffer` puts a tensor into the `state_dict`, but it does not keep a
# history away.
#
# So cut everything, and be done with it? The mean of the current batch may have *two* roles: it is a number to be
# stored, and it is a function of the batch that the output depends on. In the second role it has a gradient:

# %%
weights = torch.tensor([2.0, 4.0])

x = torch.tensor([1.0, 3.0], requires_grad=True)
(weights * (x - x.mean())).sum().backward()
print(x.grad)  # tensor([-1., 1.]), because each x also moves the mean

x = torch.tensor([1.0, 3.0], requires_grad=True)
(weights * (x - x.mean().detach())).sum().backward()
print(x.grad)  # tensor([2., 4.]), because here the mean is a constant: no error, another gradient

# %% [markdown]
# `nn.BatchNorm1d` keeps the two roles apart: in training it differentiates through the statistics of the
# batch, and what it stores has no history.

# %%
norm = nn.BatchNorm1d(2)
norm(layer(torch.randn(4, 2)))
print(norm.running_mean.grad_fn)  # None, because what is stored is only a number

# %% [markdown]
# ## q5 · The statistic that remembers too much
#
# `Center` subtracts a running mean. In training its forward computes `new = 0.9 * running + 0.1 * x.mean(0)`,
# stores `new` as `running`, and returns `x - new`. The code below fails in step 2.
#
# - In the output the mean of the batch is differentiable, and the old statistic is a constant.
# - The stored `running` never has a history, and the module keeps no batch and no graph.
# - `running` is a buffer of shape `(n,)` in the `state_dict`, zeros at first. One that was loaded counts in
#   later forwards. After `center.double()` statistic and output are `float64`.
# - After `eval()` it returns `x - running`, differentiable in `x`, and changes nothing. Only the mode decides,
#   also under `no_grad()`.
#
# <details><summary>Hint 1</summary>
#
# After the first forward `self.running` has a `grad_fn`. Whose graph is it, and what walks through it in the second
# step?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The new mean has two uses: it is stored, and it goes into the output. Which of them should be cut?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Give the new mean a name of its own. Store it detached in `self.running`, and compute the output from the one that
# still has its history.
#
# </details>


# %% tags=["question q5"]
class Center(nn.Module):
    """Subtract a running mean, an exponential average of the batch means.

    n: the number of features. The buffer running has the shape (n,).
    forward takes x of shape (B, n) and returns the centred batch, (B, n).
    """

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        # BEGIN SOLUTION
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x.mean(0)
        self.running = new.detach()
        return x - new
        # STUB
        # if self.training:
        #     self.running = 0.9 * self.running + 0.1 * x.mean(0)
        # return x - self.running
        # END SOLUTION


# %% tags=["check q5"]
def test_several_training_steps(Center):
    """Three training steps run, the statistic is the moving average, and eval() leaves it alone."""
    import torch

    torch.manual_seed(0)
    center, layer = Center(2), torch.nn.Linear(2, 2)
    for step in (1, 2, 3):
        try:
            center(layer(torch.randn(3, 2))).pow(2).sum().backward()
        except RuntimeError as error:
            stopped = str(error).split(" (")[0].split(": [")[0]
            raise AssertionError(
                f"training step {step} stopped with the error: {stopped}. "
                f"Does the statistic still hold on to the graph of step {step - 1}?"
            ) from None
        assert center.running.grad_fn is None, (
            f"after training step {step} running has the grad_fn {type(center.running.grad_fn).__name__}: "
            "the statistic carries the graph of the batch into the next step"
        )
    center = Center(1)
    center(torch.full((2, 1), 10.0))
    output = center(torch.full((2, 1), 20.0))
    assert torch.allclose(center.running, torch.tensor([2.9])), (
        f"after batches with the means 10 and 20 running should be 2.9, not {center.running.tolist()}"
    )
    assert torch.allclose(output, torch.full((2, 1), 17.1)), (
        f"with the new mean 2.9 an input of 20 should become 17.1, not {output[0].tolist()}"
    )
    center.eval()
    output = center(torch.full((2, 1), 5.0))
    assert torch.allclose(output, torch.full((2, 1), 2.1)), "after eval() the output should be x - running"
    assert torch.allclose(center.running, torch.tensor([2.9])), "after eval() the statistic must not change"


# %% [markdown] tags=["afterword q5"]
# What is stored has no history, and the mean in the output keeps its own. `nn.BatchNorm1d` does the same. Next trap: a
# loss that you add up for a log, without `.item()`, keeps every graph of the epoch.

# %% [markdown]
# ## End task · A training with everything in it
#
# `train_tracked(cell, readout, h0, opt, batches)` trains as in question 4: the first minibatch starts from `h0`,
# expanded to the batch, and every later minibatch from the last state of the one before. It also tells how the
# training goes. It returns `(losses, average, h)`:
#
# - `losses`: a list with the loss of each minibatch before its step, as Python floats,
# - `average`: their moving average as a Python float. It begins with 0, and each minibatch makes it
#   `0.9 * average + 0.1 * loss`,
# - `h`: the last state. Whether it still carries the graph of the last minibatch is up to you.
#
# What each part has to do:
#
# - The loss of a minibatch is `F.mse_loss(readout(h), y)` with the state after its last time step. Its gradient flows
#   through all time steps of this minibatch, and of no other. The first minibatch teaches `h0`, the later ones do not.
# - Every minibatch makes one step of `opt` with the gradient of its own loss only.
# - When `opt` makes a step, at most two graphs are alive: that of this minibatch and that of the one before.
# - What question 4 says of `h0`, of `opt` and of `.grad` holds here, too.
#
# The function below runs without an error, and its losses even fall. But `h0` never moves, the cell does not learn to
# remember anything, and memory grows with every minibatch. Three bugs of this notebook are in it. If one symptom stays
# after a repair, look for the next bug.


# %% tags=["question end"]
def train_tracked(cell, readout, h0, opt, batches):
    """Train on consecutive minibatches from a learned start, and tell how it goes.

    Returns the losses, one float per minibatch, their moving average, a float, and the last state, (B, H).
    """
    # BEGIN SOLUTION
    h = h0.expand(batches[0][1].shape[0], -1)
    average, losses = 0.0, []
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()
        losses.append(loss.item())
        average = 0.9 * average + 0.1 * loss.item()
    return losses, average, h
    # STUB
    # h = h0.expand(batches[0][1].shape[0], -1)
    # average, losses = torch.zeros(()), []
    # for xs, y in batches:
    #     h = h.detach()  # else: backward through the graph a second time
    #     for x in xs:
    #         h = cell(x, h.detach())
    #     prediction = readout(h)
    #     loss = F.mse_loss(prediction, y)
    #     opt.zero_grad()
    #     loss.backward()
    #     opt.step()
    #     losses.append(loss.item())
    #     average = 0.9 * average + 0.1 * loss
    # return losses, average.item(), h
    # END SOLUTION


# %% tags=["check end"]
def test_three_symptoms(train_tracked):
    """h0 moves, the first of three time steps gets a gradient, and the graphs of old minibatches are gone."""
    import gc
    import weakref

    import torch

    torch.manual_seed(0)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    h0 = torch.nn.Parameter(torch.randn(1, 3))
    before, forward, reached, hooks, alive = h0.tolist(), cell.forward, [], [], []
    opt = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.5)
    batches = [(torch.randn(3, 4, 2), torch.randn(4, 1)) for _ in range(4)]

    def watched(input, hx=None):
        output, number = forward(input, hx), len(reached)
        if output.requires_grad:

            def hook(grad):  # the graph holds it for as long as it lives itself
                reached[number] = True

            reached.append(False)
            output.register_hook(hook)
            hooks.append(weakref.ref(hook))
        return output

    def count(optimizer, args, kwargs):
        gc.collect()
        alive.append(sum(hook() is not None for hook in hooks))

    cell.forward = watched
    opt.register_step_pre_hook(count)
    try:
        train_tracked(cell, readout, h0, opt, batches)
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
        raise AssertionError(f"training stopped with the error: {stopped}") from None
    assert h0.tolist() != before, "h0 has not moved: is a loss connected to it?"
    assert len(reached) >= 3 and reached[0] and reached[1], (
        "the loss of the first minibatch does not reach the states after its first two time steps"
    )
    assert alive and max(alive) <= 6, (
        f"at a step of opt {max(alive)} calls of the cell are part of a graph, and a minibatch has 3: "
        "something that you keep holds the graphs of earlier minibatches"
    )


# %% [markdown] tags=["afterword end"]
# The three bugs: a cut before the first minibatch, a cut in every time step, and an average that kept the graph of every
# loss. None of them raised an error: the first two even look like the cure of one.

# %% [markdown]
# ## What to keep
#
# - A tensor that survives a training step carries its graph along, be it a state, a statistic or a loss. Ask
#   `grad_fn`.
# - `backward()` frees saved tensors, not nodes. The error "a second time" means: something is still attached
#   to an earlier step.
# - `retain_graph=True` turns that error into a growing graph, and then into "modified by an inplace
#   operation".
# - Cut *between* the pieces: not within them, not before the loss, and not before the first one if its start
#   shall learn.
# - `detach()` makes a new tensor; `detach_()` takes the history away from everything that holds the tensor; `.data`
#   hides writes from autograd.
#
# The next notebook, `04_detach`, leaves recurrent networks: where else must a path be cut, and where must it not?
