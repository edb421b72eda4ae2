"""The hidden checks of 06_views: which storage a write changes, and whether autograd records it."""

from grader import (
    Call,
    Cases,
    Rules,
    assert_no_side_effects,
    assert_same_gradients,
    assert_same_values,
    contract,
    is_close,
    number,
    own,
    picture,
    points,
    tensor,
)
from grader.inside import attempt, graph, graph_at, inside, math, nn, note, torch

WHICH_STORAGE = "Check which storage each of your operations writes to."


def wrong_entries(gradient, right):
    """The wrong entries of a gradient: the place, what was seen there, and what is right."""
    pairs = enumerate(zip(gradient.value, right.value, strict=True))
    return [(place, pair) for place, pair in pairs if not is_close(*pair)]


# --- q1: collect


@inside
def from_a_formula(f, x):
    """A formula of a row and a parameter."""
    return (f.w * x).sum().sin() + (x * x).sum()


@inside
def from_layers(f, x):
    """What layers make of a row."""
    return f.layers(f.w * x).sum() / 100


@inside
def from_its_numbers(f, x):
    """A formula of a row that begins above 0, and a constant of others."""
    return from_a_formula(f, x) if x[0] > 0 else f.constant


@inside
def from_the_row(f, x):
    """An entry of the row."""
    return x[0]


@inside
def from_nothing(f, x):
    """A constant."""
    return f.constant


@inside
def from_a_parameter(f, x):
    """A parameter itself."""
    return f.learned


@inside
class OfARow(nn.Module):
    """A function of a row; it notes the rows that it is given, and shows nothing of the case."""

    def __init__(self, width, compute):
        super().__init__()
        self.compute, self.w = compute, nn.Parameter(torch.randn(width))
        self.register_buffer("constant", torch.tensor(math.pi, dtype=torch.float64))
        self.learned = nn.Parameter(torch.randn(()))
        self.layers = nn.Sequential(nn.Linear(width, 3), nn.Tanh(), nn.Linear(3, 1))
        self.layers[0].bias.requires_grad_(False)

    def forward(self, x):
        note(x)
        return self.compute(self, x)


@inside
def function_of_a_row(setup, kind):
    """f, as the case asks for it."""
    ways = {
        "a formula": from_a_formula,
        "a network": from_layers,
        "numbers": from_its_numbers,
        "a constant": from_nothing,
        "an entry": from_the_row,
        "a parameter": from_a_parameter,
    }
    return OfARow(setup.size("k"), ways[kind("of")]).to(setup.dtype)


@inside
def rows_on_either_side_of_0(*shape):
    """Rows of which some begin below 0 and some above; the last two are equal."""
    xs = torch.randn(shape, dtype=torch.float64)
    xs[::2, 0] = xs[::2, 0].abs() + 0.5
    xs[1::2, 0] = -0.5 - xs[1::2, 0].abs()
    if len(xs) > 2:
        xs[-1] = xs[-2]
    return xs


@inside
def a_first_row_below_0(*shape):
    """The same, and the first row begins below 0."""
    xs = rows_on_either_side_of_0(*shape)
    xs[0, 0] = -0.7
    return xs


collect = contract(
    "collect",
    {
        "f": own(
            function_of_a_row,
            of=["a formula", "a network", "numbers", "a constant", "an entry", "a parameter"],
            says="a function of a tensor of shape (k,) that returns a tensor without dimensions",
            words={
                "a network": "is a network with a frozen parameter",
                "numbers": "branches on the values of a row",
                "a constant": "returns a constant",
                "an entry": "returns an entry of the row",
                "a parameter": "returns a parameter itself",
            },
        ),
        "xs": tensor(
            "n k",
            "1 k",
            "n 1",
            values=[rows_on_either_side_of_0, a_first_row_below_0],
            roles=["plain", "leaf", "computed"],
            says="(n, k), n at least 1",
        ),
    },
    cases=Cases(cover=["f.of", "xs.values", "xs.shape", "all.dtype"]),
    call=Call(record=["given"]),
    rules=Rules(full_precision=True),
)


