# %% [markdown] tags=["claim S4.17", "claim S4.19"]
# # 5. Writing in place and starting a leaf afresh
#
# An *in-place* operation writes new values into the memory that a tensor already has: `fill_`, `add_`, `+=`, `w[0] = 1`.
# You need such writes to re-initialise a weight in the middle of training, to update it by hand, or to overwrite an
# intermediate result. But `backward()` may still need the old values. In this notebook you will learn
#
# - which writes autograd allows, and which of them `backward()` notices;
# - how to give a parameter new values so that its optimizer keeps training it;
# - how a recorded write changes the gradient;
# - how to update an average or a weight without recording the update.
#
# You may have read that autograd "does not support most in-place operations", and that "you never need them". Neither is
# true. Autograd records a write to a computed tensor and differentiates it like any other operation. And every
# `optimizer.step()`, every function of `nn.init` and every running mean of a BatchNorm layer writes in place. PyTorch's
# documentation has the rules in
# [In-place operations with autograd](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd).
#
# The code and the claims about PyTorch in this notebook were tested with torch 2.13.
#
# **Rules for all questions:**
#
# - No side effects. Change only what the task lets you change. The caller's objects, memory, values, `.grad`, flags,
#   modes (`train()` or `eval()`) and hooks must otherwise be the same after the call.
# - Gradients must be those of the function in the task.
# - Full precision: a relative error of at most 1e-12 in float64, 1e-5 in float32.
# - Gradients must be recorded after the call if and only if they were recorded before it. Your function may also be
#   called under `no_grad()`, unless the task excludes it.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown] tags=["claim S4.8", "claim S4.9", "claim S4.10", "claim S4.11", "claim S4.20"]
# ## Two rules and one counter
#
# **The leaf rule.** While gradients are being recorded, a leaf that requires grad must not be written to,
# not even before its first use. The write itself raises, and the old values stay. (Older texts say that
# `w[:] = 0` succeeds, and that only `backward()` complains about a leaf "moved into the graph interior". This
# has not been true since torch 1.8.)

# %%
w = torch.tensor([10.0, 5.0, 2.0, 3.0], requires_grad=True)
try:
    w[:] = 0.0
except RuntimeError as error:
    print(error)  # a leaf Variable that requires grad is being used in an in-place operation.
print(w.tolist())  # [10.0, 5.0, 2.0, 3.0], because the write was refused

# %% [markdown] tags=["claim S4.4", "claim S4.5", "claim S4.28"]
# **The saved-value rule.** Some operations save a tensor for backward: `b * b` saves `b`, because its
# derivative is `2 * b`. Saving makes no copy. Autograd notes how often the tensor has been written to so
# far, a number called `_version`, and `backward()` compares.

# %%
a = torch.tensor([1.0, 3.0], requires_grad=True)
b = a + 2
loss = (b * b).mean()  # saves b, and notes the version it has now
print(b._version)  # 0, because nothing has been written to b
b[0] = 1000.0  # allowed, because b is not a leaf
print(b._version)  # 1, because the write was counted
try:
    loss.backward()
except RuntimeError as error:
    print(str(error).partition(":")[0])  # ... has been modified by an inplace operation

# %% tags=["drawn"]
# `backward()` refuses: the multiplication has saved `b` at version 0, and `b` is at version 1 now.
xray(loss=loss, b=b, a=a)

# %% [markdown]
# You can draw such pictures yourself, of any tensor you have at hand. Remove the `#`
# below, where the course's package `grader` is installed.

# %%
# from grader import xray
# xray(loss=loss, b=b, a=a)

# %% [markdown] tags=["claim S4.4", "claim S4.12", "claim S4.13", "claim S4.14"]
# The counter is the only alarm there is. `backward()` compares two numbers, never the values. If the counter
# does not see a write, `backward()` does not notice it, and computes the gradient from what stands in memory
# now. So it is worth knowing which writes are counted. *Guess first:* which three numbers are printed?

# %%
w = torch.zeros(4, requires_grad=True)

with torch.no_grad():
    w.fill_(1.0)
print(w._version)

w.detach().fill_(2.0)
print(w._version)

w.data.fill_(3.0)
print(w._version)
print(w.tolist())  # [3.0, 3.0, 3.0, 3.0], because the last write did happen

