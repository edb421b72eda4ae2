# %% [markdown] tags=["claim S4.17", "claim S4.19"]
# # 5. Writing in place and re-initialising a leaf
#
# An *in-place* operation writes new values into the storage that a tensor already has: `fill_`, `add_`, `+=`,
# `w[0] = 1`. You need such writes to re-initialise a weight in the middle of training, to update it by hand,
# or to overwrite an intermediate result. But `backward()` may still need the old values. In this notebook you
# will learn
#
# - which writes autograd allows, and which of them `backward()` detects;
# - how to give a parameter new values so that its optimizer keeps training it;
# - how a recorded write changes the gradient;
# - how to update an average or a weight without recording the update.
#
# You may have read that autograd "does not support most in-place operations", and that "you never need them".
# Neither is true. Autograd records a write to a non-leaf and differentiates it like any other operation. And
# every `optimizer.step()`, every function of `nn.init` and every running mean of a BatchNorm layer writes in
# place. PyTorch's documentation has the rules in [In-place operations with
# autograd](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd).
#
# The code and the claims about PyTorch in this notebook were tested with torch 2.13.
#
# **Rules for all questions**, unless a task says otherwise:
#
# - **No side effects.** Change only what the task asks you to change. Leave everything else that belongs to
#   the caller unchanged: values, `.grad`, `requires_grad`, hooks, attributes, lists and optimizer state.
# - **Modes.** Run every module in its current mode, `train()` or `eval()`, and leave it in that mode.
#   Submodules may be in different modes. Changes that a module's own `forward` makes may remain.
# - **Settings.** Restore every global setting that you change, such as the gradient mode.
# - **Don't cache.** Your function may be called again, with the same objects or with others, and values may
#   change between calls. Each call must use the values it is given. Don't modify a result that an earlier
#   call returned.
# - **Full precision.** The relative error of results and gradients must be at most 1e-12 in float64 and 1e-5
#   in float32.
# - **Gradients.** Gradients must be those of the function that the task describes.
# - **`no_grad()`.** Your function may be called under `no_grad()`. Its results may then be connected to the
#   graph or not.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown] tags=["claim S4.8", "claim S4.9", "claim S4.10", "claim S4.11", "claim S4.20"]
# ## Two rules and one counter
#
# **The leaf rule.** While gradients are being recorded, you must not write to a leaf that requires grad, not
# even before its first use. The write itself raises an error, and the old values stay. (Older texts say that
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
# derivative is `2 * b`. Saving makes no copy. Instead, autograd notes the tensor's `_version`, the number of
# times it has been written to so far. `backward()` compares this number with the current one.

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
# `backward()` raises an error: the multiplication saved `b` at version 0, and `b` is now at version 1.
xray(loss=loss, b=b, a=a)

# %% [markdown]
# You can draw such pictures yourself, of any tensor you have at hand, if the course's `grader` package is
# installed: remove the `#` below.

# %%
# from grader import xray
# xray(loss=loss, b=b, a=a)

# %% [markdown] tags=["claim S4.4", "claim S4.12", "claim S4.13", "claim S4.14"]
# The counter is the only alarm there is. `backward()` compares two numbers, and never looks at the values. If
# the counter does not count a write, `backward()` does not detect it, and computes the gradient from the
# values that are in memory now. So you should know which writes are counted. *Guess first:* which three
# version numbers does this cell print?

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
# 1, 2 and again 2. `no_grad()` stops the recording, not the counting. `detach()` shares the storage *and* the
# counter. `.data` shares the storage, but has its own counter: the counter of `w` does not count this write.
#
# </details>
#
# The counter doesn't count writes through NumPy views (`w.detach().numpy()`) or assignments such as
# `w.data = other_tensor`, either. If you look at `_version` yourself, ask whether it has increased, not by
# how much: `w[0] += 1` under `no_grad()` counts twice, and the weight of a new `nn.Linear` is already at 1.
# The counter also counts `optimizer.step()`, which writes to the weight itself under `no_grad()`, and not to
# `w.data`, as you may have read.
#
# So the common advice "change a leaf through `w.data`, `w.detach()` or `no_grad()`, it is all the same" is
# only half right. All three change the values. But only with `w.detach()` and `no_grad()` does the backward
# of a loss that needs the old values raise an error.

