# %% [markdown]
# # 8. Functions and hooks of your own
#
# In the first seven notebooks you used the operations that PyTorch provides. In this last notebook you write your own. You
# will learn
#
# - how to write an operation with its own backward, a `torch.autograd.Function`, also one that works in place;
# - how to change a gradient with a hook, and when you need a Function instead;
# - how to differentiate a gradient: penalties, meta-learning, Hessian-vector products;
# - how to compute a gradient for each sample.
#
# A built-in operation keeps some promises for you. Now *you* have to keep them, and autograd does not check most of them.
# If you break one, you often get a wrong gradient and no error.
#
# The code and the claims about PyTorch in this notebook were tested with torch 2.13. Where they differ from what you may
# have read, the text says so.
#
# **Rules for all questions:**
#
# - No side effects, unless the task says otherwise. The caller's values, `.grad`, flags, hooks and modes must be the same
#   after the call.
# - Don't overwrite the gradient that your `backward` or your hook receives, or one that it returned earlier. Other
#   code may hold the same tensor.
# - Your function is called while gradients are recorded.
# - Results and gradients must have the dtype of the argument.
# - Full precision: a relative error of at most 1e-12 in float64, 1e-5 in float32.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown]
# ## A Function is two recipes
#
# A subclass of `torch.autograd.Function` holds two recipes. `forward(ctx, ...)` computes the values. Autograd
# does not record what happens inside it. `backward(ctx, gradient)` gets the gradient of the output and returns
# the gradient of each input. You never call the two yourself: `Name.apply(...)` runs `forward` and, if gradients are
# recorded and an input requires grad, adds a new node to the graph. `backward()` reaches this node later, and calls your
# `backward`.


# %%
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        print(y.requires_grad)  # False, because autograd records nothing inside forward
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return gradient * y


x = torch.tensor([0.0, 1.0], requires_grad=True)
y = Exp.apply(x)
print(y.requires_grad)  # True, because apply() put the node ExpBackward behind y
print(y.grad_fn.next_functions[0][0].variable is x)  # True, because the node leads on to the leaf x

# %% tags=["drawn"]
# The graph of `Exp`. All that happens inside `forward` is a single node, and `x` is right behind it.
xray(loss=y.sum(), x=x)

# %% [markdown]
# You can draw such a picture of your own tensors, where the course's `grader` package is installed: take the two
# `#` away, and change what you like.

# %%
# from grader import xray
# xray(y=y, x=x)

# %% [markdown]
# `ctx` carries what `backward` will need. There are two places for it, and they look alike: an attribute of
# `ctx`, and `ctx.save_for_backward`. Keep numbers, shapes and flags in attributes. Keep tensors in
# `save_for_backward`. The next cell keeps the same tensor in both places, overwrites it, and looks at both again.
#
# **Guess first:** what stands in `ctx.h` when `backward` runs? And what does `ctx.saved_tensors` give?


# %%
class KeepTwice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        ctx.h = h
        ctx.save_for_backward(h)
        return h * h

    @staticmethod
    def backward(ctx, gradient):
        print(ctx.h.tolist())
        try:
            ctx.saved_tensors
        except RuntimeError as error:
            print(str(error).partition(":")[0])
        return gradient * 0


x = torch.tensor([3.0, 4.0], requires_grad=True)
h = x * 1
y = KeepTwice.apply(h)
h.detach().zero_()
y.sum().backward()

# %% [markdown] tags=["claim S4.4", "claim S4.18", "claim S4.28"]
# <details><summary>What you should have seen</summary>
#
# `[0.0, 0.0]`, and then `one of the variables needed for gradient computation has been modified by an inplace
# operation`. The attribute is an ordinary Python reference. It shows what stands in memory now.
# `save_for_backward` also notes the version of the tensor, and `ctx.saved_tensors` compares it with `h._version`.
#
# Neither place keeps a copy, so the old values are lost.
#
# </details>
#
# You may have read: "If there is no error, the gradient is right." That was never true. A tensor in an attribute
# of `ctx` is a short way to a wrong gradient without an error.
#
# PyTorch's documentation tells what a Function has to do, in [Extending
# PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html), and what changes when its gradient is
# differentiated again, in [Double Backward with Custom
# Functions](https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html).

# %% [markdown]
# ## q1 · save_for_backward is a safety belt
#
# Write the class `Square`, a `torch.autograd.Function`. `Square.apply(x)` returns a new tensor with the values
# `x * x`. You need such a class whenever you know a derivative better than autograd does.
#
# - The gradient is that of `x * x`. Autograd can differentiate it again (`create_graph=True`), with respect to `x`
#   and to the gradient that came in.
# - If `x` is overwritten in place before backward, autograd stops it with its own `RuntimeError`, as for `x * x`: for
#   every write that `x._version` counts.
# - If the *result* is overwritten, backward works all the same.
#
# For example, `x = [-1., 2.]` gives `[1., 4.]`, and the gradient of the sum is `[-2., 4.]`.
#
# The given class is right as long as nothing is overwritten. After a write to `x`, its gradient is silently that of the
# new values.
#
# <details><summary>Hint 1</summary>
#
# Where does the given class keep `x`? What did the last cell say about this place?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# An attribute of `ctx` is not checked. Think about which of the two tensors, `x` or the result, the derivative
# needs, and hand this one to autograd. `backward` should compute with the very tensor that autograd gives back:
# a detached copy has no history, so it has no second derivative.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `ctx.save_for_backward(...)` in `forward` is one half. The class `Exp` above shows the other half.
#
# </details>


