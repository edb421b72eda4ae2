"""The hidden checks of 05_inplace_reinit: in-place writes that autograd allows or detects."""

from grader import (
    Call,
    Cases,
    Rules,
    assert_no_side_effects,
    assert_same_gradients,
    assert_same_object,
    assert_same_values,
    cases,
    contract,
    data,
    network,
    number,
    optimizer,
    own,
    picture,
    points,
    tensor,
)
from grader.inside import attempt, graph, inside, nn, torch

# --- q1: reinit_


@inside
def values_close_to_the_new_one(*shape):
    """Entries that are -700.3 but for their seventh digit."""
    return -700.3 * (1 + 1e-6 * torch.rand(shape, dtype=torch.float64))


reinit_ = contract(
    "reinit_",
    {
        "w": tensor(
            "n",
            "m n",
            "k m n",
            "n 1",
            values=["normal", "diverged", values_close_to_the_new_one],
            roles=["leaf"],
            grads=["none"],
            pending=True,
            says="a tensor of one dimension or more that is not a view",
        ),
        "value": number(-700.3, 0.0, 0.3, says="a finite number"),
    },
    cases=Cases(dtypes=["float64", "float32"], cover=["w.*", "value.value", "call.sequence"]),
    rules=Rules(ignore=["w:grad"], full_precision=True),
)


@points(1)
def test_w_is_the_same_leaf(reinit_):
    """`w` is a leaf; `_version` counts the write.

    `w._version` doesn't count a write to `w.data`. It counts a write to `w` under `no_grad()`.
    """
    w, expected = reinit_.seen.tensor(), reinit_.expected.tensor()
    assert w.is_leaf or not expected.is_leaf, f"The returned tensor is not a leaf: {w.grad_fn} produced it."
    assert w.requires_grad or not expected.requires_grad, "The returned tensor does not require grad."
    before, after = reinit_.seen.before("w"), reinit_.seen.after("w")
    counted = reinit_.expected.before("w").version != reinit_.expected.after("w").version
    why = (
        "your call wrote nothing to `w`"
        if before.value == after.value
        else "autograd cannot detect your write"
    )
    assert before.version != after.version or not counted, f"`w._version` did not change: {why}."


@points(2)
def test_w_holds_the_value(reinit_):
    """`w` is filled in place and returned.

    Optimizers and modules refer to this tensor object, so write to it and return it.
    """
    assert_same_values(
        reinit_,
        "The returned tensor does not hold `value` everywhere.",
        changes={
            "w:value": "The caller's `w` does not hold `value` everywhere.\n\nWrite to the caller's "
            "tensor, not to a new one. The new value must not depend on the old one, which may "
            "be `nan`."
        },
    )
    assert_same_object(reinit_)
    assert_no_side_effects(
        reinit_,
        "Compare `id(w)`, `w.data_ptr()`, `w.is_leaf` and `w.requires_grad` before and after the call. "
        "Restore every flag that you change for the write.",
    )


@points(2)
def test_a_stale_loss_is_noticed(reinit_):
    """`backward()` of a stale loss raises an error."""
    assert_same_gradients(
        reinit_,
        pending="A loss computed from the old values of `w` backpropagates without an error: `backward()` "
        "only compares `w._version`, and your call left it unchanged.\n\n`w._version` counts a "
        "write to `w` itself under `no_grad()`, but not a write to a copy or to `w.data`.",
    )


@picture(reference=True)  # the question says that the old loss must refuse to go back
def loss_of_the_old_values(student):
    """A loss that needs the old values of w, after your call; v1 means one write that autograd counted."""
    w = torch.randn(2, requires_grad=True)
    loss = (w**2).sum()
    result = attempt(student.reinit_, w, 1.0)
    returned = {} if result is w else {"returned": result}
    return graph(loss=loss, **{f"w_v{w._version}": w}, **returned)


# --- q2: reset_layer


