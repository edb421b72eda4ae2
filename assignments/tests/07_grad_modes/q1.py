from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5


@test_case(
    success_message="A step moves the prompt.",
    failure_message="Not yet: A step moves the prompt.",
)
def test_the_prompt_moves(prompt_step):
    """A step moves the prompt."""
    import torch

    backbone = torch.nn.Linear(2, 1)
    prompt = torch.zeros(2, requires_grad=True)
    try:
        prompt_step(backbone, prompt, torch.ones(3, 2), backbone(torch.ones(3, 2)).detach() + 1, 0.1)
    except RuntimeError as error:
        raise AssertionError(f"no gradient reached the prompt; torch says: {error}") from None
    assert prompt.tolist() != [0.0, 0.0], (
        "the prompt has not moved"
    )


@test_case(
    success_message="After a step, no parameter of the backbone has a .grad.",
    failure_message="Not yet: After a step, no parameter of the backbone has a .grad.",
)
def test_the_backbone_collects_no_gradient(prompt_step):
    """After a step, no parameter of the backbone has a .grad."""
    import torch

    backbone = torch.nn.Linear(2, 1)
    before = backbone.weight.tolist()
    try:
        prompt_step(backbone, torch.zeros(2, requires_grad=True), torch.ones(3, 2), torch.ones(3, 1), 0.1)
    except RuntimeError as error:
        raise AssertionError(f"no gradient reached the prompt; torch says: {error}") from None
    assert backbone.weight.tolist() == before, (
        "the weight of the backbone has changed: it was trained"
    )
    assert backbone.weight.grad is None, (
        "the backbone collects .grad: it is not frozen"
    )
