# %% [markdown]
# # 6. Views
#
# A *view* is a tensor without its own storage. It uses the storage of another tensor, its *base*: a row, a
# slice, the transpose. You create views all the time: `x[0]`, `x.t()`, `x.chunk(2)`. As long as nothing
# writes to it, a view behaves like any other tensor. A write through a view changes the base, and every other
# view of the same entries. In this notebook you will learn
#
# - which operations return a view and which return a copy;
# - how autograd differentiates a write to part of a tensor;
# - which writes to views autograd refuses, and why silencing the error can make the gradient wrong;
# - what happens if you write to an expanded tensor;
# - which results you must not overwrite, because the operation that computed them has saved them.
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
# - **Results.** All tensors and parameters of a call are float32, or all are float64. A tensor that you
#   return must have the same dtype and its own storage: it must not share storage with an argument or an
#   earlier result.
# - **Gradients.** Gradients must reach every input and every parameter that requires grad.
# - **`no_grad()`.** Your function may be called under `no_grad()`. Its results may then be connected to the
#   graph or not.

# %%
import torch
from torch.nn import functional as F

# %% [markdown] tags=["claim S4.3", "claim S4.4", "claim S5.9"]
# ## A window into the memory of another tensor
#
# A view and its base share one storage and one version counter. An in-place write changes the values in this
# storage, so a write through the view is a write to the base. Another view sees new values only if it shows
# the same entries. But all views share one counter. So if an operation saved one half of `base` and you write
# to the other half, `backward()` still raises an error.

# %%
base = torch.zeros(2, 3)
row = base[0]
row += 1
print(base.tolist())  # [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], because row is the first row of base
print(base._version, row._version)  # 1 1, because both share one counter
print(row.data_ptr() == base.data_ptr())  # True, because row begins where base begins

# %% [markdown]
# Which operations return a view? Indexing with numbers and slices does, and so do `view`, `t`, `transpose`,
# `expand`, `squeeze`, `unbind`, `split`, `chunk`, `diagonal` and `detach`. Indexing with a mask or a list of
# numbers returns a copy. PyTorch's documentation has the whole list: [Tensor
# Views](https://docs.pytorch.org/docs/stable/tensor_view.html).
#
# And `reshape` and `contiguous`? **Guess first:** which of the three writes below changes `a`?

# %%
a = torch.zeros(2, 3)
a.reshape(6)[0] = 1.0
a.t().reshape(6)[1] = 2.0
a[:1].contiguous()[0, 2] = 3.0
print(a.tolist())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `[[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]`. The first and the third write change `a`, and the second does not.
#
# `reshape` returns a view if it can, and a copy if the memory is not in the right order, as after `t()`.
# `contiguous` copies only a tensor that is not contiguous yet, and otherwise returns the same tensor. So
# don't use either of them to make a copy. Use `clone()`.
#
# </details>

# %% [markdown] tags=["claim S4.27"]
# Now with gradients. If the base is a non-leaf, autograd records a write through a view. The write becomes
# part of the function, and the base gets a new history: a new graph of the operations that computed it.

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 1
h[0] = x[1] * x[2]
print(type(h.grad_fn).__name__)  # CopySlices, because a slice of h was replaced
h.sum().backward()
print(x.grad.tolist())  # [0.0, 4.0, 3.0], because h[0] is now the product, which does not depend on x[0]

# %% tags=["drawn"]
# After the write, `h` is the result of `CopySlices`, which combines the old `h` and the product.
h = x * 1
h[0] = x[1] * x[2]
xray(h=h, x=x)

# %% [markdown] tags=["claim S4.17"]
# You may read that "PyTorch does not support most in-place operations". The picture shows the contrary: a
# write to part of a non-leaf is an operation like any other, with its own backward. PyTorch's documentation
# only discourages such writes: [Autograd mechanics, "In-place operations with
# autograd"](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd).
#
# You can draw such pictures yourself, of any tensor you have at hand, if the course's `grader` package is
# installed: remove the `#` below.

# %%
# from grader import xray
# xray(h=h, x=x)

# %% [markdown] tags=["claim S4.9", "claim S4.10"]
# You may also read that an assignment to a slice of a leaf succeeds, and that `backward()` then complains:
# "leaf variable has been moved into the graph interior". This has not been true since torch 1.8. Today the
# write itself raises an error:

