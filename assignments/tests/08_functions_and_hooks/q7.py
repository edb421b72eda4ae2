from otter.test_files import test_case

OK_FORMAT = False

name = "q7"
points = 4


@test_case(
    success_message="Two samples of a model with one weight have the gradients -2 and -8.",
    failure_message="Not yet: Two samples of a model with one weight have the gradients -2 and -8.",
)
def test_each_sample_has_its_own_gradient(per_sample_grads):
    """Two samples of a model with one weight have the gradients -2 and -8."""
    import torch

    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    X, Y = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [2.0]])
    result = per_sample_grads(model, X, Y)
    assert "weight" in result, (
        f"the dict has the keys {list(result)}, and the parameter is called weight"
    )
    seen = result["weight"].flatten().tolist()
    message = f"the two gradients are {seen}; alone, the samples have -2 and -8"
    assert len(seen) == 2 and abs(seen[0] + 2) < 1e-4 and abs(seen[1] + 8) < 1e-4, (
        message
    )


@test_case(
    success_message="The .grad of the model is None afterwards.",
    failure_message="Not yet: The .grad of the model is None afterwards.",
)
def test_no_gradient_is_left_behind(per_sample_grads):
    """The .grad of the model is None afterwards."""
    import torch

    model = torch.nn.Linear(2, 1)
    per_sample_grads(model, torch.ones(3, 2), torch.zeros(3, 1))
    left = [name for name, parameter in model.named_parameters() if parameter.grad is not None]
    assert not left, (
        f".grad was None before the call, and is a tensor now, of: {left}"
    )
