from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "The stored mean is detached, and the mean in the output keeps its history. `nn.BatchNorm1d` does the same. Next trap: a loss that you add up for a log without `.item()` keeps every graph of the epoch in memory."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(Center):
        if Center is None:
            raise AssertionError("Center is not defined: run the cell of q5 first.")
        returned = []

        @wraps(Center)
        def watched(*arguments, **options):
            returned.clear()
            result = Center(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(Center if isinstance(Center, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("Center()"):
                raise AssertionError(f"Keep the parameters of Center: {error}") from None
            if returned:
                why = f"{why} (Center returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="running is a detached average, and fixed in eval mode.<br>The stored mean is detached, and the mean in the output keeps its history. <code>nn.BatchNorm1d</code> does the same. Next trap: a loss that you add up for a log without <code>.item()</code> keeps every graph of the epoch in memory.",
    failure_message="Not yet: running is a detached average, and fixed in eval mode.",
)
@guarded
def test_several_training_steps(Center):
    """running is a detached average, and fixed in eval mode."""
    import torch

    torch.manual_seed(0)
    center, layer = Center(2), torch.nn.Linear(2, 2)
    for step in (1, 2, 3):
        try:
            center(layer(torch.randn(3, 2))).pow(2).sum().backward()
        except RuntimeError as error:
            stopped = str(error).split(" (")[0].split(": [")[0]
            raise AssertionError(f"Training step {step} raised an error: {stopped}") from None
        assert center.running.grad_fn is None, (
            f"After training step {step}, running has the grad_fn "
            f"{type(center.running.grad_fn).__name__}:\nit carries the graph of this batch into the next "
            "step."
        )
    center = Center(1)
    center(torch.full((2, 1), 10.0))
    output = center(torch.full((2, 1), 20.0))
    assert torch.allclose(center.running, torch.tensor([2.9])), (
        f"After batches with the means 10 and 20, running is {center.running.tolist()} instead of 2.9."
    )
    assert torch.allclose(output, torch.full((2, 1), 17.1)), (
        f"With the new mean 2.9, an input of 20 becomes {output[0].tolist()} instead of 17.1."
    )
    center.eval()
    output = center(torch.full((2, 1), 5.0))
    assert torch.allclose(output, torch.full((2, 1), 2.1)), "After eval(), the output must be x - running."
    assert torch.allclose(center.running, torch.tensor([2.9])), (
        "After eval(), a forward changed running, which must stay the same."
    )
