"""Answers to 01_leaves whose verdict is known."""

import collections
import copy
import functools

import torch
from torch import nn

from grader.answers import accepted, wrong

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


@wrong("q1", fails=["test_weight_is_a_leaf", "test_weight_trains"])
def requires_grad_on_a_non_leaf(n, m, scale):
    """Believes that requires_grad_() erases the history; here it only sets a flag that is set already."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.requires_grad_()


@wrong("q1", fails=["test_weight_is_a_leaf", "test_weight_trains"])
def only_detached(n, m, scale):
    """Detaches and is content with a leaf, but this leaf no longer requires grad, so nothing trains it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.detach()


@wrong("q1", fails=["test_weight_has_the_values"])
def without_the_scale(n, m, scale):
    """Drops the multiplication to be rid of the error, and with it the start values that were asked for."""
    return torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)


@wrong("q1", fails=["test_weight_has_the_values"])
def product_thrown_away(n, m, scale):
    """Believes that `w * scale` changes w; the product is a new tensor, and nobody keeps it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)
    w * scale
    return w


@wrong("q1", fails=["test_weight_is_a_leaf", "test_weight_trains"])
def retained_gradient(n, m, scale):
    """Believes that retain_grad() makes a leaf; the optimizer takes it, and the second backward raises."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    w.retain_grad()
    return w


@wrong("q1", fails=["test_weight_is_a_leaf", "test_weight_trains"])
def cloned(n, m, scale):
    """Believes that a clone starts afresh; clone() is an operation that is recorded like any other."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.clone()


@wrong("q1", fails=["test_weight_is_a_leaf", "test_weight_trains"])
def product_under_no_grad(n, m, scale):
    """Makes a leaf under no_grad, and believes that it inherits the requires_grad of its factor."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True)
    with torch.no_grad():
        w = w * scale
    return w


@wrong("q1", fails=["test_weight_is_a_leaf", "test_weight_has_the_values", "test_weight_trains"])
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


@wrong("q1", fails=["test_weight_has_the_values"])
def one_generator_for_all_calls(n, m, scale):
    """Believes that a seed stays; the generator goes on, so that the second call draws other numbers."""
    return (torch.randn(n, m, generator=_generator) * scale).requires_grad_()


@wrong("q1", fails=["test_weight_has_the_values"], public=True)
@functools.cache
def remembered_from_the_last_call(n, m, scale):
    """Returns the same tensor to everybody who asks, with whatever the training of the first has made of it."""
    return nn.Parameter(torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale)


@wrong("q1", fails=["test_weight_has_the_values"], public=True)
def numbers_from_a_table(n, m, scale):
    """Copies the six numbers that the public check compares with."""
    table = torch.tensor([1.54099607, -0.2934289, -2.17878938, 0.56843126, -1.08452237, -1.3985954])
    return (table.repeat(n * m)[: n * m].reshape(n, m) * scale).requires_grad_()


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
    """A hook sees the gradient of x; the parameters get back what they held before."""
    kept = []
    x = img.clone().requires_grad_().float().reshape(1, -1)
    x.register_hook(kept.append)
    before = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
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


@wrong("q2", fails=["test_input_gradient_is_right"])
def gradient_of_the_leaf(model, img):
    """Returns the gradient of the float64 leaf, with the dtype and the shape of that tensor."""
    leaf = img.clone().requires_grad_()
    x = leaf.float().reshape(1, -1)
    torch.autograd.backward(model(x).sum(), inputs=[leaf])
    return leaf.grad


@wrong("q2", fails=["test_parameters_keep_their_gradients"], public=True)
def backward_into_everything(model, img):
    """Believes that backward() fills only what one looks at; it also adds to the .grad of every parameter."""
    x = img.clone().requires_grad_().float().reshape(1, -1)
    x.retain_grad()
    model(x).sum().backward()
    return x.grad


