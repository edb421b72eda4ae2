from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 6


@test_case(
    success_message="Whoever uses x after the call gets the gradient of the scaled x.",
    failure_message="Not yet: Whoever uses x after the call gets the gradient of the scaled x.",
)
def test_gradient_through_x(Scale_):
    """Whoever uses x after the call gets the gradient of the scaled x."""
    import torch

    a = torch.ones(2, requires_grad=True)
    x = a * 1
    Scale_.apply(x, 3.0)
    assert x.tolist() == [3.0, 3.0], (
        f"x is {x.tolist()} after it was scaled in place by 3."
    )
    x.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0], (
        f"Through x the gradient is {a.grad.tolist()}, though x is 3 * a now:\n"
        f"x.grad_fn is still {type(x.grad_fn).__name__}, so autograd does not know that x was changed."
    )
