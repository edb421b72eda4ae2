"""The hidden checks of 01_leaves: which tensors are leaves, and which `.grad` backward fills."""

from inside import with_gaps

from grader import (
    Call,
    Cases,
    Rules,
    assert_no_side_effects,
    assert_same_gradients,
    assert_same_values,
    cases,
    contract,
    data,
    network,
    number,
    own,
    picture,
    points,
    tensor,
)
from grader.inside import F, attempt, graph, inside, nn, note, snap, torch, warned

LEFT = "Restore everything that you change temporarily."


# --- q1: make_weight


@inside
def overwritten_with_0(setup, earlier):
    """The caller fills an earlier weight with 0."""
    if isinstance(earlier, torch.Tensor):
        earlier.detach().zero_()


@inside
def four_steps(setup, w):
    """The gradients of the weight in four steps of SGD, and its value after them."""
    optimizer, found = torch.optim.SGD([w], lr=0.1), {}
    for step in range(1, 5):
        (w * torch.arange(50.0, 50 + w.numel()).view(w.shape)).sum().backward()
        found[f"`w.grad` in step {step}"] = snap(w.grad)
        optimizer.step()
        w.grad = None
    return {**found, "`w` after the last step": snap(w.detach())}


make_weight = contract(
    "make_weight",
    {
        "n": number(3, 1, 40, says="the number of rows, at least 1"),
        "m": number(5, 1, 36, says="the number of columns, at least 1"),
        "scale": number((0.05, 0.1), 1.0, (7.0, 7.1), (1e-3, 2e-3), says="a positive float"),
    },
    cases=Cases(
        dtypes=["float32"],
        sequences=["first", "other"],
        cover=["n.value", "m.value", "call.sequence"],
        between={"in a second call, after the first weight was filled with 0": overwritten_with_0},
    ),
    call=Call(then=four_steps, record=["random numbers"]),
)


@points(2)
def test_w_is_a_trainable_leaf(make_weight):
    """`w` is a leaf that requires grad.

    Print `w.grad_fn`, which names the recorded operation. Set `requires_grad` after all arithmetic.
    """
    w = make_weight.seen.tensor()
    rejected = "" if w.retains_grad else ", so optimizers reject it"
    assert w.is_leaf, f"`w` is not a leaf: {w.grad_fn} produced it{rejected}."
    assert w.requires_grad, "`w` does not require grad, so `backward()` never fills `w.grad`."
    assert w.version is not None, "`w` is an inference tensor: autograd cannot record operations on it."


@points(2)
def test_values_and_training(make_weight):
    """`w` has the right values and is trainable."""
    assert_same_values(
        make_weight,
        "`w` is not `torch.randn(n, m, generator=generator)` from seed 0, times `scale`.\n\nDraw all "
        "numbers in a single call of `randn`, the first that uses the generator. If only a later call is "
        "wrong, your function reuses something from an earlier call.",
        then="Training `w` with four steps of SGD gives wrong gradients or values.\n\nPrint `w.is_leaf` "
        "and `w.grad_fn`. If an operation produced `w`, every `backward()` passes through it, and the "
        "first one frees what it saved.",
    )
    assert_same_gradients(make_weight)


@points(1, side_effects=True)
def test_weights_of_earlier_calls(make_weight):
    """Earlier weights and global settings are unchanged.

    Each call must return a weight with its own storage.
    """
    assert_no_side_effects(make_weight)


@picture(reference=True)
def loss_of_the_weight(student):
    """The weight, and a loss that was computed from it."""
    w = student.make_weight(1, 2, 0.5)
    return graph(loss=w.sum(), w=w)


# --- q2: input_gradient


@inside
def image(setup, kind):
    """A float64 vector that does not require grad; its .grad may hold something."""
    length = 1 if kind("length") == "single" else 5 * setup.size("N")
    img = torch.randn(length, dtype=torch.float64)
    img = with_gaps(img) if kind("layout") == "gaps" else img
    if kind("grad") == "filled":
        img.grad = torch.randn_like(img)
    return img


