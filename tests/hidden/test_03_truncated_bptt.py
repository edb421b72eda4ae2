"""The hidden checks of 03_truncated_bptt: a detached state keeps its values and loses its graph."""

from dataclasses import replace

from inside import with_gaps

from grader import (
    Call,
    Cases,
    Rules,
    assert_memory,
    assert_no_side_effects,
    assert_same_gradients,
    assert_same_values,
    contract,
    data,
    network,
    own,
    picture,
    points,
    tensor,
)
from grader.inside import alive, attempt, graph, graph_at, inside, mark, nn, state, torch, vjp

ONLY_AS_ASKED = "Don't modify the caller's objects beyond what the task asks for."


# --- what trainings are given: q1, q4 and the bonus task


@inside
class Cell(nn.RNNCell):
    """A cell whose states are no formula of torch's; it forgets slowly, and its mode makes a difference."""

    def __init__(self, inputs, hidden):
        super().__init__(inputs, hidden)
        self.pace = 1.5 + 0.5 * torch.rand(()).item()
        nn.init.orthogonal_(self.weight_hh)

    def forward(self, input, hx):  # noqa: A002 - the names it has in torch
        return (self.pace if self.training else 1.2) * super().forward(input, hx)


@inside
def set_up(cell, kind):
    """The cell's mode, what of it is frozen, and what stands in .grad."""
    cell.train(kind("train") == "train")
    cell.bias_ih.requires_grad_(kind("frozen") == "no")
    parameters = list(cell.parameters())
    for parameter in parameters if kind("grads") == "filled" else []:
        parameter.grad = torch.randn_like(parameter)
    return cell


@inside
def cell_of_its_own(setup, kind):
    """A cell, as the case asks for it."""
    return set_up(Cell(setup.size("I"), setup.size("H")), kind)


@inside
def optimizer_of_learners(setup, kind):
    """An optimizer of all that is not frozen, whose steps are short where targets are far away.

    For h0 it has neither momentum nor decay, which would go on where its gradient is 0 and not None.
    """
    held = [p for net in (setup["cell"], setup["readout"]) for p in net.parameters() if p.requires_grad]
    rate = {"far": 1e-4, "normal": 0.01}.get(setup.case["batches.targets"], 0.3)
    groups = [{"params": held}]
    if kind("groups") == "two groups":
        groups = [{"params": held[:3]}, {"params": held[3:], "lr": rate / 3}]
    if kind("rule") == "adam":
        opt = torch.optim.AdamW(groups, lr=rate, eps=0.1)
    elif kind("rule") == "momentum":
        opt = torch.optim.SGD(groups, lr=rate, momentum=0.9, weight_decay=0.01)
    else:
        opt = torch.optim.SGD(groups, lr=rate)
    if "h0" in setup:
        opt.add_param_group({"params": [setup["h0"]], "lr": 2 * rate, "momentum": 0, "weight_decay": 0})
    if kind("rule") != "sgd":
        kept = [p.grad for p in held]
        for p in held:
            p.grad = torch.randn_like(p)
        opt.step()
        for p, grad in zip(held, kept, strict=True):
            p.grad = grad
    return opt


@inside
def targets_for(readout, kind, *shape):
    """Targets; where they are met or nearly met, the readout gives 0 or hardly more at first."""
    scale = {"far": 1000.0, "nearly met": 3e-3, "met": 0.0}.get(kind("targets"), 1.0)
    if scale > 1:
        return scale * (torch.randn(shape) + 1)
    if scale < 1:
        for parameter in readout.pieces()[2].parameters():
            parameter.data.mul_(scale)
    return scale * torch.randn(shape)


@inside
def batch_first(tensor):
    """The same values in a memory with gaps in which the first two dimensions are exchanged."""
    return with_gaps(tensor.transpose(0, 1)).transpose(0, 1)


