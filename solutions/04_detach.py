# %% [markdown]
# # 4. Detach
#
# `y.detach()` gives you the values of `y` without its history, the graph that computed it. Nearly every training
# script uses it, and there are two typical mistakes. First, `detach()` removes the *history* and still shares
# *storage*: a write to the result is a write to `y`. Second, a cut in the wrong place trains parameters that must
# not be trained, or none at all. In this notebook you will learn
#
# - what a detached tensor shares with the original, and when a write to it makes `backward()` raise an error;
# - which tensors an operation saves for backward;
# - how to choose which networks a loss trains;
# - how to combine the value of one formula with the gradient of another;
# - when to use `detach()` and when `no_grad()`;
# - how to find a gradient that is wrong although nothing raised an error.
#
# The code and the claims about PyTorch in this notebook were tested with torch 2.13.
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
# - **Results.** All tensors and parameters of a call are float32, or all are float64. A tensor that you return must
#   have the same dtype and its own storage: it must not share storage with an argument or an earlier result.
# - **Gradients.** Gradients must reach every input and every parameter that requires grad.
# - **`no_grad()`.** Your function may be called under `no_grad()`. It must then return tensors that don't require
#   grad, as PyTorch's own operations do.
# - **Networks.** They draw no random numbers and keep no running statistics, so you may call them as often as you
#   like.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown] tags=["claim S2.3", "claim S2.4"]
# ## Two tensors, one storage
#
# What does `detach()` do? It creates a *new tensor object* without a history. The old tensor keeps its history:

# %%
x = torch.tensor(3.0, requires_grad=True)
y = x + 1
z = y**2
c = y.detach()
print(c.grad_fn, c.requires_grad)  # None False, because c is not connected to a graph
print(y.requires_grad)  # True, because detach() returns a new tensor and does not change y
print(c.data_ptr() == y.data_ptr())  # True, because both share the same storage

# %% tags=["drawn"]
# Backward walks from `z` to `y` to `x`. The dotted line joins `y` and `c`, which share storage: no gradient flows there.
xray(z=z, y=y, x=x, c=c)

# %% [markdown] tags=["claim S2.8"]
# You may find this example drawn as a chain, `x -> y -> z -> c`. That is wrong: `c` was made from `y`, and `z` does
# not depend on it.
#
# You can draw such pictures of your own tensors and modules with the `grader` package of this course:

# %%
# Remove the `# ` of the two lines below and run the cell. Then draw tensors of your own.
# from grader import xray
# xray(z=z, y=y, x=x, c=c)

# %% [markdown]
# `c` and `y` share storage, so a write to either is a write to both. **Guess first:** `c.zero_()` writes to a
# tensor that is not connected to the graph. What does this line do? And what does `z.backward()` do after it?

# %%
c.zero_()
print(y.item())
try:
    z.backward()
except RuntimeError as error:
    print(str(error).partition(":")[0])

# %% [markdown] tags=["claim S2.1", "claim S2.5", "claim S2.11"]
# <details><summary>What you should have seen</summary>
#
# `0.0`, and then `one of the variables needed for gradient computation has been modified by an inplace
# operation`.
#
# The write succeeds. Many texts say that it is "not allowed, because `y` is part of the graph". Autograd does not forbid
# it. But `y**2` saved `y` for its backward, and `y._version` counts every write: `c` and `y` share this counter. When
# `z.backward()` needs the saved `y`, it compares the counter with the count at the time of saving, and raises the error.
#
# </details>
#
# You will often see this example with `retain_graph=True`. That makes no difference: without it, the error is the
# same.
#
# Now write through `.data`. It shares the storage too, but it has its own counter:

# %%
x = torch.tensor(3.0, requires_grad=True)
y = x + 1
z = y**2
y.data.zero_()
z.backward()
print(x.grad.item())  # 0.0, because backward used the y it found, and the right gradient is 2 * 4 = 8

# %% [markdown] tags=["claim S2.12", "claim S4.4", "claim S4.6", "claim S4.16"]
# There is no error, and the gradient is wrong. So the error above helped you. An old piece of advice calls `.data`
# "the safe `detach()`, because it never raises". The opposite is true. The [documentation of
# `Tensor.detach`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html) says that in-place
# changes of either tensor "may trigger errors in correctness checks", and these checks protect you.
#
# You can look at the counter yourself. "Every in-place operation adds exactly 1, starting from 0" is only nearly
# true. So ask whether the counter has increased, not by how much:

# %%
a = torch.zeros(3)
a.add_(1)
print(a._version)  # 1, because this was a single write
a[0] += 1
print(a._version)  # 3, because this line writes twice: to the view a[0], and back to a
a.numpy()[0] = 7.0
print(a._version)  # 3, because NumPy shares the storage but not the counter
print(nn.Linear(2, 2).weight._version)  # 1, because its values were drawn in place