# %%
buffer = torch.zeros(3, requires_grad=True)
try:
    buffer[0] = 1.0
except RuntimeError as error:
    print(error)  # a view of a leaf Variable that requires grad is being used in an in-place operation.

# %% [markdown]
# ## q1 · Fill a buffer with results
#
# You have a function of a single sample, and want its results for many samples in one tensor.
#
# Write `collect(f, xs)`:
#
# 1. Call `f` once for each row of `xs`, in order.
# 2. Return the results as one tensor of shape `(n,)`.
#
# `f` is Python code that returns a finite tensor of shape `()`, with the dtype of `xs`. It may branch on the
# values of a row, and it may return a constant that is not connected to the graph. It modifies nothing.
#
# The starter code raises an error. Fix it.
#
# **No side effects.** Leave `xs` and everything that `f` uses unchanged. Gradients must still reach both: if
# `f` is a network, for example, its parameters.
#
# **Example.** For `f = lambda x: x.sum() ** 2` and `xs = [[1., 2.], [3., 4.]]`, the result is `[9., 49.]`.
# The gradient of its sum with respect to `xs` is `[[6., 6.], [14., 14.]]`.
#
# <details><summary>Hint 1</summary>
#
# The error is about a leaf that requires grad. Which tensor is that, and which argument makes it require
# grad?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A buffer for results is not a parameter. The cell with `CopySlices` shows that autograd records a write to a
# tensor that you may write to. Or do you need a buffer at all?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Either keep the loop, and create a buffer that does not require grad. Or use a list of the results and
# `torch.stack`.
#
# </details>


# %% tags=["question q1"]
def collect(f, xs):
    """Return f of every row of xs as one tensor.

    Returns a tensor of shape (n,) through which all that f uses gets its gradient.
    """
    # BEGIN SOLUTION
    return torch.stack([f(x) for x in xs])
    # STUB
    # out = torch.zeros(len(xs), dtype=xs.dtype, requires_grad=True)
    # for i, x in enumerate(xs):
    #     out[i] = f(x)
    # return out
    # END SOLUTION


# %% tags=["check q1"]
def test_a_loss_of_the_results_reaches_w(collect):
    """The results are right, and `w` gets its gradient."""
    import torch

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    xs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    try:
        result = collect(lambda x: (w * x).sum() ** 2, xs)
    except RuntimeError as error:
        raise AssertionError(f"collect raised an error: {error}") from None
    assert isinstance(result, torch.Tensor), f"The result is a {type(result).__name__} instead of a tensor."
    assert result.tolist() == [1.0, 4.0, 9.0], (
        f"The results are {result.tolist()} instead of [1.0, 4.0, 9.0]."
    )
    assert result.grad_fn is not None, "The result has no grad_fn: it is not connected to w."
    result.sum().backward()
    assert w.grad is not None, "w.grad is None: the result is not connected to w."
    assert w.grad.tolist() == [8.0, 10.0], f"w.grad is {w.grad.tolist()} instead of [8.0, 10.0]."


# %% [markdown] tags=["afterword q1"]
# A buffer for results needs no `requires_grad`: recorded writes connect it to the graph. Next trap: a write
# through `.data` or `.detach()` fills the buffer, too, but does not connect it.

# %% [markdown]
# So a buffer does not have to require grad. The first recorded write connects it to the graph:

# %%
w = torch.ones(2, requires_grad=True)
out = torch.zeros(2)
out[0] = w.sum()
print(out.requires_grad, out.is_leaf)  # True False, because a recorded write made it a non-leaf
out[1] = (w * w).sum()

# %% tags=["drawn"]
# A buffer after two writes: each is a `CopySlices`, and its input is the result of the write before.
xray(out=out, w=w)

# %% [markdown]
# ## Several views at once
#
# `chunk`, `split` and `unbind` return several views in a single operation. Autograd has one node for all of
# them, and does not allow a recorded write to any of them:

# %%
x = torch.randn(2, 4, requires_grad=True)
h = x * 1
left, right = h.chunk(2, -1)
try:
    left *= 2
except RuntimeError as error:
    print(str(error).partition(".")[0])  # ... is a view and is being modified inplace

