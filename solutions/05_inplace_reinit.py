# %% [markdown] tags=["claim S4.17", "claim S4.19"]
# # 5. Writing in place and starting a leaf afresh
#
# An *in-place* operation gives a tensor new values and lets it keep its memory: `fill_`, `add_`, `+=`,
# `w[0] = 1`. You need such writes all the time: to re-initialise a weight in the middle of training, to
# update it by hand, to overwrite an intermediate result. Autograd, however, still wants to use some of the
# old values in the backward pass, so every write raises two questions. *Does autograd allow it?* And, more
# important: *if it does, is the gradient still right?*
#
# You will read that autograd "does not support most in-place operations" and that "you never need them".
# Neither is true. A write to a computed tensor is recorded and differentiated like any other operation, and
# every `optimizer.step()`, every function of `nn.init` and every running mean of a BatchNorm layer writes in
# place. What it takes is knowing the rules, and that is what this notebook is about.
#
# Each question gives you a function that does not work yet. Run the cells from top to bottom, repair the
# function, and run the check below it. The check finds the bug you started with. The hidden checks look
# further, above all at gradients: several tempting repairs raise no error at all and are still wrong.
#
# No function may leave anything switched: whether gradients are recorded is after a call what it was before,
# be it on or off. And no hook of yours stays behind on what belongs to the caller.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown] tags=["claim S4.8", "claim S4.9", "claim S4.10", "claim S4.11", "claim S4.20"]
# ## Two rules and one counter
#
# **The leaf rule.** While gradients are being recorded, a leaf that requires grad must not be written to,
# not even before its first use. The write itself raises, and the old values stay. (Older texts claim that
# `w[:] = 0` succeeds and only `backward()` complains about a leaf "moved into the graph interior". For such
# an assignment that has been history since torch 1.8.)

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

# %% [markdown] tags=["claim S4.4", "claim S4.12", "claim S4.13", "claim S4.14"]
# The counter is the only alarm there is. `backward()` compares two numbers, never the values. So a write that
# the counter does not see is not noticed either, and the gradient is computed from whatever stands in
# memory now. That makes it worth knowing who counts:

# %%
w = torch.zeros(4, requires_grad=True)

with torch.no_grad():
    w.fill_(1.0)
print(w._version)  # 1, because no_grad() stops the recording, not the counting

w.detach().fill_(2.0)
print(w._version)  # 2, because detach() shares the memory and the counter

w.data.fill_(3.0)
print(w._version)  # 2 again, because .data shares the memory but has a counter of its own
print(w.tolist())  # [3.0, 3.0, 3.0, 3.0], because the write did happen

# %% [markdown] tags=["claim S3.6", "claim S4.6", "claim S4.16"]
# NumPy views (`w.detach().numpy()`) and `w.data = other_tensor` are just as invisible as `.data`. If you
# look at `_version` yourself, ask whether it has grown, not by how much: `w[0] += 1` under `no_grad()`
# counts twice, and the weight of a fresh `nn.Linear` already stands at 1. The counter sees `optimizer.step()`,
# too, which writes to the weight itself under `no_grad()`, not to `w.data` as you may have read.
#
# So the common advice "change a leaf through `w.data`, `w.detach()` or `no_grad()`, it is all the same" is
# only half right. All three change the values. They differ in what happens to somebody who still needs the
# old ones.

# %% [markdown]
# ## q1 · Re-initialise a leaf, safely
#
# Write `reinit_(w, value)`. It fills `w`, a leaf that requires grad (a vector, a matrix, ...; float32 or
# float64; contiguous or not), with the number `value`, and returns `w`. What stood in `w` before does not
# matter: a weight whose training has diverged is full of `nan` and `inf`, and it, too, holds `value` afterwards.
#
# - Afterwards `w` is the same object in the same memory, and still a leaf that requires grad.
# - Somebody may hold a loss that was computed from the *old* values of `w`. If its backward pass needs those
#   values, as in `(w * w).mean()`, it must raise an error. It must not silently deliver a gradient that
#   belongs neither to the old values nor to the new ones.
#
# `w.grad` is not part of this task.
#
# <details><summary>Hint 1</summary>
#
# Call the given function. The error text names two facts about `w`: that it is a leaf, and that it requires
# grad. Both must still be true afterwards, so it is the third condition you can change: that gradients are
# being recorded.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# You have just seen three ways to write without being recorded. Which of them would a loss that is still
# waiting for its `backward()` notice? Look at `w._version` before and after.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `with torch.no_grad():` around `w.fill_(value)`, then `return w`.
#
# </details>


