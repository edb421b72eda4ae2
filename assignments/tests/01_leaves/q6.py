from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 5
afterword = "`backward(gradient=v)` adds up the gradients of the entries, each multiplied by its `v[i]`, in one pass, and treats `v` as a constant. Next trap: a second `backward()` of the same losses. The next notebook begins with it."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(weighted_backward):
        if weighted_backward is None:
            raise AssertionError("weighted_backward is not defined: run the cell of q6 first.")
        returned = []

        @wraps(weighted_backward)
        def watched(*arguments, **options):
            returned.clear()
            result = weighted_backward(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(weighted_backward if isinstance(weighted_backward, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("weighted_backward()"):
                raise AssertionError(f"Keep the parameters of weighted_backward: {error}") from None
            if returned:
                why = f"{why} (weighted_backward returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Gradients are summed with constant weights.<br><code>backward(gradient=v)</code> adds up the gradients of the entries, each multiplied by its <code>v[i]</code>, in one pass, and treats <code>v</code> as a constant. Next trap: a second <code>backward()</code> of the same losses. The next notebook begins with it.",
    failure_message="Not yet: Gradients are summed with constant weights.",
)
@guarded
def test_weighted_gradient(weighted_backward):
    """Gradients are summed with constant weights."""
    import torch

    p = torch.tensor([1.0, 2.0], requires_grad=True)
    weighted_backward(p * p, torch.tensor([1.0, -10.0]))
    assert p.grad is not None, "p.grad is None: no backward pass reached the parameter of the losses."
    assert p.grad.tolist() == [2.0, -40.0], (
        f"p.grad is {p.grad.tolist()} instead of [2.0, -40.0]:\n"
        "the gradients of the losses p * p are 2 and 4, and their weights are 1 and -10."
    )

    p = torch.tensor([1.0, 2.0], requires_grad=True)
    q = torch.tensor([3.0, 4.0], requires_grad=True)
    weighted_backward(p * p, 2 * q)
    assert q.grad is None, (
        "The network that computed the weights got a gradient, although weights count as constants.\n"
        "With the next step it would learn to make the weights small instead of the losses."
    )
