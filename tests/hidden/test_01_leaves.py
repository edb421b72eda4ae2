"""The hidden checks of 01_leaves: who is a leaf, and where .grad lands."""

from inside import MixedModel, count, fill_grads, sizes, with_gaps

from grader import (
    assert_changed,
    assert_close,
    assert_gradients,
    assert_returned,
    assert_runs,
    assert_untouched,
    blaming_changes,
    cases,
    is_close,
    picture,
    points,
    probe,
    raised,
)
from grader.inside import F, attempt, freed, gradients, graph, inside, nn, snap, torch, untouched, warned

# --- q1: make_weight


@probe
def weights(student):
    """Weights of several shapes and scales; each is overwritten with 0 before the next is made."""
    (n, m), earlier, found = sizes(2, low=3), {}, {}
    many = sizes(2, low=34)  # rows that do not fill torch's blocks of 16; eight numbers beyond 3 deviations
    large, small = 5 + torch.rand(()).item(), 1e-3 + 1e-3 * torch.rand(()).item()
    for name, arguments in {
        "": (n, m, large),
        "In a second call, with another shape and scale": (m, n, small),
        "In a call like the first, whose weight was overwritten with 0": (n, m, large),
        "With the scale 1": (n, m, 1.0),
        "With the scale 1, after such a weight was overwritten with 0": (n, m, 1.0),
        "In a weight of more than a thousand entries": (*many, large),
        "With n = 1": (1, m, large),
        "With m = 1": (n, 1, large),
    }.items():
        with untouched(**earlier) as kept:
            weight = student.make_weight(*arguments)
        found[name] = {"weight": snap(weight), "kept": kept}
        weight.detach().zero_()
        earlier[f"weight of call {len(earlier) + 1}"] = weight
    return found


@probe
def training(student):
    """Some steps of SGD: what .grad holds after each backward, and how far the weight has moved."""
    n, m = sizes(2, low=3)
    directions = 50 + torch.rand(count(3, 5), n, m)
    w = student.make_weight(n, m, 2.0)
    start, optimizer, found = w.detach().clone(), torch.optim.SGD([w], lr=0.1), {}

    for number, direction in enumerate(directions, start=1):
        loss = (direction * w).sum()
        error = attempt(loss.backward) if number > 1 else loss.backward()
        arrived = error or {"w": snap(w.grad)}
        optimizer.step()
        optimizer.zero_grad()
        found[f"In step {number} of a training"] = {"arrived": arrived, "moved": w.detach() - start}
    return found


@points(2)
def test_weight_is_a_leaf(weights):
    """The weight is a leaf that requires grad."""
    how = "Print w.is_leaf and w.grad_fn. Which operation was recorded, and when was requires_grad set?"
    lost = "its .grad stays None and optimizers refuse it"
    kept = "after retain_grad() an optimizer takes it, but it still hangs on that operation"
    for case in cases(weights):
        weight = case.seen["weight"]
        where = "Where is requires_grad set, and is that the tensor you return?"
        assert weight.requires_grad, f"requires_grad is False: w will never receive a gradient.\n\n{where}"
        assert weight.version is not None, "w was made in inference_mode: an optimizer cannot change it."
        assert weight.is_leaf, (
            f"w is the result of {weight.grad_fn}, no leaf: {kept if weight.retains_grad else lost}.\n\n{how}"
        )


@points(1)
def test_weight_has_the_values(weights):
    """Its values are those of the generator, times scale, in every call."""
    message = (
        "w is not torch.randn(n, m, generator=generator), seed 0, times scale.\n\nDoes a single call of "
        "randn draw all of it, the first with its generator? Do you return the scaled tensor? If only a "
        "later call is wrong: what is still there of an earlier call when it begins?"
    )
    hint = "Do two weights of yours lie in the same memory?"
    for case in cases(weights):
        unscaled = weights.expected["With the scale 1"]["weight"]
        assert_close(*case["weight"], message, {"randn(n, m) without the scale": unscaled})
        assert_untouched(case.seen["kept"], but=["torch"], hint=hint)


@points(2)
def test_weight_trains(training):
    """It trains: an optimizer takes it, moves it, and the next steps work."""
    why = "w hangs on the operation that made it.\n\nWhat does a second backward still have to pass through?"
    for case in cases(training):
        assert_gradients(*case["arrived"], of="the loss", because={"freed": why})
        assert_close(*case["moved"], "The optimizer did not move w by its gradients.")


@picture(reference=True)
def loss_of_the_weight(student):
    """The weight, and a loss that was computed from it."""
    w = student.make_weight(1, 2, 0.5)
    return graph(loss=w.sum(), w=w)


