"""The hidden checks of 08_functions_and_hooks: custom Functions, hooks and second derivatives."""

from grader import (
    Call,
    Cases,
    Rules,
    assert_no_side_effects,
    assert_same_gradients,
    assert_same_values,
    contract,
    data,
    network,
    number,
    own,
    picture,
    points,
    target,
    tensor,
)
from grader.inside import attempt, gradients, graph, inside, nn, torch

# --- q1: Square

SHAPES = ("n m", "n", "1", "")


@inside
def of_x(function, setup):
    """What a Function makes of x."""
    return function.apply(setup["x"])


@inside
def as_it_is(setup, kind):
    """A kind itself, for what happens later."""
    return kind("kind")


@inside
def either_sign(*shape):
    """Numbers of which every other is negative, beginning with the first."""
    x = torch.rand(shape, dtype=torch.float64) + 0.3
    x.view(-1)[::2] *= -1
    return x


@inside
def after_a_write(setup, y):
    """The recorded gradient and its gradients; and the gradients of the result after a later write."""
    x, slope, write = (setup[name] for name in ("x", "the gradient that came in", "a later write"))
    leaf = setup.starts.get("x", x)
    second = gradients(
        lambda: torch.autograd.grad(y, x, slope, create_graph=True)[0],
        {"the gradient that came in": slope},
        x=leaf,
    )
    writes = {
        "zeros": lambda: x.detach().zero_(),
        "one entry": lambda: (x[-1] if x.dim() else x).fill_(7.0),
        "same values": lambda: x.copy_(x.clone()),
        "result": y.zero_,
    }
    with torch.no_grad():
        writes[write]()
    return {
        "the gradient that `create_graph=True` records": second,
        "the result, after a later write,": gradients(y, x=leaf),
    }


square = contract(
    "Square",
    {
        "x": tensor(*SHAPES, values=[either_sign, "zeros", "far"], roles=["computed", "leaf"]),
        "the gradient that came in": tensor("=x", roles=["leaf"], layouts=["contiguous"], grads=["none"]),
        "a later write": own(
            as_it_is,
            kind=["zeros", "one entry", "same values", "result"],
            words={
                "one entry": "changes the last entry of `x`",
                "same values": "writes the same values into `x`",
                "result": "changes only the result",
            },
        ),
    },
    name="square",
    cases=Cases(
        modes=["on"], sequences=["first", "other", "changed"], cover=["x.shape", "a later write.kind"]
    ),
    call=Call(given=["x"], how=of_x, then=after_a_write),
    rules=Rules(full_precision=True),
)


@points(5)
def test_gradients_and_writes(square):
    """Gradients are correct; `backward()` detects changes to `x`."""
    assert_no_side_effects(square)
    assert_same_values(square, "The values are not `x * x`.")
    assert_same_gradients(
        square,
        because={"wrong": "\n\nPrint the values by which your `backward` multiplies the incoming gradient."},
        then={
            "the gradient that `create_graph=True` records": {
                "not connected": "\n\nAutograd must record what `backward` computes, with tensors that are "
                "connected to the graph.",
                "wrong": "\n\nIf the first gradient is correct, look for a part of `backward` that "
                "autograd does not record.",
            },
            "the result, after a later write,": "Backward raised no error, although `x` was modified in "
            "place.\n\nAutograd checks the version of a tensor only if "
            "`ctx.save_for_backward` saved it.",
        },
    )


@picture
def square_and_its_gradient(student):
    """The gradient of your square, recorded: the backward pass is a computation, too."""
    x = torch.randn(2, requires_grad=True)
    (gradient,) = torch.autograd.grad(student.Square.apply(x).sum(), x, create_graph=True)
    return graph(gradient=gradient, x=x)


# --- q2: Scale_


@inside
def one_number_or_more(setup, kind):
    """The numbers of the calls that are made one after the other."""
    return [1.7, -0.4, 2.3] if kind("value") == "three" else [kind("value")]


@inside
def of_x_and_k(function, setup):
    """What the last call of a Function returns."""
    for k in setup["k"]:
        result = function.apply(setup["x"], k)
    return result


@inside
def by_its_old_name(setup, y):
    """Whether x came back, and the gradient of what is computed from x afterwards."""
    of = "`3 * x`, computed after the call,"
    return {"x itself": y is setup["x"], of: gradients(lambda: 3 * setup["x"], x=setup.starts["x"])}


