from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 4
afterword = "The value comes from one formula and the gradient from another. Next trap: such a gradient is not the slope of the value. `gradcheck` calls it wrong, and here it is wrong on purpose."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(ste_round):
        if ste_round is None:
            raise AssertionError("ste_round is not defined: run the cell of q4 first.")
        returned = []

        @wraps(ste_round)
        def watched(*arguments, **options):
            returned.clear()
            result = ste_round(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(ste_round if isinstance(ste_round, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"ste_round returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"ste_round returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("ste_round()"):
                raise AssertionError(f"Keep the parameters of ste_round as they were: {error}") from None
            if returned:
                why = f"{why} (ste_round returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The value is rounded, and the gradient is that of the identity.<br>The value comes from one formula and the gradient from another. Next trap: such a gradient is not the slope of the value. <code>gradcheck</code> calls it wrong, and here it is wrong on purpose.",
    failure_message="Not yet: The value is rounded, and the gradient is that of the identity.",
)
@guarded
def test_the_gradient_goes_straight_through(ste_round):
    """The value is rounded, and the gradient is that of the identity."""
    import torch

    x = torch.tensor([-1.6, 0.4, 2.5], requires_grad=True)
    y = ste_round(x)
    assert y.tolist() == [-2.0, 0.0, 2.0], f"of [-1.6, 0.4, 2.5] your result is {y.tolist()}, not [-2, 0, 2]"
    assert y.requires_grad, "the result does not require grad: no path leads back to x"
    y.backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad is not None, "x.grad is None: the result is not connected to x"
    assert x.grad.tolist() == [1.0, 2.0, 3.0], (
        f"the gradient [1, 2, 3] became {x.grad.tolist()} on its way to x"
    )
