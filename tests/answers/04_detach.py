"""Answers to 04_detach whose verdict is known."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from grader.answers import accepted, equal, wrong, wrong_edits

# q1: positive_part


@accepted("q1")
def cloned_and_clamped(y):
    """In place on a copy of one's own."""
    return y.detach().clone().clamp_(min=0)


@accepted("q1")
@torch.no_grad()
def clamped_without_recording(y):
    """Out of place, while nothing is recorded."""
    return y.clamp(min=0)


@accepted("q1")
def computed_in_inference_mode(y):
    """What is born in inference mode has no history; nobody computes with it."""
    with torch.inference_mode():
        return y.clamp(min=0)


@accepted("q1")
def data_out_of_place(y):
    """Nothing is written through .data, so it does no harm."""
    return y.data.clamp(min=0)


@wrong("q1")
def frozen_in_place(y):
    """Takes detach_() for detach(), which disconnects y itself."""
    return y.detach_().clamp(min=0)


@wrong("q1")
def put_back_through_data(y):
    """Clamps y in place through .data and gives y a copy of its old values afterwards."""
    old = y.data.clone()
    y.data.clamp_(min=0)
    y.data, result = old, y.data
    return result


wrong_edits(
    "q1",
    {
        "clamped_through_data": (
            "y.detach().clamp(min=0)",
            "y.data.clamp_(min=0)",
            "Believes that .data is a safe detach(), because it raises no error.",
        ),
        "nothing_returned": (
            "return y.detach().clamp(min=0)",
            "y = y.detach().clamp(min=0)",
            "Forgets to return the result.",
        ),
    },
)


@wrong("q1")
def half_of_a_sum(y):
    """Adds before halving, so large numbers become infinite."""
    old = y.detach()
    return (old + old.abs()) / 2


@wrong("q1")
def same_memory_by_numpy(y):
    """Believes that numpy() copies; the array shares the tensor's storage."""
    if bool((y >= 0).all()):
        return torch.from_numpy(y.detach().numpy())
    return y.detach().clamp(min=0)


@wrong("q1")
def memoised_result(y, seen={}):
    """Returns the tensor of an earlier call if its values are the same."""
    result = y.detach().clamp(min=0)
    for other in seen.setdefault("results", []):
        if other.dtype == result.dtype and other.shape == result.shape and torch.equal(other, result):
            return other
    seen["results"].append(result)
    return result


@wrong("q1")
def half_of_y_and_its_size(y):
    """Adds y and its absolute value, which overflows for the largest float64 numbers."""
    z = y.detach()
    if z.dtype == torch.float64:
        return (z + z.abs()) / 2
    return z.clamp(min=0)


# q2: may_overwrite


@accepted("q2")
@torch.enable_grad()
def tried_by_the_counter(f, x):
    """Counts a write that did not take place, and asks backward."""
    out, mid = f(x)
    torch.autograd.graph.increment_version(mid)
    try:
        out.sum().backward()
    except RuntimeError as error:
        return "modified by an inplace operation" not in str(error)
    return True