# %% [markdown]
# ## q1 · Look, but do not touch
#
# You want to plot an activation `y` between forward and backward.
#
# Write `positive_part(y)`:
#
# 1. Return the values of `y`, with negative values replaced by 0.
# 2. The result must not require grad, and a later write to it must not change `y`, even if nothing in `y` is
#    negative.
#
# The entries of `y` are finite, and as tiny or as huge as their dtype allows.
#
# The starter code returns the right values. But the next `loss.backward()` raises an error, which does not name
# this function. Fix it.
#
# **No side effects.** Leave the values, the `_version` and the history of `y` unchanged. If a loss was computed
# from `y` before your call, its `backward()` must still work and give the same gradients.
#
# **Example.** For `y = [-2., 0.5, 3.]` the result is `[0., 0.5, 3.]`.
#
# <details><summary>Hint 1</summary>
#
# Print `y` and `y._version` before and after the call. Also compare `y.data_ptr()` with that of the result.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `detach()` copies nothing. Which operation gives you new storage: `clamp_`, or `clamp` without the underscore?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Detach first, then clamp out of place. Or detach, clone, and clamp in place: then you write to your own copy.
#
# </details>


# %% tags=["question q1"]
def positive_part(y):
    """Return y with negative values replaced by 0, without a history.

    Returns a tensor of the same shape and dtype that does not require grad, with its own storage.
    """
    # BEGIN SOLUTION
    return y.detach().clamp(min=0)
    # STUB
    # c = y.detach()
    # c.clamp_(min=0)
    # return c
    # END SOLUTION


# %% tags=["check q1"]
def test_the_positive_part(positive_part):
    """Values are right, and an earlier loss still backpropagates."""
    import torch

    x = torch.tensor([-3.0, 1.0, 2.0], requires_grad=True)
    y = x + 1
    loss = (y**2).sum()
    result = positive_part(y)
    assert result.tolist() == [0.0, 2.0, 3.0], f"The result is {result.tolist()} instead of [0, 2, 3]."
    assert not result.requires_grad, "The result requires grad, but must not."
    assert y.tolist() == [-2.0, 2.0, 3.0], (
        f"y was [-2, 2, 3] before the call and is now {y.tolist()}:\nyour code wrote to the storage of y."
    )
    try:
        loss.backward()
    except RuntimeError as error:
        reason = str(error).partition(":")[0]
        raise AssertionError(f"After your call, loss.backward() raises an error: {reason}") from None
    assert x.grad.tolist() == [-4.0, 4.0, 6.0], (
        f"x.grad is {x.grad.tolist()} instead of 2 * y = [-4, 4, 6]:\nyour call must not affect the "
        "gradients of earlier losses."
    )


# %% [markdown] tags=["afterword q1"]
# `detach()` shares storage, so return a copy that no other code holds. Next trap: `y.detach().numpy()` shares
# storage, too. A plot that scales such an array in place writes to `y`, and no counter records it.


# %% [markdown] tags=["claim S2.9", "claim S2.10"]
# ## What backward needs
#
# Does every write to a tensor of the graph lead to this error? A question in a forum says so: "changing a tensor
# through `detach()` always makes backward raise". Here is the code of that question. (In some copies the plus signs
# were lost. Then `z = 3*y1 4*y2` is a `SyntaxError`, not a riddle about autograd.)

# %%
x = torch.tensor(3.0, requires_grad=True)
y1, y2 = x + 1, x**2 + 7
z = 3 * y1 + 4 * y2
y2.detach().zero_()
z.backward()
print(y2.item())  # 0.0, because the write succeeded
print(x.grad.item())  # 27.0, because that is the right gradient: 3 + 4 * 2 * 3

# %% [markdown] tags=["claim S2.2", "claim S2.6", "claim S2.7", "claim S4.7"]
# There is no error, and the gradient is right. The derivative of `4 * y2` is 4, whatever `y2` is. So the
# multiplication did not save `y2`, and backward compares nothing. With a square the error is back:

# %%
x = torch.tensor(3.0, requires_grad=True)
y2 = x**2 + 7
z = 4 * y2**2
y2.detach().zero_()
try:
    z.backward()
except RuntimeError as error:
    print(str(error).partition(":")[0])  # ... has been modified by an inplace operation

# %% [markdown]
# The derivative of an operation determines what it saves. You can watch this: `saved_tensors_hooks` calls your
# function with every tensor that an operation saves.


# %%
def count_saved(function, *args):
    """How many tensors a computation saves for backward."""
    saved = []

    def pack(tensor):
        saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*args)
    return len(saved)


x = torch.rand(3, requires_grad=True)
y = x + 1
print(count_saved(lambda: 4 * y))  # 0, because the derivative is 4
print(count_saved(lambda: y**2))  # 1, because the derivative is 2 * y
print(count_saved(lambda: y * y))  # 2, because each factor is the derivative of the other: y is saved twice

result = y.exp()
print(result.grad_fn._saved_result.data_ptr() == result.data_ptr())  # True, because exp saves its result

square, multiple = (y**2).sum(), (4 * y).sum()
y.detach().zero_()

# %% tags=["drawn"]
# After the write to `y`: `Pow` has saved `y`, and its backward would raise. `Mul`, that is `4 * y`, saved nothing.
xray(square=square, multiple=multiple, y=y, x=x)

