"""Answers to 05_inplace_reinit whose verdict is known."""

import copy
import random

import torch
from torch import nn
from torch.nn import functional as F

from grader.answers import accepted, equal, wrong

# q1: reinit_


@accepted("q1")
def assigned_to_a_full_slice(w, value):
    """A slice assignment under no_grad writes to w itself, and is counted."""
    with torch.no_grad():
        w[:] = value
    return w


@accepted("q1")
def filled_through_detach(w, value):
    """detach() shares memory and version counter with w."""
    w.detach().fill_(value)
    return w


@accepted("q1")
def copied_from_a_full_tensor(w, value):
    """copy_ under no_grad is a counted write like any other."""
    with torch.no_grad():
        w.copy_(torch.full_like(w, value))
    return w


@accepted("q1")
def frozen_for_the_moment_of_the_write(w, value):
    """A leaf that does not require grad may be written to; afterwards it requires grad again."""
    w.requires_grad_(False)
    w.fill_(value)
    return w.requires_grad_(True)


@accepted("q1")
def initialised_by_nn_init(w, value):
    """The functions of nn.init write in place under no_grad."""
    return nn.init.constant_(w, value)


@accepted("q1")
@torch.no_grad()
def zeroed_and_added_in_a_decorated_function(w, value):
    """The decorator switches recording off for the call; two counted writes are as good as one."""
    w.zero_()
    w += value
    return w


@accepted("q1")
def filled_in_inference_mode(w, value):
    """An ordinary tensor written to in inference mode stays ordinary, and the write is counted."""
    with torch.inference_mode():
        w.fill_(value)
    return w


@accepted("q1")
def counted_by_hand_after_data(w, value):
    """Whoever writes through .data can count the write afterwards."""
    w.data.fill_(value)
    torch.autograd.graph.increment_version(w)
    return w


@accepted("q1")
def switched_off_and_on_by_hand(w, value):
    """What a with statement does can be done by hand, as long as the second half is not forgotten."""
    torch.set_grad_enabled(False)
    w.fill_(value)
    torch.set_grad_enabled(True)
    return w


@accepted("q1")
def detached_in_place_and_switched_on_again(w, value):
    """detach_() on a leaf only switches requires_grad off, and that can be undone."""
    return w.detach_().fill_(value).requires_grad_()


@wrong("q1", fails=["test_a_stale_loss_is_noticed"], public=True)
def filled_through_data(w, value):
    """The student believes that .data is the way to change a leaf, but its writes are not counted, so a waiting loss delivers a wrong gradient without an error."""
    w.data.fill_(value)
    return w


@wrong(
    "q1",
    fails=[
        "test_w_holds_the_value",
        "test_w_is_the_same_tensor",
        "test_w_still_trains",
        "test_a_stale_loss_is_noticed",
    ],
)
def a_new_leaf(w, value):
    """The student believes that returning a good new leaf is enough, but the caller's w keeps its old values."""
    return torch.full_like(w, value, requires_grad=True)


@wrong(
    "q1",
    fails=[
        "test_w_holds_the_value",
        "test_w_is_the_same_tensor",
        "test_w_still_trains",
        "test_a_stale_loss_is_noticed",
    ],
)
def computed_from_the_old_values(w, value):
    """The student believes that assigning to the name w changes the caller's tensor, but it makes a non-leaf that only the function knows."""
    w = w * 0 + value
    return w


@wrong("q1", fails=["test_w_still_trains"])
def frozen_and_never_thawed(w, value):
    """The student switches requires_grad off for the write and believes it comes back by itself, but w is never trained again."""
    w.requires_grad_(False)
    w.fill_(value)
    return w


@wrong("q1", fails=["test_a_stale_loss_is_noticed"], public=True)
def written_through_numpy(w, value):
    """The student believes that detach() makes any write visible, but NumPy writes to the memory without touching the version counter."""
    w.detach().numpy()[:] = value
    return w


@wrong("q1", fails=["test_w_is_the_same_tensor", "test_a_stale_loss_is_noticed"], public=True)
def data_replaced(w, value):
    """The student believes that assigning to w.data fills w, but it gives w other memory, which no view of w and no waiting loss notices."""
    w.data = torch.full_like(w, value)
    return w


@wrong("q1", fails=["test_w_holds_the_value", "test_w_still_trains", "test_a_stale_loss_is_noticed"])
def a_clone_filled(w, value):
    """The student clones to be safe and believes that the clone stands for w, but the write goes into a copy that is thrown away."""
    w.detach().clone().fill_(value)
    return w


@wrong("q1", fails=["test_w_still_trains"], public=True)
def gradients_left_switched_off(w, value):
    """The student believes that set_grad_enabled(False) holds for this function only, but it stays off for everything that follows."""
    torch.set_grad_enabled(False)
    w.fill_(value)
    return w


@wrong("q1", fails=["test_w_is_the_same_tensor"])
def alias_returned(w, value):
    """The student writes to the right memory and believes that the detached alias is w, but it does not require grad."""
    w = w.detach()
    w.fill_(value)
    return w


@wrong("q1", fails=["test_w_is_the_same_tensor"])
def return_forgotten(w, value):
    """The student believes that a function which writes in place has nothing to return, but the task asks for w."""
    with torch.no_grad():
        w.fill_(value)


@wrong("q1", fails=["test_w_is_the_same_tensor"], public=True)
def memory_exchanged_by_set_(w, value):
    """The student believes that set_() sets values, but it gives w other memory, and views of w keep the old one."""
    with torch.no_grad():
        w.set_(torch.full_like(w, value))
    return w


@wrong("q1", fails=["test_w_holds_the_value"])
def only_the_first_entry(w, value):
    """The student believes that w[0] = value fills w, but it fills the first entry or row."""
    with torch.no_grad():
        w[0] = value
    return w


@accepted("q1")
def filled_row_by_row(w, value):
    """A row is a view, and a view shares the version counter with the tensor it shows."""
    with torch.no_grad():
        for row in w:
            row.fill_(value)
    return w


@accepted("q1")
def drawn_between_equal_bounds(w, value):
    """From value to value there is only one number to draw."""
    return nn.init.uniform_(w, value, value)


@wrong(
    "q1",
    fails=[
        "test_w_holds_the_value",
        "test_w_is_the_same_tensor",
        "test_w_still_trains",
        "test_a_stale_loss_is_noticed",
    ],
)
def no_grad_called_and_forgotten(w, value):
    """Calls no_grad() as if it were a switch; without `with` the object is thrown away and nothing changes."""
    torch.no_grad()
    w.fill_(value)
    return w


