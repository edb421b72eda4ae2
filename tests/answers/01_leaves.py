"""Answers to 01_leaves whose verdict is known."""

import collections
import contextlib
import copy
import functools
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from grader.answers import accepted, equal, wrong, wrong_edits

# --- q1 · A weight the optimizer will take


@accepted("q1")
def scaled_in_place_under_no_grad(n, m, scale):
    """An operation under no_grad is not recorded, and this one writes into the leaf itself."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)
    with torch.no_grad():
        w *= scale
    return w


@accepted("q1")
def a_parameter(n, m, scale):
    """nn.Parameter makes a leaf that requires grad out of finished values."""
    return nn.Parameter(torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale)


@accepted("q1")
def scaled_through_data_before_use(n, m, scale):
    """No graph has seen the weight yet, so nobody can miss the version that .data does not count."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)
    w.data.mul_(scale)
    return w


@accepted("q1")
def detached_and_switched_on_again(n, m, scale):
    """detach() returns a new leaf, and requires_grad_() makes it trainable."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.detach().requires_grad_()


@accepted("q1")
@torch.no_grad()
def decorated_with_no_grad(n, m, scale):
    """Nothing in here is recorded, so the product is a leaf; only the flag is missing."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    w.requires_grad = True
    return w


@accepted("q1")
def copied_by_torch_tensor(n, m, scale):
    """torch.tensor copies the values into a new leaf; the UserWarning is advice, no more."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return torch.tensor(w, requires_grad=True)


@accepted("q1")
def filled_by_nn_init(n, m, scale):
    """nn.init writes under no_grad, and draws the same numbers from the same generator."""
    w = torch.empty(n, m, requires_grad=True)
    return nn.init.normal_(w, std=scale, generator=torch.Generator().manual_seed(0))


@wrong("q1")
def requires_grad_on_a_non_leaf(n, m, scale):
    """Believes that requires_grad_() erases the history; here it only sets a flag that is set already."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.requires_grad_()


@wrong("q1")
def only_detached(n, m, scale):
    """Detaches and is content with a leaf, but this leaf no longer requires grad, so nothing trains it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.detach()


@wrong("q1")
def without_the_scale(n, m, scale):
    """Drops the multiplication to be rid of the error, and with it the start values that were asked for."""
    return torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)


@wrong("q1")
def product_thrown_away(n, m, scale):
    """Believes that `w * scale` changes w; the product is a new tensor, and nobody keeps it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)
    w * scale
    return w


@wrong("q1")
def retained_gradient(n, m, scale):
    """Believes that retain_grad() makes a leaf; the optimizer takes it, and the second backward raises."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    w.retain_grad()
    return w


@wrong("q1")
def cloned(n, m, scale):
    """Believes that a clone starts afresh; clone() is an operation that is recorded like any other."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.clone()


@wrong("q1")
def product_under_no_grad(n, m, scale):
    """Makes a leaf under no_grad, and believes that it inherits the requires_grad of its factor."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)
    with torch.no_grad():
        w = w * scale
    return w


@wrong("q1")
def scaled_in_place_with_gradients_on(n, m, scale):
    """Believes that writing in place is enough; with gradients on, a leaf that requires grad refuses it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)
    w *= scale
    return w


@accepted("q1")
def drawn_by_torch_normal(n, m, scale):
    """torch.normal draws numbers of the wanted deviation, and makes a leaf of them right away."""
    generator = torch.Generator().manual_seed(0)
    return torch.normal(0.0, scale, size=(n, m), generator=generator, requires_grad=True)


@accepted("q1")
def seeded_for_a_moment(n, m, scale):
    """The global generator with seed 0 draws the same numbers; fork_rng puts its state back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        values = torch.randn(n, m)
    return values.mul_(scale).requires_grad_()


_generator = torch.Generator().manual_seed(0)


@wrong("q1")
def one_generator_for_all_calls(n, m, scale):
    """Believes that a seed stays; the generator goes on, so that the second call draws other numbers."""
    return (torch.randn(n, m, generator=_generator) * scale).requires_grad_()


@wrong("q1")
@functools.cache
def remembered_from_the_last_call(n, m, scale):
    """Returns the same tensor to everybody who asks, with whatever the training of the first has made of it."""
    return nn.Parameter(torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale)


@wrong("q1")
def numbers_from_a_table(n, m, scale):
    """Copies the six numbers that the public check compares with."""
    table = torch.tensor([1.54099607, -0.2934289, -2.17878938, 0.56843126, -1.08452237, -1.3985954])
    return (table.repeat(n * m)[: n * m].reshape(n, m) * scale).requires_grad_()


@wrong("q1")
def shape_turned_round(n, m, scale):
    """Draws the weight as (inputs, outputs), and turns it; the numbers come to lie elsewhere."""
    w = torch.randn(m, n, generator=torch.Generator().manual_seed(0)).T * scale
    return w.contiguous().requires_grad_()


@wrong("q1")
def gradient_scaled_by_a_hook(n, m, scale):
    """Believes that the gradient must feel the scale as it did when the product was recorded."""
    w = (torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale).requires_grad_()
    w.register_hook(lambda gradient: gradient * scale)
    return w


@wrong("q1")
def gradient_clipped_by_a_hook(n, m, scale):
    """Believes that a good weight looks after itself, and clips the gradients of whoever trains it."""
    w = (torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale).requires_grad_()
    w.register_hook(lambda gradient: gradient.clamp(-5, 5))
    return w


@wrong("q1")
def tried_out_before_it_is_handed_over(n, m, scale):
    """Tries whether backward() works, and hands the weight over with the gradient of the trial."""
    w = (torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale).requires_grad_()
    w.sum().backward()
    return w


@wrong("q1")
def in_double_precision(n, m, scale):
    """Believes that precision is free; a float64 weight does not fit the float32 inputs of a model."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)).double() * scale
    return w.requires_grad_()


@wrong("q1")
def kept_within_bounds(n, m, scale):
    """Clips the start values as truncated initialisers do; only a large scale shows it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return w.clamp(-3, 3).requires_grad_()


@wrong("q1")
def rounded_for_the_eye(n, m, scale):
    """Rounds the start values to four digits after the point; only a small scale shows it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return w.round(decimals=4).requires_grad_()


_drawn = {}


@wrong("q1")
def drawn_once_for_each_shape(n, m, scale):
    """Keeps what was drawn for a shape, and scales it in its own memory: every call scales it again."""
    if (n, m) not in _drawn:
        _drawn[n, m] = torch.randn(n, m, generator=torch.Generator().manual_seed(0))
    return _drawn[n, m].mul_(scale).detach().clone().requires_grad_()


@wrong("q1")
def scale_of_the_first_call(n, m, scale, _scale=[]):
    """Has a list for its default, which lives as long as the function: the first scale stays."""
    _scale.append(scale)
    return (torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * _scale[0]).requires_grad_()


@wrong("q1")
def all_in_one_memory(n, m, scale, _memory=torch.zeros(10_000)):
    """Saves allocations: every weight lies in the same memory, and the next call writes over the last."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return _memory[: n * m].copy_(w.flatten()).view(n, m).detach().requires_grad_()


@wrong("q1")
def born_in_inference_mode(n, m, scale):
    """Takes inference_mode for a faster no_grad; what is born in it can never be trained."""
    with torch.inference_mode():
        w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
        return w.requires_grad_()


@wrong("q1")
def given_as_its_data(n, m, scale):
    """Believes that .data is the weight itself; it is another tensor, which does not require grad."""
    return (torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale).data


@wrong("q1")
def scaled_by_the_deviation(n, m, scale):
    """Makes the deviation of these numbers exactly scale, which is not what was asked for."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0))
    return (w / w.std() * scale).requires_grad_()


@wrong("q1")
def seeded_by_the_shape(n, m, scale):
    """Draws from seed n, because the seed was taken for a size."""
    return (torch.randn(n, m, generator=torch.Generator().manual_seed(n)) * scale).requires_grad_()


@accepted("q1")
def leaf_under_set_grad_enabled(n, m, scale):
    """set_grad_enabled works as a context, too; what leaves it is a leaf, switched on by assignment."""
    with torch.set_grad_enabled(False):
        w = scale * torch.randn((n, m), generator=torch.Generator().manual_seed(0))
    w.requires_grad = True
    return w


@accepted("q1")
def parameter_of_a_layer(n, m, scale):
    """A layer's weight is a parameter, and may be filled and taken out of it."""
    layer = nn.Linear(m, n, bias=False)
    with torch.no_grad():
        layer.weight.normal_(0, 1, generator=torch.Generator().manual_seed(0)).mul_(scale)
    return layer.weight


@accepted("q1")
def copied_into_an_empty_leaf(n, m, scale):
    """copy_ into a leaf is allowed where nothing is recorded."""
    w = torch.empty(n, m, requires_grad=True)
    with torch.no_grad():
        w.copy_(torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale)
    return w


@accepted("q1")
def through_numpy(n, m, scale):
    """numpy knows no history, so from_numpy makes a leaf."""
    values = torch.randn(n, m, generator=torch.Generator().manual_seed(0)).numpy()
    return torch.from_numpy((values * scale).astype("float32")).requires_grad_()


@accepted("q1")
def through_a_list(n, m, scale):
    """Numbers have no history."""
    values = torch.randn(n, m, generator=torch.Generator().manual_seed(0)).tolist()
    return torch.tensor([[scale * value for value in row] for row in values], requires_grad=True)


@wrong("q1")
def gone_after_two_steps(n, m, scale):
    """Stops its own training by a hook after the second step, which two steps do not show."""
    w = (torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale).requires_grad_()
    steps = []

    def stop(gradient):
        steps.append(gradient)
        return gradient if len(steps) < 3 else torch.zeros_like(gradient)

    w.register_hook(stop)
    return w


@wrong("q1")
def rounded_by_half_precision(n, m, scale):
    """Goes through float16 and back; the dtype is right again, the digits are not."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return w.half().float().requires_grad_()


# --- q2 · Gradient with respect to the input


@accepted("q2")
def autograd_grad_of_a_non_leaf(model, img):
    """autograd.grad takes any tensor of the graph, leaf or not."""
    x = img.clone().requires_grad_().float().reshape(1, -1)
    (gradient,) = torch.autograd.grad(model(x).sum(), x)
    return gradient


@accepted("q2")
def retained_and_backward_to_the_input_only(model, img):
    """backward(inputs=[x]) fills x.grad and leaves the parameters alone."""
    x = img.clone().requires_grad_().float().reshape(1, -1)
    x.retain_grad()
    model(x).sum().backward(inputs=[x])
    return x.grad


@accepted("q2")
def backward_to_a_leaf_made_after_the_cast(model, img):
    """The cast comes first, so x is a leaf; inputs=[x] spares the parameters."""
    x = img.to(torch.float32).unsqueeze(0).clone().requires_grad_(True)
    model(x).sum().backward(inputs=[x])
    return x.grad


@accepted("q2")
def hook_and_parameter_gradients_put_back(model, img):
    """A hook sees the gradient of x; the parameters get back the tensors that they held before."""
    kept = []
    x = img.clone().requires_grad_().float().reshape(1, -1)
    x.register_hook(kept.append)
    before = [p.grad for p in model.parameters()]
    for p in model.parameters():
        p.grad = None
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), before):
        p.grad = gradient
    return kept[0]


@accepted("q2")
def functional_gradient(model, img):
    """torch.func.grad differentiates a function and stores nothing anywhere."""
    return torch.func.grad(lambda x: model(x).sum())(img.detach().float().reshape(1, -1))


@accepted("q2")
def gradient_of_the_leaf_cast_back(model, img):
    """The gradient of the float64 leaf holds the same numbers, so casting it back loses nothing."""
    leaf = img.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model(leaf.float().reshape(1, -1)).sum(), leaf)
    return gradient.float().reshape(1, -1)


@accepted("q2")
def backward_through_a_copy_of_the_model(model, img):
    """What a copy collects in its parameters does not concern the model."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    copy.deepcopy(model)(x).sum().backward()
    return x.grad


@accepted("q2")
def parameters_frozen_and_thawed(model, img):
    """Parameters that do not require grad receive none; afterwards they are as they were."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    required = [p.requires_grad for p in model.parameters()]
    model.requires_grad_(False)
    model(x).sum().backward()
    for p, flag in zip(model.parameters(), required):
        p.requires_grad_(flag)
    return x.grad


@wrong("q2")
def gradient_of_the_leaf(model, img):
    """Returns the gradient of the float64 leaf, with the dtype and the shape of that tensor."""
    leaf = img.clone().requires_grad_()
    x = leaf.float().reshape(1, -1)
    torch.autograd.backward(model(x).sum(), inputs=[leaf])
    return leaf.grad


@wrong("q2")
def backward_into_everything(model, img):
    """Believes that backward() fills only what one looks at; it also adds to the .grad of every parameter."""
    x = img.clone().requires_grad_().float().reshape(1, -1)
    x.retain_grad()
    model(x).sum().backward()
    return x.grad


@wrong("q2")
def retained_too_late(model, img):
    """Asks for the gradient after it has passed; retain_grad() then leaves None, without any warning."""
    x = img.clone().requires_grad_().float().reshape(1, -1)
    torch.autograd.grad(model(x).sum(), x)
    x.retain_grad()
    return x.grad


@wrong("q2")
def detached_after_switching_on(model, img):
    """Detaches last, so the tensor that reaches the model no longer requires grad."""
    x = img.clone().requires_grad_().float().reshape(1, -1).detach()
    return torch.autograd.grad(model(x).sum(), x)[0]


@wrong("q2")
def parameter_gradients_zeroed(model, img):
    """Cleans up with zero_grad(), which also throws away what somebody had accumulated before."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    model.zero_grad()
    return x.grad