@accepted("q2")
@torch.enable_grad()
def walked_over_the_nodes(f, x):
    """Looks at all that all nodes have saved."""
    out, mid = f(x)
    seen, waiting = set(), [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting.extend(earlier for earlier, _ in node.next_functions)
        for name in dir(node):
            if name.startswith("_saved_"):
                saved = getattr(node, name)
                if isinstance(saved, torch.Tensor):
                    if saved.untyped_storage().data_ptr() == mid.untyped_storage().data_ptr():
                        return False
    return True


@accepted("q2")
def versions_of_what_is_saved(f, x):
    """A write to mid moves the counter of what shares its memory."""
    saved = []

    def pack(tensor):
        saved.append((tensor, tensor._version))
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out, mid = f(x)
    with torch.no_grad():
        mid.zero_()
    return all(tensor._version == version for tensor, version in saved)


@wrong("q2")
@torch.enable_grad()
def never_a_leaf(f, x):
    """Believes that only leaves are protected against in-place writes."""
    return not f(x)[1].is_leaf


@wrong("q2")
@torch.enable_grad()
def gradients_compared_after_one_write(f, x):
    """Believes that if one write changes no gradient, none does."""
    (right,) = torch.autograd.grad(f(x)[0].sum(), x)
    out, mid = f(x)
    mid.data.add_(1)
    (seen,) = torch.autograd.grad(out.sum(), x)
    return torch.allclose(seen, right)


wrong_edits(
    "q2",
    {
        "addresses_of_first_elements": (
            "mid.untyped_storage().data_ptr() not in saved",
            "mid.data_ptr() not in saved",
            "Compares the address of the first element instead of the storage.",
        ),
        "values_compared": (
            [
                ("saved = set()", "saved = []"),
                ("saved.add(tensor.untyped_storage().data_ptr())", "saved.append(tensor.detach().clone())"),
                (
                    "mid.untyped_storage().data_ptr() not in saved",
                    "not any(t.shape == mid.shape and torch.equal(t, mid) for t in saved)",
                ),
            ],
            "Takes equal values for the same tensor.",
        ),
        "those_that_require_grad": (
            "saved.add(tensor.untyped_storage().data_ptr())",
            "saved.update({tensor.untyped_storage().data_ptr()} if tensor.requires_grad else {})",
            "Believes that backward only needs tensors that require grad.",
        ),
        "x_left_without_a_gradient": (
            "return mid.untyped_storage()",
            "x.requires_grad_(False)\n    return mid.untyped_storage()",
            "Freezes the caller's x and doesn't restore it.",
        ),
    },
)


@wrong("q2")
def tried_where_nothing_is_recorded(f, x):
    """Forgets that under no_grad() every backward fails."""
    out, mid = f(x)
    mid.detach().zero_()
    try:
        out.sum().backward()
    except RuntimeError:
        return False
    return True


# q3: gan_step


@accepted("q3")
def discriminator_frozen_meanwhile(G, D, oG, oD, z, real):
    """Spares the gradients of the discriminator in the step of the generator, and thaws it."""
    fake = G(z)
    oD.zero_grad()
    (F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()).backward()
    oD.step()
    D.requires_grad_(False)
    oG.zero_grad()
    F.softplus(-D(fake)).mean().backward()
    oG.step()
    D.requires_grad_(True)


@accepted("q3")
def two_backward_calls(G, D, oG, oD, z, real):
    """The two halves go back one after the other; then only the generator's parameters are asked for."""
    bce = nn.BCEWithLogitsLoss()
    fake = G(z)
    oD.zero_grad()
    on_real = D(real)
    bce(on_real, torch.ones_like(on_real)).backward()
    on_fake = D(fake.detach().clone())
    bce(on_fake, torch.zeros_like(on_fake)).backward()
    oD.step()
    G.zero_grad()
    F.softplus(-D(fake)).mean().backward(inputs=list(G.parameters()))
    oG.step()


@accepted("q3")
def fakes_without_history_first(G, D, oG, oD, z, real):
    """The fakes of the discriminator's step are made under no_grad, those of the generator's step anew."""
    with torch.no_grad():
        fake = G(z)
    loss_d = F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()
    oD.zero_grad(set_to_none=False)
    loss_d.backward()
    oD.step()
    loss_g = F.softplus(-D(G(z))).mean()
    oG.zero_grad(set_to_none=False)
    loss_g.backward()
    oG.step()
    return float(loss_d), float(loss_g)


@accepted("q3")
def limited_by_inputs(G, D, oG, oD, z, real):
    """Does not detach, but lets the backward of the first loss reach the discriminator only."""
    fake = G(z)
    oD.zero_grad()
    loss_d = F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()
    loss_d.backward(inputs=list(D.parameters()))
    oD.step()
    oG.zero_grad()
    F.softplus(-D(fake)).mean().backward()
    oG.step()


@accepted("q3")
def one_call_for_both_kinds(G, D, oG, oD, z, real):
    """Real samples and fakes go through the discriminator together; all gradients are dropped at once."""
    G.zero_grad()
    D.zero_grad()
    fake = G(z)
    on_real, on_fake = D(torch.cat([real, fake.data])).split([len(real), len(fake)])
    bce = nn.BCEWithLogitsLoss()
    (bce(on_real, torch.ones_like(on_real)) + bce(on_fake, torch.zeros_like(on_fake))).backward()
    oD.step()
    F.softplus(-D(fake)).mean().backward()
    oG.step()


wrong_edits(
    "q3",
    {
        "graph_retained": (
            [
                ("oD.zero_grad()", "oD.zero_grad()\n    oG.zero_grad()"),
                ("D(fake.detach())", "D(fake)"),
                ("loss_d.backward()", "loss_d.backward(retain_graph=True)"),
                ("    oG.zero_grad()\n    on_fake = D(fake)", "    on_fake = D(fake)"),
            ],
            "Silences the second backward's error with retain_graph=True, and steps with both gradients.",
        ),
        "leak_thrown_away": (
            [("D(fake.detach())", "D(fake)"), ("loss_d.backward()", "loss_d.backward(retain_graph=True)")],
            "Believes that a gradient which is dropped later costs nothing.",
        ),
        "cleared_after_its_step": (
            [("    oD.zero_grad()\n", ""), ("oD.step()", "oD.step()\n    oD.zero_grad()")],
            "Clears the discriminator's .grad after its step, and the generator's loss fills it again.",
        ),
        "old_gradients_of_the_generator": (
            "    oG.zero_grad()\n",
            "",
            "Believes that the generator's .grad is empty at the start.",
        ),
        "discriminator_under_no_grad": (
            "on_fake = D(fake)  ",
            "with torch.no_grad():\n        on_fake = D(fake)  ",
            "Believes that the discriminator is a constant for the generator's loss.",
        ),
        "frozen_for_good": (
            "    oG.zero_grad()\n",
            "    D.requires_grad_(False)\n    oG.zero_grad()\n",
            "Freezes the discriminator for the generator's step and never unfreezes it.",
        ),
    },
)


@wrong("q3")
def probabilities(G, D, oG, oD, z, real):
    """Takes the logarithm of a sigmoid, which is 0 or 1 for a large logit."""
    fake = G(z)
    oD.zero_grad()
    (-(D(real).sigmoid().log().mean() + (1 - D(fake.detach()).sigmoid()).log().mean())).backward()
    oD.step()
    oG.zero_grad()
    (-D(fake).sigmoid().log().mean()).backward()
    oG.step()


@wrong("q3")
def gradients_clipped(G, D, oG, oD, z, real):
    """Clips the gradients, as many recipes do."""
    bce = F.binary_cross_entropy_with_logits
    fake = G(z)
    oD.zero_grad()
    on_real, on_fake = D(real), D(fake.detach())
    loss = bce(on_real, torch.ones_like(on_real)) + bce(on_fake, torch.zeros_like(on_fake))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(D.parameters(), 1.0)
    oD.step()
    oG.zero_grad()
    again = D(fake)
    bce(again, torch.ones_like(again)).backward()
    torch.nn.utils.clip_grad_norm_(G.parameters(), 1.0)
    oG.step()


# q4: ste_round


class Bounded(torch.autograd.Function):
    """Rounds, and limits what goes back."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-1e9, 1e9)


@wrong("q4")
def straight_within_limits(x):
    """Believes that no gradient exceeds a billion, and clamps it."""
    return Bounded.apply(x)


@wrong("q4")
def added_before_subtracted(x):
    """Adds x before subtracting it, so large numbers become infinite."""
    return x.round().detach() + x - x.detach()


@accepted("q4")
def difference_under_no_grad(x):
    """The difference is computed while nothing is recorded."""
    with torch.no_grad():
        difference = x.round() - x
    return x + difference


@accepted("q4")
def function_of_its_own(x):
    """A backward that hands on what it gets."""

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.round()

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    return Round.apply(x)


@accepted("q4")
def rounded_copy(x):
    """Writes to a copy of its own behind autograd's back, which is what is wanted here."""
    y = x.clone()
    y.data.copy_(x.detach().round())
    return y


@accepted("q4")
def identity_of_value_zero(x):
    """The value from round, and from x only what moves with it."""
    return x.round().detach() + (x - x.detach())


@accepted("q4")
def rounded_in_place_on_a_clone(x):
    """detach() of one's own clone is rounded in place; clone() saves nothing."""
    y = x.clone()
    y.detach().round_()
    return y


@accepted("q4")
def subtracted_twice(x):
    """The same difference with the other sign."""
    return x - (x - x.round()).detach()


wrong_edits(
    "q4",
    {
        "never_detached": (
            "(x.round() - x).detach()",
            "(x.round() - x)",
            "Forgets detach(), so the gradient is that of round(), which is 0.",
        ),
        "floor_of_a_half_more": (
            "x.round()",
            "(x + 0.5).floor()",
            "Rounds halves up, although round() rounds to the even neighbour.",
        ),
        "rounded_through_int": (
            "x.round()",
            "x.round().int().to(x.dtype)",
            "Believes that every number fits into a 32-bit integer.",
        ),
        "x_itself": ("x + (x.round() - x).detach()", "x", "Returns x unrounded."),
        "detached_x_in_float32": ("x.round()", "x.float().round()", "Believes that everything is float32."),
    },
)


@wrong("q4")
def ones_for_everything(x):
    """Returns a gradient of ones, whatever gradient arrives."""

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.round()

        @staticmethod
        def backward(ctx, gradient):
            return torch.ones_like(gradient)

    return Round.apply(x)


# q5: td_loss


@accepted("q5")
def target_detached(q, q_target, s, a, r, s2, gamma):
    """Cuts the network's answer off."""
    return F.mse_loss(q(s).gather(1, a.view(-1, 1)).view(-1), r + gamma * q_target(s2).detach().amax(1))


@accepted("q5")
def cloned_out_of_inference_mode(q, q_target, s, a, r, s2, gamma):
    """A clone made outside is an ordinary tensor."""
    with torch.inference_mode():
        target = r + gamma * q_target(s2).max(1)[0]
    return F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), target.clone())


