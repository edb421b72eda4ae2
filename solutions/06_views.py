# %% [markdown]
# # 6. Views
#
# A *view* is a tensor without its own storage. It uses the storage of another tensor, its *base*: a row, a slice, the
# transpose. You make views all the time: `x[0]`, `x.t()`, `x.chunk(2)`. As long as nobody writes to it, a view behaves
# like any other tensor. A write through a view changes the base, and every other view that shows the same entries. In
# this notebook you will learn
#
# - which operations return a view and which return a copy;
# - how autograd differentiates a write to a part of a tensor;
# - which writes to views autograd refuses, and why silencing the error can make the gradient wrong;
# - what happens if you write to an expanded tensor;
# - which results you must not overwrite, because the operation that computed them has saved them.
#
# The code and the claims about PyTorch in this notebook were tested with torch 2.13.
#
# **Rules for all questions:**
#
# - No side effects. The caller's values, `.grad`, flags and hooks must be the same after the call.
# - Return a new tensor with its own storage, of the dtype of the argument.
# - If you backpropagate a loss of the result, every argument that requires grad must get the right gradient.
# - Full precision: a relative error of at most 1e-12 in float64, 1e-5 in float32.
# - Your function may also be called under `no_grad()`. Then its result may be connected to the graph or not. Leave the
#   gradient mode as it was.

# %%
import torch
from torch.nn import functional as F

# %% [markdown] tags=["claim S4.3", "claim S4.4", "claim S5.9"]
# ## A window into the memory of another tensor
#
# A view and its base share one memory and one version counter. A write in place changes the values in this memory, and
# the memory stays where it is. So a write through the view is a write to the base. Another view changes its values only
# where it shows the same entries. But it has the same counter: if an operation has saved one half of `base`, and you
# write to the other half, `backward()` raises an error all the same.

# %%
base = torch.zeros(2, 3)
row = base[0]
row += 1
print(base.tolist())  # [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], because row is the first row of base
print(base._version, row._version)  # 1 1, because both have one counter
print(row.data_ptr() == base.data_ptr())  # True, because row begins where base begins

# %% [markdown]
# Which operations give a view? Indexing with numbers and slices does, and so do `view`, `t`, `transpose`,
# `expand`, `squeeze`, `unbind`, `split`, `chunk`, `diagonal` and `detach`. Indexing with a mask or a list
# of numbers gives a copy. PyTorch's documentation has the whole list: [Tensor
# Views](https://docs.pytorch.org/docs/stable/tensor_view.html).
#
# And `reshape` and `contiguous`? **Guess first:** which of the three writes below reaches `a`?

# %%
a = torch.zeros(2, 3)
a.reshape(6)[0] = 1.0
a.t().reshape(6)[1] = 2.0
a[:1].contiguous()[0, 2] = 3.0
print(a.tolist())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `[[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]`. The first write and the third arrive, the second does not.
#
# `reshape` gives a view where it can, and a copy where the memory is not in the right order, as after
# `t()`. `contiguous` copies only what is not contiguous yet, and gives you the same tensor otherwise. So
# neither of them is a way to make a copy. `clone()` is.
#
# </details>

# %% [markdown] tags=["claim S4.27"]
# Now with gradients. Where the base is a computed tensor, a write through a view is recorded. It becomes
# a part of the function, and the base gets a new history:

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 1
h[0] = x[1] * x[2]
print(type(h.grad_fn).__name__)  # CopySlices, because a slice of h was replaced
h.sum().backward()
print(x.grad.tolist())  # [0.0, 4.0, 3.0], because h[0] is the product now, and x[0] has no part in it

# %% tags=["drawn"]
# After the write, `h` is what `CopySlices` made of the old `h` and of the product.
h = x * 1
h[0] = x[1] * x[2]
xray(h=h, x=x)

# %% [markdown] tags=["claim S4.17"]
# You will read that "PyTorch does not support most in-place operations". The picture shows the contrary:
# a write to a part of a computed tensor is an operation like others, with a backward of its own. PyTorch's
# documentation only discourages such writes: [Autograd mechanics, "In-place operations with
# autograd"](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd).
#
# You can draw such a picture of your own tensors, where the course's `grader` package is installed: take
# the two `#` away, and change what you like.