# %% [markdown] tags=["claim S3.6", "claim S4.6", "claim S4.16"]
# <details><summary>What you should have seen</summary>
#
# 1, 2 and again 2. `no_grad()` stops the recording, not the counting. `detach()` shares the memory *and* the
# counter. `.data` shares the memory, and has a counter of its own: the counter of `w` does not see this write.
#
# </details>
#
# NumPy views (`w.detach().numpy()`) and `w.data = other_tensor` are just as invisible as `.data`. If you
# look at `_version` yourself, ask whether it has grown, not by how much: `w[0] += 1` under `no_grad()`
# counts twice, and the weight of a fresh `nn.Linear` already stands at 1. The counter sees `optimizer.step()`,
# too. It writes to the weight itself under `no_grad()`, and not to `w.data`, as you may have read.
#
# So the common advice "change a leaf through `w.data`, `w.detach()` or `no_grad()`, it is all the same" is
# only half right. All three change the values. But only two of them warn a loss that still needs the old
# values.

# %% [markdown]
# ## q1 · Re-initialise a leaf, safely
#
# Write `reinit_(w, value)`. It fills `w` with the number `value`, and returns `w`.
#
# - Afterwards `w` is the same object in the same memory, and still a leaf that requires grad. What you leave
#   in `w.grad` is up to you.
# - What stood in `w` before does not matter. After a training that has diverged, it is full of `nan` and
#   `inf`. `w` may also be transposed, or a part of a larger tensor.
# - The caller may hold a loss that was computed from the *old* values of `w`. If its backward pass needs
#   those values, as in `(w * w).mean()`, it must raise an error. It must not silently compute a gradient
#   from the new values.
#
# <details><summary>Hint 1</summary>
#
# Call the given function and read the error. It names two facts about `w`. Must both still be true after the
# call?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The leaf rule holds only while gradients are being recorded. You have just seen three ways to write without
# a record. Which of them does a loss notice that still waits for its `backward()`? Look at `w._version` before
# and after.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line `w.fill_(value)` may stay. What has to be different while it runs, and as before when it has run?
#
# </details>


# %% tags=["question q1"]
def reinit_(w, value):
    """Fill the trainable leaf w with value, in place.

    Returns w itself.
    """
    # BEGIN SOLUTION
    with torch.no_grad():
        w.fill_(value)
    return w
    # STUB
    # w.fill_(value)
    # return w
    # END SOLUTION


# %% tags=["check q1"]
def test_w_holds_the_new_value(reinit_):
    """The caller's w holds the new value everywhere, and is still the same leaf that requires grad."""
    import torch

    w = torch.tensor([10.0, 5.0, 2.0, 3.0], requires_grad=True)
    try:
        result = reinit_(w, 7.0)
    except RuntimeError as error:
        raise AssertionError(f"reinit_ could not write to w; torch says: {error}") from None
    assert w.tolist() == [7.0, 7.0, 7.0, 7.0], f"the caller's w now holds {w.tolist()}, not 7 everywhere"
    assert result is w, "reinit_ returned another object: an optimizer that holds w would never see it"
    assert w.is_leaf, "w is no longer a leaf, so its .grad would stay None"
    assert w.requires_grad, "w no longer requires grad, so it would never be trained again"


# %% [markdown] tags=["afterword q1"]
# `no_grad()` stops the recording and not the counting, so a loss of the old values raises an error. `w.data.fill_(value)`
# gives the same `w`, and that loss gets a wrong gradient without a word.

# %% [markdown]
# ## Who holds the parameter?
#
# An optimizer does not know your model. It keeps the `Parameter` *objects* that it was given when it was built
# ([torch.optim](https://docs.pytorch.org/docs/stable/optim.html)), and files its momentum under these objects.
# Names like `model.weight` play no part in it.

