from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5


@test_case(
    success_message="The second and the third training step do not fall into the graph of the first.",
    failure_message="Not yet: The second and the third training step do not fall into the graph of the first.",
)
def test_several_training_steps(Center):
    """The second and the third training step do not fall into the graph of the first."""
    import torch

    torch.manual_seed(0)
    center, layer = Center(2), torch.nn.Linear(2, 2)
    for step in (1, 2, 3):
        try:
            center(layer(torch.randn(3, 2))).pow(2).sum().backward()
        except RuntimeError as error:
            stopped = str(error).split(" (")[0].split(": [")[0]
            raise AssertionError(
                f"training step {step} stopped with the error: {stopped}. "
                f"Does the statistic still hold on to the graph of step {step - 1}?"
            ) from None
        assert center.running.grad_fn is None, (
            f"after training step {step} running has the grad_fn {type(center.running.grad_fn).__name__}: "
            "the statistic carries the graph of the batch into the next step"
        )


@test_case(
    success_message="The statistic is the exponential average of the batch means, and eval() leaves it alone.",
    failure_message="Not yet: The statistic is the exponential average of the batch means, and eval() leaves it alone.",
)
def test_the_values(Center):
    """The statistic is the exponential average of the batch means, and eval() leaves it alone."""
    import torch

    center = Center(1)
    center(torch.full((2, 1), 10.0))
    output = center(torch.full((2, 1), 20.0))
    assert torch.allclose(center.running, torch.tensor([2.9])), (
        f"after batches with the means 10 and 20 running should be 2.9, not {center.running.tolist()}"
    )
    assert torch.allclose(output, torch.full((2, 1), 17.1)), (
        f"with the new mean 2.9 an input of 20 should become 17.1, not {output[0].tolist()}"
    )
    center.eval()
    output = center(torch.full((2, 1), 5.0))
    assert torch.allclose(output, torch.full((2, 1), 2.1)), (
        "after eval() the output should be x - running"
    )
    assert torch.allclose(center.running, torch.tensor([2.9])), (
        "after eval() the statistic must not change"
    )