# %%
# from grader import xray
# xray(h=h, x=x)

# %% [markdown] tags=["claim S4.9", "claim S4.10"]
# You will also read that an assignment to a slice of a leaf succeeds, and that `backward()` then
# complains: "leaf variable has been moved into the graph interior". This is no longer true since torch
# 1.8. Today the write itself raises:

# %%
buffer = torch.zeros(3, requires_grad=True)
try:
    buffer[0] = 1.0
except RuntimeError as error:
    print(error)  # a view of a leaf Variable that requires grad is being used in an in-place operation.

# %% [markdown]
# ## q1 · Fill a buffer with results
#
# You have a function of a single sample, and you want its results for many samples in one tensor.
#
# Write `collect(f, xs)`. `f` takes a row of `xs`, and returns a tensor without dimensions. `collect` calls
# `f` once for each row, in order, and returns the results as one tensor of shape `(n,)`.
#
# - A loss of the result goes back to whatever `f` uses, such as the parameters of a network, and to `xs`.
# - `f` is ordinary Python: it may decide by the numbers it gets, and for some rows it may return a
#   constant, a tensor without a history. It writes to nothing, and its results are finite.
#
# For example, `collect(lambda x: x.sum() ** 2, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))` is `[9., 49.]`.
#
# The given code stops with an error.
#
# <details><summary>Hint 1</summary>
#
# The error speaks of a leaf that requires grad. Which tensor is that, and who has asked for its gradient?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A buffer for results is no parameter. What does the cell above with `CopySlices` tell about a write to a
# tensor that may be written to? Or do you need a buffer at all?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Either the same loop with a buffer that does not require grad when it is made, or a list of the results
# and `torch.stack`.
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
    """The results for three rows are 1, 4 and 9, and w gets the gradient [8, 10]."""
    import torch

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    xs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    try:
        result = collect(lambda x: (w * x).sum() ** 2, xs)
    except RuntimeError as error:
        raise AssertionError(f"collect stopped; torch says: {error}") from None
    assert isinstance(result, torch.Tensor), f"a {type(result).__name__} came back, not a tensor"
    assert result.tolist() == [1.0, 4.0, 9.0], f"the results are {result.tolist()}, not [1.0, 4.0, 9.0]"
    assert result.grad_fn is not None, "the result has no grad_fn: nothing leads from it back to w"
    result.sum().backward()
    assert w.grad is not None, "w.grad is None: the path from the result back to w has been cut"
    assert w.grad.tolist() == [8.0, 10.0], f"w.grad is {w.grad.tolist()}, not [8.0, 10.0]"


# %% [markdown] tags=["afterword q1"]
# A buffer for results needs no `requires_grad`: the writes give it a history. Next trap: a write through
# `.data` or `.detach()` fills the buffer, too, and gives it none.

# %% [markdown]
# So a buffer does not have to require grad to take part. It gets a history from what is written to it:

# %%
w = torch.ones(2, requires_grad=True)
out = torch.zeros(2)
out[0] = w.sum()
print(out.requires_grad, out.is_leaf)  # True False, because a recorded write has made it a computed tensor
out[1] = (w * w).sum()

# %% tags=["drawn"]
# A buffer after two writes: each is a `CopySlices`, and takes what the write before has left.
xray(out=out, w=w)

# %% [markdown]
# ## Several views at once
#
# `chunk`, `split` and `unbind` return several views in a single operation. Autograd keeps one node for
# all of them, and does not allow a recorded write to any of them:

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
# A common answer is to take slices: `h[..., :2]` is the only view of its operation, and may be written to.
# That is true. **Guess first:** what stands in `h` afterwards?