input_gradient = contract(
    "input_gradient",
    {
        "img": own(
            image,
            length=["N", "single"],
            layout=["contiguous", "gaps"],
            grad=["none", "filled"],
            says="(N,), float64; does not require grad",
        ),
        "model": network(
            "*img",
            inside=["louder", "norm"],
            rows=["each"],
            numbers=["large"],
            grads=["none", "filled", "some", "zeros"],
            hooks=["no", "hooked", "changed"],
            says="a float32 module that maps (1, N) to (1, outputs)",
        ),
    },
    cases=Cases(
        dtypes=["float32"],
        modes=["on"],
        sequences=["first", "other", "changed", "changed model", "changed img"],
        cover=["model.frozen", "model.grads"],
    ),
    call=Call(given=["model", "img"], gradients="none"),
    rules=Rules(ignore=["model*:version"]),  # putting values back writes to them
)


@points(2)
def test_gradient_has_the_form_of_x(input_gradient):
    """The gradient has `x`'s dtype and shape.

    `.float()` and `.reshape()` return new tensors. Read the gradient of the last one, `x`.
    """
    gradient, expected = input_gradient.seen.tensor(), input_gradient.expected.tensor()
    assert gradient.dtype == expected.dtype, f"The gradient is {gradient.dtype}, but `x` is {expected.dtype}."
    assert gradient.shape == expected.shape, (
        f"The gradient has shape {gradient.shape}, but `x` has shape {expected.shape}."
    )


@points(2)
def test_gradient_of_x(input_gradient):
    """The gradient is taken with respect to `x`."""
    assert_same_values(
        input_gradient,
        "The result is not the gradient of `model(x).sum()` with respect to `x`.\n\nRun every module in "
        "its current mode. `.float()` and `.reshape()` return new tensors: check on which tensor you call "
        "`requires_grad_()`, and whose gradient you read.",
    )


@points(2, side_effects=True)
def test_no_trace_is_left(input_gradient):
    """`img`, the model and every `.grad` are unchanged."""
    assert_no_side_effects(
        input_gradient,
        "`backward()` adds to the `.grad` of every leaf that it reaches. `torch.autograd.grad` only returns "
        f"gradients. {LEFT}",
        may_share_storage=True,
    )


@inside
class Shift(nn.Module):
    """x + shift: a sum saves nothing, so no backward uses it up. ``keep`` is given what goes in and out."""

    def __init__(self, keep):
        super().__init__()
        self.shift, self.keep = nn.Parameter(torch.randn(1, 2)), keep

    def forward(self, x):
        y = x + self.shift
        self.keep((x, y))
        return y


@picture(reference=True)
def output_of_the_model(student):
    """The output of a model x + shift after your call: which tensors have a .grad?"""
    calls = []  # its `append` is the same in a copy of the model
    model, img = Shift(calls.append), torch.randn(2, dtype=torch.float64)
    attempt(student.input_gradient, model, img)
    x, output = calls[-1]
    return graph(output=output, x=x, img=img, shift=model.shift)


# --- q3: all_grads


@inside
def with_their_warnings(function, setup):
    """The gradients; the warnings that they caused are noted."""
    found, texts = warned(function, setup["a"], setup["b"], setup["d"])
    for text in texts:
        note(text)
    return found


LEAF = {
    "values": ["far", "zeros"],
    "roles": ["leaf"],
    "layouts": ["contiguous", "transposed"],
    "grads": ["none"],
    "says": "of a shape that fits the others by broadcasting",
}

