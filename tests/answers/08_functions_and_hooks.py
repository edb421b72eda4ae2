"""Answers to 08_functions_and_hooks whose verdict is known."""

import torch
from torch import nn
from torch.nn import functional as F

from grader.answers import accepted, accepted_edits, equal, wrong, wrong_edits

# q1: Square


@accepted("q1")
class SavedInSetupContext(torch.autograd.Function):
    """The newer form: forward without ctx, and a method that saves."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2 * ctx.saved_tensors[0]


@accepted("q1")
class SavedWithMuchBeside(torch.autograd.Function):
    """Keeps numbers as attributes, and the tensor where it belongs."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.shape, ctx.version = x.shape, x._version
        return x.square()

    @staticmethod
    def backward(ctx, gradient):
        return (ctx.saved_tensors[0] * gradient * 2).reshape(ctx.shape)


@accepted("q1")
class VersionComparedByHand(torch.autograd.Function):
    """Does by hand what save_for_backward does: notes the version, and compares."""

    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.version = x, x._version
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        if ctx.x._version != ctx.version:
            raise RuntimeError("x was overwritten after the forward pass")
        return 2 * ctx.x * gradient


@accepted("q1")
class SavedTheDoubleToo(torch.autograd.Function):
    """Adds x to itself in backward; the result is the same."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return (x + x) * gradient if ctx.needs_input_grad[0] else None


@wrong("q1")
class KeptACopy(torch.autograd.Function):
    """Buys a right first gradient with a second tensor: no error, and no second derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.x = x.detach().clone()
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.x * gradient


@wrong("q1")
class KeptDetached(torch.autograd.Function):
    """Stores a detached tensor on ctx, so autograd doesn't notice a later write to it."""

    @staticmethod
    def forward(ctx, x):
        ctx.x = x.detach()
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.x * gradient


@wrong("q1")
class SavedBoth(torch.autograd.Function):
    """Also saves the result, so that a harmless write to it makes backward fail."""

    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return 2 * x * gradient


@wrong("q1")
class ValuesCompared(torch.autograd.Function):
    """Compares values with a copy instead of versions, and misses a write of equal values."""

    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.copy = x, x.detach().clone()
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        if not torch.equal(ctx.x.detach(), ctx.copy):
            raise RuntimeError("x was overwritten")
        return 2 * ctx.x * gradient


wrong_edits(
    "q1",
    {
        "two_forgotten": ("2 * x * gradient", "x * gradient", "Forgets the factor 2."),
        "squared_in_place": (
            "return x * x",
            "return x.detach().mul_(x)",
            "Writes the result into x to save memory.",
        ),
    },
)


# q2: Scale_


@accepted("q2")
class MarkedFirst(torch.autograd.Function):
    """Marks before it writes; and computes a gradient only where it is needed."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.mark_dirty(x)
        return x.mul_(k)

    @staticmethod
    def backward(ctx, gradient):
        return (gradient * ctx.k if ctx.needs_input_grad[0] else None), None


@accepted("q2")
class MarkedInSetupContext(torch.autograd.Function):
    """The newer form: the mark is made in setup_context."""

    @staticmethod
    def forward(x, k):
        x.mul_(k)
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.k, None


@accepted("q2")
class CopiedBack(torch.autograd.Function):
    """Computes the product elsewhere and copies it into x."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.copy_(x * k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient.mul(ctx.k), None


@accepted("q2")
class AugmentedAssignment(torch.autograd.Function):
    """x *= k writes in place, too, and the number may be saved as a float64 tensor."""

    @staticmethod
    def forward(ctx, x, k):
        x *= k
        ctx.mark_dirty(x)
        ctx.save_for_backward(torch.tensor(k, dtype=x.dtype))
        return x

    @staticmethod
    def backward(ctx, gradient):
        (k,) = ctx.saved_tensors
        return gradient * k, None


