from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 4


@test_case(
    success_message="The two examples of the task are answered as it says.",
    failure_message="Not yet: The two examples of the task are answered as it says.",
)
def test_square_and_multiple(may_overwrite):
    """The two examples of the task are answered as it says."""
    import torch

    def square(x):
        y = x + 1
        return y**2, y

    def multiple(x):
        y = x + 1
        return 3 * y, y

    x = torch.randn(3, requires_grad=True)
    assert not may_overwrite(square, x), (
        "For y**2 you allow y to be overwritten, but its derivative is 2 * y:\nbackward would raise."
    )
    assert may_overwrite(multiple, x), (
        "For 3 * y you forbid to overwrite y, but its derivative is 3, whatever y is:\n"
        "in-place operations that save memory would be given up for nothing."
    )
