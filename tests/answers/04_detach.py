"""Answers to 04_detach whose verdict is known."""

import copy

import numpy as np
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
def copied_by_numpy(y):
    """A copy of what NumPy shows."""
    return torch.from_numpy(y.detach().numpy().copy()).clamp_(min=0)


@accepted("q1")
def recorded_and_cut_afterwards(y):
    """The other order: a recorded operation, and then the cut."""
    return torch.relu(y).detach()


@accepted("q1")
def chosen_by_where(y):
    """A choice among values, without history."""
    with torch.no_grad():
        return torch.where(y > 0, y, torch.zeros_like(y))


@accepted("q1")
def multiplied_by_a_mask(y):
    """A product has a memory of its own."""
    old = y.detach()
    return old * (old > 0)


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
def copied_only_where_needed(y):
    """Spares the copy where nothing is negative, and returns the memory of y."""
    old = y.detach()
    if (old >= 0).all():
        return old
    return old.clamp(min=0)


@wrong("q1")
def frozen_in_place(y):
    """Takes detach_() for detach(): it cuts y itself off."""
    return y.detach_().clamp(min=0)


@wrong("q1")
def a_name_for_a_copy(y):
    """Believes that a second name is a second tensor."""
    result = y.detach()
    result[result < 0] = 0
    return result


@wrong("q1")
def rounded_by_a_list(y):
    """Takes a way through Python's numbers, and comes back as float32."""
    return torch.tensor([max(value, 0.0) for value in y.flatten().tolist()]).reshape(y.shape)


@wrong("q1")
def put_back_afterwards(y):
    """Believes that what is put back has never been away; the counter has counted twice."""
    old = y.detach().clone()
    result = y.detach().clamp_(min=0).clone()
    y.detach().copy_(old)
    return result


@wrong("q1")
def put_back_through_data(y):
    """The same through .data, which leaves a graph that is right, but no memory of its own for the result."""
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
            "Takes .data for a safer detach(), because there is no error.",
        ),
        "clamped_in_place_under_no_grad": (
            "return y.detach().clamp(min=0)",
            "with torch.no_grad():\n        return y.clamp_(min=0).detach()",
            "Believes that what is not recorded does no harm.",
        ),
        "cloned_with_history": (
            "y.detach().clamp(min=0)",
            "y.clone().clamp_(min=0)",
            "Believes that a clone has no history.",
        ),
        "clamped_and_never_cut": ("y.detach().clamp(min=0)", "y.clamp(min=0)", "Never cuts."),
        "written_through_numpy": (
            "return y.detach().clamp(min=0)",
            "a = y.detach().numpy()\n    a[a < 0] = 0\n    return torch.from_numpy(a)",
            "Takes what numpy() gives for a copy.",
        ),
        "a_leaf_that_requires_grad": (
            "y.detach().clamp(min=0)",
            "y.detach().clamp(min=0).requires_grad_()",
            "Gives the result a flag for training, which a plot does not need.",
        ),
        "relu_in_place": (
            "y.detach().clamp(min=0)",
            "F.relu(y.detach(), inplace=True)",
            "Saves memory that is not its own.",
        ),
        "absolute_values": (
            "y.detach().clamp(min=0)",
            "y.detach().abs()",
            "Takes the size for the positive part.",
        ),
        "clipped_at_one": ("clamp(min=0)", "clamp(0, 1)", "Clips from above, too."),
        "as_float32": (
            "y.detach().clamp(min=0)",
            "y.detach().float().clamp(min=0)",
            "Takes all for float32.",
        ),
        "y_returned": ("y.detach().clamp(min=0)", "y", "Leaves y alone, by doing nothing."),
        "negatives_left_out": (
            "return y.detach().clamp(min=0)",
            "old = y.detach()\n    return old[old > 0]",
            "Leaves out what is negative, and returns fewer numbers.",
        ),
        "nothing_returned": (
            "return y.detach().clamp(min=0)",
            "y = y.detach().clamp(min=0)",
            "Returns nothing.",
        ),
    },
)


@wrong("q1")
def half_of_a_sum(y):
    """Adds before it halves, so that large numbers become infinite."""
    old = y.detach()
    return (old + old.abs()) / 2


@wrong("q1")
def same_memory_by_numpy(y):
    """Believes that memory is only shared if torch says so; numpy looks at the same numbers."""
    if bool((y >= 0).all()):
        return torch.from_numpy(y.detach().numpy())
    return y.detach().clamp(min=0)


