"""The hidden checks of 05_inplace_reinit: which writes autograd allows, and which it notices."""

from grader import assert_close, picture, points, probe, raised
from grader.inside import attempt, graph, inside, nn, snap, state, torch, vjp

OVERWRITTEN = "modified by an inplace operation"

# --- q1: reinit_


@probe
def refilled(student):
    """A matrix filled with a random number, seen through a view that was made before; then a new loss."""
    w, value, slope = torch.randn(2, 3, requires_grad=True), torch.randn(()).item(), torch.randn(2, 3)
    before, view = snap(w), w.detach()
    result = student.reinit_(w, value)
    return {
        "before": before,
        "w": snap(w),
        "view": snap(view),
        "returned": snap(result),
        "recording": torch.is_grad_enabled(),
        "gradient": attempt(lambda: vjp(slope * w, w)[0]),
    }


@probe
def stale_loss(student):
    """Somebody still holds a loss of the old values while the leaf is filled anew.

    It goes back to another tensor than w, so no hook on w can raise in autograd's place.
    """
    w, slope = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    value = torch.randn(()).item()
    loss, before = slope * w, snap(w)
    student.reinit_(w, value)
    return {"before": before, "w": snap(w), "backward": attempt(vjp, loss, slope)}


@points(1)
def test_w_holds_the_value(refilled):
    """The caller's w holds the new value everywhere.

    Into which tensor does your function write, the caller's or one of its own?
    """
    w = refilled.seen["w"]
    assert w.value != refilled.seen["before"].value, (
        "The caller's w still holds its old values: what you filled is another tensor."
    )
    assert_close(w, refilled.expected["w"], "The caller's w does not hold the given value everywhere.")


@points(1)
def test_w_is_the_same_tensor(refilled):
    """You return w itself, and it lives where it lived before.

    Compare id(w) and w.data_ptr() before and after the call.
    """
    w, view, returned = (refilled.seen[name] for name in ("w", "view", "returned"))
    assert returned is not None, "You returned None instead of w."
    assert returned.identity == w.identity, (
        "You returned another object than w. Whoever works on with it leaves w itself behind, and w is what "
        "the optimizer and the module hold."
    )
    assert view.value == w.value, (
        "w was moved to other memory: a view of w that was made before the call still shows the old values."
    )


@points(1)
def test_w_still_trains(refilled):
    """Afterwards w is a leaf that requires grad, and the next loss brings it a gradient.

    Whatever you switched off for the write has to be on again when your function returns.
    """
    w, gradient = refilled.seen["w"], refilled.seen["gradient"]
    assert w.value != refilled.seen["before"].value, (
        "The caller's w was not filled: it trains as it did before."
    )
    assert w.is_leaf, f"w is no longer a leaf but the result of {w.grad_fn}: its .grad stays None."
    assert w.requires_grad, "w no longer requires grad: it will never be trained again."
    assert refilled.seen["recording"], (
        "After your call nothing is recorded any more: you switched gradients off, and they stayed off for "
        "the whole program. As a context manager, `with torch.no_grad():` switches them on again."
    )
    assert_close(gradient, refilled.expected["gradient"], "A new loss does not bring w its gradient.")


@points(2)
def test_a_stale_loss_is_noticed(stale_loss):
    """A loss that was computed from the old values refuses to go back.

    Print w._version before and after the call. Which way of writing leaves it alone?
    """
    before, w, backward = (stale_loss.seen[name] for name in ("before", "w", "backward"))
    if not raised(backward, BaseException):
        assert w.value != before.value, (
            "The old loss went back without an error, and rightly so: w still holds its old values."
        )
        assert w.version != before.version, (
            "The old loss went back without an error and delivered a wrong gradient: the values of w had "
            f"changed, but w._version stayed at {before.version}, which is all that backward() checks."
        )
    assert raised(backward, RuntimeError, OVERWRITTEN), (
        "The old loss did not raise the error with which autograd says that a value it needs was overwritten."
    )


