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
    """Detaches the output because the backbone is frozen, which also disconnects the prompt."""
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
def frozen_by_eval(backbone, prompt, x, y, lr):
    """Believes that eval() freezes parameters."""
    backbone.eval()
    F.mse_loss(backbone(x + prompt), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None


@wrong("q1")
def trains_everything(backbone, prompt, x, y, lr):
    """Gives the optimizer all parameters, although only the prompt is to be trained."""
    optimizer = torch.optim.SGD([prompt, *backbone.parameters()], lr)
    optimizer.zero_grad()
    F.mse_loss(backbone(x + prompt), y).backward()
    optimizer.step()


@wrong("q1")
def gradients_cleared_afterwards(backbone, prompt, x, y, lr):
    """Clears the backbone's gradients, also those from before."""
    F.mse_loss(backbone(x + prompt), y).backward()
    with torch.no_grad():
        prompt -= lr * prompt.grad
    prompt.grad = None
    backbone.zero_grad()


@wrong("q1")
def thaws_all_at_the_end(backbone, prompt, x, y, lr):
    """Believes that every parameter was trainable before, and unfreezes all."""
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
            "Forgets that gradients accumulate from call to call.",
        ),
        "gradient_clipped": (
            "prompt.grad\n",
            "prompt.grad.clamp(-1, 1)\n",
            "Clips the gradient, which the task doesn't ask for.",
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
@torch.no_grad()
def by_a_no_grad_decorator(backbone, xs):
    """The decorator holds for the whole call."""
    features = []
    for x in xs:
        features.append(backbone(x))
    return features


@accepted("q2")
@torch.no_grad()
def with_buffers_put_back(backbone, xs):
    """Writes the values of the buffers back, as if they had moved."""
    buffers = [(buffer, buffer.clone()) for buffer in backbone.buffers()]
    features = [backbone(x) for x in xs]
    for buffer, old in buffers:
        buffer.copy_(old)
    return features


@wrong("q2")
def cloned_inside(backbone, xs):
    """Clones inside the inference_mode block, where clones are inference tensors, too."""
    with torch.inference_mode():
        return [backbone(x).clone() for x in xs]


@wrong("q2")
def gradients_left_on(backbone, xs):
    """Turns gradient recording on at the end, although it may have been off before."""
    torch.set_grad_enabled(False)
    features = [backbone(x) for x in xs]
    torch.set_grad_enabled(True)
    return features


@wrong("q2")
def through_lists(backbone, xs):
    """Converts the features to Python numbers, which have no dtype."""
    with torch.no_grad():
        return [torch.tensor(backbone(x).tolist()) for x in xs]


@wrong("q2")
def each_input_once(backbone, xs):
    """Believes that no tensor is listed twice."""
    with torch.no_grad():
        return list({id(x): backbone(x) for x in xs}.values())


@wrong("q2")
def with_the_dtype_of_the_first(backbone, xs):
    """Believes that the list is never empty."""
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
def known_by_a_sample(backbone, xs, cache={}):
    """Caches the features and checks only the first number of the first weight or buffer."""
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
    """Believes that every model was in train mode."""
    model.eval()
    try:
        with torch.no_grad():
            return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)
    finally:
        model.train()


@wrong("q3")
def errors_swallowed(model, batches):
    """Catches every error, so the caller never learns of it."""
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
    """Turns gradient recording on at the end, although it may have been off before."""
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
    """Clears the model's gradients."""
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
        "a_tensor": (
            "[F.mse_loss(model(x), y).item() for x, y in batches]",
            "[F.mse_loss(model(x), y) for x, y in batches]",
            "Returns a tensor instead of a number.",
        )
    },
)


@wrong("q3")
def only_children_in_eval(model, batches):
    """Changes the mode of the children and forgets that of the model itself."""
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
    """Believes that nothing is recorded if no parameter requires grad."""
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
    """Restores the mode after an Exception only; KeyboardInterrupt is none."""
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
def tensors_in_a_set(layer, opt, lr):
    """Tensors are hashed by identity, so a set compares objects."""
    new = set(layer.parameters()).difference(*(group["params"] for group in opt.param_groups))
    if new:
        opt.add_param_group({"params": [p for p in layer.parameters() if p in new], "lr": lr})
    layer.requires_grad_(True)


@wrong("q4")
def another_optimizer(layer, opt, lr):
    """Makes an optimizer of its own, which nobody asks for a step."""
    layer.requires_grad_(True)
    opt = torch.optim.SGD(layer.parameters(), lr=lr)


@wrong("q4")
def flag_of_the_module(layer, opt, lr):
    """Believes that a module has an attribute requires_grad."""
    layer.requires_grad = True
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    opt.add_param_group({"params": [p for p in layer.parameters() if id(p) not in held], "lr": lr})


@wrong("q4")
def optimizer_built_anew(layer, opt, lr):
    """Creates a new optimizer, which loses the optimizer state."""
    layer.requires_grad_(True)
    held = [p for group in opt.param_groups for p in group["params"]]
    new = [p for p in layer.parameters() if all(p is not other for other in held)]
    options = {key: value for key, value in opt.defaults.items()}
    opt.state.clear()
    opt.param_groups.clear()
    opt.__init__([{"params": held}, {"params": new, "lr": lr}], **options)


