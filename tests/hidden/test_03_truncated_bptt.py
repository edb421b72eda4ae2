"""The hidden checks of 03_truncated_bptt: the value of a state crosses a cut, its history does not."""

from grader import assert_close, picture, points, probe, raised
from grader.inside import alive, attempt, graph, inside, mark, nn, snap, spy, state, torch, vjp

SECOND_TIME = "backward through the graph a second time"
OVERWRITTEN = "modified by an inplace operation"


@inside
def minibatches(number, steps):
    """Pairs (xs, y): inputs of two features for five sequences, and one target for each sequence."""
    return [(torch.randn(steps, 5, 2), torch.randn(5, 1)) for _ in range(number)]


@inside
class Cell(nn.RNNCell):
    """A cell with a pace of its own, so that nobody else's formula gives its states."""

    def __init__(self):
        super().__init__(2, 3)
        self.pace = 0.5 + torch.rand(()).item()

    def forward(self, input, hx):  # noqa: A002 - the names it has in torch
        return self.pace * super().forward(input, hx)


@inside
def parameters(cell, readout):
    """The values of all parameters, by the names a student knows."""
    modules = {"cell": cell, "readout": readout}
    return {f"{m}.{name}": snap(p) for m, module in modules.items() for name, p in module.named_parameters()}


@inside
def together(tensors):
    """All values in one tensor, so that a small one is not compared more finely than it is known."""
    return None if any(t is None for t in tensors) else torch.cat([t.detach().reshape(-1) for t in tensors])


@inside
def steps_of(calls):
    """The calls that trained, one for each input: the first that recorded a history, else the first.

    Whoever looks at a loss under no_grad, or lets a checkpoint compute again, makes no step by that.
    """
    steps = {}
    for call in calls:
        x = call["inputs"].get("input")
        key = str(getattr(x, "fields", {}).get("value"))
        if key not in steps or (call["nodes"] and not steps[key]["nodes"]):
            steps[key] = call
    return [call for call in calls if any(call is step for step in steps.values())]


@inside
def states_of(calls):
    """The states that entered and left a cell in each step, taken from the records of a spy."""
    steps = steps_of(calls)
    return {
        "entering": [step["inputs"].get("hx") for step in steps],
        "leaving": [step["output"] for step in steps],
    }


@inside
class SmallCell(nn.Module):
    """A cell of one unit and one parameter, so that a step is three operations; it remembers its steps."""

    hidden_size = 1

    def __init__(self):
        super().__init__()
        self.weight, self.steps = nn.Parameter(torch.randn(1)), []

    def forward(self, input, hx=None):  # noqa: A002 - the names it has in torch
        hx = torch.zeros(len(input), 1) if hx is None else hx
        self.steps.append((hx, torch.tanh(input + self.weight * hx)))
        return self.steps[-1][1]


@inside
def states_by_name(steps):
    """The states of some steps, the last first; one that enters a step as it left one has one name only."""
    states, last = [], None
    for number, (hx, h) in enumerate(steps, start=1):
        if hx is not last:
            states.append(("start" if last is None else f"h_into_step_{number}", hx))
        states.append((f"h{number}", h))
        last = h
    return dict(reversed(states))


@inside
class SmallReadout(nn.Module):
    """Keeps the graph of the last states at its n-th call, before any backward of the loss that follows."""

    def __init__(self, cell, at, last, **leaves):
        super().__init__()
        self.weight, self.leaves = nn.Parameter(torch.randn(1)), {**leaves, "cell.weight": cell.weight}
        self.steps, self.at, self.last, self.known, self.drawn = cell.steps, at, last, 0, None

    def forward(self, h):
        if torch.is_grad_enabled():
            self.at, self.known = self.at - 1, len(self.steps)
            if self.at == 0:
                states = states_by_name(self.steps[-self.last :])
                given = {} if any(h is state for state in states.values()) else {"into_readout": h}
                self.drawn = graph(**given, **states, **self.leaves)
        else:
            del self.steps[self.known :]  # whoever looks at a loss without recording makes no step by that
        return h * self.weight


def same(seen, expected):
    """Whether two facts are numerically the same; for choosing the diagnosis, not for the verdict."""
    try:
        assert_close(seen, expected, "they differ")
    except AssertionError:
        return False
    return True


def alike(one, other):
    """Whether two tensors of one submission have the same values, and values that can be read."""
    return one is not None and other is not None and other.value is not None and same(one, other)


def has_history(entering):
    """Whether a state entered with a history; None, from which a cell starts with zeros, has none."""
    return entering is not None and entering.grad_fn is not None


