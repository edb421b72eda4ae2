from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 6
afterword = "Of the three old things only the missing `detach()` has an effect today: torch rejects `retain_variables`, and it never calls a module's method `backward`. A target is a value to aim at. It is not part of what you train."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(ContentLoss):
        if ContentLoss is None:
            raise AssertionError("ContentLoss is not defined: run the cell of q4 first.")
        returned = []

        @wraps(ContentLoss)
        def watched(*arguments, **options):
            returned.clear()
            result = ContentLoss(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(ContentLoss if isinstance(ContentLoss, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("ContentLoss()"):
                raise AssertionError(f"Keep the parameters of ContentLoss: {error}") from None
            if returned:
                why = f"{why} (ContentLoss returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Two iterations work; only the image gets a gradient.<br>Of the three old things only the missing <code>detach()</code> has an effect today: torch rejects <code>retain_variables</code>, and it never calls a module's method <code>backward</code>. A target is a value to aim at. It is not part of what you train.",
    failure_message="Not yet: Two iterations work; only the image gets a gradient.",
)
@guarded
def test_two_iterations(ContentLoss):
    """Two iterations work; only the image gets a gradient."""
    import torch

    passed = ContentLoss(torch.zeros(2), 3.0)(torch.tensor([1.0, 5.0]))
    assert isinstance(passed, torch.Tensor), (
        f"forward returned a {type(passed).__name__} instead of its input."
    )
    assert passed.tolist() == [1.0, 5.0], f"forward returned {passed.tolist()} instead of its input, [1, 5]."

    made_by = torch.tensor([1.0, 2.0], requires_grad=True)
    module = ContentLoss(made_by**2, 2.0)
    image = torch.tensor([1.0, 5.0], requires_grad=True)
    for number in (1, 2):
        image.grad = None
        module(image)
        try:
            module.loss.backward()
        except RuntimeError as error:
            reason = str(error).partition(" (")[0]
            raise AssertionError(f"Iteration {number} raised an error: {reason}") from None
        assert image.grad is not None, (
            f"In iteration {number}, image.grad is None: the loss is not connected to the image."
        )
        assert image.grad.tolist() == [0.0, 4.0], (
            f"In iteration {number}, image.grad is {image.grad.tolist()} instead of [0, 4]."
        )
        assert made_by.grad is None, (
            "A gradient reached the tensor that the target was computed from,\nbut the target must be a "
            "constant."
        )
