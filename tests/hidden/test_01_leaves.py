"""The hidden checks of 01_leaves: who is a leaf, and where .grad lands."""

from grader import assert_close, picture, points, probe, raised
from grader.inside import attempt, freed, graph, inside, nn, reaches, snap, state, torch, vjp, warned


@inside
def hooks_in(model):
    """Every hook on a module or one of its tensors; a table is a dict, whatever its class says."""
    modules, tensors = [*model.modules()], [*model.parameters(), *model.buffers()]
    tables = [table for m in modules for name, table in vars(m).items() if name.endswith("hooks")]
    tables += [
        table for tensor in tensors for table in (tensor._backward_hooks, tensor._post_accumulate_grad_hooks)
    ]
    return sorted(id(hook) for table in tables if table is not None for hook in dict.values(table))


@inside
def condition(model):
    """All that could bear a trace of a call, but for the .grad of the parameters."""
    modules = dict(model.named_modules())
    return {
        "tensors": {name: snap(t) for kind in state(model).values() for name, t in kind.items()},
        "training": {name or "model itself": module.training for name, module in modules.items()},
        "hooks": hooks_in(model),
        "attributes": {name: [id(type(module)), *sorted(vars(module))] for name, module in modules.items()},
    }


@inside
def behaviour(model, x, leaves):
    """What the model computes for x, and the gradients which that brings the leaves."""
    output = model(x)
    return {"output": snap(output), "gradients": vjp(output, *leaves)}


def assert_same_model(before, after):
    """The model is in the condition in which it was."""
    for name, mode in before["training"].items():
        assert after["training"].get(name) == mode, (
            f"The {name} was in training mode and is not any more."
            if name == "model itself"
            else f"The submodule {name} was in training mode and is not any more."
        )
    gone = [hook for hook in before["hooks"] if hook not in after["hooks"]]
    assert not gone, "A hook which somebody else had registered is gone: remove your own only."
    left = len(after["hooks"]) - len(before["hooks"])
    assert left <= 0, f"{left} of your hooks are still registered, on a module or on one of its tensors."
    assert list(after["tensors"]) == list(before["tensors"]), (
        "The model has not the same parameters and buffers as before."
    )
    for name, old in before["tensors"].items():
        new = after["tensors"][name]
        assert new.requires_grad == old.requires_grad, (
            f"requires_grad of the model's {name} was {old.requires_grad} and is {new.requires_grad} now."
        )
        assert (new.dtype, new.value) == (old.dtype, old.value), f"The model's {name} was changed."
        assert new.identity == old.identity, f"The model's {name} is another object now."
    assert after["attributes"] == before["attributes"], (
        "A module of the model has other submodules or attributes than before, a forward of its own, or "
        "another class."
    )


def assert_behaves(seen, expected):
    """The model does what the untouched one of the reference does."""
    assert not raised(seen, BaseException), "After your call the model can no longer be run and trained."
    message = "After your call the model computes something else than before."
    assert_close(seen["output"], expected["output"], message)
    message = "After your call the model's parameters get other gradients than before."
    assert_close(seen["gradients"], expected["gradients"], message)


# --- q1: make_weight


@inside
def some_shape():
    """A number of rows and a larger one of columns, which nobody knows before."""
    return [torch.randint(low, low + 9, ()).item() for low in (2, 12)]


@probe
def weight(student):
    """A weight as it comes out of the function, of a shape and a scale nobody knows before."""
    return student.make_weight(*some_shape(), 0.5 + torch.rand(()).item())


@probe
def next_weight(student):
    """Another weight of the same kind, after the first was written to, as by training."""
    shape = some_shape()
    student.make_weight(*shape, 0.5).detach().zero_()
    return student.make_weight(*shape, 0.5)


@probe
def trained_weight(student):
    """A step of SGD on the weight, and the backward of the next."""
    direction = torch.randn(3, 2)
    w = student.make_weight(3, 2, 0.1)
    start = w.detach().clone()
    optimizer = torch.optim.SGD([w], lr=1.0)
    (direction * w).sum().backward()
    grad = snap(w.grad)
    optimizer.step()
    moved = w.detach() - start
    optimizer.zero_grad()
    second = attempt(lambda: (direction * w).sum().backward())
    return {"w.grad": grad, "moved": moved, "second backward": second}