@wrong("q1")
def memoised_result(y, seen={}):
    """Returns the very tensor of an earlier call if nothing has changed."""
    result = y.detach().clamp(min=0)
    for other in seen.setdefault("results", []):
        if other.dtype == result.dtype and other.shape == result.shape and torch.equal(other, result):
            return other
    seen["results"].append(result)
    return result


@wrong("q1")
def half_of_y_and_its_size(y):
    """Adds y and its absolute value, which is too large for the largest numbers of float64."""
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


@wrong("q2")
@torch.enable_grad()
def asked_for_x_alone(f, x):
    """Forgets that backward also goes to the other leaves of f, and their gradients may need mid."""
    out, mid = f(x)
    with torch.no_grad():
        mid.add_(1).sub_(1)
    try:
        torch.autograd.grad(out.sum(), x, allow_unused=True)
        return True
    except RuntimeError:
        return False


@accepted("q2")
@torch.enable_grad()
def tried_by_backward(f, x):
    """A write through detach() is counted; whose .grad is filled is up to us."""
    out, mid = f(x)
    mid.detach().zero_()
    try:
        out.sum().backward()
    except RuntimeError:
        return False
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
    """Leaves are protected, and what is computed is free."""
    return not f(x)[1].is_leaf


@wrong("q2")
@torch.enable_grad()
def written_through_data(f, x):
    """Tries by a write that nobody counts."""
    out, mid = f(x)
    mid.data.add_(1)
    try:
        torch.autograd.grad(out.sum(), x, allow_unused=True)
        return True
    except RuntimeError:
        return False


@wrong("q2")
@torch.enable_grad()
def only_the_last_node(f, x):
    """Looks at the last operation, and no deeper."""
    out, mid = f(x)
    node = out.grad_fn
    return not any(
        isinstance(getattr(node, name), torch.Tensor) and getattr(node, name).data_ptr() == mid.data_ptr()
        for name in dir(node)
        if name.startswith("_saved")
    )


@wrong("q2")
@torch.enable_grad()
def always_forbidden(f, x):
    """In place is always forbidden."""
    f(x)
    return False


@wrong("q2")
@torch.enable_grad()
def always_allowed(f, x):
    """What goes through detach() is always allowed."""
    f(x)
    return True


@wrong("q2")
@torch.enable_grad()
def gradients_compared_after_one_write(f, x):
    """Believes that what one write does not change, no write changes."""
    (right,) = torch.autograd.grad(f(x)[0].sum(), x)
    out, mid = f(x)
    mid.data.add_(1)
    (seen,) = torch.autograd.grad(out.sum(), x)
    return torch.allclose(seen, right)


@wrong("q2")
def objects_compared(f, x):
    """Takes what is saved for the same object; results and views are other objects."""
    saved = []

    def pack(tensor):
        saved.append(tensor)
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out, mid = f(x)
    return not any(tensor is mid for tensor in saved)