THROUGH_X = "\n\nPrint `x.grad_fn` after the call: its backward must multiply by `k`."

scale = contract(
    "Scale_",
    {
        "x": tensor(
            *SHAPES,
            values=["normal", "zeros"],
            roles=["computed"],
            layouts=["contiguous", "transposed", "gaps"],
            pending=True,
        ),
        "k": own(
            one_number_or_more,
            value=[1.7, -0.6, 0.0, 1.0, "three"],
            words={"three": "differs between three calls"},
            says="a finite float, which may be negative, 0 or 1",
        ),
    },
    name="scale",
    cases=Cases(
        modes=["on"],
        sequences=["first", "other", "same"],
        never=[{"x.pending": "loss", "k.value": 1.0}],
        cover=["x.values", "x.pending", "k.value"],
    ),
    call=Call(how=of_x_and_k, then=by_its_old_name),
    rules=Rules(full_precision=True),
)


@points(3)
def test_x_is_scaled_in_place(scale):
    """`x` is scaled in place and returned."""
    assert_same_values(
        scale,
        "The result does not hold the old values of `x` times `k`.",
        changes={
            "x:value": "`x` does not hold its old values times `k`.\n\nWrite the product to `x` itself."
        },
        then={
            "x itself": "The call did not return `x` itself. Autograd returns a new object unless it knows "
            "that `x` was modified in place, and every out-of-place operation returns one, too."
        },
    )
    assert_no_side_effects(
        scale, "Check which tensors `forward` and `backward` write to: other code may still use them."
    )


@points(3)
def test_gradients_of_new_and_old_values(scale):
    """Gradients are correct, and stale losses raise errors."""
    assert_same_gradients(
        scale,
        because={"wrong": "\n\nEach call must multiply the gradient by its own `k`."},
        then={
            "`3 * x`, computed after the call,": dict.fromkeys(
                ["wrong", "not connected", "no history"], THROUGH_X
            ),
        },
        pending="A loss computed from the old values of `x` backpropagated without an error, although "
        "those values are gone.\n\nYour write must increase `x._version`.",
    )


@picture
def x_after_the_call(student):
    """The tensor x after your call, and the leaf a behind it: which operation did autograd record last?"""
    a = torch.randn(2, requires_grad=True)
    x = a + 1
    attempt(student.Scale_.apply, x, 3.0)
    return graph(x=x, a=a)


# --- q3: penalty


@inside
class OfImages(nn.Module):
    """A critic of images: what another gives for each row of pixels, weighted and added."""

    def __init__(self, of_rows, channels, height):
        super().__init__()
        self.of_rows, self.training = of_rows, of_rows.training
        self.share = torch.tensor([1, -2, 3, 4, -5, 6]).view(height, channels, 1)

    def forward(self, x):
        return (self.of_rows(x.transpose(1, 2)) * self.share / 4).sum((1, 2))


@inside
def of_vectors_or_images(function, setup):
    """The penalty of D, or of a critic of images with D in it."""
    D, x = setup["D"], setup["x"]
    return function(OfImages(D, *x.shape[1:3]) if x.dim() == 4 else D, x)


penalty = contract(
    "penalty",
    {
        "x": data(
            "n features",
            "1 features",
            "n 1",
            "n 2 3 features",
            says="(n, features) or (n, channels, height, width)",
        ),
        "D": network(
            "*x",
            nest=["flat", "own"],
            train=["train", "part eval"],
            width=["one column"],
            rows=["each"],
            frozen=["no", "one frozen"],
            inside=["louder", "norm"],
            numbers=["quiet", "large", "even"],  # norms below 1, so that what counts above it only is wrong
            grads=["none", "filled"],
            gives=["new"],
            hooks=["no"],
            says="makes (n, 1) of x",
        ),
    },
    cases=Cases(
        modes=["on"],
        sequences=["first", "other", "changed"],
        cover=["all.dtype", "D.numbers", "x.shape", "x.layout"],
    ),
    call=Call(given=["D", "x"], how=of_vectors_or_images),
    rules=Rules(full_precision=True),
)


