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
class KeptDetached(torch.autograd.Function):
    """Believes that a detached tensor is safe: it shares the memory, nothing compares, and it has no history."""

    @staticmethod
    def forward(ctx, x):
        ctx.x = x.detach()
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.x * gradient


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
class SavedTheResult(torch.autograd.Function):
    """Saves the result and takes its root: the sign is lost."""

    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return 2 * y.sqrt() * gradient


@wrong("q1")
class SavedBoth(torch.autograd.Function):
    """Saves the result as well, to be safe, so that a harmless write to the result stops backward."""

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
class DifferentiableOnce(torch.autograd.Function):
    """Forbids the second derivative by a decorator that is copied a lot."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient


@wrong("q1")
class ValuesCompared(torch.autograd.Function):
    """Compares values with a copy instead of versions: a write of equal values is not noticed."""

    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.copy = x, x.detach().clone()
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        if not torch.equal(ctx.x.detach(), ctx.copy):
            raise RuntimeError("x was overwritten")
        return 2 * ctx.x * gradient


@wrong("q1")
class AssertedVersion(torch.autograd.Function):
    """Notices the write, and raises an error of another kind."""

    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.version = x, x._version
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        assert ctx.x._version == ctx.version
        return 2 * ctx.x * gradient


wrong_edits(
    "q1",
    {
        "two_forgotten": ("2 * x * gradient", "x * gradient", "Forgets the factor 2."),
        "gradient_forgotten": ("2 * x * gradient", "2 * x", "Returns the derivative instead of the product."),
        "detached_in_backward": (
            "2 * x * gradient",
            "2 * x.detach() * gradient",
            "Detaches what is only used for a number, and so cuts the second derivative.",
        ),
        "data_in_backward": (
            "2 * x * gradient",
            "2 * x * gradient.data",
            "Believes that the gradient that comes in has no history.",
        ),
        "kept_as_a_copy": (
            "ctx.save_for_backward(x)",
            "ctx.save_for_backward(x.clone())",
            "Saves a copy where autograd looks: nobody writes to the copy.",
        ),
        "squared_in_place": (
            "return x * x",
            "return x.detach().mul_(x)",
            "Saves memory by writing the result into x.",
        ),
    },
)


@wrong("q1")
class WrittenToADenseGradient(torch.autograd.Function):
    """Saves memory by computing in the gradient that arrives, unless that is expanded or recorded."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        if torch.is_grad_enabled() or not gradient.is_contiguous():
            return 2 * x * gradient
        return gradient.mul_(x).mul_(2)


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
    """Returns a new tensor, and believes that this is the same for the caller."""

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
            "Marks x and returns a copy: what is dirty has to be returned.",
        ),
        "one_gradient": ("gradient * ctx.k, None", "gradient * ctx.k", "Forgets the entry for the number."),
        "written_to_the_gradient": (
            "gradient * ctx.k, None",
            "gradient.mul_(ctx.k), None",
            "Writes to the gradient that arrives, which others may hold.",
        ),
        "gradient_passed_on": (
            "gradient * ctx.k, None",
            "gradient, None",
            "Believes that the in-place multiplication is counted by itself.",
        ),
        "divided": (
            "gradient * ctx.k, None",
            "gradient / ctx.k, None",
            "Believes that the way back undoes the multiplication.",
        ),
        "number_on_the_class": (
            [("ctx.k = k", "Scale_.k = k"), ("gradient * ctx.k, None", "gradient * Scale_.k, None")],
            "Keeps the number on the class, where the next call overwrites it.",
        ),
        "number_rounded": (
            "ctx.k = k",
            "ctx.k = torch.tensor(k)",
            "Makes a float32 tensor of the number, which rounds it for a float64 gradient.",
        ),
        "nothing_done_for_one": (
            "x.mul_(k)",
            "if k == 1:\n            return x\n        x.mul_(k)",
            "Believes that where no value changes there is nothing to mark.",
        ),
        "factor_of_the_values": (
            [
                ("x.mul_(k)", "old = x.clone()\n        x.mul_(k)"),
                ("ctx.k = k", "ctx.k = None"),
                ("return x", "ctx.k = x.detach() / old\n        return x"),
            ],
            "Finds the factor by a division, which gives nan where x is 0.",
        ),
        "dirty_copy": (
            [
                ("x.mul_(k)", "y = x.detach().mul_(k)"),
                ("ctx.mark_dirty(x)", "ctx.mark_dirty(y)"),
                ("return x", "return y"),
            ],
            "Marks an alias that is no input.",
        ),
        "not_differentiable": (
            "ctx.mark_dirty(x)",
            "ctx.mark_non_differentiable(x)",
            "Takes the wrong mark of the two.",
        ),
    },
)


