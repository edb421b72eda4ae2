# %% [markdown]
# # 3. Truncated backpropagation through time
#
# A recurrent network reads a sequence one step at a time, and keeps what it has read in a *state*. A long sequence is
# too much for one backward pass. So you cut it into pieces, and start each piece from the last state of the piece
# before. The **value** of the state must cross the cut. Its **history**, the graph of the operations that computed
# it, must not.
#
# ```text
#       minibatch 1                 minibatch 2                 minibatch 3
#   h0 ──▶ h1 ──▶ h2 ── value ──▶ h2 ──▶ h3 ──▶ h4 ── value ──▶ h4 ──▶ ...
#    ◀── gradient ──┘    (cut)     ◀── gradient ──┘    (cut)     ◀── ...
# ```
#
# One call of `detach()` makes the cut. In this notebook you will learn
#
# - where to cut, and why `retain_graph=True` does not replace the cut;
# - how to cut the state of an LSTM, or any tuple or list of states;
# - how to backpropagate every `k` steps through a long sequence;
# - how to train the first state;
# - why a running statistic can keep the graph of every batch in memory.
#
# **Rules for all questions**, unless a task says otherwise:
#
# - **No side effects.** Change only what the task asks you to change. Leave everything else that belongs to the
#   caller unchanged: values, `.grad`, `requires_grad`, hooks, attributes, lists and optimizer state.
# - **Modes.** Run every module in its current mode, `train()` or `eval()`, and leave it in that mode. Submodules
#   may be in different modes. Changes that a module's own `forward` makes may remain.
# - **Settings.** Restore every global setting that you change, such as the gradient mode.
# - **Don't cache.** Your function may be called again, with the same objects or with others, and values may change
#   between calls. Each call must use the values it is given. Don't modify a result that an earlier call returned.
# - **Full precision.** The relative error of results and gradients must be at most 1e-12 in float64 and 1e-5 in
#   float32.
# - **Frozen parameters.** Some parameters of a module may be frozen (`requires_grad=False`). Leave their `.grad`
#   unchanged. Every loss depends on all other parameters.
# - **Inputs.** Inputs and targets, such as `xs` and `y`, don't require grad. `B`, `T` and `O` may be 1. All tensors
#   are float32, unless the task says otherwise.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown]
# ## What a state remembers
#
# A state is a tensor like any other. Look at it before and after a single step.

# %%
torch.manual_seed(0)
cell, readout = nn.RNNCell(2, 3), nn.Linear(3, 1)

start = torch.zeros(5, 3)
print(start.is_leaf, start.grad_fn)  # True None, because no recorded operation computed it

state = cell(torch.randn(5, 2), start)
print(state.is_leaf)  # False, because the cell's weights require grad, so the step was recorded
print(state.grad_fn)  # <TanhBackward0 ...>, because the last operation was a tanh

# %% tags=["drawn"]
# The history of the state: the step of the cell, which ends in the four parameters. `start` is not part of it.
xray(state=state, start=start, cell=cell)

# %% [markdown]
# You can draw such pictures yourself, of any tensor you have at hand, if the course's `grader` package is
# installed: remove the `#` below.

# %%
# from grader import xray
# xray(state=state, start=start, cell=cell)

# %% [markdown] tags=["claim S0.3", "claim S0.4", "claim S3.10"]
# Some texts define a leaf as "a node without children". PyTorch's own definition is simpler
# ([Tensor.is_leaf](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html)): **a tensor is a leaf
# when its `grad_fn` is `None`**, that is, when no recorded operation computed it. A tensor that is computed from
# data alone is a leaf, too. So in a training loop only the very first state is a leaf. Every state that the cell
# returns has a history.
#
# The next function measures the history: it counts the nodes of the graph behind a tensor. You will see it several
# times.


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
# ## What backward frees, and what it keeps
#
# A widely copied explanation says: "`backward()` destroys the graph, so the next minibatch is independent of this
# one, and `detach()` is superfluous." *Guess first:* how many of the 10 nodes are left after `backward()`?

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
# The second minibatch is connected to the first. The nodes of the first are all there; the tensors they saved are gone.
second = cell(torch.randn(5, 2), state)
xray(second=second, state=state, cell=cell)