@points(2)
def test_weight_is_a_leaf(weight):
    """The weight is a leaf that requires grad.

    Print w.is_leaf and w.grad_fn. Which operation was recorded, and when was requires_grad switched on?
    """
    w = weight.seen
    assert w.requires_grad, "requires_grad is False: this tensor will never receive a gradient."
    assert w.is_leaf, (
        f"w is the result of {w.grad_fn}, not a leaf: its .grad stays None and optimizers refuse it."
    )


@points(1)
def test_weight_has_the_values(weight, next_weight):
    """Its values are those of the generator, times scale, in every call.

    Is the scaled tensor the one you return? And does every call begin with a generator of its own?
    """
    message = "The values are not randn(n, m) of a generator with seed 0, times scale."
    assert_close(weight.seen, weight.expected, message)
    message = "The first call gives the right values, the next call does not: something outlives the call."
    assert_close(next_weight.seen, next_weight.expected, message)


@points(2)
def test_weight_trains(trained_weight):
    """It trains: an optimizer takes it, moves it, and a second step works.

    What does the second backward still have to pass through?
    """
    seen, expected = trained_weight.seen, trained_weight.expected
    assert_close(seen["w.grad"], expected["w.grad"], "w.grad is not the gradient of the loss after backward.")
    assert_close(seen["moved"], expected["moved"], "The optimizer's step did not move w by its gradient.")
    assert seen["second backward"] is None, (
        "The second training step raises: w hangs on the operation that made it, and that graph is used up."
    )


@picture(reference=True)
def loss_of_the_weight(student):
    """The weight, and a loss that was computed from it."""
    w = student.make_weight(1, 2, 0.5)
    return graph(loss=w.sum(), w=w)


# --- q2: input_gradient


@inside
def small_network():
    """Two outputs, so that their sum is not their mean; and one parameter that somebody has frozen."""
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    model[0].bias.requires_grad_(False)
    return model


@probe
def image_gradient(student):
    """The gradient for a random image; image and model before and after, and what the model does then."""
    model, img, x = small_network(), torch.randn(4, dtype=torch.float64), torch.randn(2, 4)
    leaves = [p for p in model.parameters() if p.requires_grad]
    before, image = condition(model), snap(img)
    gradient = student.input_gradient(model, img)
    return {
        "gradient": gradient,
        "before": {"img": image, "model": before},
        "after": {"img": snap(img), "img.grad": snap(img.grad), "model": condition(model)},
        "behaviour": attempt(lambda: behaviour(model, x, leaves)),
    }


@probe
def gradients_of_parameters(student):
    """A model of which some parameters already have gradients, before and after the call."""
    model, img = small_network(), torch.randn(4, dtype=torch.float64)
    model(torch.randn(1, 4)).sum().backward()
    model[2].bias.grad = None
    before, image = [snap(p.grad) for p in model.parameters()], snap(img)
    gradient = student.input_gradient(model, img)
    after = [snap(p.grad) for p in model.parameters()]
    return {"img": image, "gradient": gradient, "before": before, "after": after}


def assert_gradient_came_back(gradient, img):
    """Something that can be a gradient, so that whoever does nothing is not praised for leaving no trace."""
    assert gradient is not None, "You returned None; this check counts once a gradient comes back."
    assert any(gradient.value or ()) and gradient.value != img.value, "What came back is no gradient."


@points(3)
def test_input_gradient_is_right(image_gradient):
    """The gradient belongs to the tensor the model saw: float32, of shape (1, N).

    On which tensor did you call requires_grad_(), and from which did you read .grad? .float() and .reshape()
    make new ones.
    """
    gradient, expected = image_gradient.seen["gradient"], image_gradient.expected["gradient"]
    assert gradient is not None, (
        "You returned None: the tensor whose .grad you read is not a leaf, it came out of .float() or "
        ".reshape()."
    )
    assert gradient.dtype == "torch.float32", (
        f"The dtype is {gradient.dtype}: that is the gradient of the tensor before the cast."
    )
    assert_close(gradient, expected, "This is not the gradient of model(x).sum() with respect to x.")