@wrong("q2")
class DataWithoutAMark(torch.autograd.Function):
    """Writes where no counter counts, and tells nobody."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.data.mul_(k)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.k, None


accepted_edits(
    "q2",
    {
        "data_with_a_mark": (
            "x.mul_(k)",
            "x.data.mul_(k)",
            "The write is not counted, but the mark is: mark_dirty moves the counter.",
        ),
    },
)


@wrong("q2")
class FlattenedFirst(torch.autograd.Function):
    """Writes to reshape(-1), which is a copy where x is not contiguous."""

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


@accepted("q3")
def functional_gradients(D, x):
    """torch.func.grad of a function of x; D's parameters are recorded from outside."""
    g = torch.func.grad(lambda samples: D(samples).sum())(x)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()


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
            "Believes that requires_grad_() gives the gradient a history.",
        ),
        "norm_of_the_batch": (
            "((g.flatten(1).norm(dim=1) - 1) ** 2).mean()",
            "(g.norm() - 1) ** 2",
            "Takes one norm over the whole batch.",
        ),
        "norm_over_channels": (
            "g.flatten(1).norm(dim=1)",
            "g.norm(dim=1)",
            "Takes the norm over the second dimension, which of an image are its channels.",
        ),
        "mean_of_the_norms": (
            "((g.flatten(1).norm(dim=1) - 1) ** 2).mean()",
            "(g.flatten(1).norm(dim=1).mean() - 1) ** 2",
            "Takes the mean before the square.",
        ),
        "data_of_the_gradient": ("(g.flatten", "(g.data.flatten", "Takes .data, and cuts the graph."),
        "mean_of_the_output": (
            "D(x).sum()",
            "D(x).mean()",
            "Takes the mean over the batch, which makes all slopes smaller.",
        ),
        "one_sided": ("- 1) ** 2", "- 1).relu() ** 2", "Punishes slopes above 1 only."),
        "caller_s_x_switched": (
            "x = x.detach().requires_grad_()",
            "x.requires_grad_()",
            "Switches on the caller's own x.",
        ),
        "sum_over_the_samples": (".mean()", ".sum()", "Takes the sum over the samples."),
        "root_kept_from_zero": (
            "g.flatten(1).norm(dim=1)",
            "(g.flatten(1).square().sum(1) + 1e-12).sqrt()",
            "Adds a little under the root, which counts where the slope is small.",
        ),
        "viewed": ("g.flatten(1)", "g.view(len(g), -1)", "Takes a view of a gradient of any layout."),
        "squeezed": (
            "g.flatten(1).norm(dim=1)",
            "g.flatten(1).squeeze().norm(dim=-1)",
            "Removes a dimension that may be the only feature.",
        ),
    },
)


@wrong("q3")
def backward_into_everything(D, x):
    """backward() fills the .grad of all parameters, with the gradient of the output."""
    x = x.detach().requires_grad_()
    D(x).sum().backward(create_graph=True)
    return ((x.grad.flatten(1).norm(dim=1) - 1) ** 2).mean()


@wrong("q3")
def zeroed_before(D, x):
    """Clears the gradients of the critic, as before a step."""
    D.zero_grad()
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()


@wrong("q3")
def critic_left_in_training_mode(D, x):
    """Switches everything to training mode, to be safe."""
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