# %%
layer = nn.Linear(3, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
held = optimizer.param_groups[0]["params"]
print(layer.weight is held[0])  # True, because the optimizer was given this very object

layer.weight = nn.Parameter(torch.zeros(2, 3))
print(layer.weight is held[0])  # False, because the name now stands for a new object

before = layer.weight.tolist()
layer(torch.ones(1, 3)).sum().backward()
optimizer.step()
print(layer.weight.grad is not None)  # True, because backward reaches the new object as usual
print(layer.weight.tolist() == before)  # True, because step() has updated the old one

# %% tags=["drawn"]
# The loss leads to the new weight. No path leads to the old one, and that is the one which the optimizer holds.
out = layer(torch.ones(1, 3)).sum()
xray(loss=out, weight=layer.weight, bias=layer.bias, held_by_optimizer=held[0])

# %% [markdown] tags=["claim S4.21", "claim S4.22", "claim S4.25"]
# No error was raised, and the new weight even has a gradient. Still it will never learn. The same happens to
# modules with *tied* weights, which share one `Parameter`: replace it in one place, and the other place keeps
# the old one.
#
# `model.double()` does not fall into this trap. It assigns `param.data = ...` (in `nn.Module._apply`): every
# `Parameter` object stays and gets new memory, and the optimizer still holds it.
#
# A warning about a line that is copied a lot, `w.data = w.data.normal()`. It raises an `AttributeError`,
# because a tensor has only the in-place method for normal values: `normal_()`, with the underscore. And if you
# meet `torch.FloatTensor(10)` in old code: that is not the number 10, but ten numbers of uninitialised memory.

# %% [markdown]
# ## q2 · Re-initialise a layer the optimizer already knows
#
# Write `reset_layer(model, name)`. In the middle of training it gives the `nn.Linear` with this name fresh
# values:
#
# - every weight is drawn anew from a normal distribution with mean 0 and standard deviation 0.02,
#   independently of its old value, of all other weights and of every other call,
# - every bias becomes 0.
#
# Training goes on: the optimizer updates the fresh values, and a module that is tied to the same weight stays
# tied. Nothing else in the model changes. A frozen weight gets fresh values, and stays frozen. What you leave in
# the `.grad` of the layer itself is up to you. No loss waits for its `backward()`, and the layer has no hooks. The
# function returns nothing.
#
# <details><summary>Hint 1</summary>
#
# Call the given function, and compare `id(layer.weight)` with the ids of the objects in
# `optimizer.param_groups[0]["params"]`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `nn.Parameter(...)` makes a new object, and the optimizer and the tied module keep the old one. How do you give
# new values to the object that is there already?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The functions of [torch.nn.init](https://docs.pytorch.org/docs/stable/nn.init.html) write in place, and switch the
# recording off by themselves. You need two of them, one for the weight and one for the bias.
#
# </details>


# %% tags=["question q2"]
def reset_layer(model, name):
    """Give the nn.Linear called name fresh values while training goes on.

    Returns None. The weight becomes N(0, standard deviation 0.02), the bias 0.
    """
    # BEGIN SOLUTION
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, mean=0.0, std=0.02)
    nn.init.zeros_(layer.bias)
    # STUB
    # layer = model.get_submodule(name)
    # layer.weight = nn.Parameter(torch.randn_like(layer.weight) * 0.02)
    # layer.bias = nn.Parameter(torch.zeros_like(layer.bias))
    # END SOLUTION


