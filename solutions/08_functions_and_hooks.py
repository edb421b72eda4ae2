# %% [markdown]
# # 8. Functions and hooks of your own
#
# In the first seven notebooks you used the operations that PyTorch provides. In this last notebook you write
# your own. You will learn
#
# - how to write an operation with its own backward, a `torch.autograd.Function`, including one that works in
#   place;
# - how to change a gradient with a hook, and when you need a Function instead;
# - how to differentiate a gradient: penalties, meta-learning, Hessian-vector products;
# - how to compute a gradient for each sample.
#
# A built-in operation keeps some promises for you. Now *you* have to keep them, and autograd does not check
# most of them. If you break one, you often get a wrong gradient and no error.
#
# The code and the claims about PyTorch in this notebook were tested with torch 2.13. Where they differ from
# what you may have read, the text says so.
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
# - **Incoming gradients.** Don't overwrite the gradient that your `backward` or your hook receives, or one
#   that it returned earlier. Other code may hold the same tensor.
# - **Results.** All tensors and parameters of a call are float32, or all are float64. Results and gradients
#   must have the same dtype.
# - **Gradients are recorded** whenever your function is called.

# %%
import torch
from torch import nn
from torch.nn import functional as F

# %% [markdown]
# ## A Function has a forward and a backward
#
# A subclass of `torch.autograd.Function` defines two static methods. `forward(ctx, ...)` computes the values.
# Autograd does not record what happens inside it. `backward(ctx, gradient)` gets the gradient of the output
# and returns the gradient of each input. You never call the two yourself: `Name.apply(...)` runs `forward`
# and, if gradients are recorded and an input requires grad, adds a new node to the graph. `backward()`
# reaches this node later, and calls your `backward`.


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
print(y.requires_grad)  # True, because apply() added the node ExpBackward
print(y.grad_fn.next_functions[0][0].variable is x)  # True, because the next node is that of the leaf x

# %% tags=["drawn"]
# The graph of `Exp`. Everything inside `forward` is a single node, and `x` is its input.
xray(loss=y.sum(), x=x)

# %% [markdown]
# You can draw such pictures yourself, of any tensor you have at hand, if the course's `grader` package is
# installed: remove the `#` below.

# %%
# from grader import xray
# xray(y=y, x=x)

# %% [markdown]
# `ctx` carries what `backward` will need. There are two places for it, and they look alike: an attribute of
# `ctx`, and `ctx.save_for_backward`. Store numbers, shapes and flags in attributes, and tensors with
# `save_for_backward`. The next cell stores the same tensor in both places, overwrites it, and looks at both
# again.
#
# **Guess first:** what does `ctx.h` hold when `backward` runs? And what does `ctx.saved_tensors` return?


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
# operation`. The attribute is a normal Python reference. It shows the values that are in memory now.
# `save_for_backward` also notes the version of the tensor, and `ctx.saved_tensors` compares it with
# `h._version`.
#
# Neither place keeps a copy, so the old values are lost.
#
# </details>
#
# You may have read: "If there is no error, the gradient is right." That was never true. If you store a tensor
# in an attribute of `ctx`, you can easily get a wrong gradient without an error.
#
# PyTorch's documentation describes what a Function must do, in [Extending
# PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html), and what changes when its gradient is
# differentiated again, in [Double Backward with Custom
# Functions](https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html).

# %% [markdown]
# ## q1 · save_for_backward is a safety belt
#
# You need a Function of your own whenever you know a derivative better than autograd does.
#
# Write the class `Square`, a `torch.autograd.Function`. It is used only through `Square.apply(x)`:
#
# 1. Return a new tensor with the values `x * x`.
# 2. Its gradient is that of `x * x`. Autograd must be able to differentiate it again (`create_graph=True`),
#    with respect to `x` and to the incoming gradient.
# 3. After any write to `x` that `x._version` counts, backward must raise a `RuntimeError`, as it does for
#    `x * x`.
# 4. After a write to the *result*, backward must still work.
#
# After a write to `x`, the starter code silently computes the gradient from the new values. Fix it.
#
# **No side effects.** Leave `x` unchanged.
#
# **Example.** `x = [-1., 2.]` gives `[1., 4.]`, and the gradient of the sum is `[-2., 4.]`.
#
# <details><summary>Hint 1</summary>
#
# The starter code stores `x` in an attribute of `ctx`. What did the last cell show about this place?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Autograd does not check an attribute of `ctx`. Which of the two tensors, `x` or the result, does the
# derivative need? Save this one. `backward` must compute with the very tensor that autograd returns: a
# detached copy is not connected to the graph, so it has no second derivative.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Call `ctx.save_for_backward(...)` in `forward`. The class `Exp` above shows how `backward` gets the tensor.
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
    """Gradients are right; backward detects a write."""
    import torch

    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    Square.apply(x).sum().backward()
    assert x.grad is not None, "x.grad is None: the result is not connected to x."
    assert x.grad.tolist() == [-2.0, 4.0], (
        f"The gradient at -1 and 2 is {x.grad.tolist()} instead of [-2, 4]."
    )

    leaf = torch.tensor([-1.0, 2.0], requires_grad=True)
    x = leaf * 1
    y = Square.apply(x).sum()
    x.detach().zero_()
    try:
        y.backward()
    except RuntimeError:
        return
    message = (
        f"x was overwritten, but backward raised no error, and the gradient is {leaf.grad}.\nAutograd "
        "checks only tensors that save_for_backward has saved."
    )
    raise AssertionError(message)