# --- q2: input_gradient


@inside
class Network(nn.Module):
    """Layers three deep, two that are called head, in another order than they run; one does not run."""

    def __init__(self, inputs, hidden, middle, outputs):
        super().__init__()
        self.head, self.spare = nn.Linear(middle, outputs), nn.Linear(inputs, outputs)
        self.body = nn.Sequential(nn.Linear(inputs, hidden), MixedModel(hidden, middle))
        nn.init.uniform_(self.head.weight, 0.5, 1.5)
        signs = torch.tensor([1.0, -1.0]).repeat(inputs)[:inputs]
        self.register_buffer("contrast", 30 * signs + torch.rand(inputs))  # how much an input weighs
        self.register_buffer("volume", torch.ones(()))

    def forward(self, x):
        factor = 10 if self.training else 1
        y = self.head(factor * self.body(x) + (self.contrast * x).sum(1, keepdim=True))
        return y if self.volume == 1 else (self.volume * y).flatten()  # turned down, it has no batch


#: A backward fills these; who runs the network and puts its buffers back has written to them.
BUFFERS = ("contrast", "volume", "shift", "seen", "running_*", "num_*")
MAY_CHANGE = ["model.*:grad", *(f"model.*{name}:version" for name in BUFFERS)]


@inside
def used_network():
    """A network with hooks of others, whose parameters have a gradient, zeros, or none; and a batch."""
    batch, inputs, *others = sizes(5, low=5)
    model = Network(inputs, *others)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    model.body[1].norm.weight.grad.zero_()
    model.body[1].norm.bias.grad = None
    for module in (model, model.body[0]):
        module.register_forward_pre_hook(lambda module, inputs: None)
        module.register_forward_hook(lambda module, inputs, output: None)
    # on a module that does not run, because torch.func cannot pass it
    model.spare.register_full_backward_hook(lambda module, before, after: None)
    return model, torch.randn(batch, inputs)


@probe
def image_gradient(student):
    """The gradient for an image; when the model was turned down then, or is in eval mode; and what stayed."""
    model, batch = used_network()
    img = with_gaps(batch[0].double())
    img.grad = torch.randn_like(img)
    alone = torch.autograd.functional.jacobian(lambda x: model(x[None])[0], img.float())

    def found():
        return {"x": student.input_gradient(model, img)}

    with untouched(img=img, model=model) as kept:
        first = found()
    model.volume.mul_(1e-4)
    calls = {"": [first], "In a second call, with other values in the same model": [attempt(found)]}
    model.volume.fill_(1.0)
    model.eval()
    return {"calls": calls, "kept": kept, "alone": [*alone[:, None]], "in eval": attempt(found)}


@points(3)
def test_input_gradient_is_right(image_gradient):
    """The gradient belongs to the tensor the model saw: float32, of shape (1, N)."""
    right = image_gradient.expected
    others = {f"that of output {n} alone": gradient for n, gradient in enumerate(right["alone"])}
    others["that of the model in eval mode"] = right["in eval"]["x"]
    because = {
        "missing": "\n\nIf you read it from a .grad: that tensor is no leaf, or you did not ask it in time "
        "to keep its gradient. On which tensor did you call requires_grad_(), and from which did you read "
        ".grad? .float() and .reshape() make new tensors.",
        "shape": "Is it that of a tensor before a cast or a reshape? Each of these makes a new tensor.",
    }
    for case in cases(image_gradient["calls"]):
        assert_gradients(*case[0], of="the sum of the outputs", others=others, because=because)


@points(2)
def test_parameters_keep_their_gradients(image_gradient):
    """The .grad of the model's parameters is what it was."""
    first, kept = image_gradient.seen["calls"][""][0]["x"], image_gradient.seen["kept"]
    assert_returned(first, "You returned None; this check counts once a gradient comes back.")
    which = "Which leaves does backward() fill, and what did they hold before? torch.autograd.grad asks for"
    assert_untouched(kept, only=["model.*:grad"], hint=f"{which} exactly the gradients it returns.")


@points(1)
def test_no_other_trace_is_left(image_gradient):
    """The caller's image and model are as they were."""
    hint = "What did you change for your own use, and did you put back what you found?"
    assert_untouched(image_gradient.seen["kept"], but=MAY_CHANGE, hint=hint)


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
    """What a model x + shift made of x, after your call: look where a .grad is."""
    calls = []  # its `append` is the same in a copy of the model
    model, img = Shift(calls.append), torch.randn(2, dtype=torch.float64)
    attempt(student.input_gradient, model, img)
    x, output = calls[-1]
    return graph(output=output, x=x, img=img, shift=model.shift)


