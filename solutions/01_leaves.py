# %% [markdown]
# # 1. Leaves, and where the gradient lands
#
# While your code computes, autograd records every operation on a tensor that requires grad. This record is the
# *autograd graph*. `backward()` walks the graph in reverse and multiplies derivatives. In this notebook you will
# learn
#
# - what a **leaf** is, and how to create one that an optimizer accepts;
# - which tensor's `.grad` holds a gradient, and how to get the gradient of any other tensor;
# - how to look inside a model with hooks, and how to remove the hooks again;
# - which lines disconnect a loss from the parameters without raising an error;
# - what `backward()` needs if the loss is not a single number.
#
# Much of what you can read on the web about leaves is outdated, or was never true. The code and the claims about
# PyTorch in this notebook were tested with torch 2.13. Where they differ from what you may have read, the text says
# so.
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
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown] tags=["claim S3.1", "claim S3.10", "claim S3.11", "claim S3.12", "claim S3.13", "claim S3.14", "claim S3.17", "claim S4.2"]
# ## What a leaf is
#
# A tensor's `grad_fn` refers to the recorded operation that produced the tensor. If no recorded operation produced
# it, `grad_fn` is `None`, and the tensor is a leaf: `t.is_leaf` and `t.grad_fn is None` mean the same. Autograd
# records an operation if gradients are enabled, the operation is differentiable, and at least one of its inputs
# requires grad. The documentation says so under
# [`Tensor.is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html) and in [Autograd
# mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history). The
# recorded operations behind a tensor are called its *history*.
#
# You may read that "every tensor I create is a leaf". This is wrong when one expression creates a tensor *and*
# computes with it. Guess first: which of these six are leaves?

# %%
data = torch.randn(3)
weight = torch.randn(3, requires_grad=True)
column = torch.randn(3, requires_grad=True).reshape(3, 1)

print(weight.is_leaf, (weight * 2).is_leaf, (data * 2).is_leaf)
print(weight.double().is_leaf, weight.float().is_leaf)
print(column.is_leaf)

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `True False True`, then `False True`, then `False`.
#
# - No operation produced `weight`. The multiplication by `weight` was recorded. The multiplication of `data` was not,
#   because none of its inputs requires grad. So that product is a leaf.
# - A cast is an operation like any other. But `weight.float()` has nothing to cast, so it returns the same tensor:
#   `weight.float() is weight`.
# - `column` is a non-leaf: `reshape` computed it from a leaf.
#
# </details>

# %% tags=["drawn"]
# `weight` is a leaf, and `doubled` was computed from it. `column` was also computed from a leaf, but that one has no
# name.
xray(column=column, doubled=weight * 2, weight=weight)

# %% [markdown] tags=["claim S3.21", "claim S4.1"]
# You can draw such a picture yourself, of any tensors: `from grader import xray`, and then
# `xray(column=column, weight=weight)`. If you are not sure what a line does to a tensor, draw the tensor.
#
# `column` was computed from a leaf, and `backward()` will store a gradient in that leaf. But no name refers to the leaf
# any more. You only hold the result of `reshape`, so you cannot read the gradient.
#
# A tensor that doesn't require grad is a leaf by convention. So `is_leaf` is only informative for tensors that require
# grad.
#
# Leaves matter because both halves of a training step use them: `backward()` adds gradients to the `.grad` of leaves
# that require grad, and an optimizer updates leaves. `requires_grad_()` does not turn a non-leaf into a leaf. It sets a
# flag, and it does not erase the history:

# %%
scaled = torch.randn(3, requires_grad=True) * 0.1
scaled.requires_grad_()
print(scaled.is_leaf, scaled.grad_fn)  # False <MulBackward0 ...>, because the history stays

# %% [markdown] tags=["claim S3.2", "claim S3.24", "claim S5.1", "claim S5.2"]
# (`detach_()` does erase the history, in place: after `scaled.detach_()`, `scaled` is a leaf that does not require grad.)
#
# On a tensor without a history, `requires_grad_()` gives you a leaf that requires grad. The tensor must hold
# floating point or complex numbers: `torch.Tensor([1, 2])` holds floats and works; `torch.tensor([1, 2])` holds
# integers and raises an error. (The message mentions floating point only, but complex tensors can require grad,
# too.)
#
# The weight and the bias of an `nn.Linear` are such leaves. This is not true of every layer: under
# [`weight_norm`](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.weight_norm.html)
# the weight is computed from two other leaves, so it is a non-leaf.
#
# `retain_grad()` does not make a leaf, either. After `w.retain_grad()`, optimizers accept a non-leaf `w`, and the first
# training step even works. The second step raises an error: `w` still depends on the operation that produced it, and
# the first `backward()` freed that part of the graph.