@wrong("q2")
@torch.enable_grad()
def inputs_only(f, x):
    """Knows what goes into an operation, and forgets that a result may be saved."""
    out, mid = f(x)
    seen, waiting = set(), [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting.extend(earlier for earlier, _ in node.next_functions)
        for name in ("_saved_self", "_saved_other"):
            saved = getattr(node, name, None)
            if isinstance(saved, torch.Tensor):
                if saved.untyped_storage().data_ptr() == mid.untyped_storage().data_ptr():
                    return False
    return True


@wrong("q2")
@torch.enable_grad()
def compared_with_an_old_gradient(f, x):
    """Takes .grad for empty, and for the gradient of one backward."""
    f(x)[0].sum().backward()
    right = x.grad.clone()
    out, mid = f(x)
    with torch.no_grad():
        mid.zero_()
    try:
        out.sum().backward()
    except RuntimeError:
        return False
    return torch.equal(x.grad, 2 * right)


@wrong("q2")
@torch.enable_grad()
def written_while_recorded(f, x):
    """Tries by a write that is recorded, which torch refuses for a view that came together with others."""
    out, mid = f(x)
    try:
        mid.zero_()
        out.sum().backward()
    except RuntimeError:
        return False
    return True


wrong_edits(
    "q2",
    {
        "addresses_of_first_elements": (
            "mid.untyped_storage().data_ptr() not in saved",
            "mid.data_ptr() not in saved",
            "Takes the address of the first element for that of the memory.",
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
        "the_other_way_round": (
            "data_ptr() not in saved",
            "data_ptr() in saved",
            "Answers whether it is needed, which is the other question.",
        ),
        "those_that_require_grad": (
            "saved.add(tensor.untyped_storage().data_ptr())",
            "saved.update({tensor.untyped_storage().data_ptr()} if tensor.requires_grad else {})",
            "Believes that only what requires grad is needed.",
        ),
        "x_left_without_a_gradient": (
            "return mid.untyped_storage()",
            "x.requires_grad_(False)\n    return mid.untyped_storage()",
            "Freezes the caller's x.",
        ),
    },
)


@wrong("q2")
def siblings_forgotten(f, x):
    """Compares addresses of tensors, not of what they share."""
    saved = []

    def pack(tensor):
        first = tensor.data_ptr()
        saved.append((tensor, first, first + tensor.numel() * tensor.element_size()))
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out, mid = f(x)
    first, last = mid.data_ptr(), mid.data_ptr() + mid.numel() * mid.element_size()
    return not any(a < last and first < b for _, a, b in saved)


@wrong("q2")
def bases_compared(f, x):
    """Compares bases: knows parts of a tensor, but not that a view of a view overlaps another."""
    saved = []

    def pack(tensor):
        saved.append(tensor)
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out, mid = f(x)
    return not any(
        t.data_ptr() == mid.data_ptr()
        or t is mid._base
        or t._base is mid
        or (t._base is not None and t._base is mid._base and t.shape == mid.shape)
        for t in saved
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


@wrong("q2")
def looked_where_nothing_is_saved(f, x):
    """Forgets that under no_grad() nothing is saved."""
    saved = []

    def pack(tensor):
        saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out, mid = f(x)
    return all(tensor.untyped_storage().data_ptr() != mid.untyped_storage().data_ptr() for tensor in saved)


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
def a_leaf_between_the_two(G, D, oG, oD, z, real):
    """A leaf for both losses; what the second leaves there goes on into the generator by hand."""
    fake = G(z)
    leaf = fake.detach().requires_grad_()
    oD.zero_grad()
    (F.softplus(-D(real)).mean() + F.softplus(D(leaf)).mean()).backward()
    oD.step()
    leaf.grad = None
    F.softplus(-D(leaf)).mean().backward()
    oG.zero_grad()
    fake.backward(leaf.grad)
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
            "Silences the error of the second backward with retain_graph=True, and steps with both gradients.",
        ),
        "leak_thrown_away": (
            [("D(fake.detach())", "D(fake)"), ("loss_d.backward()", "loss_d.backward(retain_graph=True)")],
            "Believes that a gradient which is dropped later costs nothing.",
        ),
        "graph_gone": ("D(fake.detach())", "D(fake)", "Sends both losses back through the same fakes."),
        "fakes_made_twice_never_detached": (
            [
                ("oD.zero_grad()", "oD.zero_grad()\n    oG.zero_grad()"),
                ("D(fake.detach())", "D(fake)"),
                ("    oG.zero_grad()\n    on_fake = D(fake)", "    on_fake = D(G(z))"),
            ],
            "Escapes the error by making the fakes anew, and adds the gradients of both.",
        ),
        "detached_for_both": (
            "fake = G(z)",
            "fake = G(z).detach()",
            "Believes that detach() once at the top suits both losses.",
        ),
        "old_gradients_of_the_discriminator": (
            "    oD.zero_grad()\n",
            "",
            "Forgets that the loss of the generator leaves gradients in the discriminator, too.",
        ),
        "cleared_after_its_step": (
            [("    oD.zero_grad()\n", ""), ("oD.step()", "oD.step()\n    oD.zero_grad()")],
            "Clears the discriminator after its step, and lets the generator's loss fill it again.",
        ),
        "old_gradients_of_the_generator": (
            "    oG.zero_grad()\n",
            "",
            "Believes that the generator's .grad is empty.",
        ),
        "cleared_too_late": (
            [
                ("    oG.zero_grad()\n", ""),
                ("    loss_g.backward()\n", "    loss_g.backward()\n    oG.zero_grad()\n"),
            ],
            "Clears between backward and step, so that there is nothing to step with.",
        ),
        "discriminator_under_no_grad": (
            "on_fake = D(fake)  ",
            "with torch.no_grad():\n        on_fake = D(fake)  ",
            "Believes that the discriminator is a constant for the generator's loss: then nothing leads back.",
        ),
        "frozen_for_good": (
            "    oG.zero_grad()\n",
            "    D.requires_grad_(False)\n    oG.zero_grad()\n",
            "Freezes the discriminator for the generator's step, and leaves it so.",
        ),
        "real_detached_instead": (
            "D(real), D(fake.detach())",
            "D(real.detach()), D(fake)",
            "Detaches the wrong samples: real ones have no history.",
        ),
        "one_mean_over_all": (
            [
                (
                    "loss_d = F.binary_cross_entropy_with_logits(on_real, torch.ones_like(on_real))",
                    "loss_d = torch.cat([F.softplus(-on_real), F.softplus(on_fake)]).mean()",
                ),
                (
                    "    loss_d = loss_d + F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake))\n",
                    "",
                ),
            ],
            "Averages over real samples and fakes together.",
        ),
        "half_of_the_sum": (
            "loss_d.backward()",
            "(loss_d / 2).backward()",
            "Takes the mean of the two losses for their sum.",
        ),
        "fakes_called_fake_twice": (
            "loss_g = F.binary_cross_entropy_with_logits(on_fake, torch.ones_like(on_fake))",
            "loss_g = F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake))",
            "Gives the fakes the label 0 in the generator's step, too.",
        ),
        "minimax": (
            "loss_g = F.binary_cross_entropy_with_logits(on_fake, torch.ones_like(on_fake))",
            "loss_g = -F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake))",
            "Maximises the loss of the discriminator, which teaches nothing where the discriminator is sure.",
        ),
        "both_steps_at_the_end": (
            [("    oD.step()\n", ""), ("oG.step()", "oG.step()\n    oD.step()")],
            "Lets the discriminator step last, with what both losses left in its .grad.",
        ),
        "one_step_too_many": ("oD.step()", "oD.step()\n    oD.step()", "Steps twice with the same gradient."),
        "trained_in_eval_mode": (
            "fake = G(z)",
            "G.eval()\n    fake = G(z)",
            "Leaves the generator in eval mode.",
        ),
    },
)


