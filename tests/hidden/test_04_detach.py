"""The hidden checks of 04_detach: what shares memory, what backward needs, and where the cut has to be."""

from inside import count, sizes, with_gaps

from grader import (
    assert_close,
    assert_gradients,
    assert_runs,
    assert_untouched,
    blaming_changes,
    cases,
    is_close,
    picture,
    points,
    probe,
)
from grader.inside import (
    F,
    attempt,
    gradients,
    graph,
    graph_at,
    inside,
    nn,
    snap,
    spy,
    torch,
    untouched,
    updates,
)

SWITCHED_OFF = "Called while gradients are switched off"


@inside
def while_switched_off(function, *args):
    """The modes before and after a call while gradients are switched off; what it raises does not matter."""
    with torch.no_grad(), untouched() as kept:
        attempt(function, *args)
    return kept


# --- q1: positive_part


@inside
def activations():
    """Of every kind a y, a loss that has saved it, and the leaf to which that loss goes back.

    All have entries of either sign, but for the result of an exponential, where nothing is negative. In one
    case twice an entry is infinite, in another the square of an entry is 0.
    """

    def signed(*shape, dtype=torch.float32):
        values = torch.rand(shape, dtype=dtype) + 0.2
        values.view(-1)[::2] *= -1
        return values

    n, m, k = sizes(3)
    x, other, third = signed(n, m).t().requires_grad_(), signed(k, n).requires_grad_(), signed(m + k)
    column, wide = third.requires_grad_(), signed(k, m, n, dtype=torch.float64)
    y, saved, positive = 2 * x, torch.tanh(other), column.exp()
    leaf = with_gaps(1000 * signed(m, k)).requires_grad_()
    leaf.grad, factor = torch.randn_like(leaf), signed(k, m, n, dtype=torch.float64).requires_grad_()
    far, near = signed(n, k), (1e-30 * signed(k, m)).requires_grad_()
    far = (7.5e37 * (far + far.sign())).requires_grad_()
    huge, tiny = 2 * far, 2 * near
    return {
        "Where a square has saved y": (y, (y**2).sum(), x),
        "Where y is the result that tanh has saved": (saved, saved.sum(), other),
        "Where nothing in y is negative": (positive, positive.sum(), column),
        "Where y is a leaf": (leaf, (leaf**2).sum(), leaf),
        "Where y is plain data, in float64": (wide, (wide * factor).sum(), factor),
        "Where entries of y are huge": (huge, (huge.abs() / huge.numel()).sum(), far),
        "Where entries of y are tiny": (tiny, (tiny**2).sum(), near),
    }


@inside
def overwritten(result):
    """Write to a result, which may be an inference tensor."""
    with torch.inference_mode():
        result.fill_(-77.0)


@probe(cases=activations)
def plotted(student, y, loss, leaf):
    """What the call returns, what it does to y and to a loss that waits, and whom a write to it concerns."""
    with untouched(y=y) as kept:
        result = student.positive_part(y)
    part, back = snap(result), gradients(loss, {"the leaf behind it": leaf})
    with untouched(y=y) as written:
        attempt(overwritten, result)
    return {"kept": kept, "y": kept["before"]["y"], "part": part, "loss": back, "written": written}


@probe
def plotted_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    return while_switched_off(student.positive_part, torch.randn(3, 2))


@points(1)
def test_positive_part_has_no_history(plotted):
    """The result is the positive part of y, without a history.

    What does your function return where y is negative, and what where it is not?
    """
    for case in cases(plotted):
        seen, right = case["part"]
        old = "The result has a history: it keeps the whole graph behind y alive.\n\nWhat cuts it off?"
        assert seen.grad_fn is None, old
        assert not seen.requires_grad, "The result has no history, and requires grad all the same."
        assert_close(seen, right, "The result is not y with 0 in the place of what is negative.")


def returned(case):
    """The result, where it is one: to return y as it came is not praised for leaving y alone."""
    seen = case.seen["part"]
    left = seen.value is not None and any(value < 0 for value in seen.value)
    assert not left, "The result still has negative entries, so this check looks no further."
    return seen


@points(2)
def test_y_is_left_alone(plotted, plotted_while_switched_off):
    """The call leaves y alone, and so does what is written to the result."""
    hint = "Whose memory does each of your operations write to? Compare data_ptr() of y and of your tensors."
    for case in cases(plotted):
        assert_untouched(case.seen["kept"], hint=hint)
        seen, y = returned(case), case.seen["y"]["tensor"]
        assert seen.identity != y.identity, "What came back is y itself, not a tensor of its own."
        shared = f"The result lies in the memory of y: a write to either changes both.\n\n{hint}"
        assert seen.storage != y.storage, shared
        when = "When only the result was written to"
        assert_untouched(case.seen["written"], only=["y:value"], case=when, hint=hint)
    assert_untouched(plotted_while_switched_off.seen, case=SWITCHED_OFF)


@points(2)
def test_a_waiting_loss_is_left_alone(plotted):
    """The backward of a loss from before the call still works, with the same gradient."""
    why = {
        "overwritten": "That is y, which your function changed in place.\n\nWho shares the memory of y?",
        "wrong": "No error told you: backward used the values that it found in the memory of y.\n\n"
        "Which ways of writing does y._version not count?",
    }
    for case in cases(plotted):
        assert_gradients(*case["loss"], of="a loss of y from before the call", because=why)
        returned(case)


