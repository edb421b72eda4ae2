"""The hidden checks of 01_leaves: who is a leaf, and where .grad lands."""

from grader import assert_close, points, probe, raised
from grader.inside import attempt, freed, inside, nn, reaches, snap, torch, vjp, warned

# --- q1: make_weight


@probe
def weight(student):
    """A weight as it comes out of the function, of a scale nobody knows before."""
    return student.make_weight(2, 3, 0.5 + torch.rand(()).item())


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
    return {"w.grad": grad, "moved": moved, "second backward": attempt(lambda: (direction * w).sum().backward())}


@points(2)
def test_weight_is_a_leaf(weight):
    """The weight is a leaf that requires grad.

    Print w.is_leaf and w.grad_fn. Which operation was recorded, and when was requires_grad switched on?"""
    w = weight.seen
    assert w.requires_grad, "requires_grad is False: this tensor will never receive a gradient."
    assert w.is_leaf, f"w is the result of {w.grad_fn}, not a leaf: its .grad stays None and optimizers refuse it."


@points(1)
def test_weight_has_the_values(weight):
    """Its values are those of the generator, times scale.

    Is the scaled tensor the one you return?"""
    assert_close(weight.seen, weight.expected, "The values are not randn(n, m) of the generator with seed 0, times scale.")


@points(2)
def test_weight_trains(trained_weight):
    """It trains: an optimizer takes it, moves it, and a second step works.

    What does the second backward still have to pass through?"""
    seen, expected = trained_weight.seen, trained_weight.expected
    assert_close(seen["w.grad"], expected["w.grad"], "w.grad is not the gradient of the loss after backward.")
    assert_close(seen["moved"], expected["moved"], "The optimizer's step did not move w by its gradient.")
    assert seen["second backward"] is None, (
        "The second training step raises: w still hangs on the operation that made it, and that graph is used up."
    )


# --- q2: input_gradient


@inside
def small_network():
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))


@probe
def image_gradient(student):
    """The gradient for a random image, and the image before and after."""
    model, img = small_network(), torch.randn(4, dtype=torch.float64)
    before = snap(img)
    return {"gradient": student.input_gradient(model, img), "before": before, "img": snap(img)}


@probe
def gradients_of_parameters(student):
    """A model that already has gradients, before and after the call."""
    model, img = small_network(), torch.randn(4, dtype=torch.float64)
    model(torch.randn(1, 4)).sum().backward()
    before = [snap(p.grad) for p in model.parameters()]
    student.input_gradient(model, img)
    return {"before": before, "after": [snap(p.grad) for p in model.parameters()]}


@points(3)
def test_input_gradient_is_right(image_gradient):
    """The gradient belongs to the tensor the model saw: float32, of shape (1, N).

    On which tensor did you call requires_grad_(), and from which did you read .grad? .float() and .reshape() make new ones."""
    gradient, expected = image_gradient.seen["gradient"], image_gradient.expected["gradient"]
    assert gradient is not None, (
        "You returned None: the tensor whose .grad you read is not a leaf, it came out of .float() or .reshape()."
    )
    assert gradient.dtype == "torch.float32", (
        f"The dtype is {gradient.dtype}: that is the gradient of the tensor before the cast."
    )
    assert_close(gradient, expected, "This is not the gradient of model(x).sum() with respect to x.")


@points(2)
def test_parameters_keep_their_gradients(gradients_of_parameters):
    """The .grad of the model's parameters is what it was.

    Which leaves does backward() fill? torch.autograd.grad asks for exactly the gradients it returns."""
    seen = gradients_of_parameters.seen
    for before, after in zip(seen["before"], seen["after"], strict=True):
        assert after is not None and after.value == before.value, (
            "The .grad of a model parameter changed: your backward also reached the parameters, or you cleared them."
        )


@points(1)
def test_image_is_untouched(image_gradient):
    """The caller's image is neither changed nor made to require grad."""
    before, img = image_gradient.seen["before"], image_gradient.seen["img"]
    assert not img.requires_grad, "The caller's img was switched to requires_grad: work on a tensor of your own."
    assert img.value == before.value, "The values of the caller's img were changed."


# --- q3: all_grads


@inside
def three_leaves():
    return [torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True), torch.randn(1, requires_grad=True)]


@probe
def six_gradients(student):
    """All six gradients, for random a, b and d."""
    return student.all_grads(*three_leaves())


@probe
def warnings_of_grads(student):
    """The warnings the function causes."""
    _, texts = warned(student.all_grads, *three_leaves())
    return texts


@points(2)
def test_gradients_of_non_leaves(six_gradients):
    """The gradients of c, e and o are there, and right.

    They are computed in every backward, but kept only where somebody asked before. What has to be called, and when?"""
    seen, expected = six_gradients.seen, six_gradients.expected
    for name in "ceo":
        assert seen[name] is not None, (
            f"The gradient of {name} is None: {name} is not a leaf, and nobody asked autograd before backward to keep its gradient."
        )
        assert_close(seen[name], expected[name], f"The gradient of {name} is wrong.")


@points(2)
def test_gradients_of_leaves(six_gradients):
    """The gradients of a, b and d are there, exactly once.

    Follow the graph from o back to a. Is it cut somewhere, or passed twice?"""
    seen, expected = six_gradients.seen, six_gradients.expected
    for name in "abd":
        assert seen[name] is not None, f"The gradient of {name} is None: the graph between {name} and o was cut."
        assert_close(
            seen[name],
            expected[name],
            f"The gradient of {name} is wrong; a multiple of the true value means that backward ran several times.",
        )