# %% [markdown] tags=["claim S4.28"]
# Saving makes no copy: the saved tensor shares storage with `y`. That costs no extra memory, but after a write the
# old value is lost. A saved tensor need not require grad: in `mask * x`, the mask is the derivative. Read more in
# the documentation: [Autograd mechanics, "Saved
# tensors"](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors).

# %% [markdown]
# ## q2 · Which tensors does backward still need?
#
# `f(x)` returns `(out, mid)`: a result, and a tensor that `f` computed on the way.
#
# Write `may_overwrite(f, x)`:
#
# 1. Suppose that code under `no_grad()` overwrites all of `mid` in place after `f` has returned.
# 2. Return `True` if, for all possible new values, `out.sum().backward()` works and gives all leaves the same
#    gradients as without the write. Otherwise return `False`. If your function is called under `no_grad()`, it must
#    return the same answer. (`torch.enable_grad()` turns recording back on.)
#
# `f` detaches nothing, computes only what `out` needs, draws no random numbers, and creates a new `mid` in each
# call. `mid` is not expanded and shares no storage with `x`. It may be a view, have views, or not require grad.
#
# The starter code follows a wrong rule: "backward needs what requires grad". Fix it.
#
# **No side effects.** You may write to `mid`, and leave anything in the `.grad` of any leaf.
#
# **Example.** Let `y = x + 1`. If `f` returns `(y**2, y)`, the answer is `False`. If it returns `(4 * y, y)`, the
# answer is `True`.
#
# <details><summary>Hint 1</summary>
#
# Write down the derivatives of `y**2`, `4 * y`, `exp(y)` and `mask * y`. Which tensors occur in them?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# You can look at what is saved, with `torch.autograd.graph.saved_tensors_hooks`. Or you can try it: write to `mid`
# in a way that its version counter records, and see whether backward raises an error.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# If you look: the saved tensor may be another tensor *object*, or a view. `untyped_storage().data_ptr()` is the
# address of the whole storage of a tensor. If you try: catch the `RuntimeError`.
#
# </details>


# %% tags=["question q2"]
def may_overwrite(f, x):
    """Return whether backward works without the values of an intermediate tensor.

    Returns True if mid may be overwritten in place before the backward of out, otherwise False.
    """
    # BEGIN SOLUTION
    saved = set()

    def pack(tensor):
        saved.add(tensor.untyped_storage().data_ptr())
        return tensor  # kept alive by the graph, so that no other tensor gets this address

    # Under no_grad() f would save nothing.
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out, mid = f(x)
    return mid.untyped_storage().data_ptr() not in saved
    # STUB
    # out, mid = f(x)
    # return not mid.requires_grad
    # END SOLUTION


# %% tags=["check q2"]
def test_a_square_a_multiple_and_a_mask(may_overwrite):
    """A square needs y, 4 * y doesn't; mask * x needs mask."""
    import torch

    def answer(f):
        return may_overwrite(f, torch.tensor([1.0, 2.0], requires_grad=True))

    def square(x):
        y = x + 1
        return y**2, y

    def multiple(x):
        y = x + 1
        return 4 * y, y

    def masked(x):
        mask = torch.tensor([0.0, 1.0])
        return mask * x, mask

    seen = answer(square)
    assert not seen, f"For y**2 your answer is {seen}, but the derivative 2 * y needs y."
    seen = answer(multiple)
    assert seen, f"For 4 * y your answer is {seen}, but the derivative is 4, whatever y is."
    seen = answer(masked)
    assert not seen, f"For mask * x your answer is {seen}, but the mask is the derivative."


# %% [markdown] tags=["afterword q2"]
# The derivative determines what backward needs; `requires_grad` does not. Next trap: a list of operations is out of
# date sooner or later. The next release of torch may save the result of an operation where this one saves its
# input.


# %% [markdown]
# ## Which networks does a loss train?
#
# `backward()` takes *every* path that leads from the loss to a leaf. With several networks, these are often more
# paths than you want. `detach()` closes a path: the values pass, and the gradient stops there.

# %%
first, second = nn.Linear(2, 2), nn.Linear(2, 1)
h = first(torch.ones(3, 2))

second(h.detach()).mean().backward()
print(first.weight.grad is None)  # True, because the path from the loss to first is closed
print(second.weight.grad is None)  # False, because second is on this side of the cut

second(h).mean().backward()
print(first.weight.grad is None)  # False, because h itself kept its history

h = first(torch.ones(3, 2))
cut, whole = second(h.detach()).mean(), second(h).mean()

# %% tags=["drawn"]
# The loss `cut` ends at the parameters of `second`. The loss `whole` goes on through `h` into `first`.
xray(cut=cut, whole=whole, h=h, first=first, second=second)

