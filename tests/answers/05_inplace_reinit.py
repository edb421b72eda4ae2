"""Answers to 05_inplace_reinit whose verdict is known."""

import random

import torch
from torch import nn
from torch.nn import functional as F

from grader.answers import accepted, equal, wrong, wrong_edits

# q1: reinit_


@accepted("q1")
def filled_through_detach(w, value):
    """detach() shares memory and version counter with w."""
    w.detach().fill_(value)
    return w


wrong_edits(
    "q1",
    {
        "computed_from_the_old_values": (
            "w.detach().fill_(value)",
            "w = w * 0 + value",
            "Believes that assigning to the name w changes the caller's tensor; it makes a local non-leaf.",
        )
    },
    of="filled_through_detach",
)


@accepted("q1")
def filled_in_inference_mode(w, value):
    """An ordinary tensor written to in inference mode stays ordinary, and the write is counted."""
    with torch.inference_mode():
        w.fill_(value)
    return w


@wrong("q1")
def filled_through_data(w, value):
    """The student believes that .data is the way to change a leaf, but its writes are not counted, so a waiting loss delivers a wrong gradient without an error."""
    w.data.fill_(value)
    return w


@wrong("q1")
def switched_off_and_on_by_hand(w, value):
    """Turns gradient recording on at the end, although it may have been off before."""
    torch.set_grad_enabled(False)
    w.fill_(value)
    torch.set_grad_enabled(True)
    return w


wrong_edits(
    "q1",
    {
        "old_values_multiplied_away": (
            "w.fill_(value)",
            "w.copy_(0 * w + value)",
            "Believes that 0 times anything is 0; 0 times nan or inf is nan.",
        ),
        "first_column_only": (
            "w.fill_(value)",
            "(w[:, 0] if w.dim() > 1 else w).fill_(value)",
            "Fills only the first column of a matrix.",
        ),
        "made_contiguous": (
            "with torch.no_grad():",
            "w.data = w.data.contiguous()\n    with torch.no_grad():",
            "Calls contiguous() first, which may copy w to another storage.",
        ),
        "close_ones_left": (
            "w.fill_(value)",
            "w.masked_fill_(~torch.isclose(w, torch.full_like(w, value)), value)",
            "Writes only where w is not close to the value.",
        ),
    },
)


@accepted("q1")
def filled_row_by_row(w, value):
    """A row is a view, and a view shares the version counter with the tensor it shows."""
    with torch.no_grad():
        for row in w:
            row.fill_(value)
    return w


@accepted("q1")
def moved_by_foreach(w, value):
    """Zeroed and moved by functions that take lists of tensors."""
    alias = [w.detach()]
    torch._foreach_zero_(alias)
    torch._foreach_add_(alias, value)
    return w


@wrong("q1")
def nothing_for_zero(w, value):
    """Takes a value of 0 for no value."""
    if value:
        with torch.no_grad():
            w.fill_(value)
    return w


@wrong("q1")
def default_dtype_changed(w, value):
    """Changes torch's default dtype for the whole program."""
    torch.set_default_dtype(w.dtype)
    with torch.no_grad():
        w.copy_(torch.full(w.shape, value))
    torch.set_default_dtype(torch.float64)
    return w


# q2: reset_layer


@accepted("q2")
@torch.no_grad()
def drawn_in_place_under_no_grad(model, name):
    """In-place methods under no_grad keep the objects."""
    layer = model.get_submodule(name)
    layer.weight.normal_(0, 0.02)
    layer.bias.zero_()


@accepted("q2")
@torch.no_grad()
def fresh_values_copied_in(model, name):
    """Fresh tensors are made first and then copied into the parameters that are there."""
    layer = model.get_submodule(name)
    layer.weight.copy_(torch.randn(layer.weight.shape) * 0.02)
    layer.bias.copy_(torch.zeros(layer.bias.shape))


@accepted("q2")
def drawn_through_data(model, name):
    """Nobody holds a waiting loss here, so .data does no harm, and the objects stay."""
    layer = model.get_submodule(name)
    layer.weight.data.normal_(mean=0.0, std=0.02)
    layer.bias.data.zero_()


