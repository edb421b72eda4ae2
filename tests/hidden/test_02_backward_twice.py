"""The hidden checks of 02_backward_twice: what a backward frees, adds to, and leaves waiting."""

from inside import MixedModel, count, sizes, with_gaps

from grader import (
    assert_changed,
    assert_close,
    assert_gradients,
    assert_runs,
    assert_untouched,
    assert_updates,
    blaming_changes,
    cases,
    is_close,
    picture,
    points,
    probe,
    raised,
)
from grader.inside import (
    F,
    alive,
    attempt,
    freed,
    gradients,
    graph,
    inside,
    mark,
    nn,
    reaches,
    saved,
    snap,
    spy,
    torch,
    untouched,
    updates,
    vjp,
)


@inside
def trained_model(inputs, outputs):
    """A model of every part whose parameters all require grad; one is tied, two parts are in eval mode."""
    model = MixedModel(inputs, outputs)
    model.embed.bias.requires_grad_(True)
    return model


# --- q1: backward_both


@inside
class Scaled(nn.Module):
    """A trunk that computes its scales from a parameter alone: on that way the graph leads to no x."""

    def __init__(self, outputs):
        super().__init__()
        scales = []
        self.logs, self.keep, self.last = nn.Parameter(torch.randn(outputs)), scales.append, scales.pop

    def forward(self, x):
        scales = self.logs.exp()
        self.keep(scales)
        return x.tanh() * scales


@inside
def gone_back(student, trunk, x):
    """What comes back and what arrives; which gradients may be mistaken for it; and what still waits."""
    t, held = trunk(x), snap(x.grad)
    of_d, of_e = (torch.autograd.grad(s, x, retain_graph=True)[0] for s in (t.mean(), t.sum()))
    del t
    calls = spy(trunk)
    with untouched(x=x, trunk=trunk) as kept:
        d, e = student.backward_both(trunk, x)
    number = len(calls)
    waiting, aside = {"d": d, "e": e, "x.grad": x.grad}, []
    if isinstance(trunk, Scaled) and not freed(trunk.last()):
        aside = [name for name, s in waiting.items() if reaches(s, trunk.logs)]
    return {
        "d": snap(d),
        "e": snap(e),
        "x.grad": snap(x.grad),
        "calls": number,
        "kept": kept,
        "waiting": [name for name, s in waiting.items() if reaches(s, x) and not freed(s)],
        "waiting aside": aside,
        "history": x.grad is not None and x.grad.requires_grad,
        "held": held,
        "of d": of_d,
        "of e": of_e,
    }


@probe
def both(student):
    """Trunks of every kind; x with and without a .grad; and a second call with other values in the same x."""
    rows, inputs, outputs = sizes(3)
    trunk, small = MixedModel(inputs, outputs).double(), nn.Sequential(nn.Linear(inputs, 1), nn.Tanh())
    x = torch.randn(rows, inputs, dtype=torch.float64, requires_grad=True)
    first, later, grads = (
        with_gaps(3 * torch.randn(rows, inputs)),
        torch.randn_like(x),
        torch.randn(2, rows, inputs),
    )
    first.requires_grad_().grad = 10 * grads[0]
    found = {"": attempt(gone_back, student, trunk, x)}
    with torch.no_grad():
        x.copy_(later)
    x.grad = grads[1].double()
    found["In a second call, with other values in x and something in x.grad"] = attempt(
        gone_back, student, trunk, x
    )
    found["With an x that is not contiguous and something in x.grad"] = attempt(
        gone_back, student, small, first
    )
    x = torch.randn(rows, outputs, requires_grad=True)
    found["With a trunk that scales by exp() of its parameter"] = attempt(
        gone_back, student, Scaled(outputs), x
    )
    return found


ARRIVING = ["x:grad", "trunk.*:grad"]


def gone(case):
    """What was seen of a case, if its call came to an end and something arrived in x.grad."""
    assert_runs(case.seen, "Your function stops")
    nothing = (
        "x.grad is what it was before: nothing arrived there.\n\nFrom which tensor does your backward begin?"
    )
    assert_changed(case.seen["kept"], nothing, only=["x:grad"])
    return case.seen


@points(2)
def test_both_gradients_arrive(both):
    """The gradients of d and of e are added to what x.grad holds.

    Which of the three does x.grad hold now: what was there before, the gradient of d, the gradient of e?
    """
    for case in cases(both):
        seen, right = gone(case), case.expected
        others = {"the gradient of d": right["of d"], "the gradient of e": right["of e"]}
        if right["held"] is not None:
            others["what it held before"] = right["held"]
        with blaming_changes(seen["kept"], but=ARRIVING):
            told = "x.grad is not what it held before, with the gradients of d and e added."
            assert seen["x.grad"] is not None, "x.grad held something and is None now."
            assert_close(seen["x.grad"], right["x.grad"], told, others)


@points(1)
def test_the_trunk_is_called_once(both):
    """One call of the trunk gives both d and e.

    Where does each of your two scalars come from?
    """
    for case in cases(both):
        seen = gone(case)
        assert seen["calls"] == 1, f"The trunk was called {seen['calls']} times."
        others = {"d": case.expected["d"], "e": case.expected["e"]}
        with blaming_changes(seen["kept"], but=ARRIVING):
            for name in "de":
                assert_close(*case[name], f"The value of {name} is wrong.", others)


@points(2)
def test_nothing_waits_for_another_backward(both):
    """What the trunk saved is freed, and all else stays as it is.

    Which of your backward passes is the last? Is anything of the graph needed after it?
    """
    for case in cases(both):
        seen = gone(case)
        assert_untouched(
            seen["kept"], but=ARRIVING, hint="What did the caller give you, and who uses it next?"
        )
        names, history = " and ".join(seen["waiting"]), "x.grad has a history: it holds a graph of its own."
        assert not seen["history"], f"{history}\n\nWhich argument of backward() records the backward itself?"
        assert not seen["waiting"], (
            f"Another backward from {names} would still go through: all that the trunk saved is held."
        )
        names = " and ".join(seen["waiting aside"])
        assert not seen["waiting aside"], (
            f"What the trunk saved on the way to its own parameter is still held by {names}: no backward has "
            "passed there.\n\nWhich way does a backward take if you name the inputs?"
        )


@picture
def two_losses_after_the_call(student):
    """The scalars d and e after your call, of the trunk x**2 * 2: what is still saved for a backward?"""
    x = torch.randn(2, requires_grad=True)
    d, e = student.backward_both(lambda v: v**2 * 2, x)
    return graph(d=d, e=e, x=x)


# --- q2: task_grad_norms