# %% tags=["drawn"]
# Two chunks of `x`: they come from a single node, `Split`.
left, right = x.chunk(2, -1)
xray(left=left, right=right, x=x)

# %% [markdown]
# A common answer is to take slices: `h[..., :2]` is the only view that its operation returns, so you may
# write to it. That is true. **Guess first:** what does `h` hold afterwards?

# %%
h = torch.ones(1, 4, requires_grad=True) * 1
left = h[..., :2]
left *= 2
print(h.tolist())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `[[2.0, 2.0, 1.0, 1.0]]`. There is no error, and the gradient that flows back through `left` is right. But
# `h` has changed, and every branch that reads `h` from now on gets other numbers.
#
# </details>
#
# There is even `h.unsafe_chunk(2, -1)`. It returns views, but autograd does not know that they are views. So
# the write raises no error, and it changes `h` but not its version counter. The name warns you: "unsafe".

# %% [markdown]
# ## q2 · The gated unit and chunk()
#
# Many language models have *gated linear units*: one half of the features scales the other half.
#
# Write `glu(h)`:
#
# 1. Split `h` along the last dimension into two halves, `a` and `b`.
# 2. Return `a * sigmoid(b)`.
#
# Both halves of `h` must get the right gradient. No gradient may be `nan`, even if an entry of `b` is -1000
# or 1000.
#
# If `h` requires grad and gradients are enabled, the starter code raises an error. Otherwise it overwrites
# `h`. Fix it.
#
# **No side effects.** Leave `h` unchanged: another branch of the network reads it afterwards.
#
# **Example.** For `h = [2., 4., 0., 0.]`, the result is `[1., 2.]`, since the sigmoid of 0 is 0.5. The
# gradient of its sum is `[0.5, 0.5, 0.5, 1.]`.
#
# <details><summary>Hint 1</summary>
#
# Call the starter code with `h = torch.ones(2, 4)`, which does not require grad, and print `h` afterwards.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `a *= ...` writes to the storage of `h`. So every trick that allows this write also changes `h`. Does your
# function need to write at all?
#
# </details>


# %% tags=["question q2"]
def glu(h):
    """Multiply the first half of h by the sigmoid of its second half.

    Returns a new tensor of shape (..., c) and of the dtype of h, and leaves h unchanged.
    """
    # BEGIN SOLUTION
    a, b = h.chunk(2, -1)
    return a * torch.sigmoid(b)
    # STUB
    # a, b = h.chunk(2, -1)
    # a *= torch.sigmoid(b)
    # return a
    # END SOLUTION


# %% tags=["check q2"]
def test_both_halves_are_reached_and_h_stays(glu):
    """Values and gradients are right; `h` is unchanged."""
    import torch

    h = torch.tensor([2.0, 4.0, 0.0, 0.0])
    glu(h)
    assert h.tolist() == [2.0, 4.0, 0.0, 0.0], (
        f"h was [2, 4, 0, 0] before the call and is now {h.tolist()}:\na write to a view of h is a write to "
        "h."
    )
    x = torch.tensor([[2.0, 4.0, 0.0, 0.0]], requires_grad=True)
    try:
        result = glu(x * 1)
    except RuntimeError as error:
        raise AssertionError(f"glu raised an error: {error}") from None
    assert result.tolist() == [[1.0, 2.0]], f"The result is {result.tolist()} instead of [[1.0, 2.0]]."
    assert result.requires_grad, "The result does not require grad: it is not connected to h."
    result.sum().backward()
    assert x.grad is not None, "h gets no gradient: the result is not connected to it."
    assert x.grad.tolist() == [[0.5, 0.5, 0.5, 1.0]], (
        f"The gradient of h is {x.grad.tolist()} instead of [[0.5, 0.5, 0.5, 1.0]]."
    )


# %% [markdown] tags=["afterword q2"]
# `a * gate` makes a new tensor, and `a *= gate` writes to the storage of `h`. Next trap: slices instead of
# chunks. Autograd allows a write to a slice, so `h` changes without an error.

# %% [markdown] tags=["claim S5.10"]
# ## A view remembers the mode it was made in
#
# A view that is made under `no_grad()` has no graph of its own, but autograd remembers how it was made. If
# you write to it while gradients are recorded, torch cannot know whether you want the write to be part of the
# function. So it raises an error if the base or the new values require grad. (If neither does, there is
# nothing to record, and torch allows the write.)