@picture(reference=True)  # the question says that the old loss must refuse to go back
def loss_of_the_old_values(student):
    """A loss of the old values of w, after your call: it needs them; v1 means one write that autograd saw."""
    w = torch.randn(2, requires_grad=True)
    loss = (w**2).sum()
    result = attempt(student.reinit_, w, 1.0)
    returned = {} if result is w else {"returned": result}
    return graph(loss=loss, **{f"w_v{w._version}": w}, **returned)


# --- q2: reset_layer


@inside
def tied_model():
    """A layer "encoder.fc" whose weight also serves as "embed", and a head of its own."""
    model = nn.Sequential()
    model.add_module("embed", nn.Linear(12, 12, bias=False))
    model.add_module("encoder", nn.Sequential())
    model.encoder.add_module("fc", nn.Linear(12, 12))
    model.add_module("head", nn.Linear(12, 2))
    model.embed.weight = model.encoder.fc.weight
    return model


@inside
def step(model, optimizer, x):
    """One step of training, with the gradients cleared first."""
    optimizer.zero_grad()
    model(x).sub(1).pow(2).mean().backward()
    optimizer.step()


@inside
def reset_while_training(student, model, name):
    """The parameters between the steps: after the first, after the reset, and after the second."""
    inputs = torch.randn(2, 8, 12)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step(model, optimizer, inputs[0])
    before = state(model)["parameters"]
    student.reset_layer(model, name)
    fresh, recording = state(model)["parameters"], torch.is_grad_enabled()
    training = all(module.training for module in model.modules())
    failure = attempt(lambda: step(model, optimizer, inputs[1]))
    return {
        "before": before,
        "fresh": fresh,
        "recording": recording,
        "training": training,
        "step": failure,
        "trained": state(model)["parameters"],
    }


@probe
def plain_reset(student):
    """A layer at the top of the model, in the middle of training; another has the same name further down."""
    model = nn.Sequential()
    model.add_module("fc", nn.Linear(12, 12))
    model.add_module("head", nn.Sequential())
    model.head.add_module("fc", nn.Linear(12, 2))
    return reset_while_training(student, model, "fc")


@probe
def tied_reset(student):
    """A layer further down, whose weight is also another module's."""
    return reset_while_training(student, tied_model(), "encoder.fc")


@probe
def drawn_values(student):
    """What 900 weights look like afterwards, and how much they resemble those before and after them."""
    model = nn.Sequential()
    model.add_module("fc", nn.Linear(30, 30))
    old = model.fc.weight.detach().clone().flatten()
    student.reset_layer(model, "fc")
    new, bias = model.fc.weight.detach().clone().flatten(), snap(model.fc.bias)
    student.reset_layer(model, "fc")
    newer = model.fc.weight.detach().flatten()
    return {
        "bias": bias,
        "mean": new.mean().item(),
        "std": new.std().item(),
        "largest": new.abs().max().item(),
        "distinct": len(set(new.tolist())),
        "correlation": torch.corrcoef(torch.stack([old, new]))[0, 1].item(),
        "repetition": torch.corrcoef(torch.stack([new, newer]))[0, 1].item(),
    }


def assert_reset(seen):
    """Something happened to the layer, so that whoever does nothing is not praised for harming nobody."""
    names = ("fc.weight", "fc.bias")
    assert any(seen["fresh"][name].value != seen["before"][name].value for name in names), (
        "The layer still has its old weight and its old bias: nothing was reset."
    )


@points(1)
def test_parameters_are_the_same_objects(plain_reset):
    """The layer keeps its Parameter objects.

    Compare id(layer.weight) before and after with the ids in optimizer.param_groups[0]["params"].
    """
    before, fresh = plain_reset.seen["before"], plain_reset.seen["fresh"]
    assert_reset(plain_reset.seen)
    for name in ("fc.weight", "fc.bias"):
        assert fresh[name].identity == before[name].identity, (
            f"{name} is a new Parameter object. The optimizer was built long ago and holds the old one."
        )