def stopped_with(fact):
    """The first sentence of an error, for a diagnosis of our own."""
    first = fact.text.partition(chr(10))[0].partition(". ")[0]
    return f"{fact.type}: {first[:160].rstrip('.')}"


# --- q1: train_stateful


@probe
def carried_states(student):
    """Four minibatches of three steps: what enters and leaves the cell, as far as training gets."""
    cell, readout = Cell(), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.3)
    batches, start = minibatches(4, 3), torch.randn(5, 3)
    before, calls = snap(start), spy(cell)

    def train():
        student.train_stateful(cell, readout, optimizer, batches, start)

    stopped = attempt(train)
    nodes = [step["nodes"] for step in steps_of(calls)]
    return {"start": before, "stopped": stopped, "nodes": nodes, **states_of(calls)}


@probe
def training(student):
    """The parameters after four minibatches; with momentum, so that a step by hand is not one of opt."""
    cell, readout = Cell(), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.2, momentum=0.9)
    batches, calls, steps = minibatches(4, 3), spy(cell), []
    optimizer.register_step_post_hook(lambda *_: steps.append(1))
    student.train_stateful(cell, readout, optimizer, batches, torch.randn(5, 3))
    trained = together([*cell.parameters(), *readout.parameters()])
    return {"parameters": trained, "calls": len(steps_of(calls)), "steps": len(steps)}


@probe
def one_minibatch(student):
    """A single minibatch of four steps from zeros: nothing to carry, only the gradient through time."""
    cell, readout = Cell(), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=1.0)
    batches, calls, before = minibatches(1, 4), spy(cell), parameters(cell, readout)
    student.train_stateful(cell, readout, optimizer, batches, torch.zeros(5, 3))
    return {
        "before": before,
        "after": parameters(cell, readout),
        "parameters": together([*cell.parameters(), *readout.parameters()]),
        "entering": states_of(calls)["entering"],
    }


@probe
def losses_and_state(student):
    """What comes back from four minibatches."""
    cell, readout = Cell(), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.2)
    result = student.train_stateful(cell, readout, optimizer, minibatches(4, 3), torch.randn(5, 3))
    losses, h = result
    return {"tuple": isinstance(result, tuple), "losses": losses, "h": h}


def assert_called_once_a_step(calls):
    assert calls == 12, f"The cell was called {calls} times for 4 minibatches of 3 time steps."


def assert_ran_through(carried_states, training):
    """Fails with torch's message, made a diagnosis, where training stopped."""
    assert_called_once_a_step(training.seen["calls"])
    assert_called_once_a_step(len(carried_states.seen["entering"]))


@points(2)
def test_start_state_is_a_leaf(carried_states, training):
    """The state that enters a minibatch is a leaf: it has no history.

    Print h.is_leaf and h.grad_fn at the start of every minibatch. Which of the two should h bring along
    from the last one, its value or how it was computed?
    """
    seen = carried_states.seen
    if seen["stopped"] is None:
        assert_called_once_a_step(len(seen["entering"]))
    for number, entering in enumerate(seen["entering"][:12:3], start=1):
        assert not has_history(entering), (
            f"The state enters minibatch {number} with the grad_fn {entering.grad_fn}: it still carries "
            f"the graph of minibatch {number - 1}."
        )
    assert_ran_through(carried_states, training)


@points(1)
def test_value_is_carried(carried_states, training):
    """A minibatch starts from the values in which the last one ended.

    A state without history is not an empty state.
    """
    assert_ran_through(carried_states, training)
    seen = carried_states.seen
    left = "the given state h"
    for number in range(1, 5):
        entering = seen["entering"][3 * number - 3]
        leaving = seen["leaving"][3 * number - 4] if number > 1 else seen["start"]
        assert alike(entering, leaving), f"Minibatch {number} starts from other values than those of {left}."
        left = f"the last state of minibatch {number}"


@points(1)
def test_gradient_flows_through_time(one_minibatch):
    """Within a minibatch the gradient flows through all time steps, into the cell.

    Between which two lines of your code is a history dropped, and is that between two minibatches?
    """
    seen, expected = one_minibatch.seen, one_minibatch.expected
    cut = [str(step) for step, h in enumerate(seen["entering"], start=1) if step > 1 and not has_history(h)]
    frozen = [name for name, now in seen["after"].items() if not now.requires_grad]
    still = [name for name, now in seen["after"].items() if now.value == seen["before"][name].value]
    if frozen:
        why = f"{frozen[0]} no longer requires grad: a detached parameter does not learn"
    elif still:
        why = f"{still[0]} did not move: no gradient arrived there, or it was cleared before the step"
    elif cut:
        why = f"The state enters time step {' and '.join(cut)} without a history: there the gradient ends"
    else:
        why = "After one minibatch the parameters are not where the gradient of its loss brings them"
    assert_close(seen["parameters"], expected["parameters"], f"{why}.")


