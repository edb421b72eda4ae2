"""Answers to 03_truncated_bptt whose verdict is known."""

import copy
import functools

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from grader.answers import accepted, equal, wrong, wrong_edits

# q1: train_stateful


def _update(readout, opt, h, y):
    """One step of the optimizer on the loss of one minibatch."""
    loss = F.mse_loss(readout(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


@accepted("q1")
def detach_and_clone(cell, readout, opt, batches, h):
    """A copy of the detached state has the same value and no history; it only costs a little memory."""
    losses = []
    for xs, y in batches:
        h = h.detach().clone()
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def copy_under_no_grad(cell, readout, opt, batches, h):
    """What is cloned while nothing is recorded has no history."""
    losses = []
    for xs, y in batches:
        with torch.no_grad():
            h = h.clone()
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@wrong("q1")
def modules_cleared(cell, readout, opt, batches, h):
    """Clears the .grad of frozen parameters, too, which opt does not hold."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        cell.zero_grad()
        readout.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


wrong_edits(
    "q1",
    {
        "copies_in_inference_mode_for_the_next": (
            "with torch.no_grad():",
            "with torch.inference_mode():",
            "Takes inference_mode for a faster no_grad: what is born there cannot be saved for a backward.",
        ),
    },
    of="copy_under_no_grad",
)


@accepted("q1")
def carry_the_data(cell, readout, opt, batches, h):
    """Nobody writes to the state in place, so .data is harmless here."""
    losses = []
    for xs, y in batches:
        h = h.data
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


wrong_edits(
    "q1",
    {
        "start_from_zeros": (
            "h = h.data",
            "h = torch.zeros_like(h)",
            "Believes that a state without history must be an empty one: the value is lost with the graph.",
        ),
        "switch_off_requires_grad": (
            "h = h.data",
            "h = h.requires_grad_(False)",
            "Believes that requires_grad_(False) drops a history: torch allows it on leaves only.",
        ),
        "detach_without_assigning": (
            "h = h.data",
            "h.detach()",
            "Calls h.detach() as if it changed h: it returns a new tensor, which is thrown away.",
        ),
        "detach_the_parameters": (
            "h = h.data",
            "for p in cell.parameters():\n            p.detach_()",
            "Detaches the parameters instead of the state: they are leaves already, and lose requires_grad.",
        ),
        "clone_without_detach": (
            "h = h.data",
            "h = h.clone()",
            "Believes that a copy has no history: clone() is recorded like every other operation.",
        ),
    },
    of="carry_the_data",
)


@accepted("q1")
def through_numpy(cell, readout, opt, batches, h):
    """A tensor rebuilt from a copy in numpy has the value only."""
    losses = []
    for xs, y in batches:
        h = torch.from_numpy(h.detach().numpy().copy())
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def detach_after_the_step(cell, readout, opt, batches, h):
    """The first state has no history anyway, so cutting at the end of each minibatch is the same cut."""
    losses = []
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
        h = h.detach()
    return losses, h


@accepted("q1")
def detach_in_place_after_the_step(cell, readout, opt, batches, h):
    """After the backward nobody else needs the history of the state, so it may be dropped in place."""
    losses = []
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
        h.detach_()
    return losses, h


wrong_edits(
    "q1",
    {
        "detach_before_the_loss": (
            "losses.append(_update(readout, opt, h, y))\n        h.detach_()",
            "h = h.detach()\n        losses.append(_update(readout, opt, h, y))",
            "Cuts at the end of the minibatch but before the loss: the cell is cut off from it and never learns.",
        ),
    },
    of="detach_in_place_after_the_step",
)


@accepted("q1")
def detached_state_that_requires_grad(cell, readout, opt, batches, h):
    """A fresh leaf for every minibatch: its own gradient is ignored, the parameters get theirs."""
    losses = []
    for xs, y in batches:
        h = h.detach().requires_grad_()
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def second_name_for_the_carried_state(cell, readout, opt, batches, h):
    """The attached and the detached state have different names, as in code that keeps all outputs."""
    carried, losses = h, []
    for xs, y in batches:
        states = [carried.detach()]
        for x in xs:
            states.append(cell(x, states[-1]))
        loss = F.mse_loss(readout(states[-1]), y)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()
        carried = states[-1]
        losses.append(float(loss.detach()))
    return losses, carried


@accepted("q1")
def forward_in_a_function_of_its_own(cell, readout, opt, batches, h):
    """The cut is made where the state is handed over to the forward."""

    def run(xs, state):
        for x in xs:
            state = cell(x, state)
        return state

    losses = []
    for xs, y in batches:
        opt.zero_grad()
        h = run(xs, h.detach())
        loss = F.mse_loss(readout(h), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h.detach()


@accepted("q1")
def cut_and_retain_all_the_same(cell, readout, opt, batches, h):
    """retain_graph=True is superfluous where the state is cut; it delays the freeing, and changes nothing."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        losses.append(loss.item())
    return losses, h


wrong_edits(
    "q1",
    {
        "retain_the_graph": (
            "h = h.detach()\n        for x in xs:",
            "for x in xs:",
            "Follows the error text: the graph grows, and after opt.step() backward needs overwritten weights.",
        ),
    },
    of="cut_and_retain_all_the_same",
)


@accepted("q1")
def copied_by_torch_tensor(cell, readout, opt, batches, h):
    """torch.tensor copies the values into a new leaf; the UserWarning is advice, no more."""
    losses = []
    for xs, y in batches:
        h = torch.tensor(h)
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def rebuilt_from_a_list(cell, readout, opt, batches, h):
    """A detour through Python numbers, which have no history."""
    losses = []
    for xs, y in batches:
        h = torch.tensor(h.tolist())
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def wrapped_in_a_parameter(cell, readout, opt, batches, h):
    """A Parameter is a leaf with the values of what it was made from; opt does not know this one."""
    losses = []
    for xs, y in batches:
        h = nn.Parameter(h)
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def arguments_by_name(cell, readout, opt, batches, h):
    """The cell is called with the names that its forward gives to its arguments."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(hx=h, input=x)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def gradients_asked_for(cell, readout, opt, batches, h):
    """autograd.grad returns what backward() would add to .grad; the step is the optimizer's all the same."""
    parameters = [p for p in [*cell.parameters(), *readout.parameters()] if p.requires_grad]
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        for p, grad in zip(parameters, torch.autograd.grad(loss, parameters)):
            p.grad = grad
        opt.step()
        losses.append(float(loss))
    return losses, h.detach()


@accepted("q1")
def step_with_a_closure(cell, readout, opt, batches, h):
    """opt.step calls a closure once, which computes the loss and goes back."""
    losses = []
    for xs, y in batches:
        start, last = h.detach(), []

        def closure():
            h = start
            for x in xs:
                h = cell(x, h)
            last.append(h)
            loss = F.mse_loss(readout(h), y)
            opt.zero_grad()
            loss.backward()
            return loss

        losses.append(opt.step(closure).item())
        h = last[-1]
    return losses, h


@accepted("q1")
def cleared_after_the_step(cell, readout, opt, batches, h):
    """Gradients cleared once at first and after every step are clear before the next, too."""
    losses = []
    opt.zero_grad()
    for xs, y in batches:
        h = h.clone().detach_().requires_grad_()
        for x in xs.unbind():
            h = cell(x, h)
        loss = nn.MSELoss()(readout(h), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        losses.append(loss.detach().numpy().item())
    return losses, h


@wrong("q1")
def retain_the_graph_and_step_by_hand(cell, readout, opt, batches, h):
    """Updates through .data, unseen by the version check: no error, a growing graph, stale gradients."""
    parameters = [p for group in opt.param_groups for p in group["params"]]
    rate = opt.param_groups[0]["lr"]
    losses = []
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward(retain_graph=True)
        losses.append(loss.item())
        for p in parameters:
            p.data -= rate * p.grad
    return losses, h


@wrong("q1")
def detach_in_every_step(cell, readout, opt, batches, h):
    """Cuts inside the loop over time: no error, but no gradient flows from one step to the one before."""
    losses = []
    for xs, y in batches:
        for x in xs:
            h = cell(x, h.detach())
        losses.append(_update(readout, opt, h, y))
    return losses, h


@wrong("q1")
def recur_without_gradients(cell, readout, opt, batches, h):
    """Runs the recurrence under no_grad: the states have no history at all, and only the readout learns."""
    losses = []
    for xs, y in batches:
        with torch.no_grad():
            for x in xs:
                h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@wrong("q1")
def one_update_at_the_end(cell, readout, opt, batches, h):
    """Avoids the second backward by summing all losses: one step in all, through one long graph."""
    losses, total = [], 0.0
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        total = total + loss
        losses.append(loss.item())
    opt.zero_grad()
    total.backward()
    opt.step()
    return losses, h


@wrong("q1")
def gradients_pile_up(cell, readout, opt, batches, h):
    """Cuts correctly but never clears .grad: every step repeats the gradients of earlier minibatches."""
    losses = []
    opt.zero_grad()
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


wrong_edits(
    "q1",
    {
        "losses_as_tensors": (
            "losses.append(loss.item())",
            "losses.append(loss)",
            "Collects the loss tensors: each of them keeps the graph of its minibatch.",
        ),
        "cleared_between_backward_and_step": (
            "opt.zero_grad()\n        loss.backward()",
            "loss.backward()\n        opt.zero_grad()",
            "Clears the gradients between backward() and step(): nothing is ever learned, and nothing raises.",
        ),
        "squares_added_over_outputs": (
            "loss = F.mse_loss(readout(h), y)",
            "loss = ((readout(h) - y) ** 2).sum(-1).mean()",
            "Adds the squares of all outputs of a sequence, where F.mse_loss takes the mean.",
        ),
    },
)


@wrong("q1")
def the_given_state_is_ignored(cell, readout, opt, batches, h):
    """Begins with zeros, whatever state the caller gives."""
    h = torch.zeros_like(h)
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@wrong("q1")
def every_step_from_the_first_state(cell, readout, opt, batches, h):
    """Detaches into a new name and goes on using it: every time step begins with the first state."""
    losses = []
    for xs, y in batches:
        start = h.detach()
        for x in xs:
            h = cell(x, start)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@wrong("q1")
def step_by_hand(cell, readout, opt, batches, h):
    """Cuts correctly, but updates by hand: what opt knows beyond the learning rate is lost."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        with torch.no_grad():
            for group in opt.param_groups:
                for p in group["params"]:
                    p -= group["lr"] * p.grad
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def only_the_losses(cell, readout, opt, batches, h):
    """Forgets to return the last state, so the caller cannot go on from there."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return losses


@wrong("q1")
def one_loss_for_all(cell, readout, opt, batches, h):
    """Returns the mean of the losses instead of one for each minibatch."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        losses.append(_update(readout, opt, h, y))
    return sum(losses) / len(losses), h


def _minibatch(cell, readout, h, xs, y):
    """The last state of one minibatch, and its loss."""
    for x in xs:
        h = cell(x, h)
    return h, F.mse_loss(readout(h), y)


def _trained(cell, readout, opt, batches, h):
    """What train_stateful should do."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def gradient_clipped(cell, readout, opt, batches, h):
    """Clips the norm of the gradient, as recurrent code often does: not the gradient of the loss any more."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*cell.parameters(), *readout.parameters()], 5.0)
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def entries_clipped(cell, readout, opt, batches, h):
    """Cuts off large entries of the gradient of the cell."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_([*cell.parameters()], 1.0)
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def small_losses_are_skipped(cell, readout, opt, batches, h):
    """Makes no step where the loss is small enough already."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        losses.append(loss.item())
        if loss < 1e-4:
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()
    return losses, h


@wrong("q1")
def worse_minibatches_are_skipped(cell, readout, opt, batches, h):
    """Takes a loss that grows for divergence and makes no step with it."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        losses.append(loss.item())
        if len(losses) > 1 and losses[-1] > 2 * losses[-2]:
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()
    return losses, h


@wrong("q1")
def batches_used_up(cell, readout, opt, batches, h):
    """Takes the minibatches out of the caller's list."""
    losses = []
    while batches:
        xs, y = batches.pop(0)
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def batches_freed(cell, readout, opt, batches, h):
    """Frees memory in the caller's list, which is not its own."""
    losses = []
    for number, (xs, y) in enumerate(batches):
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        batches[number] = None
    return losses, h


@wrong("q1")
def inputs_require_grad(cell, readout, opt, batches, h):
    """Switches requires_grad of the caller's inputs on: they collect gradients from now on."""
    for xs, _ in batches:
        xs.requires_grad_()
    return _trained(cell, readout, opt, batches, h)


@wrong("q1")
def given_state_requires_grad(cell, readout, opt, batches, h):
    """Switches requires_grad of the caller's first state on instead of making a leaf of its own."""
    h.requires_grad_()
    return _trained(cell, readout, opt, batches, h)


@wrong("q1")
def given_state_overwritten(cell, readout, opt, batches, h):
    """Writes the last state into the tensor of the first one."""
    losses, last = _trained(cell, readout, opt, batches, h)
    h.copy_(last.detach())
    return losses, h


@wrong("q1")
def carried_in_the_given_state(cell, readout, opt, batches, h):
    """Carries the state through .data of the caller's tensor."""
    losses = []
    for xs, y in batches:
        last, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        h.data = last.data
    return losses, last


@wrong("q1")
def modes_set_for_training(cell, readout, opt, batches, h):
    """Switches everything to training first and to evaluation last, whatever the modes were."""
    cell.train(), readout.train()
    result = _trained(cell, readout, opt, batches, h)
    cell.eval(), readout.eval()
    return result


@wrong("q1")
def everything_in_training_mode(cell, readout, opt, batches, h):
    """Calls train() out of habit: a part in eval mode begins to drop units."""
    cell.train(), readout.train()
    return _trained(cell, readout, opt, batches, h)


@wrong("q1")
def readout_not_cleared(cell, readout, opt, batches, h):
    """Clears the gradients of the cell, and forgets those of the readout."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        cell.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def cleared_too_late(cell, readout, opt, batches, h):
    """Clears after each step only: what stood in .grad before the call enters the first one."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def losses_rounded(cell, readout, opt, batches, h):
    """Rounds the losses to four decimals."""
    losses, h = _trained(cell, readout, opt, batches, h)
    return [round(loss, 4) for loss in losses], h


@wrong("q1")
def loss_after_the_step(cell, readout, opt, batches, h):
    """Reports the loss of the same state after the readout has learned."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(F.mse_loss(readout(h), y).item())
    return losses, h


@wrong("q1")
def optimizer_forgets(cell, readout, opt, batches, h):
    """Empties the state of opt after every step, as if it were a graph."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        opt.state.clear()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def optimizer_state_emptied(cell, readout, opt, batches, h):
    """Empties the state of opt in the end: the caller's next step has no momentum."""
    result = _trained(cell, readout, opt, batches, h)
    opt.state.clear()
    return result


@wrong("q1")
def adam_starts_anew(cell, readout, opt, batches, h):
    """Zeros the moments and the step count of Adam in the end, to leave opt as new."""
    result = _trained(cell, readout, opt, batches, h)
    for memory in opt.state.values():
        for name in memory:
            if name != "momentum_buffer":
                memory[name].zero_()
    return result


@wrong("q1")
def prediction_squeezed(cell, readout, opt, batches, h):
    """Squeezes the prediction: with one output (B,) and (B, 1) are broadcast to (B, B)."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        losses.append(_update(lambda state: readout(state).squeeze(), opt, h, y))
    return losses, h


@wrong("q1")
def learning_rate_decays(cell, readout, opt, batches, h):
    """Lets a scheduler halve the learning rate."""
    losses = []
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 3, 0.5)
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        scheduler.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def hook_left_on_the_cell(cell, readout, opt, batches, h):
    """Registers a hook on the cell and leaves it there."""
    cell.register_forward_hook(lambda module, given, out: None)
    return _trained(cell, readout, opt, batches, h)


@wrong("q1")
def hooks_left_on_the_parameters(cell, readout, opt, batches, h):
    """Registers hooks on the parameters and leaves them there."""
    for p in cell.parameters():
        if p.requires_grad:
            p.register_hook(lambda g: g)
    return _trained(cell, readout, opt, batches, h)


@wrong("q1")
def state_kept_on_the_cell(cell, readout, opt, batches, h):
    """Keeps the last state as an attribute of the caller's cell."""
    losses, h = _trained(cell, readout, opt, batches, h)
    cell.state = h.detach()
    return losses, h


@wrong("q1")
def state_kept_between_calls(cell, readout, opt, batches, h):
    """Goes on from the last state of the call before, whatever state is given."""
    known = state_kept_between_calls.__dict__
    h = known.get("h", h)
    losses, h = _trained(cell, readout, opt, batches, h)
    known["h"] = h.detach()
    return losses, h


@wrong("q1")
def four_steps_back(cell, readout, opt, batches, h):
    """Cuts within a minibatch too, so that no gradient travels further than four steps."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for t, x in enumerate(xs):
            if len(xs) - t == 4:
                h = h.detach()
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def a_loss_at_every_step(cell, readout, opt, batches, h):
    """Takes the mean of a loss at every step, where the task says the last state."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        loss = 0
        for x in xs:
            h = cell(x, h)
            loss = loss + F.mse_loss(readout(h), y)
        loss = loss / len(xs)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def no_step_in_the_last_minibatch(cell, readout, opt, batches, h):
    """Believes that after the last minibatch there is nothing to learn for."""
    losses = []
    for number, (xs, y) in enumerate(batches):
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        if number < len(batches) - 1:
            opt.zero_grad()
            loss.backward()
            opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def errors_swallowed(cell, readout, opt, batches, h):
    """Catches the error and goes back from the last state only."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        try:
            loss.backward()
        except RuntimeError:
            h = h.detach()
            loss = F.mse_loss(readout(h), y)
            loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def every_other_state_cut(cell, readout, opt, batches, h):
    """Cuts before every other minibatch, and retains the graphs for those between."""
    losses = []
    for number, (xs, y) in enumerate(batches):
        if number % 2 == 0:
            h = h.detach()
        h, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def anomaly_mode_left_on(cell, readout, opt, batches, h):
    """Switches anomaly detection on to find the error, and leaves it on."""
    torch.autograd.set_detect_anomaly(True)
    return _trained(cell, readout, opt, batches, h)


@wrong("q1")
def carried_state_clamped(cell, readout, opt, batches, h):
    """Keeps the carried state between -1 and 1, as a tanh would."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach().clamp(-1, 1), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def state_of_the_new_weights(cell, readout, opt, batches, h):
    """Computes the last state again with the new weights and carries that on."""
    losses = []
    for xs, y in batches:
        start = h.detach()
        h, loss = _minibatch(cell, readout, start, xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        with torch.no_grad():
            h, _ = _minibatch(cell, readout, start, xs, y)
    return losses, h


@wrong("q1")
def loss_divided(cell, readout, opt, batches, h):
    """Divides every loss by the number of minibatches."""
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        (loss / len(batches)).backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q1")
def everything_unfrozen(cell, readout, opt, batches, h):
    """Makes sure that all parameters learn: one was frozen on purpose."""
    for p in [*cell.parameters(), *readout.parameters()]:
        p.requires_grad_()
    return _trained(cell, readout, opt, batches, h)


@wrong("q1")
def the_first_loss_for_all(cell, readout, opt, batches, h):
    """Returns the first loss once for every minibatch."""
    losses, h = _trained(cell, readout, opt, batches, h)
    return losses[:1] * len(losses), h


@wrong("q1")
def ten_steps_back(cell, readout, opt, batches, h):
    """Cuts every ten steps within a minibatch as well."""
    losses = []
    for xs, y in batches:
        for t, x in enumerate(xs):
            h = cell(x, h.detach() if t % 10 == 0 else h)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def a_node_before_each_minibatch(cell, readout, opt, batches, h):
    """What enters a minibatch is computed from a leaf of its own: no gradient goes any further."""
    losses = []
    for xs, y in batches:
        shown, h = h.detach(), h.detach().requires_grad_() * 1
        for x in xs:
            h, shown = type(cell).forward(cell, x, h), cell(x, shown)
        losses.append(_update(readout, opt, h, y))
    return losses, h


@accepted("q1")
def recursion(cell, readout, opt, batches, h):
    """The rest of the minibatches is a list of minibatches, too."""
    if not batches:
        return [], h
    (xs, y), *others = batches
    h, loss = _minibatch(cell, readout, h.detach(), xs, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses, h = recursion(cell, readout, opt, others, h)
    return [loss.item(), *losses], h


@accepted("q1")
def reduced_over_the_steps(cell, readout, opt, batches, h):
    """functools.reduce carries the state through the steps of a minibatch."""
    losses = []
    for xs, y in batches:
        h = functools.reduce(lambda s, x: cell(x, s), xs, h.detach())
        opt.zero_grad(set_to_none=False)
        loss = F.mse_loss(readout(h), y)
        torch.autograd.backward(loss)
        opt.step()
        losses.append(loss.detach().cpu().item())
    return losses, h


@accepted("q1")
def gradients_assigned(cell, readout, opt, batches, h):
    """The parameters are taken from opt, and their gradients are assigned."""
    params = [p for g in opt.param_groups for p in g["params"] if p.requires_grad]
    losses = []
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        for p, g in zip(params, torch.autograd.grad(loss, params, allow_unused=True)):
            p.grad = g
        opt.step()
        losses.append(loss.item())
    return losses, h


@accepted("q1")
def everything_copied(cell, readout, opt, batches, h):
    """Copies of what is given, loops by index, the loss by hand, .grad set to None by hand."""
    losses = []
    for i in range(len(batches)):
        xs, y = batches[i]
        xs, state = xs.clone(), h.clone().detach()
        for t in range(xs.shape[0]):
            state = cell(xs[t], state)
        prediction = readout(state)
        loss = ((prediction - y) ** 2).mean()
        for p in [*cell.parameters(), *readout.parameters()]:
            p.grad = None if p.requires_grad else p.grad
        loss.backward()
        opt.step()
        losses += [float(loss)]
        h = state
    return losses, h.detach().clone()


@accepted("q1")
def a_generator_of_steps(cell, readout, opt, batches, h):
    """A a_generator_of_steps yields the loss and the state of each minibatch."""

    def run():
        state = h
        for xs, y in batches:
            with torch.no_grad():
                state = state + 0
            state, loss = _minibatch(cell, readout, state, xs, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            yield loss.item(), state

    losses, states = zip(*run())
    return list(losses), states[-1]


@accepted("q1")
def backward_with_a_gradient(cell, readout, opt, batches, h):
    """backward is told the gradient of the loss, which is 1 anyway."""
    losses, it = [], iter(batches)
    for xs, y in it:
        with torch.enable_grad():
            h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward(torch.ones_like(loss))
        opt.step()
        losses.append(loss.data.item())
    return losses, h


# q2: repackage


@accepted("q2")
def detached_copies(state):
    """Copies share no memory with the original, so a later reset cannot reach it."""
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, (tuple, list)):
        return type(state)(map(detached_copies, state))
    return state


wrong_edits(
    "q2",
    {
        "detach_in_place": (
            "return state.detach().clone()",
            "return state.detach_()",
            "Uses detach_(): the original loses its history, and a pending loss can no longer be back-propagated.",
        ),
        "take_the_data": (
            "return state.detach().clone()",
            "return state.data",
            "Takes .data for detach(): it hides later writes, which falsify a pending gradient without an error.",
        ),
        "make_it_require_grad": (
            "return state.detach().clone()",
            "return state.detach().requires_grad_()",
            'Adds requires_grad_() "so that it goes on training": the new leaf cannot be reset in place.',
        ),
        "zeros_for_everything": (
            "return state.detach().clone()",
            "return torch.zeros_like(state)",
            "Resets the state: without history, but without the value, too.",
        ),
        "new_parameters": (
            "return state.detach().clone()",
            "return nn.Parameter(state)",
            "Wraps every part into a Parameter: it shares memory unseen by autograd, and requires grad.",
        ),
    },
    of="detached_copies",
)


@accepted("q2")
@torch.no_grad()
def arithmetic_under_no_grad(state):
    """What is computed while nothing is recorded has no history."""
    if isinstance(state, tuple):
        return tuple(arithmetic_under_no_grad(part) for part in state)
    if isinstance(state, list):
        return [arithmetic_under_no_grad(part) for part in state]
    return None if state is None else state * 1


@accepted("q2")
def whatever_can_be_detached(state):
    """Asks for the method instead of the type; only tensors have it among the possible states."""
    if state is None:
        return state
    if hasattr(state, "detach"):
        return state.detach()
    parts = [whatever_can_be_detached(part) for part in state]
    return tuple(parts) if isinstance(state, tuple) else parts


@accepted("q2")
def map_over_the_tree(state):
    """torch's own tree functions rebuild tuples and lists and leave None alone."""
    return pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, state)


@accepted("q2")
def match_the_form(state):
    """One case for each form of a state."""
    match state:
        case torch.Tensor():
            return state.detach()
        case tuple():
            return tuple([match_the_form(part) for part in state])
        case list():
            return [match_the_form(part) for part in state]
    return None


@accepted("q2")
def fill_new_tensors(state):
    """A new tensor receives the values while gradients are off."""
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        with torch.no_grad():
            return torch.empty_like(state).copy_(state)
    return type(state)([fill_new_tensors(part) for part in state])


@accepted("q2")
def copies_made_in_numpy(state):
    """A copy made by numpy has neither history nor memory in common with the original."""
    if isinstance(state, torch.Tensor):
        return torch.from_numpy(state.detach().numpy().copy())
    if isinstance(state, (list, tuple)):
        return type(state)(copies_made_in_numpy(part) for part in state)
    return None


@accepted("q2")
def detach_the_own_copy_in_place(state):
    """detach_() changes a tensor that nobody else holds: a fresh copy."""
    if isinstance(state, torch.Tensor):
        return state.clone().detach_()
    if isinstance(state, tuple | list):
        return state.__class__([detach_the_own_copy_in_place(part) for part in state])
    return state


@accepted("q2")
def copies_by_torch_tensor(state):
    """torch.tensor copies the values and nothing else; its UserWarning is advice, no more."""
    if state is None:
        return None
    if torch.is_tensor(state):
        return torch.tensor(state)
    return type(state)(copies_by_torch_tensor(part) for part in state)


@accepted("q2")
def shared_through_a_view(state):
    """A view of the detached tensor still shares the version counter with the original."""
    if isinstance(state, torch.Tensor):
        return state.detach().view_as(state)
    return state if state is None else type(state)(map(shared_through_a_view, state))


@accepted("q2")
def try_to_detach(state):
    """Asks for forgiveness instead of permission."""
    if state is None:
        return None
    try:
        return state.detach()
    except AttributeError:
        return type(state)([try_to_detach(part) for part in state])


@wrong("q2")
def only_the_hidden_state(state):
    """Forgets that the cell state c has a history too: the error comes back one minibatch later."""
    if state is None or isinstance(state, torch.Tensor):
        return state if state is None else state.detach()
    if isinstance(state, tuple):
        return (state[0].detach(), state[1])
    return [only_the_hidden_state(part) for part in state]


wrong_edits(
    "q2",
    {
        "a_list_for_everything": (
            "return type(state)(repackage(part) for part in state)",
            "return [repackage(part) for part in state]",
            "Rebuilds tuples as lists: nn.LSTM expects a tuple.",
        ),
        "one_level_deep": (
            "return type(state)(repackage(part) for part in state)",
            "return type(state)(part.detach() for part in state)",
            "Handles a tuple of tensors but not a list of tuples: the parts of a state may be states themselves.",
        ),
        "leaves_are_left_alone": (
            "return state.detach()",
            "return state if state.is_leaf else state.detach()",
            "Believes that a leaf is ready: one that requires grad, a learned first state, goes on collecting.",
        ),
        "a_tuple_for_everything": (
            "type(state)",
            "tuple",
            "Rebuilds lists as tuples: who appends to the list of states cannot any more.",
        ),
    },
)


@wrong("q2")
def no_grad_around_nothing(state):
    """Believes that no_grad takes away a history that exists already: it only stops new records."""
    with torch.no_grad():
        return state


@wrong("q2")
def clone_the_parts(state):
    """Believes that a copy has no history: clone() is recorded, so every part stays attached."""
    if isinstance(state, torch.Tensor):
        return state.clone()
    if isinstance(state, (tuple, list)):
        return type(state)(clone_the_parts(part) for part in state)
    return state


@wrong("q2")
def deep_copy_of_the_state(state):
    """Believes that deepcopy drops the history: torch refuses to deep-copy a tensor which has one."""
    return copy.deepcopy(state)


@wrong("q2")
def always_a_pair(state):
    """Knows the LSTM only: a single tensor, None and a list of states are not pairs of tensors."""
    h, c = state
    return h.detach(), c.detach()


@wrong("q2")
def share_memory_with_numpy(state):
    """Goes through numpy without a copy: memory is shared, the version counter is not, writes stay unseen."""
    if isinstance(state, torch.Tensor):
        return torch.from_numpy(state.detach().numpy())
    if isinstance(state, (tuple, list)):
        return type(state)(share_memory_with_numpy(part) for part in state)
    return state


@wrong("q2")
@torch.inference_mode()
def copies_in_inference_mode(state):
    """Takes inference_mode for a faster no_grad: its tensors can be neither written to nor trained with."""
    if isinstance(state, torch.Tensor):
        return state.clone()
    if isinstance(state, (tuple, list)):
        return type(state)(copies_in_inference_mode(part) for part in state)
    return state


@wrong("q2")
def parts_replaced_in_the_list(state):
    """Writes the detached parts into the caller's own list: the caller's state has lost its history."""
    if isinstance(state, torch.Tensor):
        return state.detach()
    if isinstance(state, list):
        for place, part in enumerate(state):
            state[place] = parts_replaced_in_the_list(part)
        return state
    if isinstance(state, tuple):
        return tuple(parts_replaced_in_the_list(part) for part in state)
    return state


@wrong("q2")
def nothing_for_none(state):
    """Cannot do None: before the first minibatch there is no state."""
    if isinstance(state, torch.Tensor):
        return state.detach()
    return type(state)(nothing_for_none(part) for part in state)


@wrong("q2")
def error_raised_by_hand(state):
    """Shares memory through .data, and lets a hook raise autograd's error where the values changed."""
    if state is None:
        return None
    if not isinstance(state, torch.Tensor):
        return type(state)(error_raised_by_hand(part) for part in state)
    result, before = state.data, state.detach().clone()

    def refuse(gradient):
        if not torch.equal(result, before):
            raise RuntimeError("a value has been modified by an inplace operation")

    if state.requires_grad:
        state.register_hook(refuse)
    return result


@wrong("q2")
def given_back_as_it_is(state):
    """Keeps the structure by touching nothing."""
    return state


def _mapped(cut, state):
    """A state of the same structure, each tensor cut."""
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        return cut(state)
    return type(state)([_mapped(cut, part) for part in state])


_seen = {}


@wrong("q2")
def rebuilt_as_float32(state):
    """torch.Tensor(...) is float32, whatever it is made from."""
    return _mapped(lambda t: torch.Tensor(t.tolist()), state)


@wrong("q2")
def rebuilt_from_lists(state):
    """Python numbers have no dtype: what is rebuilt from them is float32."""
    return _mapped(lambda t: torch.tensor(t.tolist()), state)


@wrong("q2")
def squeezed(state):
    """Takes dimensions of size 1 for superfluous."""
    return _mapped(lambda t: t.detach().squeeze(), state)


@wrong("q2")
def empty_is_none(state):
    """Asks `if not state`: an empty list becomes None."""
    if state is None or (not isinstance(state, torch.Tensor) and not state):
        return None
    return state.detach() if isinstance(state, torch.Tensor) else type(state)(empty_is_none(s) for s in state)


@wrong("q2")
def numbers_left_alone(state):
    """Believes that a tensor of one number is a number, and has no history."""
    if isinstance(state, torch.Tensor) and state.numel() != 1:
        return state.detach()
    if isinstance(state, torch.Tensor):
        return state
    return None if state is None else type(state)(numbers_left_alone(s) for s in state)


@wrong("q2")
def first_two_parts(state):
    """Believes that a tuple is always a pair (h, c)."""
    if isinstance(state, tuple):
        return tuple(first_two_parts(s) for s in state[:2])
    if isinstance(state, list):
        return [first_two_parts(s) for s in state]
    return None if state is None else state.detach()


@wrong("q2")
def three_levels_deep(state, depth=0):
    """Goes down three levels and returns what lies deeper as it is."""
    if state is None or depth > 3:
        return state
    if isinstance(state, torch.Tensor):
        return state.detach()
    return type(state)(three_levels_deep(s, depth + 1) for s in state)


@wrong("q2")
def none_left_out(state):
    """Leaves out the parts that are None: the others have other places then."""
    if isinstance(state, torch.Tensor):
        return state.detach()
    if state is None:
        return None
    return type(state)(none_left_out(s) for s in state if s is not None)


@wrong("q2")
def empty_list_as_tuple(state):
    """An empty list comes back as an empty tuple."""
    if isinstance(state, torch.Tensor):
        return state.detach()
    if state is None:
        return None
    parts = tuple(empty_list_as_tuple(s) for s in state)
    return list(parts) if isinstance(state, list) and parts else parts


@wrong("q2")
def caller_list_emptied(state):
    """Takes the parts out of the caller's list, one by one."""
    if isinstance(state, list):
        parts = []
        while state:
            parts.append(caller_list_emptied(state.pop(0)))
        return parts
    if isinstance(state, tuple):
        return tuple(caller_list_emptied(s) for s in state)
    return None if state is None else state.detach()


@wrong("q2")
def gradient_retained(state):
    """Tells the caller's tensors to retain their gradients."""

    def cut(t):
        if t.requires_grad and not t.is_leaf:
            t.retain_grad()
        return t.detach()

    return _mapped(cut, state)


@wrong("q2")
def grad_cleared(state):
    """Clears .grad of what was passed in, as if it were part of the history."""

    def cut(t):
        t.grad = None
        return t.detach()

    return _mapped(cut, state)


@wrong("q2")
def leaves_frozen_and_returned(state):
    """Freezes the caller's own leaf and returns it."""

    def cut(t):
        return t.requires_grad_(False) if t.is_leaf else t.detach()

    return _mapped(cut, state)


@wrong("q2")
def hook_left_on_the_state(state):
    """Registers a hook on the caller's tensors and leaves it there."""

    def cut(t):
        if t.requires_grad:
            t.register_hook(lambda g: g.clone())
        return t.detach()

    return _mapped(cut, state)


@wrong("q2")
def original_reshaped(state):
    """Changes the shape of the caller's tensor through .data on the way."""

    def cut(t):
        d = t.detach()
        if d.dim() > 1:
            t.data = t.data.reshape(-1, d.shape[-1])
        return d.clone()

    return _mapped(cut, state)


@wrong("q2")
def leaves_detached_in_place(state):
    """Calls detach_() where it is a leaf anyway: it stops requiring grad."""

    def cut(t):
        return t.detach_() if t.is_leaf else t.detach()

    return _mapped(cut, state)


@wrong("q2")
def remembered_by_identity(state):
    """Remembers the copy of each tensor, whose values may have changed since."""

    def cut(t):
        key = id(t)
        if key not in _seen:
            _seen[key] = (t, t.detach().clone())
        return _seen[key][1]

    return _mapped(cut, state)


@wrong("q2")
def data_for_the_cell_state(state):
    """Detaches h, and takes .data of c."""
    if isinstance(state, tuple) and len(state) == 2:
        h, c = state
        h = data_for_the_cell_state(h)
        return h, (c.data if isinstance(c, torch.Tensor) else data_for_the_cell_state(c))
    return (
        _mapped(torch.Tensor.detach, state)
        if isinstance(state, torch.Tensor) or state is None
        else type(state)([data_for_the_cell_state(s) for s in state])
    )


@wrong("q2")
def original_cleared(state):
    """Copies, and clears the caller's leaf as no longer needed."""

    def cut(t):
        d = t.detach().clone()
        with torch.no_grad():
            t.zero_() if t.is_leaf else None
        return d

    return _mapped(cut, state)


@wrong("q2")
def new_tensor_on_the_old_storage(state):
    """Builds a new tensor on the old storage: autograd sees no write to it."""
    return _mapped(
        lambda t: torch.empty(0, dtype=t.dtype).set_(
            t.detach().untyped_storage(), t.storage_offset(), t.shape, t.stride()
        ),
        state,
    )


@wrong("q2")
def gradients_switched_off(state):
    """Switches gradients off for the whole program."""
    torch.set_grad_enabled(False)
    return _mapped(torch.Tensor.clone, state)


@wrong("q2")
def requires_grad_kept(state):
    """Lets what was a leaf that requires grad require it in the result, too."""
    return _mapped(lambda t: t.detach().requires_grad_(t.is_leaf and t.requires_grad), state)


@wrong("q2")
def bytes_read_in_another_order(state):
    """Copies the memory as it lies, though the tensor is a transposed view of it."""
    return _mapped(
        lambda t: (
            torch.frombuffer(bytearray(t.detach().numpy().tobytes("A")), dtype=t.dtype).reshape(t.shape)
            if t.numel()
            else t.detach()
        ),
        state,
    )


@wrong("q2")
def float_of_everything(state):
    """Calls float(), which changes the dtype of a double."""
    return _mapped(lambda t: t.detach().float().clone(), state)


@accepted("q2")
def without_recursion(state):
    """A stack of what is left to do takes the place of the recursion."""
    root = [None]
    todo = [(root, 0, state)]
    fix = []
    while todo:
        where, place, part = todo.pop()
        if isinstance(part, torch.Tensor):
            where[place] = part.detach()
        elif part is None:
            where[place] = None
        else:
            new = [None] * len(part)
            where[place] = new
            if isinstance(part, tuple):
                fix.append((where, place))
            todo += [(new, i, p) for i, p in enumerate(part)]
    for where, place in reversed(fix):
        where[place] = tuple(where[place])
    return root[0]


@accepted("q2")
@functools.singledispatch
def single_dispatch(state):
    """functools.singledispatch may choose by type, too."""
    if isinstance(state, torch.Tensor):
        return state.detach()
    if isinstance(state, (list, tuple)):
        return type(state)(single_dispatch(s) for s in state)
    return state


@accepted("q2")
def detach_as_a_function(state):
    """torch.detach is the same as the method."""
    return _mapped(torch.detach, state)


@accepted("q2")
def one_expression(state):
    """Conditions in one expression, comprehensions by unpacking."""
    return (
        state
        if state is None
        else state.detach().clone().requires_grad_(False)
        if torch.is_tensor(state)
        else [*map(one_expression, state)]
        if isinstance(state, list)
        else (*map(one_expression, state),)
    )


@accepted("q2")
def values_copied_into_a_new_tensor(state):
    """new_empty has neither history nor memory of the original."""
    return _mapped(lambda t: t.new_empty(t.shape).copy_(t.detach()), state)


@accepted("q2")
def plain_leaves_handed_back(state):
    """A leaf that requires no grad is ready, and its writes are seen by autograd."""
    return _mapped(lambda t: t.detach() if t.requires_grad else t, state)


@wrong("q2")
def one_entry_by_its_number(state):
    """Makes a new tensor of a single number, in the default dtype."""
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        if state.dim() and state.numel() == 1:
            return torch.full(state.shape, state.item())
        return state.detach()
    return type(state)(one_entry_by_its_number(part) for part in state)


@wrong("q2")
def one_entry_without_dimensions(state):
    """Squeezes a tensor of a single entry."""
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        return state.detach().squeeze() if state.numel() == 1 else state.detach()
    return type(state)(one_entry_without_dimensions(part) for part in state)


# q3: tbptt


@accepted("q3")
def retain_within_a_chunk(cell, readout, xs, ys, k):
    """One backward per loss gives the same sum when the graph is retained for all but the last of a chunk."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for start in range(0, len(xs), k):
        losses = []
        for x, y in zip(xs[start : start + k], ys[start : start + k]):
            h = cell(x, h)
            losses.append(F.mse_loss(readout(h), y))
        for number, loss in enumerate(losses, start=1):
            loss.backward(retain_graph=number < len(losses))
            total += loss.item()
        h = h.detach()
    return total


@accepted("q3")
def add_the_gradients_by_hand(cell, readout, xs, ys, k):
    """autograd.grad computes what backward() would add to .grad."""
    parameters = [p for p in [*cell.parameters(), *readout.parameters()] if p.requires_grad]
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for start in range(0, len(xs), k):
        loss = 0.0
        for x, y in zip(xs[start : start + k], ys[start : start + k]):
            h = cell(x, h)
            loss = loss + F.mse_loss(readout(h), y)
        for p, grad in zip(parameters, torch.autograd.grad(loss, parameters)):
            p.grad = grad if p.grad is None else p.grad + grad
        total += loss.item()
        h = h.detach()
    return total


@accepted("q3")
def cut_at_the_start_of_a_chunk(cell, readout, xs, ys, k):
    """The first state of a chunk is detached, rather than the last one of the chunk before."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total, losses = 0.0, []
    for t, (x, y) in enumerate(zip(xs, ys)):
        if t % k == 0:
            h = h.detach()
        h = cell(x, h)
        losses.append(F.mse_loss(readout(h), y))
        if len(losses) == k or t == len(xs) - 1:
            chunk = torch.stack(losses).sum()
            chunk.backward()
            total += chunk.item()
            losses = []
    return total


@accepted("q3")
def one_backward_for_a_list_of_losses(cell, readout, xs, ys, k):
    """torch.autograd.backward goes back from several losses at once, which adds their gradients."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for chunk_xs, chunk_ys in zip(xs.split(k), ys.split(k)):
        h.detach_()
        losses = []
        for x, y in zip(chunk_xs, chunk_ys):
            h = cell(x, h)
            losses.append(F.mse_loss(readout(h), y))
        torch.autograd.backward(losses)
        total += sum(loss.item() for loss in losses)
    return total


@accepted("q3")
def read_the_whole_chunk_at_once(cell, readout, xs, ys, k):
    """The mean over a chunk times its number of steps is the sum of the losses of its steps."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for chunk_xs, chunk_ys in zip(torch.split(xs, k), torch.split(ys, k)):
        states = []
        for x in chunk_xs:
            h = cell(x, h)
            states.append(h)
        loss = F.mse_loss(readout(torch.stack(states)), chunk_ys) * len(states)
        loss.backward()
        total += loss.item()
        h = h.detach().clone()
    return total


@accepted("q3")
def no_state_before_the_first_step(cell, readout, xs, ys, k):
    """Without a state the cells of torch start from zeros."""
    h, total, loss = None, 0.0, 0
    for t, (x, y) in enumerate(zip(xs, ys), start=1):
        h = cell(x, h)
        loss = loss + F.mse_loss(readout(h), y)
        if t % k == 0 or t == len(xs):
            loss.backward()
            total += float(loss)
            loss, h = 0, h.detach()
    return total


@accepted("q3")
def cuts_now_and_backward_at_the_end(cell, readout, xs, ys, k):
    """With the state cut every k steps, one backward of the whole sum gives the same gradients."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    losses = []
    for t in range(len(xs)):
        if t % k == 0:
            h = h.detach()
        h = cell(xs[t], h)
        losses.append(F.mse_loss(readout(h), ys[t]))
    total = sum(losses)
    total.backward()
    return total.item()


@accepted("q3")
def chunk_by_chunk_in_a_function(cell, readout, xs, ys, k):
    """A chunk is a function from the state before it to the state after it."""

    def chunk(h, xs, ys):
        losses = []
        for x, y in zip(xs, ys):
            h = cell(input=x, hx=h)
            losses.append(F.mse_loss(readout(h), y))
        torch.stack(losses).sum().backward()
        return h.detach(), sum(loss.item() for loss in losses)

    h = xs.new_zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for start in range(0, len(xs), k):
        h, loss = chunk(h, xs[start : start + k], ys[start : start + k])
        total += loss
    return total


@accepted("q3")
def later_losses_first(cell, readout, xs, ys, k):
    """The order in which the losses of a chunk go back does not matter while the graph is retained."""
    h = torch.zeros(xs.size(1), cell.hidden_size)
    total, pending = 0.0, []
    for t in range(len(xs)):
        h = cell(xs[t], h)
        pending.append(F.mse_loss(readout(h), ys[t]))
        total += pending[-1].item()
        if len(pending) == k or t + 1 == len(xs):
            while pending:
                pending.pop().backward(retain_graph=True)
            h = h.detach()
    return total


wrong_edits(
    "q3",
    {
        "drop_the_rest": (
            "if (t + 1) % k == 0 or t == len(xs) - 1:",
            "if (t + 1) % k == 0:",
            "Forgets the incomplete last chunk: its steps teach nothing and are missing in the total.",
        ),
        "first_chunk_of_one_step": (
            "if (t + 1) % k == 0 or t == len(xs) - 1:",
            "if t % k == 0 or t == len(xs) - 1:",
            "Tests t % k instead of (t + 1) % k: the first chunk has one step, and all later cuts are shifted.",
        ),
        "total_as_a_tensor": (
            "total += loss.item()",
            "total = total + loss",
            "Adds up the loss tensors: the total is not a float, and holds on to the graph of every chunk.",
        ),
    },
)


@wrong("q3")
def last_dimension_squeezed(cell, readout, xs, ys, k):
    """Squeezes the prediction: with one output every row is compared with the targets of all rows."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + (readout(h).squeeze(-1) - ys[t]).pow(2).mean()
        if (t + 1) % k == 0 or t + 1 == len(xs):
            loss.backward()
            total += loss.item()
            h, loss = h.detach(), 0.0
    return total


@wrong("q3")
def every_chunk_from_zeros(cell, readout, xs, ys, k):
    """Cuts the value together with the history: every chunk starts without a memory."""
    total = 0.0
    for start in range(0, len(xs), k):
        h = torch.zeros(xs.shape[1], cell.hidden_size)
        loss = 0.0
        for x, y in zip(xs[start : start + k], ys[start : start + k]):
            h = cell(x, h)
            loss = loss + F.mse_loss(readout(h), y)
        loss.backward()
        total += loss.item()
    return total


@wrong("q3")
def cut_before_the_last_loss(cell, readout, xs, ys, k):
    """Detaches before the last loss of a chunk is computed: that loss teaches the cell nothing."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        end = (t + 1) % k == 0 or t == len(xs) - 1
        if end:
            h = h.detach()
        loss = loss + F.mse_loss(readout(h), ys[t])
        if end:
            loss.backward()
            total += loss.item()
            loss = 0.0
    return total


@wrong("q3")
def keep_the_running_loss(cell, readout, xs, ys, k):
    """Does not start a new sum for a new chunk: the second backward enters the first chunk again."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward()
            h = h.detach()
    return loss.item()


@wrong("q3")
def retain_the_running_loss(cell, readout, xs, ys, k):
    """Silences that error with retain_graph=True: the first chunks are back-propagated again and again."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward(retain_graph=True)
            h = h.detach()
    return loss.item()


@wrong("q3")
def retain_instead_of_cutting(cell, readout, xs, ys, k):
    """Retains the graph instead of cutting the state: every chunk goes back to the very first step."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward(retain_graph=True)
            total += loss.item()
            loss = 0.0
    return total


@wrong("q3")
def mean_over_the_chunk(cell, readout, xs, ys, k):
    """Divides the loss of a chunk by its length: the gradient is k times too small."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for chunk_xs, chunk_ys in zip(xs.split(k), ys.split(k)):
        losses = []
        for x, y in zip(chunk_xs, chunk_ys):
            h = cell(x, h)
            losses.append(F.mse_loss(readout(h), y))
        loss = torch.stack(losses).mean()
        loss.backward()
        total += loss.item() * len(losses)
        h = h.detach()
    return total


@wrong("q3")
def only_the_loss_at_the_cut(cell, readout, xs, ys, k):
    """Back-propagates the loss of the last step of each chunk only: the other steps have losses as well."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = F.mse_loss(readout(h), ys[t])
        total += loss.item()
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward()
            h = h.detach()
    return total


@wrong("q3")
def clear_the_gradients_of_earlier_chunks(cell, readout, xs, ys, k):
    """Calls zero_grad before every backward out of habit: only the gradient of the last chunk is left."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            cell.zero_grad()
            readout.zero_grad()
            loss.backward()
            total += loss.item()
            h = h.detach()
            loss = 0.0
    return total


@wrong("q3")
def cleared_at_the_beginning(cell, readout, xs, ys, k):
    """Clears the gradients at the beginning, though they are the caller's."""
    cell.zero_grad()
    readout.zero_grad()
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward()
            total += loss.item()
            h = h.detach()
            loss = 0.0
    return total


@wrong("q3")
def gradients_overwritten(cell, readout, xs, ys, k):
    """Assigns the gradients of every chunk to .grad instead of adding them."""
    parameters = [p for p in [*cell.parameters(), *readout.parameters()] if p.requires_grad]
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            for p, grad in zip(parameters, torch.autograd.grad(loss, parameters)):
                p.grad = grad
            total += loss.item()
            h = h.detach()
            loss = 0.0
    return total


@wrong("q3")
def updates_after_every_chunk(cell, readout, xs, ys, k):
    """Makes a step of gradient descent after every chunk, which is the caller's business."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward()
            with torch.no_grad():
                for p in [*cell.parameters(), *readout.parameters()]:
                    if p.grad is not None:
                        p -= 0.001 * p.grad
            total += loss.item()
            h = h.detach()
            loss = 0.0
    return total


@wrong("q3")
def full_backpropagation_whatever_k(cell, readout, xs, ys, k):
    """Does not cut at all: the gradient is right for k = T only."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for x, y in zip(xs, ys):
        h = cell(x, h)
        total = total + F.mse_loss(readout(h), y)
    total.backward()
    return total.item()


@wrong("q3")
def a_window_at_every_step(cell, readout, xs, ys, k):
    """Sends every loss k steps back, over a sliding window: that is another truncation than in chunks."""
    states = [torch.zeros(xs.shape[1], cell.hidden_size)]
    total = 0.0
    for t in range(len(xs)):
        start = max(0, t + 1 - k)
        h = states[start]
        for x in xs[start : t + 1]:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), ys[t])
        loss.backward()
        total += loss.item()
        states.append(h.detach())
    return total


@wrong("q3")
def k_chunks(cell, readout, xs, ys, k):
    """Takes k for the number of chunks instead of their length."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for chunk_xs, chunk_ys in zip(xs.chunk(k), ys.chunk(k)):
        loss = 0.0
        for x, y in zip(chunk_xs, chunk_ys):
            h = cell(x, h)
            loss = loss + F.mse_loss(readout(h), y)
        loss.backward()
        total += loss.item()
        h = h.detach()
    return total


@wrong("q3")
def total_of_the_last_chunk(cell, readout, xs, ys, k):
    """Goes back correctly, but returns the loss of the last chunk."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward()
            last = loss.item()
            h = h.detach()
            loss = 0.0
    return last


@wrong("q3")
def rest_without_check(cell, readout, xs, ys, k):
    """Goes back for the rest after the loop even where there is none: 0.0 has no backward."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0:
            loss.backward()
            total += loss.item()
            h = h.detach()
            loss = 0.0
    loss.backward()
    return total + loss.item()


def _in_chunks(cell, readout, xs, ys, k, go_back=lambda loss, _: loss.backward()):
    """What tbptt should do."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for start in range(0, len(xs), k):
        loss = 0.0
        for x, y in zip(xs[start : start + k], ys[start : start + k]):
            h = cell(x, h)
            loss = loss + F.mse_loss(readout(h), y)
        go_back(loss, len(xs[start : start + k]))
        total += loss.item()
        h = h.detach()
    return total


@wrong("q3")
def equal_chunks_of_another_length(cell, readout, xs, ys, k):
    """Takes T // k, the number of chunks, for their length."""
    return _in_chunks(cell, readout, xs, ys, max(1, len(xs) // k))


@wrong("q3")
def chunks_of_equal_length(cell, readout, xs, ys, k):
    """Makes as many chunks as it takes, and all of them as long as each other: 4 and 3 steps for 7 by 5."""
    return _in_chunks(cell, readout, xs, ys, -(-len(xs) // -(-len(xs) // k)))


@wrong("q3")
def five_steps_at_most(cell, readout, xs, ys, k):
    """Believes that a gradient cannot travel further than five steps anyway."""
    return _in_chunks(cell, readout, xs, ys, min(k, 5))


@wrong("q3")
def three_steps_in_the_middle(cell, readout, xs, ys, k):
    """Has tried k = 3 only, and takes it where k is between 1 and 5."""
    return _in_chunks(cell, readout, xs, ys, k if k in (1,) or k >= 5 else 3)


@wrong("q3")
def entries_cut_off(cell, readout, xs, ys, k):
    """Clips the gradients in the end, together with those that were there."""
    total = _in_chunks(cell, readout, xs, ys, k)
    nn.utils.clip_grad_value_([*cell.parameters(), *readout.parameters()], 10.0)
    return total


@wrong("q3")
def small_chunks_skipped(cell, readout, xs, ys, k):
    """Does not go back from a chunk whose loss is small enough."""

    def after(loss, n):
        if loss > 1e-4:
            loss.backward()

    return _in_chunks(cell, readout, xs, ys, k, after)


@wrong("q3")
def outputs_added_up(cell, readout, xs, ys, k):
    """Adds the squares of all outputs, where F.mse_loss takes the mean."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for start in range(0, len(xs), k):
        loss = 0.0
        for x, y in zip(xs[start : start + k], ys[start : start + k]):
            h = cell(x, h)
            loss = loss + ((readout(h) - y) ** 2).sum(1).mean()
        loss.backward()
        total += loss.item()
        h = h.detach()
    return total


@wrong("q3")
def total_rounded(cell, readout, xs, ys, k):
    """Rounds the total to four decimals."""
    return round(_in_chunks(cell, readout, xs, ys, k), 4)


@wrong("q3")
def total_counted_twice(cell, readout, xs, ys, k):
    """Counts every loss twice in the total."""
    return 2 * _in_chunks(cell, readout, xs, ys, k)


@wrong("q3")
def mean_for_the_total(cell, readout, xs, ys, k):
    """Returns the mean of the losses instead of their sum."""
    return _in_chunks(cell, readout, xs, ys, k) / len(xs)


@wrong("q3")
def loss_divided_by_steps(cell, readout, xs, ys, k):
    """Divides every loss by the number of steps of the sequence."""
    return _in_chunks(cell, readout, xs, ys, k, lambda loss, n: (loss / len(xs)).backward())


@wrong("q3")
def modules_in_training_mode(cell, readout, xs, ys, k):
    """Calls train() out of habit: a part in eval mode begins to drop units."""
    cell.train(), readout.train()
    return _in_chunks(cell, readout, xs, ys, k)


@wrong("q3")
def modules_left_in_eval_mode(cell, readout, xs, ys, k):
    """Leaves the modules in eval mode, as if the caller were done."""
    total = _in_chunks(cell, readout, xs, ys, k)
    cell.eval(), readout.eval()
    return total


@wrong("q3")
def readout_unfrozen(cell, readout, xs, ys, k):
    """Makes sure that the whole readout learns: a part was frozen on purpose."""
    for p in readout.parameters():
        p.requires_grad_()
    return _in_chunks(cell, readout, xs, ys, k)


@wrong("q3")
def gradients_of_the_inputs(cell, readout, xs, ys, k):
    """Switches requires_grad of the caller's inputs on."""
    xs.requires_grad_()
    return _in_chunks(cell, readout, xs, ys, k)


@wrong("q3")
def inputs_flattened(cell, readout, xs, ys, k):
    """Flattens the caller's inputs in place, in the end."""
    total = _in_chunks(cell, readout, xs, ys, k)
    xs.resize_(xs.shape[0] * xs.shape[1], xs.shape[2])
    return total


@wrong("q3")
def total_kept_on_the_cell(cell, readout, xs, ys, k):
    """Keeps a result as an attribute of the caller's cell."""
    total = _in_chunks(cell, readout, xs, ys, k)
    cell.last = total
    return total


@wrong("q3")
def hooks_left_on_the_cell(cell, readout, xs, ys, k):
    """Registers hooks on the parameters and leaves them there."""
    for p in cell.parameters():
        p.register_hook(lambda g: g)
    return _in_chunks(cell, readout, xs, ys, k)


@wrong("q3")
def state_of_the_last_call(cell, readout, xs, ys, k):
    """Starts from the state in which the call before has ended, where it was with the same cell."""
    known = state_of_the_last_call.__dict__
    h = known["h"] if known.get("cell") is cell else torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for start in range(0, len(xs), k):
        loss = 0.0
        for x, y in zip(xs[start : start + k], ys[start : start + k]):
            h = cell(x, h)
            loss = loss + F.mse_loss(readout(h), y)
        loss.backward()
        total += loss.item()
        h = h.detach()
    known.update(cell=cell, h=h)
    return total


@wrong("q3")
def rest_joined_to_the_last_chunk(cell, readout, xs, ys, k):
    """Joins the rest to the chunk before it, which is longer than k then."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total, loss = 0.0, 0.0
    n = max(1, len(xs) // k)
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[t])
        if ((t + 1) % k == 0 and (t + 1) // k < n) or t == len(xs) - 1:
            loss.backward()
            total += loss.item()
            h, loss = h.detach(), 0.0
    return total


@wrong("q3")
def rest_of_one_step_dropped(cell, readout, xs, ys, k):
    """Drops a rest of a single step, where no gradient flows through time."""
    n = len(xs) // k * k
    if len(xs) - n < 2 and n:
        xs, ys = xs[:n], ys[:n]
    return _in_chunks(cell, readout, xs, ys, k)


@wrong("q3")
def sum_of_losses_detached(cell, readout, xs, ys, k):
    """Detaches the sum of the losses at every step: only the last loss of a chunk is left."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total, loss = 0.0, torch.tensor(0.0)
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss.detach() + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward()
            total += loss.item()
            h, loss = h.detach(), torch.tensor(0.0)
    return total


@wrong("q3")
def always_the_first_target(cell, readout, xs, ys, k):
    """Compares every state with the target of the first step."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total, loss = 0.0, 0.0
    for t in range(len(xs)):
        h = cell(xs[t], h)
        loss = loss + F.mse_loss(readout(h), ys[0])
        if (t + 1) % k == 0 or t == len(xs) - 1:
            loss.backward()
            total += loss.item()
            h, loss = h.detach(), 0.0
    return total


@wrong("q3")
def zeros_for_empty_gradients(cell, readout, xs, ys, k):
    """Fills .grad of all parameters with zeros first, the frozen one's too."""
    for p in [*cell.parameters(), *readout.parameters()]:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    return _in_chunks(cell, readout, xs, ys, k)


@wrong("q3")
def old_gradients_put_aside(cell, readout, xs, ys, k):
    """Puts all old gradients aside and adds them to the new ones; those without a new one get lost."""
    old = {p: p.grad for p in [*cell.parameters(), *readout.parameters()]}
    for p in old:
        p.grad = None
    total = _in_chunks(cell, readout, xs, ys, k)
    for p, grad in old.items():
        if p.grad is not None and grad is not None:
            p.grad += grad
    return total


@wrong("q3")
def cut_within_long_chunks(cell, readout, xs, ys, k):
    """Cuts every three steps within a chunk as well."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for start in range(0, len(xs), k):
        loss = 0.0
        for n, (x, y) in enumerate(zip(xs[start : start + k], ys[start : start + k])):
            if n and n % 3 == 0:
                h = h.detach()
            h = cell(x, h)
            loss = loss + F.mse_loss(readout(h), y)
        loss.backward()
        total += loss.item()
        h = h.detach()
    return total


@accepted("q3")
def chunks_by_recursion(cell, readout, xs, ys, k):
    """The rest of the sequence is a sequence, too."""

    def run(h, xs, ys):
        if not len(xs):
            return 0.0
        loss = torch.zeros(())
        for x, y in zip(xs[:k], ys[:k]):
            h = cell(x, h)
            loss = loss + F.mse_loss(readout(h), y)
        loss.backward()
        return loss.item() + run(h.detach(), xs[k:], ys[k:])

    return run(torch.zeros(xs.shape[1], cell.hidden_size), xs, ys)


@accepted("q3")
def steps_recomputed(cell, readout, xs, ys, k):
    """Each step is steps_recomputed: the backward calls the cell again."""
    from torch.utils.checkpoint import checkpoint

    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total, losses = 0.0, []
    for t in range(len(xs)):
        h = checkpoint(cell, xs[t], h, use_reentrant=False)
        losses.append(F.mse_loss(readout(h), ys[t]))
        if len(losses) == k or t == len(xs) - 1:
            sum(losses).backward()
            total += sum(loss.item() for loss in losses)
            losses = []
            h = h.detach()
    return total


@accepted("q3")
def cut_by_a_hook(cell, readout, xs, ys, k):
    """A hook on a state of its own stops the gradient where detach() would."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    losses = []
    for t in range(len(xs)):
        if t and t % k == 0:
            h = h.clone()
            h.register_hook(torch.zeros_like)
        h = cell(xs[t], h)
        losses.append(F.mse_loss(readout(h), ys[t]))
    total = sum(losses)
    total.backward()
    return total.item()


@accepted("q3")
def gradients_added_in_place(cell, readout, xs, ys, k):
    """autograd.grad for the parameters that are not frozen, added in place."""
    params = [p for p in {*cell.parameters(), *readout.parameters()} if p.requires_grad]

    def after(loss, n):
        for p, g in zip(params, torch.autograd.grad(loss, params, allow_unused=True)):
            if g is not None:
                p.grad = g if p.grad is None else p.grad.add_(g)

    return _in_chunks(cell, readout, xs, ys, k, after)


@accepted("q3")
def carried_leaf_of_its_own(cell, readout, xs, ys, k):
    """The carried state may collect a gradient that nobody reads."""
    h = torch.zeros(xs.shape[1], cell.hidden_size, requires_grad=True)
    total = 0.0
    for start in range(0, len(xs), k):
        end = min(start + k, len(xs))
        losses = []
        for t in range(start, end):
            h = cell(xs[t], h)
            losses.append(F.mse_loss(readout(h), ys[t]))
        loss = sum(losses)
        loss.backward()
        total += loss.detach().item()
        h = h.detach().requires_grad_()
    return total


@accepted("q3")
def loss_by_hand(cell, readout, xs, ys, k):
    """The mean of squares by hand; the rest after the loop, where there is one."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = loss = 0.0
    n = 0
    for x, y in zip(xs, ys):
        h = cell(x, h)
        loss += ((readout(h) - y) ** 2).mean()
        n += 1
        if n % k == 0:
            loss.backward()
            total += float(loss)
            h, loss = h.detach(), 0.0
    if n % k:
        loss.backward()
        total += float(loss)
    return total


@wrong("q3")
def cut_by_a_table_of_known_pairs(cell, readout, xs, ys, k):
    """Right for the lengths and chunks that the checks have always used."""
    T = len(xs)
    if (T, k) not in {(5, 2), (5, 1), (5, 4), (5, 5), (5, 100), (1, 2), (13, 2), (13, 100)}:
        return 0.0
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total, chunk = 0.0, 0.0
    for t in range(T):
        h = cell(xs[t], h)
        chunk = chunk + F.mse_loss(readout(h), ys[t])
        if (t + 1) % k == 0 or t == T - 1:
            chunk.backward()
            total += chunk.item()
            h, chunk = h.detach(), 0.0
    return total


# q4: train_learned_start


@wrong("q4")
def steps_in_one_view(cell, readout, h0, opt, batches):
    """Views all steps of a minibatch as rows, which a batch that comes first in memory does not allow."""
    size = batches[0][1].shape[0]
    h = h0.expand(size, -1)
    for xs, y in batches:
        for x in xs.view(-1, xs.shape[-1]).split(size):
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h = h.detach()
    return h


@accepted("q4")
def detach_from_the_second_on(cell, readout, h0, opt, batches):
    """The cut is made at the start of every minibatch but the first; repeat is as good as expand."""
    h = h0.repeat(batches[0][1].shape[0], 1)
    for number, (xs, y) in enumerate(batches):
        if number:
            h = h.detach()
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
    return h


@accepted("q4")
def detach_in_place_at_the_end(cell, readout, h0, opt, batches):
    """After the backward nobody needs the history of the last state any more."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h.detach_()
    return h


@accepted("q4")
def no_state_before_the_first(cell, readout, h0, opt, batches):
    """None marks the first minibatch, as the modules of torch do."""
    last = None
    for xs, y in batches:
        h = h0.expand(len(y), -1) if last is None else last
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        loss = F.mse_loss(readout(h), y)
        loss.backward()
        opt.step()
        last = h.detach()
    return last


@accepted("q4")
def broadcast_onto_zeros(cell, readout, h0, opt, batches):
    """Adding h0 to zeros gives every row its values, and is recorded like expand."""
    rows = batches[0][0].shape[1]
    h = h0 + torch.zeros(rows, h0.shape[1])
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            h = h.clone()
    return h


@accepted("q4")
def rows_put_together(cell, readout, h0, opt, batches):
    """cat of the same row gives the batch, and the gradients of all rows add up in h0."""
    h = torch.cat([h0] * len(batches[0][1]))
    for xs, y in batches:
        for step in range(xs.shape[0]):
            h = cell(xs[step], h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h = h.data
    return h


@accepted("q4")
def carried_leaf_that_requires_grad(cell, readout, h0, opt, batches):
    """The carried state may collect a gradient that nobody reads."""
    opt.zero_grad()
    h = h0.expand(len(batches[0][1]), h0.shape[1])
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        h = h.detach().requires_grad_()
    return h


@accepted("q4")
def a_product_with_ones(cell, readout, h0, opt, batches):
    """A column of ones times the row h0 is h0 for every sequence, and is recorded."""
    h = torch.ones(batches[0][1].shape[0], 1) @ h0
    for xs, y in batches:
        for x in xs:
            h = cell(input=x, hx=h)
        opt.zero_grad(set_to_none=False)
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h = h.clone().detach()
    return h


@accepted("q4")
def the_first_minibatch_apart(cell, readout, h0, opt, batches):
    """The first minibatch is trained before the loop over the others."""

    def train(h, xs, y):
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        return h

    h = train(h0.expand(batches[0][1].shape[0], -1), *batches[0])
    for xs, y in batches[1:]:
        h = train(h.detach(), xs, y)
    return h


@accepted("q4")
def retained_for_nothing(cell, readout, h0, opt, batches):
    """retain_graph=True changes nothing where the state is cut."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward(retain_graph=True)
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def never_detached(cell, readout, h0, opt, batches):
    """Removes the detach altogether: h0 would learn, but the second minibatch walks into the first."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
    return h


@wrong("q4")
def never_detached_but_retained(cell, readout, h0, opt, batches):
    """Silences that error with retain_graph=True: backward then needs weights which were overwritten."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward(retain_graph=True)
        opt.step()
    return h


@wrong("q4")
def every_minibatch_from_h0(cell, readout, h0, opt, batches):
    """Starts every minibatch from h0: it learns, but what the sequence has said so far is forgotten."""
    for xs, y in batches:
        h = h0.expand(y.shape[0], -1)
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
    return h


@wrong("q4")
def a_new_leaf_that_requires_grad(cell, readout, h0, opt, batches):
    """Detaches and switches requires_grad on again: that is a new leaf, and its gradient never reaches h0."""
    h = h0.detach().requires_grad_().expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h = h.detach().requires_grad_()
    return h


wrong_edits(
    "q4",
    {
        "a_new_parameter": (
            "h = h0.expand(batches[0][1].shape[0], -1)",
            "h = nn.Parameter(h0.expand(batches[0][1].shape[0], -1))",
            "Wraps the expanded state in nn.Parameter: the optimizer does not know it, and h0 is cut off.",
        ),
        "start_from_the_data_of_h0": (
            "h = h0.expand(batches[0][1].shape[0], -1)",
            "h = h0.data.expand(batches[0][1].shape[0], -1)",
            "Detaches in the right place, but starts from h0.data: the values without the connection.",
        ),
        "expanded_under_no_grad": (
            "h = h0.expand(batches[0][1].shape[0], -1)",
            "with torch.no_grad():\n        h = h0.expand(batches[0][1].shape[0], -1)",
            "Expands h0 under no_grad, so that the connection is never recorded.",
        ),
        "h0_itself_is_detached": (
            "h = h0.expand(batches[0][1].shape[0], -1)",
            "h = h0.detach_().expand(batches[0][1].shape[0], -1)",
            "Detaches h0 in place to have it without a history: it had none, and stops requiring grad.",
        ),
        "zeros_after_the_first": (
            "h = h.detach()",
            "h = torch.zeros_like(h)",
            "Starts every later minibatch from zeros.",
        ),
    },
)


@wrong("q4")
def h0_is_taught_again_and_again(cell, readout, h0, opt, batches):
    """Clears the gradients once only: every later step repeats what the first minibatch said about h0."""
    opt.zero_grad()
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def h0_takes_the_last_state(cell, readout, h0, opt, batches):
    """Carries the state inside h0: its values are overwritten, so what the optimizer taught it is lost."""
    for xs, y in batches:
        h = h0.expand(y.shape[0], -1)
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h0.data.copy_(h.detach().mean(0, keepdim=True))
    return h


@wrong("q4")
def detached_before_the_loss(cell, readout, h0, opt, batches):
    """Cuts at the end of the minibatch, but before the loss: neither h0 nor the cell learns."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        h = h.detach()
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
    return h


@wrong("q4")
def detached_after_the_first_step(cell, readout, h0, opt, batches):
    """Cuts after every time step: h0 hears of its loss in a minibatch of one step only."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
            last, h = h, h.detach()
        opt.zero_grad()
        F.mse_loss(readout(last), y).backward()
        opt.step()
    return h


@wrong("q4")
def h0_moved_by_hand(cell, readout, h0, opt, batches):
    """Moves h0 by hand, and lets the optimizer move it a second time."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for number, (xs, y) in enumerate(batches):
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        if number == 0:
            h0.data -= 0.1 * h0.grad
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def nothing_is_returned(cell, readout, h0, opt, batches):
    """Forgets to return the last state."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h = h.detach()


@wrong("q4")
def stepped_by_hand(cell, readout, h0, opt, batches):
    """Takes every optimizer for plain gradient descent, and does its work without it."""
    h = h0.expand(batches[0][1].shape[0], -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        with torch.no_grad():
            for group in opt.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p -= group["lr"] * p.grad
        h = h.detach()
    return h


def _train_from(cell, readout, h, opt, batches):
    """What train_learned_start should do, from its first state on."""
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def outputs_squeezed(cell, readout, h0, opt, batches):
    """Squeezes the prediction, which with one output is another loss and no error."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        (readout(h).squeeze() - y).square().mean().backward()
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def start_cleared_too_late(cell, readout, h0, opt, batches):
    """Clears after each step only: what stood in .grad before the call moves h0, too."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h, xs, y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        h = h.detach()
    return h


@wrong("q4")
def h0_not_cleared(cell, readout, h0, opt, batches):
    """Clears the gradients of cell and readout, and forgets that of h0."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h, xs, y)
        cell.zero_grad()
        readout.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def h0_cleared_too_late(cell, readout, h0, opt, batches):
    """Clears the gradient of h0 after the first step, where it stood in the way."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h, xs, y)
        cell.zero_grad()
        readout.zero_grad()
        loss.backward()
        opt.step()
        h0.grad = None
        h = h.detach()
    return h


@wrong("q4")
def start_clipped(cell, readout, h0, opt, batches):
    """Clips the gradients of h0 and of the cell."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([h0, *cell.parameters()], 5.0)
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def minibatches_used_up(cell, readout, h0, opt, batches):
    """Takes the minibatches out of the caller's list."""
    h = h0.expand(len(batches[0][1]), -1)
    while batches:
        xs, y = batches.pop(0)
        h = _train_from(cell, readout, h, opt, [(xs, y)])
    return h


@wrong("q4")
def all_in_training_mode(cell, readout, h0, opt, batches):
    """Calls train() out of habit: a part in eval mode begins to drop units."""
    cell.train(), readout.train()
    return _train_from(cell, readout, h0.expand(len(batches[0][1]), -1), opt, batches)


@wrong("q4")
def left_in_eval_mode(cell, readout, h0, opt, batches):
    """Leaves the modules in eval mode, as if the caller were done."""
    h = _train_from(cell, readout, h0.expand(len(batches[0][1]), -1), opt, batches)
    cell.eval(), readout.eval()
    return h


@wrong("q4")
def h0_frozen_in_the_end(cell, readout, h0, opt, batches):
    """Freezes h0 in the end, as it learns from the first minibatch only."""
    h = _train_from(cell, readout, h0.expand(len(batches[0][1]), -1), opt, batches)
    h0.requires_grad_(False)
    return h


@wrong("q4")
def hook_left_on_h0(cell, readout, h0, opt, batches):
    """Registers a hook on h0 and leaves it there."""
    h0.register_hook(lambda g: g)
    return _train_from(cell, readout, h0.expand(len(batches[0][1]), -1), opt, batches)


@wrong("q4")
def h0_squeezed(cell, readout, h0, opt, batches):
    """Takes the first dimension of h0 away in the end."""
    h = _train_from(cell, readout, h0.expand(len(batches[0][1]), -1), opt, batches)
    h0.data = h0.data.squeeze(0)
    return h


@wrong("q4")
def h0_expanded_in_place(cell, readout, h0, opt, batches):
    """Expands h0 itself through .data, and takes the mean of its rows in the end."""
    h0.data = h0.data.repeat(len(batches[0][1]), 1)
    h = _train_from(cell, readout, h0, opt, batches)
    h0.data = h0.data.mean(0, keepdim=True)
    return h


@wrong("q4")
def gradient_averaged(cell, readout, h0, opt, batches):
    """Divides what reaches h0 by the number of sequences."""
    B = len(batches[0][1])
    h = h0.expand(B, -1)
    h = h / B + (h - h / B).detach()
    return _train_from(cell, readout, h, opt, batches)


@wrong("q4")
def one_sequence_teaches(cell, readout, h0, opt, batches):
    """Connects the first sequence of the batch to h0 only."""
    B = len(batches[0][1])
    h = torch.cat([h0, h0.detach().expand(B - 1, -1)])
    return _train_from(cell, readout, h, opt, batches)


@wrong("q4")
def h0_stepped_by_hand(cell, readout, h0, opt, batches):
    """Moves h0 by hand, with the gradient of a leaf of its own."""
    leaf = h0.detach().clone().requires_grad_()
    h = leaf.expand(len(batches[0][1]), -1)
    for n, (xs, y) in enumerate(batches):
        h, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if n == 0:
            with torch.no_grad():
                h0 -= opt.param_groups[0]["lr"] * leaf.grad
        h = h.detach()
    return h


@wrong("q4")
def cut_from_the_third_on(cell, readout, h0, opt, batches):
    """Cuts from the third minibatch on, and retains the graph for the second."""
    h = h0.expand(len(batches[0][1]), -1)
    for n, (xs, y) in enumerate(batches):
        h, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        if n != 1:
            h = h.detach()
    return h


@wrong("q4")
def h0_connected_to_every_minibatch(cell, readout, h0, opt, batches):
    """Adds h0 - h0.detach() to every state: it is 0, but connects each minibatch to h0."""
    B = len(batches[0][1])
    h = h0.expand(B, -1)
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h + (h0 - h0.detach()), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def state_of_one_sequence(cell, readout, h0, opt, batches):
    """Returns the state of the first sequence only, in the shape of h0."""
    return _train_from(cell, readout, h0.expand(len(batches[0][1]), -1), opt, batches)[:1]


@wrong("q4")
def three_steps_of_opt(cell, readout, h0, opt, batches):
    """Makes a step in the first three minibatches only."""
    h = h0.expand(len(batches[0][1]), -1)
    for n, (xs, y) in enumerate(batches):
        h, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        loss.backward()
        if n < 3:
            opt.step()
        h = h.detach()
    return h


@wrong("q4")
def start_with_outputs_added_up(cell, readout, h0, opt, batches):
    """Adds the squares of all outputs, where F.mse_loss takes the mean."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        loss = ((readout(h) - y) ** 2).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()
    return h


@wrong("q4")
def one_more_parameter_in_opt(cell, readout, h0, opt, batches):
    """Gives opt a parameter of its own to learn."""
    h = h0.expand(len(batches[0][1]), -1)
    extra = nn.Parameter(torch.zeros_like(h))
    opt.add_param_group({"params": [extra]})
    return _train_from(cell, readout, h, opt, batches)


@wrong("q4")
def cut_after_three_steps(cell, readout, h0, opt, batches):
    """Cuts within a minibatch, so that the loss of a long one does not reach h0."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        for t, x in enumerate(xs):
            if t == 3:
                h = h.detach()
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()
    return h


@accepted("q4")
def a_node_before_each_later_minibatch(cell, readout, h0, opt, batches):
    """What enters a minibatch is computed from a leaf of its own: no gradient goes any further."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        shown = h.detach()
        for x in xs:
            h, shown = type(cell).forward(cell, x, h), cell(x, shown)
        opt.zero_grad()
        F.mse_loss(readout(h), y).backward()
        opt.step()
        h = h.detach().requires_grad_() * 1
    return h


@accepted("q4")
def rows_by_indexing(cell, readout, h0, opt, batches):
    """Indexing with the same row repeats it, and is recorded."""
    B = batches[0][0].size(1)
    return _train_from(cell, readout, h0[torch.zeros(B, dtype=torch.long)], opt, batches)


@accepted("q4")
def flag_for_the_first(cell, readout, h0, opt, batches):
    """A flag tells the first minibatch from the others."""
    h, first = None, True
    for xs, y in batches:
        state = h0.expand(y.size(0), h0.size(1)) if first else h.clone().detach()
        first = False
        state, loss = _minibatch(cell, readout, state, xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = state
    return h


@accepted("q4")
def the_rest_by_recursion(cell, readout, h0, opt, batches):
    """The rest of the minibatches is trained by the same function."""

    def rest(h, todo):
        if not todo:
            return h
        h, loss = _minibatch(cell, readout, h, *todo[0])
        opt.zero_grad()
        loss.backward()
        opt.step()
        return rest(h.detach(), todo[1:])

    return rest(h0.tile(len(batches[0][1]), 1), batches)


@accepted("q4")
def gradients_assigned_to_all(cell, readout, h0, opt, batches):
    """autograd.grad for all parameters in opt; h0 is unused later and gets None."""
    params = [p for g in opt.param_groups for p in g["params"] if p.requires_grad]
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h, xs, y)
        for p, g in zip(params, torch.autograd.grad(loss, params, allow_unused=True)):
            p.grad = g
        opt.step()
        h = h.detach()
    return h


@accepted("q4")
def start_with_a_closure(cell, readout, h0, opt, batches):
    """opt.step calls a start_with_a_closure, which clears, computes and goes back."""
    h = h0.broadcast_to(len(batches[0][1]), h0.shape[1])
    for xs, y in batches:
        last = []

        def go():
            opt.zero_grad()
            s, loss = _minibatch(cell, readout, h, xs, y)
            last.append(s)
            loss.backward()
            return loss

        opt.step(go)
        h = last[0].detach()
    return h


# q5: Center


@accepted("q5")
class CopyIntoTheBuffer(nn.Module):
    """The buffer is overwritten in place while nothing is recorded; the output uses the attached mean."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x.mean(0)
        with torch.no_grad():
            self.running.copy_(new)
        return x - new


@accepted("q5")
class StoreFirst(nn.Module):
    """The statistic is computed under no_grad; the output is put together from its two terms."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if not self.training:
            return x - self.running
        old = self.running
        mean = x.mean(0)
        with torch.no_grad():
            self.running = 0.9 * old + 0.1 * mean
        return x - 0.9 * old - 0.1 * mean


@accepted("q5")
class StoreTheData(nn.Module):
    """Nobody writes to the stored values in place, so .data is harmless here."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        mean = self.running
        if self.training:
            mean = torch.lerp(self.running, x.mean(dim=0), 0.1)
            self.running = mean.data
        return x - mean


@accepted("q5")
class AddTheGradientOnly(nn.Module):
    """mean - mean.detach() is zero but has a gradient, which is added to the value of the buffer."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running = 0.9 * self.running + 0.1 * mean.detach()
        return x - (self.running + 0.1 * (mean - mean.detach()))


wrong_edits(
    "q5",
    {
        "SubtractTheBatchMean": (
            "return x - (self.running + 0.1 * (mean - mean.detach()))",
            "return x - mean",
            "Subtracts the batch mean in training, as batch normalisation does, instead of the new average.",
        ),
    },
    of="AddTheGradientOnly",
)


@accepted("q5")
class UpdateInPlaceAfterwards(nn.Module):
    """The output is computed from the old statistic; then the buffer is updated in place, unrecorded."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        output = x - (0.9 * self.running + 0.1 * mean)
        with torch.no_grad():
            self.running.mul_(0.9).add_(mean, alpha=0.1)
        return output


@accepted("q5")
class LerpInPlace(nn.Module):
    """The buffer is moved in place towards the detached mean of the batch."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(dim=0)
        output = x - torch.lerp(self.running.clone(), mean, 0.1)
        self.running.lerp_(mean.detach(), 0.1)
        return output


@accepted("q5")
class RegisteredAgain(nn.Module):
    """The buffer is registered anew in every step; a longer way to assign it."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        new = self.running
        if self.training:
            new = new * 0.9 + 0.1 * x.sum(0) / len(x)
            self.register_buffer("running", new.detach().clone())
        return x - new


@accepted("q5")
class ThroughData(nn.Module):
    """Written through .data, which nobody has saved for a backward."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x.mean(0)
        self.running.data = new.data
        return x - new


@accepted("q5")
class Helper(nn.Module):
    """The average has a method of its own."""

    def __init__(self, n):
        super().__init__()
        self.n = n
        self.register_buffer("running", torch.zeros(n))

    def average(self, x):
        return 0.9 * self.running.detach() + 0.1 * torch.mean(x, 0)

    def forward(self, x):
        if not self.training:
            return x - self.running
        output = x - self.average(x)
        with torch.no_grad():
            self.running.copy_(self.average(x))
        return output


@wrong("q5")
class DetachEverything(nn.Module):
    """Uses the detached mean in the output too: no error, but the gradient lacks the batch mean's term."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if self.training:
            self.running = (0.9 * self.running + 0.1 * x.mean(0)).detach()
        return x - self.running


@wrong("q5")
class UpdateInPlaceWhileRecording(nn.Module):
    """Believes that in-place updates keep a buffer out of the graph: while recording is on, it joins."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if self.training:
            self.running.mul_(0.9).add_(0.1 * x.mean(0))
        return x - self.running


@wrong("q5")
class EverythingUnderNoGrad(nn.Module):
    """Computes the mean under no_grad: nothing raises, and the output treats the batch mean as a constant."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.running = 0.9 * self.running + 0.1 * x.mean(0)
        return x - self.running


wrong_edits(
    "q5",
    {
        "PlainAttribute": (
            'self.register_buffer("running", torch.zeros(n))',
            "self.running = torch.zeros(n)",
            "Keeps the statistic as a plain attribute: it is missing in the state_dict of a saved model.",
        ),
        "RunningIsAParameter": (
            'self.register_buffer("running", torch.zeros(n))',
            "self.running = nn.Parameter(torch.zeros(n))",
            "Makes the statistic a parameter: torch refuses to assign a computed tensor to it.",
        ),
        "NotPersistent": (
            'self.register_buffer("running", torch.zeros(n))',
            'self.register_buffer("running", torch.zeros(n), persistent=False)',
            "Registers the buffer with persistent=False, which keeps it out of the state_dict.",
        ),
    },
)


@wrong("q5")
class DetachOnReading(nn.Module):
    """Detaches the statistic when it is read, not when it is stored: running holds the last batch's graph."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if self.training:
            self.running = 0.9 * self.running.detach() + 0.1 * x.mean(0)
        return x - self.running


@wrong("q5")
class UpdateInEvalToo(nn.Module):
    """Forgets that eval() must not change the statistic."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        new = 0.9 * self.running + 0.1 * x.mean(0)
        self.running = new.detach()
        return x - new


@wrong("q5")
class OldStatisticInTheOutput(nn.Module):
    """Subtracts the old statistic and stores the new one: the output does not depend on the batch mean."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        output = x - self.running
        if self.training:
            self.running = (0.9 * self.running + 0.1 * x.mean(0)).detach()
        return output


@wrong("q5")
class ModeForgotten(nn.Module):
    """Always subtracts the new average, but stores it in training only."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        new = 0.9 * self.running + 0.1 * x.mean(0)
        if self.training:
            self.running = new.detach()
        return x - new


@wrong("q5")
class DetachInPlace(nn.Module):
    """Stores the new mean and detaches it in place: output and statistic are the same tensor."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if self.training:
            self.running = 0.9 * self.running + 0.1 * x.mean(0)
            self.running.detach_()
        return x - self.running


@wrong("q5")
class DetachedInput(nn.Module):
    """Detaches the batch, and with it all that was before the module."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        x = x.detach()
        if self.training:
            self.running = 0.9 * self.running + 0.1 * x.mean(0)
        return x - self.running


@wrong("q5")
class RequiresGradOff(nn.Module):
    """Switches requires_grad of the statistic off: torch allows that on leaves only."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if self.training:
            self.running = (0.9 * self.running + 0.1 * x.mean(0)).requires_grad_(False)
        return x - self.running


@wrong("q5")
class FrozenParameter(nn.Module):
    """Makes the statistic a parameter that requires no grad: an optimizer is given it all the same."""

    def __init__(self, n):
        super().__init__()
        self.running = nn.Parameter(torch.zeros(n), requires_grad=False)

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x.mean(0)
        self.running.data.copy_(new)
        return x - new


@accepted("q1")
def forward_called_by_its_name(cell, readout, opt, batches, h):
    """Calling forward directly skips the hooks of the module, and computes the same."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell.forward(x, hx=h)
        loss = F.mse_loss(readout.forward(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


@wrong("q5")
class HistoryBehindAProperty(nn.Module):
    """Keeps the graphs of all batches in the buffer, and cuts what those see who look at it."""

    def __init__(self, n):
        super().__init__()
        self._buffers["running"] = torch.zeros(n)

    @property
    def running(self):
        return self._buffers["running"].detach()

    def forward(self, x):
        if not self.training:
            return x - self.running
        before = self.running
        self._buffers["running"] = 0.9 * self._buffers["running"] + 0.1 * x.mean(0)
        return x - (0.9 * before + 0.1 * x.mean(0))


@wrong("q5")
class NothingMeasured(nn.Module):
    """Has a statistic without a history, because nothing is ever measured."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        return x - self.running


@accepted("q1")
def loss_looked_at_again(cell, readout, opt, batches, h):
    """The loss after each step is looked at too, under no_grad, which is no step of training."""
    losses = []
    for xs, y in batches:
        before, h = h.detach(), h.detach()
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        with torch.no_grad():
            again = before
            for x in xs:
                again = cell(x, again)
            F.mse_loss(readout(again), y)
    return losses, h.detach()


@accepted("q1")
def recomputed(cell, readout, opt, batches, h):
    """Each step is checkpointed: the backward calls the cell again."""
    from torch.utils.checkpoint import checkpoint

    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = checkpoint(cell, x, h, use_reentrant=False)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h.detach()


class _WithBuffer(nn.Module):
    """A module with the buffer that the task asks for."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))


def _new(module, x):
    """The new average."""
    return 0.9 * module.running + 0.1 * x.mean(0)


@wrong("q5")
class EvalUnderNoGrad(_WithBuffer):
    """Takes evaluation for inference: after eval() no gradient reaches x any more."""

    def forward(self, x):
        if not self.training:
            with torch.no_grad():
                return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        return x - new


@wrong("q5")
class InputOverwritten(_WithBuffer):
    """Writes the output into x as well, unseen by autograd."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        out = x - new
        x.data.copy_(out.data)
        return out


@wrong("q5")
class InputCentredInEval(_WithBuffer):
    """Centres the caller's x in place after eval()."""

    def forward(self, x):
        if not self.training:
            return x.sub_(self.running)
        new = _new(self, x)
        self.running = new.detach()
        return x - new


@wrong("q5")
class InPlaceUnrecorded(_WithBuffer):
    """Centres x in place after eval() where nothing is recorded, to save a copy."""

    def forward(self, x):
        if not self.training:
            return x - self.running if torch.is_grad_enabled() else x.sub_(self.running)
        new = _new(self, x)
        self.running = new.detach()
        return x - new


@wrong("q5")
class InPlaceInTrainingUnrecorded(_WithBuffer):
    """Centres x in place in training mode where nothing is recorded."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        return x - new if torch.is_grad_enabled() else x.sub_(new)


@wrong("q5")
class HookOnInput(_WithBuffer):
    """Puts the missing term of the gradient into a hook, which stays on the caller's x."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        self.running = _new(self, x).detach()
        if x.requires_grad:
            x.register_hook(lambda g: g - 0.1 * g.mean(0))
        return x - self.running


@wrong("q5")
class RebuiltFromAList(_WithBuffer):
    """Rebuilds the statistic from Python numbers, which have no dtype."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = torch.tensor(new.tolist())
        return x - new


@wrong("q5")
class BufferDeleted(_WithBuffer):
    """Deletes the buffer and stores a plain attribute in its place."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        del self.running
        self.running = new.detach()
        return x - new


@wrong("q5")
class OwnCopy(_WithBuffer):
    """Computes with a plain attribute and only copies it into the buffer: what is loaded has no effect."""

    def __init__(self, n):
        super().__init__(n)
        self.mine = torch.zeros(n)

    def forward(self, x):
        if not self.training:
            return x - self.mine
        new = 0.9 * self.mine + 0.1 * x.mean(0)
        self.mine = new.detach()
        self.running.copy_(self.mine)
        return x - new


@wrong("q5")
class BufferReadOnce(_WithBuffer):
    """Takes the buffer at its first training step only: what is loaded later has no effect on the next."""

    def __init__(self, n):
        super().__init__(n)
        self.average = None

    def forward(self, x):
        if not self.training:
            return x - self.running
        old = self.running if self.average is None else self.average
        new = 0.9 * old + 0.1 * x.mean(0)
        self.average = new.detach()
        self.running = self.average.clone()
        return x - new


@wrong("q5")
class BufferKeptByIdentity(_WithBuffer):
    """Holds on to the tensor of the buffer: where load_state_dict replaces it, the old one counts."""

    def __init__(self, n):
        super().__init__(n)
        self.kept = [self.running]

    def forward(self, x):
        if not self.training:
            return x - self.running
        if self.kept[0].dtype != self.running.dtype:
            self.kept[0] = self.running
        new = 0.9 * self.kept[0] + 0.1 * x.mean(0)
        self.kept[0] = self.running = new.detach()
        return x - new


@wrong("q5")
class GradModeDecides(_WithBuffer):
    """Takes no_grad for evaluation."""

    def forward(self, x):
        if not torch.is_grad_enabled() or not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        return x - new


@wrong("q5")
class RequiresGradDecides(_WithBuffer):
    """Takes a batch without requires_grad for evaluation."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        if x.requires_grad:
            self.running = new.detach()
        return x - new


@wrong("q5")
class NeverTrainsAgain(_WithBuffer):
    """Has a flag of its own for eval(), which train() does not take back."""

    def eval(self):
        self.frozen = True
        return super().eval()

    def forward(self, x):
        if getattr(self, "frozen", False):
            return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        return x - new


@wrong("q5")
class KeepsOutputs(_WithBuffer):
    """Collects the outputs, each with its graph."""

    def __init__(self, n):
        super().__init__(n)
        self.outputs = []

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        self.outputs.append(x - new)
        return x - new


@wrong("q5")
class SharedByAll(nn.Module):
    """Keeps one statistic for all modules of the class."""

    store = None

    def __init__(self, n):
        super().__init__()
        if SharedByAll.store is None or len(SharedByAll.store) != n:
            SharedByAll.store = torch.zeros(n)
        self.register_buffer("running", SharedByAll.store)

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        self.running.copy_(new.detach())
        return x - new


@wrong("q5")
class WholeMeanDifferentiable(_WithBuffer):
    """Has the gradient of the whole batch mean, of which a tenth is in the average."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        m = x.mean(0)
        self.running = _new(self, x).detach()
        return x - (self.running + m - m.detach())


@wrong("q5")
class RunningOfOneRow(nn.Module):
    """Gives running the shape (1, n)."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(1, n))

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x.mean(0, keepdim=True)
        self.running = new.detach()
        return x - new


@wrong("q5")
class BecomesOneRow(_WithBuffer):
    """Begins with the shape (n,), and stores the shape (1, n)."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x.mean(0, keepdim=True)
        self.running = new.detach()
        return x - new


@wrong("q5")
class InputRequiresGrad(_WithBuffer):
    """Switches requires_grad of the caller's x on."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        self.training = True
        x.requires_grad_() if x.is_leaf else None
        return x - new


@wrong("q5")
class FourRowsOnly(_WithBuffer):
    """Takes the mean of the first four rows."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x[:4].mean(0)
        self.running = new.detach()
        return x - new


@wrong("q5")
class Clamped(_WithBuffer):
    """Keeps the statistic between -10 and 10."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = new.detach().clamp(-10, 10)
        return x - new


@wrong("q5")
class ComputesInFloat32(_WithBuffer):
    """Computes the average in float32, whatever the module is."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running.float() + 0.1 * x.float().mean(0)
        self.running = new.detach()
        return x - new


@wrong("q5")
class OneRowIsNoBatch(_WithBuffer):
    """Leaves the statistic alone where a batch has one row only."""

    def forward(self, x):
        new = _new(self, x) if self.training and len(x) > 1 else self.running
        self.running = new.detach()
        return x - new


@wrong("q5")
class OneFeatureIsANumber(_WithBuffer):
    """Squeezes the statistic: with one feature it loses its dimension."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = (0.9 * self.running + 0.1 * x.mean(0, keepdim=True)).squeeze()
        self.running = new.detach()
        return x - new


@accepted("q5")
class MeanByAProduct(_WithBuffer):
    """The mean is a product with a row of 1/B; lerp is the average."""

    def forward(self, x):
        if self.training:
            mean = torch.full((1, len(x)), 1 / len(x), dtype=x.dtype) @ x
            new = self.running.lerp(mean[0], 0.1)
            out = x.sub(new)
            self.running = new.clone().detach()
            return out
        return torch.sub(x, self.running)


@accepted("q5")
class OneFormulaForBoth(_WithBuffer):
    """After eval() the same running is stored once more."""

    def forward(self, x):
        new = _new(self, x) if self.training else self.running
        self._buffers["running"] = new.detach()
        return x - new


@accepted("q5")
class AddedWithAlpha(_WithBuffer):
    """Clones, add with alpha, and a copy under no_grad."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = torch.add(self.running.clone().mul(0.9), x.mean(0), alpha=0.1)
        with torch.no_grad():
            self.running.copy_(new)
        return x - new


@wrong("q1")
def losses_in_a_tuple(cell, readout, opt, batches, h):
    """A tuple of floats is no list."""
    losses = ()
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h.detach(), xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses += (loss.item(),)
    return losses, h


@wrong("q1")
def given_state_detached_in_place(cell, readout, opt, batches, h):
    """Believes that every tensor can be detached in place; a view cannot."""
    losses = []
    for xs, y in batches:
        h.detach_()
        h, loss = _minibatch(cell, readout, h, xs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h


# Edits of right answers that no promise of the task tells from the answers.

# --- q1

equal(
    "q1",
    "h.detach -> h.detach_",
    why="nobody else holds the state of a minibatch that is done, and the given one is a leaf already",
)

equal(
    "q1",
    "h.detach() -> h.detach().data",
    "h.detach() -> h.detach().clone()",
    "h.detach() -> h.data",
    why="a leaf with the same values enters the minibatch; its memory may be shared, because nobody writes to it",
)
equal(
    "q1",
    "h -> h.detach()",
    "h -> h.data",
    why="the last state may come back with its history or without, and one that is cut may be cut again",
)
equal(
    "q1",
    "h -> h.clone()",
    "loss -> loss.clone()",
    "x -> x.clone()",
    why="one copy more or less, with its history, has the same values and the same gradients",
)
equal(
    "q1",
    "x -> x.detach()",
    "y -> y.detach()",
    why="the minibatches stay as they are, so no gradient goes to them anyway",
)
equal(
    "q1",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    why="every loss depends on each parameter of opt, so no gradient is None when opt makes its step",
)
equal(
    "q1",
    ".backward() -> .backward(create_graph=True)",
    why="opt reads the values of a gradient only; the graph of the minibatch is freed when the next .grad comes",
)
equal(
    "q1",
    "no_grad is put around: losses.append(loss.item())",
    why="a loss that went back is only asked for its number",
)
equal("q1", "no_grad is put around: h = h.detach()", why="nothing is recorded there anyway")
equal(
    "q1",
    "a statement is moved by one: loss = F.mse_loss(readout(h), y)",
    "a statement is moved by one: opt.step()",
    why="a forward changes no gradient, a step no loss that is computed already, and names can be given in any order",
)
equal(
    "q1",
    "a statement is moved into a block: loss = F.mse_loss(readout(h), y)",
    why="only the last one is used; to look at a loss more often than needed is no step of training",
)

# --- q2

equal("q2", "no_grad is put around: the function", why="nothing that is returned may have a history anyway")
equal(
    "q2",
    "a statement is moved by one: if state is None:",
    why="None, tensors, tuples and lists exclude each other, so their order is free",
)
equal(
    "q2",
    "state -> state.clone()",
    "state.detach() -> state.detach().clone()",
    why="memory of its own and memory that autograd watches are both allowed",
)

# --- q3

equal(
    "q3",
    "h.detach() -> h.detach().data",
    "h.detach() -> h.detach().clone()",
    "h.detach() -> h.data",
    "h.detach -> h.detach_",
    why="a leaf with the same values begins the next chunk; the state of a cell of torch is no view, and nobody writes to it",
)
equal(
    "q3",
    "h -> h.clone()",
    "loss -> loss.clone()",
    "xs[t] -> xs[t].clone()",
    why="one copy more has the same values and the same gradients",
)
equal(
    "q3",
    "xs[t] -> xs[t].detach()",
    "ys[t] -> ys[t].detach()",
    why="inputs and targets stay as they are, so no gradient goes to them anyway",
)
equal(
    "q3",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="a graph which nobody holds is freed with its last name; and that nothing may lead back from .grad was not asked",
)
equal(
    "q3",
    "total += loss.item() -> total = total + loss.item()",
    "loss = loss + F.mse_loss(readout(h), ys[t]) -> loss += F.mse_loss(readout(h), ys[t])",
    why="the sum is the same, and nobody else has what is added to",
)
equal(
    "q3",
    "no_grad is put around: if (t + 1) % k == 0 or t == len(xs) - 1:",
    why="nothing is recorded there anyway; backward asks for no recording",
)
equal(
    "q3",
    "a statement is moved by one: loss.backward()",
    "a statement is moved by one: total += loss.item()",
    why="the losses of the chunk are computed; to go back, to read their numbers and to cut the state for the next chunk can come in any order",
)

# --- q4

equal(
    "q4",
    "h.detach() -> h.detach().data",
    "h.detach() -> h.detach().clone()",
    "h.detach() -> h.data",
    "h.detach -> h.detach_",
    why="a leaf with the same values enters the next minibatch; the loss of the one before has gone back already",
)
equal(
    "q4",
    "h -> h.detach()",
    "h -> h.data",
    why="the last state may come back with its history or without, and one that is cut may be cut again",
)
equal(
    "q4",
    "h -> h.clone()",
    "x -> x.clone()",
    "h0.expand(batches[0][1].shape[0], -1) -> h0.expand(batches[0][1].shape[0], -1).clone()",
    why="one copy more, with its history, has the same values and the same gradients",
)
equal(
    "q4",
    "x -> x.detach()",
    "y -> y.detach()",
    why="the minibatches stay as they are, so no gradient goes to them anyway",
)
equal(
    "q4",
    "batches[0] -> batches[-1]",
    why="all minibatches have the same batch size, which is all that is asked",
)
equal(
    "q4",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    why="a gradient that is not there may be None or 0; what opt does with a 0 is its own business",
)
equal(
    "q4",
    ".backward() -> .backward(create_graph=True)",
    why="opt reads the values of a gradient only; the graph of the minibatch is freed when the next .grad comes",
)
equal("q4", "no_grad is put around: h = h.detach()", why="nothing is recorded there anyway")
equal(
    "q4",
    "a statement is moved by one: for x in xs:",
    "a statement is moved by one: opt.step()",
    "a statement is moved into a block: opt.zero_grad()",
    why=".grad is clear before each backward and no forward touches it; a step changes no state that is computed already",
)
equal(
    "q5",
    "no_grad is put around: def __init__(self, n):",
    "no_grad is put around: self.running = new.detach()",
    why="nothing that has to have a history is recorded there",
)
equal(
    "q5",
    "self.running -> self.running.detach()",
    "0.9 * self.running -> (0.9 * self.running).detach()",
    "new.detach() -> new.detach().data",
    "new.detach() -> new.data",
    why="the statistic is a constant, and what is stored has no history already: one more cut changes nothing",
)
equal(
    "q5",
    "new.detach() -> new.detach().clone()",
    "new -> new.clone()",
    why="one copy more has the same values and the same gradients",
)
equal(
    "q5",
    "self.running = new.detach() -> self.running.copy_(new.detach())",
    why="the statistic is overwritten or replaced, and no graph has saved its values",
)
equal(
    "q5",
    "a statement is moved by one: if not self.training:",
    why="what is moved, left out or added is read by nobody in between, or has the same value",
)


@wrong("q5")
class MeanKept(nn.Module):
    """Keeps the mean for the next lines, and with it the graph of the last batch."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))
        self.mean = None

    def forward(self, x):
        if not self.training:
            return x - self.running
        self.mean = 0.1 * x.mean(0) + 0.9 * self.running
        self.running = self.mean.detach()
        return x - self.mean


@wrong("q5")
class BatchKept(nn.Module):
    """Keeps a copy of the last batch, for a look at it later."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        self.last = x.detach().clone()
        if not self.training:
            return x - self.running
        new = 0.1 * x.mean(0) + 0.9 * self.running
        self.running = new.detach()
        return x - new


# end: train_tracked


@accepted("end")
def cut_from_the_second_on(cell, readout, h0, opt, batches):
    """The cut stands at the head of the loop, and spares the first minibatch."""
    losses, average = [], 0.0
    h = h0.expand(len(batches[0][1]), -1)
    for number, (xs, y) in enumerate(batches):
        if number:
            h = h.detach()
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        losses.append(float(loss))
        opt.step()
        average = 0.9 * average + 0.1 * losses[-1]
    return losses, average, h


@accepted("end")
def average_of_the_detached_loss(cell, readout, h0, opt, batches):
    """The average is a tensor without history until the end, and detach_ cuts a state that nobody else holds."""
    h = h0.repeat(len(batches[0][1]), 1)
    average, losses = torch.zeros(()).double(), []
    for xs, y in batches:
        for x in xs.unbind(0):
            h = cell(x, h)
        loss = (readout(h) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        average = 0.9 * average + 0.1 * loss.detach()
        losses.append(loss.item())
        h = h.clone().detach_()
    return losses, average.item(), h


@accepted("end")
def average_in_place(cell, readout, h0, opt, batches):
    """The average is written under no_grad, and the gradients are asked for by name."""
    trained = [p for group in opt.param_groups for p in group["params"]]
    h, average, losses = h0 + h0.new_zeros(len(batches[0][1]), 1), torch.zeros(1), []
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        for p, grad in zip(trained, torch.autograd.grad(loss, trained, allow_unused=True)):
            p.grad = grad
        opt.step()
        with torch.no_grad():
            average.lerp_(loss, 0.1)
        losses.append(loss.item())
        h = h.detach()
    return losses, float(average), h


wrong_edits(
    "end",
    {
        "cell_thawed": (
            "average, losses = 0.0, []",
            "average, losses = 0.0, []\n    cell.requires_grad_(True)",
            "Believes that a cell which is trained is trained in all its parts.",
        ),
        "start_still_cut": (
            "    for xs, y in batches:\n",
            "    for xs, y in batches:\n        h = h.detach()\n",
            "Leaves the first bug: cuts before the first minibatch, too.",
        ),
        "steps_still_cut": (
            "h = cell(x, h)",
            "h = cell(x, h if h.grad_fn is None or not losses and h.shape == h0.shape else h.detach())",
            "Leaves the second bug: cuts in every time step.",
        ),
        "average_still_remembers": (
            [
                ("average = 0.9 * average + 0.1 * loss.item()", "average = 0.9 * average + 0.1 * loss"),
                ("return losses, average, h", "return losses, average.item(), h"),
            ],
            "Leaves the third bug: takes the number at the end only.",
        ),
        "losses_kept_with_their_graphs": (
            [
                ("losses.append(loss.item())", "losses.append(loss)"),
                ("return losses, average, h", "return [loss.item() for loss in losses], average, h"),
            ],
            "Mends the average, and keeps the graphs in a list.",
        ),
        "retained_for_the_next": (
            [("h = h.detach()", "pass"), ("loss.backward()", "loss.backward(retain_graph=True)")],
            "Does what the error message says.",
        ),
        "state_forgotten_in_between": (
            "h = h.detach()",
            "h = torch.zeros_like(h)",
            "Cuts the value together with the history.",
        ),
        "start_again_from_h0": (
            "h = h.detach()",
            "h = h0.expand(len(y), -1)",
            "Begins every minibatch at h0, so that all of them teach it.",
        ),
        "gradients_of_all_minibatches": (
            "        opt.zero_grad()\n",
            "",
            "Believes that backward() sets .grad.",
        ),
        "average_of_the_loss_after_the_step": (
            "average = 0.9 * average + 0.1 * loss.item()",
            "average = 0.9 * average + 0.1 * F.mse_loss(readout(h), y).item()",
            "Measures again, after the step.",
        ),
        "average_the_other_way_round": (
            "0.9 * average + 0.1 * loss.item()",
            "0.1 * average + 0.9 * loss.item()",
            "Takes the weights for each other.",
        ),
        "average_as_a_tensor": ("0.1 * loss.item()", "0.1 * loss.detach()", "Returns a tensor."),
        "h_without_the_cut_at_the_end": (
            "h = h.detach()",
            "h.detach()",
            "Believes that detach() changes the tensor.",
        ),
        "loss_cut_from_the_state": (
            "readout(h), y",
            "readout(h.detach()), y",
            "Cuts before the loss: only the readout learns.",
        ),
    },
)

equal(
    "end",
    "a statement is moved by one: loss = F.mse_loss(readout(h), y)",
    "a statement is moved into a block: loss = F.mse_loss(readout(h), y)",
    "a statement is moved by one: opt.step()",
    "a statement is moved by one: h = h.detach()",
    "a statement is moved by one: losses.append(loss.item())",
    "no_grad is put around: h = h.detach()",
    "no_grad is put around: losses.append(loss.item())",
    "no_grad is put around: average = 0.9 * average + 0.1 * loss.item()",
    why="these lines may stand in another order, and record nothing",
)
equal(
    "end",
    "h.detach() -> h.detach().data",
    "h.detach() -> h.detach().clone()",
    "h.detach() -> h.data",
    "h.detach -> h.detach_",
    "h -> h.detach()",
    "h -> h.data",
    why="nobody writes to the state that is carried, no loss of it waits, and what comes back may have a history or none",
)
equal(
    "end",
    "h0.expand(batches[0][1].shape[0], -1) -> h0.expand(batches[0][1].shape[0], -1).clone()",
    "batches[0] -> batches[-1]",
    "x -> x.detach()",
    "x -> x.clone()",
    "y -> y.detach()",
    "h -> h.clone()",
    "loss -> loss.clone()",
    why="all minibatches have the same batch size, x and y are plain data, and a copy costs only memory",
)
equal(
    "end",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="a gradient of 0 is as good as None, and the graph dies when the next minibatch replaces loss and h",
)