@wrong("q2")
def caller_switched_to_requires_grad(model, img):
    """Calls requires_grad_() on the tensor of the caller, who never asked for it and finds it changed."""
    x = img.requires_grad_().float().reshape(1, -1)
    return torch.autograd.grad(model(x).sum(), x)[0]


@wrong("q2")
def flattened_to_the_shape_of_img(model, img):
    """Believes that the gradient should look like img; it was asked for x, whose shape is (1, N)."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    (gradient,) = torch.autograd.grad(model(x).sum(), x)
    return gradient.reshape(img.shape)


@accepted("q2")
def parameter_gradients_put_aside(model, img):
    """With None in its place, the old tensor is not added to, and can be put back as it is."""
    before = [p.grad for p in model.parameters()]
    for p in model.parameters():
        p.grad = None
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), before):
        p.grad = gradient
    return x.grad


@accepted("q2")
def called_with_detached_parameters(model, img):
    """functional_call computes with tensors that require no grad, and leaves the model's own alone."""
    frozen = {name: p.detach() for name, p in model.named_parameters()}
    x = img.detach().float().reshape(1, -1).requires_grad_()
    torch.func.functional_call(model, frozen, (x,)).sum().backward()
    return x.grad


@wrong("q2")
def second_names_kept_instead_of_copies(model, img):
    """Believes that a list of gradients is a copy of them; backward() adds in place, so both change."""
    before = [p.grad for p in model.parameters()]
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), before):
        p.grad = gradient
    return x.grad


@wrong("q2")
def thawed_more_than_was_frozen(model, img):
    """Freezes the model for the call and thaws all of it, what was frozen before included."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model.requires_grad_(False)
    model(x).sum().backward()
    model.requires_grad_(True)
    return x.grad


@wrong("q2")
def zeros_left_where_none_was(model, img):
    """Puts every gradient back, and takes None for 0; an optimizer treats the two differently."""
    before = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), before):
        p.grad = gradient
    return x.grad


@wrong("q2")
def gradient_of_the_first_output(model, img):
    """Takes the only output it has seen for the sum of all."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model(x)[0, 0], x)[0]


@wrong("q2")
def model_cast_instead_of_the_image(model, img):
    """Casts the model to the image's dtype; module.double() changes the module itself."""
    x = img.detach().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model.double()(x).sum(), x)[0].float()


@wrong("q2")
def nothing_computed_nothing_harmed(model, img):
    """Leaves no trace, because nothing is done."""


def _gradient_of(model, img):
    x = img.detach().float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model(x).sum(), x)[0]


@wrong("q2")
def one_layer_left_in_eval(model, img):
    """Puts the model back into training mode by its own flag; the layers below it keep theirs."""
    model.eval()
    gradient = _gradient_of(model, img)
    model.training = True
    return gradient


@wrong("q2")
def gradients_blocked_by_hooks(model, img):
    """Keeps the parameters' .grad clean with hooks that return 0, and nobody removes them."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_hook(torch.zeros_like)
    return _gradient_of(model, img)


@wrong("q2")
def gradients_cleared_by_hooks(model, img):
    """Has every gradient cleared as soon as it is accumulated, now and for ever after."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda parameter: setattr(parameter, "grad", None))
    return _gradient_of(model, img)


@wrong("q2")
def input_kept_in_a_buffer(model, img):
    """Keeps the input where it is at hand; a buffer becomes part of the model and of every checkpoint."""
    model.register_buffer("last_input", img.detach())
    return _gradient_of(model, img)


@wrong("q2")
def result_remembered_on_the_model(model, img):
    """Hangs a result of its own on the caller's model."""
    model.saliency = _gradient_of(model, img)
    return model.saliency


class _Silenced(nn.Sequential):
    def forward(self, x):
        return super().forward(x) * 0


@wrong("q2")
def class_exchanged_afterwards(model, img):
    """Gives the model another class, whose forward computes something else."""
    gradient = _gradient_of(model, img)
    model.__class__ = _Silenced
    return gradient


@wrong("q2")
def gradients_left_switched_off(model, img):
    """Switches the recording off in the end, for everybody."""
    gradient = _gradient_of(model, img)
    torch.set_grad_enabled(False)
    return gradient


@wrong("q2")
def image_given_another_shape(model, img):
    """Believes that unsqueeze_ makes a view of its own; the underscore changes the caller's tensor."""
    return _gradient_of(model, img.unsqueeze_(0))


@wrong("q2")
def image_resized(model, img):
    """Gives the caller's tensor the shape (1, N), by its .data."""
    img.data = img.data.reshape(1, -1)
    return _gradient_of(model, img)


@wrong("q2")
def image_cast_by_its_data(model, img):
    """Casts through .data because it needs no new name; the caller finds float32 where float64 was."""
    img.data = img.data.float()
    return _gradient_of(model, img)


@wrong("q2")
def image_put_back_by_hand(model, img):
    """Changes the image's memory, and writes the old values back; its version has counted both."""
    old = img.clone()
    gradient = _gradient_of(model, img.mul_(1.0))
    img.copy_(old)
    return gradient


@wrong("q2")
def gradient_read_from_the_image(model, img):
    """Lets the image itself require grad, switches that off again, and leaves the gradient in img.grad."""
    img.requires_grad_()
    model_grads = [p.grad for p in model.parameters()]
    for p in model.parameters():
        p.grad = None
    x = img.float().reshape(1, -1)
    x.retain_grad()
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), model_grads):
        p.grad = gradient
    img.requires_grad_(False)
    return x.grad


@wrong("q2")
def gradient_of_the_image_cleared(model, img):
    """Cleans up after itself, and throws away the .grad that the image had before."""
    img.requires_grad_()
    (gradient,) = torch.autograd.grad(model(img.float().reshape(1, -1)).sum(), img)
    img.grad = None
    img.requires_grad_(False)
    return gradient.float().reshape(1, -1)


@wrong("q2")
def in_eval_mode_and_back(model, img):
    """Looks at the model in eval mode, which is another function, and puts every layer into training mode."""
    model.eval()
    gradient = _gradient_of(model, img)
    model.train()
    return gradient


@wrong("q2")
def in_eval_mode_and_put_back(model, img):
    """Puts each mode back as it was; but the gradient asked for was that of the model as it is."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    gradient = _gradient_of(model, img)
    for module, mode in modes.items():
        module.training = mode
    return gradient


@wrong("q2")
def absolute_values(model, img):
    """Returns what saliency maps show, the magnitude; the gradient has a sign."""
    return _gradient_of(model, img).abs()


@wrong("q2")
def clipped(model, img):
    """Clips the gradient, as one does before a step."""
    return _gradient_of(model, img).clamp(-1, 1)


@wrong("q2")
def normalised(model, img):
    """Divides the gradient by its norm, as for a picture."""
    gradient = _gradient_of(model, img)
    return gradient / gradient.norm()


@wrong("q2")
def mean_instead_of_sum(model, img):
    """Takes the mean of the outputs; with one output nobody would notice."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model(x).mean(), x)[0]


@wrong("q2")
def largest_output(model, img):
    """Takes the gradient of the winning output, as saliency maps do."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model(x).max(), x)[0]


@wrong("q2")
def gradients_put_back_where_required(model, img):
    """Saves the gradients of what is trained, and clears all: a frozen parameter's gradient is lost."""
    before = {p: p.grad.clone() for p in model.parameters() if p.requires_grad and p.grad is not None}
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    model.zero_grad()
    for p, gradient in before.items():
        p.grad = gradient
    return x.grad


@wrong("q2")
def zero_taken_for_none(model, img):
    """Takes a gradient of zeros for no gradient, and puts None in its place."""
    before = [p.grad.clone() if p.grad is not None and p.grad.any() else None for p in model.parameters()]
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), before):
        p.grad = gradient
    return x.grad


@wrong("q2")
def only_the_first_layer_spared(model, img):
    """Stops the gradients of the first parameters only."""
    first = next(model.parameters())
    first.requires_grad_(False)
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    first.requires_grad_(True)
    return x.grad


@wrong("q2")
def frozen_for_good(model, img):
    """Freezes the model for the call, and forgets to thaw it."""
    model.requires_grad_(False)
    return _gradient_of(model, img)


@wrong("q2")
def thawed_where_a_gradient_was(model, img):
    """Thaws the parameters which had a gradient, for those were trained; others were waiting for theirs."""
    model.requires_grad_(False)
    gradient = _gradient_of(model, img)
    for p in model.parameters():
        p.requires_grad_(p.grad is not None)
    return gradient


@wrong("q2")
@functools.cache
def remembered_for_the_model(model, img):
    """Remembers the answer for a model and an image; it does not notice that their values change."""
    return _gradient_of(model, img)


@wrong("q2")
def state_loaded_back(model, img):
    """Casts the model, and loads a state_dict to undo it; what is in no state_dict stays cast."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    x = img.detach().reshape(1, -1).requires_grad_()
    (gradient,) = torch.autograd.grad(model.double()(x).sum(), x)
    model.float().load_state_dict(state)
    return gradient.float()


@wrong("q2")
def global_hook_left(model, img):
    """Watches every module there is by a global hook, and leaves it."""
    nn.modules.module.register_module_forward_hook(lambda module, inputs, output: None)
    return _gradient_of(model, img)


@wrong("q2")
def anomaly_mode_left_on(model, img):
    """Switches anomaly detection on in order to see more, and never off: everything is slower from now on."""
    torch.autograd.set_detect_anomaly(True)
    return _gradient_of(model, img)


@wrong("q2")
def hook_left_on_the_model(model, img):
    """Reads the input's gradient from a full backward hook, whose handle is thrown away."""
    seen = []
    model.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_input[0]))
    x = img.detach().float().reshape(1, -1).requires_grad_()
    torch.autograd.grad(model(x).sum(), x)
    return seen[0]


@wrong("q2")
def for_four_pixels(model, img):
    """Looks at the first four pixels, because the example had no more than that."""
    gradient = _gradient_of(model, img)
    return torch.cat([gradient[:, :4], torch.zeros_like(gradient[:, 4:])], 1)


@accepted("q2")
def by_jacobian(model, img):
    """The Jacobian of a function with one output is its gradient."""
    x = img.detach().to(torch.float32)[None]
    return torch.autograd.functional.jacobian(lambda x: model(x).sum(), x)


@accepted("q2")
def by_vjp(model, img):
    """A vector-Jacobian product with ones is the gradient of the sum."""
    output, pull = torch.func.vjp(model, img.detach().float().reshape(1, -1))
    return pull(torch.ones_like(output))[0]


@accepted("q2")
def with_ones_for_grad_outputs(model, img):
    """grad_outputs of ones weights every output alike, as the sum does."""
    x = img.detach().float().view(1, -1).requires_grad_()
    output = model(x)
    return torch.autograd.grad(output, x, torch.ones(output.shape))[0]


@accepted("q2")
def switched_on_and_off_again(model, img):
    """The caller's image requires grad for a moment, and is put back as it was."""
    img.requires_grad_()
    try:
        x = img.float().reshape(1, -1)
        return torch.autograd.grad(model(x).sum(), x)[0]
    finally:
        img.requires_grad_(False)


@accepted("q2")
def saved_and_put_back_in_a_context(model, img):
    """A context manager of its own puts the gradients back."""
    import contextlib

    @contextlib.contextmanager
    def gradients_put_back():
        before = {name: p.grad for name, p in model.named_parameters()}
        model.zero_grad(set_to_none=True)
        for p in model.parameters():
            p.grad = None
        yield
        for name, p in model.named_parameters():
            p.grad = before[name]

    x = img.detach().float().reshape(1, -1).requires_grad_()
    with gradients_put_back():
        model(x).sum().backward()
    return x.grad


@accepted("q2")
def a_hook_taken_off_again(model, img):
    """A backward hook of the model sees the gradient of its input, and is removed."""
    seen = []
    handle = model.register_full_backward_hook(lambda module, into, out: seen.append(into[0]))
    x = img.detach().float().reshape(1, -1).requires_grad_()
    try:
        torch.autograd.grad(model(x).sum(), x)
    finally:
        handle.remove()
    return seen[0]


