# %% [markdown]
# # 2. Backward, twice
#
# `loss.backward()` does three things. It walks the autograd graph from the loss back to the leaves. It
# *accumulates* gradients: it adds each one to the `.grad` of its leaf. And it *frees* the tensors that the forward
# pass saved. With one loss, one backward and one step, you only notice the first. In this notebook you will learn
#
# - what a backward frees and what it keeps, and when you need `retain_graph=True`;
# - how to measure a gradient without changing any `.grad`;
# - why a retained graph is useless after `optimizer.step()`;
# - how to accumulate gradients over micro-batches;
# - the difference between a `.grad` of `None` and a `.grad` of zeros;
# - why a running loss can fill your memory.
#
# You may have read that `retain_graph=True` cures the errors that two backwards cause. It cures one of them, and
# hides others. The code and the claims about PyTorch in this notebook were tested with torch 2.13.
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

# %%
import weakref

import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown]
# ## What backward frees
#
# A popular answer says: "the first `backward()` destroys the graph, so no graph is found for the second loss". Look
# for yourself.

# %%
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
shared = x**2 * 2  # x**2 saves x, because its derivative is 2 * x
first, second = shared.mean(), shared.sum()

first.backward()
print(x.grad.tolist())  # [1.0, 2.0, 3.0, 4.0], because the gradient of first has arrived
print(second.grad_fn is not None)  # True, because all nodes of the graph are still there
try:
    second.backward()
except RuntimeError as error:
    print(str(error).partition(" (")[0])  # Trying to backward through the graph a second time
print(x.grad.tolist())  # [1.0, 2.0, 3.0, 4.0], because this gradient was not lost

# %% [markdown] tags=["claim S0.7", "claim S1.5", "claim S1.6", "claim S1.11", "claim S1.13"]
# The graph *is* found, and the gradient of the first pass *is* kept. Only the **saved tensors** are gone: `x**2`
# had saved `x`, and the first backward freed it. The two losses share that node. (PyTorch's own words are in
# [Autograd mechanics, "Saved tensors"](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors).)

# %% tags=["drawn"]
# The two losses after the backward of `first`. Both paths lead through the product and the square, whose saved values
# were freed. So `second` can no longer backpropagate to `x`.
xray(second=second, first=first, x=x)

# %% [markdown]
# You can draw such a picture of your own tensors if the course's `grader` package is installed: remove the two `#`,
# and change what you like.

# %%
# from grader import xray
# xray(second=second, first=first, x=x)

# %% [markdown] tags=["claim S1.10", "claim S1.12", "claim S1.15", "claim S1.18"]
# There are three ways out.
#
# - `first.backward(retain_graph=True)`: this backward frees nothing, so the next one finds all it needs.
# - `(first + second).backward()`: one loss, one backward.
# - `torch.autograd.backward([first, second])`: the same without a sum.
#
# So it is not true that two losses *need* `retain_graph=True`. The documentation of
# [`torch.Tensor.backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html) says that "in
# nearly all cases setting this option to True is not needed". If you do call `backward()` several times on one
# graph, let the last call free the saved tensors: call it without the argument.

# %% [markdown] tags=["claim S1.4", "claim S1.7", "claim S1.14"]
# Three more things about `retain_graph`:
#
# - You may call `backward()` with it as often as you like, and once more without it. Only the call after that
#   raises an error.
# - Its default is the value of `create_graph`. So `backward(create_graph=True)`, which records the backward itself,
#   frees nothing, either.
# - It is not true that a retained graph is never freed. It is freed as soon as nothing refers to it any more. But
#   until then it keeps every saved tensor of your network in memory.

# %% [markdown]
# **Guess first.** If a graph saved nothing, backward can free nothing. Which of these three lines raises an error?

# %%
a = torch.ones(3, requires_grad=True)
for name, make in (("a + 1", lambda: a + 1), ("a * 2", lambda: a * 2), ("a * a", lambda: a * a)):
    loss = make().sum()
    loss.backward()
    try:
        loss.backward()
        print(name, "backpropagated twice")
    except RuntimeError:
        print(name, "raised")

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `a + 1` can backpropagate twice, and the other two raise an error. `a + 1` saves nothing: its derivative is 1. `a * a`
# saved `a`. `a * 2` needs no value of `a`, but it saved the number 2, and backward frees that as well. So "it worked
# with my example" proves little. Test a fix with an operation that saves something.
#
# </details>

# %% [markdown]
# ## q1 · Two losses, one trunk, one forward
#
# Write `backward_both(trunk, x)`:
#
# 1. Compute `t = trunk(x)` with exactly one call of `trunk`. `t` is never empty, but it may be a scalar of shape
#    `()`.
# 2. Compute the scalars `d = t.mean()` and `e = t.sum()`.
# 3. Add the gradient of `d + e` to `x.grad`.
# 4. Return `(d, e)`, connected to the graph or not.
#
# After the call, neither `t` nor any tensor that `trunk` saved for backward may be in memory. This includes tensors
# that `trunk` saved for the gradients of its own parameters. `x.grad` must not require grad.
#
# The starter code raises an error in its second `backward()`. Fix it.
#
# **No side effects.** Leave `trunk` and the values of `x` unchanged. You may leave anything in the `.grad` of the
# trunk's own parameters that require grad.
#
# **Example.** For `trunk = lambda v: 2 * v**2` and `x = [1., 2.]`, the call returns `(5., 10.)` and adds
# `[6., 12.]` to `x.grad`.
#
# <details><summary>Hint 1</summary>
#
# Read the error. `d` and `e` share the graph of `t`, and `d.backward()` freed what this graph had saved.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A backward that is not the last must keep the saved tensors, and the last one must free them. Do you need two
# backwards at all?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Pass `retain_graph=True` to one of the two calls, and only to that one. Or backpropagate once, from the sum.
#
# </details>