@points(2)
def test_parameters_keep_their_gradients(gradients_of_parameters):
    """The .grad of the model's parameters is what it was.

    Which leaves does backward() fill? torch.autograd.grad asks for exactly the gradients it returns.
    """
    seen = gradients_of_parameters.seen
    assert_gradient_came_back(seen["gradient"], seen["img"])
    for before, after in zip(seen["before"], seen["after"], strict=True):
        if before is None:
            assert after is None, (
                "A model parameter whose .grad was None has one now: your backward also reached the "
                "parameters, or you filled it."
            )
        else:
            assert after is not None, "The .grad of a model parameter is gone: you cleared it."
            assert after.value == before.value, (
                "The .grad of a model parameter changed: your backward also reached the parameters, or you "
                "cleared them. (backward() adds to a .grad in place: a second name for it changes along.)"
            )


@points(1)
def test_no_other_trace_is_left(image_gradient):
    """The caller's image and model are as they were.

    What did you switch on or off for your own use, and did you put back what you found?
    """
    seen = image_gradient.seen
    before, after = seen["before"], seen["after"]
    if all(tensor.grad is None for tensor in after["model"]["tensors"].values()):
        assert_gradient_came_back(seen["gradient"], before["img"])
    assert not after["img"].requires_grad, (
        "The caller's img was switched to requires_grad: work on a tensor of your own."
    )
    assert after["img.grad"] is None, "The caller's img has a .grad now: your backward ran on into it."
    assert after["img"].value == before["img"].value, "The values of the caller's img were changed."
    assert_same_model(before["model"], after["model"])
    assert_behaves(seen["behaviour"], image_gradient.expected["behaviour"])


@picture(reference=True)
def output_of_the_model(student):
    """What a model x + shift made of x, after your call: look where a .grad is."""
    calls = []

    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = nn.Parameter(torch.randn(1, 2))

        def forward(self, x):
            calls.append((x, x + self.shift))  # a sum saves nothing: no backward uses it up
            return calls[-1][1]

    model, img = Shift(), torch.randn(2, dtype=torch.float64)
    attempt(student.input_gradient, model, img)
    x, output = calls[-1]
    return graph(output=output, x=x, img=img, shift=model.shift)


# --- q3: all_grads


@inside
def three_leaves():
    """The leaves a, b and d, of three shapes that fit each other."""
    return [torch.randn(*shape, requires_grad=True) for shape in ((3, 1), (2,), (1,))]


@probe
def six_gradients(student):
    """All six gradients, for random a, b and d."""
    return student.all_grads(*three_leaves())


@probe
def warnings_of_grads(student):
    """The warnings the function causes, and the gradients for which it was called."""
    gradients, texts = warned(student.all_grads, *three_leaves())
    found = attempt(lambda: sum(gradient is not None for gradient in gradients.values()))
    return {"found": found, "texts": texts}


@points(2)
def test_gradients_of_non_leaves(six_gradients):
    """The gradients of c, e and o are there, and right.

    They are computed in every backward, but kept only where somebody asked before. What has to be called, and
    when?
    """
    seen, expected = six_gradients.seen, six_gradients.expected
    for name in "ceo":
        assert seen[name] is not None, (
            f"The gradient of {name} is None: {name} is not a leaf, and its gradient is kept only where "
            "somebody has asked for that before backward."
        )
        assert_close(seen[name], expected[name], f"The gradient of {name} is wrong.")


