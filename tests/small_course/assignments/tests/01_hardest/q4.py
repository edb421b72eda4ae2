from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 6


@test_case(
    success_message="The blocks get the gradients of the plain run.",
    failure_message="Not yet: The blocks get the gradients of the plain run.",
)
def test_gradients_of_the_plain_run(forward_ckpt):
    """The blocks get the gradients of the plain run."""
    import torch

    first = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh())
    second = torch.nn.Sequential(torch.nn.Linear(8, 3), torch.nn.Tanh())
    x = torch.randn(5, 3)
    (expected,) = torch.autograd.grad(second(first(x)).sum(), [first[0].weight])
    out = forward_ckpt([first, second], x)
    assert out.requires_grad, (
        "The result has no graph: checkpoint saw no argument that requires grad,\n"
        "and took it that there is nothing to differentiate."
    )
    out.sum().backward()
    seen = first[0].weight.grad
    assert seen is not None and torch.allclose(seen, expected, atol=1e-5), (
        "The gradient of the first block is not that of the plain run."
    )