# --- q3: all_grads


@inside
def three_leaves(shapes, factor):
    """The leaves a, b and d, not contiguous; the first element of d is 0."""
    a, b = (10 * torch.randn(shape, dtype=torch.float64) for shape in shapes[:2])
    d = factor * (5 + torch.rand(shapes[2], dtype=torch.float64))
    d.view(-1)[0] = 0
    return [with_gaps(leaf).requires_grad_() for leaf in (a, b, d)]


@probe
def six_gradients(student):
    """All gradients for leaves of which d is larger than c, then smaller; and the warnings they caused."""
    planes, rows, columns = sizes(3)
    leaves = three_leaves([(rows, 1), (columns,), (planes, 1, columns)], -1)
    first, texts = warned(student.all_grads, *leaves)
    with untouched(**{"first dictionary": first}) as kept:
        second, more = warned(student.all_grads, *three_leaves([(rows, columns), (), (rows, 1)], 1e-3))
    return {"calls": {"": first, "In a second call": second}, "kept": kept, "texts": texts + more}


def assert_there_and_right(six_gradients, names):
    """These gradients are, in both calls."""
    no_leaf = (
        "is no leaf: its gradient is kept only if you ask for it before backward.\n\nWhat do you call for "
        "that, and when? If you use hooks: which name does each of them see when it runs?"
    )
    because = {
        "missing": "Was the graph cut on the way from o to it?\n\nFollow it from o back.",
        **{f"{name}:missing": f"{name} {no_leaf}" for name in "ceo"},
        "shape": "A tensor that is broadcast is used several times: its gradient is a sum.",
        "wrong": "\n\nFollow the graph from o back. Which operations does the gradient pass, and how often?",
    }
    for case in cases(six_gradients["calls"]):
        others = {f"the gradient of {name}": gradient for name, gradient in case.expected.items()}
        with blaming_changes(six_gradients.seen["kept"]):
            assert_gradients(*case, of="o", only=names, because=because, others=others)


@points(2)
def test_gradients_of_non_leaves(six_gradients):
    """The gradients of c, e and o are there, and right."""
    assert_there_and_right(six_gradients, ["c", "e", "o"])


@points(2)
def test_gradients_of_leaves(six_gradients):
    """The gradients of a, b and d are there, exactly once."""
    assert_there_and_right(six_gradients, ["a", "b", "d"])


@points(1)
def test_no_warning(six_gradients):
    """Nothing is left to warn of."""
    seen, hint = (
        six_gradients.seen,
        "The warning names what your code did. Is there another way to the same gradients?",
    )
    found = any(gradient is not None for gradient in seen["calls"][""].values())
    assert found, "No gradient came back. This check counts once some do."
    leaf = "you read .grad of a tensor that is not a leaf and does not retain its gradient."
    told = [leaf if "not a leaf" in text else text.strip().partition(". ")[0] for text in seen["texts"]]
    assert not told, f"torch or Python warned: {told[0]}\n\n{hint}"


# --- q4: activation_grads


@inside
def grads_by_layer(student, model, x, names):
    """The gradients as they are after the call: a hook that was left may write into the dict later."""
    found = student.activation_grads(model, x, names)
    is_dict = isinstance(found, dict)
    return {name: snap(gradient) for name, gradient in found.items()} if is_dict else found


@probe
def layer_gradients(student):
    """The gradients of layers, of a container and of the model itself, in another order than they run in."""
    given = (*used_network(), ["head", "body.1.head", "", "body", "body.0", "body.1.embed"])
    found = grads_by_layer(student, *given)
    given[0].eval()
    return {"your dictionary": found, "in eval": attempt(grads_by_layer, student, *given)}


@probe
def model_afterwards(student):
    """What stayed of a network, and what it does then, with a hook of the caller's and without it."""
    (model, x), calls = used_network(), []
    handle = model.body[1].register_forward_hook(lambda module, inputs, output: calls.append(None))
    model.head.weight.register_hook(lambda gradient: None)
    with untouched(model=model) as kept:
        found = student.activation_grads(model, x[:1], ["body.0", "body.1"])

    def used():
        calls.clear()
        told = gradients(lambda: model(x), model=model)
        return {"output": told["output"], "gradients": told["gradients"], "calls": len(calls)}

    with_hook = used()
    handle.remove()
    return {"gradients": found, "kept": kept, "with hook": with_hook, "without": used()}


@probe
def model_that_raises(student):
    """What is left in a model whose last layer raises an error that no code can name beforehand."""

    def broken(module, inputs):
        raise type("NoSignalError", (Exception,), {})

    model, x = used_network()
    model.head.register_forward_pre_hook(broken)
    with untouched(model=model) as kept:
        attempt(student.activation_grads, model, x, ["head", "body.0", "body.1"])
    return kept