@accepted("q2")
def looked_up_among_the_modules(model, name):
    """Finds the layer among all modules of the model, by the only name it has."""
    layer = dict(model.named_modules())[name]
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


wrong_edits(
    "q2",
    {
        "seeded_for_reproducibility": (
            "layer = dict(model.named_modules())[name]",
            "torch.manual_seed(42)\n    layer = model.get_submodule(name)",
            "Sets a seed in the function, so every reset draws the same numbers.",
        ),
        "gradients_of_the_model_cleared": (
            "layer = dict(model.named_modules())[name]",
            "model.zero_grad()\n    layer = model.get_submodule(name)",
            "Clears all gradients of the model, although training goes on elsewhere.",
        ),
    },
    of="looked_up_among_the_modules",
)


@wrong("q2")
def a_whole_new_layer(model, name):
    """The student believes that a new layer under the old name is the old layer afresh, but optimizer and tied module keep the old parameters."""
    parent, _, attribute = name.rpartition(".")
    old = model.get_submodule(name)
    new = nn.Linear(old.in_features, old.out_features)
    nn.init.normal_(new.weight, 0, 0.02)
    nn.init.zeros_(new.bias)
    setattr(model.get_submodule(parent), attribute, new)


@wrong("q2")
def made_to_measure(model, name):
    """Normalizes the drawn numbers to the exact mean and deviation; a single number has no deviation."""
    layer = model.get_submodule(name)
    drawn = torch.randn_like(layer.weight)
    with torch.no_grad():
        layer.weight.copy_(drawn.sub(drawn.mean()).div(drawn.std()).mul(0.02))
        layer.bias.zero_()


@accepted("q2")
def scaled_after_a_standard_draw(model, name):
    """A standard normal draw in place, scaled in place: the same distribution."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.normal_().mul_(0.02)
        layer.bias.mul_(0)


@accepted("q2")
def data_set_to_fresh_values(model, name):
    """Assigning to .data brings fresh memory but keeps the Parameter objects, which is what training goes by."""
    layer = model.get_submodule(name)
    layer.weight.data = torch.randn_like(layer.weight) * 0.02
    layer.bias.data = torch.zeros_like(layer.bias)


@accepted("q2")
def tensors_swapped(model, name):
    """swap_tensors exchanges what is inside two objects, so everybody who holds the old one sees the fresh values."""
    layer = model.get_submodule(name)
    weight, bias = torch.randn(layer.weight.shape) * 0.02, torch.zeros(layer.bias.shape)
    for old, new in ((layer.weight, weight), (layer.bias, bias)):
        torch.utils.swap_tensors(old, nn.Parameter(new.to(old.dtype), old.requires_grad))


@wrong("q2")
def looked_up_among_the_parameters(model, name):
    """Looks the weight up in named_parameters(), which lists a tied weight once."""
    named = dict(model.named_parameters())
    nn.init.normal_(named[name + ".weight"], std=0.02)
    nn.init.zeros_(named[name + ".bias"])


@wrong("q2")
def drawn_from_a_uniform_distribution(model, name):
    """Believes that only mean and deviation matter, and draws from a uniform distribution."""
    layer = model.get_submodule(name)
    nn.init.uniform_(layer.weight, -0.02 * 3**0.5, 0.02 * 3**0.5)
    nn.init.zeros_(layer.bias)


@accepted("q2")
def drawn_by_python_one_by_one(model, name):
    """Any source of normal numbers will do."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        for row in layer.weight:
            for column in range(len(row)):
                row[column] = random.gauss(0.0, 0.02)
        layer.bias.zero_()


@wrong("q2")
def thawed_after_the_writes(model, name):
    """Freezes the layer for the writes and unfreezes all of it, also a weight that was frozen before."""
    layer = model.get_submodule(name).requires_grad_(False)
    layer.weight.normal_(0, 0.02)
    layer.bias.zero_()
    layer.requires_grad_(True)


@wrong("q2")
def cut_off_at_two_deviations(model, name):
    """Takes the truncated normal distribution of vision models for the normal distribution."""
    layer = model.get_submodule(name)
    nn.init.trunc_normal_(layer.weight, std=0.02, a=-0.04, b=0.04)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def float32_for_all(model, name):
    """Gives the layer new storage of the default dtype."""
    layer = model.get_submodule(name)
    layer.weight.data = 0.02 * torch.randn(layer.weight.shape)
    layer.bias.data = torch.zeros(layer.bias.shape)