# %%
h = torch.ones(1, 4, requires_grad=True) * 1
left = h[..., :2]
left *= 2
print(h.tolist())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `[[2.0, 2.0, 1.0, 1.0]]`. No error, and the gradient that goes back from `left` is right. But `h` has changed,
# and every branch that reads `h` from now on gets other numbers.
#
# </details>
#
# There is even `h.unsafe_chunk(2, -1)`. It gives views, but autograd does not know that they are views. The
# write then raises nothing, and `h` changes without its version counter. Its name warns you: "unsafe".

# %% [markdown]
# ## q2 · The gated unit and chunk()
#
# Many language models have *gated linear units*: one half of the features decides how much of the other
# half goes on.
#
# Write `glu(h)`. It cuts `h` into two halves along the last dimension, `a` and `b`, and returns
# `a * sigmoid(b)`.
#
# - Both halves of `h` get the right gradient, even where an entry of `b` is -1000 or 1000: no gradient is
#   nan.
# - `h` stays as it is. Another branch of the network reads it afterwards.
#
# For example, `h = [2., 4., 0., 0.]` gives `[1., 2.]`, since the sigmoid of 0 is 0.5.
#
# The given code stops with an error where gradients are recorded. Where `h` is plain data, it overwrites
# `h` and says nothing.
#
# <details><summary>Hint 1</summary>
#
# Call the given function with `h = torch.ones(2, 4)`, which is plain data, and print `h` afterwards.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Whose memory does `a *= ...` write to? Every trick that allows this write also changes `h`. Which
# tensor may your function write to? Does it need to write at all?
#
# </details>