all_grads = contract(
    "all_grads",
    {
        "a": tensor("n k", "k", "n 1", "", **LEAF),
        "b": tensor("n k", "1 k", "", **LEAF),
        "d": tensor("n k", "m n k", "", "0 n k", **LEAF),
    },
    cases=Cases(modes=["on"], sequences=["first", "other"], cover=["*.shape", "[ab].values"]),
    call=Call(how=with_their_warnings, gradients="none", record=["warnings"]),  # for a check of its own
    rules=Rules(ignore=["?:grad", "?:hooks"], full_precision=True),  # the leaves are made for the call
)


@points(2)
def test_gradients_of_non_leaves(all_grads):
    """`c`, `e` and `o` have gradients.

    `c`, `e` and `o` are not leaves. They keep a gradient only if you ask for it before `backward()`.
    """
    for name in ("c", "e", "o"):
        gradient, expected = all_grads.seen.tensor(name), all_grads.expected.tensor(name)
        assert gradient.shape == expected.shape, (
            f"The gradient of `{name}` has shape {gradient.shape}, but `{name}` has shape {expected.shape}."
        )


@points(1)
def test_six_gradients(all_grads):
    """All six gradients are correct; leaves are unchanged."""
    assert_no_side_effects(all_grads, LEFT, may_share_storage=True)
    assert_same_values(
        all_grads,
        "At least one of the six gradients of `o` is wrong.\n\nAll six tensors must belong to one graph, "
        "from `a`, `b` and `d` to `o`. A tensor that is broadcast is used several times, so its gradient "
        "is a sum.",
    )
    assert_same_gradients(all_grads)


@points(2)
def test_no_warning(all_grads):
    """`all_grads` causes no warnings.

    The warning says what your code did. Get the same gradients without it.
    """
    gradients = [all_grads.seen.entry(name) for name in "abcdeo"]
    assert any(gradient is not None for gradient in gradients), "All six gradients are None."
    for text in all_grads.seen.warnings:
        assert "a filter" not in text, (
            "Your function leaves a filter in `warnings.filters`, so the caller may miss warnings.\n\nCode "
            "that causes no warning needs no filter."
        )
        assert "not a leaf" not in text, (
            "torch warned that you read `.grad` of a non-leaf that does not retain its gradient."
        )
        assert not text, f"torch or Python warned: {text.strip().partition('. ')[0]}"


# --- q4: activation_grads


@inside
class Block(nn.Module):
    """A layer that is called head, tanh, and the product of its halves, or the second of them."""

    def __init__(self, width, gives):
        super().__init__()
        self.head, self.gives = nn.Linear(width, 2 * width), gives

    def forward(self, x):
        first, second = (torch.tanh(self.head(x)) * (3 if self.training else 1)).chunk(2, -1)
        return second if self.gives == "a part" else first * second


@inside
class Layers(nn.Module):
    """Layers three deep, two that are called head, in another order than they run; one does not run."""

    def __init__(self, inputs, width, outputs, gives):
        super().__init__()
        self.head, self.spare = nn.Linear(width, outputs), nn.Linear(inputs, outputs)
        self.body = nn.Sequential(nn.Linear(inputs, width), Block(width, gives))

    def forward(self, x):
        return self.head(300 * self.body(x))


@inside
def layers(setup, kind):
    """A model with layers in layers, and with hooks of the caller's."""
    model = Layers(setup.size("in"), setup.size("width"), setup.size("out"), kind("gives")).to(setup.dtype)
    model.body[1].train(kind("train") == "train")
    if kind("frozen") == "one frozen":
        model.body[0].bias.requires_grad_(False)
    if kind("grads") == "filled":
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
    if kind("hooks") == "hooked":
        strength = torch.ones((), dtype=setup.dtype)
        setup.hook = [
            model.body[0].register_forward_hook(lambda module, args, out: out * strength),
            strength,
        ]
        model.register_forward_pre_hook(lambda module, args: None)
        model.head.register_forward_hook(lambda module, args, out: None)
        model.spare.register_full_backward_hook(lambda module, before, after: None)
        model.head.weight.register_hook(lambda gradient: None)
    if kind("fault") != "none":
        error = KeyboardInterrupt if kind("fault") == "stopped" else type("NoSignalError", (Exception,), {})

        def broken(module, args):
            raise error

        model.head.register_forward_pre_hook(broken)
    return model