@wrong("q2")
class OutOfPlace(torch.autograd.Function):
    """Returns a new tensor and believes that this is the same for the caller."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.k, None


wrong_edits(
    "q2",
    {
        "clone_returned": (
            "return x",
            "return torch.clone(x)",
            "Marks x as dirty and returns a clone, although a dirty input must be returned.",
        ),
        "one_gradient": (
            "gradient * ctx.k, None",
            "gradient * ctx.k",
            "Forgets to return a gradient for the number.",
        ),
        "gradient_passed_on": (
            "gradient * ctx.k, None",
            "gradient, None",
            "Believes that backward of an in-place multiplication needs no factor.",
        ),
        "number_on_the_class": (
            [("ctx.k = k", "Scale_.k = k"), ("gradient * ctx.k, None", "gradient * Scale_.k, None")],
            "Stores the number on the class, where the next call overwrites it.",
        ),
        "number_rounded": ("ctx.k = k", "ctx.k = torch.tensor(k)", "Stores the number as a float32 tensor."),
        "nothing_done_for_one": (
            "x.mul_(k)",
            "if k == 1:\n            return x\n        x.mul_(k)",
            "Returns x unmarked if the factor is 1.",
        ),
        "factor_of_the_values": (
            [
                ("x.mul_(k)", "old = x.clone()\n        x.mul_(k)"),
                ("ctx.k = k", "ctx.k = None"),
                ("return x", "ctx.k = x.detach() / old\n        return x"),
            ],
            "Computes the factor by a division, which is nan where x is 0.",
        ),
    },
)


accepted_edits(
    "q2",
    {
        "data_with_a_mark": (
            "x.mul_(k)",
            "x.data.mul_(k)",
            "The write is not counted, but the mark is: mark_dirty moves the counter.",
        )
    },
)


@wrong("q2")
class FlattenedFirst(torch.autograd.Function):
    """Writes to reshape(-1), which is a copy if x is not contiguous."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.mark_dirty(x)
        x.reshape(-1).mul_(k)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.k, None


# q3: penalty


@accepted("q3")
def ones_as_cotangent(D, x):
    """Asks with a cotangent of ones instead of a sum."""
    x = x.clone().detach().requires_grad_(True)
    output = D(x)
    g = torch.autograd.grad(output, x, torch.ones_like(output), create_graph=True, retain_graph=True)[0]
    return (g.flatten(1).norm(2, 1) - 1).square().mean()


@accepted("q3")
def backward_into_x_only(D, x):
    """backward() with inputs= fills the .grad of the own leaf only."""
    x = x.detach().requires_grad_()
    D(x).sum().backward(inputs=[x], create_graph=True)
    g, x.grad = x.grad, None
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()


@accepted("q3")
def linalg_norm_of_rows(D, x):
    """The norm by torch.linalg, the mean as a sum."""
    own = x.clone().requires_grad_()
    (g,) = torch.autograd.grad([D(own).sum()], [own], create_graph=True)
    norms = torch.linalg.vector_norm(g.reshape(len(x), -1), dim=1)
    return torch.sum((norms - 1) ** 2) / len(x)


wrong_edits(
    "q3",
    {
        "retained_not_created": (
            "create_graph=True",
            "retain_graph=True",
            "Takes retain_graph for create_graph.",
        ),
        "gradient_made_a_leaf": (
            "((g.flatten(1)",
            "((g.detach().requires_grad_().flatten(1)",
            "Believes that requires_grad_() connects the gradient to the graph.",
        ),
        "norm_over_channels": (
            "g.flatten(1).norm(dim=1)",
            "g.norm(dim=1)",
            "Takes the norm over dimension 1, which for an image are the channels.",
        ),
        "root_kept_from_zero": (
            "g.flatten(1).norm(dim=1)",
            "(g.flatten(1).square().sum(1) + 1e-12).sqrt()",
            "Adds a small number under the root, which matters for small gradients.",
        ),
        "squeezed": (
            "g.flatten(1).norm(dim=1)",
            "g.flatten(1).squeeze().norm(dim=-1)",
            "Squeezes the gradient, which drops a single feature.",
        ),
    },
)


@wrong("q3")
def zeroed_before(D, x):
    """Clears the critic's gradients, as before a step."""
    D.zero_grad()
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()


@wrong("q3")
def critic_left_in_training_mode(D, x):
    """Calls train() on the critic, although a part was in eval mode."""
    x = x.detach().requires_grad_()
    value = (
        (torch.autograd.grad(D(x).sum(), x, create_graph=True)[0].flatten(1).norm(dim=1) - 1) ** 2
    ).mean()
    D.train()
    return value


# q4: clip_grad_hook


@accepted("q4")
def minimum_of_maximum(t, limit):
    """Builds the clamp of two comparisons."""

    def hook(gradient):
        above = torch.maximum(gradient, torch.full_like(gradient, -limit))
        return torch.minimum(above, torch.full_like(gradient, limit))

    return t.register_hook(hook)


@accepted("q4")
def copied_and_clamped(t, limit):
    """Writes to a copy of its own."""
    return t.register_hook(lambda gradient: gradient.clone().clamp_(-limit, limit))


