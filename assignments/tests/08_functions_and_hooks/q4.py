from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 5
afterword = "A hook changes a gradient by what it returns. Other code may hold the tensor that it receives. Next trap: unless you remove it, a hook stays as long as its tensor, or a graph that leads through the tensor. On a parameter it would still be there in the next epoch."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(clip_grad_hook):
        if clip_grad_hook is None:
            raise AssertionError("clip_grad_hook is not defined: run the cell of q4 first.")
        returned = []

        @wraps(clip_grad_hook)
        def watched(*arguments, **options):
            returned.clear()
            result = clip_grad_hook(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(clip_grad_hook if isinstance(clip_grad_hook, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"clip_grad_hook returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"clip_grad_hook returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("clip_grad_hook()"):
                raise AssertionError(f"Keep the parameters of clip_grad_hook as they were: {error}") from None
            if returned:
                why = f"{why} (clip_grad_hook returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Of the gradient 5, -7, 0.5 the limit 2 leaves 2, -2, 0.5, and the tensor that arrives is not overwritten.<br>A hook changes a gradient by what it returns. Other code may hold the tensor that it receives. Next trap: unless you remove it, a hook stays as long as its tensor, or a graph that leads through the tensor. On a parameter it would still be there in the next epoch.",
    failure_message="Not yet: Of the gradient 5, -7, 0.5 the limit 2 leaves 2, -2, 0.5, and the tensor that arrives is not overwritten.",
)
@guarded
def test_clipped(clip_grad_hook):
    """Of the gradient 5, -7, 0.5 the limit 2 leaves 2, -2, 0.5, and the tensor that arrives is not overwritten."""
    import torch

    x, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    t = x * 1
    handle = clip_grad_hook(t, 2.0)
    assert t.tolist() == [1.0, 1.0, 1.0], f"the values of t were 1, and now they are {t.tolist()}"
    incoming = torch.tensor([5.0, -7.0, 0.5])
    (t + other).backward(incoming)
    assert x.grad.tolist() == [2.0, -2.0, 0.5], f"5, -7 and 0.5 arrived at t, and {x.grad.tolist()} at x"
    assert hasattr(handle, "remove"), "what came back is no handle: it has no method remove()"
    seen = incoming.tolist()
    assert seen == [5.0, -7.0, 0.5], f"the hook overwrote the gradient that arrived: it now holds {seen}"