# %% tags=["question q1"]
class Square(torch.autograd.Function):
    """x * x, as an operation of your own.

    Square.apply(x): x is a float tensor of any shape; returns a new tensor of the same shape and dtype.
    """

    # BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient

    # STUB
    # @staticmethod
    # def forward(ctx, x):
    #     ctx.x = x
    #     return x * x
    #
    # @staticmethod
    # def backward(ctx, gradient):
    #     return 2 * ctx.x * gradient
    # END SOLUTION


# %% tags=["check q1"]
def test_square(Square):
    """The gradient at -1 and 2 is -2 and 4, and a write to x before backward raises an error."""
    import torch

    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    Square.apply(x).sum().backward()
    assert x.grad is not None, "x.grad is None: nothing leads from the result back to x"
    assert x.grad.tolist() == [-2.0, 4.0], f"the gradient at -1 and 2 is {x.grad.tolist()}"

    leaf = torch.tensor([-1.0, 2.0], requires_grad=True)
    x = leaf * 1
    y = Square.apply(x).sum()
    x.detach().zero_()
    try:
        y.backward()
    except RuntimeError:
        return
    message = f"x was overwritten, backward raised nothing, and the gradient is {leaf.grad}"
    raise AssertionError(message)


# %% [markdown] tags=["afterword q1"]
# Autograd can only check what it is told about. It compares the version of a tensor that you gave to
# `save_for_backward`. It never sees an attribute of `ctx`, a global name or a variable of a closure.


# %% [markdown] tags=["claim S4.17", "claim S4.27"]
# ## Writing in place, and saying so
#
# You may have read that autograd "does not support most in-place operations". It does. After `x.mul_(3)` on a
# computed tensor, `x` counts as the result of the multiplication. Its `grad_fn` has changed.

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
x = a + 1
print(x.grad_fn.name())  # AddBackward0, because x is the result of the addition
x.mul_(3.0)
print(x.grad_fn.name())  # MulBackward0, because x is now the result of the multiplication
x.sum().backward()
print(a.grad.tolist())  # [3.0, 3.0], because the way back leads through the multiplication

# %% tags=["drawn"]
# `x` after a built-in in-place operation: `x` is the result of the multiplication, and behind it stands the addition.
x = a + 1
x.mul_(3.0)
xray(x=x, a=a)

# %% [markdown]
# In a Function of your own, you have to say it.
# [`ctx.mark_dirty(x)`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.mark_dirty.html)
# tells autograd that `forward` has overwritten its input `x`. Then `forward` also has to return `x`. The next
# cell forgets to mark.
#
# **Guess first:** `Double_` writes in place and marks nothing. What do the last two lines print?


# %%
class Double_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


a = torch.ones(2, requires_grad=True)
x = a + 1
y = Double_.apply(x)
print(x.tolist(), y.tolist(), y is x)
print(x.grad_fn.name(), y.grad_fn.name())

# %% [markdown] tags=["claim S4.11", "claim S5.15"]
# <details><summary>What you should have seen</summary>
#
# `[4.0, 4.0] [4.0, 4.0] False`, and then `AddBackward0 Double_Backward`. The memory of `x` holds the new values,
# but for autograd `x` is still the sum `a + 1`. Only `y`, another object, knows about the doubling.
#
# </details>
#
# Do not mark a leaf that requires grad. You may not write to it at all while gradients are recorded. Torch says so
# in old words: "a leaf Variable that requires grad has been used in an in-place operation". Before torch 0.4, a *Variable*
# was a wrapper around a tensor: tensors knew nothing of autograd, and it recorded operations on Variables only. Since then
# every tensor can do what a Variable could.

# %% [markdown]
# ## q2 · An in-place operation of your own: mark_dirty
#
# Write the class `Scale_`, a `torch.autograd.Function`. `Scale_.apply(x, k)` multiplies `x` in place by `k`, and returns
# `x` itself. `x` is no view.
#
# - Afterwards `x` is the same object in the same memory, and holds the new values.
# - The gradient is right, whether you go on with the result or with the old name `x`, also after several calls with
#   different numbers `k`.
# - A loss from before the call that needs the *old* values of `x`, such as `(x ** 2).sum()`, raises autograd's
#   `RuntimeError` about an overwritten value when it goes back. (With `k = 1` it may raise or not.)
#
# For example, `x = [1., 2.]` and `k = 3.` make `x = [3., 6.]`, and the gradient through `x` has the factor 3.
#
# The given class does not tell autograd: through `x`, the factor `k` is missing.
#
# <details><summary>Hint 1</summary>
#
# Print `x.grad_fn` before and after the call, and `Scale_.apply(x, k) is x`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Tell autograd that the input was changed, and return it. There is a method of `ctx` for that. `backward` is right
# as it is: it returns an entry for each input of `forward`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The section above names the method. Give it the tensor that you write to and return.
#
# </details>


# %% tags=["question q2"]
class Scale_(torch.autograd.Function):
    """Multiply a tensor in place by a number.

    Scale_.apply(x, k): x is a computed float tensor of any shape, k a float; returns x itself.
    """

    # BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.mul_(k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.k, None

    # STUB
    # @staticmethod
    # def forward(ctx, x, k):
    #     ctx.k = k
    #     x.mul_(k)
    #     return x
    #
    # @staticmethod
    # def backward(ctx, gradient):
    #     return gradient * ctx.k, None
    # END SOLUTION


# %% tags=["check q2"]
def test_scale(Scale_):
    """x holds the new values, x itself comes back, and the gradient through x has the factor k."""
    import torch

    a = torch.ones(2, requires_grad=True)
    x = a * 1
    y = Scale_.apply(x, 3.0)
    assert x.tolist() == [3.0, 3.0], f"x was 1 everywhere, k is 3, and now x holds {x.tolist()}"
    assert y is x, "another object than x came back: autograd does not know that x was changed"
    x.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0], f"k is 3, and through x the gradient is {a.grad.tolist()}"