@inside
def names_of_layers(setup, kind):
    """Names of some layers in any order, among them the layer that may return a part of a tensor."""
    others = ["body.0", "body.1.head", "head"]
    more = [others[place] for place in torch.randperm(3).tolist()][: 1 + torch.randint(2, ()).item()]
    chosen = ["body.1", *more]
    drawn = [chosen[place] for place in torch.randperm(len(chosen)).tolist()]
    many = ["head", "body.1.head", "", "body", "body.1", "body.0"]
    return {"some": drawn, "single": drawn[:1], "many": many}[kind("which")]


@inside
def interrupts_as_errors(function, setup):
    """Call the function; an interrupt is an error like any other."""
    try:
        return function(setup["model"], setup["x"], setup["names"])
    except KeyboardInterrupt:
        raise RuntimeError("interrupted") from None


@inside
def model_afterwards(setup, result):
    """What the model computes with a hook of the caller's, which is stronger by then, and without it."""
    if setup.case["model.fault"] != "none":
        return None
    if not hasattr(setup, "hook"):
        return {"the output": snap(setup["model"](setup["x"]))}
    handle, strength = setup.hook
    strength.fill_(3.0)
    with_hook = snap(setup["model"](setup["x"]))
    handle.remove()
    return {"with the hook": with_hook, "once its handle removed it": snap(setup["model"](setup["x"]))}


activation_grads = contract(
    "activation_grads",
    {
        "model": own(
            layers,
            train=["train", "part eval"],
            frozen=["no", "one frozen"],
            grads=["none", "filled"],
            hooks=["no", "hooked"],
            gives=["new", "a part"],
            fault=["none", "own", "stopped"],
            words={
                "a part": "has a layer that returns part of a tensor",
                "own": "raises a custom exception",
                "stopped": "is interrupted",
            },
            says="a module that maps (n, inputs) to (n, outputs), and draws no random numbers",
        ),
        "x": data("n in", "1 in", layouts=["contiguous"], says="(n, inputs)"),
        "names": own(
            names_of_layers,
            which=["some", "single", "many"],
            words={"many": 'has many entries, including `""`'},
            says="keys of dict(model.named_modules()), at least one",
        ),
    },
    cases=Cases(modes=["on"], cover=["model.hooks", "names.which"], sequences=["first", "other", "changed"]),
    call=Call(how=interrupts_as_errors, then=model_afterwards, gradients="none"),
    # A backward passes the ignored parameters.
    rules=Rules(ignore=["model.head*:grad", "model.body*:grad"], full_precision=True),
)


@points(2)
def test_every_name_has_a_gradient(activation_grads):
    """Every name in `names` has a gradient.

    The outputs of layers are not leaves. They keep a gradient only if you ask for it before `backward()`.
    """
    wanted = {name: right for name, right in activation_grads.expected.entry().items() if right is not None}
    for name in wanted:
        activation_grads.seen.tensor(name)
    for name, right in wanted.items():
        gradient = activation_grads.seen.tensor(name)
        assert gradient.shape == right.shape, (
            f"The gradient of `{name!r}` has shape {gradient.shape}, but the layer's output has shape "
            f"{right.shape}."
        )


@points(2)
def test_gradients_of_activations(activation_grads):
    """The gradient of every layer's output is correct."""
    assert_same_values(
        activation_grads,
        "A gradient of a layer's output is wrong.\n\nThe hook must store the layer's output itself, and "
        "ask for its gradient before `backward()`. It must return None, because anything else replaces the "
        "output. If you define hooks in a loop, check which name each hook sees when it runs.",
        then={
            "the output": "After your call, the model returns a different output.",
            "with the hook": "After your call, the caller's hook does not run, or has a different effect.",
            "once its handle removed it": "After your call, the caller's `handle.remove()` does not remove "
            "the caller's hook.",
        },
    )


