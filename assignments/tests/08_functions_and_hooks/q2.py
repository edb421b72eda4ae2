from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 6


@test_case(
    success_message="x holds the new values, and is what comes back.",
    failure_message="Not yet: x holds the new values, and is what comes back.",
)
def test_x_itself_comes_back(Scale_):
    """x holds the new values, and is what comes back."""
    import torch

    a = torch.ones(2, requires_grad=True)
    x = a * 1
    y = Scale_.apply(x, 3.0)
    assert x.tolist() == [3.0, 3.0], (
        f"x was 1 everywhere, k is 3, and now x holds {x.tolist()}"
    )
    assert y is x, (
        "another object than x came back: autograd does not know that x was changed"
    )


@test_case(
    success_message="If you go on with x, the gradient has the factor k.",
    failure_message="Not yet: If you go on with x, the gradient has the factor k.",
)
def test_the_gradient_through_x(Scale_):
    """If you go on with x, the gradient has the factor k."""
    import torch

    a = torch.ones(2, requires_grad=True)
    x = a * 1
    Scale_.apply(x, 3.0)
    x.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0], (
        f"k is 3, and through x the gradient is {a.grad.tolist()}"
    )