# %% [markdown] tags=["afterword q2"]
# `mark_dirty` does two things: the version of `x` moves, and `x` is now the result of your Function. So there is a
# single `x` again, in memory and in the graph.


# %% [markdown] tags=["claim S5.3"]
# ## A gradient is a tensor, too
#
# [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html) returns gradients
# and leaves the `.grad` of every leaf unchanged. What it returns has no history, unless you ask for it: with
# `create_graph=True` autograd also records the backward pass. Then you can compute with the gradient, and backpropagate
# through all of it.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)

(plain,) = torch.autograd.grad((x**3).sum(), x)
print(plain.tolist(), plain.grad_fn)  # [3.0, 12.0] None, because backward itself was not recorded

(recorded,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
print(recorded.requires_grad)  # True, because backward was recorded, too
recorded.sum().backward()
print(x.grad.tolist())  # [6.0, 12.0], because the gradient of 3 x**2 is 6 x

# %% tags=["drawn"]
# A gradient with a history: autograd has recorded how backward computed `3 * x ** 2`. So the way leads on to `x`.
xray(gradient=torch.autograd.grad((x**3).sum(), x, create_graph=True)[0], x=x)

# %% [markdown] tags=["claim S1.4"]
# `retain_graph=True` (notebook 2) is something else. It keeps what the *forward* pass saved, so that you can go back
# a second time. It records nothing. (With `create_graph=True` you get `retain_graph=True`, unless you set it
# yourself. The reverse does not hold.) And `requires_grad_()` does not give a gradient a history either. It only sets
# a flag: the gradient is then a leaf that requires grad.

# %%
(kept,) = torch.autograd.grad((x**3).sum(), x, retain_graph=True)
print(kept.grad_fn)  # None, because retain_graph=True records nothing
kept.requires_grad_()
print(kept.is_leaf)  # True, because requires_grad_() gives no history

# %% [markdown]
# ## q3 · Gradient penalty
#
# The critic `D` of a GAN should have a slope of about 1. Write the *gradient penalty*, `penalty(D, x)`. It returns the
# mean over the samples of `(norm - 1) ** 2`, where `norm` is the Euclidean norm of the gradient of `D`'s output with
# respect to this sample.
#
# - `x[i]` is sample `i`, a vector or an image. Its norm is taken over all its entries, and is at least 0.00001.
# - The output of a sample does not depend on the others, and is the same in each call.
# - `backward()` of the result gives `D`'s parameters its gradient. The call itself fills no `.grad`.
#
# For example, if `D` is linear with the weights `(3, 4)`, each norm is 5 and the penalty 16.
#
# The given function returns the right number, but its `backward()` raises an error.
#
# <details><summary>Hint 1</summary>
#
# Print `g.grad_fn` in the given function.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# By default the gradient is a constant. The penalty needs it as the result of a computation with `D`'s
# parameters. Which option of `torch.autograd.grad` records the backward pass?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Two options of `torch.autograd.grad` look alike. The cells above show what each of them keeps, and what it records.
#
# </details>


# %% tags=["question q3"]
def penalty(D, x):
    """Return the gradient penalty of the critic D at the samples x.

    Returns a tensor without dimensions that can go back to the parameters of D.
    """
    # BEGIN SOLUTION
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
    # STUB
    # x = x.detach().requires_grad_()
    # (g,) = torch.autograd.grad(D(x).sum(), x)
    # return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
    # END SOLUTION


# %% tags=["check q3"]
def test_penalty(penalty):
    """D has the slope (3, 4), whose norm is 5: the penalty is 16, and backward() gives D.weight a gradient."""
    import torch

    D = torch.nn.Linear(2, 1)
    with torch.no_grad():
        D.weight.copy_(torch.tensor([[3.0, 4.0]]))
    value = penalty(D, torch.ones(3, 2))
    seen = value.item()
    assert abs(seen - 16) < 1e-3, f"the slope of D has the norm 5, and the penalty is {seen}"
    try:
        value.backward()
    except RuntimeError as error:
        message = f"the penalty cannot go back: was the inner gradient recorded? torch says: {error}"
        raise AssertionError(message) from None
    assert D.weight.grad is not None, "D.weight.grad is None: the penalty does not lead back to D"
    seen = D.weight.grad.flatten().tolist()
    right = abs(seen[0] - 4.8) < 1e-3 and abs(seen[1] - 6.4) < 1e-3
    assert right, f"D.weight.grad is {seen}: that is not the gradient of (norm - 1) ** 2"


# %% [markdown] tags=["afterword q3"]
# The slope is now the result of a computation that autograd has recorded. So the penalty can teach `D`. The price: each
# step goes back through the recorded backward pass, too, which takes time and memory.


# %% [markdown] tags=["claim S3.7", "claim S5.6"]
# ## A hook sees the gradient pass by
#
# `t.register_hook(f)` asks autograd to call `f` with the gradient of `t`, when all of it has arrived. The value
# that `f` returns replaces the gradient. If `f` returns `None`, the gradient goes on as it was. So a hook shows you the
# gradient of a tensor that is no leaf, too. (If `t` is overwritten in place after the hook was registered, `f` still gets
# the gradient with respect to the value from before. `retain_grad()` is different: it follows the write.)
#
# Do not write to the gradient inside a hook. The tensor that arrives is often not yours alone. An addition hands the
# *same* tensor to both of its terms:

# %%
u = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
s, t = u * 1, v * 1
arrived = []
s.register_hook(arrived.append)  # append() returns None, so the gradient goes on as it was
t.register_hook(arrived.append)
(s + t).backward(torch.tensor([5.0, -7.0]))
print(arrived[0].data_ptr() == arrived[1].data_ptr())  # True, because both terms got the same memory

# %% tags=["drawn"]
# The sum `s + t`. A hook on `t` sits where the arrow from the addition arrives at `t`.
s, t = u * 1, v * 1
xray(total=s + t, s=s, t=t, u=u, v=v)

# %% [markdown]
# **Guess first:** the hook below writes to the gradient that arrives at `t`. What do `v.grad` and `incoming` hold
# afterwards?

# %%
u = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
s, t = u * 1, v * 1
t.register_hook(lambda gradient: gradient.zero_())
incoming = torch.tensor([5.0, -7.0])
(s + t).backward(incoming)
print(v.grad.tolist(), incoming.tolist())

# %% [markdown]
# <details><summary>What you should have seen</summary>
#
# `[0.0, 0.0] [0.0, 0.0]`. The hook did not only change what goes on to `v`. It overwrote the caller's own tensor
# `incoming`, too. What `u` gets depends on whether its branch goes first. The documentation of
# [`Tensor.register_hook`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html)
# says that a hook should not modify its argument. Nothing checks it.
#
# </details>

# %% [markdown]
# ## q4 · A hook that clips
#
# Write `clip_grad_hook(t, limit)`. It puts a hook on the computed tensor `t`, and returns its handle. In every backward,
# each entry of the gradient that goes back *through `t`* is limited to the range from `-limit` to `limit`.
#
# - If `t` is used several times, the *sum* of what arrives is limited.
# - No other tensor gets another gradient than before, not even another result of the operation that made `t`
#   (`torch.var_mean` has two results).
# - Other hooks on `t` stay, also those of an earlier call.
# - After `handle.remove()` the gradient goes through `t` as before the call.
# - Nobody overwrites `t`.
#
# For example, with the limit 2 the gradient `[5., -7., 0.5]` becomes `[2., -2., 0.5]` behind `t`.
#
# The given function clips what goes back through `t`, and more.
#
# <details><summary>Hint 1</summary>
#
# Let a tensor `s + t` go back. Who holds the tensor that your hook receives?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A hook may return a replacement. Then it has no reason to change its argument. Look at the underscore.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The hook makes a new tensor and returns it. Which operation is the one in the given hook, but out of place? And what
# does `register_hook` return?
#
# </details>


# %% tags=["question q4"]
def clip_grad_hook(t, limit):
    """Limit each entry of the gradient that goes back through t to [-limit, limit].

    Returns the handle of the hook, which has a method remove().
    """
    # BEGIN SOLUTION
    return t.register_hook(lambda gradient: gradient.clamp(-limit, limit))
    # STUB
    # return t.register_hook(lambda gradient: gradient.clamp_(-limit, limit))
    # END SOLUTION


# %% tags=["check q4"]
def test_clipped(clip_grad_hook):
    """Of the gradient 5, -7, 0.5 the limit 2 leaves 2, -2, 0.5, and the tensor that arrives is not overwritten."""
    import torch

    x, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    t = x * 1
    handle = clip_grad_hook(t, 2.0)
    assert t.tolist() == [1.0, 1.0, 1.0], f"the values of t were 1, and now they are {t.tolist()}"
    incoming = torch.tensor([5.0, -7.0, 0.5])
    (t + other).backward(incoming)
    assert x.grad.tolist() == [2.0, -2.0, 0.5], f"5, -7 and 0.5 arrived at t, and {x.grad.tolist()} at x"
    assert hasattr(handle, "remove"), "what came back is no handle: it has no method remove()"
    seen = incoming.tolist()
    assert seen == [5.0, -7.0, 0.5], f"the hook overwrote the gradient that arrived: it now holds {seen}"


# %% [markdown] tags=["afterword q4"]
# A hook changes a gradient by what it returns. Other code may hold the tensor that it receives. Next trap: unless you
# remove it, a hook stays as long as its tensor, or a graph that leads through the tensor. On a parameter it would still be
# there in the next epoch.


# %% [markdown] tags=["claim S5.16"]
# ## A hook on a tensor, or a node of its own?
#
# A hook belongs to a *tensor*. It receives the sum of all gradients that reach the tensor, from all its uses. A Function
# is a *node* of the graph, between its input and its result: its `backward` receives only the gradient of this result.
# Other uses of the input have other nodes, and their gradients do not pass through yours.


# %%
class Times10(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return 10 * gradient


x = torch.ones(1, requires_grad=True)
h = x * 1
(h + Times10.apply(h)).backward()
print(x.grad.item())  # 11.0, because 1 comes straight to h, and 10 through Times10

x = torch.ones(1, requires_grad=True)
h = x * 1
h.register_hook(lambda gradient: 10 * gradient)
(h + h.view_as(h)).backward()
print(x.grad.item())  # 20.0, because the hook gets the sum of both paths

# %% tags=["drawn"]
# Two paths lead from the loss back to `h`. `Times10` is a node on one of them only. A hook on `h` gets the sum of both.
h = x * 1
xray(loss=h + Times10.apply(h), h=h, x=x)

# %% [markdown]
# `backward` returns an entry for *every* input of `forward`, also for numbers, strings and lists. If the input is not a
# tensor, its entry must be `None`. If you forget an entry, backward raises: "returned an incorrect number of gradients".

# %% [markdown]
# ## q5 · Gradient reversal
#
# Domain-adversarial training needs a layer that changes nothing on the way forward, and reverses the gradient on the
# way back: `grad_reverse(x, lam)`.
#
# - It returns a tensor with the values of `x` (up to rounding). It may share the memory of `x`.
# - The gradient that goes back through the result to `x` is multiplied by `-lam`, however often you go back. With
#   `lam = 0` it is 0, or there is none.
# - All other uses of `x`, before and after the call, get their usual gradient. Another call has its own `lam`.
# - No hook stays on `x`.
# - `100 * x` does not overflow.
#
# For example, with `lam = 0.5` the gradient `[3., 4.]` becomes `[-1.5, -2.]`.
#
# The given function reverses the gradient of every other use of `x`, too.
#
# <details><summary>Hint 1</summary>
#
# Which ways back to `x` pass the hook on `x`? Draw them for `loss = (x * 10 + y).sum()`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The reversal belongs between `x` and the result, where no other use of `x` passes. Make a node there: a Function of
# your own, or a sum in which `x` stands once detached and once not.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A Function with `forward(ctx, x, lam)` that returns `x.view_as(x)` and keeps `lam` on `ctx`. Its `backward` returns
# two entries, and the second is `None`. Put the class inside your function or above it.
#
# </details>


# %% tags=["question q5"]
def grad_reverse(x, lam):
    """Return x, and multiply the gradient that goes back through the result by -lam."""

    # BEGIN SOLUTION
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, lam):
            ctx.lam = lam
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return -ctx.lam * gradient, None

    return Reverse.apply(x, lam)
    # STUB
    # x.register_hook(lambda gradient: -lam * gradient)
    # return x
    # END SOLUTION


# %% tags=["check q5"]
def test_reversed(grad_reverse):
    """With lam = 0.5 the gradients 3 and 4 become -1.5 and -2, and another use of x is not reversed."""
    import torch

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = grad_reverse(x, 0.5)
    seen = [round(value, 5) for value in y.tolist()]
    assert seen == [1.0, -2.0], f"x holds 1 and -2, and the result holds {seen}"
    assert y.requires_grad, "the result does not require grad: nothing leads back to x"
    (y * torch.tensor([3.0, 4.0])).sum().backward()
    seen = [round(value, 5) for value in x.grad.tolist()]
    assert seen == [-1.5, -2.0], f"3 and 4 went back, lam is 0.5, and x.grad is {seen}"

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    h = x * 1
    y = grad_reverse(h, 0.5)
    (h * 10 + y).sum().backward()
    seen = [round(value, 5) for value in x.grad.tolist()]
    assert seen == [9.5, 9.5], f"10 comes through h and -0.5 through the result, and x.grad is {seen}"


# %% [markdown] tags=["afterword q5"]
# The reversal is a node between `x` and your result, and the gradients of other uses do not pass through it. In practice
# `lam` often grows from 0 to 1 during the training, so that the features first learn something at all.


# %% [markdown]
# ## Fast weights
#
# Meta-learning asks: from which `w` does *a step of training* lead to a good place? The step itself,
# `fast = w - lr * g` with the gradient `g`, becomes a part of the computation. You differentiate through it. So it
# is the opposite of an optimizer's step (notebook 5): it is out of place, it is recorded, and `g` has a history.

# %%
w = torch.tensor([2.0], requires_grad=True)

(g,) = torch.autograd.grad((w**2).sum(), w)
fast = w - 0.1 * g
print(torch.autograd.grad(fast.sum(), w)[0].item())  # 1.0, because g counts as a constant here

(g,) = torch.autograd.grad((w**2).sum(), w, create_graph=True)
fast = w - 0.1 * g
print(round(torch.autograd.grad(fast.sum(), w)[0].item(), 4))  # 0.8, because g = 2 w moves with w, too

# %% tags=["drawn"]
# `fast`, after a step that was recorded. Two ways lead back to `w`: the direct one, and the one through the gradient.
xray(fast=w - 0.1 * torch.autograd.grad((w**2).sum(), w, create_graph=True)[0], w=w)

# %% [markdown]
# With the first `g` you get *first-order* MAML. It is cheaper, and it is another method. Nothing tells you that you
# have taken it: no error is raised.

# %% [markdown]
# ## q6 · One step of MAML
#
# Write `maml_grad(w, task_loss, query_loss, lr)`. Let `fast = w - lr * g`, where `g` is the gradient of `task_loss(w)`
# with respect to `w`. Return the gradient of `query_loss(fast)` with respect to `w`. It counts that `g` depends on `w`,
# too. It may have a history or none.
#
# - The losses return a tensor without dimensions. Neither is linear. They use torch's operations and other tensors, which
#   may require grad, and may be called often.
# - Nothing is written to `w`, not even for a moment: a loss from before the call still goes back.
# - All `.grad` stay what they were, also those of tensors that the losses use.
#
# For example, `w = [2.]` with the losses `v ** 3` and `v ** 2 / 2` and `lr = 0.1` gives `[-0.16]`.
#
# The given function forgets how `fast` depends on `w`.
#
# <details><summary>Hint 1</summary>
#
# For autograd, where does `w` come from after `w -= lr * w.grad` under `no_grad()`? Which part of the formula is not
# in any graph?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The inner step has to be an ordinary computation inside the graph: a new tensor `fast`. And the gradient in it
# needs a history of its own.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Two gradients with respect to `w`: that of `task_loss(w)`, and that of `query_loss(fast)`. Which of the two do you
# differentiate again? The picture above shows the ways that lead from `fast` back to `w`.
#
# </details>


# %% tags=["question q6"]
def maml_grad(w, task_loss, query_loss, lr):
    """Return the gradient of query_loss after a step on task_loss, with respect to w before the step.

    Returns a tensor in the shape of w.
    """
    # BEGIN SOLUTION
    (g,) = torch.autograd.grad(task_loss(w), w, create_graph=True)
    return torch.autograd.grad(query_loss(w - lr * g), w)[0]
    # STUB
    # old = w.detach().clone()
    # task_loss(w).backward()
    # with torch.no_grad():
    #     w -= lr * w.grad
    # w.grad = None
    # query_loss(w).backward()
    # gradient = w.grad
    # w.grad = None
    # with torch.no_grad():
    #     w.copy_(old)
    # return gradient
    # END SOLUTION


# %% tags=["check q6"]
def test_maml(maml_grad):
    """At w = 2 with v ** 3, v ** 2 / 2 and lr = 0.1 it is (2 - 1.2) * (1 - 1.2) = -0.16, and w stays as it is."""
    import torch

    w = torch.tensor([2.0], requires_grad=True)
    gradient = maml_grad(w, lambda v: (v**3).sum(), lambda v: (v**2).sum() / 2, 0.1)
    seen = round(gradient.item(), 4)
    assert seen != 0.8, "the gradient is 0.8: that is first order, as if g did not depend on w"
    assert seen == -0.16, f"the gradient is {seen}, and (2 - 1.2) * (1 - 1.2) is -0.16"
    assert w.tolist() == [2.0], f"w was 2, and now it is {w.tolist()}"
    assert w._version == 0, f"w was written to: its version counter stands at {w._version}"
    assert w.grad is None, f"w.grad was None, and now it is {w.grad.tolist()}"


# %% [markdown] tags=["afterword q6"]
# The step is a part of the computation now, so its gradient counts how `g` moves with `w`. The price: with several
# inner steps, autograd holds the graphs of all of them until you go back.


# %% [markdown] tags=["claim S1.16"]
# ## `.grad` is a single tensor
#
# `backward()` *adds* to `.grad` (notebook 2). It does so in place, in the tensor that is there already. So a list of
# `w.grad` from several steps may hold the same tensor several times.

# %%
w = torch.ones(2, requires_grad=True)
seen = []
for factor in (1.0, 10.0):
    (factor * w).sum().backward()
    seen.append(w.grad)
print(seen[0].tolist())  # [11.0, 11.0], because the second backward() added 10 to what you had kept
print(seen[0] is seen[1])  # True, because backward() added to the tensor that was there

# %% [markdown]
# `w.grad.zero_()` between the steps does not help: it writes to the tensor in your list. After `w.grad = None` the
# next `backward()` makes a new tensor. (With `create_graph=True`, `backward()` adds out of place.)
# `torch.autograd.grad` leaves the `.grad` of every leaf alone, and no later backward adds to what it returns. What it
# returns is not always a tensor of your own: for `a + b`, both `a` and `b` get the very tensor that went in. So read it,
# and do not write to it.
#
# `torch.func` goes further. It treats a gradient as a *function*: `torch.func.grad(f)` is a function that returns
# the gradient of `f`, and `torch.func.vmap` runs a function over a whole batch at once.


# %%
def squared_sum(w, x):
    return (w * x).sum() ** 2


w, X = torch.ones(2), torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
rows = torch.func.vmap(torch.func.grad(squared_sum), in_dims=(None, 0))(w, X)
print(rows.tolist())  # [[2.0, 0.0], [0.0, 8.0], [4.0, 4.0]], because each row belongs to its own sample

# %% [markdown]
# `in_dims=(None, 0)` says: the same `w` for all, and a row of `X` for each. A module becomes such a function by
# `torch.func.functional_call(model, parameters, (x,))`. The tutorial
# [Per-sample-gradients](https://docs.pytorch.org/tutorials/intermediate/per_sample_grads.html) shows it.

# %% tags=["drawn"]
# The loss of two samples. Both ways lead to the same leaf `w`, where their gradients are added.
w, X = torch.ones(2, requires_grad=True), torch.tensor([[1.0, 0.0], [0.0, 2.0]])
xray(loss=(w * X[0]).sum() + (w * X[1]).sum(), w=w)

# %% [markdown]
# ## q7 · Per-sample gradients
#
# Differential privacy clips the gradient of every sample *before* they are added. `per_sample_grads(model, X, Y)`
# returns a dict from the name of each parameter, as in `model.named_parameters()`, to a tensor of shape
# `(N, *parameter.shape)`, with a history or without. Entry `i` is the gradient of `F.mse_loss(model(X[i]), Y[i])`.
#
# - All parameters require grad and take part. A parameter that two modules share has one entry, whose gradient counts
#   both places. No module has two names.
# - The model gives the same output for the same input, and no `if` in it looks at values.
# - The `.grad` of every parameter is `None` before the call and after it.
#
# The given function returns `N` times the same tensor, and leaves gradients behind.
#
# <details><summary>Hint 1</summary>
#
# Print `[id(gradient) for gradient in out[name]]`. Are these different objects?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The list holds `N` references to one tensor, to which every `backward()` adds. You need a fresh tensor for every
# sample, from a call that leaves the `.grad` of the parameters alone.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Which function of torch returns gradients and changes the `.grad` of no parameter? Call it once for each sample. Or use
# `torch.func` without a loop, as in the cell with `squared_sum`: there `w` stands where your parameters stand.
#
# </details>


# %% tags=["question q7"]
def per_sample_grads(model, X, Y):
    """Return the gradient of the mean squared error of every sample by itself.

    Returns {name: tensor of shape (N, *parameter.shape)}.
    """
    # BEGIN SOLUTION
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters, x, y):
        return F.mse_loss(torch.func.functional_call(model, parameters, (x,)), y)

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, X, Y)
    # STUB
    # out = {name: [] for name, _ in model.named_parameters()}
    # for x, y in zip(X, Y):
    #     F.mse_loss(model(x), y).backward()
    #     for name, parameter in model.named_parameters():
    #         out[name].append(parameter.grad)
    # return {name: torch.stack(gradients) for name, gradients in out.items()}
    # END SOLUTION