@inside
def minibatches(setup, kind):
    """Consecutive minibatches whose targets grow: gradients are long, and each loss exceeds the last."""
    steps = 2 + setup.size("steps") % 3
    steps = {"one step": 1, "20 steps": 20}.get(kind("steps"), steps)
    more = torch.randint(2, ()).item()
    number = 2 if steps == 20 else {"one": 1, "many": 5 + more}.get(kind("number"), 3 + more)
    rows = 1 if kind("rows") == "one sequence" else setup.size("B")
    outputs = 1 if setup.case["readout.width"] == "one column" else setup.size("O")
    pairs = []
    for place in range(1, number + 1):
        xs, y = torch.randn(steps, rows, setup.size("I")), targets_for(setup["readout"], kind, rows, outputs)
        y = place * (y + 5 * (kind("targets") == "normal"))
        pairs.append((batch_first(xs), batch_first(y)) if kind("tensors") == "batch first" else (xs, y))
    return [*pairs[:-1], pairs[0]] if kind("list") == "twice" else pairs


@inside
def first_state(setup, kind):
    """A state for the sequences of the minibatches."""
    h = torch.randn(setup["batches"][0][1].shape[0], setup.size("H"))
    h = torch.zeros_like(h) if kind("values") == "zeros" else h
    return {"gaps": with_gaps, "view": lambda h: torch.stack([h, h])[1]}.get(kind("layout"), torch.clone)(h)


CELL = own(
    cell_of_its_own,
    train=["train", "eval"],
    frozen=["no", "one frozen"],
    grads=["none", "filled"],
    says="a module that maps x (B, I) and h (B, H) to the next state, (B, H), which is not a view",
)
OF_A_READOUT = {
    "every": False,
    "train": ["train", "part eval"],
    "frozen": ["no", "one frozen"],
    "width": ["several", "one column"],
    "inside": ["louder", "norm"],
    "gives": ["new", "tanh"],
    "grads": ["none", "filled"],
}
READOUT = network("H", "O", **OF_A_READOUT, says="maps (B, H) to (B, O)")


def learners(says, rules=("sgd", "momentum", "adam")):
    """The optimizer of cell and readout."""
    return own(
        optimizer_of_learners,
        rule=rules,
        groups=["one group", "two groups"],
        words={
            "momentum": "is SGD with momentum and has already made a step",
            "adam": "is AdamW and has already made a step",
            "two groups": "holds the parameters of `cell` and `readout` in two groups",
        },
        says=says,
    )


BATCHES = own(
    minibatches,
    number=["several", "one", "many"],
    steps=["several", "one step", "20 steps"],
    rows=["several", "one sequence"],
    targets=["normal", "far", "nearly met", "met"],
    list=["differ", "twice"],
    tensors=["contiguous", "batch first"],
    words={
        "one": "has one minibatch",
        "many": "has more than four minibatches",
        "one step": "has minibatches with one time step",
        "20 steps": "has minibatches with 20 time steps",
        "one sequence": "has minibatches with one sequence",
        "far": "has targets far from the predictions",
        "nearly met": "has targets close to the predictions",
        "met": "has targets that equal the predictions",
        "twice": "contains the same minibatch twice",
        "batch first": "has tensors that are not contiguous",
    },
    never=[{"number": "one", "list": "twice"}],
    says="a list of pairs (xs, y) of shapes (T, B, I) and (B, O), at least one, all with the same B",
)
#: Where a loss is 0, only momentum that is there already shows whether there was a step.
STILL = {"batches.targets": "met", "opt.rule": "sgd"}
#: What an optimizer has used up may be cleared after the last step.
USED_UP = ["cell.*:grad", "readout.*:grad"]