# %% [markdown]
# ## q1 · Re-initialise a leaf, safely
#
# Write `reinit_(w, value)`:
#
# 1. Fill `w` with the number `value`.
# 2. Return `w` itself.
#
# After the call, `w` must be the same object with the same storage, and still a leaf that requires grad. Its
# old values may be `nan` and `inf`. `w` may be transposed. It may also use only part of its storage: don't
# change the other numbers there.
#
# The caller may hold a loss that was computed from the old values. Some losses, such as `(w * w).mean()`,
# need the old values in backward. The backward of such a loss must raise autograd's error. It must not
# silently use the new values.
#
# The starter code raises an error. Fix it.
#
# **No side effects.** Change only the values of `w`. You may leave anything in `w.grad`.
#
# **Example.** For `w = [10., 5., nan]` and `value = 7.0`, `w` becomes `[7., 7., 7.]`.
#
# <details><summary>Hint 1</summary>
#
# The error names two properties of `w`: it is a leaf, and it requires grad. Both must still be true after the
# call.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The leaf rule holds only while gradients are being recorded. You have just seen three ways to write without
# recording. Compare `w._version` before and after each of them: which ways does the backward of an earlier
# loss detect?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line `w.fill_(value)` may stay. Change the mode in which it runs, and restore this mode after it.
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
    """`w` is filled and still the same leaf."""
    import torch

    w = torch.tensor([10.0, 5.0, 2.0, 3.0], requires_grad=True)
    try:
        result = reinit_(w, 7.0)
    except RuntimeError as error:
        raise AssertionError(f"reinit_ raised an error: {error}") from None
    assert w.tolist() == [7.0, 7.0, 7.0, 7.0], f"The caller's w holds {w.tolist()} instead of 7 everywhere."
    assert result is w, (
        "reinit_ returned a new object instead of w: an optimizer that holds w would never see it."
    )
    assert w.is_leaf, "w is no longer a leaf, so backward() would leave its .grad at None."
    assert w.requires_grad, "w no longer requires grad, so it would never be trained again."


# %% [markdown] tags=["afterword q1"]
# `no_grad()` stops the recording and not the counting, so the backward of an earlier loss raises an error.
# `w.data.fill_(value)` gives the same `w`, but then that backward silently computes a wrong gradient.

# %% [markdown]
# ## Who holds the parameter?
#
# An optimizer does not know your model. It keeps the `Parameter` *objects* that it got when it was created
# ([torch.optim](https://docs.pytorch.org/docs/stable/optim.html)), and stores its momentum for these objects.
# Names like `model.weight` play no part in it.