# %% tags=["check q7"]
def test_two_samples(per_sample_grads):
    """Two samples of a model with one weight have the gradients -2 and -8, and no .grad is left behind."""
    import torch

    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    X, Y = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [2.0]])
    result = per_sample_grads(model, X, Y)
    assert "weight" in result, f"the dict has the keys {list(result)}, and the parameter is called weight"
    seen = result["weight"].flatten().tolist()
    message = f"the two gradients are {seen}; alone, the samples have -2 and -8"
    assert len(seen) == 2 and abs(seen[0] + 2) < 1e-4 and abs(seen[1] + 8) < 1e-4, message
    left = [name for name, parameter in model.named_parameters() if parameter.grad is not None]
    assert not left, f".grad was None before the call, and is a tensor now, of: {left}"


# %% [markdown] tags=["afterword q7"]
# To keep a gradient, you need a tensor to which no later `backward()` adds. Mind the memory: `N` gradients take `N`
# times the memory of the parameters.


# %% [markdown]
# ## A product without the matrix
#
# The matrix of all second derivatives, the *Hessian* `H`, has `n * n` entries. For a million parameters nobody can
# store it. The product `H v` with a vector `v` needs no matrix. It is a gradient of a gradient:
# the gradient of `(g * v).sum()` with respect to `x`, where `g` is the gradient of `f`. You know the tools.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, -1.0])
(g,) = torch.autograd.grad(x[0] * x[1] ** 2, x, create_graph=True)
print(g.tolist())  # [4.0, 4.0], because the derivatives are x1**2 and 2 * x0 * x1
(product,) = torch.autograd.grad(g, x, v)  # v is what goes back from g, so it is the same as (g * v).sum()
print(product.tolist())  # [-4.0, 2.0], because H is [[0, 4], [4, 2]]

