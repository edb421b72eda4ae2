# %% [markdown]
# # 1. Leaves, and where the gradient lands
#
# While your code computes, autograd records every operation on a tensor that requires grad. `backward()` goes through
# this record in reverse and multiplies derivatives. In this notebook you will learn
#
# - what a **leaf** is, and how to create one that an optimizer accepts;
# - in which tensor's `.grad` a gradient is stored, and how to get the gradient of any other tensor;
# - how to look inside a model with hooks, and how to remove the hooks again;
# - which lines cut a loss off from the parameters without raising an error;
# - what `backward()` needs if the loss is not a single number.
#
# The web is full of statements about leaves that were true for an older PyTorch, or never. The code and the claims about
# PyTorch in this notebook were tested with torch 2.13. Where they differ from what you may have read, the text says so.
#
# **Rules for all questions**, unless a task says otherwise:
#
# - No side effects. Don't change the caller's tensors, lists and models: their values, their `.grad`, their flags, their
#   modes and their hooks must be the same after the call. (Run a model in the modes it is in. Whatever its own forward
#   changes may stay changed.)
# - Leave nothing switched on or off that was not so before the call.
# - Your function may be called several times, with the same or with other arguments. Don't cache: each call must use the
#   values it is given. Don't change results that an earlier call returned, and don't return them again.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown] tags=["claim S3.1", "claim S3.10", "claim S3.11", "claim S3.12", "claim S3.13", "claim S3.14", "claim S3.17", "claim S4.2"]
# ## What a leaf is
#
# A tensor remembers in `grad_fn` which recorded operation made it. If there was none, `grad_fn` is `None`, and the
# tensor is a leaf: `t.is_leaf` and `t.grad_fn is None` say the same. When is an operation recorded? Gradients have
# to be enabled, it must be possible to differentiate the operation, and at least one of its inputs has to require
# grad. The documentation says so under [`Tensor.is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html)
# and in [Autograd mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history).
# The recorded operations behind a tensor are called its *history*.
#
# You will meet the sentence "every tensor I create is a leaf". It fails when one expression creates a tensor *and*
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
# - No operation made `weight`. The multiplication by `weight` was recorded. The one by `data` was not, because
#   nothing there requires grad: the product is a leaf.
# - A cast is an operation like any other. But `weight.float()` has nothing to cast. It returns the very same tensor:
#   `weight.float() is weight`.
# - `column` is what `reshape` made of a leaf.
#
# </details>

# %% tags=["drawn"]
# `weight` is a leaf, and `doubled` was made of it. Behind `column` stands a leaf, too, and it has no name.
xray(column=column, doubled=weight * 2, weight=weight)

# %% [markdown] tags=["claim S3.21", "claim S4.1"]
# You can draw such a picture yourself, of any tensors: `from grader import xray`, and then
# `xray(column=column, weight=weight)`. If you do not know what a line has done to a tensor, draw the tensor.
#
# Behind `column` there is a leaf, and `backward()` will bring it a gradient. But no name refers to it any more. You
# hold the result of `reshape`, and cannot read that gradient.
#
# A tensor that requires no grad is a leaf by convention. So `is_leaf` tells you something about tensors that
# require grad, and little about data.
#
# Leaves matter because the two halves of a training step meet there: `backward()` adds gradients to the `.grad` of
# leaves that require grad, and an optimizer changes leaves. `requires_grad_()` does not make a leaf of a computed
# tensor. It sets a flag, and it does not erase history:

# %%
scaled = torch.randn(3, requires_grad=True) * 0.1
scaled.requires_grad_()
print(scaled.is_leaf, scaled.grad_fn)  # False <MulBackward0 ...>, because the history stays

# %% [markdown] tags=["claim S3.2", "claim S3.24", "claim S5.1", "claim S5.2"]
# (`detach_()` does erase the history, in place: after `scaled.detach_()`, `scaled` is a leaf that does not require grad.)
#
# On a tensor without history, `requires_grad_()` makes a leaf that requires grad. The tensor must hold floating point or
# complex numbers: `torch.Tensor([1, 2])` holds floats and will do; `torch.tensor([1, 2])` holds integers and raises. (The
# message names floating point only, but complex tensors can require grad, too.)
#
# The weight and the bias of an `nn.Linear` are such leaves. This is not so in every layer: under
# [`weight_norm`](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.weight_norm.html)
# the weight is computed from two other leaves, and is none itself.

