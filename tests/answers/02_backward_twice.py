"""Answers to 02_backward_twice whose verdict is known."""

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
    """Believes that t.backward() serves both losses; it computes the gradient of the sum only."""
    t = trunk(x)
    t.backward(torch.ones_like(t))
    return t.detach().mean(), t.detach().sum()


wrong_edits(
    "q1",
    {
        "retained_by_both": (
            "e.backward()",
            "e.backward(retain_graph=True)",
            "Retains the graph in both calls, which keeps all saved tensors in memory.",
        ),
        "zeroed_before": (
            "t = trunk(x)",
            "x.grad = None\n    t = trunk(x)",
            "Calls zero_grad() first and loses what the caller accumulated.",
        ),
    },
)
wrong_edits(
    "q1",
    {"switched_to_eval": ("t = trunk(x)", "t = trunk.train()(x)", "Believes that gradients need train().")},
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
            "Names x as the only input and believes that the rest of the graph is freed as well.",
        )
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


@wrong("q2")
def tidied_up(losses, params):
    """Clears .grad before each backward and at the end, and believes that this has no side effect."""
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
def last_one_frees(losses, params):
    """Frees the graph with the last loss, although the caller backpropagates once more."""
    norms = []
    for place, loss in enumerate(losses):
        last = place == len(losses) - 1
        grads = torch.autograd.grad(loss, params, retain_graph=not last, allow_unused=True)
        norms.append(sum(grad.pow(2).sum() for grad in grads if grad is not None).sqrt().item())
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
def measured_once(losses, params, known={}):
    """Uses a mutable default argument as a cache of norms."""
    for place, loss in enumerate(losses):
        if place not in known:
            grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
            known[place] = sum(grad.pow(2).sum() for grad in grads if grad is not None).sqrt().item()
    return [known[place] for place in range(len(losses))]


@wrong("q2")
def by_position(losses, params):
    """Uses the losses as keys, so that a loss that is listed twice counts once."""
    norms = {}
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        norms[loss] = sum(grad.pow(2).sum() for grad in grads if grad is not None).sqrt().item()
    return list(norms.values())


wrong_edits(
    "q2",
    {
        "unused_not_allowed": (
            ", allow_unused=True",
            "",
            "Believes that every loss depends on every parameter.",
        ),
        "squared_in_place": (
            "grad.pow(2)",
            "grad.pow_(2)",
            "Believes that no two gradients share storage, and squares them in place.",
        ),
    },
)

equal("q2", "no_grad is put around: the function", why="grad() works under no_grad; the losses exist already")
equal(
    "q2",
    ".grad(loss, params, retain_graph=True, allow_unused=True) -> .grad(loss, params, retain_graph=True, allow_unused=True, create_graph=True)",
    why="the gradients have a history, and only numbers leave the function",
)
equal("q2", "loss -> loss.clone()", why="the clone has the gradient of the loss")
equal("q2", "sum(squares).sqrt -> sum(squares).sqrt_", why="a sum that begins with 0 is a new tensor")


@wrong("q2")
def scaled_by_the_largest(losses, params):
    """Divides by the largest entry before squaring; at a loss's minimum it is 0."""
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        flat = torch.cat([grad.flatten() for grad in grads if grad is not None])
        largest = flat.abs().max()
        norms.append((largest * (flat / largest).norm()).item())
    return norms


@wrong("q2")
def read_off_as_differences(losses, params):
    """Subtracts the .grad before from the .grad after, which loses all digits beside large numbers."""
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


@wrong("q3")
def written_through_data(net, opt, x, y1, y2):
    """Hides the weight update with .data, so backward uses new weights with old activations."""
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
    """Computes both gradients at the old weights and then makes two steps."""
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
    """Believes that retain_graph=True cures every error of backward()."""
    out = net(x)
    loss1, loss2 = F.mse_loss(out, y1), F.mse_loss(out, y2)
    opt.zero_grad()
    loss1.backward(retain_graph=True)
    opt.step()
    opt.zero_grad()
    loss2.backward(retain_graph=True)
    opt.step()
    return loss1.item(), loss2.item()