@probe
def second_call(student):
    """A second call on the same model, in double precision by then, with a larger batch and another layer."""
    model, x = used_network()
    first = grads_by_layer(student, model, x, ["body.0", "head"])
    model, x = model.double(), torch.cat([x, -x, 2 * x]).double()
    return {"first": first, "second": grads_by_layer(student, model, x, ["body.1", "body.0"])}


def assert_of_layers(names, seen, expected, message, in_eval):
    """Under each of these names stands the gradient of this layer's output."""
    for name in names:
        others = {f"the gradient for {other!r}": expected[other] for other in expected if other != name}
        others["that of the model in eval mode"] = in_eval.get(name)
        assert_close(seen[name], expected[name], message.format(name), others)


@points(3)
def test_gradients_of_activations(layer_gradients):
    """Every name is answered with the gradient of that layer's output."""
    (seen, expected), in_eval = layer_gradients["your dictionary"], layer_gradients.expected["in eval"]
    found = [name for name in expected if seen[name] is not None]
    assert found, (
        "The gradient of every layer is None: what you kept is not the tensor through which gradients go (it "
        "is detached, or a copy beside it), or you did not ask it before backward to keep its gradient."
    )
    message = "For layer {!r} this is not the gradient of its output."
    of_no_layer = [name for name in found if not any(is_close(seen[name], g) for g in expected.values())]
    assert_of_layers(of_no_layer, seen, expected, message, in_eval)
    missing = ", ".join(repr(name) for name in expected if name not in found)
    assert not missing, (
        f"There is no gradient for {missing}, though there is one for other layers.\n\nDoes your code reach "
        "each of these layers? If you make hooks in a loop: which name does each see when it runs? And what "
        "becomes of the output if a hook returns something?"
    )
    assert_of_layers(found, seen, expected, message, in_eval)


@points(1)
def test_hooks_are_removed(model_afterwards, model_that_raises):
    """Afterwards the model is as it was: without your hooks, and with those of others."""
    seen, expected = model_afterwards
    came_back = any(gradient is not None for gradient in seen["gradients"].values())
    assert came_back, "No gradient of a layer came back. This check counts once you return some."
    assert_untouched(seen["kept"], only=["model.spare", "model.body.1.embed.bias"])
    assert_untouched(seen["kept"], but=MAY_CHANGE)
    message = "After your call the model, or a hook of the caller's, no longer does what it did."
    assert_close(seen["with hook"], expected["with hook"], message)
    moved = "it was moved to another table, or registered anew."
    assert not seen["without"]["calls"], f"The handle of the caller's hook no longer removes it: {moved}"
    case = "Where the model raises an error of a class of its own"
    hint = "Which lines of yours still run after the model has raised an error?"
    assert_untouched(model_that_raises.seen, but=MAY_CHANGE, case=case, hint=hint)


@points(1)
def test_a_second_call_is_answered_too(second_call):
    """A second call on the same model is answered as well as the first."""
    hint = "What differs between the two calls? What of the first is still there when the second begins?"
    message = "In a second call, as in the first, the gradient for {!r} is wrong."
    if is_close(*second_call["first"]):
        message = f"The first call is right, but in the second the gradient for {{!r}} is wrong.\n\n{hint}"
    seen, expected = second_call["second"]
    assert_of_layers(expected, seen, expected, message, {})


# The reference's would show retain_grad(), which is the answer.
@picture
def outputs_of_two_layers(student):
    """The outputs of two layers, each x + shift, after your call: look which of them keep their gradient."""
    calls = []
    model = nn.Sequential(Shift(calls.append), Shift(calls.append))
    attempt(student.activation_grads, model, torch.randn(1, 2), ["0", "1"])
    (_, first), (_, second) = calls[:2]
    return graph(second_output=second, first_output=first, model=model)


# --- q5: total_loss


def grew(kept, name):
    """Whether a gradient was added to what a watched tensor held."""
    if name not in kept["after"]:
        return False
    before, after = (kept[when][name]["tensor"].grad for when in ("before", "after"))
    return after is not None and any(after.value) and (before is None or after.value != before.value)


