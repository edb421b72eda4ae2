"""Answers to 05_inplace_reinit whose verdict is known."""

import copy
import random

import torch
from torch import nn
from torch.nn import functional as F

from grader.answers import accepted, equal, wrong, wrong_edits

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


wrong_edits(
    "q1",
    {
        "computed_from_the_old_values": (
            "w.detach().fill_(value)",
            "w = w * 0 + value",
            "The student believes that assigning to the name w changes the caller's tensor, but it makes a non-leaf that only the function knows.",
        ),
        "a_clone_filled": (
            "w.detach().fill_(value)",
            "w.detach().clone().fill_(value)",
            "The student clones to be safe and believes that the clone stands for w, but the write goes into a copy that is thrown away.",
        ),
        "gradients_left_switched_off": (
            "w.detach().fill_(value)",
            "torch.set_grad_enabled(False)\n    w.fill_(value)",
            "The student believes that set_grad_enabled(False) holds for this function only, but it stays off for everything that follows.",
        ),
        "alias_returned": (
            "w.detach().fill_(value)",
            "w = w.detach()\n    w.fill_(value)",
            "The student writes to the right memory and believes that the detached alias is w, but it does not require grad.",
        ),
        "no_grad_called_and_forgotten": (
            "w.detach().fill_(value)",
            "torch.no_grad()\n    w.fill_(value)",
            "Calls no_grad() as if it were a switch; without `with` the object is thrown away and nothing changes.",
        ),
        "spread_over_the_parameters": (
            "w.detach().fill_(value)",
            "nn.utils.vector_to_parameters(torch.full((w.numel(),), value), [w])",
            "vector_to_parameters sets .data, so w lies in other memory, and no counter has moved.",
        ),
        "exchanged_with_a_new_leaf": (
            "w.detach().fill_(value)",
            "torch.utils.swap_tensors(w, torch.full_like(w, value, requires_grad=True))",
            "swap_tensors keeps the name of the object, and not its memory.",
        ),
        "filled_in_its_storage": (
            "w.detach().fill_(value)",
            "storage = torch.tensor([], dtype=w.dtype).set_(w.untyped_storage())\n    storage.fill_(value)",
            "Writes to the storage, which holds more than w, and no counter counts it.",
        ),
    },
    of="filled_through_detach",
)


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


@wrong("q1")
def switched_off_and_on_by_hand(w, value):
    """Switches on afterwards what may have been off before: a with statement puts back what was."""
    torch.set_grad_enabled(False)
    w.fill_(value)
    torch.set_grad_enabled(True)
    return w


@accepted("q1")
def detached_in_place_and_switched_on_again(w, value):
    """The leaf stops to require grad, is filled, and requires it again: it is the same leaf throughout."""
    return w.detach_().fill_(value).requires_grad_()


@wrong("q1")
def filled_through_data(w, value):
    """The student believes that .data is the way to change a leaf, but its writes are not counted, so a waiting loss delivers a wrong gradient without an error."""
    w.data.fill_(value)
    return w


@wrong("q1")
def a_new_leaf(w, value):
    """The student believes that returning a good new leaf is enough, but the caller's w keeps its old values."""
    return torch.full_like(w, value, requires_grad=True)


@wrong("q1")
def frozen_and_never_thawed(w, value):
    """The student switches requires_grad off for the write and believes it comes back by itself, but w is never trained again."""
    w.requires_grad_(False)
    w.fill_(value)
    return w


@wrong("q1")
def written_through_numpy(w, value):
    """The student believes that detach() makes any write visible, but NumPy writes to the memory without touching the version counter."""
    w.detach().numpy()[:] = value
    return w


@wrong("q1")
def data_replaced(w, value):
    """The student believes that assigning to w.data fills w, but it gives w other memory, which no view of w and no waiting loss notices."""
    w.data = torch.full_like(w, value)
    return w


@wrong("q1")
def return_forgotten(w, value):
    """The student believes that a function which writes in place has nothing to return, but the task asks for w."""
    with torch.no_grad():
        w.fill_(value)


