"""The hidden checks of 07_grad_modes: which parameters get gradients, and which modes are restored."""

from grader import (
    Call,
    Cases,
    Rules,
    assert_memory,
    assert_no_side_effects,
    assert_same_gradients,
    assert_same_values,
    contract,
    data,
    inputs,
    network,
    number,
    optimizer,
    own,
    pairs,
    picture,
    points,
    target,
    tensor,
)
from grader.inside import F, attempt, graph, inside, nn, torch

# --- q1: prompt_step


@inside
def numbers_far_from_0(*shape):
    """So far away that a gradient which is clipped shows."""
    return 1e4 * torch.randn(shape, dtype=torch.float64)


@inside
def names_of_the_frozen(setup, kind):
    """The names of the parameters that are frozen before the call."""
    return [name for name, p in setup["backbone"].named_parameters() if not p.requires_grad]


@inside
def thawed(setup, result):
    """Whether one of these is not frozen any more."""
    parameters = dict(setup["backbone"].named_parameters())
    return {"thawed": any(parameters[name].requires_grad for name in setup["frozen"])}


@inside
def with_another_rate(setup, earlier):
    """The next step has a rate of its own."""
    setup["lr"] = setup["lr"] / 3


prompt_step = contract(
    "prompt_step",
    {
        "backbone": network(
            "D",
            inside=["louder", "norm"],
            rows=["each"],
            gives=["new"],
            hooks=["no"],
            width=["several"],
            says="a module that takes (B, D); it is not trained",
        ),
        "prompt": tensor(
            "D", roles=["leaf"], layouts=["contiguous"], grads=["none"], says="(D,), updated in place"
        ),
        "x": data("B D", "1 D", says="(B, D)"),
        "y": target(
            "x", "backbone", values=["normal", numbers_far_from_0], says="of the shape of backbone(x)"
        ),
        "lr": number(0.1, 1 / 3, says="the learning rate, a float"),
        "frozen": own(names_of_the_frozen),
    },
    cases=Cases(
        modes=["on"],
        sequences=["first", "other", "same", "changed backbone"],
        between={"in a second step with another `lr`": with_another_rate},
        cover=["backbone.frozen", "backbone.grads", "y.values", "all.dtype"],
    ),
    call=Call(given=["backbone", "prompt", "x", "y", "lr"], returns="nothing", then=thawed),
    rules=Rules(ignore=["prompt:grad", "backbone.*:requires_grad", "*:version"], full_precision=True),
)


@points(4)
def test_prompt_follows_its_gradient(prompt_step):
    """`prompt` is updated by `-lr` times its gradient."""
    assert_same_values(
        prompt_step,
        changes={
            "prompt:value": "Your call did not change `prompt` by `-lr` times its gradient.\n\nWrite to "
            "the caller's tensor. Print the gradient that you use: `prompt.grad` may hold "
            "an older one when your function begins."
        },
        then={
            "thawed": "A parameter of the backbone that was frozen before the call requires grad after it."
        },
    )


@points(1, side_effects=True)
def test_backbone_is_only_used(prompt_step):
    """The backbone is unchanged; `prompt` stays a leaf."""
    assert_no_side_effects(
        prompt_step,
        "Before and after the call, compare `prompt.data_ptr()`, and every `.grad`, flag and mode of the "
        "backbone.",
    )


@picture
def path_to_the_prompt(student):
    """A step of your function: the path from the output back to the prompt."""
    backbone, prompt = nn.Linear(2, 1, bias=False), torch.zeros(2, requires_grad=True)
    x, y = torch.randn(3, 2), torch.randn(3, 1)
    out = []
    backbone.register_forward_hook(lambda module, args, result: out.append(result))
    attempt(student.prompt_step, backbone, prompt, x, y, 0.1)
    return graph(output=out[0], prompt=prompt, weight=backbone.weight)


# --- q2: cache_features


@inside
def places(setup, kind):
    """Where a number of the weights will change."""
    return torch.rand(2, dtype=torch.float64).tolist()


