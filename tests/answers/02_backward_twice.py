"""Answers to 02_backward_twice whose verdict is known."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from grader.answers import accepted, accepted_edits, equal, wrong, wrong_edits

# q1: backward_both


@accepted("q1")
def one_sum(trunk, x):
    """One backward from the sum."""
    t = trunk(x)
    d, e = t.mean(), t.sum()
    (d + e).backward()
    return d, e


@accepted("q1")
def both_at_once(trunk, x):
    """autograd.backward takes a list of roots."""
    t = trunk(x)
    d, e = t.mean(), t.sum()
    torch.autograd.backward([d, e])
    return d, e


@accepted("q1")
def through_a_cut(trunk, x):
    """Both losses go back to a detached copy of the trunk's result, and from there one backward goes on."""
    t = trunk(x)
    u = t.detach().requires_grad_()
    d, e = u.mean(), u.sum()
    d.backward()
    e.backward()
    t.backward(u.grad)
    return d, e


@accepted("q1")
def by_hand(trunk, x):
    """The gradient of the two with respect to t is a constant, so t goes back alone; numbers are returned."""
    t = trunk(x)
    t.backward(torch.full_like(t, 1 + 1 / t.numel()))
    t = t.detach()
    return t.mean(), t.sum()


@accepted("q1")
def asked_and_added(trunk, x):
    """Asks for the gradient and adds it to what is there."""
    t = trunk(x)
    d, e = t.mean(), t.sum()
    (gradient,) = torch.autograd.grad(d + e, [x])
    x.grad = gradient if x.grad is None else x.grad + gradient
    return d.detach(), e.detach()


@accepted("q1")
def the_other_way_round(trunk, x):
    """The sum first, then the mean; only the last frees."""
    t = trunk(x)
    e, d = t.sum(), t.mean()
    e.backward(retain_graph=True)
    d.backward(retain_graph=False)
    return d, e


@wrong("q1")
def forward_twice(trunk, x):
    """Believes that each backward needs a forward of its own."""
    d = trunk(x).mean()
    d.backward()
    e = trunk(x).sum()
    e.backward()
    return d, e


@wrong("q1")
def one_backward_from_the_vector(trunk, x):
    """Believes that going back from t serves both losses; it is the gradient of the sum alone."""
    t = trunk(x)
    t.backward(torch.ones_like(t))
    return t.detach().mean(), t.detach().sum()


@wrong("q1")
def old_gradient_replaced(trunk, x):
    """Believes that x.grad is there to be set."""
    t = trunk(x)
    d, e = t.mean(), t.sum()
    (x.grad,) = torch.autograd.grad(d + e, [x])
    return d, e


@wrong("q1")
def cut_copy_not_sent_on(trunk, x):
    """Cuts the trunk off for the two losses, and forgets to go on from there."""
    u = trunk(x).detach().requires_grad_()
    d, e = u.mean(), u.sum()
    (d + e).backward()
    return d, e


wrong_edits(
    "q1",
    {
        "retained_by_both": (
            "e.backward()",
            "e.backward(retain_graph=True)",
            "Retains everywhere, to be safe; all that was saved stays in memory.",
        ),
        "retained_by_the_last": (
            [
                ("d.backward(retain_graph=True)", "d.backward()"),
                ("e.backward()", "e.backward(retain_graph=True)"),
            ],
            "Retains in the wrong call.",
        ),
        "graph_of_the_gradient": (
            "retain_graph=True",
            "create_graph=True",
            "Believes that create_graph is the same as retain_graph, which it implies; x.grad gets a history.",
        ),
        "zeroed_between": (
            "e.backward()",
            "x.grad = None\n    e.backward()",
            "Believes that every backward wants an empty .grad; the gradient of d is lost.",
        ),
        "zeroed_before": (
            "t = trunk(x)",
            "x.grad = None\n    t = trunk(x)",
            "Begins with zero_grad, and drops what the caller had accumulated.",
        ),
        "means_only": ("t.sum()", "t.mean()", "Takes one loss twice."),
        "returned_the_wrong_way_round": ("return d, e", "return e, d", "Mixes the two up."),
        "sum_counted_twice": (
            "d.backward(retain_graph=True)",
            "(d + e).backward(retain_graph=True)",
            "Goes back from the sum of both, and from e again.",
        ),
        "hook_left_behind": (
            "t = trunk(x)",
            "x.register_hook(lambda gradient: gradient.clone())\n    t = trunk(x)",
            "Leaves a hook on x.",
        ),
    },
)
wrong_edits(
    "q1",
    {
        "switched_to_eval": ("t = trunk(x)", "t = trunk.train()(x)", "Believes that gradients need train()."),
        "sum_as_leaf": (
            "(d + e).backward()",
            "torch.tensor(d.item() + e.item(), requires_grad=True).backward()",
            "Makes a new leaf of two numbers, from which no path leads anywhere.",
        ),
    },
    of="one_sum",
)

wrong_edits(
    "q1",
    {
        "went_to_x_only": (
            [
                ("retain_graph=True", "retain_graph=True, inputs=[x]"),
                ("e.backward()", "e.backward(inputs=[x])"),
            ],
            "Names the inputs, and believes that the rest of the graph is freed as well.",
        ),
    },
)

equal("q1", "x -> x.clone()", why="a copy has the same values, and lets the gradient through")
equal("q1", "d -> d.clone()", "e -> e.clone()", why="the clone has the gradient of the scalar")
equal(
    "q1",
    "d -> d.detach()",
    "d -> d.data",
    "e -> e.detach()",
    "e -> e.data",
    why="whether the scalars have a history is left open",
)


@wrong("q1")
def added_row_by_row(trunk, x):
    """Believes that every result has rows to go through; one without dimensions has none."""
    t = trunk(x)
    e = sum(row.sum() for row in t)
    d = e / t.numel()
    torch.autograd.backward([d, e])
    return d, e


# q2: task_grad_norms


@accepted("q2")
def saved_and_put_back(losses, params):
    """Goes back with an empty .grad, and puts the old ones back."""
    keep, norms = [p.grad for p in params], []
    for loss in losses:
        for p in params:
            p.grad = None
        loss.backward(retain_graph=True)
        norms.append(sum(float(p.grad.pow(2).sum()) for p in params if p.grad is not None) ** 0.5)
    for p, grad in zip(params, keep):
        p.grad = grad
    return norms


@accepted("q2")
def norm_of_norms(losses, params):
    """The norm of the norms is the norm."""
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        parts = [torch.zeros(()) if grad is None else grad.norm() for grad in grads]
        norms.append(torch.linalg.vector_norm(torch.stack(parts)).item())
    return norms