@wrong("q4")
def largest_entry_asked(t, limit):
    """Clamps only if the largest entry exceeds the limit, and forgets negative entries."""
    return t.register_hook(lambda gradient: gradient.clamp(-limit, limit) if gradient.max() > limit else None)


@wrong("q4")
def smallest_entry_asked(t, limit):
    """Clamps only if the smallest entry exceeds the limit, and forgets positive entries."""
    return t.register_hook(
        lambda gradient: gradient.clamp(-limit, limit) if gradient.min() < -limit else gradient
    )


@wrong("q4")
def hook_on_the_node(t, limit):
    """Hooks the tensor's node, which may have other results, too."""

    def hook(gradients):
        return tuple(None if one is None else one.clamp(-limit, limit) for one in gradients)

    return t.grad_fn.register_prehook(hook)


@wrong("q4")
def other_hooks_cleared(t, limit):
    """Removes the tensor's other hooks."""
    if t._backward_hooks:
        t._backward_hooks.clear()
    return t.register_hook(lambda gradient: gradient.clamp(-limit, limit))


@wrong("q4")
def row_by_row(t, limit):
    """Iterates over rows, which a tensor without dimensions doesn't have."""
    return t.register_hook(lambda gradient: torch.stack([row.clamp(-limit, limit) for row in gradient]))


wrong_edits(
    "q4",
    {
        "limit_in_float32": (
            "gradient.clamp(-limit, limit)",
            "torch.minimum(torch.maximum(gradient, torch.tensor(-limit)), torch.tensor(limit))",
            "Stores the limit as a float32 tensor.",
        )
    },
)


@wrong("q4")
def limited_for_a_while(t, limit):
    """Clamps the first gradients only."""
    left = [20]

    def clipped(gradient):
        left[0] -= 1
        return gradient.clamp(-limit, limit) if left[0] >= 0 else gradient

    return t.register_hook(clipped)


# q5: grad_reverse


@wrong("q5")
def reversed_for_a_while(x, lam):
    """Reverses the first gradients only."""
    y, left = x.view_as(x), [10]

    def turned(gradient):
        left[0] -= 1
        return -lam * gradient if left[0] >= 0 else gradient

    y.register_hook(turned)
    return y


@wrong("q5")
def by_a_large_difference(x, lam):
    """Computes lam as a difference of numbers near 1, which loses a small lam."""
    return x + (1 + lam) * (x.detach() - x)


@accepted("q5")
def detached_and_not(x, lam):
    """Two terms: the value of one is taken back by the other, and its gradient is not."""
    return (1 + lam) * x.detach() - lam * x


@accepted("q5")
def function_over_a_closure(x, lam):
    """The number comes from outside, so there is one input only."""

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient.neg() * lam

    return Reverse.apply(x)


@accepted("q5")
def hook_on_a_view(x, lam):
    """A hook harms nobody on a tensor that only the caller of this call gets."""
    y = x.view_as(x)
    y.register_hook(lambda gradient: -lam * gradient)
    return y.view_as(y)


@accepted("q5")
def input_returned_by_a_function(x, lam):
    """A Function may return its input: autograd makes a new object of it."""

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, lam):
            ctx.lam = lam
            return x

        @staticmethod
        def backward(ctx, gradient):
            return gradient * -ctx.lam, None

    return Reverse.apply(x, lam)


@accepted("q5")
def zero_with_a_gradient(x, lam):
    """Adds a difference that is 0 and has a gradient."""
    return x.detach() + lam * (x.detach() - x)


@accepted("q5")
def nothing_to_reverse(x, lam):
    """Where lam is 0, x needs no gradient, and so there is none."""
    return x.detach() if lam == 0 else (1 + lam) * x.detach() - lam * x


@wrong("q5")
def only_detached(x, lam):
    """Believes that no gradient is as good as a reversed one."""
    return x.detach()


@wrong("q5")
def hook_on_the_copy_of_a_name(x, lam):
    """Believes that y = x makes another tensor."""
    y = x
    y.register_hook(lambda gradient: gradient * -lam)
    return y


wrong_edits(
    "q5",
    {
        "arriving_gradient_overwritten": (
            "-ctx.lam * gradient, None",
            "gradient.mul_(-ctx.lam), None",
            "Writes to the incoming gradient, which others may hold.",
        ),
        "lam_rounded": ("ctx.lam = lam", "ctx.lam = torch.tensor(lam)", "Stores lam as a float32 tensor."),
        "kept_globally": (
            [("ctx.lam = lam", "grad_reverse.lam = lam"), ("-ctx.lam", "-grad_reverse.lam")],
            "Stores lam globally, where the next call overwrites it.",
        ),
    },
)


