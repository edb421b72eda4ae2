from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 4
afterword = "`a * gate` makes a new tensor, and `a *= gate` writes to the memory of `h`. Next trap: slices instead of chunks. Autograd allows a write to a slice, and `h` changes without an error."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(glu):
        if glu is None:
            raise AssertionError("glu is not defined: run the cell of q2 first.")
        returned = []

        @wraps(glu)
        def watched(*arguments, **options):
            returned.clear()
            result = glu(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(glu if isinstance(glu, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"glu returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"glu returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("glu()"):
                raise AssertionError(f"Keep the parameters of glu as they were: {error}") from None
            if returned:
                why = f"{why} (glu returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="With gates of 0 the result is half of the first half; both halves get a gradient; plain data stays.<br><code>a * gate</code> makes a new tensor, and <code>a *= gate</code> writes to the memory of <code>h</code>. Next trap: slices instead of chunks. Autograd allows a write to a slice, and <code>h</code> changes without an error.",
    failure_message="Not yet: With gates of 0 the result is half of the first half; both halves get a gradient; plain data stays.",
)
@guarded
def test_both_halves_are_reached_and_h_stays(glu):
    """With gates of 0 the result is half of the first half; both halves get a gradient; plain data stays."""
    import torch

    h = torch.tensor([2.0, 4.0, 0.0, 0.0])
    glu(h)
    assert h.tolist() == [2.0, 4.0, 0.0, 0.0], f"h was [2, 4, 0, 0] and is {h.tolist()} after the call"
    x = torch.tensor([[2.0, 4.0, 0.0, 0.0]], requires_grad=True)
    try:
        result = glu(x * 1)
    except RuntimeError as error:
        raise AssertionError(f"glu stopped; torch says: {error}") from None
    assert result.tolist() == [[1.0, 2.0]], f"the result is {result.tolist()}, not [[1.0, 2.0]]"
    assert result.requires_grad, "the result does not require grad: nothing leads back to h"
    result.sum().backward()
    assert x.grad is not None, "h gets no gradient"
    assert x.grad.tolist() == [[0.5, 0.5, 0.5, 1.0]], f"h gets {x.grad.tolist()}, not [[0.5, 0.5, 0.5, 1.0]]"