@points(1)
def test_graph_does_not_grow(carried_states, training):
    """The graph of a minibatch is as large as that of the minibatch before.

    How many steps does the backward of the tenth minibatch walk back? Think of time, and of memory.
    """
    nodes = carried_states.seen["nodes"][2::3]
    # A carried state that requires grad is one node more than the first one, which does not.
    assert all(number <= nodes[0] + 1 for number in nodes), (
        f"The graph grows from minibatch to minibatch ({', '.join(map(str, nodes))} nodes): the graphs of "
        "earlier minibatches are kept alive, and every backward walks through them all."
    )
    assert_ran_through(carried_states, training)


@points(2)
def test_parameters_after_training(training, one_minibatch):
    """After four minibatches the parameters are those of truncated backpropagation through time.

    Every minibatch makes one step of opt, with the gradient of its own loss only.
    """
    seen, expected = training.seen, training.expected
    if seen["steps"] != expected["steps"]:
        times = "once" if seen["steps"] == 1 else f"{seen['steps']} times"
        why = f"In 4 minibatches opt.step() was called {times}"
    elif same(one_minibatch.seen["parameters"], one_minibatch.expected["parameters"]):
        why = (
            "The parameters are right after one minibatch, but not after four: later ones start from another "
            "state, or step with more than the gradient of their own loss"
        )
    else:
        why = "The parameters are wrong from the first minibatch on: its gradient is not that of its loss"
    assert_close(seen["parameters"], expected["parameters"], f"{why}.")


@points(1)
def test_losses_and_state_come_back(losses_and_state):
    """The losses come back as Python floats, together with the last state.

    A loss tensor in a list keeps its whole graph alive; its number is enough here.
    """
    seen, expected = losses_and_state.seen, losses_and_state.expected
    assert seen["tuple"], "What came back is not a tuple (losses, h)."
    assert seen["losses"] is not None, "None came back instead of the losses."
    assert len(seen["losses"]) == 4, f"{len(seen['losses'])} losses came back for 4 minibatches."
    for number, (loss, right) in enumerate(zip(seen["losses"], expected["losses"], strict=True), start=1):
        assert isinstance(loss, float), f"The loss of minibatch {number} is not a Python float."
        if number == 1:
            why = "although nothing has been learned yet: it belongs to the last state from the given h"
        else:
            why = "those before it are right: the weights or the state from which it started are not"
        assert_close(loss, right, f"The loss of minibatch {number} is wrong, {why}.")
    assert_close(seen["h"], expected["h"], "The state that came back has not the values of the last state.")


@picture(reference=True)  # the prose above the question says how the cut is made
def second_minibatch(student):
    """Minibatch 2 of two steps, before its backward, from start to h2; cell: h = tanh(x + weight * h)."""
    cell = SmallCell()
    readout = SmallReadout(cell, at=2, last=2)
    optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.1)
    batches = [(torch.randn(2, 1, 1), torch.randn(1, 1)) for _ in range(2)]
    attempt(student.train_stateful, cell, readout, optimizer, batches, torch.zeros(1, 1))
    return readout.drawn


# --- q2: repackage


@inside
def states():
    """A state of every form; each tensor has a history but for one, a leaf that requires grad."""
    x = torch.randn(3, 2, 2)
    pair, (h, c) = nn.LSTMCell(2, 3)(x[0]), nn.LSTMCell(2, 3)(x[1])
    learned = torch.randn(2, 3, requires_grad=True)
    return {
        "None": None,
        "One tensor": nn.GRU(2, 3, num_layers=2)(x)[1],
        "A tuple (h, c)": nn.LSTM(2, 3)(x)[1],
        "A list of such tuples": [pair, (h, c)],
        "A deeper nest": ([(h * 2, None), [c * 2]], learned),
    }


@inside
def copies(state):
    """An answer that shares no memory with the original."""
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    return type(state)(copies(part) for part in state)


@probe
def repackaged(student):
    """The result for a state of every form."""
    return {form: attempt(student.repackage, given) for form, given in states().items()}


@probe
def next_minibatch(student):
    """The gradient of a second minibatch which starts from the repackaged state of the first."""
    lstm, xs = nn.LSTM(2, 3), torch.randn(2, 4, 1, 2)
    _, (h, c) = lstm(xs[0])
    (h * c).sum().backward()
    lstm.zero_grad()
    _, (h, c) = lstm(xs[1], student.repackage((h, c)))
    (h * c).sum().backward()
    return together([p.grad for p in lstm.parameters()])