@wrong("q3")
def generator_first(G, D, oG, oD, z, real):
    """The generator learns from the discriminator as it was."""
    fake = G(z)
    oG.zero_grad()
    F.softplus(-D(fake)).mean().backward()
    oG.step()
    oD.zero_grad()
    (F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()).backward()
    oD.step()


@wrong("q3")
def losses_before_the_step(G, D, oG, oD, z, real):
    """Computes both losses first, and goes back after the weights were written to."""
    fake = G(z)
    oD.zero_grad()
    loss_d = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    loss_g = F.softplus(-D(fake)).mean()
    loss_d.backward()
    oD.step()
    oG.zero_grad()
    loss_g.backward()
    oG.step()


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
def generator_taught_and_untaught(G, D, oG, oD, z, real):
    """Sends the gradient of D's loss into G, and its opposite after it."""
    bce = F.binary_cross_entropy_with_logits
    fake = G(z)
    on_real, on_fake = D(real), D(fake)
    loss = bce(on_real, torch.ones_like(on_real)) + bce(on_fake, torch.zeros_like(on_fake))
    gradients = torch.autograd.grad(loss, [*D.parameters(), *G.parameters()], retain_graph=True)
    torch.autograd.grad(-loss, list(G.parameters()), retain_graph=True)
    oD.zero_grad()
    for p, g in zip(D.parameters(), gradients, strict=False):
        p.grad = g
    oD.step()
    oG.zero_grad()
    again = D(G(z))
    bce(again, torch.ones_like(again)).backward()
    oG.step()


@wrong("q3")
def gradients_clipped(G, D, oG, oD, z, real):
    """Clips gradients, as recipes do."""
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
    """Believes that no gradient is larger than a billion."""
    return Bounded.apply(x)


@wrong("q4")
def added_before_subtracted(x):
    """Adds all of x before it takes it away again, so that large numbers become infinite."""
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
        "never_detached": ("(x.round() - x).detach()", "(x.round() - x)", "Forgets the cut: 1 + 0 - 1 is 0."),
        "a_new_leaf": (
            "x + (x.round() - x).detach()",
            "x.round().detach().requires_grad_()",
            "Takes a new leaf for x.",
        ),
        "all_detached": (
            "x + (x.round() - x).detach()",
            "(x + (x.round() - x)).detach()",
            "Cuts off everything.",
        ),
        "x_overwritten": (
            "return x + (x.round() - x).detach()",
            "x.data.copy_(x.detach().round())\n    return x * 1",
            "Rounds the caller's x.",
        ),
        "x_detached_instead": (
            "x + (x.round() - x).detach()",
            "x.detach() + (x.round() - x)",
            "Cuts the wrong x: the gradient is that of -x.",
        ),
        "floor_of_a_half_more": (
            "x.round()",
            "(x + 0.5).floor()",
            "Rounds halves up; round() goes to the even neighbour.",
        ),
        "cast_to_int": (
            "x.round()",
            "x.int().to(x.dtype)",
            "Takes a cast for rounding: it cuts off, and knows 32 bits.",
        ),
        "rounded_through_int": (
            "x.round()",
            "x.round().int().to(x.dtype)",
            "Believes that every number is an int of 32 bits.",
        ),
        "identity": ("x + (x.round() - x).detach()", "x * 1", "Has the right gradient, and rounds nothing."),
        "x_itself": ("x + (x.round() - x).detach()", "x", "Returns x."),
        "sum_of_both": (
            "x + (x.round() - x).detach()",
            "x + x.round().detach()",
            "Forgets to subtract x again.",
        ),
        "half_of_the_gradient": (
            "x + (x.round() - x).detach()",
            "x / 2 + x.round() / 2 + ((x.round() - x) / 2).detach()",
            "The value is right, and half of the gradient.",
        ),
        "rounded_in_place": (
            "return x + (x.round() - x).detach()",
            "x.detach().round_()\n    return x",
            "Rounds the caller's x through detach().",
        ),
        "to_two_decimals": ("x.round()", "x.round(decimals=1)", "Keeps a decimal."),
        "detached_x_in_float32": ("x.round()", "x.float().round()", "Takes all for float32."),
    },
)


