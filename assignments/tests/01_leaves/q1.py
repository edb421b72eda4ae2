from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "Compute first, and switch `requires_grad` on last: then no recorded operation stands behind the weight. Next trap: `w = w - lr * w.grad` gives you a tensor with a history again. An update belongs in place, under `torch.no_grad()`."


@test_case(
    success_message="The weight is a leaf that requires grad, with the normal numbers of seed 0, times scale.<br>Compute first, and switch <code>requires_grad</code> on last: then no recorded operation stands behind the weight. Next trap: <code>w = w - lr * w.grad</code> gives you a tensor with a history again. An update belongs in place, under <code>torch.no_grad()</code>.",
    failure_message="Not yet: The weight is a leaf that requires grad, with the normal numbers of seed 0, times scale.",
)
def test_a_trainable_weight(make_weight):
    """The weight is a leaf that requires grad, with the normal numbers of seed 0, times scale."""
    import torch

    w = make_weight(2, 3, 0.1)
    assert w.requires_grad, (
        "w.requires_grad is False, so backward() will never bring a gradient here."
    )
    maker = type(w.grad_fn).__name__
    if w.retains_grad:
        consequence = (
            "retain_grad() keeps its gradient, and its history stays for the next backward() to meet."
        )
    else:
        consequence = "backward() leaves w.grad at None, and optimizers refuse w."
    assert w.is_leaf, (
        f"w was made by {maker}, so it is not a leaf:\n{consequence}"
    )
    assert not w.is_inference(), (
        "w was made in inference_mode: no operation on it is ever recorded."
    )

    w = make_weight(2, 3, 4.0)
    expected = torch.randn(2, 3, generator=torch.Generator().manual_seed(0)) * 4.0
    assert torch.allclose(w.detach(), expected), (
        f"w[0, 0] is {w[0, 0].item():.4f} instead of {expected[0, 0].item():.4f}:\n"
        "a leaf is not enough, its values have to be those of the task."
    )
