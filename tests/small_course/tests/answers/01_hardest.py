"""Answers to 01_hardest whose verdict is known."""

import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from grader.answers import accepted, wrong

# --- q1 · Micro-batches that add up to the batch


@accepted("q1")
def sum_over_all_elements(model, X, Y, micro):
    """The sum over a micro-batch, divided by the elements of the whole batch."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y, reduction="sum") / Y.numel()).backward()


@accepted("q1")
def rescaled_afterwards(model, X, Y, micro):
    """Sums are accumulated apart from the old gradients, divided once, and added to them."""
    old = [p.grad for p in model.parameters()]
    for p in model.parameters():
        p.grad = None
    for x, y in zip(X.split(micro), Y.split(micro)):
        F.mse_loss(model(x), y, reduction="sum").backward()
    for p, gradient in zip(model.parameters(), old):
        p.grad.div_(Y.numel())
        p.grad = p.grad if gradient is None else p.grad + gradient


@accepted("q1")
def slices_and_a_loss_by_hand(model, X, Y, micro):
    """Slices instead of split, the squared error written out, and the factor given to backward."""
    for start in range(0, len(X), micro):
        x, y = X[start : start + micro], Y[start : start + micro]
        loss = ((model(x) - y) ** 2).mean()
        loss.backward(torch.tensor(len(x) / len(X), dtype=loss.dtype))


@accepted("q1")
def one_sample_at_a_time(model, X, Y, micro):
    """No more than `micro` samples; one is no more than that."""
    for x, y in zip(X, Y):
        (F.mse_loss(model(x), y) / len(X)).backward()


@accepted("q1")
def autograd_grad_and_a_sum(model, X, Y, micro):
    """Gradients are collected in a list of their own and added to .grad at the end."""
    parameters = list(model.parameters())
    totals = [torch.zeros_like(p) for p in parameters]
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y) * (x.shape[0] / X.shape[0])
        for total, gradient in zip(totals, torch.autograd.grad(loss, parameters)):
            total += gradient
    for p, total in zip(parameters, totals):
        p.grad = total if p.grad is None else p.grad + total


@accepted("q1")
def data_loader(model, X, Y, micro):
    """A DataLoader makes copies of the samples, and leaves the last micro-batch smaller."""
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=micro)
    for x, y in loader:
        loss = F.mse_loss(model(x), y, reduction="none").mean(dim=1).sum() / len(X)
        loss.backward()


@accepted("q1")
def shuffled_samples(model, X, Y, micro):
    """A sum does not care about the order of the samples."""
    for chosen in torch.randperm(len(X)).split(micro):
        F.mse_loss(model(X[chosen]), Y[chosen]).mul(len(chosen)).div(len(X)).backward()


@accepted("q1")
def retained_for_nothing_but_deleted(model, X, Y, micro):
    """Retaining the graph is of no use, but without a name that refers to it, it does not survive the round."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y) * len(x) / len(X)
        loss.backward(retain_graph=True)
        del loss


@wrong("q1")
def divided_by_the_number_of_steps(model, X, Y, micro):
    """Divides by the number of micro-batches, which is right only while all have the same size."""
    steps = len(X.split(micro))
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) / steps).backward()


@wrong("q1")
def zero_grad_inside_the_loop(model, X, Y, micro):
    """Believes that every backward needs a zero_grad() before it; then only the last micro-batch counts."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        model.zero_grad()
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q1")
def one_backward_for_the_sum(model, X, Y, micro):
    """Adds up the losses and calls backward once; the value is right, but the whole batch is in memory."""
    sum(F.mse_loss(model(x), y) * len(x) / len(X) for x, y in zip(X.split(micro), Y.split(micro))).backward()


@wrong("q1")
def whole_batch_at_once(model, X, Y, micro):
    """Ignores `micro`; the gradient is right, and the memory is that of the batch."""
    F.mse_loss(model(X), Y).backward()


@wrong("q1")
def chunk_taken_for_split(model, X, Y, micro):
    """Believes that chunk(n) makes pieces of n samples; it makes n pieces, which may be as large as they like."""
    for x, y in zip(X.chunk(micro), Y.chunk(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q1")
def graphs_retained(model, X, Y, micro):
    """Retains every graph "to be safe"; the old one is still held while the next one is built."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        loss = F.mse_loss(model(x), y) * len(x) / len(X)
        loss.backward(retain_graph=True)