@accepted("q2")
def one_long_vector(losses, params):
    """Flattens all gradients, with zeros for None, into one vector."""
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(
            loss, params, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        norms.append(float(torch.cat([grad.flatten() for grad in grads]).norm()))
    return norms


@accepted("q2")
def asked_one_by_one(losses, params):
    """One question for each loss and parameter."""

    def square(loss, p):
        (grad,) = torch.autograd.grad(loss, p, retain_graph=True, allow_unused=True)
        return 0.0 if grad is None else (grad * grad).sum().item()

    return [math.sqrt(sum(square(loss, p) for p in params)) for loss in losses]


@wrong("q2")
def zeroed_once(losses, params):
    """Clears .grad before the loop only; the second norm contains the first, and the caller's .grad is gone."""
    for p in params:
        p.grad = None
    norms = []
    for loss in losses:
        loss.backward(retain_graph=True)
        norms.append(sum(p.grad.pow(2).sum() for p in params if p.grad is not None).sqrt().item())
    return norms


@wrong("q2")
def tidied_up(losses, params):
    """Clears .grad before each backward and at the end, and believes that this leaves no traces."""
    norms = []
    for loss in losses:
        for p in params:
            p.grad = None
        loss.backward(retain_graph=True)
        norms.append(sum(p.grad.pow(2).sum() for p in params if p.grad is not None).sqrt().item())
    for p in params:
        p.grad = None
    return norms


@wrong("q2")
def zeroed_in_place(losses, params):
    """Keeps the .grad tensors, which zero_() and backward() then overwrite."""
    keep, norms = [p.grad for p in params], []
    for loss in losses:
        for p in params:
            if p.grad is not None:
                p.grad.zero_()
        loss.backward(retain_graph=True)
        norms.append(sum(p.grad.pow(2).sum() for p in params if p.grad is not None).sqrt().item())
    for p, grad in zip(params, keep):
        p.grad = grad
    return norms


@wrong("q2")
def last_one_frees(losses, params):
    """Frees with the last loss, as one should; but the caller goes back once more."""
    norms = []
    for place, loss in enumerate(losses):
        last = place == len(losses) - 1
        grads = torch.autograd.grad(loss, params, retain_graph=not last, allow_unused=True)
        norms.append(sum(grad.pow(2).sum() for grad in grads if grad is not None).sqrt().item())
    return norms


@wrong("q2")
def copies_put_back(losses, params):
    """Believes that a copy of .grad is as good as .grad; who holds the old tensor sees no gradient any more."""
    keep, norms = [None if p.grad is None else p.grad.clone() for p in params], []
    for loss in losses:
        for p in params:
            p.grad = None
        loss.backward(retain_graph=True)
        norms.append(sum(p.grad.pow(2).sum() for p in params if p.grad is not None).sqrt().item())
    for p, grad in zip(params, keep):
        p.grad = grad
    return norms


@wrong("q2")
def flattened_by_view(losses, params):
    """Believes that every gradient is contiguous."""
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        norms.append(torch.cat([grad.view(-1) for grad in grads if grad is not None]).norm().item())
    return norms


@wrong("q2")
def clipped_to_be_measured(losses, params):
    """Uses the number that clip_grad_norm_ returns."""
    norms = []
    for loss in losses:
        for p in params:
            p.grad = None
        loss.backward(retain_graph=True)
        norms.append(nn.utils.clip_grad_norm_(params, 1.0).item())
    return norms


@wrong("q2")
def measured_once(losses, params, known={}):
    """Remembers norms by place; a default lives as long as the function."""
    for place, loss in enumerate(losses):
        if place not in known:
            grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
            known[place] = sum(grad.pow(2).sum() for grad in grads if grad is not None).sqrt().item()
    return [known[place] for place in range(len(losses))]


@wrong("q2")
def detached_copies_of_losses(losses, params):
    """Detaches the loss to protect its graph."""
    return [torch.autograd.grad(loss.detach(), params, retain_graph=True)[0].norm().item() for loss in losses]


@wrong("q2")
def by_position(losses, params):
    """Believes that a loss which stands in the list twice is one loss."""
    norms = {}
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        norms[loss] = sum(grad.pow(2).sum() for grad in grads if grad is not None).sqrt().item()
    return list(norms.values())


wrong_edits(
    "q2",
    {
        "graph_freed": (
            ", retain_graph=True",
            "",
            "Believes that grad() frees nothing, as it stores nothing.",
        ),
        "unused_not_allowed": (
            ", allow_unused=True",
            "",
            "Believes that every loss depends on every parameter.",
        ),
        "first_parameter_only": (
            [
                ("grad(loss, params,", "grad(loss, params[:1],"),
                ("sum(squares).sqrt().item()", "float(sum(squares)) ** 0.5"),
            ],
            "Forgets that the other parameters have gradients, too.",
        ),
        "root_forgotten": (".sqrt()", "", "Returns the square of the norm."),
        "mean_of_squares": (
            "grad.pow(2).sum()",
            "grad.pow(2).mean()",
            "Takes the root of a mean for a norm.",
        ),
        "sum_of_the_norms": (
            [("grad.pow(2).sum()", "grad.norm()"), ("sum(squares).sqrt()", "sum(squares)")],
            "Adds the norms of the parameters.",
        ),
        "largest_of_the_norms": (
            [("grad.pow(2).sum()", "grad.norm()"), ("sum(squares).sqrt()", "max(squares)")],
            "Takes the longest gradient for all of them.",
        ),
        "entries_added": ("grad.pow(2).sum()", "grad.abs().sum()", "Takes the root of the L1 norm."),
        "tensors_returned": (".sqrt().item()", ".sqrt()", "Returns tensors for floats."),
        "rounded": (
            ".sqrt().item()",
            ".sqrt().item().__round__(2)",
            "Rounds for the log, and a small norm is gone.",
        ),
        "of_the_mean_loss": (
            "grad(loss, params",
            "grad(loss / len(losses), params",
            "Shares the gradient among the tasks.",
        ),
        "squared_in_place": (
            "grad.pow(2)",
            "grad.pow_(2)",
            "Believes that each gradient has memory of its own.",
        ),
        "grad_stored": (
            "squares = [",
            "for p, grad in zip(params, grads):\n            p.grad = grad\n        squares = [",
            "Puts the gradient where gradients are looked for.",
        ),
        "hooks_as_meters": (
            "norms = []",
            "norms = []\n    for p in params:\n        p.register_hook(lambda grad: None)",
            "Leaves a hook on each parameter.",
        ),
    },
)

equal(
    "q2",
    "no_grad is put around: the function",
    why="grad() works under no_grad; the losses are there already",
)
equal(
    "q2",
    ".grad(loss, params, retain_graph=True, allow_unused=True) -> .grad(loss, params, retain_graph=True, allow_unused=True, create_graph=True)",
    why="the gradients have a history, and only numbers leave the function",
)
equal("q2", "loss -> loss.clone()", why="the clone has the gradient of the loss")
equal("q2", "sum(squares).sqrt -> sum(squares).sqrt_", why="a sum that begins with 0 is a new tensor")


@wrong("q2")
def scaled_by_the_largest(losses, params):
    """Divides by the largest entry before it squares, which is 0 where a loss is in its minimum."""
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        flat = torch.cat([grad.flatten() for grad in grads if grad is not None])
        largest = flat.abs().max()
        norms.append((largest * (flat / largest).norm()).item())
    return norms


@wrong("q2")
def read_off_as_differences(losses, params):
    """Subtracts what stood in .grad before from what stands there after; beside large numbers no digit is left."""
    keep = [None if p.grad is None else p.grad.clone() for p in params]
    norms = []
    for loss in losses:
        loss.backward(retain_graph=True)
        square = 0.0
        for p, old in zip(params, keep):
            if p.grad is not None:
                square += (p.grad if old is None else p.grad - old).pow(2).sum().item()
            if old is None:
                p.grad = None
            else:
                p.grad.copy_(old)
        norms.append(square**0.5)
    return norms


# q3: two_updates


@accepted("q3")
def unrolled(net, opt, x, y1, y2):
    """The same, written twice."""
    opt.zero_grad()
    loss1 = F.mse_loss(net(x), y1)
    loss1.backward()
    opt.step()
    opt.zero_grad()
    loss2 = F.mse_loss(net(x), y2)
    loss2.backward()
    opt.step()
    return float(loss1), float(loss2)


@accepted("q3")
def gradients_set(net, opt, x, y1, y2):
    """Asks for the gradients, and puts them where the optimizer looks."""
    parameters, losses = list(net.parameters()), []
    for y in (y1, y2):
        loss = F.mse_loss(net(x), y)
        for p, grad in zip(parameters, torch.autograd.grad(loss, parameters)):
            p.grad = grad
        opt.step()
        losses.append(loss.item())
    return tuple(losses)


@accepted("q3")
def same_update_twice(net, opt, x, y1, y2):
    """A function for one round."""

    def update(y):
        net.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
        return loss.item()

    return update(y1), update(y2)


@wrong("q3")
def written_through_data(net, opt, x, y1, y2):
    """Silences the version check with .data, as a friend says: old activations meet new weights."""
    out = net(x)
    loss1, loss2 = F.mse_loss(out, y1), F.mse_loss(out, y2)
    lr = opt.param_groups[0]["lr"]
    for loss in (loss1, loss2):
        opt.zero_grad()
        loss.backward(retain_graph=True)
        for p in net.parameters():
            p.data.sub_(lr * p.grad)
    return loss1.item(), loss2.item()


@wrong("q3")
def both_gradients_first(net, opt, x, y1, y2):
    """Computes both gradients at the old weights, then makes two steps; no error."""
    out, parameters = net(x), list(net.parameters())
    losses = F.mse_loss(out, y1), F.mse_loss(out, y2)
    grads = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in losses]
    for gradient in grads:
        for p, grad in zip(parameters, gradient):
            p.grad = grad
        opt.step()
    return losses[0].item(), losses[1].item()