# %% [markdown] tags=["claim S1.10", "claim S1.13"]
# In the picture, `Addmm` is what `nn.Linear` computes (a product and a sum), and `T` transposes its weight. So you
# cut a *use* of `h`, and not `h` itself: another loss can still use `h` with its history.
#
# Without the cut, both losses backpropagate through `first`, and the second backward stops with "Trying to backward
# through the graph a second time". You will read two statements about this. "The first backward destroys the
# gradients of the shared layers": it does not. It adds its gradients to `.grad`, where they stay, and frees only
# the saved tensors. "So the first backward *must* use `retain_graph=True`": it need not. If you want the gradients
# of both losses, call `(loss1 + loss2).backward()`. If you want the gradient of only one of them, a cut is missing:
# detach the path of the other loss.

# %% [markdown]
# ## q3 · GAN: the discriminator's loss must not train the generator
#
# `G(z)` makes fakes, and `D` gives each sample a logit, high for "real".
#
# Write `gan_step(G, D, oG, oD, z, real)`:
#
# 1. Compute the loss of `D`: the loss of the logits `D(real)` for the label 1, plus the loss of the logits `D(G(z))`
#    for the label 0. Make one step of `oD` with the gradient of this loss only. No gradient of this loss may reach
#    `G`, not even one that you clear later.
# 2. Compute the loss of `G`: the loss of the fakes' logits for the label 1, from `D` **after** its step. Make one
#    step of `oG` with the gradient of this loss only.
#
# Each loss is a mean, as `F.binary_cross_entropy_with_logits` computes it, and precise for logits from -100 to 100.
# Under `no_grad()` the function may raise an error.
#
# The starter code silences an error with `retain_graph=True`. Fix it.
#
# **No side effects.** Change only the state of the optimizers, their parameters and the parameters' `.grad`. You may
# leave anything in `.grad`.
#
# **Example.** `G` and `D` are layers `nn.Linear(1, 1, bias=False)` with the weights 1 and 0, both optimizers are
# SGD with `lr=1`, `z = [[1.]]` and `real = [[2.]]`. The weight of `D` becomes 0.5, and that of `G` becomes 1.1888.
#
# <details><summary>Hint 1</summary>
#
# Print `G[0].weight.grad` right after `loss_d.backward()`. Which loss stored it there? Then remove
# `retain_graph=True` and read the error.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# For the discriminator's loss, the fakes are data, like the real samples. For the generator's loss, they are the
# generator's output. The generator's loss also backpropagates through `D`, and leaves gradients in the `.grad` of
# its parameters.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Pass the fakes to `D` twice: without their history for the first loss, with it for the second. Clear the `.grad`
# of each network right before its own backward.
#
# </details>


# %% tags=["question q3"]
def gan_step(G, D, oG, oD, z, real):
    """One step of the discriminator, then one step of the generator.

    The networks share no parameters and treat each sample independently. All their parameters require grad,
    before and after.
    """
    # BEGIN SOLUTION
    fake = G(z)

    oD.zero_grad()
    on_real, on_fake = D(real), D(fake.detach())  # for D, the fakes are data
    loss_d = F.binary_cross_entropy_with_logits(on_real, torch.ones_like(on_real))
    loss_d = loss_d + F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake))
    loss_d.backward()
    oD.step()

    oG.zero_grad()
    on_fake = D(fake)  # with their history, by the discriminator after its step
    loss_g = F.binary_cross_entropy_with_logits(on_fake, torch.ones_like(on_fake))
    loss_g.backward()
    oG.step()
    # STUB
    # oD.zero_grad()
    # oG.zero_grad()
    # fake = G(z)
    #
    # on_real, on_fake = D(real), D(fake)
    # loss_d = F.binary_cross_entropy_with_logits(on_real, torch.ones_like(on_real))
    # loss_d = loss_d + F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake))
    # loss_d.backward(retain_graph=True)
    # oD.step()
    #
    # on_fake = D(fake)
    # loss_g = F.binary_cross_entropy_with_logits(on_fake, torch.ones_like(on_fake))
    # loss_g.backward()
    # oG.step()
    # END SOLUTION


# %% tags=["check q3"]
def test_the_generator_is_taught_by_its_own_loss(gan_step):
    """The generator steps with the gradient of its own loss."""
    import copy

    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    G, D = nn.Linear(2, 3), nn.Linear(3, 1)
    oG = torch.optim.SGD(G.parameters(), lr=1.0)
    oD = torch.optim.SGD(D.parameters(), lr=0.1)
    z, real, old = torch.randn(5, 2), torch.randn(4, 3), copy.deepcopy(G)
    try:
        gan_step(G, D, oG, oD, z, real)
    except RuntimeError as error:
        raise AssertionError(f"gan_step raised an error: {error}") from None
    F.softplus(-D(old(z))).mean().backward()  # the generator's loss, by the updated discriminator
    moved, own = (old.bias - G.bias).detach(), old.bias.grad
    assert torch.allclose(moved, own, atol=1e-5), (
        f"With lr=1 the generator's bias moved by {(-moved).tolist()},\nbut the gradient of its own loss "
        f"moves it by {(-own).tolist()}.\nPrint G's gradients right before oG.step()."
    )