# %% [markdown] tags=["claim S0.7", "claim S1.5", "claim S1.13"]
# <details><summary>What you should have seen</summary>
#
# All 10. `backward()` removes no nodes.
#
# </details>
#
# `backward()` frees the **saved tensors** of the graph (here the outputs of `tanh` and the inputs of the matrix
# products). The nodes stay in memory as long as something refers to them, and `state` does. The second backward walks
# from the second minibatch into the first, asks a node for its saved tensors, and finds nothing.
#
# (If a graph saved nothing, such as that of `x + 1`, you can even backpropagate through it twice. Don't rely on this.)

# %% [markdown]
# ## Why `retain_graph=True` is not a cure
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
# There is no error, but every minibatch costs more time and more memory than the one before. Now update the
# weights, as training does:

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
# `optimizer.step()` overwrites the weights in place, and the old graph still needs the old ones. Look at *when* it
# fails: two minibatches of one step each pass, and the third one raises an error. So test a fix on three
# minibatches, not on two. (Notebook 2 has more about `retain_graph`, and notebook 5 about values that are
# overwritten.)

# %% [markdown] tags=["claim S0.11", "claim S2.4", "claim S3.9"]
# ## What `detach()` gives you

# %%
state = cell(torch.randn(5, 2), torch.zeros(5, 3))
carried = state.detach()

print(carried.is_leaf, carried.grad_fn)  # True None, because a detached tensor is not connected to a graph
print(carried.data_ptr() == state.data_ptr())  # True, because the values are shared, not copied
print(state.is_leaf)  # False, because detach() returns a new tensor and does not change the old one

# %% tags=["drawn"]
# `carried` has the values of `state`, and no graph.
xray(state=state, carried=carried, cell=cell)

# %% [markdown] tags=["claim S0.5", "claim S0.8", "claim S0.10", "claim S0.13"]
# Here are three things that people get wrong:
#
# - The line `state.detach()` alone changes nothing. Use the tensor that it returns.
# - A blog post mocks the sentence "the detached state is a leaf, therefore it has nothing to do with the graph
#   before". The sentence is right, about the state *after* `detach()`.
# - You detach the *state*. The title of an article says that you detach the *parameters*, but a detached parameter
#   does not learn.
#
# And `detach()` does more than silence an error. It bounds the cost of every backward. It also prevents updates
# with gradients of weights that no longer exist.
# ([Tensor.detach](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html))

# %% [markdown]
# ## q1 · Carry the state, not the graph
#
# Write `train_stateful(cell, readout, opt, batches, h)`. For each of the consecutive minibatches `(xs, y)`:
#
# 1. Start from the **value** of the previous minibatch's last state, without its history. The first minibatch starts
#    from `h`. No gradient may flow into an earlier minibatch.
# 2. Compute `h = cell(x, h)` for every `x` in `xs`. The gradient must flow through all `T` steps.
# 3. Make one step of `opt` with the gradient of `F.mse_loss(readout(h), y)` only, whatever `.grad` held before.
#
# Return `(losses, h)`. `losses` is a list of Python floats: the loss of each minibatch, before its step. `h` is the
# last state, with or without history. Keep no graph of an earlier minibatch in memory.
#
# The starter code raises an error in the second minibatch. Fix it.
#
# **No side effects.** Change only the state of `opt`, its parameters and their `.grad`. You may leave anything in
# `.grad`.
#
# **Example.** `cell` computes `h + x`. `readout` is an `nn.Linear(1, 1, bias=False)` with the weight 1, `opt` is
# SGD with `lr=0.125`, and `h = [[0.]]`. For two minibatches, each with `xs = [[[1.]], [[1.]]]` and `y = [[4.]]`,
# the losses are `[4.0, 16.0]`, and the last state is `[[4.]]`.
#
# <details><summary>Hint 1</summary>
#
# Print `h.is_leaf` and `h.grad_fn` at the start of each minibatch: they show whether `h` still has a history.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# From the second minibatch on, `h` still has the history of the minibatch before, and the saved tensors of that
# graph are freed. At which place in the code should only the value of `h` go on?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Detach `h` once in every minibatch, and assign the result. Inside the loop over the time steps you need the
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
    """The state's value crosses minibatches; its history does not."""
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
            f"The state that enters minibatch {number} has the grad_fn {history}:\n"
            f"it is still connected to the graph of minibatch {number - 1}."
            + (f"\nTraining raised an error: {stopped}" if stopped else "")
        )
    assert stopped is None, f"Training raised an error: {stopped}"
    assert len(steps) == 16, (
        f"Your function called cell for {len(steps)} of the 16 time steps of 4 minibatches."
    )
    _, entering, leaving = zip(*steps.values())
    for number in (2, 3, 4):
        assert entering[4 * number - 4] == leaving[4 * number - 5], (
            f"Minibatch {number} does not start from the values that minibatch {number - 1} ended with,\nso "
            "the state is lost between them."
        )
    assert type(result) is tuple and len(result) == 2, (
        "train_stateful must return a tuple of two, (losses, h)."
    )
    assert [type(loss) for loss in result[0]] == [float] * 4, (
        "The losses must be four Python floats, one for each minibatch."
    )


