from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "`detach()` shares the memory, so what you return has to be a copy that nobody else holds. Next trap: `y.detach().numpy()` shares the memory, too. A plot that scales such an array in place writes to `y`, and no counter notices it."


@test_case(
    success_message="Of [-2, 2, 3] the positive part is [0, 2, 3], and a loss from before the call still goes back.<br><code>detach()</code> shares the memory, so what you return has to be a copy that nobody else holds. Next trap: <code>y.detach().numpy()</code> shares the memory, too. A plot that scales such an array in place writes to <code>y</code>, and no counter notices it.",
    failure_message="Not yet: Of [-2, 2, 3] the positive part is [0, 2, 3], and a loss from before the call still goes back.",
)
def test_the_positive_part(positive_part):
    """Of [-2, 2, 3] the positive part is [0, 2, 3], and a loss from before the call still goes back."""
    import torch

    x = torch.tensor([-3.0, 1.0, 2.0], requires_grad=True)
    y = x + 1
    loss = (y**2).sum()
    result = positive_part(y)
    assert result.tolist() == [0.0, 2.0, 3.0], (
        f"the result is {result.tolist()}, not [0, 2, 3]"
    )
    assert not result.requires_grad, (
        "the result requires grad: it still has a history"
    )
    assert y.tolist() == [-2.0, 2.0, 3.0], (
        f"y was [-2, 2, 3] before the call and is {y.tolist()} after it"
    )
    try:
        loss.backward()
    except RuntimeError as error:
        reason = str(error).partition(":")[0]
        raise AssertionError(f"loss.backward() fails after your call; torch says: {reason}") from None
    assert x.grad.tolist() == [-4.0, 4.0, 6.0], (
        f"x.grad is {x.grad.tolist()}, not 2 * y = [-4, 4, 6]"
    )
