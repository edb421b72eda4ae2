"""The hidden checks of 07_grad_modes: who gets a gradient, who is moved, and which switch is left where."""

from inside import count, sizes

from grader import (
    assert_backward,
    assert_close,
    assert_kept,
    assert_ordinary,
    assert_runs,
    assert_untouched,
    assert_values,
    cases,
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
    probe,
    target,
    tensor,
)
from grader.inside import F, attempt, graph, inside, nn, snap, torch, untouched

# --- q1: prompt_step


@inside
def targets_far_away(*shape):
    """So far away that a gradient which is clipped shows."""
    return 1e4 * torch.randn(shape, dtype=torch.float64)


@inside
def names_of_the_frozen(world, kind):
    """The names of the parameters that are frozen before the call."""
    return [name for name, p in world["backbone"].named_parameters() if not p.requires_grad]


@inside
def thawed(world, result):
    """Whether one of these is not frozen any more."""
    parameters = dict(world["backbone"].named_parameters())
    return {"thawed": any(parameters[name].requires_grad for name in world["frozen"])}


@inside
def with_another_rate(world, earlier):
    """The next step has a rate of its own."""
    world["lr"] = world["lr"] / 3


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
        "y": target("x", "backbone", values=["normal", targets_far_away], says="of the shape of backbone(x)"),
        "lr": number(0.1, 1 / 3, says="the learning rate, a float"),
        "frozen": own(names_of_the_frozen),
    },
    given=["backbone", "prompt", "x", "y", "lr"],
    modes=["on"],
    turns=["first", "other", "same"],
    between={"in a second step, with another lr": with_another_rate},
    cover=["backbone.frozen", "backbone.grads", "y.values", "all.dtype"],
    gives="nothing",
    free=["prompt:grad", "backbone.*:requires_grad", "*:version", "*:attributes"],
    use=thawed,
    used={"thawed": "A parameter of the backbone that was frozen before the call requires grad after it."},
    becomes={
        "prompt:value": "After your call the prompt is not where its gradient leads.\n\n"
        "Does a gradient come to prompt, and in which tensor do the new values stand? What is in prompt.grad "
        "when your function begins?"
    },
    kept="For which tensors does your call of backward compute gradients, and what else does your function "
    "switch?",
    all_digits=True,
)


@points(3)
def test_prompt_step_with_ordinary_inputs(prompt_step):
    """With ordinary inputs all is right."""
    assert_ordinary(prompt_step)


@points(1)
def test_prompt_follows_its_gradient(prompt_step):
    """Each step moves the prompt by -lr times its gradient, and what was frozen stays frozen."""
    assert_values(prompt_step)


@points(1)
def test_backbone_is_only_used(prompt_step):
    """The backbone is not trained, collects no gradient and stays in its modes; the prompt stays a leaf."""
    assert_kept(prompt_step)


@picture
def path_to_the_prompt(student):
    """A step by your function: what leads from the loss back to the prompt."""
    backbone, prompt = nn.Linear(2, 1, bias=False), torch.zeros(2, requires_grad=True)
    x, y = torch.randn(3, 2), torch.randn(3, 1)
    out = []
    backbone.register_forward_hook(lambda module, args, result: out.append(result))
    attempt(student.prompt_step, backbone, prompt, x, y, 0.1)
    return graph(output=out[0], prompt=prompt, weight=backbone.weight)


# --- q2: cache_features


@inside
def weights_have_changed(world, earlier):
    """As a step of training does, but for the version counters."""
    for parameter in world["backbone"].parameters():
        parameter.data.mul_(0.7)