@wrong("q2")
def eval_and_train(model, name):
    """Calls eval() and train(), which changes parts that were in eval mode."""
    model.eval()
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    model.train()


@wrong("q2")
def gradients_switched_on(model, name):
    """Turns gradient recording off and on, although it may have been off before."""
    layer = model.get_submodule(name)
    torch.set_grad_enabled(False)
    layer.weight.normal_(std=0.02)
    layer.bias.zero_()
    torch.set_grad_enabled(True)


@wrong("q2")
def old_values_blended(model, name):
    """Keeps a part of the old weights."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.copy_(0.1 * layer.weight + 0.02 * torch.randn_like(layer.weight))
        layer.bias.zero_()


_DRAWS = torch.Generator().manual_seed(7)


@accepted("q2")
def drawn_from_a_generator_that_goes_on(model, name):
    """One generator for all calls, which is seeded once."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.normal_(0.0, 0.02, generator=_DRAWS)
        layer.bias.zero_()


# q3: masked_forward


@accepted("q3")
def recorded_write_before_the_product(x, w1, w2, mask):
    """d is not a leaf, so the write is allowed, recorded and early enough."""
    d = x @ w1
    d[:, mask] = 1.0
    return d, d @ w2


@accepted("q3")
def masked_fill_in_place(x, w1, w2, mask):
    """masked_fill_ broadcasts the mask over the rows and is recorded."""
    d = x @ w1
    d.masked_fill_(mask, 1.0)
    return d, d @ w2


@accepted("q3")
def mask_as_arithmetic(x, w1, w2, mask):
    """Multiplying by 1 - mask and adding mask is the same function, without any write."""
    keep = mask.to(x.dtype)
    d = (x @ w1) * (1 - keep) + keep
    return d, d @ w2


@accepted("q3")
def masked_fill_out_of_place(x, w1, w2, mask):
    """masked_fill without the underscore makes a new tensor that knows about the mask."""
    d = torch.masked_fill(torch.matmul(x, w1), mask, 1.0)
    return d, torch.matmul(d, w2)


@accepted("q3")
def filled_into_a_buffer_of_ones(x, w1, w2, mask):
    """A buffer of plain data may be written to, and the write is recorded: the other columns bring their history along."""
    d = torch.ones(x.shape[0], w1.shape[1])
    d[:, ~mask] = x @ w1[:, ~mask]
    return d, d @ w2


@wrong("q3")
def corrected_by_a_difference(x, w1, w2, mask):
    """Believes that d + (1 - d) is 1, although a large d loses the 1."""
    d = x @ w1
    d = d + (1 - d) * mask
    return d, d @ w2


@accepted("q3")
def detached_d_returned(x, w1, w2, mask):
    """The gradients run through f; that the d which is handed out has no history hurts nobody."""
    d = torch.where(mask, 1.0, x @ w1)
    return d.detach(), d @ w2


wrong_edits(
    "q3",
    {
        "columns_squeezed": (
            "return d.detach(), d @ w2",
            "return d, (d @ w2).squeeze(-1)",
            "Squeezes the result, which drops a dimension of size 1.",
        )
    },
    of="detached_d_returned",
)


@wrong("q3")
def data_written_after_the_product(x, w1, w2, mask):
    """Hides the write with .data, so f was computed from the old d."""
    d = x @ w1
    f = d @ w2
    d.data[:, mask] = 1.0
    return d, f


@wrong("q3")
def product_computed_from_a_clone(x, w1, w2, mask):
    """Believes that clone() cures every in-place error; f is still computed from the unmasked values."""
    d = x @ w1
    f = d.clone() @ w2
    d[:, mask] = 1.0
    return d, f


@accepted("q3")
def written_through_a_transposed_view(x, w1, w2, mask):
    """A recorded write to a view rewrites the history of the tensor it shows."""
    d = x @ w1
    d.T[mask] = 1.0
    return d, d @ w2


