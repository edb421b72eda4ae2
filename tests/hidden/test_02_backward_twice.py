"""The hidden checks of 02_backward_twice: backward frees graphs and accumulates into `.grad`."""

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

ONLY_AS_ASKED = "Don't modify the caller's objects beyond what the task asks for."
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
    """A trunk whose result is multiplied by gains, which are computed without x."""

    def __init__(self, trunk, size, dtype):
        super().__init__()
        self.trunk, self.size, self.log = trunk, size, nn.Parameter(torch.randn((), dtype=dtype))

    def forward(self, x):
        return self.trunk(x) * self.log.expand(self.size).exp().mean()


@inside
def callable_around(setup, kind):
    """What is handed over as the trunk: the network, or something around it."""
    trunk = setup["trunk"]
    if kind("of") == "gains":
        return Gains(trunk, setup.size("n") * setup.size("hidden"), setup.dtype)
    around = {"a function": trunk.__call__, "a number": lambda x: trunk(x).square().sum()}
    return around.get(kind("of"), trunk)


@inside
def call_with_t(function, setup):
    """A call with the callable that computes t."""
    return function(setup["t"], setup["x"])


@inside
def history_of_the_gradient(setup, result):
    """Whether x.grad is connected to a graph."""
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
            of=["a module", "a function", "a number", "gains"],
            words={
                "a function": "is computed by a function that is not a module",
                "a number": "has no dimensions",
                "gains": "has a second factor that is computed from a parameter only",
            },
        ),
    },
    cases=Cases(
        modes=["on"],
        sequences=["first", "changed"],
        never=[{"trunk.inside": "norm", "x.shape": "in"}],
        cover=[],
        large=["n"],
        few_rows=True,
        memory_with={"t.of": "gains"},
    ),
    call=Call(
        given=["trunk", "x"],
        how=call_with_t,
        gradients="none",
        then=history_of_the_gradient,
        record=["calls", "left"],
    ),
    rules=Rules(ignore=["trunk*:grad", "t*:grad"], full_precision=True),
)


@points(3)
def test_both_gradients_and_nothing_held(backward_both):
    """`x.grad` accumulates both gradients after one forward."""
    assert_same_values(
        backward_both,
        "The returned scalars are not `t.mean()` and `t.sum()`.",
        changes={
            "x:grad": "`x.grad` is not its old value plus the gradients of `d` and `e`.\n\nCompare "
            "`x.grad` with each of these three terms."
        },
        then="`x.grad` requires grad, so it keeps a graph alive.\n\n`create_graph=True` makes `backward()` "
        "record the backward pass itself.",
        recorded={"calls": "`trunk` is not called exactly once.\n\nCompute both scalars from the same `t`."},
    )


@points(1, side_effects=True)
def test_no_graph_stays_alive(backward_both):
    """No graph stays in memory after the call."""
    assert_memory(
        backward_both,
        left="Tensors that `trunk` saved for backward are still alive after the call.\n\nA backward pass "
        "frees only the part of the graph that it passes through. Your last one must pass through all "
        "of it, without `retain_graph`.",
    )


@points(1, side_effects=True)
def test_trunk_and_x_stay(backward_both):
    """`trunk` and `x` are unchanged."""
    assert_no_side_effects(backward_both, ONLY_AS_ASKED, may_share_storage=True)


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
    more = [(n * common - v.sum()).cos() for n in range(torch.randint(3, ()))]
    lists = {
        "several": lambda: [one, other, *more],
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
    """How many .grad are other tensors now, and the gradients of the caller's backward."""
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
            words={
                "filled": "has tensors that already have a `.grad`",
                "some": "has a first tensor without a `.grad`",
                "large": "has large numbers in `.grad`",
            },
            says="a list of leaves that require grad, of any shapes",
        ),
        "losses": own(
            losses_of_leaves,
            list=["several", "single", "parts", "twice", "equal", "minimum", "turned", "one tensor", "far"],
            words={
                "parts": "contains a loss that does not depend on all of `params`",
                "twice": "contains the same loss twice",
                "equal": "contains two losses of the same value",
                "minimum": "contains a loss whose gradient is 0",
                "turned": "contains a loss whose gradient is not contiguous",
                "one tensor": "contains a loss whose gradients for two tensors are the same tensor object",
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
    call=Call(given=["losses", "params"], gradients="none", then=after_the_measurement),
    rules=Rules(full_precision=True),
)


@points(3)
def test_norms_are_of_one_loss_each(task_grad_norms):
    """Each number is one loss's gradient norm."""
    assert_same_values(
        task_grad_norms,
        "The result is not the list of L2 norms, one for each loss's gradient.\n\nEach norm belongs to one "
        "loss and covers all of `params`: the square root of the sum of all squared entries.",
        then="A `.grad` is another tensor now, so code that refers to the old one misses later "
        "gradients.\n\nMeasure without replacing `.grad`: `torch.autograd.grad` returns gradients.",
    )


@points(2)
def test_training_goes_on(task_grad_norms):
    """`sum(losses).backward()` still works after the call."""
    assert_same_gradients(
        task_grad_norms,
        because={
            "freed": "\n\nOne of your backward passes freed a graph that the caller still needs. Pass "
            "`retain_graph=True` to all of them."
        },
    )


@points(1, side_effects=True)
def test_no_grad_changes(task_grad_norms):
    """Parameters, losses and every `.grad` are unchanged."""
    assert_no_side_effects(task_grad_norms, "Don't write to a `.grad`, or to anything else of the caller's.")


@picture(reference=True)
def after_a_measurement(student):
    """Two losses after your measurement: can they still backpropagate, and is a .grad filled?"""
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
    rules=Rules(ignore=["net*:grad"], full_precision=True),
)