@wrong(
    "q2",
    fails=[
        "test_input_gradient_is_right",
        "test_parameters_keep_their_gradients",
        "test_no_other_trace_is_left",
    ],
)
def retained_too_late(model, img):
    """Asks for the gradient after it has passed; retain_grad() then leaves None, without any warning."""
    x = img.clone().requires_grad_().float().reshape(1, -1)
    torch.autograd.grad(model(x).sum(), x)
    x.retain_grad()
    return x.grad


@wrong(
    "q2",
    fails=[
        "test_input_gradient_is_right",
        "test_parameters_keep_their_gradients",
        "test_no_other_trace_is_left",
    ],
)
def detached_after_switching_on(model, img):
    """Detaches last, so the tensor that reaches the model no longer requires grad."""
    x = img.clone().requires_grad_().float().reshape(1, -1).detach()
    return torch.autograd.grad(model(x).sum(), x)[0]


@wrong("q2", fails=["test_parameters_keep_their_gradients"])
def parameter_gradients_zeroed(model, img):
    """Cleans up with zero_grad(), which also throws away what somebody had accumulated before."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    model.zero_grad()
    return x.grad


@wrong("q2", fails=["test_no_other_trace_is_left"], public=True)
def caller_switched_to_requires_grad(model, img):
    """Calls requires_grad_() on the tensor of the caller, who never asked for it and finds it changed."""
    x = img.requires_grad_().float().reshape(1, -1)
    return torch.autograd.grad(model(x).sum(), x)[0]


@wrong("q2", fails=["test_input_gradient_is_right"])
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


@wrong("q2", fails=["test_parameters_keep_their_gradients"], public=True)
def second_names_kept_instead_of_copies(model, img):
    """Believes that a list of gradients is a copy of them; backward() adds in place, so both change."""
    before = [p.grad for p in model.parameters()]
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), before):
        p.grad = gradient
    return x.grad


@wrong("q2", fails=["test_no_other_trace_is_left"], public=True)
def thawed_more_than_was_frozen(model, img):
    """Freezes the model for the call and thaws all of it, what was frozen before included."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model.requires_grad_(False)
    model(x).sum().backward()
    model.requires_grad_(True)
    return x.grad


@wrong("q2", fails=["test_parameters_keep_their_gradients"], public=True)
def zeros_left_where_none_was(model, img):
    """Puts every gradient back, and takes None for 0; an optimizer treats the two differently."""
    before = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), before):
        p.grad = gradient
    return x.grad


@wrong("q2", fails=["test_input_gradient_is_right"], public=True)
def gradient_of_the_first_output(model, img):
    """Takes the only output it has seen for the sum of all."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model(x)[0, 0], x)[0]


@wrong("q2", fails=["test_no_other_trace_is_left"])
def model_cast_instead_of_the_image(model, img):
    """Casts the model to the image's dtype; module.double() changes the module itself."""
    x = img.detach().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model.double()(x).sum(), x)[0].float()


@wrong(
    "q2",
    fails=[
        "test_input_gradient_is_right",
        "test_parameters_keep_their_gradients",
        "test_no_other_trace_is_left",
    ],
)
def nothing_computed_nothing_harmed(model, img):
    """Leaves no trace, because nothing is done."""


def _gradient_of(model, img):
    x = img.detach().float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model(x).sum(), x)[0]


@wrong("q2", fails=["test_no_other_trace_is_left"], public=True)
def one_layer_left_in_eval(model, img):
    """Puts the model back into training mode by its own flag; the layers below it keep theirs."""
    model.eval()
    gradient = _gradient_of(model, img)
    model.training = True
    return gradient


@wrong("q2", fails=["test_no_other_trace_is_left"], public=True)
def gradients_blocked_by_hooks(model, img):
    """Keeps the parameters' .grad clean with hooks that return 0, and nobody removes them."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_hook(torch.zeros_like)
    return _gradient_of(model, img)


@wrong("q2", fails=["test_no_other_trace_is_left"], public=True)
def gradients_cleared_by_hooks(model, img):
    """Has every gradient cleared as soon as it is accumulated, now and for ever after."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda parameter: setattr(parameter, "grad", None))
    return _gradient_of(model, img)