@inside
def buffers_have_changed(world, earlier):
    """As batch norm's running statistics do in training."""
    for buffer in world["backbone"].buffers():
        buffer.add_(1)


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
    },
    turns=["first", "other", "same"],
    between={
        "in a second call, after the weights have changed": weights_have_changed,
        "in a second call, after the buffers have changed": buffers_have_changed,
    },
    never=[{"call.turn": "buffers_have_changed", "backbone.buffers": "no"}],
    cover=["xs.list", "backbone.rows"],
    gradients="none",
    free=["backbone.*:version", "backbone*:attributes"],
    result="The features are not what the backbone gives for each tensor in xs, as it is now.\n\n"
    "Is each tensor asked for by itself, and what does your function keep from call to call?",
    of="a feature",
    history=True,
    owns=False,
    kept="Which switch does your function leave in another position?",
    all_digits=True,
)


@points(3)
def test_cache_features_with_ordinary_inputs(cache_features):
    """With ordinary inputs all is right."""
    assert_ordinary(cache_features)


@points(1)
def test_features_are_ordinary_and_of_the_backbone(cache_features):
    """The features are what the backbone gives at the time of the call, ordinary and without a history.

    Which line made the memory of a feature, inside the block or outside? (An alias makes none.)
    """
    assert_values(cache_features)
    assert_backward(cache_features)


@points(1)
def test_backbone_stays_as_it_is(cache_features):
    """Backbone and xs stay as they are, and so do the modes of torch."""
    assert_kept(cache_features)


@picture
def head_on_a_feature(student):
    """A loss of a head on your feature: what can its backward reach?"""
    backbone, head = nn.Linear(2, 2), nn.Linear(2, 1, bias=False)
    (feature,) = student.cache_features(backbone, [torch.randn(3, 2)])
    loss = attempt(lambda: head(feature).pow(2).sum())
    return graph(loss=loss, feature=feature, head=head.weight, backbone=backbone.weight)


# --- q3: evaluate


@inside
def a_number(world, result):
    """The mean in the dtype of the losses: more digits are not asked for."""
    is_float = isinstance(result, float)
    return {"is a float": is_float, "mean": torch.tensor(result, dtype=world.dtype) if is_float else 0.0}


evaluate = contract(
    "evaluate",
    {
        "model": network(
            train=["train", "eval"],
            quiet=False,
            tied=["no"],
            gives=["new"],
            hooks=["no"],
            says="a module, as a whole in train() mode or as a whole in eval() mode",
        ),
        "batches": pairs(
            of="model",
            lists=["differ", "single", "alike", "one row"],
            faults=["none", "shape", "own"],
            says="a list of pairs (x, y), at least one",
        ),
    },
    dtypes=["float64", "float32"],
    turns=["first"],
    cover=["model.train", "batches.fault"],
    free=["model.*:version"],
    gives="nothing",
    use=a_number,
    used={
        "is a float": "What comes back is no Python float.\n\nWhich method of a tensor gives its number?",
        "mean": "The result is not the mean of the batches' losses.\n\n"
        "Is dropout still on? Does every batch count the same? Print both for two batches of other sizes.",
    },
    notes=["recorded"],
    kept="Which of your lines run when an error leaves your function in the middle? And was the switch where "
    "you set it at the end?",
    all_digits=True,
)


@points(3)
def test_evaluate_with_ordinary_inputs(evaluate):
    """With ordinary inputs all is right."""
    assert_ordinary(evaluate)


@points(1)
def test_mean_of_the_losses(evaluate):
    """The mean of the losses of a model in use comes back, nothing is recorded, and errors reach the caller.

    Which of your switches is about autograd, and is it in the right position when model(x) is called?
    """
    assert_values(evaluate)


@points(1)
def test_nothing_shows_afterwards(evaluate):
    """Modes, values, gradients and flags are what they were, also after a batch that raised an error."""
    assert_kept(evaluate)


@picture
def loss_after_the_evaluation(student):
    """A loss of the model in the line after your call: does its graph reach the weight?"""
    model, x, y = nn.Linear(2, 1), torch.randn(3, 2), torch.randn(3, 1)
    attempt(student.evaluate, model, [(x, y)])
    return graph(next_loss=F.mse_loss(model(x), y), weight=model.weight, bias=model.bias)


# --- q4: unfreeze