# %% tags=["question q1"]
def backward_both(trunk, x):
    """Add the gradient of t.mean() + t.sum(), for t = trunk(x), to x.grad.

    Returns (t.mean(), t.sum()), two scalar tensors.
    """
    # BEGIN SOLUTION
    t = trunk(x)
    d, e = t.mean(), t.sum()
    d.backward(retain_graph=True)
    e.backward()
    return d, e
    # STUB
    # t = trunk(x)
    # d, e = t.mean(), t.sum()
    # d.backward()
    # e.backward()
    # return d, e
    # END SOLUTION


# %% tags=["check q1"]
def test_both_losses_arrive(backward_both):
    """x.grad is the sum of both gradients after one forward."""
    import torch

    x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
    calls = []

    def trunk(v):
        calls.append(v)
        return v**2 * 2

    try:
        backward_both(trunk, x)
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"backward_both raised an error: {reason}") from None
    assert x.grad is not None, "x.grad is None: no backward pass reached x."
    seen = x.grad.tolist()
    assert all(abs(value - 0.5 * place) < 1e-5 for place, value in enumerate(seen, start=1)), (
        f"x.grad is {seen} instead of [0.5, 1.0, 1.5, 2.0],\nso it is not the sum of the gradients of "
        "t.mean() and t.sum()."
    )
    assert len(calls) == 1, (
        f"Your function called trunk {len(calls)} times instead of once:\ncompute both scalars from the "
        "same t."
    )


# %% [markdown] tags=["afterword q1"]
# Gradients add up. So two backwards, one backward of the sum, and `torch.autograd.backward([d, e])` all add the
# same to `x.grad`. Next trap: you want to look at a gradient without adding it anywhere.


# %% [markdown] tags=["claim S1.16"]
# ## To add, or to ask
#
# `backward()` returns no gradient. Where `.grad` is `None`, it stores the gradient there. Otherwise it *adds* the
# gradient to the tensor in `.grad`, in place. (Only with `create_graph=True` does it create a new tensor for the
# sum.)

# %%
w = torch.tensor(1.0, requires_grad=True)
(2 * w).backward()
grad = w.grad
(3 * w).backward()
print(w.grad)  # tensor(5.), because the second backward added 3 to the 2 that were there
print(w.grad is grad)  # True, because it wrote into the same tensor

# %% [markdown] tags=["claim S1.9", "claim S1.12", "claim S5.3"]
# For training with two losses this is just what you want: backpropagate from each of them, then make one step. The
# recipe `loss1.backward(retain_graph=True)`, `loss2.backward()`, `optimizer.step()` trains on both losses, and so
# does `(loss1 + loss2).backward()`: the gradients are equal.
#
# To *measure* a gradient you need another tool.
# [`torch.autograd.grad(loss, tensors)`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html)
# returns the gradients and leaves the `.grad` of every leaf unchanged. (It fills the `.grad` of a non-leaf on the
# path if you have called `retain_grad()` on it.) It frees saved tensors, as `backward()` does, but it visits fewer
# nodes: only those between the loss and the tensors that you name.

# %%
w = torch.tensor(3.0, requires_grad=True)
loss = w**2
(asked,) = torch.autograd.grad(loss, [w])
print(asked, w.grad)  # tensor(6.) None, because the gradient was returned and not stored
try:
    loss.backward()
except RuntimeError as error:
    print(str(error).partition(" (")[0])  # Trying to backward through the graph a second time

# %% [markdown]
# A loss need not depend on every tensor that you name. `autograd.grad` treats this as a mistake and raises an
# error, unless you pass `allow_unused=True`. Then it returns `None` for that tensor.

# %%
w, v = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
loss1, loss2 = w**2, w**2 * v
print(
    torch.autograd.grad(loss1, [w, v], allow_unused=True)
)  # (tensor(6.), None), because v is not part of loss1
print(torch.autograd.grad(loss2, [w, v]))  # (tensor(12.), tensor(9.))

# %% tags=["drawn"]
# Two losses, two parameters. From `loss1` no arrow leads to `v`, so its gradient with respect to `v` is None, not 0.
xray(loss1=w**2, loss2=w**2 * v, w=w, v=v)

# %% [markdown]
# ## q2 · Measure the gradient norm of every task
#
# To see whether one task dominates another, people log the gradient norm of each loss.
#
# Write `task_grad_norms(losses, params)`:
#
# 1. For each loss, compute the L2 norm of *its* gradient with respect to all of `params` together: the square root
#    of the sum of all squared entries.
# 2. Return the norms as a list of Python floats, one for each loss.
#
# `params` holds every leaf that any loss depends on. A loss need not depend on all of them.
#
# In the starter code's result, only the first number is right. Fix it.
#
# **No side effects.** Every `.grad` must hold the same tensor object as before, with the same values. `None` must
# stay `None`. After one or more calls, the caller's `sum(losses).backward()` must still work.
#
# **Example.** For `w = 3.`, `v = 2.` and `losses = [w**2, w**2 * v]`, the result is `[6.0, 15.0]`.
#
# <details><summary>Hint 1</summary>
#
# Call the starter code with the same loss twice in the list. When it computes the second norm, `.grad` still holds
# the first gradient.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# You need gradients that are returned, not accumulated. And the caller runs the last backward, so yours must not
# free the graph.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Use `torch.autograd.grad` for each loss, and look at three of its arguments: `inputs`, `retain_graph` and
# `allow_unused`. Skip a gradient that is `None` before you square.
#
# </details>


# %% tags=["question q2"]
def task_grad_norms(losses, params):
    """Measure the L2 norm of the gradient of each loss with respect to all of params.

    Returns a list of Python floats, one for each loss. No .grad changes.
    """
    # BEGIN SOLUTION
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        squares = [grad.pow(2).sum() for grad in grads if grad is not None]
        norms.append(sum(squares).sqrt().item())
    return norms
    # STUB
    # norms = []
    # for loss in losses:
    #     loss.backward(retain_graph=True)
    #     squares = [p.grad.pow(2).sum() for p in params if p.grad is not None]
    #     norms.append(sum(squares).sqrt().item())
    # return norms
    # END SOLUTION


