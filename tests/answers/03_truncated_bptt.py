"""Answers to 03_truncated_bptt whose verdict is known."""

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
def losses_kept_as_tensors(cell, readout, opt, batches, h):
    """Converts the losses to numbers at the end, so the graphs of all minibatches live until then."""
    pending = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        opt.zero_grad()
        pending += [F.mse_loss(readout(h), y)]
        pending[-1].backward()
        opt.step()
    return [loss.item() for loss in pending], h


@accepted("q1")
def output_read_at_each_step(cell, readout, opt, batches, h):
    """Several outputs of one minibatch may be alive together."""
    losses = []
    for xs, y in batches:
        states, state = [], h.detach()
        for x in xs:
            state = cell(x, state)
            states.append(state)
        outputs = [readout(one) for one in states]
        opt.zero_grad()
        F.mse_loss(outputs[-1], y).backward()
        opt.step()
        losses.append(float(F.mse_loss(outputs[-1].detach(), y)))
        h = states[-1].detach()
    return losses, h


@wrong("q1")
def modules_cleared(cell, readout, opt, batches, h):
    """Calls zero_grad() on the modules, which also clears frozen parameters that opt doesn't hold."""
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
        "detach_without_assigning": (
            "h = h.detach()\n        for x in xs:",
            "h.detach()\n        for x in xs:",
            "Calls `h.detach()` as if it changed `h`, but it returns a new tensor, which is thrown away.",
        )
    },
    of="cut_and_retain_all_the_same",
)


wrong_edits(
    "q1",
    {
        "retain_the_graph": (
            "h = h.detach()\n        for x in xs:",
            "for x in xs:",
            "Follows the error's advice: the graph grows, and backward needs weights that were overwritten.",
        )
    },
    of="cut_and_retain_all_the_same",
)


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
def everything_in_training_mode(cell, readout, opt, batches, h):
    """Calls train() out of habit, although a part was in eval mode."""
    cell.train(), readout.train()
    return _trained(cell, readout, opt, batches, h)


@wrong("q1")
def losses_rounded(cell, readout, opt, batches, h):
    """Rounds the losses to four decimals."""
    losses, h = _trained(cell, readout, opt, batches, h)
    return [round(loss, 4) for loss in losses], h


@wrong("q1")
def optimizer_state_emptied(cell, readout, opt, batches, h):
    """Empties the optimizer state at the end, so the caller's next step has no momentum."""
    result = _trained(cell, readout, opt, batches, h)
    opt.state.clear()
    return result


@wrong("q1")
def adam_starts_anew(cell, readout, opt, batches, h):
    """Resets Adam's moments and step count at the end."""
    result = _trained(cell, readout, opt, batches, h)
    for memory in opt.state.values():
        for name in memory:
            if name != "momentum_buffer":
                memory[name].zero_()
    return result


@wrong("q1")
def prediction_squeezed(cell, readout, opt, batches, h):
    """Squeezes the prediction, so with one output (B,) and (B, 1) broadcast to (B, B)."""
    losses = []
    for xs, y in batches:
        h = h.detach()
        for x in xs:
            h = cell(x, h)
        losses.append(_update(lambda state: readout(state).squeeze(), opt, h, y))
    return losses, h


@wrong("q1")
def state_kept_between_calls(cell, readout, opt, batches, h):
    """Starts from the last state of the previous call, whatever state is given."""
    known = state_kept_between_calls.__dict__
    h = known.get("h", h)
    losses, h = _trained(cell, readout, opt, batches, h)
    known["h"] = h.detach()
    return losses, h


@wrong("q1")
def ten_steps_back(cell, readout, opt, batches, h):
    """Also detaches the state every ten steps within a minibatch."""
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


# q2: repackage


@accepted("q2")
def detached_copies(state):
    """Copies share no memory with the original, so a later reset cannot reach it."""
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, (tuple, list)):
        return type(state)(map(detached_copies, state))
    return state


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
def fill_new_tensors(state):
    """A new tensor receives the values while gradients are off."""
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        with torch.no_grad():
            return torch.empty_like(state).copy_(state)
    return type(state)([fill_new_tensors(part) for part in state])