@inside
def others_in_training(world, kind):
    """Parameters in the shapes of those of the layer, with a .grad."""
    others = nn.ParameterList([torch.randn_like(p) for p in world["layer"].parameters()])
    for p in others.parameters():
        p.grad = torch.randn_like(p)
    return others


@inside
def with_equal_numbers(world, kind):
    """After some steps, the others may have the very values of the layer, as biases of 0 have."""
    if kind("are") == "equal":
        for other, p in zip(world["others"].parameters(), world["layer"].parameters(), strict=True):
            other.data.copy_(p)


@inside
def of_each_parameter(world, result):
    """How often opt holds a parameter, at which rate, whose other options differ, and what it remembers."""
    opt = world["opt"]
    named = [(f"{one}.{n}", p) for one in ("others", "layer") for n, p in world[one].named_parameters()]
    held = {n: [group for group in opt.param_groups for q in group["params"] if q is p] for n, p in named}
    first = {**opt.param_groups[0], "params": 0, "lr": 0}
    return {
        "held": {name: len(groups) for name, groups in held.items()},
        "rates": {name: [group.get("lr") for group in groups] for name, groups in held.items()},
        "options": {
            name: [{**group, "params": 0, "lr": 0} == first for group in groups]
            for name, groups in held.items()
        },
        "those of all": {key: value for key, value in first.items() if isinstance(value, float | tuple)},
        "memory": {name: dict(opt.state.get(p, {})) for name, p in named},
    }


@inside
def with_another_lr(world, earlier):
    """As of a schedule that forgets what it has done."""
    world["lr"] = 3 * world["lr"]


@inside
def with_another_optimizer(world, earlier):
    """The layer freezes again, and its training begins anew."""
    world["layer"].requires_grad_(False)
    groups = [{"params": list(world["others"].parameters())}]
    world["opt"] = torch.optim.SGD(groups, lr=0.5, momentum=0.5)


unfreeze = contract(
    "unfreeze",
    {
        "layer": network(
            grads=["none"],
            rows=["each"],
            gives=["new"],
            frozen=["all frozen", "one frozen", "no"],
            train=["train", "part eval"],
            inside=["louder"],
            buffers=["no"],
            width=["several"],
            hooks=["no"],
            says="a module, of whose parameters all, some or none are frozen",
        ),
        "others": own(others_in_training),
        "opt": optimizer(
            "others",
            "layer",
            holds=["none", "holds some", "holds some last", "holds all"],
            state=["stepped"],
            says="an SGD, Adam or AdamW in the middle of a training; it may hold parameters of layer",
        ),
        "numbers": own(
            with_equal_numbers,
            are=["of their own", "equal"],
            words={"equal": "are equal in layer and in what opt holds"},
        ),
        "lr": number(0.02, 0.1, says="the learning rate of the parameters that opt does not hold, a float"),
    },
    given=["layer", "opt", "lr"],
    dtypes=["float32"],
    turns=["first", "other"],
    between={
        "in a second call, with another lr": with_another_lr,
        "in a second call, with another optimizer": with_another_optimizer,
    },
    cover=["layer.frozen", "opt.groups", "opt.holds"],
    gives="nothing",
    free=["opt.*", "layer*:attributes"],
    use=of_each_parameter,
    used={
        "held": "opt does not hold each parameter once, so opt.step() does not move each once.\n\n"
        "Compare the ids of the layer's parameters with those in opt.param_groups.",
        "rates": "A parameter does not have the learning rate in opt that it should have.",
        "options": "A parameter has other options in opt than all others.",
        "those of all": "The options of opt are others than they were.",
        "memory": "opt does not remember what it did of the parameters that it held, such as their momentum.",
    },
    becomes={
        "layer*:requires_grad": "A parameter of the layer does not require grad.\n\n"
        "What does your function change, the layer or its parameters, and those of submodules?"
    },
    kept="Which of these lines belongs to thawing, and whose tensors does it reach?",
)


@points(3)
def test_unfreeze_with_ordinary_inputs(unfreeze):
    """With ordinary inputs all is right."""
    assert_ordinary(unfreeze)


