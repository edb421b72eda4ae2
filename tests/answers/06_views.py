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
    {
        "copied_into_views": (
            "out[i] = f(x)",
            "out[i].copy_(f(x))",
            "copy_ through a view is recorded as well.",
        ),
        "empty_like_the_rows": (
            "torch.zeros(len(xs), dtype=xs.dtype)",
            "xs.new_empty(len(xs))",
            "Every entry is written to.",
        ),
        "flag_set_in_the_end": ("return out", "return out.requires_grad_()", "The flag is set already."),
    },
    of="buffer_without_a_flag",
)

wrong_edits(
    "q1",
    {
        "buffer_of_float32": (
            ", dtype=xs.dtype",
            "",
            "Believes that a buffer takes the dtype of what is written to it.",
        ),
        "written_through_data": (
            "out[i] = f(x)",
            "out.data[i] = f(x)",
            "Believes that .data is the way past the error; nothing reaches what f uses.",
        ),
        "written_through_detach": (
            "out[i] = f(x)",
            "out.detach()[i] = f(x).detach()",
            "Writes through an alias, which is not recorded.",
        ),
        "written_by_item": (
            "out[i] = f(x)",
            "out[i] = f(x).item()",
            "Writes numbers, which have no history.",
        ),
        "always_the_first": ("out[i] = f(x)", "out[0] = f(x)", "Writes every result to one place."),
        "called_once_to_try": (
            "dtype=xs.dtype",
            "dtype=f(xs[0]).dtype",
            "Calls f once more to learn the dtype.",
        ),
        "one_row_too_few": ("enumerate(xs)", "enumerate(xs[:-1])", "Stops before the last row."),
        "rows_written_to": (
            "out[i] = f(x)",
            "out[i] = f(x)\n        x.data.zero_()",
            "Believes that a row of a loop is a copy.",
        ),
    },
    of="buffer_without_a_flag",
)


@wrong("q1")
def data_of_a_leaf(f, xs):
    """Keeps the flag of the buffer and writes through .data: no error, nothing reaches f's parameters."""
    out = torch.zeros(len(xs), dtype=xs.dtype, requires_grad=True)
    for i, x in enumerate(xs):
        out.data[i] = f(x)
    return out


@wrong("q1")
def assigned_without_recording(f, xs):
    """no_grad around the assignment silences the error, and the history is gone."""
    out = torch.zeros(len(xs), dtype=xs.dtype, requires_grad=True)
    with torch.no_grad():
        for i, x in enumerate(xs):
            out[i] = f(x)
    return out


@wrong("q1")
def detached_view_of_a_leaf(f, xs):
    """out.detach()[i] = ... writes through, and is not recorded."""
    out = torch.zeros(len(xs), dtype=xs.dtype, requires_grad=True)
    for i, x in enumerate(xs):
        out.detach()[i] = f(x).detach()
    return out