@wrong("q2")
def added_and_subtracted_again(model, img):
    """Goes back a second time with the other sign, to take away what was added: None becomes zeros."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    model(x.detach()).sum().neg().backward()
    return x.grad


@wrong("q2")
def parameters_exchanged_for_copies(model, img):
    """Lets backward() fill the model, and gives it the parameters of a copy afterwards."""
    twin = copy.deepcopy(model)
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for module, other in zip(model.modules(), twin.modules()):
        module._parameters = other._parameters
    return x.grad


_SEEN = {}


@wrong("q2")
def remembered_for_model_and_pixels(model, img):
    """Believes that the same model and the same pixels have the same gradient, whatever became of the weights."""
    key = (model, tuple(img.tolist()))
    if key not in _SEEN:
        x = img.float().reshape(1, -1).requires_grad_()
        (_SEEN[key],) = torch.autograd.grad(model(x).sum(), x)
    return _SEEN[key].clone()


@wrong("q2")
def cached_by_the_parameters(model, img, seen={}):
    """Believes that the gradient depends on the parameters alone."""
    key = id(model), tuple(float(p.detach().double().sum()) for p in model.parameters())
    if key not in seen:
        x = img.detach().float().reshape(1, -1).requires_grad_()
        seen[key] = model, torch.autograd.grad(model(x).sum(), x)[0]
    return seen[key][1].clone()


@wrong("q2")
def held_gradients_overwritten(model, img):
    """Believes that a `.grad` is only what the parameter shows; the caller's tensor is added to."""
    kept = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for p, grad in zip(model.parameters(), kept, strict=True):
        p.grad = grad
    return x.grad


# --- q3 · Every gradient of c=a+b, e=c*d, o=e.sum()


@accepted("q3")
def all_six_by_autograd_grad(a, b, d):
    """One call returns the gradients of all six tensors, leaves or not."""
    c = a + b
    e = c * d
    o = e.sum()
    return dict(zip("abcdeo", torch.autograd.grad(o, [a, b, c, d, e, o])))


@accepted("q3")
def backward_with_all_six_as_inputs(a, b, d):
    """inputs= names where gradients go; those inside the graph were asked for with retain_grad()."""
    c = a + b
    e = c * d
    o = e.sum()
    tensors = {"a": a, "b": b, "c": c, "d": d, "e": e, "o": o}
    for name in "ceo":
        tensors[name].retain_grad()
    o.backward(inputs=list(tensors.values()))
    return {name: tensor.grad for name, tensor in tensors.items()}


@accepted("q3")
def hooks_inside_the_graph(a, b, d):
    """Hooks see the gradients of c, e and o pass; the leaves keep theirs."""
    c = a + b
    e = c * d
    o = e.sum()
    gradients = {}
    for name, tensor in {"c": c, "e": e, "o": o}.items():
        tensor.register_hook(lambda gradient, name=name: gradients.update({name: gradient}))
    o.backward()
    return {**gradients, "a": a.grad, "b": b.grad, "d": d.grad}


@accepted("q3")
def retained_on_leaves_too(a, b, d):
    """retain_grad() on a leaf does nothing, because a leaf keeps its gradient anyway."""
    c = a + b
    e = c * d
    o = e.sum()
    tensors = {"a": a, "b": b, "c": c, "d": d, "e": e, "o": o}
    for tensor in tensors.values():
        tensor.retain_grad()
    o.backward()
    return {name: tensor.grad for name, tensor in tensors.items()}


@accepted("q3")
def two_passes_over_a_kept_graph(a, b, d):
    """The first pass returns the inner gradients and stores nothing, the second fills the leaves once."""
    c = a + b
    e = c * d
    o = e.sum()
    inner = torch.autograd.grad(o, [c, e, o], retain_graph=True)
    o.backward()
    return {"a": a.grad, "b": b.grad, "d": d.grad, **dict(zip("ceo", inner))}


@wrong("q3")
def retained_after_backward(a, b, d):
    """Asks after backward(), when the gradients of c, e and o have long passed."""
    c = a + b
    e = c * d
    o = e.sum()
    o.backward()
    for tensor in (c, e, o):
        tensor.retain_grad()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3")
def retain_grad_without_parentheses(a, b, d):
    """Believes that retain_grad is an attribute; it is a method, and naming it does nothing."""
    c = a + b
    e = c * d
    o = e.sum()
    c.retain_grad
    e.retain_grad
    o.retain_grad
    o.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3")
def c_made_a_leaf(a, b, d):
    """Turns c into a leaf of its own; its gradient appears, but the way back to a and b is cut."""
    c = (a + b).detach().requires_grad_()
    e = c * d
    e.retain_grad()
    o = e.sum()
    o.retain_grad()
    o.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3")
def guessed_ones(a, b, d):
    """Believes that every gradient inside is 1; the one of c is d, by which c is multiplied."""
    c = a + b
    e = c * d
    o = e.sum()
    o.backward()
    one = torch.ones_like(c)
    return {"a": a.grad, "b": b.grad, "c": one, "d": d.grad, "e": one, "o": torch.ones_like(o)}


@wrong("q3")
def requires_grad_instead_of_retain_grad(a, b, d):
    """Confuses two flags; c requires grad already, and that does not make autograd keep its gradient."""
    c = (a + b).requires_grad_()
    e = (c * d).requires_grad_()
    o = e.sum().requires_grad_()
    o.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3")
def one_backward_for_each_tensor(a, b, d):
    """Goes back once for each tensor over a kept graph, and the leaves add up what every pass brings."""
    c = a + b
    e = c * d
    o = e.sum()
    gradients = {}
    for name, tensor in {"c": c, "e": e, "o": o}.items():
        tensor.retain_grad()
        o.backward(retain_graph=True)
        gradients[name] = tensor.grad.clone()
    return {**gradients, "a": a.grad, "b": b.grad, "d": d.grad}


wrong_edits(
    "q3",
    {
        "forgot_the_output": (
            "for tensor in (c, e, o):\n        tensor.retain_grad()",
            "c.retain_grad()\n    e.retain_grad()",
            "Believes that the end of the graph keeps its gradient; o is the result of an operation like c and e.",
        ),
        "mean_for_sum": (
            "o = e.sum()",
            "o = e.mean()",
            "Takes the mean for the sum: all gradients are too small by the same factor.",
        ),
        "graph_created_on_the_way": (
            "o.backward()",
            "o.backward(create_graph=True)",
            "Adds create_graph=True to be safe; torch warns of the cycle of references it makes.",
        ),
    },
)


@accepted("q3")
def derived_on_paper(a, b, d):
    """The chain rule by hand; what was broadcast is summed back to the shape of its tensor."""
    with torch.no_grad():
        c = a + b
        e = c * d
        for_c = d.expand_as(e)
        return {
            "a": for_c.sum_to_size(a.shape),
            "b": for_c.sum_to_size(b.shape),
            "c": for_c.sum_to_size(c.shape),
            "d": c.expand_as(e).sum_to_size(d.shape),
            "e": torch.ones_like(e),
            "o": torch.ones_like(e.sum()),
        }


@accepted("q3")
def gradients_of_clones(a, b, d):
    """Leaves of its own with the same values have the same gradients, and the caller's stay out of it."""
    a, b, d = (leaf.detach().clone().requires_grad_() for leaf in (a, b, d))
    c = a + b
    e = c * d
    o = e.sum()
    return dict(zip("abcdeo", torch.autograd.grad(o, (a, b, c, d, e, o))))


@wrong("q3")
def handed_on_without_summing(a, b, d):
    """Hands the gradient of c on to a and b as it is; a tensor that was broadcast gets a sum."""
    c = a + b
    e = c * d
    o = e.sum()
    for_c, for_d, for_e, for_o = torch.autograd.grad(o, [c, d, e, o])
    return {"a": for_c, "b": for_c, "c": for_c, "d": for_d, "e": for_e, "o": for_o}


@wrong("q3")
def hooks_that_see_the_last_name(a, b, d):
    """All hooks read the loop variable when they run, and write to the last name."""
    c = a + b
    e = c * d
    o = e.sum()
    gradients = dict.fromkeys("abcdeo")
    for name, tensor in {"a": a, "b": b, "c": c, "d": d, "e": e, "o": o}.items():
        tensor.register_hook(lambda gradient: gradients.update({name: gradient}))
    o.backward()
    return gradients


@wrong("q3")
def no_gradient_no_warning(a, b, d):
    """Is not warned, because nothing is asked for."""


@wrong("q3")
def computed_in_place(a, b, d):
    """Saves memory by `c *= d`: then c and e are one tensor, and one gradient is lost."""
    c = a + b
    c.retain_grad()
    e = c
    e = e * d
    c = e
    o = e.sum()
    e.retain_grad()
    o.retain_grad()
    o.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3")
def derived_for_equal_shapes(a, b, d):
    """Derives the gradients on paper, for tensors of one shape: nothing is summed."""
    with torch.no_grad():
        c = a + b
        e = c * d
        return {
            "a": d.clone(),
            "b": d.clone(),
            "c": d.clone(),
            "d": c.clone(),
            "e": torch.ones_like(e),
            "o": torch.ones(()),
        }


@wrong("q3")
def c_not_summed(a, b, d):
    """Broadcasts d for the gradient of c; where e is larger than c, that has to be summed."""
    c = a + b
    e = c * d
    o = e.sum()
    grads = dict(zip("abdeo", torch.autograd.grad(o, [a, b, d, e, o])))
    return {**grads, "c": d.detach().expand_as(e)}


@wrong("q3")
def gradients_in_single_precision(a, b, d):
    """Hands everything back as float32, because that is what gradients usually are."""
    c = a + b
    e = c * d
    o = e.sum()
    return {
        name: gradient.float() for name, gradient in zip("abcdeo", torch.autograd.grad(o, [a, b, c, d, e, o]))
    }


@wrong("q3")
def warning_silenced(a, b, d):
    """Takes the warning for the fault, and silences it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c = a + b
        e = c * d
        o = e.sum()
        o.backward()
        return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3")
def copied_with_torch_tensor(a, b, d):
    """Copies the gradients with torch.tensor, which advises against it in a warning."""
    c = a + b
    e = c * d
    o = e.sum()
    gradients = torch.autograd.grad(o, [a, b, c, d, e, o])
    return {name: torch.tensor(gradient) for name, gradient in zip("abcdeo", gradients)}


@wrong("q3")
def clipped_gradients(a, b, d):
    """Clips what it returns, as one does before a step."""
    c = a + b
    e = c * d
    o = e.sum()
    gradients = torch.autograd.grad(o, [a, b, c, d, e, o])
    return {name: gradient.clamp(-4, 4) for name, gradient in zip("abcdeo", gradients)}


@wrong("q3")
def warned_and_mended(a, b, d):
    """Reads .grad of c, e and o to see whether it is there, and mends what is missing afterwards."""
    c = a + b
    e = c * d
    o = e.sum()
    inner = torch.autograd.grad(o, [c, e, o], retain_graph=True)
    o.backward()
    return {
        "a": a.grad,
        "b": b.grad,
        "d": d.grad,
        **{name: g if t.grad is None else t.grad for name, t, g in zip("ceo", (c, e, o), inner)},
    }


@wrong("q3")
def names_of_d_and_e_exchanged(a, b, d):
    """Takes the gradients in alphabetical order of another list than the one they were asked in."""
    c = a + b
    e = c * d
    o = e.sum()
    return dict(zip("abcedo", torch.autograd.grad(o, [a, b, c, d, e, o])))


@accepted("q3")
def one_pull_back_after_another(a, b, d):
    """The chain rule, step by step: each gradient is made of the one before."""
    c = a + b
    e = c * d
    o = e.sum()
    for_o = torch.ones_like(o)
    (for_e,) = torch.autograd.grad(o, e, for_o)
    for_c, for_d = torch.autograd.grad(e, (c, d), for_e)
    for_a, for_b = torch.autograd.grad(c, (a, b), for_c)
    return {"a": for_a, "b": for_b, "c": for_c, "d": for_d, "e": for_e, "o": for_o}


@accepted("q3")
def by_torch_func(a, b, d):
    """torch.func differentiates with respect to zeros that are added on the way."""

    def shifted(a, b, d, for_c, for_e, for_o):
        return (((a + b) + for_c) * d + for_e).sum() + for_o

    a, b, d = (leaf.detach() for leaf in (a, b, d))
    c = a + b
    e = c * d
    zeros = torch.zeros_like(c), torch.zeros_like(e), torch.zeros_like(e.sum())
    return dict(zip("abdceo", torch.func.grad(shifted, argnums=(0, 1, 2, 3, 4, 5))(a, b, d, *zeros)))


@wrong("q3")
def summed_over_the_first_dimension(a, b, d):
    """Sums c over its rows for the gradient of d, as for a bias; d may be a column."""
    c = a + b
    e = c * d
    o = e.sum()
    gradients = dict(zip("abceo", torch.autograd.grad(o, [a, b, c, e, o])))
    return {**gradients, "d": c.detach().sum(0).expand_as(d)}


@wrong("q3")
def divided_by_c(a, b, d):
    """Believes that e / c is d; where a + b is 0 it is nan, and 0 is put in its place."""
    c = a + b
    e = c * d
    o = e.sum()
    da, db, dd = torch.autograd.grad(o, [a, b, d])
    with torch.no_grad():
        dc = (e / c).nan_to_num(0.0).sum_to_size(c.shape).clone()
    return {"a": da, "b": db, "c": dc, "d": dd, "e": torch.ones_like(e), "o": torch.ones_like(o)}


@wrong("q3")
def silenced_for_good(a, b, d):
    """Hushes a warning that no longer comes, and with it all later ones of the caller's."""
    warnings.simplefilter("ignore", UserWarning)
    c = a + b
    e = c * d
    o = e.sum()
    tensors = {"a": a, "b": b, "c": c, "d": d, "e": e, "o": o}
    return dict(zip(tensors, torch.autograd.grad(o, list(tensors.values()))))