@wrong("q3")
def retained_twice(net, opt, x, y1, y2):
    """Believes that retain_graph=True cures every error of backward."""
    out = net(x)
    loss1, loss2 = F.mse_loss(out, y1), F.mse_loss(out, y2)
    opt.zero_grad()
    loss1.backward(retain_graph=True)
    opt.step()
    opt.zero_grad()
    loss2.backward(retain_graph=True)
    opt.step()
    return loss1.item(), loss2.item()


@wrong("q3")
def step_on_the_sum(net, opt, x, y1, y2):
    """Makes one step for both losses."""
    out = net(x)
    loss1, loss2 = F.mse_loss(out, y1), F.mse_loss(out, y2)
    opt.zero_grad()
    (loss1 + loss2).backward()
    opt.step()
    return loss1.item(), loss2.item()


@wrong("q3")
def losses_at_the_start(net, opt, x, y1, y2):
    """Updates rightly, and reports both losses from the first forward."""
    losses = F.mse_loss(net(x), y1).item(), F.mse_loss(net(x), y2).item()
    for y in (y1, y2):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()
    return losses


@wrong("q3")
def on_a_copy_of_the_net(net, opt, x, y1, y2):
    """Takes a copy of the net for the second loss, whose parameters opt does not know."""
    other = copy.deepcopy(net)
    loss1, loss2 = F.mse_loss(net(x), y1), F.mse_loss(other(x), y2)
    opt.zero_grad()
    loss1.backward()
    opt.step()
    opt.zero_grad()
    loss2.backward()
    opt.step()
    return loss1.item(), loss2.item()


wrong_edits(
    "q3",
    {
        "never_cleared": ("opt.zero_grad()", "pass", "Believes that backward() sets .grad."),
        "cleared_after_backward": (
            [("opt.zero_grad()", "pass"), ("loss.backward()", "loss.backward()\n        opt.zero_grad()")],
            "Clears .grad between backward and step: no step has a gradient.",
        ),
        "cleared_in_the_end": (
            [("opt.zero_grad()", "pass"), ("opt.step()", "opt.step()\n        opt.zero_grad()")],
            "Relies on an empty .grad at the start.",
        ),
        "same_target_twice": ("for y in (y1, y2)", "for y in (y1, y1)", "Forgets the second target."),
        "other_way_round": ("for y in (y1, y2)", "for y in (y2, y1)", "Takes the second target first."),
        "tensors_returned_in_two": ("loss.item()", "loss.detach()", "Returns tensors for floats."),
        "training_mode": (
            "losses = []",
            "losses = []\n    net.train()",
            "Believes that updates need train().",
        ),
        "summed": (
            "F.mse_loss(net(x), y)",
            "F.mse_loss(net(x), y, reduction='sum')",
            "Takes the sum for the mean.",
        ),
        "clipped_on_the_way": (
            "opt.step()",
            "nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n        opt.step()",
            "Clips, as the recipe did.",
        ),
        "learning_rate_lowered": (
            "losses.append(loss.item())",
            "losses.append(loss.item())\n        opt.param_groups[0]['lr'] *= 0.5",
            "Lowers the learning rate for the second update, and for the caller.",
        ),
        "loss_after_the_step": (
            "losses.append(loss.item())",
            "losses.append(F.mse_loss(net(x), y).item())",
            "Reports each loss after its update.",
        ),
        "frozen_afterwards": (
            "return tuple(losses)",
            "net.requires_grad_(False)\n    return tuple(losses)",
            "Freezes the net when it is done.",
        ),
    },
)
wrong_edits(
    "q3",
    {
        "cleared_once": (
            "opt.step()\n    opt.zero_grad()",
            "opt.step()",
            "Clears .grad before the first update only: the second step contains the first gradient.",
        ),
    },
    of="unrolled",
)

equal("q3", "no_grad is put around: return tuple(losses)", why="the losses are numbers")
equal("q3", "no_grad is put around: losses.append(loss.item())", why="a number has no history")
equal("q3", "tuple(losses) -> losses", why="a list of two floats is taken for a tuple")
equal(
    "q3",
    "a statement is moved by one: loss = F.mse_loss(net(x), y)",
    why="the forward pass does not look at .grad",
)
equal(
    "q3",
    "a statement is moved by one: opt.step()",
    why="the loss was computed before the step, and keeps its value",
)
equal(
    "q3",
    "y1 -> y1.detach()",
    "y1 -> y1.data",
    "y1 -> y1.clone()",
    "y2 -> y2.detach()",
    "y2 -> y2.data",
    "y2 -> y2.clone()",
    "x -> x.detach()",
    "x -> x.clone()",
    "y -> y.detach()",
    why="x, y1 and y2 are data, and a copy has the same values",
)
equal(
    "q3",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    why="all parameters take part, so no .grad of zeros is left for the step",
)
equal(
    "q3",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="nobody goes back through it, and what stays in .grad is left open",
)


@wrong("q3")
def flattened_behind_the_first_dimension(net, opt, x, y1, y2):
    """Believes that what a net takes and gives has rows."""
    losses = []
    for y in (y1, y2):
        opt.zero_grad()
        loss = F.mse_loss(net(x).flatten(1), y.flatten(1))
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return tuple(losses)


@wrong("q3")
def looked_at_first(net, opt, x, y1, y2):
    """Computes the number by a forward pass of its own."""
    losses = []
    for y in (y1, y2):
        with torch.no_grad():
            losses.append(F.mse_loss(net(x), y).item())
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()
    return tuple(losses)


equal("q3", "loss -> loss.clone()", why="the clone has the gradient of the loss")


@wrong("q3")
def first_group_only(net, opt, x, y1, y2):
    """Believes that an optimizer has one group of parameters."""
    parameters, losses = opt.param_groups[0]["params"], []
    for y in (y1, y2):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        for p, grad in zip(parameters, torch.autograd.grad(loss, parameters)):
            p.grad = grad
        opt.step()
        losses.append(loss.item())
    return tuple(losses)


@wrong("q3")
def parameters_no_leaves_in_the_end(net, opt, x, y1, y2):
    """Multiplies the parameters by a recorded one, so that they are no leaves any more until the next call."""
    losses = []
    for p in net.parameters():
        p.detach_().requires_grad_()
    for y in (y1, y2):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    for p in net.parameters():
        p.requires_grad_(False)
        p.mul_(torch.ones((), dtype=p.dtype, requires_grad=True))
    return tuple(losses)


# q4: ContentLoss


@accepted("q4")
class TargetUnderNoGrad(nn.Module):
    """The product is computed without a record."""

    def __init__(self, target, weight):
        super().__init__()
        self.weight = weight
        with torch.no_grad():
            self.target = target * weight

    def forward(self, input):
        self.loss = ((input * self.weight - self.target) ** 2).mean()
        return input


@accepted("q4")
class DataCopied(nn.Module):
    """A clone of .data is a constant like any other."""

    def __init__(self, target, weight):
        super().__init__()
        self.target = target.data.clone() * weight
        self.weight = weight

    def forward(self, input):
        self.loss = nn.MSELoss()(self.weight * input, self.target)
        return input


@accepted("q4")
class AsBuffer(nn.Module):
    """A buffer moves with the module; the loss is weighed from outside, on a copy of the input."""

    def __init__(self, target, weight):
        super().__init__()
        self.register_buffer("target", target.detach().clone())
        self.factor = weight**2

    def forward(self, input):
        self.loss = self.factor * F.mse_loss(input.clone(), self.target)
        return input