# %%
h = torch.ones(2, 2, requires_grad=True) * 1
with torch.no_grad():
    tail = h[:, 1:]
try:
    tail /= 2
except RuntimeError as error:
    print(error)  # ... or both outside (if you want the inplace to be tracked).

# %% [markdown]
# The message offers two ways out: both lines under `no_grad()`, or both outside. The first way silences the
# error, but look at the gradient.

# %%
x = torch.ones(2, 2, requires_grad=True)
h = x * 1
with torch.no_grad():
    h[:, 1:] /= 2
h.sum().backward()
print(h.tolist())  # [[1.0, 0.5], [1.0, 0.5]], because the write did happen
print(x.grad.tolist())  # [[1.0, 1.0], [1.0, 1.0]], because autograd did not record the division

# %% tags=["drawn"]
# The division is not in the graph: for autograd, `h` is still `x * 1`.
h = x * 1
with torch.no_grad():
    h[:, 1:] /= 2
xray(h=h, x=x)

# %% [markdown]
# There is no error, and the gradient is wrong by a factor of 2. So ask which value must be a constant, and
# put only the lines that compute it under `no_grad()`, or use `detach()`. Read more about the mode in
# [Autograd mechanics, "Locally disabling gradient
# computation"](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).

# %% [markdown]
# ## q3 · A view made under no_grad
#
# Features have different scales.
#
# Write `scale_tail(h, k)`:
#
# 1. The *tail* is `h[:, k:]`. Compute one number for the whole tail, its standard deviation `s = tail.std()`.
#    Don't add anything to `s`, such as an epsilon.
# 2. Return `h` with its tail divided by `s`. The other columns keep their values.
#
# For the gradient, `s` is a constant: the gradient of an entry of the tail is the incoming gradient divided
# by `s`.
#
# `s` is never 0, but may be as small as 0.0001, even if the entries of the tail are near 1.
#
# If `h` requires grad and gradients are enabled, the starter code raises an error. Otherwise it overwrites
# `h`. Fix it.
#
# **No side effects.** Leave `h` unchanged.
#
# **Example.** `h = [[7., 1.], [8., 3.], [9., 5.]]` and `k = 1` give `[[7., 0.5], [8., 1.5], [9., 2.5]]`,
# since the standard deviation of 1, 3 and 5 is 2. The gradient of its sum is 1 in the first column and 0.5 in
# the second.
#
# <details><summary>Hint 1</summary>
#
# Which lines of the starter code are under `no_grad()`? For which of them did its author want it?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The number `s` must be a constant, and the tail must not. So don't record how `s` is computed, but record
# the division. And the divided columns need their own storage.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Compute `s` from the detached tail. Then put the result together from the head and the divided tail, with
# `torch.cat` along dimension 1.
#
# </details>


# %% tags=["question q3"]
def scale_tail(h, k):
    """Divide the columns from k on by their standard deviation, which counts as a constant.

    Returns a new tensor of the shape of h, and leaves h unchanged.
    """
    # BEGIN SOLUTION
    s = h[:, k:].detach().std()
    return torch.cat([h[:, :k], h[:, k:] / s], 1)
    # STUB
    # with torch.no_grad():
    #     tail = h[:, k:]
    #     s = tail.std()
    # tail /= s
    # return h
    # END SOLUTION


# %% tags=["check q3"]
def test_the_division_is_recorded(scale_tail):
    """The tail and its gradient are divided by `s`."""
    import torch

    x = torch.tensor([[7.0, 1.0, 3.0], [9.0, 5.0, 3.0]], requires_grad=True)
    s = x[:, 1:].detach().std().item()
    try:
        result = scale_tail(x * 1, 1)
    except RuntimeError as error:
        raise AssertionError(f"scale_tail raised an error: {error}") from None
    assert abs(result[1, 1].item() - 5 / s) < 1e-5, (
        f"An entry of the tail is {result[1, 1].item()} instead of 5 / {s} = {5 / s}."
    )
    assert result[1, 0].item() == 9, (
        f"An entry before the tail was 9, but is {result[1, 0].item()} in the result."
    )
    result.sum().backward()
    assert x.grad is not None, "h gets no gradient: the result is not connected to it."
    seen = x.grad[0].tolist()
    assert abs(seen[0] - 1) < 1e-5, f"An entry before the tail gets the gradient {seen[0]} instead of 1."
    assert abs(seen[1] - 1 / s) < 1e-5, (
        f"The first entry of the tail gets the gradient {seen[1]} instead of 1 / {s}:\nautograd must record "
        "the division by a constant."
    )