# %% tags=["question q1"]
def reinit_(w, value):
    """Fill the trainable leaf w with value, in place.

    w: a leaf tensor that requires grad, of any shape with at least one dimension, contiguous or not.
    value: a float.
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
    """The caller's w holds the new value everywhere."""
    import torch

    w = torch.tensor([10.0, 5.0, 2.0, 3.0], requires_grad=True)
    try:
        reinit_(w, 7.0)
    except RuntimeError as error:
        raise AssertionError(f"reinit_ could not write to w; torch says: {error}") from None
    assert w.tolist() == [7.0, 7.0, 7.0, 7.0], f"the caller's w now holds {w.tolist()}, not 7 everywhere"


def test_w_is_still_the_same_trainable_leaf(reinit_):
    """What comes back is w itself, a leaf that requires grad."""
    import torch

    w = torch.tensor([[1.0, 2.0]], requires_grad=True)
    try:
        result = reinit_(w, -1.0)
    except RuntimeError as error:
        raise AssertionError(f"reinit_ could not write to w; torch says: {error}") from None
    assert result is w, "reinit_ returned another object: an optimizer that holds w would never see it"
    assert w.is_leaf, "w is no longer a leaf, so its .grad would stay None"
    assert w.requires_grad, "w no longer requires grad, so it would never be trained again"


# %% [markdown]
# ## Who holds the parameter?
#
# An optimizer does not know your model. It keeps the `Parameter` *objects* it was given when it was built,
# and its momentum is filed under these objects too. Names like `model.weight` play no part in it.

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

# %% [markdown] tags=["claim S4.21", "claim S4.22", "claim S4.25"]
# Nothing raised, the new weight even has a gradient, and still it will never learn. The same happens to
# modules with *tied* weights, which share one `Parameter`: replace it in one place, and the other place keeps
# the old one.
#
# `model.double()` does not fall into this trap. `nn.Module._apply`, which does its work, assigns
# `param.data = ...`: every `Parameter` object stays and gets new memory, and the optimizer still holds it.
#
# A small warning about a line that is copied a lot, `w.data = w.data.normal()`. It raises an
# `AttributeError`, because a tensor has only the in-place method for normal values: `normal_()`, with the
# underscore. And if you meet `torch.FloatTensor(10)` in old code: that is not the number 10, but ten numbers
# of uninitialised memory.

# %% [markdown]
# ## q2 · Re-initialise a layer the optimizer already knows
#
# Write `reset_layer(model, name)`. In the middle of training it gives one `nn.Linear` of `model` fresh values:
#
# - every weight is drawn anew from a normal distribution with mean 0 and standard deviation 0.02,
#   independently of its old value (which may be `nan` or `inf`), of all other weights and of every other call,
# - every bias becomes 0.
#
# `name` is the layer's only name in the model, such as `"fc"` or `"blocks.1.fc"`. The layer has a bias, and
# may be as small as `nn.Linear(1, 1)`. The optimizer was built long ago and is not passed in. Another module
# may be tied to the same weight. Training must simply go on: the optimizer updates the fresh values, and what
# was tied stays tied. The layer keeps its shape and its dtype (float32 or float64). Nothing else in the model
# changes: no other value or gradient (what you leave in the `.grad` of the layer itself is up to you), and no
# part switches between `train()` and `eval()` or between frozen and trainable: a frozen weight gets fresh
# values and stays frozen. The function returns nothing.
#
# <details><summary>Hint 1</summary>
#
# Compare `id(layer.weight)` before and after the call with the ids of the objects in
# `optimizer.param_groups[0]["params"]`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `nn.Parameter(...)` makes a new object, while the optimizer and the tied module keep the old one. You want
# to change the values of the object that is there already. The functions of `nn.init` do that, and they
# switch the recording off by themselves.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `nn.init.normal_(layer.weight, mean=0.0, std=0.02)` and `nn.init.zeros_(layer.bias)`.
#
# </details>


