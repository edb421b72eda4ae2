"""The hidden checks of 02_backward_twice: what a backward frees, adds to, and leaves waiting."""

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
    network,
    number,
    optimizer,
    own,
    picture,
    points,
    target,
    tensor,
)
from grader.inside import (
    F,
    attempt,
    gradients,
    graph,
    inside,
    nn,
    torch,
)

WHOSE = "What did the caller give you, and who uses it next?"
#: What hardly matters to a loss is the same in all cases.
FEW = {
    "train": ["train", "part eval"],
    "buffers": ["no"],
    "width": ["several"],
    "inside": ["louder", "norm"],
    "rows": ["each"],
    "gives": ["new"],
    "hooks": ["no"],
}
LEARN = {"frozen": ["no"], "grads": ["none", "filled"]}


@inside
class Scaled(nn.Module):
    """A layer of a single weight, for pictures; what it computed can be drawn."""

    def __init__(self, outputs):
        super().__init__()
        self.weight, self.outputs = nn.Parameter(torch.randn(1)), outputs

    def forward(self, x):
        self.outputs.append(x * self.weight)
        return self.outputs[-1]


# --- q1: backward_both


@inside
class Gains(nn.Module):
    """A trunk whose result is multiplied by gains: on the way to their logarithm lies no x."""

    def __init__(self, trunk, size, dtype):
        super().__init__()
        self.trunk, self.size, self.log = trunk, size, nn.Parameter(torch.randn((), dtype=dtype))

    def forward(self, x):
        return self.trunk(x) * self.log.expand(self.size).exp().mean()


@inside
def callable_around(setup, kind):
    """What is handed over as the trunk: the network, or something around it."""
    trunk = setup["trunk"]
    if kind("of") in {"gains", "weighed gains"}:
        return Gains(trunk, setup.size("n") * setup.size("hidden"), setup.dtype)
    around = {"a function": trunk.__call__, "a number": lambda x: trunk(x).square().sum()}
    return around.get(kind("of"), trunk)


@inside
def call_with_t(function, setup):
    """A call with the callable that computes t."""
    return function(setup["t"], setup["x"])


@inside
def history_of_the_gradient(setup, result):
    """Whether x.grad has a history."""
    return setup["x"].grad is not None and setup["x"].grad.requires_grad


backward_both = contract(
    "backward_both",
    {
        "trunk": network(
            quiet=False,
            **(
                FEW
                | {
                    "gives": ["new", "view"],
                    "nest": ["flat", "own"],
                    "tied": ["no"],
                    "grads": ["none", "filled"],
                }
            ),
            says="a callable, such as a module",
        ),
        "x": tensor(
            "n in",
            "m n in",
            "in",
            roles=["leaf"],
            layouts=["contiguous", "transposed", "gaps"],
            says="a tensor of any shape that trunk takes",
        ),
        "t": own(
            callable_around,
            of=["a module", "a function", "a number", "gains", "weighed gains"],
            words={
                "a function": "comes of a function that is no module",
                "a number": "has no dimensions",
                "gains": "is multiplied by gains, which are computed from a parameter alone",
                "weighed gains": "is multiplied by many gains, which are computed from a parameter alone",
            },
        ),
    },
    cases=Cases(
        modes=["on"],
        sequences=["first", "moved"],
        never=[{"trunk.inside": "norm", "x.shape": "in"}],
        cover=[],
        large=["n"],
    ),
    call=Call(
        given=["trunk", "x"],
        how=call_with_t,
        gradients="none",
        use=history_of_the_gradient,
        record=["calls", "left"],
    ),
    rules=Rules(ignore=["trunk*:grad", "t*:grad"], full_precision=True),
)


@points(3)
def test_both_gradients_and_nothing_held(backward_both):
    """Both gradients are added to x.grad after one call of the trunk, and all that it saved is freed."""
    assert_same_values(
        backward_both,
        "The two numbers are not t.mean() and t.sum().",
        changes={
            "x:grad": "x.grad is not what it held before, with the gradients of d and e added.\n\nWhich of "
            "the three does x.grad hold now: what was there before, the gradient of d, that of e?"
        },
        used="x.grad has a history: it holds a graph of its own.\n\nWhich argument of backward() records "
        "the backward itself?",
        recorded={"calls": "trunk is not called once.\n\nWhere does each of your two scalars come from?"},
    )


