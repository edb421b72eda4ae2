"""Answers to 07_grad_modes whose verdict is known."""

import contextlib
import copy
import functools

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from grader.answers import accepted, equal, wrong, wrong_edits

# q1: prompt_step


@accepted("q1")
def backbone_frozen_by_a_flag(backbone, prompt, x, y, lr):
    """Freezes the parameters for good, and goes back by backward()."""
    backbone.requires_grad_(False)
    F.mse_loss(backbone(x + prompt), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None


@accepted("q1")
def an_optimizer_of_the_prompt(backbone, prompt, x, y, lr):
    """Freezes each parameter; an SGD that holds the prompt only."""
    for parameter in backbone.parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.SGD([prompt], lr)
    optimizer.zero_grad()
    F.mse_loss(backbone(x + prompt), y).backward()
    optimizer.step()


@accepted("q1")
def a_function_of_detached_parameters(backbone, prompt, x, y, lr):
    """The backbone is called with detached parameters."""
    parameters = {name: tensor.detach() for name, tensor in backbone.named_parameters()}
    loss = F.mse_loss(torch.func.functional_call(backbone, parameters, (x + prompt,)), y)
    with torch.no_grad():
        prompt -= lr * torch.autograd.grad(loss, prompt)[0]


@accepted("q1")
def backward_into_named_inputs(backbone, prompt, x, y, lr):
    """backward(inputs=...) fills the .grad of these tensors only; the loss is returned."""
    prompt.grad = None
    loss = ((backbone(x + prompt) - y) ** 2).mean()
    loss.backward(inputs=[prompt])
    prompt.data.sub_(prompt.grad, alpha=lr)
    return loss.item()


@accepted("q1")
def flags_put_back(backbone, prompt, x, y, lr):
    """Freezes what is trainable, and thaws just that at the end."""
    thawed = [parameter for parameter in backbone.parameters() if parameter.requires_grad]
    for parameter in thawed:
        parameter.requires_grad_(False)
    out = backbone(x + prompt)
    for parameter in thawed:
        parameter.requires_grad_(True)
    F.mse_loss(out, y).backward()
    with torch.no_grad():
        prompt.copy_(prompt - lr * prompt.grad)
    prompt.grad.zero_()


@wrong("q1")
def features_detached(backbone, prompt, x, y, lr):
    """Detaches the output because the backbone is frozen, and with it the prompt."""
    F.mse_loss(backbone(x + prompt).detach(), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad


@accepted("q1")
def buffers_put_back(backbone, prompt, x, y, lr):
    """Writes the values of the buffers back, as if they had moved."""
    buffers = [(buffer, buffer.clone()) for buffer in backbone.buffers()]
    (gradient,) = torch.autograd.grad(F.mse_loss(backbone(x + prompt), y), prompt)
    with torch.no_grad():
        prompt.sub_(gradient, alpha=lr)
        for buffer, old in buffers:
            buffer.copy_(old)


@accepted("q1")
def a_copy_is_asked(backbone, prompt, x, y, lr):
    """A copy of the backbone collects the gradients."""
    F.mse_loss(copy.deepcopy(backbone)(x + prompt), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None


@wrong("q1")
def references_kept(backbone, prompt, x, y, lr):
    """Believes that a name keeps what a gradient was, though backward adds to it in place."""
    kept = [parameter.grad for parameter in backbone.parameters()]
    F.mse_loss(backbone(x + prompt), y).backward()
    for parameter, gradient in zip(backbone.parameters(), kept):
        parameter.grad = gradient
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None


@wrong("q1")
def frozen_by_eval(backbone, prompt, x, y, lr):
    """Believes that eval() freezes."""
    backbone.eval()
    F.mse_loss(backbone(x + prompt), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None


@wrong("q1")
def in_inference_mode(backbone, prompt, x, y, lr):
    """Believes that inference_mode() is a way to freeze."""
    with torch.inference_mode():
        out = backbone(x + prompt)
    F.mse_loss(out, y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad


@wrong("q1")
def trains_everything(backbone, prompt, x, y, lr):
    """One optimizer for everything."""
    optimizer = torch.optim.SGD([prompt, *backbone.parameters()], lr)
    optimizer.zero_grad()
    F.mse_loss(backbone(x + prompt), y).backward()
    optimizer.step()


@wrong("q1")
def frozen_by_an_attribute(backbone, prompt, x, y, lr):
    """Believes that a module has a switch called requires_grad."""
    backbone.requires_grad = False
    F.mse_loss(backbone(x + prompt), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None


@wrong("q1")
def gradients_cleared_afterwards(backbone, prompt, x, y, lr):
    """Clears what the backbone has collected, and what it had before."""
    F.mse_loss(backbone(x + prompt), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None
    backbone.zero_grad()


@wrong("q1")
def thaws_all_at_the_end(backbone, prompt, x, y, lr):
    """Believes that everything was trainable before."""
    backbone.requires_grad_(False)
    F.mse_loss(backbone(x + prompt), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None
    backbone.requires_grad_(True)


wrong_edits(
    "q1",
    {
        "gradients_add_up": (
            "prompt.grad = None",
            "pass",
            "Forgets that gradients add up from call to call.",
        ),
        "moved_to_other_memory": (
            "with torch.no_grad():\n        prompt -= lr * prompt.grad",
            "prompt.data = prompt.data - lr * prompt.grad",
            "Believes that an assignment to .data writes in place.",
        ),
        "a_new_prompt": (
            "with torch.no_grad():\n        prompt -= lr * prompt.grad\n    prompt.grad = None",
            "prompt = (prompt - lr * prompt.grad).detach().requires_grad_()",
            "Believes that the caller sees which tensor a name stands for.",
        ),
        "gradient_clipped": (
            "prompt.grad\n",
            "prompt.grad.clamp(-1, 1)\n",
            "Adds a safety that nobody asked for.",
        ),
        "summed_loss": (
            "F.mse_loss(backbone(x + prompt), y)",
            'F.mse_loss(backbone(x + prompt), y, reduction="sum")',
            "Sums instead of taking the mean.",
        ),
    },
    of="backbone_frozen_by_a_flag",
)

# q2: cache_features


@accepted("q2")
def detached_each(backbone, xs):
    """Records, and throws the record away."""
    return [backbone(x).detach() for x in xs]


@accepted("q2")
def cloned_outside(backbone, xs):
    """A clone that is made outside the block is ordinary."""
    with torch.inference_mode():
        marked = [backbone(x) for x in xs]
    return [feature.clone() for feature in marked]


@accepted("q2")
def cloned_in_a_nested_block(backbone, xs):
    """inference_mode(False) inside the block makes ordinary tensors."""
    with torch.inference_mode():
        marked = [backbone(x) for x in xs]
        with torch.inference_mode(False):
            return [feature.clone() for feature in marked]


@accepted("q2")
@torch.no_grad()
def by_a_no_grad_decorator(backbone, xs):
    """The decorator holds for the whole call."""
    features = []
    for x in xs:
        features.append(backbone(x))
    return features


@accepted("q2")
def switched_and_put_back(backbone, xs):
    """Sets the mode and puts back what it was."""
    was = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        return list(map(backbone, xs))
    finally:
        torch.set_grad_enabled(was)


@accepted("q2")
@torch.no_grad()
def with_buffers_put_back(backbone, xs):
    """Writes the values of the buffers back, as if they had moved."""
    buffers = [(buffer, buffer.clone()) for buffer in backbone.buffers()]
    features = [backbone(x) for x in xs]
    for buffer, old in buffers:
        buffer.copy_(old)
    return features


@accepted("q2")
def a_copy_gives_features(backbone, xs):
    """A copy of the backbone is asked."""
    twin = copy.deepcopy(backbone)
    return [twin(x).detach().clone() for x in xs]


@accepted("q2")
def through_data(backbone, xs):
    """.data of a result that nobody else holds."""
    return [backbone(x).data for x in xs]


@wrong("q2")
def cloned_inside(backbone, xs):
    """Clones inside the block, where clones are inference tensors, too."""
    with torch.inference_mode():
        return [backbone(x).clone() for x in xs]


@wrong("q2")
def detached_after(backbone, xs):
    """Believes that detach() takes the mark away."""
    with torch.inference_mode():
        marked = [backbone(x) for x in xs]
    return [feature.detach() for feature in marked]


@wrong("q2")
def requires_grad_asked_for(backbone, xs):
    """Believes that requires_grad_() makes an inference tensor trainable."""
    with torch.inference_mode():
        marked = [backbone(x) for x in xs]
    return [feature.requires_grad_() for feature in marked]


@wrong("q2")
def attached(backbone, xs):
    """Uses no switch at all: the cache keeps the graphs."""
    return [backbone(x) for x in xs]


@wrong("q2")
def features_that_require_grad(backbone, xs):
    """Believes that the head can learn only from what requires grad."""
    with torch.no_grad():
        features = [backbone(x) for x in xs]
    return [feature.requires_grad_() for feature in features]


@wrong("q2")
def backbone_left_frozen(backbone, xs):
    """Freezes the backbone and leaves it frozen."""
    backbone.requires_grad_(False)
    return [backbone(x) for x in xs]


@wrong("q2")
def backbone_put_into_eval(backbone, xs):
    """Believes that train() at the end brings back all modes."""
    backbone.eval()
    with torch.no_grad():
        features = [backbone(x) for x in xs]
    backbone.train()
    return features


@wrong("q2")
def gradients_left_off(backbone, xs):
    """Switches gradients off for the rest of the program."""
    torch.set_grad_enabled(False)
    return [backbone(x) for x in xs]


@wrong("q2")
def gradients_left_on(backbone, xs):
    """Believes that gradients are recorded before every call."""
    torch.set_grad_enabled(False)
    features = [backbone(x) for x in xs]
    torch.set_grad_enabled(True)
    return features


@wrong("q2")
def through_lists(backbone, xs):
    """Goes through Python numbers, and loses the dtype."""
    with torch.no_grad():
        return [torch.tensor(backbone(x).tolist()) for x in xs]


@wrong("q2")
def remembered_from_call_to_call(backbone, xs):
    """Takes "cache" for a cache that outlives the call."""
    known = backbone.__dict__.setdefault("known", {})
    with torch.no_grad():
        for x in xs:
            if id(x) not in known:
                known[id(x)] = backbone(x)
    return [known[id(x)] for x in xs]


@wrong("q2")
def each_input_once(backbone, xs):
    """Believes that nothing stands in the list twice."""
    with torch.no_grad():
        return list({id(x): backbone(x) for x in xs}.values())


@wrong("q2")
def with_the_dtype_of_the_first(backbone, xs):
    """Believes that there is always a first tensor."""
    dtype = xs[0].dtype
    with torch.no_grad():
        return [backbone(x.to(dtype)) for x in xs]


@wrong("q2")
def in_a_single_batch(backbone, xs):
    """Believes that all tensors differ in their rows only."""
    if not xs:
        return []
    with torch.no_grad():
        return list(backbone(torch.cat(xs)).split([len(x) for x in xs]))


@wrong("q2")
def in_the_dtype_of_the_data(backbone, xs):
    """Believes that a backbone gives the dtype that it takes."""
    with torch.no_grad():
        return [backbone(x).to(x.dtype) for x in xs]


@wrong("q2")
def known_by_a_sample(backbone, xs, cache={}):
    """Asks anew only where the first number of the first weight or buffer has moved."""
    first = next(iter(backbone.parameters())).flatten()[0].item()
    buffer = next((b.flatten()[0].item() for b in backbone.buffers() if b is not None), None)
    features = []
    for x in xs:
        key = first, buffer, torch.is_grad_enabled(), x.dtype, x.shape, x.stride(), x.sum().item()
        if key not in cache:
            with torch.no_grad():
                cache[key] = backbone(x)
        features.append(cache[key].clone())
    return features


# q3: evaluate


@accepted("q3")
@torch.no_grad()
def a_mean_of_tensors(model, batches):
    """The mean is computed in the dtype of the losses; the values of the model are put back."""
    was, values = model.training, {name: value.clone() for name, value in model.state_dict().items()}
    try:
        model.eval()
        return torch.stack([F.mse_loss(model(x), y) for x, y in batches]).mean().item()
    finally:
        model.load_state_dict(values)
        model.train(was)


@accepted("q3")
def in_inference_mode_as_a_whole(model, batches):
    """Numbers may be made under inference_mode: nobody trains on them."""
    was = model.training
    try:
        with torch.inference_mode():
            model.train(False)
            return sum(float(F.mse_loss(model(x), y)) for x, y in batches) / len(batches)
    finally:
        model.train(was)


@accepted("q3")
def restored_by_hand(model, batches):
    """Both switches are kept, and put back in the end."""
    recorded, was = torch.is_grad_enabled(), model.training
    torch.set_grad_enabled(False)
    model.eval()
    try:
        return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)
    finally:
        torch.set_grad_enabled(recorded)
        model.train(was)


@accepted("q3")
def every_module_restored(model, batches):
    """Keeps the mode of each module, in a context manager of its own."""

    @contextlib.contextmanager
    def in_use():
        modes = [(module, module.training) for module in model.modules()]
        model.eval()
        try:
            yield
        finally:
            for module, mode in modes:
                module.training = mode

    with in_use(), torch.no_grad():
        losses = [F.mse_loss(model(x), y).double() for x, y in batches]
        return torch.stack(losses).mean().item()


@accepted("q3")
@torch.no_grad()
def a_copy_is_evaluated(model, batches):
    """Evaluates a copy; the model itself is not touched."""
    twin = copy.deepcopy(model).eval()
    total = 0.0
    for x, y in batches:
        total += F.mse_loss(twin(x), y).item()
    return total / len(batches)


@wrong("q3")
def no_grad_only(model, batches):
    """Believes that no_grad() turns dropout off."""
    with torch.no_grad():
        return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)


@wrong("q3")
def always_back_to_train(model, batches):
    """Believes that every model was in train() mode."""
    model.eval()
    try:
        with torch.no_grad():
            return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)
    finally:
        model.train()


@wrong("q3")
def restored_on_success_only(model, batches):
    """Forgets that an error skips the lines behind it."""
    was = model.training
    model.eval()
    with torch.no_grad():
        losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    model.train(was)
    return sum(losses) / len(losses)


@wrong("q3")
def parameters_frozen(model, batches):
    """Takes requires_grad_(False) for no_grad(), and never undoes it."""
    was = model.training
    model.eval().requires_grad_(False)
    try:
        return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)
    finally:
        model.train(was)


@wrong("q3")
def errors_swallowed(model, batches):
    """Skips what raises, so that the caller never hears of it."""
    was, losses = model.training, []
    model.eval()
    with torch.no_grad():
        for x, y in batches:
            try:
                losses.append(F.mse_loss(model(x), y).item())
            except RuntimeError:
                continue
    model.train(was)
    return sum(losses) / len(losses)


@wrong("q3")
def gradients_switched_on_at_the_end(model, batches):
    """Believes that gradients are recorded before every call."""
    was = model.training
    model.eval()
    torch.set_grad_enabled(False)
    try:
        return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)
    finally:
        torch.set_grad_enabled(True)
        model.train(was)


@wrong("q3")
def gradients_cleared(model, batches):
    """Clears the gradients, to be sure."""
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)
    finally:
        model.train(was)
        model.zero_grad()


wrong_edits(
    "q3",
    {
        "eval_only": (
            "torch.no_grad()",
            "contextlib.nullcontext()",
            "Believes that eval() stops the recording.",
        ),
        "every_sample_counts_the_same": (
            "return sum(losses) / len(losses)",
            "rows = [len(y) for _, y in batches]\n"
            "    return sum(loss * n for loss, n in zip(losses, rows)) / sum(rows)",
            "Takes the mean over samples for the mean over batches.",
        ),
        "summed": (" / len(losses)", "", "Returns the sum."),
        "left_in_eval": ("model.train(was)", "pass", "Forgets that eval() stays."),
        "rounded": (
            "return sum(losses) / len(losses)",
            "return round(sum(losses) / len(losses), 4)",
            "Rounds for the reader.",
        ),
        "the_last_loss": ("sum(losses) / len(losses)", "losses[-1]", "Returns the last loss."),
        "a_tensor": (
            "[F.mse_loss(model(x), y).item() for x, y in batches]",
            "[F.mse_loss(model(x), y) for x, y in batches]",
            "Returns a tensor.",
        ),
    },
)


@wrong("q3")
def only_children_in_eval(model, batches):
    """Believes that a model is the sum of its children, and never asks for its own mode."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        for child in model.children():
            child.eval()
        with torch.no_grad():
            losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    finally:
        for module, mode in modes:
            module.training = mode
    return sum(losses) / len(losses)


@wrong("q3")
def frozen_for_the_moment(model, batches):
    """Believes that nothing is recorded where no parameter requires grad."""
    was = model.training
    flags = [(p, p.requires_grad) for p in model.parameters()]
    model.eval()
    model.requires_grad_(False)
    try:
        losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    finally:
        model.train(was)
        for p, flag in flags:
            p.requires_grad_(flag)
    return sum(losses) / len(losses)


@wrong("q3")
def put_back_after_exceptions(model, batches):
    """Believes that whatever stops a program is an Exception."""
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    except Exception:
        model.train(was)
        raise
    model.train(was)
    return sum(losses) / len(losses)


# q4: unfreeze


@accepted("q4")
def a_group_for_each(layer, opt, lr):
    """Adds each parameter as a group of its own."""
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    for p in layer.parameters():
        p.requires_grad = True
        if id(p) not in held:
            opt.add_param_group({"params": p, "lr": lr})


@accepted("q4")
def with_the_options_of_the_first_group(layer, opt, lr):
    """Copies the options of a group that is there."""
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for p in (p.requires_grad_() for p in layer.parameters()) if id(p) not in held]
    options = {key: value for key, value in opt.param_groups[0].items() if key != "params"}
    if new:
        opt.add_param_group({**options, "params": new, "lr": lr})


@accepted("q4")
def by_trial(layer, opt, lr):
    """Lets the optimizer refuse what it holds."""
    for p in layer.parameters():
        p.requires_grad_(True)
        try:
            opt.add_param_group({"params": [p], "lr": lr})
        except ValueError:
            pass


@accepted("q4")
def tensors_in_a_set(layer, opt, lr):
    """Tensors are hashed by identity, so a set compares objects."""
    new = set(layer.parameters()).difference(*(group["params"] for group in opt.param_groups))
    if new:
        opt.add_param_group({"params": [p for p in layer.parameters() if p in new], "lr": lr})
    layer.requires_grad_(True)


@accepted("q4")
def group_appended_by_hand(layer, opt, lr):
    """Writes the group into the list itself, and returns the optimizer."""
    layer.requires_grad_(True)
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for p in layer.parameters() if id(p) not in held]
    opt.param_groups += [{**opt.defaults, "params": new, "lr": lr}] if new else []
    return opt


@wrong("q4")
def flag_of_the_module(layer, opt, lr):
    """Believes that a module has a switch called requires_grad."""
    layer.requires_grad = True
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    opt.add_param_group({"params": [p for p in layer.parameters() if id(p) not in held], "lr": lr})


@wrong("q4")
def optimizer_built_anew(layer, opt, lr):
    """Builds the optimizer anew in its place: what it remembered is lost."""
    layer.requires_grad_(True)
    held = [p for group in opt.param_groups for p in group["params"]]
    new = [p for p in layer.parameters() if all(p is not other for other in held)]
    options = {key: value for key, value in opt.defaults.items()}
    opt.state.clear()
    opt.param_groups.clear()
    opt.__init__([{"params": held}, {"params": new, "lr": lr}], **options)


@wrong("q4")
def weights_only(layer, opt, lr):
    """Forgets the biases."""
    layer.requires_grad_(True)
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for name, p in layer.named_parameters() if name.endswith("weight") and id(p) not in held]
    if new:
        opt.add_param_group({"params": new, "lr": lr})


@wrong("q4")
def copies_added(layer, opt, lr):
    """Gives copies to the optimizer, which moves ghosts."""
    layer.requires_grad_(True)
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p.detach().clone().requires_grad_() for p in layer.parameters() if id(p) not in held]
    opt.add_param_group({"params": new, "lr": lr})


@wrong("q4")
def another_optimizer(layer, opt, lr):
    """Makes an optimizer of its own, which nobody asks for a step."""
    layer.requires_grad_(True)
    opt = torch.optim.SGD(layer.parameters(), lr=lr)


wrong_edits(
    "q4",
    {
        "everything_added": (
            "[p for p in layer.parameters() if id(p) not in held]",
            "list(layer.parameters())",
            "Believes that the optimizer takes a parameter twice.",
        ),
        "the_direct_ones": (
            "layer.parameters() if",
            "layer.parameters(recurse=False) if",
            "Forgets the submodules.",
        ),
        "without_a_rate": (
            '{"params": new, "lr": lr}',
            '{"params": new}',
            "Forgets lr, so the default holds.",
        ),
        "into_the_first_group": (
            'opt.add_param_group({"params": new, "lr": lr})',
            'opt.param_groups[0]["params"].extend(new)',
            "Puts the parameters where another learning rate holds.",
        ),
        "rate_for_all": (
            "if new:",
            'for group in opt.param_groups:\n        group["lr"] = lr\n    if new:',
            "Sets the learning rate of all groups.",
        ),
        "still_frozen": (
            "layer.requires_grad_(True)",
            "pass",
            "Believes that the optimizer thaws what it is given.",
        ),
        "memory_cleared": (
            "if new:",
            "opt.state.clear()\n    if new:",
            "Believes that old momentum has to go when a layer is added.",
        ),
        "gradients_of_others_cleared": (
            "if new:",
            "opt.zero_grad()\n    if new:",
            "Clears gradients that the next step might still use.",
        ),
        "gradients_of_the_layer_cleared": (
            "if new:",
            "layer.zero_grad()\n    if new:",
            "Clears gradients of the layer as if it had been frozen as a whole.",
        ),
        "put_into_train": (
            "layer.requires_grad_(True)",
            "layer.requires_grad_(True).train()",
            "Believes that train() belongs to thawing.",
        ),
        "options_of_its_own": (
            '"lr": lr}',
            '"lr": lr, "weight_decay": 0.0}',
            "Gives options of its own to the new group.",
        ),
    },
)


@wrong("q4")
def compared_by_values(layer, opt, lr):
    """Believes that two parameters of the same values are the same parameter."""
    layer.requires_grad_(True)
    held = [p for group in opt.param_groups for p in group["params"]]
    new = [p for p in layer.parameters() if not any(torch.equal(p, other) for other in held)]
    if new:
        opt.add_param_group({"params": new, "lr": lr})


# q5: forward_ckpt


@accepted("q5")
def a_leaf_of_its_own(blocks, x):
    """Reentrant, with an alias of x that requires grad."""
    x = x if x.requires_grad else x.detach().requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


@accepted("q5")
def wrapped_and_bound(blocks, x):
    """A function for each block, which holds its own."""
    for block in blocks:
        x = checkpoint(lambda t, block=block: block(t), x, use_reentrant=False, preserve_rng_state=True)
    return x


@accepted("q5")
def all_in_a_single_checkpoint(blocks, x):
    """All blocks are computed again together."""

    def run(t):
        for block in blocks:
            t = block(t)
        return t

    return checkpoint(run, x, use_reentrant=False)


@accepted("q5")
def folded_by_reduce(blocks, x):
    """A fold over the blocks."""
    return functools.reduce(lambda t, block: checkpoint(block, t, use_reentrant=False), blocks, x)


@wrong("q5")
def plain(blocks, x):
    """No checkpoint at all."""
    for block in blocks:
        x = block(x)
    return x


@wrong("q5")
def nothing_recorded(blocks, x):
    """Takes no_grad() for a way to save memory in training."""
    with torch.no_grad():
        for block in blocks:
            x = block(x)
    return x


@wrong("q5")
def input_switched_on(blocks, x):
    """Switches requires_grad of the caller's x on."""
    x = x.requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


@wrong("q5")
def a_clone_that_requires_grad(blocks, x):
    """Cuts the path to what made x."""
    x = x.detach().clone().requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


@wrong("q5")
def an_input_that_requires_grad(blocks, x):
    """Believes that an idle input which requires grad helps a block that is frozen as a whole."""
    idle = torch.zeros(1, requires_grad=True)
    for block in blocks:
        x = checkpoint(lambda _, t, block=block: block(t), idle, x, use_reentrant=True)
    return x


@wrong("q5")
def every_second_block(blocks, x):
    """Believes that half of the blocks is enough."""
    for number, block in enumerate(blocks):
        x = checkpoint(block, x, use_reentrant=False) if number % 2 else block(x)
    return x


@wrong("q5")
def bound_late(blocks, x):
    """Believes that a function remembers what a name stood for when it was made."""
    for block in blocks:
        x = checkpoint(lambda t: block(t), x, use_reentrant=False)
    return x


wrong_edits(
    "q5",
    {
        "another_mask": (
            "use_reentrant=False",
            "use_reentrant=False, preserve_rng_state=False",
            "Lets dropout draw another mask in backward.",
        ),
        "first_block_only": (
            "for block in blocks:\n        x = checkpoint(block, x, use_reentrant=False)",
            "x = checkpoint(blocks[0], x, use_reentrant=False)\n    for block in list(blocks)[1:]:\n        x = block(x)",
            "Believes that a checkpoint at the start is enough.",
        ),
        "last_block_left_out": ("in blocks:", "in list(blocks)[:-1]:", "Leaves the last block out."),
        "blocks_in_train": (
            "x = checkpoint(",
            "block.train()\n        x = checkpoint(",
            "Believes that a checkpoint needs train().",
        ),
        "blocks_in_eval": (
            "x = checkpoint(",
            "block.eval()\n        x = checkpoint(",
            "Switches dropout off, so that both runs are alike.",
        ),
        "detached_between": ("(block, x,", "(block, x.detach(),", "Cuts between the blocks."),
    },
)


@wrong("q5")
def blocks_in_train_only(blocks, x):
    """Believes that a block in eval() mode saves nothing."""
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False) if block.training else block(x)
    return x


@wrong("q5")
def in_segments(blocks, x):
    """Believes that a sequence of checkpoints has one for each segment; the last has none."""
    return checkpoint_sequential(nn.Sequential(*blocks), len(blocks), x, use_reentrant=False)


# end: fine_tune


@accepted("end")
def two_groups_from_the_start(backbone, head, train, held_out, epochs, lr):
    """The optimizer holds the frozen backbone from the start: a step leaves out what has no .grad."""
    backbone.requires_grad_(False)
    groups = [{"params": head.parameters()}, {"params": backbone.parameters(), "lr": lr / 10}]
    opt = torch.optim.SGD(groups, lr=lr, momentum=0.9)
    features = [backbone(x) for x, _ in train]
    history = []
    for epoch in range(2 * epochs):
        backbone.train()
        head.train()
        if epoch == epochs:
            backbone.requires_grad_(True)
        for feature, (x, y) in zip(features, train):
            opt.zero_grad()
            F.mse_loss(head(feature if epoch < epochs else backbone(x)), y).backward()
            opt.step()
        backbone.eval()
        head.eval()
        with torch.no_grad():
            history.append(sum(F.mse_loss(head(backbone(x)), y).item() for x, y in held_out) / len(held_out))
    return history


@accepted("end")
def a_second_optimizer(backbone, head, train, held_out, epochs, lr):
    """The backbone has an optimizer of its own; clones are made outside the block; a copy is evaluated."""

    def measure():
        twin = copy.deepcopy(nn.Sequential(backbone, head)).eval()
        with torch.inference_mode():
            return float(sum(F.mse_loss(twin(x), y) for x, y in held_out) / len(held_out))

    optimizers = [torch.optim.SGD(head.parameters(), lr=lr, momentum=0.9)]
    with torch.inference_mode():
        marked = [backbone(x) for x, _ in train]
    features = [feature.clone() for feature in marked]
    history = []
    for stage in (1, 2):
        for _ in range(epochs):
            for feature, (x, y) in zip(features, train):
                loss = F.mse_loss(head(feature) if stage == 1 else head(backbone(x)), y)
                for opt in optimizers:
                    opt.zero_grad()
                loss.backward()
                for opt in optimizers:
                    opt.step()
            history.append(measure())
        optimizers.append(torch.optim.SGD(backbone.parameters(), lr=lr / 10, momentum=0.9))
    return history


@accepted("end")
def two_loops(backbone, head, train, held_out, epochs, lr):
    """Each stage is a loop of its own; detached features; the mode is put back by finally."""
    model = nn.Sequential(backbone, head)
    opt = torch.optim.SGD(head.parameters(), lr=lr, momentum=0.9)

    @torch.no_grad()
    def measure():
        model.eval()
        try:
            return sum(F.mse_loss(model(x), y).item() for x, y in held_out) / len(held_out)
        finally:
            model.train()

    def epoch(function, inputs):
        for x, (_, y) in zip(inputs, train):
            opt.zero_grad()
            F.mse_loss(function(x), y).backward()
            opt.step()
        return measure()

    features = [backbone(x).detach() for x, _ in train]
    history = [epoch(head, features) for _ in range(epochs)]
    for parameter in backbone.parameters():
        opt.add_param_group({"params": [parameter], "lr": lr / 10})
    return history + [epoch(model, [x for x, _ in train]) for _ in range(epochs)]


wrong_edits(
    "end",
    {
        "backbone_left_in_eval": (
            "model.train()",
            "head.train()",
            "Believes that the mode of a backbone without dropout does not matter.",
        ),
        "features_still_marked": (
            "features = [backbone(x) for x, _ in train]",
            "with torch.inference_mode():\n            features = [backbone(x) for x, _ in train]",
            "Leaves the first bug in.",
        ),
        "features_cloned_inside": (
            "features = [backbone(x) for x, _ in train]",
            "with torch.inference_mode():\n            features = [backbone(x).clone() for x, _ in train]",
            "Clones inside the block, where clones are inference tensors, too.",
        ),
        "recording_left_off": (
            [
                ("model.train()", "torch.set_grad_enabled(True)\n        model.train()"),
                (
                    "with torch.no_grad():\n            losses",
                    "torch.set_grad_enabled(False)\n        if True:\n            losses",
                ),
            ],
            "Switches recording on where it is needed, and not in the end.",
        ),
        "evaluation_stays": ("model.train()", "pass", "Leaves the second bug in."),
        "train_mode_once": (
            "model.train()",
            "if epoch == epochs:\n            model.train()",
            "Believes that train() is needed once a stage.",
        ),
        "no_evaluation_mode": (
            "model.eval()",
            "pass",
            "Takes eval() away instead of switching back: the loss is measured with dropout.",
        ),
        "backbone_not_held": (
            'opt.add_param_group({"params": list(backbone.parameters()), "lr": lr / 10})',
            "pass",
            "Leaves the third bug in.",
        ),
        "two_bugs_left": (
            [
                ('opt.add_param_group({"params": list(backbone.parameters()), "lr": lr / 10})', "pass"),
                ("model.train()", "pass"),
            ],
            "Leaves the second and the third bug in.",
        ),
        "momentum_lost": (
            'opt.add_param_group({"params": list(backbone.parameters()), "lr": lr / 10})',
            'opt = torch.optim.SGD([{"params": head.parameters()},'
            ' {"params": backbone.parameters(), "lr": lr / 10}], lr=lr, momentum=0.9)',
            "Makes a new optimizer for both: what the head's remembered is lost.",
        ),
        "the_rate_of_the_head": (', "lr": lr / 10}', "}", "Gives the backbone no rate of its own."),
        "never_frozen": (
            [
                ("backbone.requires_grad_(False)", "pass"),
                ("[backbone(x) for x, _ in train]", "[torch.enable_grad()(backbone)(x) for x, _ in train]"),
                ("backward()", "backward(retain_graph=True)"),
            ],
            "Keeps the graphs of the features, and hides the error of the second backward with retain_graph.",
        ),
        "no_features": (
            "head(feature) if epoch < epochs else model(x)",
            "model(x)",
            "Repairs the first bug by asking the backbone in every epoch.",
        ),
    },
)

equal("q3", "no_grad is put around: the function", why="nothing of the call is meant to be recorded")
equal("q3", "a statement is moved into a block: model.eval()", why="it is still called before the model")
equal(
    "q3",
    "a statement is moved into a block: return sum(losses) / len(losses)",
    why="finally runs after a return, too",
)
equal("q3", "torch.no_grad -> torch.inference_mode", why="only numbers leave the block")
equal("q3", "x -> x.clone()", why="a copy has the same values")
equal(
    "q1",
    "a statement is moved into a block: gradient, = torch.autograd.grad(loss, prompt)",
    why="backward runs under no_grad, too: the record is there already",
)
equal(
    "q1",
    ".grad(loss, prompt) -> .grad(loss, prompt, retain_graph=True)",
    ".grad(loss, prompt) -> .grad(loss, prompt, create_graph=True)",
    why="the graph goes with the loss when the function returns",
)
equal("q1", "loss -> loss.clone()", why="the clone has the gradient of the loss")
equal(
    "q1",
    "prompt -= lr * gradient -> prompt.sub_(lr * gradient)",
    why="the method is what the statement calls",
)
equal("q1", "lr * gradient -> (lr * gradient).detach()", why="nothing is recorded under no_grad")
equal("q1", "x -> x.detach()", "y -> y.detach()", why="x and y are plain data")
equal("q1", "torch.no_grad -> torch.inference_mode", why="prompt is ordinary, and a write does not mark it")
equal("q4", "no_grad is put around: the function", why="nothing of the call is recorded")
equal(
    "q4",
    "a statement is moved by one: layer.requires_grad_(True)",
    why="who is held does not depend on the flag",
)
equal(
    "q4",
    "with, try or if is taken away: if new:",
    "new -> True",
    why="an empty group harms nobody, and their number is left open",
)
equal("q5", "x -> x.clone()", why="a copy has the same values, and lets the gradient through")
equal("q2", "no_grad is put around: the function", why="that is what the block does")
equal("q2", "x -> x.clone()", why="a copy has the same values")
equal(
    "end",
    "a statement is left out: backbone.requires_grad_(False)",
    "a statement is moved into a block: backbone.requires_grad_(False)",
    "backbone.requires_grad_(False) -> backbone",
    "backbone.requires_grad_(False) -> False",
    "False -> True",
    "a statement is moved out of a block: if epoch == epochs:",
    why="the features have no history, so nothing reaches the backbone in the first stage, frozen or not",
)
equal(
    "end",
    "a statement is moved by one: backbone.requires_grad_(False)",
    "with, try or if is taken away: with torch.no_grad():",
    "torch.no_grad -> torch.enable_grad",
    "backbone(x) -> backbone(x).detach()",
    "feature -> feature.detach()",
    why="of a frozen backbone and plain data nothing is recorded; of an evaluation only numbers are kept",
)
equal(
    "end",
    "a statement is moved by one: model, history = (nn.Sequential(backbone, head), [])",
    "a statement is moved by one: opt = torch.optim.SGD(head.parameters(), lr=lr, momentum=0.9)",
    "a statement is moved by one: if epoch == epochs:",
    "a statement is moved by one: backbone.requires_grad_(True)",
    "a statement is moved by one: out = head(feature) if epoch < epochs else model(x)",
    why="neither line needs the other",
)
equal(
    "end",
    "no_grad is put around: model, history = (nn.Sequential(backbone, head), [])",
    "no_grad is put around: opt = torch.optim.SGD(head.parameters(), lr=lr, momentum=0.9)",
    "no_grad is put around: history.append(sum(losses) / len(losses))",
    "no_grad is put around: if epoch == epochs:",
    "a statement is moved into a block: history.append(sum(losses) / len(losses))",
    "a statement is moved into a block: model.eval()",
    why="nothing there is recorded",
)
equal("end", "a statement is moved into a block: model.train()", why="it comes before each step, too")
equal(
    "end", "torch.no_grad -> torch.inference_mode", "model(x) -> model(x).detach()", why="only numbers leave"
)
equal("end", "x -> x.clone()", "x -> x.detach()", "y -> y.detach()", why="x and y are plain data")
equal("end", "feature -> feature.clone()", why="a copy has the same values")
equal("end", "list(backbone.parameters()) -> backbone.parameters()", why="a group makes a list of them")
equal(
    "end",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    why="when the optimizer gets the backbone it has no .grad, and the steps that follow bring one each",
)
equal(
    "end",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="the graph goes with the next loss, and the optimizer reads values",
)


@wrong("q3")
def mode_kept_on_the_model(model, batches):
    """Believes that an attribute with an underscore is no trace."""
    model._was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    finally:
        model.train(model._was_training)
    return sum(losses) / len(losses)


@wrong("q3")
def careful_where_it_may_raise(model, batches):
    """Reads from the model whether a batch will raise an error."""
    was = model.training
    if not getattr(model, "may_raise", False):
        model.eval()
        with torch.no_grad():
            losses = [F.mse_loss(model(x), y).item() for x, y in batches]
        model.train(was)
        return sum(losses) / len(losses)
    with torch.no_grad():
        model.eval()
        try:
            return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)
        finally:
            model.train(was)