# %% tags=["check q2"]
def test_the_optimizer_still_holds_the_parameters(reset_layer):
    """The optimizer still holds the layer's parameters, the bias is 0, and one step moves both."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reset_layer(model, "1")
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for name, parameter in model[1].named_parameters():
        assert id(parameter) in held, f"the layer's {name} is a new object: the optimizer updates the old one"
    weight, bias = model[1].weight.tolist(), model[1].bias.tolist()
    assert bias == [0.0], f"the bias is {bias} after the reset, not 0"
    model(torch.ones(2, 4)).sub(1).sum().backward()
    optimizer.step()
    assert model[1].bias.tolist() != bias, "optimizer.step() did not move the bias: it no longer learns"
    assert model[1].weight.tolist() != weight, "optimizer.step() did not move the weight: it no longer learns"


# %% [markdown] tags=["afterword q2"]
# The optimizer and a tied module hold the object, so new values go into the old object. Next trap: the optimizer still
# remembers the momentum of the old values.

# %% [markdown] tags=["claim S4.24", "claim S4.27"]
# ## A write is part of the function, if autograd sees it
#
# Write to a *computed* tensor while gradients are being recorded. Then the write becomes part of the function
# that is differentiated. From now on the tensor counts as the result of the write. *Guess first:* what is the
# gradient of `w1` below, after all of `d` has been overwritten?

# %%
x = torch.tensor([[1.0, 2.0]])
w1 = torch.tensor([[2.0], [1.0]], requires_grad=True)
d = x @ w1  # the matrix product
recorded_before = d.grad_fn
d[:] = 1.0  # recorded
print(d.grad_fn is recorded_before)  # False, because d is now the result of the write
loss = (3 * d).sum()
loss.backward()
print(w1.grad.tolist())

# %% tags=["drawn"]
# `d` is the result of the write, Fill. The path to `w1` is still there, and what goes along it is 0.
d = x @ w1
d[:] = 1.0
xray(loss=(3 * d).sum(), d=d, w1=w1)

# %% [markdown] tags=["claim S4.23", "claim S4.24"]
# <details><summary>What you should have seen</summary>
#
# `[[0.0], [0.0]]`: `d` is 1 whatever `w1` is. What has been overwritten no longer depends on `w1`.
#
# </details>
#
# An often-copied example has two versions. The first computes `f = d @ w2` and then writes `d[:] = 1`:
# `backward()` raises, because the product has saved the old `d`. The second writes first, as above, and ends
# with the words "no problem any more". True, nothing raises. But look at the gradient: this `w1` can never
# learn again. That is the *right* gradient of this function, and you should know that you asked for it.
#
# Now the same write behind autograd's back:

# %%
w1 = torch.tensor([[2.0], [1.0]], requires_grad=True)
d = x @ w1
d.detach()[:] = 1.0  # not recorded
(3 * d).sum().backward()
print(w1.grad.tolist())  # [[3.0], [6.0]], because for autograd d is still x @ w1

# %% [markdown] tags=["claim S4.18"]
# Again no error, and this time the gradient is wrong: it says that `d` changes with `w1`, and `d` does
# not. The counter could not help, because no operation had saved the old `d` when it was overwritten. So "no
# error" does not mean "the gradient is right". Ask two things about every write: does it come *before* the
# value is used, and does autograd *see* it?

# %% [markdown]
# ## q3 · Overwrite, then multiply - or the other way round?
#
# Write `masked_forward(x, w1, w2, mask)`. In `d = x @ w1`, the columns where `mask` is true are replaced by 1, and
# this masked `d` goes into `f = d @ w2`. Return the masked `d` and `f`.
#
# - A loss of `f` goes back to `w1`, `w2` and `x`. The gradient of `w1` is exactly 0 in the masked columns.
#   If all columns are masked, `None` is as good as zeros.
# - You may return `d` without a history, or with one by which a loss of it goes back in the same way.
# - All numbers are finite, those of `x @ w1` too, and may be large. The function is not called under `no_grad()`.
#
# For example, `x = [[1., 2.]]`, `w1 = [[2., 1.], [1., -1.]]`, `w2 = [[3.], [2.]]` and
# `mask = [False, True]` give `d = [[4., 1.]]` and `f = [[14.]]`.
#
# <details><summary>Hint 1</summary>
#
# The product `d @ w2` saves `d`, because the gradient of `w2` needs it. Which version of `d` was that? Which
# version does `backward()` find?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Mask `d` before it is used: this also makes `f` right. And let autograd see it. Else `w1` gets a gradient for
# columns that it no longer determines.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `d` is a computed tensor, so autograd records a write to it. Which of the lines has to come first? (Without a
# write, `torch.where` makes a new tensor of two others.)
#
# </details>


# %% tags=["question q3"]
def masked_forward(x, w1, w2, mask):
    """Replace the masked columns of x @ w1 by 1 and multiply the result by w2.

    Returns (d, f): the masked d of shape (n, h), and f = d @ w2 of shape (n, o).
    """
    # BEGIN SOLUTION
    d = x @ w1
    d = torch.where(mask, torch.ones_like(d), d)
    return d, d @ w2
    # STUB
    # d = x @ w1
    # f = d @ w2
    # d[:, mask] = 1.0
    # return d, f
    # END SOLUTION


# %% tags=["check q3"]
def test_the_masked_values_enter_the_product(masked_forward):
    """In the task's example d is [[4, 1]] and f is [[14]], and f.sum().backward() reaches w1 and w2."""
    import torch

    w1 = torch.tensor([[2.0, 1.0], [1.0, -1.0]], requires_grad=True)
    w2 = torch.tensor([[3.0], [2.0]], requires_grad=True)
    d, f = masked_forward(torch.tensor([[1.0, 2.0]]), w1, w2, torch.tensor([False, True]))
    assert d.tolist() == [[4.0, 1.0]], f"d is {d.tolist()}, expected [[4.0, 1.0]]"
    assert f.tolist() == [[14.0]], f"f is {f.tolist()}, expected [[14.0]]: was it computed from the masked d?"
    try:
        f.sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        message = f"backward() failed: was d overwritten after its use? torch says: {reason}"
        raise AssertionError(message) from None
    assert w1.grad is not None, "w1.grad is None: the path from f back to w1 has been cut"
    assert w2.grad is not None, "w2.grad is None: the path from f back to w2 has been cut"


# %% [markdown] tags=["afterword q3"]
# A write that autograd sees, before the value is used, is an operation like any other: the masked columns get the
# gradient 0. Next trap: a write that autograd does not see raises no error, and the gradient is wrong.

# %% [markdown] tags=["claim S4.7", "claim S4.28", "claim S5.8"]
# ## Which value does an operation save?
#
# May you overwrite a computed tensor? That depends on which operations still need it. Some operations save their
# *input* for backward, some their *output*, and some nothing at all. They save only what the gradients need that will be
# computed: a product `x @ w` saves `x` for the gradient of `w`, and only if `w` requires grad
# ([Saved tensors](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors)). You can look:

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
h = a * 3

squared = h**2  # derivative 2 * h: needs its input
print(squared.grad_fn._saved_self is h)  # True, because what is saved is the tensor itself, not a copy

