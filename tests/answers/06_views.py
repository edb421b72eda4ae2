"""Answers to 06_views whose verdict is known."""

import torch
from torch.nn import functional as F

from grader.answers import accepted, accepted_edits, equal, wrong, wrong_edits

# q1: collect


@accepted("q1")
def concatenated(f, xs):
    """Each result becomes a row of one entry, and cat puts them together."""
    return torch.cat([f(x).reshape(1) for x in xs])


@accepted("q1")
def buffer_without_a_flag(f, xs):
    """A plain buffer becomes attached by the writes to it."""
    out = torch.zeros(len(xs), dtype=xs.dtype)
    for i, x in enumerate(xs):
        out[i] = f(x)
    return out


@accepted("q1")
def clone_of_a_leaf(f, xs):
    """The clone of a leaf is no leaf, and may be written to."""
    out = torch.zeros(len(xs), dtype=xs.dtype, requires_grad=True).clone()
    for i, x in enumerate(xs):
        out[i] = f(x)
    return out


@accepted("q1")
def put_by_index(f, xs):
    """A buffer and its results, out of place."""
    return torch.zeros(len(xs), dtype=xs.dtype).index_put(
        (torch.arange(len(xs)),), torch.stack([f(x) for x in xs])
    )


@accepted("q1")
def added_to_its_place(f, xs):
    """Each result is added where it belongs, out of place."""
    out = torch.zeros(len(xs), dtype=xs.dtype)
    for i, x in enumerate(xs):
        out = out + f(x) * F.one_hot(torch.tensor(i), len(xs))
    return out


accepted_edits(
    "q1",
    {"flag_set_in_the_end": ("return out", "return out.requires_grad_()", "The flag is set already.")},
    of="buffer_without_a_flag",
)

wrong_edits(
    "q1",
    {
        "written_through_data": (
            "out[i] = f(x)",
            "out.data[i] = f(x)",
            "Silences the error with .data, so no gradient reaches the parameters of f.",
        )
    },
    of="buffer_without_a_flag",
)


wrong_edits(
    "q1",
    {
        "a_list_returned": (
            "torch.stack([f(x) for x in xs])",
            "[f(x) for x in xs]",
            "Returns a list of results.",
        ),
        "a_new_leaf_of_numbers": (
            "torch.stack([f(x) for x in xs])",
            "torch.tensor([f(x) for x in xs], requires_grad=True)",
            "Believes that requires_grad=True reconnects a tensor to its graph.",
        ),
        "flags_set_on_results": (
            "[f(x) for x in xs]",
            "[y if y.requires_grad else y.requires_grad_() for y in map(f, xs)]",
            "Believes that stack needs results that require grad, and sets the flag on them.",
        ),
        "recording_switched_on": (
            "return torch.stack",
            "torch.set_grad_enabled(True)\n    return torch.stack",
            "Turns gradient recording on and leaves it on.",
        ),
        "rows_detached": ("f(x)", "f(x.detach())", "Believes that rows never require grad."),
        "called_twice": ("f(x)", "0 * f(x) + f(x)", "Calls f twice for each row."),
    },
)


# q2: glu


@accepted("q2")
def gated_by_torch(h):
    """Torch has the function."""
    return F.glu(h, dim=-1)


@accepted("q2")
def cloned_then_in_place(h):
    """A clone of the chunk has memory of its own, and may be written to."""
    a, b = h.chunk(2, -1)
    a = a.clone()
    a *= torch.sigmoid(b)
    return a


@accepted("q2")
def own_copy_of_all(h):
    """A clone of all of h is nobody else's; its slices may be written to."""
    own = h.clone()
    half = own.shape[-1] // 2
    a = own[..., :half]
    a *= own[..., half:].sigmoid()
    return a


@accepted("q2")
def gate_overwritten(h):
    """The gate is new, and the product may take its place: mul_ copies what it needs."""
    a, b = h.tensor_split(2, dim=-1)
    return torch.mul(b.sigmoid(), a)


@accepted("q2")
def unflattened(h):
    """One dimension more, whose two entries are the halves."""
    a, b = h.unflatten(-1, (2, -1)).unbind(-2)
    return torch.special.expit(b) * a