# %% [markdown] tags=["afterword q3"]
# The measured number is a constant, and the divided columns are not: only the first belongs under
# `no_grad()`. Next trap: a write to a clone under `no_grad()`. It raises no error, and the gradient lacks the
# factor.

# %% [markdown]
# ## Rows that are all the same memory
#
# `expand` makes one row look like many. It copies nothing: it sets the *stride*, the step in memory from one
# row to the next, to 0.

# %%
b = torch.tensor([1.0, 2.0])
m = b.expand(3, -1)
print(m.shape, m.stride())  # torch.Size([3, 2]) (0, 1), because the step from row to row is 0
print(m[0].data_ptr() == m[2].data_ptr())  # True, because all rows are the same memory

# %% [markdown]
# Torch refuses to write to the whole of it: "more than one element of the written-to tensor refers to a
# single memory location". **Guess first:** does it also refuse to write to a single row?

# %%
try:
    m += 10
except RuntimeError as error:
    print(str(error).partition(".")[0])
m[0] += 10
print(m.tolist())
print(b.tolist())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `m += 10` raises an error. `m[0] += 10` does not: within a single row, no two elements share memory, and
# torch checks nothing else. Now all three rows hold `[11.0, 12.0]`, and so does `b`.
#
# </details>
#
# Broadcasting looks similar but is different: `b + torch.zeros(3, 1)` returns three rows that share no
# memory. The documentation of
# [`torch.Tensor.expand`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html) warns of
# writes to an expanded tensor: copy first. The gradient flows back through both steps:

# %% tags=["drawn"]
# Three rows, expanded from `row` and copied: in backward, `Expand` adds up the gradients of the rows.
row = torch.tensor([1.0, 2.0], requires_grad=True)
xray(m=row.expand(3, -1).clone(), row=row)

# %% [markdown]
# ## q4 · One memory cell, many rows
#
# A decoder starts every sequence of a batch from the same learned bias. The first sequence gets an extra
# amount.
#
# Write `row_bias(b, n, bump)`:
#
# 1. Return a tensor of `n` rows that are all equal to `b`, except that the number `bump` is added to the
#    first row.
# 2. A loss of the result must backpropagate to `b` through every row.
#
# No two rows may share memory: a later write to one row must change neither another row nor `b`. This must
# also hold if `n` is 1 or `bump` is 0.
#
# The starter code adds `bump` to every row, and to the caller's `b`. If `b` is a leaf that requires grad, it
# raises an error. Fix it.
#
# **No side effects.** Leave `b` unchanged.
#
# **Example.** `b = [1., 2.]`, `n = 3` and `bump = 10.` give `[[11., 12.], [1., 2.], [1., 2.]]`. The gradient
# of its sum with respect to `b` is `[3., 3.]`.
#
# <details><summary>Hint 1</summary>
#
# Print `b.expand(3, -1).stride()`. Then call the starter code, and print `b`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# When `bump` is added, there is only one row in memory. Give each row its own memory first, or add out of
# place. Some operations always copy, and others only if they have to.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `clone()` always copies. It matters whether you call it before `expand` or after it.
#
# </details>


# %% tags=["question q4"]
def row_bias(b, n, bump):
    """Return n rows equal to b, with bump added to the first.

    Returns a new tensor of shape (n, k) and of the dtype of b, and leaves b unchanged.
    """
    # BEGIN SOLUTION
    m = b.expand(n, -1).clone()
    m[0] += bump
    return m
    # STUB
    # m = b.expand(n, -1)
    # m[0] += bump
    # return m
    # END SOLUTION


