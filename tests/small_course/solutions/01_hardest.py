# %% [markdown]
# # 1. The hardest questions
#
# Five functions, each broken in a way that hardly ever raises an error: the numbers look right, and the
# memory, the gradient or the next backward is not. Repair each in its own cell, then run the check below it.

# %%
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

# %% [markdown]
# ## Gradients add up
#
# `backward()` adds to `.grad`. Two halves of a batch give the gradient of the whole, if each is given its
# due weight.

# %%
w = torch.tensor(1.0, requires_grad=True)
data = torch.tensor([1.0, 2.0, 6.0])

(w * data).mean().backward()
print(w.grad)  # tensor(3.), because that is the mean of all three

w.grad = None
(w * data[:2]).mean().backward()
(w * data[2:]).mean().backward()
print(w.grad)  # tensor(7.5000), because each part was averaged over its own size only

# %% [markdown]
# ## q1 · Micro-batches that add up to the batch
#
# `accumulate(model, X, Y, micro)` should add to the `.grad` of the model's parameters exactly the gradient
# of the loss of the whole batch, `F.mse_loss(model(X), Y)`, while the graph never holds more than `micro`
# samples at the same time. `len(X)` need not be divisible by `micro`. Gradients that are there already stay
# part of the sum, as with `backward()`.
#
# With the code below the gradient is too large. Repair it.
#
# <details><summary>Hint 1</summary>
#
# Compare your gradient with the one of a single backward through the whole batch. What is the ratio?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The mean over a micro-batch divides by the size of the micro-batch, the mean over the batch by `len(X)`. The
# last micro-batch may be smaller than the others.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `(F.mse_loss(model(x), y) * len(x) / len(X)).backward()` for every micro-batch.
#
# </details>


# %% tags=["question q1"]
def accumulate(model, X, Y, micro):
    """Add the gradient of F.mse_loss(model(X), Y) to the .grad of the model's parameters.

    `X` has the shape (N, inputs), `Y` the shape (N, outputs). At most `micro` samples are in the graph at a
    time. Returns nothing.
    """
    for x, y in zip(X.split(micro), Y.split(micro)):
        # BEGIN SOLUTION
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()
        # STUB
        # F.mse_loss(model(x), y).backward()
        # END SOLUTION


# %% tags=["check q1"]
def test_gradient_of_the_batch(accumulate):
    """Micro-batches of 3, 3 and 1 samples add up to the gradient of the batch."""
    import torch

    model, X, Y = torch.nn.Linear(3, 2), torch.randn(7, 3), torch.randn(7, 2)
    (expected,) = torch.autograd.grad(torch.nn.functional.mse_loss(model(X), Y), [model.weight])
    accumulate(model, X, Y, 3)
    assert model.weight.grad is not None, "weight.grad is None: no backward has reached the model."
    ratio = float(model.weight.grad.norm() / expected.norm())
    assert torch.allclose(model.weight.grad, expected, atol=1e-5), (
        f"Your gradient differs from that of the whole batch; its norm is {ratio:.2f} times as large,\n"
        "so a model trained with it would take other steps."
    )


# %% [markdown]
# ## A number that remembers
#
# A sum of losses is a tensor like any other. It holds on to its history, and through it to the values that
# were saved for backward in every batch.

# %%
model = nn.Linear(2, 1)
total = 0.0
for _ in range(3):
    total += model(torch.randn(4, 2)).mean()
print(total.grad_fn)  # an AddBackward0, because the sum is attached to all three batches

# %% [markdown]
# ## q2 · The running loss that ate the memory
#
# `validation_loss(model, loader)` should return the loss of each batch, averaged over the batches, as a
# Python float. A loader can be iterated and has a length; a batch is a pair `(x, y)`. When a batch starts, at
# most one graph may still be alive, that of the batch just before it, and after the call none.
#
# The code below works on small sets. On large ones the memory grows until the kernel dies. Repair it.
#
# <details><summary>Hint 1</summary>
#
# What is `type(total)` after the loop, and what does `total.grad_fn` hold on to?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `total += loss` makes `total` the head of one graph which spans all batches.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `total += loss.item()`; and as nobody will ever call backward here, all of it under `torch.no_grad()`.
#
# </details>