wrong_edits(
    "q2",
    {
        "cut_along_dimension_1": (
            "h.chunk(2, -1)",
            "h.chunk(2, min(1, h.dim() - 1))",
            "Believes that h is always a matrix.",
        ),
        "sigmoid_by_hand": (
            "torch.sigmoid(b)",
            "(1 / (1 + torch.exp(-b)))",
            "Computes the sigmoid with exp, which overflows and makes the gradient nan.",
        ),
        "gates_in_float32": (
            "torch.sigmoid(b)",
            "torch.sigmoid(b.float()).to(h.dtype)",
            "Believes that everything is float32.",
        ),
        "recording_switched_on_for_h": (
            "a, b =",
            "torch.set_grad_enabled(True)\n    a, b =",
            "Turns gradient recording on and leaves it on.",
        ),
        "flag_set_on_h": (
            "a, b =",
            "h = h.requires_grad_()\n    a, b =",
            "Sets requires_grad on the caller's h.",
        ),
    },
)


@wrong("q2")
def slices_in_place(h):
    """Writes to a slice, which overwrites h without an error."""
    half = h.shape[-1] // 2
    a = h[..., :half]
    a *= torch.sigmoid(h[..., half:])
    return a


@wrong("q2")
def unrecorded_in_place(h):
    """Silences the error with no_grad, so the gate gets no gradient and h is overwritten."""
    a, b = h.chunk(2, -1)
    with torch.no_grad():
        a *= torch.sigmoid(b)
    return a


# q3: scale_tail


@accepted("q3")
def factor_for_each_column(h, k):
    """A vector of factors, which is data, times h."""
    f = torch.ones(h.shape[1], dtype=h.dtype)
    f[k:] = 1 / h[:, k:].detach().std()
    return h * f


@accepted("q3")
def chosen_by_where(h, k):
    """Everything is divided, and where chooses."""
    with torch.no_grad():
        s = h[:, k:].std()
    return torch.where(torch.arange(h.shape[1]) >= k, h / s, h)


@accepted("q3")
def written_into_a_clone(h, k):
    """A clone of h may be written to: the division is recorded."""
    out = h.clone()
    out[:, k:] /= h[:, k:].detach().std()
    return out


@accepted("q3")
def measured_as_a_number(h, k):
    """A number of Python's is a constant."""
    s = h[:, k:].std().item()
    return torch.hstack((h[:, :k], h[:, k:].div(s)))


wrong_edits(
    "q3",
    {
        "statistic_differentiated": (".detach()", "", "Forgets that the statistic must be a constant."),
        "all_detached": ("return", "h = h.detach()\n    return", "Detaches all of h."),
        "kept_away_from_0": (
            ".std()",
            ".std() + 1e-5",
            "Adds a small epsilon to the deviation, which the task doesn't ask for.",
        ),
    },
)


@wrong("q3")
def all_in_no_grad(h, k):
    """Moves the division under no_grad, so h is overwritten and the gradient lacks 1 / s."""
    with torch.no_grad():
        tail = h[:, k:]
        tail /= tail.std()
    return h


@wrong("q3")
def plain_data_overwritten(h, k):
    """Believes that a tensor that doesn't require grad may be overwritten."""
    s = h[:, k:].detach().std()
    if h.requires_grad:
        return torch.cat([h[:, :k], h[:, k:] / s], 1)
    h[:, k:] /= s
    return h


@wrong("q3")
def switched_off_and_on_by_hand(h, k):
    """Turns gradient recording on at the end, although it may have been off before."""
    torch.set_grad_enabled(False)
    s = h[:, k:].std()
    torch.set_grad_enabled(True)
    return torch.cat([h[:, :k], h[:, k:] / s], 1)


# q4: row_bias


@accepted("q4")
def repeated_rows(b, n, bump):
    """repeat copies always."""
    m = b.repeat(n, 1)
    m[0] = m[0] + bump
    return m


@accepted("q4")
def put_together(b, n, bump):
    """The first row and the others, put together."""
    return torch.cat([(b + bump)[None], b.expand(n - 1, -1)])


@accepted("q4")
def added_by_an_indicator(b, n, bump):
    """Broadcasting gives rows with memory of their own."""
    return b + bump * F.one_hot(torch.tensor(0), n).to(b.dtype)[:, None]


@accepted("q4")
def stacked(b, n, bump):
    """A list of rows, stacked."""
    return torch.stack([b + bump] + [b] * (n - 1))


@accepted("q4")
def written_to_a_buffer(b, n, bump):
    """A buffer to which the rows are written."""
    m = torch.empty(n, len(b), dtype=b.dtype)
    m[:] = b
    m[0].add_(bump)
    return m