wrong_edits(
    "q4",
    {
        "everything_added": (
            "[p for p in layer.parameters() if id(p) not in held]",
            "list(layer.parameters())",
            "Believes that an optimizer accepts a parameter twice.",
        ),
        "gradients_of_the_layer_cleared": (
            "if new:",
            "layer.zero_grad()\n    if new:",
            "Clears the layer's gradients, as if all of it had been frozen.",
        ),
        "put_into_train": (
            "layer.requires_grad_(True)",
            "layer.requires_grad_(True).train()",
            "Believes that unfreezing includes train().",
        ),
        "options_of_its_own": (
            '"lr": lr}',
            '"lr": lr, "weight_decay": 0.0}',
            "Gives the new parameter group options of its own.",
        ),
    },
)


@wrong("q4")
def compared_by_values(layer, opt, lr):
    """Believes that two parameters with equal values are the same parameter."""
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
def a_clone_that_requires_grad(blocks, x):
    """Detaches x before the first block, so no gradient reaches what made x."""
    x = x.detach().clone().requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


@wrong("q5")
def an_input_that_requires_grad(blocks, x):
    """Believes that an extra input that requires grad helps a frozen block."""
    idle = torch.zeros(1, requires_grad=True)
    for block in blocks:
        x = checkpoint(lambda _, t, block=block: block(t), idle, x, use_reentrant=True)
    return x


wrong_edits(
    "q5",
    {
        "another_mask": (
            "use_reentrant=False",
            "use_reentrant=False, preserve_rng_state=False",
            "Lets dropout draw another mask in the recomputation.",
        ),
        "blocks_in_train": (
            "x = checkpoint(",
            "block.train()\n        x = checkpoint(",
            "Believes that a checkpoint needs train().",
        ),
        "detached_between": ("(block, x,", "(block, x.detach(),", "Detaches between the blocks."),
    },
)


@wrong("q5")
def blocks_in_train_only(blocks, x):
    """Believes that a block in eval mode saves nothing."""
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False) if block.training else block(x)
    return x


@wrong("q5")
def in_segments(blocks, x):
    """Uses checkpoint_sequential, which doesn't checkpoint the last segment."""
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


wrong_edits(
    "end",
    {
        "backbone_left_in_eval": (
            "model.train()",
            "head.train()",
            "Believes that the mode of a backbone without dropout doesn't matter.",
        ),
        "features_still_marked": (
            "features = [backbone(x) for x, _ in train]",
            "with torch.inference_mode():\n            features = [backbone(x) for x, _ in train]",
            "Leaves the first bug: trains the head on inference tensors.",
        ),
        "recording_left_off": (
            [
                ("model.train()", "torch.set_grad_enabled(True)\n        model.train()"),
                (
                    "with torch.no_grad():\n            losses",
                    "torch.set_grad_enabled(False)\n        if True:\n            losses",
                ),
            ],
            "Turns gradient recording off at the end of the evaluation and not on again.",
        ),
        "evaluation_stays": (
            "model.train()",
            "pass",
            "Leaves the second bug: stays in eval mode after the evaluation.",
        ),
        "backbone_not_held": (
            'opt.add_param_group({"params": list(backbone.parameters()), "lr": lr / 10})',
            "pass",
            "Leaves the third bug: unfreezes parameters that the optimizer doesn't hold.",
        ),
        "never_frozen": (
            [
                ("backbone.requires_grad_(False)", "pass"),
                ("[backbone(x) for x, _ in train]", "[torch.enable_grad()(backbone)(x) for x, _ in train]"),
                ("backward()", "backward(retain_graph=True)"),
            ],
            "Keeps the features' graphs and silences the second backward's error with retain_graph.",
        ),
        "no_features": (
            "head(feature) if epoch < epochs else model(x)",
            "model(x)",
            "Fixes the first bug by calling the backbone in every epoch.",
        ),
    },
)

equal("q3", "no_grad is put around: the function", why="nothing of the call is meant to be recorded")
equal("q3", "a statement is moved into a block: model.eval()", why="it is still called before the model")
equal("q3", "a statement is moved into a block: return sum(losses) / len(losses)", why="finally runs anyway")
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
equal("q1", "prompt -= lr * gradient -> prompt.sub_(lr * gradient)", why="the statement calls the method")
equal("q1", "lr * gradient -> (lr * gradient).detach()", why="nothing is recorded under no_grad")
equal("q1", "x -> x.detach()", "y -> y.detach()", why="x and y are plain data")
equal("q1", "torch.no_grad -> torch.inference_mode", why="prompt is ordinary, and a write does not mark it")
equal("q4", "no_grad is put around: the function", why="nothing of the call is recorded")
equal("q4", "a statement is moved by one: layer.requires_grad_(True)", why="the flag doesn't matter")
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


@wrong("q4")
def empty_group_added(layer, opt, lr):
    """Adds a parameter group even if no parameter is new."""
    layer.requires_grad_(True)
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for p in layer.parameters() if id(p) not in held]
    opt.param_groups.append({**opt.param_groups[0], "params": new, "lr": lr})


@wrong("q5")
def checkpointed_where_it_is_wide(blocks, x):
    """Uses checkpoints only for large batches."""
    if len(x) > 60:
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x
    for block in blocks:
        x = block(x)
    return x


@wrong("q5")
def four_blocks_only(blocks, x):
    """Believes that there are always four blocks."""
    for number in range(4):
        x = checkpoint(blocks[number], x, use_reentrant=False)
    return x


@wrong("q4")
def rate_as_float32(layer, opt, lr):
    """Rounds the learning rate to float32."""
    layer.requires_grad_(True)
    held = {id(p) for group in opt.param_groups for p in group["params"]}
    new = [p for p in layer.parameters() if id(p) not in held]
    if new:
        opt.add_param_group({"params": new, "lr": torch.tensor(lr).item()})