# %% [markdown] tags=["afterword q3"]
# The same fakes are data for one loss and a result for the other, so you cut one use of the fakes, and not the
# fakes themselves. Next trap: the loss of `G` leaves gradients in `D`, too. `D` must not step with them.


# %% [markdown]
# ## A value with another gradient
#
# Some functions have a derivative from which nothing can be learned. `round` is flat nearly everywhere:

# %%
x = torch.tensor([-1.6, 0.4, 2.5], requires_grad=True)
x.round().sum().backward()
print(x.grad.tolist())  # [0.0, 0.0, 0.0], because a small change of x does not change the rounded value

# %% [markdown]
# This gradient is right, and with it a network of rounded numbers never learns. So you may want the value of one
# formula and the gradient of another. `detach()` makes this possible, because a detached tensor counts as a
# constant: it adds to the value, and nothing to the gradient. **Guess first:** what is the value of
# `a + (b - a).detach()`, and which gradients do `a` and `b` get?

# %%
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
mixed = a + (b - a).detach()
mixed.backward()
print(mixed.item(), a.grad, b.grad)

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `5.0 tensor(1.) None`. The value is that of `b`. The gradient is that of `a`: the difference adds 3 to the
# value, and is a constant for autograd.
#
# </details>

# %% tags=["drawn"]
# `mixed` has the value of `b`, and the only path of backward leads to `a`.
xray(mixed=a + (b - a).detach(), a=a, b=b)

# %% [markdown]
# ## q4 · Straight-through rounding
#
# Networks with quantized activations round in the forward pass. In the backward pass they pretend that there was no
# rounding. This is the *straight-through estimator*.
#
# Write `ste_round(x)`:
#
# 1. Return the values of `x.round()`, for every finite number, however large.
# 2. The gradient must be that of the identity: the gradient of `x` must equal the gradient of the result, for every
#    `x` and however large the gradient is.
#
# The starter code rounds, but no layer before it ever learns. Fix it.
#
# **No side effects.** Leave `x` unchanged.
#
# **Example.** For `x = [0.4, 1.6]` the result is `[0., 2.]`. If the gradient of the result is `[3., -1.]`, `x.grad`
# becomes `[3., -1.]`.
#
# <details><summary>Hint 1</summary>
#
# Print `x.grad` after `ste_round(x).sum().backward()`. Then look at the cell with `mixed` again.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# You want the value of `x.round()` and the gradient of `x`. Their difference belongs to the value. Should autograd
# record it?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `a + (b - a).detach()` has the value of `b` and the gradient of `a`. Which of your two tensors is `a`?
#
# </details>


# %% tags=["question q4"]
def ste_round(x):
    """Round x, and pass the gradient on as if there were no rounding.

    Returns a new tensor with the values of x.round(), through which x gets the gradient of the identity.
    """
    # BEGIN SOLUTION
    return x + (x.round() - x).detach()
    # STUB
    # return x.round()
    # END SOLUTION


# %% tags=["check q4"]
def test_the_gradient_goes_straight_through(ste_round):
    """Values are rounded, and gradients pass unchanged."""
    import torch

    x = torch.tensor([-1.6, 0.4, 2.5], requires_grad=True)
    y = ste_round(x)
    assert y.tolist() == [-2.0, 0.0, 2.0], (
        f"For [-1.6, 0.4, 2.5] the result is {y.tolist()} instead of [-2, 0, 2]."
    )
    assert y.requires_grad, "The result does not require grad: it is not connected to x."
    y.backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad is not None, "x.grad is None: the result is not connected to x."
    assert x.grad.tolist() == [1.0, 2.0, 3.0], (
        f"The gradient [1, 2, 3] of the result became {x.grad.tolist()} on its way to x:\nit must pass "
        "unchanged."
    )


# %% [markdown] tags=["afterword q4"]
# The value comes from one formula and the gradient from another. Next trap: such a gradient is not the slope of the
# value. `gradcheck` calls it wrong, and here it is wrong on purpose.


# %% [markdown]
# ## `detach()` or `no_grad()`?
#
# Both give you values without a history. `detach()` cuts a tensor off after it was computed. Under `no_grad()`,
# autograd records no operation. That also saves the time and the memory of recording:

# %%
layer, data = nn.Linear(2, 1), torch.ones(3, 2)
cut = layer(data).detach()
with torch.no_grad():
    unrecorded = layer(data)
print(torch.equal(cut, unrecorded), cut.requires_grad, unrecorded.requires_grad)  # True False False

# %% [markdown]
# People often confuse two other calls with them. `layer.eval()` changes what dropout and batch norm compute, and
# nothing about gradients. `layer.requires_grad_(False)` freezes the *parameters*, in every use of them, until you
# undo it. But gradients still flow through the layer to the tensors before it:

# %%
layer.eval()
print(layer(data).requires_grad)  # True, because eval() does not stop the recording
layer.requires_grad_(False)
before = torch.ones(3, 2, requires_grad=True)
print(layer(before).requires_grad)  # True, because the path through the frozen layer is open
layer.requires_grad_(True)

