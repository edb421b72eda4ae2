# %% [markdown]
# # 7. Freezing, modes and checkpoints
#
# Often you do not want every gradient. You tune a prompt in front of a frozen model. You compute features once and use
# them a hundred times. You evaluate between two epochs. PyTorch has four switches for this, and they are easily confused:
#
# | switch | what it belongs to | what it decides |
# |---|---|---|
# | `requires_grad` | a tensor | does this tensor get a gradient? |
# | `torch.no_grad()` | a block of code | does autograd record operations at all? |
# | `torch.inference_mode()` | a block of code | the same; and autograd will not save a tensor that was allocated here for backward, even after the block |
# | `model.eval()` | a module | what do dropout and batch norm compute? It does not change what autograd records. |
#
# In this notebook you will learn
#
# - how to freeze a model and still backpropagate through it;
# - when to use `no_grad()` and when `inference_mode()`;
# - how to evaluate a model and restore every mode, also after an error;
# - how to unfreeze a layer in the middle of training;
# - how a checkpoint saves memory, and what it costs.
#
# The code and the claims about PyTorch in this notebook were tested with torch 2.13.
#
# **Rules for all questions:**
#
# - Leave torch's modes as you found them. If gradients are recorded before the call, they must be recorded after it;
#   otherwise not. (In questions 1 and 5 they are recorded.)
# - No side effects. Change only what the task tells you to change. The values, each `.grad` (`None` or not), each
#   `requires_grad`, and the mode of each part of a module, `train()` or `eval()`, must otherwise be the same after the
#   call. Leave no hook and no attribute behind.
# - Full precision: a relative error of at most 1e-12 in float64, 1e-5 in float32.
# - Some parameters may be frozen, some may already have a `.grad`, and modules may contain modules.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown]
# ## Frozen is not the same as not recorded
#
# To *freeze* a layer means: its parameters do not change. `requires_grad_(False)` says that its parameters
# get no gradient. It does not stop a gradient that only passes through the layer, on its way to another
# tensor.

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
# You can draw such a picture of your own tensors, where the course's `grader` package is installed: take the
# two `#` away, and change what you like.

# %%
# from grader import xray
# xray(out=out, prompt=prompt, weight=layer.weight)

# %% [markdown]
# `no_grad()` is another thing. Under `no_grad()` autograd records nothing at all. There is no path left on
# which a gradient could travel.

# %%
with torch.no_grad():
    out = layer(x + prompt)
print(out.requires_grad, out.grad_fn)  # False None, because nothing was recorded

# %% [markdown]
# **Guess first.** The next cell freezes in two other ways that people try. Which of the two layers gets a
# gradient? Write down `True` or `False` for each line before you run it.

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
# `True`, and `True` again. A module has no switch called `requires_grad`: the assignment makes a new
# attribute, and PyTorch never reads it. The method with the underscore, `requires_grad_(False)`, goes through
# the parameters. And `eval()` tells dropout and batch norm that the training is over. It freezes nothing.
#
# </details>
#
# You may have read that the weights of a layer "are leaves with `requires_grad=True`". That is true when the
# layer is made. It is a setting, not a law: you can change it for each parameter. (Under `weight_norm`, the
# weight is computed from other parameters, and is no leaf at all.) PyTorch's documentation describes all four
# switches in [Autograd mechanics, "Locally disabling gradient
# computation"](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).

