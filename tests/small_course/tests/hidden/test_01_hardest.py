"""The hidden checks of 01_hardest: what stays alive, what is saved, and what autograd has to be told."""

from grader import assert_close, points, probe, raised
from grader.inside import alive, attempt, inside, mark, nn, saved, snap, spy, torch, vjp


@inside
def gradients(model):
    return {name: snap(parameter.grad) for name, parameter in model.named_parameters()}


# --- q1: accumulate


@inside
def wide_network():
    """Wide inside and narrow outside: what is saved for backward is mostly what the samples are inside."""
    return nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Sigmoid(), nn.Tanh(), nn.Linear(64, 2)).double()


@inside
def samples(number):
    return torch.randn(number, 3, dtype=torch.float64), torch.randn(number, 2, dtype=torch.float64)


@probe
def seven_samples(student):
    """Seven samples in micro-batches of three: the last one is smaller."""
    model, batch = wide_network(), samples(7)
    student.accumulate(model, *batch, 3)
    return gradients(model)


@probe
def fifty_samples(student):
    """Fifty samples in micro-batches of four, and for comparison a graph of all fifty."""
    model, batch = wide_network(), samples(50)
    whole = saved(model, batch[0])
    return {"held": saved(student.accumulate, model, *batch, 4)["peak"], "whole": whole["peak"]}


@probe
def two_calls(student):
    """What each of two calls in a row adds to the gradients."""
    model, batch = wide_network(), samples(7)
    student.accumulate(model, *batch, 3)
    first = [p.grad.clone() for p in model.parameters()]
    student.accumulate(model, *batch, 3)
    return {
        "first": first,
        "second": [p.grad - before for p, before in zip(model.parameters(), first, strict=True)],
    }


def norm(tensor):
    return sum(number**2 for number in tensor.value) ** 0.5


@points(3)
def test_gradient_of_the_whole_batch(seven_samples):
    """The gradient is exactly that of the whole batch.

    By which number does mse_loss divide in each micro-batch, and by which in the whole batch?
    """
    for name, expected in seven_samples.expected.items():
        seen = seven_samples.seen[name]
        assert seen is not None, f"The gradient of {name} is None: no backward has reached it."
        assert_close(
            seen,
            expected,
            f"The gradient of {name} is not that of the whole batch, but {norm(seen) / norm(expected):.2f} "
            "times as large: a sum was divided by the wrong number, or a part of the batch is missing.",
        )


@points(2)
def test_one_micro_batch_in_memory(fifty_samples):
    """The graph never holds more than one micro-batch.

    When does the graph of a micro-batch go? Is it freed before the next forward begins? How large is yours?
    """
    seen, expected = fifty_samples.seen, fifty_samples.expected
    assert seen["held"] <= 1.5 * expected["held"], (
        f"With micro = 4 your code held {seen['held']:,} bytes for backward at the same time, and a graph "
        f"of all 50 samples holds {seen['whole']:,}: more than four samples were in memory at once."
    )


@points(1)
def test_gradients_accumulate(two_calls):
    """Gradients that are already there stay part of the sum.

    What does backward() do with a .grad that is not None?
    """
    assert_close(
        two_calls.seen["second"],
        two_calls.seen["first"],
        "A second call with the same batch did not add the same gradient again: it cleared, replaced or "
        "rescaled what had been accumulated before.",
    )


# --- q2: validation_loss