@accepted("q4")
def chosen_by_where(t, limit):
    """Chooses by where, and keeps the sign."""

    def hook(gradient):
        return torch.where(gradient.abs() > limit, gradient.sign() * limit, gradient)

    return t.register_hook(hook)


@wrong("q4")
def nothing_returned(t, limit):
    """Computes, and returns None: the gradient goes on as it was."""

    def hook(gradient):
        gradient.clamp(-limit, limit)

    return t.register_hook(hook)


@wrong("q4")
def no_handle(t, limit):
    """Returns no handle."""
    t.register_hook(lambda gradient: gradient.clamp(-limit, limit))


@wrong("q4")
def norm_limited(t, limit):
    """Limits the norm instead of the entries."""
    return t.register_hook(lambda gradient: gradient * min(1.0, limit / float(gradient.norm())))


@wrong("q4")
def value_clamped(t, limit):
    """Clamps the tensor, not its gradient."""
    with torch.no_grad():
        t.clamp_(-limit, limit)
    return t.register_hook(lambda gradient: gradient)


@wrong("q4")
def largest_entry_asked(t, limit):
    """Looks at the largest entry only, to spare the work: an entry far below 0 is not large."""
    return t.register_hook(lambda gradient: gradient.clamp(-limit, limit) if gradient.max() > limit else None)


@wrong("q4")
def smallest_entry_asked(t, limit):
    """Looks at the smallest entry only."""
    return t.register_hook(
        lambda gradient: gradient.clamp(-limit, limit) if gradient.min() < -limit else gradient
    )


@wrong("q4")
def hook_on_the_node(t, limit):
    """Puts the hook on the node, which has other results, too."""

    def hook(gradients):
        return tuple(None if one is None else one.clamp(-limit, limit) for one in gradients)

    return t.grad_fn.register_prehook(hook)


@wrong("q4")
def hook_behind_the_node(t, limit):
    """Limits what the node hands on, not what arrives at t."""

    def hook(handed_on, arrived):
        return tuple(None if one is None else one.clamp(-limit, limit) for one in handed_on)

    return t.grad_fn.register_hook(hook)


@wrong("q4")
def other_hooks_cleared(t, limit):
    """Makes room for its own hook first."""
    if t._backward_hooks:
        t._backward_hooks.clear()
    return t.register_hook(lambda gradient: gradient.clamp(-limit, limit))


@wrong("q4")
def row_by_row(t, limit):
    """Goes through the rows, which a tensor without dimensions does not have."""
    return t.register_hook(lambda gradient: torch.stack([row.clamp(-limit, limit) for row in gradient]))


wrong_edits(
    "q4",
    {
        "only_from_above": (
            "gradient.clamp(-limit, limit)",
            "gradient.clamp(max=limit)",
            "Forgets the negative side.",
        ),
        "written_through_data": (
            "gradient.clamp(-limit, limit)",
            "gradient.data.clamp_(-limit, limit)",
            "Believes that .data is a copy.",
        ),
        "squashed": (
            "gradient.clamp(-limit, limit)",
            "limit * torch.tanh(gradient / limit)",
            "Limits smoothly, and so changes what is inside the limit.",
        ),
        "large_ones_dropped": (
            "gradient.clamp(-limit, limit)",
            "gradient * (gradient.abs() <= limit)",
            "Sets what is too large to 0.",
        ),
        "limited_to_one": ("gradient.clamp(-limit, limit)", "gradient.clamp(-1, 1)", "Ignores the limit."),
        "limit_in_float32": (
            "gradient.clamp(-limit, limit)",
            "torch.minimum(torch.maximum(gradient, torch.tensor(-limit)), torch.tensor(limit))",
            "Makes float32 numbers of the limit.",
        ),
    },
)


@wrong("q4")
def limited_for_a_while(t, limit):
    """A hook that counts, and lets all later gradients through."""
    left = [20]

    def clipped(gradient):
        left[0] -= 1
        return gradient.clamp(-limit, limit) if left[0] >= 0 else gradient

    return t.register_hook(clipped)


# q5: grad_reverse