# %% [markdown] tags=["afterword q1"]
# Autograd can only check the tensors that you give to `save_for_backward`, by their version. It never sees an
# attribute of `ctx`, a global name or a variable of a closure.


# %% [markdown] tags=["claim S4.17", "claim S4.27"]
# ## Writing in place, and saying so
#
# You may have read that autograd "does not support most in-place operations". It does. After `x.mul_(3)` on a
# non-leaf, `x` is the result of the multiplication. Its `grad_fn` has changed.

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
x = a + 1
print(x.grad_fn.name())  # AddBackward0, because x is the result of the addition
x.mul_(3.0)
print(x.grad_fn.name())  # MulBackward0, because x is now the result of the multiplication
x.sum().backward()
print(a.grad.tolist())  # [3.0, 3.0], because backward goes through the multiplication

# %% tags=["drawn"]
# `x` after a built-in in-place operation: the result of the multiplication, whose input is the addition.
x = a + 1
x.mul_(3.0)
xray(x=x, a=a)

# %% [markdown]
# In your own Function, you must tell autograd about the write.
# [`ctx.mark_dirty(x)`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.mark_dirty.html)
# says that `forward` has overwritten its input `x`. Then `forward` must also return `x`. The next cell
# forgets to mark it.
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
# `[4.0, 4.0] [4.0, 4.0] False`, and then `AddBackward0 Double_Backward`. The storage of `x` holds the new
# values, but for autograd `x` is still the sum `a + 1`. Only `y`, a different object, is the result of the
# doubling.
#
# </details>
#
# Don't mark a leaf that requires grad. You must not write to it at all while gradients are recorded. Torch's
# message uses an old word: "a leaf Variable that requires grad has been used in an in-place operation".
# Before torch 0.4, a *Variable* was a wrapper around a tensor, and autograd recorded operations on Variables
# only. Since then every tensor can do what a Variable could.

# %% [markdown]
# ## q2 · An in-place operation of your own: mark_dirty
#
# Write the class `Scale_`, a `torch.autograd.Function`. It is used only through `Scale_.apply(x, k)`:
#
# 1. Multiply `x`, a non-leaf that is not a view, in place by the number `k`.
# 2. Return `x` itself: the same object with the same storage.
# 3. Gradients must be right whether later code uses the result or the name `x`. They must also be right after
#    several calls with different `k`.
# 4. The caller may hold a loss that needs the *old* values of `x`, such as `(x ** 2).sum()`. Its backward
#    must raise autograd's `RuntimeError` about a modified tensor. (For `k = 1`, this is optional.)
#
# The starter code does not tell autograd about the write, so gradients through `x` lack the factor `k`. Fix
# it.
#
# **No side effects.** Change only `x`.
#
# **Example.** For `x = [1., 2.]` and `k = 3.`, `x` becomes `[3., 6.]`. If the gradient with respect to the
# new `x` is `[1., 1.]`, then the gradient with respect to the old `x` is `[3., 3.]`.
#
# <details><summary>Hint 1</summary>
#
# Print `x.grad_fn` before and after the call, and `Scale_.apply(x, k) is x`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Tell autograd that the input was changed, and return it. A method of `ctx` does that. `backward` is already
# right: it returns an entry for each input of `forward`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The section above names the method. Pass it the tensor that you write to and return.
#
# </details>


