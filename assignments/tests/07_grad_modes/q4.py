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