@points(1)
def test_buffer_is_connected(collect):
    """The result is connected to the graph.

    Autograd does not record a write to `.data` or under `no_grad()`. What `.item()` and `torch.tensor()`
    return has no graph.
    """
    seen, expected = collect.seen.tensor(), collect.expected.tensor()
    assert seen.requires_grad or not expected.requires_grad, "The result does not require grad."
    assert seen.grad_fn or not expected.grad_fn, "The result is a new leaf: its `grad_fn` is None."


@points(2)
def test_results_and_gradients(collect):
    """Results and gradients are correct for every row."""
    assert_same_values(
        collect,
        "The result does not hold `f` of every row, in the order of the rows.\n\nPrint `f(x)` for each row "
        "next to the entry of your result.",
    )
    assert_same_gradients(
        collect,
        because={
            "no history": "\n\nThe operation that puts `f(x)` into your result must keep the graph of "
            "`f(x)`.",
            "not connected": "\n\nThe result requires grad, but it must be computed from `f(x)`: setting "
            "the flag does not connect it.",
            "xs:not connected": "\n\nPass the rows of `xs` themselves to `f`, not only their values.",
            "wrong": "\n\nFor every row, autograd must record `f(x)` and the operation that puts it into "
            "the result.",
        },
    )


@points(1, side_effects=True)
def test_what_belongs_to_the_caller(collect):
    """`xs` and everything `f` uses are unchanged."""
    assert_no_side_effects(collect, WHICH_STORAGE)


@picture
def results_of_three_rows(student):
    """The result for three rows: backward has to find w."""
    w = torch.randn(2, requires_grad=True)
    return graph(result=student.collect(lambda x: (w * x).sum(), torch.randn(3, 2)), w=w)


# --- q2: glu


@inside
def gates_as_far_from_0_as_1000(*shape):
    """Gates beyond the range of exp, of either sign."""
    h = torch.randn(shape, dtype=torch.float64)
    h[..., -1] = 1000.0
    h.view(-1, shape[-1])[0, -1] = -1000.0
    return h