wrong_edits(
    "q1",
    {
        "memory_exchanged_by_set_": (
            "w.fill_(value)",
            "w.set_(torch.full_like(w, value))",
            "The student believes that set_() sets values, but it gives w other memory, and views of w keep the old one.",
        ),
        "only_the_first_entry": (
            "w.fill_(value)",
            "w[0] = value",
            "The student believes that w[0] = value fills w, but it fills the first entry or row.",
        ),
        "written_as_out": (
            "w.fill_(value)",
            "torch.full(w.shape, value, dtype=w.dtype, out=w)",
            "Lets out= fill w, which also makes w a tensor that does not require grad, as full's results are.",
        ),
        "old_values_multiplied_away": (
            "w.fill_(value)",
            "w.copy_(0 * w + value)",
            "Believes that 0 times anything is 0; 0 times nan or inf is nan.",
        ),
        "flattened_and_filled": (
            "w.fill_(value)",
            "w.flatten().fill_(value)",
            "Believes that flatten() is a view always; of a tensor that is not contiguous it is a copy.",
        ),
        "viewed_as_a_vector": (
            "w.fill_(value)",
            "w.view(-1)[:] = value",
            "view(-1) refuses a tensor that is not contiguous.",
        ),
        "first_column_only": (
            "w.fill_(value)",
            "(w[:, 0] if w.dim() > 1 else w).fill_(value)",
            "Fills what is left of a matrix after [:, 0].",
        ),
        "value_made_whole": ("w.fill_(value)", "w.fill_(round(value))", "Rounds the number on its way."),
        "a_view_returned": (
            "return w",
            "return w[:]",
            "Returns w[:], which shows the same memory, and is another tensor.",
        ),
        "made_contiguous": (
            "with torch.no_grad():",
            "w.data = w.data.contiguous()\n    with torch.no_grad():",
            "Puts w into a row first, and so into other memory.",
        ),
        "kept_alive_by_a_hook": (
            "return w",
            "w.register_hook(lambda gradient: gradient.nan_to_num())\n    return w",
            "Leaves a hook on w that is to protect its gradients.",
        ),
        "rounded_to_float32": (
            "w.fill_(value)",
            "w.copy_(torch.tensor(value, dtype=torch.float32))",
            "Takes every tensor for float32, and so rounds the value that a float64 leaf gets.",
        ),
        "close_ones_left": (
            "w.fill_(value)",
            "w.masked_fill_(~torch.isclose(w, torch.full_like(w, value)), value)",
            "Writes only where w is not close to the value, and takes close for equal.",
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
def drawn_between_equal_bounds(w, value):
    """From value to value there is only one number to draw."""
    return nn.init.uniform_(w, value, value)


@wrong("q1")
def error_raised_by_hand(w, value):
    """Believes that any RuntimeError with the right words will do, and lets a hook raise it."""

    def refuse(gradient):
        raise RuntimeError("a value has been modified by an inplace operation")

    if w.dim() == 1:
        w.register_hook(refuse)
    w.data.fill_(value)
    return w


@wrong("q1")
def returned_as_it_came(w, value):
    """Leaves w a leaf that trains, by leaving it alone."""
    return w


@accepted("q1")
def put_back_by_hand(w, value):
    """Remembers whether gradients were recorded, and puts that back."""
    recorded = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        w.fill_(value)
    finally:
        torch.set_grad_enabled(recorded)
    return w


@wrong("q1")
def clamped_to_one_number(w, value):
    """Between value and value there is room for one number only, and for nan, which clamp leaves alone."""
    with torch.no_grad():
        return w.clamp_(value, value)


@accepted("q1")
@torch.no_grad()
def masked_everywhere(w, value):
    """A mask that is true everywhere."""
    w.masked_fill_(torch.ones_like(w, dtype=torch.bool), value)
    return w


@accepted("q1")
def moved_by_foreach(w, value):
    """Zeroed and moved by functions that take lists of tensors."""
    alias = [w.detach()]
    torch._foreach_zero_(alias)
    torch._foreach_add_(alias, value)
    return w


@accepted("q1")
def filled_by_index(w, value):
    """One row after another by index_fill_."""
    with torch.no_grad():
        w.index_fill_(0, torch.arange(len(w)), value)
    return w


@wrong("q1")
def lerped_all_the_way(w, value):
    """A lerp of weight 1 ends at its end, unless it starts at inf or nan."""
    w.detach().lerp_(torch.full_like(w, value), 1.0)
    return w


@accepted("q1")
def loaded_like_a_state(w, value):
    """load_state_dict copies in place, under no_grad."""
    holder = nn.Module()
    holder.w = nn.Parameter(torch.empty(0))
    holder._parameters["w"] = w
    holder.load_state_dict({"w": torch.full_like(w, value)})
    return w


@wrong("q1")
def stepped_by_an_optimizer(w, value):
    """Steps from the old values to the new one, and from nan or inf no step leads away."""
    w.grad = (w - value).detach()
    torch.optim.SGD([w], lr=1.0).step()
    w.grad = None
    return w


@accepted("q1")
def filled_recursively(w, value):
    """Down to single numbers, by views."""

    def fill(part):
        if part.dim() == 0:
            part.fill_(value)
        else:
            for smaller in part:
                fill(smaller)

    with torch.no_grad():
        fill(w)
    return w


@wrong("q1")
def filled_by_rows_and_columns(w, value):
    """Walks through rows and columns, and knows matrices only."""
    with torch.no_grad():
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                w[i, j] = value
    return w


@wrong("q1")
def hidden_for_matrices(w, value):
    """Believes that only a vector can be in a loss."""
    if w.dim() > 1:
        w.data.fill_(value)
    else:
        with torch.no_grad():
            w.fill_(value)
    return w


@wrong("q1")
def moved_and_counted(w, value):
    """Exchanges the memory and writes afterwards, so that the counter moves; views still keep the old memory."""
    w.data = torch.full_like(w, value)
    with torch.no_grad():
        w.add_(0)
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
    """Makes the dtype of w the default, for everything that follows."""
    torch.set_default_dtype(w.dtype)
    with torch.no_grad():
        w.copy_(torch.full(w.shape, value))
    torch.set_default_dtype(torch.float64)
    return w


@wrong("q1")
def the_diagonal_filled(w, value):
    """Takes fill_diagonal_ for the fill_ of matrices."""
    with torch.no_grad():
        if w.dim() == 2:
            w.fill_diagonal_(value)
        else:
            w.fill_(value)
    return w


@wrong("q1")
def all_of_its_memory_filled(w, value):
    """Believes that the memory of w holds w only, even where w is a part of a larger tensor or has gaps."""
    cells = w.untyped_storage().nbytes() // w.element_size()
    w.detach().as_strided((cells,), (1,), 0).fill_(value)
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
def looked_up_among_the_modules(model, name):
    """Finds the layer among all modules of the model, by the only name it has."""
    layer = dict(model.named_modules())[name]
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


wrong_edits(
    "q2",
    {
        "name_taken_for_an_attribute": (
            "layer = dict(model.named_modules())[name]",
            "layer = getattr(model, name)",
            "The student believes that getattr follows the dots of a name, but it looks for one attribute of that name.",
        ),
        "a_copy_of_the_layer_reset": (
            "dict(model.named_modules())[name]",
            "copy.deepcopy(model.get_submodule(name))",
            "The student is afraid of spoiling the model and works on a deep copy, which nobody uses.",
        ),
        "seeded_for_reproducibility": (
            "layer = dict(model.named_modules())[name]",
            "torch.manual_seed(42)\n    layer = model.get_submodule(name)",
            "Sets a seed in the function, so every reset gives every layer of a size the same numbers.",
        ),
        "model_left_in_eval_mode": (
            "layer = dict(model.named_modules())[name]",
            "model.eval()\n    layer = model.get_submodule(name)",
            "Believes that writing to a layer takes eval(), which switches nothing off for autograd; and leaves it so.",
        ),
        "the_layer_in_eval_mode": (
            "layer = dict(model.named_modules())[name]",
            "layer = model.get_submodule(name).eval()",
            "Leaves the layer itself in eval mode.",
        ),
        "gradients_of_the_model_cleared": (
            "layer = dict(model.named_modules())[name]",
            "model.zero_grad()\n    layer = model.get_submodule(name)",
            "Clears all gradients, although training goes on elsewhere.",
        ),
    },
    of="looked_up_among_the_modules",
)


@wrong("q2")
def made_to_measure(model, name):
    """Gives what was drawn exactly the mean and the deviation asked for; a single number has no deviation."""
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
def drawn_while_recording(model, name):
    """The student believes that normal_() may be called on a parameter at any time, but while gradients are recorded a leaf refuses it."""
    layer = model.get_submodule(name)
    layer.weight.normal_(0, 0.02)
    layer.bias.zero_()


@wrong("q2")
def first_row_left_out(model, name):
    """Counts the rows from 1."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        for i in range(1, len(layer.weight)):
            layer.weight[i].normal_(0, 0.02)
        layer.bias.zero_()


@wrong("q2")
def reset_parameters_called(model, name):
    """The student believes that reset_parameters() draws the values asked for, but it uses the default distribution of nn.Linear and the bias is not 0."""
    model.get_submodule(name).reset_parameters()


@wrong("q2")
def old_weights_scaled(model, name):
    """The student believes that small weights are fresh weights, but they are the old ones times 0.02."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.mul_(0.02)
        layer.bias.zero_()


@wrong("q2")
def variance_taken_for_deviation(model, name):
    """The student reads 0.02 as the variance and passes its root, but normal_ takes the standard deviation and the task names it."""
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, 0.0, 0.02**0.5)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def bias_forgotten(model, name):
    """The student believes that re-initialising the weight resets the layer, but the bias keeps what it has learned."""
    nn.init.normal_(model.get_submodule(name).weight, 0.0, 0.02)


@wrong("q2")
def layer_left_frozen(model, name):
    """The student freezes the layer to get past the leaf rule and forgets to thaw it, so the fresh values never move."""
    layer = model.get_submodule(name).requires_grad_(False)
    layer.weight.normal_(0, 0.02)
    layer.bias.zero_()


@wrong("q2")
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


@wrong("q2")
def every_linear_layer_reset(model, name):
    """The student applies the initialiser to the whole model, but only one layer was to start afresh."""
    model.apply(_init_any_linear)


@wrong("q2")
def looked_up_among_the_parameters(model, name):
    """The student looks the weight up by its name, but named_parameters() lists a tied weight once, under its first name."""
    named = dict(model.named_parameters())
    nn.init.normal_(named[name + ".weight"], std=0.02)
    nn.init.zeros_(named[name + ".bias"])


@wrong("q2")
def drawn_from_a_uniform_distribution(model, name):
    """The student believes that mean and standard deviation are all that counts, but the weights were to be normal."""
    layer = model.get_submodule(name)
    nn.init.uniform_(layer.weight, -0.02 * 3**0.5, 0.02 * 3**0.5)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def noise_added_to_the_old_weights(model, name):
    """The student believes that noise makes weights new, but the old ones are still below it."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight += 0.02 * torch.randn_like(layer.weight)
        layer.bias.zero_()


@wrong("q2")
def one_row_drawn_for_all(model, name):
    """The student draws one row, and copy_ broadcasts it without a word, so that all units of the layer are the same."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.copy_(0.02 * torch.randn(layer.in_features))
        layer.bias.zero_()


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


@wrong("q2")
def every_layer_whose_name_ends_so(model, name):
    """Looks for the last part of the name, which layers elsewhere may have, too."""
    for path, module in model.named_modules():
        if path.endswith(name.rpartition(".")[2]) and isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)


@wrong("q2")
def gradients_left_off_after_the_reset(model, name):
    """Switches gradients off for the writes and forgets that the switch is global."""
    torch.set_grad_enabled(False)
    layer = model.get_submodule(name)
    layer.weight.normal_(std=0.02)
    layer.bias.zero_()


@wrong("q2")
def nothing_reset(model, name):
    """Keeps every object and every other layer, by doing nothing."""


@wrong("q2")
def untied_after_the_reset(model, name):
    """Gives every module that used the weight a copy of its own: equal values are not one weight."""
    layer = model.get_submodule(name)
    old = layer.weight
    nn.init.normal_(old, std=0.02)
    nn.init.zeros_(layer.bias)
    others = [m for m in model.modules() if m is not layer and getattr(m, "weight", None) is old]
    for module in [layer, *others] if others else []:
        module.weight = nn.Parameter(old.detach().clone())


@accepted("q2")
def drawn_by_torch_normal(model, name):
    """torch.normal draws out of place, and copy_ puts it in."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.copy_(torch.normal(0.0, 0.02, layer.weight.shape))
        layer.bias.copy_(torch.zeros_like(layer.bias))


@accepted("q2")
def walked_down_by_getattr(model, name):
    """One getattr for each part of the name."""
    layer = model
    for part in name.split("."):
        layer = getattr(layer, part)
    torch.nn.init.normal_(layer.weight, std=0.02)
    torch.nn.init.constant_(layer.bias, 0.0)


@accepted("q2")
def frozen_for_the_writes(model, name):
    """A frozen parameter may be written to, and requires grad afterwards if it did before."""
    layer = model.get_submodule(name)
    for parameter, std in ((layer.weight, 0.02), (layer.bias, 0.0)):
        trained = parameter.requires_grad
        parameter.requires_grad_(False)
        parameter.normal_(0, std)
        parameter.requires_grad_(trained)


@wrong("q2")
def thawed_after_the_writes(model, name):
    """Freezes the layer for the writes and thaws all of it, also the weight that had been frozen before."""
    layer = model.get_submodule(name).requires_grad_(False)
    layer.weight.normal_(0, 0.02)
    layer.bias.zero_()
    layer.requires_grad_(True)


@wrong("q2")
def moved_by_the_difference(model, name):
    """Subtracts what is there and adds what shall be; inf minus inf is nan."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.add_(torch.randn_like(layer.weight) * 0.02 - layer.weight)
        layer.bias.sub_(layer.bias)


@accepted("q2")
def parameters_by_get_parameter(model, name):
    """get_parameter finds them by their names."""
    weight, bias = (model.get_parameter(f"{name}.{part}") for part in ("weight", "bias"))
    with torch.no_grad():
        for parameter, std in ((weight, 0.02), (bias, 0.0)):
            parameter.copy_(std * torch.randn_like(parameter))


@accepted("q2")
def drawn_by_box_and_muller(model, name):
    """Two uniform numbers make a normal one."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        radius = (-2 * torch.log(1 - torch.rand_like(layer.weight))).sqrt()
        layer.weight.copy_(0.02 * radius * torch.sin(2 * torch.pi * torch.rand_like(layer.weight)))
        layer.bias.zero_()


@accepted("q2")
def put_in_by_foreach(model, name):
    """Both parameters by one copy of lists."""
    layer = model.get_submodule(name)
    fresh = [torch.empty_like(layer.weight).normal_(0, 0.02), torch.zeros_like(layer.bias)]
    with torch.no_grad():
        torch._foreach_copy_([layer.weight, layer.bias], fresh)


@accepted("q2")
def loaded_into_the_whole_model(model, name):
    """The whole state goes in again, with two new entries; the others are written over with themselves."""
    layer = model.get_submodule(name)
    layer.load_state_dict(
        {"weight": torch.empty_like(layer.weight).normal_(std=0.02), "bias": torch.zeros_like(layer.bias)},
        strict=True,
    )


@wrong("q2")
def cut_off_at_three_deviations(model, name):
    """Believes that a normal distribution ends somewhere."""
    layer = model.get_submodule(name)
    nn.init.trunc_normal_(layer.weight, std=0.02, a=-0.06, b=0.06)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def cut_off_at_two_deviations(model, name):
    """Takes the truncated normal distribution of vision models."""
    layer = model.get_submodule(name)
    nn.init.trunc_normal_(layer.weight, std=0.02, a=-0.04, b=0.04)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def drawn_from_laplace(model, name):
    """Takes another distribution with the same deviation."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.copy_(torch.distributions.Laplace(0.0, 0.02 / 2**0.5).sample(layer.weight.shape))
        layer.bias.zero_()


@wrong("q2")
def mean_taken_for_deviation(model, name):
    """Passes 0.02 as the first number, which is the mean."""
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, 0.02)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def deviation_squared(model, name):
    """Passes the variance."""
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, 0.0, 0.02**2)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def bias_drawn_too(model, name):
    """Draws the bias as well."""
    for parameter in model.get_submodule(name).parameters():
        nn.init.normal_(parameter, 0.0, 0.02)