# %% [markdown] tags=["afterword q1"]
# `detach()` between two minibatches passes the value on and drops the history. Next trap: an LSTM has two states,
# and both of them have a history.

# %% [markdown]
# ## States come in several forms
#
# An `nn.RNN` or `nn.GRU` returns its state as a single tensor. An
# [nn.LSTM](https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html) returns a tuple of two, the hidden
# state and the cell state. If you stack cells by hand, you have a list of states. Before the first minibatch there
# is often no state at all: `None`, which these modules treat as zeros.

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
# Only `h` was detached. The cell state `c` is still connected to the graph of the first minibatch.
small = nn.LSTMCell(2, 3)
h, c = small(torch.randn(5, 2))
xray(h=h.detach(), c=c, cell=small)

# %% [markdown]
# If you forget one of the two, the error of question 1 comes back one minibatch later: the cell state `c` is
# connected to the same old graph as `h`.

# %% [markdown] tags=["claim S0.12"]
# ## Two shortcuts, and what they cost
#
# The textbook form `for s in state: s.detach_()` works on recurrent states. But the underscore means *in place*:
# `detach_()` does not create a new tensor. It removes the history from the tensor itself, which other code may
# hold, too. (And on a view it raises "Can't detach views in-place".)

# %%
_, (h, c) = lstm(torch.randn(4, 1, 2))
auxiliary_loss = h.pow(2).sum()  # its backward() comes later
h.detach_()
try:
    auxiliary_loss.backward()
except RuntimeError as error:
    print(str(error).partition(". ")[0])

# %% [markdown] tags=["claim S2.3", "claim S2.12"]
# The other shortcut is `.data`. Like `detach()` it shares storage with the original. `detach()` also shares the
# *version counter*, which autograd compares to find out whether a saved value was overwritten. `.data` does not
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
# A *state* is `None`, a tensor of any shape, float32 or float64, or a plain tuple or list of states.
#
# Write `repackage(state)`:
#
# 1. Return the same values in the same structure: a tuple stays a tuple, a list stays a list, `None` stays `None`.
# 2. Every tensor of the result must be a leaf that doesn't require grad.
# 3. The caller may overwrite the result with `result.zero_()`. A later `backward()` through the original must then
#    give the right gradient, or raise PyTorch's error. (So it may share storage with the result only if autograd
#    detects the write.)
#
# The starter code handles single tensors only. Fix it.
#
# **No side effects.** Leave the original unchanged: losses computed from it must still give their gradients.
#
# **Example.** If `h = [1.]` and `c = [2.]` are non-leaves, `repackage((h, [c, None]))` returns
# `(tensor([1.]), [tensor([2.]), None])`, whose tensors don't require grad.
#
# <details><summary>Hint 1</summary>
#
# Read the error: "'tuple' object has no attribute 'detach'". An LSTM returns a tuple of two tensors. A list of LSTM
# states contains such tuples.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The definition of a state mentions states, so the function may call itself. It has three cases. For tensors,
# choose the way to drop a history that does not change the original.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `isinstance(state, torch.Tensor)` separates tensors from the rest. Build a new tuple or list from the repackaged
# parts: `type(state)` makes both of them.
#
# </details>