@inside
def tasks(dtype):
    """Losses and all of their leaves: one loss is large, one tiny, one stands twice, two have one value.

    The first leaf has no .grad; no loss depends on all of them, and one on the last alone. Autograd returns
    one tensor as the gradients of v and of gain, and a gradient of w that is not contiguous.
    """
    rows, inputs, outputs = sizes(3)
    x, slope = torch.randn(rows, inputs, dtype=dtype), torch.randn(outputs, dtype=dtype)
    w, v, gain = (torch.randn(shape, dtype=dtype) for shape in ((inputs, outputs), (outputs,), (outputs,)))
    scale, shift = torch.randn((), dtype=dtype), torch.randn(count(2, 4), dtype=dtype)
    params = [t.requires_grad_() for t in (w, v, gain, scale, shift)]
    for param in params[1:]:
        param.grad = torch.randn_like(param)
    trunk = torch.tanh(x @ w)
    large, tiny = 50 * (trunk @ v).pow(2).sum(), 1e-3 * shift.exp().sum()
    alike = [(trunk * trunk).sum(), (trunk * trunk.detach()).sum()]
    shared = (3 * slope * (v + gain)).sum()
    turned = (w.t() * torch.randn(outputs, inputs, dtype=dtype)).sum()
    more = [((n + scale) * trunk.mean()).exp() for n in range(count(1, 3))]
    return [large, tiny, *alike, tiny, shared, turned, *more], params


@inside
def all_tasks():
    """Lists of losses: several, a single one, and several of float64."""
    losses, params = tasks(torch.float32)
    single, its_params = tasks(torch.float32)
    return {
        "": (losses, params),
        "With one loss in the list": (single[:1], its_params[:2]),
        "With float64": tasks(torch.float64),
    }


@probe(cases=all_tasks)
def norms_returned(student, losses, params):
    """The numbers, those of a second call with the list the other way round, and which gradients coincide."""

    def is_one_tensor(loss):
        given = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        places = [id(gradient) for gradient in given if gradient is not None]
        return len({*places}) < len(places)

    one_tensor = [is_one_tensor(loss) for loss in losses]

    def called(losses):
        norms = student.task_grad_norms(losses, params)
        return [float(n) if isinstance(n, float) else n for n in norms] if isinstance(norms, list) else norms

    return {
        "first": called([*losses]),
        "second": attempt(called, losses[::-1]),
        "one tensor": one_tensor,
    }


@probe(cases=all_tasks)
def measured_twice(student, losses, params):
    """What two measurements leave behind, and whether the training goes on after them."""

    def twice():
        found = [student.task_grad_norms([*losses], params) for _ in range(2)]
        return [float(n) > 0 for norms in found for n in norms]

    grads = [param.grad for param in params]
    with untouched(losses=losses, params=params) as kept:
        result = attempt(twice)
    same = [param.grad is grad for param, grad in zip(params, grads, strict=True)]
    back = gradients(lambda: sum(losses), params=params)
    return {"result": result, "kept": kept, "same": same, "back": back}


def measurements(measured_twice):
    """The cases, if something was measured: who does nothing is not praised for harming nobody."""
    for case in cases(measured_twice):
        result = case.seen["result"]
        assert_runs(result, "Two measurements were not made")
        assert any(result), "None of your numbers is positive: nothing was measured."
        yield case


@points(2)
def test_norms_are_of_one_loss_each(norms_returned):
    """Each number is the L2 norm of the gradient of one loss with respect to all parameters."""
    hints = {
        "first": "To which parameters does its gradient go, and how do their squares come together?",
        "second": "What does your function remember of the call before?",
        "one tensor": "Autograd returns one tensor as the gradients of two parameters here. What has become "
        "of it when you use it for the second of them?",
    }
    for case in cases(norms_returned):
        for call in ("first", "second"):
            norms, rights = case[call]
            where = "" if call == "first" else " in a second call with the list the other way round"
            assert_runs(norms, "A second call stops")
            assert isinstance(norms, list), f"A {type(norms).__name__} came back, not a list."
            assert len(norms) == len(rights), f"{len(norms)} numbers came back for {len(rights)} losses."
            others = {f"the norm of losses[{place}]": right for place, right in enumerate(rights)}
            for place, (norm, right) in enumerate(zip(norms, rights, strict=True)):
                is_one = call == "first" and case.expected["one tensor"][place]
                hint = hints["one tensor" if is_one else call]
                told = f"The norm of losses[{place}]{where} is wrong.\n\n{hint}"
                assert_close(
                    norm, right, told, {name: other for name, other in others.items() if other != right}
                )


@points(2)
def test_no_grad_changes(measured_twice):
    """Parameters, losses and every .grad are what they were."""
    hint = "Which of your lines writes to a .grad, or to something else that is not yours?"
    for case in measurements(measured_twice):
        assert_untouched(case.seen["kept"], hint=hint)
        others = [f"params[{place}].grad" for place, is_same in enumerate(case.seen["same"]) if not is_same]
        assert not others, (
            f"{others[0]} is another tensor of the same values now. Code that holds the old tensor no longer "
            "sees what arrives in .grad.\n\nDo you need a copy of it?"
        )


@points(2)
def test_training_goes_on(measured_twice):
    """After two measurements, the sum of the losses goes back and brings the right gradients."""
    freed_by = (
        "A backward of yours was the last through it, and freed what the caller needs.\n\nWhich of yours?"
    )
    for case in measurements(measured_twice):
        assert_gradients(*case["back"], of="the sum of the losses", because={"freed": freed_by})


@picture(reference=True)
def after_a_measurement(student):
    """Two losses after your measurement: can a training still go back through them, and is a .grad filled?"""
    w, v = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    loss1, loss2 = (w**2).sum(), (w**2 * v).sum()
    attempt(student.task_grad_norms, [loss1, loss2], [w, v])
    return graph(loss1=loss1, loss2=loss2, w=w, v=v)


# --- q3: two_updates


@inside
def problems():
    """Nets of every kind with their optimizers; something stands in most .grad before."""

    def problem(net, optimizer, rows, inputs, outputs, **options):
        net = net.double()
        for parameter in [*net.parameters()][:-1]:
            parameter.grad = 10 * torch.randn_like(parameter)
        x, y1 = torch.randn(rows, inputs).double(), 3 + torch.randn(rows, outputs).double()
        return net, optimizer(net.parameters(), **options), x, y1, 5 * torch.randn(rows, outputs).double() - 4

    rows, a, b = sizes(3)
    hidden = a + b
    deep = nn.Sequential(nn.Linear(a, hidden), nn.Tanh(), nn.Linear(hidden, b))
    return {
        "": problem(deep, torch.optim.SGD, rows, a, b, lr=0.05),
        "With a net of one layer": problem(nn.Linear(a, b), torch.optim.SGD, rows, a, b, lr=0.1),
        "With momentum and weight decay": problem(
            trained_model(a, b), torch.optim.SGD, rows, a, b, lr=0.02, momentum=0.9, weight_decay=0.1
        ),
        "With Adam": problem(trained_model(b, a), torch.optim.Adam, rows, b, a, lr=0.1, eps=1.0),
    }