# %% tags=["question q2"]
def reset_layer(model, name):
    """Give the nn.Linear called name fresh values while training goes on.

    model: a module; an optimizer already holds its parameters.
    name: the layer's name, as model.get_submodule understands it.
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
    """After the reset, the layer's parameters are the ones the optimizer was given."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reset_layer(model, "1")
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for name, parameter in model[1].named_parameters():
        assert id(parameter) in held, f"the layer's {name} is a new object: the optimizer updates the old one"


def test_the_fresh_values_are_trained(reset_layer):
    """The bias is 0 after the reset, and one step of the optimizer moves weight and bias."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reset_layer(model, "1")
    weight, bias = model[1].weight.tolist(), model[1].bias.tolist()
    assert bias == [0.0], f"the bias is {bias} after the reset, not 0"
    model(torch.ones(2, 4)).sub(1).sum().backward()
    optimizer.step()
    assert model[1].bias.tolist() != bias, "optimizer.step() did not move the bias: it no longer learns"
    assert model[1].weight.tolist() != weight, "optimizer.step() did not move the weight: it no longer learns"


# %% [markdown] tags=["claim S4.24", "claim S4.27"]
# ## A write is part of the function, if autograd sees it
#
# Write to a *computed* tensor while gradients are being recorded, and the write becomes part of the function
# that is differentiated. From then on the tensor counts as the result of the write. What has been
# overwritten no longer depends on anything that came before it, so its gradient is zero.

# %%
x = torch.tensor([[1.0, 2.0]])
w1 = torch.tensor([[2.0], [1.0]], requires_grad=True)
d = x @ w1  # the matrix product
recorded_before = d.grad_fn
d[:] = 1.0  # recorded
print(d.grad_fn is recorded_before)  # False, because d is now the result of the write
(3 * d).sum().backward()
print(w1.grad.tolist())  # [[0.0], [0.0]], because d is 1 whatever w1 is

# %% [markdown] tags=["claim S4.23", "claim S4.24"]
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
# Again no error, and this time the gradient is wrong: it promises that `d` changes with `w1`, which it does
# not. The counter could not help, because nobody had saved the old `d` when it was overwritten. So "no error"
# does not mean "the gradient is right". Ask two things about every write: does it come *before* the
# value is used, and does autograd *see* it?

# %% [markdown]
# ## q3 · Overwrite, then multiply - or the other way round?
#
# Write `masked_forward(x, w1, w2, mask)`. First comes `d = x @ w1`. Then the columns of `d` where `mask` is
# true are replaced by 1, and this masked `d` goes into `f = d @ w2`. Return the pair `(d, f)` with the
# masked `d`.
#
# - `f` is computed from the masked `d`, and `f.sum().backward()` works.
# - `w1` gets the gradient of the function you computed: exactly 0 in the masked columns, whose values it does
#   not determine, and the usual gradient in all others. `w2` gets its gradient as well, and so does `x` if it
#   requires grad. A loss of the `d` that you return goes back to `w1` and `x` in the same way, unless this `d`
#   has no history.
# - The mask may be true in any number of columns, in none, or in all of them. If all are masked, nothing
#   depends on `w1` and `x`, and no gradient (`None`) is as good as zeros.
#
# For example, `x = [[1., 2.]]`, `w1 = [[2., 1.], [1., -1.]]`, `w2 = [[3.], [2.]]` and
# `mask = [False, True]` give `d = [[4., 1.]]` and `f = [[14.]]`. `x`, `w1`, `w2` and `mask` stay as they are:
# you write neither to them nor to their `.grad`.
#
# <details><summary>Hint 1</summary>
#
# The product `d @ w2` saves `d`, since the gradient of `w2` needs it. At which version was `d` then, and at
# which version is it when `backward()` looks?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Mask `d` before it is used, which also makes `f` right. And let autograd see it: behind its back, `w1` would
# get a gradient for columns it no longer determines.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `d = torch.where(mask, torch.ones_like(d), d)` between the two products. The recorded write
# `d[:, mask] = 1.0` in the same place is just as good.
#
# </details>


# %% tags=["question q3"]
def masked_forward(x, w1, w2, mask):
    """Replace the masked columns of x @ w1 by 1 and multiply the result by w2.

    x: (n, i), may require grad; w1: (i, h), requires grad; w2: (h, o), requires grad; all float32.
    mask: (h,), boolean, true for the columns to replace.
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
    """The example of the task: d is [[4, 1]] and f is [[14]]."""
    import torch

    w1 = torch.tensor([[2.0, 1.0], [1.0, -1.0]], requires_grad=True)
    w2 = torch.tensor([[3.0], [2.0]], requires_grad=True)
    d, f = masked_forward(torch.tensor([[1.0, 2.0]]), w1, w2, torch.tensor([False, True]))
    assert d.tolist() == [[4.0, 1.0]], f"d is {d.tolist()}, expected [[4.0, 1.0]]"
    assert f.tolist() == [[14.0]], f"f is {f.tolist()}, expected [[14.0]]: was it computed from the masked d?"