@wrong("q5")
def reversed_for_a_while(x, lam):
    """A hook on the result that counts, and lets all later gradients through."""
    y, left = x.view_as(x), [10]

    def turned(gradient):
        left[0] -= 1
        return -lam * gradient if left[0] >= 0 else gradient

    y.register_hook(turned)
    return y


@wrong("q5")
def by_a_large_difference(x, lam):
    """Gets lam as a difference of two numbers near 1, which a small lam does not survive."""
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
def no_lambda(x, lam):
    """Forgets lam."""
    return 2 * x.detach() - x


@wrong("q5")
def hook_on_the_copy_of_a_name(x, lam):
    """Believes that y = x makes another tensor."""
    y = x
    y.register_hook(lambda gradient: gradient * -lam)
    return y


@wrong("q5")
def hook_that_removes_itself(x, lam):
    """Reverses once only, and still on x itself."""

    def reverse(gradient):
        handle.remove()
        return -lam * gradient

    handle = x.register_hook(reverse)
    return x


@wrong("q5")
def hook_on_a_view_removed_by_itself(x, lam):
    """Tidies the hook up after the first backward, though the result may go back a second time."""

    def reverse(gradient):
        handle.remove()
        return -lam * gradient

    y = x.view_as(x)
    handle = y.register_hook(reverse)
    return y


@wrong("q5")
def negative_forward(x, lam):
    """Turns the values around, too."""
    return -lam * x


wrong_edits(
    "q5",
    {
        "one_entry_for_two": (
            "-ctx.lam * gradient, None",
            "-ctx.lam * gradient",
            "Forgets the entry for lam.",
        ),
        "arriving_gradient_overwritten": (
            "-ctx.lam * gradient, None",
            "gradient.mul_(-ctx.lam), None",
            "Writes to the gradient that arrives, which others may hold.",
        ),
        "not_reversed": ("-ctx.lam * gradient, None", "ctx.lam * gradient, None", "Forgets the sign."),
        "lam_rounded": (
            "ctx.lam = lam",
            "ctx.lam = torch.tensor(lam)",
            "Makes a float32 tensor of the number, which rounds it for a float64 gradient.",
        ),
        "kept_globally": (
            [("ctx.lam = lam", "grad_reverse.lam = lam"), ("-ctx.lam", "-grad_reverse.lam")],
            "Keeps the number where the next call overwrites it.",
        ),
        "hook_on_the_result_as_well": (
            "return Reverse.apply(x, lam)",
            "y = Reverse.apply(x, lam)\n    y.register_hook(lambda gradient: -gradient)\n    return y",
            "Reverses twice.",
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
            "Forgets create_graph: first-order MAML, without an error.",
        ),
        "retained": ("create_graph=True", "retain_graph=True", "Takes retain_graph for create_graph."),
        "fast_detached": (
            "return torch.autograd.grad(query_loss(w - lr * g), w)[0]",
            "fast = (w - lr * g).detach().requires_grad_()\n    return torch.autograd.grad(query_loss(fast), fast)[0]",
            "Takes the gradient at the fast weights for that through them.",
        ),
        "data_updated": (
            "return torch.autograd.grad(query_loss(w - lr * g), w)[0]",
            "w.data -= lr * g.data\n    return torch.autograd.grad(query_loss(w), w)[0]",
            "Updates the caller's w through .data.",
        ),
        "subtracted_in_place": (
            "return torch.autograd.grad(query_loss(w - lr * g), w)[0]",
            "w.sub_(lr * g)\n    return torch.autograd.grad(query_loss(w), w)[0]",
            "Writes to a leaf while gradients are recorded.",
        ),
        "rate_rounded": (
            "return torch",
            "lr = torch.tensor(lr)\n    return torch",
            "Makes a float32 tensor of the rate, which rounds it for float64 weights.",
        ),
        "upwards": ("w - lr * g", "w + lr * g", "Takes the step uphill."),
        "g_detached": ("lr * g)", "lr * g.detach())", "Detaches the gradient that it had recorded."),
        "query_at_w": ("query_loss(w - lr * g)", "query_loss(w)", "Leaves the step out."),
        "wrong_loss_first": (
            "torch.autograd.grad(task_loss(w)",
            "torch.autograd.grad(query_loss(w)",
            "Takes the inner step on the query loss.",
        ),
    },
)