@wrong("q1")
def zero_grad_at_the_start(model, X, Y, micro):
    """Starts with zero_grad() out of habit, and throws away what the caller had accumulated."""
    model.zero_grad()
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y) * len(x) / len(X)).backward()


@wrong("q1")
def last_micro_batch_dropped(model, X, Y, micro):
    """Counts the micro-batches with //, and so forgets the samples that do not fill the last one."""
    for i in range(len(X) // micro):
        x, y = X[i * micro : (i + 1) * micro], Y[i * micro : (i + 1) * micro]
        (F.mse_loss(model(x), y) * micro / len(X)).backward()


@wrong("q1")
def sum_divided_by_the_samples(model, X, Y, micro):
    """Believes that mse_loss averages over samples only; it averages over all elements of Y."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        (F.mse_loss(model(x), y, reduction="sum") / len(X)).backward()


@wrong("q1")
def old_gradients_rescaled_too(model, X, Y, micro):
    """Divides .grad at the end, and with it what had been accumulated before the call."""
    for x, y in zip(X.split(micro), Y.split(micro)):
        F.mse_loss(model(x), y, reduction="sum").backward()
    for p in model.parameters():
        p.grad /= Y.numel()


# --- q2 · The running loss that ate the memory


@accepted("q2")
def item_of_every_loss(model, loader):
    """Graphs are built, but nothing outlives its batch."""
    total = 0.0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        total += loss.item()
        del loss
    return total / len(loader)


@accepted("q2")
def detached_sum(model, loader):
    """A sum of detached losses has no history; at the end it becomes a number."""
    total = torch.zeros(())
    for x, y in loader:
        total += F.mse_loss(model(x), y).detach()
    return float(total / len(loader))


@accepted("q2")
def comprehension(model, loader):
    """float() takes the number out of each loss at once."""
    return sum(float(F.mse_loss(model(x), y)) for x, y in loader) / len(loader)


@accepted("q2")
def item_with_the_last_loss_still_bound(model, loader):
    """The name `loss` keeps one graph, that of the batch before, until it is bound again."""
    total = 0.0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        total += loss.item()
    return total / len(loader)


@accepted("q2")
@torch.inference_mode()
def inference_mode(model, loader):
    """Nothing is recorded in inference mode either."""
    losses = [F.mse_loss(model(x), y) for x, y in loader]
    return torch.stack(losses).mean().item()


@accepted("q2")
def added_up_under_no_grad(model, loader):
    """The graphs are built, but the addition is not recorded, so the sum does not refer to them."""
    total = torch.zeros(())
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        with torch.no_grad():
            total = total + loss
    return total.item() / len(loader)


@wrong("q2")
def item_at_the_end(model, loader):
    """Takes the number out only at the end, when every graph has long been built and kept."""
    total = 0.0
    for x, y in loader:
        total = total + F.mse_loss(model(x), y)
    return (total / len(loader)).item()


@wrong("q2")
def list_of_losses(model, loader):
    """Keeps the losses in a list; each of them keeps its graph."""
    losses = [F.mse_loss(model(x), y) for x, y in loader]
    return torch.stack(losses).mean().item()


@wrong("q2")
def only_the_result_detached(model, loader):
    """Detaches the final tensor; until then the sum was attached to every batch, and it is not a float."""
    total = 0.0
    for x, y in loader:
        total += F.mse_loss(model(x), y)
    return (total / len(loader)).detach()


@wrong("q2")
def stacked_and_returned(model, loader):
    """Returns the mean as a tensor, and with it the graphs of all batches."""
    return torch.stack([F.mse_loss(model(x), y) for x, y in loader]).mean()


@wrong("q2")
def last_loss_kept_on_the_model(model, loader):
    """Leaves the last loss on the model for later, and its graph with it."""
    total = 0.0
    for x, y in loader:
        model.last_loss = F.mse_loss(model(x), y)
        total += model.last_loss.item()
    return total / len(loader)


@wrong("q2")
def eval_mode(model, loader):
    """Believes that eval() switches gradients off; it changes dropout and batch norm, not recording."""
    model.eval()
    total = 0.0
    for x, y in loader:
        total += F.mse_loss(model(x), y)
    return total.item() / len(loader)


@wrong("q2")
def loss_deleted(model, loader):
    """Believes that del frees the graph; it removes a name, and the sum still refers to the graph."""
    total = 0.0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        total += loss
        del loss
    return float(total) / len(loader)


@wrong("q2")
def predictions_collected(model, loader):
    """Collects the predictions for later, and with them the graphs that made them."""
    pairs = [(model(x), y) for x, y in loader]
    with torch.no_grad():
        return sum(F.mse_loss(prediction, y).item() for prediction, y in pairs) / len(pairs)


@wrong("q2")
def tensor_under_no_grad(model, loader):
    """Records nothing, but returns a tensor where a float was asked for."""
    with torch.no_grad():
        return sum(F.mse_loss(model(x), y) for x, y in loader) / len(loader)


@wrong("q2")
def mean_over_the_samples(model, loader):
    """Weights each batch with its size, which is another mean than the one that was asked for."""
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += F.mse_loss(model(x), y).item() * len(x)
            count += len(x)
    return total / count


# --- q3 · Which tensors does backward still need?


@accepted("q3")
def version_increased(f, x):
    """Raises the version of mid as a write would, and lets autograd say whether it minds."""
    out, mid = f(x)
    torch.autograd.graph.increment_version(mid)
    try:
        torch.autograd.grad(out.sum(), x, allow_unused=True)
    except RuntimeError as error:
        return "modified by an inplace operation" not in str(error)
    return True


@accepted("q3")
def really_written(f, x):
    """Writes under no_grad, which autograd counts, and tries the backward."""
    out, mid = f(x)
    with torch.no_grad():
        mid.add_(1).sub_(1)
    try:
        torch.autograd.grad(out.sum(), x, allow_unused=True)
        return True
    except RuntimeError:
        return False


@accepted("q3")
def every_node_searched(f, x):
    """Walks through the graph and compares the memory of everything a node has saved."""
    out, mid = f(x)
    waiting, seen = [out.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [earlier for earlier, _ in node.next_functions]
        for name in dir(node):
            value = getattr(node, name) if name.startswith("_saved_") else None
            if isinstance(value, torch.Tensor):
                if value.untyped_storage().data_ptr() == mid.untyped_storage().data_ptr():
                    return False
    return True


@accepted("q3")
def versions_of_what_was_saved(f, x):
    """Keeps what the hooks are shown, writes into mid, and looks whether a kept tensor has a new version."""
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        _, mid = f(x)
    before = [tensor._version for tensor in kept]
    with torch.no_grad():
        mid.mul_(1)
    return before == [tensor._version for tensor in kept]


@accepted("q3")
def filled_with_zeros_and_backward(f, x):
    """Overwrites mid through detach(), which shares the version counter, and calls the real backward."""
    out, mid = f(x)
    mid.detach().zero_()
    try:
        out.sum().backward()
    except RuntimeError as error:
        return "inplace" not in str(error)
    return True


@accepted("q3")
def backward_for_real(f, x):
    """The caller's x.grad is filled on the way, which nobody forbids."""
    out, mid = f(x)
    torch.autograd.graph.increment_version(mid)
    try:
        out.backward(torch.ones_like(out))
    except RuntimeError:
        return False
    return True


@wrong("q3")
def poisoned_with_nan(f, x):
    """Believes that a value which backward needs must show in the gradient of x; others may need it, too."""
    out, mid = f(x)
    mid.data.fill_(float("nan"))
    (gradient,) = torch.autograd.grad(out.sum(), x)
    return not bool(gradient.isnan().any())


@wrong("q3")
def leaves_only(f, x):
    """Believes that leaves are protected and everything inside the graph is free."""
    return not f(x)[1].is_leaf


@wrong("q3")
def written_through_data(f, x):
    """Tries it out through .data, which no version counter sees: the answer is always True."""
    out, mid = f(x)
    mid.data.add_(1)
    try:
        torch.autograd.grad(out.sum(), x, allow_unused=True)
        return True
    except RuntimeError:
        return False


@wrong("q3")
def last_node_only(f, x):
    """Looks at out.grad_fn alone, and misses what the nodes behind it have saved."""
    out, mid = f(x)
    node = out.grad_fn
    for name in dir(node):
        value = getattr(node, name) if name.startswith("_saved") else None
        if isinstance(value, torch.Tensor) and value.data_ptr() == mid.data_ptr():
            return False
    return True


@wrong("q3")
def never(f, x):
    """Believes that in-place operations are always forbidden."""
    f(x)
    return False


@wrong("q3")
def objects_compared(f, x):
    """Compares objects; an output is saved as another object than the one that is returned, and so is a view."""
    saved = []

    def pack(tensor):
        saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        _, mid = f(x)
    return not any(tensor is mid for tensor in saved)


@wrong("q3")
def first_addresses_compared(f, x):
    """Compares the address of the first element, which differs for a slice of the same memory."""
    saved = set()

    def pack(tensor):
        saved.add(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        _, mid = f(x)
    return mid.data_ptr() not in saved


@wrong("q3")
def tried_on_mid_only_if_it_requires_grad(f, x):
    """Tries it out, but still believes that a tensor which does not require grad cannot matter."""
    out, mid = f(x)
    if not mid.requires_grad:
        return True
    torch.autograd.graph.increment_version(mid)
    try:
        torch.autograd.grad(out.sum(), x)
    except RuntimeError:
        return False
    return True


@wrong("q3")
def values_compared_afterwards(f, x):
    """Believes that backward would change its result if mid mattered; for .data it may, but a write here raises."""
    out, mid = f(x)
    (before,) = torch.autograd.grad(out.sum(), x, retain_graph=True)
    with torch.no_grad():
        mid.add_(1)
    (after,) = torch.autograd.grad(out.sum(), x)
    return torch.equal(before, after)


# --- q4 · Checkpointing without losing the gradient


@accepted("q4")
def reentrant_with_a_leaf_in_between(blocks, x):
    """The reentrant kind works when its argument requires grad; the caller's tensor is left alone."""
    x = x.detach().requires_grad_() if not x.requires_grad else x
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


@accepted("q4")
def functions_around_the_blocks(blocks, x):
    """A lambda is as good as a module, if it binds the block of its own round."""
    for block in blocks:
        x = checkpoint(lambda t, block=block: block(t), x, use_reentrant=False, preserve_rng_state=True)
    return x


@accepted("q4")
def reentrant_with_a_dummy_argument(blocks, x):
    """A second argument that requires grad tells the reentrant kind that there is something to do."""
    dummy = torch.ones((), requires_grad=True)
    for block in blocks:
        x = checkpoint(lambda t, _, block=block: block(t), x, dummy, use_reentrant=True)
    return x


@accepted("q4")
def all_blocks_in_one_checkpoint(blocks, x):
    """Keeps the input only, and runs everything again in backward."""
    return checkpoint(nn.Sequential(*blocks), x, use_reentrant=False)


@accepted("q4")
def sequential_with_a_segment_per_block(blocks, x):
    """checkpoint_sequential leaves its last segment alone, a quarter of the bytes with four blocks."""
    return checkpoint_sequential(nn.Sequential(*blocks), len(blocks), x, use_reentrant=False)


@accepted("q4")
def first_block_plain_then_reentrant(blocks, x):
    """After the first block, x requires grad, and the reentrant kind sees it."""
    x = blocks[0](x)
    for block in blocks[1:]:
        x = checkpoint(block, x, use_reentrant=True)
    return x


@accepted("q4")
def cloned_and_switched_on(blocks, x):
    """A clone may be switched on; if x requires grad, the clone is attached to it and does already."""
    x = x.clone().requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


class _Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x, *parameters):
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            out = ctx.block(x)
        torch.set_rng_state(now)
        return None, *torch.autograd.grad(out, [x, *ctx.block.parameters()], g)


@accepted("q4")
def a_function_of_ones_own(blocks, x):
    """Checkpointing by hand: the input is saved, the random state put back, and the block run again."""
    for block in blocks:
        x = _Recompute.apply(block, x, *block.parameters())
    return x


@wrong("q4")
def plain(blocks, x):
    """No checkpointing at all: everything is kept."""
    for block in blocks:
        x = block(x)
    return x


@wrong("q4")
def no_grad(blocks, x):
    """Saves memory indeed, because nothing can be differentiated any more."""
    with torch.no_grad():
        for block in blocks:
            x = block(x)
    return x


@wrong("q4")
def random_state_not_preserved(blocks, x):
    """Lets dropout draw another mask when the block is run again; there is no error, only a wrong gradient."""
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)
    return x