wrong_edits(
    "q3",
    {
        "cleared_in_the_end": (
            [("opt.zero_grad()", "pass"), ("opt.step()", "opt.step()\n        opt.zero_grad()")],
            "Clears .grad at the end and relies on an empty .grad at the start.",
        ),
        "training_mode": (
            "losses = []",
            "losses = []\n    net.train()",
            "Believes that updates need train().",
        ),
    },
)

equal("q3", "no_grad is put around: return tuple(losses)", why="the losses are numbers")
equal("q3", "no_grad is put around: losses.append(loss.item())", why="a number has no history")
equal("q3", "tuple(losses) -> losses", why="a list of two floats is taken for a tuple")
equal("q3", "a statement is moved by one: loss = F.mse_loss(net(x), y)", why="the forward ignores .grad")
equal("q3", "a statement is moved by one: opt.step()", why="the loss was computed before the step")
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
equal("q3", ".zero_grad() -> .zero_grad(set_to_none=False)", why="every parameter gets a gradient")
equal(
    "q3",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="nobody goes back through it, and what stays in .grad is left open",
)


@wrong("q3")
def flattened_behind_the_first_dimension(net, opt, x, y1, y2):
    """Believes that the network's inputs and outputs always have rows."""
    losses = []
    for y in (y1, y2):
        opt.zero_grad()
        loss = F.mse_loss(net(x).flatten(1), y.flatten(1))
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return tuple(losses)


equal("q3", "loss -> loss.clone()", why="the clone has the gradient of the loss")


@wrong("q3")
def first_group_only(net, opt, x, y1, y2):
    """Believes that an optimizer has one parameter group."""
    parameters, losses = opt.param_groups[0]["params"], []
    for y in (y1, y2):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        for p, grad in zip(parameters, torch.autograd.grad(loss, parameters)):
            p.grad = grad
        opt.step()
        losses.append(loss.item())
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
        "cloned_with_history": (
            "target.detach() * weight",
            "target.clone() * weight",
            "Believes that `clone()` cuts the graph.",
        ),
        "not_detached": (
            "target.detach() * weight",
            "target * weight",
            "Forgets detach(), so backward also reaches the network that made the target.",
        ),
        "memory_shared": (
            [("target.detach() * weight", "target.detach()"), ("self.target)", "self.target * self.weight)")],
            "Believes that detach() copies.",
        ),
        "weight_in_front": (
            [
                ("target.detach() * weight", "target.detach().clone()"),
                (
                    "F.mse_loss(input * self.weight, self.target)",
                    "self.weight**2 * F.mse_loss(input, self.target)",
                ),
            ],
            "Takes the weight out of the mean, so mse_loss saves the caller's input.",
        ),
        "weight_rounded": (
            "self.weight = weight",
            "self.weight = torch.tensor(weight)",
            "Stores the weight in a tensor, which rounds it to float32.",
        ),
        "losses_added_up": (
            "self.loss = F.mse_loss(input * self.weight, self.target)",
            "self.loss = getattr(self, 'loss', 0) + F.mse_loss(input * self.weight, self.target)",
            "Adds each loss to those of earlier iterations, whose graphs are freed.",
        ),
        "shared_by_all": (
            "self.target = target.detach() * weight",
            "ContentLoss.target = target.detach() * weight",
            "Stores the target on the class, so the last module's target counts for all.",
        ),
    },
)


@wrong("q4")
class NoCopyForOne(nn.Module):
    """Multiplies only if the weight is not 1, and relies on the product for its own storage."""

    def __init__(self, target, weight):
        super().__init__()
        constant = target.detach()
        self.target, self.weight = constant if weight == 1 else constant * weight, weight

    def forward(self, input):
        self.loss = F.mse_loss(input * self.weight, self.target)
        return input