@points(1, side_effects=True)
def test_hooks_are_removed(activation_grads):
    """Your hooks are removed; all others remain."""
    assert_no_side_effects(
        activation_grads,
        "Remove your hooks even if the model raises an error, and remove no others.",
        may_share_storage=True,
    )


# The reference's would show retain_grad(), which is the answer.
@picture
def outputs_of_two_layers(student):
    """The outputs of two layers, each x + shift, after your call: which of them keep their gradient?"""
    calls = []
    model = nn.Sequential(Shift(calls.append), Shift(calls.append))
    attempt(student.activation_grads, model, torch.randn(1, 2), ["0", "1"])
    (_, first), (_, second) = calls[:2]
    return graph(second_output=second, first_output=first, model=model)


# --- q5: total_loss


@inside
def losses_of_p(setup, kind):
    """Losses that were computed from p, each from 18 up; some are special."""
    p, special = setup["p"], kind("special")
    many = [25 * n + (p - n).sin().sum() for n in (1 + torch.randperm(3 + torch.randint(4, ()))).tolist()]
    lists = {
        "no": many,
        "single": many[:1],
        "twice": [*many[:-1], many[0]],
        "alike": [*many[:2], (p * p).sum(), (p * p.detach()).sum()],
        "constant": [*many[:-1], torch.full((), 30.0)],
        "0": [*many[:-1], many[-1] - many[-1].detach()],
        "tiny": [1e-5 * ((p - n) ** 2).sum() for n in range(len(many))],
    }
    return lists[special]


@inside
def weights_of_losses(setup, kind):
    """Floats, as many as there are losses."""
    digits = 0.9 + 0.2 * torch.rand(6, dtype=torch.float64)  # as many as a float has
    numbers = (digits * torch.tensor([1.5, 0.75, 1.125, 0.375, 0.875, 1.25])).tolist()
    first, second, *others = numbers[: max(2, len(setup["losses"]))]
    exact = [round(64 * number) / 64 for number in numbers[1 : 2 + len(others)]]  # sums to 0 in any order
    weights = {
        "different": [first, second, *others],
        "negative": [first, -second, *others],
        "first 1": [1.0, second, *others],
        "a 0": [first, 0.0, *others],
        "equal": [first] * (2 + len(others)),
        "sum 0": [-sum(exact), *exact],
        "large": [first, 700.0, *others],
        "small": [1e-5 * weight for weight in numbers],
    }
    return weights[kind("values")][: len(setup["losses"])]


@inside
def in_float32(function, setup):
    """The total; an answer that computes it in float64 is right, too."""
    total = function(setup["losses"], setup["weights"])
    return total.float() if isinstance(total, torch.Tensor) else total


total_loss = contract(
    "total_loss",
    {
        "p": tensor("k", roles=["leaf"], layouts=["contiguous"]),
        "losses": own(
            losses_of_p,
            special=["no", "single", "twice", "alike", "constant", "0", "tiny"],
            words={
                "twice": "contains the same loss twice",
                "alike": "contains two losses of the same value",
                "constant": "contains a loss that is not connected to the graph",
                "0": "contains a loss that is 0",
                "tiny": "contains only small losses",
            },
            says="a list of scalar float32 tensors, at least one",
        ),
        "weights": own(
            weights_of_losses,
            values=["different", "negative", "first 1", "a 0", "equal", "sum 0", "large", "small"],
            words={
                "negative": "has a negative entry",
                "first 1": "begins with 1",
                "a 0": "has an entry of 0",
                "equal": "has equal entries",
                "sum 0": "sums to 0",
                "large": "has a large entry",
                "small": "has small entries",
            },
            says="a list of floats of either sign, one for each loss",
        ),
    },
    cases=Cases(
        dtypes=["float32"],
        modes=["on"],
        sequences=["first", "other", "same", "changed"],
        cover=["losses.special"],
    ),
    call=Call(given=["losses", "weights"], how=in_float32),
)