@wrong("q4")
def clipped_straight_through(x):
    """Lets nothing through beyond 1, as for a sign; the task lets all through."""

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t.round()

        @staticmethod
        def backward(ctx, gradient):
            return gradient.clamp(-10, 10)

    return Round.apply(x)


@wrong("q4")
def ones_for_everything(x):
    """Takes the gradient of the identity for ones, whatever arrives."""

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.round()

        @staticmethod
        def backward(ctx, gradient):
            return torch.ones_like(gradient)

    return Round.apply(x)


@wrong("q4")
def hook_on_x(x):
    """Leaves a hook on the caller's x, and round has nothing to hand on."""
    x.register_hook(lambda gradient: torch.ones_like(gradient))
    return x.round()


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


@accepted("q5")
def copy_as_target(q, q_target, s, a, r, s2, gamma):
    """A copy of the network may get gradients; nobody sees them."""
    target = r + gamma * copy.deepcopy(q_target)(s2).max(1).values
    prediction = q(s)[torch.arange(len(a)), a]
    return (prediction - target).pow(2).mean()


@accepted("q5")
def target_cut_at_the_end(q, q_target, s, a, r, s2, gamma):
    """Cuts the finished target."""
    target = r + gamma * q_target(s2).max(dim=1).values
    prediction = (q(s) * F.one_hot(a, q(s).shape[1])).sum(1)
    return ((target.detach() - prediction) ** 2).mean()


wrong_edits(
    "q5",
    {
        "loss_detached": (
            "return F.mse_loss(prediction, target)",
            "return F.mse_loss(prediction, target).detach()",
            "Cuts the loss itself: nothing is taught.",
        ),
        "target_frozen": (
            "    with torch.no_grad():\n        target = r",
            "    q_target.requires_grad_(False)\n    target = r",
            "Freezes the parameters, which are those of q, too.",
        ),
        "target_never_cut": (
            "    with torch.no_grad():\n        target = r",
            "    target = r",
            "Trains the target towards the prediction.",
        ),
        "target_frozen_and_thawed": (
            "    with torch.no_grad():\n        target = r + gamma * q_target(s2).max(1).values",
            "    q_target.requires_grad_(False)\n    target = r + gamma * q_target(s2).max(1).values\n    q_target.requires_grad_(True)",
            "Freezes for a moment, and thaws what was frozen before.",
        ),
        "indices_of_max": (
            "max(1).values",
            "max(1).indices",
            "Takes the place of the largest value for the value.",
        ),
        "eval_is_enough": (
            "    with torch.no_grad():\n        target = r + gamma * q_target(s2).max(1).values",
            "    q_target.eval()\n    target = r + gamma * q_target(s2).max(1).values\n    q_target.train()",
            "Believes that eval() stops gradients.",
        ),
        "broadcast": (".squeeze(1)", "", "A column minus a row is a matrix."),
        "prediction_detached": (
            "    with torch.no_grad():\n        target = r",
            "    prediction = prediction.detach()\n    target = r",
            "Cuts the prediction, and teaches the target.",
        ),
        "both_without_gradient": (
            "    prediction = q(s).gather(1, a[:, None]).squeeze(1)\n    with torch.no_grad():\n",
            "    with torch.no_grad():\n        prediction = q(s).gather(1, a[:, None]).squeeze(1)\n",
            "Puts the prediction into the block, too.",
        ),
        "no_grad_called": (
            "with torch.no_grad():",
            "if torch.no_grad():",
            "Asks no_grad() instead of entering it.",
        ),
        "largest_of_the_batch": ("max(1).values", "max()", "Takes the largest value of all samples."),
        "own_opinion": ("q_target(s2)", "q(s2)", "Asks q, and not q_target."),
        "this_state": ("q_target(s2)", "q_target(s)", "Values the state that was left."),
        "greedy_prediction": (
            "q(s).gather(1, a[:, None]).squeeze(1)",
            "q(s).max(1).values",
            "Takes the best action, not the one that was taken.",
        ),
        "huber": ("F.mse_loss", "F.smooth_l1_loss", "Takes the loss of the DQN paper."),
        "summed": (
            "F.mse_loss(prediction, target)",
            "F.mse_loss(prediction, target, reduction='sum')",
            "Sums over the samples.",
        ),
        "gamma_forgotten": ("gamma * ", "", "Counts the future in full."),
        "reward_forgotten": ("r + gamma", "gamma", "Leaves out the reward."),
        "gradients_left_off": (
            "    with torch.no_grad():\n        target = r",
            "    torch.set_grad_enabled(False)\n    target = r",
            "Switches off, and never on again.",
        ),
        "backward_called": (
            "return F.mse_loss(prediction, target)",
            "loss = F.mse_loss(prediction, target)\n    loss.backward(retain_graph=True)\n    return loss",
            "Goes back itself, into the .grad of the caller.",
        ),
    },
)