# %% tags=["question q2"]
class Scale_(torch.autograd.Function):
    """Multiply a tensor in place by a number.

    Scale_.apply(x, k): x is a non-leaf float tensor of any shape, k a float; returns x itself.
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
    """`x` is scaled, and so is its gradient."""
    import torch

    a = torch.ones(2, requires_grad=True)
    x = a * 1
    y = Scale_.apply(x, 3.0)
    assert x.tolist() == [3.0, 3.0], (
        f"x was 1 everywhere and k is 3, but x is now {x.tolist()} instead of 3 everywhere."
    )
    assert y is x, "The result is not x itself: autograd does not know that x was changed."
    x.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0], (
        f"k is 3, but the gradient through x is {a.grad.tolist()} instead of [3, 3]."
    )


# %% [markdown] tags=["afterword q2"]
# `mark_dirty` does two things: it increases the version of `x`, and it makes `x` the result of your Function.
# So the `x` in memory and the `x` in the graph are the same again.


# %% [markdown] tags=["claim S5.3"]
# ## A gradient is a tensor, too
#
# [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html) returns
# gradients and leaves the `.grad` of every leaf unchanged. The gradients are not connected to the graph,
# unless you ask for it: with `create_graph=True` autograd also records the backward pass. Then the gradients
# have a *history*, the graph that computed them. You can compute with them, and backpropagate through
# everything.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)

(plain,) = torch.autograd.grad((x**3).sum(), x)
print(plain.tolist(), plain.grad_fn)  # [3.0, 12.0] None, because backward itself was not recorded

(recorded,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
print(recorded.requires_grad)  # True, because backward was recorded, too
recorded.sum().backward()
print(x.grad.tolist())  # [6.0, 12.0], because the gradient of 3 x**2 is 6 x

# %% tags=["drawn"]
# A gradient with a history: autograd recorded how backward computed `3 * x ** 2`. So it is connected to `x`.
xray(gradient=torch.autograd.grad((x**3).sum(), x, create_graph=True)[0], x=x)

# %% [markdown] tags=["claim S1.4"]
# `retain_graph=True` (notebook 2) is different. It keeps the tensors that the *forward* pass saved, so that
# you can backpropagate a second time. It records nothing. (`create_graph=True` implies `retain_graph=True`,
# unless you set it yourself. The reverse does not hold.) And `requires_grad_()` does not give a gradient a
# history either. It only sets a flag: the gradient is then a leaf that requires grad.

# %%
(kept,) = torch.autograd.grad((x**3).sum(), x, retain_graph=True)
print(kept.grad_fn)  # None, because retain_graph=True records nothing
kept.requires_grad_()
print(kept.is_leaf)  # True, because requires_grad_() gives no history

# %% [markdown]
# ## q3 · Gradient penalty
#
# The *gradient penalty* keeps the slope of a GAN's critic `D` near 1.
#
# Write `penalty(D, x)`. `x[i]` is sample `i`, a vector or an image.
#
# 1. For each sample, compute the gradient of `D`'s output with respect to this sample, and its Euclidean norm
#    over all entries.
# 2. Return the mean over the samples of `(norm - 1) ** 2`.
#
# `backward()` of the result must give `D`'s parameters their gradients. The call itself must not fill any
# `.grad`.
#
# No norm is below 0.00001. The output of a sample does not depend on others, and is the same in each call.
#
# The starter code returns the right value, but its `backward()` raises an error. Fix it.
#
# **No side effects.** Leave `D` and `x` unchanged.
#
# **Example.** If `D` is an `nn.Linear(2, 1)` with the weights `[[3., 4.]]`, each norm is 5, and the penalty
# is 16. The gradient of the weights is `[[4.8, 6.4]]`.
#
# <details><summary>Hint 1</summary>
#
# Print `g.grad_fn` in the starter code.
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
# Two options of `torch.autograd.grad` look alike. The cells above show what each of them keeps, and what it
# records.
#
# </details>


# %% tags=["question q3"]
def penalty(D, x):
    """Return the gradient penalty of the critic D at the samples x.

    Returns a tensor of shape () that is connected to the parameters of D.
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
    """The penalty and its gradient are right."""
    import torch

    D = torch.nn.Linear(2, 1)
    with torch.no_grad():
        D.weight.copy_(torch.tensor([[3.0, 4.0]]))
    value = penalty(D, torch.ones(3, 2))
    seen = value.item()
    assert abs(seen - 16) < 1e-3, f"The slope of D has the norm 5, but the penalty is {seen} instead of 16."
    try:
        value.backward()
    except RuntimeError as error:
        message = f"backward() raised an error: {error}\nCheck whether autograd records the inner gradient."
        raise AssertionError(message) from None
    assert D.weight.grad is not None, "D.weight.grad is None: the penalty is not connected to D."
    seen = D.weight.grad.flatten().tolist()
    right = abs(seen[0] - 4.8) < 1e-3 and abs(seen[1] - 6.4) < 1e-3
    assert right, f"D.weight.grad is {seen}, but the gradient of (norm - 1) ** 2 is [4.8, 6.4]."


# %% [markdown] tags=["afterword q3"]
# The slope is now the result of a computation that autograd recorded. So the penalty can train `D`. The
# price: each step also backpropagates through the recorded backward pass, which takes time and memory.


# %% [markdown] tags=["claim S3.7", "claim S5.6"]
# ## A hook receives the gradient
#
# `t.register_hook(f)` asks autograd to call `f` with the gradient of `t`, once all of it has arrived. The
# value that `f` returns replaces the gradient. If `f` returns `None`, the gradient is unchanged. So a hook
# can also show you the gradient of a non-leaf. (If `t` is overwritten in place after the hook was registered,
# `f` still gets the gradient with respect to the value from before. `retain_grad()` is different: it follows
# the write.)
#
# Don't write to the gradient inside a hook, because other code often holds the same tensor. An addition
# passes the *same* tensor to both of its terms:

# %%
u = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
s, t = u * 1, v * 1
arrived = []
s.register_hook(arrived.append)  # append() returns None, so the gradient is unchanged
t.register_hook(arrived.append)
(s + t).backward(torch.tensor([5.0, -7.0]))
print(arrived[0].data_ptr() == arrived[1].data_ptr())  # True, because both terms got the same tensor