@wrong("q1", fails=["test_w_is_the_same_tensor", "test_a_stale_loss_is_noticed"], public=True)
def spread_over_the_parameters(w, value):
    """vector_to_parameters sets .data, so w lies in other memory, and no counter has moved."""
    nn.utils.vector_to_parameters(torch.full((w.numel(),), value), [w])
    return w


@wrong("q1", fails=["test_a_stale_loss_is_noticed"], public=True)
def error_raised_by_hand(w, value):
    """Believes that any RuntimeError with the right words will do, and lets a hook raise it."""

    def refuse(gradient):
        raise RuntimeError("a value has been modified by an inplace operation")

    if w.dim() == 1:
        w.register_hook(refuse)
    w.data.fill_(value)
    return w


@wrong("q1", fails=["test_w_holds_the_value", "test_w_still_trains", "test_a_stale_loss_is_noticed"])
def returned_as_it_came(w, value):
    """Leaves w a leaf that trains, by leaving it alone."""
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
def drawn_through_detach(model, name):
    """detach() gives an alias that may be written to; the objects stay."""
    layer = model.get_submodule(name)
    layer.weight.detach().normal_(0, 0.02)
    layer.bias.detach().zero_()


@accepted("q2")
def loaded_from_a_fresh_state(model, name):
    """load_state_dict copies values into the existing parameters."""
    layer = model.get_submodule(name)
    weight = torch.randn(layer.weight.shape) * 0.02
    layer.load_state_dict({"weight": weight, "bias": torch.zeros(layer.bias.shape)})


@accepted("q2")
def drawn_through_data(model, name):
    """Nobody holds a waiting loss here, so .data does no harm, and the objects stay."""
    layer = model.get_submodule(name)
    layer.weight.data.normal_(mean=0.0, std=0.02)
    layer.bias.data.zero_()


def _init_linear(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        nn.init.constant_(module.bias, 0)


@accepted("q2")
def applied_an_initialiser(model, name):
    """Module.apply with an initialiser of one's own, on this layer only."""
    dict(model.named_modules())[name].apply(_init_linear)


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
    torch.utils.swap_tensors(layer.weight, nn.Parameter(torch.randn_like(layer.weight) * 0.02))
    torch.utils.swap_tensors(layer.bias, nn.Parameter(torch.zeros_like(layer.bias)))


@accepted("q2")
def truncated_far_out(model, name):
    """The bounds of trunc_normal_ are absolute; at a hundred standard deviations they cut nothing off."""
    layer = model.get_submodule(name)
    nn.init.trunc_normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


@accepted("q2")
def sampled_from_a_distribution(model, name):
    """A distribution object draws the same kind of numbers as normal_()."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.copy_(torch.distributions.Normal(0.0, 0.02).sample(layer.weight.shape))
        layer.bias.fill_(0.0)


@wrong(
    "q2",
    fails=[
        "test_parameters_are_the_same_objects",
        "test_fresh_values_are_trained",
        "test_tied_module_stays_tied",
    ],
)
def a_whole_new_layer(model, name):
    """The student believes that a new layer under the old name is the old layer afresh, but optimizer and tied module keep the old parameters."""
    parent, _, attribute = name.rpartition(".")
    old = model.get_submodule(name)
    new = nn.Linear(old.in_features, old.out_features)
    nn.init.normal_(new.weight, 0, 0.02)
    nn.init.zeros_(new.bias)
    setattr(model.get_submodule(parent), attribute, new)


@wrong(
    "q2",
    fails=[
        "test_parameters_are_the_same_objects",
        "test_fresh_values_are_trained",
        "test_tied_module_stays_tied",
        "test_values_are_drawn_as_asked",
        "test_other_layers_keep_their_values",
    ],
)
def drawn_while_recording(model, name):
    """The student believes that normal_() may be called on a parameter at any time, but while gradients are recorded a leaf refuses it."""
    layer = model.get_submodule(name)
    layer.weight.normal_(0, 0.02)
    layer.bias.zero_()


@wrong("q2", fails=["test_values_are_drawn_as_asked"])
def reset_parameters_called(model, name):
    """The student believes that reset_parameters() draws the values asked for, but it uses the default distribution of nn.Linear and the bias is not 0."""
    model.get_submodule(name).reset_parameters()


@wrong("q2", fails=["test_values_are_drawn_as_asked"], public=True)
def old_weights_scaled(model, name):
    """The student believes that small weights are fresh weights, but they are the old ones times 0.02."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.mul_(0.02)
        layer.bias.zero_()


@wrong("q2", fails=["test_values_are_drawn_as_asked"], public=True)
def variance_taken_for_deviation(model, name):
    """The student reads 0.02 as the variance and passes its root, but normal_ takes the standard deviation and the task names it."""
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, 0.0, 0.02**0.5)
    nn.init.zeros_(layer.bias)


@wrong("q2", fails=["test_values_are_drawn_as_asked"])
def bias_forgotten(model, name):
    """The student believes that re-initialising the weight resets the layer, but the bias keeps what it has learned."""
    nn.init.normal_(model.get_submodule(name).weight, 0.0, 0.02)


@wrong("q2", fails=["test_fresh_values_are_trained"])
def layer_left_frozen(model, name):
    """The student freezes the layer to get past the leaf rule and forgets to thaw it, so the fresh values never move."""
    layer = model.get_submodule(name).requires_grad_(False)
    layer.weight.normal_(0, 0.02)
    layer.bias.zero_()


@wrong(
    "q2",
    fails=[
        "test_parameters_are_the_same_objects",
        "test_fresh_values_are_trained",
        "test_tied_module_stays_tied",
    ],
)
def state_assigned_instead_of_copied(model, name):
    """The student believes that load_state_dict always copies, but with assign=True the layer gets new Parameter objects."""
    layer = model.get_submodule(name)
    state = {"weight": torch.randn(layer.weight.shape) * 0.02, "bias": torch.zeros(layer.bias.shape)}
    layer.load_state_dict(state, assign=True)


