from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "The reversal is a node between `x` and your result, and the gradients of other uses do not pass through it. In practice `lam` often grows from 0 to 1 during the training, so that the features first learn something at all."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(grad_reverse):
        if grad_reverse is None:
            raise AssertionError("grad_reverse is not defined: run the cell of q5 first.")
        returned = []

        @wraps(grad_reverse)
        def watched(*arguments, **options):
            returned.clear()
            result = grad_reverse(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(grad_reverse if isinstance(grad_reverse, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"grad_reverse returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"grad_reverse returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("grad_reverse()"):
                raise AssertionError(f"Keep the parameters of grad_reverse as they were: {error}") from None
            if returned:
                why = f"{why} (grad_reverse returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="With lam = 0.5 the gradients 3 and 4 become -1.5 and -2, and another use of x is not reversed.<br>The reversal is a node between <code>x</code> and your result, and the gradients of other uses do not pass through it. In practice <code>lam</code> often grows from 0 to 1 during the training, so that the features first learn something at all.",
    failure_message="Not yet: With lam = 0.5 the gradients 3 and 4 become -1.5 and -2, and another use of x is not reversed.",
)
@guarded
def test_reversed(grad_reverse):
    """With lam = 0.5 the gradients 3 and 4 become -1.5 and -2, and another use of x is not reversed."""
    import torch

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = grad_reverse(x, 0.5)
    seen = [round(value, 5) for value in y.tolist()]
    assert seen == [1.0, -2.0], f"x holds 1 and -2, and the result holds {seen}"
    assert y.requires_grad, "the result does not require grad: nothing leads back to x"
    (y * torch.tensor([3.0, 4.0])).sum().backward()
    seen = [round(value, 5) for value in x.grad.tolist()]
    assert seen == [-1.5, -2.0], f"3 and 4 went back, lam is 0.5, and x.grad is {seen}"

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    h = x * 1
    y = grad_reverse(h, 0.5)
    (h * 10 + y).sum().backward()
    seen = [round(value, 5) for value in x.grad.tolist()]
    assert seen == [9.5, 9.5], f"10 comes through h and -0.5 through the result, and x.grad is {seen}"