# %% [markdown]
# Decide what must be constant: a *value*, for this one use, or a *parameter*, in every use. The documentation
# compares the options in [Autograd mechanics, "Locally disabling gradient
# computation"](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation). In
# the next question a loss uses the same parameters twice: the first use trains them, and the second use is data. Here
# is such a loss:

# %%
prediction = layer(data)
loss = (prediction - 0.9 * unrecorded).pow(2).mean()

# %% tags=["drawn"]
# `layer` computed both tensors: `prediction` has a path back to its weight, and `unrecorded` has none.
xray(loss=loss, prediction=prediction, unrecorded=unrecorded, layer=layer)

# %% [markdown]
# ## q5 · The TD target is data
#
# In Q-learning a network learns from a network's estimate for the next state.
#
# Write `td_loss(q, q_target, s, a, r, s2, gamma)`:
#
# 1. The *prediction* is the value that `q(s)` gives to the action `a` of each sample.
# 2. The *target* is `r + gamma * q_target(s2).max(1).values`.
# 3. Return the mean of `(prediction - target)**2` over the samples.
#
# The target is data: gradients must flow through the prediction only. `q_target` may be `q` itself, or share layers
# with it. Then the shared parameters must get the gradient of the prediction only.
#
# The starter code returns the right value, but it trains the target, too. Fix it.
#
# **No side effects.** Leave both networks, `s`, `a`, `r` and `s2` unchanged.
#
# **Example.** If both networks are an `nn.Identity()`, `s = [[1., 2.]]`, `a = [0]`, `r = [0.5]`, `s2 = [[3., 1.]]`
# and `gamma = 0.5`, the prediction is 1, the target is 2, and the loss is 1.
#
# <details><summary>Hint 1</summary>
#
# With two different networks: which parameters have a `.grad` after `td_loss(...).backward()`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The same module may compute both prediction and target, so you cannot freeze its parameters. Disconnect the
# *value* of the target.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Compute the target, and only the target, in a `with torch.no_grad():` block. Or compute it, and then detach it.
#
# </details>


# %% tags=["question q5"]
def td_loss(q, q_target, s, a, r, s2, gamma):
    """Return the mean squared difference between q(s)[a] and r + gamma * max q_target(s2).

    Returns a tensor of shape (), whose gradient flows through q(s)[a] only.
    """
    # BEGIN SOLUTION
    prediction = q(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        target = r + gamma * q_target(s2).max(1).values
    return F.mse_loss(prediction, target)
    # STUB
    # prediction = q(s).gather(1, a[:, None]).squeeze(1)
    # target = r + gamma * q_target(s2).max(1).values
    # return F.mse_loss(prediction, target)
    # END SOLUTION


# %% tags=["check q5"]
def test_only_the_prediction_is_taught(td_loss):
    """The loss is right and trains q only."""
    import torch

    torch.manual_seed(0)
    q, q_target = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
    s, s2, r, a = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5), torch.tensor([0, 1, 2, 3, 0])
    loss = td_loss(q, q_target, s, a, r, s2, 0.9)
    assert loss.requires_grad, "The loss does not require grad, so no network can learn from it."
    loss.backward()
    assert q.weight.grad is not None, "q got no gradient: the prediction is not connected to it."
    assert q_target.weight.grad is None, "q_target got a gradient: the target is still connected to it."

    # predictions 1 and 4, targets 3.5 and 1
    q, q_target = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        q.weight.copy_(torch.eye(2))  # q(s) is s
        q_target.weight.copy_(2 * torch.eye(2))  # q_target(s2) is 2 * s2
    s, a = torch.tensor([[1.0, 2.0], [4.0, 0.0]]), torch.tensor([0, 0])
    s2, r = torch.tensor([[3.0, 1.0], [0.0, 1.0]]), torch.tensor([0.5, 0.0])
    loss = td_loss(q, q_target, s, a, r, s2, 0.5)
    assert loss.shape == (), f"The loss has shape {tuple(loss.shape)} instead of ()."
    assert abs(loss.item() - 7.625) < 1e-5, f"The loss is {loss.item()} instead of (6.25 + 9) / 2 = 7.625."


# %% [markdown] tags=["afterword q5"]
# The target is a value without a history: gradients have only one path, through the prediction. Next trap:
# `q_target.eval()` looks like a cut, but cuts nothing. And frozen parameters are frozen in every loss that uses
# them.


# %% [markdown] tags=["claim S4.18"]
# ## A gradient can be wrong without an error
#
# "If there is no error, the gradient is right." You have seen a counterexample: a write through `.data` *after*
# the value was saved. The next one uses `detach()`, and the counter counts its write. But the write comes
# *before* `h` is used. **Guess first:** does the counter help? What does the cell print, and what is the right
# gradient of `loss`?

# %%
w = torch.tensor(3.0, requires_grad=True)
h = 2 * w
h.detach().clamp_(max=1)  # h is 6, and becomes 1
loss = h**2
loss.backward()
print(loss.item(), w.grad.item())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `1.0 4.0`. The value is right: `h` was clipped to 1. The gradient is wrong: if `w` changes a little, `h` is
# still 1 and the loss is still 1, so the right gradient is 0. The counter was 1 when `h` was saved, and it is 1 when
# backward compares it: no error. Autograd multiplies `2 * h`, with the clipped `h`, by the derivative of `2 * w`. It did
# not record the clipping.
#
# </details>