equal("q4", "no_grad is put around: def __init__(self, target, weight):", why="the target is detached anyway")
equal("q4", "a statement is moved by one: super().__init__()", why="a plain tensor may be set before it")
equal("q4", "a statement is moved by one: self.target = target.detach() * weight", why="the order is free")
equal("q4", "target.detach() -> target.data", why="the product has memory of its own, so both cut alike")
equal("q4", "target -> target.clone()", why="a copy has the same values, and detach() cuts it, too")
equal("q4", "self.target -> self.target.detach()", why="the target has no history")
equal("q4", "input -> input.clone()", why="the task says that a copy may be returned")


@wrong("q4")
class CopiesByTarget(nn.Module):
    """Caches copies by tensor on the class, so a second module gets old values."""

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
    """Believes that the mean of the pieces' means is the mean, although the last piece is smaller."""
    steps = math.ceil(len(X) / micro)
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) / steps).backward()


@wrong("q5")
def zero_before(model, X, Y, micro):
    """Believes that every accumulation begins with zero_grad()."""
    model.zero_grad()
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def one_backward(model, X, Y, micro):
    """Believes that splitting the batch saves memory, although one backward goes through all pieces."""
    loss = sum(F.mse_loss(model(x), y) * len(x) / len(X) for x, y in zip(X.split(micro), Y.split(micro)))
    loss.backward()


@wrong("q5")
def two_dimensions_only(model, X, Y, micro):
    """Counts the entries of the targets as if they were always a matrix."""
    outputs = Y.shape[1] if Y.dim() > 1 else 1
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y, reduction="sum") / (len(X) * outputs)).backward()


@wrong("q5")
def shares_in_float32(model, X, Y, micro):
    """Stores the pieces' shares as float32 tensors."""
    shares = torch.tensor([len(x) / len(X) for x in X.split(micro)])
    for x, y, share in zip(X.split(micro), Y.split(micro), shares):
        (F.mse_loss(model(x), y) * share).backward()


@wrong("q5")
def in_training_mode(model, X, Y, micro):
    """Believes that accumulating gradients needs train()."""
    model.train()
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q5")
def tied_twice(model, X, Y, micro):
    """Goes through parameter names, so a tied parameter counts twice."""
    named = [w for _, w in model.named_parameters(remove_duplicate=False) if w.requires_grad]
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y) * len(x) / len(X)
        for w, gradient in zip(named, torch.autograd.grad(loss, named, allow_unused=True)):
            if gradient is not None:
                w.grad = gradient.clone() if w.grad is None else w.grad + gradient


accepted_edits(
    "q5", {"entries_counted": ("len(x) / len(X)", "y.numel() / Y.numel()", "Counts entries for samples.")}
)


equal("q5", "no_grad is put around: share = len(x) / len(X)", why="a share is a Python number")
equal("q5", "X -> X.detach()", why="X does not require grad, as the task says")
equal("q5", "Y -> Y.detach()", why="Y does not require grad, as the task says")
equal("q5", "x -> x.detach()", why="x does not require grad, as X does not")
equal("q5", "y -> y.detach()", why="y does not require grad, as Y does not")
equal("q5", "x -> x.clone()", why="a copy has the same values, and is no larger than the micro-batch")
equal("q5", ".backward() -> .backward(retain_graph=True)", why="the next loss frees the graph of the last")


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
    """Believes that a gradient of zeros and None are the same to an optimizer."""
    for p in model.parameters():
        if p.grad is not None:
            p.grad.zero_()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@wrong("q6")
def frozen_for_ever(model, opt, task, x, y):
    """Freezes the other heads and never unfreezes them."""
    for place, head in enumerate(model.heads):
        if place != task:
            head.requires_grad_(False)
    opt.zero_grad()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@wrong("q6")
def memory_of_others_dropped(model, opt, task, x, y):
    """Deletes the other heads' optimizer state so that momentum cannot move them."""
    for place, head in enumerate(model.heads):
        if place != task:
            for p in head.parameters():
                opt.state.pop(p, None)
    opt.zero_grad()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    opt.step()


@wrong("q6")
def new_optimizer(model, opt, task, x, y):
    """Creates an optimizer for the parts in use, which loses the optimizer state."""
    used = [*model.trunk.parameters(), *model.heads[task].parameters()]
    own = type(opt)(used, lr=opt.param_groups[0]["lr"], weight_decay=opt.param_groups[0]["weight_decay"])
    own.zero_grad()
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    own.step()


