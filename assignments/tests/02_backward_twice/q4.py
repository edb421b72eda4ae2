from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 6


@test_case(
    success_message="Two iterations, each with one plain backward, bring a gradient to the image and none to the network.",
    failure_message="Not yet: Two iterations, each with one plain backward, bring a gradient to the image and none to the network.",
)
def test_two_iterations(ContentLoss):
    """Two iterations, each with one plain backward, bring a gradient to the image and none to the network."""
    import torch

    made_by = torch.tensor([1.0, 2.0], requires_grad=True)
    module = ContentLoss(made_by**2, 2.0)
    image = torch.tensor([1.0, 5.0], requires_grad=True)
    for number in (1, 2):
        image.grad = None
        module(image)
        try:
            module.loss.backward()
        except RuntimeError as error:
            reason = str(error).partition(" (")[0]
            raise AssertionError(f"iteration {number} stopped; torch says: {reason}") from None
        assert image.grad is not None, (
            f"the image has no gradient in iteration {number}"
        )
        assert image.grad.tolist() == [0.0, 4.0], (
            f"the gradient of the image is {image.grad.tolist()}, not [0, 4]"
        )
        assert made_by.grad is None, (
            "a gradient went into the network that had made the target"
        )


@test_case(
    success_message="What forward returns has the values of its input.",
    failure_message="Not yet: What forward returns has the values of its input.",
)
def test_the_input_passes(ContentLoss):
    """What forward returns has the values of its input."""
    import torch

    result = ContentLoss(torch.zeros(2), 3.0)(torch.tensor([1.0, 5.0]))
    assert isinstance(result, torch.Tensor), (
        f"a {type(result).__name__} came back from forward"
    )
    assert result.tolist() == [1.0, 5.0], (
        f"forward returned {result.tolist()} for the input [1, 5]"
    )