# %% tags=["check q4"]
def test_three_rows(row_bias):
    """Only the first row is bumped; `b` is unchanged."""
    import torch

    b = torch.tensor([1.0, 2.0])
    rows = row_bias(b, 3, 10.0).tolist()
    assert rows == [[11.0, 12.0], [1.0, 2.0], [1.0, 2.0]], (
        f"The rows are {rows} instead of [[11, 12], [1, 2], [1, 2]]."
    )
    assert b.tolist() == [1.0, 2.0], (
        f"The caller's b was [1, 2] before the call and is now {b.tolist()}:\na write to an expanded row is "
        "a write to b."
    )
    b = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        rows = row_bias(b, 3, 10.0)
    except RuntimeError as error:
        raise AssertionError(f"row_bias raised an error: {error}") from None
    assert rows.requires_grad, "The rows do not require grad: they are not connected to b."
    rows.sum().backward()
    assert b.grad is not None, "b.grad is None: the rows are not connected to b."
    assert b.grad.tolist() == [3.0, 3.0], (
        f"For three rows, b.grad is {b.grad.tolist()} instead of [3.0, 3.0]."
    )


# %% [markdown] tags=["afterword q4"]
# Read from expanded rows, but copy them before you write. Next trap: `clone()` in the wrong place.
# `b.clone().expand(n, -1)` protects `b`, but all rows are still the same memory.

# %% [markdown] tags=["claim S4.26"]
# ## What softmax saves for backward
#
# You may have read that exactly two things forbid an in-place write: a leaf that requires grad, and a value
# that backward needs. You have now met three more: several views at once, views that were made under
# `no_grad()`, and expanded tensors. (Inference tensors are a fourth; you meet them in the next notebook.) But
# you meet the first two every day, and the second has a trap. *Which* values does backward need?

# %%
scores = torch.tensor([[0.0, 1.0, 2.0]], requires_grad=True)
a = scores.softmax(-1)
print(a.grad_fn._saved_result.data_ptr() == a.data_ptr())  # True, because softmax saved its output

a[0, 0] = 0.0  # recorded, and counted
try:
    a.sum().backward()
except RuntimeError as error:
    print(str(error).partition(":")[0])  # ... has been modified by an inplace operation

# %% tags=["drawn"]
# After the write: softmax saved its output, and the write changed it.
xray(a=a, scores=scores)

# %% [markdown] tags=["claim S4.5", "claim S4.28"]
# Softmax saves its *output*: its derivative is computed from the weights, not from the scores. So you must
# not overwrite the weights before backward has run. And through `.data`?

# %%
kept = torch.tensor([[False, True, True]])
values = torch.tensor([[5.0, 1.0, 2.0]])


def gradient_of(a):
    (gradient,) = torch.autograd.grad((a * values).sum(), scores)
    return [round(entry, 3) for entry in gradient[0].tolist()]


a = scores.softmax(-1)
a.data[0, 0] = 0.0  # not recorded, not counted
print(gradient_of(a))  # [0.0, -0.141, 0.283], because softmax finds a 0 instead of its output
print(gradient_of(scores.softmax(-1) * kept))  # [-0.142, -0.141, 0.283], because all scores are in the sum

# %% tags=["drawn"]
# Out of place: `Mul` makes a new tensor, and the output that softmax saved is unchanged.
xray(weights=scores.softmax(-1) * kept, scores=scores)

# %% [markdown] tags=["claim S4.16", "claim S4.18"]
# So "modifying after use leads to an error" is wrong, and "no error means that the gradient is right" is
# wrong, too. After a write, backward raises an error if the write was counted and a node had saved the old
# value. The gradient is right if the write was recorded and no node had saved the old value.

# %% [markdown]
# ## q5 · Attention dropout on the softmax output
#
# Dropout on attention sets some weights to 0 *after* the softmax. The others keep their values, so a row no
# longer sums to 1. (A causal mask is different: it removes scores *before* the softmax.)
#
# Write `drop_attention(scores, drop)`:
#
# 1. Compute the softmax of `scores` over the last dimension.
# 2. Return it with 0 wherever `drop` is true. Scale nothing, and draw no random numbers.
#
# `scores` must get the right gradient, even where `drop` is true: softmax divides by a sum that includes the
# dropped scores. All scores are between -20 and 20, and each row has at least two scores.
#
# The starter code returns the right weights, but fails in backward. Fix it.
#
# **No side effects.** Leave `scores` and `drop` unchanged.
#
# **Example.** `scores = [[5., 5., 5., 5.]]` and `drop = [[True, False, False, False]]` give
# `[[0., 0.25, 0.25, 0.25]]`. The gradient of its sum is `[[-0.1875, 0.0625, 0.0625, 0.0625]]`.
#
# <details><summary>Hint 1</summary>
#
# Call the starter code, and backpropagate from the sum. The error names the operation whose output was
# overwritten.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Softmax needs its output in backward. If you hide the write from autograd, softmax computes with zeros. So
# put the zeros into other storage, and let autograd record how they got there.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Three ways to do this out of place are `masked_fill`, `torch.where`, and multiplication by a mask. Or call
# `clone()` before the write.
#
# </details>