# %% [markdown]
# ## q1 · A weight the optimizer will take
#
# `make_weight(n, m, scale)` returns a new trainable weight of shape `(n, m)`: the float32 numbers that
# `torch.randn(n, m, generator=generator)` draws with seed 0, times the positive float `scale`.
#
# Every call returns a weight of its own with these numbers, whatever became of earlier weights, and under
# `no_grad()`, too. The weight can be trained, for any number of steps.
#
# With the weight that the code below returns, `torch.optim.SGD([w])` raises `ValueError: can't optimize a non-leaf
# Tensor`. Repair the function.
#
# A warning: after `w.retain_grad()`, optimizers do take a non-leaf, and the first step even works. The second
# raises: `w` still hangs on the multiplication that made it, and the first `backward()` has used up that part of
# the graph.
#
# <details><summary>Hint 1</summary>
#
# Print `w.is_leaf` and `w.grad_fn` before you give `w` to an optimizer. Which operation do you see?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `requires_grad=True` was switched on *before* the multiplication. So the multiplication was recorded, and its
# result stands inside the graph, not at its edge. In which order would nothing be recorded?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Do the arithmetic first, and switch `requires_grad` on last. Another way is to multiply in place, under
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
    """The weight is a leaf that requires grad, with the normal numbers of seed 0, times scale."""
    import torch

    w = make_weight(2, 3, 0.1)
    assert w.requires_grad, "w.requires_grad is False, so backward() will never bring a gradient here."
    maker = type(w.grad_fn).__name__
    if w.retains_grad:
        consequence = (
            "retain_grad() keeps its gradient, and its history stays for the next backward() to meet."
        )
    else:
        consequence = "backward() leaves w.grad at None, and optimizers refuse w."
    assert w.is_leaf, f"w was made by {maker}, so it is not a leaf:\n{consequence}"
    assert not w.is_inference(), (
        "w was allocated in inference_mode: autograd refuses to save it for backward."
    )

    w = make_weight(2, 3, 4.0)
    expected = torch.randn(2, 3, generator=torch.Generator().manual_seed(0)) * 4.0
    assert torch.allclose(w.detach(), expected), (
        f"w[0, 0] is {w[0, 0].item():.4f} instead of {expected[0, 0].item():.4f}:\n"
        "a leaf is not enough, its values have to be those of the task."
    )


# %% [markdown] tags=["afterword q1"]
# Compute first, and switch `requires_grad` on last: then no recorded operation stands behind the weight. Next
# trap: `w = w - lr * w.grad` gives you a tensor with a history again. An update belongs in place, under
# `torch.no_grad()`.

# %% [markdown] tags=["claim S3.21"]
# ## The gradient belongs to one tensor, not to a name
#
# A line such as `x = x.float()` looks as if it changed `x`. It makes a new tensor, and lets the name `x` refer to
# it. The leaf that you had before still exists. Guess first: which of the two tensors has a gradient after
# `backward()`, and of which dtype is it?

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
# `tensor([2., 4.], dtype=torch.float64)`, then `False`. The leaf is the tensor before the cast. So the gradient
# lands there, and has the dtype of the leaf. The cast made `x`, so `backward()` went through `x` and did not fill
# `x.grad`.
#
# </details>

# %% tags=["drawn"]
# After `backward()`: `leaf` has a `.grad`. Between `loss` and `leaf` stands the cast, whose result is `x`.
xray(loss=loss, x=x, leaf=leaf)

# %% [markdown] tags=["claim S3.16", "claim S3.25", "claim S5.3"]
# There is a second point that you can easily miss. `backward()` adds a gradient to *every* leaf that it reaches and that
# requires grad. (A leaf that took no part keeps the `.grad` that it had.) If a model took part in the computation, its
# parameters receive gradients, too, on top of what their `.grad` held before.
# [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html) has fewer side
# effects. `torch.autograd.grad(loss, x)` returns the gradient with respect to the tensors that you name, leaves or not,
# and leaves the `.grad` of every leaf unchanged. (Only a non-leaf for which you have called `retain_grad()` gets its
# `.grad` filled; that method comes in the next section.)

# %%
layer = nn.Linear(2, 1)
point = torch.ones(1, 2, requires_grad=True)
(gradient,) = torch.autograd.grad(layer(point).sum(), point)
print(torch.equal(gradient, layer.weight))  # True, because it is the derivative of weight * point + bias
print(point.grad, layer.weight.grad)  # None None, because the gradient was returned and nothing was stored