@points(1, side_effects=True)
def test_no_graph_is_kept(backward_both):
    """No graph stays in memory after the call."""
    assert_memory(
        backward_both,
        left="What trunk has saved for backward is still held after the call.\n\nWhich of your backward "
        "passes is the last, and which ways does it take? Is anything of the graph needed after it?",
    )


@points(1, side_effects=True)
def test_trunk_and_x_stay(backward_both):
    """All else about x and trunk stays as it is."""
    assert_no_side_effects(backward_both, WHOSE, may_share_storage=True)


@picture
def two_losses_after_the_call(student):
    """The scalars d and e after your call, of the trunk x**2 * 2: what is still saved for a backward?"""
    x = torch.randn(2, requires_grad=True)
    d, e = student.backward_both(lambda v: v**2 * 2, x)
    return graph(d=d, e=e, x=x)


# --- q2: task_grad_norms


@inside
def leaves(setup, kind):
    """Five leaves of different shapes; what stands in their .grad is remembered beside them."""
    shapes = [(setup.size("in"), setup.size("out")), (setup.size("out"),), (setup.size("out"),), (), (2,)]
    params = [torch.randn(shape, dtype=setup.dtype).requires_grad_() for shape in shapes]
    for param in params[1:] if kind("grads") == "some" else params:
        if kind("grads") != "none":
            param.grad = torch.randn_like(param) * (1e6 if kind("grads") == "large" else 1)
    setup.remembered["grads"] = [param.grad for param in params]
    return params


@inside
def losses_of_leaves(setup, kind):
    """A list of losses with a common part, as the case asks for it."""
    w, v, gain, scale, shift = setup["params"]
    trunk = torch.tanh(torch.randn(setup.size("n"), len(w), dtype=setup.dtype) @ w)
    common = (trunk * v).pow(2).sum() + (gain * v).sum() * scale.exp() + shift.square().sum()
    # The first loss is small, so that a norm that was rounded to a few decimals is wrong in each case.
    one, other = common * 3e-3, (common + trunk.sum() * gain.sum()).sin()
    lists = {
        "several": lambda: [one, other],
        "single": lambda: [other],
        "parts": lambda: [(trunk @ v).sum(), 1e-3 * shift.exp().sum(), (scale * gain).sum()],
        "twice": lambda: [one, other, one],
        "equal": lambda: [(trunk * trunk).sum(), (trunk * trunk.detach()).sum()],
        "minimum": lambda: [one, (v - v.detach()).pow(2).sum()],
        "turned": lambda: [(w.t() * torch.randn(w.t().shape, dtype=setup.dtype)).sum(), one],
        "one tensor": lambda: [3 * (v + gain).square().sum(), one],
        "far": lambda: [1e-60 * one, 1e60 * other],
    }
    return lists[kind("list")]()


@inside
def after_the_measurement(setup, norms):
    """How many .grad are other tensors now, and what the caller's backward brings."""
    losses, params = setup["losses"], setup["params"]
    pairs = [(p.grad, grad) for p, grad in zip(params, setup.remembered["grads"], strict=True)]
    return {
        "others": sum(now is not then for now, then in pairs if now is not None and then is not None),
        "the sum of the losses": gradients(lambda: sum(losses), params=params),
    }


task_grad_norms = contract(
    "task_grad_norms",
    {
        "params": own(
            leaves,
            grads=["none", "filled", "some", "large"],
            words={"some": "has a first tensor without .grad", "large": "has large numbers in .grad"},
            says="a list of leaves that require grad, of any shapes",
        ),
        "losses": own(
            losses_of_leaves,
            list=["several", "single", "parts", "twice", "equal", "minimum", "turned", "one tensor", "far"],
            words={
                "parts": "has losses that do not depend on all of params",
                "twice": "has a loss twice",
                "equal": "has two losses of one value",
                "minimum": "has a loss whose gradient is 0",
                "turned": "has a loss whose gradient is not contiguous",
                "one tensor": "has a loss for which autograd returns one tensor as two gradients",
                "far": "has gradients as small as 1e-60 and as large as 1e60",
            },
            says="a list of scalar tensors",
        ),
    },
    cases=Cases(
        never=[{"losses.list": "far", "all.dtype": "float32"}],
        modes=["on"],
        sequences=["first", "other", "other data", "same"],
        cover=[],
    ),
    call=Call(given=["losses", "params"], gradients="none", use=after_the_measurement),
)