t = torch.tanh(h)  # derivative 1 - t**2: needs its output
print(t.grad_fn._saved_result.data_ptr() == t.data_ptr())  # True, because t is saved, in the same memory

shifted = h + 1  # derivative 1: needs no value
shifted.mul_(10)  # fine, because no operation has saved shifted
shifted.sum().backward()
print(a.grad.tolist())  # [30.0, 30.0], because the in-place factor 10 has been recorded

# %% tags=["drawn"]
# After a write to `t`, tanh finds its saved output at version 1, and backward refuses. The power has saved `h`.
h = a * 3
squared, t = h**2, torch.tanh(h)
t.detach().mul_(10)
xray(squared=squared, t=t, h=h, a=a)

# %% [markdown] tags=["claim S4.26", "claim S4.28"]
# There is no copy, so an overwritten value is lost, and autograd can only raise an error. So ask before every
# `+=`: *which operation produced this tensor, which operations have used it, and does any of them need its
# value?*
#
# You may have read that exactly two things forbid an in-place write: a leaf that requires grad, and a value
# that backward needs. Those are the two you meet daily. There are others: views of several outputs at once,
# views made under `no_grad()`, expanded memory (notebook 6), inference tensors (notebook 7). You need none of
# them here.

# %% [markdown]
# ## q4 · The residual that broke the sigmoid
#
# Write `residual_block(x, w)`, which returns `relu(sigmoid(x @ w) + x - 0.5)`. The given code wants to save
# memory with `+=`, `-=` and `relu_`, and fails in backward. Repair it.
#
# - Both `x` and `w` get the right gradient, also where `x` is the result of another block. The result has
#   memory of its own.
# - `relu` is torch's: where its input is exactly 0, it lets no gradient through. Where it lets
#   nothing through at all, the gradients are there and are 0.
# - Entries of `x @ w` may be as far from 0 as 1000, and no gradient is nan.
#
# You may use in-place operations wherever they do no harm.
#
# <details><summary>Hint 1</summary>
#
# Which value does the sigmoid save, its input or its output? Its derivative is `h * (1 - h)`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `h += x` overwrites the very output that the sigmoid has saved. If you hide the write from autograd, the error
# is gone, but backward computes the derivative from the wrong `h`. Where does the sum need memory of its own?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `+=` writes into the tensor that is there, and `+` makes a new one. Which of the given writes goes to what an
# operation has saved, and which may stay once that has changed?
#
# </details>


# %% tags=["question q4"]
def residual_block(x, w):
    """Compute relu(sigmoid(x @ w) + x - 0.5).

    Returns a tensor of shape (n, k) through which x and w get their gradients.
    """
    # BEGIN SOLUTION
    h = torch.sigmoid(x @ w)
    return torch.relu(h + x - 0.5)
    # STUB
    # h = torch.sigmoid(x @ w)
    # h += x
    # h -= 0.5
    # return h.relu_()
    # END SOLUTION


# %% tags=["check q4"]
def test_the_values_are_right(residual_block):
    """With w = 0 the result is relu(x), and backward() raises no error and reaches x and w."""
    import torch

    result = residual_block(torch.tensor([[1.0, -2.0]]), torch.zeros(2, 2, requires_grad=True))
    assert result.tolist() == [[1.0, 0.0]], f"the result is {result.tolist()}, expected [[1.0, 0.0]]"
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    w = torch.zeros(2, 2, requires_grad=True)
    try:
        residual_block(x, w).sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        message = f"backward() failed: was a value overwritten that it still needs? torch says: {reason}"
        raise AssertionError(message) from None
    assert x.grad is not None, "x.grad is None: the path from the result back to x has been cut"
    assert w.grad is not None, "w.grad is None: the path from the result back to w has been cut"


# %% [markdown] tags=["afterword q4"]
# The sigmoid has saved its output, and the sum of your function has its own storage. `tanh`, `exp`, `softmax` and `relu`
# save their output, too. `x @ w` saves `x` if `w` requires grad, and `w` if `x` does.

# %% [markdown]
# ## Bookkeeping is not part of the model
#
# Some tensors follow the training and are not trained: running means, target networks, a *teacher* that is
# the moving average of the *student*. Their update is bookkeeping. If autograd records it, it becomes a graph.
# Every new value is computed from the previous one. So the graph grows with every update, and memory with it.


# %%
def graph_size(tensor):
    """Count the autograd nodes behind a tensor."""
    found, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting.extend(parent for parent, _ in node.next_functions)
    return len(found)