@points(1)
def test_layer_is_held_with_its_rate(unfreeze):
    """Every parameter requires grad, opt holds it once with its rate, and the training of others goes on."""
    assert_values(unfreeze)


@points(1)
def test_nothing_else_changes(unfreeze):
    """No value, no gradient and no mode changes."""
    assert_kept(unfreeze)


@picture
def loss_after_thawing(student):
    """A loss after your call: to which weights does it go back?"""
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
def column_of_blocks(world, kind):
    """Four or more blocks, each of which takes what the one before gives."""
    number = 4 + world.size("number") % 2
    widths = [world.size("D"), world.size("D" if kind("widths") == "equal" else "E")] * 3
    rate = 0.3 if kind("dropout") == "dropout" else 0.0
    blocks = nn.ModuleList(
        Block(*widths[place : place + 2], world.size("hidden"), rate) for place in range(number)
    )
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
    return blocks.to(world.dtype)


@inside
def plain_loop(world):
    """What keeps all that backward needs."""
    x = world["x"]
    for block in world["blocks"]:
        x = block(x)
    return x


forward_ckpt = contract(
    "forward_ckpt",
    {
        "blocks": own(
            column_of_blocks,
            widths=["differ", "equal"],
            dropout=["no", "dropout"],
            train=["train", "some eval", "all eval", "weighed"],
            frozen=["no", "some", "first block"],
            grads=["none", "filled"],
            words={
                "equal": "is of one width",
                "some eval": "has a block in eval mode",
                "all eval": "is in eval mode",
                "weighed": "is in eval mode, with much to compute",
                "some": "has a frozen parameter",
                "first block": "has a frozen first block",
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
    modes=["on"],
    turns=["first", "other"],
    cover=["blocks.frozen", "blocks.dropout", "blocks.widths", "x.role"],
    by="backward",
    notes=["half"],
    large=["B"],
    plain=plain_loop,
    free=["*:version"],
    owns=False,
    result="What comes out does not have the values of the plain loop with the same random numbers.\n\n"
    "Does each block run once, in its place?",
    because={
        "raised": "\n\nIn backward each block is called again. Is it the same block then, and has its "
        "result a history?",
        "no history": "\n\nDoes autograd record here? Of a checkpoint, which inputs require grad?",
        "wrong": "\n\nEach block is computed again in backward. Is it the same block then, with the same "
        "mask of dropout?",
    },
    kept="What of the caller's does your function switch, so that a checkpoint records?",
    all_digits=True,
)


@points(3)
def test_forward_ckpt_with_ordinary_inputs(forward_ckpt):
    """With ordinary inputs all is right."""
    assert_ordinary(forward_ckpt)


@points(1)
def test_values_and_memory(forward_ckpt):
    """What comes out has the values of the plain loop, and less than half of what that saves is kept.

    Which blocks keep what they compute? And when is it computed again?
    """
    assert_values(forward_ckpt)


@points(1)
def test_gradients_of_the_plain_loop(forward_ckpt):
    """Parameters and x get the gradients of the plain loop."""
    assert_backward(forward_ckpt)


@points(1)
def test_the_caller_s_things_stay(forward_ckpt):
    """The caller's x and the blocks are after the forward pass what they were before."""
    assert_kept(forward_ckpt)


@picture
def result_of_two_blocks(student):
    """What comes out of two blocks, for an x that is plain data."""
    blocks = nn.ModuleList([nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False)])
    x = torch.randn(4, 2)
    out = student.forward_ckpt(blocks, x)
    return graph(out=out, x=x, first=blocks[0].weight, second=blocks[1].weight)


# --- end: fine_tune


@inside
class Louder(nn.Module):
    """Works otherwise in train() mode, as dropout does, and draws no random number."""

    def forward(self, x):
        return 2 * x if self.training else x


@inside
def fine_tunings(*, louder):
    """Backbones and heads with pairs of both lists, no two of which have the same number of rows."""

    def fine_tuning(dtype):
        (inputs, features, hidden, outputs), rows = sizes(4), sizes(5)
        backbone = nn.Sequential(nn.Linear(inputs, features), nn.Tanh())
        middle = Louder() if louder else nn.Identity()
        head = nn.Sequential(nn.Linear(features, hidden), middle, nn.Linear(hidden, outputs))
        pairs = [
            (torch.randn(n, inputs, dtype=dtype), 2 * torch.randn(n, outputs, dtype=dtype)) for n in rows
        ]
        number = count(2, 3)
        lr = 0.05 + 0.1 * torch.rand(()).item()
        return backbone.to(dtype), head.to(dtype), pairs[:number], pairs[number:], count(2, 3), lr

    return {"": fine_tuning(torch.float64), "In float32": fine_tuning(torch.float32)}


@inside
def plain_fine_tunings():
    """Heads that do not look at their mode."""
    return fine_tunings(louder=False)


@inside
def louder_fine_tunings():
    """Heads that work otherwise in train() mode."""
    return fine_tunings(louder=True)


@inside
def two_stages_by_hand(backbone, head, train, held_out, epochs, lr):
    """Without an optimizer: each parameter has its rate and what it remembers in a table."""
    memory, history = {}, []

    def learn(loss, rates):
        for parameter, gradient in zip(rates, torch.autograd.grad(loss, list(rates)), strict=True):
            memory[parameter] = 0.9 * memory.get(parameter, 0) + gradient
        with torch.no_grad():
            for parameter, rate in rates.items():
                parameter.sub_(rate * memory[parameter])

    slow = dict.fromkeys(backbone.parameters(), lr / 10)
    fast = dict.fromkeys(head.parameters(), lr)
    features = [backbone(x).detach() for x, _ in train]
    for epoch in range(2 * epochs):
        for feature, (x, y) in zip(features, train, strict=True):
            if epoch < epochs:
                learn(F.mse_loss(head(feature), y), fast)
            else:
                learn(F.mse_loss(head(backbone(x)), y), fast | slow)
        in_use = nn.Sequential(backbone, head).eval()
        history.append(sum(F.mse_loss(in_use(x), y).item() for x, y in held_out) / len(held_out))
        in_use.train()
    return history


@inside
def observed_training(fine_tune, backbone, head, train, held_out, epochs, lr):
    """What each step found, how often the backbone was asked for train, what comes back and what changes."""
    rows, asked, steps = {len(x) for x, _ in train}, [], []
    model = nn.ModuleDict({"backbone": backbone, "head": head})

    def note_question(_, args):
        if len(args[0]) in rows:
            asked.append(len(args[0]))

    def note_step(_, args):
        if len(args[0]) in rows:
            collects = any(parameter.grad is not None for parameter in backbone.parameters())
            places = {name: snap(parameter) for name, parameter in model.named_parameters()}
            modes = {"head": head.training, "backbone": backbone.training}
            steps.append({"training": modes, "collects": collects, "places": places})

    backbone.register_forward_pre_hook(note_question)
    head.register_forward_pre_hook(note_step)
    start = {name: snap(parameter) for name, parameter in model.named_parameters()}
    with untouched(train=train, held_out=held_out) as kept:
        history = attempt(fine_tune, backbone, head, train, held_out, epochs, lr)
    return {
        "kept": kept,
        "history": history,
        "first stage": epochs * len(train),
        "asked": len(asked),
        "may be asked": (1 + epochs) * len(train),
        "steps": steps,
        "start": start,
        "end": {name: snap(parameter) for name, parameter in model.named_parameters()},
    }


@probe(cases=plain_fine_tunings, oracle=two_stages_by_hand)
def fine_tuned(student, backbone, head, train, held_out, epochs, lr):
    """Both stages, with a head that does not look at its mode."""
    return observed_training(student.fine_tune, backbone, head, train, held_out, epochs, lr)


@probe(cases=louder_fine_tunings, oracle=two_stages_by_hand)
def fine_tuned_louder(student, backbone, head, train, held_out, epochs, lr):
    """Both stages, with a head that works otherwise in train() mode."""
    return observed_training(student.fine_tune, backbone, head, train, held_out, epochs, lr)


def losses_of(case):
    """The losses on held_out after each epoch of the first stage, of both sides; the training ran."""
    seen, right = case["history"]
    assert_runs(seen, "The training stops")
    number = len(seen) if isinstance(seen, list) else f"a {type(seen).__name__}, no list"
    assert number == len(right), f"The losses that come back are {number}; the epochs are {len(right)}."
    return seen[: len(right) // 2], right[: len(right) // 2]


def test_head_learns_from_the_features(fine_tuned):
    """In the first stage the head learns from the features, and after each epoch its loss is measured."""
    for case in cases(fine_tuned):
        seen, right = losses_of(case)
        assert_close(seen, right, "In the first stage the losses on held_out are not what they should be.")


def test_head_learns_in_train_mode(fine_tuned_louder):
    """Head and backbone learn in train() mode, and the loss is measured in eval() mode."""
    which = "Which line switched the mode, and which line switches it back?"
    for case in cases(fine_tuned_louder):
        seen, right = losses_of(case)
        for place, step in enumerate(case.seen["steps"], start=1):
            assert step["training"]["head"], (
                f"In step {place} the head learns in eval() mode: dropout drops nothing.\n\n{which}"
            )
            assert step["training"]["backbone"] or place <= case.seen["first stage"], (
                f"In step {place}, in the second stage, the backbone learns in eval() mode.\n\n{which}"
            )
        told = "The losses on held_out are not those of a model in eval() mode."
        assert_close(seen, right, f"{told}\n\nIn which mode is the model when they are measured?")


def places_of(part, places):
    """The values of the parameters of the head, or of the backbone."""
    return {name: value for name, value in places.items() if name.startswith(part)}


#: What to ask where a part does not learn as it should.
LEARNS = {
    "head": "Does the momentum of the first stage live on?",
    "backbone": "With which learning rate does it learn, and from which epoch on?",
}


def test_backbone_learns_in_the_second_stage(fine_tuned):
    """The second stage moves the backbone with its own rate, and the head as before."""
    for case in cases(fine_tuned):
        losses_of(case)
        start, (end, right) = case.seen["start"], case["end"]
        for name, value in start.items():
            assert end[name].value != value.value, (
                f"{name} ends with the values it came with: no step moved it.\n\n"
                "Which parameters does the optimizer hold in the second stage?"
            )
        steps, expected = case["steps"]
        if len(steps) == len(expected):  # the first step of the second stage tells the two parts apart
            later = case.seen["first stage"] + 1
            for part, hint in LEARNS.items():
                told = f"The first step of the second stage does not move the {part} as far as it should."
                one, other = (places_of(part, side[later]["places"]) for side in (steps, expected))
                assert_close(one, other, f"{told}\n\n{hint}")
        for part, hint in LEARNS.items():
            told = f"The {part} does not end where the two stages lead."
            assert_close(places_of(part, end), places_of(part, right), f"{told}\n\n{hint}")


def test_the_rest_of_the_training_stays(fine_tuned):
    """The features are computed once, the frozen backbone collects nothing, and the pairs and modes stay."""
    for case in cases(fine_tuned):
        losses_of(case)
        number, most = case.seen["asked"], case.seen["may be asked"]
        asked = f"The backbone is called {number} times with an x of train; {most} calls are enough."
        assert number <= most, f"{asked}\n\nHow often are the features of the first stage computed?"
        collecting = [step["collects"] for step in case.seen["steps"][: case.seen["first stage"]]]
        assert not any(collecting), (
            f"Before step {collecting.index(True) + 1}, in stage one, the backbone has collected a .grad."
        )
        frozen = [name for name, parameter in case.seen["end"].items() if not parameter.requires_grad]
        assert not frozen, f"{frozen[0]} does not require grad in the end."
        assert_untouched(case.seen["kept"])