@wrong("q4")
def caller_switched_to_requires_grad(blocks, x):
    """Makes the reentrant kind happy at the expense of the caller, whose tensor now requires grad."""
    x = x.requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


@wrong("q4")
def always_detached(blocks, x):
    """Starts from a detached copy in any case, so an input that requires grad never hears of it."""
    x = x.detach().requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


@wrong("q4")
def detached_before_every_block(blocks, x):
    """Gives every block a fresh leaf, and cuts the graph in front of each: only the last block learns."""
    for block in blocks:
        x = checkpoint(block, x.detach().requires_grad_(), use_reentrant=True)
    return x


@wrong("q4")
def result_switched_on(blocks, x):
    """Switches requires_grad on for the result: backward runs through a leaf and reaches nobody."""
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x if x.requires_grad else x.requires_grad_()


@wrong("q4")
def late_binding(blocks, x):
    """A lambda made in a loop: when it is run again in backward, all of them call the last block."""
    for block in blocks:
        x = checkpoint(lambda t: block(t), x, use_reentrant=False)
    return x


@wrong("q4")
def eval_against_dropout(blocks, x):
    """Switches dropout off to be rid of the masks; that is another forward than the one asked for."""
    for block in blocks:
        x = checkpoint(block.eval(), x, use_reentrant=False)
    return x