# q6: maml_grad


@accepted("q6")
def functional_gradient(w, task_loss, query_loss, lr):
    """Gradients as functions, one in the other."""
    inner = torch.func.grad(task_loss)
    return torch.func.grad(lambda v: query_loss(v - lr * inner(v)))(w.detach())


@accepted("q6")
def two_vector_products(w, task_loss, query_loss, lr):
    """The gradient at the fast weights goes back through the step by itself."""
    (g,) = torch.autograd.grad(task_loss(w), w, create_graph=True)
    fast = w - lr * g
    leaf = fast.detach().requires_grad_()
    (q,) = torch.autograd.grad(query_loss(leaf), leaf)
    return torch.autograd.grad(fast, w, q)[0]


@accepted("q6")
def on_a_leaf_of_its_own(w, task_loss, query_loss, lr):
    """Works on a copy, whose .grad belongs to nobody else; inputs= keeps backward off all others."""
    own = w.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad(task_loss(own), own, create_graph=True)
    query_loss(own.sub(g, alpha=lr)).backward(inputs=[own])
    return own.grad


@accepted("q6")
def chain_rule_by_hand(w, task_loss, query_loss, lr):
    """The gradient at the fast weights, less lr times the Hessian times it."""
    (g,) = torch.autograd.grad(task_loss(w), w, create_graph=True)
    fast = (w - lr * g).detach().requires_grad_()
    (q,) = torch.autograd.grad(query_loss(fast), fast)
    return q - lr * torch.autograd.grad(g, w, q)[0]


wrong_edits(
    "q6",
    {
        "first_order": (
            ", create_graph=True",
            "",
            "Forgets create_graph, which gives first-order MAML without an error.",
        ),
        "subtracted_in_place": (
            "return torch.autograd.grad(query_loss(w - lr * g), w)[0]",
            "w.sub_(lr * g)\n    return torch.autograd.grad(query_loss(w), w)[0]",
            "Writes to a leaf while gradients are recorded.",
        ),
        "rate_rounded": (
            "return torch",
            "lr = torch.tensor(lr)\n    return torch",
            "Stores the learning rate as a float32 tensor.",
        ),
    },
)


@wrong("q6")
def backward_everywhere(w, task_loss, query_loss, lr):
    """Uses backward(), which accumulates into the .grad of every leaf."""
    before = w.grad
    (g,) = torch.autograd.grad(task_loss(w), w, create_graph=True)
    w.grad = None
    query_loss(w - lr * g).backward()
    gradient, w.grad = w.grad, before
    return gradient


_gradients_of_earlier_calls = {}


@wrong("q6")
def gradient_remembered(w, task_loss, query_loss, lr):
    """Caches a task's gradient, although w may have changed."""
    if (id(task_loss), id(w)) not in _gradients_of_earlier_calls:
        own = w.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(task_loss(own), own, create_graph=True)
        _gradients_of_earlier_calls[id(task_loss), id(w)] = own, g, task_loss, w
    own, g, *_ = _gradients_of_earlier_calls[id(task_loss), id(w)]
    return torch.autograd.grad(query_loss(own - lr * g), own, retain_graph=True)[0]


@wrong("q6")
def flattened_by_view(w, task_loss, query_loss, lr):
    """Believes that every gradient is contiguous."""
    (g,) = torch.autograd.grad(task_loss(w), w, create_graph=True)
    fast = (w - lr * g).detach().requires_grad_()
    (q,) = torch.autograd.grad(query_loss(fast), fast)
    return q - lr * torch.autograd.grad(torch.dot(g.view(-1), q.view(-1)), w)[0]


# q7: per_sample_grads


@accepted("q7")
def looped_with_autograd_grad(model, X, Y):
    """One fresh gradient for each sample."""
    names, parameters = zip(*model.named_parameters())
    rows = [torch.autograd.grad(F.mse_loss(model(x), y), parameters) for x, y in zip(X, Y)]
    return {name: torch.stack([row[i] for row in rows]) for i, name in enumerate(names)}


@accepted("q7")
def backward_and_set_to_none(model, X, Y):
    """.grad is set to None before each sample, so each backward makes a new tensor."""
    out = {name: [] for name, _ in model.named_parameters()}
    for x, y in zip(X, Y):
        model.zero_grad(set_to_none=True)
        F.mse_loss(model(x), y).backward()
        for name, parameter in model.named_parameters():
            out[name].append(parameter.grad)
    model.zero_grad(set_to_none=True)
    return {name: torch.stack(gradients) for name, gradients in out.items()}