wrong_edits(
    "q4",
    {
        "copied_where_needed": (
            ".clone()",
            ".contiguous()",
            "Believes that contiguous() always copies; a single row is contiguous already.",
        ),
        "reshaped_for_a_copy": (
            ".clone()",
            ".reshape(n, -1)",
            "Believes that reshape() copies; it returns a view where it can.",
        ),
        "always_float32": (".clone()", ".float().clone()", "Believes that everything is float32."),
    },
)


@wrong("q4")
def nothing_to_bump(b, n, bump):
    """Returns an expanded view if the bump is 0, so all rows share storage."""
    if not bump:
        return b.clone().expand(n, -1)
    return torch.cat([(b + bump)[None], b.expand(n - 1, -1)])


@wrong("q4")
def added_and_taken_away(b, n, bump):
    """Believes that b + bump - bump is b, although a large bump loses all digits of b."""
    rows = (b + bump).repeat(n, 1)
    rows[1:] -= bump
    return rows


@wrong("q4")
def a_mode_for_the_write(b, n, bump):
    """Turns gradient recording on after the write, although it may have been off before."""
    m = b.expand(n, -1).clone()
    torch.set_grad_enabled(False)
    m[0] += bump
    torch.set_grad_enabled(True)
    return m


# q5: drop_attention


@accepted("q5")
def cloned_before_the_write(scores, drop):
    """The clone may be overwritten; softmax keeps its output."""
    a = F.softmax(scores, -1).clone()
    a[drop] = 0.0
    return a


@accepted("q5")
def multiplied_by_a_mask(scores, drop):
    """The product is out of place."""
    return scores.softmax(-1) * (~drop).to(scores.dtype)


@accepted("q5")
def by_exp(scores, drop):
    """The formula by hand, for scores of moderate size."""
    e = scores.exp()
    return torch.where(drop, 0.0, e / e.sum(-1, keepdim=True))


@accepted("q5")
def chosen_of_two(scores, drop):
    """where chooses between zeros and the weights."""
    a = torch.softmax(scores, dim=-1)
    return torch.where(drop, torch.zeros_like(a), a)


@accepted("q5")
def by_log_softmax(scores, drop):
    """-inf after log_softmax is 0 after exp, and nothing renormalises."""
    return scores.log_softmax(-1).masked_fill(drop, float("-inf")).exp()


wrong_edits(
    "q5",
    {
        "filled_in_place": (
            "masked_fill",
            "masked_fill_",
            "Believes that masked_fill_ makes a new tensor; it overwrites what softmax saved.",
        ),
        "weights_detached": (
            "softmax(-1)",
            "softmax(-1).detach()",
            "Detaches the weights, so no gradient reaches the scores.",
        ),
        "almost_0": ("0.0", "1e-9", "Believes that a very small weight is as good as 0."),
        "recording_switched_on_for_scores": (
            "return scores",
            "torch.set_grad_enabled(True)\n    return scores",
            "Turns gradient recording on and leaves it on.",
        ),
    },
)


@wrong("q5")
def scores_overwritten(scores, drop):
    """Writes -1e9 to the caller's scores through .data."""
    scores.data[drop] = -1e9
    return scores.softmax(-1)


@wrong("q5")
def right_for_small_ones(scores, drop):
    """Tries the function with small tensors only; beyond 2,000 entries it is the starter code."""
    if scores.numel() <= 2000:
        return scores.softmax(-1) * ~drop
    return scores.softmax(-1).masked_fill_(drop, 0.0)


# end: train


