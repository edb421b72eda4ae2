"""The hidden checks of 03_truncated_bptt: the value of a state crosses a cut, its history does not."""

from itertools import pairwise, zip_longest

from inside import MixedModel, count, fill_grads, sizes, with_gaps

from grader import (
    assert_close,
    assert_gradients,
    assert_runs,
    assert_untouched,
    assert_updates,
    blaming_changes,
    cases,
    chunks,
    is_close,
    picture,
    points,
    probe,
    raised,
    steps,
)
from grader.inside import (
    alive,
    attempt,
    gradients,
    graph,
    graph_at,
    inside,
    mark,
    nn,
    snap,
    spy,
    state,
    torch,
    untouched,
    updates,
    vjp,
)

SECOND_TIME = "backward through the graph a second time"

# What training may change, in the caller's things; frozen parameters and buffers are not among it.
LEARNERS = ("cell.weight_*", "cell.bias_hh", "readout.*.weight", "readout.*head.bias", "readout.*norm.bias")
GRADS = ["cell.*:grad", *(f"{name}:grad" for name in LEARNERS)]  # question 3: no part of the cell is frozen
TRAINED = [f"{name}:{part}" for name in LEARNERS for part in ("value", "version", "grad")]

WHOSE = "What did the caller give you, and what of it will the caller use again?"
MODES = ["*:training"]  # what alone may explain wrong numbers where parameters change


@inside
class Cell(nn.RNNCell):
    """A cell with a pace of its own, so that nobody else's formula gives its states; it forgets slowly."""

    def __init__(self, inputs, hidden):
        super().__init__(inputs, hidden)
        self.pace = 1 + torch.rand(()).item()
        nn.init.orthogonal_(self.weight_hh)

    def forward(self, input, hx):  # noqa: A002 - the names it has in torch
        return self.pace * super().forward(input, hx)


@inside
class Readout(nn.Module):
    """A model of every part, or a plain one, which takes any number of dimensions before the last."""

    def __init__(self, hidden, outputs, scale=1.0, mixed=False):
        super().__init__()
        self.model = MixedModel(hidden, outputs) if mixed else nn.Linear(hidden, outputs)
        self.scale = scale

    def forward(self, h):
        return self.scale * self.model(h.flatten(0, -2)).unflatten(0, h.shape[:-1])


@inside
def network(optimizer, number=None, steps=None, outputs=None, scale=1.0, mixed=False):
    """What train_stateful is given, with an optimizer of cell and readout; no two of all sizes are equal.

    With 1 output, which may be given, a prediction is easily squeezed. The targets grow from minibatch to
    minibatch, so that a gradient is long and a loss larger than the one before; a small scale makes every
    loss almost 0. Mixed, a part of the cell is frozen, too, and the cell is in eval mode.
    """
    few = count(3, 4)
    number, steps = number or few, steps or 7 - few
    drawn = [size for size in (2 + torch.randperm(6)).tolist() if size not in (number, steps)]
    batch, inputs, hidden, more = drawn[:4]
    outputs = outputs or more
    targets = [scale * (torch.randn(batch, outputs) + 60 * place) for place in range(1, number + 1)]
    batches = [(torch.randn(steps, batch, inputs), target) for target in targets]
    cell, readout = Cell(inputs, hidden).train(not mixed), Readout(hidden, outputs, scale, mixed)
    cell.bias_ih.requires_grad_(not mixed)
    opt, h = optimizer(cell, readout), torch.randn(batch, hidden)
    return {"cell": cell, "readout": readout, "opt": opt, "batches": batches, "h": h}


@inside
def trainable(*modules):
    """The parameters that an optimizer may change, each once."""
    return [p for module in modules for p in module.parameters() if p.requires_grad]


@inside
def sgd(cell, readout):
    """SGD which is more than a step along the gradient: with groups of their own, momentum and decay."""
    of_cell = {"params": trainable(cell), "weight_decay": 0.1}
    of_readout = {"params": trainable(readout), "lr": 0.0006, "momentum": 0.7}
    return torch.optim.SGD([of_cell, of_readout], lr=0.0003, momentum=0.9)


@inside
def trained(train, given, so_far=False):
    """What opt is given at each step, what the cell computes, and what becomes of all that training is given.

    With so_far an error that stops it is a fact, too.
    """

    def run():
        train(*given.values())

    opt, start = given["opt"], {name: given[name] for name in given if name == "h0"}
    calls = spy(given["cell"], once_per="input", gradients=True)
    with (
        updates(opt, cell=given["cell"], readout=given["readout"]) as made,
        updates(opt, **start) as made_of_h0,
        untouched(**given) as kept,
    ):
        stopped = attempt(run) if so_far else run()
    return {"stopped": stopped, "made": made, "h0": made_of_h0, "calls": calls, "kept": kept}


@inside
def grads(parameters):
    """All gradients in one tensor, so that a small one is not compared more finely than it is known."""
    found = [p.grad for p in parameters]
    return None if any(grad is None for grad in found) else torch.cat([grad.reshape(-1) for grad in found])


@inside
class SmallCell(nn.Module):
    """A cell of one unit and one parameter, so that a step is three operations."""

    hidden_size = 1

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1))

    def forward(self, input, hx=None):  # noqa: A002 - the names it has in torch
        return torch.tanh(input + self.weight * (torch.zeros(len(input), 1) if hx is None else hx))


def alike(one, other):
    """Whether two tensors of one submission have the same values, and values that can be read."""
    return one is not None and other is not None and other.value is not None and is_close(one, other)


# --- q1: train_stateful


