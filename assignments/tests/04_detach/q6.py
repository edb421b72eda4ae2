from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 4
afterword = "Every operation that makes your value has to be one that autograd records. Next trap: sometimes a hidden write is what you want. `r = x.clone()` and then `r.detach().round_()` is an honest straight-through estimator, because there the gradient must not know of the rounding."


@test_case(
    success_message="Of h = [3, -2], clipped to [1, -2], the energy is 5, and the first row of x has no part in the gradient.<br>Every operation that makes your value has to be one that autograd records. Next trap: sometimes a hidden write is what you want. <code>r = x.clone()</code> and then <code>r.detach().round_()</code> is an honest straight-through estimator, because there the gradient must not know of the rounding.",
    failure_message="Not yet: Of h = [3, -2], clipped to [1, -2], the energy is 5, and the first row of x has no part in the gradient.",
)
def test_a_clipped_entry_has_no_gradient(clipped_energy):
    """Of h = [3, -2], clipped to [1, -2], the energy is 5, and the first row of x has no part in the gradient."""
    import torch

    x = torch.tensor([[3.0], [-2.0]])
    w = torch.tensor([[1.0]], requires_grad=True)
    loss = clipped_energy(x, w)
    assert loss.item() == 5, (
        f"the energy is {loss.item()}, and 1 + 4 is 5"
    )
    assert loss.requires_grad, (
        "the energy does not require grad: no path leads back to w"
    )
    loss.backward()
    assert w.grad is not None, (
        "w.grad is None: the energy is not connected to w"
    )
    assert abs(w.grad.item() - 8) < 1e-5, (
        f"w.grad is {w.grad.item()}. If w grows from 1 to 1.001, the energy grows from 5 to 5.008:\n"
        "that is a slope of 8. Which part of your computation has autograd not seen?"
    )