@inside
def change(tensors, places):
    """A single number of one tensor changes, but no first one, and no version counter."""
    tensors = [t for t in tensors if t.is_floating_point()]
    chosen = tensors[int(places[0] * len(tensors))].data.view(-1)
    chosen[-1 - int(places[1] * (len(chosen) - 1))] += 1


@inside
def a_weight_has_changed(setup, earlier):
    """As a sparse training step does it."""
    change(setup["backbone"].parameters(), setup["places"])


@inside
def a_buffer_has_changed(setup, earlier):
    """As loading another statistic does it."""
    change(setup["backbone"].buffers(), setup["places"])


cache_features = contract(
    "cache_features",
    {
        "backbone": network(
            gives=["new", "half"],
            width=["several"],
            tied=["no"],
            hooks=["no"],
            says="a module that takes each of the tensors; it is not changed",
        ),
        "xs": inputs(says="a list of tensors"),
        "places": own(places),
    },
    cases=Cases(
        sequences=["first", "other", "same", "changed xs"],
        between={
            "in a second call, after a weight has changed": a_weight_has_changed,
            "in a second call, after a buffer has changed": a_buffer_has_changed,
        },
        never=[{"call.sequence": "a_buffer_has_changed", "backbone.buffers": "no"}],
        cover=["xs.list", "backbone.rows"],
    ),
    call=Call(given=["backbone", "xs"], gradients="none"),
    rules=Rules(ignore=["backbone.*:version"], full_precision=True),
)


@points(2)
def test_features_can_be_trained_on(cache_features):
    """Features are normal tensors without a graph."""
    for place in range(len(cache_features.expected.entry())):
        feature = cache_features.seen.tensor(place)
        assert feature.version is not None, (
            f"Feature {place} is an inference tensor.\n\nAutograd cannot save a tensor for `backward()` that "
            "`inference_mode()` allocated."
        )
        assert not feature.requires_grad, (
            f"Feature {place} requires grad.\n\nPrint its `grad_fn`: the feature must not be connected to "
            "the graph."
        )


@points(2)
def test_features_are_outputs_of_the_backbone(cache_features):
    """Features match the backbone's current output."""
    assert_same_values(
        cache_features,
        "The features are not the backbone's current outputs for the tensors in `xs`.\n\nPass each tensor "
        "to the backbone separately. Don't cache: weights and buffers may change between calls.",
    )
    assert_same_gradients(cache_features, "a feature", flags=True)


@points(1, side_effects=True)
def test_backbone_stays_as_it_is(cache_features):
    """`backbone`, `xs` and the grad mode are unchanged."""
    assert_no_side_effects(
        cache_features, "Restore every flag and mode that you change.", may_share_storage=True
    )


@picture
def head_on_a_feature(student):
    """A loss of a head on your feature: what can its backward reach?"""
    backbone, head = nn.Linear(2, 2), nn.Linear(2, 1, bias=False)
    (feature,) = student.cache_features(backbone, [torch.randn(3, 2)])
    loss = attempt(lambda: head(feature).pow(2).sum())
    return graph(loss=loss, feature=feature, head=head.weight, backbone=backbone.weight)


# --- q3: evaluate


@inside
def a_number(setup, result):
    """The mean in the dtype of the losses: more digits are not asked for."""
    is_float = isinstance(result, float)
    return {"is a float": is_float, "mean": torch.tensor(result, dtype=setup.dtype) if is_float else 0.0}


@inside
def targets_near_300(*shape):
    """What a model gives that is far from 0 and learned well: the square of a difference needs care."""
    return 300 + 1e-3 * torch.randn(shape, dtype=torch.float64)


evaluate = contract(
    "evaluate",
    {
        "model": network(
            train=["train", "eval"],
            numbers=["small", "high"],
            quiet=False,
            tied=["no"],
            gives=["new"],
            hooks=["no"],
            says="a module, as a whole in train() mode or as a whole in eval() mode",
        ),
        "batches": pairs(
            of="model",
            lists=["differ", "single", "alike", "one row"],
            faults=["none", "shape", "own", "interrupt"],
            values=["normal", "far", targets_near_300],
            xs=["plain", "requires grad"],
            says="a list of pairs (x, y), at least one",
        ),
    },
    cases=Cases(
        dtypes=["float64", "float32"],
        sequences=["first"],
        cover=["model.train", "batches.fault"],
        never=[
            {"batches.values": "targets_near_300", "model.numbers": "small"},
            {"batches.values": "targets_near_300", "all.dtype": "float64"},
        ],
    ),
    call=Call(returns="nothing", then=a_number, record=["recorded"]),
    rules=Rules(ignore=["model.*:version"], full_precision=True),
)