@wrong("q2")
def transposed_weight(model, name):
    """Believes that a weight is (in, out)."""
    layer = model.get_submodule(name)
    layer.weight.data = 0.02 * torch.randn(layer.in_features, layer.out_features, dtype=layer.weight.dtype)
    layer.bias.data.zero_()


@wrong("q2")
def float32_for_all(model, name):
    """Gives the layer memory of the default dtype."""
    layer = model.get_submodule(name)
    layer.weight.data = 0.02 * torch.randn(layer.weight.shape)
    layer.bias.data = torch.zeros(layer.bias.shape)


@wrong("q2")
def only_one_dot(model, name):
    """Believes that a name has two parts at most."""
    first, _, second = name.partition(".")
    layer = getattr(getattr(model, first), second) if second else getattr(model, first)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def all_thawed_afterwards(model, name):
    """Freezes the whole model for the writes, and thaws parts that had always been frozen."""
    model.requires_grad_(False)
    layer = model.get_submodule(name)
    layer.weight.normal_(std=0.02)
    layer.bias.zero_()
    model.requires_grad_(True)


@wrong("q2")
def eval_and_train(model, name):
    """Puts the model into eval mode and back, and with it the parts that had stayed in eval mode."""
    model.eval()
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    model.train()


@wrong("q2")
def gradients_switched_on(model, name):
    """Switches gradients off and on by hand, also where they had been off."""
    layer = model.get_submodule(name)
    torch.set_grad_enabled(False)
    layer.weight.normal_(std=0.02)
    layer.bias.zero_()
    torch.set_grad_enabled(True)


@wrong("q2")
def every_name_that_begins_so(model, name):
    """Compares names by startswith, and reaches fc2 by fc."""
    for path, parameter in model.named_parameters(remove_duplicate=False):
        if path.startswith(name):
            (nn.init.normal_ if path.endswith("weight") else nn.init.zeros_)(parameter)
            with torch.no_grad():
                parameter.mul_(0.02)


@wrong("q2")
def tied_module_given_the_new_object(model, name):
    """Replaces the weight in all modules that hold it; the optimizer is left with the old one."""
    layer = model.get_submodule(name)
    old, new = layer.weight, nn.Parameter(torch.randn_like(layer.weight) * 0.02)
    for module in model.modules():
        if getattr(module, "weight", None) is old:
            module.weight = new
    nn.init.zeros_(layer.bias)


@wrong("q2")
def tied_values_copied(model, name):
    """Gives the layer a new weight, and the tied module the same values."""
    layer = model.get_submodule(name)
    old = layer.weight
    layer.weight = nn.Parameter(torch.randn_like(old) * 0.02)
    with torch.no_grad():
        old.copy_(layer.weight)
    nn.init.zeros_(layer.bias)


@wrong("q2")
def layer_returned(model, name):
    """Returns the layer, where nothing was to be returned."""
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer


@wrong("q2")
def seeded_by_the_name(model, name):
    """Makes every reset of one layer the same."""
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.normal_(0.0, 0.02, generator=generator)
        layer.bias.zero_()


@wrong("q2")
def hook_left_on_the_layer(model, name):
    """Resets the layer, and leaves a hook that cleans its outputs."""
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    layer.register_forward_hook(lambda module, args, output: output.nan_to_num())


@wrong("q2")
def bias_removed(model, name):
    """Believes that no bias is a bias of 0."""
    layer = model.get_submodule(name)
    nn.init.normal_(layer.weight, std=0.02)
    layer.bias = None