@accepted("q5")
def switched_by_set_grad_enabled(q, q_target, s, a, r, s2, gamma):
    """set_grad_enabled as a context puts back what was."""
    with torch.set_grad_enabled(False):
        target = torch.max(q_target(s2), 1).values.mul(gamma).add(r)
    return (q(s).gather(1, a[:, None]).squeeze(1) - target).square().mean()


wrong_edits(
    "q5",
    {
        "loss_detached": (
            "return F.mse_loss(prediction, target)",
            "return F.mse_loss(prediction, target).detach()",
            "Detaches the loss itself, so nothing is trained.",
        ),
        "target_frozen": (
            "    with torch.no_grad():\n        target = r",
            "    q_target.requires_grad_(False)\n    target = r",
            "Freezes the target network's parameters, which may be q's own.",
        ),
        "target_never_cut": (
            "    with torch.no_grad():\n        target = r",
            "    target = r",
            "Trains the target towards the prediction.",
        ),
        "target_frozen_and_thawed": (
            "    with torch.no_grad():\n        target = r + gamma * q_target(s2).max(1).values",
            "    q_target.requires_grad_(False)\n    target = r + gamma * q_target(s2).max(1).values\n    q_target.requires_grad_(True)",
            "Freezes the target network for the call and unfreezes parameters that were frozen before.",
        ),
        "eval_is_enough": (
            "    with torch.no_grad():\n        target = r + gamma * q_target(s2).max(1).values",
            "    q_target.eval()\n    target = r + gamma * q_target(s2).max(1).values\n    q_target.train()",
            "Believes that eval() stops gradients.",
        ),
    },
)