# %% tags=["question q2"]
def repackage(state):
    """Return a recurrent state without its history.

    Returns the same structure with the same values; its tensors are leaves that don't require grad.
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
    """An LSTM's state stays a tuple and loses its history."""
    import torch

    torch.manual_seed(0)
    state = torch.nn.LSTM(2, 3)(torch.randn(4, 1, 2))[1]
    try:
        result = repackage(state)
    except Exception as error:
        raise AssertionError(
            f"repackage((h, c)) raised an error: {error}\nThe state of an LSTM is a tuple of two tensors."
        ) from None
    assert type(result) is tuple, (
        f"For a tuple you returned a {type(result).__name__}: the structure must stay the same."
    )
    assert len(result) == 2, f"For a tuple of two tensors you returned {len(result)} entries."
    for name, before, after in zip("hc", state, result):
        assert torch.equal(before, after), f"The values of {name} have changed: only the history must go."
        assert after.grad_fn is None, (
            f"{name} still has a history: its grad_fn is {type(after.grad_fn).__name__}."
        )
    try:
        result = repackage(None)
    except Exception as error:
        raise AssertionError(
            f"repackage(None) raised an error: {error}\nBefore the first minibatch there is no state, only "
            "None."
        ) from None
    assert result is None, f"For None you returned a {type(result).__name__} instead of None."


# %% [markdown] tags=["afterword q2"]
# Each part of a state is detached by itself, and the original is unchanged. Next trap: `detach_()` and `.data` give
# the same values, and break a loss whose backward is still pending.

# %% [markdown]
# ## How far back does a gradient travel?
#
# So far the data came in pieces. Often there is a single long sequence with a loss at every step, and *you* decide
# where to cut. No gradient passes a cut. *Guess first:* here the loss is computed after step 6, and there is a cut
# in the middle. For which of the six inputs is the gradient 0?

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
# The first three are exactly 0, because backward ends at the cut. The last three are not.
#
# </details>
#
# `backward()` walks until it reaches a leaf, or an input that doesn't require grad, such as a detached state. Perhaps
# the network should remember something from the first three steps, but it cannot learn that from this loss. This is the
# price of truncation. You set it with `k`, the distance between two cuts. In return, the graph is never longer than `k`
# steps.
#
# A comment in a textbook says that without `detach()` backward would run through all earlier minibatches and become too
# expensive. A blog post answers that cost has nothing to do with it: the only purpose is to avoid the error. Each of
# them is half right. By default the error comes first. If you retain the graph, the cost grows as the textbook says.

# %% [markdown]
# ## q3 · Truncated BPTT, every k steps
#
# Write `tbptt(cell, readout, xs, ys, k)`:
#
# 1. Start from a state of zeros of shape `(B, cell.hidden_size)`, and compute `h = cell(xs[t], h)` for all `T`
#    steps, with the value of the state from the step before.
# 2. The loss of step `t` is `F.mse_loss(readout(h), ys[t])`, with the state after this step.
# 3. After every `k` steps (a chunk), backpropagate the **sum** of their losses, through this chunk only. Steps that
#    are left at the end form a shorter chunk.
# 4. Accumulate all gradients in `.grad`: zero nothing and update nothing.
# 5. Return the sum of all losses as a Python float.
#
# `k` may exceed `T`. `readout` treats each row independently.
#
# The starter code cuts before *every* step. Fix it.
#
# **No side effects.** Change only the `.grad` of parameters that aren't frozen.
#
# **Example.** If all parameters are 0, all targets are 1, `T = 5` and `O = 1`, then every loss is 1. For `k = 2`
# the chunks have 2, 2 and 1 steps. The result is 5.0, and the call adds -10 to the gradient of the readout's bias.
#
# <details><summary>Hint 1</summary>
#
# The starter code sends the gradient of step `t` through this step only. For `k = 3`, mark the cuts on a sequence
# of 7 steps. Through which steps must the gradient of each loss flow?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Collect the losses of a chunk and backpropagate once. When may you cut: before the last loss of the chunk, or
# after the chunk's backward? Also think of a chunk that is shorter than `k`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Add up the loss in every step. At the end of a chunk, backpropagate, add the loss as a number to the total, and
# cut. Which of these lines come too early if you put them before the backward?
#
# </details>