# %% tags=["question q2"]
def glu(h):
    """Multiply the first half of h by the sigmoid of its second half.

    Returns a new tensor of shape (..., c) and of the dtype of h; h stays as it is.
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
    """With gates of 0 the result is half of the first half; both halves get a gradient; plain data stays."""
    import torch

    h = torch.tensor([2.0, 4.0, 0.0, 0.0])
    glu(h)
    assert h.tolist() == [2.0, 4.0, 0.0, 0.0], f"h was [2, 4, 0, 0] and is {h.tolist()} after the call"
    x = torch.tensor([[2.0, 4.0, 0.0, 0.0]], requires_grad=True)
    try:
        result = glu(x * 1)
    except RuntimeError as error:
        raise AssertionError(f"glu stopped; torch says: {error}") from None
    assert result.tolist() == [[1.0, 2.0]], f"the result is {result.tolist()}, not [[1.0, 2.0]]"
    assert result.requires_grad, "the result does not require grad: nothing leads back to h"
    result.sum().backward()
    assert x.grad is not None, "h gets no gradient"
    assert x.grad.tolist() == [[0.5, 0.5, 0.5, 1.0]], f"h gets {x.grad.tolist()}, not [[0.5, 0.5, 0.5, 1.0]]"


# %% [markdown] tags=["afterword q2"]
# `a * gate` makes a new tensor, and `a *= gate` writes to the memory of `h`. Next trap: slices instead of
# chunks. Autograd allows a write to a slice, and `h` changes without an error.

# %% [markdown] tags=["claim S5.10"]
# ## A view is born in a mode
#
# A view that is made under `no_grad()` has no history. Autograd remembers how it was made. If you write to it while
# gradients are recorded, torch cannot tell what you mean: is the write a part of the function, or not? So it raises an
# error if the base or the new values require grad. (If neither does, there is nothing to record, and torch allows the
# write.)

# %%
h = torch.ones(2, 2, requires_grad=True) * 1
with torch.no_grad():
    tail = h[:, 1:]
try:
    tail /= 2
except RuntimeError as error:
    print(error)  # ... or both outside (if you want the inplace to be tracked).

# %% [markdown]
# The message offers two ways out: both lines under `no_grad()`, or both outside. The first way silences
# the error, but look what it does to the gradient.

# %%
x = torch.ones(2, 2, requires_grad=True)
h = x * 1
with torch.no_grad():
    h[:, 1:] /= 2
h.sum().backward()
print(h.tolist())  # [[1.0, 0.5], [1.0, 0.5]], because the write did happen
print(x.grad.tolist())  # [[1.0, 1.0], [1.0, 1.0]], because autograd knows nothing of the division

# %% tags=["drawn"]
# The division is not in the graph: for autograd, `h` still is `x * 1`.
h = x * 1
with torch.no_grad():
    h[:, 1:] /= 2
xray(h=h, x=x)

# %% [markdown]
# No error, and the gradient is wrong by a factor of 2. So ask what should be a constant, and let
# `no_grad()` (or `detach()`) stand around this alone. More about the mode: [Autograd mechanics, "Locally
# disabling gradient
# computation"](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).

# %% [markdown]
# ## q3 · A view born in no_grad
#
# Features have different scales. Write `scale_tail(h, k)`. It divides the columns of `h` from number `k` on
# (counted from 0) by their standard deviation `s`; the columns before stay. `s` is a single number,
# `tail.std()` of all entries of these columns. Nothing is added to it.
#
# - `s` is not 0, but it may be as small as 0.0001, also where the entries of the tail lie near 1.
# - In backward, `s` is a constant: the gradient of an entry of the tail is the gradient that arrives at
#   it, divided by `s`.
#
# For example, `h = [[7., 1.], [8., 3.], [9., 5.]]` and `k = 1` give `[[7., 0.5], [8., 1.5], [9., 2.5]]`,
# since the standard deviation of 1, 3 and 5 is 2.
#
# The given code stops with an error where gradients are recorded. Where `h` is plain data, it overwrites
# `h`.
#
# <details><summary>Hint 1</summary>
#
# Which lines stand under `no_grad()` in the given code? For which of them did its author want it?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The number `s` should be a constant, and the tail should not. So the measuring is not recorded, and the
# division is. And in whose memory should the divided columns stand?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Take `s` from the detached tail. Then put the result together from the head and the divided tail, with
# `torch.cat` along dimension 1.
#
# </details>


# %% tags=["question q3"]
def scale_tail(h, k):
    """Divide the columns from k on by their standard deviation, which counts as a constant.

    Returns a new tensor of the shape of h; h stays as it is.
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
    """The tail is divided by its standard deviation, and so is its gradient."""
    import torch

    x = torch.tensor([[7.0, 1.0, 3.0], [9.0, 5.0, 3.0]], requires_grad=True)
    s = x[:, 1:].detach().std().item()
    try:
        result = scale_tail(x * 1, 1)
    except RuntimeError as error:
        raise AssertionError(f"scale_tail stopped; torch says: {error}") from None
    assert abs(result[1, 1].item() - 5 / s) < 1e-5, f"5 divided by {s} became {result[1, 1].item()}"
    assert result[1, 0].item() == 9, f"the head held 9, and holds {result[1, 0].item()} in the result"
    result.sum().backward()
    assert x.grad is not None, "h gets no gradient"
    seen = x.grad[0].tolist()
    assert abs(seen[0] - 1) < 1e-5, f"the head gets the gradient {seen[0]}, not 1"
    assert abs(seen[1] - 1 / s) < 1e-5, (
        f"1 arrives at the first entry of the tail, and h gets {seen[1]}, not 1 / {s}"
    )


# %% [markdown] tags=["afterword q3"]
# What is measured is a constant, and what is divided is not: only the first belongs under `no_grad()`. Next
# trap: a write to a clone under `no_grad()`. It raises nothing, and the gradient lacks the factor.

# %% [markdown]
# ## Rows that are all the same memory
#
# `expand` makes a row look like many. It copies nothing: it sets the *stride*, the step from one row to
# the next, to 0.

# %%
b = torch.tensor([1.0, 2.0])
m = b.expand(3, -1)
print(m.shape, m.stride())  # torch.Size([3, 2]) (0, 1), because from row to row there are no steps in memory
print(m[0].data_ptr() == m[2].data_ptr())  # True, because all rows are one row

