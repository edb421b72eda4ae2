# %% [markdown]
# # 7. Freezing, modes and checkpoints
#
# Often you do not want every gradient. You tune a prompt in front of a frozen model. You compute features
# once and use them a hundred times. You evaluate between two epochs. PyTorch has four switches for this, and
# they are easily confused:
#
# | switch | what it belongs to | what it decides |
# |---|---|---|
# | `requires_grad` | a tensor | does this tensor get a gradient? |
# | `torch.no_grad()` | a block of code | does autograd record operations at all? |
# | `torch.inference_mode()` | a block of code | the same; and a tensor that is allocated in the block can't be saved for backward, even after the block |
# | `model.eval()` | a module | what do dropout and batch norm compute? It does not change what autograd records. |
#
# In this notebook you will learn
#
# - how to freeze a model and still backpropagate through it;
# - when to use `no_grad()` and when `inference_mode()`;
# - how to evaluate a model and restore every mode, even after an error;
# - how to unfreeze a layer in the middle of training;
# - how a checkpoint saves memory, and what it costs.
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
# - **Parameters.** Some parameters may be frozen (`requires_grad=False`), and some may already have a
#   `.grad`. Modules may contain modules. All tensors and parameters of a call are float32, or all are
#   float64.
# - **`no_grad()`.** The functions of q2, q3 and q4 may be called under `no_grad()`. The others are called
#   while gradients are recorded.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown]
# ## Frozen is not the same as not recorded
#
# *Freezing* a layer means keeping its parameters unchanged. After `requires_grad_(False)` its parameters get
# no gradient. But a gradient can still pass through the layer, on its way to another tensor.

# %%
torch.manual_seed(0)
layer = nn.Linear(3, 2)
prompt = torch.zeros(3, requires_grad=True)
x = torch.randn(4, 3)

layer.requires_grad_(False)
out = layer(x + prompt)
print(out.requires_grad)  # True, because prompt requires grad, so the operations on it were recorded
out.sum().backward()
print(prompt.grad is None, layer.weight.grad is None)  # False True, because the gradient passed through

# %% tags=["drawn"]
# The gradient passes through the frozen layer on its way to `prompt`. The frozen weight has no node.
out = layer(x + prompt)
xray(out=out, prompt=prompt)

# %% [markdown]
# You can draw such pictures yourself, of any tensor you have at hand, if the course's `grader` package is
# installed: remove the `#` below.

# %%
# from grader import xray
# xray(out=out, prompt=prompt, weight=layer.weight)

# %% [markdown]
# `no_grad()` is different. Under `no_grad()` autograd records nothing at all, so there is no path on which a
# gradient could flow back.

# %%
with torch.no_grad():
    out = layer(x + prompt)
print(out.requires_grad, out.grad_fn)  # False None, because nothing was recorded

# %% [markdown]
# **Guess first.** The next cell tries two other ways to freeze. Which of the two layers gets a gradient?
# Write down `True` or `False` for each line before you run it.

# %%
by_attribute, by_eval = nn.Linear(3, 2), nn.Linear(3, 2)
by_attribute.requires_grad = False
by_eval.eval()
(by_attribute(x) + by_eval(x)).sum().backward()
print(by_attribute.weight.grad is not None)
print(by_eval.weight.grad is not None)

# %% [markdown] tags=["claim S3.2"]
# <details><summary>What you should have seen</summary>
#
# `True`, and `True` again. A module has no switch called `requires_grad`: the assignment creates a new
# attribute, which PyTorch never reads. The method with the underscore, `requires_grad_(False)`, sets the flag
# of every parameter. And `eval()` changes what dropout and batch norm compute. It freezes nothing.
#
# </details>
#
# You may have read that the weights of a layer "are leaves with `requires_grad=True`". That is true when the
# layer is created, but you can change it for each parameter. (Under `weight_norm`, the weight is computed
# from other parameters, and is not a leaf at all.) PyTorch's documentation describes all four switches in
# [Autograd mechanics, "Locally disabling gradient
# computation"](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).