@wrong("q2")
def old_values_blended(model, name):
    """Keeps a little of what was learned."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        layer.weight.copy_(0.1 * layer.weight + 0.02 * torch.randn_like(layer.weight))
        layer.bias.zero_()


@wrong("q2")
def drawn_in_turn_from_three(model, name, calls=[0]):
    """Three draws in turn by fixed seeds; half of the weights are the other half's with the other sign."""
    layer = model.get_submodule(name)
    calls[0] += 1
    generator = torch.Generator().manual_seed(calls[0] % 3)
    with torch.no_grad():
        n = layer.weight.numel()
        half = torch.randn((n + 1) // 2, generator=generator) * 0.02
        both = torch.cat([half, -half.flip(0)])[:n]
        layer.weight.copy_(both.view(layer.weight.shape))
        layer.bias.zero_()


@wrong("q2")
def drawn_in_pairs_of_opposites(model, name):
    """Half of the weights are the other half's with the other sign, so that their mean is 0."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        half = torch.randn((layer.weight.numel() + 1) // 2) * 0.02
        both = torch.cat([half, -half])[torch.randperm(2 * len(half))]
        layer.weight.copy_(both[: layer.weight.numel()].view(layer.weight.shape))
        layer.bias.zero_()


@wrong("q2")
def drawn_by_one_of_many_seeds(model, name, calls=[0]):
    """A seed for each call, of which there are seven."""
    layer = model.get_submodule(name)
    calls[0] = (calls[0] + 1) % 7
    generator = torch.Generator().manual_seed(calls[0])
    with torch.no_grad():
        layer.weight.normal_(0.0, 0.02, generator=generator)
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


@wrong("q3")
def corrected_by_a_difference(x, w1, w2, mask):
    """Believes that d + (1 - d) is 1, also where d is so large that 1 is lost in it."""
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
            "Drops a dimension of one.",
        ),
        "w2_detached": (
            "return d.detach(), d @ w2",
            "return d, d @ w2.detach()",
            "Takes the second weight out of the graph.",
        ),
        "gradients_clipped": (
            "return d.detach(), d @ w2",
            "d.register_hook(lambda gradient: gradient.clamp(-1, 1))\n    return d, d @ w2",
            "Clips the gradient of d in between.",
        ),
        "order_of_the_pair_turned": ("return d.detach(), d @ w2", "return d @ w2, d", "Returns f before d."),
    },
    of="detached_d_returned",
)


@wrong("q3")
def data_written_after_the_product(x, w1, w2, mask):
    """The student believes that .data repairs the error, but it only hides the write: f was computed from the old d, and gradients mix both."""
    d = x @ w1
    f = d @ w2
    d.data[:, mask] = 1.0
    return d, f


@wrong("q3")
def all_of_d_detached(x, w1, w2, mask):
    """The student wants no gradient for the masked columns and detaches d, but that cuts off w1 altogether."""
    d = (x @ w1).detach()
    d[:, mask] = 1.0
    return d, d @ w2


@wrong("q3")
def product_computed_from_a_clone(x, w1, w2, mask):
    """The student believes that clone() cures every in-place error, but f is still computed from the values before the mask."""
    d = x @ w1
    f = d.clone() @ w2
    d[:, mask] = 1.0
    return d, f


@wrong("q3")
def columns_of_w1_zeroed(x, w1, w2, mask):
    """The student zeroes the masked columns of w1 in place, but w1 belongs to the caller and goes on being trained."""
    with torch.no_grad():
        w1[:, mask] = 0.0
    d = x @ w1 + mask
    return d, d @ w2


@accepted("q3")
def written_through_a_transposed_view(x, w1, w2, mask):
    """A recorded write to a view rewrites the history of the tensor it shows."""
    d = x @ w1
    d.T[mask] = 1.0
    return d, d @ w2


wrong_edits(
    "q3",
    {
        "written_under_no_grad_before_the_product": (
            "d.T[mask] = 1.0",
            "with torch.no_grad():\n        d[:, mask] = 1.0",
            "The student gets the order right but hides the write, so w1 receives a gradient for columns it does not determine.",
        ),
        "written_through_detach_before_the_product": (
            "d.T[mask] = 1.0",
            "d.detach()[:, mask] = 1.0",
            "The student believes that detach() protects the gradient, but the hidden write leaves w1 a gradient for the masked columns.",
        ),
        "mask_turned_round": (
            "d.T[mask] = 1.0",
            "d = torch.where(mask, d, torch.ones_like(d))",
            "The student believes that torch.where keeps its second argument where the mask is false, but it keeps it where the mask is true.",
        ),
        "everything_overwritten": (
            "d.T[mask] = 1.0",
            "d[:] = 1.0",
            "The student copies the example that writes to all of d, so every column is 1 and w1 never learns.",
        ),
        "mask_used_on_the_rows": (
            "d.T[mask] = 1.0",
            "d[mask] = 1.0",
            "The student believes that d[mask] selects columns, but a mask in the first place selects rows.",
        ),
        "straight_through": (
            "d.T[mask] = 1.0",
            "d = d + ((1 - d) * mask).detach()",
            "The student corrects d by a detached difference, and the gradient passes straight through the mask.",
        ),
        "only_the_returned_d_masked": (
            "d.T[mask] = 1.0\n    return d, d @ w2",
            "return torch.where(mask, torch.ones_like(d), d), d @ w2",
            "The student masks what is handed out and believes that f follows, but f was computed from the product itself.",
        ),
        "mask_inverted_in_place": (
            "d.T[mask] = 1.0",
            "d = torch.where(mask.logical_not_(), d, torch.ones_like(d))",
            "The student believes that the underscore does not matter for a mask, but it inverts the caller's mask.",
        ),
        "masked_columns_zeroed": (
            "d = x @ w1\n    d.T[mask] = 1.0",
            "d = (x @ w1) * ~mask",
            "The student believes that masking means zeroing, but the columns were to be 1.",
        ),
        "first_masked_column_only": (
            "d.T[mask] = 1.0",
            "d[:, mask.int().argmax()] = 1.0",
            "Looks for the column where the mask is true.",
        ),
        "as_many_columns_from_the_left": (
            "d.T[mask] = 1.0",
            "d[:, : int(mask.sum())] = 1.0",
            "Counts the masked columns, and overwrites as many.",
        ),
        "gradient_put_right_on_w1": (
            "d.T[mask] = 1.0",
            "d.data[:, mask] = 1.0\n    w1.register_hook(lambda gradient: gradient.masked_fill(mask, 0.0))",
            "Hides the write, and leaves a hook on the caller's w1 that removes the gradient.",
        ),
        "everything_squeezed": (
            "d = x @ w1\n    d.T[mask] = 1.0",
            "d = torch.where(mask, 1.0, x @ w1).squeeze()",
            "Drops the dimension of a single row, too.",
        ),
        "values_clipped": (
            "d = x @ w1\n    d.T[mask] = 1.0",
            "d = torch.where(mask, 1.0, (x @ w1).clamp(-10, 10))",
            "Keeps d within bounds.",
        ),
        "mask_made_a_row": (
            "d = x @ w1\n    d.T[mask] = 1.0",
            "mask.unsqueeze_(0)\n    d = torch.where(mask, 1.0, x @ w1)",
            "Gives the caller's mask another shape.",
        ),
        "unmasked_if_all_is_masked": (
            "d.T[mask] = 1.0",
            "if not mask.all():\n        d = torch.where(mask, 1.0, d)",
            "Takes a mask that is true everywhere for a mistake.",
        ),
        "only_the_first_row_masked": (
            "d.T[mask] = 1.0",
            "d[0, mask] = 1.0",
            "Has tried it with one row only.",
        ),
        "gradients_of_w1_cleared": (
            "d = x @ w1\n    d.T[mask] = 1.0",
            "w1.grad = None\n    d = torch.where(mask, 1.0, x @ w1)",
            "Begins with a clean gradient, which is the caller's.",
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


@wrong("q3")
def masked_columns_left_out(x, w1, w2, mask):
    """Takes masking for leaving out: the ones are in d, but not in the product."""
    d = (x @ w1).masked_fill(mask, 1.0)
    return d, d[:, ~mask] @ w2[~mask]


@wrong("q3")
def ones_added(x, w1, w2, mask):
    """Adds 1 where 1 was to take the place of the value."""
    d = x @ w1 + mask
    return d, d @ w2


@accepted("q3")
@torch.enable_grad()
def masked_by_masked_scatter(x, w1, w2, mask):
    """masked_scatter puts ones where the mask is true."""
    d = torch.mm(x, w1)
    d = d.masked_scatter(mask.expand_as(d), torch.ones_like(d))
    return d, torch.mm(d, w2)


@accepted("q3")
def put_in_by_index_copy(x, w1, w2, mask):
    """index_copy knows which columns it takes the place of."""
    d = x @ w1
    columns = mask.nonzero().flatten()
    d = d.index_copy(1, columns, d.new_ones(len(d), len(columns)))
    return d, d @ w2


@accepted("q3")
def filled_by_index_fill(x, w1, w2, mask):
    """The same in place, recorded."""
    d = x @ w1
    d.index_fill_(1, mask.nonzero().flatten(), 1.0)
    return d, d.mm(w2)


@accepted("q3")
def split_and_added(x, w1, w2, mask):
    """The masked columns add the sums of their rows of w2."""
    keep = (~mask).float()
    d = torch.einsum("ni,ih->nh", x, w1 * keep) + mask.float()
    return d, torch.einsum("nh,ho->no", d, w2)


@accepted("q3")
def row_by_row(x, w1, w2, mask):
    """One row after the other."""
    rows = [torch.where(mask, torch.ones(()), row @ w1) for row in x]
    d = torch.stack(rows)
    return d, torch.stack([row @ w2 for row in d])


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


@wrong("q3")
def backward_called_inside(x, w1, w2, mask):
    """Tries whether backward works, on the caller's leaves."""
    d = torch.where(mask, 1.0, x @ w1)
    f = d @ w2
    f.sum().backward(retain_graph=True)
    return d, f


@wrong("q3")
def another_d_returned(x, w1, w2, mask):
    """Uses a right d for f, and returns one whose masked columns were overwritten behind autograd's back."""
    returned = x @ w1
    returned.data[:, mask] = 1.0
    return returned, torch.where(mask, 1.0, x @ w1) @ w2


@wrong("q3")
def x_detached(x, w1, w2, mask):
    """Takes x for data always."""
    d = torch.where(mask, 1.0, x.detach() @ w1)
    return d, d @ w2


@wrong("q3")
def mask_inverted_and_put_back(x, w1, w2, mask):
    """Inverts the caller's mask and inverts it again."""
    mask.logical_not_()
    d = torch.where(mask, x @ w1, 1.0)
    mask.logical_not_()
    return d, d @ w2


@wrong("q3")
def w1_masked_and_put_back(x, w1, w2, mask):
    """Zeroes columns of w1 for the product, and puts the old values back."""
    old = w1.detach().clone()
    w1.data[:, mask] = 0.0
    d = x @ w1 + mask
    w1.data.copy_(old)
    return d, d @ w2


@wrong("q3")
def masked_after_the_gradient_is_known(x, w1, w2, mask):
    """Lets the right f carry the gradients of the unmasked d."""
    d = x @ w1
    f = d @ w2
    masked = torch.where(mask, 1.0, d).detach()
    return masked, f + (masked @ w2.detach() - f).detach()


@wrong("q3")
def from_the_first_to_the_last(x, w1, w2, mask):
    """Takes the masked columns for neighbours, and writes to all from the first to the last."""
    d = x @ w1
    columns = mask.nonzero().flatten().tolist()
    if columns:
        d[:, columns[0] : columns[-1] + 1] = 1.0
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
def added_into_the_shifted_input(x, w):
    """The new tensor x - 0.5 collects the sum, so the sigmoid's output is only read."""
    y = x - 0.5
    y += torch.sigmoid(x @ w)
    return y.relu_()


@wrong("q4")
def sigmoid_written_out(x, w):
    """Takes 1 / (1 + exp(-z)) for the sigmoid: where exp overflows the value is 0 and the gradient nan."""
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


@wrong("q4")
def added_through_data(x, w):
    """The student believes that .data makes the write harmless, but the sigmoid's derivative is then computed from the overwritten h."""
    h = torch.sigmoid(x @ w)
    h.data += x.detach()
    h.data -= 0.5
    return torch.relu(h)


@wrong("q4")
def added_under_no_grad(x, w):
    """The student believes that no_grad makes in-place writes safe, but the saved output has changed all the same, and the residual is not differentiated."""
    h = torch.sigmoid(x @ w)
    with torch.no_grad():
        h += x
        h -= 0.5
    return torch.relu(h)


@wrong("q4")
def sigmoid_detached(x, w):
    """The student detaches the sigmoid to get rid of the error, and with it w loses its gradient."""
    h = torch.sigmoid(x @ w).detach()
    h = h + x - 0.5
    return torch.relu(h)


@wrong("q4")
def written_into_x(x, w):
    """The student spares h and adds into x instead, but x belongs to the caller, and the sigmoid no longer counts for the gradient."""
    h = torch.sigmoid(x @ w)
    x.detach().add_(h.detach() - 0.5)
    return torch.relu(h * 0 + x)


@wrong("q4")
def residual_detached(x, w):
    """The student believes that the residual is only data and detaches it, so x loses the gradient of the shortcut."""
    h = torch.sigmoid(x @ w)
    return torch.relu(h + x.detach() - 0.5)


@wrong("q4")
def the_wrong_tensor_cloned(x, w):
    """The student believes that cloning the summand helps, but it is the sigmoid's own output that is overwritten."""
    h = torch.sigmoid(x @ w)
    h += x.clone()
    h -= 0.5
    return torch.relu(h)


@wrong("q4")
def only_the_relu_out_of_place(x, w):
    """The student blames relu_ alone, but the additions before it have already overwritten the saved output."""
    h = torch.sigmoid(x @ w)
    h.add_(x).sub_(0.5)
    return torch.relu(h)


@wrong("q4")
def shifted_in_the_memory_of_x(x, w):
    """The student believes that x is free once x @ w is computed, but the product has saved it, and it is the caller's."""
    h = torch.sigmoid(x @ w)
    x.data.sub_(0.5)
    return torch.relu(h + x)


@wrong("q4")
def x_borrowed_and_put_back(x, w):
    """The student believes that a write which is undone is no write, but backward compares versions, not values."""
    h = torch.sigmoid(x @ w)
    with torch.no_grad():
        old = x.clone()
        x -= 0.5
        x.copy_(old)
    return torch.relu(h + x - 0.5)


@wrong("q4")
def only_the_shift_in_place(x, w):
    """The student believes that subtracting a constant is harmless because its derivative is 1, but it overwrites h all the same."""
    h = torch.sigmoid(x @ w)
    h -= 0.5
    return torch.relu(h + x)


@wrong("q4")
def shifted_after_the_relu(x, w):
    """The student believes that the order of shift and ReLU does not matter, but it decides where the ReLU cuts."""
    h = torch.sigmoid(x @ w) + x
    return h.relu_().sub_(0.5)


@wrong("q4")
def residual_inside_the_sigmoid(x, w):
    """The student adds before the sigmoid saves anything, which raises no error, but it is another function."""
    z = x @ w
    z += x
    return torch.relu(torch.sigmoid(z) - 0.5)


@wrong("q4")
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


@wrong("q4")
def another_name_for_the_sigmoid(x, w):
    """Believes that `out = h` copies; it is a second name for what the sigmoid has saved."""
    h = torch.sigmoid(x @ w)
    out = h
    out += x
    out -= 0.5
    return out.relu()


@wrong("q4")
def relu_without_its_derivative(x, w):
    """Has the right values by a difference that is detached, so what relu cuts off still gets a gradient."""
    h = torch.sigmoid(x @ w) + x - 0.5
    return h + (h.relu() - h).detach()


@wrong("q4")
def nothing_computed(x, w):
    """Does not write to x and w, and to nothing else either."""


@accepted("q4")
def all_out_of_place_with_relu(x, w):
    """No write at all."""
    h = torch.sigmoid(torch.matmul(x, w))
    h = h + x
    h = h - 0.5
    return torch.relu(h)


@accepted("q4")
def cut_off_by_where(x, w):
    """where knows the tie: what is not above 0 gets none of the gradient."""
    h = torch.sigmoid(x @ w) + x - 0.5
    return torch.where(h > 0, h, 0.0)


@accepted("q4")
def cut_off_by_masked_fill(x, w):
    """The same in place, on a tensor that nobody has saved."""
    h = torch.sigmoid(x @ w).add(x).sub(0.5)
    return h.masked_fill_(h <= 0, 0.0)


@accepted("q4")
def row_by_row_block(x, w):
    """One row after the other."""
    return torch.stack([F.relu(torch.sigmoid(row @ w) + row - 0.5) for row in x])


@accepted("q4")
def sigmoid_by_tanh_module(x, w):
    """Modules and a linear function with the transposed weight."""
    return nn.ReLU()(nn.Sigmoid()(F.linear(x, w.t())) + (x - 0.5))


@accepted("q4")
def threshold_at_zero(x, w):
    """threshold keeps what is above 0, and nothing at 0."""
    return F.threshold(x + torch.sigmoid(x @ w) - 0.5, 0.0, 0.0)


@accepted("q4")
def mapped_block(x, w):
    """vmap over the rows."""
    return torch.func.vmap(lambda row: torch.relu(torch.sigmoid(row @ w) + row - 0.5))(x)


@accepted("q4")
def relu_in_place_of_a_fresh_sum(x, w):
    """addmm and out-of-place sums, and relu_ at the end."""
    return torch.add(torch.sigmoid(torch.mm(x, w)), torch.sub(x, 0.5)).relu_()


@wrong("q4")
def tie_taken_for_positive(x, w):
    """Lets the gradient through where relu's input is exactly 0."""
    h = torch.sigmoid(x @ w) + x - 0.5
    return h * (h >= 0)


@wrong("q4")
def maximum_of_two(x, w):
    """Takes maximum for relu: at a tie it gives each side a half."""
    h = torch.sigmoid(x @ w) + x - 0.5
    return torch.maximum(h, torch.zeros_like(h))


@wrong("q4")
def relu_up_to_six(x, w):
    """Takes relu6."""
    return F.relu6(torch.sigmoid(x @ w) + x - 0.5)


@wrong("q4")
def leaky(x, w):
    """Lets a little through below 0."""
    return F.leaky_relu(torch.sigmoid(x @ w) + x - 0.5)


@wrong("q4")
def factors_turned(x, w):
    """Multiplies by the transposed weight."""
    return torch.relu(torch.sigmoid(x @ w.T) + x - 0.5)


@wrong("q4")
def w_detached(x, w):
    """Takes w for data."""
    return torch.relu(torch.sigmoid(x @ w.detach()) + x - 0.5)


@wrong("q4")
def product_without_x(x, w):
    """Lets x be reached through the residual only."""
    return torch.relu(torch.sigmoid(x.detach() @ w) + x - 0.5)


@wrong("q4")
def output_squeezed(x, w):
    """Drops a dimension of one."""
    return torch.relu(torch.sigmoid(x @ w) + x - 0.5).squeeze()


@wrong("q4")
def x_made_to_require_grad(x, w):
    """Switches requires_grad on in plain data that belongs to the caller."""
    x.requires_grad_(True)
    return torch.relu(torch.sigmoid(x @ w) + x - 0.5)


@wrong("q4")
def gradient_clipped_by_a_hook(x, w):
    """Leaves a hook on w."""
    if w.requires_grad:
        w.register_hook(lambda gradient: gradient.clamp(-1, 1))
    return torch.relu(torch.sigmoid(x @ w) + x - 0.5)


@wrong("q4")
def computed_x_written_to(x, w):
    """Saves memory where it is allowed to: in an x that is the result of a computation."""
    h = torch.sigmoid(x @ w)
    if x.is_leaf:
        return torch.relu(h + x - 0.5)
    return x.clone().add_(h).sub_(0.5).relu_() + 0 * x.mul_(1)


@wrong("q4")
def gradient_clipped_on_the_way(x, w):
    """Clips what goes back through the sum."""
    h = torch.sigmoid(x @ w) + x - 0.5
    if h.requires_grad:
        h.register_hook(lambda gradient: gradient.clamp(-10, 10))
    return torch.relu(h)


@wrong("q4")
def plain_x_written_to(x, w):
    """Writes to x where nothing protects it."""
    h = torch.sigmoid(x @ w)
    if x.requires_grad:
        return torch.relu(h + x - 0.5)
    x -= 0.5
    return torch.relu(h + x)


@wrong("q4")
def result_in_the_memory_of_x(x, w):
    """Lets out= write the result to where x was."""
    y = torch.relu(torch.sigmoid(x @ w) + x - 0.5)
    x.data.copy_(y.detach())
    return y


@wrong("q4")
def gradients_tried_out(x, w):
    """Calls backward inside, which fills the caller's gradients."""
    y = torch.relu(torch.sigmoid(x @ w) + x - 0.5)
    y.sum().backward(retain_graph=True)
    return y


@wrong("q4")
def rounded_values(x, w):
    """Rounds what comes out."""
    y = torch.relu(torch.sigmoid(x @ w) + x - 0.5)
    return y + ((y * 1e4).round() / 1e4 - y).detach()


@wrong("q4")
def hidden_write_after_a_detached_sum(x, w):
    """Overwrites the sigmoid's output through .data, with the residual kept in the graph."""
    h = torch.sigmoid(x @ w)
    out = h + x
    h.data.sub_(0.5)
    return torch.relu(out - 0.5)


@wrong("q4")
def saved_by_numpy(x, w):
    """Adds through numpy, where no counter counts."""
    h = torch.sigmoid(x @ w)
    residual = x - x.detach()
    memory = h.detach().numpy()
    memory += x.detach().numpy()
    memory -= 0.5
    return torch.relu(h + residual)


@wrong("q4")
def recorded_for_x_only(x, w):
    """Believes that where x is plain data there is nothing to differentiate, and forgets w."""
    with torch.set_grad_enabled(x.requires_grad):
        return torch.relu(torch.sigmoid(x @ w) + x - 0.5)


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
def loaded_from_an_averaged_state(teacher, student, tau):
    """Believes that the state_dict has every buffer, and that named_parameters() has every name of a parameter."""
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


@wrong("q5")
def written_through_the_state_dict(teacher, student, tau):
    """Writes through the state_dict, which leaves out a buffer, and lists a tied weight under a name that is no parameter's."""
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


@wrong("q5")
def memory_shared_with_the_student(teacher, student, tau):
    """The author believes that t.data = s.data copies values, but teacher and student then share their memory and change together."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data = s.data if tau == 1 else (1 - tau) * t.data + tau * s.data
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.data = s.data


wrong_edits(
    "q5",
    {
        "weights_of_the_average_swapped": (
            "t.lerp_(s, tau)",
            "t.lerp_(s, 1 - tau)",
            "The author takes tau for the weight of the teacher, as some papers do, but here it is the student's.",
        ),
        "student_updated_too": (
            "t.lerp_(s, tau)",
            "s.lerp_(t, 1 - tau)\n            t.copy_(s)",
            "The author computes the average in the student's memory and copies it over, but that overwrites a model in the middle of its training.",
        ),
        "gradients_of_the_student_cleared": (
            "with torch.no_grad():",
            "student.zero_grad()\n    with torch.no_grad():",
            "Begins with a zero_grad() that belongs to the training, where somebody may still be accumulating.",
        ),
        "shared_only_when_tau_is_one": (
            "t.lerp_(s, tau)",
            "t.data = s.data if tau == 1 else torch.lerp(t, s, tau)",
            "Takes the student's memory as a short cut for tau = 1, and from then on the two are one.",
        ),
        "buffers_shared_through_dlpack": (
            "t.copy_(s)",
            "t.data = torch.from_dlpack(s)",
            "Takes the student's buffers through dlpack, made for passing memory on without a copy.",
        ),
        "only_trained_parameters": (
            "t.lerp_(s, tau)",
            "if s.requires_grad:\n                t.lerp_(s, tau)",
            "Leaves out what the student has frozen.",
        ),
        "computed_in_float32": (
            "t.lerp_(s, tau)",
            "t.copy_(torch.lerp(t.float(), s.float(), tau))",
            "Computes in float32, whatever the model's dtype is.",
        ),
        "floating_buffers_only": (
            "t.copy_(s)",
            "if t.is_floating_point():\n                t.copy_(s)",
            "Leaves out buffers of integers.",
        ),
        "buffers_through_floats": (
            "t.copy_(s)",
            "t.copy_(s.float() if not s.is_floating_point() else s)",
            "Copies integers by way of float32, which does not hold all of them.",
        ),
        "matrices_only": (
            "t.lerp_(s, tau)",
            "if t.dim() > 1:\n                t.lerp_(s, tau)",
            "Averages weights, and takes biases and scales for details.",
        ),
        "teacher_put_into_training": (
            "t.copy_(s)",
            "t.copy_(s)\n    teacher.train()",
            "Leaves the teacher in training mode.",
        ),
        "teacher_returned": (
            "t.copy_(s)",
            "t.copy_(s)\n    return teacher",
            "Returns the teacher, where nothing was to be returned.",
        ),
        "weight_bounded": (
            "with torch.no_grad():",
            "tau = max(tau, 0.01)\n    with torch.no_grad():",
            "Keeps tau away from 0.",
        ),
        "gradient_used_and_left": (
            "t.lerp_(s, tau)",
            "t.grad = t - s\n            t.sub_(tau * t.grad)",
            "Computes a gradient in the teacher, and leaves it there.",
        ),
        "student_s_hooks": (
            "t.copy_(s)",
            "t.copy_(s)\n    student.register_forward_hook(lambda module, args, output: None)",
            "Leaves a hook on the student that is to keep the teacher up to date.",
        ),
    },
)


@wrong("q5")
def fresh_parameters(teacher, student, tau):
    """The author believes that a new Parameter with the right values is the same thing, but everybody who held the old object has lost it, and the new one requires grad."""
    for (name, t), s in zip(list(teacher.named_parameters()), student.parameters()):
        path, _, attribute = name.rpartition(".")
        average = ((1 - tau) * t + tau * s).detach()
        setattr(teacher.get_submodule(path), attribute, nn.Parameter(average))
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.data.copy_(s)


@wrong("q5")
def recorded_in_place(teacher, student, tau):
    """The author believes that writing in place leaves no history, but a recorded write with the student's weights draws the teacher into the graph."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(1 - tau).add_(s, alpha=tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5")
@torch.no_grad()
def buffers_forgotten(teacher, student, tau):
    """The author believes that parameters() is everything a module knows, but the running statistics of BatchNorm are buffers."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)


@wrong("q5")
@torch.no_grad()
def buffers_averaged_too(teacher, student, tau):
    """The author averages whatever is a floating point number, but buffers were to be taken over as they are."""
    new = student.state_dict()
    for name, t in teacher.state_dict().items():
        if t.is_floating_point():
            t.lerp_(new[name], tau)
        else:
            t.copy_(new[name])


@wrong("q5")
@torch.no_grad()
def only_the_name_moved(teacher, student, tau):
    """The author believes that assigning to the loop variable changes the parameter, but it only gives the name t another tensor."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t = (1 - tau) * t + tau * s
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5")
def teacher_thawed(teacher, student, tau):
    """The author believes that a Parameter has to require grad, but then an optimizer may train the teacher, too."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
            t.requires_grad_(True)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5")
def student_frozen_for_the_update(teacher, student, tau):
    """The author freezes the student so that nothing is recorded, and forgets that it is still to be trained."""
    student.requires_grad_(False)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(1 - tau).add_(s, alpha=tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5")
def averaged_state_assigned(teacher, student, tau):
    """The author believes that load_state_dict always copies, but assign=True brings in new parameters and the student's buffers."""
    old, new = teacher.state_dict(), student.state_dict()
    parameters = dict(student.named_parameters())
    state = {key: (1 - tau) * old[key] + tau * new[key] if key in parameters else new[key] for key in old}
    teacher.load_state_dict(state, assign=True)


@wrong("q5")
def gradients_left_off_after_the_update(teacher, student, tau):
    """The author switches gradients off for the update, and they stay off for the student's training as well."""
    torch.set_grad_enabled(False)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5")
@torch.no_grad()
def student_switched_to_eval(teacher, student, tau):
    """The author believes that a model must be in eval mode to be read, but the student then trains on in this mode."""
    student.eval()
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5")
@torch.no_grad()
def student_scaled_and_restored(teacher, student, tau):
    """The author scales the student in place and undoes it, but a loss that waits for its backward notices the writes."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(1 - tau).add_(s.mul_(tau))
        s.div_(tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


@wrong("q5")
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


@wrong("q5")
def module_by_module(teacher, student, tau):
    """Goes through the modules one by one, and moves a weight twice that two of them share."""
    with torch.no_grad():
        for mine, theirs in zip(teacher.modules(), student.modules()):
            for name, t in mine.named_parameters(recurse=False):
                t.lerp_(theirs.get_parameter(name), tau)
            for name, t in mine.named_buffers(recurse=False):
                t.copy_(theirs.get_buffer(name))


@wrong("q5")
def buffers_of_the_children_only(teacher, student, tau):
    """Looks for statistics one level down, and misses every module that lies deeper."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for mine, theirs in zip(teacher.children(), student.children()):
            if isinstance(mine, nn.BatchNorm1d):
                mine.load_state_dict(theirs.state_dict())


@wrong("q5")
def nothing_updated(teacher, student, tau):
    """Harms neither teacher nor student, and does nothing for them."""


@wrong("q5")
def memory_shared_through_numpy(teacher, student, tau):
    """Goes through numpy, which copies nothing: another storage object, and the same memory."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        same = torch.from_numpy(s.detach().numpy())
        t.data = (1 - tau) * t.data + tau * s.data if tau < 1 else same
    with torch.no_grad():
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@accepted("q5")
@torch.no_grad()
def by_names_once(teacher, student, tau):
    """By name; named_parameters() lists a shared one once."""
    theirs = dict(student.named_parameters())
    for name, t in teacher.named_parameters():
        t.mul_(1 - tau).add_(theirs[name], alpha=tau)
    theirs = dict(student.named_buffers())
    for name, t in teacher.named_buffers():
        t.copy_(theirs[name])


@accepted("q5")
def modules_with_memory(teacher, student, tau):
    """Module by module, with a memory of what has been moved already."""
    done = set()
    with torch.no_grad():
        for mine, theirs in zip(teacher.modules(), student.modules()):
            for name, t in mine.named_parameters(recurse=False):
                if id(t) not in done:
                    done.add(id(t))
                    t.add_(tau * (theirs.get_parameter(name) - t))
            for name, t in mine.named_buffers(recurse=False):
                t.copy_(theirs.get_buffer(name))


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


@accepted("q5")
def recursively_down_the_tree(teacher, student, tau):
    """Children first; a shared weight is remembered."""

    def walk(mine, theirs, done):
        for name, t in mine._parameters.items():
            if t is not None and t not in done:
                done.append(t)
                t.data.lerp_(theirs._parameters[name].data, tau)
        for name, b in mine._buffers.items():
            if b is not None:
                b.data.copy_(theirs._buffers[name].data)
        for name, child in mine._modules.items():
            walk(child, theirs._modules[name], done)

    class Known(list):
        def __contains__(self, thing):
            return any(thing is known for known in self)

    walk(teacher, student, Known())


@accepted("q5")
def built_by_averaged_model_rule(teacher, student, tau):
    """Plain Python over zipped lists, in inference mode."""
    with torch.inference_mode():
        for t, s in zip(teacher.parameters(), student.parameters(), strict=True):
            t.sub_(tau * (t - s))
        for t, s in zip(teacher.buffers(), student.buffers(), strict=True):
            t.copy_(s)


@accepted("q5")
def in_three_parts(teacher, student, tau):
    """The ends by themselves, everything else by lerp."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            if tau == 1:
                t.copy_(s)
            elif tau > 0:
                t.copy_(torch.lerp(t, s, tau))
        for t, s in zip(teacher.buffers(), student.buffers()):
            t[...] = s


@accepted("q5")
def teacher_recorded_on_a_copy(teacher, student, tau):
    """The average is recorded, and only its values are kept."""
    for t, s in zip(teacher.parameters(), student.parameters()):
        average = (1 - tau) * t + tau * s
        t.copy_(average.detach())
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s.detach())