@points(1)
def test_fresh_values_are_trained(plain_reset):
    """The next optimizer.step() moves the fresh values.

    For which objects does the optimizer look for a .grad, and do they have one?
    """
    seen = plain_reset.seen
    assert_reset(seen)
    assert seen["recording"], (
        "After your call nothing is recorded any more: you switched gradients off for the whole program."
    )
    assert seen["training"], "The model was in training mode and is not any more."
    assert seen["step"] is None, f"The step of training after the reset raises {seen['step'].type}."
    for name in ("fc.weight", "fc.bias"):
        fresh, trained = seen["fresh"][name], seen["trained"][name]
        assert fresh.requires_grad, (
            f"{name} no longer requires grad: it gets no gradient and never moves again."
        )
        assert trained.value != fresh.value, (
            f"optimizer.step() did not move {name}: it updated the object it was given at the start, "
            "which is no longer part of the model."
        )


@points(1)
def test_tied_module_stays_tied(tied_reset):
    """What shared the weight before shares it afterwards, before and after the next step.

    Two modules are tied by holding one object. What does the other module hold after your function? And under
    which of its two names do you look for the weight?
    """
    before, fresh, trained = (tied_reset.seen[moment] for moment in ("before", "fresh", "trained"))
    assert fresh["encoder.fc.weight"].value != before["encoder.fc.weight"].value, (
        "The layer still has its old weight: what you reset is something else."
    )
    assert fresh["embed.weight"].value != before["embed.weight"].value, (
        "The tied module still uses the old values: it holds the old weight, the layer a new one."
    )
    assert fresh["embed.weight"].value == fresh["encoder.fc.weight"].value, (
        "The two tied modules have different weights now."
    )
    assert trained["embed.weight"].value == trained["encoder.fc.weight"].value, (
        "The next step of training moved the two tied modules apart: they no longer hold the same weight."
    )
    assert fresh["embed.weight"].identity == fresh["encoder.fc.weight"].identity, (
        "The two tied modules hold two Parameter objects now: equal values are not one weight."
    )


@points(1)
def test_values_are_drawn_as_asked(drawn_values):
    """The weights come fresh from a normal distribution with standard deviation 0.02, and the bias is 0.

    Look at weight.std() and at a histogram, and compare with the weights before. By the way: is it the
    standard deviation that normal_() takes, or its square?
    """
    seen = drawn_values.seen
    assert seen["distinct"] > 800, (
        f"Among 900 weights there are {seen['distinct']} different values: they were not drawn one by one."
    )
    assert abs(seen["correlation"]) < 0.3, (
        f"The new weights follow the old ones (their correlation is {seen['correlation']:.2f}): "
        "the old values are still in them."
    )
    assert abs(seen["repetition"]) < 0.3, (
        "A second call draws the same numbers again: a seed that your function sets makes every reset alike."
    )
    assert 0.017 < seen["std"] < 0.023, (
        f"The standard deviation of 900 weights is {seen['std']:.3g}, too far from the task's to be chance."
    )
    assert abs(seen["mean"]) < 0.005, (
        f"The mean of 900 weights is {seen['mean']:.3g}, too far from 0 to be chance."
    )
    assert seen["largest"] > 0.04, (
        f"None of 900 weights is farther from 0 than {seen['largest']:.3g}: they do not come from a normal "
        "distribution, which would reach twice its standard deviation many times."
    )
    assert seen["bias"] is not None, "The layer has lost its bias."
    assert not any(seen["bias"].value), "The bias is not 0 everywhere."


@points(1)
def test_other_layers_keep_their_values(plain_reset):
    """Only the named layer is reset; the rest of the model keeps what it has learned."""
    before, fresh = plain_reset.seen["before"], plain_reset.seen["fresh"]
    assert_reset(plain_reset.seen)
    for name in ("head.fc.weight", "head.fc.bias"):
        assert fresh[name].value == before[name].value, (
            f"The values of {name} changed, although another layer was to be reset."
        )


@picture(reference=True)
def output_after_the_reset(student):
    """The next output of the layer, and the weight for which the optimizer was built."""
    model = nn.Sequential()
    model.add_module("fc", nn.Linear(1, 1))
    held = model.fc.weight
    attempt(student.reset_layer, model, "fc")
    output = model(torch.randn(1, 1))
    return graph(output=output, fc=model.fc, **{"optimizer.weight": held})


# --- q3: masked_forward