# %% tags=["drawn"]
# The sum `s + t`. A hook on `t` is called where the arrow from the addition reaches `t`.
s, t = u * 1, v * 1
xray(total=s + t, s=s, t=t, u=u, v=v)

# %% [markdown]
# **Guess first:** the hook below writes to the gradient that arrives at `t`. What do `v.grad` and `incoming`
# hold afterwards?

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
# `[0.0, 0.0] [0.0, 0.0]`. The hook did not only change the gradient that reaches `v`. It also overwrote the
# caller's own tensor `incoming`. The gradient of `u` depends on which branch runs first. The documentation of
# [`Tensor.register_hook`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html)
# says that a hook should not modify its argument. Nothing checks it.
#
# </details>

# %% [markdown]
# ## q4 · A hook that clips
#
# Write `clip_grad_hook(t, limit)`:
#
# 1. Register a hook on the non-leaf `t`. In every backward pass, it must clip each entry of the gradient of
#    `t` to the range from `-limit` to `limit`.
# 2. Return the handle of the hook. After `handle.remove()`, the gradient must pass through `t` as before the
#    call.
#
# If `t` is used several times, clip the *sum* of the gradients from all uses. All other gradients must be
# unchanged. For example, if `t` is one of the two results of `torch.var_mean`, the gradient of the other
# result must be unchanged. `t` is not overwritten later.
#
# The starter code also changes other gradients. Fix it.
#
# **No side effects.** Leave the values of `t` and its other hooks unchanged, including hooks from an earlier
# call.
#
# **Example.** With `limit = 2.`, the gradient `[5., -7., 0.5]` of `t` becomes `[2., -2., 0.5]`.
#
# <details><summary>Hint 1</summary>
#
# Backpropagate from a sum `s + t`. Which other tensor gets the same gradient object as your hook?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A hook may return a replacement, so it has no reason to change its argument. Look at the underscore.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The hook must create a new tensor and return it. The starter code uses the in-place form of an operation;
# which one is it, out of place? And `register_hook` returns the handle.
#
# </details>


# %% tags=["question q4"]
def clip_grad_hook(t, limit):
    """Clip each entry of the gradient that passes through t to [-limit, limit].

    Returns the handle of the hook, which has a method remove().
    """
    # BEGIN SOLUTION
    return t.register_hook(lambda gradient: gradient.clamp(-limit, limit))
    # STUB
    # return t.register_hook(lambda gradient: gradient.clamp_(-limit, limit))
    # END SOLUTION


# %% tags=["check q4"]
def test_clipped(clip_grad_hook):
    """The gradient is clipped, and not overwritten."""
    import torch

    x, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    t = x * 1
    handle = clip_grad_hook(t, 2.0)
    assert t.tolist() == [1.0, 1.0, 1.0], f"The values of t were 1 before the call and are now {t.tolist()}."
    incoming = torch.tensor([5.0, -7.0, 0.5])
    (t + other).backward(incoming)
    assert x.grad.tolist() == [2.0, -2.0, 0.5], (
        f"The gradient of t is [5, -7, 0.5], but x gets {x.grad.tolist()} instead of [2, -2, 0.5]."
    )
    assert hasattr(handle, "remove"), "The result is not a handle: it has no method remove()."
    seen = incoming.tolist()
    assert seen == [5.0, -7.0, 0.5], (
        f"The hook overwrote the gradient that it received, which now holds {seen}:\nother code may use the "
        "same tensor."
    )


# %% [markdown] tags=["afterword q4"]
# A hook changes a gradient by the tensor that it returns. Other code may hold the tensor that it receives.
# Next trap: unless you remove it, a hook exists as long as its tensor, or a graph that contains the tensor.
# On a parameter it would still be there in the next epoch.


# %% [markdown] tags=["claim S5.16"]
# ## A hook on a tensor, or a node of its own?
#
# A hook belongs to a *tensor*. It receives the sum of all gradients that reach the tensor, from all its uses.
# A Function is a *node* of the graph, between its input and its result: its `backward` receives only the
# gradient of this result. Other uses of the input have other nodes, and their gradients do not pass through
# yours.


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
print(x.grad.item())  # 11.0, because 1 reaches h directly, and 10 through Times10

x = torch.ones(1, requires_grad=True)
h = x * 1
h.register_hook(lambda gradient: 10 * gradient)
(h + h.view_as(h)).backward()
print(x.grad.item())  # 20.0, because the hook gets the sum of both paths

# %% tags=["drawn"]
# Two paths lead from the loss to `h`. `Times10` is on one of them only. A hook on `h` gets the sum of both.
h = x * 1
xray(loss=h + Times10.apply(h), h=h, x=x)

# %% [markdown]
# `backward` returns an entry for *every* input of `forward`, including numbers, strings and lists. If the
# input is not a tensor, its entry must be `None`. If you forget an entry, backward raises an error: "returned
# an incorrect number of gradients".