# %% [markdown]
# ## q2 · Gradient with respect to the input
#
# Which pixels does a model look at? The gradient with respect to its input is a first answer. `img` is a vector of
# length N. Let `x` be `img`, cast to float32 and reshaped to `(1, N)`. Then `input_gradient(model, img)` returns the
# derivative of `model(x).sum()` with respect to `x`: a float32 tensor of shape `(1, N)`.
#
# The code below returns `None`. Repair it, and leave no traces. The `.grad` of each parameter stays what it was, and the
# tensor that it held keeps its values: perhaps the caller collects gradients there. `img` and all else about the model
# stay, too. In the next call the model may have other values.
#
# <details><summary>Hint 1</summary>
#
# On which tensor was `requires_grad_()` called, and from which tensor is `.grad` read?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `.float()` and `.reshape()` each return a new tensor, and neither is a leaf. The leaf is the float64 tensor. And
# where else does `backward()` store a gradient?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Cast and reshape first, then call `requires_grad_()`. With `torch.autograd.grad` you get the gradient of `x` alone,
# and no `.grad` is touched.
#
# </details>


# %% tags=["question q2"]
def input_gradient(model, img):
    """Return the gradient of model(x).sum() with respect to x, as a float32 tensor of shape (1, N).

    x is `img`, cast to float32 and reshaped to (1, N). Neither `img` nor the model changes, nor the .grad of
    any parameter.
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
    """The gradient belongs to x, float32 of shape (1, N), and no .grad of the model's parameters changes."""
    import torch

    model = torch.nn.Linear(3, 1)
    gradient = input_gradient(model, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    assert gradient is not None, (
        "You returned None: the tensor whose .grad you read came out of an operation, so it is not a leaf,\n"
        "and backward() fills the .grad of a non-leaf only after retain_grad()."
    )
    kind = f"{gradient.dtype} of shape {tuple(gradient.shape)}"
    assert kind == "torch.float32 of shape (1, 3)", (
        f"The gradient is {kind} instead of torch.float32 of shape (1, 3):\n"
        "a gradient looks like the tensor it belongs to, so this one belongs to another tensor."
    )
    assert torch.allclose(gradient, model.weight), (
        "For a linear layer the gradient is its weight, and yours is something else."
    )

    model = torch.nn.Linear(3, 1)
    model.weight.grad = torch.ones(1, 3)
    input_gradient(model, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    assert model.bias.grad is None, (
        f"bias.grad was None and is now {model.bias.grad.item():g}: your backward pass went on into the bias."
    )
    seen = model.weight.grad
    assert seen is not None, (
        "weight.grad was 1, 1, 1 and is now None: the gradients that were there are lost."
    )
    assert torch.equal(seen, torch.ones(1, 3)), (
        f"weight.grad was 1, 1, 1 and is now {', '.join(f'{value:g}' for value in seen[0].tolist())}:\n"
        "your backward pass went on into the parameters and added to what was there."
    )


# %% [markdown] tags=["afterword q2"]
# A gradient belongs to one tensor: here to the one that the model saw, after the cast and the reshape. Next trap:
# `backward()` adds to the `.grad` of every leaf it reaches, also of those that you do not look at.
# `torch.autograd.grad` returns the gradients that you ask for, and changes the `.grad` of no leaf.

# %% [markdown] tags=["claim S3.3", "claim S3.4", "claim S3.5", "claim S3.15", "claim S3.23"]
# ## Gradients that are computed and not kept
#
# Two things are said about tensors in the middle of a computation, and both are wrong. The first: autograd computes
# no gradient for them. The second: it stores a gradient in `.grad`, and clears it after `backward()`. The chain rule
# needs the gradient of every intermediate result. It exists for a moment, and is passed on towards the leaves. Unless you
# ask for it, it is not stored in `.grad`, because that costs memory, and you rarely need it. A hook can observe it:

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
c = a * 3
c.register_hook(lambda gradient: print("backward passes c with", gradient))
(c**2).sum().backward()
print(a.grad)  # tensor([18., 36.]), because what passed c was multiplied by 3 and stored in the leaf
print(c.grad)  # None, because c is not a leaf; read the UserWarning once in full, it is a good one

# %% [markdown] tags=["claim S3.7", "claim S3.8", "claim S3.16", "claim S3.22"]
# To keep such a gradient, ask for it, and ask in time.
# [`c.retain_grad()`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html) does so. It is a
# method: without its parentheses the line does nothing, and nothing complains. Call it before `backward()`. Called
# afterwards, it leaves `c.grad` at `None`, and even silences the warning. And it does not make `c` a leaf.

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
# The hook above is another way to ask, and `torch.autograd.grad` is a third: it accepts any tensor of the graph.

# %% [markdown] tags=["claim S3.18"]
# ## q3 · Every gradient of c=a+b, e=c*d, o=e.sum()
#
# Where does a gradient get lost? Look at all of them. `all_grads(a, b, d)` gets three leaves without a `.grad`, made
# for this call: what becomes of their `.grad` and their hooks does not matter.
#
# The function computes `c = a + b`, `e = c * d` and `o = e.sum()`. It returns a dictionary with the gradient of `o`
# with respect to each of the six tensors, under the keys `"a"`, `"b"`, `"c"`, `"d"`, `"e"` and `"o"`. Each gradient
# has the shape and the dtype of its tensor.
# Full precision: a relative error of at most 1e-12 in float64, 1e-5 in float32.
#
# With the code below, three of the six are `None`, and torch adds a `UserWarning`. Repair it: six gradients, and no
# warning of any kind.
#
# <details><summary>Hint 1</summary>
#
# Read the `UserWarning`: which attribute of which kind of tensor was read?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The gradients of `c`, `e` and `o` are computed. They are not stored, unless you ask for it before `backward()`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Call `retain_grad()` on each of the three before the `backward()`. Or leave `backward()` out:
# `torch.autograd.grad` takes a list of tensors, and `o` may be one of them.
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
    """The gradients of c, e and o are there, and those of a, b and d are those of one backward pass."""
    import torch

    a, b, d = (torch.tensor(values, requires_grad=True) for values in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]))
    gradients = all_grads(a, b, d)
    for name, expected in (("c", [5.0, 6.0]), ("e", [1.0, 1.0]), ("o", 1.0)):
        seen = gradients.get(name)
        assert seen is not None, (
            f"The gradient of {name} is None: {name} is not a leaf,\n"
            "and its gradient is kept only if you ask for it before backward() runs."
        )
        assert seen.tolist() == expected, f"The gradient of {name} is {seen.tolist()} instead of {expected}."
    for name, expected in (("a", [5.0, 6.0]), ("b", [5.0, 6.0]), ("d", [4.0, 6.0])):
        seen = gradients.get(name)
        assert seen is not None, f"The gradient of {name} is None: the way from o back to {name} was cut."
        assert seen.tolist() == expected, (
            f"The gradient of {name} is {seen.tolist()} instead of {expected};\n"
            "a multiple of it would mean that several backward passes were added up."
        )