@probe(cases=problems)
def updated(student, net, opt, x, y1, y2):
    """What opt is given in two updates, and the gradient of the second loss at the weights before both."""
    stale = torch.autograd.grad(F.mse_loss(net(x), y2), [*net.parameters()])
    old = torch.cat([gradient.flatten() for gradient in stale])
    with updates(opt, net=net) as made, untouched(net=net, opt=opt, x=x, y1=y1, y2=y2) as kept:
        student.two_updates(net, opt, x, y1, y2)
    return {"made": made, "kept": kept, "old": old}


@probe(cases=problems)
def losses_returned(student, net, opt, x, y1, y2):
    """The losses of two calls, and what the second loss is before any update."""
    old = F.mse_loss(net(x), y2).item()

    def called():
        losses = [*student.two_updates(net, opt, x, y1, y2)]
        return [float(loss) if isinstance(loss, float) else loss for loss in losses]

    calls = spy(net)
    with untouched(net=net, opt=opt) as kept:
        first, number = called(), len(calls)
    return {"first": first, "second": attempt(called), "old": old, "calls": number, "kept": kept}


LEARNED = ["net.*:value", "net.*:version", "net.*:grad"]
SWITCHES = ["*:training", "*:requires_grad"]


@points(2)
def test_each_update_has_its_own_gradient(updated):
    """Each step is given the gradient of its own loss, at the weights that it starts from."""
    for case in cases(updated):
        made, right = case["made"]
        if len(made["steps"]) == len(right["steps"]) == 2:
            second = made["steps"][1]["gradient"]
            assert second is None or not is_close(second, case.expected["old"]), (
                "The second step was given the gradient of the second loss at the weights before the first "
                "step: it does not know that the weights moved.\n\nWhen is net called for the second loss?"
            )
        hint = "Of which losses are the gradients in .grad when the step is made, and are these means?"
        with blaming_changes(case.seen["kept"], only=SWITCHES):
            assert_updates(made, right, each="update", hint=hint)


@points(2)
def test_losses_before_their_updates(losses_returned):
    """Both losses come back as Python floats, each from the one call of net that its update starts from.

    Of which prediction and of which target is each loss, at which weights, and is it a mean?
    """
    for case in cases(losses_returned):
        for call, where in (("first", ""), ("second", " in a second call")):
            losses, rights = case[call]
            assert_runs(losses, "A second call stops")
            assert len(losses) == len(rights), f"{len(losses)} losses came back."
            others = {"the first loss": rights[0], "the second loss": rights[1]}
            if call == "first":
                others["the second loss before any update"] = case.expected["old"]
            for name, loss, right in zip(("first", "second"), losses, rights, strict=True):
                with blaming_changes(case.seen["kept"], only=[*SWITCHES, "opt.param_groups"]):
                    assert_close(loss, right, f"The {name} loss{where} is wrong.", others)
        number = case.seen["calls"]
        assert number == 2, (
            f"net was called {number} times for two updates.\n\nWhat is each of your calls for? (A batch "
            "norm in training mode remembers each of them, and dropout computes another result each time.)"
        )


@points(1)
def test_only_the_parameters_move(updated):
    """Only the parameters, their .grad and the memory of opt change."""
    hint = "What did the caller give you, and who uses it next?"
    for case in cases(updated):
        assert_changed(case.seen["kept"], "No parameter of net has moved.", only=["net.*:value"])
        assert_untouched(case.seen["kept"], but=[*LEARNED, "opt.state"], hint=hint)


@picture
def prediction_of_the_second_loss(student):
    """What net computed in its last call: is its graph used up, and which weights has it saved?"""
    outputs = []

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w1, self.w2 = nn.Parameter(torch.randn(1, 1)), nn.Parameter(torch.randn(1, 1))

        def forward(self, x):
            outputs.append(torch.tanh(x @ self.w1) @ self.w2)
            return outputs[-1]

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    attempt(student.two_updates, net, opt, torch.randn(2, 1), torch.randn(2, 1), torch.randn(2, 1))
    return graph(prediction=outputs[-1], w1=net.w1, w2=net.w2)


# --- q4: ContentLoss


@inside
def contents():
    """Leaves behind a target, images and weights: of float32 and float64; the weight 1 and a negative one.

    The target has entries of either sign, large and small.
    """

    def problem(weight, shape, dtype=None):
        source, image = torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
        source.view(-1)[0], image.view(-1)[1] = -3.0, -4.0
        return source.requires_grad_(), image.requires_grad_(), weight

    a, b, c = sizes(3)
    return {
        "": problem(1.5 + torch.rand(()).item(), (a, b)),
        "With weight 1": problem(1.0, (b, c, a)),
        "With a negative weight and float64": problem(-0.3, (c, a), torch.float64),
    }


@probe(cases=contents)
def content_losses(student, source, image, weight):
    """A loss of a target with a history: where it goes back to, and what becomes of the target."""
    target = source**3
    with untouched(target=target) as kept:
        module = student.ContentLoss(target, weight)
        attempt(module, image)
    loss = module.loss
    return {
        "loss": snap(loss),
        "back": gradients(loss, image=image),
        "to the source": reaches(loss, source),
        "trained": sum(parameter.requires_grad for parameter in module.parameters()),
        "kept": kept,
        "of the target": gradients(target, source=source),
    }


@probe(cases=contents)
def overwritten(student, source, image, weight):
    """The losses after the target was overwritten: by an in-place relu, and behind autograd's back."""
    target = source.detach() ** 3
    module = student.ContentLoss(target, weight)
    other = student.ContentLoss(-target, weight)
    module(image)
    found = {"before anything is overwritten": snap(module.loss)}
    module(image)
    found["at a second use"] = snap(module.loss)
    late = student.ContentLoss(target, weight)
    F.relu(target, inplace=True)
    attempt(late, image)
    found["at its first use after an in-place relu"] = attempt(lambda: snap(late.loss))
    module(image)
    found["after an in-place relu"] = snap(module.loss)
    target.data.fill_(9.0)
    attempt(other, image)
    module(image)
    found["after target.data was filled"] = snap(module.loss)
    found["after another module was used"] = snap(module.loss)
    return found