@picture
def loss_of_y(student):
    """The loss that waits while you look at y: has what it saved still the same values?"""
    x = torch.randn(3, requires_grad=True)
    y = x + 1
    loss = (y**2).sum()
    result = attempt(student.positive_part, y)
    return graph(loss=loss, y=y, x=x, result=result)


# --- q2: may_overwrite


@inside
def with_old_grad(*shape):
    """A leaf that requires grad, and whose .grad holds something."""
    x = (0.5 + torch.rand(shape)).requires_grad_()
    x.grad = torch.randn(shape)
    return x


@inside
def computed_on_the_way():
    """A tensor in the middle of formulas; in one, what is saved has the same values and is another tensor."""
    n, m = sizes(2)

    def square(x):
        y = x + 1
        return y**2, y

    def sum_of_multiples(x):
        y = x**2
        return 3 * (x + 1) + 4 * y, y

    def sum_with_a_square(x):
        y = x**2
        return 3 * (x + 1) + 4 * y**2, y

    def beside_its_twin(x):
        y, twin = x + 1, x + 1
        return twin**2 + 3 * y, y

    def quotient(x):
        y = x + 1
        return (x / y).sum(), y

    formulas = {
        "For out = y**2 and mid = y": square,
        "For out = 3 * (x + 1) + 4 * y and mid = y": sum_of_multiples,
        "For out = 3 * (x + 1) + 4 * y**2 and mid = y": sum_with_a_square,
        "For out = twin**2 + 3 * y and mid = y, where twin has the same values": beside_its_twin,
        "For out = (x / y).sum() and mid = y": quotient,
    }
    return {name: (f, with_old_grad(n, m)) for name, f in formulas.items()}


@inside
def inputs_and_results():
    """Operations that save what goes in, what comes out, and neither."""
    n, m, k = sizes(3)
    learned, plain = torch.randn(m, k, requires_grad=True), torch.randn(m, k)

    def into_exp(x):
        y = x - 1
        return y.exp(), y

    def out_of_exp(x):
        y = (x - 1).exp()
        return 3 * y, y

    def out_of_relu(x):
        y = torch.relu(x - x.detach().mean())  # of both signs, so that what comes out is not what goes in
        return y + 1, y

    def into_relu(x):
        y = x - x.detach().mean()
        return torch.relu(y) + 1, y

    def into_sigmoid(x):
        y = 2 * x
        return y.sigmoid().mean(), y

    def times_learned(x):
        y = x + 1
        return y @ learned, y

    def times_plain(x):
        y = x + 1
        return y @ plain, y

    operations = {
        "For what goes into exp": into_exp,
        "For what comes out of exp": out_of_exp,
        "For what comes out of relu": out_of_relu,
        "For what goes into relu": into_relu,
        "For what goes into sigmoid": into_sigmoid,
        "For y in y @ w, where w requires grad": times_learned,
        "For y in y @ w, where w does not require grad": times_plain,
    }
    return {name: (f, with_old_grad(n, m)) for name, f in operations.items()}


@inside
def views_and_depths():
    """What is saved is a view of mid, or mid is a view of it, or it lies deep in the graph."""
    n, m = sizes(2)

    def view_is_saved(x):
        y = x + 1
        return y.view(-1)[1:] ** 2, y

    def is_view_of_saved(x):
        y = x + 1
        part = y[1:]
        return (y * y).sum() + part.sum(), part

    def deep(x):
        y = x + 1
        return ((y * y) + 1).sum() * 2, y

    def only_added(x):
        y = x + 1
        part = y.t()
        return 3 * part + 1, part

    def view_of_a_result(x):
        y = x.exp()
        part = y.flatten()[2:]
        return 2 * y, part

    cases_of_memory = {
        "Where a view of mid is squared": view_is_saved,
        "Where mid is y[1:], and y is multiplied by itself": is_view_of_saved,
        "Where mid is squared three operations before out": deep,
        "Where mid is y.t(), and is multiplied by 3": only_added,
        "Where mid is a view of what comes out of exp": view_of_a_result,
    }
    return {name: (f, with_old_grad(n, m)) for name, f in cases_of_memory.items()}


@inside
def constants():
    """A mid that does not require grad."""
    n, m = sizes(2)
    values = torch.randn(n, m)

    def mask(x):
        k = (values > 0).float()
        return x * k, k

    def added(x):
        k = values * 2
        return x * 3 + k, k

    def divisor(x):
        k = values.exp()
        return (x / k).sum(), k

    def squared(x):
        k = values + 1
        return x + k * k, k

    def picked_by_sign(x):
        k = values * 1
        return torch.where(k > 0, x, 2 * x), k

    uses = {
        "For out = x * k and mid = k, a mask": mask,
        "For out = 3 * x + k and mid = k, a constant": added,
        "For out = (x / k).sum() and mid = k, a constant": divisor,
        "For out = x + k * k and mid = k, a constant": squared,
        "For out = torch.where(k > 0, x, 2 * x) and mid = k, a constant": picked_by_sign,
    }
    return {name: (f, with_old_grad(n, m)) for name, f in uses.items()}


@inside
def answer(student, f, x):
    """The answer as a bool, where it can be one, and what became of x."""
    with untouched(x=x) as kept:
        told = student.may_overwrite(f, x)
    return {"told": told if told is None else attempt(bool, told), "kept": kept}


@probe(cases=computed_on_the_way, question="q2")
def on_the_way(student, f, x):
    """Answers for tensors in the middle of formulas."""
    return answer(student, f, x)


@probe(cases=inputs_and_results, question="q2")
def in_and_out(student, f, x):
    """Answers for what goes into an operation, and what comes out."""
    return answer(student, f, x)