# %% tags=["drawn"]
# `g` is the gradient of `f(x) = x.sum() ** 3`. Going back from `(g * v).sum()` to `x` gives `H v`. `H` stands nowhere.
(g,) = torch.autograd.grad(x.sum() ** 3, x, create_graph=True)
xray(dot=(g * v).sum(), g=g, x=x)

# %% [markdown]
# `loss.backward(create_graph=True)` would also record. But it fills `.grad` with a gradient that has a history, and
# the second `backward()` *adds* to it. Torch warns you: the leaf and its `.grad` refer to each other, and this keeps
# the graph alive.
#
# PyTorch's tutorial [Jacobians, Hessians, hvp, vhp, and more](https://docs.pytorch.org/tutorials/intermediate/jacobians_hessians.html)
# shows the same product with `torch.func`.

# %% [markdown]
# ## q8 · Hessian-vector product
#
# Write `hvp(f, x, v)`. It returns `H v`, in the shape of `x`, where `H` is the matrix of the second derivatives of `f`
# at `x`. Newton methods need it for an `x` so large that `H` does not fit into memory, so do not build `H`.
#
# - `x` has at least one dimension.
# - `f` returns a tensor without dimensions. Its gradient depends on its argument. It computes with torch's operations,
#   may be called often, and may use other tensors, which are plain data.
# - The product is exact up to rounding. Differences of gradients are not good enough.
# - The result does not require grad.
#
# For example, `f = x[0] ** 2 * x[1]` at `x = [1., 2.]` with `v = [1., 0.]` gives `[4., 2.]`.
#
# The given function raises an error in the second gradient.
#
# <details><summary>Hint 1</summary>
#
# Print `g.grad_fn` after the first `torch.autograd.grad`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The first gradient needs a history, because you want to differentiate it. Does the second need a history?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# You go back twice: from `f(x)`, and from `g`. Which of the two passes back has to be recorded, and which option of
# `torch.autograd.grad` did the given function take for it?
#
# </details>