# %% [markdown]
# Torch refuses to write to the whole of it: "more than one element of the written-to tensor refers to a
# single memory location". **Guess first:** does it refuse to write to a single row, too?

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
# `m += 10` is refused. `m[0] += 10` is not: a single row has no element twice, and torch looks no
# further. Now all three rows hold `[11.0, 12.0]`, and so does `b`.
#
# </details>
#
# Broadcasting looks alike and is something else: `b + torch.zeros(3, 1)` gives three rows with memory
# of their own. The documentation of
# [`torch.Tensor.expand`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html) warns of
# such writes: copy first. The gradient finds its way through both steps:

# %% tags=["drawn"]
# Three rows, expanded from `row` and copied: in backward, `Expand` adds up over the rows.
row = torch.tensor([1.0, 2.0], requires_grad=True)
xray(m=row.expand(3, -1).clone(), row=row)

# %% [markdown]
# ## q4 · One memory cell, many rows
#
# A decoder starts every sequence of a batch from the same learned bias, and the first sequence gets a
# little more.
#
# Write `row_bias(b, n, bump)`. It returns a tensor of `n` rows. All are equal to `b`, but to the first
# row the number `bump` is added.
#
# - A loss of the result goes back to `b` through every row.
# - Each row of the result has memory of its own: a later write to one row changes neither the other rows
#   nor `b`. That holds for `n = 1`, too, and where `bump` is 0.
#
# For example, `b = [1., 2.]`, `n = 3` and `bump = 10.` give `[[11., 12.], [1., 2.], [1., 2.]]`.
#
# The given code adds `bump` to every row, and to the caller's `b`, without an error, unless `b` is a leaf
# that requires grad.
#
# <details><summary>Hint 1</summary>
#
# Print `b.expand(3, -1).stride()`. Then call the given function, and print `b`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# How many rows of memory are there when `bump` is added? Give each row memory of its own first, or add
# out of place. And which operations copy always, and which only if they have to?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `clone()` copies always. It makes a difference whether it stands before `expand` or behind it.
#
# </details>