student_weight = torch.ones(1, requires_grad=True)
average = torch.zeros(1)
for _ in range(3):
    average = 0.9 * average + 0.1 * student_weight
    print(graph_size(average))  # 3, 6, 9: it grows, because each average remembers the one before

# %% tags=["drawn"]
# Three updates, and the average remembers all of them: its graph leads through every older average to the weight.
xray(average=average, student_weight=student_weight)

# %% [markdown]
# It is not enough to write in place. If gradients are being recorded, an in-place write with a tensor that
# requires grad draws the target into the graph, even if the target was plain data before:

# %%
average = torch.zeros(1)
average.mul_(0.9).add_(student_weight, alpha=0.1)
print(average.requires_grad)  # True, because the write was recorded: average depends on student_weight

average = torch.zeros(1)
average.mul_(0.9).add_(student_weight.detach(), alpha=0.1)
print(average.requires_grad)  # False, because for autograd only plain numbers were added

# %% [markdown] tags=["claim S4.15"]
# You may also have read that the trick is always to write to "the alias that does not require grad and shares
# the memory", that is, to `w.detach()` or `w.data`. That is one way. Under `no_grad()` there is no alias
# at all: you write to `w` itself, and the write is not recorded. And one assignment looks like a write
# but is none: `t.data = s.data` copies nothing. It makes `t` use the memory of `s`, and from now on the two
# change together.

# %% [markdown]
# ## q5 · EMA teacher
#
# Write `ema_update(teacher, student, tau)` for two modules of the same architecture. The teacher is the
# exponential moving average (EMA) of the student:
#
# - every parameter of the teacher becomes `(1 - tau) * teacher + tau * student`, and stays the same object.
#   A parameter in two places moves once. One that the student has frozen moves, too.
# - every buffer of the teacher takes the student's value as it is, also with `persistent=False`. Buffers are not
#   averaged: some are integers, some `None`.
#
# No graph may hang on the teacher. A loss computed with the student before the update must still go back. The
# two never share memory, not even for `tau = 1`. The function returns nothing.
#
# <details><summary>Hint 1</summary>
#
# Call the given function and look at `list(teacher.parameters())`. Then print `grad_fn` of the tensors that have
# taken their place.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The update is bookkeeping. Do you want autograd to record it? And do you want new `Parameter` objects, or new
# values in the old ones? Think of `buffers()`, too.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `zip` gives the pairs. `lerp_` moves a tensor towards another by a fraction, and `copy_` takes values over, both
# in place. Which is for parameters, which for buffers, and what must not be recorded?
#
# </details>


# %% tags=["question q5"]
def ema_update(teacher, student, tau):
    """Move the teacher's parameters towards the student's, and copy the buffers.

    Returns None.
    """
    # BEGIN SOLUTION
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)
    # STUB
    # for (name, t), s in zip(list(teacher.named_parameters()), student.parameters()):
    #     path, _, attribute = name.rpartition(".")
    #     module = teacher.get_submodule(path)
    #     del module._parameters[attribute]  # a module refuses a computed tensor where a Parameter was
    #     setattr(module, attribute, (1 - tau) * t + tau * s)
    # END SOLUTION


# %% tags=["check q5"]
def test_the_teacher_keeps_its_parameters(ema_update):
    """The teacher keeps its Parameter objects, frozen and without grad_fn, and two updates give the average."""
    import torch

    teacher, student = torch.nn.Linear(2, 1).requires_grad_(False), torch.nn.Linear(2, 1)
    weight, bias = teacher.weight, teacher.bias
    ema_update(teacher, student, 0.25)
    assert teacher.weight.grad_fn is None, "teacher.weight has a grad_fn: the update was recorded as a graph"
    assert teacher.weight is weight, "teacher.weight is no longer the same Parameter object"
    assert teacher.bias is bias, "teacher.bias is no longer the same Parameter object"
    assert not teacher.weight.requires_grad, "teacher.weight requires grad now, but the teacher is frozen"
    torch.nn.init.zeros_(teacher.weight)
    torch.nn.init.ones_(student.weight)
    for expected in (0.25, 0.4375):
        ema_update(teacher, student, 0.25)
        seen = teacher.weight.flatten().tolist()
        told = f"from 0 towards 1 with tau = 0.25, the weights are {seen}, expected {expected}"
        assert all(abs(value - expected) < 1e-6 for value in seen), told


# %% [markdown] tags=["afterword q5"]
# Bookkeeping writes new values into the tensors that are there, and autograd does not record it. Next trap: `t.data = s.data`
# copies nothing, and afterwards the teacher is trained together with the student.

# %% [markdown] tags=["claim S4.3"]
# ## A name is not a tensor
#
# `i += 1` and `i = i + 1` look alike. The first writes into the tensor that `i` stands for. The second makes a
# *new* tensor, and the name `i` stands for it from now on. *Guess first:* what does `caller` hold after each
# of the two lines?