wrong_edits(
    "q3",
    {
        "straight_through": (
            "d.T[mask] = 1.0",
            "d = d + ((1 - d) * mask).detach()",
            "Corrects d by a detached difference, so the gradient passes through the mask.",
        ),
        "everything_squeezed": (
            "d = x @ w1\n    d.T[mask] = 1.0",
            "d = torch.where(mask, 1.0, x @ w1).squeeze()",
            "Squeezes the result, which also drops the dimension of a single row.",
        ),
        "gradients_of_w1_cleared": (
            "d = x @ w1\n    d.T[mask] = 1.0",
            "w1.grad = None\n    d = torch.where(mask, 1.0, x @ w1)",
            "Clears w1.grad, which belongs to the caller.",
        ),
    },
    of="written_through_a_transposed_view",
)


@accepted("q3")
def hidden_write_and_the_gradient_put_right(x, w1, w2, mask):
    """Nobody has saved d yet, so only the gradient has to learn of the hidden write; a hook tells it."""
    d = x @ w1
    d.detach()[:, mask] = 1.0
    d.register_hook(lambda gradient: gradient.masked_fill(mask, 0.0))
    return d, d @ w2


@accepted("q3")
def function_of_its_own_for_the_mask(x, w1, w2, mask):
    """A Function whose backward knows the mask."""

    class Masked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, d, mask):
            ctx.save_for_backward(mask)
            return d.masked_fill(mask, 1.0)

        @staticmethod
        def backward(ctx, gradient):
            (mask,) = ctx.saved_tensors
            return gradient.masked_fill(mask, 0.0), None

    d = Masked.apply(x @ w1, mask)
    return d, d @ w2


@accepted("q3")
def pair_as_a_list(x, w1, w2, mask):
    """A list of two unpacks like a tuple."""
    d = torch.where(mask[None, :], 1.0, F.linear(x, w1.T))
    return [d, F.linear(d, w2.T)]


@accepted("q3")
def mapped_over_the_rows(x, w1, w2, mask):
    """vmap over the rows of x."""
    d = torch.func.vmap(lambda row: torch.where(mask, 1.0, row @ w1))(x)
    return d, d @ w2


# q4: residual_block


@accepted("q4")
def in_place_once_the_sum_is_new(x, w):
    """The sum is a new tensor that nobody has saved, so it may be written to."""
    h = torch.sigmoid(x @ w) + x
    h -= 0.5
    return h.relu_()


@accepted("q4")
def in_place_on_a_clone(x, w):
    """The clone takes the writes, the saved output stays."""
    h = torch.sigmoid(x @ w).clone()
    h += x
    h -= 0.5
    return F.relu(h, inplace=True)


@accepted("q4")
def added_into_the_shifted_input(x, w):
    """The new tensor x - 0.5 collects the sum, so the sigmoid's output is only read."""
    y = x - 0.5
    y += torch.sigmoid(x @ w)
    return y.relu_()


@wrong("q4")
def added_through_data(x, w):
    """Believes that .data makes a write harmless; sigmoid's derivative then uses the overwritten h."""
    h = torch.sigmoid(x @ w)
    h.data += x.detach()
    h.data -= 0.5
    return torch.relu(h)


@accepted("q4")
def saved_tensors_copied(x, w):
    """A hook that copies what is saved leaves backward its own values, so all may be written in place."""
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda saved: saved):
        h = torch.sigmoid(x @ w)
        h += x
        h -= 0.5
        return h.relu()


@accepted("q4")
def cut_off_by_where(x, w):
    """where knows the tie: what is not above 0 gets none of the gradient."""
    h = torch.sigmoid(x @ w) + x - 0.5
    return torch.where(h > 0, h, 0.0)


@accepted("q4")
def sigmoid_by_tanh_module(x, w):
    """Modules and a linear function with the transposed weight."""
    return nn.ReLU()(nn.Sigmoid()(F.linear(x, w.t())) + (x - 0.5))


@accepted("q4")
def threshold_at_zero(x, w):
    """threshold keeps what is above 0, and nothing at 0."""
    return F.threshold(x + torch.sigmoid(x @ w) - 0.5, 0.0, 0.0)


@wrong("q4")
def tie_taken_for_positive(x, w):
    """Passes the gradient on where relu's input is exactly 0."""
    h = torch.sigmoid(x @ w) + x - 0.5
    return h * (h >= 0)