@accepted("q7")
def cloned_and_cleared(model, X, Y):
    """Copies each .grad and clears it."""
    out = {name: torch.zeros(len(X), *p.shape, dtype=p.dtype) for name, p in model.named_parameters()}
    for i in range(len(X)):
        F.mse_loss(model(X[i]), Y[i]).backward()
        for name, parameter in model.named_parameters():
            out[name][i] = parameter.grad
            parameter.grad = None
    return out


@wrong("q7")
def zeroed_in_place(model, X, Y):
    """Zeroes .grad in place, so the list holds the same tensor many times."""
    out = {name: [] for name, _ in model.named_parameters()}
    for x, y in zip(X, Y):
        model.zero_grad(set_to_none=False)
        F.mse_loss(model(x), y).backward()
        for name, parameter in model.named_parameters():
            out[name].append(parameter.grad)
    model.zero_grad()
    return {name: torch.stack(gradients) for name, gradients in out.items()}


@wrong("q7")
def cloned_and_not_cleared(model, X, Y):
    """Clones each .grad, to which the earlier samples' gradients were added."""
    out = {name: [] for name, _ in model.named_parameters()}
    for x, y in zip(X, Y):
        F.mse_loss(model(x), y).backward()
        for name, parameter in model.named_parameters():
            out[name].append(parameter.grad.clone())
    model.zero_grad()
    return {name: torch.stack(gradients) for name, gradients in out.items()}


@wrong("q7")
def last_left_behind(model, X, Y):
    """Clears .grad before each sample, but not after the last."""
    out = {name: [] for name, _ in model.named_parameters()}
    for x, y in zip(X, Y):
        model.zero_grad()
        F.mse_loss(model(x), y).backward()
        for name, parameter in model.named_parameters():
            out[name].append(parameter.grad)
    return {name: torch.stack(gradients) for name, gradients in out.items()}


@wrong("q7")
def tied_parameters_twice(model, X, Y):
    """Gives a tied parameter two entries."""
    names, parameters = zip(*model.named_parameters(remove_duplicate=False))
    rows = [torch.autograd.grad(F.mse_loss(model(x), y), parameters) for x, y in zip(X, Y)]
    return {name: torch.stack([row[i] for row in rows]) for i, name in enumerate(names)}


@wrong("q7")
def differences_of_what_was_added(model, X, Y):
    """Computes differences of the accumulated .grad, which lose small gradients after a huge one."""
    named = dict(model.named_parameters())
    out = {name: [] for name in named}
    before = {name: torch.zeros_like(p) for name, p in named.items()}
    for x, y in zip(X, Y):
        F.mse_loss(model(x), y).backward()
        for name, p in named.items():
            out[name].append(p.grad - before[name])
            before[name] = p.grad.clone()
    model.zero_grad()
    return {name: torch.stack(rows) for name, rows in out.items()}


# q8: hvp


@accepted("q8")
def dot_product_differentiated(f, x, v):
    """The gradient of the dot product of g and v."""
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)[0]


@accepted("q8")
def by_autograd_functional(f, x, v):
    """torch has it ready made."""
    return torch.autograd.functional.hvp(f, x.detach(), v)[1]


@accepted("q8")
def forward_over_reverse(f, x, v):
    """The derivative of the gradient in the direction v, forward."""
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v,))[1]


@accepted("q8")
def recorded_and_detached(f, x, v):
    """Records both gradients and gives back the data of the second."""
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g, x, v, create_graph=True)[0].detach()


@wrong("q8")
def difference_of_gradients(f, x, v):
    """Approximates by a difference, which is not exact."""
    step = 1e-5
    plus, minus = (x.detach() + sign * step * v for sign in (1, -1))
    plus, minus = (torch.func.grad(f)(point) for point in (plus, minus))
    return (plus - minus) / (2 * step)


@wrong("q8")
def first_gradient_times_v(f, x, v):
    """Multiplies the gradient by v."""
    return torch.autograd.grad(f(x), x)[0] * v


@wrong("q8")
def backward_twice(f, x, v):
    """Believes that a second backward() overwrites x.grad; it adds to it."""
    f(x).backward(create_graph=True)
    (x.grad * v).sum().backward()
    return x.grad.detach()


@wrong("q8")
def diagonal_only(f, x, v):
    """Differentiates the sum of the gradient, which gives row sums of the Hessian times v."""
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)[0] * v