# %% tags=["question q5"]
def drop_attention(scores, drop):
    """Return the softmax of scores over the last dimension, with 0 where drop is true.

    Returns a new tensor of the shape and dtype of scores, and leaves scores and drop unchanged.
    """
    # BEGIN SOLUTION
    return scores.softmax(-1).masked_fill(drop, 0.0)
    # STUB
    # a = scores.softmax(-1)
    # a[drop] = 0.0
    # return a
    # END SOLUTION


# %% tags=["check q5"]
def test_one_of_three_weights_is_dropped(drop_attention):
    """One weight is dropped; all scores get gradients."""
    import torch

    weights = drop_attention(torch.zeros(1, 3), torch.tensor([[True, False, False]]))[0].tolist()
    assert weights[0] == 0, f"The dropped weight is {weights[0]} instead of 0."
    assert abs(weights[1] - 1 / 3) < 1e-5, f"A weight that was not dropped is {weights[1]} instead of 1 / 3."
    scores = torch.zeros(1, 3, requires_grad=True)
    try:
        drop_attention(scores, torch.tensor([[True, False, False]])).sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"drop_attention or its backward raised an error: {reason}") from None
    assert scores.grad is not None, "scores.grad is None: the result is not connected to the scores."
    seen = scores.grad[0, 0].item()
    assert abs(seen + 2 / 9) < 1e-5, (
        f"The dropped score gets the gradient {seen} instead of -0.2222:\nits score is part of the sum by "
        "which softmax divides."
    )


# %% [markdown] tags=["afterword q5"]
# Softmax needs its output until backward has run. So do sigmoid, tanh, exp and relu. Next trap: a chain such
# as `scores.softmax(-1).masked_fill_(drop, 0.0)`. It only looks as if it made a new tensor.

# %% [markdown]
# ## Bonus task · Baskets and prices
#
# A basket holds `t` goods. Each good is a vector of `k` numbers, the last of which is its price. A small
# attention model predicts how pleased a customer is with a basket.
#
# `model` is an `nn.ModuleDict` of three `nn.Linear` layers: `embed` (from `k` to `c` numbers), `score` (`c`
# to 1) and `head` (`c` to 1). `batches` is a list of `(x, drop, y)` for `n` baskets: `x` is `(n, t, k)`,
# `drop` is boolean, `(n, t)`, and `y` is `(n,)`. `n` is at least 1 and `t` at least 2; both may differ from
# batch to batch. All tensors are float32, and may be non-contiguous.
#
# Write `train(model, batches, lr, epochs)`. In every epoch, for each batch in turn:
#
# 1. Divide all prices of the batch by their standard deviation, the `std()` of all of them, which is never 0.
# 2. Compute `h`, the tanh of `embed`, of shape `(n, t, c)`. The attention weights are the softmax of
#    `score(h)` over the goods of a basket. Set a weight to 0 where `drop` is true; the others keep their
#    values.
# 3. Add up the rows of `h` of a basket, each times its weight. From this sum, `head` makes the prediction.
#    The loss is the mean of the squared errors.
# 4. Make one step of `torch.optim.SGD` with the learning rate `lr` and the gradient of this loss only,
#    whatever `.grad` held before.
#
# Return the losses of all steps, a list of Python floats. `train` is not called under `no_grad()`.
#
# The starter code has three of the bugs that this notebook is about. It raises an error in the first
# backward. If you only silence the error, its losses and gradients are wrong, and it changes the caller's
# prices. There is no hint.
#
# **No side effects.** Change only the parameters and their `.grad`, where you may leave anything.
#
# **Example.** All parameters are 0, except the weight 1 of `head`, with `k = 2` and `c = 1`. For the batch
# `x = [[[1., 2.], [0., 4.]]]`, `drop = [[True, False]]` and `y = [1.]`, `lr = 0.5` and one epoch, the loss is
# `[1.0]`, and the weight of `embed` becomes `[[0., 1.4142]]`.