@points(3)
def test_norms_are_of_one_loss_each(task_grad_norms):
    """Each number is the L2 norm of the gradient of one loss, and every .grad is the tensor it was."""
    assert_same_values(
        task_grad_norms,
        "These are not the L2 norms of the gradients, one of each loss.\n\nThe gradient of which losses is "
        "in each number, to which parameters does it go, and how do the squares come together?",
        used="A .grad is another tensor now. Code that holds the old tensor no longer sees what arrives in "
        ".grad.\n\nDo you need a copy of it?",
    )


@points(2)
def test_training_goes_on(task_grad_norms):
    """After one or two measurements, the sum of the losses goes back and brings the right gradients."""
    assert_same_gradients(
        task_grad_norms,
        because={
            "freed": "\n\nA backward of yours was the last through it, and freed what the caller needs. "
            "Which of yours?"
        },
    )


@points(1, side_effects=True)
def test_no_grad_changes(task_grad_norms):
    """Parameters, losses and every .grad are what they were."""
    assert_no_side_effects(
        task_grad_norms, "Which of your lines writes to a .grad, or to something else that is not yours?"
    )


@picture(reference=True)
def after_a_measurement(student):
    """Two losses after your measurement: can a training still go back through them, and is a .grad filled?"""
    w, v = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    loss1, loss2 = (w**2).sum(), (w**2 * v).sum()
    attempt(student.task_grad_norms, [loss1, loss2], [w, v])
    return graph(loss1=loss1, loss2=loss2, w=w, v=v)


# --- q3: two_updates


two_updates = contract(
    "two_updates",
    {
        "net": network(quiet=False, **(FEW | LEARN), says="a module"),
        "opt": optimizer("net", groups=["one", "two groups"], says="an optimizer of the parameters of net"),
        "x": data("n in", "m n in", "in", layouts=["contiguous"], says="an input of net"),
        "y1": target("x", "net", values=["far"], says="a target in the shape of net(x)"),
        "y2": target("x", "net", values=["normal"], says="a target in the shape of net(x)"),
    },
    cases=Cases(
        modes=["on"], sequences=["first", "same"], never=[{"net.inside": "norm", "x.shape": "in"}], cover=[]
    ),
    call=Call(gradients="none", record=["calls", "steps"]),
    rules=Rules(ignore=["net*:grad"]),
)


@points(4)
def test_updates_and_losses(two_updates):
    """Each update calls net once, and steps with the gradient of its own loss at the weights it meets."""
    assert_same_values(
        two_updates,
        "The losses are not those from which the two updates were computed.\n\nOf which prediction and "
        "which target is each, and at which weights?",
        recorded={
            "steps": "Of which loss are the gradients in .grad when each step is made, and at which weights "
            "was that loss computed?",
            "calls": "net is not called once for each update.\n\nWhat is each of your calls for? (A batch "
            "norm in training mode remembers each of them, and dropout computes another result each time.)",
        },
    )


@points(1, side_effects=True)
def test_only_the_parameters_move(two_updates):
    """Only the parameters, their .grad and the memory of opt change."""
    assert_no_side_effects(two_updates, WHOSE)


@picture
def prediction_of_the_second_loss(student):
    """What net computed in its last call: is its graph used up, and which weights has it saved?"""
    outputs = []
    net = nn.Sequential(Scaled(outputs), nn.Tanh(), Scaled(outputs))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    attempt(student.two_updates, net, opt, torch.randn(2, 1), torch.randn(2, 1), torch.randn(2, 1))
    return graph(prediction=outputs[-1], w1=net[0].weight, w2=net[2].weight)


# --- q4: ContentLoss


@inside
def as_the_case_says(setup, kind):
    """What happens to a module."""
    return kind("life")


@inside
def overwrite(tensor):
    """Other numbers in the same memory."""
    with torch.no_grad():
        tensor.mul_(-2).add_(3)