# %% [markdown]
# ## q1 · A weight the optimizer will take
#
# Write `make_weight(n, m, scale)`:
#
# 1. Draw float32 numbers of shape `(n, m)` with `torch.randn(n, m, generator=generator)`, where `generator` has
#    seed 0.
# 2. Multiply them by the positive float `scale`.
# 3. Return the product as a leaf that requires grad.
#
# The weight must be trainable for any number of steps. Every call must return a new weight with these values and
# its own storage. This also holds under `no_grad()`, and after the caller has overwritten an earlier weight.
#
# The starter code returns a non-leaf: `torch.optim.SGD([w])` raises `ValueError: can't optimize a non-leaf Tensor`.
# Fix it.
#
# **No side effects.** Leave all global settings unchanged, and the global random generator, too.
#
# **Example.** `make_weight(1, 2, 0.5)` returns `[[0.7705, -0.1467]]`, a leaf that requires grad.
#
# <details><summary>Hint 1</summary>
#
# Print `w.is_leaf` and `w.grad_fn` before you pass `w` to an optimizer. `grad_fn` names the operation that was
# recorded.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `requires_grad=True` was set *before* the multiplication. So the multiplication was recorded, and its result is
# inside the graph, not at its edge. In which order would nothing be recorded?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Do the arithmetic first, and set `requires_grad` last. Another way is to multiply in place, under
# `torch.no_grad()`.
#
# </details>


# %% tags=["question q1"]
def make_weight(n, m, scale):
    """Return a trainable weight of shape (n, m): torch.randn(n, m) from seed 0, times the float `scale`."""
    generator = torch.Generator().manual_seed(0)
    # BEGIN SOLUTION
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
    # STUB
    # w = torch.randn(n, m, generator=generator, requires_grad=True) * scale
    # return w
    # END SOLUTION


# %% tags=["check q1"]
def test_a_trainable_weight(make_weight):
    """The weight is a trainable leaf with the right values."""
    import torch

    w = make_weight(2, 3, 0.1)
    assert w.requires_grad, "w.requires_grad is False, so backward() never fills w.grad."
    maker = type(w.grad_fn).__name__
    if w.retains_grad:
        consequence = (
            "retain_grad() keeps its gradient, but the next backward() passes through its history again."
        )
    else:
        consequence = "backward() leaves w.grad at None, and optimizers reject w."
    assert w.is_leaf, f"{maker} produced w, so w is not a leaf:\n{consequence}"
    assert not w.is_inference(), "w was allocated in inference_mode, so autograd cannot save it for backward."

    w = make_weight(2, 3, 4.0)
    expected = torch.randn(2, 3, generator=torch.Generator().manual_seed(0)) * 4.0
    assert w.shape == expected.shape, f"w has the shape {tuple(w.shape)} instead of (2, 3)."
    for row, column in (~torch.isclose(w.detach(), expected)).nonzero().tolist():
        raise AssertionError(
            f"w[{row}, {column}] is {w[row, column].item()} instead of {expected[row, column].item()}:\n"
            "w is a leaf, but its values must be those that the task asks for."
        )


# %% [markdown] tags=["afterword q1"]
# Compute first, and set `requires_grad` last: then no recorded operation produced the weight. Next trap:
# `w = w - lr * w.grad` gives you a tensor with a history again. Update in place, under `torch.no_grad()`.

# %% [markdown] tags=["claim S3.21"]
# ## The gradient belongs to one tensor, not to a name
#
# A line such as `x = x.float()` looks as if it changed `x`. In fact it creates a new tensor and makes the name `x`
# refer to it. The leaf that you had before still exists. Guess first: which of the two tensors has a gradient after
# `backward()`, and what is its dtype?

# %%
leaf = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
x = leaf.float()
loss = (x**2).sum()
loss.backward()
print(leaf.grad)
print(x.is_leaf)

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `tensor([2., 4.], dtype=torch.float64)`, then `False`. The leaf is the tensor before the cast. So the gradient is
# stored there, in the dtype of the leaf. The cast produced `x`, so `backward()` passed through `x` and did not fill
# `x.grad`.
#
# </details>

# %% tags=["drawn"]
# After `backward()`: `leaf` has a `.grad`. Between `loss` and `leaf` is the cast, whose result is `x`.
xray(loss=loss, x=x, leaf=leaf)

# %% [markdown] tags=["claim S3.16", "claim S3.25", "claim S5.3"]
# A second point is easy to miss. `backward()` adds a gradient to *every* leaf that it reaches and that requires
# grad. (A leaf that took no part keeps the `.grad` that it had.) If a model took part in the computation, its
# parameters get gradients, too, on top of what their `.grad` held before.
# [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html) has fewer side
# effects. `torch.autograd.grad(loss, x)` returns the gradient with respect to the tensors that you name, leaves or
# not, and leaves the `.grad` of every leaf unchanged. (It fills only the `.grad` of non-leaves on which you have
# called `retain_grad()`; the next section introduces this method.)

# %%
layer = nn.Linear(2, 1)
point = torch.ones(1, 2, requires_grad=True)
(gradient,) = torch.autograd.grad(layer(point).sum(), point)
print(torch.equal(gradient, layer.weight))  # True, because it is the derivative of weight * point + bias
print(point.grad, layer.weight.grad)  # None None, because the gradient was returned and nothing was stored