# %% tags=["question end"]
def train(model, batches, lr, epochs):
    """Train the model by SGD, one step for each batch in every epoch.

    Returns the loss of every step, a list of floats, and leaves the batches unchanged.
    """
    # BEGIN SOLUTION
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        for goods, drop, y in batches:
            x = goods.clone()
            prices = x[..., -1]
            prices /= prices.std()
            h = torch.tanh(model["embed"](x))
            weights = model["score"](h).squeeze(-1).softmax(-1).masked_fill(drop, 0.0)
            pooled = torch.zeros(len(x), h.shape[-1])
            for i in range(len(x)):
                pooled[i] = weights[i] @ h[i]
            prediction = model["head"](pooled).squeeze(-1)
            loss = ((prediction - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
    # STUB
    # optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    # losses = []
    # for _ in range(epochs):
    #     for x, drop, y in batches:
    #         prices = x[..., -1]
    #         prices /= prices.std()
    #         h = torch.tanh(model["embed"](x))
    #         weights = model["score"](h).squeeze(-1).softmax(-1)
    #         weights[drop] = 0.0
    #         pooled = torch.zeros(1, h.shape[-1]).expand(len(x), -1)
    #         for i in range(len(x)):
    #             pooled[i] = weights[i] @ h[i]
    #         prediction = model["head"](pooled).squeeze(-1)
    #         loss = ((prediction - y) ** 2).mean()
    #         optimizer.zero_grad()
    #         loss.backward()
    #         optimizer.step()
    #         losses.append(loss.item())
    # return losses
    # END SOLUTION


# %% tags=["check end"]
def test_one_step_for_two_baskets(train):
    """The first step is right; prices are unchanged."""
    import torch
    from torch import nn

    model = nn.ModuleDict({"embed": nn.Linear(2, 2), "score": nn.Linear(2, 1), "head": nn.Linear(2, 1)})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter))
    x = torch.tensor([[[1.0, 2.0], [0.0, 4.0]], [[-1.0, 6.0], [2.0, 8.0]]])
    drop = torch.tensor([[True, False], [False, False]])
    try:
        losses = train(model, [(x, drop, torch.tensor([1.0, -1.0]))], 0.5, 1)
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"Training raised an error: {reason}") from None
    assert isinstance(losses, list), f"The result is a {type(losses).__name__} instead of a list."
    assert len(losses) == 1, f"The list has {len(losses)} losses for a single step."
    assert abs(losses[0] - 2.2971) < 1e-3, f"The loss of the first step is {losses[0]} instead of 2.2971."
    weight = [round(entry, 4) for entry in model["score"].weight[0].tolist()]
    assert abs(weight[0] - -0.9542) < 1e-3 and abs(weight[1] - 1.0039) < 1e-3, (
        f"After the first step, score.weight is {weight} instead of [-0.9542, 1.0039]."
    )
    prices = x[..., 1].tolist()
    assert prices == [[2.0, 4.0], [6.0, 8.0]], (
        f"The caller's prices were [[2, 4], [6, 8]] before the call and are now {prices}."
    )


# %% [markdown] tags=["afterword end"]
# The three bugs: prices that were a view of the caller's data; zeros written into the output that softmax
# saved; and an expanded buffer, the same memory for all baskets. Only one of them raised an error.

# %% [markdown]
# ## What to remember
#
# - A view does not have its own storage. A write through it changes the base, and every view of the same
#   entries.
# - While gradients are recorded, a write to part of a non-leaf is part of the function (`CopySlices`). A
#   buffer for results does not have to require grad: a recorded write connects it to the graph.
# - `reshape` and `contiguous` copy only if they have to. `clone()` always copies.
# - Autograd refuses recorded writes to views that one operation returned together, and to views that were
#   made under `no_grad()`. If you silence the error, look at the gradient and at the base: one of them may be
#   wrong now.
# - `expand` shows the same memory as many rows. A write to one of them is a write to all.
# - Softmax, sigmoid, tanh, exp and relu save their output. To change it, make a new tensor.
#
# In the next notebook, the question is when gradients are recorded at all.