# %%
i = torch.zeros(3)
caller = i  # a second name for the same tensor
i += 1
print(caller is i, caller.tolist())
i = i + 1
print(caller is i, caller.tolist())

w = leaf = torch.ones(3, requires_grad=True)
w = w - 0.5
print(w.is_leaf)  # False, because the name w now stands for the result of a subtraction

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `True [1.0, 1.0, 1.0]`, because `+=` has written into the tensor that both names stand for. Then
# `False [1.0, 1.0, 1.0]`: `i` stands for a new tensor now, and `caller` sees nothing of it.
#
# </details>
#
# The line `w = w - 0.5` is the classic accident of training loops that are written by hand. The new `w` is not a
# leaf, so `backward()` leaves its `.grad` at `None`. The error appears only where this `.grad` is used, one iteration
# later.

# %% tags=["drawn"]
# The name `w` stands for the result of the subtraction. The leaf is still there, and gets the gradients; `w` gets none.
xray(w=w, leaf=leaf)

# %% [markdown]
# The second classic: `backward()` does not replace a `.grad` that is there, it *adds* to it.

# %%
w = torch.ones(3, requires_grad=True)
for _ in range(2):
    (2 * w).sum().backward()
    print(w.grad.tolist())  # [2.0, 2.0, 2.0], then [4.0, 4.0, 4.0], because the second is added to the first

# %% [markdown]
# ## q6 · Gradient descent by hand
#
# Write `fit_by_hand(w, X, y, lr, steps)`: plain gradient descent on the loss `((X @ w - y) ** 2).mean()`. In
# each of the `steps` steps, `w` moves by `-lr` times the gradient of the loss at the current `w`. The function
# returns a list of `steps` Python floats: the loss before each update, not rounded.
#
# - The caller's `w` is updated in place. Afterwards it is the same object in the same memory, and still a leaf
#   that requires grad. `w.grad` is `None` at the start, and at the end it is up to you.
# - All `steps` are taken, even if the loss becomes inf or nan.
# - Under `no_grad()` the function may raise an error.
#
# For example, with `X = [[1.], [2.]]`, `y = [[2.], [4.]]`, `w = [[0.]]` and `lr = 0.1`, two steps return
# `[10.0, 2.5]` and leave `w` at `[[1.5]]`.
#
# <details><summary>Hint 1</summary>
#
# Print `w.is_leaf` and `id(w)` after the first update. Is `w` still the caller's tensor?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `w = w - lr * w.grad` makes a new tensor with a history. `w -= lr * w.grad` writes into the old one, but the leaf
# rule forbids it while gradients are being recorded. Which part of the loop must autograd not record? And what
# stands in `w.grad` before the second `backward()`?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The loss needs a record, the update must not have one. And what does `backward()` do to a `.grad` that is there
# already?
#
# </details>


# %% tags=["question q6"]
def fit_by_hand(w, X, y, lr, steps):
    """Minimise ((X @ w - y) ** 2).mean() by plain gradient descent, updating w in place.

    Returns a list of steps floats, the loss before each update.
    """
    # BEGIN SOLUTION
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses
    # STUB
    # losses = []
    # for _ in range(steps):
    #     loss = ((X @ w - y) ** 2).mean()
    #     loss.backward()
    #     losses.append(loss.item())
    #     w = w - lr * w.grad
    # return losses
    # END SOLUTION


# %% tags=["check q6"]
def test_one_step_moves_the_caller_s_w(fit_by_hand):
    """One step moves the caller's w from 0 to 1, and three steps with lr = 0.02 return 10, 8.1 and 6.561."""
    import torch

    w = torch.zeros(1, 1, requires_grad=True)
    fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.1, 1)
    assert w.is_leaf, "the caller's w is no longer a leaf"
    assert w.item() != 0, "the caller's w has not moved: did the update go into another tensor?"
    assert abs(w.item() - 1) < 1e-5, f"the caller's w is {w.item()} after one step, expected 1.0"
    w = torch.zeros(1, 1, requires_grad=True)
    try:
        losses = fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.02, 3)
    except (AttributeError, RuntimeError, TypeError) as error:
        message = f"three steps did not run: is w still a leaf in the second one? The error was: {error}"
        raise AssertionError(message) from None
    assert isinstance(losses, list), f"a {type(losses).__name__} came back, expected a list"
    assert len(losses) == 3, f"{len(losses)} losses came back, expected 3"
    for seen, expected in zip(losses, (10.0, 8.1, 6.561)):
        message = f"the losses are {losses}, not 10, 8.1, 6.561: does each step use only its own gradient?"
        assert abs(seen - expected) < 1e-4, message