@probe
def originals(student):
    """What comes back for a list of tuples, and two losses computed from that list, before and after."""
    cells, x = [nn.LSTMCell(2, 3), nn.LSTMCell(2, 3)], torch.randn(2, 2)
    weights = [cell.weight_ih for cell in cells]
    given = [cell(x) for cell in cells]
    pending = sum((h * c).sum() for h, c in given)
    result = student.repackage(given)
    return {
        "result": result,
        "parts": [[snap(h), snap(c)] for h, c in given],
        "pending": attempt(lambda: vjp(pending, *weights)),
        "later": attempt(lambda: vjp(sum((h * c).sum() for h, c in given), *weights)),
    }


@probe(oracle=copies)
def reset_in_place(student):
    """The result is reset to zeros while losses of the original are still to be back-propagated.

    They go back to other tensors than the state, so no hook on it can raise in autograd's place.
    """
    _, given = nn.LSTM(2, 3)(torch.randn(3, 1, 2))
    slopes = [torch.randn(1, 1, 3, requires_grad=True) for _ in given]
    pending = [slope * part for slope, part in zip(slopes, given, strict=True)]
    result = student.repackage(given)
    return {
        "new": [part is not old for part, old in zip(result, given, strict=False)],
        "resets": [attempt(part.zero_) for part in result],
        "gradients": [attempt(vjp, *pair) for pair in zip(pending, slopes, strict=True)],
    }


def word_for(fact):
    """A part of a state, in the words of the task."""
    words = {"NoneType": "None", "Tensor": "a tensor", "tuple": "a tuple", "list": "a list"}
    return words.get(type(fact).__name__, "something else")


def assert_came_back(form, result):
    assert not raised(result, Exception), (
        f"{form}: your function stopped with {stopped_with(result)}. A state may be None, a tensor, or a "
        "tuple or list whose parts are states again."
    )


def assert_same_structure(seen, expected, where):
    """Walk both structures at once."""
    assert type(seen) is type(expected), f"{where}: {word_for(expected)} went in, {word_for(seen)} came out."
    if isinstance(expected, list | tuple):
        assert len(seen) == len(expected), f"{where}: the number of parts has changed to {len(seen)}."
        for place, (part, right) in enumerate(zip(seen, expected, strict=True)):
            assert_same_structure(part, right, place_in(where, place))
    elif expected is not None:
        assert_close(seen, expected, f"{where}: the values have changed.")


def tensors_in(fact, where):
    """All tensors of a structure, with their places."""
    if isinstance(fact, list | tuple):
        for place, part in enumerate(fact):
            yield from tensors_in(part, place_in(where, place))
    elif fact is not None:
        yield where, fact


def place_in(where, place):
    """How a student finds a part: ``A tuple (h, c), part [1]``."""
    return f"{where}[{place}]" if where.endswith("]") else f"{where}, part [{place}]"


@points(2)
def test_structure_is_kept(repackaged):
    """Tuples stay tuples, lists stay lists, None stays None, and the values stay the same.

    A part of a state is a state again. Which function can repackage it?
    """
    seen, expected = repackaged.seen, repackaged.expected
    for form, right in expected.items():
        assert_came_back(form, seen[form])
        assert_same_structure(seen[form], right, form)


@points(2)
def test_result_has_no_history(repackaged, next_minibatch):
    """Every tensor of the result is a leaf that requires no grad, ready for the next minibatch.

    Print grad_fn and requires_grad of every part. Does what you return differ from what you were given?
    """
    seen = repackaged.seen
    for form, result in seen.items():
        assert_came_back(form, result)
        for where, part in tensors_in(result, form):
            assert part.grad_fn is None, (
                f"{where}: this tensor still has a history, its grad_fn is {part.grad_fn}."
            )
            assert not part.requires_grad, f"{where}: this tensor has no history, but it requires grad."
    assert_close(
        next_minibatch.seen,
        next_minibatch.expected,
        "The gradient of a minibatch that starts from the repackaged state is wrong.",
    )


@points(1)
def test_original_is_untouched(originals):
    """The state that was passed in keeps its history; a loss computed from it still goes back.

    Does your function make new tensors, or does it change those which others hold as well?
    """
    seen, expected = originals.seen, originals.expected
    given = {part.identity for parts in seen["parts"] for part in parts}
    assert any(part.identity not in given for _, part in tensors_in(seen["result"], "the result")), (
        "No new tensor came back; that the original is left alone counts once one does."
    )
    for parts in seen["parts"]:
        for part in parts:
            assert part.grad_fn is not None, (
                "A tensor of the state that was passed in has no history any more: your function changed the "
                "caller's tensor, or put another one into the caller's list."
            )
    for name, when in (("pending", "before"), ("later", "after")):
        gradient = seen[name]
        assert not raised(gradient, RuntimeError), (
            f"A loss computed from the original state {when} the call cannot be back-propagated any more."
        )
        assert_close(
            gradient, expected[name], f"A loss computed {when} the call gives the original a wrong gradient."
        )


