"""The hidden checks of 04_detach: shared storage, saved tensors, and where to detach."""

from dataclasses import replace

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
    optimizer,
    own,
    picture,
    points,
    tensor,
)
from grader.inside import (
    attempt,
    graph,
    graph_at,
    inside,
    nn,
    torch,
)

WHICH_STORAGE = (
    "Compare the `data_ptr()` of all tensors, and check which storage each of your operations writes to."
)


@inside
def numbers_near_the_largest_float32(*shape):
    """Finite in float32, and the double of each is not."""
    values = (2.4 + torch.rand(shape, dtype=torch.float64)) * 1e38
    return values * torch.randn(shape).sign()


@inside
def numbers_near_1e308(*shape):
    """Finite in float64, and the double of each is not."""
    values = (1 + 0.7 * torch.rand(shape, dtype=torch.float64)) * 1e308
    return values * torch.randn(shape).sign()


# --- q1: positive_part


@inside
def entries_of_either_sign(*shape):
    """The first is negative, and the second positive."""
    values = torch.randn(shape, dtype=torch.float64)
    entries = values.view(-1)
    entries[:1], entries[1:2] = -0.2 - entries[:1].abs(), 0.2 + entries[1:2].abs()
    return values


positive_part = contract(
    "positive_part",
    {
        "y": tensor(
            *("n m", "n", "m n k", "1 1", "0 m"),
            values=[
                *(entries_of_either_sign, "positive", "negative", "tiny"),
                *(numbers_near_the_largest_float32, numbers_near_1e308),
            ],
            roles=["computed", "saved", "leaf", "plain"],
            layouts=["contiguous", "transposed", "gaps", "part", "expanded"],
            pending=True,
            says="of any shape with at least one dimension",
        )
    },
    cases=Cases(
        never=[
            {"y.role": "saved", "y.values": ("numbers_near_the_largest_float32", "numbers_near_1e308")},
            {"y.values": "numbers_near_1e308", "all.dtype": "float32"},
        ],
        cover=["y.role", "y.layout", "y.pending"],
    ),
    rules=Rules(full_precision=True, ignore=["result:inference"]),
)


@points(2)
def test_result_has_no_graph(positive_part):
    """The detached result has its own storage.

    `y.detach()` returns a tensor without a graph that shares storage with `y`.
    """
    result = positive_part.seen.tensor()
    graph_of = f": {result.grad_fn} connects it to `y`" if result.grad_fn else ""
    assert not result.requires_grad, f"The result requires grad{graph_of}."
    shared = positive_part.seen.shared_storage
    assert not shared, f"The result shares storage with {shared[0]}."


@points(2)
def test_positive_part_without_a_history(positive_part):
    """Values are correct and `loss.backward()` still works."""
    assert_same_values(positive_part, "The result is not `y` with its negative entries replaced by 0.")
    assert_same_gradients(
        positive_part,
        pending={
            "overwritten": "Your function modified `y` in place.\n\nPrint `data_ptr()` to find the tensors "
            "that share storage with `y`.",
            "wrong": "Backward raised no error and used the values that it found in the storage of "
            "`y`.\n\n`y._version` does not count writes through `.data` or NumPy.",
        },
        flags=True,
    )


@points(1, side_effects=True)
def test_y_is_unchanged(positive_part):
    """`y` is unchanged and shares no storage."""
    assert_no_side_effects(positive_part, WHICH_STORAGE)


@picture
def loss_of_y(student):
    """A loss that was computed before you look at y: do its saved tensors still have the same values?"""
    x = torch.randn(3, requires_grad=True)
    y = x + 1
    loss = (y**2).sum()
    result = attempt(student.positive_part, y)
    return graph(loss=loss, y=y, x=x, result=result)


# --- q2: may_overwrite


