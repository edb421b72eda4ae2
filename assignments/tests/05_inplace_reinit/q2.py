from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 5
afterword = "The optimizer and a tied module hold the object, so new values go into the old object. Next trap: the optimizer still remembers the momentum of the old values."


@test_case(
    success_message="The optimizer still holds the layer's parameters, the bias is 0, and one step moves both.<br>The optimizer and a tied module hold the object, so new values go into the old object. Next trap: the optimizer still remembers the momentum of the old values.",
    failure_message="Not yet: The optimizer still holds the layer's parameters, the bias is 0, and one step moves both.",
)
def test_the_optimizer_still_holds_the_parameters(reset_layer):
    """The optimizer still holds the layer's parameters, the bias is 0, and one step moves both."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reset_layer(model, "1")
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for name, parameter in model[1].named_parameters():
        assert id(parameter) in held, (
            f"the layer's {name} is a new object: the optimizer updates the old one"
        )
    weight, bias = model[1].weight.tolist(), model[1].bias.tolist()
    assert bias == [0.0], (
        f"the bias is {bias} after the reset, not 0"
    )
    model(torch.ones(2, 4)).sub(1).sum().backward()
    optimizer.step()
    assert model[1].bias.tolist() != bias, (
        "optimizer.step() did not move the bias: it no longer learns"
    )
    assert model[1].weight.tolist() != weight, (
        "optimizer.step() did not move the weight: it no longer learns"
    )