# %% [markdown]
# ## q2 · Gradient with respect to the input
#
# Which pixels does a model look at? A first answer is the gradient of its output with respect to its input.
#
# Write `input_gradient(model, img)`:
#
# 1. Cast `img`, a float64 vector of length N, to float32 and reshape it to `x` of shape `(1, N)`.
# 2. Return the gradient of `model(x).sum()` with respect to `x`: float32, shape `(1, N)`.
#
# The starter code returns `None`. Fix it.
#
# **No side effects.** Leave `img`, the model and every parameter's `.grad` unchanged. Leave the values of the tensors
# that are in `.grad` before the call unchanged, even if you replace `.grad` during the call: the caller may hold
# other references to them. Don't cache: weights may change between calls.
#
# **Example.** If `model` is an `nn.Linear(3, 1)` with the weight `[[1., 2., 3.]]`, the result is `[[1., 2., 3.]]`
# for every `img` of length 3.
#
# <details><summary>Hint 1</summary>
#
# Compare two tensors: the one on which `requires_grad_()` is called, and the one whose `.grad` is read. Are they
# the same tensor?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `.float()` and `.reshape()` each return a new tensor, and neither is a leaf. The leaf is the float64 tensor. Also,
# `backward()` adds a gradient to every parameter of the model.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Cast and reshape first, then call `requires_grad_()`. `torch.autograd.grad` returns the gradient of `x` alone and
# doesn't touch any `.grad`.
#
# </details>


# %% tags=["question q2"]
def input_gradient(model, img):
    """Return the gradient of model(x).sum() with respect to x, as a float32 tensor of shape (1, N).

    x is `img`, cast to float32 and reshaped to (1, N). `img`, the model and the .grad of every parameter are
    unchanged.
    """
    # BEGIN SOLUTION
    x = img.detach().float().reshape(1, -1).requires_grad_()
    (gradient,) = torch.autograd.grad(model(x).sum(), x)
    return gradient
    # STUB
    # x = img.clone().requires_grad_()
    # x = x.float().reshape(1, -1)
    # model(x).sum().backward()
    # return x.grad
    # END SOLUTION