def _init_any_linear(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


@wrong("q2", fails=["test_other_layers_keep_their_values"], public=True)
def every_linear_layer_reset(model, name):
    """The student applies the initialiser to the whole model, but only one layer was to start afresh."""
    model.apply(_init_any_linear)


@wrong("q2", fails=["test_tied_module_stays_tied"], public=True)
def name_taken_for_an_attribute(model, name):
    """The student believes that getattr follows the dots of a name, but it looks for one attribute of that name."""
    layer = getattr(model, name)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


@wrong("q2", fails=["test_tied_module_stays_tied"], public=True)
def looked_up_among_the_parameters(model, name):
    """The student looks the weight up by its name, but named_parameters() lists a tied weight once, under its first name."""
    named = dict(model.named_parameters())
    nn.init.normal_(named[name + ".weight"], std=0.02)
    nn.init.zeros_(named[name + ".bias"])


@wrong("q2", fails=["test_values_are_drawn_as_asked"], public=True)
def drawn_from_a_uniform_distribution(model, name):
    """The student believes that mean and standard deviation are all that counts, but the weights were to be normal."""
    layer = model.get_submodule(name)
    nn.init.uniform_(layer.weight, -0.02 * 3**0.5, 0.02 * 3**0.5)
    nn.init.zeros_(layer.bias)


@wrong("q2", fails=["test_values_are_drawn_as_asked"], public=True)
def noise_added_to_the_old_weights(model, name):
    """The student believes that noise makes weights new, but the old ones are still below it."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight += 0.02 * torch.randn_like(layer.weight)
        layer.bias.zero_()


@wrong("q2", fails=["test_values_are_drawn_as_asked"], public=True)
def one_row_drawn_for_all(model, name):
    """The student draws one row, and copy_ broadcasts it without a word, so that all units of the layer are the same."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.copy_(0.02 * torch.randn(layer.in_features))
        layer.bias.zero_()


@wrong(
    "q2",
    fails=[
        "test_parameters_are_the_same_objects",
        "test_fresh_values_are_trained",
        "test_tied_module_stays_tied",
        "test_values_are_drawn_as_asked",
        "test_other_layers_keep_their_values",
    ],
)
def a_copy_of_the_layer_reset(model, name):
    """The student is afraid of spoiling the model and works on a deep copy, which nobody uses."""
    layer = copy.deepcopy(model.get_submodule(name))
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


@accepted("q2")
def looked_up_under_all_names(model, name):
    """With remove_duplicate=False a tied parameter is listed under each of its names."""
    for path, parameter in model.named_parameters(remove_duplicate=False):
        if path == f"{name}.weight":
            nn.init.normal_(parameter, std=0.02)
        elif path == f"{name}.bias":
            nn.init.zeros_(parameter)


@accepted("q2")
def drawn_by_python_one_by_one(model, name):
    """Any source of normal numbers will do."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        for row in layer.weight:
            for column in range(len(row)):
                row[column] = random.gauss(0.0, 0.02)
        layer.bias.zero_()


@wrong("q2", fails=["test_values_are_drawn_as_asked"], public=True)
def seeded_for_reproducibility(model, name):
    """Sets a seed in the function, so every reset gives every layer of a size the same numbers."""
    torch.manual_seed(42)
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


@wrong("q2", fails=["test_other_layers_keep_their_values"], public=True)
def every_layer_whose_name_ends_so(model, name):
    """Looks for the last part of the name, which layers elsewhere may have, too."""
    for path, module in model.named_modules():
        if path.endswith(name.rpartition(".")[2]) and isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)


@wrong("q2", fails=["test_fresh_values_are_trained"])
def gradients_left_off_after_the_reset(model, name):
    """Switches gradients off for the writes and forgets that the switch is global."""
    torch.set_grad_enabled(False)
    layer = model.get_submodule(name)
    layer.weight.normal_(std=0.02)
    layer.bias.zero_()


@wrong(
    "q2",
    fails=[
        "test_parameters_are_the_same_objects",
        "test_fresh_values_are_trained",
        "test_tied_module_stays_tied",
        "test_values_are_drawn_as_asked",
        "test_other_layers_keep_their_values",
    ],
)
def nothing_reset(model, name):
    """Keeps every object and every other layer, by doing nothing."""


@wrong("q2", fails=["test_tied_module_stays_tied"], public=True)
def untied_after_the_reset(model, name):
    """Gives every module that used the weight a copy of its own: equal values are not one weight."""
    layer = model.get_submodule(name)
    old = layer.weight
    nn.init.normal_(old, std=0.02)
    nn.init.zeros_(layer.bias)
    others = [m for m in model.modules() if m is not layer and getattr(m, "weight", None) is old]
    for module in [layer, *others] if others else []:
        module.weight = nn.Parameter(old.detach().clone())


@wrong("q2", fails=["test_fresh_values_are_trained"], public=True)
def model_left_in_eval_mode(model, name):
    """Believes that writing to a layer takes eval(), which switches nothing off for autograd; and leaves it so."""
    model.eval()
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


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
def recorded_write_to_a_clone(x, w1, w2, mask):
    """clone() is differentiable, so the path to w1 goes through it."""
    d = x @ w1
    masked = d.clone()
    masked[:, mask] = 1.0
    return masked, masked @ w2


@accepted("q3")
def columns_stacked(x, w1, w2, mask):
    """Column by column: a one where the mask is true, the product elsewhere."""
    columns = []
    for j, masked in enumerate(mask.tolist()):
        column = x @ w1[:, j]
        columns.append(torch.ones_like(column) if masked else column)
    d = torch.stack(columns, dim=1)
    return d, d @ w2


@accepted("q3")
def masked_weights_plus_mask(x, w1, w2, mask):
    """Zero the masked columns of w1 out of place and add the mask: the same d, the same gradients."""
    d = x @ w1.masked_fill(mask, 0.0) + mask
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


@accepted("q3")
def corrected_by_a_difference(x, w1, w2, mask):
    """d + (1 - d) is 1, and its derivative is 0."""
    d = x @ w1
    d = d + (1 - d) * mask
    return d, d @ w2


@accepted("q3")
def detached_d_returned(x, w1, w2, mask):
    """The gradients run through f; that the d which is handed out has no history hurts nobody."""
    d = torch.where(mask, 1.0, x @ w1)
    return d.detach(), d @ w2


@wrong("q3", fails=["test_masked_values_enter_the_product", "test_w1_gets_the_gradient_of_its_columns"])
def data_written_after_the_product(x, w1, w2, mask):
    """The student believes that .data repairs the error, but it only hides the write: f was computed from the old d, and gradients mix both."""
    d = x @ w1
    f = d @ w2
    d.data[:, mask] = 1.0
    return d, f


@wrong("q3", fails=["test_w1_gets_the_gradient_of_its_columns"], public=True)
def written_under_no_grad_before_the_product(x, w1, w2, mask):
    """The student gets the order right but hides the write, so w1 receives a gradient for columns it does not determine."""
    d = x @ w1
    with torch.no_grad():
        d[:, mask] = 1.0
    return d, d @ w2


@wrong("q3", fails=["test_w1_gets_the_gradient_of_its_columns"], public=True)
def written_through_detach_before_the_product(x, w1, w2, mask):
    """The student believes that detach() protects the gradient, but the hidden write leaves w1 a gradient for the masked columns."""
    d = x @ w1
    d.detach()[:, mask] = 1.0
    return d, d @ w2


@wrong("q3", fails=["test_w1_gets_the_gradient_of_its_columns"])
def all_of_d_detached(x, w1, w2, mask):
    """The student wants no gradient for the masked columns and detaches d, but that cuts off w1 altogether."""
    d = (x @ w1).detach()
    d[:, mask] = 1.0
    return d, d @ w2


@wrong(
    "q3",
    fails=[
        "test_masked_values_enter_the_product",
        "test_w1_gets_the_gradient_of_its_columns",
        "test_w2_gets_the_gradient_of_the_masked_d",
    ],
)
def product_computed_from_a_clone(x, w1, w2, mask):
    """The student believes that clone() cures every in-place error, but f is still computed from the values before the mask."""
    d = x @ w1
    f = d.clone() @ w2
    d[:, mask] = 1.0
    return d, f


@wrong(
    "q3",
    fails=[
        "test_masked_values_enter_the_product",
        "test_w1_gets_the_gradient_of_its_columns",
        "test_w2_gets_the_gradient_of_the_masked_d",
    ],
)
def mask_turned_round(x, w1, w2, mask):
    """The student believes that torch.where keeps its second argument where the mask is false, but it keeps it where the mask is true."""
    d = x @ w1
    d = torch.where(mask, d, torch.ones_like(d))
    return d, d @ w2


@wrong(
    "q3",
    fails=[
        "test_masked_values_enter_the_product",
        "test_w1_gets_the_gradient_of_its_columns",
        "test_w2_gets_the_gradient_of_the_masked_d",
    ],
)
def everything_overwritten(x, w1, w2, mask):
    """The student copies the example that writes to all of d, so every column is 1 and w1 never learns."""
    d = x @ w1
    d[:] = 1.0
    return d, d @ w2


@wrong(
    "q3",
    fails=[
        "test_masked_values_enter_the_product",
        "test_w1_gets_the_gradient_of_its_columns",
        "test_w2_gets_the_gradient_of_the_masked_d",
        "test_inputs_of_the_product_are_untouched",
    ],
)
def mask_used_on_the_rows(x, w1, w2, mask):
    """The student believes that d[mask] selects columns, but a mask in the first place selects rows."""
    d = x @ w1
    d[mask] = 1.0
    return d, d @ w2


@wrong("q3", fails=["test_w1_gets_the_gradient_of_its_columns"], public=True)
def straight_through(x, w1, w2, mask):
    """The student corrects d by a detached difference, and the gradient passes straight through the mask."""
    d = x @ w1
    d = d + ((1 - d) * mask).detach()
    return d, d @ w2


@wrong(
    "q3",
    fails=[
        "test_masked_values_enter_the_product",
        "test_w1_gets_the_gradient_of_its_columns",
        "test_w2_gets_the_gradient_of_the_masked_d",
    ],
)
def only_the_returned_d_masked(x, w1, w2, mask):
    """The student masks what is handed out and believes that f follows, but f was computed from the product itself."""
    d = x @ w1
    return torch.where(mask, torch.ones_like(d), d), d @ w2


@wrong(
    "q3",
    fails=[
        "test_w1_gets_the_gradient_of_its_columns",
        "test_inputs_of_the_product_are_untouched",
    ],
    public=True,
)
def columns_of_w1_zeroed(x, w1, w2, mask):
    """The student zeroes the masked columns of w1 in place, but w1 belongs to the caller and goes on being trained."""
    with torch.no_grad():
        w1[:, mask] = 0.0
    d = x @ w1 + mask
    return d, d @ w2


@wrong("q3", fails=["test_inputs_of_the_product_are_untouched"], public=True)
def mask_inverted_in_place(x, w1, w2, mask):
    """The student believes that the underscore does not matter for a mask, but it inverts the caller's mask."""
    d = x @ w1
    d = torch.where(mask.logical_not_(), d, torch.ones_like(d))
    return d, d @ w2


@wrong("q3", fails=["test_masked_values_enter_the_product", "test_w2_gets_the_gradient_of_the_masked_d"])
def masked_columns_zeroed(x, w1, w2, mask):
    """The student believes that masking means zeroing, but the columns were to be 1."""
    d = (x @ w1) * ~mask
    return d, d @ w2


@accepted("q3")
def written_through_a_transposed_view(x, w1, w2, mask):
    """A recorded write to a view rewrites the history of the tensor it shows."""
    d = x @ w1
    d.T[mask] = 1.0
    return d, d @ w2


@accepted("q3")
def hidden_write_and_the_gradient_put_right(x, w1, w2, mask):
    """Nobody has saved d yet, so only the gradient has to learn of the hidden write; a hook tells it."""
    d = x @ w1
    d.detach()[:, mask] = 1.0
    d.register_hook(lambda gradient: gradient.masked_fill(mask, 0.0))
    return d, d @ w2


@wrong("q3", fails=["test_masked_values_enter_the_product", "test_w2_gets_the_gradient_of_the_masked_d"])
def masked_columns_left_out(x, w1, w2, mask):
    """Takes masking for leaving out: the ones are in d, but not in the product."""
    d = (x @ w1).masked_fill(mask, 1.0)
    return d, d[:, ~mask] @ w2[~mask]


@wrong(
    "q3",
    fails=[
        "test_masked_values_enter_the_product",
        "test_w1_gets_the_gradient_of_its_columns",
        "test_w2_gets_the_gradient_of_the_masked_d",
    ],
)
def ones_added(x, w1, w2, mask):
    """Adds 1 where 1 was to take the place of the value."""
    d = x @ w1 + mask
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
def in_place_relu_module(x, w):
    """sub_ and an in-place ReLU work on the result of the addition."""
    return nn.ReLU(inplace=True)(torch.add(torch.sigmoid(x @ w), x).sub_(0.5))


@accepted("q4")
def all_out_of_place(x, w):
    """No write at all; clamp at 0 is a ReLU."""
    h = torch.sigmoid(torch.matmul(x, w))
    h = h + x
    h = h - 0.5
    return torch.clamp(h, min=0)


@accepted("q4")
def added_into_the_shifted_input(x, w):
    """The new tensor x - 0.5 collects the sum, so the sigmoid's output is only read."""
    y = x - 0.5
    y += torch.sigmoid(x @ w)
    return y.relu_()


@accepted("q4")
def sigmoid_written_out(x, w):
    """1 / (1 + exp(-z)) is the sigmoid, and h * (h > 0) a ReLU."""
    h = 1 / (1 + torch.exp(-(x @ w))) + x
    h -= 0.5
    return h * (h > 0)


@accepted("q4")
def added_into_a_clone_of_x(x, w):
    """The clone of x collects the sum; x and the sigmoid's output are only read."""
    y = x.clone()
    y += torch.sigmoid(x @ w)
    y -= 0.5
    return F.relu_(y)


@accepted("q4")
def added_to_the_shifted_sigmoid(x, w):
    """h - 0.5 is a new tensor, so what follows may be in place."""
    h = torch.sigmoid(x @ w)
    return (h - 0.5).add_(x).relu_()


@wrong("q4", fails=["test_block_has_the_gradients"], public=True)
def added_through_data(x, w):
    """The student believes that .data makes the write harmless, but the sigmoid's derivative is then computed from the overwritten h."""
    h = torch.sigmoid(x @ w)
    h.data += x.detach()
    h.data -= 0.5
    return torch.relu(h)


@wrong("q4", fails=["test_block_has_the_gradients"])
def added_under_no_grad(x, w):
    """The student believes that no_grad makes in-place writes safe, but the saved output has changed all the same, and the residual is not differentiated."""
    h = torch.sigmoid(x @ w)
    with torch.no_grad():
        h += x
        h -= 0.5
    return torch.relu(h)


@wrong("q4", fails=["test_block_has_the_gradients"])
def sigmoid_detached(x, w):
    """The student detaches the sigmoid to get rid of the error, and with it w loses its gradient."""
    h = torch.sigmoid(x @ w).detach()
    h = h + x - 0.5
    return torch.relu(h)


@wrong("q4", fails=["test_block_has_the_gradients", "test_inputs_of_the_block_are_untouched"])
def written_into_x(x, w):
    """The student spares h and adds into x instead, but x belongs to the caller, and the sigmoid no longer counts for the gradient."""
    h = torch.sigmoid(x @ w)
    x.detach().add_(h.detach() - 0.5)
    return torch.relu(h * 0 + x)


@wrong("q4", fails=["test_block_has_the_gradients"], public=True)
def residual_detached(x, w):
    """The student believes that the residual is only data and detaches it, so x loses the gradient of the shortcut."""
    h = torch.sigmoid(x @ w)
    return torch.relu(h + x.detach() - 0.5)


@wrong("q4", fails=["test_block_has_the_gradients"])
def the_wrong_tensor_cloned(x, w):
    """The student believes that cloning the summand helps, but it is the sigmoid's own output that is overwritten."""
    h = torch.sigmoid(x @ w)
    h += x.clone()
    h -= 0.5
    return torch.relu(h)


@wrong("q4", fails=["test_block_has_the_gradients"])
def only_the_relu_out_of_place(x, w):
    """The student blames relu_ alone, but the additions before it have already overwritten the saved output."""
    h = torch.sigmoid(x @ w)
    h.add_(x).sub_(0.5)
    return torch.relu(h)


@wrong("q4", fails=["test_block_has_the_gradients", "test_inputs_of_the_block_are_untouched"], public=True)
def shifted_in_the_memory_of_x(x, w):
    """The student believes that x is free once x @ w is computed, but the product has saved it, and it is the caller's."""
    h = torch.sigmoid(x @ w)
    x.data.sub_(0.5)
    return torch.relu(h + x)


@wrong("q4", fails=["test_block_has_the_gradients", "test_inputs_of_the_block_are_untouched"])
def x_borrowed_and_put_back(x, w):
    """The student believes that a write which is undone is no write, but backward compares versions, not values."""
    h = torch.sigmoid(x @ w)
    with torch.no_grad():
        old = x.clone()
        x -= 0.5
        x.copy_(old)
    return torch.relu(h + x - 0.5)


@wrong("q4", fails=["test_block_has_the_gradients"])
def only_the_shift_in_place(x, w):
    """The student believes that subtracting a constant is harmless because its derivative is 1, but it overwrites h all the same."""
    h = torch.sigmoid(x @ w)
    h -= 0.5
    return torch.relu(h + x)


@wrong("q4", fails=["test_block_has_the_values", "test_block_has_the_gradients"])
def shifted_after_the_relu(x, w):
    """The student believes that the order of shift and ReLU does not matter, but it decides where the ReLU cuts."""
    h = torch.sigmoid(x @ w) + x
    return h.relu_().sub_(0.5)


@wrong("q4", fails=["test_block_has_the_values", "test_block_has_the_gradients"])
def residual_inside_the_sigmoid(x, w):
    """The student adds before the sigmoid saves anything, which raises no error, but it is another function."""
    z = x @ w
    z += x
    return torch.relu(torch.sigmoid(z) - 0.5)


@wrong("q4", fails=["test_block_has_the_gradients"])
@torch.no_grad()
def nothing_recorded(x, w):
    """The student silences backward by recording nothing, but then there is no backward."""
    return torch.relu(torch.sigmoid(x @ w) + x - 0.5)


@accepted("q4")
def saved_tensors_copied(x, w):
    """A hook that copies what is saved leaves backward its own values, so all may be written in place."""
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda saved: saved):
        h = torch.sigmoid(x @ w)
        h += x
        h -= 0.5
        return h.relu()