# %% [markdown]
# ## q5 · Gradient reversal
#
# Domain-adversarial training needs a layer that changes nothing in forward, and reverses the gradient in
# backward.
#
# Write `grad_reverse(x, lam)`:
#
# 1. Return a tensor with the values of `x`, up to rounding. It may share storage with `x`.
# 2. In every backward, multiply the gradient that flows through the result to `x` by `-lam`. With `lam = 0`,
#    the gradient may be 0 or missing.
#
# All other uses of `x`, before and after the call, must get their usual gradient. Another call has its own
# `lam`.
#
# Entries of `x` may be as large as 2e38, but no entry of `(1 + lam) * x` overflows.
#
# The starter code also reverses the gradients of other uses. Fix it.
#
# **No side effects.** Leave `x` unchanged, and leave no hook on it.
#
# **Example.** With `lam = 0.5`, the gradient `[3., 4.]` of the result becomes `[-1.5, -2.]` for `x`.
#
# <details><summary>Hint 1</summary>
#
# Which paths to `x` does a hook on `x` affect? Draw them for `loss = (x * 10 + y).sum()`, where `y` is the
# result.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The reversal belongs between `x` and the result, where no other use of `x` passes. Create a node there: a
# Function of your own, or a sum in which `x` appears once detached and once not.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Write a Function with `forward(ctx, x, lam)` that returns `x.view_as(x)` and stores `lam` on `ctx`. Its
# `backward` returns two entries, and the second is `None`. Put the class inside your function or above it.
#
# </details>


# %% tags=["question q5"]
def grad_reverse(x, lam):
    """Return x, and multiply the gradient that flows back through the result by -lam."""

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
    """Only gradients through the result are reversed."""
    import torch

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = grad_reverse(x, 0.5)
    seen = [round(value, 5) for value in y.tolist()]
    assert seen == [1.0, -2.0], f"x holds [1, -2], but the result holds {seen}."
    assert y.requires_grad, "The result does not require grad: it is not connected to x."
    (y * torch.tensor([3.0, 4.0])).sum().backward()
    seen = [round(value, 5) for value in x.grad.tolist()]
    assert seen == [-1.5, -2.0], (
        f"The gradient of the result is [3, 4] and lam is 0.5, but x.grad is {seen} instead of [-1.5, -2]."
    )

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    h = x * 1
    y = grad_reverse(h, 0.5)
    (h * 10 + y).sum().backward()
    seen = [round(value, 5) for value in x.grad.tolist()]
    assert seen == [9.5, 9.5], (
        f"The gradient is 10 through h and -0.5 through the result, but x.grad is {seen} instead of [9.5, "
        "9.5]."
    )


# %% [markdown] tags=["afterword q5"]
# The reversal is a node between `x` and your result, and the gradients of other uses do not pass through it.
# In practice `lam` often grows from 0 to 1 during training, so that the features first learn something at
# all.


# %% [markdown]
# ## Fast weights
#
# Meta-learning asks which initial `w` gives a small loss after *one training step*. The step itself,
# `fast = w - lr * g` with the gradient `g`, becomes part of the computation, and you differentiate through
# it. So it is the opposite of an optimizer's step (notebook 5): it is out of place, it is recorded, and `g`
# has a history.

# %%
w = torch.tensor([2.0], requires_grad=True)

(g,) = torch.autograd.grad((w**2).sum(), w)
fast = w - 0.1 * g
print(torch.autograd.grad(fast.sum(), w)[0].item())  # 1.0, because g counts as a constant here

(g,) = torch.autograd.grad((w**2).sum(), w, create_graph=True)
fast = w - 0.1 * g
print(round(torch.autograd.grad(fast.sum(), w)[0].item(), 4))  # 0.8, because g = 2 w depends on w, too

# %% tags=["drawn"]
# `fast`, after a recorded step. Two paths lead to `w`: the direct one, and the one through the gradient.
xray(fast=w - 0.1 * torch.autograd.grad((w**2).sum(), w, create_graph=True)[0], w=w)

# %% [markdown]
# The first `g` gives you *first-order* MAML. It is cheaper, but it is a different method, and PyTorch raises
# no error.