@points(4)
def test_value_and_gradient_of_the_penalty(penalty):
    """The penalty and its gradient are correct."""
    assert_same_values(
        penalty,
        "The value is not the mean of `(norm - 1) ** 2` over the samples, with one norm for each.\n\nTake "
        "one norm for each sample, over all its other dimensions, and then the mean. A norm below 1 "
        "counts, too.",
    )
    assert_same_gradients(
        penalty,
        "the penalty",
        because={
            "no history": "\n\nPrint the `grad_fn` of the tensor whose norm you take: it must be connected "
            "to the graph.",
            "not connected": "So the inner gradient is a leaf or a constant for autograd.\n\nPrint its "
            "`grad_fn`.",
        },
    )


@points(1, side_effects=True)
def test_arguments_are_unchanged(penalty):
    """`D`, `x` and every `.grad` are unchanged."""
    assert_no_side_effects(
        penalty, "Look for a call that fills a `.grad`, or changes a mode or the caller's `x`."
    )


@picture
def penalty_of_a_small_critic(student):
    """The penalty of a critic with one weight: is it connected to the weight?"""
    D = nn.Linear(2, 1, bias=False)
    return graph(penalty=student.penalty(D, torch.randn(1, 2)), D=D)


# --- q4: clip_grad_hook


@inside
def non_leaf(setup, kind):
    """A non-leaf: alone, one of two results of an operation, or with a hook of the caller's."""
    shape = setup.shape(kind("shape"))
    a, b = (torch.randn(shape, dtype=setup.dtype).requires_grad_() for _ in range(2))
    setup.starts["t"], t = a, 2 * a
    if kind("of") == "two":
        t, setup["its neighbour"] = torch.unbind_copy(torch.stack([t, 3 * b]))
        setup.starts["its neighbour"] = b
    elif kind("of") == "hooked":
        t.register_hook(lambda gradient: 3 * gradient)
    return t