# %% [markdown]
# ## q1 · Tune the prompt, freeze the backbone
#
# You can steer a trained model, the *backbone*, by a small vector that is added to its inputs. Only this
# *prompt* is trained.
#
# Write `prompt_step(backbone, prompt, x, y, lr)`, one step of gradient descent:
#
# 1. Compute the loss `F.mse_loss(backbone(x + prompt), y)`, and its gradient with respect to `prompt`.
# 2. Subtract `lr` times this gradient from the caller's `prompt`, in place. It must stay the same leaf, with
#    the same storage.
#
# Before the first call, `prompt.grad` is `None`. After a call it may hold anything, but the next call must
# still make the right step.
#
# The starter code freezes the backbone with `no_grad()`, and raises an error. Fix it.
#
# **No side effects.** You may freeze parameters of the backbone and leave them frozen. Otherwise, leave the
# backbone unchanged, including every `.grad`.
#
# **Example.** `backbone` is an `nn.Linear(1, 1)` with the weight 2 and the bias 0, `prompt = [0.]`,
# `x = [[1.]]`, `y = [[3.]]` and `lr = 0.25`. The loss is 1, its gradient -4, and `prompt` becomes `[1.]`.
#
# <details><summary>Hint 1</summary>
#
# Print `out.requires_grad`. Through which operations must the gradient flow on its way from the loss to
# `prompt`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `no_grad()` records nothing, so it cuts the path to `prompt` as well. You need the recorded operations, but
# no gradients of the parameters. Two things do that: a flag of the parameters, or a function that computes
# gradients only for the tensors you name.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Call `backbone.requires_grad_(False)` and then compute the loss without `no_grad()`. Or get the gradient
# with `torch.autograd.grad(loss, prompt)`, which fills no `.grad`. Only the update of `prompt` stays under
# `no_grad()`.
#
# </details>


# %% tags=["question q1"]
def prompt_step(backbone, prompt, x, y, lr):
    """One step of gradient descent on prompt alone, for the loss mse_loss(backbone(x + prompt), y).

    backbone: a module that takes (B, D); it is not trained.
    """
    # BEGIN SOLUTION
    loss = F.mse_loss(backbone(x + prompt), y)
    (gradient,) = torch.autograd.grad(loss, prompt)
    with torch.no_grad():
        prompt -= lr * gradient
    # STUB
    # with torch.no_grad():  # the backbone is frozen
    #     out = backbone(x + prompt)
    # loss = F.mse_loss(out, y)
    # loss.backward()
    # with torch.no_grad():
    #     prompt -= lr * prompt.grad
    # prompt.grad = None
    # END SOLUTION


# %% tags=["check q1"]
def test_only_the_prompt_is_trained(prompt_step):
    """A step changes the prompt, not the backbone."""
    import torch

    backbone = torch.nn.Linear(2, 1)
    prompt, x = torch.zeros(2, requires_grad=True), torch.ones(3, 2)
    before = backbone.weight.tolist()
    try:
        prompt_step(backbone, prompt, x, backbone(x).detach() + 1, 0.1)
    except RuntimeError as error:
        raise AssertionError(f"prompt_step raised an error: {error}") from None
    assert prompt.tolist() != [0.0, 0.0], "The prompt is unchanged after a step."
    assert backbone.weight.tolist() == before, (
        "The step changed the weight of the backbone, but only the prompt may be trained."
    )
    assert backbone.weight.grad is None, "backbone.weight.grad is filled, but must stay None."


# %% [markdown] tags=["afterword q1"]
# A gradient can flow through a frozen layer: its parameters get no gradient, and the recorded operations lead
# on to the prompt. Next trap: gradients accumulate, so a `prompt.grad` that is left from the last step spoils
# the next one.

# %% [markdown] tags=["claim S5.11"]
# ## A mode that marks tensors
#
# `inference_mode()` looks like a faster `no_grad()`, and inside the block it is. The difference comes later.
# A tensor that is computed under `no_grad()` is a normal tensor that is not connected to the graph. A tensor
# whose memory is *allocated* under `inference_mode()` is an *inference tensor*, and it stays one after the
# block. Not every result is newly allocated: a view of a normal tensor is a normal tensor, and so is a tensor
# that an operation returns unchanged, such as `x.float()` for a float32 `x`, or the result of
# `nn.Identity()`.

# %%
with torch.no_grad():
    normal = torch.ones(3) * 2
with torch.inference_mode():
    marked = torch.ones(3) * 2
print(normal.is_inference(), marked.is_inference())  # False True, because the mark outlives the block
with torch.inference_mode():
    print(normal[:2].is_inference())  # False, because a view of a normal tensor allocates nothing

