from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5


@test_case(
    success_message="The slope of D is (3, 4) everywhere, its norm is 5, and the penalty is 16.",
    failure_message="Not yet: The slope of D is (3, 4) everywhere, its norm is 5, and the penalty is 16.",
)
def test_the_value_for_a_linear_critic(penalty):
    """The slope of D is (3, 4) everywhere, its norm is 5, and the penalty is 16."""
    import torch

    D = torch.nn.Linear(2, 1)
    with torch.no_grad():
        D.weight.copy_(torch.tensor([[3.0, 4.0]]))
    value = penalty(D, torch.ones(3, 2)).item()
    assert abs(value - 16) < 1e-3, (
        f"the slope of D has the norm 5, and the penalty is {value}"
    )


@test_case(
    success_message="backward() of the penalty brings D.weight a gradient.",
    failure_message="Not yet: backward() of the penalty brings D.weight a gradient.",
)
def test_the_penalty_teaches_the_critic(penalty):
    """backward() of the penalty brings D.weight a gradient."""
    import torch

    D = torch.nn.Linear(2, 1)
    with torch.no_grad():
        D.weight.copy_(torch.tensor([[3.0, 4.0]]))
    try:
        penalty(D, torch.ones(3, 2)).backward()
    except RuntimeError as error:
        message = f"the penalty cannot go back: was the inner gradient recorded? torch says: {error}"
        raise AssertionError(message) from None
    assert D.weight.grad is not None, (
        "D.weight.grad is None: the penalty does not lead back to D"
    )
    seen = D.weight.grad.flatten().tolist()
    right = abs(seen[0] - 4.8) < 1e-3 and abs(seen[1] - 6.4) < 1e-3
    assert right, (
        f"D.weight.grad is {seen}: that is not the gradient of (norm - 1) ** 2"
    )