# %% tags=["question q2"]
def validation_loss(model, loader):
    """Return the mean of F.mse_loss(model(x), y) over the batches (x, y) of the loader, as a float."""
    # BEGIN SOLUTION
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += F.mse_loss(model(x), y).item()
    # STUB
    # total = 0.0
    # for x, y in loader:
    #     loss = F.mse_loss(model(x), y)
    #     total += loss
    # END SOLUTION
    return total / len(loader)


# %% tags=["check q2"]
def test_a_plain_number(validation_loss):
    """The result is the mean of the losses, and a plain number."""
    import torch

    model = torch.nn.Linear(2, 1)
    loader = [(torch.randn(3, 2), torch.randn(3, 1)) for _ in range(4)]
    seen = validation_loss(model, loader)
    assert isinstance(seen, float), (
        f"You returned a {type(seen).__name__}, not a float: as long as it lives,\n"
        "so does everything that it remembers."
    )
    expected = sum(torch.nn.functional.mse_loss(model(x), y).item() for x, y in loader) / 4
    assert abs(seen - expected) < 1e-5, f"{seen:.4f} is not the mean of the losses of the four batches."


# %% [markdown]
# ## What backward wants to see again
#
# Some operations need a value of the forward pass in order to differentiate: the derivative of `y**2` is
# `2 * y`. Such values are *saved*, and must not be overwritten before backward.

# %%
y = torch.ones(2, requires_grad=True) + 1
print((y**2).grad_fn._saved_self)  # tensor([2., 2.], ...), because the derivative is made of y
print((y * 3).grad_fn._saved_self)  # None, because the derivative is 3, whatever y is

# %% [markdown]
# ## q3 · Which tensors does backward still need?
#
# `f(x)` returns a pair `(out, mid)`. `may_overwrite(f, x)` should tell whether `mid` may be overwritten in
# place after this forward pass without endangering the backward of `out`: `False` when backward needs the
# values of `mid`, `True` when it does not. For `out = y**2, mid = y` the answer is `False`; for `out = 3 * y,
# mid = y` it is `True`.
#
# The rule that the code below goes by, "only tensors that require grad matter", is wrong. Replace it.
#
# <details><summary>Hint 1</summary>
#
# What does `y**2` have to know in backward, and what does `3 * y`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Look at what is really saved: `torch.autograd.graph.saved_tensors_hooks` around the forward pass shows it
# to you. Or find out what autograd would say if somebody did write into `mid`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Compare memory, not objects: an output is saved as another tensor object, and a view shares the memory of
# its base. `tensor.untyped_storage().data_ptr()` is the address of the memory.
#
# </details>


# %% tags=["question q3"]
def may_overwrite(f, x):
    """Tell whether `mid` of (out, mid) = f(x) may be overwritten before out.backward().

    `x` is a float vector that requires grad. Returns a bool.
    """
    # BEGIN SOLUTION
    saved = set()

    def remember(tensor):
        saved.add(tensor.untyped_storage().data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
        out, mid = f(x)
    return mid.untyped_storage().data_ptr() not in saved
    # STUB
    # out, mid = f(x)
    # return not mid.requires_grad
    # END SOLUTION


# %% tags=["check q3"]
def test_square_and_multiple(may_overwrite):
    """The two examples of the task are answered as it says."""
    import torch

    def square(x):
        y = x + 1
        return y**2, y

    def multiple(x):
        y = x + 1
        return 3 * y, y

    x = torch.randn(3, requires_grad=True)
    assert not may_overwrite(square, x), (
        "For y**2 you allow y to be overwritten, but its derivative is 2 * y:\nbackward would raise."
    )
    assert may_overwrite(multiple, x), (
        "For 3 * y you forbid to overwrite y, but its derivative is 3, whatever y is:\n"
        "in-place operations that save memory would be given up for nothing."
    )


# %% [markdown]
# ## Memory for time
#
# `checkpoint(block, x)` runs a block without keeping what is inside, and runs it again when backward arrives
# there. Of its two implementations the older one, `use_reentrant=True`, has a blind spot.

# %%
block, x = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), torch.randn(1, 2)
print(block(x).requires_grad)  # True, because the weights of the block require grad
print(checkpoint(block, x, use_reentrant=True).requires_grad)  # False, because x does not require grad