@points(4)
def test_mean_of_the_losses(evaluate):
    """The mean loss is correct; autograd records nothing."""
    assert_same_values(
        evaluate,
        then={
            "is a float": "The result is not a Python float.\n\n`item()` returns the number in a tensor.",
            "mean": "The result is not the mean of the batches' losses.\n\nCheck that dropout is off. "
            "Every batch counts the same: try two batches of different sizes.",
        },
        recorded={
            "recorded": "Autograd records operations during your call.\n\n`eval()` does not disable "
            "gradients. Call `model(x)` under `no_grad()`."
        },
    )


@points(1, side_effects=True)
def test_nothing_shows_afterwards(evaluate):
    """Modes and values are restored, even after errors."""
    assert_no_side_effects(
        evaluate,
        "The lines that restore it must run even if a batch raises an error. Restore the mode that you "
        "found, which may be either one.",
    )


@picture
def loss_after_the_evaluation(student):
    """A loss of the model in the line after your call: does its graph reach the weight?"""
    model, x, y = nn.Linear(2, 1), torch.randn(3, 2), torch.randn(3, 1)
    attempt(student.evaluate, model, [(x, y)])
    return graph(next_loss=F.mse_loss(model(x), y), weight=model.weight, bias=model.bias)


# --- q4: unfreeze


@inside
def others_in_training(setup, kind):
    """Parameters in the shapes of those of the layer, with a .grad."""
    others = nn.ParameterList([torch.randn_like(p) for p in setup["layer"].parameters()])
    for p in others.parameters():
        p.grad = torch.randn_like(p)
    return others


@inside
def with_equal_numbers(setup, kind):
    """After some steps, the others may have the very values of the layer, as biases of 0 have."""
    if kind("are") == "equal":
        for other, p in zip(setup["others"].parameters(), setup["layer"].parameters(), strict=True):
            other.data.copy_(p)


@inside
def number_of_calls(setup, kind):
    """How often the function is called with the same arguments."""
    return kind("called")


@inside
def once_or_twice(function, setup):
    """The calls; whether a second one leaves the groups as they are."""
    layer, opt, lr = (setup[name] for name in ("layer", "opt", "lr"))
    function(layer, opt, lr)
    groups = [len(group["params"]) for group in opt.param_groups]
    for _ in range(setup["the function"] - 1):
        function(layer, opt, lr)
        setup.remembered["same groups"] = [groups == [len(group["params"]) for group in opt.param_groups]]


@inside
def of_each_parameter(setup, result):
    """How often opt holds a parameter, at which rate, whose other options differ, and what it remembers."""
    opt = setup["opt"]
    named = [(f"{one}.{n}", p) for one in ("others", "layer") for n, p in setup[one].named_parameters()]
    held = {n: [group for group in opt.param_groups for q in group["params"] if q is p] for n, p in named}
    first = {**opt.param_groups[0], "params": 0, "lr": 0}
    memory = {name: dict(opt.state.get(p, {})) for name, p in named}
    for _, p in named:
        p.grad = torch.full_like(p, 1)
    opt.step()
    return {
        "held": {f"the count of `{name}`": len(groups) for name, groups in held.items()},
        "rates": {name: [group.get("lr") for group in groups] for name, groups in held.items()},
        "options": {
            name: [{**group, "params": 0, "lr": 0} == first for group in groups]
            for name, groups in held.items()
        },
        "those of all": {key: value for key, value in first.items() if isinstance(value, float | tuple)},
        "memory": memory,
        "after a step": {name: p.detach().clone() for name, p in named},
        "after another call": all(setup.remembered.get("same groups", [])),
    }


@inside
def with_another_lr(setup, earlier):
    """As of a schedule that forgets what it has done."""
    setup["lr"] = 3 * setup["lr"]


