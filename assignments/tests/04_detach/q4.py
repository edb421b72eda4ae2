from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 4
afterword = "The value comes from one formula and the gradient from another. Next trap: such a gradient is not the slope of the value. `gradcheck` calls it wrong, and here it is wrong on purpose."


@test_case(
    success_message="The value is rounded, and the gradient is that of the identity.<br>The value comes from one formula and the gradient from another. Next trap: such a gradient is not the slope of the value. <code>gradcheck</code> calls it wrong, and here it is wrong on purpose.",
    failure_message="Not yet: The value is rounded, and the gradient is that of the identity.",
)
def test_the_gradient_goes_straight_through(ste_round):
    """The value is rounded, and the gradient is that of the identity."""
    import torch

    x = torch.tensor([-1.6, 0.4, 2.5], requires_grad=True)
    y = ste_round(x)
    assert y.tolist() == [-2.0, 0.0, 2.0], (
        f"of [-1.6, 0.4, 2.5] your result is {y.tolist()}, not [-2, 0, 2]"
    )
    assert y.requires_grad, (
        "the result does not require grad: no path leads back to x"
    )
    y.backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad is not None, (
        "x.grad is None: the result is not connected to x"
    )
    assert x.grad.tolist() == [1.0, 2.0, 3.0], (
        f"the gradient [1, 2, 3] became {x.grad.tolist()} on its way to x"
    )