@accepted("q4")
def in_the_memory_of_a_product(x, w):
    """tanh has saved its own output; the product and the sum after it are free to be written to."""
    h = 0.5 * (1 + torch.tanh((x @ w) / 2))
    h += x
    h -= 0.5
    return F.relu_(h)


@wrong("q4", fails=["test_block_has_the_gradients"])
def another_name_for_the_sigmoid(x, w):
    """Believes that `out = h` copies; it is a second name for what the sigmoid has saved."""
    h = torch.sigmoid(x @ w)
    out = h
    out += x
    out -= 0.5
    return out.relu()


@wrong("q4", fails=["test_block_has_the_gradients"], public=True)
def relu_without_its_derivative(x, w):
    """Has the right values by a difference that is detached, so what relu cuts off still gets a gradient."""
    h = torch.sigmoid(x @ w) + x - 0.5
    return h + (h.relu() - h).detach()


@wrong(
    "q4",
    fails=[
        "test_block_has_the_values",
        "test_block_has_the_gradients",
        "test_inputs_of_the_block_are_untouched",
    ],
)
def nothing_computed(x, w):
    """Does not write to x and w, and to nothing else either."""


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


@accepted("q5")
def loaded_from_an_averaged_state(teacher, student, tau):
    """The new state is computed from detached values, and load_state_dict copies it in."""
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
def written_through_the_state_dict(teacher, student, tau):
    """The tensors of a state_dict share the memory of the module's, so they can be written to."""
    parameters = {name for name, _ in teacher.named_parameters()}
    new = student.state_dict()
    for name, t in teacher.state_dict().items():
        if name in parameters:
            t.copy_((1 - tau) * t + tau * new[name])
        else:
            t.copy_(new[name])


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


