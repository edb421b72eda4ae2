from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5


@test_case(
    success_message="The gradient at -1 and 2 is -2 and 4.",
    failure_message="Not yet: The gradient at -1 and 2 is -2 and 4.",
)
def test_the_gradient_of_a_square(Square):
    """The gradient at -1 and 2 is -2 and 4."""
    import torch

    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    Square.apply(x).sum().backward()
    assert x.grad is not None, (
        "x.grad is None: nothing leads from the result back to x"
    )
    assert x.grad.tolist() == [-2.0, 4.0], (
        f"the gradient at -1 and 2 is {x.grad.tolist()}"
    )


@test_case(
    success_message="If x is overwritten before backward, backward raises an error.",
    failure_message="Not yet: If x is overwritten before backward, backward raises an error.",
)
def test_an_overwritten_input_is_noticed(Square):
    """If x is overwritten before backward, backward raises an error."""
    import torch

    leaf = torch.tensor([-1.0, 2.0], requires_grad=True)
    x = leaf * 1
    y = Square.apply(x).sum()
    x.detach().zero_()
    try:
        y.backward()
    except RuntimeError:
        return
    message = f"x was overwritten, backward raised nothing, and the gradient is {leaf.grad}"
    raise AssertionError(message)