@wrong("q6")
def backward_everywhere(w, task_loss, query_loss, lr):
    """Uses backward(), which fills the .grad of all that take part."""
    before = w.grad
    (g,) = torch.autograd.grad(task_loss(w), w, create_graph=True)
    w.grad = None
    query_loss(w - lr * g).backward()
    gradient, w.grad = w.grad, before
    return gradient


@wrong("q6")
def restored_afterwards(w, task_loss, query_loss, lr):
    """Right gradient of a leaf of its own, but w is written to and restored for no reason."""
    own = w.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad(task_loss(own), own, create_graph=True)
    gradient = torch.autograd.grad(query_loss(own - lr * g), own)[0]
    with torch.no_grad():
        w.copy_(own)
    return gradient


@wrong("q6")
def optimizer_step(w, task_loss, query_loss, lr):
    """Lets an optimizer take the inner step on a copy, which is written in place and not recorded."""
    own = w.detach().clone().requires_grad_()
    opt = torch.optim.SGD([own], lr=lr)
    (own.grad,) = torch.autograd.grad(task_loss(own), own)
    opt.step()
    return torch.autograd.grad(query_loss(own), own)[0]


_gradients_of_earlier_calls = {}


@wrong("q6")
def gradient_remembered(w, task_loss, query_loss, lr):
    """Keeps the gradient of a task for the next call, though w may have moved by then."""
    if (id(task_loss), id(w)) not in _gradients_of_earlier_calls:
        own = w.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(task_loss(own), own, create_graph=True)
        _gradients_of_earlier_calls[id(task_loss), id(w)] = own, g, task_loss, w
    own, g, *_ = _gradients_of_earlier_calls[id(task_loss), id(w)]
    return torch.autograd.grad(query_loss(own - lr * g), own, retain_graph=True)[0]


@wrong("q6")
def flattened_by_view(w, task_loss, query_loss, lr):
    """Takes flat views for the dot product, though a gradient has any layout."""
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


@accepted("q7")
def differences_of_sums(model, X, Y):
    """All losses in one vector, and each of its entries goes back by itself."""
    parameters = dict(model.named_parameters())
    losses = torch.stack([F.mse_loss(model(x), y) for x, y in zip(X, Y)])
    rows = []
    for unit in torch.eye(len(X), dtype=losses.dtype):
        rows.append(torch.autograd.grad(losses, list(parameters.values()), unit, retain_graph=True))
    return {name: torch.stack(entries) for name, entries in zip(parameters, zip(*rows))}


@wrong("q7")
def zeroed_in_place(model, X, Y):
    """Sets .grad to zero in place: the list holds one tensor, that of the last sample."""
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
    """Copies each .grad, to which the earlier samples were added."""
    out = {name: [] for name, _ in model.named_parameters()}
    for x, y in zip(X, Y):
        F.mse_loss(model(x), y).backward()
        for name, parameter in model.named_parameters():
            out[name].append(parameter.grad.clone())
    model.zero_grad()
    return {name: torch.stack(gradients) for name, gradients in out.items()}


@wrong("q7")
def gradient_of_the_batch(model, X, Y):
    """Repeats the gradient of the batch."""
    names, parameters = zip(*model.named_parameters())
    gradients = torch.autograd.grad(F.mse_loss(model(X), Y), parameters)
    return {name: g.expand(len(X), *g.shape).clone() for name, g in zip(names, gradients)}


@wrong("q7")
def last_left_behind(model, X, Y):
    """Clears before each sample, and not after the last."""
    out = {name: [] for name, _ in model.named_parameters()}
    for x, y in zip(X, Y):
        model.zero_grad()
        F.mse_loss(model(x), y).backward()
        for name, parameter in model.named_parameters():
            out[name].append(parameter.grad)
    return {name: torch.stack(gradients) for name, gradients in out.items()}