@accepted("q4")
class ViewReturned(nn.Module):
    """What comes out is a clone of the input, with its history; what the loss needs nobody can overwrite."""

    def __init__(self, target, weight):
        super().__init__()
        self.target, self.weight = target.detach().clone(), weight

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target) * self.weight**2
        return input.clone()


wrong_edits(
    "q4",
    {
        "not_detached": (
            "target.detach() * weight",
            "target * weight",
            "Forgets the detach: the target brings its network along.",
        ),
        "memory_shared": (
            [("target.detach() * weight", "target.detach()"), ("self.target)", "self.target * self.weight)")],
            "Believes that detach() makes a copy.",
        ),
        "cloned_with_history": (
            "target.detach() * weight",
            "target.clone() * weight",
            "Believes that clone() cuts the history.",
        ),
        "detached_in_place": (
            "target.detach() * weight",
            "target.detach_() * weight",
            "Cuts the caller's own tensor off from its network.",
        ),
        "target_requires_grad": (
            "target.detach() * weight",
            "nn.Parameter(target.detach() * weight)",
            "Believes that what a module holds has to be a Parameter.",
        ),
        "loss_returned": ("return input", "return self.loss", "Returns the loss instead of the input."),
        "detached_on_its_way": (
            "return input",
            "return input.detach()",
            "Cuts all layers behind off from the image.",
        ),
        "weighted_on_its_way": (
            "return input",
            "return input * self.weight",
            "Passes on what it has weighted.",
        ),
        "backward_in_forward": (
            "return input",
            "self.loss.backward(retain_graph=True)\n        return input",
            "Goes back at once; the caller's backward adds the same again.",
        ),
        "weight_on_the_input_only": (
            "target.detach() * weight",
            "target.detach().clone()",
            "Forgets to weigh the target.",
        ),
        "weight_forgotten": (
            [("target.detach() * weight", "target.detach().clone()"), ("input * self.weight", "input")],
            "Compares without the weight.",
        ),
        "weight_in_front": (
            [
                ("target.detach() * weight", "target.detach().clone()"),
                (
                    "F.mse_loss(input * self.weight, self.target)",
                    "self.weight**2 * F.mse_loss(input, self.target)",
                ),
            ],
            "Takes the weight out of the mean, rightly; but now mse_loss saves the caller's input.",
        ),
        "summed_in_content": ("self.target)", "self.target, reduction='sum')", "Takes the sum for the mean."),
        "input_weighted_in_place": (
            "input * self.weight",
            "input.data.mul_(self.weight)",
            "Saves memory, and writes to what passes.",
        ),
        "losses_added_up": (
            "self.loss = F.mse_loss(input * self.weight, self.target)",
            "self.loss = getattr(self, 'loss', 0) + F.mse_loss(input * self.weight, self.target)",
            "Adds each loss to those of earlier iterations, whose graphs are used up.",
        ),
        "loss_without_history": (
            "input * self.weight",
            "input.detach() * self.weight",
            "Takes the loss for a number that is only looked at.",
        ),
        "first_loss_kept": (
            "self.loss = F.mse_loss(input * self.weight, self.target)",
            "if not hasattr(self, 'loss'):\n            self.loss = F.mse_loss(input * self.weight, self.target)",
            "Computes the loss once.",
        ),
        "shared_by_all": (
            "self.target = target.detach() * weight",
            "ContentLoss.target = target.detach() * weight",
            "Keeps the target in the class, where the last module wins.",
        ),
        "target_taken_at_first_use": (
            [
                ("self.target = target.detach() * weight", "self.given = target.detach()"),
                (
                    "self.loss = F.mse_loss(input * self.weight, self.target)",
                    "if not hasattr(self, 'target'):\n            self.target = self.given * self.weight\n"
                    "        self.loss = F.mse_loss(input * self.weight, self.target)",
                ),
            ],
            "Copies the target only when it is needed, which is too late.",
        ),
    },
)


@wrong("q4")
class OldBackward(nn.Module):
    """Keeps the method backward, and trusts that autograd calls it; the target has a history."""

    def __init__(self, target, weight):
        super().__init__()
        self.target, self.weight = target * weight, weight

    def forward(self, input):
        self.loss = F.mse_loss(input * self.weight, self.target)
        return input

    def backward(self, retain_graph=True):
        self.loss.backward(retain_graph=retain_graph)
        return self.loss


@wrong("q4")
class NoCopyForOne(nn.Module):
    """Multiplies only where the weight is not 1, and relies on the product for memory of its own."""

    def __init__(self, target, weight):
        super().__init__()
        constant = target.detach()
        self.target, self.weight = constant if weight == 1 else constant * weight, weight

    def forward(self, input):
        self.loss = F.mse_loss(input * self.weight, self.target)
        return input


equal("q4", "no_grad is put around: def __init__(self, target, weight):", why="the target is detached anyway")
equal(
    "q4",
    "a statement is moved by one: super().__init__()",
    why="a plain tensor may be set before; only parameters and modules may not",
)
equal(
    "q4",
    "a statement is moved by one: self.target = target.detach() * weight",
    why="the two lines do not need each other",
)
equal("q4", "target.detach() -> target.data", why="the product has memory of its own, so both cut alike")
equal("q4", "target -> target.clone()", why="a copy has the same values, and detach() cuts it, too")
equal("q4", "self.target -> self.target.detach()", why="the target has no history")
equal("q4", "input -> input.clone()", why="the task says that a copy may be returned")


@wrong("q4")
class CopiesByTarget(nn.Module):
    """Keeps its copies in the class, by the tensor; a second module of the same tensor gets the old values."""

    copies = {}

    def __init__(self, target, weight):
        super().__init__()
        if target not in self.copies:
            self.copies[target] = target.detach().clone()
        self.target, self.weight = self.copies[target] * weight, weight

    def forward(self, input):
        self.loss = F.mse_loss(input * self.weight, self.target)
        return input


# q5: accumulate


@accepted("q5")
def rescaled_afterwards(model, X, Y, micro):
    """Adds up the gradients of sums where nothing else is, divides them, and adds the old ones."""
    old = [p.grad for p in model.parameters()]
    for p in model.parameters():
        p.grad = None
    for x, y in zip(X.split(micro), Y.split(micro)):
        F.mse_loss(model(x), y, reduction="sum").backward()
    for p, o in zip(model.parameters(), old):
        p.grad.div_(Y.numel())
        p.grad = p.grad if o is None else p.grad + o


@accepted("q5")
def sums_over_all(model, X, Y, micro):
    """Adds up squares, and divides by the number of all of them, in every dtype the same."""
    for start in range(0, len(X), micro):
        squares = (model(X[start : start + micro]) - Y[start : start + micro]) ** 2
        (squares.sum() / Y.numel()).backward()


@accepted("q5")
def scaled_afterwards(model, X, Y, micro):
    """Adds up the gradients of sums where nothing else is, divides them, and puts them on top of the old ones."""
    parameters = [w for w in model.parameters() if w.requires_grad]
    old = [w.grad for w in parameters]
    for w in parameters:
        w.grad = None
    for x, y in zip(X.split(micro), Y.split(micro)):
        F.mse_loss(model(x), y, reduction="sum").backward()
    for w, on_top in zip(parameters, old):
        if w.grad is None:
            w.grad = on_top
        else:
            w.grad.div_(Y.numel())
            w.grad += 0 if on_top is None else on_top


@accepted("q5")
def asked_for(model, X, Y, micro):
    """Asks autograd for the gradients of each piece, and adds them up by hand."""
    parameters = [w for w in model.parameters() if w.requires_grad]
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y)
        for w, gradient in zip(parameters, torch.autograd.grad(loss, parameters, allow_unused=True)):
            if gradient is not None:
                gradient = gradient * (len(x) / len(X))
                w.grad = gradient if w.grad is None else w.grad + gradient