# %% tags=["drawn"]
# The graph of this loss before its backward: the square, then `2 * w`. It contains no clipping.
h = 2 * w
h.detach().clamp_(max=1)
xray(loss=h**2, h=h, w=w)

# %% [markdown]
# How can you notice this? Compare with a *finite difference*: change `w` a little, and see how much the loss
# changes.
# [`torch.autograd.gradcheck`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html)
# does that for a whole function, in float64:


# %%
def clipped_behind_its_back(w):
    """The cell above as a function."""
    h = 2 * w
    h.detach().clamp_(max=1)
    return h**2


w = torch.tensor(3.0, requires_grad=True, dtype=torch.float64)
print(torch.autograd.gradcheck(clipped_behind_its_back, w, raise_exception=False))  # False
print(torch.autograd.gradcheck(lambda w: (2 * w).clamp(max=1) ** 2, w))  # True, because clamp is recorded

# %% [markdown]
# ## q6 · No error, wrong gradient
#
# Write `clipped_energy(x, w)`:
#
# 1. Compute `h = x @ w`.
# 2. Replace every entry of `h` above 1 by 1. Entries below 1 stay, however negative they are.
# 3. Return the sum of the squares.
#
# Value and gradient must be those of this function: a replaced entry does not depend on `x` or `w`. `w` must get a
# gradient, and so must `x` if it requires grad. If all entries are replaced, `backward()` must still work, with
# gradients of zeros or `None`.
#
# No entry of `x @ w` is exactly 1, but entries may be as close to 1 as 0.9995 or 1.0005. You may compute `h` as
# `1 - (1 - h)`, for example to clip it with `relu`: this rounding error is accepted.
#
# The starter code returns the right value, but gives `w` a wrong gradient. Fix it.
#
# **No side effects.** Leave `x` and `w` unchanged.
#
# **Example.** For `x = [[3.], [-2.]]` and `w = [[1.]]`, `h` becomes `[[1.], [-2.]]`, so the energy is 5. The
# gradient of `w` is `[[8.]]`.
#
# <details><summary>Hint 1</summary>
#
# Take an `x` and a `w` with an entry of `x @ w` above 1. Compare `w.grad` with a finite difference, or use
# `gradcheck`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `.data`, `detach()` and `no_grad()` all hide the clipping from autograd. Use a clipping that autograd records.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Clip out of place, and use the result in the next line. You may also clip in place if autograd records it: `h` is
# a non-leaf.
#
# </details>


# %% tags=["question q6"]
def clipped_energy(x, w):
    """Return the sum of squares of x @ w, with entries above 1 replaced by 1.

    Returns a tensor of shape () through which w and x get their gradients.
    """
    # BEGIN SOLUTION
    h = (x @ w).clamp(max=1.0)
    return (h**2).sum()
    # STUB
    # h = x @ w
    # h.data.clamp_(max=1.0)
    # return (h**2).sum()
    # END SOLUTION


# %% tags=["check q6"]
def test_a_clipped_entry_has_no_gradient(clipped_energy):
    """A clipped entry adds nothing to the gradient."""
    import torch

    x = torch.tensor([[3.0], [-2.0]])
    w = torch.tensor([[1.0]], requires_grad=True)
    loss = clipped_energy(x, w)
    assert loss.item() == 5, f"The energy is {loss.item()} instead of 1 + 4 = 5."
    assert loss.requires_grad, "The energy does not require grad: it is not connected to w."
    loss.backward()
    assert w.grad is not None, "w.grad is None: the energy is not connected to w."
    assert abs(w.grad.item() - 8) < 1e-5, (
        f"w.grad is {w.grad.item()} instead of 8. If w grows from 1 to 1.001, the energy grows from 5 to "
        "5.008.\nLook for an operation that autograd does not record."
    )


# %% [markdown] tags=["afterword q6"]
# Autograd must record every operation that computes your value. Next trap: sometimes you want a hidden write.
# `r = x.clone()` and then `r.detach().round_()` is a correct straight-through estimator, because there the gradient
# must ignore the rounding.