@wrong("q7")
def zeros_left_behind(model, X, Y):
    """Leaves zeros where None was."""
    names, parameters = zip(*model.named_parameters())
    rows = []
    for x, y in zip(X, Y):
        model.zero_grad(set_to_none=False)
        F.mse_loss(model(x), y).backward()
        rows.append([parameter.grad.clone() for parameter in parameters])
    model.zero_grad(set_to_none=False)
    return {name: torch.stack(row) for name, row in zip(names, zip(*rows))}


wrong_edits(
    "q7",
    {
        "summed_over_the_outputs": (
            "F.mse_loss(torch.func.functional_call(model, parameters, (x,)), y)",
            'F.mse_loss(torch.func.functional_call(model, parameters, (x,)), y, reduction="sum")',
            "Takes the sum over the outputs.",
        ),
        "divided_by_the_batch": (
            "(x,)), y)",
            "(x,)), y) / len(X)",
            "Takes the share of each sample in the batch's gradient.",
        ),
        "mapped_over_the_parameters": (
            ", in_dims=(None, 0, 0)",
            "",
            "Lets vmap map over the parameters, too.",
        ),
    },
)


@wrong("q7")
def names_of_the_modules(model, X, Y):
    """Uses the last part of each name as the key."""
    names, parameters = zip(*model.named_parameters())
    rows = [torch.autograd.grad(F.mse_loss(model(x), y), parameters) for x, y in zip(X, Y)]
    return {name.split(".")[-1]: torch.stack([row[i] for row in rows]) for i, name in enumerate(names)}


@wrong("q7")
def a_list_of_dicts(model, X, Y):
    """Returns a dict for each sample instead of a dict of tensors."""
    names, parameters = zip(*model.named_parameters())
    return [dict(zip(names, torch.autograd.grad(F.mse_loss(model(x), y), parameters))) for x, y in zip(X, Y)]


@wrong("q7")
def return_forgotten(model, X, Y):
    """Collects the gradients, and returns nothing."""
    out = {name: [] for name, _ in model.named_parameters()}
    for x, y in zip(X, Y):
        for name, parameter in model.named_parameters():
            out[name].append(torch.autograd.grad(F.mse_loss(model(x), y), parameter)[0])


@wrong("q7")
def tied_parameters_twice(model, X, Y):
    """Gives a parameter that stands in two places two entries."""
    names, parameters = zip(*model.named_parameters(remove_duplicate=False))
    rows = [torch.autograd.grad(F.mse_loss(model(x), y), parameters) for x, y in zip(X, Y)]
    return {name: torch.stack([row[i] for row in rows]) for i, name in enumerate(names)}


@wrong("q7")
def differences_of_what_was_added(model, X, Y):
    """Lets .grad add up and takes differences: behind a huge gradient a small one has no digits left."""
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


_rows_of_earlier_calls = {}


@wrong("q7")
def memory_used_again(model, X, Y):
    """Writes into the memory of the last result of the same shape, which the caller may still hold."""
    out = {}
    for name, p in model.named_parameters():
        rows = torch.zeros(len(X), *p.shape, dtype=p.dtype)
        out[name] = _rows_of_earlier_calls.setdefault((name, rows.shape, rows.dtype), rows)
    for i, (x, y) in enumerate(zip(X, Y)):
        for rows, g in zip(
            out.values(), torch.autograd.grad(F.mse_loss(model(x), y), list(model.parameters()))
        ):
            rows[i] = g
    return out


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
def first_gradient_times_v(f, x, v):
    """Multiplies the gradient by v."""
    return torch.autograd.grad(f(x), x)[0] * v


@wrong("q8")
def backward_twice(f, x, v):
    """The second backward adds to the first gradient in x.grad."""
    f(x).backward(create_graph=True)
    (x.grad * v).sum().backward()
    return x.grad.detach()


@wrong("q8")
def backward_twice_and_cleared(f, x, v):
    """Clears x.grad in between, and leaves the product in it."""
    x.grad = None
    f(x).backward(create_graph=True)
    g, x.grad = x.grad, None
    (g * v).sum().backward()
    return x.grad