@probe(cases=contents)
def passed(student, source, image, weight):
    """What forward gives back, and where a gradient goes; and the loss, after that was overwritten."""
    module = student.ContentLoss(source.detach() ** 3, weight)
    h = 1.5 * image
    with untouched(input=h) as kept:
        out = module(h)
    found = {"output": snap(out), "through": attempt(vjp, out, image), "kept": kept}
    attempt(F.relu, out, inplace=True)
    return found | {"loss": gradients(module.loss, image=image)}


@probe
def optimised(student):
    """An image that is trained through two layers with in-place relus: where each iteration leads."""
    rows, inputs, hidden, outputs = sizes(4)
    first, second = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
    x, image = torch.randn(rows, inputs), torch.randn(rows, inputs, requires_grad=True)
    opt, iterations = torch.optim.SGD([image], lr=0.3), count(3, 5)
    weights = (1 + torch.rand(2)).tolist()
    a = first(x)
    one = student.ContentLoss(a, weights[0])
    b = second(F.relu(one(a), inplace=True))
    two = student.ContentLoss(b, weights[1])
    net = nn.Sequential(first, one, nn.ReLU(inplace=True), second, two, nn.ReLU(inplace=True))
    images = []

    def iterate():
        for _ in range(iterations):
            opt.zero_grad()
            net(image)
            sum(module.loss for module in (one, two)).backward()
            opt.step()
            images.append(snap(image))

    return {"stopped": attempt(iterate), "images": images}


@points(2)
def test_target_is_a_constant(content_losses):
    """No gradient goes into the network behind the target, and the caller's target stays as it is."""
    hint = "What does the module keep of the target: its values, or also how it was computed?"
    for case in cases(content_losses):
        seen = case.seen
        back = "The loss leads back into the network that has computed the target."
        assert not seen["to the source"], f"{back}\n\n{hint}"
        number = seen["trained"]
        assert not number, (
            f"The module has {number} parameter that requires grad: an optimizer would move the constant."
        )
        assert_close(*case["loss"], "The loss is not mse_loss(input * weight, target * weight).")
        assert_gradients(*case["back"], of="the loss")
        assert_untouched(seen["kept"], hint="Does your module work on the caller's target itself?")
        assert_gradients(*case["of the target"], of="the caller's target")


@points(1)
def test_constant_has_memory_of_its_own(overwritten):
    """The loss does not change when the caller's target is overwritten."""
    hint = "\n\ndetach() shares memory. Which of your lines makes memory of its own?"
    for case in cases(overwritten):
        for when, (seen, right) in ((when, case[when]) for when in case.expected):
            asked = hint if "relu" in when or "filled" in when else ""
            assert_close(seen, right, f"The loss is wrong {when}.{asked}")


@points(1)
def test_input_passes_unchanged(passed):
    """The input passes with its gradient, and the loss survives that what came out is overwritten."""
    because = {
        "overwritten": "What forward gave back was overwritten, as by an in-place relu; your loss needs the "
        "old values.\n\nWhich tensor do the operations of your loss save: their own, or the caller's?"
    }
    for case in cases(passed):
        assert_close(*case["output"], "What forward gave back does not have the values of its input.")
        cut = "What forward gave back is cut off from its input: a loss further on would not reach the image."
        assert not raised(case.seen["through"], BaseException), f"{cut}\n\nWhat is its grad_fn?"
        told = "A gradient that arrives at what forward gave back does not go on to the input as it is."
        assert_close(*case["through"], told)
        assert_untouched(case.seen["kept"])
        when = "the loss, after what forward gave back was overwritten,"
        assert_gradients(*case["loss"], of=when, because=because)


@points(2)
def test_image_follows_the_losses(optimised):
    """In every iteration one plain backward moves the image as it should.

    Which gradients arrive at the image in an iteration, and of which losses? Print image.grad after it.
    """
    seen, expected = optimised
    number = len(seen["images"]) + 1
    assert_runs(seen["stopped"], f"Iteration {number} stopped")
    for case in cases((seen["images"], expected["images"]), each="Iteration"):
        assert_close(*case, "The image is not where the gradient of the sum of the losses leads.")


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
def pieces():
    """A number of samples, and a micro that does not divide it: two or three pieces, and a rest.

    The rest is at least two, for a batch norm in training mode refuses one; and the number is no power of
    two, for then a float32 would hold each share with all its digits.
    """
    micro = count(4, 5)
    return count(2, 3) * micro + count(2, micro - 1), micro


@inside
def samples(number, *shape, dtype=None):
    """So many samples, each with a magnitude of its own, so that none can be lost unseen."""
    magnitude = torch.linspace(0.5, 3, number, dtype=dtype)[torch.randperm(number)]
    return torch.randn(number, *shape, dtype=dtype) * magnitude.view(-1, *[1] * len(shape))


@inside
class ByMode(nn.Module):
    """A model of every part, and one part that does something else in eval mode."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.body = trained_model(inputs, outputs + 1)
        self.head = nn.Linear(outputs + 1, outputs)

    def forward(self, x):
        y = self.head(self.body(x))
        return 2 * y if self.training else y.tanh()


@inside
def grads_of(model):
    """The .grad of the parameters, by name."""
    return {name: w.grad for name, w in model.named_parameters()}


@inside
def full_batch(model, data, targets, micro):
    """What the pieces have to add up to."""
    F.mse_loss(model(data), targets).backward()


@inside
def batches():
    """Batches of every shape: model, X, Y, micro."""
    a, b, c = sizes(3)
    number, micro = pieces()

    def line(number, dtype=None):
        return samples(number, a, dtype=dtype), samples(number, b, dtype=dtype)

    def cube():
        return samples(number, c, a), samples(number, c, b)

    scalar = nn.Sequential(nn.Linear(a, 1), nn.Flatten(0))
    return {
        "With a smaller last micro-batch": (nn.Linear(a, b), *line(number), micro),
        "With micro-batches of one size": (nn.Linear(a, b), *line(2 * micro), micro),
        "With micro=1": (nn.Linear(a, b), *line(number), 1),
        "With fewer samples than micro": (nn.Linear(a, b), *line(micro - 1), micro),
        "With float64": (nn.Linear(a, b).double(), *line(number, torch.float64), micro),
        "With samples of two dimensions": (nn.Linear(a, b), *cube(), micro),
        "With a number for each sample": (scalar, samples(number, a), samples(number), micro),
        "With X and Y that are not contiguous": (nn.Linear(a, b), *map(with_gaps, cube()), micro),
    }


@probe(cases=batches, oracle=full_batch)
def batch(student, model, data, targets, micro):
    """The gradients that a batch brings to a plain model, and two that people mistake for them."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    means = [F.mse_loss(model(x), y) for x, y in zip(data.split(micro), targets.split(micro), strict=True)]
    added = dict(zip(names, torch.autograd.grad(sum(means), parameters), strict=True))
    student.accumulate(model, data, targets, micro)
    return {
        "gradients": grads_of(model),
        "the sum of the means": added,
        "the mean of the means": {name: gradient / len(means) for name, gradient in added.items()},
    }