def of_the_halves(gradient, right):
    """Which half of h gets a wrong gradient."""
    half = right.shape[-1] // 2
    wrong = {place // half % 2 for place, _ in wrong_entries(gradient, right)}
    only = f"Only the {('first', 'second')[min(wrong)]} half of `h` is wrong." if len(wrong) == 1 else ""
    return f"{only}\n\nAutograd must record every operation, and the result must be connected to both halves."


glu = contract(
    "glu",
    {
        "h": tensor(
            "n 2c", "2c", "m n 2c", "1 2", values=["normal", gates_as_far_from_0_as_1000], says="(..., 2 * c)"
        )
    },
    rules=Rules(full_precision=True),
)


@points(3)
def test_values_and_gradients_are_gated(glu):
    """Values and gradients of both halves are correct."""
    assert_same_values(
        glu,
        "The result is not the first half of `h` times the sigmoid of the second.\n\nSplit `h` along its "
        "last dimension, and don't limit or change its values.",
    )
    assert_same_gradients(
        glu,
        because={
            "h:wrong": of_the_halves,
            "nan": "\n\nLook for an operation that overflows if a gate is -1000 or 1000.",
        },
    )


@points(1, side_effects=True)
def test_h_is_left_to_its_owner(glu):
    """`h` is unchanged and shares no storage."""
    assert_no_side_effects(glu, WHICH_STORAGE)


@picture
def gated_unit(student):
    """The gated unit y, and the h that another branch still needs."""
    x = torch.randn(1, 2, requires_grad=True)
    h = x * 1
    return graph(y=student.glu(h), h=h, x=x)


# --- q3: scale_tail


@inside
def head_of_large_numbers(*shape):
    """A head that is large where the tail is small, so that a statistic of all columns is another one."""
    h = torch.randn(shape, dtype=torch.float64) + 1
    h[:, :1] *= 30
    return h


@inside
def entries_near_1(*shape):
    """A tail that hardly varies, so that a difference of two squares has no digits left."""
    return 1 + 1e-4 * torch.randn(shape, dtype=torch.float64)


@inside
def a_tail_with_standard_deviation_1(*shape):
    """A last column of 1, 2, 3, with the standard deviation 1."""
    h = torch.randn(shape, dtype=torch.float64)
    h[:, -1] = torch.arange(1, 1 + len(h))
    return h


@inside
def start_of_the_tail(setup, kind):
    """k, which depends on the number of columns."""
    columns = setup["h"].shape[1]
    return {"in the middle": 1, "0": 0, "the last column": columns - 1}[kind("at")]


def about_the_tail(gradient, right):
    """What a wrong gradient of h comes of: no way back, or no division."""
    wrong = [pair for _, pair in wrong_entries(gradient, right)]
    if not any(seen for seen, _ in wrong):
        return "\n\nSome columns of the result are not connected to `h`."
    if len({round(seen / wanted, 3) for seen, wanted in wrong if wanted}) == 1:
        return "The columns from `k` on lack the factor `1 / s`.\n\nAutograd must record the division."
    return "\n\nThe divisor `s` must be a constant, and autograd must record the operations on every column."


scale_tail = contract(
    "scale_tail",
    {
        "h": tensor(
            "n 2m",
            "2 2m",
            "3 2m",
            values=[head_of_large_numbers, entries_near_1, "far", a_tail_with_standard_deviation_1],
            says="(n, m), n at least 2",
        ),
        "k": own(
            start_of_the_tail,
            at=["in the middle", "0", "the last column"],
            says="an int from 0 to m - 1",
            words={"0": "is 0", "the last column": "is the index of the last column"},
        ),
    },
    cases=Cases(
        arriving=["typical", "of a mean"],
        never=[
            {"h.values": "a_tail_with_standard_deviation_1", "h.shape": ("n 2m", "2 2m")},
            {"h.values": "a_tail_with_standard_deviation_1", "k.at": ("in the middle", "0")},
        ],
        cover=["h.shape", "h.values", "h.role", "h.layout", "k.at", "all.dtype"],
    ),
    rules=Rules(full_precision=True),
)


@points(1)
def test_result_has_the_form_of_h(scale_tail):
    """The result has `h`'s dtype, shape and `requires_grad`."""
    seen, expected = scale_tail.seen.tensor(), scale_tail.expected.tensor()
    assert seen.requires_grad or not expected.requires_grad, "The result does not require grad."
    assert seen.dtype == expected.dtype, f"The result is {seen.dtype}, but `h` is {expected.dtype}."
    assert seen.shape == expected.shape, f"The result has shape {seen.shape} instead of {expected.shape}."


@points(2)
def test_tail_and_its_gradient(scale_tail):
    """The tail is divided by a constant `s`."""
    assert_same_values(
        scale_tail,
        "The result is not `h` with its tail divided by the tail's standard deviation.\n\nCompare your "
        "divisor with `h[:, k:].std()`. The columns before `k` must be unchanged.",
    )
    assert_same_gradients(scale_tail, because={"wrong": about_the_tail})


@points(1, side_effects=True)
def test_h_keeps_its_tail(scale_tail):
    """`h` is unchanged and shares no storage."""
    assert_no_side_effects(scale_tail, WHICH_STORAGE)


@picture
def scaled_tail(student):
    """The result y for k = 1, and the h that was handed over."""
    x = torch.randn(2, 3, requires_grad=True)
    h = x * 1
    return graph(y=student.scale_tail(h, 1), h=h, x=x)


# --- q4: row_bias


@inside
def rows_behind_the_first(setup, result):
    """The rows that are b, apart from the first, which may be so large that it hides them."""
    return result[1:].detach()


row_bias = contract(
    "row_bias",
    {
        "b": tensor("k", "1", says="(k,)"),
        "n": number(3, 1, 2, says="an int, 1 or more"),
        "bump": number(10.1, 0.0, -1e30, says="a finite float"),
    },
    call=Call(then=rows_behind_the_first),
    rules=Rules(full_precision=True),
)


@points(1)
def test_rows_have_their_own_storage(row_bias):
    """The rows and `b` share no storage.

    `expand()` returns a view in which all rows are the same memory.
    """
    assert row_bias.seen.tensor().shape == row_bias.expected.tensor().shape, "The result has the wrong shape."
    assert not row_bias.seen.rows_share_storage, "Rows share memory, so a write to one changes the others."
    shared = row_bias.seen.shared_storage
    assert not shared, f"The result shares storage with {shared[0]}."


@points(2)
def test_rows_and_their_gradients(row_bias):
    """The rows and their gradients are correct."""
    assert_same_values(
        row_bias,
        "The rows are not `b`, with `bump` added to the first.\n\nThe rows must not share memory when you "
        "add `bump`.",
        then="The rows after the first are not `b`.\n\nLook for an operation that changes them.",
    )
    assert_same_gradients(
        row_bias,
        because={
            "no history": "\n\nPrint the `grad_fn` of the result, and of each tensor it is computed from.",
            "wrong": "\n\nEvery row must backpropagate to `b`. Compute the gradient of a single row's sum.",
        },
    )


@points(1, side_effects=True)
def test_b_is_not_bumped(row_bias):
    """`b` is unchanged; rows have their own storage."""
    assert_no_side_effects(row_bias, f"{WHICH_STORAGE} Each row of the result must have its own storage.")


@picture
def rows_of_b(student):
    """The rows m, and the b that was handed over."""
    x = torch.randn(2, requires_grad=True)
    b = x * 1
    return graph(m=student.row_bias(b, 3, 1.0), b=b, x=x)


# --- q5: drop_attention


@inside
def scores_up_to_20(*shape):
    """Scores from -20 to 20, with both ends; two are close, so that not all gradients are rounding errors."""
    scores = 5 * torch.randn(shape, dtype=torch.float64).clamp(-3, 3)
    scores.view(-1)[-1] = -20.0
    scores.view(-1)[0], scores.view(-1)[1] = 20.0, 19.0
    return scores


@inside
def what_is_dropped(setup, kind):
    """A mask in the shape of the scores."""
    scores = setup["scores"]
    drop = torch.rand(scores.shape) < 0.4
    drop[..., 0], drop[..., -1] = True, False
    if kind("where") == "nowhere":
        drop[:] = False
    elif kind("where") == "a whole row":
        drop[..., 0, :] = True
    return drop.transpose(-1, -2).contiguous().transpose(-1, -2) if kind("layout") == "transposed" else drop


def about_the_dropped(gradient, right):
    """What a wrong gradient of the scores says: the dropped get none, or others."""
    hint = (
        "Autograd must record every operation on the weights, and the output that softmax saved must keep "
        "its values."
    )
    if any(seen for _, (seen, _) in wrong_entries(gradient, right)):
        return f"\n\n{hint}"
    return f"A dropped score still contributes to the sum by which softmax divides.\n\n{hint}"


@inside
def other_places(setup, _):
    """Other scores are dropped the next time, in the same memory."""
    setup["drop"].logical_not_()


drop_attention = contract(
    "drop_attention",
    {
        "scores": tensor(
            "n k", "b h n k", "1 k", values=["normal", scores_up_to_20], says="(..., k), from -20 to 20"
        ),
        "drop": own(
            what_is_dropped,
            where=["some entries", "a whole row", "nowhere"],
            layout=["contiguous", "transposed"],
            says="boolean, of the shape of scores",
            words={"a whole row": "is true for an entire row", "nowhere": "is true nowhere"},
        ),
    },
    cases=Cases(between={"in a second call, after `drop` has changed": other_places}),
    rules=Rules(full_precision=True),
)


@points(2)
def test_attention_is_connected(drop_attention):
    """The result is connected to the graph.

    Print the `grad_fn` of each intermediate tensor, to find where the graph ends.
    """
    seen, expected = drop_attention.seen.tensor(), drop_attention.expected.tensor()
    assert seen.requires_grad or not expected.requires_grad, "The result does not require grad."
    assert seen.grad_fn or not expected.grad_fn, "The result is a new leaf: its `grad_fn` is None."


@points(2)
def test_weights_and_gradients(drop_attention):
    """The attention weights and all gradients are correct."""
    assert_same_values(
        drop_attention,
        "The weights are not the softmax of all scores, with 0 where `drop` is true.\n\nCompare your "
        "result with `scores.softmax(-1)`: only the dropped entries may differ.",
    )
    assert_same_gradients(
        drop_attention,
        because={
            "overwritten": "\n\nThe backward of softmax needs its output, which no later write may change.",
            "wrong": about_the_dropped,
        },
    )


@points(1, side_effects=True)
def test_scores_are_unchanged(drop_attention):
    """The inputs are unchanged and share no storage."""
    assert_no_side_effects(drop_attention, WHICH_STORAGE)


@picture
def weights_before_backward(student):
    """The weights a before their backward: is what softmax has saved still what it was?"""
    scores = torch.randn(1, 2, requires_grad=True)
    return graph(a=student.drop_attention(scores, torch.tensor([[False, True]])), scores=scores)


# --- end: train


@inside
def attention_model(setup, kind):
    """The three layers, one of them in eval mode."""
    k, c = setup.size("k"), setup.size("c")
    model = nn.ModuleDict({"embed": nn.Linear(k, c), "score": nn.Linear(c, 1), "head": nn.Linear(c, 1)})
    model["score"].train(kind("modes") == "train")
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter) if kind("grads") == "filled" else None
    return model