wrong_edits(
    "q1",
    {
        "a_list_returned": (
            "torch.stack([f(x) for x in xs])",
            "[f(x) for x in xs]",
            "Returns a list of results.",
        ),
        "a_new_tensor_of_numbers": (
            "torch.stack([f(x) for x in xs])",
            "torch.tensor([f(x) for x in xs])",
            "Believes that torch.tensor puts tensors together; it copies their numbers.",
        ),
        "a_new_leaf_of_numbers": (
            "torch.stack([f(x) for x in xs])",
            "torch.tensor([f(x) for x in xs], requires_grad=True)",
            "Believes that requires_grad=True brings the history back.",
        ),
        "flags_set_on_results": (
            "[f(x) for x in xs]",
            "[y if y.requires_grad else y.requires_grad_() for y in map(f, xs)]",
            "Believes that stack needs results that require grad, and sets the flag on the constant of f.",
        ),
        "recording_switched_on": (
            "return torch.stack",
            "torch.set_grad_enabled(True)\n    return torch.stack",
            "Makes sure that gradients are recorded, and leaves them switched on.",
        ),
        "rows_detached": ("f(x)", "f(x.detach())", "Takes rows for data always."),
        "as_a_column": ("[f(x) for x in xs])", "[f(x).reshape(1) for x in xs])", "Returns a column."),
        "backwards": ("for x in xs", "for x in xs.flip(0)", "Begins with the last row."),
        "all_rows_at_once": (
            "torch.stack([f(x) for x in xs])",
            "f(xs).expand(len(xs))",
            "Believes that f takes a whole batch, and repeats the number that comes back.",
        ),
        "mapped_by_vmap": (
            "torch.stack([f(x) for x in xs])",
            "torch.vmap(f)(xs)",
            "Believes that any Python function can be vectorised; one that decides by a number cannot.",
        ),
        "rows_as_matrices": (
            "f(x) for x in xs",
            "f(x) for x in xs.split(1)",
            "Hands over rows of two dimensions.",
        ),
        "called_twice": ("f(x)", "0 * f(x) + f(x)", "Calls f twice a row."),
    },
)


@wrong("q1")
def remembered_by_its_numbers(f, xs):
    """Believes that equal rows need f only once."""
    known = {}
    for x in xs:
        key = tuple(x.tolist())
        known[key] = known[key] if key in known else f(x)
    return torch.stack([known[tuple(x.tolist())] for x in xs])


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
        "gate_detached": ("torch.sigmoid(b)", "torch.sigmoid(b).detach()", "Takes the gate for a constant."),
        "halves_exchanged": ("a * torch.sigmoid(b)", "b * torch.sigmoid(a)", "Gates the wrong half."),
        "cut_along_rows": ("h.chunk(2, -1)", "h.chunk(2, 0)", "Cuts along the first dimension."),
        "cut_along_dimension_1": (
            "h.chunk(2, -1)",
            "h.chunk(2, min(1, h.dim() - 1))",
            "Takes h for a matrix always.",
        ),
        "unsafe_and_in_place": (
            "a, b = h.chunk(2, -1)\n    return a * torch.sigmoid(b)",
            "a, b = h.unsafe_chunk(2, -1)\n    a *= torch.sigmoid(b)\n    return a",
            "unsafe_chunk silences the error; h is overwritten, and its counter does not move.",
        ),
        "sigmoid_by_hand": (
            "torch.sigmoid(b)",
            "(1 / (1 + torch.exp(-b)))",
            "Writes the formula down; exp overflows, and 0 meets infinity on the way back.",
        ),
        "gate_in_place": (
            "torch.sigmoid(b)",
            "b.data.sigmoid_()",
            "Makes the gate in the memory of h, unseen.",
        ),
        "tanh_for_sigmoid": ("torch.sigmoid(b)", "torch.tanh(b)", "Takes another gate."),
        "gates_clamped": (
            "torch.sigmoid(b)",
            "torch.sigmoid(b.clamp(-5, 5))",
            "Protects against an overflow that is none.",
        ),
        "gates_in_float32": (
            "torch.sigmoid(b)",
            "torch.sigmoid(b.float()).to(h.dtype)",
            "Believes that everything is float32.",
        ),
        "recording_switched_on_for_h": (
            "a, b =",
            "torch.set_grad_enabled(True)\n    a, b =",
            "Makes sure that gradients are recorded, and leaves them switched on.",
        ),
        "flag_set_on_h": (
            "a, b =",
            "h = h.requires_grad_()\n    a, b =",
            "Makes h require grad, which belongs to the caller.",
        ),
    },
)


@wrong("q2")
def slices_in_place(h):
    """A slice is a single view, so nothing raises, and h is overwritten for the other branch."""
    half = h.shape[-1] // 2
    a = h[..., :half]
    a *= torch.sigmoid(h[..., half:])
    return a