OF_A_TRAINING = Cases(dtypes=["float32"], modes=["on"], sequences=["first", "other"], never=[STILL], cover=[])
NETWORKS = ["cell.*:value", "readout.*:value"]
WHERE_IT_LEADS = {
    "cell*": "After training, the parameters of `cell` are wrong.\n\nThe gradient of a minibatch must flow "
    "through all its time steps, and stop where the minibatch begins.",
    "readout*": "After training, the parameters of `readout` are wrong.\n\nPrint `.grad` when `opt.step()` "
    "runs, and check that the prediction and `y` have the same shape.",
    "h0*": "`h0` is not what one step with the gradient of the first minibatch's loss makes of it.\n\nPrint "
    "`h0.grad` at each step. Only the first loss must backpropagate to `h0`, and its gradient is the sum "
    "over all rows of the batch.",
    "opt*": "After training, the optimizer state of `opt` is wrong.\n\nEvery minibatch makes one step of "
    "`opt`, with the gradient of its own loss only.",
}


@inside
class SmallCell(nn.Module):
    """A cell of one unit and one parameter, so that a step is three operations."""

    hidden_size = 1

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1))

    def forward(self, input, hx=None):  # noqa: A002 - the names it has in torch
        return torch.tanh(input + self.weight * (torch.zeros(len(input), 1) if hx is None else hx))


@inside
def with_graphs_counted(train, setup):
    """Train, and store the number of minibatches whose graph is alive at each step of opt.

    The first state of each minibatch is watched: all later states and the loss keep its graph alive.
    """
    counts, is_first, before = [], [True], alive()
    setup.remembered["graphs"] = counts

    def watch(module, args, output):
        watched = mark(output) if is_first[0] else output
        is_first[0] = False
        return watched

    def count(*_):
        counts.append(alive(before + 2) - before)
        is_first[0] = True

    hooks = [setup["cell"].register_forward_hook(watch), setup["opt"].register_step_pre_hook(count)]
    try:
        return train(*setup.values())
    finally:
        for hook in hooks:
            hook.remove()


@inside
def graphs_alive(setup, result):
    """Whether graphs of more than two minibatches were alive at a step."""
    return {"graphs": max(setup.remembered["graphs"], default=0) > 2}


GRAPHS = {
    "graphs": "At a step of `opt`, the graphs of more than two minibatches are in memory, so memory grows "
    "with every minibatch.\n\nLook for a variable with a `grad_fn` that you keep from one "
    "minibatch to the next."
}


# --- q1: train_stateful


train_stateful = contract(
    "train_stateful",
    {
        "cell": CELL,
        "readout": READOUT,
        "opt": learners("an optimizer of all parameters of both that are not frozen"),
        "batches": BATCHES,
        "h": own(
            first_state,
            values=["normal", "zeros"],
            layout=["contiguous", "gaps", "view"],
            words={"view": "is a view"},
            says="the first state, (B, H), without history; it may be a view",
        ),
    },
    cases=replace(OF_A_TRAINING, never=[{**STILL, "opt.rule": ("sgd", "adam")}]),
    call=Call(how=with_graphs_counted, gradients="none", then=graphs_alive),
    rules=Rules(
        ignore=USED_UP, updates=NETWORKS, full_precision=True, entries=["the losses", "the last state"]
    ),
)


@points(6)
def test_each_minibatch_makes_its_own_step(train_stateful):
    """Losses, last state and parameters are correct."""
    assert_same_values(
        train_stateful,
        "The losses or the last state are wrong.\n\nPrint the state that enters each minibatch, and every "
        "`.grad` when `opt.step()` runs. The gradient of each loss must flow through all time steps of its "
        "minibatch.",
        only=["the *", *WHERE_IT_LEADS],
        changes=WHERE_IT_LEADS,
        exact_types=True,
    )


@points(1, side_effects=True)
def test_memory_does_not_grow(train_stateful):
    """No graph of an earlier minibatch is kept."""
    assert_same_values(train_stateful, only=["graphs"], then=GRAPHS)


@points(1, side_effects=True)
def test_only_learners_change(train_stateful):
    """Frozen parameters, inputs and modes are unchanged."""
    assert_no_side_effects(train_stateful, ONLY_AS_ASKED)