# %% tags=["check q2"]
def test_gradient_of_the_cast_input(input_gradient):
    """The gradient is that of x, and parameters are unchanged."""
    import torch

    model = torch.nn.Linear(3, 1)
    gradient = input_gradient(model, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    assert gradient is not None, (
        "You returned None: an operation produced the tensor whose .grad you read, so it is not a leaf,\n"
        "and backward() fills the .grad of a non-leaf only after retain_grad()."
    )
    kind = f"{gradient.dtype} of shape {tuple(gradient.shape)}"
    assert kind == "torch.float32 of shape (1, 3)", (
        f"The gradient is {kind} instead of torch.float32 of shape (1, 3):\n"
        "a gradient has the dtype and shape of its tensor, so this one belongs to another tensor."
    )
    assert torch.allclose(gradient, model.weight), (
        "For a linear layer the gradient equals its weight, but yours does not."
    )

    model = torch.nn.Linear(3, 1)
    model.weight.grad = torch.ones(1, 3)
    input_gradient(model, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    assert model.bias.grad is None, (
        f"bias.grad was None and is now {model.bias.grad.item():g}: your backward pass also reached the bias."
    )
    seen = model.weight.grad
    assert seen is not None, "weight.grad was 1, 1, 1 and is now None: the caller's gradients are lost."
    assert torch.equal(seen, torch.ones(1, 3)), (
        f"weight.grad was 1, 1, 1 and is now {', '.join(f'{value:g}' for value in seen[0].tolist())}:\n"
        "your backward pass also reached the parameters and added to their .grad."
    )


# %% [markdown] tags=["afterword q2"]
# A gradient belongs to one tensor: here to the tensor that the model received, after the cast and the reshape. Next
# trap: `backward()` adds to the `.grad` of every leaf that it reaches, including those you don't look at.
# `torch.autograd.grad` returns the gradients that you ask for and changes no leaf's `.grad`.

# %% [markdown] tags=["claim S3.3", "claim S3.4", "claim S3.5", "claim S3.15", "claim S3.23"]
# ## Gradients that are computed and not kept
#
# You may read two statements about tensors in the middle of a computation, and both are wrong. The first: autograd
# computes no gradient for them. The second: autograd stores a gradient in their `.grad` and clears it after
# `backward()`. The chain rule needs the gradient of every intermediate result. So autograd computes it, passes it
# on towards the leaves, and drops it. It doesn't store it in `.grad` unless you ask, because that costs memory and
# you rarely need it. A hook can observe the gradient:

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
c = a * 3
c.register_hook(lambda gradient: print("backward passes c with", gradient))
(c**2).sum().backward()
print(a.grad)  # tensor([18., 36.]), because what passed c was multiplied by 3 and stored in the leaf
print(c.grad)  # None, because c is not a leaf; the UserWarning explains why, so read it once in full

# %% [markdown] tags=["claim S3.7", "claim S3.8", "claim S3.16", "claim S3.22"]
# To keep such a gradient, call
# [`c.retain_grad()`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html) before
# `backward()`. It is a method: without the parentheses, the line does nothing and raises no error. If you call it
# after `backward()`, `c.grad` stays `None`, and even the warning disappears. And it does not make `c` a leaf.

# %%
c = a * 3
c.retain_grad()
print(c.retains_grad)  # True, because c will keep the gradient that passes it
print(c.is_leaf)  # False, because it is still the result of a multiplication

loss = (c**2).sum()
loss.backward()
print(c.grad)  # tensor([ 6., 12.]), because the derivative of c**2 is 2 * c

# %% tags=["drawn"]
# After `backward()`: `a` has a `.grad` because it is a leaf, and `c` because you asked for it.
xray(loss=loss, c=c, a=a)

# %% [markdown] tags=["claim S3.7", "claim S3.19"]
# The hook above is another way to get this gradient, and `torch.autograd.grad` is a third: it accepts any tensor of
# the graph.

# %% [markdown] tags=["claim S3.18"]
# ## q3 · Every gradient of c=a+b, e=c*d, o=e.sum()
#
# Write `all_grads(a, b, d)`:
#
# 1. Compute `c = a + b`, `e = c * d` and `o = e.sum()`. The arguments are leaves without a `.grad`.
# 2. Return a dictionary with the gradient of `o` with respect to each of the six tensors, under the keys `"a"`,
#    `"b"`, `"c"`, `"d"`, `"e"` and `"o"`. Each gradient must have its tensor's shape and dtype.
#
# The starter code returns `None` for three of the six, and torch issues a `UserWarning`. Fix it: return six
# gradients, and cause no warnings.
#
# **No side effects.** Leave the values of the leaves and the warning filters unchanged. You may leave anything in
# the `.grad` and the hooks of the leaves, which were made for this call.
#
# **Example.** For `a = [1., 2.]`, `b = [3., 4.]` and `d = [5., 6.]`, the gradients of `a`, `b` and `c` are
# `[5., 6.]`, that of `d` is `[4., 6.]`, that of `e` is `[1., 1.]`, and that of `o` is `1.`
#
# <details><summary>Hint 1</summary>
#
# Read the `UserWarning`. It names the attribute that the code reads, and the kind of tensor it reads it from.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Autograd computes the gradients of `c`, `e` and `o`. It doesn't store them unless you ask for that before
# `backward()`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Call `retain_grad()` on each of the three before `backward()`. Or do without `backward()`: `torch.autograd.grad`
# takes a list of tensors, and `o` may be one of them.
#
# </details>


# %% tags=["question q3"]
def all_grads(a, b, d):
    """Return the gradients of o with respect to a, b, c, d, e and o, by these six names.

    a, b and d are leaves of one dtype, without a .grad; c = a + b, e = c * d, o = e.sum(). Each gradient has
    the shape and dtype of its tensor.
    """
    c = a + b
    e = c * d
    o = e.sum()
    # BEGIN SOLUTION
    for tensor in (c, e, o):
        tensor.retain_grad()
    # STUB
    # END SOLUTION
    o.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


# %% tags=["check q3"]
def test_six_gradients(all_grads):
    """All six gradients are returned and correct."""
    import torch

    a, b, d = (torch.tensor(values, requires_grad=True) for values in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]))
    gradients = all_grads(a, b, d)
    for name, expected in (("c", [5.0, 6.0]), ("e", [1.0, 1.0]), ("o", 1.0)):
        seen = gradients.get(name)
        assert seen is not None, (
            f"The gradient of {name} is None: {name} is not a leaf,\n"
            "and autograd keeps its gradient only if you ask for that before backward() runs."
        )
        assert seen.tolist() == expected, f"The gradient of {name} is {seen.tolist()} instead of {expected}."
    for name, expected in (("a", [5.0, 6.0]), ("b", [5.0, 6.0]), ("d", [4.0, 6.0])):
        seen = gradients.get(name)
        assert seen is not None, f"The gradient of {name} is None: o is no longer connected to {name}."
        assert seen.tolist() == expected, (
            f"The gradient of {name} is {seen.tolist()} instead of {expected}.\n"
            "If it is a multiple, several backward passes were added up."
        )


# %% [markdown] tags=["afterword q3"]
# The gradient of `o` is 1: every backward pass begins there. Autograd computed all six gradients before you changed
# anything; you only asked for them in time. Next trap: `retain_grad()` keeps a gradient but doesn't make a leaf. An
# optimizer that is given such a tensor will not train the leaves it was computed from.

# %% [markdown] tags=["claim S5.5"]
# ## Looking inside a model
#
# The tensors between the layers of a model have no names, so you cannot call `retain_grad()` on them. A [*forward
# hook*](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook)
# gives you access. PyTorch calls it after the module's forward, with the module, its inputs and its output. The
# output is not a copy: it is the tensor that the next layer computes with. (There are two exceptions: a later
# forward hook that returns another tensor, and a full backward hook on the same module, which inserts a view.)

# %%
layer = nn.Linear(2, 2)
outputs = []
handle = layer.register_forward_hook(lambda module, inputs, output: outputs.append(output))