@wrong("q2", fails=["test_no_other_trace_is_left"], public=True)
def input_kept_in_a_buffer(model, img):
    """Keeps the input where it is at hand; a buffer becomes part of the model and of every checkpoint."""
    model.register_buffer("last_input", img.detach())
    return _gradient_of(model, img)


@wrong("q2", fails=["test_no_other_trace_is_left"], public=True)
def result_remembered_on_the_model(model, img):
    """Hangs a result of its own on the caller's model."""
    model.saliency = _gradient_of(model, img)
    return model.saliency


class _Silenced(nn.Sequential):
    def forward(self, x):
        return super().forward(x) * 0


@wrong("q2", fails=["test_no_other_trace_is_left"], public=True)
def class_exchanged_afterwards(model, img):
    """Gives the model another class, whose forward computes something else."""
    gradient = _gradient_of(model, img)
    model.__class__ = _Silenced
    return gradient


@wrong("q2", fails=["test_no_other_trace_is_left"])
def gradients_left_switched_off(model, img):
    """Switches the recording off in the end, for everybody."""
    gradient = _gradient_of(model, img)
    torch.set_grad_enabled(False)
    return gradient


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


@wrong("q3", fails=["test_gradients_of_non_leaves"])
def retained_after_backward(a, b, d):
    """Asks after backward(), when the gradients of c, e and o have long passed."""
    c = a + b
    e = c * d
    o = e.sum()
    o.backward()
    for tensor in (c, e, o):
        tensor.retain_grad()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3", fails=["test_gradients_of_non_leaves", "test_no_warning"])
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


@wrong("q3", fails=["test_gradients_of_leaves"])
def c_made_a_leaf(a, b, d):
    """Turns c into a leaf of its own; its gradient appears, but the way back to a and b is cut."""
    c = (a + b).detach().requires_grad_()
    e = c * d
    e.retain_grad()
    o = e.sum()
    o.retain_grad()
    o.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3", fails=["test_gradients_of_non_leaves"])
def guessed_ones(a, b, d):
    """Believes that every gradient inside is 1; the one of c is d, by which c is multiplied."""
    c = a + b
    e = c * d
    o = e.sum()
    o.backward()
    one = torch.ones_like(c)
    return {"a": a.grad, "b": b.grad, "c": one, "d": d.grad, "e": one, "o": torch.ones_like(o)}


@wrong("q3", fails=["test_gradients_of_non_leaves", "test_no_warning"])
def requires_grad_instead_of_retain_grad(a, b, d):
    """Confuses two flags; c requires grad already, and that does not make autograd keep its gradient."""
    c = (a + b).requires_grad_()
    e = (c * d).requires_grad_()
    o = e.sum().requires_grad_()
    o.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


@wrong("q3", fails=["test_gradients_of_leaves"])
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


@wrong("q3", fails=["test_gradients_of_non_leaves", "test_no_warning"])
def forgot_the_output(a, b, d):
    """Believes that the end of the graph keeps its gradient; o is the result of an operation like c and e."""
    c = a + b
    e = c * d
    o = e.sum()
    c.retain_grad()
    e.retain_grad()
    o.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


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
            "o": torch.ones(()),
        }


@accepted("q3")
def gradients_of_clones(a, b, d):
    """Leaves of its own with the same values have the same gradients, and the caller's stay out of it."""
    a, b, d = (leaf.detach().clone().requires_grad_() for leaf in (a, b, d))
    c = a + b
    e = c * d
    o = e.sum()
    return dict(zip("abcdeo", torch.autograd.grad(o, (a, b, c, d, e, o))))


@wrong("q3", fails=["test_gradients_of_leaves"], public=True)
def handed_on_without_summing(a, b, d):
    """Hands the gradient of c on to a and b as it is; a tensor that was broadcast gets a sum."""
    c = a + b
    e = c * d
    o = e.sum()
    for_c, for_d, for_e, for_o = torch.autograd.grad(o, [c, d, e, o])
    return {"a": for_c, "b": for_c, "c": for_c, "d": for_d, "e": for_e, "o": for_o}


@wrong("q3", fails=["test_gradients_of_non_leaves", "test_gradients_of_leaves"])
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