# %% tags=["question q3"]
def tbptt(cell, readout, xs, ys, k):
    """Backpropagate through a long sequence in chunks of k steps; gradients accumulate in .grad.

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
    """Each loss backpropagates to the last cut, no further."""
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
            raise AssertionError(f"tbptt raised an error: {stopped}") from None
        assert sorted(reached) == expected, (
            f"With 7 steps and k = 3, the loss of step {last} (counted from 0) must backpropagate to the "
            f"states\nafter the steps {expected}, but it reaches the states after the steps "
            f"{sorted(reached)}."
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
    assert type(total) is float, f"The total loss is a {type(total).__name__} instead of a Python float."
    assert abs(total - whole.item()) < 1e-4, (
        f"The total loss is {total}, but the losses add up to {whole.item()}."
    )
    assert cell.weight_hh.grad is not None, "cell.weight_hh.grad is None: no backward pass reached the cell."
    assert torch.allclose(cell.weight_hh.grad, expected, rtol=1e-4, atol=1e-6), (
        "With k = 5 and 5 steps, the gradient of cell.weight_hh is not that of full backpropagation "
        "through time.\nCheck that no state is cut within the chunk, and that no loss is missing."
    )


# %% [markdown] tags=["afterword q3"]
# Each loss backpropagates to the last cut, so the cell learns to remember up to `k` steps, and the graph is never
# longer. Next trap: a first state that is a parameter must not be cut at all.

# %% [markdown]
# ## A start that can learn
#
# Zeros are an arbitrary first state. The first state can also be learned, as a parameter `h0` of shape `(1, H)`,
# one row for the whole batch. `expand` gives this row to every sequence of the batch, and autograd records it like
# every operation ([Tensor.expand](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html)):

# %%
h0 = nn.Parameter(torch.zeros(1, 3))
first = h0.expand(5, -1)
print(first.shape, first.is_leaf)  # torch.Size([5, 3]) False, because first was computed from h0

first.sum().backward()
print(h0.grad)  # tensor([[5., 5., 5.]]), because the gradients of all five rows add up in the one row of h0

# %% [markdown] tags=["claim S3.25"]
# So the first minibatch, and only the first, may begin with a state that has a history. If you cut this history as
# well, there is no error:

# %%
h0.grad = None
first = h0.expand(5, -1).detach()
loss = readout(cell(torch.randn(5, 2), first)).sum()
loss.backward()

print(h0.requires_grad)  # True, and yet:
print(h0.grad)  # None, because requires_grad only allows a gradient; the loss must also be connected to h0

# %% tags=["drawn"]
# On the left, a start that is connected to `h0`. On the right, the same start, detached: no arrow leads to `h0`.
xray(connected=h0.expand(5, -1), detached=first, h0=h0)

# %% [markdown]
# An optimizer silently skips a parameter whose `.grad` is `None`.

# %% [markdown]
# ## q4 · A learnable initial state
#
# Write `train_learned_start(cell, readout, h0, opt, batches)`, which trains as in question 1, but from a learned
# first state, the parameter `h0` of shape `(1, H)`:
#
# 1. Start the first minibatch from `h0`, expanded to the batch, so that its loss trains `h0`.
# 2. Start every later minibatch from the value of the previous minibatch's last state, without its history. No later
#    loss may train `h0`. (`opt` holds `h0` in a group of its own, without momentum and weight decay. So a step
#    without a gradient leaves `h0` unchanged.)
# 3. In every minibatch, make one step of `opt` with the gradient of its own loss only, whatever `.grad` held
#    before.
# 4. Return the last state, with or without history.
#
# With the starter code, `h0` never moves. Fix it.
#
# **No side effects.** Only `opt` may change `h0`, which must remain the same `nn.Parameter`. Otherwise, change only
# what question 1 allows.
#
# **Example.** `cell` computes `h + x`. `readout` is an `nn.Linear(1, 1, bias=False)` with the weight 1, `opt` is
# SGD with `lr=0.25` and holds only `h0 = [[0.]]`. For two minibatches, each with `xs = [[[1.]]]` and `y = [[3.]]`,
# the first one changes `h0` to 1, the second leaves it there, and the result is `[[2.]]`.
#
# <details><summary>Hint 1</summary>
#
# Find the first `detach()` that is executed. What has been computed by then?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The cut belongs *between* two minibatches. Before the first one there is nothing to cut.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The starter code cuts at the start of every minibatch, and so before the first, too. Look for a place in the loop
# that every minibatch reaches after its backward.
#
# </details>


# %% tags=["question q4"]
def train_learned_start(cell, readout, h0, opt, batches):
    """Train on consecutive minibatches, and train the state that the first of them starts from.

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
    """The first minibatch trains h0; later starts are detached."""
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
        raise AssertionError(f"Training raised an error: {stopped}") from None
    assert h0.tolist() != before, "h0 is unchanged after a minibatch" + (
        ", and h0.grad is None: check whether the loss is connected to h0." if h0.grad is None else "."
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
        assert not attached, (
            f"The state that enters minibatch {number} has a history: cut it between two minibatches."
        )
        assert entering == leaving, (
            f"Minibatch {number} does not start from the values that minibatch {number - 1} ended with."
        )
    assert stopped is None, f"Training raised an error: {stopped}"


# %% [markdown] tags=["afterword q4"]
# Only the first state stays connected to the tensor it came from, so `h0` learns from the first minibatch. Next trap:
# an optimizer silently skips a parameter whose `.grad` is `None`.

# %% [markdown]
# ## Statistics are states too
#
# All this applies beyond recurrent networks. Every tensor that *survives a training step* and was computed from
# tensors that require grad carries its graph into the next step. The most common case is a running average:

# %%
layer = nn.Linear(2, 2)
average = torch.zeros(2)
for step in range(3):
    average = 0.9 * average + 0.1 * layer(torch.randn(4, 2)).mean(0)
    print(graph_size(average))  # 7, 13, 19: it remembers every batch it has ever seen

# %% tags=["drawn"]
# The average after three steps: its graph contains all three batches.
xray(average=average, layer=layer)

# %% [markdown]
# A buffer makes no difference: `register_buffer` puts a tensor into the `state_dict`, but it does not remove a
# history.
#
# So should you detach everything? The mean of the current batch may have *two* roles: it is a number to store, and
# it is a function of the batch that the output depends on. In the second role it has a gradient:

# %%
weights = torch.tensor([2.0, 4.0])

x = torch.tensor([1.0, 3.0], requires_grad=True)
(weights * (x - x.mean())).sum().backward()
print(x.grad)  # tensor([-1., 1.]), because each x also moves the mean

x = torch.tensor([1.0, 3.0], requires_grad=True)
(weights * (x - x.mean().detach())).sum().backward()
print(x.grad)  # tensor([2., 4.]), because here the mean is a constant: no error, another gradient

# %% [markdown]
# `nn.BatchNorm1d` keeps the two roles apart: in training it differentiates through the statistics of the batch, and
# it stores statistics without a history.

# %%
norm = nn.BatchNorm1d(2)
norm(layer(torch.randn(4, 2)))
print(norm.running_mean.grad_fn)  # None, because only the values are stored

# %% [markdown]
# ## q5 · The statistic that remembers too much
#
# Write the module `Center(n)`:
#
# 1. Register a buffer `running` of zeros, with shape `(n,)`, in the `state_dict`. After `load_state_dict`, `forward`
#    must use the loaded values.
# 2. In training mode, `forward(x)` computes `new = 0.9 * running + 0.1 * x.mean(0)`, stores `new` as `running`, and
#    returns `x - new`. The output must be differentiable through `x.mean(0)`; `running` counts as a constant.
# 3. In eval mode, it returns `x - running`, differentiable in `x`, and stores nothing. Only the module's mode,
#    training or eval, decides whether `forward` stores: in training mode it stores under `no_grad()`, too.
# 4. The stored `running` has no `grad_fn`. The module keeps no batch and no graph in memory.
# 5. After `center.double()`, `running` and the output are float64, in full precision (0.9 as a float32 tensor is
#    too inexact).
#
# The starter code raises an error in training step 2. Fix it.
#
# **No side effects.** Leave `x` unchanged.
#
# **Example.** For `n = 1`, forward a batch of 10s and then a batch of 20s in training mode. Then `running` is 2.9,
# and the second output is 17.1 everywhere.
#
# <details><summary>Hint 1</summary>
#
# After the first forward `self.running` has a `grad_fn`. In the second step, backward walks through this graph of
# the first batch.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The new mean has two uses: it is stored, and it is part of the output. Which of them should be detached?
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
    """running is a detached average, and fixed in eval mode."""
    import torch

    torch.manual_seed(0)
    center, layer = Center(2), torch.nn.Linear(2, 2)
    for step in (1, 2, 3):
        try:
            center(layer(torch.randn(3, 2))).pow(2).sum().backward()
        except RuntimeError as error:
            stopped = str(error).split(" (")[0].split(": [")[0]
            raise AssertionError(f"Training step {step} raised an error: {stopped}") from None
        assert center.running.grad_fn is None, (
            f"After training step {step}, running has the grad_fn "
            f"{type(center.running.grad_fn).__name__}:\nit carries the graph of this batch into the next "
            "step."
        )
    center = Center(1)
    center(torch.full((2, 1), 10.0))
    output = center(torch.full((2, 1), 20.0))
    assert torch.allclose(center.running, torch.tensor([2.9])), (
        f"After batches with the means 10 and 20, running is {center.running.tolist()} instead of 2.9."
    )
    assert torch.allclose(output, torch.full((2, 1), 17.1)), (
        f"With the new mean 2.9, an input of 20 becomes {output[0].tolist()} instead of 17.1."
    )
    center.eval()
    output = center(torch.full((2, 1), 5.0))
    assert torch.allclose(output, torch.full((2, 1), 2.1)), "After eval(), the output must be x - running."
    assert torch.allclose(center.running, torch.tensor([2.9])), (
        "After eval(), a forward changed running, which must stay the same."
    )


# %% [markdown] tags=["afterword q5"]
# The stored mean is detached, and the mean in the output keeps its history. `nn.BatchNorm1d` does the same. Next
# trap: a loss that you add up for a log without `.item()` keeps every graph of the epoch in memory.

# %% [markdown]
# ## Bonus task · Training with everything in it
#
# Write `train_tracked(cell, readout, h0, opt, batches)`. It trains like question 4, and also tracks the training.
# For each minibatch:
#
# 1. Start from `h0`, expanded to the batch, or in later minibatches from the value of the last state before. Only
#    the loss of the first minibatch trains `h0`.
# 2. Compute the loss `F.mse_loss(readout(h), y)` with the state after the last time step. Its gradient must flow
#    through all time steps of this minibatch, and into no other minibatch.
# 3. Make one step of `opt` with the gradient of this loss only. At this moment at most two graphs may be in memory:
#    that of this minibatch and that of the one before.
# 4. Update the moving average, which starts at 0: `average = 0.9 * average + 0.1 * loss`.
#
# Return `(losses, average, h)`: a list with the loss of each minibatch before its step, as Python floats; the
# moving average as a Python float; and the last state, with or without history.
#
# The starter code runs without an error, and its losses even fall. But `h0` never moves, the cell does not learn to
# remember anything, and memory grows with every minibatch. It has three of the bugs that this notebook is about. If
# a symptom remains after a fix, look for the next bug.
#
# **No side effects.** Change only what question 4 allows: `opt`, its parameters and their `.grad`.
#
# **Example.** `cell` computes `h + x`. `readout` is an `nn.Linear(1, 1, bias=False)` with the weight 1, `opt` is
# SGD with `lr=0.25` and holds only `h0 = [[0.]]`. For two minibatches with `xs = [[[1.]]]` and the targets `[[3.]]`
# and `[[2.]]`, the result is `([4.0, 0.0], 0.36, [[2.]])`, and `h0` becomes 1.


# %% tags=["question end"]
def train_tracked(cell, readout, h0, opt, batches):
    """Train on consecutive minibatches from a learned start, and track the losses.

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
    """h0 and the cell learn, and old graphs are freed."""
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
        raise AssertionError(f"Training raised an error: {stopped}") from None
    assert h0.tolist() != before, "h0 is unchanged: the first minibatch must train it."
    assert len(reached) >= 3 and reached[0] and reached[1], (
        "The loss of the first minibatch does not backpropagate to its first two time steps."
    )
    assert alive and max(alive) <= 6, (
        f"At a step of opt, the graphs of {max(alive, default=0)} calls of the cell are in memory, and a minibatch\n"
        "has 3 calls: something that you store refers to the graphs of earlier minibatches."
    )


# %% [markdown] tags=["afterword end"]
# The three bugs: a cut before the first minibatch, a cut in every time step, and an average that kept the graph of
# every loss. None of them raised an error, and the first two even look like the fix of one.

# %% [markdown]
# ## What to remember
#
# - A tensor that survives a training step carries its graph along, whether it is a state, a statistic or a loss.
#   Check its `grad_fn`.
# - `backward()` frees saved tensors, not nodes. The error "a second time" means that something is still connected
#   to an earlier step.
# - `retain_graph=True` turns that error into a growing graph, and then into "modified by an inplace operation".
# - Cut *between* the pieces: not within them, not before the loss, and not before the first one if its start should
#   learn.
# - `detach()` makes a new tensor; `detach_()` removes the history from the tensor itself, for all code that holds
#   it; `.data` hides writes from autograd.
#
# The next notebook, `04_detach`, leaves recurrent networks: where else must you cut a path, and where must you not?