@wrong("q5")
def cut_for_another_network(q, q_target, s, a, r, s2, gamma):
    """Detaches the target only if the two networks are different objects."""
    target = r + gamma * q_target(s2).max(1).values
    if q is not q_target:
        target = target.detach()
    return F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), target)


# q6: clipped_energy


@accepted("q6")
def chosen_by_where_from_ones(x, w):
    """A choice that autograd sees."""
    h = x @ w
    return torch.where(h > 1, torch.ones_like(h), h).square().sum()


@accepted("q6")
def assigned_to_masked_entries(x, w):
    """A recorded write in place."""
    h = x @ w
    h[h > 1] = 1.0
    return h.pow(2).sum()


@accepted("q6")
def counted_and_summed(x, w):
    """What is clipped counts 1, the rest is squared."""
    h = x @ w
    return (h[h < 1] ** 2).sum() + (h > 1).sum()


wrong_edits(
    "q6",
    {
        "hidden_by_data": (
            "h = (x @ w).clamp(max=1.0)",
            "h = x @ w\n    h.data.clamp_(max=1.0)",
            "Believes that a gradient is right if there is no error.",
        ),
        "not_assigned": (
            "h = (x @ w).clamp(max=1.0)",
            "h = x @ w\n    h.clamp(max=1.0)",
            "Believes that clamp without the underscore changes h.",
        ),
        "w_clipped": (
            "h = (x @ w).clamp(max=1.0)",
            "w.data.clamp_(max=1.0)\n    h = x @ w",
            "Clips the caller's w in place.",
        ),
        "energy_in_float32": ("(x @ w)", "(x @ w).float()", "Believes that everything is float32."),
        "a_python_number": (
            "(h**2).sum()",
            "(h**2).sum().item()",
            "Returns a Python number instead of a tensor.",
        ),
    },
)