# %%
layer = nn.Linear(3, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
held = optimizer.param_groups[0]["params"]
print(layer.weight is held[0])  # True, because the optimizer got this very object

layer.weight = nn.Parameter(torch.zeros(2, 3))
print(layer.weight is held[0])  # False, because the name now refers to a new object

before = layer.weight.tolist()
layer(torch.ones(1, 3)).sum().backward()
optimizer.step()
print(layer.weight.grad is not None)  # True, because backward reaches the new object as usual
print(layer.weight.tolist() == before)  # True, because step() updated the old one

# %% tags=["drawn"]
# The loss is connected to the new weight. No path leads to the old weight, which the optimizer holds.
out = layer(torch.ones(1, 3)).sum()
xray(loss=out, weight=layer.weight, bias=layer.bias, held_by_optimizer=held[0])

# %% [markdown] tags=["claim S4.21", "claim S4.22", "claim S4.25"]
# No error was raised, and the new weight even has a gradient. But it will never learn. The same happens to
# modules with *tied* weights, which share one `Parameter`: if you replace it in one place, the other place
# keeps the old one.
#
# `model.double()` avoids this problem. It assigns `param.data = ...` (in `nn.Module._apply`): every
# `Parameter` object stays and gets new storage, and the optimizer still holds it.
#
# Beware of a line that is copied a lot, `w.data = w.data.normal()`. It raises an `AttributeError`, because a
# tensor has only the in-place method for normal values: `normal_()`, with the underscore. And if you meet
# `torch.FloatTensor(10)` in old code: that is not the number 10, but ten numbers of uninitialised memory.

# %% [markdown]
# ## q2 · Re-initialise a layer the optimizer already knows
#
# Write `reset_layer(model, name)`. In the middle of training, it resets the `nn.Linear` called `name`:
#
# 1. Draw every weight from a normal distribution with mean 0 and standard deviation 0.02, independently of
#    its old value, of all other weights and of other calls.
# 2. Set every bias to 0.
# 3. Return nothing.
#
# Training continues: the optimizer must update the fresh values, and a module that shares the weight must
# still share it. No earlier loss is needed any more, and the layer has no hooks.
#
# With the starter code, the layer never learns again. Fix it.
#
# **No side effects.** Change nothing else in the model. A frozen weight gets fresh values, and must stay
# frozen. The storage and the `.grad` of its parameters may change.
#
# **Example.** If `"fc"` is an `nn.Linear(100, 10)`, its 10 biases become 0, and about 950 of its 1,000
# weights are between -0.04 and 0.04.
#
# <details><summary>Hint 1</summary>
#
# Call the starter code, and compare `id(layer.weight)` with the ids of the objects in
# `optimizer.param_groups[0]["params"]`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `nn.Parameter(...)` creates a new object, and the optimizer and the tied module keep the old one. Give new
# values to the object that is already there.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The functions of [torch.nn.init](https://docs.pytorch.org/docs/stable/nn.init.html) write in place, and stop
# the recording themselves. You need two of them, one for the weight and one for the bias.
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
    """The optimizer still updates the layer's parameters."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reset_layer(model, "1")
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for name, parameter in model[1].named_parameters():
        assert id(parameter) in held, (
            f"The layer's {name} is a new object, but the optimizer still updates the old one."
        )
    weight, bias = model[1].weight.tolist(), model[1].bias.tolist()
    assert bias == [0.0], f"After the reset, the bias is {bias} instead of 0."
    model(torch.ones(2, 4)).sub(1).sum().backward()
    optimizer.step()
    assert model[1].bias.tolist() != bias, (
        "optimizer.step() did not change the bias, so it is not trained any more."
    )
    assert model[1].weight.tolist() != weight, (
        "optimizer.step() did not change the weight, so it is not trained any more."
    )


# %% [markdown] tags=["afterword q2"]
# The optimizer and a tied module hold the object, so write new values into the old object. Next trap: the
# optimizer still has the momentum that belongs to the old values.

# %% [markdown] tags=["claim S4.24", "claim S4.27"]
# ## A recorded write is part of the function
#
# Suppose that you write to a *non-leaf* while gradients are being recorded. Then the write becomes part of
# the function that is differentiated, and the tensor is now the result of the write. *Guess first:* what is
# the gradient of `w1` below, after all of `d` was overwritten?

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
# `d` is the result of the write, Fill. The path to `w1` is still there, and the gradient along it is 0.
d = x @ w1
d[:] = 1.0
xray(loss=(3 * d).sum(), d=d, w1=w1)

# %% [markdown] tags=["claim S4.23", "claim S4.24"]
# <details><summary>What you should have seen</summary>
#
# `[[0.0], [0.0]]`: `d` is 1, whatever `w1` is. A value that was overwritten no longer depends on `w1`.
#
# </details>
#
# An often-copied example has two versions. The first computes `f = d @ w2` and then writes `d[:] = 1`:
# `backward()` raises an error, because the product saved the old `d`. The second writes first, as above, and
# ends with the words "no problem any more". True, there is no error. But look at the gradient: this `w1` can
# never learn again. The gradient is *right* for this function, so make sure that this is the function you
# want.
#
# Now the same write, hidden from autograd:

# %%
w1 = torch.tensor([[2.0], [1.0]], requires_grad=True)
d = x @ w1
d.detach()[:] = 1.0  # not recorded
(3 * d).sum().backward()
print(w1.grad.tolist())  # [[3.0], [6.0]], because for autograd d is still x @ w1

# %% [markdown] tags=["claim S4.18"]
# Again there is no error, and this time the gradient is wrong: it says that `d` changes with `w1`, and `d`
# does not. The counter could not help, because no operation had saved the old `d` when it was overwritten. So
# "no error" does not mean "the gradient is right". Ask two things about every write: does it come *before*
# the value is used, and does autograd *record* it?

# %% [markdown]
# ## q3 · Overwrite, then multiply - or the other way round?
#
# Write `masked_forward(x, w1, w2, mask)`:
#
# 1. Compute `d = x @ w1`, and replace by 1 the columns of `d` where `mask` is true.
# 2. Compute `f = d @ w2` from this masked `d`.
# 3. Return the pair `(d, f)`.
#
# A loss computed from `f` must give `x`, `w1` and `w2` the right gradients. In the masked columns, the
# gradient of `w1` is exactly 0. (If all columns are masked, it may also be `None`.) The returned `d` may be
# connected to the graph or not. If it is connected, a loss computed from `d` must give the right gradients,
# too.
#
# All numbers, including those of `x @ w1`, are finite, and may be large. The function is not called under
# `no_grad()`.
#
# The starter code fails in backward. Fix it.
#
# **No side effects.** Leave all arguments unchanged.
#
# **Example.** `x = [[1., 2.]]`, `w1 = [[2., 1.], [1., -1.]]`, `w2 = [[3.], [2.]]` and `mask = [False, True]`
# give `d = [[4., 1.]]` and `f = [[14.]]`. The gradient of `f.sum()` with respect to `w1` is
# `[[3., 0.], [6., 0.]]`.
#
# <details><summary>Hint 1</summary>
#
# The product `d @ w2` saves `d`, because the gradient of `w2` needs it. Which version of `d` does the starter
# code save, and which version does `backward()` find?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Mask `d` before it is used: this also makes `f` right. And let autograd record it. Otherwise `w1` gets a
# gradient for columns that it no longer determines.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `d` is a non-leaf, so autograd records a write to it. Which of the lines must come first? (Without a write,
# `torch.where` makes a new tensor from two others.)
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
    """`f` is computed from the masked `d`."""
    import torch

    w1 = torch.tensor([[2.0, 1.0], [1.0, -1.0]], requires_grad=True)
    w2 = torch.tensor([[3.0], [2.0]], requires_grad=True)
    d, f = masked_forward(torch.tensor([[1.0, 2.0]]), w1, w2, torch.tensor([False, True]))
    assert d.tolist() == [[4.0, 1.0]], f"d is {d.tolist()} instead of [[4.0, 1.0]]."
    assert f.tolist() == [[14.0]], f"f is {f.tolist()} instead of [[14.0]]: compute it from the masked d."
    try:
        f.sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        message = f"backward() raised an error: {reason}"
        raise AssertionError(message) from None
    assert w1.grad is not None, "w1.grad is None: f is not connected to w1."
    assert w2.grad is not None, "w2.grad is None: f is not connected to w2."


# %% [markdown] tags=["afterword q3"]
# A recorded write before the value is used is an operation like any other: the masked columns get the
# gradient 0. Next trap: a write that autograd does not record raises no error, and the gradient is wrong.

# %% [markdown] tags=["claim S4.7", "claim S4.28", "claim S5.8"]
# ## Which value does an operation save?
#
# May you overwrite a non-leaf? That depends on which operations still need its value. Some operations save
# their *input* for backward, some their *output*, and some save nothing. They save only what the backward
# pass needs for the gradients that it will compute: a product `x @ w` saves `x` for the gradient of `w`, and
# only if `w` requires grad ([Saved
# tensors](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors)). You can look:

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
h = a * 3

squared = h**2  # derivative 2 * h: needs its input
print(squared.grad_fn._saved_self is h)  # True, because the saved tensor is h itself, not a copy

t = torch.tanh(h)  # derivative 1 - t**2: needs its output
print(t.grad_fn._saved_result.data_ptr() == t.data_ptr())  # True, because t is saved, in the same memory

shifted = h + 1  # derivative 1: needs no value
shifted.mul_(10)  # fine, because no operation has saved shifted
shifted.sum().backward()
print(a.grad.tolist())  # [30.0, 30.0], because the in-place factor 10 was recorded

# %% tags=["drawn"]
# After a write to `t`, the output that `tanh` saved is at version 1, so backward fails. The power saved `h`.
h = a * 3
squared, t = h**2, torch.tanh(h)
t.detach().mul_(10)
xray(squared=squared, t=t, h=h, a=a)

# %% [markdown] tags=["claim S4.26", "claim S4.28"]
# Saving makes no copy, so an overwritten value is lost, and autograd can only raise an error. Before every
# `+=`, ask: *which operation produced this tensor, which operations have used it, and does any of them need
# its value?*
#
# You may have read that exactly two things forbid an in-place write: a leaf that requires grad, and a value
# that backward needs. You meet those two daily. There are others: views that one operation returned together,
# views made under `no_grad()`, expanded tensors (notebook 6), inference tensors (notebook 7). You need none
# of them here.

# %% [markdown]
# ## q4 · The residual that broke the sigmoid
#
# Write `residual_block(x, w)`:
#
# 1. Return `relu(sigmoid(x @ w) + x - 0.5)`, a tensor with its own storage.
# 2. Its backward must give `x` and `w` the right gradients, even if `x` is the output of another block.
#
# Where the input of `relu` is exactly 0, its gradient is 0, as in `torch.relu`. If the result is 0
# everywhere, the gradients must be zeros, and not `None`. Entries of `x @ w` are between -1000 and 1000, and
# no gradient may be `nan`.
#
# The starter code tries to save memory with `+=`, `-=` and `relu_`, and fails in backward. Fix it. You may
# use in-place operations wherever they are safe.
#
# **No side effects.** Leave `x` and `w` unchanged.
#
# **Example.** For `x = [[1., -2.]]` and `w = [[0., 0.], [0., 0.]]`, the result is `[[1., 0.]]`. The gradients
# of its sum are `[[1., 0.]]` for `x` and `[[0.25, 0.], [-0.5, 0.]]` for `w`.
#
# <details><summary>Hint 1</summary>
#
# The derivative of the sigmoid is `h * (1 - h)`, where `h` is its output. So the sigmoid saves its output,
# and not its input.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `h += x` overwrites the very output that the sigmoid saved. If you hide the write from autograd, the error
# is gone, but backward computes the derivative from the wrong `h`. The sum needs its own storage.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `+=` writes into the existing tensor, and `+` makes a new one. One write of the starter code goes to a saved
# tensor. The other writes may stay, once they go to a tensor that no operation saved.
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
    """With `w = 0` the result is `relu(x)`."""
    import torch

    result = residual_block(torch.tensor([[1.0, -2.0]]), torch.zeros(2, 2, requires_grad=True))
    assert result.tolist() == [[1.0, 0.0]], f"The result is {result.tolist()} instead of [[1.0, 0.0]]."
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    w = torch.zeros(2, 2, requires_grad=True)
    try:
        residual_block(x, w).sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        message = f"backward() raised an error: {reason}"
        raise AssertionError(message) from None
    assert x.grad is not None, "x.grad is None: the result is not connected to x."
    assert w.grad is not None, "w.grad is None: the result is not connected to w."


# %% [markdown] tags=["afterword q4"]
# The sigmoid saved its output, and your sum has its own storage. `tanh`, `exp`, `softmax` and `relu` save
# their output, too. `x @ w` saves `x` if `w` requires grad, and `w` if `x` does.

# %% [markdown]
# ## Bookkeeping is not part of the model
#
# Some tensors change during training but are not trained: running means, target networks, a *teacher* that is
# the moving average of the *student*. Their update is bookkeeping. If autograd records it, every new value
# has a graph that leads to the previous value. So the graph grows with every update, and memory with it.


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
    print(graph_size(average))  # 3, 6, 9, because each average is computed from the one before

# %% tags=["drawn"]
# After three updates, the graph of the average leads through every older average to the weight.
xray(average=average, student_weight=student_weight)

# %% [markdown]
# It is not enough to write in place. While gradients are being recorded, an in-place operation with a tensor
# that requires grad connects its target to the graph, even if the target did not require grad before:

# %%
average = torch.zeros(1)
average.mul_(0.9).add_(student_weight, alpha=0.1)
print(average.requires_grad)  # True, because the write was recorded: average depends on student_weight

average = torch.zeros(1)
average.mul_(0.9).add_(student_weight.detach(), alpha=0.1)
print(average.requires_grad)  # False, because a detached tensor is a constant for autograd

# %% [markdown] tags=["claim S4.15"]
# You may also have read that the trick is always to write to "the alias that does not require grad and shares
# the memory", that is, to `w.detach()` or `w.data`. That is one way. Under `no_grad()` you need no alias: you
# write to `w` itself, and the write is not recorded. And one assignment looks like a write but is none:
# `t.data = s.data` copies nothing. It makes `t` use the storage of `s`, so from now on a write to one of them
# changes both.

# %% [markdown]
# ## q5 · EMA teacher
#
# A teacher is the exponential moving average (EMA) of a student, a module of the same architecture.
#
# Write `ema_update(teacher, student, tau)`:
#
# 1. Update every parameter of the teacher to `(1 - tau) * teacher + tau * student`. Update each parameter
#    exactly once, including one that two modules share and one that is frozen in the student.
# 2. Copy every buffer of the student to the teacher, even a buffer with `persistent=False`. Don't average
#    buffers: some are integers, some are `None`.
# 3. Return nothing.
#
# No tensor of the teacher may be connected to a graph or share storage with the student, even for `tau = 1`.
# Earlier losses of the student must still backpropagate.
#
# The starter code leaves the teacher without parameters. Fix it.
#
# **No side effects.** Leave the student unchanged. The teacher's parameters must stay the same objects, but
# may get new storage.
#
# **Example.** If a weight is 2 in the teacher and 6 in the student, and `tau = 0.25`, it becomes 3 in the
# teacher.
#
# <details><summary>Hint 1</summary>
#
# Call the starter code and look at `list(teacher.parameters())`. Then print `grad_fn` of the tensors that
# have taken their place.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The update is bookkeeping, so autograd must not record it. And write new values into the old `Parameter`
# objects, instead of making new ones. Don't forget `buffers()`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `zip` gives the pairs. `lerp_` moves a tensor towards another by a fraction, and `copy_` copies values, both
# in place. One is for parameters, the other for buffers.
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
    #     del module._parameters[attribute]  # a module accepts only a Parameter where a Parameter was
    #     setattr(module, attribute, (1 - tau) * t + tau * s)
    # END SOLUTION


# %% tags=["check q5"]
def test_the_teacher_keeps_its_parameters(ema_update):
    """The teacher keeps its parameters and gets averages."""
    import torch

    teacher, student = torch.nn.Linear(2, 1).requires_grad_(False), torch.nn.Linear(2, 1)
    weight, bias = teacher.weight, teacher.bias
    ema_update(teacher, student, 0.25)
    assert teacher.weight.grad_fn is None, (
        "teacher.weight has a grad_fn: autograd must not record the update."
    )
    assert teacher.weight is weight, (
        "teacher.weight is a new object: write the new values into the old Parameter."
    )
    assert teacher.bias is bias, "teacher.bias is a new object: write the new values into the old Parameter."
    assert not teacher.weight.requires_grad, "teacher.weight requires grad now, but the teacher is frozen."
    torch.nn.init.zeros_(teacher.weight)
    torch.nn.init.ones_(student.weight)
    for expected in (0.25, 0.4375):
        ema_update(teacher, student, 0.25)
        seen = teacher.weight.flatten().tolist()
        message = f"From 0 towards 1 with tau = 0.25, the weights are {seen} instead of {expected}."
        assert all(abs(value - expected) < 1e-6 for value in seen), message


# %% [markdown] tags=["afterword q5"]
# Bookkeeping writes new values into existing tensors, and autograd does not record it. Next trap:
# `t.data = s.data` copies nothing, and from then on the teacher changes with every step of the student.

# %% [markdown] tags=["claim S4.3"]
# ## A name is not a tensor
#
# `i += 1` and `i = i + 1` look alike. The first writes into the tensor that `i` refers to. The second creates
# a *new* tensor, and from then on the name `i` refers to it. *Guess first:* what does `caller` hold after
# each of the two lines?

# %%
i = torch.zeros(3)
caller = i  # a second name for the same tensor
i += 1
print(caller is i, caller.tolist())
i = i + 1
print(caller is i, caller.tolist())

w = leaf = torch.ones(3, requires_grad=True)
w = w - 0.5
print(w.is_leaf)  # False, because the name w now refers to the result of a subtraction

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `True [1.0, 1.0, 1.0]`, because `+=` wrote into the tensor that both names refer to. Then
# `False [1.0, 1.0, 1.0]`: `i` now refers to a new tensor, and `caller` still refers to the old one.
#
# </details>
#
# The line `w = w - 0.5` is a classic bug of training loops that are written by hand. The new `w` is not a
# leaf, so `backward()` leaves its `.grad` at `None`. The error appears only where this `.grad` is used, one
# iteration later.

# %% tags=["drawn"]
# The name `w` refers to the result of the subtraction. The leaf gets the gradients, and `w` gets none.
xray(w=w, leaf=leaf)

# %% [markdown]
# The second classic: `backward()` does not replace an existing `.grad`, it *adds* to it.

# %%
w = torch.ones(3, requires_grad=True)
for _ in range(2):
    (2 * w).sum().backward()
    print(w.grad.tolist())  # [2.0, 2.0, 2.0], then [4.0, 4.0, 4.0], because the second is added to the first

# %% [markdown]
# ## q6 · Gradient descent by hand
#
# Write `fit_by_hand(w, X, y, lr, steps)`, plain gradient descent on the loss `((X @ w - y) ** 2).mean()`. In
# each of the `steps` steps:
#
# 1. Compute the loss, and its gradient with respect to the current `w`.
# 2. Subtract `lr` times this gradient from the caller's `w`, in place.
#
# Return the losses, a list of `steps` Python floats, each from before its update. Take every step, even if
# the loss becomes `inf` or `nan`. When your function is called, `w.grad` is `None`. Under `no_grad()`, the
# function may raise an error.
#
# The starter code raises an error in the second step. Fix it.
#
# **No side effects.** Change only the values of `w`: it must stay the same leaf, with the same storage. You
# may leave anything in `w.grad`.
#
# **Example.** With `X = [[1.], [2.]]`, `y = [[2.], [4.]]`, `w = [[0.]]` and `lr = 0.1`, two steps return
# `[10.0, 2.5]`, and `w` becomes `[[1.5]]`.
#
# <details><summary>Hint 1</summary>
#
# Print `w.is_leaf` and `id(w)` after the first update. Is `w` still the caller's tensor?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `w = w - lr * w.grad` makes a new tensor with a history. `w -= lr * w.grad` writes into the old one, but the
# leaf rule forbids it while gradients are being recorded. So autograd must not record the update. And print
# `w.grad` before the second `backward()`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Autograd must record the loss, but not the update. And `backward()` adds to a `.grad` that is already there.
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
    """The caller's `w` moves; the losses are right."""
    import torch

    w = torch.zeros(1, 1, requires_grad=True)
    fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.1, 1)
    assert w.is_leaf, "The caller's w is no longer a leaf."
    assert w.item() != 0, "The caller's w is unchanged: write the update to this tensor."
    assert abs(w.item() - 1) < 1e-5, f"After one step, the caller's w is {w.item()} instead of 1.0."
    w = torch.zeros(1, 1, requires_grad=True)
    try:
        losses = fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.02, 3)
    except (AttributeError, RuntimeError, TypeError) as error:
        message = f"Three steps raised an error: {error}\nCheck whether w is still a leaf in the second step."
        raise AssertionError(message) from None
    assert isinstance(losses, list), f"The result is a {type(losses).__name__} instead of a list."
    assert len(losses) == 3, f"The list has {len(losses)} losses instead of 3."
    for seen, expected in zip(losses, (10.0, 8.1, 6.561)):
        message = (
            f"The losses are {losses} instead of 10, 8.1 and 6.561:\neach step must use only its own "
            "gradient."
        )
        assert abs(seen - expected) < 1e-4, message