@wrong("q2")
def unrecorded_in_place(h):
    """no_grad silences the error: right values, no gradient for the gate, and h overwritten."""
    a, b = h.chunk(2, -1)
    with torch.no_grad():
        a *= torch.sigmoid(b)
    return a


@wrong("q2")
def data_in_place(h):
    """a.data *= ... is the same, and not even counted."""
    a, b = h.chunk(2, -1)
    a.data *= torch.sigmoid(b).data
    return a


@wrong("q2")
def overwritten_and_put_back(h):
    """Puts the values back in the end; what the product has saved and the counter say otherwise."""
    before = h.detach().clone()
    half = h.shape[-1] // 2
    with torch.no_grad():
        h[..., :half] *= torch.sigmoid(h[..., half:])
    result = h[..., :half].clone()
    with torch.no_grad():
        h.copy_(before)
    return result


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
        "statistic_differentiated": (".detach()", "", "Forgets that the statistic is a constant."),
        "tail_detached": ("h[:, k:] / s", "h[:, k:].detach() / s", "Cuts the tail instead of the statistic."),
        "all_detached": ("return", "h = h.detach()\n    return", "Detaches all of h."),
        "a_deviation_for_each_column": (".std()", ".std(0)", "Takes a standard deviation for each column."),
        "deviation_of_all_columns": ("h[:, k:].detach()", "h.detach()", "Measures all columns."),
        "biased": (".std()", ".std(correction=0)", "Divides by n in the variance."),
        "kept_away_from_0": (".std()", ".std() + 1e-5", "Adds an epsilon that nobody asked for."),
        "by_the_variance": (".std()", ".var()", "Divides by the variance."),
        "head_scaled": ("[h[:, :k], h[:, k:] / s]", "[h[:, :k] / s, h[:, k:]]", "Scales the head."),
        "centred": ("h[:, k:] / s", "(h[:, k:] - h[:, k:].mean()) / s", "Takes scaling for standardising."),
    },
)


@wrong("q3")
def all_in_no_grad(h, k):
    """Moves the division under no_grad, too: no error, h overwritten, and the gradient lacks 1 / s."""
    with torch.no_grad():
        tail = h[:, k:]
        tail /= tail.std()
    return h


@wrong("q3")
def all_recorded(h, k):
    """Takes no_grad away, the other way of the message: h is overwritten, and s differentiated."""
    tail = h[:, k:]
    tail /= tail.std()
    return h


@wrong("q3")
def plain_data_overwritten(h, k):
    """Spares h where it has a history, and believes that plain data may be overwritten."""
    s = h[:, k:].detach().std()
    if h.requires_grad:
        return torch.cat([h[:, :k], h[:, k:] / s], 1)
    h[:, k:] /= s
    return h


@wrong("q3")
def divided_through_data(h, k):
    """h.data is overwritten, and autograd knows nothing of the division."""
    h.data[:, k:] /= h.data[:, k:].std()
    return h


@wrong("q3")
def clone_written_without_recording(h, k):
    """Clones h, and divides under no_grad: h is safe, and the gradient lacks 1 / s."""
    out = h.clone()
    with torch.no_grad():
        out[:, k:] /= out[:, k:].std()
    return out


@wrong("q3")
def mean_of_squares(h, k):
    """Takes the variance for a difference of two means; near 1 nothing is left of its digits."""
    tail = h[:, k:].detach()
    variance = (tail**2).mean() - tail.mean() ** 2
    s = (variance * tail.numel() / (tail.numel() - 1)).sqrt()
    return torch.cat([h[:, :k], h[:, k:] / s], 1)