@inside
def a_way(linear=False):
    """A few operations, drawn at random, with slopes near 1; of a linear way backward saves nothing."""
    c = 0.5 + torch.rand(()).item()
    steps = [lambda v: c * v, lambda v: v + c, lambda v: c - v, lambda v: v / (1 + c), lambda v: -v]
    if not linear:
        steps += [lambda v: v + 0.5 * v.sin(), lambda v: 0.5 * v.cos() + v, lambda v: v - 0.5 * v.tanh()]
        steps += [lambda v: v.sigmoid() + v, lambda v: torch.where(v > 0, v, c * v)]
    chosen = [steps[n] for n in torch.randint(len(steps), [torch.randint(1, 4, ()).item()]).tolist()]

    def way(value):
        for one in chosen:
            value = one(value)
        return value

    return way


@inside
def computations(setup, kind):
    """Some f by what they do with mid, in any order; the rest of each is drawn at random."""
    n, m = setup["x"].shape
    w, v, u = (torch.randn(shape, requires_grad=True) for shape in ((m, 2), (2, n), (n, m)))
    k = torch.randn(n, m) * (kind("mid") != "zeros")
    uses = {
        "formulas": {
            "mid is squared": lambda y, _: (y**2, y),
            "mid is multiplied by itself": lambda y, _: (y * y + y, y),
            "mid is multiplied by a number": lambda y, _: (3 * y, y),
            "mid is subtracted from a number": lambda y, _: (2 - y, y),
            "mid is squared, and so is its double": lambda y, _: (3 * y + (2 * y) ** 2 + y**2, y),
            "the double of mid is squared": lambda y, _: (3 * y + (2 * y) ** 2, y),
        },
        "twins": {
            "mid is added, and its twin is squared": lambda y, twin: (twin**2 + 3 * y, y),
            "mid is squared, and its twin is added": lambda y, twin: (y**2 + 3 * twin, y),
        },
        "operations": {
            "mid goes into exp": lambda y, _: (y.exp(), y),
            "mid comes out of exp": lambda y, _: (2 * (e := y.exp()), e),
            "mid goes into relu": lambda y, _: (torch.relu(y), y),
            "mid comes out of relu": lambda y, _: ((e := torch.relu(y)) + 1, e),
            "mid goes into sigmoid": lambda y, _: (y.sigmoid(), y),
            "out = mid @ w, and w requires grad": lambda y, _: (y @ w, y),
            "out = mid @ w, and w doesn't require grad": lambda y, _: (y @ w.detach(), y),
            "out = w @ mid, and w requires grad": lambda y, _: (v @ y, y),
            "out = w @ mid, and w doesn't require grad": lambda y, _: (v.detach() @ y, y),
        },
        "views": {
            "a view of mid is squared": lambda y, _: (y.view(-1)[1:] ** 2, y),
            "mid is a part of what is squared": lambda y, _: (y * y, y[1:]),
            "mid is a transposed view, and is added": lambda y, _: (3 * (p := y.t()), p),
            "mid is one of two chunks, and is added": lambda y, _: (3 * (p := y.chunk(2)[0]), p),
            "mid is a part, and another part is squared": lambda y, _: ((p := 2 * y)[1:] ** 2, p[:1]),
            "mid overlaps a view that is squared": lambda y, _: ((p := 2 * y)[:-1] ** 2, p[1:]),
            "mid is a view of what comes out of exp": lambda y, _: ((e := y.exp()), e[1:].t()),
        },
        "constants": {
            "out = y * mid, and mid is a mask": lambda y, _: (y * (e := (k > 0).float()), e),
            "out = y + mid": lambda y, _: (y + (e := 3 * k), e),
            "out = y / mid": lambda y, _: (y / (e := k.exp()), e),
            "out = y + mid * mid": lambda y, _: (y + (e := k + 1) * e, e),
            "out = torch.where(mid > 0, y, 2 * y)": lambda y, _: (torch.where((e := 3 * k) > 0, y, 2 * y), e),
            "out = y + mid * w, and w requires grad": lambda y, _: (y + (e := 3 * k) * u, e),
        },
    }

    def drawn(use):
        before, last, after, beside, more = a_way(), a_way(True), a_way(), a_way(), a_way(True)
        scale = 0 if kind("mid") == "zeros" else 2

        def f(x):
            out, mid = use(last(scale * before(x)), last(scale * before(x)))
            return after(out) + beside(x).sum() + more(mid).sum(), mid

        return f

    chosen = [(name, drawn(use)) for name, use in uses[kind("of")].items()]
    return [chosen[place] for place in torch.randperm(len(chosen)).tolist()]