@probe(cases=views_and_depths, question="q2")
def shared_memory(student, f, x):
    """Answers for views, and for what lies deep."""
    return answer(student, f, x)


@probe(cases=constants, question="q2")
def not_learned(student, f, x):
    """Answers for what does not require grad."""
    return answer(student, f, x)


@probe
def asked_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    x = torch.rand(3, requires_grad=True)
    return while_switched_off(student.may_overwrite, lambda x: (x * 2, x * 3), x)


def assert_answers(answers, hint):
    """Every case is answered, and rightly."""
    for case in cases(answers):
        told, right = case["told"]
        assert_runs(told, "What you returned is no bool")
        wrong = {
            True: "You answer True. But backward needs mid: after a write to it, out.sum().backward() fails.",
            False: "You answer False. But whatever is written to mid, out.sum().backward() works as before.",
        }
        tried = "If you try a write: is it counted, and what was in .grad before?"
        assert told == right, f"{wrong[told]}\n\n{hint} {tried}"


@points(1)
def test_formulas(on_the_way, asked_while_switched_off):
    """A tensor in the middle of a formula is needed where a derivative contains it."""
    assert_answers(on_the_way, "Which derivative contains the values of mid, and of no other tensor?")
    for case in cases(on_the_way):
        assert_untouched(case.seen["kept"], but=["x:grad"])
    assert_untouched(asked_while_switched_off.seen, case=SWITCHED_OFF)


@points(1)
def test_inputs_and_results(in_and_out):
    """Some operations save what goes in, some what comes out, some neither."""
    assert_answers(in_and_out, "Does this operation save what goes in, what comes out, both or neither?")


@points(1)
def test_views_and_depth(shared_memory):
    """What counts is the memory, wherever in the graph it was saved, and through whichever view."""
    assert_answers(shared_memory, "Do you look at the whole graph? And do you compare objects, or memory?")


@points(1)
def test_constants(not_learned):
    """What does not require grad may be needed, too."""
    assert_answers(not_learned, "What is the derivative of out with respect to x here?")


# --- q3: gan_step


@inside
def game(dtype, lr_g, lr_d, logits=0.0):
    """Two networks with old gradients, their optimizers, and three rounds of noise and real samples.

    There are more fakes than real samples. With `logits`, those of the fakes reach from minus to plus so
    much, the real samples are like fakes of both ends, and there is a single round: a step from such logits
    may end where every gradient is 0 but for rounding.
    """
    latent, hidden, features, width = sizes(4)
    G = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, features)).to(dtype)
    D = nn.Sequential(nn.Linear(features, width), nn.LeakyReLU(0.2), nn.Linear(width, 1)).to(dtype)
    for parameter in [*G.parameters(), *D.parameters()]:
        nn.init.normal_(parameter, std=0.5)
        parameter.grad = torch.randn_like(parameter)
    n, more = sizes(2)
    n += 1
    rounds = [
        (torch.randn(n + more, latent, dtype=dtype), torch.randn(n, features, dtype=dtype) + 1)
        for _ in range(3)
    ]
    if logits:
        z, real = rounds[0]
        rounds = [(z, real)]
        with torch.no_grad():
            found = D(G(z)).flatten()
            low, high = found.aminmax()
            scale = 2 * logits / (high - low)
            D[2].bias.copy_((D[2].bias - (low + high) / 2) * scale)
            D[2].weight.mul_(scale)
            ordered = G(z)[found.argsort()]
            real.copy_(torch.cat([ordered[:1], ordered[1 - n :]]))
    oG = torch.optim.SGD(G.parameters(), lr=lr_g, momentum=0.5)
    return G, D, oG, torch.optim.SGD(D.parameters(), lr=lr_d, momentum=0.5), rounds


@inside
def games():
    """Games in which a network stays as it is, for its learning rate is 0, and a game in which both learn."""
    return {
        "Where only D learns": game(torch.float32, 0.0, 0.03),
        "Where only G learns": game(torch.float64, 0.5, 0.0),
        "Where both learn": game(torch.float64, 0.2, 0.2),
        "Where only D learns, with logits up to 95": game(torch.float32, 0.0, 1e-3, 95.0),
        "Where only G learns, with logits up to 95": game(torch.float32, 1e-3, 0.0, 95.0),
    }


@inside
def flat(loss, network):
    """The gradient of a loss with respect to all parameters of a network, in one row."""
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(network.parameters()))])


@inside
def one_gradient_at_a_time(G, D, oG, oD, z, real):
    """The same without backward: each gradient is asked for by name, and the losses are written out."""
    with torch.no_grad():
        fake = G(z)
    learning = list(D.parameters())
    loss = F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()
    for parameter, gradient in zip(learning, torch.autograd.grad(loss, learning), strict=True):
        parameter.grad = gradient
    oD.step()
    learning = list(G.parameters())
    loss = F.softplus(-D(G(z))).mean()
    for parameter, gradient in zip(learning, torch.autograd.grad(loss, learning), strict=True):
        parameter.grad = gradient
    oG.step()


@inside
def step(student, *args):
    """The call alone, for what it returns is up to the student."""
    student.gan_step(*args)