w = torch.ones(3, requires_grad=True)
(normal * w).sum().backward()  # autograd saves normal for backward
print(w.grad.tolist())  # [2.0, 2.0, 2.0], because that is what normal holds
try:
    marked * w
except RuntimeError as error:
    print(str(error).partition(".")[0])  # Inference tensors cannot be saved for backward

# %% tags=["drawn"]
# Backward ends at `w`. `Mul` saved `normal` for backward, but no gradient flows to it.
loss = (normal * w).sum()
xray(loss=loss, w=w, normal=normal)

# %% [markdown] tags=["claim S5.12"]
# Why does torch refuse? An inference tensor has no version counter. So `backward()` could not detect a write
# to it, and torch does not save a tensor whose writes it cannot detect. An operation that saves nothing is
# allowed: `marked + w` works. The documentation of
# [torch.inference_mode](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html)
# says that such tensors "cannot be used in computations recorded by autograd". That is a safe rule, and
# stricter than what torch checks.
#
# **Guess first.** Which of these three are normal tensors again? Two of the lines seem to do the same in a
# different order.

# %%
with torch.inference_mode():
    inside = marked.clone()
print(marked.detach().is_inference())
print(inside.is_inference())
print(marked.clone().is_inference())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `True`, `True`, `False`. `detach()` returns a view, and a view of an inference tensor is an inference
# tensor. `clone()` allocates new memory, and if it does so *inside* the block, the new tensor is an inference
# tensor. Only the clone that is made outside is normal.
#
# </details>
#
# So the usual advice, "use `inference_mode()`, it is just a better `no_grad()`", is right for values that you
# only look at. It is wrong for values that you train on later.

# %% [markdown]
# ## q2 · Cached features
#
# A small head is trained on a frozen backbone for many epochs, so you compute the outputs of the backbone
# only once.
#
# Write `cache_features(backbone, xs)`:
#
# 1. For each tensor `x` of the list `xs`, compute the feature `backbone(x)`.
# 2. Return the list of features, in the same order and in the dtype of the backbone's output. A head must be
#    able to train on them: they must not be inference tensors or connected to the graph.
#
# The backbone returns a new tensor in each call, and keeps no reference to it. Your function is not called
# under `inference_mode()`.
#
# With the features of the starter code, training a head raises `Inference tensors cannot be saved`. Fix it.
#
# **No side effects.** Leave `backbone` and `xs` unchanged.
#
# **Example.** `backbone` is an `nn.Linear(1, 1, bias=False)` with the weight 3. `xs = [[[2.]], [[1.], [4.]]]`
# gives the features `[[6.]]` and `[[3.], [12.]]`.
#
# <details><summary>Hint 1</summary>
#
# Print `feature.is_inference()` for a feature of the starter code.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A tensor that is allocated under `inference_mode()` stays an inference tensor, and so do all its views.
# Which other switch stops the recording and leaves no mark?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Use `torch.no_grad()` instead of `torch.inference_mode()`. Or keep `inference_mode()`, and `clone()` each
# feature after the block has ended.
#
# </details>


# %% tags=["question q2"]
def cache_features(backbone, xs):
    """The features of the tensors in xs, as normal tensors that are not connected to the graph.

    backbone: a module that takes each of the tensors; it is not changed.
    Returns a list of as many tensors.
    """
    # BEGIN SOLUTION
    with torch.no_grad():
        return [backbone(x) for x in xs]
    # STUB
    # with torch.inference_mode():
    #     return [backbone(x) for x in xs]
    # END SOLUTION


# %% tags=["check q2"]
def test_a_head_trains_on_the_features(cache_features):
    """A head can train on the features."""
    import torch

    backbone, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    features = cache_features(backbone, [torch.ones(4, 2), torch.zeros(1, 2)])
    try:
        for _ in range(2):
            for feature in features:
                head(feature).pow(2).sum().backward()
    except RuntimeError as error:
        raise AssertionError(f"Training a head on the features raised an error: {error}") from None
    assert backbone.weight.grad is None, (
        "backbone.weight.grad is filled after training the head: the features must not be connected to the "
        "backbone."
    )


# %% [markdown] tags=["afterword q2"]
# What a tensor is depends on where its memory is allocated: under `inference_mode()` it is an inference
# tensor forever, under `no_grad()` a normal one. Next trap: once you train the backbone again, the cached
# features are out of date, and no error says so.