@probe
def masked(student):
    """Two random columns out of five are masked: what comes out, what goes back, and the inputs."""
    x, w1, w2 = (
        torch.randn(4, 3),
        torch.randn(3, 5, requires_grad=True),
        torch.randn(5, 2, requires_grad=True),
    )
    mask = torch.zeros(5, dtype=torch.bool)
    mask[torch.randperm(5)[:2]] = True
    inputs = {"x": x, "w1": w1, "w2": w2, "mask": mask}
    before = {name: snap(tensor) for name, tensor in inputs.items()}
    d, f = student.masked_forward(x, w1, w2, mask)
    return {
        "before": before,
        "d": snap(d),
        "f": snap(f),
        "after": {name: snap(tensor) for name, tensor in inputs.items()},
        "gradients": attempt(lambda: vjp(f, w1, w2)),
    }


def product_gradients(masked):
    """The gradients of w1 and w2, or the reason why there are none."""
    f, gradients = masked.seen["f"], masked.seen["gradients"]
    assert f is not None, "The second of the pair is None instead of f."
    assert f.shape == masked.expected["f"].shape, (
        f"f has the shape {f.shape}, which no product with w2 has: is it the second of the pair?"
    )
    assert not raised(gradients, RuntimeError, OVERWRITTEN), (
        "f cannot go back: the product had saved d for the gradient of w2, and d was overwritten after that."
    )
    assert not raised(gradients, BaseException), "f cannot go back: no graph leads from it to w1 and w2."
    return gradients


def masked_entries(matrix, mask):
    """The entries of a matrix of five columns that stand in the masked ones."""
    columns = [column for column, on in enumerate(mask.value) if on]
    return [matrix.value[row * 5 + column] for row in range(matrix.shape[0]) for column in columns]


@points(1)
def test_masked_values_enter_the_product(masked):
    """The masked columns of d are 1, and f is computed from this d.

    At which moment does your function read d for the second product?
    """
    seen, expected = masked.seen, masked.expected
    assert_close(seen["d"], expected["d"], "d is not x @ w1 with ones in the columns where mask is true.")
    assert_close(
        seen["f"],
        expected["f"],
        "d is right, but f is not the product of this d and w2: f was computed from other values.",
    )


@points(2)
def test_w1_gets_the_gradient_of_its_columns(masked):
    """w1 gets no gradient for the masked columns, and the usual one for all others.

    Ask of every write: does autograd see it? For a hidden one, d is still x @ w1.
    """
    gradient, expected = product_gradients(masked)[0], masked.expected["gradients"][0]
    assert gradient is not None, "w1 gets no gradient at all: the path from f back to w1 was cut."
    assert any(gradient.value), (
        "The gradient of w1 is 0 everywhere: every column was overwritten, masked or not."
    )
    d, mask = masked.seen["d"], masked.expected["before"]["mask"]
    leaked = any(masked_entries(gradient, mask))
    complete = d is not None and d.shape == masked.expected["d"].shape
    replaced = complete and all(abs(entry - 1) < 1e-4 for entry in masked_entries(d, mask))
    assert replaced or not leaked, (
        "w1 gets a gradient for the masked columns of d, and d itself was not replaced there."
    )
    assert not leaked, (
        "w1 gets a gradient for columns of d which it does not determine: for autograd these columns still "
        "are x @ w1, because it did not see them replaced before they were used."
    )
    assert_close(gradient, expected, "The gradient of w1 is wrong in the columns that are not masked.")


@points(1)
def test_w2_gets_the_gradient_of_the_masked_d(masked):
    """w2 gets the gradient that belongs to the masked d.

    The gradient of w2 is d, transposed, times the gradient of f. Which d?
    """
    gradient, expected = product_gradients(masked)[1], masked.expected["gradients"][1]
    assert gradient is not None, "w2 gets no gradient at all: the path from f back to w2 was cut."
    assert_close(gradient, expected, "The gradient of w2 is not the one that belongs to the masked d.")


@points(1)
def test_inputs_of_the_product_are_untouched(masked):
    """x, w1, w2 and mask keep their values."""
    before, after = masked.seen["before"], masked.seen["after"]
    for name, tensor in before.items():
        assert after[name].value == tensor.value, f"The values of the caller's {name} were changed."