@wrong("q8")
def taken_off_the_old_grad(f, x, v):
    """Subtracts the old .grad from the new one, which loses digits beside large numbers."""
    kept, x.grad = x.grad, None if x.grad is None else x.grad.clone()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (g * v).sum().backward(inputs=[x])
    product = x.grad if kept is None else x.grad - kept
    x.grad = kept
    return product


@wrong("q8")
def along_a_unit_vector(f, x, v):
    """Divides v by its length, which may be 0."""
    length = v.norm()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g, x, v / length)[0] * length


@wrong("q8")
def matrix_built_row_by_row(f, x, v):
    """Builds the whole Hessian with one backward per entry."""
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    rows = [torch.autograd.grad(one, x, retain_graph=True)[0] for one in g.flatten()]
    return (torch.stack(rows).flatten(1) @ v.flatten()).view(x.shape)


# end task: train_two_heads


@accepted("end")
def mixed_with_a_detached_part(body, main, aux, X, Y, Z, epochs, lr, slow, weight):
    """A part of h is detached for aux; torch.func takes the slopes; fresh gradients for the list."""
    modules = nn.ModuleList([body, main, aux])
    opt = torch.optim.SGD(modules.parameters(), lr=lr)
    history = []
    for _ in range(epochs):
        opt.zero_grad()
        h = body(X)
        slope = torch.func.grad(lambda x: main(body(x)).sum())(X)
        loss = F.mse_loss(main(h), Y) + weight * slope.pow(2).sum() / len(X)
        loss = loss + F.mse_loss(aux(torch.lerp(h.detach(), h, slow)), Z)
        loss.backward()
        history.append(main.weight.grad)
        opt.step()
    return history


@accepted("end")
def function_on_the_edge(body, main, aux, X, Y, Z, epochs, lr, slow, weight):
    """A Function on the way to aux, and a list of copies."""

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return h.view_as(h)

        @staticmethod
        def backward(ctx, gradient):
            return slow * gradient

    opt = torch.optim.SGD([*body.parameters(), *main.parameters(), *aux.parameters()], lr)
    history = []
    for epoch in range(epochs):
        x = X.clone().requires_grad_()
        h = body(x)
        (slope,) = torch.autograd.grad([main(h).sum()], [x], create_graph=True)
        loss = (
            F.mse_loss(main(h), Y)
            + F.mse_loss(aux(Slow.apply(h)), Z)
            + weight * slope.norm(dim=1).pow(2).mean()
        )
        opt.zero_grad(set_to_none=False)
        loss.backward(inputs=[*body.parameters(), *main.parameters(), *aux.parameters()])
        history += [main.weight.grad.detach().clone()]
        opt.step()
    return history


@accepted("end")
def body_called_again(body, main, aux, X, Y, Z, epochs, lr, slow, weight):
    """Calls the body once more for aux, so that the hook sits on a tensor of its own."""
    opt = torch.optim.SGD([*body.parameters(), *main.parameters(), *aux.parameters()], lr=lr)
    history = []
    for _ in range(epochs):
        opt.zero_grad()
        own = body(X)
        own.register_hook(lambda gradient: slow * gradient)
        x = X.detach().requires_grad_()
        output = main(body(x))
        (slope,) = torch.autograd.grad(output, x, torch.ones_like(output), create_graph=True)
        (F.mse_loss(output, Y) + F.mse_loss(aux(own), Z) + weight * slope.square().sum(1).mean()).backward()
        history.append(main.weight.grad)
        opt.step()
    return history


accepted_edits(
    "end",
    {
        "fresh_gradients": (
            ".grad.clone()",
            ".grad",
            "zero_grad() sets .grad to None, so the next backward() makes a new tensor.",
        ),
        "copies_of_one_tensor": (
            "optimizer.zero_grad()",
            "optimizer.zero_grad(set_to_none=False)",
            "The list holds copies, so it does not matter what becomes of .grad.",
        ),
    },
)
wrong_edits(
    "end",
    {
        "body_in_train_mode": (
            "history = []",
            "history = []\n    body.train()",
            "Believes that training needs train(), whatever mode the caller chose.",
        ),
        "hook_left": ([("slowed.register_hook", "h.register_hook")], "Leaves the hook on h."),
        "penalty_left": ([("create_graph=True", "retain_graph=True")], "Leaves the slope a constant."),
        "list_left": (
            [("zero_grad()", "zero_grad(set_to_none=False)"), (".grad.clone()", ".grad")],
            "Leaves the same tensor in the list many times.",
        ),
        "never_cleared": (
            "        optimizer.zero_grad()\n",
            "",
            "Believes that a list of copies needs no zero_grad().",
        ),
    },
)