@wrong("q3")
def switched_off_and_on_by_hand(h, k):
    """Switches on afterwards what may have been off before."""
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
            "Believes that contiguous copies; of a single row there is nothing to copy.",
        ),
        "reshaped_for_a_copy": (
            ".clone()",
            ".reshape(n, -1)",
            "Believes that reshape copies; it gives a view where it can.",
        ),
        "cloned_too_early": (
            "b.expand(n, -1).clone()",
            "b.clone().expand(n, -1)",
            "Clones before the rows are made: b is safe, all rows are bumped.",
        ),
        "detached_clone": (".clone()", ".detach().clone()", "Detaches to be allowed to write."),
        "bumped_without_recording": (
            "m[0] += bump",
            "m[0] = torch.tensor((b + bump).tolist(), dtype=b.dtype)",
            "Writes numbers: the first row has lost its history.",
        ),
        "last_row": ("m[0] += bump", "m[-1] += bump", "Bumps the last row."),
        "first_column": ("m[0] += bump", "m[:, 0] += bump", "Bumps the first column."),
        "first_entry": ("m[0] += bump", "m[0, 0] += bump", "Bumps a single entry."),
        "bump_instead": ("m[0] += bump", "m[0] = bump", "Writes bump instead of adding it."),
        "always_float32": (".clone()", ".float().clone()", "Believes that everything is float32."),
        "rounded_to_float32": (
            "m[0] += bump",
            "m[0] += torch.tensor(bump)",
            "Makes a float32 of the number, which a float64 row then gets.",
        ),
    },
)


@wrong("q4")
def nothing_to_bump(b, n, bump):
    """Believes that without a bump there is nothing to copy but b; all rows share one memory."""
    if not bump:
        return b.clone().expand(n, -1)
    return torch.cat([(b + bump)[None], b.expand(n - 1, -1)])


@wrong("q4")
def added_and_taken_away(b, n, bump):
    """Believes that b + bump - bump is b; of a large bump nothing of b is left."""
    rows = (b + bump).repeat(n, 1)
    rows[1:] -= bump
    return rows


@wrong("q4")
def a_mode_for_the_write(b, n, bump):
    """Switches on afterwards what may have been off before."""
    m = b.expand(n, -1).clone()
    torch.set_grad_enabled(False)
    m[0] += bump
    torch.set_grad_enabled(True)
    return m


@wrong("q4")
def all_rows_bumped(b, n, bump):
    """Adds to b before it is expanded, so every row is bumped."""
    return (b + bump).expand(n, -1)


@wrong("q4")
def bumped_through_data(b, n, bump):
    """Writes through .data of the expanded view, to b itself."""
    m = b.expand(n, -1)
    m.data[0].add_(bump)
    return m


@wrong("q4")
def row_of_numbers(b, n, bump):
    """Copies the first row as numbers, so its gradient is lost."""
    m = b.expand(n, -1).clone()
    m[0] = torch.tensor((b + bump).tolist())
    return m


@wrong("q4")
def cloned_after_the_write(b, n, bump):
    """Clones after the write, when b has changed."""
    m = b.expand(n, -1)
    m[0] += bump
    return m.clone()


@wrong("q4")
def only_one_row_learns(b, n, bump):
    """Believes that the other rows are constants, for they are only copied."""
    return torch.cat([(b + bump)[None], b.detach().expand(n - 1, -1)])


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
            "Believes that a chain makes new tensors; masked_fill_ overwrites what softmax saved.",
        ),
        "scaled_like_dropout": (
            ".masked_fill(drop, 0.0)",
            ".masked_fill(drop, 0.0) / (1 - drop.to(scores.dtype).mean())",
            "Scales what is left, as nn.Dropout does.",
        ),
        "kept_instead": ("(drop, 0.0)", "(~drop, 0.0)", "Takes the mask the other way round."),
        "over_the_rows": ("softmax(-1)", "softmax(-2)", "Sums over another dimension."),
        "weights_detached": ("softmax(-1)", "softmax(-1).detach()", "Detaches, and nothing goes back."),
        "almost_0": ("0.0", "1e-9", "Believes that a very small weight is as good as 0."),
        "in_float32": (
            "softmax(-1)",
            "softmax(-1, dtype=torch.float32).to(scores.dtype)",
            "Computes in float32.",
        ),
        "dropped_scores_are_constants": (
            "scores.softmax(-1)",
            "torch.where(drop, scores.detach(), scores).softmax(-1)",
            "Believes that a dropped score gets no gradient.",
        ),
        "a_view_first": (
            "scores.softmax(-1).masked_fill(drop, 0.0)",
            "scores.softmax(-1).view_as(scores).masked_fill_(drop, 0.0)",
            "Believes that a view is a copy.",
        ),
        "recording_switched_on_for_scores": (
            "return scores",
            "torch.set_grad_enabled(True)\n    return scores",
            "Makes sure that gradients are recorded, and leaves them switched on.",
        ),
        "mask_inverted_in_place": (
            "scores.softmax(-1).masked_fill(drop, 0.0)",
            "scores.softmax(-1) * drop.logical_not_()",
            "Inverts the caller's mask in place.",
        ),
    },
)