# %% tags=["question q8"]
def hvp(f, x, v):
    """Return the product of the Hessian of f at x with v, without building the Hessian.

    Returns plain data in the shape of x.
    """
    # BEGIN SOLUTION
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g, x, v)[0]
    # STUB
    # (g,) = torch.autograd.grad(f(x), x, retain_graph=True)
    # return torch.autograd.grad(g, x, v)[0]
    # END SOLUTION


# %% tags=["check q8"]
def test_the_product(hvp):
    """For x0**2 * x1 + x1**3 at (1, 2) and v = (1, -1) the product is (2, -10)."""
    import torch

    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, -1.0])
    try:
        product = hvp(lambda t: t[0] ** 2 * t[1] + t[1] ** 3, x, v)
    except RuntimeError as error:
        raise AssertionError(f"was the first gradient recorded? torch says: {error}") from None
    seen = [round(value, 4) for value in product.tolist()]
    assert seen == [2.0, -10.0], f"the product is {seen}; H is [[4, 2], [2, 12]], and v is (1, -1)"
    assert x.grad is None, f"x.grad was None, and now it is {x.grad.tolist()}"


# %% [markdown] tags=["afterword q8"]
# `H v` takes two passes back, however large `x` is. `H` itself would take one more for each entry of `x`. So many
# methods do with a few products.


