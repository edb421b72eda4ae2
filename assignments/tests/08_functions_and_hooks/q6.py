from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 5


@test_case(
    success_message="At w = 2 with v ** 3, v ** 2 / 2 and lr = 0.1 the gradient is (2 - 1.2) * (1 - 1.2) = -0.16.",
    failure_message="Not yet: At w = 2 with v ** 3, v ** 2 / 2 and lr = 0.1 the gradient is (2 - 1.2) * (1 - 1.2) = -0.16.",
)
def test_the_second_order_gradient(maml_grad):
    """At w = 2 with v ** 3, v ** 2 / 2 and lr = 0.1 the gradient is (2 - 1.2) * (1 - 1.2) = -0.16."""
    import torch

    w = torch.tensor([2.0], requires_grad=True)
    gradient = maml_grad(w, lambda v: (v**3).sum(), lambda v: (v**2).sum() / 2, 0.1)
    seen = round(gradient.item(), 4)
    assert seen != 0.8, (
        "the gradient is 0.8: that is first order, as if g did not depend on w"
    )
    assert seen == -0.16, (
        f"the gradient is {seen}, and (2 - 1.2) * (1 - 1.2) is -0.16"
    )


@test_case(
    success_message="The version counter of w does not move, and w.grad stays None.",
    failure_message="Not yet: The version counter of w does not move, and w.grad stays None.",
)
def test_w_is_not_written_to(maml_grad):
    """The version counter of w does not move, and w.grad stays None."""
    import torch

    w = torch.tensor([2.0], requires_grad=True)
    maml_grad(w, lambda v: (v**3).sum(), lambda v: (v**2).sum() / 2, 0.1)
    assert w.tolist() == [2.0], (
        f"w was 2, and now it is {w.tolist()}"
    )
    assert w._version == 0, (
        f"w was written to: its version counter stands at {w._version}"
    )
    assert w.grad is None, (
        f"w.grad was None, and now it is {w.grad.tolist()}"
    )