@inside
def two_iterations(made, setup):
    """What the second forward gives, and the first loss has gone back before."""
    image, life = setup["image"], setup["module"]
    module = made(setup["target"], setup["weight"])
    if life == "late":
        overwrite(setup["target"])
    if life == "one of two":
        made(setup["other"], 2 * setup["weight"])(image)
    module(image)
    module.train(life != "in eval mode")
    module.loss.backward()
    if life == "again":
        overwrite(setup["target"])
    given = 1.5 * image if life == "behind" else image
    out = module(given)
    if life == "behind":
        F.relu(out, inplace=True)
    learning = [p for p in nn.Module.parameters(module) if p.requires_grad]
    return {"loss": module.loss, "what forward returned": out, "parameters": len(learning)}


@inside
def ways_back(setup, found):
    """Where the loss goes back to, and where a gradient of what forward returned does."""
    ends = {"image": setup["image"], "target": setup.starts.get("target", setup["target"])}
    return {
        "the loss": gradients(found["loss"], ends),
        "what forward returned": gradients(found["what forward returned"], ends),
    }


ContentLoss = contract(
    "ContentLoss",
    {
        "image": tensor("n m", "b n m", "", roles=["leaf"], layouts=["contiguous"], grads=["none"]),
        "target": tensor(
            "=image",
            roles=["saved", "leaf", "plain"],
            layouts=["contiguous", "transposed", "gaps"],
            says="a tensor in the shape of input",
        ),
        "other": tensor("=image", roles=["plain"], layouts=["contiguous"]),
        "weight": number(1.5, 1.0, -0.3, says="a float"),
        "module": own(
            as_the_case_says,
            life=["used twice", "late", "again", "behind", "one of two", "in eval mode"],
            words={
                "in eval mode": "is in eval mode",
                "late": "is first used after target was overwritten",
                "again": "is used again after target was overwritten",
                "behind": "stands before a layer that overwrites what forward returned",
                "one of two": "is used after another module",
            },
        ),
    },
    cases=Cases(
        modes=["on"], sequences=["first", "moved"], cover=["target.role", "module.life", "weight.value"]
    ),
    call=Call(given=["target", "weight"], how=two_iterations, gradients="none", use=ways_back),
    rules=Rules(full_precision=True),
)


@points(3)
def test_loss_of_a_constant(ContentLoss):
    """The loss is that of a constant with memory of its own, and the input passes unchanged."""
    assert_same_values(
        ContentLoss,
        "After the second forward, what the module gives is wrong.\n\nloss is mse_loss(input * weight, "
        "target * weight), with the values that target had when the module was made. And forward returns "
        "its input. Does your constant have memory of its own?",
        changes={
            "image:grad": "After the backward of the loss, image.grad is wrong.\n\nHow many backward passes "
            "arrive there?"
        },
    )


@points(2)
def test_gradients_reach_the_image_alone(ContentLoss):
    """The loss and what passed go back to the image, and the loss not into the network behind the target."""
    assert_same_gradients(
        ContentLoss,
        because={
            "overwritten": "\n\nWhat forward returned was overwritten, as by an in-place relu. Which tensor "
            "do the operations of your loss save: their own, or the caller's?",
            "connected": "\n\nWhat does the module keep of the target: its values, or also how it was "
            "computed?",
        },
    )


@points(1, side_effects=True)
def test_target_is_left_alone(ContentLoss):
    """The caller's target and the input stay as they are."""
    assert_no_side_effects(
        ContentLoss, "Does your module work on the caller's target itself?", may_share_storage=True
    )


@picture(reference=True)
def loss_of_an_image(student):
    """The loss of an image, before its backward; the target was computed from source."""
    source, image = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    target = source**2
    module = student.ContentLoss(target, 2.0)
    module(image)
    return graph(loss=module.loss, image=image, target=target, source=source)


# --- q5: accumulate