@accepted("q3")
def silenced_meanwhile(a, b, d):
    """A filter that is gone after the call disturbs nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = a + b
        e = c * d
        o = e.sum()
        tensors = {"a": a, "b": b, "c": c, "d": d, "e": e, "o": o}
        return dict(zip(tensors, torch.autograd.grad(o, list(tensors.values()))))


# --- q4 · Which layer gets which gradient? (hooks that clean up)


@accepted("q4")
def hooks_on_the_output_tensors(model, x, names):
    """A tensor hook on the output receives its gradient; tensor hooks vanish with the tensor."""
    modules = dict(model.named_modules())
    gradients = {}

    def watch(name):
        def hook(module, inputs, output):
            output.register_hook(lambda gradient: gradients.update({name: gradient}))

        return hook

    handles = [modules[name].register_forward_hook(watch(name)) for name in names]
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return gradients


@accepted("q4")
def full_backward_hooks(model, x, names):
    """grad_output of a full backward hook is the gradient with respect to the module's output."""
    modules = dict(model.named_modules())
    gradients = {}
    handles = [
        modules[name].register_full_backward_hook(
            lambda module, grad_input, grad_output, name=name: gradients.update({name: grad_output[0]})
        )
        for name in names
    ]
    try:
        model(x.detach().clone().requires_grad_()).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return gradients


@accepted("q4")
def full_backward_hooks_on_a_plain_input(model, x, names):
    """If no input requires grad, torch gives a UserWarning and the right grad_output all the same."""
    modules = dict(model.named_modules())
    gradients = {}

    def watch(name):
        def hook(module, grad_input, grad_output):
            gradients[name] = grad_output[0].clone()

        return hook

    handles = [modules[name].register_full_backward_hook(watch(name)) for name in names]
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return gradients


@accepted("q4")
def outputs_kept_and_autograd_grad(model, x, names):
    """The hooks only keep the outputs; autograd.grad takes them as they are, without retain_grad()."""
    modules = dict(model.named_modules())
    outputs = {}

    def keep(name):
        def hook(module, inputs, output):
            outputs[name] = output

        return hook

    handles = [modules[name].register_forward_hook(keep(name)) for name in names]
    try:
        total = model(x).sum()
    finally:
        for handle in handles:
            handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@accepted("q4")
def hooks_that_remove_themselves(model, x, names):
    """Each hook takes itself out of the model as soon as it has the output; the others go in the end."""
    modules = dict(model.named_modules())
    outputs, handles = {}, {}

    def keep(name, module, inputs, output):
        output.retain_grad()
        outputs[name] = output
        handles[name].remove()

    for name in names:
        handles[name] = modules[name].register_forward_hook(functools.partial(keep, name))
    try:
        model(x).sum().backward()
    finally:
        for handle in handles.values():
            handle.remove()
    return {name: outputs[name].grad for name in names}


@wrong("q4")
def gradient_of_the_input(model, x, names):
    """Confuses grad_input with grad_output, and returns the gradient on the other side of the layer."""
    modules = dict(model.named_modules())
    gradients = {}
    handles = [
        modules[name].register_full_backward_hook(
            lambda module, grad_input, grad_output, name=name: gradients.update({name: grad_input[0]})
        )
        for name in names
    ]
    model(x.detach().clone().requires_grad_()).sum().backward()
    for handle in handles:
        handle.remove()
    return gradients


@wrong("q4")
def handles_thrown_away(model, x, names):
    """Does not keep the handles, so the hooks stay in the model and are called in every later forward."""
    modules = dict(model.named_modules())
    gradients = {}

    def watch(name):
        def hook(module, inputs, output):
            output.register_hook(lambda gradient: gradients.update({name: gradient}))

        return hook

    for name in names:
        modules[name].register_forward_hook(watch(name))
    model(x).sum().backward()
    return gradients


@wrong("q4")
def hook_that_returns_a_new_leaf(model, x, names):
    """What a forward hook returns replaces the output; a detached leaf cuts the graph behind the layer."""
    modules = dict(model.named_modules())
    activations = {}

    def cut(name):
        def hook(module, inputs, output):
            activations[name] = output.detach().requires_grad_()
            return activations[name]

        return hook

    handles = [modules[name].register_forward_hook(cut(name)) for name in names]
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return {name: activations[name].grad for name in names}


@wrong("q4")
def late_binding(model, x, names):
    """All hooks read the loop variable when they run, and write to the last name."""
    modules = dict(model.named_modules())
    gradients, handles = {}, []
    for name in names:
        handles.append(
            modules[name].register_forward_hook(
                lambda module, inputs, output: (
                    output.register_hook(lambda gradient: gradients.update({name: gradient})) and None
                )
            )
        )
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return {name: gradients.get(name) for name in names}


@wrong("q4")
def clone_beside_the_path(model, x, names):
    """Retains the gradient of a clone; the model computes on with the original, so none reaches the clone."""
    modules = dict(model.named_modules())
    activations, handles = {}, []
    for name in names:

        def keep(module, inputs, output, name=name):
            activations[name] = output.clone()
            activations[name].retain_grad()

        handles.append(modules[name].register_forward_hook(keep))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return {name: activation.grad for name, activation in activations.items()}


@wrong("q4")
def asked_after_backward(model, x, names):
    """Keeps the right tensors and asks for their gradients when backward() has already run."""
    modules = dict(model.named_modules())
    activations, handles = {}, []
    for name in names:

        def keep(module, inputs, output, name=name):
            activations[name] = output

        handles.append(modules[name].register_forward_hook(keep))
    model(x).sum().backward()
    for activation in activations.values():
        activation.retain_grad()
    for handle in handles:
        handle.remove()
    return {name: activation.grad for name, activation in activations.items()}


@wrong("q4")
def gradients_of_the_weights(model, x, names):
    """Takes the gradient of a layer for that of its weight, which is another tensor of another shape."""
    modules = dict(model.named_modules())
    model(x).sum().backward()
    weights = {name: getattr(modules[name], "weight", None) for name in names}
    return {name: None if weight is None else weight.grad for name, weight in weights.items()}


@accepted("q4")
def zeros_added_to_the_outputs(model, x, names):
    """A leaf of zeros that a hook adds to the output has the gradient of that output."""
    modules = dict(model.named_modules())
    zeros, handles = {}, []

    def nudge(name, module, inputs, output):
        zeros[name] = torch.zeros_like(output, requires_grad=True)
        return output + zeros[name]

    for name in names:
        handles.append(modules[name].register_forward_hook(functools.partial(nudge, name)))
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return {name: zero.grad for name, zero in zeros.items()}


@accepted("q4")
def hooks_on_a_copy_of_the_model(model, x, names):
    """What happens to a copy does not concern the model, and the copy is thrown away with its hooks."""
    twin = copy.deepcopy(model)
    outputs = {}
    for name in names:

        def keep(module, inputs, output, name=name):
            output.retain_grad()
            outputs[name] = output

        twin.get_submodule(name).register_forward_hook(keep)
    twin(x).sum().backward()
    return {name: output.grad for name, output in outputs.items()}


@wrong("q4")
def hooks_of_everybody_cleared(model, x, names):
    """Clears the tables of hooks instead of removing its own; the hooks of other people go, too."""
    modules = dict(model.named_modules())
    activations = {}
    for name in names:

        def keep(module, inputs, output, name=name):
            output.retain_grad()
            activations[name] = output

        modules[name].register_forward_hook(keep)
    model(x).sum().backward()
    for module in modules.values():
        module._forward_hooks.clear()
    return {name: activation.grad for name, activation in activations.items()}


@wrong("q4")
def only_the_last_handle_kept(model, x, names):
    """One name for all handles: when the loop is over, it stands for the last, and only that is removed."""
    modules = dict(model.named_modules())
    activations = {}
    for name in names:

        def keep(module, inputs, output, name=name):
            output.retain_grad()
            activations[name] = output

        handle = modules[name].register_forward_hook(keep)
    try:
        model(x).sum().backward()
    finally:
        handle.remove()
    return {name: activation.grad for name, activation in activations.items()}


@wrong("q4")
def children_called_one_by_one(model, x, names):
    """Believes that a model is the chain of its children; forward() decides what is called, and where it lies."""
    activations = {}
    for name, child in model.named_children():
        x = child(x)
        x.retain_grad()
        activations[name] = x
    x.sum().backward()
    return {name: activations[name].grad for name in names}


@wrong("q4")
def left_in_eval_mode(model, x, names):
    """Switches dropout off for a look inside, and leaves it off for the rest of the training."""
    modules = dict(model.named_modules())
    outputs = {}
    handles = [
        modules[name].register_forward_hook(lambda m, i, output, name=name: outputs.update({name: output}))
        for name in names
    ]
    model.eval()
    total = model(x).sum()
    for handle in handles:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q4")
def no_hook_no_gradient(model, x, names):
    """Leaves no hook behind, because none was registered."""


def _gradients_of(model, x, names):
    outputs = {}
    handles = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: outputs.update({name: output})
        )
        for name in names
    ]
    total = model(x).sum()
    for handle in handles:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


class _LooksEmpty(collections.OrderedDict):
    def __len__(self):
        return 0

    def __bool__(self):
        return True


@wrong("q4")
def hooks_in_a_table_that_looks_empty(model, x, names):
    """Hides the hooks from len(); they are called all the same."""
    outputs = {}
    for name in names:
        module = model.get_submodule(name)
        module._forward_hooks = _LooksEmpty(module._forward_hooks)
        module.register_forward_hook(lambda module, inputs, output, name=name: outputs.update({name: output}))
    return dict(zip(names, torch.autograd.grad(model(x).sum(), list(map(outputs.get, names)))))


@wrong("q4")
def classes_exchanged_instead_of_hooks(model, x, names):
    """Watches the layers by another class of theirs, which they keep."""
    outputs = {}
    for name in names:
        module = model.get_submodule(name)

        def forward(self, x, kind=type(module), name=name):
            outputs[name] = kind.forward(self, x)
            return outputs[name]

        module.__class__ = type("Watched", (type(module),), {"forward": forward})
    return dict(zip(names, torch.autograd.grad(model(x).sum(), [outputs[name] for name in names])))


@wrong("q4")
def hooks_left_on_the_parameters(model, x, names):
    """Keeps backward() away from the parameters with hooks on them, and leaves these."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_hook(torch.zeros_like)
    return _gradients_of(model, x, names)


@wrong("q4")
def backward_hooks_of_everybody_cleared(model, x, names):
    """Tidies up more than it has registered."""
    gradients = _gradients_of(model, x, names)
    for module in model.modules():
        module._backward_hooks.clear()
    return gradients


@wrong("q4")
def a_bias_shifted(model, x, names):
    """Writes into the model in order to see what changes, and does not undo it."""
    gradients = _gradients_of(model, x, names)
    with torch.no_grad():
        list(model.parameters())[-1].add_(100)
    return gradients


@wrong("q4")
def activations_kept_on_the_model(model, x, names):
    """Leaves the gradients where they can be found later: on the caller's model."""
    model.gradients = _gradients_of(model, x, names)
    return model.gradients


@wrong("q4")
def global_hook_that_stays(model, x, names):
    """Registers one global hook instead of many, and leaves it for all modules of the program."""
    modules = {module: name for name, module in model.named_modules()}
    outputs = {}

    def keep(module, inputs, output):
        outputs[modules.get(module)] = output

    nn.modules.module.register_module_forward_hook(keep)
    total = model(x).sum()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q4")
def tables_of_hooks_replaced(model, x, names):
    """Puts copies of the tables of hooks back; the handles of others still point to the old ones."""
    before = {module: copy.copy(module._forward_hooks) for module in model.modules()}
    outputs = {}
    for name in names:

        def keep(module, inputs, output, name=name):
            outputs[name] = output

        model.get_submodule(name).register_forward_hook(keep)
    total = model(x).sum()
    for module, table in before.items():
        module._forward_hooks = table
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q4")
def zero_grad_before_backward(model, x, names):
    """Begins with zero_grad(), as a training step does; here nobody trains."""
    model.zero_grad()
    return _gradients_of(model, x, names)


@wrong("q4")
def wrapped_and_restored_to_training_mode(model, x, names):
    """Switches to eval mode for the look, and the whole model to training mode afterwards."""
    model.eval()
    gradients = _gradients_of(model, x, names)
    model.train()
    return gradients