@picture(reference=True)  # the prose above the question says how the cut is made
def second_minibatch(student):
    """Minibatch 2 of two steps, before its backward, from start to h2; cell: h = tanh(x + weight * h)."""
    cell, readout = SmallCell(), nn.Linear(1, 1)
    drawn = graph_at(readout, 2, steps=cell, into="into_readout", cell=cell)
    optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.1)
    batches = [(torch.randn(2, 1, 1), torch.randn(1, 1)) for _ in range(2)]
    attempt(student.train_stateful, cell, readout, optimizer, batches, torch.zeros(1, 1))
    return drawn()


# --- q2: repackage


@inside
def state_of_a_form(setup, kind):
    """A state of any form. Its tensors are computed from a leaf, where the form does not say otherwise."""
    size = 1, setup.size("B"), setup.size("H")
    start = torch.randn(7, *size, dtype=setup.dtype, requires_grad=True)
    setup.starts["state"] = start
    a, b, c, d, e, f, wide = (2 * part for part in start)
    leaf, plain = torch.randn(2, *size, dtype=setup.dtype).unbind()
    leaf = leaf.clone().requires_grad_()
    leaf.grad = torch.randn_like(leaf)
    forms = {
        "(h, c)": (a, b),
        "a tensor": a,
        "None": None,
        "one number": (0 * a).sum(),
        "one entry": [1 * a[:, :1, :1], (b, c)],
        "a list of pairs": [(a, b), (c, d), (e, f)],
        "a tuple of one": (a,),
        "a tuple of three": (a, b, c),
        "an empty list": [],
        "an empty tuple": (),
        "None among others": [a, None, (None, b)],
        "many levels": [a, ([(b, [c, None])], ())],
        "a leaf": [leaf, (b, leaf * 1)],
        "without grad": (plain.clone(), b),
        "no entries": (torch.cat([a[:0], b[:0]]), c),
        "transposed": (a, 1 * wide.transpose(0, 2)),
    }
    return forms[kind("form")]


FORMS = ["(h, c)", "a tensor", "None", "one number", "a list of pairs", "a tuple of one", "a tuple of three"]
FORMS += ["an empty list", "an empty tuple", "None among others", "many levels", "a leaf", "without grad"]
FORMS += ["no entries", "one entry", "transposed"]
OF_FORMS = {form: f"is {form}" for form in FORMS} | {
    "many levels": "is nested several levels deep",
    "a leaf": "has a leaf that requires grad",
    "without grad": "has a tensor that doesn't require grad",
    "no entries": "has a tensor without entries",
    "one entry": "has a tensor with one entry",
    "transposed": "has a transposed tensor",
}

repackage = contract(
    "repackage",
    {
        "state": own(
            state_of_a_form,
            form=FORMS,
            pending=["none", "loss"],
            words=OF_FORMS,
            never=[{"form": ("None", "an empty list", "an empty tuple"), "pending": "loss"}],
            says="None, a tensor of any shape, or a tuple or list of states",
        )
    },
    cases=Cases(cover=["state.form", "state.pending", "all.dtype"]),
    call=Call(gradients="none"),
    rules=Rules(full_precision=True),
)


@inside
def tensors_of(state):
    """The tensors of a state."""
    if isinstance(state, torch.Tensor):
        return [state]
    return [t for part in state or () for t in tensors_of(part)]


@inside
def state_with_losses(setup, kind):
    """A state, and pending losses that backpropagate to other tensors, so that no hook on it runs."""
    state = state_of_a_form(setup, kind)
    setup.losses = []
    for part in tensors_of(state):
        slope, other = (torch.randn_like(part).requires_grad_() for _ in range(2))
        loss = slope * part + other * part.detach().clone()
        setup.losses.append((loss, slope, other))
    return state


@inside
def falsified_by_a_reset(setup, result):
    """How many pending gradients are wrong without an error after the result was set to 0."""
    for part in tensors_of(result):
        attempt(part.zero_)
    falsified = 0
    for waiting in setup.losses:
        gradients = attempt(vjp, *waiting)
        falsified += isinstance(gradients, list) and not torch.equal(*gradients)
    return falsified