@probe(oracle=full_batch)
def by_mode(student):
    """The gradients of a model of every part, in two calls with the same objects."""
    inputs, outputs = sizes(2)
    number, micro = pieces()
    model, data, targets = ByMode(inputs, outputs), samples(number, inputs), samples(number, outputs)
    tensors = [data, targets, *model.parameters()]
    later = [0.7 * torch.randn(tensor.shape) for tensor in tensors]

    def called():
        for w in model.parameters():
            w.grad = None
        student.accumulate(model, data, targets, micro)
        return grads_of(model)

    with untouched(model=model) as kept:
        first = attempt(called)
    with torch.no_grad():
        for tensor, value in zip(tensors, later, strict=True):
            tensor.copy_(value)
    return {
        "In the first call": {"gradients": first, "kept": kept},
        "In the second call, with other values in the same tensors": {
            "gradients": attempt(called),
            "kept": kept,
        },
    }


@probe
def on_top(student):
    """What is left of .grad, once what a call adds to an empty .grad is taken away."""
    inputs, outputs = sizes(2)
    number, micro = pieces()
    model = ByMode(inputs, outputs).double()
    data = samples(number, inputs, dtype=torch.float64)
    targets = samples(number, outputs, dtype=torch.float64)
    named = dict(model.named_parameters())
    old = {name: 10 * torch.randn_like(w) for name, w in named.items()}
    old["head.bias"] = None

    with untouched(model=model) as kept:
        student.accumulate(model, data, targets, micro)
    brought = {name: w.grad for name, w in named.items()}
    for name, w in named.items():
        w.grad = None if old[name] is None else old[name].clone()
    student.accumulate(model, data, targets, micro)

    left = {}
    for name, w in named.items():
        if w.grad is None or brought[name] is None:
            left[name] = w.grad
        else:  # what should be 0 becomes 1, for beside a 0 no rounding would be forgiven
            left[name] = w.grad - brought[name] + (old[name] is None)
    return {"arrived": any(gradient is not None for gradient in brought.values()), "left": left, "kept": kept}


@inside
class Wide(nn.Module):
    """A model of which nearly all that is saved belongs to samples, and hardly anything to weights."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.enter = nn.Linear(inputs, outputs)
        self.register_buffer("waves", torch.randn(300))
        self.rows = [0]

    def forward(self, x):
        if torch.is_grad_enabled():
            self.rows.append(len(x))
        return (self.enter(x)[:, :, None] * self.waves).sin().mean(2)


@probe
def memory(student):
    """Of how many samples something is saved at the same time."""
    inputs, outputs = sizes(2, low=4)
    number, micro = pieces()
    model, data, targets = Wide(inputs, outputs), samples(number, inputs), samples(number, outputs)

    def peak(several):
        return saved(lambda: F.mse_loss(model(data[:several]), targets[:several]))["peak"]

    one, two = peak(1), peak(2)
    model.rows = [0]
    most = saved(student.accumulate, model, data, targets, micro)["peak"]
    return {
        "rows": max(model.rows),
        "samples": 1 + (most - one) / (two - one),
        "micro": micro,
        "number": number,
        "arrived": model.enter.weight.grad is not None,
    }


@probe
def left_alone(student):
    """All that a call might change."""
    inputs, outputs = sizes(2)
    number, micro = pieces()
    model = ByMode(inputs, outputs)
    for w in model.parameters():
        w.grad = torch.randn_like(w)
    data, targets = with_gaps(samples(number, inputs)), with_gaps(samples(number, outputs))
    with untouched(model=model, X=data, Y=targets) as kept:
        student.accumulate(model, data, targets, micro)
    return kept


@points(2)
def test_gradient_of_the_batch(batch):
    """The pieces bring the gradient of the mean over the whole batch."""
    why = {
        "wrong": "\n\nBy what number does the mean over a micro-batch divide, and by what the mean over the "
        "batch? And does every sample count?"
    }
    for case in cases(batch):
        others = {
            f"what {mistake} of the micro-batches brings to {name}": gradient
            for mistake in ("the sum of the means", "the mean of the means")
            for name, gradient in case.expected[mistake].items()
        }
        assert_gradients(
            *case["gradients"], of="the loss of the batch", because=why, others=others, all_digits=True
        )


@points(1)
def test_all_kinds_of_parameters(by_mode):
    """The gradients are right for shared parameters, too, for parts in eval mode, and in a second call."""
    why = {
        "wrong": "\n\nIf they are right for a single layer: how often is each parameter added to, and in "
        "which modes did you find the parts?"
    }
    for case in cases(by_mode):
        with blaming_changes(case.seen["kept"], only=["*:hooks"]):
            assert_gradients(*case["gradients"], of="the loss of the batch", because=why)


@points(1)
def test_added_to_old_gradients(on_top):
    """What is in .grad beforehand stays part of it."""
    assert on_top.seen["arrived"], "No gradient arrives at any parameter."
    told = (
        ".grad is not what it held before the call, plus what the same call brings to an empty .grad.\n\n"
        "Who else may be accumulating there? Which lines of yours work on .grad itself?"
    )
    with blaming_changes(on_top.seen["kept"], only=[*SWITCHES, "*:hooks"]):
        assert_close(*on_top["left"], told)


@points(1)
def test_at_most_micro_samples(memory):
    """Nothing is saved for backward of more than micro samples at a time."""
    seen, micro = memory.seen, memory.expected["micro"]
    assert seen["arrived"], "No gradient arrives at the first weight."
    assert seen["rows"] <= micro, (
        f"With micro={micro}, {seen['rows']} samples entered the model at once while gradients were recorded."
    )
    assert seen["samples"] < micro + 0.5, (
        f"With micro={micro}, what backward needs of {seen['samples']:.0f} samples was held at the same time"
        f" (the batch has {memory.expected['number']}).\n\nWhen does autograd let go of what it saved? How "
        "many backward passes has your code done when the last micro-batch enters the model?"
    )


@points(1)
def test_all_else_is_left_alone(left_alone):
    """X, Y and all of the model but its gradients stay as they are."""
    hint = "What did the caller give you, and who uses it next?"
    assert_changed(left_alone.seen, "No gradient has changed.", only=["model.*:grad"])
    assert_untouched(left_alone.seen, but=["model.*:grad"], hint=hint)


@picture
def second_piece(student):
    """What the first micro-batch has left when the second enters the model: a graph, and a .grad."""
    predictions, pictures = [], []

    class Watched(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1, bias=False)

        def forward(self, x):
            if len(predictions) == 1:
                pictures.append(graph(first_prediction=predictions[0], weight=self.layer.weight))
            predictions.append(self.layer(x).tanh())
            return predictions[-1]

    model = Watched()
    nn.init.ones_(model.layer.weight)
    student.accumulate(model, torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.zeros(3, 1), 2)
    return pictures[0] if pictures else graph(first_prediction=predictions[0], weight=model.layer.weight)


# --- q6: train_task


@inside
class Asleep(nn.Linear):
    """A layer beside its input whose relu lets nothing through: its gradients are 0 and not None."""

    def forward(self, x):
        return x + (super().forward(x) - 1000).relu()


@inside
class Tasks(nn.Module):
    """A trunk with parts asleep and in eval mode, and three heads: a layer, one without bias, one deeper."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        first, asleep = nn.Linear(inputs, hidden), Asleep(hidden, hidden)
        self.trunk = nn.Sequential(first, asleep, nn.Dropout(0.5).eval(), nn.Tanh())
        heads = [nn.Linear(hidden, outputs), nn.Linear(hidden, outputs, bias=False)]
        heads.append(nn.Sequential(nn.Tanh(), nn.Linear(hidden, outputs)))
        self.heads = nn.ModuleList(heads)