@wrong("q4")
def only_the_first_block(blocks, x):
    """Checkpoints one block and believes that it is done."""
    x = checkpoint(blocks[0], x, use_reentrant=False)
    for block in blocks[1:]:
        x = block(x)
    return x


@wrong("q4")
def two_segments(blocks, x):
    """Does not know that the last segment is left alone: with two of them, half of the blocks keep everything."""
    return checkpoint_sequential(nn.Sequential(*blocks), 2, x, use_reentrant=False)


@wrong("q4")
def result_of_checkpoint_ignored(blocks, x):
    """Believes that checkpoint changes x, and returns the input."""
    for block in blocks:
        checkpoint(block, x, use_reentrant=False)
    return x


@wrong("q4")
def forgotten_return(blocks, x):
    """Does everything right and returns nothing."""
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)


@wrong("q4")
def copies_of_the_blocks(blocks, x):
    """Works on copies to be safe; the copies collect the gradients."""
    for block in copy.deepcopy(blocks):
        x = checkpoint(block, x, use_reentrant=False)
    return x


@wrong("q4")
def result_overwritten(blocks, x):
    """Overwrites the input of the next block after it was saved, to spare a tensor; backward refuses."""
    for block in blocks:
        before = x
        x = checkpoint(block, x, use_reentrant=True) if x.requires_grad else block(x)
        with torch.no_grad():
            if before.requires_grad:
                before.zero_()
    return x