# %% [markdown]
# ## Two switches for an evaluation
#
# Between two epochs you measure the loss on data that the model does not train on. You must switch off two
# things, with two switches that are independent of each other.

# %%
torch.manual_seed(0)
model = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 1))
x = torch.ones(2, 4)

with torch.no_grad():
    print(torch.equal(model(x), model(x)))  # False, because dropout still drops
model.eval()
print(torch.equal(model(x), model(x)))  # True, because dropout changes nothing now
print(model(x).requires_grad)  # True, because eval() does not stop the recording

# %% tags=["drawn"]
# In `eval()` mode autograd records as before: the graph leads to both parameters. Dropout has no node.
out = model(x)
xray(out=out, weight=model[1].weight, bias=model[1].bias)

# %% [markdown] tags=["claim S5.13"]
# Both are *states*: they stay until you change them. `eval()` sets a state of the module and of all its
# submodules; see [Autograd mechanics, "Evaluation
# Mode"](https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval). The
# gradient mode is a state of the thread: a thread that you start yourself records gradients, whatever mode
# you have set in this one. You can set the gradient mode in two ways:

# %%
torch.set_grad_enabled(False)  # a call sets the mode for everything that this thread runs later
print(torch.is_grad_enabled())  # False, because no line has restored it
torch.set_grad_enabled(True)

try:
    with torch.no_grad():  # a block sets it, and restores it at its end
        raise ValueError("a bad batch")
except ValueError:
    print(torch.is_grad_enabled())  # True, because a block also ends when an error leaves it

# %% [markdown]
# There is no such block for `eval()`. For the module, use `try` and `finally`: the lines in `finally` run at
# the end, with or without an error.

# %% [markdown]
# ## q3 · evaluate() that leaves no traces
#
# Write `evaluate(model, batches)`:
#
# 1. Put the whole model into `eval()` mode. While it computes, autograd must record nothing.
# 2. For each pair `(x, y)` of `batches`, compute the loss `F.mse_loss(model(x), y)`.
# 3. Return the mean of the losses, a Python float. Every batch counts the same, whatever its size. You may
#    add up the losses in their own dtype: it is precise enough, and their sum does not overflow.
#
# Before the call, all parts of the model are in the same mode. Restore this mode and the gradient mode, even
# if a batch raises any error, including `KeyboardInterrupt`. The error must reach the caller.
#
# The starter code leaves gradients disabled, and every model in `train()` mode. Fix it.
#
# **No side effects.** Only the state of the random number generators may change.
#
# **Example.** `model` is an `nn.Dropout(0.9)` in `train()` mode. For the batches
# `([[1.], [1.]], [[3.], [3.]])` and `([[0.]], [[0.]])`, the losses are 4 and 0, so the result is `2.0`.
#
# <details><summary>Hint 1</summary>
#
# What are `torch.is_grad_enabled()` and `model.training` before a call, and after it? And after a call that
# stopped with an error?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# There are two switches, and you must restore each to what it *was*, not to what it usually is. A `with`
# block does that for the gradient mode. For the mode of the model, store `model.training` before you change
# it.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Put the computation into a `try:`, under `with torch.no_grad():`. In `finally:`, call `model.train(...)`
# with the mode that you stored before you called `model.eval()`.
#
# </details>


# %% tags=["question q3"]
def evaluate(model, batches):
    """The mean of the losses mse_loss(model(x), y), measured without a trace.

    model: a module, as a whole in train() mode or as a whole in eval() mode.
    batches: a list of pairs (x, y), at least one.
    Returns a float.
    """
    # BEGIN SOLUTION
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    finally:
        model.train(was)
    return sum(losses) / len(losses)
    # STUB
    # model.eval()
    # torch.set_grad_enabled(False)
    # losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    # model.train()
    # return sum(losses) / len(losses)
    # END SOLUTION


# %% tags=["check q3"]
def test_the_switches_stand_as_before(evaluate):
    """`evaluate` restores the modes."""
    import torch

    ones = torch.ones(8, 8)
    training, in_use = torch.nn.Dropout(0.9).train(), torch.nn.Linear(8, 8).eval()
    loss = evaluate(training, [(ones, ones)])
    is_on = torch.is_grad_enabled()
    evaluate(in_use, [(ones, ones)])
    torch.set_grad_enabled(True)
    assert is_on, "After evaluate(), gradients are disabled for the rest of the program."
    assert loss == 0, "The loss is not 0: check that dropout is off while you compute it."
    assert training.training, "The model was in train() mode before the call and is now in eval() mode."
    assert not in_use.training, "The model was in eval() mode before the call and is now in train() mode."