@points(4)
def test_updates_and_losses(two_updates):
    """Each update uses its own loss's gradient."""
    assert_same_values(
        two_updates,
        "A returned loss is wrong.\n\nCheck the prediction, the target and the weights from which you "
        "compute each loss.",
        recorded={
            "steps": "When `opt.step()` runs, `.grad` must hold the gradient of this update's loss only, "
            "computed at the current weights.",
            "calls": "`net` is not called exactly once for each update.\n\nExtra calls have effects: batch "
            "norm in training mode updates its running statistics, and dropout draws a new mask.",
        },
    )


@points(1, side_effects=True)
def test_only_the_parameters_move(two_updates):
    """Only parameters, `.grad` and optimizer state change."""
    assert_no_side_effects(two_updates, ONLY_AS_ASKED)


@picture
def prediction_of_the_second_loss(student):
    """The output of net's last call: is its graph freed, and which weights did it save?"""
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
    image, life = setup["image"], setup["the module"]
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
    return {"`loss`": module.loss, "the result of `forward`": out, "parameters": len(learning)}


@inside
def ways_back(setup, found):
    """The gradients of the loss, and those of the tensor that forward returned."""
    ends = {"image": setup["image"], "target": setup.starts.get("target", setup["target"])}
    return {
        "the loss": gradients(found["`loss`"], ends),
        "the result of `forward`": gradients(found["the result of `forward`"], ends),
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
        "weight": number(1.3, 1.0, -0.3, says="a float"),
        "the module": own(
            as_the_case_says,
            life=["used twice", "late", "again", "behind", "one of two", "in eval mode"],
            words={
                "in eval mode": "is in eval mode",
                "late": "is first used after `target` was overwritten",
                "again": "is used again after `target` was overwritten",
                "behind": "is followed by a layer that overwrites the result of `forward`",
                "one of two": "is used after another module",
            },
        ),
    },
    cases=Cases(
        modes=["on"], sequences=["first", "changed"], cover=["target.role", "the module.life", "weight.value"]
    ),
    call=Call(given=["target", "weight"], how=two_iterations, gradients="none", then=ways_back),
    rules=Rules(full_precision=True),
)


@points(3)
def test_loss_of_a_constant(ContentLoss):
    """`loss` is correct, and `forward` returns its input."""
    number, right = (side.entry()["parameters"] for side in (ContentLoss.seen, ContentLoss.expected))
    assert number == right, f"The module must have no trainable parameters, but has {number}."
    assert_same_values(
        ContentLoss,
        "After the second `forward`, `loss` or the result is wrong.\n\nEvery `forward` must compute a new "
        "`loss`, `mse_loss(input * weight, target * weight)`, with the values that `target` had when the "
        "module was made, and return its input. The constant needs its own storage.",
        changes={
            "image:grad": "After `loss.backward()`, `image.grad` is wrong.\n\nEach `loss.backward()` must "
            "add one gradient to it."
        },
    )


@points(2)
def test_gradients_reach_only_the_image(ContentLoss):
    """`loss` backpropagates to the image, not the target."""
    assert_same_gradients(
        ContentLoss,
        because={
            "overwritten": "\n\nA later in-place operation may overwrite what `forward` returned. The "
            "operations of your loss must not save that tensor.",
            "connected": "\n\nThe module must store only the values of `target`, without its graph.",
        },
    )


