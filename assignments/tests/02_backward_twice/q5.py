from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 6
afterword = "A mean divides by the number of samples it was given. So each piece counts by its share of the batch. If all pieces had one size, a single factor would do; the last one seldom has that size."


@test_case(
    success_message="Five samples, two at a time, bring the gradient of the five.<br>A mean divides by the number of samples it was given. So each piece counts by its share of the batch. If all pieces had one size, a single factor would do; the last one seldom has that size.",
    failure_message="Not yet: Five samples, two at a time, bring the gradient of the five.",
)
def test_gradient_of_the_batch(accumulate):
    """Five samples, two at a time, bring the gradient of the five."""
    import torch
    from torch import nn

    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    X = torch.tensor([[1.0], [2.0], [1.0], [2.0], [3.0]])
    accumulate(model, X, torch.zeros(5, 1), 2)
    seen = model.weight.grad
    assert seen is not None, (
        "model.weight.grad is None: no backward has arrived there"
    )
    assert abs(seen.item() - 7.6) < 1e-4, (
        f"model.weight.grad is {seen.item():.4f} instead of 7.6, {seen.item() / 7.6:.2f} times as much:\n"
        "by what number does each of your means divide?"
    )