# The reference's would show how the columns are replaced.
@picture
def product_of_the_masked(student):
    """The product f = d @ w2, before its backward: which d has it saved?"""
    w1, w2 = torch.randn(1, 2, requires_grad=True), torch.randn(2, 1, requires_grad=True)
    d, f = student.masked_forward(torch.randn(2, 1), w1, w2, torch.tensor([False, True]))
    return graph(f=f, d=d, w1=w1, w2=w2)


# --- q4: residual_block


@inside
def call_block(student, x):
    """The block for this x and a random w: its value, its gradients, and the inputs before and after."""
    w = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    before = {"x": snap(x), "w": snap(w)}
    y = student.residual_block(x, w)
    return {
        "before": before,
        "after": {"x": snap(x), "w": snap(w)},
        "y": snap(y),
        "gradients": attempt(lambda: vjp(y, *(leaf for leaf in (x, w) if leaf.requires_grad))),
    }


@inside
def decided_input():
    """Half of the numbers above 0.6, half below -0.6: what the sigmoid adds keeps all off relu's kink."""
    signs = (torch.randperm(12) % 2 * 2 - 1).reshape(4, 3)
    return (0.6 + torch.rand(4, 3, dtype=torch.float64)) * signs


@probe
def trained_input(student):
    """A leaf that requires grad, as w is."""
    return call_block(student, decided_input().requires_grad_())


@probe
def plain_input(student):
    """Plain data, which nothing protects from being written to."""
    return call_block(student, decided_input())


@points(1)
def test_block_has_the_values(trained_input):
    """The result is relu(sigmoid(x @ w) + x - 0.5)."""
    assert_close(
        trained_input.seen["y"],
        trained_input.expected["y"],
        "The values are not those of relu(sigmoid(x @ w) + x - 0.5).",
    )


@points(3)
def test_block_has_the_gradients(trained_input):
    """Both x and w get the gradients of this function.

    Which tensor has the sigmoid saved, and does it still hold the same values when backward comes to it?
    """
    gradients, expected = trained_input.seen["gradients"], trained_input.expected["gradients"]
    assert trained_input.seen["y"] is not None, "You returned None."
    assert not raised(gradients, RuntimeError, OVERWRITTEN), (
        "backward() raises: a value it needs was overwritten. The sigmoid and the relu "
        "have saved their outputs, and the product has saved x and w."
    )
    assert not raised(gradients, BaseException), (
        "backward() raises: no graph leads from the result to x and w."
    )
    for name, gradient in zip("xw", gradients, strict=True):
        assert gradient is not None, (
            f"{name} gets no gradient: the path from the result back to {name} was cut."
        )
    for name, gradient, right in zip("xw", gradients, expected, strict=True):
        assert_close(
            gradient,
            right,
            f"The gradient of {name} is wrong, although nothing raises. If the values are right, one that "
            "backward needs was overwritten behind autograd's back, or a path "
            f"from {name} to the result was cut.",
        )


@points(1)
def test_inputs_of_the_block_are_untouched(plain_input):
    """The caller's x and w are not written to, not even if x is plain data.

    Whose memory does your addition write to?
    """
    y = plain_input.seen["y"]
    assert y is not None, (
        "You returned None; that the caller's tensors are left alone counts once a result comes back."
    )
    assert y.shape == plain_input.expected["y"].shape, (
        f"What came back has the shape {y.shape}, not that of x."
    )
    for name, before in plain_input.seen["before"].items():
        after = plain_input.seen["after"][name]
        assert after.value == before.value, f"The values of the caller's {name} were changed."
        assert after.version == before.version, f"The caller's {name} was written to, and then put back."
        assert y.identity != after.identity, f"What came back is the caller's {name} itself."


@picture(reference=True)  # its operations are those of the formula in the task
def block_before_backward(student):
    """The result y of the block, before its backward."""
    x, w = torch.randn(2, 1, requires_grad=True), torch.randn(1, 1, requires_grad=True)
    y = student.residual_block(x, w)
    return graph(y=y, x=x, w=w)


# --- q5: ema_update


@inside
def network(batches):
    """A network with random parameters, and the running statistics of some batches."""
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), nn.Linear(3, 1)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    for _ in range(batches):
        model(torch.randn(6, 2, dtype=torch.float64))
    return model