@wrong("q5")
def zeroed_through_data(scores, drop):
    """a.data[drop] = 0: right weights, no error, and the gradient of the dropped scores is lost."""
    a = scores.softmax(-1)
    a.data[drop] = 0.0
    return a


@wrong("q5")
def masked_before_softmax(scores, drop):
    """Masks the scores by -inf, which is a causal mask and no dropout: the rest renormalises."""
    return scores.masked_fill(drop, float("-inf")).softmax(-1)


@wrong("q5")
def scores_overwritten(scores, drop):
    """scores.data[...] = -1e9 writes to the caller's memory."""
    scores.data[drop] = -1e9
    return scores.softmax(-1)


@wrong("q5")
def zeroed_without_recording(scores, drop):
    """no_grad hides the write from the graph, and the counter counts it all the same."""
    a = scores.softmax(-1)
    with torch.no_grad():
        a[drop] = 0.0
    return a


@wrong("q5")
def clone_zeroed_through_data(scores, drop):
    """A clone is safe from softmax; .data hides that the weights were dropped at all."""
    a = scores.softmax(-1).clone()
    a.data[drop] = 0.0
    return a


@wrong("q5")
def right_for_small_ones(scores, drop):
    """Was tried with small tensors only; beyond 2,000 entries it is the given function."""
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


@accepted("end")
def stepped_by_hand(model, batches, lr, epochs):
    """The rule of SGD, under no_grad, and gradients that stand in no .grad."""
    parameters, losses = list(model.parameters()), []
    for x, drop, y in [batch for _ in range(epochs) for batch in batches]:
        scale = torch.ones(x.shape[-1])
        scale[-1] = x[..., -1].std()
        h = model["embed"](x / scale).tanh()
        weights = torch.where(drop, 0.0, model["score"](h)[..., 0].softmax(-1))
        pooled = torch.einsum("nt,ntc->nc", weights, h)
        loss = (model["head"](pooled)[:, 0] - y).square().mean()
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= lr * gradient
        losses.append(float(loss))
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
        "own_weights": (
            ".softmax(-1).masked_fill(drop, 0.0)",
            ".softmax(-1).clone().masked_fill_(drop, 0.0)",
            "The clone may be written to.",
        ),
        "batches_cloned_once": (
            [
                ("losses = []", "losses, batches = [], [(x.clone(), *others) for x, *others in batches]"),
                ("goods.clone()", "goods"),
            ],
            "The function's own batches may be written to: in a second epoch the deviation is 1.",
        ),
    },
)