class Remembered(torch.autograd.Function):
    """The energy with a backward by hand, which keeps what it needs on the class."""

    @staticmethod
    def forward(ctx, h):
        Remembered.h = h.clamp(max=1)
        Remembered.free = h < 1
        return Remembered.h.square().sum()

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient * Remembered.h * Remembered.free


@wrong("q6")
def remembered_by_the_class(x, w):
    """Stores on the class what belongs to one call, so the next call overwrites it."""
    return Remembered.apply(x @ w)


@wrong("q6")
def bounded_far_below(x, w):
    """Also clips far below 0, at a bound that looks infinite."""
    return (x @ w).clamp(min=-1e4, max=1.0).square().sum()


@wrong("q6")
def mask_of_the_first_call(x, w, masks={}):
    """Caches by x and w which products are clipped, although their values may change."""
    h = x @ w
    *_, mask = masks.setdefault((id(x), id(w)), (x, w, h > 1))
    return torch.where(mask, torch.ones_like(h), h).square().sum()


# end: train_values


@accepted("end")
def state_dicts_copied(body, head, optimizer, batches, held_out, gamma):
    """Copies of both state_dicts; the target is computed while nothing is recorded."""
    losses, activities, errors, kept = [], [], [], []
    for s, r, s2 in batches:
        h = body(s)
        with torch.no_grad():
            target = r + gamma * head(body(s2))
        loss = F.mse_loss(head(h), target)
        loss_now, active_now = loss.item(), F.relu(h).mean().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss_now)
        activities.append(active_now)
        with torch.inference_mode():
            s, r, s2 = held_out
            errors.append(F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item())
        kept.append(copy.deepcopy((body.state_dict(), head.state_dict())))
    of_body, of_head = kept[min(range(len(errors)), key=errors.__getitem__)]
    body.load_state_dict(of_body)
    head.load_state_dict(of_head)
    return losses, activities


@accepted("end")
def parameters_replaced(body, head, optimizer, batches, held_out, gamma):
    """The best parameters are put in the place of the last ones through .data."""
    learning = [*body.parameters(), *head.parameters()]
    losses, activities, smallest = [], [], float("inf")
    for s, r, s2 in batches:
        optimizer.zero_grad(set_to_none=False)
        h = body(s)
        loss = F.mse_loss(head(h), (r + gamma * head(body(s2))).detach())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        activities.append(h.maximum(torch.zeros_like(h)).mean().item())
        s, r, s2 = held_out
        error = F.mse_loss(head(body(s)), r + gamma * head(body(s2)))
        if error < smallest:
            smallest, best = error.detach(), [parameter.clone() for parameter in learning]
    for parameter, values in zip(learning, best):
        parameter.data = values.data
    return losses, activities


