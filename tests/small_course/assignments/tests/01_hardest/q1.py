from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 6


@test_case(
    success_message="Micro-batches of 3, 3 and 1 samples add up to the gradient of the batch.",
    failure_message="Not yet: Micro-batches of 3, 3 and 1 samples add up to the gradient of the batch.",
)
def test_gradient_of_the_batch(accumulate):
    """Micro-batches of 3, 3 and 1 samples add up to the gradient of the batch."""
    import torch

    model, X, Y = torch.nn.Linear(3, 2), torch.randn(7, 3), torch.randn(7, 2)
    (expected,) = torch.autograd.grad(torch.nn.functional.mse_loss(model(X), Y), [model.weight])
    accumulate(model, X, Y, 3)
    assert model.weight.grad is not None, (
        "weight.grad is None: no backward has reached the model."
    )
    ratio = float(model.weight.grad.norm() / expected.norm())
    assert torch.allclose(model.weight.grad, expected, atol=1e-5), (
        f"Your gradient differs from that of the whole batch; its norm is {ratio:.2f} times as large,\n"
        "so a model trained with it would take other steps."
    )