@inside
def size_of_pieces(setup, kind):
    """micro, for a number of rows that 5 divides."""
    n = len(setup["X"])
    sizes = {"a rest": n // 5 * 2, "no rest": n // 5, "one": 1, "more": n + 1}
    return sizes[kind("cuts")]


accumulate = contract(
    "accumulate",
    {
        "model": network(**(FEW | LEARN | {"gives": ["new", "a number"]}), says="a module"),
        "X": data("5n in", "5n m in", says="a sample in each row"),
        "Y": target("X", "model", values=["far"], says="a target in the shape of model(X)"),
        "micro": own(
            size_of_pieces,
            cuts=["a rest", "no rest", "one", "more"],
            words={
                "no rest": "divides the number of rows",
                "one": "is 1",
                "more": "is greater than the number of rows",
            },
            says="an int, at least 1",
        ),
    },
    cases=Cases(modes=["on"], sequences=["first", "same", "moved"], cover=[], large=["n"]),
    call=Call(returns="nothing", record=["peak"]),
    rules=Rules(full_precision=True),
)


@points(4)
def test_gradient_of_the_batch(accumulate):
    """The pieces add the gradient of the whole batch, and no more than micro samples are held at a time."""
    assert_same_values(
        accumulate,
        changes={
            "model*:grad": "What arrived in the .grad of the model is not the gradient of the mean over the "
            "whole batch.\n\nBy what number does the mean over a micro-batch divide, and by what the mean "
            "over the batch? Which lines of yours work on .grad itself?"
        },
    )


@points(1, side_effects=True)
def test_memory_of_one_part(accumulate):
    """No more than one part of the batch is in memory."""
    assert_memory(
        accumulate,
        peak="More than micro samples are kept for backward at the same time.\n\nWhen does autograd let go "
        "of what it saved? How many backward passes has your code done when the last micro-batch enters the "
        "model?",
    )


@points(1, side_effects=True)
def test_all_else_is_left_alone(accumulate):
    """X, Y and all of the model but its gradients stay as they are."""
    assert_no_side_effects(accumulate, WHOSE)


@picture
def second_piece(student):
    """What the first micro-batch has left when the second enters the model: a graph, and a .grad."""
    outputs, pictures = [], []
    model = nn.Sequential(Scaled(outputs), nn.Tanh())

    def draw(*_):
        if len(outputs) == 1:
            pictures.append(graph(first_prediction=outputs[0], weight=model[0].weight))

    model.register_forward_pre_hook(draw)
    student.accumulate(model, torch.randn(3, 1), torch.zeros(3, 1), 2)
    return pictures[0] if pictures else graph(first_prediction=outputs[0], weight=model[0].weight)


# --- q6: train_task


@inside
class Beside(nn.Linear):
    """A layer beside its input, behind a relu that lets nothing through: its gradients are 0 and not None."""

    def forward(self, x):
        return x + (super().forward(x) - 1000).relu()


@inside
def trunk_and_heads(setup, kind):
    """A trunk and heads of different kinds, with something in .grad as after earlier steps."""
    inputs, hidden, outputs = map(setup.size, ("in", "hidden", "out"))
    parts = [nn.Linear(inputs, hidden), nn.Tanh()]
    if kind("trunk") == "silent":
        parts.insert(1, Beside(hidden, hidden))
    heads = [nn.Linear(hidden, outputs), nn.Linear(hidden, outputs, bias=False)]
    heads.append(nn.Sequential(nn.Tanh(), nn.Linear(hidden, outputs)))
    if kind("heads") == "eleven":
        heads += [nn.Linear(hidden, outputs, bias=False) for _ in range(8)]
    model = nn.Module()
    model.trunk, model.heads = nn.Sequential(*parts), nn.ModuleList(heads)
    if kind("modes") == "parts in eval":
        model.trunk.append(nn.Dropout(0.5).eval())
        model.heads[0].eval()
    for parameter in model.parameters():
        if kind("grads") != "none":
            parameter.grad = torch.randn_like(parameter) * (kind("grads") == "filled")
    return model.to(setup.dtype)


@inside
def another_task(setup, earlier):
    """The next call is about another task."""
    setup["task"] = (setup["task"] + 1) % len(setup["model"].heads)


train_task = contract(
    "train_task",
    {
        "model": own(
            trunk_and_heads,
            grads=["filled", "none", "zeros"],
            trunk=["a layer", "silent"],
            heads=["three", "eleven"],
            modes=["train", "parts in eval"],
            words={
                "silent": "has a part of the trunk whose gradient is 0",
                "eleven": "has eleven heads",
                "parts in eval": "has parts in eval mode",
            },
            says="a module with a trunk and at least two heads",
        ),
        "opt": optimizer(
            "model",
            rules=["momentum", "adam"],
            groups=["one", "two groups"],
            says="an optimizer of all of model",
        ),
        "task": number(1, 0, says="the index of a head"),
        "x": data("n in", "m n in", layouts=["contiguous"], says="an input of the trunk"),
        "y": target("x", values=["normal"], says="a target in the shape of what a head gives"),
    },
    cases=Cases(
        dtypes=["float32"],
        modes=["on"],
        sequences=["first"],
        between={"in a second call, after another task": another_task},
        cover=[],
    ),
    call=Call(returns="nothing", record=["steps"]),
    rules=Rules(ignore=["model*:grad", "model*:version"]),
)


@points(4)
def test_trained_parts_learn(train_task):
    """The trunk and the head of the task make one step with the gradient of this loss."""
    assert_same_values(
        train_task,
        recorded={
            "steps": "What is in the .grad of each part when opt.step() is called, and what does opt do with "
            "it? And what did you switch?"
        },
    )


@points(1, side_effects=True)
def test_other_heads_stand_still(train_task):
    """The other heads and what opt remembers of them, flags, modes and groups stay as they are."""
    assert_no_side_effects(
        train_task,
        "What is in the .grad of each part when opt.step() is called, and what does opt do with it? And "
        "what did you switch?",
    )


@picture
def loss_of_the_first_task(student):
    """The prediction for task 0 after two steps, on task 1 and on task 0: look at the .grad of head 1."""
    outputs, model = [], nn.Module()
    model.trunk, model.heads = Scaled([]), nn.ModuleList([Scaled(outputs), Scaled(outputs)])
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    for task in (1, 0):
        attempt(student.train_task, model, opt, task, torch.randn(2), torch.randn(2))
    return graph(prediction=outputs[-1], head0=model.heads[0].weight, head1=model.heads[1].weight)


# --- q7: validation_loss


@inside
class Batches:
    """Gives pairs, has a length, and cannot be indexed."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __iter__(self):
        return iter(self.pairs)


@inside
def loader_of(setup, kind):
    """Batches of different sizes and losses, the last the smallest, as a list or in another form.

    The losses are small, for a mean that is rounded for a log is wrong with all numbers then.
    """
    n = setup.size("n")
    rows = {"four": [n + 4, n + 4, n + 4, n], "one": [n]}[kind("number")]
    before = (2,) if kind("dims") == "3 dims" else ()
    inputs = setup.size("in")
    xs = [torch.randn(*before, n, inputs) for n in rows]
    with torch.no_grad():
        outs = [setup["model"](x) for x in xs]
    ys = [out + 0.05 * (5 - k) * torch.randn(out.shape) for k, out in enumerate(outs)]
    pairs = list(zip(xs, ys, strict=True))
    return pairs if kind("form") == "a list" else Batches(pairs)


@inside
def other_batches(setup, earlier):
    """The caller puts other batches into the same loader."""
    loader = setup["loader"]
    pairs = loader if isinstance(loader, list) else loader.pairs
    pairs[:] = [(x / 2, y + 1) for x, y in pairs[1:]]


SEVERAL_BATCHES = """When a batch enters the model, the graphs of several earlier batches are alive.

Which of your names still refers to something that was computed from an earlier batch?"""

validation_loss = contract(
    "validation_loss",
    {
        "model": network(
            **(FEW | {"train": ["eval"], "tied": ["no"], "frozen": ["no", "one frozen"]}), says="a module"
        ),
        "loader": own(
            loader_of,
            form=["a list", "no list"],
            number=["four", "one"],
            dims=["2 dims", "3 dims"],
            words={"no list": "is no list", "one": "has one batch", "3 dims": "has tensors of 3 dimensions"},
            says="gives pairs (x, y), and has a len",
        ),
    },
    cases=Cases(
        dtypes=["float32"],
        sequences=["first", "moved"],
        between={"in a second call, after other batches were put into loader": other_batches},
        never=[{"loader.number": "one", "call.sequence": "other_batches"}],
        cover=["loader.form", "loader.number"],
        large=["n"],
    ),
    call=Call(gradients="none", record=["peak+1", "left", "model.graphs+1"]),
)


@points(3)
def test_mean_and_no_graph_held(validation_loss):
    """The mean comes back as a Python float, and the graphs of the batches do not pile up."""
    assert_same_values(
        validation_loss,
        "The result is not the mean over the batches, as a Python float.\n\nHow much does each batch count, "
        "how much the last one? And is it a number?",
        recorded={"graphs": SEVERAL_BATCHES},
    )


@points(1, side_effects=True)
def test_no_graph_is_recorded(validation_loss):
    """No graph is in memory."""
    assert_memory(
        validation_loss,
        graphs=SEVERAL_BATCHES,
        peak=SEVERAL_BATCHES,
        left="After the call, the graph of a batch is still alive.\n\nWhat did you return or store, and "
        "what is its grad_fn?",
    )


@points(1, side_effects=True)
def test_model_and_modes_stay(validation_loss):
    """The model, the data and the modes of torch are as they were."""
    assert_no_side_effects(validation_loss, "What did you switch or write, and is it as it was before?")


@picture(reference=True)
def what_the_result_remembers(student):
    """What your result remembers of two batches, and the weight of the model."""
    model = nn.Linear(1, 1, bias=False).eval()
    loader = [(torch.randn(2, 1), torch.randn(2, 1)) for _ in range(2)]
    return graph(result=student.validation_loss(model, loader), weight=model.weight)


# --- end: distil


@inside
def batches(setup, kind):
    """Batches of several pieces of micro samples, the magnitudes of which differ, and of less than one."""
    micro, width = setup.size("micro"), setup.size("in")
    rows = {"three": [2 * micro + 1, micro - 1, 3 * micro], "one": [micro + 1], "one sample": [1, micro]}
    sizes = [torch.arange(1.0, n + 1, dtype=setup.dtype)[:, None] for n in rows[kind("list")]]
    return [size * torch.randn(len(size), width, dtype=setup.dtype) for size in sizes]


@inside
def micro_of(setup, kind):
    """How many samples may enter at a time."""
    micro = setup.size("micro")
    return {"a rest": micro, "one": 1, "more": 4 * micro}[kind("cuts")]


distil = contract(
    "distil",
    {
        "model": network(**(FEW | LEARN | {"train": ["train", "eval"]}), says="a module"),
        "teacher": network(
            like="model",
            train=["eval", "part train"],
            frozen=["no", "all frozen"],
            grads=["none", "filled"],
            hooks=["no"],
            says="a module",
        ),
        "opt": optimizer("model", groups=["one", "two groups"], says="an optimizer of model's parameters"),
        "inputs": own(
            batches,
            list=["three", "one", "one sample"],
            words={"one": "has one batch", "one sample": "has a batch of one sample"},
            says="a list of batches, each of shape (samples, features)",
        ),
        "micro": own(
            micro_of,
            cuts=["a rest", "one", "more"],
            words={"one": "is 1", "more": "is greater than any batch"},
            says="how many samples may enter the model at a time",
        ),
        "epochs": number(2, 1, says="how often to go through inputs"),
    },
    cases=Cases(
        modes=["on"],
        sequences=["first", "moved"],
        never=[{"model.inside": "norm", "teacher.train": "part train"}],
        cover=["inputs.list", "micro.cuts", "opt.rule"],
    ),
    call=Call(
        gradients="none",
        record=["steps", "teacher.calls", "model.entered", "model.graphs", "model.graphs left"],
    ),
    rules=Rules(ignore=["model*:grad"], full_precision=True),
)


def test_steps_and_history(distil):
    """Each step has the gradient of the mean over its batch, numbers come back, and no graphs pile up."""
    assert_same_values(
        distil,
        "The mean losses of the epochs are wrong.\n\nHow much does each piece count in its batch, how much "
        "each batch, and what do you add up?",
        recorded={
            "steps": "Which gradients are in .grad when the step is made, and how much does each piece "
            "count?",
            "calls": "The teacher is not asked once for each batch.\n\nWhich of its answers do you know "
            "already?",
            "entered": "More than micro samples enter the model at once.",
            "graphs": "When samples enter the model, graphs of several earlier calls are alive.\n\nWhat do "
            "you keep of a piece when the next enters?",
            "graphs left": "After the training, graphs of the model's calls are still alive.\n\nWhat does "
            "your running sum add up, and what does it refer to?",
        },
    )


def test_the_teacher_is_asked_and_not_taught(distil):
    """Nothing reaches the teacher, and of the model only the parameters change."""
    assert_no_side_effects(distil, "Where does a backward of yours end? And what did you switch or write?")


@picture
def second_batch(student):
    """What the model computed in its last call, after two epochs: where does its graph end?"""
    outputs = []
    model, teacher = Scaled(outputs), Scaled([])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    attempt(student.distil, model, teacher, opt, [torch.randn(3, 1)], 2, 2)
    return graph(prediction=outputs[-1], model=model, teacher=teacher)