# %% [markdown] tags=["afterword q6"]
# The recording is off for the update only, and the old gradient is gone before the next `backward()`. `optimizer.step()`
# and `optimizer.zero_grad()` do exactly this.

# %% [markdown]
# ## End task · A last layer that begins anew
#
# A network is fine-tuned. In the middle of the training its last layer begins anew, and a moving average of its
# weight is kept for later. `train_and_restart(first, last, opt, average, batches, mask, tau, restart)` does for each batch
# `(x, y)` of `batches`, counted from 0:
#
# 1. Before the batch with the number `restart`, all weights and the bias of `last` become 0. Training goes on with them: `opt`
#    updates these fresh values. (What `opt` remembers of earlier steps is not touched.)
# 2. `h = torch.tanh(first(x))`, with its columns multiplied by `mask`, goes into `last`. The loss is
#    `F.mse_loss(last(h), y)`, and `opt` makes one step with its gradient, whatever stands in `.grad` before.
# 3. After the step, `average` becomes `(1 - tau) * average + tau * last.weight`, with the weight after the step.
#
# It returns the list of the losses, as floats, each before its step.
#
# - Both layers have a bias, all their parameters require grad, and `opt` holds just these. All tensors have the dtype of
#   the layers. Where no batch has the number `restart`, nothing begins anew.
# - The caller's `average` is plain data before, and after the call it still is: the same tensor in the same
#   memory, with new values and without a history. The parameters of `first` and `last` stay the same objects.
# - All gradients are those of the function in the text. What stands in `.grad` after the call is up to you.
#   The batches and `mask` stay as they are. The function is not called under `no_grad()`.
#
# The function below runs without an error. But units that `mask` switches off still learn, memory grows with every
# batch, and after the restart the loss does not fall as it should. Three bugs of this notebook are in it.


# %% tags=["question end"]
def train_and_restart(first, last, opt, average, batches, mask, tau, restart):
    """Train two layers, begin the second anew at one batch, and keep a moving average of its weight.

    Returns a list of floats, the loss of each batch before its step.
    """
    losses = []
    for number, (x, y) in enumerate(batches):
        # BEGIN SOLUTION
        if number == restart:
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
        h = torch.tanh(first(x)) * mask
        # STUB
        # if number == restart:
        #     last.weight = nn.Parameter(torch.zeros_like(last.weight))
        #     last.bias = nn.Parameter(torch.zeros_like(last.bias))
        # h = torch.tanh(first(x))
        # h.data.mul_(mask)  # h.mul_(mask) raises an error in backward
        # END SOLUTION
        loss = F.mse_loss(last(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        # BEGIN SOLUTION
        with torch.no_grad():
            average.lerp_(last.weight, tau)
        # STUB
        # average.mul_(1 - tau).add_(last.weight, alpha=tau)
        # END SOLUTION
        losses.append(loss.item())
    return losses


# %% tags=["check end"]
def test_the_three_symptoms(train_and_restart):
    """After the restart the last layer learns, a unit that is switched off does not, and the average is plain data."""
    import torch

    torch.manual_seed(0)
    first, last = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    average, off = torch.zeros(1, 2), first.weight[1].tolist()
    batches = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
    try:
        train_and_restart(first, last, opt, average, batches, torch.tensor([2.0, 0.0]), 0.1, 1)
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"the training of three batches stopped; torch says: {reason}") from None
    assert last.bias.item() != 0, "the last layer begins anew and stays at 0: it does not learn any more"
    assert first.weight[1].tolist() == off, "the unit that the mask switches off has learned something"
    assert not average.requires_grad, "the average requires grad: it remembers every batch of the training"


# %% [markdown] tags=["afterword end"]
# The three bugs: a new `Parameter` that the optimizer does not know, a write through `.data` that autograd does not see, and
# bookkeeping that autograd records. None of them raises an error, and the first two look like the repair of one.

# %% [markdown]
# ## What to keep
#
# - A leaf that requires grad is written to under `no_grad()`, and never while gradients are being recorded.
# - `backward()` notices an overwritten value only by its `_version`. `.data` and NumPy leave the counter alone,
#   so they turn an error into a wrong gradient.
# - A recorded write is part of the function; a hidden one makes the gradient of another function.
# - Optimizers and tied modules hold *objects*. Change values in place, do not replace the object.
# - Bookkeeping belongs under `no_grad()`, or it grows into a graph.
#
# All writes of this notebook go to whole tensors, or to parts of a tensor by its own name. The next notebook,
# `06_views`, looks at several tensors that share one memory.