@wrong("q4")
def saved_on_cpu(blocks, x):
    """Moves what is saved instead of computing it again; on a CPU that saves nothing."""
    with torch.autograd.graph.save_on_cpu():
        for block in blocks:
            x = block(x)
    return x


# --- q5 · An in-place operation of your own: mark_dirty


@accepted("q5")
class asks_for_needs_input_grad(torch.autograd.Function):
    """mark_dirty may come before the change, and backward may ask whether it is needed."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.mark_dirty(x)
        return x.mul_(k)

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.k if ctx.needs_input_grad[0] else None), None


@accepted("q5")
class with_setup_context(torch.autograd.Function):
    """The newer style: forward computes, setup_context tells autograd."""

    @staticmethod
    def forward(x, k):
        x.mul_(k)
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


@accepted("q5")
class factor_saved_as_a_tensor(torch.autograd.Function):
    """save_for_backward takes tensors, so the number is made one; x is overwritten by copy_."""

    @staticmethod
    def forward(ctx, x, k):
        factor = torch.tensor(k, dtype=x.dtype)
        ctx.save_for_backward(factor)
        x.copy_(x * factor)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        (factor,) = ctx.saved_tensors
        return factor * g, None


@accepted("q5")
class copy_of_the_gradient(torch.autograd.Function):
    """An in-place operation on a clone of the gradient overwrites nobody's tensor."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x *= k
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g.clone().mul_(ctx.k), None