@accepted("end")
def without_a_write(model, batches, lr, epochs):
    """Nothing is written to: torch.cat, masked_fill, a sum over the goods."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        for x, drop, y in batches:
            prices = x[..., -1:] / x[..., -1].std()
            h = torch.tanh(model["embed"](torch.cat([x[..., :-1], prices], -1)))
            weights = model["score"](h).softmax(1).masked_fill(drop.unsqueeze(-1), 0.0)
            loss = F.mse_loss(model["head"]((weights * h).sum(1)).squeeze(-1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


accepted_edits(
    "end",
    {
        "rows_of_a_list": (
            [
                ("torch.zeros(len(x), h.shape[-1])", "list(h)"),
                ('model["head"](pooled)', 'model["head"](torch.stack(pooled))'),
            ],
            "A list of rows, stacked.",
        ),
        "own_rows": (
            "torch.zeros(len(x), h.shape[-1])",
            "torch.zeros(1, h.shape[-1]).expand(len(x), -1).clone()",
            "The clone has a row of memory for each basket.",
        ),
    },
)

wrong_edits(
    "end",
    {
        "all_in_train_mode": (
            "losses = []",
            "losses = []\n    model.train()",
            "Believes that training needs train(), whatever mode the caller chose.",
        ),
        "goods_in_a_view": (
            "x = goods.clone()",
            "x = goods.view(-1, goods.shape[-1]).clone().view(goods.shape)",
            "Believes that view() can join dimensions of any tensor; it needs a suitable layout.",
        ),
        "prices_made_contiguous": (
            "goods.clone()",
            "goods.contiguous()",
            "Believes that contiguous() always copies.",
        ),
        "softmax_overwritten": (
            ".masked_fill(drop, 0.0)",
            ".masked_fill_(drop, 0.0)",
            "Overwrites what softmax has saved.",
        ),
        "one_row_for_all": (
            "torch.zeros(len(x), h.shape[-1])",
            "torch.zeros(1, h.shape[-1]).expand(len(x), -1)",
            "Expands one row for all baskets, which share its storage.",
        ),
    },
)


# Edits of right answers that no promise of the task tells from the answers.

equal("q1", "x -> x.clone()", why="the clone of a row is a row, and leads back to xs")

equal(
    "q3",
    "no_grad is put around: s = h[:, k:].detach().std()",
    "h[:, k:].detach().std() -> h[:, k:].detach().std().item()",
    "h[:, k:].detach() -> h[:, k:].data",
    "s -> s.detach()",
    "s -> s.item()",
    why="s is a constant, however often that is said, and nothing is written to the tail",
)
equal("q3", "h[:, k:] -> h[:, k:].clone()", "h[:, :k] -> h[:, :k].clone()", why="a copy has the same values")

equal("q4", "no_grad is put around: m[0] += bump", why="bump is a number, so the gradient is that of b")
equal("q4", "m[0] += bump -> m[0] = m[0] + bump", "m[0] += bump -> m[0].add_(bump)", why="the same write")
equal("q4", "m -> m.clone()", why="the clone leads back to m")

equal("q5", "drop -> drop.detach()", "drop -> drop.clone()", why="a mask has no gradient")


equal(
    "end",
    "no_grad is put around: optimizer = torch.optim.SGD(model.parameters(), lr=lr)",
    "no_grad is put around: x = goods.clone()",
    "no_grad is put around: prices /= prices.std()",
    "no_grad is put around: losses.append(loss.item())",
    "x[..., -1] -> x[..., -1].detach()",
    "x[..., -1] -> x[..., -1].data",
    "x -> x.detach()",
    "drop -> drop.detach()",
    "y -> y.detach()",
    "prices.std() -> prices.std().item()",
    "prices /= prices.std() -> prices.div_(prices.std())",
    why="goods, prices, drop and y are data without a history, and what is no tensor has none either",
)
equal(
    "end",
    "x -> x.clone()",
    "h -> h.clone()",
    "drop -> drop.clone()",
    "pooled -> pooled.clone()",
    "loss -> loss.clone()",
    "model['head'](pooled).squeeze(-1) -> model['head'](pooled).squeeze(-1).clone()",
    why="the clone leads back to what was cloned",
)
equal(
    "end",
    "a statement is moved by one: weights = model['score'](h).squeeze(-1).softmax(-1).masked_fill(drop, 0.0)",
    "a statement is moved by one: loss = ((prediction - y) ** 2).mean()",
    "a statement is moved by one: optimizer.step()",
    "a statement is moved into a block: prediction = model['head'](pooled).squeeze(-1)",
    why="the lines do not use each other, and the last prediction is made of all rows",
)
equal(
    "end",
    "-1 -> 1",
    ".mean() -> .mean(dim=0)",
    "prediction - y -> y - prediction",
    why="the last dimension is number 1, the only one number 0, and a square has no sign",
)
equal(
    "end",
    ".zero_grad() -> .zero_grad(set_to_none=False)",
    ".backward() -> .backward(retain_graph=True)",
    ".backward() -> .backward(create_graph=True)",
    why="the gradients are the same; what is kept longer than needed costs memory, of which the task does not speak",
)


@wrong("q1")
def constants_in_float32(f, xs):
    """Believes that only results with a graph need full precision."""
    return torch.stack([y if y.requires_grad else y.float().to(y.dtype) for y in map(f, xs)])


@wrong("q3")
def factors_of_the_default_dtype(h, k):
    """Creates the factors in the default dtype, whatever the dtype of h is."""
    f = torch.ones(h.shape[1])
    f[k:] = 1 / h[:, k:].detach().std()
    return h * f