@points(1)
def test_reset_falsifies_nothing(reset_in_place):
    """Resetting the result in place never silently falsifies a gradient of the original.

    Two tensors may share memory. Do they share the version counter, too, by which autograd sees a write?
    """
    seen, expected = reset_in_place.seen, reset_in_place.expected
    assert len(seen["resets"]) == 2, f"(h, c) went in, and {len(seen['resets'])} parts came out."
    assert any(seen["new"]), "What came back is the original itself: to reset it is to reset the original."
    for name, reset, gradient, right in zip(
        "hc", seen["resets"], seen["gradients"], expected["gradients"], strict=True
    ):
        assert not raised(reset, RuntimeError, "leaf"), (
            f"The caller cannot reset {name} of the result in place: it requires grad, and so torch refuses."
        )
        assert not raised(reset, RuntimeError, "nference"), (
            f"The caller cannot reset {name} of the result in place: it was born in inference_mode."
        )
        assert not raised(reset, Exception), f"{name} of the result cannot be reset: {stopped_with(reset)}."
        if raised(gradient, RuntimeError, OVERWRITTEN):
            continue  # autograd saw the write and says so
        assert not raised(gradient, RuntimeError), (
            f"The pending loss of {name} cannot be back-propagated: {stopped_with(gradient)}."
        )
        assert_close(
            gradient,
            right,
            f"Setting {name} of the result to zero changed the gradient of a loss that was pending on the "
            "original, without an error: both share memory, and autograd did not see the write.",
        )


@picture(reference=True)  # the given code cuts a tensor in the same way
def repackaged_pair(student):
    """A state (h, c) and what came back for it."""
    w = torch.randn(1, requires_grad=True)
    h, c = 2 * w, w + 1
    result = student.repackage((h, c))
    return graph(result=result, h=h, c=c, w=w)


# --- q3: tbptt


@inside
def sequence(steps):
    """A cell, a readout, and a sequence with targets so far away that gradients hardly cancel each other."""
    return nn.GRUCell(2, 3), nn.Linear(3, 1), torch.randn(steps, 4, 2), torch.randn(steps, 4, 1) + 10


@inside
def gradients_in_chunks(student, steps, k):
    """All gradients after a sequence, and the states on the way there."""
    cell, readout, xs, ys = sequence(steps)
    calls = spy(cell)

    def run():
        student.tbptt(cell, readout, xs, ys, k)

    stopped = attempt(run)
    in_cell, in_readout = ([p.grad for p in module.parameters()] for module in (cell, readout))
    found = {"cell": together(in_cell), "readout": together(in_readout)}
    return {"stopped": stopped, **found, **states_of(calls)}


@probe
def seven_in_threes(student):
    """A sequence of seven steps in chunks of three; one step is left."""
    return gradients_in_chunks(student, 7, 3)


@probe
def six_in_threes(student):
    """Nothing is left for a last, shorter chunk."""
    return gradients_in_chunks(student, 6, 3)


@probe
def four_in_ones(student):
    """The shortest chunks there are."""
    return gradients_in_chunks(student, 4, 1)


@probe
def five_in_five(student):
    """One chunk is the whole sequence."""
    return gradients_in_chunks(student, 5, 5)


@probe
def five_in_eight(student):
    """The only chunk is shorter than k."""
    return gradients_in_chunks(student, 5, 8)


@probe
def on_top_of_others(student):
    """The same call twice: once without gradients, once with some that are there already."""
    cell, readout, xs, ys = sequence(5)
    both = [*cell.parameters(), *readout.parameters()]
    before, others = parameters(cell, readout), [torch.randn_like(p) for p in both]
    student.tbptt(cell, readout, xs, ys, 2)
    alone = together([p.grad for p in both])
    for p, other in zip(both, others, strict=True):
        p.grad = other.clone()
    student.tbptt(cell, readout, xs, ys, 2)
    added = together(
        [None if p.grad is None else p.grad - other for p, other in zip(both, others, strict=True)]
    )
    return {"before": before, "after": parameters(cell, readout), "alone": alone, "added": added}


@probe
def total_loss(student):
    """The sum of the losses of all steps."""
    return student.tbptt(*sequence(7), 3)


def cuts(entering):
    """The steps, counted from 0, that a state without history enters."""
    return [step for step, state in enumerate(entering) if not has_history(state)]


