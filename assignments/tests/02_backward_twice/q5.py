from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 6
afterword = "A mean divides by the number of samples it was given. So each piece must count by its share of the batch. If all pieces had the same size, a single factor would do; the last one rarely does."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(accumulate):
        if accumulate is None:
            raise AssertionError("accumulate is not defined: run the cell of q5 first.")
        returned = []

        @wraps(accumulate)
        def watched(*arguments, **options):
            returned.clear()
            result = accumulate(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(accumulate if isinstance(accumulate, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("accumulate()"):
                raise AssertionError(f"Keep the parameters of accumulate: {error}") from None
            if returned:
                why = f"{why} (accumulate returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Micro-batches accumulate the gradient of the batch.<br>A mean divides by the number of samples it was given. So each piece must count by its share of the batch. If all pieces had the same size, a single factor would do; the last one rarely does.",
    failure_message="Not yet: Micro-batches accumulate the gradient of the batch.",
)
@guarded
def test_gradient_of_the_batch(accumulate):
    """Micro-batches accumulate the gradient of the batch."""
    import torch
    from torch import nn

    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    X = torch.tensor([[1.0], [2.0], [1.0], [2.0], [3.0]])
    accumulate(model, X, torch.zeros(5, 1), 2)
    seen = model.weight.grad
    assert seen is not None, "model.weight.grad is None: no backward pass reached the weight."
    assert abs(seen.item() - 7.6) < 1e-4, (
        f"model.weight.grad is {seen.item()} instead of 7.6, {seen.item() / 7.6:.2f} times as much:\na mean "
        "over a micro-batch divides by the number of its own samples, not by that of the batch."
    )