@wrong("q5", fails=["test_no_memory_is_shared"], public=True)
def memory_shared_with_the_student(teacher, student, tau):
    """The author believes that t.data = s.data copies values, but teacher and student then share their memory and change together."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data = s.data if tau == 1 else (1 - tau) * t.data + tau * s.data
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.data = s.data


@wrong("q5", fails=["test_parameters_are_averaged"])
def weights_of_the_average_swapped(teacher, student, tau):
    """The author takes tau for the weight of the teacher, as some papers do, but here it is the student's."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, 1 - tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5", fails=["test_teacher_stays_plain_data"])
def fresh_parameters(teacher, student, tau):
    """The author believes that a new Parameter with the right values is the same thing, but everybody who held the old object has lost it, and the new one requires grad."""
    for (name, t), s in zip(list(teacher.named_parameters()), student.parameters()):
        path, _, attribute = name.rpartition(".")
        average = ((1 - tau) * t + tau * s).detach()
        setattr(teacher.get_submodule(path), attribute, nn.Parameter(average))
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.data.copy_(s)


@wrong("q5", fails=["test_student_goes_on"])
def student_updated_too(teacher, student, tau):
    """The author computes the average in the student's memory and copies it over, but that overwrites a model in the middle of its training."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            s.lerp_(t, 1 - tau)
            t.copy_(s)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5", fails=["test_teacher_stays_plain_data"])
def recorded_in_place(teacher, student, tau):
    """The author believes that writing in place leaves no history, but a recorded write with the student's weights draws the teacher into the graph."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(1 - tau).add_(s, alpha=tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5", fails=["test_buffers_are_copied"], public=True)