# %% [markdown]
# ## q6 · One step of MAML
#
# Write `maml_grad(w, task_loss, query_loss, lr)`:
#
# 1. Let `fast = w - lr * g`, where `g` is the gradient of `task_loss(w)` with respect to `w`.
# 2. Return the gradient of `query_loss(fast)` with respect to `w`. `g` depends on `w`, so differentiate
#    through `g`, too. The result may be connected to the graph or not.
#
# Don't write to `w`, not even for a moment: a loss that was computed before the call must still
# backpropagate.
#
# Both losses return a tensor of shape `()`, and neither is linear. They use torch's operations and other
# tensors, which may require grad. You may call them often.
#
# The starter code ignores how `fast` depends on `w`. Fix it.
#
# **No side effects.** Leave every `.grad` unchanged, including those of tensors that the losses use.
#
# **Example.** For `w = [2.]`, the losses `(v ** 3).sum()` and `(v ** 2).sum() / 2`, and `lr = 0.1`, the
# result is `[-0.16]`.
#
# <details><summary>Hint 1</summary>
#
# For autograd, the starter code's `w` is still a leaf after `w -= lr * w.grad` under `no_grad()`. Which part
# of the formula for `fast` is not in any graph?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The inner step must be a recorded computation that makes a new tensor `fast`. And the gradient in it needs a
# history.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# You need two gradients with respect to `w`: that of `task_loss(w)`, and that of `query_loss(fast)`. Which of
# the two do you differentiate again? The picture above shows the paths from `fast` to `w`.
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
    """The gradient is of second order."""
    import torch

    w = torch.tensor([2.0], requires_grad=True)
    gradient = maml_grad(w, lambda v: (v**3).sum(), lambda v: (v**2).sum() / 2, 0.1)
    seen = round(gradient.item(), 4)
    assert seen != 0.8, "The gradient is 0.8, the first-order gradient, as if g did not depend on w."
    assert seen == -0.16, f"The gradient is {seen} instead of (2 - 1.2) * (1 - 1.2) = -0.16."
    assert w.tolist() == [2.0], f"w was [2] before the call and is now {w.tolist()}."
    assert w._version == 0, f"Your function wrote to w: w._version was 0 and is now {w._version}."
    assert w.grad is None, f"w.grad was None before the call and is now {w.grad.tolist()}."


# %% [markdown] tags=["afterword q6"]
# The step is now part of the computation, so its gradient includes how `g` depends on `w`. The price: with
# several inner steps, autograd keeps the graphs of all of them until you backpropagate.


# %% [markdown] tags=["claim S1.16"]
# ## `.grad` is a single tensor
#
# `backward()` *adds* to `.grad` (notebook 2). It does so in place, in the existing tensor. So a list of
# `w.grad` from several steps may hold the same tensor several times.

# %%
w = torch.ones(2, requires_grad=True)
seen = []
for factor in (1.0, 10.0):
    (factor * w).sum().backward()
    seen.append(w.grad)
print(seen[0].tolist())  # [11.0, 11.0], because the second backward() added 10 to the tensor in the list
print(seen[0] is seen[1])  # True, because backward() added to the existing tensor

# %% [markdown]
# `w.grad.zero_()` between the steps does not help: it writes to the tensor in your list. After
# `w.grad = None` the next `backward()` creates a new tensor. (With `create_graph=True`, `backward()` adds out
# of place.) `torch.autograd.grad` leaves the `.grad` of every leaf unchanged, and no later backward adds to
# the tensors that it returns. But other code may hold them: for `a + b`, both `a` and `b` get the very tensor
# that went in. So read them, and don't write to them.
#
# `torch.func` goes further. It treats a gradient as a *function*: `torch.func.grad(f)` is a function that
# returns the gradient of `f`, and `torch.func.vmap` runs a function over a whole batch at once.


# %%
def squared_sum(w, x):
    return (w * x).sum() ** 2


w, X = torch.ones(2), torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
rows = torch.func.vmap(torch.func.grad(squared_sum), in_dims=(None, 0))(w, X)
print(rows.tolist())  # [[2.0, 0.0], [0.0, 8.0], [4.0, 4.0]], because each row belongs to its own sample

# %% [markdown]
# `in_dims=(None, 0)` means: the same `w` for all samples, and a row of `X` for each.
# `torch.func.functional_call(model, parameters, (x,))` calls a module as such a function. The tutorial
# [Per-sample-gradients](https://docs.pytorch.org/tutorials/intermediate/per_sample_grads.html) shows it.

# %% tags=["drawn"]
# The loss of two samples. Both paths lead to the same leaf `w`, where their gradients are added.
w, X = torch.ones(2, requires_grad=True), torch.tensor([[1.0, 0.0], [0.0, 2.0]])
xray(loss=(w * X[0]).sum() + (w * X[1]).sum(), w=w)