@probe
def total(student):
    """Totals of several losses, of others, and of one; what leads back from them, and what stayed."""
    p, found = torch.randn(count(2, 5), requires_grad=True), {}
    p.grad = torch.randn_like(p)
    large, tiny = 20 + p.exp().sum(), 1e-3 * (p * p).sum()  # the tiny one stands twice
    alike = [(p * p).sum(), (p * p.detach()).sum()]  # of one value and other gradients
    mine = [large, tiny, *alike, tiny, *((n + p.cosh()).sum() for n in range(count(1, 4)))]
    weight = 0.5 + torch.rand(()).item()
    others = [-0.1, weight, 500.0, *[weight] * (len(mine) - 5)]  # one is a bonus, one for what is tiny
    more, ones = [*mine[1:], torch.ones(())], [1.0, 0.0, *others[:-1], -2.0]
    for name, losses, weights in (
        ("", mine, [weight, 1000.0, *others]),
        ("In a second call, with weights 1 and 0 among others and a loss without history", more, ones),
        ("With one loss in the list", mine[:1], [weight]),
    ):
        given = ([*losses], weights)
        with untouched(parameter=p, losses=given[0], weights=weights) as kept:
            result = attempt(student.total_loss, *given) if name else student.total_loss(*given)
        is_tensor = isinstance(result, torch.Tensor)  # of any dtype: with weights in numpy it is float64
        total = result.double() if is_tensor else result
        back = gradients(total.squeeze() if is_tensor else total, losses=losses, p=p)
        twice = [f"losses[{number}]" for number, loss in enumerate(losses) if loss is tiny]
        found[name] = {"total": snap(total), "back": back, "kept": kept, "twice": twice}
    return found


def miscounted(case):
    """What a wrong value comes of: the first loss that goes back with another weight than its own."""
    (value, right), (seen, expected) = case["total"], (side["gradients"] for side in case["back"])
    if raised(value, BaseException) or not value.requires_grad or value.shape != right.shape:
        return ""
    for name in [] if raised(seen, BaseException) else expected:
        if name != "p" and not is_close(seen.get(name), expected[name]):
            is_twice = name in case.expected["twice"]
            twice = "stands in the list twice, and does not count with both weights"
            return f": {name} {twice if is_twice else 'does not count with its own weight'}"
    return ""


@points(1)
def test_total_has_the_value(total):
    """The result is the weighted sum of the losses, and they and the lists stay as they are."""
    for case in cases(total):
        assert_untouched(case.seen["kept"], but=["parameter"])
        assert_close(*case["total"], f"The value is not the weighted sum{miscounted(case)}.")


@points(2)
def test_total_reaches_the_parameters(total):
    """The graph of the result ends in the parameters."""
    seen, arrived = total.seen[""], total.seen[""]["back"]["gradients"]
    numbers = "the losses became mere numbers (by .item(), .data, detach() or torch.tensor())"
    assert seen["total"].requires_grad, f"The total does not require grad: {numbers}, or added under no_grad."
    assert raised(arrived, BaseException) or arrived["p"] is not None, (
        "The total has a graph of its own, which ends before the parameters: no error, and no learning.\n\n"
        "Did you make a new leaf on the way? torch.tensor(), nn.Parameter(), .item() and detach() give you "
        "something without a history."
    )


@points(2)
def test_total_gradient(total):
    """Its backward gives the parameters the gradient of the weighted sum, once."""
    hint = "Do the next total_loss and the caller's backward() build on more than your return value?"
    grown = "parameter.grad grew during your call: you ran a backward, and the caller's backward adds to it."
    because = {
        "not connected": "A loss that is left out, or becomes a mere number, gets none.",
        "zero": "Was this loss cut off at a bound?",
        "wrong": "A loss has to count with its own weight, and with both where it stands in the list twice.",
        "p:wrong": "",
    }
    for case in cases(total):
        assert not grew(case.seen["kept"], "parameter"), grown
        assert_untouched(case.seen["kept"], only=["parameter", "weights"], hint=hint)
        with blaming_changes(case.seen["kept"]):
            assert_gradients(*case["back"], of="the total", because=because, none_is_zero=False)


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
def samples():
    """Losses of two parameters, and weights: computed from a parameter q; a leaf; a single one; computed.

    A loss is about as large as its weight is small, of either sign; float32 makes 0 of the tiny weights.
    """

    def drawn(number, size=1.0):
        p, shift = torch.randn(number + 2, dtype=torch.float64), torch.randn((), dtype=torch.float64)
        p.requires_grad_().grad = torch.randn_like(p)
        outputs = torch.randn(number, len(p), dtype=torch.float64) @ p
        losses = size * (outputs**2 + p.sum()) * shift.requires_grad_().exp()
        w = (1 + torch.rand(number, dtype=torch.float64)) / size
        w[1::2] *= -1
        return losses, with_gaps(w), (p, shift)

    losses, q, parameters = drawn(count(4, 7))
    q.requires_grad_().grad = torch.randn_like(q)
    leaf, (large, v, others) = drawn(count(4, 7), 1e60), drawn(count(4, 7), 1e60)
    leaf[1][-1] = v[-1] = 0
    leaf[1].requires_grad_().grad = torch.randn_like(leaf[1])
    tiny = "With weights of about 1e-60 (float64), the last of them 0"
    return {
        "": (losses, q**3 + 4 * q.detach(), parameters, {"q (behind w)": q}),
        f"{tiny}, in a leaf that requires grad": (*leaf, {}),
        "For a single loss and its weight": (*drawn(1), {}),
        f"{tiny}, computed from the same parameters": (large, v * others[1], others, {}),
    }


