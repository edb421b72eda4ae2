"""The hidden checks of 06_views: whose memory is written to, and whether autograd sees it."""

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
from grader.inside import attempt, gradients, graph, graph_at, inside, nn, snap, torch, untouched

WHOSE = "Whose memory does each of your operations write to?"
WRITTEN = ["*:value", "*:version", "*:storage", "*:history"]


@inside
def forms(make):
    """A computed tensor, a leaf and plain data: of each, where gradients are asked for, and what is given.

    Nothing needs the values that are handed over, so that a write to them raises no error of its own.
    """
    leaf, data = with_gaps(make(torch.float64)).requires_grad_(), with_gaps(make(torch.float32))
    start = make(torch.float32).requires_grad_()
    return {"computed": (start, start * 1), "leaf": (leaf, leaf), "data": (data, data)}


def assert_dtype(case, result):
    """What comes back has the dtype of the argument; else its gradient cannot be compared."""
    seen, right = case[result]
    assert seen.dtype == right.dtype, f"What came back has the dtype {seen.dtype}, and so has its gradient."


def assert_left_alone(kept, **rules):
    """What belongs to the caller is as it was; the hint is about writes, and not about flags or modes."""
    assert_untouched(kept, only=WRITTEN, hint=WHOSE, **rules)
    assert_untouched(kept, **rules)


def if_values_are_right(values, why):
    """What explains a wrong gradient; where the values are wrong, the gradient may well be theirs."""
    return why if is_close(*values) else {}


def assert_own_memory(case, result, name):
    """The argument is as it was, and the result lies elsewhere."""
    kept, seen = case.seen["kept"], case.seen[result]
    assert_left_alone(kept)
    assert_runs(seen, "What came back cannot be read")
    there = f"What came back lies in the memory of {name}: a write to either changes both."
    assert seen.storage != kept["before"][name]["tensor"].storage, f"{there}\n\n{WHOSE}"


@inside
def without_recording(function, *args):
    """What a function returns, and what it leaves switched, while gradients are switched off."""
    with torch.no_grad(), untouched() as kept:
        result = attempt(lambda: snap(function(*args) + 0))  # an error where it is no tensor
    return {"result": result, "kept": kept}


def assert_nothing_switched(called):
    """Gradients are still switched off after a call under no_grad."""
    assert_untouched(called.seen["kept"], case="Called while gradients are switched off")


def assert_same_values(called):
    """Under no_grad the values are right, too."""
    assert_close(
        *called["result"], "Called while gradients are switched off, the function returns other values."
    )


# --- q1: collect


@inside
class Decided(nn.Module):
    """A function that decides by the numbers of a row: a constant of its own, or what has a history."""

    def __init__(self, width):
        super().__init__()
        self.w = nn.Parameter(torch.randn(width))
        self.register_buffer("constant", torch.tensor(40.0))

    def forward(self, x):
        return (self.w * x).sum().sin() if x[0] > 0 else self.constant