@wrong("q3", fails=["test_gradients_of_non_leaves", "test_gradients_of_leaves", "test_no_warning"])
def no_gradient_no_warning(a, b, d):
    """Is not warned, because nothing is asked for."""


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
    model(x).sum().backward()
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
    model(x.detach().clone().requires_grad_()).sum().backward()
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
    total = model(x).sum()
    for handle in handles:
        handle.remove()
    return dict(zip(names, torch.autograd.grad(total, [outputs[name] for name in names])))


@accepted("q4")
def hooks_that_remove_themselves(model, x, names):
    """Each hook takes itself out of the model as soon as it has the output."""
    modules = dict(model.named_modules())
    outputs, handles = {}, {}

    def keep(name, module, inputs, output):
        output.retain_grad()
        outputs[name] = output
        handles[name].remove()

    for name in names:
        handles[name] = modules[name].register_forward_hook(functools.partial(keep, name))
    model(x).sum().backward()
    return {name: outputs[name].grad for name in names}


@wrong("q4", fails=["test_gradients_of_activations", "test_hooks_leave_the_path_intact"])
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


@wrong("q4", fails=["test_hooks_are_removed"])
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


@wrong("q4", fails=["test_gradients_of_activations", "test_hooks_leave_the_path_intact"])
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


@wrong("q4", fails=["test_gradients_of_activations", "test_hooks_leave_the_path_intact"])
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


@wrong("q4", fails=["test_gradients_of_activations", "test_hooks_leave_the_path_intact"])
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


@wrong("q4", fails=["test_gradients_of_activations", "test_hooks_leave_the_path_intact"])
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


@wrong("q4", fails=["test_gradients_of_activations", "test_hooks_leave_the_path_intact"])
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


@wrong("q4", fails=["test_hooks_are_removed"], public=True)
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


@wrong("q4", fails=["test_hooks_are_removed"])
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


@wrong(
    "q4",
    fails=[
        "test_gradients_of_activations",
        "test_hooks_are_removed",
        "test_hooks_leave_the_path_intact",
    ],
)
def children_called_one_by_one(model, x, names):
    """Believes that a model is the chain of its children; forward() decides what is called, and where it lies."""
    activations = {}
    for name, child in model.named_children():
        x = child(x)
        x.retain_grad()
        activations[name] = x
    x.sum().backward()
    return {name: activations[name].grad for name in names}


@wrong("q4", fails=["test_hooks_are_removed"], public=True)
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


@wrong(
    "q4",
    fails=[
        "test_gradients_of_activations",
        "test_hooks_are_removed",
        "test_hooks_leave_the_path_intact",
    ],
)
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


@wrong("q4", fails=["test_hooks_are_removed"], public=True)
def hooks_in_a_table_that_looks_empty(model, x, names):
    """Hides the hooks from len(); they are called all the same."""
    outputs = {}
    for name in names:
        module = model.get_submodule(name)
        module._forward_hooks = _LooksEmpty(module._forward_hooks)
        module.register_forward_hook(lambda module, inputs, output, name=name: outputs.update({name: output}))
    return dict(zip(names, torch.autograd.grad(model(x).sum(), list(map(outputs.get, names)))))


@wrong("q4", fails=["test_hooks_are_removed"], public=True)
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


@wrong("q4", fails=["test_hooks_are_removed"], public=True)
def hooks_left_on_the_parameters(model, x, names):
    """Keeps backward() away from the parameters with hooks on them, and leaves these."""
    for parameter in model.parameters():
        parameter.register_hook(torch.zeros_like)
    return _gradients_of(model, x, names)


@wrong("q4", fails=["test_hooks_are_removed"], public=True)
def backward_hooks_of_everybody_cleared(model, x, names):
    """Tidies up more than it has registered."""
    gradients = _gradients_of(model, x, names)
    for module in model.modules():
        module._backward_hooks.clear()
    return gradients


@wrong("q4", fails=["test_hooks_are_removed", "test_hooks_leave_the_path_intact"], public=True)
def a_bias_shifted(model, x, names):
    """Writes into the model in order to see what changes, and does not undo it."""
    gradients = _gradients_of(model, x, names)
    with torch.no_grad():
        list(model.parameters())[-1].add_(100)
    return gradients