@points(2)
def test_gradients_of_leaves(six_gradients):
    """The gradients of a, b and d are there, exactly once.

    Follow the graph from o back to a. Is it cut somewhere, or passed twice?
    """
    seen, expected = six_gradients.seen, six_gradients.expected
    for name in "abd":
        assert seen[name] is not None, (
            f"The gradient of {name} is None. Was the graph between {name} and o cut?"
        )
        assert seen[name].shape == expected[name].shape, (
            f"The gradient of {name} has the shape {seen[name].shape}, and {name} itself has "
            f"{expected[name].shape}. A value that is broadcast is used several times: its gradient is a sum."
        )
        assert_close(
            seen[name],
            expected[name],
            f"The gradient of {name} is wrong; a multiple of the right one means several backward passes.",
        )


@points(1)
def test_no_warning(warnings_of_grads):
    """No .grad is read where torch warns that there is none.

    The warning names the attribute and the kind of tensor; here it is the subject.
    """
    seen = warnings_of_grads.seen
    assert not raised(seen["found"], BaseException), "No dictionary of gradients came back."
    assert seen["found"], "Not one gradient came back; that torch did not warn counts once some do."
    assert not any("not a leaf" in text for text in seen["texts"]), (
        "torch warned: you read .grad of a tensor that is not a leaf and does not retain its gradient."
    )


# --- q4: activation_grads


@inside
class Network(nn.Module):
    """Its layers lie deeper than its children, and run in another order than they are listed."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh())

    def forward(self, x):
        return self.head(self.body(x))


@probe
def layer_gradients(student):
    """The gradients of two layers of a network."""
    return student.activation_grads(Network(), torch.randn(2, 3), ["body.0", "body.1"])


@probe
def model_afterwards(student):
    """A network with hooks of somebody else's, before and after; and what it does then.

    The backward hook sits on a module that takes no part: torch.func cannot pass one that does.
    """
    model, x, calls = Network(), torch.randn(2, 3), []
    model.body[1].register_forward_hook(lambda module, inputs, output: calls.append(None))
    model.add_module("spare", nn.Linear(2, 2))
    model.spare.register_full_backward_hook(lambda module, before, after: None)
    model.head.weight.register_hook(lambda gradient: None)
    leaves, before = [*model.head.parameters(), *model.body.parameters()], condition(model)
    gradients = student.activation_grads(model, torch.randn(2, 3), ["body.0", "body.1"])
    after = condition(model)
    calls.clear()
    found = attempt(lambda: behaviour(model, x, leaves))
    return {
        "answered": list(gradients),
        "before": before,
        "after": after,
        "calls": len(calls),
        "behaviour": found,
    }


@probe
def early_layer(student):
    """The gradient of the first layer, asked for alone and together with those of the layers behind it."""
    model, x = Network(), torch.randn(2, 3)
    alone = student.activation_grads(model, x, ["body.0"])
    together = student.activation_grads(model, x, ["body.0", "body.1", "head"])
    return {"alone": alone["body.0"], "together": together["body.0"]}


@points(3)
def test_gradients_of_activations(layer_gradients):
    """Every name is answered with the gradient of that layer's output.

    Does the hook receive the tensor of the graph, or did you keep a detached copy? For a hook made in a loop:
    which name does it see when it runs?
    """
    seen, expected = layer_gradients.seen, layer_gradients.expected
    for name, gradient in expected.items():
        assert seen[name] is not None, (
            f"The gradient for layer {name} is None: the tensor you kept is detached, cloned, or not on the "
            "way to the loss."
        )
        assert_close(seen[name], gradient, f"For layer {name} this is not the gradient of its output.")


@points(1)
def test_hooks_are_removed(model_afterwards):
    """Afterwards the model is as it was: without your hooks, and with those of others.

    register_forward_hook returns a handle. Where do yours go?
    """
    seen = model_afterwards.seen
    assert set(seen["answered"]) & {"body.0", "body.1"}, (
        "No gradient of a layer came back; that no hook is left counts once one does."
    )
    assert seen["calls"] > 0, (
        "A hook which somebody else had registered is gone, or is not called any more: remove your own only."
    )
    assert_same_model(seen["before"], seen["after"])
    assert_behaves(seen["behaviour"], model_afterwards.expected["behaviour"])


@points(1)
def test_hooks_leave_the_path_intact(early_layer):
    """Asking for a later layer does not change the gradient of an earlier one.

    What a forward hook returns replaces the output.
    """
    seen, expected = early_layer.seen, early_layer.expected
    message = "Even asked for alone, the first layer does not get the gradient of its output."
    assert_close(seen["alone"], expected["alone"], message)
    assert seen["together"] is not None, (
        "With the layers behind it hooked, too, the first layer's gradient is None: a hook cut the graph."
    )
    message = "Hooking a later layer changed the gradient of the first: a hook replaced or changed something."
    assert_close(seen["together"], expected["together"], message)


# The reference's would show retain_grad(), which is the answer.
@picture
def outputs_of_two_layers(student):
    """The outputs of two layers, each x + shift, after your call: look which of them keep their gradient."""
    outputs = []

    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = nn.Parameter(torch.randn(1, 2))

        def forward(self, x):
            outputs.append(x + self.shift)  # a sum saves nothing: no backward uses it up
            return outputs[-1]

    model = nn.Sequential()
    model.add_module("first", Shift())
    model.add_module("second", Shift())
    attempt(student.activation_grads, model, torch.randn(1, 2), ["first", "second"])
    return graph(second_output=outputs[1], first_output=outputs[0], model=model)


# --- q5: total_loss


@inside
def three_losses(p):
    """Three losses that do not cancel each other, whatever p is."""
    return [p.cosh().sum(), (p**2).sum(), p.exp().sum()]


@inside
def three_weights():
    """Two that are equal and one that is negative: a bonus is a loss with a negative weight."""
    weight = 0.5 + torch.rand(()).item()
    return [weight, -0.1, weight]


@probe
def total_value(student):
    """The weighted sum of three losses; who takes the weights as an array of numpy's has it in float64."""
    total = student.total_loss(three_losses(torch.randn(4, requires_grad=True)), three_weights())
    return snap(total.float() if isinstance(total, torch.Tensor) else total)