result = layer(torch.ones(1, 2))
print(outputs[0] is result)  # True, because the hook was given the tensor that is part of the graph
print(outputs[0].detach() is result)  # False, because detach() returns another tensor, without a history

handle.remove()
layer(torch.ones(1, 2))
print(len(outputs))  # 1, because the hook was gone before the second forward

# %% tags=["drawn"]
# The hook's output leads back to the parameters. The detached tensor leads nowhere.
xray(output=outputs[0], detached=outputs[0].detach(), layer=layer)

# %% [markdown]
# Two habits keep hooks harmless. Return `None` from a forward hook (as `append` does here), because anything else
# *replaces* the output of the layer. And keep the handle: until you remove the hook, every later forward calls it,
# even when your colleague uses the model next.

# %% [markdown]
# ## q4 · Which layer gets which gradient? (hooks that clean up)
#
# Write `activation_grads(model, x, names)`:
#
# 1. Run `model(x)` and backpropagate from the sum of its output.
# 2. For every name in `names`, take the gradient with respect to the *output* of that submodule. The name `""`
#    means the model itself. Return `{name: gradient}`.
# 3. Remove all your hooks, even if the model raises an error or is interrupted.
#
# Every module in `names` runs exactly once in the forward pass and returns a tensor that requires grad. No module
# uses in-place operations.
#
# The starter code returns `None` for every layer and leaves its hooks in the model. Fix both.
#
# **No side effects.** Hooks that the caller registered must stay, and the caller's handles must still remove them.
# The backward pass may add to the `.grad` of the parameters that it reaches.
#
# **Example.** Two layers `nn.Linear(1, 1, bias=False)` in an `nn.Sequential` have the weights 2 and 3. With
# `names = ["0", "1"]` the result is `{"0": [[3.]], "1": [[1.]]}` for every `x` of shape `(1, 1)`.
#
# <details><summary>Hint 1</summary>
#
# A forward hook receives the tensor of the graph, not a copy. `.detach()` returns another tensor, which is not part
# of the graph.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Keep the output itself, and ask for its gradient inside the hook, before `backward()` runs. Also keep the handles
# that `register_forward_hook` returns. If you write the hook as a `lambda` in a loop, all hooks see the *last*
# value of the loop variable, unless you bind it: `lambda ..., name=name: ...`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the hook, call `retain_grad()` or `register_hook` on the output. Put forward and backward into a `try`, and
# remove each handle in its `finally`: this removes the hooks even if the forward raises an error.
#
# </details>


# %% tags=["question q4"]
def activation_grads(model, x, names):
    """Return {name: gradient of model(x).sum() with respect to the output of the submodule of that name}.

    Each gradient has the shape of that submodule's output. The function removes its hooks from the model.
    """
    modules = dict(model.named_modules())
    activations = {}
    # BEGIN SOLUTION
    handles = []
    for name in names:

        def keep(module, inputs, output, name=name):
            output.retain_grad()
            activations[name] = output

        handles.append(modules[name].register_forward_hook(keep))
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    # STUB
    # for name in names:
    #
    #     def keep(module, inputs, output, name=name):
    #         activations[name] = output.detach()
    #
    #     modules[name].register_forward_hook(keep)
    # model(x).sum().backward()
    # END SOLUTION
    return {name: activation.grad for name, activation in activations.items()}


# %% tags=["check q4"]
def test_gradients_of_the_outputs(activation_grads):
    """Gradients of layer outputs are right; hooks are removed."""
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.bend, self.outer = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.outer(30 * self.bend(self.inner(x)))

    model, x = Model(), torch.randn(2, 3)
    seen = activation_grads(model, x, ["inner", "bend"])

    first = model.inner(x)
    second = model.bend(first)
    expected = torch.autograd.grad(model.outer(30 * second).sum(), [first, second])
    for name, gradient in zip(["inner", "bend"], expected, strict=True):
        assert seen.get(name) is not None, (
            f"There is no gradient for layer {name}: the tensor you kept is not part of the graph,\n"
            "but a detached tensor or a copy."
        )
        assert seen[name].shape == gradient.shape and torch.allclose(seen[name], gradient), (
            f"The gradient of layer {name} is not the gradient with respect to its output.\n"
            "Is it that of the layer's input or weight, or did you skip a part of the model's forward()?"
        )
    tables = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    left = sum(len(getattr(module, table)) for module in model.modules() for table in tables)
    assert left == 0, f"{left} of your hooks are still in the model, so every later forward calls them."


# %% [markdown] tags=["afterword q4"]
# A forward hook receives the tensor of the graph itself, so what you ask of this tensor holds for the backward
# pass. Next trap: a layer that works in place. `nn.ReLU(inplace=True)` overwrites the output of the layer before
# it. If your hook has called `retain_grad()` on that output, its `.grad` is now the gradient with respect to the
# output of the ReLU. A hook that was registered before the write still gets the gradient with respect to the
# earlier value.