@inside
def contents(model):
    """Snaps of what a module holds now, by kind, as lists: a module may have lost a name."""
    return {kind: list(tensors.values()) for kind, tensors in state(model).items()}


@inside
def after_a_write(learner, teacher):
    """What the teacher holds when all of the student was written to, whatever way their memory is shared."""
    with torch.no_grad():
        for tensor in [*learner.parameters(), *learner.buffers()]:
            tensor.add_(1)
    return contents(teacher)


@probe
def averaged(student):
    """Two updates of a frozen teacher, with a weight nobody knows before."""
    teacher, learner, tau = network(1).requires_grad_(False), network(3), 0.1 + 0.3 * torch.rand(()).item()
    before, learner_before = contents(teacher), contents(learner)
    student.ema_update(teacher, learner, tau)
    once, learner_once = contents(teacher), contents(learner)
    student.ema_update(teacher, learner, tau)
    names, twice = {kind: list(tensors) for kind, tensors in state(learner).items()}, contents(teacher)
    return {
        "names": names,
        "before": before,
        "once": once,
        "twice": twice,
        "written": attempt(after_a_write, learner, teacher),
        "learner before": learner_before,
        "learner once": learner_once,
    }


@probe
def learner_goes_on(student):
    """An update with the weight 1, when one loss of the student has gone back and another still has to."""
    teacher, learner = network(1).requires_grad_(False), network(3)
    inputs = torch.randn(3, 6, 2, dtype=torch.float64)
    leaves = list(learner.parameters())
    learner(inputs[2]).pow(2).mean().backward()
    gradients = [snap(leaf.grad) for leaf in leaves]
    pending = learner(inputs[0]).pow(2).mean()
    before, teacher_before = contents(learner), contents(teacher)
    student.ema_update(teacher, learner, 1.0)
    found = {
        "before": before,
        "after": contents(learner),
        "gradients before": gradients,
        "gradients after": [snap(leaf.grad) for leaf in leaves],
        "training": learner.training,
        "teacher before": teacher_before,
        "teacher": contents(teacher),
        "pending": attempt(lambda: vjp(pending, *leaves)),
        "recording": torch.is_grad_enabled(),
        "next": attempt(lambda: vjp(learner(inputs[1]).pow(2).mean(), *leaves)),
    }
    return {**found, "written": attempt(after_a_write, learner, teacher)}


def still_there(averaged, moment, kind):
    """What the teacher has at a moment, as (name, before, then, expected); fails where something is gone."""
    before, then = averaged.seen["before"][kind], averaged.seen[moment][kind]
    assert len(then) == len(before), (
        f"Of its {len(before)} {kind} the teacher has {len(then)} left: a computed tensor that takes the "
        f"place of one is not among its {kind}, so state_dict() and optimizers no longer know it."
    )
    return list(
        zip(averaged.expected["names"][kind], before, then, averaged.expected[moment][kind], strict=True)
    )


@points(1)
def test_parameters_are_averaged(averaged):
    """Every parameter of the teacher becomes (1 - tau) * teacher + tau * student.

    Start from a teacher at 0 and a student at 1, with tau = 0.1. Where should the teacher be afterwards?
    """
    parameters = still_there(averaged, "once", "parameters")
    assert any(then.value != before.value for _, before, then, _ in parameters), (
        "No parameter of the teacher has moved: giving a name to another tensor writes nothing."
    )
    for name, _, then, expected in parameters:
        message = f"The teacher's {name} is not the average in which the student has the weight tau."
        assert_close(then, expected, message)


@points(1)
def test_buffers_are_copied(averaged):
    """Every buffer of the teacher takes the student's value as it is.

    Print teacher.state_dict() before and after: it lists the buffers, too.
    """
    for name, before, then, expected in still_there(averaged, "once", "buffers"):
        assert then.value != before.value, f"The teacher's buffer {name} still has its old value."
        assert_close(
            then, expected, f"The teacher's buffer {name} has changed, but not to the student's value."
        )


def values_of(contents):
    """The values of all tensors of a module, by kind."""
    return {kind: [tensor.value for tensor in tensors] for kind, tensors in contents.items()}


