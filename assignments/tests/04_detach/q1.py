from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5


@test_case(
    success_message="Of [-2, 2, 3] the positive part is [0, 2, 3], without a history.",
    failure_message="Not yet: Of [-2, 2, 3] the positive part is [0, 2, 3], without a history.",
)
def test_the_positive_part(positive_part):
    """Of [-2, 2, 3] the positive part is [0, 2, 3], without a history."""
    import torch

    y = torch.tensor([-3.0, 1.0, 2.0], requires_grad=True) + 1
    result = positive_part(y)
    assert result.tolist() == [0.0, 2.0, 3.0], (
        f"the result is {result.tolist()}, not [0, 2, 3]"
    )
    assert not result.requires_grad, (
        "the result requires grad: it still has a history"
    )


@test_case(
    success_message="A loss of y from before the call still has its backward, with the right gradient.",
    failure_message="Not yet: A loss of y from before the call still has its backward, with the right gradient.",
)
def test_a_waiting_loss_goes_back(positive_part):
    """A loss of y from before the call still has its backward, with the right gradient."""
    import torch

    x = torch.tensor([-3.0, 1.0, 2.0], requires_grad=True)
    y = x + 1
    loss = (y**2).sum()
    positive_part(y)
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