# %% [markdown]
# ## q7 · Per-sample gradients
#
# Differential privacy clips the gradient of each sample *before* the gradients are added.
#
# Write `per_sample_grads(model, X, Y)`:
#
# 1. For each sample `i`, compute the gradient of `F.mse_loss(model(X[i]), Y[i])` with respect to every
#    parameter.
# 2. Return a dict. Its keys are the names in `model.named_parameters()`, and each value is a tensor of shape
#    `(N, *parameter.shape)`. Entry `i` of this tensor is the gradient of sample `i`, with or without a
#    history.
#
# A parameter that two modules share has one entry, which includes both uses.
#
# All parameters require grad and are used. The model is deterministic, and its control flow doesn't depend on
# the values of tensors. No module is registered under two names.
#
# The starter code returns `N` copies of the same gradient, and fills `.grad`. Fix it.
#
# **No side effects.** Every `.grad` is `None` before the call, and must be `None` after it.
#
# **Example.** `model` is an `nn.Linear(1, 1, bias=False)` with the weight 0, and `X` and `Y` are both
# `[[1.], [2.]]`. The result is `{"weight": [[[-2.]], [[-8.]]]}`.
#
# <details><summary>Hint 1</summary>
#
# Print `[id(gradient) for gradient in out[name]]`. Are these different objects?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The list holds `N` references to one tensor, to which every `backward()` adds. You need a new tensor for
# every sample, from a call that leaves the `.grad` of the parameters unchanged.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Which function of torch returns gradients and changes no `.grad`? Call it once for each sample. Or use
# `torch.func` without a loop, as in the cell with `squared_sum`: your parameters take the place of `w`.
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
    """Each sample has its own gradient."""
    import torch

    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    X, Y = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [2.0]])
    result = per_sample_grads(model, X, Y)
    assert "weight" in result, f"The dict has the keys {list(result)}, but the parameter is called weight."
    seen = result["weight"].flatten().tolist()
    message = f"The two gradients are {seen}, but those of the samples are -2 and -8."
    assert len(seen) == 2 and abs(seen[0] + 2) < 1e-4 and abs(seen[1] + 8) < 1e-4, message
    left = [name for name, parameter in model.named_parameters() if parameter.grad is not None]
    assert not left, f"These parameters had no .grad before the call and have one now: {left}."


# %% [markdown] tags=["afterword q7"]
# To keep a gradient, you need a tensor to which no later `backward()` adds. Mind the memory: `N` gradients
# take `N` times the memory of the parameters.


# %% [markdown]
# ## A product without the matrix
#
# The matrix of all second derivatives, the *Hessian* `H`, has `n * n` entries. For a million parameters it
# does not fit into memory. The product `H v` with a vector `v` needs no matrix. It is a gradient of a
# gradient: the gradient of `(g * v).sum()` with respect to `x`, where `g` is the gradient of `f`. You know
# the tools.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, -1.0])
(g,) = torch.autograd.grad(x[0] * x[1] ** 2, x, create_graph=True)
print(g.tolist())  # [4.0, 4.0], because the derivatives are x1**2 and 2 * x0 * x1
(product,) = torch.autograd.grad(g, x, v)  # v is the incoming gradient of g: the same as (g * v).sum()
print(product.tolist())  # [-4.0, 2.0], because H is [[0, 4], [4, 2]]

# %% tags=["drawn"]
# `g` is the gradient of `f(x) = x.sum() ** 3`. The gradient of `(g * v).sum()` is `H v`.
(g,) = torch.autograd.grad(x.sum() ** 3, x, create_graph=True)
xray(dot=(g * v).sum(), g=g, x=x)

# %% [markdown]
# `loss.backward(create_graph=True)` would also record. But it fills `.grad` with a gradient that has a
# history, and the second `backward()` *adds* to it. Torch warns you: the leaf and its `.grad` refer to each
# other, which keeps the graph in memory.
#
# PyTorch's tutorial [Jacobians, Hessians, hvp, vhp, and
# more](https://docs.pytorch.org/tutorials/intermediate/jacobians_hessians.html) shows the same product with
# `torch.func`.

# %% [markdown]
# ## q8 · Hessian-vector product
#
# Newton methods need the product `H v` for an `x` so large that `H`, the matrix of the second derivatives of
# `f` at `x`, does not fit into memory.
#
# Write `hvp(f, x, v)`:
#
# 1. Return `H v`, in the shape of `x`. Don't build `H`.
# 2. The product must be exact up to rounding. Differences of gradients are not good enough.
# 3. The result must not require grad.
#
# `x` has at least one dimension. `f` returns a tensor of shape `()`, whose gradient depends on `x`. It uses
# torch's operations and other tensors, which don't require grad. You may call it often.
#
# The starter code raises an error in the second gradient. Fix it.
#
# **No side effects.** Leave `x`, `v` and every `.grad` unchanged.
#
# **Example.** For `f(x) = x[0] ** 2 * x[1]`, `x = [1., 2.]` and `v = [1., 0.]`, the result is `[4., 2.]`.
#
# <details><summary>Hint 1</summary>
#
# Print `g.grad_fn` after the first `torch.autograd.grad`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The first gradient needs a history, because you differentiate it again. Does the second need a history?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# You backpropagate twice: from `f(x)`, and from `g`. Which of the two backward passes must be recorded, and
# which option of `torch.autograd.grad` does the starter code use for it?
#
# </details>