@points(1, side_effects=True)
def test_target_is_unchanged(ContentLoss):
    """`target` and `input` are unchanged."""
    assert_no_side_effects(
        ContentLoss, "Your module must not modify the caller's `target` or its input.", may_share_storage=True
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
    with_a_rest = [size for size in range(n // 5, n // 2 + 1) if n % size]
    drawn = n // 5 * 2 if setup.measures_memory else with_a_rest[torch.randint(len(with_a_rest), ())]
    return {"a rest": drawn, "no rest": n // 5, "one": 1, "more": n + 1}[kind("cuts")]


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
                "more": "exceeds the number of rows",
            },
            says="an int, at least 1",
        ),
    },
    cases=Cases(modes=["on"], sequences=["first", "same", "changed"], cover=[], large=["n"]),
    call=Call(returns="nothing", record=["peak"]),
    rules=Rules(full_precision=True),
)


@points(4)
def test_gradient_of_the_batch(accumulate):
    """The pieces accumulate the full batch's gradient."""
    assert_same_values(
        accumulate,
        changes={
            "model*:grad": "Your call did not add the gradient of the mean over the whole batch to the "
            "model's `.grad`.\n\nEach row must enter exactly one micro-batch, even if "
            "`micro` does not divide the number of rows. Compare the number by which the "
            "mean over a micro-batch divides with that of the mean over the batch. Don't "
            "clear or scale `.grad` itself: it may already hold gradients."
        },
    )


@points(1, side_effects=True)
def test_memory_of_one_part(accumulate):
    """At most `micro` samples are saved for backward."""
    assert_memory(
        accumulate,
        peak="Autograd keeps tensors saved for more than `micro` samples at the same time.\n\nA backward "
        "pass frees saved tensors. Count the backward passes that your code has run when the last "
        "micro-batch enters the model.",
    )


@points(1, side_effects=True)
def test_everything_else_is_unchanged(accumulate):
    """Only the model's `.grad` changes."""
    assert_no_side_effects(accumulate, ONLY_AS_ASKED)


@picture
def second_piece(student):
    """The graph and the .grad of the first micro-batch when the second enters the model."""
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
    more = torch.randint(3, ()).item() + 8 * (kind("heads") == "many")
    heads += [nn.Linear(hidden, outputs, bias=False) for _ in range(more)]
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
            heads=["several", "many"],
            modes=["train", "parts in eval"],
            words={
                "silent": "has a trunk layer whose gradient is 0",
                "many": "has more than ten heads",
                "parts in eval": "has submodules in eval mode",
            },
            says="a module with a trunk and at least two heads",
        ),
        "opt": optimizer(
            "model",
            rules=["momentum", "adam"],
            groups=["one", "two groups"],
            says="an optimizer of all parameters of model",
        ),
        "task": number(1, 0, says="the index of a head"),
        "x": data("n in", "m n in", layouts=["contiguous"], says="an input of the trunk"),
        "y": target("x", values=["normal"], says="a target in the shape of a head's output"),
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
    """The trunk and the task's head are updated."""
    assert_same_values(
        train_task,
        recorded={
            "steps": "Print the `.grad` of each part when `opt.step()` runs: `opt` treats zeros and `None` "
            "differently. Restore every flag that you change."
        },
    )