# %% [markdown] tags=["afterword q3"]
# Both switches are states: restore them to what they were, not to what they usually are. Next trap: an error
# skips the lines after it, but never a `finally` or the end of a `with` block.

# %% [markdown]
# ## Which parameters get a gradient, and which are updated
#
# Two things decide what a training step does. `requires_grad` decides which parameters get a gradient.
# `optimizer.param_groups` decides which parameters the step updates. A parameter learns only if it requires
# grad *and* the optimizer holds it.

# %%
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
model[0].requires_grad_(False)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)

model[0].requires_grad_(True)  # it looks unfrozen
before = model[0].weight.tolist()
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
print(model[0].weight.grad is not None)  # True, because it requires grad now
print(model[0].weight.tolist() == before)  # True, because the optimizer does not hold it

# %% tags=["drawn"]
# After `requires_grad_(True)` the graph leads to both weights. It does not show what the optimizer holds.
loss = model(torch.ones(1, 2)).sum()
xray(loss=loss, weight_0=model[0].weight, weight_1=model[1].weight)

# %% [markdown]
# **Guess first.** It goes wrong in the other direction, too. This layer is frozen *after* a backward pass,
# and the optimizer holds it. Does the next step update it? Write down what the last line prints.

# %%
layer = nn.Linear(2, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(torch.ones(1, 2)).sum().backward()
layer.requires_grad_(False)
before = layer.weight.tolist()
optimizer.step()
print(layer.weight.tolist() == before)

# %% [markdown] tags=["claim S3.6"]
# <details><summary>What you should have seen</summary>
#
# `False`: the step updated the frozen layer. An optimizer does not check `requires_grad`. It checks whether
# `.grad` is `None`, and the gradient of the last backward pass was still there. `layer.zero_grad()` sets
# `.grad` to `None`, and then the step skips the layer.
#
# </details>
#
# You may have read that `optimizer.step()` "updates `leaf.data`". It writes to the leaf itself, in place,
# under `no_grad()`. You can see the difference: the version counter counts this write, and it would not count
# a write to `.data`.

# %%
w = torch.ones(2, requires_grad=True)
w.grad = torch.ones(2)
version = w._version
torch.optim.SGD([w], lr=0.1).step()
print(w._version > version)  # True, because the step is a write that autograd counts

# %% [markdown]
# ## q4 · Gradual unfreezing
#
# In fine-tuning, layers are often unfrozen one after the other, from the last to the first.
#
# Write `unfreeze(layer, opt, lr)`. In the middle of training, it makes `layer` trainable:
#
# 1. Every parameter of `layer` must require grad.
# 2. `opt` must hold each of them exactly once. A parameter that `opt` already holds keeps its learning rate.
#    Any other parameter of `layer` gets the learning rate `lr`.
#
# Apart from the learning rate, all groups of `opt` and `opt.defaults` have the same options, such as weight
# decay. New parameters must get these options, too. You may arrange the groups as you like. But a second
# call, even with another `lr`, must leave the groups unchanged.
#
# With the starter code, `opt` never updates the layer. Fix it.
#
# **No side effects.** `opt` must stay the same object, and keep the learning rates of its parameters and its
# state, such as momentum.
#
# **Example.** `opt` is SGD with `lr=0.1` and `momentum=0.9`, and holds no parameter of
# `layer = nn.Linear(1, 1)`. After `unfreeze(layer, opt, 0.01)`, it also holds the layer's weight and bias,
# with `lr=0.01` and `momentum=0.9`.
#
# <details><summary>Hint 1</summary>
#
# Is `layer.weight` in `opt.param_groups` after a call of the starter code? Compare objects, with `is` or by
# `id()`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# You can add a group to an optimizer at any time, with its own learning rate: look for `add_param_group` in
# the documentation of [torch.optim](https://docs.pytorch.org/docs/stable/optim.html). It refuses a parameter
# that the optimizer already holds. Don't compare tensors with `==` or `in`, which compare their values.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Collect the `id` of every parameter in the `"params"` of every group of `opt`. Make a list of the parameters
# of `layer` whose `id` is not among them. If the list is not empty, pass it to `opt.add_param_group` as
# `"params"`, together with `"lr"`.
#
# </details>


# %% tags=["question q4"]
def unfreeze(layer, opt, lr):
    """Make all parameters of layer trainable while the training with opt goes on."""
    # BEGIN SOLUTION
    layer.requires_grad_(True)
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for p in layer.parameters() if id(p) not in held]
    if new:
        opt.add_param_group({"params": new, "lr": lr})
    # STUB
    # layer.requires_grad_(True)
    # END SOLUTION