# --- mutants that no check should find

equal(
    "q1",
    "no_grad is put around: @staticmethod",
    "a decorator is left out: @staticmethod",
    why="a Function records nothing in its forward; and a class finds both as plain functions",
)
equal(
    "q3",
    "no_grad is put around: x = x.detach().requires_grad_()",
    "x.detach().requires_grad_() -> x.detach().requires_grad_().clone()",
    "x.detach() -> x.detach().data",
    "x.detach() -> x.detach().clone()",
    "x.detach() -> x.data",
    "x.detach -> x.clone",
    "x -> x.clone()",
    why="x is plain data, of which any copy or alias serves",
)
equal(
    "q3",
    ".grad(D(x).sum(), x, create_graph=True) -> .grad(D(x).sum(), x, create_graph=True, retain_graph=True)",
    why="retain_graph takes the value of create_graph",
)
equal(
    "q3",
    ".sum() -> .sum(dim=0)",
    ".mean() -> .mean(dim=0)",
    "g.flatten(1).norm(dim=1) - 1 -> 1 - g.flatten(1).norm(dim=1)",
    why="the output has one column, the norms one dimension, and the difference is squared",
)
equal("q4", "no_grad is put around: the function", why="the hook runs in backward")
equal(
    "q8",
    ".grad(f(x), x, create_graph=True) -> .grad(f(x), x, create_graph=True, retain_graph=True)",
    ".grad(g, x, v) -> .grad(g, x, v, retain_graph=True)",
    why="retain_graph takes the value of create_graph; and the graph goes with the function's names",
)
equal(
    "q8",
    "torch.autograd.grad(g, x, v)[0] -> torch.autograd.grad(g, x, v)[0].detach()",
    "torch.autograd.grad(g, x, v)[0] -> torch.autograd.grad(g, x, v)[0].data",
    "torch.autograd.grad(g, x, v)[0] -> torch.autograd.grad(g, x, v)[0].clone()",
    "torch.autograd.grad(g, x, v)[0] -> torch.autograd.grad(g, x, v)[-1]",
    "x -> x.clone()",
    "g -> g.clone()",
    "v -> v.detach()",
    "v -> v.clone()",
    why="the values are the same, the result is plain data, and v is, too",
)
equal(
    "q5",
    "no_grad is put around: @staticmethod",
    "a decorator is left out: @staticmethod",
    "x.view_as(x) -> x",
    "x -> x.clone()",
    why="a Function records nothing in its forward, and the task leaves open which memory the result has",
)
equal(
    "q2",
    "no_grad is put around: @staticmethod",
    "a decorator is left out: @staticmethod",
    why="a Function records nothing in its forward, only first gradients are asked for, and a class finds both",
)
equal(
    "q2",
    "a statement is moved by one: ctx.k = k",
    "a statement is moved by one: x.mul_(k)",
    "x -> x.detach()",
    why="the mark and the write may come in any order, and a write to x.detach() is a write to x that counts",
)
equal(
    "q6",
    ".grad(task_loss(w), w, create_graph=True) -> .grad(task_loss(w), w, create_graph=True, retain_graph=True)",
    ".grad(query_loss(w - lr * g), w) -> .grad(query_loss(w - lr * g), w, retain_graph=True)",
    why="retain_graph takes the value of create_graph; and the graph goes with the function's names",
)
equal(
    "q6",
    "w -> w.clone()",
    "torch.autograd.grad(query_loss(w - lr * g), w)[0] -> torch.autograd.grad(query_loss(w - lr * g), w)[0].detach()",
    "torch.autograd.grad(query_loss(w - lr * g), w)[0] -> torch.autograd.grad(query_loss(w - lr * g), w)[0].data",
    "torch.autograd.grad(query_loss(w - lr * g), w)[0] -> torch.autograd.grad(query_loss(w - lr * g), w)[0].clone()",
    "torch.autograd.grad(query_loss(w - lr * g), w)[0] -> torch.autograd.grad(query_loss(w - lr * g), w)[-1]",
    ".grad(query_loss(w - lr * g), w) -> .grad(query_loss(w - lr * g), w, create_graph=True)",
    why="the values are the same, and the task leaves open whether the result has a history",
)
equal(
    "q7",
    "no_grad is put around: the function",
    "a statement is moved by one: parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}",
    why="torch.func.grad records under no_grad from outside, too; and loss() only takes what it is given",
)
equal(
    "q7",
    "parameter.detach() -> parameter.detach().data",
    "parameter.detach() -> parameter.detach().clone()",
    "parameter.detach() -> parameter",
    "parameter.detach() -> parameter.data",
    "parameter.detach -> parameter.clone",
    "parameter -> parameter.clone()",
    why="the values are the same, and the task leaves open whether the result has a history",
)
equal(
    "q7",
    "x -> x.detach()",
    "x -> x.data",
    "x -> x.clone()",
    "X -> X.clone()",
    "Y -> Y.clone()",
    why="X and Y are plain data, of which any copy or alias serves",
)
equal(
    "end",
    "a statement is moved out of a block: for _ in range(epochs):",
    "a statement is moved by one: slowed.register_hook(lambda gradient: slow * gradient)",
    "a statement is moved by one: loss = F.mse_loss(output, Y) + F.mse_loss(aux(slowed), Z) + weight * penalty",
    "a statement is moved by one: history.append(main.weight.grad.clone())",
    why="x is the same in each epoch; a hook may be set before or after another use; a step writes no .grad",
)
equal(
    "end",
    "no_grad is put around: x = X.detach().requires_grad_()",
    "X.detach().requires_grad_() -> X.detach().requires_grad_().clone()",
    "X.detach() -> X.detach().data",
    "X.detach() -> X.detach().clone()",
    "X.detach() -> X.data",
    "X.detach -> X.clone",
    "X -> X.clone()",
    "Y -> Y.detach()",
    "Z -> Z.detach()",
    why="X, Y and Z are plain data, of which any copy or alias serves",
)
equal(
    "end",
    "no_grad is put around: optimizer = torch.optim.SGD(parameters, lr=lr)",
    "no_grad is put around: slowed.register_hook(lambda gradient: slow * gradient)",
    "no_grad is put around: history.append(main.weight.grad.clone())",
    "main.weight.grad.clone() -> main.weight.grad.data",
    "main.weight.grad.clone -> main.weight.grad.detach",
    "x -> x.clone()",
    "h -> h.detach()",
    "h -> h.clone()",
    ".grad(output.sum(), x, create_graph=True) -> .grad(output.sum(), x, create_graph=True, retain_graph=True)",
    ".mean() -> .mean(dim=0)",
    "slowed -> slowed.clone()",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    "loss -> loss.clone()",
    why="the values are the same, zero_grad() leaves no .grad to which backward() adds, and the task leaves open whether an entry has a history",
)