@probe(cases=samples)
def weighted(student, losses, w, parameters, behind):
    """What a call does to the parameters and to the two graphs, and what stays."""
    held, arrived = [snap(parameter.grad) for parameter in parameters], []
    handle = losses.register_hook(arrived.append)
    with untouched(losses=losses, w=w, parameters=parameters, **behind) as kept:
        student.weighted_backward(losses, w)
    handle.remove()
    return {
        "direction": sum(arrived) if arrived else None,
        "ones": torch.ones_like(losses),
        "held": held,
        "after": [snap(parameter.grad) for parameter in parameters],
        "kept": kept,
        "freed": freed(losses),
        "back": gradients(losses, p=parameters[0]),  # an error where the graph is used up
        "behind w": gradients(w, behind),
    }


GROWING = ["parameters*:grad"]
CUT_OFF = "The caller's losses were cut off from the graph behind them."


def assert_gone_back(weighted):
    """Something was added to the .grad of the parameters: no check praises a function that does nothing."""
    kept = next(cases(weighted)).seen["kept"]
    astray = "your backward went into w and not into the losses. Which factor did you detach?"
    why = astray if grew(kept, "q (behind w)") else "no backward reached them."
    message = f"Nothing was added to the .grad of the parameters: {why}"
    with blaming_changes(kept, but=[*GROWING, "q*:grad"]):
        assert_changed(kept, message, only=["parameters[[]0]:grad"])


@points(3)
def test_weighted_gradient(weighted):
    """The .grad of the parameters grows by the sum of the losses' gradients, each times its weight."""
    assert_gone_back(weighted)
    wrong = "The .grad of a parameter did not grow by the sum of w[i] times the gradient of losses[i]"
    for case in cases(weighted):
        if case.seen["direction"] is not None and not is_close(*case["after"]):
            which = "losses.backward(gradient=v) computes v^T J. Which v went back in yours?"
            message = f"{wrong}: what went back into losses is not w.\n\n{which}"
            assert_close(*case["direction"], message, {"1 for each": case.expected["ones"]})
        why = "\n\nThe gradient should pass through losses only. Does it also go through w?"
        for after, right, held in zip(*case["after"], case.expected["held"], strict=True):
            none = "The .grad of a parameter is None: no backward reached it, or it was cleared"
            message = f"{none if after is None else wrong}.{why if 'computed' in case.name else ''}"
            assert_close(after, right, message, {"what it held": held})


@points(1)
def test_weights_are_constants(weighted):
    """No gradient runs into the network that made the weights, and the caller's tensors stay as they are."""
    because = {
        "freed": "A backward of yours went through it.",
        "not connected": "w was cut off from the network that made it.\n\ndetach() returns another tensor "
        "and leaves w alone. What does detach_() do to the network behind w?",
    }
    hint = "Which of your lines changes losses or w, or lets a gradient pass through w?"
    assert_gone_back(weighted)
    for case in cases(weighted):
        into_w = any(grew(case.seen["kept"], name) for name in ("w", "q (behind w)"))
        assert not into_w, "The gradient also ran into the weights, which count as constants."
        assert_untouched(case.seen["kept"], but=[*GROWING, "w:version"], hint=hint)
        assert_gradients(*case["behind w"], of="the caller's w", because=because)
        assert_untouched(case.seen["kept"], but=GROWING, hint=hint)
        assert case.seen["back"]["gradients"] != {"p": None}, CUT_OFF


@points(1)
def test_graph_is_freed(weighted):
    """Afterwards the graph is used up; nothing keeps its saved tensors."""
    held = "did you leave out the last backward, or tell it to retain_graph or create_graph?"
    assert_gone_back(weighted)
    for case in cases(weighted):
        assert case.seen["back"]["gradients"] != {"p": None}, CUT_OFF
        with_graph = any(gradient and gradient.requires_grad for gradient in case.seen["after"])
        assert case.seen["freed"] and not with_graph, f"The saved tensors are still held: {held}"


