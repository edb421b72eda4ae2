from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 6


@test_case(
    success_message="The state is cut every k steps, and nowhere else.",
    failure_message="Not yet: The state is cut every k steps, and nowhere else.",
)
def test_the_cuts_are_k_steps_apart(tbptt):
    """The state is cut every k steps, and nowhere else."""
    import torch

    torch.manual_seed(0)
    cell, readout = torch.nn.GRUCell(2, 3), torch.nn.Linear(3, 1)
    forward, steps, trained = cell.forward, {}, set()

    def watched(input, hx=None):
        output = forward(input, hx)
        step = str(input.tolist())  # to look at a step again, under no_grad say, makes no new step
        if step not in trained:
            steps[step] = hx is None or hx.grad_fn is None
        if output.requires_grad:
            trained.add(step)
        return output

    cell.forward = watched
    try:
        tbptt(cell, readout, torch.randn(7, 4, 2), torch.randn(7, 4, 1), 3)
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
        raise AssertionError(f"tbptt stopped with the error: {stopped}") from None
    assert len(steps) == 7, (
        f"cell was called for {len(steps)} of the 7 time steps"
    )
    found = [number for number, cut in enumerate(steps.values()) if cut]
    assert found == [0, 3, 6], (
        "with 7 steps and k = 3 a state without history should enter the steps 0, 3 and 6, "
        f"but it enters {found}"
    )


@test_case(
    success_message="With k = T the gradient is that of the whole sequence.",
    failure_message="Not yet: With k = T the gradient is that of the whole sequence.",
)
def test_one_chunk_is_full_backpropagation(tbptt):
    """With k = T the gradient is that of the whole sequence."""
    import torch

    torch.manual_seed(1)
    cell, readout = torch.nn.GRUCell(2, 3), torch.nn.Linear(3, 1)
    xs, ys = torch.randn(5, 4, 2), torch.randn(5, 4, 1)
    h, losses = torch.zeros(4, 3), []
    for x, y in zip(xs, ys):
        h = cell(x, h)
        losses.append(torch.nn.functional.mse_loss(readout(h), y))
    whole = sum(losses)
    expected = torch.autograd.grad(whole, cell.weight_hh)[0]
    total = tbptt(cell, readout, xs, ys, 5)
    assert type(total) is float, (
        f"the total loss should be a float, not a {type(total).__name__}"
    )
    assert abs(total - whole.item()) < 1e-4, (
        f"the total loss is {total:.4f}, but the losses add up to {whole.item():.4f}"
    )
    assert cell.weight_hh.grad is not None, (
        "cell.weight_hh.grad is None: nothing was back-propagated into the cell"
    )
    assert torch.allclose(cell.weight_hh.grad, expected, rtol=1e-4, atol=1e-6), (
        "with k = 5 and 5 steps the gradient of cell.weight_hh should be that of full backpropagation "
        "through time, and it is not: the state is cut within the chunk, or a loss is missing"
    )