# %% [markdown]
# ## q1 · Tune the prompt, freeze the backbone
#
# A trained model, the *backbone*, can be steered without training it: add a small vector to its inputs, the
# *prompt*, and train only this vector. Write `prompt_step(backbone, prompt, x, y, lr)`. It makes one step of
# gradient descent: the loss is `F.mse_loss(backbone(x + prompt), y)`, and `prompt` moves by `-lr` times its
# gradient.
#
# - `prompt` stays the same leaf in the same memory. At the first call `prompt.grad` is `None`. Leave in it
#   what you like, but the next call has to make a right step, too.
# - You may freeze parameters of the backbone, and leave them frozen, but thaw none.
#
# The code below freezes the backbone with `no_grad()`, and stops with an error.
#
# <details><summary>Hint 1</summary>
#
# Print `out.requires_grad`. Through which operations must the gradient travel on its way from the loss to
# `prompt`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `no_grad()` records nothing, so it cuts the path to `prompt` as well. You need the record of the operations,
# and you do not need gradients of the parameters. Two things say that: a flag of the parameters, or a
# function that asks for the gradient of the tensors you name, and of no others.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Call `backbone.requires_grad_(False)` and then compute the loss without `no_grad()`. Or get the gradient
# with `torch.autograd.grad(loss, prompt)`, which fills the `.grad` of no leaf. Only the update of `prompt` stays under
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
    """A step moves the prompt; the backbone stays as it is, and none of its parameters has a .grad."""
    import torch

    backbone = torch.nn.Linear(2, 1)
    prompt, x = torch.zeros(2, requires_grad=True), torch.ones(3, 2)
    before = backbone.weight.tolist()
    try:
        prompt_step(backbone, prompt, x, backbone(x).detach() + 1, 0.1)
    except RuntimeError as error:
        raise AssertionError(f"the step stops with an error; torch says: {error}") from None
    assert prompt.tolist() != [0.0, 0.0], "the prompt has not moved"
    assert backbone.weight.tolist() == before, "the weight of the backbone has changed: it was trained"
    assert backbone.weight.grad is None, "the backbone collects .grad: it is not frozen"


# %% [markdown] tags=["afterword q1"]
# A gradient can travel through a frozen layer: nothing is collected there, and the recorded operations lead
# on to the prompt. Next trap: gradients add up, so a `prompt.grad` that is left from the last step spoils the
# next one.

# %% [markdown] tags=["claim S5.11"]
# ## A mode that leaves a mark
#
# `inference_mode()` looks like a faster `no_grad()`, and inside the block it is. The difference comes later.
# A tensor that is computed under `no_grad()` is an ordinary tensor without a history. A tensor whose memory is *allocated*
# under `inference_mode()` is an *inference tensor*, and it stays one when the block is over. Not every result is newly
# allocated: a view of an ordinary tensor is an ordinary tensor, and so is a tensor that an operation returns as it is, such
# as `x.float()` for a float32 `x`, or the result of `nn.Identity()`.

# %%
with torch.no_grad():
    ordinary = torch.ones(3) * 2
with torch.inference_mode():
    marked = torch.ones(3) * 2
print(ordinary.is_inference(), marked.is_inference())  # False True, because the mark outlives the block
with torch.inference_mode():
    print(ordinary[:2].is_inference())  # False, because a view of an ordinary tensor allocates nothing

w = torch.ones(3, requires_grad=True)
(ordinary * w).sum().backward()  # backward needs the value of ordinary, and saves it
print(w.grad.tolist())  # [2.0, 2.0, 2.0], because that is what ordinary holds
try:
    marked * w
except RuntimeError as error:
    print(str(error).partition(".")[0])  # Inference tensors cannot be saved for backward

# %% tags=["drawn"]
# Backward stops at `w`. `ordinary` is data that `Mul` keeps for backward; no gradient goes there.
loss = (ordinary * w).sum()
xray(loss=loss, w=w, ordinary=ordinary)

# %% [markdown] tags=["claim S5.12"]
# Why does torch refuse? An inference tensor has no version counter. So `backward()` could not notice a write
# to it, and torch does not save what it cannot watch. An operation that saves nothing is allowed: `marked +
# w` works. The documentation of
# [torch.inference_mode](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html)
# says that such tensors "cannot be used in computations recorded by autograd". That is a safe rule, and stricter
# than what torch checks.
#
# **Guess first.** Which of these three are ordinary tensors again? Two lines look like the same thing in
# another order.

# %%
with torch.inference_mode():
    inside = marked.clone()
print(marked.detach().is_inference())
print(inside.is_inference())
print(marked.clone().is_inference())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `True`, `True`, `False`. `detach()` returns a view of the same memory, and a view of an inference tensor is an
# inference tensor. `clone()` allocates new memory, and the new tensor is marked if that happens *inside* the block. Only
# the clone that is made outside is ordinary.
#
# </details>
#
# So the usual advice, "use `inference_mode()`, it is just a better `no_grad()`", is right for values that you
# only look at. It is wrong for values that you train on later.