wrong_edits(
    "q6",
    {
        "switched_to_train": (
            "opt.zero_grad(set_to_none=True)",
            "model.train()\n    opt.zero_grad(set_to_none=True)",
            "Believes that a step needs train().",
        )
    },
)


@wrong("q6")
def zeros_taken_for_none(model, opt, task, x, y):
    """Takes a gradient of zeros for no gradient, although a dead relu has one."""
    opt.zero_grad(set_to_none=False)
    F.mse_loss(model.heads[task](model.trunk(x)), y).backward()
    for p in model.parameters():
        if p.grad is not None and not p.grad.any():
            p.grad = None
    opt.step()


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
    """Matches names by prefix, so heads.1 also matches heads.10."""
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
def list_of_losses(model, loader):
    """Keeps the losses in a list; each holds its graph."""
    losses = [F.mse_loss(model(x), y) for x, y in loader]
    return torch.stack(losses).mean().item()


@wrong("q7")
def item_at_the_end(model, loader):
    """Calls .item() on the sum, when all graphs have already been kept alive."""
    total = 0.0
    for x, y in loader:
        total = total + F.mse_loss(model(x), y)
    return (total / len(loader)).item()


@wrong("q7")
def eval_for_no_grad(model, loader):
    """Believes that eval() turns off gradient recording."""
    model.eval()
    total = 0.0
    for x, y in loader:
        total += F.mse_loss(model(x), y)
    return total.item() / len(loader)


@wrong("q7")
def switched_on_at_the_end(model, loader):
    """Turns gradient recording on at the end, although it may have been off before."""
    torch.set_grad_enabled(False)
    mean = sum(F.mse_loss(model(x), y).item() for x, y in loader) / len(loader)
    torch.set_grad_enabled(True)
    return mean


wrong_edits(
    "q7",
    {
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
    """Caches the batches of each loader, although they may change."""
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


wrong_edits(
    "end",
    {
        "answers_with_a_history": (
            "with torch.no_grad():\n        answers",
            "if True:\n        answers",
            "Leaves the first bug: believes that a second backward stops before the teacher's graph.",
        ),
        "means_of_pieces_added": (
            " * share",
            "",
            "Leaves the second bug: believes that means can be added up.",
        ),
        "gradients_of_the_teacher_cleared": (
            [
                ("with torch.no_grad():\n        answers", "if True:\n        answers"),
                ("loss.backward()", "loss.backward(retain_graph=True)"),
                ("    return history", "    teacher.zero_grad()\n    return history"),
            ],
            "Clears the teacher's gradients after the training, also those from before.",
        ),
        "teacher_set_to_eval": (
            "history = []",
            "history = []\n    teacher.eval()",
            "Believes that a teacher must be in eval mode, whatever mode the caller chose.",
        ),
        "model_set_to_train": (
            "history = []",
            "history = []\n    model.train()",
            "Believes that training needs model.train(), whatever mode the caller chose.",
        ),
        "whole_batch_at_once": (
            "zip(x.split(micro), answer.split(micro))",
            "[(x, answer)]",
            "Trains on the whole batch at once, which needs all of its memory.",
        ),
        "cleared_after_the_step": (
            [
                ("            opt.zero_grad()\n", ""),
                ("            opt.step()", "            opt.step()\n            opt.zero_grad()"),
            ],
            "Clears .grad after each step only, so a gradient from before the call counts.",
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
equal("end", "a statement is moved by one: loss.backward()", why="backward doesn't change the loss")
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
equal("end", ".zero_grad() -> .zero_grad(set_to_none=False)", why="every parameter gets a gradient")
equal("end", ".backward() -> .backward(retain_graph=True)", why="the next loss frees the graph of the last")


_KEPT = []


@wrong("q1")
def result_of_the_trunk_kept(trunk, x):
    """Keeps a detached copy of t in memory."""
    t = trunk(x)
    d, e = t.mean(), t.sum()
    (d + e).backward()
    _KEPT[:] = [t.detach()]
    return d.detach(), e.detach()