# %% [markdown] tags=["afterword q3"]
# The gradient of `o` is 1: every backward begins there. All six were computed before you changed anything; you
# only asked in time. Next trap: `retain_grad()` keeps a gradient, and makes no leaf. An optimizer that is given
# such a tensor will not train what stands behind it.

# %% [markdown] tags=["claim S5.5"]
# ## Looking inside a model
#
# The tensors between the layers of a model have no names, so you cannot call `retain_grad()` on them. A
# [*forward hook*](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook)
# gets hold of them. It is called after the module's forward with the module, its inputs and its output. The output that
# it receives is not a copy: it is the tensor that the next layer computes with. (There are two exceptions: a later
# forward hook that returns another tensor, and a full backward hook on the same module, which puts a view in between.)

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
# The output that the hook was given leads back to the parameters. What `detach()` makes of it leads to nothing.
xray(output=outputs[0], detached=outputs[0].detach(), layer=layer)

# %% [markdown]
# Two habits keep hooks harmless. Let a forward hook return `None` (as `append` does here), because anything else
# *replaces* the output of the layer. And keep the handle: a hook that is not removed is called in every later
# forward, also when your colleague uses the model next.

# %% [markdown]
# ## q4 · Which layer gets which gradient? (hooks that clean up)
#
# Does a gradient vanish on its way? `activation_grads(model, x, names)` runs `model(x)`, goes back from the sum of its
# output, and returns `{name: gradient}`, for every name in `names` with respect to the *output* of that submodule.
#
# - Each of these modules runs once and returns a tensor that requires grad; `""` is the model itself. No module works
#   in place.
# - Afterwards none of your hooks is left, even where the model raises an error or is interrupted, and the hooks of
#   others are where their handles find them.
# - What your backward adds to the `.grad` of parameters may stay.
#
# The code below returns `None` for every layer, and its hooks stay. Repair both.
#
# <details><summary>Hint 1</summary>
#
# What does a forward hook receive: the tensor of the graph, or a copy? And what is left of it after `.detach()`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Keep the output itself, and ask for its gradient inside the hook, while there is still time. Keep the handles, too,
# which `register_forward_hook` returns. If you write the hook as a `lambda` in a loop, all of them see the *last*
# value of the loop variable, unless you bind it: `lambda ..., name=name: ...`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the hook, call `retain_grad()` or `register_hook` on the output. Put forward and backward into a `try`, and
# remove each handle in its `finally`: then the hooks are gone even if the forward raises.
#
# </details>