# %% [markdown]
# ## q4 · Checkpointing without losing the gradient
#
# `forward_ckpt(blocks, x)` should apply the blocks one after the other with activation checkpointing: what
# is inside a block is computed again in backward instead of being kept. The gradients, those of the
# parameters and, where `x` requires grad, that of `x`, must equal those of the plain run, `for block in
# blocks: x = block(x)`. The blocks may contain dropout; its masks are those of the plain run, too. Less than
# half of the plain run's bytes may be saved for backward, and the caller's `x` stays as it is.
#
# With the code below, the result has no gradient when `x` itself does not require grad ("None of the inputs
# have requires_grad=True"). Repair it.
#
# <details><summary>Hint 1</summary>
#
# What does the reentrant implementation look at to decide whether there is anything to differentiate?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# It sees the arguments of the function, not the parameters inside it.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `checkpoint(block, x, use_reentrant=False)`
#
# </details>


# %% tags=["question q4"]
def forward_ckpt(blocks, x):
    """Apply the blocks to `x` one after the other, with activation checkpointing.

    `blocks` is a list of modules or an nn.ModuleList, `x` has the shape (samples, features). Returns the
    output of the last block.
    """
    for block in blocks:
        # BEGIN SOLUTION
        x = checkpoint(block, x, use_reentrant=False)
        # STUB
        # x = checkpoint(block, x, use_reentrant=True)
        # END SOLUTION
    return x


# %% tags=["check q4"]
def test_gradients_of_the_plain_run(forward_ckpt):
    """The blocks get the gradients of the plain run."""
    import torch

    first = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh())
    second = torch.nn.Sequential(torch.nn.Linear(8, 3), torch.nn.Tanh())
    x = torch.randn(5, 3)
    (expected,) = torch.autograd.grad(second(first(x)).sum(), [first[0].weight])
    out = forward_ckpt([first, second], x)
    assert out.requires_grad, (
        "The result has no graph: checkpoint saw no argument that requires grad,\n"
        "and took it that there is nothing to differentiate."
    )
    out.sum().backward()
    seen = first[0].weight.grad
    assert seen is not None and torch.allclose(seen, expected, atol=1e-5), (
        "The gradient of the first block is not that of the plain run."
    )


# %% [markdown]
# ## Autograd has to be told
#
# `forward` of a `torch.autograd.Function` runs unrecorded. Whatever it does to its arguments goes unnoticed,
# unless it says so. Built-in in-place operations do: the tensor itself gets a new history.

# %%
x = torch.ones(2, requires_grad=True) * 1
print(x.grad_fn)  # a MulBackward0
x.sigmoid_()
print(x.grad_fn)  # a SigmoidBackward0, because the same tensor now is the result of another operation

# %% [markdown]
# ## q5 · An in-place operation of your own: mark_dirty
#
# `y = Scale_.apply(x, k)` should multiply the tensor `x` in place by the number `k` and return `x` itself.
# `x` is not a leaf. Gradients have to be right for `y`, and for whoever goes on using `x` (which is the same
# thing).
#
# The code below changes the memory, but autograd does not know: whoever uses `x` afterwards gets a gradient
# that lacks the factor `k`. Repair it.
#
# <details><summary>Hint 1</summary>
#
# Print `x.grad_fn` before and after the call.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Autograd must be told that the input was changed and is the output.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `ctx.mark_dirty(x)` in `forward`, which returns `x`.
#
# </details>


# %% tags=["question q5"]
class Scale_(torch.autograd.Function):
    """Scale_.apply(x, k) multiplies the non-leaf tensor x in place by the number k, and returns x itself."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        # BEGIN SOLUTION
        x.mul_(k)
        ctx.mark_dirty(x)
        # STUB
        # x.mul_(k)
        # END SOLUTION
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


# %% tags=["check q5"]
def test_gradient_through_x(Scale_):
    """Whoever uses x after the call gets the gradient of the scaled x."""
    import torch

    a = torch.ones(2, requires_grad=True)
    x = a * 1
    Scale_.apply(x, 3.0)
    assert x.tolist() == [3.0, 3.0], f"x is {x.tolist()} after it was scaled in place by 3."
    x.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0], (
        f"Through x the gradient is {a.grad.tolist()}, though x is 3 * a now:\n"
        f"x.grad_fn is still {type(x.grad_fn).__name__}, so autograd does not know that x was changed."
    )