@inside
def memory_of_head(opt, head):
    """What an optimizer remembers of a head, in one vector; None where it is nothing."""
    found = [opt.state.get(parameter, {}) for parameter in head.parameters()]
    values = [value for memory in found for value in memory.values() if isinstance(value, torch.Tensor)]
    return torch.cat([value.detach().flatten() for value in values]) if values else None


@inside
def schooling(student, optimizer, **options):
    """Steps on tasks, every head before any comes again; before the last step every .grad is filled."""
    rows, inputs, hidden, outputs = sizes(4)
    model, order = Tasks(inputs, hidden, outputs), torch.randperm(3).tolist()
    tasks = [*order, order[count(0, 1)], order[2]]
    batches = [(torch.randn(rows, inputs), 3 + torch.randn(rows, outputs)) for _ in tasks]
    foreign = [5 * torch.randn_like(parameter) for parameter in model.parameters()]
    opt, steps = optimizer(model.parameters(), **options), []
    for number, (task, (x, y)) in enumerate(zip(tasks, batches, strict=True), start=1):
        if number == len(tasks):
            for parameter, gradient in zip(model.parameters(), foreign, strict=True):
                parameter.grad = gradient.clone()
        heads = [head for place, head in enumerate(model.heads) if place != task]
        frozen = [name for name, w in model.heads[task].named_parameters() if not w.requires_grad]
        before = [memory_of_head(opt, head) for head in heads]
        with (
            updates(opt, trunk=model.trunk, head=model.heads[task]) as made,
            untouched(model=model, opt=opt, x=x, y=y) as kept,
        ):
            student.train_task(model, opt, task, x, y)
        after = [memory_of_head(opt, head) for head in heads]
        steps.append(
            {"task": task, "made": made, "kept": kept, "before": before, "after": after, "frozen": frozen}
        )
    return steps


@probe
def schooled(student):
    """Steps with momentum and weight decay."""
    return schooling(student, torch.optim.SGD, lr=0.02, momentum=0.9, weight_decay=0.1)


@probe
def schooled_by_adam(student):
    """Steps with AdamW, whose decay needs no gradient."""
    return schooling(student, torch.optim.AdamW, lr=0.1, eps=0.1)


def lessons(*schools):
    """The steps, if the trunk moved in each: who trains nothing is not praised for harming nobody."""
    for school in schools:
        for step in cases((school.seen, school.expected), each="Step"):
            nothing = "The trunk did not move: it was not trained."
            assert_changed(step.seen["kept"], nothing, only=["model.trunk.*:value"])
            yield step


def idle_heads(step):
    """The paths of the heads that are not trained in a step."""
    return [f"model.heads.{place}.*" for place in range(3) if place != step.expected["task"]]


STILL = "What is in the .grad of this head when opt.step() is called, and what does opt do with it?"


@points(2)
def test_other_heads_do_not_move(schooled, schooled_by_adam):
    """The heads of other tasks keep their values."""
    for step in lessons(schooled, schooled_by_adam):
        only = [f"{path}:value" for path in idle_heads(step)]
        assert_untouched(step.seen["kept"], only=only, hint=STILL)


@points(1)
def test_other_heads_keep_their_memory(schooled, schooled_by_adam):
    """What the optimizer remembers of other heads stays as it is."""
    for step in lessons(schooled, schooled_by_adam):
        task, befores = step.expected["task"], step.seen["before"]
        others = [place for place in range(3) if place != task]
        for place, before, after in zip(others, befores, step.seen["after"], strict=True):
            told = f"The step on task {task} changed what opt remembers of heads[{place}]."
            same = after is before if after is None or before is None else is_close(after, before)
            assert same, f"{told}\n\n{STILL}"


@points(1)
def test_trained_parts_learn(schooled, schooled_by_adam):
    """The trunk and the head of the task are given the gradient of this loss, and make one step."""
    for step in lessons(schooled, schooled_by_adam):
        task, frozen = step.expected["task"], step.seen["frozen"]
        assert not frozen, (
            f"heads[{task}].{frozen[0]} does not require grad when the step on task {task} begins: a step on "
            "another task left it so."
        )
        hint = "Which gradients are in .grad when the step is made?"
        with blaming_changes(step.seen["kept"], only=[*SWITCHES, "opt.param_groups"]):
            assert_updates(*step["made"], each="minibatch", hint=hint)


@points(1)
def test_everything_stays_trainable(schooled, schooled_by_adam):
    """Flags, modes, hooks and the groups of the optimizer are as they were."""
    hint = "What did you switch, and is it as the next call needs it?"
    for step in lessons(schooled, schooled_by_adam):
        but = ["model.*:value", "model.*:version", "model.*:grad", "opt.state"]
        assert_untouched(step.seen["kept"], but=but, hint=hint)


@picture
def loss_of_the_first_task(student):
    """The prediction for task 0 after two steps, on task 1 and on task 0: look at the .grad of head 1."""
    outputs = []

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(1))

        def forward(self, x):
            outputs.append(x * self.weight)
            return outputs[-1]

    model = nn.Module()
    model.trunk, model.heads = Head(), nn.ModuleList([Head(), Head()])
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    for task in (1, 0):
        attempt(student.train_task, model, opt, task, torch.randn(2), torch.randn(2))
    return graph(prediction=outputs[-1], head0=model.heads[0].weight, head1=model.heads[1].weight)


# --- q7: validation_loss