wrong_edits(
    "end",
    {
        "smallest_sum_of_distances": (
            "error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()",
            "error = F.l1_loss(head(body(s)), r + gamma * head(body(s2))).item()",
            "Believes that every error measure is smallest after the same step.",
        ),
        "smallest_largest_distance": (
            "error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()",
            "error = (head(body(s)) - r - gamma * head(body(s2))).abs().max().item()",
            "Measures the worst state instead of the mean over all.",
        ),
        "activity_written_to_h_after_the_step": (
            [
                ("activities.append(h.detach().clamp(min=0).mean().item())", "pass"),
                (
                    "optimizer.step()",
                    "optimizer.step()\n        activities.append(h.detach().clamp_(min=0).mean().item())",
                ),
            ],
            "Writes to h after the step, although h may be the caller's s.",
        ),
        "best_in_float32": (
            "parameter.detach().clone()",
            "parameter.detach().float().clone()",
            "Stores the best parameters as float32.",
        ),
        "activity_written_to_h": (
            "h.detach().clamp(min=0)",
            "h.detach().clamp_(min=0)",
            "Writes the positive part into h before head uses it.",
        ),
        "target_with_a_history": (
            "head(body(s2)).detach()",
            "head(body(s2))",
            "Forgets to detach the target, which moves towards the prediction.",
        ),
        "best_shares_memory": (
            "parameter.detach().clone()",
            "parameter.detach()",
            "Believes that detach() copies.",
        ),
        "best_without_the_next_state": (
            "error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()",
            "error = F.mse_loss(head(body(s)), r).item()",
            "Measures an error that is not the loss of the held-out batch.",
        ),
    },
)


# Edits that leave answers right