@probe
def total_graph(student):
    """Where the graph of the sum ends, and what a backward through it brings to the parameter."""
    p = torch.randn(4, requires_grad=True)
    total = student.total_loss(three_losses(p), three_weights())
    return {
        "total": snap(total),
        "reaches": reaches(total, p),
        "p.grad": snap(p.grad),
        "gradient": attempt(lambda: vjp(total, p)[0]),
    }


@probe
def given_losses(student):
    """The losses and the weights of the caller, before and after."""
    losses, weights = three_losses(torch.randn(4, requires_grad=True)), three_weights()
    mine, numbers = list(losses), list(weights)
    before = [snap(loss) for loss in mine]
    student.total_loss(losses, weights)
    return {
        "before": before,
        "after": [snap(loss) for loss in mine],
        "same losses": [id(loss) for loss in losses] == [id(loss) for loss in mine],
        "same weights": weights == numbers,
    }


@points(1)
def test_total_has_the_value(total_value, given_losses):
    """The result is the weighted sum of the losses, and they and the lists stay as they are.

    Who else might want to look at a loss after you have added it up?
    """
    assert_close(total_value.seen, total_value.expected, "The value is not the weighted sum of the losses.")
    seen = given_losses.seen
    for before, after in zip(seen["before"], seen["after"], strict=True):
        assert after.value == before.value, "One of the caller's losses changed: your function wrote into it."
    for name in ("losses", "weights"):
        assert seen[f"same {name}"], f"The caller's list of {name} is not what it was before the call."


@points(2)
def test_total_reaches_the_parameters(total_graph):
    """The graph of the result ends in the parameters.

    Print total.grad_fn. torch.tensor(...) and .item() copy numbers; a copy has no history.
    """
    seen = total_graph.seen
    assert seen["total"].requires_grad, (
        "The loss does not require grad: .item(), .data, detach() or torch.tensor() made a mere number of it."
    )
    assert seen["reaches"], (
        "The loss has a graph of its own that ends before the parameters: torch.tensor() or detach() made a "
        "fresh leaf. There is no error, and no learning."
    )


