from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 4


@test_case(
    success_message="Three rows of [1, 2] with a bump of 10 are [11, 12], [1, 2] and [1, 2].",
    failure_message="Not yet: Three rows of [1, 2] with a bump of 10 are [11, 12], [1, 2] and [1, 2].",
)
def test_only_the_first_row_is_bumped(row_bias):
    """Three rows of [1, 2] with a bump of 10 are [11, 12], [1, 2] and [1, 2]."""
    import torch

    b = torch.tensor([1.0, 2.0])
    rows = row_bias(b, 3, 10.0).tolist()
    assert rows == [[11.0, 12.0], [1.0, 2.0], [1.0, 2.0]], (
        f"the rows are {rows}"
    )
    assert b.tolist() == [1.0, 2.0], (
        f"the caller's b was [1, 2] and is {b.tolist()} after the call"
    )


@test_case(
    success_message="Three rows bring b three times the gradient.",
    failure_message="Not yet: Three rows bring b three times the gradient.",
)
def test_every_row_reaches_b(row_bias):
    """Three rows bring b three times the gradient."""
    import torch

    b = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        rows = row_bias(b, 3, 10.0)
    except RuntimeError as error:
        raise AssertionError(f"row_bias stopped; torch says: {error}") from None
    assert rows.requires_grad, (
        "the rows do not require grad: nothing leads back to b"
    )
    rows.sum().backward()
    assert b.grad is not None, (
        "b.grad is None: the path from the rows back to b has been cut"
    )
    assert b.grad.tolist() == [3.0, 3.0], (
        f"b.grad is {b.grad.tolist()} for three rows, not [3.0, 3.0]"
    )