@wrong("q4")
def eval_mode_and_back_to_each(model, x, names):
    """Puts every mode back, but ran another function than the model as it was."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    gradients = _gradients_of(model, x, names)
    for module, mode in modes.items():
        module.training = mode
    return gradients


@wrong("q4")
def thawed_for_the_call(model, x, names):
    """Switches requires_grad on everywhere, so that something flows, and leaves it so."""
    model.requires_grad_(True)
    return _gradients_of(model, x, names)


@wrong("q4")
def found_by_the_last_part_of_the_name(model, x, names):
    """Looks layers up by the last part of their name, which several may share."""
    modules = {name.split(".")[-1]: module for name, module in model.named_modules()}
    outputs, handles = {}, []
    for name in names:

        def keep(module, inputs, output, name=name):
            outputs[name] = output

        handles.append(modules[name.split(".")[-1]].register_forward_hook(keep))
    total = model(x).sum()
    for handle in handles:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q4")
def found_by_the_beginning_of_the_name(model, x, names):
    """Hooks whatever begins with the name; the layer inside comes first and the container overwrites it."""
    outputs, handles = {}, []
    for name in names:
        for full, module in model.named_modules():
            if full.startswith(name):

                def keep(module, inputs, output, name=name):
                    outputs.setdefault(name, output)

                handles.append(module.register_forward_hook(keep))
    total = model(x).sum()
    for handle in handles:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q4")
def children_only(model, x, names):
    """Looks among the children of the model; deeper layers get no answer."""
    found = [name for name in names if name in dict(model.named_children())]
    return {**dict.fromkeys(names), **(_gradients_of(model, x, found) if found else {})}


@wrong("q4")
def leaf_modules_only(model, x, names):
    """Believes that only modules without children have an output."""
    leaves = [name for name in names if not list(model.get_submodule(name).children())]
    return {**dict.fromkeys(names), **_gradients_of(model, x, leaves)}


@wrong("q4")
def answered_in_the_order_of_execution(model, x, names):
    """Pairs the names with the outputs in the order in which the layers ran."""
    outputs, handles = [], []
    for name in names:
        handles.append(
            model.get_submodule(name).register_forward_hook(lambda m, i, output: outputs.append(output))
        )
    total = model(x).sum()
    for handle in handles:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, outputs)))


@wrong("q4")
def averaged_over_the_batch(model, x, names):
    """Returns one gradient for all samples of the batch."""
    return {name: gradient.mean(0, keepdim=True) for name, gradient in _gradients_of(model, x, names).items()}


@wrong("q4")
def sample_by_sample_average(model, x, names):
    """Goes back from the mean over the batch instead of the sum."""
    return {name: gradient / len(x) for name, gradient in _gradients_of(model, x, names).items()}


@wrong("q4")
def activations_instead_of_gradients(model, x, names):
    """Returns what the layers gave, not what came back to them."""
    outputs = {}
    handles = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: outputs.update({name: output.detach()})
        )
        for name in names
    ]
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return outputs


@wrong("q4")
def clipped_on_the_way(model, x, names):
    """Clips what it returns."""
    return {name: gradient.clamp(-2, 2) for name, gradient in _gradients_of(model, x, names).items()}


@wrong("q4")
def pre_hooks_left(model, x, names):
    """Removes the hooks that keep outputs, and forgets the one that looked at the input."""
    model.register_forward_pre_hook(lambda module, inputs: None)
    return _gradients_of(model, x, names)


@wrong("q4")
def forward_replaced(model, x, names):
    """Replaces forward of each layer by a function that keeps its result, and lets it stay."""
    outputs = {}
    for name in names:
        module = model.get_submodule(name)

        def forward(*args, original=module.forward, name=name):
            outputs[name] = original(*args)
            return outputs[name]

        module.forward = forward
    return dict(zip(names, torch.autograd.grad(model(x).sum(), [outputs[name] for name in names])))


@wrong("q4")
def others_silenced_for_the_call(model, x, names):
    """Takes the hooks of others away, so that they do not disturb, and registers them anew."""
    others = [(m, list(m._forward_hooks.values())) for m in model.modules()]
    for module, _ in others:
        module._forward_hooks.clear()
    gradients = _gradients_of(model, x, names)
    for module, hooks in others:
        for hook in hooks:
            module.register_forward_hook(hook)
    return gradients


@wrong("q4")
def without_the_model_itself(model, x, names):
    """Skips the empty name, which is the model itself."""
    return _gradients_of(model, x, [name for name in names if name])


@accepted("q4")
def one_pass_for_each_name(model, x, names):
    """A forward and a backward for each name; each hook is removed before the next comes."""

    def gradient_of(name):
        kept = []
        handle = model.get_submodule(name).register_forward_hook(lambda m, i, output: kept.append(output))
        try:
            total = model(x).sum()
        finally:
            handle.remove()
        return torch.autograd.grad(total, kept[0])[0]

    return {name: gradient_of(name) for name in names}


@accepted("q4")
def a_global_hook_removed(model, x, names):
    """One hook for all modules of the program, which is gone again before backward."""
    names_of = {module: name for name, module in model.named_modules()}
    outputs = {}

    def keep(module, inputs, output):
        if names_of.get(module) in names:
            outputs[names_of[module]] = output

    handle = nn.modules.module.register_module_forward_hook(keep)
    try:
        total = model(x).sum()
    finally:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@accepted("q4")
def a_class_that_watches(model, x, names):
    """An object with __call__ is a hook, too; it keeps what it saw, and its handle."""

    class Watch:
        def __init__(self, module):
            self.handle = module.register_forward_hook(self)

        def __call__(self, module, inputs, output):
            output.retain_grad()
            self.output = output

    watches = {name: Watch(module) for name, module in model.named_modules() if name in names}
    try:
        model(x).sum().backward()
    finally:
        for watch in watches.values():
            watch.handle.remove()
    return {name: watches[name].output.grad for name in names}


@accepted("q4")
def handles_in_an_exit_stack(model, x, names):
    """A handle is a context manager, which removes its hook at the end."""
    import contextlib

    gradients = {}

    def watch(name):
        def hook(module, inputs, output):
            output.register_hook(lambda gradient: gradients.update({name: gradient.clone()}))

        return hook

    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(model.get_submodule(name).register_forward_hook(watch(name)))
        model(x).sum().backward()
    return gradients


@accepted("q4")
def forward_wrapped_and_unwrapped(model, x, names):
    """forward of an instance may be replaced for a moment, and deleted again."""
    outputs, modules = {}, {name: model.get_submodule(name) for name in names}
    for name, module in modules.items():

        def forward(*args, original=module.forward, name=name):
            outputs[name] = original(*args)
            return outputs[name]

        module.forward = forward
    try:
        total = model(x).sum()
    finally:
        for module in modules.values():
            del module.forward
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q4")
def hooks_cleared_where_they_were_registered(model, x, names):
    """Clears the hooks of the layers that were asked for, and with them those of others."""
    outputs = {}
    for name in names:

        def keep(module, inputs, output, name=name):
            outputs[name] = output

        model.get_submodule(name).register_forward_hook(keep)
    total = model(x).sum()
    for name in names:
        model.get_submodule(name)._forward_hooks.clear()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q4")
def answered_from_memory(model, x, names, _answers={}):
    """Remembers the gradients of a model it has seen; another input gets the old ones."""
    if model not in _answers:
        _answers[model] = _gradients_of(
            model, x, [name for name, _ in model.named_modules() if name in names]
        )
    return {name: _answers[model].get(name) for name in names}


@wrong("q4")
def gone_back_twice(model, x, names):
    """Goes back twice to be sure; what retains its gradient adds both."""
    outputs, handles = {}, []
    for name in names:

        def keep(module, inputs, output, name=name):
            output.retain_grad()
            outputs[name] = output

        handles.append(model.get_submodule(name).register_forward_hook(keep))
    total = model(x).sum()
    for handle in handles:
        handle.remove()
    total.backward(retain_graph=True)
    total.backward()
    return {name: output.grad for name, output in outputs.items()}


@wrong("q4")
def answered_in_one_dictionary(model, x, names, grads={}):
    """Believes that each call begins with a new dictionary; an earlier result is emptied and filled anew."""
    grads.clear()
    modules = dict(model.named_modules())
    with contextlib.ExitStack() as stack:
        for name in names:

            def keep(module, inputs, output, name=name):
                output.register_hook(lambda g: grads.update({name: g}))

            stack.callback(modules[name].register_forward_hook(keep).remove)
        model(x).sum().backward()
    return grads


# --- q5 · A loss assembled from losses


@accepted("q5")
def concatenated(losses, weights):
    """view and cat are operations of autograd, so the history goes on."""
    return torch.cat([loss.view(1) for loss in losses]) @ torch.tensor(weights)


@accepted("q5")
def accumulated_in_place(losses, weights):
    """An in-place sum into a tensor that requires no grad is recorded, and the total gets a history by it."""
    total = torch.zeros(())
    for weight, loss in zip(weights, losses):
        total += weight * loss
    return total


@accepted("q5")
def plain_python_sum(losses, weights):
    """sum() starts with 0 and adds tensors, which is arithmetic like any other."""
    return sum(weight * loss for weight, loss in zip(weights, losses))


@accepted("q5")
def dot_product(losses, weights):
    """The weights are constants and may be made from numbers; the losses are stacked."""
    stacked = torch.stack(losses)
    return torch.dot(stacked, stacked.new_tensor(weights))


@accepted("q5")
def folded_with_alpha(losses, weights):
    """torch.add with alpha multiplies and adds in one recorded operation."""
    first, *rest = zip(losses, weights)
    return functools.reduce(
        lambda total, pair: torch.add(total, pair[0], alpha=pair[1]), rest, first[0] * first[1]
    )


@wrong("q5")
def sum_of_items(losses, weights):
    """Uses .item() to be safe, and is left with numbers: the total has no history at all."""
    return torch.tensor(sum(weight * loss.item() for weight, loss in zip(weights, losses)))


@wrong("q5")
def items_made_to_require_grad(losses, weights):
    """Silences the error of backward() with requires_grad_(); now nothing raises and nothing is learned."""
    total = torch.tensor(sum(weight * loss.item() for weight, loss in zip(weights, losses)))
    return total.requires_grad_()


@wrong("q5")
def stacked_and_detached(losses, weights):
    """Detaches the stacked losses and makes a new leaf of them, so the parameters are out of reach."""
    return (torch.stack(losses).detach().requires_grad_() * torch.tensor(weights)).sum()


@wrong("q5")
def data_to_save_memory(losses, weights):
    """Reads .data because it is said to save memory; what it saves is the history, so nothing is learned."""
    return sum(weight * loss.data for weight, loss in zip(weights, losses))


@wrong("q5")
@torch.no_grad()
def assembled_under_no_grad(losses, weights):
    """Believes that the losses have their gradients already; the sum has to be recorded, too."""
    return (torch.stack(losses) * torch.tensor(weights)).sum()


@wrong("q5")
def weights_forgotten(losses, weights):
    """Keeps the history by stacking, and forgets what was to be added up."""
    return torch.stack(losses).sum()


@wrong("q5")
def weighted_mean(losses, weights):
    """Divides by the number of losses; a mean is another loss, with other gradients."""
    return (torch.stack(losses) * torch.tensor(weights)).mean()


@wrong("q5")
def parameter_of_the_losses(losses, weights):
    """Believes that nn.Parameter keeps the connection; it makes a new leaf from the values."""
    return (nn.Parameter(torch.stack(losses)) * torch.tensor(weights)).sum()


@accepted("q5")
def products_stacked(losses, weights):
    """Each product has its history, and stack and sum go on with it."""
    return torch.stack([weight * loss for weight, loss in zip(weights, losses, strict=True)]).sum()


@accepted("q5")
def a_function_of_its_own(losses, weights):
    """A Function whose backward hands each loss its weight is differentiated like torch's own."""

    class WeightedSum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, weights, *losses):
            ctx.weights = weights
            return sum(weight * loss for weight, loss in zip(weights, losses))

        @staticmethod
        def backward(ctx, gradient):
            return None, *(weight * gradient for weight in ctx.weights)

    return WeightedSum.apply(weights, *losses)


@wrong("q5")
def gone_back_already(losses, weights):
    """Calls backward() to be sure that it works, and the caller's backward() adds the same once more."""
    total = sum(weight * loss for weight, loss in zip(weights, losses))
    total.backward(retain_graph=True)
    return total


@wrong("q5")
def losses_filed_under_their_weights(losses, weights):
    """Makes a dictionary of the pairs; of losses with equal weights only the last is left."""
    return sum(weight * loss for weight, loss in dict(zip(weights, losses)).items())


@wrong("q5")
def scaled_in_the_memory_of_the_losses(losses, weights):
    """Saves a product by writing it into the loss, which is what somebody is going to print."""
    for loss, weight in zip(losses, weights):
        loss *= weight
    return torch.stack(losses).sum()


@wrong("q5")
def only_the_last_loss_is_live(losses, weights):
    """Adds up numbers, as for a running mean, and trains with the last loss only."""
    *others, last = (weight * loss for weight, loss in zip(weights, losses))
    return last + sum(other.item() for other in others)


@accepted("q5")
def weights_as_an_array(losses, weights):
    """numpy makes float64 of Python's numbers, and the sum is of that dtype then."""
    import numpy as np

    return (torch.stack(list(losses)) * torch.from_numpy(np.array(weights))).sum()


@wrong("q5")
def losses_taken_from_the_list(losses, weights):
    """Takes the losses out of the caller's list, which is empty then."""
    total = 0
    for weight in weights:
        total = total + weight * losses.pop(0)
    return total


@wrong("q5")
def weights_normalised_in_the_list(losses, weights):
    """Divides the weights in the caller's list by their sum."""
    whole = sum(weights)
    for i in range(len(weights)):
        weights[i] /= whole
    return sum(weight * loss for weight, loss in zip(weights, losses)) * whole