@wrong("q2")
def only_the_hidden_state(state):
    """Forgets that the cell state c is connected to the graph, too."""
    if state is None or isinstance(state, torch.Tensor):
        return state if state is None else state.detach()
    if isinstance(state, tuple):
        return (state[0].detach(), state[1])
    return [only_the_hidden_state(part) for part in state]


wrong_edits(
    "q2",
    {
        "one_level_deep": (
            "return type(state)(repackage(part) for part in state)",
            "return type(state)(part.detach() for part in state)",
            "Handles a tuple of tensors, but not a list of tuples.",
        ),
        "leaves_are_left_alone": (
            "return state.detach()",
            "return state if state.is_leaf else state.detach()",
            "Returns a leaf as it is, although a learned initial state requires grad.",
        ),
    },
)


@wrong("q2")
def always_a_pair(state):
    """Believes that every state is a pair (h, c), as for an LSTM."""
    h, c = state
    return h.detach(), c.detach()


@wrong("q2")
def nothing_for_none(state):
    """Forgets that there is no state before the first minibatch: it is None."""
    if isinstance(state, torch.Tensor):
        return state.detach()
    return type(state)(nothing_for_none(part) for part in state)


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
    """Rebuilds the state with torch.Tensor(...), which is always float32."""
    return _mapped(lambda t: torch.Tensor(t.tolist()), state)


@wrong("q2")
def empty_is_none(state):
    """Tests `if not state`, so an empty list becomes None."""
    if state is None or (not isinstance(state, torch.Tensor) and not state):
        return None
    return state.detach() if isinstance(state, torch.Tensor) else type(state)(empty_is_none(s) for s in state)


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
    """Goes down three levels and returns deeper parts unchanged."""
    if state is None or depth > 3:
        return state
    if isinstance(state, torch.Tensor):
        return state.detach()
    return type(state)(three_levels_deep(s, depth + 1) for s in state)


@wrong("q2")
def none_left_out(state):
    """Leaves out the parts that are None, so later parts move up."""
    if isinstance(state, torch.Tensor):
        return state.detach()
    if state is None:
        return None
    return type(state)(none_left_out(s) for s in state if s is not None)


@wrong("q2")
def original_reshaped(state):
    """Reshapes the caller's tensor through .data."""

    def cut(t):
        d = t.detach()
        if d.dim() > 1:
            t.data = t.data.reshape(-1, d.shape[-1])
        return d.clone()

    return _mapped(cut, state)


@wrong("q2")
def remembered_by_identity(state):
    """Caches the copy of each tensor by identity, although its values may change."""

    def cut(t):
        key = id(t)
        if key not in _seen:
            _seen[key] = (t, t.detach().clone())
        return _seen[key][1]

    return _mapped(cut, state)


@wrong("q2")
def bytes_read_in_another_order(state):
    """Copies the storage as it lies, although the tensor may be a transposed view of it."""
    return _mapped(
        lambda t: (
            torch.frombuffer(bytearray(t.detach().numpy().tobytes("A")), dtype=t.dtype).reshape(t.shape)
            if t.numel()
            else t.detach()
        ),
        state,
    )


@wrong("q2")
def one_entry_by_its_number(state):
    """Rebuilds a tensor of one entry from its number, in the default dtype."""
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        if state.dim() and state.numel() == 1:
            return torch.full(state.shape, state.item())
        return state.detach()
    return type(state)(one_entry_by_its_number(part) for part in state)


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


wrong_edits(
    "q3",
    {
        "drop_the_rest": (
            "if (t + 1) % k == 0 or t == len(xs) - 1:",
            "if (t + 1) % k == 0:",
            "Ignores the incomplete last chunk.",
        )
    },
)


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
def last_dimension_squeezed(cell, readout, xs, ys, k):
    """Squeezes the prediction, so with one output every row is compared with all targets."""
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
def full_backpropagation_whatever_k(cell, readout, xs, ys, k):
    """Never detaches the state, which is right for k = T only."""
    h = torch.zeros(xs.shape[1], cell.hidden_size)
    total = 0.0
    for x, y in zip(xs, ys):
        h = cell(x, h)
        total = total + F.mse_loss(readout(h), y)
    total.backward()
    return total.item()


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
def entries_cut_off(cell, readout, xs, ys, k):
    """Clips the gradients at the end, together with those from before the call."""
    total = _in_chunks(cell, readout, xs, ys, k)
    nn.utils.clip_grad_value_([*cell.parameters(), *readout.parameters()], 10.0)
    return total