@probe(cases=games, oracle=one_gradient_at_a_time)
def played(student, G, D, oG, oD, rounds):
    """All rounds: with which gradients the optimizers stepped, and what else there may be in the first."""
    z = rounds[0][0]
    others = {
        "the gradient of the loss of D": flat(F.softplus(D(G(z))).mean(), G),
        "the gradient by D before its step": flat(F.softplus(-D(G(z))).mean(), G),
    }
    with (
        untouched(G=G, D=D, z=[z for z, _ in rounds], real=[real for _, real in rounds]) as kept,
        updates(oG, G=G) as of_g,
        updates(oD, D=D) as of_d,
    ):
        calls = [attempt(step, student, G, D, oG, oD, *data) for data in rounds]
    return {"of G": of_g, "of D": of_d, "kept": kept, "calls": calls, "others": others}


@probe(oracle=one_gradient_at_a_time)
def what_arrives(student):
    """What went back into the generator in a step, and what the loss of D would send there."""
    G, D, oG, oD, rounds = game(torch.float64, 0.1, 0.0)
    z, real = rounds[0]
    fake = G(z).detach().requires_grad_()
    (leak,) = torch.autograd.grad(F.softplus(D(fake)).mean(), fake)
    calls = spy(G, gradients=True)
    call = attempt(step, student, G, D, oG, oD, z, real)
    return {"call": call, "calls": calls, "leak": leak}


@probe
def played_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    G, D, oG, oD, rounds = game(torch.float32, 0.1, 0.1)
    return while_switched_off(step, student, G, D, oG, oD, *rounds[0])


def arrived(calls):
    """The sum of what arrived at the outputs of the generator, in one list, or None where nothing did."""
    found = [call["gradient"].value for call in calls if call["gradient"] is not None]
    return [sum(entries) for entries in zip(*found, strict=True)] if found else None


@points(2)
def test_nothing_of_the_loss_of_d_enters_the_generator(what_arrives):
    """What goes back into the generator is the gradient of its own loss, and nothing else.

    With which label does the loss of G go back? Through which tensor does the loss of D know the generator?
    """
    call = what_arrives.seen["call"]
    assert_runs(call, "The step stops")
    seen, expected = arrived(what_arrives.seen["calls"]), arrived(what_arrives.expected["calls"])
    nothing = "No gradient came back to G(z).\n\nWhich of the two losses needs the history of the fakes?"
    assert seen is not None, nothing
    told = "What came back to G(z), from all backward passes together, is not the gradient of the loss of G."
    others = {"the gradient of the loss of D": list(what_arrives.expected["leak"].value)}
    assert_close(seen, expected, told, others)


def assert_taught(case, network, hint, calls=None):
    """The optimizer of a network made a step in each call, with the gradient of its own loss in the first."""
    for number, call in enumerate(case.seen["calls"], 1):
        assert_runs(call, f"Call {number} of your function stops")
    seen, expected = case[f"of {network}"]
    made, rounds = len(seen["steps"]), len(case.expected["calls"])
    times = "once" if made == 1 else f"{made} times"
    within = "a single call" if rounds == 1 else f"{rounds} calls"
    assert made == rounds, f"In {within} of your function, o{network}.step() was called {times}."
    others = {"what was in .grad before your call": expected["before"]}
    if network == "G":
        others |= case.expected["others"]
    for one in cases((seen["steps"][:calls], expected["steps"][:calls]), each="Call"):
        gradient, right = one["gradient"]
        missing = ", ".join(one.seen["missing"])
        assert gradient is not None, f"When o{network} made its step, there was no gradient in {missing}."
        wrong = f"The gradient with which o{network} made its step is not that of the loss of {network}."
        assert_close(gradient, right, f"{wrong}\n\n{hint}", others)
        others = {"the gradient of the call before": right}
    if calls is None:
        moved = f"Something else than the step of o{network} has moved the parameters of {network}."
        assert_close(seen["end"], expected["end"], moved)


@points(3)
def test_generator_is_taught_by_its_own_loss(played):
    """The generator makes a step with the gradient of its own loss, by the discriminator after its step."""
    hint = "Which backward calls reach G, with which label, and what is in its .grad when oG makes its step?"
    after = "In which order, and how often, do the losses, the backward calls and the steps come?"
    for case in cases(played):
        if case.name.startswith("Where only G learns"):
            assert_taught(case, "G", hint)
    for case in cases(played):
        seen, right = (side["of D"]["steps"][:1] for side in case)
        if case.name == "Where both learn" and is_close(seen, right):  # by a D that was taught rightly
            assert_taught(case, "G", after, calls=1)
        assert_untouched(case.seen["kept"], only=["G", "z"], but=["G.*:value", "G.*:version", "G.*:grad"])


@points(2)
def test_discriminator_is_taught_by_its_own_loss(played, played_while_switched_off):
    """The discriminator makes a step with the gradient of its own loss, and still trains afterwards."""
    hint = "Is the loss of D a sum of two means? What does the loss of G leave in D, and who steps with that?"
    back = "What did you switch off for a moment, and is it on again when your function returns?"
    for case in cases(played):
        with blaming_changes(case.seen["kept"], only=["D.*:requires_grad"]):
            if case.name.startswith("Where only D learns"):
                assert_taught(case, "D", hint)
    for case in cases(played):
        but = ["D.*:value", "D.*:version", "D.*:grad"]
        assert_untouched(case.seen["kept"], only=["D", "real", "torch"], but=but, hint=back)
    assert_untouched(played_while_switched_off.seen, only=["torch"], case=SWITCHED_OFF)


@picture
def entering_the_discriminator(student):
    """What enters the discriminator when it is called for the second time, and what it comes from."""
    G, D, oG, oD, rounds = game(torch.float32, 0.1, 0.1)
    shown = graph_at(D, 2, generator=G)
    student.gan_step(G, D, oG, oD, *rounds[0])
    return shown()