@inside
def baskets(setup, kind):
    """Batches in which every basket drops a good, and the first keeps one; prices are large."""
    n, t = setup.size("n"), setup.size("t")
    batches = []
    for baskets, goods in {"two": [(n, t), (n + 1, t + 1)], "one": [(n, t)], "one basket": [(1, t)]}[
        kind("list")
    ]:
        x, drop = torch.randn(baskets, goods, setup.size("k")), torch.rand(baskets, goods) < 0.3
        x[..., -1] = 20 + 8 * x[..., -1]
        drop[:, 1], drop[0, 0] = True, False
        y = torch.randn(baskets)
        if kind("layout") == "across":  # so that no view joins baskets and goods
            x, drop = x.transpose(0, 1).contiguous().transpose(0, 1), drop.t().contiguous().t()
            y = y.repeat(2, 1).t().contiguous()[:, 0]
        batches.append((x, drop, y))
    return batches


train = contract(
    "train",
    {
        "model": own(
            attention_model,
            modes=["train", "part eval"],
            grads=["none", "filled"],
            says="an nn.ModuleDict of the linear layers embed (k to c), score (c to 1) and head (c to 1)",
        ),
        "batches": own(
            baskets,
            list=["two", "one", "one basket"],
            layout=["contiguous", "across"],
            words={
                "one": "has one batch",
                "one basket": "has one batch with one basket",
                "across": "has tensors that are not contiguous",
            },
            says="a list of (x, drop, y); x: (n, t, k), drop: (n, t) and boolean, y: (n,)",
        ),
        "lr": number(0.3, 0.0, says="a float, 0 or more"),
        "epochs": number(2, 1, says="an int, 1 or more"),
    },
    cases=Cases(
        dtypes=["float32"],
        modes=["on"],
        sequences=["first", "same", "changed"],
        cover=["batches.*", "epochs.value"],
    ),
    call=Call(gradients="none"),
    rules=Rules(ignore=["model*:grad"], optional=["model.score.bias:value"], updates=["model*:value"]),
)


def test_the_whole_training(train):
    """Losses and parameters are correct after several steps."""
    assert_same_values(
        train,
        "The losses of the steps are wrong.\n\nPrint the scaled prices, the attention weights and the "
        "weighted sums of one batch, and compare them with the task.",
        changes={
            "model*:value": "After training, the parameters are wrong.\n\nPrint every `.grad` before the "
            "step: it must hold the gradient of this loss only. Autograd must record every "
            "operation from `embed` to `head`, and the output that softmax saved must keep "
            "its values."
        },
    )


def test_prices_belong_to_the_caller(train):
    """The batches are unchanged; only parameters are updated."""
    assert_no_side_effects(train, WHICH_STORAGE)


@picture
def baskets_before_the_head(student):
    """What enters head in the first step, for two baskets."""
    model = nn.ModuleDict({"embed": nn.Linear(2, 1), "score": nn.Linear(1, 1), "head": nn.Linear(1, 1)})
    x, drop = torch.randn(2, 2, 2), torch.tensor([[True, False], [False, False]])
    drawn = graph_at(model["head"], into="pooled", score=model["score"].weight)
    attempt(student.train, model, [(x, drop, torch.randn(2))], 0.1, 1)
    return drawn()
