from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 4


@test_case(
    success_message="The square of y needs y, and 4 * y does not.",
    failure_message="Not yet: The square of y needs y, and 4 * y does not.",
)
def test_a_square_and_a_multiple(may_overwrite):
    """The square of y needs y, and 4 * y does not."""
    import torch

    def square(x):
        y = x + 1
        return y**2, y

    def multiple(x):
        y = x + 1
        return 4 * y, y

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = may_overwrite(square, x)
    assert not seen, (
        f"for y**2 your answer is {seen}, but the derivative 2 * y needs y"
    )
    seen = may_overwrite(multiple, x)
    assert seen, (
        f"for 4 * y your answer is {seen}, but the derivative is 4, whatever y is"
    )


@test_case(
    success_message="A mask that multiplies x is needed, although it does not require grad.",
    failure_message="Not yet: A mask that multiplies x is needed, although it does not require grad.",
)
def test_a_mask(may_overwrite):
    """A mask that multiplies x is needed, although it does not require grad."""
    import torch

    def masked(x):
        mask = torch.tensor([0.0, 1.0])
        return mask * x, mask

    seen = may_overwrite(masked, torch.tensor([1.0, 2.0], requires_grad=True))
    assert not seen, (
        f"for mask * x your answer is {seen}, but the mask is the derivative"
    )