reset = contract(
    "repackage",
    {
        "state": own(
            state_with_losses,
            form=[form for form in FORMS if form not in {"None", "an empty list", "an empty tuple"}],
            words=OF_FORMS,
        )
    },
    name="reset",
    cases=Cases(modes=["on"], sequences=["first"], cover=[]),
    call=Call(returns="nothing", then=falsified_by_a_reset),
    rules=Rules(ignore=["*"]),
)


@points(4)
def test_structure_stays_and_history_goes(repackage):
    """The detached state has equal values and structure."""
    assert_same_values(
        repackage,
        "The result does not have the structure and the values of the state.\n\nA state may be `None`, a "
        "tensor, or a tuple or list of states.",
        exact_types=True,
    )
    assert_same_gradients(repackage, "a tensor of the result", flags=True)


@points(1, side_effects=True)
def test_original_is_untouched(repackage):
    """The original state is unchanged."""
    assert_no_side_effects(
        repackage,
        "Don't modify the original: another loss may still backpropagate through it.",
        may_share_storage=True,
    )


@points(1)
def test_reset_falsifies_nothing(reset):
    """Resetting the result never corrupts gradients silently."""
    assert_no_side_effects(reset)
    assert_same_values(
        reset,
        then="After `zero_()` on the result, a loss computed from the original backpropagates wrong "
        "gradients without an error: both share storage, and autograd did not detect the "
        "write.\n\nAutograd detects a write by the version counter, which the result and the original "
        "must share.",
    )
    assert_same_gradients(reset)


@picture(reference=True)  # the starter code cuts a tensor in the same way
def repackaged_pair(student):
    """A state (h, c) and the result for it."""
    w = torch.randn(1, requires_grad=True)
    h, c = 2 * w, w + 1
    result = student.repackage((h, c))
    return graph(result=result, h=h, c=c, w=w)


# --- q3: tbptt


@inside
def cell_of_torch(setup, kind):
    """One of torch's cells, as the case asks for it."""
    cell = getattr(nn, kind("of"))(setup.size("I"), setup.size("H"))
    if kind("of") == "RNNCell":
        nn.init.orthogonal_(cell.weight_hh)  # it forgets slowly, so that a cut far back shows
    return set_up(cell, kind)


@inside
def steps_of_a_chunk(setup, kind):
    """k: any number that leaves a rest, or one at a bound."""
    steps = len(setup["xs"])
    with_a_rest = [k for k in range(2, steps) if steps % k] or [2]
    bounds = {
        "one": 1,
        "all but one": steps - 1,
        "all": steps,
        "more": steps + 1 + torch.randint(99, ()).item(),
    }
    drawn = with_a_rest[torch.randint(len(with_a_rest), ())]
    return bounds.get(kind("value"), drawn)


@inside
def targets_of_all_steps(setup, kind):
    """Targets of every step."""
    outputs = 1 if setup.case["readout.width"] == "one column" else setup.size("O")
    return targets_for(setup["readout"], kind, *setup["xs"].shape[:2], outputs)


tbptt = contract(
    "tbptt",
    {
        "cell": own(
            cell_of_torch,
            of=["RNNCell", "GRUCell"],
            train=["train", "eval"],
            frozen=["no", "one frozen"],
            grads=["none", "filled"],
            words={"GRUCell": "is a GRUCell"},
            says="an nn.RNNCell or nn.GRUCell of hidden_size H",
        ),
        "readout": network(
            "H",
            "O",
            **OF_A_READOUT,
            says="maps (..., H) to (..., O), each row independently",
        ),
        "xs": data("T B I", "1 B I", "2T B I", "T 1 I", says="the inputs, (T, B, I)"),
        "ys": own(
            targets_of_all_steps,
            targets=["normal", "far", "nearly met"],
            words={"far": "is far from the predictions", "nearly met": "is close to the predictions"},
            says="the targets of every step, (T, B, O)",
        ),
        "k": own(
            steps_of_a_chunk,
            value=["a rest", "one", "all but one", "all", "more"],
            words={
                "one": "is 1",
                "all but one": "is T - 1",
                "all": "is T",
                "more": "exceeds T",
            },
            says="the number of steps in a chunk, at least 1",
        ),
    },
    cases=Cases(
        dtypes=["float32"],
        modes=["on"],
        sequences=["first", "same"],
        never=[
            {"xs.shape": ("1 B I", "T 1 I"), "k.value": ("one", "all but one", "all", "more")},
            {"xs.shape": "2T B I", "k.value": ("one", "all but one", "all")},
        ],
        cover=["xs.shape", "k.value", "xs.layout"],
    ),
    call=Call(gradients="none"),
)