@wrong("q8")
def difference_of_gradients(f, x, v):
    """Approximates by a difference, which is not exact."""
    step = 1e-5
    plus, minus = (x.detach() + sign * step * v for sign in (1, -1))
    plus, minus = (torch.func.grad(f)(point) for point in (plus, minus))
    return (plus - minus) / (2 * step)


@wrong("q8")
def diagonal_only(f, x, v):
    """Differentiates the sum of g: the row sums of H, times v."""
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)[0] * v


@wrong("q8")
def taken_off_the_old_grad(f, x, v):
    """Takes the product for what backward adds to .grad: of large numbers there, few digits are left."""
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


wrong_edits(
    "q8",
    {
        "result_recorded": (
            "torch.autograd.grad(g, x, v)[0]",
            "torch.autograd.grad(g, x, v, create_graph=True)[0]",
            "Records the second gradient, too.",
        ),
        "recorded_gradient_detached": (
            "grad(g, x, v)",
            "grad(g.detach(), x, v)",
            "Detaches what it wants to differentiate.",
        ),
        "v_forgotten": (
            "torch.autograd.grad(g, x, v)[0]",
            "torch.autograd.grad(g.sum(), x)[0]",
            "Forgets v.",
        ),
    },
)


@wrong("q8")
def matrix_built(f, x, v):
    """Builds the whole matrix, though only a product is asked for."""
    unit = torch.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (H,) = torch.autograd.grad(g, x, unit, is_grads_batched=True)
    return (H.flatten(1) @ v.flatten()).view(x.shape)