# --- q4: ste_round


@inside
def numbers():
    """Numbers of every kind: with gaps, halves of either parity, beyond all integers of 32 bits, computed."""
    n, m, k = sizes(3)
    plain = with_gaps(3 * torch.randn(n, m)).requires_grad_()
    plain.grad = torch.randn_like(plain)
    halves = (torch.randint(-9, 9, (k, n, 2)).double() + 0.5).requires_grad_()
    large = (3e9 * (1 + torch.rand(m, dtype=torch.float64))).requires_grad_()
    huge = (2.4e38 + 1e38 * torch.rand(k)).requires_grad_()  # the double of it is infinite
    small, start = (0.6 * torch.randn(m, k)).requires_grad_(), torch.randn(k, n, requires_grad=True)
    computed = (2 * start).t()
    single = (5 * torch.randn(())).requires_grad_()
    return {
        "Where x is a leaf": (plain, plain),
        "Where x ends in a half": (halves, halves),
        "Where x is large": (large, large),
        "Where x is huge": (huge, huge),
        "Where x is small": (small, small),
        "Where x is the result of a computation": (computed, start),
        "Where x is a single number": (single, single),
    }


@probe(cases=numbers)
def rounded(student, x, leaf):
    """What comes out, what goes back to the leaf behind x, and what became of x."""
    with untouched(x=x) as kept:
        y = student.ste_round(x)
    told, back = snap(y), gradients(y, {"the leaf behind x" if leaf is not x else "x": leaf})
    with untouched(x=x) as written:
        attempt(overwritten, y)
    return {"kept": kept, "x": kept["before"]["x"], "y": told, "back": back, "written": written}


@probe
def rounded_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    return while_switched_off(student.ste_round, torch.randn(3, 2))


@points(1)
def test_value_is_rounded(rounded):
    """The value is that of x.round()."""
    for case in cases(rounded):
        assert_close(*case["y"], "The value is not that of x.round().", all_digits=True)


@points(2)
def test_gradient_goes_straight_through(rounded):
    """The gradient that arrives at the result goes on to x as it is.

    What does each part of your computation send back to x, and which parts does autograd see?
    """
    why = {
        "zero": "That is the derivative of a flat function.\n\nWhich value is a constant for autograd, "
        "and which value moves with x?",
        "wrong": "It is not what arrived at the result.\n\nWhat does each part of your code send back?",
        "not connected": "\n\nIs the result made from x, or is it a new leaf?",
        "no history": "\n\nWhat exactly do you cut off, the difference or all of it?",
    }
    for case in cases(rounded):
        same = case.name == "Where x is a leaf" and is_close(case.seen["y"], case.expected["x"]["tensor"])
        assert not same, "The result has the values of x and is not rounded, so this check looks no further."
        assert_gradients(*case["back"], of="the result", because=why)


@points(1)
def test_x_is_left_alone(rounded, rounded_while_switched_off):
    """The caller's x stays as it is, and the result has a memory of its own."""
    hint = "Whose memory does each of your operations write to?"
    for case in cases(rounded):
        assert_untouched(case.seen["kept"], hint=hint)
        y, x = case.seen["y"], case.seen["x"]["tensor"]
        assert y.identity != x.identity, "What came back is x itself."
        assert y.storage != x.storage, f"The result lies in the memory of x.\n\n{hint}"
        when = "When only the result was written to"
        assert_untouched(case.seen["written"], only=["x:value"], case=when, hint=hint)
    assert_untouched(rounded_while_switched_off.seen, case=SWITCHED_OFF)


@picture
def rounded_result(student):
    """The result y, and the path of its gradient back to x."""
    x = torch.randn(3, requires_grad=True)
    return graph(y=student.ste_round(x), x=x)


# --- q5: td_loss


@inside
def lessons():
    """Two networks of every relation, and samples for them.

    The parts of a network are in different modes, and one parameter is frozen. Of the network of its own,
    all parameters require grad, but for one; rewards are large in one case, beside values that are not.
    """

    def network(features, width, actions, dtype, trunk=None):
        trunk = trunk or nn.Sequential(nn.Linear(features, width), nn.Tanh())
        made = nn.Sequential(trunk, nn.Sequential(nn.Identity().eval(), nn.Linear(width, actions))).to(dtype)
        made[0][0].bias.requires_grad_(False)
        for parameter in made.parameters():
            nn.init.normal_(parameter)
            parameter.grad = torch.randn_like(parameter)
        return made

    def lesson(relation, n, dtype=torch.float32, gamma=None, scale=1.0):
        features, width, actions = sizes(3)
        q = network(features, width, actions, dtype)
        other = (
            q
            if relation == "same"
            else network(features, width, actions, dtype, q[0] if relation == "trunk" else None)
        )
        s, s2 = torch.randn(2, n, features, dtype=dtype)
        a, r = torch.randint(actions, (n,)), scale * torch.randn(n, dtype=dtype)
        return q, other, s, a, r, s2, 0.5 + 0.4 * torch.rand(()).item() if gamma is None else gamma

    few, many = sizes(2, low=5)
    return {
        "With two networks": lesson("own", few),
        "With two networks and gamma = 0": lesson("own", many, torch.float64, 0.0),
        "With two networks and large rewards": lesson("own", many, torch.float64, None, 1000.0),
        "With q as its own target": lesson("same", many),
        "With q as its own target and gamma = 1": lesson("same", few, torch.float64, 1.0),
        "With a single sample": lesson("same", 1, torch.float64),
        "With networks that share a layer": lesson("trunk", few, torch.float64),
    }