@points(1)
def test_no_warning(warnings_of_grads):
    """No .grad is read where torch warns that there is none.

    The warning names the attribute and the kind of tensor; here it is the subject."""
    assert not any("not a leaf" in text for text in warnings_of_grads.seen), (
        "torch warned: you read .grad of a tensor that is not a leaf and does not retain its gradient."
    )


# --- q4: activation_grads


@inside
def hooks_of(model):
    tables = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(module, table)) for module in model.modules() for table in tables)


@inside
def hooked_call(student, names):
    """A network of three layers, and what is left on it after asking for the gradients of some."""
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), torch.randn(2, 3)
    return {"gradients": student.activation_grads(model, x, names), "hooks": hooks_of(model)}


@probe(question="q4")
def two_hooked(student):
    """The outputs of the first two layers."""
    return hooked_call(student, ["0", "1"])


@probe(question="q4")
def all_hooked(student):
    """The outputs of every layer: a hook that replaces an output cuts off the layers before it."""
    return hooked_call(student, ["0", "1", "2"])


@points(3)
def test_gradients_of_activations(two_hooked):
    """Every name is answered with the gradient of that layer's output.

    Does the hook receive the tensor of the graph, or did you keep a detached copy? For a hook made in a loop: which name does it see when it runs?"""
    seen, expected = two_hooked.seen["gradients"], two_hooked.expected["gradients"]
    for name, gradient in expected.items():
        assert seen[name] is not None, (
            f"The gradient for layer {name} is None: the tensor you kept is detached, cloned, or not on the way to the loss."
        )
        assert_close(seen[name], gradient, f"For layer {name} this is not the gradient of its output.")


@points(1)
def test_hooks_are_removed(two_hooked):
    """Afterwards the model has no hook that it did not have before.

    register_forward_hook returns a handle. Where do yours go?"""
    assert two_hooked.seen["hooks"] == 0, (
        f"{two_hooked.seen['hooks']} of your hooks are still registered: every later forward keeps calling them."
    )


@points(1)
def test_hooks_leave_the_path_intact(all_hooked):
    """Asking for a later layer does not change the gradient of an earlier one.

    What a forward hook returns replaces the output."""
    seen, expected = all_hooked.seen["gradients"], all_hooked.expected["gradients"]
    assert seen["0"] is not None, "With every layer hooked, the first gradient is None: a hook cut the graph."
    assert_close(seen["0"], expected["0"], "Hooking a later layer changed the gradient of the first: a hook replaced its output.")


# --- q5: total_loss


@inside
def three_losses(p):
    return [(p * 2).sum(), (p**2).sum(), p.exp().sum()]


@probe
def total_value(student):
    """The weighted sum of three losses."""
    weights = torch.rand(3).tolist()
    return snap(student.total_loss(three_losses(torch.randn(2, requires_grad=True)), weights))


@probe
def total_graph(student):
    """Where the graph of the sum ends, and what a backward through it brings to the parameter."""
    weights = torch.rand(3).tolist()
    p = torch.randn(2, requires_grad=True)
    total = student.total_loss(three_losses(p), weights)
    return {"total": snap(total), "reaches": reaches(total, p), "gradient": attempt(lambda: vjp(total, p)[0])}


@points(1)
def test_total_has_the_value(total_value):
    """The result is the weighted sum of the losses."""
    assert_close(total_value.seen, total_value.expected, "The value is not the weighted sum of the losses.")


@points(2)
def test_total_reaches_the_parameters(total_graph):
    """The graph of the result ends in the parameters.

    Print total.grad_fn. torch.tensor(...) and .item() copy numbers; a copy has no history."""
    seen = total_graph.seen
    assert seen["total"].requires_grad, (
        "The loss does not require grad: .item(), .data or torch.tensor() turned it into a number."
    )
    assert seen["reaches"], (
        "The loss has a graph of its own that ends before the parameters: torch.tensor() or detach() made a fresh leaf. "
        "There is no error, and no learning."
    )


@points(2)
def test_total_gradient(total_graph):
    """Its backward gives the parameters the gradient of the weighted sum."""
    gradient = total_graph.seen["gradient"]
    assert not raised(gradient, RuntimeError), "The result cannot be back-propagated: it has no graph."
    assert gradient is not None, "The parameters are not connected to the loss: backward brings them nothing."
    assert_close(gradient, total_graph.expected["gradient"], "The gradient is not that of the weighted sum.")


# --- q6: weighted_backward


@probe
def weighted(student):
    """A vector of losses of p, weights that come from another network with the parameter q."""
    p, q = torch.randn(3, requires_grad=True), torch.rand(3, requires_grad=True)
    losses, w = p**2 * torch.rand(3), q * 2
    student.weighted_backward(losses, w)
    return {"p.grad": snap(p.grad), "q.grad": snap(q.grad), "freed": freed(losses.sum())}


@points(3)
def test_weighted_gradient(weighted):
    """p.grad is the sum of the losses' gradients, each times its weight.

    A vector needs a direction: losses.backward(gradient=v) computes v^T J."""
    assert weighted.seen["p.grad"] is not None, "p.grad is None: the losses were cut off before backward."
    assert_close(
        weighted.seen["p.grad"],
        weighted.expected["p.grad"],
        "p.grad is not the sum of w_i times the gradient of loss i: the weights were ignored, or normalised away.",
    )


@points(1)
def test_weights_are_constants(weighted):
    """No gradient runs into the network that made the weights."""
    assert weighted.seen["q.grad"] is None, "The gradient also ran into the weights, which were to be constants."


@points(1)
def test_graph_is_freed(weighted):
    """Afterwards the graph is used up; nothing keeps its saved tensors."""
    assert weighted.seen["freed"], "The saved tensors are still held: was the last backward told to retain_graph?"