@inside
def all_answers(function, setup):
    """By what f computes the answer as a bool, where it can be one."""
    answers = {name: function(f, setup["x"]) for name, f in setup["f"]}
    return {f"if {name}": answer if answer is None else bool(answer) for name, answer in answers.items()}


may_overwrite = contract(
    "may_overwrite",
    {
        "x": tensor(
            "n m", values=["positive"], roles=["leaf"], layouts=["contiguous"], says="(n, m), float32"
        ),
        "f": own(
            computations,
            of=["formulas", "twins", "operations", "views", "constants"],
            mid=["any numbers", "zeros"],
            helpers=[a_way],
            words={
                "twins": "also computes another tensor with the same values as `mid`",
                "operations": "uses exp, relu, sigmoid and matrix products",
                "views": "creates views",
                "constants": "returns a `mid` that does not require grad",
                "zeros": "creates zeros",
            },
            says="a function of torch's operations, without checkpoints; f(x) returns (out, mid)",
        ),
    },
    cases=Cases(dtypes=["float32"], sequences=["first"], cover=["f.*"]),
    call=Call(given=["f", "x"], how=all_answers, gradients="none"),
    rules=Rules(ignore=["x:grad"]),
)


@points(3)
def test_every_answer_is_right(may_overwrite):
    """The answer is correct for every `f`."""
    assert_same_values(
        may_overwrite,
        "The answer for this `f` is wrong.\n\nAn operation on a view of `mid`, or one deep in the graph, "
        "may have saved its storage. If you test by writing to `mid`, its `_version` must count the write, "
        "and an old `.grad` must not spoil the comparison.",
    )


@points(1, side_effects=True)
def test_only_the_grad_of_x_changes(may_overwrite):
    """Only the `.grad` of `x` may change."""
    assert_no_side_effects(may_overwrite)


# --- q3: gan_step

PLAYER = {name: ["no"] for name in ("frozen", "tied", "buffers", "hooks")} | {
    "inside": ["louder"],
    "rows": ["each"],
    "gives": ["new"],
    "grads": ["none", "filled"],
}


OPTIMIZER = {"rules": ["sgd", "adam"], "groups": ["one"], "state": ["fresh"]}


@inside
def arrivals(setup, kind):
    """The gradients that reach each parameter of G from here on, without those that oG uses.

    Those that are there before the step of oD are lengths, too: there, a sum may be 0.
    """
    lengths = []
    found = {name: [] for name, _ in setup["G"].named_parameters()}
    for name, parameter in setup["G"].named_parameters():
        parameter.register_hook(found[name].append)

    def used(*_):
        for name, parameter in setup["G"].named_parameters():
            if found[name] and parameter.grad is not None:
                found[name].append(-parameter.grad)

    def lengths_now(*_):
        lengths.extend(gradient.norm() for gradients in found.values() for gradient in gradients)

    setup["oG"].register_step_post_hook(used)
    setup["oD"].register_step_pre_hook(lengths_now)
    return lambda: (found, lengths)


@inside
def arrived(setup, _):
    """The gradients that reached G and that oG did not use, plus 1, so that rounding errors count as 0."""
    found, lengths = setup["arrivals"]()
    gradients = {
        name: 1 + sum(found[name], torch.zeros_like(p)).detach() for name, p in setup["G"].named_parameters()
    }
    return {"before the step of D": any(length > 0 for length in lengths), **gradients}