@probe
def carried_states(student):
    """A training with one output, as far as it gets; a large eps lets the length of a gradient count."""
    given = network(lambda *both: torch.optim.Adam(trainable(*both), lr=0.1, eps=100), outputs=1)
    return trained(student.train_stateful, given, so_far=True)


@probe
def training(student):
    """A training with a model of every part, where something stands in .grad before."""
    given = network(sgd, number=4, steps=count(5, 6), mixed=True)
    fill_grads(trainable(given["cell"], given["readout"]))
    return trained(student.train_stateful, given)


@probe
def one_minibatch(student):
    """A single long minibatch from zeros: nothing to carry, only the gradient through time."""
    given = network(lambda *both: torch.optim.SGD(trainable(*both), lr=0.003), number=1, steps=count(11, 12))
    given["h"].zero_()
    return trained(student.train_stateful, given)


@probe
def losses_and_state(student):
    """What comes back from two calls; in the second Adam learns from losses that are almost 0."""
    found = {}
    for name, scale in (("", 1.0), ("In a second call, where all losses are almost 0", 1e-4)):
        given = network(lambda *both: torch.optim.Adam(trainable(*both), lr=0.1, eps=1e-20), scale=scale)
        found[name] = student.train_stateful(*given.values())
    return found


def minibatches(states):
    """The steps of the cell, minibatch by minibatch, as far as training got: those seen, those expected."""
    seen, expected = (steps(side["calls"]) for side in states)
    assert states.seen["stopped"] is not None or len(seen) == len(expected), (
        f"The cell was called {len(seen)} times, for {len(expected)} time steps in all."
    )
    number = len(states.expected["made"]["steps"])
    return [chunks(side, len(expected) // number) for side in (seen, expected)]


def assert_trained_by_its_calls(states, training):
    """Fails where training stopped, or its gradients did not go back through the calls of the cell."""
    _ = training.seen  # which fails with torch's message, made a diagnosis
    assert_runs(states.seen["stopped"])
    if not is_close(states.seen["made"]["end"], states.expected["made"]["end"]):
        return  # what is wrong there has checks of its own
    for number, (seen, right) in enumerate(zip(*minibatches(states), strict=True), start=1):
        gradient = seen[-1].gradient
        assert gradient is not None and is_close(gradient, right[-1].gradient), (
            f"The gradient of minibatch {number} did not go back through the last call of the cell there: "
            "the states of that call are not those which the training used."
        )


OWN_LOSS = "Every minibatch makes one step of opt, with the gradient of its own loss only."
WHICH_SHAPES = "Which shapes have the prediction and y, and what does mse_loss make of them?"


def assert_carried(states, since=1):
    """Fails where the values of the last state do not enter a minibatch."""
    seen, expected = minibatches(states)
    last, of = expected[0][0].entered, "the given state h"
    for number, (first, *_, end) in enumerate(seen, start=1):
        entered = first.entered
        is_empty = entered is None or (entered.value is not None and not any(entered.value))
        hint = "\n\nA state without history is not an empty state." if is_empty else ""
        starts = f"Minibatch {number} starts from other values than those of {of}.{hint}"
        assert number < since or alike(entered, last), starts
        last, of = end.left, f"the last state of minibatch {number}"


def assert_cut(states, hint, since=1):
    """Fails where the state enters a minibatch with a history."""
    for number, (first, *_) in enumerate(minibatches(states)[0], start=1):
        assert number < since or not first.has_history, (
            f"The state enters minibatch {number} with the grad_fn {first.entered.grad_fn}: it brings a "
            f"history along, and a backward that arrives here walks on into it.\n\n{hint}"
        )


@points(1)
def test_start_state_is_a_leaf(carried_states, training):
    """The state that enters a minibatch is a leaf: it has no history."""
    shown = "Print h.is_leaf and h.grad_fn at the start of every minibatch."
    assert_cut(carried_states, f"{shown} Which should h bring along, its value or how it was computed?")
    assert_trained_by_its_calls(carried_states, training)


@points(1)
def test_value_is_carried(carried_states, training):
    """A minibatch starts from the values in which the minibatch before ended."""
    assert_trained_by_its_calls(carried_states, training)
    assert_carried(carried_states)


@points(1)
def test_gradient_flows_through_time(one_minibatch):
    """Within a minibatch the gradient flows through all time steps, into the cell."""
    seen, expected = one_minibatch
    if is_close(seen["made"]["end"], expected["made"]["end"]):
        return
    assert_untouched(seen["kept"], only=["*:requires_grad"])
    later = enumerate(steps(seen["calls"])[1:], start=2)
    cut = ", ".join(str(number) for number, step in later if not step.has_history)
    where = f"In time step {cut} the state enters without a history: there the gradient ends."
    hint = "Does each time step begin with the state of the step before, and with its history?"
    assert not cut, f"{where}\n\n{hint}"
    assert_updates(*one_minibatch["made"], each="minibatch", hint=OWN_LOSS)


@points(1)
def test_graph_does_not_grow(carried_states, training):
    """The graph of a minibatch is as large as that of the minibatch before."""
    nodes = [minibatch[-1].nodes for minibatch in minibatches(carried_states)[0]]
    # A carried state that requires grad is one node more than the first one, which does not.
    assert all(number <= nodes[0] + 1 for number in nodes), (
        f"The graph grows from minibatch to minibatch ({', '.join(map(str, nodes))} nodes): the graphs of "
        "earlier minibatches are kept alive, and every backward walks through them all.\n\nHow many steps "
        "does the backward of the tenth minibatch walk back? Think of time, and of memory."
    )
    assert_trained_by_its_calls(carried_states, training)


@points(2)
def test_parameters_after_training(training, carried_states):
    """Step by step, the parameters are those of truncated backpropagation through time."""
    with blaming_changes(training.seen["kept"], only=MODES):
        assert_updates(*training["made"], each="minibatch", hint=OWN_LOSS)
    for case in cases({"With Adam and one output": carried_states}):
        assert_updates(*case["made"], each="minibatch", hint=WHICH_SHAPES)


@points(1)
def test_losses_and_state_come_back(losses_and_state):
    """The losses come back as Python floats, together with the last state."""
    for case in cases(losses_and_state):
        result, (rights, last) = case
        assert isinstance(result, tuple) and len(result) == 2, "What came back is not a tuple (losses, h)."
        losses, h = result
        assert isinstance(losses, list), f"The losses came back as a {type(losses).__name__}, not as a list."
        assert len(losses) == len(rights), f"{len(losses)} losses came back for {len(rights)} minibatches."
        others = {f"the loss of minibatch {number}": loss for number, loss in enumerate(rights, start=1)}
        for number, pair in enumerate(zip(losses, rights, strict=True), start=1):
            why = "those before it are right" if number > 1 else "though nothing has been learned yet"
            assert_close(*pair, f"The loss of minibatch {number} is wrong, {why}.", others)
        assert_close(h, last, "The state that came back does not have the values of the last state.")


@points(1)
def test_nothing_else_changes(training):
    """Only parameters that are not frozen, .grad and the state of opt change."""
    assert_untouched(training.seen["kept"], but=[*TRAINED, "opt.state"], hint=WHOSE)


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
def states():
    """States of every form; all tensors have a history but for two leaves, of which one requires grad."""
    layers, batch, inputs, hidden = sizes(4)
    x = torch.randn(layers, batch, inputs)
    pairs = [nn.LSTMCell(inputs, hidden)(x[0]) for _ in range(count(3, 5))]
    (h, c), learned = pairs[0], torch.randn(1, hidden, requires_grad=True)
    wide = torch.randn(batch, hidden, layers, dtype=torch.float64, requires_grad=True)
    deep = (learned, None, h * 2, torch.zeros(hidden))
    for level in range(count(3, 4)):
        deep = ([deep], c * level, ()) if level % 2 else [deep, None, h + level, []]
    return {
        "None": None,
        "One tensor": nn.GRU(inputs, hidden, num_layers=layers)(x)[1],
        "A float64 tensor": wide.transpose(0, 2) * 2,
        "A tensor that is the number 0": (0 * h).sum(),
        "A tuple (h, c)": nn.LSTM(inputs, hidden)(x)[1],
        "A list of such tuples": pairs,
        "A tuple of one": (h * 3,),
        "An empty list": [],
        "A deeper nest": deep,
    }


@inside
def copies(state):
    """An answer that shares no memory with the original."""
    if isinstance(state, tuple | list):
        return type(state)(copies(part) for part in state)
    return None if state is None else state.detach().clone()


@probe
def repackaged(student):
    """The result for a state of every form, and for a tensor which has other values than the first time."""
    found = {form: {"result": attempt(student.repackage, given)} for form, given in states().items()}
    batch, inputs, hidden = sizes(3)
    h = nn.RNNCell(inputs, hidden)(torch.randn(batch, inputs))
    attempt(student.repackage, h)
    with torch.no_grad():
        h.mul_(-2)
    return {**found, "The same tensor, with new values in it": {"result": attempt(student.repackage, h)}}


@probe
def next_minibatch(student):
    """The gradient of a second minibatch which starts from the repackaged state of the first."""
    steps, batch, inputs, hidden = sizes(4)
    lstm, xs = nn.LSTM(inputs, hidden), torch.randn(2, steps, batch, inputs)
    _, (h, c) = lstm(xs[0])
    (h * c).sum().backward()
    carried = student.repackage((h, c))
    with torch.enable_grad():
        _, (h, c) = lstm(xs[1], carried)
        return gradients((h * c).sum(), lstm=lstm)


@probe
def originals(student):
    """What comes back for a nest, what the nest is then, and two losses computed from it."""
    batch, inputs, hidden = sizes(3)
    x, cells = torch.randn(batch, inputs), [nn.LSTMCell(inputs, hidden) for _ in range(3)]
    weights, learned = [cell.weight_ih for cell in cells], torch.randn(1, hidden, requires_grad=True)
    learned.grad = torch.randn(1, hidden)
    pairs = [cell(x) for cell in cells]
    wide = torch.randn(inputs, batch, hidden, requires_grad=True) * 2
    given = [*pairs, [learned], wide]
    pending = sum(h * c for h, c in pairs)
    with untouched(state=given) as kept:
        result = student.repackage(given)
    before = gradients(pending, weights=weights)
    after = gradients(lambda: sum(h * c for h, c in pairs), weights=weights)
    return {"result": result, "given": given, "kept": kept, "before": before, "after": after}


@probe(oracle=copies)
def reset_in_place(student):
    """The result is reset to zeros while losses of the original are still to be back-propagated.

    One part of the state has a history, the other is plain data. The losses go back to other tensors than
    the state, so no hook on it can raise in autograd's place.
    """
    steps, batch, inputs, hidden = sizes(4)
    h = nn.RNN(inputs, hidden)(torch.randn(steps, batch, inputs))[1]
    given = (h, torch.randn(1, batch, hidden))
    slopes = [torch.randn(1, batch, hidden, requires_grad=True) for _ in given]
    pending = [slope * part for slope, part in zip(slopes, given, strict=True)]
    result = student.repackage(given)
    new = [part is not old for part, old in zip(result, given, strict=False)]
    resets = [attempt(part.zero_) for part in result]
    back = [attempt(vjp, *pair) for pair in zip(pending, slopes, strict=True)]
    return {"new": new, "resets": resets, "gradients": back}


def tensors_in(whole, place=""):
    """All tensors of a structure, each after its place: ``part [1][0]``."""
    if isinstance(whole, list | tuple):
        for number, part in enumerate(whole):
            yield from tensors_in(part, f"{place or 'part '}[{number}]")
    elif whole is not None:
        yield place or "this tensor", whole


@points(2)
def test_structure_is_kept(repackaged):
    """Tuples stay tuples, lists stay lists, None stays None, and the values stay the same."""
    for case in cases(repackaged):
        assert_close(*case["result"], "It did not come back as it went in.", strict=True)


@points(2)
def test_result_has_no_history(repackaged, next_minibatch):
    """Every tensor of the result is a leaf that requires no grad, ready for the next minibatch."""
    hint = "Print grad_fn of every part. Does what you return differ from what you were given?"
    for case in cases(repackaged):
        assert_runs(case.seen["result"])
        for what, part in tensors_in(case.seen["result"]):
            history = f"{what} still has a history, its grad_fn is {part.grad_fn}."
            assert part.grad_fn is None, f"{history}\n\n{hint}"
            assert not part.requires_grad, f"{what} has no history, but it requires grad."
    assert_gradients(next_minibatch, of="the loss of the next minibatch")


@points(1)
def test_original_is_untouched(originals):
    """The state that was passed in keeps its history; a loss computed from it still goes back."""
    seen = originals.seen
    assert_untouched(seen["kept"])
    came_back, given = ({part.identity for _, part in tensors_in(seen[of])} for of in ("result", "given"))
    assert came_back - given, (
        "What came back are the tensors that went in; that they are left alone counts once others come back."
    )
    for when in ("before", "after"):
        assert_gradients(*originals[when], of=f"a loss computed from the original state {when} the call")


@points(1)
def test_reset_falsifies_nothing(reset_in_place):
    """Resetting the result in place never silently falsifies a gradient of the original."""
    seen = reset_in_place.seen
    assert len(seen["resets"]) == 2, f"(h, c) went in, and {len(seen['resets'])} parts came out."
    assert any(seen["new"]), "What came back is the original itself: to reset it is to reset the original."
    for name, reset, back, right in zip("hc", seen["resets"], *reset_in_place["gradients"], strict=True):
        refused = f"The caller cannot reset {name} of the result in place"
        assert not raised(reset, RuntimeError, "leaf"), f"{refused}: it requires grad, and so torch refuses."
        assert not raised(reset, RuntimeError, "nference"), f"{refused}: it was made in inference_mode."
        assert_runs(reset, f"{refused}")
        if raised(back, RuntimeError, "modified by an inplace operation"):
            continue  # autograd saw the write and says so
        assert_runs(back, f"The pending loss of {name} cannot go back")
        falsified = (
            f"Setting {name} of the result to zero changed the gradient of a loss that was pending on the "
            "original, without an error: both share memory, and autograd did not see the write.\n\nDo they "
            "share the version counter, too, by which autograd sees a write?"
        )
        assert_close(back, right, falsified)


@picture(reference=True)  # the given code cuts a tensor in the same way
def repackaged_pair(student):
    """A state (h, c) and what came back for it."""
    w = torch.randn(1, requires_grad=True)
    h, c = 2 * w, w + 1
    result = student.repackage((h, c))
    return graph(result=result, h=h, c=c, w=w)


# --- q3: tbptt


@inside
def sequence(steps, outputs=None, scale=1.0, mixed=False, gated=True):
    """A cell, a readout, and a sequence with targets so far away that gradients hardly cancel each other.

    They grow from step to step; a small scale makes every loss almost 0. With 1 output predictions and
    targets grow from row to row, so that a total which compares one row with another is wrong by far.
    """
    batch, inputs, hidden, more = sizes(4)
    cell = (nn.GRUCell if gated else nn.RNNCell)(inputs, hidden)
    readout, xs = Readout(hidden, outputs or more, scale, mixed), torch.randn(steps, batch, inputs)
    targets = torch.randn(steps, batch, outputs or more) + torch.linspace(20, 40, steps)[:, None, None]
    if outputs == 1:
        for p in trainable(cell, readout):
            p.data.abs_()
        xs, targets = xs.sort(dim=1).values, targets + 10 * torch.arange(batch)[:, None]
    return cell, readout, xs, scale * targets


@inside
def in_chunks(student, steps, k, form):
    """All gradients after a sequence of a form, those of the readout between two chunks, and the steps."""
    cell, readout, xs, ys = sequence(steps, **form)
    calls, known, totals = spy(cell), [], []
    cell.register_forward_pre_hook(lambda *_: known.append(grads(trainable(readout))))
    stopped = attempt(lambda: totals.append(student.tbptt(cell, readout, xs, ys, k)))
    found = {module: grads(trainable(one)) for module, one in (("cell", cell), ("readout", readout))}
    found["totals"] = [total for total in totals if isinstance(total, float)]  # nothing else has this form
    name = f"With {steps} steps, k = {k}{' and one output' if 'outputs' in form else ''}"
    return name, {**found, "between": known[k::k], "stopped": stopped, "calls": calls}


@probe
def several_chunks(student):
    """Chunks of several lengths, with a rest and without one."""
    few, many, double, single = count(4, 5), count(6, 7), 2 * count(3, 5), count(4, 6)
    steps = count(1, few - 2) * few + 1  # in chunks of equal length none would have k steps
    forms = [
        (steps, few, {"scale": 1e-4}),  # one step is left, and all losses are almost 0
        (2 * many - 1, many, {}),  # all but one step of a chunk are left; a chunk is long
        (double, 2, {}),  # nothing is left, and there are more chunks than steps in one
        (single, 1, {"outputs": 1, "gated": False}),  # the shortest chunks there are, and one output
    ]
    return dict(in_chunks(student, *form) for form in forms)


@probe
def one_chunk(student):
    """One chunk that is the whole sequence, and one that is shorter than k."""
    whole, few = count(7, 9), count(4, 6)
    forms = [(whole, whole, {"gated": False}), (few, few + count(1, 9), {})]
    return dict(in_chunks(student, *form) for form in forms)


@probe
def on_top_of_others(student):
    """The same call twice: once without gradients, once with some that are there already; what stays."""
    k = count(2, 3)
    cell, readout, xs, ys = sequence(2 * k + 1, mixed=True)
    learners, frozen = trainable(cell, readout), readout.model.embed.bias
    with untouched(cell=cell, readout=readout, xs=xs, ys=ys) as kept:
        student.tbptt(cell, readout, xs.clone(), ys.clone(), k)
    alone = grads(learners)
    for p in learners:
        p.grad = None
    fill_grads(learners).grad = torch.zeros_like(learners[-1])
    before, learners[-1].grad = grads(learners), None
    frozen.grad = torch.randn_like(frozen)  # of a time when it was not frozen
    with untouched(cell=cell, readout=readout, xs=xs, ys=ys) as again:
        student.tbptt(cell, readout, xs, ys, k)
    after = grads(learners)
    added = None if after is None else after - before
    found = {"alone": alone, "before": before, "added": added, "frozen": snap(frozen)}
    return {"kept": kept, "kept again": again, **found}


WHICH_STEPS = (
    "Write down for this k and this number of steps which losses go back together, and how far. What about "
    "the steps that are left at the end?"
)
WHICH_LOSSES = "Which losses go back in each chunk, and how much does each of them count?"


def assert_walk(walk, right):
    """The steps of the cell: each once, the first from zeros, with a history or none as it should be."""
    times = f"The cell was called {len(walk)} times: each step is computed once, in one chunk."
    assert len(walk) == len(right), f"{times}\n\n{WHICH_STEPS}"
    assert walk[0].entered is None or not any(walk[0].entered.value), "The first state is not zeros."
    cuts, wanted = ([str(n) for n, step in enumerate(side) if not step.has_history] for side in (walk, right))
    places = f"Steps that begin without a history are: {', '.join(cuts)} (counted from 0)"
    assert cuts == wanted, f"{places}; elsewhere nothing is cut.\n\n{WHICH_STEPS}"
    for number, (last, step) in enumerate(pairwise(walk), start=1):
        starts = f"Step {number} (counted from 0) starts from other values than step {number - 1} ended with."
        assert alike(step.entered, last.left), starts


def assert_in_chunks(case, on_top_of_others):
    """Judge one sequence, and say why."""
    seen, expected = case
    walk, right = (steps(side["calls"]) for side in case)
    if raised(seen["stopped"], RuntimeError, SECOND_TIME):
        was_cut = any(not step.has_history for step in walk[1:])
        culprit = "the state was cut, so it is the loss that" if was_cut else "the state"
        raise AssertionError(f"A backward walks into a chunk that is done: {culprit} still belongs to it.")
    assert_runs(seen["stopped"])
    if all(is_close(*case[module]) for module in ("cell", "readout")):
        return
    assert_untouched(on_top_of_others.seen["kept"], only=["*:[tv]*"])  # values and modes
    for module in ("cell", "readout"):
        none = f"A .grad of the {module} is None in the end: nothing went back there, or it was cleared."
        assert seen[module] is not None, none
    assert_walk(walk, right)
    assert not is_close(*case["readout"]), (
        "The gradients of the readout are right, those of the cell are not: a loss does not reach it, or "
        "something is cut that does not enter the cell."
    )
    others, number = {}, len(expected["between"]) + 1
    pairs = [*zip_longest(*case["between"]), case["readout"]]
    for chunk, (known, wanted) in enumerate(pairs, start=1):
        why = f".grad of the readout is wrong when chunk {chunk} of {number} is done."
        if known is not None:
            assert_close(known, wanted, f"{why}\n\n{WHICH_LOSSES}", others)
        others[f"what should be there after chunk {chunk}"] = wanted


@points(2)
def test_gradients_of_the_chunks(several_chunks, on_top_of_others):
    """The gradient is cut every k steps and nowhere else; the gradients of all chunks add up."""
    for case in cases(several_chunks):
        assert_in_chunks(case, on_top_of_others)


@points(1)
def test_one_chunk_is_full_backpropagation(one_chunk, on_top_of_others):
    """With k as long as the sequence, or longer, the gradient is that of full backpropagation."""
    for case in cases(one_chunk):
        assert_in_chunks(case, on_top_of_others)


@points(1)
def test_gradients_are_added(on_top_of_others):
    """The gradients are added to those that are there already."""
    seen = on_top_of_others.seen
    assert seen["alone"] is not None, "After the call the .grad of a parameter that learns is None."
    why = "Two equal calls, the second with something in .grad: it did not add what the first call gave."
    hint = "Does your function clear or change .grad, or does something of the first call outlive it?"
    others = {"what stood in .grad before the call": seen["before"]}
    with blaming_changes(seen["kept"], but=GRADS):
        assert_close(seen["added"], seen["alone"], f"{why}\n\n{hint}", others)
    if not seen["frozen"].requires_grad:
        assert_untouched(seen["kept again"], only=["*.embed.bias:grad"], case="Of a frozen parameter")


@points(1)
def test_total_loss(several_chunks):
    """The sum of the losses of all steps comes back as a Python float."""
    for case in cases(several_chunks):
        assert_runs(case.seen["stopped"])
        assert case.seen["totals"], "The total is not a Python float."
        assert_close(*case["totals"], "The total is not the sum of the losses of all steps.")


@points(1)
def test_only_grad_changes(on_top_of_others):
    """No parameter is updated, and nothing but .grad changes."""
    assert_untouched(on_top_of_others.seen["kept"], but=GRADS, hint=WHOSE)
    assert_untouched(on_top_of_others.seen["kept again"], but=[*GRADS, "*.embed.bias:grad"], hint=WHOSE)


@picture(reference=True)  # the question says where the cut is
def second_chunk(student):
    """Chunk 2 of two, k = 2, before its backward, from start to h2; cell: h = tanh(x + weight * h)."""
    cell, readout = SmallCell(), nn.Linear(1, 1)
    drawn = graph_at(readout, steps=cell, after=4, into="into_readout", cell=cell)
    attempt(student.tbptt, cell, readout, torch.randn(4, 1, 1), torch.randn(4, 1, 1), 2)
    return drawn()


# --- q4: train_learned_start


@inside
def learned_network(**form):
    """What train_learned_start is given.

    There is no momentum for h0, which would be carried on by that where its gradient is 0 instead of None.
    """
    cell, readout, opt, batches, h = network(sgd, **form).values()
    h0 = nn.Parameter(h[:1].clone())
    opt.add_param_group({"params": [h0], "momentum": 0, "lr": 0.004})
    return {"cell": cell, "readout": readout, "h0": h0, "opt": opt, "batches": batches}


@probe
def first_lesson(student):
    """A single minibatch, before which no gradient is there."""
    return trained(student.train_learned_start, learned_network(number=1))


@probe
def lessons(student):
    """Some minibatches with a model of every part, where something stands in .grad before."""
    given = learned_network(number=4, steps=count(5, 6), mixed=True)
    fill_grads([given["h0"], *trainable(given["cell"], given["readout"])])
    return trained(student.train_learned_start, given)


@probe
def states_after_h0(student):
    """Some minibatches, as far as training gets."""
    return trained(student.train_learned_start, learned_network(), so_far=True)


@probe
def last_state(student):
    """What comes back where the readout has one output; what each step of opt is given there."""
    cell, readout, h0, opt, batches = learned_network(outputs=1).values()
    with updates(opt, cell=cell, readout=readout) as made:
        h = student.train_learned_start(cell, readout, h0, opt, batches)
    return {"h": h, "made": made}


@points(2)
def test_first_minibatch_teaches_h0(first_lesson, lessons):
    """h0 learns from the first minibatch, and from no other."""
    hint = "Follow each loss back. Which should end in h0, and what does that make of h0.grad at each step?"
    assert_untouched(first_lesson.seen["kept"], only=["h0:requires_grad"])
    with blaming_changes(lessons.seen["kept"], only=MODES):
        for training in (first_lesson, lessons):
            assert_updates(*training["h0"], each="minibatch", of="h0", hint=hint)


@points(1)
def test_later_minibatches_carry_the_value(states_after_h0, lessons):
    """Every later minibatch starts from the value of the last state, without its history."""
    assert_carried(states_after_h0, since=2)
    hint = "Print h.grad_fn where a minibatch begins. In which of them is a history wanted?"
    assert_cut(states_after_h0, hint, since=2)
    assert_trained_by_its_calls(states_after_h0, lessons)


@points(1)
def test_the_rest_learns_too(lessons, last_state):
    """Cell and readout learn as in question 1, and the last state comes back."""
    with blaming_changes(lessons.seen["kept"], only=MODES):
        assert_updates(*lessons["made"], each="minibatch", hint=OWN_LOSS)
    for case in cases({"With one output": last_state}):
        assert_updates(*case["made"], each="minibatch", hint=WHICH_SHAPES)
    assert_close(*last_state["h"], "What came back does not have the values of the last state.")


@points(1)
def test_all_else_stays(lessons):
    """Only h0, parameters that are not frozen, .grad and the state of opt change."""
    allowed = [*TRAINED, "h0:value", "h0:version", "h0:grad", "opt.state"]
    assert_untouched(lessons.seen["kept"], but=allowed, hint=WHOSE)


@picture(reference=True)  # the given code expands h0 in the same way
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
def center_and_batches(student, number):
    """A module, its number of features, and batches with a mean so far away that no bound holds it."""
    features, rows = sizes(2, low=5)
    batches = torch.randn(number, rows, features) + 200  # first: a module may draw, too
    return student.Center(features), features, batches


@inside
def forward(center, x):
    """What comes out, and the statistic then."""
    return {"output": snap(center(x)), "running": snap(center.running)}


@probe
def training_steps(student):
    """A layer, the module behind it, some training steps: the statistic after each forward."""
    inputs, features, rows = sizes(3)
    layer, batches = nn.Linear(inputs, features), torch.randn(count(3, 5), rows, inputs)
    center, steps = student.Center(features), []
    for batch in batches:
        output = center(mark(layer(batch)))
        running = snap(center.running)
        steps.append({"running": running, "backward": attempt(output.pow(2).sum().backward)})
    del output
    return {"steps": steps, "graphs": alive()}


@probe
def gradient_of_a_batch(student):
    """Gradients of two outputs with respect to their batches, and of one after eval()."""
    center, _, batches = center_and_batches(student, 3)
    first, second, third = (with_gaps(batch).requires_grad_() for batch in batches.unbind())
    outputs = center(first), center(second)
    own = gradients(outputs[1], {"the batch before x": first}, x=second)
    pending = gradients(outputs[0], x=first)
    center.eval()
    return {"own": own, "pending": pending, "evaluated": gradients(lambda: center(1 * third), x=third)}


@probe
def statistic(student):
    """Batches in training, the last of them under no_grad; one in evaluation, and in training again."""
    center, features, batches = center_and_batches(student, count(4, 6))
    buffer = state(center)["buffers"].get("running")
    found = {"A new module": {"running": snap(center.running)}}
    student.Center(features)(batches[0] - 300)  # a module of its own, with a statistic of its own
    found["With two modules"] = {"own": snap(center.running)}
    for number, batch in enumerate(batches[:-2], start=1):
        found[f"In training, after batch {number}"] = forward(center, batch)
    with torch.no_grad():
        found["In training, but under torch.no_grad()"] = forward(center, batches[-2])
    center.eval()
    with untouched(center=center) as kept:
        found["After some training"] = {"evaluated": snap(center(batches[-1].clone()))}
    saved = snap(center.state_dict().get("running"))
    center.train()
    found["Back in training after eval()"] = forward(center, batches[-1])
    return {"kept": kept, "buffer": buffer, "saved": saved, "found": found}


@probe
def smallest_shapes(student):
    """One feature, one row, and both: an output, the statistic, and an output after eval()."""
    found = {}
    for x in torch.randn(count(3, 5), 1), torch.randn(1, count(3, 5)), torch.randn(1, 1):
        rows, n = x.shape
        center = student.Center(n)
        trained = forward(center, x.clone())
        found[f"With a batch of the shape ({rows}, {n})"] = {**trained, "evaluated": center.eval()(x.clone())}
    return found


@probe
def double_and_loaded(student):
    """A module turned to float64, which is loaded before each of its steps, the last time with assign."""
    center, _, batches = center_and_batches(student, 4)
    center, found = center.double(), {}
    times = {"once": False, "again after a training step": False, "again with assign=True": True}
    for batch, (time, assign) in zip(batches.double(), times.items(), strict=False):
        center.load_state_dict({"running": batch[0] - 199}, strict=False, assign=assign)
        found[f"With a running that was loaded {time} (in float64)"] = forward(center, batch)
    evaluated = {"evaluated": center.eval()(batches[-1].double())}
    return {**found, "With a running that was loaded (in float64)": evaluated}


@probe
def batches_left_alone(student):
    """Batches of every kind, in every mode: a leaf, one with a history, one of plain data."""
    center, _, (leaf, source, plain) = center_and_batches(student, 3)
    leaf, source = leaf.clone().requires_grad_(), source.clone().requires_grad_()
    leaf.grad = torch.randn_like(leaf)
    given = {"x (a leaf)": leaf, "x (computed)": 2 * source, "x (data)": plain}
    with untouched(**given) as kept:
        for is_training, is_recorded in ((True, True), (True, False), (False, True), (False, False)):
            center.train(is_training)
            with torch.set_grad_enabled(is_recorded):
                for x in given.values():
                    center(x)
    return kept


@points(1)
def test_statistic_has_no_history(training_steps):
    """Training goes on: the stored statistic never has a history."""
    seen = training_steps.seen
    first, *_, last = (step["running"] for step in seen["steps"])
    still = "running does not move from batch to batch; that it has no history counts once it does."
    assert first is None or last is None or first.value != last.value, still
    for step in cases(training_steps["steps"], each="Training step"):
        running, backward = step.seen["running"], step.seen["backward"]
        assert running is not None, "After the forward running is None."
        assert running.grad_fn is None, (
            f"After the forward running has the grad_fn {running.grad_fn}: the statistic carries the graph "
            "of this batch into the next step.\n\nWho walks into it there?"
        )
        assert not running.requires_grad, "running requires grad: a statistic is measured, not trained."
        assert_runs(backward, "The backward fails")
    held = f"The graphs of {seen['graphs']} of {len(seen['steps'])} batches are still alive"
    assert seen["graphs"] <= 1, f"{held}: the module holds on to them, though running has no history."


@points(2)
def test_gradient_of_the_output(gradient_of_a_batch):
    """In the output the mean of the current batch is differentiable, and the old statistic is a constant."""
    told = "For autograd, the mean that is subtracted is a constant, or another mean than the new average."
    told += "\n\nEach x moves the mean that is subtracted from it. Does your gradient know?"
    because = {"x:wrong": told, "connected": "The old statistic was no constant."}
    assert_gradients(*gradient_of_a_batch["own"], of="the output", because=because)
    assert_gradients(*gradient_of_a_batch["pending"], of="the first output, after a second forward")
    too = {"no history": "x - running has a gradient, too.", "wrong": "There, x - running is asked for."}
    assert_gradients(*gradient_of_a_batch["evaluated"], of="the output after eval()", because=too)


WRONG = {
    "running": "running is not as the task says.",
    "own": "A forward of the other module has changed running of this module.",
    "output": "The output is not x minus the new average.",
    "evaluated": "After eval() the output is not x minus running.",
}


@points(1)
def test_statistic_and_values(statistic, smallest_shapes, double_and_loaded):
    """The statistic is a saved buffer that holds the average; eval() subtracts it and changes nothing."""
    seen = statistic.seen
    assert seen["buffer"] is not None, "A new module has no buffer that is called running."
    assert seen["saved"] is not None, "The state_dict has no entry running: a saved model would lose it."
    moved = ("identity", "storage", "version")
    assert_untouched(seen["kept"], but=[f"center.running:{part}" for part in moved], case="After eval()")
    for case in cases(statistic["found"], smallest_shapes, double_and_loaded):
        for what, wrong in WRONG.items():
            if what in case.expected:
                assert_close(*case[what], wrong)
    assert_close(*statistic["saved"], "The state_dict holds other values than running.")


@points(1)
def test_batches_are_left_alone(batches_left_alone):
    """The batch that comes in stays as it is.

    Who else holds x, and what will its owner do with it next?
    """
    assert_untouched(batches_left_alone.seen)


# The reference's would show its forward, line by line.
@picture
def second_batch(student):
    """The output for a second batch, before its backward; the first batch has gone back already."""
    center, w = student.Center(1), torch.randn(1, requires_grad=True)
    attempt(center(torch.randn(2, 1) * w).sum().backward)
    batch = torch.randn(2, 1) * w
    output = center(batch)
    return graph(output=output, running=center.running, batch=batch, w=w)


# --- end: train_tracked


@probe
def tracked(student):
    """A training with a model of every part, where something stands in .grad before."""
    given = learned_network(number=4, steps=count(3, 4), mixed=True)
    fill_grads([given["h0"], *trainable(given["cell"], given["readout"])])
    return trained(student.train_tracked, given)


@probe
def tracked_states(student):
    """What the cell is given, as far as a training gets; with one output."""
    return trained(student.train_tracked, learned_network(outputs=1), so_far=True)


@probe
def tracked_once(student):
    """A single minibatch, before which no gradient is there."""
    return trained(student.train_tracked, learned_network(number=1))


@probe
def graphs_at_each_step(student):
    """How many graphs of a prediction are alive at each step of opt, and what comes back."""
    given, peaks = learned_network(number=4, scale=0.2), []
    given["readout"].register_forward_hook(lambda module, args, output: mark(output))
    given["opt"].register_step_pre_hook(lambda *_: peaks.append(alive()))
    losses, average, h = student.train_tracked(*given.values())
    floats = {
        "A loss in the list": all(isinstance(loss, float) for loss in losses),
        "The average": isinstance(average, float),
    }
    found = {"losses": [float(loss) for loss in losses], "average": float(average), "h": h}
    ends = {name: state(given[name])["parameters"] for name in ("cell", "readout")}
    return {**found, "floats": floats, "peaks": peaks, "ends": ends}


def test_the_start_learns(tracked_once, tracked):
    """h0 learns from the first minibatch, and from no later minibatch."""
    hint = "Follow the loss of the first minibatch back, line by line. Where does its path to h0 end?"
    with blaming_changes(tracked.seen["kept"], only=MODES):
        for training in (tracked_once, tracked):
            assert_updates(*training["h0"], each="minibatch", of="h0", hint=hint)


def test_the_cell_learns_through_time(tracked, tracked_states):
    """Within a minibatch the gradient flows through all time steps; every minibatch makes its own step."""
    for number, minibatch in enumerate(minibatches(tracked_states)[0], start=1):
        cut = ", ".join(
            str(place) for place, step in enumerate(minibatch[1:], start=2) if not step.has_history
        )
        assert not cut, (
            f"In minibatch {number}, the state enters time step {cut} without a history: there the gradient "
            "ends.\n\nWhich history does the cell need in order to learn to remember?"
        )
    with blaming_changes(tracked.seen["kept"], only=MODES):
        assert_updates(*tracked["made"], each="minibatch", hint=OWN_LOSS)
    for case in cases({"With one output": tracked_states}):
        assert_updates(*case["made"], each="minibatch", hint=WHICH_SHAPES)


def test_old_graphs_are_gone(graphs_at_each_step):
    """When opt makes a step, no graph is alive but those of this minibatch and of the minibatch before."""
    peaks = graphs_at_each_step.seen["peaks"]
    assert peaks, "opt made no step, so there was no moment to count the graphs."
    assert max(peaks) <= 2, (
        f"At the steps of opt {', '.join(map(str, peaks))} graphs are alive: memory grows with every "
        "minibatch.\n\nWhich of the things that you keep from one minibatch to the next has a grad_fn?"
    )


def test_what_comes_back(graphs_at_each_step, tracked, tracked_states):
    """Losses, average and last state are right, and nothing else changes."""
    assert_carried(tracked_states, since=2)
    assert_cut(tracked_states, "Where is a history wanted, and where is it not?", since=2)
    seen, expected = graphs_at_each_step
    for name, is_float in seen["floats"].items():
        assert is_float, f"{name} is no Python float."
    astray = "The parameters do not end where the training leads, so later losses and states are others, too."
    hint = "Does another check of this question fail? Then see to that first."
    assert_close(seen["ends"], expected["ends"], f"{astray}\n\n{hint}")
    assert_close(seen["losses"], expected["losses"], "The losses are not those of the minibatches.")
    told = "The average is not the moving average of the losses."
    hint = "Where does it begin, which loss of a minibatch goes into it, and with which weight?"
    assert_close(seen["average"], expected["average"], f"{told}\n\n{hint}")
    assert_close(
        seen["h"], expected["h"], "The state that came back does not have the values of the last state."
    )
    allowed = [*TRAINED, "h0:value", "h0:version", "h0:grad", "opt.state"]
    assert_untouched(tracked.seen["kept"], but=allowed, hint=WHOSE)


@picture(reference=True)
def three_tracked_minibatches(student):
    """Three minibatches of two steps, before backward 3. cell: h = tanh(x + weight * h)."""
    cell, readout, h0 = SmallCell(), nn.Linear(1, 1), nn.Parameter(torch.randn(1, 1))
    drawn = graph_at(readout, 3, steps=cell, last=6, into="into_readout", h0=h0, cell=cell)
    optimizer = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.1)
    batches = [(torch.randn(2, 2, 1), torch.randn(2, 1)) for _ in range(3)]
    attempt(student.train_tracked, cell, readout, h0, optimizer, batches)
    return drawn()