# %% tags=["question q4"]
def activation_grads(model, x, names):
    """Return {name: gradient of model(x).sum() with respect to the output of the submodule of that name}.

    Each gradient has the shape of that submodule's output. No hook is left behind, and the model is as it was.
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
    """Each layer's gradient is the one with respect to its output, and no hook stays behind."""
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
            f"There is no gradient for layer {name}: the tensor you kept is not the one\n"
            "through which the gradient flows, but a detached one or a copy beside it."
        )
        assert seen[name].shape == gradient.shape and torch.allclose(seen[name], gradient), (
            f"The gradient of layer {name} is not the one with respect to its output:\n"
            "perhaps it belongs to the layer's input or to its weight, or forward() of the model was left out."
        )
    tables = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    left = sum(len(getattr(module, table)) for module in model.modules() for table in tables)
    assert left == 0, f"{left} of your hooks are still in the model: every later forward will call them."


# %% [markdown] tags=["afterword q4"]
# A forward hook is given the tensor of the graph itself, so what you ask of it there holds for the backward pass.
# Next trap: a layer that works in place. `nn.ReLU(inplace=True)` overwrites the output of the layer before it. If your
# hook has called `retain_grad()` on that output, its `.grad` is now the gradient with respect to the output of the ReLU.
# A hook that was registered before the write still gets the gradient with respect to the earlier value.

# %% [markdown]
# ## A number has no history
#
# `loss.item()`, `float(loss)` and `torch.tensor(loss)` all take the *number* out of a tensor. What you build from
# numbers is a new beginning. Guess first: `restarted` has the value of `loss`, and requires grad. What do the two
# lines print?

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
# `tensor(3.)`, then `None`. The history of `restarted` begins at `restarted`. `requires_grad=True` has made a leaf of
# it, and has connected it with nothing.
#
# </details>

# %% tags=["drawn"]
# The graph of `total` ends at `restarted`, a leaf of its own. The graph of `loss` ends at `parameter`.
xray(total=total, restarted=restarted, loss=loss, parameter=parameter)

# %% [markdown]
# This is the most expensive mistake of the notebook, because nothing fails: `backward()` runs, the optimizer steps,
# the loss is printed. Only the parameters never hear of it. Arithmetic on the tensor itself goes on with its history:

# %%
print((3 * loss).grad_fn)  # <MulBackward0 ...>, because the product was recorded

# %% [markdown]
# ## q5 · A loss assembled from losses
#
# Many models are trained with several losses at once. `total_loss(losses, weights)` gets a list of scalar tensors,
# each of them a loss, and a list of floats. It returns their weighted sum, a scalar. Its backward reaches all that
# the losses were computed from, whatever the weight of a loss is.
#
# The caller calls `backward()`; your function does not. Perhaps the caller prints or uses the single losses, too. So
# they stay as they are, with their history.
#
# With the code below, training runs without an error, and nothing is learned. (torch 2.13 warns, once in a session,
# that "converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior". This is the
# behaviour it means.) Repair it.
#
# <details><summary>Hint 1</summary>
#
# Print `total.grad_fn`, and go backwards along `total.grad_fn.next_functions`. Where does the history end?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `torch.tensor(...)` copies numbers. `requires_grad=True` makes a leaf of the copy, with a graph of its own that no
# parameter is part of. Which operations take the tensors themselves?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `torch.stack(losses)` makes a vector of the tensors, and keeps their history. A plain Python sum of
# `weight * loss` does as well.
#
# </details>


