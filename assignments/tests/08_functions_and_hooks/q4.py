from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 5
afterword = "A hook answers by what it returns. What it gets belongs to others, too. Next trap: a hook stays as long as its tensor, unless you remove it. On a parameter it would still be there in the next epoch."


@test_case(
    success_message="Of the gradient 5, -7, 0.5 the limit 2 leaves 2, -2, 0.5, and the tensor that arrives is not overwritten.<br>A hook answers by what it returns. What it gets belongs to others, too. Next trap: a hook stays as long as its tensor, unless you remove it. On a parameter it would still be there in the next epoch.",
    failure_message="Not yet: Of the gradient 5, -7, 0.5 the limit 2 leaves 2, -2, 0.5, and the tensor that arrives is not overwritten.",
)
def test_clipped(clip_grad_hook):
    """Of the gradient 5, -7, 0.5 the limit 2 leaves 2, -2, 0.5, and the tensor that arrives is not overwritten."""
    import torch

    x, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    t = x * 1
    handle = clip_grad_hook(t, 2.0)
    assert t.tolist() == [1.0, 1.0, 1.0], (
        f"the values of t were 1, and now they are {t.tolist()}"
    )
    incoming = torch.tensor([5.0, -7.0, 0.5])
    (t + other).backward(incoming)
    assert x.grad.tolist() == [2.0, -2.0, 0.5], (
        f"5, -7 and 0.5 arrived at t, and {x.grad.tolist()} at x"
    )
    assert hasattr(handle, "remove"), (
        "what came back is no handle: it has no method remove()"
    )
    seen = incoming.tolist()
    assert seen == [5.0, -7.0, 0.5], (
        f"the hook overwrote the gradient that arrived: it now holds {seen}"
    )
