from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 6
afterword = "`mark_dirty` does two things: it increases the version of `x`, and it makes `x` the result of your Function. So the `x` in memory and the `x` in the graph are the same again."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(Scale_):
        if Scale_ is None:
            raise AssertionError("Scale_ is not defined: run the cell of q2 first.")
        returned = []

        @wraps(Scale_)
        def watched(*arguments, **options):
            returned.clear()
            result = Scale_(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(Scale_ if isinstance(Scale_, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("Scale_()"):
                raise AssertionError(f"Keep the parameters of Scale_: {error}") from None
            if returned:
                why = f"{why} (Scale_ returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="`x` is scaled, and so is its gradient.<br><code>mark_dirty</code> does two things: it increases the version of <code>x</code>, and it makes <code>x</code> the result of your Function. So the <code>x</code> in memory and the <code>x</code> in the graph are the same again.",
    failure_message="Not yet: `x` is scaled, and so is its gradient.",
)
@guarded
def test_scale(Scale_):
    """`x` is scaled, and so is its gradient."""
    import torch

    a = torch.ones(2, requires_grad=True)
    x = a * 1
    y = Scale_.apply(x, 3.0)
    assert x.tolist() == [3.0, 3.0], (
        f"x was 1 everywhere and k is 3, but x is now {x.tolist()} instead of 3 everywhere."
    )
    assert y is x, "The result is not x itself: autograd does not know that x was changed."
    x.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0], (
        f"k is 3, but the gradient through x is {a.grad.tolist()} instead of [3, 3]."
    )