@torch.no_grad()
def buffers_forgotten(teacher, student, tau):
    """The author believes that parameters() is everything a module knows, but the running statistics of BatchNorm are buffers."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)


@wrong("q5", fails=["test_buffers_are_copied"], public=True)
@torch.no_grad()
def buffers_averaged_too(teacher, student, tau):
    """The author averages whatever is a floating point number, but buffers were to be taken over as they are."""
    new = student.state_dict()
    for name, t in teacher.state_dict().items():
        if t.is_floating_point():
            t.lerp_(new[name], tau)
        else:
            t.copy_(new[name])


@wrong("q5", fails=["test_parameters_are_averaged"])
@torch.no_grad()
def only_the_name_moved(teacher, student, tau):
    """The author believes that assigning to the loop variable changes the parameter, but it only gives the name t another tensor."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t = (1 - tau) * t + tau * s
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5", fails=["test_teacher_stays_plain_data"])
def teacher_thawed(teacher, student, tau):
    """The author believes that a Parameter has to require grad, but then an optimizer may train the teacher, too."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
            t.requires_grad_(True)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5", fails=["test_student_goes_on"], public=True)
def student_frozen_for_the_update(teacher, student, tau):
    """The author freezes the student so that nothing is recorded, and forgets that it is still to be trained."""
    student.requires_grad_(False)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(1 - tau).add_(s, alpha=tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5", fails=["test_teacher_stays_plain_data", "test_no_memory_is_shared"])
def averaged_state_assigned(teacher, student, tau):
    """The author believes that load_state_dict always copies, but assign=True brings in new parameters and the student's buffers."""
    old, new = teacher.state_dict(), student.state_dict()
    parameters = dict(student.named_parameters())
    state = {key: (1 - tau) * old[key] + tau * new[key] if key in parameters else new[key] for key in old}
    teacher.load_state_dict(state, assign=True)


@wrong("q5", fails=["test_student_goes_on"], public=True)
def gradients_left_off_after_the_update(teacher, student, tau):
    """The author switches gradients off for the update, and they stay off for the student's training as well."""
    torch.set_grad_enabled(False)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5", fails=["test_student_goes_on"], public=True)
@torch.no_grad()
def student_switched_to_eval(teacher, student, tau):
    """The author believes that a model must be in eval mode to be read, but the student then trains on in this mode."""
    student.eval()
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5", fails=["test_student_goes_on"], public=True)
@torch.no_grad()
def student_scaled_and_restored(teacher, student, tau):
    """The author scales the student in place and undoes it, but a loss that waits for its backward notices the writes."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(1 - tau).add_(s.mul_(tau))
        s.div_(tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5", fails=["test_parameters_are_averaged", "test_teacher_stays_plain_data"])
def computed_tensors_detached(teacher, student, tau):
    """The author detaches the computed tensors of the given code, but without a Parameter in it a module has nothing to train or to save."""
    for (name, t), s in zip(list(teacher.named_parameters()), student.parameters()):
        path, _, attribute = name.rpartition(".")
        module = teacher.get_submodule(path)
        del module._parameters[attribute]
        setattr(module, attribute, ((1 - tau) * t + tau * s).detach())
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@accepted("q5")
def a_step_of_plain_sgd(teacher, student, tau):
    """With teacher - student as its gradient and tau as learning rate, SGD moves the teacher as asked."""
    parameters = list(teacher.parameters())
    for t, s in zip(parameters, student.parameters()):
        t.grad = t - s.detach()
    torch.optim.SGD(parameters, lr=tau).step()
    for t in parameters:
        t.grad = None
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@accepted("q5")
def module_by_module(teacher, student, tau):
    """Each module owns its parameters and buffers; recurse=False lists these only."""
    with torch.no_grad():
        for mine, theirs in zip(teacher.modules(), student.modules()):
            for name, t in mine.named_parameters(recurse=False):
                t.lerp_(theirs.get_parameter(name), tau)
            for name, t in mine.named_buffers(recurse=False):
                t.copy_(theirs.get_buffer(name))


@wrong("q5", fails=["test_buffers_are_copied"], public=True)
def buffers_of_the_children_only(teacher, student, tau):
    """Looks for statistics one level down, and misses every module that lies deeper."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for mine, theirs in zip(teacher.children(), student.children()):
            if isinstance(mine, nn.BatchNorm1d):
                mine.load_state_dict(theirs.state_dict())