def why_the_gradients_are_wrong(seen, expected):
    """The likeliest reason, from the states that entered the cell."""
    entering, leaving = seen["entering"], seen["leaving"]
    if len(entering) != len(expected["entering"]):
        return f"the cell was called {len(entering)} times."
    for module in ("cell", "readout"):
        if seen[module] is None:
            return (
                f"a .grad of the {module} is None in the end: nothing went back into it, or it was cleared."
            )
    if cuts(entering) != cuts(expected["entering"]):
        steps = ", ".join(map(str, cuts(entering)))
        return f"steps that begin without a history are: {steps} (counted from 0); elsewhere nothing is cut."
    for step in range(1, len(entering)):
        if not alike(entering[step], leaving[step - 1]):
            return (
                f"step {step} (counted from 0) does not start from the values in which step {step - 1} ended."
            )
    if same(seen["readout"], expected["readout"]):
        return "the gradients of the readout are right, those of the cell are not: it is cut off from a loss."
    return (
        "the state is cut in the right places, but the gradients are not the sum over all chunks. Is every "
        "loss in the sum of its chunk, once and undivided? Does .grad stay as it is between two chunks?"
    )


def assert_gradients(observation, case):
    """Judge one sequence, and say why."""
    seen, expected = observation.seen, observation.expected
    if raised(seen["stopped"], RuntimeError, SECOND_TIME):
        was_cut = len(cuts(seen["entering"])) > 1
        culprit = "the state was cut, so it is the loss that" if was_cut else "the state"
        raise AssertionError(
            f"{case} a backward walks into a chunk that is done: {culprit} still belongs to it."
        )
    assert seen["stopped"] is None, f"{case} your function stopped with {stopped_with(seen['stopped'])}."
    why = why_the_gradients_are_wrong(seen, expected)
    for module in ("cell", "readout"):
        assert_close(seen[module], expected[module], f"{case} {why}")


@points(3)
def test_gradients_of_the_chunks(seven_in_threes, six_in_threes, four_in_ones):
    """The gradient is cut every k steps and nowhere else; the gradients of all chunks add up.

    Write down for k = 3 which losses go back together, and how far. What about the steps that are left at
    the end?
    """
    assert_gradients(seven_in_threes, "With 7 steps and k = 3,")
    assert_gradients(six_in_threes, "With 6 steps and k = 3,")
    assert_gradients(four_in_ones, "With 4 steps and k = 1,")


@points(1)
def test_one_chunk_is_full_backpropagation(five_in_five, five_in_eight):
    """With k as long as the sequence, or longer, the gradient is that of full backpropagation."""
    assert_gradients(five_in_five, "With 5 steps and k = 5,")
    assert_gradients(five_in_eight, "With 5 steps and k = 8,")


@points(1)
def test_gradients_are_added(on_top_of_others):
    """The gradients are added to those that are there already; no parameter is updated.

    Whose business are zero_grad() and step() here?
    """
    seen = on_top_of_others.seen
    for name, parameter in seen["after"].items():
        assert parameter.value == seen["before"][name].value, f"The values of {name} were changed."
    assert alike(seen["added"], seen["alone"]), (
        "Where .grad was not empty, the call did not add to it what it gives otherwise: gradients of the "
        "caller were cleared or overwritten."
    )


@points(1)
def test_total_loss(total_loss):
    """The sum of the losses of all steps comes back as a Python float.

    Does the sum hold on to a graph?
    """
    total, expected = total_loss.seen, total_loss.expected
    assert isinstance(total, float), "The total is not a Python float."
    assert_close(
        total,
        expected,
        "The total is not the sum of the losses of all steps: some are missing, or the states were others.",
    )


@picture(reference=True)  # the question says where the cut is
def second_chunk(student):
    """Chunk 2 of two, k = 2, before its backward, from start to h2; cell: h = tanh(x + weight * h)."""
    cell = SmallCell()
    readout = SmallReadout(cell, at=4, last=2)
    attempt(student.tbptt, cell, readout, torch.randn(4, 1, 1), torch.randn(4, 1, 1), 2)
    return readout.drawn


# --- q4: train_learned_start


@inside
def learned_network():
    """A cell, a readout, a first state, and SGD for all of them.

    With momentum, so that a step by hand is not one of opt; without it for h0, which would be carried on by
    that in later minibatches if its gradient is 0 there instead of None.
    """
    cell, readout, h0 = Cell(), nn.Linear(3, 1), nn.Parameter(torch.randn(1, 3))
    groups = [{"params": [h0], "momentum": 0}, {"params": [*cell.parameters(), *readout.parameters()]}]
    return cell, readout, h0, torch.optim.SGD(groups, lr=0.3, momentum=0.9)