@points(5)
def test_gradients_of_the_chunks(tbptt):
    """Gradients are truncated every `k` steps and accumulated."""
    assert_same_values(
        tbptt,
        "The returned total is not the sum of the losses of all steps.\n\nCheck from which state each "
        "chunk starts, and whether the total includes the steps that are left at the end.",
        changes={
            "readout*": "The `.grad` of `readout` is not its old value plus the gradients of all "
            "steps.\n\nIn each chunk, backpropagate the sum of all its losses. Only "
            "`backward()` may write to `.grad`.",
            "cell*": "The gradients of `cell` are not those of chunks of `k` steps.\n\nFor this `k` and "
            "this number of steps, write down which losses backpropagate together, and how far. "
            "The last chunk may be shorter.",
        },
    )


@points(1, side_effects=True)
def test_only_grad_changes(tbptt):
    """Only the `.grad` of trainable parameters changes."""
    assert_no_side_effects(tbptt, ONLY_AS_ASKED)


@picture(reference=True)  # the question says where the cut is
def second_chunk(student):
    """Chunk 2 of two, k = 2, before its backward, from start to h2; cell: h = tanh(x + weight * h)."""
    cell, readout = SmallCell(), nn.Linear(1, 1)
    drawn = graph_at(readout, steps=cell, after=4, into="into_readout", cell=cell)
    attempt(student.tbptt, cell, readout, torch.randn(4, 1, 1), torch.randn(4, 1, 1), 2)
    return drawn()


# --- q4: train_learned_start


@inside
def learned_start(setup, kind):
    """A row that is a parameter; an entry of it lies where no state of a tanh can be."""
    h0 = nn.Parameter(torch.randn(1, setup.size("H")))
    h0.data[0, 0] = 2.5
    if kind("grad") != "none":
        h0.grad = torch.randn_like(h0) if kind("grad") == "filled" else torch.zeros_like(h0)
    return h0


LEARNED = {
    "cell": CELL,
    "readout": READOUT,
    "h0": own(
        learned_start,
        grad=["none", "filled", "zeros"],
        words={"zeros": "has a .grad of zeros"},
        says="an nn.Parameter of shape (1, H), the first state of every sequence of the batch",
    ),
    "opt": learners(
        "an optimizer of h0, in a group of its own, and of the parameters of cell and readout that are not "
        "frozen",
        rules=["sgd", "momentum"],
    ),
    "batches": BATCHES,
}
train_learned_start = contract(
    "train_learned_start",
    LEARNED,
    cases=OF_A_TRAINING,
    call=Call(gradients="none"),
    rules=Rules(ignore=[*USED_UP, "h0:grad"], updates=[*NETWORKS, "h0:value"], full_precision=True),
)


@points(4)
def test_first_minibatch_teaches_h0(train_learned_start):
    """Only the first minibatch trains `h0`."""
    assert_same_values(
        train_learned_start,
        "The result is not the last state.\n\nPrint the state that enters each minibatch.",
        changes=WHERE_IT_LEADS,
        exact_types=True,
    )


@points(1, side_effects=True)
def test_everything_else_is_unchanged(train_learned_start):
    """Only trained parameters, `.grad` and optimizer state change."""
    assert_no_side_effects(train_learned_start, ONLY_AS_ASKED)