# %% [markdown]
# ## q2 · Cached features
#
# A small head is trained on a frozen backbone for many epochs, so you keep the answers of the backbone. Write
# `cache_features(backbone, xs)`. It returns a list: for each `x` of the list `xs`, in the same order, the
# feature `backbone(x)`.
#
# - Each feature is an ordinary tensor without a history, on which a head can train.
# - The features are those of the backbone as it is now, in the dtype of its output: weights and buffers may
#   have changed since the last call.
#
# The backbone gives a new tensor in each call and keeps none, and the call is not inside an
# `inference_mode()` block. With the code below, training a head raises `Inference tensors cannot be saved`.
#
# <details><summary>Hint 1</summary>
#
# Print `feature.is_inference()` for a feature of the given code.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A tensor that is allocated under `inference_mode()` stays an inference tensor, and so do all its views. Which other
# switch stops the recording and leaves no mark?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `torch.no_grad()` in the place of `torch.inference_mode()`. To keep `inference_mode()`, make a `clone()` of
# each feature after the block has ended.
#
# </details>


# %% tags=["question q2"]
def cache_features(backbone, xs):
    """The features of the tensors in xs, as ordinary tensors without a history.

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
    """Two epochs of a head on the features raise no error."""
    import torch

    backbone, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    features = cache_features(backbone, [torch.ones(4, 2), torch.zeros(1, 2)])
    try:
        for _ in range(2):
            for feature in features:
                head(feature).pow(2).sum().backward()
    except RuntimeError as error:
        raise AssertionError(f"a head cannot be trained on the features; torch says: {error}") from None
    assert backbone.weight.grad is None, "training the head has filled the .grad of the backbone"


# %% [markdown] tags=["afterword q2"]
# Where its memory is allocated decides what a tensor is: under `inference_mode()` an inference tensor for good, under
# `no_grad()` an ordinary one. Next trap: once you train the backbone again, the cached features are out of date, and no
# error says so.

# %% [markdown]
# ## Two switches for an evaluation
#
# Between two epochs you measure the loss on data that the model does not train on. Two things have to be
# switched off, by two switches that know nothing of each other.

# %%
torch.manual_seed(0)
model = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 1))
x = torch.ones(2, 4)

with torch.no_grad():
    print(torch.equal(model(x), model(x)))  # False, because dropout still drops
model.eval()
print(torch.equal(model(x), model(x)))  # True, because dropout changes nothing
print(model(x).requires_grad)  # True, because eval() does not stop the recording

# %% tags=["drawn"]
# In `eval()` mode autograd records as ever: the graph goes back to both parameters. Dropout has left no node.
out = model(x)
xray(out=out, weight=model[1].weight, bias=model[1].bias)

# %% [markdown] tags=["claim S5.13"]
# Both are *states*: they stay until you change them. `eval()` is a state of the module and of all its parts;
# see [Autograd mechanics, "Evaluation
# Mode"](https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval). The gradient
# mode is a state of the thread: a thread that you start yourself records gradients, whatever mode you have set in this
# one. You can set the mode in two ways:

# %%
torch.set_grad_enabled(False)  # a call sets the switch for all that this thread runs from now on
print(torch.is_grad_enabled())  # False, because no line has set it back
torch.set_grad_enabled(True)

try:
    with torch.no_grad():  # a block sets it, and sets it back at its end
        raise ValueError("a bad batch")
except ValueError:
    print(torch.is_grad_enabled())  # True, because a block ends when an error leaves it, too

# %% [markdown]
# There is no such block for `eval()`. For the module, use `try` and `finally`: the lines in `finally` run at
# the end, with an error and without.

# %% [markdown]
# ## q3 · evaluate() that leaves no traces
#
# Write `evaluate(model, batches)`. It returns the mean loss of `model` as a Python float: for each pair `(x,
# y)` the loss is `F.mse_loss(model(x), y)`, and each batch counts the same, whatever its size.
#
# - The whole model is evaluated in `eval()` mode, and autograd records nothing meanwhile.
# - Afterwards the model shows no trace of the call: all its parts are in the one mode that it was in. (Which random
#   numbers torch draws next does not matter.)
# - This is also true when a batch raises an error, of whatever class, even `KeyboardInterrupt`. The error
#   reaches the caller.
#
# The mean has the digits of the losses' dtype, whose sum is not too large for it. The code below leaves
# gradients switched off, and every model in `train()` mode.
#
# <details><summary>Hint 1</summary>
#
# What do `torch.is_grad_enabled()` and `model.training` say before a call, and what after it? And after a
# call that stopped with an error?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# There are two switches, and each has to be set back to what it *was*, not to what it usually is. A `with`
# block does that for the grad mode. For the mode of the model, keep `model.training` in a name of your own.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The computation goes into a `try:`, under `with torch.no_grad():`. Its `finally:` calls `model.train(...)`
# with the mode that you kept before you called `model.eval()`.
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
    """Dropout drops nothing, and afterwards the grad mode and the mode of the model are what they were."""
    import torch

    ones = torch.ones(8, 8)
    training, in_use = torch.nn.Dropout(0.9).train(), torch.nn.Linear(8, 8).eval()
    loss = evaluate(training, [(ones, ones)])
    is_on = torch.is_grad_enabled()
    evaluate(in_use, [(ones, ones)])
    torch.set_grad_enabled(True)
    assert is_on, "after evaluate() no gradient is recorded any more, in the whole program"
    assert loss == 0, "dropout was on while the loss was measured"
    assert training.training, "the model was in train() mode, and is in eval() mode now"
    assert not in_use.training, "the model was in eval() mode, and is in train() mode now"


# %% [markdown] tags=["afterword q3"]
# Both switches are states: set them back to what they were, not to what they usually are. Next trap: an error
# skips the lines behind it, but never a `finally` or the end of a `with` block.

# %% [markdown]
# ## Which parameters get a gradient, and which are moved
#
# Two lists decide what a training step does, and they are kept in different places. `requires_grad` decides
# which parameters get a gradient. `optimizer.param_groups` decides which parameters are moved. A parameter
# learns when it is on both lists.

# %%
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
model[0].requires_grad_(False)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)

model[0].requires_grad_(True)  # unfrozen, as it seems
before = model[0].weight.tolist()
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
print(model[0].weight.grad is not None)  # True, because it requires grad now
print(model[0].weight.tolist() == before)  # True, because the optimizer does not hold it

# %% tags=["drawn"]
# After `requires_grad_(True)` the graph reaches both weights. What an optimizer holds is in no graph.
loss = model(torch.ones(1, 2)).sum()
xray(loss=loss, weight_0=model[0].weight, weight_1=model[1].weight)

# %% [markdown]
# **Guess first.** It goes wrong in the other direction, too. This layer is frozen *after* a backward pass,
# and the optimizer holds it. Does the next step move it? Write down what the last line prints.

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
# `False`: the frozen layer has moved. An optimizer does not ask for `requires_grad`. It asks whether `.grad`
# is `None`, and the gradient of the last backward pass was still there. `layer.zero_grad()` sets `.grad` to
# `None`, and then the step leaves the layer alone.
#
# </details>
#
# You may have read that `optimizer.step()` "updates `leaf.data`". It writes to the leaf itself, in place,
# under `no_grad()`. The difference can be seen: the version counter counts the write, and it would not count
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
# To fine-tune a model, people often train the last layer first, then thaw the layer before it, and so on.
# Write `unfreeze(layer, opt, lr)`. In the middle of a training it makes `layer` trainable:
#
# - Every parameter of `layer` requires grad afterwards, and `opt` holds it exactly once. A second call
#   changes nothing.
# - A parameter that `opt` did not hold gets the rate `lr`, and else the options (weight decay ...) that all
#   in `opt` have.
# - For what `opt` held the training goes on: `opt` is the same object with the same options and rates, and
#   remembers the same (the momentum).
#
# How you cut its groups is up to you. With the code below the layer never moves.
#
# <details><summary>Hint 1</summary>
#
# Is `layer.weight` in `opt.param_groups` after the call of the given function? Compare objects, with `is` or
# by `id()`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# An optimizer takes a further group at any time, with a learning rate of its own: look for `add_param_group`
# in the documentation of [torch.optim](https://docs.pytorch.org/docs/stable/optim.html). It refuses a
# parameter that it already holds. Do not compare tensors with `==` or `in`: that compares their values.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Collect the `id` of every parameter in the `"params"` of every group of `opt`. Make a list of the parameters
# of `layer` whose `id` is not among them. If it is not empty, give it to `opt.add_param_group` as `"params"`,
# together with `"lr"`.
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
    """After two calls of unfreeze, opt holds weight and bias once, and its next step moves them."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    layer = model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1, momentum=0.9)
    try:
        unfreeze(layer, opt, 0.01)
        unfreeze(layer, opt, 0.01)
    except ValueError as error:
        raise AssertionError(f"a call fails; torch says: {error}") from None
    before = {name: parameter.tolist() for name, parameter in layer.named_parameters()}
    model(torch.ones(1, 2)).sum().backward()
    opt.step()
    held = [id(parameter) for group in opt.param_groups for parameter in group["params"]]
    for name, parameter in layer.named_parameters():
        assert parameter.tolist() != before[name], f"opt.step() did not move the {name} of the layer"
        number = held.count(id(parameter))
        assert number == 1, f"after two calls opt holds the {name} of the layer {number} times"