@wrong("q8")
def matrix_built_row_by_row(f, x, v):
    """Builds it without a batch, which takes a backward for each entry."""
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
def gradients_of_two_losses(body, main, aux, X, Y, Z, epochs, lr, slow, weight):
    """Two calls of torch.autograd.grad, added by hand; no .grad is needed for the list."""
    opt = torch.optim.SGD([*body.parameters(), *main.parameters(), *aux.parameters()], lr=lr)
    trunk, history = list(body.parameters()), []
    for _ in range(epochs):
        x = X.detach().requires_grad_()
        h = body(x)
        (slope,) = torch.autograd.grad(main(h).sum(), x, create_graph=True)
        own = F.mse_loss(main(h), Y) + weight * (slope**2).sum(1).mean()
        beside = F.mse_loss(aux(h), Z)
        slowed = torch.autograd.grad(slow * beside, trunk, retain_graph=True)
        opt.zero_grad()
        beside.backward(inputs=list(aux.parameters()), retain_graph=True)
        own.backward(inputs=[*trunk, *main.parameters()])
        for parameter, gradient in zip(trunk, slowed):
            parameter.grad += gradient
        history.append(main.weight.grad)
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
            "Believes that a body which is trained is in train mode.",
        ),
        "hook_left": (
            [("slowed.register_hook", "h.register_hook")],
            "Finds two bugs, and leaves the hook on h.",
        ),
        "penalty_left": (
            [("create_graph=True", "retain_graph=True")],
            "Finds two bugs, and leaves the slope a constant.",
        ),
        "list_left": (
            [("zero_grad()", "zero_grad(set_to_none=False)"), (".grad.clone()", ".grad")],
            "Finds two bugs, and leaves the same tensor in the list.",
        ),
        "only_the_list_mended": (
            [("slowed.register_hook", "h.register_hook"), ("create_graph=True", "retain_graph=True")],
            "Finds what the plot shows, and no more.",
        ),
        "only_the_penalty_mended": (
            [
                ("slowed.register_hook", "h.register_hook"),
                ("zero_grad()", "zero_grad(set_to_none=False)"),
                (".grad.clone()", ".grad"),
            ],
            "Finds create_graph, and no more.",
        ),
        "only_the_hook_mended": (
            [
                ("create_graph=True", "retain_graph=True"),
                ("zero_grad()", "zero_grad(set_to_none=False)"),
                (".grad.clone()", ".grad"),
            ],
            "Finds the hook, and no more.",
        ),
        "loss_slowed": (
            [("aux(slowed)", "aux(h)"), ("+ F.mse_loss(aux", "+ slow * F.mse_loss(aux")],
            "Slows the loss of aux, and with it aux itself.",
        ),
        "cut_off": ("aux(slowed)", "aux(h.detach())", "Keeps aux away from the body altogether."),
        "not_slowed": ("aux(slowed)", "aux(h)", "Takes the hook away, so that the body learns."),
        "hook_behind_both": ("main(h)", "main(slowed)", "Gives both heads the view with the hook."),
        "slope_made_a_leaf": (
            [
                ("create_graph=True", "retain_graph=True"),
                ("slope.square()", "slope.requires_grad_().square()"),
            ],
            "Switches requires_grad on, and believes that this is a history.",
        ),
        "recorded_for_its_data": (
            "slope.square()",
            "slope.data.square()",
            "Records the slope, and takes its .data.",
        ),
        "retained_in_backward": (
            [
                ("create_graph=True", "retain_graph=True"),
                ("loss.backward()", "loss.backward(create_graph=True)"),
            ],
            "Records the wrong one of the two passes back.",
        ),
        "detached_in_the_list": (
            [("zero_grad()", "zero_grad(set_to_none=False)"), (".grad.clone()", ".grad.detach()")],
            "Takes detach() for a copy.",
        ),
        "never_cleared": (
            "        optimizer.zero_grad()\n",
            "",
            "Believes that a list of copies needs no zero_grad().",
        ),
        "whole_batch_penalised": (".sum(dim=1).mean()", ".mean()", "Takes the mean over the features, too."),
        "slope_of_the_mean": ("output.sum()", "output.mean()", "Makes all slopes smaller."),
        "data_switched_on": (
            "X.detach().requires_grad_()",
            "X.requires_grad_()",
            "Switches on the caller's own X.",
        ),
        "hooks_on_the_parameters": (
            [
                ("slowed.register_hook(lambda gradient: slow * gradient)", "pass"),
                (
                    "    history = []",
                    "    for one in body.parameters():\n        one.register_hook(lambda g: slow * g)\n    history = []",
                ),
            ],
            "Puts the hooks on the body's parameters, where they stay and slow everything.",
        ),
        "rate_of_the_body": (
            "torch.optim.SGD(parameters, lr=lr)",
            'torch.optim.SGD([{"params": body.parameters(), "lr": slow * lr}, {"params": [*main.parameters(), *aux.parameters()]}], lr=lr)',
            "Takes the factor for a smaller learning rate of the body.",
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
equal(
    "q4",
    "no_grad is put around: the function",
    why="the hook runs in backward, and nothing is computed before",
)
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


@wrong("q1")
class SquareOfADetachedTensor(_Pointwise):
    """Gives `apply` a tensor that shares the memory and the counter, and cuts the graph."""

    @classmethod
    def apply(cls, x):
        return super().apply(x.detach().requires_grad_())

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


@wrong("q2")
class ScaleOfTheData(_InPlace):
    """An `apply` that multiplies in place where autograd does not look."""

    @staticmethod
    def apply(x, k):
        _InPlace.apply(x.data, k)
        return x


@accepted("q2")
class ScaleByAnApplyOfItsOwn(torch.autograd.Function):
    """Overrides `apply`: autograd has this operation already."""

    @staticmethod
    def apply(x, k):
        return x.mul_(k)


@wrong("q4")
def one_buffer_again_and_again(t, limit):
    """Writes every clipped gradient into the same memory."""
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


@wrong("q8")
def difference_in_float64(f, x, v):
    """Takes a difference of gradients in float64 where x is float32."""
    if x.dtype == torch.float64:
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        return torch.autograd.grad(g, x, v)[0]
    step = 1e-5 * max(1.0, float(x.norm())) / max(float(v.norm()), 1e-30)
    points = (x.detach().double() + sign * step * v for sign in (1, -1))
    plus, minus = (torch.func.grad(f)(point) for point in points)
    return ((plus - minus) / (2 * step)).to(x.dtype)