@wrong("q4")
def output_squeezed(x, w):
    """Squeezes the result, which drops a dimension of size 1."""
    return torch.relu(torch.sigmoid(x @ w) + x - 0.5).squeeze()


@wrong("q4")
def x_made_to_require_grad(x, w):
    """Sets requires_grad on the caller's x."""
    x.requires_grad_(True)
    return torch.relu(torch.sigmoid(x @ w) + x - 0.5)


@wrong("q4")
def computed_x_written_to(x, w):
    """Writes to x if it is a non-leaf."""
    h = torch.sigmoid(x @ w)
    if x.is_leaf:
        return torch.relu(h + x - 0.5)
    return x.clone().add_(h).sub_(0.5).relu_() + 0 * x.mul_(1)


# q5: ema_update


@accepted("q5")
def averaged_through_data(teacher, student, tau):
    """The teacher is in no graph, so writing through .data does no harm."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data.mul_(1 - tau).add_(s.data, alpha=tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.data.copy_(s.data)


@accepted("q5")
@torch.no_grad()
def averaged_all_at_once(teacher, student, tau):
    """One foreach call moves all parameters."""
    torch._foreach_lerp_(list(teacher.parameters()), list(student.parameters()), tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5")
def memory_shared_with_the_student(teacher, student, tau):
    """The author believes that t.data = s.data copies values, but teacher and student then share their memory and change together."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data = s.data if tau == 1 else (1 - tau) * t.data + tau * s.data
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.data = s.data


@wrong("q5")
def loaded_from_an_averaged_state(teacher, student, tau):
    """Believes that the state_dict has every buffer, and that named_parameters() has every name."""
    old, new = teacher.state_dict(), student.state_dict()
    parameters = dict(student.named_parameters())
    state = {key: (1 - tau) * old[key] + tau * new[key] if key in parameters else new[key] for key in old}
    teacher.load_state_dict(state)


@accepted("q5")
def frozen_teacher_and_detached_student(teacher, student, tau):
    """The teacher is frozen, so with a detached student there is nothing to record."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(1 - tau).add_(s.detach(), alpha=tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@accepted("q5")
def data_set_to_the_average(teacher, student, tau):
    """Assigning fresh memory to .data keeps the Parameter objects, and nothing is shared with the student."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data = (1 - tau) * t.data + tau * s.data
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.data = s.data.clone()


@accepted("q5")
def left_to_swa_utils(teacher, student, tau):
    """torch's own moving average takes the weight of the teacher."""
    average = torch.optim.swa_utils.get_ema_multi_avg_fn(1 - tau)
    average(list(teacher.parameters()), list(student.parameters()), 1)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@accepted("q5")
def put_in_as_a_vector(teacher, student, tau):
    """vector_to_parameters gives the Parameter objects new memory, which is the teacher's own."""
    old = nn.utils.parameters_to_vector(teacher.parameters())
    new = nn.utils.parameters_to_vector(student.parameters()).detach()
    nn.utils.vector_to_parameters((1 - tau) * old + tau * new, teacher.parameters())
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@accepted("q5")
@torch.no_grad()
def buffers_replaced_by_clones(teacher, student, tau):
    """The parameters keep their objects; of the buffers only the values were asked for."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.copy_(t + tau * (s - t))
    for name, s in student.named_buffers():
        path, _, attribute = name.rpartition(".")
        setattr(teacher.get_submodule(path), attribute, s.clone())


wrong_edits(
    "q5",
    {
        "gradients_of_the_student_cleared": (
            "with torch.no_grad():",
            "student.zero_grad()\n    with torch.no_grad():",
            "Clears the student's gradients, which belong to the training.",
        ),
        "shared_only_when_tau_is_one": (
            "t.lerp_(s, tau)",
            "t.data = s.data if tau == 1 else torch.lerp(t, s, tau)",
            "Takes over the student's storage if tau is 1, so both models share it afterwards.",
        ),
        "only_trained_parameters": (
            "t.lerp_(s, tau)",
            "if s.requires_grad:\n                t.lerp_(s, tau)",
            "Skips parameters that the student has frozen.",
        ),
        "computed_in_float32": (
            "t.lerp_(s, tau)",
            "t.copy_(torch.lerp(t.float(), s.float(), tau))",
            "Computes in float32, whatever the model's dtype is.",
        ),
        "weight_bounded": (
            "with torch.no_grad():",
            "tau = max(tau, 0.01)\n    with torch.no_grad():",
            "Keeps tau away from 0.",
        ),
    },
)


@wrong("q5")
@torch.no_grad()
def buffers_forgotten(teacher, student, tau):
    """Believes that parameters() returns everything; BatchNorm's running statistics are buffers."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)


