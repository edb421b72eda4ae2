from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 5


@test_case(
    success_message="The result is the mean of the losses, and a plain number.",
    failure_message="Not yet: The result is the mean of the losses, and a plain number.",
)
def test_a_plain_number(validation_loss):
    """The result is the mean of the losses, and a plain number."""
    import torch

    model = torch.nn.Linear(2, 1)
    loader = [(torch.randn(3, 2), torch.randn(3, 1)) for _ in range(4)]
    seen = validation_loss(model, loader)
    assert isinstance(seen, float), (
        f"You returned a {type(seen).__name__}, not a float: as long as it lives,\n"
        "so does everything that it remembers."
    )
    expected = sum(torch.nn.functional.mse_loss(model(x), y).item() for x, y in loader) / 4
    assert abs(seen - expected) < 1e-5, (
        f"{seen:.4f} is not the mean of the losses of the four batches."
    )