@inside
def with_another_optimizer(setup, earlier):
    """The layer is frozen again, and opt is another optimizer."""
    setup["layer"].requires_grad_(False)
    groups = [{"params": list(setup["others"].parameters())}]
    setup["opt"] = torch.optim.SGD(groups, lr=0.5, momentum=0.5)


unfreeze = contract(
    "unfreeze",
    {
        "layer": network(
            every=False,
            nest=["flat", "deep", "own"],
            train=["train", "part eval"],
            frozen=["all frozen", "one frozen", "no"],
            tied=["no", "tied"],
            grads=["none", "filled"],
            says="a module",
        ),
        "others": own(others_in_training),
        "opt": optimizer(
            "others",
            "layer",
            holds=["none", "holds some", "holds some last", "holds all"],
            state=["stepped"],
            says="an optimizer in the middle of a training, which may hold parameters of layer",
        ),
        "the values": own(
            with_equal_numbers,
            are=["of their own", "equal"],
            words={"equal": "are the same in `layer` and in the parameters that `opt` holds"},
        ),
        "lr": number(0.02, 0.1, says="the learning rate of the parameters that opt does not hold, a float"),
        "the function": own(number_of_calls, called=[1, 2], words={2: "is called twice"}),
    },
    cases=Cases(
        dtypes=["float32", "float64"],
        sequences=["first", "other"],
        between={
            "in a second call with another `lr`": with_another_lr,
            "in a second call with another optimizer": with_another_optimizer,
        },
        cover=["layer.frozen", "opt.groups", "opt.holds"],
    ),
    call=Call(given=["layer", "opt", "lr"], how=once_or_twice, returns="nothing", then=of_each_parameter),
    rules=Rules(ignore=["opt.param_groups*", "opt.state*"], full_precision=True),
)


@points(4)
def test_layer_is_held_with_its_rate(unfreeze):
    """`opt` holds each parameter once, at its rate."""
    assert_same_values(
        unfreeze,
        changes={
            "layer*:requires_grad": "A parameter of the layer does not require grad.\n\nSet the flag of "
            "every parameter, including those of submodules."
        },
        then={
            "held": "`opt` does not hold each parameter exactly once, so `opt.step()` does not update each "
            "one once.\n\nCompare the ids of the layer's parameters with those in `opt.param_groups`.",
            "rates": "A parameter has the wrong learning rate in `opt`.",
            "options": "In `opt`, a parameter has different options from the others.",
            "those of all": "Your call changed the options of `opt`.",
            "memory": "The optimizer state of a parameter, such as its momentum, has changed.",
            "after a step": "After one step of `opt`, the parameters have wrong values.",
            "after another call": "A second call with the same arguments changes the groups of `opt`.",
        },
    )


@points(1, side_effects=True)
def test_nothing_else_changes(unfreeze):
    """Values, gradients and modes are unchanged."""
    assert_no_side_effects(
        unfreeze,
        "Unfreezing changes only `requires_grad` and the groups of `opt`.",
    )


@picture
def loss_after_thawing(student):
    """A loss after your call: to which weights does it backpropagate?"""
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1)
    attempt(student.unfreeze, model[0], opt, 0.01)
    return graph(loss=model(torch.randn(3, 2)).sum(), layer=model[0].weight, head=model[1].weight)


# --- q5: forward_ckpt


@inside
class Block(nn.Module):
    """A block that is wide inside and has dropout."""

    def __init__(self, inputs, outputs, wide, rate):
        super().__init__()
        self.first, self.last, self.rate = nn.Linear(inputs, wide), nn.Linear(wide, outputs), rate

    def forward(self, x):
        hidden = torch.tanh(self.first(x))
        return self.last(F.dropout(hidden, self.rate, self.training))