@points(2)
def test_total_gradient(total_graph):
    """Its backward gives the parameters the gradient of the weighted sum, once."""
    gradient = total_graph.seen["gradient"]
    assert total_graph.seen["p.grad"] is None, (
        "Your function has already gone back to the parameters; the caller's backward() adds to that."
    )
    assert not raised(gradient, RuntimeError), "The result cannot be back-propagated: it has no graph."
    assert gradient is not None, "The parameters are not connected to the loss: backward brings them nothing."
    assert_close(gradient, total_graph.expected["gradient"], "The gradient is not that of the weighted sum.")


# The reference's would show the operations it is written with.
@picture
def total_of_two_losses(student):
    """The total of two losses, before its backward: where does its graph end?"""
    p = torch.randn((), requires_grad=True)
    first, second = 2 * p, p + 1
    total = student.total_loss([first, second], [0.5, -1.0])
    return graph(total=total, first=first, second=second, p=p)


# --- q6: weighted_backward


@probe
def weighted(student):
    """Losses of p, which has a gradient already, and weights that were computed from another parameter, q."""
    p, q = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    p.grad = torch.randn(3)
    losses, w = p**2 * torch.rand(3), q + torch.rand(3)  # a sum saves nothing: no backward uses it up
    before = {"p.grad": snap(p.grad), "losses": snap(losses), "w": snap(w)}
    student.weighted_backward(losses, w)
    return {
        "before": before,
        "p.grad": snap(p.grad),
        "q.grad": snap(q.grad),
        "losses": snap(losses),
        "w": snap(w),
        "freed": freed(losses.sum()),
        "losses reach p": reaches(losses, p),
        "gradient of w": attempt(lambda: vjp(w, q)[0]),
    }


def went_back(seen):
    """Whether something happened to p.grad."""
    return seen["p.grad"] is None or seen["p.grad"].value != seen["before"]["p.grad"].value


@points(3)
def test_weighted_gradient(weighted):
    """p.grad grows by the sum of the losses' gradients, each times its weight.

    A vector needs a direction: losses.backward(gradient=v) computes v^T J.
    """
    before, after = weighted.seen["before"]["p.grad"], weighted.seen["p.grad"]
    assert after is not None, "p.grad held the gradients of an earlier backward, and now it is None."
    assert after.value != before.value, (
        "Nothing was added to p.grad: the losses were cut off, or no backward went through them."
    )
    assert_close(
        after,
        weighted.expected["p.grad"],
        "p.grad is not what it held before, plus the sum of w_i times the gradient of loss i: the weights "
        "were ignored or rescaled, or what p.grad held was thrown away.",
    )


@points(1)
def test_weights_are_constants(weighted):
    """No gradient runs into the network that made the weights, and the caller's tensors stay as they are.

    detach() returns another tensor and leaves w alone. What does detach_() do to the network behind w?
    """
    seen = weighted.seen
    assert went_back(seen), "Nothing was added to p.grad; that w is left alone counts once something is."
    assert seen["q.grad"] is None, "The gradient also ran into the weights, which were to be constants."
    message = "The caller's w was cut off for good from the network that made it."
    assert_close(seen["gradient of w"], weighted.expected["gradient of w"], message)
    assert seen["losses reach p"], "The caller's losses were cut off from the parameters behind them."
    for name in ("w", "losses"):
        same = seen[name].value == seen["before"][name].value
        assert same, f"The values of the caller's {name} were changed."


@points(1)
def test_graph_is_freed(weighted):
    """Afterwards the graph is used up; nothing keeps its saved tensors."""
    seen = weighted.seen
    assert seen["freed"] or went_back(seen), (
        "The graph of the losses is as it was: no backward went through it."
    )
    assert seen["freed"], (
        "The saved tensors are still held: was the last backward told to retain_graph or to create_graph?"
    )


@picture(reference=True)
def leaves_after_a_weighted_backward(student):
    """The losses of p and the weights, computed from q, after your call: look where a .grad is."""
    p, q = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    losses, w = p**2, q + 1
    attempt(student.weighted_backward, losses, w)
    return graph(losses=losses, p=p, w=w, q=q)
