from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5


@test_case(
    success_message="Of three equal weights the dropped one is 0, and the others stay a third.",
    failure_message="Not yet: Of three equal weights the dropped one is 0, and the others stay a third.",
)
def test_the_dropped_weights_are_0(drop_attention):
    """Of three equal weights the dropped one is 0, and the others stay a third."""
    import torch

    weights = drop_attention(torch.zeros(1, 3), torch.tensor([[True, False, False]]))[0].tolist()
    assert weights[0] == 0, (
        f"the dropped weight is {weights[0]}"
    )
    assert abs(weights[1] - 1 / 3) < 1e-5, (
        f"a weight that was not dropped was a third, and is {weights[1]:.4f}"
    )


@test_case(
    success_message="backward() raises no error, and the dropped score gets a gradient, too.",
    failure_message="Not yet: backward() raises no error, and the dropped score gets a gradient, too.",
)
def test_backward_works(drop_attention):
    """backward() raises no error, and the dropped score gets a gradient, too."""
    import torch

    scores = torch.zeros(1, 3, requires_grad=True)
    try:
        drop_attention(scores, torch.tensor([[True, False, False]])).sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"backward() failed: what does softmax need? torch says: {reason}") from None
    assert scores.grad is not None, (
        "scores.grad is None: the path back to the scores has been cut"
    )
    seen = scores.grad[0, 0].item()
    assert abs(seen + 2 / 9) < 1e-5, (
        f"the dropped score gets the gradient {seen:.4f}, not -0.2222: with it the other weights would fall"
    )