@inside
def column_of_blocks(setup, kind):
    """Four blocks or more, each of which takes what the one before gives."""
    number = 5 + 2 * torch.randint(2, ()).item() if kind("number") == "more" else 4
    widths = [setup.size("D"), setup.size("D" if kind("widths") == "equal" else "E")] * 4
    rate = 0.3 if kind("dropout") == "dropout" else 0.0
    hidden = setup.size("hidden")
    blocks = nn.ModuleList(Block(*widths[place : place + 2], hidden, rate) for place in range(number))
    if kind("inside") == "last wider":
        blocks[-1] = Block(*widths[number - 1 : number + 1], number * hidden, rate)
    modes = {"train": [], "some eval": blocks[1:2]}
    for block in modes.get(kind("train"), blocks):
        block.eval()
    frozen = {
        "no": [],
        "some": [blocks[2].first.weight],
        "first block": blocks[0].parameters(),
    }
    for parameter in frozen[kind("frozen")]:
        parameter.requires_grad_(False)
    if kind("grads") == "filled":
        blocks[1].last.bias.grad = torch.randn_like(blocks[1].last.bias)
    return blocks.to(setup.dtype)


@inside
def plain_loop(setup):
    """What keeps all that backward needs."""
    x = setup["x"]
    for block in setup["blocks"]:
        x = block(x)
    return x


forward_ckpt = contract(
    "forward_ckpt",
    {
        "blocks": own(
            column_of_blocks,
            number=["four", "more"],
            widths=["differ", "equal"],
            dropout=["no", "dropout"],
            train=["train", "some eval", "all eval"],
            frozen=["no", "some", "first block"],
            grads=["none", "filled"],
            inside=["alike", "last wider"],
            words={
                "last wider": "has a last block that is much wider inside than the others",
                "more": "has more than four blocks",
                "equal": "has blocks of the same width",
                "some eval": "has a block in eval mode",
                "all eval": "is in eval mode",
                "some": "has a frozen parameter",
                "first block": "has a frozen first block",
                "filled": "has a parameter that already has a `.grad`",
            },
            says="an nn.ModuleList of at least four modules, each of which takes what the one before gives",
        ),
        "x": tensor(
            "B D",
            "1 D",
            roles=["plain", "leaf", "computed"],
            layouts=["contiguous", "transposed"],
            says="(B, D)",
        ),
    },
    cases=Cases(
        modes=["on"],
        sequences=["first", "other", "other data"],
        cover=["blocks.frozen", "blocks.dropout", "blocks.widths", "x.role"],
        large=["B"],
        few_rows=True,
        memory_with={"blocks.train": "all eval", "blocks.inside": "last wider"},
    ),
    call=Call(gradients="backward", record=["half"], plain=plain_loop),
    rules=Rules(ignore=["*:version"], full_precision=True),
)


@points(2)
def test_values_and_memory(forward_ckpt):
    """The result equals that of the plain loop.

    Checkpointing must not change what the blocks compute.
    """
    assert_same_values(
        forward_ckpt,
        "The result differs from that of the plain loop with the same random numbers.\n\nEach block must "
        "run once, in order.",
    )


@points(2)
def test_gradients_of_the_plain_loop(forward_ckpt):
    """The gradients equal those of the plain loop."""
    assert_same_gradients(
        forward_ckpt,
        because={
            "raised": "\n\nBackward calls each checkpointed block again. It must be the same block then, "
            "and its result must require grad.",
            "no history": "\n\nCheck that gradients are enabled, and which inputs of each checkpoint "
            "require grad.",
            "wrong": "\n\nBackward computes each checkpointed block again. It must be the same block then, "
            "with the same dropout mask.",
        },
    )


@points(1, side_effects=True)
def test_memory_is_saved(forward_ckpt):
    """Activations are recomputed, not stored."""
    assert_memory(forward_ckpt)


@points(1, side_effects=True)
def test_the_caller_s_things_stay(forward_ckpt):
    """`x` and the blocks are unchanged."""
    assert_no_side_effects(
        forward_ckpt,
        "Don't change a flag of the caller's `x` or blocks to make a checkpoint record.",
        may_share_storage=True,
    )


@picture
def result_of_two_blocks(student):
    """What comes out of two blocks, for an x that doesn't require grad."""
    blocks = nn.ModuleList([nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False)])
    x = torch.randn(4, 2)
    out = student.forward_ckpt(blocks, x)
    return graph(out=out, x=x, first=blocks[0].weight, second=blocks[1].weight)