@probe(cases=lessons)
def taught(student, q, q_target, s, a, r, s2, gamma):
    """The loss, the gradients of both networks, and what became of them."""
    data = {"s": s, "a": a, "r": r, "s2": s2}
    with untouched(q=q, q_target=q_target, **data) as kept:
        loss = student.td_loss(q, q_target, s, a, r, s2, gamma)
    shared = {id(parameter) for parameter in q.parameters()}
    alone = {name: one for name, one in q_target.named_parameters() if id(one) not in shared}
    named = {f"q_target.{name}": one for name, one in alone.items()}
    return {"kept": kept, "loss": snap(loss), "back": gradients(loss, named, q=q)}


@probe
def taught_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    return while_switched_off(student.td_loss, *lessons()["With two networks"])


@points(1)
def test_loss_is_the_mean_squared_difference(taught):
    """The loss is the mean squared difference of prediction and target."""
    hint = "What are prediction and target of one sample? Which shapes have all, and which mean is it?"
    for case in cases(taught):
        told = f"The loss is not the mean of (prediction - target)**2.\n\n{hint}"
        assert_close(*case["loss"], told, all_digits=True)


TARGET = (
    "The target still has a path back to these parameters.\n\nWhat makes the value of the target a constant, "
    "and leaves the parameters as they are?"
)


@points(2)
def test_a_target_of_its_own_is_not_taught(taught, taught_while_switched_off):
    """With two networks q is taught, q_target is not, and both stay as they are."""
    for case in cases(taught):
        if case.name.startswith("With two networks"):
            with blaming_changes(case.seen["kept"], only=["torch"]):
                assert_gradients(*case["back"], of="the loss", because={"connected": TARGET})
        assert_untouched(case.seen["kept"])
    assert_untouched(taught_while_switched_off.seen, case=SWITCHED_OFF)


@points(2)
def test_a_shared_target_is_not_taught(taught):
    """Where q and q_target share parameters, these get the gradient of the prediction only."""
    hint = "These parameters occur twice. Which of the two uses should autograd not see?"
    both = f"The value of the loss is right, but its gradient is not that of the prediction alone.\n\n{hint}"
    for case in cases(taught):
        why = {"connected": TARGET, "wrong": both if is_close(*case["loss"]) else ""}
        if not case.name.startswith("With two networks"):
            with blaming_changes(case.seen["kept"], only=["torch", "*:requires_grad"]):
                assert_gradients(*case["back"], of="the loss", because=why)


@picture
def loss_of_a_network_with_itself(student):
    """The loss of a network that is its own target: how many paths lead back to its weight?"""
    q = nn.Linear(2, 2, bias=False)
    s, s2, a, r = torch.randn(3, 2), torch.randn(3, 2), torch.randint(2, (3,)), torch.randn(3)
    return graph(loss=student.td_loss(q, q, s, a, r, s2, 0.9), q=q)


# --- q6: clipped_energy


@inside
def energies():
    """Matrices whose product is clipped in some places, everywhere, and nowhere; none is 1.

    Below 1 it reaches far: what is clipped from below, too, shows. x requires grad where it has more rows
    than columns, and is not contiguous.
    """

    def product(rows, inner, columns, dtype, low, high, trained=False):
        """An x and a w with entries of x @ w from low to high."""
        wanted = low + (high - low) * torch.rand(rows, columns, dtype=torch.float64)
        wanted[0, 0], wanted[-1, -1] = low, high
        wanted[(wanted - 1).abs() < 0.05] = 1.1
        noise, w = torch.randn(rows, inner, dtype=torch.float64), torch.randn(inner, columns).double()
        x = torch.cat([torch.eye(rows, dtype=torch.float64), noise], 1).t().contiguous().t().to(dtype)
        w = torch.cat([wanted - noise @ w, w], 0)
        return x.requires_grad_(trained), w.to(dtype).requires_grad_()

    one, other, third = sizes(3)
    some = product(one, other, third, torch.float64, -2.0, 4.0, trained=True)
    far = product(other, third, one, torch.float64, -900.0, 900.0)
    return {
        "Where some entries are clipped": some,
        "Where entries are far from 1": far,
        "Where nothing is clipped": product(third, one, other, torch.float32, -3.0, 0.9, trained=True),
        "Where all is clipped": product(other, one, third, torch.float32, 1.2, 3.0, trained=True),
        "Where x is plain data, in float32": product(one, third, other, torch.float32, -2.0, 3.0),
    }


@inside
def entry_by_entry(x, w):
    """The same by a loop that leaves out what is clipped, and counts it."""
    total = torch.zeros((), dtype=w.dtype)
    for row in x:
        for column in w.t():
            entry = (row * column).sum()
            total = total + (entry * entry if entry.item() < 1 else 1.0 + 0 * entry)
    return total


@probe(cases=energies, oracle=entry_by_entry)
def clipped(student, x, w):
    """The energy, the gradients of w and x, and what became of these."""
    with untouched(x=x, w=w) as kept:
        energy = student.clipped_energy(x, w)
    return {"kept": kept, "energy": snap(energy), "back": gradients(energy, w=w, x=x)}


@probe
def clipped_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    return while_switched_off(
        student.clipped_energy, torch.randn(3, 2), torch.randn(2, 4, requires_grad=True)
    )