@points(1, side_effects=True)
def test_other_heads_stand_still(train_task):
    """Other heads and their optimizer state are unchanged."""
    assert_no_side_effects(
        train_task,
        "Print the `.grad` of each part right before `opt.step()`, also for a model that had a `.grad` "
        "before your call. `opt` treats zeros and `None` differently.",
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
    rows = [n] if kind("number") == "one" else [n + 4] * (3 + torch.randint(3, ())) + [n]
    before = (2,) if kind("dims") == "3 dims" else ()
    inputs = setup.size("in")
    xs = [torch.randn(*before, n, inputs) for n in rows]
    with torch.no_grad():
        outs = [setup["model"](x) for x in xs]
    ys = [out + 0.05 * (len(outs) + 1 - k) * torch.randn(out.shape) for k, out in enumerate(outs)]
    pairs = list(zip(xs, ys, strict=True))
    return pairs if kind("form") == "a list" else Batches(pairs)


@inside
def other_batches(setup, earlier):
    """The caller puts other batches into the same loader."""
    loader = setup["loader"]
    pairs = loader if isinstance(loader, list) else loader.pairs
    pairs[:] = [(x / 2, y + 1) for x, y in pairs[1:]]


SEVERAL_BATCHES = """When a batch enters the model, the graphs of several earlier batches are alive.

Look for a variable that still refers to a tensor computed from an earlier batch."""

validation_loss = contract(
    "validation_loss",
    {
        "model": network(
            **(FEW | {"train": ["eval"], "tied": ["no"], "frozen": ["no", "one frozen"]}), says="a module"
        ),
        "loader": own(
            loader_of,
            form=["a list", "no list"],
            number=["several", "one"],
            dims=["2 dims", "3 dims"],
            words={
                "no list": "is not a list",
                "one": "has one batch",
                "3 dims": "has tensors with 3 dimensions",
            },
            says="gives pairs (x, y), and has a len",
        ),
    },
    cases=Cases(
        dtypes=["float32"],
        sequences=["first", "changed"],
        between={"in a second call, after the batches in `loader` have changed": other_batches},
        never=[{"loader.number": "one", "call.sequence": "other_batches"}],
        cover=["loader.form", "loader.number"],
        large=["n"],
        few_rows=True,
    ),
    call=Call(gradients="none", record=["peak+1", "left", "model.graphs+1"]),
)


@points(3)
def test_mean_and_no_graph_held(validation_loss):
    """The mean loss is returned as a float."""
    assert_same_values(
        validation_loss,
        "The result is not the mean over the batches, or not a Python float.\n\nEvery batch counts the same, "
        "even a smaller last one.",
        recorded={"graphs": SEVERAL_BATCHES},
    )


@points(1, side_effects=True)
def test_no_graph_is_recorded(validation_loss):
    """Graphs of earlier batches are freed."""
    assert_memory(
        validation_loss,
        graphs=SEVERAL_BATCHES,
        peak=SEVERAL_BATCHES,
        left="After the call, the graph of a batch is still alive.\n\nPrint the `grad_fn` of everything "
        "you return or store.",
    )


@points(1, side_effects=True)
def test_model_and_modes_stay(validation_loss):
    """The model, data and grad mode are unchanged."""
    assert_no_side_effects(validation_loss, "Restore every flag and mode that you change.")


@picture(reference=True)
def what_the_result_remembers(student):
    """The graph behind your result for two batches, and the weight of the model."""
    model = nn.Linear(1, 1, bias=False).eval()
    loader = [(torch.randn(2, 1), torch.randn(2, 1)) for _ in range(2)]
    return graph(result=student.validation_loss(model, loader), weight=model.weight)


# --- end: distil


@inside
def batches(setup, kind):
    """Batches of several pieces of micro samples, the magnitudes of which differ, and of less than one."""
    micro, width = setup.size("micro"), setup.size("in")
    several = [2 * micro + 1, micro - 1, 2 * micro][: 2 + torch.randint(2, ())]
    rows = {"several": several, "one": [micro + 1], "one sample": [1, micro]}
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
            list=["several", "one", "one sample"],
            words={"one": "has one batch", "one sample": "has a batch of one sample"},
            says="a list of batches, each of shape (samples, features)",
        ),
        "micro": own(
            micro_of,
            cuts=["a rest", "one", "more"],
            words={"one": "is 1", "more": "exceeds the size of every batch"},
            says="how many samples may enter the model at a time",
        ),
        "epochs": number(2, 1, says="how often to go through inputs"),
    },
    cases=Cases(
        sizes=["differ"],  # over the steps, rounding errors of thousands of entries add up
        modes=["on"],
        sequences=["first", "changed"],
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
    """Steps, losses and memory use are correct."""
    assert_same_values(
        distil,
        "The mean losses of the epochs are wrong.\n\nIn an epoch, every batch counts the same. In a batch, "
        "each piece counts by its share of the samples.",
        recorded={
            "steps": "When `opt.step()` runs, `.grad` must hold the gradient of the mean over this batch "
            "only. Each piece counts by its share of the samples.",
            "calls": "The teacher is not called exactly once for each batch.\n\nIts answers are the same "
            "in every epoch.",
            "entered": "More than `micro` samples enter the model at once.",
            "graphs": "When samples enter the model, graphs of several earlier calls are alive.\n\nLook "
            "for a variable that still refers to the graph of an earlier piece.",
            "graphs left": "After training, graphs of the model's calls are still alive.\n\nA running sum "
            "of tensors that have a `grad_fn` keeps their graphs.",
        },
    )


def test_the_teacher_is_asked_and_not_taught(distil):
    """The teacher is unchanged; only the model trains."""
    assert_no_side_effects(
        distil, "No gradient may reach the teacher. Restore every flag and mode that you change."
    )


@picture
def second_batch(student):
    """The output of the model's last call, after two epochs: where does its graph end?"""
    outputs = []
    model, teacher = Scaled(outputs), Scaled([])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    attempt(student.distil, model, teacher, opt, [torch.randn(3, 1)], 2, 2)
    return graph(prediction=outputs[-1], model=model, teacher=teacher)