# %% [markdown] tags=["afterword q4"]
# `requires_grad` decides which parameters get a gradient, and `param_groups` decides which are moved. Next
# trap, when you freeze a layer again: the optimizer moves it as long as its `.grad` is not `None`.

# %% [markdown]
# ## Memory for time
#
# Backward needs values of the forward pass, so the forward pass saves them. In a deep model these *activations* often
# take most of the memory. A **checkpoint** saves only what enters a block. When backward reaches the block, the block's
# forward runs once more, and the saved values exist for a moment.
#
# You can count how much is saved. This function adds up the tensors that are saved while another function
# runs:

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
print(saved_bytes(block, x))  # 12288, because of x, the two weights, and what comes out of the tanh
print(saved_bytes(lambda x: checkpoint(block, x, use_reentrant=True), x))  # 2048, because of x alone

# %% tags=["drawn"]
# What autograd knows of a reentrant checkpoint: one node. The block has no graph before backward.
out = checkpoint(block, x, use_reentrant=True)
xray(out=out, x=x)

# %% [markdown]
# There are two kinds of checkpoint. The older one, `use_reentrant=True`, is a `Function` of its own that runs
# the block under `no_grad()`. To autograd it is a single operation with the input `x`, and an operation is
# recorded when an input requires grad. The parameters of the block are no inputs of it. So if `x` is plain
# data, torch records nothing:

# %%
import warnings

data = torch.randn(64, 8)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    out = checkpoint(block, data, use_reentrant=True)
print(out.requires_grad)  # False, because the only input that the checkpoint knows does not require grad
print(str(told[-1].message).partition(".")[0])  # None of the inputs have requires_grad=True

# %% [markdown] tags=["claim S5.14"]
# The newer one, `use_reentrant=False`, records the block as usual and only lets go of what it has saved. So
# it knows the parameters. PyTorch's documentation recommends it:
# [torch.utils.checkpoint](https://docs.pytorch.org/docs/stable/checkpoint.html).
#
# Computing twice has a price besides time. What happens in the block happens twice. (With `use_reentrant=False` the second
# run stops as soon as everything is there that backward needs, so the last operations of a block may run only once.)
# Batch norm updates its running statistics twice. Dropout draws twice, but a checkpoint takes care of that: it stores the
# state of the random number generators and draws the same mask again, unless you pass `preserve_rng_state=False`. And the
# block itself must not change in between: it is called once now, and once during backward.

# %% [markdown]
# ## q5 · Checkpointing without losing the gradient
#
# Write `forward_ckpt(blocks, x)`. It gives what this plain loop gives:
#
# ```python
# for block in blocks:
#     x = block(x)
# ```
#
# - All gradients, also that of `x`, are those of the loop. Where blocks have dropout, all is as in one run of
#   the loop with the same random numbers.
# - Between forward and backward less than half of the bytes are kept, in any form, that the loop saves. Inside,
#   each block is at least four times as wide as at its ends.
# - Of the first block all parameters may be frozen, of others never all. No block has batch norm or works in
#   place. It is enough that `backward()` works.
#
# The code below gives no history for plain data.
#
# <details><summary>Hint 1</summary>
#
# Print `out.requires_grad` for an `x` that is plain data. Which inputs does the reentrant checkpoint look at
# to decide whether there is something to differentiate?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The reentrant checkpoint cannot see the parameters of the block. If you switch `requires_grad` on for `x`,
# you change the caller's tensor. Which kind of checkpoint sees the parameters? And if you write a `lambda`
# around `block`: which block does it call later, during backward?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Take the plain loop, and let a checkpoint of the newer kind, `use_reentrant=False`, call each block. Hand
# the block itself to it.
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
    """For an x that is plain data, every block gets a gradient."""
    import warnings

    import torch

    blocks = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = forward_ckpt(blocks, torch.ones(2, 3))
    assert out.requires_grad, "the result has no history: no block can get a gradient"
    out.sum().backward()
    for number, block in enumerate(blocks):
        assert block.weight.grad is not None, f"the weight of block {number} got no gradient"