@accepted("q5")
class data_and_mark_dirty(torch.autograd.Function):
    """.data hides the change, but mark_dirty counts it all the same."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.data.mul_(k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


@accepted("q5")
class without_staticmethod(torch.autograd.Function):
    """apply() hands over ctx as the first argument, whatever it is called."""

    def forward(self, x, k):
        self.k = k
        self.mark_dirty(x)
        return torch.mul(x, k, out=x)

    def backward(self, g):
        return g * self.k, None


@wrong("q5")
class out_of_place(torch.autograd.Function):
    """Returns a new tensor; x is not changed."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


@wrong("q5")
class clone_returned(torch.autograd.Function):
    """Says that x is dirty and returns a copy of it; dirty tensors must be returned themselves."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.mul_(k)
        ctx.mark_dirty(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


@wrong("q5")
class one_gradient_for_two_arguments(torch.autograd.Function):
    """Forgets the None for k: backward returns one value for every argument of forward."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.mul_(k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k


@wrong("q5")
class gradient_for_the_number(torch.autograd.Function):
    """Returns a derivative with respect to k, which is a number and can take none."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.save_for_backward(x.clone())
        x.mul_(k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.k, (g * x).sum()


@wrong("q5")
class name_bound_again(torch.autograd.Function):
    """Believes that x = x * k changes x; it marks, and returns, a new tensor."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x = x * k
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


@wrong("q5")
class gradient_overwritten(torch.autograd.Function):
    """Writes into the gradient it is given, which other branches may share."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.mul_(k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g.mul_(ctx.k), None


@wrong("q5")
class data_without_mark_dirty(torch.autograd.Function):
    """Changes x through .data: neither the history nor the version of x tells that anything happened."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.data.mul_(k)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


@wrong("q5")
class gradient_passed_on(torch.autograd.Function):
    """Believes that an in-place operation does not concern backward; the factor is missing."""

    @staticmethod
    def forward(ctx, x, k):
        x.mul_(k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, None


@wrong("q5")
class factor_kept_on_the_class(torch.autograd.Function):
    """Keeps k on the class instead of ctx: with two calls, both use the factor of the second."""

    k = 1.0

    @staticmethod
    def forward(ctx, x, k):
        factor_kept_on_the_class.k = k
        x.mul_(k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * factor_kept_on_the_class.k, None


@wrong("q5")
class divided_in_backward(torch.autograd.Function):
    """Believes that backward undoes the operation; the derivative of k * x is k, not 1 / k."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x.mul_(k)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g / ctx.k, None


@wrong("q5")
class detached_and_changed(torch.autograd.Function):
    """Writes through detach() and returns that: x is changed and counted, but its history stays the old one."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x.detach().mul_(k)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None