# %% tags=["check q2"]
def test_each_loss_has_its_own_norm(task_grad_norms):
    """Each norm belongs to one loss, and .grad is unchanged."""
    import torch

    w, v = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    shared = w**2
    losses = [shared.sum(), (shared * v).sum()]
    try:
        norms = task_grad_norms(losses, [w, v])
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"task_grad_norms raised an error: {reason}") from None
    assert len(norms) == 2, f"You returned {len(norms)} numbers for 2 losses: each loss has one norm."
    for place, (seen, right) in enumerate(zip(norms, (6.0, 15.0))):
        assert abs(seen - right) < 1e-4, (
            f"The norm of losses[{place}] is {seen} instead of {right}:\nit must be the norm of the "
            "gradient of this loss only, over all parameters together."
        )
    w.grad, v.grad = torch.tensor([7.0]), None
    task_grad_norms([(w * v).sum()], [w, v])
    assert w.grad is not None, "w.grad was 7 before the call and is now None: the caller's gradient is lost."
    assert w.grad.item() == 7, (
        f"w.grad was 7 before the call and is now {w.grad.item()}: a measurement must not change it."
    )
    assert v.grad is None, (
        f"v.grad was None before the call and is now {v.grad}: a measurement must not fill it."
    )


# %% [markdown] tags=["afterword q2"]
# `backward()` adds, and `torch.autograd.grad` answers. If you only want to know a gradient, ask for it. Next trap:
# a step of the optimizer between two backwards.


# %% [markdown] tags=["claim S1.8"]
# ## A retained graph keeps memory, not values
#
# With `retain_graph=True`, so the folklore goes, you may call `backward()` whenever you like. This is true only as
# long as no line of code writes to a saved tensor. And `optimizer.step()` is a write: it changes, in place, every
# weight that has a gradient.

# %%
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.randn(4, 2)).pow(2).mean()
loss.backward(retain_graph=True)
print(net[2].weight._version)  # 1, because nn.Linear has filled its weight in place
optimizer.step()
print(net[2].weight._version)  # 2, because step() has written to it
try:
    loss.backward()
except RuntimeError as error:
    print(str(error).partition(":")[0])  # ... has been modified by an inplace operation

# %% [markdown] tags=["claim S0.14", "claim S4.28"]
# Saving a tensor makes no copy. The graph refers to the weight itself and records its version. `backward()`
# compares the two versions and raises an error ([Autograd mechanics, "In-place correctness
# checks"](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks)). It is right to do
# so: the loss was computed with the old weights, so its gradient needs the old weights, and they are gone. (Until
# torch 1.4 there was no error here, and the gradient was wrong. Much old code relied on that.)
#
# The picture shows the smallest such case: a loss of `w * w`, and a step on `w`.

# %% tags=["drawn"]
# The loss after the step. The product saved `w` at version 0, and `w` is now at version 1. So this loss can no longer
# backpropagate.
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
optimizer = torch.optim.SGD([w], lr=0.1)
loss.backward(retain_graph=True)
optimizer.step()
xray(loss=loss, w=w)

# %% [markdown]
# **Guess first.** Here is the same with a single layer. Does the second `backward()` raise?