# %% [markdown] tags=["afterword q5"]
# A checkpoint that sees the parameters of a block works for plain data, too. Next trap: a block runs a second
# time during backward, so batch norm counts every batch twice.

# %% [markdown]
# ## End task · Two stages of fine-tuning
#
# `fine_tune(backbone, head, train, held_out, epochs, lr)` trains `nn.Sequential(backbone, head)` in two
# stages of `epochs` epochs each. `train` and `held_out` are lists of pairs `(x, y)`, and the loss is
# `F.mse_loss`. An epoch makes a step for each pair of `train`, in their order.
#
# - In the first stage only the head learns, by SGD with the learning rate `lr` and momentum 0.9. The backbone
#   is frozen: it keeps its values and collects no gradient. It is asked once for each `x` of `train`, and the
#   head learns from these features in all epochs of the stage.
# - In the second stage both learn. The head goes on with `lr` and with the momentum that it has. The backbone
#   starts with the learning rate `lr / 10`, and with momentum 0.9, too.
# - Backbone and head come in `train()` mode, and are in it whenever they learn. In which mode the function
#   leaves them is up to you. The backbone has no dropout and no batch norm. The head may have dropout.
#   Neither writes to its input.
# - After each epoch the mean of the losses on `held_out` is measured, each pair counting the same, without
#   dropout. The function returns these means, a list of `2 * epochs` floats.
#
# The parameters come with `requires_grad=True` and without a `.grad`, and all require grad in the end. The
# pairs are plain data and stay as they are; all tensors are float32, or all are float64. After a call the
# grad modes of torch are what they were. There are at least two epochs in a stage, and at least one pair in
# each list.
#
# Three bugs of this notebook are in the script. It stops with an error in its first epoch. When that is
# repaired, dropout drops something in the first epoch only, and the backbone ends with the values it came
# with.


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
    """Both stages run, the head is in train() mode in every step, and the second stage moves the backbone."""
    import torch

    backbone, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    pairs, held_out = [(torch.ones(4, 2), torch.ones(4, 1))], [(torch.ones(5, 2), torch.ones(5, 1))]
    before, modes = backbone.weight.tolist(), []
    head.register_forward_pre_hook(lambda head, args: modes.append((len(args[0]), head.training)))
    try:
        history = fine_tune(backbone, head, pairs, held_out, 2, 0.01)
    except RuntimeError as error:
        raise AssertionError(f"the training stops; torch says: {error}") from None
    assert len(history) == 4, f"two stages of two epochs give {len(history)} losses"
    steps = [training for rows, training in modes if rows == 4]
    assert all(steps), f"in step {steps.index(False) + 1} the head learned in eval() mode: dropout was off"
    assert backbone.weight.tolist() != before, "the backbone ends with the weight it came with"


# %% [markdown] tags=["afterword end"]
# The features were inference tensors, and no layer of the head can save such a tensor for backward. `eval()`
# stayed switched on after the first evaluation. And the thawed backbone was in no group of the optimizer.


# %% [markdown]
# ## What to keep
#
# - `requires_grad_(False)` freezes a parameter and lets gradients pass through. `no_grad()` records nothing
#   at all. `eval()` is about dropout and batch norm, not about gradients. `module.requires_grad = False` does
#   nothing.
# - Use `inference_mode()` for what you only look at. Use `no_grad()` for what you train on later.
# - A mode is a state. Set it back to what it *was*, also after an error: `with` for the grad mode, `try` and
#   `finally` for the model.
# - `requires_grad` decides which parameters get a gradient. `param_groups` decides which are moved. A step
#   looks at `.grad` alone, and leaves out a parameter whose `.grad` is `None`.
# - A checkpoint trades time for memory. Use `use_reentrant=False`, and remember that a block's forward runs a second time
#   during backward.
#
# The next notebook leaves the operations that PyTorch brings along: you write your own, with `Function`, and
# look into others with hooks.