@points(2)
def test_total_is_connected(total_loss):
    """The total is connected to the graph.

    `.item()`, `.data`, `detach()` and `torch.tensor()` return values without a graph.
    """
    seen, expected = total_loss.seen.tensor(), total_loss.expected.tensor()
    assert seen.requires_grad or not expected.requires_grad, "The total does not require grad."
    assert seen.grad_fn or not expected.grad_fn, "The total is a new leaf: its `grad_fn` is None."


@points(2)
def test_total_and_its_gradient(total_loss):
    """The total and its gradients are correct."""
    assert_same_values(
        total_loss,
        "The total is not the weighted sum of the losses.\n\nMultiply each loss by its own weight. A loss "
        "that is in the list twice counts with both weights.",
    )
    assert_same_gradients(
        total_loss,
        "the total",
        because={
            "no history": "Either `.item()`, `.data`, `detach()` or `torch.tensor()` returned values "
            "without a graph, or you added the losses under `no_grad()`.",
            "not connected": "`torch.tensor()`, `nn.Parameter()`, `.item()` and `detach()` return values "
            "without a graph. A loss that you leave out gets no gradient, either.",
            "zero": "`clamp()` gives a gradient of 0 outside its bounds.",
            "wrong": "Each loss counts with its own weight, and with both weights if it is in the list "
            "twice.",
            "p:wrong": "",
        },
        none_is_zero=False,
    )


@points(1, side_effects=True)
def test_losses_and_lists_stay(total_loss):
    """The losses, lists and every `.grad` are unchanged."""
    assert_no_side_effects(total_loss, "Don't call `backward()`, and don't modify the losses or the lists.")


# The reference's would show the operations it is written with.
@picture
def total_of_two_losses(student):
    """The total of two losses, before its backward: where does its graph end?"""
    p = torch.randn((), requires_grad=True)
    first, second = 2 * p, p + 1
    total = student.total_loss([first, second], [0.5, -1.0])
    return graph(total=total, first=first, second=second, p=p)


# --- q6: weighted_backward


@inside
def losses_of_samples(setup, kind):
    """A loss for each sample, computed from two parameters."""
    samples = 1 if kind("number") == "single" else setup.size("n") + 2
    p, setup.starts["losses"] = setup["p"], setup["p"]
    outputs = torch.randn(samples, len(p), dtype=setup.dtype) @ p
    return (outputs**2 + p.sum()) * setup["shift"].exp()


@inside
def weights_of_samples(setup, kind):
    """A weight for each sample: computed from a parameter, or a leaf, or without grad."""
    v = 0.01 + 0.03 * torch.rand(len(setup["losses"]), dtype=torch.float64)
    v[1::2] *= -1
    values = kind("values")
    if values == "the last 0":
        v[-1] = 0
    v = (v * {"large": 1e3, "0 everywhere": 0, "tiny": 1e-60}.get(values, 1)).to(setup.dtype)
    v = with_gaps(v) if kind("layout") == "gaps" else v
    role = kind("role")
    if role == "computed":
        setup.starts["w"] = setup["behind_w"]
        return v * setup["behind_w"].exp()
    if role == "of p":
        setup.starts["w"] = setup["p"]
        return v * setup["p"].exp().sum()
    if role == "leaf":
        v = v.detach().requires_grad_()
        v.grad = torch.randn_like(v) if kind("grad") == "filled" else None
    return v


PARAMETER = {"roles": ["leaf"], "layouts": ["contiguous"]}