def assert_updated(before, after):
    """Something happened to the teacher, so that whoever does nothing is not praised for harming nobody."""
    assert values_of(before) != values_of(after), "The teacher is as it was: nothing was updated."


@points(1)
def test_teacher_stays_plain_data(averaged):
    """The teacher keeps its Parameter objects, and no graph hangs on them, however often it is updated.

    Print [p.grad_fn for p in teacher.parameters()] and their ids after two updates.
    """
    assert_updated(averaged.seen["before"], averaged.seen["twice"])
    for name, before, then, _ in still_there(averaged, "twice", "parameters"):
        assert then.grad_fn is None, (
            f"The teacher's {name} has the grad_fn {then.grad_fn}: the update was recorded, and the graph "
            "grows with every call."
        )
        assert then.identity == before.identity, (
            f"The teacher's {name} is a new object: whoever held the old Parameter has lost it."
        )
        assert not then.requires_grad, f"The teacher's {name} requires grad now, but the teacher is frozen."


def assert_unchanged(before, after):
    """The student's tensors have the values they had, and require grad where they did."""
    for kind, tensors in before.items():
        assert len(after[kind]) == len(tensors), (
            f"Of its {len(tensors)} {kind} the student has {len(after[kind])} left."
        )
        for old, new in zip(tensors, after[kind], strict=True):
            assert new.value == old.value, f"The values of the student's {kind} changed."
            assert new.requires_grad == old.requires_grad, (
                f"The student's {kind} no longer require grad: the student has stopped learning."
            )


@points(1)
def test_student_goes_on(averaged, learner_goes_on):
    """The student does not change: a loss that is waiting goes back, and so does the next one.

    What has to be left alone if somebody is to read the student's weights in the middle of its training?
    """
    seen, expected = learner_goes_on.seen, learner_goes_on.expected
    assert_updated(averaged.seen["before"], averaged.seen["once"])
    assert_updated(seen["teacher before"], seen["teacher"])
    assert_unchanged(averaged.seen["learner before"], averaged.seen["learner once"])
    assert_unchanged(seen["before"], seen["after"])
    for before, after in zip(seen["gradients before"], seen["gradients after"], strict=True):
        same = after is not None and after.value == before.value
        assert same, "What the student had accumulated in .grad is not there any more."
    assert seen["training"], "The student was switched to eval()."
    assert not raised(seen["pending"], BaseException), (
        "A loss of the student that was computed before the update can no longer go back: what it had saved "
        "was written to, if only with the same values."
    )
    assert_close(
        seen["pending"], expected["pending"], "A loss from before the update now has another gradient."
    )
    assert seen["recording"], (
        "After the update nothing is recorded any more: you switched gradients off for the whole program."
    )
    assert_close(
        seen["next"], expected["next"], "The student's next loss has another gradient than it should."
    )


@points(1)
def test_no_memory_is_shared(averaged, learner_goes_on):
    """Teacher and student share no memory, not even after an update with tau = 1.

    t.data = s.data copies nothing. What does it do?
    """
    seen = learner_goes_on.seen
    assert_updated(seen["teacher before"], seen["teacher"])
    own = {tensor.storage for tensors in seen["after"].values() for tensor in tensors}
    for kind, tensors in seen["teacher"].items():
        shared = sum(tensor.storage in own for tensor in tensors)
        assert not shared, (
            f"{shared} of the teacher's {kind} now lie in the student's memory: the two change together."
        )
    for then, written in (
        (averaged.seen["twice"], averaged.seen["written"]),
        (seen["teacher"], seen["written"]),
    ):
        assert values_of(then) == values_of(written), (
            "Whoever writes to the student changes the teacher, too: somewhere they share memory."
        )


@picture(reference=True)  # nothing hangs on the reference's teacher, and so nothing is shown of its answer
def teacher_after_two_updates(student):
    """The weight of the teacher after two updates, and a loss of the student that is still to go back."""
    teacher, learner = nn.Linear(1, 1, bias=False).requires_grad_(False), nn.Linear(1, 1, bias=False)
    loss = (learner.weight**2).sum()
    attempt(student.ema_update, teacher, learner, 0.5)
    attempt(student.ema_update, teacher, learner, 0.5)
    return graph(**{"teacher.weight": teacher.weight, "student.weight": learner.weight}, student_loss=loss)