# %% [markdown]
# ## End task · Two heads on one body
#
# A model has a `body` and two heads. Head `main` does the work that counts. Head `aux` learns something else beside it,
# and may disturb the body only a little. The output of `main` should also be smooth, so its slope is penalised. The
# function below trains all three, and returns the gradient of `main.weight` in every epoch.
#
# It raises no error. But with a small `slow` the body hardly learns at all, not even for `main`. Whatever `weight` is,
# the output gets no smoother. And a plot of the gradients that come back is a flat line. Three bugs of this notebook
# are in it. Repair them.
#
# - In each of `epochs` epochs, `torch.optim.SGD` with the rate `lr` takes one step on the sum of three terms: the mean
#   squared error of `main(h)` and `Y`, with `h = body(X)`; that of `aux(h)` and `Z`; and `weight` times the penalty. The
#   penalty is the mean over the samples of the squared norm of the gradient of `main(h).sum()` with respect to this
#   sample.
# - The gradient that the second term sends back into `body` is multiplied by `slow`. Nothing else is slowed: not `aux`,
#   and not what the other two terms send back.
# - The result is a list with an entry for each epoch: the gradient of the sum with respect to `main.weight`, before
#   the step.
# - All parameters require grad. Their `.grad` is `None` before the call, and up to you after it. The output for a sample
#   does not depend on the others, and is the same in each call.


