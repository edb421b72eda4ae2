from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 5


@test_case(
    success_message="After unfreeze, the next step of the optimizer moves weight and bias of the layer.",
    failure_message="Not yet: After unfreeze, the next step of the optimizer moves weight and bias of the layer.",
)
def test_the_layer_moves(unfreeze):
    """After unfreeze, the next step of the optimizer moves weight and bias of the layer."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1, momentum=0.9)
    unfreeze(model[0], opt, 0.01)
    weight, bias = model[0].weight.tolist(), model[0].bias.tolist()
    model(torch.ones(1, 2)).sum().backward()
    opt.step()
    assert model[0].weight.tolist() != weight, (
        "opt.step() did not move the weight of the layer"
    )
    assert model[0].bias.tolist() != bias, (
        "opt.step() did not move the bias of the layer"
    )


@test_case(
    success_message="After two calls, opt holds each parameter of the layer once.",
    failure_message="Not yet: After two calls, opt holds each parameter of the layer once.",
)
def test_a_second_call_adds_nothing(unfreeze):
    """After two calls, opt holds each parameter of the layer once."""
    import torch

    layer, last = torch.nn.Linear(2, 2).requires_grad_(False), torch.nn.Linear(2, 1)
    opt = torch.optim.SGD(last.parameters(), lr=0.1)
    try:
        unfreeze(layer, opt, 0.01)
        unfreeze(layer, opt, 0.01)
    except ValueError as error:
        raise AssertionError(f"a second call fails; torch says: {error}") from None
    held = [id(parameter) for group in opt.param_groups for parameter in group["params"]]
    for name in ("weight", "bias"):
        number = held.count(id(getattr(layer, name)))
        assert number == 1, (
            f"after two calls opt holds the {name} of the layer {number} times"
        )
