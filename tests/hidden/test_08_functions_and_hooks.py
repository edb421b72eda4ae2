"""The hidden checks of 08_functions_and_hooks: promises that operations, hooks and gradients have to keep."""

from inside import MixedModel, fill_grads, sizes, with_gaps

from grader import (
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
from grader.inside import F, attempt, gradients, graph, inside, math, nn, snap, torch, untouched, vjp


@inside
def number(low, high):
    """A number from low to high that lies between two neighbours of float32."""
    one = low + (high - low) * torch.rand(())
    two = torch.nextafter(one, torch.tensor(math.inf))
    return 0.6 * one.item() + 0.4 * two.item()


# --- q1: Square


@inside
def numbers():
    """Numbers of either sign, large, small and 0: a vector, a float64 matrix with gaps, a single number.

    With each comes what goes back. Everything is drawn before the first call: a class is not reseeded.
    """
    n, m, k = sizes(3)
    vector, matrix = torch.randn(n + 3), torch.randn(m, k).double()
    vector[0], vector[1], vector[2] = -300.0, 0.0, 0.3
    inputs = {
        "Where x is a vector": vector.requires_grad_(),
        "Where x is a float64 matrix that is not contiguous": with_gaps(matrix).requires_grad_(),
        "Where x is a single number": (-torch.rand(()) - 0.5).requires_grad_(),
    }
    return {name: (x, torch.randn_like(x).requires_grad_()) for name, x in inputs.items()}


@probe(cases=numbers)
def squared(student, x, slope):
    """Squares, their gradients, and the gradients of these."""
    with untouched(x=x, incoming=slope) as kept:
        y = student.Square.apply(x)
        first = gradients(y, x=x)
        again = gradients(
            lambda: torch.autograd.grad(y, x, slope, create_graph=True)[0],
            {"the gradient that came in": slope},
            x=x,
        )
    return {"kept": kept, "y": snap(y), "first": first, "second": again}


@inside
def written_to():
    """Leaves and ways to write to x before backward; nothing is written in the last two."""
    n, m = sizes(2)
    ways = {
        "Where x was set to 0 through x.detach()": "detach",
        "Where a row of x was overwritten": "row",
        "Where x is a leaf, and was doubled under no_grad()": "leaf",
        "Where x was given the very values that it had": "same",
        "Where only the result was overwritten": "result",
        "Where nothing was overwritten": "nothing",
    }
    return {name: (torch.randn(n, m, requires_grad=True), way) for name, way in ways.items()}


@probe(cases=written_to)
def overwritten(student, leaf, way):
    """What backward says after a write between the forward and the backward pass."""
    x = leaf if way == "leaf" else leaf * 1
    y = student.Square.apply(x)
    with torch.no_grad():
        if way == "detach":
            x.detach().zero_()
        elif way == "row":
            x[-1] = 7.0
        elif way == "leaf":
            x.mul_(2)
        elif way == "same":
            x.copy_(x.clone())
        elif way == "result":
            y.zero_()
    return {"back": attempt(vjp, y, leaf)}


def assert_goes_back(case, told):
    """Nothing was overwritten that backward needs, and the gradient is right."""
    back, right = case["back"]
    assert_runs(back, f"{told} and backward fails")
    assert_close(back, right, f"{told} and the gradient is wrong.")


@points(1)
def test_gradient_of_the_square(squared, overwritten):
    """The values are x * x, and the gradient is theirs; x stays as it is, and the result is not needed."""
    for case in cases(squared):
        assert_close(*case["y"], "The values are not x * x.")
        with blaming_changes(case.seen["kept"]):
            why = {"wrong": "\n\nBy what does your backward multiply the gradient that came in?"}
            assert_gradients(*case["first"], of="the result", because=why)
        assert_untouched(case.seen["kept"])
    for case in cases(overwritten):
        if case.name == "Where only the result was overwritten":
            assert_goes_back(case, "The values of x are all there,")


@points(3)
def test_overwritten_input_is_noticed(overwritten):
    """If x is overwritten between forward and backward, backward raises a RuntimeError."""
    hint = "Where is x kept meanwhile? Who compares its version?"
    for case in cases(overwritten):
        back = case.seen["back"]
        if case.name == "Where nothing was overwritten":
            assert_runs(back, "Backward fails all the same")
        elif case.name != "Where only the result was overwritten":
            silent = "Backward raised nothing"
            assert back is not None, f"{silent}.\n\n{hint}"
            assert raised(back, BaseException), (
                f"{silent}, and a gradient arrived, though x had been written to.\n\n{hint}"
            )
            if not raised(back, RuntimeError):
                assert_runs(back, "Backward stopped, but not with a RuntimeError")


@points(1)
def test_second_derivative(squared):
    """The gradient can be differentiated again."""
    hint = "\n\nDoes autograd record what your backward computes, and have the tensors in it a history?"
    wrong = "\n\nIs the first gradient right? Then which part of your backward does autograd not see?"
    for case in cases(squared):
        why = {"not connected": hint, "no history": hint, "wrong": wrong}
        with blaming_changes(case.seen["kept"]):
            assert_gradients(*case["second"], of="the recorded gradient", because=why)


@picture
def square_and_its_gradient(student):
    """The gradient of your square, recorded: the backward pass is a computation, too."""
    x = torch.randn(2, requires_grad=True)
    (gradient,) = torch.autograd.grad(student.Square.apply(x).sum(), x, create_graph=True)
    return graph(gradient=gradient, x=x)


# --- q2: Scale_


@inside
def scalings():
    """A leaf, the leaf of another branch, what goes back, and numbers to scale by, one after the other.

    Each leaf has an entry that is 0.
    """
    n, m, k = sizes(3)
    some = [number(1.5, 2.5), number(-1.5, -0.5), number(2, 3)]

    def scaling(shape, dtype, factors):
        a, b = torch.randn(2, *shape, dtype=dtype).unbind()
        a.flatten()[0] = 0.0
        return (
            a.clone().requires_grad_(),
            b.clone().requires_grad_(),
            torch.randn(shape, dtype=dtype),
            factors,
        )

    return {
        "Scaled once": scaling((n,), torch.float32, some[:1]),
        "Scaled by a negative number (float64)": scaling((m, k), torch.float64, some[1:2]),
        "Scaled by three numbers, one after the other": scaling((k, n), torch.float64, some),
        "Scaled by 0": scaling((m,), torch.float32, [0.0]),
        "Scaled by 1": scaling((k,), torch.float32, [1.0]),
    }


@inside
def scaled_by(student, x, factors):
    """What the last call returns."""
    for factor in factors:
        y = student.Scale_.apply(x, factor)
    return y


@probe(cases=scalings)
def scaled(student, a, b, incoming, factors):
    """A computed tensor before and after, and the gradients through its old name and through the result."""
    x = 2 * a
    before = snap(x)
    y = scaled_by(student, x, factors)
    found = {"before": before, "x": snap(x), "y": snap(y)}
    found["through x"] = gradients(lambda: 3 * x, a=a)
    found["through y"] = gradients(lambda: 3 * y, a=a)
    found["beside another branch"] = gradients(lambda: y + b, {"a": a, "the other branch": b})
    with untouched(**{"incoming gradient": incoming}) as kept:
        attempt(torch.autograd.grad, y, a, incoming, retain_graph=True)
    return {**found, "kept": kept}


@probe(cases=scalings)
def scaled_after_use(student, a, b, incoming, factors):
    """What becomes of a loss that needs the old values."""
    x = 2 * a
    loss = (x**2).sum()
    before = snap(x)
    scaled_by(student, x, factors)
    return {"before": before, "x": snap(x), "loss": attempt(vjp, loss, a)}


@points(2)
def test_x_is_scaled_in_place(scaled):
    """The new values stand in the old memory of x, and x itself comes back."""
    for case in cases(scaled):
        before, x, y = (case.seen[name] for name in ("before", "x", "y"))
        unchanged = x.value == before.value and not is_close(*case["x"])
        assert not unchanged, "x still holds its old values: the product is somewhere else."
        assert_close(*case["x"], "x does not hold its old values times k.", all_digits=True)
        assert x.storage == before.storage, "x lives in other memory than before."
        assert_returned(y, "apply returned None.")
        assert y.identity == x.identity, (
            "Another object than x came back. Autograd makes a new object if it does not know that x was "
            "changed, and so does every operation that is out of place."
        )


@points(2)
def test_gradient_through_x(scaled):
    """If you go on with x, its gradient has the factor k."""
    hint = "\n\nWhat is x.grad_fn after the call, and by what does its backward multiply?"
    for case in cases(scaled):
        told = {"wrong": hint, "not connected": hint, "no history": hint}
        assert_gradients(*case["through x"], of="3 * x, computed after the call,", because=told)


@points(1)
def test_gradient_through_the_result(scaled):
    """The gradient through the result is right, and the gradient that arrives is not overwritten."""
    hint = "Which tensors does your backward write to? Does another branch hold them, too?"
    why = {
        "wrong": "\n\nThrough how many of the calls does the gradient go, and by what does each multiply it?"
    }
    of = "3 * y, computed from the result,"
    for case in cases(scaled):
        with blaming_changes(case.seen["kept"]):
            assert_gradients(*case["through y"], of=of, because=why, all_digits=True)
        assert_untouched(case.seen["kept"], hint=hint)
        beside = case["beside another branch"]
        assert_gradients(*beside, of="the sum y + b", because={"wrong": f"\n\n{hint}"})


@points(1)
def test_stale_use_is_noticed(scaled_after_use):
    """A loss of the old values refuses to go back."""
    for case in cases(scaled_after_use):
        if case.name == "Scaled by 1":
            continue  # the old values are the new ones
        before, x, loss = (case.seen[name] for name in ("before", "x", "loss"))
        assert x.value != before.value, "x still holds its old values: no loss of these is out of date."
        assert raised(loss, BaseException), (
            "A loss of the old values went back without an error, and its gradient belongs to no values."
            "\n\nDoes x._version move when you write?"
        )
        if not raised(loss, RuntimeError, "modified by an inplace"):
            assert_runs(loss, "A loss of the old values was stopped, but not by autograd's error about them")


@picture
def x_after_the_call(student):
    """The tensor x after your call, and the leaf a behind it: which operation does autograd see last?"""
    a = torch.randn(2, requires_grad=True)
    x = a + 1
    attempt(student.Scale_.apply, x, 3.0)
    return graph(x=x, a=a)


# --- q3: penalty


@inside
def critics():
    """Critics of every part with filled gradients, and samples: vectors, and images in float64."""
    n, m, features = sizes(3)
    height, width = sizes(2)
    vectors, images = MixedModel(features, 1), MixedModel(2 * height * width, 1)
    deep = nn.Sequential(nn.Flatten(), images, nn.Linear(1, 1)).double()
    nn.init.constant_(deep[2].weight, 3.0)
    for critic in (vectors, deep):
        fill_grads(list(critic.parameters()))
    return {
        "With vectors": (vectors, 2 * torch.randn(n, features)),
        "With images in float64": (deep, torch.randn(m, 2, height, width).double()),
        "With a single sample": (MixedModel(features, 1), torch.randn(1, features)),
    }


@inside
def sample_by_sample(D, x):
    """The penalty of each sample by itself, and their mean."""
    total = 0
    for sample in x:
        leaf = sample.detach().clone()[None].requires_grad_()
        (slope,) = torch.autograd.grad(D(leaf).sum(), leaf, create_graph=True)
        total = total + (slope.pow(2).sum().sqrt() - 1) ** 2
    return total / len(x)


@probe(cases=critics, oracle=sample_by_sample)
def penalised(student, D, x):
    """The penalty, the gradients of the critic, and what else the call changed."""
    with untouched(D=D, x=x) as kept:
        value = student.penalty(D, x)
    return {"kept": kept, "value": snap(value), "gradients": gradients(value, D=D)}


@points(1)
def test_value_of_the_penalty(penalised):
    """The value is the mean of (norm - 1) ** 2 over the samples.

    What do you differentiate, over which dimensions are norm and mean taken, and what counts below 1?
    """
    for case in cases(penalised):
        with blaming_changes(case.seen["kept"], but=["*:grad"]):
            told = "The value is not the mean of (norm - 1) ** 2 over the samples, with a norm for each."
            assert_close(*case["value"], told)


@points(3)
def test_gradient_of_the_penalty(penalised):
    """The parameters of D get the gradient of the penalty."""
    constant = "\n\nHas the tensor a history whose norm you take? Print its grad_fn."
    leaf = "So the inner gradient is a leaf or a constant for autograd.\n\nWhat is its grad_fn?"
    why = {"no history": constant, "not connected": leaf}
    for case in cases(penalised):
        with blaming_changes(case.seen["kept"], but=["*:grad"]):
            assert_gradients(*case["gradients"], of="the penalty", because=why)


@points(1)
def test_call_touches_nothing(penalised):
    """The call leaves D, every .grad and x as they were."""
    hint = "Which call of yours fills .grad, or changes the caller's x?"
    for case in cases(penalised):
        assert_returned(case.seen["value"], "The call returned None.")
        assert_untouched(case.seen["kept"], hint=hint)


@picture
def penalty_of_a_small_critic(student):
    """The penalty of a critic with one weight: does a way lead back to the weight?"""
    D = nn.Linear(2, 1, bias=False)
    return graph(penalty=student.penalty(D, torch.randn(1, 2)), D=D)


# --- q4: clip_grad_hook


@inside
def incoming_gradients():
    """Leaves with what comes back: far above and below the limit, just inside it, small, and 0.

    The second comes back by another use of t. In two entries only the sum is inside the limit, and in a
    third only the sum is outside. In two cases all that comes back has the same sign.
    """

    def coming_back(dtype, limit, sign=None):
        parts = torch.tensor([5.0, -7.0, 0.8, 0.5, -0.99, 3000.0, -1.5, 0.01, 0.0], dtype=torch.float64)
        more = torch.tensor([-4.5, 6.8, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)
        if sign is not None:
            parts, more = sign * parts.abs(), sign * more * parts.sign()
        order = torch.randperm(len(parts))
        shape = (3, 3) if dtype is torch.float64 else (9,)
        one, two = ((limit * part[order]).reshape(shape).to(dtype) for part in (parts, more))
        return torch.randn(shape, dtype=dtype).requires_grad_(), one, two, limit

    return {
        "With a vector": coming_back(torch.float32, number(0.2, 1.2)),
        "With a limit of 30": coming_back(torch.float32, 30.0),
        "With a float64 matrix": coming_back(torch.float64, number(0.3, 1.3)),
        "With no positive entry": coming_back(torch.float32, number(0.2, 1.2), -1),
        "With no negative entry": coming_back(torch.float32, number(0.2, 1.2), 1),
    }


@inside
def behind(outputs, leaf, *incoming):
    """What arrives at a leaf when outputs go back with copies of these gradients, or the error."""
    copies = [one.clone() for one in incoming]
    return attempt(lambda: torch.autograd.grad(outputs, leaf, copies, retain_graph=True)[0])


@probe(cases=incoming_gradients)
def clipped(student, x, one, two, limit):
    """What arrives behind t: of one use, and of two."""
    t = 2 * x
    with untouched(t=t, x=x) as kept:
        student.clip_grad_hook(t, limit)
    once, twice = behind([t], x, one), behind([1 * t, -1 * t], x, one, -two)
    return {"kept": kept, "once": once, "twice": twice, "unlimited": 2 * one}


@probe(cases=incoming_gradients)
def beside_others(student, x, one, two, limit):
    """What another branch gets, a neighbour of t from the same operation, and the tensor that arrives."""
    other = torch.zeros_like(x).requires_grad_()
    t, neighbour = torch.unbind_copy(torch.stack([2 * x, 3 * other]))
    student.clip_grad_hook(t, limit)
    beside = behind([t, neighbour], other, two, one)
    arriving = one.clone()
    with untouched(**{"incoming gradient": arriving}) as kept:
        attempt(torch.autograd.grad, t + other, x, arriving, retain_graph=True)
    return {"kept": kept, "shared": behind([t + other], other, one), "neighbour": beside}


@probe(cases=incoming_gradients)
def unhooked(student, x, one, two, limit):
    """What goes through t after the handle was used, where the caller has a hook of their own."""
    t = 2 * x
    t.register_hook(lambda gradient: 3 * gradient)
    handle = student.clip_grad_hook(t, limit)
    removed = attempt(lambda: handle.remove())  # noqa: PLW0108 - handle may be None
    return {"removed": removed, "back": behind([t], x, one)}


@points(2)
def test_gradient_is_limited(clipped):
    """Each entry of the sum that goes back through t is limited, and t stays as it is."""
    hint = "What does your hook return, and what of the gradient does it change?"
    for case in cases(clipped):
        assert_untouched(case.seen["kept"], but=["t:hooks"])
        told = "The gradient behind t is not the gradient that arrived at t, limited entry by entry"
        assert_close(*case["once"], f"{told}.\n\n{hint}", all_digits=True)
        twice = f"{told}, where t is used twice and the sum counts.\n\n{hint}"
        assert_close(*case["twice"], twice, all_digits=True)


@points(2)
def test_nothing_else_is_limited(beside_others, clipped):
    """Other branches get what they got before, and the tensor that arrives is not overwritten."""
    hint = "Your hook gets a tensor that others hold, too. Does it write to it?"
    as_before = [is_close(case.seen["once"], case.expected["unlimited"]) for case in cases(clipped)]
    assert not all(as_before), "The gradient goes through t as it was: nothing at all is limited."
    for case in cases(beside_others):
        assert_untouched(case.seen["kept"], hint=hint)
        told = f"In t + other, the other term gets another gradient than before.\n\n{hint}"
        assert_close(*case["shared"], told)
        told = "What comes out of the same operation as t, and is not t, gets another gradient than before."
        assert_close(*case["neighbour"], f"{told}\n\nOn what does your hook sit?")


@points(1)
def test_handle_removes_the_hook(unhooked):
    """After handle.remove() the gradient goes through t unchanged, and other hooks are still there."""
    for case in cases(unhooked):
        removed = case.seen["removed"]
        assert_runs(removed, "handle.remove() fails")
        told = "After handle.remove() the gradient behind t is not what it was without your hook."
        assert_close(*case["back"], f"{told}\n\nIs it still limited? Is the caller's hook still there?")


# --- q5: grad_reverse


@inside
def reversals():
    """Leaves and computed tensors of several forms, another leaf of the same form, and two numbers."""
    n, m, k = sizes(3)
    one, other = number(0.2, 1.2), number(1.3, 2.3)

    def reversal(x, first, second):
        return x.requires_grad_(), torch.randn_like(x).requires_grad_(), first, second

    return {
        "With a vector": reversal(torch.randn(n), one, other),
        "With a float64 matrix that is not contiguous": reversal(
            with_gaps(torch.randn(m, k).double()), other, one
        ),
        "With lam = 0": reversal(torch.randn(k, n), 0.0, one),
        "With a single number": reversal(torch.randn(()), one, 0.0),
    }


@probe(cases=reversals)
def reversed_once(student, x, other, lam, second):
    """The result, its gradient, and what is left on x."""
    with untouched(x=x) as kept:
        y = student.grad_reverse(x, lam)
    shared = gradients(lambda: y + other, {"x": x, "the other term": other})
    return {"kept": kept, "y": snap(y), "back": gradients(lambda: 1 * y, x=x), "shared": shared}


@probe(cases=reversals)
def used_elsewhere(student, x, other, lam, second):
    """Other uses of a computed tensor, before and after two calls; and the gradients of both results."""
    h = 3 * x
    early = h.sin()
    with untouched(h=h) as kept:
        y = student.grad_reverse(h, lam)
    z = student.grad_reverse(h, second)
    return {
        "kept": kept,
        "lam": lam,
        "early": gradients(early, x=x),
        "late": gradients(lambda: 10 * h, x=x),
        "h": snap(h),
        "y": snap(y),
        "first": gradients(lambda: 1 * y, x=x),
        "second": gradients(lambda: 1 * z, x=x),
    }


@points(1)
def test_forward_is_the_identity(reversed_once):
    """The result has the values of x."""
    for case in cases(reversed_once):
        assert_close(*case["y"], "The result does not have the values of x.")


@points(2)
def test_gradient_is_reversed(reversed_once, used_elsewhere):
    """The gradient that goes back through the result is multiplied by -lam."""
    cut = "\n\nWhat is the grad_fn of the result?"
    why = {"no history": cut, "not connected": cut}
    twice = why | {"wrong": "\n\nBy what is the gradient multiplied, the first time and a second time?"}
    for case in cases(reversed_once):
        assert_gradients(*case["back"], of="the result", because=twice, all_digits=True)
    for case in cases(used_elsewhere):
        own = why | {"wrong": "\n\nWhat does each of the two calls, with its own lam, change for the other?"}
        assert_gradients(*case["first"], of="the result of the first call", because=own)
        assert_gradients(*case["second"], of="the result of the second call", because=own)


@points(2)
def test_other_uses_are_not_reversed(reversed_once, used_elsewhere):
    """Other uses of x get their usual gradient, no hook stays on x, and no gradient is overwritten."""
    hint = "\n\nWhich ways back to x lead through your reversal?"
    for case in cases(used_elsewhere):
        assert_gradients(
            *case["early"], of="the sine of x, computed before the call,", because={"wrong": hint}
        )
        assert_gradients(*case["late"], of="10 * x, computed after the call,", because={"wrong": hint})
        assert_untouched(case.seen["kept"])
        h, y = case.seen["h"], case.seen["y"]
        assert_returned(y)
        same = "You returned x itself: what is done to the gradient of the result is done to all uses of x."
        assert y.identity != h.identity, same
        nowhere = "Nothing leads from the result back to x, so nothing is reversed anywhere."
        assert y.requires_grad or case.expected["lam"] == 0, nowhere
    for case in cases(reversed_once):
        assert_untouched(case.seen["kept"])
        wrote = "\n\nBoth terms of a sum get the same tensor. Does your backward write to it?"
        only = ["the other term"]
        assert_gradients(*case["shared"], of="the sum y + other", only=only, because={"wrong": wrote})


@picture
def two_ways_back(student):
    """Two ways lead from the loss to x. Your reversal should stand on one of them."""
    x = torch.randn(2, requires_grad=True)
    h = 3 * x
    return graph(loss=(10 * h + student.grad_reverse(h, 0.5)).sum(), h=h, x=x)


# --- q6: maml_grad


@inside
def lessons():
    """Weights of several forms with a .grad, two losses that share a tensor with a .grad, and a rate."""
    n, m, k = sizes(3)

    def lesson(shape, dtype, lr):
        w, scale, goal = torch.randn(3, *shape, dtype=dtype).unbind()
        w, scale = w.clone().requires_grad_(), scale.clone().requires_grad_()
        w.grad, scale.grad = torch.randn_like(w), torch.randn_like(w)
        turn = torch.randn(w.numel(), w.numel(), dtype=dtype)

        def task_loss(v):
            return ((turn @ v.flatten()).sin() * scale.flatten()).sum() + (v**3).mean()

        def query_loss(v):
            return ((v - goal) ** 2).sum() + (scale * v).sum()

        return w, task_loss, query_loss, lr, scale

    return {
        "Where w is a vector": lesson((n + 1,), torch.float32, number(0.05, 0.15)),
        "Where w is a float64 matrix": lesson((m, k), torch.float64, number(0.25, 0.35)),
        "With lr = 0": lesson((k,), torch.float32, 0.0),
    }


@inside
def by_the_hessian(w, task_loss, query_loss, lr):
    """The chain rule by hand: the gradient at the fast weights, less lr times the Hessian times it."""
    w = w.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad(task_loss(w), w)
    fast = (w - lr * g).detach().requires_grad_()
    (q,) = torch.autograd.grad(query_loss(fast), fast)
    hessian = torch.autograd.functional.hessian(task_loss, w.detach())
    return q - lr * (hessian.reshape(q.numel(), q.numel()) @ q.flatten()).reshape(q.shape)


@probe(cases=lessons, oracle=by_the_hessian)
def adapted(student, w, task_loss, query_loss, lr, scale):
    """The gradient; what else it may be taken for; a loss from before the call; and what changed."""
    pending = w**2
    with untouched(w=w, scale=scale) as kept:
        gradient = student.maml_grad(w, task_loss, query_loss, lr)
    (g,) = torch.autograd.grad(task_loss(w), w)
    fast = (w - lr * g).detach().requires_grad_()
    others = {
        "the first-order gradient": torch.autograd.grad(query_loss(fast), fast)[0],
        "the gradient of query_loss at w itself": torch.autograd.grad(query_loss(w), w)[0],
        "the gradient of task_loss": g,
    }
    return {"kept": kept, "gradient": snap(gradient), "pending": gradients(pending, w=w), "others": others}


@points(3)
def test_second_order_gradient(adapted):
    """The gradient counts that the inner gradient depends on w."""
    hint = "Is fast what the task says? On what does it depend, and which of these ways does autograd know?"
    for case in cases(adapted):
        gradient, right = case["gradient"]
        assert_returned(gradient)
        others = case.expected["others"] if case.name != "With lr = 0" else {}
        told = "The gradient is not that of query_loss(fast) with respect to w."
        with blaming_changes(case.seen["kept"], only=["w:value"]):
            assert_close(gradient, right, f"{told}\n\n{hint}", others, all_digits=True)


@points(2)
def test_w_is_left_alone(adapted):
    """Nothing is written to w, and no .grad changes."""
    hint = "Which of your lines writes to w or fills a .grad, if only for a moment?"
    for case in cases(adapted):
        assert_returned(case.seen["gradient"])
        assert_untouched(case.seen["kept"], hint=hint)
        assert_gradients(*case["pending"], of="a loss from before the call")


@picture
def what_comes_back(student):
    """What your function hands to query_loss: does a step of training stand between it and w?"""
    w, seen = torch.randn(1, requires_grad=True), []

    def query_loss(v):
        seen.append(v)
        return (v**2).sum()

    attempt(student.maml_grad, w, lambda v: (v**3).sum(), query_loss, 0.1)
    return graph(query_loss=(seen[0] ** 2).sum(), w=w)


# --- q7: per_sample_grads


@inside
class Nested(nn.Module):
    """Layers with like names at two depths; one weight stands in two places, and dropout is in eval mode."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.Dropout(0.5).eval())
        self.echo, self.fc = nn.Linear(inputs, hidden, bias=False), nn.Linear(hidden, outputs)
        self.echo.weight = self.body[0].weight
        self.register_buffer("shift", torch.randn(outputs))

    def forward(self, x):
        return self.fc(torch.tanh(self.body(x) - 2 * self.echo(x).sin())) + self.shift


@inside
def batches():
    """Models and batches of several samples, of equal ones, and of a single one."""
    n, inputs, hidden, outputs = sizes(4)
    small = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, outputs))
    X, Y = torch.randn(n + 1, inputs), torch.randn(n + 1, outputs)
    X[0] *= 5
    deep = Nested(inputs, hidden, outputs).double()
    return {
        "With several samples": (small, X, Y),
        "With a model that is nested and tied (float64)": (deep, X.double().flip(0), Y.double()),
        "With a single sample": (nn.Linear(hidden, outputs), torch.randn(1, hidden), torch.randn(1, outputs)),
    }


@inside
def one_by_one(model, X, Y):
    """A loop over samples, each by itself."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    rows = [torch.autograd.grad(F.mse_loss(model(x), y), parameters) for x, y in zip(X, Y, strict=True)]
    return {name: torch.stack([row[place] for row in rows]) for place, name in enumerate(names)}


@probe(cases=batches, oracle=one_by_one)
def each_sample(student, model, X, Y):
    """The gradients of each sample; what they may be taken for; and what else the call changed."""
    with untouched(model=model, X=X, Y=Y) as kept:
        result = student.per_sample_grads(model, X, Y)
    names, parameters = zip(*model.named_parameters(), strict=True)
    whole = torch.autograd.grad(F.mse_loss(model(X), Y), parameters)
    batch = {name: torch.stack([one] * len(X)) for name, one in zip(names, whole, strict=True)}
    total = {name: len(X) * rows for name, rows in batch.items()}
    return {"kept": kept, "the result": result, "batch": batch, "total": total}


@points(3)
def test_gradient_of_each_sample(each_sample):
    """Entry i is the gradient of sample i alone.

    Which loss goes back for row i? And which other backward writes to the tensor that you put there?
    """
    for case in cases(each_sample):
        rows, right = case["the result"]
        assert len(rows) == len(right), "The dict has more entries than the model has parameters."
        for name, expected in right.items():
            others = {
                "the gradient of the whole batch, in every row": case.expected["batch"][name],
                "the sum of the gradients of all samples, in every row": case.expected["total"][name],
            }
            told = f"In the entry {name}, row i is not the gradient of sample i alone."
            assert_close(rows[name], expected, told, others if expected.shape[0] > 1 else {})


@points(1)
def test_model_is_left_alone(each_sample):
    """The .grad of the model is None afterwards, and nothing else changes."""
    for case in cases(each_sample):
        assert_returned(case.seen["the result"])
        assert_untouched(case.seen["kept"], hint="Which of your calls fills .grad? Is it empty at the end?")


# --- q8: hvp


@inside
def valleys():
    """Points of several forms with a .grad, functions that use other tensors, and directions."""
    n, m, k = sizes(3)

    def valley(shape, dtype):
        x, v = torch.randn(2, *shape, dtype=dtype).unbind()
        x, v = x.clone().requires_grad_(), 3 * v
        turn = torch.randn(x.numel(), x.numel(), dtype=dtype)
        scale = torch.randn(x.numel(), dtype=dtype)
        x.grad = torch.randn_like(x)

        def f(t):
            flat = t.flatten()
            return ((turn @ flat).sin() * scale).sum() + (flat**3).sum() * flat[0]

        return f, x, v, scale

    return {
        "Where x is a vector": valley((n + 1,), torch.float32),
        "Where x is a float64 matrix": valley((m, k), torch.float64),
        "Where x has a single entry": valley((1,), torch.float64),
    }


@inside
def by_the_matrix(f, x, v):
    """The whole Hessian, times v."""
    hessian = torch.autograd.functional.hessian(f, x.detach())
    return (hessian.reshape(v.numel(), v.numel()) @ v.flatten()).reshape(v.shape)


@probe(cases=valleys, oracle=by_the_matrix)
def multiplied(student, f, x, v, scale):
    """The product; what else it may be taken for; and what changed."""
    with untouched(x=x, v=v, scale=scale) as kept:
        product = student.hvp(f, x, v)
    (g,) = torch.autograd.grad(f(x), x)
    others = {"the gradient of f": g, "the gradient times v": g * v}
    others["the old x.grad and the gradient of f"] = x.grad + g
    return {"kept": kept, "product": snap(product), "others": others}


@points(2)
def test_product_is_right(multiplied):
    """The result is the Hessian at x times v, in the shape of x."""
    for case in cases(multiplied):
        product, right = case["product"]
        assert_returned(product)
        hint = "What is differentiated the second time, and what goes back from it?"
        told = f"The result is not the Hessian times v.\n\n{hint}"
        assert_close(product, right, told, case.expected["others"], all_digits=True)


@points(1)
def test_nothing_is_left_behind(multiplied):
    """The result has no graph, and no .grad changes."""
    for case in cases(multiplied):
        product = case.seen["product"]
        assert_returned(product)
        assert not product.requires_grad, (
            "The result requires grad: its graph stays alive with it.\n\nWhich gradient was recorded?"
        )
        assert_untouched(case.seen["kept"], hint="Which of your calls fills .grad?")


@picture
def product_of_a_small_hessian(student):
    """The product that you return, and x."""
    x = torch.randn(2, requires_grad=True)
    return graph(product=student.hvp(lambda t: (t**3).sum(), x, torch.ones(2)), x=x)


# --- end task: train_two_heads


@inside
def trainings():
    """A body and two heads with data: each part of the task alone, and all parts together."""
    n, inputs, features = sizes(3)

    def training(epochs, slow, weight, dtype=torch.float32):
        body = nn.Sequential(nn.Linear(inputs, features + 1), nn.Tanh(), nn.Linear(features + 1, features))
        modules = [body.append(nn.Tanh()), nn.Linear(features, 2), nn.Linear(features, 3)]
        body[1].eval()  # a mode of the caller's, which stays
        data = torch.randn(n, inputs), 3 * torch.randn(n, 2), 3 * torch.randn(n, 3)
        rest = epochs, number(0.05, 0.1), slow, weight
        return (*(one.to(dtype) for one in (*modules, *data)), *rest)

    return {
        "With weight = 0": training(1, number(0.2, 0.4), 0.0),
        "With weight = 0 and slow = 0": training(1, 0.0, 0.0),
        "With slow = 1": training(1, 1.0, number(1, 2)),
        "With weight = 0 and slow = 1": training(4, 1.0, 0.0),
        "With all three terms": training(3, number(0.2, 0.4), number(1, 2), torch.float64),
    }


@inside
def by_hand(body, main, aux, X, Y, Z, epochs, lr, slow, weight):
    """The slopes one by one, the gradient of the second term by itself, and the step by hand."""
    trunk, heads = list(body.parameters()), [*main.parameters(), *aux.parameters()]
    history = []
    for _ in range(epochs):
        rows = [row[None].clone().requires_grad_() for row in X]
        slopes = [torch.autograd.grad(main(body(row)).sum(), row, create_graph=True)[0] for row in rows]
        penalty = torch.stack([slope.norm() ** 2 for slope in slopes]).mean()
        losses = F.mse_loss(main(body(X)), Y) + weight * penalty, F.mse_loss(aux(body(X)), Z)
        pairs = zip(
            *(torch.autograd.grad(loss, [*trunk, *heads], materialize_grads=True) for loss in losses),
            strict=True,
        )
        factors = [slow] * len(trunk) + [1] * len(heads)
        steps = [own + factor * other for factor, (own, other) in zip(factors, pairs, strict=True)]
        history.append(steps[len(trunk)])
        with torch.no_grad():
            for parameter, step in zip([*trunk, *heads], steps, strict=True):
                parameter.sub_(lr * step)
    return history


@inside
def flat(tensors):
    """All elements in one tensor."""
    return torch.cat([one.detach().flatten() for one in tensors])


@inside
def body_after_a_step(body, main, aux, X, Y, Z, lr, slow):
    """Where a body may end after an epoch without the penalty."""
    trunk, h = list(body.parameters()), body(X)
    own, beside = (
        flat(torch.autograd.grad(loss, trunk, retain_graph=True))
        for loss in (F.mse_loss(main(h), Y), F.mse_loss(aux(h), Z))
    )
    return {
        "slowed": flat(trunk) - lr * slow * (own + beside),
        "in full": flat(trunk) - lr * (own + beside),
    }


@probe(cases=trainings, oracle=by_hand)
def trained(student, body, main, aux, X, Y, Z, *rest):
    """The list that comes back, where the training ended, and what else the call changed."""
    modules, (_, lr, slow, _) = {"body": body, "main": main, "aux": aux}, rest
    others = body_after_a_step(body, main, aux, X, Y, Z, lr, slow)
    with untouched(**modules, X=X, Y=Y, Z=Z) as kept:
        history = student.train_two_heads(body, main, aux, X, Y, Z, *rest)
    ends = {name: flat(module.parameters()) for name, module in modules.items()}
    return {"history": history, "kept": kept, "others": others, **ends}


NOT_THOSE = "The entries are not the gradients that the epochs of the right training have."


def trained_with(trained, *names):
    """The cases of these names."""
    for case in cases(trained):
        if case.name in names:
            yield case


def assert_ends_right(case, *, all_digits=False):
    """All three modules end where the training leads."""
    for name in ("aux", "body", "main"):
        told = f"The parameters of {name} do not end where they should."
        hint = "Which of the three terms reach them, and by what is each multiplied on its way?"
        assert_close(*case[name], f"{told}\n\n{hint}", all_digits=all_digits)


def test_body_is_slowed_for_the_second_head_only(trained):
    """Without the penalty, the body learns for main in full, and for aux by the factor slow."""
    hint = "\n\nWhich ways back to h does your factor meet?"
    for case in trained_with(trained, "With weight = 0", "With weight = 0 and slow = 0"):
        body, slowed = case.seen["body"], case.expected["others"]["slowed"]
        assert not is_close(body, slowed), f"What main sends back into the body is slowed, too.{hint}"
        full = case.expected["others"]["in full"]
        assert not is_close(body, full), f"What aux sends back into the body is not slowed.{hint}"
        assert_ends_right(case)


def test_penalty_teaches(trained):
    """If nothing is slowed, the penalty has its share in the training."""
    for case in trained_with(trained, "With slow = 1"):
        assert not is_close(case.seen["body"], case.expected["others"]["in full"]), (
            "The penalty changes nothing: the body ends where the two other terms alone lead.\n\n"
            "What is the grad_fn of the tensor that you square?"
        )
        assert_ends_right(case)


def test_list_of_gradients(trained):
    """Without the penalty, and if nothing is slowed, each entry of the list is the gradient of its epoch."""
    hint = "\n\nDoes the training go the right way? Which tensor is in the list, and who writes to it later?"
    for case in trained_with(trained, "With weight = 0 and slow = 1"):
        history, right = case["history"]
        assert_returned(history)
        assert len(history) == len(right), f"After {len(right)} epochs the list has {len(history)} entries."
        same = all(is_close(entry, history[0]) for entry in history)
        assert not same, f"All {len(history)} entries of the list are the same.{hint}"
        assert_close(history, right, f"{NOT_THOSE}{hint}")


def test_all_together(trained):
    """With all three terms and in float64 the training is right, and nothing else changes."""
    stays = ["*:value", "*:version", "*:grad"]
    for case in cases(trained):
        assert_untouched(case.seen["kept"], only=["X", "Y", "Z"])
        assert_untouched(case.seen["kept"], only=["body", "main", "aux"], but=stays)
    for case in trained_with(trained, "With all three terms"):
        hint = "Does another check of this question fail? Then see to that first."
        assert_close(*case["history"], f"{NOT_THOSE}\n\n{hint}", all_digits=True)
        assert_ends_right(case, all_digits=True)