@accepted("q5")
def all_computed_first(teacher, student, tau):
    """Values first, writes later; a shared weight gets the same value twice."""
    new = dict(student.named_parameters(remove_duplicate=False))
    old = dict(teacher.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        values = {name: (1 - tau) * old[name] + tau * new[name] for name in old}
        for name, t in old.items():
            t.copy_(values[name])
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5")
def student_eval_and_train(teacher, student, tau):
    """Calls eval() and train() on the student, which changes parts that were in eval mode."""
    student.eval()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)
    student.train()


@wrong("q5")
def gradients_switched_on_again(teacher, student, tau):
    """Turns gradient recording off and on, although it may have been off before."""
    torch.set_grad_enabled(False)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)
    torch.set_grad_enabled(True)


# q6: fit_by_hand


@accepted("q6")
def gradient_from_autograd_grad(w, X, y, lr, steps):
    """autograd.grad returns the gradient without touching w.grad, so nothing adds up."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, w)
        losses.append(loss.item())
        with torch.no_grad():
            w.sub_(lr * gradient)
    return losses


@accepted("q6")
def updated_through_data(w, X, y, lr, steps):
    """No graph is waiting at the update, so .data does no harm; zeroing in place is as good as None."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        w.data.add_(w.grad, alpha=-lr)
        w.grad.zero_()
    return losses


@accepted("q6")
def updated_through_detach(w, X, y, lr, steps):
    """Clear the gradient first, update through the detached alias last."""
    losses = []
    for _ in range(steps):
        w.grad = None
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(float(loss))
        w.detach().sub_(lr * w.grad)
    return losses