@picture(reference=True)
def leaves_after_a_weighted_backward(student):
    """The losses of p and the weights, computed from q, after your call: look where a .grad is."""
    p, q = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    losses, w = p**2, q + 1
    attempt(student.weighted_backward, losses, w)
    return graph(losses=losses, p=p, w=w, q=q)


# --- end: train_with_temperature

TRAINED = ["embed.weight", "echo.weight", "norm.weight", "norm.bias", "head.weight", "head.bias"]
MAY_BE_TRAINED = [f"model.{name}:{part}" for name in TRAINED for part in ("value", "version", "grad")]


@inside
def classifier():
    """A model of every part, in which a frozen parameter has a gradient, too; samples and their classes."""
    samples, features, classes = sizes(3, low=3)
    model = MixedModel(features, classes).double()
    with torch.no_grad():
        model.head.weight.mul_(20)  # so that large logits cost something
    fill_grads(model.parameters())
    model.embed.bias.grad = torch.randn_like(model.embed.bias)  # an old one: no step may use it
    x = with_gaps(torch.randn(samples, features, dtype=torch.float64))
    return model, x, torch.randint(classes, (samples,))


@probe
def trained(student):
    """What trainings of one step and of several make of the model, the temperature and the log."""
    steps, lr = count(3, 5), 0.05 + 0.05 * torch.rand(()).item()

    def training(model, x, y, steps):
        before = nn.utils.parameters_to_vector(model.parameters()).detach()
        with untouched(model=model, x=x, y=y) as kept:
            temperature, log = student.train_with_temperature(model, x, y, steps, lr)
        return {
            "temperature": snap(temperature),
            "log": [{"loss": entry["loss"], "pull": snap(entry["pull"])} for entry in log],
            "parameters": {name: snap(parameter) for name, parameter in model.named_parameters()},
            "moved": nn.utils.parameters_to_vector(model.parameters()) - before,
            "kept": kept,
        }

    model, x, y = classifier()
    logits = model(x)
    scaled = logits / 1.5
    cross_entropy = F.cross_entropy(scaled, y)
    told = {
        "start": torch.full((1,), 1.5, dtype=torch.float64),
        "that of the cross entropy alone": torch.autograd.grad(cross_entropy, logits, retain_graph=True)[0],
        "that of logits / temperature": torch.autograd.grad(cross_entropy, scaled)[0],
        "steps": steps,
    }
    one = training(model, x, y, 1)
    return {"one": one, "more": attempt(training, *classifier(), steps), **told}


@probe
def far_from_the_beginning(student):
    """Where a step leads from 1.5: below 1 if the classes are those of the largest logits, else far above."""
    ends = {}
    for name, extreme, end in (("small", torch.argmax, 0.4), ("large", torch.argmin, 30.0)):
        samples, features, classes = sizes(3, low=3)
        model, x = nn.Linear(features, classes).double(), torch.randn(samples, features, dtype=torch.float64)
        y = extreme(model(x), 1)
        start = torch.full((1,), 1.5, dtype=torch.float64, requires_grad=True)
        (gradient,) = torch.autograd.grad(F.cross_entropy(model(x).detach() / start, y), start)
        lr = ((1.5 - end) / gradient).item()
        temperature, _ = student.train_with_temperature(model, x, y, 1, lr)
        ends[name] = snap(temperature)
    return ends


@probe
def trained_in_float32(student):
    """A step in float32."""
    model, x, y = classifier()
    temperature, log = student.train_with_temperature(model.float(), with_gaps(x.float()), y, 1, 0.05)
    return {"temperature": snap(temperature), "pull": snap(log[-1]["pull"])}


def assert_trained(trained):
    """A step has changed the model, so that no check praises a function that does nothing."""
    lost = "After a step all parameters of the model are what they were."
    hint = (
        "Does the loss lead back to them? Print loss.grad_fn, and follow it. And does a step come after it?"
    )
    assert any(trained.seen["one"]["moved"].value), f"{lost}\n\n{hint}"


def blaming_the_model(trained):
    """A model in another mode, or with other parameters to train, has other losses and other logits."""
    return blaming_changes(trained.seen["one"]["kept"], only=["*:training", "*:requires_grad"])


def is_right(trained, which, what):
    """Whether a training did not stop, and led to the right parameters, or to the right temperature."""
    seen, expected = trained[which]
    return not raised(seen, BaseException) and is_close(seen[what], expected[what])