# --- end: fine_tune


@inside
def with_learning_noted(fine_tune, setup):
    """What the backbone is asked for, and in which mode backbone and head learn from an x of train."""
    firsts = {x[0, 0].item() for x, _ in setup["train"]}
    noted = {"asked": [], "backbone": [], "head": []}
    setup.remembered.update(noted, start=[p.detach().clone() for p in setup["backbone"].parameters()])

    def note_call(name, module, args, out):
        if name == "backbone" and args[0].numel() and args[0][0, 0].item() in firsts:
            noted["asked"].append(name)
        if out.requires_grad:
            mode = module.training
            out.register_hook(lambda gradient: noted[name].append(mode))

    hooks = [
        setup[name].register_forward_hook(lambda *call, name=name: note_call(name, *call))
        for name in ("backbone", "head")
    ]
    try:
        return fine_tune(*(setup[name] for name in ("backbone", "head", "train", "held_out", "epochs", "lr")))
    finally:
        for hook in hooks:
            hook.remove()


@inside
def two_stages(setup, history):
    """What the stages did, their losses, and where the parameters are in the end."""
    seen, epochs, steps = setup.remembered, setup["epochs"], setup["epochs"] * len(setup["train"])
    parts = [setup["backbone"], setup["head"]]
    return {
        "mode of the head": all(seen["head"]),
        "mode of the backbone": all(seen["backbone"]),
        "first losses": history[:epochs] if isinstance(history, list) else history,
        "questions": len(seen["asked"]) <= steps + len(setup["train"]),
        "gradients": len(seen["backbone"]) <= steps,
        "moves": any(
            not torch.equal(p, q) for p, q in zip(parts[0].parameters(), seen["start"], strict=True)
        ),
        "losses": history,
        "places": [[p.detach() for p in part.parameters()] for part in parts],
        "flags": all(p.requires_grad for part in parts for p in part.parameters()),
    }


MODE = "is trained in eval mode.\n\n`eval()` lasts until you call `train()`."

fine_tune = contract(
    "fine_tune",
    {
        "backbone": network("in", "features", every=False, inside=["plain"], says="a module"),
        "head": network("features", every=False, says="a module that takes the output of the backbone"),
        "train": pairs(values=["normal"], says="a list of pairs (x, y), at least one"),
        "held_out": pairs(lists=["differ", "single"], values=["normal"], says="another such list"),
        "epochs": number(2, 3, says="how many epochs each stage has, at least 2"),
        "lr": number(0.1, says="the learning rate of the head, a float"),
    },
    cases=Cases(dtypes=["float64", "float32"], modes=["on"], sequences=["first", "other"], cover=[]),
    call=Call(how=with_learning_noted, returns="nothing", then=two_stages),
    rules=Rules(ignore=["backbone*", "head*"], full_precision=True),
)


def test_every_fine_tuning(fine_tune):
    """Losses and parameters of both stages are correct."""
    assert_same_values(
        fine_tune,
        then={
            "mode of the head": f"In some step, the head {MODE}",
            "mode of the backbone": f"In the second stage, the backbone {MODE}",
            "first losses": "In the first stage, the losses on `held_out` are wrong.\n\nCheck the features "
            "on which you train the head, and the mode of the model when you measure.",
            "questions": "The backbone is called on inputs of `train` more often than the two stages "
            "need.\n\nCompute the features of the first stage only once.",
            "gradients": "Gradients reach the backbone in the first stage.\n\nPrint the `grad_fn` of the "
            "features: they must not be connected to the graph.",
            "moves": "The values of the backbone are unchanged: no step updated it.\n\nIn the second "
            "stage, the optimizer must hold its parameters, too.",
            "losses": "In the second stage, the losses on `held_out` are wrong.\n\nThe backbone learns "
            "with `lr / 10`, and the head keeps its momentum.",
            "places": "After both stages, the values of the backbone or the head are wrong.",
            "flags": "A parameter does not require grad after the call.",
        },
    )


def test_the_rest_of_the_training_stays(fine_tune):
    """The training data and grad mode are unchanged."""
    assert_no_side_effects(fine_tune)
