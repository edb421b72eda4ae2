"""Answers to 01_leaves whose verdict is known."""

import contextlib
import functools

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


@wrong("q1")
def only_detached(n, m, scale):
    """Detaches and is content with a leaf, but this leaf no longer requires grad, so nothing trains it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.detach()


@wrong("q1")
def requires_grad_on_a_non_leaf(n, m, scale):
    """Believes that requires_grad_() makes a leaf; it only sets a flag that is already set."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    return w.requires_grad_()


@wrong("q1")
def retained_gradient(n, m, scale):
    """Believes that retain_grad() makes a leaf; the optimizer still rejects the tensor."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0), requires_grad=True) * scale
    w.retain_grad()
    return w


@wrong("q1")
@functools.cache
def remembered_from_the_last_call(n, m, scale):
    """Returns the same tensor in every call, with the changes that training made to it."""
    return nn.Parameter(torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale)


@wrong("q1")
def kept_within_bounds(n, m, scale):
    """Clips the initial values, as truncated initializers do; only a large scale shows it."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return w.clamp(-3, 3).requires_grad_()


@wrong("q1")
def seeded_for_the_whole_program(n, m, scale):
    """Calls torch.manual_seed, so every later random number of the program is another one."""
    torch.manual_seed(0)
    w = scale * torch.randn(n, m)
    return w.requires_grad_()


@accepted("q1")
def generator_put_back(n, m, scale):
    """fork_rng restores the global generator, so that it may be seeded meanwhile."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        w = scale * torch.randn(n, m)
    return w.requires_grad_()


_drawn = {}


@wrong("q1")
def drawn_once_for_each_shape(n, m, scale):
    """Caches the numbers for a shape and scales them in place, so each call scales them again."""
    if (n, m) not in _drawn:
        _drawn[n, m] = torch.randn(n, m, generator=torch.Generator().manual_seed(0))
    return _drawn[n, m].mul_(scale).detach().clone().requires_grad_()


@wrong("q1")
def all_in_one_memory(n, m, scale, _memory=torch.zeros(10_000)):
    """Reuses one buffer for every weight, so the next call overwrites the last weight."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return _memory[: n * m].copy_(w.flatten()).view(n, m).detach().requires_grad_()


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
def functional_gradient(model, img):
    """torch.func.grad differentiates a function and stores nothing anywhere."""
    return torch.func.grad(lambda x: model(x).sum())(img.detach().float().reshape(1, -1))


@wrong("q2")
def backward_into_everything(model, img):
    """Believes that backward() fills only what one looks at; it also adds to the .grad of every parameter."""
    x = img.clone().requires_grad_().float().reshape(1, -1)
    x.retain_grad()
    model(x).sum().backward()
    return x.grad


@wrong("q2")
def retained_too_late(model, img):
    """Calls retain_grad() after backward(), which leaves .grad None without a warning."""
    x = img.clone().requires_grad_().float().reshape(1, -1)
    torch.autograd.grad(model(x).sum(), x)
    x.retain_grad()
    return x.grad


@wrong("q2")
def thawed_more_than_was_frozen(model, img):
    """Freezes the model for the call and unfreezes all of it, also parameters that were frozen before."""
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model.requires_grad_(False)
    model(x).sum().backward()
    model.requires_grad_(True)
    return x.grad


def _gradient_of(model, img):
    x = img.detach().float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model(x).sum(), x)[0]


@wrong("q2")
def gradient_of_the_image_cleared(model, img):
    """Clears the .grad that the caller's image had before."""
    img.requires_grad_()
    (gradient,) = torch.autograd.grad(model(img.float().reshape(1, -1)).sum(), img)
    img.grad = None
    img.requires_grad_(False)
    return gradient.float().reshape(1, -1)


@wrong("q2")
def zero_taken_for_none(model, img):
    """Takes a gradient of zeros for no gradient and replaces it with None."""
    before = [p.grad.clone() if p.grad is not None and p.grad.any() else None for p in model.parameters()]
    x = img.detach().float().reshape(1, -1).requires_grad_()
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), before):
        p.grad = gradient
    return x.grad


@wrong("q2")
@functools.cache
def remembered_for_the_model(model, img):
    """Caches the result by model and image, and doesn't notice that their values change."""
    return _gradient_of(model, img)


_SEEN = {}


@wrong("q2")
def remembered_for_model_and_pixels(model, img):
    """Caches the result by model and pixels, although the model's weights may change."""
    key = (model, tuple(img.tolist()))
    if key not in _SEEN:
        x = img.float().reshape(1, -1).requires_grad_()
        (_SEEN[key],) = torch.autograd.grad(model(x).sum(), x)
    return _SEEN[key].clone()