# %% tags=["question end"]
def train_two_heads(body, main, aux, X, Y, Z, epochs, lr, slow, weight):
    """Train body, main and aux in place; return the gradient of main.weight of every epoch.

    Returns a list of tensors in the shape of main.weight.
    """
    # BEGIN SOLUTION
    parameters = [*body.parameters(), *main.parameters(), *aux.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=lr)
    history = []
    for _ in range(epochs):
        x = X.detach().requires_grad_()
        h = body(x)
        slowed = h.view_as(h)
        slowed.register_hook(lambda gradient: slow * gradient)
        output = main(h)
        (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
        penalty = slope.square().sum(dim=1).mean()
        loss = F.mse_loss(output, Y) + F.mse_loss(aux(slowed), Z) + weight * penalty
        optimizer.zero_grad()
        loss.backward()
        history.append(main.weight.grad.clone())
        optimizer.step()
    return history
    # STUB
    # parameters = [*body.parameters(), *main.parameters(), *aux.parameters()]
    # optimizer = torch.optim.SGD(parameters, lr=lr)
    # history = []
    # for _ in range(epochs):
    #     x = X.detach().requires_grad_()
    #     h = body(x)
    #     h.register_hook(lambda gradient: slow * gradient)
    #     output = main(h)
    #     (slope,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
    #     penalty = slope.square().sum(dim=1).mean()
    #     loss = F.mse_loss(output, Y) + F.mse_loss(aux(h), Z) + weight * penalty
    #     optimizer.zero_grad(set_to_none=False)
    #     loss.backward()
    #     history.append(main.weight.grad)
    #     optimizer.step()
    # return history
    # END SOLUTION


# %% tags=["check end"]
def test_two_heads(train_two_heads):
    """The body learns for main, the penalty makes main smoother, and the gradients differ from epoch to epoch."""
    import torch

    def trained(epochs, slow, weight):
        layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(3)]
        for layer in layers:
            torch.nn.init.ones_(layer.weight)
        X, Y, Z = torch.ones(1, 1), torch.zeros(1, 1), torch.zeros(1, 1)
        history = train_two_heads(*layers, X, Y, Z, epochs, 0.1, slow, weight)
        return [round(layer.weight.item(), 4) for layer in layers], [round(one.item(), 4) for one in history]

    (body, main, aux), _ = trained(epochs=1, slow=0.0, weight=0.0)
    assert body != 1.0, "with slow = 0 the body does not learn at all, not even for main"
    assert body == 0.8, f"slow is 0, so body learns for main only; its weight goes from 1 to {body}"
    (body, main, aux), _ = trained(epochs=1, slow=1.0, weight=1.0)
    assert main != 0.8, "with weight = 1 the penalty changes nothing: main becomes what it is with weight = 0"
    assert main == 0.6, f"with weight = 1 the weight of main goes from 1 to {main}"
    _, history = trained(epochs=2, slow=1.0, weight=0.0)
    assert len(set(history)) == 2, (
        f"after two epochs the list is {history}, but their gradients are two different numbers"
    )
    assert history == [2.0, 0.576], f"the gradients of two epochs are {history}"


# %% [markdown] tags=["afterword end"]
# The three bugs: a hook on `h` slows all that comes back to `h`, not only what `aux` sends. A slope that was taken
# without `create_graph=True` is a constant, so its penalty teaches nothing. And a list of `.grad` holds the same tensor
# again and again, if the gradients are set to zero in place.

# %% [markdown]
# ## What to keep
#
# - Tensors go into `ctx.save_for_backward`, numbers into attributes of `ctx`. Only the first is checked.
# - A Function that writes to its input marks it dirty and returns it.
# - `backward` returns an entry for every input of `forward`, and `None` for an input that is no tensor.
# - The gradient that arrives is not yours. Neither `backward` nor a hook writes to it: return a new tensor.
# - A hook on a tensor gets the sum of the gradients of all its uses. A Function is a node of the graph: its `backward`
#   gets the gradient of its own result only.
# - `create_graph=True` gives a gradient a history. `retain_graph=True` only lets you go back once more.
# - `.grad` is a single tensor, and `backward()` adds to it. To what `torch.autograd.grad` returns, nothing adds.
#
# This is the last notebook. You have seen what autograd records, what it frees, what it checks, and where it trusts
# you. When a gradient looks wrong, you now know which questions to ask.