@picture(reference=True)  # the starter code expands h0 in the same way
def two_minibatches(student):
    """Two minibatches of two steps, before backward 2: is h0 behind h2? cell: h = tanh(x + weight * h)."""
    cell, readout, h0 = SmallCell(), nn.Linear(1, 1), nn.Parameter(torch.randn(1, 1))
    drawn = graph_at(readout, 2, steps=cell, last=4, into="into_readout", h0=h0, cell=cell)
    optimizer = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.1)
    batches = [(torch.randn(2, 2, 1), torch.randn(2, 1)) for _ in range(2)]
    attempt(student.train_learned_start, cell, readout, h0, optimizer, batches)
    return drawn()


# --- q5: Center


@inside
def a_mean_of_200(*shape):
    """Batches with a mean so far away that no bound holds it."""
    return torch.randn(shape, dtype=torch.float64) + 200


@inside
def life(setup, kind):
    """What happens to a module, in words for `outlive`, and the numbers that it meets."""
    features = setup["x"].shape[1]
    more = [torch.randn(len(setup["x"]) + 4 + n, features, dtype=setup.dtype) for n in range(2)]
    loaded = torch.randn(features, dtype=setup.dtype) + 3
    return {"events": kind("of"), "batches": more, "loaded": loaded}


@inside
def note_running(found, center, when):
    """Record the buffer that the module holds, and whether it is connected to a graph."""
    running = found[f"`running` {when}"] = state(center)["buffers"].get("running")
    found[f"`running` {when} requires grad"] = running is not None and running.fields.requires_grad


@inside
def outlive(Center, setup):
    """The outputs of a module and its statistic after each forward, and what is saved in the end."""
    life, x = setup["the module"], setup["x"]
    center = Center(x.shape[1])
    center = center.double() if setup.dtype is torch.float64 else center
    batches = dict(zip("xbc", (x, *life["batches"]), strict=True))
    found, forwards = {}, 0
    note_running(found, center, "of a new module")
    for event in life["events"].split():
        if event in batches:
            forwards += 1
            found[f"the output of forward {forwards}"] = center(batches[event])
            note_running(found, center, f"after forward {forwards}")
        elif event == "many":
            for _ in range(8 + 2 * setup.size("forwards")):
                center(batches["b"])
        elif event == "load":
            center.load_state_dict({"running": life["loaded"].clone()}, strict=False)
        elif event == "assign":
            center.load_state_dict({"running": life["loaded"].clone()}, strict=False, assign=True)
        elif event == "another":
            Center(x.shape[1])(batches["b"].float() - 300)
        else:
            center.train(event == "train")
    found["`running` in the `state_dict`"] = center.state_dict().get("running")
    return found


Center = contract(
    "Center",
    {
        "x": tensor("B n", "1 n", "B 1", "1 1", values=["normal", a_mean_of_200], says="(B, n)"),
        "the module": own(
            life,
            of=[
                *("b x eval c", "b eval c train x", "b c b x b", "eval x train b", "b load x eval c"),
                *("b eval load x", "b assign x eval c", "b another x", "b many x"),
            ],
            words={
                "b eval c train x": "is trained again after `eval()`",
                "b c b x b": "is trained with several batches",
                "eval x train b": "starts in eval mode",
                "b load x eval c": "loads a `state_dict` during training",
                "b eval load x": "loads a `state_dict` after `eval()`",
                "b assign x eval c": "loads a `state_dict` with `assign=True`",
                "b another x": "is one of two modules",
                "b many x": "is trained with many batches",
            },
        ),
    },
    cases=Cases(sequences=["first"], cover=["the module.of", "all.dtype"]),
    call=Call(how=outlive, given=["x"]),
    rules=Rules(full_precision=True),
)


@inside
def outlive_batches(Center, setup):
    """A module and batches of which it alone may hold anything; the last is the largest."""
    center = setup.remembered["center"] = Center(setup.size("n"))
    for mode in (False, True):
        center.train(mode)
        for times in (1, 16):
            center(setup["network"](torch.randn(times * setup.size("B"), setup.size("n"))))