def test_the_loss_teaches_the_model(trained):
    """Each step moves the model by the gradient of the whole loss."""
    assert_trained(trained)
    message = "a parameter of the model is not where the gradient of the loss leads."
    which = "Is the loss the sum of both losses? And what stood in .grad before its backward?"
    in_one, in_more = ((side["parameters"] for side in trained["one"]), trained["more"])
    with blaming_the_model(trained):
        assert_close(*in_one, f"After a single step {message}\n\n{which}")
    if is_right(trained, "more", "temperature"):  # a wrong one leads the model astray
        together = (side["parameters"] for side in in_more)
        assert_close(*together, f"After {trained.expected['steps']} steps {message}\n\n{which}")


def test_the_temperature_is_trained(trained, trained_in_float32, far_from_the_beginning):
    """The temperature is a leaf, and every step trains it."""
    begins = {"1.5, with which it begins": trained.expected["start"]}
    message = "the temperature is not where its gradients lead."
    (one, first), (more, last), steps = trained["one"], trained["more"], trained.expected["steps"]
    which = "Is the loss the sum of both losses? And what stood in .grad before its backward?"
    if is_close(one["temperature"], trained.expected["start"]):
        which = "Does a gradient arrive there? And does the optimizer know the tensor that the loss uses?"
    with blaming_the_model(trained):
        told = f"After a single step {message}\n\n{which}"
        assert_close(one["temperature"], first["temperature"], told, begins)
    assert_runs(
        more,
        f"A training of {steps} steps stops, and a training of a single step does not\n\n"
        "Which result, computed before the second step, does the second backward still pass through?",
    )
    maker, how = more["temperature"].grad_fn, "Which operation made it, and when was requires_grad set?"
    assert more["temperature"].is_leaf, f"The temperature is the result of {maker}, no leaf.\n\n{how}"
    if is_right(trained, "one", "parameters"):  # a wrong model leads the temperature astray
        once = "Does the step change the tensor that the next loss uses? And is each gradient used only once?"
        told = f"After {steps} steps {message}\n\n{once}"
        assert_close(more["temperature"], last["temperature"], told, begins)
    assert_close(*trained_in_float32["temperature"], "For a model in float32 the temperature is wrong.")
    for which in ("small", "large"):
        far = f"Where a step leads to a {which} temperature, the temperature is wrong."
        assert_close(*far_from_the_beginning[which], far, begins)


def test_the_log_has_the_pull(trained, trained_in_float32):
    """The log has the loss of each step, and its gradient with respect to the logits."""
    wrong = "the gradient in the log is not that of the loss with respect to logits."
    why = "Does the loss lead back to them? Where does its graph end?"
    if any(trained.seen["one"]["moved"].value):
        why = "What do you call so that they keep it, when, and which tensor do you ask for it afterwards?"
    others = {name: trained.expected[name] for name in trained.expected if name.startswith("that of ")}
    for which in ("one", "more"):
        seen, expected = trained[which]
        if raised(seen, BaseException):  # another check tells it
            continue
        entries, steps = len(seen["log"]), len(expected["log"])
        assert entries == steps, f"After a training of {steps} steps the log has {entries} entries."
        none = [number for number, entry in enumerate(seen["log"], start=1) if entry["pull"] is None]
        assert not none, f"In step {none[0]} the gradient of the logits in the log is None.\n\n{why}"
        if which == "one" or (
            is_right(trained, "more", "parameters") and is_right(trained, "more", "temperature")
        ):
            for number, (told, right) in enumerate(zip(seen["log"], expected["log"], strict=True), start=1):
                with blaming_the_model(trained):
                    assert_close(told["pull"], right["pull"], f"In step {number} {wrong}", others)
                    told_loss = f"In step {number} the loss in the log is wrong."
                    assert_close(told["loss"], right["loss"], told_loss, all_digits=True)
                others = {}
    assert_close(*trained_in_float32["pull"], f"For a model in float32 {wrong}")


def test_nothing_else_is_changed(trained):
    """Only the parameters that are trained change, and what stands in .grad."""
    assert_trained(trained)
    hint = "What did you change for your own use, and did you put back what you found?"
    # Where an old gradient is cleared with zeros, a step of 0 writes to a frozen parameter what is there.
    frozen_too = [*MAY_BE_TRAINED, "model.embed.bias:grad", "model.embed.bias:version"]
    assert_untouched(trained.seen["one"]["kept"], but=frozen_too, hint=hint)


@picture(reference=True)
def leaves_after_a_training(student):
    """The temperature and the model after a training of one step: look where a .grad is."""
    model, x = nn.Linear(1, 2, bias=False), torch.randn(2, 1)
    found = attempt(student.train_with_temperature, model, x, torch.tensor([0, 1]), 1, 0.1)
    return graph(temperature=found[0], model=model)