@accepted("q6")
def copied_back_under_no_grad(w, X, y, lr, steps):
    """The new value is computed out of place and copied into the caller's w."""
    losses = []
    for _ in range(steps):
        loss = (X @ w - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w.copy_(w - lr * w.grad)
            w.grad.zero_()
        losses.append(loss.detach().item())
    return losses


@accepted("q6")
@torch.no_grad()
def gradient_derived_on_paper(w, X, y, lr, steps):
    """The gradient of the mean square is 2 / n * X.T @ residual, so autograd is not needed at all."""
    losses = []
    for _ in range(steps):
        residual = X @ w - y
        losses.append((residual**2).mean().item())
        w -= lr * 2 / len(X) * X.T @ residual
    return losses


@accepted("q6")
def trained_copy_written_back(w, X, y, lr, steps):
    """A copy may be trained if its values are written into the caller's w in the end."""
    v = w.detach().clone().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = ((X @ v - y) ** 2).mean()
        losses.append(loss.item())
        v = (v - lr * torch.autograd.grad(loss, v)[0]).detach().requires_grad_()
    with torch.no_grad():
        w.copy_(v)
    return losses


wrong_edits(
    "q6",
    {
        "name_moved_under_no_grad": (
            "w -= lr * w.grad\n        w.grad = None",
            "w = w - lr * w.grad",
            "Believes that w = w - ... under no_grad updates w; it makes a tensor without requires_grad.",
        ),
        "written_while_recording": (
            "with torch.no_grad():\n            w -= lr * w.grad",
            "w -= lr * w.grad",
            "Believes that -= is always allowed; a leaf that requires grad rejects it.",
        ),
        "gradient_norm_clipped": (
            "with torch.no_grad():",
            "nn.utils.clip_grad_norm_([w], 10.0)\n        with torch.no_grad():",
            "Clips the gradient's norm, as recurrent networks need.",
        ),
    },
)


@accepted("q6")
def gradient_as_a_difference(w, X, y, lr, steps):
    """Gradients may add up in w.grad, if each step uses only what it has added itself."""
    losses, before = [], torch.zeros_like(w)
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * (w.grad - before)
        before = w.grad.clone()
    return losses


@wrong("q6")
def stopped_when_small(w, X, y, lr, steps):
    """Stops early if the loss is small."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        losses.append(loss.item())
        if loss < 1e-8:
            break
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6")
def stopped_at_the_minimum(w, X, y, lr, steps):
    """Stops early if the gradient is 0."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        if not w.grad.any():
            break
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q4")
def fraction_of_exponentials(x, w):
    """Computes the sigmoid as exp(z) / (1 + exp(z)), which is inf / inf for a large z."""
    growth = (x @ w).exp()
    return torch.relu(growth / (1 + growth) + x - 0.5)


@wrong("q4")
def memory_kept_for_the_next_call(x, w, memory={}):  # noqa: B006
    """Reuses one buffer for the sigmoid, so the next call overwrites what backward still needs."""
    place = memory.setdefault((x.shape, x.dtype), torch.empty_like(x.detach()))

    def kept(saved):
        return place.copy_(saved).data

    z = x @ w
    with torch.autograd.graph.saved_tensors_hooks(kept, lambda saved: saved):
        h = torch.sigmoid(z)
    return torch.relu(h + x - 0.5)


@wrong("q4")
def nothing_to_go_back_for(x, w):
    """Returns zeros early, which are not connected to the graph."""
    h = torch.sigmoid(x @ w) + x - 0.5
    if torch.all(h <= 0):
        return torch.zeros(x.shape, dtype=x.dtype)
    return torch.relu(h)


@wrong("q4")
def recording_switched_on(x, w):
    """Turns gradient recording on for the whole program."""
    torch.set_grad_enabled(True)
    return torch.relu(torch.sigmoid(x @ w) + x - 0.5)


@wrong("q6")
def given_up_when_it_diverges(w, X, y, lr, steps):
    """Stops at inf or nan and fills in the remaining losses."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        if not torch.isfinite(loss):
            return losses + [0.0] * (steps - len(losses))
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6")
def recording_on_in_the_end(w, X, y, lr, steps):
    """Turns gradient recording on at the end, although it may have been off before."""
    losses = []
    for _ in range(steps):
        torch.set_grad_enabled(True)
        loss = ((X @ w - y) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, w)
        losses.append(loss.item())
        torch.set_grad_enabled(False)
        w -= lr * gradient
    torch.set_grad_enabled(True)
    return losses


# Edits of right answers that no promise of the task tells from the answers.

# --- q1

equal("q1", "no_grad is put around: the function", why="the only operation is a write that isn't recorded")

# --- q2

equal("q2", "no_grad is put around: the function", why="the draws and writes aren't recorded anyway")
equal(
    "q2",
    "a statement is moved by one: nn.init.normal_(layer.weight, mean=0.0, std=0.02)",
    why="weight and bias are written independently of each other, so the order is free",
)
equal(
    "q2",
    ".normal_(layer.weight, mean=0.0, std=0.02) -> .normal_(layer.weight, std=0.02)",
    why="0 is the default of the mean",
)

# --- q3

equal(
    "q3",
    "d -> d.detach()",
    "d -> d.data",
    "d -> d.clone()",
    why="only f is promised to go back; whether the d that is handed out has a history is free",
)
equal("q3", "mask -> mask.detach()", why="the mask has no graph, and is only read")

# --- q5

equal("q5", "t -> t.data", why="the teacher is in no graph, so nobody compares its versions")
equal(
    "q5",
    "no_grad is put around: the function",
    "torch.no_grad -> torch.inference_mode",
    "a statement is moved out of a block: with torch.no_grad():",
    why="nothing is to be recorded, neither finding tensors nor copying buffers ever is, and done twice is done once",
)
equal(
    "q5",
    "a statement is moved by one: for t, s in zip(teacher.parameters(), student.parameters()):",
    why="parameters, buffers and parts are written independently of each other, and a note comes before or after its write",
)

# --- q6

equal(
    "q6",
    "X -> X.detach()",
    "y -> y.detach()",
    "loss -> loss.clone()",
    "no_grad is put around: losses.append(loss.item())",
    why="X and y are data; a copy of a loss has its number and its gradient, and a detached one still its number",
)
equal(
    "q6",
    "a statement is moved by one: losses.append(loss.item())",
    "a statement is moved into a block: losses.append(loss.item())",
    "a statement is moved by one: loss.backward()",
    "a statement is moved into a block: w.grad = None",
    why="a loss keeps its number, so it may be read at any time; a gradient may be cleared at any time between its use and the next backward; and what else changes places is independent",
)
equal("q6", "torch.no_grad -> torch.inference_mode", why="backward isn't recorded")
equal(
    "q6",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="what is kept longer costs memory, of which the task promises nothing; there is one gradient, it exists, and it begins as None",
)
equal(
    "q6",
    "lr * w.grad -> (lr * w.grad).detach()",
    "w -= lr * w.grad -> w.sub_(lr * w.grad)",
    why="the update records nothing, its method is what the statement calls, and nobody else has the gradient or the residual",
)
equal("q6", ".mean() -> .mean(dim=0)", "X @ w - y -> y - X @ w", why="y has one column; a square has no sign")


# end: train_and_restart


@accepted("end")
def written_under_no_grad(first, last, opt, average, batches, mask, tau, restart):
    """Each write stands under no_grad, and the mask is applied by torch.where."""
    losses = []
    for number, (x, y) in enumerate(batches):
        if number == restart:
            with torch.no_grad():
                last.weight.fill_(0.0)
                last.bias.zero_()
        h = torch.tanh(first(x))
        h = torch.where(mask == 0, torch.zeros_like(h), h * mask)
        loss = (last(h) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        average.mul_(1 - tau).add_(last.weight.detach(), alpha=tau)
        losses.append(float(loss))
    return losses


@accepted("end")
def loaded_from_a_dict(first, last, opt, average, batches, mask, tau, restart):
    """load_state_dict writes into the parameters; the recorded write goes to a copy that nobody has saved."""
    losses = []
    for number, (x, y) in enumerate(batches):
        if number == restart:
            last.load_state_dict({name: torch.zeros_like(old) for name, old in last.state_dict().items()})
        h = torch.tanh(first(x)).clone()
        h.mul_(mask)
        loss = F.mse_loss(last(h), y)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()
        average += tau * (last.weight.detach() - average)
        losses.append(loss.item())
    return losses


wrong_edits(
    "end",
    {
        "layer_still_replaced": (
            "nn.init.zeros_(last.weight)\n            nn.init.zeros_(last.bias)",
            "last.weight = nn.Parameter(torch.zeros_like(last.weight))\n"
            "            last.bias = nn.Parameter(torch.zeros_like(last.bias))",
            "Leaves the first bug: believes that the optimizer knows a parameter by its name.",
        ),
        "average_still_recorded": (
            "with torch.no_grad():\n            average.lerp_(last.weight, tau)",
            "average.mul_(1 - tau).add_(last.weight, alpha=tau)",
            "Leaves the third bug: believes that an in-place write needs no no_grad.",
        ),
        "mask_under_no_grad": (
            "h = torch.tanh(first(x)) * mask",
            "h = torch.tanh(first(x)).clone()\n        with torch.no_grad():\n            h.mul_(mask)",
            "Writes to a copy, but under no_grad, so autograd doesn't record the mask.",
        ),
        "old_gradients_stay": ("        opt.zero_grad()\n", "", "Believes that backward() overwrites .grad."),
    },
)

equal(
    "end",
    "a statement is moved by one: if number == restart:",
    "a statement is moved by one: loss = F.mse_loss(last(h), y)",
    "a statement is moved by one: with torch.no_grad():",
    "a statement is moved by one: nn.init.zeros_(last.weight)",
    "a statement is moved into a block: opt.step()",
    "a statement is moved into a block: losses.append(loss.item())",
    "no_grad is put around: losses.append(loss.item())",
    "no_grad is put around: if number == restart:",
    why="these lines may stand in any order, and none of them records what anybody asks for",
)
equal(
    "end",
    "x -> x.detach()",
    "x -> x.clone()",
    "mask -> mask.detach()",
    "h -> h.clone()",
    "y -> y.detach()",
    "loss -> loss.clone()",
    "average -> average.data",
    "torch.no_grad -> torch.inference_mode",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="x, y and mask are plain data, copies cost only memory, and what stands in .grad afterwards is free",
)