@inside
def layers(width, middle, outputs):
    """Layers with like names, one of which may be tied to another; and statistics."""
    model = nn.Module()
    model.tied, model.body = nn.Linear(width, middle, bias=False), nn.Sequential(nn.BatchNorm1d(width))
    model.blocks = nn.ModuleList([nn.Module(), nn.Module()])
    model.blocks[0].fc, model.blocks[1].fc2 = nn.Linear(width, middle), nn.Linear(width, middle)
    model.blocks[1].fc, model.fc = nn.Linear(width, middle), nn.Linear(middle, outputs)
    return model


@inside
def name_of_a_layer(setup, kind):
    """The only name of the layer."""
    return kind("of")


@inside
def model_of_layers(setup, kind):
    """The model, and the old weight of the layer beside it."""
    of_one = kind("layer") == "single"
    model = layers(*((1, 1, 1) if of_one else map(setup.size, ("in", "middle", "out")))).to(setup.dtype)
    layer = model.get_submodule(setup["name"])
    if kind("tied") == "tied":
        model.tied.weight = model.blocks[1].fc.weight
    if kind("values") == "diverged":
        layer.weight.data[0, 0], layer.weight.data[-1, -1] = float("nan"), float("inf")
    if kind("frozen") != "no":
        (layer.weight if kind("frozen") == "the weight" else model.body).requires_grad_(False)
    if kind("mode") != "train":
        (model.body if kind("mode") == "part eval" else model).eval()
    if kind("grads") == "filled":
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
    setup.remembered["weight"] = [layer.weight.detach().clone()]
    return model


@inside
def about_the_weight(setup, _):
    """How many entries of the weight are old, and how many are no numbers of a deviation of 0.02."""
    weight, (old,) = setup["model"].get_submodule(setup["name"]).weight.detach(), setup.remembered["weight"]
    return {
        "old values": (weight == old).sum().item(),
        "not finite": (~weight.isfinite()).sum().item(),
        "far from 0": (weight.isfinite() & (weight.abs() >= 0.2)).sum().item(),
    }


#: The weight of a layer that may be asked for, by the first of its names; it is drawn, so its value is free.
DRAWN_AGAIN = ("model.fc.weight", "model.blocks.1.fc.weight", "model.tied.weight")

reset_layer = contract(
    "reset_layer",
    {
        "name": own(
            name_of_a_layer,
            of=["fc", "blocks.1.fc"],
            words={"fc": 'is "fc"', "blocks.1.fc": 'is "blocks.1.fc"'},
            says="the only name of the layer in the model",
        ),
        "model": own(
            model_of_layers,
            layer=["several", "single"],
            tied=["no", "tied"],
            values=["normal", "diverged"],
            frozen=["no", "the weight", "other parts"],
            mode=["train", "part eval", "eval"],
            grads=["none", "filled"],
            words={
                "single": "has layers with a single weight",
                "tied": "has a module that is tied to `blocks.1.fc`",
                "diverged": "has `nan` and `inf` in the layer",
                "the weight": "has a frozen weight in the layer",
                "other parts": "has frozen parameters elsewhere",
            },
            says="a module with this nn.Linear, which has a bias",
        ),
    },
    cases=Cases(
        never=[{"model.tied": "tied", "name.of": "fc"}],
        sequences=["first", "same"],
        cover=["name.of", "model.tied", "model.frozen"],
    ),
    call=Call(given=["model", "name"], gradients="none", then=about_the_weight),
    rules=Rules(
        full_precision=True,
        ignore=[
            f"{path}:{part}" for path in DRAWN_AGAIN for part in ("value", "storage", "grad", "frozen grad")
        ]
        + ["model.*fc.bias:grad", "model.*fc.bias:storage"],
    ),
)


@inside
def layer_of_many_draws(setup, _):
    """A model as in all other cases."""
    return layers(*map(setup.size, ("in", "middle", "out")))