@points(1)
def test_energy_is_that_of_the_clipped(clipped, clipped_while_switched_off):
    """The energy is the sum of the squares of x @ w, clipped at 1 from above; x and w stay as they are."""
    hint = "What becomes of an entry of 4, of 0.5 and of -3, and how do you put all entries together?"
    for case in cases(clipped):
        told = f"The energy is not the sum of the squares of x @ w clipped at 1.\n\n{hint}"
        with blaming_changes(case.seen["kept"]):
            assert_close(*case["energy"], told)
        assert_untouched(case.seen["kept"])
    assert_untouched(clipped_while_switched_off.seen, case=SWITCHED_OFF)


@points(3)
def test_gradient_is_that_of_the_clipped(clipped):
    """The gradients of w and x are those of the function that was computed."""
    unseen = (
        "The value is right, so the clipping took place, and there was no error.\n\n"
        "Which of your operations is hidden from autograd? Compare with a finite difference."
    )
    for case in cases(clipped):
        why = unseen if is_close(*case["energy"]) else "The energy is wrong, too: see to it first."
        assert_gradients(*case["back"], of="the energy", because={"wrong": why})


@picture
def energy_before_backward(student):
    """The energy before its backward: which operations has autograd seen between it and w?"""
    x, w = torch.randn(2, 3), torch.randn(3, 2, requires_grad=True)
    return graph(energy=student.clipped_energy(x, w), w=w)


# --- end: train_values


@inside
def states(n, features, dtype, reward):
    """States, rewards around a number, and next states; all states are positive."""
    s, s2 = 0.5 + torch.rand(2, n, features, dtype=dtype)
    return s, reward + torch.rand(n, 1, dtype=dtype), s2


@inside
def training(ending, gamma, better, worse, dtype):
    """Modules, their optimizer, batches and the held-out one; the last of `better` steps is the best.

    All of the better steps raise the values towards the rewards of the held-out batch, and none arrives
    there; the losses grow, so the smallest loss is not at the best step. The worse steps lower the values.
    Entries of what body gives have either sign, but for those of a Softplus, which are positive. A part of
    body is in eval mode.
    """
    features, hidden, width, n, many = sizes(5)
    last = {"tanh": nn.Tanh(), "softplus": nn.Softplus(), "linear": nn.Linear(width, width + 1)}[ending]
    body = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, width), last).to(dtype)
    head = nn.Linear(width + (ending == "linear"), 1).to(dtype)
    body[1].eval()
    for parameter in [*body.parameters(), *head.parameters()]:
        nn.init.normal_(parameter, std=0.3)
        parameter.grad = torch.randn_like(parameter)
    signed = (body[3] if ending == "linear" else body[2]).bias
    with torch.no_grad():
        signed[::2] -= 2.5
        signed[1::2] += 2.5
        weights = 0.5 + torch.rand_like(head.weight)  # of the same sign, so that nothing cancels
        head.weight.copy_(-0.3 * weights if ending == "softplus" else weights)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=2e-3)
    rewards = [3.0 * number for number in range(1, better + 1)] + [-15.0] * worse
    batches = [states(n, features, dtype, reward) for reward in rewards]
    return body, head, optimizer, batches, states(many, features, dtype, 30.0), gamma


@inside
def training_of_a_head():
    """A step of a head whose body returns its input: a write to h is a write to the batch."""
    features, n, many = sizes(3)
    head = nn.Linear(features, 1).double()
    s, r, s2 = states(n, features, torch.float64, 1.0)
    s[0] *= -1
    optimizer = torch.optim.SGD(head.parameters(), lr=2e-3)
    return nn.Identity(), head, optimizer, [(s, r, s2)], states(many, features, torch.float64, 1.0), 0.5


@inside
def training_with_an_outlier(usual, outlier):
    """A training of falling values; one held-out reward, far from all others, makes the error."""
    *others, (s, r, s2), gamma = training("softplus", 0.0, 1, count(2, 3), torch.float64)
    s, r, s2 = states(count(5, 7), s.shape[1], s.dtype, usual)
    r[count(0, 4)] = outlier
    return *others, (s, r, s2), gamma


@inside
def trainings():
    """Trainings in which a mistake of one kind shows, and others do no harm.

    Where gamma is 0 a target has no gradient; to what a Softplus gives, clamp_(min=0) writes what is there.
    With gamma = 2, the lower the values, the smaller is the error: the last step is the best.
    A body that returns its input gives the caller's memory to what notes its activity.
    """
    some, gamma = count(2, 3), 0.5 + 0.4 * torch.rand(()).item()
    return {
        "With a body that ends in nn.Linear and gamma = 0": training("linear", 0.0, some, 1, torch.float64),
        "With a body that ends in nn.Tanh and gamma = 0": training("tanh", 0.0, some, 1, torch.float32),
        "With gamma < 1": training("softplus", gamma, some, 1, torch.float64),
        "With gamma > 1": training("softplus", 2.0, some, some + 1, torch.float64),
        "Where the first step is the best": training("softplus", 0.0, 1, count(2, 3), torch.float64),
        "Where a step in the middle is the best": training("softplus", 0.0, some, some + 1, torch.float64),
        "Where the last step is the best": training("softplus", 0.0, some, 0, torch.float32),
        "Where the last step is the best, for the sake of one state": training_with_an_outlier(30.0, -1000.0),
        "Where the last step is the best, but for one state": training_with_an_outlier(-30.0, 60.0),
        "With a body that returns its input": training_of_a_head(),
    }