# %% [markdown] tags=["afterword q6"]
# Autograd does not record the update, and the old gradient is cleared before the next `backward()`.
# `optimizer.step()` and `optimizer.zero_grad()` do exactly this.

# %% [markdown]
# ## Bonus task · A last layer that is reset
#
# In the middle of fine-tuning, the last layer of a network is reset. A moving average of its weight is kept.
#
# Write `train_and_restart(first, last, opt, average, batches, mask, tau, restart)`. For each batch `(x, y)`
# of `batches`, counted from 0:
#
# 1. Before the batch with the number `restart`, if there is one, set weight and bias of `last` to 0. `opt`
#    must keep training them. Don't change its state for that.
# 2. Compute `h = torch.tanh(first(x))`, multiply its columns by `mask`, and compute the loss
#    `F.mse_loss(last(h), y)`. Make one step of `opt` with the gradient of this loss only, whatever `.grad`
#    held before.
# 3. Update `average` to `(1 - tau) * average + tau * last.weight`, with the weight after the step.
#
# Return the losses, a list of floats, each from before its step.
#
# You can rely on this: both layers have a bias, and all their parameters require grad. `opt` holds exactly
# these. All tensors have the same dtype. The function is not called under `no_grad()`.
#
# The starter code has three of the bugs that this notebook is about. It raises no error. But units that
# `mask` switches off still learn, memory grows with every batch, and after the restart the loss does not fall
# as it should. There is no hint.
#
# **No side effects.** Change only `opt` and the values of `average` and of the parameters. These must stay
# the same tensors with the same storage, and `average` must not require grad. You may leave anything in
# `.grad`.
#
# **Example.** Both layers are `nn.Linear(1, 1)`, and weight and bias of `first` are 0. `opt` is SGD with
# `lr=0.25`, `average = [[1.]]`, `mask = [1.]`, `tau = 0.5` and `restart = 0`. There are two batches, both
# `([[1.]], [[2.]])`. The losses are `[4.0, 1.0]`, the bias of `last` becomes 1.5, and `average` becomes
# `[[0.25]]`.


