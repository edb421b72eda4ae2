from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "Gradients add up. So two backwards, one backward of the sum, and `torch.autograd.backward([d, e])` bring the same to `x.grad`. Next trap: you want to look at a gradient, and it must not be added anywhere."


@test_case(
    success_message="Of x = [0.1, 0.2, 0.3, 0.4] and one call of the trunk 2 * x**2, the gradient of both losses is 5 * x.<br>Gradients add up. So two backwards, one backward of the sum, and <code>torch.autograd.backward([d, e])</code> bring the same to <code>x.grad</code>. Next trap: you want to look at a gradient, and it must not be added anywhere.",
    failure_message="Not yet: Of x = [0.1, 0.2, 0.3, 0.4] and one call of the trunk 2 * x**2, the gradient of both losses is 5 * x.",
)
def test_both_losses_arrive(backward_both):
    """Of x = [0.1, 0.2, 0.3, 0.4] and one call of the trunk 2 * x**2, the gradient of both losses is 5 * x."""
    import torch

    x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
    calls = []

    def trunk(v):
        calls.append(v)
        return v**2 * 2

    try:
        backward_both(trunk, x)
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"backward_both did not come to its end; torch says: {reason}") from None
    assert x.grad is not None, (
        "x.grad is None: no backward has arrived there"
    )
    seen = x.grad.tolist()
    assert all(abs(value - 0.5 * place) < 1e-5 for place, value in enumerate(seen, start=1)), (
        f"x.grad is {[round(value, 4) for value in seen]}, not [0.5, 1.0, 1.5, 2.0]"
    )
    assert len(calls) == 1, (
        f"the trunk was called {len(calls)} times"
    )