wrong_edits(
    "end",
    {
        "all_in_train_mode": (
            "losses = []",
            "losses = []\n    model.train()",
            "Believes that a model which is trained is in train mode.",
        ),
        "goods_in_a_view": (
            "x = goods.clone()",
            "x = goods.view(-1, goods.shape[-1]).clone().view(goods.shape)",
            "Believes that every tensor has a view in which baskets and goods are joined.",
        ),
        "prices_are_a_view": (
            "goods.clone()",
            "goods",
            "Believes that the prices are numbers of its own: the caller's data are divided.",
        ),
        "prices_made_contiguous": ("goods.clone()", "goods.contiguous()", "Believes that contiguous copies."),
        "prices_cast": (
            "goods.clone()",
            "goods.to(torch.float32)",
            "Believes that a cast copies; to the dtype that is there already it does not.",
        ),
        "prices_detached": ("goods.clone()", "goods.detach()", "Believes that detach copies."),
        "softmax_overwritten": (
            ".masked_fill(drop, 0.0)",
            ".masked_fill_(drop, 0.0)",
            "Overwrites what softmax has saved.",
        ),
        "softmax_overwritten_and_retained": (
            [
                (".masked_fill(drop, 0.0)", ".masked_fill_(drop, 0.0)"),
                ("backward()", "backward(retain_graph=True)"),
            ],
            "Believes that retain_graph cures every error of backward.",
        ),
        "softmax_overwritten_through_data": (
            ".masked_fill(drop, 0.0)",
            "\n            weights.data[drop] = 0.0",
            "Silences the error: softmax computes with zeros.",
        ),
        "attention_detached": (
            ".masked_fill(drop, 0.0)",
            ".detach().masked_fill_(drop, 0.0)",
            "Detaches to be allowed to write: the attention learns nothing.",
        ),
        "dropped_before_softmax": (
            ".softmax(-1).masked_fill(drop, 0.0)",
            ".masked_fill(drop, -1e9).softmax(-1)",
            "Takes scores away before the softmax, so that the others become larger.",
        ),
        "one_row_for_all": (
            "torch.zeros(len(x), h.shape[-1])",
            "torch.zeros(1, h.shape[-1]).expand(len(x), -1)",
            "All baskets share one row of memory.",
        ),
        "one_row_cloned": (
            "torch.zeros(len(x), h.shape[-1])",
            "torch.zeros(1, h.shape[-1]).clone().expand(len(x), -1)",
            "Clones the row before it is expanded.",
        ),
        "rows_without_recording": (
            "pooled[i] = weights[i] @ h[i]",
            "pooled.data[i] = weights[i] @ h[i]",
            "Writes rows through .data: nothing but head learns.",
        ),
        "two_bugs_left": (
            [
                ("goods.clone()", "goods"),
                ("torch.zeros(len(x), h.shape[-1])", "torch.zeros(1, h.shape[-1]).expand(len(x), -1)"),
            ],
            "Mends what raises an error, and nothing else.",
        ),
        "scaled_by_the_first_basket": (
            "prices.std()",
            "prices[0].std()",
            "Scales by the prices of a single basket.",
        ),
        "gradients_added_up": ("            optimizer.zero_grad()\n", "", "Forgets what stands in .grad."),
        "frozen_head": (
            "    losses = []",
            '    model["head"].requires_grad_(False)\n    losses = []',
            "Freezes the head, which belongs to the caller.",
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
equal(
    "q3", "h[:, k:] -> h[:, k:].clone()", "h[:, :k] -> h[:, :k].clone()", why="a clone of what is only read"
)

equal(
    "q4",
    "no_grad is put around: m[0] += bump",
    why="bump is a number: with it or without, the row has the gradient of b",
)
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
def results_as_floats(f, xs):
    """Believes that a buffer of float32 takes every number."""
    out = torch.zeros(len(xs))
    for i, x in enumerate(xs):
        out[i] = f(x)
    return out.to(xs.dtype)


@wrong("q1")
def constants_in_float32(f, xs):
    """Believes that only results with a graph need all their digits."""
    return torch.stack([y if y.requires_grad else y.float().to(y.dtype) for y in map(f, xs)])


@wrong("q3")
def factors_of_the_default_dtype(h, k):
    """Believes that constants need no more digits than torch gives them."""
    f = torch.ones(h.shape[1])
    f[k:] = 1 / h[:, k:].detach().std()
    return h * f