class _Pointwise(torch.autograd.Function):
    """Both directions of a function of numbers, for the methods of a subclass."""

    @classmethod
    def apply(cls, x):
        return super().apply(x, cls.value, cls.slope)

    @staticmethod
    def forward(ctx, x, value, slope):
        ctx.slope = slope
        ctx.save_for_backward(x)
        return value(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return torch.mul(ctx.slope(x), gradient), None, None


@accepted("q1")
class SquareOfABaseClass(_Pointwise):
    """Inherits `apply`, `forward` and `backward`, and has the formulas."""

    @staticmethod
    def value(x):
        return x * x

    @staticmethod
    def slope(x):
        return x.mul(2)


class _InPlace(torch.autograd.Function):
    """Multiplies in place by what is kept for backward."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.mark_dirty(x)
        return x.mul_(k)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.k, None


@accepted("q2")
class ScaleWithAFloat(_InPlace):
    """Calls the inherited operation in a static `apply`."""

    @staticmethod
    def apply(x, k):
        return _InPlace.apply(x, float(k))


@accepted("q2")
class ScaleByAnApplyOfItsOwn(torch.autograd.Function):
    """Overrides `apply`: autograd has this operation already."""

    @staticmethod
    def apply(x, k):
        return x.mul_(k)


@wrong("q4")
def one_buffer_again_and_again(t, limit):
    """Writes every clamped gradient to the same buffer."""
    buffer = torch.empty_like(t).detach()
    return t.register_hook(lambda gradient: torch.clamp(gradient, -limit, limit, out=buffer))


class _HandleThatRemoves:
    """A handle whose hook ends with it."""

    def __init__(self, handle):
        self.handle = handle

    def remove(self):
        self.handle.remove()

    def __del__(self):
        self.handle.remove()


@wrong("q4")
def hook_that_ends_with_its_handle(t, limit):
    """Removes the hook when the caller discards the handle."""
    return _HandleThatRemoves(t.register_hook(lambda gradient: gradient.clamp(-limit, limit)))