gan_step = contract(
    "gan_step",
    {
        "D": network(
            "features",
            "one",
            nest=["flat", "own"],
            train=["train", "part train"],
            width=["one column"],
            numbers=["small", "steep", "near 85", "near -85"],
            says="maps samples (n, features) to logits (n, 1)",
            **PLAYER,
        ),
        "G": network(
            "latent",
            "features",
            nest=["flat", "deep"],
            train=["train", "part eval"],
            width=["several"],
            says="maps noise (m, latent) to fakes (m, features)",
            **PLAYER,
        ),
        "oG": optimizer("G", **OPTIMIZER, says="an optimizer of all parameters of G"),
        "oD": optimizer("D", **OPTIMIZER, says="an optimizer of all parameters of D"),
        "z": data("m latent", "1 latent", layouts=["contiguous"], says="(m, latent), the noise"),
        "real": data("n features", layouts=["contiguous"], says="(n, features), real samples"),
        "arrivals": own(arrivals),
    },
    cases=Cases(
        modes=["on", "only modes"],
        sequences=["first", "other"],
        never=[{"D.nest": "own", "D.numbers": ("steep", "near 85", "near -85")}],  # logits beyond 100
        cover=["D.nest", "D.grads", "G.grads", "D.numbers", "oG.rule"],
    ),
    call=Call(given=["G", "D", "oG", "oD", "z", "real"], returns="nothing", then=arrived),
    rules=Rules(ignore=["G*:grad", "D*:grad"], updates=["G*:value", "D*:value"], full_precision=True),
)


@points(6)
def test_each_network_makes_its_step(gan_step):
    """Each network takes one step on its loss."""
    assert_same_values(
        gan_step,
        changes={
            "[DG].*:requires_grad": "All parameters of both networks must require grad after the call.",
            "D*:value": "`D` did not make exactly one step with the gradient of its own loss.\n\nThe loss "
            "of `D` is the sum of two means. `oD` must not use gradients that the loss of `G` "
            "left in `D`.",
            "oD*": "`oD` did not make exactly one step with the gradient of the loss of `D`.\n\nPrint "
            "every `.grad` of `D` when `oD.step()` runs, and count these steps.",
            "G*:value": "`G` did not make exactly one step with the gradient of its own loss.\n\nOnly the "
            "loss of `G` may reach `G`. It uses the label 1, and `D` after its step.",
            "oG*": "`oG` did not make exactly one step with the gradient of the loss of `G`.\n\nPrint "
            "every `.grad` of `G` when `oG.step()` runs, and count these steps.",
        },
        then="Gradients reach `G` that are not those of its own loss.\n\nCheck which tensor connects the "
        "loss of `D` to `G`, and which label the loss of `G` uses.",
    )


@points(1, side_effects=True)
def test_nothing_else_of_the_game_changes(gan_step):
    """Samples, modes and `requires_grad` are unchanged."""
    assert_no_side_effects(gan_step, "Restore every flag and mode that you change.")


@picture
def entering_the_discriminator(student):
    """What enters the discriminator when it is called for the second time, and what it comes from."""
    G, D = (
        nn.Sequential(nn.Linear(2, 2), nn.Tanh()),
        nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)),
    )
    oG, oD = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
    shown = graph_at(D, 2, generator=G)
    student.gan_step(G, D, oG, oD, torch.randn(3, 2), torch.randn(2, 2))
    return shown()


# --- q4: ste_round


@inside
def numbers_halfway_between_integers(*shape):
    """Halves of either parity: the even neighbour is now above, now below."""
    return torch.randint(-9, 9, shape).double() + 0.5


@inside
def numbers_too_large_for_an_int32(*shape):
    """A float32 has no digit behind the point for them, and float64 has."""
    return 3e9 * (1 + torch.rand(shape, dtype=torch.float64))


ste_round = contract(
    "ste_round",
    {
        "x": tensor(
            *("n m", "n", "m n k", "", "0 m", "1 1"),
            values=[
                "normal",
                "zeros",
                numbers_halfway_between_integers,
                numbers_too_large_for_an_int32,
                numbers_near_the_largest_float32,
                numbers_near_1e308,
            ],
            says="of any shape",
        )
    },
    cases=Cases(
        arriving=["typical", "huge"],
        never=[{"x.values": "numbers_near_1e308", "all.dtype": "float32"}],
        cover=["x.values", "x.role", "all.dtype", "call.sequence"],
    ),
    rules=Rules(full_precision=True),
)