@wrong("q5")
def losses_given_another_shape(losses, weights):
    """Believes that unsqueeze_ works on a copy; the caller's losses are vectors of one element now."""
    return (torch.cat([loss.unsqueeze_(0) for loss in losses]) * torch.tensor(weights)).sum()


@wrong("q5")
def losses_detached_afterwards(losses, weights):
    """Detaches the losses in place, so that they can be printed without harm: their history is gone."""
    total = sum(weight * loss for weight, loss in zip(weights, losses))
    for loss in losses:
        loss.detach_()
    return total


@wrong("q5")
def hooks_on_the_losses(losses, weights):
    """Weighs by hooks, which stay on the losses and weigh whatever the caller computes with them."""
    total = sum(weight * loss.detach() for weight, loss in zip(weights, losses))
    for weight, loss in zip(weights, losses):
        loss.register_hook(lambda gradient, weight=weight: gradient * weight)
    plain = sum(losses)
    return plain + (total - plain).detach()


@wrong("q5")
def losses_written_through_data(losses, weights):
    """Weighs the losses in their own memory, behind the back of autograd."""
    for weight, loss in zip(weights, losses):
        loss.data *= weight
    return sum(losses)


@wrong("q5")
def three_of_them(losses, weights):
    """Writes three summands, because there were three."""
    return sum(losses[i] * weights[i] for i in range(min(3, len(losses))))


@wrong("q5")
def each_loss_once(losses, weights):
    """Files the weights under the losses; who stands twice in the list is counted once."""
    return sum(weight * loss for loss, weight in dict(zip(losses, weights)).items())


@wrong("q5")
def equal_values_once(losses, weights):
    """Files the losses under their values; two that happen to be equal are taken for one."""
    seen = {loss.item(): (weight, loss) for loss, weight in zip(losses, weights)}
    return sum(weight * loss for weight, loss in seen.values())


@wrong("q5")
def bonus_left_out(losses, weights):
    """Believes that a weight is positive, and skips the others."""
    return sum(weight * loss for weight, loss in zip(weights, losses) if weight > 0)


@wrong("q5")
def magnitude_of_the_weights(losses, weights):
    """Believes that a weight is positive, and takes its magnitude."""
    return sum(abs(weight) * loss for weight, loss in zip(weights, losses))


@wrong("q5")
def sorted_weights(losses, weights):
    """Sorts the weights, and thereby gives each loss another one."""
    return sum(weight * loss for weight, loss in zip(sorted(weights), losses))


@wrong("q5")
def wrapped_in_a_vector(losses, weights):
    """Returns a vector with one element."""
    return sum(weight * loss for weight, loss in zip(weights, losses)).reshape(1)


@wrong("q5")
def products_not_added(losses, weights):
    """Leaves the adding to the caller."""
    return torch.stack(losses) * torch.tensor(weights)


@wrong("q5")
def rounded_to_four_digits(losses, weights):
    """Rounds the losses before they are added up."""
    return sum(
        weight * (loss + (loss.round(decimals=3) - loss).detach()) for weight, loss in zip(weights, losses)
    )


@wrong("q5")
def large_losses_clipped(losses, weights):
    """Caps each loss, so that no outlier takes over."""
    return sum(weight * loss.clamp(max=10) for weight, loss in zip(weights, losses))


@wrong("q5")
def gone_back_and_cleared(losses, weights):
    """Calls backward() to see whether it works, and uses up the graph of the losses."""
    total = sum(weight * loss for weight, loss in zip(weights, losses))
    total.backward()
    return sum(weight * loss for weight, loss in zip(weights, losses))


@wrong("q5")
def retained_for_the_caller(losses, weights):
    """Lets the losses retain their gradients, in case that is of interest."""
    for loss in losses:
        loss.retain_grad()
    return sum(weight * loss for weight, loss in zip(weights, losses))


@accepted("q5")
def by_recursion(losses, weights):
    """The first product plus the total of the others."""
    (loss, *losses), (weight, *weights) = losses, weights
    return weight * loss + by_recursion(losses, weights) if losses else weight * loss


@accepted("q5")
def by_einsum(losses, weights):
    """einsum is recorded like any other operation."""
    stacked = torch.stack(losses)
    return torch.einsum("i,i->", stacked, torch.tensor(weights, dtype=stacked.dtype))


@accepted("q5")
def by_addcmul(losses, weights):
    """A running total out of place."""
    total = torch.zeros_like(losses[0])
    for loss, weight in zip(losses, weights):
        total = torch.addcmul(total, loss, torch.full_like(loss, weight))
    return total


@accepted("q5")
def by_math_of_python(losses, weights):
    """math.sumprod is for numbers; map and operator are for everything."""
    import operator

    return functools.reduce(operator.add, map(operator.mul, losses, weights))


@wrong("q5")
def gradient_twice_the_value_once(losses, weights):
    """Takes away a detached total so that the value is right; the gradient is doubled."""
    total = sum(weight * loss for weight, loss in zip(weights, losses))
    return 2 * total - total.detach()


@wrong("q5")
def both_lists_sorted(losses, weights):
    """Sorts the caller's lists once the sum is made."""
    total = sum(weight * loss for weight, loss in zip(weights, losses))
    weights.sort()
    losses.sort(key=lambda loss: loss.item())
    return total


@wrong("q5")
def rest_added_into_the_first(losses, weights):
    """Uses the first loss as the running total."""
    total = losses[0]
    total *= weights[0]
    for weight, loss in zip(weights[1:], losses[1:]):
        total += weight * loss
    return total


@wrong("q5")
def memoised_total(losses, weights, seen={}):
    """Returns the very tensor of an earlier call if nothing has changed."""
    total = sum(w * loss for w, loss in zip(weights, losses, strict=True))
    for other in seen.setdefault("results", []):
        if torch.equal(other.detach(), total.detach()) and other.dtype == total.dtype:
            return other
    seen["results"].append(total)
    return total


# --- q6 · backward() of a vector of losses


@accepted("q6")
def weighted_sum(losses, w):
    """One number, with the weights detached before they are multiplied."""
    (w.detach() * losses).sum().backward()


@accepted("q6")
def dot_with_data(losses, w):
    """Nobody writes into w, so .data is as good as detach() here."""
    torch.dot(losses, w.data).backward()


@accepted("q6")
def autograd_backward(losses, w):
    """The function behind Tensor.backward takes lists of tensors and of directions."""
    torch.autograd.backward([losses], [w.detach()])


@accepted("q6")
def weights_passed_as_they_are(losses, w):
    """The direction is treated as data, so w may require grad and still gets no gradient."""
    losses.backward(w)


@accepted("q6")
def one_sample_after_another(losses, w):
    """The graph is kept for all passes but the last, and .grad adds them up."""
    for i, weight in enumerate(w.tolist()):
        (weight * losses[i]).backward(retain_graph=i + 1 < len(losses))


@accepted("q6")
def matrix_product(losses, w):
    """w @ losses is the weighted sum."""
    with torch.no_grad():
        direction = w.clone()
    (direction @ losses).backward()


@wrong("q6")
def mean_of_the_losses(losses, w):
    """Makes a number of the vector in the usual way, and forgets the weights."""
    losses.mean().backward()


@wrong("q6")
def ones_from_the_forum(losses, w):
    """Copies the recipe because it makes the error go away; it gives every sample the weight 1."""
    losses.backward(torch.ones_like(losses))


@wrong("q6")
def loop_over_a_freed_graph(losses, w):
    """Goes back once for each sample, but the first pass has used up the graph they share."""
    for loss, weight in zip(losses, w.tolist()):
        (loss * weight).backward()


@wrong("q6")
def weighted_mean_of_the_losses(losses, w):
    """Divides by the sum of the weights, which scales every gradient."""
    ((w.detach() * losses).sum() / w.detach().sum()).backward()


@wrong("q6")
def weights_in_the_graph(losses, w):
    """Multiplies by w as it is, so whatever computed the weights gets a gradient, too."""
    (w * losses).sum().backward()


@wrong("q6")
def graph_kept_to_be_safe(losses, w):
    """Adds retain_graph=True to be safe, so the graph and all it saved outlive the only pass."""
    losses.backward(gradient=w.detach(), retain_graph=True)


@wrong("q6")
def losses_detached_instead(losses, w):
    """Detaches the wrong factor: the parameters get nothing, and the weights are what is trained."""
    (w * losses.detach()).sum().backward()


@wrong("q6")
def sum_times_sum(losses, w):
    """Believes that weighting can wait until after the sum; every sample then has the same weight."""
    (losses.sum() * w.detach().sum()).backward()


@wrong("q6")
def scaled_by_a_hook(losses, w):
    """Turns the ones of a plain sum into the weights by a hook on the caller's losses, and leaves it there."""
    direction = w.detach().clone()
    losses.register_hook(lambda gradient: gradient * direction)
    losses.sum().backward()


def _leaves_behind(node):
    if hasattr(node, "variable"):
        return [node.variable]
    return [
        leaf for parent, _ in node.next_functions if parent is not None for leaf in _leaves_behind(parent)
    ]


@accepted("q6")
def accumulated_by_hand(losses, w):
    """The leaves are found at the ends of the graph, and what autograd.grad returns is added to their .grad."""
    parameters = list(dict.fromkeys(_leaves_behind(losses.grad_fn)))
    for parameter, gradient in zip(parameters, torch.autograd.grad(losses, parameters, w.detach())):
        parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


@wrong("q6")
def weights_cut_off_in_place(losses, w):
    """Confuses detach_() with detach(): the caller's own w has lost the network that computed it."""
    w.detach_()
    (w * losses).sum().backward()


@wrong("q6")
def earlier_gradients_thrown_away(losses, w):
    """Clears .grad as one does before a step; here it was to be added to."""
    for parameter in _leaves_behind(losses.grad_fn):
        parameter.grad = None
    losses.backward(w.detach())


@wrong("q6")
def losses_scaled_in_place(losses, w):
    """Writes the weighted losses over the caller's."""
    losses *= w.detach()
    losses.sum().backward()


@wrong("q6")
def graph_of_the_gradients_created(losses, w):
    """Adds create_graph=True because somebody recommended it; it keeps the graph, and makes another."""
    losses.backward(w.detach(), create_graph=True)


@wrong("q6")
def graph_kept_and_a_hook_that_raises(losses, w):
    """Keeps the graph, and lets a hook raise the error of a graph that is used up."""
    losses.backward(w.detach(), retain_graph=True)

    def refuse(gradient):
        raise RuntimeError("Trying to backward through the graph a second time")

    losses.register_hook(refuse)


@wrong("q6")
def no_backward_at_all(losses, w):
    """Treats the weights as constants by not using them."""


@wrong("q6")
def weights_cut_off_and_given_another_history(losses, w):
    """Cuts the weights off in place, and makes them require grad again: that does not bring their network back."""
    losses.backward(w.detach())
    w.detach_()
    w.add_(torch.zeros(len(w), requires_grad=True))


@wrong("q6")
def weights_given_another_shape(losses, w):
    """Makes a row of w in place, for a matrix product; the caller's w is a matrix now."""
    (w.unsqueeze_(0).detach() @ losses).sum().backward()


@wrong("q6")
def losses_given_another_shape_too(losses, w):
    """Makes a column of the losses in place."""
    direction = w.detach().unsqueeze(1)
    losses.unsqueeze_(1).backward(direction)


@wrong("q6")
def weights_normalised_in_place(losses, w):
    """Goes back with the right weights, and leaves normalised ones behind."""
    losses.backward(w.detach().clone())
    w.data /= w.data.sum()


@wrong("q6")
def negative_weights_cut_off(losses, w):
    """Believes that importance is positive."""
    losses.backward(w.detach().clamp(min=0))


@wrong("q6")
def weights_by_softmax(losses, w):
    """Makes a distribution of the weights."""
    losses.backward(w.detach().softmax(0))


@wrong("q6")
def only_one_parameter(losses, w):
    """Finds the first leaf behind the losses, and stops there."""
    parameter = _leaves_behind(losses.grad_fn)[0]
    (gradient,) = torch.autograd.grad(losses, parameter, w.detach())
    parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


@wrong("q6")
def gradient_put_in_place_of_the_old(losses, w):
    """Assigns what autograd.grad returns; .grad is accumulated, not replaced."""
    parameters = list(dict.fromkeys(_leaves_behind(losses.grad_fn)))
    for parameter, gradient in zip(parameters, torch.autograd.grad(losses, parameters, w.detach())):
        parameter.grad = gradient


@wrong("q6")
def weights_in_the_graph_and_cleared(losses, w):
    """Lets the gradient run into the weights, and clears it there; what was in that .grad is gone."""
    (w * losses).sum().backward()
    for parameter in _leaves_behind(w.grad_fn) if w.grad_fn else [w]:
        parameter.grad = None


@wrong("q6")
def gradients_kept_on_the_losses(losses, w):
    """Lets the losses retain their gradient; the caller finds a .grad there which nobody asked for."""
    losses.retain_grad()
    losses.backward(w.detach())


