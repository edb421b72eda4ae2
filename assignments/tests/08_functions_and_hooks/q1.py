from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "Autograd can only check the tensors that you give to `save_for_backward`, by their version. It never sees an attribute of `ctx`, a global name or a variable of a closure."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(Square):
        if Square is None:
            raise AssertionError("Square is not defined: run the cell of q1 first.")
        returned = []

        @wraps(Square)
        def watched(*arguments, **options):
            returned.clear()
            result = Square(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(Square if isinstance(Square, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("Square()"):
                raise AssertionError(f"Keep the parameters of Square: {error}") from None
            if returned:
                why = f"{why} (Square returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Gradients are right; backward detects a write.<br>Autograd can only check the tensors that you give to <code>save_for_backward</code>, by their version. It never sees an attribute of <code>ctx</code>, a global name or a variable of a closure.",
    failure_message="Not yet: Gradients are right; backward detects a write.",
)
@guarded
def test_square(Square):
    """Gradients are right; backward detects a write."""
    import torch

    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    Square.apply(x).sum().backward()
    assert x.grad is not None, "x.grad is None: the result is not connected to x."
    assert x.grad.tolist() == [-2.0, 4.0], (
        f"The gradient at -1 and 2 is {x.grad.tolist()} instead of [-2, 4]."
    )

    leaf = torch.tensor([-1.0, 2.0], requires_grad=True)
    x = leaf * 1
    y = Square.apply(x).sum()
    x.detach().zero_()
    try:
        y.backward()
    except RuntimeError:
        return
    message = (
        f"x was overwritten, but backward raised no error, and the gradient is {leaf.grad}.\nAutograd "
        "checks only tensors that save_for_backward has saved."
    )
    raise AssertionError(message)
