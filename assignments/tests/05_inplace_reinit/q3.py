from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5


@test_case(
    success_message="The example of the task: d is [[4, 1]] and f is [[14]].",
    failure_message="Not yet: The example of the task: d is [[4, 1]] and f is [[14]].",
)
def test_the_masked_values_enter_the_product(masked_forward):
    """The example of the task: d is [[4, 1]] and f is [[14]]."""
    import torch

    w1 = torch.tensor([[2.0, 1.0], [1.0, -1.0]], requires_grad=True)
    w2 = torch.tensor([[3.0], [2.0]], requires_grad=True)
    d, f = masked_forward(torch.tensor([[1.0, 2.0]]), w1, w2, torch.tensor([False, True]))
    assert d.tolist() == [[4.0, 1.0]], (
        f"d is {d.tolist()}, expected [[4.0, 1.0]]"
    )
    assert f.tolist() == [[14.0]], (
        f"f is {f.tolist()}, expected [[14.0]]: was it computed from the masked d?"
    )


@test_case(
    success_message="f.sum().backward() raises no error and reaches w1 and w2.",
    failure_message="Not yet: f.sum().backward() raises no error and reaches w1 and w2.",
)
def test_backward_reaches_w1_and_w2(masked_forward):
    """f.sum().backward() raises no error and reaches w1 and w2."""
    import torch

    w1 = torch.tensor([[2.0, 1.0], [1.0, -1.0]], requires_grad=True)
    w2 = torch.tensor([[3.0], [2.0]], requires_grad=True)
    _, f = masked_forward(torch.tensor([[1.0, 2.0]]), w1, w2, torch.tensor([False, True]))
    try:
        f.sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        message = f"backward() failed: was d overwritten after its use? torch says: {reason}"
        raise AssertionError(message) from None
    assert w1.grad is not None, (
        "w1.grad is None: the path from f back to w1 has been cut"
    )
    assert w2.grad is not None, (
        "w2.grad is None: the path from f back to w2 has been cut"
    )
