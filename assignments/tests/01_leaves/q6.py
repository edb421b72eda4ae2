from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 5


@test_case(
    success_message="The gradients of the samples are added up with their weights.",
    failure_message="Not yet: The gradients of the samples are added up with their weights.",
)
def test_weighted_gradient(weighted_backward):
    """The gradients of the samples are added up with their weights."""
    import torch

    p = torch.tensor([1.0, 2.0], requires_grad=True)
    weighted_backward(p * p, torch.tensor([1.0, -10.0]))
    assert p.grad is not None, (
        "p.grad is None: the losses were cut off from the parameter they depend on."
    )
    assert p.grad.tolist() == [2.0, -40.0], (
        f"p.grad is {p.grad.tolist()} instead of [2.0, -40.0]:\n"
        "the losses p * p have the gradients 2 and 4, and their weights are 1 and -10."
    )


@test_case(
    success_message="No gradient flows into whatever computed the weights.",
    failure_message="Not yet: No gradient flows into whatever computed the weights.",
)
def test_weights_are_constants(weighted_backward):
    """No gradient flows into whatever computed the weights."""
    import torch

    p = torch.tensor([1.0, 2.0], requires_grad=True)
    q = torch.tensor([3.0, 4.0], requires_grad=True)
    weighted_backward(p * p, 2 * q)
    assert q.grad is None, (
        "The network behind the weights got a gradient, though its weights count as constants:\n"
        "with the next step it would learn to make the weights small instead of the losses."
    )