@inside
class Watched(nn.Module):
    """Marks its results, and counts whenever a batch starts how many earlier graphs are alive."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.alive_at_start = []

    def forward(self, x):
        self.alive_at_start.append(alive())
        return mark(self.layer(x))


@inside
def five_batches():
    return [(torch.randn(size, 2), torch.randn(size, 1)) for size in (3, 3, 5, 2, 1)]


@probe
def average(student):
    """The loss over five batches of several sizes."""
    return student.validation_loss(nn.Linear(2, 1), five_batches())


@probe
def living_graphs(student):
    """How many graphs are alive when a batch starts, and how many while only the result is kept."""
    model = Watched()
    _result = student.validation_loss(model, five_batches())
    return {"at each start": model.alive_at_start, "afterwards": alive()}


@points(1)
def test_mean_over_the_batches(average):
    """The result is the mean over the batches, as a Python float.

    What does a tensor remember that a float does not? And by which number do you divide?
    """
    assert_close(average.seen, average.expected, "This is not the mean of the losses of the batches.")


@points(3)
def test_memory_does_not_grow(living_graphs):
    """When a batch starts, the graphs of the batches before are gone.

    What does your running sum hold on to: a number, or a tensor with a grad_fn? What does eval() change?
    """
    most = max(living_graphs.seen["at each start"], default=0)
    assert most <= 1, (
        f"When a batch started, {most} graphs of earlier batches were alive: something that you keep for "
        "all batches is attached to every one of them, so the memory grows with the set."
    )


@points(1)
def test_no_graph_survives(living_graphs):
    """After the call no graph is left, though the result is kept.

    What do the value you return, and whatever else outlives the call, refer to?
    """
    left = living_graphs.seen["afterwards"]
    assert left == 0, (
        f"Graphs that are alive after the call: {left}. They live as long as what refers to them: the value "
        "that you returned, or something that you stored."
    )


# --- q3: may_overwrite


@inside
def answers(student, *cases):
    """What the student says of each case, by its name."""
    return {case.__name__: student.may_overwrite(case, torch.randn(4, requires_grad=True)) for case in cases}


@probe
def powers_and_multiples(student):
    """The examples of the task, alone and as a part of a sum."""

    def square(x):
        y = x + 1
        return y**2, y

    def multiple(x):
        y = x**2
        return 3 * (x + 1) + 4 * y, y

    def square_in_a_sum(x):
        y = x**2
        return 3 * (x + 1) + 4 * y**2, y

    return answers(student, square, multiple, square_in_a_sum)


@probe
def inputs_and_outputs(student):
    """Operations that save what they get, and others that save what they give."""

    def exp_input(x):
        y = x + 1
        return y.exp(), y

    def exp_output(x):
        y = (x + 1).exp()
        return y * 3, y

    def relu_output(x):
        y = torch.relu(x + 1)
        return y + 1, y

    def matmul_operand(x):
        y = x + 1
        return y @ torch.ones(4, 4, requires_grad=True), y

    return answers(student, exp_input, exp_output, relu_output, matmul_operand)


@probe
def views_and_depth(student):
    """Saved in another shape, from another address on, or far from the end of the graph."""

    def reshaped(x):
        y = x + 1
        return y.view(2, 2) ** 2, y

    def sliced(x):
        y = x + 1
        return y[1:] ** 2, y

    def deep(x):
        y = x + 1
        return (y * y + 1).sum() * 2, y

    return answers(student, reshaped, sliced, deep)


@probe
def constants(student):
    """Tensors that do not require grad."""

    def factor(x):
        mask = torch.tensor([0.0, 1.0, 1.0, 0.0])
        return x * mask, mask

    def summand(x):
        offset = torch.tensor([0.0, 1.0, 2.0, 3.0])
        return x + offset, offset

    return answers(student, factor, summand)


def compare(cases, **situations):
    """Fail at the first case of which the student says something else than the reference."""
    for case, situation in situations.items():
        seen = cases.seen[case]
        assert seen == cases.expected[case], f"You answered {seen} where {situation}."


@points(1)
def test_powers_and_multiples(powers_and_multiples):
    """Squares and multiples are told apart.

    Of what is the derivative made: of y, or of a constant?
    """
    compare(
        powers_and_multiples,
        square="out = y**2: the derivative 2 * y is made of y",
        multiple="out = 3 * (x + 1) + 4 * y: the derivative is 4, whatever y is",
        square_in_a_sum="out = 3 * (x + 1) + 4 * y**2: the derivative 8 * y is made of y",
    )


@points(1)
def test_inputs_and_outputs(inputs_and_outputs):
    """Operations that save their input are told from those that save their output.

    The derivative of exp is exp itself: which tensor would you keep? (What is saved may be another object.)
    """
    compare(
        inputs_and_outputs,
        exp_input="out = y.exp(): exp saves its output, and y is its input",
        exp_output="y = (x + 1).exp(): exp saves its output, and that is y",
        relu_output="y = torch.relu(x + 1): relu saves its output, and that is y",
        matmul_operand="out = y @ w: the gradient of w is made of y",
    )


@points(1)
def test_views_and_depth(views_and_depth):
    """What is saved is found behind a view, and deep in the graph.

    A view is another object and may begin at another address. What does it share with its base?
    """
    compare(
        views_and_depth,
        reshaped="out = y.view(2, 2) ** 2: the saved view lies in the memory of y",
        sliced="out = y[1:] ** 2: the saved slice lies in the memory of y, though not at its beginning",
        deep="out = (y * y + 1).sum() * 2: y is saved, only not by the last operation",
    )


@points(1)
def test_constants(constants):
    """A tensor that does not require grad may be needed all the same.

    Of what is the gradient of x made in x * c, and of what in x + c?
    """
    compare(
        constants,
        factor="out = x * c with a constant c: the gradient of x is made of c",
        summand="out = x + c with a constant c: the derivative is 1, whatever c is",
    )


# --- q4: forward_ckpt


@inside
def plain_run(blocks, x):
    """What checkpointing is measured against."""
    for block in blocks:
        x = block(x)
    return x


@inside
def four_blocks():
    blocks = [[nn.Linear(8, 32), nn.Tanh(), nn.Dropout(0.3), nn.Linear(32, 8)] for _ in range(4)]
    return nn.ModuleList(nn.Sequential(*layers) for layers in blocks)


@inside
def there_and_back(student, x):
    """A forward and a backward, and what they did to x and to the blocks."""
    blocks, direction, before = four_blocks(), torch.randn(64, 8), snap(x)
    out = student.forward_ckpt(blocks, x)
    facts = {"before": before, "x": snap(x), "out": snap(out)}
    facts["backward"] = attempt(lambda: (out * direction).sum().backward())
    return {**facts, "x.grad": snap(x.grad), "gradients": gradients(blocks)}


@probe(oracle=plain_run)
def data_as_input(student):
    """An input that does not require grad, as data does not."""
    return there_and_back(student, torch.randn(64, 8))


@probe(oracle=plain_run)
def trained_input(student):
    """An input that requires grad itself."""
    return there_and_back(student, torch.randn(64, 8, requires_grad=True))


@probe(oracle=plain_run)
def cost(student):
    """What the forward saves for backward, and how many calls of blocks there were before and after it."""
    blocks, x = four_blocks(), torch.randn(64, 8)
    calls = [spy(block) for block in blocks]
    forward = saved(student.forward_ckpt, blocks, x)
    facts = {"out": snap(forward["value"]), "bytes": forward["bytes"], "calls": sum(map(len, calls))}
    attempt(lambda: forward["value"].sum().backward())
    return {**facts, "calls after backward": sum(map(len, calls))}


@points(3)
def test_gradients_of_the_plain_run(data_as_input):
    """Every block gets the gradients of the plain run, though the input does not require grad.

    Is the result attached to all blocks? And what does a block compute when it runs for the second time?
    """
    seen, plain = data_as_input.seen, data_as_input.expected
    assert_close(seen["out"], plain["out"], "What you return is not what the plain run returns.")
    assert seen["out"].requires_grad, (
        "The result has no graph, so no block will ever learn. Either recording was switched off, or "
        "checkpoint found nothing to differentiate: the reentrant kind looks at its arguments only."
    )
    assert seen["backward"] is None, (
        f"Backward through the result raised {seen['backward'].type}: {seen['backward'].text}"
    )
    for name, gradient in plain["gradients"].items():
        assert seen["gradients"][name] is not None, (
            f"Backward ran, but the gradient of blocks.{name} is None: the graph is cut between it and the "
            "result, or the result was made by another block."
        )
        assert_close(
            seen["gradients"][name],
            gradient,
            f"The gradient of blocks.{name} is not that of the plain run, though the result is: what ran "
            "again in backward was something else, with another mask of dropout or another block.",
        )


@points(2)
def test_memory_is_saved(cost):
    """Less than half of the plain run's bytes are saved for backward; the rest is computed again.

    Which tensors inside a block are kept until backward? Where do those come from that are not?
    """
    seen, plain = cost.seen, cost.expected
    assert seen["out"] is not None and seen["out"].requires_grad, (
        "Nothing was saved for backward, but only because there is no result with a graph."
    )
    assert seen["bytes"] < plain["bytes"] / 2, (
        f"{seen['bytes']:,} bytes were saved for backward, where the plain run saves {plain['bytes']:,}: "
        "no block, or too few, are checkpointed."
    )
    assert seen["calls after backward"] > seen["calls"], (
        "No block ran again during backward, so nothing was computed again: what backward needs is kept in "
        "another place, or backward never gets to the blocks."
    )


@points(1)
def test_x_of_the_caller(data_as_input, trained_input):
    """The caller's x stays as it is, and gets its gradient where it requires one.

    On which tensor did you call requires_grad_(), and on which detach()?
    """
    before, x = data_as_input.seen["before"], data_as_input.seen["x"]
    assert not x.requires_grad, "The caller's x was switched to requires_grad."
    assert x.value == before.value, "The values of the caller's x were changed."
    gradient = trained_input.seen["x.grad"]
    assert gradient is not None, "An x that requires grad gets no gradient: it is cut off from the result."
    assert_close(
        gradient,
        trained_input.expected["x.grad"],
        "An x that requires grad gets another gradient than in the plain run.",
    )


# --- q5: Scale_


@inside
def leaf_and_sum():
    """A leaf, and a tensor that is none and that nobody needs for backward."""
    a = torch.randn(3, requires_grad=True)
    return a, a + torch.randn(3)


@inside
def some_factor():
    return 2 + torch.rand(()).item()


@probe
def scaled(student):
    """The tensor before and after the call, and what the call returns."""
    (_, x), k = leaf_and_sum(), some_factor()
    before = snap(x)
    y = student.Scale_.apply(x, k)
    return {"before": before, "x": snap(x), "y": snap(y)}


@probe
def gradient_through_x(student):
    """Somebody goes on with x and never looks at what the call returned."""
    (a, x), k = leaf_and_sum(), some_factor()
    student.Scale_.apply(x, k)
    return vjp(x, a)[0]


@probe
def gradient_through_y(student):
    """Two factors in a row, and an incoming gradient that belongs to somebody else."""
    (a, x), k, other, incoming = leaf_and_sum(), some_factor(), some_factor(), torch.randn(3)
    before = snap(incoming)
    y = student.Scale_.apply(student.Scale_.apply(x, k), other)
    y.backward(incoming)
    return {"a.grad": snap(a.grad), "before": before, "incoming": snap(incoming)}


@probe
def stale_square(student):
    """Somebody has saved x for backward before it is scaled."""
    (_, x), k = leaf_and_sum(), some_factor()
    loss = (x**2).sum()
    student.Scale_.apply(x, k)
    return {"backward": attempt(loss.backward)}


@points(2)
def test_x_is_scaled_in_place(scaled):
    """It is x itself that is multiplied, and x itself that is returned.

    What must forward do with x, what must it return, and whom must it tell?
    """
    before, x, y = scaled.seen["before"], scaled.seen["x"], scaled.seen["y"]
    assert x.value != before.value, "x holds its old values: only a new tensor was multiplied."
    assert_close(x, scaled.expected["x"], "x does not hold k times its old values.")
    assert x.version > before.version, (
        f"x was overwritten, but x._version stayed at {x.version}: autograd cannot notice that its values "
        "changed."
    )
    assert y is not None and y.identity == x.identity, (
        "What apply returns is not x, but another tensor: autograd was not told that x was changed and is "
        "the output."
    )


@points(2)
def test_gradient_through_x(gradient_through_x):
    """Whoever goes on using x gets the gradient of the scaled x.

    Print x.grad_fn after the call. Whose backward will be called?
    """
    assert_close(
        gradient_through_x.seen,
        gradient_through_x.expected,
        "The gradient through x is not k times the incoming one: x still has its old grad_fn, or the "
        "factor in your backward is wrong.",
    )


@points(1)
def test_gradient_through_y(gradient_through_y):
    """Your backward multiplies by the factor of its own call, and overwrites nobody's gradient.

    Who else may hold the tensor g? And whose k is it: that of this call, or that of the last?
    """
    seen, expected = gradient_through_y.seen, gradient_through_y.expected
    assert_close(
        seen["a.grad"],
        expected["a.grad"],
        "After two calls, the gradient is not the product of both factors.",
    )
    assert seen["incoming"].value == seen["before"].value, (
        "Your backward overwrote the gradient that it was given; other branches of a graph may share that "
        "tensor."
    )


@points(1)
def test_stale_use_is_noticed(stale_square):
    """A computation that saved x before the call refuses to go back.

    What does autograd compare to see that a saved tensor was overwritten?
    """
    assert raised(stale_square.seen["backward"], RuntimeError, "modified by an inplace operation"), (
        "Somebody computed x**2, then your operation ran, and the backward of x**2 raised no error: either "
        "x was not changed at all, or it was changed without a trace."
    )
