from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 4
afterword = "What backward needs follows from the derivative, and not from who requires grad. Next trap: a list of names is no answer for long. The next release of torch may save the result of an operation where this one saves its input."


@test_case(
    success_message="The square of y needs y, 4 * y does not, and mask * x needs the mask.<br>What backward needs follows from the derivative, and not from who requires grad. Next trap: a list of names is no answer for long. The next release of torch may save the result of an operation where this one saves its input.",
    failure_message="Not yet: The square of y needs y, 4 * y does not, and mask * x needs the mask.",
)
def test_a_square_a_multiple_and_a_mask(may_overwrite):
    """The square of y needs y, 4 * y does not, and mask * x needs the mask."""
    import torch

    def answer(f):
        return may_overwrite(f, torch.tensor([1.0, 2.0], requires_grad=True))

    def square(x):
        y = x + 1
        return y**2, y

    def multiple(x):
        y = x + 1
        return 4 * y, y

    def masked(x):
        mask = torch.tensor([0.0, 1.0])
        return mask * x, mask

    seen = answer(square)
    assert not seen, (
        f"for y**2 your answer is {seen}, but the derivative 2 * y needs y"
    )
    seen = answer(multiple)
    assert seen, (
        f"for 4 * y your answer is {seen}, but the derivative is 4, whatever y is"
    )
    seen = answer(masked)
    assert not seen, (
        f"for mask * x your answer is {seen}, but the mask is the derivative"
    )