# %%
layer = nn.Linear(2, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
loss = layer(torch.randn(4, 2)).pow(2).mean()
loss.backward(retain_graph=True)
before = layer.weight.grad.clone()
optimizer.step()
layer.weight.grad = None
try:
    loss.backward()
    print("no error; the same gradient as before:", torch.equal(layer.weight.grad, before))
except RuntimeError:
    print("raised")

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# It raises no error, and the gradient is the same as before the step. The gradient of a single layer needs its *input*,
# not its weight. So no saved tensor was overwritten, and torch has no reason for an error. But the gradient is still
# that of the *old* weights. "No error" does not mean "the gradient you wanted".
#
# </details>

# %% [markdown]
# ## q3 · A step between two backwards
#
# Write `two_updates(net, opt, x, y1, y2)`:
#
# 1. Compute the loss `F.mse_loss(net(x), y1)` and update `net` with one `opt.step()`.
# 2. Compute the loss `F.mse_loss(net(x), y2)` *at the updated weights*, and update `net` with one more
#    `opt.step()`.
# 3. Return both losses as a tuple of Python floats: each is the value before its own update.
#
# Call `net` exactly once for each update. Each step must use the gradient of its own loss only, whatever `.grad`
# held before. `opt` holds all parameters of `net`, and the losses depend on all of them.
#
# The starter code raises an error or, for a `net` of one layer, gives a wrong result. Fix it.
#
# **No side effects.** Change only the parameters of `net`, their `.grad` and the state of `opt`. You may leave
# anything in `.grad`.
#
# **Example.** `net` is an `nn.Linear(1, 1, bias=False)` with the weight 0, `opt` is SGD with `lr=0.25`,
# `x = [[1.]]`, `y1 = [[2.]]` and `y2 = [[0.]]`. The result is `(4.0, 1.0)`, and the weight becomes 1, then 0.5.
#
# <details><summary>Hint 1</summary>
#
# `opt.step()` writes to the weights between the two backwards. (A friend's advice, `p.data.sub_(...)` instead of
# `opt.step()`, silences the error, because it hides the write from the version counter. Then the gradient mixes old
# activations with new weights.)
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# At which weights was `loss2` computed? At which weights should it be?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The prediction for the second loss must come from the updated weights, so one forward pass cannot serve both
# updates. With this change, no graph has to be retained.
#
# </details>


# %% tags=["question q3"]
def two_updates(net, opt, x, y1, y2):
    """Update net on y1, then, at the new weights, on y2.

    Returns the two losses, each before its update, as a tuple of Python floats.
    """
    # BEGIN SOLUTION
    losses = []
    for y in (y1, y2):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return tuple(losses)
    # STUB
    # out = net(x)
    # loss1, loss2 = F.mse_loss(out, y1), F.mse_loss(out, y2)
    # opt.zero_grad()
    # loss1.backward(retain_graph=True)
    # opt.step()
    # opt.zero_grad()
    # loss2.backward()
    # opt.step()
    # return loss1.item(), loss2.item()
    # END SOLUTION


# %% tags=["check q3"]
def test_the_second_update_starts_from_the_first(two_updates):
    """The second update starts from the updated weights."""
    import torch

    net = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(net.weight)
    opt = torch.optim.SGD(net.parameters(), lr=0.25)
    one = torch.ones(1, 1)
    losses = two_updates(net, opt, one, 2 * one, 0 * one)
    weight = net.weight.item()
    assert abs(weight - 1.5) > 1e-5, (
        f"The weight is {weight} instead of 0.5:\nthis is what the sum of both gradients gives in the "
        "second step."
    )
    assert abs(weight - 0.5) < 1e-5, (
        f"The weight is {weight} instead of 0.5:\nthe second step needs the gradient of the second loss at "
        "the updated weights."
    )
    assert len(losses) == 2, f"You returned {len(losses)} losses instead of 2."
    for place, (seen, right) in enumerate(zip(losses, (4.0, 1.0)), start=1):
        assert abs(seen - right) < 1e-5, (
            f"Loss {place} is {seen} instead of {right}:\neach loss is computed right before its own update."
        )
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    try:
        two_updates(net, opt, torch.ones(4, 2), torch.ones(4, 1), torch.zeros(4, 1))
    except RuntimeError as error:
        reason = str(error).partition(":")[0]
        raise AssertionError(f"With a net of two layers, two_updates raised an error: {reason}") from None


# %% [markdown] tags=["afterword q3"]
# A gradient belongs to the weights at which its loss was computed. A step changes the weights, so the next gradient
# needs a new forward pass, and you need not retain anything for it.


# %% [markdown] tags=["claim S1.1", "claim S1.19"]
# ## Code from 2017
#
# Much code about `retain_graph` is older than that name. Here are three relics, and what torch does with them
# today. (The first is often called "deprecated". It is gone.)

# %%
w = torch.tensor(2.0, requires_grad=True)
try:
    (w * w).backward(retain_variables=True)
except TypeError as error:
    print(error)  # Tensor.backward() got an unexpected keyword argument 'retain_variables'

old = torch.autograd.Variable(torch.ones(2), requires_grad=True)
print(type(old))  # <class 'torch.Tensor'>, because Variable has returned a plain tensor since torch 0.4


class Loud(nn.Module):
    def forward(self, x):
        return 2 * x

    def backward(self):
        print("my backward was called")


Loud()(w).backward()
print(w.grad)  # tensor(2.), and nothing above it, because autograd never calls a module's backward

# %% [markdown] tags=["claim S1.2", "claim S1.3", "claim S2.3"]
# An `nn.Module` needs no method `backward`. Autograd records what `forward` computes, and differentiates that.
#
# One thing from 2017 is as true as ever. If a network computed what you use as a *constant*, such as a target,
# detach it from that network. [`detach()`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html)
# does this, but it does not copy: the result shares storage with the original.

# %%
activation = torch.tensor([-1.0, 2.0])
view, copy = activation.detach(), activation.detach() * 1.0
F.relu(activation, inplace=True)
print(view.tolist())  # [0.0, 2.0], because it shares the storage that relu has overwritten
print(copy.tolist())  # [-1.0, 2.0], because the product has its own storage

# %% [markdown]
# The picture shows what happens without `detach()`. You train the tensor `image`; `target` was computed from `style`.

# %% tags=["drawn"]
# A loss whose `target` was not detached. Backward does not stop at `target`: it walks on
# to `style`, from which `target` was computed.
image, style = torch.tensor([1.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
target = style * 2
xray(loss=F.mse_loss(image, target), image=image, target=target, style=style)

# %% [markdown]
# ## q4 · ContentLoss for today
#
# In *neural style transfer* you train an image. Modules between the layers measure the distance of activations from
# a target.
#
# Write the module `ContentLoss(target, weight)`:
#
# 1. `forward(input)` stores `F.mse_loss(input * weight, target * weight)` in `self.loss`, and returns `input` or a
#    differentiable copy of it.
# 2. In the loss, `target` is a *constant* with the values that it has when the module is created. The caller may
#    overwrite it later. No gradient may flow into its graph.
# 3. Every `forward` computes a new loss, from which the caller backpropagates once.
# 4. `loss.backward()` must work even if a later layer overwrites the tensor that `forward` returned.
#
# The module must have no parameters to train.
#
# The starter code's second `backward()` raises an error. Fix it.
#
# **No side effects.** Leave `target` and `input` unchanged.
#
# **Example.** `ContentLoss(torch.tensor([1., 4.]), 2.0)` with the input `[1., 5.]` has the loss 2.0, and the
# gradient of the input is `[0., 4.]`.
#
# <details><summary>Hint 1</summary>
#
# Print `m.target.grad_fn` of a module `m` from the starter code. The first `backward()` continues into this graph,
# and frees what it saved.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Three things look old here: `retain_variables`, the method `backward`, and a target that is not detached. Which of
# them still has an effect? And whose storage does your constant use, if an in-place ReLU comes later?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Detach the target once, when the module is made, and multiply the detached target by `weight`: the product has its
# own storage. Delete the method `backward`.
#
# </details>


# %% tags=["question q4"]
class ContentLoss(nn.Module):
    """Return the input, and store in self.loss how far it is from a constant target.

    The loss is mse_loss(input * weight, target * weight), with target as it is when the module is made.
    """

    # BEGIN SOLUTION
    def __init__(self, target, weight):
        super().__init__()
        self.target = target.detach() * weight
        self.weight = weight

    def forward(self, input):
        self.loss = F.mse_loss(input * self.weight, self.target)
        return input

    # STUB
    # def __init__(self, target, weight):
    #     super().__init__()
    #     self.target = target * weight
    #     self.weight = weight
    #     self.criterion = nn.MSELoss()
    #
    # def forward(self, input):
    #     self.loss = self.criterion(input * self.weight, self.target)
    #     self.output = input
    #     return self.output
    #
    # def backward(self, retain_variables=True):
    #     self.loss.backward(retain_variables=retain_variables)
    #     return self.loss
    # END SOLUTION


# %% tags=["check q4"]
def test_two_iterations(ContentLoss):
    """Two iterations work; only the image gets a gradient."""
    import torch

    passed = ContentLoss(torch.zeros(2), 3.0)(torch.tensor([1.0, 5.0]))
    assert isinstance(passed, torch.Tensor), (
        f"forward returned a {type(passed).__name__} instead of its input."
    )
    assert passed.tolist() == [1.0, 5.0], f"forward returned {passed.tolist()} instead of its input, [1, 5]."

    made_by = torch.tensor([1.0, 2.0], requires_grad=True)
    module = ContentLoss(made_by**2, 2.0)
    image = torch.tensor([1.0, 5.0], requires_grad=True)
    for number in (1, 2):
        image.grad = None
        module(image)
        try:
            module.loss.backward()
        except RuntimeError as error:
            reason = str(error).partition(" (")[0]
            raise AssertionError(f"Iteration {number} raised an error: {reason}") from None
        assert image.grad is not None, (
            f"In iteration {number}, image.grad is None: the loss is not connected to the image."
        )
        assert image.grad.tolist() == [0.0, 4.0], (
            f"In iteration {number}, image.grad is {image.grad.tolist()} instead of [0, 4]."
        )
        assert made_by.grad is None, (
            "A gradient reached the tensor that the target was computed from,\nbut the target must be a "
            "constant."
        )


# %% [markdown] tags=["afterword q4"]
# Of the three old things only the missing `detach()` has an effect today: torch rejects `retain_variables`, and it
# never calls a module's method `backward`. A target is a value to aim at. It is not part of what you train.


# %% [markdown] tags=["claim S1.17"]
# ## Gradients add up, means do not
#
# The gradient of a sum is the sum of the gradients. Because `backward()` adds, you can backpropagate piece by
# piece, and never have more than one piece in memory. People train batches that do not fit on a GPU this way: cut
# into *micro-batches*, with a forward and a backward for each, and one step for all.
#
# A *mean* is different. **Guess first:** five samples have these losses. Is the mean of the two means the mean of
# all?

# %%
losses = torch.tensor([1.0, 1.0, 1.0, 9.0, 9.0])
print(losses.mean())
print(losses[:3].mean() + losses[3:].mean())
print((losses[:3].mean() + losses[3:].mean()) / 2)

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# 4.2, 10 and 5. The sum of the means is too large, because each mean was divided by the number of its own samples.
# Dividing by 2 does not help: the last 2 samples together count as much as the first 3. If the pieces differ in
# size, no single factor fixes it.
#
# </details>
#
# A gradient that is too large or too small raises no error. It acts like another learning rate, and Adam hides even
# that. People notice when the same settings train differently on a machine with less memory.
#
# ### What is saved, and for how long
#
# The forward saves the tensors that the derivatives need, and `backward()` frees them. Loops differ in *when*. You
# can watch this ([Autograd mechanics, "Hooks for saved
# tensors"](https://docs.pytorch.org/docs/stable/notes/autograd.html#hooks-for-saved-tensors)):

# %%
held = weakref.WeakSet()  # a tensor disappears from it once nothing else refers to it


def pack(tensor):
    """Autograd calls this for each tensor that it saves, and keeps the result."""
    kept = tensor.detach()
    held.add(kept)
    return kept


def unpack(kept):
    """Autograd calls this when backward needs the tensor."""
    return kept


leaf = torch.ones(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    total = leaf.tanh().sum() + leaf.tanh().sum()
    print(len(held))  # 2, because both pieces wait for one backward
    total.backward()
    print(len(held))  # 0, because backward freed them
    for _ in range(2):
        part = leaf.tanh().sum()
        print(len(held))  # 1, both times, because a piece is freed before the next is computed
        part.backward()

# %% tags=["drawn"]
# One backward for two pieces. Until then, `total` holds both graphs, with the results of both `tanh`.
leaf = torch.ones(3, requires_grad=True)
xray(total=leaf.tanh().sum() + leaf.tanh().sum(), leaf=leaf)

# %% [markdown]
# ## q5 · Micro-batches that add up to the batch
#
# Write `accumulate(model, X, Y, micro)`, where `X` and `Y` hold one sample in each row:
#
# 1. Add to the `.grad` of the model's parameters what `F.mse_loss(model(X), Y).backward()` would add: the gradient
#    of the *mean* over the whole batch.
# 2. At any time, tensors may be saved for backward for at most `micro` samples, because the batch does not fit into
#    memory. `micro` need not divide the number of samples, and may exceed it.
#
# The model computes each row independently and draws no random numbers. All parameters take part. One may be used
# in two places.
#
# The starter code's gradient is too large. Fix it. The return value is ignored.
#
# **No side effects.** Change only the `.grad` of the model's parameters.
#
# **Example.** `model` is an `nn.Linear(1, 1, bias=False)` with the weight 1. For
# `X = [[1.], [2.], [1.], [2.], [3.]]`, zeros in `Y`, and `micro=2`, the call adds 7.6 to `model.weight.grad`.
#
# <details><summary>Hint 1</summary>
#
# Call the starter code with an `nn.Linear(3, 2)`, a batch of 6 and `micro=2`. Divide `model.weight.grad` by the
# gradient of one backward over the whole batch, and look at the ratio. Then try a batch of 5.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The mean over a micro-batch divides by the number of *its* samples. By what would the mean over the batch divide
# the same squares?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Each micro-batch counts for its share of the samples: multiply its loss by that share before its `backward()`.
#
# </details>


# %% tags=["question q5"]
def accumulate(model, X, Y, micro):
    """Add the gradient of F.mse_loss(model(X), Y) to the .grad of the model's parameters, piece by piece.

    The return value is ignored.
    """
    for x, y in zip(X.split(micro), Y.split(micro)):
        # BEGIN SOLUTION
        share = len(x) / len(X)
        (F.mse_loss(model(x), y) * share).backward()
        # STUB
        # F.mse_loss(model(x), y).backward()
        # END SOLUTION


# %% tags=["check q5"]
def test_gradient_of_the_batch(accumulate):
    """Micro-batches accumulate the gradient of the batch."""
    import torch
    from torch import nn

    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    X = torch.tensor([[1.0], [2.0], [1.0], [2.0], [3.0]])
    accumulate(model, X, torch.zeros(5, 1), 2)
    seen = model.weight.grad
    assert seen is not None, "model.weight.grad is None: no backward pass reached the weight."
    assert abs(seen.item() - 7.6) < 1e-4, (
        f"model.weight.grad is {seen.item()} instead of 7.6, {seen.item() / 7.6:.2f} times as much:\na mean "
        "over a micro-batch divides by the number of its own samples, not by that of the batch."
    )


# %% [markdown] tags=["afterword q5"]
# A mean divides by the number of samples it was given. So each piece must count by its share of the batch. If all
# pieces had the same size, a single factor would do; the last one rarely does.


# %% [markdown] tags=["claim S3.16", "claim S3.25", "claim S5.7"]
# ## None is not zero
#
# "No gradient" can mean two things: `.grad` is `None`, or it is a tensor of zeros. `None` means that no gradient has
# reached the leaf. A tensor of zeros means that a gradient has reached it, and this gradient is 0. A leaf that no
# loss has reached keeps its `None`.
#
# For plain gradient descent the two are the same: the parameter does not move. For an optimizer with momentum (Adam
# has momentum, too) or with weight decay they are not.

# %%
for nothing in (None, torch.zeros(1)):
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.1)
    w.grad = torch.ones(1)
    optimizer.step()  # a first step, so that there is momentum
    before = w.item()
    w.grad = nothing
    optimizer.step()
    print(w.item() != before)  # False, then True: None is skipped, zeros still mean momentum and decay

# %% [markdown]
# `optimizer.step()` skips a parameter whose `.grad` is `None`. A `.grad` of zeros is a gradient like any other: the
# optimizer adds weight decay to it and applies the momentum of earlier steps. It checks nothing else. In
# particular, it does not look at `requires_grad`: if you freeze a parameter that has an old `.grad`, the parameter
# keeps moving.
#
# So what does [`zero_grad()`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html)
# leave in `.grad`? Since torch 2.0 it sets every `.grad` to `None`. Before, it wrote zeros, and with
# `set_to_none=False` it still does.

# %%
layer = nn.Linear(1, 1, bias=False)
layer(torch.ones(1, 1)).sum().backward()
layer.zero_grad(set_to_none=False)
print(layer.weight.grad)  # tensor([[0.]]), because zeros were written into the old tensor
layer.zero_grad()
print(layer.weight.grad)  # None, because that is the default since torch 2.0

# %% [markdown]
# Now take a model with one trunk and two heads, and a loss of the first head:

# %% tags=["drawn"]
# No arrow leads from the loss to `head2`, so backward never touches its `.grad`: it stays None, or keeps old values.
trunk, head1, head2 = (torch.tensor([value], requires_grad=True) for value in (1.0, 2.0, 3.0))
xray(loss=(trunk * head1).sum(), trunk=trunk, head1=head1, head2=head2)

# %% [markdown]
# ## q6 · grad None is not grad zero
#
# A model has one trunk and a head for each task.
#
# Write `train_task(model, opt, task, x, y)`:
#
# 1. Compute the loss `F.mse_loss(model.heads[task](model.trunk(x)), y)`.
# 2. Update the trunk and this head with one `opt.step()`, which must use the gradient of this loss only, whatever
#    `.grad` held before. The other heads must have no gradient at this step. (The loss depends on every parameter
#    of the trunk and of this head, but a gradient may be 0.)
#
# Any task may come next, so everything must stay trainable. You may leave anything in `.grad`: the next call
# ignores it.
#
# With the starter code, each task slowly ruins the heads of the others. Fix it. The return value is ignored.
#
# **No side effects.** Leave the other heads and their optimizer state unchanged.
#
# **Example.** Trunk and heads are layers `nn.Linear(1, 1, bias=False)` with the weight 1, and `opt` is SGD with
# `lr=0.1` and any momentum. For task 0, `x = [[1.]]` and `y = [[0.]]`, trunk and head 0 become 0.8. Head 1 stays 1.
#
# <details><summary>Hint 1</summary>
#
# Train task 0, then task 1, then task 0. Before the third step, print `model.heads[1].weight.grad`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# An optimizer with momentum and weight decay changes a parameter even if its gradient is 0. For which `.grad` does
# it do nothing at all?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Before the backward, set every `.grad` to `None`. `opt.zero_grad` can do that: look at its only argument.
#
# </details>


# %% tags=["question q6"]
def train_task(model, opt, task, x, y):
    """Make one step of opt on the trunk and on one head; the other heads do not move.

    The return value is ignored.
    """
    # BEGIN SOLUTION
    opt.zero_grad(set_to_none=True)
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()
    # STUB
    # opt.zero_grad(set_to_none=False)
    # F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    # opt.step()
    # END SOLUTION


# %% tags=["check q6"]
def test_the_other_head_stands_still(train_task):
    """A step on task 0 leaves the head of task 1 unchanged."""
    import torch

    model = torch.nn.Module()
    model.trunk = torch.nn.Linear(2, 2)
    model.heads = torch.nn.ModuleList([torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)])
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    x, y = torch.ones(3, 2), torch.full((3, 1), 5.0)
    for task in (0, 1):
        before = model.heads[task].weight.tolist()
        train_task(model, opt, task, x, y)
        assert model.heads[task].weight.tolist() != before, (
            f"The step on task {task} did not change the weight of its own head."
        )
    before = model.heads[1].weight.tolist()
    train_task(model, opt, 0, x, y)
    after = model.heads[1].weight.tolist()
    assert after == before, (
        f"A step on task 0 changed the weight of heads[1] from {before} to {after}.\nAn optimizer skips a "
        "parameter only if its .grad is None."
    )


# %% [markdown] tags=["afterword q6"]
# An optimizer skips a parameter whose `.grad` is `None`. With a `.grad` of zeros it applies momentum and weight
# decay. The same question comes up whenever a loss does not use a part of the model.


# %% [markdown]
# ## What a running sum remembers
#
# A graph is in memory as long as a tensor refers to it. So you need not "free the graph" in a normal loop: the name
# `loss` moves on to the next loss, and the graph of the last one is freed. Unless you keep it.


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


w = torch.ones(3, requires_grad=True)
total = 0.0
for _ in range(3):
    total += (w * w).sum()
    print(graph_size(total))  # 4, 7, 10, because the sum refers to the graph of every loss so far

# %% tags=["drawn"]
# The running sum after three losses. Each addition refers to the sum before it and to the whole graph of one loss.
xray(total=total, w=w)

# %% [markdown] tags=["claim S0.7", "claim S1.11", "claim S1.14"]
# `total` began as a Python float. The first `+=` silently turned it into a tensor with a graph. In training,
# `backward()` frees the saved tensors of each loss, so that only the nodes pile up. In validation there is no
# backward: everything that was saved for every batch stays in memory as long as `total` does. (See also [Frequently
# Asked Questions, 'My model reports "cuda runtime error(2): out of
# memory"'](https://docs.pytorch.org/docs/stable/notes/faq.html).)
#
# `model.eval()` does not help. It changes what dropout and batch norm compute, and autograd records as before:

# %%
layer = nn.Linear(2, 1).eval()
print(layer(torch.ones(1, 2)).grad_fn is not None)  # True, because eval() does not switch the recording off

# %% [markdown]
# Three things do help: add `loss.item()`, which is a number; add `loss.detach()`, which is not connected to the
# graph; or compute the loss under `torch.no_grad()`, where autograd records nothing.

# %% [markdown]
# ## q7 · The running loss that ate the memory
#
# Write `validation_loss(model, loader)`:
#
# 1. Compute `F.mse_loss(model(x), y)` for each pair `(x, y)` of `loader`.
# 2. Return the mean of these losses as a Python float. Every batch counts the same, even if the last one is
#    smaller.
#
# Whenever `model` is called, the graph of at most *one* earlier batch may still be in memory. After the call, no
# graph may still be in memory, even if the caller keeps the result.
#
# `loader` is a list, or an object like a `DataLoader`: it has a `len` of at least 1, and you can iterate over it
# repeatedly. All tensors are float32.
#
# The starter code computes the right mean, but memory grows with every batch. Fix it.
#
# **No side effects.** Leave `model`, `loader` and the gradient mode unchanged.
#
# **Example.** For `model = nn.Identity()` and batches with `x = [[0.], [0.]]`, `y = [[1.], [1.]]` and with
# `x = [[0.]]`, `y = [[3.]]`, the losses are 1 and 9, so the result is 5.0.
#
# <details><summary>Hint 1</summary>
#
# Print `type(total)` and `total.grad_fn` in each iteration. `grad_fn` refers to the graph of every batch so far.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A number refers to no graph. When must the loss become a number: after the loop, or inside it?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Add `loss.item()` in each iteration, not `loss`. And you need no graph here: `with torch.no_grad():` around the
# loop saves time, too.
#
# </details>


# %% tags=["question q7"]
def validation_loss(model, loader):
    """Return the mean over the batches of F.mse_loss(model(x), y), and keep no graph alive.

    Returns a Python float.
    """
    # BEGIN SOLUTION
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += F.mse_loss(model(x), y).item()
    return total / len(loader)
    # STUB
    # total = 0.0
    # for x, y in loader:
    #     loss = F.mse_loss(model(x), y)
    #     total += loss
    # return total / len(loader)
    # END SOLUTION


# %% tags=["check q7"]
def test_the_mean_is_a_number(validation_loss):
    """The mean is a float; old graphs are freed."""
    import gc
    import weakref

    import torch

    model = torch.nn.Linear(1, 1).eval()
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    loader = [(torch.ones(2, 1), torch.full((2, 1), value)) for value in (1.0, 2.0, 3.0)]
    mean = validation_loss(model, loader)
    assert isinstance(mean, float), (
        f"You returned a {type(mean).__name__} instead of a Python float.\nA tensor keeps its graph in "
        "memory; a number does not."
    )
    assert abs(mean - 14 / 3) < 1e-4, f"The mean over the three batches is {mean} instead of 4.6667."
    predictions, peak = [], []

    class Watched(torch.nn.Linear):
        def forward(self, x):
            gc.collect()
            peak.append(sum(ref() is not None for ref in predictions))
            y = super().forward(x)
            node = y.grad_fn
            if node is not None:
                node.metadata["life"] = life = torch.nn.Identity()
                predictions.append(weakref.ref(life))
            return y

    validation_loss(Watched(1, 1).eval(), [(torch.ones(2, 1), torch.zeros(2, 1)) for _ in range(4)])
    assert max(peak, default=0) <= 1, (
        f"The graphs of {max(peak)} batches were in memory at the same time:\na variable that outlives its "
        "batch still refers to a graph."
    )


# %% [markdown] tags=["afterword q7"]
# A number refers to no graph. A tensor keeps its whole graph in memory, wherever you store it: in a sum, in a list,
# in a log.


# %% [markdown]
# ## Bonus task · Learn from a large model
#
# In *distillation* a small model learns to predict what a large model, its teacher, predicts.
#
# Write `distil(model, teacher, opt, inputs, micro, epochs)`:
#
# 1. Call the teacher exactly once for each batch in the list `inputs`, not in every epoch. Its answers are
#    constants.
# 2. In each epoch, make one `opt.step()` for every batch, in the order of `inputs`. The step must use the gradient
#    of `F.mse_loss(model(x), answer)`, the mean over this whole batch, and nothing else, whatever `.grad` held
#    before.
# 3. Call the model with at most `micro` samples at a time. When samples enter it, the graph of at most one earlier
#    call may be in memory. After the training, no graph may be in memory, even if the caller keeps the result.
# 4. Return a list with one Python float for each epoch: the mean of its batch losses, each from before the batch's
#    step. Every batch counts the same.
#
# You can rely on this:
#
# - Each `x` has the shape `(samples, features)`, with at least one sample. Batches may differ in size. `micro` is
#   at least 1 and need not divide the number of samples. All tensors are float32, or all are float64.
# - Model and teacher compute each row independently, draw no random numbers and write to none of their buffers.
#   Their results have the same shape.
# - `opt` is an optimizer of `torch.optim` that steps without a closure. It holds the parameters of the model, which
#   all require grad and take part in its output. The teacher's parameters may require grad, too.
#
# The starter code raises an error when it backpropagates for the same batch a second time. It has three of the bugs
# that this notebook is about. Once it runs, you see the other two: the more pieces a batch is cut into, the larger
# the steps are; and the longer it trains, the more memory it needs.
#
# **No side effects.** Change only the parameters of the model, their `.grad` and the state of `opt`.
#
# **Example.** Model and teacher are layers `nn.Linear(1, 1, bias=False)` with the weights 0 and 1, and `opt` is SGD
# with `lr=0.125`. For `inputs = [[[1.], [2.], [1.]]]`, `micro=2` and `epochs=2`, the result is `[2.0, 0.5]`, and
# the model's weight becomes 0.75.


# %% tags=["question end"]
def distil(model, teacher, opt, inputs, micro, epochs):
    """Train model to predict what teacher predicts.

    Returns a list of Python floats: for each epoch, the mean loss of its batches.
    """
    # BEGIN SOLUTION
    with torch.no_grad():
        answers = [teacher(x) for x in inputs]
    history = []
    for _ in range(epochs):
        total = 0.0
        for x, answer in zip(inputs, answers):
            opt.zero_grad()
            for piece, wanted in zip(x.split(micro), answer.split(micro)):
                share = len(piece) / len(x)
                loss = F.mse_loss(model(piece), wanted) * share
                loss.backward()
                total += loss.item()
            opt.step()
        history.append(total / len(inputs))
    return history
    # STUB
    # answers = [teacher(x) for x in inputs]
    # history = []
    # for _ in range(epochs):
    #     total = 0.0
    #     for x, answer in zip(inputs, answers):
    #         opt.zero_grad()
    #         for piece, wanted in zip(x.split(micro), answer.split(micro)):
    #             loss = F.mse_loss(model(piece), wanted)
    #             loss.backward()
    #             total += loss
    #         opt.step()
    #     history.append(total / len(inputs))
    # return history
    # END SOLUTION


# %% tags=["check end"]
def test_two_epochs(distil):
    """Two epochs give the right losses and weight."""
    import torch

    model, teacher = (torch.nn.Linear(1, 1, bias=False) for _ in range(2))
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.ones_(teacher.weight)
    opt = torch.optim.SGD(model.parameters(), lr=0.125)
    try:
        history = distil(model, teacher, opt, [torch.tensor([[1.0], [2.0], [1.0]])], 2, 2)
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"Training raised an error: {reason}") from None
    assert teacher.weight.grad is None, "A gradient reached the teacher, but its answers must be constants."
    assert abs(model.weight.item() - 0.75) < 1e-5, (
        f"After two epochs the weight is {model.weight.item()} instead of 0.75:\neach step needs the "
        "gradient of the mean over the whole batch."
    )
    kinds = [type(loss).__name__ for loss in history]
    assert kinds == ["float", "float"], (
        f"For two epochs you returned values of the types {kinds}.\nReturn one Python float for each epoch: "
        "a number keeps no graph in memory."
    )
    assert all(abs(seen - right) < 1e-5 for seen, right in zip(history, (2.0, 0.5))), (
        f"The mean losses are {[round(loss, 4) for loss in history]} instead of [2.0, 0.5]."
    )


# %% [markdown] tags=["afterword end"]
# The three bugs: the answers had a history, so the second backward reached the teacher's graph, which the first had
# freed. Each piece was divided by its own number of samples. And the running sum kept the graph of every loss in
# memory. Only the first bug raised an error, and `retain_graph=True` would have silenced that as well.


# %% [markdown]
# ## What to remember
#
# - `backward()` frees the *saved tensors*, not the nodes and not the gradients. Only a backward that is followed by
#   another one through the same nodes needs `retain_graph=True`. The last backward never needs it, but the last
#   backward may be your caller's.
# - `backward()` adds to `.grad`. `torch.autograd.grad` returns gradients and leaves the `.grad` of every leaf
#   unchanged.
# - A retained graph does not keep values. After `optimizer.step()`, compute the loss again.
# - A constant target is detached and has its own storage.
# - A mean knows only the samples it was given: multiply the loss of each micro-batch by its share of the batch.
#   Backpropagate after each of them.
# - A `.grad` of zeros is a gradient; `None` is not. Optimizers skip only `None`.
# - A running sum of losses is a graph. Add numbers.
#
# Next: `03_truncated_bptt`, where the second backward arrives through a recurrent state.