@points(1)
def test_result_is_connected(ste_round):
    """The result is connected to the graph.

    `torch.round` has a gradient of 0 everywhere, so another part of your expression must carry the gradient.
    """
    seen, expected = ste_round.seen.tensor(), ste_round.expected.tensor()
    assert seen.requires_grad or not expected.requires_grad, "The result does not require grad."
    assert seen.grad_fn or not expected.grad_fn, "The result is a new leaf: its `grad_fn` is None."


@points(2)
def test_value_is_rounded_and_gradient_goes_straight_through(ste_round):
    """Values are rounded; gradients pass through unchanged."""
    assert_same_values(ste_round, "The result does not have the values of `x.round()`.")
    assert_same_gradients(
        ste_round,
        because={
            "zero": "Rounding is flat, so its derivative is 0.\n\nCheck which part of your expression is a "
            "constant for autograd, and which part depends on `x`.",
            "wrong": "It differs from the incoming gradient of the result.\n\nWrite down the gradient that "
            "each part of your expression passes on to `x`.",
            "not connected": "\n\nCompute the result from `x`; don't create a new leaf.",
            "no history": "\n\nDetach the difference, not the whole result.",
        },
    )


@points(1, side_effects=True)
def test_x_is_unchanged(ste_round):
    """`x` is unchanged and shares no storage."""
    assert_no_side_effects(ste_round, WHICH_STORAGE)


@picture
def rounded_result(student):
    """The result y, and the path of its gradient back to x."""
    x = torch.randn(3, requires_grad=True)
    return graph(y=student.ste_round(x), x=x)


# --- q5: td_loss


@inside
def actions_taken(setup, kind):
    """The number of an action for each sample."""
    return torch.randint(setup.size("actions"), setup["s"].shape[:1])


@inside
def which_network(setup, kind):
    """Makes q_target q itself, or lets both share their first layer."""
    q, q_target = setup["q"], setup["q_target"]
    if kind("relation") == "q":
        setup["q_target"] = q
    elif kind("relation") == "shared":
        first, its = q_target.pieces()[0], q.pieces()[0]
        first.weight, first.bias = its.weight, its.bias
    return kind("relation")


VALUES = {name: ["no"] for name in ("tied", "buffers", "hooks")} | {
    "width": ["several"],
    "inside": ["louder"],
    "gives": ["new"],
    "grads": ["none", "filled"],
}
TARGET = (
    "The target still backpropagates to these parameters.\n\nMake the value of the target a constant, "
    "without changing the parameters."
)

td_loss = contract(
    "td_loss",
    {
        "q": network(
            "features",
            "actions",
            nest=["flat", "own"],
            train=["train", "part eval"],
            frozen=["no", "one frozen"],
            rows=["each", "together"],
            numbers=["small", "high"],
            says="maps (n, features) to (n, actions)",
            **VALUES,
        ),
        "q_target": network(
            "features",
            "actions",
            nest=["flat", "deep"],
            train=["eval", "part train"],
            frozen=["no", "one frozen"],
            rows=["each"],
            says="the same; it may be q itself, or share layers with q",
            **VALUES,
        ),
        "the target network": own(
            which_network,
            relation=["its own", "q", "shared"],
            words={"q": "is `q` itself", "shared": "shares a layer with `q`"},
        ),
        "s": data("n features", "1 features", says="(n, features)"),
        "a": own(actions_taken, says="(n,), int64"),
        "r": data("*s", values=["normal", "far"], layouts=["contiguous"], says="(n,)"),
        "s2": data("=s", layouts=["contiguous"], says="(n, features)"),
        "gamma": number(0.9, 0.0, 1.0, says="a float"),
    },
    cases=Cases(
        sequences=["first", "other", "changed"],
        never=[  # the difference of large numbers: its square needs care
            {"q.numbers": "high", "gamma.value": (0.9, 0.0)},
            {"q.numbers": "high", "all.dtype": "float64"},
            {"q.numbers": "high", "the target network.relation": ("its own", "shared")},
        ],
        cover=["q.rows", "q.frozen", "the*"],
    ),
    call=Call(given=["q", "q_target", "s", "a", "r", "s2", "gamma"]),
    rules=Rules(full_precision=True),
)