def test_backward_reaches_w1_and_w2(masked_forward):
    """f.sum().backward() raises no error and reaches w1 and w2."""
    import torch

    w1 = torch.tensor([[2.0, 1.0], [1.0, -1.0]], requires_grad=True)
    w2 = torch.tensor([[3.0], [2.0]], requires_grad=True)
    _, f = masked_forward(torch.tensor([[1.0, 2.0]]), w1, w2, torch.tensor([False, True]))
    try:
        f.sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        message = f"backward() failed: was d overwritten after its use? torch says: {reason}"
        raise AssertionError(message) from None
    assert w1.grad is not None, "w1.grad is None: the path from f back to w1 has been cut"
    assert w2.grad is not None, "w2.grad is None: the path from f back to w2 has been cut"


# %% [markdown] tags=["claim S4.7", "claim S4.28"]
# ## Which value does an operation save?
#
# Whether a computed tensor may be overwritten depends on who still needs it. Some operations save their
# *input* for backward, some their *output*, and some nothing at all. You can look:

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
h = a * 3

squared = h**2  # derivative 2 * h: needs its input
print(squared.grad_fn._saved_self is h)  # True, because what is saved is the tensor itself, not a copy

t = torch.tanh(h)  # derivative 1 - t**2: needs its output
print(t.grad_fn._saved_result.data_ptr() == t.data_ptr())  # True, because t is saved, in the same memory

shifted = h + 1  # derivative 1: needs no value
shifted.mul_(10)  # fine, because nobody has saved shifted
shifted.sum().backward()
print(a.grad.tolist())  # [30.0, 30.0], because the in-place factor 10 has been recorded

# %% [markdown] tags=["claim S4.26", "claim S4.28"]
# Since there is no copy, an overwritten value is lost, and all autograd can do is to raise an error. So here
# is the saved-value rule once more, as a question to ask before every `+=`: *which operation produced this
# tensor, which operations have used it, and does any of them need its value?*
#
# You may have read that exactly two things forbid an in-place write: a leaf that requires grad, and a value
# that is needed in backward. Those are the two you meet daily. There are others: views of several
# outputs at once, views made under `no_grad()`, expanded memory, inference tensors. None of them is needed
# here.

# %% [markdown]
# ## q4 · The residual that broke the sigmoid
#
# Write `residual_block(x, w)`, which returns `relu(sigmoid(x @ w) + x - 0.5)`. The given code wants to save
# memory with `+=`, `-=` and `relu_`, and fails in backward. Repair it.
#
# - The values stay as they are.
# - Backward works, and both `x` and `w` get the right gradient. Both may be leaves that require grad, and `x`
#   may also be plain data, or the result of another block. `relu` is torch's: where its input is exactly 0,
#   it lets no gradient through. (`clamp(min=0)` does.) Where it lets nothing through at all, the gradients
#   are there and are 0. Entries of `x @ w` may be as far from 0 as 1000, and no gradient is nan.
# - The caller's `x` and `w` stay as they are: you write neither to them nor to their `.grad`.
#
# In-place operations are welcome wherever they do no harm.
#
# <details><summary>Hint 1</summary>
#
# Which value does the sigmoid save, its input or its output? Its derivative is `h * (1 - h)`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `h += x` overwrites the very output that the sigmoid has saved. Hiding the write from autograd would silence
# the error, but the derivative would then be computed from the wrong `h`. The sum needs memory of its own.
# What is done to that new tensor afterwards, `relu_` included, harms nobody.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `h = h + x - 0.5` instead of the two in-place lines.
#
# </details>