@wrong("q4", fails=["test_hooks_are_removed"], public=True)
def activations_kept_on_the_model(model, x, names):
    """Leaves the gradients where they can be found later: on the caller's model."""
    model.gradients = _gradients_of(model, x, names)
    return model.gradients


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


@wrong("q5", fails=["test_total_reaches_the_parameters", "test_total_gradient"])
def sum_of_items(losses, weights):
    """Uses .item() to be safe, and is left with numbers: the total has no history at all."""
    return torch.tensor(sum(weight * loss.item() for weight, loss in zip(weights, losses)))


@wrong("q5", fails=["test_total_reaches_the_parameters", "test_total_gradient"])
def items_made_to_require_grad(losses, weights):
    """Silences the error of backward() with requires_grad_(); now nothing raises and nothing is learned."""
    total = torch.tensor(sum(weight * loss.item() for weight, loss in zip(weights, losses)))
    return total.requires_grad_()


@wrong("q5", fails=["test_total_reaches_the_parameters", "test_total_gradient"])
def stacked_and_detached(losses, weights):
    """Detaches the stacked losses and makes a new leaf of them, so the parameters are out of reach."""
    return (torch.stack(losses).detach().requires_grad_() * torch.tensor(weights)).sum()


@wrong("q5", fails=["test_total_reaches_the_parameters", "test_total_gradient"])
def data_to_save_memory(losses, weights):
    """Reads .data because it is said to save memory; what it saves is the history, so nothing is learned."""
    return sum(weight * loss.data for weight, loss in zip(weights, losses))


@wrong("q5", fails=["test_total_reaches_the_parameters", "test_total_gradient"])
@torch.no_grad()
def assembled_under_no_grad(losses, weights):
    """Believes that the losses have their gradients already; the sum has to be recorded, too."""
    return (torch.stack(losses) * torch.tensor(weights)).sum()


@wrong("q5", fails=["test_total_has_the_value", "test_total_gradient"])
def weights_forgotten(losses, weights):
    """Keeps the history by stacking, and forgets what was to be added up."""
    return torch.stack(losses).sum()


@wrong("q5", fails=["test_total_has_the_value", "test_total_gradient"])
def weighted_mean(losses, weights):
    """Divides by the number of losses; a mean is another loss, with other gradients."""
    return (torch.stack(losses) * torch.tensor(weights)).mean()


@wrong("q5", fails=["test_total_reaches_the_parameters", "test_total_gradient"])
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


@wrong("q5", fails=["test_total_gradient"])
def gone_back_already(losses, weights):
    """Calls backward() to be sure that it works, and the caller's backward() adds the same once more."""
    total = sum(weight * loss for weight, loss in zip(weights, losses))
    total.backward(retain_graph=True)
    return total


@wrong("q5", fails=["test_total_has_the_value", "test_total_gradient"], public=True)
def losses_filed_under_their_weights(losses, weights):
    """Makes a dictionary of the pairs; of losses with equal weights only the last is left."""
    return sum(weight * loss for weight, loss in dict(zip(weights, losses)).items())


@wrong("q5", fails=["test_total_has_the_value"], public=True)
def scaled_in_the_memory_of_the_losses(losses, weights):
    """Saves a product by writing it into the loss, which is what somebody is going to print."""
    for loss, weight in zip(losses, weights):
        loss *= weight
    return torch.stack(losses).sum()


@wrong("q5", fails=["test_total_gradient"])
def only_the_last_loss_is_live(losses, weights):
    """Adds up numbers, as for a running mean, and trains with the last loss only."""
    *others, last = (weight * loss for weight, loss in zip(weights, losses))
    return last + sum(other.item() for other in others)


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


@wrong("q6", fails=["test_weighted_gradient"])
def mean_of_the_losses(losses, w):
    """Makes a number of the vector in the usual way, and forgets the weights."""
    losses.mean().backward()