@inside
def many_times(function, setup):
    """The weights before the first of some calls, and after each of the others, at least 21,600."""
    drawn = setup.remembered["drawn"] = []
    name = "blocks.1.fc"
    weight = setup["model"].get_submodule(name).weight
    for _ in range(1 + -(-21_600 // weight.numel())):
        drawn.append(setup["model"].get_submodule(name).weight.detach().flatten().clone())
        function(setup["model"], name)


@inside
def about_the_draws(setup, _):
    """Whether 21,600 weights or some more are as asked, to six standard errors."""
    drawn = torch.stack(setup.remembered["drawn"])
    new = drawn[1:]
    scaled = ((new - new.mean()) / new.std()).abs().flatten()
    shares = {0.5: (0.6171, 0.02), 2: (0.0455, 0.009), 3: (0.0027, 0.002)}
    of_two = torch.corrcoef(drawn)
    apart = torch.stack([of_two.diagonal(lag).mean().abs() for lag in range(1, 12)])
    pairs = len(drawn) - torch.arange(1, 12)
    noise = 6 / (drawn.shape[1] * pairs) ** 0.5  # of the mean of so many correlations
    return {
        "one by one": len(new.abs().unique()) > 0.95 * new.numel(),
        "without the old": (apart < noise.clamp(min=0.05)).all().item(),
        "deviation": abs(new.std().item() - 0.02) < 0.0006,
        "mean": abs(new.mean().item()) < 0.0009,
        "normal": all(
            abs((scaled > k).float().mean().item() - p) < noise for k, (p, noise) in shares.items()
        ),
    }


drawn_values = contract(
    "reset_layer",
    {"model": own(layer_of_many_draws)},
    name="drawn_values",
    cases=Cases(dtypes=["float32"], modes=["on"], sequences=["first"]),
    call=Call(how=many_times, returns="nothing", then=about_the_draws),
    rules=Rules(ignore=["model.blocks.1.fc.*"]),
)


@points(4)
def test_only_the_layer_is_reset(reset_layer):
    """Only the layer's weight and bias are reset."""
    assert_no_side_effects(
        reset_layer,
        "Compare `id(layer.weight)` before and after the call with the ids in "
        '`optimizer.param_groups[0]["params"]`. Don\'t change other layers, modes, flags or hooks.',
    )
    assert_same_values(
        reset_layer,
        "Your function returned a value, but must return nothing.",
        changes={"model.*bias:value": "The bias of the layer is not 0 everywhere."},
        then={
            "old values": "Some entries of the layer's weight still have their old values.\n\nWrite to this "
            "weight, and give every entry a new number, even if the weight has a single one.",
            "not finite": "Some entries of the layer's weight are `nan` or infinite.\n\nUse operations that "
            "replace `nan` and `inf`, too: `nan` times 0 is `nan`.",
            "far from 0": "Some entries of the layer's weight are at least 10 standard deviations away from "
            "0.\n\nPrint `weight.std()` after the call. The standard deviation is 0.02.",
        },
    )
    assert_same_gradients(reset_layer)


@points(1)
def test_values_are_drawn_as_asked(drawn_values):
    """New weights follow the requested normal distribution."""
    assert_same_values(
        drawn_values,
        then={
            "one by one": "Many of the 21,600 weights from repeated calls are equal, or equal up to sign, so "
            "they are not independent draws.\n\nMake each weight a new draw. Don't set a seed or "
            "create a generator.",
            "without the old": "The new values correlate with the old ones, so they are not independent of "
            "them.",
            "deviation": "The standard deviation of 21,600 weights is too far from 0.02 for chance.\n\nThe "
            "standard deviation is 0.02. It is neither the variance nor a bound.",
            "mean": "The mean of 21,600 weights is too far from 0 for chance.",
            "normal": "Of 21,600 weights, more or fewer are far from the mean than a normal distribution "
            "gives.\n\nDraw from a normal distribution, and don't limit, replace or rescale any "
            "draws.",
        },
    )


@picture(reference=True)
def output_after_the_reset(student):
    """The next output of the layer, and the weight for which the optimizer was built."""
    model = nn.Sequential(nn.Linear(1, 1))
    held = model[0].weight
    attempt(student.reset_layer, model, "0")
    return graph(output=model(torch.randn(1, 1)), fc=model[0], **{"optimizer.weight": held})


# --- q3: masked_forward


@inside
def columns_of_d(setup, kind):
    """A mask; of three columns two are neighbours, and none is the first or the last."""
    width = setup["w1"].shape[1]
    mask = torch.zeros(width, dtype=torch.bool)
    mask[{"some": [1, 2, width - 2], "one": [2], "none": [], "all": list(range(width))}[kind("columns")]] = (
        True
    )
    return mask


@inside
def other_columns(setup, _):
    """The mask holds other columns, or the same if all are masked, or none."""
    setup["mask"].copy_(setup["mask"].roll(1))


def about_w1(gradient, right):
    """What a wrong gradient of w1 comes of: the masked columns are those whose gradient should be 0."""
    pairs = zip(gradient.value, right.value, strict=True)
    if not any(seen for seen, wanted in pairs if wanted == 0):
        return ""
    return (
        "`w1` gets a gradient for the masked columns of `d`, although these columns are constants: for "
        "autograd they are still `x @ w1`, because it did not record that they were replaced.\n\nAutograd "
        "must record each of your writes."
    )


masked_forward = contract(
    "masked_forward",
    {
        "x": tensor(
            "n i", "1 i", values=["normal", "vast"], roles=["plain", "leaf", "computed"], says="(n, i)"
        ),
        "w1": tensor("i 3h", roles=["leaf"], layouts=["contiguous", "transposed"], says="(i, h)"),
        "w2": tensor("3h o", "3h 1", roles=["leaf"], layouts=["contiguous"], says="(h, o)"),
        "mask": own(
            columns_of_d,
            columns=["some", "one", "none", "all"],
            words={"one": "is true once", "none": "is true nowhere", "all": "is true everywhere"},
            says="(h,), boolean, true for the columns to replace",
        ),
    },
    cases=Cases(
        dtypes=["float32"],
        modes=["on"],
        sequences=["first", "other", "same"],
        between={"in a second call, after `mask` has changed": other_columns},
        cover=["mask.columns", "x.values", "x.role"],
    ),
    call=Call(gradients="each"),
    rules=Rules(optional=["entry 0:history"]),
)


@points(3)
def test_masked_values_enter_the_product(masked_forward):
    """`f` is computed from the masked `d`."""
    assert_same_values(
        masked_forward,
        "The pair `(d, f)` is wrong: `d` must be `x @ w1` with ones in the columns where `mask` is true, "
        "and `f` must be this `d` times `w2`.\n\nPrint `d` right before you compute `f`.",
    )
    assert_no_side_effects(masked_forward)


@points(2)
def test_gradients_of_the_masked_d(masked_forward):
    """The gradients account for the mask."""
    assert_same_gradients(
        masked_forward,
        "the pair (d, f)",
        because={
            "overwritten": "That tensor is `d`: the product `f` needs it for the gradient of `w2`.",
            "w1:zero": "For autograd, no column of `d` depends on `w1`.",
            "w1:wrong": about_w1,
            "w2:wrong": "\n\nThe gradient of `w2` is `d`, transposed, times the gradient of `f`. It must "
            "be the masked `d`.",
        },
    )


# The reference's would show how the columns are replaced.
@picture
def product_of_the_masked(student):
    """The product f = d @ w2, before its backward: which d has it saved?"""
    w1, w2 = torch.randn(1, 2, requires_grad=True), torch.randn(2, 1, requires_grad=True)
    d, f = student.masked_forward(torch.randn(2, 1), w1, w2, torch.tensor([False, True]))
    return graph(f=f, d=d, w1=w1, w2=w2)


# --- q4: residual_block


@inside
def far_from_the_kink(*shape):
    """Entries above 0.6 or below -0.6, so that relu's input is not near 0; the first are 8 and -8 or so."""
    x = (0.6 + torch.rand(shape, dtype=torch.float64)) * (torch.rand(shape).round() * 2 - 1)
    x[0, 0] = 8 + torch.rand(())
    x[1:2, 0] = -8 - torch.rand(())
    return x


@inside
def a_row_of_zeros(*shape):
    """The last row makes relu's input exactly 0."""
    x = far_from_the_kink(*shape)
    x[-1] = 0.0
    return x


@inside
def entries_below_minus_half(*shape):
    """Where relu lets nothing through."""
    return -far_from_the_kink(*shape).abs()


@inside
def small_weights(*shape):
    """A weight by which x @ w stays below 4: near 1, the sigmoid of a float32 has lost its derivative."""
    w = 0.15 * torch.randn(shape, dtype=torch.float64).clamp(-2, 2)
    w[0] /= 5  # it meets the 8
    return w


@inside
def an_entry_of_minus_100(*shape):
    """A weight by which entries of x @ w come from below -750 to above 750, beyond the range of exp."""
    w = small_weights(*shape)
    w[0, -1] = -100
    return w


@inside
def block_before(setup, kind):
    """The w of a block that makes x, or None."""
    return (
        None if kind("of") == "nothing" else small_weights(*setup["w"].shape).to(setup.dtype).requires_grad_()
    )


@inside
def through_blocks(function, setup):
    """The block, for the x of the setup or for what another block makes of it."""
    x, before = setup["x"], setup["another block"]
    return function(x if before is None else function(x, before), setup["w"])


residual_block = contract(
    "residual_block",
    {
        "x": tensor(
            "n k",
            "1 k",
            values=[far_from_the_kink, a_row_of_zeros, entries_below_minus_half],
            roles=["leaf", "computed", "plain"],
            says="(n, k)",
        ),
        "w": tensor(
            "k k",
            values=[small_weights, an_entry_of_minus_100],
            roles=["leaf"],
            layouts=["contiguous", "transposed"],
            says="(k, k)",
        ),
        "another block": own(block_before, of=["nothing", "makes x"], words={"makes x": "makes x"}),
    },
    cases=Cases(
        dtypes=["float64", "float32"],
        sequences=["first", "other", "changed"],
        cover=["x.role", "x.layout", "x.values"],
        never=[
            {
                "w.values": "an_entry_of_minus_100",
                "all.dtype": "float32",
            },  # where sigmoid has lost its digits
            {"w.values": "an_entry_of_minus_100", "another block.of": "makes x"},
            {"w.values": "an_entry_of_minus_100", "x.shape": "1 k"},  # one row is not far from 0 in both ways
            {"w.values": "an_entry_of_minus_100", "x.values": ("a_row_of_zeros", "entries_below_minus_half")},
        ],
    ),
    call=Call(given=["x", "w"], how=through_blocks),
    rules=Rules(full_precision=True),
)


@points(4)
def test_block_has_values_and_gradients(residual_block):
    """Values and gradients of the block are correct."""
    assert_same_values(residual_block, "The values are not those of `relu(sigmoid(x @ w) + x - 0.5)`.")
    assert_same_gradients(
        residual_block,
        because={
            "overwritten": "`sigmoid` and `relu` save their outputs, and the product saves `x` and "
            "`w`.\n\nNo later in-place operation may overwrite one of these tensors.",
            "no history": "Where `relu` passes nothing on, the gradients must be 0, not missing.",
            "nan": "In the backward pass, 0 is multiplied by infinity.\n\nLook for an operation that "
            "overflows if `x @ w` is -800 or 800, or that has an infinite derivative at 0.",
            "wrong": "\n\nAutograd must record every write, and every path to `x` and `w`. Where the input "
            "of `relu` is exactly 0, the gradient must be 0.",
        },
        none_is_zero=False,
    )


@points(1, side_effects=True)
def test_inputs_of_the_block_are_untouched(residual_block):
    """`x` and `w` are unchanged."""
    assert_no_side_effects(residual_block, "Check which storage each of your operations writes to.")


@picture(reference=True)  # its operations are those of the formula in the task
def block_before_backward(student):
    """The result y of the block, before its backward."""
    x, w = torch.randn(2, 1, requires_grad=True), torch.randn(1, 1, requires_grad=True)
    y = student.residual_block(x, w)
    return graph(y=y, x=x, w=w)


# --- q5: ema_update


@inside
def places_in_common(setup, _):
    """How many tensors of the teacher share storage with the student."""
    teacher, student = ([*setup[who].parameters(), *setup[who].buffers()] for who in ("teacher", "student"))
    places = {tensor.untyped_storage().data_ptr() for tensor in student}
    return {"tensors in common": sum(tensor.untyped_storage().data_ptr() in places for tensor in teacher)}


BUFFERS = ("shift", "hidden_shift", "seen", "running_mean", "running_var", "num_batches_tracked")

ema_update = contract(
    "ema_update",
    {
        "teacher": network(
            quiet=False,
            frozen=["all frozen"],
            train=["eval", "train"],
            width=["several"],
            inside=["louder", "norm"],
            rows=["each"],
            gives=["new"],
            grads=["none"],
            hooks=["no"],
            says="a module whose parameters do not require grad",
        ),
        "student": network(
            like="teacher",
            frozen=["no", "one frozen"],
            train=["train", "part eval"],
            grads=["none", "filled"],
            hooks=["no"],
            pending=["none", "loss"],
            says="a module of the same architecture",
        ),
        "tau": number(
            0.3, 0.003, 0.0, 1.0, says="a number from 0 to 1, both included, the weight of the student"
        ),
    },
    cases=Cases(
        sequences=["first", "other", "same"], cover=["tau.value", "student.pending", "teacher.buffers"]
    ),
    call=Call(gradients="none", then=places_in_common),
    rules=Rules(
        ignore=["teacher*:storage", *(f"teacher*{name}:identity" for name in BUFFERS)], full_precision=True
    ),
)


@points(3)
def test_teacher_is_updated(ema_update):
    """Parameters are averaged and buffers are copied."""
    assert_same_values(
        ema_update,
        "Your function returned a value; it must return nothing.",
        changes={
            **{
                f"teacher*{name}:value": "A buffer of the teacher does not have the student's value."
                for name in BUFFERS
            },
            "teacher*:value": "A parameter of the teacher is not `(1 - tau) * teacher + tau * student`.\n\n"
            "With a teacher at 0, a student at 1 and `tau = 0.1`, the new value is 0.1. Update each "
            "parameter once, in place: assigning to a variable changes no tensor.",
        },
        then="Teacher and student share storage, so a write to one changes both.\n\nCopy values with "
        "`copy_`. An assignment of `.data`, or of a name, only makes both refer to one storage.",
    )


@points(2)
def test_teacher_and_student_go_on(ema_update):
    """The teacher stays detached; the student is unchanged."""
    assert_no_side_effects(
        ema_update,
        "Don't write to the student, not even for a moment: its training continues. Each parameter of the "
        "teacher must be the same object before and after, with the same `requires_grad` and `grad_fn`.",
    )
    assert_same_gradients(ema_update)


@picture(reference=True)  # nothing hangs on the reference's teacher, and so nothing is shown of its answer
def teacher_after_two_updates(student):
    """The weight of the teacher after two updates, and a pending loss of the student."""
    teacher, learner = nn.Linear(1, 1, bias=False).requires_grad_(False), nn.Linear(1, 1, bias=False)
    loss = (learner.weight**2).sum()
    attempt(student.ema_update, teacher, learner, 0.5)
    attempt(student.ema_update, teacher, learner, 0.5)
    return graph(**{"teacher.weight": teacher.weight, "student.weight": learner.weight}, student_loss=loss)


# --- q6: fit_by_hand


@inside
def orthogonal_columns(*shape):
    """Columns of the same length, at right angles: every step takes w the same share of the way."""
    return 2.5 * torch.linalg.qr(torch.randn(shape, dtype=torch.float64))[0]


@inside
def targets(setup, kind):
    """Data without noise, far from or near to where w is; whole numbers fit to the last digit."""
    w, inputs, what = setup["w"], setup["X"], kind("loss")
    if what == "minimum":
        inputs.mul_(4).round_()
        w.data.mul_(4).round_()
        return inputs @ w.detach()
    scale = {"grows": 300, "tiny": 1e-3}.get(what, 1)
    w.data.mul_(min(scale, 1))  # the smallest losses begin small, too
    return scale * inputs @ torch.randn(len(w), 1, dtype=setup.dtype)


@inside
def learning_rate(setup, _):
    """By which each step takes w a share of the way: less than 1, or more than 2 where the loss grows."""
    share = {"grows": 2.5, "endless": 1e55, "flat": 1e-7, "tiny": 0.95}.get(setup.kind("y")("loss"), 0.4)
    return share * len(setup["X"]) / (2 * 2.5**2)


@inside
def losses_after_the_updates(setup):
    """The losses that each update leads to; every step takes w the same share of the way."""
    w, losses = setup["w"].detach().clone(), []
    for _ in range(setup["steps"]):
        errors = setup["X"] @ w - setup["y"]
        w -= setup["lr"] * 2 * setup["X"].t() @ errors / len(errors)
        losses.append((setup["X"] @ w - setup["y"]).square().mean().item())
    return {"the list of the losses after each update": losses}


fit_by_hand = contract(
    "fit_by_hand",
    {
        "w": tensor("k 1", roles=["leaf"], grads=["none"], says="(k, 1)"),
        "X": data("3k k", values=[orthogonal_columns], layouts=["contiguous", "transposed"], says="(n, k)"),
        "y": own(
            targets,
            loss=["falls", "grows", "endless", "flat", "tiny", "minimum"],
            words={
                "grows": "makes the loss grow",
                "endless": "makes the loss infinite",
                "flat": "leaves the loss nearly unchanged",
                "tiny": "makes the loss tiny",
                "minimum": "fits `w` from the start",
            },
            says="(n, 1)",
        ),
        "lr": own(learning_rate, says="a float, the learning rate"),
        "steps": number(5, 1, 0, (16, 24), says="an int, the number of updates, 0 or more"),
    },
    cases=Cases(
        dtypes=["float64", "float32"],
        modes=["on", "only modes"],
        sequences=["first", "other"],
        never=[{"y.loss": "endless", "all.dtype": "float32"}],
        cover=["w.layout", "steps.value"],
    ),
    call=Call(gradients="none", mistakes=losses_after_the_updates),
    rules=Rules(ignore=["w:grad", "w:version"], full_precision=True),
)


@points(4)
def test_losses_and_w_are_those_of_descent(fit_by_hand):
    """The losses and the updated `w` are correct."""
    assert_same_values(
        fit_by_hand,
        "The losses are not those of plain gradient descent, each measured before its update.\n\nEach loss "
        "is a mean over all samples. Print `w.grad` when you use it. Take every step, even if the loss is "
        "`inf` or `nan`.",
        changes={
            "w:value": "The caller's `w` does not have the values that plain gradient descent "
            "gives.\n\nWrite to the caller's tensor, not to a new one. A step subtracts `lr` "
            "times the gradient of the mean over all samples. Clear `w.grad` between the steps."
        },
        exact_types=True,
    )


@points(1, side_effects=True)
def test_w_stays_a_leaf_in_its_memory(fit_by_hand):
    """`w` stays the same leaf; data is unchanged."""
    assert_no_side_effects(
        fit_by_hand,
        "Compare `id(w)`, `w.data_ptr()`, `w.is_leaf` and `w.requires_grad` before and after the call.",
    )


@picture(reference=True)
def next_loss(student):
    """A next loss of the caller's w after two of your steps; v2 means two writes that autograd counted."""
    w = torch.randn(1, 1, requires_grad=True)
    X, y = torch.randn(2, 1), torch.randn(2, 1)
    losses = attempt(student.fit_by_hand, w, X, y, 0.1, 2)
    return graph(next_loss=(X @ w).sum(), **{f"w_v{w._version}": w}, losses=losses)


# --- end: train_and_restart


@inside
def linear(setup, kind):
    """A linear layer; old gradients are there."""
    sizes = ("k", "m") if kind("of") == "first" else ("m", "o")
    layer = nn.Linear(*map(setup.size, sizes)).to(setup.dtype)
    if kind("grads") == "filled":
        for parameter in layer.parameters():
            parameter.grad = torch.randn_like(parameter)
    return layer


@inside
def some_batches(setup, kind):
    """Pairs of inputs and targets; their rows differ."""
    rows = {"five": (4, 2, 6, 3, 5), "single": (4,), "empty": ()}[kind("number")]
    k, o = setup.size("k"), setup.size("o")
    return [(torch.randn(n, k, dtype=setup.dtype), 3 + torch.randn(n, o, dtype=setup.dtype)) for n in rows]


@inside
def factors_of_units(setup, kind):
    """A mask by which units are scaled, one of them switched off; or of ones."""
    mask = 1.5 + torch.rand(setup.size("m"), dtype=setup.dtype)
    mask[0] = 0
    return torch.ones_like(mask) if kind("of") == "ones" else mask


train_and_restart = contract(
    "train_and_restart",
    {
        "first": own(linear, of=["first"], grads=["none", "filled"], says="nn.Linear(k, m)"),
        "last": own(linear, of=["last"], grads=["none", "filled"], says="nn.Linear(m, o)"),
        "opt": optimizer(
            "first", "last", rules=["momentum", "sgd", "adam"], says="an optimizer of their parameters"
        ),
        "average": data("o m", layouts=["contiguous", "transposed", "part"], says="(o, m), changed in place"),
        "batches": own(
            some_batches,
            number=["five", "single", "empty"],
            says="a list of pairs (x, y) of shapes (n, k) and (n, o)",
        ),
        "mask": own(
            factors_of_units,
            of=["ones", "factors"],
            words={"factors": "has zeros"},
            says="(m,), doesn't require grad",
        ),
        "tau": number(0.3, 1.0, says="a float, the weight of the newest value"),
        "restart": number(9, 2, 0, says="an int, the number of a batch, or one that no batch has"),
    },
    cases=Cases(
        dtypes=["float64", "float32"],
        modes=["on"],
        sequences=["first", "other"],
        cover=["opt.rule", "mask.of", "restart.value", "all.dtype"],
    ),
    call=Call(gradients="none"),
    rules=Rules(ignore=["first*:grad", "last*:grad"], full_precision=True),
)


WHERE_IT_LEADS = {
    "first*:value": "After training, `first` does not have the values that the gradient of the masked "
    "function gives.",
    "last*:value": "After training, `last` has wrong values.",
    "average:value": "The caller's `average` is not updated to `(1 - tau) * average + tau * last.weight` "
    "after each step.",
}


@cases("mask.of")
def test_the_mask_is_differentiated(train_and_restart):
    """Gradients of `first` account for the mask.

    Autograd must record the multiplication by `mask`, which must not write to the output that `tanh` saved.
    Clear `.grad` before `backward()`.
    """
    assert_same_values(train_and_restart, only=["first*"], changes=WHERE_IT_LEADS)


@cases("restart.value")
def test_the_fresh_layer_is_trained(train_and_restart):
    """`opt` keeps training `last` after its restart.

    `opt` holds certain parameter objects. Write the new values into these objects, before the right batch.
    """
    assert_same_values(train_and_restart, only=["last*"], changes=WHERE_IT_LEADS)


@cases()
def test_the_average_is_plain_data(train_and_restart):
    """`average` is correct and has no graph.

    Print `average.grad_fn`: autograd must not record the update. Use the weight after the step.
    """
    assert_same_values(train_and_restart, only=["average*"], changes=WHERE_IT_LEADS)


def test_a_whole_training(train_and_restart):
    """The whole training is correct, without side effects.

    If another check of this question fails, fix that first. Otherwise, look at how the parts affect each
    other.
    """
    assert_no_side_effects(train_and_restart)
    assert_same_values(
        train_and_restart,
        "The result is not the list of the losses, each a float from before its step.",
        changes=WHERE_IT_LEADS,
        exact_types=True,
    )
    assert_same_gradients(train_and_restart)


@picture(reference=True)
def average_after_a_training(student):
    """The average and the last layer after a training of two batches, without a restart."""
    first, last, average = nn.Linear(1, 1), nn.Linear(1, 1), torch.zeros(1, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    batches = [(torch.randn(2, 1), torch.randn(2, 1)) for _ in range(2)]
    attempt(student.train_and_restart, first, last, opt, average, batches, torch.ones(1), 0.5, 9)
    return graph(average=average, **{"last.weight": last.weight})