@inside
def every_step_remembered(body, head, optimizer, batches, held_out, gamma):
    """The same with all parameters of all steps, and gradients that are asked for by name."""
    learning, losses, activities, errors, places = (
        list(body.parameters()) + list(head.parameters()),
        [],
        [],
        [],
        [],
    )

    def loss_of(s, r, s2):
        with torch.no_grad():
            target = r + gamma * head(body(s2))
        return ((head(body(s)) - target) ** 2).sum() / len(s)

    for batch in batches:
        h = body(batch[0])
        activities.append((h * (h > 0)).sum().item() / h.numel())
        loss = loss_of(*batch)
        for parameter, gradient in zip(learning, torch.autograd.grad(loss, learning), strict=True):
            parameter.grad = gradient
        optimizer.step()
        losses.append(loss.item())
        errors.append(loss_of(*held_out).item())
        places.append([parameter.tolist() for parameter in learning])
    for parameter, values in zip(learning, places[errors.index(min(errors))], strict=True):
        parameter.data = torch.tensor(values, dtype=parameter.dtype)
    return losses, activities


@probe(cases=trainings, oracle=every_step_remembered)
def trained(student, body, head, optimizer, batches, held_out, gamma):
    """What a training returned, with which gradients its steps were made, and where the parameters ended."""
    with (
        untouched(body=body, head=head, batches=batches, held_out=held_out) as kept,
        updates(optimizer, body=body, head=head) as made,
    ):
        told = attempt(student.train_values, body, head, optimizer, batches, held_out, gamma)
    return {"told": told, "made": made, "kept": kept}


@probe
def trained_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    return while_switched_off(student.train_values, *training("linear", 0.5, 2, 1, torch.float32))


def trainings_that_end(probe, *names):
    """The cases that are named, in which the function came to its end."""
    for case in cases(probe):
        if not names or any(name in case.name for name in names):
            told = case.seen["told"]
            assert_runs(told, "Your function stops")
            yield case


def notes(told):
    """The two lists that came back."""
    pair = isinstance(told, tuple | list) and len(told) == 2
    assert pair and all(isinstance(one, tuple | list) for one in told), (
        "Your function does not return two lists, (losses, activities)."
    )
    return told


def right_steps(seen, expected):
    """How many steps, from the first on, were made with the right gradient."""
    pairs = zip(seen["steps"], expected["steps"], strict=False)
    right = [is_close(one["gradient"], other["gradient"]) for one, other in pairs]
    return [*right, False].index(False)


def test_notes_are_those_of_the_network(trained):
    """The losses and the activities are those of the network, and leave no trace in it."""
    trace = "What is in h when head uses it, and what did noting its activity do to it?"
    for case in trainings_that_end(trained, "With a body that ends"):
        (losses, activities), (right, active) = notes(case.seen["told"]), case.expected["told"]
        assert len(losses) == len(activities) == len(right), (
            "There is not one loss and one activity for each batch."
        )
        known = right_steps(*case["made"]) + 1  # after a wrong step, notes are those of another network
        told = "The losses are not the mean squared differences of value and target."
        assert_close(losses[:known], right[:known], f"{told}\n\n{trace}")
        assert_close(
            activities[:known],
            active[:known],
            "The activities are not the means of the positive part of body(s).",
        )


def test_target_is_data(trained):
    """Each step is made with the gradient of the prediction alone."""
    hint = "How many paths lead from the loss to the parameters?"
    for case in trainings_that_end(trained, "With gamma"):
        seen, right = case["made"]
        made, number = len(seen["steps"]), len(right["steps"])
        assert made == number, f"With {number} batches, optimizer.step() was called {made} times."
        others = {"what was in .grad before your call": right["before"]}
        for one in cases((seen["steps"], right["steps"]), each="Step"):
            gradient, wanted = one["gradient"]
            missing = ", ".join(one.seen["missing"])
            assert gradient is not None, f"At this step there was no gradient in {missing}.\n\n{hint}"
            told = "The gradient of this step is not that of the loss, whose target is data."
            assert_close(gradient, wanted, f"{told}\n\n{hint}", others)


def test_best_parameters_are_kept(trained):
    """In the end the parameters are those after the step with the smallest error."""
    hint = "Which step has the smallest error? When do you make your copy, and what shares its memory?"
    for case in trainings_that_end(trained, "is the best", "With gamma > 1"):
        seen, right = case["made"]
        same = len(seen["steps"]) == len(right["steps"]) == right_steps(seen, right)
        if case.name == "With gamma > 1" and not same:
            continue  # a target with a history is the mistake of another check
        assert same, "The steps of this training are not right, so this check looks no further."
        steps = enumerate(right["steps"], start=1)
        others = {f"what there was after step {number}": step["place"] for number, step in steps}
        told = "In the end the parameters are not what they were after the step with the smallest error."
        assert_close(seen["end"], right["end"], f"{told}\n\n{hint}", others, all_digits=True)


def test_nothing_else_changes(trained, trained_while_switched_off):
    """Batches, modes, hooks and requires_grad are after the call what they were."""
    trained_parts = [
        f"{module}.*:{part}"
        for module in ("body", "head")
        for part in ("value", "version", "grad", "storage")
    ]
    for case in trainings_that_end(trained, "With gamma", "is the best", "returns its input"):
        if "returns its input" in case.name and not is_close(*case["told"]):
            continue  # what head used was written to: the mistake of another check
        assert_untouched(case.seen["kept"], but=trained_parts)
    assert_untouched(trained_while_switched_off.seen, case=SWITCHED_OFF)