batches_go = contract(
    "Center",
    {"network": network("n", "n", every=False)},
    name="batches_go",
    cases=Cases(dtypes=["float32"], modes=["on"], sequences=["first"], large=["B", "n"], few_rows=True),
    call=Call(how=outlive_batches, returns="nothing", record=["left"]),
)


@points(3)
def test_statistic_and_gradients(Center):
    """Outputs, their gradients and `running` are correct."""
    new = Center.seen.entry()["`running` of a new module"]
    assert new is not None, (
        "`running` is not a buffer: `named_buffers()` does not list it. Register it with `register_buffer`."
    )
    for name, value in Center.expected.entry().items():
        is_right = not name.endswith("requires grad") or Center.seen.entry()[name] == value
        assert is_right, f"{name}, so it is connected to a graph. Store only its values."
    assert_same_values(
        Center,
        "An output or `running` is wrong.\n\nPrint what you store and what you subtract in each mode. Eval "
        "mode must leave `running` unchanged.",
    )
    assert_same_gradients(
        Center,
        "an output",
        because={
            "x:wrong": "In training mode, autograd treats the subtracted mean as a constant, or "
            "differentiates a mean other than the new average.\n\nThe new average depends on "
            "`x`. The gradient of the output must include that dependence."
        },
    )


@points(1, side_effects=True)
def test_batches_are_unchanged(Center):
    """The batch is unchanged."""
    assert_no_side_effects(Center, "Don't modify `x`.")


@points(1)
def test_no_graph_stays_alive(batches_go):
    """The module keeps no graph alive."""
    assert_no_side_effects(batches_go)
    assert_same_values(batches_go)
    assert_same_gradients(batches_go)
    assert_memory(
        batches_go,
        left="Batches or their graphs are still in memory after the forward.\n\nThe module may store only "
        "`running`, which must not be connected to a graph.",
    )


# The reference's would show its forward, line by line.
@picture
def second_batch(student):
    """The output for a second batch, before its backward; that of the first batch has run already."""
    center, w = student.Center(1), torch.randn(1, requires_grad=True)
    attempt(center(torch.randn(2, 1) * w).sum().backward)
    batch = torch.randn(2, 1) * w
    output = center(batch)
    return graph(output=output, running=center.running, batch=batch, w=w)


# --- end: train_tracked


train_tracked = contract(
    "train_tracked",
    LEARNED,
    cases=OF_A_TRAINING,
    call=Call(how=with_graphs_counted, gradients="none", then=graphs_alive),
    rules=Rules(
        full_precision=True,
        ignore=[*USED_UP, "h0:grad"],
        updates=[*NETWORKS, "h0:value"],
        entries=["the losses", "the average", "the last state"],
    ),
)


def test_every_training(train_tracked):
    """Losses, average, last state and parameters are correct."""
    assert_same_values(
        train_tracked,
        "The losses, the average or the last state are wrong.\n\nPrint the average after each minibatch. "
        "It starts at 0, and each loss enters it once, with the weight 0.1.",
        changes=WHERE_IT_LEADS,
        then=GRAPHS,
        exact_types=True,
    )


def test_nothing_else_changes(train_tracked):
    """Only trained parameters, `.grad` and optimizer state change."""
    assert_no_side_effects(train_tracked, ONLY_AS_ASKED)


@picture(reference=True)
def three_tracked_minibatches(student):
    """Three minibatches of two steps, before backward 3. cell: h = tanh(x + weight * h)."""
    cell, readout, h0 = SmallCell(), nn.Linear(1, 1), nn.Parameter(torch.randn(1, 1))
    drawn = graph_at(readout, 3, steps=cell, last=6, into="into_readout", h0=h0, cell=cell)
    optimizer = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.1)
    batches = [(torch.randn(2, 2, 1), torch.randn(2, 1)) for _ in range(3)]
    attempt(student.train_tracked, cell, readout, h0, optimizer, batches)
    return drawn()
