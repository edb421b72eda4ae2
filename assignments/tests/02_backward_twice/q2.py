from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 6


@test_case(
    success_message="At w = 3 and v = 2, the losses w**2 and w**2 * v have gradients of the lengths 6 and 15.",
    failure_message="Not yet: At w = 3 and v = 2, the losses w**2 and w**2 * v have gradients of the lengths 6 and 15.",
)
def test_each_loss_has_its_own_norm(task_grad_norms):
    """At w = 3 and v = 2, the losses w**2 and w**2 * v have gradients of the lengths 6 and 15."""
    import torch

    w, v = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    shared = w**2
    losses = [shared.sum(), (shared * v).sum()]
    try:
        norms = task_grad_norms(losses, [w, v])
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"task_grad_norms did not come to its end; torch says: {reason}") from None
    assert len(norms) == 2, (
        f"{len(norms)} numbers came back for 2 losses"
    )
    for place, (seen, right) in enumerate(zip(norms, (6.0, 15.0))):
        assert abs(seen - right) < 1e-4, (
            f"the norm of losses[{place}] is {seen:.4f}, not {right}: the gradient of which losses is in it?"
        )


@test_case(
    success_message="The .grad of the parameters is afterwards what it was before.",
    failure_message="Not yet: The .grad of the parameters is afterwards what it was before.",
)
def test_it_is_a_measurement(task_grad_norms):
    """The .grad of the parameters is afterwards what it was before."""
    import torch

    w, v = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    w.grad = torch.tensor([7.0])
    task_grad_norms([(w * v).sum()], [w, v])
    assert w.grad is not None, (
        "w.grad was 7 before the call and is None after it"
    )
    assert w.grad.item() == 7, (
        f"w.grad was 7 before the call and is {w.grad.item()} after it"
    )
    assert v.grad is None, (
        f"v.grad was None before the call and is {v.grad} after it"
    )
