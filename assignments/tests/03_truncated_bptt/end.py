from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: a cut before the first minibatch, a cut in every time step, and an average that kept the graph of every loss. None of them raised an error: the first two even look like the cure of one."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(train_tracked):
        if train_tracked is None:
            raise AssertionError("train_tracked is not defined: run the cell of end first.")
        returned = []

        @wraps(train_tracked)
        def watched(*arguments, **options):
            returned.clear()
            result = train_tracked(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_tracked if isinstance(train_tracked, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_tracked returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_tracked returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_tracked()"):
                raise AssertionError(f"Keep the parameters of train_tracked as they were: {error}") from None
            if returned:
                why = f"{why} (train_tracked returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="h0 moves, the first of three time steps gets a gradient, and the graphs of old minibatches are gone.<br>The three bugs: a cut before the first minibatch, a cut in every time step, and an average that kept the graph of every loss. None of them raised an error: the first two even look like the cure of one.",
    failure_message="Not yet: h0 moves, the first of three time steps gets a gradient, and the graphs of old minibatches are gone.",
)
@guarded
def test_three_symptoms(train_tracked):
    """h0 moves, the first of three time steps gets a gradient, and the graphs of old minibatches are gone."""
    import gc
    import weakref

    import torch

    torch.manual_seed(0)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    h0 = torch.nn.Parameter(torch.randn(1, 3))
    before, forward, reached, hooks, alive = h0.tolist(), cell.forward, [], [], []
    opt = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.5)
    batches = [(torch.randn(3, 4, 2), torch.randn(4, 1)) for _ in range(4)]

    def watched(input, hx=None):
        output, number = forward(input, hx), len(reached)
        if output.requires_grad:

            def hook(grad):  # the graph holds it for as long as it lives itself
                reached[number] = True

            reached.append(False)
            output.register_hook(hook)
            hooks.append(weakref.ref(hook))
        return output

    def count(optimizer, args, kwargs):
        gc.collect()
        alive.append(sum(hook() is not None for hook in hooks))

    cell.forward = watched
    opt.register_step_pre_hook(count)
    try:
        train_tracked(cell, readout, h0, opt, batches)
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
        raise AssertionError(f"training stopped with the error: {stopped}") from None
    assert h0.tolist() != before, "h0 has not moved: is a loss connected to it?"
    assert len(reached) >= 3 and reached[0] and reached[1], (
        "the loss of the first minibatch does not reach the states after its first two time steps"
    )
    assert alive and max(alive) <= 6, (
        f"at a step of opt {max(alive)} calls of the cell are part of a graph, and a minibatch has 3: "
        "something that you keep holds the graphs of earlier minibatches"
    )