weighted_backward = contract(
    "weighted_backward",
    {
        "p": tensor("k", **PARAMETER),
        "shift": tensor("", grads=["none"], **PARAMETER),
        "behind_w": tensor("", values=["positive"], grads=["none"], **PARAMETER),
        "losses": own(
            losses_of_samples,
            number=["n", "single"],
            pending=["loss"],
            says="(n,), float32 or float64, computed from some parameters",
        ),
        "w": own(
            weights_of_samples,
            role=["computed", "plain", "leaf", "of p"],
            values=["of either sign", "large", "the last 0", "0 everywhere", "tiny"],
            layout=["contiguous", "gaps"],
            grad=["none", "filled"],
            pending=["loss"],
            words={
                "of p": "is computed from the same parameters as the losses",
                "large": "has large entries",
                "the last 0": "ends with 0",
                "0 everywhere": "is 0 everywhere",
                "tiny": "has values as small as 1e-60 (float64)",
            },
            never=[{"grad": "filled", "role": ("computed", "plain", "of p")}],
            says="(n,), with the dtype of losses; entries may be negative or 0",
        ),
    },
    cases=Cases(
        modes=["on"],
        sequences=["first", "other"],
        never=[
            {"w.values": "tiny", "all.dtype": "float32"},
            {"w.values": ("tiny", "0 everywhere"), "p.grad": "filled"},
            {"w.values": "the last 0", "losses.number": "single"},
        ],  # a number so small that nothing of it is left in .grad is no test
        cover=["w.role", "losses.number", "call.sequence"],
    ),
    call=Call(given=["losses", "w"], returns="nothing"),
    rules=Rules(full_precision=True),
)


@points(3)
def test_weighted_gradient(weighted_backward):
    """`.grad` accumulates the weighted sum of gradients."""
    assert_same_values(
        weighted_backward,
        changes={
            "*:grad": "Your call did not add the sum of `w[i]` times the gradient of `losses[i]` to the "
            "`.grad` of a parameter behind `losses`.\n\n`losses.backward(gradient=v)` computes "
            "the vector-Jacobian product `v^T J`. Check which `v` you pass. The weights count as "
            "constants."
        },
    )


@points(1)
def test_graph_of_losses_is_freed(weighted_backward):
    """The graph of `losses` is freed.

    `backward()` frees the graph, unless you pass `retain_graph=True` or `create_graph=True`.
    """
    error = weighted_backward.seen.error_of_pending("losses")
    assert error is not None, (
        "A second `backward()` of `losses` still works, so your call did not free the graph."
    )
    assert "RuntimeError" in error.types, (
        f"A second `backward()` of `losses` raises {error.type} instead of RuntimeError."
    )


@points(1)
def test_two_graphs_and_what_stays(weighted_backward):
    """`losses`, `w` and `w`'s graph are unchanged."""
    assert_no_side_effects(
        weighted_backward,
        "Don't modify `losses` or `w`, and don't backpropagate through `w`: the weights count as constants.",
    )
    assert_same_gradients(
        weighted_backward,
        pending="Your call does not free the graph of `losses`.\n\n`backward()` frees it, unless you pass "
        "`retain_graph=True` or `create_graph=True`.",
    )


@picture(reference=True)
def leaves_after_a_weighted_backward(student):
    """The losses of p and the weights, computed from q, after your call: which tensors have a .grad?"""
    p, q = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    losses, w = p**2, q + 1
    attempt(student.weighted_backward, losses, w)
    return graph(losses=losses, p=p, w=w, q=q)


# --- end: train_with_temperature


@inside
def classes_of_samples(setup, kind):
    """Any classes, or those of the largest or of the smallest logits."""
    with torch.no_grad():
        logits = setup["model"](setup["x"])
    choose = {"largest": torch.argmax, "smallest": torch.argmin}.get(kind("of"))
    return choose(logits, 1) if choose else torch.randint(logits.shape[1], logits.shape[:1])


@inside
def rate(setup, _):
    """A learning rate; one step leads to 0.4 if the largest logits are right, otherwise to 30."""
    end = {"largest": 0.4, "smallest": 30.0}.get(setup.kind("y")("of"))
    if end is None:
        return 0.05 + 0.05 * torch.rand(()).item()
    start = torch.full((1,), 1.5, dtype=setup.dtype, requires_grad=True)
    loss = F.cross_entropy(setup["model"](setup["x"]).detach() / start, setup["y"])
    return ((1.5 - end) / torch.autograd.grad(loss, start)[0]).item()