# %% [markdown]
# ## A number is not connected to the graph
#
# `loss.item()`, `float(loss)` and `torch.tensor(loss)` all take the *number* out of a tensor. A tensor that you
# build from numbers starts a new history. Guess first: `restarted` has the value of `loss` and requires grad. What
# do the two lines print?

# %%
parameter = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (parameter**2).sum()

restarted = torch.tensor(loss.item(), requires_grad=True)
total = 3 * restarted
total.backward()
print(restarted.grad)
print(parameter.grad)

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `tensor(3.)`, then `None`. `requires_grad=True` made `restarted` a leaf. It did not connect `restarted` to `loss`.
#
# </details>

# %% tags=["drawn"]
# The graph of `total` ends at `restarted`, which is a leaf. The graph of `loss` ends at `parameter`.
xray(total=total, restarted=restarted, loss=loss, parameter=parameter)

# %% [markdown]
# This is the most expensive mistake in this notebook, because nothing fails: `backward()` runs, the optimizer steps,
# the loss is printed. Only the parameters get no gradient. (Once in a session, torch 2.13 warns that "converting a
# tensor with requires_grad=True to a scalar may lead to unexpected behavior". This is the behavior that the warning
# means.) Arithmetic on the tensor itself keeps its history:

# %%
print((3 * loss).grad_fn)  # <MulBackward0 ...>, because the product was recorded

# %% [markdown]
# ## q5 · A loss assembled from losses
#
# Many models are trained with several losses at once.
#
# Write `total_loss(losses, weights)`:
#
# 1. Compute `weights[0] * losses[0] + weights[1] * losses[1] + ...` from a list of scalar tensors and a list of
#    floats.
# 2. Return this sum as a scalar tensor. Its `backward()` must reach everything that the losses were computed from.
#    The gradient of a loss whose weight is 0 must be 0, not `None`.
#
# With the starter code, training raises no error, and the model learns nothing. Fix it.
#
# **No side effects.** Don't call `backward()`: the caller does. Leave the losses, their history and both lists
# unchanged.
#
# **Example.** Let `p = torch.tensor(3.0, requires_grad=True)`. Then `total_loss([p, p**2], [1.0, 0.5])` is 7.5, and
# its `backward()` adds 4 to `p.grad`.
#
# <details><summary>Hint 1</summary>
#
# Print `total.grad_fn`, and follow `total.grad_fn.next_functions` backwards. Where does the history end?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `torch.tensor(...)` copies numbers. `requires_grad=True` makes the copy a leaf, with a new graph that contains no
# parameter. Use an operation that takes the tensors themselves.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `torch.stack(losses)` makes a vector of the tensors and keeps their history. So does a plain Python sum of
# `weight * loss`.
#
# </details>


# %% tags=["question q5"]
def total_loss(losses, weights):
    """Return the sum of weight * loss as a scalar tensor.

    backward() of the result reaches everything that the losses were computed from.
    """
    # BEGIN SOLUTION
    return (torch.stack(losses) * torch.tensor(weights)).sum()
    # STUB
    # losses = torch.tensor(losses, requires_grad=True)
    # return (losses * torch.tensor(weights)).sum()
    # END SOLUTION


# %% tags=["check q5"]
def test_a_total_that_teaches(total_loss):
    """The total is right and connected to the parameters."""
    import torch

    total = total_loss([torch.tensor(1.0), torch.tensor(2.0), torch.tensor(20.0)], [3.0, 4.0, -0.5])
    value = torch.as_tensor(total).item()
    assert value == 1.0, f"The total of 3 * 1 + 4 * 2 - 0.5 * 20 is {value:g} instead of 1."

    parameter = torch.tensor([1.0, 2.0], requires_grad=True)
    total = total_loss([parameter.sum(), (parameter**2).sum()], [1.0, 0.5])
    assert total.requires_grad, "The total does not require grad, so backward() cannot start there."
    total.backward()
    assert parameter.grad is not None, (
        "backward() ran, but parameter.grad is None: the total is not connected to the parameter,\n"
        "so training with it would raise no error and change nothing."
    )
    assert parameter.grad.tolist() == [2.0, 3.0], (
        f"parameter.grad is {parameter.grad.tolist()} instead of [2.0, 3.0],\n"
        "so it is not the gradient of the weighted sum."
    )


# %% [markdown] tags=["afterword q5"]
# A sum of tensors has the history of all of them; a sum of numbers is not connected to the graph. Next trap: in a
# log it is the other way round. There you want the number, because a running sum of tensors keeps every graph
# alive.

# %% [markdown] tags=["claim S3.20"]
# ## A direction for backward()
#
# `backward()` differentiates *one number*. Its shape does not matter: a tensor of shape `(1, 1)` works as well as a
# scalar. A vector of losses has one gradient for each entry, and PyTorch doesn't guess how you want to combine
# them. It asks for a vector `v` of the same shape. Then it computes the sum of `v[i]` times the gradient of entry
# `i`, in a single pass.

# %%
p = torch.tensor([1.0, 2.0], requires_grad=True)
(p * p).sum().reshape(1, 1).backward()
print(p.grad)  # tensor([2., 4.]), because a tensor with one element leaves nothing to choose