@accepted("q5")
def direction(model, X, Y, micro):
    """Gives backward the share as what it begins with."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y)
        loss.backward(torch.full_like(loss, len(x) / len(X)))


@accepted("q5")
def one_at_a_time(model, X, Y, micro):
    """Holds less than it might."""
    for x, y in zip(X, Y):
        (F.mse_loss(model(x[None]), y[None]) / len(X)).backward()


@accepted("q5")
def loader(model, X, Y, micro):
    """Lets a DataLoader cut the batch, and tells the loss."""
    total = 0.0
    for x, y in DataLoader(TensorDataset(X, Y), batch_size=micro):
        loss = F.mse_loss(model(x), y) * len(x) / len(X)
        loss.backward()
        total += loss.item()
    return total


@accepted("q5")
def loss_told_with_history(model, X, Y, micro):
    """Adds up losses whose graphs have been used up; nothing that was saved is left."""
    total = 0
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y) * (len(x) / len(X))
        loss.backward()
        total = total + loss
    return total


@accepted("q5")
def shuffled_copy(model, X, Y, micro):
    """Takes the samples in an order of its own: the mean is the same, up to the last digits."""
    for rows in torch.randperm(len(X)).split(micro):
        (F.mse_loss(model(X[rows]), Y[rows]) * len(rows) / len(X)).backward()


@accepted("q5")
def even_pieces(model, X, Y, micro):
    """As many pieces as are needed, of nearly equal size; none is larger than micro."""
    number = math.ceil(len(X) / micro)
    for x, y in zip(X.tensor_split(number), Y.tensor_split(number)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@accepted("q5")
def checkpointed(model, X, Y, micro):
    """One backward over all; what a piece needs is computed again when its turn comes."""
    loss = 0
    for x, y in zip(X.split(micro), Y.split(micro)):

        def piece(x, y):
            return F.mse_loss(model(x), y, reduction="sum") / Y.numel()

        loss = loss + checkpoint(piece, x, y, use_reentrant=False)
    loss.backward()


@wrong("q5")
def number_of_steps(model, X, Y, micro):
    """Believes that the mean of the means is the mean; the last piece is smaller."""
    steps = math.ceil(len(X) / micro)
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) / steps).backward()


@wrong("q5")
def divided_afterwards(model, X, Y, micro):
    """Believes that .grad holds nothing but what this call brought."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        F.mse_loss(model(x), y, reduction="sum").backward()
    for w in model.parameters():
        if w.grad is not None:
            w.grad /= Y.numel()


@wrong("q5")
def zero_before(model, X, Y, micro):
    """Believes that every accumulation begins with zero_grad()."""
    model.zero_grad()
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def one_backward(model, X, Y, micro):
    """Believes that the pieces save memory though one backward goes through all of them."""
    loss = sum(F.mse_loss(model(x), y) * len(x) / len(X) for x, y in zip(X.split(micro), Y.split(micro)))
    loss.backward()


@wrong("q5")
def whole_batch(model, X, Y, micro):
    """Ignores micro: the numbers are right."""
    F.mse_loss(model(X), Y).backward()


@wrong("q5")
def losses_cut_only(model, X, Y, micro):
    """Cuts the prediction in pieces, after one forward of all samples."""
    for output, y in zip(model(X).split(micro), Y.split(micro)):
        (F.mse_loss(output, y) * len(y) / len(X)).backward(retain_graph=True)


@wrong("q5")
def total_retained(model, X, Y, micro):
    """Wants the loss of the batch for the log, and keeps every graph for it."""
    total = 0
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y) * (len(x) / len(X))
        loss.backward(retain_graph=True)
        total = total + loss
    return total