# %% tags=["check q4"]
def test_the_layer_moves(unfreeze):
    """`opt` holds the layer once and updates it."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    layer = model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1, momentum=0.9)
    try:
        unfreeze(layer, opt, 0.01)
        unfreeze(layer, opt, 0.01)
    except ValueError as error:
        raise AssertionError(f"unfreeze raised an error: {error}") from None
    before = {name: parameter.tolist() for name, parameter in layer.named_parameters()}
    model(torch.ones(1, 2)).sum().backward()
    opt.step()
    held = [id(parameter) for group in opt.param_groups for parameter in group["params"]]
    for name, parameter in layer.named_parameters():
        assert parameter.tolist() != before[name], (
            f"opt.step() did not change the {name} of the layer:\ncheck that opt holds it, and that it gets "
            "a gradient."
        )
        number = held.count(id(parameter))
        assert number == 1, (
            f"After two calls, opt holds the {name} of the layer {number} times instead of once."
        )


# %% [markdown] tags=["afterword q4"]
# `requires_grad` decides which parameters get a gradient, and `param_groups` decides which ones a step
# updates. Next trap, when you freeze a layer again: the optimizer updates it as long as its `.grad` is not
# `None`.

# %% [markdown]
# ## Memory for time
#
# Backward needs values of the forward pass, so the forward pass saves them. In a deep model these
# *activations* often take most of the memory. A **checkpoint** saves only the input of a block. When backward
# reaches the block, the forward of the block runs once more, so its activations exist only for a short time.
#
# You can measure how much is saved. This function adds up the bytes of all tensors that are saved while
# another function runs:

# %%
from torch.utils.checkpoint import checkpoint


def saved_bytes(function, *args):
    """The bytes of all tensors that are saved for backward while the function runs."""
    seen = {}

    def pack(tensor):
        seen[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        kept_alive = function(*args)
    return sum(seen.values()) if kept_alive is not None else 0


torch.manual_seed(0)
block = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 8))
x = torch.randn(64, 8, requires_grad=True)
print(saved_bytes(block, x))  # 12288, because of x, the two weights and the output of tanh
print(saved_bytes(lambda x: checkpoint(block, x, use_reentrant=True), x))  # 2048, because of x alone

# %% tags=["drawn"]
# A reentrant checkpoint is one node for autograd. The block has no graph before backward.
out = checkpoint(block, x, use_reentrant=True)
xray(out=out, x=x)

# %% [markdown]
# There are two kinds of checkpoint. The older one, `use_reentrant=True`, is a `Function` that runs the block
# under `no_grad()`. For autograd it is a single operation with the input `x`, and autograd records an
# operation only if an input requires grad. The parameters of the block are not inputs of it. So if `x` does
# not require grad, nothing is recorded:

# %%
import warnings

data = torch.randn(64, 8)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    out = checkpoint(block, data, use_reentrant=True)
print(out.requires_grad)  # False, because the only input that the checkpoint knows does not require grad
print(str(caught[-1].message).partition(".")[0])  # None of the inputs have requires_grad=True

# %% [markdown] tags=["claim S5.14"]
# The newer one, `use_reentrant=False`, records the block as usual, and only drops the tensors that it saved.
# So autograd knows the parameters. PyTorch's documentation recommends it:
# [torch.utils.checkpoint](https://docs.pytorch.org/docs/stable/checkpoint.html).
#
# Computing twice costs more than time. Everything in the block happens twice. (With `use_reentrant=False` the
# second run stops as soon as backward has all it needs, so the last operations of a block may run only once.)
# Batch norm updates its running statistics twice. Dropout draws twice, but a checkpoint takes care of that:
# it stores the state of the random number generators and draws the same mask again, unless you pass
# `preserve_rng_state=False`. And the block itself must not change in between: it is called once now, and once
# during backward.

# %% [markdown]
# ## q5 · Checkpointing without losing the gradient
#
# Write `forward_ckpt(blocks, x)`, which computes the same as this loop:
#
# ```python
# for block in blocks:
#     x = block(x)
# ```
#
# 1. The result and all gradients, including that of `x`, must be those of the loop with the same random
#    numbers.
# 2. Between forward and backward, keep less than half of the bytes that the loop keeps. Everything that stays
#    in memory counts.
#
# Memory is measured only where the loop keeps hundreds of kB, so the 5 kB of random number state that a
# checkpoint stores hardly matter. Inside each block, the activations are at least four times as wide as the
# block's input and output.
#
# The first block may be completely frozen. Every other block has at least one parameter that requires grad.
# No block has batch norm or works in place. Your result must support `backward()`, but it need not support
# `torch.autograd.grad`.
#
# The result of the starter code requires grad only if `x` does. Fix it.
#
# **No side effects.** Leave `x` and the blocks unchanged.
#
# **Example.** For four blocks `nn.Linear(1, 1, bias=False)` with the weight 2 and `x = [[1.]]`, the result is
# `[[16.]]`, and each weight gets the gradient `[[8.]]`.
#
# <details><summary>Hint 1</summary>
#
# Print `out.requires_grad` for an `x` that does not require grad. Which inputs does the reentrant checkpoint
# check to decide whether there is something to differentiate?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The reentrant checkpoint does not know the parameters of the block. If you switch `requires_grad` on for
# `x`, you change the caller's tensor. Which kind of checkpoint knows the parameters? And if you write a
# `lambda` around `block`: which block does it call later, during backward?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Write the plain loop, and call each block through a checkpoint of the newer kind, `use_reentrant=False`.
# Pass it the block itself.
#
# </details>


# %% tags=["question q5"]
def forward_ckpt(blocks, x):
    """Send x through the blocks with activation checkpointing.

    blocks: an nn.ModuleList of at least four modules, each of which takes what the one before gives.
    Returns what the last block gives, with the gradients of the plain loop.
    """
    # BEGIN SOLUTION
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x
    # STUB
    # for block in blocks:
    #     x = checkpoint(block, x, use_reentrant=True)
    # return x
    # END SOLUTION


# %% tags=["check q5"]
def test_the_blocks_get_a_gradient(forward_ckpt):
    """Every block gets a gradient."""
    import warnings

    import torch

    blocks = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = forward_ckpt(blocks, torch.ones(2, 3))
    assert out.requires_grad, "The result does not require grad, so no block can get a gradient."
    out.sum().backward()
    for number, block in enumerate(blocks):
        assert block.weight.grad is not None, f"The weight of block {number} got no gradient."


# %% [markdown] tags=["afterword q5"]
# The newer checkpoint knows the parameters of a block, so it also works if `x` does not require grad. Next
# trap: a block runs a second time during backward, so batch norm counts every batch twice.

# %% [markdown]
# ## Bonus task · Two stages of fine-tuning
#
# Write `fine_tune(backbone, head, train, held_out, epochs, lr)`. It trains `nn.Sequential(backbone, head)` in
# two stages of `epochs` epochs. `train` and `held_out` are lists of pairs `(x, y)`, and the loss is
# `F.mse_loss`. An epoch makes one step for each pair of `train`, in order.
#
# 1. First stage: only the head learns, by SGD with the learning rate `lr` and momentum 0.9. The backbone is
#    frozen: its values must not change, and it must get no gradient. Call it once for each `x` of `train`,
#    and train the head on these features in all epochs of the stage.
# 2. Second stage: both learn. The head continues with `lr` and its momentum. The backbone starts with the
#    learning rate `lr / 10`, and momentum 0.9, too.
# 3. After each epoch, measure the mean of the losses on `held_out`, without dropout. Every pair counts the
#    same.
#
# Return these means, a list of `2 * epochs` floats. Both modules are in `train()` mode when your function is
# called, and must be in it whenever they learn.
#
# All parameters require grad and have no `.grad`. The backbone has no dropout and no batch norm; the head may
# have dropout. Neither writes to its input. There are at least two epochs, and one pair in each list. The
# pairs don't require grad.
#
# The starter code has three of the bugs that this notebook is about. It raises an error in its first epoch.
# If you fix that, dropout is active in the first epoch only, and the values of the backbone never change.
# There is no hint.
#
# **No side effects.** Change only the modules. At the end, all parameters must require grad, but you may
# leave the modules in any mode.
#
# **Example.** Both modules are `nn.Linear(1, 1, bias=False)` with the weight 1. Both lists are
# `[([[1.]], [[2.]])]`, `epochs = 2` and `lr = 0.1`. The result is `[0.64, 0.2116, 0.0012, 0.1356]`, rounded.


# %% tags=["question end"]
def fine_tune(backbone, head, train, held_out, epochs, lr):
    """Train the head on features of the frozen backbone, and then both.

    Returns the mean loss on held_out after each epoch, a list of 2 * epochs floats.
    """
    # BEGIN SOLUTION
    model, history = nn.Sequential(backbone, head), []
    opt = torch.optim.SGD(head.parameters(), lr=lr, momentum=0.9)
    backbone.requires_grad_(False)
    with torch.no_grad():  # the backbone is asked once
        features = [backbone(x) for x, _ in train]
    for epoch in range(2 * epochs):
        if epoch == epochs:  # the second stage begins
            backbone.requires_grad_(True)
            opt.add_param_group({"params": list(backbone.parameters()), "lr": lr / 10})
        model.train()
        for feature, (x, y) in zip(features, train):
            out = head(feature) if epoch < epochs else model(x)
            opt.zero_grad()
            F.mse_loss(out, y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            losses = [F.mse_loss(model(x), y).item() for x, y in held_out]
        history.append(sum(losses) / len(losses))
    return history
    # STUB
    # model, history = nn.Sequential(backbone, head), []
    # opt = torch.optim.SGD(head.parameters(), lr=lr, momentum=0.9)
    # backbone.requires_grad_(False)
    # with torch.inference_mode():  # the backbone is asked once
    #     features = [backbone(x) for x, _ in train]
    # for epoch in range(2 * epochs):
    #     if epoch == epochs:  # the second stage begins
    #         backbone.requires_grad_(True)
    #     for feature, (x, y) in zip(features, train):
    #         out = head(feature) if epoch < epochs else model(x)
    #         opt.zero_grad()
    #         F.mse_loss(out, y).backward()
    #         opt.step()
    #     model.eval()
    #     with torch.no_grad():
    #         losses = [F.mse_loss(model(x), y).item() for x, y in held_out]
    #     history.append(sum(losses) / len(losses))
    # return history
    # END SOLUTION


# %% tags=["check end"]
def test_both_stages_train(fine_tune):
    """Both stages train the right parameters."""
    import torch

    backbone, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    pairs, held_out = [(torch.ones(4, 2), torch.ones(4, 1))], [(torch.ones(5, 2), torch.ones(5, 1))]
    before, modes = backbone.weight.tolist(), []
    head.register_forward_pre_hook(lambda head, args: modes.append((len(args[0]), head.training)))
    try:
        history = fine_tune(backbone, head, pairs, held_out, 2, 0.01)
    except RuntimeError as error:
        raise AssertionError(f"Training raised an error: {error}") from None
    assert len(history) == 4, (
        f"For two stages of two epochs, you returned {len(history)} losses instead of 4."
    )
    steps = [training for rows, training in modes if rows == 4]
    assert all(steps), f"In step {steps.index(False) + 1}, the head was in eval() mode, so dropout was off."
    assert backbone.weight.tolist() != before, (
        "The weight of the backbone is unchanged: the second stage must train it, too."
    )


# %% [markdown] tags=["afterword end"]
# The features were inference tensors, and no layer of the head can save such a tensor for backward. The
# modules stayed in `eval()` mode after the first evaluation. And the unfrozen backbone was in no group of the
# optimizer.


# %% [markdown]
# ## What to remember
#
# - `requires_grad_(False)` freezes a parameter and lets gradients flow through. `no_grad()` records nothing
#   at all. `eval()` is about dropout and batch norm, not about gradients. `module.requires_grad = False` does
#   nothing.
# - Use `inference_mode()` for values that you only look at. Use `no_grad()` for values that you train on
#   later.
# - A mode is a state. Restore it to what it *was*, even after an error: `with` for the gradient mode, `try`
#   and `finally` for the model.
# - `requires_grad` decides which parameters get a gradient. `param_groups` decides which ones a step updates.
#   A step only checks `.grad`, and skips a parameter whose `.grad` is `None`.
# - A checkpoint trades time for memory. Use `use_reentrant=False`, and remember that the forward of a block
#   runs a second time during backward.
#
# In the next notebook you write operations of your own with `Function`, and look into others with hooks.