@inside
def lessons(student, number):
    """The first state and the parameters, before and after some minibatches of two steps."""
    cell, readout, h0, optimizer = learned_network()
    batches, before, calls, steps = minibatches(number, 2), snap(h0), spy(cell), []
    optimizer.register_step_post_hook(lambda *_: steps.append(1))
    student.train_learned_start(cell, readout, h0, optimizer, batches)
    trained = together([*cell.parameters(), *readout.parameters()])
    return {
        "before": before,
        "calls": len(steps_of(calls)),
        "steps": len(steps),
        "h0": snap(h0),
        "parameters": trained,
    }


@probe
def first_lesson(student):
    """A single minibatch."""
    return lessons(student, 1)


@probe
def three_lessons(student):
    """Three minibatches."""
    return lessons(student, 3)


@probe
def states_after_h0(student):
    """What enters and leaves the cell in three minibatches of two steps, as far as training gets."""
    cell, readout, h0, optimizer = learned_network()
    batches, calls = minibatches(3, 2), spy(cell)

    def train():
        student.train_learned_start(cell, readout, h0, optimizer, batches)

    return {"stopped": attempt(train), **states_of(calls)}


@probe
def last_state(student):
    """What comes back from three minibatches."""
    cell, readout, h0, optimizer = learned_network()
    return student.train_learned_start(cell, readout, h0, optimizer, minibatches(3, 2))


@points(2)
def test_first_minibatch_teaches_h0(first_lesson, three_lessons):
    """h0 learns from the first minibatch, and from that one only.

    Follow the graph of the first loss back. Does it end in h0 itself? And the graph of the second loss?
    """
    seen, expected = first_lesson.seen, first_lesson.expected
    assert seen["h0"].requires_grad, "h0 no longer requires grad: a detached parameter does not learn."
    assert seen["h0"].value != seen["before"].value, (
        "h0 did not move in the first minibatch: its loss is not connected to h0, so h0.grad stays empty."
    )
    assert_close(
        seen["h0"],
        expected["h0"],
        "h0 moved, but not to where opt brings it by the gradient of the first loss.",
    )
    assert_close(
        three_lessons.seen["h0"],
        three_lessons.expected["h0"],
        "h0 is right after the first minibatch, but the later ones changed it again.",
    )


@points(2)
def test_later_minibatches_carry_the_value(states_after_h0, three_lessons):
    """Every later minibatch starts from the value of the last state, without its history.

    Print h.grad_fn where a minibatch begins. In which of them is a history wanted?
    """
    seen = states_after_h0.seen
    calls = len(seen["entering"])
    assert seen["stopped"] is not None or calls == 6, (
        f"The cell was called {calls} times for 3 minibatches of 2 time steps."
    )
    for number, place in ((2, 2), (3, 4)):
        if place < calls:
            entering, leaving = seen["entering"][place], seen["leaving"][place - 1]
            assert alike(entering, leaving), (
                f"Minibatch {number} starts from other values than minibatch {number - 1} ended with."
            )
            assert not has_history(entering), (
                f"The state enters minibatch {number} with the grad_fn {entering.grad_fn}: it was not cut "
                f"from minibatch {number - 1}."
            )
    assert three_lessons.seen["calls"] == calls, "Training stopped before its end."


@points(1)
def test_the_rest_learns_too(three_lessons, last_state):
    """Cell and readout learn as in question 1, and the last state comes back."""
    seen, expected = three_lessons.seen, three_lessons.expected
    assert seen["steps"] == expected["steps"], (
        f"In 3 minibatches opt.step() was called {seen['steps']} times: each makes one step of opt."
    )
    assert_close(
        seen["parameters"],
        expected["parameters"],
        "After three minibatches cell and readout are not where one step for each minibatch, with the "
        "gradient of its own loss, would bring them.",
    )
    assert last_state.seen is not None, "None came back instead of the last state."
    assert_close(
        last_state.seen, last_state.expected, "What came back does not have the values of the last state."
    )


@picture(reference=True)  # the given code expands h0 in the same way
def first_minibatch(student):
    """Minibatch 1 of two steps, before its backward: is h0 behind h2? cell: h = tanh(x + weight * h)."""
    cell, h0 = SmallCell(), nn.Parameter(torch.randn(1, 1))
    readout = SmallReadout(cell, at=1, last=2, h0=h0)
    optimizer = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.1)
    batches = [(torch.randn(2, 2, 1), torch.randn(2, 1))]
    attempt(student.train_learned_start, cell, readout, h0, optimizer, batches)
    return readout.drawn


# --- q5: Center