try:
    (p * p).backward()
except RuntimeError as error:
    print(error)  # grad can be implicitly created only for scalar outputs

v = torch.tensor([1.0, 10.0])
(gradient,) = torch.autograd.grad(p * p, p, grad_outputs=v)
print(gradient)  # tensor([ 2., 40.]), because each entry's gradient was multiplied by its v

# %% [markdown] tags=["claim S5.4"]
# [`Tensor.backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html) takes the same
# vector as its argument `gradient`. In forums you will find the recipe `losses.backward(torch.ones_like(losses))`.
# It silences the error, and it means `losses.sum().backward()`. Is that what you want?
#
# In the next question the weights may be the output of a network, but they must count as constants. The vector that
# you pass to `backward` *is* a constant for autograd: no gradient flows into it. (With `create_graph=True`, the
# gradients that you get are functions of it.) In contrast, a product `w * losses` is an operation like any other,
# and backward sends a gradient to both of its factors:

# %%
q = torch.tensor([3.0, 4.0], requires_grad=True)
w = 2 * q
product = (w * p**2).sum()
(gradient,) = torch.autograd.grad(product, q)
print(gradient)  # tensor([2., 8.]), because w was computed from q

# %% tags=["drawn"]
# From the product, one path leads back to `p`. Another leads through `w` to `q`.
product = (w * p**2).sum()
xray(product=product, p=p, w=w, q=q)

# %% [markdown]
# ## q6 · backward() of a vector of losses
#
# Write `weighted_backward(losses, w)`. `losses` holds one loss per sample. `w` holds one importance weight per
# sample, and may be the output of another network.
#
# 1. Add the sum of `w[i]` times the gradient of `losses[i]` to the `.grad` of the parameters behind `losses`.
# 2. Treat the weights as constants: no gradient may flow through `w`. (`w` may be computed from the same
#    parameters, in a separate graph.)
# 3. Free the graph of `losses`, as any `backward()` does. Don't free the graph of `w`: the caller may still
#    backpropagate through it.
#
# The starter code raises `RuntimeError: grad can be implicitly created only for scalar outputs`. Fix it. The return
# value is ignored.
#
# **No side effects.** Leave `losses`, `w` and `w.grad` unchanged.
#
# **Example.** Let `p = torch.tensor([1.0, 2.0], requires_grad=True)`. Then
# `weighted_backward(p * p, torch.tensor([1.0, -10.0]))` adds `[2., -40.]` to `p.grad`.
#
# <details><summary>Hint 1</summary>
#
# `backward()` differentiates one number. A tensor of shape `(1, 1)` holds one. A tensor of shape `(5,)` holds five,
# and PyTorch doesn't guess how to combine them.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A vector needs a direction, the argument `gradient` of `backward`. Which `v` gives the samples the importance that
# the task asks for?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Pass the weights as the direction. Or compute one number from the vector yourself: then detach the weights before
# you multiply, because they must be constants.
#
# </details>


# %% tags=["question q6"]
def weighted_backward(losses, w):
    """Accumulate sum_i w[i] * d losses[i] / d parameters into the .grad of the parameters behind `losses`.

    `w` counts as a constant, and may or may not require grad. The return value is ignored.
    """
    # BEGIN SOLUTION
    losses.backward(gradient=w.detach())
    # STUB
    # losses.backward()
    # END SOLUTION


# %% tags=["check q6"]
def test_weighted_gradient(weighted_backward):
    """Gradients are summed with constant weights."""
    import torch

    p = torch.tensor([1.0, 2.0], requires_grad=True)
    weighted_backward(p * p, torch.tensor([1.0, -10.0]))
    assert p.grad is not None, "p.grad is None: no backward pass reached the parameter of the losses."
    assert p.grad.tolist() == [2.0, -40.0], (
        f"p.grad is {p.grad.tolist()} instead of [2.0, -40.0]:\n"
        "the gradients of the losses p * p are 2 and 4, and their weights are 1 and -10."
    )

    p = torch.tensor([1.0, 2.0], requires_grad=True)
    q = torch.tensor([3.0, 4.0], requires_grad=True)
    weighted_backward(p * p, 2 * q)
    assert q.grad is None, (
        "The network that computed the weights got a gradient, although weights count as constants.\n"
        "With the next step it would learn to make the weights small instead of the losses."
    )


# %% [markdown] tags=["afterword q6"]
# `backward(gradient=v)` adds up the gradients of the entries, each multiplied by its `v[i]`, in one pass, and
# treats `v` as a constant. Next trap: a second `backward()` of the same losses. The next notebook begins with it.