# %% tags=["question q4"]
def row_bias(b, n, bump):
    """Return n rows equal to b, with bump added to the first.

    Returns a new tensor of shape (n, k) and of the dtype of b; b stays as it is.
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
    """Of three rows of [1, 2] only the first is bumped by 10, and each brings b its gradient."""
    import torch

    b = torch.tensor([1.0, 2.0])
    rows = row_bias(b, 3, 10.0).tolist()
    assert rows == [[11.0, 12.0], [1.0, 2.0], [1.0, 2.0]], f"the rows are {rows}"
    assert b.tolist() == [1.0, 2.0], f"the caller's b was [1, 2] and is {b.tolist()} after the call"
    b = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        rows = row_bias(b, 3, 10.0)
    except RuntimeError as error:
        raise AssertionError(f"row_bias stopped; torch says: {error}") from None
    assert rows.requires_grad, "the rows do not require grad: nothing leads back to b"
    rows.sum().backward()
    assert b.grad is not None, "b.grad is None: the path from the rows back to b has been cut"
    assert b.grad.tolist() == [3.0, 3.0], f"b.grad is {b.grad.tolist()} for three rows, not [3.0, 3.0]"


# %% [markdown] tags=["afterword q4"]
# Read from expanded rows, and copy them before you write. Next trap: `clone()` in the wrong place.
# `b.clone().expand(n, -1)` protects `b`, and all rows are still one.

# %% [markdown] tags=["claim S4.26"]
# ## What softmax keeps for itself
#
# You may have read that exactly two things forbid a write in place: a leaf that requires grad, and a
# value that backward needs. You have now met three more: several views at once, views that were made
# under `no_grad()`, expanded memory. (Inference tensors are a fourth; you meet them in the next
# notebook.) But you meet those two every day, and the second has a trap. *Which* values does backward
# need?

# %%
scores = torch.tensor([[0.0, 1.0, 2.0]], requires_grad=True)
a = scores.softmax(-1)
print(a.grad_fn._saved_result.data_ptr() == a.data_ptr())  # True, because softmax has saved its output

a[0, 0] = 0.0  # recorded, and counted
try:
    a.sum().backward()
except RuntimeError as error:
    print(str(error).partition(":")[0])  # ... has been modified by an inplace operation

# %% tags=["drawn"]
# After the write: softmax has saved its output, and the write has changed it.
xray(a=a, scores=scores)

# %% [markdown] tags=["claim S4.5", "claim S4.28"]
# Softmax saves its *output*: its derivative is made of the weights, not of the scores. So the weights may
# not be overwritten before backward has run. And `.data`?

# %%
kept = torch.tensor([[False, True, True]])
values = torch.tensor([[5.0, 1.0, 2.0]])


def gradient_of(a):
    (gradient,) = torch.autograd.grad((a * values).sum(), scores)
    return [round(entry, 3) for entry in gradient[0].tolist()]


a = scores.softmax(-1)
a.data[0, 0] = 0.0  # not recorded, not counted
print(gradient_of(a))  # [0.0, -0.141, 0.283], because softmax finds a 0 where its output was
print(gradient_of(scores.softmax(-1) * kept))  # [-0.142, -0.141, 0.283], because all scores count in the sum

# %% tags=["drawn"]
# Out of place: `Mul` makes a new tensor, and what softmax has saved stays as it was.
xray(weights=scores.softmax(-1) * kept, scores=scores)

# %% [markdown] tags=["claim S4.16", "claim S4.18"]
# "Modifying after use leads to an error" is wrong, then, and so is "no error means that the gradient is
# right". A write makes backward raise if it was counted, and a node had saved the old value. The gradient
# is right if the write was recorded, and no node had saved the old value.

# %% [markdown]
# ## q5 · Attention dropout on the softmax output
#
# Dropout on attention sets some weights to 0 *after* the softmax. The others keep their values, so a row
# no longer sums up to 1. (A causal mask is something else: it takes scores away *before* the softmax.)
#
# Write `drop_attention(scores, drop)`. It returns the softmax of `scores` over the last dimension, with 0
# wherever `drop` is true. Nothing is scaled or drawn.
#
# - The entries of `scores` lie between -20 and 20, and the last dimension has at least two.
# - `scores` gets the right gradient, also where `drop` is true: a dropped score still stands in the sum by
#   which softmax divides.
#
# For example, `scores = [[5., 5., 5., 5.]]` and `drop = [[True, False, False, False]]` give
# `[[0., 0.25, 0.25, 0.25]]`.
#
# The given code returns the right weights, and fails in backward.
#
# <details><summary>Hint 1</summary>
#
# Call the given function, and go back from the sum. The error tells which tensor was overwritten: whose
# output is it?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Softmax needs its output in backward. Hide the write from autograd, and it computes with zeros. So the
# zeros have to stand in other memory, and autograd has to see how they got there.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Out of place there are `masked_fill`, `torch.where` and the product with a mask. Or `clone()` before the
# write.
#
# </details>


# %% tags=["question q5"]
def drop_attention(scores, drop):
    """Return the softmax of scores over the last dimension, with 0 where drop is true.

    Returns a new tensor of the shape and dtype of scores; scores and drop stay as they are.
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
    """The dropped weight is 0, the others stay a third, and backward reaches all scores."""
    import torch

    weights = drop_attention(torch.zeros(1, 3), torch.tensor([[True, False, False]]))[0].tolist()
    assert weights[0] == 0, f"the dropped weight is {weights[0]}"
    assert abs(weights[1] - 1 / 3) < 1e-5, f"a weight that was not dropped was a third, and is {weights[1]}"
    scores = torch.zeros(1, 3, requires_grad=True)
    try:
        drop_attention(scores, torch.tensor([[True, False, False]])).sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"drop_attention or its backward stopped; torch says: {reason}") from None
    assert scores.grad is not None, "scores.grad is None: the path back to the scores has been cut"
    seen = scores.grad[0, 0].item()
    assert abs(seen + 2 / 9) < 1e-5, (
        f"the dropped score gets the gradient {seen}, not -0.2222: with it the other weights would fall"
    )


# %% [markdown] tags=["afterword q5"]
# Softmax needs its output until backward has run. The same holds for sigmoid, tanh, exp and relu. Next
# trap: a chain such as `scores.softmax(-1).masked_fill_(drop, 0.0)`. It looks as if it made a new tensor.