equal("q1", "no_grad is put around: the function", why="the result has no history either way")
equal("q1", "y -> y.clone()", why="a copy costs memory, and nothing else")
equal("q2", "no_grad is put around: the function", why="enable_grad() inside it records f again")
equal("q2", "a statement is moved by one: saved = set()", why="the set is there before f runs")
equal(
    "q2",
    "a statement is moved into a block: return mid.untyped_storage().data_ptr() not in saved",
    why="the block ends all the same",
)
equal(
    "q2",
    "no_grad is put around: return mid.untyped_storage().data_ptr() not in saved",
    "no_grad is put around: def pack(tensor):",
    why="nothing is computed here",
)
equal(
    "q2",
    "tensor -> tensor.detach()",
    "tensor -> tensor.data",
    why="shows the same memory, and keeps it alive",
)
equal("q2", "tensor -> tensor.item()", why="out never goes back, so nothing is unpacked")
equal("q2", "x -> x.clone()", why="f computes the same of a copy")
equal(
    "q2",
    "a statement is left out: return tensor",
    "tensor -> tensor.clone()",
    why="only the allocator decides whether the address of what is freed comes again; no check may hang on that",
)
equal(
    "q3",
    "a statement is moved by one: fake = G(z)",
    "a statement is moved by one: oD.zero_grad()",
    "a statement is moved by one: oD.step()",
    "a statement is moved by one: oG.zero_grad()",
    why="the order of these two makes no difference",
)
equal(
    "q3",
    "loss_d = loss_d + F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake)) -> loss_d += F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake))",
    why="a sum does not save its parts, so that it may be taken in place",
)
equal("q3", "z -> z.detach()", why="z is plain data")
equal("q3", "z -> z.clone()", "real -> real.clone()", why="a copy of plain data has the same values")
equal("q3", "real -> real.detach()", why="real is plain data")
equal("q3", ".zero_grad() -> .zero_grad(set_to_none=False)", why="each gradient is filled before its step")
equal(
    "q3",
    "fake.detach() -> fake.detach().data",
    "fake.detach() -> fake.data",
    "fake.detach() -> fake.detach().clone()",
    why="without a history either way, and nothing writes to it",
)
equal(
    "q3",
    "fake -> fake.clone()",
    "loss_d -> loss_d.clone()",
    "loss_g -> loss_g.clone()",
    why="a clone has the same history",
)
equal("q3", ".backward() -> .backward(retain_graph=True)", why="the graph is freed when the call ends")
equal("q3", ".backward() -> .backward(create_graph=True)", why="the .grad afterwards is left open")
equal(
    "q4",
    "(x.round() - x).detach() -> (x.round() - x).detach().data",
    "(x.round() - x).detach() -> (x.round() - x).data",
    why="the difference has no history either way, and nothing writes to it",
)
equal("q4", "(x.round() - x).detach -> (x.round() - x).detach_", why="nobody else holds the difference")
equal(
    "q5",
    "a statement is moved by one: prediction = q(s).gather(1, a[:, None]).squeeze(1)",
    why="the two lines need nothing of each other",
)
equal(
    "q5",
    "q(s).gather(1, a[:, None]).squeeze(1) -> q(s).gather(1, a[:, None]).squeeze(1).clone()",
    why="a clone has the same history",
)
equal("q5", "s -> s.detach()", why="s is plain data")
equal(
    "q5",
    "s -> s.clone()",
    "a[:, None] -> a[:, None].clone()",
    "s2 -> s2.clone()",
    why="a copy of plain data has the same values",
)
equal("q5", "a[:, None] -> a[:, None].detach()", why="a is plain data")
equal(
    "q5",
    "r + gamma * q_target(s2).max(1).values -> (r + gamma * q_target(s2).max(1).values).detach()",
    "target -> target.detach()",
    why="the target has no history anyway",
)
equal("q6", "(x @ w).clamp -> (x @ w).clamp_", why="the product is new, and the write is recorded")
equal(
    "end",
    "a statement is moved by one: parameters = [*body.parameters(), *head.parameters()]",
    "a statement is moved by one: activities.append(h.detach().clamp(min=0).mean().item())",
    "a statement is moved by one: losses.append(loss.item())",
    why="the order of these two makes no difference",
)
equal(
    "end",
    "a statement is moved into a block: return (losses, activities)",
    "a statement is moved into a block: optimizer.step()",
    why="neither needs a history",
)
equal(
    "end",
    "no_grad is put around: losses, activities, smallest = ([], [], float('inf'))",
    "no_grad is put around: activities.append(h.detach().clamp(min=0).mean().item())",
    "no_grad is put around: target = r + gamma * head(body(s2)).detach()",
    "no_grad is put around: losses.append(loss.item())",
    "no_grad is put around: if error < smallest:",
    why="nothing here needs a history",
)
equal("end", "a statement is moved out of a block: with torch.no_grad():", why="nothing is computed here")
equal("end", "with, try or if is taken away: with torch.no_grad():", why="nobody backpropagates the error")
equal(
    "end",
    "h.detach() -> h",
    "h.detach() -> h.data",
    "h.detach -> h.clone",
    "h -> h.clone()",
    why="a number has no history, and nothing is written to h",
)
equal(
    "end",
    "head(body(s2)).detach() -> head(body(s2)).data",
    "head(body(s2)).detach -> head(body(s2)).detach_",
    why="the value of s2 has no history either way, and nothing else holds it",
)
equal("end", "s2 -> s2.clone()", "s -> s.clone()", why="a copy of plain data has the same values")
equal("end", "s -> s.detach()", why="s is plain data")
equal("end", "target -> target.detach()", why="the target has no history anyway")
equal("end", ".zero_grad() -> .zero_grad(set_to_none=False)", why="each gradient is filled before its step")
equal("end", ".backward() -> .backward(retain_graph=True)", why="no graph is used twice")
equal("end", ".backward() -> .backward(create_graph=True)", why="the .grad afterwards is left open")
equal("end", "loss -> loss.clone()", why="a clone has the same history")
equal(
    "end",
    "torch.no_grad -> torch.enable_grad",
    "torch.no_grad -> torch.inference_mode",
    why="nothing goes back through what is computed here",
)
equal(
    "end",
    "F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item() -> F.mse_loss(head(body(s)), r + gamma * head(body(s2)))",
    "F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item -> F.mse_loss(head(body(s)), r + gamma * head(body(s2))).detach",
    why="a tensor of one number is compared in the same way",
)
equal(
    "end",
    "head(body(s)) -> head(body(s)).detach()",
    "r + gamma * head(body(s2)) -> (r + gamma * head(body(s2))).detach()",
    why="nothing here has a history",
)
equal("end", "error < smallest -> error <= smallest", why="no two errors are equal")
equal(
    "end",
    "parameter.detach() -> parameter",
    "parameter.detach() -> parameter.data",
    "parameter.detach -> parameter.clone",
    why="a copy either way, whose history nobody uses",
)
equal(
    "end",
    "parameter -> parameter.clone()",
    "parameter -> parameter.data",
    why="it holds the same values, and a write to .data reaches the parameter",
)