@probe
def three_steps(student):
    """A layer, the module behind it, three training steps: the statistic after each forward."""
    layer, batches = nn.Linear(2, 3), torch.randn(3, 4, 2)
    center, statistics, backwards = student.Center(3), [], []
    for batch in batches:
        output = center(mark(layer(batch)))
        statistics.append(snap(center.running))
        backwards.append(attempt(output.pow(2).sum().backward))
    del output
    return {"running": statistics, "backwards": backwards, "graphs": alive()}


@probe
def gradient_of_a_batch(student):
    """The gradient of the second output, with respect to its own batch and to the one before it."""
    first, second = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)
    center = student.Center(3)
    center(first)
    own, earlier = vjp(center(second), second, first)
    return {"own": own, "earlier": earlier}


@probe
def statistic(student):
    """Two batches in training, one in evaluation."""
    batches = torch.randn(3, 4, 3) + 2
    center = student.Center(3)
    fresh = state(center)["buffers"].get("running")
    outputs = [snap(center(batch)) for batch in batches[:2]]
    trained = snap(center.running)
    center.eval()
    evaluated = snap(center(batches[2]))
    return {
        "fresh": fresh,
        "outputs": outputs,
        "trained": trained,
        "evaluated": evaluated,
        "afterwards": snap(center.running),
        "saved": snap(center.state_dict().get("running")),
    }


@points(2)
def test_statistic_has_no_history(three_steps):
    """Training goes on: the stored statistic never has a history.

    Print running.grad_fn after a forward. Whose graph is that, and who walks into it in the next step?
    """
    seen = three_steps.seen
    first, *_, last = seen["running"]
    assert first is None or last is None or first.value != last.value, (
        "running does not move from batch to batch; that it has no history counts once it does."
    )
    for step, (running, backward) in enumerate(zip(seen["running"], seen["backwards"], strict=True), start=1):
        assert running is not None, f"After the forward of training step {step} running is None."
        assert running.grad_fn is None, (
            f"After the forward of training step {step} running has the grad_fn {running.grad_fn}: the "
            "statistic carries the graph of this batch into the next step."
        )
        assert not running.requires_grad, "running requires grad: a statistic is measured, not trained."
        assert not raised(backward, RuntimeError, SECOND_TIME), (
            f"The backward of training step {step} walks into the graph of the step before it."
        )
        assert not raised(backward, RuntimeError), (
            f"The backward of training step {step} stopped with {stopped_with(backward)}."
        )
    assert seen["graphs"] <= 1, (
        f"The graphs of {seen['graphs']} of 3 batches are still alive: something in the module holds on to "
        "them, though running itself has no history."
    )


@points(2)
def test_gradient_of_the_output(gradient_of_a_batch):
    """In the output the mean of the current batch is differentiable, and the old statistic is a constant.

    Each x moves the mean that is subtracted from it. Does your gradient know?
    """
    seen, expected = gradient_of_a_batch.seen, gradient_of_a_batch.expected
    assert seen["own"] is not None, "The output is not connected to the batch: its gradient is None."
    assert_close(
        seen["own"],
        expected["own"],
        "The gradient with respect to the batch is wrong: the mean that is subtracted is a constant in it, "
        "or another mean than the new average.",
    )
    earlier = seen["earlier"]
    assert earlier is None or not any(earlier.value), (
        "The gradient of the second output runs into the first batch: the old statistic was no constant."
    )


@points(1)
def test_statistic_and_values(statistic):
    """The statistic is a saved buffer that holds the average; eval() subtracts it and changes nothing.

    Which tensors does state_dict() list, and which of them does a training step change?
    """
    seen, expected = statistic.seen, statistic.expected
    assert seen["fresh"] is not None, "A new module has no buffer that is called running."
    assert seen["saved"] is not None, "The state_dict has no entry running: a saved model would lose it."
    assert_close(seen["fresh"], expected["fresh"], "The running of a new module is not as the task says.")
    assert_close(
        seen["trained"], expected["trained"], "After two batches running is not the average of the task."
    )
    assert_close(
        seen["outputs"], expected["outputs"], "In training the output is not x minus the new average."
    )
    assert alike(seen["afterwards"], seen["trained"]), "After eval() a batch has changed running."
    assert_close(seen["evaluated"], expected["evaluated"], "After eval() the output is not x minus running.")
    assert alike(seen["saved"], seen["afterwards"]), "The state_dict holds other values than running."


# The reference's would show its forward, line by line.
@picture
def second_batch(student):
    """The output for a second batch, before its backward; the first batch has gone back already."""
    center, w = student.Center(1), torch.randn(1, requires_grad=True)
    attempt(center(torch.randn(2, 1) * w).sum().backward)
    batch = torch.randn(2, 1) * w
    output = center(batch)
    return graph(output=output, running=center.running, batch=batch, w=w)