@wrong("q5")
def last_graph_retained(model, X, Y, micro):
    """Retains a graph that is replaced one step later, while the next is made."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y) * (len(x) / len(X))
        loss.backward(retain_graph=True)


@wrong("q5")
def chunks_of_the_rest(model, X, Y, micro):
    """Cuts into len(X) // micro pieces, which share the rest and become greater than micro."""
    number = max(1, len(X) // micro)
    for x, y in zip(X.chunk(number), Y.chunk(number)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def rest_dropped(model, X, Y, micro):
    """Believes that micro divides the number of samples."""
    for step in range(max(1, len(X) // micro)):
        x, y = X[step * micro : (step + 1) * micro], Y[step * micro : (step + 1) * micro]
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def outputs_forgotten(model, X, Y, micro):
    """Believes that the mean divides by the number of samples, and not of entries."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y, reduction="sum") / len(X)).backward()


@wrong("q5")
def two_dimensions_only(model, X, Y, micro):
    """Knows the number of entries for a matrix of targets."""
    outputs = Y.shape[1] if Y.dim() > 1 else 1
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y, reduction="sum") / (len(X) * outputs)).backward()


@wrong("q5")
def shares_in_float32(model, X, Y, micro):
    """Makes tensors of numbers that Python knows with all digits."""
    shares = torch.tensor([len(x) / len(X) for x in X.split(micro)])
    for x, y, share in zip(X.split(micro), Y.split(micro), shares):
        (F.mse_loss(model(x), y) * share).backward()


@wrong("q5")
def in_training_mode(model, X, Y, micro):
    """Believes that whoever wants gradients has to call train()."""
    model.train()
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def in_eval_mode(model, X, Y, micro):
    """Believes that eval() makes the pieces independent and changes nothing else, and puts the model's own flag back."""
    training = model.training
    model.eval()
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()
    model.train(training)


@wrong("q5")
def tied_twice(model, X, Y, micro):
    """Goes through the names of the parameters, of which a tied one has two."""
    named = [w for _, w in model.named_parameters(remove_duplicate=False) if w.requires_grad]
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y) * len(x) / len(X)
        for w, gradient in zip(named, torch.autograd.grad(loss, named, allow_unused=True)):
            if gradient is not None:
                w.grad = gradient.clone() if w.grad is None else w.grad + gradient


@wrong("q5")
def hooks_stay(model, X, Y, micro):
    """Lets hooks weigh the gradients, and never takes them away."""
    share = [1.0]
    for w in model.parameters():
        if w.requires_grad:
            w.register_hook(lambda gradient: gradient * share[0])
    for x, y in zip(X.split(micro), Y.split(micro)):
        share[0] = len(x) / len(X)
        F.mse_loss(model(x), y).backward()


@wrong("q5")
def shares_remembered(model, X, Y, micro, shares=[]):
    """Believes that a default is made anew for every call."""
    if not shares:
        shares.extend(len(x) / len(X) for x in X.split(micro))
    for x, y, share in zip(X.split(micro), Y.split(micro), shares):
        (F.mse_loss(model(x), y) * share).backward()


@wrong("q5")
def shuffled_in_place(model, X, Y, micro):
    """Shuffles the caller's own batch: the mean is the same."""
    order = torch.randperm(len(X))
    X[:], Y[:] = X[order], Y[order]
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def on_a_copy(model, X, Y, micro):
    """Spares the model, whose .grad then stays empty."""
    worker = copy.deepcopy(model)
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(worker(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def clipped(model, X, Y, micro):
    """Clips as the recipe does, between accumulation and step."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


@wrong("q5")
def inputs_watched(model, X, Y, micro):
    """Believes that a batch has to require grad."""
    X.requires_grad_()
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def saved_elsewhere(model, X, Y, micro):
    """Moves what is saved to another place, all of it."""
    with torch.autograd.graph.save_on_cpu():
        loss = F.mse_loss(model(X), Y)
    loss.backward()


accepted_edits(
    "q5",
    {"entries_counted": ("len(x) / len(X)", "y.numel() / Y.numel()", "Counts entries for samples.")},
)

wrong_edits(
    "q5",
    {
        "share_of_micro": (
            "len(x) / len(X)",
            "micro / len(X)",
            "Believes that every piece has micro samples.",
        ),
        "whole_steps": ("len(x) / len(X)", "1 / (len(X) // micro or 1)", "Counts the whole steps only."),
        "upside_down": ("len(x) / len(X)", "len(X) / len(x)", "Divides where it should multiply."),
        "zero_inside": (
            "share = len(x) / len(X)",
            "share = len(x) / len(X)\n        model.zero_grad()",
            "Believes that every backward wants an empty .grad.",
        ),
    },
)

equal(
    "q5",
    "no_grad is put around: share = len(x) / len(X)",
    why="a share is a number of Python's, which has no history",
)
equal("q5", "X -> X.detach()", why="X does not require grad, as the task says")
equal("q5", "Y -> Y.detach()", why="Y does not require grad, as the task says")
equal("q5", "x -> x.detach()", why="x does not require grad, as X does not")
equal("q5", "y -> y.detach()", why="y does not require grad, as Y does not")
equal("q5", "x -> x.clone()", why="a copy has the same values, and is no larger than the micro-batch")
equal(
    "q5",
    ".backward() -> .backward(retain_graph=True)",
    why="nobody keeps the loss, so its graph is gone before the next one begins",
)


# q6: train_task


@accepted("q6")
def model_zero_grad(model, opt, task, x, y):
    """The method of the module sets None, too."""
    model.zero_grad()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@accepted("q6")
def none_in_a_loop(model, opt, task, x, y):
    """Sets None by hand."""
    for p in model.parameters():
        p.grad = None
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@accepted("q6")
def only_what_was_asked_for(model, opt, task, x, y):
    """Asks for the gradients of the parts in use, and gives all others None."""
    head = model.heads[task]
    used = [*model.trunk.parameters(), *head.parameters()]
    loss = F.mse_loss(head(model.trunk(x)), y)
    grads = dict(zip(used, torch.autograd.grad(loss, used)))
    for p in model.parameters():
        p.grad = grads.get(p)
    opt.step()


@accepted("q6")
def zeros_here_and_none_there(model, opt, task, x, y):
    """Zeros are harmless where a gradient arrives; the other heads get None."""
    opt.zero_grad(set_to_none=False)
    for place, head in enumerate(model.heads):
        if place != task:
            head.zero_grad(set_to_none=True)
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@accepted("q6")
def cleared_after_the_backward(model, opt, task, x, y):
    """The other heads are cleared between backward and step."""
    opt.zero_grad()
    loss = ((model.heads[task](model.trunk(x)) - y) ** 2).mean()
    loss.backward()
    for place, head in enumerate(model.heads):
        if place != task:
            for p in head.parameters():
                p.grad = None
    opt.step()
    opt.zero_grad()
    return loss.item()


@wrong("q6")
def zeroed_in_place_in_tasks(model, opt, task, x, y):
    """Believes that zero_() and None are the same."""
    for p in model.parameters():
        if p.grad is not None:
            p.grad.zero_()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@wrong("q6")
def frozen_for_ever(model, opt, task, x, y):
    """Freezes the other heads and never thaws them."""
    for place, head in enumerate(model.heads):
        if place != task:
            head.requires_grad_(False)
    opt.zero_grad()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@wrong("q6")
def frozen_with_an_old_gradient(model, opt, task, x, y):
    """Freezes the other heads for the step; the optimizer goes by .grad, not by requires_grad."""
    for place, head in enumerate(model.heads):
        head.requires_grad_(place == task)
    for p in model.parameters():
        if p.grad is not None and p.requires_grad:
            p.grad.zero_()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()
    for head in model.heads:
        head.requires_grad_(True)


@wrong("q6")
def frozen_by_turns(model, opt, task, x, y):
    """Freezes the heads of other tasks until their turn comes: at the end of a call some are frozen."""
    for place, head in enumerate(model.heads):
        head.requires_grad_(place == task)
    opt.zero_grad()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@wrong("q6")
def put_back_afterwards(model, opt, task, x, y):
    """Puts the values of the other heads back after the step; what opt remembers has changed."""
    others = [p for place, head in enumerate(model.heads) if place != task for p in head.parameters()]
    keep = [p.detach().clone() for p in others]
    opt.zero_grad(set_to_none=False)
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()
    with torch.no_grad():
        for p, value in zip(others, keep):
            p.copy_(value)


@wrong("q6")
def memory_of_others_dropped(model, opt, task, x, y):
    """Lets opt forget the other heads, so that momentum cannot move them."""
    for place, head in enumerate(model.heads):
        if place != task:
            for p in head.parameters():
                opt.state.pop(p, None)
    opt.zero_grad()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@wrong("q6")
def new_optimizer(model, opt, task, x, y):
    """Makes an optimizer for the parts in use, which remembers nothing."""
    used = [*model.trunk.parameters(), *model.heads[task].parameters()]
    own = type(opt)(used, lr=opt.param_groups[0]["lr"], weight_decay=opt.param_groups[0]["weight_decay"])
    own.zero_grad()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    own.step()


@wrong("q6")
def groups_changed(model, opt, task, x, y):
    """Tells opt to hold the parts in use only."""
    opt.zero_grad()
    opt.param_groups[0]["params"] = [*model.trunk.parameters(), *model.heads[task].parameters()]
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@wrong("q6")
def without_decay(model, opt, task, x, y):
    """Switches momentum and decay off, so that a gradient of 0 moves nothing."""
    for group in opt.param_groups:
        group["weight_decay"] = 0.0
        if "momentum" in group:
            group["momentum"] = 0.0
    opt.zero_grad(set_to_none=False)
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


wrong_edits(
    "q6",
    {
        "cleared_before_the_step": (
            "opt.step()",
            "opt.zero_grad()\n    opt.step()",
            "Clears .grad between backward and step: nothing is learned.",
        ),
        "never_cleared_in_tasks": (
            "opt.zero_grad(set_to_none=True)",
            "pass",
            "Lets gradients of all calls add up.",
        ),
        "used_parts_cleared_only": (
            "opt.zero_grad(set_to_none=True)",
            "model.trunk.zero_grad()\n    model.heads[task].zero_grad()",
            "Clears what is used; the other heads keep the gradients of earlier calls.",
        ),
        "heads_cleared_only": (
            "opt.zero_grad(set_to_none=True)",
            "model.heads.zero_grad()",
            "Forgets the trunk.",
        ),
        "first_head": ("model.heads[task]", "model.heads[0]", "Ignores the task."),
        "trunk_spared": ("model.trunk(x)", "model.trunk(x).detach()", "Spares the trunk its gradient."),
        "all_heads_touched": (
            "y).backward()",
            "y).add(sum(0 * p.sum() for p in model.heads.parameters())).backward()",
            "Gives every head a gradient of 0, so that none is missing.",
        ),
        "switched_to_train": (
            "opt.zero_grad(set_to_none=True)",
            "model.train()\n    opt.zero_grad(set_to_none=True)",
            "Believes that a step needs train().",
        ),
        "two_steps": ("opt.step()", "opt.step()\n    opt.step()", "Steps twice with one gradient."),
    },
)


@wrong("q6")
def zeros_taken_for_none(model, opt, task, x, y):
    """Believes that a gradient of zeros has not arrived; that of a sleeping relu has."""
    opt.zero_grad(set_to_none=False)
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    for p in model.parameters():
        if p.grad is not None and not p.grad.any():
            p.grad = None
    opt.step()


@wrong("q6")
def values_and_memory_put_back(model, opt, task, x, y):
    """Lets the other heads step with zeros, and puts their values and what opt remembers of them back."""
    opt.zero_grad(set_to_none=False)
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    others = [p for n, head in enumerate(model.heads) if n != task for p in head.parameters()]
    kept = [(p, p.data, opt.state.get(p)) for p in others]
    for p, data, state in kept:
        p.data = data.clone()
        if state is not None:
            opt.state[p] = copy.deepcopy(state)
    opt.step()
    for p, data, state in kept:
        p.data = data
        opt.state.pop(p, None)
        if state is not None:
            opt.state[p] = state


@accepted("q6")
def in_a_closure(model, opt, task, x, y):
    """The optimizer calls what computes the loss, as all of torch's can."""

    def closure():
        opt.zero_grad()
        loss = F.mse_loss(model.heads[task](model.trunk(x)), y)
        loss.backward()
        return loss

    opt.step(closure)


equal("q6", ".zero_grad(set_to_none=True) -> .zero_grad()", why="None is the default since torch 2.0")
equal(
    "q6",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="nobody keeps the loss, and what stays in .grad is left open",
)
equal(
    "q6",
    "x -> x.detach()",
    "x -> x.clone()",
    "y -> y.detach()",
    why="x and y are data, and a copy has the same values",
)


@wrong("q6")
def cleared_by_prefix(model, opt, task, x, y):
    """Believes that only names of one head begin with heads.1; those of heads.10 do, too."""
    opt.zero_grad(set_to_none=False)
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    for name, p in model.named_parameters():
        if name.startswith("heads.") and not name.startswith(f"heads.{task}"):
            p.grad = None
    opt.step()


# q7: validation_loss


@accepted("q7")
def item_and_del(model, loader):
    """A number is added; the last loss goes at once."""
    total = 0.0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        total += loss.item()
        del loss
    return total / len(loader)


@accepted("q7")
def item_only(model, loader):
    """The name still refers to the loss of the batch before: that is one graph."""
    total = 0.0
    for x, y in loader:
        out = model(x)
        loss = F.mse_loss(out, y)
        total += loss.item()
    return total / len(loader)


@accepted("q7")
def detached_sum(model, loader):
    """A tensor without a history is added, and becomes a number at the end."""
    total = torch.zeros(())
    for x, y in loader:
        total += F.mse_loss(model(x), y).detach()
    return float(total / len(loader))


@accepted("q7")
def in_one_line(model, loader):
    """Each loss becomes a number before the next is computed."""
    return sum(float(F.mse_loss(model(x), y)) for x, y in loader) / len(loader)


@accepted("q7")
@torch.inference_mode()
def in_inference_mode(model, loader):
    """Nothing is recorded, so a list of tensors is harmless; the result is made a number."""
    model.eval()
    return torch.stack([F.mse_loss(model(x), y) for x, y in loader]).mean().item()


@wrong("q7")
def item_at_the_end(model, loader):
    """Makes a number of the sum, when all graphs have been kept already."""
    total = 0.0
    for x, y in loader:
        total = total + F.mse_loss(model(x), y)
    return (total / len(loader)).item()


@wrong("q7")
def list_of_losses(model, loader):
    """Keeps the losses in a list; each holds its graph."""
    losses = [F.mse_loss(model(x), y) for x, y in loader]
    return torch.stack(losses).mean().item()


@wrong("q7")
def result_detached(model, loader):
    """Detaches what it returns, and returns a tensor."""
    total = 0.0
    for x, y in loader:
        total += F.mse_loss(model(x), y)
    return (total / len(loader)).detach()


@wrong("q7")
def eval_for_no_grad(model, loader):
    """Believes that eval() switches the recording off."""
    model.eval()
    total = 0.0
    for x, y in loader:
        total += F.mse_loss(model(x), y)
    return total.item() / len(loader)


@wrong("q7")
def graphs_freed_by_backward(model, loader):
    """Calls backward to free the graphs, and fills the .grad of the model; the nodes live on in total."""
    total = 0.0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        loss.backward()
        total += loss
    return total.item() / len(loader)


@wrong("q7")
def predictions_first(model, loader):
    """Predicts everything, then compares."""
    outputs = [(model(x), y) for x, y in loader]
    return sum(F.mse_loss(out, y).item() for out, y in outputs) / len(outputs)


@wrong("q7")
def history_kept(model, loader, history=[]):
    """Keeps the losses for a plot."""
    total = 0.0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        history.append(loss)
        total += loss.item()
    return total / len(loader)


@wrong("q7")
def last_loss_on_the_model(model, loader):
    """Leaves the last loss where it can be looked at."""
    total = 0.0
    for x, y in loader:
        model.last_loss = F.mse_loss(model(x), y)
        total += model.last_loss.item()
    return total / len(loader)


@wrong("q7")
def by_samples(model, loader):
    """Weighs each batch by its samples."""
    total, number = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += F.mse_loss(model(x), y).item() * len(x)
            number += len(x)
    return total / number


@wrong("q7")
def switched_off_for_good(model, loader):
    """Switches the recording off, and not on again."""
    torch.set_grad_enabled(False)
    return sum(F.mse_loss(model(x), y).item() for x, y in loader) / len(loader)


@wrong("q7")
def switched_on_at_the_end(model, loader):
    """Switches on at the end what may have been off before."""
    torch.set_grad_enabled(False)
    mean = sum(F.mse_loss(model(x), y).item() for x, y in loader) / len(loader)
    torch.set_grad_enabled(True)
    return mean


wrong_edits(
    "q7",
    {
        "recording_goes_on": (
            [("with torch.no_grad():", "if True:"), (".item()", "")],
            "Leaves everything to the caller, who gets a tensor.",
        ),
        "back_to_training": (
            "return total",
            "model.train()\n    return total",
            "Puts the model into train(), in which it was not.",
        ),
        "frozen": (
            "with torch.no_grad():",
            "model.requires_grad_(False)\n    if True:",
            "Freezes the model, so that nothing is recorded.",
        ),
        "sum_returned": ("total / len(loader)", "total", "Forgets to divide."),
        "last_batch_only": ("total +=", "total =", "Keeps the last loss only."),
        "without_the_last": (
            "in loader:",
            "in list(loader)[:-1] or loader:",
            "Leaves the smaller batch out.",
        ),
        "tensor_returned": (".item()", "", "Returns a tensor without a history."),
        "rounded_in_validation": (
            "return total / len(loader)",
            "return round(total / len(loader), 2)",
            "Rounds for the log.",
        ),
        "gradients_cleared": (
            "total = 0.0",
            "total = 0.0\n    model.zero_grad()",
            "Clears gradients that belong to the training.",
        ),
        "batches_indexed": (
            [
                ("for x, y in loader:", "for place in range(len(loader)):"),
                ("model(x), y)", "model(loader[place][0]), loader[place][1])"),
            ],
            "Believes that a loader is a list.",
        ),
    },
)

equal("q7", "no_grad is put around: the function", why="nothing of the call is meant to be recorded")
equal(
    "q7",
    "a statement is moved into a block: total = 0.0",
    "a statement is moved into a block: return total / len(loader)",
    why="a number has no history",
)
equal(
    "q7",
    "with, try or if is taken away: with torch.no_grad():",
    "torch.no_grad -> torch.enable_grad",
    why="the graph of each batch goes before the next comes, as item() keeps nothing of it",
)
equal(
    "q7",
    "total += F.mse_loss(model(x), y).item() -> total = total + F.mse_loss(model(x), y).item()",
    why="a float is added either way",
)
equal("q7", "x -> x.clone()", why="a copy has the same values")
equal("q7", "torch.no_grad -> torch.inference_mode", why="only numbers leave the block")


@wrong("q7")
def batches_remembered(model, loader, known={}):
    """Reads each loader once, and believes that nobody puts other batches into it."""
    _, batches = known.setdefault(id(loader), (loader, list(loader)))
    with torch.no_grad():
        return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)


# end: distil


@accepted("end")
def sums_over_the_batch(model, teacher, opt, inputs, micro, epochs):
    """Sums of squares, divided by the number of elements of the batch; the answers are detached."""
    answers, history = [teacher(x).detach() for x in inputs], []
    for _ in range(epochs):
        losses = []
        for x, answer in zip(inputs, answers):
            opt.zero_grad()
            losses.append(0.0)
            for start in range(0, len(x), micro):
                wanted = answer[start : start + micro]
                loss = F.mse_loss(model(x[start : start + micro]), wanted, reduction="sum") / answer.numel()
                loss.backward()
                losses[-1] += float(loss)
            opt.step()
        history.append(sum(losses) / len(losses))
    return history


@accepted("end")
def answers_when_first_needed(model, teacher, opt, inputs, micro, epochs):
    """Asks the teacher within the first epoch, and goes back from the predictions."""
    known, history = {}, []
    for _ in range(epochs):
        total = torch.zeros((), dtype=inputs[0].dtype)
        for place, x in enumerate(inputs):
            if place not in known:
                known[place] = teacher(x).data
            for p in model.parameters():
                p.grad = None
            for piece, wanted in zip(x.split(micro), known[place].split(micro)):
                predicted = model(piece)
                gap = predicted.detach() - wanted
                predicted.backward(2 * gap / known[place].numel())
                total += gap.square().sum() / known[place].numel() / len(inputs)
            opt.step()
        history.append(total.item())
    return history


@accepted("end")
def gradients_asked_for(model, teacher, opt, inputs, micro, epochs):
    """Adds what autograd.grad returns for each piece, and hands the sums over."""
    answers, history = [torch.no_grad()(teacher)(x) for x in inputs], []
    trained = [*model.parameters()]
    for _ in range(epochs):
        means = []
        for x, answer in zip(inputs, answers):
            sums, mean = [torch.zeros_like(p) for p in trained], 0.0
            for piece, wanted in zip(x.split(micro), answer.split(micro)):
                loss = F.mse_loss(model(piece), wanted) * (len(piece) / len(x))
                for found, gradient in zip(sums, torch.autograd.grad(loss, trained)):
                    found += gradient
                mean += loss.item()
            for p, gradient in zip(trained, sums):
                p.grad = gradient
            opt.step()
            means.append(mean)
        history.append(math.fsum(means) / len(means))
    return history


wrong_edits(
    "end",
    {
        "answers_with_a_history": (
            "with torch.no_grad():\n        answers",
            "if True:\n        answers",
            "Leaves the first bug: believes that a second backward never gets as far as the teacher.",
        ),
        "means_of_pieces_added": (" * share", "", "Leaves the second bug: believes that means add up."),
        "losses_added": (
            "loss.item()",
            "loss",
            "Leaves the third bug: believes that a sum of losses is a number.",
        ),
        "only_the_answers_mended": (
            [(" * share", ""), ("loss.item()", "loss")],
            "Mends what stops, and leaves two bugs.",
        ),
        "only_the_sum_mended": (
            [(" * share", ""), ("with torch.no_grad():\n        answers", "if True:\n        answers")],
            "Mends the sum, and leaves two bugs.",
        ),
        "graph_of_the_teacher_retained": (
            [
                ("with torch.no_grad():\n        answers", "if True:\n        answers"),
                ("loss.backward()", "loss.backward(retain_graph=True)"),
            ],
            "Does what the error's text recommends; now the teacher is taught in every epoch.",
        ),
        "teacher_frozen": (
            "with torch.no_grad():\n        answers",
            "teacher.requires_grad_(False)\n    if True:\n        answers",
            "Freezes the teacher for good.",
        ),
        "gradients_of_the_teacher_cleared": (
            [
                ("with torch.no_grad():\n        answers", "if True:\n        answers"),
                ("loss.backward()", "loss.backward(retain_graph=True)"),
                ("    return history", "    teacher.zero_grad()\n    return history"),
            ],
            "Retains the graph, and tidies up what has arrived at the teacher, and what was there before.",
        ),
        "answers_copied": (
            "with torch.no_grad():\n        answers = [teacher(x) for",
            "if True:\n        answers = [teacher(x).clone() for",
            "Believes that a copy has no history.",
        ),
        "teacher_asked_in_every_epoch": (
            "for x, answer in zip(inputs, answers):",
            "for x, answer in ((x, teacher(x).detach()) for x in inputs):",
            "Makes a new graph for each epoch, and pays for the large model each time.",
        ),
        "teacher_set_to_eval": (
            "history = []",
            "history = []\n    teacher.eval()",
            "Believes that a teacher has to be in eval mode, whatever the caller has chosen.",
        ),
        "model_set_to_train": (
            "history = []",
            "history = []\n    model.train()",
            "Believes that a training needs model.train(), whatever the caller has chosen.",
        ),
        "share_of_a_full_piece": (
            "len(piece) / len(x)",
            "micro / len(x)",
            "Believes that every piece has micro samples.",
        ),
        "divided_by_the_number_of_pieces": (
            "len(piece) / len(x)",
            "1 / len(x.split(micro))",
            "Believes that the mean of the means is the mean.",
        ),
        "share_in_the_report_only": (
            [(" * share", ""), ("loss.item()", "loss.item() * share")],
            "Mends the number that is looked at, and not the gradient.",
        ),
        "sum_detached_only": ("loss.item()", "loss.detach()", "Keeps no graph, and returns tensors."),
        "kept_in_a_list": (
            [
                ("total = 0.0", "total = []"),
                ("total += loss.item()", "total.append(loss)"),
                ("total / len(inputs)", "sum(total).item() / len(inputs)"),
            ],
            "Turns the losses into a number at the end of the epoch; until then the list holds every graph.",
        ),
        "one_backward_for_a_batch": (
            [
                ("opt.zero_grad()", "opt.zero_grad()\n            whole = 0.0"),
                (
                    "                loss.backward()\n                total += loss.item()",
                    "                whole += loss",
                ),
                (
                    "            opt.step()",
                    "            whole.backward()\n            total += whole.item()\n            opt.step()",
                ),
            ],
            "Adds the pieces up and goes back once: all of them wait in memory.",
        ),
        "whole_batch_at_once": (
            "zip(x.split(micro), answer.split(micro))",
            "[(x, answer)]",
            "Needs no shares, as it needs all the memory.",
        ),
        "cleared_after_the_step": (
            [
                ("            opt.zero_grad()\n", ""),
                ("            opt.step()", "            opt.step()\n            opt.zero_grad()"),
            ],
            "Clears too late for what stood in .grad before.",
        ),
        "cleared_for_each_piece": (
            "share = len(piece)",
            "opt.zero_grad()\n                share = len(piece)",
            "Clears before each backward, as the tutorials do; only the last piece arrives.",
        ),
        "step_for_each_piece": (
            [
                ("            opt.step()\n", ""),
                ("total += loss.item()", "total += loss.item()\n                opt.step()"),
            ],
            "Steps as soon as there is a gradient.",
        ),
        "batches_weighted_by_size": (
            [
                ("total += loss.item()", "total += loss.item() * len(x)"),
                ("total / len(inputs)", "total / sum(len(x) for x in inputs)"),
            ],
            "Takes the mean over the samples.",
        ),
        "history_never_begun_anew": (
            [
                ("        total = 0.0\n", ""),
                ("history = []", "history, total = [], 0.0"),
            ],
            "Reports what all epochs so far add up to.",
        ),
    },
)

equal("end", "a statement is moved into a block: history = []", why="an empty list is an empty list")
equal(
    "end",
    "no_grad is put around: history.append(total / len(inputs))",
    "no_grad is put around: share = len(piece) / len(x)",
    why="only numbers are divided",
)
equal("end", "no_grad is put around: total += loss.item()", why="only numbers are added")
equal("end", "total += loss.item() -> total = total + loss.item()", why="a float is added either way")
equal(
    "end", "a statement is moved by one: loss.backward()", why="item() reads the loss, and backward leaves it"
)
equal(
    "end",
    "x -> x.detach()",
    "piece -> piece.detach()",
    "answer -> answer.detach()",
    "wanted -> wanted.detach()",
    "teacher(x) -> teacher(x).detach()",
    why="there is no history to cut off",
)
equal("end", "x -> x.clone()", "piece -> piece.clone()", why="a copy has the same values")
equal("end", "loss -> loss.clone()", why="the clone has the gradient of the loss")
equal(
    "end",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    why="all parameters take part, so each gets a gradient after the zeros",
)
equal(
    "end",
    ".backward() -> .backward(retain_graph=True)",
    why="the graph goes when the name loss moves on, with all that it has saved",
)


_KEPT = []


@wrong("q1")
def result_of_the_trunk_kept(trunk, x):
    """Keeps `t` in memory, detached from its graph."""
    t = trunk(x)
    d, e = t.mean(), t.sum()
    (d + e).backward()
    _KEPT[:] = [t.detach()]
    return d.detach(), e.detach()