# %% tags=["question q5"]
def total_loss(losses, weights):
    """Return the sum of weight * loss as a scalar tensor which can be differentiated.

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
    """The value is the weighted sum, and backward() of the total reaches the parameters."""
    import torch

    total = total_loss([torch.tensor(1.0), torch.tensor(2.0), torch.tensor(20.0)], [3.0, 4.0, -0.5])
    value = torch.as_tensor(total).item()
    assert value == 1.0, f"3 * 1 + 4 * 2 - 0.5 * 20 came out as {value:g} instead of 1."

    parameter = torch.tensor([1.0, 2.0], requires_grad=True)
    total = total_loss([parameter.sum(), (parameter**2).sum()], [1.0, 0.5])
    assert total.requires_grad, "The total does not require grad: it is a number without history."
    total.backward()
    assert parameter.grad is not None, (
        "backward() ran, but parameter.grad is None: the history of the total ends before the parameter,\n"
        "so training with it would raise no error and change nothing."
    )
    assert parameter.grad.tolist() == [2.0, 3.0], (
        f"parameter.grad is {parameter.grad.tolist()} instead of [2.0, 3.0],\n"
        "so it is not the gradient of the weighted sum."
    )


# %% [markdown] tags=["afterword q5"]
# A sum of tensors has the history of all of them, and a sum of numbers has none. Next trap: in a log it is the other
# way round. There you want the number, because a running sum of tensors keeps every graph alive.

# %% [markdown] tags=["claim S3.20"]
# ## A direction for backward()
#
# `backward()` differentiates *one number*. Its shape does not matter: a tensor of shape `(1, 1)` will do as well as a
# scalar. A vector of losses has a gradient for each of its entries, and PyTorch refuses to guess how you want to
# combine them. It asks for a vector `v` of the same shape. Then it computes the sum of `v[i]` times the gradient of
# the i-th entry, in a single pass.

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
# [`Tensor.backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html) takes the same vector
# as its argument `gradient`. You will find the recipe `losses.backward(torch.ones_like(losses))` in forums. It makes
# the error go away, and it means `losses.sum().backward()`. Is that what you want?
#
# In the next question the weights may be the output of a network, and yet they are meant as constants. The
# vector that you pass to `backward` *is* treated as a constant: no gradient flows into it. (With `create_graph=True` the
# gradients that you get are functions of it.) A product `w * losses` is an ordinary operation, and sends a gradient to
# both of its factors:

# %%
q = torch.tensor([3.0, 4.0], requires_grad=True)
w = 2 * q
product = (w * p**2).sum()
(gradient,) = torch.autograd.grad(product, q)
print(gradient)  # tensor([2., 8.]), because w was computed from q

# %% tags=["drawn"]
# From the product, one way leads back to `p`. Another leads through `w` to `q`.
product = (w * p**2).sum()
xray(product=product, p=p, w=w, q=q)

# %% [markdown]
# ## q6 · backward() of a vector of losses
#
# Some samples matter more than others. `losses` holds a loss for each sample, and `w` an importance weight for each
# sample, perhaps the output of another network. `weighted_backward(losses, w)` adds the sum of `w[i]` times the
# gradient of `losses[i]` to the `.grad` of the parameters behind `losses`.
#
# - The weights count as constants: what computed them gets no gradient.
# - Afterwards the graph of the losses is used up, as after any `backward()`, and the graph behind `w` can still go
#   back. (Both may come from the same parameters, but the two graphs have no operation in common.)
#
# The code below raises `RuntimeError: grad can be implicitly created only for scalar outputs`. Repair it.
#
# <details><summary>Hint 1</summary>
#
# Why does `backward()` work for a tensor of shape `(1, 1)`, and not for a tensor of shape `(5,)`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A vector needs a direction, the argument `gradient` of `backward`. Which `v` weighs the samples as the task wants
# it?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Pass the weights as the direction. Or make one number of the vector yourself: then cut the weights off before you
# multiply, because they are to be constants.
#
# </details>


# %% tags=["question q6"]
def weighted_backward(losses, w):
    """Accumulate sum_i w[i] * d losses[i] / d parameters into the .grad of the parameters behind `losses`.

    `w` counts as a constant, and need not require grad. What is returned does not matter.
    """
    # BEGIN SOLUTION
    losses.backward(gradient=w.detach())
    # STUB
    # losses.backward()
    # END SOLUTION


# %% tags=["check q6"]
def test_weighted_gradient(weighted_backward):
    """The gradients of the samples are added up with their weights, and what computed these gets none."""
    import torch

    p = torch.tensor([1.0, 2.0], requires_grad=True)
    weighted_backward(p * p, torch.tensor([1.0, -10.0]))
    assert p.grad is not None, "p.grad is None: the losses were cut off from the parameter they depend on."
    assert p.grad.tolist() == [2.0, -40.0], (
        f"p.grad is {p.grad.tolist()} instead of [2.0, -40.0]:\n"
        "the losses p * p have the gradients 2 and 4, and their weights are 1 and -10."
    )

    p = torch.tensor([1.0, 2.0], requires_grad=True)
    q = torch.tensor([3.0, 4.0], requires_grad=True)
    weighted_backward(p * p, 2 * q)
    assert q.grad is None, (
        "The network behind the weights got a gradient, though its weights count as constants:\n"
        "with the next step it would learn to make the weights small instead of the losses."
    )


# %% [markdown] tags=["afterword q6"]
# `backward(gradient=v)` adds up the gradients of the entries, each times its `v[i]`, in one pass and without a
# history for `v`. Next trap: a second `backward()` of the same losses. The next notebook begins with it.

# %% [markdown]
# ## End task · Train the temperature, too
#
# A classifier is often more sure than it is right. Divide its logits by a *temperature* above 1, and it becomes more
# modest. Here the temperature is trained together with the model. `train_with_temperature(model, x, y, steps, lr)`
# does in each of its steps:
#
# 1. It computes `logits = model(x)`.
# 2. The loss is the sum of `F.cross_entropy(logits / temperature, y)` and `0.01 * logits.pow(2).mean()`. The second
#    loss keeps the logits small.
# 3. It makes one step of plain SGD with the learning rate `lr`, for the parameters of the model that require grad and
#    for the temperature. The step uses the gradient of this loss and nothing else, whatever stands in `.grad` before.
#
# The function returns the temperature and a log. The temperature begins at 1.5; it is a leaf of shape `(1,)` and of the
# dtype of `x`, and need not require grad in the end. The log is a list with one dictionary for each step: `"loss"` is
# the loss of this step before the update, as a float, and `"pull"` is the gradient of this loss with respect to
# `logits`, a tensor of the same shape.
#
# - The model has the dtype of `x`, and a parameter that is not frozen. It draws no random numbers and has no running
#   statistics that change, so you may call it as often as you like.
# - The parameters that are trained change, and `.grad` of all parameters may. Nothing else changes: `x`, `y`, modes,
#   hooks, and which parameters require grad stay as they are.
#
# The function below runs without an error. After its training the model is what it was, the temperature is still 1.5,
# and each `"pull"` in the log is `None`. Three bugs of this notebook are in it. When you have mended one of
# them, you may meet an error: it comes from another of the three, which did no harm before.


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
    """Three steps train the model and the temperature, and the log has a gradient for each of them."""
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
        raise AssertionError(f"The training stopped; torch says: {reason}") from None
    assert not torch.equal(model.weight, before), (
        "After three steps the weight of the model is what it was before."
    )
    assert temperature.item() != 1.5, "After three steps the temperature is still 1.5."
    assert temperature.is_leaf, (
        f"The temperature was made by {type(temperature.grad_fn).__name__}: it is no leaf."
    )
    none = [number for number, entry in enumerate(log, start=1) if entry["pull"] is None]
    assert not none, f"In the log, the gradient of the logits is None for these steps: {none}."


# %% [markdown] tags=["afterword end"]
# The three bugs: a multiplication had made the temperature, so it was no leaf. `torch.tensor` had made numbers of the
# losses, so no gradient came back. And the logits were not asked to keep theirs. The script ran without an error:
# torch does what you say, and cannot know what you meant.

# %% [markdown]
# ## What to keep
#
# - A leaf is a tensor without a `grad_fn`. Create and compute first, and switch `requires_grad` on last.
# - `backward()` fills the `.grad` of a tensor, the leaf, and not of a name. Casts and reshapes give you another tensor.
# - Gradients inside the graph exist, but only for a moment. Ask for them before `backward()`.
# - A forward hook is given the tensor of the graph itself. Return nothing from it, and remove it.
# - `.item()`, `float()` and `torch.tensor()` end a history. No error tells you.
# - `backward()` needs one number, or a direction.
#
# You have seen that a graph can be used up. The next notebook, 02, is about that: what is gone after a `backward()`,
# and what two losses can do that need the same graph.