@wrong("q3")
def total_rounded(cell, readout, xs, ys, k):
    """Rounds the total to four decimals."""
    return round(_in_chunks(cell, readout, xs, ys, k), 4)


@wrong("q3")
def modules_in_training_mode(cell, readout, xs, ys, k):
    """Calls train() out of habit, although a part was in eval mode."""
    cell.train(), readout.train()
    return _in_chunks(cell, readout, xs, ys, k)


@wrong("q3")
def state_of_the_last_call(cell, readout, xs, ys, k):
    """Starts from the last state of the previous call with the same cell."""
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
def old_gradients_put_aside(cell, readout, xs, ys, k):
    """Puts old gradients aside and adds them to new ones; those without a new one are lost."""
    old = {p: p.grad for p in [*cell.parameters(), *readout.parameters()]}
    for p in old:
        p.grad = None
    total = _in_chunks(cell, readout, xs, ys, k)
    for p, grad in old.items():
        if p.grad is not None and grad is not None:
            p.grad += grad
    return total


# q4: train_learned_start


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


@wrong("q4")
def steps_in_one_view(cell, readout, h0, opt, batches):
    """Views all steps of a minibatch as rows, which fails for a batch-first memory layout."""
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
def detached_before_the_loss(cell, readout, h0, opt, batches):
    """Detaches the state before the loss is computed, so neither h0 nor the cell learns."""
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
def stepped_by_hand(cell, readout, h0, opt, batches):
    """Updates the parameters by hand, as if every optimizer were plain gradient descent."""
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
    """Squeezes the prediction, which changes the loss without an error if there is one output."""
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
    """Clears .grad after each step only, so a gradient from before the call moves h0."""
    h = h0.expand(len(batches[0][1]), -1)
    for xs, y in batches:
        h, loss = _minibatch(cell, readout, h, xs, y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        h = h.detach()
    return h


@wrong("q4")
def h0_cleared_too_late(cell, readout, h0, opt, batches):
    """Clears h0.grad only after the first step."""
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
def all_in_training_mode(cell, readout, h0, opt, batches):
    """Calls train() out of habit, although a part was in eval mode."""
    cell.train(), readout.train()
    return _train_from(cell, readout, h0.expand(len(batches[0][1]), -1), opt, batches)


@wrong("q4")
def cut_after_three_steps(cell, readout, h0, opt, batches):
    """Detaches within a minibatch, so the loss of a long one doesn't reach h0."""
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
def rows_by_indexing(cell, readout, h0, opt, batches):
    """Indexing with the same row repeats it, and is recorded."""
    B = batches[0][0].size(1)
    return _train_from(cell, readout, h0[torch.zeros(B, dtype=torch.long)], opt, batches)


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
    """Takes evaluation for inference: after eval() no gradient reaches x."""

    def forward(self, x):
        if not self.training:
            with torch.no_grad():
                return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        return x - new


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
class OwnCopy(_WithBuffer):
    """Computes with a plain attribute and only copies it to the buffer, so load_state_dict has no effect."""

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
class BufferKeptByIdentity(_WithBuffer):
    """Keeps a reference to the buffer's tensor, which load_state_dict may replace."""

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
    """Takes no_grad for evaluation mode."""

    def forward(self, x):
        if not torch.is_grad_enabled() or not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = new.detach()
        return x - new


@wrong("q5")
class KeepsOutputs(_WithBuffer):
    """Collects the outputs, each of which keeps its graph alive."""

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
    """Stores one statistic on the class for all modules."""

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
class Clamped(_WithBuffer):
    """Clamps the statistic between -10 and 10."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = _new(self, x)
        self.running = new.detach().clamp(-10, 10)
        return x - new


@wrong("q5")
class OneRowIsNoBatch(_WithBuffer):
    """Doesn't update the statistic if a batch has one row only."""

    def forward(self, x):
        new = _new(self, x) if self.training and len(x) > 1 else self.running
        self.running = new.detach()
        return x - new


@wrong("q5")
class OneFeatureIsANumber(_WithBuffer):
    """Squeezes the statistic, so with one feature it loses its dimension."""

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = (0.9 * self.running + 0.1 * x.mean(0, keepdim=True)).squeeze()
        self.running = new.detach()
        return x - new


@accepted("q5")
class OneFormulaForBoth(_WithBuffer):
    """After eval() the same running is stored once more."""

    def forward(self, x):
        new = _new(self, x) if self.training else self.running
        self._buffers["running"] = new.detach()
        return x - new


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
    "h.detach() -> h.detach().data",
    "h.detach() -> h.detach().clone()",
    "h.detach() -> h.data",
    why="a leaf with the same values enters the minibatch; its memory may be shared, because nobody writes to it",
)
equal("q1", "h -> h.detach()", "h -> h.data", why="whether the last state has a graph is left open")
equal("q1", "h -> h.clone()", "loss -> loss.clone()", "x -> x.clone()", why="a copy has the same values")
equal("q1", "x -> x.detach()", "y -> y.detach()", why="the minibatches need no gradient")
equal("q1", ".zero_grad() -> .zero_grad(set_to_none=False)", why="every parameter gets a gradient")
equal("q1", ".backward() -> .backward(create_graph=True)", why="opt reads values; clearing frees the graph")
equal("q1", "no_grad is put around: losses.append(loss.item())", why="a number is read after backward")
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
equal("q2", "a statement is moved by one: if state is None:", why="the four forms exclude each other")
equal("q2", "state -> state.clone()", "state.detach() -> state.detach().clone()", why="a copy is allowed")

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
equal("q3", "xs[t] -> xs[t].detach()", "ys[t] -> ys[t].detach()", why="inputs and targets need no gradient")
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
equal("q3", "no_grad is put around: if (t + 1) % k == 0 or t == len(xs) - 1:", why="backward isn't recorded")
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
equal("q4", "h -> h.detach()", "h -> h.data", why="whether the last state has a graph is left open")
equal(
    "q4",
    "h -> h.clone()",
    "x -> x.clone()",
    "h0.expand(batches[0][1].shape[0], -1) -> h0.expand(batches[0][1].shape[0], -1).clone()",
    why="one copy more, with its history, has the same values and the same gradients",
)
equal("q4", "x -> x.detach()", "y -> y.detach()", why="the minibatches need no gradient")
equal("q4", "batches[0] -> batches[-1]", why="all minibatches have the same batch size")
equal("q4", ".zero_grad() -> .zero_grad(set_to_none=False)", why="None or 0 is left open")
equal("q4", ".backward() -> .backward(create_graph=True)", why="opt reads values; clearing frees the graph")
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
equal("q5", "new.detach() -> new.detach().clone()", "new -> new.clone()", why="a copy has the same values")
equal(
    "q5",
    "self.running = new.detach() -> self.running.copy_(new.detach())",
    why="the statistic is overwritten or replaced, and no graph has saved its values",
)
equal("q5", "a statement is moved by one: if not self.training:", why="nothing in between reads it")


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
            "Believes that every parameter of a trained cell must be trained.",
        ),
        "start_still_cut": (
            "    for xs, y in batches:\n",
            "    for xs, y in batches:\n        h = h.detach()\n",
            "Leaves the first bug: detaches h0 before the first minibatch, too.",
        ),
        "steps_still_cut": (
            "h = cell(x, h)",
            "h = cell(x, h if h.grad_fn is None or not losses and h.shape == h0.shape else h.detach())",
            "Leaves the second bug: detaches the state in every time step.",
        ),
        "average_still_remembers": (
            [
                ("average = 0.9 * average + 0.1 * loss.item()", "average = 0.9 * average + 0.1 * loss"),
                ("return losses, average, h", "return losses, average.item(), h"),
            ],
            "Leaves the third bug: calls .item() at the end only.",
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