# %% tags=["question q4"]
def residual_block(x, w):
    """Compute relu(sigmoid(x @ w) + x - 0.5).

    x: (n, k), may require grad; w: (k, k), requires grad; both float32 or both float64.
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
    """With w = 0 the sigmoid is 0.5 everywhere, and what remains is relu(x)."""
    import torch

    result = residual_block(torch.tensor([[1.0, -2.0]]), torch.zeros(2, 2, requires_grad=True))
    assert result.tolist() == [[1.0, 0.0]], f"the result is {result.tolist()}, expected [[1.0, 0.0]]"


def test_backward_reaches_x_and_w(residual_block):
    """backward() raises no error and reaches x and w."""
    import torch

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


# %% [markdown]
# ## Bookkeeping is not part of the model
#
# Some tensors follow the training without being trained: running means, target networks, a *teacher* that is
# the moving average of the *student*. Their update is bookkeeping. Recorded, it becomes a graph, and since
# every new value is computed from the previous one, that graph grows with every update and keeps all the old
# values alive.


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

# %% [markdown]
# Writing in place is not enough. If gradients are being recorded, an in-place write with a tensor that
# requires grad draws the target into the graph, even if it was plain data before:

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
# at all: you write to `w` itself, and the write is simply not recorded. And one assignment looks like a write
# but is none: `t.data = s.data` copies nothing. It makes `t` use the memory of `s`, and from then on the two
# change together.

# %% [markdown]
# ## q5 · EMA teacher
#
# Write `ema_update(teacher, student, tau)` for two modules of the same architecture. The teacher is the
# exponential moving average (EMA) of the student:
#
# - every parameter of the teacher takes the value `(1 - tau) * teacher + tau * student` and stays the same
#   `Parameter` object; one that stands in two places of the model is still one, and moves once;
# - every buffer of the teacher (the running statistics of BatchNorm, say) takes the student's value as it is,
#   also one that `state_dict()` leaves out (`persistent=False`). Do not average buffers: some are integers.
#
# The teacher is frozen: its parameters do not require grad. That must still be so afterwards, and however
# often the update runs, no graph may hang on them. Nothing else about the teacher changes, such as its
# `eval()` mode. The student is in the middle of its training: it does not change at all, its `.grad` included,
# and a loss computed with it before the update must still go back. The two must not share memory, not even
# for `tau = 1`. The function returns nothing.
#
# <details><summary>Hint 1</summary>
#
# Call the given function and look at `list(teacher.parameters())`. Then print `grad_fn` of what has taken
# their place.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The update is bookkeeping, not a computation you want to differentiate. Do it under `no_grad()`, in place,
# on the `Parameter` objects that are already there. Then go through `buffers()` as well.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Under `no_grad()`: for each pair of parameters `t.lerp_(s, tau)`, which moves `t` towards `s` by the fraction
# `tau`. For each pair of buffers `t.copy_(s)`.
#
# </details>


# %% tags=["question q5"]
def ema_update(teacher, student, tau):
    """Move the teacher's parameters towards the student's, and copy the buffers.

    teacher, student: modules of the same architecture; the teacher's parameters do not require grad.
    tau: a float from 0 to 1, both included, the weight of the student.
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
    """The teacher holds the same Parameter objects, without grad_fn and still frozen."""
    import torch

    teacher, student = torch.nn.Linear(2, 1).requires_grad_(False), torch.nn.Linear(2, 1)
    weight, bias = teacher.weight, teacher.bias
    ema_update(teacher, student, 0.25)
    assert teacher.weight.grad_fn is None, "teacher.weight has a grad_fn: the update was recorded as a graph"
    assert teacher.weight is weight, "teacher.weight is no longer the same Parameter object"
    assert teacher.bias is bias, "teacher.bias is no longer the same Parameter object"
    assert not teacher.weight.requires_grad, "teacher.weight requires grad now, but the teacher is frozen"


def test_two_updates_give_the_moving_average(ema_update):
    """From 0 towards 1 with tau = 0.25: 0.25 after one update, 0.4375 after two."""
    import torch

    teacher, student = torch.nn.Linear(2, 1).requires_grad_(False), torch.nn.Linear(2, 1)
    torch.nn.init.zeros_(teacher.weight)
    torch.nn.init.ones_(student.weight)
    for expected in (0.25, 0.4375):
        ema_update(teacher, student, 0.25)
        seen = teacher.weight.flatten().tolist()
        assert all(abs(value - expected) < 1e-6 for value in seen), f"weights {seen}, expected {expected}"