# %% [markdown]
# ## End task · Baskets and prices
#
# A basket holds `t` goods. Each good is `k` numbers; the last of them is its price. A small attention
# model weighs the goods, adds them up, and predicts how pleased the customer is.
#
# `train(model, batches, lr, epochs)` trains the model. `model` is an `nn.ModuleDict` of three `nn.Linear`
# layers: `embed` (from `k` to `c` numbers), `score` (`c` to 1) and `head` (`c` to 1). `batches` is a list
# of `(x, drop, y)`: `x` is `(n, t, k)`, for `n` baskets; `drop` is boolean, `(n, t)`; `y` is `(n,)`. `n`
# is at least 1 and `t` at least 2; both may differ from batch to batch. The tensors may be contiguous or
# not. In every epoch, each batch in turn makes one step:
#
# - All prices of the batch are divided by their standard deviation, the `std()` of all of them (never 0).
# - The goods become `h`, the tanh of `embed`, of shape `(n, t, c)`. The attention weights are the softmax
#   of `score(h)` over the goods of a basket. A weight is 0 where `drop` is true; the others keep their
#   values.
# - A basket is the sum of its `h`, each times its weight. `head` makes a prediction of it. The loss is the
#   mean of the squared errors.
# - `torch.optim.SGD` with the learning rate `lr` makes a step with the gradient of this loss, and of
#   nothing else, whatever stood in `.grad` before.
#
# `train` returns the losses of all steps, a list of Python floats. Nothing but the parameters and their
# `.grad` changes: the batches stay as they are. `train` is called where gradients are recorded.
#
# The given code stops in the first backward. If you only silence the error, it runs. But its losses are
# wrong, the attention learns something else, and the caller's prices have changed. Three bugs of this
# notebook are in it.


# %% tags=["question end"]
def train(model, batches, lr, epochs):
    """Train the model by SGD, one step for each batch in every epoch.

    Returns the loss of every step, a list of floats; the batches stay as they are.
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
    """The step runs, the loss and the new score.weight are right, and the prices stay as they are."""
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
        raise AssertionError(f"train stopped; torch says: {reason}") from None
    assert isinstance(losses, list), f"a {type(losses).__name__} came back, not a list"
    assert len(losses) == 1, f"{len(losses)} losses came back for a single step"
    assert abs(losses[0] - 2.2971) < 1e-3, f"the loss of the first step is {losses[0]}, not 2.2971"
    weight = [round(entry, 4) for entry in model["score"].weight[0].tolist()]
    assert abs(weight[0] - -0.9542) < 1e-3 and abs(weight[1] - 1.0039) < 1e-3, (
        f"after the first step score.weight is {weight}, not [-0.9542, 1.0039]"
    )
    prices = x[..., 1].tolist()
    assert prices == [[2.0, 4.0], [6.0, 8.0]], f"the caller's prices were [[2, 4], [6, 8]], and are {prices}"


# %% [markdown] tags=["afterword end"]
# The three bugs: prices that were a view of the caller's data; zeros written into what softmax had saved;
# and an expanded buffer, one row of memory for all baskets. Only one of them raised an error.

# %% [markdown]
# ## What to keep
#
# - A view does not have its own storage. A write through it changes the base, and every view that shows the same entries.
# - Where gradients are recorded, a write to a part of a computed tensor is a part of the function
#   (`CopySlices`). A buffer for results does not have to require grad: it gets a history from what is
#   written to it.
# - `reshape` and `contiguous` copy only if they have to. `clone()` copies always.
# - Autograd refuses recorded writes to views that one operation returned together, and to views that were made under
#   `no_grad()`. If you silence the error, look at the gradient and at the base: one of them may be wrong now.
# - `expand` makes many rows of one memory. A write to one of them is a write to all.
# - Softmax, sigmoid, tanh, exp and relu save their output. To change it, make a new tensor.
#
# In the next notebook, the question is when gradients are recorded at all.