@wrong("q5")
def cut_for_another_network(q, q_target, s, a, r, s2, gamma):
    """Cuts only where the networks are different objects."""
    target = r + gamma * q_target(s2).max(1).values
    if q is not q_target:
        target = target.detach()
    return F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), target)


@wrong("q5")
def gradients_of_the_target_cleared(q, q_target, s, a, r, s2, gamma):
    """Believes that a hook which drops the gradients of the target's parameters is a cut."""
    target = r + gamma * q_target(s2).max(1).values
    if q is not q_target:
        for parameter in q_target.parameters():
            if parameter.requires_grad:
                parameter.requires_grad_(False)
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
def minimum_with_one(x, w):
    """The smaller of the two."""
    return torch.minimum(x @ w, torch.ones(())).pow(2).sum()


@accepted("q6")
def clamped_in_place_and_recorded(x, w):
    """clamp_ on the result of a product is recorded."""
    h = x @ w
    h.clamp_(max=1.0)
    return (h * h).sum()


@accepted("q6")
def relu_of_the_rest(x, w):
    """Clipping from above by a relu."""
    return ((1 - F.relu(1 - x @ w)) ** 2).sum()


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
            "Believes that without an error the gradient is right.",
        ),
        "clamped_through_detach": (
            "h = (x @ w).clamp(max=1.0)",
            "h = x @ w\n    h.detach().clamp_(max=1.0)",
            "Believes that detach() would have raised.",
        ),
        "clamped_under_no_grad": (
            "h = (x @ w).clamp(max=1.0)",
            "h = x @ w\n    with torch.no_grad():\n        h.clamp_(max=1.0)",
            "Hides the clipping from autograd with no_grad.",
        ),
        "squares_clamped": (
            [("(x @ w).clamp(max=1.0)", "x @ w"), ("(h**2).sum()", "(h**2).clamp(max=1.0).sum()")],
            "Clips the squares, which also cuts what is below -1.",
        ),
        "detached_and_clamped": ("(x @ w).clamp", "(x @ w).detach().clamp", "Cuts the whole way."),
        "not_assigned": (
            "h = (x @ w).clamp(max=1.0)",
            "h = x @ w\n    h.clamp(max=1.0)",
            "Believes that clamp without underscore changes h.",
        ),
        "straight_through": (
            "h = (x @ w).clamp(max=1.0)",
            "h = x @ w\n    h = h + (h.clamp(max=1.0) - h).detach()",
            "Takes the trick of q4 along: its gradient is another function's.",
        ),
        "clipped_on_both_sides": ("clamp(max=1.0)", "clamp(-1.0, 1.0)", "Clips from below, too."),
        "clipped_from_below": ("clamp(max=1.0)", "clamp(min=1.0)", "Takes the wrong side."),
        "mean_of_squares": ("(h**2).sum()", "(h**2).mean()", "Takes the mean."),
        "clipped_entries_left_out": (
            "(x @ w).clamp(max=1.0)",
            "(x @ w)\n    h = h * (h < 1)",
            "Replaces by 0 what is above 1.",
        ),
        "hidden_by_numpy": (
            "h = (x @ w).clamp(max=1.0)",
            "h = x @ w\n    a = h.detach().numpy()\n    np.minimum(a, 1.0, out=a)",
            "Clips in NumPy, which no counter counts.",
        ),
        "w_clipped": (
            "h = (x @ w).clamp(max=1.0)",
            "w.data.clamp_(max=1.0)\n    h = x @ w",
            "Clips the caller's w.",
        ),
        "x_cut_off": ("(x @ w)", "(x.detach() @ w)", "Takes x for plain data always."),
        "w_cut_off": ("(x @ w)", "(x @ w.detach())", "Cuts off the wrong one."),
        "energy_in_float32": ("(x @ w)", "(x @ w).float()", "Takes all for float32."),
        "a_python_number": ("(h**2).sum()", "(h**2).sum().item()", "Returns a number of Python's."),
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
    """Keeps on the class what belongs to a call, so that the next call takes it away."""
    return Remembered.apply(x @ w)