# %% [markdown] tags=["claim S4.3"]
# ## A name is not a tensor
#
# `i += 1` and `i = i + 1` look alike. The first writes into the tensor that `i` stands for. The second makes a
# *new* tensor and moves the name `i` over to it. Whoever else holds the old tensor sees nothing.

# %%
i = torch.zeros(3)
caller = i  # a second name for the same tensor
i += 1
print(caller is i, caller.tolist())  # True [1.0, 1.0, 1.0], because += has written into the shared tensor
i = i + 1
print(caller is i, caller.tolist())  # False [1.0, 1.0, 1.0], because i now stands for a new tensor

w = torch.ones(3, requires_grad=True)
w = w - 0.5
print(w.is_leaf)  # False, because the name w now stands for the result of a subtraction

# %% [markdown]
# That last line is the classic accident of training loops written by hand. The new `w` is not a leaf, so
# `backward()` leaves its `.grad` at `None`, and the error appears only one iteration later, in another line.
#
# The second classic: `backward()` does not set `.grad`, it *adds* to it.

# %%
w = torch.ones(3, requires_grad=True)
for _ in range(2):
    (2 * w).sum().backward()
    print(w.grad.tolist())  # [2.0, 2.0, 2.0], then [4.0, 4.0, 4.0], because the second is added to the first

# %% [markdown]
# ## q6 · Gradient descent by hand
#
# Write `fit_by_hand(w, X, y, lr, steps)`: plain gradient descent on the loss `((X @ w - y) ** 2).mean()`. In each
# of the `steps` steps, `w` moves by `-lr` times the gradient of the loss at the current `w`. The function
# returns a list of `steps` Python floats: the loss before each update.
#
# The caller's `w` is a leaf that requires grad, and its `.grad` is `None` at the start. It is updated in
# place, so that the caller sees the result in the very `w` that was passed in: the same object in the same
# memory, still a leaf that requires grad. What you leave in `w.grad` at the end is up to you. `X` and `y` are
# plain data and stay as they are. All `steps` are taken, whatever the loss does, even if it becomes inf or nan,
# and the losses are not rounded. The function is meant for a caller for whom gradients are being recorded; where
# they are not, it may raise an error.
#
# For example, with `X = [[1.], [2.]]`, `y = [[2.], [4.]]`, `w = [[0.]]` and `lr = 0.1`, two steps return
# `[10.0, 2.5]` and leave `w` at `[[1.5]]`.
#
# <details><summary>Hint 1</summary>
#
# Print `w.is_leaf` and `id(w)` after the first update. Is this still the caller's tensor?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `w = w - lr * w.grad` makes a new tensor with a history. `w -= lr * w.grad` writes into the old one, but as
# long as gradients are being recorded, the leaf rule forbids it. Switch the recording off for the update, and
# only for the update. And remember that gradients add up.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `with torch.no_grad():` around `w -= lr * w.grad`, and after it `w.grad = None`.
#
# </details>


# %% tags=["question q6"]
def fit_by_hand(w, X, y, lr, steps):
    """Minimise ((X @ w - y) ** 2).mean() by plain gradient descent, updating w in place.

    w: (k, 1), a leaf that requires grad; X: (n, k) and y: (n, 1), which do not; all float32 or all float64.
    lr: a float, the learning rate; steps: an int, the number of updates, 0 or more.
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
    """One step of the example moves the caller's w from 0 to 1."""
    import torch

    w = torch.zeros(1, 1, requires_grad=True)
    fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.1, 1)
    assert w.is_leaf, "the caller's w is no longer a leaf"
    assert w.item() != 0, "the caller's w has not moved: the update went into another tensor"
    assert abs(w.item() - 1) < 1e-5, f"the caller's w is {w.item()} after one step, expected 1.0"


def test_the_losses_of_three_steps(fit_by_hand):
    """Three steps of the example with lr = 0.02 return the losses 10, 8.1 and 6.561."""
    import torch

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


# %% [markdown]
# ## What to take along
#
# - A leaf that requires grad is written to under `no_grad()`, and never while gradients are being recorded.
# - `backward()` notices an overwritten value only by its `_version`. `.data` and NumPy leave the counter alone,
#   so they turn an error into a wrong gradient.
# - A recorded write is part of the function; a hidden one makes the gradient of another function.
# - Optimizers and tied modules hold *objects*. Change values in place, do not replace the object.
# - Bookkeeping belongs under `no_grad()`, or it grows into a graph.