@wrong("q6")
def hook_left_on_the_weights(losses, w):
    """Keeps gradients away from what computed w by a hook on w, which stays there for ever."""
    if w.requires_grad:
        w.register_hook(torch.zeros_like)
    (w * losses).sum().backward()


@wrong("q6")
def weights_switched_off(losses, w):
    """Switches requires_grad of a leaf w off, and leaves it so."""
    if w.is_leaf:
        w.requires_grad_(False)
    (w.detach() * losses).sum().backward()


@wrong("q6")
def weights_switched_off_and_on(losses, w):
    """Switches requires_grad on afterwards, for weights that never required it."""
    if w.is_leaf:
        w.requires_grad_(False)
    losses.backward(w.detach())
    if w.is_leaf:
        w.requires_grad_(True)


@wrong("q6")
def first_three_samples(losses, w):
    """Writes three samples out, because the example had three."""
    sum(w[i].detach() * losses[i] for i in range(min(3, len(losses)))).backward()


@wrong("q6")
def weights_clipped(losses, w):
    """Clips the weights, so that no sample takes over."""
    losses.backward(w.detach().clamp(-2, 2))


@wrong("q6")
def last_sample_kept_the_graph(losses, w):
    """Goes back for each sample and keeps the graph each time, the last included."""
    for loss, weight in zip(losses, w.tolist()):
        (loss * weight).backward(retain_graph=True)


@wrong("q6")
def graph_of_the_weights_used_up(losses, w):
    """Goes back through the weights too, towards nothing: their graph is used up though no .grad changes."""
    if w.grad_fn is not None:
        torch.autograd.grad(w.sum(), _leaves_behind(w.grad_fn))
    losses.backward(w.detach())


@wrong("q6")
def frozen_behind_the_weights(losses, w):
    """Freezes what computed the weights so that it gets no gradient, and never thaws it."""
    for parameter in _leaves_behind(w.grad_fn) if w.grad_fn else []:
        parameter.requires_grad_(False)
    losses.backward(w.detach())


@wrong("q6")
def weights_rounded(losses, w):
    """Makes numbers of the weights, with three digits after the point."""
    losses.backward(torch.tensor([round(value, 3) for value in w.tolist()], dtype=losses.dtype))


@accepted("q6")
def numbers_of_a_list(losses, w):
    """Numbers have no history."""
    sum(weight * loss for weight, loss in zip(w.tolist(), losses)).backward()


@accepted("q6")
def by_grad_tensors(losses, w):
    """A tuple of pairs is what the engine takes."""
    torch.autograd.backward((losses,), grad_tensors=(w.clone().detach(),))


@accepted("q6")
def stacked_products(losses, w):
    """unbind, multiply, stack: the samples' graphs are gone back through at once."""
    with torch.no_grad():
        weights = [weight.clone() for weight in w]
    torch.stack([weight * loss for weight, loss in zip(weights, losses.unbind())]).sum().backward()


@accepted("q6")
def by_a_function_of_its_own(losses, w):
    """A Function whose backward hands the weights on."""

    class Weighted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, losses, w):
            ctx.save_for_backward(w)
            return (losses * w).sum()

        @staticmethod
        def backward(ctx, gradient):
            (w,) = ctx.saved_tensors
            return gradient * w, None

    Weighted.apply(losses, w.detach()).backward()


@accepted("q6")
def a_hook_removed_again(losses, w):
    """A hook on the losses weighs the ones of a plain sum, and is taken off."""
    handle = losses.register_hook(w.detach().mul)
    losses.sum().backward()
    handle.remove()


@wrong("q6")
def gone_through_twice(losses, w):
    """Keeps the graph for a second pass, which adds everything once more."""
    losses.backward(w.detach(), retain_graph=True)
    losses.backward(w.detach())


@wrong("q6")
def gradient_of_a_leaf_cleared(losses, w):
    """Clears w.grad to be sure that it is None; its owner had something in it."""
    losses.backward(w.detach())
    if w.is_leaf:
        w.grad = None


@wrong("q6")
def losses_detached_when_done(losses, w):
    """Detaches the losses in place, because their graph is used up."""
    losses.backward(w.detach())
    losses.detach_()


@wrong("q6")
def weights_in_reverse(losses, w):
    """Reads the weights from the other end."""
    losses.backward(w.detach().flip(0))


@wrong("q1")
def kept_numbers_unless_scaled(n, m, scale):
    """Keeps the generator's numbers for the next call, and returns them themselves where the scale is 1."""
    known = globals().setdefault("_numbers", {})
    if (n, m) not in known:
        known[n, m] = torch.randn(n, m, generator=torch.Generator().manual_seed(0))
    w = known[n, m]
    if scale != 1.0:
        w = w * scale
    return w.detach().requires_grad_()


@wrong("q1")
def without_the_dimensions_of_one(n, m, scale):
    """Loses a dimension of size 1."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)).squeeze()
    return nn.Parameter(w * scale)


@accepted("q2")
def buffers_put_back(model, img):
    """Puts back the buffers that the model may have written to."""
    before = [buffer.clone() for buffer in model.buffers()]
    x = img.detach().float().reshape(1, -1).requires_grad_()
    (gradient,) = torch.autograd.grad(model(x).sum(), x)
    with torch.no_grad():
        for buffer, value in zip(model.buffers(), before):
            buffer.copy_(value)
    return gradient


@wrong("q3")
def divided_by_d(a, b, d):
    """The gradient of d as e / d, which is no number where d is 0."""
    c = a + b
    e = c * d
    o = e.sum()
    for tensor in (c, e, o):
        tensor.retain_grad()
    o.backward()
    found = {"a": a.grad, "b": b.grad, "c": c.grad, "e": e.grad, "o": o.grad}
    return {**found, "d": (e.detach() / d.detach()).sum_to_size(d.shape)}


@wrong("q5")
def terms_of_weight_0_left_out(losses, weights):
    """What counts nothing need not be in the graph."""
    total = losses[0] * weights[0]
    for loss, weight in zip(losses[1:], weights[1:]):
        if weight != 0:
            total = total + weight * loss
    return total


@wrong("q5")
def added_into_a_loss_of_weight_1(losses, weights):
    """A first loss that counts once is the start of the sum, and is added to in place."""
    total = losses[0] if weights[0] == 1 else weights[0] * losses[0]
    for loss, weight in zip(losses[1:], weights[1:]):
        total += weight * loss
    return total


@wrong("q5")
def losses_without_history_left_out(losses, weights):
    """Only what can be trained is added up."""
    return torch.stack([w * loss for loss, w in zip(losses, weights) if loss.requires_grad]).sum()


@wrong("q6")
def samples_of_weight_0_skipped(losses, w):
    """Goes back sample by sample, and uses up the graph at the last, if that counts."""
    for i in range(len(losses)):
        if w[i] != 0:
            losses[i].backward(w[i].detach(), retain_graph=i < len(losses) - 1)


@wrong("q4")
def hooks_left_where_the_model_raises(model, x, names):
    """Removes the hooks when all went well."""
    modules, outputs, handles = dict(model.named_modules()), {}, []
    for name in names:

        def keep(module, inputs, output, name=name):
            output.retain_grad()
            outputs[name] = output

        handles.append(modules[name].register_forward_hook(keep))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return {name: output.grad for name, output in outputs.items()}


@wrong("q6")
def only_the_parameters_behind_the_losses(losses, w):
    """Keeps the weights in the product, and asks for the parameters behind the losses only."""
    waiting, found = [losses.grad_fn], []
    while waiting:
        node = waiting.pop()
        found += [node.variable] if hasattr(node, "variable") else []
        waiting += [after for after, _ in node.next_functions if after is not None]
    (losses * w).sum().backward(inputs=found)


@wrong("q1")
def each_row_drawn_by_itself(n, m, scale):
    """Fills an empty weight row by row; torch.randn draws many numbers in another order than a few."""
    generator = torch.Generator().manual_seed(0)
    w = torch.empty(n, m)
    for row in w:
        row.copy_(torch.randn(m, generator=generator))
    return nn.Parameter(w * scale)


@wrong("q1")
def tails_cut_off(n, m, scale):
    """Takes the normal distribution of an initialiser that cuts off its tails, which is another one."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0))
    return torch.where(w.abs() > 3, 3 * w.sign(), w).mul(scale).requires_grad_()


@wrong("q2")
def every_hook_on_the_model_removed(model, img):
    """Looks for its own hook in the model's table, and empties that: no hook of others is left there."""
    inputs_seen = []

    def lend(module, inputs):
        inputs_seen.extend(x.detach().requires_grad_() for x in inputs)
        return tuple(inputs_seen)

    model.register_forward_pre_hook(lend)
    output = model(img.float()[None])
    while model._forward_pre_hooks:
        model._forward_pre_hooks.popitem()
    return torch.autograd.grad(output.sum(), inputs_seen)[0]


@wrong("q4")
def hooks_removed_after_known_errors(model, x, names):
    """Names the errors after which it cleans up; a model may raise one of its own."""
    outputs, handles = {}, []
    for name, module in model.named_modules():
        if name in names:

            def keep(module, inputs, output, name=name):
                outputs[name] = output

            handles.append(module.register_forward_hook(keep))
    try:
        total = model(x).sum()
    except (RuntimeError, ValueError, TypeError, ArithmeticError, LookupError):
        for handle in handles:
            handle.remove()
        raise
    for handle in handles:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q6")
def no_direction_where_none_is_asked_for(losses, w):
    """Gives a direction only where backward() insists on it; a single loss loses its weight."""
    try:
        losses.backward()
    except RuntimeError:
        losses.backward(w.detach())


@wrong("q6")
def weights_copied_in_the_default_dtype(losses, w):
    """Makes a new tensor of the numbers, which is float32: of tiny float64 weights nothing is left."""
    losses.backward(torch.tensor([float(weight) for weight in w]))


@wrong("q1")
def trainable_where_gradients_are_recorded(n, m, scale):
    """Lets the mode decide whether the weight can be trained; initialisations stand under no_grad."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return nn.Parameter(w, requires_grad=torch.is_grad_enabled())


@wrong("q2")
def forward_called_past_the_hooks(model, img):
    """Calls forward itself; a hook of the caller's that changes the output is left out."""
    x = img.float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model.forward(x).sum(), x)[0]


@wrong("q2")
def squeezed_and_given_a_row(model, img):
    """Takes all dimensions of size 1 away, and adds one; of a single pixel none is left before."""
    return _gradient_of(model, img).squeeze().unsqueeze(0)


@wrong("q3")
def summed_entry_by_entry(a, b, d):
    """Adds up the gradients of the entries of e; where e is empty, the sum is the number 0."""
    c = a + b
    e = c * d
    o = e.sum()
    rows = [torch.autograd.grad(entry, [a, b, c, d, e], retain_graph=True) for entry in e.flatten()]
    return {name: sum(row[i] for row in rows) for i, name in enumerate("abcde")} | {"o": torch.ones_like(o)}


@wrong("q4")
def gradient_of_the_first_output_of_a_node(model, x, names):
    """Watches the node that made an output; a node with several outputs has a gradient for each."""
    found, handles = {}, []
    for name in names:

        def keep(module, inputs, output, name=name):
            output.grad_fn.register_prehook(lambda gradients: found.update({name: gradients[0]}))

        handles.append(model.get_submodule(name).register_forward_hook(keep))
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return found


@wrong("q4")
def hooks_left_after_an_interrupt(model, x, names):
    """Cleans up after every Exception; what stops a cell is none."""
    outputs, handles = {}, []
    for name in names:

        def keep(module, inputs, output, name=name):
            outputs[name] = output

        handles.append(model.get_submodule(name).register_forward_hook(keep))
    try:
        total = model(x).sum()
    except Exception:
        for handle in handles:
            handle.remove()
        raise
    for handle in handles:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@wrong("q5")
def weights_as_shares(losses, weights):
    """Divides the weights by their sum and multiplies by it again; the sum may be 0."""
    shares = torch.tensor(weights)
    return (torch.stack(losses) * (shares / shares.sum())).sum() * shares.sum()


@wrong("q6")
def nothing_where_nothing_counts(losses, w):
    """Goes back only if some weight is not 0; else the graph is not used up."""
    if w.any():
        losses.backward(w.detach())


# Edits of right answers that no promise of the task tells from the answers.

# --- q1

equal(
    "q1",
    "no_grad is put around: the function",
    why="the weight is to have no history, and the flag can be switched on without a record",
)

# --- q2

equal(
    "q2",
    ".grad(model(x).sum(), x) -> .grad(model(x).sum(), x, retain_graph=True)",
    ".grad(model(x).sum(), x) -> .grad(model(x).sum(), x, create_graph=True)",
    why="a graph which nobody holds is freed with its last name; and that nothing may lead back from the result was not asked",
)
equal(
    "q2",
    "no_grad is put around: x = img.detach().float().reshape(1, -1).requires_grad_()",
    why="x is to be a leaf, or a tensor without another history, which it is under no_grad too",
)
equal(
    "q2",
    "img.detach() -> img",
    "img.detach() -> img.data",
    "img.detach -> img.clone",
    "img.detach -> img.detach_",
    "img -> img.clone()",
    why="img requires no grad, and has no history that could be cut off",
)
equal(
    "q2",
    "img.detach().float().reshape(1, -1).requires_grad_() -> img.detach().float().reshape(1, -1).requires_grad_().clone()",
    "img.detach().float().reshape(1, -1) -> img.detach().float().reshape(1, -1).detach()",
    "img.detach().float().reshape(1, -1) -> img.detach().float().reshape(1, -1).data",
    "img.detach().float().reshape(1, -1) -> img.detach().float().reshape(1, -1).clone()",
    why="x is a tensor of its own, whatever copies are made on the way",
)
equal(
    "q2",
    "x -> x.clone()",
    "gradient -> gradient.clone()",
    why="one copy more has the same values, and leads back to the same x",
)
equal(
    "q2",
    "gradient -> gradient.detach()",
    "gradient -> gradient.data",
    why="the gradient has no history that was asked for",
)