@inside
def what_arrives(setup, kind):
    """Two gradients with entries far beyond the limit, just inside it, and 0; some are inside as a sum."""
    parts = torch.tensor([5.0, -7.0, 0.8, -1.5, 3000.0, -0.99, 0.5, 0.01, 0.0], dtype=torch.float64)
    more = torch.tensor([-4.5, 6.8, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    if kind("entries") == "inside":
        parts, more = parts / 4000, more / 4000
    elif kind("entries") != "all":
        sign = -1 if kind("entries") == "negative" else 1
        parts, more = sign * parts.abs(), sign * more * parts.sign()
    t = setup["t"]
    places = torch.arange(t.numel()) % len(parts)
    return [(setup["limit"] * part[places]).view(t.shape).to(t.dtype) for part in (parts, more)]


@inside
def call_of_a_caller(function, setup):
    """The handle, or None where the caller discards it."""
    handle = function(setup["t"], setup["limit"])
    return handle if setup["the handle"] == "kept" else None


@inside
def sent_back(setup, handle):
    """What arrives behind t and beside it, and what arrives behind t after the handle was used."""
    t, a, (one, two) = setup["t"], setup.starts["t"], setup["the gradient"]
    other = torch.zeros_like(a).requires_grad_()

    def behind(outputs, leaf, *arriving):
        return attempt(lambda: torch.autograd.grad(outputs, leaf, arriving, retain_graph=True)[0])

    def unhooked():
        handle.remove()
        return torch.autograd.grad(t, a, one.clone(), retain_graph=True)[0]

    for _ in range(setup["this backward"]):
        behind([t], a, one.clone())
    shared = one.clone()
    found = {"once": behind([t], a, one.clone()), "sum": behind([1 * t, -1 * t], a, one.clone(), -two)}

    def stays():
        kept = torch.autograd.grad(1 * t, t, one.clone(), retain_graph=True)[0]
        then = kept.clone()
        torch.autograd.grad(1 * t, t, two.clone(), retain_graph=True)
        return torch.equal(kept, then)

    found["earlier"] = attempt(stays)
    found |= {"term": behind([t + other], [other, a], shared), "shared": shared}
    if "its neighbour" in setup:
        both = [t, setup["its neighbour"]]
        found["neighbour"] = behind(both, setup.starts["its neighbour"], two.clone(), one.clone())
    return {**found, "unhooked": attempt(unhooked)} if setup["the handle"] == "kept" else found


LIMITED = "The gradient that `t` passes on is not its incoming gradient, clipped entry by entry"
RETURNS = "\n\nThe hook must return the clipped gradient in every backward, until its handle removes it."
WRITES = "\n\nOther code may use the tensor that your hook receives, so the hook must not write to it."

clip_grad_hook = contract(
    "clip_grad_hook",
    {
        "t": own(
            non_leaf,
            shape=(*SHAPES, "0 n"),
            of=["alone", "two", "hooked"],
            words={
                "two": "is one of two results of an operation",
                "hooked": "has a hook that the caller registered",
            },
            says="a non-leaf that requires grad, of any shape, float32 or float64",
        ),
        "limit": number(0.3, 1.1, 30.0, says="a float above 0"),
        "the gradient": own(
            what_arrives,
            entries=["all", "negative", "positive", "inside"],
            words={
                "negative": "has no positive entry",
                "positive": "has no negative entry",
                "inside": "is within the limit",
            },
        ),
        "this backward": own(as_it_is, kind=[0, 40], words={40: "comes after many others"}),
        "the handle": own(
            as_it_is, kind=["kept", "discarded"], words={"discarded": "is discarded by the caller"}
        ),
    },
    cases=Cases(modes=["on"], sequences=["first", "other", "same"], cover=["t.of", "the gradient.entries"]),
    call=Call(given=["t", "limit"], how=call_of_a_caller, returns="nothing", then=sent_back),
    rules=Rules(ignore=["t:attributes"], full_precision=True),
)


@points(5)
def test_what_is_limited(clip_grad_hook):
    """The hook clips only the gradient through `t`."""
    assert_no_side_effects(clip_grad_hook)
    assert_same_values(
        clip_grad_hook,
        then={
            "once": f"{LIMITED}.{RETURNS}",
            "sum": f"{LIMITED}, if `t` is used twice: the sum must be clipped.{RETURNS}",
            "earlier": "A gradient that an earlier backward returned for `t` has other values after the "
            "next backward.\n\nYour hook must return a new tensor each time.",
            "term": f"In `t + other`, the gradient of `other` has changed.{WRITES}",
            "shared": f"The gradient that arrives at `t` is overwritten.{WRITES}",
            "neighbour": "The gradient of another result of the operation that made `t` has "
            "changed.\n\nRegister the hook on `t`.",
            "unhooked": "After `handle.remove()`, `t` does not pass on the same gradient as before the "
            "call.\n\nRemoving the handle must end the clipping, and leave the other hooks "
            "registered.",
        },
    )
    assert_same_gradients(clip_grad_hook)


# --- q5: grad_reverse


@inside
def one_number_or_two(setup, kind):
    """lam, and that of a later call."""
    return [0.7, 2.3] if kind("value") == "two" else [kind("value")]


@inside
def of_x_and_lam(function, setup):
    """The result of the first call; there may be another with the same x."""
    results = [function(setup["x"], lam) for lam in setup["lam"]]
    return results[0]


@inside
def other_ways_back(setup, y):
    """The gradients of a second backward of the result, and of a tensor computed from x afterwards."""
    x = setup["x"]
    leaf = setup.starts.get("x", x)
    for _ in range(setup["the next backward"]):
        attempt(lambda: torch.autograd.grad(y.sum(), leaf, retain_graph=True))
    return {
        "the result, in a later backward,": gradients(y, x=leaf),
        "`10 * x`, computed after the call,": gradients(lambda: 10 * x, x=leaf),
    }


CUT = "\n\nPrint the `grad_fn` of the result."

grad_reverse = contract(
    "grad_reverse",
    {
        "x": tensor(
            *SHAPES,
            values=["normal", "zeros", "huge"],
            roles=["computed", "leaf"],
            pending=True,
            says="of any shape",
        ),
        "lam": own(
            one_number_or_two,
            value=[0.7, 10.0, 0.0, 1e-6, "two"],
            words={"two": "is a different number in a later call"},
            says="a float from 0 to 10",
        ),
        "the next backward": own(as_it_is, kind=[0, 40], words={40: "comes after many others"}),
    },
    cases=Cases(modes=["on"], cover=["x.role", "x.pending"]),
    call=Call(given=["x", "lam"], how=of_x_and_lam, then=other_ways_back),
    rules=Rules(full_precision=True),
)


@points(5)
def test_gradient_is_reversed_on_one_way(grad_reverse):
    """Only gradients through the result are reversed."""
    assert_no_side_effects(
        grad_reverse, "Don't modify `x`, and don't leave a hook on it.", may_share_storage=True
    )
    assert_same_values(
        grad_reverse,
        "The result does not have the values of `x`.",
    )
    assert_same_gradients(
        grad_reverse,
        because={
            "no history": CUT,
            "not connected": CUT,
            "wrong": "\n\nPrint the number by which the gradient is multiplied. One call must not change "
            "the number of another.",
        },
        then={
            "the result, in a later backward,": "\n\nPrint the number by which the gradient is multiplied in "
            "a later backward.",
            "`10 * x`, computed after the call,": "\n\nOnly gradients that pass through the result may be "
            "reversed.",
        },
    )


@picture
def two_ways_back(student):
    """Two paths connect the loss to x. Your reversal must be on one of them only."""
    x = torch.randn(2, requires_grad=True)
    h = 3 * x
    return graph(loss=(10 * h + student.grad_reverse(h, 0.5)).sum(), h=h, x=x)


# --- q6: maml_grad


@inside
def values_before(setup, kind):
    """The values of w or x apart from it; what moves it between two calls moves them, too."""
    return setup.get("w", setup.get("x")).detach().clone()


@inside
def of_a_tensor(setup, kind):
    """A function that uses another tensor; it raises an error if w or x is written to meanwhile."""
    leaf, other, values = setup.get("w", setup.get("x")), setup["another_tensor"], setup["values"]
    one, two, *wide = torch.randn(18, leaf.numel(), dtype=leaf.dtype)
    power, slope, across = kind("power"), kind("slope"), kind("order") == "across"
    depth = 16 if leaf.numel() > 1000 else 0  # so that a backward for each row takes too long

    def function(v):
        if not torch.allclose(leaf.detach(), values, rtol=1e-3):
            raise RuntimeError("the caller's tensor holds other values during the call")
        flat = (v.t() if across else v).flatten()
        for _ in range(depth):
            flat = flat + 0.1 * flat.sin()
        mixed = (one * flat + two * flat.roll(1)).sin() * other.flatten()
        return slope * v.sum() + mixed.sum() + (torch.stack(wide) * flat).pow(power).mean()

    return function


ORDERS = {"order": ["along", "across"], "words": {"across": "computes with the transpose of its argument"}}


@inside
def gradients_of_first_order(setup):
    """What is left of the gradient where its parts count as constants."""
    w, task_loss, query_loss, lr = (setup[name] for name in ("w", "task_loss", "query_loss", "lr"))
    (g,) = torch.autograd.grad(task_loss(w), w)
    first, at_w = (
        torch.autograd.grad(query_loss(v), v)[0] for v in ((w - lr * g).detach().requires_grad_(), w)
    )
    return {
        "the first-order gradient, for which `g` is a constant": first,
        "the gradient of `query_loss(w)`": at_w,
    }


maml_grad = contract(
    "maml_grad",
    {
        "w": tensor(*SHAPES, roles=["leaf"], pending=True, says="of any shape"),
        "another_tensor": tensor("=w", roles=["leaf"], layouts=["contiguous"]),
        "values": own(values_before),
        "task_loss": own(of_a_tensor, power=[3], slope=[1.0], **ORDERS, says="a function of a tensor like w"),
        "query_loss": own(
            of_a_tensor, power=[2], slope=[1.0], order=["along"], says="a function of a tensor like w"
        ),
        "lr": number(0.1, 0.0, 0.35, says="a float, 0 or more"),
    },
    cases=Cases(modes=["on"], cover=["w.grad", "lr.value"]),
    call=Call(
        given=["w", "task_loss", "query_loss", "lr"], gradients="none", mistakes=gradients_of_first_order
    ),
    rules=Rules(full_precision=True),
)


@points(3)
def test_second_order_gradient(maml_grad):
    """The gradient includes all paths to `w`."""
    assert_same_values(
        maml_grad,
        "The result is not the gradient of `query_loss(fast)` with respect to `w`.\n\n`fast` depends on "
        "`w` directly and through `g`. Autograd must record both.",
    )


@points(2)
def test_w_is_unchanged(maml_grad):
    """`w` and every `.grad` are unchanged."""
    assert_no_side_effects(
        maml_grad,
        "Don't write to `w` or fill a `.grad`, not even temporarily.",
        may_share_storage=True,
    )
    assert_same_gradients(maml_grad)


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
def a_first_row_of_huge_numbers(*shape):
    """A first row that is a million times the others."""
    values = torch.randn(shape, dtype=torch.float64)
    values[:1] *= 1e6
    return values


@inside
def row_by_row(setup, result):
    """The rows of each entry by themselves, so that a huge row does not hide the others."""
    return {name: list(rows) for name, rows in result.items()}


per_sample_grads = contract(
    "per_sample_grads",
    {
        "model": network(
            rows=["each"],
            frozen=["no"],
            train=["train", "part eval", "eval"],
            grads=["none"],
            gives=["new"],
            hooks=["no"],
            says="maps (in,) to (out,), and (N, in) to (N, out)",
        ),
        "X": data("N in", "1 in", says="(N, in)"),
        "Y": target(
            "X",
            "model",
            values=["normal", a_first_row_of_huge_numbers],
            says="(N, out), doesn't require grad",
        ),
    },
    cases=Cases(modes=["on"], sequences=["first", "other", "changed"], cover=["X.shape", "all.dtype", "Y.*"]),
    call=Call(gradients="none", then=row_by_row),
    rules=Rules(full_precision=True),
)


@points(3)
def test_gradient_of_each_sample(per_sample_grads):
    """Row `i` is the gradient of sample `i`."""
    assert_same_values(
        per_sample_grads,
        "The result is not a dict of the samples' own gradients with one entry for each name in "
        "`named_parameters()`.\n\nFor row `i`, backpropagate the loss of sample `i` only. No later "
        "backward may write to the tensor that you store.",
        then="A row is not the gradient of its sample alone.\n\nOther samples must not contribute to this "
        "row.",
        exact_types=True,
    )


@points(1, side_effects=True)
def test_model_is_unchanged(per_sample_grads):
    """The model is unchanged; `.grad` is `None`."""
    assert_no_side_effects(
        per_sample_grads,
        "Look for a call that fills `.grad`, which must be `None` at the end.",
        may_share_storage=True,
    )


# --- q8: hvp


@inside
def products_of_first_order(setup):
    """What the first gradient alone gives."""
    (g,) = torch.autograd.grad(setup["f"](setup["x"]), setup["x"])
    return {
        "the first gradient times `v`, with no second derivative in it": g * setup["v"],
        "the first gradient": g,
    }


hvp = contract(
    "hvp",
    {
        "x": tensor(
            *("n m", "n", "k k", "1", "4096"),
            roles=["leaf"],
            grads=["none", "filled", "heavy"],
            says="of any shape",
        ),
        "v": data("=x", values=["normal", "zeros"], says="of the shape of x, doesn't require grad"),
        "another_tensor": data("=x", layouts=["contiguous"]),
        "values": own(values_before),
        # In so steep a function, a difference of gradients has lost its digits even in float64.
        "f": own(of_a_tensor, power=[4], slope=[1e10], **ORDERS, says="a function of a tensor like x"),
    },
    cases=Cases(modes=["on"], cover=["x.grad", "v.values", "all.dtype"]),
    call=Call(given=["f", "x", "v"], gradients="none", mistakes=products_of_first_order),
    rules=Rules(full_precision=True),
)


@points(3)
def test_product_is_right(hvp):
    """The Hessian-vector product is correct and detached."""
    assert_no_side_effects(hvp, "Look for a call that fills a `.grad`.", may_share_storage=True)
    assert_same_values(
        hvp,
        "The result is not the Hessian times `v`.\n\nThe second time, differentiate the gradient `g`, with "
        "`v` as its incoming gradient.",
    )
    assert_same_gradients(hvp, flags=True)


@picture
def product_of_a_small_hessian(student):
    """The product that you return, and x."""
    x = torch.randn(2, requires_grad=True)
    return graph(product=student.hvp(lambda t: (t**3).sum(), x, torch.ones(2)), x=x)


# --- bonus task: train_two_heads


@inside
def a_head(setup, kind):
    """A layer on the features."""
    return nn.Linear(setup.size("features"), kind("outputs")).to(setup.dtype)


BODY = {name: ["no"] for name in ("frozen", "hooks")} | {
    "width": ["several"],
    "inside": ["louder"],
    "rows": ["each"],
    "grads": ["none"],
    "gives": ["new"],
}
PLAIN = {"nest": ["flat"], "train": ["train"], "tied": ["no"], "buffers": ["no"]}


TRAINED = [f"{each}*:{part}" for each in ("body", "main", "aux") for part in ("grad", "version")]
ONE_TRAINING = Cases(modes=["on"], sequences=["first"])


def training(name, epochs, slow, weight, *, of_body=PLAIN, cases=ONE_TRAINING, **judged):
    """A contract of some trainings, in which a part of the task counts, and mistakes elsewhere do no harm."""
    return contract(
        "train_two_heads",
        {
            "body": network(
                "inputs",
                "features",
                says="maps (n, inputs) to (n, features)",
                **(BODY | of_body),
            ),
            "main": own(a_head, outputs=[2], says="an nn.Linear that takes what body returns"),
            "aux": own(a_head, outputs=[3], says="an nn.Linear that takes what body returns"),
            "X": data("n inputs", layouts=["contiguous"], says="(n, inputs), doesn't require grad"),
            "Y": data(
                "n 2", layouts=["contiguous"], says="in the shape of main(body(X)), doesn't require grad"
            ),
            "Z": data(
                "n 3", layouts=["contiguous"], says="in the shape of aux(body(X)), doesn't require grad"
            ),
            "epochs": number(epochs, says="an int"),
            "lr": number(0.07, says="a float"),
            "slow": number(*slow, says="a float, 0 or more"),
            "weight": number(*weight, says="a float, 0 or more"),
        },
        name=name,
        cases=cases,
        **judged,
    )


ENDS = (
    "have wrong values after training.\n\nCheck which of the three terms backpropagate to them, and with "
    "which factor."
)
without_penalty = training(
    "without_penalty",
    1,
    slow=[0.3, 0.0],
    weight=[0.0],
    call=Call(gradients="none", returns="nothing"),
    rules=Rules(ignore=TRAINED, full_precision=True),
)
with_penalty = training(
    "with_penalty",
    1,
    slow=[1.0],
    weight=[1.5],
    call=Call(gradients="none", returns="nothing"),
    rules=Rules(ignore=TRAINED, full_precision=True),
)
HISTORY = "The list does not hold the gradient of `main.weight` for each epoch.\n\n"
gradients_of_epochs = training(
    "gradients_of_epochs",
    4,
    slow=[1.0],
    weight=[0.0],
    call=Call(gradients="none"),
    rules=Rules(ignore=[*TRAINED, "body*:value", "main*:value", "aux*:value"], full_precision=True),
)
train_two_heads = training(
    "train_two_heads",
    3,
    slow=[0.3, 2.0],
    weight=[1.5, 0.0],
    of_body={},
    cases=Cases(modes=["on"], sequences=["first", "other"], cover=["all.dtype", "slow.*", "weight.*"]),
    call=Call(gradients="none"),
    rules=Rules(ignore=TRAINED, full_precision=True),
)


def test_body_is_slowed_for_the_second_head_only(without_penalty):
    """`slow` scales only `aux`'s gradient into `body`."""
    assert_same_values(
        without_penalty,
        changes={
            "body*:value": "`body` was not updated with the full gradient of the loss of `main` plus "
            "`slow` times that of `aux`.\n\nCheck which gradients your factor multiplies.",
            "*:value": f"The parameters of a head {ENDS}",
        },
    )


def test_penalty_gives_gradients(with_penalty):
    """The penalty contributes to the gradients."""
    assert_same_values(
        with_penalty,
        changes={
            "*:value": "With the penalty, the step has wrong values.\n\nPrint the `grad_fn` of the tensor "
            "that you square."
        },
    )


def test_list_of_gradients(gradients_of_epochs):
    """Each list entry is that epoch's gradient."""
    assert_same_values(
        gradients_of_epochs,
        f"{HISTORY}No later `backward()` or step may write to a tensor in the list.",
    )


def test_all_together(train_two_heads):
    """The full training is correct, without side effects."""
    assert_no_side_effects(train_two_heads, may_share_storage=True)
    assert_same_values(
        train_two_heads,
        f"{HISTORY}If another check of this question fails, fix that first.",
        changes={"*:value": f"The parameters {ENDS}"},
    )
    assert_same_gradients(train_two_heads)