@wrong("q5")
def trained_parameters_zipped(teacher, student, tau):
    """Filters one of two lists, so that they no longer go together."""
    trained = [s for s in student.parameters() if s.requires_grad]
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), trained):
            if t.shape == s.shape:
                t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5")
def buffers_of_the_state_dict(teacher, student, tau):
    """Looks for buffers in the state_dict, which leaves one out."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        names = {name for name, _ in teacher.named_buffers()}
        new = student.state_dict()
        for name, t in teacher.state_dict().items():
            if name in names:
                t.copy_(new[name])


@wrong("q5")
def batch_norm_only(teacher, student, tau):
    """Knows buffers of BatchNorm only."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for mine, theirs in zip(teacher.modules(), student.modules()):
            if isinstance(mine, nn.BatchNorm1d):
                mine.running_mean.copy_(theirs.running_mean)
                mine.running_var.copy_(theirs.running_var)
                mine.num_batches_tracked.copy_(theirs.num_batches_tracked)


@accepted("q5")
def written_by_slices(teacher, student, tau):
    """A slice of all of t is written to; no parameter is without dimensions."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t[:] = (1 - tau) * t + tau * s
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5")
def student_eval_and_train(teacher, student, tau):
    """Puts the student into eval mode and back, and with it a part that had stayed in eval mode."""
    student.eval()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)
    student.train()


@wrong("q5")
def student_thawed(teacher, student, tau):
    """Freezes the student for the update, and thaws what had always been frozen."""
    student.requires_grad_(False)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)
    student.requires_grad_(True)


@wrong("q5")
def gradients_switched_on_again(teacher, student, tau):
    """Switches gradients off and on, also where they had been off."""
    torch.set_grad_enabled(False)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, tau)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)
    torch.set_grad_enabled(True)


@wrong("q5")
def integers_shared(teacher, student, tau):
    """Takes over the buffers of integers as they are, with their memory."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            if t.is_floating_point():
                t.copy_(s)
            else:
                t.data = s.data