@inside
def whether_a_leaf(setup, result):
    """Whether the temperature is one."""
    return {"temperature": result[0].is_leaf}


train_with_temperature = contract(
    "train_with_temperature",
    {
        "x": data("n in", says="(n, features)"),
        "model": network(
            "*x",
            frozen=["no", "one frozen", "first frozen"],
            width=["several"],
            inside=["louder", "norm"],
            rows=["each"],
            grads=["none", "filled"],
            says="maps (n, features) to (n, classes)",
        ),
        "y": own(
            classes_of_samples,
            of=["any", "largest", "smallest"],
            words={
                "largest": "has the classes of the largest logits",
                "smallest": "has the classes of the smallest logits",
            },
            says="(n,), int64, the classes",
        ),
        "steps": number(1, 3, says="an int, 1 or more"),
        "lr": own(rate, says="a float"),
    },
    cases=Cases(
        dtypes=["float64", "float32"],
        modes=["on"],
        sequences=["first", "other", "same"],
        never=[{"y.of": ("largest", "smallest"), "steps.value": 3}],
        cover=["steps.value", "model.grads", "model.frozen", "call.sequence"],
    ),
    call=Call(given=["model", "x", "y", "steps", "lr"], gradients="none", then=whether_a_leaf),
    rules=Rules(
        ignore=["model*:grad", "model*:frozen grad", "model*:version"],
        full_precision=True,
        entries=["temperature", "log"],
    ),
)


NO_LEAF = {
    "temperature": "The temperature is not a leaf: an operation produced it.\n\nSet `requires_grad` after "
    "the last operation that computes the temperature."
}


@cases()
def test_the_loss_teaches_the_model(train_with_temperature):
    """The gradient of both losses updates the model.

    Print `loss.grad_fn`. The loss must be the sum of both losses, and be connected to the model.
    """
    assert_same_values(
        train_with_temperature,
        only=["model*"],
        changes={
            "model*:value": "After training, a model parameter does not have the value that plain SGD "
            "on this loss gives."
        },
    )


@cases()
def test_the_temperature_is_trained(train_with_temperature):
    """The temperature is a leaf and is trained.

    The temperature needs a gradient, and the optimizer must hold the same tensor that the loss uses.
    """
    assert_same_values(
        train_with_temperature, "The temperature is wrong.", only=["temperature"], then=NO_LEAF
    )


@cases()
def test_the_log_has_the_pull(train_with_temperature):
    """The log holds each step's loss and `pull`.

    `logits` is a non-leaf. It keeps its gradient only if you ask for it before `backward()`.
    """
    assert_same_values(train_with_temperature, "The log is wrong.", only=["log"])


def test_a_training_of_several_steps(train_with_temperature):
    """Training is correct over several steps.

    Clear `.grad` before each `backward()`, and compute each loss from tensors of its own step.
    """
    assert_same_values(
        train_with_temperature,
        "The temperature or the log is wrong.",
        changes={
            "model*:value": "After training, a model parameter does not have the value that plain SGD "
            "on this loss gives."
        },
        then=NO_LEAF,
    )


def test_nothing_else_is_changed(train_with_temperature):
    """Only trained parameters and `.grad` change."""
    assert_no_side_effects(train_with_temperature, "Restore everything that you change temporarily.")


@picture(reference=True)
def leaves_after_a_training(student):
    """The temperature and the model after one training step: which tensors have a .grad?"""
    model, x = nn.Linear(1, 2, bias=False), torch.randn(2, 1)
    found = attempt(student.train_with_temperature, model, x, torch.tensor([0, 1]), 1, 0.1)
    return graph(temperature=found[0], model=model)