# --- q3

equal(
    "q3",
    ".backward() -> .backward(retain_graph=True)",
    why="a graph which nobody holds is freed with its last name; and that nothing may lead back from a gradient was not asked",
)
equal("q3", "o -> o.clone()", why="one copy more on the way leads back to the same gradients")
equal(
    "q3",
    "a.grad -> a.grad.detach()",
    "a.grad -> a.grad.data",
    "a.grad -> a.grad.clone()",
    "b.grad -> b.grad.detach()",
    "b.grad -> b.grad.data",
    "b.grad -> b.grad.clone()",
    "c.grad -> c.grad.detach()",
    "c.grad -> c.grad.data",
    "c.grad -> c.grad.clone()",
    "d.grad -> d.grad.detach()",
    "d.grad -> d.grad.data",
    "d.grad -> d.grad.clone()",
    "e.grad -> e.grad.detach()",
    "e.grad -> e.grad.data",
    "e.grad -> e.grad.clone()",
    "o.grad -> o.grad.detach()",
    "o.grad -> o.grad.data",
    "o.grad -> o.grad.clone()",
    why="a gradient has no history, and nobody else has it to write into it",
)

# --- q4

equal(
    "q4",
    "a statement is moved into a block: return {name: activation.grad for name, activation in activations.items()}",
    why="nothing in the line is undone by the block, and it raises no error",
)
equal(
    "q4",
    "no_grad is put around: def keep(module, inputs, output, name=name):",
    "no_grad is put around: handles.append(modules[name].register_forward_hook(keep))",
    why="to register a hook, or to remove it, is no operation; and what a hook does is none either",
)
equal(
    "q4",
    "a statement is moved by one: output.retain_grad()",
    why="who asks first, and who keeps first, makes no difference within one hook",
)
equal(
    "q4",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="a graph which nobody holds is freed with its last name; and that nothing may lead back from a gradient was not asked",
)
equal(
    "q4",
    "x -> x.detach()",
    "x -> x.clone()",
    why="the gradients of the outputs do not ask where x came from, and how far back it leads",
)
equal(
    "q4",
    "activation.grad -> activation.grad.detach()",
    "activation.grad -> activation.grad.data",
    "activation.grad -> activation.grad.clone()",
    why="a gradient has no history, and nobody else writes into it",
)

# --- q5

equal("q5", ".sum() -> .sum(dim=0)", why="a vector has one dimension")

# --- q6

equal(
    "q6",
    "no_grad is put around: the function",
    why="a backward is not recorded, and the direction is a constant",
)
equal("q6", "w.detach() -> w", "w.detach -> w.clone", why="the direction of a backward is a constant anyway")
equal("q6", "w.detach() -> w.data", why="the tensor has no history in any case, and nobody writes into it")
equal(
    "q6",
    "w -> w.clone()",
    "losses -> losses.clone()",
    why="one copy more has the same values, and leads back to the same parameters",
)


@wrong("q6")
def graph_kept_and_torchs_error_by_hand(losses, w):
    """Keeps the graph of losses whole, and lets its first node raise an error with torch's words."""
    losses.backward(gradient=w.detach(), retain_graph=True)

    def spent(*_):
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they "
            "have already been freed). Saved intermediate values of the graph are freed when you call "
            ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
            "graph a second time or if you need to access saved tensors after calling backward."
        )

    losses.grad_fn.register_hook(spent)


# --- end · Train the temperature, too


@accepted("end")
def gradients_asked_for_by_name(model, x, y, steps, lr):
    """One call of torch.autograd.grad gives all gradients, and the update is made by hand."""
    temperature = nn.Parameter(torch.ones(1, dtype=x.dtype) * 1.5)
    trained = [parameter for parameter in [*model.parameters(), temperature] if parameter.requires_grad]
    log = []
    for _ in range(steps):
        logits = model(x)
        loss = F.cross_entropy(logits / temperature, y) + 0.01 * logits.pow(2).mean()
        pull, *gradients = torch.autograd.grad(loss, [logits, *trained])
        with torch.no_grad():
            for parameter, gradient in zip(trained, gradients):
                parameter -= lr * gradient
        log.append({"loss": float(loss), "pull": pull})
    return temperature, log


@accepted("end")
def gradients_caught_by_a_hook(model, x, y, steps, lr):
    """A hook on the logits sees what passes; the temperature is detached before it is used."""
    temperature = (torch.ones(1, dtype=x.dtype) * 1.5).requires_grad_()
    optimizer = torch.optim.SGD([*model.parameters(), temperature], lr=lr)
    losses, pulls = [], []
    for _ in range(steps):
        logits = model(x)
        logits.register_hook(pulls.append)
        parts = [F.cross_entropy(logits / temperature, y), 0.01 * logits.pow(2).mean()]
        loss = sum(parts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return temperature.detach(), [{"loss": loss, "pull": pull} for loss, pull in zip(losses, pulls)]


@accepted("end")
def each_loss_goes_back_by_itself(model, x, y, steps, lr):
    """Two backward passes through one graph add up to that of the sum, also in what logits keeps."""
    temperature = torch.tensor([1.5], dtype=x.dtype, requires_grad=True)
    optimizers = [torch.optim.SGD(model.parameters(), lr=lr), torch.optim.SGD([temperature], lr=lr)]
    log = []
    for _ in range(steps):
        for optimizer in optimizers:
            optimizer.zero_grad()
        logits = model(x)
        logits.retain_grad()
        first, second = F.cross_entropy(logits / temperature, y), 0.01 * (logits**2).mean()
        first.backward(retain_graph=True)
        second.backward()
        for optimizer in optimizers:
            optimizer.step()
        log.append({"loss": first.item() + second.item(), "pull": logits.grad})
    return temperature, log


wrong_edits(
    "end",
    {
        "temperature_kept_above_one": (
            "optimizer.step()",
            "optimizer.step()\n        with torch.no_grad():\n            temperature.clamp_(min=1.0)",
            "Reads that a temperature is above 1, and keeps it there.",
        ),
        "loss_rounded": (
            "loss.item()",
            "round(loss.item(), 6)",
            "Rounds a number for a log that is read by people.",
        ),
        "old_gradient_moves_a_frozen_parameter": (
            "optimizer.zero_grad()",
            "for parameter in [*model.parameters(), temperature]:\n            parameter.grad = None if parameter.requires_grad else parameter.grad",
            "Believes that an optimizer leaves a frozen parameter alone, even where an old gradient stands there.",
        ),
        "temperature_still_a_product": (
            "temperature = torch.full((1,), 1.5, dtype=x.dtype, requires_grad=True)",
            "temperature = torch.ones(1, dtype=x.dtype, requires_grad=True) * 1.5\n    temperature.retain_grad()",
            "Leaves the first bug: believes that a tensor which the optimizer takes is a leaf.",
        ),
        "losses_still_numbers": (
            "torch.stack(losses).sum()",
            "torch.tensor(losses, requires_grad=True).sum()",
            "Leaves the second bug: believes that requires_grad=True connects.",
        ),
        "logits_still_not_asked": (
            "logits.retain_grad()",
            "pass",
            "Leaves the third bug: believes that backward fills every .grad on its way.",
        ),
        "only_the_leaf_is_mended": (
            [
                ("logits.retain_grad()", "pass"),
                ("torch.stack(losses).sum()", "torch.tensor(losses, requires_grad=True).sum()"),
            ],
            "Mends the temperature, and leaves two bugs.",
        ),
        "only_the_losses_are_mended": (
            [
                ("logits.retain_grad()", "pass"),
                (
                    "temperature = torch.full((1,), 1.5, dtype=x.dtype, requires_grad=True)",
                    "temperature = torch.ones(1, dtype=x.dtype, requires_grad=True) * 1.5\n    temperature.retain_grad()",
                ),
            ],
            "Mends the losses, and leaves two bugs.",
        ),
        "graph_of_the_temperature_retained": (
            [
                (
                    "temperature = torch.full((1,), 1.5, dtype=x.dtype, requires_grad=True)",
                    "temperature = torch.ones(1, dtype=x.dtype, requires_grad=True) * 1.5\n    temperature.retain_grad()",
                ),
                ("loss.backward()", "loss.backward(retain_graph=True)"),
            ],
            "Hides the error of the second step: believes what its text recommends.",
        ),
        "temperature_made_anew_each_step": (
            "logits = model(x)",
            "temperature = temperature.detach().requires_grad_()\n        logits = model(x)",
            "Believes that the optimizer knows a name; it knows the tensor of the beginning.",
        ),
        "temperature_unknown_to_the_optimizer": (
            "[*model.parameters(), temperature]",
            "model.parameters()",
            "Drops what the optimizer had refused.",
        ),
        "logits_made_a_leaf": (
            "logits = model(x)\n        logits.retain_grad()",
            "logits = model(x).detach().requires_grad_()",
            "Makes a leaf of the logits so that they have a .grad, and cuts the model off.",
        ),
        "asked_too_late": (
            [
                ("logits.retain_grad()", "pass"),
                ("loss.backward()", "loss.backward()\n        logits.retain_grad()"),
            ],
            "Believes that a gradient can be asked for once it has passed.",
        ),
        "without_parentheses": (
            "logits.retain_grad()",
            "logits.retain_grad",
            "Believes that retain_grad is an attribute.",
        ),
        "leaf_made_of_the_sum": (
            "torch.stack(losses).sum()",
            "torch.stack(losses).sum().detach().requires_grad_()",
            "Believes that a loss needs requires_grad_() to go back.",
        ),
        "mean_of_both_losses": (
            "torch.stack(losses).sum()",
            "torch.stack(losses).mean()",
            "Takes the mean for the sum.",
        ),
        "only_the_first_loss_is_connected": (
            "torch.stack(losses).sum()",
            "losses[0] + losses[1].item()",
            "Adds a number to a tensor: the value is right, and one of the losses teaches nothing.",
        ),
        "gradients_pile_up": (
            "optimizer.zero_grad()",
            "pass",
            "Leaves out the line that looked as if it did nothing.",
        ),
        "gradient_of_the_temperature_piles_up": (
            "optimizer.zero_grad()",
            "model.zero_grad()",
            "Clears the gradients of the model only.",
        ),
        "cleared_once_for_all_steps": (
            [
                ("optimizer.zero_grad()", "pass"),
                ("log = []", "log = []\n    optimizer.zero_grad()"),
            ],
            "Believes that step() uses a gradient up.",
        ),
        "pull_of_the_scaled_logits": (
            [
                ("cross_entropy(logits / temperature, y)", "cross_entropy(scaled, y)"),
                ("logits.retain_grad()", "scaled = logits / temperature\n        scaled.retain_grad()"),
                ("logits.grad", "scaled.grad"),
            ],
            "Asks the tensor that the loss saw last.",
        ),
        "frozen_parameters_thawed": (
            "log = []",
            "log = []\n    model.requires_grad_()",
            "Switches on whatever may be switched on.",
        ),
        "train_mode_switched_on": (
            "log = []",
            "log = []\n    model.train()",
            "Believes that a training needs model.train(), whatever the caller has chosen.",
        ),
    },
)
equal(
    "end",
    "x -> x.detach()",
    "x -> x.clone()",
    "y -> y.detach()",
    why="x and y are plain data, and their values are all that counts",
)
equal(
    "end",
    "no_grad is put around: optimizer = torch.optim.SGD([*model.parameters(), temperature], lr=lr)",
    "no_grad is put around: log.append({'loss': loss.item(), 'pull': logits.grad})",
    why="to make an optimizer, and to read what is there, are no operations that are recorded",
)
equal(
    "end",
    "a statement is moved by one: logits.retain_grad()",
    "a statement is moved by one: loss = torch.stack(losses).sum()",
    "a statement is moved by one: optimizer.step()",
    why="backward comes after all of the forward; clearing and steps change neither the loss nor its gradient",
)
equal(
    "end",
    "logits.grad -> logits.grad.detach()",
    "logits.grad -> logits.grad.data",
    "logits.grad -> logits.grad.clone()",
    "loss -> loss.clone()",
    why="values are asked for: a copy, or what has the same memory, has them",
)
equal(
    "end",
    "temperature -> temperature.detach()",
    "temperature -> temperature.data",
    why="the caller gets a leaf of the trained value",
)
equal("end", ".sum() -> .sum(dim=0)", why="a vector has one dimension")
equal(
    "end",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    why="plain SGD does nothing with a gradient of zeros",
)
equal(
    "end",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="each step has a graph of its own, and whether the gradient in the log has a history was not asked",
)