# %% tags=["question end"]
def train_and_restart(first, last, opt, average, batches, mask, tau, restart):
    """Train two layers, reset the second at one batch, and keep a moving average of its weight.

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
    """The mask, the restart and the average work."""
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
        raise AssertionError(f"Training raised an error: {reason}") from None
    assert last.bias.item() != 0, (
        "After training, the bias of last is still 0: a step after the restart must change it."
    )
    assert first.weight[1].tolist() == off, (
        "The mask switches a unit off, but the weights of this unit have changed."
    )
    assert not average.requires_grad, "The average requires grad, but it must not be connected to a graph."


# %% [markdown] tags=["afterword end"]
# The three bugs: a new `Parameter` that the optimizer does not hold, a write through `.data` that autograd
# does not record, and an update of the average that autograd does record. None of them raises an error, and
# the first two look as if they fixed one.

# %% [markdown]
# ## What to remember
#
# - Write to a leaf that requires grad under `no_grad()`, and never while gradients are being recorded.
# - `backward()` detects an overwritten value only by its `_version`. `.data` and NumPy leave the counter
#   unchanged, so they turn an error into a wrong gradient.
# - A recorded write is part of the function. If a write is hidden, the gradient is that of another function.
# - Optimizers and tied modules hold *objects*. Change their values in place, and don't replace the object.
# - Bookkeeping belongs under `no_grad()`. Otherwise it grows into a graph.
#
# All writes of this notebook go to whole tensors, or to parts of a tensor through its own name. The next
# notebook, `06_views`, is about several tensors that share one storage.