@points(2)
def test_loss_is_connected(td_loss):
    """The loss is connected to the graph.

    Print the `grad_fn` of the prediction: the loss must be connected to `q`.
    """
    seen, expected = td_loss.seen.tensor(), td_loss.expected.tensor()
    assert seen.requires_grad or not expected.requires_grad, "The loss does not require grad."
    assert seen.grad_fn or not expected.grad_fn, "The loss is a new leaf: its `grad_fn` is None."


@points(2)
def test_only_the_prediction_is_taught(td_loss):
    """The loss backpropagates through the prediction only."""
    assert_same_values(
        td_loss,
        "The loss is not the mean of `(prediction - target)**2`.\n\nPrint the prediction and the target of "
        "one sample, and the shapes of all tensors.",
    )
    assert_same_gradients(
        td_loss,
        "the loss",
        because={
            "connected": TARGET,
            "wrong": "\n\nIf both networks share parameters, autograd must not record their use in the "
            "target.",
        },
    )


@points(1, side_effects=True)
def test_networks_and_samples_stay(td_loss):
    """Both networks and all samples are unchanged."""
    assert_no_side_effects(td_loss, "Restore every flag and mode that you change, in every submodule.")


@picture
def loss_of_a_network_with_itself(student):
    """The loss of a network that is its own target: how many paths connect it to the weight?"""
    q = nn.Linear(2, 2, bias=False)
    s, s2, a, r = torch.randn(3, 2), torch.randn(3, 2), torch.randint(2, (3,)), torch.randn(3)
    return graph(loss=student.td_loss(q, q, s, a, r, s2, 0.9), q=q)


# --- q6: clipped_energy


@inside
def whole_numbers_behind_ones(*shape):
    """The first column is 1, and the first row has nothing else: its products are the first row of w."""
    x = torch.randint(-3, 4, shape).double()
    x[0], x[:, 0] = 0.0, 1.0
    return x


@inside
def products_on_either_side_of_1(*shape):
    """They are nearly half a number away from whole numbers; some are clipped, and some are below -1."""
    w = torch.randint(-3, 4, shape).double()
    w[0] = torch.where(torch.arange(shape[1]) % 2 == 0, 2.5, -1.5) + 0.1 * torch.rand(shape[1:]).double()
    return w


@inside
def values_that_make_all_products_exceed_1(*shape):
    """All is clipped."""
    w = torch.randint(-3, 4, shape).double()
    w[0] = 200.5
    return w


@inside
def values_that_put_all_products_near_minus_1e5(*shape):
    """Nothing is clipped."""
    w = torch.randint(-3, 4, shape).double()
    w[0] = -100_000.5
    return w


@inside
def values_that_put_products_close_to_1(*shape):
    """Some are a little above 1, others a little below."""
    w = torch.randint(-3, 4, shape).double()
    beside = 6e-4 + 1e-4 * torch.rand(shape[1:], dtype=torch.float64)
    w[0] = torch.where(torch.arange(shape[1]) % 2 == 0, 1 + beside, 1 - beside)
    return w


@inside
def put_on_the_other_side(setup, earlier):
    """The first row of w is mirrored at 1: products cross 1, and none of them comes near it."""
    first = setup["w"].data[0]
    first.copy_(2 - first)


clipped_energy = contract(
    "clipped_energy",
    {
        "x": tensor("n k", "1 k", values=[whole_numbers_behind_ones], says="(n, k)"),
        "w": tensor(
            *("k m", "k 1"),
            values=[
                products_on_either_side_of_1,
                values_that_make_all_products_exceed_1,
                values_that_put_all_products_near_minus_1e5,
                values_that_put_products_close_to_1,
            ],
            roles=["leaf", "computed"],
            says="(k, m)",
        ),
    },
    cases=Cases(
        sequences=["first", "other", "same"],
        between={"in a second call, after products have crossed 1": put_on_the_other_side},
        cover=["x.role", "w.values", "all.dtype"],
    ),
    rules=Rules(full_precision=True),
)