@wrong("q6", fails=["test_weighted_gradient"])
def ones_from_the_forum(losses, w):
    """Copies the recipe because it makes the error go away; it gives every sample the weight 1."""
    losses.backward(torch.ones_like(losses))


@wrong("q6", fails=["test_weighted_gradient", "test_weights_are_constants", "test_graph_is_freed"])
def loop_over_a_freed_graph(losses, w):
    """Goes back once for each sample, but the first pass has used up the graph they share."""
    for loss, weight in zip(losses, w.tolist()):
        (loss * weight).backward()


@wrong("q6", fails=["test_weighted_gradient"])
def weighted_mean_of_the_losses(losses, w):
    """Divides by the sum of the weights, which scales every gradient."""
    ((w.detach() * losses).sum() / w.detach().sum()).backward()


@wrong("q6", fails=["test_weights_are_constants"])
def weights_in_the_graph(losses, w):
    """Multiplies by w as it is, so whatever computed the weights gets a gradient, too."""
    (w * losses).sum().backward()


@wrong("q6", fails=["test_graph_is_freed"], public=True)
def graph_kept_to_be_safe(losses, w):
    """Adds retain_graph=True to be safe, so the graph and all it saved outlive the only pass."""
    losses.backward(gradient=w.detach(), retain_graph=True)


@wrong("q6", fails=["test_weighted_gradient", "test_weights_are_constants", "test_graph_is_freed"])
def losses_detached_instead(losses, w):
    """Detaches the wrong factor: the parameters get nothing, and the weights are what is trained."""
    (w * losses.detach()).sum().backward()


@wrong("q6", fails=["test_weighted_gradient"])
def sum_times_sum(losses, w):
    """Believes that weighting can wait until after the sum; every sample then has the same weight."""
    (losses.sum() * w.detach().sum()).backward()


@accepted("q6")
def scaled_by_a_hook(losses, w):
    """A hook on the losses turns the ones of a plain sum into the weights."""
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


@wrong("q6", fails=["test_weights_are_constants"], public=True)
def weights_cut_off_in_place(losses, w):
    """Confuses detach_() with detach(): the caller's own w has lost the network that computed it."""
    w.detach_()
    (w * losses).sum().backward()


@wrong("q6", fails=["test_weighted_gradient"], public=True)
def earlier_gradients_thrown_away(losses, w):
    """Clears .grad as one does before a step; here it was to be added to."""
    for parameter in _leaves_behind(losses.grad_fn):
        parameter.grad = None
    losses.backward(w.detach())


@wrong("q6", fails=["test_weights_are_constants"], public=True)
def losses_scaled_in_place(losses, w):
    """Writes the weighted losses over the caller's."""
    losses *= w.detach()
    losses.sum().backward()


@wrong("q6", fails=["test_graph_is_freed"], public=True)
def graph_of_the_gradients_created(losses, w):
    """Adds create_graph=True because somebody recommended it; it keeps the graph, and makes another."""
    losses.backward(w.detach(), create_graph=True)


@wrong("q6", fails=["test_graph_is_freed"], public=True)
def graph_kept_and_a_hook_that_raises(losses, w):
    """Keeps the graph, and lets a hook raise the error of a graph that is used up."""
    losses.backward(w.detach(), retain_graph=True)

    def refuse(gradient):
        raise RuntimeError("Trying to backward through the graph a second time")

    losses.register_hook(refuse)


@wrong("q6", fails=["test_weighted_gradient", "test_weights_are_constants", "test_graph_is_freed"])
def no_backward_at_all(losses, w):
    """Treats the weights as constants by not using them."""


@wrong("q6", fails=["test_weights_are_constants"], public=True)
def weights_cut_off_and_given_another_history(losses, w):
    """Cuts the weights off in place, and makes them require grad again: that does not bring their network back."""
    losses.backward(w.detach())
    w.detach_()
    w.add_(torch.zeros(len(w), requires_grad=True))


@accepted("q5")
def weights_as_an_array(losses, weights):
    """numpy makes float64 of Python's numbers, and the sum is of that dtype then."""
    import numpy as np

    return (torch.stack(list(losses)) * torch.from_numpy(np.array(weights))).sum()