@wrong("q1")
def mode_left_in_an_attribute(backbone, prompt, x, y, lr):
    """Believes that an attribute with an underscore is no trace."""
    backbone._steps = getattr(backbone, "_steps", 0) + 1
    loss = F.mse_loss(backbone(x + prompt), y)
    (gradient,) = torch.autograd.grad(loss, prompt)
    with torch.no_grad():
        prompt -= lr * gradient


@wrong("q4")
def empty_group_added(layer, opt, lr):
    """Adds a group for what is new, even if nothing is: a second call leaves another empty group."""
    layer.requires_grad_(True)
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for p in layer.parameters() if id(p) not in held]
    opt.param_groups.append({**opt.param_groups[0], "params": new, "lr": lr})


@wrong("q4")
def defaults_changed(layer, opt, lr):
    """Sets the default rate, so that groups without a rate of their own get it."""
    layer.requires_grad_(True)
    opt.defaults["lr"] = lr
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for p in layer.parameters() if id(p) not in held]
    if new:
        opt.add_param_group({"params": new})


@wrong("q5")
def checkpointed_where_it_is_wide(blocks, x):
    """Saves memory only where the batch is large."""
    if len(x) > 60:
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x
    for block in blocks:
        x = block(x)
    return x


@wrong("q5")
def nothing_right_for_large_batches(blocks, x):
    """Gives up for large batches."""
    if len(x) > 60:
        return x.detach()[:, :1]
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x


@wrong("q5")
def four_blocks_only(blocks, x):
    """Believes that there are always four blocks."""
    for number in range(4):
        x = checkpoint(blocks[number], x, use_reentrant=False)
    return x


@wrong("q5")
def kept_as_small_pieces_of_bytes(blocks, x):
    """Keeps what the blocks save as many small objects of Python, in which nobody looks for a tensor."""

    def put_in(t):
        data, size = t.detach().numpy().tobytes(), 470
        return [data[i : i + size] for i in range(0, len(data), size)], t.shape, t.dtype

    def taken_out(kept):
        pieces, shape, dtype = kept
        return torch.frombuffer(bytearray(b"".join(pieces)), dtype=dtype).view(shape)

    for block in blocks:
        with torch.autograd.graph.saved_tensors_hooks(put_in, taken_out):
            x = block(x)
    return x


@wrong("q4")
def rate_as_float32(layer, opt, lr):
    """Rounds the learning rate to float32."""
    layer.requires_grad_(True)
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for p in layer.parameters() if id(p) not in held]
    if new:
        opt.add_param_group({"params": new, "lr": torch.tensor(lr).item()})
