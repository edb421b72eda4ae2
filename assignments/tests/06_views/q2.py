from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 4


@test_case(
    success_message="With gates of 0 the result is half of the first half, and both halves get a gradient.",
    failure_message="Not yet: With gates of 0 the result is half of the first half, and both halves get a gradient.",
)
def test_both_halves_are_reached(glu):
    """With gates of 0 the result is half of the first half, and both halves get a gradient."""
    import torch

    x = torch.tensor([[2.0, 4.0, 0.0, 0.0]], requires_grad=True)
    try:
        result = glu(x * 1)
    except RuntimeError as error:
        raise AssertionError(f"glu stopped; torch says: {error}") from None
    assert result.tolist() == [[1.0, 2.0]], (
        f"the result is {result.tolist()}, not [[1.0, 2.0]]"
    )
    assert result.requires_grad, (
        "the result does not require grad: nothing leads back to h"
    )
    result.sum().backward()
    assert x.grad is not None, (
        "h gets no gradient"
    )
    assert x.grad.tolist() == [[0.5, 0.5, 0.5, 1.0]], (
        f"h gets {x.grad.tolist()}, not [[0.5, 0.5, 0.5, 1.0]]"
    )


@test_case(
    success_message="Plain data stays as it is.",
    failure_message="Not yet: Plain data stays as it is.",
)
def test_h_is_not_overwritten(glu):
    """Plain data stays as it is."""
    import torch

    h = torch.tensor([2.0, 4.0, 0.0, 0.0])
    glu(h)
    assert h.tolist() == [2.0, 4.0, 0.0, 0.0], (
        f"h was [2, 4, 0, 0] and is {h.tolist()} after the call"
    )