# %% [markdown]
# ## Bonus task · The value of a state
#
# The value of a state `s` is `head(body(s))`.
#
# Write `train_values(body, head, optimizer, batches, held_out, gamma)`. For each batch `(s, r, s2)`:
#
# 1. Compute the loss: the mean squared difference between the value of `s` and the target,
#    `r + gamma * (value of s2)`. The target is data.
# 2. Log the loss and the *activity*: the mean of `body(s)` with negative entries replaced by 0.
# 3. Make one step of `optimizer` with the gradient of this loss only, whatever `.grad` held before.
# 4. Compute the same loss for the batch `held_out`: the error after this step.
#
# At the end, give all parameters the values that they had after the step with the smallest error. Return
# `(losses, activities)`, two lists with one float for each batch.
#
# You can rely on this: all parameters require grad, no module writes to its input, and no two errors are equal.
# Under `no_grad()` the function may raise an error.
#
# The starter code has three of the bugs that this notebook is about. If `body` ends in `nn.Tanh`, it raises an
# error. If `body` ends in `nn.Linear`, the first loss is not the loss of the network, the first step is too long or
# too short, and the final parameters are those of the last step. There is no hint.
#
# **No side effects.** Change only the parameters, their `.grad` and the state of `optimizer`. All parameters must
# still require grad. You may leave anything in `.grad`.
#
# **Example.** `body` and `head` are layers `nn.Linear(1, 1, bias=False)` with the weight 1, `optimizer` is SGD with
# `lr=0.01`, `batches = [([[-1.]], [[1.]], [[2.]])]`, `held_out` is the same batch, and `gamma = 0.5`. The result is
# `([9.0], [0.0])`, and both weights become 0.94.


# %% tags=["question end"]
def train_values(body, head, optimizer, batches, held_out, gamma):
    """Train the value head(body(s)) towards r + gamma * head(body(s2)), and keep the best parameters.

    Returns (losses, activities), two lists with one float for each batch.
    """
    # BEGIN SOLUTION
    parameters = [*body.parameters(), *head.parameters()]
    losses, activities, smallest = [], [], float("inf")
    for s, r, s2 in batches:
        h = body(s)
        activities.append(h.detach().clamp(min=0).mean().item())
        target = r + gamma * head(body(s2)).detach()
        loss = F.mse_loss(head(h), target)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            s, r, s2 = held_out
            error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()
        if error < smallest:
            smallest = error
            best = [parameter.detach().clone() for parameter in parameters]
    with torch.no_grad():
        for parameter, values in zip(parameters, best):
            parameter.copy_(values)
    return losses, activities
    # STUB
    # parameters = [*body.parameters(), *head.parameters()]
    # losses, activities, smallest = [], [], float("inf")
    # for s, r, s2 in batches:
    #     h = body(s)
    #     activities.append(h.detach().clamp_(min=0).mean().item())
    #     target = r + gamma * head(body(s2))
    #     loss = F.mse_loss(head(h), target)
    #     losses.append(loss.item())
    #     optimizer.zero_grad()
    #     loss.backward()
    #     optimizer.step()
    #     with torch.no_grad():
    #         s, r, s2 = held_out
    #         error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()
    #     if error < smallest:
    #         smallest = error
    #         best = [parameter.detach() for parameter in parameters]
    # with torch.no_grad():
    #     for parameter, values in zip(parameters, best):
    #         parameter.copy_(values)
    # return losses, activities
    # END SOLUTION


# %% tags=["check end"]
def test_two_steps(train_values):
    """Loss, step and final parameters are right."""
    import torch

    def run(rewards):
        body, head = torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False)
        with torch.no_grad():
            body.weight.fill_(1.0)
            head.weight.fill_(1.0)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
        s, s2 = torch.tensor([[-1.0]]), torch.tensor([[2.0]])
        batches = [(s, torch.tensor([[reward]]), s2) for reward in rewards]
        losses, _ = train_values(body, head, optimizer, batches, batches[0], 0.5)
        return losses, head.weight.item()

    losses, weight = run([1.0])
    assert abs(losses[0] - 9) < 1e-5, (
        f"The first loss is {losses[0]} instead of 9: the value is -1, the target is 1 + 0.5 * 2 = 2."
    )
    assert abs(weight - 0.94) < 1e-5, (
        f"A step with lr=0.01 took the weight of head from 1 to {weight}.\nIf the target is data, the "
        "gradient of this loss is 6, so the weight becomes 0.94."
    )
    losses, weight = run([1.0, -10.0])
    assert abs(weight - 0.94) < 1e-5, (
        f"After two steps the weight of head is {weight} instead of 0.94,\nthe value after the first, "
        "better step."
    )


# %% [markdown] tags=["afterword end"]
# The three bugs: computing the activity wrote to `h` before `head` used it. The target had a history, so every step
# also changed the target. And `detach()` made no copy, so the best parameters changed with each later step. Next
# trap: `state_dict()` makes no copy, either.


# %% [markdown]
# ## What to remember
#
# - `detach()` returns a new tensor without a history that shares storage and version counter with the original.
# - `backward()` raises an error about a write only if it needs the overwritten tensor. What an operation saves
#   follows from its derivative: its input, its result, the other factor, or nothing.
# - `.data` and NumPy share the storage but not the counter. They turn an error into a wrong gradient.
# - Cut the *use* of a tensor: the discriminator gets `fake.detach()`, the generator's loss gets `fake`.
# - `a + (b - a).detach()` has the value of `b` and the gradient of `a`.
# - A target is data: compute it under `no_grad()`, or detach it. `eval()` and `requires_grad_(False)` do something
#   else.
# - A gradient can be wrong without any error. Compare with a finite difference.
#
# The next notebook, `05_inplace_reinit`, is about writes in place: which of them autograd allows, and which of them
# it detects.
