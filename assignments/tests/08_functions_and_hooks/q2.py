from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 6
afterword = "`mark_dirty` does two things: the version of `x` moves, and `x` is now the result of your Function. So there is a single `x` again, in memory and in the graph."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

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
                raise AssertionError(f"Keep the parameters of Scale_ as they were: {error}") from None
            if returned:
                why = f"{why} (Scale_ returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="x holds the new values, x itself comes back, and the gradient through x has the factor k.<br><code>mark_dirty</code> does two things: the version of <code>x</code> moves, and <code>x</code> is now the result of your Function. So there is a single <code>x</code> again, in memory and in the graph.",
    failure_message="Not yet: x holds the new values, x itself comes back, and the gradient through x has the factor k.",
)
@guarded
def test_scale(Scale_):
    """x holds the new values, x itself comes back, and the gradient through x has the factor k."""
    import torch

    a = torch.ones(2, requires_grad=True)
    x = a * 1
    y = Scale_.apply(x, 3.0)
    assert x.tolist() == [3.0, 3.0], f"x was 1 everywhere, k is 3, and now x holds {x.tolist()}"
    assert y is x, "another object than x came back: autograd does not know that x was changed"
    x.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0], f"k is 3, and through x the gradient is {a.grad.tolist()}"