# %% [markdown]
# ## Bonus task · Train the temperature, too
#
# A classifier is often too confident. Dividing its logits by a *temperature* above 1 makes its predictions less
# extreme. Here you train the temperature together with the model.
#
# Write `train_with_temperature(model, x, y, steps, lr)`. The temperature starts at 1.5. In each of the `steps`
# steps:
#
# 1. Compute `logits = model(x)`.
# 2. Compute the loss `F.cross_entropy(logits / temperature, y) + 0.01 * logits.pow(2).mean()`. The second term
#    keeps the logits small.
# 3. Make one step of plain SGD with the learning rate `lr` on the temperature and on the model's parameters that
#    require grad. The step must use the gradient of this loss only, whatever `.grad` held before.
#
# Return `(temperature, log)`:
#
# - `temperature`: a leaf of shape `(1,)` with the dtype of `x`. At the end, it need not require grad.
# - `log`: a list with one dictionary for each step. `"loss"` is the loss before the update, as a float. `"pull"` is
#   the gradient of this loss with respect to `logits`, a tensor of the same shape.
#
# You can rely on this: the model has the dtype of `x` and at least one parameter that requires grad. It draws no
# random numbers and updates no running statistics, so you may call it as often as you like.
#
# The starter code runs without an error. But afterwards the model is unchanged, the temperature is still 1.5, and
# each `"pull"` is `None`. It has three of the bugs that this notebook is about. After you fix one, you may see an
# error: it comes from another of the three, which did no harm before.
#
# **No side effects.** Only the trained parameters and the `.grad` of the model's parameters may change. `x`, `y`,
# modes, hooks and every `requires_grad` must be unchanged.
#
# **Example.** `model` is an `nn.Linear(1, 2, bias=False)` with the weight `[[1.], [0.]]`, `x = [[1.]]`, `y = [1]`.
# One step with `lr=0.1` logs the loss 1.0860 and the pull `[[0.4505, -0.4405]]`. The temperature becomes 1.5294.


# %% tags=["question end"]
def train_with_temperature(model, x, y, steps, lr):
    """Train a classifier, and the temperature that divides its logits.

    Returns (temperature, log): a leaf of shape (1,), and for each step {"loss": float, "pull": (n, classes)}.
    """
    # BEGIN SOLUTION
    temperature = torch.full((1,), 1.5, dtype=x.dtype, requires_grad=True)
    optimizer = torch.optim.SGD([*model.parameters(), temperature], lr=lr)
    log = []
    for _ in range(steps):
        logits = model(x)
        logits.retain_grad()
        losses = [
            F.cross_entropy(logits / temperature, y),
            0.01 * logits.pow(2).mean(),
        ]
        loss = torch.stack(losses).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append({"loss": loss.item(), "pull": logits.grad})
    return temperature, log
    # STUB
    # temperature = torch.ones(1, dtype=x.dtype, requires_grad=True) * 1.5
    # temperature.retain_grad()  # without this line, the optimizer refuses it
    # optimizer = torch.optim.SGD([*model.parameters(), temperature], lr=lr)
    # log = []
    # for _ in range(steps):
    #     logits = model(x)
    #     losses = [
    #         F.cross_entropy(logits / temperature, y),
    #         0.01 * logits.pow(2).mean(),
    #     ]
    #     loss = torch.tensor(losses, requires_grad=True).sum()
    #     optimizer.zero_grad()
    #     loss.backward()
    #     optimizer.step()
    #     log.append({"loss": loss.item(), "pull": logits.grad})
    # return temperature, log
    # END SOLUTION


# %% tags=["check end"]
def test_three_steps(train_with_temperature):
    """Three steps train model and temperature, with a log."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 3)
    before = model.weight.detach().clone()
    try:
        temperature, log = train_with_temperature(
            model, torch.randn(5, 2), torch.tensor([0, 1, 2, 0, 1]), 3, 0.5
        )
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition(" (or ")[0]
        raise AssertionError(f"Training raised an error: {reason}") from None
    assert not torch.equal(model.weight, before), "After three steps the weight of the model is unchanged."
    assert temperature.item() != 1.5, "After three steps the temperature is still 1.5."
    assert temperature.is_leaf, (
        f"The temperature is not a leaf: {type(temperature.grad_fn).__name__} produced it."
    )
    none = [number for number, entry in enumerate(log, start=1) if entry["pull"] is None]
    assert not none, f"In the log, the gradient of the logits is None for these steps: {none}."


# %% [markdown] tags=["afterword end"]
# The three bugs: a multiplication produced the temperature, so it was not a leaf. `torch.tensor` turned the losses
# into numbers, so the model got no gradient. And nobody asked for the gradient of the logits. The script ran
# without an error: torch does what you say and cannot know what you meant.

# %% [markdown]
# ## What to remember
#
# - A leaf is a tensor whose `grad_fn` is `None`. Create and compute first, and set `requires_grad` last.
# - `backward()` fills the `.grad` of a tensor, the leaf, not of a name. Casts and reshapes give you another tensor.
# - Gradients inside the graph exist only for a moment. Ask for them before `backward()`.
# - A forward hook receives the tensor of the graph itself. Return nothing from it, and remove it.
# - `.item()`, `float()` and `torch.tensor()` disconnect a value from the graph without an error.
# - `backward()` needs one number, or a direction.
#
# You have seen that `backward()` can free a graph. The next notebook, 02, is about that: what is gone after a
# `backward()`, and how two losses can share the same graph.