@points(1)
def test_energy_is_connected(clipped_energy):
    """The energy is connected to the graph.

    Print the `grad_fn` of each intermediate tensor, to find where the graph ends.
    """
    seen, expected = clipped_energy.seen.tensor(), clipped_energy.expected.tensor()
    assert seen.requires_grad or not expected.requires_grad, "The energy does not require grad."
    assert seen.grad_fn or not expected.grad_fn, "The energy is a new leaf: its `grad_fn` is None."


@points(2)
def test_energy_and_its_gradient(clipped_energy):
    """The energy and its gradients are correct."""
    assert_same_values(
        clipped_energy,
        "The energy is not the sum of the squares of `x @ w` clipped at 1.\n\nTry your code with entries "
        "of 4, 0.5 and -3.",
    )
    assert_same_gradients(
        clipped_energy,
        "the energy",
        because={
            "wrong": "\n\nAutograd must record each of your operations, and treat exactly the entries "
            "above 1 as clipped."
        },
        flags=True,
    )


@points(1, side_effects=True)
def test_x_and_w_stay(clipped_energy):
    """`x` and `w` are unchanged."""
    assert_no_side_effects(clipped_energy, WHICH_STORAGE)


@picture
def energy_before_backward(student):
    """The energy before its backward: which operations has autograd seen between it and w?"""
    x, w = torch.randn(2, 3), torch.randn(3, 2, requires_grad=True)
    return graph(energy=student.clipped_energy(x, w), w=w)


# --- end: train_values


@inside
def a_body(setup, kind):
    """Gives entries of either sign, or positive ones behind a Softplus; a part of it is in eval mode."""
    if kind("end") == "input":
        return nn.Identity()
    last = {"nn.Linear": nn.Linear(4, 4), "nn.Tanh": nn.Tanh(), "nn.Softplus": nn.Softplus()}[kind("end")]
    body = nn.Sequential(nn.Linear(setup.size("features"), 3), nn.Tanh(), nn.Linear(3, 4), last)
    body[1].eval()
    for parameter in body.parameters():
        nn.init.normal_(parameter, std=0.3).grad = torch.randn_like(parameter)
    (last if kind("end") == "nn.Linear" else body[2]).bias.data += torch.tensor([2.5, -2.5, 2.5, -2.5])
    return body.to(setup.dtype)


@inside
def a_head(setup, kind):
    """Of positive features it makes values that are lower than rewards; its weights cancel nothing."""
    head = nn.Linear(setup.size("features") if isinstance(setup["body"], nn.Identity) else 4, 1, bias=False)
    head.weight.data, head.weight.grad = (
        -0.2 - 0.2 * torch.rand_like(head.weight),
        torch.randn_like(head.weight),
    )
    return head.to(setup.dtype)


@inside
def one_batch(setup, rewards):
    """Positive states, a reward near each of some numbers, and next states."""
    s, s2 = 0.5 + torch.rand(2, len(rewards), setup.size("features"), dtype=setup.dtype)
    return s, torch.tensor(rewards, dtype=setup.dtype)[:, None] + torch.rand_like(s[:, :1]), s2


@inside
def some_batches(setup, kind):
    """Where rewards rise, steps lead to values nearer to those held out; where they fall, away from there."""
    setup["optimizer"].param_groups[0]["lr"] = 2e-3
    rewards = {"one": [3.0], "rise": [3.0, 6.0, 9.0], "fall": [3.0, -15.0, -15.0], "both": [3.0, 6.0, -15.0]}
    batches = [one_batch(setup, [reward] * setup.size("rows")) for reward in rewards[kind("rewards")]]
    if isinstance(setup["body"], nn.Identity):
        for s, _, s2 in batches:
            s[0] *= -1 if kind("rewards") == "one" else 1
            s2.zero_()  # so the target's gradient is 0, whether or not an answer cuts it off
    return batches


@inside
def held_out_states(setup, kind):
    """Most may ask for higher values, and one alone decides for lower ones, or the other way round."""
    pairs = {"alike": (30.0, 30.0), "one low": (30.0, -1000.0), "one high": (-30.0, 60.0)}
    usual, one = pairs[kind("rewards")]
    return one_batch(setup, [usual, one, usual, usual, usual, usual])