# --- q6: fit_by_hand


@inside
def regression():
    """A random start, random data, and a learning rate with which plain descent converges."""
    X = torch.randn(8, 2, dtype=torch.float64)  # noqa: N806 - the name it has in the task
    y = X @ torch.randn(2, 1, dtype=torch.float64) + 0.1 * torch.randn(8, 1, dtype=torch.float64)
    w = torch.randn(2, 1, dtype=torch.float64, requires_grad=True)
    return w, X, y, 0.05 + 0.1 * torch.rand(()).item()


@probe
def descended(student):
    """The caller's w before and after five steps, and through a view that was made before."""
    w, X, y, lr = regression()  # noqa: N806
    before, view, slope = snap(w), w.detach(), torch.randn(2, 1, dtype=torch.float64)
    student.fit_by_hand(w, X, y, lr, 5)
    return {
        "before": before,
        "w": snap(w),
        "view": snap(view),
        "recording": torch.is_grad_enabled(),
        "gradient": attempt(lambda: vjp(slope * w, w)[0]),
    }


@probe
def loss_curve(student):
    """What five steps return."""
    w, X, y, lr = regression()  # noqa: N806
    return {"losses": student.fit_by_hand(w, X, y, lr, 5)}


@points(2)
def test_w_arrives(descended):
    """The caller's w is where five steps of plain gradient descent lead.

    Which tensor does the name w stand for after your update? And what does backward() do with a .grad that
    is there already?
    """
    w, before = descended.seen["w"], descended.seen["before"]
    assert w.value != before.value or w.version == before.version, (
        "The caller's w was written to and has not moved: you subtracted 0. When do you clear w.grad?"
    )
    assert w.value != before.value, (
        "The caller's w has not moved: the update made a new tensor, and only your function knows it."
    )
    assert_close(
        w,
        descended.expected["w"],
        "The caller's w moved, but not to where five steps lead that each use the gradient of their loss.",
    )


@points(1)
def test_w_stays_a_leaf_in_its_memory(descended):
    """Afterwards w is still a leaf that requires grad, in the same memory.

    Compare w.data_ptr() before and after, and try a loss on w once more.
    """
    seen, w = descended.seen, descended.seen["w"]
    assert w.version != seen["before"].version or w.value != seen["before"].value, (
        "The caller's w was not changed; that it stays the same leaf counts once it is."
    )
    assert w.is_leaf, f"w is no longer a leaf but the result of {w.grad_fn}."
    assert w.requires_grad, "w no longer requires grad: nobody can go on training it."
    assert seen["view"].value == w.value, (
        "w was moved to other memory: a view of w that was made before the call still shows the old values."
    )
    assert seen["recording"], (
        "After your call nothing is recorded any more: you switched gradients off for the whole program."
    )
    assert_close(
        seen["gradient"], descended.expected["gradient"], "A new loss does not bring w its gradient."
    )


@points(2)
def test_losses_are_those_of_descent(loss_curve):
    """The five losses are Python floats, each measured before its update.

    A loss tensor is no number: it keeps its graph. When is each one measured, and at which w?
    """
    seen, expected = loss_curve.seen["losses"], loss_curve.expected["losses"]
    assert seen is not None, "You returned None instead of the list of losses."
    assert len(seen) == len(expected), f"Five steps gave {len(seen)} losses, not one for each step."
    assert_close(
        seen[0], expected[0], "The first loss is not the mean squared error of the w that was passed in."
    )
    assert_close(seen, expected, "The curve starts right, but is not that of plain gradient descent.")


@picture(reference=True)
def next_loss(student):
    """A next loss of the caller's w after two of your steps; v2 means two writes that autograd saw."""
    w = torch.randn(1, 1, requires_grad=True)
    X, y = torch.randn(2, 1), torch.randn(2, 1)  # noqa: N806 - the name it has in the task
    losses = attempt(student.fit_by_hand, w, X, y, 0.1, 2)
    return graph(next_loss=(X @ w).sum(), **{f"w_v{w._version}": w}, losses=losses)
