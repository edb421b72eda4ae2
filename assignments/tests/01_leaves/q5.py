from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5


@test_case(
    success_message="The value is the weighted sum.",
    failure_message="Not yet: The value is the weighted sum.",
)
def test_weighted_sum(total_loss):
    """The value is the weighted sum."""
    import torch

    total = total_loss([torch.tensor(1.0), torch.tensor(2.0), torch.tensor(20.0)], [3.0, 4.0, -0.5])
    value = torch.as_tensor(total).item()
    assert value == 1.0, (
        f"3 * 1 + 4 * 2 - 0.5 * 20 came out as {value:g} instead of 1."
    )


@test_case(
    success_message="backward() of the total reaches the parameters.",
    failure_message="Not yet: backward() of the total reaches the parameters.",
)
def test_parameters_learn(total_loss):
    """backward() of the total reaches the parameters."""
    import torch

    parameter = torch.tensor([1.0, 2.0], requires_grad=True)
    total = total_loss([parameter.sum(), (parameter**2).sum()], [1.0, 0.5])
    assert total.requires_grad, (
        "The total does not require grad: it is a number without history."
    )
    total.backward()
    assert parameter.grad is not None, (
        "backward() ran, but parameter.grad is None: the history of the total ends before the parameter,\n"
        "so training with it would raise no error and change nothing."
    )
    assert parameter.grad.tolist() == [2.0, 3.0], (
        f"parameter.grad is {parameter.grad.tolist()} instead of [2.0, 3.0],\n"
        "so it is not the gradient of the weighted sum."
    )