TRAINED = [f"{each}*:{part}" for each in ("body", "head") for part in ("grad", "version", "storage")]
VALUES = ["body*:value", "head*:value"]
ONE_TRAINING = Cases(modes=["on", "only modes"], sequences=["first"])


def training(name, ends, rewards, *, held_out=("alike",), gammas=(0.0,), cases=ONE_TRAINING, **judged):
    """A contract of some trainings, of which one part counts, and mistakes elsewhere do no harm."""
    steps = {
        "fall": "gives the smallest error after the first step",
        "both": "gives the smallest error after a step in the middle",
    }
    outliers = {
        "one low": "has a reward far below the others",
        "one high": "has a reward far above the others",
    }
    maps = "maps (n, features) to as many rows of other features"
    triples = "a list of (s, r, s2), at least one; s, s2: (n, features); r: (n, 1); none requires grad"
    return contract(
        "train_values",
        {
            "body": own(a_body, end=ends, words={"input": "returns its input"}, says=f"a module that {maps}"),
            "head": own(a_head, says="a module that maps the output of body to (n, 1)"),
            "optimizer": optimizer(
                *("body", "head"),
                rules=["sgd"],
                groups=["one"],
                state=["fresh"],
                says="an optimizer of all parameters",
            ),
            "batches": own(some_batches, rewards=rewards, words=steps, helpers=[one_batch], says=triples),
            "held_out": own(held_out_states, rewards=held_out, words=outliers, says="one such triple"),
            "gamma": number(*gammas, says="a float"),
        },
        name=name,
        cases=cases,
        **judged,
    )


# One batch, and a target without parameters in it: what is noted of a step hangs on no other bug.
notes_of_training = training(
    "notes_of_training",
    ["nn.Linear", "nn.Tanh", "input"],
    ["one"],
    call=Call(gradients="none"),
    rules=Rules(ignore=[*TRAINED, *VALUES], full_precision=True, entries=["losses", "activities"]),
)
# Positive features: to write their positive part does no harm.
steps_of_training = training(
    "steps_of_training",
    ["nn.Softplus"],
    ["both"],
    gammas=[0.7, 2.0],
    call=Call(gradients="none", record=["steps"]),
    rules=Rules(ignore=[*TRAINED, *VALUES], full_precision=True),
)
# Only the error knows the next state.
end_of_training = training(
    "end_of_training",
    ["nn.Softplus", "input"],
    ["rise", "fall", "both"],
    held_out=["alike", "one low", "one high"],
    gammas=[0.0, 2.0],
    cases=replace(
        ONE_TRAINING,
        never=[{"body.end": "nn.Softplus", "gamma.value": 2.0}],
        cover=["batches.rewards", "held_out.rewards"],
    ),
    call=Call(gradients="none", returns="nothing"),
    rules=Rules(ignore=TRAINED, full_precision=True),
)


def test_notes_are_those_of_the_network(notes_of_training):
    """The losses and activities are correct."""
    assert_same_values(
        notes_of_training,
        "The losses or the activities are wrong.\n\nComputing the activity must not modify the tensor that "
        "`head` uses.",
    )


def test_target_is_data(steps_of_training):
    """Each step uses the prediction's gradient only."""
    assert_same_values(
        steps_of_training,
        recorded={"steps": "The loss must backpropagate through the prediction only."},
    )
    assert_no_side_effects(steps_of_training, "Restore every flag and mode that you change.")


def test_best_parameters_are_returned(end_of_training):
    """The parameters with the smallest error are kept."""
    assert_same_values(
        end_of_training,
        changes={
            "*:value": "The final parameters are not those after the step with the smallest error.\n\nCopy "
            "the parameters after the step, into their own storage."
        },
    )
    assert_no_side_effects(end_of_training)


def test_nothing_else_changes(notes_of_training):
    """Batches, modes, hooks and `requires_grad` are unchanged."""
    assert_no_side_effects(notes_of_training)