@wrong("q6")
def bounded_far_below(x, w):
    """Clips far below, too, at a bound that looks like infinity."""
    return (x @ w).clamp(min=-1e4, max=1.0).square().sum()


@wrong("q6")
def float32_constant(x, w):
    """Computes the clipping in float32."""
    return (x @ w).float().clamp(max=1.0).to(x.dtype).square().sum()


@wrong("q6")
def mask_of_the_first_call(x, w, masks={}):
    """Remembers for the same x and w which products are clipped."""
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
def frozen_for_the_target(body, head, optimizer, batches, held_out, gamma):
    """All parameters require grad, so that freezing them for the target and thawing them leaves all as it was."""
    learning = [*body.parameters(), *head.parameters()]

    def target_of(r, s2):
        for parameter in learning:
            parameter.requires_grad_(False)
        target = r + gamma * head(body(s2))
        for parameter in learning:
            parameter.requires_grad_(True)
        return target

    losses, activities, best = [], [], (float("inf"), None)
    for s, r, s2 in batches:
        target = target_of(r, s2)
        h = body(s)
        activities.append(float(h.detach().clone().clamp_(min=0).mean()))
        loss = (head(h) - target).pow(2).mean()
        for parameter, gradient in zip(learning, torch.autograd.grad(loss, learning)):
            parameter.grad = gradient
        optimizer.step()
        losses.append(float(loss))
        error = float((head(body(held_out[0])) - target_of(*held_out[1:])).pow(2).mean())
        if error < best[0]:
            best = error, [parameter.data.clone() for parameter in learning]
    for parameter, values in zip(learning, best[1]):
        parameter.data.copy_(values)
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
            "Believes that every measure of the error is smallest after the same step.",
        ),
        "smallest_largest_distance": (
            "error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()",
            "error = (head(body(s)) - r - gamma * head(body(s2))).abs().max().item()",
            "Takes the worst state for all of them.",
        ),
        "activity_written_to_h_after_the_step": (
            [
                ("activities.append(h.detach().clamp(min=0).mean().item())", "pass"),
                (
                    "optimizer.step()",
                    "optimizer.step()\n        activities.append(h.detach().clamp_(min=0).mean().item())",
                ),
            ],
            "Believes that after the step nobody needs h: where body returns its input, h is the caller's s.",
        ),
        "eval_and_back_to_train": (
            "            s, r, s2 = held_out\n            error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()",
            "            s, r, s2 = held_out\n            body.eval(), head.eval()\n            error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()\n            body.train(), head.train()",
            "Believes that every module came in train().",
        ),
        "best_in_float32": (
            "parameter.detach().clone()",
            "parameter.detach().float().clone()",
            "Keeps fewer digits than the parameters have.",
        ),
        "activity_written_to_h": (
            "h.detach().clamp(min=0)",
            "h.detach().clamp_(min=0)",
            "Writes the positive part into h, before head uses it.",
        ),
        "activity_written_through_data": (
            "h.detach().clamp(min=0)",
            "h.data.clamp_(min=0)",
            "Escapes the error with .data, and changes h all the same.",
        ),
        "activity_under_no_grad": (
            "activities.append(h.detach().clamp(min=0).mean().item())",
            "with torch.no_grad():\n            activities.append(h.clamp_(min=0).mean().item())",
            "Believes that what is not recorded does no harm.",
        ),
        "activity_as_a_layer": (
            "h.detach().clamp(min=0)",
            "F.relu(h, inplace=True)",
            "Makes the note a recorded layer of the network.",
        ),
        "target_with_a_history": (
            "head(body(s2)).detach()",
            "head(body(s2))",
            "Moves the target towards the prediction.",
        ),
        "target_with_a_detached_body_only": (
            "head(body(s2)).detach()",
            "head(body(s2).detach())",
            "Cuts the target in the middle: head still learns from it.",
        ),
        "target_cut_by_eval": (
            "target = r + gamma * head(body(s2)).detach()",
            "body.eval(), head.eval()\n        target = r + gamma * head(body(s2))\n        body.train(), head.train()",
            "Believes that eval() stops gradients.",
        ),
        "prediction_cut_too": (
            "h = body(s)",
            "h = body(s).detach()",
            "Cuts the features off, so that body never learns.",
        ),
        "graph_kept_with_its_target": (
            [
                ("head(body(s2)).detach()", "head(body(s2))"),
                ("loss.backward()", "loss.backward(retain_graph=True)"),
            ],
            "Takes retain_graph=True for the cure of everything.",
        ),
        "best_shares_memory": (
            "parameter.detach().clone()",
            "parameter.detach()",
            "Takes detach() for a copy.",
        ),
        "best_is_data": ("parameter.detach().clone()", "parameter.data", "Takes .data for a copy."),
        "best_are_the_parameters": (
            "[parameter.detach().clone() for parameter in parameters]",
            "list(parameters)",
            "Takes a list of the parameters for a copy.",
        ),
        "best_is_copied_too_late": (
            [
                ("parameter.detach().clone()", "parameter.detach()"),
                ("parameter.copy_(values)", "parameter.copy_(values.clone())"),
            ],
            "Clones when the values are gone.",
        ),
        "best_by_the_loss": (
            "if error < smallest:\n            smallest = error",
            "if losses[-1] < smallest:\n            smallest = losses[-1]",
            "Chooses by the loss of the batch.",
        ),
        "best_by_the_features": (
            "error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()",
            "error = F.mse_loss(body(s).mean(1, keepdim=True), r + gamma * head(body(s2))).item()",
            "Compares the features with the target.",
        ),
        "best_without_the_next_state": (
            "error = F.mse_loss(head(body(s)), r + gamma * head(body(s2))).item()",
            "error = F.mse_loss(head(body(s)), r).item()",
            "Measures another error than the loss of the batch that is held out.",
        ),
        "best_is_the_last": (
            "            smallest = error\n",
            "",
            "Never remembers the smallest error, so that every step is the best.",
        ),
        "written_and_shared": (
            [
                ("h.detach().clamp(min=0)", "h.detach().clamp_(min=0)"),
                ("parameter.detach().clone()", "parameter.detach()"),
            ],
            "Mends the target only.",
        ),
        "written_and_uncut": (
            [
                ("h.detach().clamp(min=0)", "h.detach().clamp_(min=0)"),
                ("head(body(s2)).detach()", "head(body(s2))"),
            ],
            "Mends the copy only.",
        ),
        "uncut_and_shared": (
            [
                ("head(body(s2)).detach()", "head(body(s2))"),
                ("parameter.detach().clone()", "parameter.detach()"),
            ],
            "Mends the note only.",
        ),
        "body_frozen_for_good": (
            "with torch.no_grad():\n        for",
            "body.requires_grad_(False)\n    with torch.no_grad():\n        for",
            "Freezes body once it is trained.",
        ),
        "old_gradients_kept": ("        optimizer.zero_grad()\n", "", "Takes .grad for empty."),
    },
)


# Edits that leave answers right

equal("q1", "no_grad is put around: the function", why="the result has no history either way")
equal("q1", "y -> y.clone()", why="a copy costs memory, and nothing else")
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
equal(
    "q3",
    ".backward() -> .backward(retain_graph=True)",
    why="a graph that is kept until the end of the call harms nobody",
)
equal(
    "q3",
    ".backward() -> .backward(create_graph=True)",
    why="what stands in .grad afterwards is up to the student",
)
equal(
    "q4",
    "(x.round() - x).detach() -> (x.round() - x).detach().data",
    "(x.round() - x).detach() -> (x.round() - x).data",
    why="the difference has no history either way, and nothing writes to it",
)
equal(
    "q4",
    "(x.round() - x).detach -> (x.round() - x).detach_",
    why="the difference is a new tensor, which nothing else holds",
)
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
equal(
    "q6", "(x @ w).clamp -> (x @ w).clamp_", why="the product is a new tensor, and autograd records the write"
)
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
equal(
    "end",
    "with, try or if is taken away: with torch.no_grad():",
    why="the error has a history then, and nobody goes back through it",
)
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
equal(
    "end",
    ".backward() -> .backward(create_graph=True)",
    why="what .grad holds after the call is up to the student",
)
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