@inside
def functions():
    """Functions of a row, each with rows and with the tensors that get a gradient.

    Of the rows some begin below 0 and some above, so that a function that decides by that takes both ways.
    The last two are equal.
    """
    rows, width, hidden = sizes(3, 3)
    w, frozen = torch.randn(width, requires_grad=True), torch.randn(width)
    model = nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, 1))
    model[0].bias.requires_grad_(False)
    decided = Decided(width)

    def rows_of(number):
        xs = torch.randn(width, number, 2)[..., 0].t()
        xs[:, 0] = xs[:, 0].abs() + 0.5
        xs[number // 2, 0] *= -1
        if number > 2:
            xs[-1] = xs[-2]
        return xs

    used, wanted = {"the tensor that f uses": w}, rows_of(rows).requires_grad_()
    return {
        "": (lambda x: (w * x + frozen).sum() ** 2, rows_of(rows), used),
        "Where some results of f have no history": (decided, rows_of(rows + 1), {"f": decided}),
        "Where f uses a network": (lambda x: model(x).sum() / 100, rows_of(rows - 1), {"network": model}),
        "Where xs requires grad": (lambda x: (w * x * x).sum(), wanted, used | {"xs": wanted}),
        "With a single row": (lambda x: (w * x).sum().exp(), rows_of(1), used),
    }


@probe(cases=functions)
def results_collected(student, f, xs, used):
    """The results of several functions, and the gradients of what they use."""
    with untouched(**used | {"xs": xs}) as kept:
        result = student.collect(f, xs)
    return {"kept": kept, "result": snap(result), "gradients": gradients(result, used)}


@probe(cases=functions)
def called(student, f, xs, used):
    """With which rows f is called, and what becomes of xs, and of what f uses."""
    given = []

    def noting_rows(x):
        given.append(snap(x))
        return f(x)

    with untouched(**used | {"xs": xs}) as kept:
        attempt(student.collect, noting_rows, xs)
    return {"given": given, "kept": kept}


@probe
def collected_without_recording(student):
    """The results of a function that has parameters, while gradients are switched off."""
    rows, width = sizes(2, 3)
    return without_recording(student.collect, Decided(width), torch.randn(rows, width))


@points(1)
def test_results_are_collected(results_collected, collected_without_recording):
    """What comes back is one tensor with f of every row."""
    hint = "\n\nPrint f(x) for each row, and beside it the entry of your result."
    for case in cases(results_collected):
        assert_close(*case["result"], f"The result is not f of every row, in the order of the rows.{hint}")
    assert_same_values(collected_without_recording)


@points(2)
def test_gradients_reach_what_f_uses(results_collected):
    """A loss of the result goes back to whatever f uses, and to xs where it requires grad."""
    why = {
        "no history": "\n\nWhat becomes of the history of f(x) on its way into your result?",
        "not connected": "\n\nThe result requires grad. Because of f(x), or by a flag of its own?",
        "xs:not connected": "\n\nWhat do you hand to f: the rows of xs, or their numbers alone?",
        "wrong": "\n\nDid autograd see f(x), and how it came into the result, for every row?",
    }
    for case in cases(results_collected):
        told = if_values_are_right(case["result"], why)
        with blaming_changes(case.seen["kept"]):
            assert_gradients(*case["gradients"], of="the result", because=told)


@points(1)
def test_f_is_called_once_for_each_row(called, collected_without_recording):
    """Every row goes to f once, in order, and what belongs to the caller stays as it is."""
    for case in cases(called):
        seen, right = case["given"]
        assert len(seen) == len(right), (
            f"The number of rows is {len(right)}, that of the calls of f {len(seen)}."
        )
        for row in seen:
            assert row.shape == right[0].shape, f"f was called with the shape {row.shape}, which no row has."
        assert_close(seen, right, "f was not called with the rows of xs, from the first to the last.")
        assert_left_alone(case.seen["kept"])
    assert_nothing_switched(collected_without_recording)


@picture
def results_of_three_rows(student):
    """The result for three rows: backward has to find w."""
    w = torch.randn(2, requires_grad=True)
    return graph(result=student.collect(lambda x: (w * x).sum(), torch.randn(3, 2)), w=w)


# --- q2: glu


@inside
def gated_inputs():
    """An h of every form, of one to three dimensions; no size stands twice, and all are even.

    Of a leaf the gates reach from -1000 to 1000, beyond the range of exp.
    """
    pairs, *others = sizes(3)
    rows, depth = (2 * size for size in others)
    matrix = forms(lambda dtype: 3 * torch.randn(rows, 2 * pairs, dtype=dtype))
    cube = forms(lambda dtype: torch.randn(depth, rows, 2 * pairs, dtype=dtype))
    vector = forms(lambda dtype: torch.randn(2 * pairs, dtype=dtype))
    far = torch.randn(rows, 2 * pairs)
    far[0, pairs], far[-1, -1] = -1000.0, 1000.0
    far.requires_grad_()
    return {
        "": matrix["computed"],
        "Where h is a float64 leaf": matrix["leaf"],
        "Where h has three dimensions": cube["computed"],
        "Where h is a leaf of three dimensions": cube["leaf"],
        "Where h is a vector": vector["computed"],
        "Where h is plain data": cube["data"],
        "Where gates are as far from 0 as 1000": (far, far),
    }


@probe(cases=gated_inputs)
def gated(student, start, h):
    """Gated units of every h: the values, the gradients, and what becomes of h."""
    with untouched(h=h) as kept:
        y = student.glu(h)
    return {"kept": kept, "y": snap(y), "gradients": gradients(y, h=start)}


@probe
def gated_without_recording(student):
    """Gated units while gradients are switched off."""
    h = torch.randn(3, 4, requires_grad=True)
    return without_recording(student.glu, h * 1)


@points(1)
def test_values_are_gated(gated, gated_without_recording):
    """The first half of h is multiplied by the sigmoid of the second."""
    hint = "\n\nWhat is multiplied by what, and along which dimension is h cut?"
    for case in cases(gated):
        told = f"The result is not the first half of h times the sigmoid of the second.{hint}"
        assert_close(*case["y"], told, all_digits=True)
    assert_same_values(gated_without_recording)


def of_the_halves(gradient, right):
    """What a wrong gradient of h says of its two halves."""
    width = right.shape[-1]
    halves = {}
    for name, is_first in (("first", True), ("second", False)):
        halves[name] = [
            [entry for place, entry in enumerate(side.value) if (place % width < width // 2) is is_first]
            for side in (gradient, right)
        ]
    for name, part in (("second", "the gates"), ("first", "what is multiplied by the gates")):
        if not any(halves[name][0]):
            return f"The {name} half of h, {part}, gets 0 everywhere.\n\nIs there a way back to it?"
    other = [name for name in halves if not is_close(*halves[name])]
    only = f" Only the {other[0]} half is wrong." if len(other) == 1 else ""
    return f"{only}\n\nDid autograd see every operation that made the result?".lstrip(" ")


@points(2)
def test_both_halves_get_their_gradients(gated):
    """Both halves of h get the gradient of the product."""
    far = "\n\nWhich of your operations overflows where a gate is -1000 or 1000?"
    for case in cases(gated):
        why = if_values_are_right(case["y"], {"h:wrong": of_the_halves, "nan": far})
        with blaming_changes(case.seen["kept"]):
            assert_gradients(*case["gradients"], of="the result", because=why, all_digits=True)


@points(1)
def test_h_is_left_to_its_owner(gated, gated_without_recording):
    """The caller's h stays as it is, and the result has memory of its own."""
    for case in cases(gated):
        assert_own_memory(case, "y", "h")
    assert_nothing_switched(gated_without_recording)


@picture
def gated_unit(student):
    """The gated unit y, and the h that another branch still needs."""
    x = torch.randn(1, 2, requires_grad=True)
    h = x * 1
    return graph(y=student.glu(h), h=h, x=x)


# --- q3: scale_tail


@inside
def tails():
    """An h of every form with its k: in the middle, 0, the last; a tail that hardly varies, and a wide one.

    The head is large where the tail is small, so that a statistic of all columns is another one. The
    tail that hardly varies lies near 1, so that a difference of two squares has no digits left.
    """
    rows, columns = sizes(2, 3)
    k = count(1, columns - 2)

    def made(k, scale):
        h = torch.randn(rows, columns) + 1
        h[:, :k] *= 30
        h[:, k:] *= scale
        return h

    start, leaf, few = made(k, 4).requires_grad_(), with_gaps(made(0, 0.3)).requires_grad_(), made(k, 1e-4)
    few[:, k:] += 1
    data = with_gaps(made(columns - 1, 50))
    few.requires_grad_()
    return {
        "": (start, start * 1, k),
        "With k = 0, where h is a leaf": (leaf, leaf, 0),
        "Where the tail is the last column, and h is plain data": (data, data, columns - 1),
        "Where the tail hardly varies": (few, few * 1, k),
    }


@probe(cases=tails)
def scaled(student, start, h, k):
    """What is scaled, what goes back, and what becomes of h."""
    s = h[:, k:].detach().std().item()
    with untouched(h=h) as kept:
        y = student.scale_tail(h, k)
    return {"kept": kept, "k": k, "s": s, "y": snap(y), "gradients": gradients(y, h=start)}


@probe
def scaled_without_recording(student):
    """A scaled tail while gradients are switched off."""
    h = torch.randn(4, 3, requires_grad=True)
    return without_recording(student.scale_tail, h * 1, 1)


@points(1)
def test_tail_is_scaled(scaled, scaled_without_recording):
    """The columns from k on are divided by their standard deviation, the others stay."""
    hint = "Print what you divide by, and beside it h[:, k:].std(). What else happens to the columns?"
    for case in cases(scaled):
        told = f"The result is not h with its tail divided by the tail's standard deviation.\n\n{hint}"
        assert_close(*case["y"], told)
    assert_same_values(scaled_without_recording)


def about_the_tail(case):
    """What a wrong gradient of h comes of: no way back to the tail, no division, or another one."""
    k, s = case.expected["k"], case.expected["s"]

    def told(gradient, right):
        width = right.shape[-1]
        head, tail = (
            [
                pair
                for place, pair in enumerate(zip(gradient.value, right.value, strict=True))
                if (place % width >= k) is late
            ]
            for late in (False, True)
        )
        if not is_close([seen for seen, _ in head], [wanted for _, wanted in head]):
            return "\n\nDid autograd see how each column came into the result?"
        if not any(seen for seen, _ in tail):
            return "It is 0 for the columns from k on.\n\nIs there a way back to them?"
        if is_close([seen for seen, _ in tail], [wanted * s for _, wanted in tail]):
            return "The factor 1 / s is missing from the columns from k on.\n\nDid autograd see the division?"
        return (
            "Only the columns from k on are wrong.\n\nWhat do you divide by, and does it count as a constant?"
        )

    return told


@points(2)
def test_gradient_of_the_scaled_tail(scaled):
    """The gradient knows of the division, and takes the standard deviation for a constant."""
    for case in cases(scaled):
        why = if_values_are_right(case["y"], {"wrong": about_the_tail(case)})
        with blaming_changes(case.seen["kept"]):
            assert_gradients(*case["gradients"], of="the result", because=why)


@points(1)
def test_h_keeps_its_tail(scaled, scaled_without_recording):
    """The caller's h stays as it is, the result has memory of its own, and no mode is left changed."""
    for case in cases(scaled):
        assert_own_memory(case, "y", "h")
    assert_nothing_switched(scaled_without_recording)


@picture
def scaled_tail(student):
    """The result y for k = 1, and the h that was handed over."""
    x = torch.randn(2, 3, requires_grad=True)
    h = x * 1
    return graph(y=student.scale_tail(h, 1), h=h, x=x)


# --- q4: row_bias


@inside
def biases():
    """A b of every form with n and bump: many rows and a single row, bumps of either sign and 0, a short b.

    The bump of float64 has more digits than a float32 holds.
    """
    width, other = sizes(2)
    made = forms(lambda dtype: torch.randn(width, dtype=dtype))
    few = forms(lambda dtype: torch.randn(other, dtype=dtype))
    short = forms(lambda dtype: torch.randn(1, dtype=dtype))
    return {
        "": (*made["computed"], width + count(1, 3), 10 * torch.rand(()).item() + 1),
        "With a single row": (*few["computed"], 1, -2.5),
        "Where b is a float64 leaf": (*made["leaf"], 2 + other, -700.3),
        "Where b is plain data": (*made["data"], 2, 0.25),
        "Where b is plain data, and there is a single row": (*few["data"], 1, 40.0),
        "Where b has a single entry": (*short["computed"], 3, 1.5),
        "Where bump is 0": (*few["leaf"], 3, 0.0),
    }


@probe(cases=biases)
def bumped(student, start, b, n, bump):
    """The rows, what goes back from them, what becomes of b, and of the rows when the last is written to."""
    with untouched(b=b) as kept:
        m = student.row_bias(b, n, bump)
    facts = {"kept": kept, "bump": bump, "m": snap(m), "gradients": gradients(m, b=start)}
    with torch.no_grad():
        attempt(lambda: m[-1].add_(1))
    return facts | {"written": snap(m)}


@probe
def bumped_without_recording(student):
    """Rows while gradients are switched off."""
    b = torch.randn(3, requires_grad=True)
    return without_recording(student.row_bias, b, 2, 1.5)


@points(1)
def test_only_the_first_row_is_bumped(bumped, bumped_without_recording):
    """There are n rows, all equal to b, and bump is added to the first."""
    every = "bump was added to every row.\n\nHow many rows of memory are there when you add it?"
    for case in cases(bumped):
        seen, right = case["m"]
        if right.shape[0] > 1 and seen.shape == right.shape and case.expected["bump"]:
            first = right.value[: right.shape[1]]
            assert not is_close(list(seen.value), list(first * right.shape[0])), (
                f"The rows are all alike: {every}"
            )
        assert_close(seen, right, "The rows are not b, with bump added to the first.", all_digits=True)
    assert_same_values(bumped_without_recording)


@points(2)
def test_every_row_reaches_b(bumped):
    """The gradient of b is the sum over all rows."""
    why = {
        "no history": "\n\nPrint the grad_fn of what you return, and of what it was made of.",
        "wrong": "\n\nDoes every row lead back to b? Ask for the gradient of a single row's sum.",
    }
    for case in cases(bumped):
        with blaming_changes(case.seen["kept"]):
            assert_dtype(case, "m")
            assert_gradients(*case["gradients"], of="the result", because=why, all_digits=True)


@points(1)
def test_b_is_not_bumped(bumped, bumped_without_recording):
    """The caller's b stays as it is, and each row of the result has memory of its own."""
    for case in cases(bumped):
        assert_own_memory(case, "m", "b")
        others = slice(-case.expected["m"].shape[1])
        assert case.seen["m"].value[others] == case.seen["written"].value[others], (
            "The check added 1 to the last row of the result, and other rows have changed, too."
            "\n\nWhich memory does each row of your result lie in?"
        )
    assert_nothing_switched(bumped_without_recording)


@picture
def rows_of_b(student):
    """The rows m, and the b that was handed over."""
    x = torch.randn(2, requires_grad=True)
    b = x * 1
    return graph(m=student.row_bias(b, 3, 1.0), b=b, x=x)


# --- q5: drop_attention


@inside
def attentions():
    """Scores of every form with what is dropped: some of a row, a whole row, none of a row; or nothing."""
    batch, heads, rows, columns = sizes(4, 3)

    def dropped(*shape):
        drop = torch.zeros(shape, dtype=torch.bool)
        drop[..., 0, :] = True
        drop[..., 1, :] = False
        drop[..., 2:, 1] = True
        drop[..., 2:, -1] = torch.rand(drop[..., 2:, -1].shape) < 0.5
        return drop

    matrix = forms(lambda dtype: 2 * torch.randn(rows, columns, dtype=dtype))
    many = forms(lambda dtype: torch.randn(batch, heads, rows, columns, dtype=dtype))
    wide = forms(lambda dtype: 5 * torch.randn(columns, rows, dtype=dtype).clamp(-3, 3))
    return {
        "": (*matrix["computed"], dropped(rows, columns)),
        "Where scores is a float64 leaf": (*matrix["leaf"], dropped(rows, columns)),
        "With four dimensions": (*many["computed"], dropped(batch, heads, rows, columns)),
        "Where scores is plain data": (*wide["data"], dropped(columns, rows)),
        "With nothing dropped": (*wide["computed"], torch.zeros(columns, rows, dtype=torch.bool)),
        "Where drop is not contiguous": (*wide["computed"], with_gaps(dropped(columns, rows))),
    }


@probe(cases=attentions)
def dropped_weights(student, start, scores, drop):
    """The weights, what goes back to the scores, and what becomes of these."""
    with untouched(scores=scores, drop=drop) as kept:
        a = student.drop_attention(scores, drop)
    return {"kept": kept, "a": snap(a), "gradients": gradients(a, scores=start)}


@probe
def dropped_without_recording(student):
    """Weights while gradients are switched off."""
    scores = torch.randn(2, 3, requires_grad=True)
    return without_recording(student.drop_attention, scores, torch.eye(2, 3, dtype=torch.bool))


def dropped_of(case):
    """Which of the entries are dropped."""
    return case.expected["kept"]["before"]["drop"]["tensor"].value


@points(1)
def test_weights_are_dropped(dropped_weights, dropped_without_recording):
    """The weights are those of the full softmax, and 0 where they are dropped."""
    hint = "\n\nPrint scores.softmax(-1) before the call, and beside it your result. Which entries differ?"
    for case in cases(dropped_weights):
        seen, right = case["a"]
        told = "The weights are not the softmax of all scores, with 0 where drop is true."
        assert_close(seen, right, f"{told}{hint}", all_digits=True)
        left = [
            entry
            for entry, is_dropped in zip(seen.value, dropped_of(case), strict=True)
            if is_dropped and entry
        ]
        assert not left, f"A weight that was to be dropped is {left[0]:.3g}, and not exactly 0."
    assert_same_values(dropped_without_recording)


def about_the_dropped(case):
    """What a wrong gradient of the scores says: the dropped get none, or others."""
    drop = dropped_of(case)
    hint = (
        "\n\nDid autograd see how each weight came about, the dropped weights too? "
        "And does softmax still find in backward what it has kept?"
    )

    def told(gradient, right):
        pairs = list(zip(gradient.value, right.value, drop, strict=True))
        of_kept = [(seen, wanted) for seen, wanted, is_dropped in pairs if not is_dropped]
        if is_close(*map(list, zip(*of_kept, strict=True))) and not any(
            seen for seen, _, gone in pairs if gone
        ):
            return (
                "It is right but for the dropped scores, which get 0. They have a part in the sum by which "
                f"softmax divides.{hint}"
            )
        return hint

    return told


@points(3)
def test_all_scores_get_their_gradients(dropped_weights):
    """Kept and dropped scores get the gradient of what was computed."""
    for case in cases(dropped_weights):
        why = {
            "overwritten": "\n\nWhat does the backward of softmax need, its input or its output?",
            "wrong": about_the_dropped(case),
        }
        with blaming_changes(case.seen["kept"]):
            told = if_values_are_right(case["a"], why)
            assert_gradients(*case["gradients"], of="the result", because=told, all_digits=True)


@points(1)
def test_scores_are_left_alone(dropped_weights, dropped_without_recording):
    """The caller's scores and drop stay as they are, and the result has memory of its own."""
    for case in cases(dropped_weights):
        assert_own_memory(case, "a", "scores")
    assert_nothing_switched(dropped_without_recording)


@picture
def weights_before_backward(student):
    """The weights a before their backward: is what softmax has saved still what it was?"""
    scores = torch.randn(1, 2, requires_grad=True)
    return graph(a=student.drop_attention(scores, torch.tensor([[False, True]])), scores=scores)


# --- end: train


@inside
def attention_model(inputs, hidden):
    """The three layers, one of them in eval mode, with something in .grad."""
    layers = {"embed": (inputs, hidden), "score": (hidden, 1), "head": (hidden, 1)}
    model = nn.ModuleDict({name: nn.Linear(*of) for name, of in layers.items()})
    model["score"].eval()
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    return model


@inside
def batch_of(baskets, goods, inputs):
    """A batch in which every basket drops a good, and the first keeps one; prices are large."""
    x, drop = torch.randn(baskets, goods, inputs), torch.rand(baskets, goods) < 0.3
    x[..., -1] = 20 + 8 * x[..., -1]
    drop[:, 1] = True
    drop[0, 0] = False
    return x, drop, torch.randn(baskets)


@inside
def facts_of_training(train, model, batches, lr, epochs):
    """The losses, the parameters afterwards, and what else has changed."""
    with untouched(batches=batches, model=model) as kept:
        losses = attempt(train, model, batches, lr, epochs)
    return {"kept": kept, "losses": losses, "parameters": {k: snap(p) for k, p in model.named_parameters()}}


@inside
def trainings():
    """Several batches in several epochs, and a batch that is not contiguous."""
    inputs, hidden, goods, some, more = sizes(5, 2)
    batches = [batch_of(baskets, goods, inputs) for baskets in (some, more)]
    x, drop, y = batch_of(some, goods, inputs)
    across = with_gaps(x.transpose(0, 1)).transpose(0, 1)  # so that no view joins baskets and goods
    return {
        "": (attention_model(inputs, hidden), batches, 0.1, count(2, 3)),
        "Where x and drop are not contiguous": (
            attention_model(inputs, hidden),
            [(across, with_gaps(drop.T).T, with_gaps(y))],
            0.2,
            2,
        ),
    }


@probe(cases=trainings)
def trained(student, model, batches, lr, epochs):
    """Whole trainings."""
    return facts_of_training(student.train, model, batches, lr, epochs)


@probe
def trained_by_one_basket(student):
    """A single step with a single basket, for which an expanded buffer is as good as any other."""
    inputs, hidden, goods = sizes(3, 3)
    return facts_of_training(
        student.train, attention_model(inputs, hidden), [batch_of(1, goods, inputs)], 0.3, 1
    )


@probe
def trained_in_vain(student):
    """A training with lr = 0, which learns nothing: only the way to the loss counts."""
    inputs, hidden, goods, baskets = sizes(4, 3)
    model = attention_model(inputs, hidden)
    return facts_of_training(student.train, model, [batch_of(baskets, goods, inputs)], 0.0, 1)


LEARNED = ["model.*:value", "model.*:version", "model.*:grad"]


def assert_trained(training):
    """The training came to its end."""
    losses = training.seen["losses"]
    assert_runs(losses, "The training is not done")


def test_prices_belong_to_the_caller(trained):
    """The batches are after the training what they were before."""
    for case in cases(trained):
        assert_left_alone(case.seen["kept"], but=["model"])


def test_each_basket_has_a_vector_of_its_own(trained_in_vain):
    """The loss is that of all baskets, each with its own goods."""
    assert_trained(trained_in_vain)
    told = (
        "With lr = 0 nothing is learned, and yet the losses are wrong.\n\nPrint the scaled prices, the "
        "weights and the vectors of one batch. Which are not as the task says?"
    )
    assert_close(*trained_in_vain["losses"], told)


def test_attention_learns(trained_by_one_basket):
    """With a single basket and a single step, every layer gets its gradient."""
    assert_trained(trained_by_one_basket)
    seen, right = trained_by_one_basket["parameters"]
    told = "After a single step a parameter is wrong.\n\nPrint every .grad before the step: where is it from?"
    if all(is_close(seen[name], right[name]) for name in ("head.weight", "head.bias")):
        told = (
            "After a single step head is right, and what lies before it is not.\n\n"
            "Does autograd see every operation from embed to head? And does softmax still find in backward "
            "what it has kept?"
        )
    with blaming_changes(trained_by_one_basket.seen["kept"], but=["batches", *LEARNED]):
        assert_close(seen, right, told)


def test_the_whole_training(trained):
    """Losses and parameters are right after several steps, and nothing else of the model has changed."""
    hint = "Is the first loss right? Then print every .grad before the first step: where is it from?"
    for case in cases(trained):
        assert_trained(case)
        with blaming_changes(case.seen["kept"], but=LEARNED):
            assert_close(*case["losses"], f"The losses of the steps are wrong.\n\n{hint}")
            assert_close(*case["parameters"], "A parameter is not where the gradients lead.")
        assert_untouched(case.seen["kept"], but=["batches", *LEARNED])


@picture
def baskets_before_the_head(student):
    """What enters head in the first step, for two baskets."""
    model = nn.ModuleDict({"embed": nn.Linear(2, 1), "score": nn.Linear(1, 1), "head": nn.Linear(1, 1)})
    x, drop = torch.randn(2, 2, 2), torch.tensor([[True, False], [False, False]])
    drawn = graph_at(model["head"], into="pooled", score=model["score"].weight)
    attempt(student.train, model, [(x, drop, torch.randn(2))], 0.1, 1)
    return drawn()