@wrong("q2")
def cached_by_the_parameters(model, img, seen={}):
    """Caches the result by the parameters, although the image may change."""
    key = id(model), tuple(float(p.detach().double().sum()) for p in model.parameters())
    if key not in seen:
        x = img.detach().float().reshape(1, -1).requires_grad_()
        seen[key] = model, torch.autograd.grad(model(x).sum(), x)[0]
    return seen[key][1].clone()


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
    """Calls retain_grad() after backward(), when the gradients of c, e and o are gone."""
    c = a + b
    e = c * d
    o = e.sum()
    o.backward()
    for tensor in (c, e, o):
        tensor.retain_grad()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad, "e": e.grad, "o": o.grad}


wrong_edits(
    "q3",
    {
        "graph_created_on_the_way": (
            "o.backward()",
            "o.backward(create_graph=True)",
            "Adds create_graph=True to be safe; torch warns of a reference cycle.",
        )
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


@wrong("q3")
def handed_on_without_summing(a, b, d):
    """Passes the gradient of c to a and b unchanged, although a broadcast tensor needs a sum."""
    c = a + b
    e = c * d
    o = e.sum()
    for_c, for_d, for_e, for_o = torch.autograd.grad(o, [c, d, e, o])
    return {"a": for_c, "b": for_c, "c": for_c, "d": for_d, "e": for_e, "o": for_o}


@wrong("q3")
def c_not_summed(a, b, d):
    """Expands d for the gradient of c, which must be summed where e is larger than c."""
    c = a + b
    e = c * d
    o = e.sum()
    grads = dict(zip("abdeo", torch.autograd.grad(o, [a, b, d, e, o])))
    return {**grads, "c": d.detach().expand_as(e)}


@wrong("q3")
def gradients_in_single_precision(a, b, d):
    """Believes that gradients are always float32."""
    c = a + b
    e = c * d
    o = e.sum()
    return {
        name: gradient.float() for name, gradient in zip("abcdeo", torch.autograd.grad(o, [a, b, c, d, e, o]))
    }


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
def divided_by_c(a, b, d):
    """Computes the gradient of c as e / c and replaces the nan where c is 0 with 0."""
    c = a + b
    e = c * d
    o = e.sum()
    da, db, dd = torch.autograd.grad(o, [a, b, d])
    with torch.no_grad():
        dc = (e / c).nan_to_num(0.0).sum_to_size(c.shape).clone()
    return {"a": da, "b": db, "c": dc, "d": dd, "e": torch.ones_like(e), "o": torch.ones_like(o)}


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
def late_binding(model, x, names):
    """All hooks read the loop variable when they run, and write to the last name."""
    modules = dict(model.named_modules())
    gradients, handles = {}, []

    def hook(module, inputs, output):
        output.register_hook(lambda gradient: gradients.update({name: gradient}))

    for name in names:
        handles.append(modules[name].register_forward_hook(hook))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return {name: gradients.get(name) for name in names}


@wrong("q4")
def handles_thrown_away(model, x, names):
    """Drops the hooks' handles, so the hooks stay and run in every later forward."""
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


@wrong("q4")
def backward_hooks_of_everybody_cleared(model, x, names):
    """Clears all backward hooks of the model, not only its own."""
    gradients = _gradients_of(model, x, names)
    for module in model.modules():
        module._backward_hooks.clear()
    return gradients


@wrong("q4")
def zero_grad_before_backward(model, x, names):
    """Calls zero_grad() first, as in training, and loses the caller's gradients."""
    model.zero_grad()
    return _gradients_of(model, x, names)


@wrong("q4")
def thawed_for_the_call(model, x, names):
    """Sets requires_grad on every parameter and leaves it set."""
    model.requires_grad_(True)
    return _gradients_of(model, x, names)


@wrong("q4")
def answered_in_the_order_of_execution(model, x, names):
    """Matches names and outputs by the order in which the layers run."""
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
def without_the_model_itself(model, x, names):
    """Skips the empty name, which stands for the model itself."""
    return _gradients_of(model, x, [name for name in names if name])


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
def answered_in_one_dictionary(model, x, names, grads={}):
    """Uses a mutable default argument, so the next call empties the earlier result."""
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
def folded_with_alpha(losses, weights):
    """torch.add with alpha multiplies and adds in one recorded operation."""
    first, *rest = zip(losses, weights)
    return functools.reduce(
        lambda total, pair: torch.add(total, pair[0], alpha=pair[1]), rest, first[0] * first[1]
    )


@wrong("q5")
def sum_of_items(losses, weights):
    """Believes that .item() is the safe way to add losses; the total is not connected to the graph."""
    return torch.tensor(sum(weight * loss.item() for weight, loss in zip(weights, losses)))


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
def losses_filed_under_their_weights(losses, weights):
    """Uses the weights as keys, so that of losses with equal weights only the last counts."""
    return sum(weight * loss for weight, loss in dict(zip(weights, losses)).items())


@accepted("q5")
def weights_as_an_array(losses, weights):
    """numpy makes float64 of Python's numbers, and the sum is of that dtype then."""
    import numpy as np

    return (torch.stack(list(losses)) * torch.from_numpy(np.array(weights))).sum()


@wrong("q5")
def each_loss_once(losses, weights):
    """Uses the losses as keys, so that a loss that is listed twice counts once."""
    return sum(weight * loss for loss, weight in dict(zip(losses, weights)).items())


@wrong("q5")
def magnitude_of_the_weights(losses, weights):
    """Believes that weights are positive, and takes their absolute values."""
    return sum(abs(weight) * loss for weight, loss in zip(weights, losses))


@wrong("q5")
def rounded_to_four_digits(losses, weights):
    """Rounds the losses to three decimals before adding them up."""
    return sum(
        weight * (loss + (loss.round(decimals=3) - loss).detach()) for weight, loss in zip(weights, losses)
    )


@accepted("q5")
def by_einsum(losses, weights):
    """einsum is recorded like any other operation."""
    stacked = torch.stack(losses)
    return torch.einsum("i,i->", stacked, torch.tensor(weights, dtype=stacked.dtype))


@wrong("q5")
def memoised_total(losses, weights, seen={}):
    """Returns the tensor of an earlier call if its value is the same."""
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
def one_sample_after_another(losses, w):
    """The graph is kept for all passes but the last, and .grad adds them up."""
    for i, weight in enumerate(w.tolist()):
        (weight * losses[i]).backward(retain_graph=i + 1 < len(losses))


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
def weights_in_the_graph(losses, w):
    """Multiplies by w as it is, so whatever computed the weights gets a gradient, too."""
    (w * losses).sum().backward()


@wrong("q6")
def gradient_put_in_place_of_the_old(losses, w):
    """Assigns what autograd.grad returns to .grad, which must accumulate."""
    parameters = list(dict.fromkeys(_leaves_behind(losses.grad_fn)))
    for parameter, gradient in zip(parameters, torch.autograd.grad(losses, parameters, w.detach())):
        parameter.grad = gradient


@wrong("q6")
def weights_switched_off_and_on(losses, w):
    """Restores requires_grad also for weights that never required it."""
    if w.is_leaf:
        w.requires_grad_(False)
    losses.backward(w.detach())
    if w.is_leaf:
        w.requires_grad_(True)


@wrong("q6")
def weights_clipped(losses, w):
    """Clips the weights so that no sample dominates."""
    losses.backward(w.detach().clamp(-2, 2))


@wrong("q6")
def gradient_of_a_leaf_cleared(losses, w):
    """Clears w.grad, although the caller had a gradient there."""
    losses.backward(w.detach())
    if w.is_leaf:
        w.grad = None


@wrong("q1")
def without_the_dimensions_of_one(n, m, scale):
    """Squeezes the weight, which drops every dimension of size 1."""
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
    """Computes the gradient of d as e / d, which is nan where d is 0."""
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
    """Believes that a loss of weight 0 need not be in the graph."""
    total = losses[0] * weights[0]
    for loss, weight in zip(losses[1:], weights[1:]):
        if weight != 0:
            total = total + weight * loss
    return total


@wrong("q5")
def added_into_a_loss_of_weight_1(losses, weights):
    """Starts the sum with the first loss and adds to it in place."""
    total = losses[0] if weights[0] == 1 else weights[0] * losses[0]
    for loss, weight in zip(losses[1:], weights[1:]):
        total += weight * loss
    return total


@wrong("q5")
def losses_without_history_left_out(losses, weights):
    """Leaves out losses that don't require grad, which still count."""
    return torch.stack([w * loss for loss, w in zip(losses, weights) if loss.requires_grad]).sum()


@wrong("q6")
def samples_of_weight_0_skipped(losses, w):
    """Frees the graph with the last sample only, and skips that sample if its weight is 0."""
    for i in range(len(losses)):
        if w[i] != 0:
            losses[i].backward(w[i].detach(), retain_graph=i < len(losses) - 1)


@wrong("q6")
def only_the_parameters_behind_the_losses(losses, w):
    """Keeps w in the graph and asks only for gradients of the losses' parameters."""
    waiting, found = [losses.grad_fn], []
    while waiting:
        node = waiting.pop()
        found += [node.variable] if hasattr(node, "variable") else []
        waiting += [after for after, _ in node.next_functions if after is not None]
    (losses * w).sum().backward(inputs=found)


@wrong("q1")
def tails_cut_off(n, m, scale):
    """Takes a truncated normal distribution for the normal distribution."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0))
    return torch.where(w.abs() > 3, 3 * w.sign(), w).mul(scale).requires_grad_()


@wrong("q6")
def no_direction_where_none_is_asked_for(losses, w):
    """Passes gradient= only where backward() insists on it, so a single loss loses its weight."""
    try:
        losses.backward()
    except RuntimeError:
        losses.backward(w.detach())


@wrong("q6")
def weights_copied_in_the_default_dtype(losses, w):
    """Copies the weights as float32, so tiny float64 weights become 0."""
    losses.backward(torch.tensor([float(weight) for weight in w]))


@wrong("q1")
def trainable_where_gradients_are_recorded(n, m, scale):
    """Lets the grad mode decide whether the weight is trainable; initializers run under no_grad."""
    w = torch.randn(n, m, generator=torch.Generator().manual_seed(0)) * scale
    return nn.Parameter(w, requires_grad=torch.is_grad_enabled())


@wrong("q2")
def forward_called_past_the_hooks(model, img):
    """Calls model.forward() directly, which skips the model's hooks."""
    x = img.float().reshape(1, -1).requires_grad_()
    return torch.autograd.grad(model.forward(x).sum(), x)[0]


@wrong("q2")
def squeezed_and_given_a_row(model, img):
    """Squeezes the image before adding a dimension; a single pixel loses its only one."""
    return _gradient_of(model, img).squeeze().unsqueeze(0)


@wrong("q3")
def summed_entry_by_entry(a, b, d):
    """Adds up the gradients of e's entries; for an empty e the sum is the number 0."""
    c = a + b
    e = c * d
    o = e.sum()
    rows = [torch.autograd.grad(entry, [a, b, c, d, e], retain_graph=True) for entry in e.flatten()]
    return {name: sum(row[i] for row in rows) for i, name in enumerate("abcde")} | {"o": torch.ones_like(o)}


@wrong("q4")
def gradient_of_the_first_output_of_a_node(model, x, names):
    """Hooks the output's node, although a node with several outputs has several gradients."""
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
    """Removes its hooks after an Exception only; KeyboardInterrupt is none."""
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
    """Skips backward() if all weights are 0, which leaves the graph unfreed."""
    if w.any():
        losses.backward(w.detach())


# Edits of right answers that no promise of the task tells from the answers.

# --- q1

equal("q1", "no_grad is put around: the function", why="the leaf's flag can be set under no_grad, too")

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
equal("q2", "x -> x.clone()", "gradient -> gradient.clone()", why="a copy has the same values and gradients")
equal("q2", "gradient -> gradient.detach()", "gradient -> gradient.data", why="the gradient needs no graph")

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
equal("q4", "a statement is moved by one: output.retain_grad()", why="the order within a hook is free")
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

equal("q6", "no_grad is put around: the function", why="backward isn't recorded; the direction is a constant")
equal("q6", "w.detach() -> w", "w.detach -> w.clone", why="the direction of a backward is a constant anyway")
equal("q6", "w.detach() -> w.data", why="the tensor has no history in any case, and nobody writes into it")
equal("q6", "w -> w.clone()", "losses -> losses.clone()", why="a copy has the same values and gradients")


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


wrong_edits(
    "end",
    {
        "temperature_kept_above_one": (
            "optimizer.step()",
            "optimizer.step()\n        with torch.no_grad():\n            temperature.clamp_(min=1.0)",
            "Clamps the temperature at 1.",
        ),
        "old_gradient_moves_a_frozen_parameter": (
            "optimizer.zero_grad()",
            "for parameter in [*model.parameters(), temperature]:\n            parameter.grad = None if parameter.requires_grad else parameter.grad",
            "Believes that an optimizer skips a frozen parameter that still has a .grad.",
        ),
        "temperature_still_a_product": (
            "temperature = torch.full((1,), 1.5, dtype=x.dtype, requires_grad=True)",
            "temperature = torch.ones(1, dtype=x.dtype, requires_grad=True) * 1.5\n    temperature.retain_grad()",
            "Leaves the first bug: believes that a tensor which the optimizer accepts is a leaf.",
        ),
        "losses_still_numbers": (
            "torch.stack(losses).sum()",
            "torch.tensor(losses, requires_grad=True).sum()",
            "Leaves the second bug: believes that requires_grad=True reconnects a tensor to its graph.",
        ),
        "logits_still_not_asked": (
            "logits.retain_grad()",
            "pass",
            "Leaves the third bug: believes that backward() fills the .grad of non-leaves.",
        ),
        "frozen_parameters_thawed": (
            "log = []",
            "log = []\n    model.requires_grad_()",
            "Sets requires_grad on parameters that were frozen on purpose.",
        ),
        "train_mode_switched_on": (
            "log = []",
            "log = []\n    model.train()",
            "Believes that training needs model.train(), whatever mode the caller chose.",
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
equal("end", ".zero_grad() -> .zero_grad(set_to_none=False)", why="plain SGD ignores a gradient of zeros")
equal(
    "end",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="each step has a graph of its own, and whether the gradient in the log has a history was not asked",
)