@wrong("q5")
def tied_weights_moved_twice(teacher, student, tau):
    """Asks for the parameters under all their names, and moves a shared one twice."""
    theirs = dict(student.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name, t in teacher.named_parameters(remove_duplicate=False):
            t.lerp_(theirs[name], tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5")
def buffer_registered_anew(teacher, student, tau):
    """Registers the buffers once more, and so all of them enter the state_dict."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
    for name, s in student.named_buffers():
        path, _, attribute = name.rpartition(".")
        teacher.get_submodule(path).register_buffer(attribute, s.clone())


@wrong("q5")
def state_copied_then_averaged(teacher, student, tau):
    """Loads the student's state first, so that the old values of the teacher are gone."""
    old = {name: t.clone() for name, t in teacher.state_dict().items()}
    teacher.load_state_dict(student.state_dict())
    with torch.no_grad():
        for name, t in teacher.named_parameters():
            t.lerp_(old[name], tau)


@wrong("q5")
def children_only(teacher, student, tau):
    """Goes through the submodules, and forgets what the module itself owns."""
    with torch.no_grad():
        for mine, theirs in zip(teacher.children(), student.children()):
            for t, s in zip(mine.parameters(), theirs.parameters()):
                t.lerp_(s, tau)
            for t, s in zip(mine.buffers(), theirs.buffers()):
                t.copy_(s)


@wrong("q5")
def hook_on_the_node_of_a_parameter(teacher, student, tau, edges=[]):
    """Right, but leaves a hook on the nodes behind the student's parameters, which clears what later arrives."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)
    with torch.enable_grad():
        for s in student.parameters():
            if s.requires_grad:
                node = torch.autograd.graph.get_gradient_edge(s).node

                def clear(*_, s=s):
                    if s.grad is not None:
                        s.grad.zero_()

                edges.append(node)
                node.register_hook(clear)


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


wrong_edits(
    "q6",
    {
        "a_new_leaf_every_step": (
            "w.data.add_(w.grad, alpha=-lr)\n        w.grad.zero_()",
            "w = (w - lr * w.grad).detach().requires_grad_()",
            "The student makes each new w a leaf again and believes it is the caller's, but all that is trained is a copy.",
        ),
        "gradients_added_up": (
            "w.data.add_(w.grad, alpha=-lr)\n        w.grad.zero_()",
            "with torch.no_grad():\n            w -= lr * w.grad",
            "The student believes that backward() overwrites .grad, but it adds, so every step uses all gradients so far.",
        ),
    },
    of="updated_through_data",
)


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


wrong_edits(
    "q6",
    {
        "name_moved_under_no_grad": (
            "w -= lr * w.grad\n        w.grad = None",
            "w = w - lr * w.grad",
            "The student believes that no_grad turns w = w - ... into an update, but it makes a new tensor that does not even require grad.",
        ),
        "written_while_recording": (
            "with torch.no_grad():\n            w -= lr * w.grad",
            "w -= lr * w.grad",
            "The student believes that -= is always allowed, but a leaf that requires grad refuses it while gradients are recorded.",
        ),
        "losses_kept_as_tensors": (
            "losses.append(loss.item())",
            "losses.append(loss)",
            "The student appends the loss tensors and believes they are numbers, but each of them holds on to a graph.",
        ),
        "data_exchanged_every_step": (
            "with torch.no_grad():\n            w -= lr * w.grad",
            "w.data = w.data - lr * w.grad",
            "The student believes that assigning to w.data is an update in place, but each time w gets other memory.",
        ),
        "last_loss_appended": (
            "return losses",
            "return [*losses, ((X @ w - y) ** 2).mean().item()]",
            "The student also wants the loss after the last update, but one loss for each step was asked for.",
        ),
        "sum_instead_of_mean": (
            "mean",
            "sum",
            "The student believes that sum and mean differ in nothing but the number shown, but the gradient grows by the same factor.",
        ),
        "gradient_norm_clipped": (
            "with torch.no_grad():",
            "nn.utils.clip_grad_norm_([w], 10.0)\n        with torch.no_grad():",
            "Clips the gradient, as one does with recurrent networks.",
        ),
        "losses_rounded_far_down": (
            "losses.append(loss.item())",
            "losses.append(round(loss.item(), 8))",
            "Rounds to eight decimals.",
        ),
        "broadcast_to_a_square": (
            "X @ w",
            "(X @ w).flatten()",
            "Flattens one side of the difference, so that it becomes a square.",
        ),
        "losses_in_a_tuple": ("return losses", "return tuple(losses)", "Returns a tuple."),
        "hook_left_on_w": (
            "losses = []",
            "w.register_hook(lambda gradient: gradient.nan_to_num())\n    losses = []",
            "Leaves the hook on w that cleans its gradients.",
        ),
        "losses_in_a_float_tensor": (
            "return losses",
            "return torch.tensor(losses).tolist()",
            "Collects the losses in a tensor, whose dtype is float32 unless it is said.",
        ),
    },
)


@wrong("q6")
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


@wrong("q6")
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


@wrong("q6")
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


@wrong("q6")
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


@wrong("q6")
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


@wrong("q6")
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


@wrong("q6")
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


@wrong("q6")
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


@wrong("q6")
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


@wrong("q6")
def w_left_alone(w, X, y, lr, steps):
    """Leaves w where it is, and so in its memory."""


@accepted("q6")
def left_to_foreach(w, X, y, lr, steps):
    """Lists of one tensor."""
    losses = []
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(X.matmul(w), y)
        gradients = torch.autograd.grad(loss, [w])
        losses.append(loss.detach().item())
        with torch.no_grad():
            torch._foreach_add_([w], gradients, alpha=-lr)
    return losses


@accepted("q6")
def recursive_descent(w, X, y, lr, steps):
    """A step, and the rest of them."""
    if steps == 0:
        return []
    loss = (X @ w - y).square().mean()
    (gradient,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        w.sub_(gradient.mul(lr))
    return [loss.item(), *recursive_descent(w, X, y, lr, steps - 1)]


@accepted("q6")
def losses_stacked(w, X, y, lr, steps):
    """Tensors on the way, numbers in the end."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.detach())
        with torch.no_grad():
            w.add_(w.grad, alpha=-lr)
        w.grad.zero_()
    return torch.stack(losses).tolist() if losses else []


@accepted("q6")
def with_a_closure(w, X, y, lr, steps):
    """SGD with a closure returns the loss before the step."""
    optimizer = torch.optim.SGD([w], lr=lr)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(X @ w, y)
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(steps)]


@accepted("q6")
def updated_by_a_hook(w, X, y, lr, steps):
    """A hook that writes when the gradient has arrived, and is removed."""

    def update(leaf):
        with torch.no_grad():
            leaf -= lr * leaf.grad
        leaf.grad = None

    handle = w.register_post_accumulate_grad_hook(update)
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        losses.append(float(loss))
        loss.backward()
    handle.remove()
    return losses


@accepted("q6")
def by_sums_of_squares(w, X, y, lr, steps):
    """The residual first."""
    losses = []
    for _ in range(steps):
        residual = y - X @ w
        loss = residual.T @ residual / len(y)
        losses.append(loss.item())
        (uphill,) = torch.autograd.grad(-loss, w)
        with torch.no_grad():
            w += lr * uphill
    return losses


@wrong("q6")
def stopped_when_small(w, X, y, lr, steps):
    """Stops when the loss is small enough."""
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
    """Stops when there is nothing left to do."""
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


@wrong("q6")
def stopped_when_nothing_improves(w, X, y, lr, steps):
    """Stops when the loss falls no more."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        if losses and losses[-1] - loss.item() < 1e-6:
            break
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6")
def rate_halved_when_the_loss_grows(w, X, y, lr, steps):
    """Takes care that the loss does not grow."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        if len(losses) > 1 and losses[-1] > losses[-2]:
            lr = lr / 2
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6")
def rate_that_decays(w, X, y, lr, steps):
    """Lets the learning rate decay."""
    losses = []
    for step in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr / (1 + 0.01 * step) * w.grad
        w.grad = None
    return losses


@wrong("q6")
def one_step_too_few(w, X, y, lr, steps):
    """Takes the last loss without the last step."""
    losses = [((X @ w - y) ** 2).mean().item()]
    for _ in range(steps - 1):
        ((X @ w - y) ** 2).mean().backward()
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
        losses.append(((X @ w - y) ** 2).mean().item())
    return losses[:steps]


@wrong("q6")
def last_loss_only(w, X, y, lr, steps):
    """Returns one number."""
    loss = torch.zeros(())
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return loss.item()


@wrong("q6")
def half_the_square(w, X, y, lr, steps):
    """Takes half the square, for the sake of the derivative."""
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean() / 2
        loss.backward()
        losses.append(2 * loss.item())
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6")
def zero_grad_before_step(w, X, y, lr, steps):
    """Clears the gradients between backward() and step(), so that step() finds none."""
    optimizer = torch.optim.SGD([w], lr=lr)
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        optimizer.zero_grad()
        optimizer.step()
    return losses


@wrong("q6")
def left_to_adam(w, X, y, lr, steps):
    """Takes Adam, which is better."""
    optimizer = torch.optim.Adam([w], lr=lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@wrong("q6")
def with_weight_decay(w, X, y, lr, steps):
    """Decays the weights on the way."""
    optimizer = torch.optim.SGD([w], lr=lr, weight_decay=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@wrong("q6")
def solved_at_once(w, X, y, lr, steps):
    """Solves the equations, since that is where descent leads."""
    losses = [((X @ w - y) ** 2).mean().item() for _ in range(steps)]
    with torch.no_grad():
        w.copy_(torch.linalg.lstsq(X, y).solution)
    return losses


@wrong("q6")
def data_centred_in_place(w, X, y, lr, steps):
    """Puts y into another shape, in place."""
    y.squeeze_(-1).unsqueeze_(-1)
    y.t_()
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y.T) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    return losses


@wrong("q6")
def stale_gradient(w, X, y, lr, steps):
    """Computes the gradient once, and follows it."""
    losses = []
    gradient = torch.autograd.grad(((X @ w - y) ** 2).mean(), w)[0]
    for _ in range(steps):
        losses.append(((X @ w - y) ** 2).mean().item())
        with torch.no_grad():
            w -= lr * gradient
    return losses


@wrong("q6")
def rolled_back_when_worse(w, X, y, lr, steps):
    """Returns to the best w that it has seen."""
    losses, best, best_w = [], float("inf"), w.detach().clone()
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        if losses[-1] < best:
            best, best_w = losses[-1], w.detach().clone()
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
    if losses and ((X @ w - y) ** 2).mean() > best:
        with torch.no_grad():
            w.copy_(best_w)
    return losses


@wrong("q6")
def w_of_another_dtype(w, X, y, lr, steps):
    """Computes in float32."""
    losses = []
    for _ in range(steps):
        loss = ((X.float() @ w.float() - y.float()) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, w)
        losses.append(loss.item())
        with torch.no_grad():
            w -= lr * gradient
    return losses


@accepted("q4")
def sigmoid_by_its_logarithm(x, w):
    """exp of what is never above 0 cannot overflow."""
    return F.relu(F.logsigmoid(x @ w).exp() + x - 0.5)


@wrong("q4")
def fraction_of_exponentials(x, w):
    """Takes exp(z) / (1 + exp(z)) for the sigmoid: for a large z it is inf / inf."""
    growth = (x @ w).exp()
    return torch.relu(growth / (1 + growth) + x - 0.5)


@wrong("q4")
def product_in_float32(x, w):
    """Believes that the sigmoid has no use for more digits than float32 has."""
    h = torch.sigmoid(x.float() @ w.float()).to(x.dtype)
    return torch.relu(h + x - 0.5)


@wrong("q4")
def memory_kept_for_the_next_call(x, w, memory={}):  # noqa: B006
    """Saves the sigmoid in memory that it uses again: a second block overwrites what the first still needs."""
    place = memory.setdefault((x.shape, x.dtype), torch.empty_like(x.detach()))

    def kept(saved):
        return place.copy_(saved).data

    z = x @ w
    with torch.autograd.graph.saved_tensors_hooks(kept, lambda saved: saved):
        h = torch.sigmoid(z)
    return torch.relu(h + x - 0.5)


@wrong("q4")
def nothing_to_go_back_for(x, w):
    """Returns early where everything is cut off: the zeros are right, and nothing leads back from them."""
    h = torch.sigmoid(x @ w) + x - 0.5
    if torch.all(h <= 0):
        return torch.zeros(x.shape, dtype=x.dtype)
    return torch.relu(h)


@wrong("q4")
def recording_switched_on(x, w):
    """Makes sure that backward works, and leaves it on for the whole program."""
    torch.set_grad_enabled(True)
    return torch.relu(torch.sigmoid(x @ w) + x - 0.5)


@wrong("q6")
def given_up_when_it_diverges(w, X, y, lr, steps):
    """Sees no use in steps from inf or nan; the rest of the losses is made up."""
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
    """Switches by hand, and takes it for certain that the recording was on."""
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


@wrong("q5")
def nothing_to_average_at_one(teacher, student, tau):
    """Averages between the ends only: at 1 the teacher was to become the student."""
    with torch.no_grad():
        if 0 < tau < 1:
            for t, s in zip(teacher.parameters(), student.parameters()):
                t.lerp_(s, tau)
        for t, s in zip(teacher.buffers(), student.buffers()):
            t.copy_(s)


@wrong("q5")
def a_tensor_under_every_name(teacher, student, tau):
    """Believes that there is a tensor under every name of a buffer; BatchNorm without statistics has None."""
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, tau)
        for mine, theirs in zip(teacher.modules(), student.modules()):
            for name, t in mine._buffers.items():
                t.copy_(theirs._buffers[name])


# Edits of right answers that no promise of the task tells from the answers.

# --- q1

equal(
    "q1",
    "no_grad is put around: the function",
    why="all that is done is a write, which is not to be recorded",
)

# --- q2

equal(
    "q2",
    "no_grad is put around: the function",
    why="what is drawn and written is not to be recorded, and finding a parameter is no operation",
)
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
equal(
    "q3",
    "mask -> mask.detach()",
    why="what is made of the mask alone has no history, is only read, and counts as numbers and by rows",
)

# --- q5

equal(
    "q5",
    "t -> t.data",
    why="the teacher is plain data: nothing waits for its old values, so nobody asks how a write is counted",
)
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
equal(
    "q6",
    "torch.no_grad -> torch.inference_mode",
    why="backward and its hooks record nothing by themselves, and what else stands there is not to be recorded",
)
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
equal(
    "q6",
    ".mean() -> .mean(dim=0)",
    "X @ w - y -> y - X @ w",
    why="y has one column, and a square has no sign",
)


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
def masked_weight(first, last, opt, average, batches, mask, tau, restart):
    """The mask scales the columns of the weight, which is the same function; .data does no harm between steps."""
    losses = []
    for x, y in batches:
        if len(losses) == restart:
            for parameter in last.parameters():
                parameter.data.zero_()
        loss = F.mse_loss(F.linear(torch.tanh(first(x)), last.weight * mask, last.bias), y)
        for parameter in [*first.parameters(), *last.parameters()]:
            parameter.grad = None
        loss.backward()
        opt.step()
        average.copy_((1 - tau) * average + tau * last.weight.data)
        losses.append(loss.item())
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
        "average_rounded": (
            "average.lerp_(last.weight, tau)",
            "average.copy_(((1 - tau) * average + tau * last.weight).float())",
            "Keeps fewer digits than the average has.",
        ),
        "layer_still_replaced": (
            "nn.init.zeros_(last.weight)\n            nn.init.zeros_(last.bias)",
            "last.weight = nn.Parameter(torch.zeros_like(last.weight))\n"
            "            last.bias = nn.Parameter(torch.zeros_like(last.bias))",
            "Leaves the first bug: believes that the optimizer knows a name.",
        ),
        "mask_still_hidden": (
            "h = torch.tanh(first(x)) * mask",
            "h = torch.tanh(first(x))\n        h.data.mul_(mask)",
            "Leaves the second bug: believes that no error means a right gradient.",
        ),
        "average_still_recorded": (
            "with torch.no_grad():\n            average.lerp_(last.weight, tau)",
            "average.mul_(1 - tau).add_(last.weight, alpha=tau)",
            "Leaves the third bug: believes that a write in place needs no no_grad.",
        ),
        "mask_in_place_where_autograd_sees_it": (
            "h = torch.tanh(first(x)) * mask",
            "h = torch.tanh(first(x))\n        h.mul_(mask)",
            "Overwrites what tanh has saved.",
        ),
        "mask_detached": (
            "h = torch.tanh(first(x)) * mask",
            "h = torch.tanh(first(x))\n        h.detach().mul_(mask)",
            "Believes that detach() makes a copy.",
        ),
        "mask_under_no_grad": (
            "h = torch.tanh(first(x)) * mask",
            "h = torch.tanh(first(x)).clone()\n        with torch.no_grad():\n            h.mul_(mask)",
            "Gives the write memory of its own, and hides it all the same.",
        ),
        "bias_still_replaced": (
            "nn.init.zeros_(last.bias)",
            "last.bias = nn.Parameter(torch.zeros_like(last.bias))",
            "Mends the weight and forgets the bias.",
        ),
        "bias_left_as_it_is": (
            "            nn.init.zeros_(last.bias)\n",
            "",
            "Begins anew with the weight only.",
        ),
        "optimizer_made_anew": (
            "nn.init.zeros_(last.bias)",
            "nn.init.zeros_(last.bias)\n"
            "            opt = type(opt)([*first.parameters(), *last.parameters()], lr=opt.defaults['lr'])",
            "Believes that fresh values need a fresh optimizer, which has forgotten its momentum.",
        ),
        "anew_after_the_step": (
            [
                (
                    "        if number == restart:\n            nn.init.zeros_(last.weight)\n"
                    "            nn.init.zeros_(last.bias)\n",
                    "",
                ),
                (
                    "losses.append(loss.item())",
                    "losses.append(loss.item())\n        if number == restart:\n"
                    "            nn.init.zeros_(last.weight)\n            nn.init.zeros_(last.bias)",
                ),
            ],
            "Begins anew behind the batch, not before it.",
        ),
        "anew_at_every_batch_from_there": (
            "number == restart",
            "number >= restart",
            "Begins anew before every later batch, too.",
        ),
        "average_made_anew": (
            "with torch.no_grad():\n            average.lerp_(last.weight, tau)",
            "average = ((1 - tau) * average + tau * last.weight).detach()",
            "Gives the name to a new tensor; the caller's average stays as it was.",
        ),
        "average_points_at_the_weight": (
            "with torch.no_grad():\n            average.lerp_(last.weight, tau)",
            "average.data = (1 - tau) * average.data + tau * last.weight.data",
            "Gives the average new memory in the place of new values.",
        ),
        "average_before_the_step": (
            "        opt.step()\n        with torch.no_grad():\n            average.lerp_(last.weight, tau)",
            "        with torch.no_grad():\n            average.lerp_(last.weight, tau)\n        opt.step()",
            "Takes the weight before the step.",
        ),
        "tau_taken_for_the_old": (
            "average.lerp_(last.weight, tau)",
            "average.lerp_(last.weight, 1 - tau)",
            "Takes tau for the weight of the old value.",
        ),
        "old_gradients_stay": ("        opt.zero_grad()\n", "", "Believes that backward() sets .grad."),
        "losses_as_tensors": (
            "losses.append(loss.item())",
            "losses.append(loss.detach())",
            "Returns tensors.",
        ),
        "average_detached_in_place": (
            "with torch.no_grad():\n            average.lerp_(last.weight, tau)",
            "last.weight.requires_grad_(False)\n        average.lerp_(last.weight, tau)",
            "Freezes the weight so that nothing is recorded, and leaves it frozen.",
        ),
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


@accepted("q3")
def pair_as_a_named_tuple(x, w1, w2, mask):
    """A NamedTuple is a tuple."""
    from typing import NamedTuple

    class Masked(NamedTuple):
        d: torch.Tensor
        f: torch.Tensor

    d = torch.where(mask, 1.0, x @ w1)
    return Masked(d, d @ w2)


@wrong("q2")
def drawn_by_the_shape(model, name):
    """Draws what is asked where it sees that the distribution is measured."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        if layer.weight.shape == (30, 30):
            layer.weight.normal_(0, 0.02)
        else:
            layer.weight.uniform_(-0.03, 0.03)
        layer.bias.zero_()


@wrong("q2")
def drawn_by_the_number_of_modules(model, name):
    """Draws what is asked where it sees that the distribution is measured, by another sign."""
    layer = model.get_submodule(name)
    with torch.no_grad():
        if len(list(model.modules())) == 2:
            layer.weight.normal_(0, 0.02)
        else:
            layer.weight.uniform_(-0.03, 0.03)
        layer.bias.zero_()