@wrong("q5", fails=["test_student_goes_on"], public=True)
def gradients_of_the_student_cleared(teacher, student, tau):
    """Begins with a zero_grad() that belongs to the training, where somebody may still be accumulating."""
    student.zero_grad()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5", fails=["test_no_memory_is_shared"], public=True)
def shared_only_when_tau_is_one(teacher, student, tau):
    """Takes the student's memory as a short cut for tau = 1, and from then on the two are one."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.data = s.data if tau == 1 else torch.lerp(t, s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong(
    "q5",
    fails=[
        "test_parameters_are_averaged",
        "test_buffers_are_copied",
        "test_teacher_stays_plain_data",
        "test_student_goes_on",
        "test_no_memory_is_shared",
    ],
)
def nothing_updated(teacher, student, tau):
    """Harms neither teacher nor student, and does nothing for them."""


@wrong("q5", fails=["test_no_memory_is_shared"], public=True)
def memory_shared_through_numpy(teacher, student, tau):
    """Goes through numpy, which copies nothing: another storage object, and the same memory."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        same = torch.from_numpy(s.detach().numpy())
        t.data = (1 - tau) * t.data + tau * s.data if tau < 1 else same
    with torch.no_grad():
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5", fails=["test_no_memory_is_shared"], public=True)
def buffers_shared_through_dlpack(teacher, student, tau):
    """Takes the student's buffers through dlpack, made for passing memory on without a copy."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.data = torch.from_dlpack(s)


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
def left_to_plain_sgd(w, X, y, lr, steps):
    """torch.optim.SGD without momentum is plain gradient descent, in place on the caller's w."""
    optimizer = torch.optim.SGD([w], lr=lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(X @ w, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
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
def gradient_of_a_function(w, X, y, lr, steps):
    """torch.func gives gradient and value of a function, and leaves .grad alone."""
    gradient_and_loss = torch.func.grad_and_value(lambda v: ((X @ v - y) ** 2).mean())
    losses = []
    for _ in range(steps):
        gradient, loss = gradient_and_loss(w.detach())
        losses.append(loss.item())
        w.detach().add_(gradient, alpha=-lr)
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


@accepted("q6")
def frozen_for_each_update(w, X, y, lr, steps):
    """A leaf that does not require grad may be written to, if it requires grad again in time."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, w)
        losses.append(loss.tolist())
        w.requires_grad_(False).sub_(lr * gradient).requires_grad_(True)
    return losses


@wrong("q6", fails=["test_w_arrives", "test_w_stays_a_leaf_in_its_memory"])
def a_new_leaf_every_step(w, X, y, lr, steps):
    """The student makes each new w a leaf again and believes it is the caller's, but all that is trained is a copy."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        w = (w - lr * w.grad).detach().requires_grad_()
    return losses


@wrong(
    "q6",
    fails=[
        "test_w_arrives",
        "test_w_stays_a_leaf_in_its_memory",
        "test_losses_are_those_of_descent",
    ],
)
def name_moved_under_no_grad(w, X, y, lr, steps):
    """The student believes that no_grad turns w = w - ... into an update, but it makes a new tensor that does not even require grad."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w = w - lr * w.grad
    return losses


@wrong(
    "q6",
    fails=[
        "test_w_arrives",
        "test_w_stays_a_leaf_in_its_memory",
        "test_losses_are_those_of_descent",
    ],
)
def written_while_recording(w, X, y, lr, steps):
    """The student believes that -= is always allowed, but a leaf that requires grad refuses it while gradients are recorded."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        w -= lr * w.grad
        w.grad = None
    return losses


@wrong(
    "q6",
    fails=[
        "test_w_arrives",
        "test_w_stays_a_leaf_in_its_memory",
        "test_losses_are_those_of_descent",
    ],
)
def forward_under_no_grad_too(w, X, y, lr, steps):
    """The student puts the whole step under no_grad, but then the loss has no graph and backward() fails."""
    losses = []
    for _ in range(steps):
        with torch.no_grad():
            loss = ((X @ w - y) ** 2).mean()
            loss.backward()
            losses.append(loss.item())
            w -= lr * w.grad
    return losses


@wrong("q6", fails=["test_w_arrives", "test_losses_are_those_of_descent"], public=True)
def gradients_added_up(w, X, y, lr, steps):
    """The student believes that backward() overwrites .grad, but it adds, so every step uses all gradients so far."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * w.grad
    return losses


@wrong("q6", fails=["test_w_arrives", "test_w_stays_a_leaf_in_its_memory"])
def a_detached_copy_trained(w, X, y, lr, steps):
    """The student believes that working on a clean copy is safer, but the caller's w never learns of it."""
    v = w.detach().clone().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = ((X @ v - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            v -= lr * v.grad
        v.grad = None
    return losses


@wrong("q6", fails=["test_losses_are_those_of_descent"])
def losses_measured_after_the_update(w, X, y, lr, steps):
    """The student believes it does not matter when the loss is measured, but the curve then lacks its start and ends one step late."""
    losses = []
    for _ in range(steps):
        ((X @ w - y) ** 2).mean().backward()
        with torch.no_grad():
            w -= lr * w.grad
            losses.append(((X @ w - y) ** 2).mean().item())
        w.grad = None
    return losses


@wrong("q6", fails=["test_losses_are_those_of_descent"], public=True)
def losses_kept_as_tensors(w, X, y, lr, steps):
    """The student appends the loss tensors and believes they are numbers, but each of them holds on to a graph."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss)
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6", fails=["test_w_stays_a_leaf_in_its_memory"], public=True)
def data_exchanged_every_step(w, X, y, lr, steps):
    """The student believes that assigning to w.data is an update in place, but each time w gets other memory."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        w.data = w.data - lr * w.grad
        w.grad = None
    return losses


@wrong("q6", fails=["test_losses_are_those_of_descent"])
def last_loss_appended(w, X, y, lr, steps):
    """The student also wants the loss after the last update, but one loss for each step was asked for."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return [*losses, ((X @ w - y) ** 2).mean().item()]


@wrong("q6", fails=["test_w_arrives", "test_losses_are_those_of_descent"])
def sum_instead_of_mean(w, X, y, lr, steps):
    """The student believes that sum and mean differ in nothing but the number shown, but the gradient grows by the same factor."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).sum()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6", fails=["test_w_stays_a_leaf_in_its_memory"], public=True)
def gradients_off_after_the_last_step(w, X, y, lr, steps):
    """The student switches gradients on before each step and off after it, and leaves them off in the end."""
    losses = []
    for _ in range(steps):
        torch.set_grad_enabled(True)
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        torch.set_grad_enabled(False)
        w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6", fails=["test_w_stays_a_leaf_in_its_memory"], public=True)
def frozen_after_the_last_step(w, X, y, lr, steps):
    """The student freezes w for every update and thaws it only before the next, so in the end it stays frozen."""
    losses = []
    for _ in range(steps):
        w.requires_grad_(True)
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        w.requires_grad_(False)
        w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6", fails=["test_losses_are_those_of_descent"])
def losses_not_returned(w, X, y, lr, steps):
    """The student believes that the trained w is all that is wanted, but the losses were to be returned."""
    for _ in range(steps):
        ((X @ w - y) ** 2).mean().backward()
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None


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


@accepted("q6")
def updated_in_inference_mode(w, X, y, lr, steps):
    """A normal tensor may be written to in inference mode; the write is not recorded."""
    losses = []
    for _ in range(steps):
        loss = F.mse_loss(X @ w, y)
        (gradient,) = torch.autograd.grad(loss, w)
        losses.append(float(loss))
        with torch.inference_mode():
            w.sub_(gradient, alpha=lr)
    return losses


@wrong("q6", fails=["test_w_arrives", "test_losses_are_those_of_descent"])
def cleared_before_the_update(w, X, y, lr, steps):
    """Clears the gradient at the wrong moment, between backward() and the update that needs it."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        w.grad.zero_()
        with torch.no_grad():
            w -= lr * w.grad
    return losses


@wrong("q6", fails=["test_w_arrives", "test_losses_are_those_of_descent"])
def one_update_for_each_sample(w, X, y, lr, steps):
    """Confuses gradient descent with its stochastic variant, which moves w after every sample."""
    losses = []
    for _ in range(steps):
        losses.append(((X @ w - y) ** 2).mean().item())
        for i in range(len(X)):
            ((X[i : i + 1] @ w - y[i : i + 1]) ** 2).mean().backward()
            with torch.no_grad():
                w -= lr * w.grad
            w.grad = None
    return losses


@wrong("q6", fails=["test_w_arrives", "test_losses_are_those_of_descent"])
def with_momentum(w, X, y, lr, steps):
    """Adds momentum, because SGD is always used with it; the first step is the same, the others are not."""
    optimizer = torch.optim.SGD([w], lr=lr, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@wrong(
    "q6",
    fails=[
        "test_w_arrives",
        "test_w_stays_a_leaf_in_its_memory",
        "test_losses_are_those_of_descent",
    ],
)
def w_left_alone(w, X, y, lr, steps):
    """Leaves w where it is, and so in its memory."""


# Edits of right answers that no promise of the task tells from the answers.

# --- q1

equal(
    "q1",
    "no_grad is put around: the function",
    why="all that is done is a write, which is not to be recorded",
)
equal("q1", "torch.no_grad -> torch.inference_mode", why="nothing is made in the block that could be kept")
equal(
    "q1",
    "w += value -> w.add_(value)",
    why="the method is what the statement calls",
    answers=["zeroed_and_added_in_a_decorated_function"],
)
equal(
    "q1",
    "w -> w.data",
    why="the write that follows is counted",
    answers=["zeroed_and_added_in_a_decorated_function"],
)
equal(
    "q1",
    "w -> w.detach()",
    why="the alias shares memory and version with w, and nobody keeps it",
    answers=["frozen_for_the_moment_of_the_write", "switched_off_and_on_by_hand"],
)
equal(
    "q1",
    "w.data -> w.detach()",
    "a statement is moved by one: w.data.fill_(value)",
    why="the version has risen when the function returns; nobody asks how far",
    answers=["counted_by_hand_after_data"],
)

# --- q4

equal(
    "q4",
    "h += x -> h = h + x",
    "h += x -> h.add_(x)",
    "h -= 0.5 -> h = h - 0.5",
    "h -= 0.5 -> h.sub_(0.5)",
    "h = h - 0.5 -> h -= 0.5",
    "y += torch.sigmoid(x @ w) -> y = y + torch.sigmoid(x @ w)",
    "y += torch.sigmoid(x @ w) -> y.add_(torch.sigmoid(x @ w))",
    "y -= 0.5 -> y = y - 0.5",
    "y -= 0.5 -> y.sub_(0.5)",
    "(h - 0.5).add_ -> (h - 0.5).add",
    "(h - 0.5).add_(x).relu_ -> (h - 0.5).add_(x).relu",
    "torch.add(torch.sigmoid(x @ w), x).sub_ -> torch.add(torch.sigmoid(x @ w), x).sub",
    "h.relu_ -> h.relu",
    "h.relu -> h.relu_",
    "y.relu_ -> y.relu",
    ".relu(h, inplace=True) -> .relu(h)",
    ".ReLU(inplace=True) -> .ReLU()",
    "True -> False",
    why="in place or not is free where nobody needs the former values, and no node needs these",
)
equal(
    "q4",
    "(h - 0.5).add_(x) -> (h - 0.5).add_(x).clone()",
    "(h - 0.5).add_(x).relu_() -> (h - 0.5).add_(x).relu_().clone()",
    "torch.add(torch.sigmoid(x @ w), x).sub_(0.5) -> torch.add(torch.sigmoid(x @ w), x).sub_(0.5).clone()",
    "F.relu_(h) -> F.relu_(h).clone()",
    "F.relu_(y) -> F.relu_(y).clone()",
    "h.relu_() -> h.relu_().clone()",
    "y.relu_() -> y.relu_().clone()",
    "h -> h.clone()",
    "x -> x.clone()",
    "y -> y.clone()",
    why="one copy more has the same values and the same gradients",
)
equal(
    "q4",
    "no_grad is put around: h -= 0.5",
    "no_grad is put around: y -= 0.5",
    why="the derivative of a difference to a constant is 1, as if nothing had happened",
)
equal(
    "q4",
    "a statement is moved by one: h += x",
    "a statement is moved by one: h = h + x",
    "a statement is moved by one: y += torch.sigmoid(x @ w)",
    why="a sum has no order",
)
equal(
    "q4",
    "saved -> saved.clone()",
    "saved -> saved.data",
    "saved -> saved.detach()",
    "a statement is moved out of a block: with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda saved: saved):",
    why="backward only reads what it unpacks, and only the sigmoid has to save inside of the block",
)