# %% tags=["question q8"]
def hvp(f, x, v):
    """Return the product of the Hessian of f at x with v, without building the Hessian.

    Returns a tensor in the shape of x that does not require grad.
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
    """The product is right."""
    import torch

    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, -1.0])
    try:
        product = hvp(lambda t: t[0] ** 2 * t[1] + t[1] ** 3, x, v)
    except RuntimeError as error:
        raise AssertionError(
            f"hvp raised an error: {error}\nCheck whether autograd records the first gradient."
        ) from None
    seen = [round(value, 4) for value in product.tolist()]
    assert seen == [2.0, -10.0], (
        f"The product is {seen} instead of [2, -10]: H is [[4, 2], [2, 12]], and v is [1, -1]."
    )
    assert x.grad is None, f"x.grad was None before the call and is now {x.grad.tolist()}."


# %% [markdown] tags=["afterword q8"]
# `H v` takes two backward passes, however large `x` is. `H` itself would take one more for each entry of `x`.
# So many methods use only a few products.


# %% [markdown]
# ## Bonus task · Two heads on one body
#
# A model has a `body` and two heads. Head `main` does the task that matters. Head `aux` learns a second task,
# and may change the body only a little. The output of `main` should also be smooth, so its slope is
# penalised.
#
# Write `train_two_heads(body, main, aux, X, Y, Z, epochs, lr, slow, weight)`. In each of `epochs` epochs,
# with `h = body(X)`:
#
# 1. Compute the loss, the sum of three terms: the mean squared error of `main(h)` and `Y`; that of `aux(h)`
#    and `Z`; and `weight` times the penalty. The penalty is the mean over the samples of the squared norm of
#    the gradient of `main(h).sum()` with respect to this sample.
# 2. Multiply the gradient that the second term sends back into `body` by `slow`, and no other gradient: not
#    that of `aux`, and not that of the other two terms.
# 3. Make one step of `torch.optim.SGD` with the learning rate `lr` for all parameters.
#
# Return a list with an entry for each epoch: the gradient of the loss with respect to `main.weight`, before
# the step.
#
# You can rely on this: all parameters require grad, and their `.grad` is `None` when your function is called.
# The output for a sample does not depend on other samples, and is the same in each call.
#
# The starter code has three of the bugs that this notebook is about. It raises no error. But with a small
# `slow` the body hardly learns at all, not even for `main`. The output gets no smoother, whatever `weight`
# is. And a plot of the returned gradients is a flat line. There is no hint.
#
# **No side effects.** Change only the values of the parameters and their `.grad`, where you may leave
# anything.
#
# **Example.** All three modules are `nn.Linear(1, 1, bias=False)` with the weight 1. For `X = [[1.]]`,
# `Y = Z = [[0.]]`, one epoch, `lr = 0.1`, `slow = 0.5` and `weight = 1.`, the result is `[[[4.]]]`, and the
# weights of `body`, `main` and `aux` become 0.5, 0.6 and 0.8.


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
    """`slow`, the penalty and the list are right."""
    import torch

    def trained(epochs, slow, weight):
        layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(3)]
        for layer in layers:
            torch.nn.init.ones_(layer.weight)
        X, Y, Z = torch.ones(1, 1), torch.zeros(1, 1), torch.zeros(1, 1)
        history = train_two_heads(*layers, X, Y, Z, epochs, 0.1, slow, weight)
        return [round(layer.weight.item(), 4) for layer in layers], [round(one.item(), 4) for one in history]

    (body, main, aux), _ = trained(epochs=1, slow=0.0, weight=0.0)
    assert body != 1.0, "With slow = 0 the body does not learn at all, not even for main."
    assert body == 0.8, (
        f"With slow = 0 the body learns for main only, but its weight becomes {body} instead of 0.8."
    )
    (body, main, aux), _ = trained(epochs=1, slow=1.0, weight=1.0)
    assert main != 0.8, "With weight = 1 the penalty has no effect: main is the same as with weight = 0."
    assert main == 0.6, f"With weight = 1 the weight of main becomes {main} instead of 0.6."
    _, history = trained(epochs=2, slow=1.0, weight=0.0)
    assert len(set(history)) == 2, (
        f"After two epochs the list is {history}, but the gradients of the epochs differ."
    )
    assert history == [2.0, 0.576], f"The gradients of two epochs are {history} instead of [2.0, 0.576]."


# %% [markdown] tags=["afterword end"]
# The three bugs: a hook on `h` slows all gradients that reach `h`, not only that of `aux`. A slope that was
# computed without `create_graph=True` is a constant, so its penalty trains nothing. And a list of `.grad`
# holds the same tensor again and again, if the gradients are set to zero in place.

# %% [markdown]
# ## What to remember
#
# - Store tensors with `ctx.save_for_backward`, and numbers in attributes of `ctx`. Autograd checks only the
#   first.
# - A Function that writes to its input marks it dirty and returns it.
# - `backward` returns an entry for every input of `forward`, and `None` for an input that is not a tensor.
# - Other code may hold the gradient that arrives. Neither `backward` nor a hook may write to it: return a new
#   tensor.
# - A hook on a tensor gets the sum of the gradients of all its uses. A Function is a node of the graph: its
#   `backward` gets the gradient of its own result only.
# - `create_graph=True` gives a gradient a history. `retain_graph=True` only lets you backpropagate once more.
# - `.grad` is a single tensor, and `backward()` adds to it. It does not add to what `torch.autograd.grad`
#   returns.
#
# This is the last notebook. You have seen what autograd records, what it frees, what it checks, and where it
# trusts you. When a gradient looks wrong, you now know which questions to ask.
