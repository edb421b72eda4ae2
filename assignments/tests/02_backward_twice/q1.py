from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5


@test_case(
    success_message="Of x = [0.1, 0.2, 0.3, 0.4] and the trunk 2 * x**2, the gradient of both losses is 5 * x.",
    failure_message="Not yet: Of x = [0.1, 0.2, 0.3, 0.4] and the trunk 2 * x**2, the gradient of both losses is 5 * x.",
)
def test_both_losses_arrive(backward_both):
    """Of x = [0.1, 0.2, 0.3, 0.4] and the trunk 2 * x**2, the gradient of both losses is 5 * x."""
    import torch

    x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
    try:
        backward_both(lambda v: v**2 * 2, x)
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


@test_case(
    success_message="The trunk is called once.",
    failure_message="Not yet: The trunk is called once.",
)
def test_the_trunk_runs_once(backward_both):
    """The trunk is called once."""
    import torch

    calls = []

    def trunk(v):
        calls.append(v)
        return v**2

    try:
        backward_both(trunk, torch.ones(3, requires_grad=True))
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"backward_both did not come to its end; torch says: {reason}") from None
    assert len(calls) == 1, (
        f"the trunk was called {len(calls)} times"
    )