@inside
class Loader:
    """Gives pairs, has a length, and cannot be indexed."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __iter__(self):
        return iter(self.pairs)


@inside
def pairs(number, inputs, outputs):
    """So many batches whose losses differ much, a single one with small targets; the last has fewer rows."""
    rows = [*([count(4, 6)] * (number - 1)), 2]
    scales = torch.linspace(0.1, 5, number)[torch.randperm(number)].tolist()
    return [
        (torch.randn(few, inputs), scale * torch.randn(few, outputs))
        for few, scale in zip(rows, scales, strict=True)
    ]


@probe
def means_returned(student):
    """The mean over several batches, over others with other weights, over one, and of a loader."""
    inputs, outputs = sizes(2)
    model, found = MixedModel(inputs, outputs).eval(), {}
    given = [pairs(number, inputs, outputs) for number in (count(4, 6), count(2, 3), 1, count(3, 5))]
    later = [torch.randn_like(parameter) / 4 for parameter in model.parameters()]
    names = ["", "In a second call, with other weights", "With one batch", "With a loader that is no list"]
    modes = [module.training for module in model.modules()]
    for name, batches in zip(names, given, strict=True):
        loader = Loader(batches) if "loader" in name else [*batches]
        is_switched = [module.training for module in model.modules()] != modes
        mean = attempt(student.validation_loss, model, loader)
        losses = [F.mse_loss(model(x), y).detach() for x, y in batches]
        rows = torch.tensor([len(x) for x, _ in batches])
        found[name] = {
            "mean": float(mean) if isinstance(mean, float) else mean,
            "by samples": (torch.stack(losses) * rows / rows.sum()).sum().item(),
            "sum": sum(losses).item(),
            "switched": is_switched,
        }
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), later, strict=True):
                parameter.copy_(value)
    return found


@inside
class Watched(nn.Module):
    """A model that knows how many of its earlier graphs are alive when a batch enters."""

    def __init__(self, inputs, outputs, peaks):
        super().__init__()
        self.layer, self.peaks = nn.Linear(inputs, outputs), peaks

    def forward(self, x):
        self.peaks.append(alive())
        return mark(self.layer(x).tanh())


@probe
def watched(student):
    """How many graphs are alive at most when a batch enters, and how many while the result is kept."""
    inputs, outputs = sizes(2)
    peaks, number = [], count(4, 6)
    model, loader = Watched(inputs, outputs, peaks).eval(), pairs(number, inputs, outputs)
    result = attempt(student.validation_loss, model, loader)
    return {
        "calls": len(peaks),
        "peak": max(peaks, default=0),
        "after": alive(),
        "kept": result is None,
        "number": number,
    }


@probe
def validated_silently(student):
    """All that a call may change, while gradients are recorded and while they are not."""
    inputs, outputs = sizes(2)
    model, loader = MixedModel(inputs, outputs).eval(), pairs(count(3, 4), inputs, outputs)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    with untouched(model=model, loader=loader) as kept:
        result = attempt(student.validation_loss, model, loader)
    with torch.no_grad(), untouched(model=model) as off:
        attempt(student.validation_loss, model, loader)
    is_positive = attempt(lambda: float(result) > 0)
    return {"kept": kept, "while switched off": off, "done": is_positive}


@points(1)
def test_mean_over_the_batches(means_returned):
    """The mean over the batches comes back as a Python float.

    How much does each batch count, and how much does the last batch?
    """
    for case in cases(means_returned):
        others = {
            "the mean over the samples": case.expected["by samples"],
            "the sum over the batches": case.expected["sum"],
        }
        mean = case.seen["mean"]
        assert isinstance(mean, float) or raised(mean, BaseException), (
            f"A {type(mean).__name__} came back, not a Python float.\n\nWhat does it hold on to?"
        )
        told = "The result is not the mean over the batches."
        if case.seen["switched"]:
            told += " And an earlier call left the model in another mode.\n\nWhich of your lines switches it?"
        assert_close(*case["mean"], told, others)


def all_batches(watched):
    """What was seen, if every batch has gone through the model."""
    seen, number = watched.seen, watched.expected["number"]
    assert seen["calls"] >= number, f"The model was called {seen['calls']} times for {number} batches."
    return seen


@points(2)
def test_no_graphs_pile_up(watched):
    """When a batch enters the model, the graph of at most one earlier batch is alive.

    Which of your names still refers to something that was computed from an earlier batch?
    """
    seen = all_batches(watched)
    assert seen["peak"] <= 1, (
        f"When a batch entered the model, the graphs of {seen['peak']} earlier batches were alive at once."
    )


@points(1)
def test_no_graph_survives(watched):
    """After the call no graph is alive, though the result is kept.

    What did you return or store, and what is its grad_fn?
    """
    seen = all_batches(watched)
    assert not seen["after"], f"Graphs of batches that are still alive after the call: {seen['after']}."


@points(1)
def test_model_and_modes_stay(validated_silently):
    """The model, the data and the modes of torch are as they were."""
    seen, hint = validated_silently.seen, "What did you switch or write, and is it as it was before?"
    done = seen["done"]
    assert_runs(done, "No number came back")
    assert done, "The result is not positive: no loss was measured."
    assert_untouched(seen["kept"], hint=hint)
    assert_untouched(seen["while switched off"], case="Called while gradients are switched off", hint=hint)


@picture(reference=True)
def what_the_result_remembers(student):
    """What your result remembers of two batches, and the weight of the model."""
    model = nn.Linear(1, 1, bias=False).eval()
    loader = [(torch.randn(2, 1), torch.randn(2, 1)) for _ in range(2)]
    return graph(result=student.validation_loss(model, loader), weight=model.weight)


# --- end: distil


@inside
class Counted(nn.Module):
    """A model on a graph whose life is watched; it notes how many samples enter, and how many graphs live."""

    def __init__(self, inputs, outputs, rows, peaks):
        super().__init__()
        self.layer, self.rows, self.peaks = nn.Linear(inputs, outputs), rows, peaks

    def forward(self, x):
        self.rows.append(len(x))
        self.peaks.append(alive())
        return mark(self.layer(x).tanh())


@inside
def unlike_batches(features, dtype=None):
    """Batches of several pieces, the last of which is smaller, and one that fits into micro; and micro."""
    number, micro = pieces()
    inputs = [samples(several, features, dtype=dtype) for several in (number, micro - 1, number + micro)]
    return [with_gaps(x) for x in inputs], micro


@inside
def distillations():
    """Trainings whose teacher is frozen, and thus makes answers without a history."""

    def training(optimizer, dtype, **options):
        features, outputs, hidden = sizes(3)
        model = trained_model(features, outputs).to(dtype)
        for parameter in [*model.parameters()][:-1]:
            parameter.grad = 10 * torch.randn_like(parameter)
        teacher = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, outputs))
        with torch.no_grad():
            teacher[2].weight.mul_(5)
        inputs, micro = unlike_batches(features, dtype)
        opt = optimizer(model.parameters(), **options)
        return model, teacher.to(dtype).requires_grad_(False), opt, inputs, micro, 2

    momentum = {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.1}
    return {
        "": training(torch.optim.SGD, torch.float64, **momentum),
        "With Adam and float32": training(torch.optim.Adam, torch.float32, lr=0.05, eps=1.0),
    }


@probe(cases=distillations)
def distilled(student, model, teacher, opt, inputs, micro, epochs):
    """What the optimizer is given, and what else becomes of the model."""
    with updates(opt, model=model) as made, untouched(model=model) as kept:
        student.distil(model, teacher, opt, [*inputs], micro, epochs)
    return {"made": made, "kept": kept}


@probe(cases=distillations)
def histories(student, model, teacher, opt, inputs, micro, epochs):
    """What comes back, and what else becomes of the model."""
    with untouched(model=model) as kept:
        history = student.distil(model, teacher, opt, [*inputs], micro, epochs)
    if isinstance(history, list):
        history = [float(loss) if isinstance(loss, float) else loss for loss in history]
    return {"history": history, "kept": kept}


@probe(cases=distillations)
def left_as_it_was(student, model, teacher, opt, inputs, micro, epochs):
    """All that a training may change."""
    with untouched(model=model, teacher=teacher, opt=opt, inputs=inputs) as kept:
        student.distil(model, teacher, opt, [*inputs], micro, epochs)
    return kept


@probe
def teacher_asked(student):
    """A training by a teacher whose parameters require grad: what is asked of it, and what becomes of it."""
    features, outputs = sizes(2)
    teacher, model = trained_model(features, outputs), nn.Linear(features, outputs)
    teacher.embed.bias.grad = torch.randn_like(teacher.embed.bias)
    inputs, micro = unlike_batches(features)
    opt, asked = torch.optim.SGD(model.parameters(), lr=0.05), spy(teacher)

    def training():
        student.distil(model, teacher, opt, [*inputs], micro, 2)

    with untouched(model=model, teacher=teacher) as kept:
        stopped = attempt(training)
    return {"stopped": stopped, "asked": len(asked), "kept": kept, "batches": len(inputs)}


@probe
def counted(student):
    """How many samples enter the model, and how many graphs are alive when they do, and afterwards."""
    features, outputs = sizes(2)
    rows, peaks = [], []
    model, teacher = Counted(features, outputs, rows, peaks), nn.Linear(features, outputs)
    inputs, micro = unlike_batches(features)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    history = attempt(student.distil, model, teacher.requires_grad_(False), opt, inputs, micro, 2)
    return {
        "kept": history is None,
        "all": sum(rows),
        "rows": max(rows, default=0),
        "peak": max(peaks, default=0),
        "after": alive(),
        "micro": micro,
        "number": 2 * sum(len(x) for x in inputs),
    }


def test_the_teacher_is_asked_and_not_taught(teacher_asked):
    """The training goes through all epochs; the teacher is asked once a batch, and nothing reaches it."""
    seen, number = teacher_asked.seen, teacher_asked.expected["batches"]
    assert_runs(seen["stopped"], "The training stops")
    assert_changed(seen["kept"], "The weights of the model have not moved.", only=["model.*:value"])
    assert_untouched(
        seen["kept"],
        only=["teacher*"],
        hint="Where does a backward of yours end? And what did you switch or write?",
    )
    assert seen["asked"] == number, (
        f"The teacher was called {seen['asked']} times for {number} batches and two epochs.\n\n"
        "Which of its answers do you know already?"
    )


def test_each_step_has_the_gradient_of_its_batch(distilled):
    """Each step is given the gradient of the mean loss over its whole batch, and nothing else.

    By what number does the mean over a piece divide, and by what the mean over the batch?
    """
    for case in cases(distilled):
        hint = "Which gradients are in .grad when the step is made, and how much does each piece count?"
        with blaming_changes(case.seen["kept"], only=SWITCHES):
            assert_updates(*case["made"], each="batch", hint=hint)


def test_the_history_holds_numbers(histories, counted):
    """A Python float for each epoch comes back, and no graphs pile up."""
    for case in cases(histories):
        history, rights = case["history"]
        assert isinstance(history, list), f"A {type(history).__name__} came back, not a list."
        assert len(history) == len(rights), f"{len(history)} entries came back for {len(rights)} epochs."
        others = {f"the mean loss of epoch {place}": right for place, right in enumerate(rights, start=1)}
        for place, (loss, right) in enumerate(zip(history, rights, strict=True), start=1):
            assert isinstance(loss, float), (
                f"The entry of epoch {place} is a {type(loss).__name__}, not a Python float."
            )
            told = f"The mean loss of epoch {place} is wrong."
            asked = "If the steps are right: how much does each piece count in it, and how much each batch?"
            with blaming_changes(case.seen["kept"], only=SWITCHES):
                assert_close(loss, right, f"{told}\n\n{asked}", others)
    seen = assert_all_entered(counted)
    assert seen["peak"] <= 1, (
        f"When samples entered the model, the graphs of {seen['peak']} earlier calls were alive at once."
        "\n\nWhat do you keep of a piece when the next enters?"
    )
    assert not seen["after"], (
        f"Graphs of the model's calls that are still alive after the training: {seen['after']}.\n\n"
        "What does your running sum add up, how much does each piece count in it, and what does it refer to?"
    )


def assert_all_entered(counted):
    """What was seen, if every sample entered the model in both epochs."""
    seen, number = counted.seen, counted.expected["number"]
    assert seen["all"] >= number, f"{seen['all']} samples entered the model in two epochs, of {number}."
    return seen


def test_small_pieces_and_nothing_else_changes(left_as_it_was, counted):
    """At most micro samples enter the model at a time, and only its parameters change."""
    seen, micro = assert_all_entered(counted), counted.expected["micro"]
    assert seen["rows"] <= micro, f"With micro={micro}, {seen['rows']} samples entered the model at once."
    for case in cases(left_as_it_was):
        assert_changed(case.seen, "No parameter of the model has moved.", only=["model.*:value"])
        but = ["model.*:value", "model.*:version", "model.*:grad", "opt.state"]
        assert_untouched(case.seen, but=but, hint="What did the caller give you, and who uses it next?")


@picture
def second_batch(student):
    """What the model computed in its last call, after two epochs: where does its graph end?"""
    outputs = []

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(1))

        def forward(self, x):
            outputs.append(x * self.weight)
            return outputs[-1]

    model, teacher = Model(), Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    attempt(student.distil, model, teacher, opt, [torch.randn(3, 1)], 2, 2)
    return graph(prediction=outputs[-1], model=model, teacher=teacher)
